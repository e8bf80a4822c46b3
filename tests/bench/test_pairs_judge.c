/* The rule that ends a comparison, at its exact limits and in both directions. */
#include <math.h>

#include "bench/harness/pairs/pairs.h"
#include "core/stats/sequential.h"

#include "tests/check/check.h"

#define MOST 64

static void level(double *d, size_t from, size_t to, double rel)
{
    for (size_t i = from; i < to; i++)
        d[i] = log1p(rel);
}

/* The first number of launches at which the rule answers something else than MORE. */
static size_t ends(const double *d, size_t limit, const pfc_paired_opts *o, pfc_paired_state *state)
{
    double p = -1.0;
    size_t n = 0;

    do {
        n++;
        *state = pfc_paired_judge(d, n, n, limit, o, &p);
    } while (*state == PFC_PAIRED_MORE && n < limit);
    return n;
}

Test(pairs_judge, the_margin_holds_exactly_and_in_both_directions)
{
    static const struct {
        double margin, rel;
        pfc_paired_state state;
    } rows[] = {
        { 0.0, 0.0051, PFC_PAIRED_CONFIRM },   { 0.0, 0.0049, PFC_PAIRED_SAME },
        { 0.0, -0.0051, PFC_PAIRED_CONFIRM },  { 0.0, -0.00495, PFC_PAIRED_SAME },
        { 0.02, 0.0201, PFC_PAIRED_CONFIRM },  { 0.02, 0.0199, PFC_PAIRED_SAME },
        { 0.02, -0.0201, PFC_PAIRED_CONFIRM }, { 0.001, 0.0049, PFC_PAIRED_CONFIRM },
    };
    double d[MOST];

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        const pfc_paired_opts o = { .margin = rows[i].margin };
        pfc_paired_state state;

        level(d, 0, MOST, rows[i].rel);
        ends(d, MOST, &o, &state);
        cr_assert(eq(int, state, rows[i].state), "row %zu", i);
    }
}

Test(pairs_judge, a_confirmation_ends_as_soon_as_p_is_below_its_level)
{
    static const double alphas[] = { 0.0, 0.01, 0.05, 0.001 };
    double d[MOST];

    for (size_t i = 0; i < PFC_ARRAY_LEN(alphas); i++) {
        const pfc_paired_opts o = { .alpha = alphas[i] };
        const double alpha = alphas[i] > 0.0 ? alphas[i] : 0.01;
        pfc_paired_state state;
        double p = -1.0;
        size_t n;

        level(d, 0, MOST, 0.03);
        n = ends(d, MOST, &o, &state);
        cr_assert(eq(int, state, PFC_PAIRED_CONFIRM));
        cr_assert(lt(dbl, pfc_seq_symmetric_p(d, n, 0.0), alpha));
        cr_assert(ge(dbl, pfc_seq_symmetric_p(d, n - 1, 0.0), alpha));
        (void)pfc_paired_judge(d, n, n, MOST, &o, &p);
        cr_assert(eq(dbl, p, pfc_seq_symmetric_p(d, n, 0.0)));
    }
}

/* "Same" needs as many launches as asked for, and an exclusion of the margin on either side. */
Test(pairs_judge, same_needs_its_launches_and_both_sides_excluded)
{
    static const struct {
        size_t min, most, at;
    } rows[] = { { 0, MOST, 0 }, { 20, MOST, 20 }, { 31, MOST, 31 } };
    const pfc_paired_opts loose = { .alpha = 0.4 };
    pfc_paired_state state;
    double d[MOST];
    double p;

    level(d, 0, MOST, 0.0);
    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        const pfc_paired_opts o = { .min_launches = rows[i].min };
        const size_t n = ends(d, rows[i].most, &o, &state);

        cr_assert(eq(int, state, PFC_PAIRED_SAME));
        cr_assert(ge(sz, n, 8));
        if (rows[i].at)
            cr_assert(eq(sz, n, rows[i].at));
    }
    /* With a loose level the number of launches decides alone: 8. */
    cr_assert(eq(int, pfc_paired_judge(d, 7, 7, MOST, &loose, &p), PFC_PAIRED_MORE));
    cr_assert(eq(int, pfc_paired_judge(d, 8, 8, MOST, &loose, &p), PFC_PAIRED_SAME));
    /* The median is within the margin, but one side is not excluded. */
    for (int sign = -1; sign <= 1; sign += 2) {
        const pfc_paired_opts o = { 0 };

        for (size_t i = 0; i < 24; i++)
            d[i] = sign * log1p(i % 2 ? 0.0149 : -0.006);
        cr_assert(ne(int, pfc_paired_judge(d, 24, 24, MOST, &o, &p), PFC_PAIRED_SAME), "%d", sign);
    }
}

