/*
 * The handlers of server/API.md: decode strictly, call one service, encode.
 *
 * One file for each resource, in a folder for each subject: access, alerts, ops, queue, results. A
 * handler keeps no state between calls; pfc_app has the state that they share. main.c passes the
 * route table (routes.c) to server/http; openapi.json is generated from it (description/).
 */
#ifndef PFC_SERVER_HANDLERS_HANDLERS_H
#define PFC_SERVER_HANDLERS_HANDLERS_H

#include <pthread.h>
#include <stdatomic.h>

#include "server/bot/setup.h"
#include "server/handlers/fields.h"
#include "server/http/http.h"
#include "server/http/kept.h"
#include "server/services/access/access.h"
#include "server/services/access/refusals.h"
#include "server/services/alerts/withheld.h"
#include "server/services/bisect/bisect.h"
#include "server/services/history/compare.h"
#include "server/services/ingest/ingest.h"
#include "server/services/queue/fleet.h"
#include "server/services/queue/queue.h"
#include "server/services/thread_health.h"

/* Limits the reads of the database on behalf of open routes, which clients without a token can call
 * at any rate: one read at a time, and at most one a second. Other requests get the result of the
 * last read. */
typedef struct pfc_refresh_gate {
    pthread_mutex_t lock; /* initialised by main; not held during the read */
    int64_t begin_ns; /* of the read under way or the last one; guarded by lock, like the rest */
    int64_t end_ns;   /* of the last read that finished; 0: none */
    bool reading;
} pfc_refresh_gate;

#define PFC_REFRESH_NS PFC_NS_PER_S

/* Figures of the database for /metrics. */
typedef struct pfc_snapshot {
    pfc_refresh_gate gate;
    bool up; /* guarded by gate, like the rest */
    pfc_figures figures;
    pfc_fleet_figures fleet;
    pfc_job_counts jobs;
} pfc_snapshot;

/* The schema version in the database, and whether it accepts writes, for /readyz. */
typedef struct pfc_seen_schema {
    pfc_refresh_gate gate;
    int version; /* guarded by gate, like the rest */
    pfc_err err; /* PFC_OK: version is valid */
} pfc_seen_schema;

struct pfc_app {
    pfc_db *db;             /* the primary; reads may go to its replica */
    pfc_httpd *http;        /* set once the server listens */
    pfc_cache *cache;       /* tokens and projects; NULL: every request reads them */
    pfc_kept *kept;         /* answers that cost much; NULL: each is built again */
    pfc_refusals *refusals; /* counts refused writes; NULL: none are recorded */
    pfc_writer *writer;     /* stores runs in groups; NULL: one transaction for each run */
    const char *sources;    /* patterns of repositories that any job may use; NULL: none */
    /* accounts at forges, whose secrets verify webhooks; NULL: none is received */
    pfc_bot_setups *setups;
    struct pfc_trace_views *traces; /* read last; NULL: each request reads its own */
    double lease_s;                 /* length of a lease, whole seconds; 0: PFC_LEASE_S */
    atomic_bool ready;              /* the schema is in place */
    atomic_int schema_version;
    atomic_bool replaying;           /* limits replays of a whole branch to one at a time */
    pfc_thread_health thread_health; /* signs of life of the worker threads */
    pfc_snapshot snapshot;
    pfc_seen_schema seen_schema;
    _Atomic(char *) description; /* openapi.json, built by the first request for it; owned */
};

/* Scopes of the routes: runners post runs, too. */
#define PFC_MAY_READ   PFC_SCOPE_READ
#define PFC_MAY_POST   (PFC_SCOPE_INGEST | PFC_SCOPE_LEASE)
#define PFC_MAY_WORK   (PFC_SCOPE_RUNNER | PFC_SCOPE_LEASE)
#define PFC_MAY_INGEST PFC_SCOPE_INGEST

extern const pfc_route pfc_routes[];
extern const size_t pfc_routes_len;

/** Checks that this request's token may send a runner to `source` (NULL: the project's own
 * repository). Administrators of the whole service may name any source. */
