/*
 * The queue: rows claimed with SKIP LOCKED under a lease. Whoever has the lease's secret may go on;
 * when it runs out the job goes back, and what its old holder still sends is refused.
 */
#include "core/base/hash.h"
#include "core/base/parse.h"
#include "core/base/rng.h"
#include "server/services/internal.h"

#define MAX_LEASE_S 3600.0
#define DEDUPE_MAX  (2 << 20) /* more than all labels that a job can have */
#define UNDO_TRIES  4         /* connections lost at the same moment, before one is good */

/* Announces the job as it is now, when tx commits. */
static pfc_code tell_job(pfc_tx *tx, int64_t id, pfc_err *err)
{
    pfc_args args = { 0 };

    pfc_args_i64(&args, id);
    return pfc_tx_query(tx, "job_notify", &args, NULL, err);
}

/* Runs a statement that changes jobs and announces each of them; takes args. */
static pfc_code change(pfc_tx *tx, const char *name, pfc_args *args, pfc_err *err)
{
    pfc_res *res = NULL;
    pfc_code code = pfc_tx_query(tx, name, args, &res, err);

    for (size_t i = 0; !code && i < pfc_res_rows(res); i++)
        code = tell_job(tx, pfc_res_i64(res, i, 0), err);
    pfc_res_free(res);
    return code;
}

/* What waits for the job is not going to be done (id 0: for any job). */
static pfc_code cancel_children(pfc_tx *tx, int64_t id, pfc_err *err)
{
    pfc_args args = { 0 };

    pfc_args_id(&args, id);
    return change(tx, "jobs_orphaned", &args, err);
}

pfc_code pfc_job_put(pfc_tx *tx, int64_t project_id, const pfc_job_row *row, int64_t *id,
                     pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_code code;

    pfc_args_i64(&args, project_id);
    pfc_args_text(&args, row->kind);
    pfc_args_i64(&args, row->priority);
    pfc_args_text(&args, row->commit);
    pfc_args_text(&args, row->branch);
    pfc_args_text(&args, row->suite);
    pfc_args_text(&args, row->source);
    pfc_args_text(&args, row->labels);
    pfc_args_id(&args, row->run_id);
    pfc_args_text(&args, row->dedupe);
    pfc_args_text(&args, row->task);
    pfc_args_text(&args, row->avoid_runner);
    pfc_args_i64s(&args, row->parents, row->parents_len);
    code = pfc_query_id(tx, "job_insert", &args, id, err);
    return code || !*id || strcmp(row->kind, "detect") == 0 ? code : tell_job(tx, *id, err);
}

pfc_code pfc_detect_enqueue(pfc_tx *tx, int64_t project_id, int64_t run_id, const char *branch,
                            pfc_err *err)
{
    const pfc_job_row row = { .kind = "detect", .branch = branch, .run_id = run_id };
    int64_t id = 0;
    pfc_code code = pfc_job_put(tx, project_id, &row, &id, err);

    if (!code)
        code = pfc_tell(tx, json_pack("{s:s, s:I}", "type", "detect", "id", (json_int_t)id), err);
    return code;
}

