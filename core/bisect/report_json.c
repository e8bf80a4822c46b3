/*
 * Shared JSON of reports.
 */
#include "core/bisect/report_json.h"

#include <math.h>

json_t *pfc_bisect_number_json(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *pfc_culprit_json(const pfc_culprit *c, json_t *ids)
{
    return json_pack("{s:o,s:o,s:o,s:o,s:o,s:b}", "commits", ids, "probability",
                     pfc_bisect_number_json(c->probability), "rel_change",
                     pfc_bisect_number_json(c->rel_change), "rel_low",
                     pfc_bisect_number_json(c->rel_low), "rel_high",
                     pfc_bisect_number_json(c->rel_high), "unmeasurable", c->unmeasurable);
}

json_t *pfc_finding_json(const pfc_finding *f, double more_runs)
{
    return json_pack(
        "{s:o,s:o,s:o,s:o,s:b,s:o}", "rel_change", pfc_bisect_number_json(f->rel_change), "rel_low",
        pfc_bisect_number_json(f->rel_low), "rel_high", pfc_bisect_number_json(f->rel_high),
        "margin", pfc_bisect_number_json(f->margin), "within", f->within, "more_runs",
        pfc_bisect_number_json(more_runs));
}

void pfc_bisect_remaining_json(const pfc_bisect_remaining *r, size_t budget_runs,
                               const char *likeliest, double more_runs, json_t *doc)
{
    json_object_set_new(doc, "stopped", json_string("budget"));
    json_object_set_new(doc, "budget_runs", json_integer((json_int_t)budget_runs));
    json_object_set_new(doc, "candidates", json_integer((json_int_t)r->candidates));
    json_object_set_new(doc, "likeliest",
                        json_pack("{s:s,s:f}", "commit", likeliest, "probability", r->probability));
    json_object_set_new(doc, "probability_none", json_real(r->none));
    json_object_set_new(doc, "expected_more_runs", pfc_bisect_number_json(ceil(more_runs)));
}
