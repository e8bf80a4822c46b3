/*
 * A trace in memory, for a picture of it: the slices, waits, states and points of every unit on the
 * merged line of time, and its counters; and which of them a part of the time shows, in a bounded
 * number of items.
 *
 * A line holds what does not overlap: the slices of a unit at one depth, or on one lane when they
 * may overlap. Times are ns since the first record. Clocks are merged as in an export (clocks.h,
 * timeline.h). Details (records that change no line of time) are counted and not kept.
 *
 * Memory: up to twice the trace. Thread-safe once read.
 */
#ifndef PFC_CORE_TRACE_VIEW_VIEW_H
#define PFC_CORE_TRACE_VIEW_VIEW_H

#include "core/trace/trace.h"

#define PFC_TRACE_VIEW_DEPTH  16    /* lines of slices of a unit */
#define PFC_TRACE_VIEW_SERIES 4096  /* counters of units that are kept */
#define PFC_TRACE_VIEW_CELLS  2000  /* of a line in a window */
#define PFC_TRACE_VIEW_ITEMS  60000 /* slices, cells and values in a window */

typedef enum pfc_trace_view_kind {
    PFC_TRACE_VIEW_SLICES,
    PFC_TRACE_VIEW_WAITS,  /* for semaphores; they may overlap each other */
    PFC_TRACE_VIEW_STATES, /* of the unit_state records */
    PFC_TRACE_VIEW_POINTS  /* instants and signals: their end is their begin */
} pfc_trace_view_kind;

typedef struct pfc_trace_view_slice {
    int64_t begin_ns, end_ns; /* end >= begin */
    uint32_t corr;
    uint32_t name;   /* for pfc_trace_view_name */
    bool unfinished; /* no record ended it */
} pfc_trace_view_slice;

typedef struct pfc_trace_view_line {
    size_t unit; /* position in the header */
    pfc_trace_view_kind kind;
    unsigned number; /* of slices: the depth, or the lane when slices of the unit may overlap */
    pfc_trace_view_slice *slices; /* in order of their begin; owned */
    size_t len, cap;
} pfc_trace_view_line;

/** Counts of a unit, beside its lines. */
typedef struct pfc_trace_view_unit {
    uint64_t records;
    uint64_t left_out;  /* slices: nested deeper than PFC_TRACE_VIEW_DEPTH, or no lane was free */
    uint64_t unmatched; /* ends without a begin */
    uint64_t dropped;   /* records that were lost, as drop records say */
} pfc_trace_view_unit;

typedef struct pfc_trace_view_value {
    int64_t ns;
    double value;
} pfc_trace_view_value;

/** A counter of a unit: counter_sample, state_sample, throttle or freq_change records. */
typedef struct pfc_trace_view_series {
    size_t unit;                  /* position in the header */
    char *name;                   /* owned */
    const char *measure;          /* "cycles", "ticks", "Hz"; "" when it has none */
    pfc_trace_view_value *values; /* in order of time; owned */
    size_t len, cap;
} pfc_trace_view_series;

/** How a clock came onto the merged line. */
typedef struct pfc_trace_view_clock {
    const char *method; /* "clock_pairs", "first clock_pair", "nominal"; static */
    bool host;          /* the line is its time */
    int64_t offset_ns;
    size_t knots;     /* 0: not by clock_pairs */
    int64_t bound_ns; /* times are wrong by at most this; with knots only */
    size_t left_out;  /* pairs that are no knots */
} pfc_trace_view_clock;

/** A call of the host, by correlation id. */
typedef struct pfc_trace_view_call {
    uint32_t corr;
    uint32_t line;
    size_t slice;
} pfc_trace_view_call;

typedef struct pfc_trace_view {
    pfc_trace_reader *reader; /* of the header */
    const pfc_trace_header *header;
    uint64_t records, details;
    int64_t begin_ns, span_ns; /* of all records; begin: of the merged line */
    pfc_trace_view_clock *clocks;
    pfc_trace_view_unit *units;
    pfc_trace_view_line *lines; /* by unit, kind and number */
    size_t lines_len, lines_cap;
    pfc_trace_view_series *series; /* by unit and name */
    size_t series_len, series_cap;
    uint64_t values_left_out;   /* of series over PFC_TRACE_VIEW_SERIES */
    pfc_trace_view_call *calls; /* by correlation id, each once */
    size_t calls_len;
    size_t bytes; /* of memory, about */
} pfc_trace_view;

