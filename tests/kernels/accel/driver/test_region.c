/* Regions: their time by hand, what-if runs, traces, and what is refused. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/trace/check/check.h"

#include "tests/check/check.h"
#include "tests/kernels/accel/driver/device.h"

static pfc_accel_case *gemm(const pfc_accel_chip *chip, int64_t size)
{
    const pfc_accel_problem problem = { .kernel = PFC_ACCEL_GEMM,
                                        .dtype = PFC_ACCEL_BF16,
                                        .p = { size, size, size } };
    const pfc_accel_case_opts opts = { .timing_only = true };
    pfc_accel_case *c = NULL;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_accel_case_new(&c, &problem, chip, chip->mode, &opts, &err), PFC_OK),
              "%s", err.msg);
    return c;
}

static pfc_accel_region region_of(const pfc_accel_case *c, const pfc_accel_region_opts *opts)
{
    pfc_accel_region out;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_accel_case_region(c, opts, &out, &err), PFC_OK), "%s", err.msg);
    return out;
}

/* Calls end at 1100, 2200, 3300 and 4400 ns: 1000 for the call, 100 for the doorbell. A command is
 * fetched 3 * 300 + 100 after its doorbell. Copies wait 2 * 300 for the first byte and take w on
 * the link, so the first ends at 2700 + w, and the second, ready then, at 3300 + 2 w. The kernel
 * begins launch_ns - 1000 = 1000 later and takes k; the copy back takes u; the completion crosses
 * the link in 300, and 5000 after it the host goes on. */
Test(region, a_copy_a_kernel_and_a_copy_back_by_hand)
{
    const pfc_accel_chip chip = round_chip();
    const uint64_t bytes = 2 * 256 * 256;
    const uint64_t w = pfc_accel_pcie_read_cycles(&chip, bytes);
    const uint64_t u = pfc_accel_pcie_wire_cycles(&chip, bytes);
    pfc_accel_case *c = gemm(&chip, 256);
    const pfc_accel_region r = region_of(c, NULL);
    const uint64_t k = r.kernel_cycles;

    cr_assert(gt(u64, w, 1600)); /* or the second copy would wait for its fetch */
    cr_assert(eq(u64, r.cycles, 3300 + 2 * w + 1000 + k + u + 300 + 5000));
    cr_assert(epsilon_eq(dbl, r.time_ns, (double)r.cycles, 1e-9));
    cr_assert(eq(u64, r.whatif.base, r.cycles));
    /* Without the host: all commands are fetched at 900 and nothing is dispatched. */
    cr_assert(
        eq(u64, r.whatif.cycles[PFC_ACCEL_RESOURCE_HOST], 900 + 600 + w + 600 + w + k + u + 300));
    /* Without the link: the launch is fetched at 3300 + 100. */
    cr_assert(eq(u64, r.whatif.cycles[PFC_ACCEL_RESOURCE_PCIE], 3400 + 1000 + k + 5000));
    cr_assert(eq(u64, r.counters.v[PFC_ACCEL_PCIE_DOWN], 2 * bytes));
    cr_assert(eq(u64, r.counters.v[PFC_ACCEL_PCIE_UP], bytes));
    cr_assert(eq(u64, r.counters.v[PFC_ACCEL_PCIE_BUSY], 2 * w + u));
    cr_assert(eq(u64, r.host.calls, 5));
    cr_assert(eq(u64, r.host.call_ns, 5000));
    cr_assert(eq(u64, r.host.doorbells, 4));
    cr_assert(eq(u64, r.host.doorbell_ns, 400));
    cr_assert(eq(u64, r.host.waits, 1));
    /* The five calls and four doorbells, and then nothing but the wait. */
    cr_assert(eq(u64, r.host.wait_ns, r.cycles - 5400));
    pfc_accel_case_free(c);
}

/* The same, but the host looks every 200 ns from 5400 on. */
Test(region, polling_ends_at_the_next_look)
{
    const pfc_accel_chip chip = round_chip();
    const pfc_accel_region_opts poll = { .wait = PFC_ACCEL_POLL };
    pfc_accel_case *c = gemm(&chip, 256);
    const pfc_accel_region irq = region_of(c, NULL);
    const pfc_accel_region r = region_of(c, &poll);
    const uint64_t there = irq.cycles - 5000;

    cr_assert(eq(u64, r.cycles, 5400 + (there - 5400 + 199) / 200 * 200));
    cr_assert(eq(u64, r.host.interrupts, 0));
    cr_assert(eq(u64, irq.host.interrupts, 1));
    pfc_accel_case_free(c);
}

