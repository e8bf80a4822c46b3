/*
 * One side of a comparison: the results of a commit or a run, an entry a benchmark, metric, backend
 * and machine class. compare_side.c loads it, compare.c judges two of them.
 */
#ifndef PFC_SERVER_SERVICES_HISTORY_COMPARE_H
#define PFC_SERVER_SERVICES_HISTORY_COMPARE_H

#include "server/services/internal.h"

/* One benchmark and metric on one side: samples of all its runs, launch after launch. */
typedef struct pfc_compare_entry {
    const char *benchmark, *metric, *backend, *machine_class, *unit;
    const char *branch; /* of the series; NULL as below */
    int64_t series_id;  /* of the newest run that measured it; 0: only broken results are known */
    bool higher, exact;
    double *samples;
    size_t len;
    uint32_t *blocks;
    size_t blocks_len;
    int64_t machine_id; /* of the newest run */
    double started_at;  /* of the newest run */
    const char *reason; /* of the newest result when that is broken; NULL: it has samples */
} pfc_compare_entry;

typedef struct pfc_compare_results {
    pfc_res *measured, *broken; /* the texts of the entries lie here */
    pfc_compare_entry *entries; /* by name, then machine class */
    size_t len;
} pfc_compare_results;

/* The target that a or b names: a commit or a run; the other is 0. */
typedef struct pfc_compare_target {
    int64_t commit_id, run_id;
} pfc_compare_target;

/** The order of entries without their machine classes. */
int pfc_compare_names(const pfc_compare_entry *a, const pfc_compare_entry *b);
/** Reads into *s, which is empty; named->runs: the runs that were read. Texts live as long as
 * *s. */
pfc_code pfc_compare_load(pfc_tx *tx, int64_t project_id, const pfc_compare_target *t,
                          const char *backend, pfc_compare_results *s, pfc_compare_side *named,
                          pfc_err *err) PFC_MUSTCHECK;
void pfc_compare_results_clear(pfc_compare_results *s);

#endif
