/* One pass over a stretch of a series: runs the stages and converts their results to the caller's
 * points. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/changepoint/segment/fit.h"
#include "core/stats/dist.h"
#include "core/stats/sort.h"

/* relative changes below this are not reported, because they need no action */
#define FLOOR_REL   0.005
#define FLOOR_NOISE 1.0   /* ... unless the noise is so low that the change is evident */
#define PLACE_NATS  12.0  /* log-likelihood loss beyond which a location has no weight */
/* A set of whole places that just reaches 0.9 holds more: with this share the sets of the
 * development corpus hold the truth in 93 % of its changes. */
#define PLACE_SHARE 0.70
#define OFF_LEVEL   3.0 /* distance from a level, in sigma, beyond which a point is off it */
#define WATCH_MOST  7

/* The value at a level of y, back in the caller's unit. */
static double value_at(const pfc_clean_series *track, size_t from, size_t to, double *scratch)
{
    memcpy(scratch, track->raw + from, (to - from) * sizeof *scratch);
    return pfc_stats_median_spend(scratch, to - from);
}

/* Weights exp(-loss) of the places on one side of `at`, at most `len` of them and no farther than
 * they weigh anything: weight[0] is the nearest. Returns how many. `low` and `high` are the levels
 * on this side and on the other. */
static size_t weigh_side(const pfc_fit *f, size_t at, size_t len, bool before, double own,
                         double other, double *weight)
{
    double loss = 0.0;
    size_t i = 0;
    for (; i < len && loss < PLACE_NATS; i++) {
        double z = f->z[before ? at - 1 - i : at + i];
        loss += pfc_loss_at(&f->loss, z - other) - pfc_loss_at(&f->loss, z - own);
        weight[i] = exp(-loss);
    }
    return i;
}

/* Where else the change could be: the places around it, likelier ones first, that together weigh
 * PLACE_SHARE of all between the neighbouring changes. */
static void place_set(const pfc_fit *f, size_t k, pfc_change *out)
{
    size_t at = f->starts[k];
    double *left = f->scratch;
    double *right = f->scratch + f->n;
    size_t lefts =
        weigh_side(f, at, at - pfc_level_from(f, k) - 1, true, f->mean[k], f->mean[k + 1], left);
    size_t rights = weigh_side(f, at, pfc_level_to(f, k + 1) - at - 1, false, f->mean[k + 1],
                               f->mean[k], right);
    double total = 1.0;
    for (size_t i = 0; i < lefts; i++)
        total += left[i];
    for (size_t i = 0; i < rights; i++)
        total += right[i];
    size_t low = 0;
    size_t high = 0;
    double held = 1.0;
    while (held < PLACE_SHARE * total && (low < lefts || high < rights)) {
        double l = low < lefts ? left[low] : -1.0;
        double r = high < rights ? right[high] : -1.0;
        if (l >= r)
            low++;
        else
            high++;
        held += PFC_MAX(l, r);
    }
    out->index_low = f->track->place[at - low];
    out->index_high = f->track->place[at + high];
}

static double relative(const pfc_clean_series *track, double shift, double before)
{
    if (track->logged)
        return expm1(shift);
    return before != 0.0 ? shift / fabs(before) : 0.0;
}

/* For a confirmed change the light pass only checks that it still exists: its location and levels
 * were reported when it was confirmed. */
static void describe(const pfc_fit *f, size_t k, const pfc_detect_opts *opts, bool sparing,
                     pfc_found_change *seen)
{
    const pfc_clean_series *track = f->track;
    size_t from = pfc_level_from(f, k);
    size_t at = f->starts[k];
    size_t to = pfc_level_to(f, k + 1);
    double na = (double)(at - from);
    double nb = (double)(to - at);
    double z = pfc_fit_evidence(f, k);
    double shift = (f->mean[k + 1] - f->mean[k]) * f->unit * track->most;
    double half = 1.96 * f->unit * track->most * sqrt(f->noise.inflate * (1.0 / na + 1.0 / nb));
    *seen = (pfc_found_change){ .z = z,
                                .jump = fabs(f->mean[k + 1] - f->mean[k]),
                                .before = at - from,
                                .after = to - at,
                                .fixed = pfc_is_confirmed_start(f, f->starts[k]) };
    pfc_change *out = &seen->change;
    out->index = track->place[at];
    if (sparing && seen->fixed)
        return;
    place_set(f, k, out);
    out->before = value_at(track, from, at, f->scratch);
    out->after = value_at(track, at, to, f->scratch);
    out->rel_change = relative(track, shift, out->before);
    out->rel_low = relative(track, shift - half, out->before);
    out->rel_high = relative(track, shift + half, out->before);
    out->p = PFC_MAX(pfc_stats_normal_tail2(z), PFC_P_MIN);
    out->regression = (out->after < out->before) == opts->higher_is_better;
}

static double mean_of(const double *x, size_t n)
{
    double mean = 0.0;
    for (size_t i = 0; i < n; i++)
        mean += (x[i] - mean) / (double)(i + 1);
    return mean;
}

