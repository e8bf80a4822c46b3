/* The files of a suite: the one that is measured and what it includes. */
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "bench/suite/reader.h"
#include "core/base/fs.h"

#define MAX_FILTERS 64 /* globs of one include pfc_suite_entry */

static pfc_suite_file *open_file(pfc_suite_reader *r, const char *path, bool on_disk)
{
    pfc_suite_file *file = pfc_alloc(sizeof(*file));

    if (!r->files)
        r->files = pfc_calloc(PFC_SUITE_MAX_FILES, sizeof(*r->files));
    file->path = pfc_strdup(path);
    file->on_disk = on_disk;
    r->files[r->files_len++] = file;
    return file;
}

void pfc_suite_reader_clear(pfc_suite_reader *r)
{
    for (size_t i = 0; i < r->files_len; i++) {
        pfc_yaml_clear(&r->files[i]->yaml);
        free(r->files[i]->path);
        free(r->files[i]->text);
        free(r->files[i]);
    }
    free(r->files);
    pfc_buf_clear(&r->hashes);
}

/* Reading starts with defaults of its own and leaves those of the including file as they were. */
pfc_code pfc_suite_read_file(pfc_suite_reader *r, const char *path, bool on_disk, const char *text,
                             size_t len, pfc_err *err)
{
    pfc_suite_file *outer = r->file;
    const pfc_case_settings settings = r->settings;
    char **backends = r->backends;
    const size_t backends_len = r->backends_len;
    char hash[PFC_SHA256_HEX];
    pfc_code code;

    r->total_bytes += len;
    if (len > PFC_SUITE_MAX_BYTES || r->total_bytes > PFC_SUITE_MAX_TOTAL)
        return pfc_err_set(err, PFC_ETOOBIG,
                           "%s: %zu bytes, a file of a suite has at most %u, all files %u", path,
                           len, PFC_SUITE_MAX_BYTES, PFC_SUITE_MAX_TOTAL);
    pfc_sha256_hex(text, len, hash);
    pfc_buf_printf(&r->hashes, "%s\n", hash);
    r->file = open_file(r, path, on_disk);
    r->file->text = pfc_strndup(text, len);
    code =
        pfc_yaml_load(r->file->text, len, PFC_SUITE_MAX_DEPTH, r->file->path, &r->file->yaml, err);
    if (!code)
        code = pfc_suite_read_document(r, err);
    if (r->backends != backends)
        pfc_suite_free_strings(r->backends, r->backends_len);
    r->file = outer;
    r->settings = settings;
    r->backends = backends;
    r->backends_len = backends_len;
    return code;
}

/* One file by its path, or a built-in suite by its name. */
static pfc_code include_one(pfc_suite_reader *r, struct fy_node *at, const char *path, bool on_disk,
                            pfc_err *err)
{
    const char *builtin = on_disk ? NULL : pfc_suite_builtin(path);
    char *text = NULL;
    size_t len = builtin ? strlen(builtin) : 0;
    pfc_err inner = { 0 };
    pfc_code code = PFC_OK;

    /* A file is read once. Within itself that would be a circle; side by side its benchmarks would
     * be there twice. */
    for (size_t i = 0; i < r->files_len; i++) {
        if (strcmp(r->files[i]->path, path) == 0)
            return pfc_yaml_fault(&r->file->yaml, at, err, "include: %.300s is included already%s",
                                  path, r->files[i] == r->file ? ": it includes itself" : "");
    }
    if (r->files_len == PFC_SUITE_MAX_FILES)
        return pfc_yaml_fault(&r->file->yaml, at, err, "include: more than %d files",
                              PFC_SUITE_MAX_FILES);
    if (!builtin) {
        code = pfc_fs_read(path, PFC_SUITE_MAX_BYTES, &text, &len, &inner);
        if (code)
            return pfc_yaml_fault(&r->file->yaml, at, err, "include: %s", inner.msg);
    }
    r->depth++;
    code = pfc_suite_read_file(r, path, on_disk, builtin ? builtin : text, len, err);
    r->depth--;
    free(text);
    return code;
}

/* Folder of the including file, joined; "a/../b" stays as it is written. */
pfc_code pfc_suite_beside(const pfc_suite_reader *r, struct fy_node *at, const char *what,
                          const char *path, char **out, pfc_err *err)
{
    const char *file = r->file->path;
    const char *slash = strrchr(file, '/');

    if (path[0] == '/')
        return pfc_yaml_fault(&r->file->yaml, at, err,
                              "%s: expected a path relative to this file, got %.300s", what, path);
    if (!r->file->on_disk)
        return pfc_yaml_fault(&r->file->yaml, at, err, "%s: there is no file around this suite",
                              what);
    *out = slash ? pfc_format("%.*s/%s", (int)(slash - file), file, path) : pfc_strdup(path);
    return PFC_OK;
}

