/*
 * Pairs in run documents: which launches of two runs were interleaved, and in which order.
 *
 * Both documents of a session carry in each measurement's `extra`: `pair_session` (an id that they
 * share), `pair_side` ("a" or "b") and `pair_order` (a letter a turn, of both sides). A measurement
 * has one block a turn of its side, so the k-th letter of the order is the place of a block in the
 * session.
 */
#ifndef PFC_CORE_COMPARISON_DOCUMENT_PAIRS_H
#define PFC_CORE_COMPARISON_DOCUMENT_PAIRS_H

#include "core/blocks/pair_rounds.h"
#include "core/wire/wire.h"

/** side: 'a' or 'b'. */
void pfc_document_pairs_mark(pfc_run *run, char side, const char *session, const char *order);
/** The canary of a session is read once around it: both documents have the same, and say so. */
void pfc_document_pairs_mark_canary(pfc_run *const *runs, size_t len, const char *session);
/** Both are the canary of one session: there is nothing to compare. */
bool pfc_document_pairs_same_canary(const pfc_measurement *a, const pfc_measurement *b);
/** The order, when both were taken in one session, `a` and `b` are its two sides, and no block is
 *  missing; else NULL. *swapped: `a` is the session's side b. */
const char *pfc_document_pairs_order(const pfc_measurement *a, const pfc_measurement *b,
                                     bool *swapped);
/** Judges b against a by the session's rounds; the values are the blocks' medians. */
pfc_code pfc_document_pairs_judge_sides(const double *a, size_t na, const double *b, size_t nb,
                                        const char *order, bool swapped, double margin,
                                        pfc_interleaved_result *out, pfc_err *err) PFC_MUSTCHECK;

#endif