pfc_code pfc_decode_source(pfc_app *app, const pfc_req *req, const char *project,
                           const char *source, pfc_err *err) PFC_MUSTCHECK;

/** Looks a token up, for server/http. */
pfc_code pfc_app_check_token(pfc_app *app, const char *token, pfc_principal *out, pfc_err *err);

/** Likewise a browser's session. */
pfc_code pfc_app_check_session(pfc_app *app, const char *session, pfc_principal *out, pfc_err *err);

/** Records a refused write, for server/http. */
void pfc_app_refused(pfc_app *app, const pfc_route *route, const pfc_principal *who,
                     const char *address, int status);

/* ---- shared reads (ops/refresh_gate.c); call them with the gate's lock held ---- */

/** True when the caller has to read now: release the lock, read, take it again, call
 * pfc_refresh_end. */
bool pfc_refresh_begin(pfc_refresh_gate *gate);
void pfc_refresh_end(pfc_refresh_gate *gate);
/** How long the read under way has taken so far; 0: none is under way. */
int64_t pfc_refresh_pending_ns(const pfc_refresh_gate *gate);

/* ---- shared decoding (decode.c) ---- */

/** limit and cursor. */
pfc_code pfc_decode_page(const pfc_req *req, pfc_page *out, pfc_err *err) PFC_MUSTCHECK;
/** The body as JSON of a bounded tree; caller decrefs. PFC_ETOOBIG when it is over that. */
pfc_code pfc_decode_body(const pfc_req *req, json_t **out, pfc_err *err) PFC_MUSTCHECK;
/** The body as a JSON object whose members are all in `known` (NULL-terminated); caller decrefs. */
pfc_code pfc_decode_object(const pfc_req *req, const char *const *known, json_t **out,
                           pfc_err *err) PFC_MUSTCHECK;
/** The project of that name; PFC_ENOTFOUND also when the token is bound to another one. `field`
 * names it in errors. */
pfc_code pfc_decode_project(pfc_app *app, const pfc_req *req, const char *name, const char *field,
                            int64_t *project_id, pfc_err *err) PFC_MUSTCHECK;
/** The project of the path's {p}. */
pfc_code pfc_path_project(pfc_app *app, const pfc_req *req, int64_t *project_id,
                          pfc_err *err) PFC_MUSTCHECK;
/** The project of the path, and the branch: the query's, else the project's own, whose text lies in
 *  *row. Clear *row. */
pfc_code pfc_decode_branch(pfc_app *app, const pfc_req *req, int64_t *project, const char **branch,
                           pfc_projects *row, pfc_err *err) PFC_MUSTCHECK;
/** The query's page, and its project as in pfc_query_project. */
pfc_code pfc_query_project_page(pfc_app *app, const pfc_req *req, int64_t *project_id,
                                pfc_page *page, pfc_err *err) PFC_MUSTCHECK;
/** The query's `project`, else the one the token is bound to, else 0. */
pfc_code pfc_query_project(pfc_app *app, const pfc_req *req, int64_t *project_id,
                           pfc_err *err) PFC_MUSTCHECK;
/** An object of strings; *out is unchanged when absent. The caller clears *out. */
pfc_code pfc_decode_labels(const json_t *obj, const char *key, pfc_labels *out,
                           pfc_err *err) PFC_MUSTCHECK;
typedef struct pfc_texts_limits {
    size_t len, bytes; /* at most so many strings, each of 1 to `bytes` bytes */
} pfc_texts_limits;
/** An array of strings; *out is unchanged when absent. The caller clears *out. */
pfc_code pfc_decode_texts(const json_t *obj, const char *key, bool required,
                          const pfc_texts_limits *limits, pfc_texts *out,
                          pfc_err *err) PFC_MUSTCHECK;
/** "config": the text of a perfci.yaml that a job uses in place of the repository's own. It chooses
 * the commands that runners execute, therefore PFC_EDENIED without the scope admin. NULL when
 * absent; caller frees. PFC_EINVAL when it is not a valid perfci.yaml. */
