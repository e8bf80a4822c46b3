/* Optimal partition on a lattice of levels. */
#include "core/changepoint/segment/segment.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/changepoint/segment/segment_walk.h"
#include "core/changepoint/segment/vector_width.h"

#define CHUNK         32768 /* points whose decisions are kept for the walk back */
#define CHUNK_MIN     512
/* limit of points times levels in a chunk, which bounds the memory */
#define CELLS_MAX     (16u << 20)
/* a chunk shares this fraction with the next one; each decides its half of it */
#define OVERLAP_SHARE 8
#define SPREAD        1 /* cells around a visited level that become levels, too */

static const double *shape_of(pfc_shapes *shapes, double freedom)
{
    size_t k = 0;
    while (k + 1 < PFC_ARRAY_LEN(shapes->freedom) && shapes->freedom[k] > 0.0 &&
           shapes->freedom[k] != freedom)
        k++;
    double *nats = shapes->nats[k];
    if (shapes->freedom[k] == freedom)
        return nats;
    shapes->freedom[k] = freedom;
    /* Quartile of the t distribution: 0.6745 (1 + 1/(4f) ...) to a part in 100 for f >= 2. */
    double g = 1.0 / freedom;
    double quartile = 0.67449 * (1.0 + g * (0.3637 + g * 0.1));
    double unit = 0.67449 / quartile;
    for (int i = 0; i <= PFC_LOSS_REACH; i++) {
        double r = (double)i / PFC_LATTICE / unit;
        nats[i] = 0.5 * (freedom + 1.0) * log(1.0 + r * r / freedom);
    }
    return nats;
}

void pfc_loss_init(pfc_loss *loss, pfc_shapes *shapes, double freedom, double scale,
                   double cap_nats)
{
    if (loss->freedom == freedom && loss->scale == scale && loss->cap_nats == cap_nats)
        return;
    loss->freedom = freedom;
    loss->scale = scale;
    loss->cap_nats = cap_nats;
    const double *nats = shape_of(shapes, freedom);
    int16_t *centre = loss->cost + PFC_LOSS_HALF;
    for (int i = 0; i <= PFC_LOSS_REACH; i++)
        centre[i] = (int16_t)lrint(PFC_MIN(nats[i], cap_nats) / scale * PFC_NAT);
    for (int i = PFC_LOSS_REACH + 1; i <= PFC_LOSS_HALF; i++)
        centre[i] = centre[PFC_LOSS_REACH];
    for (int i = 1; i <= PFC_LOSS_HALF; i++)
        centre[-i] = centre[i];
}

double pfc_loss_at(const pfc_loss *loss, double residual)
{
    double cells = PFC_MIN(fabs(residual) * PFC_LATTICE, (double)PFC_LOSS_REACH);
    int low = (int)cells;
    double part = cells - (double)low;
    const int16_t *cost = loss->cost + PFC_LOSS_HALF;
    return ((1.0 - part) * (double)cost[low] + part * (double)cost[low + 1]) / PFC_NAT;
}

static int32_t median3(int32_t a, int32_t b, int32_t c)
{
    int32_t low = PFC_MIN(a, b);
    int32_t high = PFC_MAX(a, b);
    return PFC_MAX(low, PFC_MIN(high, c));
}

/* Levels are where the running median of three has been: no level of three points or more is
 * missed by much, and spikes open none. The newest point may be the first of a level. Fills
 * at[0..n) and returns how many of them there are. */
WIDEST static size_t levels_of(const int32_t *q, size_t n, int32_t *at, int32_t *low, int32_t *high)
{
    size_t len = n < 3 ? n : n + 1;
    if (n < 3) {
        memcpy(at, q, n * sizeof *at);
    } else {
        for (size_t i = 1; i + 1 < n; i++)
            at[i] = median3(q[i - 1], q[i], q[i + 1]);
        at[0] = median3(q[2], q[0], q[1]);
        at[n - 1] = q[n - 1];
        at[n] = median3(q[n - 1], q[n - 2], q[n - 3]);
    }
    int32_t least = at[0];
    int32_t most = at[0];
    for (size_t i = 0; i < len; i++) {
        least = PFC_MIN(least, at[i]);
        most = PFC_MAX(most, at[i]);
    }
    *low = least;
    *high = most;
    return len;
}

