#include "kernels/accel/device/whatif.h"

const char *pfc_accel_resource_name(pfc_accel_resource r)
{
    return pfc_resource_name((pfc_resource)r);
}

static pfc_code cycles_without(const pfc_accel_run *run, unsigned ideal, uint64_t *out,
                               pfc_err *err)
{
    pfc_accel_run again = *run;
    pfc_code code;

    again.timing_only = true;
    again.ideal = ideal;
    again.detail = NULL;
    again.tracer = NULL;
    code = pfc_accel_execute(&again, err);
    *out = again.counters.v[PFC_ACCEL_CYCLES];
    return code;
}

unsigned pfc_accel_resource_ideal(pfc_accel_resource r)
{
    static const unsigned ideal[PFC_ACCEL_RESOURCES_LEN] = {
        [PFC_ACCEL_RESOURCE_COMPUTE] = PFC_ACCEL_IDEAL_TENSOR,
        [PFC_ACCEL_RESOURCE_WEIGHTS] = PFC_ACCEL_IDEAL_WEIGHTS,
        [PFC_ACCEL_RESOURCE_VECTOR] = PFC_ACCEL_IDEAL_VECTOR,
        [PFC_ACCEL_RESOURCE_MEMORY] = PFC_ACCEL_IDEAL_HBM,
        [PFC_ACCEL_RESOURCE_DMA] = PFC_ACCEL_IDEAL_DMA,
        [PFC_ACCEL_RESOURCE_SCRATCHPAD] = PFC_ACCEL_IDEAL_BANKS,
        [PFC_ACCEL_RESOURCE_LATENCY] = PFC_ACCEL_IDEAL_LATENCY,
    };

    return r < PFC_ACCEL_RESOURCES_LEN ? ideal[r] : 0;
}

void pfc_accel_whatif_limit(pfc_accel_whatif *w)
{
    uint64_t least = w->base;

    w->limiter = PFC_ACCEL_NO_RESOURCE;
    for (size_t r = 0; r < PFC_ACCEL_RESOURCES_LEN; r++) {
        if (w->cycles[r] >= least)
            continue;
        least = w->cycles[r];
        w->limiter = (pfc_accel_resource)r;
    }
}

pfc_code pfc_accel_whatif_run(const pfc_accel_run *run, pfc_accel_whatif *out, pfc_err *err)
{
    pfc_code code = cycles_without(run, 0, &out->base, err);

    for (size_t r = 0; r < PFC_ACCEL_RESOURCES_LEN && !code; r++) {
        const unsigned ideal = pfc_accel_resource_ideal((pfc_accel_resource)r);

        out->cycles[r] = out->base;
        if (ideal)
            code = cycles_without(run, ideal, &out->cycles[r], err);
    }
    if (!code)
        pfc_accel_whatif_limit(out);
    return code;
}
