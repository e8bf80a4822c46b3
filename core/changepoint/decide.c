/* Decides which candidate changes are kept: each is tested against its neighbouring levels, weakest
 * first. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/changepoint/segment/fit.h"
#include "core/changepoint/segment/vector_width.h"
#include "core/stats/sort.h"

#define HUBER          1.5
#define GAP_SLACK      1.0  /* sigma by which a change may differ from the gap of the states */
/* range in points, on each side, whose spikes a short level is compared with */
#define NEARBY         2000
#define ALTERNATIONS   4
#define CAUTION        4.0
#define CAUTION_NEWEST 2.8
#define CAUTION_SHORT  7.0
#define CAUTION_HEAVY  3.0
#define SHORT          8   /* a level of fewer points is compared with the runs of spikes */
#define HELD_JUMP      4.0 /* sigma */
#define HELD_SHARE     (2.0 / 3.0)
#define ALONE          4.5 /* sigma that a single point must have moved */

/* partial sums, added in this order on every machine, so that vector code gives the same result
 * everywhere */
#define LANES 4

typedef struct bounded {
    double sum, inside; /* sum of the distances, bounded, and the count of those below the bound */
} bounded;

WIDEST static bounded bounded_sum(const double *z, size_t n, double centre)
{
    double sum[LANES] = { 0.0 };
    double inside[LANES] = { 0.0 };
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (size_t k = 0; k < LANES; k++) {
            double r = z[i + k] - centre;
            double c = r < HUBER ? r : HUBER;
            sum[k] += c > -HUBER ? c : -HUBER;
            inside[k] += fabs(r) < HUBER ? 1.0 : 0.0;
        }
    }
    for (; i < n; i++) {
        double r = z[i] - centre;
        sum[0] += PFC_MAX(-HUBER, PFC_MIN(HUBER, r));
        inside[0] += fabs(r) < HUBER ? 1.0 : 0.0;
    }
    return (bounded){ sum[0] + sum[1] + sum[2] + sum[3],
                      inside[0] + inside[1] + inside[2] + inside[3] };
}

static double level_mean(const pfc_fit *f, size_t from, size_t to)
{
    size_t n = to - from;
    memcpy(f->scratch, f->z + from, n * sizeof *f->z);
    double centre = pfc_stats_median_spend(f->scratch, n);
    if (n < 3)
        return centre;
    bounded b = bounded_sum(f->z + from, n, centre);
    return centre + b.sum / PFC_MAX(b.inside, 0.3 * (double)n);
}

/* Smallest |z| of a real change among the n places it could have been: about one false candidate
 * in a hundred series, widened where sigma itself rests on few points. */
static double threshold(const pfc_fit *f, double extra)
{
    double n = (double)(f->n + f->track->more);
    double z = sqrt(2.0 * (log((double)f->track->places) + PFC_MAX(extra + f->track->strict, 0.0)));
    double df = n - 2.0 * (double)f->changes - 2.0;
    df = PFC_MAX(df, 2.0);
    return df > 200.0 ? z : sqrt(df * expm1(z * z / df));
}

/* How much rarer than one in n a change must be, in nats. The newest level had fewer places to
 * begin at and is called provisional; a short level is two changes bought as one, and under heavy
 * tails a few points together are no proof. */
static double caution(const pfc_fit *f, size_t k)
{
    size_t left = pfc_level_to(f, k) - pfc_level_from(f, k);
    size_t right = pfc_level_to(f, k + 1) - pfc_level_from(f, k + 1);
    bool newest = k + 1 == f->changes && right < SHORT;
    double extra = CAUTION;
    if (newest && f->n + f->track->more >= 30)
        extra = CAUTION_NEWEST;
    else if ((right < SHORT && !newest) || (left < SHORT && k > 0))
        extra = CAUTION_SHORT;
    if (PFC_MIN(left, right) < SHORT && f->noise.freedom < 6.0)
        extra += CAUTION_HEAVY;
    return extra;
}

double pfc_fit_evidence(const pfc_fit *f, size_t k)
{
    double na = (double)(pfc_level_to(f, k) - pfc_level_from(f, k));
    double nb = (double)(pfc_level_to(f, k + 1) - pfc_level_from(f, k + 1));
    return fabs(f->mean[k + 1] - f->mean[k]) / sqrt(f->noise.inflate * (1.0 / na + 1.0 / nb));
}

static void drop(pfc_fit *f, size_t k)
{
    memmove(f->starts + k, f->starts + k + 1, (f->changes - k - 1) * sizeof *f->starts);
    memmove(f->mean + k + 1, f->mean + k + 2, (f->changes - k - 1) * sizeof *f->mean);
    f->changes--;
    f->mean[k] = level_mean(f, pfc_level_from(f, k), pfc_level_to(f, k));
    pfc_runs_joined(f->runs, f, k);
}

static bool is_far(double r, double half)
{
    return half > 0.0 ? r > half : r < half;
}

/* A change of one point can be distinguished from a spike only by its repeats: nearly all of them
 * must lie beyond half the jump. */
static bool repeats_agree(const pfc_fit *f, double half)
{
    const pfc_point *last = f->track->last;
    if (!last || last->repeats_len < 3 || !f->track->logged)
        return false;
    size_t with = 0;
    double old = f->track->y[f->n - 1] - half * f->unit;
    for (size_t i = 0; i < last->repeats_len; i++) {
        double r = last->repeats[i] > 0.0 ? log(last->repeats[i]) - old : 0.0;
        with += half > 0.0 ? r > 0.0 : r < 0.0;
    }
    return (double)with >= 0.8 * (double)last->repeats_len;
}

