/*
 * Meaning of the columns of a CSV, and the reader that applies it: shared by users' own CSV (mapped
 * or detected), Triton's and Otava's. Private to core/import.
 */
#ifndef PFC_CORE_IMPORT_CSV_CSV_PLAN_H
#define PFC_CORE_IMPORT_CSV_CSV_PLAN_H

#include "core/import/reader/reader.h"

/** A part of a benchmark's name: a text, then a cell. */
typedef struct pfc_plan_part {
    char *text;    /* owned; may be "" */
    size_t column; /* SIZE_MAX: no cell */
} pfc_plan_part;

typedef struct pfc_plan_metric {
    size_t column;
    char *name;
    char *unit; /* NULL: by the name */
    double scale;
    bool has_direction;
    bool higher_is_better;
} pfc_plan_metric;

/** Only rows whose cell is (or, `not`, is not) one of the values count; with `broken` the others
 *  are benchmarks that failed. */
typedef struct pfc_plan_filter {
    size_t column;
    char **values;
    size_t values_len;
    bool broken;
} pfc_plan_filter;

typedef struct pfc_plan {
    pfc_plan_part *parts;
    size_t parts_len;
    pfc_plan_metric *metrics;
    size_t metrics_len;
    pfc_plan_filter *filters;
    size_t filters_len;
    size_t *params;
    size_t params_len;
    size_t backend, time, commit, branch; /* columns; SIZE_MAX: none */
    bool whole_names;                     /* "256.000000" in a name is "256" */
    const char *nameless;                 /* the benchmark when the parts give nothing */
} pfc_plan;

void pfc_plan_init(pfc_plan *plan);
void pfc_plan_clear(pfc_plan *plan);
/** Takes a copy of the text. */
void pfc_plan_part_add(pfc_plan *plan, const char *text, size_t len, size_t column);
/** Valid until the next; scale 1, unit and direction unset. */
pfc_plan_metric *pfc_plan_metric_add(pfc_plan *plan, size_t column, pfc_span name);
pfc_plan_filter *pfc_plan_filter_add(pfc_plan *plan, size_t column);
void pfc_plan_filter_value(pfc_plan_filter *filter, const char *value, size_t len);
void pfc_plan_param_add(pfc_plan *plan, size_t column);

/** Reads the remaining rows. Text in a cell where a number is expected: PFC_EINVAL with line and
 * column. */
pfc_code pfc_plan_read(pfc_import *in, const pfc_plan *plan, pfc_csv *csv) PFC_MUSTCHECK;

/** A point in time as histories write it (RFC 3339, "2024.01.01 3:00:00 +0100", Unix seconds or
 *  milliseconds); false when it is none. */
bool pfc_plan_time(pfc_span cell, double *unix_s);

/** Splits a column's name: "Time (ms)" and "Time [ms]" give "Time" and "ms"; "GB/s" is both. *unit
 * is empty where the name has none. */
void pfc_plan_unit(pfc_span column, pfc_span *name, pfc_span *unit);

/** Fills the plan from a mapping (YAML text, see docs/reference/formats.md) for this header; `csv`
 * takes its delimiter and quote before the header is read. csv_map.c */
typedef struct pfc_map pfc_map;
pfc_code pfc_map_load(const char *text, const char *name, pfc_map **out,
                      pfc_err *err) PFC_MUSTCHECK;
void pfc_map_free(pfc_map *map);
/** '\0': the mapping does not set it. */
char pfc_map_delimiter(const pfc_map *map);
char pfc_map_quote(const pfc_map *map);
pfc_code pfc_map_plan(const pfc_map *map, const pfc_csv *csv, pfc_plan *plan,
                      pfc_err *err) PFC_MUSTCHECK;

#endif
