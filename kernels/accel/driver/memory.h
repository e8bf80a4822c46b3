/*
 * Device memory: address ranges, first fit, each with host pages that exist once touched, so that
 * a timing-only run of a huge problem needs no memory here. Inside kernels/accel/driver only; the
 * caller locks.
 */
#ifndef PFC_KERNELS_ACCEL_DRIVER_MEMORY_H
#define PFC_KERNELS_ACCEL_DRIVER_MEMORY_H

#include "kernels/accel/driver/accel.h"

typedef struct pfc_accel_range {
    uint64_t at;
    uint64_t bytes;
    uint8_t *data; /* NULL until touched */
} pfc_accel_range;

typedef struct pfc_accel_heap {
    uint64_t capacity;
    uint64_t used;
    pfc_accel_range *ranges; /* by address */
    size_t len;
    size_t cap;
} pfc_accel_heap;

void pfc_accel_heap_clear(pfc_accel_heap *heap);
pfc_code pfc_accel_heap_take(pfc_accel_heap *heap, uint64_t bytes, uint64_t *out, pfc_err *err);
pfc_code pfc_accel_heap_give(pfc_accel_heap *heap, uint64_t at, pfc_err *err);
/** The range that holds [at, at + bytes), or an error that names `what`. */
pfc_code pfc_accel_heap_find(pfc_accel_heap *heap, uint64_t at, uint64_t bytes, const char *what,
                             pfc_accel_range **out, pfc_err *err);
/** Its bytes, made on first use. */
pfc_code pfc_accel_range_touch(pfc_accel_range *range, pfc_err *err);

#endif
