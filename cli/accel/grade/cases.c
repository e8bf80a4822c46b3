/* Cases of a grade: see cases.h. */
#include "cli/accel/grade/cases.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "core/base/base.h"

/* Uniform in the logarithm. */
static double log_uniform(pfc_rng *rng, double low, double high)
{
    return exp(log(low) + pfc_rng_double(rng) * (log(high) - log(low)));
}

static int64_t size(pfc_rng *rng, double low, double high)
{
    const int64_t n = (int64_t)log_uniform(rng, low, high);

    /* Half of them are multiples of 16, as real shapes often are. */
    return n >= 16 && pfc_rng_below(rng, 2) ? n / 16 * 16 : n;
}

static bool chance(pfc_rng *rng, double p)
{
    return pfc_rng_double(rng) < p;
}

/* ---- chips ---- */

typedef struct constant {
    size_t offset;
    uint64_t min, max;
    pfc_resource worse; /* resource that a larger or smaller value makes worse; else NONE */
    double factor;      /* by which it is made worse at most, below 1: a smaller value is worse */
} constant;

#define C(field, min, max, resource, factor)                                                       \
    {                                                                                              \
        offsetof(pfc_accel_chip, field), (min), (max), PFC_RESOURCE_##resource, (factor)           \
    }

/* Powers of two and capacities are left alone: their values decide what fits. */
static const constant constants[] = {
    C(array_rows, 4, 1024, COMPUTE, 0.125),
    C(array_cols, 4, 1024, COMPUTE, 0.125),
    C(array_load_rows, 1, 64, WEIGHTS, 0.125),
    C(f32_passes, 1, 16, COMPUTE, 2),
    C(vector_lanes, 4, 65536, VECTOR, 0.06),
    C(vector_exp, 1, 16, VECTOR, 4),
    C(vector_latency, 1, 10000, LATENCY, 30),
    C(vector_reduce, 1, 10000, LATENCY, 30),
    C(dma_bytes, 1, 4096, DMA, 0.06),
    C(dma_setup, 0, 100000, DMA, 20),
    C(dma_window, 1, 64, DMA, 0.2),
    C(hbm_mbps, 500, 100000000, MEMORY, 0.08),
    C(hbm_row_miss, 0, 10000, MEMORY, 8),
    C(hbm_turnaround, 0, 10000, MEMORY, 8),
    C(hbm_latency, 0, 100000, LATENCY, 30),
    C(sram_port_bytes, 1, 4096, SCRATCHPAD, 0.03),
    C(pcie_lanes, 1, 16, PCIE, 0.06),
    C(pcie_latency_ns, 0, 1000000, PCIE, 4),
    C(host_call_ns, 0, 1000000000, HOST, 3),
    C(host_irq_ns, 0, 1000000000, HOST, 3),
    C(launch_ns, 0, 1000000000, HOST, 3),
    C(queue_semaphore_ns, 0, 1000000000, HOST, 3),
};

static void vary_chip(pfc_rng *rng, pfc_accel_chip *chip, pfc_resource leans)
{
    for (size_t i = 0; i < PFC_ARRAY_LEN(constants); i++) {
        const constant *c = &constants[i];
        uint64_t *value = (uint64_t *)(void *)((char *)chip + c->offset);
        double v = (double)*value;

        if (chance(rng, 0.4))
            v *= log_uniform(rng, 0.5, 2);
        if (c->worse == leans && chance(rng, 0.7))
            v *= c->factor < 1 ? log_uniform(rng, c->factor, 1) : log_uniform(rng, 1, c->factor);
        *value = PFC_MIN(PFC_MAX((uint64_t)(v + 0.5), c->min), c->max);
    }
    /* Bottlenecks elsewhere would hide the resource that the case leans towards. */
    if (leans != PFC_RESOURCE_LATENCY && chance(rng, 0.9))
        chip->hbm_latency = (uint64_t)((double)chip->hbm_latency * log_uniform(rng, 0.02, 0.3));
    if (leans == PFC_RESOURCE_WEIGHTS) {
        const uint64_t memory = chip->hbm_mbps * (1 + pfc_rng_below(rng, 8));
        const uint64_t engines = chip->dma_bytes * (1 + pfc_rng_below(rng, 8));

        chip->hbm_mbps = PFC_MIN(memory, UINT64_C(100000000));
        chip->dma_bytes = PFC_MIN(engines, UINT64_C(4096));
    }
    if (leans == PFC_RESOURCE_WEIGHTS && chance(rng, 0.5))
        chip->array_load_rows = 1;
}

/* ---- problems ---- */

/*
 * Waits for banks are bounded by the command that waits, so they only limit a run where neither
 * faster rows nor faster weights would help: where both take about the same time, and transfers
 * that are fast enough not to limit it are under way most of the time.
 */
