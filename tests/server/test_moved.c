/* One rule for "different": over all rows of a comparison, with the project's margins, on the
 * commit's page as in the comparison. */
#include <math.h>

#include "core/base/rng.h"
#include "server/services/alerts/alerts.h"
#include "server/services/detect/detect.h"
#include "server/services/history/against_parent.h"
#include "server/services/history/compare.h"
#include "server/services/history/project_summary.h"

#include "tests/check/check.h"
#include "tests/server/fixture.h"

#define SERIES 210

/* Commit n: 210 benchmarks of twelve launches with 1 % of noise; the first `slower` take 5 %
 * longer. */
static void store(pfc_db *db, int64_t p, unsigned n, size_t slower)
{
    pfc_run *run = fx_run(n);
    pfc_rng rng;

    pfc_rng_seed(&rng, n);
    for (unsigned k = 0; k < SERIES; k++) {
        char name[16];

        (void)snprintf(name, sizeof(name), "gemm/%03u", k);
        fx_measure(run, name, "time_ns", 100, 0, 12, 12, 1);
        for (size_t i = 0; i < 12; i++)
            run->measurements[k].samples[i] =
                (k < slower ? 105 : 100) * exp(0.01 * pfc_rng_normal(&rng));
    }
    fx_ingest(db, p, run);
}

static pfc_comparison against_parent(pfc_db *db, int64_t p, unsigned n)
{
    pfc_commit_rows row = { 0 };
    pfc_comparison c = { 0 };
    bool measured = false;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_commits_get(db, p, fx_sha(n), &row, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_compare_parent(db, p, row.items, &measured, &c, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(int, measured, n > 1));
    pfc_rows_clear(&row);
    return c;
}

Test(moved, of_210_unchanged_series_none_has_moved_and_true_changes_are_named)
{
    pfc_db *db = pfc_test_db_open(2, NULL);
    int64_t p = fx_project(db);
    size_t alone = 0, wrong = 0, moved = 0;
    pfc_commit_values values = { 0 };
    pfc_commit_rows row = { 0 };
    pfc_comparison c, again;
    pfc_err err = { 0 };

    fx_commits(db, p, 1, 4);
    for (unsigned n = 1; n <= 4; n++)
        store(db, p, n, n == 4 ? 15 : 0);
    c = against_parent(db, p, 1); /* its parent was never sent */
    pfc_comparison_clear(&c);
    for (unsigned n = 2; n <= 3; n++) {
        c = against_parent(db, p, n);
        cr_assert(eq(sz, c.rows_len, SERIES));
        moved += c.regressions + c.improvements;
        for (size_t i = 0; i < c.rows_len; i++) {
            const pfc_compare_result *r = &c.rows[i].result;

            alone += r->p < 0.01 && (r->rel_low > 0 || r->rel_high < 0);
        }
        pfc_comparison_clear(&c);
    }
    cr_assert(ge(sz, alone, 2), "%zu", alone); /* by their own tests some four of 420 moved */
    cr_assert(eq(sz, moved, 0), "%zu", moved);

    c = against_parent(db, p, 4);
    cr_assert(ge(sz, c.regressions, 14));
    for (size_t i = 0; i < c.rows_len; i++) {
        const pfc_compare_row *r = &c.rows[i];

        wrong +=
            r->result.verdict == PFC_VERDICT_DIFFERENT && strcmp(r->benchmark, "gemm/015") >= 0;
        cr_assert(ge(dbl, r->p_adjusted, r->result.p));
        cr_assert(eq(dbl, r->margin_rel, 0.01));
    }
    cr_assert(le(sz, wrong, 2));
    /* The comparison's page says the same, and every value of the commit has its row. */
    cr_assert(eq(int, pfc_compare_commits(db, p, fx_sha(3), fx_sha(4), &again, &err), PFC_OK));
    cr_assert(eq(sz, again.regressions, c.regressions));
    cr_assert(eq(int, pfc_commits_get(db, p, fx_sha(4), &row, &err), PFC_OK));
    cr_assert(eq(int, pfc_commit_values_list(db, p, row.items[0].id, &values, &err), PFC_OK));
    cr_assert(eq(sz, values.len, SERIES));
    for (size_t i = 0; i < values.len; i++) {
        const pfc_compare_row *r = pfc_comparison_row(&c, &values.items[i]);

        cr_assert(r != NULL);
        cr_assert(eq(str, r->benchmark, (char *)(uintptr_t)values.items[i].benchmark));
        cr_assert(eq(i64, r->series_id, values.items[i].series_id));
    }
    pfc_rows_clear(&values);
    pfc_rows_clear(&row);
    pfc_comparison_clear(&again);
    pfc_comparison_clear(&c);
    pfc_db_close(db);
}

/* min_change of the detector's settings is what does not matter, for times and for exact counts. */
Test(moved, a_margin_that_the_project_sets_holds_in_comparisons)
{
    static const char settings[] = "{\"rules\":[{\"benchmark\":\"wide/*\",\"min_change\":0.1}]}";
    static const char *const names[] = { "wide/a", "other/a" };
    pfc_db *db = pfc_test_db_open(2, NULL);
    int64_t p = fx_project(db);
    pfc_detector_version stored = { 0 };
    pfc_comparison c;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_detector_store(db, "ann", p, settings, -1, &stored, &err), PFC_OK), "%s",
              err.msg);
    fx_commits(db, p, 1, 2);
    for (unsigned n = 1; n <= 2; n++) {
        pfc_run *run = fx_run(n);

        for (size_t k = 0; k < 2; k++) {
            fx_measure(run, names[k], "time_ns", n == 1 ? 100 : 105, 0.002, 12, 12, n * 9 + k);
            fx_measure(run, names[k], "cycles", n == 1 ? 1000 : 1050, 0, 1, 1, n);
            run->measurements[run->measurements_len - 1].exact = true;
        }
        fx_ingest(db, p, run);
    }
    c = against_parent(db, p, 2);
    cr_assert(eq(sz, c.rows_len, 4));
    for (size_t i = 0; i < 4; i++) {
        const pfc_compare_row *r = &c.rows[i];
        const bool wide = pfc_streq(r->benchmark, "wide/a");

        cr_assert(epsilon_eq(dbl, r->result.rel_change, 0.05, 0.005));
        cr_assert(eq(dbl, r->margin_rel, wide ? 0.1 : 0.01));
        cr_assert(eq(int, (int)r->result.verdict, wide ? PFC_VERDICT_SAME : PFC_VERDICT_DIFFERENT),
                  "%s %s", r->benchmark, r->metric);
        cr_assert(eq(int, isnan(r->p_adjusted) != 0, r->exact));
    }
    cr_assert(eq(sz, c.regressions, 2));
    pfc_comparison_clear(&c);
    pfc_detector_version_clear(&stored);
    pfc_db_close(db);
}

