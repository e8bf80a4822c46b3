/*
 * The names under which the server is asked for. A page of another site can let a name of its own
 * resolve to this machine's loopback address (DNS rebinding); the browser then sends that name in
 * Host, and the page reads what it may not. Such a request is answered with 421.
 */
#ifndef PFC_SERVER_HTTP_HOST_NAMES_H
#define PFC_SERVER_HTTP_HOST_NAMES_H

#include "core/base/err.h"

typedef struct httpd_hosts {
    char **names; /* lower case, without port; owned */
    size_t len, cap;
    bool any; /* no list was given, and the server does not listen on loopback alone */
} httpd_hosts;

/** list: names separated by commas or spaces, NULL: none. url: the dashboard's public URL, whose
 * host is one more name; NULL: none. near: the server listens on a loopback address. */
void httpd_hosts_init(httpd_hosts *hosts, const char *list, const char *url, bool near);
void httpd_hosts_clear(httpd_hosts *hosts);

/** Whether a Host header is one of the names. Literal addresses, `localhost` and names under it
 * always are: no other site can have them. Thread-safe. */
bool httpd_hosts_hold(const httpd_hosts *hosts, const char *host);

#endif
