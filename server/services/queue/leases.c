/*
 * Leases: a job is claimed with SKIP LOCKED. A request with the lease's secret may work on the job.
 * When the lease expires, the job returns to the queue, and the old holder's requests are rejected.
 *
 * A restarted runner uses its old secret again and may get the same job. Each lease of a job
 * therefore has a fencing token, which the holder sends with the secret: requests still in flight
 * from the previous try are rejected. Lease requests have sequence numbers for the same reason: a
 * delayed one must neither release the job that a later request got nor lease a job whose response
 * no runner reads.
 */
#include "core/base/hash.h"
#include "core/base/parse.h"
#include "core/base/rng.h"
#include "server/repo/documents/labels.h"
#include "server/repo/sql/fleet.h"
#include "server/repo/sql/jobs.h"
#include "server/repo/sql/runners.h"
#include "server/services/access/lease_tokens.h"
#include "server/services/queue/queue.h"
#include "server/services/queue/reruns.h"
#include "server/services/service.h"

#define MAX_LEASE_S 3600.0
#define UNDO_TRIES  4 /* several pooled connections may be lost at the same moment */

/* Credentials of a holder: hash of the secret, and the fencing token; 0: it sent none. */
typedef struct ticket {
    char hash[PFC_SHA256_HEX];
    int64_t fence;
} ticket;

/* Parses SECRET or SECRET-NUMBER. Any other text becomes a hash that matches no lease. */
static ticket ticket_of(const char *lease)
{
    const char *dash = strchr(lease, '-');
    ticket t = { 0 };

    if (dash && pfc_parse_i64(dash + 1, 1, INT64_MAX, "lease", &t.fence, NULL) != PFC_OK)
        dash = NULL;
    pfc_sha256_hex(lease, dash ? (size_t)(dash - lease) : strlen(lease), t.hash);
    return t;
}

static pfc_code expire(pfc_tx *tx, size_t *expired, pfc_err *err)
{
    pfc_sql_jobs_expire_rows rows = { 0 };
    pfc_sql_job_id_rows due = { 0 };
    pfc_code code;

    code = pfc_sql_jobs_expire(tx, &(pfc_sql_jobs_expire_args){ .max_tries = PFC_JOB_MAX_TRIES },
                               &rows, err);
    for (size_t i = 0; !code && i < rows.len; i++) {
        const char *kind = rows.items[i].kind;
        int64_t id = rows.items[i].id;

        if (strcmp(kind, "detect") == 0)
            code = pfc_event_send(tx, "detect", id, err);
        else
            code = pfc_job_announce(tx, id, err);
    }
    if (!code)
        *expired = rows.len;
    pfc_rows_clear(&rows);
    if (!code)
        code = pfc_sql_jobs_due(tx, &due, err);
    if (!code)
        code = pfc_jobs_announce(tx, &due, err);
    pfc_rows_clear(&due);
    return code ? code : pfc_jobs_cancel_children(tx, 0, err);
}

/* Releases the job (0: any job) held under that lease. *found: there was one. Does nothing if the
 * request numbered `asked` (0: none) is out of date. */
static pfc_code release(pfc_tx *tx, int64_t job_id, const ticket *t, int64_t asked, bool *found,
                        pfc_err *err)
{
    int64_t id = 0;
    size_t expired = 0;
    pfc_code code;

    code = pfc_sql_job_release(
        tx,
        &(pfc_sql_job_release_args){
            .job_id = job_id, .lease_hash = t->hash, .fence = t->fence, .question = asked },
        &id, err);
    *found = id != 0;
    return code || !id ? code : expire(tx, &expired, err);
}

/* Undoes the lease of the job; job_id 0: any lease under the hash, unless the request numbered
 * `asked` (0: none) is out of date. */
static pfc_code undo(pfc_db *db, const ticket *t, int64_t job_id, int64_t asked)
{
    pfc_err err = { 0 };
    pfc_sql_lease_undo_rows rows = { 0 };
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, &err);

    if (code)
        return PFC_OK; /* no connection available: further tries would fail, too */
    code = pfc_sql_lease_undo(
        tx,
        &(pfc_sql_lease_undo_args){
            .lease_hash = t->hash, .job_id = job_id, .fence = t->fence, .question = asked },
        &rows, &err);
    for (size_t i = 0; !code && i < rows.len; i++) {
        const char *kind = rows.items[i].kind;

        if (strcmp(kind, "detect") != 0 && strcmp(kind, "notify") != 0)
            code = pfc_job_announce(tx, rows.items[i].id, &err);
    }
    if (!code)
        code = pfc_tx_commit(tx, &err);
    pfc_rows_clear(&rows);
    pfc_tx_free(tx);
    return code;
}

