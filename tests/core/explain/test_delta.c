/* Differences: contributions that sum, causes by what differs, and both directions alike. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/analysis/delta/delta.h"
#include "core/base/base.h"

#include "tests/check/check.h"

static pfc_profile before, after;
static pfc_delta *d;
static pfc_err err;

static void set(pfc_profile *p, const char *name, double value)
{
    cr_assert(eq(int, pfc_profile_set(p, name, value, &err), PFC_OK), "%s", err.msg);
}

static void fact(pfc_profile *p, const char *name, const char *text)
{
    cr_assert(eq(int, pfc_profile_set_fact(p, name, text, &err), PFC_OK), "%s", err.msg);
}

/* Two equal runs: 60 ticks of compute, 30 of memory, 10 of latency. */
static void set_up(void)
{
    d = pfc_calloc(1, sizeof(*d));
    err = (pfc_err){ 0 };
    pfc_profile_init(&before, "a");
    pfc_profile_init(&after, "b");
    for (int i = 0; i < 2; i++) {
        pfc_profile *p = i ? &after : &before;

        set(p, "cycles", 100);
        set(p, "path.matmul.compute", 60);
        set(p, "path.load a.memory", 30);
        set(p, "path.load a.latency", 10);
        set(p, "recoverable_compute_cycles", 55);
        set(p, "recoverable_memory_cycles", 20);
        set(p, "chip_hbm_mbps", 1000);
        set(p, "chip_sram_bytes", 65536);
        fact(p, "chip_hash", "c1");
        fact(p, "stream_digest", "s1");
        fact(p, "simulator", "accel-2");
        fact(p, "choice", "tiles of m 64, n 64, k 64; m outermost; 2 buffers");
    }
}

static void tear_down(void)
{
    pfc_profile_clear(&before);
    pfc_profile_clear(&after);
    free(d);
}

TestSuite(delta, .init = set_up, .fini = tear_down);

static void compare(void)
{
    cr_assert(eq(int, pfc_delta_of(&before, &after, d, &err), PFC_OK), "%s", err.msg);
}

static double sum(void)
{
    double s = 0;

    for (size_t i = 0; i < d->contributions_len; i++)
        s += d->contributions[i].value;
    return s;
}

/* The run after has 40 more ticks, of memory. */
static void slower_by_memory(void)
{
    set(&after, "cycles", 140);
    set(&after, "path.load a.memory", 72);
    set(&after, "path.load a.latency", 8);
    set(&after, "recoverable_memory_cycles", 62);
}

Test(delta, equal_runs_have_no_cause)
{
    compare();
    cr_assert(eq(dbl, d->delta, 0.0));
    cr_assert(eq(sz, d->causes_len, 0));
    cr_assert(eq(sz, d->contributions_len, 0));
    cr_assert(eq(sz, d->differences_len, 0));
    cr_assert(d->same_chip && d->same_stream && d->same_simulator);
}

Test(delta, another_stream_of_the_same_length_is_no_cause_either)
{
    fact(&after, "stream_digest", "s2");
    compare();
    cr_assert(eq(sz, d->causes_len, 0));
    cr_assert(not(d->same_stream));
    cr_assert(eq(sz, d->differences_len, 1));
}

Test(delta, contributions_sum_to_the_difference_largest_first)
{
    slower_by_memory();
    fact(&after, "stream_digest", "s2");
    compare();
    cr_assert(eq(int, d->basis, PFC_DELTA_PATH));
    cr_assert(epsilon_eq(dbl, sum(), 40.0, 1e-9));
    cr_assert(eq(sz, d->contributions_len, 2));
    cr_assert(eq(int, d->contributions[0].resource, PFC_RESOURCE_MEMORY));
    cr_assert(eq(str, d->contributions[0].phase, "load a"));
    cr_assert(eq(dbl, d->contributions[0].value, 42.0));
    cr_assert(eq(dbl, d->contributions[1].value, -2.0));
    cr_assert(eq(dbl, d->by_resource[PFC_RESOURCE_LATENCY], -2.0));
}

Test(delta, what_the_parts_leave_open_is_named)
{
    slower_by_memory();
    set(&after, "path.load a.memory", 71.9); /* within what a check allows */
    compare();
    cr_assert(epsilon_eq(dbl, sum(), 40.0, 1e-9));
    cr_assert(eq(str, d->contributions[d->contributions_len - 1].phase, "not attributed"));
    cr_assert(epsilon_eq(dbl, d->by_resource[PFC_RESOURCE_NONE], 0.1, 1e-9));
}

