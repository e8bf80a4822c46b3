/*
 * The handlers of server/API.md: decode strictly, call one service, encode.
 *
 * One file a family. A handler keeps no state between calls; what they share is in pfc_app. The
 * route table (routes.c) is what main.c passes to the HTTP floor, and what openapi.json is made of.
 */
#ifndef PFC_SERVER_HANDLERS_HANDLERS_H
#define PFC_SERVER_HANDLERS_HANDLERS_H

#include <pthread.h>
#include <stdatomic.h>

#include "server/http/http.h"
#include "server/services/alerts/withheld.h"
#include "server/services/thread_health.h"

/* Who asks the database for what anybody may ask the server for, as often as they like: one request at a time,
 * and at most once a second. The others get what was known. */
typedef struct pfc_figures_gate {
    pthread_mutex_t lock; /* initialised by main; not held while the database is asked */
    int64_t asked_ns;     /* guarded by lock, like the rest */
    int64_t at_ns;        /* of the answer; 0: there was none yet */
    bool asking;          /* since asked_ns */
} pfc_figures_gate;

/* What /metrics says of the database. */
typedef struct pfc_snapshot {
    pfc_figures_gate turn;
    bool up; /* guarded by turn, like the rest */
    pfc_figures figures;
    pfc_job_counts jobs;
} pfc_snapshot;

/* The schema that the database has, and whether it takes writes, for /readyz. */
typedef struct pfc_seen_schema {
    pfc_figures_gate turn;
    int version; /* guarded by turn, like the rest */
    pfc_err err; /* PFC_OK: version holds */
} pfc_seen_schema;

struct pfc_app {
    pfc_db *db;          /* writes, and reads that must see them */
    pfc_httpd *http;     /* set once the server listens */
    pfc_cache *cache;    /* tokens and projects; NULL: the database is asked each time */
    pfc_writer *writer;  /* stores runs in groups; NULL: each by itself */
    const char *sources; /* patterns of repositories that any job may use; NULL: none */
    double lease_s;      /* of a runner's job, whole seconds; 0: PFC_LEASE_S */
    atomic_bool ready;   /* the schema is in place */
    atomic_int schema_version;
    atomic_bool replaying; /* one replay of a whole branch at a time */
    pfc_pulse pulse;       /* of the server's own threads */
    pfc_snapshot snapshot;
    pfc_seen_schema seen_schema;
    _Atomic(char *) description; /* openapi.json, once somebody has asked for it; owned */
};

/* What a route may be opened by: a runner posts what it measured. */
#define PFC_MAY_READ   PFC_SCOPE_READ
#define PFC_MAY_POST   (PFC_SCOPE_INGEST | PFC_SCOPE_RUNNER)
#define PFC_MAY_INGEST PFC_SCOPE_INGEST

extern const pfc_route pfc_routes[];
extern const size_t pfc_routes_len;

/** Whether this request's token may send a runner to `source` (NULL: the project's own). Administrators of
 *  the whole service may name any. */
pfc_code pfc_decode_source(pfc_app *app, const pfc_req *req, const char *project,
                           const char *source, pfc_err *err) PFC_MUSTCHECK;

/** The token's owner, for the HTTP floor. */
pfc_code pfc_app_check_token(pfc_app *app, const char *token, pfc_principal *out, pfc_err *err);

/* ---- asking for many (ops.c); each is called with the lock held ---- */

/** Is it the caller's turn to ask, with the lock released meanwhile? Then pfc_turn_done follows. */
bool pfc_turn_take(pfc_figures_gate *turn);
void pfc_turn_done(pfc_figures_gate *turn);
/** Since when the request that asks has had no answer; 0: none asks. */
int64_t pfc_turn_waits_ns(const pfc_figures_gate *turn);

/* ---- decoding that several share (decode.c) ---- */

/** limit and cursor. */
pfc_code pfc_decode_page(const pfc_req *req, pfc_page *out, pfc_err *err) PFC_MUSTCHECK;
/** The body as JSON of a bounded tree; caller decrefs. PFC_ETOOBIG when it is over that. */
pfc_code pfc_decode_body(const pfc_req *req, json_t **out, pfc_err *err) PFC_MUSTCHECK;
/** The body as a JSON object whose members are all in `known` (NULL-terminated); caller decrefs. */
pfc_code pfc_decode_object(const pfc_req *req, const char *const *known, json_t **out,
                           pfc_err *err) PFC_MUSTCHECK;
