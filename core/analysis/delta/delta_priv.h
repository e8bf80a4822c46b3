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

#endif
