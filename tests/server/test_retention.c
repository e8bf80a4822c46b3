/* Old months are thinned to one measurement a series and day, and nothing that is referred to goes.
 */

#include "core/base/clock.h"
#include "server/services/history/history.h"
#include "server/services/ingest/ingest.h"
#include "server/workers/workers.h"

#include "tests/check/check.h"
#include "tests/server/fixture.h"

#define COMMITS 160
#define STEP_AT 100
#define A                                                                                          \
    "(SELECT s.id FROM series s JOIN benchmarks b ON b.id = s.benchmark_id WHERE b.name = "        \
    "'gemm/a')"
#define B                                                                                          \
    "(SELECT s.id FROM series s JOIN benchmarks b ON b.id = s.benchmark_id WHERE b.name = "        \
    "'gemm/b')"
#define ROWS                                                                                       \
    "measurements m JOIN branch_commits c ON c.commit_id = m.commit_id AND c.branch = 'main'"      \
    " JOIN commits k ON k.id = m.commit_id WHERE "

static void measure(pfc_db *db, int64_t p, unsigned first, unsigned last)
{
    for (unsigned n = first; n <= last; n++) {
        pfc_run *run = fx_run(n);

        fx_measure(run, "gemm/a", "time_ns", n < STEP_AT ? 100 : 120, 0.005, 12, 3, n * 17);
        fx_measure(run, "gemm/b", "time_ns", 100, 0.005, 12, 3, n * 19);
        fx_ingest(db, p, run);
    }
    fx_detect(db);
}

static void expect(const char *url, const char *sql, const char *want)
{
    char *got = pfc_test_sql_value(url, sql);

    cr_assert(eq(str, got, (char *)(uintptr_t)want), "%s", sql);
    free(got);
}

static void expect_sound(pfc_db *db)
{
    pfc_res *res = NULL;
    pfc_tx *tx = NULL;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_tx_begin(&tx, db, PFC_TX_AUTO, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_tx_query(tx, "store_checks", NULL, &res, &err), PFC_OK), "%s", err.msg);
    cr_assert(ge(sz, pfc_res_rows(res), 10));
    for (size_t i = 0; i < pfc_res_rows(res); i++)
        cr_assert(eq(i64, pfc_res_i64(res, i, 1), 0), "%s", pfc_res_text(res, i, 0));
    pfc_res_free(res);
    pfc_tx_free(tx);
}

static pfc_retained step(pfc_db *db, int raw_months, int day_months)
{
    const pfc_retention keep = { .raw_months = raw_months, .day_months = day_months };
    pfc_retained done = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_retention_step(db, &keep, &done, &err), PFC_OK), "%s", err.msg);
    return done;
}

static void make_old(const char *url)
{
    pfc_test_sql(url, "SELECT measurements_month('2020-01-01');"
                      "UPDATE runs SET received_at = '2020-01-15';"
                      "UPDATE measurements SET stored_at = '2020-01-15'");
}

/* Four commits a day; all of it measured in a January long ago; one commit named by a bisection. */
static int64_t old_project(pfc_db *db, const char *url)
{
    int64_t p = fx_project(db);

    fx_commits(db, p, 1, COMMITS + 20);
    pfc_test_sql(url, "UPDATE commits c SET time = timestamptz '2020-01-01 00:00Z' + b.position *"
                      " interval '6 hours' FROM branch_commits b WHERE b.commit_id = c.id");
    measure(db, p, 1, COMMITS);
    make_old(url);
    pfc_test_sql(
        url, "INSERT INTO bisections (project_id, metric, good, bad, verdict, culprits, runs,"
             " builds, commits_measured, seconds, actor)"
             " SELECT project_id, 'time_ns', sha, sha, 'inconclusive', '[]', 1, 1, 1, 1, 't'"
             " FROM commits WHERE id = (SELECT commit_id FROM branch_commits WHERE position = 10)");
    return p;
}

