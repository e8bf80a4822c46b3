/*
 * The code behind a comparison: its object code, and the functions whose instructions were counted.
 */
#include "core/wire/wire.h"
#include "server/services/history/compare.h"

const char *pfc_compare_object(const pfc_compare_entry *a, const pfc_compare_entry *b,
                               const char *before, bool *unknown)
{
    /* The canary is perfci's own code. */
    if (pfc_streq(a->benchmark, PFC_CANARY_BENCHMARK))
        return before;
    if (!a->object || !b->object)
        *unknown = true;
    if (*unknown)
        return NULL;
    return pfc_streq(a->object, b->object) && !pfc_streq(before, "different") ? "identical"
                                                                              : "different";
}

pfc_code pfc_compare_functions(pfc_tx *tx, int64_t project_id, pfc_comparison *c, pfc_err *err)
{
    return pfc_sql_functions_between(tx,
                                     &(pfc_sql_functions_between_args){ .project_id = project_id,
                                                                        .a = c->a.end.commit,
                                                                        .b = c->b.end.commit },
                                     &c->functions, err);
}
