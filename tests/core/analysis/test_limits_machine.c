/* Limits of what is made of a machine: pairs, states, shifts. */
#include <math.h>
#include <string.h>

#include "core/base/rng.h"
#include "core/bisect/pairing.h"
#include "core/stats/stats.h"
#include "core/suspects/machine_shift.h"

#include "tests/check/check.h"

/* ---- pairs ---- */

/* Pairs that a unit takes whose first two differ by `spread`, and whose others are as the first. */
static size_t pairs_of(pfc_pairing *p, double spread)
{
    pfc_pairing_unit got;

    for (size_t runs = 0;; runs++) {
        const double x = runs / 2 == 1 ? exp(spread) : 1;

        if (pfc_pairing_add_value(p, pfc_pairing_reference_next(p) ? 1 : x, &got)) {
            cr_assert(eq(sz, got.pairs, (runs + 1) / 2));
            cr_assert(eq(int, got.has_still, got.pairs == 2));
            return got.pairs;
        }
    }
}

/* From the third unit on two pairs are enough that differ by at most four deviations, 1.4826
 * medians of all spreads so far (the lower of two middles), or by 1e-4. */
Test(limits_machine, a_third_pair_is_made_beyond_four_deviations)
{
    static const struct {
        double before[3];
        size_t len;
        double limit;
    } rows[] = { { { 0.001, 0.001 }, 2, 4 * 1.4826 * 0.001 },
                 { { 0.001, 0.0012, 0.003 }, 3, 4 * 1.4826 * 0.0012 },
                 { { 0, 0 }, 2, 1e-4 },
                 { { 1e-5, 1e-5 }, 2, 1e-4 } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        for (int over = 0; over < 2; over++) {
            pfc_pairing p = { 0 };

            for (size_t k = 0; k < rows[i].len; k++)
                cr_assert(eq(sz, pairs_of(&p, rows[i].before[k]), k < 2 ? 3 : 2));
            cr_assert(eq(sz, pairs_of(&p, rows[i].limit * (over ? 1.001 : 0.999)), over ? 3 : 2),
                      "row %zu", i);
            pfc_pairing_clear(&p);
        }
    }
}

/* ---- the look at noise ---- */

/* n runs of one build, a hundredth off the median in the order + + - -, with `far` of them by
 * `off`. */
static pfc_noise_check look(size_t n, size_t far, double off, double step)
{
    pfc_noise_run runs[64];

    for (size_t i = 0; i < n; i++)
        runs[i] = (pfc_noise_run){ 3, exp(i % 4 < 2 ? 0.01 : -0.01) };
    for (size_t k = 0; k < far; k++)
        runs[4 * k + 1].value = exp(off);
    if (n % 2)
        runs[n - 1].value = 1;
    return pfc_noise_check_runs(runs, n, step);
}

/* Far: beyond six deviations, 1.4826 medians of the sizes, and a quarter of the step. States:
 * two of them, which are at least 8 % of all runs. */
Test(limits_machine, states_are_two_far_runs_of_twenty_five)
{
    const double limit = 6 * 1.4826 * 0.01;

    cr_assert(look(25, 2, limit * 1.001, 0).has_states);
    cr_assert(eq(sz, look(25, 2, limit * 1.001, 0).outliers, 2));
    cr_assert(eq(sz, look(25, 2, limit * 0.999, 0).outliers, 0));
    cr_assert(not(look(25, 2, limit * 0.999, 0).has_states));
    cr_assert(not(look(27, 2, limit * 1.001, 0).has_states));
    cr_assert(not(look(9, 1, limit * 1.001, 0).has_states));
    cr_assert(eq(sz, look(25, 2, 0.2, 0.79).outliers, 2));
    cr_assert(eq(sz, look(25, 2, 0.2, -0.79).outliers, 2));
    cr_assert(eq(sz, look(25, 2, 0.2, 0.81).outliers, 0));
    cr_assert(eq(sz, look(25, 2, 0.2, -0.81).outliers, 0));
    cr_assert(epsilon_eq(dbl, look(25, 2, 0.2, 0).farthest, expm1(0.2), 1e-9));
}

