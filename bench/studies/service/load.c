/*
 * The load: one thread with epoll, so that the generator takes little of the machine that it shares
 * with what it measures. Beside it one that asks /healthz as a monitor does, so that what it
 * measures is the service's time and not that of the generator's own queue.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/studies/service/service.h"
#include "core/base/clock.h"
#include "core/base/parse.h"

#define ANSWER_BYTES 8192
#define HEALTH_NS    (50 * PFC_NS_PER_MS)

typedef struct client {
    int fd;
    char *request; /* head and body; the id is written into it */
    size_t len, sent, id_at;
    char answer[ANSWER_BYTES];
    size_t got;
    bool stuck; /* waits until the socket takes more */
    int64_t begin_ns;
} client;

typedef struct times {
    float *ms;
    size_t len, cap;
} times;

typedef struct load {
    const bench_load_opts *opts;
    int epoll;
    client *clients;
    size_t len;
    uint64_t runs;
    int64_t end_ns;
    size_t busy;
    times posts, stored;
    bench_load_result result;
} load;

/* The monitor; its own thread's until it is joined. */
typedef struct probe {
    struct sockaddr_in to;
    atomic_bool stop;
    times asked;
    uint64_t wrong;
} probe;

static void add_time(times *t, int64_t ns)
{
    t->ms = pfc_grow(t->ms, t->len, &t->cap, sizeof(*t->ms));
    t->ms[t->len++] = (float)((double)ns * 1e-6);
}

static int compare_floats(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

float bench_quantile(float *values, size_t len, double q)
{
    qsort(values, len, sizeof(*values), compare_floats);
    return values[(size_t)((double)(len - 1) * q)];
}

static double quantile(times *t, double q)
{
    return t->len ? (double)bench_quantile(t->ms, t->len, q) : 0;
}

static pfc_code parse_url(const char *url, struct sockaddr_in *out, pfc_err *err)
{
    char host[64] = "";
    int64_t port = 0;
    const char *colon = strrchr(url, ':');

    if (strncmp(url, "http://", 7) == 0 && colon && colon > url + 7 &&
        (size_t)(colon - url - 7) < sizeof(host))
        memcpy(host, url + 7, (size_t)(colon - url - 7));
    *out = (struct sockaddr_in){ .sin_family = AF_INET };
    if (!host[0] || inet_pton(AF_INET, host, &out->sin_addr) != 1 ||
        pfc_parse_i64(colon + 1, 1, 65535, "port", &port, NULL))
        return pfc_err_set(err, PFC_EINVAL, "load: expected http://ADDRESS:PORT, got %s", url);
    out->sin_port = htons((uint16_t)port);
    return PFC_OK;
}

static pfc_code connect_client(load *l, client *c, const struct sockaddr_in *to, pfc_err *err)
{
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = c };
    int one = 1;

    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0 || connect(c->fd, (const struct sockaddr *)to, sizeof(*to)))
        return pfc_err_set(err, PFC_EUNAVAIL, "load: connect: %s", strerror(errno));
    (void)setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (fcntl(c->fd, F_SETFL, O_NONBLOCK) || epoll_ctl(l->epoll, EPOLL_CTL_ADD, c->fd, &event))
        return pfc_err_set(err, PFC_EIO, "load: epoll: %s", strerror(errno));
    return PFC_OK;
}

static void make_request(const load *l, client *c)
{
    const bench_load_opts *o = l->opts;

    char *head = pfc_format("POST /api/v1/runs HTTP/1.1\r\nHost: localhost\r\n"
                            "Authorization: Bearer %s\r\nContent-Type: application/json\r\n"
                            "Content-Length: %zu\r\n\r\n",
                            o->token, strlen(o->body));

    c->id_at = strlen(head) + o->id_at;
    c->request = pfc_format("%s%s", head, o->body);
    free(head);
    c->len = strlen(c->request);
}

static pfc_code send_more(load *l, client *c, pfc_err *err)
{
    struct epoll_event event = { .events = EPOLLIN, .data.ptr = c };

    while (c->sent < c->len) {
        ssize_t n = send(c->fd, c->request + c->sent, c->len - c->sent, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0)
            return pfc_err_set(err, PFC_EUNAVAIL, "load: send: %s", strerror(errno));
        c->sent += (size_t)n;
    }
    if (c->stuck == (c->sent < c->len))
        return PFC_OK;
    c->stuck = c->sent < c->len;
    if (c->stuck)
        event.events |= EPOLLOUT;
    if (epoll_ctl(l->epoll, EPOLL_CTL_MOD, c->fd, &event))
        return pfc_err_set(err, PFC_EIO, "load: epoll: %s", strerror(errno));
    return PFC_OK;
}

static pfc_code begin(load *l, client *c, pfc_err *err)
{
    char id[33];

    (void)snprintf(id, sizeof(id), "%016llx%016llx", (unsigned long long)l->opts->seed,
                   (unsigned long long)++l->runs);
    memcpy(c->request + c->id_at, id, 32);
    c->sent = c->got = 0;
    c->begin_ns = pfc_clock_ns();
    l->busy++;
    return send_more(l, c, err);
}

/* Length of the whole answer once its head is here; 0: not yet. */
static size_t answer_length(const client *c)
{
    const char *end = memmem(c->answer, c->got, "\r\n\r\n", 4);
    const char *length;

    if (!end)
        return 0;
    length = strcasestr(c->answer, "content-length:");
    return (size_t)(end + 4 - c->answer) +
           (length && length < end ? strtoul(length + 15, NULL, 10) : 0);
}

