/*
 * Threads of the server that work without a request: they judge runs (detect jobs of the queue),
 * send notices (notify jobs), give expired leases back, and create partitions ahead. Any number of servers may run them on one
 * database. They wake on the database's events and, because an event can be missed, every few
 * seconds by themselves.
 */
#ifndef PFC_SERVER_WORKERS_WORKERS_H
#define PFC_SERVER_WORKERS_WORKERS_H

#include "server/notify/notify.h"
#include "server/repo/connection/db.h"
#include "server/services/thread_health.h"

typedef struct pfc_workers pfc_workers;

typedef struct pfc_workers_opts {
    pfc_db *db;                 /* outlives the workers */
    const char *url;            /* for the connection that hears events */
    unsigned detectors;         /* threads that judge; 0: 1 */
    unsigned idle_ms;           /* longest wait between looks at the queue; 0: 5000 */
    double lease_s;             /* leases are looked at four times in it, or each 5 s; 0: 60 */
    int raw_months, day_months; /* as pfc_retention */
    double backfill_delay_s;    /* as pfc_backfill_opts */
    int64_t backfill_budget;    /* 0: wide ranges are left alone */
    pfc_pulse *pulse;           /* outlives the workers; NULL: nobody looks */
    pfc_notifier
        *notifier; /* the workers', when they start; NULL: notices wait for who reads them */
} pfc_workers_opts;

pfc_code pfc_workers_start(pfc_workers **out, const pfc_workers_opts *opts,
                           pfc_err *err) PFC_MUSTCHECK;
/** From now on these hold; the notifier is the workers', NULL: none. A delivery under way ends first. Any
 *  thread. */
void pfc_workers_retune(pfc_workers *workers, pfc_notifier *notifier, int raw_months,
                        int day_months);
/** They take nothing new and end what they have; does not wait. Accepts NULL. */
void pfc_workers_halt(pfc_workers *workers);
/** Lets the work in hand finish, ends the threads, frees. Accepts NULL. */
void pfc_workers_stop(pfc_workers *workers);

#endif
