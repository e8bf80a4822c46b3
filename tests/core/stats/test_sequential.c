/* Verdicts that may be asked for after every value: never wrong more often than promised. */
#include <math.h>

#include "core/stats/sequential.h"

#include "tests/check/check.h"
#include "tests/support/rounds.h"

typedef double (*noise)(pfc_rng *rng);

static double normal(pfc_rng *rng)
{
    return pfc_rng_normal(rng);
}

/* Student t with three degrees of freedom: the tails of timings on a shared machine. */
static double heavy(pfc_rng *rng)
{
    double a = pfc_rng_normal(rng), b = pfc_rng_normal(rng), c = pfc_rng_normal(rng);
    return pfc_rng_normal(rng) / sqrt((a * a + b * b + c * c) / 3.0);
}

/* Skewed as timings are: a floor and a long right tail, median 0. */
static double skewed(pfc_rng *rng)
{
    return exp(pfc_rng_normal(rng)) - 1.0;
}

typedef struct plan {
    pfc_seq_opts opts;
    noise draw;
    double scale, shift; /* of logarithms */
    size_t pairs;
    size_t a_each, b_each; /* unpaired: values of a side at a turn; 0: pairs */
    double b_scale;        /* unpaired: spread of b */
} plan;

typedef struct outcome {
    bool different, missed; /* ever: said so; the interval without the truth */
    size_t decided;         /* pairs at the first verdict; 0: none */
    pfc_compare_result last;
} outcome;

static void feed(pfc_seq *seq, const plan *p, pfc_rng *rng)
{
    pfc_err err = { 0 };
    if (!p->a_each) {
        double a = 100.0 * exp(p->scale * p->draw(rng));
        double b = 100.0 * exp(p->shift + p->scale * p->draw(rng));
        cr_assert(eq(int, pfc_seq_pair(seq, a, b, &err), PFC_OK), "%s", err.msg);
    }
    for (size_t i = 0; i < p->a_each; i++)
        cr_assert(eq(int, pfc_seq_add(seq, PFC_SEQ_A, 100.0 * exp(p->scale * p->draw(rng)), &err),
                     PFC_OK));
    for (size_t i = 0; i < p->b_each; i++)
        cr_assert(
            eq(int,
               pfc_seq_add(seq, PFC_SEQ_B, 100.0 * exp(p->shift + p->b_scale * p->draw(rng)), &err),
               PFC_OK));
}

/* Looks after every turn, whatever was said before. */
static outcome watch(const plan *p, pfc_rng *rng)
{
    outcome out = { 0 };
    double least_p = 1.0;
    pfc_seq seq;
    cr_assert(eq(int, pfc_seq_init(&seq, &p->opts, NULL), PFC_OK));
    for (size_t i = 1; i <= p->pairs; i++) {
        feed(&seq, p, rng);
        pfc_compare_result r;
        pfc_seq_result(&seq, &r);
        cr_assert(r.p <= least_p, "p grew from %g to %g", least_p, r.p);
        least_p = r.p;
        out.different = out.different || r.verdict == PFC_VERDICT_DIFFERENT;
        out.missed = out.missed || r.rel_low > expm1(p->shift) || r.rel_high < expm1(p->shift);
        if (!out.decided && r.verdict != PFC_VERDICT_INCONCLUSIVE)
            out.decided = i;
        out.last = r;
    }
    pfc_seq_clear(&seq);
    return out;
}

typedef struct rates {
    double different, missed, decided; /* decided: mean turn of the first verdict */
} rates;

static rates simulate(const plan *p, size_t rounds, uint64_t seed)
{
    rates sum = { 0 };
    pfc_rng rng;
    pfc_rng_seed(&rng, seed);
    for (size_t i = 0; i < rounds; i++) {
        outcome o = watch(p, &rng);
        sum.different += o.different;
        sum.missed += o.missed;
        sum.decided += (double)(o.decided ? o.decided : p->pairs);
    }
    return (rates){ sum.different / (double)rounds, sum.missed / (double)rounds,
                    sum.decided / (double)rounds };
}

