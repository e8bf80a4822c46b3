/*
 * Checks a tree before its checkout; see tree_check.h.
 */
#include "core/git/tree_check.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/parse.h"
#include "core/git/repo_priv.h"

#define SHOWN 120 /* bytes of a path in a message */

typedef struct check {
    pfc_repo *repo;
    git_odb *odb;
    size_t files;
    uint64_t bytes;
    pfc_tree_links *links;
    pfc_err *err;
    char path[PFC_TREE_MAX_PATH + 2];
} check;

void pfc_tree_links_clear(pfc_tree_links *links)
{
    for (size_t i = 0; i < links->len; i++)
        free(links->paths[i]);
    free(links->paths);
    *links = (pfc_tree_links){ 0 };
}

static pfc_code refuse(check *c, pfc_code code, const char *why)
{
    char *shown = pfc_strndup(c->path, pfc_utf8_cut(c->path, SHOWN));

    pfc_text_plain(shown, false);
    (void)pfc_err_set(c->err, code, "the commit is not checked out: %s: %s", shown, why);
    free(shown);
    return code;
}

/* Code points that HFS+ ignores in names, as git's utf8.c lists them: U+200C..U+200F,
 * U+202A..U+202E, U+206A..U+206F, U+FEFF. Returns the bytes of one at `at`, 0: there is none. */
static size_t ignored(const unsigned char *at)
{
    if (at[0] == 0xe2 && at[1] == 0x80 &&
        ((at[2] >= 0x8c && at[2] <= 0x8f) || (at[2] >= 0xaa && at[2] <= 0xae)))
        return 3;
    if (at[0] == 0xe2 && at[1] == 0x81 && at[2] >= 0xaa && at[2] <= 0xaf)
        return 3;
    return at[0] == 0xef && at[1] == 0xbb && at[2] == 0xbf ? 3 : 0;
}

/* Another file system or tool would take the name for ".git": in any case, with ignored code
 * points, as the short name "git~1", or with blanks, dots or a stream (":") behind it. */
static bool is_dot_git(const char *name)
{
    char plain[16];
    size_t n = 0;

    for (const char *at = name; *at && n < sizeof(plain) - 1;) {
        const size_t skip = ignored((const unsigned char *)at);

        if (skip)
            at += skip;
        else
            plain[n++] = *at++;
    }
    plain[n] = '\0';
    plain[strcspn(plain, ":")] = '\0';
    for (n = strlen(plain); n > 4 && (plain[n - 1] == ' ' || plain[n - 1] == '.'); n--)
        plain[n - 1] = '\0';
    return strcasecmp(plain, ".git") == 0 || strcasecmp(plain, "git~1") == 0;
}

/* Control characters and characters that reorder text, with which a path could deceive a reader on
 * a terminal. */
static bool has_control(const char *name)
{
    char *plain = pfc_strdup(name);
    bool has;

    pfc_text_plain(plain, false);
    has = strcmp(plain, name) != 0 && pfc_is_utf8(name, strlen(name));
    for (const char *at = name; *at && !has; at++)
        has = (unsigned char)*at < 0x20 || *at == 0x7f;
    free(plain);
    return has;
}

static pfc_code check_name(check *c, const char *name)
{
    if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strchr(name, '/'))
        return refuse(c, PFC_EINVAL, "expected a name of a file");
    if (is_dot_git(name))
        return refuse(c, PFC_EINVAL, "git or a file system takes the name for .git");
    if (strlen(name) > NAME_MAX)
        return refuse(c, PFC_ETOOBIG, "a name of more than 255 bytes");
    if (has_control(name))
        return refuse(c, PFC_EINVAL, "control characters in a name");
    return PFC_OK;
}

/* True when a link in a folder `depth` below the root leads out: absolute, or by more ".." than
 * there are folders. ".." behind a name counts, too: the name may be another link. */
static bool leads_out(const char *target, size_t len, size_t depth)
{
    bool below = false;

    if (len == 0 || target[0] == '/' || memchr(target, '\0', len))
        return true;
    for (size_t at = 0; at < len;) {
        const char *slash = memchr(target + at, '/', len - at);
        const size_t part = slash ? (size_t)(slash - target) - at : len - at;

        if (part == 2 && memcmp(target + at, "..", 2) == 0) {
            if (below || depth-- == 0)
                return true;
        } else if (part && !(part == 1 && target[at] == '.')) {
            below = true;
        }
        at += part + 1;
    }
    return false;
}

