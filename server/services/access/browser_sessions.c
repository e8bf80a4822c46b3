/*
 * Sign-ins of browsers.
 */
#include "server/services/access/browser_sessions.h"

#include <math.h>

#include "core/base/clock.h"
#include "core/base/hash.h"
#include "server/services/access/secret.h"
#include "server/services/access/verify_secret.h"
#include "server/services/service.h"

#define PREFIX "pfs_" /* other than that of tokens: neither is accepted in place of the other */

pfc_code pfc_browser_session_begin(pfc_db *db, const pfc_principal *who, const char *address,
                                   char secret[PFC_TOKEN_TEXT], pfc_err *err)
{
    char fresh[PFC_TOKEN_TEXT], hash[PFC_SHA256_HEX];
    char *what = NULL;
    pfc_tx *tx = NULL;
    int64_t id = 0;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    pfc_secret_make(PREFIX, fresh);
    pfc_sha256_hex(fresh, strlen(fresh), hash);
    if (!code)
        code = pfc_sql_browser_session_insert(
            tx,
            &(pfc_sql_browser_session_insert_args){ .token_id = who->token_id,
                                                    .hash = hash,
                                                    .address = address,
                                                    .expires_s = PFC_BROWSER_SESSION_S },
            &id, err);
    if (!code)
        code = pfc_sql_browser_sessions_trim(
            tx,
            &(pfc_sql_browser_sessions_trim_args){ .token_id = who->token_id,
                                                   .most = PFC_BROWSER_SESSIONS_MAX },
            err);
    if (!code) {
        what = pfc_format("browser session %lld", (long long)id);
        code = pfc_audit_add(tx, who->actor, "sign in", who->project_id, what, address, err);
    }
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_tx_free(tx);
    free(what);
    if (!code)
        memcpy(secret, fresh, sizeof(fresh));
    return code;
}

/* Fills *out; *valid: the secret may be used. */
static pfc_code read_session(pfc_tx *tx, const char *secret, const char *hash, pfc_principal *out,
                             bool *valid, double *valid_s, pfc_err *err)
{
    pfc_sql_browser_session_find_rows rows = { 0 };
    bool stale = false;
    pfc_code code = pfc_sql_browser_session_find(
        tx, &(pfc_sql_browser_session_find_args){ .hash = hash }, &rows, err);

    (void)secret;
    if (!code && rows.len) {
        const pfc_sql_browser_session_find_row *found = &rows.items[0];

        pfc_principal_fill(out, found->token_id, found->name, found->scopes, found->project_id,
                           found->valid_s);
        out->session_id = found->id;
        *valid = found->valid && pfc_secret_equal(hash, found->hash);
        *valid_s = found->valid_s;
        stale = found->stale;
    }
    pfc_rows_clear(&rows);
    if (!code && *valid && stale)
        code = pfc_sql_browser_session_used(tx,
                                            &(pfc_sql_browser_session_used_args){
                                                .id = out->session_id, .token_id = out->token_id },
                                            err);
    return code;
}

static bool is_session(const char *secret)
{
    return pfc_secret_well_formed(PREFIX, secret);
}

pfc_code pfc_browser_session_verify(pfc_db *db, pfc_cache *cache, const char *secret,
                                    pfc_principal *out, pfc_err *err)
{
    static const pfc_secret_kind kind = { .well_formed = is_session,
                                          .read = read_session,
                                          .malformed = "session: not valid",
                                          .refused = "session: not valid; sign in again" };

    return pfc_secret_verify(db, cache, &kind, secret, out, err);
}

pfc_code pfc_browser_sessions_list(pfc_db *db, int64_t token_id, pfc_page page,
                                   pfc_browser_sessions *out, pfc_err *err)
{
    const pfc_code code = pfc_sql_browser_sessions_list_once(
        db,
        &(pfc_sql_browser_sessions_list_args){
            .token_id = token_id, .cursor = page.cursor, .limit = pfc_page_fetch(page) },
        out, err);

    if (!code)
        pfc_rows_cut(out, page, id);
    return code;
}

static pfc_code end(pfc_db *db, const char *actor, const pfc_sql_browser_session_end_args *which,
                    pfc_err *err)
{
    pfc_sql_browser_session_end_rows rows = { 0 };
    char *what = NULL, *by = NULL;
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    if (!code)
        code = pfc_sql_browser_session_end(tx, which, &rows, err);
    if (!code && rows.len == 0)
        code = pfc_err_set(err, PFC_ENOTFOUND, "no such browser session");
    if (!code) {
        what = pfc_format("browser session %lld", (long long)rows.items[0].id);
        by = pfc_format("token %lld", (long long)rows.items[0].token_id);
        code = pfc_audit_add(tx, actor ? actor : by, "sign out", rows.items[0].project_id, what, by,
                             err);
    }
    /* As at the end of a token: every server drops its cache and ends the token's streams. */
    if (!code)
        code = pfc_event_send(tx, "token", rows.items[0].token_id, err);
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_tx_free(tx);
    pfc_rows_clear(&rows);
    free(what);
    free(by);
    return code;
}

pfc_code pfc_browser_session_end(pfc_db *db, const char *actor, int64_t id, int64_t token_id,
                                 pfc_err *err)
{
    return end(db, actor, &(pfc_sql_browser_session_end_args){ .id = id, .token_id = token_id },
               err);
}

pfc_code pfc_browser_session_sign_out(pfc_db *db, const char *secret, pfc_err *err)
{
    char hash[PFC_SHA256_HEX];

    if (!pfc_secret_well_formed(PREFIX, secret))
        return pfc_err_set(err, PFC_ENOTFOUND, "no such browser session");
    pfc_sha256_hex(secret, strlen(secret), hash);
    return end(db, NULL, &(pfc_sql_browser_session_end_args){ .hash = hash }, err);
}
