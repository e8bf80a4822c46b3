/*
 * TLS: certificates, and their replacement while the server runs.
 */
#ifndef PFC_SERVER_HTTP_TLS_H
#define PFC_SERVER_HTTP_TLS_H

#include <gnutls/abstract.h>

#include <microhttpd.h>

#include "core/base/err.h"

typedef struct httpd_tls httpd_tls;

/** Only TLS 1.2 and 1.3, with GnuTLS's default ciphers. */
#define PFC_HTTPD_TLS_PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"
/** From PEM texts; PFC_EINVAL names the invalid setting, also when the key does not belong to the
 * certificate. */
pfc_code httpd_tls_new(const char *cert, const char *key, httpd_tls **out,
                       pfc_err *err) PFC_MUSTCHECK;
/** Replaces the pair from the next handshake on; on failure nothing changes. *renewed: the pair
 * differs. */
pfc_code httpd_tls_renew(httpd_tls *tls, const char *cert, const char *key, bool *renewed,
                         pfc_err *err) PFC_MUSTCHECK;
/** Call it after the daemons have stopped. Accepts NULL. */
void httpd_tls_free(httpd_tls *tls);
/** The time at which the certificate expires, Unix seconds. */
int64_t httpd_tls_expires(httpd_tls *tls);
/** Prepares a new connection, whose handshake calls httpd_tls_present. */
void httpd_tls_connected(httpd_tls *tls, struct MHD_Connection *mhd);
/** gnutls_certificate_retrieve_function2. */
int httpd_tls_present(gnutls_session_t session, const gnutls_datum_t *authorities, int len,
                      const gnutls_pk_algorithm_t *algorithms, int algorithms_len,
                      gnutls_pcert_st **chain, unsigned *chain_len, gnutls_privkey_t *key);

#endif
