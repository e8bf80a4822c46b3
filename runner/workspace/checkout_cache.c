/*
 * Keeps the most recently used checkouts. The time of the last use is the modification time of an
 * entry's `state` file. An entry without that file is unfinished and is removed first.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/log.h"
#include "runner/workspace/workspace_priv.h"

#define MAX_ENTRIES 100000 /* limit, in case other programs write to the folder */

typedef struct entry {
    char *path;
    int64_t used_ns; /* 0: unfinished */
} entry;

static int by_age(const void *a, const void *b)
{
    const entry *x = a, *y = b;

    if (x->used_ns != y->used_ns)
        return x->used_ns < y->used_ns ? -1 : 1;
    return strcmp(x->path, y->path); /* a defined order for equal times */
}

static int64_t last_use(const char *path)
{
    char *state = pfc_fs_join(path, "state");
    struct stat st;
    int64_t used = 0;

    if (stat(state, &st) == 0)
        used = (int64_t)st.st_mtim.tv_sec * PFC_NS_PER_S + st.st_mtim.tv_nsec;
    free(state);
    return used;
}

static pfc_code list_entries(const char *dir, const char *except, entry **items, size_t *len,
                             pfc_err *err)
{
    DIR *folder = opendir(dir);
    const struct dirent *found;
    size_t cap = 0;

    *items = NULL;
    *len = 0;
    if (!folder)
        return pfc_err_set(err, PFC_EIO, "open %s: %s", dir, strerror(errno));
    while ((found = readdir(folder)) != NULL && *len < MAX_ENTRIES) {
        if (strcmp(found->d_name, ".") == 0 || strcmp(found->d_name, "..") == 0 ||
            strcmp(found->d_name, except) == 0)
            continue;
        *items = pfc_grow(*items, *len, &cap, sizeof(**items));
        (*items)[*len].path = pfc_fs_join(dir, found->d_name);
        (*items)[*len].used_ns = last_use((*items)[*len].path);
        (*len)++;
    }
    (void)closedir(folder);
    return PFC_OK;
}

pfc_code pfc_cache_make_room(const char *dir, size_t keep, const char *except, pfc_err *err)
{
    entry *items = NULL;
    size_t len = 0;
    pfc_code code = list_entries(dir, except, &items, &len, err);

    if (len > 1)
        qsort(items, len, sizeof(*items), by_age);
    for (size_t i = 0; i < len; i++) {
        if (code == PFC_OK && len - i > keep)
            code = pfc_fs_remove_tree(items[i].path, err);
        free(items[i].path);
    }
    free(items);
    return code;
}

static bool has_room(const char *dir)
{
    struct statvfs fs;

    return statvfs(dir, &fs) != 0 || ((uint64_t)fs.f_bavail * fs.f_frsize >= PFC_CACHE_FREE_BYTES &&
                                      (fs.f_files == 0 || fs.f_favail >= PFC_CACHE_FREE_FILES));
}

pfc_code pfc_cache_free_disk(const char *dir, pfc_err *err)
{
    entry *items = NULL;
    size_t len = 0;
    pfc_code code = has_room(dir) ? PFC_OK : list_entries(dir, "", &items, &len, err);

    if (len > 1)
        qsort(items, len, sizeof(*items), by_age);
    for (size_t i = 0; i < len; i++) {
        if (code == PFC_OK && !has_room(dir)) {
            pfc_log(PFC_WARN, "checkout_removed", "entry", items[i].path, "reason",
                    "the disk is nearly full");
            code = pfc_fs_remove_tree(items[i].path, err);
        }
        free(items[i].path);
    }
    free(items);
    return code;
}
