/*
 * Two builds in rounds of four visits, compared by the order they were measured in, on a machine
 * that changes its speed.
 *
 * If both builds are equally fast, swapping their names in a round changes nothing: given the four
 * values in the order of time, which build began is a fair coin, whatever the machine does. So
 * money is put on the coin. The stake is the ratio of two likelihoods, of the values with the names
 * as they are and with the names swapped, under a model of the machine: its level stays or jumps,
 * often back to a level where it was before; noise has heavy tails; levels are followed over all
 * rounds by a filter on a grid. The model decides how fast the wealth grows, not whether the test
 * is valid.
 *
 * On an even machine with some outliers it needs about as many rounds as the tests of sequential.h.
 * With states of 15 visits it needs about two thirds, with shorter ones fewer: a state that changes
 * within a round spoils the round's difference, but not the filter. A round brings a factor of 2 at
 * most, for its order is one coin.
 *
 * Sources: Ville 1939; Ramdas et al., Statist. Sci. 38, 2023 (bets as tests); Rabiner, Proc. IEEE
 * 77, 1989 (filter); the exchangeability within rounds is the design's (random first block,
 * mirrored second).
 */
#ifndef PFC_CORE_BLOCKS_PAIR_ORDER_TEST_H
#define PFC_CORE_BLOCKS_PAIR_ORDER_TEST_H

#include "core/base/base.h"

#define PFC_ROUND_VISITS 4

/** One round in the order of time: two visits of each build. */
typedef struct pfc_round {
    double y[PFC_ROUND_VISITS];     /* logarithms of the values */
    bool to[PFC_ROUND_VISITS];      /* of the second build */
    uint32_t gap[PFC_ROUND_VISITS]; /* visits since the one before, of any build; 1: the next; 0:
                                       unknown */
} pfc_round;

/**
 * rounds, n  in the order they were measured; any n, 0 gives 1
 * shift      logarithm of the ratio of second to first under the hypothesis
 *
 * Returns its p-value, valid at every n and never growing with n; at least PFC_P_MIN. Thread-safe.
 * O(n) with about 10^5 operations a round; rounds after the 512th are left out.
 */
double pfc_oriented_p(const pfc_round *rounds, size_t n, double shift);

#endif
