/*
 * Records as Chrome JSON, one at a time. Private to core/trace: the writer and export.c drive it.
 */
#ifndef PFC_CORE_TRACE_EXPORT_JSON_H
#define PFC_CORE_TRACE_EXPORT_JSON_H

#include "core/trace/export/export.h"
#include "core/trace/export/text.h"
#include "core/trace/slices.h"
#include "core/trace/timeline.h"

#define PFC_TRACE_LANE_TIDS  10000 /* from a lane's track number to the next one's */
#define PFC_TRACE_MAX_FLOWS  16384 /* a power of two */
#define PFC_TRACE_FLOW_STEPS 8     /* points of a flow that are drawn between its ends */

/** The newest point of a flow. It is written when the next one comes, since the last point of a
 *  flow is written as its end. */
typedef struct pfc_trace_flow {
    int64_t ns;
    uint32_t corr;
    uint16_t unit;  /* position in the header */
    unsigned tid;   /* of the unit's track, or of one of its lanes */
    uint8_t points; /* 0: no flow */
    bool kernel;    /* the newest point is that of a kernel, which is the last one */
} pfc_trace_flow;

/** A unit's track. */
typedef struct pfc_trace_track {
    const pfc_trace_unit *unit;
    char *name; /* escaped, owned */
    unsigned pid, counter_pid, tid;
    uint32_t states; /* bit n: a counter of state n was written */
    uint16_t state;  /* of the newest unit_state record, or PFC_TRACE_STATES_LEN */
    bool throttled;  /* a throttle counter was written */
} pfc_trace_track;

typedef struct pfc_trace_json {
    const pfc_trace_index *index;
    pfc_trace_export_opts opts;
    pfc_trace_export_stats stats;
    pfc_trace_timeline line;
    int64_t last_ns;         /* newest time of any record */
    pfc_trace_track *tracks; /* units_len */
    char **names;            /* escaped */
    char **counters;         /* escaped names, then escaped units: 2 * counters_len */
    char **clocks;           /* escaped */
    uint8_t *sampled;        /* bit of unit * counters_len + counter: a counter was written */
    const pfc_trace_track *frequency_track[PFC_TRACE_MAX_CLOCKS]; /* of its counter; NULL: none */
    pfc_trace_slices slices;
    pfc_trace_flow flows[PFC_TRACE_MAX_FLOWS]; /* by the low bits of the correlation id */
    uint64_t dropped;                          /* sum of the drop records */
    uint64_t details;                          /* records that are details, which are no events */
    pfc_trace_text text;
} pfc_trace_json;

/** Writes the beginning of the document. Sink and index outlive the writer. */
pfc_trace_json *pfc_trace_json_new(pfc_trace_sink *sink, const pfc_trace_index *index,
                                   const pfc_trace_export_opts *opts);
/** Writes a record, which does not contradict the header. PFC_EINVAL, without the number of the
 *  record: its time does not fit, or too many slices are nested. */
pfc_code pfc_trace_json_put(pfc_trace_json *json, const pfc_trace_record *record,
                            pfc_err *err) PFC_MUSTCHECK;
/** Of pfc_trace_slices_to; `arg` is the writer. */
void pfc_trace_json_slice(void *arg, const pfc_trace_ended *ended);
void pfc_trace_json_wait(void *arg, const pfc_trace_open *wait, int64_t end_ns);
/** Ends open slices, counters and flows, and the document. */
void pfc_trace_json_end(pfc_trace_json *json);
/** Accepts NULL. */
void pfc_trace_json_free(pfc_trace_json *json);

/* ---- json_event.c: parts of an event, for json*.c ---- */

/** `,\n{"ph":"X","name":"`: starts an event; the name follows. */
void pfc_trace_event_begin(pfc_trace_json *json, char phase);
/** The name of a record's slice or instant, without quotes. */
void pfc_trace_event_name(pfc_trace_json *json, const pfc_trace_row *row, uint64_t a);
/** `","cat":"..","ts":..,"pid":..,"tid":..`: what follows the name. */
void pfc_trace_event_place(pfc_trace_json *json, const char *category, int64_t ns, unsigned pid,
                           unsigned tid);
/** `,"args":{..}`: correlation id and both fields of a record. */
void pfc_trace_event_args(pfc_trace_json *json, const pfc_trace_track *track,
                          const pfc_trace_row *row, const pfc_trace_open *fields);
void pfc_trace_event_text(pfc_trace_json *json, const char *text);
void pfc_trace_event_u64(pfc_trace_json *json, uint64_t v);
/** A slice as an X event on a track of the unit's process. `end` is the record that ended it; NULL:
 *  nothing did. */
void pfc_trace_event_slice(pfc_trace_json *json, const pfc_trace_track *track, unsigned tid,
                           const pfc_trace_open *slice, int64_t end_ns,
                           const pfc_trace_record *end);
/** An M event: a text or, when that is NULL, a number. (json_start.c) */
void pfc_trace_event_meta(pfc_trace_json *json, const char *what, unsigned pid, unsigned tid,
                          const char *text, uint64_t number);
/** The category as the options want it. */
const char *pfc_trace_event_category(const pfc_trace_json *json, const pfc_trace_row *row);

/* ---- json_flow.c ---- */

/** A point at which a flow passes a slice of the track, or of its lane `tid`, that is open at `ns`.
 */
void pfc_trace_flow_point(pfc_trace_json *json, const pfc_trace_record *record, int64_t ns,
                          const pfc_trace_track *track, unsigned tid);
/** Ends the flow of a kernel whose slice was written. Readers that take events in the order of
 *  time, those of one time in the order of the file, find the slice before the point at its begin.
 */
void pfc_trace_flow_kernel(pfc_trace_json *json, const pfc_trace_record *end);
/** Ends all flows. */
void pfc_trace_flow_end(pfc_trace_json *json);

/* ---- json_counter.c ---- */

void pfc_trace_counter_put(pfc_trace_json *json, const pfc_trace_record *record, int64_t ns,
                           pfc_trace_track *track);
/** A zero of every counter at the end of the trace. */
void pfc_trace_counter_end(pfc_trace_json *json);

#endif
