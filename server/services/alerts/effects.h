/*
 * The size of a change by each source that measured it: the history that the alert is based on, the
 * bisections of the alert, the new pairs that compared a named commit with its predecessor.
 */
#ifndef PFC_SERVER_SERVICES_ALERTS_EFFECTS_H
#define PFC_SERVER_SERVICES_ALERTS_EFFECTS_H

#include "server/repo/sql/evidence.h"
#include "server/services/service.h"

/** source: "history", "bisection", "pairs"; bisection_id 0: the history; commit: the
 *  one blamed there, NULL: none; n: points, runs or pairs that support it. */
typedef pfc_sql_alert_effects_row pfc_effect;
typedef pfc_sql_alert_effects_rows pfc_effects;

/** History first, then by bisection. */
pfc_code pfc_alert_effects(pfc_db *db, int64_t project_id, int64_t alert_id, pfc_effects *out,
                           pfc_err *err) PFC_MUSTCHECK;
/** Why two of them state different sizes; NULL: all intervals overlap. Caller frees. */
char *pfc_effects_differ(const pfc_effect *effects, size_t len);

#endif