/* alpha and three standard errors of a share of `rounds`. */
static double at_most(double alpha, size_t rounds)
{
    return alpha + 3.0 * sqrt(alpha * (1.0 - alpha) / (double)rounds);
}

enum { ROUNDS = PFC_ROUNDS(600), SOME = PFC_ROUNDS(500), LOOKS = 120 };

Test(sequential, pairs_without_a_shift_are_called_different_at_most_alpha_of_the_time)
{
    static const noise kinds[] = { normal, heavy, skewed };
    for (size_t k = 0; k < 3; k++) {
        for (int method = PFC_SEQ_NORMAL; method <= PFC_SEQ_SIGN; method++) {
            plan p = { .opts = { .alpha = 0.05, .paired = true, .method = method },
                       .draw = kinds[k],
                       .scale = 0.02,
                       .pairs = LOOKS };
            rates r = simulate(&p, ROUNDS, 11 + k);
            cr_assert(r.different <= at_most(0.05, ROUNDS), "noise %zu, method %d: %g", k, method,
                      r.different);
            cr_assert(r.missed <= at_most(0.05, ROUNDS), "noise %zu, method %d: %g", k, method,
                      r.missed);
        }
    }
}

/* The reason for this file: the fixed-sample verdict, asked after every pair. */
Test(sequential, the_fixed_sample_verdict_does_not_bear_being_asked_again_and_again)
{
    pfc_rng rng;
    size_t wrong = 0;
    enum { PAIRS = 60, TRIES = PFC_ROUNDS(200) };
    pfc_rng_seed(&rng, 5);
    for (size_t i = 0; i < TRIES; i++) {
        double a[PAIRS], b[PAIRS];
        bool different = false;
        for (size_t n = 1; n <= PAIRS; n++) {
            const pfc_compare_opts opts = { .alpha = 0.05, .paired = true };
            pfc_compare_result r;
            a[n - 1] = exp(0.02 * pfc_rng_normal(&rng));
            b[n - 1] = exp(0.02 * pfc_rng_normal(&rng));
            cr_assert(eq(int, pfc_stats_compare(a, n, b, n, &opts, &r, NULL), PFC_OK));
            different = different || r.verdict == PFC_VERDICT_DIFFERENT;
        }
        wrong += different;
    }
    cr_assert(wrong > TRIES * 12 / 100, "%zu of %d", wrong, TRIES);
}

Test(sequential, sides_without_a_shift_may_differ_in_spread_and_count)
{
    plan p = { .opts = { .alpha = 0.05 },
               .draw = normal,
               .scale = 0.01,
               .b_scale = 0.04,
               .pairs = 60,
               .a_each = 3,
               .b_each = 1 };
    rates r = simulate(&p, SOME, 21);
    cr_assert(r.different <= at_most(0.05, SOME), "%g", r.different);
    cr_assert(r.missed <= at_most(0.05, SOME), "%g", r.missed);
    p.opts.method = PFC_SEQ_SIGN;
    p.a_each = 1;
    r = simulate(&p, SOME, 22);
    cr_assert(r.different <= at_most(0.05, SOME), "%g", r.different);
}

Test(sequential, the_interval_covers_a_true_shift_at_all_looks_at_once)
{
    plan p = { .opts = { .alpha = 0.05, .paired = true },
               .draw = normal,
               .scale = 0.02,
               .shift = 0.03,
               .pairs = LOOKS };
    rates r = simulate(&p, ROUNDS, 31);
    cr_assert(r.missed <= at_most(0.05, ROUNDS), "%g", r.missed);
    p.opts.paired = false;
    p.a_each = p.b_each = 1;
    p.b_scale = 0.02;
    p.pairs = 60;
    r = simulate(&p, SOME, 32);
    cr_assert(r.missed <= at_most(0.05, SOME), "%g", r.missed);
}

