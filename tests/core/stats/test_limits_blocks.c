/* Limits and mirror images of sessions in blocks; the fit held to least squares where it is
 * nothing else. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/rng.h"
#include "core/blocks/blocks_priv.h"
#include "core/blocks/order_test.h"
#include "core/stats/dist.h"

#include "tests/core/stats/mirror.h"

#define VISITS_MAX 400

typedef struct session {
    pfc_visit visits[VISITS_MAX];
    size_t n;
} session;

static void add(session *s, uint32_t build, uint32_t block, uint32_t position, double value)
{
    s->visits[s->n++] = (pfc_visit){ build, block, position, value };
}

/* Rounds of all builds, the second block in an order of its own; logarithms of levels and of
 * noise. */
static void measure(session *s, const double *level, size_t builds, size_t rounds, double noise)
{
    pfc_rng rng;

    s->n = 0;
    pfc_rng_seed(&rng, 77);
    for (uint32_t block = 0; block < 2 * rounds; block++) {
        size_t order[PFC_BLOCK_BUILDS];

        for (size_t i = 0; i < builds; i++)
            order[i] = i;
        pfc_rng_shuffle(&rng, order, builds);
        for (uint32_t i = 0; i < builds; i++)
            add(s, (uint32_t)order[i], block, i,
                100 * exp(level[order[i]] + noise * pfc_rng_normal(&rng)));
    }
}

static pfc_blocks_fit judge(const session *s, const pfc_blocks_opts *opts)
{
    pfc_blocks_fit fit;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_blocks_judge(s->visits, s->n, opts, &fit, &err), PFC_OK), "%s", err.msg);
    return fit;
}

/* ---- input ---- */

static void check_refused(const pfc_visit *visits, size_t n, pfc_blocks_opts opts,
                          const char *field)
{
    pfc_blocks_fit fit;
    pfc_err err = { 0 };
    const pfc_code code = pfc_blocks_judge(visits, n, &opts, &fit, &err);

    cr_assert(eq(int, (int)code, field ? PFC_EINVAL : PFC_OK), "%s", err.msg);
    if (field)
        cr_assert(eq(str, (char *)err.field, (char *)field));
    pfc_blocks_fit_clear(&fit);
}

Test(limits_blocks, options_have_their_limits)
{
    const pfc_visit one = { 0, 0, 0, 1 };

    check_refused(NULL, 0, (pfc_blocks_opts){ .builds = 0 }, "builds");
    check_refused(NULL, 0, (pfc_blocks_opts){ .builds = 1 }, NULL);
    check_refused(NULL, 0, (pfc_blocks_opts){ .builds = 256, .exact = true }, NULL);
    check_refused(NULL, 0, (pfc_blocks_opts){ .builds = 257 }, "builds");
    check_refused(NULL, 0, (pfc_blocks_opts){ .builds = 3, .anchor = 2 }, NULL);
    check_refused(NULL, 0, (pfc_blocks_opts){ .builds = 3, .anchor = 3 }, "anchor");
    check_refused(NULL, 0, (pfc_blocks_opts){ .builds = 3, .first = 3 }, NULL);
    check_refused(NULL, 0, (pfc_blocks_opts){ .builds = 3, .first = 4 }, "first");
    check_refused(NULL, 0, (pfc_blocks_opts){ .builds = 3, .margin = -1e-9 }, "margin");
    check_refused(NULL, 0, (pfc_blocks_opts){ .builds = 3, .margin = (double)INFINITY }, "margin");
    check_refused(NULL, 0, (pfc_blocks_opts){ .builds = 3, .margin = (double)NAN }, "margin");
    check_refused(NULL, 0, (pfc_blocks_opts){ .builds = 3, .margin = 5 }, NULL);
    check_refused(NULL, 0, (pfc_blocks_opts){ .builds = 3, .alpha = -1e-9 }, "alpha");
    check_refused(NULL, 0, (pfc_blocks_opts){ .builds = 3, .alpha = 1 }, "alpha");
    check_refused(NULL, 0, (pfc_blocks_opts){ .builds = 3, .alpha = (double)NAN }, "alpha");
    check_refused(NULL, 0, (pfc_blocks_opts){ .builds = 3, .alpha = 0.999 }, NULL);
    /* Counted before any is read. */
    check_refused(&one, PFC_BLOCKS_MAX_VISITS + 1, (pfc_blocks_opts){ .builds = 3 }, "visits");
}

