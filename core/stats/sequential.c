/* E-processes on the differences of logarithms, and what follows from them. */
#include "core/stats/sequential.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/stats/dist.h"

#define ALPHA_DEFAULT  0.01
#define MARGIN_DEFAULT 0.01
#define FLOOR_DEFAULT  1e-4
#define MIN_DEFAULT    4
#define POWER          0.8
/* Precision of the standardised shift's prior: small, for regressions worth a report are several
 * standard deviations of a launch. With 1 instead of 0.1 no verdict at 0.01 could come before the
 * sixth pair; at 20 pairs the interval would be 7 % narrower. */
#define PRIOR          0.1
#define SPLITS         64 /* grid points at which an extremum is searched before it is refined */

/* ---- one sample, normal ---- */

/* Variance with divisor n, of values that are no finer than the floor. */
static double variance(const pfc_seq_sums *x, double floor_rel)
{
    return x->m2 / (double)x->n + floor_rel * floor_rel;
}

/* Logarithm of the e-process before any shift is seen: the cost of integrating over unknown
 * shifts. */
static double log_e_least(double n)
{
    return 0.5 * log(PRIOR / (n + PRIOR));
}

/* log of the e-process against "the mean lies `off` away from the sample's". */
static double log_e_at(double n, double var, double off)
{
    double r = off * off;
    return log_e_least(n) - 0.5 * n * log1p(-n * r / ((n + PRIOR) * (var + r)));
}

/* How far from the sample's mean the e-process stays below exp(log_e): the inverse of log_e_at. */
static double half_width(double n, double var, double log_e)
{
    double k = -expm1(-2.0 * (log_e - log_e_least(n)) / n);
    double room = n / (n + PRIOR) - k;
    return room > 0.0 ? sqrt(k * var / room) : (double)INFINITY;
}

/* ---- two samples, normal ---- */

typedef struct two {
    double na, nb, va, vb;
    double total; /* distance of the means, or log of e to share out */
} two;

typedef double (*curve)(const two *t, double x);

/* Smallest value of f on [low, high]: the best of a grid, refined by golden section. */
static double least_of(curve f, const two *t, double low, double high)
{
    const double golden = 0.61803398874989485;
    double step = (high - low) / SPLITS;
    double best = f(t, low);
    double at = low;
    for (int i = 1; i <= SPLITS; i++) {
        double y = f(t, low + i * step);
        if (y < best) {
            best = y;
            at = low + i * step;
        }
    }
    double from = fmax(low, at - step);
    double to = fmin(high, at + step);
    for (int i = 0; i < 40; i++) {
        double x1 = to - golden * (to - from);
        double x2 = from + golden * (to - from);
        double y1 = f(t, x1);
        double y2 = f(t, x2);
        best = fmin(best, fmin(y1, y2));
        if (y1 < y2)
            to = x2;
        else
            from = x1;
    }
    return best;
}

static double log_e_product(const two *t, double level)
{
    return log_e_at(t->na, t->va, level) + log_e_at(t->nb, t->vb, t->total - level);
}

/* A shift is not excluded if some share of the allowed log e to each side reaches it. */
static double minus_reach(const two *t, double share)
{
    return -half_width(t->na, t->va, share) - half_width(t->nb, t->vb, t->total - share);
}

static two two_of(const pfc_seq *seq)
{
    return (two){ .na = (double)seq->a.n,
                  .nb = (double)seq->b.n,
                  .va = variance(&seq->a, seq->opts.floor_rel),
                  .vb = variance(&seq->b, seq->opts.floor_rel) };
}

static double two_log_e(const pfc_seq *seq)
{
    two t = two_of(seq);
    t.total = fabs(seq->b.mean - seq->a.mean);
    return least_of(log_e_product, &t, 0.0, t.total);
}

static double two_half_width(const two *counts, double log_e)
{
    two t = *counts;
    t.total = log_e;
    return -least_of(minus_reach, &t, log_e_least(t.na), log_e - log_e_least(t.nb));
}

/* ---- signs ---- */

