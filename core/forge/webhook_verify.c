/* Was the webhook sent by the forge that shares our secret? */
#include <ctype.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/buf.h"
#include "core/base/hash.h"
#include "core/base/parse.h"
#include "core/forge/webhook.h"

enum { DIGEST = 32, SIGNED_SLACK = 512, KEY_MAX = 1024, SIGNATURES = 8, DELIVERY_MAX = 200 };

/* A webhook whose header is compared with each secret. */
typedef struct signing {
    const pfc_webhook_headers *headers;
    const void *body;
    size_t len;
} signing;

static bool fits_hex(const char *prefix, const char *secret, const signing *s)
{
    const size_t len = strlen(prefix);
    char hex[PFC_SHA256_HEX];

    if (strncmp(s->headers->signature, prefix, len) != 0)
        return false;
    pfc_hmac_hex(secret, strlen(secret), s->body, s->len, hex);
    return pfc_secret_equal(s->headers->signature + len, hex);
}

/* The key behind "whsec_BASE64" of Standard Webhooks; another secret is the key itself. */
static size_t key_of(const char *secret, unsigned char out[KEY_MAX])
{
    const char *text = strncmp(secret, "whsec_", 6) == 0 ? secret + 6 : NULL;
    const size_t len = text ? strlen(text) : 0;
    int got = -1;

    if (text && len > 0 && len % 4 == 0 && len <= KEY_MAX)
        got = EVP_DecodeBlock(out, (const unsigned char *)text, (int)len);
    if (got > 0)
        return (size_t)got - (text[len - 1] == '=') - (text[len - 2] == '=');
    memcpy(out, secret, PFC_MIN(strlen(secret), (size_t)KEY_MAX));
    return PFC_MIN(strlen(secret), (size_t)KEY_MAX);
}

static void base64_of(const char hex[PFC_SHA256_HEX], char out[64])
{
    unsigned char digest[DIGEST];

    for (size_t i = 0; i < DIGEST; i++) {
        unsigned int byte = 0;

        (void)sscanf(hex + 2 * i, "%2x", &byte);
        digest[i] = (unsigned char)byte;
    }
    (void)EVP_EncodeBlock((unsigned char *)out, digest, DIGEST);
}

/* "v1,BASE64 v1,BASE64": one of them has to fit. */
static bool fits_standard(const char *secret, const signing *s)
{
    const pfc_webhook_headers *h = s->headers;
    unsigned char key[KEY_MAX];
    char hex[PFC_SHA256_HEX], expected[64];
    const char *at = h->signature;
    bool fits = false;
    pfc_buf text;

    pfc_buf_init(&text, s->len + SIGNED_SLACK);
    pfc_buf_printf(&text, "%.*s.%.40s.", DELIVERY_MAX, h->delivery, h->timestamp);
    pfc_buf_append(&text, s->body, s->len);
    pfc_hmac_hex(key, key_of(secret, key), pfc_buf_text(&text), text.len, hex);
    base64_of(hex, expected);
    for (int i = 0; i < SIGNATURES && *at; i++) {
        const size_t len = strcspn(at, " ");
        char *one = pfc_strndup(at, len);

        if (strncmp(one, "v1,", 3) == 0 && pfc_secret_equal(one + 3, expected))
            fits = true;
        free(one);
        at += len + (at[len] == ' ');
    }
    fits = fits && !text.overflow;
    pfc_buf_clear(&text);
    explicit_bzero(key, sizeof(key));
    return fits;
}

static bool is_recent(const char *timestamp, int64_t now_unix_s)
{
    int64_t at = 0;

    return timestamp &&
           pfc_parse_i64(timestamp, 0, INT64_C(1) << 40, "timestamp", &at, NULL) == PFC_OK &&
           at >= now_unix_s - PFC_WEBHOOK_MAX_AGE_S && at <= now_unix_s + PFC_WEBHOOK_MAX_AGE_S;
}

static bool fits(pfc_forge_kind kind, const char *secret, const signing *s)
{
    const pfc_webhook_headers *h = s->headers;

    if (kind == PFC_FORGE_GITHUB)
        return h->signature && fits_hex("sha256=", secret, s);
    if (kind == PFC_FORGE_GITEA)
        return h->signature && fits_hex("", secret, s);
    if (h->signature)
        return h->delivery && h->timestamp && fits_standard(secret, s);
    return h->token && pfc_secret_equal(h->token, secret);
}

static bool is_json(const char *type)
{
    const size_t len = type ? strcspn(type, "; \t") : 0;

    return len == strlen("application/json") && strncasecmp(type, "application/json", len) == 0;
}

static bool is_delivery(const char *id)
{
    if (!id || !id[0] || strlen(id) > DELIVERY_MAX)
        return false;
    for (const char *p = id; *p; p++) {
        if (!isgraph((unsigned char)*p))
            return false;
    }
    return true;
}

pfc_code pfc_webhook_verify(pfc_forge_kind kind, const pfc_webhook_headers *headers,
                            const void *body, size_t len, const char *const *secrets,
                            size_t secrets_len, int64_t now_unix_s, pfc_err *err)
{
    const signing s = { .headers = headers, .body = body, .len = len };
    bool good = false;

    if (len > PFC_WEBHOOK_MAX_BYTES)
        return pfc_err_set(err, PFC_ETOOBIG, "webhook: expected at most %u bytes, got %zu",
                           PFC_WEBHOOK_MAX_BYTES, len);
    /* Every secret is tried, so that the time says nothing about which one fits. */
    for (size_t i = 0; i < secrets_len; i++)
        good |= secrets[i][0] && fits(kind, secrets[i], &s);
    if (good && kind == PFC_FORGE_GITLAB && headers->signature)
        good = is_recent(headers->timestamp, now_unix_s);
    if (!good)
        return pfc_err_set(err, PFC_EDENIED,
                           "webhook: its signature is missing, stale, or made with another secret");
    if (!is_json(headers->content_type))
        return pfc_err_set(err, PFC_EINVAL, "webhook: expected the content type application/json");
    if (!is_delivery(headers->delivery))
        return pfc_err_set(err, PFC_EINVAL, "webhook: expected the id of the delivery in a header");
    return PFC_OK;
}
