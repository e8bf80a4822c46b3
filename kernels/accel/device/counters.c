/* Names of the counters, and the laws that tie them together. */
#include <string.h>

#include "kernels/accel/device/device.h"

static const char *const laws[] = {
#define PFC_X(id, text) text,
    PFC_ACCEL_LAWS(PFC_X)
#undef PFC_X
};

static const struct {
    const char *name, *unit, *domain;
    pfc_accel_law law;
    unsigned since;
} table[] = {
#define PFC_X(id, name, unit, domain, law, since)                                                  \
    { name, unit, domain, PFC_ACCEL_LAW_##law, since },
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

pfc_accel_counter_about pfc_accel_counter_describe(pfc_accel_counter c)
{
    return (pfc_accel_counter_about){ .name = table[c].name,
                                      .unit = table[c].unit,
                                      .domain = table[c].domain,
                                      .law = laws[table[c].law],
                                      .since = table[c].since };
}

void pfc_accel_counters_add(pfc_accel_counters *sum, const pfc_accel_counters *more)
{
    for (size_t i = 0; i < PFC_ACCEL_COUNTERS_LEN; i++)
        sum->v[i] += more->v[i];
}

static pfc_code equal(const char *what, uint64_t left, uint64_t right, pfc_err *err)
{
    if (left == right)
        return PFC_OK;
    return pfc_err_set(err, PFC_EBUG, "counters: %s: expected %llu, got %llu", what,
                       (unsigned long long)right, (unsigned long long)left);
}

static pfc_code at_most(const char *what, uint64_t left, uint64_t right, pfc_err *err)
{
    if (left <= right)
        return PFC_OK;
    return pfc_err_set(err, PFC_EBUG, "counters: %s: expected at most %llu, got %llu", what,
                       (unsigned long long)right, (unsigned long long)left);
}

/* The counters under a law that sum to a time. */
static uint64_t sum_under(const uint64_t *v, pfc_accel_law law)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < PFC_ACCEL_COUNTERS_LEN; i++)
        if (table[i].law == law && strcmp(table[i].unit, "cycles") == 0)
            sum += v[i];
    return sum;
}

static pfc_code check_times(const uint64_t *v, const pfc_accel_chip *chip, pfc_err *err)
{
    static const pfc_accel_law once[] = { PFC_ACCEL_LAW_TENSOR, PFC_ACCEL_LAW_VECTOR,
                                          PFC_ACCEL_LAW_OVERLAP };
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < PFC_ARRAY_LEN(once) && !code; i++)
        code = equal(laws[once[i]], sum_under(v, once[i]), v[PFC_ACCEL_CYCLES], err);
    if (!code)
        code = equal(laws[PFC_ACCEL_LAW_DMA], sum_under(v, PFC_ACCEL_LAW_DMA),
                     v[PFC_ACCEL_CYCLES] * chip->dma_engines, err);
    return code;
}

pfc_code pfc_accel_counters_check(const pfc_accel_counters *c, const pfc_accel_chip *chip,
                                  pfc_err *err)
{
    const uint64_t *v = c->v;
    pfc_code code = check_times(v, chip, err);

    if (!code)
        code = equal("hbm_row_hits + hbm_row_misses = hbm_accesses",
                     v[PFC_ACCEL_HBM_ROW_HIT] + v[PFC_ACCEL_HBM_ROW_MISS],
                     v[PFC_ACCEL_HBM_ACCESSES], err);
    if (!code)
        code = at_most("hbm_row_conflicts <= hbm_row_misses", v[PFC_ACCEL_HBM_ROW_CONFLICT],
                       v[PFC_ACCEL_HBM_ROW_MISS], err);
    if (!code)
        code =
            equal("hbm_queue_cycles + hbm_service_cycles = hbm_latency_cycles",
                  v[PFC_ACCEL_HBM_QUEUE] + v[PFC_ACCEL_HBM_SERVICE], v[PFC_ACCEL_HBM_LATENCY], err);
    if (!code)
        code =
            at_most("hbm_busy_cycles <= cycles", v[PFC_ACCEL_HBM_BUSY], v[PFC_ACCEL_CYCLES], err);
    if (!code)
        code = at_most("dma_bytes <= hbm_read_bytes + hbm_write_bytes", v[PFC_ACCEL_DMA_BYTES],
                       v[PFC_ACCEL_HBM_READ] + v[PFC_ACCEL_HBM_WRITE], err);
    if (!code)
        code = at_most("macs_useful <= macs_mapped_slots", v[PFC_ACCEL_MACS],
                       v[PFC_ACCEL_MAC_SLOTS], err);
    return code;
}

