/*
 * Every counter of small programs, worked out by hand (small.h has the chip).
 *
 * A row names the counters that are not 0; all others must be 0. Idle follows from the rest, since
 * busy + preload + stalls + idle are the cycles (twice for the two DMA engines).
 */
#include <stdio.h>

#include "tests/check/check.h"
#include "tests/kernels/accel/small.h"

static small s;

#define C(id, value)                                                                               \
    {                                                                                              \
        PFC_ACCEL_##id, value                                                                      \
    }

typedef struct expected {
    pfc_accel_counter id;
    uint64_t value;
} expected;

static void compare(const char *what, const pfc_accel_counters *got, const expected *list,
                    size_t len)
{
    uint64_t want[PFC_ACCEL_COUNTERS_LEN] = { 0 };

    for (size_t i = 0; i < len; i++)
        want[list[i].id] = list[i].value;
    want[PFC_ACCEL_COMMANDS] = s.program.len;
    /* what follows are other sums of the same time and bytes: test_counters.c */
    for (size_t i = 0; i < PFC_ACCEL_DMA_BYTES; i++)
        cr_expect(eq(u64, got->v[i], want[i]), "%s: %s", what,
                  pfc_accel_counter_name((pfc_accel_counter)i));
}

#define EXPECT(what, ...)                                                                          \
    do {                                                                                           \
        const expected list[] = { __VA_ARGS__ };                                                   \
        const pfc_accel_counters got = small_run(&s, 0);                                           \
                                                                                                   \
        compare(what, &got, list, PFC_ARRAY_LEN(list));                                            \
    } while (0)

static void begin(pfc_accel_dtype dtype)
{
    small_init(&s, dtype);
}

/* ---- memory ---- */

/* Setup 10; 64 bytes at 4 a cycle are 16, the row is not open: 7; latency 20. The engine is busy
   for its setup and 64 / 8 cycles. */
Test(exact, a_load_of_one_block)
{
    begin(PFC_ACCEL_INT8);
    small_transfer(&s, PFC_ACCEL_OP_LOAD, 0, 1, 64, 64);
    EXPECT("one block", C(CYCLES, 10 + 16 + 7 + 20), C(TENSOR_IDLE, 53), C(VECTOR_IDLE, 53),
           C(DMA_BUSY, 8), C(DMA_IDLE, 106 - 18), C(DMA_TRANSFERS, 1), C(HBM_READ, 64),
           C(HBM_ROW_MISS, 1), C(HBM_BUSY, 11), C(SRAM_WRITE, 64), C(DMA_SETUP, 10));
}

/* Blocks 0 and 3 follow each other in channel 0, blocks 1 and 2 in channel 1; the second finds its
   row open: 10 + 7 + 16 + 16 + 20. */
Test(exact, a_load_over_two_channels)
{
    begin(PFC_ACCEL_INT8);
    small_transfer(&s, PFC_ACCEL_OP_LOAD, 0, 1, 256, 256);
    EXPECT("four blocks", C(CYCLES, 69), C(TENSOR_IDLE, 69), C(VECTOR_IDLE, 69), C(DMA_BUSY, 32),
           C(DMA_IDLE, 138 - 42), C(DMA_TRANSFERS, 1), C(HBM_READ, 256), C(HBM_ROW_HIT, 2),
           C(HBM_ROW_MISS, 2), C(HBM_BUSY, 39), C(SRAM_WRITE, 256), C(DMA_SETUP, 10));
}

/* Bytes 8..27 lie in the bursts 0..31: 8 cycles. The engine moves 20 bytes in 3. */
Test(exact, a_load_moves_whole_bursts)
{
    begin(PFC_ACCEL_INT8);
    small_transfer(&s, PFC_ACCEL_OP_LOAD, 0, 1, 20, 20)->offset = 8;
    EXPECT("bursts", C(CYCLES, 10 + 8 + 7 + 20), C(TENSOR_IDLE, 45), C(VECTOR_IDLE, 45),
           C(DMA_BUSY, 3), C(DMA_IDLE, 90 - 13), C(DMA_TRANSFERS, 1), C(HBM_READ, 32),
           C(HBM_ROW_MISS, 1), C(HBM_BUSY, 7), C(SRAM_WRITE, 20), C(DMA_SETUP, 10));
}