Test(moved, standing_counts_open_alerts_and_headlines)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    int64_t p = fx_project(db);
    pfc_standing s = { 0 };
    pfc_alerts alerts = { 0 }, after = { 0 };
    const pfc_alert_filter filter = { .project_id = p };
    const pfc_alert_change accept = { .accept = true, .state = "wont_fix", .reason = "wanted" };
    pfc_err err = { 0 };

    fx_commits(db, p, 1, 40);
    for (unsigned n = 1; n <= 40; n++) {
        pfc_run *run = fx_run(n);

        fx_measure(run, "headline", "gemm_ns", n < 25 ? 100 : 115, 0.005, 12, 3, n);
        fx_measure(run, "headline", "norm_ns", 100, 0.005, 12, 3, n + 100);
        fx_measure(run, "gemm/a", "time_ns", n < 25 ? 100 : 115, 0.005, 12, 3, n + 200);
        fx_ingest(db, p, run);
    }
    fx_detect(db);
    pfc_test_sql(url, "UPDATE series SET headline = metric <> 'time_ns'");
    cr_assert(eq(int, pfc_standing_get(db, p, &s, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(i64, s.open, 2));
    cr_assert(eq(i64, s.groups, 1)); /* one cause in both series */
    cr_assert(eq(i64, s.regressions, 2));
    cr_assert(eq(i64, s.headline, 2));
    cr_assert(eq(i64, s.regressed, 1));
    cr_assert(eq(i64, s.watching, 0));
    cr_assert(eq(int, pfc_alerts_list(db, &filter, (pfc_page){ 0 }, &alerts, &err), PFC_OK));
    for (size_t i = 0; i < alerts.len; i++) {
        cr_assert(eq(int, pfc_alert_update(db, "ann", alerts.items[i].id, &accept, &after, &err),
                     PFC_OK));
        pfc_rows_clear(&after);
    }
    cr_assert(eq(int, pfc_standing_get(db, p, &s, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(i64, s.open + s.regressed + s.watching, 0));
    cr_assert(eq(str, (char *)(uintptr_t)pfc_standing_level(&s), "good"));
    pfc_rows_clear(&alerts);
    free(url);
    pfc_db_close(db);
}

static pfc_standing standing_of(pfc_db *db, int64_t p)
{
    pfc_standing s = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_standing_get(db, p, &s, &err), PFC_OK), "%s", err.msg);
    return s;
}

/* An alert of each group: three months old, and of now. */
static void two_groups(pfc_db *db, const char *url, int64_t p)
{
    fx_commits(db, p, 1, 40);
    for (unsigned n = 1; n <= 40; n++) {
        pfc_run *run = fx_run(n);

        fx_measure(run, "gemm/a", "time_ns", n < 15 ? 100 : 115, 0.005, 12, 3, n);
        fx_measure(run, "norm/a", "time_ns", n < 30 ? 100 : 130, 0.005, 12, 3, n + 100);
        fx_ingest(db, p, run);
    }
    fx_detect(db);
    pfc_test_sql(url, "UPDATE alerts SET created_at = now() - interval '90 days'"
                      " WHERE id = (SELECT min(id) FROM alerts)");
}

Test(moved, a_group_is_new_when_it_was_opened_since_the_last_night)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    int64_t p = fx_project(db);
    pfc_standing s;

    two_groups(db, url, p);
    s = standing_of(db, p); /* no night is known: of the last 24 hours */
    cr_assert(eq(i64, s.groups, 2));
    cr_assert(eq(i64, s.fresh, 1));
    cr_assert(not(s.since_night));
    pfc_test_sql(url, "UPDATE alerts SET created_at = now() - interval '2 days'"
                      " WHERE id = (SELECT max(id) FROM alerts)");
    s = standing_of(db, p);
    cr_assert(eq(i64, s.fresh, 0));
    /* The night of 3 days ago is the last one, not that of 4 months ago. */
    pfc_test_sql(url, "INSERT INTO jobs (project_id, kind, state, created_at)"
                      " SELECT id, 'nightly', 'done', now() - make_interval(days => d)"
                      " FROM projects, unnest('{120,3}'::int[]) AS d");
    s = standing_of(db, p);
    cr_assert(s.since_night);
    cr_assert(eq(i64, s.fresh, 1));
    pfc_test_sql(url, "UPDATE jobs SET created_at = now() WHERE kind = 'nightly'");
    s = standing_of(db, p);
    cr_assert(eq(i64, s.fresh, 0));
    free(url);
    pfc_db_close(db);
}

