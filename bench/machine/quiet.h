/*
 * Is the machine quiet enough to measure? Steal time, runnable threads and load say so; whoever
 * wants can wait for it, up to a limit, and is told the reason when it never comes.
 */
#ifndef PFC_BENCH_MACHINE_QUIET_H
#define PFC_BENCH_MACHINE_QUIET_H

#include "bench/machine/machine.h"

#define PFC_QUIET_STEAL   0.02 /* of all CPU time, over a look */
#define PFC_QUIET_BUSY    0.50 /* likewise, by others: half of the machine is free */
#define PFC_QUIET_LOOK_NS 500000000LL

/** The world, replaced in tests. */
typedef struct pfc_quiet_world {
    void (*load)(void *arg, pfc_load *out);
    void (*sleep_ns)(void *arg, int64_t ns);
    void *arg;
} pfc_quiet_world;

typedef struct pfc_quiet {
    bool quiet;
    double waited_s;
    double steal_share, busy_share; /* of the last look; NAN: cannot be read */
    char reason[160];               /* why not quiet; "" when quiet */
} pfc_quiet;

/** Looks, and again until it is quiet or limit_s are over. At least one look of half a second. A
 *  machine that cannot be read counts as quiet: nothing is known against it. world NULL: this
 *  machine. */
void pfc_quiet_wait(double limit_s, const pfc_quiet_world *world, pfc_quiet *out);

#endif
