/*
 * The points of a series for windows: 44 bytes each, from chunks (migration 0012) and, after the
 * newest chunk, from the measurements; and buckets of them.
 */
#include <endian.h>
#include <math.h>
#include <stdio.h>

#include "server/repo/sql/chunks.h"
#include "server/services/history/history.h"

#define POINT_BYTES  44
#define SHORT_WINDOW 200 /* commits; the first run of each is looked up */

static int64_t read_i64(const unsigned char *bytes)
{
    uint64_t value;

    memcpy(&value, bytes, sizeof(value));
    return (int64_t)be64toh(value);
}

static double read_double(const unsigned char *bytes)
{
    const int64_t bits = read_i64(bytes);
    double value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

static uint32_t read_u32(const unsigned char *bytes)
{
    uint32_t value;

    memcpy(&value, bytes, sizeof(value));
    return be32toh(value);
}

static pfc_packed_point unpack(const unsigned char *at)
{
    return (pfc_packed_point){ .position = read_i64(at),
                               .run_id = read_i64(at + 8),
                               .time = read_double(at + 16),
                               .median = read_double(at + 24),
                               .min = read_double(at + 32),
                               .n = (int64_t)read_u32(at + 40) };
}

bool pfc_packed_inside(const pfc_packed_point *p, const pfc_window_bounds *b)
{
    return (!b->position_from || p->position >= b->position_from) &&
           (!b->position_to || p->position <= b->position_to) && !(p->time < b->time_from) &&
           !(p->time > b->time_to);
}

pfc_code pfc_packed_append(pfc_bytes packed, const pfc_window_bounds *bounds,
                           pfc_packed_points *out, pfc_err *err)
{
    const size_t len = packed.len;

    if (!packed.data)
        return PFC_OK;
    if (len % POINT_BYTES)
        return pfc_err_set(err, PFC_EBUG, "series: a chunk of %zu bytes, expected a multiple of %d",
                           len, POINT_BYTES);
    out->items = pfc_realloc(out->items, out->len + len / POINT_BYTES, sizeof(*out->items));
    for (size_t at = 0; at < len; at += POINT_BYTES) {
        out->items[out->len] = unpack(packed.data + at);
        out->len += pfc_packed_inside(&out->items[out->len], bounds);
    }
    return PFC_OK;
}

static int by_place(const void *a, const void *b)
{
    const pfc_packed_point *x = a, *y = b;

    if (x->position != y->position)
        return x->position < y->position ? -1 : 1;
    return (x->run_id > y->run_id) - (x->run_id < y->run_id);
}

/* Chunks are in the order of storing, which differs from that of positions only after backfills. */
void pfc_packed_sort(pfc_packed_points *points)
{
    for (size_t i = 1; i < points->len; i++) {
        if (by_place(&points->items[i - 1], &points->items[i]) > 0) {
            qsort(points->items, points->len, sizeof(*points->items), by_place);
            return;
        }
    }
}

/* Widens the span to the times of a chunk, or of the rest, if it has points within the bounds. */
static void span(pfc_packed_points *points, size_t before, const char *from, const char *until)
{
    if (points->len == before)
        return;
    if (!points->stored_from[0])
        (void)snprintf(points->stored_from, sizeof(points->stored_from), "%s", from);
    (void)snprintf(points->stored_until, sizeof(points->stored_until), "%s", until);
}

/* *from: `until`, or a later time that suffices for a short window; its text is in `rows`. */
static pfc_code raise_from(pfc_tx *tx, int64_t project_id, const char *branch,
                           const pfc_window_bounds *b, const char *until,
                           pfc_sql_window_since_rows *rows, const char **from, pfc_err *err)
{
    pfc_code code;

    *from = until;
    if (!b->position_from || !b->position_to || b->position_to - b->position_from >= SHORT_WINDOW)
        return PFC_OK;
    code = pfc_sql_window_since(tx,
                                &(pfc_sql_window_since_args){ .project_id = project_id,
                                                              .branch = branch,
                                                              .position_from = b->position_from,
                                                              .position_to = b->position_to,
                                                              .stored_from = until },
                                rows, err);
    if (!code && rows->len)
        *from = rows->items[0].from;
    return code;
}

pfc_code pfc_packed_load(pfc_tx *tx, int64_t project_id, int64_t series_id, const char *branch,
                         const pfc_window_bounds *bounds, pfc_packed_points *out, pfc_err *err)
{
    const char *until = "-infinity", *from = NULL;
    pfc_packed_points points = { 0 };
    pfc_sql_window_since_rows since = { 0 };
    pfc_sql_window_chunks_rows chunks = { 0 };
    pfc_sql_window_rest_rows rest = { 0 };
    size_t before;
    pfc_code code = pfc_sql_window_chunks(tx,
                                          &(pfc_sql_window_chunks_args){ .project_id = project_id,
                                                                         .series_id = series_id,
                                                                         .branch = branch },
                                          &chunks, err);

    for (size_t i = 0; !code && i < chunks.len; i++) {
        before = points.len;
        until = chunks.items[i].until;
        code = pfc_packed_append(chunks.items[i].packed, bounds, &points, err);
        span(&points, before, chunks.items[i].from, until);
    }
    if (!code)
        code = raise_from(tx, project_id, branch, bounds, until, &since, &from, err);
    if (!code)
        code = pfc_sql_window_rest(tx,
                                   &(pfc_sql_window_rest_args){ .project_id = project_id,
                                                                .series_id = series_id,
                                                                .branch = branch,
                                                                .stored_from = from },
                                   &rest, err);
    before = points.len;
    if (!code) /* an aggregate: there is one row */
        code = pfc_packed_append(rest.items[0].packed, bounds, &points, err);
    span(&points, before, from, "infinity");
    pfc_rows_clear(&since);
    pfc_rows_clear(&rest);
    pfc_rows_clear(&chunks);
    if (code) {
        free(points.items);
        return code;
    }
    pfc_packed_sort(&points);
    *out = points;
    return PFC_OK;
}

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static pfc_bucket summarise(const pfc_packed_point *points, size_t len, double *room)
{
    pfc_bucket b = { .low = (double)INFINITY, .high = -(double)INFINITY, .min = (double)INFINITY };

    for (size_t i = 0; i < len; i++) {
        room[i] = points[i].median;
        b.min = PFC_MIN(b.min, points[i].min);
        b.n += points[i].n;
    }
    qsort(room, len, sizeof(*room), by_value);
    b.low = room[0];
    b.high = room[len - 1];
    b.median = len % 2 ? room[len / 2] : room[len / 2 - 1] / 2 + room[len / 2] / 2;
    return b;
}

void pfc_packed_buckets(const pfc_packed_points *points, pfc_bucket *out, size_t count)
{
    size_t small = points->len / count, larger = points->len % count, at = 0;
    double *room = pfc_calloc(small + 1, sizeof(*room));

    for (size_t i = 0; i < count; i++) {
        size_t len = small + (i < larger);

        out[i] = summarise(points->items + at, len, room);
        at += len;
        out[i].last = at - 1;
    }
    free(room);
}
