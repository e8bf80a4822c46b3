/*
 * One recorded run.
 */
#include <string.h>

#include "cli/bisect/search.h"
#include "core/base/clock.h"

static double seconds_now(const bisect_session *b)
{
    return b->seconds_before + (double)(pfc_clock_ns() - b->started_ns) * 1e-9;
}

static pfc_code keep(bisect_session *b, const bisect_run *run, pfc_err *err)
{
    bisect_state_add(&b->state, run);
    b->state.seconds = seconds_now(b);
    return bisect_state_save(&b->state, err);
}

pfc_code bisect_record_run(bisect_session *b, bisect_run *run, char *reason, bool *recorded,
                           pfc_err *err)
{
    pfc_outcome out = { 0 };
    pfc_code code;

    *recorded = false;
    bisect_log_begin(&b->log, run);
    bisect_view_draw(&b->view, run);
    code = bisect_measure(&b->measuring, run, &out, err);
    if (!code && (run->kind == PFC_OUTCOME_CANCELLED || pfc_cli_interrupted(NULL)))
        b->interrupted = true;
    /* The interruption, not the commit, is the reason for a run without a value. */
    if (!code && (!b->interrupted || run->kind == PFC_OUTCOME_MEASURED)) {
        /* A time-out counts as slow, which would be wrong for the good commit. */
        if (run->kind == PFC_OUTCOME_TIMED_OUT && run->commit == 0)
            run->kind = PFC_OUTCOME_FAILED;
        memcpy(reason, out.reason, PFC_WORKSPACE_REASON_BYTES);
        code = keep(b, run, err);
        *recorded = !code;
    }
    pfc_outcome_clear(&out);
    return code;
}
