/*
 * The canary around user commands: the same fixed piece of work that brackets a suite (bench/machine),
 * read by the perfci-bench beside this program before and after whatever is measured. Its values go into
 * the run document as a suite's do, and a machine that moved sets run->infra. It takes some milliseconds.
 */
#ifndef PFC_RUNNER_MEASURE_CANARY_H
#define PFC_RUNNER_MEASURE_CANARY_H

#include "core/wire/wire.h"

typedef struct pfc_canary {
    char *bench;      /* the program */
    char *before;     /* the first reading, as it printed it; NULL: there is none */
    char reason[200]; /* why there is none; "" */
} pfc_canary;

/** Reads it before. bench NULL: perfci-bench beside this program. Never fails: without a reading,
 *  `reason` says why. Clear it, or end it. */
void pfc_canary_begin(pfc_canary *canary, const char *bench);
/** What both readings say. */
typedef struct pfc_canary_look {
    bool read; /* both are there */
    bool moved;
    double before_ns, after_ns;
} pfc_canary_look;

/** Reads it after, adds both to each of the runs (none is fine), and clears. Returns true when the
 *  machine moved. out: or NULL. */
bool pfc_canary_end(pfc_canary *canary, pfc_run *const *runs, size_t len, pfc_canary_look *out);
void pfc_canary_clear(pfc_canary *canary);

#endif