/* Three rows of 8 bytes in blocks 0, 1 and 2, a burst of 4 cycles each: the third waits for the
   second, in channel 1, and finds the row open. */
Test(exact, a_load_of_rows_that_are_apart)
{
    begin(PFC_ACCEL_INT8);
    small_transfer(&s, PFC_ACCEL_OP_LOAD, 0, 3, 8, 64);
    EXPECT("rows", C(CYCLES, 10 + 7 + 4 + 4 + 20), C(TENSOR_IDLE, 45), C(VECTOR_IDLE, 45),
           C(DMA_BUSY, 3), C(DMA_IDLE, 90 - 13), C(DMA_TRANSFERS, 1), C(HBM_READ, 48),
           C(HBM_ROW_HIT, 1), C(HBM_ROW_MISS, 2), C(HBM_BUSY, 13), C(SRAM_WRITE, 24),
           C(DMA_SETUP, 10));
}

/* Writing turns the channel round: 6 more. */
Test(exact, a_store_of_one_block)
{
    begin(PFC_ACCEL_INT8);
    small_transfer(&s, PFC_ACCEL_OP_STORE, 1, 1, 64, 64);
    EXPECT("store", C(CYCLES, 59), C(TENSOR_IDLE, 59), C(VECTOR_IDLE, 59), C(DMA_BUSY, 8),
           C(DMA_IDLE, 118 - 18), C(DMA_TRANSFERS, 1), C(HBM_WRITE, 64), C(HBM_ROW_MISS, 1),
           C(HBM_BUSY, 14), C(SRAM_READ, 64), C(DMA_SETUP, 10));
}

/* 2 x 4 sums of 4 bytes: 32 bytes are 8 cycles, 7 for the row, 6 to turn. */
Test(exact, a_store_of_sums)
{
    begin(PFC_ACCEL_INT8);
    small_transfer(&s, PFC_ACCEL_OP_STORE_ACC, 0, 2, 4, 16)->elem = 4;
    EXPECT("sums", C(CYCLES, 10 + 21 + 20), C(TENSOR_IDLE, 51), C(VECTOR_IDLE, 51), C(DMA_BUSY, 4),
           C(DMA_IDLE, 102 - 14), C(DMA_TRANSFERS, 1), C(HBM_WRITE, 32), C(HBM_ROW_MISS, 1),
           C(HBM_BUSY, 10), C(ACC_READ, 32), C(DMA_SETUP, 10));
}

/* The engine is free for the store at 18, when its bytes are taken; its setup ends at 28, the
   channel is free at 33, the row is open: 33 + 16 + 6 + 20. */
Test(exact, a_transfer_behind_another_one)
{
    begin(PFC_ACCEL_INT8);
    small_transfer(&s, PFC_ACCEL_OP_LOAD, 0, 1, 64, 64);
    small_transfer(&s, PFC_ACCEL_OP_STORE, 0, 1, 64, 64);
    EXPECT("behind", C(CYCLES, 75), C(TENSOR_IDLE, 75), C(VECTOR_IDLE, 75), C(DMA_BUSY, 16),
           C(DMA_IDLE, 150 - 36), C(DMA_TRANSFERS, 2), C(HBM_READ, 64), C(HBM_WRITE, 64),
           C(HBM_ROW_HIT, 1), C(HBM_ROW_MISS, 1), C(HBM_BUSY, 22), C(SRAM_WRITE, 64),
           C(SRAM_READ, 64), C(DMA_SETUP, 20));
    /* When it waits for the load it starts at 53, 35 later. */
    small_wait(&s, 0);
    EXPECT("after", C(CYCLES, 53 + 10 + 16 + 6 + 20), C(TENSOR_IDLE, 105), C(VECTOR_IDLE, 105),
           C(DMA_BUSY, 16), C(DMA_STALL_DMA, 35), C(DMA_IDLE, 210 - 36 - 35), C(DMA_TRANSFERS, 2),
           C(HBM_READ, 64), C(HBM_WRITE, 64), C(HBM_ROW_HIT, 1), C(HBM_ROW_MISS, 1),
           C(HBM_BUSY, 22), C(SRAM_WRITE, 64), C(SRAM_READ, 64), C(DMA_SETUP, 20));
}

