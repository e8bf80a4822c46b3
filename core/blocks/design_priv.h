/* Parts of design.c. */
#ifndef PFC_CORE_BLOCKS_DESIGN_PRIV_H
#define PFC_CORE_BLOCKS_DESIGN_PRIV_H

#include "core/base/rng.h"
#include "core/blocks/design.h"
#include "core/blocks/order_test.h"

/** Builds that share the two blocks of a round. */
typedef struct pfc_design_group {
    size_t builds[PFC_BLOCK_BUILDS];
    size_t len;
} pfc_design_group;

/** One series (benchmark, metric, backend) as the planner sees it. */
typedef struct pfc_design_one {
    bool exact;
    pfc_visit *visits;
    size_t len, cap;
    bool stale;  /* visits came since the look */
    bool wanted; /* by the block that was asked for last */
    pfc_boundary_test *looks;
    bool *open;    /* of each look */
    bool *suspect; /* of each look: open since the fit suspects it, not since it is wide */
    bool *placing; /* of each look: decided, but its place is open or its builds have few visits */
    double *adjusted; /* of each look: p among all boundaries of all series */
    size_t looks_len;
    double wide; /* standard errors of half an interval */
    double sigma;
    pfc_orders *orders; /* of the visits at the last look */
} pfc_design_one;

struct pfc_design {
    pfc_design_opts opts;
    pfc_rng rng;
    pfc_design_one *series;
    size_t series_len, series_cap;
    bool *dropped;
    bool *gap;       /* NULL: none */
    double *seconds; /* of each build, sum */
    size_t *visits;  /* of each build */
    double total_s;
    pfc_design_group *planned; /* rounds of all builds */
    size_t planned_len, planned_next;
    pfc_design_block block; /* asked for last */
    bool second_due;
    uint32_t round; /* next one */
};

/** Deals one round of all builds (1..PFC_BLOCKS_MAX_BUILDS). More than a block holds are dealt to
 * groups, each with `link`: of as many neighbours as there are groups, each goes to another one, by
 * chance. So each group spans the whole history, and a step anywhere parts its builds. out: room
 * for `builds` groups. Returns how many there are. */
size_t pfc_design_deal(size_t builds, size_t link, pfc_rng *rng, pfc_design_group *out);

/** The builds of the next round: those among which a decided step lies, else those beside the
 * clearest suspected step, else the boundary that is known the worst. The looks are fresh; false:
 * nothing is open. */
bool pfc_design_focus(const pfc_design *design, pfc_design_group *out);

#endif
