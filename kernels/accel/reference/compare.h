/*
 * One random problem at three fidelities: the closed form and the engine (L1), the ticked array
 * (L2), and three loops for the result. Used by the suite's test and by perfci-bench-accel.
 */
#ifndef PFC_KERNELS_ACCEL_REFERENCE_COMPARE_H
#define PFC_KERNELS_ACCEL_REFERENCE_COMPARE_H

#include "core/base/rng.h"
#include "kernels/accel/reference/array.h"

/** An array, a problem and its int8 operands; free with pfc_accel_compare_free. */
typedef struct pfc_accel_compare {
    uint32_t rows, cols, load_rows, m, n, k;
    int8_t *a, *b;
} pfc_accel_compare;

/** Draws an array of at most 32 x 32 cells, half of them with ports that load several rows of
 *  weights at once, and sides of at most `most`, small
 *  ones as often as large ones. */
void pfc_accel_compare_draw(pfc_accel_compare *p, pfc_rng *rng, uint32_t most);
void pfc_accel_compare_free(pfc_accel_compare *p);
/** The engine alone: C and cycles. Memory takes no time. */
pfc_code pfc_accel_compare_engine(const pfc_accel_compare *p, pfc_accel_mode mode, int32_t *c,
                                  uint64_t *cycles, pfc_err *err) PFC_MUSTCHECK;
/** Runs it in a mode with cells (not onnxim-ws). PFC_EBROKEN says which two of the three differ,
 *  and where. `ticks` adds up what the ticked array took. */
pfc_code pfc_accel_compare_run(const pfc_accel_compare *p, pfc_accel_mode mode, uint64_t *ticks,
                               pfc_err *err) PFC_MUSTCHECK;

#endif