pfc_code pfc_decode_config(const pfc_req *req, const json_t *obj, char **out,
                           pfc_err *err) PFC_MUSTCHECK;
/** "blocks" of a job; its strings live as long as the document. */
typedef struct pfc_blocks_body {
    pfc_job_blocks blocks;
    const char **commits, **known, **anchors; /* the arrays of `blocks`; owned */
    bool given;
} pfc_blocks_body;
/** Clear *out in every case. */
pfc_code pfc_decode_blocks(const json_t *obj, pfc_blocks_body *out, pfc_err *err) PFC_MUSTCHECK;
void pfc_blocks_body_clear(pfc_blocks_body *body);
/** "blocks" of a job's task, or null. */
json_t *pfc_encode_job_blocks(const char *task_json);

/* ---- "status" of requests of runners (queue/fleet.c) ---- */

typedef struct pfc_runner_body {
    bool given; /* the request has one */
    pfc_runner_status status;
    char *version, *sandbox; /* behind status; owned */
} pfc_runner_body;

/** Absent: *out is left alone. Clear *out in every case. */
pfc_code pfc_decode_runner_status(const json_t *body, pfc_runner_body *out,
                                  pfc_err *err) PFC_MUSTCHECK;
/** Stores it, if given. Failures are logged only: a report must not make a request fail. */
void pfc_store_runner_status(pfc_app *app, int64_t project_id, const char *runner,
                             const pfc_runner_body *body);
void pfc_runner_body_clear(pfc_runner_body *body);
/** PFC_EDENIED for a token that is bound to a project, on routes of the whole service. */
pfc_code pfc_decode_unbound(const pfc_req *req, pfc_err *err) PFC_MUSTCHECK;

/* ---- shared encoding (encode.c) ---- */

json_t *pfc_encode_time(double unix_s);         /* RFC 3339; null when not finite or 0 */
json_t *pfc_encode_json_text(const char *text); /* parsed; null when NULL */
json_t *pfc_encode_array(pfc_array_text texts); /* strings; none for NULL */
json_t *pfc_encode_id(int64_t id);              /* null when 0 */
/** The actor of a change. Token names are often names of persons: a request without a token gets
 * the number only. */
json_t *pfc_encode_actor(const pfc_req *req, const char *actor);
/** The owner of an alert, or null. Names that are mail addresses are left out of the answer to a
 * request without a token. (alerts/owners.c) */
json_t *pfc_encode_owner(const pfc_req *req, const char *owner);
/** Adds `effects` and `effects_differ` of an alert to json. */
pfc_code pfc_encode_effects(pfc_app *app, int64_t project_id, int64_t alert_id, json_t *json,
                            pfc_err *err);
/** Counts of the rows by verdict. */
json_t *pfc_encode_summary(const pfc_comparison *c);
const char *pfc_compare_word(const pfc_compare_row *row);
json_t *pfc_encode_texts(char *const *texts, size_t len);
json_t *pfc_encode_scopes(int64_t scopes);           /* names of PFC_SCOPE_* */
json_t *pfc_encode_direction(bool higher_is_better); /* "higher" | "lower" */
json_t *pfc_encode_alert(const pfc_req *req, const pfc_alert *alert);
json_t *pfc_encode_members(pfc_row_view rows); /* of pfc_alert, as a group lists them */
json_t *pfc_encode_title(const pfc_alert *alert);
json_t *pfc_encode_drift(const pfc_alert *alert); /* null for other kinds */
json_t *pfc_encode_change(bool regression);       /* "regression" | "improvement" */
/** {NAME: items, "next_cursor": next or null}; takes items. */
json_t *pfc_encode_list(const char *name, json_t *items, int64_t next);
json_t *pfc_encode_series(const pfc_series *s, int spark);
/** {"code", "sentence"}; null when the change has an alert. */
json_t *pfc_encode_why_no_alert(const pfc_withheld *change);
/** Members of a pfc_run_row in lists. */
extern const pfc_fields pfc_run_fields;
/** Answers 200 with {NAME: [encode(row, context), ...], "next_cursor": next or null}. */
pfc_code pfc_reply_rows(pfc_reply *reply, const char *name, pfc_row_view rows,
                        pfc_row_encoder encode, const void *context, int64_t next,
                        pfc_err *err) PFC_MUSTCHECK;
