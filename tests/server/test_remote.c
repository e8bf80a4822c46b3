/* Bisections on the runners: fake runners measure what a table says, and the right commit is named.
 */
#include <math.h>

#include "server/services/bisect/bisect.h"
#include "server/services/queue/queue.h"

#include "tests/check/check.h"
#include "tests/server/fixture.h"
#include "tests/server/fleet.h"

Test(remote, three_runners_at_once_find_the_commit_past_one_that_does_not_build)
{
    pfc_db *db = pfc_test_db_open(3, NULL);
    fleet f = fleet_begin(db);
    const pfc_bisection_order order = fleet_whole_line();
    pfc_bisection_detail detail = { 0 };
    size_t most = 0, asked = 0;
    pfc_err err = { 0 };
    char secret[PFC_LEASE_SIZE];
    int64_t id;

    f.broken = CULPRIT - 3;
    for (int i = 0; i < 3; i++) {
        pfc_jobs none = fleet_lease(&f, (const char *[]){ "r1", "r2", "r3" }[i], secret);

        cr_assert(eq(sz, none.len, 0));
    }
    id = fleet_start(&f, &order);
    fleet_work(&f, 3, &most);
    cr_assert(eq(sz, most, 3));
    fleet_assert_found(&f, id, CULPRIT);
    cr_assert(eq(int, pfc_bisection_detail_get(db, f.project, id, &detail, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(sz, detail.line.len, COMMITS));
    cr_assert(gt(dbl, detail.posterior[CULPRIT - 1], 0.98));
    for (size_t i = 0; i < detail.steps.len; i++)
        asked += detail.steps.items[i].job_id != 0;
    cr_assert(eq(sz, asked, f.jobs - f.pairs)); /* nothing was asked twice, nothing forgotten */
    pfc_bisection_detail_clear(&detail);
    pfc_db_close(db);
}

Test(remote, what_is_stored_is_evidence_and_not_measured_again)
{
    pfc_db *db = pfc_test_db_open(3, NULL);
    fleet f = fleet_begin(db);
    pfc_bisection_order order = fleet_whole_line();
    int64_t id = fleet_start(&f, &order);
    size_t most, first;

    fleet_work(&f, 1, &most);
    fleet_assert_found(&f, id, CULPRIT);
    first = f.jobs - f.pairs;
    order = fleet_whole_line();
    id = fleet_start(&f, &order);
    fleet_work(&f, 1, &most);
    fleet_assert_found(&f, id, CULPRIT);
    cr_assert(lt(sz, f.jobs - f.pairs - first, first / 2), "%zu, then %zu", first,
              f.jobs - f.pairs - first);
    pfc_db_close(db);
}

Test(remote, the_dry_run_states_the_cost_and_starts_nothing)
{
    pfc_db *db = pfc_test_db_open(3, NULL);
    fleet f = fleet_begin(db);
    const pfc_bisection_order order = fleet_whole_line();
    pfc_bisection_cost cost = { 0 };
    pfc_bisections rows = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_bisection_start(db, "test", f.project, &order, true, &cost, &rows, &err),
                 PFC_OK),
              "%s", err.msg);
    cr_assert(eq(sz, cost.commits, COMMITS));
    cr_assert(gt(dbl, cost.expected_runs, 2));
    cr_assert(eq(int, isnan(cost.seconds) != 0, 1)); /* no job has shown yet how long one takes */
    cr_assert(
        eq(int, pfc_bisections_list(db, f.project, NULL, (pfc_page){ 0 }, &rows, &err), PFC_OK));
    cr_assert(eq(sz, rows.len, 0));
    cr_assert(eq(int, pfc_bisections_advance(db, &err), PFC_ENOTFOUND));
    pfc_rows_clear(&rows);
    pfc_db_close(db);
}

/* The queue's own estimate: what goes first on the machines that it wants, and what else they are
 * busy with. */
