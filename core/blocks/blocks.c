/* Builds measured in blocks, judged: checks, the test of a boundary, and the answers put together.
 */
#include "core/blocks/blocks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/blocks/blocks_priv.h"
#include "core/blocks/order_test.h"
#include "core/blocks/pair_rounds.h"
#include "core/stats/dist.h"

#define LEVEL      0.95 /* confidence level of the fit's intervals */
#define ALPHA      0.01
/* tests of a boundary that divides a stretch; each gets half of alpha, so that both together keep
 * it */
#define TESTS      2.0
#define BISECTIONS 10
/* limit of the search for an interval's end, in multiples of the fitted step */
#define FAR        4.0

/* ---- input ---- */

static int by_time(const void *a, const void *b)
{
    const pfc_spot *x = a, *y = b;

    if (x->block != y->block)
        return x->block < y->block ? -1 : 1;
    return (x->position > y->position) - (x->position < y->position);
}

static pfc_code check_opts(const pfc_blocks_opts *opts, size_t n, pfc_err *err)
{
    if (!opts->builds || opts->builds > PFC_BLOCKS_MAX_BUILDS)
        return pfc_err_set_field(err, PFC_EINVAL, "builds", "builds: expected 1..%d, got %zu",
                                 PFC_BLOCKS_MAX_BUILDS, opts->builds);
    if (opts->anchor >= opts->builds)
        return pfc_err_set_field(err, PFC_EINVAL, "anchor",
                                 "anchor: expected a build below %zu, got %zu", opts->builds,
                                 opts->anchor);
    if (opts->first > opts->builds)
        return pfc_err_set_field(err, PFC_EINVAL, "first", "first: expected 0..%zu, got %zu",
                                 opts->builds, opts->first);
    if (!(opts->margin >= 0.0 && isfinite(opts->margin)))
        return pfc_err_set_field(err, PFC_EINVAL, "margin", "margin: expected at least 0, got %g",
                                 opts->margin);
    if (!(opts->alpha >= 0.0 && opts->alpha < 1.0))
        return pfc_err_set_field(err, PFC_EINVAL, "alpha",
                                 "alpha: expected at least 0 and below 1, got %g", opts->alpha);
    if (n > PFC_BLOCKS_MAX_VISITS)
        return pfc_err_set_field(err, PFC_EINVAL, "visits", "visits: expected at most %d, got %zu",
                                 PFC_BLOCKS_MAX_VISITS, n);
    return PFC_OK;
}

/* `spots` in the order of time: no place twice, no build twice in a block, no block too long. */
static pfc_code check_blocks(const pfc_spot *spots, size_t n, pfc_err *err)
{
    for (size_t i = 0, from = 0; i < n; i++) {
        if (spots[i].block != spots[from].block)
            from = i;
        if (i - from >= PFC_BLOCK_BUILDS)
            return pfc_err_set_field(err, PFC_EINVAL, "visits",
                                     "block %u: expected at most %d visits, got more",
                                     spots[i].block, PFC_BLOCK_BUILDS);
        if (i > from && spots[i].position == spots[i - 1].position)
            return pfc_err_set_field(err, PFC_EINVAL, "visits",
                                     "block %u: expected one visit at position %u, got two",
                                     spots[i].block, spots[i].position);
        for (size_t j = from; j < i; j++) {
            if (spots[j].build == spots[i].build)
                return pfc_err_set_field(err, PFC_EINVAL, "visits",
                                         "block %u: expected build %u once, got it twice",
                                         spots[i].block, spots[i].build);
        }
    }
    return PFC_OK;
}

