/*
 * The walk over a checkout: which of its files tell how it was built.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/build/products_priv.h"

enum { MAX_DEPTH = 16, MAX_ENTRIES = 300000, HEAD_BYTES = 64 };

typedef struct walk {
    pfc_tree *tree;
    size_t entries;
} walk;

static bool ends_in(const char *name, const char *end)
{
    const size_t len = strlen(name), n = strlen(end);

    return len > n && strcmp(name + len - n, end) == 0;
}

static bool is_header(const char *name)
{
    static const char *const ends[] = { ".h",   ".hh",  ".hpp", ".hxx", ".inc",
                                        ".inl", ".ipp", ".def", ".cuh", ".tcc" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(ends); i++)
        if (ends_in(name, ends[i]))
            return true;
    return false;
}

static void keep(pfc_names *list, const char *path)
{
    list->items = pfc_grow(list->items, list->len, &list->cap, sizeof(*list->items));
    list->items[list->len++] = pfc_strdup(path);
}

static bool is_program(int dir, const char *name)
{
    char head[HEAD_BYTES];
    const int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    ssize_t got;

    if (fd < 0)
        return false;
    got = read(fd, head, sizeof(head));
    (void)close(fd);
    return got > 0 && pfc_objects_is_program(head, (size_t)got);
}

static void look_at(walk *w, int dir, const char *name, const struct stat *st, const char *path)
{
    pfc_tree *t = w->tree;

    if (strcmp(name, "compile_commands.json") == 0)
        keep(&t->commands, path);
    else if (strcmp(name, ".ninja_deps") == 0)
        keep(&t->logs, path);
    else if (ends_in(name, ".d"))
        keep(&t->depfiles, path);
    else if (ends_in(name, ".map"))
        keep(&t->maps, path);
    else if (is_header(name))
        keep(&t->headers, path);
    else if ((st->st_mode & S_IXUSR || strstr(name, ".so")) && is_program(dir, name))
        keep(&t->programs, path);
}

/* Takes fd. */
static void walk_into(walk *w, int fd, const char *prefix, int depth)
{
    DIR *dir = fdopendir(fd);
    const struct dirent *e;

    if (!dir) {
        (void)close(fd);
        return;
    }
    while ((e = readdir(dir)) != NULL && w->entries < MAX_ENTRIES) {
        struct stat st;
        char *path;

        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
            strcmp(e->d_name, ".git") == 0 || strcmp(e->d_name, "node_modules") == 0)
            continue;
        w->entries++;
        if (fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        path = pfc_format("%s%s", prefix, e->d_name);
        if (S_ISREG(st.st_mode)) {
            look_at(w, fd, e->d_name, &st, path);
        } else if (S_ISDIR(st.st_mode) && depth < MAX_DEPTH) {
            const int sub = openat(fd, e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
            char *below = pfc_format("%s/", path);

            if (sub >= 0)
                walk_into(w, sub, below, depth + 1);
            free(below);
        }
        free(path);
    }
    (void)closedir(dir);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void pfc_names_sort(pfc_names *list)
{
    size_t kept = 0;

    if (list->len)
        qsort(list->items, list->len, sizeof(*list->items), by_text);
    for (size_t i = 0; i < list->len; i++) {
        if (kept && strcmp(list->items[kept - 1], list->items[i]) == 0)
            free(list->items[i]);
        else
            list->items[kept++] = list->items[i];
    }
    list->len = kept;
}

bool pfc_names_have(const pfc_names *sorted, const char *text)
{
    return sorted->len &&
           bsearch(&text, sorted->items, sorted->len, sizeof(*sorted->items), by_text);
}

void pfc_names_add(pfc_names *list, const char *text)
{
    keep(list, text);
}

void pfc_names_clear(pfc_names *list)
{
    for (size_t i = 0; i < list->len; i++)
        free(list->items[i]);
    free(list->items);
    *list = (pfc_names){ 0 };
}

void pfc_tree_walk(const char *root, pfc_tree *out)
{
    walk w = { .tree = out };
    pfc_names *const all[] = { &out->commands, &out->logs,    &out->depfiles,
                               &out->maps,     &out->headers, &out->programs };
    const int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    *out = (pfc_tree){ 0 };
    if (fd >= 0)
        walk_into(&w, fd, "", 0);
    /* The order of a folder's entries depends on the file system, so they are sorted. */
    for (size_t i = 0; i < PFC_ARRAY_LEN(all); i++)
        pfc_names_sort(all[i]);
    out->whole = w.entries < MAX_ENTRIES;
}

void pfc_tree_clear(pfc_tree *tree)
{
    pfc_names_clear(&tree->commands);
    pfc_names_clear(&tree->logs);
    pfc_names_clear(&tree->depfiles);
    pfc_names_clear(&tree->maps);
    pfc_names_clear(&tree->headers);
    pfc_names_clear(&tree->programs);
}