/* Commands in a row add their times, so what a resource saves of the kernel it saves of the region.
 */
Test(region, resources_of_the_kernel_save_of_the_region_what_they_save_of_the_kernel)
{
    const pfc_accel_chip chip = round_chip();
    pfc_accel_case *c = gemm(&chip, 256);
    const pfc_accel_region r = region_of(c, NULL);
    pfc_accel_whatif kernel;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_accel_case_whatif(c, &kernel, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(u64, kernel.base, r.kernel_cycles));
    for (unsigned i = 0; i < PFC_ACCEL_RESOURCE_PCIE; i++)
        cr_assert(eq(i64, (int64_t)(r.cycles - r.whatif.cycles[i]),
                     (int64_t)(kernel.base - kernel.cycles[i])),
                  "%s", pfc_accel_resource_name((pfc_accel_resource)i));
    pfc_accel_case_free(c);
}

/* Launches in a row on the device cost dispatch and kernel; with a wait for each, also the link,
 * the interrupt, and the next call: 300 + 5000 + 1100 + 900 + 100. */
Test(region, a_wait_for_each_launch_costs_a_round_trip)
{
    const pfc_accel_chip chip = round_chip();
    const pfc_accel_region_opts at_end[] = { { .launches = 2 }, { .launches = 7 } };
    const pfc_accel_region_opts at_each[] = { { .launches = 2, .sync = PFC_ACCEL_SYNC_EACH },
                                              { .launches = 7, .sync = PFC_ACCEL_SYNC_EACH } };
    pfc_accel_case *c = gemm(&chip, 256);
    const pfc_accel_region e2 = region_of(c, &at_end[0]), e7 = region_of(c, &at_end[1]);
    const pfc_accel_region s2 = region_of(c, &at_each[0]), s7 = region_of(c, &at_each[1]);
    const uint64_t k = e2.kernel_cycles / 2;

    cr_assert(eq(u64, e7.cycles - e2.cycles, 5 * (1000 + k)));
    /* The wait is a call, too: 1000. */
    cr_assert(eq(u64, s7.cycles - s2.cycles, 5 * (k + 300 + 5000 + 1000 + 100 + 900 + 100 + 1000)));
    cr_assert(eq(u64, s7.host.waits, 8));
    cr_assert(eq(u64, e7.kernel_cycles, 7 * k));
    pfc_accel_case_free(c);
}

/* A small kernel that is waited for is bound by the host, a large one in a region of many launches
 * by its own resource, one with copies for each launch by the link. */
Test(region, the_limiter_is_that_of_the_region)
{
    const pfc_accel_region_opts waits = { .launches = 20, .sync = PFC_ACCEL_SYNC_EACH };
    const pfc_accel_region_opts many = { .launches = 20 };
    const pfc_accel_region_opts copies = { .launches = 20, .copies = PFC_ACCEL_COPIES_EACH };
    pfc_accel_chip chip;
    pfc_accel_case *small;
    pfc_accel_case *large;
    pfc_accel_whatif kernel;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_accel_chip_load("pfc-server", &chip, &err), PFC_OK));
    small = gemm(&chip, 64);
    large = gemm(&chip, 1024);
    cr_assert(eq(int, region_of(small, &waits).whatif.limiter, PFC_ACCEL_RESOURCE_HOST));
    cr_assert(eq(int, region_of(large, &copies).whatif.limiter, PFC_ACCEL_RESOURCE_PCIE));
    cr_assert(eq(int, pfc_accel_case_whatif(large, &kernel, &err), PFC_OK));
    cr_assert(eq(int, region_of(large, &many).whatif.limiter, kernel.limiter));
    pfc_accel_case_free(small);
    pfc_accel_case_free(large);
}

/* In the steady state a launch takes what its slowest resource takes: here the link towards the
 * device, which moves two operands. Commands in a row take the sum. */
