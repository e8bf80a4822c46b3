/*
 * Measuring by difference, and when to. Seeds are fixed: each count is the same everywhere.
 */
#include <math.h>

#include "core/base/rng.h"
#include "core/bisect/bisect.h"
#include "core/bisect/pairing.h"

#include "tests/check/check.h"

#define COMMITS 24
#define STEP    0.01
#define NOISE   0.001

Test(pairing, a_unit_runs_x_r_r_x_and_a_drift_falls_out)
{
    static const bool reference[] = { false, true, true, false };
    pfc_pairing p = { 0 };
    pfc_pairing_unit got;

    /* The first two units are of three pairs. */
    for (size_t i = 0; i < 12; i++)
        cr_assert(
            eq(int, pfc_pairing_add_value(&p, exp(0.02 * (double)(i % 6)), &got), i % 6 == 5));
    for (size_t i = 0; i < 4; i++) {
        /* The machine slows down by 2 % a run; the build is 5 % slower. */
        const double drift = exp(0.02 * (double)i);

        cr_assert(eq(int, pfc_pairing_reference_next(&p), reference[i]));
        cr_assert(
            eq(int, pfc_pairing_add_value(&p, drift * (reference[i] ? 100 : 105), &got), i == 3));
    }
    cr_assert(eq(sz, got.pairs, 2));
    cr_assert(ieee_ulp_eq(dbl, got.ratio, 1.05, 8));
    cr_assert(got.has_still && fabs(log(got.still) - 0.02 / sqrt(2)) < 1e-12);
    pfc_pairing_clear(&p);
}

/* Tells one unit of the given pairs' ratios; returns how many it took. */
static size_t unit(pfc_pairing *p, const double *ratios, pfc_pairing_unit *got)
{
    size_t pair = 0;
    size_t runs = 0;

    for (;; runs++, pair = runs / 2)
        if (pfc_pairing_add_value(p, pfc_pairing_reference_next(p) ? 100 : 100 * ratios[pair], got))
            return pair + 1;
}

Test(pairing, pairs_that_disagree_are_made_more_of_and_the_median_counts)
{
    static const double usual[] = { 1.001, 1.0, 1.0005 };
    static const double two[] = { 1.08, 1.0, 1.0005 };
    static const double five[] = { 1.08, 1.0, 0.93, 1.0002, 1.16 };
    pfc_pairing p = { 0 };
    pfc_pairing_unit got;

    for (size_t i = 0; i < 4; i++)
        cr_assert(eq(sz, unit(&p, usual, &got), i < 2 ? 3 : 2));
    cr_assert(eq(sz, unit(&p, two, &got), 3));
    cr_assert(not(got.has_still));
    cr_assert(fabs(got.ratio - 1.0005) < 1e-9);
    cr_assert(eq(sz, unit(&p, five, &got), 5));
    cr_assert(fabs(got.ratio - 1.0002) < 1e-9);
    /* Half a unit is forgotten when its build turns out to be broken. */
    cr_assert(not(pfc_pairing_add_value(&p, 500, &got)));
    pfc_pairing_drop(&p);
    cr_assert(not(pfc_pairing_reference_next(&p)));
    cr_assert(eq(sz, unit(&p, usual, &got), 2));
    pfc_pairing_clear(&p);
}

/* ---- a machine with two speeds ---- */

typedef struct machine {
    pfc_rng rng;
    bool slow;
    double turn; /* chance of a change of speed before a run */
    size_t runs;
} machine;

static double run_on(machine *m, double level)
{
    m->slow ^= pfc_rng_double(&m->rng) < m->turn;
    m->runs++;
    return 100 * level * (m->slow ? 1.08 : 1) * exp(NOISE * pfc_rng_normal(&m->rng));
}

static void hear(pfc_bisect_plan *plan, size_t commit, double value)
{
    cr_assert(eq(int, pfc_bisect_add_run(plan, commit, 0, value, NULL), PFC_OK));
}

