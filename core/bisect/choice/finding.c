/*
 * The interval of the ends' difference against the margin.
 */
#include <math.h>
#include <stdlib.h>

#include "core/bisect/model/margin.h"
#include "core/stats/ranktest.h"
#include "core/stats/stats.h"

#define Z95         1.959963984540054
#define TAIL        0.025
#define LEAST       4 /* values on a side that a rank test needs for a 95 % interval */
#define LEAST_PAIRS 6 /* ratios that the test needs for the same */
#define MORE_MOST   1e5
/* Runs of either end, in units of (noise / margin)^2, after which the interval of two equal ends
 * lies within the margin on its worse side with probability 0.99: 2 (1.96 + 2.33)^2. */
#define ALIKE_RUNS  37
#define T_SCALE                                                                                    \
    0.87 /* scale of the model's t / standard deviation of one run: NOISE_SHARE of likelihood.c */

typedef struct ends {
    double *values[2]; /* of the good and the bad commit; owned */
    size_t len[2];
    size_t builds[2];
} ends;

static void collect(const plan_model *m, ends *out)
{
    const size_t at[] = { 0, m->input->opts.commits - 1 };
    *out = (ends){ 0 };
    for (size_t k = 0; k < 2; k++) {
        out->values[k] = pfc_calloc(m->seen->len + 1, sizeof(double));
        for (size_t i = 0; i < m->seen->len; i++) {
            const plan_run *run = &m->seen->runs[i];
            if (run->commit != at[k] || run->timed_out)
                continue;
            out->values[k][out->len[k]++] = exp(m->input->sign * run->x);
            out->builds[k] = PFC_MAX(out->builds[k], (size_t)run->build + 1);
        }
    }
    /* Ratios are relative to the good commit's build, so that commit's values are 1. */
    if (m->input->opts.paired) {
        free(out->values[0]);
        out->len[0] = out->len[1];
        out->values[0] = pfc_calloc(out->len[1] + 1, sizeof(double));
        for (size_t i = 0; i < out->len[1]; i++)
            out->values[0][i] = 1;
    }
}

static bool enough(const plan_model *m, const ends *e)
{
    return m->input->opts.paired
               ? pfc_signed_rank_cut(e->len[1], TAIL) >= 1
               : e->len[0] && e->len[1] && pfc_ranktest_cut(e->len[0], e->len[1], TAIL) >= 1;
}

/* The values are logarithms. */
static double margin_of(const plan_model *m)
{
    const pfc_bisect_opts *o = &m->input->opts;
    if (o->margin > 0)
        return log1p(o->margin);
    if (o->delta_rel != 0)
        return fabs(log1p(o->delta_rel)) / 2;
    return fmin(m->scales.step / 2, log1p(PFC_FINDING_MARGIN_MOST));
}

/* The part of the half width that comes from the builds' own offsets and does not fall with the
 * number of runs. */
static double layout_half(const plan_model *m, const ends *e)
{
    const double layout = m->scales.layout;
    if (!(layout > 0))
        return 0;
    return Z95 * layout *
           sqrt((m->input->opts.paired ? 0 : 1 / (double)e->builds[0]) + 1 / (double)e->builds[1]);
}

/* Returns the runs, of both ends together, that reduce the half width from `half` to `target`. */
static double runs_for(const plan_model *m, const ends *e, double half, double fixed, double target)
{
    /* The offsets average out only over further builds, which not every repository can make. */
    const double stays = m->input->opts.relink ? 0 : fixed;
    const double falls = sqrt(fmax(half * half - stays * stays, 0));
    const double room = sqrt(fmax(target * target - stays * stays, 0));
    const double now =
        m->input->opts.paired ? (double)e->len[1] : (double)PFC_MIN(e->len[0], e->len[1]);
    double more;
    if (target <= stays || room <= 0)
        return (double)INFINITY;
    more = now * (falls * falls / (room * room)) - now;
    more = fmax(1, ceil(more)) * (m->input->opts.paired ? 1 : 2);
    return more > MORE_MOST ? (double)INFINITY : more;
}

