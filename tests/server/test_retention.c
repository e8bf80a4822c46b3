/* Old months are thinned to one measurement a series and day, and nothing that is referred to goes. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "server/services/internal.h"

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
    const pfc_retention keep = { raw_months, day_months };
    pfc_retained done = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_retention_step(db, &keep, &done, &err), PFC_OK), "%s", err.msg);
    return done;
}

/* Four commits a day; all of it measured in a January long ago; one commit named by a bisection. */
static int64_t old_project(pfc_db *db, const char *url)
{
    int64_t p = fx_project(db);

    fx_commits(db, p, 1, COMMITS + 20);
    pfc_test_sql(url, "UPDATE commits c SET time = timestamptz '2020-01-01 00:00Z' + b.position *"
                      " interval '6 hours' FROM branch_commits b WHERE b.commit_id = c.id");
    measure(db, p, 1, COMMITS);
    pfc_test_sql(
        url, "CREATE TABLE measurements_202001 PARTITION OF measurements FOR VALUES FROM"
             " ('2020-01-01') TO ('2020-02-01');"
             "UPDATE runs SET received_at = '2020-01-15';"
             "UPDATE measurements SET stored_at = '2020-01-15';"
             "INSERT INTO bisections (project_id, metric, good, bad, verdict, culprits, runs,"
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
    cr_assert(eq(sz, strlen(step(db, 0, 0).month), 0), "0 months: everything stays");
    pfc_test_sql(url, "UPDATE series SET points = 1000"); /* as if it were worth packing */
    for (int64_t cursor = 0, more = 1; more; more = cursor) {
        size_t built;
        pfc_err err = { 0 };

        cr_assert(eq(int, pfc_chunks_step(db, 0, &cursor, &built, &err), PFC_OK), "%s", err.msg);
    }
    expect(url, "SELECT sum(points) FROM series_chunks", "320");
    expect_sound(db);
    done = step(db, 12, 0);
    cr_assert(eq(str, done.month, "2020-01-01"));
    expect(url, "SELECT sum(points) = (SELECT count(*) FROM measurements) FROM series_chunks", "t");
    cr_assert(eq(i64, done.rows_before, 2 * COMMITS));
    cr_assert(lt(i64, done.rows_after, 2 * COMMITS / 2 + 70));

    /* 30 commits on either side of the change, and the bisection's, have every sample that they had */
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
    cr_assert(eq(sz, strlen(step(db, 12, 0).month), 0), "done once");

    /* the alert lives on what is left: the same change, still seen when more comes in */
    measure(db, p, COMMITS + 1, COMMITS + 20);
    expect(url, "SELECT count(*) FROM alerts WHERE state = 'untriaged'", "1");
    expect(url, "SELECT id || ' ' || commit_id FROM change_points WHERE gone_at IS NULL", change);
    expect_sound(db);

    /* later the days go, too, but never what is referred to */
    done = step(db, 12, 24);
    cr_assert(eq(str, done.month, "2020-01-01"));
    expect(url, "SELECT count(*) FROM " ROWS "m.stored_at < '2021-01-01' AND m.series_id = " B,
           "1");
    expect(url,
           "SELECT count(*) FROM " ROWS "m.stored_at < '2021-01-01' AND m.series_id = " A
           " AND c.position BETWEEN 71 AND 129",
           "59");
    cr_assert(eq(sz, strlen(step(db, 12, 24).month), 0));
    expect_sound(db);
    free(change);
    pfc_db_close(db);
    free(url);
}

Test(retention, whoever_reads_the_month_for_long_delays_it_and_nothing_is_half_done)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(3, &url);
    const pfc_retention keep = { 12, 0 };
    pfc_retained done = { 0 };
    pfc_err err = { 0 };
    pfc_tx *tx = NULL;

    (void)old_project(db, url);
    cr_assert(eq(int, pfc_tx_begin(&tx, db, PFC_TX_SNAPSHOT, &err), PFC_OK));
    cr_assert(eq(int, pfc_tx_query(tx, "store_checks", NULL, NULL, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_retention_step(db, &keep, &done, &err), PFC_EUNAVAIL));
    expect(url, "SELECT count(*) FROM measurements", "320");
    expect(url, "SELECT count(*) FROM retention", "0");
    pfc_tx_free(tx);
    cr_assert(eq(str, step(db, 12, 0).month, "2020-01-01"));
    pfc_db_close(db);
    free(url);
}
