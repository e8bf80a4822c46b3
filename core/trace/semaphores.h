/*
 * Values of semaphores, for exporter and checker: a wait for a value that was signalled before ends
 * at once. Private to core/trace.
 */
#ifndef PFC_CORE_TRACE_SEMAPHORES_H
#define PFC_CORE_TRACE_SEMAPHORES_H

#include <stdlib.h>

#include "core/base/base.h"

/* Numbers of semaphores from here on are not remembered: waits for them count as ended. */
#define PFC_TRACE_SEMAPHORES (UINT64_C(1) << 20)

/** The newest value of each semaphore, 0 at first; starts as zeros. */
typedef struct pfc_trace_semaphores {
    uint64_t *values; /* owned */
    size_t len;
} pfc_trace_semaphores;

static inline void pfc_trace_semaphore_set(pfc_trace_semaphores *s, uint64_t semaphore, uint64_t v)
{
    if (semaphore >= PFC_TRACE_SEMAPHORES)
        return;
    if (semaphore >= s->len) {
        const size_t len = PFC_MAX(2 * s->len, (size_t)semaphore + 1);

        s->values = pfc_realloc(s->values, len, sizeof(*s->values));
        for (; s->len < len; s->len++)
            s->values[s->len] = 0;
    }
    s->values[semaphore] = v;
}

/** True when a wait for the value ends at once. */
static inline bool pfc_trace_semaphore_reached(const pfc_trace_semaphores *s, uint64_t semaphore,
                                               uint64_t v)
{
    return v == 0 || semaphore >= PFC_TRACE_SEMAPHORES ||
           (semaphore < s->len && s->values[semaphore] >= v);
}

static inline void pfc_trace_semaphores_clear(pfc_trace_semaphores *s)
{
    free(s->values);
    *s = (pfc_trace_semaphores){ 0 };
}

#endif
