/* The detector: two rounds of segmentation around an estimate of the noise, then a decision on
 * each candidate. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/stats/detect.h"
#include "core/stats/dist.h"
#include "core/stats/sort.h"

#define HUBER         1.5
#define LOSS_CAP_NATS 20.0

/* A series in units of its noise, with the levels found so far. */
typedef struct fit {
    const pfc_track *track;
    size_t n;
    double *z;        /* value, in sigma */
    int32_t *q;       /* value, in cells */
    uint32_t *starts; /* first points of the later levels */
    size_t changes;
    double *mean; /* of each level, changes + 1 */
    double *scratch;
    pfc_noise noise;
    pfc_loss loss;
    double unit; /* sigma in units of track->y */
} fit;

static size_t level_from(const fit *f, size_t k)
{
    return k ? f->starts[k - 1] : 0;
}

static size_t level_to(const fit *f, size_t k)
{
    return k < f->changes ? f->starts[k] : f->n;
}

static void scale(fit *f, double unit)
{
    const double *y = f->track->y;
    memcpy(f->scratch, y, f->n * sizeof *y);
    double centre = pfc_stats_median_inplace(f->scratch, f->n);
    f->unit = unit;
    for (size_t i = 0; i < f->n; i++) {
        f->z[i] = (y[i] - centre) / unit;
        double cells = PFC_LATTICE * f->z[i];
        cells = PFC_MAX(-(double)PFC_LATTICE_MAX, PFC_MIN((double)PFC_LATTICE_MAX, cells));
        f->q[i] = (int32_t)lrint(cells);
    }
}

static double level_mean(const fit *f, size_t from, size_t to)
{
    size_t n = to - from;
    memcpy(f->scratch, f->z + from, n * sizeof *f->z);
    double centre = pfc_stats_median_inplace(f->scratch, n);
    if (n < 3)
        return centre;
    double sum = 0.0;
    double inside = 0.0;
    for (size_t i = from; i < to; i++) {
        double r = f->z[i] - centre;
        sum += PFC_MAX(-HUBER, PFC_MIN(HUBER, r));
        inside += fabs(r) < HUBER;
    }
    return centre + sum / PFC_MAX(inside, 0.3 * (double)n);
}

/* Smallest |z| of a real change among the n places it could have been: a level of about one false
 * candidate in a hundred series, widened where sigma itself rests on few points. */
static double threshold(const fit *f)
{
    double n = (double)f->n;
    double z = sqrt(2.0 * (log(n) + 4.0));
    double df = n - 2.0 * (double)f->changes - 2.0;
    df = PFC_MAX(df, 2.0);
    return df > 200.0 ? z : sqrt(df * expm1(z * z / df));
}

static double evidence(const fit *f, size_t k)
{
    double na = (double)(level_to(f, k) - level_from(f, k));
    double nb = (double)(level_to(f, k + 1) - level_from(f, k + 1));
    return fabs(f->mean[k + 1] - f->mean[k]) / sqrt(f->noise.inflate * (1.0 / na + 1.0 / nb));
}

static void drop(fit *f, size_t k)
{
    memmove(f->starts + k, f->starts + k + 1, (f->changes - k - 1) * sizeof *f->starts);
    memmove(f->mean + k + 1, f->mean + k + 2, (f->changes - k - 1) * sizeof *f->mean);
    f->changes--;
    f->mean[k] = level_mean(f, level_from(f, k), level_to(f, k));
}

static double margin(const fit *f, size_t k, double need)
{
    size_t left = level_to(f, k) - level_from(f, k);
    size_t right = level_to(f, k + 1) - level_from(f, k + 1);
    double z = evidence(f, k);
    bool last = k + 1 == f->changes;
    if (right < 2 || (right < 3 && !last) || left < 2 || (left < 3 && k > 0))
        return z / need - 1000.0;
    return z / need - 1.0;
}

static void decide(fit *f)
{
    for (size_t k = 0; k <= f->changes; k++)
        f->mean[k] = level_mean(f, level_from(f, k), level_to(f, k));
    while (f->changes > 0) {
        double worst = 0.0;
        size_t at = SIZE_MAX;
        double need = threshold(f);
        for (size_t k = 0; k < f->changes; k++) {
            double m = margin(f, k, need);
            if (m < worst) {
                worst = m;
                at = k;
            }
        }
        if (at == SIZE_MAX)
            break;
        drop(f, at);
    }
}

static double penalty(size_t n)
{
    return 6.0 + 0.5 * log((double)n);
}

