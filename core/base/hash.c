/* SHA-256 by OpenSSL. */
#include "core/base/hash.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <pthread.h>
#include <string.h>

/* Fetched once: EVP_sha256() has OpenSSL look the algorithm up in every digest, under a lock. */
static EVP_MD *sha256;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fetch(void)
{
    sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
}

static void to_hex(const unsigned char digest[32], char out[PFC_SHA256_HEX])
{
    for (size_t i = 0; i < 32; i++) {
        out[2 * i] = "0123456789abcdef"[digest[i] >> 4];
        out[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
    }
    out[64] = '\0';
}

void pfc_sha256_hex(const void *bytes, size_t len, char out[PFC_SHA256_HEX])
{
    unsigned char digest[EVP_MAX_MD_SIZE] = { 0 };
    unsigned digest_len = 0;

    (void)pthread_once(&once, fetch);
    if (!sha256 || EVP_Digest(bytes, len, digest, &digest_len, sha256, NULL) != 1 ||
        digest_len != 32)
        pfc_die("SHA-256 is not available in this OpenSSL");
    to_hex(digest, out);
}

void pfc_hmac_hex(const void *key, size_t key_len, const void *bytes, size_t len,
                  char out[PFC_SHA256_HEX])
{
    unsigned char digest[EVP_MAX_MD_SIZE] = { 0 };
    unsigned digest_len = 0;

    (void)pthread_once(&once, fetch);
    if (!sha256 || !HMAC(sha256, key, (int)key_len, bytes, len, digest, &digest_len) ||
        digest_len != 32)
        pfc_die("HMAC-SHA256 is not available in this OpenSSL");
    to_hex(digest, out);
}

bool pfc_secret_equal(const char *a, const char *b)
{
    size_t len = strlen(a);

    return len == strlen(b) && CRYPTO_memcmp(a, b, len) == 0;
}
