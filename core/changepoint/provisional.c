/* Change or spike: what the newest points off their level are likelier to be. */
#include <math.h>
#include <stdlib.h>

#include "core/changepoint/changepoint.h"
#include "core/stats/stats.h"

/* share of the watched points' distance beyond which other points count as similar */
#define GATE          0.5
#define REPEATS_LEAST 5   /* repeats that a run needs for a usable quartile */

typedef struct tally {
    double changes;    /* that lasted */
    double excursions; /* that returned */
    double points;     /* in them */
} tally;

static double median_between(const pfc_point *points, size_t from, size_t to, double *room)
{
    size_t n = 0;

    for (size_t i = from; i < to; i++) {
        if (isfinite(points[i].v))
            room[n++] = points[i].v;
    }
    return n ? pfc_stats_median(room, n) : (double)NAN;
}

/* The level that points from..to - 1 lie on, with their excursions of at least `gate` towards
 * `side`. */
static void count_stretch(const pfc_point *points, size_t from, size_t to, double gate, double side,
                          double *room, tally *t)
{
    const double level = median_between(points, from, to, room);
    bool inside = false;

    for (size_t i = from; i < to; i++) {
        if (!isfinite(points[i].v))
            continue;
        if (side * (points[i].v - level) < gate * fabs(level)) {
            inside = false;
            continue;
        }
        t->excursions += !inside;
        t->points++;
        inside = true;
    }
}

/* Most of the run's own repeats lie off the level, too. */
static bool backed(const pfc_point *p, double level, double gate, double side)
{
    size_t off = 0;

    if (!p->repeats || p->repeats_len < REPEATS_LEAST)
        return true;
    for (size_t i = 0; i < p->repeats_len; i++)
        off += side * (p->repeats[i] - level) >= gate * fabs(level);
    return 4 * off >= 3 * p->repeats_len;
}

double pfc_stats_change_or_spike(const pfc_point *points, size_t n, const pfc_detection *found)
{
    const size_t start = n - PFC_MIN(found->watching, n);
    double *room = pfc_calloc(n + 1, sizeof(*room));
    tally t = { 0 };
    double reached = 0.0, ratio = (double)NAN;
    double level, gate, side;
    size_t from = 0;

    for (size_t k = 0; k < found->changes_len && found->changes[k].index < start; k++)
        from = found->changes[k].index;
    level = median_between(points, from, start, room);
    gate = median_between(points, start, n, room) - level;
    side = gate > 0.0 ? 1.0 : -1.0;
    gate = GATE * fabs(gate / level);
    from = 0;
    if (isfinite(gate) && gate > 0.0) {
        for (size_t k = 0; k < found->changes_len && found->changes[k].index < start; k++) {
            count_stretch(points, from, found->changes[k].index, gate, side, room, &t);
            from = found->changes[k].index;
            t.changes++;
        }
        count_stretch(points, from, start, gate, side, room, &t);
        for (size_t i = start; i < n; i++)
            reached += isfinite(points[i].v) && backed(&points[i], level, gate, side);
        /* Half a case of each kind is added (Jeffreys' prior), because a series without any case
         * has no information. */
        ratio = (t.changes + 0.5) /
                ((t.excursions + 0.5) *
                 pow((t.points - t.excursions + 0.5) / (t.points + 1.0), reached - 1.0));
    }
    free(room);
    return ratio;
}
