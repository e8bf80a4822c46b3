/*
 * Comparing the results of two commits or runs. service.h has the general rules.
 *
 * One side holds an entry for each benchmark, metric, backend and machine class: compare_side.c
 * loads it, compare.c judges two of them.
 */
#ifndef PFC_SERVER_SERVICES_HISTORY_COMPARE_H
#define PFC_SERVER_SERVICES_HISTORY_COMPARE_H

#include "core/stats/between_runs.h"
#include "core/stats/stats.h"
#include "server/repo/sql/sessions.h"
#include "server/repo/tables/repo.h"
#include "server/services/history/ends.h"

typedef struct pfc_side_summary {
    double median, low, high;
    size_t n;
    const char *reproducibility; /* the least of its results; NULL: it has none */
    int64_t series_id;           /* of its newest run; 0: only broken results are known, or none */
    const char *backend;         /* NULL: no result; valid until the comparison is cleared */
} pfc_side_summary;

typedef struct pfc_compare_row {
    int64_t series_id;                                         /* of the candidate's newest run */
    char *benchmark, *metric, *backend, *machine_class, *unit; /* backend: of b */
    char *backend_a;                                           /* NULL: the same, or none */
    bool higher_is_better, exact;
    pfc_side_summary a, b;
    const char *reproducibility; /* the lesser of both sides; NULL: one has no results */
    pfc_compare_result result;   /* DIFFERENT: see `regression` for the direction; corrected for
                                  all rows (core/stats/comparison_family.h) */
    double p_adjusted;           /* NAN: no test was made */
    double margin_rel;           /* the project's for this series, else the comparison's */
    double more_runs;   /* per side, likely to decide it; NAN: decided, or no number of runs does */
    size_t compared;    /* values of the smaller side that were compared: launches, else samples */
    bool margin_set;    /* margin_rel is from the project's detector settings */
    bool untested;      /* values that cannot be compared as ratios */
    bool moved;         /* one side has only runs during which the machine's canary moved: the
                         verdict is inconclusive */
    double between_rel; /* noise between runs of the series, which p and the interval include; NAN:
                           too few runs, no noise, or both sides are of one session */
    bool regression;
    bool broken_a, broken_b; /* no samples on that side, see `reason`; `result` is then unset */
    char *reason;            /* NULL: not broken */
    char **differs;          /* names of fingerprint entries that differ; "machine_class" */
    size_t differs_len;
} pfc_compare_row;

/* A fingerprint's entry, or the machine class, that is not the same on both sides. */
typedef struct pfc_compare_difference {
    char *field, *a, *b; /* a, b: NULL: not recorded there */
} pfc_compare_difference;

typedef struct pfc_compare_side {
    pfc_end end;
    char **runs; /* their ids, 32 hexadecimal digits */
    size_t runs_len;
    int64_t hidden; /* results of the commit or run that a quarantine hides */
} pfc_compare_side;

/* The geometric mean of b / a over the rows of one kernel, backend and metric. Left out: rows that
 * are broken, cannot be compared as ratios, or were measured while the machine moved. */
typedef struct pfc_compare_mean {
    char *kernel;                        /* the benchmark up to its first slash */
    const char *backend, *metric, *unit; /* of a row */
    bool higher_is_better;
    double rel_change; /* mean - 1; NAN: every row was left out */
    size_t n, left_out;
    size_t regressions, improvements; /* among the n */
} pfc_compare_mean;

typedef struct pfc_comparison {
    pfc_compare_side a, b;
    pfc_ends_between between;
    bool across; /* different machine classes were compared, or would have been */
    double margin_rel;
    pfc_compare_mean *means; /* by kernel, backend, metric; none of headlines and the canary */
    size_t means_len;
    pfc_compare_row *rows; /* by benchmark, metric, backend */
    size_t rows_len;
    char **only_a, **only_b; /* "benchmark metric backend" measured on one side only */
    size_t only_a_len, only_b_len;
    size_t regressions, improvements, same, inconclusive, broken;
    pfc_compare_difference *differs; /* of all rows, and of rows split only by machine class */
    size_t differs_len, differs_cap;
    /* "identical" or "different": the object code of all rows with results on both sides. NULL: not
     * known of each of them. */
    const char *object_code;
    /* Of b's commit against a's, as a runner counted them; empty: it did not, or none changed. */
    pfc_sql_functions_between_rows functions;
} pfc_comparison;