/* One run of a build says nothing, two are one number, of three the median is none. */
Test(limits_machine, residuals_are_counted_and_eight_are_the_fewest)
{
    static const size_t sizes[][2] = { { 1, 0 }, { 2, 1 }, { 3, 2 }, { 4, 4 }, { 5, 5 } };
    pfc_noise_run runs[16];

    for (size_t i = 0; i < PFC_ARRAY_LEN(sizes); i++) {
        size_t n = 0;

        for (size_t k = 0; k < sizes[i][0]; k++)
            runs[n++] = (pfc_noise_run){ 1, 1 + 0.01 * (double)k };
        cr_assert(eq(sz, pfc_noise_check_runs(runs, n, 0).runs, sizes[i][1]), "%zu", sizes[i][0]);
    }
    for (size_t n = 7; n <= 8; n++) {
        for (size_t i = 0; i < n; i++)
            runs[i] = (pfc_noise_run){ 1, i < 2 ? 2 : 1 + 1e-6 * (double)i };
        cr_assert(eq(int, pfc_noise_check_runs(runs, n, 0).has_states, n == 8));
        cr_assert(eq(sz, pfc_noise_check_runs(runs, n, 0).outliers, n == 8 ? 2 : 0));
    }
    /* Of two runs the one residual is widened by the root of two. */
    for (size_t i = 0; i < 16; i++)
        runs[i] = (pfc_noise_run){ i / 2, i % 2 ? exp(0.04) : 1 };
    cr_assert(
        epsilon_eq(dbl, pfc_noise_check_runs(runs, 16, 0).farthest, expm1(0.02 * M_SQRT2), 1e-9));
    cr_assert(eq(sz, pfc_noise_check_runs(NULL, 0, 0).runs, 0));
}

/* Neighbours' products over their squares: 14 of them, more than 0.3, and 2.6 over the root of
 * their number. */
Test(limits_machine, a_wandering_machine_by_the_formula)
{
    size_t seen = 0, beyond = 0;
    pfc_rng rng;

    pfc_rng_seed(&rng, 14);
    for (int k = 0; k < 150; k++) {
        const size_t n = k % 5 == 0 ? 14 : k % 5 == 1 ? 15 : 30 + 10 * (size_t)(k % 5);
        pfc_noise_run runs[80];
        double x[80], product = 0, square = 0, farthest = 0;
        size_t far = 0;

        for (size_t i = 0; i < n; i++) {
            x[i] = (i ? 0.4 * x[i - 1] : 0) + 0.01 * pfc_rng_normal(&rng);
            runs[i] = (pfc_noise_run){ 0, exp(x[i]) };
            x[i] = log(runs[i].value);
        }
        const double median = pfc_stats_median(x, n);

        for (size_t i = 0; i < n; i++)
            x[i] -= median;
        for (size_t i = 0; i < n; i++) {
            farthest = fmax(farthest, fabs(x[i]));
            if (i) {
                product += x[i] * x[i - 1];
                square += (x[i] * x[i] + x[i - 1] * x[i - 1]) / 2;
            }
        }
        const double corr = n > 14 ? product / square : 0;
        const double step = k % 2 ? 0 : 3.9 * farthest;
        const pfc_noise_check got = pfc_noise_check_runs(runs, n, step);
        const bool sure = corr > 0.3 && corr * sqrt((double)n - 1) > 2.6;

        far = got.outliers;
        cr_assert(epsilon_eq(dbl, got.correlation, corr, 1e-9), "%d", k);
        cr_assert(eq(int, got.has_states, sure || (far >= 2 && (double)far >= 0.08 * (double)n)));
        /* A step four times as large hides nothing. */
        cr_assert(not(pfc_noise_check_runs(runs, n, 4.1 * farthest).has_states));
        seen += sure;
        beyond += corr > 0.3;
    }
    cr_assert(seen > 20 && beyond > seen, "%zu, %zu", seen, beyond);
}

/* ---- the machine or a commit ---- */

#define SERIES 10

typedef struct fleet {
    double loss[2][SERIES]; /* by machine; of what became worse at position 11 */
    double exact[SERIES];   /* of a count without noise of the same kernel; NAN: none */
    size_t kinds, machines;
    bool narrow, state, same_code;
    int64_t before, after; /* points; 0: ten and eight */
} fleet;

static pfc_shift_point shift_points[4000];

