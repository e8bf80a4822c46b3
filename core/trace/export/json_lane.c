/* Slices that overlap, each on the first lane that is free: tracks of their own, which the first
 * slice on them names. See json.h. */
#include <stdlib.h>

#include "core/trace/export/json.h"

static unsigned tid_of(const pfc_trace_track *track, size_t lane)
{
    return track->tid + (unsigned)lane * PFC_TRACE_LANE_TIDS;
}

static void name_lane(pfc_trace_json *json, const pfc_trace_track *track, size_t lane)
{
    char *name = pfc_format("%s (%zu)", track->unit->name, lane + 1);

    pfc_trace_event_meta(json, "thread_name", track->pid, tid_of(track, lane), name, 0);
    pfc_trace_event_meta(json, "thread_sort_index", track->pid, tid_of(track, lane), NULL,
                         track->tid);
    free(name);
}

bool pfc_trace_lane_begin(pfc_trace_json *json, pfc_trace_track *track,
                          const pfc_trace_record *record, int64_t ns)
{
    size_t lane = 0;

    if (!track->lanes)
        track->lanes = pfc_calloc(PFC_TRACE_MAX_LANES, sizeof(*track->lanes));
    while (lane < track->lanes_len && (track->lanes[lane].open || track->lanes[lane].free_ns > ns))
        lane++;
    if (lane == PFC_TRACE_MAX_LANES)
        return false;
    if (lane == track->lanes_len && track->lanes_len++ > 0)
        name_lane(json, track, lane);
    track->lanes[lane] = (pfc_trace_slot){ .slice = { .ns = ns,
                                                      .a = record->a,
                                                      .b = record->b,
                                                      .corr = record->corr,
                                                      .type = record->type,
                                                      .unit = (uint16_t)(track - json->tracks) },
                                           .open = true };
    if (record->type == PFC_TRACE_DMA_ISSUE)
        pfc_trace_flow_point(json, record, ns, track, tid_of(track, lane));
    return true;
}

bool pfc_trace_lane_end(pfc_trace_json *json, pfc_trace_track *track,
                        const pfc_trace_record *record, int64_t ns)
{
    const uint16_t begin = pfc_trace_row_of(record->type)->partner;

    for (size_t lane = 0; lane < track->lanes_len; lane++) {
        pfc_trace_slot *slot = &track->lanes[lane];

        if (!slot->open || slot->slice.type != begin || slot->slice.corr != record->corr ||
            slot->slice.a != record->a)
            continue;
        pfc_trace_event_slice(json, track, tid_of(track, lane), &slot->slice, ns, record);
        slot->open = false;
        slot->free_ns = PFC_MAX(ns, slot->slice.ns);
        return true;
    }
    return false;
}

void pfc_trace_lanes_close(pfc_trace_json *json, pfc_trace_track *track)
{
    for (size_t lane = 0; lane < track->lanes_len; lane++)
        if (track->lanes[lane].open)
            pfc_trace_event_slice(json, track, tid_of(track, lane), &track->lanes[lane].slice,
                                  json->last_ns, NULL);
}
