/*
 * Least cycles of the two products of attention and of the softmax between them, on the array and
 * the vector unit together, when the operands are there: what no choice of tiles, of their order
 * and of a unit for each of them goes below. Private to kernels/accel/analytic.
 *
 * A row of queries passes whole folds of keys, however few of a fold's keys it sees. The vector
 * unit has no such waste, but fills its lanes only with as many columns as all heads of keys have
 * side by side: a row's keys of all heads for the scores, the columns of values for their sums. A
 * row's scores thus take d steps for all heads, however few its keys are, and its sums a step for
 * each key. Programs that hold several copies of keys side by side may be faster; tiles have one.
 */
#ifndef PFC_KERNELS_ACCEL_ANALYTIC_PAIRS_H
#define PFC_KERNELS_ACCEL_ANALYTIC_PAIRS_H

#include "kernels/accel/device/device.h"

typedef struct pfc_accel_pairs {
    uint64_t heads;   /* of queries */
    uint64_t groups;  /* heads of keys */
    uint64_t keys;    /* a head */
    uint64_t queries; /* a head, the last ones of the keys */
    uint64_t d;
    bool causal;
    uint64_t passes; /* of a row through a fold */
    uint64_t own;    /* cycles of the vector unit for the softmax */
    uint64_t depth;  /* cycles from the array's last fold to its last result */
} pfc_accel_pairs;

/** Cycles in which both units are done, the array with its depth. No number but `depth` is 0. */
uint64_t pfc_accel_pairs_cycles(const pfc_accel_pairs *p, const pfc_accel_chip *chip);

#endif
