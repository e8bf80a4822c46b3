/*
 * Is the promise kept? A commit at a time; after each commit every series is judged as the service
 * judges it and alerts are opened by the same rules (core/changepoint/fdr.h): across the series of
 * a commit, and over time. Where nothing ever changes every alert is a mistake; with changes
 * planted, those at other places are. For comparison, the rule without memory: each commit at the
 * full rate.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/studies/changepoint/bench.h"
#include "core/base/clock.h"
#include "core/changepoint/fdr.h"
#include "core/changepoint/online/online.h"

#define LEVEL 100.0
#define NOISE 0.01
#define NEAR  2    /* commits: a place that near to a planted change is right */
#define HIT   0.1  /* of the series slow down with a planted change, */
#define LEAST 0.03 /* by as much as this */
#define MOST  0.10 /* ... or this */

/* Kinds of noise, taken in turn: white, heavy tails, skewed, neighbours alike, spikes. */
enum { WHITE, HEAVY, SKEWED, ALIKE, SPIKES, KINDS };
/* Rules: each commit for itself, and with the stream of commits. */
enum { ALONE, STREAM, RULES };

typedef struct place {
    size_t low, high;
} place;

typedef struct history {
    pfc_point *points;
    pfc_online online;
    pfc_change *past; /* settled */
    size_t past_len, past_cap;
    size_t *planted;
    size_t planted_len, planted_cap;
    place *alerts[RULES];
    size_t alerts_len[RULES], alerts_cap[RULES];
    double level;
    double last; /* residual before */
} history;

typedef struct tally {
    size_t opened, wrong, with_alert;
    size_t found;  /* planted changes, a series each */
    size_t points; /* until they were */
} tally;

typedef struct candidate {
    size_t series, index, low, high, round;
    double p;
    bool done;
} candidate;

typedef struct simulation {
    const pfc_fdr_plan *plan;
    history *histories;
    candidate *items; /* this round's firm regressions, the sharpest first */
    size_t len, cap;
    pfc_fdr_stream stream;
    pfc_segment_space space;
    tally tallies[RULES];
    size_t planted;
} simulation;

