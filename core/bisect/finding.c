/*
 * The interval of the ends' difference against the margin.
 */
#include "core/bisect/finding.h"

#include <math.h>
#include <stdlib.h>

#include "core/bisect/bisect_priv.h"
#include "core/stats/ranktest.h"
#include "core/stats/stats.h"

#define Z95         1.959963984540054
#define TAIL        0.025
#define LEAST       4 /* values a side from which ranks give a 95 % interval */
#define LEAST_PAIRS 6 /* ratios, likewise */
#define MORE_MOST   1e5
/* Runs of either end, in units of (noise / margin)^2, after which the interval of two equal ends lies within the
 * margin on its worse side with probability 0.99: 2 (1.96 + 2.33)^2. */
#define ALIKE_RUNS  37
#define T_SCALE                                                                                    \
    0.87 /* the model's scale against the standard deviation of one run: see likelihood.c */

typedef struct ends {
    double *values[2]; /* of the good and the bad end; owned */
    size_t len[2];
    size_t builds[2];
} ends;

static void collect(const pfc_bisect_plan *plan, ends *out)
{
    const size_t at[] = { 0, plan->opts.commits - 1 };
    *out = (ends){ 0 };
    for (size_t k = 0; k < 2; k++) {
        out->values[k] = pfc_calloc(plan->runs_len + 1, sizeof(double));
        for (size_t i = 0; i < plan->runs_len; i++) {
            const plan_run *run = &plan->runs[i];
            if (run->commit != at[k] || run->slow)
                continue;
            out->values[k][out->len[k]++] = exp(plan->sign * run->x);
            out->builds[k] = PFC_MAX(out->builds[k], (size_t)run->build + 1);
        }
    }
    /* Of ratios to the good end's build that end is 1 by definition. */
    if (plan->opts.paired) {
        free(out->values[0]);
        out->len[0] = out->len[1];
        out->values[0] = pfc_calloc(out->len[1] + 1, sizeof(double));
        for (size_t i = 0; i < out->len[1]; i++)
            out->values[0][i] = 1;
    }
}

static bool enough(const pfc_bisect_plan *plan, const ends *e)
{
    return plan->opts.paired
               ? pfc_signed_rank_cut(e->len[1], TAIL) >= 1
               : e->len[0] && e->len[1] && pfc_ranktest_cut(e->len[0], e->len[1], TAIL) >= 1;
}

/* Logarithmic. */
static double margin_of(const pfc_bisect_plan *plan)
{
    const pfc_bisect_opts *o = &plan->opts;
    if (o->margin > 0)
        return log1p(o->margin);
    if (o->delta_rel != 0)
        return fabs(log1p(o->delta_rel)) / 2;
    return fmin(plan->model.step / 2, log1p(PFC_FINDING_MARGIN_MOST));
}

/* What the builds' own offsets add to the half width, whatever the number of runs. */
static double layout_half(const pfc_bisect_plan *plan, const ends *e)
{
    const double layout = plan->model.layout;
    if (!(layout > 0))
        return 0;
    return Z95 * layout *
           sqrt((plan->opts.paired ? 0 : 1 / (double)e->builds[0]) + 1 / (double)e->builds[1]);
}

/* Runs that bring the half width from `half` to `want`, all ends together. */
static double runs_for(const pfc_bisect_plan *plan, const ends *e, double half, double fixed,
                       double want)
{
    /* Offsets of builds fall with further builds, where these can be made. */
    const double stays = plan->opts.relink ? 0 : fixed;
    const double falls = sqrt(fmax(half * half - stays * stays, 0));
    const double room = sqrt(fmax(want * want - stays * stays, 0));
    const double now =
        plan->opts.paired ? (double)e->len[1] : (double)PFC_MIN(e->len[0], e->len[1]);
    double more;
    if (want <= stays || room <= 0)
        return (double)INFINITY;
    more = now * (falls * falls / (room * room)) - now;
    more = fmax(1, ceil(more)) * (plan->opts.paired ? 1 : 2);
    return more > MORE_MOST ? (double)INFINITY : more;
}

/* With `change` and half width so far, to either answer: no change beyond the margin, or one to worse. */
static double more_of(const pfc_bisect_plan *plan, const ends *e, double change, double half,
                      double fixed, double margin)
{
    const double none =
        change < margin ? runs_for(plan, e, half, fixed, margin - change) : (double)INFINITY;
    const double some = change > 0 ? runs_for(plan, e, half, fixed, change) : (double)INFINITY;
    return fmin(none, some);
}

