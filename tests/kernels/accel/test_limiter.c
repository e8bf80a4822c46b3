/* The limiter of a run, and the laws between its counters; small.h defines the chip. */

#include "kernels/accel/device/whatif.h"

#include "tests/check/check.h"
#include "tests/kernels/accel/small.h"

static small s;

static void begin(pfc_accel_dtype dtype)
{
    small_init(&s, dtype);
}

/* A load (53), a product (28: weights 3, 4 folds of 5 rows, drain 5), a store of its sums in
 * another row (10 + 8 + 7 + 6 + 20 = 51). */
Test(limiter, each_ideal_resource_takes_its_own_time_away)
{
    static const struct {
        unsigned ideal;
        uint64_t cycles;
    } rows[] = {
        { 0, 53 + 28 + 51 },
        { PFC_ACCEL_IDEAL_TENSOR, 53 + (3 + 4 * 4 + 1) + 51 }, /* weights still load */
        { PFC_ACCEL_IDEAL_WEIGHTS, 53 + (4 * 5 + 5) + 51 },
        { PFC_ACCEL_IDEAL_VECTOR, 132 },
        { PFC_ACCEL_IDEAL_HBM, (10 + 8 + 20) + 28 + (10 + 4 + 20) },
        { PFC_ACCEL_IDEAL_DMA, (53 - 10) + 28 + (51 - 10) },
        { PFC_ACCEL_IDEAL_LATENCY, 33 + 23 + 31 },
        { PFC_ACCEL_IDEAL_BANKS, 132 },
        { PFC_ACCEL_IDEAL_HBM | PFC_ACCEL_IDEAL_DMA, 20 + 28 + 20 },
    };
    pfc_accel_run run = { .chip = &s.chip, .program = &s.program };
    pfc_accel_whatif whatif = { 0 };
    pfc_err err = { 0 };

    begin(PFC_ACCEL_INT8);
    small_transfer(&s, PFC_ACCEL_OP_LOAD, 0, 1, 64, 64);
    small_matmul(&s, 5, 4, 6);
    small_wait(&s, 0);
    small_transfer(&s, PFC_ACCEL_OP_STORE_ACC, 1, 2, 4, 16);
    small_wait(&s, 1);
    s.cmds[2].elem = 4;
    s.cmds[2].offset = 8 * 64;
    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++)
        cr_assert(eq(u64, small_run(&s, rows[i].ideal).v[PFC_ACCEL_CYCLES], rows[i].cycles),
                  "row %zu", i);
    /* 45 cycles less without latencies, 32 without memory, 8 without the array */
    cr_assert(eq(int, pfc_accel_whatif_run(&run, &whatif, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(str, (char *)(uintptr_t)pfc_accel_resource_name(whatif.limiter), "latency"));
}

/* Two rows of 8: seven passes over 16 elements in 8 lanes, two reduction trees of 3, 5 until the
 * last result. The depth of a tree does not grow with the rows, so it is latency and not work of
 * the unit. */
Test(limiter, reduction_trees_are_latency)
{
    begin(PFC_ACCEL_F32);
    small_vector(&s, PFC_ACCEL_OP_SOFTMAX, 2, 8, 0);
    cr_assert(eq(u64, small_run(&s, 0).v[PFC_ACCEL_CYCLES], 7 * 2 + 2 * 3 + 5));
    cr_assert(eq(u64, small_run(&s, PFC_ACCEL_IDEAL_LATENCY).v[PFC_ACCEL_CYCLES], 7 * 2));
    cr_assert(eq(u64, small_run(&s, PFC_ACCEL_IDEAL_LATENCY).v[PFC_ACCEL_VECTOR_BUSY], 7 * 2));
    cr_assert(eq(u64, small_run(&s, PFC_ACCEL_IDEAL_VECTOR).v[PFC_ACCEL_CYCLES], 0));
}

/* Without latencies in the chip each of the others can be what binds. */
Test(limiter, the_limiter_is_the_resource_that_saves_most)
{
    static const struct {
        const char *want;
        small_step what;
        uint64_t mbps;      /* of the memory */
        uint64_t dma_bytes; /* of an engine */
    } rows[] = {
        { "compute", SMALL_PRODUCT, 8000, 8 },
        { "vector", SMALL_WEIGH, 8000, 8 },
        { "memory", SMALL_LOAD, 1000, 8 },
        { "dma", SMALL_LOAD, 64000, 1 },
    };
    pfc_err err = { 0 };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        pfc_accel_run run = { .chip = &s.chip, .program = &s.program };
        pfc_accel_whatif whatif = { 0 };

        begin(PFC_ACCEL_F32);
        s.chip.dma_setup = s.chip.hbm_latency = s.chip.vector_latency = 0;
        s.chip.hbm_mbps = rows[i].mbps;
        s.chip.dma_bytes = rows[i].dma_bytes;
        (void)small_add(&s, rows[i].what);
        cr_assert(eq(int, pfc_accel_whatif_run(&run, &whatif, &err), PFC_OK), "%s", err.msg);
        cr_assert(eq(str, (char *)(uintptr_t)pfc_accel_resource_name(whatif.limiter),
                     (char *)rows[i].want));
    }
    /* Of two that save the same 15 cycles the first of the list is named. */
    begin(PFC_ACCEL_F32);
    s.chip.dma_setup = 0;
    s.chip.hbm_latency = 15; /* 8 cycles of the engine, 23 of the memory */
    (void)small_add(&s, SMALL_LOAD);
    {
        pfc_accel_run run = { .chip = &s.chip, .program = &s.program };
        pfc_accel_whatif whatif = { 0 };

        cr_assert(eq(u64, small_run(&s, PFC_ACCEL_IDEAL_HBM).v[PFC_ACCEL_CYCLES],
                     small_run(&s, PFC_ACCEL_IDEAL_LATENCY).v[PFC_ACCEL_CYCLES]));
        cr_assert(eq(int, pfc_accel_whatif_run(&run, &whatif, &err), PFC_OK), "%s", err.msg);
        cr_assert(eq(str, (char *)(uintptr_t)pfc_accel_resource_name(whatif.limiter), "memory"));
    }
    begin(PFC_ACCEL_F32);
    {
        pfc_accel_run run = { .chip = &s.chip, .program = &s.program };
        pfc_accel_whatif whatif = { 0 };

        cr_assert(eq(int, pfc_accel_whatif_run(&run, &whatif, &err), PFC_OK), "%s", err.msg);
        cr_assert(eq(str, (char *)(uintptr_t)pfc_accel_resource_name(whatif.limiter), "none"));
    }
}