/* Labels: an object of texts, written one way so that equal ones compare equal. */
static pfc_code canonical_labels(const char *text, char **out, pfc_err *err)
{
    json_t *labels = NULL;
    const char *name;
    json_t *value;
    pfc_code code = pfc_json_parse(text ? text : "{}", text ? strlen(text) : 2, &labels, err);

    if (code)
        return code;
    if (!json_is_object(labels) || json_object_size(labels) > PFC_WIRE_MAX_FINGERPRINT)
        code = pfc_err_set_field(err, PFC_EINVAL, "labels", "labels: want an object of texts");
    json_object_foreach(labels, name, value)
    {
        if (!code && (!json_is_string(value) || json_string_length(value) > PFC_WIRE_MAX_NAME ||
                      strlen(name) > PFC_WIRE_MAX_NAME))
            code = pfc_err_set_field(err, PFC_EINVAL, "labels",
                                     "labels: want texts of at most %d bytes", PFC_WIRE_MAX_NAME);
    }
    if (!code)
        *out = json_dumps(labels, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(labels);
    return code;
}

static pfc_code check_spec(const pfc_job_spec *spec, pfc_err *err)
{
    static const char *const kinds[] = { "measure",  "nightly", "pull_request",
                                         "backfill", "bisect",  "verify" };
    bool known = false;

    for (size_t i = 0; i < PFC_ARRAY_LEN(kinds); i++)
        known |= pfc_streq(kinds[i], spec->kind);
    if (!known)
        return pfc_err_set_field(err, PFC_EINVAL, "kind",
                                 "kind: want measure, nightly, pull_request, backfill, bisect or"
                                 " verify");
    if (!pfc_is_sha(spec->commit))
        return pfc_err_set_field(err, PFC_EINVAL, "commit",
                                 "commit: want a full id of 40 hexadecimal digits");
    if (spec->priority < 0 || spec->priority > 100)
        return pfc_err_set_field(err, PFC_EINVAL, "priority", "priority: want 0 to 100, got %d",
                                 spec->priority);
    if (spec->parents_len > PFC_JOB_MAX_PARENTS)
        return pfc_err_set_field(err, PFC_EINVAL, "parents", "parents: want at most %d jobs",
                                 PFC_JOB_MAX_PARENTS);
    return PFC_OK;
}

/* PFC_OK when each parent is there and may still be done. */
static pfc_code may_wait_for(const pfc_job_spec *spec, const pfc_res *found, pfc_err *err)
{
    for (size_t i = 0; i < spec->parents_len; i++) {
        const long long id = (long long)spec->parents[i];
        const char *state = NULL;

        for (size_t r = 0; r < pfc_res_rows(found) && !state; r++)
            state = pfc_res_i64(found, r, 0) == id ? pfc_res_text(found, r, 1) : NULL;
        if (!state)
            return pfc_err_set_field(err, PFC_EINVAL, "parents",
                                     "parents: the project has no job %lld", id);
        if (strcmp(state, "failed") == 0 || strcmp(state, "cancelled") == 0)
            return pfc_err_set_field(err, PFC_ECONFLICT, "parents",
                                     "parents: job %lld is %s: what waits for it never begins", id,
                                     state);
    }
    return PFC_OK;
}

static pfc_code check_parents(pfc_tx *tx, int64_t project_id, const pfc_job_spec *spec,
                              pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_res *res = NULL;
    pfc_code code;

    if (!spec->parents_len)
        return PFC_OK;
    pfc_args_i64(&args, project_id);
    pfc_args_i64s(&args, spec->parents, spec->parents_len);
    code = pfc_tx_query(tx, "job_parents", &args, &res, err);
    if (!code)
        code = may_wait_for(spec, res, err);
    pfc_res_free(res);
    if (code)
        return code;
    pfc_args_i64(&args, project_id);
    pfc_args_i64s(&args, spec->parents, spec->parents_len);
    pfc_args_i64(&args, spec->priority);
    return change(tx, "job_parents_raise", &args, err);
}

/* What makes two open jobs the same. */
static void dedupe_of(const pfc_job_spec *spec, const char *labels, char out[PFC_SHA256_HEX])
{
    pfc_buf text;

    pfc_buf_init(&text, DEDUPE_MAX);
    pfc_buf_printf(&text, "%s\n%s\n%s\n%s", spec->kind, spec->commit,
                   spec->suite ? spec->suite : "", labels);
    for (size_t i = 0; i < spec->parents_len; i++)
        pfc_buf_printf(&text, "\n%lld", (long long)spec->parents[i]);
    pfc_sha256_hex(text.data, text.len, out);
    pfc_buf_clear(&text);
}

static pfc_code insert_or_find(pfc_tx *tx, int64_t project_id, const pfc_job_spec *spec,
                               const char *labels, int64_t *id, bool *created, pfc_err *err)
{
    char dedupe[PFC_SHA256_HEX];
    const pfc_job_row row = { .kind = spec->kind,
                              .commit = spec->commit,
                              .branch = spec->branch,
                              .suite = spec->suite,
                              .source = spec->source,
                              .labels = labels,
                              .dedupe = dedupe,
                              .parents = spec->parents,
                              .parents_len = spec->parents_len,
                              .priority = spec->priority };
    pfc_code code = check_parents(tx, project_id, spec, err);

    dedupe_of(spec, labels, dedupe);
    *id = 0;
    /* The open one may end between the two statements: then the next round inserts. */
    for (int round = 0; round < 3 && !*id && !code; round++) {
        pfc_args args = { 0 };

        code = pfc_job_put(tx, project_id, &row, id, err);
        *created = *id != 0;
        if (!code && !*id) {
            pfc_args_i64(&args, project_id);
            pfc_args_text(&args, dedupe);
            code = pfc_query_id(tx, "job_open", &args, id, err);
        }
    }
    if (!code && !*id)
        code = pfc_err_set(err, PFC_EUNAVAIL, "job: the open one keeps changing: try again");
    return code;
}

pfc_code pfc_job_enqueue(pfc_db *db, const char *actor, int64_t project_id,
                         const pfc_job_spec *spec, bool *created, pfc_jobs *out, pfc_err *err)
{
    char *labels = NULL, *what = NULL;
    bool fresh = false;
    pfc_tx *tx = NULL;
    int64_t id = 0;
    pfc_code code = check_spec(spec, err);

    if (!code)
        code = canonical_labels(spec->labels_json, &labels, err);
    if (!code)
        code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);
    if (!code)
        code = insert_or_find(tx, project_id, spec, labels, &id, &fresh, err);
    if (!code && fresh) {
        what = pfc_format("job %lld", (long long)id);
        code = pfc_note(tx, actor, "enqueue", project_id, what, spec->kind, err);
    }
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_tx_free(tx);
    free(what);
    free(labels);
    if (!code)
        code = pfc_jobs_get(db, id, out, err);
    if (!code)
        *created = fresh;
    return code;
}

