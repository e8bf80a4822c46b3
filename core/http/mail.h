/*
 * Sends one message by SMTP (libcurl). Certificates are verified; where the server is not this
 * machine's, STARTTLS or smtps is required, so that no password and no message goes out in clear.
 * Thread-safe.
 */
#ifndef PFC_CORE_HTTP_MAIL_H
#define PFC_CORE_HTTP_MAIL_H

#include <stdint.h>
#include <sys/socket.h>

#include "core/base/err.h"

#define PFC_MAIL_MAX_ADDRESS    254 /* bytes, RFC 5321 */
#define PFC_MAIL_MAX_RECIPIENTS 20

typedef struct pfc_mail_opts {
    const char *url;              /* "smtp://HOST[:PORT]" or "smtps://HOST[:PORT]" */
    const char *user;             /* with password; NULL: no login */
    const char *password;         /* of user */
    bool clear;                   /* the server is this machine's: TLS is not required */
    double timeout_s;             /* of the whole transfer; 0: 20 */
    bool (*cancelled)(void *arg); /* asked about once a second; true ends it; NULL: never */
    void *cancelled_arg;
    bool (*may_reach)(void *arg, const struct sockaddr *address); /* NULL: anywhere */
    void *may_reach_arg;
    const char *name; /* in messages instead of the URL; NULL: the URL */
} pfc_mail_opts;

typedef struct pfc_mail {
    const char *from;      /* an address, see pfc_mail_is_address */
    const char *const *to; /* addresses */
    size_t to_len;         /* 1..PFC_MAIL_MAX_RECIPIENTS */
    const char *subject;   /* UTF-8; control characters become blanks; cut at 200 bytes */
    const char *id;        /* of the message: equal for every try; letters, digits, '-', '.' */
    const char *text;      /* UTF-8 */
    int64_t date_unix_s;   /* of the Date header */
} pfc_mail;

/** "local@domain" of printable ASCII without blanks, quotes, commas and angle brackets. */
bool pfc_mail_is_address(const char *text);

/**
 * PFC_EINVAL: contradictory arguments, or the server refuses for good (5xx); PFC_EDENIED: the
 * login, or may_reach; PFC_EUNAVAIL and PFC_ETIMEOUT: the same call may succeed later (also 4xx);
 * PFC_ECONFLICT: cancelled; PFC_EIO: TLS and the rest. Messages never hold the password.
 */
pfc_code pfc_mail_send(const pfc_mail_opts *opts, const pfc_mail *mail, pfc_err *err) PFC_MUSTCHECK;

#endif
