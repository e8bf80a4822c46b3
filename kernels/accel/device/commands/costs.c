/* The cost of each command by part, as records of a trace. */
#include "kernels/accel/device/parts.h"
#include "kernels/accel/device/tracer.h"

void pfc_accel_trace_tile_cost(pfc_accel_tracer *t, uint16_t unit, size_t index, uint64_t at,
                               const pfc_accel_cost *cost, uint64_t bank, uint64_t banks)
{
    pfc_accel_trace_detail(t, PFC_TRACE_COST_STREAM, unit, index, cost->busy, at);
    pfc_accel_trace_detail(t, PFC_TRACE_COST_WEIGHTS, unit, index, cost->weights, at);
    pfc_accel_trace_detail(t, PFC_TRACE_COST_WEIGHTS_HIDDEN, unit, index, cost->hidden, at);
    pfc_accel_trace_detail(t, PFC_TRACE_COST_PRELOAD, unit, index, cost->preload, at);
    pfc_accel_trace_detail(t, PFC_TRACE_COST_FILL, unit, index, cost->fill, at);
    pfc_accel_trace_detail(t, PFC_TRACE_COST_DEPTH, unit, index, cost->depth, at);
    pfc_accel_trace_detail(t, PFC_TRACE_COST_REDUCE, unit, index, cost->trees, at);
    pfc_accel_trace_detail(t, PFC_TRACE_COST_BANK, unit, index, bank, at);
    pfc_accel_trace_detail(t, PFC_TRACE_FOLDS, unit, index, cost->folds, at);
    pfc_accel_trace_detail(t, PFC_TRACE_BANKS, unit, index, banks, at);
}

static uint64_t whole_cycles(uint64_t subcycles)
{
    return pfc_accel_ceil_div(subcycles, PFC_ACCEL_SUBCYCLES);
}

void pfc_accel_trace_transfer_cost(pfc_accel_tracer *t, uint16_t unit, size_t index, uint64_t at,
                                   const pfc_accel_transfer_cost *cost)
{
    const pfc_accel_memory_cost *m = cost->memory;

    pfc_accel_trace_detail(t, PFC_TRACE_COST_DMA_SETUP, unit, index, cost->setup, at);
    pfc_accel_trace_detail(t, PFC_TRACE_COST_DMA_RATE, unit, index, cost->rate, at);
    pfc_accel_trace_detail(t, PFC_TRACE_COST_DMA_WINDOW, unit, index, cost->window, at);
    pfc_accel_trace_detail(t, PFC_TRACE_COST_MEMORY_QUEUE, unit, index, whole_cycles(m->waited),
                           at);
    pfc_accel_trace_detail(t, PFC_TRACE_COST_MEMORY_SERVICE, unit, index, whole_cycles(m->service),
                           at);
    pfc_accel_trace_detail(t, PFC_TRACE_COST_MEMORY_LATENCY, unit, index, cost->latency, at);
    pfc_accel_trace_detail(t, PFC_TRACE_CHANNELS, unit, index, m->channels[0], at);
    pfc_accel_trace_detail(t, PFC_TRACE_CHANNELS_HIGH, unit, index, m->channels[1], at);
}
