/* The order of a series: by time, whatever the order of arrival. */
#include <math.h>
#include <stdlib.h>

#include "core/changepoint/changepoint.h"
#include "core/stats/stats.h"

typedef struct keyed {
    double t;
    size_t place;
} keyed;

static int by_time(const void *a, const void *b)
{
    const keyed *x = a;
    const keyed *y = b;
    if (x->t < y->t || x->t > y->t)
        return x->t < y->t ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

bool pfc_stats_series_order(const pfc_point *points, size_t n, size_t *order)
{
    bool sorted = true;
    bool timed = true;
    for (size_t i = 0; i < n; i++) {
        order[i] = i;
        timed = timed && isfinite(points[i].t);
        sorted = sorted && (i == 0 || points[i - 1].t <= points[i].t);
    }
    if (!timed || sorted)
        return false;
    keyed *keys = pfc_calloc(n, sizeof *keys);
    for (size_t i = 0; i < n; i++)
        keys[i] = (keyed){ .t = points[i].t, .place = i };
    qsort(keys, n, sizeof *keys, by_time);
    for (size_t i = 0; i < n; i++)
        order[i] = keys[i].place;
    free(keys);
    return true;
}