pfc_code pfc_accel_detail_check(const pfc_accel_detail *d, const pfc_accel_counters *c,
                                pfc_err *err)
{
    const uint64_t *v = c->v;
    pfc_accel_queue_detail q = { 0 };
    uint64_t read = 0, written = 0, accesses = 0, waits = 0;
    uint64_t sizes = 0, strides = 0, rows = 0;
    pfc_code code;

    for (size_t i = 0; i < d->queues_len; i++) {
        q.transfers += d->queues[i].transfers;
        q.bytes += d->queues[i].bytes;
        q.busy_cycles += d->queues[i].busy_cycles;
        q.setup_cycles += d->queues[i].setup_cycles;
        q.stall_hbm_cycles += d->queues[i].stall_hbm_cycles;
        q.wait_cycles += d->queues[i].wait_cycles;
    }
    for (size_t i = 0; i < d->channels_len; i++) {
        read += d->channels[i].read_bytes;
        written += d->channels[i].write_bytes;
        accesses += d->channels[i].accesses;
    }
    for (size_t i = 0; i < d->banks_len; i++)
        waits += d->bank_wait_cycles[i];
    for (size_t i = 0; i < PFC_ACCEL_HISTOGRAM_LEN; i++) {
        sizes += d->transfer_bytes[i];
        strides += d->transfer_stride[i];
        rows += d->transfer_row_bytes[i];
    }
    {
        const struct {
            const char *what;
            uint64_t sum, counter;
        } sums[] = {
            { "transfers of the queues", q.transfers, v[PFC_ACCEL_DMA_TRANSFERS] },
            { "bytes of the queues", q.bytes, v[PFC_ACCEL_DMA_BYTES] },
            { "busy cycles of the queues", q.busy_cycles, v[PFC_ACCEL_DMA_BUSY] },
            { "setup cycles of the queues", q.setup_cycles, v[PFC_ACCEL_DMA_SETUP] },
            { "HBM stalls of the queues", q.stall_hbm_cycles, v[PFC_ACCEL_DMA_STALL_HBM] },
            { "waits of the queues", q.wait_cycles,
              v[PFC_ACCEL_DMA_STALL_TENSOR] + v[PFC_ACCEL_DMA_STALL_VECTOR] +
                  v[PFC_ACCEL_DMA_STALL_DMA] },
            { "bytes read of the channels", read, v[PFC_ACCEL_HBM_READ] },
            { "bytes written of the channels", written, v[PFC_ACCEL_HBM_WRITE] },
            { "accesses of the channels", accesses, v[PFC_ACCEL_HBM_ACCESSES] },
            { "waits of the banks", waits,
              v[PFC_ACCEL_TENSOR_STALL_BANK] + v[PFC_ACCEL_VECTOR_STALL_BANK] },
            { "histogram of sizes", sizes, v[PFC_ACCEL_DMA_TRANSFERS] },
            { "histogram of strides", strides, v[PFC_ACCEL_DMA_TRANSFERS] },
            { "histogram of rows", rows, v[PFC_ACCEL_DMA_TRANSFERS] },
        };

        code = PFC_OK;
        for (size_t i = 0; i < PFC_ARRAY_LEN(sums) && !code; i++)
            code = equal(sums[i].what, sums[i].sum, sums[i].counter, err);
    }
    return code;
}
