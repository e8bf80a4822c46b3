/*
 * The roofline of a branch: how near each benchmark is to what its machine can do at best.
 * service.h has the general rules.
 *
 * A benchmark whose time was measured, and whose run document states operations and bytes, has an
 * intensity (operations a byte), a rate (operations over the median of the time) and a limit: the
 * lesser of the arithmetic's rate and of the memory's rate times the intensity. Which memory level:
 * the smallest that holds the benchmark's bytes. Ceilings are those that held: of the run itself,
 * else of the newest earlier run of the machine class that states some for the backend, else of the
 * next later one. Benchmarks that have no place on the roofline are listed with the reason.
 * Source: Williams, Waterman & Patterson, "Roofline", CACM 52(4), 2009.
 */
#ifndef PFC_SERVER_SERVICES_PLOT_ROOFLINE_H
#define PFC_SERVER_SERVICES_PLOT_ROOFLINE_H

#include "server/services/plot/plot.h"

#define PFC_ROOFLINE_MAX_UNKNOWN 1000 /* that are listed */

typedef struct pfc_roofline_opts {
    const char *branch;
    const char *select;
    const char *a, *b;                   /* commits; NULL: no other side, and the newest results */
    const char *machine_class, *backend; /* NULL: all */
} pfc_roofline_opts;

/** One ceiling that a point refers to or may refer to. */
typedef struct pfc_roofline_ceiling {
    const pfc_run_ceiling *ceiling;
    const char *machine_class;
    int64_t run_id; /* that states it */
    double at;      /* when it was measured; of a chip file when that run started */
} pfc_roofline_ceiling;

/** The result of a benchmark at a commit. */
typedef struct pfc_roofline_point {
    int64_t run_id;           /* the newest that measured it there; 0: there is no result */
    int64_t position;         /* of the newest commit with a result, at or before the asked one */
    const char *commit;       /* at that position */
    double value;             /* median of the time, in the unit of the series */
    double operations, bytes; /* NAN: not stated */
    double intensity, rate;   /* NAN: not known; rate: operations a second */
    double limit;             /* operations a second; NAN: a ceiling is missing */
    size_t compute, memory;   /* the ceilings that apply; SIZE_MAX: none is known */
    bool by_memory;           /* the memory is what limits */
} pfc_roofline_point;

typedef struct pfc_roofline_row {
    const pfc_plot_series *series;
    pfc_roofline_point a, b;
} pfc_roofline_row;

/** Why a benchmark has no point at b. */
typedef enum pfc_roofline_reason {
    PFC_ROOFLINE_NO_TIME,       /* none of its metrics is a time */
    PFC_ROOFLINE_NO_RESULT,     /* not measured at or before the commit */
    PFC_ROOFLINE_NO_WORK,       /* neither operations nor bytes */
    PFC_ROOFLINE_NO_OPERATIONS, /* bytes only */
    PFC_ROOFLINE_NO_BYTES,      /* operations only */
} pfc_roofline_reason;

typedef struct pfc_roofline_unknown {
    const pfc_plot_series *series; /* one of the benchmark's */
    pfc_roofline_reason reason;
} pfc_roofline_unknown;

/* A run's ceilings. */
typedef struct pfc_roofline_set {
    char *machine_class;
    int64_t run_id;
    double started_at;
    pfc_run *run; /* with the ceilings alone */
} pfc_roofline_set;

typedef struct pfc_roofline {
    size_t matched;         /* benchmarks, each on a backend and machine class */
    pfc_texts unknown;      /* fields of the expression that no series has */
    pfc_roofline_row *rows; /* by benchmark, backend, machine class, metric */
    size_t len;
    pfc_roofline_unknown *missing;  /* in the same order */
    size_t missing_len, left_out;   /* left_out: over PFC_ROOFLINE_MAX_UNKNOWN, not in `missing` */
    pfc_roofline_ceiling *ceilings; /* each fits a point */
    size_t ceilings_len, ceilings_cap;

    pfc_roofline_set *sets; /* the texts */
    size_t sets_len, sets_cap;
    pfc_sql_plot_commits_rows commits;
    pfc_plot_candidates candidates;
} pfc_roofline;

/** PFC_EINVAL with the field: a fault in the expression; PFC_ENOTFOUND: no such commit;
 *  PFC_ETOOBIG: over a limit of plot.h. Clear *out. A replica may answer. */
pfc_code pfc_roofline_read(pfc_db *db, int64_t project_id, const pfc_roofline_opts *opts,
                           pfc_roofline *out, pfc_err *err) PFC_MUSTCHECK;
void pfc_roofline_clear(pfc_roofline *roofline);

/* ---- roofline_limit.c, pure ---- */

/** True when the ceiling is of the backend, and of arithmetic of this type or of memory. */
bool pfc_roofline_fits(const pfc_run_ceiling *ceiling, const char *backend, const char *dtype);
/** Which of the ceilings apply to work of these bytes: the highest of its type's arithmetic, and
 *  the smallest memory level that holds it. SIZE_MAX: none. */
void pfc_roofline_choose(const pfc_run_ceiling *ceilings, size_t len, const char *backend,
                         const char *dtype, double bytes, size_t *compute, size_t *memory);
/** Seconds in the unit of a time; 0: it is no unit of time. */
double pfc_roofline_seconds(const char *unit);

#endif