static pfc_code expire(pfc_tx *tx, size_t *expired, pfc_err *err)
{
    pfc_args args = { 0 }, none = { 0 };
    pfc_res *res = NULL;
    pfc_code code;

    pfc_args_i64(&args, PFC_JOB_MAX_TRIES);
    code = pfc_tx_query(tx, "jobs_expire", &args, &res, err);
    for (size_t i = 0; !code && i < pfc_res_rows(res); i++) {
        const char *kind = pfc_res_text(res, i, 2);
        int64_t id = pfc_res_i64(res, i, 0);

        if (strcmp(kind, "detect") == 0)
            code =
                pfc_tell(tx, json_pack("{s:s, s:I}", "type", "detect", "id", (json_int_t)id), err);
        else
            code = tell_job(tx, id, err);
    }
    if (!code)
        *expired = pfc_res_rows(res);
    pfc_res_free(res);
    if (!code)
        code = change(tx, "jobs_due", &none, err);
    return code ? code : cancel_children(tx, 0, err);
}

/* *found: a job was held under that hash (any job: 0), and no longer is. */
static pfc_code release(pfc_tx *tx, int64_t job_id, const char *hash, bool *found, pfc_err *err)
{
    pfc_args args = { 0 };
    int64_t id = 0;
    size_t expired = 0;
    pfc_code code;

    pfc_args_id(&args, job_id);
    pfc_args_text(&args, hash);
    code = pfc_query_id(tx, "job_release", &args, &id, err);
    *found = id != 0;
    return code || !id ? code : expire(tx, &expired, err);
}

static pfc_code undo(pfc_db *db, const char *lease_hash)
{
    pfc_err err = { 0 };
    pfc_args args = { 0 };
    pfc_res *res = NULL;
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, &err);

    if (code)
        return PFC_OK; /* no connection to be had, for any of the tries */
    pfc_args_text(&args, lease_hash);
    code = pfc_tx_query(tx, "lease_undo", &args, &res, &err);
    for (size_t i = 0; !code && i < pfc_res_rows(res); i++) {
        const char *kind = pfc_res_text(res, i, 1);

        if (strcmp(kind, "detect") != 0 && strcmp(kind, "notify") != 0)
            code = tell_job(tx, pfc_res_i64(res, i, 0), &err);
    }
    if (!code)
        code = pfc_tx_commit(tx, &err);
    pfc_res_free(res);
    pfc_tx_free(tx);
    return code;
}

void pfc_lease_undo(pfc_db *db, const char *lease_hash)
{
    pfc_code code = PFC_EUNAVAIL;

    for (int i = 0; i < UNDO_TRIES && code; i++)
        code = undo(db, lease_hash);
}

static double lease_seconds(double wanted)
{
    return wanted > 0 ? PFC_MIN(wanted, MAX_LEASE_S) : PFC_LEASE_S;
}

