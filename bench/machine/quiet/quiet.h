/*
 * Decides whether the machine is quiet enough to measure, by six gates: time stolen by the
 * hypervisor, CPU time of other processes, runnable threads, load average, drift of the core's
 * clock, and thermal throttling. A caller can wait, up to a limit; on a timeout it receives the
 * reason.
 */
#ifndef PFC_BENCH_MACHINE_QUIET_QUIET_H
#define PFC_BENCH_MACHINE_QUIET_QUIET_H

#include "bench/machine/machine.h"

#define PFC_QUIET_STEAL   0.02 /* of all CPU time, over one observation */
#define PFC_QUIET_BUSY    0.50 /* likewise, by others: half of the machine is free */
#define PFC_QUIET_RUNNING 1.0  /* threads of others that run or wait, for each CPU, on average */
#define PFC_QUIET_LOAD    1.5  /* load average of the last minute, for each CPU */
#define PFC_QUIET_CLOCK   0.05 /* the core's clock between two readings, relative */
#define PFC_QUIET_LOOK_NS 500000000LL
#define PFC_QUIET_READS   5 /* of one observation */

/** Access to the machine; replaced in tests. */
typedef struct pfc_quiet_world {
    void (*load)(void *arg, pfc_load *out); /* with core_ghz, where it is known */
    void (*sleep_ns)(void *arg, int64_t ns);
    void *arg;
} pfc_quiet_world;

/** Result of the last observation; NAN: cannot be read. */
typedef struct pfc_quiet {
    bool quiet;
    double waited_s;
    double steal_share, busy_share;
    double running;   /* threads of others, mean of the observation's readings */
    double load1;     /* as the system has it */
    double core_ghz;  /* at its end */
    double clock_rel; /* change of the clock since the start of the observation */
    double throttled; /* thermal throttling events during the observation */
    char reason[160]; /* why not quiet; "" when quiet */
} pfc_quiet;

/** Observes the machine until it is quiet or limit_s has passed; at least one observation of half a
 * second. A machine that cannot be read counts as quiet. world NULL: this machine. */
void pfc_quiet_wait(double limit_s, const pfc_quiet_world *world, pfc_quiet *out);

#endif