Test(delta, a_constant_of_the_chip_is_the_first_cause)
{
    slower_by_memory();
    set(&after, "chip_hbm_mbps", 500);
    fact(&after, "chip_hash", "c2");
    compare();
    cr_assert(eq(sz, d->causes_len, 1));
    cr_assert(eq(int, d->causes[0].kind, PFC_DELTA_CHIP));
    cr_assert(eq(int, d->causes[0].resource, PFC_RESOURCE_MEMORY));
    cr_assert(eq(dbl, d->causes[0].ticks, 42.0));
    cr_assert(strstr(d->causes[0].text, "hbm_mbps is 500 instead of 1000") != NULL, "%s",
              d->causes[0].text);
}

/* Runs without the constants of their chips, of another chip each. `was` and `is`: setup of 20
 * transfers; the byte of an engine costs 1/64 and 1/32 cycles. */
static void blind(double was, double is)
{
    pfc_profile *const sides[] = { &before, &after };

    for (int i = 0; i < 2; i++) {
        pfc_profile *p = sides[i];

        pfc_profile_clear(p);
        pfc_profile_init(p, i ? "b" : "a");
        set(p, "cycles", i ? 120 : 100);
        set(p, "path.matmul.compute", i ? 75 : 60);
        set(p, "path.load a.dma", i ? 45 : 40);
        set(p, "dma_transfers", 20);
        set(p, "dma_setup_cycles", i ? is : was);
        set(p, "dma_bytes", 6400);
        set(p, "dma_busy_cycles", i ? 200 : 100);
        fact(p, "choice", "tiles of m 64, n 64, k 64");
    }
}

/* The path alone would name compute, which grew by 15 of the 20 ticks. */
Test(delta, without_constants_the_part_whose_work_costs_more_is_named)
{
    blind(480, 960);
    compare();
    cr_assert(eq(int, (int)d->causes[0].kind, (int)PFC_DELTA_CHIP));
    cr_expect(eq(int, (int)d->causes[0].resource, (int)PFC_RESOURCE_DMA));
    cr_expect(eq(str, d->causes[0].text,
                 "The setup of a transfer takes 48 cycles instead of 24: the chip is another one, "
                 "though its constants are not recorded."));
    cr_expect(eq(sz, d->causes_len, 2)); /* and the byte of an engine */
    /* Less is as much a difference as more. */
    blind(960, 480);
    compare();
    cr_expect(eq(int, (int)d->causes[0].resource, (int)PFC_RESOURCE_DMA));
}

/* Another schedule moves rows of another length: only costs that no schedule alters are compared.
 */
Test(delta, rough_costs_are_not_compared_between_schedules)
{
    blind(480, 480);
    fact(&after, "choice", "tiles of m 64, n 64, k 8");
    compare();
    cr_expect(ne(int, (int)d->causes[0].kind, (int)PFC_DELTA_CHIP));
    cr_expect(eq(int, (int)d->causes[0].resource, (int)PFC_RESOURCE_COMPUTE));
}

/* A recorded constant says more than a conclusion from costs. */
Test(delta, recorded_constants_make_costs_needless)
{
    blind(480, 960);
    set(&before, "chip_dma_setup", 24);
    compare();
    cr_expect(ne(int, (int)d->causes[0].kind, (int)PFC_DELTA_CHIP));
    blind(480, 960);
    fact(&before, "chip_hash", "c1");
    fact(&after, "chip_hash", "c1");
    compare();
    cr_expect(ne(int, (int)d->causes[0].kind, (int)PFC_DELTA_CHIP));
}

Test(delta, a_capacity_acts_through_the_resource_that_changed)
{
    slower_by_memory();
    set(&after, "chip_sram_bytes", 32768);
    fact(&after, "chip_hash", "c2");
    fact(&after, "stream_digest", "s2");
    compare();
    cr_assert(eq(sz, d->causes_len, 2));
    cr_assert(eq(int, d->causes[0].kind, PFC_DELTA_CHIP));
    cr_assert(eq(int, d->causes[0].resource, PFC_RESOURCE_MEMORY));
    cr_assert(eq(int, d->causes[1].kind, PFC_DELTA_STREAM));
}

Test(delta, a_schedule_is_named_by_the_clauses_that_differ)
{
    slower_by_memory();
    fact(&after, "stream_digest", "s2");
    fact(&after, "choice", "tiles of m 64, n 16, k 64; m outermost; 2 buffers");
    compare();
    cr_assert(eq(int, d->causes[0].kind, PFC_DELTA_CHOICE));
    cr_assert(eq(str, d->causes[0].text, "The schedule has \"n 16\" instead of \"n 64\"."));
    cr_assert(eq(int, d->causes[0].resource, PFC_RESOURCE_MEMORY));
    fact(&after, "choice", "tiles of m 64, n 64, k 64; m outermost");
    compare();
    cr_assert(eq(str, d->causes[0].text, "The schedule no longer has \"2 buffers\"."));
    fact(&after, "choice", "tiles of m 64, n 64, k 64; m outermost; 2 buffers; fused");
    compare();
    cr_assert(eq(str, d->causes[0].text, "The schedule now also has \"fused\"."));
}

