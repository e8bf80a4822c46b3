/*
 * One turn of a bisection on the runners: read what came back, tell the plan, ask for more, or end.
 */
#include <math.h>

#include "core/base/log.h"
#include "core/bisect/remaining.h"
#include "server/services/bisect/remote.h"

/* ---- rows ---- */

pfc_code remote_put_step(pfc_tx *tx, const remote *r, const remote_step *s, pfc_err *err)
{
    pfc_args args = { 0 };

    pfc_args_i64(&args, r->project_id);
    pfc_args_i64(&args, r->id);
    pfc_args_i64(&args, s->n);
    pfc_args_i64(&args, (int64_t)s->place);
    pfc_args_i64(&args, s->layout);
    pfc_args_id(&args, s->job_id);
    pfc_args_id(&args, s->run_id);
    pfc_args_f64(&args, s->state == REMOTE_MEASURED ? s->value : (double)NAN);
    return pfc_tx_query(tx, "bisection_step_put", &args, NULL, err);
}

pfc_code remote_finish(pfc_tx *tx, int64_t project_id, int64_t id, const char *state,
                       const remote_end *end, int64_t *row, pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_code code;

    pfc_args_i64(&args, project_id);
    pfc_args_i64(&args, id);
    pfc_args_text(&args, state);
    pfc_args_text(&args, end->verdict);
    pfc_args_text(&args, end->culprits);
    pfc_args_text(&args, end->reason);
    pfc_args_text(&args, end->stopped);
    code = pfc_query_id(tx, "bisection_finish", &args, row, err);
    if (!code) {
        pfc_args_i64(&args, id);
        code = pfc_tx_query(tx, "bisection_notify", &args, NULL, err);
    }
    return code;
}

pfc_code remote_cancel_jobs(pfc_tx *tx, int64_t project_id, int64_t id, pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_res *res = NULL;
    pfc_code code;

    pfc_args_i64(&args, project_id);
    pfc_args_i64(&args, id);
    code = pfc_tx_query(tx, "bisection_jobs_cancel", &args, &res, err);
    for (size_t i = 0; !code && i < pfc_res_rows(res); i++) {
        pfc_args_i64(&args, pfc_res_i64(res, i, 0));
        code = pfc_tx_query(tx, "job_notify", &args, NULL, err);
    }
    pfc_res_free(res);
    return code;
}

static pfc_code end_step(pfc_tx *tx, const remote *r, const remote_step *s, const char *reason,
                         pfc_err *err)
{
    pfc_args args = { 0 };

    pfc_args_i64(&args, r->project_id);
    pfc_args_i64(&args, r->id);
    pfc_args_i64(&args, s->n);
    pfc_args_text(&args, remote_state_name(s->state));
    pfc_args_id(&args, s->run_id);
    pfc_args_f64(&args, s->state == REMOTE_MEASURED ? s->value : (double)NAN);
    pfc_args_text(&args, reason);
    return pfc_tx_query(tx, "bisection_step_end", &args, NULL, err);
}

/* ---- what came back ---- */

/* The number that a finished job brought. A run without it is a commit that cannot be measured. */
static pfc_code read_value(pfc_tx *tx, remote *r, remote_step *s, const char **reason, pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_res *res = NULL;
    double value;
    pfc_code code;

    pfc_args_i64(&args, r->project_id);
    pfc_args_i64(&args, s->job_id);
    pfc_args_text(&args, r->metric);
    pfc_args_text(&args, r->benchmark);
    pfc_args_text(&args, r->backend);
    code = pfc_tx_query(tx, "job_values", &args, &res, err);
    if (code)
        return code;
    if (pfc_res_rows(res) == 0) {
        s->state = REMOTE_BROKEN;
        *reason = "the run has no such metric";
    } else {
        value = pfc_res_f64(res, 0, pfc_res_column(res, "median"));
        s->run_id = pfc_res_i64(res, 0, 0);
        s->state = isfinite(value) && value > 0 ? REMOTE_MEASURED : REMOTE_FAILED;
        s->value = value;
        *reason = s->state == REMOTE_FAILED ? "expected a value above zero" : NULL;
        if (!r->known) {
            r->known = true;
            r->higher_is_better = pfc_res_bool(res, 0, pfc_res_column(res, "higher_is_better"));
            r->exact = pfc_res_bool(res, 0, pfc_res_column(res, "exact"));
        }
    }
    pfc_res_free(res);
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
        s->state = REMOTE_BROKEN;
    else if (begins(s->job_reason, PFC_JOB_TIMED_OUT))
        s->state = REMOTE_TIMED_OUT;
    else
        s->state = REMOTE_FAILED;
    /* Its texts live as long as the rows: constants and what remote_load read. */
    s->reason = s->state == REMOTE_MEASURED ? NULL : reason;
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
        if (r->steps[i].state == REMOTE_ASKED && has_ended(r->steps[i].job_state))
            code = settle(tx, r, &r->steps[i], err);
    return code;
}

