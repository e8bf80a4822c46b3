/*
 * Opening a store, its lock, and its files: see store.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "cli/store/store_priv.h"
#include "core/base/fs.h"
#include "core/git/branch_files.h"

#define BRANCH_PREFIX "branch:"

/* ---- the lock ---- */

/* The process that has the lock, for the message: the file holds its number. */
static long holder(const pfc_store *s)
{
    char text[32] = "";
    const ssize_t n = pread(s->lock_fd, text, sizeof(text) - 1, 0);

    return n > 0 ? strtol(text, NULL, 10) : 0;
}

static pfc_code take_lock(pfc_store *s, pfc_err *err)
{
    char text[32];
    int len;

    s->lock_fd = open(s->lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (s->lock_fd < 0)
        return pfc_err_set(err, PFC_EIO, "%.300s: %s", s->lock, strerror(errno));
    if (flock(s->lock_fd, LOCK_EX | LOCK_NB) != 0) {
        const int why = errno;
        const long process = holder(s);

        close(s->lock_fd);
        s->lock_fd = -1;
        if (why != EWOULDBLOCK)
            return pfc_err_set(err, PFC_EIO, "%.300s: %s", s->lock, strerror(why));
        pfc_err_set(err, PFC_EUNAVAIL, "another perfci (process %ld) uses the store %.200s",
                    process, s->spec);
        return pfc_err_hint(err, "wait until it has ended; nothing was measured");
    }
    len = snprintf(text, sizeof(text), "%ld\n", (long)getpid());
    if (ftruncate(s->lock_fd, 0) != 0 || pwrite(s->lock_fd, text, (size_t)len, 0) != len)
        return pfc_err_set(err, PFC_EIO, "%.300s: %s", s->lock, strerror(errno));
    return PFC_OK;
}

/* ---- opening ---- */

/* A folder with other files is not taken over, and gets no lock. */
static pfc_code check_folder(const pfc_store *s, bool *is_store, pfc_err *err)
{
    char *path = pfc_fs_join(s->dir, PFC_STORE_MARKER);
    char *text = NULL;
    char **paths = NULL;
    size_t len = 0;
    pfc_code code = pfc_fs_read(path, 4096, &text, &len, err);

    *is_store = !code;
    if (!code) {
        code = pfc_store_check_marker(text, len, s->spec, err);
    } else if (code == PFC_ENOTFOUND) {
        *err = (pfc_err){ 0 };
        code = pfc_store_list(s->dir, &paths, &len, err);
        if (!code && len)
            code = pfc_err_set(err, PFC_EINVAL,
                               "--store %.200s: the folder holds other files (%.100s) and no %s",
                               s->spec, paths[0], PFC_STORE_MARKER);
        for (size_t i = 0; i < len; i++)
            free(paths[i]);
        free(paths);
    }
    free(text);
    free(path);
    return code;
}

static pfc_code mark_folder(const pfc_store *s, pfc_err *err)
{
    char *path = pfc_fs_join(s->dir, PFC_STORE_MARKER);
    char *text = pfc_store_marker();
    bool is_store = false;
    pfc_code code = check_folder(s, &is_store, err);

    if (!code && !is_store)
        code = pfc_fs_write_atomic(path, text, strlen(text), 0644, err);
    free(text);
    free(path);
    return code;
}

/* Of one folder for each branch. */
static char *file_name(const char *branch)
{
    pfc_buf out;

    pfc_buf_init(&out, 3 * PFC_BRANCH_MAX_NAME + 1);
    for (const char *p = branch; *p; p++) {
        if (*p == '/' || *p == '%')
            pfc_buf_printf(&out, "%%%02X", (unsigned)(unsigned char)*p);
        else
            pfc_buf_putc(&out, *p);
    }
    return pfc_buf_take(&out);
}

static pfc_code prepare_branch(pfc_store *s, const char *name, pfc_err *err)
{
    char *file, *base;
    pfc_code code;

    if (!s->repo)
        return pfc_err_set(err, PFC_EINVAL, "--store %.200s: a branch needs a repository", s->spec);
    code = pfc_branch_ref(name, &s->ref, err);
    if (code)
        return pfc_err_wrap(err, "--store");
    s->branch = pfc_strdup(name);
    file = file_name(name);
    base = pfc_format("%s/perfci/store/%s", pfc_repo_git_dir(s->repo), file);
    s->dir = pfc_fs_join(base, "pending");
    s->lock = pfc_fs_join(base, "lock");
    free(base);
    free(file);
    return pfc_fs_mkdirs(s->dir, 0755, err);
}

static pfc_code prepare_folder(pfc_store *s, pfc_err *err)
{
    char *cwd = *s->spec == '/' ? NULL : getcwd(NULL, 0);
    bool is_store = false;
    pfc_code code;

    if (*s->spec != '/' && !cwd)
        return pfc_err_set(err, PFC_EIO, "the current folder: %s", strerror(errno));
    s->dir = cwd ? pfc_fs_join(cwd, s->spec) : pfc_strdup(s->spec);
    s->lock = pfc_fs_join(s->dir, ".lock");
    free(cwd);
    code = pfc_fs_mkdirs(s->dir, 0755, err);
    return code ? pfc_err_wrap(err, "--store") : check_folder(s, &is_store, err);
}

pfc_code pfc_store_open(const char *spec, pfc_repo *repo, pfc_store **out, pfc_err *err)
{
    const bool branch = strncmp(spec, BRANCH_PREFIX, strlen(BRANCH_PREFIX)) == 0;
    pfc_store *s;
    pfc_code code;

    if (!*spec || strlen(spec) > PFC_PATH_MAX / 2)
        return pfc_err_set(err, PFC_EINVAL, "--store: expected branch:NAME or a folder");
    s = pfc_alloc(sizeof(*s));
    s->lock_fd = -1;
    s->spec = pfc_strdup(spec);
    s->repo = branch ? repo : NULL;
    code = branch ? prepare_branch(s, spec + strlen(BRANCH_PREFIX), err) : prepare_folder(s, err);
    if (!code)
        code = take_lock(s, err);
    if (!code)
        code = branch ? pfc_store_branch_open(s, err) : mark_folder(s, err);
    if (code) {
        pfc_store_close(s);
        return code;
    }
    *out = s;
    return PFC_OK;
}

void pfc_store_close(pfc_store *s)
{
    if (!s)
        return;
    if (s->lock_fd >= 0)
        close(s->lock_fd);
    free(s->lock);
    free(s->dir);
    free(s->ref);
    free(s->branch);
    free(s->spec);
    free(s);
}

const char *pfc_store_name(const pfc_store *s)
{
    return s->spec;
}

/* ---- writing ---- */

pfc_code pfc_store_put(pfc_store *s, const char *path, const char *text, size_t len, bool page,
                       pfc_err *err)
{
    char *file = pfc_fs_join(s->dir, path);
    char *folder = pfc_strdup(file);
    pfc_code code = PFC_OK;

    if (!page && pfc_fs_exists(file))
        goto done;
    *strrchr(folder, '/') = '\0';
    code = pfc_fs_mkdirs(folder, 0755, err);
    if (!code)
        code = pfc_fs_write_atomic(file, text, len, 0644, err);
    if (code)
        code = pfc_err_wrap(err, "the store %.200s", s->spec);
done:
    free(folder);
    free(file);
    return code;
}

pfc_code pfc_store_publish(pfc_store *s, const char *message, pfc_err *err)
{
    return s->repo ? pfc_store_branch_publish(s, message, err) : PFC_OK;
}
