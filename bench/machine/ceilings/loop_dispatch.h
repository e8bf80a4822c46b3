/* The loops that this CPU supports. Private to this folder. */
#ifndef PFC_BENCH_MACHINE_CEILINGS_LOOP_DISPATCH_H
#define PFC_BENCH_MACHINE_CEILINGS_LOOP_DISPATCH_H

#include "bench/machine/ceilings/ceilings.h"
#include "bench/machine/ceilings/loops.h"

typedef struct pfc_loops {
    pfc_loop *compute[PFC_COMPUTES]; /* NULL: this CPU (or this build) has none of its own */
    const char *isa[PFC_COMPUTES];
    pfc_read_loop *read;
} pfc_loops;

/** Selects the widest of each kind. Requests tile registers from the kernel, once for the process.
 */
void pfc_loops_choose(pfc_loops *out);

#endif
