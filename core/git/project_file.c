/* Which perfci.yaml counts. */
#include "core/git/project_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/fs.h"

void pfc_project_source_clear(pfc_project_source *source)
{
    if (!source)
        return;
    free(source->text);
    free(source->dir);
    *source = (pfc_project_source){ 0 };
}

static pfc_code from_file(const char *path, pfc_conf *conf, pfc_project_source *source,
                          pfc_err *err)
{
    char *full = NULL;
    pfc_code code = pfc_fs_read(path, PFC_CONF_MAX_BYTES, &source->text, &source->len, err);

    if (!code)
        code = pfc_conf_parse(source->text, source->len, path, conf, err);
    if (code)
        return code;
    full = realpath(path, NULL);
    conf->path = full ? full : pfc_strdup(path); /* "-" has no folder */
    if (full) {
        char *slash = strrchr(full, '/');

        source->dir = pfc_strndup(full, slash == full ? 1 : (size_t)(slash - full));
    }
    return PFC_OK;
}

static bool is_file(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* The nearest from `from` upwards; the last folder looked into is `top` (NULL: the root). NULL:
 * none. */
static char *nearest(const char *from, const char *top)
{
    char *at = pfc_strdup(from);
    char *found = NULL;

    for (;;) {
        char *path = pfc_fs_join(at, PFC_PROJECT_FILE);
        char *slash = strrchr(at, '/');

        if (is_file(path)) {
            found = path;
            break;
        }
        free(path);
        if (pfc_streq(at, top) || slash == NULL || at[1] == '\0')
            break;
        slash[slash == at ? 1 : 0] = '\0';
    }
    free(at);
    return found;
}

static pfc_code from_commits(const pfc_project_place *place, pfc_conf *conf,
                             pfc_project_source *source, bool *found, pfc_err *err)
{
    for (size_t i = place->commits_len; i > 0; i--) {
        const pfc_commit_id *id = &place->commits[i - 1];
        char *name;
        pfc_code code = pfc_repo_file(place->repo, id, PFC_PROJECT_FILE, PFC_CONF_MAX_BYTES,
                                      &source->text, &source->len, err);

        if (code == PFC_ENOTFOUND)
            continue;
        if (code)
            return code;
        name = pfc_format("%s@%.12s", PFC_PROJECT_FILE, id->hex);
        code = pfc_conf_parse(source->text, source->len, name, conf, err);
        source->commit = *id;
        *found = true;
        if (code)
            free(name);
        else
            conf->path = name;
        return code;
    }
    if (err)
        *err = (pfc_err){ 0 };
    return PFC_OK;
}

/* Steps 2 to 4 of the rule. */
static pfc_code search(const pfc_project_place *place, pfc_conf *conf, pfc_project_source *source,
                       pfc_err *err)
{
    const bool tree = place->repo && !pfc_repo_is_bare(place->repo);
    char *dir = place->dir ? realpath(place->dir, NULL) : NULL;
    char *path = NULL;
    bool found = false;
    pfc_code code = PFC_OK;

    if (place->dir && !dir)
        return pfc_err_set(err, PFC_ENOTFOUND, "there is no folder %.300s", place->dir);
    if (dir && tree)
        path = nearest(dir, pfc_repo_root(place->repo));
    if (!path && place->repo)
        code = from_commits(place, conf, source, &found, err);
    if (!path && !found && dir && !code)
        path = nearest(dir, NULL);
    if (path && !code)
        code = from_file(path, conf, source, err);
    free(path);
    free(dir);
    return code;
}

pfc_code pfc_project_read(const pfc_project_place *place, pfc_conf *conf,
                          pfc_project_source *source, pfc_err *err)
{
    pfc_conf read = { .timeout_s = 600 };
    pfc_project_source from = { 0 };
    pfc_code code =
        place->file ? from_file(place->file, &read, &from, err) : search(place, &read, &from, err);

    if (!code)
        code = pfc_conf_add_user(&read, err);
    if (code) {
        pfc_conf_clear(&read);
        pfc_project_source_clear(&from);
        return code;
    }
    *conf = read;
    if (source)
        *source = from;
    else
        pfc_project_source_clear(&from);
    return PFC_OK;
}

char *pfc_project_suite(const pfc_project_source *source, const char *suite)
{
    char *path;

    /* A built-in suite is a plain word; a file of that name is written ./quick. */
    if (!source->dir || suite[0] == '/' || !strpbrk(suite, "./"))
        return pfc_strdup(suite);
    path = pfc_fs_join(source->dir, suite);
    if (is_file(path))
        return path;
    free(path);
    return pfc_strdup(suite);
}