static void without_noise(const pfc_bisect_plan *plan, const ends *e, pfc_finding *out)
{
    double x;
    if (!e->len[0] || !e->len[1])
        return;
    x = plan->sign * log(e->values[1][0] / e->values[0][0]);
    out->known = true;
    out->rel_change = out->rel_low = out->rel_high = e->values[1][0] / e->values[0][0] - 1;
    out->within = x <= 4 * plan->opts.noise_rel;
    out->more_runs = 0; /* a step is there, and the search has it */
}

void plan_finding(const pfc_bisect_plan *plan, pfc_finding *out)
{
    const pfc_compare_opts opts = { .alpha = 2 * TAIL, .paired = plan->opts.paired };
    const size_t least = plan->opts.paired ? LEAST_PAIRS : LEAST;
    pfc_compare_result r = { 0 };
    double low, high, centre, fixed, margin;
    ends e;
    collect(plan, &e);
    *out = (pfc_finding){ .rel_change = (double)NAN,
                          .rel_low = (double)NAN,
                          .rel_high = (double)NAN,
                          .margin = (double)NAN,
                          .more_runs = (double)INFINITY };
    if (plan_is_exact(plan)) {
        out->margin = 0;
        without_noise(plan, &e, out);
        goto done;
    }
    margin = margin_of(plan);
    out->margin = expm1(margin);
    if (!enough(plan, &e) ||
        pfc_stats_compare(e.values[0], e.len[0], e.values[1], e.len[1], &opts, &r, NULL)) {
        /* Where the bad end runs over its time, no value says how much slower it is. */
        if (e.len[0] && e.len[1])
            out->more_runs = (double)((least - PFC_MIN(e.len[0], least)) * !plan->opts.paired +
                                      (least - PFC_MIN(e.len[1], least)));
        goto done;
    }
    fixed = layout_half(plan, &e);
    low = log1p(r.rel_low);
    high = log1p(r.rel_high);
    centre = log1p(r.rel_change);
    low = centre - hypot(centre - low, fixed);
    high = centre + hypot(high - centre, fixed);
    out->known = true;
    out->rel_change = r.rel_change;
    out->rel_low = expm1(low);
    out->rel_high = expm1(high);
    /* Larger is worse with the plan's sign. */
    out->within = plan->sign > 0 ? high <= margin : low >= -margin;
    out->more_runs = out->within
                         ? 0
                         : more_of(plan, &e, plan->sign * centre,
                                   plan->sign > 0 ? high - centre : centre - low, fixed, margin);

done:
    free(e.values[0]);
    free(e.values[1]);
}

bool plan_finding_worth(const pfc_bisect_plan *plan, const pfc_finding *f)
{
    const plan_model *m = &plan->model;
    const double sd = hypot(m->noise / T_SCALE, m->layout) / log1p(f->margin);
    size_t fewest = m->nodes[m->nodes_len - 1].len;
    if (!isfinite(f->more_runs) || f->more_runs <= 0)
        return false;
    if (!plan->opts.paired)
        fewest = PFC_MIN(fewest, m->nodes[0].len);
    /* A budget that was given may be used; without one the search ends where equal ends would have ended it. */
    return plan->opts.max_runs || !f->known ||
           (double)fewest < ALIKE_RUNS / (plan->opts.paired ? 2.0 : 1.0) * sd * sd;
}

void pfc_bisect_finding_get(const pfc_bisect_plan *plan, pfc_finding *out)
{
    pfc_bisect_plan *twin = plan_clone(plan);
    if (twin->runs_len)
        plan_model_fit(twin);
    plan_finding(twin, out);
    pfc_bisect_free(twin);
}

/* One decimal, or two digits of what is smaller. */
static void say_percent(double rel, pfc_buf *out)
{
    const double percent = 100 * rel;
    pfc_buf_printf(out, percent != 0 && fabs(percent) < 0.095 ? "%+.2g %%" : "%+.1f %%", percent);
}

void pfc_finding_say(const pfc_finding *f, pfc_buf *out)
{
    if (!f->known) {
        pfc_buf_puts(out, "an amount that too few runs show");
    } else {
        say_percent(f->rel_change, out);
        if (f->margin > 0) {
            pfc_buf_puts(out, " (");
            say_percent(f->rel_low, out);
            pfc_buf_puts(out, " .. ");
            say_percent(f->rel_high, out);
            pfc_buf_printf(out, "), margin %.2g %%", 100 * f->margin);
        } else {
            pfc_buf_puts(out, ", without noise");
        }
    }
    if (f->within)
        return;
    if (isfinite(f->more_runs))
        pfc_buf_printf(out, "; about %.0f more run%s expected", f->more_runs,
                       f->more_runs == 1 ? "" : "s");
    else
        pfc_buf_puts(out, "; no number of further runs is likely to decide it");
}
