/* Wide ranges shrink by themselves. */

#include "core/base/clock.h"
#include "server/services/bisect/bisect.h"
#include "server/services/queue/queue.h"
#include "server/workers/workers.h"

#include "tests/check/check.h"
#include "tests/server/fixture.h"
#include "tests/server/fleet.h"

/* An alert whose range has `gap` - 1 unmeasured commits: measured at every gap-th one only. */
static void alert_with_a_wide_range(fleet *f, unsigned gap)
{
    for (unsigned n = 1; n <= COMMITS; n++) {
        pfc_run *run;

        /* The culprit lies in the middle of a hole in an otherwise measured line. */
        if (n > CULPRIT - gap / 2 && n < CULPRIT + gap / 2)
            continue;
        run = fx_run(n);
        fx_measure(run, "gemm/a", "time_ns", n >= CULPRIT ? 100 * STEP : 100, NOISE / 4, 9, 3, n);
        fx_ingest(f->db, f->project, run);
    }
    fx_detect(f->db);
}

Test(backfill, a_wide_range_shrinks_by_its_middle_within_the_budget)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(3, &url);
    fleet f = fleet_begin(db);
    const pfc_backfill_opts opts = { .delay_s = 60, .budget = 2, .narrowest = 3 };
    pfc_jobs held;
    pfc_err err = { 0 };
    int64_t job = 0;
    char secret[PFC_LEASE_SIZE];

    alert_with_a_wide_range(&f, 16);
    pfc_test_sql(url, "UPDATE projects SET repo_url = '/srv/p.git'");
    /* It must ripen first. */
    cr_assert(eq(int, pfc_backfill_next(db, &opts, &job, &err), PFC_ENOTFOUND), "%s", err.msg);
    pfc_test_sql(url, "UPDATE alerts SET created_at = now() - interval '1 hour'");
    cr_assert(eq(int, pfc_backfill_next(db, &opts, &job, &err), PFC_OK), "%s", err.msg);
    /* One at a time: where the next middle lies is not known before this one is measured. */
    cr_assert(eq(int, pfc_backfill_next(db, &opts, &job, &err), PFC_ENOTFOUND));
    held = fleet_lease(&f, "r1", secret);
    cr_assert(eq(sz, held.len, 1));
    cr_assert(eq(str, (char *)held.items[0].kind, "backfill"));
    cr_assert(ge(int, (int)fleet_commit_number(held.items[0].commit), CULPRIT - 3));
    cr_assert(le(int, (int)fleet_commit_number(held.items[0].commit), CULPRIT + 3));
    fleet_do_job(&f, &held.items[0], secret);
    pfc_rows_clear(&held);
    fx_detect(db);
    cr_assert(eq(int, pfc_backfill_next(db, &opts, &job, &err), PFC_OK), "%s", err.msg);
    held = fleet_lease(&f, "r1", secret);
    fleet_do_job(&f, &held.items[0], secret);
    pfc_rows_clear(&held);
    fx_detect(db);
    cr_assert(eq(int, pfc_backfill_next(db, &opts, &job, &err), PFC_ENOTFOUND)); /* spent */
    /* for a day; and that the range is still wide enough is not the reason */
    pfc_test_sql(url, "UPDATE jobs SET created_at = now() - interval '23 hours 59 minutes' WHERE "
                      "kind = 'backfill'");
    cr_assert(eq(int, pfc_backfill_next(db, &opts, &job, &err), PFC_ENOTFOUND));
    pfc_test_sql(url, "UPDATE jobs SET created_at = now() - interval '24 hours 1 minute' WHERE "
                      "kind = 'backfill'");
    cr_assert(eq(int, pfc_backfill_next(db, &opts, &job, &err), PFC_OK), "%s", err.msg);
    free(url);
    pfc_db_close(db);
}

/* A commit that does not build is skipped: its neighbour is next. Ranges that are narrow enough,
 * and those that a search is at, are left alone. */
Test(backfill, what_was_asked_for_once_is_not_asked_again)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(3, &url);
    fleet f = fleet_begin(db);
    pfc_backfill_opts opts = { .budget = 10, .narrowest = 17 };
    unsigned asked[3];
    pfc_err err = { 0 };
    int64_t job = 0;
    char secret[PFC_LEASE_SIZE], *width;

    alert_with_a_wide_range(&f, 16);
    pfc_test_sql(url, "UPDATE projects SET repo_url = '/srv/p.git';"
                      "UPDATE alerts SET created_at = now() - interval '1 hour'");
    width = pfc_test_sql_value(
        url, "SELECT h.position - l.position + 1 FROM change_points x JOIN alerts a ON "
             "a.change_point_id = x.id JOIN branch_commits l ON l.commit_id = x.commit_low_id JOIN "
             "branch_commits h ON h.commit_id = x.commit_high_id");
    opts.narrowest = atoi(width) + 1;
    cr_assert(eq(int, pfc_backfill_next(db, &opts, &job, &err), PFC_ENOTFOUND));
    opts.narrowest--;
    free(width);
    pfc_test_sql(url,
                 "INSERT INTO bisections (project_id, alert_id, metric, good, bad, mode, state, "
                 "culprits, runs, builds, commits_measured, seconds, actor) SELECT project_id, "
                 "id, 'm', 'g', 'b', 'remote', 'running', '[]', 0, 0, 0, 0, 'a' FROM alerts");
    cr_assert(eq(int, pfc_backfill_next(db, &opts, &job, &err), PFC_ENOTFOUND));
    pfc_test_sql(url, "UPDATE bisections SET state = 'cancelled'");
    for (size_t i = 0; i < PFC_ARRAY_LEN(asked); i++) {
        pfc_jobs held;

        cr_assert(eq(int, pfc_backfill_next(db, &opts, &job, &err), PFC_OK), "%s", err.msg);
        held = fleet_lease(&f, "r1", secret);
        cr_assert(eq(sz, held.len, 1));
        asked[i] = fleet_commit_number(held.items[0].commit);
        cr_assert(eq(
            int,
            pfc_job_complete(db, held.items[0].id, secret, "broken", "cc1: error", NULL, 0, &err),
            PFC_OK));
        pfc_rows_clear(&held);
        for (size_t k = 0; k < i; k++)
            cr_assert(ne(u32, asked[i], asked[k]));
    }
    free(url);
    pfc_db_close(db);
}