static pfc_code take(pfc_tx *tx, const pfc_lease_request *request, const char *labels,
                     const char *hash, int64_t *id, pfc_err *err)
{
    pfc_args args = { 0 };
    bool found = false;
    pfc_code code;

    pfc_args_text(&args, request->runner);
    pfc_args_text(&args, request->machine_class);
    pfc_args_text(&args, labels);
    pfc_args_texts(&args, request->backends, request->backends_len);
    pfc_args_id(&args, request->project_id);
    code = pfc_tx_query(tx, "runner_seen", &args, NULL, err);
    if (!code && request->lease)
        code = release(tx, 0, hash, &found, err);
    if (code)
        return code;
    pfc_args_text(&args, request->runner);
    pfc_args_text(&args, request->machine_class);
    pfc_args_text(&args, labels);
    pfc_args_texts(&args, request->backends, request->backends_len);
    pfc_args_id(&args, request->project_id);
    pfc_args_text(&args, hash);
    pfc_args_f64(&args, lease_seconds(request->lease_s));
    code = pfc_query_id(tx, "job_lease", &args, id, err);
    return code || !*id ? code : tell_job(tx, *id, err);
}

pfc_code pfc_job_lease(pfc_db *db, const pfc_lease_request *request, pfc_jobs *out, char *secret,
                       pfc_err *err)
{
    char *labels = NULL;
    char fresh[33], hash[PFC_SHA256_HEX] = "";
    pfc_tx *tx = NULL;
    int64_t id = 0;
    pfc_code code = canonical_labels(request->labels_json, &labels, err);

    if (!code && (!request->runner || !*request->runner || !request->machine_class))
        code = pfc_err_set_field(err, PFC_EINVAL, "runner", "runner: want a name and a class");
    if (!code && request->lease &&
        (strlen(request->lease) != sizeof(fresh) - 1 || !pfc_is_hex_id(request->lease)))
        code = pfc_err_set_field(err, PFC_EINVAL, "lease", "lease: want 32 hexadecimal digits");
    if (!code)
        code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);
    if (!code) {
        if (request->lease)
            memcpy(fresh, request->lease, sizeof(fresh));
        else
            pfc_random_id(fresh);
        pfc_sha256_hex(fresh, strlen(fresh), hash);
        code = take(tx, request, labels, hash, &id, err);
    }
    pfc_tx_free(tx);
    free(labels);
    if (!code && !id)
        code = pfc_err_set(err, PFC_ENOTFOUND, "no job waits for this runner");
    if (!code)
        code = pfc_jobs_get(db, id, out, err);
    if (!code)
        memcpy(secret, fresh, sizeof(fresh));
    /* Nobody has its secret. */
    else if (hash[0] && code != PFC_ENOTFOUND)
        pfc_lease_undo(db, hash);
    return code;
}

pfc_code pfc_job_heartbeat(pfc_db *db, int64_t job_id, const char *secret, const char *progress,
                           double lease_s, bool *cancel, pfc_err *err)
{
    char hash[PFC_SHA256_HEX];
    pfc_args args = { 0 };
    pfc_res *res = NULL;
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);

    if (code)
        return code;
    pfc_sha256_hex(secret, strlen(secret), hash);
    pfc_args_i64(&args, job_id);
    pfc_args_text(&args, hash);
    pfc_args_f64(&args, lease_seconds(lease_s));
    pfc_args_text(&args, progress);
    code = pfc_tx_query(tx, "job_heartbeat", &args, &res, err);
    if (!code && pfc_res_rows(res) == 0)
        code = pfc_err_set(err, PFC_ECONFLICT, "job %lld: the lease is lost", (long long)job_id);
    if (!code)
        *cancel = pfc_res_bool(res, 0, 0);
    pfc_res_free(res);
    pfc_tx_free(tx);
    return code;
}

/* No row was changed: is it the same completion again, or a late one? */
static pfc_code explain_refusal(pfc_tx *tx, int64_t job_id, const char *hash, pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_res *res = NULL;
    const char *stored, *state;
    pfc_code code;

    pfc_args_i64(&args, job_id);
    code = pfc_tx_query(tx, "job_state", &args, &res, err);
    if (code)
        return code;
    if (pfc_res_rows(res) == 0) {
        code = pfc_err_set(err, PFC_ENOTFOUND, "no such job");
    } else {
        state = pfc_res_text(res, 0, 1);
        stored = pfc_res_text(res, 0, 2);
        if (!stored || !pfc_secret_equal(stored, hash) || strcmp(state, "leased") == 0)
            code = pfc_err_set(err, PFC_ECONFLICT, "job %lld: the lease is lost, the job is %s",
                               (long long)job_id, state);
    }
    pfc_res_free(res);
    return code;
}

