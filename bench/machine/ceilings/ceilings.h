/*
 * The peak rates of this machine, for one core and for all, measured with the benchmarks, and each
 * benchmark's percentage of the peak.
 *
 * Arithmetic: independent multiply-adds in registers, the widest that the CPU has for the type. A
 * CPU without an instruction for bf16 converts to f32, so its limit there is that of f32. Read: a
 * sum over a buffer that fits half of the cache. Copy: the C library's memcpy, bytes read plus
 * bytes written. Huge pages are requested. The best of several samples is the ceiling, because
 * interference only slows a sample down. All cores: a thread pinned to each CPU, started together;
 * what counts is all work over the time from the first start to the last end of a round. A
 * benchmark's bound is the longer of its operations at the arithmetic's rate and its compulsory
 * bytes at the rate of the level that holds them (the roofline). Source: Williams, Waterman &
 * Patterson, "Roofline", CACM 52(4), 2009.
 */
#ifndef PFC_BENCH_MACHINE_CEILINGS_CEILINGS_H
#define PFC_BENCH_MACHINE_CEILINGS_CEILINGS_H

#include "bench/suite/suite.h"
#include "core/wire/wire.h"

enum { PFC_LEVEL_L1, PFC_LEVEL_L2, PFC_LEVEL_L3, PFC_LEVEL_DRAM, PFC_LEVELS };
enum { PFC_COMPUTE_F32, PFC_COMPUTE_BF16, PFC_COMPUTE_INT8, PFC_COMPUTES };

/** 0: not measured. */
typedef struct pfc_rates {
    double gops[PFC_COMPUTES]; /* 1e9 operations a second */
    double read_gbps[PFC_LEVELS];
    double copy_gbps[PFC_LEVELS];
} pfc_rates;

typedef struct pfc_ceilings {
    char isa[PFC_COMPUTES][32];    /* "avx512", "avx2", ...; "" when there is none */
    double size_bytes[PFC_LEVELS]; /* that the level holds for one core; DRAM: infinite */
    pfc_rates one;
    pfc_rates all;
    size_t threads; /* of `all`; 0: not measured */
} pfc_ceilings;

/** "f32", "bf16", "int8"; "L1", "L2", "L3", "DRAM". */
const char *pfc_compute_name(int kind);
const char *pfc_level_name(int level);

/** Measures all of them: one core, on this thread, in about `seconds` (0: 0.3), then, if asked for,
 *  all CPUs that this process may use in as long again. */
void pfc_ceilings_measure(double seconds, bool all_cores, pfc_ceilings *out);

/** The least time of one call in ns on one core; *bound gets "fma", "bf16", "int8", "L2 read",
 *  "DRAM copy", ... 0 when nothing is known of the type or the operation. */
double pfc_ceilings_bound_ns(const pfc_ceilings *ceilings, const pfc_case *c, const char **bound);

/** Adds the ceilings of one core to the document, for the backends on the CPU: their benchmarks run
 *  on one core. Those that were not measured are left out. */
void pfc_ceilings_document(const pfc_ceilings *ceilings, pfc_run *run);

/** Sets extra.percent_of_peak, extra.bound and extra.ops_per_byte on every timed measurement of the
 *  suite's benchmarks, percent_of_peak (the geometric mean of its members') on headlines, and the
 *  ceilings themselves in the canary's extra. */
void pfc_ceilings_annotate(const pfc_ceilings *ceilings, const pfc_suite *suite, pfc_run *run);

#endif
