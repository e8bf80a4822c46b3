#include "tests/core/http/stand_in.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/base.h"

#define MAX_REQUEST (32u * 1024 * 1024)
#define PATIENCE_MS 240000 /* for a peer that stalls: a test that fails, not one that hangs */

static bool wait_for(int fd, int stop_fd, short events)
{
    struct pollfd fds[2] = { { .fd = fd, .events = events }, { .fd = stop_fd, .events = POLLIN } };

    return poll(fds, 2, PATIENCE_MS) > 0 && fds[1].revents == 0;
}

/* Content-Length of the head, or 0. */
static size_t body_length(const char *head)
{
    const char *at = strcasestr(head, "\r\nContent-Length:");

    return at ? strtoul(at + strlen("\r\nContent-Length:"), NULL, 10) : 0;
}

static bool read_request(const stand_in *server, int fd, pfc_buf *in, size_t *head_len)
{
    char chunk[65536];

    *head_len = 0;
    for (;;) {
        const char *end = strstr(pfc_buf_text(in), "\r\n\r\n");
        ssize_t got;

        if (end) {
            *head_len = (size_t)(end - pfc_buf_text(in)) + 4;
            if (in->len >= *head_len + body_length(pfc_buf_text(in)))
                return true;
        }
        if (!wait_for(fd, server->stop_fd[0], POLLIN))
            return false;
        got = read(fd, chunk, sizeof(chunk));
        if (got <= 0)
            return false;
        pfc_buf_append(in, chunk, (size_t)got);
    }
}

static void write_all(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t put = send(fd, bytes, len, MSG_NOSIGNAL);

        if (put <= 0)
            return;
        bytes += put;
        len -= (size_t)put;
    }
}

static void serve(stand_in *server, int fd)
{
    stand_in_req req = { 0 };
    pfc_buf in, out;
    size_t head_len = 0;
    char *first, *second, *line_end;

    pfc_buf_init(&in, MAX_REQUEST);
    pfc_buf_init(&out, MAX_REQUEST);
    if (read_request(server, fd, &in, &head_len)) {
        first = strchr(in.data, ' ');
        second = first ? strchr(first + 1, ' ') : NULL;
        line_end = strstr(in.data, "\r\n");
        if (first && second && line_end) {
            (void)snprintf(req.method, sizeof(req.method), "%.*s", (int)(first - in.data), in.data);
            (void)snprintf(req.path, sizeof(req.path), "%.*s", (int)(second - first - 1),
                           first + 1);
            req.headers = line_end + 2;
            req.body = in.data + head_len;
            req.body_len = in.len - head_len;
            server->answer(&req, &out, server->arg);
            write_all(fd, pfc_buf_text(&out), out.len);
        }
    }
    pfc_buf_clear(&in);
    pfc_buf_clear(&out);
}

static void *run(void *arg)
{
    stand_in *server = arg;

    for (;;) {
        struct pollfd fds[2] = { { .fd = server->listen_fd, .events = POLLIN },
                                 { .fd = server->stop_fd[0], .events = POLLIN } };
        int fd;

        if (poll(fds, 2, -1) < 0)
            continue;
        if (fds[1].revents)
            return NULL;
        fd = accept(server->listen_fd, NULL, NULL);
        if (fd < 0)
            continue;
        serve(server, fd);
        (void)shutdown(fd, SHUT_WR);
        (void)close(fd);
    }
}

static int listen_free(int *port)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t len = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) != 0 || listen(fd, 16) != 0 ||
        getsockname(fd, (struct sockaddr *)&at, &len) != 0)
        pfc_die("stand-in: no socket");
    *port = ntohs(at.sin_port);
    return fd;
}

void stand_in_start(stand_in *server, stand_in_answer *answer, void *arg)
{
    int port = 0;

    *server = (stand_in){ .answer = answer, .arg = arg };
    server->listen_fd = listen_free(&port);
    (void)snprintf(server->url, sizeof(server->url), "http://127.0.0.1:%d", port);
    if (pipe(server->stop_fd) != 0 || pthread_create(&server->thread, NULL, run, server) != 0)
        pfc_die("stand-in: no thread");
}

void stand_in_stop(stand_in *server)
{
    if (write(server->stop_fd[1], "x", 1) != 1)
        pfc_die("stand-in: pipe");
    (void)pthread_join(server->thread, NULL);
    (void)close(server->stop_fd[0]);
    (void)close(server->stop_fd[1]);
    (void)close(server->listen_fd);
}

void stand_in_json(pfc_buf *out, int status, const char *body)
{
    pfc_buf_printf(out,
                   "HTTP/1.1 %d Status\r\nContent-Type: application/json\r\n"
                   "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
                   status, strlen(body), body);
}

int stand_in_free_port(void)
{
    int port = 0;
    int fd = listen_free(&port);

    (void)close(fd);
    return port;
}
