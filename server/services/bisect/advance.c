/*
 * One turn of a bisection on the runners: read results, queue the next jobs by the loop of
 * core/bisect/driver.h, or end. The loop pauses when every runner has a job; the next turn
 * continues it from the rows.
 */
#include <math.h>

#include "core/base/log.h"
#include "server/repo/sql/bisections.h"
#include "server/services/bisect/bisect.h"
#include "server/services/bisect/remote.h"
#include "server/services/queue/queue.h"

static pfc_code end_step(pfc_tx *tx, const remote *r, const remote_step *s, const char *reason,
                         pfc_err *err)
{
    return pfc_sql_bisection_step_end(
        tx,
        &(pfc_sql_bisection_step_end_args){ .project_id = r->project_id,
                                            .bisection_id = r->id,
                                            .n = s->n,
                                            .state = remote_state_name(s->state),
                                            .run_id = s->run_id,
                                            .value = s->state == PFC_BISECT_MEASURED ? s->value
                                                                                     : (double)NAN,
                                            .reason = reason },
        err);
}

/* ---- results ---- */

/* The value of a finished job. A commit whose run lacks the metric cannot be measured. */
static pfc_code read_value(pfc_tx *tx, remote *r, remote_step *s, const char **reason, pfc_err *err)
{
    pfc_sql_job_values_rows rows = { 0 };
    double value;
    pfc_code code;

    code = pfc_sql_job_values(tx,
                              &(pfc_sql_job_values_args){ .project_id = r->project_id,
                                                          .job_id = s->job_id,
                                                          .metric = r->metric,
                                                          .benchmark = r->benchmark,
                                                          .backend = r->backend },
                              &rows, err);
    if (code)
        return code;
    if (rows.len == 0) {
        s->state = PFC_BISECT_BROKEN;
        *reason = "the run has no such metric";
    } else {
        value = rows.items[0].median;
        s->run_id = rows.items[0].run_id;
        s->state = isfinite(value) && value > 0 ? PFC_BISECT_MEASURED : PFC_BISECT_FAILED;
        s->value = value;
        *reason = s->state == PFC_BISECT_FAILED ? "expected a value above zero" : NULL;
        if (!r->known) {
            r->known = true;
            r->higher_is_better = rows.items[0].higher_is_better;
            r->exact = rows.items[0].exact;
        }
    }
    pfc_rows_clear(&rows);
    return PFC_OK;
}

static bool begins(const char *text, const char *with)
{
    return text && strncmp(text, with, strlen(with)) == 0;
}

static pfc_code settle(pfc_tx *tx, remote *r, remote_step *s, pfc_err *err)
{
    const char *reason = s->job_reason;
    pfc_code code = PFC_OK;

    if (pfc_streq(s->job_state, "done"))
        code = read_value(tx, r, s, &reason, err);
    else if (begins(s->job_reason, PFC_JOB_BROKEN))
        s->state = PFC_BISECT_BROKEN;
    else if (begins(s->job_reason, PFC_JOB_TIMED_OUT))
        s->state = PFC_BISECT_TIMED_OUT;
    else
        s->state = PFC_BISECT_FAILED;
    /* The reason is a constant or a text of the loaded rows, which outlive the step. */
    s->reason = s->state == PFC_BISECT_MEASURED ? NULL : reason;
    return code ? code : end_step(tx, r, s, reason, err);
}

static bool has_ended(const char *job_state)
{
    return job_state && strcmp(job_state, "queued") != 0 && strcmp(job_state, "leased") != 0;
}

static pfc_code settle_all(pfc_tx *tx, remote *r, pfc_err *err)
{
    pfc_code code = PFC_OK;

    for (size_t i = 0; !code && i < r->steps_len; i++)
        if (r->steps[i].state == PFC_BISECT_PENDING && has_ended(r->steps[i].job_state))
            code = settle(tx, r, &r->steps[i], err);
    return code;
}

