/*
 * Single commits: the metadata that is sent to the server, files, tree.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/parse.h"
#include "core/git/repo_priv.h"

#define MAX_SUBMODULES 100
#define MAX_PARENTS    64 /* an octopus of more is a mistake, and only the first parent counts */

/* One line of at most `max` bytes that the wire takes: anything but well-formed UTF-8 becomes '?',
 * and so do control characters. Never cut inside a character. */
static char *clean_line(const char *text, size_t max)
{
    size_t left = strlen(text);
    pfc_buf buf;

    pfc_buf_init(&buf, max);
    while (left > 0 && *text != '\n' && !buf.overflow) {
        size_t width = 1;

        while (width < 4 && width < left && !pfc_is_utf8(text, width))
            width++;
        if (!pfc_is_utf8(text, width)) {
            pfc_buf_putc(&buf, '?');
            width = 1;
        } else if (width == 1 && ((unsigned char)*text < 0x20 || *text == 0x7f)) {
            pfc_buf_putc(&buf, '?');
        } else {
            pfc_buf_append(&buf, text, width);
        }
        text += width;
        left -= width;
    }
    return pfc_buf_take(&buf);
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void take_paths(const git_diff *diff, pfc_commit *out)
{
    size_t len = PFC_MIN(git_diff_num_deltas(diff), (size_t)PFC_WIRE_MAX_PATHS);
    size_t kept = 0;

    out->paths = pfc_calloc(len, sizeof(*out->paths));
    for (size_t i = 0; i < len; i++) {
        const git_diff_delta *delta = git_diff_get_delta(diff, i);
        const char *path = delta->new_file.path ? delta->new_file.path : delta->old_file.path;

        out->paths[i] = clean_line(path, PFC_WIRE_MAX_TEXT);
    }
    if (len > 1)
        qsort(out->paths, len, sizeof(*out->paths), compare_texts);
    for (size_t i = 0; i < len; i++) {
        /* A file that became a folder or a link shows twice. */
        if (kept > 0 && strcmp(out->paths[kept - 1], out->paths[i]) == 0)
            free(out->paths[i]);
        else
            out->paths[kept++] = out->paths[i];
    }
    out->paths_len = kept;
}

static pfc_code touched_paths(pfc_repo *repo, git_commit *commit, pfc_commit *out, pfc_err *err)
{
    git_diff_options opts;
    git_commit *parent = NULL;
    git_tree *old_tree = NULL;
    git_tree *new_tree = NULL;
    git_diff *diff = NULL;
    int rc = 0;

    (void)git_diff_options_init(&opts, GIT_DIFF_OPTIONS_VERSION);
    opts.flags = GIT_DIFF_SKIP_BINARY_CHECK | GIT_DIFF_IGNORE_FILEMODE;
    if (out->parents_len > 0) {
        rc = git_commit_parentcount(commit) > 0 ? git_commit_parent(&parent, commit, 0)
                                                : GIT_ENOTFOUND;
        /* The parent is missing in a shallow clone, so that the touched paths are unknown: none are
         * listed. */
        if (rc == GIT_ENOTFOUND && repo->shallow)
            return PFC_OK;
        if (rc == 0)
            rc = git_commit_tree(&old_tree, parent);
    }
    if (rc == 0)
        rc = git_commit_tree(&new_tree, commit);
    if (rc == 0)
        rc = git_diff_tree_to_tree(&diff, repo->git, old_tree, new_tree, &opts);
    if (rc == 0)
        take_paths(diff, out);
    git_diff_free(diff);
    git_tree_free(new_tree);
    git_tree_free(old_tree);
    git_commit_free(parent);
    return rc ? pfc_git_fault(repo, rc, err, "paths touched by %.12s", out->id) : PFC_OK;
}

/* From the commit's own text: at the edge of a shallow clone libgit2 1.7 and newer count no
 * parents, as git's log does, and older ones all. */
static void take_parents(const git_commit *commit, pfc_commit *out)
{
    static const char label[] = "parent ";
    const char *line = git_commit_raw_header(commit);

    out->parents = pfc_calloc(MAX_PARENTS, sizeof(*out->parents));
    while (line && out->parents_len < MAX_PARENTS) {
        const char *end = strchr(line, '\n');

        if (strncmp(line, label, sizeof(label) - 1) == 0) {
            const char *id = line + sizeof(label) - 1;

            out->parents[out->parents_len++] = pfc_strndup(id, strspn(id, "0123456789abcdef"));
        }
        line = end ? end + 1 : NULL;
    }
}

pfc_code pfc_repo_commit(pfc_repo *repo, const pfc_commit_id *id, pfc_commit *out, pfc_err *err)
{
    git_commit *commit = NULL;
    pfc_commit info = { 0 };
    const git_signature *author;
    pfc_code code = pfc_git_commit(repo, id, &commit, err);

    if (code)
        return code;
    author = git_commit_author(commit);
    info.id = pfc_strdup(id->hex);
    info.author = clean_line(author && author->name ? author->name : "", PFC_WIRE_MAX_NAME);
    info.subject =
        clean_line(git_commit_summary(commit) ? git_commit_summary(commit) : "", PFC_WIRE_MAX_TEXT);
    info.time = (double)git_commit_time(commit);
    take_parents(commit, &info);
    code = touched_paths(repo, commit, &info, err);
    git_commit_free(commit);
    if (code) {
        pfc_commit_clear(&info);
        return code;
    }
    *out = info;
    return PFC_OK;
}

static pfc_code tree_of(pfc_repo *repo, const pfc_commit_id *id, git_tree **out, pfc_err *err)
{
    git_commit *commit = NULL;
    pfc_code code = pfc_git_commit(repo, id, &commit, err);
    int rc;

    if (code)
        return code;
    rc = git_commit_tree(out, commit);
    git_commit_free(commit);
    return rc ? pfc_git_fault(repo, rc, err, "tree of %.12s", id->hex) : PFC_OK;
}

pfc_code pfc_repo_tree(pfc_repo *repo, const pfc_commit_id *id, pfc_commit_id *tree, pfc_err *err)
{
    git_commit *commit = NULL;
    pfc_code code = pfc_git_commit(repo, id, &commit, err);

    if (code)
        return code;
    pfc_git_id(git_commit_tree_id(commit), tree);
    git_commit_free(commit);
    return PFC_OK;
}

/* A file, not a link or a folder. The size is read before the content. */
static pfc_code check_file(pfc_repo *repo, const git_tree_entry *entry, const char *what,
                           size_t max_bytes, pfc_err *err)
{
    git_object_t type;
    git_odb *odb = NULL;
    size_t len = 0;
    int rc;

    if (git_tree_entry_filemode(entry) == GIT_FILEMODE_LINK)
        return pfc_err_set(err, PFC_EINVAL, "%s: expected a file, it is a symbolic link", what);
    rc = git_repository_odb(&odb, repo->git);
    if (!rc)
        rc = git_odb_read_header(&len, &type, odb, git_tree_entry_id(entry));
    git_odb_free(odb);
    if (rc)
        return pfc_git_fault(repo, rc, err, "%s", what);
    return len > max_bytes
               ? pfc_err_set(err, PFC_ETOOBIG, "%s: expected at most %zu bytes, got %zu", what,
                             max_bytes, len)
               : PFC_OK;
}

pfc_code pfc_repo_file(pfc_repo *repo, const pfc_commit_id *id, const char *path, size_t max_bytes,
                       char **out, size_t *len, pfc_err *err)
{
    char *what = pfc_format("%s in commit %.12s", path, id->hex);
    git_tree *tree = NULL;
    git_tree_entry *entry = NULL;
    git_blob *blob = NULL;
    pfc_code code = tree_of(repo, id, &tree, err);
    int rc = code ? 0 : git_tree_entry_bypath(&entry, tree, path);

    if (!code && rc == 0 && git_tree_entry_type(entry) != GIT_OBJECT_BLOB)
        rc = GIT_ENOTFOUND;
    if (!code && rc == 0)
        code = check_file(repo, entry, what, max_bytes, err);
    if (!code && rc == 0)
        rc = git_blob_lookup(&blob, repo->git, git_tree_entry_id(entry));
    if (!code && rc == GIT_ENOTFOUND) {
        code = pfc_err_set(err, PFC_ENOTFOUND, "no file %s", what);
    } else if (!code && rc) {
        code = pfc_git_fault(repo, rc, err, "%s", what);
    } else if (!code) {
        *len = (size_t)git_blob_rawsize(blob);
        *out = pfc_alloc(*len + 1); /* zeroed, so terminated */
        if (*len)
            memcpy(*out, git_blob_rawcontent(blob), *len);
    }
    git_blob_free(blob);
    git_tree_entry_free(entry);
    git_tree_free(tree);
    free(what);
    return code;
}

typedef struct submodule_list {
    char **paths;
    size_t len;
    size_t cap;
} submodule_list;

static int note_submodule(const char *root, const git_tree_entry *entry, void *arg)
{
    submodule_list *list = arg;

    if (git_tree_entry_filemode(entry) != GIT_FILEMODE_COMMIT)
        return 0;
    list->paths = pfc_grow(list->paths, list->len, &list->cap, sizeof(*list->paths));
    list->paths[list->len++] = pfc_format("%s%s", root, git_tree_entry_name(entry));
    return list->len >= MAX_SUBMODULES ? -1 : 0;
}

pfc_code pfc_repo_submodules(pfc_repo *repo, const pfc_commit_id *id, char ***paths, size_t *len,
                             pfc_err *err)
{
    submodule_list list = { 0 };
    git_tree *tree = NULL;
    pfc_code code = tree_of(repo, id, &tree, err);
    int rc;

    if (code)
        return code;
    rc = git_tree_walk(tree, GIT_TREEWALK_PRE, note_submodule, &list);
    git_tree_free(tree);
    if (rc && list.len < MAX_SUBMODULES) {
        for (size_t i = 0; i < list.len; i++)
            free(list.paths[i]);
        free(list.paths);
        return pfc_git_fault(repo, rc, err, "submodules of %.12s", id->hex);
    }
    *paths = list.paths;
    *len = list.len;
    return PFC_OK;
}

pfc_code pfc_repo_submodule_at(pfc_repo *repo, const pfc_commit_id *id, const char *path,
                               pfc_commit_id *out, pfc_err *err)
{
    git_tree *tree = NULL;
    git_tree_entry *entry = NULL;
    pfc_code code = tree_of(repo, id, &tree, err);
    bool pins;

    if (code)
        return code;
    pins = git_tree_entry_bypath(&entry, tree, path) == 0 &&
           git_tree_entry_type(entry) == GIT_OBJECT_COMMIT;
    if (pins)
        pfc_git_id(git_tree_entry_id(entry), out);
    git_tree_entry_free(entry);
    git_tree_free(tree);
    return pins ? PFC_OK
                : pfc_err_set(err, PFC_EINVAL, "%.200s is no submodule at %.12s", path, id->hex);
}