Test(retention, an_old_month_is_one_point_a_day_but_whole_around_what_is_referred_to)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(3, &url);
    int64_t p = old_project(db, url);
    pfc_retained done;

    expect(url, "SELECT count(*) FROM alerts WHERE state = 'untriaged'", "1");
    char *change = pfc_test_sql_value(url, "SELECT id || ' ' || commit_id FROM change_points");
    cr_assert(eq(sz, strlen(step(db, 0, 0).since), 0), "0 months: everything stays");
    pfc_test_sql(url, "UPDATE series SET points = 1000"); /* as if it were worth packing */
    for (int64_t cursor = 0, more = 1; more; more = cursor) {
        size_t built;
        pfc_err err = { 0 };

        cr_assert(eq(int, pfc_chunks_step(db, 0, &cursor, &built, &err), PFC_OK), "%s", err.msg);
    }
    expect(url, "SELECT sum(points) FROM series_chunks", "320");
    expect_sound(db);
    /* Histories that a server keeps in memory are of points that go. */
    pfc_test_sql(url, "INSERT INTO series_states (project_id, series_id, position, state,"
                      " generation) SELECT project_id, id, 1, '{}', 7 FROM series ON CONFLICT"
                      " (project_id, series_id) DO UPDATE SET generation = 7");
    done = step(db, 12, 0);
    cr_assert(eq(str, done.since, "2020-01-01"));
    expect(url, "SELECT count(*) > 0 AND max(generation) = 0 FROM series_states", "t");
    expect(url, "SELECT sum(points) = (SELECT count(*) FROM measurements) FROM series_chunks", "t");
    cr_assert(eq(i64, done.rows_before, 2 * COMMITS));
    cr_assert(lt(i64, done.rows_after, 2 * COMMITS / 2 + 70));
    expect(url,
           "SELECT bool_and(1000 - s.points = 160 - (SELECT count(*) FROM measurements m WHERE"
           " m.series_id = s.id)) FROM series s",
           "t"); /* what is gone is not counted */
    expect(url, "SELECT rows_before IS NULL FROM retention_apply('2020-01-01', true)", "t");

    /* 30 commits on either side of the change, and the bisection's, have every sample that they had
     */
    expect(url,
           "SELECT count(*) FROM " ROWS "m.series_id = " A
           " AND c.position BETWEEN 71 AND 129 AND m.n = 12",
           "59");
    expect(url, "SELECT count(*) FROM " ROWS "c.position = 10 AND m.n = 12", "2");
    /* elsewhere the newest commit of each day stands for it, with the extremes of the day */
    expect(url,
           "SELECT bool_and(one) FROM (SELECT count(*) = 1 AS one FROM " ROWS "m.series_id = " B
           " AND c.position <> 10 GROUP BY (k.time AT TIME ZONE 'UTC')::date) AS d",
           "t");
    expect(url,
           "SELECT m.n || ' ' || m.blocks::text || ' ' || (m.low < m.median OR m.high > m.median)"
           " FROM " ROWS "m.series_id = " B " AND c.position = 51",
           "12 {4,4,4} true");
    expect(url, "SELECT count(*) FROM " ROWS "m.series_id = " B " AND c.position IN (48, 49, 50)",
           "0");
    expect(url, "SELECT rows_before || ' ' || kept FROM retention", "320 days");
    expect_sound(db);
    cr_assert(eq(sz, strlen(step(db, 12, 0).since), 0), "done once");

    /* the alert lives on what is left: the same change, still seen when more comes in */
    measure(db, p, COMMITS + 1, COMMITS + 20);
    expect(url, "SELECT count(*) FROM alerts WHERE state = 'untriaged'", "1");
    expect(url, "SELECT id || ' ' || commit_id FROM change_points WHERE gone_at IS NULL", change);
    expect_sound(db);

    /* later the days go, too, but never what is referred to */
    done = step(db, 12, 24);
    cr_assert(eq(str, done.since, "2020-01-01"));
    expect(url, "SELECT count(*) FROM " ROWS "m.stored_at < '2021-01-01' AND m.series_id = " B,
           "1");
    expect(url,
           "SELECT count(*) FROM " ROWS "m.stored_at < '2021-01-01' AND m.series_id = " A
           " AND c.position BETWEEN 71 AND 129",
           "59");
    cr_assert(eq(sz, strlen(step(db, 12, 24).since), 0));
    expect_sound(db);
    free(change);
    pfc_db_close(db);
    free(url);
}

/* Also one that has not come to the month yet: with what it sees, the exchanged one would be empty.
 */
