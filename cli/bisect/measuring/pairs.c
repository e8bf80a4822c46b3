/*
 * The change from single runs to interleaved pairs.
 *
 * On a machine that is slow for seconds at a time most of the variance of single runs is the
 * machine's state. A commit is then measured in interleaved pairs with the good commit's build,
 * which is kept as first built, and so compared with the machine's state at that moment
 * (core/bisect/pairing.h). The planner receives the ratio of the two, and the good commit against
 * itself, which takes no extra runs. Single runs made before stay in the state file, and the plan
 * made after the change does not contain them.
 */
#include <math.h>
#include <stdlib.h>

#include "cli/bisect/search.h"

enum { RECENT = 256 }; /* runs that show the current state of the machine */

bool bisect_pairs_possible(const bisect_session *b)
{
    const bisect_run *first = bisect_first_measured(&b->state);

    return !b->state.paired && b->opts->paired == 0 && !b->opts->no_checkout && first &&
           !first->exact;
}

/* Logarithm of the change that is searched for: the given one, else the difference of the ends. */
static double step_of(const bisect_session *b)
{
    const bisect_side good = bisect_side_of(&b->state, 0);
    const bisect_side bad = bisect_side_of(&b->state, bisect_bad(&b->axis));

    if (b->opts->delta != 0)
        return log1p(b->opts->delta);
    return good.runs && bad.runs ? log(bad.median / good.median) : 0;
}

static pfc_noise_check check_noise(const bisect_session *b)
{
    pfc_noise_run *runs = pfc_calloc(RECENT, sizeof *runs);
    pfc_noise_check check;
    size_t len = 0;

    for (size_t i = b->state.len > RECENT ? b->state.len - RECENT : 0; i < b->state.len; i++) {
        const bisect_run *run = &b->state.runs[i];

        /* One group a build; a layout is another build. */
        if (run->kind == PFC_OUTCOME_MEASURED)
            runs[len++] =
                (pfc_noise_run){ run->commit + b->axis.commits.len * run->build, run->value };
    }
    check = pfc_noise_check_runs(runs, len, step_of(b));
    free(runs);
    return check;
}

static pfc_code change_to_pairs(bisect_session *b, pfc_err *err)
{
    pfc_code code;

    bisect_view_erase(b->cli);
    pfc_cli_note(
        b->cli,
        "from here on commits are measured interleaved with the good commit's build (--no-paired: "
        "single runs only)");
    b->state.paired = true;
    code = bisect_state_save(&b->state, err);
    return code ? code : bisect_planning_remake(&b->planning, err);
}

pfc_code bisect_pairs_on_states(bisect_session *b, bool *changed, pfc_err *err)
{
    const pfc_noise_check check =
        bisect_pairs_possible(b) ? check_noise(b) : (pfc_noise_check){ 0 };

    *changed = check.has_states;
    if (!check.has_states)
        return PFC_OK;
    bisect_view_erase(b->cli);
    pfc_cli_note(b->cli,
                 "this machine changes its speed: %zu of %zu runs of equal builds are outliers "
                 "(by %.2g %% at most, correlation %.2f)",
                 check.outliers, check.runs, 100 * check.farthest, check.correlation);
    return change_to_pairs(b, err);
}

pfc_code bisect_pairs_on_doubt(bisect_session *b, bool *changed, pfc_err *err)
{
    pfc_bisect_report report = { 0 };
    bool names;

    *changed = false;
    if (!bisect_pairs_possible(b))
        return PFC_OK;
    pfc_bisect_report_get(b->planning.plan, &report);
    names = pfc_bisect_verdict_names(report.verdict);
    pfc_bisect_report_clear(&report);
    *changed = names || check_noise(b).outliers > 0;
    if (!*changed)
        return PFC_OK;
    bisect_view_erase(b->cli);
    pfc_cli_note(b->cli, names ? "the new pairs do not show the change that single runs showed"
                               : "single runs show no regression, and some of them are outliers");
    if (names)
        bisect_units_adopt(&b->state);
    for (size_t i = 0; i < b->state.len; i++)
        b->state.runs[i].confirm = false;
    return change_to_pairs(b, err);
}
