/* Bets on signs: never wrong more often than promised, and worth their price. */
#include <math.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "core/stats/sequential.h"

#define MOST 120

/* Normal, and every tenth value from a normal 15 times as wide. */
static void draw(pfc_rng *rng, bool heavy, double shift, double *d, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double z = pfc_rng_normal(rng);
        if (heavy && pfc_rng_double(rng) < 0.1)
            z *= 15.0;
        d[i] = shift + z;
    }
}

/* p never grows with n, so the last says whether any look was below alpha. */
Test(symmetric, looking_after_every_value_is_wrong_no_more_often_than_promised)
{
    pfc_rng rng;

    pfc_rng_seed(&rng, 3);
    for (int heavy = 0; heavy < 2; heavy++) {
        size_t alarms = 0;
        size_t missed = 0;
        for (int i = 0; i < 1000; i++) {
            double d[MOST];
            pfc_interval range;
            draw(&rng, heavy, 0.0, d, MOST);
            alarms += pfc_seq_symmetric_p(d, MOST, 0.0) < 0.05;
            if (i % 20)
                continue;
            range = pfc_seq_symmetric_interval(d, MOST, 0.05);
            missed += range.low > 0.0 || range.high < 0.0;
        }
        /* 50 are promised; 65 is two standard deviations above */
        cr_assert(le(sz, alarms, 65), "%zu", alarms);
        cr_assert(le(sz, missed, 7), "%zu", missed);
    }
}

Test(symmetric, a_shift_of_one_standard_deviation_takes_some_twenty_values)
{
    pfc_rng rng;

    pfc_rng_seed(&rng, 4);
    for (int heavy = 0; heavy < 2; heavy++) {
        size_t found = 0;
        for (int i = 0; i < 300; i++) {
            double d[40];
            draw(&rng, heavy, 1.0, d, 40);
            found += pfc_seq_symmetric_p(d, 40, 0.0) < 0.01;
        }
        cr_assert(ge(sz, found, heavy ? 255 : 279), "%zu", found);
    }
}

Test(symmetric, p_only_falls_and_the_interval_is_where_it_crosses_alpha)
{
    pfc_rng rng;
    double d[60];
    double before = 1.0;
    pfc_interval range;

    pfc_rng_seed(&rng, 5);
    draw(&rng, false, 0.8, d, 60);
    for (size_t n = 0; n <= 60; n++) {
        const double p = pfc_seq_symmetric_p(d, n, 0.0);
        cr_assert(le(dbl, p, before));
        before = p;
    }
    range = pfc_seq_symmetric_interval(d, 60, 0.01);
    cr_assert(lt(dbl, range.low, range.value));
    cr_assert(lt(dbl, range.value, range.high));
    cr_assert(lt(dbl, pfc_seq_symmetric_p(d, 60, range.low - 1e-6), 0.01));
    cr_assert(lt(dbl, pfc_seq_symmetric_p(d, 60, range.high + 1e-6), 0.01));
    cr_assert(ge(dbl, pfc_seq_symmetric_p(d, 60, range.low + 1e-6), 0.01));
}

/* Too few to say anything: the ends are open. Ties prove nothing. */
Test(symmetric, few_values_and_equal_ones_exclude_nothing)
{
    static const double few[] = { 1.0, 1.1, 0.9 };
    static const double zeros[50] = { 0 };
    const pfc_interval range = pfc_seq_symmetric_interval(few, 3, 0.01);

    cr_assert(isinf(range.low) && range.low < 0);
    cr_assert(isinf(range.high) && range.high > 0);
    cr_assert(eq(dbl, pfc_seq_symmetric_p(zeros, 50, 0.0), 1.0));
    cr_assert(eq(dbl, pfc_seq_symmetric_p(NULL, 0, 0.0), 1.0));
}
