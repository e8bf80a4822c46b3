/*
 * Faults of the installation: a schedule whose night is missed, a runner that is silent, series
 * that are no longer measured. Each opens once, is announced once (a notice of kind
 * infrastructure), and ends with its cause (kind recovered). They are listed with the events of
 * machines. Any number of servers may look for them at the same time. General rules:
 * server/services/service.h.
 */
#ifndef PFC_SERVER_SERVICES_QUEUE_FAULTS_H
#define PFC_SERVER_SERVICES_QUEUE_FAULTS_H

#include "server/services/service.h"

typedef struct pfc_fault_limits {
    double missed_s; /* after the due time of a night that has not finished; 0: not looked for */
    double silent_s; /* since a runner's last request; 0: not looked for */
    int64_t stalled_nights; /* days on which the suite was measured without the series; 0: ... */
} pfc_fault_limits;

/** How many opened, and ended. */
typedef struct pfc_fault_counts {
    size_t opened, ended;
} pfc_fault_counts;

/** Looks for missed nights and silent runners. Adds to *counts. */
pfc_code pfc_faults_look(pfc_db *db, const pfc_fault_limits *limits, pfc_fault_counts *counts,
                         pfc_err *err) PFC_MUSTCHECK;
/** Looks for stalled series, which reads the measurements of the last days. Adds to *counts. */
pfc_code pfc_faults_look_at_series(pfc_db *db, const pfc_fault_limits *limits,
                                   pfc_fault_counts *counts, pfc_err *err) PFC_MUSTCHECK;
/** Hides a fault until its cause has ended, or shows it again. reason may be NULL. Leaves a row in
 *  the audit log. PFC_ENOTFOUND: no such fault; PFC_ECONFLICT: it has ended. */
pfc_code pfc_fault_dismiss(pfc_db *db, const char *actor, int64_t id, bool dismissed,
                           const char *reason, pfc_err *err) PFC_MUSTCHECK;
/** Removes the record of faults that ended more than `days` ago. */
pfc_code pfc_faults_prune(pfc_db *db, int days, pfc_err *err) PFC_MUSTCHECK;

#endif
