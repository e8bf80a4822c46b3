/* Mirror images: no comparison prefers a side, a direction, or an order of time. */
#include <string.h>

#include "core/base/rng.h"
#include "core/blocks/blocks.h"
#include "core/blocks/pair_rounds.h"
#include "core/changepoint/drift.h"
#include "core/changepoint/fdr.h"
#include "core/stats/ranktest.h"
#include "core/stats/sequential.h"

#include "tests/core/stats/mirror.h"

#define SLACK 1e-9
#define MOST  40

/* ---- two samples ---- */

static const struct sample {
    const char *what;
    size_t na, nb;
    double shift, noise; /* of b; of both */
    double grain;        /* values are multiples of it: ties; 0: none */
    bool unequal;        /* b is three times as noisy */
} samples[] = {
    { "one value each", 1, 1, 0.1, 0.01, 0, false },
    { "two values each", 2, 2, 0.1, 0.01, 0, false },
    { "three against three", 3, 3, 0.3, 0.01, 0, false },
    { "apart", 8, 8, 0.10, 0.01, 0, false },
    { "overlapping", 8, 8, 0.01, 0.02, 0, false },
    { "same", 20, 20, 0, 0.001, 0, false },
    { "exact, unequal counts", 7, 12, 0.02, 0.01, 0, true },
    { "by the normal, unequal counts", 9, 30, 0.02, 0.02, 0, true },
    { "ties", 12, 12, 0.02, 0.02, 1.0, false },
    { "all equal", 10, 10, 0, 0, 0, false },
};

static void draw(const struct sample *s, double *a, double *b)
{
    pfc_rng rng;

    pfc_rng_seed(&rng, 17);
    for (size_t i = 0; i < s->na; i++)
        a[i] = 100.0 * exp(s->noise * pfc_rng_normal(&rng));
    for (size_t i = 0; i < s->nb; i++)
        b[i] = 100.0 * exp(s->shift + (s->unequal ? 3.0 : 1.0) * s->noise * pfc_rng_normal(&rng));
    for (size_t i = 0; i < s->na && s->grain > 0; i++)
        a[i] = round(a[i] / s->grain) * s->grain;
    for (size_t i = 0; i < s->nb && s->grain > 0; i++)
        b[i] = round(b[i] / s->grain) * s->grain;
}

static void invert(const double *x, size_t n, double *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = 1.0 / x[i];
}

static pfc_compare_result compare(const double *a, size_t na, const double *b, size_t nb,
                                  const pfc_compare_opts *opts)
{
    pfc_compare_result r;

    cr_assert(eq(int, pfc_stats_compare(a, na, b, nb, opts, &r, NULL), PFC_OK));
    return r;
}

/* Exact values are compared by their medians' ratio, so the mean of two middles is spared: odd
 * counts. */
Test(mirror, a_comparison_prefers_no_side_and_no_direction)
{
    for (size_t k = 0; k < PFC_ARRAY_LEN(samples); k++) {
        const struct sample *s = &samples[k];
        double a[MOST], b[MOST], inverse_a[MOST], inverse_b[MOST];

        draw(s, a, b);
        invert(a, s->na, inverse_a);
        invert(b, s->nb, inverse_b);
        for (int kind = 0; kind < 3; kind++) {
            const pfc_compare_opts opts = { .paired = kind == 1, .exact = kind == 2 };
            pfc_compare_result plain, swapped, inverted;

            if ((kind == 1 && s->na != s->nb) || (kind == 2 && (s->na % 2 == 0 || s->nb % 2 == 0)))
                continue;
            plain = compare(a, s->na, b, s->nb, &opts);
            swapped = compare(b, s->nb, a, s->na, &opts);
            inverted = compare(inverse_a, s->na, inverse_b, s->nb, &opts);
            check_mirrored(&plain, &swapped, SLACK, s->what);
            check_mirrored(&plain, &inverted, SLACK, s->what);
        }
    }
}

