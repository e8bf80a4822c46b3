/*
 * What a bisection will take, before anything runs.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/bisect/search.h"
#include "core/base/rng.h"
#include "core/stats/stats.h"

#define PLAYS       5
#define GUESS_NOISE 0.01 /* while nothing is known, as the plan's own estimate */

void pfc_hunt_costs(const pfc_hunt *h, double *measure_s, double *build_s)
{
    double *runs = pfc_calloc(h->state.len + 1, sizeof(double));
    double *builds = pfc_calloc(h->state.len + 1, sizeof(double));
    size_t n_runs = 0;
    size_t n_builds = 0;

    for (size_t i = 0; i < h->state.len; i++) {
        const pfc_hunt_step *s = &h->state.steps[i];

        if (s->kind == PFC_OUTCOME_MEASURED)
            runs[n_runs++] = s->measure_s;
        if (s->built)
            builds[n_builds++] = s->build_s;
    }
    *measure_s = n_runs ? pfc_stats_median(runs, n_runs) : 0;
    *build_s = n_builds ? pfc_stats_median(builds, n_builds) : 0;
    free(builds);
    free(runs);
}

/* Mean pairs of a confirmation of the expected change, played on made values. */
static double confirm_pairs(double change, double noise)
{
    const pfc_confirm_opts opts = { .expected_rel = change, .higher_is_better = change < 0 };
    double pairs = 0;

    for (uint64_t k = 0; k < PLAYS; k++) {
        pfc_confirm *c = NULL;
        pfc_confirm_step next;
        pfc_confirm_result result;
        pfc_rng rng;

        pfc_rng_seed(&rng, k + 1);
        if (pfc_confirm_new(&c, &opts, NULL))
            return 0;
        while (pfc_confirm_next(c, &next)) {
            const double x = (next.after ? log1p(change) : 0) + noise * pfc_rng_normal(&rng);

            if (pfc_confirm_tell(c, exp(x), NULL))
                break;
        }
        pfc_confirm_result_get(c, &result);
        pairs += (double)result.pairs;
        pfc_confirm_free(c);
    }
    return pairs / PLAYS;
}

double pfc_hunt_confirm_cost(const pfc_hunt *h, const pfc_bisect_report *report)
{
    double noise = h->opts->noise > 0 ? h->opts->noise : 0;
    double change = h->opts->delta;
    pfc_hunt_side good;

    pfc_hunt_side_of(h, 0, &good);
    if (noise <= 0)
        noise = good.noise_rel > 0 ? good.noise_rel : GUESS_NOISE;
    if (change == 0 && report && report->culprits_len)
        change = report->culprits[0].rel_change;
    return 2 * confirm_pairs(change != 0 ? change : 2 * noise, noise);
}

int pfc_hunt_dry_run(const pfc_hunt *h)
{
    const bool confirms = pfc_hunt_confirms(h);
    const bool relink = h->opts->relink || h->ws_opts.relink;
    const bool builds_known = !h->opts->no_checkout;
    pfc_bisect_cost cost;
    double confirm;
    double builds;
    double seconds;
    char text[32];

    pfc_bisect_expect(h->plan, &cost);
    cost.runs *= pfc_hunt_pairs_cost(h);
    cost.runs_most *= pfc_hunt_pairs_cost(h);
    confirm = confirms && cost.runs > 0 ? pfc_hunt_confirm_cost(h, NULL) : 0;
    builds = cost.builds + (relink ? confirm : 0);
    seconds = (cost.runs + confirm) * h->kept_measure_s + builds * h->kept_build_s;
    if (h->cli->json) {
        pfc_cli_print_json(json_pack(
            "{s:I,s:f,s:f,s:f,s:f,s:o,s:f}", "commits", (json_int_t)h->commits.len, "expected_runs",
            cost.runs + confirm, "expected_runs_most", cost.runs_most + confirm,
            "expected_confirmation_runs", confirm, "expected_builds", builds, "expected_seconds",
            h->kept_measure_s > 0 ? json_real(seconds) : json_null(), "queue_wait_seconds", 0.0));
        return PFC_EXIT_OK;
    }
    pfc_out("%zu commits, about %.0f runs", h->commits.len, cost.runs + confirm);
    if (confirm > 0)
        pfc_out(" (%.0f of them confirm the answer)", confirm);
    pfc_out(", %.0f at most in a few plays\n", cost.runs_most + confirm);
    if (h->state.paired)
        pfc_out("interleaved with the good commit's build: the runs of both sides are counted\n");
    else if (h->opts->paired == 0 && !h->opts->no_checkout)
        pfc_out("about %.0f runs where the machine has states, which the first ones show\n",
                PFC_PAIRING_PAIRS * cost.runs + confirm);
    if (builds_known)
        pfc_out("about %.0f builds%s\n", builds, relink ? ", layouts included" : "");
    if (h->kept_measure_s > 0) {
        pfc_show_seconds(seconds, text);
        pfc_out("about %s, by the times of an earlier call\n", text);
    } else {
        pfc_out("time: not known before the first run; expect runs times what one takes\n");
    }
    pfc_out("queue wait: none, everything runs here\n");
    return PFC_EXIT_OK;
}
