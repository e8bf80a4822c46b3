/*
 * A part of a run: the benchmarks that --filter and --backend ask for, whatever measured them.
 */
#ifndef PFC_CORE_WIRE_BENCHMARK_FILTER_H
#define PFC_CORE_WIRE_BENCHMARK_FILTER_H

#include <regex.h>

#include "core/wire/wire.h"

/** What is asked for. All zero: everything. */
typedef struct pfc_benchmark_filter {
    const char *filter;          /* extended expression that is found in the name; NULL: any name */
    const char *const *backends; /* exact names */
    size_t backends_len;         /* 0: any backend */
} pfc_benchmark_filter;

/** A compiled pfc_benchmark_filter, for rows of every kind. */
typedef struct pfc_benchmark_matcher {
    const pfc_benchmark_filter *what;
    regex_t expression;
    bool has_expression;
} pfc_benchmark_matcher;

/** PFC_EINVAL with the reason when the expression is none. Clear it after PFC_OK. */
pfc_code pfc_benchmark_matcher_init(pfc_benchmark_matcher *s, const pfc_benchmark_filter *what,
                                    pfc_err *err) PFC_MUSTCHECK;
void pfc_benchmark_matcher_clear(pfc_benchmark_matcher *s);
bool pfc_benchmark_matches(const pfc_benchmark_matcher *s, const char *benchmark,
                           const char *backend);

/** Collects the names that there are, each once, for the sentence of pfc_benchmark_none_matches. */
typedef struct pfc_benchmark_names {
    char **names;
    size_t len, cap;
} pfc_benchmark_names;

/** backend "" or NULL: it means nothing. */
void pfc_benchmark_names_add(pfc_benchmark_names *names, const char *benchmark,
                             const char *backend);
/** PFC_ENOTFOUND: nothing fits; the sentence names what there is. Clears `names`. */
pfc_code pfc_benchmark_none_matches(const pfc_benchmark_filter *what, pfc_benchmark_names *names,
                                    pfc_err *err);

/**
 * Removes the measurements of `run` that are not asked for; the canary stays, but is never what was
 * asked for. PFC_EINVAL when the expression is wrong; PFC_ENOTFOUND when nothing is left: the sentence
 * names the benchmarks that there are, and the run is unchanged.
 */
pfc_code pfc_run_filter(pfc_run *run, const pfc_benchmark_filter *what, pfc_err *err) PFC_MUSTCHECK;

#endif
