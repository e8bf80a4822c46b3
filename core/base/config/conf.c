/* Where settings come from: flag, environment, perfci.yaml, the user's file, defaults. */
#include "core/base/config/conf.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/fs.h"
#include "core/base/log.h"

#define SECRET_MAX_BYTES 65536

void pfc_conf_clear(pfc_conf *conf)
{
    if (conf == NULL)
        return;
    free(conf->path);
    free(conf->project);
    free(conf->branch);
    free(conf->server);
    free(conf->build);
    free(conf->measure);
    free(conf->suite);
    free(conf->relink);
    free(conf->metric);
    free(conf->unit);
    for (size_t i = 0; i < conf->paths_len; i++)
        free(conf->paths[i]);
    free(conf->paths);
    free(conf->anchor);
    for (size_t i = 0; i < conf->runtime_files_len; i++)
        free(conf->runtime_files[i]);
    free(conf->runtime_files);
    for (size_t i = 0; i < conf->directions_len; i++)
        free((char *)(uintptr_t)conf->directions[i].name);
    free(conf->directions);
    *conf = (pfc_conf){ 0 };
}

static pfc_code read_conf(const char *path, pfc_conf *out, pfc_err *err)
{
    char *text = NULL;
    size_t len = 0;
    pfc_code code = pfc_fs_read(path, PFC_CONF_MAX_BYTES, &text, &len, err);

    if (code == PFC_OK)
        code = pfc_conf_parse(text, len, path, out, err);
    free(text);
    if (code == PFC_OK)
        out->path = pfc_strdup(path);
    return code;
}

pfc_code pfc_conf_add_user(pfc_conf *conf, pfc_err *err)
{
    const char *xdg = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    pfc_conf user = { 0 };
    char *path = NULL;
    pfc_code code = PFC_OK;

    if (xdg != NULL && xdg[0] == '/')
        path = pfc_format("%s/perfci/config.yaml", xdg);
    else if (home != NULL && home[0] == '/')
        path = pfc_format("%s/.config/perfci/config.yaml", home);
    if (path != NULL && pfc_fs_exists(path)) {
        code = read_conf(path, &user, err);
        if (code == PFC_OK && conf->server == NULL) {
            conf->server = user.server;
            user.server = NULL;
        }
        pfc_conf_clear(&user);
    }
    free(path);
    return code;
}

pfc_code pfc_conf_find(const char *dir, pfc_conf *out, pfc_err *err)
{
    char *at = realpath(dir, NULL);
    pfc_conf conf = { .timeout_s = 600 };
    pfc_code code = PFC_OK;
    bool found = false;

    if (at == NULL)
        return pfc_err_set(err, PFC_ENOTFOUND, "there is no folder %.300s", dir);
    while (!found && code == PFC_OK) {
        char *path = pfc_fs_join(at, "perfci.yaml");
        char *slash = strrchr(at, '/');

        if (pfc_fs_exists(path)) {
            code = read_conf(path, &conf, err);
            found = true;
        }
        free(path);
        if (slash == NULL || at[1] == '\0')
            break;
        slash[slash == at ? 1 : 0] = '\0';
    }
    free(at);
    if (code == PFC_OK)
        code = pfc_conf_add_user(&conf, err);
    if (code != PFC_OK) {
        pfc_conf_clear(&conf);
        return code;
    }
    *out = conf;
    return PFC_OK;
}

const char *pfc_conf_pick(const char *flag, const char *env, const char *yaml, const char *fallback)
{
    const char *value = flag;

    if (value == NULL && env != NULL)
        value = getenv(env);
    /* An empty variable counts as unset, because a shell unsets a variable for one command by
     * `NAME= command`. */
    if (value != NULL && flag == NULL && value[0] == '\0')
        value = NULL;
    if (value == NULL)
        value = yaml;
    return value == NULL ? fallback : value;
}

