/*
 * Coverage: which results exist for a branch's newest commits, and which are missing.
 */
#ifndef PFC_SERVER_SERVICES_HISTORY_COVERAGE_H
#define PFC_SERVER_SERVICES_HISTORY_COVERAGE_H

#include "server/repo/tables/repo.h"

#define PFC_COVERAGE_COMMITS  50 /* unless asked for others */
#define PFC_COVERAGE_MOST     500
#define PFC_COVERAGE_MAX_ROWS 20000
#define PFC_COVERAGE_MAX_LIST 100 /* entries of `fills` and of `never` */

typedef struct pfc_coverage_commit {
    int64_t position;
    const char *commit, *subject;
    double time;              /* Unix seconds */
    size_t measured, missing; /* rows */
} pfc_coverage_commit;
PFC_ROWS(pfc_coverage_commits, pfc_coverage_commit);

/** A benchmark on a backend of a class of machines. */
typedef struct pfc_coverage_row {
    int64_t id; /* its first series */
    const char *benchmark, *params_json, *backend, *machine_class;
    bool before;                     /* measured at an older commit */
    pfc_array_text measured, broken; /* positions */
} pfc_coverage_row;
PFC_ROWS(pfc_coverage_rows, pfc_coverage_row);

typedef struct pfc_coverage_never {
    const char *benchmark, *backend, *machine_class;
} pfc_coverage_never;
PFC_ROWS(pfc_coverage_nevers, pfc_coverage_never);

/** The gaps that a job of kind backfill at this commit for this class would close. The texts belong
 *  to the lists. */
typedef struct pfc_coverage_fill {
    const char *commit, *machine_class;
    int64_t position;
    size_t missing;
} pfc_coverage_fill;

typedef struct pfc_coverage {
    pfc_coverage_commits commits; /* newest first */
    pfc_coverage_rows rows;       /* ordered by id */
    /* A text a row, one byte a commit: 'x' measured, '!' ran and was broken, '-' missing (it was
     * measured at an older commit), '.' not there yet. */
    char **cells;
    size_t *missing; /* of each row */
    pfc_coverage_fill *fills;
    size_t fills_len; /* those that close most; none for machines without a measured commit */
    /* Backends and classes that only others of the family (name up to its first slash) have. */
    pfc_coverage_nevers never;
} pfc_coverage;

typedef struct pfc_coverage_filter {
    const char *branch;
    const char *benchmark, *backend, *machine_class; /* NULL: any */
    int commits;                                     /* 0: PFC_COVERAGE_COMMITS */
} pfc_coverage_filter;

/** Clear *out. PFC_ETOOBIG over PFC_COVERAGE_MAX_ROWS rows. A replica may answer. */
pfc_code pfc_coverage_read(pfc_db *db, int64_t project_id, const pfc_coverage_filter *filter,
                           pfc_coverage *out, pfc_err *err) PFC_MUSTCHECK;
void pfc_coverage_clear(pfc_coverage *coverage);

#endif
