/*
 * Readers of other tools' results: text in, a pfc_run with measurements out.
 *
 * A command that is measured prints something; this finds out what it is (by content, never by
 * file name) and brings it into the one shape that everything behind it understands. Nothing is
 * guessed about meaning: units and directions come from the format, else from the caller, else from
 * the words of the metric's name and unit (directions.c). A metric of which neither says which way
 * is better is asked for. Times become ns, whatever the tool wrote; units that a tool picks by size
 * (ncu, Criterion, asv) become their base unit, others are only spelled in one way.
 * docs/reference/formats.md has what is taken from each. Pure functions over text; thread-safe.
 */
#ifndef PFC_CORE_IMPORT_IMPORT_H
#define PFC_CORE_IMPORT_IMPORT_H

#include "core/base/direction.h"
#include "core/wire/wire.h"

#define PFC_IMPORT_MAX_BYTES      (256u * 1024 * 1024) /* of CSV and other text */
#define PFC_IMPORT_MAX_JSON_BYTES (64u * 1024 * 1024)  /* of JSON, which is read as a whole */
#define PFC_IMPORT_MAX_MAP_BYTES  (64u * 1024)
#define PFC_IMPORT_MAX_NOTES      20
#define PFC_IMPORT_MAX_POINTS     5000 /* commits of one history */

/* Under "direction" in a measurement's extra, with opts.any_direction: nothing says it. */
#define PFC_IMPORT_DIRECTION "direction"

/** Facts that the text itself lacks; every field may be left zero. Not owned. */
typedef struct pfc_import_opts {
    const char *format;    /* a name of pfc_import_formats(); NULL or "auto": found by content */
    const char *benchmark; /* name when the text has none; NULL: "command" */
    const char *metric;    /* name of a bare number; NULL: "value" */
    const char *unit;      /* unit of values that come without one; NULL: from the metric's name */
    bool has_direction;    /* higher_is_better below counts for values without direction */
    bool higher_is_better;
    const pfc_direction *directions; /* by metric name; they override the format's own */
    size_t directions_len;
    bool any_direction;  /* a metric of unknown direction counts as "lower": for callers that do not
                             judge by it. Else it is an error, see pfc_import_read */
    bool number_is_cost; /* a bare number is better when lower, unless its name or unit says
                            otherwise */
    const char *map;     /* text of a CSV mapping (csv_map.c), which is YAML; NULL: none */
    const char *map_name; /* its file, for errors; NULL: "map" */
    bool split;           /* a history gives a run a commit; else one run with all samples */
    bool allow_empty;     /* a document without any benchmark is not an error */
} pfc_import_opts;

/** Result of reading a text; the caller clears it with pfc_import_result_clear. */
typedef struct pfc_import_result {
    const char *format; /* the one it was read as; static */
    pfc_run **runs;     /* one, or with opts.split one a point of a history, oldest first */
    size_t runs_len;
    bool has_points; /* it is a history: opts.split gives a run a commit */
    char **notes;    /* sentences about what was left out or could not be known */
    size_t notes_len;
} pfc_import_result;

/**
 * Reads `text` (len <= PFC_IMPORT_MAX_BYTES) into new runs whose id, project and machine are unset
 * (but for format "perfci"); commit, branch and time where the format has them. At least one
 * measurement, or PFC_EINVAL.
 *
 * opts   may be NULL
 * out    clear it with pfc_import_result_clear; written only on PFC_OK
 *
 * PFC_EINVAL names the line or JSON path and what was expected; PFC_ETOOBIG over the limits.
 * A metric without a direction is PFC_EINVAL with its name, unless opts says the direction. Beside
 * a metric that has one, tools' own formats (counters of a profiler, of a user) leave it out and a
 * note names it. Benchmarks that the tool reports as failed become measurements with status broken
 * and the reason.
 */
pfc_code pfc_import_read(const pfc_import_opts *opts, const char *text, size_t len,
                         pfc_import_result *out, pfc_err *err) PFC_MUSTCHECK;
void pfc_import_result_clear(pfc_import_result *result);

/** As pfc_import_read, for callers that need one run without notes; opts.split and opts.allow_empty
 * are ignored. The caller frees *out with pfc_run_free. */
pfc_code pfc_import_text(const pfc_import_opts *opts, const char *text, size_t len, pfc_run **out,
                         pfc_err *err) PFC_MUSTCHECK;

/** Names of the formats, NULL-terminated, in the order in which they are tried. */
const char *const *pfc_import_formats(void);

/** True when measurement i is its benchmark's primary metric: its time, or else the first one in
 * the document. i < run->measurements_len; the benchmark's measurements must be adjacent. */
bool pfc_import_is_primary(const pfc_run *run, size_t i);

/** Direction by a metric's name and unit: -1 lower is better, 1 higher, 0 unknown. `unit` may be
 * NULL. */
int pfc_import_nature(const char *metric, const char *unit);
/** True when pfc_import_nature is 1. */
bool pfc_import_higher_is_better(const char *metric, const char *unit);

#endif
