/*
 * Mirror images of searches: with every value replaced by its inverse and the better direction
 * turned round, the same steps are asked for and the same commits are named, with changes inverted.
 */
#include <string.h>

#include "core/base/rng.h"
#include "core/bisect/confirm.h"
#include "core/bisect/finding.h"
#include "core/bisect/pairing.h"
#include "core/bisect/remaining.h"
#include "core/blocks/design.h"
#include "core/suspects/machine_shift.h"
#include "core/suspects/suspects.h"

#include "tests/core/stats/mirror.h"

#define COMMITS 24

/* ---- bisection ---- */

typedef struct history {
    const char *what;
    pfc_bisect_opts opts;
    double noise;
    double up[2]; /* relative change at commits 7 and 15 */
    size_t most;  /* steps */
} history;

/* The nearest value whose inverse has exactly the negative logarithm: the courses drawn from a
 * posterior do not bear a difference in the last bit. */
static double even(double v)
{
    while (log(1 / v) != -log(v))
        v = nextafter(v, INFINITY);
    return v;
}

static double value_at(const history *h, size_t commit, pfc_rng *rng)
{
    return even(100 * (commit >= 7 ? 1 + h->up[0] : 1) * (commit >= 15 ? 1 + h->up[1] : 1) *
                exp(h->noise * pfc_rng_normal(rng)));
}

/* The change of that size the other way has exactly the negative logarithm, if any number has. */
static pfc_bisect_opts turned(pfc_bisect_opts opts)
{
    const double want = -log1p(opts.delta_rel);
    double down = expm1(want);

    for (int i = 0; i < 8 && log1p(down) != want; i++)
        down = nextafter(down, log1p(down) < want ? 1 : -1);
    opts.higher_is_better = !opts.higher_is_better;
    opts.delta_rel = down;
    return opts;
}

static void check_findings(const history *h, const pfc_bisect_plan *x, const pfc_bisect_plan *y)
{
    pfc_finding a, b;

    pfc_bisect_finding_get(x, &a);
    pfc_bisect_finding_get(y, &b);
    cr_assert(a.known == b.known && a.within == b.within, "%s", h->what);
    cr_assert(near_to(a.margin, b.margin, 1e-9) && near_to(a.more_runs, b.more_runs, 1e-9), "%s",
              h->what);
    if (a.known) {
        cr_assert(opposite(a.rel_change, b.rel_change, 1e-9), "%s", h->what);
        cr_assert(opposite(a.rel_low, b.rel_high, 1e-9), "%s", h->what);
        cr_assert(opposite(a.rel_high, b.rel_low, 1e-9), "%s", h->what);
    }
}

static void check_reports(const history *h, const pfc_bisect_plan *x, const pfc_bisect_plan *y)
{
    pfc_bisect_report a, b;
    pfc_bisect_remaining left[2];
    double p[2][COMMITS];

    pfc_bisect_report_get(x, &a);
    pfc_bisect_report_get(y, &b);
    cr_assert(eq(int, (int)a.verdict, (int)b.verdict), "%s", h->what);
    cr_assert(eq(sz, a.culprits_len, b.culprits_len), "%s", h->what);
    cr_assert(a.runs == b.runs && a.builds == b.builds && a.commits_measured == b.commits_measured);
    for (size_t i = 0; i < a.culprits_len; i++) {
        const pfc_culprit *c = &a.culprits[i], *d = &b.culprits[i];

        cr_assert(c->first == d->first && c->last == d->last, "%s", h->what);
        cr_assert(near_to(c->probability, d->probability, 1e-6));
        cr_assert(opposite(c->rel_change, d->rel_change, 1e-6), "%s: %g, %g", h->what,
                  c->rel_change, d->rel_change);
        cr_assert(opposite(c->rel_low, d->rel_high, 1e-6));
        cr_assert(opposite(c->rel_high, d->rel_low, 1e-6));
        cr_assert(c->rel_low <= c->rel_change && c->rel_change <= c->rel_high);
        /* Worse is a larger value, or a smaller one where that is what was seen. */
        cr_assert(eq(int, c->rel_change > 0, !h->opts.higher_is_better), "%s", h->what);
    }
    pfc_bisect_posterior(x, p[0]);
    pfc_bisect_posterior(y, p[1]);
    for (size_t i = 0; i < COMMITS; i++)
        cr_assert(near_to(p[0][i], p[1][i], 1e-6), "%s: commit %zu", h->what, i);
    pfc_bisect_remaining_get(x, &left[0]);
    pfc_bisect_remaining_get(y, &left[1]);
    cr_assert(left[0].wants_more == left[1].wants_more && left[0].likeliest == left[1].likeliest);
    cr_assert(left[0].candidates == left[1].candidates);
    cr_assert(near_to(left[0].none, left[1].none, 1e-6) &&
              near_to(left[0].runs, left[1].runs, 1e-6));
    pfc_bisect_report_clear(&a);
    pfc_bisect_report_clear(&b);
}