static void segment(fit *f)
{
    pfc_loss_init(&f->loss, f->noise.freedom, f->noise.inflate, LOSS_CAP_NATS);
    f->changes = pfc_segment(f->q, f->n, &f->loss, penalty(f->n), f->starts, NULL);
}

static void fit_init(fit *f, const pfc_track *track)
{
    memset(f, 0, sizeof *f);
    f->track = track;
    f->n = track->n;
    f->z = pfc_calloc(f->n, sizeof *f->z);
    f->q = pfc_calloc(f->n, sizeof *f->q);
    f->starts = pfc_calloc(f->n, sizeof *f->starts);
    f->mean = pfc_calloc(f->n + 1, sizeof *f->mean);
    f->scratch = pfc_calloc(2 * f->n, sizeof *f->scratch);
    f->noise = (pfc_noise){ .sigma = 1.0, .freedom = 5.0, .inflate = 1.0 };
}

static void fit_clear(fit *f)
{
    free(f->z);
    free(f->q);
    free(f->starts);
    free(f->mean);
    free(f->scratch);
}

static void fit_run(fit *f)
{
    scale(f, f->track->sigma);
    segment(f);
    for (int round = 0; round < 2; round++) {
        f->noise = pfc_noise_of(f->z, f->n, f->starts, f->changes, f->scratch);
        scale(f, f->unit * f->noise.sigma);
        segment(f);
    }
    decide(f);
}

/* The value at a level of y, back in the caller's unit. */
static double value_at(const pfc_track *track, size_t from, size_t to, double *scratch)
{
    memcpy(scratch, track->raw + from, (to - from) * sizeof *scratch);
    return pfc_stats_median_inplace(scratch, to - from);
}

/* Where else the change could be: weights exp(-loss) over the places between the neighbouring
 * changes, cut on both sides at 5 %. */
static void place_set(const fit *f, size_t k, pfc_change *out)
{
    size_t from = level_from(f, k);
    size_t to = level_to(f, k + 1);
    size_t at = f->starts[k];
    double a = f->mean[k];
    double b = f->mean[k + 1];
    double *weight = f->scratch;
    double loss = 0.0;
    double total = 0.0;
    weight[at - from] = 0.0;
    for (size_t i = at; i + 1 < to; i++) {
        loss += pfc_loss_at(&f->loss, f->z[i] - a) - pfc_loss_at(&f->loss, f->z[i] - b);
        weight[i + 1 - from] = loss;
    }
    loss = 0.0;
    for (size_t i = at; i-- > from + 1;) {
        loss += pfc_loss_at(&f->loss, f->z[i] - b) - pfc_loss_at(&f->loss, f->z[i] - a);
        weight[i - from] = loss;
    }
    for (size_t i = from + 1; i < to; i++) {
        weight[i - from] = exp(-weight[i - from]);
        total += weight[i - from];
    }
    size_t low = from + 1;
    size_t high = to - 1;
    double left = 0.0;
    double right = 0.0;
    while (low < at && left + weight[low - from] <= 0.05 * total)
        left += weight[low++ - from];
    while (high > at && right + weight[high - from] <= 0.05 * total)
        right += weight[high-- - from];
    out->index_low = f->track->place[low];
    out->index_high = f->track->place[high];
}

static double relative(const pfc_track *track, double shift, double before)
{
    if (track->logged)
        return expm1(shift);
    return before != 0.0 ? shift / fabs(before) : 0.0;
}

static void describe(const fit *f, size_t k, const pfc_detect_opts *opts, pfc_change *out)
{
    const pfc_track *track = f->track;
    size_t from = level_from(f, k);
    size_t at = f->starts[k];
    size_t to = level_to(f, k + 1);
    double na = (double)(at - from);
    double nb = (double)(to - at);
    double shift = (f->mean[k + 1] - f->mean[k]) * f->unit;
    double half = 1.96 * f->unit * sqrt(f->noise.inflate * (1.0 / na + 1.0 / nb));
    memset(out, 0, sizeof *out);
    out->index = track->place[at];
    place_set(f, k, out);
    out->before = value_at(track, from, at, f->scratch);
    out->after = value_at(track, at, to, f->scratch);
    if (!track->logged) {
        /* y is the value over the largest one: back to the value's own unit. */
        double most = 0.0;
        for (size_t i = 0; i < f->n; i++)
            most = PFC_MAX(most, fabs(track->raw[i]));
        shift *= most;
        half *= most;
    }
    out->rel_change = relative(track, shift, out->before);
    out->rel_low = relative(track, shift - half, out->before);
    out->rel_high = relative(track, shift + half, out->before);
    out->p = PFC_MAX(pfc_stats_normal_tail2(evidence(f, k)), 1e-300);
    out->regression = (out->after < out->before) == opts->higher_is_better;
    out->confirmed = nb >= 5.0;
}