static pfc_code complete(pfc_tx *tx, int64_t job_id, const char *hash, const char *state,
                         const char *reason, const char *const *run_ids, size_t run_ids_len,
                         pfc_err *err)
{
    char *what;
    pfc_args args = { 0 };
    pfc_res *res = NULL;
    pfc_code code;

    pfc_args_i64(&args, job_id);
    pfc_args_text(&args, hash);
    pfc_args_text(&args, state);
    pfc_args_text(&args, reason);
    pfc_args_texts(&args, run_ids, run_ids_len);
    code = pfc_tx_query(tx, "job_complete", &args, &res, err);
    if (code)
        return code;
    if (pfc_res_rows(res)) {
        what = pfc_format("job %lld", (long long)job_id);
        code = pfc_note(tx, pfc_res_text(res, 0, 2), "complete", pfc_res_i64(res, 0, 0), what,
                        pfc_res_text(res, 0, 1), err);
        free(what);
        if (!code)
            code = tell_job(tx, job_id, err);
        if (!code && strcmp(pfc_res_text(res, 0, 1), "done") != 0)
            code = cancel_children(tx, job_id, err);
    } else {
        code = explain_refusal(tx, job_id, hash, err);
    }
    pfc_res_free(res);
    return code;
}

pfc_code pfc_job_complete(pfc_db *db, int64_t job_id, const char *secret, const char *status,
                          const char *reason, const char *const *run_ids, size_t run_ids_len,
                          pfc_err *err)
{
    const bool broken = pfc_streq(status, "broken"), late = pfc_streq(status, "timed_out");
    char hash[PFC_SHA256_HEX];
    char *why = NULL;
    pfc_tx *tx = NULL;
    pfc_code code;

    if (!broken && !late && !pfc_streq(status, "done") && !pfc_streq(status, "failed"))
        return pfc_err_set_field(err, PFC_EINVAL, "status",
                                 "status: want done, failed, broken or timed_out");
    if (broken)
        why = pfc_format(PFC_JOB_BROKEN "%s", reason ? reason : "the benchmark cannot be measured");
    if (late)
        why = pfc_format(PFC_JOB_TIMED_OUT "%s", reason ? reason : "over its limit");
    pfc_sha256_hex(secret, strlen(secret), hash);
    code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);
    if (!code)
        code = complete(tx, job_id, hash, why ? "failed" : status, why ? why : reason, run_ids,
                        run_ids_len, err);
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_tx_free(tx);
    free(why);
    return code;
}

pfc_code pfc_job_cancel(pfc_db *db, const char *actor, int64_t job_id, pfc_jobs *out, pfc_err *err)
{
    char *what = pfc_format("job %lld", (long long)job_id);
    pfc_jobs jobs = { 0 };
    pfc_args args = { 0 };
    pfc_tx *tx = NULL;
    int64_t project_id = 0;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    if (!code) {
        pfc_args_i64(&args, job_id);
        code = pfc_query_id(tx, "job_cancel", &args, &project_id, err);
    }
    if (!code && project_id)
        code = pfc_note(tx, actor, "cancel", project_id, what, NULL, err);
    if (!code && project_id)
        code = tell_job(tx, job_id, err);
    if (!code && project_id)
        code = cancel_children(tx, job_id, err);
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_tx_free(tx);
    free(what);
    if (!code)
        code = pfc_jobs_get(db, job_id, &jobs, err);
    if (code)
        return code;
    if (!project_id && !pfc_streq(jobs.items[0].state, "cancelled")) {
        code = pfc_err_set(err, PFC_ECONFLICT, "job %lld is %s already", (long long)job_id,
                           jobs.items[0].state);
        pfc_rows_clear(&jobs);
        return code;
    }
    *out = jobs;
    return PFC_OK;
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

pfc_code pfc_job_release(pfc_db *db, int64_t job_id, const char *secret, pfc_err *err)
{
    char hash[PFC_SHA256_HEX];
    bool found = false;
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    if (code)
        return code;
    pfc_sha256_hex(secret, strlen(secret), hash);
    code = release(tx, job_id, hash, &found, err);
    if (!code && !found)
        code = explain_refusal(tx, job_id, hash, err);
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_tx_free(tx);
    return code;
}
