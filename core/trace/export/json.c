/* A record as events: slices, async events, instants; ends what is open at the end. See json.h. */
#include "core/trace/export/json.h"

#include <stdlib.h>

static pfc_trace_open fields_of(const pfc_trace_record *r, const pfc_trace_track *track,
                                const pfc_trace_json *json, int64_t ns)
{
    return (pfc_trace_open){ .ns = ns,
                             .a = r->a,
                             .b = r->b,
                             .corr = r->corr,
                             .type = r->type,
                             .unit = (uint16_t)(track - json->tracks) };
}

/* ---- slices that nest ---- */

static pfc_code push(pfc_trace_json *json, pfc_trace_track *track, const pfc_trace_record *r,
                     int64_t ns, pfc_err *err)
{
    if (track->depth == PFC_TRACE_MAX_DEPTH)
        return pfc_err_set(err, PFC_EINVAL, "unit %u: more than %d slices are nested",
                           track->unit->id, PFC_TRACE_MAX_DEPTH);
    track->open = pfc_grow(track->open, track->depth, &track->cap, sizeof(*track->open));
    track->open[track->depth++] = fields_of(r, track, json, ns);
    if (r->type == PFC_TRACE_DMA_ISSUE || r->type == PFC_TRACE_KERNEL_BEGIN)
        pfc_trace_flow_point(json, r, ns, track, track->tid);
    return PFC_OK;
}

/* ---- points ---- */

static void put_instant(pfc_trace_json *json, const pfc_trace_track *track,
                        const pfc_trace_record *r, int64_t ns, bool unmatched)
{
    const pfc_trace_row *row = pfc_trace_row_of(r->type);
    const pfc_trace_open fields = fields_of(r, track, json, ns);

    pfc_trace_event_begin(json, 'i');
    if (unmatched)
        pfc_trace_event_text(json, row->name);
    else
        pfc_trace_event_name(json, row, r->a);
    pfc_trace_event_place(json, pfc_trace_event_category(json, row), ns, track->pid, track->tid);
    pfc_trace_event_text(json, ",\"s\":\"t\"");
    pfc_trace_event_args(json, track, row, &fields);
    pfc_trace_event_text(json, unmatched ? ",\"unmatched\":true}}" : "}}");
    json->stats.unmatched += unmatched;
}

/* Ends the innermost slice that this record can end, and those within it, which have lost their
 * end. */
static void pop(pfc_trace_json *json, pfc_trace_track *track, const pfc_trace_record *r, int64_t ns)
{
    const uint16_t begin = pfc_trace_row_of(r->type)->partner;
    size_t at = track->depth;

    while (at > 0 && !(track->open[at - 1].type == begin && track->open[at - 1].corr == r->corr))
        at--;
    if (at == 0) {
        put_instant(json, track, r, ns, true);
        return;
    }
    for (; track->depth > at; json->stats.unmatched++)
        pfc_trace_event_slice(json, track, track->tid, &track->open[--track->depth], ns, NULL);
    pfc_trace_event_slice(json, track, track->tid, &track->open[--track->depth], ns, r);
    if (begin == PFC_TRACE_KERNEL_BEGIN)
        pfc_trace_flow_kernel(json, r);
}

/* ---- slices that overlap more than there are lanes, and waits ---- */

static void put_async(pfc_trace_json *json, const pfc_trace_track *track, char phase,
                      const pfc_trace_row *row, const pfc_trace_open *fields, uint64_t id,
                      int64_t ns)
{
    const pfc_trace_row *begin = row->phase == PFC_TRACE_END ? pfc_trace_row_of(row->partner) : row;

    pfc_trace_event_begin(json, phase);
    pfc_trace_event_text(json, track->name);
    pfc_trace_event_text(json, ": ");
    pfc_trace_event_name(json, begin, fields->a);
    pfc_trace_event_place(json, pfc_trace_event_category(json, row), ns, track->pid, track->tid);
    pfc_trace_event_text(json, ",\"id2\":{\"local\":\"");
    pfc_trace_event_u64(json, track->unit->id);
    pfc_trace_event_text(json, ".");
    pfc_trace_event_u64(json, fields->corr);
    pfc_trace_event_text(json, ".");
    pfc_trace_event_u64(json, id);
    pfc_trace_event_text(json, "\"}");
    pfc_trace_event_args(json, track, row, fields);
    pfc_trace_event_text(json, "}}");
}

