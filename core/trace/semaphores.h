/*
 * Values of semaphores, for exporter and checker: a wait for a value that was signalled before ends
 * at once. Private to core/trace.
 */
#ifndef PFC_CORE_TRACE_SEMAPHORES_H
#define PFC_CORE_TRACE_SEMAPHORES_H

#include "core/base/base.h"

#define PFC_TRACE_SEMAPHORES 4096

/** The newest value of each semaphore below PFC_TRACE_SEMAPHORES; the others count as 0. */
typedef struct pfc_trace_semaphores {
    uint64_t value[PFC_TRACE_SEMAPHORES];
} pfc_trace_semaphores;

static inline void pfc_trace_semaphore_set(pfc_trace_semaphores *s, uint64_t semaphore, uint64_t v)
{
    if (semaphore < PFC_TRACE_SEMAPHORES)
        s->value[semaphore] = v;
}

/** True when a wait for the value ends at once. */
static inline bool pfc_trace_semaphore_reached(const pfc_trace_semaphores *s, uint64_t semaphore,
                                               uint64_t v)
{
    return v == 0 || (semaphore < PFC_TRACE_SEMAPHORES && s->value[semaphore] >= v);
}

#endif
