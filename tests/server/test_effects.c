/* An alert, its bisection and its fresh pairs: the size that each states, and why they differ. */

#include "server/services/alerts/effects.h"

#include "tests/check/check.h"
#include "tests/server/fixture.h"

Test(effects, intervals_that_overlap_need_no_sentence)
{
    const pfc_effect same[] = {
        { .source = "history", .rel_change = 0.05, .rel_low = 0.04, .rel_high = 0.06, .n = 40 },
        { .source = "pairs", .rel_change = 0.07, .rel_low = 0.055, .rel_high = 0.08, .n = 12 },
    };
    const pfc_effect apart[] = {
        { .source = "history", .rel_change = 0.05, .rel_low = 0.04, .rel_high = 0.06, .n = 40 },
        { .source = "pairs", .rel_change = 0.1, .rel_low = 0.08, .rel_high = 0.12, .n = 12 },
    };
    char *differ = pfc_effects_differ(same, 2);

    cr_assert(eq(ptr, differ, NULL));
    cr_assert(eq(ptr, pfc_effects_differ(apart, 1), NULL));
    differ = pfc_effects_differ(apart, 2);
    cr_assert(
        eq(str, differ,
           "history says +5.00 % (+4.00 to +6.00, n = 40), pairs says +10.00 % (+8.00 to "
           "+12.00, n = 12): the intervals do not overlap because history compares levels over "
           "many runs, with the machine states of their nights; fresh pairs compare the two "
           "builds interleaved, on one machine."));
    free(differ);
}

Test(effects, an_alert_lists_what_history_bisection_and_pairs_say)
{
    char *url = NULL, *sql, *differ;
    pfc_db *db = pfc_test_db_open(3, &url);
    int64_t p = fx_project(db);
    const pfc_alert_filter filter = { .project_id = p };
    pfc_alerts alerts = { 0 };
    pfc_effects effects = { 0 };
    pfc_err err = { 0 };

    fx_commits(db, p, 1, 40);
    for (unsigned n = 1; n <= 40; n++) {
        pfc_run *run = fx_run(n);

        fx_measure(run, "gemm/a", "time_ns", n < 25 ? 100 : 115, 0.005, 12, 3, n);
        fx_ingest(db, p, run);
    }
    fx_detect(db);
    cr_assert(eq(int, pfc_alerts_list(db, &filter, (pfc_page){ 0 }, &alerts, &err), PFC_OK));
    cr_assert(eq(sz, alerts.len, 1));
    cr_assert(eq(int, pfc_alert_effects(db, p, alerts.items[0].id, &effects, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(sz, effects.len, 1));
    cr_assert(eq(str, (char *)(uintptr_t)effects.items[0].source, "history"));
    cr_assert(eq(dbl, effects.items[0].rel_change, alerts.items[0].rel_change));
    cr_assert(eq(i64, effects.items[0].n, 40));
    pfc_rows_clear(&effects);
    sql = pfc_format(
        "WITH b AS (INSERT INTO bisections (project_id, metric, good, bad, verdict, culprits, runs,"
        " builds, commits_measured, seconds, alert_id, actor) VALUES (%lld, 'time_ns', '%s', '%s',"
        " 'found', "
        "'[{\"commits\":[\"%s\"],\"rel_change\":0.15,\"rel_low\":0.14,\"rel_high\":0.16}]',"
        " 31, 9, 5, 60, %lld, 'ann') RETURNING project_id, id)"
        " INSERT INTO verifications (project_id, bisection_id, before, after, expected_rel,"
        " first_build, state, pairs, layouts, rel_change, rel_low, rel_high, p)"
        " SELECT project_id, id, '%s', '%s', 0.15, 1, 'confirmed', 18, 3, 0.30, 0.28, 0.32, 1e-6 "
        "FROM b",
        (long long)p, fx_sha(1), fx_sha(40), fx_sha(25), (long long)alerts.items[0].id, fx_sha(24),
        fx_sha(25));
    pfc_test_sql(url, sql);
    free(sql);
    cr_assert(eq(int, pfc_alert_effects(db, p, alerts.items[0].id, &effects, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(sz, effects.len, 3));
    cr_assert(eq(str, (char *)(uintptr_t)effects.items[1].source, "bisection"));
    cr_assert(eq(str, (char *)(uintptr_t)effects.items[1].commit, (char *)(uintptr_t)fx_sha(25)));
    cr_assert(eq(i64, effects.items[1].n, 31));
    cr_assert(eq(str, (char *)(uintptr_t)effects.items[2].source, "pairs"));
    cr_assert(eq(i64, effects.items[2].n, 18));
    differ = pfc_effects_differ(effects.items, effects.len);
    cr_assert(ne(ptr, differ, NULL));
    cr_assert(ne(ptr, strstr(differ, "pairs says +30.00 % (+28.00 to +32.00, n = 18)"), NULL), "%s",
              differ);
    free(differ);
    pfc_rows_clear(&effects);
    pfc_rows_clear(&alerts);
    free(url);
    pfc_db_close(db);
}
