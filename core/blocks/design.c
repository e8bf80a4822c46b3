/* The planner of sessions: rounds of all builds, then rounds where a decision is open. */
#include "core/blocks/design.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/blocks/design_priv.h"
#include "core/blocks/order_test.h"
#include "core/blocks/pair_rounds.h"
#include "core/stats/comparison_family.h"
#include "core/stats/dist.h"

#define MARGIN      0.03
#define TEST_MARGIN PFC_COMPARE_MARGIN
#define ALPHA       0.01
#define MOST_ROUNDS 200
#define ROUNDS      2    /* rounds of all builds before any boundary is chosen */
#define SUSPECT     0.02 /* screening p below which a boundary is measured until it is decided */
#define ANEW        4    /* with fewer builds the second block of a round reverses the first */
/* confidence level of the fit's intervals that end a night within the margin; no verdict rests
 * on it */
#define LEVEL 0.85

typedef pfc_design_one series;

pfc_code pfc_design_new(const pfc_design_opts *opts, pfc_design **out, pfc_err *err)
{
    pfc_design *d;
    size_t base;

    if (!opts->builds || opts->builds > PFC_BLOCKS_MAX_BUILDS)
        return pfc_err_set_field(err, PFC_EINVAL, "builds", "builds: expected 1..%d, got %zu",
                                 PFC_BLOCKS_MAX_BUILDS, opts->builds);
    if (opts->anchor >= opts->builds || opts->first > opts->builds)
        return pfc_err_set_field(
            err, PFC_EINVAL, "anchor",
            "anchor and first: expected builds of %zu, got anchor %zu, first %zu", opts->builds,
            opts->anchor, opts->first);
    if (!(opts->margin >= 0.0 && isfinite(opts->margin)) ||
        !(opts->alpha >= 0.0 && opts->alpha < 1.0) || !(opts->budget_s >= 0.0))
        return pfc_err_set_field(err, PFC_EINVAL, "margin",
                                 "margin, alpha and budget: expected at least 0 (alpha below 1), "
                                 "got %g, %g and %g",
                                 opts->margin, opts->alpha, opts->budget_s);
    d = pfc_alloc(sizeof *d);
    d->opts = *opts;
    d->opts.margin = opts->margin > 0.0 ? opts->margin : MARGIN;
    d->opts.alpha = opts->alpha > 0.0 ? opts->alpha : ALPHA;
    d->opts.most_rounds = opts->most_rounds ? opts->most_rounds : MOST_ROUNDS;
    pfc_rng_seed(&d->rng, opts->seed);
    d->dropped = pfc_calloc(opts->builds, sizeof *d->dropped);
    if (opts->gap) {
        d->gap = pfc_calloc(opts->builds, sizeof *d->gap);
        memcpy(d->gap, opts->gap, opts->builds * sizeof *d->gap);
    }
    d->seconds = pfc_calloc(opts->builds, sizeof *d->seconds);
    d->visits = pfc_calloc(opts->builds, sizeof *d->visits);
    base = opts->first ? opts->first - 1 : opts->anchor;
    d->planned = pfc_calloc(ROUNDS * opts->builds, sizeof *d->planned);
    for (size_t r = 0; r < ROUNDS; r++)
        d->planned_len += pfc_design_deal(opts->builds, r % 2 ? base : opts->anchor, &d->rng,
                                          d->planned + d->planned_len);
    *out = d;
    return PFC_OK;
}

static void clear_look(series *s)
{
    free(s->looks);
    free(s->open);
    free(s->suspect);
    free(s->placing);
    free(s->adjusted);
    s->looks = NULL;
    s->open = s->suspect = s->placing = NULL;
    s->adjusted = NULL;
    s->looks_len = 0;
}

