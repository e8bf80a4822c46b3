/*
 * Pull requests: which repository a project watches, the deliveries of webhooks, what is measured
 * of a pull request, and what was posted to it. service.h has the general rules.
 *
 * A delivery is only a hint that something is to be looked at: its row marks the pull request, and
 * the look (server/bot/bot.h) asks the forge for the present state. Lost, repeated and reordered
 * deliveries therefore end in the same state. Looks at one pull request exclude each other by an
 * advisory lock that lasts as long as the transaction that took it.
 */
#ifndef PFC_SERVER_SERVICES_BOT_BOT_H
#define PFC_SERVER_SERVICES_BOT_BOT_H

#include "core/forge/webhook.h"
#include "server/repo/sql/pulls.h"
#include "server/repo/sql/webhooks.h"
#include "server/services/bisect/bisect.h"
#include "server/services/service.h"

#define PFC_PULL_BUDGET_S       300.0 /* measuring time of one push */
#define PFC_PULL_PATIENCE_S     3600.0
#define PFC_PULL_MAX_PATIENCE_S (7 * 86400.0)
#define PFC_PULL_REUSE_DAYS     30 /* an older result is measured again: machines age */

/* ---- links ---- */

/** When a comment is made; one that exists is edited in any case. */
typedef enum pfc_pull_policy {
    PFC_PULL_ALWAYS,
    PFC_PULL_ON_CHANGE, /* something became slower, faster or broken */
    PFC_PULL_ON_REGRESSION,
} pfc_pull_policy;

/** PFC_EINVAL names the three words. */
pfc_code pfc_pull_policy_parse(const char *word, pfc_pull_policy *out, pfc_err *err) PFC_MUSTCHECK;

/** machine_class NULL: any runner. */
typedef pfc_sql_forge_link_get_row pfc_forge_link;
typedef pfc_sql_forge_link_get_rows pfc_forge_links;

typedef struct pfc_forge_link_spec {
    const char *forge;         /* "github", "gitlab", "gitea" */
    const char *repo;          /* "owner/name" */
    const char *policy;        /* NULL: "on_change" */
    const char *machine_class; /* NULL: any runner */
    double budget_s;           /* 0: PFC_PULL_BUDGET_S */
    double patience_s;         /* 0: PFC_PULL_PATIENCE_S; 60..PFC_PULL_MAX_PATIENCE_S */
} pfc_forge_link_spec;

/** Replaces the project's link. PFC_EINVAL with the field. */
pfc_code pfc_forge_link_set(pfc_db *db, const char *actor, int64_t project_id,
                            const pfc_forge_link_spec *spec, pfc_err *err) PFC_MUSTCHECK;
/** PFC_ENOTFOUND: the project has none. */
pfc_code pfc_forge_link_get(pfc_db *db, int64_t project_id, pfc_forge_links *out,
                            pfc_err *err) PFC_MUSTCHECK;
pfc_code pfc_forge_link_remove(pfc_db *db, const char *actor, int64_t project_id,
                               pfc_err *err) PFC_MUSTCHECK;

/* ---- deliveries ---- */

/** Stores what a verified webhook asks for. *repeated: the account has its id already. */
pfc_code pfc_webhook_store(pfc_db *db, pfc_forge_kind forge, const char *account,
                           const pfc_webhook_headers *headers, const pfc_webhook *webhook,
                           bool *repeated, pfc_err *err) PFC_MUSTCHECK;
/** Works on the oldest deliveries: marks pull requests and stores commands. `project_of` says which
 *  project an account is for, NULL or "": all. *done: how many, 0: none waits. */
pfc_code pfc_webhooks_apply(pfc_db *db, const char *(*project_of)(void *arg, const char *account),
                            void *arg, size_t *done, pfc_err *err) PFC_MUSTCHECK;
typedef pfc_sql_deliveries_list_row pfc_webhook_row;
typedef pfc_sql_deliveries_list_rows pfc_webhook_rows;
/** project_id 0: all. Newest first. */
pfc_code pfc_webhooks_list(pfc_db *db, int64_t project_id, pfc_page page, pfc_webhook_rows *out,
                           pfc_err *err) PFC_MUSTCHECK;
/** Removes deliveries that were worked on `days` ago, of the `limit` oldest. */
pfc_code pfc_webhooks_prune(pfc_db *db, int days, size_t limit, size_t *pruned,
                            pfc_err *err) PFC_MUSTCHECK;

/* ---- pull requests ---- */

typedef pfc_sql_pulls_list_row pfc_pull_row;
typedef pfc_sql_pulls_list_rows pfc_pull_rows;
/** Newest first. open: of that state, not known: all. */
pfc_code pfc_pulls_list(pfc_db *db, int64_t project_id, pfc_maybe open, pfc_page page,
                        pfc_pull_rows *out, pfc_err *err) PFC_MUSTCHECK;