Test(retention, a_long_read_delays_the_month_and_leaves_nothing_half_done)
{
    pfc_args args = { 0 };
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(3, &url);
    const pfc_retention keep = { .raw_months = 12 };
    pfc_retained done = { 0 };
    pfc_err err = { 0 };
    pfc_tx *tx = NULL;

    pfc_args_i64(&args, old_project(db, url));
    cr_assert(eq(int, pfc_tx_begin(&tx, db, PFC_TX_SNAPSHOT, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_tx_query(tx, "detector_branches", &args, NULL, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(int, pfc_retention_step(db, &keep, &done, &err), PFC_EUNAVAIL));
    expect(url, "SELECT count(*) FROM measurements", "320");
    expect(url, "SELECT count(*) FROM retention", "0");
    pfc_tx_free(tx);
    cr_assert(eq(str, step(db, 12, 0).since, "2020-01-01"));
    pfc_db_close(db);
    free(url);
}

/* Copying takes minutes, and the detector goes on: here it sees a change at the very end of it. */
Test(retention, a_measurement_that_becomes_referenced_meanwhile_is_not_thinned)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const pfc_retention keep = { .raw_months = 12 };
    pfc_retained done = { 0 };
    pfc_err err = { 0 };

    (void)old_project(db, url);
    pfc_test_sql(url,
                 "CREATE FUNCTION judged() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
                 " INSERT INTO change_points (project_id, series_id, before, after, rel_change,"
                 " rel_low, rel_high, p, regression, confirmed, commit_id, commit_low_id,"
                 " commit_high_id) SELECT 1, " B ", 1, 2, 1, 1, 1, 0, true, true, commit_id,"
                 " commit_id, commit_id FROM branch_commits WHERE position = 40; RETURN NULL;"
                 " END $$; CREATE TRIGGER judged AFTER UPDATE ON series EXECUTE FUNCTION"
                 " judged()");
    cr_assert(eq(int, pfc_retention_step(db, &keep, &done, &err), PFC_EUNAVAIL));
    cr_assert(ne(ptr, strstr(err.msg, "another time"), NULL), "%s", err.msg);
    expect(url, "SELECT count(*) FROM measurements", "320");
    pfc_test_sql(url, "INSERT INTO change_points (project_id, series_id, before, after, rel_change,"
                      " rel_low, rel_high, p, regression, confirmed, commit_id, commit_low_id,"
                      " commit_high_id) SELECT 1, " B ", 1, 2, 1, 1, 1, 0, true, true, commit_id,"
                      " commit_id, commit_id FROM branch_commits WHERE position = 40; DROP TRIGGER"
                      " judged ON series");
    cr_assert(eq(str, step(db, 12, 0).since, "2020-01-01"));
    expect(url,
           "SELECT count(*) FROM " ROWS "m.series_id = " B
           " AND c.position BETWEEN 10 AND 70 AND m.n = 12",
           "61");
    pfc_db_close(db);
    free(url);
}

/* Entries older than the limit go, the oldest first; the log says how many. 0 months: none goes. */
Test(retention, old_entries_of_the_audit_log_are_deleted)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    pfc_err err = { 0 };
    int64_t pruned = -1;

    pfc_test_sql(url, "TRUNCATE audit RESTART IDENTITY;"
                      "INSERT INTO audit (at, actor, action, object)"
                      " SELECT now() - make_interval(days => 500 - n / 12), 'a', 'b', n::text"
                      " FROM generate_series(1, 6000) AS n");
    cr_assert(eq(int, pfc_audit_prune(db, 0, &pruned, &err), PFC_OK), "%s", err.msg);
    cr_expect(eq(i64, pruned, 0));
    cr_assert(eq(int, pfc_audit_prune(db, 3, &pruned, &err), PFC_OK), "%s", err.msg);
    expect(url,
           "SELECT (min(at) >= now() - interval '3 months')::text || (count(*) > 900)::text FROM "
           "audit",
           "truetrue");
    cr_expect(gt(i64, pruned, 4000));
    expect(
        url,
        "SELECT bool_and(detail ~ '^[0-9]+ entries from before [0-9]{4}-[0-9]{2}-[0-9]{2}$')::text"
        " FROM audit WHERE actor = 'retention' AND action = 'prune' AND object = 'audit'",
        "true");
    cr_assert(eq(int, pfc_audit_prune(db, 3, &pruned, &err), PFC_OK), "%s", err.msg);
    cr_expect(eq(i64, pruned, 0));
    expect(url, "SELECT count(*)::text FROM audit WHERE actor = 'retention'", "1");
    pfc_db_close(db);
    free(url);
}

/* A month of millions of rows takes minutes, in which runners get lost as at any time. */
Test(retention, leases_end_while_a_month_is_thinned)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(4, &url);
    const pfc_workers_opts opts = { .db = db, .url = url, .idle_ms = 20, .keep.raw_months = 12 };
    const int64_t until = pfc_clock_ns() + 240 * PFC_NS_PER_S;
    pfc_workers *workers = NULL;
    pfc_tx *tx = NULL;
    pfc_err err = { 0 };
    bool both = false;

    (void)old_project(db, url);
    pfc_test_sql(url, "INSERT INTO jobs (project_id, kind, state, runner, lease_hash, lease_until)"
                      " VALUES (1, 'nightly', 'leased', 'r', 'h', now())");
    cr_assert(eq(int, pfc_tx_begin(&tx, db, PFC_TX_SNAPSHOT, &err), PFC_OK));
    cr_assert(eq(int, pfc_tx_query(tx, "store_checks", NULL, NULL, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_workers_start(&workers, &opts, &err), PFC_OK), "%s", err.msg);
    while (!both && pfc_clock_ns() < until) {
        char *now = pfc_test_sql_value(
            url, "SELECT state || ' ' || EXISTS (SELECT 1 FROM pg_locks WHERE NOT granted)"
                 " FROM jobs WHERE kind = 'nightly'");

        both = strcmp(now, "queued true") == 0;
        free(now);
        pfc_clock_sleep_ns(PFC_NS_PER_MS);
    }
    cr_assert(both);
    pfc_tx_free(tx);
    pfc_workers_stop(workers);
    pfc_db_close(db);
    free(url);
}

/* References to measurements: at(n), sha(n), run(n) are the n-th commit, its id and its run. */
static const char references[] =
    "CREATE FUNCTION at(n bigint) RETURNS bigint LANGUAGE sql AS"
    " 'SELECT commit_id FROM branch_commits WHERE position = n';"
    "CREATE FUNCTION sha(n bigint) RETURNS text LANGUAGE sql AS"
    " 'SELECT sha FROM commits WHERE id = at(n)';"
    "CREATE FUNCTION run(n bigint) RETURNS bigint LANGUAGE sql AS"
    " 'SELECT id FROM runs WHERE commit_id = at(n)';"
    "INSERT INTO bisections (project_id, metric, good, bad, verdict, runs, builds, actor, mode, "
    "state,"
    " commits_measured, seconds, culprits, steps, line)"
    " VALUES (1, 'm', sha(2), sha(4), 'found', 1, 1, 't', 'remote', 'done', 1, 1,"
    " jsonb_build_array(jsonb_build_object('commits', jsonb_build_array(sha(6)))),"
    " jsonb_build_array(jsonb_build_object('commit', sha(8))), ARRAY[sha(2), sha(10), sha(12)]);"
    /* sha(10), and not sha(12), which was never a step */
    "INSERT INTO bisection_steps (project_id, bisection_id, n, place, state, run_id)"
    " VALUES (1, 1, 0, 1, 'asked', NULL), (1, 1, 1, 0, 'failed', run(14));"
    "INSERT INTO verifications (project_id, bisection_id, before, after, expected_rel, first_build)"
    " VALUES (1, 1, sha(16), sha(18), 0.1, 1);"
    "INSERT INTO jobs (project_id, kind, fence) VALUES (1, 'verify', 1), (1, 'bisect', 1), (1, "
    "'nightly', 2);"
    "UPDATE runs r SET job_id = j.id, job_fence = 1 FROM jobs j WHERE (j.kind, r.id) IN "
    "(('verify', run(20)),"
    " ('bisect', run(22)), ('nightly', run(24)));"
    "INSERT INTO environment_events (project_id, machine_id, first_run_id, last_run_id)"
    " VALUES (1, 1, run(26), run(28));"
    "INSERT INTO machine_shifts (project_id, branch, machine_id, machine_before_id, whole_class,"
    " first_run_id, last_run_id, commit_id, commit_low_id, commit_high_id, loss, loss_low, "
    "loss_high,"
    " series, moved, judged, reasons)"
    " VALUES (1, 'main', 1, 1, false, run(30), run(32), 1, 1, 1, 0.1, 0.1, 0.1, 1, 1, 1, '{}');"
    /* Changes: one that is seen; one that is gone, but whose level was accepted; one that is gone
     * and keeps nothing; one off the line, where no neighbours are known. */
    "INSERT INTO change_points (project_id, series_id, before, after, rel_change, rel_low, "
    "rel_high,"
    " p, regression, confirmed, commit_id, commit_low_id, commit_high_id, gone_at)"
    " SELECT 1, s.id, 1, 2, 1, 1, 1, 0, true, true, at(n), at(low), at(high), gone FROM series s"
    " JOIN benchmarks b ON b.id = s.benchmark_id"
    " JOIN (VALUES ('gemm/b', 100, 99, 101, NULL), ('gemm/a', 40, 40, 40, now()),"
    " ('gemm/a', 80, 80, 80, now()), ('gemm/b', 159, 159, 159, NULL)) AS t (name, n, low, high, "
    "gone)"
    " ON t.name = b.name;"
    "UPDATE branch_commits SET position = NULL WHERE position = 159;"
    "INSERT INTO alerts (project_id, change_point_id, series_id, state, accepted_at, culprit)"
    " SELECT 1, id, series_id, 'wont_fix', now(), sha(160) FROM change_points"
    " WHERE commit_id = at(40);"
    /* 156: without the one off the line, the two of searches, the one of an overtaken lease */
    "UPDATE series SET points = 156, settled_points = 155, settled_position = 170,"
    " anchor_points = 155, anchor_position = 160 WHERE id = " B ";"
    "UPDATE series SET points = 80, settled_points = 60, settled_position = 70, anchor_points = 50,"
    " anchor_position = 50 WHERE id = " A;

/* Whoever names a measurement keeps it: one commit a kind of reference, each missing when its kind
 * is. */
Test(retention, every_kind_of_reference_keeps_what_it_names)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(3, &url);
    int64_t p = fx_project(db);

    fx_commits(db, p, 1, COMMITS);
    for (unsigned n = 1; n <= COMMITS; n++) {
        pfc_run *run = fx_run(n);

        fx_measure(run, "gemm/b", "time_ns", 100, 0.005, 3, 3, n);
        if (n <= 80)
            fx_measure(run, "gemm/a", "time_ns", 100, 0.005, 3, 3, n);
        fx_ingest(db, p, run);
    }
    make_old(url);
    pfc_test_sql(url, references);
    (void)step(db, 1, 2);
    expect(url,
           "SELECT string_agg(c.position::text, ' ' ORDER BY c.position) FROM " ROWS
           "m.series_id = " B " AND (c.position < 69 OR c.position > 131)",
           "2 4 6 8 10 14 16 18 20 22 26 28 30 32 160");
    expect(url,
           "SELECT count(*) FROM " ROWS "m.series_id = " B " AND c.position BETWEEN 69 AND 131",
           "63");
    expect(url, "SELECT count(*) FROM " ROWS "m.series_id = " B " AND c.position IS NULL", "1");
    expect(url,
           "SELECT min(c.position) || ' ' || max(c.position) || ' ' || count(*) FROM " ROWS
           "m.series_id = " A " AND c.position > 8",
           "10 70 61");
    /* confirmed changes stay confirmed with the measurements that remain, or are judged again (A)
     */
    expect(url,
           "SELECT concat_ws(' ', points, points - settled_points, settled_points - anchor_points,"
           " settled_position, anchor_position) FROM series WHERE id = " B,
           "76 1 0 170 160");
    expect(url,
           "SELECT concat_ws(' ', points, settled_points, settled_position, anchor_points,"
           " anchor_position) FROM series WHERE id = " A,
           "65 0 0 0 0");
    pfc_db_close(db);
    free(url);
}

