/*
 * Least cycles of a GEMM's products on the array and the vector unit together, when the operands
 * are there: what no choice of tiles, of their order and of a unit for each of them goes below.
 * Private to kernels/accel/analytic.
 *
 * A tile is a product of m' rows, n' columns and k' of the depth. On the array it takes folds of
 * array_rows of the depth and array_cols of the columns, through which the rows pass; on the vector
 * unit a step for each row, each of the depth and each array of lanes of the columns. Programs in
 * text can do better: they may copy weights to put rows side by side in the lanes, or exchange rows
 * and columns.
 */
#ifndef PFC_KERNELS_ACCEL_ANALYTIC_PRODUCTS_H
#define PFC_KERNELS_ACCEL_ANALYTIC_PRODUCTS_H

#include "kernels/accel/device/device.h"

typedef struct pfc_accel_products {
    uint64_t m, n, k;
    uint64_t passes; /* of a row through a fold */
    uint64_t own;    /* cycles of the vector unit for something else, after the products */
    uint64_t after;  /* of them after the array's last result */
} pfc_accel_products;

/** From the start of the first command to the last result; 0 when there is nothing to multiply. */
uint64_t pfc_accel_products_cycles(const pfc_accel_products *p, const pfc_accel_chip *chip);

#endif
