/*
 * Ticks of all clock domains as nanoseconds on one line. Private to core/trace.
 */
#ifndef PFC_CORE_TRACE_TIMELINE_H
#define PFC_CORE_TRACE_TIMELINE_H

#include "core/trace/clocks.h"
#include "core/trace/layout.h"

typedef struct pfc_trace_timeline {
    const pfc_trace_index *index;
    const pfc_trace_clocks *knots; /* NULL: a clock is moved by its first pair alone */
    struct {
        int64_t ticks;     /* newest, counted on over wraps */
        int64_t offset_ns; /* added to its time */
        uint64_t raw;      /* newest, as recorded */
        bool seen, paired; /* a record; its first record was a clock_pair */
    } clocks[PFC_TRACE_MAX_CLOCKS];
    size_t host_clock; /* domain of the first host unit; 0 without one */
} pfc_trace_timeline;

/** The clocks, which may be NULL, outlive the timeline. */
void pfc_trace_timeline_init(pfc_trace_timeline *line, const pfc_trace_index *index,
                             const pfc_trace_clocks *clocks);
/** The reading of a record of that clock, counted on over wraps. False: it does not fit in 63 bits.
 */
bool pfc_trace_timeline_count(pfc_trace_timeline *line, size_t clock, uint64_t raw, int64_t *out);
/** A reading of the host's clock in ns. False: it does not fit in 63 bits. */
bool pfc_trace_timeline_host_ns(const pfc_trace_timeline *line, uint64_t ticks, int64_t *out);
/** The time of a record of this unit, in ns, and the time `after` ticks later. False: one does not
 *  fit in 63 bits. A step of less than half the clock's range is a step forward or backward; a
 *  larger one is a wrap. */
bool pfc_trace_timeline_ns(pfc_trace_timeline *line, const pfc_trace_unit *unit,
                           const pfc_trace_record *record, uint64_t after, int64_t *out_ns,
                           int64_t *out_later_ns);

/** How a clock came onto the line. */
typedef struct pfc_trace_placed {
    const char *method;                 /* "clock_pairs", "first clock_pair", "nominal"; static */
    int64_t offset_ns;                  /* added to its time; with knots, the time of its tick 0 */
    const pfc_trace_clock_knots *knots; /* NULL: not by clock_pairs */
} pfc_trace_placed;

pfc_trace_placed pfc_trace_timeline_placed(const pfc_trace_timeline *line, size_t clock);

#endif
