/* Recorded searches and sessions: what is asked for and what comes of it; see
 * tests/core/stats/recorded.h. */
#include <string.h>

#include "core/base/rng.h"
#include "core/bisect/finding.h"
#include "core/bisect/remaining.h"
#include "core/blocks/design.h"

#include "tests/core/analysis/recorded_search.h"
#include "tests/core/stats/recorded.h"

typedef struct search {
    pfc_bisect_opts opts;
    double noise, layout,
        state;     /* state: a machine 6 % slower for a while, as likely to change at any run */
    double up[3];  /* relative changes at a fifth, a half and four fifths of the commits */
    size_t broken; /* commits from the middle on that do not build */
} search;

static const search searches[] = {
    { { .commits = 64 }, 0.01, 0, 0, { 0, 0.03, 0 }, 0 },
    { { .commits = 64, .noise_rel = 0.01, .delta_rel = 0.02 }, 0.01, 0, 0, { 0.02, 0, 0 }, 0 },
    { { .commits = 40, .noise_rel = 0.01 }, 0.01, 0, 0, { 0.03, 0, 0.025 }, 0 },
    { { .commits = 40, .noise_rel = 0.01 }, 0.01, 0, 0, { 0.04, -0.03, 0.04 }, 0 },
    { { .commits = 40, .noise_rel = 0.01, .first_only = true }, 0.01, 0, 0, { 0.04, 0, 0.04 }, 0 },
    { { .commits = 32, .noise_rel = 0.01, .delta_rel = 0.015 }, 0.01, 0, 0, { 0, 0, 0 }, 0 },
    { { .commits = 32, .noise_rel = 0.01, .delta_rel = 0.04 }, 0.01, 0, 0, { 0, 0.04, 0 }, 9 },
    { { .commits = 24, .noise_rel = 0.005, .layout_noise_rel = 0.01, .relink = true },
      0.005,
      0.01,
      0,
      { 0, 0.03, 0 },
      0 },
    { { .commits = 24, .noise_rel = 0.005, .layout_noise_rel = 0.01 },
      0.005,
      0.01,
      0,
      { 0, 0.03, 0 },
      0 },
    { { .commits = 24, .noise_rel = 0.01, .delta_rel = 0.05 }, 0.01, 0, 0.06, { 0, 0.05, 0 }, 0 },
    { { .commits = 100, .noise_rel = 0.02, .delta_rel = 0.02, .max_runs = 25 },
      0.02,
      0,
      0,
      { 0, 0.02, 0 },
      0 },
    { { .commits = 64, .noise_rel = 0.01, .run_cost = 1, .build_cost = 8, .checkout_cost = 1 },
      0.01,
      0,
      0,
      { 0, 0, 0.025 },
      0 },
};

static double value(const search *s, const pfc_bisect_step *step, bool slow, pfc_rng *rng)
{
    const size_t n = s->opts.commits;
    const size_t at[] = { n / 5, n / 2, 4 * n / 5 };
    double v = 100 * exp(s->noise * pfc_rng_normal(rng)) * (slow ? 1 + s->state : 1);
    pfc_rng build;

    for (size_t k = 0; k < 3; k++)
        v *= step->commit >= at[k] ? 1 + s->up[k] : 1;
    pfc_rng_seed(&build, step->commit * 100 + step->build);
    return v * exp(s->layout * pfc_rng_normal(&build));
}

/* Numbers before the end, too: after `early` steps what is expected and what remains. */
static void note_middle(const pfc_bisect_plan *plan, record *r)
{
    pfc_bisect_remaining left;
    pfc_bisect_cost cost;
    pfc_finding f;

    pfc_bisect_expect(plan, &cost);
    pfc_bisect_remaining_get(plan, &left);
    pfc_bisect_finding_get(plan, &f);
    note(r, cost.runs);
    note(r, cost.builds);
    note(r, cost.runs_most);
    note(r, left.none);
    note(r, (double)left.candidates);
    note(r, (double)left.likeliest);
    note(r, left.probability);
    note(r, f.more_runs);
}