/* Gain of early stopping: a change of five standard deviations takes a handful of pairs. */
Test(sequential, a_clear_shift_is_found_early_and_no_shift_is_called_same)
{
    plan p = {
        .opts = { .paired = true }, .draw = normal, .scale = 0.01, .shift = 0.05, .pairs = 60
    };
    rates r = simulate(&p, 200, 41);
    cr_assert(r.different == 1.0);
    cr_assert(r.decided < 7.0, "%g pairs", r.decided);
    p.shift = 0.0;
    p.scale = 0.004;
    r = simulate(&p, 200, 42);
    cr_assert(r.decided < 25.0, "%g pairs", r.decided);
    cr_assert(r.different <= at_most(0.01, 200));
}

static pfc_compare_result after(const double *d, size_t n, const pfc_seq_opts *opts)
{
    pfc_compare_result r;
    pfc_seq seq;
    cr_assert(eq(int, pfc_seq_init(&seq, opts, NULL), PFC_OK));
    for (size_t i = 0; i < n; i++)
        cr_assert(eq(int, pfc_seq_pair(&seq, 1.0, exp(d[i]), NULL), PFC_OK));
    pfc_seq_result(&seq, &r);
    pfc_seq_clear(&seq);
    return r;
}

/* The likelihood ratio by definition, integrated by brute force: numerator over the standardised
 * shift, N(0, 10), and both sides over the logarithm of the spread. */
static double ratio_by_quadrature(const double *d, size_t n)
{
    double top = 0.0, bottom = 0.0;
    for (int i = 0; i <= 2000; i++) {
        double sigma = exp(-8.0 + 0.008 * i);
        double plain = 0.0;
        for (size_t k = 0; k < n; k++)
            plain -= 0.5 * d[k] * d[k] / (sigma * sigma) + log(sigma);
        bottom += exp(plain);
        for (int j = -400; j <= 400; j++) {
            double delta = 0.05 * j;
            double log_l = -0.05 * delta * delta + 0.5 * log(0.1 / (2.0 * M_PI));
            for (size_t k = 0; k < n; k++) {
                double z = d[k] / sigma - delta;
                log_l -= 0.5 * z * z + log(sigma);
            }
            top += 0.05 * exp(log_l);
        }
    }
    return top / bottom;
}

Test(sequential, p_is_one_over_the_mixture_of_likelihood_ratios)
{
    const double d[] = { 0.021, 0.013, 0.034, 0.008, 0.027 };
    const pfc_seq_opts opts = { .paired = true, .floor_rel = 1e-12, .min_values = 5 };
    double ratio = ratio_by_quadrature(d, 5);
    cr_assert(ratio > 2.0);
    cr_assert(epsilon_eq(dbl, after(d, 5, &opts).p * ratio, 1.0, 1e-3));
}

/* Ten of ten on one side: 2^10 B(10.5, 0.5) / B(0.5, 0.5) = 2^10 C(20, 10) / 4^10 = 180.42578125;
 * nine of nine give 512 C(18, 9) / 4^9 = 94.96, not yet 100 (Krichevsky & Trofimov's estimator). */
Test(sequential, signs_bet_as_krichevsky_and_trofimov_do)
{
    const double d[] = { 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.09, 0.1 };
    const pfc_seq_opts opts = { .paired = true, .method = PFC_SEQ_SIGN };
    pfc_compare_result nine = after(d, 9, &opts);
    pfc_compare_result ten = after(d, 10, &opts);
    cr_assert(epsilon_eq(dbl, nine.p, 512.0 / 48620.0, 1e-9));
    cr_assert(eq(int, nine.verdict, PFC_VERDICT_INCONCLUSIVE));
    cr_assert(epsilon_eq(dbl, ten.p, 1.0 / 180.42578125, 1e-9));
    cr_assert(eq(int, ten.verdict, PFC_VERDICT_DIFFERENT));
    cr_assert(epsilon_eq(dbl, ten.rel_low, expm1(0.01), 1e-12));
}

/* All 2^10 patterns of signs are as likely without a shift: p <= alpha at any look in at most the
 * share alpha of them (Ville 1939). Counted, not drawn. */
