/*
 * Clocks of a trace brought onto the time of the host, by all of its clock_pair records: a reading
 * of the device's clock lies between two readings of the host's. Each pair whose two host readings
 * are at most twice as far apart as the closest pair's is a knot at their middle; wider ones are
 * left out, since the host was held up between them. Between knots time is linear; before the first
 * and after the last it goes on at the mean rate of all. The middle of a pair is wrong by at most
 * half of the distance of its host readings, and by the change of the rate between two knots.
 *
 * Thread-safe once read.
 */
#ifndef PFC_CORE_TRACE_CLOCKS_H
#define PFC_CORE_TRACE_CLOCKS_H

#include "core/trace/trace.h"

/** A device's reading with its time; readings of a clock that wraps count on over its wraps. */
typedef struct pfc_trace_knot {
    int64_t ticks;
    int64_t ns; /* of the host's clock */
} pfc_trace_knot;

/** A clock of the header; fewer than two knots: it has no place on the host's time by knots. */
typedef struct pfc_trace_clock_knots {
    pfc_trace_knot *knots; /* ascending in both; owned */
    size_t len;
    int64_t bound_ns; /* half of the distance of the widest pair that is a knot */
    size_t left_out;  /* pairs that are no knots */
} pfc_trace_clock_knots;

typedef struct pfc_trace_clocks {
    pfc_trace_clock_knots clocks[PFC_TRACE_MAX_CLOCKS]; /* in the order of the header */
} pfc_trace_clocks;

/** Reads all records of a reader that is at its beginning. At most 65,536 pairs of a clock are
 *  kept; of more, every second one is left out as often as needed. The codes of pfc_trace_read, and
 *  PFC_EINVAL when a time does not fit in 63 bits of nanoseconds. Ends in pfc_trace_clocks_free. */
pfc_code pfc_trace_clocks_read(pfc_trace_clocks **out, pfc_trace_reader *reader,
                               pfc_err *err) PFC_MUSTCHECK;
/** Accepts NULL. */
void pfc_trace_clocks_free(pfc_trace_clocks *clocks);
/** The host's time at a reading of a clock with two or more knots, rounded down. False: it does not
 *  fit in 63 bits. */
bool pfc_trace_clocks_ns(const pfc_trace_clock_knots *clock, int64_t ticks, int64_t *out);

#endif
