/*
 * Detectors of other tools, implemented from their published descriptions and compared with
 * perfci's on the same series in the same process. They get one value for each point (the median of
 * its repeats), without empty points. bench/RESULTS.md has the figures of the originals, so that
 * the copies can be checked. The speed is that of this C code, not of the originals.
 */
#ifndef PFC_BENCH_STUDIES_CHANGEPOINT_RIVALS_H
#define PFC_BENCH_STUDIES_CHANGEPOINT_RIVALS_H

#include "core/base/base.h"

typedef struct pfc_rival {
    const char *name;
    const char *source; /* where it is described */
    size_t max_len;     /* longer series are skipped (quadratic memory); 0: no limit */
    /* Writes the ascending first indices of new levels to changes[0..n) and returns how many. */
    size_t (*detect)(const double *v, size_t n, size_t *changes);
} pfc_rival;

extern const pfc_rival pfc_rivals[];
extern const size_t pfc_rivals_len;

/* rivals_energy.c */
size_t pfc_rival_otava(const double *v, size_t n, size_t *changes);
size_t pfc_rival_otava_tuned(const double *v, size_t n, size_t *changes);
size_t pfc_rival_e_divisive(const double *v, size_t n, size_t *changes);
/* rivals_potts.c */
size_t pfc_rival_asv(const double *v, size_t n, size_t *changes);
/* rivals_pelt.c */
size_t pfc_rival_pelt(const double *v, size_t n, size_t *changes);
size_t pfc_rival_kernel(const double *v, size_t n, size_t *changes);
size_t pfc_rival_kernel_calm(const double *v, size_t n, size_t *changes);
size_t pfc_rival_threshold(const double *v, size_t n, size_t *changes);

#endif