/* ---- what to ask ---- */

char *remote_labels(const remote *r)
{
    json_t *doc;
    char *labels;

    if (!r->machine_class)
        return NULL;
    doc = json_pack("{s:s}", "machine_class", r->machine_class);
    labels = json_dumps(doc, JSON_COMPACT);
    json_decref(doc);
    return labels;
}

static pfc_code ask(pfc_tx *tx, remote *r, const pfc_bisect_step *next, pfc_err *err)
{
    remote_step step = { .n = (int64_t)r->steps_len + 1,
                         .place = next->commit,
                         .layout = next->build,
                         .state = REMOTE_ASKED,
                         .job_state = "queued" };
    char *dedupe = pfc_format("bisection %lld step %lld", (long long)r->id, (long long)step.n);
    char *labels = remote_labels(r), *task;
    json_t *doc = json_pack("{s:s, s:s*, s:s*, s:i, s:i, s:s*}", "metric", r->metric, "benchmark",
                            r->benchmark, "backend", r->backend, "layout", (int)next->build,
                            "launches", 1, "config", r->options.config);
    pfc_job_row row = { .kind = "bisect",
                        .commit = remote_commit(r, next->commit),
                        .branch = r->branch,
                        .source = r->options.source,
                        .labels = labels,
                        .dedupe = dedupe,
                        .priority = r->options.priority };
    pfc_code code;

    row.task = task = json_dumps(doc, JSON_COMPACT);
    json_decref(doc);
    code = pfc_job_put(tx, r->project_id, &row, &step.job_id, err);
    if (!code && !step.job_id)
        code = pfc_err_set(err, PFC_EBUG, "%s: its job is there already", dedupe);
    if (!code)
        code = remote_put_step(tx, r, &step, err);
    if (!code) {
        r->steps = pfc_grow(r->steps, r->steps_len, &r->steps_cap, sizeof(*r->steps));
        r->steps[r->steps_len++] = step;
    }
    free(labels);
    free(task);
    free(dedupe);
    return code;
}

static size_t count_asked(const remote *r)
{
    size_t n = 0;

    for (size_t i = 0; i < r->steps_len; i++)
        n += r->steps[i].state == REMOTE_ASKED;
    return n;
}

static pfc_code lanes_of(pfc_tx *tx, const remote *r, size_t *out, pfc_err *err)
{
    const int64_t wanted = r->options.parallel > 0 ? r->options.parallel : PFC_BISECTION_PARALLEL;
    pfc_args args = { 0 };
    int64_t runners = 0;
    pfc_code code;

    pfc_args_text(&args, r->machine_class);
    code = pfc_query_id(tx, "bisection_runners", &args, &runners, err);
    *out = (size_t)PFC_MAX(1, PFC_MIN(PFC_MIN(wanted, REMOTE_MAX_ASKED), runners));
    return code;
}

/* Asks until every runner has something to do; *over: nothing is under way and nothing is wanted. */
static pfc_code ask_for_more(pfc_tx *tx, remote *r, bool *over, pfc_err *err)
{
    size_t lanes = 1;
    pfc_code code = lanes_of(tx, r, &lanes, err);

    *over = false;
    while (!code && count_asked(r) < lanes) {
        pfc_bisect_plan *plan = NULL;
        pfc_bisect_step next;
        bool more = false;

        code = remote_plan(r, &plan, err);
        if (!code)
            more = remote_next(r, plan, &next);
        pfc_bisect_free(plan);
        if (code || !more)
            break;
        code = ask(tx, r, &next, err);
    }
    *over = count_asked(r) == 0;
    return code;
}

