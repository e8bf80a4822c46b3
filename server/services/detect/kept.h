/*
 * Histories that the next point of their series needs again: of series with an open change, or a
 * new one. A history is kept between two judgements, in memory alone, and is used only while the
 * stored state of its series says that nothing but new points came since. Thread-safe.
 */
#ifndef PFC_SERVER_SERVICES_DETECT_KEPT_H
#define PFC_SERVER_SERVICES_DETECT_KEPT_H

#include "server/services/detect/detect.h"

#define PFC_KEPT_BYTES (32u << 20) /* of all; the oldest go first */

typedef struct pfc_kept pfc_kept;

/** Copies a history as of a judgement: the points from number `from` of h on. */
pfc_kept *pfc_kept_new(int64_t project_id, int64_t series_id, int64_t generation,
                       const pfc_history *h, size_t from);
void pfc_kept_free(pfc_kept *kept);

/** Keeps it for pfc_kept_take; takes kept. */
void pfc_kept_put(pfc_kept *kept);
/** The history of a series as of that judgement, whose newest point has that position; the caller's
 *  to free. NULL: there is none. */
pfc_kept *pfc_kept_take(int64_t project_id, int64_t series_id, int64_t generation,
                        int64_t position);

/** Adds points, in order: those of runs that it does not hold yet. False: one of them belongs
 *  before its newest, or not `expected` of the runs (sorted) added one; then it is of no use. */
bool pfc_kept_add(pfc_kept *kept, const pfc_history *points, const int64_t *runs, size_t runs_len,
                  size_t expected) PFC_MUSTCHECK;
/** The history; valid until the next call with `kept`. */
const pfc_history *pfc_kept_history(const pfc_kept *kept);
/** As of another judgement, from its point number `from` on. */
void pfc_kept_renew(pfc_kept *kept, int64_t generation, size_t from);

#endif
