/* Every rule about "worse" and its mirror image, from runs to alerts and comparisons. */
#include <math.h>

#include "server/services/detect/detect.h"
#include "server/services/history/compare.h"

#include "tests/check/check.h"
#include "tests/server/plant.h"

#define FIRST  20
#define SECOND 40
#define LAST   60

/* Levels from commit 1, FIRST and SECOND on, and what becomes of the alert; NULL: there is none. */
static const struct {
    const char *benchmark;
    double levels[3];
    bool higher_is_better;
    const char *state;
} works[] = {
    /* Three quarters of the way back and more is back. */
    { "time/back", { 100, 120, 104 }, false, "verified_fixed" },
    { "time/not-back", { 100, 120, 106 }, false, "untriaged" },
    { "rate/back", { 120, 100, 116 }, true, "verified_fixed" },
    { "rate/not-back", { 120, 100, 114 }, true, "untriaged" },
    { "time/worse", { 100, 115, 115 }, false, "untriaged" },
    { "rate/worse", { 115, 100, 100 }, true, "untriaged" },
    { "time/better", { 115, 100, 100 }, false, NULL },
    { "rate/better", { 100, 115, 115 }, true, NULL },
};

static void measure_all(pfc_db *db, int64_t p)
{
    fx_commits(db, p, 1, LAST);
    for (unsigned n = 1; n <= LAST; n++) {
        const size_t level = (n >= FIRST) + (n >= SECOND);
        pfc_run *run = fx_run(n);

        for (size_t i = 0; i < PFC_ARRAY_LEN(works); i++) {
            fx_measure(run, works[i].benchmark, "value", works[i].levels[level], 0.002, 12, 3,
                       n * 17 + (unsigned)i);
            run->measurements[i].higher_is_better = works[i].higher_is_better;
        }
        fx_ingest(db, p, run);
    }
    fx_detect(db);
}

static char *alert_of(const char *url, const char *benchmark)
{
    char *sql = pfc_format("SELECT string_agg(a.state, ' ') FROM alerts a JOIN series s ON s.id ="
                           " a.series_id JOIN benchmarks b ON b.id = s.benchmark_id WHERE b.name ="
                           " '%s'",
                           benchmark);
    char *state = pfc_test_sql_value(url, sql);

    free(sql);
    return state;
}

/* A margin below the step changes nothing, whichever way the step goes. */
Test(directions, what_became_worse_is_alerted_and_closed_alike_for_times_and_rates)
{
    static const char settings[] = "{\"rules\":[{\"benchmark\":\"*/worse\",\"min_change\":0.05}]}";
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(3, &url);
    const int64_t p = fx_project(db);
    pfc_detector_version stored = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_detector_store(db, "ann", p, settings, -1, &stored, &err), PFC_OK), "%s",
              err.msg);
    measure_all(db, p);
    for (size_t i = 0; i < PFC_ARRAY_LEN(works); i++) {
        char *state = alert_of(url, works[i].benchmark);

        cr_expect(pfc_streq(state, works[i].state), "%s: %s", works[i].benchmark,
                  state ? state : "no alert");
        free(state);
    }
    cr_expect(eq(i64,
                 plant_number(url, "SELECT count(*) FROM change_points x JOIN series s ON s.id ="
                                   " x.series_id JOIN benchmarks b ON b.id = s.benchmark_id WHERE"
                                   " b.name LIKE '%%/better' AND NOT x.regression AND x.withheld ="
                                   " 'improvement'"),
                 2));
    pfc_detector_version_clear(&stored);
    free(url);
    pfc_db_close(db);
}

/* ---- comparisons ---- */

/* An eighth is exact in binary: 100 to 112.5 and to 87.5 lie at the margin of 0.125. */
static const struct {
    const char *benchmark;
    double after;
    int verdict;
    bool higher_is_better, regression;
} exacts[] = {
    { "wide/up", 112.5, PFC_VERDICT_SAME, false, false },
    { "wide/down", 87.5, PFC_VERDICT_SAME, false, false },
    { "wide/over", 112.75, PFC_VERDICT_DIFFERENT, false, true },
    { "wide/under", 87.25, PFC_VERDICT_DIFFERENT, false, false },
    { "wide/rate-over", 112.75, PFC_VERDICT_DIFFERENT, true, false },
    { "wide/rate-under", 87.25, PFC_VERDICT_DIFFERENT, true, true },
    { "narrow/up", 100.25, PFC_VERDICT_DIFFERENT, false, true },
    { "narrow/down", 99.75, PFC_VERDICT_DIFFERENT, false, false },
    { "narrow/same", 100, PFC_VERDICT_SAME, false, false },
};

static const pfc_compare_row *row_of(const pfc_comparison *c, const char *benchmark)
{
    for (size_t i = 0; i < c->rows_len; i++) {
        if (pfc_streq(c->rows[i].benchmark, benchmark))
            return &c->rows[i];
    }
    cr_fatal("no row of %s", benchmark);
    return NULL;
}

