/* Limits of confirmations, sessions and queues. */
#include <math.h>
#include <string.h>

#include "core/base/rng.h"
#include "core/bisect/confirm.h"
#include "core/blocks/design_priv.h"
#include "core/queue/wait.h"

#include "tests/check/check.h"

/* ---- confirmation ---- */

static pfc_confirm_result confirm(pfc_confirm_opts opts, double change, double noise)
{
    pfc_confirm *c = NULL;
    pfc_confirm_step next;
    pfc_confirm_result r;
    pfc_rng rng;

    pfc_rng_seed(&rng, 2);
    cr_assert(eq(int, pfc_confirm_new(&c, &opts, NULL), PFC_OK));
    while (pfc_confirm_next(c, &next)) {
        const double v = (next.after ? 1 + change : 1) * exp(noise * pfc_rng_normal(&rng));

        cr_assert(eq(int, pfc_confirm_add_value(c, v, NULL), PFC_OK));
    }
    pfc_confirm_result_get(c, &r);
    pfc_confirm_free(c);
    return r;
}

/* Equal pairs by the floor of noise alone: after four the interval is 0.00167 wide to each side,
 * after five 0.0005. So 0.8 % is no change while a third of the stated one is above 0.97 %, and
 * nothing is shown at 0.1 % with four. */
Test(limits_sessions, a_third_of_the_stated_change_is_none)
{
    cr_assert(eq(int, (int)confirm((pfc_confirm_opts){ .expected_rel = 0.0291 }, 0.008, 0).verdict,
                 PFC_CONFIRM_REFUTED));
    cr_assert(eq(int, (int)confirm((pfc_confirm_opts){ .expected_rel = -0.0291 }, 0.008, 0).verdict,
                 PFC_CONFIRM_REFUTED));
    cr_assert(eq(int, (int)confirm((pfc_confirm_opts){ .expected_rel = 0.0289 }, 0.008, 0).verdict,
                 PFC_CONFIRM_CONFIRMED));
    cr_assert(eq(sz, confirm((pfc_confirm_opts){ .expected_rel = 0.03 }, 0, 0).pairs, 4));
    cr_assert(eq(sz, confirm((pfc_confirm_opts){ .expected_rel = 0 }, 0, 0).pairs, 5));
    cr_assert(eq(sz, confirm((pfc_confirm_opts){ .expected_rel = 0 }, 0, 3).pairs, 60));
    cr_assert(eq(sz, confirm((pfc_confirm_opts){ .max_pairs = 7 }, 0, 3).pairs, 7));
    cr_assert(eq(int, (int)confirm((pfc_confirm_opts){ .max_pairs = 7 }, 0, 3).verdict,
                 PFC_CONFIRM_OPEN));
}

Test(limits_sessions, options_of_a_confirmation_have_their_limits)
{
    static const struct {
        pfc_confirm_opts opts;
        const char *field;
    } rows[] = { { { .max_pairs = PFC_CONFIRM_MAX_PAIRS }, NULL },
                 { { .max_pairs = PFC_CONFIRM_MAX_PAIRS + 1 }, "max_pairs" },
                 { { .expected_rel = -1 }, "expected_rel" },
                 { { .expected_rel = -0.999 }, NULL },
                 { { .expected_rel = (double)INFINITY }, "expected_rel" },
                 { { .alpha = 1.9 }, NULL },
                 { { .alpha = 2 }, "alpha" } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        pfc_confirm *c = NULL;
        pfc_err err = { 0 };

        cr_assert(eq(int, (int)pfc_confirm_new(&c, &rows[i].opts, &err),
                     rows[i].field ? PFC_EINVAL : PFC_OK));
        if (rows[i].field)
            cr_assert(eq(str, (char *)err.field, (char *)rows[i].field));
        pfc_confirm_free(c);
    }
    cr_assert(eq(str, (char *)pfc_confirm_verdict_name(PFC_CONFIRM_OPEN), "open"));
    cr_assert(eq(str, (char *)pfc_confirm_verdict_name(PFC_CONFIRM_CONFIRMED), "confirmed"));
    cr_assert(eq(str, (char *)pfc_confirm_verdict_name(PFC_CONFIRM_REFUTED), "refuted"));
}

