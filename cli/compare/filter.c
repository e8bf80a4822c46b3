/* The rows of a comparison that --filter and --backend ask for. */
#include <stdlib.h>

#include "cli/compare/compare.h"

static bool is_canary(const pfc_cmp_row *row)
{
    return pfc_streq(row->benchmark, PFC_CANARY_BENCHMARK);
}

static pfc_code none_left(const pfc_cmp *cmp, const pfc_benchmark_filter *what, pfc_err *err)
{
    pfc_benchmark_names names = { 0 };

    for (size_t i = 0; i < cmp->len; i++)
        if (!is_canary(&cmp->rows[i]))
            pfc_benchmark_names_add(&names, cmp->rows[i].benchmark, cmp->rows[i].backend);
    return pfc_benchmark_none_matches(what, &names, err);
}

static void drop(pfc_cmp *cmp, pfc_cmp_row *row)
{
    if (!row->secondary && cmp->count[row->verdict] > 0)
        cmp->count[row->verdict]--;
    pfc_cmp_row_clear(row);
}

pfc_code pfc_cmp_select(pfc_cmp *cmp, const pfc_benchmark_filter *what, pfc_err *err)
{
    pfc_benchmark_matcher s;
    size_t fitting = 0, kept = 0;
    pfc_code code;

    if (!what->filter && what->backends_len == 0)
        return PFC_OK;
    code = pfc_benchmark_matcher_init(&s, what, err);
    if (code)
        return code;
    for (size_t i = 0; i < cmp->len; i++)
        fitting += !is_canary(&cmp->rows[i]) &&
                   pfc_benchmark_matches(&s, cmp->rows[i].benchmark, cmp->rows[i].backend);
    for (size_t i = 0; i < cmp->len && fitting; i++) {
        pfc_cmp_row *row = &cmp->rows[i];

        if (!is_canary(row) && !pfc_benchmark_matches(&s, row->benchmark, row->backend))
            drop(cmp, row);
        else
            cmp->rows[kept++] = *row;
    }
    pfc_benchmark_matcher_clear(&s);
    if (!fitting)
        return none_left(cmp, what, err);
    cmp->len = kept;
    return PFC_OK;
}