/* ---- jobs ---- */

static pfc_code queue_step(pfc_tx *tx, remote *r, const pfc_bisect_step *next, pfc_err *err)
{
    remote_step step = { .n = (int64_t)r->steps_len + 1,
                         .place = next->commit,
                         .layout = next->build,
                         .state = PFC_BISECT_PENDING,
                         .job_state = "queued" };
    char *dedupe = pfc_format("bisection %lld step %lld", (long long)r->id, (long long)step.n);
    char *task =
        pfc_job_search_text(&(pfc_job_search){ .metric = r->metric,
                                               .benchmark = r->benchmark,
                                               .backend = r->backend,
                                               .layout = next->build,
                                               .config = r->options.config,
                                               .settings_branch = r->options.settings_branch });
    pfc_labels labels = { 0 };
    const pfc_job_row row = { .kind = remote_job_kind(r, "bisect"),
                              .commit = remote_commit(r, next->commit),
                              .branch = r->branch,
                              .source = r->options.source,
                              .labels = &labels,
                              .dedupe = dedupe,
                              .task = task,
                              .priority = r->options.priority };
    pfc_code code;

    remote_labels(r, &labels);
    code = pfc_job_put(tx, r->project_id, &row, &step.job_id, err);
    if (!code && !step.job_id)
        code = pfc_err_set(err, PFC_EBUG, "%s: its job is there already", dedupe);
    if (!code)
        code = remote_put_step(tx, r, &step, err);
    if (!code) {
        r->steps = pfc_grow(r->steps, r->steps_len, &r->steps_cap, sizeof(*r->steps));
        r->steps[r->steps_len++] = step;
    }
    pfc_labels_clear(&labels);
    free(task);
    free(dedupe);
    return code;
}

static size_t count_pending(const remote *r)
{
    size_t n = 0;

    for (size_t i = 0; i < r->steps_len; i++)
        n += r->steps[i].state == PFC_BISECT_PENDING;
    return n;
}

static pfc_code runners_of(pfc_tx *tx, const remote *r, size_t *out, pfc_err *err)
{
    const int64_t wanted = r->options.parallel > 0 ? r->options.parallel : PFC_BISECTION_PARALLEL;
    int64_t runners = 0;
    pfc_code code;

    code = pfc_sql_bisection_runners(
        tx, &(pfc_sql_bisection_runners_args){ .machine_class = r->machine_class }, &runners, err);
    *out = (size_t)PFC_MAX(1, PFC_MIN(PFC_MIN(wanted, REMOTE_MAX_PENDING), runners));
    return code;
}

/* The context of the loop: a plan of all results, and the jobs that are queued or running. */
typedef struct queueing {
    pfc_tx *tx;
    remote *search;
    pfc_bisect_plan *plan;
    pfc_bisect_step pending[REMOTE_MAX_PENDING];
    size_t runners;
} queueing;

static pfc_code prepare(void *context, pfc_bisect_turn *turn, pfc_err *err)
{
    queueing *q = context;
    const remote *r = q->search;

    (void)err;
    turn->plan = q->plan;
    turn->pending = q->pending;
    turn->pause = count_pending(r) >= q->runners;
    for (size_t i = 0; i < r->steps_len && !turn->pause; i++)
        if (r->steps[i].state == PFC_BISECT_PENDING)
            q->pending[turn->pending_len++] =
                (pfc_bisect_step){ .commit = r->steps[i].place, .build = r->steps[i].layout };
    return PFC_OK;
}

static pfc_code queue_job(void *context, const pfc_bisect_step *step, pfc_err *err)
{
    queueing *q = context;

    return queue_step(q->tx, q->search, step, err);
}