/* With rebuilt layouts each pair has a number of its own, from the first; a block is a b b a. */
Test(limits_sessions, pairs_of_a_confirmation_have_their_builds_and_order)
{
    for (int relink = 0; relink < 2; relink++) {
        const pfc_confirm_opts opts = { .relink = relink, .first_build = 7, .seed = 3 };
        pfc_confirm *c = NULL;
        pfc_confirm_step next;
        bool after[8];

        cr_assert(eq(int, pfc_confirm_new(&c, &opts, NULL), PFC_OK));
        for (size_t run = 0; run < 8; run++) {
            cr_assert(pfc_confirm_next(c, &next));
            cr_assert(eq(int, (int)next.build, relink ? 7 + (int)(run / 2) : 0));
            after[run] = next.after;
            cr_assert(
                eq(int, pfc_confirm_add_value(c, 1 + 0.3 * (double)(run * 5 % 7), NULL), PFC_OK));
        }
        for (size_t block = 0; block < 8; block += 4) {
            cr_assert(after[block] != after[block + 1] && after[block] == after[block + 3]);
            cr_assert(after[block + 1] == after[block + 2]);
        }
        pfc_confirm_free(c);
    }
}

/* ---- sessions ---- */

Test(limits_sessions, options_of_a_session_have_their_limits)
{
    static const struct {
        pfc_design_opts opts;
        const char *field;
    } rows[] = { { { .builds = 1 }, NULL },
                 { { .builds = PFC_BLOCKS_MAX_BUILDS }, NULL },
                 { { .builds = PFC_BLOCKS_MAX_BUILDS + 1 }, "builds" },
                 { { .builds = 0 }, "builds" },
                 { { .builds = 2, .anchor = 1 }, NULL },
                 { { .builds = 2, .anchor = 2 }, "anchor" },
                 { { .builds = 2, .first = 2 }, NULL },
                 { { .builds = 2, .first = 3 }, "anchor" },
                 { { .builds = 2, .alpha = 0.999 }, NULL },
                 { { .builds = 2, .alpha = 1 }, "margin" },
                 { { .builds = 2, .alpha = -1e-9 }, "margin" },
                 { { .builds = 2, .margin = (double)INFINITY }, "margin" },
                 { { .builds = 2, .margin = -1e-9 }, "margin" },
                 { { .builds = 2, .budget_s = -1e-9 }, "margin" },
                 { { .builds = 2, .budget_s = (double)INFINITY }, NULL } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        pfc_design *d = NULL;
        pfc_err err = { 0 };

        cr_assert(eq(int, (int)pfc_design_new(&rows[i].opts, &d, &err),
                     rows[i].field ? PFC_EINVAL : PFC_OK),
                  "row %zu", i);
        if (rows[i].field) {
            cr_assert(eq(str, (char *)err.field, (char *)rows[i].field));
            continue;
        }
        cr_assert(eq(dbl, d->opts.margin, rows[i].opts.margin > 0 ? rows[i].opts.margin : 0.03));
        cr_assert(eq(dbl, d->opts.alpha, rows[i].opts.alpha > 0 ? rows[i].opts.alpha : 0.01));
        cr_assert(eq(sz, d->opts.most_rounds, 200));
        pfc_design_free(d);
    }
}

/* Three builds: the second block is the first in reverse, always. Four: an order of its own. Two
 * rounds of all. */
Test(limits_sessions, the_second_block_has_an_order_of_its_own_from_four_builds_on)
{
    for (size_t builds = 2; builds <= 5; builds++) {
        size_t reversed = 0, rounds = 0;

        for (uint64_t seed = 0; seed < 30; seed++) {
            const pfc_design_opts opts = { .builds = builds, .seed = seed };
            pfc_design *d = NULL;
            pfc_design_block a, b;

            cr_assert(eq(int, pfc_design_new(&opts, &d, NULL), PFC_OK));
            cr_assert(eq(sz, d->planned_len, 2));
            for (uint32_t r = 0; pfc_design_next(d, &a); r++, rounds++) {
                bool same = true;

                cr_assert(pfc_design_next(d, &b));
                cr_assert(a.number == 2 * r && b.number == 2 * r + 1 && a.len == builds);
                for (size_t i = 0; i < builds; i++)
                    same = same && a.builds[i] == b.builds[builds - 1 - i];
                reversed += same;
            }
            pfc_design_free(d);
        }
        cr_assert(eq(sz, rounds, 60)); /* no series: nothing is open after the rounds of all */
        cr_assert(builds < 4 ? reversed == rounds : reversed < rounds / 3, "%zu: %zu of %zu",
                  builds, reversed, rounds);
    }
}