/** The same with a table of members instead of a function. */
pfc_code pfc_reply_table(pfc_reply *reply, const char *name, pfc_row_view rows, pfc_fields fields,
                         int64_t next, pfc_err *err) PFC_MUSTCHECK;

/** openapi.json of a route table; caller decrefs. */
json_t *pfc_openapi(const pfc_route *routes, size_t len);

/* ---- the handlers, by family ---- */

#define PFC_HANDLER(name)                                                                          \
    pfc_code pfc_handle_##name(pfc_app *app, const pfc_req *req, pfc_reply *reply, pfc_err *err)

PFC_HANDLER(version); /* ops/ops.c */
PFC_HANDLER(healthz);
PFC_HANDLER(readyz);
PFC_HANDLER(metrics); /* ops/metrics.c */
PFC_HANDLER(stats);
PFC_HANDLER(events);
PFC_HANDLER(openapi);       /* description/openapi.c */
PFC_HANDLER(projects_list); /* access/projects.c */
PFC_HANDLER(projects_post);
PFC_HANDLER(projects_patch);
PFC_HANDLER(projects_delete);
PFC_HANDLER(projects_get);
PFC_HANDLER(commits_post); /* results/commits.c */
PFC_HANDLER(commits_list);
PFC_HANDLER(commits_get);
PFC_HANDLER(badge); /* results/pictures.c */
PFC_HANDLER(series_picture);
PFC_HANDLER(series_list); /* results/series.c */
PFC_HANDLER(series_get);
PFC_HANDLER(series_replay); /* results/replay.c */
PFC_HANDLER(project_replay);
PFC_HANDLER(detector_get);
PFC_HANDLER(detector_post);
PFC_HANDLER(runs_post); /* results/runs.c */
PFC_HANDLER(runs_get);
PFC_HANDLER(runs_list);
PFC_HANDLER(traces_post); /* results/traces.c */
PFC_HANDLER(traces_list);
PFC_HANDLER(traces_get);
PFC_HANDLER(traces_file);
PFC_HANDLER(traces_timeline); /* results/timeline.c */
PFC_HANDLER(compare);         /* results/compare.c */
PFC_HANDLER(explain);         /* results/explain.c */
PFC_HANDLER(alerts_explanation);
PFC_HANDLER(coverage); /* results/coverage.c */
PFC_HANDLER(plot);     /* results/plot.c */
PFC_HANDLER(plot_names);
PFC_HANDLER(roofline);    /* results/roofline.c */
PFC_HANDLER(alerts_list); /* alerts/alerts.c */
PFC_HANDLER(alerts_get);
PFC_HANDLER(alerts_patch);
PFC_HANDLER(groups_list); /* alerts/groups.c */
PFC_HANDLER(groups_get);
PFC_HANDLER(groups_patch);
PFC_HANDLER(groups_split);
PFC_HANDLER(groups_merge);
PFC_HANDLER(groups_issue);
PFC_HANDLER(environment_list); /* alerts/environment.c */
PFC_HANDLER(environment_get);
PFC_HANDLER(environment_patch);
PFC_HANDLER(alert_traces_get); /* alerts/alert_traces.c */
PFC_HANDLER(alert_traces_post);
PFC_HANDLER(alerts_suspects); /* alerts/suspects.c */
PFC_HANDLER(sources_post);
PFC_HANDLER(quality);    /* alerts/quality.c */
PFC_HANDLER(owners_get); /* alerts/owners.c */
PFC_HANDLER(owners_post);
PFC_HANDLER(codeowners_post);
PFC_HANDLER(jobs_post); /* queue/jobs.c */
PFC_HANDLER(jobs_list);
PFC_HANDLER(jobs_get);
PFC_HANDLER(jobs_delete);
PFC_HANDLER(jobs_retry);
/** The path's job, when it exists and the token may touch its project; clear *out. */
pfc_code pfc_req_leased_job(pfc_app *app, const pfc_req *req, int64_t *id, pfc_jobs *out,
                            pfc_err *err) PFC_MUSTCHECK;