Test(delta, a_second_resource_is_named_from_a_fifth_of_the_difference_on)
{
    slower_by_memory();
    fact(&after, "stream_digest", "s2");
    set(&after, "recoverable_compute_cycles", 55 + 7.9);
    compare();
    cr_assert(eq(sz, d->causes_len, 1));
    set(&after, "recoverable_compute_cycles", 55 + 8);
    compare();
    cr_assert(eq(sz, d->causes_len, 2));
    cr_assert(eq(int, d->causes[1].resource, PFC_RESOURCE_COMPUTE));
    cr_assert(eq(dbl, d->causes[1].ticks, 8.0));
}

/* Without DMA the projection saves nothing in either run: 25 ticks of its path replace it, against
 * 15 of memory by projection. Where one run would gain, the projections decide. */
Test(delta, a_resource_without_projected_gain_is_compared_by_its_path)
{
    fact(&after, "stream_digest", "s2");
    set(&after, "cycles", 140);
    set(&after, "path.load a.memory", 45);
    set(&after, "path.load a.dma", 25);
    set(&after, "recoverable_memory_cycles", 35);
    set(&before, "recoverable_dma_cycles", 0);
    set(&after, "recoverable_dma_cycles", 0);
    compare();
    cr_assert(eq(int, d->causes[0].resource, PFC_RESOURCE_DMA));
    cr_assert(epsilon_eq(dbl, d->causes[0].ticks, 25, 1e-9));
    set(&after, "recoverable_dma_cycles", 1);
    compare();
    cr_assert(eq(int, d->causes[0].resource, PFC_RESOURCE_MEMORY));
}

/* 1 MB read and 1 MB written before, 3 MB after: the sentence names the traffic. */
Test(delta, a_schedule_names_its_traffic_with_device_memory)
{
    slower_by_memory();
    fact(&after, "stream_digest", "s2");
    fact(&after, "choice", "tiles of m 16, n 64, k 64; m outermost; 2 buffers");
    for (int i = 0; i < 2; i++) {
        set(i ? &after : &before, "hbm_read_bytes", i ? 2e6 : 1e6);
        set(i ? &after : &before, "hbm_write_bytes", 1e6);
    }
    compare();
    cr_assert(strstr(d->causes[0].text, "Device memory moves 3 MB instead of 2 MB.") != NULL, "%s",
              d->causes[0].text);
}

Test(delta, an_improvement_is_the_mirror_image)
{
    pfc_profile swap;

    slower_by_memory();
    set(&after, "chip_hbm_mbps", 500);
    fact(&after, "chip_hash", "c2");
    swap = before;
    before = after;
    after = swap;
    compare();
    cr_assert(eq(dbl, d->delta, -40.0));
    cr_assert(epsilon_eq(dbl, sum(), -40.0, 1e-9));
    cr_assert(eq(int, d->causes[0].resource, PFC_RESOURCE_MEMORY));
    cr_assert(eq(dbl, d->causes[0].ticks, -42.0));
}

Test(delta, a_difference_of_identical_programs_is_said_outright)
{
    slower_by_memory();
    compare();
    cr_assert(eq(sz, d->causes_len, 1));
    cr_assert(eq(int, d->causes[0].kind, PFC_DELTA_UNKNOWN));
    fact(&after, "simulator", "accel-3");
    compare();
    cr_assert(eq(sz, d->causes_len, 1));
    cr_assert(eq(int, d->causes[0].kind, PFC_DELTA_SIMULATOR));
    cr_assert(strstr(d->causes[0].text, "accel-3 instead of accel-2") != NULL);
}

