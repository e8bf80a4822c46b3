/*
 * What runs for a data folder: its record, the identity of its processes, stopping them.
 */
#include "cli/local/stack.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/config/conf.h"
#include "core/base/fs.h"
#include "core/http/client.h"
#include "core/wire/wire.h"

enum {
    RECORD_MAX_BYTES = 64 * 1024,
    RUNNER_GRACE_S = 30,
    SERVER_GRACE_S = 20,
    ENDING_MAX_S = 30,
    POLL_MS = 20
};

#define OTHER_DATA "choose a folder that you may write to with --data DIR"

char *pfc_stack_path(const pfc_stack *stack, const char *name)
{
    return pfc_fs_join(stack->data, name);
}

/* ---- processes ---- */

/* State letter, the kernel's flags and start time from /proc/PID/stat; false when there is no such process. */
static bool read_stat(pid_t pid, char *state, uint64_t *flags, uint64_t *start_ticks)
{
    char path[64];
    char text[1024];
    const char *p;
    ssize_t n;
    int fd;

    snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    n = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (n <= 0)
        return false;
    text[n] = '\0';
    /* The name in parentheses may hold anything, so count from the last one: state is field 3,
     * flags are field 9, start time is field 22. */
    p = strrchr(text, ')');
    if (!p || p[1] != ' ')
        return false;
    *state = p[2];
    p += 2;
    for (int field = 3; field < 22 && p; field++) {
        if (field == 9)
            *flags = strtoull(p, NULL, 10);
        p = strchr(p + 1, ' ');
    }
    if (!p)
        return false;
    *start_ticks = strtoull(p + 1, NULL, 10);
    return true;
}

/* Base name of the program, also when its file was replaced since (" (deleted)"). */
static bool read_exe(pid_t pid, char *out, size_t cap)
{
    char path[64];
    char target[PFC_PATH_MAX];
    char *deleted;
    const char *slash;
    ssize_t n;

    snprintf(path, sizeof(path), "/proc/%ld/exe", (long)pid);
    n = readlink(path, target, sizeof(target) - 1);
    if (n <= 0)
        return false;
    target[n] = '\0';
    deleted = strstr(target, " (deleted)");
    if (deleted)
        *deleted = '\0';
    slash = strrchr(target, '/');
    snprintf(out, cap, "%.63s", slash ? slash + 1 : target);
    return true;
}

pfc_code pfc_member_set(pfc_member *member, pid_t pid, pfc_err *err)
{
    char state = 0;
    uint64_t ticks = 0, flags = 0;
    char exe[sizeof(member->exe)];

    if (!read_stat(pid, &state, &flags, &ticks) || state == 'Z' || !read_exe(pid, exe, sizeof(exe)))
        return pfc_err_set(err, PFC_EUNAVAIL, "%s ended as soon as it was started", member->name);
    member->pid = pid;
    member->start_ticks = ticks;
    memcpy(member->exe, exe, sizeof(exe));
    return PFC_OK;
}

/* Has SIGKILL been sent to it? It may live on for a while, on a busy machine or in a system call. */
static bool is_doomed(pid_t pid)
{
    static const char *const labels[] = { "\nSigPnd:", "\nShdPnd:" };
    char *path = pfc_format("/proc/%ld/status", (long)pid), *text = NULL;
    size_t len = 0;
    bool doomed = false;

    if (pfc_fs_read(path, RECORD_MAX_BYTES, &text, &len, NULL) != PFC_OK)
        text = NULL;
    for (size_t i = 0; text && i < PFC_ARRAY_LEN(labels); i++) {
        const char *at = strstr(text, labels[i]);

        doomed = doomed || (at && strtoull(at + strlen(labels[i]), NULL, 16) >> (SIGKILL - 1) & 1);
    }
    free(text);
    free(path);
    return doomed;
}

