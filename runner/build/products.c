/*
 * From what a build leaves behind to the repository's files, and to one hash of its code.
 */
#include "runner/build/products.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/base/log.h"
#include "runner/build/products_priv.h"

enum {
    MAX_SEEN = 400000, /* names that documents bring, before they are sorted */
    MAX_DEPFILE = 1024 * 1024,
    MAX_PROGRAM = 268435456,
    MAX_INPUT = 1024 * 1024, /* of a script, or what else the command names */
    MAX_DOCUMENTS = 20000,
};

typedef struct gather {
    const char *root;
    size_t root_len;
    const char *document; /* being read, from the root */
    pfc_names files;
    pfc_names linked; /* objects that a map names, sorted; none: all count */
    bool had_deps;
} gather;

/* ---- names ---- */

/* Joins and folds "." and ".."; without any look at the disk, so that nothing is followed. False:
 * too long. */
static bool fold(const char *dir, const char *name, char out[PFC_PATH_MAX])
{
    char *path = name[0] == '/' ? pfc_strdup(name) : pfc_format("%s/%s", dir, name);
    char *save = NULL;
    size_t len = 0;

    for (char *part = strtok_r(path, "/", &save); part; part = strtok_r(NULL, "/", &save)) {
        const size_t n = strlen(part);

        if (strcmp(part, ".") == 0)
            continue;
        if (strcmp(part, "..") == 0) {
            while (len && out[--len] != '/')
                ;
            continue;
        }
        if (n + 2 > PFC_PATH_MAX - len) {
            free(path);
            return false;
        }
        out[len++] = '/';
        memcpy(out + len, part, n);
        len += n;
    }
    out[len] = '\0';
    free(path);
    return true;
}

/* The path from the root; NULL: it lies elsewhere, or is no file. Points into `path`. */
static const char *inside(const gather *g, const char *dir, const char *name,
                          char path[PFC_PATH_MAX])
{
    if (!fold(dir, name, path) || strncmp(path, g->root, g->root_len) != 0 ||
        path[g->root_len] != '/' || access(path, F_OK) != 0 || pfc_fs_is_dir(path))
        return NULL;
    return path + g->root_len + 1;
}

static const char *last_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static bool counts(const gather *g, const char *object)
{
    return g->linked.len == 0 || !object[0] || pfc_names_have(&g->linked, last_name(object));
}

static void add(gather *g, const char *path)
{
    if (g->files.len < MAX_SEEN)
        pfc_names_add(&g->files, path);
}

/* Of a database, which says where the compiler ran. */
static void take_command(void *arg, const char *object, const char *file, const char *dir)
{
    gather *g = arg;
    char buf[PFC_PATH_MAX];
    const char *path = counts(g, object) ? inside(g, dir, file, buf) : NULL;

    if (path)
        add(g, path);
}

/* Of a depfile, which does not: the compiler ran in one of the folders above it. */
static void take_dependency(void *arg, const char *object, const char *file, const char *dir)
{
    gather *g = arg;
    char *from = pfc_format("%s/%s", g->root, g->document);
    const char *path = NULL;
    char buf[PFC_PATH_MAX];

    (void)dir;
    while (counts(g, object) && !path && strlen(from) > g->root_len) {
        *strrchr(from, '/') = '\0';
        path = inside(g, from, file, buf);
        if (file[0] == '/')
            break;
    }
    if (path) {
        g->had_deps = true;
        add(g, path);
    }
    free(from);
}

static void take_linked(void *arg, const char *object, const char *file, const char *dir)
{
    gather *g = arg;

    (void)file;
    (void)dir;
    if (g->linked.len < MAX_SEEN)
        pfc_names_add(&g->linked, object);
}

/* ---- documents ---- */

typedef pfc_code (*reader)(gather *g, const char *text, size_t len, pfc_err *err);

static pfc_code read_map(gather *g, const char *text, size_t len, pfc_err *err)
{
    (void)err;
    if (pfc_objects_is_link_map(text, len))
        pfc_objects_link_map(text, len, take_linked, g);
    return PFC_OK;
}