/* ---- the answer ---- */

static json_t *number(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

static char *culprits_text(const remote *r, const pfc_bisect_report *report)
{
    json_t *list = json_array();
    char *text;

    for (size_t i = 0; i < report->culprits_len; i++) {
        const pfc_culprit *c = &report->culprits[i];
        json_t *ids = json_array();

        for (size_t k = c->first; k <= c->last; k++)
            json_array_append_new(ids, json_string(remote_commit(r, k)));
        json_array_append_new(list, json_pack("{s:o, s:o, s:o, s:o, s:o, s:b}", "commits", ids,
                                              "probability", number(c->probability), "rel_change",
                                              number(c->rel_change), "rel_low", number(c->rel_low),
                                              "rel_high", number(c->rel_high), "unmeasurable",
                                              c->unmeasurable));
    }
    text = json_dumps(list, JSON_COMPACT);
    json_decref(list);
    return text;
}

static bool names_culprits(pfc_bisect_verdict verdict)
{
    return verdict == PFC_BISECT_FOUND || verdict == PFC_BISECT_RANGE;
}

static bool is_budget(const pfc_bisect_remaining *left)
{
    return left->wants_more && left->budget_used;
}

static const char *words_of(const remote_step *s)
{
    if (s->reason && *s->reason)
        return s->reason;
    return s->job_reason ? s->job_reason : remote_state_name(s->state);
}

/* Why it stays open, in words: an end that cannot be measured, or the budget. */
static char *why_open(const remote *r, const pfc_bisect_report *report,
                      const pfc_bisect_remaining *left, const pfc_finding *finding)
{
    const bool none = left->none > 0.5 && finding->known;
    char *text;
    pfc_buf buf;

    for (int end = 0; end < 2; end++) {
        const size_t place = end ? r->len - 1 : 0;
        const remote_step *last = NULL;
        bool measured = false;

        for (size_t i = 0; i < r->steps_len; i++)
            if (r->steps[i].place == place) {
                measured |= r->steps[i].state == REMOTE_MEASURED;
                last = &r->steps[i];
            }
        if (!measured && last)
            return pfc_format("the %s end, %.12s, cannot be measured: %.300s", end ? "bad" : "good",
                              remote_commit(r, place), words_of(last));
    }
    if (!is_budget(left) && !none)
        return pfc_format("%zu runs did not decide it", report->runs);
    pfc_buf_init(&buf, 4096);
    if (none) {
        if (is_budget(left))
            pfc_buf_printf(&buf, "Budget of %zu runs used; ", left->budget);
        pfc_buf_puts(&buf, "the ends differ by ");
        pfc_finding_say(finding, &buf);
        goto done;
    }
    pfc_bisect_remaining_say(left, left->budget, remote_commit(r, left->likeliest), left->runs,
                             &buf);

done:
    text = pfc_strdup(pfc_buf_text(&buf));
    pfc_buf_clear(&buf);
    return text;
}

static json_t *difference_json(const pfc_finding *f)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:b, s:o}", "rel_change", number(f->rel_change),
                     "rel_low", number(f->rel_low), "rel_high", number(f->rel_high), "margin",
                     number(f->margin), "within", f->within, "more_runs",
                     number(f->within ? 0 : f->more_runs));
}

/* The ends' difference, and where a budget ended the search what it left open. */
static char *stopped_text(const remote *r, const pfc_bisect_remaining *left,
                          const pfc_finding *finding)
{
    json_t *doc;
    char *text;

    if (!is_budget(left))
        doc = json_object();
    else
        doc = json_pack("{s:s, s:I, s:I, s:{s:s, s:f}, s:f, s:f}", "stopped", "budget",
                        "budget_runs", (json_int_t)left->budget, "candidates",
                        (json_int_t)left->candidates, "likeliest", "commit",
                        remote_commit(r, left->likeliest), "probability", left->probability,
                        "probability_none", left->none, "expected_more_runs", ceil(left->runs));
    json_object_set_new(doc, "difference", difference_json(finding));
    text = json_dumps(doc, JSON_COMPACT);
    json_decref(doc);
    return text;
}