/* Ending: the signal was taken, the process is not gone yet. */
static bool is_exiting(uint64_t flags)
{
    return flags & 4; /* PF_EXITING of linux/sched.h, as /proc/PID/stat shows it */
}

static bool is_there(const pfc_member *member, bool *ending)
{
    char state = 0;
    uint64_t ticks = 0, flags = 0;
    char exe[sizeof(member->exe)];

    /* A child of ours that ended must not linger as a zombie; for others this does nothing. */
    waitpid(member->pid, NULL, WNOHANG);
    if (!read_stat(member->pid, &state, &flags, &ticks) || state == 'Z' || state == 'X' ||
        ticks != member->start_ticks)
        return false;
    *ending = is_exiting(flags) || is_doomed(member->pid);
    return *ending || (read_exe(member->pid, exe, sizeof(exe)) && strcmp(exe, member->exe) == 0);
}

bool pfc_member_alive(const pfc_member *member)
{
    const int64_t end = pfc_clock_ns() + ENDING_MAX_S * PFC_NS_PER_S;
    bool ending = false;

    while (member->pid > 0 && is_there(member, &ending)) {
        if (!ending || pfc_clock_ns() >= end)
            return true;
        pfc_clock_sleep_ns(POLL_MS * PFC_NS_PER_MS);
    }
    return false;
}

static bool wait_gone(const pfc_member *member, double timeout_s)
{
    const int64_t end = pfc_clock_ns() + (int64_t)(timeout_s * (double)PFC_NS_PER_S);

    while (pfc_member_alive(member)) {
        if (pfc_clock_ns() >= end)
            return false;
        pfc_clock_sleep_ns(POLL_MS * PFC_NS_PER_MS);
    }
    return true;
}

bool pfc_member_stop(pfc_member *member, int sig, double grace_s)
{
    bool killed = false;

    if (pfc_member_alive(member)) {
        kill(member->pid, sig);
        if (!wait_gone(member, grace_s)) {
            /* Each member leads a group of its own. */
            killed = true;
            kill(-member->pid, SIGKILL);
            kill(member->pid, SIGKILL);
            wait_gone(member, grace_s);
        }
    }
    member->pid = 0;
    return killed;
}

/* ---- the record ---- */

static json_t *member_json(const pfc_member *m)
{
    return json_pack("{s:I,s:I,s:s}", "pid", (json_int_t)m->pid, "start_ticks",
                     (json_int_t)m->start_ticks, "exe", m->exe);
}

static pfc_code member_read(const json_t *obj, pfc_member *m, pfc_err *err)
{
    json_t *own = json_object_get(obj, m->name);
    char *exe = NULL;
    int64_t pid = 0;
    int64_t ticks = 0;
    pfc_code code = PFC_OK;

    m->pid = 0;
    if (!json_is_object(own))
        return PFC_OK;
    code = pfc_json_i64(own, NULL, "pid", true, 0, INT32_MAX, &pid, err);
    if (!code)
        code = pfc_json_i64(own, NULL, "start_ticks", true, 0, INT64_MAX, &ticks, err);
    if (!code)
        code = pfc_json_string(own, NULL, "exe", true, sizeof(m->exe) - 1, &exe, err);
    if (!code) {
        m->pid = (pid_t)pid;
        m->start_ticks = (uint64_t)ticks;
        snprintf(m->exe, sizeof(m->exe), "%s", exe);
    }
    free(exe);
    return code;
}

static void forget(pfc_stack *stack)
{
    free(stack->url);
    free(stack->cluster);
    free(stack->socket);
    stack->url = stack->cluster = stack->socket = NULL;
    stack->port = 0;
    stack->postgres = (pfc_member){ .name = "postgres" };
    stack->server = (pfc_member){ .name = "server" };
    stack->runner = (pfc_member){ .name = "runner" };
}

