/*
 * A comparison as findings.
 */
#include <math.h>

#include "cli/compare/compare.h"
#include "core/comment/comment.h"

static pfc_finding_kind kind_of(const pfc_cmp_row *row)
{
    switch (row->verdict) {
    case PFC_CMP_REGRESSION:
        /* It is shown, but no reason to fail. */
        return row->secondary ? PFC_FINDING_UNDECIDED : PFC_FINDING_REGRESSION;
    case PFC_CMP_BROKEN:
        return PFC_FINDING_BROKEN;
    case PFC_CMP_IMPROVEMENT:
        return PFC_FINDING_IMPROVEMENT;
    case PFC_CMP_SAME:
        return PFC_FINDING_SAME;
    case PFC_CMP_INCONCLUSIVE:
    case PFC_CMP_VERDICTS:
        break;
    }
    return PFC_FINDING_UNDECIDED;
}

static void add_row(const pfc_cmp *cmp, const pfc_cmp_row *row, pfc_findings *f)
{
    pfc_findings_item *item = pfc_findings_add(f, kind_of(row));

    if (!item)
        return;
    item->commit = pfc_strdup(cmp->b);
    item->benchmark = pfc_strdup(row->benchmark);
    item->metric = pfc_strdup(row->metric);
    item->backend = pfc_strdup(row->backend);
    item->rel_change = row->rel_change;
    item->rel_low = row->rel_low;
    item->rel_high = row->rel_high;
    item->message = row->reason
                        ? pfc_strdup(row->reason)
                        : pfc_format("%s against %.12s%s", pfc_cmp_name(row->verdict),
                                     cmp->a ? cmp->a : "", row->secondary ? ", secondary" : "");
}

/* A benchmark of one side alone: "benchmark metric backend". */
static void add_missing(const pfc_cmp *cmp, const json_t *list, const char *message,
                        pfc_findings *f)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        pfc_findings_item *item = pfc_findings_add(f, PFC_FINDING_NOT_MEASURED);

        if (!item)
            return;
        item->commit = pfc_strdup(cmp->b);
        item->benchmark = pfc_strdup(json_string_value(json_array_get(list, i)));
        item->message = pfc_strdup(message);
    }
}

void pfc_cmp_findings(const pfc_cmp *cmp, const char *command, const char *project, pfc_findings *f)
{
    f->title = pfc_format("perfci %s: %s", command, project);
    f->category = pfc_format("perfci/%s/%s", command, project);
    f->verdict = pfc_comment_verdict(cmp);
    f->notes = pfc_strdup(cmp->nothing);
    for (size_t i = 0; i < cmp->len; i++)
        add_row(cmp, &cmp->rows[i], f);
    add_missing(cmp, cmp->only_a, "measured at the base only: the change removed it, or it failed",
                f);
    add_missing(cmp, cmp->only_b, "measured at the change only: there is nothing to compare with",
                f);
}