static void grid_init(pfc_grid *g, const int32_t *q, size_t n, pfc_segment_space *space)
{
    int32_t low;
    int32_t high;
    size_t cap = 0;
    int32_t *at = pfc_segment_space_take(space, (n + 1) * sizeof *at);
    size_t len = levels_of(q, n, at, &low, &high);
    size_t cells = (size_t)(high - low) + 1 + 2 * SPREAD;
    memset(g, 0, sizeof *g);
    if (space->mark_cap < cells) {
        space->mark = pfc_realloc(space->mark, cells, 1);
        space->mark_cap = cells;
    }
    uint8_t *mark = space->mark;
    memset(mark, 0, cells);
    for (size_t i = 0; i < len; i++)
        memset(mark + (at[i] - low), 1, 2 * SPREAD + 1);
    pfc_segment_space_give(space, at);
    for (size_t i = 0; i < cells;) {
        const uint8_t *next = memchr(mark + i, 1, cells - i);
        if (!next)
            break;
        size_t from = (size_t)(next - mark);
        size_t to = from + 1;
        size_t last = from;
        for (; to < cells && to - from < PFC_BAND_MAX && to - last < PFC_WALK_LANES; to++) {
            if (mark[to])
                last = to;
        }
        size_t width = (last - from) / PFC_WALK_LANES * PFC_WALK_LANES + PFC_WALK_LANES;
        g->bands = pfc_grow(g->bands, g->bands_len, &cap, sizeof *g->bands);
        g->bands[g->bands_len++] = (pfc_band){ .first = (int32_t)from - SPREAD + low,
                                               .len = (int32_t)width,
                                               .at = (int32_t)g->row };
        g->row += width;
        i = from + width;
    }
}

static int16_t *rows_of(pfc_segment_space *space, size_t n, size_t row)
{
    size_t cells = (n + 1) * row;
    if (space->rows_cap < cells) {
        free(space->rows);
        space->rows_cap = cells + cells / 2;
        space->rows = pfc_alloc(space->rows_cap * sizeof *space->rows);
    }
    memset(space->rows, 0, row * sizeof *space->rows);
    return space->rows;
}

void pfc_segment_space_clear(pfc_segment_space *space)
{
    free(space->rows);
    free(space->mark);
    for (size_t i = 0; i < PFC_SPACE_PARTS; i++)
        free(space->parts[i].memory);
    memset(space, 0, sizeof *space);
}

void *pfc_segment_space_take(pfc_segment_space *space, size_t bytes)
{
    size_t i = 0;
    while (space->parts[i].used)
        i++;
    assert(i < PFC_SPACE_PARTS);
    space->parts[i].used = true;
    if (space->parts[i].cap <= bytes) { /* an empty piece has an address, too */
        space->parts[i].cap = bytes + bytes / 2 + 1;
        free(space->parts[i].memory);
        space->parts[i].memory = pfc_alloc(space->parts[i].cap);
    }
    return space->parts[i].memory;
}

void pfc_segment_space_give(pfc_segment_space *space, void *memory)
{
    for (size_t i = 0; i < PFC_SPACE_PARTS; i++) {
        if (space->parts[i].memory == memory)
            space->parts[i].used = false;
    }
}

WIDEST static size_t cheapest(const int16_t *row, size_t len)
{
    int16_t least = INT16_MAX;
    size_t at = 0;
    for (size_t j = 0; j < len; j++)
        least = row[j] < least ? row[j] : least;
    while (row[at] != least)
        at++;
    return at;
}

/* The place in the row before from which cell j was reached; *changed: by a change of level. */
static size_t came_from(const pfc_walk *w, const int16_t *row, size_t j, bool *changed)
{
    int cap = w->cap;
    *changed = false;
    if (!w->two) {
        if (row[j] <= cap) /* the least of the row is never negative */
            return j;
        size_t best = cheapest(row, w->row);
        *changed = row[j] - row[best] > cap;
        return *changed ? best : j;
    }
    size_t half = w->g.row;
    size_t other = j < half ? j + half : j - half;
    int stay = row[j] + w->move[j < half ? 0 : 3];
    int moved = row[other] + w->move[j < half ? 2 : 1];
    size_t from = moved < stay ? other : j;
    int least = PFC_MIN(moved, stay);
    if (least <= cap)
        return from;
    size_t best = cheapest(row, w->row);
    *changed = least - row[best] > cap;
    return *changed ? best : from;
}