static pfc_code load(pfc_stack *stack, pfc_err *err)
{
    char *path = pfc_stack_path(stack, "stack.json");
    char *text = NULL;
    size_t len = 0;
    json_t *doc = NULL;
    int64_t port = 0;
    pfc_code code;

    forget(stack);
    code = pfc_fs_read(path, RECORD_MAX_BYTES, &text, &len, err);
    if (code == PFC_ENOTFOUND) {
        code = PFC_OK;
        if (err)
            *err = (pfc_err){ 0 };
        goto done;
    }
    if (code)
        goto done;
    code = pfc_json_parse(text, len, &doc, err);
    if (!code)
        code = pfc_json_string(doc, NULL, "url", false, 256, &stack->url, err);
    if (!code)
        code = pfc_json_string(doc, NULL, "cluster", false, PFC_PATH_MAX, &stack->cluster, err);
    if (!code)
        code = pfc_json_string(doc, NULL, "socket", false, PFC_PATH_MAX, &stack->socket, err);
    if (!code)
        code = pfc_json_i64(doc, NULL, "port", false, 0, 65535, &port, err);
    if (!code)
        code = member_read(doc, &stack->postgres, err);
    if (!code)
        code = member_read(doc, &stack->server, err);
    if (!code)
        code = member_read(doc, &stack->runner, err);
    stack->port = (int)port;
    if (code)
        pfc_err_wrap(err, "%s", path);

done:
    json_decref(doc);
    free(text);
    free(path);
    return code;
}

pfc_code pfc_stack_save(const pfc_stack *stack, pfc_err *err)
{
    char *path = pfc_stack_path(stack, "stack.json");
    json_t *doc = json_object();
    char *text;
    pfc_code code;

    if (stack->url)
        json_object_set_new(doc, "url", json_string(stack->url));
    if (stack->cluster)
        json_object_set_new(doc, "cluster", json_string(stack->cluster));
    if (stack->socket)
        json_object_set_new(doc, "socket", json_string(stack->socket));
    json_object_set_new(doc, "port", json_integer(stack->port));
    json_object_set_new(doc, "postgres", member_json(&stack->postgres));
    json_object_set_new(doc, "server", member_json(&stack->server));
    json_object_set_new(doc, "runner", member_json(&stack->runner));
    text = json_dumps(doc, JSON_INDENT(2));
    code = pfc_fs_write_atomic(path, text, strlen(text), 0600, err);
    free(text);
    json_decref(doc);
    free(path);
    return code;
}

pfc_code pfc_stack_open(pfc_stack *stack, const char *data_flag, bool make, pfc_err *err)
{
    char *data = pfc_conf_data_dir(data_flag);
    char *real = NULL;
    pfc_code code = PFC_OK;

    *stack = (pfc_stack){ .lock_fd = -1 };
    forget(stack);
    /* 0711: another user's PostgreSQL may pass through to its own folder, and see nothing else. */
    if (make)
        code = pfc_fs_mkdirs(data, 0711, err);
    if (code) {
        pfc_err_wrap(err, "the data folder cannot be made");
        (void)pfc_err_hint(err, OTHER_DATA);
        goto done;
    }
    real = realpath(data, NULL);
    if (!real) {
        code = errno == ENOENT
                   ? pfc_err_set(err, PFC_ENOTFOUND, "nothing was ever started in %.300s", data)
                   : pfc_err_set(err, PFC_EIO, "%.300s: %s", data, strerror(errno));
        goto done;
    }
    stack->data = pfc_strdup(real);
    code = load(stack, err);

done:
    free(real);
    free(data);
    return code;
}

void pfc_stack_close(pfc_stack *stack)
{
    pfc_stack_unlock(stack);
    forget(stack);
    free(stack->data);
    stack->data = NULL;
}

