/* Buckets of a long series: every point is in one, in order, and each number is of its own. */
#include <math.h>
#include <stdlib.h>

#include "server/services/history/history.h"

#include "tests/check/check.h"

/* Medians by hand: of 5 1 3 it is 3, of 4 10 it is 7. */
Test(buckets, points_are_shared_out_and_summarised)
{
    pfc_packed_point items[] = {
        { 1, 1, 10, 5, 4, 2 },   { 2, 2, 20, 1, 0.5, 3 }, { 3, 3, 30, 3, 2, 4 },
        { 4, 4, 40, 10, 9, 5 },  { 5, 5, 50, 4, 3, 6 },   { 6, 6, 60, -2, -3, 7 },
        { 7, 7, 70, 8, 7.5, 8 },
    };
    const pfc_packed_points points = { .items = items, .len = PFC_ARRAY_LEN(items) };
    static const pfc_bucket three[] = {
        { .median = 3, .low = 1, .high = 5, .min = 0.5, .n = 9, .last = 2 },
        { .median = 7, .low = 4, .high = 10, .min = 3, .n = 11, .last = 4 },
        { .median = 3, .low = -2, .high = 8, .min = -3, .n = 15, .last = 6 },
    };
    pfc_bucket out[7];

    pfc_packed_buckets(&points, out, 3);
    for (size_t i = 0; i < 3; i++) {
        cr_expect(eq(dbl, out[i].median, three[i].median), "%zu", i);
        cr_expect(eq(dbl, out[i].low, three[i].low), "%zu", i);
        cr_expect(eq(dbl, out[i].high, three[i].high), "%zu", i);
        cr_expect(eq(dbl, out[i].min, three[i].min), "%zu", i);
        cr_expect(eq(i64, out[i].n, three[i].n), "%zu", i);
        cr_expect(eq(sz, out[i].last, three[i].last), "%zu", i);
    }
    pfc_packed_buckets(&points, out, 7);
    for (size_t i = 0; i < 7; i++) {
        cr_expect(eq(dbl, out[i].median, items[i].median));
        cr_expect(eq(dbl, out[i].low, items[i].median));
        cr_expect(eq(dbl, out[i].high, items[i].median));
        cr_expect(eq(dbl, out[i].min, items[i].min));
        cr_expect(eq(sz, out[i].last, i));
    }
    pfc_packed_buckets(&points, out, 1);
    cr_expect(eq(dbl, out[0].median, 4));
    cr_expect(eq(i64, out[0].n, 35));
    cr_expect(eq(sz, out[0].last, 6));
}

/* For every number of points and buckets: sizes differ by one at most, the larger come first. */
Test(buckets, sizes_differ_by_one_and_the_larger_come_first)
{
    pfc_packed_point items[12] = { 0 };
    pfc_bucket out[12];

    for (size_t i = 0; i < 12; i++)
        items[i].n = 1;
    for (size_t len = 1; len <= 12; len++)
        for (size_t count = 1; count <= len; count++) {
            const pfc_packed_points points = { .items = items, .len = len };

            pfc_packed_buckets(&points, out, count);
            for (size_t i = 0; i < count; i++)
                cr_expect(eq(i64, out[i].n, (int64_t)(len / count + (i < len % count))), "%zu %zu",
                          len, count);
            cr_expect(eq(sz, out[count - 1].last, len - 1));
        }
}
