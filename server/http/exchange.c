/*
 * One exchange, from the request line to the last byte of the answer: libmicrohttpd's callbacks
 * around a route's handler.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/rng.h"
#include "server/http/docs_site.h"
#include "server/http/internal.h"

static int64_t seconds_ns(double s)
{
    return (int64_t)(s * 1e9);
}

void *httpd_on_request_line(void *cls, const char *uri, struct MHD_Connection *mhd)
{
    pfc_httpd *http = cls;
    httpd_exchange *x = pfc_alloc(sizeof(*x));
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

    atomic_fetch_add(&http->active, 1);
    x->http = http;
    x->mhd = mhd;
    x->conn = info ? info->socket_context : NULL;
    x->uri = pfc_strndup(uri, strnlen(uri, PFC_HTTPD_MAX_URI + 1));
    x->begin_ns = pfc_clock_ns();
    x->route_index = http->opts.routes_len;
    pfc_random_id(x->id);
    pfc_buf_init(&x->body, PFC_HTTPD_MAX_BODY);
    if (x->conn && x->conn->health)
        httpd_raise_priority();
    if (x->conn)
        httpd_conn_deadline(http, x->conn, x->begin_ns + seconds_ns(http->opts.request_timeout_s),
                            true);
    return x;
}

static void log_exchange(const httpd_exchange *x, int64_t now_ns,
                         enum MHD_RequestTerminationCode how)
{
    char path[200];
    size_t len = strcspn(x->uri, "?");
    const pfc_log_arg args[] = {
        PFC_LOG_ARG("method", (const char *)x->method),
        PFC_LOG_ARG("path", (const char *)path),
        PFC_LOG_ARG("status", x->status),
        PFC_LOG_ARG("bytes", x->sent_bytes),
        PFC_LOG_ARG("ms", (double)(now_ns - x->begin_ns) * 1e-6),
        PFC_LOG_ARG("complete", (bool)(how == MHD_REQUEST_TERMINATED_COMPLETED_OK)),
        PFC_LOG_ARG("address", (const char *)x->address),
        PFC_LOG_ARG("token", x->auth.token_id), /* 0: none, or a refused one */
        PFC_LOG_ARG("run", x->run_id),          /* last: left out when there is none */
    };

    if (pfc_log_get_level() > PFC_INFO)
        return;
    /* Without the query, which can contain confidential names. */
    (void)snprintf(path, sizeof(path), "%.*s", (int)PFC_MIN(len, sizeof(path) - 1), x->uri);
    pfc_log_set_request(x->id);
    pfc_log_write(PFC_INFO, "request", args, PFC_ARRAY_LEN(args) - (x->run_id == 0));
    pfc_log_set_request(NULL);
}

/* Also of requests whose body was never read. */
static void report_refusal(const httpd_exchange *x)
{
    const pfc_httpd *http = x->http;

    if (!http->opts.refused || x->route_index >= http->opts.routes_len ||
        strcmp(http->opts.routes[x->route_index].method, "GET") == 0 ||
        (x->status != 401 && x->status != 403 && x->status != 404))
        return;
    http->opts.refused(http->opts.app, &http->opts.routes[x->route_index], &x->auth, x->address,
                       x->status);
}

void httpd_on_completed(void *cls, struct MHD_Connection *mhd, void **con_cls,
                        enum MHD_RequestTerminationCode how)
{
    pfc_httpd *http = cls;
    httpd_exchange *x = *con_cls;
    int64_t now_ns = pfc_clock_ns();

    (void)mhd;
    if (!x)
        return;
    *con_cls = NULL;
    httpd_upload_end(x);
    httpd_events_forget(x);
    if (x->later)
        x->later->release(x->ticket);
    httpd_request_release(x);
    httpd_metrics_count(http, x, now_ns);
    log_exchange(x, now_ns, how);
    report_refusal(x);
    if (x->conn)
        httpd_conn_idle(http, x->conn, now_ns);
    httpd_request_forget(x);
    free(x->uri);
    free(x->decoded);
    free(x);
    atomic_fetch_sub(&http->active, 1);
}

static pfc_code answer_options(const char *allow, pfc_reply *reply)
{
    (void)pfc_reply_empty(reply);
    if (snprintf(reply->allow, sizeof(reply->allow), "%s, OPTIONS", allow) >=
        (int)sizeof(reply->allow))
        pfc_die("http: the methods of one path exceed the Allow header");
    return PFC_OK;
}

/* The paths that the listener for operations serves; rate limits do not apply to them. */
static const char *const operational[] = { "/healthz", "/readyz", "/metrics", "/version", NULL };
static const char *const probes[] = { "/healthz", "/readyz", NULL };