/* The budget is spent when it is met exactly; a round that began is finished. Durations that are
 * not finite are ignored. */
Test(limits_sessions, a_budget_that_is_met_exactly_is_spent)
{
    for (int over = 0; over < 2; over++) {
        const pfc_design_opts opts = { .builds = 3, .budget_s = 10 };
        pfc_design *d = NULL;
        pfc_design_block block;

        cr_assert(eq(int, pfc_design_new(&opts, &d, NULL), PFC_OK));
        cr_assert(pfc_design_next(d, &block));
        pfc_design_spent(d, 0, (double)NAN);
        pfc_design_spent(d, 0, -1);
        pfc_design_spent(d, 0, (double)INFINITY);
        pfc_design_spent(d, 0, 4);
        pfc_design_spent(d, 99, over ? 6 : 5.999); /* of no build, but spent */
        cr_assert(epsilon_eq(dbl, pfc_design_total_s(d), over ? 10 : 9.999, 1e-12));
        cr_assert(pfc_design_next(d, &block));
        cr_assert(eq(int, pfc_design_next(d, &block), !over));
        pfc_design_free(d);
    }
}

/* Seconds are asked for boundaries of builds from the first on that are measured and open; of no
 * other. */
Test(limits_sessions, only_open_boundaries_need_further_seconds)
{
    const pfc_design_opts opts = { .builds = 5, .first = 2, .seed = 1 };
    pfc_design *d = NULL;
    pfc_design_block block;
    pfc_err err = { 0 };
    pfc_rng rng;

    pfc_rng_seed(&rng, 1);
    cr_assert(eq(int, pfc_design_new(&opts, &d, NULL), PFC_OK));
    cr_assert(eq(int, pfc_design_add(d, 0, &(pfc_visit){ .value = 1 }, &err), PFC_EINVAL));
    cr_assert(pfc_design_wants(d, 0), "a series that is not known is wanted");
    cr_assert(eq(sz, pfc_design_series(d, false), 0));
    for (int k = 0; k < 4 && pfc_design_next(d, &block); k++) {
        for (uint32_t i = 0; i < block.len; i++) {
            const pfc_visit v = { (uint32_t)block.builds[i], block.number, i,
                                  exp(0.05 * pfc_rng_normal(&rng)) };

            cr_assert(eq(int, pfc_design_add(d, 0, &v, NULL), PFC_OK));
            pfc_design_spent(d, block.builds[i], 3);
        }
    }
    for (size_t b = 0; b < 7; b++) {
        const double s = pfc_design_needs_s(d, b);

        cr_assert(eq(int, s > 0, b >= 2 && b < 5), "%zu: %g", b, s);
        /* Whole rounds of two visits of each build, three seconds a visit. */
        cr_assert(isinf(s) || fmod(s + 1e-9, 12) < 1e-6, "%g", s);
    }
    cr_assert(
        eq(int, pfc_design_add(d, 0, &(pfc_visit){ .build = 5, .value = 1 }, &err), PFC_EINVAL));
    cr_assert(
        eq(int, pfc_design_add(d, 1, &(pfc_visit){ .build = 4, .value = 1 }, &err), PFC_EINVAL));
    cr_assert(
        eq(int, pfc_design_add(d, 0, &(pfc_visit){ .build = 4, .value = 0 }, &err), PFC_EINVAL));
    cr_assert(eq(str, (char *)err.field, "value"));
    /* A build that is left out has no boundary, and its visits are not counted any longer. */
    const size_t before = d->series[0].len;

    pfc_design_drop(d, 5);
    cr_assert(eq(sz, d->series[0].len, before));
    pfc_design_drop(d, 3);
    cr_assert(eq(sz, d->series[0].len, before - before / 5));
    cr_assert(eq(dbl, pfc_design_needs_s(d, 3), 0));
    cr_assert(eq(int, pfc_design_add(d, 0, &(pfc_visit){ .build = 3, .value = 1 }, &err), PFC_OK));
    cr_assert(eq(sz, d->series[0].len, before - before / 5));
    /* Series that cannot be judged are forgotten; one that is not known is none. */
    pfc_design_forget(d, 1);
    cr_assert(eq(sz, d->series[0].len, before - before / 5));
    pfc_design_forget(d, 0);
    cr_assert(eq(sz, d->series[0].len, 0));
    pfc_design_free(d);
}