/* Of a level that lies so far off that noise alone hardly reaches half of the way, two of three
 * points lie beyond that half at least. Where fewer do, spikes have met by chance, however many
 * points they span. */
static bool is_held(const pfc_fit *f, size_t from, size_t to, size_t other, double half)
{
    size_t far = 0;
    if (fabs(half) < 0.5 * HELD_JUMP)
        return true;
    for (size_t i = from; i < to; i++)
        far += is_far(f->z[i] - f->mean[other], half);
    return (double)far >= HELD_SHARE * (double)(to - from);
}

/* True when the level is long enough to count. `other` is the neighbouring level that it is
 * compared with. */
static bool long_enough(const pfc_fit *f, size_t k, size_t other)
{
    size_t from = pfc_level_from(f, k);
    size_t to = pfc_level_to(f, k);
    size_t len = to - from;
    double half = 0.5 * (f->mean[k] - f->mean[other]);
    bool newest = k == f->changes;
    if (len >= SHORT)
        return is_held(f, from, to, other, half);
    if (len == 1)
        return newest && fabs(half) >= 0.5 * ALONE && f->n + f->track->more >= 20 &&
               repeats_agree(f, half) && pfc_runs_longest(f->runs, f, k, half) == 0;
    if (len == 2 && !newest && k > 0)
        return false;
    size_t far = 0;
    for (size_t i = from; i < to; i++)
        far += is_far(f->z[i] - f->mean[other], half);
    size_t longest = pfc_runs_longest(f->runs, f, k, half);
    /* If spikes come in pairs, two pairs can be adjacent and look like a short level. */
    return longest < 2 ? far > longest : far > 2 * longest;
}

/* With two machine states, a change as high as their gap is the machine's until it has lasted
 * longer than the states do: three times the longest stay in one so far. */
static bool is_state(const pfc_fit *f, size_t k)
{
    double gap = f->gap / f->unit;
    double jump = fabs(f->mean[k + 1] - f->mean[k]);
    if (!(f->gap > 0.0) || fabs(jump - gap) > GAP_SLACK)
        return false;
    size_t from = pfc_level_from(f, k + 1);
    size_t to = pfc_level_to(f, k + 1);
    size_t longest = 0;
    size_t run = 0;
    for (size_t i = 0; i < f->n; i++) {
        if (i >= from && i < to) {
            run = 0;
            continue;
        }
        run = f->upper[i] ? run + 1 : 0;
        longest = PFC_MAX(longest, run);
    }
    return to - from < 3 * longest;
}

static double margin(const pfc_fit *f, size_t k)
{
    if (pfc_is_confirmed_start(f, f->starts[k]))
        return (double)INFINITY;
    double m = pfc_fit_evidence(f, k) / threshold(f, caution(f, k)) - 1.0;
    if (is_state(f, k) || !long_enough(f, k + 1, k) || !long_enough(f, k, k + 1))
        m -= 1000.0;
    return m;
}

/* Four changes and more between the same two levels are a machine with two states, even when it
 * switches too rarely for the states to show in the distribution of the differences. */
static bool only_alternates(const pfc_fit *f)
{
    if (f->changes < ALTERNATIONS)
        return false;
    double jump = fabs(f->mean[1] - f->mean[0]);
    for (size_t k = 2; k <= f->changes; k++) {
        if (fabs(f->mean[k] - f->mean[k - 2]) > PFC_MIN(0.25 * jump, 1.5))
            return false;
    }
    return true;
}

/* The thresholds of a short series move with every change dropped; those of a long one do not, so
 * only the neighbours of the dropped change are judged again. */
static void judge(const pfc_fit *f, double *margins, size_t dropped)
{
    size_t from = 0;
    size_t to = f->changes;
    if (dropped != SIZE_MAX && f->n > NEARBY) {
        memmove(margins + dropped, margins + dropped + 1, (f->changes - dropped) * sizeof *margins);
        from = dropped > 0 ? dropped - 1 : 0;
        to = PFC_MIN(f->changes, dropped + 1);
    }
    for (size_t k = from; k < to; k++)
        margins[k] = margin(f, k);
}

void pfc_fit_decide(pfc_fit *f)
{
    double *margins = pfc_calloc(f->changes + 1, sizeof *margins);
    for (size_t k = 0; k <= f->changes; k++)
        f->mean[k] = level_mean(f, pfc_level_from(f, k), pfc_level_to(f, k));
    f->runs = pfc_runs_new(f->changes + 1);
    judge(f, margins, SIZE_MAX);
    while (f->changes > 0) {
        size_t at = 0;
        for (size_t k = 1; k < f->changes; k++) {
            if (margins[k] < margins[at])
                at = k;
        }
        if (!(margins[at] < 0.0))
            break;
        drop(f, at);
        judge(f, margins, at);
    }
    free(margins);
    if (only_alternates(f)) {
        for (size_t k = f->changes; k-- > 0;) {
            if (!pfc_is_confirmed_start(f, f->starts[k]))
                drop(f, k);
        }
    }
    pfc_runs_free(f->runs);
    f->runs = NULL;
}
