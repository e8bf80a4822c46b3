/*
 * Finds the shortest conjunction of terms over names, parameters, backends, machine classes and
 * metrics that holds for all series that changed together and for no other measured series. Pure;
 * the order of the series does not matter.
 *
 * The length of a description is one for "dtype=bf16", "k >= 64" and "k <= 64", and n for a set of
 * n values. A term that holds for all series that changed excludes the most others when its bounds
 * are their extreme values, so there are few candidate terms. Each other series must fail at least
 * one term, so the shortest exact description is a minimum-weight hitting set of the terms that the
 * others fail, found by branch and bound. If no description is exact, the result is the conjunction
 * of at most PFC_SLICE_TERMS terms that misclassifies the fewest series, as far as the budget of
 * the search allows.
 */
#ifndef PFC_SERVER_SERVICES_ALERTS_GROUP_SUMMARY_H
#define PFC_SERVER_SERVICES_ALERTS_GROUP_SUMMARY_H

#include "core/wire/wire.h"

#define PFC_SLICE_TERMS      4  /* of a description that is not exact */
#define PFC_SLICE_ATTRIBUTES 32 /* further parameters are left out, the last ones by name */
#define PFC_SLICE_SET        8  /* values of a set "in {...}"; a longer list describes nothing */

typedef struct pfc_slice_series {
    const char *benchmark, *metric, *backend, *machine_class;
    const pfc_labels *params; /* NULL, empty: read from the benchmark's name */
    bool hit;                 /* it changed, */
    double rel_change;        /* by so much; NAN: not known */
    bool headline;            /* the mean of others: counts only if no other series changed */
} pfc_slice_series;

typedef enum pfc_slice_relation {
    PFC_SLICE_IN, /* one of `values` */
    PFC_SLICE_AT_LEAST,
    PFC_SLICE_AT_MOST,
} pfc_slice_relation;

typedef struct pfc_slice_term {
    char *attribute; /* "dtype", "backend", "machine", "metric", "family", ... */
    pfc_slice_relation relation;
    char *values[PFC_SLICE_SET]; /* in order; one for a bound */
    size_t values_len;
} pfc_slice_term;

typedef struct pfc_slice {
    char *family;      /* of all that changed: counts are within it; NULL: several, or headlines */
    size_t hit, of;    /* series series that changed, of those measured in the family */
    bool exact;        /* the terms hold for all that changed and no other */
    size_t hit_fits;   /* of those that changed */
    size_t other_fits; /* of those that did not */
    size_t length;     /* of the description */
    pfc_slice_term *terms;
    size_t terms_len; /* 0: all of them changed, or no description helps */
} pfc_slice;

/** len >= 1. Clear *out. */
void pfc_slice_find(const pfc_slice_series *series, size_t len, pfc_slice *out);
void pfc_slice_clear(pfc_slice *slice);

/** "6 of 15 gemm series: dtype=bf16 and k <= 64; +6.0 % to +8.1 %". Without an exact description:
 *  "3 of 9 series: gemm/y, conv/x, norm/z; +6.0 %"; of more than three that moved, "6 of 15 gemm
 *  series, most with dtype=bf16 (5 of these 6; 1 with it did not move); +6.0 %", or, if the
 *  description does not hold for most, "4 of 9 series; worst: gemm/y, norm/x, conv/x; +6.0 %".
 *  len >= 1. The caller frees it. */
char *pfc_slice_summary(const pfc_slice_series *series, size_t len);

/* ---- between the parts (group_summary_terms.c, group_summary_search.c) ---- */

/* One value of a series as the search sees it. */
typedef struct pfc_slice_attribute {
    char *name;
    char **values; /* distinct, sorted: numbers by size, else by bytes */
    size_t values_len;
    bool numeric;
    int32_t *of; /* number of each series' value; -1: it has none */
} pfc_slice_attribute;

typedef struct pfc_slice_table {
    pfc_slice_attribute *items;
    size_t len;      /* attributes */
    size_t rows_len; /* series */
    bool *hit;
    size_t hits;
} pfc_slice_table;

/** Of `rows` (numbers of series); in the order in which terms are preferred and printed. */
void pfc_slice_table_make(const pfc_slice_series *series, const size_t *rows, size_t len,
                          pfc_slice_table *out);
void pfc_slice_table_clear(pfc_slice_table *table);
/** Fills terms, exact and counts. 0 < hits < rows. */
void pfc_slice_search(const pfc_slice_table *table, pfc_slice *out);
/** The first part of a benchmark's name. The caller frees it. */
char *pfc_slice_family(const char *benchmark);

#endif