pfc_code pfc_spots_sort(const pfc_visit *visits, size_t n, const pfc_blocks_opts *opts,
                        pfc_spot **out, pfc_err *err)
{
    pfc_code code = check_opts(opts, n, err);
    pfc_spot *spots;

    if (code)
        return code;
    spots = pfc_calloc(n ? n : 1, sizeof *spots);
    for (size_t i = 0; i < n && !code; i++) {
        const pfc_visit *v = &visits[i];

        if (v->build >= opts->builds)
            code = pfc_err_set_field(err, PFC_EINVAL, "visits",
                                     "visit %zu: expected a build below %zu, got %u", i,
                                     opts->builds, v->build);
        else if (!(v->value > 0.0) || !isfinite(v->value))
            code = pfc_err_set_field(err, PFC_EINVAL, "visits",
                                     "visit %zu: expected a finite value above 0, got %g", i,
                                     v->value);
        else
            spots[i] = (pfc_spot){ v->build, v->block, v->position, v->value, log(v->value) };
    }
    if (!code) {
        qsort(spots, n, sizeof *spots, by_time);
        code = check_blocks(spots, n, err);
    }
    if (code)
        free(spots);
    else
        *out = spots;
    return code;
}

/* ---- rounds ---- */

/* Finds the visits of one round, [i, next). Returns false if a build does not have two of them. */
static bool fill_round(const pfc_spot *spots, size_t i, size_t next, uint32_t from, uint32_t to,
                       pfc_round *out)
{
    size_t sides[2] = { 0, 0 };
    size_t last = 0;

    for (size_t at = i; at < next; at++) {
        const size_t place = sides[0] + sides[1];
        const bool side = spots[at].build == to;

        if ((spots[at].build != from && !side) || place == PFC_ROUND_VISITS)
            continue;
        sides[side]++;
        out->y[place] = spots[at].y;
        out->to[place] = side;
        /* The time since the pair's last visit does not matter, because this round starts next to
         * it. */
        out->gap[place] = place ? (uint32_t)(at - last) : 1;
        last = at;
    }
    return sides[0] == 2 && sides[1] == 2;
}

pfc_round *pfc_rounds_of(const pfc_spot *spots, size_t n, uint32_t from, uint32_t to, size_t *len)
{
    pfc_round *rounds = pfc_calloc(n / PFC_INTERLEAVED_ROUND + 1, sizeof *rounds);
    size_t out = 0;

    for (size_t i = 0, next; i < n; i = next) {
        for (next = i; next < n && spots[next].block / 2 == spots[i].block / 2;)
            next++;
        out += fill_round(spots, i, next, from, to, &rounds[out]);
    }
    *len = out;
    return rounds;
}

static double alpha_of(const pfc_blocks_opts *opts)
{
    return opts->alpha > 0.0 ? opts->alpha : ALPHA;
}

static pfc_seq_opts test_opts(const pfc_blocks_opts *opts)
{
    return (pfc_seq_opts){ .alpha = opts->alpha, .margin = opts->margin };
}

/* ---- looks ---- */

static double known_p(const pfc_boundary_test *look, const pfc_boundary_test *known, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (known[i].from == look->from && known[i].to == look->to &&
            known[i].rounds == look->rounds)
            return known[i].pair_p;
    }
    return (double)NAN;
}

/* A gap stays a gap if its build has no values. */
static bool gap_between(const pfc_blocks_opts *opts, size_t from, size_t to)
{
    bool any = false;

    for (size_t b = from + 1; b <= to && opts->gap; b++)
        any |= opts->gap[b];
    return any;
}

static void find_gaps(const pfc_blocks_opts *opts, const size_t *present, size_t m, bool *gaps)
{
    for (size_t i = 1; i < m; i++)
        gaps[i] = gap_between(opts, present[i - 1], present[i]);
}