Test(delta, without_a_path_the_line_of_the_unit_that_computes_is_split)
{
    static const char *const tensor[] = {
        "tensor_busy_cycles",          "tensor_preload_cycles",     "tensor_stall_dma_cycles",
        "tensor_stall_vector_cycles",  "tensor_stall_drain_cycles", "tensor_stall_bank_cycles",
        "tensor_stall_weights_cycles", "tensor_fill_drain_cycles",  "tensor_idle_cycles",
    };

    pfc_profile_clear(&before);
    pfc_profile_clear(&after);
    pfc_profile_init(&before, "a");
    pfc_profile_init(&after, "b");
    for (size_t i = 0; i < PFC_ARRAY_LEN(tensor); i++) {
        set(&before, tensor[i], 10);
        set(&after, tensor[i], 10);
    }
    set(&before, "cycles", 90);
    set(&after, "cycles", 97);
    set(&after, "tensor_fill_drain_cycles", 17);
    compare();
    cr_assert(eq(int, d->basis, PFC_DELTA_UNITS));
    cr_assert(eq(sz, d->contributions_len, 1));
    cr_assert(eq(int, d->contributions[0].resource, PFC_RESOURCE_LATENCY));
    cr_assert(eq(dbl, sum(), 7.0));
}

Test(delta, without_counters_the_total_is_all_there_is)
{
    pfc_profile_clear(&before);
    pfc_profile_clear(&after);
    pfc_profile_init(&before, "a");
    pfc_profile_init(&after, "b");
    set(&before, "time_ns", 50);
    set(&after, "time_ns", 60);
    compare();
    cr_assert(eq(int, d->basis, PFC_DELTA_TOTAL));
    cr_assert(eq(sz, d->contributions_len, 1));
    cr_assert(eq(int, d->contributions[0].resource, PFC_RESOURCE_NONE));
    cr_assert(eq(dbl, sum(), 10.0));
    cr_assert(eq(int, d->causes[0].kind, PFC_DELTA_UNKNOWN));
}

Test(delta, differences_are_listed_texts_first_then_by_size)
{
    slower_by_memory();
    set(&after, "chip_hbm_mbps", 500);
    set(&after, "hbm_read_bytes", 5);
    fact(&after, "choice", "x");
    compare();
    cr_assert(eq(sz, d->differences_len, 4));
    cr_assert(isnan(d->differences[0].rel));
    cr_assert(isnan(d->differences[1].rel));
    cr_assert(eq(str, d->differences[1].name, "hbm_read_bytes"));
    cr_assert(eq(str, d->differences[1].before, ""));
    cr_assert(eq(str, d->differences[2].name, "chip_hbm_mbps"));
    cr_assert(eq(dbl, d->differences[2].rel, -0.5));
    cr_assert(eq(str, d->differences[3].name, "cycles"));
    cr_assert(eq(str, d->differences[3].after, "140"));
}

Test(delta, more_differences_than_fit_are_counted_and_the_largest_kept)
{
    char name[32];

    for (int i = 0; i < PFC_DELTA_MAX_DIFFERENCES + 5; i++) {
        snprintf(name, sizeof(name), "counter_%03d", i);
        set(&before, name, 1000);
        set(&after, name, 1000 + i + 1);
    }
    compare();
    cr_assert(eq(sz, d->differences_len, PFC_DELTA_MAX_DIFFERENCES));
    cr_assert(eq(sz, d->differences_more, 5));
    cr_assert(eq(str, d->differences[0].name, "counter_044"));
    cr_assert(eq(str, d->differences[PFC_DELTA_MAX_DIFFERENCES - 1].name, "counter_005"));
}

Test(delta, a_profile_that_does_not_hold_is_refused)
{
    set(&after, "path.load a.memory", 10);
    cr_assert(eq(int, pfc_delta_of(&before, &after, d, &err), PFC_EINVAL));
    cr_assert(eq(int, pfc_delta_of(&after, &before, d, &err), PFC_EINVAL));
}

Test(delta, each_constant_belongs_to_its_resource)
{
    static const struct {
        const char *key;
        pfc_resource resource;
    } cases[] = {
        { "array_rows", PFC_RESOURCE_COMPUTE },    { "array_load_rows", PFC_RESOURCE_WEIGHTS },
        { "vector_lanes", PFC_RESOURCE_VECTOR },   { "vector_latency", PFC_RESOURCE_LATENCY },
        { "hbm_mbps", PFC_RESOURCE_MEMORY },       { "hbm_latency", PFC_RESOURCE_LATENCY },
        { "hbm_bytes", PFC_RESOURCE_NONE },        { "dma_window", PFC_RESOURCE_DMA },
        { "sram_banks", PFC_RESOURCE_SCRATCHPAD }, { "sram_bytes", PFC_RESOURCE_NONE },
        { "pcie_lanes", PFC_RESOURCE_PCIE },       { "launch_ns", PFC_RESOURCE_HOST },
        { "host_call_ns", PFC_RESOURCE_HOST },     { "clock_mhz", PFC_RESOURCE_NONE },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++)
        cr_assert(eq(int, pfc_delta_resource_of_constant(cases[i].key), cases[i].resource), "%s",
                  cases[i].key);
}