/* Of the last night, without those that were measured afterwards; a failed job is no broken build.
 */
Test(moved, broken_builds_of_the_last_night_and_silent_runners_are_counted)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    int64_t p = fx_project(db);
    pfc_run *run = fx_run(1);
    pfc_standing s;

    fx_commits(db, p, 1, 6);
    fx_measure(run, "gemm/a", "time_ns", 100, 0.005, 12, 3, 1);
    fx_ingest(db, p, run);
    s = standing_of(db, p);
    cr_assert(eq(i64, s.broken_builds, 0));
    cr_assert(eq(i64, s.silent, 0));
    pfc_test_sql(
        url, "INSERT INTO jobs (project_id, kind, state, sha, reason, created_at, finished_at)"
             " SELECT id, kind, 'failed', lpad(sha, 40, '0'), reason, now() - interval '3 hours',"
             "  now() - interval '2 hours' - make_interval(days => days)"
             " FROM projects, (VALUES ('nightly', '2', 'broken: the build ended with status 2', 0),"
             "  ('backfill', '3', 'broken: the build ended with status 2', 0),"
             "  ('measure', '2', 'broken: the build ended with status 2', 0)," /* the same commit */
             "  ('nightly', '4', 'the disk is full', 0),"
             "  ('nightly', '1', 'broken: the build ended with status 2', 0)," /* has a run */
             "  ('bisect', '5', 'broken: the build ended with status 2', 0),"
             "  ('nightly', '6', 'broken: the build ended with status 2', 9)) AS"
             " j (kind, sha, reason, days)");
    s = standing_of(db, p);
    cr_assert(eq(i64, s.broken_builds, 2), "%lld", (long long)s.broken_builds);
    pfc_test_sql(url,
                 "INSERT INTO runners (name, machine_class, last_seen_at, revoked_at, drained_at)"
                 " VALUES ('here', 'c', now(), NULL, NULL),"
                 " ('silent', 'c', now() - interval '6 minutes', NULL, NULL),"
                 " ('revoked', 'c', now() - interval '6 minutes', now(), NULL),"
                 " ('drained', 'c', now() - interval '6 minutes', NULL, now()),"
                 " ('gone', 'c', now() - interval '31 days', NULL, NULL)");
    s = standing_of(db, p);
    cr_assert(eq(i64, s.silent, 1));
    cr_assert(eq(str, (char *)(uintptr_t)pfc_standing_level(&s), "warn"));
    free(url);
    pfc_db_close(db);
}
