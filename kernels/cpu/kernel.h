/*
 * The CPU kernels under measurement, behind one table, so that the harness refers to no operation
 * by name.
 *
 * An operation (gemm, attention, ...; one data type) has named integer parameters and variants, one
 * for each instruction set. A case is one problem of that operation: its parameters, its buffers,
 * its seeded input. A variant is run on a case as often as the measurement wants, and every run
 * does the same work on the same input.
 *
 *   const pfc_kernel_op *op = NULL;
 *   pfc_kernel_case *problem = NULL;
 *   const pfc_kernel_arg args[] = { { "m", 512 }, { "n", 512 }, { "k", 512 } };
 *   size_t variant = 0;
 *   pfc_kernel_find("gemm", "f32", &op, err);
 *   pfc_kernel_variant_find(op, "cpu-avx2", &variant, err);
 *   pfc_kernel_case_new(&problem, op, args, 3, seed, err);
 *   pfc_kernel_verify(problem, variant, &check, err);      a wrong result yields no number
 *   pfc_kernel_run(problem, variant);                      as often as wanted, under the clock
 *   rate = pfc_kernel_flops(problem) / seconds;
 *   pfc_kernel_case_free(problem);
 *
 * Operations are static data, safe to read from every thread. A case belongs to one thread at a
 * time; different cases are independent.
 */
#ifndef PFC_KERNELS_CPU_KERNEL_H
#define PFC_KERNELS_CPU_KERNEL_H

#include "core/base/err.h"

#define PFC_KERNEL_MAX_PARAMS  8
#define PFC_KERNEL_MAX_BUFFERS 8
#define PFC_KERNEL_MAX_BYTES   ((size_t)2 << 30) /* all buffers of a case, guards included */
#define PFC_KERNEL_LABEL_MAX   160               /* "gemm/f32/m512n512k512" with its NUL */

typedef struct pfc_kernel_op pfc_kernel_op;
typedef struct pfc_kernel_case pfc_kernel_case;

/** A parameter of an operation: an integer in [min, max]. */
typedef struct pfc_kernel_param {
    const char *name; /* e.g. "m" */
    const char *doc;  /* description, one phrase */
    int64_t min;      /* smallest value allowed; may be 0 */
    int64_t max;      /* largest value allowed; the memory limit may refuse less */
    int64_t fallback; /* value when the caller gives none */
    bool quiet;       /* left out of labels while it has its fallback value */
} pfc_kernel_param;

/** A value given by the caller for the parameter `name`. */
typedef struct pfc_kernel_arg {
    const char *name;
    int64_t value;
} pfc_kernel_arg;

/** A variant, and whether this machine can run it. */
typedef struct pfc_kernel_variant {
    const char *backend; /* "cpu-scalar", "cpu-avx2", "cpu-avx512" */
    bool runnable;       /* this CPU and system can execute it */
    const char *reason;  /* why not, as a phrase; "" when runnable */
} pfc_kernel_variant;

/** Which rate people quote for an operation. */
typedef enum pfc_kernel_rate {
    PFC_KERNEL_TFLOPS, /* flops / time / 1e12 */
    PFC_KERNEL_GBPS,   /* bytes / time / 1e9 */
} pfc_kernel_rate;

/** Result of a verification. */
typedef struct pfc_kernel_check {
    size_t checked; /* values compared with the double-precision reference */
    double
        worst_ratio; /* largest |got - want| / tolerance; > 1 means wrong; NaN counts as infinite */
    double worst_error; /* |got - want| at that place */
    double tolerance;   /* allowed there */
    double got;         /* the kernel's value there */
    double want;        /* the reference's value there */
    size_t row;         /* where it is in the output: row */
    size_t col;         /* and column; of a row sum: the number of columns */
} pfc_kernel_check;

/** How many operations there are, and the i-th, i < count; the order is stable. */
size_t pfc_kernel_count(void);
const pfc_kernel_op *pfc_kernel_at(size_t i);

