/*
 * The user's side of the queue: enqueueing, cancelling and retrying jobs. leases.c has the runners'
 * side.
 */
#include "server/repo/sql/jobs.h"

#include "core/base/hash.h"
#include "core/base/parse.h"
#include "server/repo/documents/labels.h"
#include "server/services/queue/queue.h"
#include "server/services/service.h"

#define DEDUPE_MAX (2 << 20) /* more than all labels that a job can have */

pfc_code pfc_job_announce(pfc_tx *tx, int64_t id, pfc_err *err)
{
    return pfc_sql_job_notify(tx, &(pfc_sql_job_notify_args){ .job_id = id }, err);
}

pfc_code pfc_jobs_announce(pfc_tx *tx, const pfc_sql_job_id_rows *jobs, pfc_err *err)
{
    pfc_code code = PFC_OK;

    for (size_t i = 0; !code && i < jobs->len; i++)
        code = pfc_job_announce(tx, jobs->items[i].id, err);
    return code;
}

pfc_code pfc_jobs_cancel_children(pfc_tx *tx, int64_t id, pfc_err *err)
{
    pfc_sql_job_id_rows jobs = { 0 };
    pfc_code code =
        pfc_sql_jobs_orphaned(tx, &(pfc_sql_jobs_orphaned_args){ .job_id = id }, &jobs, err);

    if (!code)
        code = pfc_jobs_announce(tx, &jobs, err);
    pfc_rows_clear(&jobs);
    return code;
}

pfc_code pfc_job_put(pfc_tx *tx, int64_t project_id, const pfc_job_row *row, int64_t *id,
                     pfc_err *err)
{
    char *labels = pfc_labels_text(row->labels);
    pfc_code code;

    code = pfc_sql_job_insert(tx,
                              &(pfc_sql_job_insert_args){ .project_id = project_id,
                                                          .kind = row->kind,
                                                          .priority = row->priority,
                                                          .sha = row->commit,
                                                          .branch = row->branch,
                                                          .suite = row->suite,
                                                          .source = row->source,
                                                          .labels = labels,
                                                          .run_id = row->run_id,
                                                          .dedupe = row->dedupe,
                                                          .task = row->task,
                                                          .avoid_runner = row->avoid_runner,
                                                          .parent_ids = row->parents,
                                                          .parent_ids_len = row->parents_len },
                              id, err);
    free(labels);
    return code || !*id || strcmp(row->kind, "detect") == 0 ? code : pfc_job_announce(tx, *id, err);
}

pfc_code pfc_detect_enqueue(pfc_tx *tx, int64_t project_id, int64_t run_id, const char *branch,
                            pfc_err *err)
{
    const pfc_job_row row = { .kind = "detect", .branch = branch, .run_id = run_id };
    int64_t id = 0;
    pfc_code code = pfc_job_put(tx, project_id, &row, &id, err);

    if (!code)
        code = pfc_event_send(tx, "detect", id, err);
    return code;
}

pfc_code pfc_labels_check(const pfc_labels *labels, pfc_err *err)
{
    if (labels && labels->len > PFC_WIRE_MAX_FINGERPRINT)
        return pfc_err_set_field(err, PFC_EINVAL, "labels", "labels: expected at most %d, got %zu",
                                 PFC_WIRE_MAX_FINGERPRINT, labels->len);
    for (size_t i = 0; labels && i < labels->len; i++)
        if (strlen(labels->items[i].name) > PFC_WIRE_MAX_NAME ||
            strlen(labels->items[i].value) > PFC_WIRE_MAX_NAME)
            return pfc_err_set_field(err, PFC_EINVAL, "labels",
                                     "labels: expected texts of at most %d bytes",
                                     PFC_WIRE_MAX_NAME);
    return PFC_OK;
}

static const struct urgency {
    const char *kind;
    int priority;
} urgencies[] = { { "pull_request", 80 }, { "bisect", 60 },  { "verify", 60 },
                  { "nightly", 50 },      { "measure", 40 }, { "backfill", 10 } };

