/*
 * The record of a data directory (DATA/stack.json) and its lock.
 */
#include "cli/local/stack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/config/conf.h"
#include "core/base/fs.h"
#include "core/wire/wire.h"

enum { RECORD_MAX_BYTES = 64 * 1024, POLL_MS = 20 };

#define OTHER_DATA "choose a folder that you may write to with --data DIR"

char *pfc_stack_path(const pfc_stack *stack, const char *name)
{
    return pfc_fs_join(stack->data, name);
}

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
                   ? pfc_err_set(err, PFC_ENOTFOUND, "no service was started in %.300s", data)
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

pfc_code pfc_stack_trusted(const pfc_stack *stack, pfc_err *err)
{
    const uid_t own = geteuid();
    struct stat info;

    if (stat(stack->data, &info))
        return pfc_err_set(err, PFC_EIO, "%.300s: %s", stack->data, strerror(errno));
    if (info.st_mode & S_IWOTH)
        (void)pfc_err_set(err, PFC_EDENIED,
                          "the data folder %.300s is writable for every user: its programs and "
                          "tokens could be replaced",
                          stack->data);
    else if (own == 0 && info.st_uid != own)
        (void)pfc_err_set(err, PFC_EDENIED,
                          "the data folder %.300s belongs to user %u, who could replace what root "
                          "runs from it",
                          stack->data, (unsigned)info.st_uid);
    else
        return PFC_OK;
    return pfc_err_hint(err,
                        "chown %u %.150s && chmod 0711 %.150s, or name another folder by --data",
                        (unsigned)own, stack->data, stack->data);
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
