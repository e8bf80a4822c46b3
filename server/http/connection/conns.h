/*
 * Connections: the sockets and their addresses, the acceptor threads, the list of open connections
 * with its limits and deadlines.
 */
#ifndef PFC_SERVER_HTTP_CONNS_H
#define PFC_SERVER_HTTP_CONNS_H

#include <sys/socket.h>

#include <microhttpd.h>

#include "core/base/address.h"
#include "server/http/http.h"

#define PFC_HTTPD_IDLE_CHECK_NS                                                                    \
    PFC_NS_PER_S           /* how often idle connections are checked for a new request */
#define PFC_HTTPD_IDLE  2  /* request time-outs between two requests of one connection */
#define PFC_HTTPD_SPARE 16 /* connections beyond the limit, for health probes */
#define PFC_HTTPD_OPS   32 /* connections of the listener for operations */

/** One socket. */
typedef struct httpd_conn {
    struct httpd_conn *prev;
    struct httpd_conn *next;
    int fd;
    struct sockaddr_storage from;
    socklen_t from_len;
    pfc_address peer;
    bool health; /* served by the thread for health: one request, then closed */
    bool ops;    /* accepted by the listener for operations */
    bool spare;  /* beyond the limit: served if it requests /healthz, else closed */
    enum { HTTPD_ACCEPTED, HTTPD_HANDED_OVER, HTTPD_SERVED } stage;
    int64_t deadline_ns; /* shut down after it; 0: none */
    bool reading;        /* the deadline is for the client to send */
    bool idle;        /* between two requests: the first byte of the next one starts its deadline */
    bool authorised;  /* a request on it was authorised by a token */
    bool admitted;    /* the current request was */
    bool evicted;     /* shut down for a newer one; no longer counts */
    int64_t since_ns; /* accepted, or idle since */
    uint64_t received; /* bytes at the last check while idle; 0: not checked yet */
    int unread;        /* bytes that libmicrohttpd had not read at the last check */
} httpd_conn;

typedef struct httpd_acceptor httpd_acceptor;

/* conns.c */
/** Raises the process's limit of open files for so many connections; returns how many are possible.
 */
unsigned httpd_raise_file_limit(unsigned connections);
/**
 * Adds a new socket to the list; NULL: the limit is reached. The limit is opts.connections, where
 * an unused connection is closed for the new one (evict.c), plus PFC_HTTPD_SPARE connections whose
 * first bytes can be read before they are handed over (`can_peek`); with `ops`, PFC_HTTPD_OPS.
 * *soon, when NULL is returned: a place may be free in a moment.
 */
httpd_conn *httpd_conn_admit(pfc_httpd *http, int fd, const struct sockaddr_storage *from,
                             socklen_t len, bool can_peek, bool ops, bool *soon);
/** The spare (or ops) connection to close for a new one: the oldest that has sent nothing. NULL:
 * all have sent something, or the limit is not reached. */
httpd_conn *httpd_conns_silent(pfc_httpd *http, bool ops);
/** The connection to close for a new one; NULL: all are in use. *soon is set when one of them is
 * about to be read or handed over, and may be unused in a moment. Called with the lock held. */
httpd_conn *httpd_conn_victim(const pfc_httpd *http, int64_t now_ns, bool *soon);
/** Notes that the current request of the connection was authorised by a token. */
void httpd_conn_authorised(pfc_httpd *http, httpd_conn *conn);
/** True when bytes arrived that this server has not read. */
bool httpd_conn_unread(const httpd_conn *conn);
/** Marks the socket as libmicrohttpd's. */
void httpd_conn_hand_over(pfc_httpd *http, httpd_conn *conn, bool health);
/** Removes the connection from the list; the caller closes the socket. */
void httpd_conn_drop(pfc_httpd *http, httpd_conn *conn);
/** A connection of this acceptor that is not handed over; NULL: none. */
httpd_conn *httpd_conns_accepted(pfc_httpd *http, bool ops);
/** True when any connection has sent bytes that are not read yet. */
bool httpd_conns_unread(pfc_httpd *http);
/** MHD_NotifyConnectionCallback: maintains the list. */
void httpd_on_connection(void *cls, struct MHD_Connection *mhd, void **socket_context,
                         enum MHD_ConnectionNotificationCode what);
/** Shuts the connection down after deadline_ns (0: never), unless it is this server that has not
 * read. */
void httpd_conn_deadline(pfc_httpd *http, httpd_conn *conn, int64_t deadline_ns, bool reading);
/** The connection is between two requests, for at most PFC_HTTPD_IDLE request time-outs. */
void httpd_conn_idle(pfc_httpd *http, httpd_conn *conn, int64_t now_ns);
/** Starts the deadline of idle connections that have begun another request: libmicrohttpd reports a
 * request only after its first line is complete. */
void httpd_conns_check_idle(pfc_httpd *http, int64_t now_ns);
/** Wakes the threads of libmicrohttpd that have left requests unread since the last call
 * (epoll_wake.c). */
void httpd_conns_wake_threads(pfc_httpd *http);
/** Shuts down the sockets that are past their deadline, or all of them. */
void httpd_conns_reap(pfc_httpd *http, int64_t now_ns, bool all);

/* accept.c */
/** Accepts on `listener`, which it owns from then on, until it is closed; ops: for operations,
 * plain HTTP. */
pfc_code httpd_acceptor_open(pfc_httpd *http, int listener, bool ops, httpd_acceptor **out,
                             pfc_err *err) PFC_MUSTCHECK;
/** Stops accepting; connections that have sent something are handed over. Accepts NULL. */
void httpd_acceptor_close(httpd_acceptor *acceptor);
/** Raises the scheduling priority of the calling thread, where permitted: for threads with short
 * work that must not be delayed. */
void httpd_raise_priority(void);

/* listen.c */
/** True when the socket is bound to a loopback address (127.0.0.0/8, ::1). */
bool httpd_is_loopback(int fd);
/** A socket that another process has bound: checks that it listens for streams, and writes its URL.
 */
pfc_code httpd_adopt(int fd, char *url, size_t url_cap, pfc_err *err) PFC_MUSTCHECK;
/** `flag` names the setting in errors: "--listen". */
pfc_code httpd_listen(const char *flag, const char *address, int *out_fd, char *url, size_t url_cap,
                      pfc_err *err) PFC_MUSTCHECK;

/* peer.c */
/** The key that limits count by: the IPv4 address, or the IPv6 address's /64. Returns its length;
 * *bytes points into *peer. */
size_t httpd_peer_key(const pfc_address *peer, const unsigned char **bytes);
/** The client of a trusted proxy: the last address of X-Forwarded-For that is not itself trusted.
 * False when the header has none, or cannot be parsed. */
bool httpd_forwarded_for(const char *header, const pfc_nets *trusted, pfc_address *out);

#endif