static pfc_code check_link(check *c, const git_oid *id, size_t depth)
{
    git_blob *blob = NULL;
    const int rc = git_blob_lookup(&blob, c->repo->git, id);

    if (rc)
        return pfc_git_fault(c->repo, rc, c->err, "read the link %.120s", c->path);
    if (leads_out(git_blob_rawcontent(blob), (size_t)git_blob_rawsize(blob), depth)) {
        pfc_tree_links *links = c->links;

        links->paths = pfc_grow(links->paths, links->len, &links->cap, sizeof(*links->paths));
        links->paths[links->len++] = pfc_strdup(c->path);
    }
    git_blob_free(blob);
    return PFC_OK;
}

static pfc_code check_file(check *c, const git_tree_entry *entry, size_t depth)
{
    const git_oid *id = git_tree_entry_id(entry);
    git_object_t type;
    size_t len = 0;
    const int rc = git_odb_read_header(&len, &type, c->odb, id);

    if (rc)
        return pfc_git_fault(c->repo, rc, c->err, "read %.120s", c->path);
    if (++c->files > PFC_TREE_MAX_FILES)
        return refuse(c, PFC_ETOOBIG, "more than 500,000 files");
    if (len > PFC_TREE_MAX_FILE)
        return refuse(c, PFC_ETOOBIG, "a file of more than 1 GiB");
    c->bytes += len;
    if (c->bytes > PFC_TREE_MAX_BYTES)
        return refuse(c, PFC_ETOOBIG, "files of more than 16 GiB together");
    return git_tree_entry_filemode(entry) == GIT_FILEMODE_LINK ? check_link(c, id, depth) : PFC_OK;
}

static pfc_code check_tree(check *c, const git_oid *id, size_t len, size_t depth);

/* len: of the folder's path in c->path, with its slash. */
static pfc_code check_entry(check *c, const git_tree_entry *entry, size_t len, size_t depth)
{
    const char *name = git_tree_entry_name(entry);
    const size_t end = len + strlen(name);
    pfc_code code;

    (void)snprintf(c->path + len, sizeof(c->path) - len, "%s", name);
    code = check_name(c, name);
    if (!code && end > PFC_TREE_MAX_PATH)
        code = refuse(c, PFC_ETOOBIG, "a path of more than 1,024 bytes");
    if (code)
        return code;
    if (git_tree_entry_type(entry) == GIT_OBJECT_BLOB)
        return check_file(c, entry, depth);
    if (git_tree_entry_type(entry) != GIT_OBJECT_TREE) /* a submodule stays an empty folder */
        return PFC_OK;
    if (depth + 1 > PFC_TREE_MAX_DEPTH)
        return refuse(c, PFC_ETOOBIG, "more than 64 folders below one another");
    c->path[end] = '/';
    c->path[end + 1] = '\0';
    return check_tree(c, git_tree_entry_id(entry), end + 1, depth + 1);
}

static pfc_code check_tree(check *c, const git_oid *id, size_t len, size_t depth)
{
    git_tree *tree = NULL;
    const int rc = git_tree_lookup(&tree, c->repo->git, id);
    pfc_code code = PFC_OK;

    if (rc)
        return pfc_git_fault(c->repo, rc, c->err, "read the tree %.120s", c->path);
    /* Empty folders count: a tree may repeat them without end. */
    if (++c->files > PFC_TREE_MAX_FILES)
        code = refuse(c, PFC_ETOOBIG, "more than 500,000 files");
    for (size_t i = 0; i < git_tree_entrycount(tree) && !code; i++)
        code = check_entry(c, git_tree_entry_byindex(tree, i), len, depth);
    git_tree_free(tree);
    return code;
}

pfc_code pfc_repo_check_tree(pfc_repo *repo, const pfc_commit_id *id, pfc_tree_links *links,
                             pfc_err *err)
{
    check c = { .repo = repo, .links = links, .err = err };
    git_commit *commit = NULL;
    pfc_code code = pfc_git_commit(repo, id, &commit, err);
    int rc;

    *links = (pfc_tree_links){ 0 };
    if (code)
        return code;
    rc = git_repository_odb(&c.odb, repo->git);
    code = rc ? pfc_git_fault(repo, rc, err, "open the objects")
              : check_tree(&c, git_commit_tree_id(commit), 0, 0);
    git_odb_free(c.odb);
    git_commit_free(commit);
    return code;
}
