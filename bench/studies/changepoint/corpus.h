/*
 * Labelled series: what a detector may see (points, direction), and what only the scorer may (the
 * rest). The format is described in tests/data/changepoint/README.md.
 */
#ifndef PFC_BENCH_STUDIES_CHANGEPOINT_CORPUS_H
#define PFC_BENCH_STUDIES_CHANGEPOINT_CORPUS_H

#include "core/changepoint/changepoint.h"
#include "core/stats/stats.h"

#define PFC_CORPUS_MAX_BYTES (64 << 20) /* of one file */

/* A labelled change. */
typedef struct pfc_corpus_label {
    size_t index;
    bool optional; /* finding it earns nothing, missing it costs nothing */
} pfc_corpus_label;

typedef struct pfc_labelled {
    char *id;
    pfc_point *points;
    double *repeats; /* behind the points */
    size_t len;
    bool higher_is_better;

    char *category;
    char *group;  /* the same series cut later after its change; NULL: none */
    size_t after; /* points after the change, in a group */
    bool null;    /* there is no change */
    bool weak;    /* unlabelled changes may exist: not scored */
    bool foreign; /* annotated by several people for another measure: not scored */
    pfc_corpus_label *labels;
    size_t labels_len;
    size_t *ignore; /* pairs, first and last index: detections there do not count */
    size_t ignore_len;
} pfc_labelled;

typedef struct pfc_corpus {
    pfc_labelled *items; /* by file name */
    size_t len;
    size_t cap;
    size_t points;
} pfc_corpus;

/** Reads every DIR/ID.json, or DIR/series/ID.json where the first has none. Files that are not
 *  series are passed over; no file at all leaves it empty. Clear it. */
void pfc_corpus_load(pfc_corpus *corpus, const char *dir);
/** Reads a file of one series a line. PFC_EIO: it cannot be read; PFC_EINVAL: a line is no series.
 */
pfc_code pfc_corpus_load_lines(pfc_corpus *corpus, const char *path, pfc_err *err) PFC_MUSTCHECK;
void pfc_corpus_clear(pfc_corpus *corpus);

#endif
