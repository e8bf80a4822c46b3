/* The documentation: read once from its folder, served from memory. */
#include "server/http/docs_site.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/fs.h"

typedef struct page {
    char *path; /* "how-to/triage.html" */
    const char *type;
    char *bytes;
    size_t len;
} page;

struct httpd_docs {
    page *pages; /* ascending by path */
    size_t len, cap, bytes;
};

static const struct {
    const char *ending, *type;
} types[] = {
    { ".html", "text/html; charset=utf-8" },
    { ".css", "text/css; charset=utf-8" },
    { ".js", "text/javascript; charset=utf-8" },
    { ".json", "application/json" },
    { ".svg", "image/svg+xml" },
    { ".png", "image/png" },
};

static const char *type_of(const char *name)
{
    const char *ending = strrchr(name, '.');

    for (size_t i = 0; ending && i < PFC_ARRAY_LEN(types); i++) {
        if (strcmp(ending, types[i].ending) == 0)
            return types[i].type;
    }
    return NULL;
}

static pfc_code add_file(httpd_docs *docs, const char *file, const char *path, pfc_err *err)
{
    page p = { .type = type_of(path) };
    pfc_code code;

    if (!p.type)
        return PFC_OK;
    if (docs->len == PFC_DOCS_MAX_FILES)
        return pfc_err_set(err, PFC_ETOOBIG, "%s: expected at most %d files", file,
                           PFC_DOCS_MAX_FILES);
    code = pfc_fs_read(file, PFC_DOCS_MAX_BYTES - docs->bytes, &p.bytes, &p.len, err);
    if (code)
        return code;
    p.path = pfc_strdup(path);
    docs->pages = pfc_grow(docs->pages, docs->len, &docs->cap, sizeof(*docs->pages));
    docs->pages[docs->len++] = p;
    docs->bytes += p.len;
    return PFC_OK;
}

/* `under`: the folder's path in the site, "" or "how-to/". */
static pfc_code add_folder(httpd_docs *docs, const char *dir, const char *under, int depth,
                           pfc_err *err)
{
    DIR *folder = opendir(dir);
    pfc_code code = PFC_OK;
    struct dirent *entry;

    if (!folder)
        return pfc_err_set(err, PFC_ENOTFOUND, "%s: %s", dir, strerror(errno));
    while (!code && (entry = readdir(folder)) != NULL) {
        char *file, *path;
        struct stat info;

        if (entry->d_name[0] == '.')
            continue;
        file = pfc_fs_join(dir, entry->d_name);
        if (lstat(file, &info) != 0) {
            code = pfc_err_set(err, PFC_EIO, "%s: %s", file, strerror(errno));
        } else if (S_ISREG(info.st_mode)) {
            path = pfc_format("%s%s", under, entry->d_name);
            code = add_file(docs, file, path, err);
            free(path);
        } else if (S_ISDIR(info.st_mode) && depth < PFC_DOCS_MAX_DEPTH) {
            path = pfc_format("%s%s/", under, entry->d_name);
            code = add_folder(docs, file, path, depth + 1, err);
            free(path);
        }
        free(file);
    }
    closedir(folder);
    return code;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const page *)a)->path, ((const page *)b)->path);
}

static const page *find(const httpd_docs *docs, const char *path)
{
    const page key = { .path = (char *)(uintptr_t)path };

    return docs->len ? bsearch(&key, docs->pages, docs->len, sizeof(*docs->pages), by_path) : NULL;
}

pfc_code httpd_docs_load(const char *dir, httpd_docs **out, pfc_err *err)
{
    httpd_docs *docs = pfc_alloc(sizeof(*docs));
    pfc_code code = add_folder(docs, dir, "", 0, err);

    if (docs->len)
        qsort(docs->pages, docs->len, sizeof(*docs->pages), by_path);
    if (!code && !find(docs, "index.html"))
        code = pfc_err_set(err, PFC_ENOTFOUND, "%s: no index.html in this folder", dir);
    if (code) {
        httpd_docs_free(docs);
        return code;
    }
    *out = docs;
    return PFC_OK;
}

bool httpd_docs_owns(const char *path)
{
    return strcmp(path, "/docs") == 0 || strncmp(path, "/docs/", 6) == 0;
}

pfc_code httpd_docs_serve(const httpd_docs *docs, const char *path, pfc_reply *reply, pfc_err *err)
{
    const char *name = strlen(path) > 6 ? path + 6 : "index.html";
    const page *p;

    if (!docs)
        return pfc_err_set(err, PFC_ENOTFOUND,
                           "this server has no documentation: build the target \"docs\" (needs "
                           "mkdocs), or name a built site with --docs DIR");
    if (strcmp(path, "/docs") == 0) { /* relative links of the page need the slash */
        reply->status = 308;
        reply->location = "/docs/";
        return PFC_OK;
    }
    p = find(docs, name);
    if (!p)
        return pfc_err_set(err, PFC_ENOTFOUND, "nothing is at this path");
    reply->status = 200;
    reply->borrowed = true;
    reply->body = p->bytes; /* lives as long as the server, never written */
    reply->body_len = p->len;
    reply->content_type = p->type;
    reply->cache = "no-cache";
    return PFC_OK;
}

void httpd_docs_free(httpd_docs *docs)
{
    if (!docs)
        return;
    for (size_t i = 0; i < docs->len; i++) {
        free(docs->pages[i].path);
        free(docs->pages[i].bytes);
    }
    free(docs->pages);
    free(docs);
}

char *pfc_httpd_docs_dir(const char *given)
{
    static const char *const places[] = { "../share/doc/perfci/html", "../docs/html" };
    char *programs = NULL, *dir = given ? pfc_strdup(given) : NULL;

    if (!dir && pfc_fs_program_dir(&programs, NULL) == PFC_OK) {
        for (size_t i = 0; !dir && i < PFC_ARRAY_LEN(places); i++) {
            char *place = pfc_fs_join(programs, places[i]);

            dir = pfc_fs_is_dir(place) ? pfc_strdup(place) : NULL;
            free(place);
        }
    }
    free(programs);
    return dir;
}
