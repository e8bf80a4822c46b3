/*
 * Fidelity L0: closed-form lower bounds of a problem's cycles on a chip, unit by unit. No schedule
 * and no tiling is faster: L0 <= L1 for every problem, which a test holds on random ones. The share
 * of the ceiling that a kernel reaches says how much its schedule leaves. A program in text may use
 * commands in ways that no tiling has, so its bound is a weaker one.
 *
 * Memory: at least the compulsory bytes (each argument once), and for a GEMM at least the traffic
 * of any tiling in that scratchpad: 2 M N K / sqrt(S) - 2 S elements with S elements on chip.
 * Source: Smith, Lowery, Langou, van de Geijn, "A Tight I/O Lower Bound for Matrix Multiplication",
 * arXiv 1702.02017; the use as a ceiling is that of Timeloop's Orojenesis (ISCA 2024). A channel
 * opens each row of these bytes once or more often and loses its refreshes.
 *
 * Pure functions; thread-safe.
 */
#ifndef PFC_KERNELS_ACCEL_ANALYTIC_CEILING_H
#define PFC_KERNELS_ACCEL_ANALYTIC_CEILING_H

#include "kernels/accel/compiler/compiler.h"

/** The programs that a bound holds for. */
typedef enum pfc_accel_ceiling_scope {
    PFC_ACCEL_TILINGS, /* programs that compute the problem tile by tile, as the compiler's do */
    PFC_ACCEL_PROGRAMS /* all programs */
} pfc_accel_ceiling_scope;

typedef struct pfc_accel_ceiling {
    uint64_t array;    /* cycles if the array alone computed; UINT64_MAX: it cannot */
    uint64_t vector;   /* cycles if the vector unit alone did; for a GEMM its multiply-adds */
    uint64_t compute;  /* both units at once, the work split as suits them best */
    uint64_t tiles;    /* the same of attention's tiles; 0 for other kernels */
    uint64_t products; /* of a GEMM's tiles, from the first command to the last result; else 0 */
    uint64_t first;    /* the same for a single result */
    uint64_t last;     /* from the arrival of the last operand to the last result */
    uint64_t bytes;    /* least traffic with HBM */
    uint64_t distinct; /* bytes of all arguments */
    uint64_t loads;    /* bytes of the arguments that are read */
    uint64_t
        memory; /* cycles from the first command to the last byte of that traffic in HBM: at the
                        peak of HBM, with row misses and refreshes, or at that of all DMA engines */
    uint64_t
        fixed; /* of a transfer of one burst; nothing hides that of the first and of the last */
    uint64_t cycles; /* lower bound of the whole */
} pfc_accel_ceiling;

/** Lower bounds. Modes with ideal memory: of the array alone (their closed form). An empty problem
 *  has 0. The problem's parameters were checked (pfc_accel_compile does). */
pfc_accel_ceiling pfc_accel_ceiling_of(const pfc_accel_problem *problem, const pfc_accel_chip *chip,
                                       pfc_accel_mode mode, pfc_accel_ceiling_scope scope);

#endif
