/* Fidelity L0: never above what the engine takes, whatever the problem, chip and type. */

#include "core/base/rng.h"
#include "kernels/accel/analytic/ceiling.h"
#include "kernels/accel/analytic/pairs.h"
#include "kernels/accel/ops/ops.h"

#include "tests/check/check.h"

#define CASES 300

static int64_t some(pfc_rng *rng, int64_t most)
{
    /* as many small as large ones */
    const uint64_t bits = pfc_rng_below(rng, 12);

    return 1 + (int64_t)pfc_rng_below(rng, (uint64_t)PFC_MIN(most, (int64_t)1 << bits));
}

static pfc_accel_problem draw(pfc_rng *rng)
{
    pfc_accel_problem p = { .kernel = (pfc_accel_kernel)pfc_rng_below(
                                rng, PFC_ACCEL_RESIDUAL_RMSNORM + 1) };

    p.dtype = (pfc_accel_dtype)pfc_rng_below(rng, p.kernel == PFC_ACCEL_GEMM ? 3 : 2);
    for (size_t i = 0; i < 3; i++)
        p.p[i] = some(rng, 2048);
    if (p.kernel == PFC_ACCEL_ATTENTION) {
        p.p[0] = some(rng, 8);
        p.p[2] = some(rng, 256);
        p.p[3] = (int64_t)pfc_rng_below(rng, 2);
        p.p[4] = some(rng, p.p[1]);
        p.p[5] = p.p[0] % 2 ? 1 : p.p[0] / 2;
    } else if (p.kernel == PFC_ACCEL_GEMM_BIAS_ACT) {
        p.p[3] = (int64_t)pfc_rng_below(rng, 4);
    }
    return p;
}

/* Memory that is slow in one way or another: rows, refreshes, directions, setup, few channels. */
static void change_memory(pfc_accel_chip *chip, pfc_rng *rng)
{
    chip->hbm_row_miss = pfc_rng_below(rng, 60);
    chip->hbm_turnaround = pfc_rng_below(rng, 60);
    chip->hbm_refresh_every = 200 + pfc_rng_below(rng, 5000);
    chip->hbm_refresh = pfc_rng_below(rng, 200);
    chip->hbm_channels = 1 + pfc_rng_below(rng, 64);
    chip->hbm_interleave = 64ull << pfc_rng_below(rng, 5);
    chip->hbm_row_bytes = 256ull << pfc_rng_below(rng, 5);
    chip->dma_setup = pfc_rng_below(rng, 200);
    chip->hbm_latency = pfc_rng_below(rng, 500);
}

Test(ceiling, no_problem_is_faster_than_its_ceiling)
{
    static const char *const chips[] = { "pfc-edge", "pfc-server", "pfc-server2", "pfc-trn",
                                         "pfc-xf" };
    pfc_rng rng;

    pfc_rng_seed(&rng, 17);
    for (size_t i = 0; i < CASES; i++) {
        const pfc_accel_case_opts opts = { .timing_only = true };
        const pfc_accel_problem p = draw(&rng);
        pfc_accel_ceiling ceiling;
        pfc_accel_case *c = NULL;
        pfc_accel_result r;
        pfc_accel_chip chip;
        pfc_err err = { 0 };

        cr_assert(
            eq(int, pfc_accel_chip_load(chips[i % PFC_ARRAY_LEN(chips)], &chip, &err), PFC_OK));
        if (i % 2)
            change_memory(&chip, &rng);
        if (pfc_accel_case_new(&c, &p, &chip, chip.mode, &opts, &err) == PFC_ETOOBIG)
            continue; /* a row that does not fit the chip */
        cr_assert(eq(int, pfc_accel_case_run(c, &r, &err), PFC_OK), "%s", err.msg);
        ceiling = pfc_accel_ceiling_of(&p, &chip, chip.mode, PFC_ACCEL_TILINGS);
        cr_assert(le(u64, ceiling.cycles, r.cycles), "%s %s on %s: %lld %lld %lld %lld",
                  pfc_accel_dtype_name(p.dtype), pfc_accel_kernel_name(p.kernel), chip.name,
                  (long long)p.p[0], (long long)p.p[1], (long long)p.p[2], (long long)p.p[3]);
        cr_assert(le(u64, ceiling.bytes,
                     r.counters.v[PFC_ACCEL_HBM_READ] + r.counters.v[PFC_ACCEL_HBM_WRITE]));
        pfc_accel_case_free(c);
    }
}

