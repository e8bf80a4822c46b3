/* The planner: what it asks for, in which order, and when it stops. */
#include <math.h>
#include <string.h>

#include "core/base/rng.h"
#include "core/blocks/design.h"

#include "tests/check/check.h"

#define MOST 4000

typedef struct night {
    pfc_design *design;
    pfc_rng rng;
    double noise;
    double change; /* of builds from `at` on */
    size_t at;
    size_t broken; /* build that fails at its second visit; SIZE_MAX: none */
    size_t failed;
    size_t visits[PFC_BLOCKS_MAX_BUILDS];
    pfc_design_block blocks[MOST];
    size_t blocks_len;
    size_t total;
} night;

static void begin(night *n, pfc_design_opts opts, size_t series, double noise)
{
    pfc_err err = { 0 };

    memset(n, 0, sizeof *n);
    n->noise = noise;
    n->broken = SIZE_MAX;
    pfc_rng_seed(&n->rng, opts.seed + 1);
    cr_assert(eq(int, pfc_design_new(&opts, &n->design, &err), PFC_OK), "%s", err.msg);
    for (size_t i = 0; i < series; i++)
        cr_assert(eq(sz, pfc_design_series(n->design, false), i));
}

static void measure(night *n, const pfc_design_block *block)
{
    n->blocks[n->blocks_len++] = *block;
    for (uint32_t i = 0; i < block->len; i++) {
        const size_t build = block->builds[i];
        const double level = build >= n->at ? 1.0 + n->change : 1.0;
        const double v = 100.0 * level * exp(n->noise * pfc_rng_normal(&n->rng));
        const pfc_visit visit = { (uint32_t)build, block->number, i, v };

        n->total++;
        n->visits[build]++;
        pfc_design_spent(n->design, build, 1.0);
        if (build == n->broken && n->visits[build] > 1) {
            pfc_design_drop(n->design, build);
            n->failed = n->blocks_len;
            continue;
        }
        if (pfc_design_wants(n->design, 0))
            cr_assert(eq(int, pfc_design_add(n->design, 0, &visit, NULL), PFC_OK));
    }
}

static void run(night *n)
{
    pfc_design_block block;

    while (n->blocks_len < MOST && pfc_design_next(n->design, &block))
        measure(n, &block);
}

static const pfc_design_opts fourteen = { .builds = 14, .first = 2, .seed = 7 };

static bool same_builds(const pfc_design_block *a, const pfc_design_block *b)
{
    size_t shared = 0;

    for (size_t i = 0; i < a->len; i++) {
        for (size_t k = 0; k < b->len; k++)
            shared += a->builds[i] == b->builds[k];
    }
    return a->len == b->len && shared == a->len;
}

/* Few builds: the mirror, which a linear drift cancels in. From four on each block has an order of
 * its own, which the test by order can bet on. */
Test(design, a_round_is_two_blocks_of_the_same_builds)
{
    size_t large = 0, mirrored = 0;

    for (uint32_t builds = 2; builds <= 14; builds += 2) {
        static night n;
        const pfc_design_opts opts = { .builds = builds, .first = 1, .seed = 7 };

        begin(&n, opts, 1, 0.012);
        n.change = 0.03;
        n.at = builds / 2;
        run(&n);
        cr_assert(ge(sz, n.blocks_len, 4));
        cr_assert(eq(sz, n.blocks_len % 2, 0));
        for (size_t i = 0; i < n.blocks_len; i += 2) {
            const pfc_design_block *a = &n.blocks[i], *b = &n.blocks[i + 1];
            bool mirror = true;

            cr_assert(eq(int, (int)a->number % 2, 0));
            cr_assert(eq(int, (int)b->number, (int)a->number + 1));
            cr_assert(same_builds(a, b));
            for (size_t k = 0; k < a->len; k++)
                mirror &= a->builds[k] == b->builds[a->len - 1 - k];
            cr_assert(a->len >= 4 || mirror);
            large += a->len >= 4;
            mirrored += a->len >= 4 && mirror;
        }
        pfc_design_free(n.design);
    }
    /* By chance one in 24 or fewer. */
    cr_assert(ge(sz, large, 20));
    cr_assert(lt(sz, 6 * mirrored, large));
}

/* 14 builds: two rounds of two groups of at most 8. Each build is in each round, and each group
 * holds one of two neighbours, so that a step anywhere parts both groups; one build links them. */
