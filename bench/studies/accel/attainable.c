/* The share of the ceiling that the compiler's schedules reach, shape by shape on every chip. */
#include <stdio.h>

#include "bench/studies/accel/studies.h"

/* A shape for a small and for a large chip. */
typedef struct shape {
    const char *what;
    pfc_accel_kernel kernel;
    pfc_accel_dtype dtype;
    int64_t small[PFC_ACCEL_MAX_PARAMS];
    int64_t large[PFC_ACCEL_MAX_PARAMS];
} shape;

static const shape shapes[] = {
    { "gemm", PFC_ACCEL_GEMM, PFC_ACCEL_BF16, { 512, 512, 512 }, { 4096, 4096, 4096 } },
    { "gemm", PFC_ACCEL_GEMM, PFC_ACCEL_INT8, { 512, 512, 512 }, { 4096, 4096, 4096 } },
    { "gemm, 1 row", PFC_ACCEL_GEMM, PFC_ACCEL_BF16, { 1, 1024, 1024 }, { 1, 4096, 4096 } },
    { "gemm, 1 row", PFC_ACCEL_GEMM, PFC_ACCEL_INT8, { 1, 1024, 1024 }, { 1, 4096, 4096 } },
    { "gemm, 1 row", PFC_ACCEL_GEMM, PFC_ACCEL_F32, { 1, 1024, 1024 }, { 1, 4096, 4096 } },
    { "gemm, 2 rows", PFC_ACCEL_GEMM, PFC_ACCEL_BF16, { 2, 1024, 1024 }, { 2, 4096, 4096 } },
    { "gemm, 4 rows", PFC_ACCEL_GEMM, PFC_ACCEL_BF16, { 4, 1024, 1024 }, { 4, 4096, 4096 } },
    { "gemm, 8 rows", PFC_ACCEL_GEMM, PFC_ACCEL_BF16, { 8, 1024, 1024 }, { 8, 4096, 4096 } },
    { "gemm, 16 rows", PFC_ACCEL_GEMM, PFC_ACCEL_BF16, { 16, 1024, 1024 }, { 16, 4096, 4096 } },
    { "gemm, bias, GELU",
      PFC_ACCEL_GEMM_BIAS_ACT,
      PFC_ACCEL_BF16,
      { 512, 512, 512, 2 },
      { 2048, 2048, 2048, 2 } },
    { "attention", PFC_ACCEL_ATTENTION, PFC_ACCEL_BF16, { 4, 512, 64 }, { 32, 2048, 128 } },
    { "attention, causal",
      PFC_ACCEL_ATTENTION,
      PFC_ACCEL_BF16,
      { 4, 512, 64, 1 },
      { 32, 2048, 128, 1 } },
    { "attention, causal, 4 heads a group",
      PFC_ACCEL_ATTENTION,
      PFC_ACCEL_BF16,
      { 4, 512, 64, 1, 0, 1 },
      { 32, 2048, 128, 1, 0, 8 } },
    { "attention, decode",
      PFC_ACCEL_ATTENTION,
      PFC_ACCEL_BF16,
      { 8, 1024, 64, 0, 1 },
      { 32, 8192, 128, 0, 1 } },
    { "attention, decode, 4 heads a group",
      PFC_ACCEL_ATTENTION,
      PFC_ACCEL_BF16,
      { 8, 1024, 64, 0, 1, 2 },
      { 32, 8192, 128, 0, 1, 8 } },
    { "layernorm", PFC_ACCEL_LAYERNORM, PFC_ACCEL_BF16, { 512, 1024 }, { 4096, 4096 } },
    { "rmsnorm", PFC_ACCEL_RMSNORM, PFC_ACCEL_BF16, { 512, 1024 }, { 4096, 4096 } },
    { "softmax", PFC_ACCEL_SOFTMAX, PFC_ACCEL_BF16, { 512, 1024 }, { 4096, 4096 } },
    { "residual, rmsnorm",
      PFC_ACCEL_RESIDUAL_RMSNORM,
      PFC_ACCEL_BF16,
      { 512, 1024 },
      { 4096, 4096 } },
};

static pfc_code one(const shape *s, const pfc_accel_chip *chip, pfc_err *err)
{
    const pfc_accel_case_opts opts = { .timing_only = true };
    const int64_t *params = chip->array_rows < 64 ? s->small : s->large;
    pfc_accel_problem problem = { .kernel = s->kernel, .dtype = s->dtype };
    pfc_accel_case *c = NULL;
    pfc_accel_result r;
    uint64_t bytes;
    pfc_code code;

    for (size_t i = 0; i < PFC_ACCEL_MAX_PARAMS; i++)
        problem.p[i] = params[i];
    code = pfc_accel_case_new(&c, &problem, chip, chip->mode, &opts, err);
    if (!code)
        code = pfc_accel_case_run(c, &r, err);
    pfc_accel_case_free(c);
    if (code)
        return code;
    bytes = r.counters.v[PFC_ACCEL_HBM_COMPULSORY];
    study_figure("cycles", (double)r.cycles, "accel/attainable/%s/%s/%s", s->what,
                 pfc_accel_dtype_name(s->dtype), chip->name);
    study_figure("efficiency_pct", 100.0 * (double)r.ceiling_cycles / (double)r.cycles,
                 "accel/attainable/%s/%s/%s", s->what, pfc_accel_dtype_name(s->dtype), chip->name);
    printf("| %s | %s | %s | %llu | %.1f | %.1f | %.1f |\n", s->what,
           pfc_accel_dtype_name(s->dtype), chip->name, (unsigned long long)r.cycles,
           100.0 * (double)r.ceiling_cycles / (double)r.cycles, 100.0 * r.utilization,
           100.0 * (double)bytes * (double)chip->clock_mhz /
               ((double)chip->hbm_mbps * (double)r.cycles));
    return PFC_OK;
}

pfc_code study_attainable(pfc_err *err)
{
    printf("| kernel | type | chip | cycles | %% of the ceiling | %% of the array (norms: lanes) | "
           "%% of HBM's peak |\n|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < PFC_ARRAY_LEN(shapes); i++) {
        for (size_t n = 0; pfc_accel_chip_name(n); n++) {
            pfc_accel_chip chip;
            pfc_code code = pfc_accel_chip_load(pfc_accel_chip_name(n), &chip, err);

            if (!code)
                code = one(&shapes[i], &chip, err);
            if (code)
                return code;
        }
    }
    return PFC_OK;
}
