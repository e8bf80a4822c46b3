/*
 * Shared by the files of this folder only: a benchmark on a backend with what was measured of it.
 */
#ifndef PFC_BENCH_HARNESS_CELLS_H
#define PFC_BENCH_HARNESS_CELLS_H

#include "bench/harness/harness.h"

/** One benchmark on one backend. */
typedef struct pfc_cell {
    const pfc_case *c;
    const pfc_backend *backend; /* NULL: not part of this build */
    const char *backend_name;
    pfc_block *blocks;
    size_t blocks_len;
    size_t blocks_cap;
    size_t samples_len;
    double seconds; /* warm-up and sampling so far */
    pfc_status status;
    char *reason;
    bool done;
    bool traced; /* its file in opts->traces is written */
} pfc_cell;

typedef struct pfc_cells {
    pfc_cell *items;
    size_t len;
    size_t cap;
} pfc_cells;

/** Those that suite, filter and backends leave; what cannot run here is there, skipped and done.
 *  PFC_EINVAL: a bad filter, or nothing is left. */
pfc_code pfc_cells_select(const pfc_suite *suite, const pfc_backends *backends,
                          const pfc_measure_opts *opts, pfc_cells *all, pfc_err *err) PFC_MUSTCHECK;
void pfc_cells_clear(pfc_cells *all);

/** Adds the cell's measurements (time, throughput, exact counters) to the run. */
void pfc_cell_document(pfc_run *run, const pfc_cell *c);
/** A measurement of the cell, without samples: names, parameters, status and reason. */
pfc_measurement *pfc_cell_measurement(pfc_run *run, const pfc_cell *c, const char *metric,
                                      const char *unit, bool higher);
/** The suite's name and hash. */
void pfc_run_take_suite(pfc_run *run, const pfc_suite *suite);
/** extra[name] as a number with nine digits. */
void pfc_extra_set(pfc_measurement *m, const char *name, double value);

/* ---- of block.c ---- */

bool pfc_pin(int cpu);
/** ns a call over `calls` calls. */
double pfc_sample(const pfc_backend *backend, void *inst, uint64_t calls, const pfc_timer *timer);
/** Calls that make a sample long enough, when one call takes call_ns. */
uint64_t pfc_batch_for(double call_ns, const pfc_timer *timer);
/** Probes and runs until steady or until budget_s is spent; the last window's median, ns a call.
 *  budget_s 0: probes only. */
double pfc_warm_up(const pfc_backend *backend, void *inst, const pfc_timer *wall, double budget_s,
                   bool *steady);

/* ---- of copies.c ---- */

/** `n` (1..PFC_MAX_COPIES) problems of one benchmark as one instance, whose calls go round them;
 * *as is the backend to run, check and close it by, valid as long as `of`. Errors as of->ops->open.
 */
pfc_code pfc_copies_open(const pfc_backend *of, const pfc_case *c, uint64_t seed, size_t n,
                         pfc_backend *as, void **inst, pfc_err *err) PFC_MUSTCHECK;

#endif