/* Ten points before and eight after, without noise: 0.001 is assumed. */
static pfc_shift judge(const fleet *f)
{
    pfc_shift_series series[3 * SERIES];
    pfc_shift_case c = { .series = series,
                         .points = shift_points,
                         .machines = 2,
                         .low = 11,
                         .high = 11,
                         .scope = f->narrow ? PFC_SCOPE_NARROW : PFC_SCOPE_UNKNOWN };
    pfc_shift out, copy;

    for (uint32_t k = 0; k < 3 * SERIES; k++) {
        const uint32_t kernel = k % SERIES, machine = k / SERIES == 1;
        const bool exact = k >= 2 * SERIES;
        const double loss = exact ? f->exact[kernel] : f->loss[machine][kernel];

        if (exact ? isnan(loss) : machine >= f->machines)
            continue;
        series[c.series_len] =
            (pfc_shift_series){ .work = exact ? 100 + kernel : kernel,
                                .kernel = kernel,
                                .kind = kernel % (uint32_t)f->kinds,
                                .exact = exact,
                                .suspect = !machine && !exact && f->loss[0][kernel] > 0.02 };
        for (int64_t at = 11 - (f->before ? f->before : 10); at <= 10 + (f->after ? f->after : 8);
             at++)
            shift_points[c.points_len++] =
                (pfc_shift_point){ .series = (uint32_t)c.series_len,
                                   .machine = machine,
                                   .state = f->state && at > 10 ? 2 : 1,
                                   .code = f->same_code ? 5 : (uint32_t)at,
                                   .position = at,
                                   .time = (double)at,
                                   .value = at > 10 ? exp(loss) : 1 };
        c.series_len++;
    }
    pfc_shift_judge(&c, &out);
    copy = out;
    copy.belongs = NULL;
    pfc_shift_clear(&out);
    return copy;
}

static fleet still(void)
{
    fleet f = { .kinds = 3, .machines = 1 };

    for (size_t k = 0; k < SERIES; k++)
        f.exact[k] = (double)NAN;
    return f;
}

/* So many series lose 5 %. */
static fleet losing(size_t n)
{
    fleet f = still();

    for (size_t k = 0; k < n; k++)
        f.loss[0][k] = 0.05;
    return f;
}

/* 1.25 * 0.001 * sqrt(1 / 10 + 1 / 8): a series that is no suspect moved by more than 3.5 of it. */
Test(limits_machine, a_series_moved_from_three_and_a_half_standard_errors_on)
{
    const double error = 1.25 * 0.001 * sqrt(1 / 10.0 + 1 / 8.0);

    for (int over = 0; over < 2; over++) {
        fleet f = losing(6);

        f.narrow = true;
        f.loss[0][6] = 3.5 * error * (over ? 1.001 : 0.999);
        f.loss[0][7] = -0.05; /* better */
        const pfc_shift s = judge(&f);

        cr_assert(s.judged == 10 && s.moved == (over ? 7 : 6));
    }
}

/* Three points before and two after are the fewest of a level, of a count without noise one. */
Test(limits_machine, a_level_has_at_least_so_many_points)
{
    static const struct {
        int64_t before, after;
        bool judged;
    } rows[] = { { 3, 2, true }, { 2, 2, false }, { 3, 1, false } };

    for (size_t i = 0; i < 3; i++) {
        fleet f = losing(6);

        f.before = rows[i].before;
        f.after = rows[i].after;
        cr_assert(eq(sz, judge(&f).judged, rows[i].judged ? 10 : 0));
        cr_assert(eq(sz, judge(&f).moved, rows[i].judged ? 6 : 0));
    }
    /* Counts of the fewest points speak for the machine still. */
    fleet f = losing(10);

    for (size_t k = 0; k < SERIES; k++)
        f.exact[k] = 0;
    f.before = 3;
    f.after = 2;
    cr_assert(eq(int, (int)judge(&f).why, PFC_SHIFT_CODE));
}

/* Alone, with a reason, a machine must have moved in four of five of its series; in three of
 * five with witnesses. Four suspects are the fewest. */
Test(limits_machine, a_machine_moved_broadly_and_in_several_kinds)
{
    for (size_t n = 3; n <= 9; n++) {
        fleet alone = losing(n), witnessed = losing(n);

        alone.narrow = true;
        cr_assert(
            eq(int, (int)judge(&alone).answer, n >= 8 ? PFC_SHIFT_MACHINE : PFC_SHIFT_UNKNOWN),
            "%zu", n);
        cr_assert(eq(int, (int)judge(&alone).why, n >= 8 ? PFC_SHIFT_SCOPE : 0));
        witnessed.machines = 2;
        cr_assert(
            eq(int, (int)judge(&witnessed).answer, n >= 6 ? PFC_SHIFT_MACHINE : PFC_SHIFT_UNKNOWN),
            "%zu", n);
        cr_assert(eq(int, (int)judge(&witnessed).why, n >= 6 ? PFC_SHIFT_ELSEWHERE : 0));
    }
    for (size_t kinds = 1; kinds <= 3; kinds++) {
        fleet f = losing(10);

        f.narrow = true;
        f.kinds = kinds;
        cr_assert(
            eq(int, (int)judge(&f).answer, kinds > 1 ? PFC_SHIFT_MACHINE : PFC_SHIFT_UNKNOWN));
    }
    /* Of three kinds that are measured only two moved: series 0 3 6 9 and 1 4 7. */
    fleet f = losing(10);

    f.machines = 2;
    f.loss[0][2] = f.loss[0][5] = f.loss[0][8] = 0;
    cr_assert(eq(int, (int)judge(&f).answer, PFC_SHIFT_UNKNOWN));
    f.loss[0][2] = 0.05;
    cr_assert(eq(int, (int)judge(&f).answer, PFC_SHIFT_MACHINE));
}