/* A chip whose units are small or large, fast or slow. */
static void change_units(pfc_accel_chip *chip, pfc_rng *rng)
{
    pfc_err err = { 0 };

    cr_assert(eq(int,
                 pfc_accel_chip_set_array(chip, 1 + (int64_t)pfc_rng_below(rng, 40),
                                          1 + (int64_t)pfc_rng_below(rng, 40), &err),
                 PFC_OK));
    chip->array_load_rows = 1 + pfc_rng_below(rng, 8);
    chip->vector_lanes = 1 + pfc_rng_below(rng, 60);
    chip->vector_latency = pfc_rng_below(rng, 100);
    chip->f32_passes = 1 + pfc_rng_below(rng, 5);
}

static pfc_accel_gemm_tiles draw_tiles(pfc_rng *rng, const pfc_accel_problem *p)
{
    return (pfc_accel_gemm_tiles){ .m = 1 + pfc_rng_below(rng, (uint64_t)p->p[0]),
                                   .n = 1 + pfc_rng_below(rng, (uint64_t)p->p[1]),
                                   .k = 1 + pfc_rng_below(rng, (uint64_t)p->p[2]),
                                   .m_outer = pfc_rng_below(rng, 2) == 1,
                                   .group = 1 + pfc_rng_below(rng, 8),
                                   .slots = 2 + pfc_rng_below(rng, 7),
                                   .mixed = pfc_rng_below(rng, 2) == 1 };
}

Test(ceiling, no_tiling_of_a_small_gemm_is_faster)
{
    size_t compared = 0;
    pfc_rng rng;

    pfc_rng_seed(&rng, 23);
    for (size_t i = 0; i < 1500; i++) {
        pfc_accel_problem p = { .kernel = i % 4 ? PFC_ACCEL_GEMM : PFC_ACCEL_GEMM_BIAS_ACT,
                                .dtype = (pfc_accel_dtype)pfc_rng_below(&rng, i % 4 ? 3 : 2) };
        pfc_accel_case_opts opts = { .timing_only = true };
        pfc_accel_gemm_tiles tiles;
        pfc_accel_case *c = NULL;
        pfc_accel_result r;
        pfc_accel_chip chip;
        pfc_err err = { 0 };

        for (size_t d = 0; d < 3; d++)
            p.p[d] = some(&rng, 200);
        tiles = draw_tiles(&rng, &p);
        opts.gemm_tiles = &tiles;
        cr_assert(eq(int, pfc_accel_chip_load("pfc-edge", &chip, &err), PFC_OK));
        change_units(&chip, &rng);
        if (i % 2)
            change_memory(&chip, &rng);
        if (pfc_accel_case_new(&c, &p, &chip, chip.mode, &opts, &err) == PFC_ETOOBIG)
            continue;
        cr_assert(eq(int, pfc_accel_case_run(c, &r, &err), PFC_OK), "%s", err.msg);
        cr_assert(le(u64, r.ceiling_cycles, r.cycles), "%s %s: %lld %lld %lld in %llu %llu %llu",
                  pfc_accel_dtype_name(p.dtype), pfc_accel_kernel_name(p.kernel), (long long)p.p[0],
                  (long long)p.p[1], (long long)p.p[2], (unsigned long long)tiles.m,
                  (unsigned long long)tiles.n, (unsigned long long)tiles.k);
        pfc_accel_case_free(c);
        compared++;
    }
    cr_assert(gt(sz, compared, 1000));
}