Test(recorded_search, searches_are_what_they_were)
{
    for (size_t k = 0; k < PFC_ARRAY_LEN(searches); k++) {
        const search *s = &searches[k];
        record r = { .len = 0 };
        pfc_bisect_plan *plan = NULL;
        pfc_bisect_report report;
        pfc_bisect_step step;
        double places = 0, gains = 0;
        bool slow = false;
        pfc_rng rng;

        pfc_rng_seed(&rng, 900 + k);
        cr_assert(eq(int, pfc_bisect_new(&plan, &s->opts, NULL), PFC_OK));
        for (size_t run = 1;; run++) {
            pfc_bisect_next(plan, &step);
            if (step.act == PFC_BISECT_STOP)
                break;
            slow ^= s->state > 0 && pfc_rng_double(&rng) < 0.1;
            places += (double)(step.commit * (run % 7 + 1)) + 0.25 * step.build;
            gains += step.expected_gain_bits;
            if (step.commit >= s->opts.commits / 2 && step.commit < s->opts.commits / 2 + s->broken)
                pfc_bisect_skip(plan, step.commit);
            else
                cr_assert(eq(int,
                             pfc_bisect_add_run(plan, step.commit, step.build,
                                                value(s, &step, slow, &rng), NULL),
                             PFC_OK));
            if (run == 12)
                note_middle(plan, &r);
        }
        pfc_bisect_report_get(plan, &report);
        note(&r, places);
        note(&r, gains);
        note(&r, (double)report.verdict);
        note(&r, (double)report.runs);
        note(&r, (double)report.builds);
        note(&r, (double)report.commits_measured);
        for (size_t i = 0; i < report.culprits_len && i < 3; i++) {
            note(&r, (double)report.culprits[i].first);
            note(&r, (double)report.culprits[i].last);
            note(&r, report.culprits[i].probability);
            note(&r, report.culprits[i].rel_change);
            note(&r, report.culprits[i].rel_low);
        }
        pfc_bisect_report_clear(&report);
        pfc_bisect_free(plan);
        check_recorded(&r, &recorded_searches[k]);
    }
}

/* ---- sessions ---- */

typedef struct night {
    pfc_design_opts opts;
    size_t series;
    double noise, step; /* of builds from 3 on; of one series */
} night;

static const night nights[] = {
    { { .builds = 6, .first = 1, .seed = 1 }, 1, 0.01, 0 },
    { { .builds = 6, .first = 1, .seed = 2 }, 1, 0.01, 0.02 },
    { { .builds = 6, .first = 1, .seed = 3 }, 3, 0.02, 0.03 },
    { { .builds = 2, .first = 1, .all = true, .margin = 0.01, .seed = 4 }, 1, 0.006, 0 },
    { { .builds = 11, .anchor = 0, .first = 2, .seed = 5, .margin = 0.02 }, 2, 0.01, 0.03 },
    { { .builds = 5, .first = 1, .seed = 6, .most_rounds = 6 }, 1, 0.06, 0.01 },
};

Test(recorded_search, sessions_visit_what_they_did)
{
    for (size_t k = 0; k < PFC_ARRAY_LEN(nights); k++) {
        const night *s = &nights[k];
        record r = { .len = 0 };
        pfc_design_block block;
        pfc_design *d = NULL;
        double places = 0;
        size_t visits = 0;
        pfc_rng rng;

        pfc_rng_seed(&rng, 700 + k);
        cr_assert(eq(int, pfc_design_new(&s->opts, &d, NULL), PFC_OK));
        for (size_t i = 0; i < s->series; i++)
            (void)pfc_design_series(d, false);
        for (size_t n = 1; n <= 80 && pfc_design_next(d, &block); n++) {
            for (uint32_t i = 0; i < block.len; i++, visits++) {
                const uint32_t build = (uint32_t)block.builds[i];

                places += (double)(build * (n % 5 + 1) * (i + 1));
                pfc_design_spent(d, build, 2 + 0.1 * build);
                for (size_t j = 0; j < s->series; j++) {
                    const double v =
                        exp((build >= 3 && !j ? s->step : 0) + s->noise * pfc_rng_normal(&rng));

                    if (pfc_design_wants(d, j))
                        cr_assert(eq(
                            int,
                            pfc_design_add(d, j, &(pfc_visit){ build, block.number, i, v }, NULL),
                            PFC_OK));
                }
            }
            if (n == 4) {
                for (size_t b = 0; b < s->opts.builds; b++)
                    note(&r, pfc_design_needs_s(d, b));
            }
        }
        note(&r, (double)visits);
        note(&r, places);
        note(&r, pfc_design_total_s(d));
        for (size_t b = 0; b < s->opts.builds; b++)
            note(&r, pfc_design_needs_s(d, b));
        pfc_design_free(d);
        check_recorded(&r, &recorded_nights[k]);
    }
}
