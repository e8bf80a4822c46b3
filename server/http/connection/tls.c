/*
 * Certificates: read strictly, shown to clients by a callback, so that renewed files are taken over
 * while the server runs. A handshake may still hold an older pair, so those stay until the end;
 * they are few, because the same files again are no new pair.
 */
#include "server/http/connection/tls.h"

#include <gnutls/abstract.h>
#include <gnutls/x509.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/clock.h"
#include "core/base/hash.h"
#include "core/base/log.h"

#define MAX_CHAIN 16

typedef struct pair {
    struct pair *older;
    gnutls_pcert_st chain[MAX_CHAIN];
    unsigned len;
    gnutls_privkey_t key;
    char print[PFC_SHA256_HEX]; /* of the certificates' text */
    time_t begins, ends;        /* of the server's own certificate */
} pair;

struct httpd_tls {
    pthread_mutex_t lock;
    pair *now; /* guarded by lock */
};

static void pair_free(pair *p)
{
    for (unsigned i = 0; i < p->len; i++)
        gnutls_pcert_deinit(&p->chain[i]);
    gnutls_privkey_deinit(p->key);
    free(p);
}

static pfc_code read_chain(pair *p, const char *pem, pfc_err *err)
{
    const gnutls_datum_t text = { (unsigned char *)(uintptr_t)pem, (unsigned)strlen(pem) };
    unsigned len = MAX_CHAIN;
    gnutls_x509_crt_t own = NULL;
    int failed = gnutls_pcert_list_import_x509_raw(p->chain, &len, &text, GNUTLS_X509_FMT_PEM,
                                                   GNUTLS_X509_CRT_LIST_FAIL_IF_UNSORTED);

    if (failed < 0)
        return pfc_err_set(err, PFC_EINVAL,
                           "--tls-cert: expected PEM certificates, the server's own first and each "
                           "signed by the next, at most %d: %s",
                           MAX_CHAIN, gnutls_strerror(failed));
    p->len = len;
    failed = gnutls_pcert_export_x509(&p->chain[0], &own);
    if (failed < 0)
        return pfc_err_set(err, PFC_EINVAL, "--tls-cert: %s", gnutls_strerror(failed));
    p->begins = gnutls_x509_crt_get_activation_time(own);
    p->ends = gnutls_x509_crt_get_expiration_time(own);
    gnutls_x509_crt_deinit(own);
    pfc_sha256_hex(pem, strlen(pem), p->print);
    return PFC_OK;
}

static pfc_code read_key(pair *p, const char *pem, pfc_err *err)
{
    const gnutls_datum_t text = { (unsigned char *)(uintptr_t)pem, (unsigned)strlen(pem) };
    unsigned char of_cert[32] = { 0 }, of_key[32] = { 1 };
    size_t cert_len = sizeof(of_cert), key_len = sizeof(of_key);
    gnutls_pubkey_t public_key = NULL;
    int failed =
        gnutls_privkey_import_x509_raw(p->key, &text, GNUTLS_X509_FMT_PEM, NULL, GNUTLS_PKCS_PLAIN);

    if (failed < 0)
        return pfc_err_set(err, PFC_EINVAL,
                           "--tls-key: expected a PEM key without a passphrase: %s",
                           gnutls_strerror(failed));
    if (gnutls_pubkey_init(&public_key) < 0)
        return pfc_err_set(err, PFC_EBUG, "--tls-key: GnuTLS makes no key");
    failed = gnutls_pubkey_import_privkey(public_key, p->key, 0, 0);
    if (!failed)
        failed = gnutls_pubkey_get_key_id(public_key, GNUTLS_KEYID_USE_SHA256, of_key, &key_len);
    if (!failed)
        failed = gnutls_pubkey_get_key_id(p->chain[0].pubkey, GNUTLS_KEYID_USE_SHA256, of_cert,
                                          &cert_len);
    gnutls_pubkey_deinit(public_key);
    if (failed < 0)
        return pfc_err_set(err, PFC_EINVAL, "--tls-key: %s", gnutls_strerror(failed));
    if (key_len != cert_len || memcmp(of_key, of_cert, cert_len) != 0)
        return pfc_err_set(err, PFC_EINVAL, "--tls-key: it is not the key of --tls-cert");
    return PFC_OK;
}

/* An expired certificate is served all the same, because the error of the client explains the fault
 * best. */
static void warn_of_dates(const pair *p)
{
    const double now_s = pfc_clock_unix_s();

    if (now_s < (double)p->begins)
        pfc_log(PFC_WARN, "certificate_not_valid_yet", "seconds", (double)p->begins - now_s);
    if (now_s > (double)p->ends)
        pfc_log(PFC_WARN, "certificate_expired", "seconds", now_s - (double)p->ends);
}

pfc_code httpd_tls_renew(httpd_tls *tls, const char *cert, const char *key, bool *renewed,
                         pfc_err *err)
{
    pair *p = pfc_alloc(sizeof(*p));
    pfc_code code = PFC_OK;

    *renewed = false;
    if (gnutls_privkey_init(&p->key) < 0)
        pfc_die("http: GnuTLS makes no key");
    code = read_chain(p, cert, err);
    if (!code)
        code = read_key(p, key, err);
    if (code) {
        pair_free(p);
        return code;
    }
    pthread_mutex_lock(&tls->lock);
    *renewed = !tls->now || strcmp(tls->now->print, p->print) != 0;
    if (*renewed) {
        p->older = tls->now;
        tls->now = p;
    }
    pthread_mutex_unlock(&tls->lock);
    warn_of_dates(p);
    if (!*renewed)
        pair_free(p);
    return PFC_OK;
}

pfc_code httpd_tls_new(const char *cert, const char *key, httpd_tls **out, pfc_err *err)
{
    httpd_tls *tls = pfc_alloc(sizeof(*tls));
    bool renewed = false;
    pfc_code code;

    pthread_mutex_init(&tls->lock, NULL);
    code = httpd_tls_renew(tls, cert, key, &renewed, err);
    if (code) {
        httpd_tls_free(tls);
        return code;
    }
    *out = tls;
    return PFC_OK;
}

void httpd_tls_free(httpd_tls *tls)
{
    if (!tls)
        return;
    while (tls->now) {
        pair *p = tls->now;

        tls->now = p->older;
        pair_free(p);
    }
    pthread_mutex_destroy(&tls->lock);
    free(tls);
}

int64_t httpd_tls_expires(httpd_tls *tls)
{
    int64_t ends;

    pthread_mutex_lock(&tls->lock);
    ends = (int64_t)tls->now->ends;
    pthread_mutex_unlock(&tls->lock);
    return ends;
}

void httpd_tls_connected(httpd_tls *tls, struct MHD_Connection *mhd)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_GNUTLS_SESSION);

    if (info && info->tls_session)
        gnutls_session_set_ptr(info->tls_session, tls);
}

int httpd_tls_present(gnutls_session_t session, const gnutls_datum_t *authorities, int len,
                      const gnutls_pk_algorithm_t *algorithms, int algorithms_len,
                      gnutls_pcert_st **chain, unsigned *chain_len, gnutls_privkey_t *key)
{
    httpd_tls *tls = gnutls_session_get_ptr(session);

    (void)authorities;
    (void)len;
    (void)algorithms;
    (void)algorithms_len;
    if (!tls)
        return -1;
    pthread_mutex_lock(&tls->lock);
    *chain = tls->now->chain;
    *chain_len = tls->now->len;
    *key = tls->now->key;
    pthread_mutex_unlock(&tls->lock);
    return 0;
}
