/* Names of the counters, and the laws that tie them together. */
#include "kernels/accel/device/device.h"

static const struct {
    const char *name;
    const char *unit;
} table[] = {
#define PFC_X(id, name, unit) { name, unit },
    PFC_ACCEL_COUNTERS(PFC_X)
#undef PFC_X
};

const char *pfc_accel_counter_name(pfc_accel_counter c)
{
    return table[c].name;
}

const char *pfc_accel_counter_unit(pfc_accel_counter c)
{
    return table[c].unit;
}

void pfc_accel_counters_add(pfc_accel_counters *sum, const pfc_accel_counters *more)
{
    for (size_t i = 0; i < PFC_ACCEL_COUNTERS_LEN; i++)
        sum->v[i] += more->v[i];
}

static pfc_code law(const char *what, uint64_t left, uint64_t right, pfc_err *err)
{
    if (left == right)
        return PFC_OK;
    return pfc_err_set(err, PFC_EBUG, "counters: %s: expected %llu cycles, got %llu", what,
                       (unsigned long long)right, (unsigned long long)left);
}

pfc_code pfc_accel_counters_check(const pfc_accel_counters *c, const pfc_accel_chip *chip,
                                  pfc_err *err)
{
    const uint64_t *v = c->v;
    const uint64_t total = v[PFC_ACCEL_CYCLES];
    pfc_code code;

    code =
        law("tensor busy + stalls + idle",
            v[PFC_ACCEL_TENSOR_BUSY] + v[PFC_ACCEL_TENSOR_PRELOAD] + v[PFC_ACCEL_TENSOR_STALL_DMA] +
                v[PFC_ACCEL_TENSOR_STALL_VECTOR] + v[PFC_ACCEL_TENSOR_STALL_DRAIN] +
                v[PFC_ACCEL_TENSOR_STALL_BANK] + v[PFC_ACCEL_TENSOR_IDLE],
            total, err);
    if (!code)
        code = law("vector busy + stalls + idle",
                   v[PFC_ACCEL_VECTOR_BUSY] + v[PFC_ACCEL_VECTOR_STALL_DMA] +
                       v[PFC_ACCEL_VECTOR_STALL_TENSOR] + v[PFC_ACCEL_VECTOR_STALL_CHAIN] +
                       v[PFC_ACCEL_VECTOR_STALL_BANK] + v[PFC_ACCEL_VECTOR_IDLE],
                   total, err);
    if (!code)
        code = law("DMA busy + stalls + idle",
                   v[PFC_ACCEL_DMA_BUSY] + v[PFC_ACCEL_DMA_STALL_HBM] +
                       v[PFC_ACCEL_DMA_STALL_TENSOR] + v[PFC_ACCEL_DMA_STALL_VECTOR] +
                       v[PFC_ACCEL_DMA_STALL_DMA] + v[PFC_ACCEL_DMA_IDLE],
                   total * chip->dma_engines, err);
    if (!code && v[PFC_ACCEL_MACS] > v[PFC_ACCEL_MAC_SLOTS])
        return pfc_err_set(err, PFC_EBUG, "counters: more multiplications than mapped slots");
    return code;
}
