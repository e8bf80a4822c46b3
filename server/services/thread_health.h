/*
 * Heartbeats and counters of the server's own threads, for /metrics, /readyz and the watchdog. Each
 * thread writes only its own heartbeat; any thread may read all of them.
 */
#ifndef PFC_SERVER_SERVICES_THREAD_HEALTH_H
#define PFC_SERVER_SERVICES_THREAD_HEALTH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PFC_THREAD_HEALTH_MAX      70 /* threads */
/** A thread without a heartbeat for so long counts as hanging. The longest iteration, judging a
 *  batch of runs or thinning a month, takes minutes on a large history. */
#define PFC_THREAD_HEALTH_SILENT_S 900.0

typedef struct pfc_thread_health {
    _Atomic int64_t seen_ns[PFC_THREAD_HEALTH_MAX]; /* monotonic; 0: no such thread */
    atomic_uint_fast64_t judged, not_judged;        /* batches of runs */
    atomic_uint_fast64_t points, series, passed;    /* judged; passed: series of these, by state */
    atomic_uint_fast64_t expired;                   /* leases that expired */
    atomic_int_fast64_t unsynced;                   /* see pfc_standbys_look */
} pfc_thread_health;

/** Records a heartbeat of the thread; the first one registers it. */
void pfc_thread_health_beat(pfc_thread_health *health, size_t thread);
/** Removes a thread that has ended, so that the watchdog ignores it. */
void pfc_thread_health_end(pfc_thread_health *health, size_t thread);
/** Age of the oldest last heartbeat of all threads, in seconds; 0 without threads. */
double pfc_thread_health_silent_s(const pfc_thread_health *health);

#endif
