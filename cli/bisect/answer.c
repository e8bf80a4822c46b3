/*
 * The answer after confirmation.
 */
#include "cli/bisect/answer.h"

#include <string.h>

bool bisect_is_confirmed(const bisect_session *b, size_t culprit)
{
    const bisect_confirmations *all = &b->confirmations;

    if (!bisect_confirms(b->opts))
        return true;
    return culprit < all->len && all->items[culprit].result.verdict == PFC_CONFIRM_CONFIRMED;
}

size_t bisect_run_count(const bisect_session *b, const pfc_bisect_report *report)
{
    size_t measurable = 0;

    for (size_t i = 0; i < b->state.len; i++)
        measurable += b->state.runs[i].kind != PFC_OUTCOME_BROKEN;
    /* In pairs the plan counts units, not the runs of both sides that they took. */
    return b->state.paired ? measurable : report->runs + bisect_confirm_runs(&b->state);
}

void bisect_answer(const bisect_session *b, pfc_bisect_report *out)
{
    size_t confirmed = 0;

    pfc_bisect_report_get(b->planning.plan, out);
    /* An interrupted search has no verdict, whatever the posterior is at that moment. */
    if (b->interrupted)
        out->verdict = PFC_BISECT_INCONCLUSIVE;
    for (size_t i = 0; i < out->culprits_len; i++)
        confirmed += bisect_is_confirmed(b, i);
    if (pfc_bisect_verdict_names(out->verdict) && !confirmed)
        out->verdict = PFC_BISECT_INCONCLUSIVE;
}

bool bisect_names_culprit(const bisect_session *b)
{
    pfc_bisect_report report;
    bool names;

    bisect_answer(b, &report);
    names = pfc_bisect_verdict_names(report.verdict);
    pfc_bisect_report_clear(&report);
    return names;
}

/* The commit is a merge of two parents: its second parent, and the merge base with the first. */
static bool branch_of(pfc_repo *repo, const char *commit, pfc_commit_id *base, pfc_commit_id *tip)
{
    pfc_commit merge = { 0 };
    pfc_commit_id id;
    pfc_commit_id main;
    bool found;

    if (pfc_repo_resolve(repo, commit, &id, NULL) || pfc_repo_commit(repo, &id, &merge, NULL))
        return false;
    found = merge.parents_len == 2 && !pfc_repo_resolve(repo, merge.parents[0], &main, NULL) &&
            !pfc_repo_resolve(repo, merge.parents[1], tip, NULL) &&
            !pfc_repo_merge_base(repo, &main, tip, base, NULL) && strcmp(base->hex, tip->hex) != 0;
    pfc_commit_clear(&merge);
    return found;
}

bool bisect_merged_branch(const bisect_session *b, pfc_commit_id *base, pfc_commit_id *tip)
{
    pfc_bisect_report report;
    bool found = false;

    bisect_answer(b, &report);
    if (pfc_bisect_verdict_names(report.verdict) && b->builds.repo && !b->axis.points &&
        report.culprits_len == 1 && report.culprits[0].first == report.culprits[0].last)
        found = branch_of(b->builds.repo, bisect_id(&b->axis, report.culprits[0].last), base, tip);
    pfc_bisect_report_clear(&report);
    return found;
}
