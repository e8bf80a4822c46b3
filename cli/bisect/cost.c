/*
 * The expected cost, before the first run.
 */
#include "cli/bisect/cost.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/output/output.h"
#include "core/base/rng.h"

#define SIMULATIONS   5
#define DEFAULT_NOISE 0.01 /* before any run, as in the plan's own estimate */

/* Mean pairs of a confirmation of the expected change, simulated. */
static double confirm_pairs(double change, double noise)
{
    const pfc_confirm_opts opts = { .expected_rel = change, .higher_is_better = change < 0 };
    double pairs = 0;

    for (uint64_t k = 0; k < SIMULATIONS; k++) {
        pfc_confirm *c = NULL;
        pfc_confirm_step next;
        pfc_confirm_result result;
        pfc_rng rng;

        pfc_rng_seed(&rng, k + 1);
        if (pfc_confirm_new(&c, &opts, NULL))
            return 0;
        while (pfc_confirm_next(c, &next)) {
            const double x = (next.after ? log1p(change) : 0) + noise * pfc_rng_normal(&rng);

            if (pfc_confirm_add_value(c, exp(x), NULL))
                break;
        }
        pfc_confirm_result_get(c, &result);
        pairs += (double)result.pairs;
        pfc_confirm_free(c);
    }
    return pairs / SIMULATIONS;
}

double bisect_confirm_cost(const bisect_session *b, const pfc_bisect_report *report)
{
    double noise = b->opts->noise > 0 ? b->opts->noise : 0;
    double change = b->opts->delta;
    const bisect_side good = bisect_side_of(&b->state, 0);

    if (noise <= 0)
        noise = good.noise_rel > 0 ? good.noise_rel : DEFAULT_NOISE;
    if (change == 0 && report && report->culprits_len)
        change = report->culprits[0].rel_change;
    return 2 * confirm_pairs(change != 0 ? change : 2 * noise, noise);
}

int bisect_dry_run(const bisect_session *b)
{
    const bool confirms = bisect_confirms(b->opts);
    const bool relink = bisect_builds_relink(&b->builds, b->opts);
    const bool builds_known = !b->opts->no_checkout;
    pfc_bisect_cost cost;
    double confirm;
    double builds;
    double seconds;
    char text[32];

    pfc_bisect_expect(b->planning.plan, &cost);
    cost.runs *= bisect_runs_per_question(&b->planning);
    cost.runs_most *= bisect_runs_per_question(&b->planning);
    confirm = confirms && cost.runs > 0 ? bisect_confirm_cost(b, NULL) : 0;
    builds = cost.builds + (relink ? confirm : 0);
    seconds = (cost.runs + confirm) * b->kept.measure_s + builds * b->kept.build_s;
    if (b->cli->json) {
        pfc_cli_print_json(json_pack(
            "{s:I,s:f,s:f,s:f,s:f,s:o,s:f}", "commits", (json_int_t)b->axis.commits.len,
            "expected_runs", cost.runs + confirm, "expected_runs_most", cost.runs_most + confirm,
            "expected_confirmation_runs", confirm, "expected_builds", builds, "expected_seconds",
            b->kept.measure_s > 0 ? json_real(seconds) : json_null(), "queue_wait_seconds", 0.0));
        return PFC_EXIT_OK;
    }
    pfc_out("%zu commits, about %.0f runs", b->axis.commits.len, cost.runs + confirm);
    if (confirm > 0)
        pfc_out(" (%.0f of them confirm the answer)", confirm);
    pfc_out(", %.0f at most in a few simulations\n", cost.runs_most + confirm);
    if (b->state.paired)
        pfc_out("interleaved with the good commit's build: the runs of both sides are counted\n");
    else if (b->opts->paired == 0 && !b->opts->no_checkout)
        pfc_out("about %.0f runs if the first runs show that the machine has speed states\n",
                PFC_PAIRING_PAIRS * cost.runs + confirm);
    if (builds_known)
        pfc_out("about %.0f builds%s\n", builds, relink ? ", layouts included" : "");
    if (b->kept.measure_s > 0) {
        pfc_show_seconds(seconds, text);
        pfc_out("about %s, by the times of an earlier call\n", text);
    } else {
        pfc_out("time: unknown before the first run\n");
    }
    pfc_out("queue wait: none, everything runs here\n");
    return PFC_EXIT_OK;
}
