/* Rounds of all builds: windows of neighbours that move from round to round. */
#include "core/analysis/design_priv.h"

size_t pfc_design_deal(size_t builds, size_t link, size_t turn, pfc_design_group *out)
{
    const bool one = builds <= PFC_BLOCK_BUILDS;
    size_t all[PFC_BLOCKS_MAX_BUILDS];
    size_t len = 0;
    size_t groups;
    size_t at;

    for (size_t i = 0; i < builds; i++) {
        if (one || i != link)
            all[len++] = i;
    }
    groups = one ? 1 : (len + PFC_BLOCK_BUILDS - 2) / (PFC_BLOCK_BUILDS - 1);
    at = one ? 0 : turn * ((len / groups + 1) / 2);
    for (size_t g = 0; g < groups; g++) {
        const size_t size = len / groups + (g < len % groups);

        out[g].len = 0;
        while (out[g].len < size)
            out[g].builds[out[g].len++] = all[at++ % len];
        if (!one)
            out[g].builds[out[g].len++] = link;
    }
    return groups;
}