Test(limits_blocks, visits_have_their_limits)
{
    static const struct {
        pfc_visit visits[3];
        bool fine;
    } rows[] = {
        { { { 0, 0, 0, 1 }, { 1, 0, 1, 1 }, { 2, 0, 2, 1 } }, true },
        { { { 0, 0, 0, 1 }, { 1, 0, 1, 1 }, { 3, 0, 2, 1 } }, false },
        { { { 0, 0, 0, 1 }, { 1, 0, 1, 1 }, { 2, 0, 1, 1 } }, false },
        { { { 0, 0, 0, 1 }, { 1, 0, 1, 1 }, { 2, 1, 1, 1 } }, true },
        { { { 0, 0, 0, 1 }, { 1, 0, 1, 1 }, { 0, 0, 2, 1 } }, false },
        { { { 0, 0, 0, 1 }, { 1, 0, 1, 1 }, { 0, 1, 2, 1 } }, true },
        { { { 0, 0, 0, 0 }, { 1, 0, 1, 1 }, { 2, 0, 2, 1 } }, false },
        { { { 0, 0, 0, -1 }, { 1, 0, 1, 1 }, { 2, 0, 2, 1 } }, false },
        { { { 0, 0, 0, (double)INFINITY }, { 1, 0, 1, 1 }, { 2, 0, 2, 1 } }, false },
        { { { 0, 0, 0, (double)NAN }, { 1, 0, 1, 1 }, { 2, 0, 2, 1 } }, false },
        { { { 0, 0, 0, 1e-300 }, { 1, 0, 1, 1e300 }, { 2, 0, 2, 1 } }, true },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++)
        check_refused(rows[i].visits, 3, (pfc_blocks_opts){ .builds = 3, .exact = true },
                      rows[i].fine ? NULL : "visits");
    for (uint32_t len = 8; len <= 9; len++) {
        session s = { .n = 0 };

        for (uint32_t i = 0; i < len; i++)
            add(&s, i, 4, i, 1);
        check_refused(s.visits, s.n, (pfc_blocks_opts){ .builds = 9, .exact = true },
                      len == 8 ? NULL : "visits");
    }
}

Test(limits_blocks, a_session_has_at_most_a_hundred_thousand_visits)
{
    const pfc_blocks_opts opts = { .builds = 8, .exact = true };
    pfc_visit *visits = pfc_calloc(PFC_BLOCKS_MAX_VISITS, sizeof *visits);
    pfc_blocks_fit fit;

    for (uint32_t i = 0; i < PFC_BLOCKS_MAX_VISITS; i++)
        visits[i] = (pfc_visit){ i % 8, i / 8, i % 8, 1 + i % 8 };
    cr_assert(eq(int, pfc_blocks_judge(visits, PFC_BLOCKS_MAX_VISITS, &opts, &fit, NULL), PFC_OK));
    cr_assert(eq(sz, fit.levels[7].visits, PFC_BLOCKS_MAX_VISITS / 8));
    pfc_blocks_fit_clear(&fit);
    free(visits);
}

/* ---- without noise ---- */

Test(limits_blocks, exact_builds_by_hand)
{
    static const bool gap[] = { false, false, false, true, false };
    const pfc_blocks_opts opts = {
        .builds = 5, .anchor = 1, .first = 2, .gap = gap, .exact = true
    };
    session s = { .n = 0 };
    pfc_blocks_fit fit;

    /* Build 2 has no visit; the gap before it is none, the one before 3 lies between 1 and 3. */
    add(&s, 0, 0, 0, 80);
    for (uint32_t i = 0; i < 4; i++)
        add(&s, 1, i, 1, 100);
    for (uint32_t i = 0; i < 5; i++)
        add(&s, 3, i, 2, 110);
    add(&s, 4, 0, 3, 110);
    fit = judge(&s, &opts);
    cr_assert(eq(sz, fit.levels_len, 5));
    cr_assert(fit.levels[0].ratio == 0.8 && fit.levels[1].ratio == 1 && isnan(fit.levels[2].ratio));
    cr_assert(fit.levels[3].visits == 5 && fit.levels[3].median == 110);
    cr_assert(fit.levels[3].low == 1.1 && fit.levels[3].high == 1.1 && fit.levels[3].log_se == 0);
    cr_assert(eq(sz, fit.boundaries_len, 2));
    const pfc_boundary *b = &fit.boundaries[0];

    cr_assert(b->from == 1 && b->to == 3 && b->gap);
    cr_assert(b->place_from == 1 && b->place_to == 3);
    cr_assert(epsilon_eq(dbl, b->rel_change, 0.1, 1e-12));
    cr_assert(b->rel_low == b->rel_change && b->rel_high == b->rel_change);
    cr_assert(b->any_low == b->rel_change && b->any_high == b->rel_change);
    cr_assert(eq(int, (int)b->verdict, PFC_VERDICT_DIFFERENT));
    cr_assert(b->screen_p == 0 && isnan(b->p) && b->rounds == 2);
    b = &fit.boundaries[1];
    cr_assert(b->from == 3 && b->to == 4 && b->rel_change == 0 && b->rounds == 0);
    cr_assert(b->screen_p == 1 && !b->gap);
    cr_assert(eq(int, (int)b->verdict, PFC_VERDICT_SAME));
    cr_assert(eq(dbl, fit.noise_rel, 0));
    pfc_blocks_fit_clear(&fit);
    pfc_blocks_fit_clear(NULL);
}

