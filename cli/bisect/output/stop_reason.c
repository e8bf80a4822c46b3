/*
 * The reason of a stop.
 */
#include "cli/bisect/output/stop_reason.h"

#include <math.h>
#include <stdlib.h>

#include "cli/bisect/cost.h"
#include "core/bisect/report_json.h"

/* A culprit whose confirmation the budget ended. */
static bool confirmation_open(const bisect_session *b)
{
    for (size_t i = 0; i < b->confirmations.len; i++)
        if (b->confirmations.items[i].result.verdict == PFC_CONFIRM_OPEN)
            return true;
    return false;
}

void bisect_stop_get(const bisect_session *b, const pfc_bisect_report *report, bisect_stop *out)
{
    const pfc_bisect_remaining *r = &out->left;
    const size_t limit = (size_t)b->opts->max_runs;
    const bool spent = limit && b->state.len >= limit;

    *out = (bisect_stop){ .budget_runs = limit };
    pfc_bisect_finding_get(b->planning.plan, &out->finding);
    if (b->interrupted || report->verdict != PFC_BISECT_INCONCLUSIVE || !b->state.len)
        return;
    pfc_bisect_remaining_get(b->planning.plan, &out->left);
    out->open_none = out->left.none > 0.5 && !out->finding.within && !b->confirmations.len;
    /* The plan's budget counts questions; what the user reads counts runs, as --max-runs does. */
    if (!limit)
        out->budget_runs = (size_t)((double)r->budget * bisect_runs_per_question(&b->planning));
    out->budget = r->wants_more ? spent || r->budget_used : spent && confirmation_open(b);
    if (out->open_none) {
        /* Here every unit is one of the bad commit: none shares its cost with other commits. */
        out->more_runs = out->finding.more_runs * (b->state.paired ? 2.0 * PFC_PAIRING_PAIRS : 1.0);
        return;
    }
    if (!out->budget)
        return;
    out->more_runs = r->runs * bisect_runs_per_question(&b->planning);
    if (bisect_confirms(b->opts))
        out->more_runs += fmax(2, bisect_confirm_cost(b, report) -
                                      (r->wants_more ? 0 : (double)bisect_confirm_runs(&b->state)));
}

void bisect_say_stop(const bisect_session *b, const bisect_stop *stop, pfc_buf *out)
{
    if (stop->open_none) {
        pfc_buf_printf(out, "Budget of %zu runs used; ", stop->budget_runs);
        bisect_say_difference(stop, out);
        pfc_buf_putc(out, '.');
        return;
    }
    pfc_bisect_remaining_say(&stop->left, stop->budget_runs,
                             bisect_id(&b->axis, stop->left.likeliest), stop->more_runs, out);
}

void bisect_say_difference(const bisect_stop *stop, pfc_buf *out)
{
    pfc_finding f = stop->finding;

    f.more_runs = stop->more_runs;
    pfc_buf_puts(out, "the ends differ by ");
    pfc_finding_say(&f, out);
}

void bisect_stop_json(const bisect_session *b, const bisect_stop *stop, json_t *doc)
{
    const double more_runs = stop->open_none        ? stop->more_runs
                             : stop->finding.within ? 0
                                                    : (double)NAN;

    json_object_set_new(doc, "difference", pfc_finding_json(&stop->finding, more_runs));
    if (stop->budget)
        pfc_bisect_remaining_json(&stop->left, stop->budget_runs,
                                  bisect_id(&b->axis, stop->left.likeliest), stop->more_runs, doc);
    else
        json_object_set_new(doc, "stopped",
                            b->interrupted ? json_string("interrupted") : json_null());
}