Test(remote, the_cost_has_the_wait_of_the_queue)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(3, &url);
    fleet f = fleet_begin(db);
    pfc_bisection_order order = fleet_whole_line();
    pfc_bisection_cost cost = { 0 };
    pfc_bisections rows = { 0 };
    pfc_err err = { 0 };

    order.machine_class = "test-cpu";
    order.options.priority = 50;
    pfc_test_sql(
        url, /* each timed out an hour before; then two before it, one of the same priority */
        "INSERT INTO jobs (project_id, kind, state, sha, started_at, leased_at, finished_at) "
        "SELECT p.id, 'nightly', 'done', md5(i::text), now() - interval '1 hour', "
        "now() - interval '300 seconds', now() FROM projects p, generate_series(1, 60) i;"
        "INSERT INTO jobs (project_id, kind, sha, priority, labels) SELECT p.id, 'nightly', "
        "md5(v::text), v, l::jsonb FROM projects p, (VALUES (90, '{}'), (50, '{}'), (49, '{}'), "
        "(90, '{\"machine_class\":\"zen4\"}')) AS t (v, l)");
    cr_assert(eq(int, pfc_bisection_start(db, "test", f.project, &order, true, &cost, &rows, &err),
                 PFC_OK),
              "%s", err.msg);
    cr_assert(eq(i64, cost.runners, 0));
    cr_assert(eq(i64, cost.jobs_waiting, 3)); /* without a runner, all of them count */
    cr_assert(eq(int, isnan(cost.wait_seconds) != 0, 1));
    cr_assert(eq(int, isnan(cost.seconds) != 0, 1));
    pfc_test_sql(url, "INSERT INTO runners (name, machine_class) VALUES ('r1', 'test-cpu')");
    cr_assert(eq(int, pfc_bisection_start(db, "test", f.project, &order, true, &cost, &rows, &err),
                 PFC_OK),
              "%s", err.msg);
    cr_assert(eq(i64, cost.jobs_waiting, 2));
    cr_assert(epsilon_eq(dbl, cost.run_seconds, 300, 1));
    cr_assert(epsilon_eq(dbl, cost.wait_seconds, 600, 30));
    cr_assert(epsilon_eq(dbl, cost.seconds, cost.wait_seconds + 300 * cost.expected_runs,
                         15 * cost.expected_runs));
    /* one more runner, and what is urgent goes to it; the cost is of what waits now */
    pfc_test_sql(url, "INSERT INTO runners (name, machine_class) VALUES ('r2', 'test-cpu');"
                      "UPDATE jobs SET priority = 0 WHERE state = 'queued' AND labels = '{}' "
                      "AND priority = 50");
    cr_assert(eq(int, pfc_bisection_start(db, "test", f.project, &order, true, &cost, &rows, &err),
                 PFC_OK),
              "%s", err.msg);
    cr_assert(eq(i64, cost.jobs_waiting, 1));
    cr_assert(epsilon_eq(dbl, cost.wait_seconds, 0, 1e-9));
    free(url);
    pfc_db_close(db);
}