Test(pairs_judge, the_limit_ends_each_search_without_an_answer)
{
    const pfc_paired_opts o = { 0 };
    double d[MOST];
    double p;

    level(d, 0, MOST, 0.03); /* shows, but no launch is left for a second confirmation */
    cr_assert(eq(int, pfc_paired_judge(d, 20, 20, 20, &o, &p), PFC_PAIRED_OPEN));
    cr_assert(eq(int, pfc_paired_judge(d, 20, 20, 21, &o, &p), PFC_PAIRED_CONFIRM));
    for (size_t i = 0; i < MOST; i++)
        d[i] = i % 2 ? 0.05 : -0.05; /* neither */
    cr_assert(eq(int, pfc_paired_judge(d, 19, 19, 20, &o, &p), PFC_PAIRED_MORE));
    cr_assert(eq(int, pfc_paired_judge(d, 20, 20, 20, &o, &p), PFC_PAIRED_OPEN));
    level(d, 0, 12, 0.03);
    cr_assert(eq(int, pfc_paired_judge(d, 19, 12, 20, &o, &p), PFC_PAIRED_MORE));
    cr_assert(eq(int, pfc_paired_judge(d, 20, 12, 20, &o, &p), PFC_PAIRED_OPEN));
}

Test(pairs_judge, the_second_confirmation_uses_fresh_launches_of_the_same_direction)
{
    const pfc_paired_opts o = { 0 };
    double d[MOST];

    for (int sign = -1; sign <= 1; sign += 2) {
        double p = 1.0;

        level(d, 0, 12, sign * 0.03);
        level(d, 12, 24, sign * 0.03);
        cr_assert(eq(int, pfc_paired_judge(d, 24, 12, MOST, &o, &p), PFC_PAIRED_DIFFERENT));
        cr_assert(epsilon_eq(
            dbl, p / (pfc_seq_symmetric_p(d, 12, 0.0) * pfc_seq_symmetric_p(d + 12, 12, 0.0)), 1.0,
            1e-12));
        level(d, 12, 24, sign * -0.03); /* the other direction */
        cr_assert(eq(int, pfc_paired_judge(d, 24, 12, MOST, &o, &p), PFC_PAIRED_MORE));
        level(d, 12, 24, sign * 0.004); /* within the margin */
        cr_assert(eq(int, pfc_paired_judge(d, 24, 12, MOST, &o, &p), PFC_PAIRED_MORE));
        level(d, 12, 24, sign * 0.03); /* too few: the first twelve do not count again */
        cr_assert(eq(int, pfc_paired_judge(d, 16, 12, MOST, &o, &p), PFC_PAIRED_MORE));
    }
}

Test(pairs_judge, p_has_a_floor)
{
    const pfc_paired_opts o = { 0 };
    static double d[4000];
    double p;

    for (size_t i = 0; i < 4000; i++)
        d[i] = 0.1;
    cr_assert(eq(int, pfc_paired_judge(d, 4000, 2000, 5000, &o, &p), PFC_PAIRED_DIFFERENT));
    cr_assert(eq(dbl, p, PFC_P_MIN));
}

Test(pairs_judge, the_estimate_is_a_relative_change_with_an_interval_of_its_level)
{
    double d[9];
    pfc_interval wide, narrow, mirrored;

    for (size_t i = 0; i < 9; i++)
        d[i] = log1p(0.10) + 0.01 * ((double)i - 4.0);
    wide = pfc_paired_estimate(d, 9, 0.99);
    narrow = pfc_paired_estimate(d, 9, 0.80);
    cr_assert(epsilon_eq(dbl, wide.value, 0.10, 1e-9));
    cr_assert(wide.low < narrow.low && narrow.low < 0.10);
    cr_assert(wide.high > narrow.high && narrow.high > 0.10);
    for (size_t i = 0; i < 9; i++)
        d[i] = -d[i];
    mirrored = pfc_paired_estimate(d, 9, 0.99);
    cr_assert(epsilon_eq(dbl, mirrored.value, 1.0 / 1.10 - 1.0, 1e-9));
    cr_assert(epsilon_eq(dbl, (1.0 + mirrored.low) * (1.0 + wide.high), 1.0, 1e-9));
    d[0] = NAN;
    cr_assert(isnan(pfc_paired_estimate(d, 9, 0.99).value));
}
