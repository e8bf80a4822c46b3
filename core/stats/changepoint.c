/* The detector, strung together, and its findings in the caller's terms. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/stats/dist.h"
#include "core/stats/fit.h"
#include "core/stats/sort.h"

#define FLOOR_REL        0.005 /* what nobody acts on */
#define FLOOR_NOISE      1.0   /* ... unless the series is so calm that it is plain to see */
#define OFF_LEVEL        3.0   /* sigma */
#define WATCH_MOST       7
#define CONFIRM_LONG     20.0
#define CONFIRM_POINTS   5.0
#define CONFIRM_EVIDENCE 7.0

/* The value at a level of y, back in the caller's unit. */
static double value_at(const pfc_track *track, size_t from, size_t to, double *scratch)
{
    memcpy(scratch, track->raw + from, (to - from) * sizeof *scratch);
    return pfc_stats_median_inplace(scratch, to - from);
}

/* Where else the change could be: weights exp(-loss) over the places between the neighbouring
 * changes, cut on both sides at 5 %. */
static void place_set(const pfc_fit *f, size_t k, pfc_change *out)
{
    size_t from = pfc_level_from(f, k);
    size_t to = pfc_level_to(f, k + 1);
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

static void describe(const pfc_fit *f, size_t k, const pfc_detect_opts *opts, pfc_change *out)
{
    const pfc_track *track = f->track;
    size_t from = pfc_level_from(f, k);
    size_t at = f->starts[k];
    size_t to = pfc_level_to(f, k + 1);
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
    out->p = PFC_MAX(pfc_stats_normal_tail2(pfc_fit_evidence(f, k)), PFC_P_MIN);
    out->regression = (out->after < out->before) == opts->higher_is_better;
    /* Few points are confirmed only by a jump far beyond the threshold, or the next point may take
     * the change back. */
    double z = pfc_fit_evidence(f, k);
    out->confirmed = nb >= CONFIRM_LONG || (nb >= CONFIRM_POINTS && z >= CONFIRM_EVIDENCE);
}

static double mean_of(const double *x, size_t n)
{
    double mean = 0.0;
    for (size_t i = 0; i < n; i++)
        mean += (x[i] - mean) / (double)(i + 1);
    return mean;
}

/* A change of the states' shares moves the mean, not the states. */
static void describe_mix(const pfc_fit *f, const pfc_detect_opts *opts, pfc_change *out)
{
    const double *raw = f->track->raw;
    size_t at = f->mix_at;
    size_t slack = PFC_MIN((size_t)3, PFC_MIN(at - 1, f->n - 1 - at));
    memset(out, 0, sizeof *out);
    out->index = f->track->place[at];
    out->index_low = f->track->place[at - slack];
    out->index_high = f->track->place[at + slack];
    out->before = mean_of(raw, at);
    out->after = mean_of(raw + at, f->n - at);
    double na = (double)at;
    double nb = (double)(f->n - at);
    double sa = pfc_stats_sd(raw, at);
    double sb = pfc_stats_sd(raw + at, f->n - at);
    double half = 1.96 * sqrt(sa * sa / na + sb * sb / nb);
    double base = fabs(out->before) > 0.0 ? fabs(out->before) : 1.0;
    out->rel_change = (out->after - out->before) / base;
    out->rel_low = (out->after - out->before - half) / base;
    out->rel_high = (out->after - out->before + half) / base;
    out->p = PFC_MAX(pfc_stats_normal_tail2(sqrt(2.0 * f->mix_gain)), PFC_P_MIN);
    out->regression = (out->after < out->before) == opts->higher_is_better;
    out->confirmed = true;
}

/* Points (missing ones not counted) from the last change on, when that is provisional. */
static size_t since_provisional(const pfc_track *track, const pfc_detection *out)
{
    if (out->changes_len == 0 || out->changes[out->changes_len - 1].confirmed)
        return 0;
    size_t len = 0;
    while (len < track->n &&
           track->place[track->n - 1 - len] >= out->changes[out->changes_len - 1].index)
        len++;
    return len;
}

static size_t watched(const pfc_fit *f, const pfc_detection *out)
{
    size_t len = since_provisional(f->track, out);
    if (len > 0)
        return len;
    double level = f->mean[f->changes];
    bool above = f->z[f->n - 1] > level;
    while (len < f->n && fabs(f->z[f->n - 1 - len] - level) > OFF_LEVEL &&
           (f->z[f->n - 1 - len] > level) == above)
        len++;
    return len <= WATCH_MOST ? len : 0;
}

static void collect(const pfc_fit *f, const pfc_detect_opts *opts, pfc_detection *out)
{
    size_t len = 0;
    bool mix = f->mix_at > 0;
    out->changes = pfc_calloc(f->changes + 1, sizeof *out->changes);
    for (size_t k = 0; k <= f->changes; k++) {
        size_t at = k < f->changes ? f->starts[k] : f->n;
        if (mix && f->mix_at < at) {
            describe_mix(f, opts, &out->changes[len++]);
            mix = false;
        }
        if (k < f->changes)
            describe(f, k, opts, &out->changes[len++]);
    }
    out->noise_rel = f->track->logged ? expm1(f->unit) : f->unit;
    double usual = PFC_MIN(FLOOR_REL, FLOOR_NOISE * out->noise_rel);
    double floor_rel = opts->min_rel > 0.0 ? opts->min_rel : usual;
    for (size_t k = 0; k < len; k++) {
        if (fabs(out->changes[k].rel_change) >= floor_rel)
            out->changes[out->changes_len++] = out->changes[k];
    }
    out->watching = watched(f, out);
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
                          .p = PFC_P_MIN,
                          .regression = (rel < 0.0) == opts->higher_is_better,
                          .confirmed = i + 2 < track->n };
    }
    out->watching = since_provisional(track, out);
    while (out->watching < track->n && track->raw[track->n - 1 - out->watching] != level)
        out->watching++;
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
        pfc_fit f;
        pfc_segment_space space = { 0 };
        pfc_fit_init(&f, &track, &space);
        pfc_fit_run(&f, track.sigma);
        pfc_fit_explain(&f);
        pfc_fit_decide(&f);
        pfc_fit_mix(&f);
        collect(&f, opts, out);
        pfc_fit_clear(&f);
        pfc_segment_space_clear(&space);
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
