/*
 * Secrets of clients: a prefix that names the kind, and 256 random bits as hexadecimal digits.
 */
#ifndef PFC_SERVER_SERVICES_ACCESS_SECRET_H
#define PFC_SERVER_SERVICES_ACCESS_SECRET_H

#include "server/services/access/access.h"

/** A new secret; prefix: 4 bytes, such as "pfc_". Thread-safe. */
void pfc_secret_make(const char *prefix, char secret[PFC_TOKEN_TEXT]);
/** True for this prefix and 64 lower-case hexadecimal digits. Thread-safe. */
bool pfc_secret_well_formed(const char *prefix, const char *secret);
/** Fills *out from a row of the token's; valid_s: seconds until it expires, NAN: never. */
void pfc_principal_fill(pfc_principal *out, int64_t token_id, const char *name, int64_t scopes,
                        int64_t project_id, double valid_s);

#endif