/* Three witnesses that moved elsewhere say commit, against fewer that stood still; the machine
 * needs twice as many. */
Test(limits_machine, witnesses_elsewhere_are_counted)
{
    static const struct {
        size_t moved; /* of ten, the others stand still */
        pfc_shift_answer answer;
    } rows[] = { { 0, PFC_SHIFT_MACHINE },
                 { 3, PFC_SHIFT_MACHINE },
                 { 4, PFC_SHIFT_UNKNOWN },
                 { 5, PFC_SHIFT_UNKNOWN },
                 { 6, PFC_SHIFT_COMMIT } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        fleet f = losing(10);

        f.machines = 2;
        for (size_t k = 0; k < rows[i].moved; k++)
            f.loss[1][k] = 0.05;
        cr_assert(eq(int, (int)judge(&f).answer, (int)rows[i].answer), "%zu", rows[i].moved);
    }
    /* Half of the step, less two standard errors, is as much as a witness needs. */
    const double error = 1.25 * 0.001 * sqrt(1 / 10.0 + 1 / 8.0);

    for (int over = 0; over < 2; over++) {
        fleet f = losing(10);

        f.machines = 2;
        for (size_t k = 0; k < 10; k++)
            f.loss[1][k] = (0.025 + 2 * error) * (over ? 1.001 : 0.999);
        cr_assert(eq(int, (int)judge(&f).answer, over ? PFC_SHIFT_COMMIT : PFC_SHIFT_UNKNOWN));
        for (size_t k = 0; k < 10; k++)
            f.loss[1][k] = (0.025 - 2 * error) * (over ? 1.001 : 0.999);
        cr_assert(eq(int, (int)judge(&f).answer, over ? PFC_SHIFT_UNKNOWN : PFC_SHIFT_MACHINE));
    }
}

/* Counts that stay within 0.0005 stood still, beyond they moved: with a machine alone they speak
 * for it. */
Test(limits_machine, exact_counts_and_object_code_speak_for_the_machine)
{
    for (int k = 0; k < 3; k++) {
        fleet f = losing(10);

        for (size_t i = 0; i < SERIES; i++)
            f.exact[i] = k == 0 ? 0.00049 : k == 1 ? 0.00051 : -0.00051;
        const pfc_shift s = judge(&f);

        cr_assert(eq(int, (int)s.answer, k == 0 ? PFC_SHIFT_MACHINE : PFC_SHIFT_UNKNOWN), "%d", k);
        cr_assert(eq(int, (int)s.why, k == 0 ? PFC_SHIFT_CODE : 0));
    }
    fleet f = losing(10);

    f.same_code = true;
    cr_assert(eq(int, (int)judge(&f).why, PFC_SHIFT_CODE));
    f.same_code = false;
    f.state = true;
    cr_assert(eq(int, (int)judge(&f).why, PFC_SHIFT_STATE));
    f.state = false;
    cr_assert(eq(int, (int)judge(&f).answer, PFC_SHIFT_UNKNOWN));
}

/* A series that lost more than half as much again as the others is left to the commit. */
Test(limits_machine, what_lost_much_more_is_not_the_machines)
{
    const double error = 1.25 * 0.001 * sqrt(1 / 10.0 + 1 / 8.0);

    for (int over = 0; over < 2; over++) {
        fleet f = losing(10);

        f.machines = 2;
        f.loss[0][9] = (0.05 * 1.5 + 2 * error) * (over ? 1.001 : 0.999);
        const pfc_shift s = judge(&f);

        cr_assert(eq(sz, s.belongs_len, over ? 9 : 10));
        cr_assert(epsilon_eq(dbl, s.loss, expm1(0.05), 1e-9));
        cr_assert(epsilon_eq(dbl, s.least, expm1(0.05), 1e-9));
        cr_assert(epsilon_eq(dbl, s.most, expm1(0.05), 1e-9));
    }
}
