/*
 * Restricts runs and comparisons to the benchmarks that --filter and --backend select.
 */
#ifndef PFC_CORE_WIRE_BENCHMARK_FILTER_H
#define PFC_CORE_WIRE_BENCHMARK_FILTER_H

#include <regex.h>

#include "core/wire/wire.h"

/** The selection. All zero: every benchmark. */
typedef struct pfc_benchmark_filter {
    const char *filter; /* POSIX extended regular expression that is searched for in the name; NULL:
                           any name */
    const char *const *backends; /* exact names */
    size_t backends_len;         /* 0: any backend */
} pfc_benchmark_filter;

/** Returns a regular expression that matches this benchmark name and no other. The caller frees
 *  it. */
char *pfc_benchmark_only(const char *benchmark);

/** A compiled pfc_benchmark_filter. Does not own `what`, which must outlive it. */
typedef struct pfc_benchmark_matcher {
    const pfc_benchmark_filter *what;
    regex_t expression;
    bool has_expression;
} pfc_benchmark_matcher;

/** PFC_EINVAL with the reason when the expression does not compile. Clear *s after PFC_OK. */
pfc_code pfc_benchmark_matcher_init(pfc_benchmark_matcher *s, const pfc_benchmark_filter *what,
                                    pfc_err *err) PFC_MUSTCHECK;
void pfc_benchmark_matcher_clear(pfc_benchmark_matcher *s);
bool pfc_benchmark_matches(const pfc_benchmark_matcher *s, const char *benchmark,
                           const char *backend);

/** Collects the existing names, each once, for the message of pfc_benchmark_none_matches. */
typedef struct pfc_benchmark_names {
    char **names;
    size_t len, cap;
} pfc_benchmark_names;

/** Adds "benchmark on backend"; a backend of "" or NULL is left out. */
void pfc_benchmark_names_add(pfc_benchmark_names *names, const char *benchmark,
                             const char *backend);
/** Sets the error "no benchmark fits", which lists `names`, and returns PFC_ENOTFOUND. Clears
 * `names`. */
pfc_code pfc_benchmark_none_matches(const pfc_benchmark_filter *what, pfc_benchmark_names *names,
                                    pfc_err *err);

/**
 * Removes the measurements of `run` that the filter does not select. The canary always stays and
 * never counts as selected. PFC_EINVAL when the expression does not compile; PFC_ENOTFOUND when no
 * measurement is selected: the message lists the benchmarks, and the run is unchanged.
 */
pfc_code pfc_run_filter(pfc_run *run, const pfc_benchmark_filter *what, pfc_err *err) PFC_MUSTCHECK;

#endif