/** Reads a trace in the binary format; `bytes` may go afterwards. The codes of pfc_trace_read, and
 *  PFC_EINVAL with the record when its time does not fit in 63 bits of nanoseconds or more than 256
 *  slices are nested. */
pfc_code pfc_trace_view_read(pfc_trace_view **out, const void *bytes, size_t len, const char *name,
                             pfc_err *err) PFC_MUSTCHECK;
/** Accepts NULL. */
void pfc_trace_view_free(pfc_trace_view *view);

/** The name of a slice, not terminated; *len: its length in bytes. */
const char *pfc_trace_view_name(const pfc_trace_view *view, const pfc_trace_view_slice *slice,
                                size_t *len);
/** The host's call of a correlation id; NULL: none is known. */
const pfc_trace_view_call *pfc_trace_view_call_of(const pfc_trace_view *view, uint32_t corr);

/* The number of a slice's name is less than this. */
#define PFC_TRACE_VIEW_NAMES (2u * 65536 + 64)

/** A slice that has a name that was looked for. */
typedef struct pfc_trace_view_match {
    size_t line, slice;
} pfc_trace_view_match;

/** Slices whose name contains the text, whatever the case of its ASCII letters, in order of time:
 *  the first `max` of them into *out (the caller frees it), and the number of all. */
void pfc_trace_view_find(const pfc_trace_view *view, const char *text, size_t max,
                         pfc_trace_view_match **out, size_t *len, size_t *all);

/* ---- a part of the time (window.c) ---- */

/** A cell of a line. */
typedef struct pfc_trace_view_cell {
    uint32_t at;    /* number of the cell, from 0 */
    uint32_t count; /* slices that begin in it */
    double busy;    /* share of its time that slices cover, 0 to 1 */
} pfc_trace_view_cell;

/** A line in a window: its slices themselves, or cells when there are more of them. */
typedef struct pfc_trace_view_part {
    size_t first, end;          /* slices[first..end) holds all that pfc_trace_view_shows */
    size_t shown;               /* of those */
    pfc_trace_view_cell *cells; /* NULL: single slices; empty ones are left out; owned */
    size_t cells_len;
} pfc_trace_view_part;

/** A cell of a counter. */
typedef struct pfc_trace_view_range {
    uint32_t at;
    double low, high; /* of the values that held in the cell */
} pfc_trace_view_range;

typedef struct pfc_trace_view_levels {
    size_t first, end; /* values[first..end) are in the window; the one before holds at its begin */
    pfc_trace_view_range *ranges; /* NULL: single values; owned */
    size_t ranges_len;
} pfc_trace_view_levels;

typedef struct pfc_trace_view_window {
    int64_t from_ns, to_ns;     /* clipped to the trace; to > from unless the trace has no span */
    size_t cells;               /* of a line: as asked, or fewer when there are many lines */
    pfc_trace_view_part *parts; /* lines_len */
    pfc_trace_view_levels *levels; /* series_len */
} pfc_trace_view_window;

/** The content of [from, to) with at most `cells` (1..PFC_TRACE_VIEW_CELLS) items of each line, and
 *  at most PFC_TRACE_VIEW_ITEMS in all, or one of each line. Ends in
 *  pfc_trace_view_window_clear. */
void pfc_trace_view_window_of(const pfc_trace_view *view, int64_t from_ns, int64_t to_ns,
                              size_t cells, pfc_trace_view_window *out);
void pfc_trace_view_window_clear(const pfc_trace_view *view, pfc_trace_view_window *window);

/** The slice has a part in the window, or is a point in it. */
static inline bool pfc_trace_view_shows(const pfc_trace_view_window *w,
                                        const pfc_trace_view_slice *s)
{
    return s->begin_ns <= w->to_ns && (s->end_ns > w->from_ns || s->begin_ns >= w->from_ns);
}

#endif