/* Groups of at most eight that each hold the link; eight builds are one group. */
Test(limits_sessions, builds_are_dealt_to_groups_of_eight)
{
    static const size_t rows[][2] = { { 1, 1 },  { 8, 1 },  { 9, 2 },
                                      { 15, 2 }, { 16, 3 }, { 256, 37 } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        static pfc_design_group groups[PFC_BLOCKS_MAX_BUILDS];
        const size_t builds = rows[i][0], link = builds / 2;
        size_t seen[PFC_BLOCKS_MAX_BUILDS] = { 0 };
        pfc_rng rng;

        pfc_rng_seed(&rng, 1);
        cr_assert(eq(sz, pfc_design_deal(builds, link, &rng, groups), rows[i][1]));
        for (size_t g = 0; g < rows[i][1]; g++) {
            cr_assert(groups[g].len >= 1 && groups[g].len <= PFC_BLOCK_BUILDS);
            for (size_t k = 0; k < groups[g].len; k++)
                seen[groups[g].builds[k]]++;
        }
        for (size_t b = 0; b < builds; b++)
            cr_assert(eq(sz, seen[b], b == link ? rows[i][1] : 1), "%zu of %zu", b, builds);
    }
}

/* The builds around a reported step, at most eight, and as many on either side as there
 * are. */
Test(limits_sessions, a_round_takes_the_eight_builds_around_a_step)
{
    static const struct {
        size_t at, low, high; /* looks */
        size_t first, len;    /* builds */
    } rows[] = { { 6, 5, 7, 5, 4 },  { 6, 3, 9, 3, 8 },   { 6, 3, 10, 3, 8 }, { 6, 2, 9, 3, 8 },
                 { 0, 0, 11, 0, 8 }, { 11, 0, 11, 5, 8 }, { 4, 0, 11, 1, 8 }, { 7, 0, 11, 4, 8 } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        pfc_boundary_test looks[12];
        bool placing[12] = { false }, none[12] = { false };
        pfc_design_one one = {
            .looks = looks, .looks_len = 12, .open = placing, .suspect = none, .placing = placing
        };
        const pfc_design d = { .series = &one, .series_len = 1 };
        pfc_design_group g;

        for (size_t k = 0; k < 12; k++)
            looks[k] = (pfc_boundary_test){ .from = k, .to = k + 1, .step = { .p = 0.5 } };
        placing[rows[i].at] = true;
        looks[rows[i].at].step.place_low = rows[i].low;
        looks[rows[i].at].step.place_high = rows[i].high;
        cr_assert(pfc_design_focus(&d, &g));
        cr_assert(eq(sz, g.len, rows[i].len), "row %zu", i);
        for (size_t k = 0; k < g.len; k++)
            cr_assert(eq(sz, g.builds[k], rows[i].first + k), "row %zu", i);
        /* A suspected step is looked at from as many builds of its stretch on either side, four
         * at most and one more where there are few. */
        memset(placing, 0, sizeof placing);
        cr_assert(not(pfc_design_focus(&d, &g)));
        none[rows[i].at] = true;
        looks[3].gap = looks[9].decided = true;
        cr_assert(pfc_design_focus(&d, &g));
        static const size_t beside[][2] = { { 4, 6 }, { 4, 6 },  { 4, 6 }, { 4, 6 },
                                            { 0, 3 }, { 10, 3 }, { 4, 3 }, { 5, 5 } };

        cr_assert(eq(sz, g.builds[0], beside[i][0]), "row %zu: %zu", i, g.builds[0]);
        cr_assert(eq(sz, g.len, beside[i][1]), "row %zu: %zu", i, g.len);
    }
}

