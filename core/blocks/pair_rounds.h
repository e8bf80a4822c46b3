/*
 * Two sides measured in turns, judged by the ratios within the turns.
 *
 * A round is four turns, a b b a or b a a b: the mean of its two log ratios is free of everything
 * that changes linearly during the round (a machine that warms up, a neighbour that grows),
 * whatever its size, because each side's turns have the same mean place. So the rounds are what is
 * compared, by three always-valid tests that share alpha: the two paired ones of sequential.h (a
 * third and a sixth), and the one of pair_order_test.h (a half), which follows a machine that
 * changes its speed. They may be looked at after every round and stopped as soon as it is decided.
 * Values of turns that do not fill a round are not used.
 */
#ifndef PFC_CORE_BLOCKS_PAIR_ROUNDS_H
#define PFC_CORE_BLOCKS_PAIR_ROUNDS_H

#include "core/blocks/pair_order_test.h"
#include "core/stats/sequential.h"

#define PFC_INTERLEAVED_ROUND PFC_ROUND_VISITS /* turns: two of each side */

typedef struct pfc_interleaved_result {
    pfc_compare_result cmp; /* valid at every look; noise_rel: of one round's ratio */
    size_t rounds;
    size_t more; /* rounds that are likely to be needed still; 0: it is decided */
} pfc_interleaved_result;

/**
 * a, b    values of the sides' turns, in the order they were taken, > 0 and finite
 * order   one letter a turn, 'a' or 'b', as many of each as there are values; else PFC_EINVAL
 * opts    alpha, margin, floor_rel, min_values as in sequential.h; `paired` and `method` are
 * ignored
 *
 * Fewer than min_values rounds: inconclusive. PFC_EINVAL also when a round of the order has not two
 * turns of each side. Thread-safe.
 */
pfc_code pfc_interleaved_compare(const double *a, size_t na, const double *b, size_t nb,
                                 const char *order, const pfc_seq_opts *opts,
                                 pfc_interleaved_result *out, pfc_err *err) PFC_MUSTCHECK;

/** The same for rounds in the order they were measured, their values finite. */
pfc_code pfc_rounds_judge(const pfc_round *rounds, size_t n, const pfc_seq_opts *opts,
                          pfc_interleaved_result *out, pfc_err *err) PFC_MUSTCHECK;
/** Its p alone: a twentieth of the work. */
double pfc_rounds_p(const pfc_round *rounds, size_t n, const pfc_seq_opts *opts);

#endif