/** The operation `name` of data type `dtype`. PFC_ENOTFOUND names those that exist. */
pfc_code pfc_kernel_find(const char *name, const char *dtype, const pfc_kernel_op **out,
                         pfc_err *err) PFC_MUSTCHECK;

/** "gemm", "attention", "layernorm", "rmsnorm", "softmax". */
const char *pfc_kernel_name(const pfc_kernel_op *op);
/** "f32". */
const char *pfc_kernel_dtype(const pfc_kernel_op *op);
/** The headline metric it counts for: "gemm_tflops", "attention_tflops", "norm_gbps". */
const char *pfc_kernel_headline(const pfc_kernel_op *op);
/** The rate that metric is. */
pfc_kernel_rate pfc_kernel_rate_of(const pfc_kernel_op *op);
/** Number of parameters (at most PFC_KERNEL_MAX_PARAMS); *out is their static array. */
size_t pfc_kernel_params(const pfc_kernel_op *op, const pfc_kernel_param **out);

/** Number of variants, widest instruction set first, the scalar reference last. */
size_t pfc_kernel_variants(const pfc_kernel_op *op);
/** Variant i < pfc_kernel_variants(op), and whether this machine can run it. */
pfc_kernel_variant pfc_kernel_variant_at(const pfc_kernel_op *op, size_t i);
/**
 * The variant with this backend name. PFC_ENOTFOUND names those that exist; PFC_EUNAVAIL when this
 * machine cannot execute it, with the reason.
 */
pfc_code pfc_kernel_variant_find(const pfc_kernel_op *op, const char *backend, size_t *out,
                                 pfc_err *err) PFC_MUSTCHECK;

/**
 * A problem: allocates every buffer the variants need, workspaces included, and fills the inputs
 * from `seed`. Same operation, arguments and seed: same bytes, on every machine.
 *
 * args, len   parameters by name, in any order; those not named take their fallback
 *
 * Returns PFC_EINVAL for an unknown or repeated name or a value out of range (err->field is the
 * parameter's name), PFC_ETOOBIG when the buffers would pass PFC_KERNEL_MAX_BYTES, PFC_EUNAVAIL
 * when the system has not that much memory.
 */
pfc_code pfc_kernel_case_new(pfc_kernel_case **out, const pfc_kernel_op *op,
                             const pfc_kernel_arg *args, size_t len, uint64_t seed,
                             pfc_err *err) PFC_MUSTCHECK;
void pfc_kernel_case_free(pfc_kernel_case *problem);

/** "gemm/f32/m512n512k512": operation, type, parameters in their order. Lives as long as the case.
 */
const char *pfc_kernel_label(const pfc_kernel_case *problem);
/** The value of a parameter; `name` must be one of the operation's. */
int64_t pfc_kernel_value(const pfc_kernel_case *problem, const char *name);
/** Floating-point operations of one run, by the textbook count (2mnk for a GEMM). */
double pfc_kernel_flops(const pfc_kernel_case *problem);
/** Bytes that one run must read and write at least once: inputs plus outputs. */
double pfc_kernel_bytes(const pfc_kernel_case *problem);

/** One run, on the caller's thread. The variant must be runnable. No allocation, no system call. */
void pfc_kernel_run(const pfc_kernel_case *problem, size_t variant);

/**
 * Fills the output with NaN, runs the variant once and compares the output with a
 * double-precision reference; also checks the guard bytes around every buffer, and that the
 * inputs are unchanged. Tolerances come from the length of the sums (see each operation's header).
 *
 * check   out, may be NULL; filled also when the result is wrong
 *
 * Returns PFC_EBROKEN with position, value and expected value when the result is wrong,
 * PFC_EUNAVAIL when the variant cannot run here.
 */
pfc_code pfc_kernel_verify(pfc_kernel_case *problem, size_t variant, pfc_kernel_check *check,
                           pfc_err *err) PFC_MUSTCHECK;

#endif
