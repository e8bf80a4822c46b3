/*
 * What one core of this machine can do at best, measured beside the benchmarks, and how near a
 * benchmark came.
 *
 * FMA: independent multiply-adds in registers, the widest that the CPU has. Read: a sum over a
 * buffer that fits half of the cache. Copy: the C library's memcpy, bytes read plus bytes written.
 * The best of several samples is the ceiling, because everything else only takes away. A benchmark's
 * bound is the longer of its operations at the FMA rate and its compulsory bytes at the rate of the
 * level that holds them (the roofline).
 * Source: Williams, Waterman & Patterson, "Roofline", CACM 52(4), 2009.
 */
#ifndef PFC_BENCH_MACHINE_CEILINGS_H
#define PFC_BENCH_MACHINE_CEILINGS_H

#include "bench/suite/suite.h"
#include "core/wire/wire.h"

enum { PFC_LEVEL_L1, PFC_LEVEL_L2, PFC_LEVEL_L3, PFC_LEVEL_DRAM, PFC_LEVELS };

typedef struct pfc_ceilings {
    double fma_f32_gflops;         /* 0: not measured */
    char fma_isa[16];              /* "avx512", "avx2", "scalar" */
    double size_bytes[PFC_LEVELS]; /* of each cache; DRAM: infinite */
    double read_gbps[PFC_LEVELS];
    double copy_gbps[PFC_LEVELS];
} pfc_ceilings;

/** Measures all of them, on this thread, in about `seconds` (0: 0.3). */
void pfc_ceilings_measure(double seconds, pfc_ceilings *out);

/** The least time of one call in ns by the ceilings; *bound gets "fma", "L2 read", "DRAM copy", ...
 *  0 when nothing is known of the type or the operation. */
double pfc_ceilings_bound_ns(const pfc_ceilings *ceilings, const pfc_case *c, const char **bound);

/** Sets extra.percent_of_peak and extra.bound on every timed measurement of the suite's benchmarks,
 *  and the ceilings themselves in the canary's extra. */
void pfc_ceilings_annotate(const pfc_ceilings *ceilings, const pfc_suite *suite, pfc_run *run);

/* One loop for each instruction set: `iterations` rounds, returns the operations done. */
double pfc_fma_scalar(uint64_t iterations);
double pfc_fma_avx2(uint64_t iterations);
double pfc_fma_avx512(uint64_t iterations);
/* The sum of `len` floats (a multiple of 64, 64-byte aligned): only its time matters. */
float pfc_read_scalar(const float *x, size_t len);
float pfc_read_avx2(const float *x, size_t len);

#endif
