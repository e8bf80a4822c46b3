/*
 * Histories of series that were judged lately, with the state of their replay: the next judgement
 * of such a series reads only its new points. A history is kept in memory only. Each judgement, by
 * any server, stores a new random number in the state of the series: its generation. A history is
 * used only if its generation equals the stored one. If the database is set back to an earlier
 * time, the stored generation is an older one, and the history is not used. Thread-safe.
 */
#ifndef PFC_SERVER_SERVICES_DETECT_RECENT_H
#define PFC_SERVER_SERVICES_DETECT_RECENT_H

#include "server/services/detect/detect.h"

#define PFC_RECENT_BYTES (48u << 20) /* of all; the least recently judged go first */

typedef struct pfc_recent pfc_recent;

/** Copies a history as of a judgement, from point number `from` of h on, and takes *replay, which
 *  is zero then. before: points of the series before that one. NULL: it cannot be kept. */
pfc_recent *pfc_recent_new(int64_t project_id, int64_t series_id, int64_t generation,
                           const pfc_history *h, size_t from, int64_t before,
                           pfc_steady_replay *replay);
void pfc_recent_free(pfc_recent *kept);

/** Keeps it for pfc_recent_take; takes kept. */
void pfc_recent_put(pfc_recent *kept);
/** The history of a series as of that judgement, or of one before that and after which only newer
 *  points came, up to that position; the caller's to free. NULL: there is none. */
pfc_recent *pfc_recent_take(int64_t project_id, int64_t series_id, int64_t generation,
                            int64_t position);
/** The number after that of the newest run that it holds. */
int64_t pfc_recent_next_run(const pfc_recent *kept);

/** Adds points, in order: those of runs that it does not hold yet. False: one of them belongs
 *  before its newest, or a measurement of series->runs is neither a point that it holds nor one of
 *  these, or the series has not `judged` points (as of its last judgement) and the new ones; then
 *  it is of no use. *news: it did not hold all of those runs; else it stays as it was. */
bool pfc_recent_add(pfc_recent *kept, const pfc_history *points, const pfc_judged *series,
                    int64_t judged, bool *news) PFC_MUSTCHECK;
/** The history, to be cleared before the next call with `kept`, whose memory it uses. */
void pfc_recent_history(const pfc_recent *kept, pfc_history *out);
/** Its replay, to be continued; as of pfc_steady_detect. */
pfc_steady_replay *pfc_recent_replay(pfc_recent *kept);
/** As of another judgement, from its point number `from` on. */
void pfc_recent_renew(pfc_recent *kept, int64_t generation, size_t from);

#endif