static double residual(history *h, size_t kind, double common, double shared, pfc_rng *rng)
{
    double z = sqrt(1.0 - shared) * pfc_rng_normal(rng) + sqrt(shared) * common;
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

/* ---- a round ---- */

static void add_commit(simulation *s, size_t n, pfc_rng *rng)
{
    const double common = pfc_rng_normal(rng);
    const bool change = n > 20 && pfc_rng_double(rng) < s->plan->changes;
    for (size_t i = 0; i < s->plan->series; i++) {
        history *h = &s->histories[i];
        if (change && pfc_rng_double(rng) < HIT) {
            h->level *= 1.0 + LEAST + (MOST - LEAST) * pfc_rng_double(rng);
            h->planted = pfc_grow(h->planted, h->planted_len, &h->planted_cap, sizeof *h->planted);
            h->planted[h->planted_len++] = n - 1;
            s->planted++;
        }
        double z = residual(h, i % KINDS, common, s->plan->shared, rng);
        h->points[n - 1] = (pfc_point){ .t = 3600.0 * (double)n, .v = h->level * exp(NOISE * z) };
    }
}

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

static void judge_one(simulation *s, size_t series, size_t n)
{
    history *h = &s->histories[series];
    pfc_confirmed_changes settled;
    pfc_detection found;
    if (pfc_online_append(&h->online, h->points, &s->space, &settled)) {
        for (size_t k = 0; k < settled.len; k++) {
            h->past = pfc_grow(h->past, h->past_len, &h->past_cap, sizeof *h->past);
            h->past[h->past_len++] = settled.changes[k];
        }
    }
    pfc_online_answer(&h->online, h->points, &s->space, &found);
    pfc_detection_join(&found, h->past, h->past_len);
    for (size_t i = 0; i < found.changes_len; i++) {
        const pfc_change *c = &found.changes[i];
        size_t end = i + 1 < found.changes_len ? found.changes[i + 1].index : n;
        if (!c->regression || !pfc_alert_justified(c, end))
            continue;
        s->items = pfc_grow(s->items, s->len, &s->cap, sizeof *s->items);
        s->items[s->len++] = (candidate){ .series = series,
                                          .index = c->index,
                                          .low = c->index_low,
                                          .high = c->index_high,
                                          .round = n,
                                          .p = pfc_fdr_anywhere(c, n, false) };
    }
    pfc_detection_clear(&found);
}

/* ---- alerts ---- */

static bool is_known(const history *h, int rule, const candidate *c)
{
    for (size_t k = 0; k < h->alerts_len[rule]; k++) {
        if (c->low <= h->alerts[rule][k].high && c->high >= h->alerts[rule][k].low)
            return true;
    }
    return false;
}

static void open_alert(simulation *s, int rule, const candidate *c)
{
    history *h = &s->histories[c->series];
    tally *t = &s->tallies[rule];
    bool right = false;
    for (size_t k = 0; k < h->planted_len && !right; k++) {
        right = h->planted[k] + NEAR >= c->low && h->planted[k] <= c->high + NEAR;
        if (right)
            t->points += c->round - h->planted[k];
    }
    h->alerts[rule] =
        pfc_grow(h->alerts[rule], h->alerts_len[rule], &h->alerts_cap[rule], sizeof(place));
    h->alerts[rule][h->alerts_len[rule]++] = (place){ c->low, c->high };
    t->opened++;
    t->found += right;
    t->wrong += !right;
}

/* Judges the candidates that have commits in common with the first; returns how many it opened. */
static size_t settle_cluster(simulation *s, int rule, const size_t *members, size_t len)
{
    const int64_t position = (int64_t)s->items[members[0]].index + 1;
    double *p = pfc_calloc(len, sizeof *p);
    bool *keep = pfc_calloc(len, sizeof *keep);
    bool stands = false;
    size_t opened = 0;
    for (size_t k = 0; k < len; k++)
        p[k] = s->items[members[k]].p;
    pfc_fdr_keep(p, len, s->plan->series,
                 rule == STREAM ? pfc_fdr_level(&s->stream, position) : PFC_ALERT_FDR, keep);
    for (size_t k = 0; k < len; k++) {
        const candidate *c = &s->items[members[k]];
        stands = stands || keep[k];
        if (!keep[k] || is_known(&s->histories[c->series], rule, c))
            continue;
        open_alert(s, rule, c);
        opened++;
    }
    if (rule == STREAM && stands)
        pfc_fdr_found(&s->stream, position);
    free(keep);
    free(p);
    return opened;
}

/* The undone candidate of the earliest cluster: clusters are made by the sharpest, as the service
 * makes them, and settled in the order of history. */
typedef struct cluster {
    size_t *members, len;
    size_t index;
} cluster;

static int by_index(const void *a, const void *b)
{
    const cluster *x = a;
    const cluster *y = b;
    return (x->index > y->index) - (x->index < y->index);
}

static cluster make_cluster(simulation *s, size_t first)
{
    size_t low = s->items[first].low, high = s->items[first].high;
    cluster c = { .members = pfc_calloc(s->len - first, sizeof *c.members),
                  .index = s->items[first].index };
    for (size_t i = first; i < s->len; i++) {
        candidate *m = &s->items[i];
        if (m->done || m->low > high || m->high < low)
            continue;
        m->done = true;
        low = PFC_MAX(low, m->low);
        high = PFC_MIN(high, m->high);
        c.members[c.len++] = i;
    }
    return c;
}

static void open_alerts(simulation *s)
{
    cluster *clusters = pfc_calloc(s->len + 1, sizeof *clusters);
    size_t len = 0;
    if (s->len)
        qsort(s->items, s->len, sizeof *s->items, by_place);
    for (size_t first = 0; first < s->len; first++) {
        if (!s->items[first].done)
            clusters[len++] = make_cluster(s, first);
    }
    if (len)
        qsort(clusters, len, sizeof *clusters, by_index);
    for (int rule = 0; rule < RULES; rule++) {
        size_t opened = 0;
        for (size_t k = 0; k < len; k++)
            opened += settle_cluster(s, rule, clusters[k].members, clusters[k].len);
        s->tallies[rule].with_alert += opened > 0;
    }
    for (size_t k = 0; k < len; k++)
        free(clusters[k].members);
    free(clusters);
}

/* ---- the whole ---- */

static void print_rule(const simulation *s, int rule, const char *name)
{
    const tally *t = &s->tallies[rule];
    printf("%s: commits with any new alert %zu (%.2f %%), alerts %zu, of them wrong %zu (%.2f %%)",
           name, t->with_alert, 100.0 * (double)t->with_alert / (double)s->plan->commits, t->opened,
           t->wrong, t->opened ? 100.0 * (double)t->wrong / (double)t->opened : 0.0);
    if (s->planted)
        printf("; planted changes alerted %zu of %zu, after %.1f points", t->found, s->planted,
               t->found ? (double)t->points / (double)t->found : (double)NAN);
    printf("\n");
}

static void clear(simulation *s)
{
    for (size_t i = 0; i < s->plan->series; i++) {
        history *h = &s->histories[i];
        for (int rule = 0; rule < RULES; rule++)
            free(h->alerts[rule]);
        free(h->points);
        free(h->past);
        free(h->planted);
    }
    pfc_fdr_stream_clear(&s->stream);
    pfc_segment_space_clear(&s->space);
    free(s->histories);
    free(s->items);
}

int pfc_bench_false_discoveries(const pfc_fdr_plan *plan)
{
    simulation s = { .plan = plan, .histories = pfc_calloc(plan->series, sizeof(history)) };
    int64_t from = pfc_clock_ns();
    pfc_rng rng;
    int status = 0;
    pfc_rng_seed(&rng, plan->seed);
    for (size_t i = 0; i < plan->series && !status; i++) {
        s.histories[i].points = pfc_calloc(plan->commits, sizeof(pfc_point));
        s.histories[i].level = LEVEL;
        status = pfc_online_init(&s.histories[i].online, NULL, NULL) ? 5 : 0;
    }
    for (size_t n = 1; n <= plan->commits && !status; n++) {
        add_commit(&s, n, &rng);
        s.len = 0;
        for (size_t i = 0; i < plan->series; i++)
            judge_one(&s, i, n);
        open_alerts(&s);
    }
    printf(
        "false discoveries: %zu commits x %zu series, shared noise %g, planted changes %zu, seed "
        "%llu; every series judged after every commit (%.0f s)\n",
        plan->commits, plan->series, plan->shared, s.planted, (unsigned long long)plan->seed,
        (double)(pfc_clock_ns() - from) * 1e-9);
    print_rule(&s, ALONE, "each commit separately");
    print_rule(&s, STREAM, "with the stream of commits (the service's rule)");
    clear(&s);
    return status;
}