/* Queues jobs until every runner has one or the plan needs no more; *over: none is pending. */
static pfc_code queue_jobs(pfc_tx *tx, remote *r, pfc_bisect_plan *plan, bool *over, pfc_err *err)
{
    static const pfc_bisect_driver driver = { prepare, queue_job };
    queueing q = { .tx = tx, .search = r, .plan = plan };
    pfc_code code = runners_of(tx, r, &q.runners, err);

    if (!code)
        code = pfc_bisect_drive(&driver, &q, err);
    *over = count_pending(r) == 0;
    return code;
}

/* Stores the posterior and the counts, and ends the search when it is over. */
static pfc_code store_progress(pfc_tx *tx, remote *r, pfc_bisect_plan *plan, bool over,
                               pfc_err *err)
{
    double *posterior = pfc_calloc(r->len, sizeof(*posterior));
    pfc_bisect_report report = { 0 };
    pfc_code code;

    pfc_bisect_posterior(plan, posterior);
    pfc_bisect_report_get(plan, &report);
    code = pfc_sql_bisection_progress(
        tx,
        &(pfc_sql_bisection_progress_args){
            .project_id = r->project_id,
            .id = r->id,
            .posterior = posterior,
            .posterior_len = r->len,
            .expected_runs = over ? 0 : pfc_bisect_expected_runs(plan),
            .runs = (int64_t)report.runs,
            .builds = (int64_t)report.builds,
            .commits_measured = (int64_t)report.commits_measured,
            .higher_is_better = { .known = r->known, .value = r->higher_is_better },
            .exact = r->exact,
        },
        err);
    if (!code && over) {
        code = remote_conclude(tx, r, plan, &report, err);
    } else if (!code) {
        code = pfc_sql_bisection_notify(tx, &(pfc_sql_bisection_notify_args){ .id = r->id }, err);
    }
    pfc_bisect_report_clear(&report);
    free(posterior);
    return code;
}

static pfc_code turn(pfc_tx *tx, int64_t project_id, int64_t id, pfc_err *err)
{
    remote r = { 0 };
    pfc_bisect_plan *plan = NULL;
    bool over = false;
    pfc_code code = remote_load(tx, project_id, id, &r, err);

    if (!code)
        code = settle_all(tx, &r, err);
    if (!code)
        code = remote_plan(&r, &plan, err);
    if (!code)
        code = queue_jobs(tx, &r, plan, &over, err);
    if (!code)
        code = store_progress(tx, &r, plan, over, err);
    pfc_bisect_free(plan);
    remote_clear(&r);
    return code;
}

/* A bisection whose turn fails for a permanent reason would be due again and again, before all
 * others: end it. */
static void give_up(pfc_db *db, int64_t project_id, int64_t id, const char *why)
{
    int64_t row = 0;
    pfc_tx *tx = NULL;
    pfc_err err = { 0 };
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, &err);

    if (!code)
        code = remote_finish(tx, project_id, id, "done",
                             &(remote_end){ .verdict = "inconclusive", .reason = why }, &row, &err);
    if (!code)
        code = remote_cancel_jobs(tx, project_id, id, &err);
    if (!code)
        code = pfc_tx_commit(tx, &err);
    if (code)
        pfc_log(PFC_ERROR, "bisection_end_failed", "bisection", id, "why", err.msg);
    pfc_tx_free(tx);
}

pfc_code pfc_bisections_advance(pfc_db *db, pfc_err *err)
{
    int64_t id = 0, project_id = 0;
    pfc_sql_bisection_due_rows rows = { 0 };
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    if (!code)
        code = pfc_sql_bisection_due(tx, &rows, err);
    if (!code && rows.len == 0)
        code = pfc_err_set(err, PFC_ENOTFOUND, "no bisection waits");
    if (!code) {
        id = rows.items[0].id;
        project_id = rows.items[0].project_id;
        code = turn(tx, project_id, id, err);
    }
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_rows_clear(&rows);
    pfc_tx_free(tx);
    if (code && id && code != PFC_EUNAVAIL && code != PFC_ETIMEOUT)
        give_up(db, project_id, id, err->msg);
    return code;
}