static bool is_one_of(const char *path, size_t len, const char *const *paths)
{
    while (*paths && (strlen(*paths) != len || memcmp(*paths, path, len) != 0))
        paths++;
    return *paths != NULL;
}

/* For HEAD, libmicrohttpd omits the body of the answer. */
static const char *method_of(const httpd_exchange *x)
{
    return strcmp(x->method, "HEAD") == 0 ? "GET" : x->method;
}

/* Matches path and query with a route; on failure *status is the HTTP status. */
static pfc_code find_route(httpd_exchange *x, pfc_req *req, pfc_reply *reply, int *status,
                           bool *answered, pfc_err *err)
{
    const pfc_httpd *http = x->http;
    size_t path_len = strcspn(x->uri, "?");
    httpd_routed found;

    if (strlen(x->uri) > PFC_HTTPD_MAX_URI) {
        *status = 414;
        return pfc_err_set(err, PFC_EINVAL, "the address is over %d bytes", PFC_HTTPD_MAX_URI);
    }
    if (x->conn && x->conn->ops && !is_one_of(x->uri, path_len, operational))
        return pfc_err_set(err, PFC_ENOTFOUND,
                           "this port answers /healthz, /readyz, /metrics and /version");
    /* Parameters never grow by decoding; names and terminators take the rest. */
    free(x->decoded);
    x->decoded = pfc_alloc(2 * strlen(x->uri) + 256);
    found =
        httpd_route(http->opts.routes, http->opts.routes_len, x->uri, path_len, x->decoded, req);
    memcpy(reply->allow, found.allow, sizeof(reply->allow));
    if (req->route)
        x->route_index = (size_t)(req->route - http->opts.routes);
    if (found.match == HTTPD_BAD_PATH)
        return pfc_err_set(err, PFC_EINVAL, "the path holds a broken escape or control byte");
    if (found.match == HTTPD_NO_METHOD && strcmp(req->method, "OPTIONS") == 0) {
        *answered = true;
        return answer_options(found.allow, reply);
    }
    if (found.match == HTTPD_NO_METHOD) {
        *status = 405;
        return pfc_err_set(err, PFC_EINVAL, "%s is not answered here; try %s", x->method,
                           reply->allow);
    }
    if (found.match == HTTPD_NO_PATH) {
        char *path = pfc_strndup(x->uri, path_len);
        pfc_code code = PFC_ENOTFOUND;

        if (strcmp(req->method, "GET") == 0)
            code = httpd_docs_owns(path) ? httpd_docs_serve(http->docs, path, reply, err)
                                         : pfc_static_serve(path, reply, err);
        else
            (void)pfc_err_set(err, PFC_ENOTFOUND, "nothing is at this path");
        *answered = code == PFC_OK ||
                    (strcmp(req->method, "GET") == 0 && httpd_static_missing(req, path, reply));
        free(path);
        return *answered ? PFC_OK : code;
    }
    return httpd_query_parse(x->uri[path_len] ? x->uri + path_len + 1 : "", req->route->query,
                             x->decoded + found.used, req, err);
}

/* The limit does not apply to health and readiness probes, because monitoring must always get an
 * answer. It applies to every other request, including metrics and unknown paths. */
static bool over_address_limit(httpd_exchange *x)
{
    const pfc_httpd *http = x->http;
    const size_t path_len = strcspn(x->uri, "?");
    const unsigned char *key;
    pfc_address peer;
    size_t len;

    if (x->counted || !x->conn || x->conn->ops || is_one_of(x->uri, path_len, probes))
        return false;
    x->counted = true;
    peer = x->conn->peer;
    if (pfc_nets_hold(&http->trusted, &peer) &&
        !httpd_forwarded_for(x->proxy_text, &http->trusted, &peer))
        return false;
    len = httpd_peer_key(&peer, &key);
    x->retry_s = httpd_limits_take(http->limits, atomic_load(&http->rate_address), 'a', key, len,
                                   pfc_clock_ns());
    return x->retry_s > 0;
}

/* Counts the threads of the pool that are in handlers: those for health and operations live on
 * however the pool does. */
static pfc_code handle(httpd_exchange *x, const pfc_req *req, pfc_reply *reply, pfc_err *err)
{
    pfc_httpd *http = x->http;
    const bool pooled = !x->conn || (!x->conn->health && !x->conn->ops);
    pfc_code code;

    if (!pooled)
        return req->route->handle(http->opts.app, req, reply, err);
    atomic_store(&http->handler_ns, pfc_clock_ns());
    atomic_fetch_add(&http->handling, 1);
    code = req->route->handle(http->opts.app, req, reply, err);
    atomic_fetch_sub(&http->handling, 1);
    atomic_store(&http->handler_ns, pfc_clock_ns());
    return code;
}

