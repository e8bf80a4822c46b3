/* An accepted level through the service: what is alerted after it, and when; and what a series says
 * of the points that it watches. */
#include <math.h>

#include "server/services/alerts/alerts.h"

#include "tests/check/check.h"
#include "tests/server/fixture.h"

#define STEP_AT 25

static void ingest(pfc_db *db, int64_t p, unsigned first, unsigned last, double slower)
{
    for (unsigned n = first; n <= last; n++) {
        pfc_run *run = fx_run(n);

        fx_measure(run, "gemm/a", "time_ns", 100 * slower, 0.005, 12, 3, n * 17);
        fx_measure(run, "gemm/a", "gflops", 100 / slower, 0.005, 12, 3, n * 19);
        run->measurements[1].higher_is_better = true;
        fx_measure(run, "norm/a", "time_ns", 100, 0.005, 12, 3, n * 23);
        fx_ingest(db, p, run);
    }
    fx_detect(db);
}

static size_t untriaged(pfc_db *db, int64_t p, bool accept)
{
    const pfc_alert_filter filter = { .project_id = p, .state = "untriaged" };
    const pfc_alert_change change = { .accept = true, .state = "wont_fix", .reason = "wanted" };
    pfc_alerts alerts = { 0 }, after = { 0 };
    pfc_err err = { 0 };
    size_t len;

    cr_assert(eq(int, pfc_alerts_list(db, &filter, (pfc_page){ 0 }, &alerts, &err), PFC_OK), "%s",
              err.msg);
    for (size_t i = 0; accept && i < alerts.len; i++) {
        cr_assert(
            eq(int, pfc_alert_update(db, "ann", alerts.items[i].id, &change, &after, &err), PFC_OK),
            "%s", err.msg);
        pfc_rows_clear(&after);
    }
    len = alerts.len;
    pfc_rows_clear(&alerts);
    return len;
}

/* The step of 3 % is alerted in the two metrics of the benchmark, better up and better down, at its
 * third point, and not where the level was not accepted. */
static void step_after(bool accepted)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(3, &url);
    char *counted = NULL;
    int64_t p = fx_project(db);

    fx_commits(db, p, 1, 80);
    ingest(db, p, 1, STEP_AT - 1, 1);
    ingest(db, p, STEP_AT, 50, 1.15);
    cr_assert(eq(sz, untriaged(db, p, accepted), 2));
    for (unsigned n = 51; n <= 52; n++) {
        ingest(db, p, n, n, 1.15 * 1.03);
        cr_assert(eq(sz, untriaged(db, p, false), accepted ? 0 : 2), "point %u", n - 50);
    }
    ingest(db, p, 53, 53, 1.15 * 1.03);
    cr_assert(eq(sz, untriaged(db, p, false), 2), "point 3"); /* new ones, or still the old ones */
    ingest(db, p, 54, 56, 1.15 * 1.03);
    cr_assert(eq(sz, untriaged(db, p, false), accepted ? 2 : 4));
    counted = pfc_test_sql_value(url, "SELECT min(points)::text || max(points) FROM series");
    cr_assert(eq(str, counted, "5656"));
    free(counted);
    free(url);
    pfc_db_close(db);
}

Test(accept, the_next_three_per_cent_are_alerted_at_the_third_point)
{
    step_after(true);
}

Test(accept, a_level_that_was_not_accepted_waits_for_five_points)
{
    step_after(false);
}

/* 60 points more on the accepted level, then back and forth by less than the noise: no alert. */
Test(accept, an_accepted_level_that_stays_opens_no_alert)
{
    pfc_db *db = pfc_test_db_open(3, NULL);
    int64_t p = fx_project(db);

    fx_commits(db, p, 1, 90);
    ingest(db, p, 1, STEP_AT - 1, 1);
    ingest(db, p, STEP_AT, 40, 1.15);
    cr_assert(eq(sz, untriaged(db, p, true), 2));
    for (unsigned n = 41; n <= 90; n++)
        ingest(db, p, n, n, 1.15);
    cr_assert(eq(sz, untriaged(db, p, false), 0));
    pfc_db_close(db);
}

static pfc_series_rows series_of(pfc_db *db, int64_t p)
{
    const pfc_series_filter filter = { .benchmark = "gemm/a", .metric = "time_ns" };
    pfc_series_rows rows = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_series_list(db, p, &filter, (pfc_page){ 0 }, &rows, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(sz, rows.len, 1));
    return rows;
}

/* Two points of a new level say nothing of the noise: what the series shows is that of the level
 * before. */
Test(accept, a_watched_level_takes_the_noise_and_length_of_the_level_before)
{
    pfc_db *db = pfc_test_db_open(3, NULL);
    int64_t p = fx_project(db);
    pfc_series_rows rows;
    double calm;

    fx_commits(db, p, 1, 80);
    ingest(db, p, 1, 3, 1);
    rows = series_of(db, p);
    cr_assert(isnan(rows.items[0].noise_rel)); /* three points: not a noise of zero */
    pfc_rows_clear(&rows);
    ingest(db, p, 4, 60, 1);
    rows = series_of(db, p);
    calm = rows.items[0].detectable_rel;
    cr_assert(lt(dbl, calm, 0.05));
    cr_assert(eq(i64, rows.items[0].level_points, 60));
    cr_assert(eq(i64, rows.items[0].watching, 0));
    cr_assert(eq(i64, rows.items[0].watching_of, 0));
    pfc_rows_clear(&rows);
    ingest(db, p, 61, 62, 1.1);
    rows = series_of(db, p);
    cr_assert(eq(i64, rows.items[0].watching, 2));
    cr_assert(eq(i64, rows.items[0].watching_of, 5));
    cr_assert(eq(i64, rows.items[0].level_points, 60));
    cr_assert(le(dbl, rows.items[0].detectable_rel, 1.2 * calm));
    pfc_rows_clear(&rows);
    /* alertable first, then confirmed: the new level is what the next change is measured against */
    ingest(db, p, 63, 75, 1.1);
    rows = series_of(db, p);
    cr_assert(eq(i64, rows.items[0].level_points, 15));
    pfc_rows_clear(&rows);
    pfc_db_close(db);
}
