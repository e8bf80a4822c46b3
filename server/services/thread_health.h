/*
 * What the server's own threads did and when they were last seen: for /metrics, /readyz and the watchdog.
 * Written by each thread for itself, read by any.
 */
#ifndef PFC_SERVER_SERVICES_THREAD_HEALTH_H
#define PFC_SERVER_SERVICES_THREAD_HEALTH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PFC_PULSE_MAX      70 /* threads */
/** A thread that has not come round for so long hangs: the longest work of one round, a batch of runs to
 *  judge or a month to thin, takes minutes on a large history. */
#define PFC_PULSE_SILENT_S 900.0

typedef struct pfc_pulse {
    _Atomic int64_t seen_ns[PFC_PULSE_MAX];  /* monotonic; 0: no such thread */
    atomic_uint_fast64_t judged, not_judged; /* batches of runs */
    atomic_uint_fast64_t expired;            /* leases given back */
} pfc_pulse;

/** The thread is there, and alive. */
void pfc_pulse_beat(pfc_pulse *pulse, size_t thread);
/** It ended, and is missed no more. */
void pfc_pulse_end(pfc_pulse *pulse, size_t thread);
/** Seconds since the beat of the thread that was not seen for longest; 0 without threads. */
double pfc_pulse_silent_s(const pfc_pulse *pulse);

#endif