/* Fills *reply, whatever happens. */
static void call_handler(httpd_exchange *x, pfc_reply *reply)
{
    pfc_httpd *http = x->http;
    pfc_req req = {
        .id = x->id,
        .path = x->uri,
        .method = method_of(x),
        .idempotency_key = x->key_text,
        .accept = x->types_text,
        .headers = x->mhd,
        .address = x->address,
        .session = x->cookie_text,
        .own_page = x->own_page,
    };
    pfc_err err = { 0 };
    bool answered = false;
    int status = 0;
    pfc_code code;

    req.waited_s = (double)(pfc_clock_ns() - x->complete_ns) * 1e-9;
    req.again = x->waited && !x->later;
    req.stopping = atomic_load(&http->stopping);

    code = over_address_limit(x) ? httpd_too_many(http, "this address", &status, &err) : PFC_OK;
    if (!code && x->fault_status) {
        memcpy(reply->allow, x->allow, sizeof(reply->allow));
        httpd_reply_error(reply, x->fault_status, &x->fault);
        return;
    }
    if (!code)
        code = find_route(x, &req, reply, &status, &answered, &err);
    if (x->later) {
        req.auth = x->auth;
        req.later = x->ticket;
        req.body = "";
    } else {
        if (!code && !answered)
            code = httpd_authorise(http, x, &req, &status, &err);
        if (!code && !answered)
            code = httpd_request_body(x, &req, &err);
    }
    if (!code && !answered) {
        reply->allow[0] = '\0';
        code = handle(x, &req, reply, &err);
        x->auth = req.auth;
    }
    if (!code)
        return;
    if (err.code == PFC_OK)
        err.code = code;
    if (status == 0)
        status = reply->status == 401 ? 401 : httpd_status_of(code);
    if (status >= 500)
        pfc_log(status == 500 ? PFC_ERROR : PFC_WARN, "request_failed", "status", status, "reason",
                (const char *)err.msg);
    if (status != 405)
        reply->allow[0] = '\0';
    httpd_reply_error(reply, status, &err);
}

/* Suspends, then starts the work; false: the server stops, call the handler again at once. */
static bool give_away(httpd_exchange *x, const pfc_reply *reply)
{
    uint64_t tag;

    x->later = reply->later;
    x->ticket = reply->ticket;
    httpd_request_release(x);
    tag = httpd_events_wait_tag(x, pfc_clock_ns() + seconds_ns(reply->wait_s));
    if (tag)
        reply->later->start(x->http->opts.app, reply->ticket, tag);
    return tag != 0;
}

#define STREAM_RETRY_S 30

/* True when the client has too many streams, or the server has: *reply is the error. */
static bool refuse_stream(httpd_exchange *x, pfc_reply *reply)
{
    const int status = httpd_events_refuse(x);
    pfc_err err = { 0 };

    if (!status)
        return false;
    (void)pfc_err_set(
        &err, PFC_EUNAVAIL,
        status == 429 ? "too many event streams and waiting requests of this token: poll, or "
                        "close others"
                      : "too many event streams and waiting requests: poll, or try again later");
    x->retry_s = STREAM_RETRY_S;
    httpd_reply_error(reply, status, &err);
    return true;
}

static enum MHD_Result answer(httpd_exchange *x, pfc_reply *reply, bool close)
{
    pfc_httpd *http = x->http;
    const int64_t write_ns = seconds_ns(PFC_HTTPD_WRITE * http->opts.request_timeout_s);

    if (x->conn)
        httpd_conn_deadline(http, x->conn, pfc_clock_ns() + write_ns, false);
    return httpd_reply_send(x, reply,
                            close || atomic_load(&http->stopping) || (x->conn && x->conn->health));
}

static enum MHD_Result dispatch(httpd_exchange *x)
{
    pfc_httpd *http = x->http;

