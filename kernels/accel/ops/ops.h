/*
 * A problem on a chip from end to end, through the driver: seeded input, copies, launch, result,
 * and the comparison of that result with a reference in double precision.
 *
 * One thread a case; several cases in several threads are fine.
 */
#ifndef PFC_KERNELS_ACCEL_OPS_OPS_H
#define PFC_KERNELS_ACCEL_OPS_OPS_H

#include "kernels/accel/compiler/compiler.h"
#include "kernels/accel/driver/region.h"

/** Problems with more multiply-adds or elements run timing only unless asked otherwise. */
#define PFC_ACCEL_MAX_AUTO_MACS       (1ull << 31)
#define PFC_ACCEL_MAX_AUTO_ELEMS      (1ull << 27)
#define PFC_ACCEL_MAX_AUTO_CHIP_BYTES (1ull << 28) /* scratchpad and accumulators of a program */

/** How to run; zero is the default. */
typedef struct pfc_accel_case_opts {
    bool timing_only;
    bool ideal_memory;
    uint64_t seed;                          /* of the input */
    const pfc_accel_gemm_tiles *gemm_tiles; /* schedule of a GEMM; NULL: the compiler's choice */
} pfc_accel_case_opts;

/** Result of one run. */
typedef struct pfc_accel_result {
    uint64_t cycles;
    uint64_t ceiling_cycles; /* no schedule is faster: analytic/ceiling.h; 0: no reference */
    char choice[160];        /* of the compiler: tiles, order, buffers */
    double time_ns;          /* cycles at the chip's clock */
    double utilization; /* useful multiply-adds over array cells times cycles, 0..1; norms: vector
                             lanes instead */
    bool functional;    /* results were computed */
    char digest[65];    /* SHA-256 over result and counters, hexadecimal */
    char stream_digest[PFC_ACCEL_DIGEST_SIZE]; /* of the command stream */
    uint64_t ticks; /* cycles, the copies (where results are computed) and the launch, one after
                       the other: what a region takes where the host takes no time */
    pfc_accel_counters counters;
} pfc_accel_result;

typedef struct pfc_accel_case pfc_accel_case;

/**
 * Opens a device, compiles, fills and copies the input: floats are uniform in [-1, 1) (gamma and
 * beta, too), bf16 rounded from them, int8 uniform in -128..127.
 */
pfc_code pfc_accel_case_new(pfc_accel_case **out, const pfc_accel_problem *problem,
                            const pfc_accel_chip *chip, pfc_accel_mode mode,
                            const pfc_accel_case_opts *opts, pfc_err *err) PFC_MUSTCHECK;
/**
 * The same for a program that is given; its last argument is the result. The program is taken over,
 * also on failure. `reference` is what pfc_accel_case_check compares with and ceiling_cycles bounds
 * (NULL: no such check, ceiling 0); PFC_EINVAL when its arguments have other sizes. Programs that
 * do far more work than the reference, or keep over 256 MiB on the chip, run timing only.
 */
pfc_code pfc_accel_case_new_program(pfc_accel_case **out, pfc_accel_program *program,
                                    const pfc_accel_problem *reference, const pfc_accel_chip *chip,
                                    const pfc_accel_case_opts *opts, pfc_err *err) PFC_MUSTCHECK;
void pfc_accel_case_free(pfc_accel_case *c);
/** Launches once; may be called again and gives the same. */
pfc_code pfc_accel_case_run(pfc_accel_case *c, pfc_accel_result *out, pfc_err *err) PFC_MUSTCHECK;
/** The same with the values by queue, channel and bank, and the histograms (NULL: without), and
 *  with a trace (NULL: without). */
pfc_code pfc_accel_case_run_detail(pfc_accel_case *c, pfc_accel_result *out,
                                   pfc_accel_detail *detail, const pfc_accel_trace_opts *trace,
                                   pfc_err *err) PFC_MUSTCHECK;
/** What-if runs of the kernel. */
pfc_code pfc_accel_case_whatif(pfc_accel_case *c, pfc_accel_whatif *out,
                               pfc_err *err) PFC_MUSTCHECK;
/** The case as a region: see driver/region.h. Time alone, whatever the case's options. Its program
 *  runs on a device of its own, so the case may be of a problem that runs timing only. */
pfc_code pfc_accel_case_region(const pfc_accel_case *c, const pfc_accel_region_opts *opts,
                               pfc_accel_region *out, pfc_err *err) PFC_MUSTCHECK;
/** Compares the result of the last run with the reference: every element, or (past 2^26
 *  multiply-adds) whole rows picked by the seed. PFC_EBROKEN names the worst place. int8 is exact.
 *  PFC_EUNAVAIL when there is no reference. */
pfc_code pfc_accel_case_check(const pfc_accel_case *c, pfc_err *err) PFC_MUSTCHECK;
/** Arguments as they are on the host; for tests. Floats are in the problem's type. */
const void *pfc_accel_case_arg(const pfc_accel_case *c, size_t i, uint64_t *bytes);
const pfc_accel_program *pfc_accel_case_program(const pfc_accel_case *c);
const pfc_accel_chip *pfc_accel_case_chip(const pfc_accel_case *c);

#endif
