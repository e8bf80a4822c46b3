/* The segmentation against a plain dynamic program over the same levels. */
#include <math.h>
#include <stdlib.h>

#include "core/base/rng.h"
#include "core/changepoint/fourier.h"
#include "core/changepoint/segment/segment.h"

#include "tests/check/check.h"

static size_t segment(const int32_t *q, size_t n, double penalty, const pfc_states *states,
                      uint32_t *starts, uint8_t *upper, double *cost)
{
    pfc_loss loss;
    pfc_shapes shapes = { 0 };
    pfc_segment_space space = { 0 };
    pfc_loss_init(&loss, &shapes, 30.0, 1.0, 20.0);
    size_t found = pfc_segment(q, n, &loss, penalty, states, (pfc_confirmed_starts){ 0 }, &space,
                               starts, upper, cost);
    pfc_segment_space_clear(&space);
    return found;
}

Test(segment, loss_is_even_grows_and_is_bounded)
{
    pfc_loss loss;
    pfc_shapes shapes = { 0 };
    pfc_loss_init(&loss, &shapes, 5.0, 1.0, 6.0);
    for (double r = 0.0; r < 40.0; r += 0.25) {
        cr_assert(eq(dbl, pfc_loss_at(&loss, r), pfc_loss_at(&loss, -r)));
        cr_assert(pfc_loss_at(&loss, r + 0.25) >= pfc_loss_at(&loss, r));
        cr_assert(pfc_loss_at(&loss, r) <= 6.0);
    }
    /* Near 0 it is the normal's r^2 / 2, up to what tails change: 3 log(1 + x^2/5), with
     * x = 0.7267 / 0.6745 at r = 1, is 0.628. */
    cr_assert(epsilon_eq(dbl, pfc_loss_at(&loss, 1.0), 0.628, 0.03));
}

Test(segment, two_levels_are_cut_where_they_meet)
{
    int32_t q[40];
    uint32_t starts[40];
    double cost = -1.0;
    for (int i = 0; i < 40; i++)
        q[i] = i < 23 ? 0 : 5 * PFC_LATTICE;
    cr_assert(eq(sz, segment(q, 40, 8.0, NULL, starts, NULL, &cost), 1));
    cr_assert(eq(sz, starts[0], 23));
    /* No residuals: the cost is one change. */
    cr_assert(epsilon_eq(dbl, cost, 8.0, 0.02));
}

Test(segment, a_spike_is_no_level)
{
    int32_t q[40] = { 0 };
    uint32_t starts[40];
    q[17] = 100 * PFC_LATTICE;
    cr_assert(eq(sz, segment(q, 40, 12.0, NULL, starts, NULL, NULL), 0));
}

/* The plain program: all places and all levels, in doubles. */
static double plain_cost(const int32_t *q, size_t n, const pfc_loss *loss, double penalty)
{
    double best[64];
    for (size_t t = 0; t <= n; t++) {
        best[t] = t == 0 ? -penalty : INFINITY;
        for (size_t from = 0; from < t; from++) {
            for (int level = -80; level <= 80; level++) {
                double sum = best[from] + penalty;
                for (size_t i = from; i < t; i++)
                    sum += pfc_loss_at(loss, (double)(q[i] - level) / PFC_LATTICE);
                best[t] = fmin(best[t], sum);
            }
        }
    }
    return best[n];
}

Test(segment, is_as_cheap_as_the_plain_program)
{
    pfc_rng rng;
    pfc_loss loss;
    pfc_shapes shapes = { 0 };
    pfc_rng_seed(&rng, 21);
    pfc_loss_init(&loss, &shapes, 30.0, 1.0, 20.0);
    for (int round = 0; round < 4; round++) {
        int32_t q[24];
        uint32_t starts[24];
        double cost;
        for (int i = 0; i < 24; i++)
            q[i] = (int32_t)lrint(PFC_LATTICE * (pfc_rng_normal(&rng) + (i >= 9 ? 4.0 : 0.0)));
        segment(q, 24, 8.0, NULL, starts, NULL, &cost);
        double plain = plain_cost(q, 24, &loss, 8.0);
        /* Only levels that the series visits are tried, and costs are rounded. */
        cr_assert(cost >= plain - 0.5 && cost <= plain + 1.0, "%g against %g", cost, plain);
    }
}

Test(segment, machine_states_are_no_changes)
{
    int32_t q[60];
    uint32_t starts[60];
    uint8_t upper[60];
    const pfc_states states = { .gap = 6 * PFC_LATTICE, .cost = { 0.2, 1.7, 1.2, 0.35 } };
    for (int i = 0; i < 60; i++)
        q[i] = (i / 7) % 3 == 1 ? 6 * PFC_LATTICE : 0;
    cr_assert(eq(sz, segment(q, 60, 8.0, &states, starts, upper, NULL), 0));
    for (int i = 0; i < 60; i++)
        cr_assert(eq(int, upper[i], q[i] > 0), "at %d", i);
}

Test(segment, long_series_are_cut_the_same_across_chunks)
{
    enum { N = 80000 };
    static int32_t q[N];
    static uint32_t starts[N];
    pfc_rng rng;
    pfc_rng_seed(&rng, 5);
    for (int i = 0; i < N; i++)
        q[i] = (int32_t)lrint(PFC_LATTICE * (pfc_rng_normal(&rng) + (i / 10000 % 2) * 6.0));
    size_t found = segment(q, N, 20.0, NULL, starts, NULL, NULL);
    cr_assert(eq(sz, found, 7));
    for (size_t k = 0; k < found; k++)
        cr_assert(abs((int)starts[k] - 10000 * (int)(k + 1)) <= 1, "%u", starts[k]);
}

Test(fourier, finds_a_wave_and_no_wave_in_noise)
{
    double wave[240];
    double noise[240];
    pfc_rng rng;
    size_t waves = 0;
    pfc_rng_seed(&rng, 9);
    for (size_t i = 0; i < 240; i++)
        wave[i] = 2.0 * sin(2.0 * M_PI * (double)i / 24.0) + pfc_rng_normal(&rng);
    cr_assert(epsilon_eq(dbl, pfc_fourier_period(wave, 240, 4.0, 80.0), 24.0, 0.4));
    for (int round = 0; round < 200; round++) {
        for (size_t i = 0; i < 240; i++)
            noise[i] = pfc_rng_normal(&rng);
        waves += pfc_fourier_period(noise, 240, 4.0, 80.0) > 0.0;
    }
    cr_assert(waves <= 4, "%zu waves in noise", waves);
}