    for (;;) {
        bool crowded = false;
        const httpd_events_seen seen = httpd_events_so_far(&http->events);
        uint64_t ends = atomic_load(&http->events.ends);
        pfc_reply reply = { 0 };
        int64_t end_ns;

        pfc_log_set_request(x->id);
        call_handler(x, &reply);
        pfc_log_set_request(NULL);

        if (reply.events)
            crowded = refuse_stream(x, &reply);
        if (reply.events) {
            httpd_request_release(x);
            return httpd_events_stream(x, reply.project, ends);
        }
        if (reply.later) {
            if (give_away(x, &reply))
                return MHD_YES;
            continue;
        }
        if (!reply.wait_topic)
            return answer(x, &reply, crowded);
        end_ns = x->complete_ns + seconds_ns(reply.wait_s);
        if (httpd_events_wait(x, reply.wait_topic, reply.wish, seen, end_ns))
            return MHD_YES;
        if (x->no_wait) {
            (void)pfc_reply_empty(&reply);
            reply.cache = "no-store";
            return answer(x, &reply, false);
        }
    }
}

/* True when the client disconnected while its long poll was pending: libmicrohttpd does not read
 * suspended connections, and a job leased to a disconnected runner would be blocked until the lease
 * expires. */
static bool hung_up(const httpd_exchange *x)
{
    struct pollfd client = { .fd = x->conn ? x->conn->fd : -1, .events = POLLRDHUP };

    return x->waited && !x->later && poll(&client, 1, 0) > 0;
}

/* Refuses a long body before it is stored when the client may not send it or the route takes none,
 * so that unauthorised clients cannot fill the memory. The body is still read: a client that cannot
 * send all of it does not read the error. */
static void check_before_body(httpd_exchange *x)
{
    pfc_httpd *http = x->http;
    pfc_req req = { .id = x->id, .path = x->uri, .method = method_of(x) };
    pfc_reply reply = { 0 };
    pfc_err err = { 0 };
    bool answered = false;
    int status = 0;
    pfc_code code;

    if (httpd_request_length(x) <= PFC_HTTPD_EARLY_BYTES && !httpd_request_chunked(x))
        return;
    code = over_address_limit(x) ? httpd_too_many(http, "this address", &status, &err)
                                 : find_route(x, &req, &reply, &status, &answered, &err);
    if (!code && !answered)
        code = httpd_authorise(http, x, &req, &status, &err);
    if (!code && !answered && !httpd_upload_begin(x)) {
        x->retry_s = http->opts.request_timeout_s;
        code =
            httpd_too_many(http, "this token: it sends several long bodies already", &status, &err);
        x->short_time = true;
    }
    if (code) {
        if (err.code == PFC_OK)
            err.code = code;
        if (status == 405)
            memcpy(x->allow, reply.allow, sizeof(x->allow));
        httpd_request_refuse(x, status, &err);
    } else {
        x->over = answered || !req.route->body;
    }
    httpd_reply_clear(&reply);
}

/* Before the body: a fault that makes its end unknowable is answered at once, and the socket ends.
 */
static enum MHD_Result begin(httpd_exchange *x, const char *method, const char *version)
{
    pfc_httpd *http = x->http;
    double body_s;
    int status;

    x->seen = true;
    x->chunks = strcmp(version, "HTTP/1.1") == 0;
    (void)snprintf(x->method, sizeof(x->method), "%s", method);
    status = httpd_request_headers(x);
    if (status) {
        pfc_reply reply = { 0 };

        httpd_reply_error(&reply, status, &x->fault);
        return httpd_reply_send(x, &reply, true);
    }
    check_before_body(x);
    /* A body that is over the client's limit is dropped, and gets no time for its length. */
    body_s = x->short_time ? 0 : (double)httpd_request_length(x) / PFC_HTTPD_BODY_RATE;
    if (x->conn)
        httpd_conn_deadline(http, x->conn,
                            x->begin_ns + seconds_ns(http->opts.request_timeout_s + body_s), true);
    return MHD_YES;
}

enum MHD_Result httpd_on_access(void *cls, struct MHD_Connection *mhd, const char *url,
                                const char *method, const char *version, const char *upload,
                                size_t *upload_size, void **con_cls)
{
    httpd_exchange *x = *con_cls;

    (void)cls;
    (void)mhd;
    (void)url;
    if (!x)
        return MHD_NO;
    if (!x->seen)
        return begin(x, method, version);
    if (*upload_size > 0) {
        x->received += *upload_size;
        httpd_request_data(x, upload, *upload_size);
        *upload_size = 0;
        return x->dropped > PFC_HTTPD_DRAIN_BYTES ? MHD_NO : MHD_YES;
    }
    if (!x->complete) {
        x->complete = true;
        httpd_upload_end(x);
        httpd_request_ends(x);
        x->complete_ns = pfc_clock_ns();
        if (x->conn)
            httpd_conn_deadline(x->http, x->conn, 0, false);
    }
    return hung_up(x) ? MHD_NO : dispatch(x);
}
