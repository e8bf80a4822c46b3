/*
 * Many series on one chart: chosen by an expression (core/select/select.h), in columns of commits.
 * service.h has the general rules.
 *
 * The horizontal axis has a place for every commit at which a chosen series has a result, measured
 * or broken. If there are more places than columns, neighbours share a column, and a line has the
 * lowest, the median and the highest value of each: spikes stay visible. A line without a value in
 * a column has NAN there: charts must not join its neighbours. Results of a machine that had moved
 * are no values.
 */
#ifndef PFC_SERVER_SERVICES_PLOT_PLOT_H
#define PFC_SERVER_SERVICES_PLOT_PLOT_H

#include "server/repo/sql/plot.h"
#include "server/services/history/history.h"

#define PFC_PLOT_MAX_LINES      200
#define PFC_PLOT_MAX_SERIES     1000    /* of all groups */
#define PFC_PLOT_MAX_POINTS     4000000 /* stored points of the chosen series */
#define PFC_PLOT_MAX_CANDIDATES 50000   /* series of the branch */
#define PFC_PLOT_MAX_COLUMNS    5000
#define PFC_PLOT_COLUMNS        1000 /* unless asked for others */
#define PFC_PLOT_MAX_CELLS      1000000
#define PFC_PLOT_MAX_BROKEN     2000 /* marks */
#define PFC_PLOT_SAMPLE_POINTS  2000 /* raw samples are given up to so many points */
#define PFC_PLOT_MAX_POSITION   10000000

/* ---- choosing ---- */

/** A series of the branch. Its texts belong to the candidates. */
typedef pfc_sql_plot_candidates_row pfc_plot_series;

typedef struct pfc_plot_candidates {
    pfc_sql_plot_candidates_rows rows; /* ordered by id */
    pfc_labels *params;                /* of each row, parsed when first asked for; owned */
    bool *parsed;
} pfc_plot_candidates;

/** Reads all series of the branch. PFC_ETOOBIG over PFC_PLOT_MAX_CANDIDATES. Clear *out. */
pfc_code pfc_plot_candidates_load(pfc_tx *tx, int64_t project_id, const char *branch,
                                  pfc_plot_candidates *out, pfc_err *err) PFC_MUSTCHECK;
void pfc_plot_candidates_clear(pfc_plot_candidates *candidates);
/** The value of a field: "benchmark", "kernel" (the benchmark up to its first slash), "metric",
 *  "backend", "machine_class", "unit", else a parameter of the benchmark. NULL: it has none. Valid
 *  until the next call. */
const char *pfc_plot_field(pfc_plot_candidates *candidates, size_t row, const char *name);
/** The names of the fields that are no parameters, NULL at the end. */
extern const char *const pfc_plot_fields[];

/* ---- names and values, for completion ---- */

#define PFC_PLOT_MAX_NAMES  100
#define PFC_PLOT_MAX_VALUES 100 /* of a name */

typedef struct pfc_plot_value {
    char *text;
    size_t series; /* that have it */
} pfc_plot_value;

typedef struct pfc_plot_name {
    char *name;
    pfc_plot_value *values; /* numbers by value, then texts */
    size_t len, cap;
    size_t series, left_out; /* that have the field; of them, with a value over the limit */
    bool numeric;            /* every value is a number */
} pfc_plot_name;

typedef struct pfc_plot_names {
    pfc_plot_name *items; /* fields, then parameters by name */
    size_t len, cap;
    size_t series;
} pfc_plot_names;

/** The fields of the branch's series with their values. Clear *out. */
pfc_code pfc_plot_names_read(pfc_db *db, int64_t project_id, const char *branch,
                             pfc_plot_names *out, pfc_err *err) PFC_MUSTCHECK;
void pfc_plot_names_clear(pfc_plot_names *names);

/* ---- lines ---- */

typedef struct pfc_plot_opts {
    const char *branch;
    const char *select;
    const char *from, *to; /* Unix seconds or commits; NULL: open */
    const char *relative;  /* a commit: `base` of each line; NULL: none */
    const char *group;     /* a field: one line a value, metric, unit and class; NULL: a series */
    int columns;           /* 1..PFC_PLOT_MAX_COLUMNS; 0: PFC_PLOT_COLUMNS */
    int cells;             /* lines times columns: fewer columns; 1..PFC_PLOT_MAX_CELLS; 0: any */
    bool samples;
} pfc_plot_opts;

/** Raw samples of one result. */
typedef struct pfc_plot_samples {
    size_t column;
    double *values; /* owned */
    size_t len;
} pfc_plot_samples;

typedef struct pfc_plot_line {
    const pfc_plot_series *series; /* the first member */
    const char *params_json;       /* of the series; NULL: a group */
    char *key;                     /* of the group; NULL: its members lack the field, or no group */
    size_t members;
    size_t points;  /* results in the window; of a group: commits where every member has one */
    size_t partial; /* of a group: commits where some, but not all, members have a result */
    size_t moved;   /* results in the window of a machine that had moved; they are no values */
    double base;    /* the newest value at or before `relative`; NAN: none */
    float *median, *low, *high; /* a value a column, NAN: none; owned */
    pfc_plot_samples *samples;
    size_t samples_len, samples_cap;
} pfc_plot_line;

/** The newest commit of a column. */
typedef pfc_sql_plot_commits_row pfc_plot_column;

typedef struct pfc_plot_mark {
    size_t line, column;
    const char *reason;
    int64_t run_id, position;
} pfc_plot_mark;

typedef struct pfc_plot {
    size_t matched;    /* series that the expression selects */
    size_t left_out;   /* lines over PFC_PLOT_MAX_LINES, which are not here */
    size_t places;     /* commits on the axis; more than columns: columns are shared */
    pfc_texts unknown; /* fields of the expression and of `group` that no series has */
    pfc_sql_plot_commits_rows columns;
    pfc_plot_line *lines; /* by number of the first series */
    size_t len;
    pfc_plot_mark *marks; /* broken results, newest first */
    size_t marks_len;
    bool samples;  /* raw samples were asked for, and there are few enough */
    size_t read;   /* stored points that were read for it, also outside of the window */
    char *version; /* of the data that was read, see pfc_plot_version; owned */

    pfc_plot_candidates candidates; /* the texts of series */
    pfc_sql_plot_broken_rows broken;
} pfc_plot;

/** A text that differs after every change of the data that alters a plot of this branch: new
 *  commits, results or series, commits that moved, and thinned months. Acceptances, alerts and
 *  settings alter none. Costs milliseconds; caller frees *out. A replica may answer. */
pfc_code pfc_plot_version(pfc_db *db, int64_t project_id, const char *branch, char **out,
                          pfc_err *err) PFC_MUSTCHECK;

/** PFC_EINVAL with the field: a fault in the expression, from, to, relative or columns;
 *  PFC_ENOTFOUND: no such commit; PFC_ETOOBIG: over a limit above. Clear *out. A replica may
 *  answer. */
pfc_code pfc_plot_read(pfc_db *db, int64_t project_id, const pfc_plot_opts *opts, pfc_plot *out,
                       pfc_err *err) PFC_MUSTCHECK;
void pfc_plot_clear(pfc_plot *plot);

#endif