static void keep_undoing(pfc_db *db, const ticket *t, int64_t job_id, int64_t asked)
{
    pfc_code code = PFC_EUNAVAIL;

    for (int i = 0; i < UNDO_TRIES && code; i++)
        code = undo(db, t, job_id, asked);
}

void pfc_lease_undo(pfc_db *db, const char *lease_hash)
{
    ticket t = { 0 };

    (void)snprintf(t.hash, sizeof(t.hash), "%s", lease_hash);
    keep_undoing(db, &t, 0, 0);
}

static double lease_seconds(double wanted)
{
    return wanted > 0 ? PFC_MIN(wanted, MAX_LEASE_S) : PFC_LEASE_S;
}

/* Runs that earlier leases of the job stored are no longer points of their series, so these series
 * are judged again. */
static pfc_code judge_overtaken(pfc_tx *tx, int64_t job_id, pfc_err *err)
{
    pfc_sql_job_overtaken_rows rows = { 0 };
    pfc_code code;

    code = pfc_sql_job_overtaken(tx, &(pfc_sql_job_overtaken_args){ .job_id = job_id }, &rows, err);
    for (size_t i = 0; !code && i < rows.len; i++)
        code = pfc_detect_enqueue(tx, rows.items[i].project_id, rows.items[i].id, NULL, err);
    pfc_rows_clear(&rows);
    return code;
}

static pfc_code refuse_late(bool late, int64_t asked, pfc_err *err)
{
    if (!late)
        return PFC_OK;
    return pfc_err_set(
        err, PFC_ECONFLICT,
        "lease request %lld is out of date: a later one was received, or this one got a job",
        (long long)asked);
}

static pfc_code hear_question(pfc_tx *tx, const ticket *t, int64_t asked, bool *late, pfc_err *err)
{
    pfc_code code = pfc_sql_lease_question(
        tx, &(pfc_sql_lease_question_args){ .lease_hash = t->hash, .question = asked }, late, err);

    return code ? code : refuse_late(*late, asked, err);
}

/* Before the first look for a job: the runner is recorded, the request's number too, and a job that
 * is held under the lease's secret returns to the queue. */
static pfc_code begin(pfc_tx *tx, const pfc_lease_request *request, const char *labels,
                      const ticket *t, int64_t asked, bool *late, pfc_err *err)
{
    bool found = false;
    pfc_code code;

    code = pfc_sql_runner_seen(tx,
                               &(pfc_sql_runner_seen_args){ .name = request->runner,
                                                            .machine_class = request->machine_class,
                                                            .labels = labels,
                                                            .backends = request->backends,
                                                            .backends_len = request->backends_len,
                                                            .project_id = request->project_id,
                                                            .token_id = request->token_id },
                               err);
    if (!code && asked)
        code = hear_question(tx, t, asked, late, err);
    if (!code && request->lease)
        code = release(tx, 0, t, asked, &found, err);
    return code;
}

/* *t has the hash of the lease's secret and gets its fencing token. token_hash: of the lease's own
 * token, with which the runner stores the results; NULL: none is wanted. Each statement is a
 * transaction of its own, so a later request may come between any two of them: this one then
 * releases nothing, and returns the job that it leased. A request that waited only looks again:
 * with 1,000 waiting runners, the statements of `begin` would be most of the database's load. */