/* ---- the fit ---- */

/* Six visits, below the least that states are looked for in, with residuals of the same size, so
 * that all weights are 1: ordinary least squares. Three builds in two blocks: effects are
 * differences of means, 6 - 2 - 2 degrees of freedom, and a difference has the variance 2 / 2
 * sigma^2. */
Test(limits_blocks, few_even_visits_are_fitted_by_least_squares)
{
    static const double off[2][3] = { { 0.001, -0.002, 0.001 }, { -0.001, 0.002, -0.001 } };
    static const double level[] = { 0.5, 0.53, 0.49 };
    session s = { .n = 0 };
    const pfc_blocks_opts opts = { .builds = 3 };
    pfc_blocks_fit fit;

    for (uint32_t block = 0; block < 2; block++) {
        for (uint32_t i = 0; i < 3; i++)
            add(&s, i, block, i, exp(level[i] + 0.2 * block + off[block][i]));
    }
    fit = judge(&s, &opts);
    const double sigma = sqrt((4 * 0.001 * 0.001 + 2 * 0.002 * 0.002) / 2);
    const double half = pfc_stats_student_cut(0.05, 2) * sigma;

    cr_assert(epsilon_eq(dbl, fit.noise_rel, expm1(sigma), 1e-12));
    cr_assert(eq(sz, fit.moves, 0));
    for (size_t i = 1; i < 3; i++) {
        cr_assert(epsilon_eq(dbl, fit.levels[i].ratio, exp(level[i] - 0.5), 1e-12));
        cr_assert(epsilon_eq(dbl, fit.levels[i].log_se, sigma, 1e-12));
        cr_assert(epsilon_eq(dbl, fit.levels[i].low, exp(level[i] - 0.5 - half), 1e-12));
        cr_assert(epsilon_eq(dbl, fit.levels[i].high, exp(level[i] - 0.5 + half), 1e-12));
        cr_assert(epsilon_eq(dbl, fit.boundaries[i - 1].rel_change, expm1(level[i] - level[i - 1]),
                             1e-12));
        cr_assert(epsilon_eq(dbl, fit.boundaries[i - 1].rel_low,
                             expm1(level[i] - level[i - 1] - half), 1e-12));
        cr_assert(epsilon_eq(dbl, fit.boundaries[i - 1].rel_high,
                             expm1(level[i] - level[i - 1] + half), 1e-12));
    }
    cr_assert(fit.levels[0].ratio == 1 && fit.levels[0].low == 1 && fit.levels[0].high == 1);
    cr_assert(eq(dbl, fit.levels[0].log_se, 0));
    pfc_blocks_fit_clear(&fit);
}

/* Builds that never shared a block have no ratio to each other. */
Test(limits_blocks, builds_that_never_met_are_not_compared)
{
    session s = { .n = 0 };
    const pfc_blocks_opts opts = { .builds = 4 };
    pfc_blocks_fit fit;

    for (uint32_t block = 0; block < 8; block++) {
        const uint32_t pair = block % 2 * 2;

        add(&s, pair, block, 0, 100 + block);
        add(&s, pair + 1, block, 1, 100.5 + block);
    }
    fit = judge(&s, &opts);
    cr_assert(isfinite(fit.levels[1].ratio));
    cr_assert(isnan(fit.levels[2].ratio) && isnan(fit.levels[3].ratio));
    cr_assert(isinf(fit.boundaries[1].rel_high) && fit.boundaries[1].rel_low == -1);
    cr_assert(isfinite(fit.boundaries[2].rel_low));
    pfc_blocks_fit_clear(&fit);
}

