/* The explanation of the benchmark with the largest regression, from the records of both runs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/compare/compare.h"
#include "cli/output/output.h"
#include "core/analysis/report/report.h"

/* Only a time can be split into the times of resources. */
static bool is_time(const pfc_cmp_row *row)
{
    return pfc_streq(row->metric, "cycles") || pfc_streq(row->metric, "time_ns");
}

/* The regression that is explained: exact ones first, which record what their time is made of. */
static const pfc_cmp_row *find_worst(const pfc_cmp *cmp)
{
    const pfc_cmp_row *worst = NULL;

    for (size_t i = 0; i < cmp->len; i++) {
        const pfc_cmp_row *row = &cmp->rows[i];

        if (row->verdict != PFC_CMP_REGRESSION || row->secondary || !is_time(row) ||
            !isfinite(row->rel_change))
            continue;
        if (!worst || row->exact > worst->exact ||
            (row->exact == worst->exact && fabs(row->rel_change) > fabs(worst->rel_change)))
            worst = row;
    }
    return worst;
}

void pfc_cmp_explain(pfc_cmp *cmp, const pfc_run *a, const pfc_run *b)
{
    const pfc_cmp_row *row = find_worst(cmp);
    pfc_explanation *e;
    pfc_explain_rules rules = { 0 };

    if (!row)
        return;
    e = pfc_calloc(1, sizeof(*e));
    if (!pfc_explain_rules_load(NULL, &rules, NULL) &&
        !pfc_explain_pair(&rules, a, b,
                          &(pfc_explain_what){ row->benchmark, row->backend, row->metric },
                          &(pfc_explain_judged){ pfc_cmp_name(row->verdict), row->rel_change,
                                                 row->rel_low, row->rel_high, row->p },
                          e, NULL) &&
        e->delta && e->delta->basis != PFC_DELTA_TOTAL && e->delta->contributions_len > 0)
        cmp->explanation = pfc_explanation_json(e);
    pfc_explanation_clear(e);
    pfc_explain_rules_clear(&rules);
    free(e);
}

static const char *text_of(const json_t *obj, const char *key)
{
    const char *text = json_string_value(json_object_get(obj, key));

    return text ? text : "inconclusive";
}

void pfc_cmp_print_explanation(const pfc_cmp *cmp)
{
    const json_t *e = cmp->explanation, *limiter = json_object_get(e, "limiter");
    const json_t *part = json_array_get(json_object_get(e, "contributions"), 0);
    const double value = json_number_value(json_object_get(part, "value"));
    const double delta = json_number_value(json_object_get(e, "delta"));
    char number[32];

    if (!part || delta == 0)
        return;
    pfc_show_value(fabs(value), number);
    pfc_out("%s: limiter %s before, %s after; largest part of the difference: %s in %s, %s%s %s "
            "(%.1f %%)\n",
            text_of(e, "benchmark"), text_of(limiter, "before"), text_of(limiter, "after"),
            text_of(part, "resource"), text_of(part, "phase"), value < 0 ? "-" : "+", number,
            text_of(e, "unit"), 100 * value / delta);
}