Test(ceiling, no_tiling_of_attention_is_faster)
{
    size_t compared = 0;
    pfc_rng rng;

    pfc_rng_seed(&rng, 29);
    for (size_t i = 0; i < 150; i++) {
        pfc_accel_problem p = { .kernel = PFC_ACCEL_ATTENTION,
                                .dtype = (pfc_accel_dtype)pfc_rng_below(&rng, 2) };
        const pfc_accel_case_opts opts = { .timing_only = true };
        const int64_t share = 1 + (int64_t)pfc_rng_below(&rng, 4);
        pfc_accel_case *c = NULL;
        pfc_accel_result r;
        pfc_accel_chip chip;
        pfc_err err = { 0 };

        p.p[5] = 1 + (int64_t)pfc_rng_below(&rng, 6);
        p.p[0] = p.p[5] * share;
        p.p[1] = some(&rng, 150);
        p.p[2] = some(&rng, 60);
        p.p[3] = (int64_t)pfc_rng_below(&rng, 2);
        p.p[4] = i % 3 ? some(&rng, p.p[1]) : 0;
        cr_assert(eq(int, pfc_accel_chip_load("pfc-edge", &chip, &err), PFC_OK));
        change_units(&chip, &rng);
        if (i % 2)
            chip.hbm_mbps *= 50; /* the units decide */
        if (pfc_accel_case_new(&c, &p, &chip, chip.mode, &opts, &err) == PFC_ETOOBIG)
            continue;
        cr_assert(eq(int, pfc_accel_case_run(c, &r, &err), PFC_OK), "%s", err.msg);
        cr_assert(le(u64, r.ceiling_cycles, r.cycles), "%s: %lld %lld %lld %lld %lld %lld",
                  pfc_accel_dtype_name(p.dtype), (long long)p.p[0], (long long)p.p[1],
                  (long long)p.p[2], (long long)p.p[3], (long long)p.p[4], (long long)p.p[5]);
        pfc_accel_case_free(c);
        compared++;
    }
    cr_assert(gt(sz, compared, 100));
}

/* Eight heads of 8,192 keys with four queries each on an array of 512 x 512. */
Test(ceiling, decode_leaves_lanes_idle)
{
    const pfc_accel_problem p = { PFC_ACCEL_ATTENTION, PFC_ACCEL_BF16, { 32, 8192, 128, 0, 1, 8 } };
    pfc_accel_chip chip;
    pfc_accel_ceiling c;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_accel_chip_load("pfc-xf", &chip, &err), PFC_OK));
    c = pfc_accel_ceiling_of(&p, &chip, chip.mode, PFC_ACCEL_TILINGS);
    /* Each product has 128 folds, each as long as its weights load: 128 cycles. The scores of all
     * keys fill the lanes: 4,096 steps. The sums fill 1,024 of 8,192 lanes: 32,768 steps. Beside
     * 128 cycles of softmax for 4 passes, the vector unit has all scores, and s of the sums:
     * 16,384 (1 - s) + 871 = 128 + 4,096 + 32,768 s, where 871 is the depth of the array, 895, less
     * the latency of the vector unit. */
    cr_assert(eq(u64, c.vector, 128));
    cr_assert(ge(u64, c.tiles, 12911));
    cr_assert(le(u64, c.tiles, 12912));
}

/* One head of 512 queries and keys, causal: one fold for each product, and a pass for each row. A
 * row's scores take 128 steps of the vector unit, its sums one for each key it sees. Those of the
 * first V rows are the vector unit's: 1,024 - V = V (V + 1) / 2, a little more than 979. */