/** The project of that name, when the caller may touch it. `field` names it in errors. */
pfc_code pfc_decode_project(pfc_app *app, const pfc_req *req, const char *name, const char *field,
                            int64_t *project_id, pfc_err *err) PFC_MUSTCHECK;
/** The project of the path's {p}. */
pfc_code pfc_path_project(pfc_app *app, const pfc_req *req, int64_t *project_id,
                          pfc_err *err) PFC_MUSTCHECK;
/** The query's page, and its project as of pfc_query_project. */
pfc_code pfc_query_project_page(pfc_app *app, const pfc_req *req, int64_t *project_id,
                                pfc_page *page, pfc_err *err) PFC_MUSTCHECK;
/** The query's `project`, else the one the token is bound to, else 0. */
pfc_code pfc_query_project(pfc_app *app, const pfc_req *req, int64_t *project_id,
                           pfc_err *err) PFC_MUSTCHECK;
/** An object of texts, as canonical JSON text; *out NULL when absent. Caller frees. */
pfc_code pfc_decode_labels(const json_t *obj, const char *key, char **out,
                           pfc_err *err) PFC_MUSTCHECK;
/** An array of texts; caller frees with pfc_decode_texts_free. */
pfc_code pfc_decode_texts(const json_t *obj, const char *key, bool required, size_t max_len,
                          size_t max_bytes, char ***out, size_t *out_len,
                          pfc_err *err) PFC_MUSTCHECK;
void pfc_decode_texts_free(char **texts, size_t len);
/** "config": the text of a perfci.yaml that counts for a job instead of the repository's own, so that
 *  it chooses the commands that runners execute. NULL when absent; caller frees. PFC_EDENIED without
 *  the scope admin, PFC_EINVAL when it is no perfci.yaml. */
pfc_code pfc_decode_config(const pfc_req *req, const json_t *obj, char **out,
                           pfc_err *err) PFC_MUSTCHECK;
/** "blocks" of a job; its texts live as long as the document. */
typedef struct pfc_blocks_body {
    pfc_job_blocks blocks;
    const char **commits, **known, **anchors; /* what the members of blocks point at; owned */
    bool given;
} pfc_blocks_body;
/** Clear *out in every case. */
pfc_code pfc_decode_blocks(const json_t *obj, pfc_blocks_body *out, pfc_err *err) PFC_MUSTCHECK;
void pfc_blocks_body_clear(pfc_blocks_body *body);
/** "blocks" of a job's task, or null. */
json_t *pfc_encode_job_blocks(const char *task_json);
/** PFC_EDENIED for a token that is bound to a project: the route concerns the whole service. */
pfc_code pfc_decode_unbound(const pfc_req *req, pfc_err *err) PFC_MUSTCHECK;

/* ---- encoding that several share (encode.c) ---- */

json_t *pfc_encode_time(double unix_s);         /* RFC 3339; null when not finite or 0 */
json_t *pfc_encode_json_text(const char *text); /* parsed; null when NULL */
json_t *pfc_encode_id(int64_t id);              /* null when 0 */
/** Who did it. A token's name is often a person's: who comes without a token reads its number only. */
json_t *pfc_encode_actor(const pfc_req *req, const char *actor);
/** Of a comparison: counts by verdict; of a row: its verdict's name. */
/** Adds `effects` and `effects_differ` of an alert to json. */
pfc_code pfc_encode_effects(pfc_app *app, int64_t project_id, int64_t alert_id, json_t *json,
                            pfc_err *err);
json_t *pfc_encode_summary(const pfc_comparison *c);
const char *pfc_compare_word(const pfc_compare_row *row);
json_t *pfc_encode_texts(char *const *texts, size_t len);
json_t *pfc_encode_direction(bool higher_is_better); /* "higher" | "lower" */
json_t *pfc_encode_title(const pfc_alert *alert);
json_t *pfc_encode_drift(const pfc_alert *alert); /* null: it is none */
json_t *pfc_encode_change(bool regression);       /* "regression" | "improvement" */
/** {NAME: items, "next_cursor": next or null}; takes items. */
json_t *pfc_encode_list(const char *name, json_t *items, int64_t next);
json_t *pfc_encode_series(const pfc_series *s, int spark);
/** {"code", "sentence"}; null when the change has an alert. */
json_t *pfc_encode_why_no_alert(const pfc_withheld *change);
json_t *pfc_encode_run_row(const pfc_run_row *r);