/* log of Krichevsky and Trofimov's bet on n coins of which k fell on one side. */
static double log_e_coins(size_t k, size_t n)
{
    double up = (double)k;
    double down = (double)(n - k);
    return (double)n * M_LN2 + lgamma(up + 0.5) + lgamma(down + 0.5) - lgamma((double)n + 1.0) -
           log(M_PI);
}

/* Counts the order statistics outside the interval at each end. Returns false if even the outermost
 * must be inside. */
static bool coins_cut(size_t n, double log_e, size_t *cut)
{
    size_t k = 0;
    while (2 * k < n && log_e_coins(k, n) >= log_e)
        k++;
    *cut = k ? k - 1 : 0;
    return k > 0;
}

static size_t first_above(const double *x, size_t n, double value)
{
    size_t low = 0;
    while (low < n) {
        size_t mid = low + (n - low) / 2;
        if (x[mid] > value)
            n = mid;
        else
            low = mid + 1;
    }
    return low;
}

static double coins_log_e(const pfc_seq *seq)
{
    size_t n = seq->d.n;
    size_t above = n - first_above(seq->diffs, n, 0.0);
    size_t below = first_above(seq->diffs, n, nextafter(0.0, -1.0));
    return log_e_coins(above, above + below);
}

static void keep_sorted(pfc_seq *seq, double d)
{
    size_t n = seq->d.n - 1; /* already counted */
    size_t at = first_above(seq->diffs, n, d);
    seq->diffs = pfc_grow(seq->diffs, n, &seq->diffs_cap, sizeof *seq->diffs);
    memmove(seq->diffs + at + 1, seq->diffs + at, (n - at) * sizeof *seq->diffs);
    seq->diffs[at] = d;
}

/* ---- looks ---- */

static void sums_add(pfc_seq_sums *x, double v)
{
    double off = v - x->mean;
    x->n++;
    x->mean += off / (double)x->n;
    x->m2 += off * (v - x->mean);
}

static bool by_pairs(const pfc_seq *seq)
{
    return seq->opts.paired || seq->opts.method == PFC_SEQ_SIGN;
}

static bool enough(const pfc_seq *seq)
{
    size_t n = by_pairs(seq) ? seq->d.n : PFC_MIN(seq->a.n, seq->b.n);
    return n >= seq->opts.min_values;
}

static double shift(const pfc_seq *seq)
{
    if (seq->opts.method == PFC_SEQ_SIGN)
        return seq->d.n ? 0.5 * seq->diffs[(seq->d.n - 1) / 2] + 0.5 * seq->diffs[seq->d.n / 2]
                        : 0.0;
    return seq->opts.paired ? seq->d.mean : seq->b.mean - seq->a.mean;
}

static pfc_interval interval_now(const pfc_seq *seq)
{
    double log_e = -log(seq->opts.alpha);
    double at = shift(seq);
    size_t cut = 0;
    double half;
    if (seq->opts.method == PFC_SEQ_SIGN) {
        if (!coins_cut(seq->d.n, log_e, &cut))
            return (pfc_interval){ at, -(double)INFINITY, (double)INFINITY };
        return (pfc_interval){ at, seq->diffs[cut], seq->diffs[seq->d.n - 1 - cut] };
    }
    if (seq->opts.paired) {
        half = half_width((double)seq->d.n, variance(&seq->d, seq->opts.floor_rel), log_e);
    } else {
        two t = two_of(seq);
        half = two_half_width(&t, log_e);
    }
    return (pfc_interval){ at, at - half, at + half };
}

static double log_e_now(const pfc_seq *seq)
{
    if (seq->opts.method == PFC_SEQ_SIGN)
        return coins_log_e(seq);
    if (seq->opts.paired)
        return log_e_at((double)seq->d.n, variance(&seq->d, seq->opts.floor_rel), seq->d.mean);
    return two_log_e(seq);
}

