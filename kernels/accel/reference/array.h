/*
 * Fidelity L2: a systolic array, ticked cycle by cycle. Operands enter at its edges, move one cell
 * a tick, and each cell multiplies what it holds. Nothing here knows a closed form: ticks are
 * counted until the last cell is done. It is slow, and exists to check the tensor unit's times
 * (L1) and results against a second way to get them.
 *
 * Folds and padding are SCALE-Sim's: a fold takes the whole array, cells without work get zeros and
 * are waited for.
 *
 * scalesim-ws   weights shift in (R ticks), then rows of A pass: sums move down
 * scalesim-is   the same with A held and B passing
 * scalesim-os   A moves right, B moves down, sums stay; each cell writes its own sum when it has
 *               all K products, as SCALE-Sim has it: shifting sums out through the columns would
 *               take R more a fold
 * pipelined-ws  each cell has a second weight: the next fold's arrive on a registered bus with the
 *               row's number while this fold's rows pass, and take over cell by cell as the first
 *               row of the next fold arrives. (A second weight that shifts in as the first does
 *               would be overwritten before lower rows took it over: folds would start
 *               max(M, 2R - 1) apart, not max(M, R).) Several rows enter in a tick over as many
 *               buses.
 *
 * Pure functions; thread-safe.
 */
#ifndef PFC_KERNELS_ACCEL_REFERENCE_ARRAY_H
#define PFC_KERNELS_ACCEL_REFERENCE_ARRAY_H

#include "kernels/accel/device/device.h"

#define PFC_ACCEL_TICKED_MAX 32 /* rows and columns of an array */

/** C[m,n] = A[m,k] B[k,n] on an array of rows x cols cells; matrices are row-major. */
typedef struct pfc_accel_ticked {
    pfc_accel_mode mode; /* not onnxim-ws: it is an issue rule, see pfc_accel_ticked_issue */
    uint32_t rows, cols;
    uint32_t load_rows; /* pipelined-ws: rows of weights that enter in a tick; 0: one */
    uint32_t m, n, k;
    const int8_t *a, *b;
    int32_t *c;    /* out; sums wrap at 2^32 */
    uint64_t last; /* out: number of the last tick, from zero: what SCALE-Sim prints; 0 if empty */
    uint64_t products; /* out: multiplications by cells with operands, padding included */
} pfc_accel_ticked;

/** Runs the array. PFC_EINVAL for a mode or an array that it has not; PFC_EBUG when an operand
 *  would be lost in it. */
pfc_code pfc_accel_ticked_run(pfc_accel_ticked *t, pfc_err *err) PFC_MUSTCHECK;

/**
 * ONNXim's weight-stationary core, ticked: `folds` products of `stream` rows, each with weights of
 * its own, on an array of rows x cols. A product starts when its weights are in (one row a tick
 * through the buffer, then through the array; hidden behind the product before) and the row port
 * is free (`stream` ticks, at least 4); its result is out rows + cols - 2 ticks after its last row.
 * Returns the tick in which the last result is out; 0 without folds. No data moves. Source:
 * PSAL-POSTECH/ONNXim, SystolicWS.cc (MIT); arXiv 2406.08051.
 */
uint64_t pfc_accel_ticked_issue(uint64_t rows, uint64_t cols, uint64_t folds, uint64_t stream);

/** c = a b by three loops, in int32, wrapping: what every result is compared with. */
void pfc_accel_plain_gemm(int32_t *c, const int8_t *a, const int8_t *b, size_t m, size_t n,
                          size_t k);

#endif
