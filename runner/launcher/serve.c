/* `perfci-sandbox serve`: accepts requests, and runs each in a process of its own. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/log.h"
#include "core/base/parse.h"
#include "core/base/process/proc.h"
#include "runner/launcher/launcher.h"
#include "runner/sandbox/cgroup.h"

#define PASSED_FD       3 /* of systemd: SD_LISTEN_FDS_START */
#define REQUEST_WAIT_MS 5000

typedef struct server {
    const pfc_launcher_opts *opts;
    int fd;
    pfc_sandbox *sandbox; /* NULL: not opened yet, or this machine cannot isolate */
    pfc_cgroups *cgroups;
    unsigned running; /* processes of requests */
} server;

/* ---- the socket ---- */

/* The one that systemd passes, or -1. */
static int passed_socket(void)
{
    const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
    int64_t owner = 0, n = 0;

    if (!pid || !count || pfc_parse_i64(pid, 1, INT64_MAX, "LISTEN_PID", &owner, NULL) ||
        pfc_parse_i64(count, 1, 1, "LISTEN_FDS", &n, NULL) || owner != getpid())
        return -1;
    (void)fcntl(PASSED_FD, F_SETFD, FD_CLOEXEC);
    return PASSED_FD;
}

static pfc_code listen_at(const char *path, int *out, pfc_err *err)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    const mode_t mask = umask(0077);
    int fd;

    if (strlen(path) >= sizeof(at.sun_path)) {
        (void)umask(mask);
        return pfc_err_set(err, PFC_EINVAL, "--socket: expected at most %zu bytes, got '%s'",
                           sizeof(at.sun_path) - 1, path);
    }
    memcpy(at.sun_path, path, strlen(path) + 1);
    (void)unlink(path); /* of a server that was killed */
    fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&at, sizeof(at)) != 0 ||
        listen(fd, PFC_LAUNCHER_MAX_COMMANDS) != 0) {
        pfc_err_set(err, PFC_EUNAVAIL, "--socket %s: %s", path, strerror(errno));
        if (fd >= 0)
            (void)close(fd);
        (void)umask(mask);
        return PFC_EUNAVAIL;
    }
    (void)umask(mask);
    *out = fd;
    return PFC_OK;
}

/* ---- one request ---- */

typedef struct request {
    int fd;      /* the connection */
    int outs[2]; /* stdout and stderr of the command */
    pfc_launch_request *words;
} request;

static bool is_same_user(int fd)
{
    struct ucred peer = { 0 };
    socklen_t len = sizeof(peer);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.uid == geteuid();
}

static pfc_code receive(request *r, pfc_err *err)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(r->outs))];
    } control = { 0 };
    struct iovec part = { .iov_base = r->words->text, .iov_len = sizeof(r->words->text) };
    struct msghdr message = { .msg_iov = &part,
                              .msg_iovlen = 1,
                              .msg_control = control.bytes,
                              .msg_controllen = sizeof(control.bytes) };
    struct pollfd waited = { .fd = r->fd, .events = POLLIN };
    const struct cmsghdr *head;
    ssize_t len;

    if (poll(&waited, 1, REQUEST_WAIT_MS) != 1)
        return pfc_err_set(err, PFC_ETIMEOUT, "no request within %d ms", REQUEST_WAIT_MS);
    len = recvmsg(r->fd, &message, MSG_CMSG_CLOEXEC);
    if (len < 0)
        return pfc_err_set(err, PFC_EIO, "request: %s", strerror(errno));
    head = CMSG_FIRSTHDR(&message);
    if (!head || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS ||
        head->cmsg_len != CMSG_LEN(sizeof(r->outs)) ||
        (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0)
        return pfc_err_set(err, PFC_EINVAL,
                           "request: expected at most %u bytes and two descriptors",
                           PFC_LAUNCH_MAX_BYTES);
    memcpy(r->outs, CMSG_DATA(head), sizeof(r->outs));
    return pfc_launch_parse(r->words, (size_t)len, err);
}

/* Nothing but its end comes over the connection after the request. */
static bool has_ended(void *arg)
{
    struct pollfd end = { .fd = *(const int *)arg, .events = POLLIN | POLLRDHUP };

    return poll(&end, 1, 0) > 0;
}

static pfc_code run_command(const server *s, request *r, pfc_proc_result *res, pfc_err *err)
{
    pfc_proc_opts how = { .inherit_stdout = true,
                          .inherit_stderr = true,
                          .tree_limit_bytes = r->words->command.memory_bytes,
                          .cancelled = has_ended,
                          .cancelled_arg = &r->fd };
    pfc_sandbox_start start = { .keep_fd = -1 };
    pfc_cgroup group = { 0 };
    pfc_code code = pfc_sandbox_wrap(s->sandbox, &r->words->command, &start, err);

    if (!code && s->cgroups)
        code = pfc_cgroup_begin(s->cgroups, how.tree_limit_bytes, PFC_SANDBOX_MAX_THREADS, &group,
                                err);
    if (!code && (dup2(r->outs[0], STDOUT_FILENO) < 0 || dup2(r->outs[1], STDERR_FILENO) < 0))
        code = pfc_err_set(err, PFC_EIO, "descriptors of a request: %s", strerror(errno));
    if (!code) {
        how.argv = (const char *const *)start.argv;
        how.inherit_fd = start.keep_fd;
        how.join_fd = group.path ? group.procs_fd : 0;
        code = pfc_proc_run(&how, res, err);
        if (!code)
            code = pfc_sandbox_ended(&start, res, err);
    }
    pfc_cgroup_end(&group, code ? NULL : res);
    pfc_sandbox_start_clear(&start);
    return code;
}

