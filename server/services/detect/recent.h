/*
 * Histories that the next point of their series needs again: of series with an open change, or a
 * new one. A history is kept between two judgements, in memory alone, and is used only while the
 * stored state of its series says that nothing but new points came since. Thread-safe.
 */
#ifndef PFC_SERVER_SERVICES_DETECT_RECENT_H
#define PFC_SERVER_SERVICES_DETECT_RECENT_H

#include "server/services/detect/detect.h"

#define PFC_RECENT_BYTES (32u << 20) /* of all; the oldest go first */

typedef struct pfc_recent pfc_recent;

/** Copies a history as of a judgement: the points from number `from` of h on. */
pfc_recent *pfc_recent_new(int64_t project_id, int64_t series_id, int64_t generation,
                           const pfc_history *h, size_t from);
void pfc_recent_free(pfc_recent *kept);

/** Keeps it for pfc_recent_take; takes kept. */
void pfc_recent_put(pfc_recent *kept);
/** The history of a series as of that judgement, whose newest point has that position; the caller's
 *  to free. NULL: there is none. */
pfc_recent *pfc_recent_take(int64_t project_id, int64_t series_id, int64_t generation,
                            int64_t position);

/** Adds points, in order: those of runs that it does not hold yet. False: one of them belongs
 *  before its newest, or not `expected` of the runs (sorted) added one; then it is of no use. */
bool pfc_recent_add(pfc_recent *kept, const pfc_history *points, const int64_t *runs,
                    size_t runs_len, size_t expected) PFC_MUSTCHECK;
/** The history; valid until the next call with `kept`. */
const pfc_history *pfc_recent_history(const pfc_recent *kept);
/** As of another judgement, from its point number `from` on. */
void pfc_recent_renew(pfc_recent *kept, int64_t generation, size_t from);

#endif