Test(directions, a_margin_holds_up_to_its_end_on_both_sides_of_an_exact_value)
{
    static const char settings[] = "{\"rules\":[{\"benchmark\":\"wide/*\",\"min_change\":0.125}]}";
    pfc_db *db = pfc_test_db_open(2, NULL);
    const int64_t p = fx_project(db);
    pfc_detector_version stored = { 0 };
    size_t regressions = 0;
    pfc_comparison c = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_detector_store(db, "ann", p, settings, -1, &stored, &err), PFC_OK), "%s",
              err.msg);
    fx_commits(db, p, 1, 2);
    for (unsigned n = 1; n <= 2; n++) {
        pfc_run *run = fx_run(n);

        for (size_t i = 0; i < PFC_ARRAY_LEN(exacts); i++) {
            fx_exact(run, exacts[i].benchmark, "value", n == 1 ? 100 : exacts[i].after);
            run->measurements[i].higher_is_better = exacts[i].higher_is_better;
        }
        /* Launches on both sides: three are compared as such, two are not enough. */
        fx_measure(run, "launches/2", "time_ns", 100, 0.005, 12, 2, n);
        fx_measure(run, "launches/3", "time_ns", 100, 0.005, 12, 3, n);
        fx_ingest(db, p, run);
    }
    cr_assert(eq(int, pfc_compare_commits(db, p, fx_sha(1), fx_sha(2), &c, &err), PFC_OK), "%s",
              err.msg);
    for (size_t i = 0; i < PFC_ARRAY_LEN(exacts); i++) {
        const pfc_compare_row *row = row_of(&c, exacts[i].benchmark);

        cr_expect(eq(int, (int)row->result.verdict, exacts[i].verdict), "%s", exacts[i].benchmark);
        cr_expect(eq(int, row->regression, exacts[i].regression), "%s", exacts[i].benchmark);
        regressions += exacts[i].regression;
    }
    cr_expect(eq(sz, c.regressions, regressions));
    cr_expect(eq(sz, c.improvements, 3));
    cr_expect(eq(sz, row_of(&c, "launches/2")->compared, 12));
    cr_expect(eq(sz, row_of(&c, "launches/3")->compared, 3));
    pfc_comparison_clear(&c);
    pfc_detector_version_clear(&stored);
    pfc_db_close(db);
}

static void expect_broken(pfc_db *db, int64_t p, bool broken)
{
    pfc_comparison c = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_compare_commits(db, p, fx_sha(1), fx_sha(2), &c, &err), PFC_OK), "%s",
              err.msg);
    cr_expect(eq(int, row_of(&c, "gemm/a")->broken_b, broken));
    cr_expect(not(row_of(&c, "gemm/a")->broken_a));
    pfc_comparison_clear(&c);
}

/* Seconds by which the broken run of commit 2 begins after the measured one. */
Test(directions, the_newer_of_a_result_and_a_failure_counts_and_a_failure_at_the_same_moment)
{
    static const double later_s[] = { -60, 0, 60 };

    for (size_t i = 0; i < PFC_ARRAY_LEN(later_s); i++) {
        pfc_db *db = pfc_test_db_open(2, NULL);
        const int64_t p = fx_project(db);

        fx_commits(db, p, 1, 2);
        for (unsigned n = 1; n <= 3; n++) {
            pfc_run *run = fx_run(n < 3 ? n : 2);

            fx_measure(run, "gemm/a", "time_ns", 100, 0.005, 12, 3, n);
            if (n == 3) {
                fx_break(run, "gemm/a", "no result");
                run->started_at += later_s[i];
                run->finished_at += later_s[i];
            }
            fx_ingest(db, p, run);
        }
        expect_broken(db, p, later_s[i] >= 0);
        pfc_db_close(db);
    }
}

static pfc_code compare_backend(pfc_db *db, int64_t p, const char *a, const char *b,
                                const char *backend, pfc_comparison *out, pfc_err *err)
{
    const pfc_compare_ask ask = { .a = { .text = a, .backend = backend },
                                  .b = { .text = b, .backend = backend } };

    return pfc_compare(db, p, &ask, out, err);
}

/* Commits and runs of another project are not found. */
Test(directions, sides_are_looked_for_in_the_project_alone)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 3), q = plant_other(db, "q", 2);
    char *run = pfc_format(
        "%lld",
        (long long)plant_number(url, "SELECT id FROM runs WHERE project_id = %lld", (long long)p));
    pfc_comparison c = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_compare_commits(db, p, fx_sha(1), run, &c, &err), PFC_OK));
    cr_expect(eq(sz, c.rows_len, 2));
    cr_expect(eq(str, c.a.end.commit, c.b.end.commit));
    pfc_comparison_clear(&c);
    cr_expect(eq(int, pfc_compare_commits(db, q, fx_sha(1), run, &c, &err), PFC_ENOTFOUND));
    cr_expect(eq(str, err.field, (char *)"b"));
    cr_expect(eq(int, pfc_compare_commits(db, q, fx_sha(3), fx_sha(1), &c, &err), PFC_ENOTFOUND));
    cr_expect(eq(str, err.field, (char *)"a"));
    /* Of each side its own backends and names. */
    cr_assert(eq(int, pfc_compare_commits(db, p, fx_sha(1), fx_sha(3), &c, &err), PFC_OK));
    cr_expect(eq(sz, c.only_a_len, 2));
    cr_expect(eq(sz, c.only_b_len, 0));
    pfc_comparison_clear(&c);
    cr_assert(
        eq(int, compare_backend(db, p, fx_sha(3), fx_sha(1), "cpu-scalar", &c, &err), PFC_OK));
    cr_expect(eq(sz, c.only_a_len, 0));
    cr_expect(eq(sz, c.only_b_len, 2));
    pfc_comparison_clear(&c);
    cr_assert(eq(int, compare_backend(db, p, fx_sha(1), fx_sha(1), "cpu-avx2", &c, &err), PFC_OK));
    cr_expect(eq(sz, c.rows_len + c.only_a_len + c.only_b_len, 0));
    pfc_comparison_clear(&c);
    free(run);
    free(url);
    pfc_db_close(db);
}
