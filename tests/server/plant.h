/*
 * Alerts written into the database as they are needed, without the runs that would lead to them.
 */
#ifndef PFC_TESTS_SERVER_PLANT_H
#define PFC_TESTS_SERVER_PLANT_H

#include "tests/server/fixture.h"

typedef struct planted {
    const char *benchmark; /* NULL: "gemm/a" */
    const char *metric;    /* NULL: "time_ns" */
    const char *kind;      /* of its change; NULL: "step" */
    const char *state;     /* NULL: "untriaged" */
    unsigned low, high;    /* commits of its range; its place is the last one */
    double rel;            /* 0: +10 % */
} planted;

/** An alert of the project about the benchmark's series, which is there; returns its id. */
int64_t plant_alert(const char *url, int64_t project, const planted *alert);
/** Project "p" with commits 1..commits and one run at commit 1 of time_ns of "gemm/a" and
 * "gemm/b". */
int64_t plant_project(pfc_db *db, unsigned commits);
/** A second project of that name with its own commits and series of the same names. */
int64_t plant_other(pfc_db *db, const char *name, unsigned commits);
/** First column of the first row of a formatted statement, as a number; 0: no row or NULL. */
int64_t plant_number(const char *url, const char *format, ...) PFC_PRINTF(2, 3);
/** Runs a formatted statement. */
void plant_sql(const char *url, const char *format, ...) PFC_PRINTF(2, 3);

#endif