static pfc_code read_commands(gather *g, const char *text, size_t len, pfc_err *err)
{
    return pfc_objects_commands(text, len, take_command, g, err);
}

static pfc_code read_log(gather *g, const char *text, size_t len, pfc_err *err)
{
    return pfc_objects_ninja_deps(text, len, take_dependency, g, err);
}

static pfc_code read_depfile(gather *g, const char *text, size_t len, pfc_err *err)
{
    (void)err;
    pfc_objects_depfile(text, len, take_dependency, g);
    return PFC_OK;
}

static void read_all(gather *g, const pfc_names *list, size_t max_bytes, reader read)
{
    for (size_t i = 0; i < list->len && i < MAX_DOCUMENTS; i++) {
        char *text = NULL;
        size_t len = 0;
        pfc_err err = { 0 };

        g->document = list->items[i];
        if (pfc_fs_read_beneath(g->root, list->items[i], max_bytes, &text, &len, &err) ||
            read(g, text, len, &err))
            pfc_log(PFC_DEBUG, "build_file_not_read", "file", list->items[i], "reason", err.msg);
        free(text);
    }
}

/* Generated files are in the build folder: no commit changes them. */
static bool is_generated(const pfc_tree *tree, const char *path)
{
    for (size_t i = 0; i < tree->logs.len; i++) {
        const size_t len = (size_t)(last_name(tree->logs.items[i]) - tree->logs.items[i]);

        if (len && strncmp(path, tree->logs.items[i], len) == 0)
            return true;
    }
    return false;
}

static void find_files(gather *g, const pfc_tree *tree, pfc_built *out)
{
    read_all(g, &tree->maps, PFC_OBJECTS_MAX_BYTES, read_map);
    pfc_names_sort(&g->linked);
    read_all(g, &tree->commands, PFC_OBJECTS_MAX_BYTES, read_commands);
    read_all(g, &tree->logs, PFC_OBJECTS_MAX_BYTES, read_log);
    read_all(g, &tree->depfiles, MAX_DEPFILE, read_depfile);
    /* The sources are known but not the files that they include, so every header may be
     * included. */
    for (size_t i = 0; g->files.len && !g->had_deps && i < tree->headers.len; i++)
        add(g, tree->headers.items[i]);
    pfc_names_sort(&g->files);
    if (!tree->whole || g->files.len > PFC_BUILT_MAX_FILES) {
        pfc_log(PFC_WARN, "sources_not_sent", "reason", "more files than the limit", "files",
                g->files.len);
        return;
    }
    out->files = pfc_calloc(g->files.len + 1, sizeof(*out->files));
    for (size_t i = 0; i < g->files.len; i++)
        if (!is_generated(tree, g->files.items[i]))
            out->files[out->files_len++] = pfc_strdup(g->files.items[i]);
}

/* ---- code ---- */

/* Appends "NAME 64 digits\n" of one file; false: its hash is not known. */
static bool add_hash(const char *root, const char *path, bool program, pfc_buf *out)
{
    char hash[PFC_SHA256_HEX];
    char *bytes = NULL;
    size_t len = 0;
    pfc_err err = { 0 };
    bool known = pfc_fs_read_beneath(root, path, program ? MAX_PROGRAM : MAX_INPUT, &bytes, &len,
                                     &err) == PFC_OK;

    if (known && program)
        known = pfc_objects_code_hash(bytes, len, root, hash, &err) == PFC_OK;
    else if (known)
        pfc_sha256_hex(bytes, len, hash);
    if (known)
        pfc_buf_printf(out, "%s %s\n", path, hash);
    else
        pfc_log(PFC_DEBUG, "program_not_hashed", "file", path, "reason", err.msg);
    free(bytes);
    return known;
}

/* The program that a word names: itself, or, as the command may have changed folders, any that ends
 * in it. */
static const char *program_of(const pfc_tree *tree, const char *word)
{
    const size_t n = strlen(word);

    for (size_t i = 0; i < tree->programs.len; i++) {
        const char *path = tree->programs.items[i];
        const size_t len = strlen(path);

        if (len >= n && strcmp(path + len - n, word) == 0 && (len == n || path[len - n - 1] == '/'))
            return path;
    }
    return NULL;
}

