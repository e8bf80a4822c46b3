/*
 * The tile compiler: a problem and a chip become a command stream.
 *
 * Passes, in their order: `choose` picks tile sizes, by a closed form for the cost and then by the
 * engine itself on the best few; `tile` writes tile operations over buffers, in an order that is
 * right one after the other; `place` gives buffers addresses; `schedule` orders the operations for
 * the units (list scheduling) and picks the unit for products of few rows, which the vector unit
 * computes with the same sums in the same order (for decode, `choose` may fix each unit's share of
 * the tiles instead); `semaphores` adds tokens and waits; `check` finds
 * races. Modes with ideal memory take the whole problem as one tile.
 *
 * Deterministic; thread-safe; a program is the caller's to free.
 */
#ifndef PFC_KERNELS_ACCEL_COMPILER_COMPILER_H
#define PFC_KERNELS_ACCEL_COMPILER_COMPILER_H

#include "core/base/buf.h"
#include "kernels/accel/device/device.h"

#define PFC_ACCEL_MAX_DIM    65536
#define PFC_ACCEL_MAX_PARAMS 6

typedef enum pfc_accel_kernel {
    PFC_ACCEL_GEMM, /* c[m,n] = a[m,k] b[k,n]; params m, n, k */
    /* o = softmax(q k^T / sqrt(d)) v; q, o [h,q,d], k, v [kv,s,d]; params h, s, d, causal, q, kv.
     * The q queries are the last of s (0: all), heads share keys in groups of h / kv (0: none). */
    PFC_ACCEL_ATTENTION,
    PFC_ACCEL_LAYERNORM,     /* y[rows,cols], arguments x, gamma then beta, y; params rows, cols */
    PFC_ACCEL_RMSNORM,       /* x, gamma, y */
    PFC_ACCEL_SOFTMAX,       /* x, y */
    PFC_ACCEL_GEMM_BIAS_ACT, /* c = act(a b + bias[n]); arguments a, b, bias, c; params m, n, k,
                                   act: 0 none, 1 ReLU, 2 GELU (tanh form), 3 SiLU */
    PFC_ACCEL_RESIDUAL_RMSNORM, /* y = x + residual, then its norm: arguments x, residual, gamma,
                                   y [2, rows, cols]; params rows, cols */
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
/** Name of the i-th parameter, or NULL past the last. */
const char *pfc_accel_param_name(pfc_accel_kernel kernel, size_t i);
/** Whether it may be left out, which is 0: causal, q, kv, act. */
bool pfc_accel_param_optional(pfc_accel_kernel kernel, size_t i);

/** Passes in their order. */
typedef enum pfc_accel_pass {
    PFC_ACCEL_PASS_CHOOSE,
    PFC_ACCEL_PASS_TILE,
    PFC_ACCEL_PASS_PLACE,
    PFC_ACCEL_PASS_SCHEDULE,
    PFC_ACCEL_PASS_SEMAPHORES,
    PFC_ACCEL_PASS_CHECK,
} pfc_accel_pass;

/** "choose", ...; NULL past the last. */
const char *pfc_accel_pass_name(size_t pass);
pfc_code pfc_accel_pass_parse(const char *name, pfc_accel_pass *out, pfc_err *err) PFC_MUSTCHECK;

/** Tile sizes of a GEMM and the order of its loops. */
typedef struct pfc_accel_gemm_tiles {
    uint64_t m;
    uint64_t n;
    uint64_t k;
    bool m_outer;   /* rows of tiles in the outer loop; else columns */
    uint64_t group; /* result tiles that pass through k together */
    uint64_t slots; /* buffers an operand */
    bool mixed;     /* each DMA engine loads and stores; else a quarter of them stores */
    bool unfused;   /* sums are stored, and a second pass adds bias and activation; else they are
                       added before the results leave the chip. GEMM_BIAS_ACT only */
} pfc_accel_gemm_tiles;

/** How to compile; zero is the default. */
typedef struct pfc_accel_compile_opts {
    bool ideal_memory; /* as the modes of other simulators: transfers take no time */
    pfc_buf *dump;     /* out: the program after that pass, as text; NULL: not wanted */
    pfc_accel_pass dump_after;
    const pfc_accel_gemm_tiles *gemm_tiles; /* instead of choosing; NULL: choose */
} pfc_accel_compile_opts;

/**
 * PFC_EINVAL for parameters out of range, PFC_EUNAVAIL for a type the operation lacks,
 * PFC_ETOOBIG when a row does not fit into the scratchpad or the stream grows past its limits.
 */
pfc_code pfc_accel_compile(const pfc_accel_problem *problem, const pfc_accel_chip *chip,
                           pfc_accel_mode mode, const pfc_accel_compile_opts *opts,
                           pfc_accel_program **out, pfc_err *err) PFC_MUSTCHECK;

/** All tiles of a GEMM that the chip has room for, cheapest first by the closed form; the caller
 *  frees *out. */
size_t pfc_accel_gemm_tiles_all(const pfc_accel_problem *problem, const pfc_accel_chip *chip,
                                pfc_accel_gemm_tiles **out);

/**
 * The i-th number of the tiles: its name, and *value. "tile_m", "tile_n", "tile_k", "tile_group",
 * "tile_buffers"; "tile_m_outer" and "tile_mixed" are 1 or 0; "tile_unfused" is there where it is
 * 1. NULL past the last.
 */
const char *pfc_accel_tile_number(const pfc_accel_gemm_tiles *t, size_t i, uint64_t *value);
/** Sets the number of that name. PFC_ENOTFOUND when there is none, PFC_EINVAL out of range. */
pfc_code pfc_accel_tile_set(pfc_accel_gemm_tiles *t, const char *name, uint64_t value,
                            pfc_err *err) PFC_MUSTCHECK;
/** The tiles that a program's `choice` says in words; false when it says none. */
bool pfc_accel_choice_tiles(const char *choice, pfc_accel_gemm_tiles *out);

/** PFC_EINVAL naming two commands of a checked program that race: see check.c. */
pfc_code pfc_accel_program_races(const pfc_accel_program *p, const pfc_accel_chip *chip,
                                 pfc_err *err) PFC_MUSTCHECK;

/** Multiply-adds of a problem (attention: of the causal triangle's whole tiles and more is done,
 *  this counts what is needed); 0 for norms. */
uint64_t pfc_accel_problem_macs(const pfc_accel_problem *problem);

#endif