Test(remote, a_late_result_of_an_old_lease_is_kept_and_never_counts_for_the_new)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(3, &url);
    fleet f = fleet_begin(db);
    const pfc_bisection_order order = fleet_whole_line();
    pfc_bisection_detail detail = { 0 };
    pfc_run_rows runs = { 0 };
    pfc_run *late;
    pfc_jobs old, held;
    pfc_err err = { 0 };
    char first[PFC_LEASE_SIZE], second[PFC_LEASE_SIZE];
    int64_t id = fleet_start(&f, &order), late_id, of_job = 0;
    size_t stored = 0;

    fleet_advance(db);
    old = fleet_lease(&f, "r1", first);
    cr_assert(eq(sz, old.len, 1));
    cr_assert(eq(int, pfc_job_release(db, old.items[0].id, first, &err), PFC_OK), "%s", err.msg);
    held = fleet_lease(&f, "r2", second);
    cr_assert(eq(i64, held.items[0].id, old.items[0].id));
    late = fx_run(fleet_commit_number(old.items[0].commit));
    late->job_id = old.items[0].id;
    late->job_fence = old.items[0].fence;
    fx_measure(late, "gemm/a", "time_ns", 5000, 0.01, 9, 3, 1);
    late_id = fx_ingest(db, f.project, late);
    cr_assert(eq(int, pfc_job_complete(db, old.items[0].id, first, "done", NULL, NULL, 0, &err),
                 PFC_ECONFLICT));
    fleet_do_job(&f, &held.items[0], second);
    fleet_advance(db);
    cr_assert(eq(int, pfc_bisection_detail_get(db, f.project, id, &detail, &err), PFC_OK), "%s",
              err.msg);
    for (size_t i = 0; i < detail.steps.len; i++) {
        if (detail.steps.items[i].job_id == held.items[0].id)
            cr_assert(lt(dbl, detail.steps.items[i].value, 200));
        else
            cr_assert(ne(i64, detail.steps.items[i].run_id, late_id));
    }
    /* both are stored, one of them marked as extra */
    cr_assert(eq(int, pfc_runs_list(db, f.project, NULL, (pfc_page){ 0 }, &runs, &err), PFC_OK));
    for (size_t i = 0; i < runs.len; i++)
        of_job += runs.items[i].extra ? runs.items[i].run_id : 0;
    cr_assert(eq(sz, runs.len, 2));
    cr_assert(eq(i64, of_job, late_id));
    pfc_rows_clear(&runs);
    pfc_bisection_detail_clear(&detail);
    /* nor is it evidence of a later search, as the other one is */
    id = fleet_start(&f, &order);
    cr_assert(eq(int, pfc_bisection_detail_get(db, f.project, id, &detail, &err), PFC_OK), "%s",
              err.msg);
    for (size_t i = 0; i < detail.steps.len; i++) {
        const pfc_bisection_step *step = &detail.steps.items[i];

        cr_assert(ne(i64, step->run_id, late_id));
        stored += step->run_id && !strcmp(step->commit, held.items[0].commit);
    }
    cr_assert(eq(sz, stored, 1));
    pfc_bisection_detail_clear(&detail);
    pfc_rows_clear(&old);
    pfc_rows_clear(&held);
    free(url);
    pfc_db_close(db);
}

static void assert_refused(fleet *f, pfc_bisection_order order, const char *field, const char *says)
{
    pfc_bisection_cost cost = { 0 };
    pfc_bisections rows = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int,
                 pfc_bisection_start(f->db, "test", f->project, &order, false, &cost, &rows, &err),
                 PFC_EINVAL));
    cr_assert(eq(str, err.field, (char *)field), "%s", err.msg);
    cr_assert(not(zero(ptr, (void *)strstr(err.msg, says))), "%s", err.msg);
}

Test(remote, wrong_orders_are_refused_with_what_to_do)
{
    pfc_db *db = pfc_test_db_open(3, NULL);
    fleet f = fleet_begin(db);
    pfc_bisection_order order = fleet_whole_line();

    order.good = fx_sha(60);
    order.bad = fx_sha(3);
    assert_refused(&f, order, "good", "swap them");
    order.good = order.bad;
    assert_refused(&f, order, "bad", "the same commit");
    order = fleet_whole_line();
    order.good = fx_sha(999);
    assert_refused(&f, order, "good", "knows no commit");
    order.good = "12345";
    assert_refused(&f, order, "good", "7 to 40 digits");
    order.good = "0000000";
    assert_refused(&f, order, "bad", "the same commit");
    order = fleet_whole_line();
    order.metric = NULL;
    assert_refused(&f, order, "metric", "expected a metric, or an alert");
    order.alert_id = 4711;
    assert_refused(&f, order, "alert_id", "no alert 4711");
    pfc_db_close(db);
}