/* The range as the alert tells it, by the commits' numbers: fx_commits makes number and place
 * agree. */
static void range_of(const fleet *f, unsigned *low, unsigned *high)
{
    const pfc_alert_filter filter = { .project_id = f->project };
    pfc_alerts alerts = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_alerts_list(f->db, &filter, (pfc_page){ 0 }, &alerts, &err), PFC_OK));
    cr_assert(eq(sz, alerts.len, 1));
    *low = fleet_commit_number(alerts.items[0].commit_low);
    *high = fleet_commit_number(alerts.items[0].commit_high);
    pfc_rows_clear(&alerts);
}

/* Of two commits as near to the middle the earlier one, so that a parent is measured before its
 * child; each run narrows the range; and a search that comes later has them all and orders none of
 * them again. */
Test(backfill, parents_come_first_and_a_later_search_has_their_results)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(3, &url);
    fleet f = fleet_begin(db);
    const pfc_backfill_opts opts = { .budget = 10, .narrowest = 2 };
    pfc_bisection_order order = { .options = { .priority = 60 } };
    pfc_bisection_cost without = { 0 }, with = { 0 };
    pfc_bisections rows = { 0 };
    pfc_err err = { 0 };
    unsigned low, high, measured = 0, ties = 0;
    int64_t job = 0;
    char secret[PFC_LEASE_SIZE], *known;

    alert_with_a_wide_range(&f, 14);
    pfc_test_sql(url, "UPDATE projects SET repo_url = '/srv/p.git'");
    pfc_test_sql(url, "UPDATE alerts SET created_at = now() - interval '1 hour'");
    known = pfc_test_sql_value(url, "SELECT id FROM alerts");
    order.alert_id = atoi(known);
    free(known);
    cr_assert(eq(int,
                 pfc_bisection_start(db, "test", f.project, &order, true, &without, &rows, &err),
                 PFC_OK),
              "%s", err.msg);
    range_of(&f, &low, &high);
    cr_assert(ge(u32, high - low, 12));
    while (pfc_backfill_next(db, &opts, &job, &err) == PFC_OK) {
        const unsigned width = high - low, doubled = low - 1 + high;
        pfc_jobs held = fleet_lease(&f, "r1", secret);

        cr_assert(eq(sz, held.len, 1));
        cr_assert(eq(u32, fleet_commit_number(held.items[0].commit), doubled / 2));
        ties += doubled % 2;
        fleet_do_job(&f, &held.items[0], secret);
        pfc_rows_clear(&held);
        fx_detect(db);
        range_of(&f, &low, &high);
        cr_assert(lt(u32, high - low, width));
        cr_assert(lt(u32, ++measured, 8));
    }
    cr_assert(ge(u32, ties, 1));
    cr_assert(ge(u32, measured, 3));
    cr_assert(eq(int, pfc_bisection_start(db, "test", f.project, &order, true, &with, &rows, &err),
                 PFC_OK),
              "%s", err.msg);
    cr_assert(lt(sz, with.commits, without.commits)); /* there is less to search through */
    cr_assert(lt(dbl, with.expected_runs, without.expected_runs));
    /* over the old range, too: commits that backfill measured count as measured, without a job */
    order = fleet_whole_line();
    (void)fleet_start(&f, &order);
    known =
        pfc_test_sql_value(url, "SELECT count(DISTINCT j.sha) FROM jobs j JOIN bisection_steps s "
                                "ON s.place + 1 = ('x' || right(j.sha, 8))::bit(32)::int "
                                "WHERE j.kind = 'backfill' AND s.job_id IS NULL "
                                "AND s.state = 'measured'");
    cr_assert(eq(int, atoi(known), (int)measured));
    free(known);
    free(url);
    pfc_db_close(db);
}

/* The options of the workers apply: with these a new alert is old enough, and the budget is one job
 * a day. */
Test(backfill, delay_and_budget_are_the_workers_settings)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(4, &url);
    fleet f = fleet_begin(db);
    const pfc_workers_opts opts = { .db = db, .url = url, .idle_ms = 20, .backfill_budget = 1 };
    const int64_t until = pfc_clock_ns() + 240 * PFC_NS_PER_S;
    pfc_workers *workers = NULL;
    pfc_err err = { 0 };
    bool queued = false;

    alert_with_a_wide_range(&f, 16);
    pfc_test_sql(url, "UPDATE projects SET repo_url = '/srv/p.git'");
    cr_assert(eq(int, pfc_workers_start(&workers, &opts, &err), PFC_OK), "%s", err.msg);
    while (!queued && pfc_clock_ns() < until) {
        char *jobs = pfc_test_sql_value(url, "SELECT count(*) || ' ' || coalesce(max(priority), 0) "
                                             "FROM jobs WHERE kind = 'backfill'");

        queued = strcmp(jobs, "1 10") == 0;
        free(jobs);
        pfc_clock_sleep_ns(PFC_NS_PER_MS);
    }
    cr_assert(queued);
    pfc_workers_stop(workers);
    pfc_db_close(db);
    free(url);
}
