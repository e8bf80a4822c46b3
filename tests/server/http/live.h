/*
 * A daemon in the test's own process, with routes that echo, wait, keep their thread or stream, and
 * a client that sends exactly the given bytes on a socket. A failure ends the test.
 */
#ifndef PFC_TESTS_SERVER_HTTP_LIVE_H
#define PFC_TESTS_SERVER_HTTP_LIVE_H

#include <stdatomic.h>

#include "server/http/http.h"

#define DEADLINE_S 240
#define HEAD       "Host: localhost\r\nConnection: close\r\n"

struct pfc_app {
    atomic_int calls;     /* of the waiting handler */
    atomic_bool has_news; /* what it waits for */
    atomic_int busy;      /* threads in the busy handler */
    atomic_bool done;     /* ends it */
    pfc_httpd *http;      /* where a test needs it; set by it */
};

extern const pfc_route live_routes[];
extern const size_t live_routes_len;

/** On a port of its own, with two threads; requests have 60 s to be complete. */
pfc_httpd *live_start(pfc_app *app);
pfc_httpd *live_start_with(pfc_app *app, double request_timeout_s);
/** A connected socket; the caller's to close. */
int live_dial(const pfc_httpd *http);
int live_dial_url(const char *url);
/** All of it; false when the other side has gone. */
bool live_put(int fd, const void *bytes, size_t len);
/** Reads on until `until` (NULL: the end) is in the text that began in `out`; false at the
 * deadline. */
bool live_get_until(int fd, char *out, size_t cap, const char *until);
/** One request, the connection ended by the server or by `Connection: close`; the whole answer. */
void live_ask(const pfc_httpd *http, const char *request, char *out, size_t cap);
void live_ask_url(const char *url, const char *request, char *out, size_t cap);
/** Of an answer; -1: it is none. */
int live_status_of(const char *answer);

#endif
