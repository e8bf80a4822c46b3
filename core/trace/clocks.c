/* Clocks by all of their pairs: see clocks.h. */
#include "core/trace/clocks.h"

#include <stdlib.h>

#include "core/trace/reader_priv.h"
#include "core/trace/timeline.h"

#define KNOTS_MAX 65536

__extension__ typedef __int128 wide; /* a product of two times */

/* A clock_pair record. */
typedef struct pair {
    int64_t ticks;
    int64_t before_ns, after_ns; /* the host's readings */
} pair;

typedef struct pairs {
    pair *items;
    size_t len, cap;
    size_t every, seen; /* one of `every` pairs is kept */
} pairs;

static void add(pairs *p, const pair *item)
{
    if (p->every == 0)
        p->every = 1;
    if (p->seen++ % p->every)
        return;
    if (p->len == KNOTS_MAX) {
        for (size_t i = 0; i < KNOTS_MAX / 2; i++)
            p->items[i] = p->items[2 * i];
        p->len = KNOTS_MAX / 2;
        p->every *= 2;
    }
    p->items = pfc_grow(p->items, p->len, &p->cap, sizeof(*p->items));
    p->items[p->len++] = *item;
}

static pfc_code read_pairs(pfc_trace_reader *reader, pairs *all, pfc_err *err)
{
    const pfc_trace_index *index = pfc_trace_reader_index(reader);
    pfc_trace_timeline line;
    pfc_trace_record r;
    bool more = true;
    pfc_code code = PFC_OK;

    pfc_trace_timeline_init(&line, index, NULL);
    while (!code && more) {
        code = pfc_trace_read(reader, &r, &more, err);
        if (!code && more) {
            const pfc_trace_unit *unit = pfc_trace_unit_of(index, r.unit);
            pair item;

            if (!pfc_trace_timeline_count(&line, unit->clock, r.ticks, &item.ticks))
                return pfc_err_set(err, PFC_EINVAL,
                                   "record %llu: its time does not fit in 63 bits of nanoseconds",
                                   (unsigned long long)pfc_trace_reader_number(reader));
            if (r.type == PFC_TRACE_CLOCK_PAIR && unit->clock != line.host_clock &&
                pfc_trace_timeline_host_ns(&line, r.a, &item.before_ns) &&
                pfc_trace_timeline_host_ns(&line, r.b, &item.after_ns) &&
                item.before_ns <= item.after_ns)
                add(&all[unit->clock], &item);
        }
    }
    return code;
}

/* Pairs that are close enough, and later than the one before by both clocks. */
static void find_knots(const pairs *p, pfc_trace_clock_knots *out)
{
    int64_t least = INT64_MAX;

    for (size_t i = 0; i < p->len; i++)
        least = PFC_MIN(least, p->items[i].after_ns - p->items[i].before_ns);
    out->knots = pfc_calloc(p->len, sizeof(*out->knots));
    for (size_t i = 0; i < p->len; i++) {
        const int64_t width = p->items[i].after_ns - p->items[i].before_ns;
        const pfc_trace_knot knot = { p->items[i].ticks, p->items[i].before_ns + width / 2 };

        if (width / 2 > least || (out->len && (knot.ticks <= out->knots[out->len - 1].ticks ||
                                               knot.ns <= out->knots[out->len - 1].ns))) {
            out->left_out++;
            continue;
        }
        out->knots[out->len++] = knot;
        out->bound_ns = PFC_MAX(out->bound_ns, width - width / 2);
    }
}

pfc_code pfc_trace_clocks_read(pfc_trace_clocks **out, pfc_trace_reader *reader, pfc_err *err)
{
    const size_t len = pfc_trace_reader_header(reader)->clocks_len;
    pairs *all = pfc_calloc(len, sizeof(*all));
    pfc_code code = read_pairs(reader, all, err);

    if (!code) {
        pfc_trace_clocks *clocks = pfc_alloc(sizeof(*clocks));

        for (size_t i = 0; i < len; i++)
            find_knots(&all[i], &clocks->clocks[i]);
        *out = clocks;
    }
    for (size_t i = 0; i < len; i++)
        free(all[i].items);
    free(all);
    return code;
}

void pfc_trace_clocks_free(pfc_trace_clocks *clocks)
{
    if (!clocks)
        return;
    for (size_t i = 0; i < PFC_TRACE_MAX_CLOCKS; i++)
        free(clocks->clocks[i].knots);
    free(clocks);
}

/* The last knot at or before the reading; 0 when it is before all. */
static size_t find_segment(const pfc_trace_clock_knots *c, int64_t ticks)
{
    size_t low = 0;
    size_t high = c->len;

    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;

        if (c->knots[middle].ticks <= ticks)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* ns of a line through two knots, `from` being on it, rounded down. */
static bool on_line(const pfc_trace_knot *from, const pfc_trace_knot *a, const pfc_trace_knot *b,
                    int64_t ticks, int64_t *out)
{
    const wide run = (wide)b->ticks - a->ticks;
    const wide product = ((wide)ticks - from->ticks) * ((wide)b->ns - a->ns);
    const wide since = product / run - (product % run < 0);

    return since <= INT64_MAX && since >= INT64_MIN &&
           !__builtin_add_overflow(from->ns, (int64_t)since, out);
}

bool pfc_trace_clocks_ns(const pfc_trace_clock_knots *clock, int64_t ticks, int64_t *out)
{
    const pfc_trace_knot *first = &clock->knots[0];
    const pfc_trace_knot *last = &clock->knots[clock->len - 1];
    size_t at;

    if (ticks < first->ticks)
        return on_line(first, first, last, ticks, out);
    if (ticks >= last->ticks)
        return on_line(last, first, last, ticks, out);
    at = find_segment(clock, ticks);
    return on_line(&clock->knots[at], &clock->knots[at], &clock->knots[at + 1], ticks, out);
}
