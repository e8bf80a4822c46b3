/*
 * The list of findings: see findings.h.
 */
#include "core/findings/findings.h"

#include <math.h>
#include <stdlib.h>

pfc_findings_item *pfc_findings_add(pfc_findings *f, pfc_finding_kind kind)
{
    pfc_findings_item *item;

    if (f->len == PFC_FINDINGS_MAX) {
        f->left_out++;
        return NULL;
    }
    f->items = pfc_grow(f->items, f->len, &f->cap, sizeof(*f->items));
    item = &f->items[f->len++];
    *item = (pfc_findings_item){
        .kind = kind, .rel_change = (double)NAN, .rel_low = (double)NAN, .rel_high = (double)NAN
    };
    return item;
}

void pfc_findings_clear(pfc_findings *f)
{
    for (size_t i = 0; i < f->len; i++) {
        free(f->items[i].commit);
        free(f->items[i].subject);
        free(f->items[i].benchmark);
        free(f->items[i].metric);
        free(f->items[i].backend);
        free(f->items[i].message);
        free(f->items[i].path);
    }
    free(f->items);
    free(f->title);
    free(f->category);
    free(f->verdict);
    free(f->notes);
    *f = (pfc_findings){ 0 };
}

size_t pfc_findings_count(const pfc_findings *f, pfc_finding_kind kind)
{
    size_t count = 0;

    for (size_t i = 0; i < f->len; i++)
        count += f->items[i].kind == kind;
    return count;
}

const char *pfc_finding_word(pfc_finding_kind kind)
{
    static const char *const words[PFC_FINDING_KINDS] = {
        [PFC_FINDING_REGRESSION] = "regression",     [PFC_FINDING_BROKEN] = "broken",
        [PFC_FINDING_NOT_MEASURED] = "not measured", [PFC_FINDING_UNDECIDED] = "undecided",
        [PFC_FINDING_IMPROVEMENT] = "improvement",   [PFC_FINDING_SAME] = "same",
        [PFC_FINDING_IDENTICAL] = "identical",       [PFC_FINDING_MEASURED] = "measured",
    };

    return words[kind];
}

char *pfc_finding_sentence(const pfc_findings_item *item)
{
    const char *message = item->message ? item->message : pfc_finding_word(item->kind);
    char change[32], low[32], high[32];

    if (!isfinite(item->rel_change))
        return pfc_strdup(message);
    pfc_show_percent(item->rel_change, change);
    if (!isfinite(item->rel_low) || !isfinite(item->rel_high))
        return pfc_format("%s: %s", change, message);
    pfc_show_percent(item->rel_low, low);
    pfc_show_percent(item->rel_high, high);
    return pfc_format("%s (%s to %s): %s", change, low, high, message);
}
