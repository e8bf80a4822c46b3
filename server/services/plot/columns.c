/* Places of commits on the axis, and the values of a line in its columns. */
#include <math.h>
#include <stdlib.h>

#include "server/services/plot/plot_priv.h"

pfc_code pfc_plot_axis_init(pfc_plot_axis *axis, int64_t last, pfc_err *err)
{
    *axis = (pfc_plot_axis){ 0 };
    if (last > PFC_PLOT_MAX_POSITION)
        return pfc_err_set(err, PFC_ETOOBIG, "plot: over %d commits on the branch, the limit",
                           PFC_PLOT_MAX_POSITION);
    axis->span = (size_t)last + 1;
    axis->place = pfc_calloc(axis->span, sizeof(*axis->place));
    return PFC_OK;
}

void pfc_plot_axis_mark(pfc_plot_axis *axis, int64_t position)
{
    axis->place[position] = 1;
}

void pfc_plot_axis_finish(pfc_plot_axis *axis, size_t columns)
{
    for (size_t i = 0; i < axis->span; i++)
        if (axis->place[i])
            axis->place[i] = (uint32_t)++axis->places;
    axis->columns = PFC_MIN(columns, axis->places);
    axis->newest = pfc_calloc(axis->columns, sizeof(*axis->newest));
    for (size_t i = 0; i < axis->span; i++)
        if (axis->place[i])
            axis->newest[pfc_plot_axis_column(axis, (int64_t)i)] = (int64_t)i;
}

size_t pfc_plot_axis_column(const pfc_plot_axis *axis, int64_t position)
{
    return (size_t)(axis->place[position] - 1) * axis->columns / axis->places;
}

void pfc_plot_axis_clear(pfc_plot_axis *axis)
{
    free(axis->place);
    free(axis->newest);
    *axis = (pfc_plot_axis){ 0 };
}

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Columns mostly have a handful of points, for which qsort's calls cost more than the work. */
static void sort_values(double *values, size_t len)
{
    if (len > 32) {
        qsort(values, len, sizeof(*values), by_value);
        return;
    }
    for (size_t i = 1; i < len; i++) {
        const double value = values[i];
        size_t at = i;

        for (; at > 0 && values[at - 1] > value; at--)
            values[at] = values[at - 1];
        values[at] = value;
    }
}

void pfc_plot_fill(const pfc_plot_axis *axis, const pfc_packed_points *points, float *median,
                   float *low, float *high)
{
    double *values = pfc_calloc(points->len, sizeof(*values));
    size_t begin = 0;

    for (size_t c = 0; c < axis->columns; c++)
        median[c] = low[c] = high[c] = NAN;
    while (begin < points->len) {
        const size_t column = pfc_plot_axis_column(axis, points->items[begin].position);
        size_t len = 0;

        while (begin < points->len && points->items[begin].position <= axis->newest[column])
            values[len++] = points->items[begin++].median;
        sort_values(values, len);
        median[column] =
            (float)(len % 2 ? values[len / 2] : values[len / 2 - 1] / 2 + values[len / 2] / 2);
        low[column] = (float)values[0];
        high[column] = (float)values[len - 1];
    }
    free(values);
}
