/*
 * perfci down --delete: removes what `perfci up` made, and nothing else.
 *
 * A data folder can be a folder that holds other things, too (--data .), so entries are removed by
 * name and the folder only when it is empty then. A cluster and a socket outside are named by
 * stack.json, which is a file that can be edited: only the places that `perfci up` chooses are
 * taken.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/local/postgres_host.h"
#include "core/base/fs.h"

enum { ID_LEN = 12 };

static bool is_id(const char *text)
{
    size_t n = 0;

    while (isxdigit((unsigned char)text[n]))
        n++;
    return n == ID_LEN && text[n] == '\0';
}

/* FAR_ROOT/pg-ID of choose_cluster. */
static bool is_far_cluster(const char *path)
{
    static const char start[] = PFC_STACK_FAR_ROOT "/pg-";

    return strncmp(path, start, sizeof(start) - 1) == 0 && is_id(path + sizeof(start) - 1);
}

/* .../pfc-ID or .../pfc-UID-ID of choose_socket. */
static bool is_far_socket(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    const char *dash;

    if (strncmp(name, "pfc-", 4) != 0)
        return false;
    dash = strrchr(name, '-'); /* that of "pfc-" at least */
    return is_id(dash + 1);
}

static pfc_code take(const char *path, json_t *removed, pfc_err *err)
{
    struct stat st;
    pfc_code code;

    if (lstat(path, &st) != 0)
        return errno == ENOENT ? PFC_OK
                               : pfc_err_set(err, PFC_EIO, "%.300s: %s", path, strerror(errno));
    code = pfc_fs_remove_tree(path, err);
    if (!code)
        json_array_append_new(removed, json_string(path));
    return code;
}

static pfc_code take_within(const pfc_stack *stack, json_t *removed, pfc_err *err)
{
    /* stack.json is removed last: without it the command could not be repeated after a failure. */
    static const char *const names[] = { "endpoint.json", "endpoint",     "logs",   "runner",
                                         "demo",          "run",          "pg.new", "pg",
                                         "admin.token",   "runner.token", "lock",   "stack.json" };
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < PFC_ARRAY_LEN(names) && !code; i++) {
        char *path = pfc_stack_path(stack, names[i]);

        code = take(path, removed, err);
        free(path);
    }
    return code;
}

static size_t entries(const char *path)
{
    DIR *dir = opendir(path);
    size_t n = 0;

    if (!dir)
        return 0;
    for (const struct dirent *e; (e = readdir(dir)) != NULL;)
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(dir);
    return n;
}

/* Checks, before anything is stopped, that the folder belongs to a service of this user. */
pfc_code pfc_stack_deletable(const pfc_stack *stack, pfc_err *err)
{
    char *record = pfc_stack_path(stack, "stack.json");
    char *near = pfc_stack_path(stack, "pg");
    pfc_code code = PFC_OK;

    if (!pfc_fs_exists(record)) {
        (void)pfc_err_set(
            err, PFC_ECONFLICT,
            "%.300s is not a data folder of perfci: it has no stack.json, so nothing is removed",
            stack->data);
        code = pfc_err_hint(err, "name the folder that \"perfci up --data DIR\" was given");
    } else if (stack->cluster && !pfc_streq(stack->cluster, near) &&
               !is_far_cluster(stack->cluster)) {
        code = pfc_err_set(
            err, PFC_ECONFLICT,
            "%.200s names a cluster in %.200s, where perfci up makes none: nothing is removed",
            record, stack->cluster);
    }
    free(near);
    free(record);
    return code;
}

pfc_code pfc_stack_delete(pfc_stack *stack, json_t *removed, size_t *left, pfc_err *err)
{
    char *near = pfc_stack_path(stack, "pg");
    char *near_socket = pfc_stack_path(stack, "run");
    json_t *within = json_array();
    pfc_code code = PFC_OK;

    *left = 0;
    if (stack->cluster && !pfc_streq(stack->cluster, near)) {
        char *fresh = pfc_format("%s.new", stack->cluster);

        code = take(fresh, removed, err);
        if (!code)
            code = take(stack->cluster, removed, err);
        free(fresh);
    }
    if (!code && stack->socket && !pfc_streq(stack->socket, near_socket) &&
        is_far_socket(stack->socket))
        code = take(stack->socket, removed, err);
    if (!code)
        code = take_within(stack, within, err);
    if (!code && rmdir(stack->data) == 0) {
        json_array_append_new(removed, json_string(stack->data));
    } else {
        json_array_extend(removed, within);
        *left = entries(stack->data);
    }
    json_decref(within);
    free(near_socket);
    free(near);
    return code;
}