/* Rows 0 and 2 share a bank, of two: going there and back misses each time. */
Test(exact, a_bank_has_one_open_row)
{
    begin(PFC_ACCEL_INT8);
    small_transfer(&s, PFC_ACCEL_OP_LOAD, 0, 1, 64, 64);
    small_transfer(&s, PFC_ACCEL_OP_LOAD, 0, 1, 64, 64)->offset = 16 * 64;
    small_transfer(&s, PFC_ACCEL_OP_LOAD, 0, 1, 64, 64);
    cr_assert(eq(u64, small_run(&s, 0).v[PFC_ACCEL_HBM_ROW_MISS], 3));
    s.cmds[1].offset = 8 * 64; /* row 1, the other bank */
    cr_assert(eq(u64, small_run(&s, 0).v[PFC_ACCEL_HBM_ROW_MISS], 2));
    cr_assert(eq(u64, small_run(&s, 0).v[PFC_ACCEL_HBM_ROW_HIT], 1));
}

/* Three groups of 4096 bytes, 512 cycles of the engine and 2048 of the memory each, one in flight:
   the second is issued at 10 + 512, the third once the first has come, at 10 + 2048. */
Test(exact, groups_in_flight_are_bounded)
{
    begin(PFC_ACCEL_INT8);
    s.chip.sram_bytes = s.program.sram_used = 16384;
    s.chip.hbm_mbps = 2000;
    s.chip.hbm_row_miss = 0;
    s.chip.hbm_refresh_every = 1000000;
    s.chip.dma_window = 1;
    small_transfer(&s, PFC_ACCEL_OP_LOAD, 0, 3, 4096, 4096);
    EXPECT("one group in flight", C(CYCLES, 10 + 3 * 2048 + 20), C(TENSOR_IDLE, 6174),
           C(VECTOR_IDLE, 6174), C(DMA_BUSY, 1536), C(DMA_STALL_HBM, 2058 - 1034),
           C(DMA_IDLE, 2 * 6174 - 1546 - 1024), C(DMA_TRANSFERS, 1), C(HBM_READ, 12288),
           C(HBM_ROW_HIT, 144), C(HBM_ROW_MISS, 48), C(HBM_BUSY, 6144), C(SRAM_WRITE, 12288),
           C(DMA_SETUP, 10));
    s.chip.dma_window = 2; /* two are in flight before the third is issued: nothing to wait for */
    cr_assert(eq(u64, small_run(&s, 0).v[PFC_ACCEL_DMA_STALL_HBM], 0));
}

/* A refresh is due every 1000 cycles and takes 50; those that fell into idle time cost nothing. */
Test(exact, refreshes_cost_what_is_left_of_them)
{
    static const struct {
        uint64_t setup;
        uint64_t start; /* of the access */
        uint64_t refreshes;
    } rows[] = { { 999, 999, 0 },   { 1000, 1050, 1 }, { 1049, 1050, 1 }, { 1050, 1050, 1 },
                 { 1051, 1051, 1 }, { 1999, 1999, 1 }, { 2000, 2050, 2 }, { 3060, 3060, 3 } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        pfc_accel_counters got;

        begin(PFC_ACCEL_INT8);
        s.chip.dma_setup = rows[i].setup;
        small_transfer(&s, PFC_ACCEL_OP_LOAD, 0, 1, 64, 64);
        got = small_run(&s, 0);
        cr_assert(eq(u64, got.v[PFC_ACCEL_CYCLES], rows[i].start + 16 + 7 + 20), "row %zu", i);
        cr_assert(eq(u64, got.v[PFC_ACCEL_HBM_REFRESH], rows[i].refreshes), "row %zu", i);
    }
}

