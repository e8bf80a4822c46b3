/* The key of a pair of builds: see pair_key.h. */
#include "runner/blocks/pair_key.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/fs.h"
#include "runner/workspace/workspace_priv.h"

#define FORM           "perfci pair 1" /* changes when the text below means something else */
#define MAX_TEXT       (8u * 1024 * 1024)
#define MAX_FILE_BYTES (512u * 1024 * 1024)

extern char **environ;

/* Variables that differ between two starts of one service, terminal or CI job. */
static const char *const volatile_names[] = {
    "PWD",
    "OLDPWD",
    "SHLVL",
    "_",
    "TERM",
    "COLUMNS",
    "LINES",
    "INVOCATION_ID",
    "MAINPID",
    "MANAGERPID",
    "JOURNAL_STREAM",
    "NOTIFY_SOCKET",
    "WATCHDOG_PID",
    "WATCHDOG_USEC",
    "SYSTEMD_EXEC_PID",
    "LISTEN_PID",
    "LISTEN_FDS",
    "LISTEN_FDNAMES",
    "RUNTIME_DIRECTORY",
    "WINDOWID",
};
static const char *const volatile_prefixes[] = { "SSH_",    "GITHUB_", "RUNNER_",  "CI_",
                                                 "GITLAB_", "BUILD_",  "JENKINS_", "XDG_SESSION_" };

/* Name and length before each value: no two lists of fields make the same text. */
static void put(pfc_buf *out, const char *name, const char *value)
{
    if (value)
        pfc_buf_printf(out, "%s %zu:%s\n", name, strlen(value), value);
    else
        pfc_buf_printf(out, "%s -\n", name);
}

static void put_number(pfc_buf *out, const char *name, double value)
{
    pfc_buf_printf(out, "%s %.17g\n", name, value);
}

static pfc_code put_tree(pfc_buf *out, pfc_repo *repo, const char *name, const pfc_commit_id *id,
                         pfc_err *err)
{
    pfc_commit_id tree;
    pfc_code code = pfc_repo_tree(repo, id, &tree, err);

    if (!code)
        put(out, name, tree.hex);
    return code;
}

static void put_settings(pfc_buf *out, const pfc_pair_of *of)
{
    const pfc_commit_measure_opts *m = of->measure;

    put(out, "build", of->build);
    put(out, "measure", m->measure);
    put(out, "suite", m->measure ? NULL : m->suite);
    put(out, "filter", of->wanted ? of->wanted->filter : NULL);
    for (size_t i = 0; of->wanted && i < of->wanted->backends_len; i++)
        put(out, "backend", of->wanted->backends[i]);
    put(out, "metric", m->metric);
    put(out, "unit", m->unit);
    pfc_buf_printf(out, "flags %d %d %d %d %d\n", m->resources, m->time, m->has_direction,
                   m->higher_is_better, m->any_direction);
    for (size_t i = 0; i < m->directions_len; i++)
        put(out, m->directions[i].higher ? "higher" : "lower", m->directions[i].name);
    put_number(out, "timeout", m->timeout_s);
    put_number(out, "budget", of->budget_s);
    put_number(out, "margin", of->margin);
    put_number(out, "rounds", (double)of->rounds);
    put(out, "isolation", of->isolation);
}

static pfc_code put_file(pfc_buf *out, const char *name, const char *path, pfc_err *err)
{
    char hash[PFC_SHA256_HEX];
    char *bytes = NULL;
    size_t len = 0;
    pfc_code code = pfc_fs_read(path, MAX_FILE_BYTES, &bytes, &len, err);

    if (code)
        return code;
    pfc_sha256_hex(bytes, len, hash);
    put(out, name, hash);
    free(bytes);
    return PFC_OK;
}

/* A suite is measured by perfci-bench: the one in the checkout, which the trees decide, else this
 * one, whose content decides. A suite's path inside the checkout is decided by the trees, too. */
static pfc_code put_bench(pfc_buf *out, const pfc_commit_measure_opts *m, pfc_err *err)
{
    char *bench = NULL;
    pfc_err none = { 0 };
    pfc_code code = PFC_OK;

    if (m->measure)
        return PFC_OK;
    if (!pfc_measure_find_bench(m, "/nonexistent", &bench, &none))
        code = put_file(out, "bench", bench, err);
    if (!code && m->suite && m->suite[0] == '/' && pfc_fs_exists(m->suite))
        code = put_file(out, "suite_file", m->suite, err);
    free(bench);
    return code;
}

static void put_machine(pfc_buf *out, const pfc_commit_measure_opts *m)
{
    pfc_machine machine = { 0 };
    char toolchain[PFC_SHA256_HEX];

    pfc_host_describe(NULL, &machine, m->machine_name, m->machine_class);
    put(out, "machine_class", machine.machine_class);
    for (size_t i = 0; i < machine.fingerprint.len; i++)
        put(out, machine.fingerprint.items[i].name, machine.fingerprint.items[i].value);
    pfc_machine_clear(&machine);
    pfc_toolchain_hash(toolchain);
    put(out, "toolchain", toolchain);
}

static bool is_volatile(const char *variable)
{
    const size_t len = strcspn(variable, "=");

    for (size_t i = 0; i < PFC_ARRAY_LEN(volatile_names); i++)
        if (strlen(volatile_names[i]) == len && strncmp(variable, volatile_names[i], len) == 0)
            return true;
    for (size_t i = 0; i < PFC_ARRAY_LEN(volatile_prefixes); i++)
        if (strncmp(variable, volatile_prefixes[i], strlen(volatile_prefixes[i])) == 0)
            return true;
    return false;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sorted: the order of variables is that in which they were set. */
static void put_environment(pfc_buf *out)
{
    const char **kept;
    size_t len = 0, count = 0;

    while (environ[count])
        count++;
    kept = pfc_calloc(count + 1, sizeof(*kept));
    for (size_t i = 0; i < count; i++) {
        char *name = pfc_strndup(environ[i], strcspn(environ[i], "="));

        if (!pfc_command_is_secret(name) && !is_volatile(environ[i]))
            kept[len++] = environ[i];
        free(name);
    }
    qsort(kept, len, sizeof(*kept), by_text);
    for (size_t i = 0; i < len; i++)
        put(out, "env", kept[i]);
    free(kept);
}

pfc_code pfc_pair_key(pfc_repo *repo, const pfc_pair_of *of, char out[PFC_SHA256_HEX], pfc_err *err)
{
    pfc_buf text;
    pfc_code code;

    pfc_buf_init(&text, MAX_TEXT);
    put(&text, FORM, PFC_VERSION);
    code = put_tree(&text, repo, "base", of->base, err);
    if (!code)
        code = put_tree(&text, repo, "head", of->head, err);
    put_settings(&text, of);
    if (!code)
        code = put_bench(&text, of->measure, err);
    put_machine(&text, of->measure);
    put_environment(&text);
    if (!code && text.overflow)
        code = pfc_err_set(err, PFC_ETOOBIG, "pair key: expected at most %u bytes of settings",
                           MAX_TEXT);
    if (!code)
        pfc_sha256_hex(pfc_buf_text(&text), text.len, out);
    pfc_buf_clear(&text);
    return code;
}
