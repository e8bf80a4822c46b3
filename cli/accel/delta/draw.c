/* Pairs of runs: a problem, a chip, and what is changed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/accel/delta/delta_grade.h"
#include "core/base/base.h"
#include "kernels/accel/compiler/compiler.h"

const char *delta_change_name(delta_change change)
{
    static const char *const names[DELTA_CHANGES] = { "constant", "tile", "order", "buffers",
                                                        "fusion" };

    return names[change];
}

/* ---- constants ---- */

static const struct {
    const char *key;
    size_t offset;
    uint64_t least, most;
} constants[] = {
#define C(field, least, most)                                                                      \
    {                                                                                              \
#field, offsetof(pfc_accel_chip, field), (least), (most)                                   \
    }
    C(array_rows, 4, 1024),      C(array_cols, 4, 1024),      C(array_load_rows, 1, 64),
    C(f32_passes, 1, 16),        C(vector_lanes, 4, 65536),   C(vector_exp, 1, 16),
    C(vector_latency, 1, 10000), C(vector_reduce, 1, 10000),  C(dma_bytes, 1, 4096),
    C(dma_setup, 1, 100000),     C(dma_window, 1, 64),        C(hbm_mbps, 500, 100000000),
    C(hbm_row_miss, 1, 10000),   C(hbm_turnaround, 1, 10000), C(hbm_latency, 1, 100000),
    C(sram_port_bytes, 1, 4096), C(pcie_lanes, 1, 16),        C(pcie_latency_ns, 1, 1000000),
    C(host_call_ns, 1, 1000000), C(host_irq_ns, 1, 1000000),  C(launch_ns, 1, 1000000),
#undef C
};

/* A factor from a quarter to four, at least a fifth away from one. */
static double factor(pfc_rng *rng)
{
    const double f = exp(log(1.25) + pfc_rng_double(rng) * (log(4) - log(1.25)));

    return pfc_rng_below(rng, 2) ? f : 1 / f;
}

/* Changes a constant of another resource than `without`; its resource, or PFC_RESOURCE_NONE when
 * the drawn one cannot be changed. */
static pfc_resource change_constant(pfc_rng *rng, pfc_accel_chip *chip, pfc_resource without)
{
    const size_t i = (size_t)pfc_rng_below(rng, PFC_ARRAY_LEN(constants));
    const pfc_resource resource = pfc_delta_resource_of_constant(constants[i].key);
    uint64_t *value = (uint64_t *)(void *)((char *)chip + constants[i].offset);
    const double changed = (double)*value * factor(rng) + 0.5;
    const uint64_t now = PFC_MIN(PFC_MAX((uint64_t)changed, constants[i].least), constants[i].most);

    if (resource == without || now == *value)
        return PFC_RESOURCE_NONE;
    *value = now;
    return resource;
}

/* ---- schedules ---- */

static const char *const numbers[DELTA_CHANGES][3] = {
    [DELTA_TILE] = { "tile_m", "tile_n", "tile_k" },
    [DELTA_ORDER] = { "tile_m_outer", "tile_group", NULL },
    [DELTA_BUFFERS] = { "tile_buffers", "tile_mixed", NULL },
};

static uint64_t number_of(const pfc_accel_gemm_tiles *t, const char *name)
{
    uint64_t value = 0;
    const char *found;

    for (size_t i = 0; (found = pfc_accel_tile_number(t, i, &value)); i++)
        if (strcmp(found, name) == 0)
            return value;
    return 0;
}

static bool is_switch(const char *name)
{
    return strcmp(name, "tile_m_outer") == 0 || strcmp(name, "tile_mixed") == 0;
}

/* Half of the changes lose the fusion, the others bring it. */
static bool change_fusion(pfc_rng *rng, delta_case *c)
{
    const bool lost = pfc_rng_below(rng, 2);

    c->tiles_after = c->tiles_before;
    c->tiles_before.unfused = !lost;
    c->tiles_after.unfused = lost;
    return true;
}

/* False when the drawn number cannot be changed. */
static bool change_schedule(pfc_rng *rng, delta_case *c)
{
    const char *const *names = numbers[c->change];
    const size_t len = names[2] ? 3 : 2;
    const char *name = names[pfc_rng_below(rng, len)];
    const uint64_t was = number_of(&c->tiles_before, name);
    const unsigned shift = 1 + (unsigned)pfc_rng_below(rng, 3);
    uint64_t now = pfc_rng_below(rng, 2) ? was << shift : was >> shift;

    if (is_switch(name))
        now = !was;
    c->tiles_after = c->tiles_before;
    return now != was && !pfc_accel_tile_set(&c->tiles_after, name, now, NULL);
}

static bool choose_tiles(pfc_rng *rng, delta_case *c)
{
    pfc_accel_gemm_tiles *all = NULL;
    const size_t len = pfc_accel_gemm_tiles_all(&c->base.problem, &c->base.chip, &all);

    /* Among the cheapest third, as a person who tunes by hand would have. */
    if (len)
        c->tiles_before = all[pfc_rng_below(rng, len / 3 + 1)];
    free(all);
    return len > 0;
}

/* ---- both ---- */

static bool try_draw(pfc_rng *rng, size_t wanted, delta_case *out)
{
    *out =
        (delta_case){ .constants = wanted, .resources = { PFC_RESOURCE_NONE, PFC_RESOURCE_NONE } };
    grade_case_make(rng, &out->base);
    out->after = out->base.chip;
    for (size_t i = 0; i < wanted; i++) {
        out->resources[i] = change_constant(rng, &out->after, out->resources[0]);
        if (out->resources[i] == PFC_RESOURCE_NONE)
            return false;
    }
    if (wanted > 0)
        return true;
    out->tiled = true;
    out->change = (delta_change)(DELTA_TILE + pfc_rng_below(rng, DELTA_CHANGES - DELTA_TILE));
    if (out->change == DELTA_FUSION)
        return out->base.problem.kernel == PFC_ACCEL_GEMM_BIAS_ACT && choose_tiles(rng, out) &&
               change_fusion(rng, out);
    return out->base.problem.kernel == PFC_ACCEL_GEMM && choose_tiles(rng, out) &&
           change_schedule(rng, out);
}

void delta_draw(pfc_rng *rng, size_t wanted, delta_case *out)
{
    while (!try_draw(rng, wanted, out))
        ;
}
