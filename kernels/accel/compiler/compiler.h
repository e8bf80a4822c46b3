/*
 * The tile compiler: a problem and a chip become a command stream.
 *
 * Tiles are chosen by a small search over sizes that fit scratchpad and accumulators, with a cost
 * of max(array time, HBM time) plus what the first load and the last store expose; every operand
 * is double-buffered (norms: triple, in place), tiles that are still resident are not loaded again,
 * and tokens carry the dependences. Modes with ideal memory take the whole problem as one tile.
 *
 * Deterministic; thread-safe; a program is the caller's to free.
 */
#ifndef PFC_KERNELS_ACCEL_COMPILER_COMPILER_H
#define PFC_KERNELS_ACCEL_COMPILER_COMPILER_H

#include "kernels/accel/device/device.h"

#define PFC_ACCEL_MAX_DIM    65536
#define PFC_ACCEL_MAX_PARAMS 4

typedef enum pfc_accel_kernel {
    PFC_ACCEL_GEMM,      /* c[m,n] = a[m,k] b[k,n]; params m, n, k */
    PFC_ACCEL_ATTENTION, /* o = softmax(q k^T / sqrt(d)) v, all [h,s,d]; params h, s, d, causal */
    PFC_ACCEL_LAYERNORM, /* y[rows,cols], arguments x, gamma then beta, y; params rows, cols */
    PFC_ACCEL_RMSNORM,   /* x, gamma, y */
    PFC_ACCEL_SOFTMAX,   /* x, y */
} pfc_accel_kernel;

/** The operation and its shape. int8 is for GEMM only (its result is int32). */
typedef struct pfc_accel_problem {
    pfc_accel_kernel kernel;
    pfc_accel_dtype dtype;
    int64_t p[PFC_ACCEL_MAX_PARAMS]; /* in the order of pfc_accel_param_name; 0..65536 each */
} pfc_accel_problem;

/** "gemm", ...; NULL past the last. */
const char *pfc_accel_kernel_name(size_t kernel);
pfc_code pfc_accel_kernel_parse(const char *name, pfc_accel_kernel *out,
                                pfc_err *err) PFC_MUSTCHECK;
/** Name of the i-th parameter, or NULL past the last. "causal" is 0 or 1 and may be left out. */
const char *pfc_accel_param_name(pfc_accel_kernel kernel, size_t i);

/** How to compile; zero is the default. */
typedef struct pfc_accel_compile_opts {
    bool ideal_memory; /* as the modes of other simulators: transfers take no time */
} pfc_accel_compile_opts;

/**
 * PFC_EINVAL for parameters out of range, PFC_EUNAVAIL for a type the operation lacks,
 * PFC_ETOOBIG when a row does not fit into the scratchpad or the stream grows past its limits.
 */
pfc_code pfc_accel_compile(const pfc_accel_problem *problem, const pfc_accel_chip *chip,
                           pfc_accel_mode mode, const pfc_accel_compile_opts *opts,
                           pfc_accel_program **out, pfc_err *err) PFC_MUSTCHECK;

/** Multiply-adds of a problem (attention: of the causal triangle's whole tiles and more is done,
 *  this counts what is needed); 0 for norms. */
uint64_t pfc_accel_problem_macs(const pfc_accel_problem *problem);

#endif