/* A refresh closes the rows of its channel. */
Test(exact, a_refresh_closes_rows)
{
    begin(PFC_ACCEL_INT8);
    small_transfer(&s, PFC_ACCEL_OP_LOAD, 0, 1, 64, 64);
    small_transfer(&s, PFC_ACCEL_OP_LOAD, 0, 1, 64, 64);
    cr_assert(eq(u64, small_run(&s, 0).v[PFC_ACCEL_HBM_ROW_MISS], 1));
    s.chip.hbm_refresh_every = 30; /* between 10 and 33 */
    s.chip.hbm_refresh = 1;
    cr_assert(eq(u64, small_run(&s, 0).v[PFC_ACCEL_HBM_ROW_MISS], 2));
}

/* Ideal memory: bursts are counted, time is not. */
Test(exact, ideal_memory_counts_and_takes_no_time)
{
    begin(PFC_ACCEL_INT8);
    s.program.ideal_memory = true;
    small_transfer(&s, PFC_ACCEL_OP_LOAD, 0, 3, 8, 64)->offset = 12; /* each over two bursts */
    small_transfer(&s, PFC_ACCEL_OP_STORE, 0, 3, 8, 8)->offset = 12; /* 12..35: three bursts */
    EXPECT("ideal", C(DMA_TRANSFERS, 2), C(HBM_READ, 96), C(HBM_WRITE, 48), C(SRAM_WRITE, 24),
           C(SRAM_READ, 24));
}

/* ---- tensor unit ---- */

/* 5 x 4 x 6 on 4 x 3: two folds along k and two along n stream 5 rows each. Before the first row 3
   cycles, behind the last 4 + 3 - 2. */
Test(exact, a_product)
{
    begin(PFC_ACCEL_INT8);
    small_matmul(&s, 5, 4, 6);
    EXPECT("int8", C(CYCLES, 3 + 20 + 5), C(TENSOR_BUSY, 20), C(TENSOR_PRELOAD, 3),
           C(VECTOR_IDLE, 28), C(DMA_IDLE, 56), C(FOLDS, 4), C(MACS, 120), C(MAC_SLOTS, 4 * 12 * 5),
           C(READS_IFMAP, 2 * 5 * 6), C(READS_FILTER, 6 * 4), C(WRITES_OFMAP, 2 * 5 * 4),
           C(SRAM_READ, 84), C(ACC_WRITE, 160), C(TENSOR_FILL_DRAIN, 5));
    /* f32 streams twice; words are four bytes. */
    begin(PFC_ACCEL_F32);
    small_matmul(&s, 5, 4, 6);
    EXPECT("f32", C(CYCLES, 3 + 40 + 5), C(TENSOR_BUSY, 40), C(TENSOR_PRELOAD, 3),
           C(VECTOR_IDLE, 48), C(DMA_IDLE, 96), C(FOLDS, 4), C(MACS, 120), C(MAC_SLOTS, 4 * 12 * 5),
           C(READS_IFMAP, 60), C(READS_FILTER, 24), C(WRITES_OFMAP, 40), C(SRAM_READ, 4 * 84),
           C(ACC_WRITE, 160), C(TENSOR_FILL_DRAIN, 5));
    /* Fewer rows than the array has: a fold takes the 4 cycles of its weights. bf16 has one pass.
     */
    begin(PFC_ACCEL_BF16);
    small_matmul(&s, 2, 4, 6);
    EXPECT("bf16", C(CYCLES, 3 + 16 + 3), C(TENSOR_BUSY, 8), C(TENSOR_PRELOAD, 3),
           C(VECTOR_IDLE, 22), C(DMA_IDLE, 44), C(FOLDS, 4), C(MACS, 48), C(MAC_SLOTS, 4 * 12 * 2),
           C(READS_IFMAP, 24), C(READS_FILTER, 24), C(WRITES_OFMAP, 16), C(SRAM_READ, 2 * 48),
           C(ACC_WRITE, 64), C(TENSOR_STALL_WEIGHTS, 8), C(TENSOR_FILL_DRAIN, 3));
}

/* The second product's weights come in while the first one streams, unless it waits for its result:
   then the drain is a stall and the weights cost again. */