/* A change of the states' shares must not move the levels: it changes the mean, not the states. */
static void describe_mix(const pfc_fit *f, const pfc_detect_opts *opts, pfc_found_change *seen)
{
    pfc_change *out = &seen->change;
    const double *raw = f->track->raw;
    size_t at = f->shares_at;
    size_t slack = PFC_MIN((size_t)3, PFC_MIN(at - 1, f->n - 1 - at));
    *seen = (pfc_found_change){
        .z = sqrt(2.0 * f->shares_gain), .before = at, .after = f->n - at, .shares = true
    };
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
    out->p = PFC_MAX(pfc_stats_normal_tail2(seen->z), PFC_P_MIN);
    out->regression = (out->after < out->before) == opts->higher_is_better;
}

/* Points (missing ones not counted) from the last change on, when that is not settled yet. */
static size_t since_open(const pfc_clean_series *track, const pfc_detect_pass *out)
{
    if (out->len == 0 || out->seen[out->len - 1].fixed)
        return 0;
    size_t len = 0;
    while (len < track->n &&
           track->place[track->n - 1 - len] >= out->seen[out->len - 1].change.index)
        len++;
    return len;
}

static size_t watched(const pfc_fit *f, const pfc_detect_pass *out)
{
    size_t len = since_open(f->track, out);
    if (len > 0)
        return len;
    double level = f->mean[f->changes];
    bool above = f->z[f->n - 1] > level;
    while (len < f->n && fabs(f->z[f->n - 1 - len] - level) > OFF_LEVEL &&
           (f->z[f->n - 1 - len] > level) == above)
        len++;
    return len <= WATCH_MOST ? len : 0;
}

static void keep_level(const pfc_fit *f, pfc_detect_pass *out)
{
    const pfc_clean_series *track = f->track;
    size_t last = f->n - 1;
    pfc_level *level = &out->level;
    level->unit = f->unit;
    level->inflate = f->noise.inflate;
    level->freedom = f->noise.freedom;
    level->gap = f->gap;
    level->period = f->period;
    level->degree = f->degree;
    memcpy(level->wave, f->wave, sizeof level->wave);
    /* The trend is held constant beyond the data, because a polynomial cannot be extrapolated. */
    double trend = track->y[last] - f->a[last] - pfc_wave_at(level, last);
    level->at = f->centre + f->mean[f->changes] * f->unit + trend;
}

/* From positions in the stretch to positions in the caller's points. */
static void move(pfc_detect_pass *look, size_t offset)
{
    for (size_t k = 0; k < look->len; k++) {
        look->seen[k].change.index += offset;
        look->seen[k].change.index_low += offset;
        look->seen[k].change.index_high += offset;
    }
}

static void collect(const pfc_fit *f, const pfc_detect_opts *opts, const pfc_stretch *stretch,
                    pfc_detect_pass *out)
{
    size_t len = 0;
    bool mix = f->shares_at > 0;
    free(out->seen);
    out->len = 0;
    out->seen = pfc_calloc(f->changes + 1, sizeof *out->seen);
    for (size_t k = 0; k <= f->changes; k++) {
        size_t at = k < f->changes ? f->starts[k] : f->n;
        if (mix && f->shares_at < at) {
            describe_mix(f, opts, &out->seen[len++]);
            mix = false;
        }
        if (k < f->changes)
            describe(f, k, opts, stretch->worth != NULL, &out->seen[len++]);
    }
    out->noise_rel = f->track->logged ? expm1(f->unit) : f->unit;
    double usual = PFC_MIN(FLOOR_REL, FLOOR_NOISE * out->noise_rel);
    double floor_rel = opts->min_rel > 0.0 ? opts->min_rel : usual;
    for (size_t k = 0; k < len; k++) {
        if (out->seen[k].fixed || fabs(out->seen[k].change.rel_change) >= floor_rel)
            out->seen[out->len++] = out->seen[k];
    }
    out->watching = watched(f, out);
    keep_level(f, out);
    move(out, stretch->from);
}

/* Without noise every lasting difference is a change. Lasting: three points, or two at the end. A
 * metric declared exact needs less: what does not return within two points has lasted. */
static bool lasts(const pfc_clean_series *track, size_t i, double level, bool declared)
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

/* Changes without noise; settled ones stay, found or not. */
static void look_exact(const pfc_clean_series *track, const pfc_detect_opts *opts,
                       pfc_confirmed_starts fixed, size_t offset, pfc_detect_pass *out)
{
    size_t cap = 0;
    size_t next = 0;
    size_t from = 0;
    double level = track->n ? track->raw[0] : 0.0;
    for (size_t i = 1; i < track->n; i++) {
        bool is_fixed = next < fixed.len && fixed.at[next] == i;
        next += is_fixed;
        if (!is_fixed && !lasts(track, i, level, opts->exact))
            continue;
        double now = track->raw[i];
        double rel = level != 0.0 ? (now - level) / fabs(level) : (now > level) - (now < level);
        size_t at = track->place[i];
        size_t before = i - from;
        level = now;
        from = i;
        if (fabs(rel) < opts->min_rel && !is_fixed)
            continue;
        out->seen = pfc_grow(out->seen, out->len, &cap, sizeof *out->seen);
        out->seen[out->len++] =
            (pfc_found_change){ .change = { .index = at,
                                            .index_low = at,
                                            .index_high = at,
                                            .before = track->raw[i - 1],
                                            .after = now,
                                            .rel_change = rel,
                                            .rel_low = rel,
                                            .rel_high = rel,
                                            .p = PFC_P_MIN,
                                            .regression = (rel < 0.0) == opts->higher_is_better },
                                .z = (double)INFINITY,
                                .before = before,
                                .after = track->n - i,
                                .fixed = is_fixed };
    }
    out->level.at = level;
    out->watching = since_open(track, out);
    while (out->watching < track->n && track->raw[track->n - 1 - out->watching] != level)
        out->watching++;
    move(out, offset);
}

