/* From points to one value each: which summary of the repeats, on which scale, how noisy. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/changepoint/stages.h"
#include "core/stats/sort.h"

#define DIFFERENCE_TO_SIGMA (1.482602218505602 * M_SQRT1_2)
/* repeats of one point that are used; more add hardly anything to its location */
#define REPEATS_MAX         1024
#define REPEATS_SHARE       0.9  /* of the points must carry repeats before they are used */
#define EXACT_SHARE         0.8  /* of neighbours must be equal in a series without noise */
#define EXACT_MIN           6
#define ALPHA_DEFAULT       0.01
#define ALPHA_MOST          0.5

/* Ways to summarise the repeats of a point. Which one is least noisy depends on the benchmark:
 * the mean under symmetric noise, the low ones where other jobs only ever add time. The handicap
 * keeps a choice that is better by chance from winning. */
enum { BY_MEDIAN, BY_MIDDLE, BY_MEAN, BY_LOWER, BY_MIN, SUMMARIES };
static const double handicap[SUMMARIES] = { 1.0, 1.0, 1.02, 1.03, 1.06 };

static double mean_of(const double *x, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += x[i] / (double)n;
    return sum;
}

static void summarise(const pfc_point *point, bool higher_is_better, double *out)
{
    double x[REPEATS_MAX];
    size_t n = 0;
    for (size_t i = 0; i < point->repeats_len && n < REPEATS_MAX; i++) {
        if (isfinite(point->repeats[i]))
            x[n++] = higher_is_better ? -point->repeats[i] : point->repeats[i];
    }
    if (n == 0) {
        for (int s = 0; s < SUMMARIES; s++)
            out[s] = point->v;
        return;
    }
    pfc_stats_sort(x, n);
    size_t trim = n / 4;
    out[BY_MEDIAN] = 0.5 * x[(n - 1) / 2] + 0.5 * x[n / 2];
    out[BY_MIDDLE] = mean_of(x + trim, n - 2 * trim);
    out[BY_MEAN] = mean_of(x, n);
    out[BY_LOWER] = mean_of(x, (n + 1) / 2);
    out[BY_MIN] = x[0];
    for (int s = 0; s < SUMMARIES; s++)
        out[s] = higher_is_better ? -out[s] : out[s];
}

double pfc_summary_of(const pfc_point *point, int summary, bool higher_is_better)
{
    double out[SUMMARIES];
    if (summary < 0)
        return point->v;
    summarise(point, higher_is_better, out);
    return out[summary];
}

double pfc_noise_of_steps(const double *y, size_t n, double *scratch)
{
    if (n < 2)
        return 0.0;
    for (size_t i = 0; i + 1 < n; i++)
        scratch[i] = fabs(y[i + 1] - y[i]);
    return DIFFERENCE_TO_SIGMA * pfc_stats_median_spend(scratch, n - 1);
}

/* Logarithms where every value allows it: noise of timings grows with the timing. `from`: slot of
 * place 0 in the memory for logarithms. */
static bool to_scale(const double *x, const uint32_t *place, size_t n, size_t from,
                     pfc_segment_space *space, double *y, double *scale)
{
    bool positive = true;
    double most = 0.0;
    for (size_t i = 0; i < n; i++) {
        positive = positive && x[i] > 0.0;
        most = PFC_MAX(most, fabs(x[i]));
    }
    for (size_t i = 0; i < n && positive; i++)
        y[i] = pfc_segment_space_log(space, from + place[i], x[i]);
    for (size_t i = 0; i < n && !positive; i++)
        y[i] = most > 0.0 ? x[i] / most : 0.0;
    *scale = positive || !(most > 0.0) ? 1.0 : most;
    return positive;
}

static bool repeats_usable(const pfc_point *points, const uint32_t *place, size_t n)
{
    size_t with = 0;
    for (size_t i = 0; i < n; i++)
        with += points[place[i]].repeats && points[place[i]].repeats_len >= 3;
    return n > 0 && (double)with >= REPEATS_SHARE * (double)n;
}