Test(exact, a_product_behind_another_one)
{
    begin(PFC_ACCEL_INT8);
    small_matmul(&s, 5, 4, 6);
    small_matmul(&s, 5, 4, 6);
    EXPECT("behind", C(CYCLES, 3 + 20 + 20 + 5), C(TENSOR_BUSY, 40), C(TENSOR_PRELOAD, 3),
           C(VECTOR_IDLE, 48), C(DMA_IDLE, 96), C(FOLDS, 8), C(MACS, 240), C(MAC_SLOTS, 480),
           C(READS_IFMAP, 120), C(READS_FILTER, 48), C(WRITES_OFMAP, 80), C(SRAM_READ, 168),
           C(ACC_WRITE, 320), C(TENSOR_FILL_DRAIN, 5));
    small_wait(&s, 0);
    EXPECT("after", C(CYCLES, 28 + 28), C(TENSOR_BUSY, 40), C(TENSOR_PRELOAD, 6),
           C(VECTOR_IDLE, 56), C(DMA_IDLE, 112), C(FOLDS, 8), C(MACS, 240), C(MAC_SLOTS, 480),
           C(READS_IFMAP, 120), C(READS_FILTER, 48), C(WRITES_OFMAP, 80), C(SRAM_READ, 168),
           C(ACC_WRITE, 320), C(TENSOR_FILL_DRAIN, 10));
}

/* Cycles of whole problems, 4 x 3 array. The dataflow decides which dimensions fold. */
Test(exact, whole_products_in_every_mode)
{
    static const struct {
        pfc_accel_mode mode;
        uint64_t m, n, k;
        uint64_t cycles;
    } rows[] = {
        { PFC_ACCEL_PIPELINED_WS, 5, 4, 6, 28 },
        { PFC_ACCEL_PIPELINED_WS, 2, 4, 6, 22 },
        { PFC_ACCEL_PIPELINED_WS, 4, 3, 4, 3 + 4 + 5 },
        { PFC_ACCEL_PIPELINED_WS, 4, 4, 4, 3 + 8 + 5 },
        { PFC_ACCEL_PIPELINED_WS, 4, 3, 5, 3 + 8 + 5 },
        /* folds of 2 R + C + m - 2, one less in all */
        { PFC_ACCEL_SCALESIM_WS, 5, 4, 6, 4 * (8 + 3 + 5 - 2) - 1 },
        { PFC_ACCEL_SCALESIM_WS, 5, 3, 4, 8 + 3 + 5 - 2 - 1 },
        /* m over R, n over C: k + R + C - 2 */
        { PFC_ACCEL_SCALESIM_OS, 5, 4, 6, 4 * (6 + 4 + 3 - 2) - 1 },
        { PFC_ACCEL_SCALESIM_OS, 4, 4, 6, 2 * (6 + 4 + 3 - 2) - 1 },
        /* k over R, m over C: 2 R + C + n - 2 */
        { PFC_ACCEL_SCALESIM_IS, 5, 4, 6, 4 * (8 + 3 + 4 - 2) - 1 },
        { PFC_ACCEL_SCALESIM_IS, 3, 4, 6, 2 * (8 + 3 + 4 - 2) - 1 },
        /* 2 R - 1, folds of max(m, R, 4), R + C - 2 + m - max behind the last */
        { PFC_ACCEL_ONNXIM_WS, 5, 4, 6, 7 + 4 * 5 + 5 },
        { PFC_ACCEL_ONNXIM_WS, 2, 4, 6, 7 + 4 * 4 + 5 },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++)
        cr_assert(eq(u64,
                     pfc_accel_tensor_cycles(rows[i].mode, 4, 3, rows[i].m, rows[i].n, rows[i].k),
                     rows[i].cycles),
                  "row %zu", i);
    /* Four rows at least stream in an interval of onnxim-ws, also on an array of two. */
    cr_assert(eq(u64, pfc_accel_tensor_cycles(PFC_ACCEL_ONNXIM_WS, 2, 2, 3, 2, 2), 3 + 4 + 2));
}