/* ---- semaphores ---- */

static void put_wait(pfc_trace_json *json, const pfc_trace_open *wait, int64_t end_ns)
{
    const pfc_trace_row *row = pfc_trace_row_of(PFC_TRACE_SEM_WAIT);

    put_async(json, &json->tracks[wait->unit], 'b', row, wait, wait->a, wait->ns);
    put_async(json, &json->tracks[wait->unit], 'e', row, wait, wait->a, end_ns);
}

static void add_wait(pfc_trace_json *json, const pfc_trace_track *track, const pfc_trace_record *r,
                     int64_t ns)
{
    const pfc_trace_open wait = fields_of(r, track, json, ns);

    if (pfc_trace_semaphore_reached(&json->semaphores, r->a, r->b))
        put_wait(json, &wait, ns);
    else if (json->waits_len == PFC_TRACE_MAX_WAITS)
        put_instant(json, track, r, ns, true);
    else
        json->waits[json->waits_len++] = wait;
}

static void signal_waits(pfc_trace_json *json, const pfc_trace_record *r, int64_t ns)
{
    size_t kept = 0;

    for (size_t i = 0; i < json->waits_len; i++) {
        const pfc_trace_open wait = json->waits[i];

        if (wait.a == r->a && wait.b <= r->b)
            put_wait(json, &wait, PFC_MAX(ns, wait.ns));
        else
            json->waits[kept++] = wait;
    }
    json->waits_len = kept;
    pfc_trace_semaphore_set(&json->semaphores, r->a, r->b);
}

/* ---- records ---- */

static void put_complete(pfc_trace_json *json, const pfc_trace_track *track,
                         const pfc_trace_record *r, int64_t ns, int64_t later_ns)
{
    const pfc_trace_open fields = fields_of(r, track, json, ns);

    pfc_trace_event_slice(json, track, track->tid, &fields, later_ns, r);
    if (later_ns > ns)
        pfc_trace_flow_point(json, r, ns, track, track->tid);
}

static void put_point(pfc_trace_json *json, const pfc_trace_track *track, const pfc_trace_record *r,
                      int64_t ns)
{
    put_instant(json, track, r, ns, false);
    if (r->type == PFC_TRACE_DROP)
        json->dropped += r->a;
    /* A flow may begin only within a call. */
    if (r->type == PFC_TRACE_SUBMIT && track->depth > 0)
        pfc_trace_flow_point(json, r, ns, track, track->tid);
}

pfc_code pfc_trace_json_put(pfc_trace_json *json, const pfc_trace_record *r, pfc_err *err)
{
    const pfc_trace_row *row = pfc_trace_row_of(r->type);
    const pfc_trace_unit *unit = pfc_trace_unit_of(json->index, r->unit);
    pfc_trace_track *track = &json->tracks[unit - json->index->header.units];
    const uint64_t after = row->phase == PFC_TRACE_COMPLETE ? r->b : 0;
    const pfc_trace_open fields = fields_of(r, track, json, 0);
    int64_t ns;
    int64_t later_ns;

    if (!pfc_trace_timeline_ns(&json->line, unit, r, after, &ns, &later_ns))
        return pfc_err_set(err, PFC_EINVAL, "%s: its time does not fit in 63 bits of nanoseconds",
                           row->name);
    json->last_ns = json->stats.records++ ? PFC_MAX(json->last_ns, later_ns) : later_ns;
    switch (row->phase) {
    case PFC_TRACE_BEGIN:
        if (!unit->overlaps)
            return push(json, track, r, ns, err);
        if (!pfc_trace_lane_begin(json, track, r, ns))
            put_async(json, track, 'b', row, &fields, r->a, ns);
        break;
    case PFC_TRACE_END:
        if (!unit->overlaps)
            pop(json, track, r, ns);
        else if (!pfc_trace_lane_end(json, track, r, ns))
            put_async(json, track, 'e', row, &fields, r->a, ns);
        break;
    case PFC_TRACE_COMPLETE:
        put_complete(json, track, r, ns, later_ns);
        break;
    case PFC_TRACE_WAIT:
        add_wait(json, track, r, ns);
        break;
    case PFC_TRACE_SIGNAL:
        put_instant(json, track, r, ns, false);
        signal_waits(json, r, ns);
        break;
    case PFC_TRACE_INSTANT:
        put_point(json, track, r, ns);
        break;
    case PFC_TRACE_COUNTER:
        pfc_trace_counter_put(json, r, ns, track);
        break;
    case PFC_TRACE_DETAIL: /* no event: several for each command would hide the rest */
        json->details++;
        break;
    }
    return PFC_OK;
}

