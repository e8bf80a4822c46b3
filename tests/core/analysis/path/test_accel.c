/* Critical paths of real traces of the simulated accelerator. */
#include <math.h>
#include <stdlib.h>

#include "core/analysis/path/path.h"
#include "kernels/accel/ops/ops.h"

#include "tests/check/check.h"

typedef struct run {
    pfc_path path;
    pfc_accel_whatif whatif;
} run;

static run *run_of(const pfc_accel_problem *problem, const char *chip_name, pfc_accel_mode mode)
{
    const pfc_accel_case_opts opts = { .timing_only = true };
    pfc_path_builder *b = pfc_path_builder_new();
    const pfc_accel_trace_opts trace = { .consumer = pfc_path_builder_consumer(b),
                                         .kernel = "kernel" };
    run *r = pfc_calloc(1, sizeof(*r));
    pfc_accel_case *c = NULL;
    pfc_accel_result result;
    pfc_accel_chip chip;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_accel_chip_load(chip_name, &chip, &err), PFC_OK));
    cr_assert(eq(int, pfc_accel_case_new(&c, problem, &chip, mode, &opts, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(int, pfc_accel_case_run_detail(c, &result, NULL, &trace, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(int, pfc_path_builder_finish(b, &r->path, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_accel_case_whatif(c, &r->whatif, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(u64, r->path.total, result.cycles));
    pfc_path_builder_free(b);
    pfc_accel_case_free(c);
    return r;
}

static const pfc_accel_problem problems[] = {
    { PFC_ACCEL_GEMM, PFC_ACCEL_BF16, { 300, 200, 500 } },
    { PFC_ACCEL_GEMM, PFC_ACCEL_INT8, { 1, 1024, 1024 } },
    { PFC_ACCEL_ATTENTION, PFC_ACCEL_BF16, { 2, 300, 64, 1 } },
    { PFC_ACCEL_SOFTMAX, PFC_ACCEL_F32, { 64, 1000 } },
    { PFC_ACCEL_RESIDUAL_RMSNORM, PFC_ACCEL_BF16, { 100, 777 } },
};
static const char *const chips[] = { "pfc-edge", "pfc-server", "pfc-server2", "pfc-trn", "pfc-xf" };

static void expect_sums(const pfc_path *path)
{
    uint64_t sum = 0;

    for (size_t p = 0; p < path->phases_len; p++)
        for (size_t r = 0; r < PFC_RESOURCES_LEN; r++)
            sum += path->blocking[p][r];
    cr_assert(eq(u64, sum, path->total));
    /* within a kernel nothing waits for the host */
    for (size_t p = 0; p < path->phases_len; p++)
        cr_assert(eq(u64, path->blocking[p][PFC_RESOURCE_HOST], 0));
}

/* Each projected saving lies near that of the simulation without the resource. Removing a resource
 * never loses time in the projection, so a negative saving counts as none. */
Test(path_accel, parts_sum_to_the_total_and_savings_are_near_the_simulated_ones)
{
    double worst = 0;

    for (size_t i = 0; i < PFC_ARRAY_LEN(problems); i++)
        for (size_t k = 0; k < PFC_ARRAY_LEN(chips); k++) {
            run *r = run_of(&problems[i], chips[k], PFC_ACCEL_PIPELINED_WS);
            const double total = (double)r->path.total;

            expect_sums(&r->path);
            for (size_t x = 0; x < PFC_RESOURCES_LEN; x++) {
                const double simulated =
                    ((double)r->whatif.base - (double)r->whatif.cycles[x]) / total;
                const double projected = (double)r->path.recoverable[x] / total;

                worst = PFC_MAX(worst, fabs(projected - PFC_MAX(simulated, 0)));
            }
            free(r);
        }
    cr_assert(lt(dbl, worst, 0.1), "a saving is off by %.3f of the total", worst);
}

/* The modes of other simulators leave memory out; their phases follow each other, or weights load
 * ahead: the model has the unchanged run exactly. */
Test(path_accel, modes_with_ideal_memory_are_exact)
{
    static const pfc_accel_mode modes[] = { PFC_ACCEL_SCALESIM_WS, PFC_ACCEL_SCALESIM_OS,
                                            PFC_ACCEL_SCALESIM_IS, PFC_ACCEL_ONNXIM_WS };

    for (size_t i = 0; i < PFC_ARRAY_LEN(modes); i++) {
        run *r = run_of(&problems[0], "pfc-edge", modes[i]);

        expect_sums(&r->path);
        cr_assert(eq(u64, r->path.model, r->path.total), "%s", pfc_accel_mode_name(modes[i]));
        for (size_t x = 0; x < PFC_RESOURCES_LEN; x++)
            cr_assert(epsilon_eq(dbl, (double)r->path.recoverable[x],
                                 (double)r->whatif.base - (double)r->whatif.cycles[x], 4.0),
                      "%s of %s", pfc_resource_name(x), pfc_accel_mode_name(modes[i]));
        free(r);
    }
}