Test(region, overlapped_copies_hide_behind_the_slowest_resource)
{
    pfc_accel_chip chip = round_chip();
    const uint64_t bytes = 2 * 1024 * 1024;
    const uint64_t w = pfc_accel_pcie_read_cycles(&chip, bytes);
    const pfc_accel_region_opts few = { .launches = 10, .copies = PFC_ACCEL_COPIES_OVERLAPPED };
    const pfc_accel_region_opts more = { .launches = 30, .copies = PFC_ACCEL_COPIES_OVERLAPPED };
    const pfc_accel_region_opts row = { .launches = 10, .copies = PFC_ACCEL_COPIES_EACH };
    pfc_accel_case *c = gemm(&chip, 1024);
    const pfc_accel_region r10 = region_of(c, &few), r30 = region_of(c, &more);
    const pfc_accel_region r = region_of(c, &row);
    const uint64_t a_launch = (r30.cycles - r10.cycles) / 20;

    cr_assert(ge(u64, r10.cycles, 10 * 2 * w));
    cr_assert(ge(u64, a_launch, 2 * w));
    cr_assert(le(u64, a_launch, 2 * w + 2 * 600 + 100)); /* two first bytes and a semaphore */
    cr_assert(ge(u64, r.cycles, 10 * (2 * w + r.kernel_cycles / 10)));
    cr_assert(lt(u64, r10.cycles, r.cycles));
    pfc_accel_case_free(c);
}

typedef struct counted {
    size_t kernels, copies, calls, fetches, interrupts, handled;
    uint64_t kernel_cycles; /* of the last cycles counter */
    uint32_t submitted[64]; /* correlation ids with a submit record, by kernel or copy */
} counted;

static bool is_submitted(const counted *n, uint32_t id)
{
    for (size_t i = 0; i < PFC_ARRAY_LEN(n->submitted); i++)
        if (n->submitted[i] == id)
            return true;
    return false;
}

static counted count(const char *path)
{
    static uint64_t values[1 << 16]; /* of semaphores, which only grow, also over launches */
    pfc_trace_reader *reader = NULL;
    pfc_trace_record r;
    counted n = { 0 };
    size_t submits = 0;
    bool more = true;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_trace_reader_open(&reader, path, PFC_TRACE_STRICT, &err), PFC_OK), "%s",
              err.msg);
    memset(values, 0, sizeof(values));
    while (!pfc_trace_read(reader, &r, &more, &err) && more) {
        if (r.type == PFC_TRACE_SEM_SIGNAL) {
            cr_assert(lt(u64, r.a, PFC_ARRAY_LEN(values)));
            cr_assert(gt(u64, r.b, values[r.a]), "semaphore %llu", (unsigned long long)r.a);
            values[r.a] = r.b;
        }
        if (r.type == PFC_TRACE_SUBMIT && submits < PFC_ARRAY_LEN(n.submitted))
            n.submitted[submits++] = r.corr;
        n.calls += r.type == PFC_TRACE_API_ENTER;
        n.fetches += r.type == PFC_TRACE_FETCH;
        n.kernels += r.type == PFC_TRACE_KERNEL_BEGIN;
        n.interrupts += r.type == PFC_TRACE_IRQ;
        n.handled += r.type == PFC_TRACE_IRQ_HANDLED;
        n.copies += r.type == PFC_TRACE_DMA_ISSUE &&
                    (r.unit == PFC_ACCEL_TRACE_LINK || r.unit == PFC_ACCEL_TRACE_LINK + 1);
        if (r.type == PFC_TRACE_KERNEL_BEGIN || r.type == PFC_TRACE_DMA_ISSUE ||
            r.type == PFC_TRACE_TILE_BEGIN)
            cr_assert(is_submitted(&n, r.corr), "record %llu has id %u",
                      (unsigned long long)pfc_trace_reader_number(reader), r.corr);
        if (r.type == PFC_TRACE_COUNTER_SAMPLE && r.a == PFC_ACCEL_CYCLES)
            n.kernel_cycles = r.b;
    }
    cr_assert(not(more), "%s", err.msg);
    pfc_trace_reader_free(reader);
    return n;
}

