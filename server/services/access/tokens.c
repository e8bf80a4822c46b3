/*
 * Tokens: 256 random bits, returned once and stored only as their SHA-256 hash.
 */
#include "server/repo/sql/tokens.h"

#include <math.h>

#include "core/base/hash.h"
#include "server/services/access/access.h"
#include "server/services/access/lease_tokens.h"
#include "server/services/access/secret.h"
#include "server/services/access/verify_secret.h"
#include "server/services/service.h"

#define PREFIX   "pfc_"
#define MAX_NAME 64

const char *const pfc_scope_names[5] = { "read", "ingest", "runner", "triage", "admin" };

int pfc_scope_parse(const char *name)
{
    for (int i = 0; i < 5; i++) {
        if (pfc_streq(pfc_scope_names[i], name))
            return 1 << i;
    }
    return 0;
}

pfc_code pfc_token_create(pfc_db *db, const char *actor, const char *name, int64_t scopes,
                          int64_t project_id, double expires_at, int64_t *id,
                          char secret[PFC_TOKEN_TEXT], pfc_err *err)
{
    char fresh[PFC_TOKEN_TEXT], hash[PFC_SHA256_HEX];
    char *what = NULL;
    pfc_tx *tx = NULL;
    int64_t made = 0;
    pfc_code code;

    if (scopes <= 0 || scopes > PFC_SCOPE_ALL)
        return pfc_err_set_field(err, PFC_EINVAL, "scopes", "scopes: expected at least one");
    if (name && strlen(name) > MAX_NAME)
        return pfc_err_set_field(err, PFC_EINVAL, "name", "name: expected at most %d bytes",
                                 MAX_NAME);
    pfc_secret_make(PREFIX, fresh);
    pfc_sha256_hex(fresh, strlen(fresh), hash);
    code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);
    if (!code)
        code = pfc_sql_token_insert(
            tx,
            &(pfc_sql_token_insert_args){ .hash = hash,
                                          .name = name,
                                          .scopes = scopes,
                                          .project_id = project_id,
                                          .expires_at = expires_at > 0 ? expires_at : (double)NAN },
            &made, err);
    if (!code) {
        what = pfc_format("token %lld", (long long)made);
        code = pfc_audit_add(tx, actor, "create", project_id, what, name, err);
    }
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_tx_free(tx);
    free(what);
    if (!code) {
        *id = made;
        memcpy(secret, fresh, sizeof(fresh));
    }
    return code;
}

pfc_code pfc_token_ensure(pfc_db *db, const char *name, const char *secret, pfc_err *err)
{
    char hash[PFC_SHA256_HEX];
    pfc_tx *tx = NULL;
    pfc_code code;

    if (!pfc_secret_well_formed(PREFIX, secret))
        return pfc_err_set(err, PFC_EINVAL, "token: expected pfc_ and 64 hexadecimal digits");
    pfc_sha256_hex(secret, strlen(secret), hash);
    code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);
    if (!code)
        code = pfc_sql_token_ensure(tx, &(pfc_sql_token_ensure_args){ .hash = hash, .name = name },
                                    err);
    pfc_tx_free(tx);
    return code;
}

/* Fills *out; *valid: the secret may be used. */
static pfc_code read_token(pfc_tx *tx, const char *secret, const char *hash, pfc_principal *out,
                           bool *valid, double *valid_s, pfc_err *err)
{
    pfc_sql_token_find_rows rows = { 0 };
    bool stale = false;
    pfc_code code;

    if (pfc_lease_token_is(secret))
        return pfc_lease_token_find(tx, hash, out, valid, valid_s, err);
    code = pfc_sql_token_find(tx, &(pfc_sql_token_find_args){ .hash = hash }, &rows, err);
    if (!code && rows.len) {
        const pfc_sql_token_find_row *found = &rows.items[0];

        pfc_principal_fill(out, found->id, found->name, found->scopes, found->project_id,
                           found->valid_s);
        *valid = found->valid && pfc_secret_equal(hash, found->hash);
        stale = found->stale;
        if (!isnan(found->valid_s))
            *valid_s = found->valid_s;
    }
    pfc_rows_clear(&rows);
    /* Updates the last use at most once a minute, which avoids a write per request. */
    if (!code && *valid && stale)
        code = pfc_sql_token_used(tx, &(pfc_sql_token_used_args){ .id = out->token_id }, err);
    return code;
}

pfc_code pfc_token_verify(pfc_db *db, const char *secret, pfc_principal *out, pfc_err *err)
{
    return pfc_token_verify_cached(db, NULL, secret, out, err);
}

static bool is_token(const char *secret)
{
    return pfc_secret_well_formed(PREFIX, secret) || pfc_lease_token_is(secret);
}

pfc_code pfc_token_verify_cached(pfc_db *db, pfc_cache *cache, const char *secret,
                                 pfc_principal *out, pfc_err *err)
{
    static const pfc_secret_kind kind = { .well_formed = is_token,
                                          .read = read_token,
                                          .malformed = "token: not valid",
                                          .refused = "token: not valid" };

    return pfc_secret_verify(db, cache, &kind, secret, out, err);
}

pfc_code pfc_token_revoke(pfc_db *db, const char *actor, int64_t id, pfc_err *err)
{
    char *what = pfc_format("token %lld", (long long)id);
    pfc_tx *tx = NULL;
    int64_t found = 0;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    if (!code)
        code = pfc_sql_token_revoke(tx, &(pfc_sql_token_revoke_args){ .id = id }, &found, err);
    if (!code && !found)
        code = pfc_err_set(err, PFC_ENOTFOUND, "no such token");
    if (!code)
        code = pfc_audit_add(tx, actor, "revoke", 0, what, NULL, err);
    /* The event makes every server remove the token from its cache. */
    if (!code)
        code = pfc_event_send(tx, "token", id, err);
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_tx_free(tx);
    free(what);
    return code;
}

pfc_code pfc_token_rotate(pfc_db *db, const char *actor, int64_t id, double overlap_s,
                          pfc_tokens *out, char secret[PFC_TOKEN_TEXT], pfc_err *err)
{
    char fresh[PFC_TOKEN_TEXT], hash[PFC_SHA256_HEX];
    char *what = pfc_format("token %lld", (long long)id), *detail = NULL;
    pfc_tokens made = { 0 };
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    pfc_secret_make(PREFIX, fresh);
    pfc_sha256_hex(fresh, strlen(fresh), hash);
    if (!code)
        code = pfc_tokens_rotate(tx, id, hash, overlap_s, &made, err);
    if (!code && made.len == 0)
        code = pfc_err_set(err, PFC_ENOTFOUND, "no such token, or it has ended");
    if (!code) {
        detail = pfc_format("token %lld takes its place", (long long)made.items[0].id);
        code = pfc_audit_add(tx, actor, "rotate", made.items[0].project_id, what, detail, err);
    }
    /* The event makes every server drop its cached row, whose expiry is out of date. */
    if (!code)
        code = pfc_event_send(tx, "token", id, err);
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_tx_free(tx);
    free(detail);
    free(what);
    if (code) {
        pfc_rows_clear(&made);
        return code;
    }
    *out = made;
    memcpy(secret, fresh, sizeof(fresh));
    return PFC_OK;
}