static void reverse(uint32_t *x, size_t n)
{
    for (size_t i = 0; i < n / 2; i++) {
        uint32_t t = x[i];
        x[i] = x[n - 1 - i];
        x[n - 1 - i] = t;
    }
}

/* The levels of the next points, as many of them as are taken at once. A series that jumps about
 * visits so many levels that all points against all levels would not fit: less of it at a time
 * then. */
static size_t chunk_init(pfc_walk *w, const int32_t *q, size_t n)
{
    size_t len = PFC_MIN(n, (size_t)CHUNK);
    grid_init(&w->g, q, len, w->space);
    while (len > CHUNK_MIN && w->g.row * len > CELLS_MAX) {
        free(w->g.bands);
        len /= 2;
        grid_init(&w->g, q, len, w->space);
    }
    w->row = w->two ? 2 * w->g.row : w->g.row;
    return len;
}

/* The first settled change after the point `offset`. */
static size_t first_fixed(const pfc_confirmed_starts *fixed, size_t offset)
{
    size_t k = 0;
    while (k < fixed->len && fixed->at[k] <= offset)
        k++;
    return k;
}

/* Changes of the points that chunk_init took, at `offset` in the series; ends with its levels. */
static size_t segment_chunk(pfc_walk *w, const int32_t *q, size_t n, uint32_t offset,
                            uint32_t *starts, uint8_t *upper, double *cost_nats)
{
    int16_t *rows = rows_of(w->space, n, w->row);
    size_t first = first_fixed(&w->fixed, offset);
    size_t next = first;
    while (next < w->fixed.len && w->fixed.at[next] < offset + n)
        next++;
    double total = pfc_walk_on(w, q, n, offset, first, rows);
    size_t found = 0;
    size_t j = cheapest(rows + n * w->row, w->row);
    if (w->two)
        upper[n - 1] = j >= w->g.row;
    for (size_t t = n; t-- > 1;) {
        bool changed = next > first && w->fixed.at[next - 1] == offset + t;
        if (changed) {
            j = cheapest(rows + t * w->row, w->row);
            next--;
        } else {
            j = came_from(w, rows + t * w->row, j, &changed);
        }
        if (changed)
            starts[found++] = offset + (uint32_t)t;
        if (w->two)
            upper[t - 1] = j >= w->g.row;
    }
    free(w->g.bands);
    reverse(starts, found);
    if (cost_nats)
        *cost_nats += total / PFC_NAT;
    return found;
}

size_t pfc_segment(const int32_t *q, size_t n, const pfc_loss *loss, double penalty_nats,
                   const pfc_states *states, pfc_confirmed_starts fixed, pfc_segment_space *space,
                   uint32_t *starts, uint8_t *upper, double *cost_nats)
{
    pfc_walk w = {
        .loss = loss, .fixed = fixed, .space = space, .cap = (int16_t)lrint(penalty_nats * PFC_NAT)
    };
    assert(w.cap > 0 && w.cap < INT16_MAX / 2);
    if (cost_nats)
        *cost_nats = 0.0;
    if (states) {
        assert(n <= PFC_STATES_POINTS);
        w.two = true;
        w.gap = states->gap;
        for (int i = 0; i < 4; i++)
            w.move[i] = (int16_t)lrint(PFC_MIN(states->cost[i], 20.0) * PFC_NAT);
    }
    size_t found = 0;
    size_t from = 0;
    size_t low = 0;
    size_t most = PFC_MIN(n, (size_t)CHUNK);
    uint32_t *part = pfc_segment_space_take(space, most * (sizeof *part + 1));
    uint8_t *part_upper = (uint8_t *)(part + most);
    while (from < n) {
        size_t len = chunk_init(&w, q + from, n - from);
        size_t overlap = len / OVERLAP_SHARE;
        bool last = from + len == n;
        size_t high = last ? n : from + len - overlap / 2;
        size_t got = segment_chunk(&w, q + from, len, (uint32_t)from, part, part_upper, cost_nats);
        for (size_t i = 0; i < got; i++) {
            if (part[i] >= low && part[i] < high)
                starts[found++] = part[i];
        }
        if (states)
            memcpy(upper + low, part_upper + (low - from), high - low);
        if (last)
            break;
        low = high;
        from += len - overlap;
    }
    pfc_segment_space_give(space, part);
    return found;
}
