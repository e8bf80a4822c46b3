/*
 * A part of a run: the benchmarks that --filter and --backend ask for, whatever measured them.
 */
#ifndef PFC_CORE_WIRE_BENCHMARK_FILTER_H
#define PFC_CORE_WIRE_BENCHMARK_FILTER_H

#include <regex.h>

#include "core/wire/wire.h"

/** What is asked for. All zero: everything. */
typedef struct pfc_select {
    const char *filter;          /* extended expression that is found in the name; NULL: any name */
    const char *const *backends; /* exact names */
    size_t backends_len;         /* 0: any backend */
} pfc_select;

/** A compiled pfc_select, for rows of every kind. */
typedef struct pfc_selector {
    const pfc_select *what;
    regex_t expression;
    bool has_expression;
} pfc_selector;

/** PFC_EINVAL with the reason when the expression is none. Clear it after PFC_OK. */
pfc_code pfc_selector_init(pfc_selector *s, const pfc_select *what, pfc_err *err) PFC_MUSTCHECK;
void pfc_selector_clear(pfc_selector *s);
bool pfc_selector_fits(const pfc_selector *s, const char *benchmark, const char *backend);

/** Collects the names that there are, each once, for the sentence of pfc_select_none. */
typedef struct pfc_select_names {
    char **names;
    size_t len, cap;
} pfc_select_names;

/** backend "" or NULL: it means nothing. */
void pfc_select_names_add(pfc_select_names *names, const char *benchmark, const char *backend);
/** PFC_ENOTFOUND: nothing fits; the sentence names what there is. Clears `names`. */
pfc_code pfc_select_none(const pfc_select *what, pfc_select_names *names, pfc_err *err);

/**
 * Removes the measurements of `run` that are not asked for; the canary stays, but is never what was
 * asked for. PFC_EINVAL when the expression is wrong; PFC_ENOTFOUND when nothing is left: the sentence
 * names the benchmarks that there are, and the run is unchanged.
 */
pfc_code pfc_run_select(pfc_run *run, const pfc_select *what, pfc_err *err) PFC_MUSTCHECK;

#endif
