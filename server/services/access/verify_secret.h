/*
 * Verifying a secret, of whatever kind: its form, the cache, the database. The kinds are tokens
 * (tokens.c) and sign-ins of browsers (browser_sessions.c).
 */
#ifndef PFC_SERVER_SERVICES_ACCESS_VERIFY_SECRET_H
#define PFC_SERVER_SERVICES_ACCESS_VERIFY_SECRET_H

#include "server/services/access/access.h"

typedef struct pfc_secret_kind {
    /* The text can be a secret of this kind. */
    bool (*well_formed)(const char *secret);
    /* Fills *out from the stored row. hash: SHA-256 of the secret. *valid, false at first: the
     * secret may be used. *valid_s, -1 at first, which means without end: seconds until it
     * expires. */
    pfc_code (*read)(pfc_tx *tx, const char *secret, const char *hash, pfc_principal *out,
                     bool *valid, double *valid_s, pfc_err *err);
    const char *malformed; /* the message for a text of another form */
    const char *refused;   /* the message for an unknown, expired or revoked secret: one for all, so
                              that it reveals nothing to an attacker */
} pfc_secret_kind;

/** PFC_EDENIED with one of the kind's messages when the secret may not be used. secret may be NULL.
 *  cache NULL: the database is read. Thread-safe. */
pfc_code pfc_secret_verify(pfc_db *db, pfc_cache *cache, const pfc_secret_kind *kind,
                           const char *secret, pfc_principal *out, pfc_err *err) PFC_MUSTCHECK;

#endif
