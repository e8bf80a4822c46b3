/*
 * Was the machine slowed while a piece of it was measured? Looks at the CPUs' thermal counters and
 * at the GPUs' reasons between two calls. One thread at a time.
 */
#ifndef PFC_BENCH_MACHINE_QUIET_THROTTLE_H
#define PFC_BENCH_MACHINE_QUIET_THROTTLE_H

#include "bench/machine/machine.h"

typedef struct pfc_throttle {
    const char *root;
    pfc_gpus *gpus;   /* borrowed; NULL: not looked at */
    double cpu_count; /* of the last look */
} pfc_throttle;

/** Begins now. root as in pfc_machine_opts; it and gpus are borrowed. */
void pfc_throttle_begin(pfc_throttle *t, const char *root, pfc_gpus *gpus);
/** True when a CPU was slowed by heat since the last look, or a GPU is held back now; `why` says
 *  which: "CPU: slowed by heat 3 times", "GPU 0: power cap". */
bool pfc_throttle_look(pfc_throttle *t, char *why, size_t cap);

#endif