Test(remote, an_end_that_does_not_build_is_said_and_ends_it)
{
    pfc_db *db = pfc_test_db_open(3, NULL);
    fleet f = fleet_begin(db);
    const pfc_bisection_order order = fleet_whole_line();
    pfc_bisections rows;
    size_t most;
    int64_t id = fleet_start(&f, &order);

    f.broken = COMMITS;
    fleet_work(&f, 1, &most);
    rows = fleet_bisection(&f, id);
    cr_assert(eq(str, (char *)rows.items[0].verdict, "inconclusive"));
    cr_assert(not(zero(ptr, (void *)strstr(rows.items[0].reason, "the bad commit"))), "%s",
              rows.items[0].reason);
    cr_assert(not(zero(ptr, (void *)strstr(rows.items[0].reason, "cc1: error"))), "%s",
              rows.items[0].reason);
    pfc_rows_clear(&rows);
    pfc_db_close(db);
}

static json_t *parsed(const char *text)
{
    json_t *json = text ? json_loads(text, 0, NULL) : NULL;

    cr_assert(not(zero(ptr, json)), "%s", text ? text : "NULL");
    return json;
}

static json_int_t count_of(const json_t *counts, const char *kind)
{
    return json_integer_value(json_object_get(counts, kind));
}

/* Two ends and a few halvings of 64 commits: open, and for want of runs alone. */
Test(remote, a_budget_that_ends_says_how_many_commits_remain_and_what_it_would_take)
{
    pfc_db *db = pfc_test_db_open(3, NULL);
    fleet f = fleet_begin(db);
    pfc_bisection_order order = fleet_whole_line();
    pfc_bisections rows;
    json_t *stopped, *counts;
    size_t most;
    int64_t id;

    order.options.max_runs = 7;
    id = fleet_start(&f, &order);
    fleet_work(&f, 1, &most);
    rows = fleet_bisection(&f, id);
    cr_assert(eq(str, (char *)rows.items[0].verdict, "inconclusive"));
    cr_assert(eq(i64, rows.items[0].runs, 7));
    stopped = parsed(rows.items[0].stopped_json);
    cr_assert(eq(str, (char *)json_string_value(json_object_get(stopped, "stopped")), "budget"));
    cr_assert(eq(i64, json_integer_value(json_object_get(stopped, "budget_runs")), 7));
    cr_assert(ge(i64, json_integer_value(json_object_get(stopped, "candidates")), 2));
    cr_assert(ge(dbl, json_number_value(json_object_get(stopped, "expected_more_runs")), 2));
    cr_assert(zero(int, strncmp(rows.items[0].reason, "Budget of 7 runs used; ", 23)), "%s",
              rows.items[0].reason);
    counts = parsed(rows.items[0].counts_json);
    cr_assert(eq(i64, count_of(counts, "measured"), 7));
    cr_assert(eq(i64, count_of(counts, "stored"), 0));
    cr_assert(zero(ptr, (void *)rows.items[0].failure_json));
    json_decref(counts);
    json_decref(stopped);
    pfc_rows_clear(&rows);
    /* With more runs it goes on from what is stored, and then nothing is left open. */
    order = fleet_whole_line();
    id = fleet_start(&f, &order);
    fleet_work(&f, 1, &most);
    rows = fleet_bisection(&f, id);
    stopped = parsed(rows.items[0].stopped_json);
    cr_assert(zero(ptr, json_object_get(stopped, "stopped")));
    cr_assert(not(zero(ptr, json_object_get(stopped, "difference"))));
    json_decref(stopped);
    counts = parsed(rows.items[0].counts_json);
    cr_assert(gt(i64, count_of(counts, "stored"), 0));
    cr_assert(gt(i64, count_of(counts, "measured"), 0));
    cr_assert(
        eq(i64, count_of(counts, "stored") + count_of(counts, "measured"), rows.items[0].runs));
    json_decref(counts);
    pfc_rows_clear(&rows);
    pfc_db_close(db);
}

