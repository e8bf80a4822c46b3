/*
 * Turns the decisions of a session into change points, and with them alerts, in the same night.
 * They need no further points, and later single measurements do not change them.
 */
#ifndef PFC_SERVER_SERVICES_SESSIONS_CHANGES_H
#define PFC_SERVER_SERVICES_SESSIONS_CHANGES_H

#include "server/repo/sql/session_judge.h"
#include "server/services/service.h"

/**
 * Applies the session's boundaries to the change points of its series. "different": an alertable
 * change point at (against, commit], new or the one that is there. "same": change points of single
 * measurements that lie in it are gone for good. "undecided": they say that the budget ended. A
 * regression whose level later boundaries brought back is undone. In a transaction of its own;
 * repeating it changes nothing. Alerts are opened afterwards, with the others of the branch
 * (pfc_alerts_open).
 */
pfc_code pfc_session_apply(pfc_db *db, int64_t project_id, const char *session,
                           pfc_err *err) PFC_MUSTCHECK;

/** A place that only single measurements showed: both sides are to be measured in blocks. */
typedef pfc_sql_candidates_list_row pfc_candidate; /* withheld: see withheld.h */
typedef pfc_sql_candidates_list_rows pfc_candidates;

#define PFC_CANDIDATES_MAX 1000

/** Those of a project, largest change first. branch, machine_class NULL: any. 1 <= limit <=
 * PFC_CANDIDATES_MAX. */
pfc_code pfc_candidates_list(pfc_db *db, int64_t project_id, const char *branch,
                             const char *machine_class, int limit, pfc_candidates *out,
                             pfc_err *err) PFC_MUSTCHECK;

#endif
