/* The list. */
#include "bench/studies/changepoint/rivals.h"

const pfc_rival pfc_rivals[] = {
    { "otava", "Fleming et al., ICPE 2023: windows of 50, p 0.001, t test", 0, pfc_rival_otava },
    { "otava-tuned", "the same, windows of 100, p 1e-5, 2 %: best of 48 settings", 0,
      pfc_rival_otava_tuned },
    { "e-divisive", "Matteson & James, JASA 2014: 100 permutations, p 0.05", 4000,
      pfc_rival_e_divisive },
    { "asv", "airspeed velocity: L1 Potts, penalty by information criterion", 0, pfc_rival_asv },
    { "kernel-rbf", "PELT, rbf kernel (Celisse et al. 2018), penalty log n", 4000,
      pfc_rival_kernel },
    { "kernel-rbf-2", "the same, penalty 2 log n: the best score of the peers", 4000,
      pfc_rival_kernel_calm },
    { "pelt-l2", "Killick et al., JASA 2012: squared error, penalty 12 log n", 0, pfc_rival_pelt },
    { "threshold", "5 % off the mean of the last 10", 0, pfc_rival_threshold },
};
const size_t pfc_rivals_len = PFC_ARRAY_LEN(pfc_rivals);
