/* Steps where the toolchain or the harness changed accuse no commit; those where nothing did,
 * do. */
#include <stdlib.h>
#include <string.h>

#include "server/services/service.h"

#include "tests/check/check.h"
#include "tests/server/plant.h"

#define STEP_AT 25
#define COMMITS 50

static void expect_kind(const char *field, const char *kind, int64_t notices)
{
    char *url = NULL, *found;
    pfc_db *db = pfc_test_db_open(3, &url);
    const int64_t p = fx_project(db);

    fx_commits(db, p, 1, COMMITS);
    for (unsigned n = 1; n <= COMMITS; n++) {
        pfc_run *run = fx_run(n);

        if (field)
            pfc_labels_set(&run->machine.fingerprint, field, n < STEP_AT ? "1.0" : "2.0");
        pfc_machine_hash(&run->machine);
        fx_measure(run, "gemm/a", "time_ns", n < STEP_AT ? 100 : 115, 0.005, 12, 3, n * 17);
        fx_ingest(db, p, run);
    }
    fx_detect(db);
    found = pfc_test_sql_value(url, "SELECT coalesce(boundary_kind, 'step') FROM alerts");
    cr_expect(eq(str, found, (char *)(uintptr_t)kind), "%s", field ? field : "nothing");
    cr_expect(eq(i64,
                 plant_number(url,
                              "SELECT count(*) FROM notices n JOIN alerts a ON a.id = n.alert_id"
                              " WHERE n.kind = '%s' AND n.text LIKE '%s: %s 1.0 -> 2.0; 1"
                              " series, no commit''s'",
                              kind, kind, field ? field : ""),
                 notices),
              "%s", field ? field : "nothing");
    free(found);
    free(url);
    pfc_db_close(db);
}

Test(boundaries, the_kind_of_an_alert_is_what_changed_there_if_it_is_no_commit)
{
    expect_kind("compiler", "toolchain", 1);
    expect_kind("harness", "harness", 1);
    expect_kind(NULL, "step", 0);
}

/* Stores one run of a commit, and judges it. Five series become slower at STEP_AT. */
static void judge_wide(pfc_db *db, int64_t p, unsigned n)
{
    pfc_run *run = fx_run(n);

    pfc_machine_hash(&run->machine);
    for (unsigned s = 0; s < 5; s++) {
        const char *const names[] = { "gemm/a", "gemm/b", "gemm/c", "gemm/d", "gemm/e" };

        fx_measure(run, names[s], "time_ns", n < STEP_AT ? 100 : 115, 0.005, 12, 3, n * 17 + s);
    }
    fx_ingest(db, p, run);
}

/* A group of four series and more is grouped again with each run within 40 commits. Its boundary is
 * found again only for runs within 20 commits, which the ranking of suspects reads. */
Test(boundaries, of_a_group_is_found_again_only_for_runs_that_can_change_it)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(3, &url);
    const int64_t p = fx_project(db);
    const char *count = "SELECT count(*) FROM alerts WHERE boundary_kind = 'harness'";

    fx_commits(db, p, 1, STEP_AT + 40);
    for (unsigned n = 1; n <= STEP_AT + 15; n++)
        judge_wide(db, p, n);
    fx_detect(db);
    cr_assert(eq(i64, plant_number(url, "SELECT max(group_series) FROM alerts"), 5));
    cr_expect(eq(i64, plant_number(url, "SELECT count(*) FROM alerts WHERE boundary_due"), 0));

    plant_sql(url, "UPDATE alerts SET boundary_kind = 'harness', boundary = '{}'");
    judge_wide(db, p, STEP_AT + 16);
    fx_detect(db);
    cr_expect(eq(i64, plant_number(url, "%s", count), 0), "a run near it");

    for (unsigned n = STEP_AT + 17; n <= STEP_AT + 25; n++)
        judge_wide(db, p, n);
    fx_detect(db);
    plant_sql(url, "UPDATE alerts SET boundary_kind = 'harness', boundary = '{}'");
    judge_wide(db, p, STEP_AT + 26);
    fx_detect(db);
    cr_expect(eq(i64, plant_number(url, "%s", count), 5), "a run further away");
    cr_expect(eq(i64, plant_number(url, "SELECT count(*) FROM alerts WHERE regroup"), 0));
    free(url);
    pfc_db_close(db);
}
