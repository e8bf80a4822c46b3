/*
 * Verification of a named commit: compares it with the commit before it, in new builds and in pairs
 * that one runner measures in one lease, on another machine where there is one, by a test that may
 * be evaluated after each pair (core/bisect/confirm.h). An alert gets a culprit only when this
 * confirms it.
 */
#include <math.h>

#include "core/base/log.h"
#include "core/bisect/confirm.h"
#include "server/repo/sql/bisections.h"
#include "server/repo/sql/verifications.h"
#include "server/services/bisect/bisect.h"
#include "server/services/bisect/remote.h"
#include "server/services/queue/queue.h"

#define FAILURES_MAX 3 /* in a row, then it stays open */
#define ACTOR        "verification"

typedef struct pair {
    int64_t n, job_id;
    bool after_first, measured, failed;
    double before, after;
    const char *job_state, *job_reason;
} pair;

typedef struct trial {
    int64_t project_id, id;
    remote search; /* the bisection of the named commit */
    const char *before, *after, *avoid_runner;
    pfc_confirm_opts opts;
    pair *pairs;
    size_t len;
    pfc_sql_verification_load_rows row; /* one */
    pfc_sql_verification_pairs_rows pair_rows;
} trial;

static void trial_clear(trial *t)
{
    remote_clear(&t->search);
    free(t->pairs);
    pfc_rows_clear(&t->row);
    pfc_rows_clear(&t->pair_rows);
}

/* ---- rows ---- */

static void read_pairs(trial *t)
{
    t->len = t->pair_rows.len;
    t->pairs = pfc_calloc(t->len + 1, sizeof(*t->pairs));
    for (size_t i = 0; i < t->len; i++) {
        const pfc_sql_verification_pairs_row *row = &t->pair_rows.items[i];

        t->pairs[i] = (pair){
            .n = row->n,
            .after_first = row->after_first,
            .measured = pfc_streq(row->state, "measured"),
            .failed = pfc_streq(row->state, "failed"),
            .job_id = row->job_id,
            .before = row->before,
            .after = row->after,
            .job_state = row->job_state,
            .job_reason = row->job_reason,
        };
    }
}

static pfc_code load(pfc_tx *tx, trial *t, pfc_err *err)
{
    const pfc_sql_verification_load_row *row;
    pfc_code code = pfc_sql_verification_load(
        tx, &(pfc_sql_verification_load_args){ .project_id = t->project_id, .id = t->id }, &t->row,
        err);

    if (!code && t->row.len == 0)
        code = pfc_err_set(err, PFC_ENOTFOUND, "no such verification");
    if (!code)
        code = remote_load(tx, t->project_id, t->row.items[0].bisection_id, &t->search, err);
    if (!code)
        code =
            pfc_sql_verification_pairs(tx,
                                       &(pfc_sql_verification_pairs_args){
                                           .project_id = t->project_id, .verification_id = t->id },
                                       &t->pair_rows, err);
    if (code)
        return code;
    read_pairs(t);
    row = t->row.items;
    t->before = row->before;
    t->after = row->after;
    t->avoid_runner = row->avoid_runner;
    t->opts = (pfc_confirm_opts){
        .higher_is_better = t->search.higher_is_better,
        .expected_rel = row->expected_rel,
        .relink = t->search.options.relink,
        .first_build = (unsigned)row->first_build,
        .exact = t->search.exact,
        .seed = (uint64_t)t->id,
    };
    return PFC_OK;
}

pfc_code verify_start(pfc_tx *tx, const remote *r, const pfc_culprit *c, pfc_err *err)
{
    int64_t id = 0;

    /* A set has no single culprit, and the good commit has none before it. */
    if (c->first != c->last || c->first == 0)
        return PFC_OK;
    return pfc_sql_verification_insert(
        tx,
        &(pfc_sql_verification_insert_args){ .project_id = r->project_id,
                                             .bisection_id = r->id,
                                             .before = remote_commit(r, c->first - 1),
                                             .after = remote_commit(r, c->first),
                                             .expected_rel =
                                                 isfinite(c->rel_change) ? c->rel_change : 0 },
        &id, err);
}

/* ---- one turn ---- */