static void look(pfc_seq *seq)
{
    if (!enough(seq))
        return;
    pfc_interval now = interval_now(seq);
    seq->log_e = fmax(seq->log_e, log_e_now(seq));
    seq->low = fmax(seq->low, now.low);
    seq->high = fmin(seq->high, now.high);
    seq->torn = seq->torn || seq->low > seq->high;
}

/* ---- public ---- */

pfc_code pfc_seq_init(pfc_seq *seq, const pfc_seq_opts *opts, pfc_err *err)
{
    pfc_seq_opts o = opts ? *opts : (pfc_seq_opts){ 0 };
    if (!(o.alpha >= 0.0 && o.alpha < 1.0))
        return pfc_err_set_field(err, PFC_EINVAL, "alpha", "alpha: expected 0..1, got %g", o.alpha);
    if (!(o.margin >= 0.0 && isfinite(o.margin)))
        return pfc_err_set_field(err, PFC_EINVAL, "margin", "margin: expected at least 0, got %g",
                                 o.margin);
    if (!(o.floor_rel >= 0.0 && isfinite(o.floor_rel)))
        return pfc_err_set_field(err, PFC_EINVAL, "floor_rel",
                                 "noise floor: expected at least 0, got %g", o.floor_rel);
    o.alpha = o.alpha > 0.0 ? o.alpha : ALPHA_DEFAULT;
    o.margin = o.margin > 0.0 ? o.margin : MARGIN_DEFAULT;
    o.floor_rel = o.floor_rel > 0.0 ? o.floor_rel : FLOOR_DEFAULT;
    o.min_values = o.min_values ? PFC_MAX(o.min_values, (size_t)2) : MIN_DEFAULT;
    *seq = (pfc_seq){ .opts = o, .low = -(double)INFINITY, .high = (double)INFINITY };
    return PFC_OK;
}

void pfc_seq_clear(pfc_seq *seq)
{
    if (!seq)
        return;
    free(seq->diffs);
    free(seq->waiting);
    *seq = (pfc_seq){ 0 };
}

static pfc_code check(const pfc_seq *seq, pfc_seq_side side, double v, bool paired, pfc_err *err)
{
    const char *name = side == PFC_SEQ_A ? "a" : "b";
    size_t n = side == PFC_SEQ_A ? seq->a.n : seq->b.n;
    if (seq->opts.paired != paired)
        return pfc_err_set_field(err, PFC_EINVAL, "paired", "this comparison takes %s",
                                 seq->opts.paired ? "pairs" : "values of one side");
    if (!(v > 0.0) || !isfinite(v))
        return pfc_err_set_field(err, PFC_EINVAL, name,
                                 "side %s: expected finite values above 0, got %g", name, v);
    if (n >= PFC_STATS_MAX_SAMPLES)
        return pfc_err_set_field(err, PFC_EINVAL, name, "side %s: expected at most %d values", name,
                                 PFC_STATS_MAX_SAMPLES);
    return PFC_OK;
}

static void add_difference(pfc_seq *seq, double d)
{
    sums_add(&seq->d, d);
    if (seq->opts.method == PFC_SEQ_SIGN)
        keep_sorted(seq, d);
}

pfc_code pfc_seq_pair(pfc_seq *seq, double a, double b, pfc_err *err)
{
    pfc_code code = check(seq, PFC_SEQ_A, a, true, err);
    if (!code)
        code = check(seq, PFC_SEQ_B, b, true, err);
    if (code)
        return code;
    sums_add(&seq->a, log(a));
    sums_add(&seq->b, log(b));
    add_difference(seq, log(b) - log(a));
    look(seq);
    return PFC_OK;
}

/* Pairs the value with the oldest unpaired value of the other side; if there is none, the value is
 * kept until one comes. */
static void match_up(pfc_seq *seq, pfc_seq_side side, double v)
{
    bool ahead = side == PFC_SEQ_A ? seq->a.n > seq->b.n : seq->b.n > seq->a.n;
    if (ahead) {
        seq->waiting =
            pfc_grow(seq->waiting, seq->waiting_len, &seq->waiting_cap, sizeof *seq->waiting);
        seq->waiting[seq->waiting_len++] = v;
        return;
    }
    double partner = seq->waiting[seq->waiting_first++];
    if (seq->waiting_first == seq->waiting_len)
        seq->waiting_first = seq->waiting_len = 0;
    add_difference(seq, side == PFC_SEQ_A ? partner - v : v - partner);
    look(seq);
}

