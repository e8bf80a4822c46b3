/* A record as events: slices, async events, instants; ends what is open at the end. See json.h. */
#include "core/trace/export/json.h"

#include <stdlib.h>

static size_t unit_of(const pfc_trace_json *json, const pfc_trace_track *track)
{
    return (size_t)(track - json->tracks);
}

/* ---- points ---- */

static void put_instant(pfc_trace_json *json, const pfc_trace_track *track,
                        const pfc_trace_record *r, int64_t ns, bool unmatched)
{
    const pfc_trace_row *row = pfc_trace_row_of(r->type);
    const pfc_trace_open fields = pfc_trace_open_of(r, unit_of(json, track), ns);

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

/* ---- what is whole ---- */

static unsigned tid_of(const pfc_trace_track *track, size_t lane)
{
    return track->tid + (unsigned)lane * PFC_TRACE_LANE_TIDS;
}

void pfc_trace_json_slice(void *arg, const pfc_trace_ended *ended)
{
    pfc_trace_json *json = arg;
    const pfc_trace_track *track = &json->tracks[ended->slice->unit];

    json->stats.unmatched += ended->cut;
    pfc_trace_event_slice(json, track, tid_of(track, ended->lane), ended->slice, ended->end_ns,
                          ended->end);
}

void pfc_trace_json_wait(void *arg, const pfc_trace_open *wait, int64_t end_ns)
{
    pfc_trace_json *json = arg;
    const pfc_trace_row *row = pfc_trace_row_of(PFC_TRACE_SEM_WAIT);

    put_async(json, &json->tracks[wait->unit], 'b', row, wait, wait->a, wait->ns);
    put_async(json, &json->tracks[wait->unit], 'e', row, wait, wait->a, end_ns);
}

/* ---- begin and end ---- */

static pfc_code push(pfc_trace_json *json, const pfc_trace_track *track, const pfc_trace_record *r,
                     int64_t ns, pfc_err *err)
{
    const pfc_code code = pfc_trace_slices_push(&json->slices, unit_of(json, track), r, ns, err);

    if (!code && (r->type == PFC_TRACE_DMA_ISSUE || r->type == PFC_TRACE_KERNEL_BEGIN))
        pfc_trace_flow_point(json, r, ns, track, track->tid);
    return code;
}

static void pop(pfc_trace_json *json, const pfc_trace_track *track, const pfc_trace_record *r,
                int64_t ns)
{
    if (!pfc_trace_slices_pop(&json->slices, unit_of(json, track), r, ns))
        put_instant(json, track, r, ns, true);
    else if (r->type == PFC_TRACE_KERNEL_END)
        pfc_trace_flow_kernel(json, r);
}

/* A lane is a track of its own, which its first slice names. */
static void name_lane(pfc_trace_json *json, const pfc_trace_track *track, size_t lane)
{
    char *name = pfc_format("%s (%zu)", track->unit->name, lane + 1);

    pfc_trace_event_meta(json, "thread_name", track->pid, tid_of(track, lane), name, 0);
    pfc_trace_event_meta(json, "thread_sort_index", track->pid, tid_of(track, lane), NULL,
                         track->tid);
    free(name);
}

/* False: no lane is free. */
static bool begin_on_lane(pfc_trace_json *json, const pfc_trace_track *track,
                          const pfc_trace_record *r, int64_t ns)
{
    bool fresh;
    const size_t lane = pfc_trace_slices_begin(&json->slices, unit_of(json, track), r, ns, &fresh);

    if (lane == SIZE_MAX)
        return false;
    if (fresh && lane > 0)
        name_lane(json, track, lane);
    if (r->type == PFC_TRACE_DMA_ISSUE)
        pfc_trace_flow_point(json, r, ns, track, tid_of(track, lane));
    return true;
}

/* ---- records ---- */

static void put_complete(pfc_trace_json *json, const pfc_trace_track *track,
                         const pfc_trace_record *r, int64_t ns, int64_t later_ns)
{
    const pfc_trace_open fields = pfc_trace_open_of(r, unit_of(json, track), ns);

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
    if (r->type == PFC_TRACE_SUBMIT && json->slices.units[unit_of(json, track)].depth > 0)
        pfc_trace_flow_point(json, r, ns, track, track->tid);
}

pfc_code pfc_trace_json_put(pfc_trace_json *json, const pfc_trace_record *r, pfc_err *err)
{
    const pfc_trace_row *row = pfc_trace_row_of(r->type);
    const pfc_trace_unit *unit = pfc_trace_unit_of(json->index, r->unit);
    pfc_trace_track *track = &json->tracks[unit - json->index->header.units];
    const uint64_t after = row->phase == PFC_TRACE_COMPLETE ? r->b : 0;
    const pfc_trace_open fields = pfc_trace_open_of(r, unit_of(json, track), 0);
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
        if (!begin_on_lane(json, track, r, ns))
            put_async(json, track, 'b', row, &fields, r->a, ns);
        break;
    case PFC_TRACE_END:
        if (!unit->overlaps)
            pop(json, track, r, ns);
        else if (!pfc_trace_slices_end(&json->slices, unit_of(json, track), r, ns))
            put_async(json, track, 'e', row, &fields, r->a, ns);
        break;
    case PFC_TRACE_COMPLETE:
        put_complete(json, track, r, ns, later_ns);
        break;
    case PFC_TRACE_WAIT:
        if (!pfc_trace_slices_wait(&json->slices, unit_of(json, track), r, ns))
            put_instant(json, track, r, ns, true);
        break;
    case PFC_TRACE_SIGNAL:
        put_instant(json, track, r, ns, false);
        pfc_trace_slices_signal(&json->slices, r, ns);
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

/* How a clock came onto the time of the export. */
static void put_method(pfc_trace_json *json, size_t clock)
{
    const pfc_trace_placed placed = pfc_trace_timeline_placed(&json->line, clock);

    pfc_trace_event_text(json, ",\"offset_ns\":");
    pfc_trace_text_i64(&json->text, placed.offset_ns);
    pfc_trace_event_text(json, ",\"method\":\"");
    pfc_trace_event_text(json, placed.method);
    pfc_trace_event_text(json, "\"");
    if (placed.knots) {
        pfc_trace_event_text(json, ",\"knots\":");
        pfc_trace_event_u64(json, placed.knots->len);
        pfc_trace_event_text(json, ",\"bound_ns\":");
        pfc_trace_event_u64(json, (uint64_t)placed.knots->bound_ns);
    }
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
    pfc_trace_slices_close(&json->slices, json->last_ns);
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