static pfc_code take(pfc_tx *tx, const pfc_lease_request *request, const char *labels,
                     const char *token_hash, ticket *t, int64_t *id, bool *late, pfc_err *err)
{
    const int64_t asked = request->lease ? request->asked : 0;
    pfc_sql_job_lease_rows rows = { 0 };
    pfc_code code = request->again ? PFC_OK : begin(tx, request, labels, t, asked, late, err);

    if (code)
        return code;
    code = pfc_sql_job_lease(tx,
                             &(pfc_sql_job_lease_args){ .runner = request->runner,
                                                        .machine_class = request->machine_class,
                                                        .labels = labels,
                                                        .backends = request->backends,
                                                        .backends_len = request->backends_len,
                                                        .project_id = request->project_id,
                                                        .lease_hash = t->hash,
                                                        .seconds = lease_seconds(request->lease_s),
                                                        .question = asked,
                                                        .token_hash = token_hash,
                                                        .token_id = request->token_id },
                             &rows, err);
    if (!code && rows.len) {
        *id = rows.items[0].id;
        t->fence = rows.items[0].fence;
        *late = rows.items[0].late;
        code = refuse_late(*late, asked, err);
        if (!code)
            code = t->fence > 1 ? judge_overtaken(tx, *id, err) : PFC_OK;
    }
    pfc_rows_clear(&rows);
    return code;
}

pfc_code pfc_job_lease(pfc_db *db, const pfc_lease_request *request, pfc_jobs *out,
                       char lease[PFC_LEASE_SIZE], pfc_err *err)
{
    char *labels = pfc_labels_text(request->labels);
    char fresh[33], token_hash[PFC_SHA256_HEX];
    ticket t = { 0 };
    pfc_tx *tx = NULL;
    int64_t id = 0;
    bool late = false;
    pfc_code code = pfc_labels_check(request->labels, err);

    if (!code && (!request->runner || !*request->runner || !request->machine_class))
        code = pfc_err_set_field(err, PFC_EINVAL, "runner", "runner: expected a name and a class");
    if (!code && request->lease &&
        (strlen(request->lease) != sizeof(fresh) - 1 || !pfc_is_hex_id(request->lease)))
        code = pfc_err_set_field(err, PFC_EINVAL, "lease", "lease: expected 32 hexadecimal digits");
    if (!code)
        code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);
    if (!code) {
        if (request->lease)
            memcpy(fresh, request->lease, sizeof(fresh));
        else
            pfc_random_id(fresh);
        pfc_sha256_hex(fresh, strlen(fresh), t.hash);
        if (request->token)
            pfc_lease_token_make(request->token, token_hash);
        code = take(tx, request, labels, request->token ? token_hash : NULL, &t, &id, &late, err);
    }
    pfc_tx_free(tx);
    free(labels);
    if (!code && !id)
        code = pfc_err_set(err, PFC_ENOTFOUND, "no job waits for this runner");
    if (!code)
        code = pfc_jobs_get(db, id, out, err);
    if (!code) {
        out->items[0].fence = t.fence; /* the job may have been leased again since */
        (void)snprintf(lease, PFC_LEASE_SIZE, "%s-%lld", fresh, (long long)t.fence);
    } else if (t.hash[0] && code != PFC_ENOTFOUND && (id || !late)) {
        keep_undoing(db, &t, id, request->asked); /* no runner received the secret */
    }
    return code;
}

/* No start is left, or the lease is lost. In the first case the job fails, as one whose lease
 * expired that often. */
static pfc_code refuse_restart(pfc_tx *tx, int64_t job_id, const ticket *t, pfc_err *err)
{
    ticket same = { .fence = 0 }; /* of any start */
    bool found = false;
    pfc_code code;

    memcpy(same.hash, t->hash, sizeof(same.hash));
    code = release(tx, job_id, &same, 0, &found, err);
    return code ? code
                : pfc_err_set(err, PFC_ECONFLICT, "job %lld: %s", (long long)job_id,
                              found ? "it was started too often" : "the lease is lost");
}

/* A restarted job has a new fencing token, and needs a token for its results that names it. */
static pfc_code issue_token(pfc_db *db, const pfc_lease_request *request, const pfc_job *job,
                            int64_t fence, pfc_err *err)
{
    const pfc_lease_token_request wanted = { .project_id = job->project_id,
                                             .job_id = job->id,
                                             .fence = fence,
                                             .token_id = request->token_id,
                                             .runner = request->runner };
    pfc_tx *tx = NULL;
    pfc_code code;

    if (!request->token)
        return PFC_OK;
    code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);
    if (!code)
        code = pfc_lease_token_issue(tx, &wanted, request->token, err);
    pfc_tx_free(tx);
    return code;
}

