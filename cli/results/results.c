/*
 * Results of other tools from files and folders.
 */
#include "cli/results/results.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/fs.h"
#include "core/wire/wire.h"

/* ---- one file ---- */

pfc_code pfc_results_text(const char *path, char **out, size_t *len, pfc_err *err)
{
    char chunk[65536];
    pfc_buf buf;
    ssize_t n;
    pfc_code code;

    if (!pfc_streq(path, "-"))
        return pfc_fs_read(path, PFC_IMPORT_MAX_BYTES, out, len, err);
    pfc_buf_init(&buf, PFC_IMPORT_MAX_BYTES);
    while ((n = read(STDIN_FILENO, chunk, sizeof(chunk))) > 0 || (n < 0 && errno == EINTR))
        pfc_buf_append(&buf, chunk, n > 0 ? (size_t)n : 0);
    code = n < 0 ? pfc_err_set(err, PFC_EIO, "standard input: %s", strerror(errno))
                 : pfc_buf_check(&buf, "standard input", err);
    *len = buf.len;
    *out = pfc_buf_take(&buf);
    return code;
}

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static char *beside(const char *file, const char *name)
{
    return pfc_format("%.*s%s", (int)(base_of(file) - file), file, name);
}

/* Criterion.rs keeps a benchmark's name in a file beside its samples; NULL: there is none. */
static char *name_beside(const char *file)
{
    char *path = beside(file, "benchmark.json");
    json_t *doc = NULL;
    char *text = NULL;
    size_t len = 0;
    char *name = NULL;

    if (pfc_fs_exists(path) && !pfc_fs_read(path, PFC_IMPORT_MAX_MAP_BYTES, &text, &len, NULL) &&
        !pfc_json_parse(text, len, &doc, NULL) && json_object_get(doc, "full_id"))
        name = pfc_strdup(json_string_value(json_object_get(doc, "full_id")));
    json_decref(doc);
    free(text);
    free(path);
    return name;
}

static pfc_code read_file(const pfc_import_opts *given, const char *file, pfc_results *out,
                          pfc_err *err)
{
    pfc_import_opts opts = *given;
    char *name = pfc_streq(file, "-") ? NULL : name_beside(file);
    char *text = NULL;
    size_t len = 0;
    pfc_code code;

    if (name && pfc_streq(base_of(file), "tukey.json"))
        code = pfc_err_set(err, PFC_EINVAL,
                           "Criterion.rs' tukey.json holds the fences between which a sample is no "
                           "outlier, and no times; they are in sample.json beside it");
    else
        code = pfc_results_text(file, &text, &len, err);
    if (!opts.benchmark)
        opts.benchmark = name;
    if (!code)
        code = pfc_import_read(&opts, text, len, &out->read, err);
    if (!code && opts.split && out->read.has_points) {
        opts.split = false;
        code = pfc_import_read(&opts, text, len, &out->whole, err);
    }
    if (code) {
        pfc_import_result_clear(&out->read);
        pfc_err_wrap(err, "%.200s", file);
    } else {
        out->file = pfc_strdup(file);
    }
    free(name);
    free(text);
    return code;
}

static void clear(pfc_results *r)
{
    pfc_import_result_clear(&r->read);
    pfc_import_result_clear(&r->whole);
    free(r->file);
    *r = (pfc_results){ 0 };
}

/* ---- the files below a folder ---- */

typedef struct files {
    char **paths;
    size_t len, cap;
    size_t links; /* left out */
    unsigned long long bytes;
} files;

static void files_clear(files *f)
{
    for (size_t i = 0; i < f->len; i++)
        free(f->paths[i]);
    free(f->paths);
    *f = (files){ 0 };
}

static bool ends(const char *text, const char *end)
{
    const size_t n = strlen(text);
    const size_t m = strlen(end);

    return n > m && strcasecmp(text + n - m, end) == 0;
}

static bool is_kind(const char *name)
{
    static const char *const kinds[] = { ".json", ".jsonl", ".ndjson", ".csv", ".tsv",
                                         ".txt",  ".log",   ".out",    ".xml" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(kinds); i++) {
        if (ends(name, kinds[i]))
            return true;
    }
    return false;
}

/* Leaves out other files of tools: asv's descriptions; all of Criterion.rs' files except the newest
 * samples, which are in its folder "new". */
static bool is_wanted(const char *path, const char *name)
{
    static const char *const describe[] = { "benchmarks.json", "machine.json", "benchmark.json",
                                            "tukey.json" };
    bool wanted = is_kind(name) && name[0] != '.';
    char *description;
    char *sample;

    for (size_t i = 0; i < PFC_ARRAY_LEN(describe) && wanted; i++)
        wanted = strcmp(name, describe[i]) != 0;
    if (!wanted)
        return false;
    description = beside(path, "benchmark.json");
    sample = beside(path, "sample.json");
    if (pfc_fs_exists(description) && pfc_fs_exists(sample))
        wanted = strcmp(name, "sample.json") == 0;
    free(description);
    free(sample);
    return wanted;
}

/* "base" and "change" beside "new" hold the run before and the difference to it. */
static bool is_old(const char *dir, const char *name)
{
    char *newest = pfc_fs_join(dir, "new");
    const bool old =
        (strcmp(name, "base") == 0 || strcmp(name, "change") == 0) && pfc_fs_is_dir(newest);

    free(newest);
    return old || strcmp(name, "report") == 0;
}