Test(mirror, rank_tests_and_shifts_prefer_no_side)
{
    for (size_t k = 0; k < PFC_ARRAY_LEN(samples); k++) {
        const struct sample *s = &samples[k];
        double a[MOST], b[MOST], minus_a[MOST], minus_b[MOST];
        double up, down;
        pfc_interval ab, ba, minus;

        draw(s, a, b);
        for (size_t i = 0; i < s->na; i++)
            minus_a[i] = -a[i];
        for (size_t i = 0; i < s->nb; i++)
            minus_b[i] = -b[i];
        cr_assert(near_to(pfc_ranktest_p(a, s->na, b, s->nb, &up),
                          pfc_ranktest_p(b, s->nb, a, s->na, &down), 1e-12));
        cr_assert(near_to(up + down, 1.0, 1e-12), "%s: %g and %g", s->what, up, down);
        (void)pfc_ranktest_p(minus_a, s->na, minus_b, s->nb, &down);
        cr_assert(near_to(up + down, 1.0, 1e-12), "%s: %g and %g", s->what, up, down);
        cr_assert(
            eq(dbl, pfc_ranktest_cut(s->na, s->nb, 0.05), pfc_ranktest_cut(s->nb, s->na, 0.05)));
        cr_assert(eq(int, pfc_stats_shift(a, s->na, b, s->nb, 0.9, &ab, NULL), PFC_OK));
        cr_assert(eq(int, pfc_stats_shift(b, s->nb, a, s->na, 0.9, &ba, NULL), PFC_OK));
        cr_assert(
            eq(int, pfc_stats_shift(minus_a, s->na, minus_b, s->nb, 0.9, &minus, NULL), PFC_OK));
        cr_assert(near_to(ab.value, -ba.value, 1e-12) && near_to(ab.value, -minus.value, 1e-12));
        cr_assert(near_to(ab.low, -ba.high, 1e-12) && near_to(ab.low, -minus.high, 1e-12));
        cr_assert(near_to(ab.high, -ba.low, 1e-12) && near_to(ab.high, -minus.low, 1e-12));
    }
}

Test(mirror, signed_ranks_and_medians_follow_the_sign)
{
    for (size_t k = 0; k < PFC_ARRAY_LEN(samples); k++) {
        const struct sample *s = &samples[k];
        double a[MOST], b[MOST], minus[MOST];
        pfc_interval up, down;

        draw(s, a, b);
        for (size_t i = 0; i < s->nb; i++) {
            b[i] -= 100.0;
            minus[i] = -b[i];
        }
        cr_assert(eq(dbl, pfc_signed_rank_p(b, s->nb), pfc_signed_rank_p(minus, s->nb)));
        cr_assert(eq(dbl, pfc_stats_mad(b, s->nb), pfc_stats_mad(minus, s->nb)));
        cr_assert(eq(dbl, pfc_stats_sd(b, s->nb), pfc_stats_sd(minus, s->nb)));
        cr_assert(eq(dbl, pfc_stats_mean(b, s->nb), -pfc_stats_mean(minus, s->nb)));
        for (double q = 0.0; q <= 1.0; q += 0.125)
            cr_assert(near_to(pfc_stats_quantile(b, s->nb, q),
                              -pfc_stats_quantile(minus, s->nb, 1.0 - q), 1e-12));
        up = pfc_stats_median_interval(b, s->nb, 0.9);
        down = pfc_stats_median_interval(minus, s->nb, 0.9);
        cr_assert(near_to(up.value, -down.value, 1e-12));
        cr_assert(eq(dbl, up.low, -down.high));
        cr_assert(eq(dbl, up.high, -down.low));
    }
}

/* The draws are the same, so each round's median is the negative one; ends are order statistics
 * of them. */
Test(mirror, the_interval_of_blocks_follows_the_sign)
{
    static const uint32_t blocks[] = { 5, 0, 7, 6, 8 };
    const struct sample s = { "blocks", 1, 26, 0.1, 0.2, 0, false };
    double a[MOST], b[MOST], minus[MOST];
    pfc_interval up, down;

    draw(&s, a, b);
    for (size_t i = 0; i < s.nb; i++)
        minus[i] = -b[i];
    up = pfc_stats_block_interval(b, blocks, 5, 0.9, 4);
    down = pfc_stats_block_interval(minus, blocks, 5, 0.9, 4);
    cr_assert(eq(dbl, up.value, -down.value));
    cr_assert(near_to(up.low, -down.high, 1e-12));
    cr_assert(near_to(up.high, -down.low, 1e-12));
}