/* The same search, with a margin that can be shown and one that the budget cannot show. */
Test(remote, no_regression_needs_the_ends_interval_within_the_margin)
{
    pfc_db *db = pfc_test_db_open(3, NULL);
    fleet f = fleet_begin(db);

    f.healed = true;
    for (int narrow = 0; narrow < 2; narrow++) {
        pfc_bisection_order order = fleet_whole_line();
        pfc_bisections rows;
        json_t *stopped, *difference;
        size_t most;
        int64_t id;

        order.options.delta_rel = STEP - 1;
        order.options.margin_rel = narrow ? 0.0005 : 0.02;
        order.options.max_runs = 60;
        id = fleet_start(&f, &order);
        fleet_work(&f, 1, &most);
        rows = fleet_bisection(&f, id);
        stopped = parsed(rows.items[0].stopped_json);
        difference = json_object_get(stopped, "difference");
        cr_assert(
            eq(str, (char *)rows.items[0].verdict, narrow ? "inconclusive" : "no-regression"));
        cr_assert(eq(int, json_is_true(json_object_get(difference, "within")), !narrow));
        cr_assert(epsilon_eq(dbl, json_number_value(json_object_get(difference, "margin")),
                             order.options.margin_rel, 1e-9));
        if (narrow) {
            cr_assert(gt(dbl, json_number_value(json_object_get(difference, "more_runs")), 60));
            cr_assert(not(zero(ptr, (void *)strstr(rows.items[0].reason, "more runs expected"))),
                      "%s", rows.items[0].reason);
        } else {
            cr_assert(le(dbl, json_number_value(json_object_get(difference, "rel_high")), 0.02));
        }
        json_decref(stopped);
        pfc_rows_clear(&rows);
    }
    pfc_db_close(db);
}

/* Both ends are stored, every new job fails: no value is new, and the first job's own words are
 * there. */
Test(remote, stored_runs_are_not_counted_as_measured_and_a_failed_job_is_quoted)
{
    pfc_db *db = pfc_test_db_open(3, NULL);
    fleet f = fleet_begin(db);
    const pfc_bisection_order order = fleet_whole_line();
    pfc_bisections rows;
    json_t *counts, *failure;
    size_t most;
    int64_t id;

    for (unsigned i = 0; i < 6; i++) {
        pfc_run *run = fx_run(i % 2 ? COMMITS : 1);

        fx_measure(run, "gemm/a", "time_ns", i % 2 ? 106 : 100, 0.001, 1, 1, i + 1);
        fx_ingest(db, f.project, run);
    }
    f.none_builds = true;
    id = fleet_start(&f, &order);
    fleet_work(&f, 1, &most);
    rows = fleet_bisection(&f, id);
    counts = parsed(rows.items[0].counts_json);
    cr_assert(eq(i64, count_of(counts, "stored"), 6));
    cr_assert(eq(i64, count_of(counts, "measured"), 0));
    cr_assert(eq(i64, count_of(counts, "broken"), (json_int_t)f.jobs));
    cr_assert(gt(sz, f.jobs, 0));
    failure = parsed(rows.items[0].failure_json);
    cr_assert(eq(str, (char *)json_string_value(json_object_get(failure, "state")), "broken"));
    cr_assert(eq(str, (char *)json_string_value(json_object_get(failure, "reason")),
                 "broken: cc1: error"));
    cr_assert(not(json_object_get(failure, "infrastructure") != json_false()));
    json_decref(failure);
    json_decref(counts);
    pfc_rows_clear(&rows);
    pfc_db_close(db);
}

