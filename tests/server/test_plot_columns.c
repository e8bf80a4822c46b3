/* Columns of a chart and geometric means of its groups. */
#include <math.h>
#include <stdlib.h>

#include "server/services/plot/plot_priv.h"

#include "tests/check/check.h"

#define POINT(at, value)                                                                           \
    {                                                                                              \
        .position = (at), .time = (double)(at), .median = (value), .min = (value)                  \
    }

static void axis_of(pfc_plot_axis *axis, const pfc_packed_point *items, size_t len, size_t columns)
{
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_plot_axis_init(axis, items[len - 1].position, &err), PFC_OK));
    for (size_t i = 0; i < len; i++)
        pfc_plot_axis_mark(axis, items[i].position);
    pfc_plot_axis_finish(axis, columns);
}

Test(plot_columns, a_column_has_lowest_median_and_highest_and_a_gap_is_no_number)
{
    /* Positions 1 3 4 6 8 9: two a column. The line has none at 4 and 6. */
    pfc_packed_point all[] = { POINT(1, 0), POINT(3, 0), POINT(4, 0),
                               POINT(6, 0), POINT(8, 0), POINT(9, 0) };
    pfc_packed_point own[] = { POINT(1, 7), POINT(1, 9), POINT(3, 2), POINT(8, 5), POINT(9, 1) };
    const pfc_packed_points points = { .items = own, .len = PFC_ARRAY_LEN(own) };
    float median[3], low[3], high[3];
    pfc_plot_axis axis;

    axis_of(&axis, all, PFC_ARRAY_LEN(all), 3);
    cr_assert(eq(sz, axis.columns, 3));
    cr_assert(eq(sz, axis.places, 6));
    cr_expect(eq(i64, axis.newest[0], 3));
    cr_expect(eq(i64, axis.newest[1], 6));
    cr_expect(eq(i64, axis.newest[2], 9));
    pfc_plot_fill(&axis, &points, median, low, high);
    cr_expect(eq(flt, median[0], 7.0F)); /* of 2 7 9 */
    cr_expect(eq(flt, low[0], 2.0F));
    cr_expect(eq(flt, high[0], 9.0F));
    cr_expect(isnan(median[1]) && isnan(low[1]) && isnan(high[1]));
    cr_expect(eq(flt, median[2], 3.0F)); /* of 5 1 */
    cr_expect(eq(flt, high[2], 5.0F));
    pfc_plot_axis_clear(&axis);
}

/* For every number of places and columns: all are shared out in order, and sizes differ by one at
 * most. */
Test(plot_columns, places_are_shared_out_evenly)
{
    for (size_t places = 1; places <= 13; places++) {
        for (size_t columns = 1; columns <= 15; columns++) {
            pfc_packed_point items[13];
            size_t sizes[15] = { 0 }, least = SIZE_MAX, most = 0, before = 0;
            pfc_plot_axis axis;

            for (size_t i = 0; i < places; i++)
                items[i] = (pfc_packed_point)POINT((int64_t)(3 * i + 2), 1);
            axis_of(&axis, items, places, columns);
            cr_assert(eq(sz, axis.columns, PFC_MIN(places, columns)));
            for (size_t i = 0; i < places; i++) {
                const size_t column = pfc_plot_axis_column(&axis, items[i].position);

                cr_assert(column >= before && column < axis.columns);
                before = column;
                sizes[column]++;
                cr_assert(items[i].position <= axis.newest[column]);
            }
            for (size_t i = 0; i < axis.columns; i++) {
                least = PFC_MIN(least, sizes[i]);
                most = PFC_MAX(most, sizes[i]);
            }
            cr_assert(most - least <= 1, "%zu places in %zu columns", places, columns);
            pfc_plot_axis_clear(&axis);
        }
    }
}

Test(plot_columns, an_axis_is_bounded_and_may_be_empty)
{
    pfc_plot_axis axis;
    pfc_err err = { 0 };

    cr_expect(eq(int, pfc_plot_axis_init(&axis, PFC_PLOT_MAX_POSITION + 1, &err), PFC_ETOOBIG));
    cr_assert(eq(int, pfc_plot_axis_init(&axis, 0, &err), PFC_OK));
    pfc_plot_axis_finish(&axis, 10);
    cr_expect(eq(sz, axis.columns, 0));
    pfc_plot_axis_clear(&axis);
}

Test(plot_columns, a_geometric_mean_needs_every_member)
{
    pfc_packed_point a[] = { POINT(2, 2), POINT(3, 1), POINT(3, 3), POINT(3, 2), POINT(5, 8) };
    pfc_packed_point b[] = { POINT(2, 8), POINT(3, 8), POINT(4, 1), POINT(5, -1) };
    const pfc_packed_points x = { .items = a, .len = PFC_ARRAY_LEN(a) },
                            y = { .items = b, .len = PFC_ARRAY_LEN(b) }, none = { 0 };
    const pfc_packed_points *both[] = { &x, &y }, *with_none[] = { &x, &none };
    pfc_plot_positions partial = { 0 };
    pfc_packed_points out;

    pfc_plot_geomean(both, 2, &out, &partial);
    cr_assert(eq(sz, out.len, 2));
    cr_expect(eq(i64, out.items[0].position, 2));
    cr_expect(epsilon_eq(dbl, out.items[0].median, 4, 1e-12)); /* sqrt(2 * 8) */
    cr_expect(eq(i64, out.items[1].position, 3));
    cr_expect(epsilon_eq(dbl, out.items[1].median, 4, 1e-12)); /* the median of 1 3 2 counts */
    cr_expect(eq(dbl, out.items[1].time, 3));
    cr_assert(eq(sz, partial.len, 2));
    cr_expect(eq(i64, partial.items[0], 4));
    cr_expect(eq(i64, partial.items[1], 5)); /* a value that has no logarithm */
    free(out.items);
    partial.len = 0;
    pfc_plot_geomean(with_none, 2, &out, &partial);
    cr_expect(eq(sz, out.len, 0));
    cr_expect(eq(sz, partial.len, 3));
    free(partial.items);
}