/* Runs to whichever answer is nearer, from the change and half width so far: no change beyond the
 * margin, or a change to worse. */
static double more_of(const plan_model *m, const ends *e, double change, double half, double fixed,
                      double margin)
{
    const double none =
        change < margin ? runs_for(m, e, half, fixed, margin - change) : (double)INFINITY;
    const double some = change > 0 ? runs_for(m, e, half, fixed, change) : (double)INFINITY;
    return fmin(none, some);
}

static void without_noise(const plan_model *m, const ends *e, pfc_finding *out)
{
    double x;
    if (!e->len[0] || !e->len[1])
        return;
    x = m->input->sign * log(e->values[1][0] / e->values[0][0]);
    out->known = true;
    out->rel_change = out->rel_low = out->rel_high = e->values[1][0] / e->values[0][0] - 1;
    out->within = x <= plan_exact_tolerance(m->input);
    out->more_runs = 0; /* there is a step, and the search finds it */
}

void plan_finding(const plan_model *m, pfc_finding *out)
{
    const pfc_compare_opts opts = { .alpha = 2 * TAIL, .paired = m->input->opts.paired };
    const size_t least = m->input->opts.paired ? LEAST_PAIRS : LEAST;
    pfc_compare_result r = { 0 };
    double low, high, centre, fixed, margin;
    ends e;
    collect(m, &e);
    *out = (pfc_finding){ .rel_change = (double)NAN,
                          .rel_low = (double)NAN,
                          .rel_high = (double)NAN,
                          .margin = (double)NAN,
                          .more_runs = (double)INFINITY };
    if (plan_is_exact(m->input)) {
        out->margin = 0;
        without_noise(m, &e, out);
        goto done;
    }
    margin = margin_of(m);
    out->margin = expm1(margin);
    if (!enough(m, &e) ||
        pfc_stats_compare(e.values[0], e.len[0], e.values[1], e.len[1], &opts, &r, NULL)) {
        /* If every run of the bad commit timed out, there is no value that could be compared. */
        if (e.len[0] && e.len[1])
            out->more_runs = (double)((least - PFC_MIN(e.len[0], least)) * !m->input->opts.paired +
                                      (least - PFC_MIN(e.len[1], least)));
        goto done;
    }
    fixed = layout_half(m, &e);
    low = log1p(r.rel_low);
    high = log1p(r.rel_high);
    centre = log1p(r.rel_change);
    low = centre - hypot(centre - low, fixed);
    high = centre + hypot(high - centre, fixed);
    out->known = true;
    out->rel_change = r.rel_change;
    out->rel_low = expm1(low);
    out->rel_high = expm1(high);
    /* Larger is worse where the sign is positive. */
    out->within = m->input->sign > 0 ? high <= margin : low >= -margin;
    out->more_runs =
        out->within ? 0
                    : more_of(m, &e, m->input->sign * centre,
                              m->input->sign > 0 ? high - centre : centre - low, fixed, margin);

done:
    free(e.values[0]);
    free(e.values[1]);
}

bool plan_finding_pays(const plan_model *m, const pfc_finding *f)
{
    const double sd = hypot(m->scales.noise / T_SCALE, m->scales.layout) / log1p(f->margin);
    size_t fewest = m->chain.nodes[m->chain.len - 1].len;
    if (!isfinite(f->more_runs) || f->more_runs <= 0)
        return false;
    if (!m->input->opts.paired)
        fewest = PFC_MIN(fewest, m->chain.nodes[0].len);
    /* A budget that was given may be used up; without one the search ends after the runs that equal
     * ends would need. */
    return m->input->opts.max_runs || !f->known ||
           (double)fewest < ALIKE_RUNS / (m->input->opts.paired ? 2.0 : 1.0) * sd * sd;
}

/* Prints one decimal, or two significant digits of a smaller number. */
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
