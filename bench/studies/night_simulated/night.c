/* One night: the planner asks, the model answers, the judgement is scored. */
#include "bench/studies/night_simulated/night.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/stats/comparison_family.h"

#define BASE 1 /* build 0 is the anchor */

typedef struct truth {
    size_t series;                   /* that the plants are in */
    size_t at[PFC_NIGHT_MAX_PLANTS]; /* builds */
    size_t len;
} truth;

static truth plant(const pfc_sim_night_opts *opts, pfc_rng *rng)
{
    truth t = { .series = pfc_rng_below(rng, opts->series) };

    while (t.len < (opts->plant > 0.0 ? PFC_MAX(opts->plants, 1) : 0)) {
        const size_t at = BASE + 1 + pfc_rng_below(rng, opts->commits);
        bool twice = false;

        for (size_t i = 0; i < t.len; i++)
            twice |= t.at[i] == at;
        if (!twice)
            t.at[t.len++] = at;
    }
    return t;
}

static bool planted(const truth *t, size_t series, size_t build)
{
    for (size_t i = 0; i < t->len; i++) {
        if (t->series == series && t->at[i] == build)
            return true;
    }
    return false;
}

/* Lies a plant where the boundary says that the change may be? */
static bool holds_plant(const truth *t, size_t series, const pfc_boundary *b)
{
    for (size_t i = 0; i < t->len; i++) {
        if (t->series == series && t->at[i] > b->place_from && t->at[i] <= b->place_to)
            return true;
    }
    return false;
}

static double level(const pfc_sim_night_opts *opts, const truth *t, size_t series, size_t build)
{
    double y = 0.0;

    for (size_t i = 0; i < t->len && t->series == series; i++)
        y += build >= t->at[i] ? log1p(opts->plant) : 0.0;
    return y;
}

static pfc_code measure(const pfc_sim_night_opts *opts, const truth *t, pfc_sim_machine *machine,
                        pfc_design *design, pfc_sim_night *out, pfc_err *err)
{
    pfc_design_block block;
    pfc_code code = PFC_OK;

    while (!code && pfc_design_next(design, &block)) {
        for (uint32_t i = 0; i < block.len && !code; i++) {
            double share = 0.0;

            pfc_machine_step(machine);
            for (size_t s = 0; s < opts->series && !code; s++) {
                const double y =
                    pfc_machine_factor(machine, s) + level(opts, t, s, block.builds[i]);
                const pfc_visit visit = { (uint32_t)block.builds[i], block.number, i,
                                          100.0 * exp(y) };

                if (!opts->whole && !pfc_design_wants(design, s))
                    continue;
                code = pfc_design_add(design, s, &visit, err);
                share += 1.0 / (double)opts->series;
            }
            pfc_design_spent(design, block.builds[i], share);
            out->visits += share / (double)opts->commits;
        }
    }
    return code;
}

static void score_boundary(const pfc_sim_night_opts *opts, const truth *t, size_t series,
                           const pfc_boundary *b, bool different, bool *regressed,
                           pfc_sim_night *out)
{
    const double true_log = level(opts, t, series, b->to) - level(opts, t, series, b->from);
    const double margin = opts->margin > 0.0 ? opts->margin : 0.03;

    out->covered += log1p(b->rel_low) <= true_log && true_log <= log1p(b->rel_high);
    if (different && b->rel_change > 0.0)
        *regressed = true;
    if (planted(t, series, b->to)) {
        out->exact += different && b->rel_change > 0.0;
        return;
    }
    out->boundaries++;
    out->wrong += different && !holds_plant(t, series, b);
    out->same += !different && b->rel_low >= -margin && b->rel_high <= margin;
}

static pfc_code score(const pfc_sim_night_opts *opts, const truth *t, const pfc_design *design,
                      pfc_sim_night *out, pfc_err *err)
{
    pfc_blocks_fit fits[PFC_NIGHT_MAX_SERIES] = { 0 };
    double *p = NULL;
    size_t n = 0;
    pfc_code code = PFC_OK;

    for (size_t s = 0; s < opts->series && !code; s++) {
        code = pfc_design_fit(design, s, &fits[s], err);
        n += fits[s].boundaries_len;
    }
    p = pfc_calloc(2 * n + 1, sizeof *p);
    n = 0;
    for (size_t s = 0; s < opts->series; s++) {
        for (size_t i = 0; i < fits[s].boundaries_len; i++)
            p[n++] = fits[s].boundaries[i].p;
    }
    pfc_stats_fdr_adjust(p, n, p + n);
    for (size_t s = 0, at = n; s < opts->series && !code; s++) {
        bool regressed = false;

        for (size_t i = 0; i < fits[s].boundaries_len; i++) {
            const pfc_boundary *b = &fits[s].boundaries[i];
            const bool different =
                b->verdict == PFC_VERDICT_DIFFERENT && p[at + i] <= PFC_BLOCKS_FDR;

            score_boundary(opts, t, s, b, different, &regressed, out);
        }
        at += fits[s].boundaries_len;
        if (regressed && s == t->series)
            out->found += PFC_MIN(t->len, (size_t)1);
    }
    out->planted = t->len;
    if (t->len > 1)
        out->found = out->exact;
    for (size_t s = 0; s < opts->series; s++)
        pfc_blocks_fit_clear(&fits[s]);
    free(p);
    return code;
}

pfc_code pfc_night_run(const pfc_sim_night_opts *opts, uint64_t seed, pfc_sim_night *out,
                       pfc_err *err)
{
    pfc_design_opts design_opts = {
        .builds = BASE + 1 + opts->commits,
        .anchor = 0,
        .first = BASE + 1,
        .margin = opts->margin,
        .budget_s = opts->budget * (double)opts->commits,
    };
    pfc_design *design = NULL;
    pfc_sim_machine machine;
    pfc_rng rng;
    truth t;
    pfc_code code;
    const int64_t start = pfc_clock_ns();

    pfc_rng_seed(&rng, seed);
    *out = (pfc_sim_night){ 0 };
    t = plant(opts, &rng);
    design_opts.seed = pfc_rng_u64(&rng);
    pfc_machine_start(&machine, &opts->machine, pfc_rng_u64(&rng));
    code = pfc_design_new(&design_opts, &design, err);
    for (size_t s = 0; s < opts->series && !code; s++)
        pfc_design_series(design, false);
    if (!code)
        code = measure(opts, &t, &machine, design, out, err);
    if (!code)
        code = score(opts, &t, design, out, err);
    out->seconds = (double)(pfc_clock_ns() - start) * 1e-9;
    pfc_design_free(design);
    return code;
}