/* Two builds alone: a step's p is Student's, by the fit's own standard error; many: p of both
 * tests, doubled. */
Test(limits_blocks, looks_put_their_tests_together)
{
    static const double level[] = { 0, 0, 0, 0.02, 0.02, 0.02 };

    for (size_t builds = 2; builds <= 6; builds += 4) {
        const pfc_blocks_opts opts = { .builds = builds };
        const pfc_seq_opts pair = { 0 };
        static session s;
        pfc_orders *orders = pfc_orders_new();
        pfc_spot *spots;
        pfc_boundary_test *looks;
        pfc_twoway fit;
        size_t len;

        measure(&s, builds == 2 ? level + 2 : level, builds, 8, 0.01);
        cr_assert(eq(int, pfc_spots_sort(s.visits, s.n, &opts, &spots, NULL), PFC_OK));
        pfc_orders_take(orders, spots, s.n);
        looks = pfc_blocks_test_boundaries(spots, s.n, &opts, orders, NULL, 0, &fit, &len);
        cr_assert(eq(sz, len, builds - 1));
        for (size_t k = 0; k < len; k++) {
            const pfc_boundary_test *at = &looks[k];
            size_t n;
            pfc_round *rounds = pfc_rounds_of(spots, s.n, (uint32_t)k, (uint32_t)k + 1, &n);

            cr_assert(at->from == k && at->to == k + 1 && at->rounds == 8 && n == 8);
            cr_assert(eq(dbl, at->pair_p, pfc_rounds_p(rounds, n, &pair)));
            cr_assert(eq(dbl, at->p,
                         builds == 2 ? at->pair_p : fmin(1, 2 * fmin(at->pair_p, at->order_p))));
            cr_assert(eq(dbl, at->log_change, fit.effect[k + 1] - fit.effect[k]));
            cr_assert(eq(dbl, at->log_se, pfc_twoway_se(&fit, k, k + 1)));
            free(rounds);
        }
        if (builds == 2) {
            cr_assert(epsilon_eq(dbl, looks[0].step.rel, looks[0].log_change, 1e-12));
            cr_assert(epsilon_eq(dbl, looks[0].step.se, looks[0].log_se, 1e-9));
            cr_assert(epsilon_eq(
                dbl, looks[0].step.p,
                pfc_stats_student_tail2(looks[0].log_change / looks[0].log_se, fit.dof), 1e-9));
        } else {
            /* The step of 2 % is seen where it is, by the stretch that it divides. */
            cr_assert(looks[2].step.chosen && looks[2].decided);
            cr_assert(lt(dbl, looks[2].order_p, 1e-3));
            cr_assert(epsilon_eq(dbl, looks[2].step.rel, 0.02, 0.004));
        }
        free(looks);
        free(spots);
        pfc_orders_free(orders);
        pfc_twoway_clear(&fit);
    }
}

/* A stretch of two boundaries and more is tested at its clearest step if that has a p of 0.2 at
 * most; it is reported if p times the boundaries is alpha at most, and each part is tested then at
 * twice the p. */
