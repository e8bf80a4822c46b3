/*
 * Series from text, one at a time, for `perfci detect`: JSON lines, a JSON array, one JSON
 * document, or CSV whose header begins with `time`. The first character shows the format.
 *
 * Results of other tools are no series yet: results_series.c makes series of them.
 *
 * jansson is not used here: a point as a tree of objects takes some 400 bytes, and a million series
 * must pass through in the memory of one. The grammar is JSON's all the same, held strictly.
 */
#ifndef PFC_CLI_DETECT_SERIES_READ_H
#define PFC_CLI_DETECT_SERIES_READ_H

#include "core/base/direction.h"
#include "core/changepoint/changepoint.h"
#include "core/stats/stats.h"

#define PFC_SERIES_MAX_TEXT  (256u * 1024 * 1024) /* bytes of one series, or of a CSV file */
#define PFC_SERIES_MAX_ID    4096                 /* bytes of an id or unit */
#define PFC_SERIES_MAX_DEPTH 32                   /* nesting of unknown members */
#define PFC_CSV_MAX_COLUMNS  1000

/** One series as read; everything in it is the reader's and lives until the sink returns. */
typedef struct pfc_series_in {
    char *id;
    char *unit;            /* "" when absent */
    bool higher_is_better; /* false when absent, unless the caller's default says otherwise */
    pfc_point *points;
    size_t len;
    size_t cap;
    double *repeats; /* of all points; points[i].repeats lies in it */
    size_t repeats_len;
    size_t repeats_cap;
    char **commits; /* one a point; NULL: not said. Not owned */
    /* Of results of other tools; NULL where the input is a series. Not owned. */
    const char *benchmark, *metric, *backend;
} pfc_series_in;

typedef struct pfc_series_sink {
    /** A series, in input order; line is where it began. */
    void (*series)(void *arg, const pfc_series_in *series, size_t line);
    /** A line that cannot be used and why; reading goes on where that makes sense. */
    void (*bad)(void *arg, size_t line, const char *why);
    void *arg;
    bool higher_is_better;           /* for series that do not say; of CSV for all */
    const pfc_direction *directions; /* by the names of columns */
    size_t directions_len;
} pfc_series_sink;

/** Reads all of `fd`. `stem` is the id of a JSON series without one; NULL makes that a fault.
 *  Returns PFC_OK also when lines were bad (the sink knows); PFC_EIO when reading fails. */
pfc_code pfc_series_read(int fd, const char *stem, const pfc_series_sink *sink,
                         pfc_err *err) PFC_MUSTCHECK;

/** The same for an input of which `head` was read already; fd -1: there is no more. `head` must be
 * the caller's until it returns. */
pfc_code pfc_series_read_on(int fd, char *head, size_t len, const char *stem,
                            const pfc_series_sink *sink, pfc_err *err) PFC_MUSTCHECK;
/** Returns true if the text begins like series: objects with "points", or CSV with "time". */
bool pfc_series_begins(const char *head, size_t len);

/* Shared by the parts of the reader. */

/**
 * One series object in text[0..len). On a fault *fault_at is the offset of the offending byte and
 * the sentence is in err. The storage of `out` is used again from call to call; clear it at the
 * end.
 */
pfc_code pfc_series_parse(const char *text, size_t len, const char *stem, bool higher_is_better,
                          pfc_series_in *out, size_t *fault_at, pfc_err *err) PFC_MUSTCHECK;
/** Hands the series of a whole CSV text to the sink. */
void pfc_series_parse_csv(char *text, size_t len, const pfc_series_sink *sink);
/** Is it what `perfci series --json` prints, of one series or of a list? */
bool pfc_series_is_api(const char *text, size_t len);
/** Hands its series to the sink. */
void pfc_series_parse_api(const char *text, size_t len, const pfc_series_sink *sink);
void pfc_series_point(pfc_series_in *series, double t, double v);
void pfc_series_reset(pfc_series_in *series);
void pfc_series_clear(pfc_series_in *series);

#endif
