/*
 * Starts a bisection on the runners, and estimates its cost.
 */
#include <math.h>

#include "core/base/parse.h"
#include "core/base/text_index.h"
#include "core/import/import.h"
#include "core/stats/stats.h"
#include "server/repo/sql/bisections.h"
#include "server/repo/sql/projects.h"
#include "server/repo/tables/repo.h"
#include "server/services/alerts/kinds.h"
#include "server/services/bisect/bisect.h"
#include "server/services/bisect/remote.h"
#include "server/services/queue/queue.h"
#include "server/services/service.h"

#define STORED_PER     3 /* stored values of one commit and layout that count as evidence */
#define COMMAND_BLOCKS 3 /* launches of one stored run that count */

/* ---- the order, completed ---- */

/* The order, completed from an alert or a series; texts are owned. */
typedef struct ready {
    char *metric, *benchmark, *backend, *machine_class, *branch, *good, *bad;
    int64_t good_position, bad_position, series_id;
    double change; /* of the alert, relative; 0: none */
    bool known, higher_is_better, exact;
} ready;

static void ready_clear(ready *r)
{
    free(r->metric);
    free(r->benchmark);
    free(r->backend);
    free(r->machine_class);
    free(r->branch);
    free(r->good);
    free(r->bad);
}

static void fill(char **text, const char *with)
{
    if (!*text && with)
        *text = pfc_strdup(with);
}

/* Fills the missing texts of the order from the alert: its series, and the commit before its
 * range. */
static pfc_code from_alert(pfc_db *db, pfc_tx *tx, int64_t project_id, int64_t alert_id, ready *r,
                           pfc_err *err)
{
    pfc_alerts alerts = { 0 };
    pfc_sql_bisection_before_rows rows = { 0 };
    const pfc_alert *a;
    pfc_code code = pfc_alerts_get(db, alert_id, &alerts, err);

    if (code == PFC_ENOTFOUND || (!code && alerts.items[0].project_id != project_id))
        code = pfc_err_set_field(err, PFC_EINVAL, "alert_id", "the project has no alert %lld",
                                 (long long)alert_id);
    if (code)
        goto done;
    a = &alerts.items[0];
    if (pfc_streq(a->kind, "broken")) {
        code =
            pfc_err_set_field(err, PFC_EINVAL, "alert_id",
                              "alert %lld: %.100s is broken at %.12s, so that it has no value to "
                              "search by",
                              (long long)alert_id, a->benchmark, a->commit);
        goto done;
    }
    if (pfc_alert_is_drift(a)) {
        char *reason = pfc_drift_reason(a);

        code = pfc_err_set_field(err, PFC_ECONFLICT, "alert_id", "alert %lld: %s",
                                 (long long)alert_id, reason);
        free(reason);
        goto done;
    }
    fill(&r->branch, a->branch);
    fill(&r->metric, a->metric);
    fill(&r->benchmark, a->benchmark);
    fill(&r->backend, a->backend);
    fill(&r->machine_class, a->machine_class);
    fill(&r->bad, a->commit_high);
    r->change = a->rel_change;
    if (!r->good) {
        code = pfc_sql_bisection_before(tx,
                                        &(pfc_sql_bisection_before_args){ .project_id = project_id,
                                                                          .branch = r->branch,
                                                                          .sha = a->commit_low },
                                        &rows, err);
        if (!code && rows.len == 0)
            code = pfc_err_set_field(err, PFC_EINVAL, "alert_id",
                                     "alert %lld: its range begins with the first commit of %s; "
                                     "name a good one",
                                     (long long)alert_id, r->branch);
        if (!code)
            fill(&r->good, rows.items[0].sha);
    }

done:
    pfc_rows_clear(&rows);
    pfc_rows_clear(&alerts);
    return code;
}

static pfc_code check_end(const char *id, const char *which, pfc_err *err)
{
    if (id && pfc_is_hex_id(id) && strlen(id) <= 40)
        return PFC_OK;
    return pfc_err_set_field(err, PFC_EINVAL, which, "%s: expected a commit id of 7 to 40 digits",
                             which);
}

