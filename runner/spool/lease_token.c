/*
 * The token of the lease under which a document was measured, in tokens/ID: a document waits longer
 * than its job, and only that token stores its results. The file stays where it is when the
 * document moves to sent/ or rejected/ and back.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "runner/spool/spool_priv.h"

#define KEPT_S    (8 * 86400) /* a day longer than the server accepts one */
#define MAX_TOKEN 256

void pfc_spool_lease_token(pfc_spool *spool, const char *token)
{
    free(spool->token);
    spool->token = token && token[0] ? pfc_strdup(token) : NULL;
}

/* Of the document's run or session, as in its name: SECONDS.NANOSECONDS-ID-PART. */
static char *path_for(const pfc_spool *spool, const char *name)
{
    const char *id = strchr(name, '-');
    const size_t len = pfc_spool_run_len(name);

    if (!id || (size_t)(id - name) >= len || memchr(id, '/', len - (size_t)(id - name)))
        return NULL;
    id++;
    return pfc_format("%s/%.*s", spool->tokens, (int)(len - (size_t)(id - name)), id);
}

pfc_code pfc_spool_token_write(const pfc_spool *spool, const char *id, pfc_err *err)
{
    char *path;
    pfc_code code;

    if (!spool->token)
        return PFC_OK;
    path = pfc_fs_join(spool->tokens, id);
    code = pfc_fs_write_atomic(path, spool->token, strlen(spool->token), 0600, err);
    free(path);
    return code;
}

char *pfc_spool_token_read(const pfc_spool *spool, const char *name)
{
    char *path = path_for(spool, name), *token = NULL;
    size_t len = 0;

    if (path && pfc_fs_exists(path) && pfc_fs_read(path, MAX_TOKEN, &token, &len, NULL) != PFC_OK)
        token = NULL;
    free(path);
    return token;
}

void pfc_spool_tokens_sweep(const pfc_spool *spool)
{
    DIR *folder = opendir(spool->tokens);
    const time_t oldest = time(NULL) - KEPT_S;
    const struct dirent *entry;
    struct stat st;

    if (!folder)
        return;
    while ((entry = readdir(folder)) != NULL) {
        if (fstatat(dirfd(folder), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(st.st_mode) && st.st_mtime < oldest)
            (void)unlinkat(dirfd(folder), entry->d_name, 0);
    }
    (void)closedir(folder);
}
