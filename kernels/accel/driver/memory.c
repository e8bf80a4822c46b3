/* Device memory. */
#include "kernels/accel/driver/memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Where addresses begin: not at 0, which is no address, and on a fresh row of every channel. */
#define FIRST_ADDRESS (1ull << 20)

static void drop(pfc_accel_range *range)
{
    if (range->data)
        munmap(range->data, range->bytes);
    range->data = NULL;
}

void pfc_accel_heap_clear(pfc_accel_heap *heap)
{
    for (size_t i = 0; i < heap->len; i++)
        drop(&heap->ranges[i]);
    free(heap->ranges);
    heap->ranges = NULL;
    heap->len = heap->cap = 0;
    heap->used = 0;
}

pfc_code pfc_accel_heap_take(pfc_accel_heap *heap, uint64_t bytes, uint64_t *out, pfc_err *err)
{
    const uint64_t end = FIRST_ADDRESS + heap->capacity;
    uint64_t at = FIRST_ADDRESS;
    uint64_t rounded;
    size_t i;

    if (bytes == 0)
        return pfc_err_set(err, PFC_EINVAL, "device memory: expected at least 1 byte, got 0");
    if (heap->len >= PFC_ACCEL_MAX_ALLOCS)
        return pfc_err_set(err, PFC_ETOOBIG, "device memory: expected at most %d allocations",
                           PFC_ACCEL_MAX_ALLOCS);
    if (bytes > heap->capacity)
        return pfc_err_set(err, PFC_ETOOBIG, "device memory: expected %llu bytes of %llu in all",
                           (unsigned long long)bytes, (unsigned long long)heap->capacity);
    rounded = (bytes + PFC_ACCEL_ALIGN - 1) / PFC_ACCEL_ALIGN * PFC_ACCEL_ALIGN;
    for (i = 0; i < heap->len && heap->ranges[i].at - at < rounded; i++)
        at = heap->ranges[i].at + heap->ranges[i].bytes;
    if (at > end || end - at < rounded)
        return pfc_err_set(err, PFC_ETOOBIG,
                           "device memory: expected %llu bytes in one piece; %llu of %llu are free",
                           (unsigned long long)bytes,
                           (unsigned long long)(heap->capacity - heap->used),
                           (unsigned long long)heap->capacity);
    heap->ranges = pfc_grow(heap->ranges, heap->len, &heap->cap, sizeof(*heap->ranges));
    memmove(&heap->ranges[i + 1], &heap->ranges[i], (heap->len - i) * sizeof(*heap->ranges));
    heap->ranges[i] = (pfc_accel_range){ .at = at, .bytes = rounded };
    heap->len++;
    heap->used += rounded;
    *out = at;
    return PFC_OK;
}

pfc_code pfc_accel_heap_give(pfc_accel_heap *heap, uint64_t at, pfc_err *err)
{
    for (size_t i = 0; i < heap->len; i++) {
        if (heap->ranges[i].at != at)
            continue;
        heap->used -= heap->ranges[i].bytes;
        drop(&heap->ranges[i]);
        heap->len--;
        memmove(&heap->ranges[i], &heap->ranges[i + 1], (heap->len - i) * sizeof(*heap->ranges));
        return PFC_OK;
    }
    return pfc_err_set(err, PFC_EINVAL,
                       "device memory: 0x%llx is no allocation (freed before, or never made)",
                       (unsigned long long)at);
}

pfc_code pfc_accel_heap_find(pfc_accel_heap *heap, uint64_t at, uint64_t bytes, const char *what,
                             pfc_accel_range **out, pfc_err *err)
{
    for (size_t i = 0; i < heap->len; i++) {
        pfc_accel_range *r = &heap->ranges[i];

        if (at < r->at || at - r->at >= r->bytes)
            continue;
        if (bytes > r->bytes - (at - r->at))
            return pfc_err_set(err, PFC_EINVAL,
                               "%s: %llu bytes at 0x%llx, but its allocation has %llu left", what,
                               (unsigned long long)bytes, (unsigned long long)at,
                               (unsigned long long)(r->bytes - (at - r->at)));
        *out = r;
        return PFC_OK;
    }
    return pfc_err_set(err, PFC_EINVAL, "%s: 0x%llx is not in device memory that is allocated",
                       what, (unsigned long long)at);
}

pfc_code pfc_accel_range_touch(pfc_accel_range *range, pfc_err *err)
{
    void *data;

    if (range->data)
        return PFC_OK;
    data = mmap(NULL, range->bytes, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data == MAP_FAILED)
        return pfc_err_set(err, PFC_EUNAVAIL,
                           "device memory: the host has no room for %llu bytes of it",
                           (unsigned long long)range->bytes);
    range->data = data;
    return PFC_OK;
}