pfc_code pfc_seq_add(pfc_seq *seq, pfc_seq_side side, double value, pfc_err *err)
{
    pfc_code code = check(seq, side, value, false, err);
    if (code)
        return code;
    sums_add(side == PFC_SEQ_A ? &seq->a : &seq->b, log(value));
    if (seq->opts.method == PFC_SEQ_SIGN)
        match_up(seq, side, log(value));
    else
        look(seq);
    return PFC_OK;
}

static double sd_of(const pfc_seq_sums *x)
{
    return x->n < 2 ? 0.0 : sqrt(x->m2 / (double)(x->n - 1));
}

static double standard_error(const pfc_seq *seq)
{
    double da = sd_of(&seq->a);
    double db = sd_of(&seq->b);
    if (by_pairs(seq))
        return seq->d.n ? sd_of(&seq->d) / sqrt((double)seq->d.n) : (double)INFINITY;
    return seq->a.n && seq->b.n ? sqrt(da * da / (double)seq->a.n + db * db / (double)seq->b.n)
                                : (double)INFINITY;
}

static pfc_verdict verdict_of(const pfc_compare_result *r, double margin)
{
    if (r->rel_low >= -margin && r->rel_high <= margin)
        return PFC_VERDICT_SAME;
    if (r->rel_low > 0.0 || r->rel_high < 0.0)
        return PFC_VERDICT_DIFFERENT;
    return PFC_VERDICT_INCONCLUSIVE;
}

void pfc_seq_result(const pfc_seq *seq, pfc_compare_result *out)
{
    pfc_interval range = { shift(seq), seq->low, seq->high };
    if (seq->torn)
        range = interval_now(seq);
    *out = (pfc_compare_result){
        .rel_change = expm1(range.value),
        .rel_low = expm1(range.low),
        .rel_high = expm1(range.high),
        .p = PFC_MAX(exp(-PFC_MAX(seq->log_e, 0.0)), PFC_P_MIN),
        .noise_rel = expm1(PFC_MAX(sd_of(&seq->a), sd_of(&seq->b))),
        .detectable_rel = (double)INFINITY,
    };
    if (!enough(seq))
        return;
    /* The change that the interval of this many values excludes with the wanted power. */
    pfc_interval now = interval_now(seq);
    out->detectable_rel =
        expm1(0.5 * (now.high - now.low) + pfc_stats_normal_quantile(POWER) * standard_error(seq));
    if (!seq->torn)
        out->verdict = verdict_of(out, seq->opts.margin);
}

/* Half the interval if n values a side had been seen with today's spread. */
static double half_width_at(const pfc_seq *seq, size_t n)
{
    double log_e = -log(seq->opts.alpha);
    if (by_pairs(seq))
        return half_width((double)n, variance(&seq->d, seq->opts.floor_rel), log_e);
    two t = two_of(seq);
    t.na = PFC_MAX(t.na, (double)n);
    t.nb = PFC_MAX(t.nb, (double)n);
    return two_half_width(&t, log_e);
}

size_t pfc_seq_need(const pfc_seq *seq, size_t limit)
{
    if (!enough(seq))
        return 0;
    double at = fabs(shift(seq));
    double margin = log1p(seq->opts.margin);
    /* To exclude 0 the half-width must fall below the shift; for "same" it must fall below the rest
     * of the margin. The larger of the two is reached first. */
    double wanted = PFC_MAX(at, margin - at);
    size_t low = 1;
    size_t high = limit;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (half_width_at(seq, mid) <= wanted)
            high = mid;
        else
            low = mid + 1;
    }
    return PFC_MAX(PFC_MIN(low, limit), PFC_MIN(seq->opts.min_values, limit));
}
