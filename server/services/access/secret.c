/*
 * Secrets of clients, and what a token's row means for its requests.
 */
#include "server/services/access/secret.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/rng.h"

#define YEAR_S 31557600.0

void pfc_secret_make(const char *prefix, char secret[PFC_TOKEN_TEXT])
{
    unsigned char bits[32];
    const size_t at = strlen(prefix);

    pfc_random_bytes(bits, sizeof(bits));
    memcpy(secret, prefix, at);
    for (size_t i = 0; i < sizeof(bits); i++)
        (void)snprintf(secret + at + 2 * i, 3, "%02x", bits[i]);
}

bool pfc_secret_well_formed(const char *prefix, const char *secret)
{
    const size_t at = strlen(prefix);

    if (strlen(secret) != PFC_TOKEN_TEXT - 1 || strncmp(secret, prefix, at) != 0)
        return false;
    return strspn(secret + at, "0123456789abcdef") == 64;
}

void pfc_principal_fill(pfc_principal *out, int64_t token_id, const char *name, int64_t scopes,
                        int64_t project_id, double valid_s)
{
    out->token_id = token_id;
    out->scopes = scopes & PFC_SCOPE_ADMIN ? PFC_SCOPE_ALL : scopes;
    out->project_id = project_id;
    (void)snprintf(out->actor, sizeof(out->actor), *name ? "token %lld (%s)" : "token %lld",
                   (long long)token_id, name);
    if (!isnan(valid_s))
        out->until_ns = pfc_clock_ns() + (int64_t)(fmin(valid_s, YEAR_S) * 1e9);
}
