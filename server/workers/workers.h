/*
 * Background threads of the server: they judge runs (detect jobs of the queue), send notices
 * (notify jobs), look at pull requests, fire schedules, look for faults of the installation, return
 * jobs with expired leases to the queue, and create partitions in advance.
 * Any number of servers may run them on one database. They wake on the database's events and,
 * because an event can be missed, every few seconds.
 */
#ifndef PFC_SERVER_WORKERS_WORKERS_H
#define PFC_SERVER_WORKERS_WORKERS_H

#include "server/bot/bot.h"
#include "server/notify/notify.h"
#include "server/repo/connection/db.h"
#include "server/services/ingest/ingest.h"
#include "server/services/queue/faults.h"
#include "server/services/thread_health.h"

typedef struct pfc_workers pfc_workers;

typedef struct pfc_workers_opts {
    pfc_db *db;         /* outlives the workers */
    const char *url;    /* for the connection that listens for events */
    unsigned detectors; /* threads that judge; 0: 1 */
    unsigned idle_ms;   /* longest wait between two reads of the queue; 0: 5000 */
    double lease_s;     /* leases are checked four times in it, or every 5 s; 0: 60 */
    pfc_retention keep;
    double backfill_delay_s;          /* as pfc_backfill_opts */
    int64_t backfill_budget;          /* 0: no backfill */
    pfc_fault_limits faults;          /* zero: faults are not looked for */
    pfc_thread_health *thread_health; /* outlives the workers; NULL: not recorded */
    pfc_notifier
        *notifier; /* owned by the workers once they start; NULL: notices stay in the outbox */
    pfc_bot *bot;  /* outlives the workers; NULL: no pull request is looked at */
} pfc_workers_opts;

pfc_code pfc_workers_start(pfc_workers **out, const pfc_workers_opts *opts,
                           pfc_err *err) PFC_MUSTCHECK;
/** Replaces these settings; the workers own the notifier from then on, NULL: none. A delivery under
 * way ends first. Any thread. */
void pfc_workers_retune(pfc_workers *workers, pfc_notifier *notifier, const pfc_retention *keep);
/** Makes them finish their work and take no more; does not wait. Accepts NULL. */
void pfc_workers_halt(pfc_workers *workers);
/** Waits for the work under way, ends the threads, frees. Accepts NULL. */
void pfc_workers_stop(pfc_workers *workers);

#endif