/* Both values of a finished job; NAN where it has none. */
static pfc_code read_pair(pfc_tx *tx, const trial *t, pair *q, pfc_err *err)
{
    const remote *r = &t->search;
    pfc_sql_job_values_rows rows = { 0 };
    pfc_code code;

    q->before = q->after = (double)NAN;
    code = pfc_sql_job_values(tx,
                              &(pfc_sql_job_values_args){ .project_id = r->project_id,
                                                          .job_id = q->job_id,
                                                          .metric = r->metric,
                                                          .benchmark = r->benchmark,
                                                          .backend = r->backend },
                              &rows, err);
    for (size_t i = 0; !code && i < rows.len; i++) {
        const char *sha = rows.items[i].sha;
        const double value = rows.items[i].median;

        if (pfc_streq(sha, t->before) && !isfinite(q->before))
            q->before = value;
        else if (pfc_streq(sha, t->after) && !isfinite(q->after))
            q->after = value;
    }
    pfc_rows_clear(&rows);
    return code;
}

static pfc_code settle(pfc_tx *tx, const trial *t, pair *q, pfc_err *err)
{
    pfc_code code = PFC_OK;

    if (pfc_streq(q->job_state, "done"))
        code = read_pair(tx, t, q, err);
    q->measured = q->before > 0 && q->after > 0 && isfinite(q->before) && isfinite(q->after);
    q->failed = !q->measured;
    if (!code)
        code = pfc_sql_verification_pair_end(
            tx,
            &(pfc_sql_verification_pair_end_args){ .project_id = t->project_id,
                                                   .verification_id = t->id,
                                                   .n = q->n,
                                                   .before = q->measured ? q->before : (double)NAN,
                                                   .after = q->measured ? q->after : (double)NAN },
            err);
    return code;
}

/* Adds the pairs so far in their order; *failures: failed ones in a row, at the end. */
static pfc_code replay(const trial *t, pfc_confirm **out, size_t *failures, pfc_err *err)
{
    pfc_confirm *confirm = NULL;
    pfc_code code = pfc_confirm_new(&confirm, &t->opts, err);

    *failures = 0;
    for (size_t i = 0; !code && i < t->len; i++) {
        const pair *q = &t->pairs[i];

        *failures = q->failed ? *failures + 1 : 0;
        if (q->measured)
            code = pfc_confirm_add_pair(confirm, q->before, q->after, err);
    }
    if (code)
        pfc_confirm_free(confirm);
    else
        *out = confirm;
    return code;
}

/* A trace does not change the value of an exact metric: the first pair is traced, as evidence. */
static pfc_code ask(pfc_tx *tx, const trial *t, const pfc_confirm_step *step, pfc_err *err)
{
    const remote *r = &t->search;
    const int64_t n = (int64_t)t->len + 1;
    char *dedupe = pfc_format("verification %lld pair %lld", (long long)t->id, (long long)n);
    char *task =
        pfc_job_search_text(&(pfc_job_search){ .metric = r->metric,
                                               .benchmark = r->benchmark,
                                               .backend = r->backend,
                                               .layout = step->build,
                                               .config = r->options.config,
                                               .settings_branch = r->options.settings_branch,
                                               .pair = t->before,
                                               .pair_first = !step->after,
                                               .traces = n == 1 && r->exact });
    pfc_labels labels = { 0 };
    const pfc_job_row row = { .kind = remote_job_kind(r, "verify"),
                              .commit = t->after,
                              .branch = r->branch,
                              .source = r->options.source,
                              .labels = &labels,
                              .dedupe = dedupe,
                              .task = task,
                              .avoid_runner = t->avoid_runner,
                              .priority = r->options.priority };
    int64_t job = 0;
    pfc_code code;

    remote_labels(r, &labels);
    code = pfc_job_put(tx, t->project_id, &row, &job, err);
    if (!code && !job)
        code = pfc_err_set(err, PFC_EBUG, "%s: its job is there already", dedupe);
    if (!code)
        code = pfc_sql_verification_pair_put(
            tx,
            &(pfc_sql_verification_pair_put_args){ .project_id = t->project_id,
                                                   .verification_id = t->id,
                                                   .n = n,
                                                   .build = step->build,
                                                   .after_first = step->after,
                                                   .job_id = job },
            err);
    pfc_labels_clear(&labels);
    free(task);
    free(dedupe);
    return code;
}

static pfc_code note(pfc_tx *tx, const trial *t, const char *state,
                     const pfc_confirm_result *result, const char *reason, pfc_err *err)
{
    const pfc_compare_result *cmp = &result->cmp;
    pfc_code code;

    code =
        pfc_sql_verification_note(tx,
                                  &(pfc_sql_verification_note_args){
                                      .project_id = t->project_id,
                                      .id = t->id,
                                      .state = state,
                                      .pairs = (int64_t)result->pairs,
                                      .layouts = result->layouts,
                                      .rel_change = result->pairs ? cmp->rel_change : (double)NAN,
                                      .rel_low = result->pairs ? cmp->rel_low : (double)NAN,
                                      .rel_high = result->pairs ? cmp->rel_high : (double)NAN,
                                      .p = result->pairs ? cmp->p : (double)NAN,
                                      .reason = reason },
                                  err);
    if (!code)
        code = pfc_sql_bisection_notify(tx, &(pfc_sql_bisection_notify_args){ .id = t->search.id },
                                        err);
    return code;
}