Test(mirror, further_values_are_as_many_for_a_loss_as_for_a_gain)
{
    static const double half[] = { 0.011, 0.03, 0.2 };
    static const double changes[] = { 0.0, 0.002, 0.009, 0.02, 0.3 };

    for (size_t i = 0; i < PFC_ARRAY_LEN(half); i++) {
        for (size_t k = 0; k < PFC_ARRAY_LEN(changes); k++) {
            const double low = changes[k] - half[i];
            const double high = changes[k] + 2 * half[i];
            const double up =
                pfc_stats_more_values(expm1(changes[k]), expm1(low), expm1(high), 9, 5, 0.01);
            const double down =
                pfc_stats_more_values(expm1(-changes[k]), expm1(-high), expm1(-low), 9, 5, 0.01);

            cr_assert(eq(dbl, up, down));
        }
    }
}

/* ---- one value after the other ---- */

/* Tells the values of both sides in turns, exchanged when `swapped`. */
static void tell(pfc_seq *seq, double a, double b, bool swapped)
{
    const double first = swapped ? b : a;
    const double second = swapped ? a : b;

    if (seq->opts.paired) {
        cr_assert(eq(int, pfc_seq_pair(seq, first, second, NULL), PFC_OK));
        return;
    }
    /* In the order of the plain sides. */
    cr_assert(eq(int, pfc_seq_add(seq, swapped ? PFC_SEQ_B : PFC_SEQ_A, a, NULL), PFC_OK));
    cr_assert(eq(int, pfc_seq_add(seq, swapped ? PFC_SEQ_A : PFC_SEQ_B, b, NULL), PFC_OK));
}

Test(mirror, sequential_tests_prefer_no_side_and_no_direction_at_any_look)
{
    for (size_t k = 0; k < PFC_ARRAY_LEN(samples); k++) {
        for (int kind = 0; kind < 4; kind++) {
            const struct sample *s = &samples[k];
            const pfc_seq_opts opts = { .paired = kind % 2,
                                        .method = kind / 2 ? PFC_SEQ_SIGN : PFC_SEQ_NORMAL };
            double a[MOST], b[MOST];
            pfc_seq plain, swapped, inverted;

            draw(s, a, b);
            cr_assert(eq(int, pfc_seq_init(&plain, &opts, NULL), PFC_OK));
            cr_assert(eq(int, pfc_seq_init(&swapped, &opts, NULL), PFC_OK));
            cr_assert(eq(int, pfc_seq_init(&inverted, &opts, NULL), PFC_OK));
            for (size_t i = 0; i < PFC_MIN(s->na, s->nb); i++) {
                pfc_compare_result x, y, z;

                tell(&plain, a[i], b[i], false);
                tell(&swapped, a[i], b[i], true);
                tell(&inverted, 1.0 / a[i], 1.0 / b[i], false);
                pfc_seq_result(&plain, &x);
                pfc_seq_result(&swapped, &y);
                pfc_seq_result(&inverted, &z);
                check_mirrored(&x, &y, 1e-7, s->what);
                check_mirrored(&x, &z, 1e-7, s->what);
                cr_assert(eq(sz, pfc_seq_need(&plain, 500), pfc_seq_need(&swapped, 500)));
                cr_assert(eq(sz, pfc_seq_need(&plain, 500), pfc_seq_need(&inverted, 500)));
            }
            pfc_seq_clear(&plain);
            pfc_seq_clear(&swapped);
            pfc_seq_clear(&inverted);
        }
    }
}