/** openapi.json of a table; caller decrefs. */
json_t *pfc_openapi(const pfc_route *routes, size_t len);

/* ---- the handlers, by family ---- */

#define PFC_HANDLER(name)                                                                          \
    pfc_code pfc_handle_##name(pfc_app *app, const pfc_req *req, pfc_reply *reply, pfc_err *err)

PFC_HANDLER(version); /* ops.c */
PFC_HANDLER(healthz);
PFC_HANDLER(readyz);
PFC_HANDLER(metrics);
PFC_HANDLER(stats);
PFC_HANDLER(events);
PFC_HANDLER(openapi);
PFC_HANDLER(projects_list); /* projects.c */
PFC_HANDLER(projects_post);
PFC_HANDLER(projects_delete);
PFC_HANDLER(projects_get);
PFC_HANDLER(commits_post); /* commits.c */
PFC_HANDLER(commits_list);
PFC_HANDLER(commits_get);
PFC_HANDLER(series_list); /* series.c */
PFC_HANDLER(series_get);
PFC_HANDLER(series_replay); /* replay.c */
PFC_HANDLER(project_replay);
PFC_HANDLER(detector_get);
PFC_HANDLER(detector_post);
PFC_HANDLER(runs_post); /* runs.c */
PFC_HANDLER(runs_get);
PFC_HANDLER(runs_list);
PFC_HANDLER(compare);     /* compare.c */
PFC_HANDLER(coverage);    /* coverage.c */
PFC_HANDLER(alerts_list); /* alerts.c */
PFC_HANDLER(alerts_get);
PFC_HANDLER(alerts_patch);
PFC_HANDLER(environment_list); /* environment.c */
PFC_HANDLER(environment_get);
PFC_HANDLER(environment_patch);
PFC_HANDLER(alerts_suspects); /* suspects.c */
PFC_HANDLER(sources_post);
PFC_HANDLER(jobs_post); /* jobs.c */
PFC_HANDLER(jobs_list);
PFC_HANDLER(jobs_get);
PFC_HANDLER(jobs_delete);
PFC_HANDLER(jobs_lease); /* leases.c */
PFC_HANDLER(jobs_heartbeat);
PFC_HANDLER(jobs_complete);
PFC_HANDLER(jobs_release);
PFC_HANDLER(runners_list); /* machines.c */
PFC_HANDLER(machines_list);
PFC_HANDLER(bisections_list); /* bisections.c */
PFC_HANDLER(bisections_get);
PFC_HANDLER(bisections_post);
PFC_HANDLER(bisections_delete); /* remote.c */
PFC_HANDLER(tokens_list);       /* tokens.c */
PFC_HANDLER(tokens_post);
PFC_HANDLER(tokens_rotate);
PFC_HANDLER(tokens_delete);
PFC_HANDLER(sessions_post); /* sessions.c */
PFC_HANDLER(sessions_list);
PFC_HANDLER(sessions_get);
PFC_HANDLER(candidates);
PFC_HANDLER(session_post); /* session.c */
PFC_HANDLER(session_delete);
PFC_HANDLER(audit_list);   /* audit.c */
PFC_HANDLER(notices_list); /* notices.c */
PFC_HANDLER(notices_delete);
PFC_HANDLER(notices_send);

json_t *pfc_encode_job(const pfc_job *j);
json_t *pfc_encode_bisection(const pfc_req *req, const pfc_bisection *b);
/** Adds steps, line and cost of a search on the runners to its object. */
void pfc_encode_bisection_detail(int64_t id, const pfc_bisection_detail *d, json_t *json);
/** POST /bisections with mode remote. */
pfc_code pfc_bisection_order_post(pfc_app *app, const pfc_req *req, pfc_reply *reply,
                                  pfc_err *err) PFC_MUSTCHECK;

#endif