/* Sets the culprit of the alert; listeners of alerts are notified when tx commits. */
static pfc_code set_culprit(pfc_tx *tx, const trial *t, const pfc_confirm_result *result,
                            pfc_err *err)
{
    const remote *r = &t->search;
    const pfc_bisection_report key = { .metric = r->metric,
                                       .benchmark = r->benchmark,
                                       .backend = r->backend,
                                       .culprit = t->after,
                                       .alert_id = r->alert_id };
    int64_t alert_id = 0;
    char *reason;
    pfc_code code = pfc_alert_of_culprit(tx, r->project_id, &key, &alert_id, err);

    if (code || !alert_id)
        return code;
    reason = pfc_format("culprit confirmed: %.12s, by bisection %lld and %zu new pairs against the "
                        "commit before it (%+.2f %%, %+.2f to %+.2f)",
                        t->after, (long long)r->id, result->pairs, 100 * result->cmp.rel_change,
                        100 * result->cmp.rel_low, 100 * result->cmp.rel_high);
    code = pfc_alert_set_culprit(tx, ACTOR, r->project_id, alert_id, t->after, reason, err);
    free(reason);
    return code;
}

static pfc_code turn(pfc_tx *tx, trial *t, pfc_err *err)
{
    pfc_confirm *confirm = NULL;
    pfc_confirm_result result = { 0 };
    pfc_confirm_step step;
    size_t failures = 0;
    pfc_code code = load(tx, t, err);

    for (size_t i = 0; !code && i < t->len; i++)
        if (!t->pairs[i].measured && !t->pairs[i].failed)
            code = settle(tx, t, &t->pairs[i], err);
    if (!code)
        code = replay(t, &confirm, &failures, err);
    if (code)
        return code;
    pfc_confirm_result_get(confirm, &result);
    if (failures >= FAILURES_MAX) {
        code = note(tx, t, "open", &result, t->pairs[t->len - 1].job_reason, err);
    } else if (pfc_confirm_next(confirm, &step)) {
        code = ask(tx, t, &step, err);
        if (!code)
            code = note(tx, t, "running", &result, NULL, err);
    } else {
        code = note(tx, t, pfc_confirm_verdict_name(result.verdict), &result, NULL, err);
        if (!code && result.verdict == PFC_CONFIRM_CONFIRMED)
            code = set_culprit(tx, t, &result, err);
    }
    pfc_confirm_free(confirm);
    return code;
}

static void give_up(pfc_db *db, const trial *t, const char *why)
{
    const pfc_confirm_result none = { 0 };
    pfc_tx *tx = NULL;
    pfc_err err = { 0 };
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, &err);

    if (!code)
        code = note(tx, t, "open", &none, why, &err);
    if (!code)
        code = pfc_tx_commit(tx, &err);
    if (code)
        pfc_log(PFC_ERROR, "verification_end_failed", "verification", t->id, "why", err.msg);
    pfc_tx_free(tx);
}

pfc_code pfc_verifications_advance(pfc_db *db, pfc_err *err)
{
    trial t = { 0 };
    pfc_sql_verification_due_rows rows = { 0 };
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    if (!code)
        code = pfc_sql_verification_due(tx, &rows, err);
    if (!code && rows.len == 0)
        code = pfc_err_set(err, PFC_ENOTFOUND, "no verification waits");
    if (!code) {
        t.id = rows.items[0].id;
        t.project_id = rows.items[0].project_id;
        code = turn(tx, &t, err);
    }
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_rows_clear(&rows);
    pfc_tx_free(tx);
    if (code && t.id && code != PFC_EUNAVAIL && code != PFC_ETIMEOUT)
        give_up(db, &t, err->msg);
    trial_clear(&t);
    return code;
}

pfc_code verify_list(pfc_tx *tx, int64_t project_id, int64_t bisection_id, pfc_verifications *out,
                     pfc_err *err)
{
    return pfc_sql_verifications_of(
        tx,
        &(pfc_sql_verifications_of_args){ .project_id = project_id, .bisection_id = bisection_id },
        out, err);
}