typedef struct command {
    size_t programs, scripts;
    bool known; /* false: something runs that is not looked at */
} command;

static void look_at_word(const char *root, const pfc_tree *tree, const char *word, command *c,
                         pfc_buf *out)
{
    const char *program;
    const size_t len = strlen(word);

    while (strncmp(word, "./", 2) == 0)
        word += 2;
    if (strncmp(word, "python", 6) == 0 || (len > 3 && strcmp(word + len - 3, ".py") == 0))
        c->known = false;
    if (!word[0] || word[0] == '-' || word[0] == '/' || strchr(word, '='))
        return;
    program = program_of(tree, word);
    if (program) {
        c->programs++;
        c->known = add_hash(root, program, true, out) && c->known;
    } else {
        char *path = pfc_fs_join(root, word);

        if (!strstr(word, "..") && pfc_fs_exists(path) && !pfc_fs_is_dir(path)) {
            c->scripts++;
            c->known = add_hash(root, word, false, out) && c->known;
        }
        free(path);
    }
}

static void find_code(const char *root, const pfc_commit_measure_opts *opts, const pfc_tree *tree,
                      pfc_built *out)
{
    char *words = pfc_strdup(opts->measure ? opts->measure : "build/release/bin/perfci-bench");
    command c = { .known = tree->whole };
    char *save = NULL;
    pfc_buf lines;

    /* A perfci-bench from elsewhere contains no code of this folder. */
    if (!opts->measure && opts->bench)
        c.known = false;
    pfc_buf_init(&lines, 4u * 1024 * 1024);
    for (char *w = strtok_r(words, " \t\n;&|()'\"", &save); w;
         w = strtok_r(NULL, " \t\n;&|()'\"", &save))
        look_at_word(root, tree, w, &c, &lines);
    /* A script may start any program, and a program may load any library, so the hash of one file
     * is not enough. */
    for (size_t i = 0; c.known && i < tree->programs.len; i++)
        if ((c.scripts && !c.programs) || strstr(last_name(tree->programs.items[i]), ".so"))
            c.known = add_hash(root, tree->programs.items[i], true, &lines);
    if (c.known && (c.programs || (c.scripts && tree->programs.len)) && !lines.overflow)
        pfc_sha256_hex(lines.data, lines.len, out->object);
    pfc_buf_clear(&lines);
    free(words);
}

/* ---- all of it ---- */

void pfc_built_look(const char *root, const pfc_commit_measure_opts *opts, pfc_built *out)
{
    gather g = { .root = root, .root_len = strlen(root) };
    pfc_tree tree;

    *out = (pfc_built){ 0 };
    pfc_tree_walk(root, &tree);
    find_files(&g, &tree, out);
    find_code(root, opts, &tree, out);
    pfc_names_clear(&g.files);
    pfc_names_clear(&g.linked);
    pfc_tree_clear(&tree);
}

void pfc_built_clear(pfc_built *b)
{
    for (size_t i = 0; i < b->files_len; i++)
        free(b->files[i]);
    free(b->files);
    *b = (pfc_built){ 0 };
}

static json_t *texts(char *const *items, size_t len)
{
    json_t *list = json_array();

    /* JSON cannot hold a name that is not UTF-8. */
    for (size_t i = 0; i < len; i++) {
        json_t *item = json_string(items[i]);

        if (item)
            json_array_append_new(list, item);
    }
    return list;
}

json_t *pfc_built_to_json(const pfc_built *b, const char *commit, const pfc_conf *conf)
{
    if (!b->files_len && !conf->paths_len && !conf->runtime_files_len)
        return NULL;
    return json_pack("{s:s, s:o, s:o, s:o}", "commit", commit, "files",
                     texts(b->files, b->files_len), "globs", texts(conf->paths, conf->paths_len),
                     "runtime", texts(conf->runtime_files, conf->runtime_files_len));
}

void pfc_built_mark(const pfc_built *b, pfc_run *run)
{
    for (size_t i = 0; b->object[0] && i < run->measurements_len; i++)
        pfc_labels_set(&run->measurements[i].extra, PFC_OBJECT, b->object);
}