/* Words of the dataflows, 5 x 4 x 6: what stays in the array is read once. */
Test(exact, words_of_every_mode)
{
    static const struct {
        pfc_accel_mode mode;
        uint64_t ifmap, filter, ofmap, slots;
    } rows[] = {
        { PFC_ACCEL_SCALESIM_WS, 2 * 30, 24, 2 * 20, 4 * 12 * 5 },
        { PFC_ACCEL_SCALESIM_OS, 2 * 30, 2 * 24, 20, 4 * 12 * 6 },
        { PFC_ACCEL_SCALESIM_IS, 30, 2 * 24, 2 * 20, 4 * 12 * 4 },
        { PFC_ACCEL_ONNXIM_WS, 2 * 30, 24, 2 * 20, 4 * 12 * 5 },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        pfc_accel_counters got;

        begin(PFC_ACCEL_INT8);
        s.program.mode = rows[i].mode;
        small_matmul(&s, 5, 4, 6);
        got = small_run(&s, 0);
        cr_assert(eq(u64, got.v[PFC_ACCEL_READS_IFMAP], rows[i].ifmap), "row %zu", i);
        cr_assert(eq(u64, got.v[PFC_ACCEL_READS_FILTER], rows[i].filter), "row %zu", i);
        cr_assert(eq(u64, got.v[PFC_ACCEL_WRITES_OFMAP], rows[i].ofmap), "row %zu", i);
        cr_assert(eq(u64, got.v[PFC_ACCEL_MAC_SLOTS], rows[i].slots), "row %zu", i);
    }
}

/* ---- vector unit ---- */

/* 2 x 5 elements are 2 steps of 8 lanes a pass; the output tile is 2 x 3, one step. Latency 5. */
Test(exact, vector_operations)
{
    static const struct {
        const char *name;
        pfc_accel_op op;
        bool first;
        uint64_t busy, trees;
        uint64_t ops, sram_read, sram_write, acc_read;
    } rows[] = {
        { "softmax", PFC_ACCEL_OP_SOFTMAX, false, 7 * 2, 6, 70, 40, 40, 0 },
        { "layernorm", PFC_ACCEL_OP_LAYERNORM, false, 6 * 2, 6, 60, 40, 40, 0 },
        { "rmsnorm", PFC_ACCEL_OP_RMSNORM, false, 3 * 2, 3, 30, 40, 40, 0 },
        { "first step", PFC_ACCEL_OP_ATT_STEP, true, 7 * 2, 6, 70, 0, 40, 40 },
        { "step", PFC_ACCEL_OP_ATT_STEP, false, 7 * 2 + 1, 6, 76, 0, 40, 64 },
        { "end", PFC_ACCEL_OP_ATT_END, false, 1, 0, 6, 0, 24, 24 },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        const uint64_t cycles = rows[i].busy + rows[i].trees + 5;

        begin(PFC_ACCEL_F32);
        small_vector(&s, rows[i].op, 2, 5, 3)->first = rows[i].first;
        EXPECT(rows[i].name, C(CYCLES, cycles), C(TENSOR_IDLE, cycles),
               C(VECTOR_BUSY, rows[i].busy), C(VECTOR_REDUCE, rows[i].trees), C(VECTOR_IDLE, 5),
               C(DMA_IDLE, 2 * cycles), C(VECTOR_OPS, rows[i].ops), C(SRAM_READ, rows[i].sram_read),
               C(SRAM_WRITE, rows[i].sram_write), C(ACC_READ, rows[i].acc_read));
        begin(PFC_ACCEL_BF16);
        small_vector(&s, rows[i].op, 2, 5, 3)->first = rows[i].first;
        EXPECT(rows[i].name, C(CYCLES, cycles), C(TENSOR_IDLE, cycles),
               C(VECTOR_BUSY, rows[i].busy), C(VECTOR_REDUCE, rows[i].trees), C(VECTOR_IDLE, 5),
               C(DMA_IDLE, 2 * cycles), C(VECTOR_OPS, rows[i].ops),
               C(SRAM_READ, rows[i].sram_read / 2), C(SRAM_WRITE, rows[i].sram_write / 2),
               C(ACC_READ, rows[i].acc_read));
    }
}

/* ---- waits ---- */

/* f32: a load is over at 53, a store at 59, a product at 48 (its unit free at 43), a softmax at 25
   (free at 20). A command that waits for it stalls that long, less the time that its own unit was
   busy. */
