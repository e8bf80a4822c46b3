/*
 * libperfci through its public header: verdicts and directions, refused input, and callers that
 * were compiled with an older or a newer header.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/library/perfci.h"

#include "tests/check/check.h"

/* The layout of ABI 1 on 64-bit systems: a change here breaks programs that are compiled. */
#define AT(type, member, offset)                                                                   \
    _Static_assert(offsetof(type, member) == (offset), #type "." #member " moved")
#if UINTPTR_MAX == UINT64_MAX
AT(perfci_series, machine_states, 48);
AT(perfci_detect_options, alpha, 24);
AT(perfci_change, confirmed, 84);
AT(perfci_samples, blocks_len, 32);
AT(perfci_compare_options, margin, 16);
AT(perfci_comparison, reason, 144);
AT(perfci_measurement, median, 96);
AT(perfci_bisect_options, seed, 80);
AT(perfci_culprit, rel_high, 48);
#endif

enum { N = 40, STEP = 25 };

static double values[N];

/* 100 before STEP, then 100 * factor; scatter of 0.2 %. */
static perfci_series step_by(double factor)
{
    perfci_series s = PERFCI_SERIES_INIT;

    for (size_t i = 0; i < N; i++)
        values[i] = (i < STEP ? 100 : 100 * factor) * (1 + 0.001 * ((double)(i * 7 % 5) - 2));
    s.values = values;
    s.len = N;
    return s;
}

static perfci_change only_change(const perfci_series *s, int higher)
{
    perfci_detect_options o = PERFCI_DETECT_OPTIONS_INIT;
    perfci_detection *found = NULL;
    perfci_change c = PERFCI_CHANGE_INIT;

    o.higher_is_better = higher;
    cr_assert(eq(int, perfci_detect(s, &o, &found), PERFCI_OK), "%s", perfci_error_message());
    cr_assert(eq(sz, perfci_detection_len(found), 1));
    cr_assert(eq(int, perfci_detection_change(found, 0, &c), PERFCI_OK));
    cr_assert(eq(int, perfci_detection_change(found, 1, &c), PERFCI_EINVAL));
    perfci_detection_free(found);
    return c;
}

Test(library, a_step_is_found_with_its_direction)
{
    static const struct {
        double factor;
        int higher, regression;
    } rows[] = { { 1.1, 0, 1 }, { 0.9, 0, 0 }, { 1.1, 1, 0 }, { 0.9, 1, 1 } };

    for (size_t i = 0; i < 4; i++) {
        perfci_series s = step_by(rows[i].factor);
        perfci_change c = only_change(&s, rows[i].higher);

        cr_assert(eq(sz, c.index, STEP));
        cr_assert(eq(int, c.regression, rows[i].regression), "row %zu", i);
        cr_assert(eq(int, c.confirmed, 1));
        cr_assert(epsilon_eq(dbl, c.rel_change, rows[i].factor - 1, 0.01));
    }
}

Test(library, points_are_judged_in_the_order_of_their_times)
{
    perfci_series s = step_by(1.1);
    double mixed[N];
    double times[N];
    perfci_change c;

    /* The point k of history is at position k * 7 mod 40. */
    for (size_t k = 0; k < N; k++) {
        mixed[k * 7 % N] = values[k];
        times[k * 7 % N] = 1000.0 * (double)k;
    }
    s.values = mixed;
    s.times = times;
    c = only_change(&s, 0);
    cr_assert(eq(sz, c.index, STEP * 7 % N));
}

static perfci_comparison compare(double factor, int higher)
{
    static const double spread[] = {
        -1.7, -1.1, -0.7, -0.4, -0.2, 0, 0.2, 0.4, 0.7, 1.1, 1.7, 0.1
    };
    double a[12];
    double b[12];
    perfci_samples sa = PERFCI_SAMPLES_INIT;
    perfci_samples sb = PERFCI_SAMPLES_INIT;
    perfci_compare_options o = PERFCI_COMPARE_OPTIONS_INIT;
    perfci_comparison out = PERFCI_COMPARISON_INIT;

    for (size_t i = 0; i < 12; i++) {
        a[i] = 10 * (1 + 0.001 * spread[i]);
        b[i] = 10 * factor * (1 + 0.001 * spread[(5 * i) % 12]);
    }
    sa.values = a;
    sb.values = b;
    sa.len = sb.len = 12;
    o.higher_is_better = higher;
    cr_assert(eq(int, perfci_compare(&sa, &sb, &o, &out), PERFCI_OK), "%s", perfci_error_message());
    cr_assert(eq(str, (char *)out.benchmark, ""));
    return out;
}

Test(library, two_samples_are_same_better_or_worse)
{
    cr_assert(eq(int, compare(1.0, 0).verdict, PERFCI_SAME));
    cr_assert(eq(int, compare(1.1, 0).verdict, PERFCI_REGRESSION));
    cr_assert(eq(int, compare(0.9, 0).verdict, PERFCI_IMPROVEMENT));
    cr_assert(eq(int, compare(1.1, 1).verdict, PERFCI_IMPROVEMENT));
    cr_assert(eq(int, compare(0.9, 1).verdict, PERFCI_REGRESSION));
    cr_assert(epsilon_eq(dbl, compare(1.1, 0).rel_change, 0.1, 0.002));
    cr_assert(eq(sz, compare(1.1, 0).n_b, 12));
}

Test(library, what_is_wrong_is_named)
{
    const double bad[] = { 1, 2, -3 };
    const uint32_t blocks[] = { 1, 1 };
    perfci_samples a = { sizeof(a), bad, 2, NULL, 0 };
    perfci_samples b = { sizeof(b), bad, 3, NULL, 0 };
    perfci_comparison out = PERFCI_COMPARISON_INIT;
    perfci_series s = { sizeof(s), 0, bad, NULL, NULL, NULL, NULL };
    perfci_detection *found = NULL;
    perfci_run *run = NULL;

    cr_assert(eq(int, perfci_compare(&a, &b, NULL, &out), PERFCI_EINVAL));
    cr_assert(eq(str, (char *)perfci_error_message(),
                 "b: values[2]: expected a finite number above 0, got -3"));
    cr_assert(eq(str, (char *)perfci_error_field(), "values"));
    b = (perfci_samples){ sizeof(b), bad, 2, blocks, 1 };
    cr_assert(eq(int, perfci_compare(&a, &b, NULL, &out), PERFCI_EINVAL));
    cr_assert(
        eq(str, (char *)perfci_error_message(), "b: blocks: expected a sum of 2 values, got 1"));
    cr_assert(eq(int, perfci_compare(NULL, &b, NULL, &out), PERFCI_EINVAL));
    cr_assert(eq(int, perfci_detect(&s, NULL, &found), PERFCI_EINVAL));
    s.len = PERFCI_MAX_POINTS + 1;
    cr_assert(eq(int, perfci_detect(&s, NULL, &found), PERFCI_ETOOBIG));
    cr_assert(eq(int, perfci_run_parse("{}", 2, &run), PERFCI_EINVAL));
    cr_assert(ne(str, (char *)perfci_error_field(), ""));
    cr_assert(eq(int, perfci_run_parse("{}", PERFCI_MAX_RUN_BYTES + 1, &run), PERFCI_ETOOBIG));
    cr_assert(eq(int, perfci_run_read("/nonexistent", &run), PERFCI_ENOTFOUND));
    cr_assert(eq(ptr, found, NULL));
    cr_assert(eq(ptr, run, NULL));
    cr_assert(eq(str, (char *)perfci_verdict_name(9), "unknown"));
}

/* A newer header's options: members that this library does not know are accepted only when 0. */
Test(library, structs_of_other_versions_are_read_up_to_their_size)
{
    struct newer {
        perfci_detect_options known;
        double next;
    } options = { PERFCI_DETECT_OPTIONS_INIT, 0 };
    struct change {
        perfci_change known;
        double next;
    } change = { PERFCI_CHANGE_INIT, 42 };
    perfci_series s = step_by(1.1);
    perfci_detection *found = NULL;

    options.known.size = sizeof(options);
    change.known.size = sizeof(change);
    cr_assert(eq(int, perfci_detect(&s, &options.known, &found), PERFCI_OK));
    cr_assert(eq(int, perfci_detection_change(found, 0, &change.known), PERFCI_OK));
    cr_assert(eq(sz, change.known.index, STEP));
    cr_assert(eq(dbl, change.next, 42));
    cr_assert(eq(sz, change.known.size, sizeof(change)));
    perfci_detection_free(found);
    options.next = 1;
    cr_assert(eq(int, perfci_detect(&s, &options.known, &found), PERFCI_EINVAL));
    options.known.size = 8;
    cr_assert(eq(int, perfci_detect(&s, &options.known, &found), PERFCI_EINVAL));
    options.known.size = 100000;
    cr_assert(eq(int, perfci_detect(&s, &options.known, &found), PERFCI_EINVAL));
}

Test(library, a_plan_finds_the_step_and_refuses_what_is_out_of_range)
{
    perfci_bisect_options o = PERFCI_BISECT_OPTIONS_INIT;
    perfci_bisection *plan = NULL;
    perfci_culprit culprits[2] = { PERFCI_CULPRIT_INIT, PERFCI_CULPRIT_INIT };
    double posterior[64];
    size_t commit = 0;
    size_t len = 0;
    unsigned runs = 0;

    cr_assert(eq(int, perfci_bisect_new(&o, &plan), PERFCI_EINVAL));
    o.commits = 64;
    o.seed = 3;
    cr_assert(eq(int, perfci_bisect_new(&o, &plan), PERFCI_OK));
    cr_assert(eq(int, perfci_bisect_add(plan, 64, 1), PERFCI_EINVAL));
    cr_assert(eq(int, perfci_bisect_add(plan, 0, NAN), PERFCI_EINVAL));
    cr_assert(eq(int, perfci_bisect_skip(plan, 64), PERFCI_EINVAL));
    cr_assert(eq(int, perfci_bisect_failed(plan, 64), PERFCI_EINVAL));
    cr_assert(gt(dbl, perfci_bisect_expected_runs(plan), 0));
    while (perfci_bisect_next(plan, &commit) && runs < 1000)
        cr_assert(eq(int,
                     perfci_bisect_add(plan, commit,
                                       (commit >= 37 ? 1.1 : 1.0) *
                                           (1 + 0.001 * ((double)(runs++ * 7 % 5) - 2))),
                     PERFCI_OK));
    cr_assert(eq(int, perfci_bisect_report(plan, culprits, 2, &len), PERFCI_BISECT_FOUND));
    cr_assert(eq(sz, len, 1));
    cr_assert(eq(sz, culprits[0].first, 37));
    cr_assert(eq(sz, culprits[0].last, 37));
    perfci_bisect_posterior(plan, posterior);
    cr_assert(gt(dbl, posterior[37], 0.9));
    cr_assert(eq(dbl, perfci_bisect_expected_runs(plan), 0));
    perfci_bisect_free(plan);
}
