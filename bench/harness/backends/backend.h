/*
 * The interface between the harness and the kernels: a backend opens a benchmark, checks its
 * result, and runs it a given number of times. The harness uses kernels only through this
 * interface.
 *
 * Timed backends (CPU) are measured with a clock. Exact backends (the simulated accelerator) return
 * counted cycles and simulated time. These are the same in every run, so one run is enough.
 *
 * To add a family of backends, add a file with a provider function and a line in providers.c.
 */
#ifndef PFC_BENCH_HARNESS_BACKENDS_BACKEND_H
#define PFC_BENCH_HARNESS_BACKENDS_BACKEND_H

#include "bench/suite/suite.h"

#define PFC_EXACT_MAX_COUNTERS 400
#define PFC_EXACT_MAX_FACTS    8

/** Counts of one run on an exact backend. */
typedef struct pfc_exact {
    uint64_t cycles;
    double time_ns; /* simulated */
    struct {
        char name[72];
        double value;
    } counters[PFC_EXACT_MAX_COUNTERS]; /* further counters: bytes, stalls, ... */
    size_t counters_len;
    struct {
        char name[24];
        char text[200];
    } facts[PFC_EXACT_MAX_FACTS]; /* what is no number: limiter, digests, choices */
    size_t facts_len;
} pfc_exact;

typedef struct pfc_backend pfc_backend;

/** Functions that a family of backends implements. `self` is the backend, `inst` the result of
 * open. */
typedef struct pfc_backend_ops {
    /* PFC_EUNAVAIL, with the reason, when the family has no kernel for the benchmark on any
     * machine. Allocates nothing. NULL: only open checks. */
    pfc_code (*can)(const pfc_backend *self, const pfc_case *c, pfc_err *err);
    /* Prepares buffers and seeded input. PFC_EUNAVAIL (with the reason) when the backend does not
     * know the operation or type: the benchmark is skipped. */
    pfc_code (*open)(const pfc_backend *self, const pfc_case *c, uint64_t seed, void **inst,
                     pfc_err *err);
    /* Compares the result with the reference; PFC_EBROKEN with the place when it is wrong. */
    pfc_code (*check)(void *inst, pfc_err *err);
    /* `calls` calls; timed backends only. */
    void (*run)(void *inst, uint64_t calls);
    /* One run with its counters; exact backends only. */
    pfc_code (*exact)(void *inst, pfc_exact *out, pfc_err *err);
    /* Writes a trace of one run, under that name, to the file; exact backends only; NULL: the
     * family has none. */
    pfc_code (*trace)(void *inst, const char *name, const char *path, pfc_err *err);
    void (*close)(void *inst);
} pfc_backend_ops;

struct pfc_backend {
    char name[64];     /* "cpu-avx2", "accel:pfc-edge" */
    char missing[160]; /* why it cannot be used here; "" when it can */
    bool exact;
    const pfc_backend_ops *ops;
    const void *arg; /* of the family; borrowed */
};

/** Backends in a fixed order, those that are missing here included. */
typedef struct pfc_backends {
    pfc_backend *items;
    size_t len;
    size_t cap;
    const char
        *simulator; /* version of the simulated accelerator, set by its provider; NULL: none */
    void (*hash_chips)(char out[PFC_SHA256_HEX]); /* set by its provider, too; NULL: none */
} pfc_backends;

/** All backends of this program; clear them. */
void pfc_backends_list(pfc_backends *out);
void pfc_backends_clear(pfc_backends *backends);
/** Hash over names and texts of the simulator's chip files; "" when there are none. Not part of
 *  pfc_backends_list, because each of thousands of launches needs the list and hashing costs a
 * millisecond. */
void pfc_backends_chips(const pfc_backends *backends, char out[PFC_SHA256_HEX]);
/** Adds one; for providers. `missing` NULL or "" when it can be used. */
void pfc_backends_add(pfc_backends *backends, const char *name, const char *missing, bool exact,
                      const pfc_backend_ops *ops, const void *arg);
/** The backend of that name, or NULL. */
const pfc_backend *pfc_backends_find(const pfc_backends *backends, const char *name);

/** Provider: cpu-scalar, cpu-avx2, cpu-avx512, ... as kernels/cpu has them. */
void pfc_backends_cpu(pfc_backends *backends);
/** Provider: accel:CHIP for each built-in chip of kernels/accel. */
void pfc_backends_accel(pfc_backends *backends);
/** Adds the ceilings of the chips that the run has measurements of: arithmetic and HBM, as in their
 *  files. */
void pfc_backends_accel_ceilings(pfc_run *run);

#endif