Test(mirror, bets_on_signs_prefer_no_direction)
{
    for (size_t k = 0; k < PFC_ARRAY_LEN(samples); k++) {
        const struct sample *s = &samples[k];
        double a[MOST], b[MOST], d[MOST], minus[MOST];
        const size_t n = PFC_MIN(s->na, s->nb);
        pfc_interval up, down;

        draw(s, a, b);
        for (size_t i = 0; i < n; i++) {
            d[i] = log(b[i]) - log(a[i]);
            minus[i] = -d[i];
        }
        for (double shift = -0.02; shift < 0.03; shift += 0.01)
            cr_assert(
                eq(dbl, pfc_seq_symmetric_p(d, n, shift), pfc_seq_symmetric_p(minus, n, -shift)));
        up = pfc_seq_symmetric_interval(d, n, 0.05);
        down = pfc_seq_symmetric_interval(minus, n, 0.05);
        cr_assert(near_to(up.value, -down.value, 1e-12));
        cr_assert(near_to(up.low, -down.high, 1e-9));
        cr_assert(near_to(up.high, -down.low, 1e-9));
    }
}

/* The two paired tests together: of clear steps, of none, and of steps with some pairs far off. */
Test(mirror, both_paired_tests_together_prefer_no_side)
{
    for (int kind = 0; kind < 3; kind++) {
        const struct sample s = { "both", MOST, MOST, kind ? 0.02 : 0, 0.004, 0, false };
        const pfc_seq_opts opts = { .paired = true, .alpha = 0.005 };
        double a[MOST], b[MOST], d[2][MOST];
        pfc_seq seq[2];

        draw(&s, a, b);
        for (size_t i = 3; kind == 2 && i < MOST; i += 9)
            b[i] *= i % 2 ? 1.3 : 0.75;
        for (int k = 0; k < 2; k++)
            cr_assert(eq(int, pfc_seq_init(&seq[k], &opts, NULL), PFC_OK));
        for (size_t i = 0; i < MOST; i++) {
            pfc_compare_result r[2];
            double rel[2];
            pfc_verdict verdict[2];

            for (int k = 0; k < 2; k++) {
                tell(&seq[k], a[i], b[i], k);
                d[k][i] = k ? log(a[i]) - log(b[i]) : log(b[i]) - log(a[i]);
                pfc_seq_both(&seq[k], d[k], &r[k]);
                verdict[k] = pfc_seq_both_verdict(&seq[k], d[k], &rel[k]);
            }
            check_mirrored(&r[0], &r[1], 1e-7, s.what);
            cr_assert(eq(int, (int)verdict[0], (int)r[0].verdict));
            cr_assert(eq(int, (int)verdict[1], (int)r[0].verdict));
            cr_assert(opposite(rel[0], rel[1], 1e-9));
        }
        cr_assert(eq(int, (int)pfc_seq_both_verdict(&seq[0], d[0], &(double){ 0 }),
                     kind ? PFC_VERDICT_DIFFERENT : PFC_VERDICT_SAME));
        pfc_seq_clear(&seq[0]);
        pfc_seq_clear(&seq[1]);
    }
}

/* ---- rounds ---- */

/* The bets on the order lie on a grid that starts at the lowest value, so mirror images are
 * near, not equal. */
