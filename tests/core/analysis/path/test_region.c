/* Critical paths of regions: copies and launches as the host sees them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/analysis/path/path.h"
#include "kernels/accel/ops/ops.h"

#include "tests/check/check.h"

/* Passes records on to a builder, but for the one of that number (from 1; 0: all are passed on). */
typedef struct filter {
    const pfc_trace_consumer *to;
    uint64_t left_out, number;
} filter;

static pfc_code begin(void *arg, const pfc_trace_header *header, pfc_err *err)
{
    return ((filter *)arg)->to->begin(((filter *)arg)->to->arg, header, err);
}

static pfc_code pass_on(void *arg, const pfc_trace_record *records, size_t len, pfc_err *err)
{
    filter *f = arg;
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < len && !code; i++)
        if (++f->number != f->left_out)
            code = f->to->records(f->to->arg, &records[i], 1, err);
    return code;
}

/* The region of a case with its path; the code of the first failure. */
static pfc_code run(const char *chip_name, const pfc_accel_problem *problem,
                    const pfc_accel_region_opts *opts, filter *f, pfc_accel_region *region,
                    pfc_path *path, pfc_err *err)
{
    const pfc_accel_case_opts timing = { .timing_only = true };
    pfc_path_builder *b = pfc_path_builder_new();
    const pfc_trace_consumer consumer = { begin, pass_on, f };
    const pfc_accel_trace_opts trace = { .consumer = &consumer, .kernel = "kernel" };
    pfc_accel_region_opts traced = *opts;
    pfc_accel_case *c = NULL;
    pfc_accel_chip chip;
    pfc_code code;

    f->to = pfc_path_builder_consumer(b);
    traced.trace = &trace;
    cr_assert(eq(int, pfc_accel_chip_load(chip_name, &chip, err), PFC_OK));
    cr_assert(eq(int, pfc_accel_case_new(&c, problem, &chip, chip.mode, &timing, err), PFC_OK),
              "%s", err->msg);
    code = pfc_accel_case_region(c, &traced, region, err);
    if (!code)
        code = pfc_path_builder_finish(b, path, err);
    pfc_accel_case_free(c);
    pfc_path_builder_free(b);
    return code;
}

static uint64_t sum_of(const pfc_path *path)
{
    uint64_t sum = 0;

    for (size_t p = 0; p < path->phases_len; p++)
        for (size_t r = 0; r < PFC_RESOURCES_LEN; r++)
            sum += path->blocking[p][r];
    return sum;
}

/* Every kind of copies, synchronisation and waiting: what a resource costs lies near what the
 * simulation without it says, `pcie` and `host` among them. */
Test(path_region, savings_are_near_the_simulated_ones)
{
    static const pfc_accel_problem problem = { PFC_ACCEL_GEMM, PFC_ACCEL_BF16, { 130, 260, 190 } };
    static const char *const chips[] = { "pfc-edge", "pfc-trn", "pfc-xf" };
    pfc_path *path = pfc_calloc(1, sizeof(*path));
    double worst = 0;

    for (unsigned i = 0; i < 36; i++) {
        const pfc_accel_region_opts opts = {
            .launches = 1 + i % 5,
            .copies = (pfc_accel_region_copies)(i / 3 % 3),
            .sync = (pfc_accel_region_sync)(i / 9 % 2),
            .wait = (pfc_accel_completion)(i / 18 % 2),
        };
        pfc_accel_region region;
        pfc_err err = { 0 };
        filter f = { 0 };

        cr_assert(eq(int, run(chips[i % 3], &problem, &opts, &f, &region, path, &err), PFC_OK),
                  "%s", err.msg);
        cr_assert(eq(u64, sum_of(path), path->total));
        /* the host's clock drifts by up to 50 parts in a million */
        cr_assert(epsilon_eq(dbl, (double)path->total, (double)region.cycles,
                             1e-3 * (double)region.cycles));
        for (size_t r = 0; r < PFC_RESOURCES_LEN; r++) {
            const double simulated =
                1 - (double)region.whatif.cycles[r] / (double)region.whatif.base;
            const double projected = (double)path->recoverable[r] / (double)path->total;

            worst = PFC_MAX(worst, fabs(projected - PFC_MAX(simulated, 0)));
        }
        for (size_t s = 0; s < path->segments_len; s++)
            cr_assert(eq(u64, path->segments[s].begin, s ? path->segments[s - 1].end : 0));
    }
    free(path);
    cr_assert(lt(dbl, worst, 0.05), "a saving is off by %.3f of the total", worst);
}

/* A program that copies much and computes little waits for the link; one that launches small
 * kernels and waits for each waits for the host. */
Test(path_region, the_link_and_the_host_have_ticks_on_the_path)
{
    static const pfc_accel_problem large = { PFC_ACCEL_RMSNORM, PFC_ACCEL_F32, { 2048, 4096 } };
    static const pfc_accel_problem small = { PFC_ACCEL_GEMM, PFC_ACCEL_BF16, { 16, 16, 16 } };
    const pfc_accel_region_opts copies = { .launches = 2, .copies = PFC_ACCEL_COPIES_EACH };
    const pfc_accel_region_opts calls = { .launches = 20, .sync = PFC_ACCEL_SYNC_EACH };
    pfc_path *path = pfc_calloc(1, sizeof(*path));
    pfc_accel_region region;
    pfc_err err = { 0 };
    filter f = { 0 };
    uint64_t link = 0, host = 0;

    cr_assert(eq(int, run("pfc-server", &large, &copies, &f, &region, path, &err), PFC_OK));
    for (size_t p = 0; p < path->phases_len; p++)
        link += path->blocking[p][PFC_RESOURCE_PCIE];
    cr_assert(gt(dbl, (double)link, 0.8 * (double)path->total));
    memset(path, 0, sizeof(*path));
    f = (filter){ 0 };
    cr_assert(eq(int, run("pfc-server", &small, &calls, &f, &region, path, &err), PFC_OK));
    for (size_t p = 0; p < path->phases_len; p++)
        host += path->blocking[p][PFC_RESOURCE_HOST];
    cr_assert(gt(dbl, (double)host, 0.6 * (double)path->total));
    free(path);
}

/* Each record but those of the kernels left out in turn: refused, or a path that sums to its
 * total. */
Test(path_region, lost_records_never_break_the_sum)
{
    static const pfc_accel_problem problem = { PFC_ACCEL_GEMM, PFC_ACCEL_BF16, { 8, 8, 8 } };
    const pfc_accel_region_opts opts = { .launches = 2, .copies = PFC_ACCEL_COPIES_OVERLAPPED };
    pfc_path *path = pfc_calloc(1, sizeof(*path));
    pfc_accel_region region;
    uint64_t records;
    pfc_err err = { 0 };
    filter all = { 0 };

    cr_assert(eq(int, run("pfc-edge", &problem, &opts, &all, &region, path, &err), PFC_OK));
    records = all.number;
    for (uint64_t i = 1; i <= records; i++) {
        filter f = { .left_out = i };

        memset(path, 0, sizeof(*path));
        if (run("pfc-edge", &problem, &opts, &f, &region, path, &err) == PFC_OK)
            cr_assert(eq(u64, sum_of(path), path->total), "record %llu", (unsigned long long)i);
        else
            cr_assert(eq(int, err.code, PFC_EINVAL), "record %llu: %s", (unsigned long long)i,
                      err.msg);
    }
    free(path);
}