void pfc_design_free(pfc_design *design)
{
    if (!design)
        return;
    for (size_t i = 0; i < design->series_len; i++) {
        clear_look(&design->series[i]);
        pfc_orders_free(design->series[i].orders);
        free(design->series[i].visits);
    }
    free(design->series);
    free(design->dropped);
    free(design->gap);
    free(design->seconds);
    free(design->visits);
    free(design->planned);
    free(design);
}

size_t pfc_design_series(pfc_design *design, bool exact)
{
    design->series =
        pfc_grow(design->series, design->series_len, &design->series_cap, sizeof *design->series);
    design->series[design->series_len] =
        (series){ .exact = exact, .stale = true, .wanted = true, .orders = pfc_orders_new() };
    return design->series_len++;
}

void pfc_design_forget(pfc_design *design, size_t at)
{
    if (at >= design->series_len)
        return;
    design->series[at].len = 0;
    design->series[at].stale = true;
}

/* ---- how it stands ---- */

static pfc_blocks_opts blocks_opts(const pfc_design *d, const series *s)
{
    /* A boundary within a night's margin is not measured further, although its test could show
     * smaller changes. */
    const double margin = d->opts.all ? d->opts.margin : fmin(d->opts.margin, TEST_MARGIN);

    return (pfc_blocks_opts){ .builds = d->opts.builds,
                              .anchor = d->opts.anchor,
                              .first = d->opts.first,
                              .gap = d->gap,
                              .margin = margin,
                              .alpha = d->opts.alpha,
                              .exact = s->exact };
}

static void look(const pfc_design *d, series *s)
{
    const pfc_blocks_opts opts = blocks_opts(d, s);
    pfc_twoway fit;
    pfc_spot *spots;
    pfc_boundary_test *looks;
    size_t len;

    if (!s->stale)
        return;
    s->stale = false;
    if (s->exact || pfc_spots_sort(s->visits, s->len, &opts, &spots, NULL))
        return;
    pfc_orders_take(s->orders, spots, s->len);
    looks = pfc_blocks_test_boundaries(spots, s->len, &opts, s->orders, s->looks, s->looks_len,
                                       &fit, &len);
    clear_look(s);
    s->looks = looks;
    s->looks_len = len;
    s->wide = isnan(fit.sigma) ? (double)INFINITY : pfc_stats_student_cut(1.0 - LEVEL, fit.dof);
    s->sigma = fit.sigma;
    s->open = pfc_calloc(s->looks_len, sizeof *s->open);
    s->suspect = pfc_calloc(s->looks_len, sizeof *s->suspect);
    s->placing = pfc_calloc(s->looks_len, sizeof *s->placing);
    s->adjusted = pfc_calloc(s->looks_len, sizeof *s->adjusted);
    pfc_twoway_clear(&fit);
    free(spots);
}

/* The p of all boundaries of all series, adjusted together as the service does. */
static void adjust(pfc_design *d)
{
    size_t n = 0;
    double *p;

    for (size_t i = 0; i < d->series_len; i++)
        n += d->series[i].looks_len;
    p = pfc_calloc(2 * n + 1, sizeof *p);
    n = 0;
    for (size_t i = 0; i < d->series_len; i++) {
        for (size_t k = 0; k < d->series[i].looks_len; k++)
            p[n++] = d->series[i].looks[k].p;
    }
    pfc_stats_fdr_adjust(p, n, p + n);
    for (size_t i = 0, at = n; i < d->series_len; i++) {
        for (size_t k = 0; k < d->series[i].looks_len; k++)
            d->series[i].adjusted[k] = p[at++];
    }
    free(p);
}

static bool different(const pfc_design *d, const series *s, size_t k)
{
    return s->looks[k].p <= d->opts.alpha && s->adjusted[k] <= PFC_BLOCKS_FDR;
}

