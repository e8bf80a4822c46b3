/* The geometric mean of several series, commit by commit. */
#include <math.h>
#include <stdlib.h>

#include "server/services/plot/plot_priv.h"

/* Sum of logarithms at a position, and of how many members. */
typedef struct sum {
    double logs, time;
    uint32_t members;
} sum;

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static double median_of(const pfc_packed_point *points, size_t len, double *room)
{
    for (size_t i = 0; i < len; i++)
        room[i] = points[i].median;
    if (len > 1)
        qsort(room, len, sizeof(*room), by_value);
    return len % 2 ? room[len / 2] : room[len / 2 - 1] / 2 + room[len / 2] / 2;
}

static void add_member(const pfc_packed_points *points, int64_t first, sum *sums)
{
    double *room = pfc_calloc(points->len, sizeof(*room));

    for (size_t i = 0, end; i < points->len; i = end) {
        const pfc_packed_point *p = &points->items[i];
        double value;

        for (end = i + 1; end < points->len && points->items[end].position == p->position;)
            end++;
        value = median_of(p, end - i, room);
        if (value > 0) {
            sum *s = &sums[p->position - first];

            s->logs += log(value);
            s->time = p->time;
            s->members++;
        }
    }
    free(room);
}

void pfc_plot_geomean(const pfc_packed_points *const *members, size_t len, pfc_packed_points *out,
                      pfc_plot_positions *partial)
{
    int64_t first = INT64_MAX, last = 0;
    size_t cap = 0;
    sum *sums;

    *out = (pfc_packed_points){ 0 };
    for (size_t i = 0; i < len; i++) {
        if (members[i]->len == 0)
            continue;
        first = PFC_MIN(first, members[i]->items[0].position);
        last = PFC_MAX(last, members[i]->items[members[i]->len - 1].position);
    }
    if (first > last)
        return;
    sums = pfc_calloc((size_t)(last - first) + 1, sizeof(*sums));
    for (size_t i = 0; i < len; i++)
        add_member(members[i], first, sums);
    for (int64_t at = first; at <= last; at++) {
        const sum *s = &sums[at - first];

        if (s->members == len) {
            const double mean = exp(s->logs / (double)len);

            out->items = pfc_grow(out->items, out->len, &cap, sizeof(*out->items));
            out->items[out->len++] = (pfc_packed_point){
                .position = at, .time = s->time, .median = mean, .min = mean, .n = (int64_t)len
            };
        } else if (s->members) {
            partial->items =
                pfc_grow(partial->items, partial->len, &partial->cap, sizeof(*partial->items));
            partial->items[partial->len++] = at;
        }
    }
    free(sums);
}