Test(mirror, rounds_prefer_no_side_and_no_direction)
{
    for (int kind = 0; kind < 4; kind++) {
        const double shift = kind == 1 || kind == 2 ? 0.02 : 0.0;
        const double noise = kind == 3 ? 0.0004 : 0.003;
        pfc_round rounds[24], swapped[24], inverted[24];
        pfc_interleaved_result r[3];
        pfc_rng rng;

        pfc_rng_seed(&rng, 23);
        for (size_t i = 0; i < 24; i++) {
            const bool first = pfc_rng_below(&rng, 2);

            for (size_t k = 0; k < PFC_ROUND_VISITS; k++) {
                rounds[i].to[k] = (k == 1 || k == 2) != first;
                rounds[i].gap[k] = 1;
                rounds[i].y[k] = noise * pfc_rng_normal(&rng) + (rounds[i].to[k] ? shift : 0.0);
                /* Some pairs far off, which the normal test is blind behind. */
                rounds[i].y[k] += kind == 2 && i % 8 == 5 && k < 2 ? 0.08 : 0.0;
            }
            swapped[i] = inverted[i] = rounds[i];
            for (size_t k = 0; k < PFC_ROUND_VISITS; k++) {
                swapped[i].to[k] = !rounds[i].to[k];
                inverted[i].y[k] = -rounds[i].y[k];
            }
        }
        cr_assert(eq(int, pfc_rounds_judge(rounds, 24, NULL, &r[0], NULL), PFC_OK));
        cr_assert(eq(int, pfc_rounds_judge(swapped, 24, NULL, &r[1], NULL), PFC_OK));
        cr_assert(eq(int, pfc_rounds_judge(inverted, 24, NULL, &r[2], NULL), PFC_OK));
        for (int k = 1; k < 3; k++) {
            cr_assert(near_to(log(r[k].cmp.p), log(r[0].cmp.p), 0.05), "kind %d, mirror %d: %g, %g",
                      kind, k, r[k].cmp.p, r[0].cmp.p);
            r[k].cmp.p = r[0].cmp.p;
            check_mirrored(&r[0].cmp, &r[k].cmp, 1e-3, "rounds");
            cr_assert(near_to((double)r[k].more, (double)r[0].more, 0.1));
        }
        cr_assert(eq(int, (int)r[0].cmp.verdict,
                     kind == 1 || kind == 2 ? PFC_VERDICT_DIFFERENT : PFC_VERDICT_SAME),
                  "kind %d", kind);
    }
}

/* A machine that changes its speed by 5 to 12 %: the normal test is blind, the order decides.
 * What it tells lies on the side of the estimate, up to the shift next to zero that one of the
 * two other tests does not exclude. */
Test(mirror, a_difference_found_by_the_order_excludes_zero_on_its_own_side)
{
    size_t decided = 0;
    pfc_rng rng;

    pfc_rng_seed(&rng, 29);
    for (int i = 0; i < 12; i++) {
        const double shift = i % 2 ? 0.03 : -0.03;
        pfc_round rounds[24];
        pfc_interleaved_result r;
        double level = 0, d[24];

        for (size_t k = 0; k < 24; k++) {
            const bool first = pfc_rng_below(&rng, 2);

            d[k] = 0;
            for (size_t j = 0; j < PFC_ROUND_VISITS; j++) {
                if (pfc_rng_double(&rng) < 0.3)
                    level = level > 0 ? 0 : 0.05 + 0.07 * pfc_rng_double(&rng);
                rounds[k].to[j] = (j == 1 || j == 2) != first;
                rounds[k].gap[j] = 1;
                rounds[k].y[j] =
                    level + 0.006 * pfc_rng_normal(&rng) + (rounds[k].to[j] ? shift : 0);
                d[k] += (rounds[k].to[j] ? 0.5 : -0.5) * rounds[k].y[j];
            }
        }
        cr_assert(eq(int, pfc_rounds_judge(rounds, 24, NULL, &r, NULL), PFC_OK));
        cr_assert(r.cmp.rel_low <= r.cmp.rel_change && r.cmp.rel_change <= r.cmp.rel_high);
        if (r.cmp.verdict != PFC_VERDICT_DIFFERENT)
            continue;
        const double end = shift > 0 ? r.cmp.rel_low : -r.cmp.rel_high;

        decided += !near_to(r.cmp.rel_change, expm1(pfc_stats_mean(d, 24)), 1e-9);
        cr_assert(end > 0 && end < 0.03, "%g", end);
        cr_assert(eq(sz, r.more, 0));
        /* Half-way to zero is excluded. */
        const double inside = log1p(shift > 0 ? r.cmp.rel_low : r.cmp.rel_high) / 2;

        if (!near_to(r.cmp.rel_change, expm1(pfc_stats_mean(d, 24)), 1e-9))
            cr_assert(pfc_oriented_p(rounds, 24, inside) < 0.005 ||
                      pfc_seq_symmetric_p(d, 24, inside) < 0.01 / 6);
    }
    cr_assert(ge(sz, decided, 4), "%zu", decided);
}

/* ---- series ---- */

#define N 70

static pfc_point points[N], mirror[N];

