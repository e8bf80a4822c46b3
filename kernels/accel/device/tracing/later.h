/*
 * Records of a trace that lie in the future, in order of time; those of one time keep the order in
 * which they were added. A heap: adding and taking cost log2 of its size.
 */
#ifndef PFC_KERNELS_ACCEL_DEVICE_TRACING_LATER_H
#define PFC_KERNELS_ACCEL_DEVICE_TRACING_LATER_H

#include "core/trace/trace.h"

typedef struct pfc_accel_later_item {
    uint64_t at; /* in any unit of time that all items of the heap share */
    uint64_t number;
    pfc_trace_record record;
} pfc_accel_later_item;

/** Starts as zeros. */
typedef struct pfc_accel_later {
    pfc_accel_later_item *items; /* the first in time on top; owned */
    size_t len, cap;
    uint64_t number; /* of the newest item */
} pfc_accel_later;

void pfc_accel_later_add(pfc_accel_later *later, uint64_t at, const pfc_trace_record *record);
/** Takes the first record when it lies before `until`; false: there is none. */
bool pfc_accel_later_take(pfc_accel_later *later, uint64_t until, pfc_trace_record *out);
void pfc_accel_later_clear(pfc_accel_later *later);

#endif
