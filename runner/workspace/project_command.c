/*
 * Runs the project's commands as child processes, without secrets in their environment.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/parse.h"
#include "core/base/process/proc_memory.h"
#include "runner/workspace/workspace_priv.h"

#define MIN_DISK_FREE_BYTES                                                                        \
    ((uint64_t)256 << 20) /* of the checkouts' disk, while a command runs  \
                                                   */

extern char **environ;

bool pfc_command_is_secret(const char *name)
{
    static const char *const words[] = { "TOKEN",      "SECRET",   "PASSWORD",    "PASSWD",
                                         "CREDENTIAL", "DATABASE", "PRIVATE_KEY", "API_KEY" };
    /* Not secrets. git sets them when perfci runs in a hook; they would direct the project's own
     * git calls to the wrong repository. */
    static const char *const hooks[] = { "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE",
                                         "GIT_OBJECT_DIRECTORY", "GIT_PREFIX" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(words); i++) {
        if (strcasestr(name, words[i]))
            return true;
    }
    for (size_t i = 0; i < PFC_ARRAY_LEN(hooks); i++) {
        if (strcmp(name, hooks[i]) == 0)
            return true;
    }
    return false;
}

typedef struct env_list {
    char **items;
    size_t len;
    size_t cap;
} env_list;

static void env_add(env_list *env, char *item)
{
    env->items = pfc_grow(env->items, env->len, &env->cap, sizeof(*env->items));
    env->items[env->len++] = item;
}

static void env_clear(env_list *env)
{
    for (size_t i = 0; i < env->len; i++)
        free(env->items[i]);
    free(env->items);
}

static void make_env(const pfc_command *cmd, env_list *env)
{
    for (size_t i = 0; environ[i]; i++) {
        char *name = pfc_strndup(environ[i], strcspn(environ[i], "="));

        if (pfc_command_is_secret(name))
            env_add(env, name); /* a bare name removes it */
        else
            free(name);
    }
    if (cmd->commit)
        env_add(env, pfc_format("PERFCI_COMMIT=%s", cmd->commit));
    env_add(env, pfc_format("PERFCI_BUILD=%u", cmd->build));
    if (cmd->traces)
        env_add(env, pfc_format(PFC_RUN_TRACES_VARIABLE "=%s", cmd->traces));
    env_add(env, pfc_strdup("GIT_TERMINAL_PROMPT=0")); /* no terminal to answer a prompt */
    if (cmd->ceiling)
        env_add(env, pfc_format("GIT_CEILING_DIRECTORIES=%s", cmd->ceiling));
    env_add(env, NULL);
}

/* The user's limit, else most of the machine's memory: beyond that the command would make the
 * system kill other processes. */
static pfc_code memory_limit(uint64_t *out, pfc_err *err)
{
    const char *text = getenv("PERFCI_MEMORY_LIMIT");

    if (text && *text)
        return pfc_parse_bytes(text, "PERFCI_MEMORY_LIMIT", out, err);
    *out = pfc_proc_default_memory_limit();
    return PFC_OK;
}

static void add_mount(pfc_sandbox_command *box, const char *path, bool writable)
{
    if (path && box->mounts_len < PFC_SANDBOX_MAX_MOUNTS)
        box->mounts[box->mounts_len++] = (pfc_sandbox_mount){ path, writable };
}

static pfc_code run_sandboxed(const pfc_command *cmd, pfc_proc_opts *opts, pfc_proc_result *res,
                              pfc_err *err)
{
    pfc_sandbox_command box = {
        .argv = opts->argv, .cwd = cmd->dir, .network = cmd->network, .env = opts->env,
        .memory_bytes = opts->tree_limit_bytes
    };
    pfc_sandbox_start start;
    pfc_code code;

    add_mount(&box, cmd->program, false);
    add_mount(&box, cmd->dir, !cmd->read_only);
    for (size_t i = 0; i < PFC_COMMAND_TREES; i++)
        add_mount(&box, cmd->trees[i], false);
    add_mount(&box, cmd->scratch, true);
    code = cmd->scratch ? pfc_sandbox_own(cmd->sandbox, cmd->scratch, err) : PFC_OK;
    if (!code)
        code = pfc_sandbox_wrap(cmd->sandbox, &box, &start, err);
    if (code)
        return code;
    opts->argv = (const char *const *)start.argv;
    opts->inherit_fd = start.keep_fd;
    opts->disk_path = cmd->dir;
    opts->disk_free_bytes = MIN_DISK_FREE_BYTES;
    opts->cwd = NULL;
    code = pfc_proc_run(opts, res, err);
    if (!code) {
        code = pfc_sandbox_ended(&start, res, err);
        if (code)
            pfc_proc_result_clear(res);
    }
    pfc_sandbox_start_clear(&start);
    return code;
}

pfc_code pfc_command_run(const pfc_command *cmd, pfc_proc_result *res, pfc_err *err)
{
    const char *const shell[] = { "/bin/sh", "-c", cmd->text, NULL };
    pfc_proc_opts opts = {
        .argv = cmd->text ? shell : cmd->argv,
        .cwd = cmd->dir,
        .max_output_bytes = cmd->max_output_bytes,
        .timeout_s = cmd->timeout_s,
        .merge = cmd->merge,
        .cancelled = cmd->cancelled,
        .cancelled_arg = cmd->cancelled_arg,
    };
    env_list env = { 0 };
    pfc_cgroup group = { 0 };
    pfc_code code = memory_limit(&opts.tree_limit_bytes, err);

    if (code)
        return code;
    if (cmd->text && strlen(cmd->text) > PFC_WORKSPACE_MAX_COMMAND)
        return pfc_err_set(err, PFC_EINVAL, "command: expected at most %d bytes, got %zu",
                           PFC_WORKSPACE_MAX_COMMAND, strlen(cmd->text));
    if (cmd->cgroups)
        code = pfc_cgroup_begin(cmd->cgroups, opts.tree_limit_bytes, PFC_SANDBOX_MAX_THREADS,
                                &group, err);
    if (code)
        return code;
    opts.join_fd = group.path ? group.procs_fd : 0;
    make_env(cmd, &env);
    opts.env = (const char *const *)env.items;
    code = cmd->sandbox ? run_sandboxed(cmd, &opts, res, err) : pfc_proc_run(&opts, res, err);
    pfc_cgroup_end(&group, code ? NULL : res);
    env_clear(&env);
    return code;
}

static void copy_line(const char *line, size_t len, char *out, size_t cap)
{
    size_t n = 0;

    for (size_t i = 0; i < len && n + 1 < cap; i++)
        out[n++] = (unsigned char)line[i] < 0x20 || line[i] == 0x7f ? ' ' : line[i];
    out[n] = '\0';
}

void pfc_command_error_line(const char *output, char *out, size_t cap)
{
    const char *last = NULL;
    size_t last_len = 0;

    out[0] = '\0';
    while (*output) {
        size_t len = strcspn(output, "\n");
        char *line = pfc_strndup(output, len);
        bool blank = line[strspn(line, " \t\r")] == '\0';
        bool is_error = strcasestr(line, "error") != NULL;

        free(line);
        if (is_error) {
            copy_line(output, len, out, cap);
            return;
        }
        if (!blank) {
            last = output;
            last_len = len;
        }
        output += len + (output[len] == '\n');
    }
    if (last)
        copy_line(last, last_len, out, cap);
}
