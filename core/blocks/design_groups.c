/* Rounds of all builds: groups that each span the whole history. */
#include "core/blocks/design_priv.h"

size_t pfc_design_deal(size_t builds, size_t link, pfc_rng *rng, pfc_design_group *out)
{
    const bool one = builds <= PFC_BLOCK_BUILDS;
    size_t all[PFC_BLOCKS_MAX_BUILDS];
    size_t turn[PFC_BLOCKS_MAX_BUILDS];
    size_t len = 0;
    size_t groups;

    for (size_t i = 0; i < builds; i++) {
        if (one || i != link)
            all[len++] = i;
    }
    groups = one ? 1 : (len + PFC_BLOCK_BUILDS - 2) / (PFC_BLOCK_BUILDS - 1);
    for (size_t g = 0; g < groups; g++) {
        out[g].len = 0;
        turn[g] = g;
    }
    for (size_t i = 0; i < len; i++) {
        if (i % groups == 0)
            pfc_rng_shuffle(rng, turn, groups);
        out[turn[i % groups]].builds[out[turn[i % groups]].len++] = all[i];
    }
    for (size_t g = 0; g < groups && !one; g++)
        out[g].builds[out[g].len++] = link;
    return groups;
}
