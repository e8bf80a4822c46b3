/*
 * The critical path, from the last result backward: the ticks of a command go to the resources of
 * its costs; the command began when its unit became free or when the last signal that it waited for
 * came, so the walk goes on in the command before it on its unit, or in the one that signalled.
 */
#include <stdlib.h>
#include <string.h>

#include "core/analysis/path/graph.h"
#include "core/base/base.h"

typedef struct walk {
    const pfc_path_graph *g;
    pfc_path *out;
    uint64_t now;               /* what lies behind it is given away */
    pfc_path_segment *segments; /* from the last to the first */
    size_t len, cap;
    uint32_t *last; /* by slot: the signalling node that was done last up to it */
} walk;

/* ---- segments ---- */

/* Gives [from, now) to a resource. */
static void give(walk *w, const pfc_path_node *n, pfc_resource r, uint64_t from)
{
    pfc_path_segment *s = w->len ? &w->segments[w->len - 1] : NULL;

    if (from >= w->now)
        return;
    w->out->blocking[n->phase][r] += w->now - from;
    if (s && s->phase == n->phase && s->resource == r) {
        s->begin = from;
        s->command = n->number;
    } else {
        w->segments = pfc_grow(w->segments, w->len, &w->cap, sizeof(*w->segments));
        w->segments[w->len++] = (pfc_path_segment){ .begin = from,
                                                    .end = w->now,
                                                    .phase = n->phase,
                                                    .resource = (uint8_t)r,
                                                    .command = n->number };
    }
    w->now = from;
}

/* Gives the newest `ticks` that are left, at most back to `begin`. */
static void give_ticks(walk *w, const pfc_path_node *n, pfc_resource r, uint64_t ticks,
                       uint64_t begin)
{
    const uint64_t from = w->now > ticks ? w->now - ticks : 0;

    give(w, n, r, PFC_MAX(from, begin));
}

/* The strip in order of time. A stretch below the threshold takes in the next one; the longest of
 * the stretches that were joined gives its name to all of them. */
static size_t join(const walk *w, uint64_t threshold, pfc_path_segment *out, size_t cap)
{
    uint64_t longest = 0;
    size_t len = 0;

    for (size_t i = w->len; i-- > 0;) {
        const pfc_path_segment *s = &w->segments[i];
        pfc_path_segment *before = len ? &out[len - 1] : NULL;
        const uint64_t ticks = s->end - s->begin;

        if (before && before->end - before->begin < threshold) {
            before->end = s->end;
            if (ticks > longest) {
                before->phase = s->phase;
                before->resource = s->resource;
                before->command = s->command;
            }
            longest = PFC_MAX(longest, ticks);
            continue;
        }
        if (len == cap)
            return cap + 1;
        out[len++] = *s;
        longest = ticks;
    }
    return len;
}

static void write_strip(const walk *w)
{
    uint64_t threshold = 0;
    size_t len;

    while ((len = join(w, threshold, w->out->segments, PFC_PATH_MAX_SEGMENTS)) >
           PFC_PATH_MAX_SEGMENTS)
        threshold = PFC_MAX(2 * threshold, 1 + w->g->total / PFC_PATH_MAX_SEGMENTS / 64);
    w->out->segments_len = len;
}

/* ---- waits ---- */

static void note_wait(walk *w, const pfc_path_node *n, uint64_t free_at, const pfc_path_node *by)
{
    pfc_path *out = w->out;
    const uint64_t ticks = n->begin - free_at;
    size_t at = out->waits_len;

    if (ticks == 0 ||
        (at == PFC_PATH_MAX_WAITS && ticks <= out->waits[PFC_PATH_MAX_WAITS - 1].ticks))
        return;
    if (at == PFC_PATH_MAX_WAITS)
        at--;
    for (; at > 0 && out->waits[at - 1].ticks < ticks; at--)
        out->waits[at] = out->waits[at - 1];
    out->waits[at] = (pfc_path_wait){ .begin = free_at,
                                      .ticks = ticks,
                                      .command = n->number,
                                      .ended_by = by->number,
                                      .line = n->line };
    out->waits_len = PFC_MIN(out->waits_len + 1, (size_t)PFC_PATH_MAX_WAITS);
}