/* A search as the command line makes it; is the one culprit named and nothing else? */
static bool search(uint64_t seed, bool paired, double turn, size_t *runs)
{
    const pfc_bisect_opts opts = { .commits = COMMITS, .seed = 1 };
    machine m = { .turn = turn };
    pfc_bisect_plan *plan = NULL;
    pfc_bisect_report report;
    pfc_pairing p = { 0 };
    pfc_bisect_step next;
    pfc_pairing_unit got;
    size_t culprit;
    bool right;

    pfc_rng_seed(&m.rng, seed);
    culprit = 1 + pfc_rng_below(&m.rng, COMMITS - 1);
    cr_assert(eq(int, pfc_bisect_new(&plan, &opts, NULL), PFC_OK));
    for (pfc_bisect_next(plan, &next); next.act != PFC_BISECT_STOP; pfc_bisect_next(plan, &next)) {
        const double level = next.commit >= culprit ? 1 + STEP : 1;

        if (!paired) {
            hear(plan, next.commit, run_on(&m, level));
            continue;
        }
        while (!pfc_pairing_add_value(&p, run_on(&m, pfc_pairing_reference_next(&p) ? 1 : level),
                                      &got))
            ;
        hear(plan, next.commit, got.ratio);
        if (got.has_still)
            hear(plan, 0, got.still);
    }
    pfc_bisect_report_get(plan, &report);
    right = report.culprits_len == 1 && report.culprits[0].first == culprit &&
            report.culprits[0].last == culprit && report.verdict == PFC_BISECT_FOUND;
    pfc_bisect_report_clear(&report);
    pfc_bisect_free(plan);
    pfc_pairing_clear(&p);
    *runs += m.runs;
    return right;
}

Test(pairing, a_machine_with_two_speeds_is_searched_by_pairs)
{
    static const double turns[] = { 0.02, 0.06, 0.12 };
    size_t paired = 0;
    size_t single = 0;
    size_t runs = 0;
    size_t runs_single = 0;

    for (uint64_t k = 0; k < 200; k++) {
        paired += search(k, true, turns[k % 3], &runs);
        single += k < 60 && search(k, false, turns[k % 3], &runs_single);
    }
    cr_assert(ge(sz, paired, 198), "by pairs: %zu of 200, %.1f runs", paired, (double)runs / 200);
    cr_assert(le(sz, runs, 200 * 80), "by pairs: %.1f runs", (double)runs / 200);
    cr_assert(le(sz, single, 54), "by single runs: %zu of 60, %.1f runs", single,
              (double)runs_single / 60);
}

/* ---- when ---- */

/* Eight runs of either end, in turns. */
static pfc_noise_check look(uint64_t seed, double turn, size_t outliers)
{
    machine m = { .turn = turn };
    pfc_noise_run runs[16];

    pfc_rng_seed(&m.rng, seed);
    for (size_t i = 0; i < PFC_ARRAY_LEN(runs); i++) {
        runs[i] = (pfc_noise_run){ i % 2, run_on(&m, 1 + STEP * (double)(i % 2)) };
        runs[i].value *= i >= 7 && i < 7 + outliers ? 1.08 : 1;
    }
    return pfc_noise_check_runs(runs, PFC_ARRAY_LEN(runs), STEP);
}

Test(pairing, states_are_seen_and_noise_and_a_single_outlier_are_none)
{
    static const pfc_noise_run few[] = { { 0, 100 }, { 0, 108 }, { 1, 100 }, { 1, 108 } };
    static const pfc_noise_run small[] = { { 0, 100 },   { 0, 100.1 }, { 0, 102 }, { 0, 100 },
                                           { 0, 100.1 }, { 0, 102 },   { 0, 100 }, { 0, 100.1 },
                                           { 0, 99.9 },  { 0, 100 } };
    size_t noise = 0;
    size_t seen = 0;
    size_t one = 0;

    for (uint64_t k = 0; k < 400; k++) {
        noise += look(k, 0, 0).has_states;
        one += look(k, 0, 1).has_states;
        seen += look(k, 0.2, 0).has_states;
    }
    cr_assert(le(sz, noise, 4), "of noise: %zu of 400", noise);
    cr_assert(le(sz, one, 12), "of one outlier: %zu of 400", one);
    cr_assert(ge(sz, seen, 250), "of states: %zu of 400", seen);
    cr_assert(look(1, 0, 2).has_states);
    cr_assert(not(pfc_noise_check_runs(few, PFC_ARRAY_LEN(few), 0).has_states));
    /* An outlier that is small against the step does not hide the step. */
    cr_assert(not(pfc_noise_check_runs(small, PFC_ARRAY_LEN(small), 0.2).has_states));
    cr_assert(pfc_noise_check_runs(small, PFC_ARRAY_LEN(small), 0.02).has_states);
}
