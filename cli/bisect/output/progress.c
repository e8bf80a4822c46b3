/*
 * Figures of a running bisection.
 */
#include "cli/bisect/output/progress.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/clock.h"

#define SHOWN_FROM 0.05 /* probability of a commit that is listed as a suspect */
#define SUSPECTS   3    /* suspects that are listed */
#define ESTIMATE_EVERY_NS                                                                          \
    (3 * PFC_NS_PER_S) /* an estimate simulates the plan: too slow for every run */

void bisect_say_suspects(const bisect_planning *planning, pfc_buf *out)
{
    const bisect_axis *axis = planning->axis;
    double *p = pfc_calloc(axis->commits.len, sizeof(*p));

    pfc_bisect_posterior(planning->plan, p);
    for (size_t k = 0; k < SUSPECTS; k++) {
        size_t best = 1;

        for (size_t i = 2; i < axis->commits.len; i++)
            best = p[i] > p[best] ? i : best;
        if (p[best] < SHOWN_FROM)
            break;
        /* Never 1.00: a measured probability is below 1. */
        pfc_buf_printf(out, "%s%.12s %.2f", k ? "   " : "", bisect_id(axis, best),
                       fmin(p[best], 0.99));
        p[best] = 0;
    }
    if (!out->len)
        pfc_buf_puts(out, "none has 5 % yet");
    free(p);
}

double bisect_runs_to_go(bisect_progress *p)
{
    const size_t runs = p->planning->state->len;
    const int64_t now = pfc_clock_ns();

    if (!p->estimated_ns || now - p->estimated_ns >= ESTIMATE_EVERY_NS) {
        p->to_go =
            bisect_runs_per_question(p->planning) * pfc_bisect_expected_runs(p->planning->plan);
        p->estimated_ns = now;
        p->estimated_at = runs;
    }
    return fmax(p->to_go - (double)(runs - p->estimated_at), 1);
}

void bisect_say_count(bisect_progress *p, bool confirm, pfc_buf *out)
{
    const size_t runs = p->planning->state->len;

    if (confirm || runs < 2)
        pfc_buf_printf(out, "[%zu]", runs);
    else
        pfc_buf_printf(out, "[%zu/%.0f]", runs, (double)runs + bisect_runs_to_go(p));
}

void bisect_view_erase(const pfc_cli *cli)
{
    if (cli->progress)
        fputs("\r\033[J", stderr);
}