static pfc_code take_end(const pfc_sql_bisection_line_rows *rows, const char *which,
                         const char *given, const char *branch, char **sha, int64_t *position,
                         pfc_err *err)
{
    size_t matches = 0, at = 0;

    for (size_t i = 0; i < rows->len; i++)
        if (pfc_streq(rows->items[i].which, which)) {
            matches++;
            at = i;
        }
    if (matches == 0)
        return pfc_err_set_field(err, PFC_EINVAL, which, "%s: the service knows no commit %.40s",
                                 which, given);
    if (matches > 1)
        return pfc_err_set_field(err, PFC_EINVAL, which, "%s: several commits begin with %.40s",
                                 which, given);
    *position = rows->items[at].position;
    if (*position <= 0)
        return pfc_err_set_field(err, PFC_EINVAL, which,
                                 "%s: %.12s is not on the first-parent line of %s", which,
                                 rows->items[at].sha, branch);
    free(*sha);
    *sha = pfc_strdup(rows->items[at].sha);
    return PFC_OK;
}

static pfc_code find_ends(pfc_tx *tx, int64_t project_id, ready *r, pfc_err *err)
{
    char *given[2] = { NULL, NULL };
    pfc_sql_bisection_line_rows rows = { 0 };
    pfc_code code = check_end(r->good, "good", err);

    if (!code)
        code = check_end(r->bad, "bad", err);
    if (code)
        return code;
    if (strncmp(r->good, r->bad, PFC_MIN(strlen(r->good), strlen(r->bad))) == 0)
        return pfc_err_set_field(err, PFC_EINVAL, "bad", "good and bad are the same commit, %.12s",
                                 r->bad);
    code = pfc_sql_bisection_line(
        tx,
        &(pfc_sql_bisection_line_args){
            .project_id = project_id, .branch = r->branch, .good = r->good, .bad = r->bad },
        &rows, err);
    given[0] = pfc_strdup(r->good);
    given[1] = pfc_strdup(r->bad);
    if (!code)
        code = take_end(&rows, "good", given[0], r->branch, &r->good, &r->good_position, err);
    if (!code)
        code = take_end(&rows, "bad", given[1], r->branch, &r->bad, &r->bad_position, err);
    if (!code && r->good_position >= r->bad_position)
        code = pfc_err_set_field(err, PFC_EINVAL, "good",
                                 "good comes after bad on %s: swap them (good %.12s, bad %.12s)",
                                 r->branch, r->bad, r->good);
    if (!code && r->bad_position - r->good_position >= PFC_BISECTION_MAX_COMMITS)
        code = pfc_err_set_field(
            err, PFC_EINVAL, "good", "%lld commits lie between the ends; expected at most %d",
            (long long)(r->bad_position - r->good_position), PFC_BISECTION_MAX_COMMITS);
    free(given[0]);
    free(given[1]);
    pfc_rows_clear(&rows);
    return code;
}

/* The series of the metric, when there is one: direction, machine class, stored runs. */
static pfc_code find_series(pfc_tx *tx, int64_t project_id, ready *r, pfc_err *err)
{
    pfc_sql_bisection_series_rows rows = { 0 };
    pfc_code code;

    code = pfc_sql_bisection_series(
        tx,
        &(pfc_sql_bisection_series_args){ .project_id = project_id,
                                          .branch = r->branch,
                                          .metric = r->metric,
                                          .benchmark = r->benchmark,
                                          .backend = r->backend,
                                          .machine_class = r->machine_class },
        &rows, err);
    if (!code && rows.len) {
        const bool headline = rows.items[0].headline;

        for (size_t i = 1; i < rows.len && !r->benchmark && !headline; i++)
            if (!pfc_streq(rows.items[i].benchmark, rows.items[0].benchmark))
                code = pfc_err_set_field(err, PFC_EINVAL, "benchmark",
                                         "several benchmarks have %.100s: name one, e.g. %.100s",
                                         r->metric, rows.items[0].benchmark);
        r->series_id = rows.items[0].id;
        fill(&r->benchmark, rows.items[0].benchmark);
        fill(&r->backend, rows.items[0].backend);
        fill(&r->machine_class, rows.items[0].machine_class);
        r->higher_is_better = rows.items[0].higher_is_better;
        r->exact = rows.items[0].exact;
        r->known = true;
    } else if (!code) {
        r->higher_is_better = pfc_import_higher_is_better(r->metric, NULL);
    }
    pfc_rows_clear(&rows);
    return code;
}

