/*
 * Readers of other tools' results: text in, a pfc_run with measurements out.
 *
 * A command that is measured prints something; this finds out what it is (by content, never by
 * file name) and brings it into the one shape that everything behind it understands. Nothing is
 * guessed about meaning: units and directions come from the format, else from the caller, else from
 * the unit's own nature (times and bytes: lower is better; rates: higher is better).
 * Pure functions over text; thread-safe.
 *
 * Formats:
 *   numbers            a bare number, or one a line (samples of one metric); {"value": x};
 *                      {"metrics": {M: x}}; {"metrics": {M: {"value"|"samples", "unit"?,
 *                      "higher_is_better"?, "exact"?}}}
 *   perfci             a run document (core/wire)
 *   google-benchmark   --benchmark_format=json, with or without repetitions and aggregates
 *   hyperfine          --export-json
 *   pytest-benchmark   --benchmark-json
 *   github-action      customSmallerIsBetter / customBiggerIsBetter arrays
 *   bmf                Bencher Metric Format
 */
#ifndef PFC_CORE_IMPORT_IMPORT_H
#define PFC_CORE_IMPORT_IMPORT_H

#include "core/wire/wire.h"

#define PFC_IMPORT_MAX_BYTES PFC_WIRE_MAX_BODY_BYTES

/** What the text itself does not say; every field may be left zero. */
typedef struct pfc_import_opts {
    const char *format;    /* a name of pfc_import_formats(); NULL or "auto": found by content */
    const char *benchmark; /* name when the text has none; NULL: "command" */
    const char *metric;    /* name of a bare number; NULL: "value" */
    const char *unit;      /* unit of a bare number; NULL: from the metric's name, else "" */
    bool has_direction;    /* higher_is_better below counts for values without direction */
    bool higher_is_better;
} pfc_import_opts;

/**
 * Reads `text` (len <= PFC_IMPORT_MAX_BYTES) into a new run whose id, project, commit and machine
 * are unset (but for format "perfci"). At least one measurement, or PFC_EINVAL.
 *
 * opts   may be NULL
 * out    the caller's to free with pfc_run_free; written only on PFC_OK
 *
 * PFC_EINVAL names the line or JSON path and what was expected; PFC_ETOOBIG over the limits.
 * Benchmarks that the tool reports as failed become measurements with status broken and the reason.
 */
pfc_code pfc_import_text(const pfc_import_opts *opts, const char *text, size_t len, pfc_run **out,
                         pfc_err *err) PFC_MUSTCHECK;

/** Names of the formats, NULL-terminated, in the order in which they are tried. */
const char *const *pfc_import_formats(void);

/** The direction that a unit or a metric's name has by nature: true when more is better. */
bool pfc_import_higher_is_better(const char *metric, const char *unit);

#endif