char *pfc_conf_data_dir(const char *flag)
{
    const char *given = pfc_conf_pick(flag, "PERFCI_DATA", NULL, NULL);
    const char *xdg = getenv("XDG_DATA_HOME");
    const char *home = getenv("HOME");

    if (given != NULL)
        return pfc_strdup(given);
    if (xdg != NULL && xdg[0] == '/')
        return pfc_format("%s/perfci", xdg);
    return pfc_format("%s/.local/share/perfci", home != NULL && home[0] == '/' ? home : "/root");
}

/* *out_len: of what is left without the line breaks at its end. */
static pfc_code read_secret_file(const char *path, char **out, size_t *out_len, pfc_err *err)
{
    pfc_err open_to_all = { 0 };
    char *text = NULL;
    size_t len = 0;
    pfc_code code = pfc_fs_read(path, SECRET_MAX_BYTES, &text, &len, err);

    if (code != PFC_OK)
        return code;
    if (pfc_fs_private(path, &open_to_all) == PFC_EDENIED)
        pfc_log(PFC_WARN, "secret_file_world_readable", "reason", (const char *)open_to_all.msg);
    while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\r'))
        text[--len] = '\0';
    *out = text;
    *out_len = len;
    return PFC_OK;
}

pfc_code pfc_conf_secret_file(const char *path, char **out, pfc_err *err)
{
    char *text = NULL;
    size_t len = 0, line;
    pfc_code code = read_secret_file(path, &text, &len, err);

    if (code)
        return code;
    line = strcspn(text, "\r\n");
    if (strlen(text) != len)
        code = pfc_err_set(err, PFC_EINVAL, "%.300s: expected text", path);
    else if (line == 0)
        code = pfc_err_set(err, PFC_EINVAL, "%.300s: it is empty", path);
    if (code) {
        free(text);
        return code;
    }
    text[line] = '\0';
    *out = text;
    return PFC_OK;
}

/* One that is named and not there is a mistake, which must not pass for none. */
static pfc_code read_named_file(const char *name, const char *path, char **out, pfc_err *err)
{
    pfc_err why = { 0 };
    size_t len = 0;
    pfc_code code = read_secret_file(path, out, &len, &why);

    if (code == PFC_OK)
        return PFC_OK;
    return pfc_err_set(err, code == PFC_ENOTFOUND ? PFC_EINVAL : code, "%s: %s", name, why.msg);
}

bool pfc_conf_url_has_password(const char *url)
{
    const char *at = strstr(url, "://"), *end, *colon;

    /* Matches "password=x" and "sslpassword=x", with or without blanks before the equals sign. */
    for (const char *word = strstr(url, "password"); word; word = strstr(word, "password")) {
        word += strlen("password");
        word += strspn(word, " \t\r\n");
        if (*word == '=')
            return true;
    }
    if (!at)
        return false;
    at += 3;
    end = at + strcspn(at, "/?");
    colon = memchr(at, ':', (size_t)(end - at));
    return colon && memchr(colon, '@', (size_t)(end - colon));
}

pfc_code pfc_conf_secret(const char *name, char **out, pfc_err *err)
{
    const char *value = getenv(name);
    const char *credentials = getenv("CREDENTIALS_DIRECTORY");
    char *file_name = pfc_format("%s_FILE", name);
    const char *file = getenv(file_name);
    size_t len = 0;
    char *credential = credentials == NULL ? NULL : pfc_fs_join(credentials, name);
    pfc_code code;

    if (value != NULL && value[0] != '\0') {
        *out = pfc_strdup(value);
        code = PFC_OK;
    } else if (file != NULL && file[0] != '\0') {
        code = read_named_file(file_name, file, out, err);
    } else if (credential != NULL && pfc_fs_exists(credential)) {
        code = read_secret_file(credential, out, &len, err);
    } else {
        code = pfc_err_set(err, PFC_ENOTFOUND, "%s is not set (nor %s_FILE)", name, name);
    }
    free(credential);
    free(file_name);
    return code;
}
