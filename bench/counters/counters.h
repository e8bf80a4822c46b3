/*
 * What the kernel counts while a piece of code runs: cycles, instructions, misses, faults, switches.
 *
 * By plain perf_event_open system calls, each event on its own, this thread, user space and (for
 * software events) kernel. An event that this machine does not offer (virtual machines often have no
 * hardware counters) is absent, never zero. When there are more events than counters, the kernel
 * lets them take turns; values are then scaled by enabled / running time, and `share` says how much
 * was really counted. One thread at a time.
 */
#ifndef PFC_BENCH_COUNTERS_COUNTERS_H
#define PFC_BENCH_COUNTERS_COUNTERS_H

#include "core/base/err.h"

#define PFC_COUNTERS        10
#define PFC_COUNTER_MIN_RUN 0.1 /* counted for less of the time than this: too little to scale */

/** The system calls, replaced in tests. */
typedef struct pfc_counter_sys {
    int (*open)(void *arg, uint32_t type, uint64_t config); /* -1: not offered */
    /* value, enabled ns, running ns; false: unreadable */
    bool (*read)(void *arg, int fd, uint64_t out[3]);
    void (*enable)(void *arg, int fd, bool on);
    void (*close)(void *arg, int fd);
    void *arg;
} pfc_counter_sys;

typedef struct pfc_counts {
    double value[PFC_COUNTERS]; /* scaled; valid where share > 0 */
    double share[PFC_COUNTERS]; /* of the time that the event was counted, 0..1; 0: not available */
} pfc_counts;

typedef struct pfc_counters {
    const pfc_counter_sys *sys;
    int fd[PFC_COUNTERS]; /* -1: not available */
} pfc_counters;

/** "cycles", "instructions", "cache-references", ...: i < PFC_COUNTERS. */
const char *pfc_counter_name(size_t i);
/** Opens what there is; sys NULL: the kernel's. Always succeeds. */
void pfc_counters_open(pfc_counters *c, const pfc_counter_sys *sys);
void pfc_counters_start(pfc_counters *c);
/** Stops and reads what was counted since the last start. */
void pfc_counters_stop(pfc_counters *c, pfc_counts *out);
void pfc_counters_close(pfc_counters *c);

#endif