int pfc_job_priority(const char *kind)
{
    for (size_t i = 0; i < PFC_ARRAY_LEN(urgencies); i++)
        if (pfc_streq(urgencies[i].kind, kind))
            return urgencies[i].priority;
    return 0;
}

static pfc_code check_spec(const pfc_job_spec *spec, pfc_err *err)
{
    bool known = false;

    for (size_t i = 0; i < PFC_ARRAY_LEN(urgencies); i++)
        known |= pfc_streq(urgencies[i].kind, spec->kind);
    if (!known)
        return pfc_err_set_field(
            err, PFC_EINVAL, "kind",
            "kind: expected measure, nightly, pull_request, backfill, bisect or"
            " verify");
    if (!pfc_is_sha(spec->commit))
        return pfc_err_set_field(err, PFC_EINVAL, "commit",
                                 "commit: expected a full id of 40 hexadecimal digits");
    if (spec->priority != PFC_JOB_BY_KIND && (spec->priority < 0 || spec->priority > 100))
        return pfc_err_set_field(err, PFC_EINVAL, "priority", "priority: expected 0 to 100, got %d",
                                 spec->priority);
    if (spec->parents_len > PFC_JOB_MAX_PARENTS)
        return pfc_err_set_field(err, PFC_EINVAL, "parents", "parents: expected at most %d jobs",
                                 PFC_JOB_MAX_PARENTS);
    if (spec->traces && spec->blocks)
        return pfc_err_set_field(err, PFC_EINVAL, "traces",
                                 "traces: a session of builds in blocks stores none");
    return pfc_job_blocks_check(spec, err);
}