Test(limits_blocks, stretches_are_divided_at_their_clearest_step)
{
    static const double level[] = { 0, 0, 0.03, 0.03, 0.03, 0.03 };
    const pfc_blocks_opts opts = { .builds = 6 };
    pfc_orders *orders = pfc_orders_new();
    static session s;
    pfc_spot *spots;
    double whole, right;

    measure(&s, level, 6, 8, 0.008);
    cr_assert(eq(int, pfc_spots_sort(s.visits, s.n, &opts, &spots, NULL), PFC_OK));
    pfc_orders_take(orders, spots, s.n);
    whole = pfc_orders_p(orders, 0, 5, 2);
    right = pfc_orders_p(orders, 2, 5, 4);
    for (int k = 0; k < 8; k++) {
        pfc_boundary_test looks[5];
        double alpha = 0.01;

        for (size_t i = 0; i < 5; i++)
            looks[i] = (pfc_boundary_test){ .from = i,
                                            .to = i + 1,
                                            .step = { .p = 0.9, .place_low = i, .place_high = i } };
        looks[1].step.p = k == 1 ? 0.2000001 : 0.2;
        looks[3].step.p = k == 2 ? 0.19 : 0.205;
        looks[3].step.chosen = k == 3; /* chosen goes before clear, but is not clear enough */
        looks[4].gap = k == 4;
        looks[0].gap = k == 5;
        alpha = k == 6 ? 5 * whole * 0.999 : k == 7 ? 5 * whole * 1.001 : alpha;
        pfc_stretches_divide(orders, looks, 0, 5, alpha);
        for (size_t i = 0; i < 5 && k != 2; i++)
            cr_assert(eq(int, looks[i].decided, i == 1 && (k == 0 || k == 4 || k == 5 || k == 7)),
                      "case %d, look %zu: %g", k, i, looks[i].order_p);
        if (k == 0 || k == 6 || k == 7)
            cr_assert(epsilon_eq(dbl, looks[1].order_p, whole, 1e-9 * whole));
        if (k == 1 || k == 3)
            cr_assert(eq(dbl, looks[1].order_p, 1));
        if (k == 2)
            cr_assert(epsilon_eq(dbl, looks[3].order_p, pfc_orders_p(orders, 0, 5, 4), 1e-9));
    }
    /* In the part after a reported step, p counts twice. */
    pfc_boundary_test looks[5];

    for (size_t i = 0; i < 5; i++)
        looks[i] = (pfc_boundary_test){ .from = i,
                                        .to = i + 1,
                                        .step = { .p = i == 1   ? 1e-9
                                                       : i == 3 ? 0.1
                                                                : 0.9,
                                                  .place_low = i,
                                                  .place_high = i } };
    pfc_stretches_divide(orders, looks, 0, 5, 0.01);
    cr_assert(looks[1].decided && looks[1].order_p < 0.002);
    cr_assert(epsilon_eq(dbl, looks[3].order_p, 2 * right, 1e-9));
    cr_assert(not(looks[3].decided));
    free(spots);
    pfc_orders_free(orders);
}

/* Visits between, of other builds, count as gaps; a round with one visit missing is none. */
Test(limits_blocks, rounds_are_two_visits_of_each_build)
{
    static const struct {
        uint32_t build, block, position;
    } visits[] = { { 0, 0, 0 }, { 5, 0, 1 }, { 1, 0, 2 }, { 1, 1, 0 }, { 5, 1, 1 },
                   { 5, 1, 2 }, { 0, 1, 3 }, { 0, 2, 0 }, { 1, 2, 1 }, { 1, 3, 0 },
                   { 1, 4, 0 }, { 0, 4, 1 }, { 0, 5, 0 }, { 1, 5, 1 }, { 0, 7, 0 } };
    pfc_spot spots[15];
    pfc_round *rounds;
    size_t len;

    for (size_t i = 0; i < 15; i++)
        spots[i] = (pfc_spot){ visits[i].build, visits[i].block, visits[i].position, 1, (double)i };
    rounds = pfc_rounds_of(spots, 15, 0, 1, &len);
    cr_assert(eq(sz, len, 2));
    static const uint32_t gaps[2][4] = { { 1, 2, 1, 3 }, { 1, 1, 1, 1 } };
    static const bool to[2][4] = { { false, true, true, false }, { true, false, false, true } };
    static const double y[2][4] = { { 0, 2, 3, 6 }, { 10, 11, 12, 13 } };

    for (size_t r = 0; r < 2; r++) {
        for (size_t k = 0; k < 4; k++) {
            cr_assert(eq(int, (int)rounds[r].gap[k], (int)gaps[r][k]));
            cr_assert(eq(int, rounds[r].to[k], to[r][k]));
            cr_assert(eq(dbl, rounds[r].y[k], y[r][k]));
        }
    }
    free(rounds);
}

/* ---- mirror images ---- */

/* Inverse values: every ratio and change is inverted. The filters' grids begin at the lowest
 * value, and levels of the machine are joined from the lowest on, so the images are near and not
 * equal. */
