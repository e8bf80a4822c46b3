/* Many nights of each cell, on several threads, counted and printed. */
#ifndef PFC_BENCH_STUDIES_NIGHT_SIMULATED_TABLE_H
#define PFC_BENCH_STUDIES_NIGHT_SIMULATED_TABLE_H

#include "bench/studies/night_simulated/night.h"

typedef struct pfc_sim_cell {
    char name[64]; /* of the machine */
    bool circular; /* the model is the one that the fit assumes */
    pfc_sim_night_opts opts;
} pfc_sim_cell;

typedef struct pfc_sim_tally {
    size_t nights, planted, found, exact, wrong_nights, wrong, same, boundaries, covered;
    double visits, seconds;
} pfc_sim_tally;

/** Nights with seeds that follow from `seed`, whatever the number of threads. */
pfc_code pfc_cell_run(const pfc_sim_cell *cell, size_t nights, uint64_t seed, size_t threads,
                      pfc_sim_tally *out, pfc_err *err) PFC_MUSTCHECK;
void pfc_table_head(void);
void pfc_table_row(const pfc_sim_cell *cell, const pfc_sim_tally *t);

#endif