Test(design, each_group_of_the_first_rounds_spans_the_whole_history)
{
    static night n;

    begin(&n, fourteen, 1, 0.001);
    for (int i = 0; i < 8; i++) {
        pfc_design_block block;
        bool in[14] = { false };

        cr_assert(pfc_design_next(n.design, &block));
        cr_assert(le(sz, block.len, PFC_BLOCK_BUILDS));
        measure(&n, &block);
        for (size_t k = 0; k < block.len; k++)
            in[block.builds[k]] = true;
        cr_assert(in[i < 4 ? 0 : 1]);
        for (size_t b = 4; b < 14; b += 2)
            cr_assert(in[b - 1] != in[b], "block %d, build %zu", i, b);
        if (i % 4 == 3) {
            for (size_t b = 0; b < 14; b++)
                cr_assert(ge(sz, n.visits[b], 2 * (size_t)(i / 4 + 1)));
        }
    }
    pfc_design_free(n.design);
}

/* A night of 12 new commits without a change on a quiet machine costs at most 6 visits of each. */
Test(design, a_quiet_night_without_a_change_ends_soon)
{
    size_t total = 0;

    for (uint64_t seed = 0; seed < 40; seed++) {
        static night n;
        pfc_design_opts opts = fourteen;

        opts.seed = seed;
        begin(&n, opts, 1, 0.01);
        run(&n);
        total += n.total;
        for (size_t b = 2; b < 14; b++)
            cr_assert(lt(dbl, pfc_design_needs_s(n.design, b), 1.0), "%zu", b);
        pfc_design_free(n.design);
    }
    cr_assert(le(sz, total, 40 * 12 * 6), "%zu visits", total);
}

/* 1.5 % at 0.4 % of noise: the intervals lie within the margin of 3 %, so only suspicion asks for
 * more. */
Test(design, a_change_is_measured_until_it_is_decided_at_its_place)
{
    static night n;
    pfc_blocks_fit fit;

    begin(&n, fourteen, 1, 0.004);
    n.change = 0.015;
    n.at = 8;
    run(&n);
    cr_assert(eq(int, pfc_design_fit(n.design, 0, &fit, NULL), PFC_OK));
    for (size_t i = 0; i < fit.boundaries_len; i++)
        cr_assert(eq(int, fit.boundaries[i].p < 0.01 / 12, fit.boundaries[i].to == 8));
    cr_assert(eq(sz, fit.boundaries[6].to, 8));
    cr_assert(eq(sz, fit.boundaries[6].place_from, 7));
    cr_assert(eq(sz, fit.boundaries[6].place_to, 8));
    cr_assert(eq(dbl, pfc_design_needs_s(n.design, 8), 0.0));
    pfc_blocks_fit_clear(&fit);
    pfc_design_free(n.design);
}

/* 5 % between builds that other commits part: no decision of this session, so nothing is measured
 * for it. */
Test(design, a_gap_asks_for_no_block)
{
    static night n;
    bool gap[14] = { false };
    pfc_design_opts opts = fourteen;

    gap[8] = true;
    opts.gap = gap;
    begin(&n, opts, 1, 0.002);
    n.change = 0.05;
    n.at = 8;
    run(&n);
    cr_assert(eq(sz, n.blocks_len, 8)); /* two rounds of two groups */
    cr_assert(eq(dbl, pfc_design_needs_s(n.design, 8), 0.0));
    pfc_design_free(n.design);
}

/* The mirror of a block that was measured is due, also when the budget ends between them. */
Test(design, the_budget_ends_the_session_after_a_whole_round)
{
    static night n;
    pfc_design_opts opts = fourteen;

    opts.budget_s = 3.0;
    begin(&n, opts, 1, 0.01);
    run(&n);
    cr_assert(eq(sz, n.blocks_len, 2));
    cr_assert(eq(dbl, pfc_design_total_s(n.design), (double)n.total));
    cr_assert(gt(dbl, pfc_design_needs_s(n.design, 6), 0.0));
    cr_assert(eq(dbl, pfc_design_needs_s(n.design, 5), 0.0)); /* not measured */
    pfc_design_free(n.design);
}