static pfc_code complete_order(pfc_db *db, pfc_tx *tx, int64_t project_id,
                               const pfc_bisection_order *order, ready *r, pfc_err *err)
{
    pfc_sql_project_branch_rows rows = { 0 };
    pfc_code code = PFC_OK;

    fill(&r->metric, order->metric);
    fill(&r->benchmark, order->benchmark);
    fill(&r->backend, order->backend);
    fill(&r->machine_class, order->machine_class);
    fill(&r->branch, order->branch);
    fill(&r->good, order->good);
    fill(&r->bad, order->bad);
    if (order->alert_id)
        code = from_alert(db, tx, project_id, order->alert_id, r, err);
    if (!code && !r->metric)
        code =
            pfc_err_set_field(err, PFC_EINVAL, "metric", "metric: expected a metric, or an alert");
    if (!code && !r->branch) {
        code = pfc_sql_project_branch(
            tx, &(pfc_sql_project_branch_args){ .project_id = project_id }, &rows, err);
        if (!code)
            fill(&r->branch, rows.items[0].branch);
        pfc_rows_clear(&rows);
    }
    if (!code)
        code = find_ends(tx, project_id, r, err);
    return code ? code : find_series(tx, project_id, r, err);
}

/* ---- line and prior ---- */

static bool touches(pfc_array_text array, char *const *globs, size_t globs_len)
{
    pfc_texts paths = { 0 };
    bool hit = false;

    pfc_array_texts(array, &paths);
    for (size_t i = 0; i < paths.len && !hit; i++)
        hit = pfc_path_fits(paths.items[i], globs, globs_len);
    pfc_texts_clear(&paths);
    return hit;
}

/* Reads the commits from good to bad into out->line; weights: 1 for those that touch the globs. */
static pfc_code read_line(pfc_tx *tx, const ready *r, const pfc_bisection_order *order, remote *out,
                          double **weights, pfc_err *err)
{
    pfc_sql_bisection_range_rows rows = { 0 };
    pfc_code code;

    code = pfc_sql_bisection_range(
        tx,
        &(pfc_sql_bisection_range_args){ .project_id = out->project_id,
                                         .branch = r->branch,
                                         .position_from = r->good_position,
                                         .position_to = r->bad_position,
                                         .limit = PFC_BISECTION_MAX_COMMITS },
        &rows, err);
    if (!code) {
        out->line.items = pfc_calloc(rows.len, sizeof(char *));
        out->line.len = out->len = rows.len;
        *weights = pfc_calloc(out->len, sizeof(**weights));
        for (size_t i = 0; i < out->len; i++) {
            out->line.items[i] = pfc_strdup(rows.items[i].sha);
            (*weights)[i] =
                order->globs_len && touches(rows.items[i].paths, order->globs, order->globs_len);
        }
    }
    pfc_rows_clear(&rows);
    return code;
}

/* Weights the alert's suspects in the line by their probabilities. */
static pfc_code weigh_by_alert(pfc_db *db, int64_t alert_id, const remote *out, double *weights,
                               pfc_err *err)
{
    pfc_alert_ranking ranking = { 0 };
    pfc_text_index places = { 0 };
    pfc_code code = pfc_alert_rank_by(db, alert_id, false, &ranking, err);

    pfc_text_index_make(&places, (const char *const *)out->line.items, out->len);
    for (size_t i = 0; !code && i < ranking.suspects.len; i++) {
        const pfc_suspect *s = &ranking.suspects.items[i];
        size_t place = 0;

        if (s->kind == PFC_SUSPECT_IS_COMMIT &&
            pfc_text_index_find(&places, ranking.commits.items[s->index].sha, &place))
            weights[place] = s->probability;
    }
    pfc_text_index_clear(&places);
    pfc_alert_ranking_clear(&ranking);
    return code;
}

/* ---- stored runs ---- */

static size_t stored_at(const remote *r, size_t place, unsigned layout)
{
    size_t n = 0;

    for (size_t i = 0; i < r->steps_len; i++)
        n += r->steps[i].place == place && r->steps[i].layout == layout;
    return n;
}

