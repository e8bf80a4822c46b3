/*
 * Is the promise kept? Series in which nothing ever changes, a commit at a time; after each commit
 * every series is judged as the service judges it and alerts are opened by the same rule
 * (core/stats/fdr.h). Every alert is a mistake.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/detect/bench.h"
#include "core/base/clock.h"
#include "core/base/rng.h"
#include "core/stats/fdr.h"

#define LEVEL 100.0
#define NOISE 0.01

/* Kinds of noise, taken in turn: white, heavy tails, skewed, neighbours alike, spikes. */
enum { WHITE, HEAVY, SKEWED, ALIKE, SPIKES, KINDS };

typedef struct history {
    pfc_point *points;
    size_t alert_low, alert_high; /* place of the newest alert */
    bool alerted;
    double last; /* residual before */
} history;

static double residual(history *h, size_t kind, pfc_rng *rng)
{
    double z = pfc_rng_normal(rng);
    double a = pfc_rng_normal(rng);
    double b = pfc_rng_normal(rng);
    double c = pfc_rng_normal(rng);
    switch (kind) {
    case HEAVY:
        return z / sqrt((a * a + b * b + c * c) / 3.0);
    case SKEWED:
        return exp(0.8 * z) - 1.0;
    case ALIKE:
        h->last = 0.4 * h->last + z;
        return h->last;
    case SPIKES:
        return pfc_rng_double(rng) < 0.01 ? z + 8.0 : z;
    default:
        return z;
    }
}

/* A regression of this round that is firm enough for an alert. */
typedef struct candidate {
    size_t series, index, low, high;
    double p;
} candidate;

static int by_place(const void *a, const void *b)
{
    const candidate *x = a;
    const candidate *y = b;
    size_t wx = x->high - x->low;
    size_t wy = y->high - y->low;
    if (wx != wy)
        return wx < wy ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

/* Those whose places have a commit in common with the sharpest one are judged together; returns how
 * many new alerts that opens. */
static size_t open_alerts(candidate *items, size_t n, history *histories, size_t series)
{
    double *p = pfc_calloc(n + 1, sizeof *p);
    bool *keep = pfc_calloc(n + 1, sizeof *keep);
    size_t *members = pfc_calloc(n + 1, sizeof *members);
    bool *done = pfc_calloc(n + 1, sizeof *done);
    size_t opened = 0;
    if (n)
        qsort(items, n, sizeof *items, by_place);
    for (size_t first = 0; first < n; first++) {
        size_t low = items[first].low, high = items[first].high, len = 0;
        for (size_t i = first; i < n && !done[first]; i++) {
            if (done[i] || items[i].low > high || items[i].high < low)
                continue;
            low = PFC_MAX(low, items[i].low);
            high = PFC_MIN(high, items[i].high);
            members[len] = i;
            p[len++] = items[i].p;
        }
        pfc_fdr_keep(p, len, series, PFC_ALERT_FDR, keep);
        for (size_t k = 0; k < len; k++) {
            const candidate *c = &items[members[k]];
            history *h = &histories[c->series];
            done[members[k]] = true;
            bool known = h->alerted && c->low <= h->alert_high && c->high >= h->alert_low;
            if (!keep[k] || known)
                continue;
            h->alerted = true;
            h->alert_low = c->low;
            h->alert_high = c->high;
            opened++;
        }
    }
    free(done);
    free(members);
    free(keep);
    free(p);
    return opened;
}

static size_t judge(history *histories, size_t series, size_t n, candidate **items, size_t *cap)
{
    size_t len = 0;
    for (size_t s = 0; s < series; s++) {
        pfc_detection found;
        if (pfc_stats_detect(histories[s].points, n, NULL, &found, NULL))
            continue;
        for (size_t i = 0; i < found.changes_len; i++) {
            const pfc_change *c = &found.changes[i];
            size_t end = i + 1 < found.changes_len ? found.changes[i + 1].index : n;
            if (!c->regression || !pfc_alert_firm(c, end - c->index))
                continue;
            *items = pfc_grow(*items, len, cap, sizeof **items);
            (*items)[len++] = (candidate){ .series = s,
                                           .index = c->index,
                                           .low = c->index_low,
                                           .high = c->index_high,
                                           .p = pfc_fdr_anywhere(c->p, n, false) };
        }
        pfc_detection_clear(&found);
    }
    return len;
}

int pfc_bench_false_discoveries(size_t commits, size_t series, uint64_t seed)
{
    history *histories = pfc_calloc(series, sizeof *histories);
    candidate *items = NULL;
    size_t cap = 0, with_alert = 0, opened = 0, confirmed = 0;
    int64_t from = pfc_clock_ns();
    pfc_rng rng;
    pfc_rng_seed(&rng, seed);
    for (size_t s = 0; s < series; s++)
        histories[s].points = pfc_calloc(commits, sizeof(pfc_point));
    for (size_t n = 1; n <= commits; n++) {
        for (size_t s = 0; s < series; s++) {
            double v = LEVEL * exp(NOISE * residual(&histories[s], s % KINDS, &rng));
            histories[s].points[n - 1] = (pfc_point){ .t = 3600.0 * (double)n, .v = v };
        }
        size_t len = judge(histories, series, n, &items, &cap);
        size_t now = open_alerts(items, len, histories, series);
        confirmed = len;
        with_alert += now > 0;
        opened += now;
    }
    printf(
        "false discoveries: %zu commits x %zu series without a change, every series judged after "
        "every commit (%.0f s)\n"
        "commits with any alert: %zu (%.2f %%); alerts: %zu; regressions firm at the end, before "
        "the rule: %zu\n",
        commits, series, (double)(pfc_clock_ns() - from) * 1e-9, with_alert,
        100.0 * (double)with_alert / (double)commits, opened, confirmed);
    for (size_t s = 0; s < series; s++)
        free(histories[s].points);
    free(histories);
    free(items);
    return 0;
}