/** A pull request as last seen; forge NULL: the project has no link. */
typedef pfc_sql_pull_get_row pfc_pull;
typedef pfc_sql_pull_get_rows pfc_pulls;
/** verdict NULL: not decided; state NULL: the job was removed. */
typedef pfc_sql_pull_measurement_newest_row pfc_pull_measurement;
typedef pfc_sql_pull_measurement_newest_rows pfc_pull_measurements;

typedef struct pfc_pull_key {
    int64_t project_id, number;
} pfc_pull_key;

/** Takes the lock of a pull request that is due. It lasts until *lock is freed. PFC_ENOTFOUND: none
 *  is due, or other servers look at them; *due_s: seconds until the next one is, INFINITY: none. */
pfc_code pfc_pull_take(pfc_db *db, pfc_tx **lock, pfc_pull_key *out, double *due_s,
                       pfc_err *err) PFC_MUSTCHECK;

/** Measures head against base: a job of blocks in one lease, on the branch "pull/N/BASE", which no
 *  series of the project's branch shares. An earlier verdict of the same commits, of this or of
 *  another pull request, is used where `fresh` is false. filter NULL: everything. */
pfc_code pfc_pull_measure(pfc_db *db, const char *actor, const pfc_pull *pull, const char *filter,
                          bool fresh, pfc_err *err) PFC_MUSTCHECK;
typedef pfc_sql_pull_measurement_of_pair_rows pfc_pull_earlier_rows;
/** The newest session of the project that measured a pair of builds with that key (the runner makes
 *  it of all that decides the result: runner/blocks/pair_key.h), whose verdict more measuring would
 *  not change, and that is at most PFC_PULL_REUSE_DAYS old. No row: there is none, so the pair is
 *  to be measured. PFC_EINVAL: key is not 64 hexadecimal digits. */
pfc_code pfc_pull_earlier(pfc_db *db, int64_t project_id, const char *key,
                          pfc_pull_earlier_rows *out, pfc_err *err) PFC_MUSTCHECK;
/** Ends the measurements and bisections of other heads than `head` (NULL: all) and cancels their
 *  jobs. */
pfc_code pfc_pull_supersede(pfc_db *db, const pfc_pull_key *key, const char *head,
                            pfc_err *err) PFC_MUSTCHECK;
/** Accepts the measurement's verdict; audited. */
pfc_code pfc_pull_accept(pfc_db *db, const char *actor, const pfc_pull_key *key,
                         const pfc_pull_measurement *m, const char *reason,
                         pfc_err *err) PFC_MUSTCHECK;
/** Lets a fork's head be measured; audited. */
pfc_code pfc_pull_allow(pfc_db *db, const char *actor, const pfc_pull_key *key, const char *head,
                        pfc_err *err) PFC_MUSTCHECK;

/* ---- bisections of pull requests (bisections.c) ---- */

/** A metric to search for, and the commits to search. */
typedef struct pfc_pull_search {
    const char *metric, *benchmark, *backend; /* benchmark, backend NULL: the headline, any */
    double rel_change;                        /* of the head, as measured; NAN: unknown */
    const char *const *line; /* ids, oldest first: where the branch began, ..., the head */
    size_t line_len;         /* 3 or more: with one commit there is nothing to search */
} pfc_pull_search;

/** Starts a bisection of the pull request's commits, on the branch "pull/N/bisect/COMMENT", which
 *  no other series shares; its jobs are isolated like those of the pairs. One for each comment: a
 *  repeated call gives the same *id. PFC_EINVAL as pfc_bisection_start. */
pfc_code pfc_pull_bisect(pfc_db *db, const char *actor, const pfc_pull *pull, int64_t comment_id,
                         const pfc_pull_search *search, int64_t *id, pfc_err *err) PFC_MUSTCHECK;

/** said, now: "running", "checking" (its culprit is verified), "ended". */
typedef pfc_sql_pull_bisections_open_row pfc_pull_bisection;
typedef pfc_sql_pull_bisections_open_rows pfc_pull_bisections;
/** Those whose answer does not say yet that they ended; the oldest first. */
pfc_code pfc_pull_bisections_open(pfc_db *db, const pfc_pull_key *key, pfc_pull_bisections *out,
                                  pfc_err *err) PFC_MUSTCHECK;
/** The answer says so much now. */
pfc_code pfc_pull_bisection_said(pfc_db *db, const pfc_pull_key *key, int64_t id, const char *said,
                                 pfc_err *err) PFC_MUSTCHECK;
/** Cancels the running ones of other heads than `head` (NULL: all). */
pfc_code pfc_pull_bisections_supersede(pfc_db *db, const pfc_pull_key *key, const char *head,
                                       pfc_err *err) PFC_MUSTCHECK;

#endif