/* ---- laws ---- */

/* Every cycle counter is bound by a law: one more of it contradicts the rest. */
Test(limiter, counters_that_contradict_each_other_are_refused)
{
    static const pfc_accel_counter bound[] = {
        PFC_ACCEL_CYCLES,
        PFC_ACCEL_TENSOR_BUSY,
        PFC_ACCEL_TENSOR_PRELOAD,
        PFC_ACCEL_TENSOR_STALL_DMA,
        PFC_ACCEL_TENSOR_STALL_VECTOR,
        PFC_ACCEL_TENSOR_STALL_DRAIN,
        PFC_ACCEL_TENSOR_STALL_BANK,
        PFC_ACCEL_TENSOR_IDLE,
        PFC_ACCEL_VECTOR_BUSY,
        PFC_ACCEL_VECTOR_STALL_DMA,
        PFC_ACCEL_VECTOR_STALL_TENSOR,
        PFC_ACCEL_VECTOR_STALL_CHAIN,
        PFC_ACCEL_VECTOR_STALL_BANK,
        PFC_ACCEL_VECTOR_IDLE,
        PFC_ACCEL_DMA_BUSY,
        PFC_ACCEL_DMA_STALL_HBM,
        PFC_ACCEL_DMA_STALL_TENSOR,
        PFC_ACCEL_DMA_STALL_VECTOR,
        PFC_ACCEL_DMA_STALL_DMA,
        PFC_ACCEL_DMA_IDLE,
        PFC_ACCEL_TENSOR_STALL_WEIGHTS,
        PFC_ACCEL_TENSOR_FILL_DRAIN,
        PFC_ACCEL_VECTOR_REDUCE,
        PFC_ACCEL_DMA_SETUP,
        PFC_ACCEL_DMA_BYTES,
        PFC_ACCEL_HBM_ACCESSES,
        PFC_ACCEL_HBM_ROW_HIT,
        PFC_ACCEL_HBM_ROW_MISS,
        PFC_ACCEL_HBM_ROW_CONFLICT,
        PFC_ACCEL_HBM_QUEUE,
        PFC_ACCEL_HBM_SERVICE,
        PFC_ACCEL_HBM_LATENCY,
        PFC_ACCEL_OVERLAP_NONE,
        PFC_ACCEL_OVERLAP_LOAD,
        PFC_ACCEL_OVERLAP_STORE,
        PFC_ACCEL_OVERLAP_LOAD_STORE,
        PFC_ACCEL_OVERLAP_EXEC,
        PFC_ACCEL_OVERLAP_LOAD_EXEC,
        PFC_ACCEL_OVERLAP_STORE_EXEC,
        PFC_ACCEL_OVERLAP_ALL,
    };
    pfc_accel_counters c;
    pfc_err err = { 0 };

    begin(PFC_ACCEL_INT8);
    small_matmul(&s, 4, 3, 4);
    c = small_run(&s, 0);
    for (size_t i = 0; i < PFC_ARRAY_LEN(bound); i++) {
        c.v[bound[i]]++;
        cr_assert(eq(int, pfc_accel_counters_check(&c, &s.chip, &err), PFC_EBUG), "%s",
                  pfc_accel_counter_name(bound[i]));
        c.v[bound[i]]--;
    }
    cr_assert(eq(u64, c.v[PFC_ACCEL_MACS], c.v[PFC_ACCEL_MAC_SLOTS])); /* all cells at work */
    cr_assert(eq(int, pfc_accel_counters_check(&c, &s.chip, &err), PFC_OK));
    c.v[PFC_ACCEL_MACS]++;
    cr_assert(eq(int, pfc_accel_counters_check(&c, &s.chip, &err), PFC_EBUG));
}

Test(limiter, counters_are_added_one_by_one)
{
    pfc_accel_counters sum;
    pfc_accel_counters more;

    for (size_t i = 0; i < PFC_ACCEL_COUNTERS_LEN; i++) {
        sum.v[i] = i;
        more.v[i] = 1000 + 7 * i;
    }
    pfc_accel_counters_add(&sum, &more);
    for (size_t i = 0; i < PFC_ACCEL_COUNTERS_LEN; i++)
        cr_assert(eq(u64, sum.v[i], 1000 + 8 * i));
}
