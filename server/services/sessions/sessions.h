/*
 * Sessions: builds measured together on one machine in blocks. The client sends the runs first,
 * each with the session's id and the visits of its measurements, then the session's document with
 * the plan and the outcome.
 */
#ifndef PFC_SERVER_SERVICES_SESSIONS_SESSIONS_H
#define PFC_SERVER_SERVICES_SESSIONS_SESSIONS_H

#include "core/wire/session.h"
#include "server/repo/sql/sessions.h"
#include "server/services/service.h"

#define PFC_SESSIONS_PAGE_MAX 100 /* sessions of one answer: each has up to 256 commits */

/**
 * Stores a session and queues another judging of its runs: now all of them are stored. Idempotent
 * by its id: the same document again is *repeated, another one PFC_ECONFLICT. PFC_ENOTFOUND: no
 * such project. Unknown commits are inserted as for runs.
 */
pfc_code pfc_session_store(pfc_db *db, const char *actor, int64_t project_id,
                           const pfc_session *session, bool *repeated, pfc_err *err) PFC_MUSTCHECK;

/** anchor, base: ids of commits, whose numbers are anchor_id and base_id; note NULL: none. */
typedef pfc_sql_sessions_list_row pfc_session_row;
typedef pfc_sql_sessions_list_rows pfc_session_rows;

/** reason, same_as NULL: none; needs_s NAN: not known. verdict, worst_json, within and open_s are
 *  as of the last judging (report.h); verdict NULL: not judged yet. */
typedef pfc_sql_session_commits_row pfc_session_commit_row;
typedef pfc_sql_session_commits_rows pfc_session_commit_rows;

/** Newest first, with the commits of all of them, by session and then in the order of history.
 *  page.limit at most PFC_SESSIONS_PAGE_MAX. Clear both with pfc_rows_clear. */
pfc_code pfc_sessions_list(pfc_db *db, int64_t project_id, pfc_page page, pfc_session_rows *out,
                           pfc_session_commit_rows *commits, pfc_err *err) PFC_MUSTCHECK;
/** One, by its id of 32 digits; PFC_ENOTFOUND: "no such session". */
pfc_code pfc_session_load(pfc_tx *tx, int64_t project_id, const char *id, pfc_session_rows *out,
                          pfc_session_commit_rows *commits, pfc_err *err) PFC_MUSTCHECK;

typedef pfc_sql_session_functions_row pfc_session_function_row;
typedef pfc_sql_session_functions_rows pfc_session_function_rows;

/** The differences in the code of commit `b` of the session and `a`: the functions whose number of
 *  instructions changed, as the runner counted them (against the build before), and *object_code:
 *  "identical" or "different"; NULL: a side was not measured, or its object code is not known. */
pfc_code pfc_session_code(pfc_tx *tx, int64_t project_id, const char *session, const char *a,
                          const char *b, pfc_session_function_rows *functions,
                          const char **object_code, pfc_err *err) PFC_MUSTCHECK;

#endif
