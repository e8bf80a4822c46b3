/*
 * The cost of a job's sandbox: values of a suite measured in it against values measured without it,
 * in interleaved rounds, and the time that starting a program takes both ways.
 */
#ifndef PFC_BENCH_STUDIES_SANDBOX_COST_H
#define PFC_BENCH_STUDIES_SANDBOX_COST_H

#include "core/stats/stats.h"
#include "runner/sandbox/cgroup.h"
#include "runner/sandbox/sandbox.h"

#define PFC_COST_MAX_ROUNDS     1000
#define PFC_COST_MAX_STARTS     100000
#define PFC_COST_MAX_BENCHMARKS 256

typedef struct pfc_cost_opts {
    const char *suite; /* file or name, for perfci-bench */
    const char *bench; /* perfci-bench; NULL: the one beside this program */
    const char *dir;   /* an existing folder: what is measured runs in it */
    const pfc_sandbox *sandbox;
    pfc_cgroups *cgroups; /* of the sandboxed side; NULL: none */
    size_t rounds;        /* 2..PFC_COST_MAX_ROUNDS; each measures both sides once */
    size_t starts;        /* 10..PFC_COST_MAX_STARTS program starts of each side */
    double max_s;         /* no round begins after so long; 0: no limit */
    uint64_t seed;        /* of the order within the rounds */
} pfc_cost_opts;

/** One benchmark, metric and backend of the suite; values are medians of a run. */
typedef struct pfc_cost_row {
    char *name;            /* "gemm/f32/m64n64k64 cpu-avx2", owned */
    double *bare, *inside; /* one value a round, owned; ns */
    pfc_interval rel;      /* median over rounds of inside / bare - 1, with its 95 % interval */
    double noise[2];       /* of bare and inside: robust relative standard deviation over rounds */
} pfc_cost_row;

typedef struct pfc_cost {
    size_t rounds; /* complete ones */
    pfc_cost_row rows[PFC_COST_MAX_BENCHMARKS];
    size_t rows_len;
    pfc_interval rel;            /* of the whole suite: each round's geometric mean over the rows */
    double noise[2];             /* median over the rows */
    pfc_interval start_ms[2];    /* median time to start and end /bin/true: bare, inside */
    pfc_interval start_extra_ms; /* median difference within a pair of starts */
} pfc_cost;

/** PFC_EUNAVAIL when a round measures nothing; clear *out in every case. */
pfc_code pfc_cost_measure(const pfc_cost_opts *opts, pfc_cost *out, pfc_err *err) PFC_MUSTCHECK;
void pfc_cost_clear(pfc_cost *cost);

#endif