pfc_boundary_test *pfc_blocks_test_boundaries(const pfc_spot *spots, size_t n,
                                              const pfc_blocks_opts *opts, pfc_orders *orders,
                                              const pfc_boundary_test *known, size_t known_len,
                                              pfc_twoway *fit, size_t *len)
{
    pfc_boundary_test *looks = pfc_calloc(opts->builds, sizeof *looks);
    pfc_step *steps = pfc_calloc(opts->builds, sizeof *steps);
    size_t *present = pfc_calloc(opts->builds, sizeof *present);
    bool *gaps = pfc_calloc(opts->builds, sizeof *gaps);
    size_t m = 0;
    size_t skipped = 0;

    *len = 0;
    pfc_twoway_fit(spots, n, opts->builds, opts->anchor, fit);
    for (size_t i = 0; i < opts->builds; i++) {
        if (fit->visits[i])
            present[m++] = i;
    }
    find_gaps(opts, present, m, gaps);
    pfc_steps_find(fit, present, m, opts->first, gaps, steps);
    for (size_t i = 1; i < m; i++) {
        pfc_boundary_test *look = &looks[*len];
        const pfc_seq_opts test = test_opts(opts);
        pfc_round *rounds;

        if (present[i] < opts->first) {
            skipped = i;
            continue;
        }
        *look = (pfc_boundary_test){
            .from = present[i - 1], .to = present[i], .gap = gaps[i], .step = steps[i]
        };
        look->step.place_low = PFC_MAX(steps[i].place_low, skipped + 1) - skipped - 1;
        look->step.place_high = PFC_MAX(steps[i].place_high, skipped + 1) - skipped - 1;
        look->log_change = fit->effect[look->to] - fit->effect[look->from];
        look->log_se = pfc_twoway_se(fit, look->from, look->to);
        rounds = pfc_rounds_of(spots, n, (uint32_t)look->from, (uint32_t)look->to, &look->rounds);
        look->pair_p = known_p(look, known, known_len);
        if (isnan(look->pair_p))
            look->pair_p = pfc_rounds_p(rounds, look->rounds, &test);
        free(rounds);
        (*len)++;
    }
    skipped = 0;
    while (skipped < *len && looks[skipped].from < opts->apart)
        skipped++;
    pfc_stretches_divide(orders, looks, skipped, *len, alpha_of(opts));
    /* Two builds alone have one test: that of a comparison. */
    for (size_t i = 0; i < *len; i++)
        looks[i].p = i < skipped || *len < skipped + 2 || looks[i].gap
                         ? looks[i].pair_p
                         : fmin(TESTS * fmin(looks[i].pair_p, looks[i].order_p), 1.0);
    free(gaps);
    free(steps);
    free(present);
    return looks;
}

/* ---- judgement ---- */

static void fill_levels(const pfc_spot *spots, size_t n, const pfc_blocks_opts *opts,
                        const pfc_twoway *fit, double wide, pfc_blocks_fit *out)
{
    double *values = pfc_calloc(n ? n : 1, sizeof *values);

    for (size_t b = 0; b < opts->builds; b++) {
        pfc_block_level *level = &out->levels[b];
        size_t len = 0;

        *level = (pfc_block_level){ fit->visits[b], (double)NAN, (double)NAN,
                                    (double)NAN,    (double)NAN, (double)NAN };
        for (size_t i = 0; i < n; i++) {
            if (spots[i].build == b)
                values[len++] = spots[i].value;
        }
        if (!len)
            continue;
        level->median = pfc_stats_median(values, len);
        if (opts->exact || !fit->visits[opts->anchor] || fit->part[b] != fit->part[opts->anchor])
            continue;
        const double at = fit->effect[b] - fit->effect[opts->anchor];

        level->ratio = exp(at);
        level->log_se = b == opts->anchor ? 0.0 : pfc_twoway_se(fit, opts->anchor, b);
        level->low = exp(at - wide * level->log_se);
        level->high = exp(at + wide * level->log_se);
        if (b == opts->anchor)
            level->low = level->high = 1.0;
    }
    free(values);
}

/* ---- what the order of many builds decides ---- */

typedef struct session {
    const pfc_spot *spots;
    size_t n;
    const pfc_blocks_opts *opts;
    const pfc_boundary_test *looks;
    size_t looks_len;
    double wide; /* standard errors of half an interval */
} session;

/* The builds of the stretch that the step of look k divides, with the other decided steps taken as
 * given. */
static void stretch_of(const session *s, size_t k, uint32_t *low, uint32_t *high)
{
    size_t from = k;
    size_t to = k;

    while (from > 0 && !pfc_boundary_ends_stretch(&s->looks[from - 1]) &&
           s->looks[from - 1].from >= s->opts->apart)
        from--;
    while (to + 1 < s->looks_len && !pfc_boundary_ends_stretch(&s->looks[to + 1]))
        to++;
    *low = (uint32_t)s->looks[from].from;
    *high = (uint32_t)s->looks[to].to;
}