static pfc_code restart(pfc_tx *tx, int64_t job_id, const pfc_lease_request *request, ticket *t,
                        pfc_err *err)
{
    pfc_sql_job_restart_rows rows = { 0 };
    pfc_code code =
        pfc_sql_job_restart(tx,
                            &(pfc_sql_job_restart_args){ .job_id = job_id,
                                                         .lease_hash = t->hash,
                                                         .fence = t->fence,
                                                         .runner = request->runner,
                                                         .seconds = lease_seconds(request->lease_s),
                                                         .max_tries = PFC_JOB_MAX_TRIES },
                            &rows, err);

    if (!code && !rows.len)
        code = refuse_restart(tx, job_id, t, err);
    if (!code) {
        t->fence = rows.items[0].fence;
        code = judge_overtaken(tx, job_id, err);
    }
    if (!code)
        code = pfc_job_announce(tx, job_id, err);
    pfc_rows_clear(&rows);
    return code;
}

pfc_code pfc_job_restart(pfc_db *db, int64_t job_id, const pfc_lease_request *request,
                         pfc_jobs *out, char lease[PFC_LEASE_SIZE], pfc_err *err)
{
    ticket t = ticket_of(request->lease);
    const size_t secret = strcspn(request->lease, "-");
    pfc_jobs jobs = { 0 };
    pfc_tx *tx = NULL;
    pfc_code code;

    if (!t.fence || secret > PFC_LEASE_SIZE - 21)
        return pfc_err_set_field(err, PFC_EINVAL, "lease",
                                 "lease: expected the one of the answer, SECRET-NUMBER");
    code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);
    if (!code)
        code = restart(tx, job_id, request, &t, err);
    pfc_tx_free(tx);
    if (!code)
        code = pfc_jobs_get(db, job_id, &jobs, err);
    if (!code)
        code = issue_token(db, request, &jobs.items[0], t.fence, err);
    if (code) {
        pfc_rows_clear(&jobs);
        return code;
    }
    jobs.items[0].fence = t.fence;
    (void)snprintf(lease, PFC_LEASE_SIZE, "%.*s-%lld", (int)secret, request->lease,
                   (long long)t.fence);
    *out = jobs;
    return PFC_OK;
}

pfc_code pfc_job_heartbeat(pfc_db *db, int64_t job_id, const char *lease, const char *progress,
                           double lease_s, bool *cancel, pfc_err *err)
{
    const ticket t = ticket_of(lease);
    pfc_sql_job_heartbeat_rows rows = { 0 };
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);

    if (code)
        return code;
    code = pfc_sql_job_heartbeat(tx,
                                 &(pfc_sql_job_heartbeat_args){ .job_id = job_id,
                                                                .lease_hash = t.hash,
                                                                .seconds = lease_seconds(lease_s),
                                                                .progress = progress,
                                                                .fence = t.fence },
                                 &rows, err);
    if (!code && rows.len == 0)
        code = pfc_err_set(err, PFC_ECONFLICT, "job %lld: the lease is lost", (long long)job_id);
    if (!code)
        *cancel = rows.items[0].cancel_requested;
    pfc_rows_clear(&rows);
    pfc_tx_free(tx);
    return code;
}

/* No row was changed: PFC_OK for a repeated completion, an error for one under a lost lease. */
static pfc_code explain_refusal(pfc_tx *tx, int64_t job_id, const ticket *t, pfc_err *err)
{
    pfc_sql_job_state_rows rows = { 0 };
    const char *stored, *state;
    pfc_code code;

    code = pfc_sql_job_state(tx, &(pfc_sql_job_state_args){ .job_id = job_id }, &rows, err);
    if (code)
        return code;
    if (rows.len == 0) {
        code = pfc_err_set(err, PFC_ENOTFOUND, "no such job");
    } else {
        state = rows.items[0].state;
        stored = rows.items[0].lease_hash;
        if (!stored || !pfc_secret_equal(stored, t->hash) || strcmp(state, "leased") == 0 ||
            (t->fence && t->fence != rows.items[0].fence))
            code = pfc_err_set(err, PFC_ECONFLICT, "job %lld: the lease is lost, the job is %s",
                               (long long)job_id, state);
    }
    pfc_rows_clear(&rows);
    return code;
}

/* The jobs that waited for this one may be ready now. */
static pfc_code announce_children(pfc_tx *tx, int64_t project_id, int64_t job_id, pfc_err *err)
{
    pfc_sql_job_id_rows rows = { 0 };
    pfc_code code = pfc_sql_job_children(
        tx, &(pfc_sql_job_children_args){ .project_id = project_id, .job_id = job_id }, &rows, err);

    if (!code)
        code = pfc_jobs_announce(tx, &rows, err);
    pfc_rows_clear(&rows);
    return code;
}