/** How long a lease lasts without a heartbeat. */
double pfc_lease_seconds(const pfc_app *app);
PFC_HANDLER(jobs_lease); /* queue/leases.c */
PFC_HANDLER(jobs_heartbeat);
PFC_HANDLER(jobs_complete);
PFC_HANDLER(jobs_release);
PFC_HANDLER(jobs_restart);
PFC_HANDLER(jobs_earlier); /* queue/earlier.c */
PFC_HANDLER(runners_list); /* queue/fleet.c */
PFC_HANDLER(runners_drain);
PFC_HANDLER(runners_undrain);
PFC_HANDLER(runners_revoke);
PFC_HANDLER(runners_release);
PFC_HANDLER(machines_list);  /* queue/machines.c */
PFC_HANDLER(canaries_list);
PFC_HANDLER(schedules_list); /* queue/schedules.c */
PFC_HANDLER(schedules_post);
PFC_HANDLER(schedules_patch);
PFC_HANDLER(schedules_delete);
PFC_HANDLER(schedules_run);
PFC_HANDLER(nights_list);
PFC_HANDLER(bisections_list); /* queue/bisections.c */
PFC_HANDLER(bisections_get);
PFC_HANDLER(bisections_replay);
PFC_HANDLER(bisections_post);
PFC_HANDLER(bisections_delete); /* queue/remote.c */
PFC_HANDLER(tokens_list);       /* access/tokens.c */
PFC_HANDLER(tokens_post);
PFC_HANDLER(tokens_rotate);
PFC_HANDLER(tokens_delete);
PFC_HANDLER(sessions_post); /* results/sessions.c */
PFC_HANDLER(sessions_list);
PFC_HANDLER(sessions_get);
PFC_HANDLER(candidates);
PFC_HANDLER(session_post); /* access/session.c */
PFC_HANDLER(session_get);
PFC_HANDLER(session_delete);
PFC_HANDLER(browser_sessions_list);
PFC_HANDLER(browser_sessions_delete);
PFC_HANDLER(audit_list);   /* access/audit.c */
PFC_HANDLER(feed);         /* alerts/feed.c */
PFC_HANDLER(notices_list); /* alerts/notices.c */
PFC_HANDLER(notices_delete);
PFC_HANDLER(notices_send);
PFC_HANDLER(suppressions_list); /* alerts/suppressions.c */
PFC_HANDLER(suppressions_get);
PFC_HANDLER(suppressions_post);
PFC_HANDLER(suppressions_preview);
PFC_HANDLER(suppressions_delete);

json_t *pfc_encode_job(const pfc_job *j);
json_t *pfc_encode_bisection(const pfc_req *req, const pfc_bisection *b);
/** Adds steps, line and cost of a search on the runners to its object. */
void pfc_encode_bisection_detail(int64_t id, const pfc_bisection_detail *d, json_t *json);
/** POST /bisections with mode remote. */
pfc_code pfc_bisection_order_post(pfc_app *app, const pfc_req *req, pfc_reply *reply,
                                  pfc_err *err) PFC_MUSTCHECK;
PFC_HANDLER(webhooks_github); /* pulls/webhooks.c */
PFC_HANDLER(webhooks_gitlab);
PFC_HANDLER(webhooks_gitea);
PFC_HANDLER(webhooks_list);
PFC_HANDLER(pulls_list); /* pulls/pulls.c */
PFC_HANDLER(forge_get);  /* pulls/forge.c */
PFC_HANDLER(forge_post);
PFC_HANDLER(forge_delete);

#endif
