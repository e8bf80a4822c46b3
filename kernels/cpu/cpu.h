/*
 * Instruction sets that this CPU and its operating system support. Detected once, on first use;
 * thread-safe.
 */
#ifndef PFC_KERNELS_CPU_CPU_H
#define PFC_KERNELS_CPU_CPU_H

#include "core/base/base.h"

/** Instruction set that a kernel variant requires; each level means all the instructions named
 * beside it. */
typedef enum pfc_cpu_level {
    PFC_CPU_ANY,    /* plain C */
    PFC_CPU_AVX2,   /* AVX2 and FMA, with YMM state saved by the system */
    PFC_CPU_AVX512, /* AVX-512 F, with opmask and ZMM state saved by the system */
} pfc_cpu_level;

/**
 * True when instructions of `level` may be executed here. The CPU's own bits are not enough: the
 * system must also save the wide registers (XCR0, read with xgetbv), or a context switch spoils
 * them.
 *
 * reason   out, may be NULL: a static sentence when the answer is false, "" when it is true
 */
bool pfc_cpu_can(pfc_cpu_level level, const char **reason);

#endif
