/* Series without a change: noise of all kinds, spikes, waves, machine states, drift. Alarms
 * counted. */
#include "core/changepoint/stages.h"

#include "tests/core/stats/series.h"

static double heavy(pfc_rng *rng)
{
    /* Student t with 3 degrees of freedom: normal over the root of a mean of three squares. */
    double a = pfc_rng_normal(rng);
    double b = pfc_rng_normal(rng);
    double c = pfc_rng_normal(rng);
    return pfc_rng_normal(rng) / sqrt((a * a + b * b + c * c) / 3.0);
}

/* 300 series of 60 to 200 points: at most 2 % may alarm. */
Test(nulls, white_noise_is_calm)
{
    series s;
    pfc_rng rng;
    size_t alarms = 0;
    pfc_rng_seed(&rng, 100);
    for (int round = 0; round < 300; round++) {
        series_step(&s, &rng, 60 + pfc_rng_below(&rng, 141), 0.02, SIZE_MAX, 0.0);
        alarms += series_alarms(&s) > 0;
    }
    cr_assert(alarms <= 6, "%zu of 300", alarms);
}

Test(nulls, heavy_tails_and_skew_are_calm)
{
    pfc_rng rng;
    size_t alarms = 0;
    pfc_rng_seed(&rng, 101);
    for (int round = 0; round < 150; round++) {
        series s = { .n = 0 };
        for (size_t i = 0; i < 120; i++)
            series_put(&s, i,
                       50.0 * exp(0.01 * (round % 2 ? heavy(&rng) : exp(pfc_rng_normal(&rng)))));
        alarms += series_alarms(&s) > 0;
    }
    cr_assert(alarms <= 5, "%zu of 150", alarms);
}

Test(nulls, spikes_are_no_changes)
{
    pfc_rng rng;
    size_t alarms = 0;
    pfc_rng_seed(&rng, 102);
    for (int round = 0; round < 100; round++) {
        series s = { .n = 0 };
        for (size_t i = 0; i < 150; i++) {
            double spike = pfc_rng_below(&rng, 25) == 0 ? 1.1 + pfc_rng_double(&rng) : 1.0;
            series_put(&s, i, 10.0 * spike * exp(0.01 * pfc_rng_normal(&rng)));
        }
        alarms += series_alarms(&s) > 0;
    }
    cr_assert(alarms <= 5, "%zu of 100", alarms);
}

/* The long-run variance of AR(1) noise over its variance is (1 + rho) / (1 - rho) (Brockwell &
 * Davis, Time Series: Theory and Methods, 1991, 7.1): 1, 1.857 and 3 for rho 0, 0.3 and 0.5. Its
 * estimate cuts residuals at 2.5 sigma, which takes a few hundredths. */
Test(noise, long_run_variance_of_an_autoregression)
{
    static const double rhos[] = { 0.0, 0.3, 0.5 };
    static const double want[] = { 1.0, 1.3 / 0.7, 3.0 };
    enum { N = 20000 };
    static double z[N];
    static double scratch[2 * N];
    pfc_rng rng;
    pfc_rng_seed(&rng, 111);
    for (size_t k = 0; k < 3; k++) {
        double x = 0.0;
        for (size_t i = 0; i < N; i++) {
            x = rhos[k] * x + sqrt(1.0 - rhos[k] * rhos[k]) * pfc_rng_normal(&rng);
            z[i] = 2.0 * x;
        }
        pfc_noise noise = pfc_noise_of(z, N, NULL, 0, scratch);
        cr_assert(epsilon_eq(dbl, noise.inflate, want[k], 0.06 * want[k]), "rho %g: %g", rhos[k],
                  noise.inflate);
        cr_assert(epsilon_eq(dbl, noise.sigma, 2.0, 0.06));
    }
}

/* t noise with 3 degrees of freedom has them found, and its quartile 0.764892 (any table of the
 * distribution; R: qt(0.75, 3)) gives the scale: sigma is the quartile over that of the normal. */
Test(noise, tails_of_student_t)
{
    enum { N = 20000 };
    static double z[N];
    static double scratch[2 * N];
    pfc_rng rng;
    pfc_rng_seed(&rng, 112);
    for (size_t i = 0; i < N; i++)
        z[i] = heavy(&rng);
    pfc_noise noise = pfc_noise_of(z, N, NULL, 0, scratch);
    cr_assert(eq(dbl, noise.freedom, 3.0));
    cr_assert(epsilon_eq(dbl, noise.sigma, 0.764892 / 0.674490, 0.03));
    /* Density at 0 in units of sigma: R, log(dt(0, 3)) = -1.000889. */
    cr_assert(epsilon_eq(dbl, noise.log_norm, -1.000889 + log(0.764892 / 0.674490), 1e-4));
}

Test(nulls, correlated_noise_is_calm)
{
    pfc_rng rng;
    size_t alarms = 0;
    pfc_rng_seed(&rng, 103);
    for (int round = 0; round < 100; round++) {
        series s = { .n = 0 };
        double x = 0.0;
        for (size_t i = 0; i < 150; i++) {
            x = 0.5 * x + pfc_rng_normal(&rng);
            series_put(&s, i, 10.0 * exp(0.01 * x));
        }
        alarms += series_alarms(&s) > 0;
    }
    cr_assert(alarms <= 8, "%zu of 100", alarms);
}

/* Two states 8 % apart that stay for about 12 points each. */
static void states(series *s, pfc_rng *rng, size_t at, double step)
{
    bool slow = false;
    s->n = 0;
    for (size_t i = 0; i < 200; i++) {
        if (pfc_rng_below(rng, 12) == 0)
            slow = !slow;
        double level = 100.0 * (slow ? 1.08 : 1.0) * (i >= at ? 1.0 + step : 1.0);
        series_put(s, i, level * exp(0.01 * pfc_rng_normal(rng)));
    }
}

