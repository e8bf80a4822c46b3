/*
 * Fixed repeats: git bisect and asv find.
 */
#include "bench/studies/bisect/rivals.h"

#include <stdlib.h>

#include "core/stats/stats.h"

#define REPEATS_MAX 16

/* Median of `repeats` runs, larger is worse; false: does not build. */
static bool median_of(session *n, size_t commit, size_t repeats, double *out)
{
    double x[REPEATS_MAX];
    size_t len = 0;
    for (size_t tries = 0; len < repeats && tries < 10 * repeats; tries++) {
        double value = 0;
        answer_kind kind = session_measure(n, commit, 0, &value);
        if (kind == ANSWER_BROKEN)
            return false;
        if (kind == ANSWER_VALUE)
            x[len++] = n->s->higher_is_better ? -value : value;
    }
    if (len)
        *out = pfc_stats_median(x, len);
    return len > 0;
}

/* A measurable commit of (a, b) nearest to the middle, as `git bisect skip` looks for one. */
static size_t middle(session *n, size_t a, size_t b, size_t repeats, double *x)
{
    size_t mid = a + (b - a) / 2;
    for (size_t off = 0; off < b - a; off++) {
        if (mid + off < b && mid + off > a && median_of(n, mid + off, repeats, x))
            return mid + off;
        if (off && mid > a + off && median_of(n, mid - off, repeats, x))
            return mid - off;
    }
    return 0;
}

static void name(finding *out, size_t first, size_t last)
{
    out->sets[0] = (commit_set){ first, last };
    out->probability[0] = 1;
    out->len = 1;
}

/* Both ends, then halves: the cut is the middle of the ends' medians. */
static void halving(session *n, size_t repeats, finding *out)
{
    size_t a = 0;
    size_t b = n->s->len - 1;
    double good = 0;
    double bad = 0;
    if (!median_of(n, a, repeats, &good) || !median_of(n, b, repeats, &bad) || bad <= good)
        return;
    double cut = (good + bad) / 2;
    while (b - a > 1) {
        double x = 0;
        size_t mid = middle(n, a, b, repeats, &x);
        if (!mid)
            break;
        if (x < cut)
            a = mid;
        else
            b = mid;
    }
    name(out, a + 1, b);
}

void rival_git(session *n, finding *out)
{
    halving(n, 1, out);
}

void rival_halving_3(session *n, finding *out)
{
    halving(n, 3, out);
}

void rival_halving_5(session *n, finding *out)
{
    halving(n, 5, out);
}

void rival_asv(session *n, finding *out)
{
    const size_t processes = 2; /* asv's default */
    size_t a = 0;
    size_t b = n->s->len - 1;
    double low = 0;
    double high = 0;
    if (!median_of(n, a, processes, &low) || !median_of(n, b, processes, &high))
        return;
    while (b - a > 1) {
        double x = 0;
        size_t mid = middle(n, a, b, processes, &x);
        if (!mid)
            break;
        if (x - low > high - x) {
            b = mid;
            high = x;
        } else {
            a = mid;
            low = x;
        }
    }
    if (high > low)
        name(out, a + 1, b);
}