/* Decides by the test alone. */
static bool decided(const pfc_design *d, const series *s, const pfc_boundary_test *at)
{
    const pfc_seq_opts opts = { .alpha = d->opts.alpha, .margin = d->opts.margin };
    const pfc_blocks_opts blocks = blocks_opts(d, s);
    pfc_interleaved_result r = { .cmp = { .verdict = PFC_VERDICT_INCONCLUSIVE } };
    pfc_spot *spots;
    pfc_round *rounds;
    size_t n;

    if (pfc_spots_sort(s->visits, s->len, &blocks, &spots, NULL))
        return true;
    rounds = pfc_rounds_of(spots, s->len, (uint32_t)at->from, (uint32_t)at->to, &n);
    if (pfc_rounds_judge(rounds, n, &opts, &r, NULL))
        r.cmp.verdict = PFC_VERDICT_SAME;
    free(rounds);
    free(spots);
    return r.cmp.verdict != PFC_VERDICT_INCONCLUSIVE;
}

static bool within(const pfc_design *d, const series *s, const pfc_boundary_test *at)
{
    return fabs(at->log_change) + s->wide * at->log_se <= log1p(d->opts.margin);
}

/* The order test of many builds shows that there is a step, but not yet which build caused it. */
static bool has_no_place(const series *s, size_t k)
{
    const pfc_boundary_test *at = &s->looks[k];

    return at->decided && at->order_p < at->pair_p && at->step.place_low < at->step.place_high;
}

/* Many builds can decide a step whose own two builds have few visits; a comparison of the two needs
 * more. */
static bool has_few(const series *s, const pfc_boundary_test *at)
{
    size_t from = 0;
    size_t to = 0;

    for (size_t i = 0; i < s->len; i++) {
        from += s->visits[i].build == at->from;
        to += s->visits[i].build == at->to;
    }
    return PFC_MIN(from, to) < PFC_COMPARE_LEAST;
}

static void classify(pfc_design *d)
{
    for (size_t i = 0; i < d->series_len; i++)
        look(d, &d->series[i]);
    adjust(d);
    for (size_t i = 0; i < d->series_len; i++) {
        series *s = &d->series[i];

        for (size_t k = 0; k < s->looks_len; k++) {
            const pfc_boundary_test *at = &s->looks[k];

            s->suspect[k] = s->placing[k] = false;
            if (at->gap || at->rounds >= d->opts.most_rounds) {
                s->open[k] = false;
            } else if (d->opts.all) {
                s->open[k] = !decided(d, s, at);
            } else if (different(d, s, k)) {
                s->placing[k] = s->open[k] = has_no_place(s, k) || has_few(s, at);
            } else {
                s->suspect[k] = at->step.chosen && at->step.p < SUSPECT;
                s->open[k] = s->suspect[k] || !within(d, s, at);
            }
        }
    }
}

/* ---- the next block ---- */

static bool misses(const pfc_design *d, const series *s, const size_t *builds, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        bool seen = d->dropped[builds[i]];

        for (size_t k = 0; k < s->len && !seen; k++)
            seen = s->visits[k].build == builds[i];
        if (!seen)
            return true;
    }
    return false;
}

/* Whether a block of these builds brings anything to a session of exact series alone. */
static bool worth(const pfc_design *d, const size_t *builds, size_t len)
{
    if (!d->series_len)
        return true;
    for (size_t i = 0; i < d->series_len; i++) {
        if (!d->series[i].exact || misses(d, &d->series[i], builds, len))
            return true;
    }
    return false;
}

static size_t alive(const pfc_design *d, const size_t *builds, size_t len, size_t *out)
{
    size_t n = 0;

    for (size_t i = 0; i < len; i++) {
        if (!d->dropped[builds[i]])
            out[n++] = builds[i];
    }
    return n;
}

static bool holds(const pfc_design_block *block, size_t build)
{
    for (size_t i = 0; i < block->len; i++) {
        if (block->builds[i] == build)
            return true;
    }
    return false;
}