pfc_code pfc_stack_lock(pfc_stack *stack, double timeout_s, pfc_err *err)
{
    const int64_t end = pfc_clock_ns() + (int64_t)(timeout_s * (double)PFC_NS_PER_S);
    char *path = pfc_stack_path(stack, "lock");
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    pfc_code code = PFC_OK;

    if (fd < 0) {
        (void)pfc_err_set(err, PFC_EIO, "the data folder %.300s is not writable: %s", stack->data,
                          strerror(errno));
        code = pfc_err_hint(err, OTHER_DATA);
        goto done;
    }
    while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR) {
            code = pfc_err_set(err, PFC_EIO, "%.300s: %s", path, strerror(errno));
            goto done;
        }
        if (pfc_clock_ns() >= end || pfc_cli_interrupted(NULL)) {
            code =
                pfc_err_set(err, PFC_ETIMEOUT,
                            "another perfci command is starting or stopping %.300s", stack->data);
            goto done;
        }
        pfc_clock_sleep_ns(POLL_MS * PFC_NS_PER_MS);
    }
    stack->lock_fd = fd;
    fd = -1;
    code = load(stack, err);

done:
    if (fd >= 0)
        close(fd);
    free(path);
    return code;
}

void pfc_stack_unlock(pfc_stack *stack)
{
    if (stack->lock_fd >= 0)
        close(stack->lock_fd);
    stack->lock_fd = -1;
}

/* ---- the whole ---- */

bool pfc_stack_ready(const pfc_stack *stack, char *why)
{
    const pfc_http_opts opts = { .url = stack->url, .connect_timeout_s = 5, .timeout_s = 10 };
    const pfc_http_req req = { .path = "/readyz" };
    pfc_http_answer answer = { 0 };
    pfc_http *http = NULL;
    pfc_err err = { 0 };
    bool ready = false;

    snprintf(why, PFC_ERR_MAX, "never started");
    if (!stack->url)
        return false;
    if (pfc_http_new(&opts, &http, &err) || pfc_http_send(http, &req, &answer, &err)) {
        snprintf(why, PFC_ERR_MAX, "%s", err.msg);
        goto done;
    }
    ready = answer.status == 200;
    if (!ready) {
        char *reason = pfc_stack_reason(pfc_buf_text(&answer.body), answer.body.len);

        if (reason)
            snprintf(why, PFC_ERR_MAX, "%s", reason);
        else
            snprintf(why, PFC_ERR_MAX, "/readyz answers %d", answer.status);
        free(reason);
    }
    pfc_http_answer_clear(&answer);

done:
    pfc_http_free(http);
    return ready;
}

pfc_code pfc_stack_stop(pfc_stack *stack, const pfc_cli *cli, pfc_err *err)
{
    char *endpoint = pfc_stack_path(stack, "endpoint.json");

    /* Runner first: what it is measuring is spooled and uploaded while there is somebody to take
     * it. The cluster last, when nobody writes any more. */
    if (pfc_member_stop(&stack->runner, SIGTERM, RUNNER_GRACE_S))
        pfc_cli_warn(cli, "the runner did not stop by itself within %d s", RUNNER_GRACE_S);
    if (pfc_member_stop(&stack->server, SIGTERM, SERVER_GRACE_S))
        pfc_cli_warn(cli, "the server did not stop by itself within %d s", SERVER_GRACE_S);
    pfc_cluster_stop(stack);
    unlink(endpoint);
    free(endpoint);
    return pfc_stack_save(stack, err);
}

char *pfc_stack_log_tail(const pfc_stack *stack, const char *name)
{
    char *path = pfc_format("%s/logs/%s.log", stack->data, name);
    char text[2001] = "";
    const char *from = text;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    free(path);
    if (fd >= 0) {
        ssize_t n;
        bool cut = lseek(fd, -(off_t)(sizeof(text) - 1), SEEK_END) > 0;

        n = read(fd, text, sizeof(text) - 1);
        text[n > 0 ? n : 0] = '\0';
        /* Begin with a whole line. */
        if (cut && strchr(text, '\n'))
            from = strchr(text, '\n') + 1;
        close(fd);
    }
    return pfc_strdup(from);
}