Test(mirror_search, a_bisection_prefers_no_direction)
{
    static const history rows[] = {
        { "one step", { .seed = 1 }, 0.01, { 0.05, 0 }, 400 },
        { "one step, noise and size known",
          { .noise_rel = 0.01, .delta_rel = 0.05 },
          0.01,
          { 0.05, 0 },
          400 },
        { "a repair between two steps", { .noise_rel = 0.01 }, 0.01, { 0.06, -0.05 }, 400 },
        { "two steps", { .noise_rel = 0.01 }, 0.01, { 0.05, 0.06 }, 400 },
        { "no step", { .noise_rel = 0.02, .delta_rel = 0.04 }, 0.02, { 0, 0 }, 400 },
        { "without noise", { .noise_rel = 1e-6 }, 0, { 0.02, 0.01 }, 400 },
        { "without noise, no step", { .noise_rel = 1e-6 }, 0, { 0, 0 }, 400 },
        { "without noise, better", { .noise_rel = 1e-6 }, 0, { -0.02, 0 }, 400 },
        { "layouts",
          { .noise_rel = 0.01, .layout_noise_rel = 0.01, .relink = true },
          0.014,
          { 0.06, 0 },
          400 },
        { "open", { .noise_rel = 0.02, .delta_rel = 0.03 }, 0.02, { 0.03, 0 }, 14 },
        { "hardly begun", { .noise_rel = 0.02 }, 0.02, { 0.03, 0 }, 3 },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        const history *h = &rows[i];
        pfc_bisect_opts opts = h->opts;
        pfc_bisect_plan *x = NULL, *y = NULL;
        pfc_rng rng;

        opts.commits = COMMITS;
        const pfc_bisect_opts back = turned(opts);

        pfc_rng_seed(&rng, 41);
        cr_assert(eq(int, pfc_bisect_new(&x, &opts, NULL), PFC_OK));
        cr_assert(eq(int, pfc_bisect_new(&y, &back, NULL), PFC_OK));
        for (size_t k = 0; k < h->most; k++) {
            pfc_bisect_step a, b;

            pfc_bisect_next(x, &a);
            pfc_bisect_next(y, &b);
            cr_assert(a.act == b.act && a.commit == b.commit && a.build == b.build, "%s, step %zu",
                      h->what, k);
            cr_assert(near_to(a.expected_gain_bits, b.expected_gain_bits, 1e-6),
                      "%s, step %zu: %g, %g", h->what, k, a.expected_gain_bits,
                      b.expected_gain_bits);
            if (a.act == PFC_BISECT_STOP)
                break;
            const double v = value_at(h, a.commit, &rng);

            cr_assert(eq(int, pfc_bisect_add_run(x, a.commit, a.build, v, NULL), PFC_OK));
            cr_assert(eq(int, pfc_bisect_add_run(y, a.commit, a.build, 1 / v, NULL), PFC_OK));
        }
        check_findings(h, x, y);
        check_reports(h, x, y);
        pfc_bisect_free(x);
        pfc_bisect_free(y);
    }
}

/* Commits backwards and values inverted: a step stays one to worse, and the posterior is turned
 * round. */