Test(retention, what_the_server_did_for_itself_goes_after_a_month)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    size_t pruned = 0;
    pfc_err err = { 0 };

    (void)fx_project(db);
    /* two months old each, and of the first kind one that is younger, one done late, one not done
     */
    pfc_test_sql(url,
                 "INSERT INTO jobs (project_id, kind, state, created_at, finished_at, lease_until)"
                 " SELECT 1, kind, state, now() - created * interval '1 day', now() - done *"
                 " interval '1 day', CASE WHEN state = 'leased' THEN now() END FROM (VALUES"
                 " ('detect', 'done', 60, 60), ('notify', 'done', 60, 60),"
                 " ('notify', 'cancelled', 60, 60), ('detect', 'done', 29, 29),"
                 " ('detect', 'done', 60, 29), ('detect', 'queued', 60, NULL),"
                 " ('detect', 'leased', 60, NULL), ('detect', 'failed', 60, 60),"
                 " ('notify', 'failed', 60, 60), ('nightly', 'done', 60, 60),"
                 " ('bisect', 'done', 60, 60)) AS v (kind, state, created, done)");
    cr_assert(eq(int, pfc_jobs_prune(db, 30, 2, &pruned, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, pruned, 2), "no more than asked for");
    cr_assert(eq(int, pfc_jobs_prune(db, 30, 2, &pruned, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, pruned, 1));
    expect(url, "SELECT string_agg(id::text, ' ' ORDER BY id) FROM jobs", "4 5 6 7 8 9 10 11");
    pfc_db_close(db);
    free(url);
}