static pfc_code conclude(pfc_tx *tx, remote *r, const pfc_bisect_plan *plan,
                         const pfc_bisect_report *report, pfc_err *err)
{
    const bool open = report->verdict == PFC_BISECT_INCONCLUSIVE;
    pfc_bisect_remaining left = { 0 };
    const bool named = names_culprits(report->verdict);
    char *culprits = named ? culprits_text(r, report) : NULL;
    char *why = NULL, *stopped = NULL;
    pfc_finding finding;
    int64_t row = 0;
    pfc_code code;

    pfc_bisect_finding_get(plan, &finding);
    if (open) {
        pfc_bisect_remaining_get(plan, &left);
        why = why_open(r, report, &left, &finding);
    }
    stopped = stopped_text(r, &left, &finding);
    code = remote_finish(tx, r->project_id, r->id, "done",
                         &(remote_end){ .verdict = pfc_bisect_verdict_name(report->verdict),
                                        .culprits = culprits,
                                        .reason = why,
                                        .stopped = stopped },
                         &row, err);

    for (size_t i = 0; named && !code && i < report->culprits_len; i++)
        code = verify_start(tx, r, &report->culprits[i], err);
    free(stopped);
    free(why);
    free(culprits);
    return code;
}

/* Writes what is believed now, and ends the search when it is over. */
static pfc_code note_progress(pfc_tx *tx, remote *r, bool over, pfc_err *err)
{
    double *posterior = pfc_calloc(r->len, sizeof(*posterior));
    pfc_bisect_report report = { 0 };
    pfc_bisect_plan *plan = NULL;
    pfc_args args = { 0 };
    pfc_code code = remote_plan(r, &plan, err);

    if (code)
        goto done;
    pfc_bisect_posterior(plan, posterior);
    pfc_bisect_report_get(plan, &report);
    pfc_args_i64(&args, r->project_id);
    pfc_args_i64(&args, r->id);
    pfc_args_f64s(&args, posterior, r->len);
    pfc_args_f64(&args, over ? 0 : pfc_bisect_expected_runs(plan));
    pfc_args_i64(&args, (int64_t)report.runs);
    pfc_args_i64(&args, (int64_t)report.builds);
    pfc_args_i64(&args, (int64_t)report.commits_measured);
    if (r->known)
        pfc_args_bool(&args, r->higher_is_better);
    else
        pfc_args_text(&args, NULL);
    pfc_args_bool(&args, r->exact);
    code = pfc_tx_query(tx, "bisection_progress", &args, NULL, err);
    if (!code && over) {
        code = conclude(tx, r, plan, &report, err);
    } else if (!code) {
        pfc_args_i64(&args, r->id);
        code = pfc_tx_query(tx, "bisection_notify", &args, NULL, err);
    }

done:
    pfc_bisect_report_clear(&report);
    pfc_bisect_free(plan);
    free(posterior);
    return code;
}

static pfc_code turn(pfc_tx *tx, int64_t project_id, int64_t id, pfc_err *err)
{
    remote r = { 0 };
    bool over = false;
    pfc_code code = remote_load(tx, project_id, id, &r, err);

    if (!code)
        code = settle_all(tx, &r, err);
    if (!code)
        code = ask_for_more(tx, &r, &over, err);
    if (!code)
        code = note_progress(tx, &r, over, err);
    remote_clear(&r);
    return code;
}

/* What fails for a reason that stays must not stand in the others' way for ever. */
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
        pfc_log(PFC_ERROR, "bisection cannot be ended", "bisection", id, "why", err.msg);
    pfc_tx_free(tx);
}

pfc_code pfc_bisections_advance(pfc_db *db, pfc_err *err)
{
    int64_t id = 0, project_id = 0;
    pfc_res *res = NULL;
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    if (!code)
        code = pfc_tx_query(tx, "bisection_due", NULL, &res, err);
    if (!code && pfc_res_rows(res) == 0)
        code = pfc_err_set(err, PFC_ENOTFOUND, "no bisection waits");
    if (!code) {
        id = pfc_res_i64(res, 0, 0);
        project_id = pfc_res_i64(res, 0, 1);
        code = turn(tx, project_id, id, err);
    }
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_res_free(res);
    pfc_tx_free(tx);
    if (code && id && code != PFC_EUNAVAIL && code != PFC_ETIMEOUT)
        give_up(db, project_id, id, err->msg);
    return code;
}
