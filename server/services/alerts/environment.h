/*
 * What a person may say of machines that moved; listing them is the repository's.
 */
#ifndef PFC_SERVER_SERVICES_ALERTS_ENVIRONMENT_H
#define PFC_SERVER_SERVICES_ALERTS_ENVIRONMENT_H

#include "server/repo/tables/repo.h"

/** A person says that an event of kind step is no machine's (its alerts are regressions again, and stay
 *  that), or takes that back. PFC_ENOTFOUND: there is no such event; PFC_ECONFLICT: it is a canary's.
 *  *out is the event afterwards; reason may be NULL. Leaves a row in the audit log. */
pfc_code pfc_shift_dismiss(pfc_db *db, const char *actor, int64_t id, bool dismissed,
                           const char *reason, pfc_environment_events *out,
                           pfc_err *err) PFC_MUSTCHECK;

#endif