Test(mirror_search, a_history_backwards_gives_the_posterior_backwards)
{
    const pfc_bisect_opts opts = { .commits = 10, .noise_rel = 0.01 };
    static const double level[] = { 100, 101, 100.5, 104, 106 };
    pfc_bisect_plan *x = NULL, *y = NULL;
    double p[2][10];

    cr_assert(eq(int, pfc_bisect_new(&x, &opts, NULL), PFC_OK));
    cr_assert(eq(int, pfc_bisect_new(&y, &opts, NULL), PFC_OK));
    for (size_t k = 0; k < 15; k++) {
        static const size_t at[] = { 0, 3, 4, 6, 9 };
        const double v = level[k % 5] * (1 + 0.004 * (double)(k / 5));

        cr_assert(eq(int, pfc_bisect_add_run(x, at[k % 5], 0, v, NULL), PFC_OK));
        cr_assert(eq(int, pfc_bisect_add_run(y, 9 - at[k % 5], 0, 1e4 / v, NULL), PFC_OK));
    }
    pfc_bisect_posterior(x, p[0]);
    pfc_bisect_posterior(y, p[1]);
    for (size_t i = 1; i < 10; i++)
        cr_assert(near_to(p[0][i], p[1][10 - i], 0.01), "commit %zu: %g, %g", i, p[0][i],
                  p[1][10 - i]);
    pfc_bisect_free(x);
    pfc_bisect_free(y);
}

/* ---- confirmation ---- */

Test(mirror_search, a_confirmation_prefers_no_direction)
{
    static const double changes[] = { 0.05, -0.05, 0, 0.012 };

    for (size_t i = 0; i < 8; i++) {
        const bool exact = i >= 4;
        const double change = changes[i % 4];
        const pfc_confirm_opts up = { .expected_rel = 0.05, .exact = exact, .seed = i };
        const pfc_confirm_opts down = {
            .expected_rel = 1 / 1.05 - 1, .higher_is_better = true, .exact = exact, .seed = i
        };
        pfc_confirm *x = NULL, *y = NULL;
        pfc_confirm_step a, b;
        pfc_confirm_result r[2];
        pfc_rng rng;

        pfc_rng_seed(&rng, 5);
        cr_assert(eq(int, pfc_confirm_new(&x, &up, NULL), PFC_OK));
        cr_assert(eq(int, pfc_confirm_new(&y, &down, NULL), PFC_OK));
        for (;;) {
            const bool first = pfc_confirm_next(x, &a), second = pfc_confirm_next(y, &b);
            double v;

            if (!first && !second)
                break;
            if (first && second)
                cr_assert(a.after == b.after && a.build == b.build);
            v = ((first ? a : b).after ? 1 + change : 1) *
                (exact ? 1 : exp(0.01 * pfc_rng_normal(&rng)));
            if (first)
                cr_assert(eq(int, pfc_confirm_add_value(x, v, NULL), PFC_OK));
            if (second)
                cr_assert(eq(int, pfc_confirm_add_value(y, 1 / v, NULL), PFC_OK));
        }
        /* 5 % up and 4.8 % down are the same change, and a third of them nearly the same margin. */
        pfc_confirm_result_get(x, &r[0]);
        pfc_confirm_result_get(y, &r[1]);
        cr_assert(eq(int, (int)r[0].verdict, (int)r[1].verdict));
        cr_assert(r[0].pairs + 6 >= r[1].pairs && r[1].pairs + 6 >= r[0].pairs, "%zu, %zu",
                  r[0].pairs, r[1].pairs);
        if (exact) {
            cr_assert(opposite(r[0].cmp.rel_change, r[1].cmp.rel_change, 1e-9));
            cr_assert(epsilon_eq(dbl, r[0].cmp.rel_change, change, 1e-12));
            cr_assert(r[0].cmp.p == r[1].cmp.p && r[0].cmp.p == (change == 0));
        } else if (r[0].pairs == r[1].pairs) {
            check_mirrored(&r[0].cmp, &r[1].cmp, 1e-7, "confirm");
        }
        cr_assert(eq(int, (int)r[0].verdict,
                     change > 0 && (exact || change > 0.02) ? PFC_CONFIRM_CONFIRMED
                     : change == 0.012                      ? (int)r[0].verdict
                                                            : PFC_CONFIRM_REFUTED));
        pfc_confirm_free(x);
        pfc_confirm_free(y);
    }
}

/* ---- pairs ---- */

