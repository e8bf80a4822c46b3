/* Shared by the parts of core/analysis/delta. Private to this folder. */
#ifndef PFC_CORE_ANALYSIS_DELTA_DELTA_PRIV_H
#define PFC_CORE_ANALYSIS_DELTA_DELTA_PRIV_H

#include "core/analysis/delta/delta.h"

/** Fills basis, contributions and by_resource; the totals are set. (contributions.c) */
void pfc_delta_split(const pfc_profile *before, const pfc_profile *after, pfc_delta *out);
/** Fills the differences and what is the same. (differences.c) */
void pfc_delta_differences(const pfc_profile *before, const pfc_profile *after, pfc_delta *out);
/** Fills the causes; everything else is there. (causes.c) */
void pfc_delta_causes(const pfc_profile *before, const pfc_profile *after, pfc_delta *out);

#define PFC_DELTA_MAX_COSTS 8

/** Cycles of a unit of work that differ between two runs. */
typedef struct pfc_delta_cost {
    const char *what; /* "The setup of a transfer"; static text */
    pfc_resource resource;
    double before, after; /* cycles */
} pfc_delta_cost;

/** The costs that differ by more than schedules alone can make them; returns how many. None where
 *  a run recorded its chip's constants, which say more. (unit_costs.c) */
size_t pfc_delta_costs(const pfc_profile *before, const pfc_profile *after,
                       pfc_delta_cost out[PFC_DELTA_MAX_COSTS]);

#endif
