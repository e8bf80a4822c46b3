/* The newest points off their level: a change or a spike, by what the series did before. */
#include <math.h>

#include "core/base/rng.h"
#include "core/changepoint/changepoint.h"
#include "core/stats/stats.h"

#include "tests/check/check.h"

#define N 100

static pfc_point points[N + 8];

static void level(double at)
{
    pfc_rng rng;

    pfc_rng_seed(&rng, 5);
    for (size_t i = 0; i < N; i++)
        points[i] = (pfc_point){ .v = at * (1 + 0.002 * pfc_rng_normal(&rng)) };
}

/* The posterior ratio with `k` points 5 % up after the existing ones. */
static double ratio_of(size_t k, pfc_change *changes, size_t changes_len)
{
    const pfc_detection found = { .changes = changes, .changes_len = changes_len, .watching = k };

    for (size_t i = 0; i < k; i++) {
        points[N + i].v = 1.05 * points[N - 1].v;
        points[N + i].t = 0;
    }
    return pfc_stats_change_or_spike(points, N + k, &found);
}

Test(change_or_spike, without_a_past_each_point_doubles_the_ratio)
{
    level(100);
    cr_assert(epsilon_eq(dbl, ratio_of(1, NULL, 0), 1.0, 1e-12));
    cr_assert(epsilon_eq(dbl, ratio_of(2, NULL, 0), 2.0, 1e-12));
    cr_assert(epsilon_eq(dbl, ratio_of(3, NULL, 0), 4.0, 1e-12));
}

Test(change_or_spike, a_series_that_spikes_is_believed_by_its_second_point)
{
    level(100);
    for (size_t i = 10; i < 60; i += 10)
        points[i].v *= 1.06;
    /* Five excursions of one point each: 0.5 / 5.5, and the next point is there in 0.5 of 6. */
    cr_assert(epsilon_eq(dbl, ratio_of(1, NULL, 0), 1.0 / 11.0, 1e-12));
    cr_assert(epsilon_eq(dbl, ratio_of(2, NULL, 0), 12.0 / 11.0, 1e-12));
}

Test(change_or_spike, small_spikes_and_those_to_the_other_side_do_not_count)
{
    level(100);
    for (size_t i = 10; i < 60; i += 10)
        points[i].v *= i % 20 ? 1.015 : 0.94;
    cr_assert(epsilon_eq(dbl, ratio_of(1, NULL, 0), 1.0, 1e-12));
}

Test(change_or_spike, a_series_that_changed_before_changes_again)
{
    pfc_change change = { .index = 50 };

    level(100);
    for (size_t i = 50; i < N; i++)
        points[i].v *= 0.9;
    cr_assert(epsilon_eq(dbl, ratio_of(1, &change, 1), 3.0, 1e-12));
}

Test(change_or_spike, a_run_whose_repeats_are_on_the_old_level_counts_for_none)
{
    double old[8], fresh[8];
    pfc_detection found = { .watching = 1 };

    level(100);
    for (size_t i = 0; i < 8; i++) {
        old[i] = i < 5 ? 100 : 106;
        fresh[i] = 104 + (double)i / 4;
    }
    points[N] = (pfc_point){ .v = 105, .repeats = old, .repeats_len = 8 };
    cr_assert(epsilon_eq(dbl, pfc_stats_change_or_spike(points, N + 1, &found), 0.5, 1e-12));
    points[N].repeats = fresh;
    cr_assert(epsilon_eq(dbl, pfc_stats_change_or_spike(points, N + 1, &found), 1.0, 1e-12));
}

Test(change_or_spike, scale_and_gaps_change_nothing_and_nothing_watched_has_no_ratio)
{
    pfc_detection found = { .watching = 0 };
    double once;

    level(100);
    for (size_t i = 10; i < 60; i += 10)
        points[i].v *= 1.06;
    once = ratio_of(2, NULL, 0);
    level(1e6);
    for (size_t i = 10; i < 60; i += 10)
        points[i].v *= 1.06;
    points[5].v = points[77].v = NAN;
    cr_assert(epsilon_eq(dbl, ratio_of(2, NULL, 0), once, 1e-12));
    cr_assert(isnan(pfc_stats_change_or_spike(points, N, &found)));
    cr_assert(isnan(pfc_stats_change_or_spike(points, 0, &found)));
}
