/* Nesting of slices and points of flows. See check_tracks.h. */
#include "core/trace/check/check_tracks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/trace/layout.h"

#define MAX_SLICES  (4u << 20) /* remembered in all lanes: 128 MiB */
#define MAX_PENDING 4096

void pfc_trace_lanes_init(pfc_trace_lanes *lanes)
{
    *lanes = (pfc_trace_lanes){ 0 };
    pfc_trace_map_init(&lanes->map, PFC_TRACE_MAX_TRACKS);
}

void pfc_trace_lanes_clear(pfc_trace_lanes *lanes)
{
    for (size_t i = 0; i < lanes->len; i++) {
        free(lanes->items[i].slices.items);
        free(lanes->items[i].pending.items);
    }
    free(lanes->items);
    pfc_trace_map_clear(&lanes->map);
}

pfc_trace_lane *pfc_trace_lane_of(pfc_trace_lanes *lanes, uint64_t pid, uint64_t tid)
{
    const uint64_t key = pfc_trace_digest(pfc_trace_digest(PFC_TRACE_DIGEST_START, pid), tid);
    pfc_trace_entry *entry = pfc_trace_map_find(&lanes->map, key);

    if (entry)
        return &lanes->items[entry->at];
    entry = pfc_trace_map_add(&lanes->map, key, 1);
    if (!entry)
        return NULL;
    entry->at = lanes->len;
    lanes->items = pfc_grow(lanes->items, lanes->len, &lanes->cap, sizeof(*lanes->items));
    lanes->items[lanes->len] = (pfc_trace_lane){ .pid = pid, .tid = tid };
    return &lanes->items[lanes->len++];
}

static void append(pfc_trace_spans *spans, const pfc_trace_span *span)
{
    spans->items = pfc_grow(spans->items, spans->len, &spans->cap, sizeof(*spans->items));
    spans->items[spans->len++] = *span;
}

/* Slices of the distant past are forgotten: only a slice that ends as late could still cross them.
 */
static void forget(pfc_trace_lanes *lanes, pfc_trace_lane *lane)
{
    const size_t half = lane->slices.len / 2;

    if (lanes->slices_len < MAX_SLICES)
        return;
    memmove(lane->slices.items, lane->slices.items + half,
            (lane->slices.len - half) * sizeof(*lane->slices.items));
    lane->slices.len -= half;
    lanes->slices_len -= half;
}

static void cross(pfc_trace_report *report, const pfc_trace_lane *lane, const pfc_trace_span *a,
                  const pfc_trace_span *b)
{
    pfc_trace_found(report, PFC_TRACE_CHECK_NESTING, a->event, a->offset,
                    "pid %" PRIu64 " tid %" PRIu64 ": the slice crosses that of event %" PRIu64,
                    lane->pid, lane->tid, b->event);
}

static void resolve(pfc_trace_lane *lane, const pfc_trace_span *slice)
{
    size_t kept = 0;

    for (size_t i = 0; i < lane->pending.len; i++) {
        const pfc_trace_span point = lane->pending.items[i];

        if (point.begin_ns < slice->begin_ns || point.begin_ns > slice->end_ns)
            lane->pending.items[kept++] = point;
    }
    lane->pending.len = kept;
}

void pfc_trace_lane_slice(pfc_trace_lanes *lanes, pfc_trace_lane *lane, const pfc_trace_span *slice,
                          pfc_trace_report *report)
{
    pfc_trace_spans *spans = &lane->slices;
    const pfc_trace_span *last = spans->len ? &spans->items[spans->len - 1] : NULL;

    resolve(lane, slice);
    if (last && slice->begin_ns >= last->begin_ns && slice->end_ns <= last->end_ns)
        return;
    /* Slices within this one were written before it: a slice is written when it ends. */
    while (spans->len && spans->items[spans->len - 1].begin_ns >= slice->begin_ns) {
        last = &spans->items[spans->len - 1];
        if (last->end_ns > slice->end_ns && last->begin_ns < slice->end_ns)
            cross(report, lane, slice, last);
        spans->len--;
        lanes->slices_len--;
    }
    last = spans->len ? &spans->items[spans->len - 1] : NULL;
    if (last && last->end_ns > slice->begin_ns && last->end_ns < slice->end_ns)
        cross(report, lane, slice, last);
    forget(lanes, lane);
    append(spans, slice);
    lanes->slices_len++;
}

/* A slice that contains the time; slices are in order, and ends may touch begins. */
static bool is_covered(const pfc_trace_spans *spans, int64_t ns)
{
    size_t low = 0; /* slices before `low` begin at `ns` or earlier, those from `high` on later */
    size_t high = spans->len;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (spans->items[middle].begin_ns <= ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && ns <= spans->items[low - 1].end_ns;
}

void pfc_trace_lane_point(pfc_trace_lane *lane, const pfc_trace_span *point,
                          pfc_trace_report *report)
{
    if (is_covered(&lane->slices, point->begin_ns))
        return;
    if (lane->pending.len == MAX_PENDING)
        pfc_trace_found(report, PFC_TRACE_CHECK_LIMIT, point->event, point->offset,
                        "pid %" PRIu64 " tid %" PRIu64
                        ": more than %d points of flows have no slice yet",
                        lane->pid, lane->tid, MAX_PENDING);
    else
        append(&lane->pending, point);
}

void pfc_trace_lanes_end(const pfc_trace_lanes *lanes, pfc_trace_report *report)
{
    for (size_t i = 0; i < lanes->len; i++) {
        const pfc_trace_lane *lane = &lanes->items[i];

        if (lane->event && !lane->named)
            pfc_trace_found(report, PFC_TRACE_CHECK_UNIT, lane->event, lane->offset,
                            "pid %" PRIu64 " tid %" PRIu64 " has no thread_name event", lane->pid,
                            lane->tid);
        for (size_t k = 0; k < lane->pending.len; k++)
            pfc_trace_found(report, PFC_TRACE_CHECK_FLOW_SLICE, lane->pending.items[k].event,
                            lane->pending.items[k].offset,
                            "pid %" PRIu64 " tid %" PRIu64 ": the point of a flow is in no slice",
                            lane->pid, lane->tid);
    }
}
