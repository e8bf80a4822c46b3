/*
 * Reading a history: a commit a line, id, subject and paths, tabs between, '|' between paths.
 */
#include "bench/studies/suspects/history.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/fs.h"

#define MAX_BYTES (16u * 1024 * 1024)

static void add_path(history *h, history_commit *c, size_t *cap, const char *path)
{
    c->paths = pfc_grow(c->paths, c->paths_len, cap, sizeof(*c->paths));
    c->paths[c->paths_len++] = path;
    h->files = pfc_grow(h->files, h->files_len, &h->files_cap, sizeof(*h->files));
    h->files[h->files_len++] = path;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void sort_files(history *h)
{
    size_t kept = 0;

    qsort(h->files, h->files_len, sizeof(*h->files), by_text);
    for (size_t i = 0; i < h->files_len; i++)
        if (kept == 0 || strcmp(h->files[kept - 1], h->files[i]) != 0)
            h->files[kept++] = h->files[i];
    h->files_len = kept;
}

pfc_code history_read(const char *path, history *out, pfc_err *err)
{
    history h = { 0 };
    char *save_line = NULL;
    size_t len = 0, number = 0;
    pfc_code code = pfc_fs_read(path, MAX_BYTES, &h.text, &len, err);

    if (code)
        return code;
    for (char *line = strtok_r(h.text, "\n", &save_line); line && !code;
         line = strtok_r(NULL, "\n", &save_line)) {
        char *subject = strchr(line, '\t'), *paths = subject ? strchr(subject + 1, '\t') : NULL;
        char *save_path = NULL;
        history_commit *c;
        size_t cap = 0;

        number++;
        if (!paths) {
            code = pfc_err_set(err, PFC_EINVAL, "%s:%zu: expected id, subject and paths", path,
                               number);
            break;
        }
        *subject++ = '\0';
        *paths++ = '\0';
        h.commits = pfc_grow(h.commits, h.len, &h.cap, sizeof(*h.commits));
        c = &h.commits[h.len++];
        *c = (history_commit){ .id = line, .subject = subject };
        for (char *p = strtok_r(paths, "|", &save_path); p; p = strtok_r(NULL, "|", &save_path))
            add_path(&h, c, &cap, p);
    }
    if (code) {
        history_clear(&h);
        return code;
    }
    sort_files(&h);
    *out = h;
    return PFC_OK;
}

void history_clear(history *h)
{
    for (size_t i = 0; i < h->len; i++)
        free((void *)h->commits[i].paths);
    free(h->commits);
    free((void *)h->files);
    free(h->text);
    *h = (history){ 0 };
}
