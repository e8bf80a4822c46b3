/*
 * Where the files of a store lie: its marker, the names of documents, the list of a folder.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/store/store_priv.h"
#include "core/base/fs.h"
#include "core/wire/wire.h"

#define FORMAT "perfci-store"

/* ---- the marker ---- */

char *pfc_store_marker(void)
{
    return pfc_format("{\"format\": \"%s\", \"version\": %d}\n", FORMAT, PFC_STORE_VERSION);
}

pfc_code pfc_store_check_marker(const char *text, size_t len, const char *where, pfc_err *err)
{
    int64_t version = 0;
    json_t *doc = NULL;
    pfc_code code = pfc_json_parse(text, len, &doc, err);

    if (!code && !pfc_streq(json_string_value(json_object_get(doc, "format")), FORMAT))
        code = pfc_err_set(err, PFC_EINVAL, "expected \"format\": \"%s\"", FORMAT);
    if (!code)
        code = pfc_json_i64(doc, NULL, "version", true, 1, INT32_MAX, &version, err);
    json_decref(doc);
    if (code)
        return pfc_err_wrap(err, "%.200s: %s", where, PFC_STORE_MARKER);
    if (version <= PFC_STORE_VERSION)
        return PFC_OK;
    pfc_err_set(err, PFC_EINVAL,
                "%.200s: the store has version %lld, and this perfci reads up to %d", where,
                (long long)version, PFC_STORE_VERSION);
    return pfc_err_hint(err, "install a newer perfci");
}

bool pfc_store_is_data(const char *path)
{
    static const char *const folders[] = { "runs/", "sessions/", "alerts/", "triage/" };
    const size_t len = strlen(path);
    bool below = false;

    for (size_t i = 0; i < PFC_ARRAY_LEN(folders); i++)
        below = below || strncmp(path, folders[i], strlen(folders[i])) == 0;
    return below && len > 5 && strcmp(path + len - 5, ".json") == 0;
}

bool pfc_store_is_page(const char *path)
{
    return strcmp(path, PFC_STORE_PAGE) == 0;
}

/* ---- lists ---- */

enum { MAX_DEPTH = 4 };

typedef struct listing {
    char **items;
    size_t len, cap;
} listing;

/* Lists a folder below `dir` and the folders in it. */
static pfc_code list_one(const char *dir, const char *below, size_t depth, listing *l, pfc_err *err)
{
    char *path = *below ? pfc_fs_join(dir, below) : pfc_strdup(dir);
    DIR *d = opendir(path);
    const struct dirent *entry;
    pfc_code code = PFC_OK;

    if (!d)
        code = pfc_err_set(err, PFC_EIO, "%.300s: %s", path, strerror(errno));
    while (!code && (entry = readdir(d))) {
        struct stat st;
        char *name;

        if (entry->d_name[0] == '.' ||
            fstatat(dirfd(d), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
            (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
            continue;
        name = *below ? pfc_fs_join(below, entry->d_name) : pfc_strdup(entry->d_name);
        if (S_ISDIR(st.st_mode)) {
            if (depth < MAX_DEPTH)
                code = list_one(dir, name, depth + 1, l, err);
            free(name);
            continue;
        }
        l->items = pfc_grow(l->items, l->len, &l->cap, sizeof(*l->items));
        l->items[l->len++] = name;
        if (l->len > PFC_STORE_MAX_FILES)
            code = pfc_err_set(err, PFC_ETOOBIG, "%.200s: expected at most %d files", dir,
                               PFC_STORE_MAX_FILES);
    }
    if (d)
        (void)closedir(d);
    free(path);
    return code;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void listing_clear(listing *l)
{
    for (size_t i = 0; i < l->len; i++)
        free(l->items[i]);
    free(l->items);
}

pfc_code pfc_store_list(const char *dir, char ***paths, size_t *len, pfc_err *err)
{
    listing l = { 0 };
    const pfc_code code = list_one(dir, "", 0, &l, err);

    if (code) {
        listing_clear(&l);
        return code;
    }
    if (l.len)
        qsort(l.items, l.len, sizeof(*l.items), by_text);
    *paths = l.items;
    *len = l.len;
    return PFC_OK;
}