static void collect(const fit *f, const pfc_detect_opts *opts, pfc_detection *out)
{
    double floor_rel = opts->min_rel > 0.0 ? opts->min_rel : 0.0;
    out->changes = pfc_calloc(f->changes, sizeof *out->changes);
    for (size_t k = 0; k < f->changes; k++) {
        pfc_change change;
        describe(f, k, opts, &change);
        if (fabs(change.rel_change) >= floor_rel)
            out->changes[out->changes_len++] = change;
    }
    out->noise_rel = f->track->logged ? expm1(f->unit) : f->unit;
}

/* Without noise every lasting difference is a change. Lasting: three points, or two at the end. A
 * metric declared exact needs less: what does not return within two points has lasted. */
static bool lasts(const pfc_track *track, size_t i, double level, bool declared)
{
    const double *v = track->raw;
    size_t n = track->n;
    if (v[i] == level)
        return false;
    if (declared)
        return !(i + 1 < n && v[i + 1] == level) && !(i + 2 < n && v[i + 2] == level);
    if (i + 1 >= n || v[i + 1] != v[i])
        return false;
    return i + 2 >= n || v[i + 2] == v[i];
}

static void detect_exact(const pfc_track *track, const pfc_detect_opts *opts, pfc_detection *out)
{
    size_t cap = 0;
    double level = track->n ? track->raw[0] : 0.0;
    for (size_t i = 1; i < track->n; i++) {
        if (!lasts(track, i, level, opts->exact))
            continue;
        double now = track->raw[i];
        double rel = level != 0.0 ? (now - level) / fabs(level) : (now > level ? 1.0 : -1.0);
        size_t at = track->place[i];
        level = now;
        if (fabs(rel) < opts->min_rel)
            continue;
        out->changes = pfc_grow(out->changes, out->changes_len, &cap, sizeof *out->changes);
        out->changes[out->changes_len++] =
            (pfc_change){ .index = at,
                          .index_low = at,
                          .index_high = at,
                          .before = track->raw[i - 1],
                          .after = now,
                          .rel_change = rel,
                          .rel_low = rel,
                          .rel_high = rel,
                          .p = 0.0,
                          .regression = (rel < 0.0) == opts->higher_is_better,
                          .confirmed = i + 2 < track->n };
    }
}

static pfc_code check(const pfc_point *points, size_t n, const pfc_detect_opts *opts, pfc_err *err)
{
    if (n > PFC_SERIES_MAX_POINTS)
        return pfc_err_set(err, PFC_ETOOBIG, "series: want at most %d points, got %zu",
                           PFC_SERIES_MAX_POINTS, n);
    if (n > 0 && !points)
        return pfc_err_set(err, PFC_EINVAL, "series: want %zu points, got none", n);
    if (!(opts->min_rel >= 0.0 && isfinite(opts->min_rel)))
        return pfc_err_set_field(err, PFC_EINVAL, "min_rel", "min_rel: want at least 0, got %g",
                                 opts->min_rel);
    if (!(opts->alpha >= 0.0 && opts->alpha < 1.0))
        return pfc_err_set_field(err, PFC_EINVAL, "alpha", "alpha: want 0..1, got %g", opts->alpha);
    return PFC_OK;
}

pfc_code pfc_stats_detect(const pfc_point *points, size_t n, const pfc_detect_opts *opts,
                          pfc_detection *out, pfc_err *err)
{
    static const pfc_detect_opts defaults = { 0 };
    if (!opts)
        opts = &defaults;
    pfc_code code = check(points, n, opts, err);
    if (code)
        return code;
    memset(out, 0, sizeof *out);
    pfc_track track;
    pfc_track_init(&track, points, n, opts);
    if (track.exact) {
        detect_exact(&track, opts, out);
    } else if (track.n >= 4) {
        fit f;
        fit_init(&f, &track);
        fit_run(&f);
        collect(&f, opts, out);
        fit_clear(&f);
    }
    pfc_track_clear(&track);
    return PFC_OK;
}

void pfc_detection_clear(pfc_detection *d)
{
    if (!d)
        return;
    free(d->changes);
    memset(d, 0, sizeof *d);
}