Test(design, the_same_seed_and_values_give_the_same_session)
{
    static night a, b;

    begin(&a, fourteen, 1, 0.012);
    begin(&b, fourteen, 1, 0.012);
    a.change = b.change = 0.02;
    a.at = b.at = 5;
    run(&a);
    run(&b);
    cr_assert(eq(sz, a.blocks_len, b.blocks_len));
    for (size_t i = 0; i < a.blocks_len; i++) {
        cr_assert(eq(sz, a.blocks[i].len, b.blocks[i].len));
        for (size_t k = 0; k < a.blocks[i].len; k++)
            cr_assert(eq(sz, a.blocks[i].builds[k], b.blocks[i].builds[k]));
    }
    pfc_design_free(a.design);
    pfc_design_free(b.design);
}

Test(design, a_build_that_breaks_is_left_out_and_its_neighbours_are_compared)
{
    static night n;
    pfc_blocks_fit fit;

    begin(&n, fourteen, 1, 0.01);
    n.broken = 6;
    run(&n);
    cr_assert(eq(sz, n.visits[6], 2));
    for (size_t i = n.failed; i < n.blocks_len; i++) {
        for (size_t k = 0; k < n.blocks[i].len; k++)
            cr_assert(ne(sz, n.blocks[i].builds[k], 6));
    }
    cr_assert(eq(int, pfc_design_fit(n.design, 0, &fit, NULL), PFC_OK));
    cr_assert(eq(sz, fit.boundaries_len, 11));
    cr_assert(eq(sz, fit.boundaries[4].from, 5));
    cr_assert(eq(sz, fit.boundaries[4].to, 7));
    cr_assert(eq(dbl, pfc_design_needs_s(n.design, 6), 0.0));
    pfc_blocks_fit_clear(&fit);
    pfc_design_free(n.design);
}

Test(design, exact_series_alone_need_one_visit_of_each_build)
{
    static night n;
    pfc_design_block block;

    begin(&n, fourteen, 0, 0.0);
    cr_assert(eq(sz, pfc_design_series(n.design, true), 0));
    while (pfc_design_next(n.design, &block))
        measure(&n, &block);
    cr_assert(eq(sz, n.blocks_len, 2));
    for (size_t b = 1; b < 14; b++)
        cr_assert(eq(sz, n.visits[b], 1), "%zu", b);
    pfc_design_free(n.design);
}

/* Two commits: pairs until the test says the same or different. */
Test(design, a_comparison_goes_on_until_the_test_decides)
{
    const pfc_design_opts two = { .builds = 2, .first = 1, .margin = 0.01, .all = true, .seed = 3 };

    for (int changed = 0; changed < 2; changed++) {
        static night n;
        pfc_blocks_fit fit;

        begin(&n, two, 1, 0.01);
        n.change = changed ? 0.02 : 0.0;
        n.at = 1;
        run(&n);
        cr_assert(eq(int, pfc_design_fit(n.design, 0, &fit, NULL), PFC_OK));
        cr_assert(eq(int, (int)fit.boundaries[0].verdict,
                     (int)(changed ? PFC_VERDICT_DIFFERENT : PFC_VERDICT_SAME)));
        cr_assert(eq(sz, fit.boundaries[0].rounds, n.blocks_len / 2));
        pfc_blocks_fit_clear(&fit);
        pfc_design_free(n.design);
    }
}

Test(design, options_and_values_out_of_range_are_refused)
{
    pfc_design *d = NULL;
    const pfc_visit bad[] = { { 14, 0, 0, 1.0 }, { 0, 0, 0, 0.0 }, { 0, 0, 0, INFINITY } };
    const pfc_design_opts wrong[] = {
        { .builds = 0 },
        { .builds = PFC_BLOCKS_MAX_BUILDS + 1 },
        { .builds = 2, .anchor = 2 },
        { .builds = 2, .first = 3 },
        { .builds = 2, .alpha = 1.0 },
        { .builds = 2, .margin = -1.0 },
        { .builds = 2, .budget_s = NAN },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(wrong); i++)
        cr_assert(eq(int, pfc_design_new(&wrong[i], &d, NULL), PFC_EINVAL), "%zu", i);
    cr_assert(eq(int, pfc_design_new(&fourteen, &d, NULL), PFC_OK));
    cr_assert(eq(int, pfc_design_add(d, 0, &(pfc_visit){ 0, 0, 0, 1.0 }, NULL), PFC_EINVAL));
    pfc_design_series(d, false);
    for (size_t i = 0; i < PFC_ARRAY_LEN(bad); i++)
        cr_assert(eq(int, pfc_design_add(d, 0, &bad[i], NULL), PFC_EINVAL), "%zu", i);
    pfc_design_free(d);
    pfc_design_free(NULL);
}
