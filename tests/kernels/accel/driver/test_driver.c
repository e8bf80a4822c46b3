/* The driver: memory, copies, streams, and every misuse that has an error. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/accel/compiler/compiler.h"

#include "tests/check/check.h"
#include "tests/kernels/accel/driver/device.h"

static pfc_accel_device *dev;
static pfc_err err;

static void open_edge(void)
{
    cr_assert(eq(int, pfc_accel_open_name(&dev, "pfc-edge", &err), PFC_OK), "%s", err.msg);
}

static void free_edge(void)
{
    pfc_accel_device_free(dev);
}

TestSuite(driver, .init = open_edge, .fini = free_edge);

static pfc_accel_program *compiled(int64_t m, int64_t n, int64_t k)
{
    const pfc_accel_problem problem = { .kernel = PFC_ACCEL_GEMM,
                                        .dtype = PFC_ACCEL_F32,
                                        .p = { m, n, k } };
    pfc_accel_program *program = NULL;

    cr_assert(eq(int,
                 pfc_accel_compile(&problem, pfc_accel_device_chip(dev), PFC_ACCEL_PIPELINED_WS,
                                   NULL, &program, &err),
                 PFC_OK),
              "%s", err.msg);
    return program;
}

Test(driver, a_product_goes_through)
{
    const float a[] = { 1, 2, 3, 4, 5, 6 }; /* 2x3 */
    const float b[] = { 1, 0, 0, 1, 1, 1 }; /* 3x2 */
    const float want[] = { 4, 5, 10, 11 };  /* by hand */
    float c[4] = { 0 };
    const pfc_accel_ptr args[] = { taken(dev, sizeof(a)), taken(dev, sizeof(b)),
                                   taken(dev, sizeof(c)) };
    pfc_accel_program *p = compiled(2, 2, 3);
    pfc_accel_counters counters;
    uint64_t before = 0;
    uint64_t tick = 0;

    cr_assert(eq(int, pfc_accel_copy_in(dev, 0, args[0], a, sizeof(a), &err), PFC_OK));
    cr_assert(eq(int, pfc_accel_copy_in(dev, 0, args[1], b, sizeof(b), &err), PFC_OK));
    cr_assert(eq(int, pfc_accel_synchronise(dev, 0, &before, &err), PFC_OK));
    cr_assert(eq(int, pfc_accel_launch(dev, 0, p, args, 3, NULL, &counters, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(int, pfc_accel_synchronise(dev, 0, &tick, &err), PFC_OK));
    /* The wait returns 400 + 6000 ns after the last byte; two calls of 1500 ns and a doorbell of
     * 150 later the launch is on its way: 3 * 400 + 150 ns to be fetched, and what is left of
     * 2500 to be dispatched. A cycle is a nanosecond. */
    cr_assert(eq(u64, tick - before,
                 400 + 6000 + 1500 + 1500 + 150 + 2500 + counters.v[PFC_ACCEL_CYCLES]));
    cr_assert(eq(int, pfc_accel_copy_out(dev, 0, c, args[2], sizeof(c), &err), PFC_OK));
    for (size_t i = 0; i < 4; i++)
        cr_assert(eq(flt, c[i], want[i]));
    cr_assert(eq(u64, counters.v[PFC_ACCEL_MACS] + counters.v[PFC_ACCEL_VECTOR_MACS], 12));
    cr_assert(eq(int, pfc_accel_device_counters(dev, &counters, &err), PFC_OK));
    cr_assert(eq(u64, counters.v[PFC_ACCEL_PCIE_DOWN], sizeof(a) + sizeof(b)));
    cr_assert(eq(u64, counters.v[PFC_ACCEL_PCIE_UP], sizeof(c)));
    cr_assert(eq(int, pfc_accel_counters_reset(dev, &err), PFC_OK));
    cr_assert(eq(int, pfc_accel_device_counters(dev, &counters, &err), PFC_OK));
    cr_assert(eq(u64, counters.v[PFC_ACCEL_CYCLES], 0));
    pfc_accel_program_free(p);
}

Test(driver, memory_is_bounded_reused_and_zero)
{
    const uint64_t all = pfc_accel_device_chip(dev)->hbm_bytes;
    pfc_accel_ptr p = 0;
    uint64_t left = 0;
    char byte = 1;

    cr_assert(eq(int, pfc_accel_malloc(dev, 0, &p, &err), PFC_EINVAL));
    cr_assert(eq(int, pfc_accel_malloc(dev, all + 1, &p, &err), PFC_ETOOBIG));
    cr_assert(eq(int, pfc_accel_malloc(dev, UINT64_MAX, &p, &err), PFC_ETOOBIG));
    p = taken(dev, all);
    cr_assert(eq(int, pfc_accel_memory_free(dev, &left, &err), PFC_OK));
    cr_assert(eq(u64, left, 0));
    cr_assert(eq(int, pfc_accel_copy_out(dev, 0, &byte, p + all - 1, 1, &err), PFC_OK));
    cr_assert(eq(chr, byte, 0));
    {
        pfc_accel_ptr more = 7;

        cr_assert(eq(int, pfc_accel_malloc(dev, 1, &more, &err), PFC_ETOOBIG));
        cr_assert(eq(u64, more, 7));
    }
    cr_assert(eq(int, pfc_accel_free(dev, p, &err), PFC_OK));
    cr_assert(eq(u64, taken(dev, all), p));
}

Test(driver, freed_gaps_are_found_again)
{
    const pfc_accel_ptr a = taken(dev, 1000);
    const pfc_accel_ptr b = taken(dev, 1000);
    const pfc_accel_ptr c = taken(dev, 1000);

    cr_assert(eq(u64, a % PFC_ACCEL_ALIGN, 0));
    cr_assert(ge(u64, b, a + 1000));
    cr_assert(ge(u64, c, b + 1000));
    cr_assert(eq(int, pfc_accel_free(dev, b, &err), PFC_OK));
    cr_assert(gt(u64, taken(dev, 2000), c));
    cr_assert(eq(u64, taken(dev, 500), b));
}

Test(driver, a_double_free_and_a_wild_free_are_errors)
{
    const pfc_accel_ptr p = taken(dev, 4096);

    cr_assert(eq(int, pfc_accel_free(dev, p + 256, &err), PFC_EINVAL));
    cr_assert(eq(int, pfc_accel_free(dev, p, &err), PFC_OK));
    cr_assert(eq(int, pfc_accel_free(dev, p, &err), PFC_EINVAL));
    cr_assert(strstr(err.msg, "freed before") != NULL, "%s", err.msg);
    cr_assert(eq(int, pfc_accel_free(dev, 0, &err), PFC_EINVAL));
}

Test(driver, copies_out_of_range_are_errors)
{
    const pfc_accel_ptr p = taken(dev, 256);
    char host[1024] = { 0 };

    cr_assert(eq(int, pfc_accel_copy_in(dev, 0, p, host, 257, &err), PFC_EINVAL));
    cr_assert(strstr(err.msg, "256 left") != NULL, "%s", err.msg);
    cr_assert(eq(int, pfc_accel_copy_in(dev, 0, p + 200, host, 57, &err), PFC_EINVAL));
    cr_assert(eq(int, pfc_accel_copy_in(dev, 0, p - 1, host, 1, &err), PFC_EINVAL));
    cr_assert(eq(int, pfc_accel_copy_out(dev, 0, host, 0, 1, &err), PFC_EINVAL));
    cr_assert(eq(int, pfc_accel_copy_out(dev, 0, host, p, UINT64_MAX, &err), PFC_EINVAL));
    cr_assert(eq(int, pfc_accel_copy_in(dev, 0, p + 200, host, 56, &err), PFC_OK));
    cr_assert(eq(int, pfc_accel_copy_in(dev, 0, 0, NULL, 0, &err), PFC_OK));
}

Test(driver, launches_with_wrong_arguments_are_errors)
{
    pfc_accel_program *p = compiled(8, 8, 8);
    const pfc_accel_ptr good = taken(dev, 256);
    const pfc_accel_ptr freed = taken(dev, 256);
    const pfc_accel_ptr wrong[] = { good, good, freed };
    const pfc_accel_ptr outside[] = { good, good + 128, good };

    cr_assert(eq(int, pfc_accel_free(dev, freed, &err), PFC_OK));
    cr_assert(eq(int, pfc_accel_launch(dev, 0, p, wrong, 2, NULL, NULL, &err), PFC_EINVAL));
    cr_assert(eq(int, pfc_accel_launch(dev, 0, p, wrong, 3, NULL, NULL, &err), PFC_EINVAL));
    cr_assert(strstr(err.msg, "argument 2") != NULL, "%s", err.msg);
    cr_assert(eq(int, pfc_accel_launch(dev, 0, p, outside, 3, NULL, NULL, &err), PFC_EINVAL));
    cr_assert(strstr(err.msg, "argument 1") != NULL, "%s", err.msg);
    cr_assert(eq(int, pfc_accel_launch(dev, 9, p, wrong, 3, NULL, NULL, &err), PFC_EINVAL));
    pfc_accel_program_free(p);
}

/* A program for a large scratchpad does not run on a small one. */
Test(driver, a_program_for_another_chip_is_refused)
{
    const pfc_accel_problem problem = { .kernel = PFC_ACCEL_GEMM,
                                        .dtype = PFC_ACCEL_F32,
                                        .p = { 4096, 4096, 4096 } };
    const uint64_t bytes = 4ull * 4096 * 4096;
    const pfc_accel_ptr args[] = { taken(dev, bytes), taken(dev, bytes), taken(dev, bytes) };
    const pfc_accel_launch_opts opts = { .timing_only = true };
    pfc_accel_program *p = NULL;
    pfc_accel_chip chip;

    cr_assert(eq(int, pfc_accel_chip_load("pfc-server", &chip, &err), PFC_OK));
    cr_assert(eq(int, pfc_accel_compile(&problem, &chip, chip.mode, NULL, &p, &err), PFC_OK));
    cr_assert(ne(int, pfc_accel_launch(dev, 0, p, args, 3, &opts, NULL, &err), PFC_OK));
    pfc_accel_program_free(p);
}

Test(driver, a_closed_device_answers_with_errors)
{
    pfc_accel_program *p = compiled(1, 1, 1);
    const pfc_accel_ptr a = taken(dev, 4);
    const pfc_accel_ptr args[] = { a, a, a };
    pfc_accel_counters counters;
    pfc_accel_ptr out = 0;
    pfc_accel_stream stream = 0;
    uint64_t v = 0;
    pfc_accel_whatif whatif;
    char byte = 0;

    cr_assert(eq(int, pfc_accel_close(dev, &err), PFC_OK));
    cr_assert(eq(int, pfc_accel_close(dev, &err), PFC_ECONFLICT));
    cr_assert(eq(int, pfc_accel_launch(dev, 0, p, args, 3, NULL, NULL, &err), PFC_ECONFLICT));
    cr_assert(strstr(err.msg, "closed") != NULL, "%s", err.msg);
    cr_assert(eq(int, pfc_accel_launch_whatif(dev, p, args, 3, &whatif, &err), PFC_ECONFLICT));
    cr_assert(eq(int, pfc_accel_malloc(dev, 1, &out, &err), PFC_ECONFLICT));
    cr_assert(eq(int, pfc_accel_free(dev, a, &err), PFC_ECONFLICT));
    cr_assert(eq(int, pfc_accel_memory_free(dev, &v, &err), PFC_ECONFLICT));
    cr_assert(eq(int, pfc_accel_copy_in(dev, 0, a, &byte, 1, &err), PFC_ECONFLICT));
    cr_assert(eq(int, pfc_accel_copy_out(dev, 0, &byte, a, 1, &err), PFC_ECONFLICT));
    cr_assert(eq(int, pfc_accel_stream_new(dev, &stream, &err), PFC_ECONFLICT));
    cr_assert(eq(int, pfc_accel_stream_wait(dev, 0, 0, &err), PFC_ECONFLICT));
    cr_assert(eq(int, pfc_accel_synchronise(dev, 0, &v, &err), PFC_ECONFLICT));
    cr_assert(eq(int, pfc_accel_device_counters(dev, &counters, &err), PFC_ECONFLICT));
    cr_assert(eq(int, pfc_accel_counters_reset(dev, &err), PFC_ECONFLICT));
    pfc_accel_program_free(p);
}

/* Each direction of the link is busy for its copy; the host submits the second copy one call and
 * one doorbell (1500 + 150 ns) after the first. */
Test(driver, streams_overlap_unless_they_wait)
{
    static char host[1 << 16];
    const pfc_accel_ptr p = taken(dev, sizeof(host));
    const pfc_accel_chip *chip = pfc_accel_device_chip(dev);
    const uint64_t down = pfc_accel_pcie_read_cycles(chip, sizeof(host));
    const uint64_t up = pfc_accel_pcie_wire_cycles(chip, sizeof(host));
    pfc_accel_stream s = 0;
    uint64_t ends[2] = { 0 };

    cr_assert(eq(int, pfc_accel_stream_new(dev, &s, &err), PFC_OK));
    cr_assert(eq(u32, s, 1));
    cr_assert(eq(int, pfc_accel_copy_in_async(dev, 0, p, host, sizeof(host), &err), PFC_OK));
    cr_assert(eq(int, pfc_accel_copy_out_async(dev, s, host, p, sizeof(host), &err), PFC_OK));
    cr_assert(eq(int, pfc_accel_synchronise(dev, s, &ends[1], &err), PFC_OK));
    cr_assert(eq(int, pfc_accel_synchronise(dev, 0, &ends[0], &err), PFC_OK));
    /* Only the copy to the device waits a round trip of 800 ns for its first byte. */
    cr_assert(eq(i64, (int64_t)(ends[1] - ends[0]), 1650 + (int64_t)up - 800 - (int64_t)down));

    cr_assert(eq(int, pfc_accel_copy_in_async(dev, 0, p, host, sizeof(host), &err), PFC_OK));
    cr_assert(eq(int, pfc_accel_stream_wait(dev, s, 0, &err), PFC_OK));
    cr_assert(eq(int, pfc_accel_copy_out_async(dev, s, host, p, sizeof(host), &err), PFC_OK));
    cr_assert(eq(int, pfc_accel_synchronise(dev, s, &ends[1], &err), PFC_OK));
    cr_assert(eq(int, pfc_accel_synchronise(dev, 0, &ends[0], &err), PFC_OK));
    /* The signal of stream 0 ends with its copy; stream 1 sees it 400 ns later. */
    cr_assert(eq(u64, ends[1], ends[0] + 400 + up));
    cr_assert(eq(int, pfc_accel_stream_wait(dev, s, 63, &err), PFC_EINVAL));
    cr_assert(eq(int, pfc_accel_stream_wait(dev, s, s, &err), PFC_OK));
    while (s < PFC_ACCEL_MAX_STREAMS - 1)
        cr_assert(eq(int, pfc_accel_stream_new(dev, &s, &err), PFC_OK));
    cr_assert(eq(int, pfc_accel_stream_new(dev, &s, &err), PFC_ETOOBIG));
}

/* 65536 bytes in packets of 128 with 26 bytes around each: 78848 on the wire. Four lanes of
 * 984 MB/s at 96 %: 3778.56 MB/s, so 20867.2 ns; 400 ns of latency before; 1 cycle is 1 ns. */
Test(driver, link_time_by_hand)
{
    const pfc_accel_chip *chip = pfc_accel_device_chip(dev);

    cr_assert(eq(u64, pfc_accel_pcie_cycles(chip, 65536), 400 + 20868));
    cr_assert(eq(u64, pfc_accel_pcie_cycles(chip, 0), 0));
    cr_assert(eq(u64, pfc_accel_pcie_wire_cycles(chip, 65536), 20868));
    cr_assert(eq(u64, pfc_accel_pcie_wire_cycles(chip, 0), 0));
    cr_assert(eq(u64, pfc_accel_pcie_read_cycles(chip, 65536), 20868));
}

/* With 4 requests of 256 bytes outstanding, a round trip of 800 ns brings 1024 bytes: 64 of them
 * for 65536 bytes, and half of one for 512. */
Test(driver, few_outstanding_reads_bound_the_link)
{
    pfc_accel_chip chip = *pfc_accel_device_chip(dev);

    chip.pcie_reads = 4;
    cr_assert(eq(u64, chip.pcie_read_bytes, 256));
    cr_assert(eq(u64, pfc_accel_pcie_read_cycles(&chip, 65536), 64 * 800));
    cr_assert(eq(u64, pfc_accel_pcie_read_cycles(&chip, 512), 400));
}