static pfc_code complete(pfc_tx *tx, int64_t job_id, const ticket *t, const char *state,
                         const char *reason, const pfc_job_result *result, pfc_err *err)
{
    char *what;
    pfc_sql_job_complete_rows rows = { 0 };
    pfc_code code;

    code = pfc_sql_job_complete(tx,
                                &(pfc_sql_job_complete_args){ .job_id = job_id,
                                                              .lease_hash = t->hash,
                                                              .state = state,
                                                              .reason = reason,
                                                              .run_ids = result->run_ids,
                                                              .run_ids_len = result->run_ids_len,
                                                              .fence = t->fence,
                                                              .session = result->session },
                                &rows, err);
    if (code)
        return code;
    if (rows.len) {
        what = pfc_format("job %lld", (long long)job_id);
        code = pfc_audit_add(tx, rows.items[0].actor, "complete", rows.items[0].project_id, what,
                             rows.items[0].state, err);
        free(what);
        if (!code)
            code = pfc_job_announce(tx, job_id, err);
        if (!code)
            code = strcmp(rows.items[0].state, "done") == 0
                       ? announce_children(tx, rows.items[0].project_id, job_id, err)
                       : pfc_jobs_cancel_children(tx, job_id, err);
        if (!code && result->run_ids_len)
            code =
                pfc_sql_runner_ended(tx,
                                     &(pfc_sql_runner_ended_args){
                                         .job_id = job_id, .runs = (int64_t)result->run_ids_len },
                                     err);
        if (!code && result->rerun)
            code = pfc_reruns_keep(tx, rows.items[0].actor, job_id, result->rerun, err);
    } else {
        code = explain_refusal(tx, job_id, t, err);
    }
    pfc_rows_clear(&rows);
    return code;
}

pfc_code pfc_job_finish(pfc_db *db, int64_t job_id, const char *lease, const char *status,
                        const char *reason, const pfc_job_result *result, pfc_err *err)
{
    const bool broken = pfc_streq(status, "broken"), late = pfc_streq(status, "timed_out");
    const ticket t = ticket_of(lease);
    char *why = NULL;
    pfc_tx *tx = NULL;
    pfc_code code;

    if (!broken && !late && !pfc_streq(status, "done") && !pfc_streq(status, "failed"))
        return pfc_err_set_field(err, PFC_EINVAL, "status",
                                 "status: expected done, failed, broken or timed_out");
    if (result->session && (strlen(result->session) != 32 || !pfc_is_hex_id(result->session)))
        return pfc_err_set_field(err, PFC_EINVAL, "session",
                                 "session: expected 32 hexadecimal digits, got \"%.64s\"",
                                 result->session);
    if (broken)
        why = pfc_format(PFC_JOB_BROKEN "%s", reason ? reason : "the benchmark cannot be measured");
    if (late)
        why = pfc_format(PFC_JOB_TIMED_OUT "%s", reason ? reason : "over its limit");
    code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);
    if (!code)
        code = complete(tx, job_id, &t, why ? "failed" : status, why ? why : reason, result, err);
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_tx_free(tx);
    free(why);
    return code;
}

pfc_code pfc_job_complete(pfc_db *db, int64_t job_id, const char *lease, const char *status,
                          const char *reason, const char *const *run_ids, size_t run_ids_len,
                          pfc_err *err)
{
    const pfc_job_result result = { .run_ids = run_ids, .run_ids_len = run_ids_len };

    return pfc_job_finish(db, job_id, lease, status, reason, &result, err);
}

pfc_code pfc_jobs_expire(pfc_db *db, size_t *expired, pfc_err *err)
{
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    if (!code)
        code = expire(tx, expired, err);
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_tx_free(tx);
    return code;
}

pfc_code pfc_job_release(pfc_db *db, int64_t job_id, const char *lease, pfc_err *err)
{
    const ticket t = ticket_of(lease);
    bool found = false;
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    if (code)
        return code;
    code = release(tx, job_id, &t, 0, &found, err);
    if (!code && !found)
        code = explain_refusal(tx, job_id, &t, err);
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_tx_free(tx);
    return code;
}