/* ---- waits ---- */

/* A kind with n finished jobs has a factor of exp(N(0, 0.5) / sqrt(n)): the 10 % and 90 %
 * quantiles of what follows one of its jobs lie 2.563 deviations apart, in 64 rounds within a
 * fifth of that. A known duration has no such factor. */
Test(limits_sessions, few_finished_jobs_have_a_factor_of_their_own)
{
    static const double past[] = { 10, 10, 10, 10 };
    static const bool fits[] = { true };
    static const pfc_wait_job jobs[2] = { { 0 } };
    static const pfc_wait_slot slot = { 0 };

    for (size_t n = 1; n <= 4; n += 3) {
        for (int known = 0; known < 2; known++) {
            const pfc_wait_history history = { past, n, known };
            const pfc_wait_queue queue = { .jobs = jobs,
                                           .jobs_len = 2,
                                           .slots = &slot,
                                           .slots_len = 1,
                                           .fits = fits,
                                           .fits_len = 1,
                                           .histories = &history,
                                           .histories_len = 1,
                                           .seed = 3 };
            const double sd = known ? 0 : 0.5 / sqrt((double)n);
            pfc_wait out[2];

            cr_assert(eq(int, pfc_wait_estimate(&queue, out, NULL), PFC_OK));
            cr_assert(out[0].low_s == 0 && out[0].high_s == 0);
            cr_assert(epsilon_eq(dbl, log(out[1].high_s / out[1].low_s), 2.563 * sd, 0.5 * sd));
            cr_assert(epsilon_eq(dbl, log(out[1].middle_s / 10), 0, 0.3 * sd));
        }
    }
}

Test(limits_sessions, a_queue_out_of_range_is_refused)
{
    static const double past[] = { 5 };
    static const double negative[] = { -1e-9 };
    static const bool fits[] = { true };
    static const size_t parents[] = { 0, 1 };
    static const pfc_wait_history good = { past, 1, true }, bad = { negative, 1, true };
    static const struct {
        pfc_wait_job job;
        pfc_wait_slot slot;
        bool bad, fine;
    } rows[] = {
        { { 0 }, { 0 }, false, true },
        { { .due_s = -5 }, { 0 }, false, true },
        { { .due_s = -(double)INFINITY }, { 0 }, false, false },
        { { .running = true, .fit = 9 }, { .busy = true }, false, true },
        { { .fit = 1 }, { 0 }, false, false },
        { { .history = 1 }, { 0 }, false, false },
        { { 0 }, { .busy = true }, false, false },
        { { .running = true }, { .busy = true, .job = 1 }, false, false },
        { { .running = true }, { .busy = true, .elapsed_s = -1e-9 }, false, false },
        { { .running = true }, { .busy = true, .elapsed_s = (double)NAN }, false, false },
        { { .parents = parents, .parents_len = 1 }, { 0 }, false, true },
        { { .parents = parents, .parents_len = 2 }, { 0 }, false, false },
        { { 0 }, { 0 }, true, false },
    };
    pfc_wait out;

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        const pfc_wait_queue queue = { .jobs = &rows[i].job,
                                       .jobs_len = 1,
                                       .slots = &rows[i].slot,
                                       .slots_len = 1,
                                       .fits = fits,
                                       .fits_len = 1,
                                       .histories = rows[i].bad ? &bad : &good,
                                       .histories_len = 1 };

        cr_assert(
            eq(int, (int)pfc_wait_estimate(&queue, &out, NULL), rows[i].fine ? PFC_OK : PFC_EINVAL),
            "row %zu", i);
    }
    cr_assert(eq(
        int,
        (int)pfc_wait_estimate(&(pfc_wait_queue){ .jobs_len = PFC_WAIT_MAX_JOBS + 1 }, &out, NULL),
        PFC_EINVAL));
    cr_assert(eq(int,
                 (int)pfc_wait_estimate(&(pfc_wait_queue){ .slots_len = PFC_WAIT_MAX_SLOTS + 1 },
                                        &out, NULL),
                 PFC_EINVAL));
}