/* Returns true if a step of that size is excluded at look k. */
static bool excluded(const session *s, size_t k, double shift)
{
    pfc_orders *orders = pfc_orders_new();
    uint32_t low;
    uint32_t high;
    double p;

    stretch_of(s, k, &low, &high);
    pfc_orders_shift(orders, (uint32_t)s->looks[k].to, high, shift);
    pfc_orders_take(orders, s->spots, s->n);
    p = pfc_orders_p(orders, low, high, (uint32_t)s->looks[k].to);
    pfc_orders_free(orders);
    return TESTS * p <= alpha_of(s->opts);
}

/* The last step on the way from `in`, which is not excluded, to `out` that is not excluded either.
 */
static double last_possible(const session *s, size_t k, double in, double out)
{
    for (int i = 0; i < BISECTIONS; i++) {
        const double mid = 0.5 * (in + out);

        if (excluded(s, k, mid))
            out = mid;
        else
            in = mid;
    }
    return out;
}

/* Intersects the pair's interval with that of the order test over all looks. */
static void cut_by_order(const session *s, size_t k, pfc_boundary *out)
{
    const double at = s->looks[k].step.rel;
    const double far = FAR * at;
    const double near = last_possible(s, k, at, 0.0);
    const double end =
        excluded(s, k, far) ? last_possible(s, k, at, far) : copysign((double)INFINITY, at);

    out->any_low = fmax(out->any_low, expm1(fmin(near, end)));
    out->any_high = fmin(out->any_high, expm1(fmax(near, end)));
}

/* Whether the test of the pair is open or decided, the stretches hold more visits and therefore
 * give the size and the place. */
static void take_order(const session *s, size_t k, pfc_boundary *out)
{
    const pfc_step *step = &s->looks[k].step;

    out->by_order = true;
    out->verdict = PFC_VERDICT_DIFFERENT;
    out->more = 0;
    out->rel_change = expm1(step->rel);
    out->rel_low = expm1(step->rel - s->wide * step->se);
    out->rel_high = expm1(step->rel + s->wide * step->se);
    cut_by_order(s, k, out);
    if (TESTS * s->looks[k].pair_p <= alpha_of(s->opts))
        return;
    out->place_from = s->looks[step->place_low].from;
    out->place_to = s->looks[step->place_high].to;
}

static pfc_code judge_boundary(const session *s, size_t k, pfc_boundary *out, pfc_err *err)
{
    const pfc_seq_opts o = test_opts(s->opts);
    const pfc_boundary_test *look = &s->looks[k];
    pfc_interleaved_result r;
    size_t len;
    pfc_round *rounds =
        pfc_rounds_of(s->spots, s->n, (uint32_t)look->from, (uint32_t)look->to, &len);
    const pfc_code code = pfc_rounds_judge(rounds, len, &o, &r, err);

    free(rounds);
    if (code)
        return code;
    *out = (pfc_boundary){
        .from = look->from,
        .to = look->to,
        .gap = look->gap,
        .place_from = look->from,
        .place_to = look->to,
        .verdict = r.cmp.verdict,
        .rel_change = expm1(look->log_change),
        .rel_low = expm1(look->log_change - s->wide * look->log_se),
        .rel_high = expm1(look->log_change + s->wide * look->log_se),
        .any_low = r.cmp.rel_low,
        .any_high = r.cmp.rel_high,
        .p = look->p,
        .screen_p = look->step.p,
        .rounds = len,
        .more = r.more,
    };
    /* A boundary whose two builds were shown to be the same cannot be the place of a step between
     * stretches. */
    if (!look->gap && TESTS * look->order_p <= alpha_of(s->opts) &&
        r.cmp.verdict != PFC_VERDICT_SAME)
        take_order(s, k, out);
    return PFC_OK;
}