/* ---- the walk ---- */

/* By slot: which of the signals up to it came last. */
static void find_last(walk *w)
{
    const pfc_path_graph *g = w->g;

    w->last = pfc_calloc(g->slots_len + 1, sizeof(*w->last));
    for (size_t s = 0; s < g->slots_len; s++) {
        w->last[s] = g->slots[s];
        if (g->first_slot[s] != s && g->nodes[w->last[s - 1]].done > g->nodes[g->slots[s]].done)
            w->last[s] = w->last[s - 1];
    }
}

/* From the result back to the end of the command's time on its unit. Returns the command whose
 * result this one's had to wait for, since results come in order; NULL: it waited for none. */
static const pfc_path_node *walk_result(walk *w, const pfc_path_node *n)
{
    const pfc_path_node *before = n->before == PFC_PATH_NONE ? NULL : &w->g->nodes[n->before];
    const uint64_t own = pfc_path_is_transfer(w->g, n) ? n->part[PFC_PART_LATENCY] : 0;

    if (before && before->done == n->done && before->done > n->end + own)
        return before;
    if (pfc_path_is_transfer(w->g, n)) {
        give_ticks(w, n, PFC_RESOURCE_LATENCY, n->part[PFC_PART_LATENCY], n->end);
        give(w, n, PFC_RESOURCE_MEMORY, n->end);
    } else {
        give(w, n, PFC_RESOURCE_LATENCY, n->end);
    }
    return NULL;
}

/* From the end of the command's time on its unit back to its begin. */
static void walk_unit(walk *w, const pfc_path_node *n)
{
    const uint64_t *p = n->part;
    const bool vector = w->g->units[n->unit].kind == PFC_TRACE_KIND_VECTOR;

    if (pfc_path_is_transfer(w->g, n)) {
        give_ticks(w, n, PFC_RESOURCE_MEMORY, p[PFC_PART_WINDOW], n->begin);
        give(w, n, PFC_RESOURCE_DMA, n->begin);
        return;
    }
    give_ticks(w, n, PFC_RESOURCE_SCRATCHPAD, p[PFC_PART_BANK], n->begin);
    give_ticks(w, n, PFC_RESOURCE_LATENCY, p[PFC_PART_FILL] + p[PFC_PART_REDUCE], n->begin);
    give_ticks(w, n, PFC_RESOURCE_WEIGHTS, p[PFC_PART_WEIGHTS], n->begin);
    give_ticks(w, n, vector ? PFC_RESOURCE_VECTOR : PFC_RESOURCE_COMPUTE, p[PFC_PART_STREAM],
               n->begin);
    give(w, n, PFC_RESOURCE_WEIGHTS, n->begin);
}

/* The command that n waited for at its begin, by its result or by its unit; NULL: none. */
static const pfc_path_node *cause_of(walk *w, const pfc_path_node *n, bool *by_result)
{
    const pfc_path_graph *g = w->g;
    const pfc_path_node *before = n->before == PFC_PATH_NONE ? NULL : &g->nodes[n->before];
    const uint64_t free_at = before ? before->end : 0;
    const pfc_path_node *latest = NULL;

    *by_result = false;
    for (size_t i = 0; i < n->waits_len; i++) {
        const pfc_path_node *by = &g->nodes[w->last[g->waits[n->waits + i]]];

        if (!latest || by->done > latest->done)
            latest = by;
    }
    if (!latest || latest->done <= free_at)
        return before;
    *by_result = true;
    note_wait(w, n, free_at, latest);
    return latest;
}

