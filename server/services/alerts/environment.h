/*
 * Dismissing events in which a machine changed its speed. The repository lists the events.
 */
#ifndef PFC_SERVER_SERVICES_ALERTS_ENVIRONMENT_H
#define PFC_SERVER_SERVICES_ALERTS_ENVIRONMENT_H

#include "server/repo/tables/repo.h"

/** Dismisses an event of kind step (the machine did not cause it: its alerts become regressions,
 *  and stay regressions), or takes the dismissal back. PFC_ENOTFOUND: no such event; PFC_ECONFLICT:
 *  a canary measured it.
 *  *out is the event afterwards; reason may be NULL. Leaves a row in the audit log. */
pfc_code pfc_shift_dismiss(pfc_db *db, const char *actor, int64_t id, bool dismissed,
                           const char *reason, pfc_environment_events *out,
                           pfc_err *err) PFC_MUSTCHECK;

#endif
