/* Children: started by fork and exec, watched by pidfd and poll, ended as a group. */
#include "core/base/process/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/process/proc_memory.h"
#include "core/base/process/proc_start.h"

#define DEFAULT_OUTPUT_BYTES (1024 * 1024)
#define KILL_GRACE_NS        (2 * PFC_NS_PER_S)
#define POLL_MS              100

static void set_ended(pfc_proc_result *res, int status, const struct rusage *usage)
{
    res->exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    res->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    res->cpu_seconds = (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
                       (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) * 1e-6;
    res->max_rss_bytes = (uint64_t)usage->ru_maxrss * 1024; /* Linux reports it in KiB */
}

static int open_pidfd(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

static void close_if(int fd)
{
    if (fd >= 0)
        close(fd);
}

/* ---- run to the end ---- */

typedef struct watch {
    const pfc_proc_opts *opts;
    pfc_proc_result *res;
    pid_t pid;
    int pidfd;
    int in, out, err; /* our ends of the pipes; -1 when closed or not ours */
    size_t in_done;
    int64_t started_ns;
    int64_t kill_at_ns; /* when SIGTERM was sent plus the grace; 0: not yet */
    int64_t weighed_ns; /* time of the last memory check */
    bool killed;
    bool ended;
} watch;

static void collect(int *fd, pfc_buf *buf, bool *truncated)
{
    char chunk[16384];
    ssize_t got = read(*fd, chunk, sizeof chunk);

    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (got <= 0) {
        close(*fd);
        *fd = -1;
        return;
    }
    if (buf->len + (size_t)got > buf->max_bytes) {
        *truncated = true;
        got = (ssize_t)(buf->max_bytes - buf->len);
    }
    pfc_buf_append(buf, chunk, (size_t)got);
}

static void feed(watch *w)
{
    ssize_t done = write(w->in, w->opts->input + w->in_done, w->opts->input_len - w->in_done);

    if (done < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (done > 0)
        w->in_done += (size_t)done;
    if (done < 0 || w->in_done == w->opts->input_len) {
        close(w->in);
        w->in = -1;
    }
}

static bool disk_is_short(const pfc_proc_opts *opts)
{
    struct statvfs fs;

    if (opts->disk_free_bytes == 0 || statvfs(opts->disk_path, &fs) != 0)
        return false;
    /* Some file systems have no fixed number of files and report 0, which must not count as
     * full. */
    return (uint64_t)fs.f_bavail * fs.f_frsize < opts->disk_free_bytes ||
           (fs.f_files > 0 && fs.f_favail < PFC_PROC_MIN_FILES);
}

/* No grace period: a process over its memory or disk limit would take more until it is killed. */
static void weigh(watch *w, int64_t now)
{
    const pfc_proc_opts *opts = w->opts;

    if (opts->tree_limit_bytes == 0 && opts->disk_free_bytes == 0)
        return;
    if (w->res->over_memory || w->res->over_disk || now - w->weighed_ns < POLL_MS * PFC_NS_PER_MS)
        return;
    w->weighed_ns = now;
    w->res->over_memory =
        opts->tree_limit_bytes > 0 && pfc_proc_tree_exceeds(w->pid, opts->tree_limit_bytes);
    w->res->over_disk = disk_is_short(opts);
    if (w->res->over_memory || w->res->over_disk)
        kill(-w->pid, SIGKILL);
}

static void enforce(watch *w)
{
    int64_t now = pfc_clock_ns();
    bool late = w->opts->timeout_s > 0 &&
                (double)(now - w->started_ns) > w->opts->timeout_s * (double)PFC_NS_PER_S;

    weigh(w, now);
    if (w->kill_at_ns == 0) {
        bool stop = w->opts->cancelled != NULL && w->opts->cancelled(w->opts->cancelled_arg);

        if (!late && !stop)
            return;
        w->res->timed_out = late;
        w->res->was_cancelled = !late;
        kill(-w->pid, SIGTERM);
        w->kill_at_ns = now + KILL_GRACE_NS;
    } else if (now >= w->kill_at_ns && !w->killed) {
        kill(-w->pid, SIGKILL);
        w->killed = true;
    }
}

/* Waits once. The pipes are also read after the process ended, because they can still hold
 * output. */
static void watch_turn(watch *w)
{
    struct pollfd fds[4] = {
        { .fd = w->ended ? -1 : w->pidfd, .events = POLLIN },
        { .fd = w->out, .events = POLLIN },
        { .fd = w->err, .events = POLLIN },
        { .fd = w->in, .events = POLLOUT },
    };

    if (poll(fds, 4, POLL_MS) < 0)
        return;
    if (fds[1].revents != 0)
        collect(&w->out, &w->res->out, &w->res->truncated);
    if (fds[2].revents != 0)
        collect(&w->err, &w->res->err, &w->res->truncated);
    if (fds[3].revents != 0)
        feed(w);
    if (fds[0].revents != 0) {
        struct rusage usage = { 0 };
        int status = 0;

        if (wait4(w->pid, &status, 0, &usage) == w->pid) {
            set_ended(w->res, status, &usage);
            w->ended = true;
        }
    }
}

static bool pipe_has_more(int fd)
{
    struct pollfd one = { .fd = fd, .events = POLLIN };

    return fd >= 0 && poll(&one, 1, 0) > 0;
}

static void watch_to_end(watch *w)
{
    while (!w->ended) {
        watch_turn(w);
        if (!w->ended)
            enforce(w);
    }
    /* A grandchild may hold the pipes open, so waiting for EOF could last for ever: read what is
     * there, then end the group. */
    while (pipe_has_more(w->out))
        collect(&w->out, &w->res->out, &w->res->truncated);
    while (pipe_has_more(w->err))
        collect(&w->err, &w->res->err, &w->res->truncated);
    kill(-w->pid, SIGKILL);
    w->res->seconds = (double)(pfc_clock_ns() - w->started_ns) * 1e-9;
}

typedef struct pipes {
    int in[2], out[2], err[2]; /* read end, write end */
} pipes;

static void pipes_close(pipes *p)
{
    for (int i = 0; i < 2; i++) {
        close_if(p->in[i]);
        close_if(p->out[i]);
        close_if(p->err[i]);
        p->in[i] = p->out[i] = p->err[i] = -1;
    }
}

static bool pipes_open(const pfc_proc_opts *opts, pipes *p)
{
    *p = (pipes){ { -1, -1 }, { -1, -1 }, { -1, -1 } };
    if (opts->input != NULL) {
        if (pipe2(p->in, O_CLOEXEC) != 0)
            return false;
    } else {
        p->in[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    }
    if (!opts->inherit_stdout && pipe2(p->out, O_CLOEXEC) != 0)
        return false;
    if (!opts->inherit_stderr && !opts->merge && pipe2(p->err, O_CLOEXEC) != 0)
        return false;
    return p->in[0] >= 0;
}

static int take_fd(int *fd)
{
    int taken = *fd;

    *fd = -1;
    return taken;
}

pfc_code pfc_proc_run(const pfc_proc_opts *opts, pfc_proc_result *res, pfc_err *err)
{
    size_t max = opts->max_output_bytes == 0 ? DEFAULT_OUTPUT_BYTES : opts->max_output_bytes;
    struct sigaction ignore = { .sa_handler = SIG_IGN };
    struct sigaction old;
    pfc_proc_plan plan = { .argv = opts->argv, .cwd = opts->cwd, .new_group = true };
    watch w = { .opts = opts, .res = res, .pidfd = -1, .in = -1, .out = -1, .err = -1 };
    pfc_code code;
    pipes p;

    *res = (pfc_proc_result){ .exit_status = -1, .tree_limit_bytes = opts->tree_limit_bytes };
    pfc_buf_init(&res->out, max);
    pfc_buf_init(&res->err, max);
    if (!pipes_open(opts, &p)) {
        pipes_close(&p);
        return pfc_err_set(err, PFC_EIO, "cannot make pipes for %.200s: %s", opts->argv[0],
                           strerror(errno));
    }
    plan.in_fd = p.in[0];
    plan.out_fd = p.out[1];
    plan.err_fd = opts->merge ? (opts->inherit_stdout ? 1 : p.out[1]) : p.err[1];
    plan.cpu_limit_s = opts->cpu_limit_s;
    plan.memory_limit_bytes = opts->memory_limit_bytes;
    plan.first_to_go = opts->tree_limit_bytes > 0;
    plan.keep_fd = opts->inherit_fd;
    plan.join_fd = opts->join_fd;
    plan.env = pfc_proc_environment(opts->env);
    w.started_ns = pfc_clock_ns();
    code = pfc_proc_start(&plan, &w.pid, err);
    free(plan.env);
    if (code == PFC_OK) {
        w.in = take_fd(&p.in[1]);
        w.out = take_fd(&p.out[0]);
        w.err = take_fd(&p.err[0]);
        if (w.in >= 0)
            fcntl(w.in, F_SETFL, O_NONBLOCK);
    }
    pipes_close(&p);
    if (code != PFC_OK)
        return code;
    w.pidfd = open_pidfd(w.pid);
    if (w.pidfd < 0)
        pfc_die("pidfd_open: %s (Linux 5.3 or newer is needed)", strerror(errno));
    /* A child that closes its stdin early must not end us. */
    sigaction(SIGPIPE, &ignore, &old);
    watch_to_end(&w);
    sigaction(SIGPIPE, &old, NULL);
    close(w.pidfd);
    close_if(w.in);
    close_if(w.out);
    close_if(w.err);
    return PFC_OK;
}

void pfc_proc_result_clear(pfc_proc_result *res)
{
    if (res == NULL)
        return;
    pfc_buf_clear(&res->out);
    pfc_buf_clear(&res->err);
}

static void describe_end(const pfc_proc_result *res, char *out, size_t cap)
{
    const double gib = (double)res->tree_limit_bytes / (1024.0 * 1024.0 * 1024.0);

    if (res->over_memory)
        snprintf(out, cap,
                 gib < 1.0 ? "more memory than its limit of %.0f MiB"
                           : "more memory than its limit of %.1f GiB",
                 gib < 1.0 ? gib * 1024.0 : gib);
    else if (res->over_disk)
        snprintf(out, cap, "stopped: it left less than the required space free on the disk");
    else if (res->timed_out)
        snprintf(out, cap, "no end within its time limit (stopped after %.1f s)", res->seconds);
    else if (res->was_cancelled)
        snprintf(out, cap, "cancelled after %.1f s", res->seconds);
    else if (res->signal != 0)
        snprintf(out, cap, "signal %d (%s)", res->signal, strsignal(res->signal));
    else
        snprintf(out, cap, "exit status %d", res->exit_status);
}

void pfc_proc_describe(const pfc_proc_result *res, char *out, size_t cap)
{
    size_t len;

    describe_end(res, out, cap);
    len = strlen(out);
    if (res->process_limit)
        snprintf(out + len, cap - len, "; it reached its limit of %llu processes and threads",
                 (unsigned long long)res->process_limit);
}

/* ---- beside us ---- */

pfc_code pfc_proc_spawn(const pfc_proc_spawn_opts *opts, pid_t *pid, pfc_err *err)
{
    pfc_proc_plan plan = { .argv = opts->argv,
                           .cwd = opts->cwd,
                           .detach = opts->detach,
                           .new_group = true,
                           .in_fd = -1,
                           .out_fd = -1,
                           .err_fd = -1 };
    int in[2] = { -1, -1 };
    int out[2] = { -1, -1 };
    int log_fd = -1;
    pfc_code code = PFC_OK;

    if (opts->log_path != NULL)
        log_fd = open(opts->log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (opts->log_path != NULL && log_fd < 0)
        return pfc_err_set(err, PFC_EIO, "cannot open %.300s: %s", opts->log_path, strerror(errno));
    if (opts->stdin_fd == NULL)
        in[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    else if (pipe2(in, O_CLOEXEC) != 0)
        code = pfc_err_set(err, PFC_EIO, "cannot make a pipe: %s", strerror(errno));
    if (code == PFC_OK && opts->stdout_fd != NULL && pipe2(out, O_CLOEXEC) != 0)
        code = pfc_err_set(err, PFC_EIO, "cannot make a pipe: %s", strerror(errno));
    if (code == PFC_OK) {
        plan.in_fd = in[0];
        plan.out_fd = opts->stdout_fd != NULL ? out[1] : log_fd;
        plan.err_fd = log_fd;
        plan.env = pfc_proc_environment(opts->env);
        code = pfc_proc_start(&plan, pid, err);
        free(plan.env);
    }
    if (code == PFC_OK && opts->stdin_fd != NULL)
        *opts->stdin_fd = take_fd(&in[1]);
    if (code == PFC_OK && opts->stdout_fd != NULL)
        *opts->stdout_fd = take_fd(&out[0]);
    close_if(in[0]);
    close_if(in[1]);
    close_if(out[0]);
    close_if(out[1]);
    close_if(log_fd);
    return code;
}

/* Returns true when the process of the pidfd ended within timeout_s (negative: no limit). */
static bool wait_pidfd(int pidfd, double timeout_s)
{
    int64_t end = pfc_clock_ns() + (int64_t)(timeout_s * (double)PFC_NS_PER_S);
    struct pollfd one = { .fd = pidfd, .events = POLLIN };

    for (;;) {
        int64_t left_ms = (end - pfc_clock_ns()) / PFC_NS_PER_MS + 1;
        int ready = poll(&one, 1, timeout_s < 0 ? -1 : (int)PFC_MAX(0, PFC_MIN(left_ms, 1000000)));

        if (ready > 0)
            return true;
        if (timeout_s >= 0 && pfc_clock_ns() >= end)
            return false;
    }
}

pfc_code pfc_proc_wait(pid_t pid, double timeout_s, pfc_proc_result *res, pfc_err *err)
{
    int64_t started = pfc_clock_ns();
    int pidfd = open_pidfd(pid);
    struct rusage usage = { 0 };
    int status = 0;
    bool ended;

    if (pidfd < 0)
        return pfc_err_set(err, PFC_ENOTFOUND, "there is no process %d", (int)pid);
    ended = wait_pidfd(pidfd, timeout_s);
    close(pidfd);
    if (!ended)
        return pfc_err_set(err, PFC_ETIMEOUT, "process %d still runs after %.1f s", (int)pid,
                           timeout_s);
    *res = (pfc_proc_result){ .exit_status = -1 };
    if (wait4(pid, &status, 0, &usage) != pid)
        return pfc_err_set(err, PFC_ENOTFOUND, "process %d is not a child of ours", (int)pid);
    set_ended(res, status, &usage);
    res->seconds = (double)(pfc_clock_ns() - started) * 1e-9;
    return PFC_OK;
}

/* To the group when the process leads one (all that we start do), else to it alone. */
static void signal_group(pid_t pid, int number)
{
    if (getpgid(pid) == pid)
        kill(-pid, number);
    else
        kill(pid, number);
}

void pfc_proc_stop(pid_t pid, double grace_s)
{
    int pidfd = open_pidfd(pid);

    if (pidfd < 0)
        return;
    signal_group(pid, SIGTERM);
    if (!wait_pidfd(pidfd, grace_s)) {
        signal_group(pid, SIGKILL);
        wait_pidfd(pidfd, -1);
    }
    close(pidfd);
    /* Reaps the process if it is a child of this one; otherwise its own parent must do that. */
    waitpid(pid, NULL, WNOHANG);
}
