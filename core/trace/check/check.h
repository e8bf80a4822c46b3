/*
 * Checks a trace, in the binary format or as the JSON that export.h writes.
 */
#ifndef PFC_CORE_TRACE_CHECK_CHECK_H
#define PFC_CORE_TRACE_CHECK_CHECK_H

#include "core/trace/trace.h"

/* identifier, name, meaning */
#define PFC_TRACE_CHECKS(X)                                                                        \
    X(FILE, "file", "the file is cut off, damaged or reordered, or its count of records differs")  \
    X(SYNTAX, "syntax", "JSON: not well-formed, or an event lacks a member that its kind needs")   \
    X(TYPE, "type", "a record of an unknown type")                                                 \
    X(UNIT, "unit", "a unit that the header or the metadata events do not name")                   \
    X(SIDE, "side", "a record of the host on a unit of a device, or the reverse")                  \
    X(TICKS, "ticks", "ticks that do not fit in the width of the clock")                           \
    X(COUNTER, "counter", "a counter that the header does not name")                               \
    X(FIELD, "field", "a field that refers to a name, unit, clock or state that does not exist")   \
    X(BACKWARD, "backward", "the time of a unit goes backward")                                    \
    X(NESTING, "nesting", "slices of a unit cross: one begins within another and ends after it")   \
    X(END_WITHOUT_BEGIN, "end_without_begin", "an end without a begin")                            \
    X(BEGIN_WITHOUT_END, "begin_without_end", "a begin without an end")                            \
    X(END_BEFORE_BEGIN, "end_before_begin", "an end before its begin, or a negative duration")     \
    X(TWICE, "begun_twice", "a slice begins under an id that is open")                             \
    X(WAIT, "wait_without_signal", "a wait for a semaphore that no signal ends")                   \
    X(FLOW_BEGIN, "flow_without_begin", "work of a device under an id that no host call has")      \
    X(FLOW_END, "flow_without_end", "a submitted command without work of a device")                \
    X(FLOW_ORDER, "flow_backward", "JSON: a point of a flow is before the point it follows")       \
    X(FLOW_SLICE, "flow_outside_slice", "JSON: a point of a flow is in no slice of its track")     \
    X(ZERO, "counter_without_zero", "JSON: the last value of a counter is not zero")               \
    X(LIMIT, "limit", "more is open at once than can be checked")

typedef enum pfc_trace_check_kind {
#define PFC_X(id, ...) PFC_TRACE_CHECK_##id,
    PFC_TRACE_CHECKS(PFC_X)
#undef PFC_X
        PFC_TRACE_CHECKS_LEN
} pfc_trace_check_kind;

/** The name and meaning of a kind of fault, as above. */
const char *pfc_trace_check_name(pfc_trace_check_kind kind);
const char *pfc_trace_check_meaning(pfc_trace_check_kind kind);

#define PFC_TRACE_MAX_FINDINGS 100000

/** A fault. */
typedef struct pfc_trace_finding {
    pfc_trace_check_kind kind;
    uint64_t record; /* its number from 1: a record, in JSON an event; 0: the file as a whole */
    uint64_t offset; /* of the record's first byte; in JSON of the event's last one */
    char what[192];  /* a sentence without a period; may hold names from the file */
} pfc_trace_finding;

/** The result of a check. */
typedef struct pfc_trace_report {
    bool json;        /* the file is JSON: `records` counts events */
    uint64_t records; /* read */
    uint64_t dropped; /* records that drop records name as lost; pairs of their units and flows are
                         not checked after them */
    uint64_t faults;  /* all; `findings` holds the first ones */
    uint64_t by_kind[PFC_TRACE_CHECKS_LEN];
    pfc_trace_finding *findings;
    size_t findings_len, findings_cap, findings_max;
} pfc_trace_report;

/**
 * Checks a file. The memory is bounded: by 4,096 open slices a unit, 4,096 open waits, four
 * million correlation ids and semaphores up to number 2^20; others are not checked.
 *
 * max_findings  faults that the report describes, 1..PFC_TRACE_MAX_FINDINGS; all are counted
 * out           filled on success, also when there are faults; free with pfc_trace_report_clear
 *
 * PFC_ENOTFOUND or PFC_EIO when the file cannot be read, PFC_EINVAL when it is neither a trace with
 * a whole header nor a JSON object.
 */
pfc_code pfc_trace_check(const char *path, size_t max_findings, pfc_trace_report *out,
                         pfc_err *err) PFC_MUSTCHECK;
/** The same for bytes in memory. */
pfc_code pfc_trace_check_bytes(const void *bytes, size_t len, const char *name, size_t max_findings,
                               pfc_trace_report *out, pfc_err *err) PFC_MUSTCHECK;
void pfc_trace_report_clear(pfc_trace_report *report);

#endif