static void add_stored(remote *r, size_t place, unsigned layout, int64_t run_id, double value)
{
    if (!(value > 0) || !isfinite(value) || stored_at(r, place, layout) >= STORED_PER)
        return;
    r->steps = pfc_grow(r->steps, r->steps_len, &r->steps_cap, sizeof(*r->steps));
    r->steps[r->steps_len] = (remote_step){ .n = (int64_t)r->steps_len + 1,
                                            .place = place,
                                            .layout = layout,
                                            .state = PFC_BISECT_MEASURED,
                                            .run_id = run_id,
                                            .value = value };
    r->steps_len++;
}

/* A job of a bisection launches a command once, a nightly job several times. Each launch of a
 * stored run is one value, so that all values mean the same. A run of a suite is one value in
 * both. */
static void add_run(remote *r, size_t place, const pfc_sql_bisection_stored_rows *rows, size_t row)
{
    const unsigned layout = (unsigned)rows->items[row].layout;
    const int64_t run_id = rows->items[row].run_id;
    const bool command = pfc_streq(rows->items[row].suite, "command");
    double *samples = NULL;
    uint32_t *blocks = NULL;
    size_t samples_len = 0, blocks_len = 0, at = 0;

    if (!command) {
        add_stored(r, place, layout, run_id, rows->items[row].median);
        return;
    }
    pfc_array_f64s(rows->items[row].samples, &samples, &samples_len);
    pfc_array_u32s(rows->items[row].blocks, &blocks, &blocks_len);
    for (size_t i = 0; i < blocks_len && i < COMMAND_BLOCKS; at += blocks[i], i++)
        if (blocks[i] && at + blocks[i] <= samples_len)
            add_stored(r, place, layout, run_id, pfc_stats_median(samples + at, blocks[i]));
    free(blocks);
    free(samples);
}

static pfc_code take_stored(pfc_tx *tx, int64_t series_id, remote *r, pfc_err *err)
{
    const char *const *ids = (const char *const *)r->line.items;
    pfc_text_index places = { 0 };
    pfc_sql_bisection_stored_rows rows = { 0 };
    pfc_code code;

    pfc_text_index_make(&places, ids, r->len);
    code = pfc_sql_bisection_stored(
        tx,
        &(pfc_sql_bisection_stored_args){
            .project_id = r->project_id, .series_id = series_id, .shas = ids, .shas_len = r->len },
        &rows, err);
    for (size_t i = 0; !code && i < rows.len; i++) {
        size_t place = 0;

        if (pfc_text_index_find(&places, rows.items[i].sha, &place) &&
            !(r->exact && stored_at(r, place, 0)))
            add_run(r, place, &rows, i);
    }
    pfc_rows_clear(&rows);
    pfc_text_index_clear(&places);
    return code;
}

/* ---- the cost ---- */

pfc_code remote_cost(pfc_tx *tx, const remote *r, double expected_runs, pfc_bisection_cost *out,
                     pfc_err *err)
{
    const int wanted = r->options.parallel > 0 ? r->options.parallel : PFC_BISECTION_PARALLEL;
    pfc_bisection_cost cost = { .commits = r->len, .expected_runs = expected_runs };
    pfc_labels labels = { 0 };
    const pfc_job_row step = { .kind = remote_job_kind(r, "bisect"),
                               .labels = &labels,
                               .priority = r->options.priority };
    pfc_job_prospect next = { 0 };
    double lanes;
    pfc_code code;

    for (size_t i = 0; i < r->steps_len; i++)
        cost.stored_runs += r->steps[i].state == PFC_BISECT_MEASURED && !r->steps[i].job_id;
    remote_labels(r, &labels);
    code = pfc_sql_bisection_runners(
        tx, &(pfc_sql_bisection_runners_args){ .machine_class = r->machine_class }, &cost.runners,
        err);
    if (!code)
        code = pfc_job_foresee(tx, r->project_id, &step, &next, err);
    if (!code) {
        cost.jobs_waiting = next.before;
        cost.run_seconds = next.run_s;
        cost.wait_seconds = next.wait_s;
        lanes = (double)PFC_MAX(1, PFC_MIN(cost.runners, wanted));
        cost.seconds = cost.wait_seconds + cost.run_seconds * expected_runs / lanes;
        /* Halving the range takes its binary logarithm in commits, plus both ends. */
        cost.expected_builds = fmin(expected_runs, 2 + ceil(log2((double)r->len)));
        *out = cost;
    }
    pfc_labels_clear(&labels);
    return code;
}

