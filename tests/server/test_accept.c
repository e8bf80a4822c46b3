/* An accepted level through the service: what is alerted after it, and when. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "server/services/internal.h"

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
    cr_assert(eq(str,
                 pfc_test_sql_value(url, "SELECT min(points)::text || max(points) FROM series"),
                 "5656"));
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
