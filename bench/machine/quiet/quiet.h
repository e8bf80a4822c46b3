/*
 * Is the machine quiet enough to measure? Six gates: time stolen by the hypervisor, work of others,
 * threads that wait for a CPU, load, a core clock that wanders, and slowing by heat. Whoever wants
 * can wait for it, up to a limit, and is told the reason when it never comes.
 */
#ifndef PFC_BENCH_MACHINE_QUIET_QUIET_H
#define PFC_BENCH_MACHINE_QUIET_QUIET_H

#include "bench/machine/machine.h"

#define PFC_QUIET_STEAL   0.02 /* of all CPU time, over a look */
#define PFC_QUIET_BUSY    0.50 /* likewise, by others: half of the machine is free */
#define PFC_QUIET_RUNNING 1.0  /* threads of others that run or wait, for each CPU, on average */
#define PFC_QUIET_LOAD    1.5  /* load average of the last minute, for each CPU */
#define PFC_QUIET_CLOCK   0.05 /* the core's clock between two readings, relative */
#define PFC_QUIET_LOOK_NS 500000000LL
#define PFC_QUIET_READS   5 /* of a look */

/** The world, replaced in tests. */
typedef struct pfc_quiet_world {
    void (*load)(void *arg, pfc_load *out); /* with core_ghz, where it is known */
    void (*sleep_ns)(void *arg, int64_t ns);
    void *arg;
} pfc_quiet_world;

/** What the last look saw; NAN: cannot be read. */
typedef struct pfc_quiet {
    bool quiet;
    double waited_s;
    double steal_share, busy_share;
    double running;   /* threads of others, mean of the look's readings */
    double load1;     /* as the system has it */
    double core_ghz;  /* at its end */
    double clock_rel; /* how far the clock was from that at its beginning */
    double throttled; /* times slowed by heat during the look */
    char reason[160]; /* why not quiet; "" when quiet */
} pfc_quiet;

/** Looks, and again until it is quiet or limit_s are over. At least one look of half a second. A
 *  machine that cannot be read counts as quiet: nothing is known against it. world NULL: this
 *  machine. */
void pfc_quiet_wait(double limit_s, const pfc_quiet_world *world, pfc_quiet *out);

#endif
