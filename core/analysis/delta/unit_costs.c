/* Costs of a unit of work: where the chips' constants were not recorded, a cost that differs shows
 * which part of the chip is another one. */
#include <math.h>
#include <string.h>

#include "core/analysis/delta/delta_priv.h"
#include "core/base/base.h"

/* Costs that no schedule alters are exact quotients of two counters; those of partly filled bursts,
 * rows and vectors differ a little from one schedule to the next. */
#define EXACT 1e-6
#define ROUGH 0.03

static const struct {
    const char *what;
    const char *cycles, *work;
    pfc_resource resource;
    bool exact; /* the same in every schedule; else compared under equal choices alone */
} costs[] = {
    { "A slot of the matrix unit", "tensor_busy_cycles", "macs_mapped_slots", PFC_RESOURCE_COMPUTE,
      true },
    { "The setup of a transfer", "dma_setup_cycles", "dma_transfers", PFC_RESOURCE_DMA, true },
    { "A byte at a DMA engine", "dma_busy_cycles", "dma_bytes", PFC_RESOURCE_DMA, false },
    { "An access of device memory", "hbm_service_cycles", "hbm_accesses", PFC_RESOURCE_MEMORY,
      false },
    { "An element of the vector unit", "vector_busy_cycles", "vector_elements", PFC_RESOURCE_VECTOR,
      false },
    { "A command's reduction in the vector unit", "vector_reduce_cycles", "commands",
      PFC_RESOURCE_LATENCY, false },
    { "A byte on the PCIe link", "pcie_busy_cycles", "pcie_h2d_bytes", PFC_RESOURCE_PCIE, false },
};

static bool cost_of(const pfc_profile *p, size_t i, double *out)
{
    double cycles;
    double work;

    if (!pfc_profile_number_of(p, costs[i].cycles, &cycles) ||
        !pfc_profile_number_of(p, costs[i].work, &work) || cycles <= 0 || work <= 0)
        return false;
    *out = cycles / work;
    return true;
}

/* An access costs more where more of them miss the open row or turn the channel around, which the
 * order of accesses decides and no constant. */
static bool same_mix(const pfc_profile *before, const pfc_profile *after)
{
    static const char *const parts[] = { "hbm_row_misses", "hbm_turnarounds" };
    const double a = pfc_profile_or(before, "hbm_accesses", 0);
    const double b = pfc_profile_or(after, "hbm_accesses", 0);

    for (size_t i = 0; i < PFC_ARRAY_LEN(parts); i++)
        if (fabs(pfc_profile_or(after, parts[i], 0) / b - pfc_profile_or(before, parts[i], 0) / a) >
            ROUGH)
            return false;
    return true;
}

static bool recorded_constants(const pfc_profile *p)
{
    for (size_t i = 0; i < p->numbers_len; i++)
        if (strncmp(p->numbers[i].name, "chip_", 5) == 0)
            return true;
    return false;
}

/* Whether the cost differs by more than schedules alone can make it. */
static bool differs(const pfc_profile *before, const pfc_profile *after, bool same_choice, size_t i,
                    pfc_delta_cost *out)
{
    if (!(costs[i].exact || same_choice) || !cost_of(before, i, &out->before) ||
        !cost_of(after, i, &out->after) ||
        (costs[i].resource == PFC_RESOURCE_MEMORY && !same_mix(before, after)))
        return false;
    out->what = costs[i].what;
    out->resource = costs[i].resource;
    return fabs(log(out->after / out->before)) > (costs[i].exact ? EXACT : ROUGH);
}

size_t pfc_delta_costs(const pfc_profile *before, const pfc_profile *after,
                       pfc_delta_cost out[PFC_DELTA_MAX_COSTS])
{
    const char *a = pfc_profile_fact_of(before, "choice");
    const char *b = pfc_profile_fact_of(after, "choice");
    const bool same_choice = a && b && strcmp(a, b) == 0;
    size_t len = 0;

    _Static_assert(PFC_ARRAY_LEN(costs) <= PFC_DELTA_MAX_COSTS, "room for each cost");
    if (recorded_constants(before) || recorded_constants(after))
        return 0;
    for (size_t i = 0; i < PFC_ARRAY_LEN(costs); i++)
        len += differs(before, after, same_choice, i, &out[len]);
    return len;
}