Test(nulls, machine_states_are_no_changes)
{
    series s;
    pfc_rng rng;
    size_t alarms = 0;
    pfc_rng_seed(&rng, 104);
    for (int round = 0; round < 60; round++) {
        states(&s, &rng, SIZE_MAX, 0.0);
        alarms += series_alarms(&s) > 0;
    }
    cr_assert(alarms <= 6, "%zu of 60", alarms);
}

Test(changes, a_step_under_machine_states_is_found)
{
    series s;
    pfc_rng rng;
    size_t found = 0;
    pfc_rng_seed(&rng, 105);
    for (int round = 0; round < 30; round++) {
        states(&s, &rng, 110, 0.2);
        pfc_detection d = series_detect(&s, NULL);
        for (size_t k = 0; k < d.changes_len; k++)
            found += d.changes[k].index >= 108 && d.changes[k].index <= 112;
        pfc_detection_clear(&d);
    }
    cr_assert(found >= 27, "%zu of 30", found);
}

/* A day's wave of three sigma, hourly points. */
static void wave(series *s, pfc_rng *rng, size_t at, double step)
{
    s->n = 0;
    for (size_t i = 0; i < 240; i++) {
        double level = 100.0 * (1.0 + 0.03 * sin(2.0 * M_PI * (double)i / 24.0));
        series_put(s, i, level * exp(0.01 * pfc_rng_normal(rng)) * (i >= at ? 1.0 + step : 1.0));
    }
}

Test(nulls, waves_are_no_changes)
{
    series s;
    pfc_rng rng;
    size_t alarms = 0;
    pfc_rng_seed(&rng, 106);
    for (int round = 0; round < 60; round++) {
        wave(&s, &rng, SIZE_MAX, 0.0);
        alarms += series_alarms(&s) > 0;
    }
    cr_assert(alarms <= 3, "%zu of 60", alarms);
}

Test(changes, a_step_under_a_wave_is_found)
{
    series s;
    pfc_rng rng;
    size_t found = 0;
    pfc_rng_seed(&rng, 107);
    for (int round = 0; round < 30; round++) {
        wave(&s, &rng, 130, 0.06);
        pfc_detection d = series_detect(&s, NULL);
        for (size_t k = 0; k < d.changes_len; k++)
            found += d.changes[k].index >= 128 && d.changes[k].index <= 132;
        pfc_detection_clear(&d);
    }
    cr_assert(found >= 27, "%zu of 30", found);
}

Test(nulls, drift_is_no_change)
{
    pfc_rng rng;
    size_t alarms = 0;
    pfc_rng_seed(&rng, 108);
    for (int round = 0; round < 60; round++) {
        series s = { .n = 0 };
        for (size_t i = 0; i < 200; i++)
            series_put(&s, i,
                       100.0 * (1.0 + 0.05 * (double)i / 200.0) * exp(0.01 * pfc_rng_normal(&rng)));
        alarms += series_alarms(&s) > 0;
    }
    cr_assert(alarms <= 6, "%zu of 60", alarms);
}

Test(nulls, one_outlier_at_the_end_is_no_change)
{
    series s;
    pfc_rng rng;
    size_t alarms = 0;
    pfc_rng_seed(&rng, 109);
    for (int round = 0; round < 100; round++) {
        series_step(&s, &rng, 80, 0.01, SIZE_MAX, 0.0);
        s.points[79].v *= 1.03 + 0.1 * pfc_rng_double(&rng);
        alarms += series_alarms(&s) > 0;
    }
    cr_assert(alarms <= 4, "%zu of 100", alarms);
}

/* The slow state comes three times as often from point 120 on. */
Test(changes, a_change_in_the_share_of_states_is_found)
{
    pfc_rng rng;
    size_t found = 0;
    pfc_rng_seed(&rng, 110);
    for (int round = 0; round < 30; round++) {
        series s = { .n = 0 };
        for (size_t i = 0; i < 200; i++) {
            bool slow = pfc_rng_double(&rng) < (i < 120 ? 0.15 : 0.75);
            series_put(&s, i, (slow ? 110.0 : 100.0) * exp(0.008 * pfc_rng_normal(&rng)));
        }
        pfc_detection d = series_detect(&s, NULL);
        for (size_t k = 0; k < d.changes_len; k++)
            found += d.changes[k].index >= 112 && d.changes[k].index <= 128;
        pfc_detection_clear(&d);
    }
    cr_assert(found >= 25, "%zu of 30", found);
}

/* Steps of 3 sigma in 200 points: theory allows 99 % within two points of their place. */
Test(changes, steps_of_three_sigma_are_found_where_they_are)
{
    series s;
    pfc_rng rng;
    size_t found = 0;
    size_t held = 0;
    pfc_rng_seed(&rng, 111);
    for (int round = 0; round < 100; round++) {
        series_step(&s, &rng, 200, 0.01, 100, 0.0305);
        pfc_detection d = series_detect(&s, NULL);
        for (size_t k = 0; k < d.changes_len; k++) {
            found += d.changes[k].index >= 98 && d.changes[k].index <= 102;
            held += d.changes[k].index_low <= 100 && 100 <= d.changes[k].index_high;
        }
        pfc_detection_clear(&d);
    }
    cr_assert(found >= 93, "%zu of 100", found);
    /* The 90 % set, counted only where a change was found. */
    cr_assert(held >= 84, "%zu of 100", held);
}