Test(limits_blocks, inverse_values_give_the_mirrored_judgement)
{
    static const double level[] = { 0, 0, 0, 0.03, 0.03, 0.03 };

    for (size_t builds = 2; builds <= 6; builds += 4) {
        const pfc_blocks_opts opts = { .builds = builds };
        static session s, inverse;
        pfc_blocks_fit up, down;

        measure(&s, builds == 2 ? level + 2 : level, builds, 10, 0.006);
        inverse = s;
        for (size_t i = 0; i < s.n; i++)
            inverse.visits[i].value = 1 / s.visits[i].value;
        up = judge(&s, &opts);
        down = judge(&inverse, &opts);
        cr_assert(near_to(up.noise_rel, down.noise_rel, 1e-3));
        for (size_t b = 0; b < builds; b++) {
            const pfc_block_level *x = &up.levels[b], *y = &down.levels[b];

            cr_assert(near_to(x->ratio * y->ratio, 1, 1e-3), "%g, %g", x->ratio, y->ratio);
            cr_assert(near_to(x->low * y->high, 1, 1e-3), "%g, %g", x->low, y->high);
            cr_assert(near_to(x->high * y->low, 1, 1e-3));
        }
        cr_assert(eq(sz, up.boundaries_len, down.boundaries_len));
        for (size_t k = 0; k < up.boundaries_len; k++) {
            const pfc_boundary *x = &up.boundaries[k], *y = &down.boundaries[k];
            const bool step = k == (builds == 2 ? 0 : 2);

            cr_assert(eq(int, (int)x->verdict, (int)y->verdict));
            cr_assert(eq(int, x->verdict == PFC_VERDICT_DIFFERENT, step));
            cr_assert(eq(int, x->by_order, y->by_order));
            cr_assert(x->place_from == y->place_from && x->place_to == y->place_to);
            cr_assert(opposite(x->rel_change, y->rel_change, 1e-3));
            cr_assert(opposite(x->rel_low, y->rel_high, 1e-3));
            cr_assert(opposite(x->rel_high, y->rel_low, 1e-3));
            cr_assert(opposite(x->any_low, y->any_high, 1e-3), "%g, %g", x->any_low, y->any_high);
            cr_assert(opposite(x->any_high, y->any_low, 1e-3), "%g, %g", x->any_high, y->any_low);
            cr_assert(near_to(log(x->p), log(y->p), 0.3), "%g, %g", x->p, y->p);
        }
        pfc_blocks_fit_clear(&up);
        pfc_blocks_fit_clear(&down);
    }
}

/* History backwards: build b becomes the last but b; boundaries change their order and their
 * sign. */
Test(limits_blocks, history_backwards_gives_the_mirrored_judgement)
{
    static const double level[] = { 0, 0, 0.03, 0.03, 0.03, 0.03 };
    const pfc_blocks_opts forth = { .builds = 6 };
    const pfc_blocks_opts back = { .builds = 6, .anchor = 5 };
    static session s, turned;
    pfc_blocks_fit x, y;

    measure(&s, level, 6, 10, 0.006);
    turned = s;
    for (size_t i = 0; i < s.n; i++)
        turned.visits[i].build = 5 - s.visits[i].build;
    x = judge(&s, &forth);
    y = judge(&turned, &back);
    for (size_t k = 0; k < 5; k++) {
        const pfc_boundary *a = &x.boundaries[k], *b = &y.boundaries[4 - k];

        cr_assert(eq(int, (int)a->verdict, (int)b->verdict));
        cr_assert(eq(int, a->verdict == PFC_VERDICT_DIFFERENT, k == 1));
        cr_assert(a->place_from == 5 - b->place_to && a->place_to == 5 - b->place_from);
        cr_assert(opposite(a->rel_change, b->rel_change, 1e-3));
        cr_assert(opposite(a->rel_low, b->rel_high, 1e-3));
        cr_assert(opposite(a->rel_high, b->rel_low, 1e-3));
        cr_assert(opposite(a->any_low, b->any_high, 2e-3), "%g, %g", a->any_low, b->any_high);
        cr_assert(opposite(a->any_high, b->any_low, 2e-3), "%g, %g", a->any_high, b->any_low);
    }
    for (size_t b = 0; b < 6; b++) {
        cr_assert(near_to(x.levels[b].ratio, y.levels[5 - b].ratio, 1e-3));
        cr_assert(near_to(x.levels[b].median, y.levels[5 - b].median, 1e-12));
    }
    pfc_blocks_fit_clear(&x);
    pfc_blocks_fit_clear(&y);
}