/* How a clock came onto the time of the export. With knots, the offset is that of tick 0. */
static void put_method(pfc_trace_json *json, size_t clock)
{
    const pfc_trace_clock_knots *knots = json->line.knots ? &json->line.knots->clocks[clock] : NULL;
    int64_t offset_ns = json->line.clocks[clock].offset_ns;
    const bool by_knots = knots && knots->len > 1 && pfc_trace_clocks_ns(knots, 0, &offset_ns);

    pfc_trace_event_text(json, ",\"offset_ns\":");
    pfc_trace_text_i64(&json->text, offset_ns);
    if (!by_knots) {
        pfc_trace_event_text(json, json->line.clocks[clock].paired
                                       ? ",\"method\":\"first clock_pair\"}"
                                       : ",\"method\":\"nominal\"}");
        return;
    }
    pfc_trace_event_text(json, ",\"method\":\"clock_pairs\",\"knots\":");
    pfc_trace_event_u64(json, knots->len);
    pfc_trace_event_text(json, ",\"bound_ns\":");
    pfc_trace_event_u64(json, (uint64_t)knots->bound_ns);
    pfc_trace_event_text(json, "}");
}

static void put_clocks(pfc_trace_json *json)
{
    const pfc_trace_header *h = &json->index->header;

    for (size_t i = 0; i < h->clocks_len; i++) {
        pfc_trace_text_room(&json->text);
        pfc_trace_event_text(json, i ? ",\n{\"name\":\"" : "\n{\"name\":\"");
        pfc_trace_event_text(json, json->clocks[i]);
        pfc_trace_event_text(json, "\",\"nominal_hz\":");
        pfc_trace_event_u64(json, h->clocks[i].nominal_hz);
        pfc_trace_event_text(json, ",\"width_bits\":");
        pfc_trace_event_u64(json, h->clocks[i].width_bits);
        put_method(json, i);
    }
}

static void put_number(pfc_trace_json *json, const char *key, uint64_t v)
{
    pfc_trace_event_text(json, ",\"");
    pfc_trace_event_text(json, key);
    pfc_trace_event_text(json, "\":");
    pfc_trace_event_u64(json, v);
}

void pfc_trace_json_end(pfc_trace_json *json)
{
    for (size_t i = 0; i < json->index->header.units_len; i++) {
        pfc_trace_track *track = &json->tracks[i];

        while (track->depth > 0)
            pfc_trace_event_slice(json, track, track->tid, &track->open[--track->depth],
                                  json->last_ns, NULL);
        pfc_trace_lanes_close(json, track);
    }
    for (size_t i = 0; i < json->waits_len; i++)
        put_wait(json, &json->waits[i], json->last_ns);
    pfc_trace_flow_end(json);
    pfc_trace_counter_end(json);
    pfc_trace_text_room(&json->text);
    pfc_trace_event_text(json, "\n],\n\"perfci\":{\"clocks\":[");
    put_clocks(json);
    pfc_trace_text_room(&json->text);
    pfc_trace_event_text(json, "]");
    put_number(json, "records", json->stats.records);
    put_number(json, "dropped", json->dropped);
    put_number(json, "flow_points_reversed", json->stats.reversed);
    put_number(json, "unmatched", json->stats.unmatched);
    if (json->details)
        put_number(json, "details_left_out", json->details);
    put_number(json, "events", json->stats.events);
    pfc_trace_event_text(json, "}}\n");
    pfc_trace_text_flush(&json->text);
}