static void choose_summary(pfc_clean_series *track, const pfc_point *points, bool higher,
                           pfc_segment_space *space, double *scratch)
{
    size_t n = track->n;
    double *all = pfc_calloc(n * SUMMARIES, sizeof *all);
    double *y = pfc_calloc(n, sizeof *y);
    double best = (double)INFINITY;
    for (size_t i = 0; i < n; i++) {
        double out[SUMMARIES];
        summarise(&points[track->place[i]], higher, out);
        for (size_t s = 0; s < SUMMARIES; s++)
            all[s * n + i] = out[s];
    }
    for (size_t s = 0; s < SUMMARIES; s++) {
        double most;
        bool logged = to_scale(all + s * n, track->place, n, s * n, space, y, &most);
        double noise = pfc_noise_of_steps(y, n, scratch) * handicap[s];
        if (s > 0 && !(noise < best && logged == track->logged))
            continue;
        best = noise;
        track->logged = logged;
        track->summary = (int)s;
        track->most = most;
        memcpy(track->raw, all + s * n, n * sizeof *y);
        memcpy(track->y, y, n * sizeof *y);
    }
    free(y);
    free(all);
}

static bool is_exact(const double *raw, size_t n)
{
    size_t equal = 0;
    for (size_t i = 0; i + 1 < n; i++)
        equal += raw[i] == raw[i + 1];
    return n >= EXACT_MIN && (double)equal >= EXACT_SHARE * (double)(n - 1);
}

/* Noise that the median of differences calls zero, because most neighbours are equal: the mean
 * difference instead, bounded so that a step does not pass for noise. */
static double coarse_noise(const double *y, size_t n)
{
    double least = (double)INFINITY;
    for (size_t i = 0; i + 1 < n; i++) {
        double d = fabs(y[i + 1] - y[i]);
        if (d > 0.0)
            least = PFC_MIN(least, d);
    }
    double sum = 0.0;
    for (size_t i = 0; i + 1 < n; i++)
        sum += PFC_MIN(fabs(y[i + 1] - y[i]), 3.0 * least);
    return n > 1 && isfinite(least) ? sum / (double)(n - 1) * 0.8862 : 0.0;
}

double pfc_clean_series_step_s(const pfc_clean_series *track, double *scratch)
{
    size_t len = 0;
    size_t n = track->n;
    for (size_t i = 0; i + 1 < n; i++) {
        double step = track->points[track->place[i + 1]].t - track->points[track->place[i]].t;
        if (isfinite(step) && step > 0.0)
            scratch[len++] = step;
    }
    return 2 * len > n ? pfc_stats_median_spend(scratch, len) : (double)NAN;
}

static void take_over(pfc_clean_series *track, const pfc_point *points, bool higher,
                      const pfc_level *known)
{
    track->summary = known->summary;
    for (size_t i = 0; i < track->n; i++)
        track->raw[i] = pfc_summary_of(&points[track->place[i]], known->summary, higher);
}

bool pfc_clean_series_init(pfc_clean_series *track, const pfc_point *points, size_t from, size_t n,
                           const pfc_detect_opts *opts, const pfc_level *known,
                           pfc_segment_space *space)
{
    points += from;
    memset(track, 0, sizeof *track);
    track->points = points;
    if (opts->alpha > 0.0)
        track->strict = log(ALPHA_DEFAULT / PFC_MIN(opts->alpha, ALPHA_MOST));
    track->space = space;
    track->y = pfc_segment_space_take(space, n * (3 * sizeof *track->y + sizeof *track->place));
    track->raw = track->y + n;
    double *scratch = track->raw + n;
    track->place = (uint32_t *)(scratch + n);
    for (size_t i = 0; i < n; i++) {
        track->place[track->n] = (uint32_t)i;
        track->n += isfinite(points[i].v) != 0;
    }
    track->places = track->n;
    bool repeats = known ? known->summary >= 0
                         : !opts->exact && repeats_usable(points, track->place, track->n);
    if (repeats && !known) {
        choose_summary(track, points, opts->higher_is_better, space, scratch);
    } else {
        const pfc_level plain = { .summary = -1 };
        take_over(track, points, opts->higher_is_better, known ? known : &plain);
        track->logged =
            to_scale(track->raw, track->place, track->n, from, space, track->y, &track->most);
    }
    if (repeats && track->n > 0)
        track->last = &points[track->place[track->n - 1]];
    track->exact = opts->exact || is_exact(track->raw, track->n);
    if (known) {
        track->sigma = known->unit * known->most / track->most;
        return !track->exact && track->logged == known->logged;
    }
    if (!track->exact) {
        track->sigma = pfc_noise_of_steps(track->y, track->n, scratch);
        if (!(track->sigma > 0.0))
            track->sigma = coarse_noise(track->y, track->n);
        if (!(track->sigma > 0.0))
            track->exact = true;
    }
    return true;
}

void pfc_clean_series_clear(pfc_clean_series *track)
{
    pfc_segment_space_give(track->space, track->y);
    memset(track, 0, sizeof *track);
}
