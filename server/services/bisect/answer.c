/*
 * The end of a bisection on the runners: verdict, culprits, and why it was not decided.
 */
#include <math.h>

#include "server/services/bisect/remote.h"

static bool is_budget(const pfc_bisect_remaining *left)
{
    return left->wants_more && left->budget_used;
}

static const char *reason_of(const remote_step *s)
{
    if (s->reason && *s->reason)
        return s->reason;
    return s->job_reason ? s->job_reason : remote_state_name(s->state);
}

/* Why it is not decided: an end that cannot be measured, the budget, or the ends' difference. */
static char *why_open(const remote *r, const pfc_bisect_report *report,
                      const pfc_bisect_remaining *left, const pfc_finding *finding)
{
    const bool none = left->none > 0.5 && finding->known;
    char *text;
    pfc_buf buf;

    for (int end = 0; end < 2; end++) {
        const size_t place = end ? r->len - 1 : 0;
        const remote_step *last = NULL;
        bool measured = false;

        for (size_t i = 0; i < r->steps_len; i++)
            if (r->steps[i].place == place) {
                measured |= r->steps[i].state == PFC_BISECT_MEASURED;
                last = &r->steps[i];
            }
        if (!measured && last)
            return pfc_format("the %s commit, %.12s, cannot be measured: %.300s",
                              end ? "bad" : "good", remote_commit(r, place), reason_of(last));
    }
    if (!is_budget(left) && !none)
        return pfc_format("%zu runs did not decide it", report->runs);
    pfc_buf_init(&buf, 4096);
    if (none) {
        if (is_budget(left))
            pfc_buf_printf(&buf, "Budget of %zu runs used; ", left->budget);
        pfc_buf_puts(&buf, "the ends differ by ");
        pfc_finding_say(finding, &buf);
        goto done;
    }
    pfc_bisect_remaining_say(left, left->budget, remote_commit(r, left->likeliest), left->runs,
                             &buf);

done:
    text = pfc_strdup(pfc_buf_text(&buf));
    pfc_buf_clear(&buf);
    return text;
}

pfc_code remote_conclude(pfc_tx *tx, remote *r, const pfc_bisect_plan *plan,
                         const pfc_bisect_report *report, pfc_err *err)
{
    const bool open = report->verdict == PFC_BISECT_INCONCLUSIVE;
    pfc_bisect_remaining left = { 0 };
    const bool named = pfc_bisect_verdict_names(report->verdict);
    char *culprits = named ? pfc_bisection_culprits_text(report->culprits, report->culprits_len,
                                                         (const char *const *)r->line.items)
                           : NULL;
    char *why = NULL, *stopped = NULL;
    pfc_finding finding;
    int64_t row = 0;
    pfc_code code;

    pfc_bisect_finding_get(plan, &finding);
    if (open) {
        pfc_bisect_remaining_get(plan, &left);
        why = why_open(r, report, &left, &finding);
    }
    stopped = pfc_bisection_stopped_text(&finding, is_budget(&left) ? &left : NULL,
                                         remote_commit(r, left.likeliest));
    code = remote_finish(tx, r->project_id, r->id, "done",
                         &(remote_end){ .verdict = pfc_bisect_verdict_name(report->verdict),
                                        .culprits = culprits,
                                        .reason = why,
                                        .stopped = stopped },
                         &row, err);

    for (size_t i = 0; named && !code && i < report->culprits_len; i++)
        code = verify_start(tx, r, &report->culprits[i], err);
    free(stopped);
    free(why);
    free(culprits);
    return code;
}