Test(mirror_search, pairs_and_the_look_at_noise_prefer_no_direction)
{
    pfc_pairing p = { 0 }, q = { 0 };
    pfc_noise_run runs[40], inverse[40];
    pfc_rng rng;

    pfc_rng_seed(&rng, 6);
    for (size_t i = 0; i < 400; i++) {
        const double v = exp(0.01 * pfc_rng_normal(&rng) + (i % 23 == 5 ? 0.08 : 0));
        pfc_pairing_unit a, b;
        const bool done = pfc_pairing_add_value(&p, v, &a);

        cr_assert(eq(int, pfc_pairing_add_value(&q, 1 / v, &b), done));
        cr_assert(eq(int, pfc_pairing_reference_next(&p), pfc_pairing_reference_next(&q)));
        if (!done)
            continue;
        cr_assert(a.pairs == b.pairs && a.has_still == b.has_still);
        cr_assert(near_to(a.ratio * b.ratio, 1, 1e-12));
        if (a.has_still)
            cr_assert(near_to(a.still * b.still, 1, 1e-12));
    }
    pfc_pairing_clear(&p);
    pfc_pairing_clear(&q);
    for (size_t i = 0; i < 40; i++) {
        runs[i] = (pfc_noise_run){ i % 3, exp(0.01 * pfc_rng_normal(&rng) + (i / 10 % 2) * 0.05) };
        inverse[i] = (pfc_noise_run){ i % 3, 1 / runs[i].value };
    }
    const pfc_noise_check x = pfc_noise_check_runs(runs, 40, 0.02);
    const pfc_noise_check y = pfc_noise_check_runs(inverse, 40, -0.02);

    cr_assert(x.runs == y.runs && x.outliers == y.outliers && x.has_states == y.has_states);
    cr_assert(near_to(x.farthest, y.farthest, 1e-9) && near_to(x.correlation, y.correlation, 1e-9));
    cr_assert(x.has_states && x.correlation > 0.3);
}

/* ---- suspects ---- */

/* Falling instead of rising; and time backwards, which turns the places round. */
Test(mirror_search, the_place_of_a_change_prefers_no_direction)
{
    pfc_suspect_point up[12], down[12], back[12];
    double x[8], y[8], z[8];

    for (size_t i = 0; i < 12; i++) {
        const double v = (i < 5 ? 100 : 107) * (1 + 0.004 * (double)(i * 5 % 7));

        up[i] = (pfc_suspect_point){ .position = (int64_t)i, .value = v };
        down[i] = (pfc_suspect_point){ .position = (int64_t)i, .value = 1e4 / v };
        back[11 - i] = (pfc_suspect_point){ .position = 11 - (int64_t)i, .value = v };
    }
    pfc_suspects_place(up, 12, 100, 107, 0.01, 2, 8, x);
    pfc_suspects_place(down, 12, 1e4 / 100, 1e4 / 107, 0.01, 2, 8, y);
    /* The change before point 2 + k lies before point 12 - (2 + k) of the reversed series. */
    pfc_suspects_place(back, 12, 107, 100, 0.01, 3, 8, z);
    for (size_t k = 0; k < 8; k++) {
        cr_assert(near_to(x[k], y[k], 1e-9));
        cr_assert(near_to(x[k], z[7 - k], 1e-9), "%zu: %g, %g", k, x[k], z[7 - k]);
    }
    cr_assert(eq(dbl, x[3], 0.0)); /* before point 5 */
}

/* ---- a commit or the machine ---- */