static void lean_to_scratchpad(pfc_rng *rng, grade_case *c)
{
    pfc_accel_chip *chip = &c->chip;
    const double load = (double)pfc_accel_load_cycles(chip);
    const double passes = c->problem.dtype == PFC_ACCEL_F32 ? (double)chip->f32_passes : 1;
    /* bytes a cycle that feed the array with weights */
    const double feed =
        (double)(chip->array_rows * chip->array_cols * pfc_accel_dtype_bytes(c->problem.dtype)) /
        load;
    const double rate = feed / (double)chip->dma_engines * log_uniform(rng, 1.4, 4);

    chip->hbm_mbps = (uint64_t)(feed * (double)chip->clock_mhz * log_uniform(rng, 1.4, 4)) + 1;
    chip->dma_bytes = PFC_MIN((uint64_t)rate + 1, 4096);
    chip->sram_banks = 1ull << pfc_rng_below(rng, 4);
    chip->sram_port_bytes = (uint64_t)log_uniform(rng, 1, 64);
    chip->hbm_latency /= 10;
    c->problem.kernel = PFC_ACCEL_GEMM;
    c->problem.p[0] = (int64_t)(load / passes * log_uniform(rng, 0.88, 1.1) + 0.5);
    c->problem.p[0] = PFC_MAX(c->problem.p[0], 1);
    c->problem.p[1] = size(rng, 512, 4096);
    c->problem.p[2] = size(rng, 512, 4096);
}

static void make_gemm(pfc_rng *rng, pfc_accel_problem *p, pfc_resource leans)
{
    const bool small =
        leans == PFC_RESOURCE_HOST || (leans == PFC_RESOURCE_LATENCY && chance(rng, 0.7));
    const bool few_rows = leans == PFC_RESOURCE_WEIGHTS && chance(rng, 0.8);

    p->p[0] = size(rng, small ? 1 : 8, small ? 128 : few_rows ? 512 : 2048);
    p->p[1] = size(rng, small ? 1 : 64, small ? 256 : 4096);
    p->p[2] = size(rng, small ? 1 : 64, small ? 256 : 4096);
}

static void make_attention(pfc_rng *rng, pfc_accel_problem *p)
{
    static const int64_t depths[] = { 32, 64, 80, 128 };
    const int64_t group = 1 << pfc_rng_below(rng, 3);

    p->p[0] = group * size(rng, 1, 8); /* heads */
    p->p[1] = size(rng, 64, 2048);
    p->p[2] = depths[pfc_rng_below(rng, PFC_ARRAY_LEN(depths))];
    p->p[3] = (int64_t)pfc_rng_below(rng, 2);
    p->p[4] = chance(rng, 0.3) ? size(rng, 1, 16) : 0; /* queries of generation; s is more */
    p->p[5] = group > 1 ? p->p[0] / group : 0;
}

static void make_problem(pfc_rng *rng, pfc_accel_problem *p, pfc_resource leans)
{
    static const pfc_accel_kernel with_vector[] = {
        PFC_ACCEL_ATTENTION, PFC_ACCEL_LAYERNORM,     PFC_ACCEL_RMSNORM,
        PFC_ACCEL_SOFTMAX,   PFC_ACCEL_GEMM_BIAS_ACT, PFC_ACCEL_RESIDUAL_RMSNORM,
    };
    const bool matrix = leans == PFC_RESOURCE_COMPUTE || leans == PFC_RESOURCE_WEIGHTS ||
                        leans == PFC_RESOURCE_SCRATCHPAD;
    const double share = matrix ? 0.75 : leans == PFC_RESOURCE_VECTOR ? 0.1 : 0.5;

    *p = (pfc_accel_problem){ .kernel = PFC_ACCEL_GEMM };
    if (!chance(rng, share))
        p->kernel = with_vector[pfc_rng_below(rng, PFC_ARRAY_LEN(with_vector))];
    p->dtype = (pfc_accel_dtype)pfc_rng_below(rng, p->kernel == PFC_ACCEL_GEMM ? 3 : 2);
    switch (p->kernel) {
    case PFC_ACCEL_GEMM:
    case PFC_ACCEL_GEMM_BIAS_ACT:
        make_gemm(rng, p, leans);
        if (p->kernel == PFC_ACCEL_GEMM_BIAS_ACT)
            p->p[3] = (int64_t)pfc_rng_below(rng, 4);
        break;
    case PFC_ACCEL_ATTENTION:
        make_attention(rng, p);
        break;
    case PFC_ACCEL_LAYERNORM:
    case PFC_ACCEL_RMSNORM:
    case PFC_ACCEL_SOFTMAX:
    case PFC_ACCEL_RESIDUAL_RMSNORM:
        p->p[0] = leans == PFC_RESOURCE_LATENCY ? size(rng, 1, 64) : size(rng, 16, 4096);
        p->p[1] = size(rng, 16, 8192);
        break;
    }
}