static pfc_code judge_noisy(const pfc_spot *spots, size_t n, const pfc_blocks_opts *opts,
                            pfc_blocks_fit *out, pfc_err *err)
{
    session s = { .spots = spots, .n = n, .opts = opts };
    pfc_orders *orders = pfc_orders_new();
    pfc_twoway fit;
    pfc_boundary_test *looks;
    pfc_code code = PFC_OK;

    pfc_orders_take(orders, spots, n);
    s.looks = looks =
        pfc_blocks_test_boundaries(spots, n, opts, orders, NULL, 0, &fit, &s.looks_len);
    pfc_orders_free(orders);
    s.wide = isnan(fit.sigma) ? (double)INFINITY : pfc_stats_student_cut(1.0 - LEVEL, fit.dof);
    out->noise_rel = expm1(fit.sigma);
    out->moves = fit.moves;
    fill_levels(spots, n, opts, &fit, s.wide, out);
    for (size_t i = 0; i < s.looks_len && !code; i++)
        code = judge_boundary(&s, i, &out->boundaries[i], err);
    out->boundaries_len = s.looks_len;
    free(looks);
    pfc_twoway_clear(&fit);
    return code;
}

/* One value of each build: any difference is a change. No test is made, so p is NAN
 * (stats/comparison_family.h). */
static void judge_exact(const pfc_spot *spots, size_t n, const pfc_blocks_opts *opts,
                        pfc_blocks_fit *out)
{
    pfc_twoway none = { .builds = opts->builds };
    size_t before = opts->builds;

    none.visits = pfc_calloc(opts->builds, sizeof *none.visits);
    none.effect = pfc_calloc(opts->builds, sizeof *none.effect);
    none.part = pfc_calloc(opts->builds, sizeof *none.part);
    for (size_t i = 0; i < n; i++)
        none.visits[spots[i].build]++;
    fill_levels(spots, n, opts, &none, 0.0, out);
    out->noise_rel = 0.0;
    for (size_t b = 0; b < opts->builds; b++) {
        pfc_block_level *level = &out->levels[b];
        const double anchor = out->levels[opts->anchor].median;
        double change;

        if (!level->visits)
            continue;
        level->ratio = level->low = level->high = level->median / anchor;
        level->log_se = 0.0;
        if (before < opts->builds && b >= opts->first) {
            change = level->median / out->levels[before].median - 1.0;
            out->boundaries[out->boundaries_len++] = (pfc_boundary){
                .from = before,
                .to = b,
                .gap = gap_between(opts, before, b),
                .place_from = before,
                .place_to = b,
                .verdict = change == 0.0 ? PFC_VERDICT_SAME : PFC_VERDICT_DIFFERENT,
                .rel_change = change,
                .rel_low = change,
                .rel_high = change,
                .any_low = change,
                .any_high = change,
                .p = (double)NAN,
                .screen_p = change == 0.0 ? 1.0 : 0.0,
                .rounds = PFC_MIN(level->visits, out->levels[before].visits) / 2,
            };
        }
        before = b;
    }
    pfc_twoway_clear(&none);
}

pfc_code pfc_blocks_judge(const pfc_visit *visits, size_t n, const pfc_blocks_opts *opts,
                          pfc_blocks_fit *out, pfc_err *err)
{
    pfc_spot *spots = NULL;
    pfc_code code;

    *out = (pfc_blocks_fit){ 0 };
    code = pfc_spots_sort(visits, n, opts, &spots, err);
    if (code)
        return code;
    out->levels = pfc_calloc(opts->builds, sizeof *out->levels);
    out->levels_len = opts->builds;
    out->boundaries = pfc_calloc(opts->builds, sizeof *out->boundaries);
    if (opts->exact)
        judge_exact(spots, n, opts, out);
    else
        code = judge_noisy(spots, n, opts, out, err);
    free(spots);
    return code;
}

bool pfc_boundary_within(const pfc_boundary *b, double margin)
{
    /* Of a normal's half width at 95 %, 1.645 / 1.960 is that at 90 %. */
    const double half = 0.5 * (log1p(b->rel_high) - log1p(b->rel_low)) * 0.8393;

    return isfinite(half) && fabs(log1p(b->rel_change)) + half <= log1p(margin);
}

void pfc_blocks_fit_clear(pfc_blocks_fit *fit)
{
    if (!fit)
        return;
    free(fit->levels);
    free(fit->boundaries);
    *fit = (pfc_blocks_fit){ 0 };
}
