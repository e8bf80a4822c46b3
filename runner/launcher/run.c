/* `perfci-sandbox run`: one command, started by the server. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "runner/launcher/launcher.h"

#define NOT_STARTED 125

static volatile int connection = -1;

/* The server ends the command and answers then. */
static void on_signal(int signo)
{
    (void)signo;
    (void)shutdown(connection, SHUT_WR);
}

static int open_connection(const char *path, pfc_err *err)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    if (strlen(path) >= sizeof(at.sun_path)) {
        pfc_err_set(err, PFC_EINVAL, "socket: expected a path of at most %zu bytes, got '%s'",
                    sizeof(at.sun_path) - 1, path);
    } else {
        memcpy(at.sun_path, path, strlen(path) + 1);
        if (fd >= 0 && connect(fd, (const struct sockaddr *)&at, sizeof(at)) == 0)
            return fd;
        pfc_err_set(err, PFC_EUNAVAIL, "perfci-sandbox does not answer at %s: %s", path,
                    strerror(errno));
        pfc_err_hint(err, "systemctl status perfci-sandbox.socket");
    }
    if (fd >= 0)
        (void)close(fd);
    return -1;
}

static pfc_code send_request(int fd, char *const *words, size_t len, pfc_err *err)
{
    const int fds[2] = { STDOUT_FILENO, STDERR_FILENO };
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(fds))];
    } control = { 0 };
    pfc_buf text;
    struct iovec part = { 0 };
    struct msghdr message = { .msg_iov = &part,
                              .msg_iovlen = 1,
                              .msg_control = control.bytes,
                              .msg_controllen = sizeof(control.bytes) };
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    pfc_code code = PFC_OK;

    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(fds));
    memcpy(CMSG_DATA(head), fds, sizeof(fds));
    pfc_buf_init(&text, PFC_LAUNCH_MAX_BYTES);
    for (size_t i = 0; i < len; i++)
        pfc_buf_append(&text, words[i], strlen(words[i]) + 1);
    part.iov_base = text.data;
    part.iov_len = text.len;
    if (text.overflow)
        code = pfc_err_set(err, PFC_ETOOBIG, "request: expected at most %u bytes",
                           PFC_LAUNCH_MAX_BYTES);
    else if (sendmsg(fd, &message, MSG_NOSIGNAL) != (ssize_t)text.len)
        code = pfc_err_set(err, PFC_EUNAVAIL, "request to perfci-sandbox: %s", strerror(errno));
    pfc_buf_clear(&text);
    return code;
}

static pfc_code receive_report(int fd, pfc_launch_report *report, pfc_err *err)
{
    ssize_t len;

    do {
        len = recv(fd, report, sizeof(*report), 0);
    } while (len < 0 && errno == EINTR);
    return len == (ssize_t)sizeof(*report) && report->mark == PFC_LAUNCH_MARK
               ? PFC_OK
               : pfc_err_set(err, PFC_EUNAVAIL, "perfci-sandbox ended during a command");
}

int pfc_launcher_run(const char *socket, int report_fd, char *const *words, size_t len)
{
    struct sigaction act = { .sa_handler = on_signal };
    pfc_launch_report report = { .mark = PFC_LAUNCH_MARK };
    pfc_err err = { 0 };
    pfc_code code = PFC_EUNAVAIL;

    connection = open_connection(socket, &err);
    if (connection >= 0) {
        (void)sigaction(SIGTERM, &act, NULL);
        (void)sigaction(SIGINT, &act, NULL);
        code = send_request(connection, words, len, &err);
        if (!code)
            code = receive_report(connection, &report, &err);
    }
    if (code) {
        report = (pfc_launch_report){ .mark = PFC_LAUNCH_MARK, .code = code };
        (void)snprintf(report.reason, sizeof(report.reason), "%s", err.msg);
    }
    if (pwrite(report_fd, &report, sizeof(report), 0) != (ssize_t)sizeof(report) || report.code) {
        (void)fprintf(stderr, "perfci-sandbox: %s\n",
                      report.code ? report.reason : "the report cannot be written");
        return NOT_STARTED;
    }
    return report.signal ? 128 + report.signal : report.exit_status & 0xff;
}
