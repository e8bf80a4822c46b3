/* Parts of design.c. */
#ifndef PFC_CORE_ANALYSIS_DESIGN_PRIV_H
#define PFC_CORE_ANALYSIS_DESIGN_PRIV_H

#include "core/base/rng.h"
#include "core/stats/blocks.h"

/** Builds that share the two blocks of a round. */
typedef struct pfc_design_group {
    size_t builds[PFC_BLOCK_BUILDS];
    size_t len;
} pfc_design_group;

/** Deals one round of all builds (1..PFC_BLOCKS_MAX_BUILDS). More than a block holds are dealt to groups, each
 *  with `link`: of as many neighbours as there are groups, each goes to another one, by chance. So each group
 *  spans the whole history, and a step anywhere parts its builds. out: room for `builds` groups.
 *  Returns how many there are. */
size_t pfc_design_deal(size_t builds, size_t link, pfc_rng *rng, pfc_design_group *out);

#endif