/* `chosen`: the block is for open boundaries, not one of all builds. */
static bool wants(const pfc_design *d, const series *s, bool chosen)
{
    if (s->exact)
        return misses(d, s, d->block.builds, d->block.len);
    for (size_t k = 0; k < s->looks_len && chosen; k++) {
        if (s->open[k] && holds(&d->block, s->looks[k].from) && holds(&d->block, s->looks[k].to))
            return true;
    }
    return !chosen;
}

static void emit(pfc_design *d, const size_t *builds, size_t len, uint32_t number)
{
    d->block.len = len;
    d->block.number = number;
    memcpy(d->block.builds, builds, len * sizeof *builds);
}

static bool first_block(pfc_design *d)
{
    size_t builds[PFC_BLOCK_BUILDS];
    size_t len = 0;
    bool chosen = false;
    pfc_design_group g;

    while (d->planned_next < d->planned_len && len < 2) {
        g = d->planned[d->planned_next++];
        len = alive(d, g.builds, g.len, builds);
        if (!worth(d, builds, len))
            len = 0;
        if (len == 1 && d->opts.builds == 1)
            break;
    }
    if (len == 0) {
        classify(d);
        if (!pfc_design_focus(d, &g))
            return false;
        len = alive(d, g.builds, g.len, builds);
        if (len < 2)
            return false;
        chosen = true;
    }
    pfc_rng_shuffle(&d->rng, builds, len);
    emit(d, builds, len, 2 * d->round);
    for (size_t i = 0; i < d->series_len; i++)
        d->series[i].wanted = wants(d, &d->series[i], chosen);
    d->second_due = true;
    return true;
}

static bool second_block(pfc_design *d)
{
    size_t builds[PFC_BLOCK_BUILDS];
    const size_t len = alive(d, d->block.builds, d->block.len, builds);

    d->second_due = false;
    d->round++;
    if (len == 0 || (len == 1 && d->block.len > 1) || !worth(d, builds, len))
        return false;
    if (d->block.len >= ANEW) {
        pfc_rng_shuffle(&d->rng, builds, len);
    } else {
        for (size_t i = 0; i < len / 2; i++) {
            const size_t swap = builds[i];

            builds[i] = builds[len - 1 - i];
            builds[len - 1 - i] = swap;
        }
    }
    emit(d, builds, len, d->block.number + 1);
    for (size_t i = 0; i < d->series_len; i++) {
        if (d->series[i].exact)
            d->series[i].wanted = wants(d, &d->series[i], false);
    }
    return true;
}

bool pfc_design_next(pfc_design *design, pfc_design_block *out)
{
    bool any = design->second_due && second_block(design);

    if (!any && !(design->opts.budget_s > 0.0 && design->total_s >= design->opts.budget_s))
        any = first_block(design);
    if (any)
        *out = design->block;
    return any;
}

bool pfc_design_wants(const pfc_design *design, size_t at)
{
    return at >= design->series_len || design->series[at].wanted;
}

/* ---- what comes back ---- */

pfc_code pfc_design_add(pfc_design *design, size_t at, const pfc_visit *visit, pfc_err *err)
{
    series *s;

    if (at >= design->series_len || visit->build >= design->opts.builds)
        return pfc_err_set(err, PFC_EINVAL,
                           "visit: expected series below %zu and build below %zu, got %zu and %u",
                           design->series_len, design->opts.builds, at, visit->build);
    if (!(visit->value > 0.0) || !isfinite(visit->value))
        return pfc_err_set_field(err, PFC_EINVAL, "value",
                                 "value of build %u: expected finite and above 0, got %g",
                                 visit->build, visit->value);
    s = &design->series[at];
    if (s->len == PFC_BLOCKS_MAX_VISITS)
        return pfc_err_set(err, PFC_ETOOBIG, "series: expected at most %d visits",
                           PFC_BLOCKS_MAX_VISITS);
    if (design->dropped[visit->build])
        return PFC_OK;
    s->visits = pfc_grow(s->visits, s->len, &s->cap, sizeof *s->visits);
    s->visits[s->len++] = *visit;
    s->stale = true;
    return PFC_OK;
}

