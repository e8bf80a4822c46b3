/* Changes that go away and come back at the same place. */

#include "tests/check/check.h"
#include "tests/server/fixture.h"

/* Runs never stop being points without a job: a kept history would not notice. */
#define FORGET  " UPDATE series_states SET generation = 0"
#define STEP_AT 25

static void ingest(pfc_db *db, int64_t p, unsigned first, unsigned last, double center)
{
    for (unsigned n = first; n <= last; n++) {
        pfc_run *run = fx_run(n);

        fx_measure(run, "gemm/a", "time_ns", center, 0.005, 12, 3, n * 17);
        fx_ingest(db, p, run);
    }
    fx_detect(db);
}

static void expect_state(pfc_db *db, int64_t p, const char *state)
{
    const pfc_alert_filter filter = { .project_id = p };
    pfc_alerts alerts = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_alerts_list(db, &filter, (pfc_page){ 0 }, &alerts, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(sz, alerts.len, 1));
    cr_assert(eq(str, (char *)alerts.items[0].state, (char *)state));
    pfc_rows_clear(&alerts);
}

static void expect_two_speeds(pfc_db *db, int64_t p, const char *expected)
{
    const pfc_series_filter filter = { .benchmark = "gemm/a" };
    pfc_series_rows rows = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_series_list(db, p, &filter, (pfc_page){ 0 }, &rows, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(str, (char *)rows.items[0].two_speeds_json, (char *)expected));
    pfc_rows_clear(&rows);
}

/* The points of the new level are the machine's, and then they are not: the change goes and comes.
 */
static void hide(const char *url, bool hidden)
{
    pfc_test_sql(url, hidden
                          ? "UPDATE runs SET infra = true WHERE commit_id IN (SELECT commit_id FROM"
                            " branch_commits WHERE position BETWEEN 25 AND 50);" FORGET
                          : "UPDATE runs SET infra = false;" FORGET);
}

Test(flaps, a_change_that_went_away_twice_is_not_alerted_again_and_names_the_machine)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(3, &url);
    int64_t p = fx_project(db);

    fx_commits(db, p, 1, 80);
    ingest(db, p, 1, STEP_AT - 1, 100);
    ingest(db, p, STEP_AT, 50, 115);
    expect_state(db, p, "untriaged");
    hide(url, true);
    ingest(db, p, 51, 51, 100);
    expect_state(db, p, "noise");
    hide(url, false);
    pfc_test_sql(url, "UPDATE runs SET infra = true WHERE commit_id IN"
                      " (SELECT commit_id FROM branch_commits WHERE position = 51);" FORGET);
    ingest(db, p, 52, 52, 115);
    expect_state(db, p, "untriaged");
    expect_two_speeds(db, p, "[]");

    hide(url, true);
    pfc_test_sql(url, "UPDATE runs SET infra = true WHERE commit_id IN"
                      " (SELECT commit_id FROM branch_commits WHERE position >= 51);" FORGET);
    ingest(db, p, 53, 53, 100);
    expect_state(db, p, "noise");
    hide(url, false);
    pfc_test_sql(url, "UPDATE runs SET infra = true WHERE commit_id IN"
                      " (SELECT commit_id FROM branch_commits WHERE position IN (51, 53));" FORGET);
    ingest(db, p, 54, 56, 115);
    expect_state(db, p, "noise");
    expect_two_speeds(db, p, "[\"host-1\"]");
    free(url);
    pfc_db_close(db);
}

/* Once the series is measured in sessions, their blocks alone open it again. */
/* The change returns first with three points, which do not suffice for an alert. */
Test(flaps, an_alert_opens_again_once_the_change_that_returned_is_certain)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(3, &url);
    int64_t p = fx_project(db);

    fx_commits(db, p, 1, 80);
    ingest(db, p, 1, STEP_AT - 1, 100);
    ingest(db, p, STEP_AT, 50, 115);
    hide(url, true);
    ingest(db, p, 51, 51, 100);
    expect_state(db, p, "noise");
    pfc_test_sql(url, "UPDATE runs SET infra = commit_id NOT IN (SELECT commit_id FROM"
                      " branch_commits WHERE position < 27);" FORGET);
    ingest(db, p, 52, 52, 115);
    expect_state(db, p, "noise");
    pfc_test_sql(url, "DO $$ BEGIN ASSERT (SELECT count(*) FROM change_points"
                      " WHERE gone_at IS NULL) = 1; END $$");
    ingest(db, p, 53, 62, 115);
    expect_state(db, p, "untriaged");
    pfc_db_close(db);
    free(url);
}

Test(flaps, an_alert_of_a_series_in_sessions_stays_away_without_blocks)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(3, &url);
    int64_t p = fx_project(db);

    fx_commits(db, p, 1, 80);
    ingest(db, p, 1, STEP_AT - 1, 100);
    ingest(db, p, STEP_AT, 50, 115);
    expect_state(db, p, "untriaged");
    pfc_test_sql(url, "UPDATE series SET in_blocks = true");
    hide(url, true);
    ingest(db, p, 51, 51, 100);
    expect_state(db, p, "noise");
    hide(url, false);
    pfc_test_sql(url, "UPDATE runs SET infra = true WHERE commit_id IN"
                      " (SELECT commit_id FROM branch_commits WHERE position = 51);" FORGET);
    ingest(db, p, 52, 52, 115);
    expect_state(db, p, "noise");
    free(url);
    pfc_db_close(db);
}

/* 1,200 points of 40 commits: the first 256 are settled and end among the points of commit 9, the
 * first one of its level. */
Test(flaps, a_settled_change_stays_where_the_settled_points_end_within_its_commit)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(3, &url);
    int64_t p = fx_project(db);

    fx_commits(db, p, 1, 41);
    for (unsigned k = 0; k < 30; k++) {
        for (unsigned n = 1; n <= 40; n++) {
            pfc_run *run = fx_run(n);

            fx_measure(run, "gemm/a", "time_ns", n < 9 ? 100 : 120, 0.005, 3, 1, n * 17 + k);
            fx_ingest(db, p, run);
        }
    }
    fx_detect(db);
    expect_state(db, p, "untriaged");
    pfc_test_sql(url, "DO $$ BEGIN ASSERT (SELECT settled_points FROM series) = 256; END $$");
    pfc_test_sql(url, "DELETE FROM series_states"); /* else the new point needs no history */
    ingest(db, p, 41, 41, 120);
    expect_state(db, p, "untriaged");
    pfc_test_sql(url, "DO $$ BEGIN ASSERT (SELECT count(*) FROM change_points"
                      " WHERE gone_at IS NULL) = 1; END $$");
    pfc_db_close(db);
    free(url);
}
