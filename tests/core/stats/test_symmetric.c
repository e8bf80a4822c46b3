/* Bets on signs: never wrong more often than promised, and worth their price. */
#include <math.h>

#include "core/stats/sequential.h"

#include "tests/check/check.h"

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

/* Given the sizes of the differences every pattern of signs is as likely, so p <= alpha may happen
 * in at most the share alpha of all 2^n (Ville 1939, Etude critique de la notion de collectif).
 * Counted, not drawn. */
Test(symmetric, of_all_patterns_of_signs_at_most_alpha_are_rejected)
{
    static const double sizes[][10] = { { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 },
                                        { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 },
                                        { 9, 0.1, 7, 3, 100, 2, 0.5, 6, 1, 4 } };
    static const double alphas[] = { 0.02, 0.05, 0.1, 0.2, 0.5 };

    for (size_t k = 0; k < 3; k++) {
        size_t rejected[5] = { 0 };
        for (unsigned signs = 0; signs < 1024; signs++) {
            double d[10];
            for (size_t i = 0; i < 10; i++)
                d[i] = signs >> i & 1 ? sizes[k][i] : -sizes[k][i];
            const double p = pfc_seq_symmetric_p(d, 10, 0.0);
            for (size_t a = 0; a < 5; a++)
                rejected[a] += p <= alphas[a];
        }
        for (size_t a = 0; a < 5; a++)
            cr_assert(le(dbl, (double)rejected[a] / 1024.0, alphas[a]), "sizes %zu, alpha %g", k,
                      alphas[a]);
        cr_assert(gt(sz, rejected[4], 100), "sizes %zu: %zu", k, rejected[4]);
    }
}

static double t5(double x)
{
    return pow(1.0 + x * x / 5.0, -3.0);
}

/* Two differences upwards, the bets by their definition: each alternative stakes by the
 * probabilities that Student's t with five degrees of freedom gives to the two signs of a
 * difference of this size; half of the money bets on above and half on below, so what is won is the
 * mean of 1 + first * second stake. */
Test(symmetric, bets_follow_students_t)
{
    static const double guesses[7][2] = { { 0.148, 0.989 }, { 0.287, 0.956 }, { 0.504, 0.840 },
                                          { 0.664, 0.553 }, { 0.674, 0.281 }, { 0.674, 0.135 },
                                          { 0.674, 0.067 } };
    static const double d[] = { 2.0, 5.0 };
    /* Of each difference, at its time: 1.4826 medians of the sizes seen, 2 and then (2 + 5) / 2. */
    static const double sizes[] = { 2.0 / (1.4826 * 2.0), 5.0 / (1.4826 * 3.5) };
    double wealth = 0.0;

    for (size_t k = 0; k < 7; k++) {
        double stakes[2];
        for (size_t i = 0; i < 2; i++) {
            const double above = t5((sizes[i] - guesses[k][0]) / guesses[k][1]);
            const double below = t5((sizes[i] + guesses[k][0]) / guesses[k][1]);
            stakes[i] = (above - below) / (above + below);
        }
        wealth += (1.0 + stakes[0] * stakes[1]) / 7.0;
    }
    cr_assert(epsilon_eq(dbl, pfc_seq_symmetric_p(d, 2, 0.0), 1.0 / wealth, 1e-12));
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

static pfc_compare_result signs_of(const double *a, const double *b, size_t n, int order)
{
    const pfc_seq_opts opts = { .method = PFC_SEQ_SIGN, .paired = order < 0 };
    pfc_compare_result r;
    pfc_seq seq;

    cr_assert(eq(int, pfc_seq_init(&seq, &opts, NULL), PFC_OK));
    for (size_t i = 0; i < n && order < 0; i++)
        cr_assert(eq(int, pfc_seq_pair(&seq, a[i], b[i], NULL), PFC_OK));
    /* One side runs ahead of the other by `order` values. */
    for (size_t i = 0; i < n + (size_t)order && order >= 0; i++) {
        if (i < n)
            cr_assert(eq(int, pfc_seq_add(&seq, PFC_SEQ_A, a[i], NULL), PFC_OK));
        if (i >= (size_t)order)
            cr_assert(eq(int, pfc_seq_add(&seq, PFC_SEQ_B, b[i - (size_t)order], NULL), PFC_OK));
    }
    pfc_seq_result(&seq, &r);
    pfc_seq_clear(&seq);
    return r;
}

/* Unpaired values are pairs in the order they came, however far one side is ahead. */
Test(symmetric, signs_of_single_values_are_those_of_their_pairs)
{
    enum { N = 40 };
    double a[N], b[N];
    pfc_rng rng;

    pfc_rng_seed(&rng, 9);
    for (size_t i = 0; i < N; i++) {
        a[i] = exp(0.01 * pfc_rng_normal(&rng));
        b[i] = 1.02 * exp(0.01 * pfc_rng_normal(&rng));
    }
    for (int order = 0; order <= N; order = order ? 2 * order + 1 : 1) {
        const pfc_compare_result pairs = signs_of(a, b, N, -1);
        const pfc_compare_result single = signs_of(a, b, N, order);
        const pfc_compare_result mirrored = signs_of(b, a, N, order);

        cr_assert(eq(int, single.verdict, PFC_VERDICT_DIFFERENT), "%d", order);
        cr_assert(epsilon_eq(dbl, single.p, pairs.p, 1e-15));
        cr_assert(epsilon_eq(dbl, single.rel_change, pairs.rel_change, 1e-12));
        cr_assert(epsilon_eq(dbl, single.rel_low, pairs.rel_low, 1e-12));
        cr_assert(epsilon_eq(dbl, single.rel_high, pairs.rel_high, 1e-12));
        cr_assert(epsilon_eq(dbl, mirrored.p, single.p, 1e-12));
        cr_assert(epsilon_eq(dbl, (1 + mirrored.rel_change) * (1 + single.rel_change), 1, 1e-12));
    }
}