static void walk_back(walk *w)
{
    const pfc_path_node *n = &w->g->nodes[0];
    bool by_result = true;

    for (size_t i = 1; i < w->g->len; i++)
        if (w->g->nodes[i].done > n->done)
            n = &w->g->nodes[i];
    /* Behind the last result the device waits for something outside. */
    give(w, n, PFC_RESOURCE_HOST, n->done);
    while (n) {
        const pfc_path_node *in_order = by_result ? walk_result(w, n) : NULL;

        if (in_order) {
            n = in_order;
            continue;
        }
        walk_unit(w, n);
        in_order = cause_of(w, n, &by_result);
        /* A command that began later than anything it waits for was held up from outside. */
        give(w, n, PFC_RESOURCE_HOST, in_order ? (by_result ? in_order->done : in_order->end) : 0);
        n = in_order;
    }
}

/* ---- hidden time ---- */

typedef struct interval {
    uint64_t begin, end;
} interval;

static int by_begin(const void *a, const void *b)
{
    const interval *x = a;
    const interval *y = b;

    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* The ticks in which a command works with that resource, as one interval. */
static interval work_of(const pfc_path_graph *g, const pfc_path_node *n, pfc_resource r)
{
    const uint64_t *p = n->part;
    const bool vector = g->units[n->unit].kind == PFC_TRACE_KIND_VECTOR;
    uint64_t begin = n->begin + (n->preloaded ? p[PFC_PART_PRELOAD] : 0);

    if (pfc_path_is_transfer(g, n)) {
        if (r == PFC_RESOURCE_DMA)
            return (interval){ n->begin, n->end };
        if (r == PFC_RESOURCE_MEMORY)
            return (interval){ n->begin + p[PFC_PART_SETUP], n->done - p[PFC_PART_LATENCY] };
        if (r == PFC_RESOURCE_LATENCY)
            return (interval){ n->done - p[PFC_PART_LATENCY], n->done };
        return (interval){ 0, 0 };
    }
    if (r == (vector ? PFC_RESOURCE_VECTOR : PFC_RESOURCE_COMPUTE))
        return (interval){ begin, begin + p[PFC_PART_STREAM] };
    begin += p[PFC_PART_STREAM];
    if (r == PFC_RESOURCE_WEIGHTS)
        return (interval){ begin - p[PFC_PART_WEIGHTS_HIDDEN] < n->begin
                               ? n->begin
                               : begin - p[PFC_PART_WEIGHTS_HIDDEN],
                           begin + p[PFC_PART_WEIGHTS] };
    if (r == PFC_RESOURCE_SCRATCHPAD)
        return (interval){ n->end - p[PFC_PART_BANK], n->end };
    return r == PFC_RESOURCE_LATENCY ? (interval){ n->end, n->done } : (interval){ 0, 0 };
}

static uint64_t union_of(const pfc_path_graph *g, pfc_resource r, interval *all)
{
    uint64_t sum = 0;
    uint64_t reach = 0;
    size_t len = 0;

    for (size_t i = 0; i < g->len; i++) {
        const interval one = work_of(g, &g->nodes[i], r);

        if (one.end > one.begin)
            all[len++] = one;
    }
    qsort(all, len, sizeof(*all), by_begin);
    for (size_t i = 0; i < len; i++) {
        if (all[i].end > reach)
            sum += all[i].end - PFC_MAX(all[i].begin, reach);
        reach = PFC_MAX(reach, all[i].end);
    }
    return sum;
}

static void find_hidden(const pfc_path_graph *g, pfc_path *out)
{
    interval *all = pfc_calloc(g->len, sizeof(*all));

    for (pfc_resource r = 0; r < PFC_RESOURCES_LEN; r++) {
        const uint64_t worked = union_of(g, r, all);
        uint64_t blocked = 0;

        for (size_t i = 0; i < out->phases_len; i++)
            blocked += out->blocking[i][r];
        out->hidden[r] = worked > blocked ? worked - blocked : 0;
    }
    free(all);
}

void pfc_path_walk(const pfc_path_graph *g, pfc_path *out)
{
    walk w = { .g = g, .out = out, .now = g->total };

    out->total = g->total;
    out->commands = g->len;
    find_last(&w);
    walk_back(&w);
    write_strip(&w);
    find_hidden(g, out);
    free(w.segments);
    free(w.last);
}
