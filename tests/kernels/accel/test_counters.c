/*
 * Counters that are other sums of the same run: which activities overlap, how HBM was used, and the
 * values by queue, channel and bank. small.h defines the chip.
 */
#include <string.h>

#include "tests/check/check.h"
#include "tests/kernels/accel/small.h"

static small s;

static pfc_accel_detail detail;

static pfc_accel_counters run_detailed(void)
{
    pfc_accel_run run = {
        .chip = &s.chip, .program = &s.program, .timing_only = true, .detail = &detail
    };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_accel_execute(&run, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_accel_counters_check(&run.counters, &s.chip, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(int, pfc_accel_detail_check(&detail, &run.counters, &err), PFC_OK), "%s", err.msg);
    return run.counters;
}

static void expect_overlap(const pfc_accel_counters *c, const uint64_t want[8])
{
    for (size_t i = 0; i < 8; i++)
        cr_expect(eq(u64, c->v[PFC_ACCEL_OVERLAP_NONE + i], want[i]), "%s",
                  pfc_accel_counter_name((pfc_accel_counter)(PFC_ACCEL_OVERLAP_NONE + i)));
}

/* ---- overlap ---- */

/* Load 0..53, then product 53..101, then store of its sums. Nothing overlaps. */
Test(counters, a_chain_does_one_thing_at_a_time)
{
    pfc_accel_counters c;

    small_init(&s, PFC_ACCEL_F32);
    (void)small_add(&s, SMALL_LOAD);
    (void)small_add(&s, SMALL_PRODUCT);
    small_wait(&s, 0);
    (void)small_add(&s, SMALL_SUMS);
    small_wait(&s, 1);
    c = run_detailed();
    expect_overlap(&c, (uint64_t[8]){ 0, 53, c.v[PFC_ACCEL_CYCLES] - 53 - 48, 0, 48, 0, 0, 0 });
}

/* Load 0..53 beside store 0..59, product 0..48 and softmax 0..25: execution ends first, at 48. */
Test(counters, what_runs_together_is_counted_together)
{
    pfc_accel_counters c;

    small_init(&s, PFC_ACCEL_F32);
    (void)small_add(&s, SMALL_PRODUCT);
    (void)small_add(&s, SMALL_WEIGH);
    (void)small_add(&s, SMALL_LOAD);
    (void)small_add(&s, SMALL_STORE);
    c = run_detailed();
    cr_assert(eq(u64, c.v[PFC_ACCEL_OVERLAP_ALL], 48));
    cr_assert(eq(u64,
                 c.v[PFC_ACCEL_OVERLAP_EXEC] + c.v[PFC_ACCEL_OVERLAP_LOAD_EXEC] +
                     c.v[PFC_ACCEL_OVERLAP_STORE_EXEC] + c.v[PFC_ACCEL_OVERLAP_NONE],
                 0));
    cr_assert(eq(u64,
                 c.v[PFC_ACCEL_OVERLAP_LOAD_STORE] + c.v[PFC_ACCEL_OVERLAP_STORE] +
                     c.v[PFC_ACCEL_OVERLAP_LOAD],
                 c.v[PFC_ACCEL_CYCLES] - 48));
}

/* Intervals fed by hand: gaps, equal bounds, one inside of another. */
Test(counters, overlap_sums_unions_and_not_intervals)
{
    pfc_accel_overlap o = { 0 };
    pfc_accel_counters c = { 0 };

    pfc_accel_overlap_execute(&o, 10, 30);
    pfc_accel_overlap_execute(&o, 15, 20); /* inside */
    pfc_accel_overlap_open(&o, false, 20);
    pfc_accel_overlap_open(&o, false, 25);      /* a second load at the same time */
    pfc_accel_overlap_close(&o, false, 35, 40); /* its last byte is later */
    pfc_accel_overlap_close(&o, false, 40, 40);
    pfc_accel_overlap_open(&o, true, 50);
    pfc_accel_overlap_execute(&o, 50, 55);
    pfc_accel_overlap_close(&o, true, 60, 60);
    pfc_accel_overlap_end(&o, 70, &c);
    expect_overlap(&c, (uint64_t[8]){ 10 + 10 + 10, 10, 5, 0, 10, 10, 5, 0 });
}

/* ---- HBM ---- */

/* Two loads from two engines at once, of the same block: the second waits for the first (23 cycles
 * from its start at 10) and finds the row open. */
Test(counters, queue_and_service_of_hbm)
{
    pfc_accel_counters c;

    small_init(&s, PFC_ACCEL_INT8);
    small_transfer(&s, PFC_ACCEL_OP_LOAD, 0, 1, 64, 64);
    small_transfer(&s, PFC_ACCEL_OP_LOAD, 1, 1, 64, 64)->a = 1024;
    c = run_detailed();
    cr_assert(eq(u64, c.v[PFC_ACCEL_HBM_ACCESSES], 2));
    cr_assert(eq(u64, c.v[PFC_ACCEL_HBM_ROW_HIT], 1));
    cr_assert(eq(u64, c.v[PFC_ACCEL_HBM_ROW_CONFLICT], 0)); /* the first found no open row */
    cr_assert(eq(u64, c.v[PFC_ACCEL_HBM_QUEUE], 23));
    cr_assert(eq(u64, c.v[PFC_ACCEL_HBM_SERVICE], 23 + 16));
    cr_assert(eq(u64, c.v[PFC_ACCEL_HBM_LATENCY], 23 + 23 + 16));
    cr_assert(eq(u64, detail.channels[0].queue_cycles, 23));
    cr_assert(eq(u64, detail.channels[1].accesses, 0));
    cr_assert(eq(u64, detail.first_use, 1));
    cr_assert(eq(u64, detail.reuse_bytes[6], 0)); /* nothing was loaded between the two */
    cr_assert(eq(u64, detail.reuse_bytes[0], 1));
}

/* Rows of a bank: 256 bytes in each of two channels, two banks; 1,024 bytes further the same bank
 * has another row open. */
Test(counters, another_open_row_is_a_conflict)
{
    pfc_accel_counters c;

    small_init(&s, PFC_ACCEL_INT8);
    small_transfer(&s, PFC_ACCEL_OP_LOAD, 0, 1, 64, 64);
    small_transfer(&s, PFC_ACCEL_OP_LOAD, 0, 1, 64, 64)->offset = 1024;
    small_transfer(&s, PFC_ACCEL_OP_STORE, 0, 1, 64, 64)->offset = 0;
    c = run_detailed();
    cr_assert(eq(u64, c.v[PFC_ACCEL_HBM_ROW_HIT], 0));
    cr_assert(eq(u64, c.v[PFC_ACCEL_HBM_ROW_MISS], 3));
    cr_assert(eq(u64, c.v[PFC_ACCEL_HBM_ROW_CONFLICT], 2));
    cr_assert(eq(u64, c.v[PFC_ACCEL_HBM_TURNAROUND], 1));
}

/* ---- queues, banks, histograms ---- */

Test(counters, transfers_are_counted_by_queue_and_by_size)
{
    pfc_accel_counters c;

    small_init(&s, PFC_ACCEL_INT8);
    small_transfer(&s, PFC_ACCEL_OP_LOAD, 0, 1, 64, 64);
    small_transfer(&s, PFC_ACCEL_OP_LOAD, 1, 4, 16, 100);
    small_wait(&s, 0);
    c = run_detailed();
    cr_assert(eq(u64, detail.queues[0].transfers, 1));
    cr_assert(eq(u64, detail.queues[1].transfers, 1));
    cr_assert(eq(u64, detail.queues[0].bytes, 64));
    cr_assert(eq(u64, detail.queues[1].setup_cycles, 10));
    cr_assert(eq(u64, detail.queues[0].wait_cycles, 0));
    cr_assert(eq(u64, detail.queues[1].wait_cycles, 53));
    cr_assert(eq(u64, detail.transfer_bytes[6], 2));     /* 64 bytes each */
    cr_assert(eq(u64, detail.transfer_row_bytes[6], 1)); /* one row */
    cr_assert(eq(u64, detail.transfer_row_bytes[4], 1)); /* rows of 16 */
    cr_assert(eq(u64, detail.transfer_stride[6], 2));    /* 64 and 100 */
    cr_assert(eq(u64, c.v[PFC_ACCEL_DMA_BYTES], 128));
}

/* A wait is spread over the banks that were met, the first ones take what is left over. */
Test(counters, a_wait_is_spread_over_its_banks)
{
    pfc_accel_detail d = { 0 };

    pfc_accel_detail_bank_wait(&d, 0xb, 8);
    cr_assert(eq(u64, d.bank_wait_cycles[0], 3));
    cr_assert(eq(u64, d.bank_wait_cycles[1], 3));
    cr_assert(eq(u64, d.bank_wait_cycles[2], 0));
    cr_assert(eq(u64, d.bank_wait_cycles[3], 2));
}

/* Tile A, then so many others that the table grows, then A again: the distance is what they
 * moved. */
Test(counters, reuse_distance_is_the_bytes_loaded_between)
{
    static pfc_accel_detail d;
    pfc_accel_reuse reuse = { 0 };
    pfc_accel_cmd cmd = { .unit = PFC_ACCEL_UNIT_DMA,
                          .op = PFC_ACCEL_OP_LOAD,
                          .m = 1,
                          .n = 64,
                          .elem = 1,
                          .stride = 64 };

    memset(&d, 0, sizeof(d));
    for (uint64_t i = 0; i <= 4096; i++)
        pfc_accel_detail_transfer(&d, &reuse, &cmd, i * 64);
    pfc_accel_detail_transfer(&d, &reuse, &cmd, 0);
    cr_assert(eq(u64, d.first_use, 4097));
    cr_assert(eq(u64, d.reuse_bytes[18], 1)); /* 4096 * 64 = 2^18 bytes */
    cmd.op = PFC_ACCEL_OP_STORE;
    pfc_accel_detail_transfer(&d, &reuse, &cmd, 0); /* a store uses nothing again */
    cr_assert(eq(u64, d.first_use, 4097));
    cr_assert(eq(u64, d.transfer_bytes[6], 4099));
    pfc_accel_reuse_free(&reuse);
}

Test(counters, sums_that_do_not_hold_are_refused)
{
    pfc_accel_counters c;
    pfc_err err = { 0 };
    uint64_t *const values[] = {
        &detail.queues[1].transfers,    &detail.queues[0].bytes,
        &detail.queues[0].busy_cycles,  &detail.queues[0].setup_cycles,
        &detail.queues[0].wait_cycles,  &detail.queues[0].stall_hbm_cycles,
        &detail.channels[1].read_bytes, &detail.channels[0].write_bytes,
        &detail.channels[0].accesses,   &detail.bank_wait_cycles[3],
        &detail.transfer_bytes[0],      &detail.transfer_stride[39],
        &detail.transfer_row_bytes[5],
    };

    small_init(&s, PFC_ACCEL_INT8);
    small_transfer(&s, PFC_ACCEL_OP_LOAD, 0, 1, 64, 64);
    c = run_detailed();
    for (size_t i = 0; i < PFC_ARRAY_LEN(values); i++) {
        ++*values[i];
        cr_expect(eq(int, pfc_accel_detail_check(&detail, &c, &err), PFC_EBUG), "value %zu", i);
        --*values[i];
    }
}

/* ---- what is known of each ---- */

Test(counters, every_counter_is_described)
{
    for (pfc_accel_counter i = 0; i < PFC_ACCEL_COUNTERS_LEN; i++) {
        const pfc_accel_counter_about a = pfc_accel_counter_describe(i);

        cr_assert(eq(str, (char *)(uintptr_t)a.name, (char *)(uintptr_t)pfc_accel_counter_name(i)));
        cr_assert(eq(int, strcmp(a.unit, "cycles") == 0, a.domain[0] != '\0'), "%s", a.name);
        cr_assert(ge(uint, a.since, 1));
        cr_assert(ne(ptr, (void *)(uintptr_t)a.law, NULL));
        for (pfc_accel_counter k = 0; k < i; k++)
            cr_assert(
                ne(str, (char *)(uintptr_t)a.name, (char *)(uintptr_t)pfc_accel_counter_name(k)));
    }
}
