/* Which builds the next round of an open decision visits. */
#include "core/blocks/design_priv.h"

/* The builds of looks low..high of a series, at most as many as a block holds, around `k`. */
static pfc_design_group around(const pfc_design_one *s, size_t k, size_t low, size_t high)
{
    pfc_design_group g = { .len = 0 };

    while (high - low + 2 > PFC_BLOCK_BUILDS) {
        if (k - low > high - k)
            low++;
        else
            high--;
    }
    g.builds[g.len++] = s->looks[low].from;
    for (size_t i = low; i <= high; i++)
        g.builds[g.len++] = s->looks[i].to;
    return g;
}

/* The builds on both sides of look k that decide best whether there is a step: the nearest ones of
 * the stretch that it divides, as many on one side as on the other. With few on one side, one more
 * on the other: a round's bet (core/blocks/order_test.h) has most ways to fall then, for what it
 * costs. */
static pfc_design_group beside(const pfc_design_one *s, size_t k)
{
    pfc_design_group g = { .len = 0 };
    size_t low = k;
    size_t high = k;
    size_t before;
    size_t after;

    while (low > 0 && !pfc_boundary_ends_stretch(&s->looks[low - 1]))
        low--;
    while (high + 1 < s->looks_len && !pfc_boundary_ends_stretch(&s->looks[high + 1]))
        high++;
    before = PFC_MIN(k - low + 1, (size_t)PFC_BLOCK_BUILDS / 2);
    after = PFC_MIN(high - k + 1, (size_t)PFC_BLOCK_BUILDS / 2);
    before = PFC_MIN(before, after + 1);
    after = PFC_MIN(after, before + 1);
    for (size_t i = k + 1 - before; i <= k; i++)
        g.builds[g.len++] = s->looks[i].from;
    for (size_t i = k; i < k + after; i++)
        g.builds[g.len++] = s->looks[i].to;
    return g;
}

/* The clearest step of those marked in `which` of each series; false: none is. */
static bool clearest(const pfc_design *d, bool placing, const pfc_design_one **at, size_t *look_at)
{
    *at = NULL;
    for (size_t i = 0; i < d->series_len; i++) {
        const pfc_design_one *s = &d->series[i];

        for (size_t k = 0; k < s->looks_len; k++) {
            if (!(placing ? s->placing[k] : s->suspect[k]) ||
                (*at && s->looks[k].step.p >= (*at)->looks[*look_at].step.p))
                continue;
            *at = s;
            *look_at = k;
        }
    }
    return *at != NULL;
}

/* The boundary whose interval is the widest, with its open neighbours. */
static bool widest(const pfc_design *d, pfc_design_group *out)
{
    const pfc_design_one *at = NULL;
    size_t best = 0;
    size_t low;
    size_t high;

    for (size_t i = 0; i < d->series_len; i++) {
        const pfc_design_one *s = &d->series[i];

        for (size_t k = 0; k < s->looks_len; k++) {
            if (s->open[k] && (!at || s->looks[k].log_se > at->looks[best].log_se)) {
                at = s;
                best = k;
            }
        }
    }
    if (!at)
        return false;
    low = high = best;
    while (low > 0 && at->open[low - 1])
        low--;
    while (high + 1 < at->looks_len && at->open[high + 1])
        high++;
    *out = around(at, best, low, high);
    return true;
}

bool pfc_design_focus(const pfc_design *d, pfc_design_group *out)
{
    const pfc_design_one *s;
    size_t k;

    if (clearest(d, true, &s, &k))
        *out = around(s, k, s->looks[k].step.place_low, s->looks[k].step.place_high);
    else if (clearest(d, false, &s, &k))
        *out = beside(s, k);
    else
        return widest(d, out);
    return true;
}
