/*
 * Traces as text: Chrome JSON as Perfetto reads it, and CSV.
 *
 * In JSON, `ts` and `dur` are microseconds with three decimals. A unit is a track of X slices.
 * Slices that overlap are on lanes, tracks of their own; more of them than there are lanes, and
 * waits for semaphores, are async events.
 *
 * A clock domain with two or more clock_pairs is on the host's time by them (clocks.h), when it is
 * known before the export. Else it counts from tick 0 at its nominal rate, moved by its first
 * clock_pair when that comes before its other records.
 *
 * Written as a stream: memory is bounded by the header (a few MiB), open slices and 16,384 flows.
 */
#ifndef PFC_CORE_TRACE_EXPORT_EXPORT_H
#define PFC_CORE_TRACE_EXPORT_EXPORT_H

#include "core/trace/clocks.h"

typedef enum pfc_trace_format { PFC_TRACE_JSON, PFC_TRACE_CSV } pfc_trace_format;

typedef struct pfc_trace_export_opts {
    pfc_trace_format format;
    bool kineto; /* JSON: categories and arguments of PyTorch's profiler, which HTA loads */
    const pfc_trace_clocks *clocks; /* of the same records; NULL: clocks by their first pair */
} pfc_trace_export_opts;

/** Counts of an export. */
typedef struct pfc_trace_export_stats {
    uint64_t records;   /* read */
    uint64_t events;    /* of JSON, metadata included; of CSV rows */
    uint64_t reversed;  /* flow points left out because they are before the point they follow:
                           clocks that are not synchronised */
    uint64_t unmatched; /* ends without a begin, written as instants; slices cut by another's end */
} pfc_trace_export_stats;

/**
 * Exports all records of an open reader, which is at its beginning.
 *
 * path   file, replaced when the export is complete; "-" is standard output
 * stats  out: filled on success; may be NULL
 *
 * The codes of pfc_trace_read; PFC_ENOTFOUND or PFC_EIO of writing; PFC_EINVAL with the number of
 * the record when a time does not fit in 63 bits of nanoseconds or more than 256 slices are nested.
 */
pfc_code pfc_trace_export(pfc_trace_reader *reader, const char *path,
                          const pfc_trace_export_opts *opts, pfc_trace_export_stats *stats,
                          pfc_err *err) PFC_MUSTCHECK;
/** The same for a file; "-" is standard input. A regular file is read twice, first for its clocks;
 *  others (pipes) are read once. Also the codes of pfc_trace_reader_open. */
pfc_code pfc_trace_export_file(const char *from, const char *path,
                               const pfc_trace_export_opts *opts, pfc_trace_export_stats *stats,
                               pfc_err *err) PFC_MUSTCHECK;

#endif
