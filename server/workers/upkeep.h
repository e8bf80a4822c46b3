/*
 * Long work without a deadline, by one thread of the workers: partitions, old measurements, old
 * jobs, chunks. Each step does what is due, a part at a time, and logs its own failures.
 */
#ifndef PFC_SERVER_WORKERS_UPKEEP_H
#define PFC_SERVER_WORKERS_UPKEEP_H

#include "server/repo/connection/db.h"
#include "server/services/ingest/ingest.h"

typedef struct pfc_upkeep {
    pfc_db *db;
    bool (*stops)(void *context); /* asked between two parts of the work */
    void *context;
    /* zero at first, then kept by pfc_upkeep_step */
    int64_t next_partitions, next_prune, next_chunks, cursor;
    char width[8], chosen[8]; /* of the last round: the setting, and the width that held */
} pfc_upkeep;

/** Does what is due at `now` (pfc_clock_ns). A changed keep->width is due at once. True: something
 *  was done or failed, so that more may be due now. */
bool pfc_upkeep_step(pfc_upkeep *upkeep, const pfc_retention *keep, int64_t now);

#endif
