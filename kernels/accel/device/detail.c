/* Histograms of the transfers, and the distance after which a tile is loaded again. */
#include <stdlib.h>
#include <string.h>

#include "kernels/accel/device/parts.h"

/* A tile of HBM is known by where it begins and by its shape. */
typedef struct pfc_accel_reuse_slot {
    uint64_t base, shape;
    uint64_t loaded; /* bytes that all loads had moved when this one was over; 0: empty slot */
} slot;

static size_t bin_of(uint64_t value)
{
    const size_t bin = value ? 63 - (size_t)__builtin_clzll(value) : 0;

    return PFC_MIN(bin, (size_t)PFC_ACCEL_HISTOGRAM_LEN - 1);
}

static slot *find(slot *slots, size_t cap, uint64_t base, uint64_t shape)
{
    uint64_t hash = (base ^ shape * 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;
    size_t i = (size_t)(hash ^ hash >> 32) & (cap - 1);

    while (slots[i].loaded && (slots[i].base != base || slots[i].shape != shape))
        i = (i + 1) & (cap - 1);
    return &slots[i];
}

static void grow(pfc_accel_reuse *r)
{
    const size_t cap = r->cap ? r->cap * 2 : 1024;
    slot *slots = pfc_calloc(cap, sizeof(*slots));

    for (size_t i = 0; i < r->cap; i++)
        if (r->slots[i].loaded)
            *find(slots, cap, r->slots[i].base, r->slots[i].shape) = r->slots[i];
    free(r->slots);
    r->slots = slots;
    r->cap = cap;
}

void pfc_accel_reuse_free(pfc_accel_reuse *reuse)
{
    free(reuse->slots);
}

void pfc_accel_detail_transfer(pfc_accel_detail *d, pfc_accel_reuse *reuse,
                               const pfc_accel_cmd *cmd, uint64_t base)
{
    const uint64_t row = (uint64_t)cmd->n * cmd->elem;
    const uint64_t bytes = pfc_accel_dma_bytes(cmd);
    slot *s;

    d->transfer_bytes[bin_of(bytes)]++;
    d->transfer_stride[bin_of(cmd->stride)]++;
    d->transfer_row_bytes[bin_of(cmd->stride == row ? bytes : row)]++;
    if (cmd->op != PFC_ACCEL_OP_LOAD)
        return;
    if (2 * reuse->len >= reuse->cap)
        grow(reuse);
    s = find(reuse->slots, reuse->cap, base, (uint64_t)cmd->m << 32 | (row & UINT32_MAX));
    if (s->loaded) {
        d->reuse_bytes[bin_of(reuse->loaded - s->loaded)]++;
    } else {
        s->base = base;
        s->shape = (uint64_t)cmd->m << 32 | (row & UINT32_MAX);
        reuse->len++;
        d->first_use++;
    }
    reuse->loaded += PFC_MAX(bytes, 1);
    s->loaded = reuse->loaded;
}

void pfc_accel_detail_bank_wait(pfc_accel_detail *d, uint64_t banks, uint64_t cycles)
{
    uint64_t left = (uint64_t)__builtin_popcountll(banks);

    for (uint64_t rest = banks; rest; rest &= rest - 1, left--) {
        const uint64_t share = pfc_accel_ceil_div(cycles, left);

        d->bank_wait_cycles[__builtin_ctzll(rest)] += share;
        cycles -= share;
    }
}