static void finish(load *l, client *c)
{
    const int64_t now_ns = pfc_clock_ns();
    const long status = strtol(c->answer + 9, NULL, 10);

    l->busy--;
    add_time(&l->posts, now_ns - c->begin_ns);
    if (status == 201) {
        l->result.accepted++;
        add_time(&l->stored, now_ns - c->begin_ns);
    } else if (status == 503 || status == 429)
        l->result.refused++;
    else
        l->result.wrong++;
}

static pfc_code receive(load *l, client *c, pfc_err *err)
{
    size_t want;
    ssize_t n = recv(c->fd, c->answer + c->got, sizeof(c->answer) - 1 - c->got, 0);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return PFC_OK;
    if (n <= 0)
        return pfc_err_set(err, PFC_EUNAVAIL, "load: the server closed a connection");
    c->got += (size_t)n;
    c->answer[c->got] = '\0';
    want = answer_length(c);
    if (!want || c->got < want)
        return PFC_OK;
    finish(l, c);
    return pfc_clock_ns() < l->end_ns ? begin(l, c, err) : PFC_OK;
}

static pfc_code run_load(load *l, pfc_err *err)
{
    struct epoll_event events[64];
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < l->len && !code; i++)
        code = begin(l, &l->clients[i], err);
    while (!code && l->busy) {
        int n = epoll_wait(l->epoll, events, 64, 10);
        int64_t now_ns = pfc_clock_ns();

        for (int i = 0; i < n && !code; i++) {
            client *c = events[i].data.ptr;

            if (events[i].events & EPOLLOUT)
                code = send_more(l, c, err);
            if (!code && (events[i].events & (EPOLLIN | EPOLLERR | EPOLLHUP)))
                code = receive(l, c, err);
        }
        if (!code && now_ns > l->end_ns + 60 * PFC_NS_PER_S)
            code =
                pfc_err_set(err, PFC_ETIMEOUT, "load: %zu requests were never answered", l->busy);
    }
    return code;
}

/* ---- the monitor ---- */

/* One question on a connection of its own, as monitors ask; false: no answer of 200. */
static bool ask_health(const struct sockaddr_in *to)
{
    static const char request[] =
        "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    char answer[ANSWER_BYTES];
    size_t got = 0;
    ssize_t n = -1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd >= 0 && connect(fd, (const struct sockaddr *)to, sizeof(*to)) == 0 &&
        send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL) == (ssize_t)sizeof(request) - 1) {
        while ((n = recv(fd, answer + got, sizeof(answer) - got, 0)) > 0)
            got += (size_t)n;
    }
    if (fd >= 0)
        (void)close(fd);
    return n == 0 && got > 12 && memcmp(answer, "HTTP/1.1 200", 12) == 0;
}

static void *probe_main(void *arg)
{
    const struct sched_param first = { .sched_priority = 1 };
    probe *p = arg;

    /* A monitor has a machine of its own: here it must not queue behind what it watches. Where that
     * is not allowed its own waiting counts, too. */
    (void)pthread_setschedparam(pthread_self(), SCHED_FIFO, &first);

    while (!atomic_load(&p->stop)) {
        const int64_t begin_ns = pfc_clock_ns();

        p->wrong += !ask_health(&p->to);
        add_time(&p->asked, pfc_clock_ns() - begin_ns);
        pfc_clock_sleep_ns(HEALTH_NS);
    }
    return NULL;
}

/* ---- all of it ---- */

/* Raises the limit as far as allowed; connections beyond it fail with an error later. */
static void raise_open_files(unsigned clients)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit))
        return;
    limit.rlim_cur = PFC_MAX(limit.rlim_cur, PFC_MIN(limit.rlim_max, (rlim_t)clients + 64));
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

pfc_code bench_load(const bench_load_opts *opts, bench_load_result *out, pfc_err *err)
{
    load l = { .opts = opts, .len = opts->clients };
    probe monitor = { 0 };
    pthread_t thread;
    bool probing = false;
    int64_t begin_ns;
    pfc_code code = parse_url(opts->url, &monitor.to, err);

    if (code)
        return code;
    raise_open_files(opts->clients);
    l.epoll = epoll_create1(EPOLL_CLOEXEC);
    l.clients = pfc_calloc(l.len, sizeof(*l.clients));
    for (size_t i = 0; i < l.len; i++)
        l.clients[i].fd = -1;
    for (size_t i = 0; i < l.len && !code; i++) {
        make_request(&l, &l.clients[i]);
        code = connect_client(&l, &l.clients[i], &monitor.to, err);
    }
    begin_ns = pfc_clock_ns();
    l.end_ns = begin_ns + (int64_t)(opts->seconds * 1e9);
    if (!code && pthread_create(&thread, NULL, probe_main, &monitor))
        code = pfc_err_set(err, PFC_EIO, "load: no thread for the monitor");
    probing = !code;
    if (!code)
        code = run_load(&l, err);
    l.result.seconds = (double)(pfc_clock_ns() - begin_ns) * 1e-9;
    atomic_store(&monitor.stop, true);
    if (probing)
        (void)pthread_join(thread, NULL);
    l.result.wrong += monitor.wrong;
    l.result.p50_ms = quantile(&l.posts, 0.5);
    l.result.p99_ms = quantile(&l.posts, 0.99);
    l.result.accepted_p99_ms = quantile(&l.stored, 0.99);
    l.result.health_p99_ms = quantile(&monitor.asked, 0.99);
    if (!code)
        *out = l.result;
    for (size_t i = 0; i < l.len; i++) {
        if (l.clients[i].fd >= 0)
            (void)close(l.clients[i].fd);
        free(l.clients[i].request);
    }
    free(l.clients);
    free(l.posts.ms);
    free(l.stored.ms);
    free(monitor.asked.ms);
    (void)close(l.epoll);
    return code;
}