static pfc_code add_file(files *f, const char *path, const struct stat *st, pfc_err *err)
{
    if (f->len == PFC_RESULTS_MAX_FILES)
        return pfc_err_set(err, PFC_ETOOBIG, "more than %d files", PFC_RESULTS_MAX_FILES);
    f->bytes += (unsigned long long)st->st_size;
    if (f->bytes > PFC_RESULTS_MAX_BYTES)
        return pfc_err_set(err, PFC_ETOOBIG, "more than %llu MiB of files",
                           PFC_RESULTS_MAX_BYTES >> 20);
    f->paths = pfc_grow(f->paths, f->len, &f->cap, sizeof(char *));
    f->paths[f->len++] = pfc_strdup(path);
    return PFC_OK;
}

static pfc_code walk(files *f, const char *dir, size_t depth, pfc_err *err);

static pfc_code visit(files *f, const char *dir, const char *name, size_t depth, pfc_err *err)
{
    char *path = pfc_fs_join(dir, name);
    struct stat st;
    pfc_code code = PFC_OK;

    if (lstat(path, &st) != 0)
        st.st_mode = 0; /* it went meanwhile */
    if (S_ISLNK(st.st_mode))
        f->links++;
    else if (S_ISDIR(st.st_mode) && name[0] != '.' && !is_old(dir, name))
        code = walk(f, path, depth + 1, err);
    else if (S_ISREG(st.st_mode) && st.st_size > 0 && is_wanted(path, name))
        code = add_file(f, path, &st, err);
    free(path);
    return code;
}

static pfc_code walk(files *f, const char *dir, size_t depth, pfc_err *err)
{
    struct dirent **list = NULL;
    int n;
    pfc_code code = PFC_OK;

    if (depth > PFC_RESULTS_MAX_DEPTH)
        return pfc_err_set(err, PFC_ETOOBIG, "folders nested deeper than %d",
                           PFC_RESULTS_MAX_DEPTH);
    n = scandir(dir, &list, NULL, alphasort);
    if (n < 0)
        return pfc_err_set(err, PFC_EIO, "%.200s: %s", dir, strerror(errno));
    for (int i = 0; i < n; i++) {
        const char *name = list[i]->d_name;
        if (!code && strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
            code = visit(f, dir, name, depth, err);
        free(list[i]);
    }
    free(list);
    return code;
}

/* ---- a folder ---- */

typedef struct folder {
    const pfc_cli *cli;
    const pfc_import_opts *opts;
    const char *path;
    pfc_results_sink *sink;
    void *arg;
    pfc_results tree; /* the run of a Criterion.rs tree; file NULL: none yet */
    size_t read;
} folder;

/* A file of no known format is no fault in a folder; a metric without a direction is one. */
static pfc_code forgive(const folder *f, pfc_err *err)
{
    if (err->hint[0] || (err->code != PFC_EINVAL && err->code != PFC_ETOOBIG))
        return err->code;
    pfc_cli_note(f->cli, "left out: %s", err->msg);
    *err = (pfc_err){ 0 };
    return PFC_OK;
}

static void merge(folder *f, pfc_results *one)
{
    if (!f->tree.file) {
        f->tree = *one;
        free(f->tree.file);
        f->tree.file = pfc_strdup(f->path);
        *one = (pfc_results){ 0 };
        return;
    }
    pfc_run_merge(f->tree.read.runs[0], one->read.runs[0]);
    one->read.runs[0] = NULL;
}

static pfc_code read_one(folder *f, const char *file, pfc_err *err)
{
    pfc_results one = { 0 };
    pfc_code code = read_file(f->opts, file, &one, err);

    if (code)
        return forgive(f, err);
    f->read++;
    if (strcmp(one.read.format, "criterion") == 0 && one.read.runs_len == 1)
        merge(f, &one);
    else
        code = f->sink(f->arg, &one, err);
    clear(&one);
    return code;
}

static pfc_code read_folder(folder *f, pfc_err *err)
{
    files list = { 0 };
    pfc_code code = walk(&list, f->path, 0, err);

    for (size_t i = 0; i < list.len && !code; i++)
        code = read_one(f, list.paths[i], err);
    if (!code && f->tree.file)
        code = f->sink(f->arg, &f->tree, err);
    if (!code && list.links)
        pfc_cli_note(f->cli, "%s: %zu link%s not followed", f->path, list.links,
                     list.links == 1 ? "" : "s");
    if (!code && f->read == 0)
        code = pfc_err_set(err, PFC_EINVAL,
                           "%.200s: expected a folder with benchmark results, found none in %zu "
                           "files",
                           f->path, list.len);
    clear(&f->tree);
    files_clear(&list);
    return code;
}

pfc_code pfc_results_read(const pfc_cli *cli, const pfc_import_opts *opts, const char *path,
                          pfc_results_sink *sink, void *arg, pfc_err *err)
{
    folder f = { .cli = cli, .opts = opts, .path = path, .sink = sink, .arg = arg };
    pfc_results one = { 0 };
    pfc_code code;

    if (!pfc_streq(path, "-") && pfc_fs_is_dir(path))
        return read_folder(&f, err);
    code = read_file(opts, path, &one, err);
    if (!code)
        code = sink(arg, &one, err);
    clear(&one);
    return code;
}
