/*
 * For the authors of operations, private to kernels/cpu: the implementation of a pfc_kernel_op.
 *
 * An operation defines the buffers of a problem (plan), the call of each variant (run), and the
 * correct result (verify). Allocation, input, guards, limits and labels are done once, in case.c.
 */
#ifndef PFC_KERNELS_CPU_OP_H
#define PFC_KERNELS_CPU_OP_H

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/kernel.h"

typedef enum pfc_kernel_role {
    PFC_KERNEL_IN,   /* filled from the seed; a run must not change it */
    PFC_KERNEL_OUT,  /* spoiled with NaN before a verification */
    PFC_KERNEL_WORK, /* scratch, zero at the start */
} pfc_kernel_role;

/** A buffer of floats: 64-byte aligned, guard bytes right before and after it. */
typedef struct pfc_kernel_buffer {
    pfc_kernel_role role;
    size_t len; /* floats */
    float low;  /* inputs are uniform in [low, high) */
    float high;
} pfc_kernel_buffer;

typedef struct pfc_kernel_plan {
    pfc_kernel_buffer buffers[PFC_KERNEL_MAX_BUFFERS];
    size_t buffers_len;
    bool overflow; /* a size did not fit into size_t; set by pfc_kernel_plan_add */
    double flops;
    double bytes;
} pfc_kernel_plan;

/** Adds a buffer of rows * cols floats; remembers an overflow. */
void pfc_kernel_plan_add(pfc_kernel_plan *plan, pfc_kernel_role role, size_t rows, size_t cols,
                         float low, float high);

/** values: the parameters in their order; buf: the buffers in the plan's order. */
typedef void (*pfc_kernel_run_fn)(const int64_t *values, float *const *buf);

typedef struct pfc_kernel_impl {
    const char *backend;
    pfc_cpu_level needs;
    pfc_kernel_run_fn run;
} pfc_kernel_impl;

struct pfc_kernel_op {
    const char *name;
    const char *dtype;
    const char *headline;
    pfc_kernel_rate rate;
    const pfc_kernel_param *params;
    size_t params_len;
    const pfc_kernel_impl *impls;
    size_t impls_len;
    void (*plan)(const int64_t *values, pfc_kernel_plan *plan);
    void (*verify)(const int64_t *values, float *const *buf, pfc_kernel_check *check);
};

/** Counts one comparison; keeps it when it is the worst so far. tolerance >= 0. */
void pfc_kernel_compare(pfc_kernel_check *check, size_t row, size_t col, double got, double want,
                        double tolerance);

/**
 * Factor on u * sum|terms| that bounds the rounding error of a sum of `terms` products in any
 * order: min(n, 8 sqrt(n)) + 2, with u = 2^-24. n u is the certain bound; 8 sqrt(n) u holds with a
 * probability of failure below 1e-13 when roundings are independent, and is the one that can tell a
 * lost term from rounding in long sums.
 * Source: Higham & Mary, SIAM J. Sci. Comput. 41(5), 2019, theorem 3.1.
 */
double pfc_kernel_sum_tolerance(size_t terms);

extern const pfc_kernel_op pfc_kernel_op_gemm_f32;
extern const pfc_kernel_op pfc_kernel_op_attention_f32;
extern const pfc_kernel_op pfc_kernel_op_layernorm_f32;
extern const pfc_kernel_op pfc_kernel_op_rmsnorm_f32;
extern const pfc_kernel_op pfc_kernel_op_softmax_f32;

#endif