Test(ceiling, a_row_has_the_lanes_to_itself)
{
    const pfc_accel_pairs one = {
        .heads = 1, .groups = 1, .keys = 512, .queries = 512, .d = 128, .causal = true, .passes = 1
    };
    pfc_accel_pairs two = one;
    pfc_accel_chip chip;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_accel_chip_load("pfc-xf", &chip, &err), PFC_OK));
    cr_assert(ge(u64, pfc_accel_pairs_cycles(&one, &chip), 977));
    cr_assert(le(u64, pfc_accel_pairs_cycles(&one, &chip), 979));
    two.depth = 100; /* 1,024 - V + 100: its results are late */
    cr_assert(ge(u64, pfc_accel_pairs_cycles(&two, &chip), 1074));
    cr_assert(le(u64, pfc_accel_pairs_cycles(&two, &chip), 1078));
    two.queries = two.keys = 1; /* 128 passes for weights of each product, or 128 steps and one */
    two.depth = 1000;
    cr_assert(eq(u64, pfc_accel_pairs_cycles(&two, &chip), 128));
}

/* A product of two columns: the vector unit takes a step for each row and each of the depth. */
Test(ceiling, narrow_products_leave_lanes_idle)
{
    const pfc_accel_problem p = { PFC_ACCEL_GEMM, PFC_ACCEL_INT8, { 1, 2, 16 } };
    pfc_accel_chip chip;
    pfc_accel_ceiling c;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_accel_chip_load("pfc-edge", &chip, &err), PFC_OK));
    c = pfc_accel_ceiling_of(&p, &chip, chip.mode, PFC_ACCEL_TILINGS);
    /* 16 steps and a latency of 12; the array would take 15 for its weights, 1, and 30 of depth */
    cr_assert(eq(u64, c.products, 16 + 12));
    /* 40 of setup, 90 of latency, a burst of 5, and 8 for the first row of HBM */
    cr_assert(eq(u64, c.cycles, 135 + 8 + 28 + 135));
    /* a program in text may copy weights, and fill the lanes */
    cr_assert(eq(u64, pfc_accel_ceiling_of(&p, &chip, chip.mode, PFC_ACCEL_PROGRAMS).cycles,
                 135 + 8 + 12 + 135));
}

/* Sixteen columns for each fold and each step: of 64 in depth, the array takes what it can until
 * the vector unit is done. */
Test(ceiling, units_share_what_both_do_well)
{
    const pfc_accel_problem p = { PFC_ACCEL_GEMM, PFC_ACCEL_INT8, { 16, 16, 64 } };
    pfc_accel_chip chip;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_accel_chip_load("pfc-edge", &chip, &err), PFC_OK));
    /* 59 rows of 64 through the array: 15 + 59 + 30 cycles; the other 5 rows are 5 x 16 steps, and
     * 12. With 58 rows the lanes end 108 cycles after the begin, with 59 the array after 104. */
    cr_assert(eq(u64, pfc_accel_ceiling_of(&p, &chip, chip.mode, PFC_ACCEL_TILINGS).products, 104));
}

/* A large GEMM on an array reaches nearly all of it: the bound is not far below. */
Test(ceiling, a_large_gemm_comes_close)
{
    const pfc_accel_problem p = { PFC_ACCEL_GEMM, PFC_ACCEL_BF16, { 4096, 4096, 4096 } };
    pfc_accel_chip chip;
    pfc_accel_ceiling c;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_accel_chip_load("pfc-server", &chip, &err), PFC_OK));
    c = pfc_accel_ceiling_of(&p, &chip, chip.mode, PFC_ACCEL_TILINGS);
    /* 32 * 32 folds of 4,096 rows; the 512 lanes would take part of them: 1 / (1 + 512 / 16384) */
    cr_assert(eq(u64, c.array, 32 * 32 * 4096));
    cr_assert(eq(u64, c.vector, 4096ull * 4096 * 8));
    cr_assert(ge(u64, c.compute, c.array * 32 / 33 - 1));
    cr_assert(le(u64, c.compute, c.array * 32 / 33));
    cr_assert(eq(u64, c.bytes, 3ull * 4096 * 4096 * 2)); /* fits the scratchpad well enough */
    /* The same with a fold's weights before the first row, and the array's depth after the last:
     * 381 cycles, in which the vector unit has time for a 33rd of as many of the array's. */
    cr_assert(ge(u64, c.products, c.compute + 381 * 32 / 33));
    cr_assert(le(u64, c.products, c.compute + 381 * 32 / 33 + 2));
    /* two transfers of a burst, the first of which opens a row */
    cr_assert(eq(u64, c.cycles, c.products + 2 * (24 + 220 + 3) + 4));
}