static void answer(int fd, pfc_code code, const pfc_proc_result *res, const pfc_err *err)
{
    pfc_launch_report report = { .mark = PFC_LAUNCH_MARK, .code = code };

    if (code) {
        (void)snprintf(report.reason, sizeof(report.reason), "%s", err->msg);
    } else {
        report.exit_status = res->exit_status;
        report.signal = res->signal;
        report.over_memory = res->over_memory;
        report.process_limit = res->process_limit;
        report.cpu_seconds = res->cpu_seconds;
        report.max_rss_bytes = res->max_rss_bytes;
    }
    (void)send(fd, &report, sizeof(report), MSG_NOSIGNAL);
}

/* In the request's own process. */
static void serve_one(const server *s, int fd, const pfc_err *no_sandbox)
{
    request r = { .fd = fd, .outs = { -1, -1 }, .words = pfc_calloc(1, sizeof(*r.words)) };
    pfc_proc_result res = { 0 };
    pfc_err err = { 0 };
    pfc_code code = PFC_OK;

    if (!is_same_user(fd))
        code = pfc_err_set(&err, PFC_EDENIED, "perfci-sandbox serves processes of its user alone");
    if (!code)
        code = receive(&r, &err);
    if (!code)
        code = pfc_launch_allowed(&s->opts->rules, r.words, &err);
    if (!code && !s->sandbox) {
        err = *no_sandbox;
        code = err.code;
    }
    if (!code)
        code = run_command(s, &r, &res, &err);
    if (code)
        pfc_log(PFC_WARN, "command_not_started", "reason", err.msg);
    answer(fd, code, &res, &err);
    if (!code)
        pfc_proc_result_clear(&res);
    free(r.words);
}

/* ---- the loop ---- */

static void open_walls(server *s, pfc_err *err)
{
    pfc_sandbox_opts sandbox = s->opts->sandbox;
    pfc_err none = { 0 };

    if (s->sandbox)
        return;
    sandbox.dir = s->opts->rules.work;
    if (pfc_sandbox_open(&sandbox, &s->sandbox, err) != PFC_OK) {
        pfc_log(PFC_ERROR, "no_sandbox", "reason", err->msg);
        return;
    }
    if (!s->cgroups && pfc_cgroups_open(NULL, &s->cgroups, &none) != PFC_OK)
        s->cgroups = NULL;
    pfc_log(PFC_INFO, "sandbox_opened", "by", pfc_sandbox_description(s->sandbox), "cgroups",
            s->cgroups ? pfc_cgroups_description(s->cgroups) : none.msg);
}

static void reap(server *s)
{
    while (s->running > 0 &&
           waitpid(-1, NULL, s->running >= PFC_LAUNCHER_MAX_COMMANDS ? 0 : WNOHANG) > 0)
        s->running--;
}

static void start_one(server *s, int fd)
{
    const pid_t parent = getpid();
    pfc_err err = { 0 };
    pid_t pid;

    open_walls(s, &err); /* again after a failure: the machine may have been repaired */
    pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent)
            _exit(1);
        (void)close(s->fd);
        serve_one(s, fd, &err);
        _exit(0);
    }
    if (pid < 0)
        pfc_log(PFC_ERROR, "fork_failed", "reason", strerror(errno));
    else
        s->running++;
}

pfc_code pfc_launcher_serve(const pfc_launcher_opts *opts, pfc_err *err)
{
    server s = { .opts = opts, .fd = -1 };
    pfc_code code = PFC_OK;

    if (opts->socket)
        code = listen_at(opts->socket, &s.fd, err);
    else if ((s.fd = passed_socket()) < 0)
        code = pfc_err_set(err, PFC_EUNAVAIL,
                           "no socket: expected --socket PATH, or one that systemd passes "
                           "(perfci-sandbox.socket)");
    while (!code) {
        const int fd = accept4(s.fd, NULL, NULL, SOCK_CLOEXEC);

        reap(&s);
        if (fd < 0 && errno != EINTR && errno != ECONNABORTED)
            code = pfc_err_set(err, PFC_EIO, "accept: %s", strerror(errno));
        if (fd < 0)
            continue;
        start_one(&s, fd);
        (void)close(fd);
    }
    pfc_cgroups_close(s.cgroups);
    pfc_sandbox_close(s.sandbox);
    if (s.fd >= 0)
        (void)close(s.fd);
    return code;
}
