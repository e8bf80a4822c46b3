/* Declarations shared by the files of core/wire and its fuzz target. */
#ifndef PFC_CORE_WIRE_PRIV_H
#define PFC_CORE_WIRE_PRIV_H

#include "core/wire/wire.h"

/** An empty branch is what a script sends whose variable was not set: the default one, not one of
 * no name. */
void pfc_wire_drop_empty(char **text);

#define PFC_WIRE_MAX_LAUNCHES 10000 /* inner arrays of a measurement's samples */

/* run_session.c: members "session" and "visits"; both optional. `visits` after status and samples.
 */
pfc_code pfc_wire_read_session(const json_t *obj, const pfc_json_at *at, pfc_run *run,
                               pfc_err *err) PFC_MUSTCHECK;
pfc_code pfc_wire_read_visits(const json_t *obj, const pfc_json_at *at, const pfc_run *run,
                              pfc_measurement *m, pfc_err *err) PFC_MUSTCHECK;
json_t *pfc_wire_session_to_json(const pfc_run *run);      /* run->session_id is set */
json_t *pfc_wire_visits_to_json(const pfc_measurement *m); /* m->visits is set */
/** The launches of both, which have visits, in the order of time. False: both have the same visit;
 * nothing is done then. */
bool pfc_wire_join_visits(pfc_measurement *m, const pfc_measurement *more);

#define PFC_WIRE_WANT_TIME "expected a time of the years 1970 to 9999 such as 2026-11-22T10:00:00Z"

/** The tree of a text of the plain kind, equal to what jansson makes of it; NULL: not of that kind,
 * over the limits, or not valid: ask jansson. The caller's to decref. */
json_t *pfc_json_quick(const char *text, size_t len, const pfc_json_limits *limits);

#endif
