/* The rows of one comparison judged together. */
#include <math.h>

#include "core/base/rng.h"
#include "core/stats/comparison_family.h"

#include "tests/check/check.h"

#define ROWS    210
#define REPEATS 12

/* R 4.3: p.adjust(c(0.01, 0.04, 0.03, 0.005, 0.8), "BH") */
Test(family, adjusted_p_values_are_those_of_r)
{
    const double p[] = { 0.01, 0.04, 0.03, 0.005, 0.8 };
    const double want[] = { 0.025, 0.05, 0.05, 0.025, 0.8 };
    double adjusted[5];

    pfc_stats_fdr_adjust(p, 5, adjusted);
    for (size_t i = 0; i < 5; i++)
        cr_assert(epsilon_eq(dbl, adjusted[i], want[i], 1e-12), "%zu", i);
    pfc_stats_fdr_adjust(p, 0, adjusted);
}

Test(family, an_adjusted_p_is_at_most_q_where_the_step_up_rule_keeps_it)
{
    double p[40], adjusted[40];
    bool keep[40];
    pfc_rng rng;

    pfc_rng_seed(&rng, 7);
    for (int round = 0; round < 50; round++) {
        for (size_t i = 0; i < 40; i++)
            p[i] = pow(pfc_rng_double(&rng), i % 3 ? 1 : 4);
        pfc_stats_fdr(p, 40, 0.05, keep);
        pfc_stats_fdr_adjust(p, 40, adjusted);
        for (size_t i = 0; i < 40; i++)
            cr_assert(eq(int, keep[i], adjusted[i] <= 0.05 + 1e-15));
    }
}

Test(family, rows_without_a_test_neither_count_nor_change)
{
    pfc_family_row rows[] = {
        { .p = 0.004, .verdict = PFC_VERDICT_DIFFERENT },
        { .p = (double)NAN, .verdict = PFC_VERDICT_DIFFERENT }, /* exact */
        { .p = (double)NAN, .verdict = PFC_VERDICT_INCONCLUSIVE },
        { .p = 0.9, .verdict = PFC_VERDICT_SAME },
    };

    pfc_compare_family(rows, 4);
    cr_assert(eq(int, (int)rows[0].verdict, PFC_VERDICT_DIFFERENT));
    cr_assert(epsilon_eq(dbl, rows[0].p_adjusted, 0.008, 1e-12));
    cr_assert(eq(int, (int)rows[1].verdict, PFC_VERDICT_DIFFERENT));
    cr_assert(isnan(rows[1].p_adjusted));
    cr_assert(eq(int, (int)rows[2].verdict, PFC_VERDICT_INCONCLUSIVE));
    cr_assert(eq(int, (int)rows[3].verdict, PFC_VERDICT_SAME));
}

/* `changed` of 210 rows are 5 % slower; noise 1 %. Returns the rows called different; *wrong: of
 * them, those that did not change; *alone: rows that their own test calls different. */
static size_t different(uint64_t seed, size_t changed, size_t *wrong, size_t *alone)
{
    pfc_family_row rows[ROWS];
    size_t len = 0;
    pfc_rng rng;

    pfc_rng_seed(&rng, seed);
    for (size_t i = 0; i < ROWS; i++) {
        double a[REPEATS], b[REPEATS];
        pfc_compare_result r = { 0 };
        pfc_err err = { 0 };

        for (size_t k = 0; k < REPEATS; k++) {
            a[k] = 100 * exp(0.01 * pfc_rng_normal(&rng));
            b[k] = (i < changed ? 105 : 100) * exp(0.01 * pfc_rng_normal(&rng));
        }
        cr_assert(eq(int, pfc_stats_compare(a, REPEATS, b, REPEATS, NULL, &r, &err), PFC_OK));
        rows[i] = (pfc_family_row){ .p = r.p, .verdict = r.verdict };
        *alone += r.verdict == PFC_VERDICT_DIFFERENT;
    }
    pfc_compare_family(rows, ROWS);
    for (size_t i = 0; i < ROWS; i++) {
        len += rows[i].verdict == PFC_VERDICT_DIFFERENT;
        *wrong += rows[i].verdict == PFC_VERDICT_DIFFERENT && i >= changed;
    }
    return len;
}

/* 30 comparisons of 210 unchanged rows: their own tests are wrong in some fifty of the 6,300. */
Test(family, unchanged_rows_are_not_called_different)
{
    size_t wrong = 0, alone = 0, all = 0;

    for (uint64_t seed = 1; seed <= 30; seed++) {
        const size_t here = different(seed, 0, &wrong, &alone);

        all += here;
        cr_assert(le(sz, here, 1));
    }
    cr_assert(le(sz, all, 2), "%zu", all);
    cr_assert(ge(sz, alone, 20), "%zu", alone);
}

Test(family, five_per_cent_on_some_rows_are_found_and_few_others)
{
    size_t wrong = 0, alone = 0, all = 0;

    for (uint64_t seed = 1; seed <= 10; seed++)
        all += different(seed, 20, &wrong, &alone);
    cr_assert(ge(sz, all - wrong, 196), "%zu of 200", all - wrong);
    cr_assert(le(sz, wrong, 14), "%zu of %zu", wrong, all);
}
