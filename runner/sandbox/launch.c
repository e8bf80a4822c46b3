/* Requests of perfci-sandbox: reading the words, and what a server allows. */
#include "runner/sandbox/launch.h"

#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/fs.h"
#include "core/base/parse.h"

static pfc_code take_path(const char *word, const char *value, const char **out, pfc_err *err)
{
    if (value[0] != '/' || strlen(value) >= PFC_PATH_MAX)
        return pfc_err_set(err, PFC_EINVAL, "%s: expected an absolute path, got '%s'", word, value);
    *out = value;
    return PFC_OK;
}

static pfc_code take_mount(pfc_sandbox_command *c, const char *word, const char *value,
                           pfc_err *err)
{
    pfc_sandbox_mount *mount = &c->mounts[c->mounts_len];

    if (c->mounts_len == PFC_SANDBOX_MAX_MOUNTS)
        return pfc_err_set(err, PFC_EINVAL, "%s: expected at most %d mounts", word,
                           PFC_SANDBOX_MAX_MOUNTS);
    c->mounts_len++;
    mount->writable = pfc_streq(word, "--rw");
    return take_path(word, value, &mount->path, err);
}

static pfc_code take_env(pfc_launch_request *r, const char *value, size_t *n, pfc_err *err)
{
    if (value[0] == '=' || !strchr(value, '='))
        return pfc_err_set(err, PFC_EINVAL, "--env: expected NAME=VALUE, got '%s'", value);
    if (*n + 1 >= PFC_ARRAY_LEN(r->env))
        return pfc_err_set(err, PFC_EINVAL, "--env: expected at most %zu of them",
                           PFC_ARRAY_LEN(r->env) - 1);
    r->env[(*n)++] = value;
    return PFC_OK;
}

static pfc_code take_word(pfc_launch_request *r, const char *word, const char *value, size_t *envs,
                          pfc_err *err)
{
    if (pfc_streq(word, "--rw") || pfc_streq(word, "--ro"))
        return take_mount(&r->command, word, value, err);
    if (pfc_streq(word, "--env"))
        return take_env(r, value, envs, err);
    if (pfc_streq(word, "--cwd"))
        return take_path(word, value, &r->command.cwd, err);
    if (pfc_streq(word, "--memory"))
        return pfc_parse_bytes(value, word, &r->command.memory_bytes, err);
    return pfc_err_set(err, PFC_EINVAL, "unknown word '%s' in a request", word);
}

/* The word behind `at`, or NULL: each of them ends with a NUL below `end`. */
static const char *next_word(const char *at, const char *end)
{
    const char *next = at + strlen(at) + 1;

    return next < end ? next : NULL;
}

pfc_code pfc_launch_parse(pfc_launch_request *r, size_t len, pfc_err *err)
{
    const char *const end = r->text + len;
    const char *word = r->text;
    size_t envs = 0, argc = 0;
    pfc_code code = PFC_OK;

    if (len == 0 || len > sizeof(r->text) || r->text[len - 1] != '\0')
        return pfc_err_set(err, PFC_EINVAL, "request: expected 1 to %zu bytes that end with NUL",
                           sizeof(r->text));
    r->command = (pfc_sandbox_command){ .argv = r->argv, .env = r->env };
    for (; !code && word && !pfc_streq(word, "--"); word = word ? next_word(word, end) : NULL) {
        const char *value;

        if (pfc_streq(word, "--network")) {
            r->command.network = true;
            continue;
        }
        value = next_word(word, end);
        code = value ? take_word(r, word, value, &envs, err)
                     : pfc_err_set(err, PFC_EINVAL, "word '%s' of a request has no value", word);
        word = value;
    }
    if (code)
        return code;
    while (word && (word = next_word(word, end)) != NULL) {
        if (argc + 1 == PFC_ARRAY_LEN(r->argv))
            return pfc_err_set(err, PFC_EINVAL, "request: expected at most %zu arguments", argc);
        r->argv[argc++] = word;
    }
    r->argv[argc] = NULL;
    r->env[envs] = NULL;
    if (argc == 0 || !r->command.cwd)
        return pfc_err_set(err, PFC_EINVAL, "request: expected --cwd PATH and -- PROGRAM");
    return PFC_OK;
}

/* ---- what is allowed ---- */

static bool is_below_usr(const char *path)
{
    return strncmp(path, "/usr/", 5) == 0 && !strstr(path, "/../");
}

/* The folders that the runner gives to commands; its spool and the job in hand are beside them. */
static bool is_for_commands(const char *rest)
{
    static const char *const places[] = { "cache-*", "tmp" };
    char *first = pfc_strndup(rest, strcspn(rest, "/"));
    bool found = false;

    for (size_t i = 0; i < PFC_ARRAY_LEN(places) && !found; i++)
        found = fnmatch(places[i], first, 0) == 0;
    free(first);
    return found;
}

/* The part of `path` behind `folder` and a slash, or NULL. */
static const char *part_below(const char *folder, const char *path)
{
    const size_t len = folder ? strlen(folder) : 0;

    return len && strncmp(path, folder, len) == 0 && path[len] == '/' ? path + len + 1 : NULL;
}

/* Below `work`, which may itself be reached by a link (systemd's DynamicUser=yes makes one) and
 * then be named by either name; below it no link is followed. */
static bool is_in_work(const char *work, const char *path)
{
    char *const real_work = realpath(work, NULL), *const real_path = realpath(path, NULL);
    const char *rest = real_path ? part_below(real_work, real_path) : NULL;
    const char *said = part_below(work, path);
    bool inside;

    if (!said)
        said = part_below(real_work, path);
    inside = rest && said && strcmp(rest, said) == 0 && is_for_commands(rest);
    free(real_work);
    free(real_path);
    return inside;
}

pfc_code pfc_launch_allowed(const pfc_launch_rules *rules, const pfc_launch_request *r,
                            pfc_err *err)
{
    if (r->command.network && !rules->network) {
        pfc_err_set(err, PFC_EDENIED,
                    "this perfci-sandbox has no network, and the build asks for one "
                    "(build_network in perfci.yaml)");
        return pfc_err_hint(err, "install drop-ins/build-network.conf, or remove build_network");
    }
    for (size_t i = 0; i < r->command.mounts_len; i++) {
        const pfc_sandbox_mount *m = &r->command.mounts[i];

        if (!is_in_work(rules->work, m->path) && (m->writable || !is_below_usr(m->path)))
            return pfc_err_set(err, PFC_EDENIED,
                               "perfci-sandbox mounts no %s: expected a folder cache-* or tmp of "
                               "%s%s",
                               m->path, rules->work, m->writable ? "" : ", or one below /usr");
    }
    return PFC_OK;
}