static pfc_code include_glob(pfc_suite_reader *r, struct fy_node *at, const char *pattern,
                             pfc_err *err)
{
    glob_t found = { 0 };
    size_t included = 0;
    pfc_code code = PFC_OK;

    if (glob(pattern, GLOB_ERR, NULL, &found) != 0 || found.gl_pathc == 0)
        code = pfc_yaml_fault(&r->file->yaml, at, err, "include: no file matches %.300s", pattern);
    for (size_t i = 0; !code && i < found.gl_pathc; i++) {
        /* "*.yaml" beside the suite matches the suite, too: that one is being read. */
        if (strcmp(found.gl_pathv[i], r->file->path) == 0)
            continue;
        code = include_one(r, at, found.gl_pathv[i], true, err);
        included++;
    }
    if (!code && included == 0)
        code = pfc_yaml_fault(&r->file->yaml, at, err, "include: no other file matches %.300s",
                              pattern);
    globfree(&found);
    return code;
}

static pfc_code include_text(pfc_suite_reader *r, struct fy_node *at, const char *text,
                             pfc_err *err)
{
    char *path = NULL;
    pfc_code code;

    if (pfc_suite_builtin(text))
        return include_one(r, at, text, false, err);
    if (text[0] != '/' && !r->file->on_disk)
        return pfc_yaml_fault(&r->file->yaml, at, err,
                              "include: no built-in suite '%.100s', and there is no file around "
                              "this suite",
                              text);
    code = pfc_suite_beside(r, at, "include", text, &path, err);
    if (code)
        return code;
    code = pfc_suite_is_glob(text) ? include_glob(r, at, path, err)
                                   : include_one(r, at, path, true, err);
    free(path);
    return code;
}

static pfc_code check_matched(const pfc_suite_reader *r, struct fy_node *node,
                              const pfc_suite_filter *f, pfc_err *err)
{
    for (size_t i = 0; i < f->benchmarks_len; i++) {
        if (!f->matched[i])
            return pfc_yaml_fault(&r->file->yaml, node, err,
                                  "include: no benchmark of it matches '%.200s'", f->benchmarks[i]);
    }
    return PFC_OK;
}

/* {suite: nightly, benchmarks: ["gemm*"], backends: [cpu-avx2]} */
static pfc_code include_mapping(pfc_suite_reader *r, struct fy_node *node, pfc_err *err)
{
    static const char *const known[] = { "suite", "benchmarks", "backends", NULL };
    const pfc_yaml *y = &r->file->yaml;
    bool matched[MAX_FILTERS] = { false };
    pfc_suite_filter filter = { .outer = r->filter, .matched = matched };
    char **outer_backends = r->backends;
    const size_t outer_len = r->backends_len;
    const bool outer_fixed = r->backends_fixed;
    struct fy_node *v;
    char *text = NULL;
    pfc_code code = pfc_yaml_known(y, node, "include", known, err);

    if (!code && !pfc_yaml_get(node, "suite"))
        code = pfc_yaml_fault(y, node, err, "include: lacks 'suite'");
    if (!code)
        code =
            pfc_yaml_text(y, pfc_yaml_get(node, "suite"), "include", PFC_PATH_MAX / 4, &text, err);
    if (!code && (v = pfc_yaml_get(node, "benchmarks")))
        code = pfc_suite_read_globs(r, v, "benchmarks", MAX_FILTERS, &filter.benchmarks,
                                    &filter.benchmarks_len, err);
    /* Of nested includes the outermost says where to measure. */
    if (!code && !outer_fixed && (v = pfc_yaml_get(node, "backends"))) {
        code = pfc_suite_read_backends(r, v, &r->backends, &r->backends_len, err);
        r->backends_fixed = code == PFC_OK;
    }
    if (!code) {
        r->filter = &filter;
        code = include_text(r, node, text, err);
        r->filter = filter.outer;
    }
    if (!code)
        code = check_matched(r, node, &filter, err);
    if (r->backends != outer_backends)
        pfc_suite_free_strings(r->backends, r->backends_len);
    r->backends = outer_backends;
    r->backends_len = outer_len;
    r->backends_fixed = outer_fixed;
    pfc_suite_free_strings(filter.benchmarks, filter.benchmarks_len);
    free(text);
    return code;
}

static pfc_code include_item(pfc_suite_reader *r, struct fy_node *item, pfc_err *err)
{
    char *text = NULL;
    pfc_code code;

    if (fy_node_is_mapping(item))
        return include_mapping(r, item, err);
    code = pfc_yaml_text(&r->file->yaml, item, "include", PFC_PATH_MAX / 4, &text, err);
    if (!code)
        code = include_text(r, item, text, err);
    free(text);
    return code;
}

pfc_code pfc_suite_read_includes(pfc_suite_reader *r, struct fy_node *node, pfc_err *err)
{
    void *prev = NULL;
    struct fy_node *item;
    pfc_code code = PFC_OK;

    if (r->depth == PFC_SUITE_MAX_INCLUDES)
        return pfc_yaml_fault(&r->file->yaml, node, err, "include: deeper than %d levels",
                              PFC_SUITE_MAX_INCLUDES);
    if (!fy_node_is_sequence(node))
        return include_item(r, node, err);
    while (!code && (item = fy_node_sequence_iterate(node, &prev)))
        code = include_item(r, item, err);
    return code;
}