typedef struct pfc_compare_ask {
    pfc_end_ask a, b; /* with two backends, the results of one benchmark and metric are compared;
                         likewise with two machine classes */
    bool across;      /* where no pair has the same machine class, compare different ones */
} pfc_compare_ask;

/** Uses all raw samples of a commit's runs, or block medians where processes were repeated. */
pfc_code pfc_compare(pfc_db *db, int64_t project_id, const pfc_compare_ask *ask,
                     pfc_comparison *out, pfc_err *err) PFC_MUSTCHECK;
/** All results of two ends. */
pfc_code pfc_compare_commits(pfc_db *db, int64_t project_id, const char *a, const char *b,
                             pfc_comparison *out, pfc_err *err) PFC_MUSTCHECK;

void pfc_comparison_clear(pfc_comparison *c);

/* ---- the files of this folder that compare ---- */

/* One benchmark and metric on one side: samples of all its runs, launch after launch. */
typedef struct pfc_compare_entry {
    const char *benchmark, *metric, *backend, *machine_class, *unit;
    const char *branch; /* of the series; NULL as below */
    int64_t series_id;  /* of the newest run that measured it; 0: only broken results are known */
    bool higher, exact;
    bool confirmed;      /* another job confirms each of its results */
    bool moved;          /* the canary moved during each of its runs */
    const char *session; /* of all its runs; NULL: none, or several */
    size_t runs;
    double *samples;
    size_t len;
    uint32_t *blocks;
    size_t blocks_len;
    int64_t machine_id; /* of the newest run */
    double started_at;  /* of the newest run */
    const char
        *object; /* hash of the object code of all its runs; NULL: not known, or they differ */
    const char *reason; /* of the newest result when that is broken; NULL: it has samples */
} pfc_compare_entry;

typedef struct pfc_compare_results {
    pfc_res *measured, *broken; /* the texts of the entries lie here */
    pfc_compare_entry *entries; /* by name, then machine class */
    size_t len;
} pfc_compare_results;

/** The order of entries without their machine classes. */
int pfc_compare_names(const pfc_compare_entry *a, const pfc_compare_entry *b);
/** Reads the results of named->end into *s, which is empty; named->runs: the runs that were read.
 *  ask: its backend and machine class. Texts live as long as *s. */
pfc_code pfc_compare_load(pfc_tx *tx, int64_t project_id, const pfc_end_ask *ask,
                          pfc_compare_results *s, pfc_compare_side *named,
                          pfc_err *err) PFC_MUSTCHECK;
void pfc_compare_results_clear(pfc_compare_results *s);

/* Noise between the runs of each series, by id. */
typedef struct pfc_compare_histories {
    int64_t *ids;
    pfc_between *noise;
    size_t len;
} pfc_compare_histories;

/** Of the series of both sides' results. Reads into *out, which is empty. */
pfc_code pfc_compare_histories_load(pfc_tx *tx, int64_t project_id, const pfc_compare_results *a,
                                    const pfc_compare_results *b, pfc_compare_histories *out,
                                    pfc_err *err) PFC_MUSTCHECK;
void pfc_compare_histories_clear(pfc_compare_histories *h);
/** The last word on a row whose launches were compared: separate runs are judged with the noise
 * between runs, and nothing is decided by runs during which the machine moved. a, b: its sides. */
void pfc_compare_settle(const pfc_compare_histories *h, const pfc_compare_entry *a,
                        const pfc_compare_entry *b, pfc_compare_row *row);
/** Adds the object code of one more row to the word of all: "identical", "different"; NULL: not
 *  known. *unknown: a row before it, or this one, has none. (compare_code.c) */
const char *pfc_compare_object(const pfc_compare_entry *a, const pfc_compare_entry *b,
                               const char *before, bool *unknown);
/** Reads c->functions by the commits of both sides. (compare_code.c) */
pfc_code pfc_compare_functions(pfc_tx *tx, int64_t project_id, pfc_comparison *c,
                               pfc_err *err) PFC_MUSTCHECK;

/** Fills c->means from the rows, which are judged. (compare_means.c) */
void pfc_compare_means(pfc_comparison *c);

#endif