static void slope(double a_point, double noise)
{
    pfc_rng rng;

    pfc_rng_seed(&rng, 31);
    for (size_t i = 0; i < N; i++)
        points[i] =
            (pfc_point){ .v = 100 * exp(a_point * (double)i + noise * pfc_rng_normal(&rng)) };
}

static void check_drift(const pfc_drift *x, const pfc_drift *y)
{
    cr_assert(opposite(x->rel_change, y->rel_change, 1e-9));
    cr_assert(opposite(x->rel_low, y->rel_high, 1e-9));
    cr_assert(opposite(x->rel_high, y->rel_low, 1e-9));
}

Test(mirror, a_drift_upwards_is_one_downwards_of_the_inverse_values)
{
    pfc_change step = { .index = 40, .before = 100, .after = 110, .rel_change = 0.1 };
    pfc_change back = {
        .index = 40, .before = 0.01, .after = 1 / 110.0, .rel_change = 1 / 1.1 - 1
    };
    pfc_drift up, down;

    slope(0.001, 0.004);
    for (size_t i = 0; i < N; i++) {
        points[i].v *= i < 40 ? 1 : 1.1;
        mirror[i].v = 1 / points[i].v;
    }
    cr_assert(pfc_stats_drift(points, N, &step, 1, &up));
    cr_assert(pfc_stats_drift(mirror, N, &back, 1, &down));
    check_drift(&up, &down);
    cr_assert(eq(dbl, up.p, down.p));
    cr_assert(near_to(up.before * down.before, 1, 1e-9));
    cr_assert(near_to(up.after * down.after, 1, 1e-9));
    cr_assert(pfc_stats_drift_since(points, N, &step, 1, 30, &up));
    cr_assert(pfc_stats_drift_since(mirror, N, &back, 1, 30, &down));
    check_drift(&up, &down);
    cr_assert(near_to(up.before * down.before, 1, 1e-9));
    cr_assert(near_to(up.after * down.after, 1, 1e-9));
}

/* N is a multiple of the blocks' size, so the blocks of the reversed series hold the same
 * points. */
Test(mirror, a_drift_backwards_in_time_goes_the_other_way)
{
    enum { WHOLE = N / 3 * 3 };
    pfc_drift up, down;

    slope(0.001, 0.004);
    for (size_t i = 0; i < WHOLE; i++)
        mirror[i] = points[WHOLE - 1 - i];
    cr_assert(pfc_stats_drift(points, WHOLE, NULL, 0, &up));
    cr_assert(pfc_stats_drift(mirror, WHOLE, NULL, 0, &down));
    check_drift(&up, &down);
    cr_assert(eq(dbl, up.p, down.p));
    cr_assert(near_to(up.before, down.after, 1e-9));
    cr_assert(near_to(up.after, down.before, 1e-9));
    /* The newest ten points against the ten up to the 20th, and the other way round. */
    for (size_t i = 0; i < 30; i++)
        mirror[i] = points[29 - i];
    cr_assert(pfc_stats_drift_since(points, 30, NULL, 0, 9, &up));
    cr_assert(pfc_stats_drift_since(mirror, 30, NULL, 0, 9, &down));
    check_drift(&up, &down);
}

/* Values that are not all above 0 are not compared as logarithms: their negatives are the mirror
 * image. */
Test(mirror, a_drift_of_values_around_zero_follows_the_sign)
{
    pfc_drift up, down;

    slope(0.001, 0.004);
    for (size_t i = 0; i < N; i++) {
        points[i].v -= 103;
        mirror[i].v = -points[i].v;
    }
    cr_assert(pfc_stats_drift(points, N, NULL, 0, &up));
    cr_assert(pfc_stats_drift(mirror, N, NULL, 0, &down));
    cr_assert(near_to(up.rel_change, -down.rel_change, 1e-9));
    cr_assert(near_to(up.rel_low, -down.rel_high, 1e-9));
    cr_assert(near_to(up.rel_high, -down.rel_low, 1e-9));
    cr_assert(eq(dbl, up.p, down.p));
    cr_assert(near_to(up.before, -down.before, 1e-9) && near_to(up.after, -down.after, 1e-9));
    cr_assert(pfc_stats_drift_since(points, N, NULL, 0, 30, &up));
    cr_assert(pfc_stats_drift_since(mirror, N, NULL, 0, 30, &down));
    cr_assert(near_to(up.rel_change, -down.rel_change, 1e-9));
    cr_assert(near_to(up.rel_low, -down.rel_high, 1e-9));
    cr_assert(near_to(up.rel_high, -down.rel_low, 1e-9));
}

