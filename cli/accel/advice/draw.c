/* Cases whose schedules are not the best ones. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "cli/accel/advice/advice.h"
#include "core/base/base.h"

#define DRAWS 1000

/* Uniform in the logarithm; half of those from 16 are multiples of 16, as real shapes often are. */
static int64_t draw_size(pfc_rng *rng, double low, double high)
{
    const int64_t n =
        (int64_t)(exp2(log2(low) + pfc_rng_double(rng) * (log2(high) - log2(low))) + 0.5);

    return n >= 16 && pfc_rng_below(rng, 2) ? n / 16 * 16 : n;
}

static void vary_chip(pfc_rng *rng, pfc_accel_chip *chip)
{
    static const struct {
        size_t offset;
        uint64_t min, max;
    } constants[] = {
        { offsetof(pfc_accel_chip, array_load_rows), 1, 1024 },
        { offsetof(pfc_accel_chip, vector_lanes), 1, 65536 },
        { offsetof(pfc_accel_chip, dma_bytes), 1, 4096 },
        { offsetof(pfc_accel_chip, dma_setup), 1, 100000 },
        { offsetof(pfc_accel_chip, dma_window), 1, 64 },
        { offsetof(pfc_accel_chip, dma_engines), 2, 64 },
        { offsetof(pfc_accel_chip, hbm_mbps), 500, 100000000 },
        { offsetof(pfc_accel_chip, hbm_row_miss), 1, 10000 },
        { offsetof(pfc_accel_chip, hbm_latency), 1, 100000 },
        { offsetof(pfc_accel_chip, sram_bytes), 4096, 1ull << 40 },
        { offsetof(pfc_accel_chip, acc_bytes), 4096, 1ull << 40 },
    };

    for (uint64_t left = pfc_rng_below(rng, 4); left > 0; left--) {
        const size_t i = (size_t)pfc_rng_below(rng, PFC_ARRAY_LEN(constants));
        uint64_t *value = (uint64_t *)(void *)((char *)chip + constants[i].offset);
        const double varied = (double)*value * exp2(2 * pfc_rng_double(rng) - 1) + 0.5;

        *value = PFC_MIN(PFC_MAX((uint64_t)varied, constants[i].min), constants[i].max);
    }
}

static void draw_problem(pfc_rng *rng, pfc_accel_problem *p)
{
    *p = (pfc_accel_problem){ .kernel = pfc_rng_below(rng, 4) ? PFC_ACCEL_GEMM
                                                              : PFC_ACCEL_GEMM_BIAS_ACT };
    p->dtype = (pfc_accel_dtype)pfc_rng_below(rng, p->kernel == PFC_ACCEL_GEMM ? 3 : 2);
    p->p[0] = pfc_rng_below(rng, 4) ? draw_size(rng, 32, 1024) : draw_size(rng, 1, 32);
    p->p[1] = draw_size(rng, 32, 2048);
    p->p[2] = draw_size(rng, 32, 2048);
    if (p->kernel == PFC_ACCEL_GEMM_BIAS_ACT)
        p->p[3] = (int64_t)pfc_rng_below(rng, 4);
}

void advice_draw(pfc_rng *rng, advice_case *out)
{
    size_t chips = 0;

    while (pfc_accel_chip_name(chips))
        chips++;
    for (int i = 0; i < DRAWS; i++) {
        pfc_accel_gemm_tiles *all = NULL;
        size_t len;

        if (pfc_accel_chip_load(pfc_accel_chip_name(pfc_rng_below(rng, chips)), &out->chip, NULL))
            pfc_die("a built-in chip cannot be read");
        vary_chip(rng, &out->chip);
        draw_problem(rng, &out->problem);
        len = pfc_accel_gemm_tiles_all(&out->problem, &out->chip, &all);
        if (len)
            out->tiles = all[pfc_rng_below(rng, len)];
        /* drawn last, so that all else of a seed's cases stays as it was */
        if (len && out->problem.kernel == PFC_ACCEL_GEMM_BIAS_ACT)
            out->tiles.unfused = pfc_rng_below(rng, 4) == 0;
        free(all);
        if (len)
            return;
    }
    pfc_die("no gemm fits on any chip");
}