/* PFC_OK: each parent exists and has neither failed nor been cancelled. */
static pfc_code may_wait_for(const pfc_job_spec *spec, const pfc_sql_job_parents_rows *found,
                             pfc_err *err)
{
    for (size_t i = 0; i < spec->parents_len; i++) {
        const long long id = (long long)spec->parents[i];
        const char *state = NULL;

        for (size_t r = 0; r < found->len && !state; r++)
            state = found->items[r].id == id ? found->items[r].state : NULL;
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
    pfc_sql_job_id_rows raised = { 0 };
    pfc_sql_job_parents_rows rows = { 0 };
    pfc_code code;

    if (!spec->parents_len)
        return PFC_OK;
    code = pfc_sql_job_parents(tx,
                               &(pfc_sql_job_parents_args){ .project_id = project_id,
                                                            .ids = spec->parents,
                                                            .ids_len = spec->parents_len },
                               &rows, err);
    if (!code)
        code = may_wait_for(spec, &rows, err);
    pfc_rows_clear(&rows);
    if (code)
        return code;
    code =
        pfc_sql_job_parents_raise(tx,
                                  &(pfc_sql_job_parents_raise_args){ .project_id = project_id,
                                                                     .ids = spec->parents,
                                                                     .ids_len = spec->parents_len,
                                                                     .priority = spec->priority },
                                  &raised, err);
    if (!code)
        code = pfc_jobs_announce(tx, &raised, err);
    pfc_rows_clear(&raised);
    return code;
}

/* Hash of the properties that make two open jobs duplicates. */
static void dedupe_of(const pfc_job_spec *spec, const char *task, char out[PFC_SHA256_HEX])
{
    char *labels = pfc_labels_text(spec->labels);
    pfc_buf text;

    pfc_buf_init(&text, DEDUPE_MAX);
    pfc_buf_printf(&text, "%s\n%s\n%s\n%s", spec->kind, spec->commit,
                   spec->suite ? spec->suite : "", labels);
    for (size_t i = 0; i < spec->parents_len; i++)
        pfc_buf_printf(&text, "\n%lld", (long long)spec->parents[i]);
    if (task)
        pfc_buf_printf(&text, "\n%s", task);
    /* A fork may build the same commit with other commands. */
    if (spec->source)
        pfc_buf_printf(&text, "\nsource %s", spec->source);
    pfc_sha256_hex(text.data, text.len, out);
    pfc_buf_clear(&text);
    free(labels);
}

/* Options for the runner in addition to commit and suite; NULL: none. Caller frees. */
static char *task_of(const pfc_job_spec *spec)
{
    return pfc_job_options_text(&(pfc_job_options){ .config = spec->config,
                                                    .settings_branch = spec->settings_branch,
                                                    .filter = spec->filter,
                                                    .backends = spec->backends,
                                                    .backends_len = spec->backends_len,
                                                    .traces = spec->traces,
                                                    .blocks = spec->blocks });
}

static pfc_code insert_or_find(pfc_tx *tx, int64_t project_id, const pfc_job_spec *spec,
                               int64_t *id, bool *created, pfc_err *err)
{
    char dedupe[PFC_SHA256_HEX];
    char *task = task_of(spec);
    const pfc_job_row row = { .kind = spec->kind,
                              .commit = spec->commit,
                              .branch = spec->branch,
                              .suite = spec->suite,
                              .source = spec->source,
                              .labels = spec->labels,
                              .dedupe = dedupe,
                              .task = task,
                              .parents = spec->parents,
                              .parents_len = spec->parents_len,
                              .priority = spec->priority };
    pfc_code code = check_parents(tx, project_id, spec, err);

    dedupe_of(spec, task, dedupe);
    *id = 0;
    /* The open job may end between the two statements; the next iteration then inserts. */
    for (int round = 0; round < 3 && !*id && !code; round++) {

        code = pfc_job_put(tx, project_id, &row, id, err);
        *created = *id != 0;
        if (!code && !*id)
            code = pfc_sql_job_open(
                tx, &(pfc_sql_job_open_args){ .project_id = project_id, .dedupe = dedupe }, id,
                err);
    }
    if (!code && !*id)
        code = pfc_err_set(err, PFC_EUNAVAIL, "job: the open one keeps changing: try again");
    free(task);
    return code;
}

pfc_code pfc_job_enqueue_in(pfc_tx *tx, const char *actor, int64_t project_id,
                            const pfc_job_spec *spec, bool *created, int64_t *id, pfc_err *err)
{
    pfc_job_spec own = *spec;
    pfc_labels labels = { 0 };
    char *what = NULL;
    bool fresh = false;
    pfc_code code = check_spec(spec, err);

    if (own.priority == PFC_JOB_BY_KIND)
        own.priority = pfc_job_priority(own.kind);
    if (!code)
        code = pfc_labels_check(spec->labels, err);
    if (!code && spec->blocks) {
        pfc_labels_set_all(&labels, spec->labels);
        pfc_labels_set(&labels, PFC_JOB_TASKS_LABEL, PFC_JOB_TASKS_BLOCKS);
        own.labels = &labels;
    }
    if (!code)
        code = insert_or_find(tx, project_id, &own, id, &fresh, err);
    if (!code && fresh) {
        what = pfc_format("job %lld", (long long)*id);
        code = pfc_audit_add(tx, actor, "enqueue", project_id, what, spec->kind, err);
    }
    if (!code)
        *created = fresh;
    free(what);
    pfc_labels_clear(&labels);
    return code;
}

pfc_code pfc_job_enqueue(pfc_db *db, const char *actor, int64_t project_id,
                         const pfc_job_spec *spec, bool *created, pfc_jobs *out, pfc_err *err)
{
    bool fresh = false;
    pfc_tx *tx = NULL;
    int64_t id = 0;
    pfc_code code = check_spec(spec, err); /* before a connection is taken */

    if (!code)
        code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);
    if (!code)
        code = pfc_job_enqueue_in(tx, actor, project_id, spec, &fresh, &id, err);
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_tx_free(tx);
    if (!code)
        code = pfc_jobs_get(db, id, out, err);
    if (!code)
        *created = fresh;
    return code;
}