Test(mirror_search, a_shift_of_the_machine_prefers_no_direction)
{
    static pfc_shift_series series[2][24];
    static pfc_shift_point points[2][24 * 18];
    pfc_shift_case c[2];
    pfc_shift s[2];
    pfc_rng rng;

    pfc_rng_seed(&rng, 7);
    for (uint32_t k = 0; k < 24; k++) {
        const uint32_t machine = k / 12;

        series[0][k] = (pfc_shift_series){ .work = k % 12,
                                           .kernel = k % 12,
                                           .kind = k % 3,
                                           .higher_is_better = k % 2,
                                           .suspect = machine == 0 };
        series[1][k] = series[0][k];
        series[1][k].higher_is_better = !series[0][k].higher_is_better;
        for (uint32_t i = 0; i < 18; i++) {
            const double worse = machine == 0 && i >= 10 ? 0.05 + 0.001 * k : 0;
            pfc_shift_point p = {
                .series = k,
                .machine = machine,
                .state = 1,
                .position = i + 1,
                .time = 100.0 * i,
                .value = exp((k % 2 ? -worse : worse) + 0.004 * pfc_rng_normal(&rng)),
            };

            points[0][k * 18 + i] = p;
            p.value = 1 / p.value;
            points[1][k * 18 + i] = p;
        }
    }
    for (int k = 0; k < 2; k++) {
        c[k] = (pfc_shift_case){ .series = series[k],
                                 .series_len = 24,
                                 .points = points[k],
                                 .points_len = PFC_ARRAY_LEN(points[k]),
                                 .machines = 2,
                                 .low = 11,
                                 .high = 11 };
        pfc_shift_judge(&c[k], &s[k]);
    }
    cr_assert(eq(int, (int)s[0].answer, PFC_SHIFT_MACHINE));
    cr_assert(eq(int, (int)s[0].why, PFC_SHIFT_ELSEWHERE));
    cr_assert(eq(int, (int)s[1].answer, PFC_SHIFT_MACHINE));
    cr_assert(s[0].why == s[1].why && s[0].machine == 0 && s[1].machine == 0);
    cr_assert(s[0].moved == 12 && s[0].judged == 12 && s[1].moved == 12);
    cr_assert(near_to(s[0].loss, s[1].loss, 1e-9) && near_to(s[0].least, s[1].least, 1e-9) &&
              near_to(s[0].most, s[1].most, 1e-9));
    cr_assert(s[0].least < s[0].loss && s[0].loss < s[0].most);
    cr_assert(epsilon_eq(dbl, s[0].loss, expm1(0.0555), 0.004));
    cr_assert(zero(int, memcmp(s[0].belongs, s[1].belongs, 24)));
    /* Worse turned into better: nothing moved. */
    c[0].series = series[1];
    pfc_shift_clear(&s[0]);
    pfc_shift_judge(&c[0], &s[0]);
    cr_assert(eq(int, (int)s[0].answer, PFC_SHIFT_UNKNOWN));
    cr_assert(eq(sz, s[0].moved, 0));
    pfc_shift_clear(&s[0]);
    pfc_shift_clear(&s[1]);
}

/* ---- sessions ---- */

/* A step of 3 % is followed through the same blocks whether values rise or fall. */
Test(mirror_search, a_session_visits_the_same_blocks_in_either_direction)
{
    const pfc_design_opts opts = { .builds = 6, .first = 1, .seed = 3 };
    pfc_design *x = NULL, *y = NULL;
    pfc_design_block a, b;
    size_t blocks = 0;
    pfc_rng rng;

    pfc_rng_seed(&rng, 11);
    cr_assert(eq(int, pfc_design_new(&opts, &x, NULL), PFC_OK));
    cr_assert(eq(int, pfc_design_new(&opts, &y, NULL), PFC_OK));
    cr_assert(pfc_design_series(x, false) == 0 && pfc_design_series(y, false) == 0);
    for (; blocks < 60 && pfc_design_next(x, &a); blocks++) {
        cr_assert(pfc_design_next(y, &b));
        cr_assert(a.len == b.len && a.number == b.number);
        cr_assert(zero(int, memcmp(a.builds, b.builds, a.len * sizeof a.builds[0])));
        for (uint32_t i = 0; i < a.len; i++) {
            pfc_visit v = { .build = (uint32_t)a.builds[i], .block = a.number, .position = i };

            v.value = exp((v.build >= 3 ? 0.03 : 0) + 0.01 * pfc_rng_normal(&rng));
            cr_assert(eq(int, pfc_design_add(x, 0, &v, NULL), PFC_OK));
            v.value = 1 / v.value;
            cr_assert(eq(int, pfc_design_add(y, 0, &v, NULL), PFC_OK));
        }
    }
    cr_assert(blocks > 4 && blocks < 60, "%zu", blocks);
    cr_assert(not(pfc_design_next(y, &b)));
    pfc_design_free(x);
    pfc_design_free(y);
}
