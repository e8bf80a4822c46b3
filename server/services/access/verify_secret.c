#include "server/services/access/verify_secret.h"

#include <string.h>

#include "core/base/hash.h"

pfc_code pfc_secret_verify(pfc_db *db, pfc_cache *cache, const pfc_secret_kind *kind,
                           const char *secret, pfc_principal *out, pfc_err *err)
{
    char hash[PFC_SHA256_HEX];
    pfc_principal found = { 0 };
    uint64_t generation = 0;
    double valid_s = -1;
    pfc_tx *tx = NULL;
    bool valid = false;
    pfc_code code;

    if (!secret || !kind->well_formed(secret))
        return pfc_err_set(err, PFC_EDENIED, "%s", kind->malformed);
    pfc_sha256_hex(secret, strlen(secret), hash);
    if (cache && pfc_cache_token(cache, hash, out, &generation))
        return PFC_OK;
    code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);
    if (!code)
        code = kind->read(tx, secret, hash, &found, &valid, &valid_s, err);
    pfc_tx_free(tx);
    if (code)
        return code;
    if (!valid)
        return pfc_err_set(err, PFC_EDENIED, "%s", kind->refused);
    if (cache)
        pfc_cache_keep_token(cache, hash, &found, valid_s, generation);
    *out = found;
    return PFC_OK;
}