/* Fits levels with the known noise. The remaining changes decide whether a full pass is needed. */
static void look_light(const pfc_clean_series *track, const pfc_detect_opts *opts,
                       pfc_confirmed_starts fixed, const pfc_stretch *stretch,
                       pfc_segment_space *space, pfc_detect_pass *out)
{
    pfc_fit f;
    pfc_fit_init(&f, track, fixed, space);
    pfc_fit_known(&f, track->sigma, stretch->known->freedom, stretch->known->inflate);
    pfc_fit_decide(&f);
    collect(&f, opts, stretch, out);
    out->whole = false;
    out->wanted = stretch->worth(out, stretch->user);
    pfc_fit_clear(&f);
}

static void look_noisy(const pfc_clean_series *track, const pfc_detect_opts *opts,
                       pfc_confirmed_starts fixed, const pfc_stretch *stretch,
                       pfc_segment_space *space, pfc_detect_pass *out)
{
    pfc_fit f;
    pfc_fit_init(&f, track, fixed, space);
    pfc_fit_run(&f, track->sigma);
    if (stretch->worth) {
        uint32_t *starts = pfc_segment_space_take(space, (f.changes + 1) * sizeof *starts);
        size_t changes = f.changes;
        memcpy(starts, f.starts, changes * sizeof *starts);
        pfc_fit_decide(&f);
        collect(&f, opts, stretch, out);
        out->whole = stretch->worth(out, stretch->user);
        f.changes = changes;
        memcpy(f.starts, starts, changes * sizeof *starts);
        pfc_segment_space_give(space, starts);
    }
    if (out->whole) {
        pfc_fit_explain(&f);
        pfc_fit_decide(&f);
        pfc_fit_state_shares(&f);
        collect(&f, opts, stretch, out);
    }
    pfc_fit_clear(&f);
}

/* Positions in the caller's points as positions among those that are not missing. */
static pfc_confirmed_starts on_track(const pfc_clean_series *track, size_t from,
                                     pfc_confirmed_starts fixed, uint32_t *out)
{
    size_t i = 0;
    for (size_t k = 0; k < fixed.len; k++) {
        while (track->place[i] + from < fixed.at[k])
            i++;
        out[k] = (uint32_t)i;
    }
    return (pfc_confirmed_starts){ out, fixed.len };
}

void pfc_detect_pass_run(pfc_detect_pass *look, const pfc_point *points, const pfc_stretch *stretch,
                         const pfc_detect_opts *opts, pfc_segment_space *space)
{
    pfc_clean_series track;
    size_t from = stretch->from;
    memset(look, 0, sizeof *look);
    look->light = stretch->known != NULL;
    if (!pfc_clean_series_init(&track, points, from, stretch->to - from, opts, stretch->known,
                               space) ||
        (look->light && track.n < 4)) {
        pfc_clean_series_clear(&track);
        look->wanted = true;
        return;
    }
    uint32_t *at = pfc_calloc(stretch->fixed.len + 1, sizeof *at);
    track.places = PFC_MAX(stretch->places, (size_t)2);
    track.more = stretch->more;
    pfc_confirmed_starts fixed = on_track(&track, from, stretch->fixed, at);
    look->whole = true;
    look->from = from;
    look->points = track.n;
    look->exact = track.exact;
    look->level = (pfc_level){
        .most = track.most, .summary = track.summary, .logged = track.logged, .inflate = 1.0
    };
    if (look->light)
        look_light(&track, opts, fixed, stretch, space, look);
    else if (track.exact)
        look_exact(&track, opts, fixed, from, look);
    else if (track.n >= 4)
        look_noisy(&track, opts, fixed, stretch, space, look);
    pfc_clean_series_clear(&track);
    free(at);
}

void pfc_detect_pass_clear(pfc_detect_pass *look)
{
    free(look->seen);
    memset(look, 0, sizeof *look);
}

double pfc_wave_at(const pfc_level *level, size_t i)
{
    if (!(level->period > 0.0))
        return 0.0;
    double angle = 2.0 * M_PI / level->period * (double)i;
    return level->wave[0] * cos(angle) + level->wave[1] * sin(angle) +
           level->wave[2] * cos(2.0 * angle) + level->wave[3] * sin(2.0 * angle);
}