/* Traffic: with little room on the chip the operands are read again and again. */
Test(ceiling, a_small_scratchpad_costs_traffic)
{
    const pfc_accel_problem p = { PFC_ACCEL_GEMM, PFC_ACCEL_BF16, { 4096, 4096, 4096 } };
    pfc_accel_chip chip;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_accel_chip_load("pfc-server", &chip, &err), PFC_OK));
    chip.sram_bytes = 32768; /* 16,384 elements and as many sums: S = 2^15 */
    chip.acc_bytes = 65536;
    /* 2 * 2^36 / sqrt(2^15) - 2^16 elements of two bytes */
    cr_assert(eq(u64, pfc_accel_ceiling_of(&p, &chip, chip.mode, PFC_ACCEL_TILINGS).bytes,
                 2 * ((uint64_t)(2.0 * 68719476736.0 / 181.01933598375618) - 65536)));
}

/* One row: the array loads 128 rows of weights a fold, the lanes multiply each weight once. */
Test(ceiling, few_rows_are_bound_by_weights_or_memory)
{
    const pfc_accel_problem p = { PFC_ACCEL_GEMM, PFC_ACCEL_BF16, { 1, 4096, 4096 } };
    pfc_accel_chip chip;
    pfc_accel_ceiling c;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_accel_chip_load("pfc-server", &chip, &err), PFC_OK));
    c = pfc_accel_ceiling_of(&p, &chip, chip.mode, PFC_ACCEL_TILINGS);
    cr_assert(eq(u64, c.array, 32 * 32 * 128));
    cr_assert(eq(u64, c.vector, 4096 * 4096 / 512));
    /* 33,570,816 bytes in rows of 1,024: 32,784 of them are opened, 4 cycles each, in 32 channels.
     * Of five refreshes 350 - 27 cycles are lost: the longest access has 10 cycles for a block,
     * one for rounding, 4 and 12. The last weights arrive before a last step and its result. */
    cr_assert(eq(u64, c.memory, 24 + 40980 + 4098 + 5 * 323));
    cr_assert(eq(u64, c.bytes - c.loads, 4096 * 2));
    cr_assert(eq(u64, c.cycles, 24 + 40970 + 4097 + 5 * 323 + 220 + 1 + 20 + 24 + 220 + 3));
}

Test(ceiling, modes_of_others_are_their_closed_form)
{
    const pfc_accel_problem p = { PFC_ACCEL_GEMM, PFC_ACCEL_INT8, { 100, 70, 50 } };
    const pfc_accel_problem none = { PFC_ACCEL_GEMM, PFC_ACCEL_INT8, { 0, 70, 50 } };
    pfc_accel_chip chip;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_accel_chip_load("pfc-edge", &chip, &err), PFC_OK));
    cr_assert(eq(u64,
                 pfc_accel_ceiling_of(&p, &chip, PFC_ACCEL_SCALESIM_OS, PFC_ACCEL_TILINGS).cycles,
                 pfc_accel_tensor_cycles(PFC_ACCEL_SCALESIM_OS, 16, 16, 100, 70, 50)));
    cr_assert(
        eq(u64, pfc_accel_ceiling_of(&none, &chip, PFC_ACCEL_SCALESIM_OS, PFC_ACCEL_TILINGS).cycles,
           0));
    cr_assert(eq(u64, pfc_accel_ceiling_of(&none, &chip, chip.mode, PFC_ACCEL_TILINGS).cycles, 0));
}
