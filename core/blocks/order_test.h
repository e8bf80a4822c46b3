/*
 * Steps among many builds, tested by the random order within blocks.
 *
 * If all builds of a stretch of history are equally fast, it does not matter which of them came
 * first in a block: given the values in the order of time, every order of these builds is equally
 * likely, whatever the machine does. So money is put on which visits were of builds after the step:
 * the stake of a round is the likelihood of that choice among all choices of as many visits, under
 * a model of the machine (its level stays, creeps or jumps; noise has heavy tails). The model
 * decides how fast the wealth grows, not whether the test is valid. With four builds on each side a
 * round brings a factor of 70 at most, where the test of two builds (pair_order_test.h) has one
 * coin. It says that something changed within the stretch; the fit (blocks.h) says where.
 *
 * Sources: Ville 1939; Ramdas et al., Statist. Sci. 38, 2023 (bets as tests); Rabiner, Proc. IEEE
 * 77, 1989 (forward and backward filter); the exchangeability is the design's (random block,
 * mirrored second).
 */
#ifndef PFC_CORE_BLOCKS_ORDER_TEST_H
#define PFC_CORE_BLOCKS_ORDER_TEST_H

#include "core/blocks/blocks_priv.h"

/** Rounds of one series, weighed. One thread at a time. */
typedef struct pfc_orders pfc_orders;

pfc_orders *pfc_orders_new(void);
void pfc_orders_free(pfc_orders *orders);

/** Takes in the rounds of spots[0..n) (in the order of time) that both blocks were measured of and
 * that are not taken in yet. A round whose second block has the builds of the first in reverse is
 * one order; else the two blocks are two orders. */
void pfc_orders_take(pfc_orders *orders, const pfc_spot *spots, size_t n);

/** From values of builds from..to, shift is subtracted; before pfc_orders_take. */
void pfc_orders_shift(pfc_orders *orders, uint32_t from, uint32_t to, double shift);

/**
 * low, high  the stretch: builds low..high that have visits, low < split <= high
 * split      first build after the step
 *
 * Returns the p-value of "builds low..high are equally fast", valid at every look for one split
 * that is fixed beforehand; at least PFC_P_MIN. Several splits are several tests. About 10^6
 * operations a round; rounds after the 512th are left out.
 */
double pfc_orders_p(pfc_orders *orders, uint32_t low, uint32_t high, uint32_t split);

#endif
