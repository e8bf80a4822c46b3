/*
 * Suites: which kernels are measured, in which shapes, on which backends, and how long.
 *
 * A suite is a YAML file (bench/README.md shows one, schema/json/suite.schema.json describes it)
 * and what it includes. It is input from outside, so it is bounded: its bytes, its depth (checked
 * before the YAML library sees it), the files it includes and the number of benchmarks it expands
 * to; aliases and unknown keys are refused with file and line. The same text (and the same included
 * texts) always gives the same benchmarks in the same order, those of generators included.
 * Everything here is plain data; thread-safe.
 */
#ifndef PFC_BENCH_SUITE_SUITE_H
#define PFC_BENCH_SUITE_SUITE_H

#include "core/base/err.h"
#include "core/base/hash.h"
#include "core/wire/wire.h"

#define PFC_SUITE_MAX_BYTES    (256u * 1024)
#define PFC_SUITE_MAX_DEPTH    16
#define PFC_SUITE_MAX_CASES    5000
#define PFC_SUITE_MAX_BACKENDS 32
#define PFC_SUITE_MAX_FILES    64             /* the suite itself and everything it includes */
#define PFC_SUITE_MAX_INCLUDES 8              /* levels of includes */
#define PFC_SUITE_MAX_TOTAL    (1024u * 1024) /* bytes of all files together */
#define PFC_OP_MAX_PARAMS      8

/** One parameter of an operation: a dimension or a switch. */
typedef struct pfc_op_param {
    const char *name; /* "m"; also its letter in the benchmark's name */
    int64_t min, max;
    int64_t fallback; /* value when the suite does not give it; -1: it must */
} pfc_op_param;

/** An operation that suites may name. */
typedef struct pfc_op {
    const char *name;   /* "gemm" */
    const char *metric; /* its throughput, also the headline metric: "gemm_tflops" */
    const char *unit;   /* "TFLOP/s" or "GB/s" */
    pfc_op_param params[PFC_OP_MAX_PARAMS];
    size_t params_len;
    /* work of one call in units of 1e12 flops or 1e9 bytes; elem_bytes of one element */
    double (*work)(const int64_t *params, double elem_bytes);
    /* why these values contradict each other, or NULL; the function may be NULL */
    const char *(*fault)(const int64_t *params);
} pfc_op;

/** The operation of that name, or NULL. */
const pfc_op *pfc_op_find(const char *name);
/** All of them; *len is their number. */
const pfc_op *pfc_op_list(size_t *len);
/** Bytes of one element of "f32", "bf16" or "int8"; 0 when the type is unknown. */
double pfc_dtype_bytes(const char *dtype);
/** Whether some backend could ever compute the operation in that (known) type. */
bool pfc_op_has_dtype(const pfc_op *op, const char *dtype);

/** How one benchmark is measured. */
typedef struct pfc_case_settings {
    int64_t processes;     /* launches at least; 1..64 */
    int64_t min_samples;   /* over all launches; 1..100000 */
    int64_t max_samples;   /* likewise; >= min_samples */
    double max_seconds;    /* of timing, over all launches, on one backend */
    double warmup_seconds; /* at most, in each launch */
    double interval_rel;   /* wanted width of the 95 % interval, relative; stop when reached */
    double launch_seconds; /* a launch may take so long beyond its budget (input, reference); then
                              it hangs: it is ended and the benchmark is broken */
} pfc_case_settings;

/** One benchmark: an operation with all its parameters. */
typedef struct pfc_case {
    char *name; /* "gemm/f32/m512n512k512" */
    const pfc_op *op;
    char dtype[8];
    int64_t params[PFC_OP_MAX_PARAMS]; /* as op->params */
    /* Files of the simulated accelerator, as paths from the working folder; NULL: none. The shape
     * is then what the result is compared with. */
    char *program;   /* a kernel in text, run instead of the built-in one */
    char *schedule;  /* of the built-in GEMM */
    bool headline;   /* counts in the headline metric */
    char **backends; /* as the suite says: "cpu-avx2", "accel:*" */
    size_t backends_len;
    pfc_case_settings settings;
    char *where; /* where the suite names it, "suite.yaml:12" */
} pfc_case;

typedef struct pfc_suite {
    char *name;
    char hash[PFC_SHA256_HEX]; /* of the text; with includes, of the hashes of all texts */
    double max_total_seconds;  /* budget of a whole run; 0: none */
    pfc_case *cases;           /* names are unique */
    size_t cases_len;
    size_t cases_cap;
} pfc_suite;

/** The benchmark's name from its operation, type and parameters; caller frees. Parameters that
 *  have their fallback value are left out, so that adding a parameter renames nothing. */
char *pfc_case_name(const pfc_op *op, const char *dtype, const int64_t *params);
/** The same, then "/" and the name of the kernel in text or the schedule (both may be NULL),
 *  without its folders; caller frees. */
char *pfc_case_own_name(const pfc_op *op, const char *dtype, const int64_t *params,
                        const char *program, const char *schedule);
/** Frees what the case holds and zeroes it. */
void pfc_case_clear(pfc_case *c);
/** Work of one call (TFLOP or GB). */
double pfc_case_work(const pfc_case *c);
/** True when the work is counted in bytes: norms, which write about as much as they read. */
bool pfc_case_streams(const pfc_case *c);
/** Operations of one call in 1e9; 0 for benchmarks whose work is bytes. */
double pfc_case_gops(const pfc_case *c);
/** Compulsory bytes of one call: inputs and outputs, once each. */
double pfc_case_bytes(const pfc_case *c);
/** Operations of one call. Products count as pfc_case_work has them; of norms each element counts,
 *  where exp, a division, and a comparison are one operation each. */
double pfc_case_operations(const pfc_case *c);
/** The case of that name, or NULL. */
const pfc_case *pfc_suite_find(const pfc_suite *suite, const char *name);
/** Sets operations and bytes on the times of the suite's benchmarks (metric time_ns). */
void pfc_suite_set_work(const pfc_suite *suite, pfc_run *run);
/** True when the suite selects that backend for the benchmark ("accel:*" matches every chip). */
bool pfc_case_wants(const pfc_case *c, const char *backend);
/** True when `glob` (*, ?, [...]) matches the whole name; "*" matches slashes, too. */
bool pfc_suite_glob(const char *glob, const char *name);
/** True when the name of a backend or benchmark is a glob. */
bool pfc_suite_is_glob(const char *name);

/**
 * Parses a suite's text. `name` is for errors ("suite.yaml"). A text is no file, so it can include
 * built-in suites only.
 * PFC_EINVAL with "name:line: what was wanted and what came"; *out is the caller's to free.
 */
pfc_code pfc_suite_parse(const char *text, size_t len, const char *name, pfc_suite **out,
                         pfc_err *err) PFC_MUSTCHECK;
/** A suite by path, or by name: "quick" is built in. PFC_ENOTFOUND lists the built-in names. */
pfc_code pfc_suite_load(const char *path_or_name, pfc_suite **out, pfc_err *err) PFC_MUSTCHECK;
void pfc_suite_free(pfc_suite *suite);

/** The text of a built-in suite, or NULL; and their names, NULL-terminated. */
const char *pfc_suite_builtin(const char *name);
const char *const *pfc_suite_builtin_names(void);

#endif