/* Points above the level and points below it, excursions, changes, and repeats that speak for or
 * against. */
Test(mirror, a_change_has_the_same_ratio_above_and_below)
{
    static const double repeats[] = { 105, 106, 105.5, 106, 99 };
    double minus[5];
    pfc_change changes[] = { { .index = 12 }, { .index = 35 } };
    const pfc_detection found = { .changes = changes, .changes_len = 2, .watching = 3 };
    double ratio;

    slope(0, 0.003);
    for (size_t i = 0; i < N; i++) {
        points[i].v *= i < 12 ? 0.9 : i < 35 ? 1.1 : 1;
        points[i].v *= i == 20 || i == 50 || i == 51 ? 1.06 : i == 55 ? 0.93 : 1;
        points[i].v *= i >= N - 3 ? 1.05 : 1;
    }
    points[N - 2].repeats = repeats;
    points[N - 2].repeats_len = 5;
    for (size_t i = 0; i < N; i++) {
        mirror[i] = points[i];
        mirror[i].v = -points[i].v;
    }
    for (size_t i = 0; i < 5; i++)
        minus[i] = -repeats[i];
    mirror[N - 2].repeats = minus;
    ratio = pfc_stats_change_or_spike(points, N, &found);
    /* Two changes; three points above in two excursions, one of which went on: 2.5 / (2.5 (1.5 /
     * 4)^2). */
    cr_assert(near_to(ratio, 2.5 / (2.5 * pow(1.5 / 4, 2)), 1e-12), "%g", ratio);
    cr_assert(eq(dbl, pfc_stats_change_or_spike(mirror, N, &found), ratio));
}

Test(mirror, a_gain_is_as_sure_as_a_loss)
{
    static const double p[] = { 0.01, 1e-8, PFC_P_MIN };

    for (size_t k = 0; k < PFC_ARRAY_LEN(p); k++) {
        const pfc_change up = { .rel_change = expm1(0.1),
                                .rel_low = expm1(0.095),
                                .rel_high = expm1(0.105),
                                .p = p[k],
                                .index = 10 };
        const pfc_change down = { .rel_change = expm1(-0.1),
                                  .rel_low = expm1(-0.105),
                                  .rel_high = expm1(-0.095),
                                  .p = p[k],
                                  .index = 10 };

        cr_assert(near_to(pfc_fdr_sureness(&up, 40), pfc_fdr_sureness(&down, 40), 1e-12));
        cr_assert(
            near_to(pfc_fdr_anywhere(&up, 40, false), pfc_fdr_anywhere(&down, 40, false), 1e-12));
        for (size_t end = 11; end < 40; end++) {
            cr_assert(eq(int, pfc_alert_justified(&up, end), pfc_alert_justified(&down, end)));
            cr_assert(eq(int, pfc_alert_justified_accepted(&up, end, 9),
                         pfc_alert_justified_accepted(&down, end, 9)));
        }
    }
}

Test(mirror, a_boundary_lies_within_its_margin_on_either_side)
{
    for (double half = 0.002; half < 0.03; half += 0.002) {
        for (double at = 0; at < 0.03; at += 0.003) {
            const pfc_boundary up = { .rel_change = expm1(at),
                                      .rel_low = expm1(at - half),
                                      .rel_high = expm1(at + half) };
            const pfc_boundary down = { .rel_change = expm1(-at),
                                        .rel_low = expm1(-at - half),
                                        .rel_high = expm1(half - at) };

            cr_assert(eq(int, pfc_boundary_within(&up, 0.02), pfc_boundary_within(&down, 0.02)));
            cr_assert(eq(int, pfc_boundary_within(&up, 0.02), at + half * 0.8393 <= log1p(0.02)),
                      "%g and %g", at, half);
        }
    }
}