Test(sequential, of_all_patterns_of_signs_at_most_alpha_are_rejected)
{
    static const double alphas[] = { 0.01, 0.05, 0.1, 0.3 };
    size_t rejected[4] = { 0 };
    for (unsigned signs = 0; signs < 1024; signs++) {
        const pfc_seq_opts opts = { .paired = true, .method = PFC_SEQ_SIGN };
        pfc_compare_result r;
        pfc_seq seq;
        cr_assert(eq(int, pfc_seq_init(&seq, &opts, NULL), PFC_OK));
        for (unsigned i = 0; i < 10; i++)
            cr_assert(eq(int,
                         pfc_seq_pair(&seq, 1.0, signs >> i & 1 ? 1.01 + 0.001 * i : 0.98, NULL),
                         PFC_OK));
        pfc_seq_result(&seq, &r);
        pfc_seq_clear(&seq);
        for (size_t a = 0; a < 4; a++)
            rejected[a] += r.p <= alphas[a];
    }
    for (size_t a = 0; a < 4; a++)
        cr_assert(le(dbl, (double)rejected[a] / 1024.0, alphas[a]), "%zu at %g", rejected[a],
                  alphas[a]);
    cr_assert(eq(sz, rejected[0], 2)); /* all up, all down */
}

/* The interval ends where the e-process of the shifted differences reaches 1 / alpha. */
Test(sequential, the_interval_is_the_test_turned_round)
{
    const double d[] = { 0.010, 0.013, 0.004, 0.008, 0.017, 0.011, 0.009 };
    const pfc_seq_opts opts = { .paired = true, .min_values = 7, .floor_rel = 1e-12 };
    pfc_compare_result r = after(d, 7, &opts);
    double moved[7];
    for (size_t i = 0; i < 7; i++)
        moved[i] = d[i] - log1p(r.rel_low);
    cr_assert(epsilon_eq(dbl, after(moved, 7, &opts).p, 0.01, 1e-6));
}

Test(sequential, unpaired_intervals_are_the_test_turned_round_too)
{
    const double a[] = { 100.0, 101.0, 99.5, 100.4, 99.8, 100.2, 100.6, 99.9 };
    const double b[] = { 104.0, 105.5, 103.1, 104.6, 104.4, 103.9, 105.0 };
    const pfc_seq_opts opts = { .min_values = 7, .floor_rel = 1e-12 };
    pfc_compare_result r[2];
    double times = 1.0;
    for (int round = 0; round < 2; round++) {
        pfc_seq seq;
        cr_assert(eq(int, pfc_seq_init(&seq, &opts, NULL), PFC_OK));
        for (size_t i = 0; i < 8; i++)
            cr_assert(eq(int, pfc_seq_add(&seq, PFC_SEQ_A, a[i], NULL), PFC_OK));
        for (size_t i = 0; i < 7; i++)
            cr_assert(eq(int, pfc_seq_add(&seq, PFC_SEQ_B, b[i] / times, NULL), PFC_OK));
        pfc_seq_result(&seq, &r[round]);
        pfc_seq_clear(&seq);
        times = 1.0 + r[0].rel_low;
    }
    cr_assert(r[0].rel_low > -0.02 && r[0].rel_low < 0.04, "%g", r[0].rel_low);
    cr_assert(epsilon_eq(dbl, r[1].p, 0.01, 1e-4));
}

/* Readings of a coarse clock: equal values prove nothing below the floor. */
Test(sequential, equal_readings_are_same_within_the_margin_and_no_proof_of_a_hair)
{
    const double equal[] = { 0.0, 0.0, 0.0, 0.0, 0.0, 0.0 };
    const double hair[] = { 1e-5, 1e-5, 1e-5, 1e-5, 1e-5, 1e-5 };
    const pfc_seq_opts opts = { .paired = true };
    cr_assert(eq(int, after(equal, 6, &opts).verdict, PFC_VERDICT_SAME));
    pfc_compare_result r = after(hair, 6, &opts);
    cr_assert(eq(int, r.verdict, PFC_VERDICT_SAME));
    cr_assert(r.p > 0.01, "%g", r.p);
}