Test(remote, cancelling_ends_its_jobs_and_keeps_what_was_measured)
{
    pfc_db *db = pfc_test_db_open(3, NULL);
    fleet f = fleet_begin(db);
    const pfc_bisection_order order = fleet_whole_line();
    pfc_bisection_detail detail = { 0 };
    pfc_bisections rows = { 0 };
    pfc_jobs jobs = { 0 };
    pfc_err err = { 0 };
    char secret[PFC_LEASE_SIZE];
    int64_t id = fleet_start(&f, &order);

    fleet_advance(db);
    jobs = fleet_lease(&f, "r1", secret);
    fleet_do_job(&f, &jobs.items[0], secret);
    pfc_rows_clear(&jobs);
    fleet_advance(db);
    cr_assert(eq(int, pfc_bisection_cancel(db, "test", id, &rows, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(str, (char *)rows.items[0].state, "cancelled"));
    pfc_rows_clear(&rows);
    jobs = fleet_lease(&f, "r1", secret);
    cr_assert(eq(sz, jobs.len, 0));
    cr_assert(eq(int, pfc_bisections_advance(db, &err), PFC_ENOTFOUND));
    cr_assert(eq(int, pfc_bisection_cancel(db, "test", id, &rows, &err), PFC_ECONFLICT));
    cr_assert(eq(int, pfc_bisection_detail_get(db, f.project, id, &detail, &err), PFC_OK));
    cr_assert(eq(str, (char *)detail.steps.items[0].state, "measured"));
    pfc_bisection_detail_clear(&detail);
    pfc_db_close(db);
}

Test(remote, runs_of_a_search_open_no_alert)
{
    pfc_db *db = pfc_test_db_open(3, NULL);
    fleet f = fleet_begin(db);
    const pfc_bisection_order order = fleet_whole_line();
    const pfc_alert_filter filter = { .project_id = f.project };
    pfc_alerts alerts = { 0 };
    size_t most;
    pfc_err err = { 0 };

    fleet_start(&f, &order);
    fleet_work(&f, 1, &most);
    fx_detect(db);
    cr_assert(eq(int, pfc_alerts_list(db, &filter, (pfc_page){ 0 }, &alerts, &err), PFC_OK));
    cr_assert(eq(sz, alerts.len, 0));
    pfc_rows_clear(&alerts);
    pfc_db_close(db);
}

/* ---- verification ---- */

static int64_t alert_of_the_step(fleet *f)
{
    const pfc_alert_filter filter = { .project_id = f->project };
    pfc_alerts alerts = { 0 };
    pfc_err err = { 0 };
    int64_t id;

    for (unsigned n = 1; n <= COMMITS; n += 3) {
        pfc_run *run = fx_run(n);

        fx_measure(run, "gemm/a", "time_ns", n >= CULPRIT ? 100 * STEP : 100, NOISE / 2, 9, 3, n);
        fx_ingest(f->db, f->project, run);
    }
    fx_detect(f->db);
    cr_assert(eq(int, pfc_alerts_list(f->db, &filter, (pfc_page){ 0 }, &alerts, &err), PFC_OK));
    cr_assert(eq(sz, alerts.len, 1));
    id = alerts.items[0].id;
    pfc_rows_clear(&alerts);
    return id;
}

static char *culprit_of(const fleet *f, int64_t alert)
{
    pfc_alerts alerts = { 0 };
    pfc_err err = { 0 };
    char *culprit;

    cr_assert(eq(int, pfc_alerts_get(f->db, alert, &alerts, &err), PFC_OK));
    culprit = pfc_strdup(alerts.items[0].culprit ? alerts.items[0].culprit : "none");
    pfc_rows_clear(&alerts);
    return culprit;
}

/* Searches from the alert, with two runners; heals before the first pair when told to. */
static pfc_bisection_detail search_and_verify(fleet *f, int64_t alert, bool heal)
{
    const pfc_bisection_order order = { .alert_id = alert, .options = { .priority = 60 } };
    pfc_bisection_detail detail = { 0 };
    pfc_err err = { 0 };
    char *culprit;
    char secret[PFC_LEASE_SIZE];
    int64_t id;

    id = fleet_start(f, &order);
    for (;;) {
        pfc_bisections rows;
        pfc_jobs held;
        bool done;

        fleet_advance(f->db);
        rows = fleet_bisection(f, id);
        done = strcmp(rows.items[0].state, "done") == 0;
        pfc_rows_clear(&rows);
        if (done)
            break;
        held = fleet_lease(f, "r1", secret);
        cr_assert(eq(sz, held.len, 1));
        fleet_do_job(f, &held.items[0], secret);
        pfc_rows_clear(&held);
    }
    fleet_assert_found(f, id, CULPRIT);
    culprit = culprit_of(f, alert);
    cr_assert(eq(str, culprit, "none")); /* named, not blamed */
    free(culprit);
    f->healed = heal;
    for (size_t idle = 0; idle < 2;) {
        static const char *const names[] = { "r1", "r2" };

        idle = 0;
        for (size_t i = 0; i < 2; i++) {
            pfc_jobs held;

            fleet_advance(f->db);
            held = fleet_lease(f, names[i], secret);
            idle += held.len == 0;
            if (held.len)
                fleet_do_job(f, &held.items[0], secret);
            pfc_rows_clear(&held);
        }
    }
    cr_assert(eq(int, pfc_bisection_detail_get(f->db, f->project, id, &detail, &err), PFC_OK), "%s",
              err.msg);
    /* A search may name a step beside the true one, once in a hundred: fresh pairs must not show
     * it. */
    cr_assert(ge(sz, detail.verifications.len, 1));
    for (size_t i = 1; i < detail.verifications.len; i++)
        cr_assert(ne(str, (char *)detail.verifications.items[i].state, "confirmed"));
    return detail;
}

Test(verify, a_commit_is_blamed_once_fresh_pairs_agree)
{
    pfc_db *db = pfc_test_db_open(3, NULL);
    fleet f = fleet_begin(db);
    int64_t alert = alert_of_the_step(&f);
    pfc_bisection_detail detail = search_and_verify(&f, alert, false);
    const pfc_verification *v = &detail.verifications.items[0];
    char *culprit = culprit_of(&f, alert);

    cr_assert(eq(str, (char *)v->state, "confirmed"), "%s", v->reason);
    cr_assert(eq(str, culprit, (char *)fx_sha(CULPRIT)));
    cr_assert(eq(str, (char *)v->before, (char *)fx_sha(CULPRIT - 1)));
    cr_assert(epsilon_eq(dbl, v->rel_change, STEP - 1, 0.02));
    cr_assert(lt(dbl, v->p, 0.01));
    cr_assert(eq(i64, v->pairs, (int64_t)f.pairs));
    free(culprit);
    pfc_bisection_detail_clear(&detail);
    pfc_db_close(db);
}

Test(verify, no_commit_is_named_if_fresh_pairs_show_no_change)
{
    pfc_db *db = pfc_test_db_open(3, NULL);
    fleet f = fleet_begin(db);
    int64_t alert = alert_of_the_step(&f);
    pfc_bisection_detail detail = search_and_verify(&f, alert, true);
    char *culprit = culprit_of(&f, alert);

    /* "refuted", or "open" when the pairs allowed do not tell */
    cr_assert(ne(str, (char *)detail.verifications.items[0].state, "confirmed"));
    cr_assert(eq(str, culprit, "none"));
    free(culprit);
    pfc_bisection_detail_clear(&detail);
    pfc_db_close(db);
}

Test(verify, another_runner_confirms_when_there_is_one)
{
    pfc_db *db = pfc_test_db_open(3, NULL);
    fleet f = fleet_begin(db);
    int64_t alert = alert_of_the_step(&f);
    pfc_bisection_detail detail;
    pfc_jobs none;
    char secret[PFC_LEASE_SIZE];

    none = fleet_lease(&f, "r2", secret); /* so that it is known */
    cr_assert(eq(sz, none.len, 0));
    detail = search_and_verify(&f, alert, false);
    cr_assert(eq(str, (char *)detail.verifications.items[0].state, "confirmed"));
    cr_assert(eq(str, (char *)detail.verifications.items[0].runners, "r2"));
    pfc_bisection_detail_clear(&detail);
    pfc_db_close(db);
}
