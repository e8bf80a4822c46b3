/*
 * The canary around user commands: the same fixed workload that runs around a suite
 * (bench/machine). The perfci-bench beside this program reads it before and after the measurement.
 * Its values go into the run document, as for a suite, and a change of the machine's speed sets
 * run->infra. It takes some milliseconds.
 */
#ifndef PFC_RUNNER_MEASURE_CANARY_H
#define PFC_RUNNER_MEASURE_CANARY_H

#include "core/wire/wire.h"

typedef struct pfc_canary {
    char *bench;      /* the program */
    char *before;     /* the first reading, as printed; NULL: none */
    char reason[200]; /* why there is no reading; "" */
} pfc_canary;

/** Takes the first reading. bench NULL: perfci-bench beside this program. Never fails: without a
 * reading, `reason` says why. Call pfc_canary_end or pfc_canary_clear. */
void pfc_canary_begin(pfc_canary *canary, const char *bench);
/** Both readings. */
typedef struct pfc_canary_look {
    bool read; /* both exist */
    bool moved;
    double before_ns, after_ns;
} pfc_canary_look;

/** Takes the second reading, adds both to each of the runs (len may be 0), and clears. Returns true
 * when the machine's speed changed. out: may be NULL. */
bool pfc_canary_end(pfc_canary *canary, pfc_run *const *runs, size_t len, pfc_canary_look *out);
void pfc_canary_clear(pfc_canary *canary);

/** The gate before a command; a suite has its own (`perfci-bench --wait-quiet`). */
typedef struct pfc_quiet_gate {
    const char *bench;            /* NULL: perfci-bench beside this program */
    const char *wait;             /* how long to wait for a quiet machine, such as "5m" */
    bool (*cancelled)(void *arg); /* asked about ten times a second; NULL: never */
    void *cancelled_arg;
} pfc_quiet_gate;

/**
 * Waits until others leave the machine alone (bench/machine/quiet).
 *
 * *cancelled  out: `cancelled` returned true; the machine may be busy
 *
 * PFC_EUNAVAIL with the reason when the machine was not quiet in that time, or when there is no
 * perfci-bench to ask.
 */
pfc_code pfc_quiet_wait_for(const pfc_quiet_gate *gate, bool *cancelled,
                            pfc_err *err) PFC_MUSTCHECK;

#endif