pfc_code pfc_job_cancel(pfc_db *db, const char *actor, int64_t job_id, pfc_jobs *out, pfc_err *err)
{
    char *what = pfc_format("job %lld", (long long)job_id);
    pfc_jobs jobs = { 0 };
    pfc_sql_job_cancel_rows cancelled = { 0 };
    pfc_tx *tx = NULL;
    int64_t project_id = 0;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    if (!code)
        code =
            pfc_sql_job_cancel(tx, &(pfc_sql_job_cancel_args){ .job_id = job_id }, &cancelled, err);
    if (!code && cancelled.len)
        project_id = cancelled.items[0].project_id;
    pfc_rows_clear(&cancelled);
    if (!code && project_id)
        code = pfc_audit_add(tx, actor, "cancel", project_id, what, NULL, err);
    if (!code && project_id)
        code = pfc_job_announce(tx, job_id, err);
    if (!code && project_id)
        code = pfc_jobs_cancel_children(tx, job_id, err);
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

/* PFC_OK: nothing else repeats the job, and the caller may. */
static pfc_code may_retry(const pfc_sql_job_retry_load_rows *rows, int64_t job_id, bool admin,
                          pfc_err *err)
{
    const pfc_sql_job_retry_load_row *job = rows->items;
    const long long id = (long long)job_id;

    if (rows->len == 0)
        return pfc_err_set(err, PFC_ENOTFOUND, "no such job");
    if (pfc_streq(job->kind, "detect") || pfc_streq(job->kind, "notify"))
        return pfc_err_set(err, PFC_ECONFLICT, "job %lld is the service's own", id);
    if (!pfc_streq(job->state, "failed") && !pfc_streq(job->state, "cancelled"))
        return pfc_err_set(err, PFC_ECONFLICT,
                           "job %lld is %s: only failed and cancelled jobs are retried", id,
                           job->state);
    if (pfc_streq(job->kind, "bisect") || pfc_streq(job->kind, "verify"))
        return pfc_err_set(err, PFC_ECONFLICT, "job %lld is of a bisection, which retries it", id);
    if (job->blocks)
        return pfc_err_set(err, PFC_ECONFLICT,
                           "job %lld measures several builds: its schedule or its pull request "
                           "orders it again",
                           id);
    if (job->config && !admin)
        return pfc_err_set(err, PFC_EDENIED,
                           "job %lld brings its own perfci.yaml, which takes a token of scope "
                           "admin",
                           id);
    return PFC_OK;
}

static pfc_code retry(pfc_tx *tx, const char *actor, int64_t project_id, int64_t job_id,
                      bool *created, int64_t *made, pfc_err *err)
{
    char *what, *detail;
    pfc_code code = pfc_sql_job_retry(
        tx, &(pfc_sql_job_retry_args){ .project_id = project_id, .job_id = job_id }, made, err);

    *created = !code && *made;
    if (!code && !*made)
        return pfc_sql_job_retry_open(
            tx, &(pfc_sql_job_retry_open_args){ .project_id = project_id, .job_id = job_id }, made,
            err);
    if (code)
        return code;
    what = pfc_format("job %lld", (long long)*made);
    detail = pfc_format("of job %lld", (long long)job_id);
    code = pfc_audit_add(tx, actor, "retry", project_id, what, detail, err);
    free(detail);
    free(what);
    return code ? code : pfc_job_announce(tx, *made, err);
}

pfc_code pfc_job_retry(pfc_db *db, const char *actor, int64_t project_id, int64_t job_id,
                       bool admin, bool *created, pfc_jobs *out, pfc_err *err)
{
    pfc_sql_job_retry_load_rows rows = { 0 };
    pfc_tx *tx = NULL;
    int64_t made = 0;
    bool fresh = false;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    if (!code)
        code = pfc_sql_job_retry_load(
            tx, &(pfc_sql_job_retry_load_args){ .project_id = project_id, .job_id = job_id }, &rows,
            err);
    if (!code)
        code = may_retry(&rows, job_id, admin, err);
    if (!code)
        code = retry(tx, actor, project_id, job_id, &fresh, &made, err);
    if (!code && !made)
        code = pfc_err_set(err, PFC_EUNAVAIL, "job: the open one keeps changing: try again");
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_rows_clear(&rows);
    pfc_tx_free(tx);
    if (!code)
        code = pfc_jobs_get(db, made, out, err);
    if (!code)
        *created = fresh;
    return code;
}
