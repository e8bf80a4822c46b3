/*
 * Readings of the machine around a run: the canary against its learned band, load, clocks and GPUs
 * before and after, and throttling while a block ran. For one thread.
 */
#ifndef PFC_BENCH_BRACKET_H
#define PFC_BENCH_BRACKET_H

#include "bench/harness/harness.h"
#include "bench/machine/canary/band.h"
#include "bench/machine/quiet/throttle.h"
#include "bench/machine/timing/timing.h"

typedef struct pfc_bracket {
    pfc_gpus *gpus;
    pfc_throttle throttle;
    pfc_timing timing;
    pfc_canary_band band;
    char *band_path;
    pfc_load load;
    double before[PFC_CANARY_SAMPLES];
    bool out_of_band; /* already before the run */
    bool quick;       /* the canary, the load and the band alone */
    pfc_block_fn block;
    void *block_arg;
} pfc_bracket;

/** Takes the readings before a run on `machine`. Close it in every case. `block` runs a block. */
void pfc_bracket_open(pfc_bracket *b, const pfc_machine *machine, pfc_block_fn block,
                      void *block_arg);
/** The same without blocks, clocks and GPUs: some milliseconds. `first`: reads the canary; else the
 *  caller fills in what was read before (`before`, `out_of_band`, `load`). */
void pfc_bracket_open_quick(pfc_bracket *b, const pfc_machine *machine, bool first);
/** A pfc_block_fn whose arg is the bracket: runs the block and notes what slowed it. */
pfc_code pfc_bracket_block(void *arg, const pfc_block_spec *spec, pfc_block *out, pfc_err *err);
/** After it: adds the canary's measurement with all that was read, sets run->infra when the machine
 *  moved, and keeps the reading for the next run's band. If the history cannot be written, prints a
 *  warning on stderr unless quiet. */
void pfc_bracket_finish(pfc_bracket *b, pfc_run *run, bool quiet);
void pfc_bracket_close(pfc_bracket *b);

#endif
