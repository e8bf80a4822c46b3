/*
 * Runners that wait for a job, compared in memory with a job that became ready: without this, each
 * new job would make every waiting runner ask the database.
 */
#ifndef PFC_SERVER_SERVICES_QUEUE_SEEKERS_H
#define PFC_SERVER_SERVICES_QUEUE_SEEKERS_H

#include "server/services/queue/queue.h"

typedef struct pfc_job_seeker pfc_job_seeker;

/** Copies what of `request`, a valid one, decides which jobs it may get. Free it with
 *  pfc_job_seeker_free. */
pfc_job_seeker *pfc_job_seeker_new(const pfc_lease_request *request);
void pfc_job_seeker_free(void *seeker);

/** Requirements of a job that became ready on the runner that takes it. */
typedef struct pfc_job_need {
    int64_t project_id;
    pfc_labels labels;
    bool labels_known; /* false: too many for an event, so that `labels` is empty */
    const char *avoid; /* runner that must not take it; NULL: none */
} pfc_job_need;

/** True when the runner may take a job with this need, a pfc_job_need. As the function job_fits of
 *  the database, except that `avoid` excludes the runner: the database lets it have the job after
 *  a while. Thread-safe. */
bool pfc_job_seeker_suits(const void *seeker, const void *need);

#endif
