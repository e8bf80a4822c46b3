/*
 * SHA-256 (OpenSSL) in hexadecimal: fingerprints, suite hashes, stored tokens, body hashes,
 * signatures. Thread-safe.
 */
#ifndef PFC_CORE_BASE_HASH_H
#define PFC_CORE_BASE_HASH_H

#include "core/base/base.h"

#define PFC_SHA256_HEX 65 /* bytes of a digest in hexadecimal, with the terminator */

void pfc_sha256_hex(const void *bytes, size_t len, char out[PFC_SHA256_HEX]);
/** HMAC-SHA256 (RFC 2104) of `bytes` under `key`, 1 byte or more. */
void pfc_hmac_hex(const void *key, size_t key_len, const void *bytes, size_t len,
                  char out[PFC_SHA256_HEX]);
/** Equal content, in time that depends on the lengths alone. */
bool pfc_secret_equal(const char *a, const char *b);

#endif
