/*
 * Why a bisection stopped before it was decided, and what it would take to decide it.
 */
#include <math.h>
#include <stdlib.h>

#include "cli/bisect/search.h"

static size_t confirm_runs(const pfc_hunt *h)
{
    size_t runs = 0;

    for (size_t i = 0; i < h->state.len; i++)
        runs += h->state.steps[i].confirm;
    return runs;
}

/* A named commit whose fresh comparison the budget has cut short. */
static bool confirmation_open(const pfc_hunt *h)
{
    for (size_t i = 0; i < h->confirmed_len; i++)
        if (h->confirmed[i].result.verdict == PFC_CONFIRM_OPEN)
            return true;
    return false;
}

void pfc_hunt_stop_get(const pfc_hunt *h, const pfc_bisect_report *report, pfc_hunt_stop *out)
{
    const pfc_bisect_remaining *r = &out->left;
    const size_t limit = (size_t)h->opts->max_runs;
    const bool spent = limit && h->state.len >= limit;

    *out = (pfc_hunt_stop){ .budget_runs = limit };
    pfc_bisect_finding_get(h->plan, &out->finding);
    if (h->interrupted || report->verdict != PFC_BISECT_INCONCLUSIVE || !h->state.len)
        return;
    pfc_bisect_remaining_get(h->plan, &out->left);
    out->open_none = out->left.none > 0.5 && !out->finding.within && !h->confirmed_len;
    if (!limit)
        out->budget_runs = r->budget;
    out->budget = r->wants_more ? spent || r->budget_used : spent && confirmation_open(h);
    if (out->open_none) {
        /* A unit of pairs is all of the bad end here: no other unit shares its cost. */
        out->more_runs = out->finding.more_runs * (h->state.paired ? 2.0 * PFC_PAIRING_PAIRS : 1.0);
        return;
    }
    if (!out->budget)
        return;
    out->more_runs = r->runs * pfc_hunt_pairs_cost(h);
    if (pfc_hunt_confirms(h))
        out->more_runs += fmax(2, pfc_hunt_confirm_cost(h, report) -
                                      (r->wants_more ? 0 : (double)confirm_runs(h)));
}

void pfc_hunt_stop_say(const pfc_hunt *h, const pfc_hunt_stop *stop, pfc_buf *out)
{
    if (stop->open_none) {
        pfc_buf_printf(out, "Budget of %zu runs used; ", stop->budget_runs);
        pfc_hunt_none_say(stop, out);
        pfc_buf_putc(out, '.');
        return;
    }
    pfc_bisect_remaining_say(&stop->left, stop->budget_runs,
                             h->commits.items[stop->left.likeliest].id, stop->more_runs, out);
}

void pfc_hunt_none_say(const pfc_hunt_stop *stop, pfc_buf *out)
{
    pfc_finding f = stop->finding;

    f.more_runs = stop->more_runs;
    pfc_buf_puts(out, "the ends differ by ");
    pfc_finding_say(&f, out);
}

static json_t *number(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

static json_t *difference_json(const pfc_hunt_stop *stop)
{
    const pfc_finding *f = &stop->finding;

    return json_pack("{s:o,s:o,s:o,s:o,s:b,s:o}", "rel_change", number(f->rel_change), "rel_low",
                     number(f->rel_low), "rel_high", number(f->rel_high), "margin",
                     number(f->margin), "within", f->within, "more_runs",
                     number(stop->open_none ? stop->more_runs
                            : f->within     ? 0
                                            : (double)NAN));
}

void pfc_hunt_stop_json(const pfc_hunt *h, const pfc_hunt_stop *stop, json_t *doc)
{
    const pfc_bisect_remaining *r = &stop->left;

    json_object_set_new(doc, "difference", difference_json(stop));
    if (!stop->budget) {
        json_object_set_new(doc, "stopped",
                            h->interrupted ? json_string("interrupted") : json_null());
        return;
    }
    json_object_set_new(doc, "stopped", json_string("budget"));
    json_object_set_new(doc, "budget_runs", json_integer((json_int_t)stop->budget_runs));
    json_object_set_new(doc, "candidates", json_integer((json_int_t)r->candidates));
    json_object_set_new(doc, "likeliest",
                        json_pack("{s:s,s:f}", "commit", h->commits.items[r->likeliest].id,
                                  "probability", r->probability));
    json_object_set_new(doc, "probability_none", json_real(r->none));
    json_object_set_new(doc, "expected_more_runs", number(ceil(stop->more_runs)));
}