/* ---- regions ---- */

static void scale(uint64_t *value, double factor)
{
    *value = (uint64_t)((double)*value * factor + 0.5);
}

static void make_region(pfc_rng *rng, grade_case *c)
{
    pfc_accel_chip *chip = &c->chip;
    const double host =
        c->leans == PFC_RESOURCE_HOST ? log_uniform(rng, 0.5, 2) : log_uniform(rng, 0.02, 0.5);

    c->is_region = true;
    c->region.launches = 1 + pfc_rng_below(rng, 8);
    c->region.copies = (pfc_accel_region_copies)pfc_rng_below(rng, 3);
    c->region.sync = (pfc_accel_region_sync)pfc_rng_below(rng, 2);
    c->region.wait = (pfc_accel_completion)pfc_rng_below(rng, 2);
    /* The host's time hides most of what a kernel does: it is shorter where it shall not limit. */
    scale(&chip->host_call_ns, host);
    scale(&chip->host_doorbell_ns, host);
    scale(&chip->host_irq_ns, host);
    scale(&chip->launch_ns, host);
    scale(&chip->queue_fetch_ns, host);
    scale(&chip->queue_semaphore_ns, host);
    if (c->leans != PFC_RESOURCE_PCIE)
        scale(&chip->pcie_latency_ns, log_uniform(rng, 0.1, 1));
    else
        chip->pcie_gen = 3 + pfc_rng_below(rng, 3);
}

/* ---- both ---- */

void grade_case_make(pfc_rng *rng, grade_case *out)
{
    /* Entries are repeated for resources that rarely become the limiter, because each must be drawn
     * often enough. */
    static const pfc_resource leans[] = {
        PFC_RESOURCE_COMPUTE,    PFC_RESOURCE_COMPUTE,    PFC_RESOURCE_WEIGHTS,
        PFC_RESOURCE_WEIGHTS,    PFC_RESOURCE_WEIGHTS,    PFC_RESOURCE_VECTOR,
        PFC_RESOURCE_VECTOR,     PFC_RESOURCE_MEMORY,     PFC_RESOURCE_MEMORY,
        PFC_RESOURCE_DMA,        PFC_RESOURCE_DMA,        PFC_RESOURCE_DMA,
        PFC_RESOURCE_SCRATCHPAD, PFC_RESOURCE_SCRATCHPAD, PFC_RESOURCE_SCRATCHPAD,
        PFC_RESOURCE_SCRATCHPAD, PFC_RESOURCE_SCRATCHPAD, PFC_RESOURCE_LATENCY,
        PFC_RESOURCE_PCIE,       PFC_RESOURCE_PCIE,       PFC_RESOURCE_WEIGHTS,
        PFC_RESOURCE_HOST,       PFC_RESOURCE_HOST,
    };
    bool outside;
    size_t chips = 0;

    memset(out, 0, sizeof(*out));
    while (pfc_accel_chip_name(chips))
        chips++;
    if (pfc_accel_chip_load(pfc_accel_chip_name(pfc_rng_below(rng, chips)), &out->chip, NULL))
        pfc_die("a built-in chip cannot be read");
    out->leans = leans[pfc_rng_below(rng, PFC_ARRAY_LEN(leans))];
    outside = out->leans == PFC_RESOURCE_PCIE || out->leans == PFC_RESOURCE_HOST;
    vary_chip(rng, &out->chip, out->leans);
    make_problem(rng, &out->problem, out->leans);
    if (out->leans == PFC_RESOURCE_SCRATCHPAD && chance(rng, 0.9))
        lean_to_scratchpad(rng, out);
    if (outside || chance(rng, 0.05))
        make_region(rng, out);
}

void grade_case_text(const grade_case *c, char out[160])
{
    size_t len =
        (size_t)snprintf(out, 160, "%s %s on %s:", pfc_accel_kernel_name(c->problem.kernel),
                         pfc_accel_dtype_name(c->problem.dtype), c->chip.name);

    for (size_t i = 0; pfc_accel_param_name(c->problem.kernel, i) && len < 160; i++)
        len += (size_t)snprintf(out + len, 160 - len, " %s=%lld",
                                pfc_accel_param_name(c->problem.kernel, i),
                                (long long)c->problem.p[i]);
    if (c->is_region && len < 160)
        snprintf(
            out + len, 160 - len, ", %llu launches, copies %s, sync %s, wait %s",
            (unsigned long long)c->region.launches, pfc_accel_region_copies_name(c->region.copies),
            pfc_accel_region_sync_name(c->region.sync), pfc_accel_completion_name(c->region.wait));
}