static void check_trace(const pfc_accel_case *c, pfc_accel_region_opts opts, const char *suffix)
{
    char path[64] = "/tmp/perfci-region-XXXXXX";
    const pfc_accel_trace_opts trace = { .path = path, .kernel = "gemm", .every = 500 };
    const pfc_accel_region plain = region_of(c, &opts);
    const int fd = mkstemp(path);
    pfc_trace_report report;
    pfc_accel_region traced;
    counted n;
    pfc_err err = { 0 };

    cr_assert(ge(int, fd, 0));
    close(fd);
    unlink(path);
    strcat(path, suffix);
    opts.trace = &trace;
    traced = region_of(c, &opts);
    cr_assert(eq(u64, traced.cycles, plain.cycles)); /* a trace changes nothing */
    cr_assert(eq(int, pfc_trace_check(path, 10, &report, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(u64, report.faults, 0), "%s: %s", path,
              report.findings_len ? report.findings[0].what : "");
    pfc_trace_report_clear(&report);
    if (strcmp(suffix, ".pct") == 0) {
        n = count(path);
        cr_assert(eq(sz, n.kernels, traced.launches));
        cr_assert(eq(sz, n.copies, traced.host.copies));
        cr_assert(eq(sz, n.fetches, traced.host.doorbells));
        cr_assert(eq(sz, n.interrupts, traced.host.interrupts));
        cr_assert(eq(sz, n.handled, traced.host.interrupts));
        cr_assert(eq(u64, n.kernel_cycles, traced.kernel_cycles));
        cr_assert(ge(sz, n.calls, traced.host.calls));
    }
    unlink(path);
}

Test(region, a_trace_is_without_faults_and_its_ids_lead_to_the_calls)
{
    pfc_accel_chip chip;
    pfc_accel_case *c;

    cr_assert(eq(int, pfc_accel_chip_load("pfc-server", &chip, NULL), PFC_OK));
    c = gemm(&chip, 200);
    for (unsigned copies = 0; copies <= PFC_ACCEL_COPIES_OVERLAPPED; copies++)
        for (unsigned sync = 0; sync <= PFC_ACCEL_SYNC_EACH; sync++)
            for (unsigned wait = 0; wait <= PFC_ACCEL_POLL; wait++) {
                const pfc_accel_region_opts opts = { .launches = 4,
                                                     .copies = (pfc_accel_region_copies)copies,
                                                     .sync = (pfc_accel_region_sync)sync,
                                                     .wait = (pfc_accel_completion)wait };

                check_trace(c, opts, ".pct");
                check_trace(c, opts, ".json");
            }
    pfc_accel_case_free(c);
}

Test(region, what_is_out_of_range_is_refused)
{
    pfc_accel_chip chip = round_chip();
    pfc_accel_region_opts opts = { .launches = PFC_ACCEL_MAX_LAUNCHES + 1 };
    pfc_accel_region out;
    pfc_accel_region_copies copies;
    pfc_accel_region_sync sync;
    pfc_accel_completion wait;
    pfc_accel_case *c;
    pfc_err err = { 0 };

    chip.hbm_bytes = 1 << 20;
    c = gemm(&chip, 256); /* 384 KiB: one set of buffers fits, two and the operands do not */
    cr_assert(eq(int, pfc_accel_case_region(c, &opts, &out, &err), PFC_EINVAL));
    cr_assert(ne(ptr, strstr(err.msg, "1..10000 launches, got 10001"), NULL), "%s", err.msg);
    opts = (pfc_accel_region_opts){ .launches = 2 };
    cr_assert(eq(int, pfc_accel_case_region(c, &opts, &out, &err), PFC_OK), "%s", err.msg);
    pfc_accel_case_free(c);
    chip.hbm_bytes = 512 << 10;
    c = gemm(&chip, 256);
    opts.copies = PFC_ACCEL_COPIES_OVERLAPPED;
    cr_assert(eq(int, pfc_accel_case_region(c, &opts, &out, &err), PFC_ETOOBIG));
    pfc_accel_case_free(c);
    cr_assert(eq(int, pfc_accel_region_copies_parse("twice", &copies, &err), PFC_EINVAL));
    cr_assert(eq(int, pfc_accel_region_sync_parse("", &sync, &err), PFC_EINVAL));
    cr_assert(eq(int, pfc_accel_completion_parse("spin", &wait, &err), PFC_EINVAL));
}
