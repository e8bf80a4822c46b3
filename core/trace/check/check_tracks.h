/*
 * Tracks of a JSON trace: slices nest, points of flows lie in slices. Private to core/trace.
 */
#ifndef PFC_CORE_TRACE_CHECK_CHECK_TRACKS_H
#define PFC_CORE_TRACE_CHECK_CHECK_TRACKS_H

#include "core/trace/check/check_priv.h"
#include "core/trace/check/map.h"

#define PFC_TRACE_MAX_TRACKS 4096

/** A slice, or a point of a flow when begin and end are the same. */
typedef struct pfc_trace_span {
    int64_t begin_ns, end_ns;
    uint64_t event, offset;
} pfc_trace_span;

typedef struct pfc_trace_spans {
    pfc_trace_span *items;
    size_t len, cap;
} pfc_trace_spans;

typedef struct pfc_trace_lane {
    uint64_t pid, tid;
    uint64_t event, offset;  /* of the first event on it; 0: none but metadata */
    bool named;              /* a thread_name event named it */
    pfc_trace_spans slices;  /* outermost slices so far, none of which overlap, in order of time */
    pfc_trace_spans pending; /* points of flows that no slice so far contains */
} pfc_trace_lane;

typedef struct pfc_trace_lanes {
    pfc_trace_lane *items;
    size_t len, cap;
    pfc_trace_map map; /* from a hash of pid and tid to the position in `items` */
    size_t slices_len; /* in all lanes */
} pfc_trace_lanes;

void pfc_trace_lanes_init(pfc_trace_lanes *lanes);
void pfc_trace_lanes_clear(pfc_trace_lanes *lanes);
/** The lane of a track, made when there is none; NULL: there are too many. */
pfc_trace_lane *pfc_trace_lane_of(pfc_trace_lanes *lanes, uint64_t pid, uint64_t tid);
void pfc_trace_lane_slice(pfc_trace_lanes *lanes, pfc_trace_lane *lane, const pfc_trace_span *slice,
                          pfc_trace_report *report);
void pfc_trace_lane_point(pfc_trace_lane *lane, const pfc_trace_span *point,
                          pfc_trace_report *report);
/** Reports lanes without names and points outside of slices. */
void pfc_trace_lanes_end(const pfc_trace_lanes *lanes, pfc_trace_report *report);

#endif
