/* Commits of identical object code get no alert and no blame. */

#include "server/services/alerts/alerts.h"
#include "server/services/alerts/withheld.h"
#include "server/services/history/history.h"

#include "tests/check/check.h"
#include "tests/server/fixture.h"

#define STEP_AT 26

/* Commits 1..60, each touching one file. */
static void commits(pfc_db *db, int64_t project)
{
    for (unsigned n = 1; n <= 60; n++) {
        char file[16], *path[] = { file };
        char *parent[] = { pfc_strdup(fx_sha(n - 1)) };
        pfc_commit commit = { .id = pfc_strdup(fx_sha(n)),
                              .parents = parent,
                              .parents_len = n > 1,
                              .author = (char[]){ "ann" },
                              .time = 1.7e9 + 60.0 * n,
                              .subject = (char[]){ "change" },
                              .paths = path,
                              .paths_len = 1 };
        size_t fresh;
        pfc_err err = { 0 };

        (void)snprintf(file, sizeof(file), n == STEP_AT ? "FAQ" : "f%u.c", n);
        cr_assert(
            eq(int, pfc_commits_store(db, "test", project, NULL, &commit, 1, &fresh, &err), PFC_OK),
            "%s", err.msg);
        free(commit.id);
        free(parent[0]);
    }
}

/* 10 % slower from STEP_AT on. object NULL: not known; else another one before commit `same`. */
static void measure(pfc_db *db, int64_t p, const char *object, unsigned same)
{
    for (unsigned n = 1; n <= 60; n++) {
        pfc_run *run = fx_run(n);

        fx_measure(run, "gemm/a", "time_ns", n >= STEP_AT ? 110 : 100, 0.005, 12, 3, n * 17);
        if (object)
            pfc_labels_set(&run->measurements[0].extra, "object", n < same ? "0a0a0a0a" : object);
        fx_ingest(db, p, run);
    }
    fx_detect(db);
}

static void name_runtime_file(pfc_db *db, int64_t p, const char *glob)
{
    const char *const globs[] = { glob };
    const pfc_sources sources = {
        .benchmark = "*", .commit = fx_sha(60), .runtime = globs, .runtime_len = 1
    };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_sources_store(db, "test", p, &sources, &err), PFC_OK), "%s", err.msg);
}

/* State of the only alert; "": there is none. */
static void expect_alert(pfc_db *db, int64_t p, const char *state)
{
    const pfc_alert_filter filter = { .project_id = p };
    pfc_alerts alerts = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_alerts_list(db, &filter, (pfc_page){ 0 }, &alerts, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(sz, alerts.len, *state ? 1 : 0));
    if (alerts.len)
        cr_assert(eq(str, (char *)alerts.items[0].state, (char *)state));
    pfc_rows_clear(&alerts);
}

static void expect_sentence(pfc_db *db, int64_t p, const char *expected)
{
    const pfc_series_filter filter = { .benchmark = "gemm/a" };
    pfc_series_rows rows = { 0 };
    const char *code = NULL;
    char *sentence;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_series_list(db, p, &filter, (pfc_page){ 0 }, &rows, &err), PFC_OK), "%s",
              err.msg);
    sentence = pfc_withheld_sentence(
        &(pfc_withheld){ rows.items[0].change_alert_id, rows.items[0].change_regression,
                         rows.items[0].change_alertable, rows.items[0].change_withheld,
                         rows.items[0].change_withheld_detail_json },
        &code);
    cr_assert(eq(str, sentence ? sentence : (char *)"", (char *)expected));
    free(sentence);
    pfc_rows_clear(&rows);
}

Test(identical, a_step_between_commits_of_the_same_code_has_no_alert)
{
    pfc_db *db = pfc_test_db_open(3, NULL);
    int64_t p = fx_project(db);

    commits(db, p);
    measure(db, p, "00ff00ff", 1);
    expect_alert(db, p, "");
    expect_sentence(db, p,
                    "no alert: commits 000000000000 to 000000000000 have identical object code");
    pfc_db_close(db);
}

Test(identical, a_step_where_the_code_changed_has_one)
{
    pfc_db *db = pfc_test_db_open(3, NULL);
    int64_t p = fx_project(db);

    commits(db, p);
    measure(db, p, "00ff00ff", STEP_AT);
    expect_alert(db, p, "untriaged");
    expect_sentence(db, p, "");
    pfc_db_close(db);
}

/* The name FAQ alone clears nothing and accuses nothing: the project says what is read at run time.
 */
Test(identical, a_commit_that_touches_a_file_read_at_run_time_is_not_cleared_by_its_code)
{
    pfc_db *db = pfc_test_db_open(3, NULL);
    int64_t p = fx_project(db);

    commits(db, p);
    name_runtime_file(db, p, "FAQ");
    measure(db, p, "00ff00ff", 1);
    expect_alert(db, p, "untriaged");
    pfc_db_close(db);
}

Test(identical, an_alert_closes_when_the_code_is_known_and_opens_when_it_is_not_identical)
{
    pfc_db *db = pfc_test_db_open(3, NULL);
    int64_t p = fx_project(db);

    commits(db, p);
    measure(db, p, NULL, 0);
    expect_alert(db, p, "untriaged");
    measure(db, p, "00ff00ff", 1);
    expect_alert(db, p, "infrastructure");
    name_runtime_file(db, p, "FAQ");
    measure(db, p, "00ff00ff", 1);
    expect_alert(db, p, "untriaged");
    pfc_db_close(db);
}

/* A person's word on the alert stands. */
Test(identical, an_alert_that_a_person_has_acknowledged_stays)
{
    const pfc_alert_change change = { .state = "acknowledged" };
    const pfc_alert_filter filter = { 0 };
    pfc_db *db = pfc_test_db_open(3, NULL);
    int64_t p = fx_project(db);
    pfc_alerts alerts = { 0 }, after = { 0 };
    pfc_err err = { 0 };

    commits(db, p);
    measure(db, p, NULL, 0);
    cr_assert(eq(int, pfc_alerts_list(db, &filter, (pfc_page){ 0 }, &alerts, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(
        eq(int, pfc_alert_update(db, "ann", alerts.items[0].id, &change, &after, &err), PFC_OK),
        "%s", err.msg);
    measure(db, p, "00ff00ff", 1);
    expect_alert(db, p, "acknowledged");
    pfc_rows_clear(&after);
    pfc_rows_clear(&alerts);
    pfc_db_close(db);
}