Test(exact, a_stall_is_counted_for_what_was_waited_for)
{
    static const struct {
        small_step first, second;
        pfc_accel_counter stall;
        uint64_t cycles;
    } rows[] = {
        { SMALL_LOAD, SMALL_PRODUCT, PFC_ACCEL_TENSOR_STALL_DMA, 53 },
        { SMALL_STORE, SMALL_PRODUCT, PFC_ACCEL_TENSOR_STALL_DRAIN, 59 },
        { SMALL_PRODUCT, SMALL_PRODUCT, PFC_ACCEL_TENSOR_FILL_DRAIN,
          10 }, /* its own 5 at the end */
        { SMALL_WEIGH, SMALL_PRODUCT, PFC_ACCEL_TENSOR_STALL_VECTOR, 25 },
        { SMALL_LOAD, SMALL_WEIGH, PFC_ACCEL_VECTOR_STALL_DMA, 53 },
        { SMALL_STORE, SMALL_WEIGH, PFC_ACCEL_VECTOR_STALL_DMA, 59 },
        { SMALL_PRODUCT, SMALL_WEIGH, PFC_ACCEL_VECTOR_STALL_TENSOR, 48 },
        { SMALL_WEIGH, SMALL_WEIGH, PFC_ACCEL_VECTOR_STALL_CHAIN, 5 },
        { SMALL_LOAD, SMALL_STORE, PFC_ACCEL_DMA_STALL_DMA, 53 },
        { SMALL_STORE, SMALL_LOAD, PFC_ACCEL_DMA_STALL_DMA, 59 },
        { SMALL_PRODUCT, SMALL_SUMS, PFC_ACCEL_DMA_STALL_TENSOR, 48 },
        { SMALL_WEIGH, SMALL_STORE, PFC_ACCEL_DMA_STALL_VECTOR, 25 },
    };
    static const pfc_accel_counter all[] = {
        PFC_ACCEL_TENSOR_STALL_DMA,   PFC_ACCEL_TENSOR_STALL_VECTOR, PFC_ACCEL_TENSOR_STALL_DRAIN,
        PFC_ACCEL_TENSOR_STALL_BANK,  PFC_ACCEL_VECTOR_STALL_DMA,    PFC_ACCEL_VECTOR_STALL_TENSOR,
        PFC_ACCEL_VECTOR_STALL_CHAIN, PFC_ACCEL_VECTOR_STALL_BANK,   PFC_ACCEL_DMA_STALL_HBM,
        PFC_ACCEL_DMA_STALL_TENSOR,   PFC_ACCEL_DMA_STALL_VECTOR,    PFC_ACCEL_DMA_STALL_DMA,
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        pfc_accel_counters got;

        begin(PFC_ACCEL_F32);
        (void)small_add(&s, rows[i].first);
        (void)small_add(&s, rows[i].second);
        small_wait(&s, 0);
        got = small_run(&s, 0);
        for (size_t c = 0; c < PFC_ARRAY_LEN(all); c++)
            cr_assert(eq(u64, got.v[all[c]], all[c] == rows[i].stall ? rows[i].cycles : 0),
                      "row %zu: %s", i, pfc_accel_counter_name(all[c]));
    }
}

/* Of two waits the later one is the reason; a command of several parts is done with its last. */
Test(exact, the_last_of_several_waits_counts)
{
    begin(PFC_ACCEL_F32);
    (void)small_add(&s, SMALL_LOAD);
    (void)small_add(&s, SMALL_WEIGH);
    (void)small_add(&s, SMALL_PRODUCT);
    small_wait(&s, 0);
    small_wait(&s, 1);
    cr_assert(eq(u64, small_run(&s, 0).v[PFC_ACCEL_TENSOR_STALL_DMA], 53));
    cr_assert(eq(u64, small_run(&s, 0).v[PFC_ACCEL_TENSOR_STALL_VECTOR], 0));

    begin(PFC_ACCEL_F32);
    (void)small_add(&s, SMALL_LOAD);
    small_transfer(&s, PFC_ACCEL_OP_LOAD, 1, 1, 256, 256)->token = 0;
    (void)small_add(&s, SMALL_PRODUCT);
    small_wait(&s, 0);
    s.program.tokens_len = 3;
    /* Both in channel 0, the longer one behind the shorter: 10 + 23 + 32 + 20 */
    cr_assert(eq(u64, small_run(&s, 0).v[PFC_ACCEL_TENSOR_STALL_DMA], 85));
}