/* ---- starting ---- */

static pfc_code insert(pfc_tx *tx, const char *actor, const ready *full, double expected_runs,
                       remote *r, pfc_err *err)
{
    char *options = pfc_bisection_options_text(&r->options);
    pfc_code code;

    code = pfc_sql_bisection_start(
        tx,
        &(pfc_sql_bisection_start_args){
            .project_id = r->project_id,
            .metric = full->metric,
            .benchmark = full->benchmark,
            .backend = full->backend,
            .branch = full->branch,
            .machine_class = full->machine_class,
            .line = (const char *const *)r->line.items,
            .line_len = r->len,
            .prior = r->prior,
            .prior_len = r->len,
            .options_json = options,
            .higher_is_better = { .known = r->known, .value = r->higher_is_better },
            .exact = r->exact,
            .alert_id = r->alert_id,
            .actor = actor,
            .expected_runs = expected_runs,
        },
        &r->id, err);
    free(options);
    for (size_t i = 0; !code && i < r->steps_len; i++)
        code = remote_put_step(tx, r, &r->steps[i], err);
    return code;
}

static pfc_code store(pfc_tx *tx, const char *actor, const ready *full, double expected_runs,
                      remote *r, pfc_err *err)
{
    char *what = NULL;
    pfc_code code = insert(tx, actor, full, expected_runs, r, err);

    if (!code) {
        what = pfc_format("bisection %lld", (long long)r->id);
        code = pfc_audit_add(tx, actor, "bisect", r->project_id, what, "remote", err);
        free(what);
    }
    if (!code)
        code = pfc_sql_bisection_notify(tx, &(pfc_sql_bisection_notify_args){ .id = r->id }, err);
    return code ? code : pfc_tx_commit(tx, err);
}

pfc_code pfc_bisection_start(pfc_db *db, const char *actor, int64_t project_id,
                             const pfc_bisection_order *order, bool dry_run,
                             pfc_bisection_cost *cost, pfc_bisections *out, pfc_err *err)
{
    remote r = { .project_id = project_id, .options = order->options, .alert_id = order->alert_id };
    ready full = { 0 };
    double *weights = NULL, expected_runs = 0;
    pfc_bisect_plan *plan = NULL;
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    if (!code)
        code = complete_order(db, tx, project_id, order, &full, err);
    if (!code)
        code = read_line(tx, &full, order, &r, &weights, err);
    if (!code && order->alert_id)
        code = weigh_by_alert(db, order->alert_id, &r, weights, err);
    if (code)
        goto done;
    /* The alert gives the size of the step: a change of less than half of it is another one. */
    if (!(r.options.margin_rel > 0) && r.options.delta_rel == 0 && isfinite(full.change) &&
        full.change != 0)
        r.options.margin_rel = fmin(fabs(log1p(fmax(full.change, -0.999))) / 2, 1.0);
    r.prior = pfc_bisect_prior(weights, r.len);
    r.machine_class = full.machine_class;
    r.known = full.known;
    r.higher_is_better = full.higher_is_better;
    r.exact = full.exact;
    if (full.series_id)
        code = take_stored(tx, full.series_id, &r, err);
    if (!code)
        code = remote_plan(&r, &plan, err);
    if (code)
        goto done;
    expected_runs = pfc_bisect_expected_runs(plan);
    code = remote_cost(tx, &r, expected_runs, cost, err);
    if (!code && !dry_run)
        code = store(tx, actor, &full, expected_runs, &r, err);

done:
    pfc_tx_free(tx);
    pfc_bisect_free(plan);
    free(weights);
    ready_clear(&full);
    if (!code && !dry_run)
        code = pfc_bisections_get(db, r.id, out, err);
    remote_clear(&r);
    return code;
}
