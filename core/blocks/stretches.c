/*
 * Stretches of equal builds: divided at one step after the other, as far as the order of the visits
 * decides.
 *
 * While a stretch holds no change, the test of any of its splits is a test of nothing. So the whole
 * is tested at the step that explains most (steps.c); if the test decides it, both parts are tested
 * in the same way. The n-th division counts its p n times: the parts that it looks into are at most
 * as many.
 */
#include "core/blocks/order_test.h"

#define PLAIN                                                                                      \
    0.2 /* p of a step by the fit above which it is not tested: the test could not decide it */

typedef struct part {
    size_t low, high; /* looks */
} part;

/* Returns true if a decided step can also be at look k. */
static bool taken(const pfc_boundary_test *looks, size_t len, size_t k)
{
    for (size_t i = 0; i < len; i++) {
        if (looks[i].decided && looks[i].step.place_low <= k && k <= looks[i].step.place_high)
            return true;
    }
    return false;
}

/* Finds the look of the part with the clearest step. Returns false if there is none. */
static bool clearest(const pfc_boundary_test *looks, size_t len, const part *p, size_t *out)
{
    bool any = false;

    for (size_t k = p->low; k <= p->high; k++) {
        const pfc_step *step = &looks[k].step;

        if (taken(looks, len, k))
            continue;
        if (!any || (step->chosen && !looks[*out].step.chosen) ||
            (step->chosen == looks[*out].step.chosen && step->p < looks[*out].step.p))
            *out = k;
        any = true;
    }
    return any;
}

void pfc_stretches_divide(pfc_orders *orders, pfc_boundary_test *looks, size_t first, size_t len,
                          double alpha)
{
    part parts[2 * PFC_BLOCKS_MAX_BUILDS];
    size_t parts_len = 0;
    size_t divisions = 0;

    for (size_t k = 0; k < len; k++) {
        looks[k].order_p = 1.0;
        looks[k].decided = false;
    }
    for (size_t low = first, k = first; k <= len; k++) {
        if (k < len && !looks[k].gap)
            continue;
        if (k > low + 1)
            parts[parts_len++] = (part){ low, k - 1 };
        low = k + 1;
    }
    for (size_t i = 0; i < parts_len; i++) {
        const part *p = &parts[i];
        size_t k = p->low;

        if (!clearest(looks, len, p, &k) || looks[k].step.p > PLAIN)
            continue;
        looks[k].order_p = (double)(divisions + 1) *
                           pfc_orders_p(orders, (uint32_t)looks[p->low].from,
                                        (uint32_t)looks[p->high].to, (uint32_t)looks[k].to);
        if (!(looks[k].order_p * (double)len <= alpha))
            continue;
        looks[k].decided = true;
        divisions++;
        if (k > p->low + 1)
            parts[parts_len++] = (part){ p->low, k - 1 };
        if (k + 1 < p->high)
            parts[parts_len++] = (part){ k + 1, p->high };
    }
}