/* ---- banks ---- */

/* A short load (16 bytes, channel 0 until 21, over at 41) and one of 128 bytes that uses its bank
   until 44: what the second shares with the unit goes through its port of 16 bytes a cycle. */
static void collide(small_step what, uint64_t place, uint64_t operand)
{
    begin(PFC_ACCEL_F32);
    small_transfer(&s, PFC_ACCEL_OP_LOAD, 0, 1, 16, 16);
    s.cmds[0].offset = 16 * 64;
    s.cmds[0].a = 3072;
    small_transfer(&s, PFC_ACCEL_OP_LOAD, 1, 1, 128, 128);
    s.cmds[1].a = place;
    (void)small_add(&s, what);
    small_wait(&s, 0);
    s.cmds[2].a = s.cmds[2].b = operand;
}

Test(exact, a_shared_bank_costs_the_bytes_that_go_through_it)
{
    static const struct {
        uint64_t place;   /* of the load */
        uint64_t operand; /* of the unit */
        uint64_t wait;
    } rows[] = {
        { 0, 512, 8 },    /* bank 0: 128 bytes */
        { 960, 512, 4 },  /* half of them in bank 0 */
        { 896, 512, 8 },  /* the last 128 of bank 0 */
        { 1024, 512, 0 }, /* bank 1 */
        { 1024, 1100, 8 }, { 2048, 1100, 0 },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        pfc_accel_counters got;

        collide(SMALL_WEIGH, rows[i].place, rows[i].operand);
        got = small_run(&s, 0);
        cr_assert(eq(u64, got.v[PFC_ACCEL_VECTOR_STALL_BANK], rows[i].wait), "row %zu", i);
        cr_assert(eq(u64, got.v[PFC_ACCEL_SRAM_CONFLICT], rows[i].wait > 0), "row %zu", i);
        cr_assert(eq(u64, got.v[PFC_ACCEL_CYCLES], 41 + 20 + rows[i].wait + 5), "row %zu", i);
        collide(SMALL_PRODUCT, rows[i].place, rows[i].operand);
        got = small_run(&s, 0);
        cr_assert(eq(u64, got.v[PFC_ACCEL_TENSOR_STALL_BANK], rows[i].wait), "row %zu", i);
        cr_assert(eq(u64, got.v[PFC_ACCEL_CYCLES], 41 + 48 + rows[i].wait), "row %zu", i);
        cr_assert(eq(u64, small_run(&s, PFC_ACCEL_IDEAL_BANKS).v[PFC_ACCEL_TENSOR_STALL_BANK], 0));
    }
}

/* No longer than the unit works: 16 passes of one step would wait 64 cycles, a norm of 9 waits 9.
 */
Test(exact, a_shared_bank_costs_at_most_the_work)
{
    pfc_accel_counters got;

    collide(SMALL_WEIGH, 0, 512);
    s.cmds[2].op = PFC_ACCEL_OP_RMSNORM;
    s.chip.sram_port_bytes = 2;
    got = small_run(&s, 0);
    cr_assert(eq(u64, got.v[PFC_ACCEL_VECTOR_STALL_BANK], 9));
    s.chip.sram_port_bytes = 14; /* 128 / 14, rounded up */
    cr_assert(eq(u64, small_run(&s, 0).v[PFC_ACCEL_VECTOR_STALL_BANK], 9));
    s.chip.sram_port_bytes = 15;
    cr_assert(eq(u64, small_run(&s, 0).v[PFC_ACCEL_VECTOR_STALL_BANK], 9));
    s.chip.sram_port_bytes = 16;
    cr_assert(eq(u64, small_run(&s, 0).v[PFC_ACCEL_VECTOR_STALL_BANK], 8));
}
