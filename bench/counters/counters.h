/*
 * Hardware and kernel event counts of a piece of code: cycles, instructions, cache misses, page
 * faults, context switches, and every event that libpfm4 names for this CPU.
 *
 * By plain perf_event_open system calls, each event on its own, this thread, user space and (for
 * software events) kernel. An event that this machine does not offer (virtual machines often have
 * no hardware counters) is absent, never zero. When there are more events than counters, the kernel
 * lets them take turns; values are then scaled by enabled / running time, and `share` says how much
 * was really counted: value * share was seen, the rest is extrapolated. Below PFC_COUNTER_MIN_RUN
 * the event is absent, so nothing is ever scaled by more than its inverse. One thread at a time.
 */
#ifndef PFC_BENCH_COUNTERS_COUNTERS_H
#define PFC_BENCH_COUNTERS_COUNTERS_H

#include <stdio.h>

#include "core/base/err.h"

#define PFC_COUNTERS_MAX     24
#define PFC_COUNTER_NAME_MAX 80  /* with its NUL; libpfm4's with attributes are long */
#define PFC_COUNTER_LIST_MAX 512 /* of a list of names */
#define PFC_COUNTER_MIN_RUN  0.1 /* counted for less of the time than this: too little to scale */

/** One event: its name and what the kernel calls it (struct perf_event_attr). */
typedef struct pfc_counter_event {
    char name[PFC_COUNTER_NAME_MAX];
    uint32_t type;
    uint64_t config, config1, config2;
    bool kernel; /* the kernel's share is counted, too: faults and switches happen there */
} pfc_counter_event;

typedef struct pfc_counter_set {
    pfc_counter_event events[PFC_COUNTERS_MAX];
    size_t len;
} pfc_counter_set;

/** The system calls, replaced in tests. */
typedef struct pfc_counter_sys {
    int (*open)(void *arg, const pfc_counter_event *event); /* -1: not offered */
    /* value, enabled ns, running ns; false: unreadable */
    bool (*read)(void *arg, int fd, uint64_t out[3]);
    void (*enable)(void *arg, int fd, bool on);
    void (*close)(void *arg, int fd);
    void *arg;
} pfc_counter_sys;

typedef struct pfc_count {
    char name[PFC_COUNTER_NAME_MAX];
    double value; /* scaled; valid where share > 0 */
    double share; /* of the time that the event was counted, 0..1; 0: not available */
} pfc_count;

typedef struct pfc_counts {
    pfc_count items[PFC_COUNTERS_MAX];
    size_t len;
} pfc_counts;

typedef struct pfc_counters {
    const pfc_counter_sys *sys;
    pfc_counter_set set;
    int fd[PFC_COUNTERS_MAX]; /* -1: not available */
} pfc_counters;

/** The ten that every machine knows by name: "cycles", "instructions", "cache-references", ... */
void pfc_counter_defaults(pfc_counter_set *out);
/**
 * The events of a list "NAME,NAME,...": names of the ten above, or of libpfm4 with its attributes
 * ("l2_rqsts:miss", "fp_arith_inst_retired:512b_packed_single"). NULL or "": the ten.
 * PFC_EINVAL: a name that neither knows (with libpfm4's reason), one given twice, none, or too
 * many.
 */
pfc_code pfc_counter_parse(const char *names, pfc_counter_set *out, pfc_err *err) PFC_MUSTCHECK;
/** Every name known on this machine, a line each. */
void pfc_counter_list(FILE *out);

/** Opens what there is; sys NULL: the kernel's. Always succeeds. */
void pfc_counters_open(pfc_counters *c, const pfc_counter_set *set, const pfc_counter_sys *sys);
void pfc_counters_start(pfc_counters *c);
/** Stops and reads what was counted since the last start. */
void pfc_counters_stop(pfc_counters *c, pfc_counts *out);
void pfc_counters_close(pfc_counters *c);

#endif
