/*
 * Sign-ins of browsers: a random id in a cookie stands for a token.
 *
 * The id has 256 random bits and is stored as its SHA-256 hash. A session has the rights of its
 * token and ends with it (revoked, expired, deleted), after PFC_BROWSER_SESSION_S, when it is
 * ended by its user or an administrator, or when its token signs in PFC_BROWSER_SESSIONS_MAX more
 * times. All functions are thread-safe; errors are those of the database unless stated.
 */
#ifndef PFC_SERVER_SERVICES_ACCESS_BROWSER_SESSIONS_H
#define PFC_SERVER_SERVICES_ACCESS_BROWSER_SESSIONS_H

#include "server/repo/sql/browser_sessions.h"
#include "server/services/access/access.h"

#define PFC_BROWSER_SESSION_S    (7.0 * 86400)
#define PFC_BROWSER_SESSIONS_MAX 32 /* of one token */

typedef pfc_sql_browser_sessions_list_row pfc_browser_session;
typedef pfc_sql_browser_sessions_list_rows pfc_browser_sessions;

/**
 * Signs the token of `who` in. address: of the client, text, kept for the list. secret: out, the
 * cookie's value, returned only here. Adds a row to the audit log.
 */
pfc_code pfc_browser_session_begin(pfc_db *db, const pfc_principal *who, const char *address,
                                   char secret[PFC_TOKEN_TEXT], pfc_err *err) PFC_MUSTCHECK;
/** The token of the session, with out->session_id set; cache NULL: none. PFC_EDENIED: the secret is
 * malformed or unknown, or the session or its token ended. */
pfc_code pfc_browser_session_verify(pfc_db *db, pfc_cache *cache, const char *secret,
                                    pfc_principal *out, pfc_err *err) PFC_MUSTCHECK;
/** Valid sessions by id; token_id 0: of every token. The caller clears *out. */
pfc_code pfc_browser_sessions_list(pfc_db *db, int64_t token_id, pfc_page page,
                                   pfc_browser_sessions *out, pfc_err *err) PFC_MUSTCHECK;
/** Ends session `id` of this token (0: of any). PFC_ENOTFOUND: there is none. Every server drops
 * it from its cache and ends the event streams of the token, which their clients reopen. */
pfc_code pfc_browser_session_end(pfc_db *db, const char *actor, int64_t id, int64_t token_id,
                                 pfc_err *err) PFC_MUSTCHECK;
/** Likewise the session with this secret, for signing out. */
pfc_code pfc_browser_session_sign_out(pfc_db *db, const char *secret, pfc_err *err) PFC_MUSTCHECK;

#endif
