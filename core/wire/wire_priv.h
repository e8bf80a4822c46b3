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

/* json.c: members that documents share */

/** A name: visible text without blanks at its ends. */
pfc_code pfc_wire_read_name(const json_t *obj, const pfc_json_at *at, const char *key,
                            bool required, char **out, pfc_err *err) PFC_MUSTCHECK;
/** *out: which of the words; `fallback` when the member is absent. */
pfc_code pfc_wire_read_word(const json_t *obj, const pfc_json_at *at, const char *key,
                            bool required, const char *const *words, size_t words_len,
                            size_t fallback, size_t *out, pfc_err *err) PFC_MUSTCHECK;
pfc_code pfc_wire_read_time(const json_t *obj, const pfc_json_at *at, const char *key,
                            bool required, double *out, pfc_err *err) PFC_MUSTCHECK;
void pfc_wire_set_time(json_t *obj, const char *key, double unix_s);

/* run_ceilings.c: members "operations", "bytes" and "ceilings"; all optional. `work` after
 * status. */
pfc_code pfc_wire_read_work(const json_t *obj, const pfc_json_at *at, pfc_measurement *m,
                            pfc_err *err) PFC_MUSTCHECK;
pfc_code pfc_wire_read_ceilings(const json_t *obj, const pfc_json_at *at, pfc_run *run,
                                pfc_err *err) PFC_MUSTCHECK;
void pfc_wire_set_work(json_t *obj, const pfc_measurement *m);
json_t *pfc_wire_ceilings_to_json(const pfc_run *run);

#define PFC_WIRE_WANT_TIME "expected a time of the years 1970 to 9999 such as 2026-11-22T10:00:00Z"

/** The tree of a text of the plain kind, equal to what jansson makes of it; NULL: not of that kind,
 * over the limits, or not valid: ask jansson. The caller's to decref. */
json_t *pfc_json_quick(const char *text, size_t len, const pfc_json_limits *limits);

#endif
