/*
 * The files of a store, from its folder and its branch.
 */
#include <stdlib.h>

#include "cli/store/store_priv.h"
#include "core/base/fs.h"
#include "core/git/branch_files.h"

typedef struct reading {
    pfc_store *store;
    pfc_store_file *each;
    pfc_store_fault *fault;
    void *arg;
    size_t bytes;
} reading;

static pfc_code read_folder(reading *r, pfc_err *err)
{
    char **paths = NULL;
    size_t len = 0;
    pfc_code code = pfc_store_list(r->store->dir, &paths, &len, err);

    for (size_t i = 0; i < len && !code; i++) {
        pfc_err why = { 0 };
        char *text = NULL;
        size_t size = 0;

        if (!pfc_store_is_data(paths[i]))
            continue;
        if (pfc_fs_read_beneath(r->store->dir, paths[i], PFC_STORE_MAX_FILE_BYTES, &text, &size,
                                &why)) {
            r->fault(r->arg, paths[i], why.msg);
            continue;
        }
        r->bytes += size;
        code = r->bytes > PFC_STORE_MAX_BYTES
                   ? pfc_err_set(err, PFC_ETOOBIG, "expected at most %u MiB in all files",
                                 PFC_STORE_MAX_BYTES >> 20)
                   : r->each(r->arg, paths[i], text, size, err);
        free(text);
    }
    for (size_t i = 0; i < len; i++)
        free(paths[i]);
    free(paths);
    return code;
}

/* A file that is also among the unpublished ones is read there. */
static pfc_code take_file(void *arg, const char *path, const char *text, size_t len, pfc_err *err)
{
    reading *r = arg;
    char *pending = pfc_fs_join(r->store->dir, path);
    const bool twice = pfc_fs_exists(pending);

    free(pending);
    r->bytes += len;
    return twice || !pfc_store_is_data(path) ? PFC_OK : r->each(r->arg, path, text, len, err);
}

static void take_oversized(void *arg, const char *path, size_t len)
{
    const reading *r = arg;
    char *reason = pfc_format("%zu bytes, expected at most %u", len, PFC_STORE_MAX_FILE_BYTES);

    if (pfc_store_is_data(path))
        r->fault(r->arg, path, reason);
    free(reason);
}

pfc_code pfc_store_each(pfc_store *s, pfc_store_file *each, pfc_store_fault *fault, void *arg,
                        pfc_err *err)
{
    static const pfc_branch_limits limits = { .files = PFC_STORE_MAX_FILES,
                                              .file_bytes = PFC_STORE_MAX_FILE_BYTES,
                                              .all_bytes = PFC_STORE_MAX_BYTES };
    reading r = { .store = s, .each = each, .fault = fault, .arg = arg };
    pfc_code code = PFC_OK;

    if (s->repo && s->tip.hex[0])
        code = pfc_branch_each(s->repo, &s->tip, &limits, take_file, take_oversized, &r, err);
    if (!code)
        code = read_folder(&r, err);
    if (code == PFC_ETOOBIG)
        (void)pfc_err_hint(err, "begin another store; the old one stays readable");
    return code ? pfc_err_wrap(err, "the store %.200s", s->spec) : PFC_OK;
}

pfc_code pfc_store_has(pfc_store *s, const char *path, bool *has, pfc_err *err)
{
    char *file = pfc_fs_join(s->dir, path);
    char *text = NULL;
    size_t len = 0;
    pfc_err why = { 0 };
    pfc_code code = PFC_OK;

    *has = pfc_fs_exists(file);
    free(file);
    if (*has || !s->repo || !s->tip.hex[0])
        return PFC_OK;
    code = pfc_repo_file(s->repo, &s->tip, path, PFC_STORE_MAX_FILE_BYTES, &text, &len, &why);
    free(text);
    *has = !code || code == PFC_ETOOBIG;
    if (*has || code == PFC_ENOTFOUND)
        return PFC_OK;
    *err = why;
    return code;
}
