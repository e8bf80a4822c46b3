/* SHA-256 by OpenSSL. */
#include "core/base/hash.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

void pfc_sha256_hex(const void *bytes, size_t len, char out[PFC_SHA256_HEX])
{
    unsigned char digest[EVP_MAX_MD_SIZE] = { 0 };
    unsigned digest_len = 0;

    if (EVP_Digest(bytes, len, digest, &digest_len, EVP_sha256(), NULL) != 1 || digest_len != 32)
        pfc_die("SHA-256 is not available in this OpenSSL");
    for (size_t i = 0; i < 32; i++)
        snprintf(out + 2 * i, 3, "%02x", digest[i]);
}

bool pfc_secret_equal(const char *a, const char *b)
{
    size_t len = strlen(a);

    return len == strlen(b) && CRYPTO_memcmp(a, b, len) == 0;
}