void pfc_design_spent(pfc_design *design, size_t build, double seconds)
{
    if (!(seconds >= 0.0) || !isfinite(seconds))
        return;
    design->total_s += seconds;
    if (build < design->opts.builds) {
        design->seconds[build] += seconds;
        design->visits[build]++;
    }
}

void pfc_design_drop(pfc_design *design, size_t build)
{
    if (build >= design->opts.builds || design->dropped[build])
        return;
    design->dropped[build] = true;
    for (size_t i = 0; i < design->series_len; i++) {
        series *s = &design->series[i];
        size_t len = 0;

        for (size_t k = 0; k < s->len; k++) {
            if (s->visits[k].build != build)
                s->visits[len++] = s->visits[k];
        }
        s->len = len;
        s->stale = true;
        clear_look(s); /* its p-values may include rounds that were removed */
        pfc_orders_free(s->orders);
        s->orders = pfc_orders_new();
    }
}

pfc_code pfc_design_fit(const pfc_design *design, size_t at, pfc_blocks_fit *out, pfc_err *err)
{
    const series *s = &design->series[at];
    const pfc_blocks_opts opts = blocks_opts(design, s);

    return pfc_blocks_judge(s->visits, s->len, &opts, out, err);
}

double pfc_design_total_s(const pfc_design *design)
{
    return design->total_s;
}

/* ---- estimates ---- */

static double seconds_of(const pfc_design *d, size_t build)
{
    double sum = 0.0;
    size_t n = 0;

    if (d->visits[build])
        return d->seconds[build] / (double)d->visits[build];
    for (size_t i = 0; i < d->opts.builds; i++) {
        sum += d->seconds[i];
        n += d->visits[i];
    }
    return n ? sum / (double)n : 0.0;
}

/* Further rounds of the pair that are likely to decide the boundary, either way. */
static double rounds_needed(const pfc_design *d, const series *s, const pfc_boundary_test *at)
{
    const double margin = log1p(d->opts.margin);
    const double change = fabs(at->log_change);
    const double spread = s->wide * at->log_se;
    double n = 1.0;
    double same = (double)INFINITY;

    if (!isfinite(spread))
        return (double)INFINITY;
    /* Visits of each side by which the fit's interval lies within the margin: its width falls with
     * their root, and one round brings two. */
    if (change < margin) {
        const double visits = 2.0 * s->sigma * s->sigma / (at->log_se * at->log_se);

        same = visits * (pow(spread / (margin - change), 2.0) - 1.0) / 2.0;
    }
    /* Rounds by which the test excludes 0 at the level of all boundaries together. */
    while (n < (double)d->opts.most_rounds &&
           0.5 * n * log1p(change * change / (s->sigma * s->sigma)) - 0.5 * log(10.0 * n) <
               log(PFC_SEQ_TESTS * (double)(s->looks_len * d->series_len) / PFC_BLOCKS_FDR))
        n++;
    n = n < (double)d->opts.most_rounds ? fmax(n - (double)at->rounds, 1.0) : (double)INFINITY;
    return fmax(ceil(fmin(n, same)), 1.0);
}

double pfc_design_needs_s(pfc_design *d, size_t build)
{
    double most = 0.0;

    if (build >= d->opts.builds || build < d->opts.first || d->dropped[build])
        return 0.0;
    classify(d);
    for (size_t i = 0; i < d->series_len; i++) {
        const series *s = &d->series[i];

        for (size_t k = 0; k < s->looks_len; k++) {
            const pfc_boundary_test *at = &s->looks[k];

            if (at->to != build || at->gap || different(d, s, k) ||
                (!s->open[k] && at->rounds < d->opts.most_rounds))
                continue;
            most = fmax(most, rounds_needed(d, s, at) * 2.0 *
                                  (seconds_of(d, at->from) + seconds_of(d, at->to)));
        }
    }
    return most;
}