Test(sequential, nothing_is_decided_before_the_least_number_of_values)
{
    const double d[] = { 0.5, 0.51, 0.49 };
    const pfc_seq_opts opts = { .paired = true };
    pfc_compare_result r = after(d, 3, &opts);
    cr_assert(eq(int, r.verdict, PFC_VERDICT_INCONCLUSIVE));
    cr_assert(eq(dbl, r.p, 1.0));
    cr_assert(eq(dbl, r.rel_low, -1.0));
    cr_assert(isinf(r.rel_high));
}

/* The machine changes in the middle: looks that contradict each other give no verdict. */
Test(sequential, a_shift_that_moves_is_inconclusive)
{
    double d[40];
    const pfc_seq_opts opts = { .paired = true, .margin = 0.002 };
    pfc_rng rng;
    pfc_rng_seed(&rng, 51);
    for (size_t i = 0; i < 40; i++)
        d[i] = (i < 20 ? 0.10 : -0.10) + 0.001 * pfc_rng_normal(&rng);
    pfc_compare_result r = after(d, 40, &opts);
    cr_assert(eq(int, r.verdict, PFC_VERDICT_INCONCLUSIVE));
    cr_assert(r.rel_low < r.rel_high);
}

Test(sequential, the_need_shrinks_with_the_noise_and_is_about_right)
{
    size_t need[2];
    for (int quiet = 0; quiet < 2; quiet++) {
        const pfc_seq_opts opts = { .paired = true };
        pfc_seq seq;
        pfc_rng rng;
        pfc_rng_seed(&rng, 61);
        cr_assert(eq(int, pfc_seq_init(&seq, &opts, NULL), PFC_OK));
        cr_assert(eq(sz, pfc_seq_need(&seq, 1000), 0));
        for (size_t i = 0; i < 10; i++) {
            double spread = quiet ? 0.002 : 0.01;
            cr_assert(
                eq(int, pfc_seq_pair(&seq, 1.0, exp(spread * pfc_rng_normal(&rng)), NULL), PFC_OK));
        }
        need[quiet] = pfc_seq_need(&seq, 1000);
        cr_assert(eq(sz, pfc_seq_need(&seq, 7), PFC_MIN(need[quiet], (size_t)7)));
        pfc_seq_clear(&seq);
    }
    cr_assert(need[1] >= 4 && need[1] <= 10, "%zu", need[1]);
    cr_assert(need[0] > 12 && need[0] < 100, "%zu", need[0]);
}

Test(sequential, what_cannot_be_compared_is_refused_and_changes_nothing)
{
    const double bad[] = { 0.0, -1.0, NAN, INFINITY };
    const pfc_seq_opts opts = { .paired = true };
    pfc_err err = { 0 };
    pfc_seq seq;
    cr_assert(eq(int, pfc_seq_init(&seq, &(pfc_seq_opts){ .alpha = 1.0 }, &err), PFC_EINVAL));
    cr_assert(eq(int, pfc_seq_init(&seq, &(pfc_seq_opts){ .margin = -1.0 }, &err), PFC_EINVAL));
    cr_assert(eq(int, pfc_seq_init(&seq, &(pfc_seq_opts){ .floor_rel = NAN }, &err), PFC_EINVAL));
    cr_assert(eq(int, pfc_seq_init(&seq, &opts, &err), PFC_OK));
    for (size_t i = 0; i < 4; i++) {
        cr_assert(eq(int, pfc_seq_pair(&seq, 1.0, bad[i], &err), PFC_EINVAL));
        cr_assert(eq(int, pfc_seq_pair(&seq, bad[i], 1.0, &err), PFC_EINVAL));
    }
    cr_assert(eq(int, pfc_seq_add(&seq, PFC_SEQ_A, 1.0, &err), PFC_EINVAL));
    cr_assert(eq(sz, seq.a.n + seq.b.n + seq.d.n, 0));
    pfc_seq_clear(&seq);
    pfc_seq_clear(NULL);
}
