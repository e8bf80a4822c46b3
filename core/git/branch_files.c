/*
 * Files of a branch without a working tree: see branch_files.h.
 */
#include "core/git/branch_files.h"

#include <stdlib.h>
#include <string.h>

#include "core/git/repo_priv.h"

/* ---- references ---- */

pfc_code pfc_branch_ref(const char *name, char **out, pfc_err *err)
{
    bool valid;
    char *ref;

    if (!*name || strlen(name) > PFC_BRANCH_MAX_NAME)
        return pfc_err_set(err, PFC_EINVAL, "expected a branch of 1 to %d bytes, got \"%.100s\"",
                           PFC_BRANCH_MAX_NAME, name);
    /* No repository is open here, and libgit2 stores why it refuses a name. */
    if (git_libgit2_init() < 0)
        return pfc_err_set(err, PFC_EIO, "libgit2 does not start");
    ref = pfc_format("refs/heads/%s", name);
    /* git refuses a branch that begins with a dash: it would be read as an option. */
    valid = *name != '-' && git_reference_is_valid_name(ref);
    (void)git_libgit2_shutdown();
    if (!valid) {
        free(ref);
        return pfc_err_set(err, PFC_EINVAL, "\"%.100s\" cannot be the name of a branch", name);
    }
    *out = ref;
    return PFC_OK;
}

pfc_code pfc_branch_tip(pfc_repo *repo, const char *ref, pfc_commit_id *out, pfc_err *err)
{
    git_oid id;
    const int rc = git_reference_name_to_id(&id, repo->git, ref);

    if (rc)
        return pfc_git_fault(NULL, rc, err, "%s", ref);
    pfc_git_id(&id, out);
    return PFC_OK;
}

bool pfc_branch_in_use(pfc_repo *repo, const char *ref)
{
    git_reference *found = NULL;
    bool in_use = false;

    if (git_reference_lookup(&found, repo->git, ref) == 0)
        in_use = git_branch_is_checked_out(found) == 1;
    git_reference_free(found);
    return in_use;
}

/* PFC_ECONFLICT when it is not at `expected` any longer. */
static pfc_code move_ref(pfc_repo *repo, const char *ref, const pfc_commit_id *expected,
                         const git_oid *to, const char *message, pfc_err *err)
{
    git_reference *moved = NULL;
    git_oid before;
    int rc;

    if (expected->hex[0]) {
        if (git_oid_fromstr(&before, expected->hex))
            return pfc_err_set(err, PFC_EBUG, "%s: \"%s\" is no commit id", ref, expected->hex);
        rc = git_reference_create_matching(&moved, repo->git, ref, to, 1, &before, message);
    } else {
        rc = git_reference_create(&moved, repo->git, ref, to, 0, message);
    }
    git_reference_free(moved);
    if (rc == GIT_EMODIFIED || rc == GIT_EEXISTS || rc == GIT_ELOCKED ||
        (rc == GIT_ENOTFOUND && expected->hex[0]))
        return pfc_err_set(err, PFC_ECONFLICT, "%s was changed by another process", ref);
    return rc ? pfc_git_fault(NULL, rc, err, "move %s", ref) : PFC_OK;
}

/* ---- reading ---- */

static pfc_code tree_of(pfc_repo *repo, const pfc_commit_id *id, git_tree **out, pfc_err *err)
{
    git_commit *commit = NULL;
    pfc_code code = pfc_git_commit(repo, id, &commit, err);
    int rc = code ? 0 : git_commit_tree(out, commit);

    git_commit_free(commit);
    if (!code && rc)
        code = pfc_git_fault(repo, rc, err, "the tree of %.12s", id->hex);
    return code;
}

typedef struct reading {
    pfc_repo *repo;
    const pfc_branch_limits *limits;
    pfc_branch_file *each;
    pfc_branch_oversized *oversized;
    void *arg;
    size_t files, bytes;
    pfc_code code;
    pfc_err *err;
} reading;

static pfc_code read_blob(reading *r, const char *path, const git_tree_entry *entry)
{
    git_blob *blob = NULL;
    char *copy;
    size_t len;
    pfc_code code;
    const int rc = git_blob_lookup(&blob, r->repo->git, git_tree_entry_id(entry));

    if (rc)
        return pfc_git_fault(r->repo, rc, r->err, "read %s", path);
    len = (size_t)git_blob_rawsize(blob);
    if (len > r->limits->file_bytes) {
        git_blob_free(blob);
        if (r->oversized)
            r->oversized(r->arg, path, len);
        return PFC_OK;
    }
    r->bytes += len;
    if (r->bytes > r->limits->all_bytes) {
        git_blob_free(blob);
        return pfc_err_set(r->err, PFC_ETOOBIG, "expected at most %zu MiB in all files",
                           r->limits->all_bytes >> 20);
    }
    copy = pfc_strndup(git_blob_rawcontent(blob), len);
    git_blob_free(blob);
    code = r->each(r->arg, path, copy, len, r->err);
    free(copy);
    return code;
}

static int visit(const char *root, const git_tree_entry *entry, void *payload)
{
    reading *r = payload;
    const git_filemode_t mode = git_tree_entry_filemode(entry);
    char *path;

    if (git_tree_entry_type(entry) != GIT_OBJECT_BLOB || mode == GIT_FILEMODE_LINK)
        return 0;
    if (++r->files > r->limits->files) {
        r->code = pfc_err_set(r->err, PFC_ETOOBIG, "expected at most %zu files", r->limits->files);
        return GIT_EUSER;
    }
    path = pfc_format("%s%s", root, git_tree_entry_name(entry));
    r->code = read_blob(r, path, entry);
    free(path);
    return r->code ? GIT_EUSER : 0;
}

pfc_code pfc_branch_each(pfc_repo *repo, const pfc_commit_id *tip, const pfc_branch_limits *limits,
                         pfc_branch_file *each, pfc_branch_oversized *oversized, void *arg,
                         pfc_err *err)
{
    reading r = {
        .repo = repo, .limits = limits, .each = each, .oversized = oversized, .arg = arg, .err = err
    };
    git_tree *tree = NULL;
    pfc_code code = tree_of(repo, tip, &tree, err);
    const int rc = code ? 0 : git_tree_walk(tree, GIT_TREEWALK_PRE, visit, &r);

    git_tree_free(tree);
    if (!code && r.code)
        code = r.code;
    else if (!code && rc)
        code = pfc_git_fault(repo, rc, err, "the files of %.12s", tip->hex);
    return code;
}

/* ---- writing ---- */

/* The user's name when git knows it. */
static int signature(pfc_repo *repo, git_signature **out)
{
    return git_signature_default(out, repo->git) == 0
               ? 0
               : git_signature_now(out, "perfci", "perfci@localhost");
}

static pfc_code commit_tree(pfc_repo *repo, const char *ref, const pfc_commit_id *expected,
                            const git_oid *tree_id, const pfc_commit_id *parents,
                            size_t parents_len, const char *message, pfc_commit_id *out,
                            pfc_err *err)
{
    git_commit *commits[2] = { NULL, NULL };
    git_signature *who = NULL;
    git_tree *tree = NULL;
    git_oid id;
    pfc_code code = PFC_OK;
    int rc;

    for (size_t i = 0; i < parents_len && !code; i++)
        code = pfc_git_commit(repo, &parents[i], &commits[i], err);
    rc = code ? 0 : git_tree_lookup(&tree, repo->git, tree_id);
    if (!code && !rc)
        rc = signature(repo, &who);
    if (!code && !rc)
        rc = git_commit_create(&id, repo->git, NULL, who, who, NULL, message, tree, parents_len,
                               (const git_commit **)(void *)commits);
    if (!code && rc)
        code = pfc_git_fault(repo, rc, err, "commit to %s", ref);
    if (!code)
        code = move_ref(repo, ref, expected, &id, message, err);
    if (!code)
        pfc_git_id(&id, out);
    git_signature_free(who);
    git_tree_free(tree);
    git_commit_free(commits[0]);
    git_commit_free(commits[1]);
    return code;
}

/* Tree updates, which own their paths. */
typedef struct updates {
    git_tree_update *items;
    size_t len, cap;
} updates;

static void add_update(updates *u, const char *path, const git_oid *id)
{
    u->items = pfc_grow(u->items, u->len, &u->cap, sizeof(*u->items));
    u->items[u->len++] = (git_tree_update){ .action = GIT_TREE_UPDATE_UPSERT,
                                            .id = *id,
                                            .filemode = GIT_FILEMODE_BLOB,
                                            .path = pfc_strdup(path) };
}

static void clear_updates(updates *u)
{
    for (size_t i = 0; i < u->len; i++)
        free((char *)(uintptr_t)u->items[i].path);
    free(u->items);
}

static bool has_blob(const git_tree *tree, const char *path, const git_oid *id)
{
    git_tree_entry *entry = NULL;
    const bool has = tree && git_tree_entry_bypath(&entry, tree, path) == 0 &&
                     (!id || git_oid_equal(git_tree_entry_id(entry), id));

    git_tree_entry_free(entry);
    return has;
}

static pfc_code empty_tree(pfc_repo *repo, git_tree **out, pfc_err *err)
{
    git_treebuilder *builder = NULL;
    git_oid id;
    int rc = git_treebuilder_new(&builder, repo->git, NULL);

    if (!rc)
        rc = git_treebuilder_write(&id, builder);
    git_treebuilder_free(builder);
    if (!rc)
        rc = git_tree_lookup(out, repo->git, &id);
    return rc ? pfc_git_fault(repo, rc, err, "write a tree") : PFC_OK;
}

static pfc_code write_updates(pfc_repo *repo, git_tree *base, const updates *u, git_oid *out,
                              pfc_err *err)
{
    const int rc = git_tree_create_updated(out, repo->git, base, u->len, u->items);

    return rc ? pfc_git_fault(repo, rc, err, "write a tree") : PFC_OK;
}

pfc_code pfc_branch_add(pfc_repo *repo, const char *ref, const pfc_commit_id *expected,
                        const pfc_branch_write *files, size_t len, const char *message,
                        pfc_commit_id *out, pfc_err *err)
{
    const bool exists = expected->hex[0] != '\0';
    git_tree *base = NULL;
    updates u = { 0 };
    git_oid id;
    pfc_code code = exists ? tree_of(repo, expected, &base, err) : empty_tree(repo, &base, err);

    for (size_t i = 0; i < len && !code; i++) {
        const int rc = git_blob_create_from_buffer(&id, repo->git, files[i].bytes, files[i].len);

        if (rc)
            code = pfc_git_fault(repo, rc, err, "write %s", files[i].path);
        else if (!has_blob(base, files[i].path, &id))
            add_update(&u, files[i].path, &id);
    }
    if (!code && exists && u.len == 0) {
        *out = *expected;
    } else if (!code) {
        code = write_updates(repo, base, &u, &id, err);
        if (!code)
            code =
                commit_tree(repo, ref, expected, &id, expected, exists ? 1 : 0, message, out, err);
    }
    clear_updates(&u);
    git_tree_free(base);
    return code;
}

/* ---- joining ---- */

typedef struct missing {
    const git_tree *in;
    updates u;
} missing;

static int add_missing(const char *root, const git_tree_entry *entry, void *payload)
{
    missing *m = payload;
    char *path;

    if (git_tree_entry_type(entry) != GIT_OBJECT_BLOB)
        return 0;
    path = pfc_format("%s%s", root, git_tree_entry_name(entry));
    if (!has_blob(m->in, path, NULL))
        add_update(&m->u, path, git_tree_entry_id(entry));
    free(path);
    return 0;
}

static pfc_code join_trees(pfc_repo *repo, const pfc_commit_id *ours, const pfc_commit_id *other,
                           git_oid *out, pfc_err *err)
{
    git_tree *mine = NULL, *theirs = NULL;
    missing m = { 0 };
    pfc_code code = tree_of(repo, ours, &mine, err);
    int rc;

    if (!code)
        code = tree_of(repo, other, &theirs, err);
    m.in = theirs;
    rc = code ? 0 : git_tree_walk(mine, GIT_TREEWALK_PRE, add_missing, &m);
    if (!code && rc)
        code = pfc_git_fault(repo, rc, err, "the files of %.12s", ours->hex);
    if (!code)
        code = write_updates(repo, theirs, &m.u, out, err);
    clear_updates(&m.u);
    git_tree_free(mine);
    git_tree_free(theirs);
    return code;
}

static bool descends(pfc_repo *repo, const git_oid *from, const git_oid *ancestor)
{
    return git_oid_equal(from, ancestor) || git_graph_descendant_of(repo->git, from, ancestor) == 1;
}

pfc_code pfc_branch_join(pfc_repo *repo, const char *ref, const pfc_commit_id *expected,
                         const pfc_commit_id *other, const char *message, pfc_commit_id *out,
                         pfc_err *err)
{
    const pfc_commit_id parents[2] = { *other, *expected };
    git_oid ours, theirs, tree;
    pfc_code code;

    if (git_oid_fromstr(&theirs, other->hex) ||
        (expected->hex[0] && git_oid_fromstr(&ours, expected->hex)))
        return pfc_err_set(err, PFC_EBUG, "%s: no commit id", ref);
    if (expected->hex[0] && descends(repo, &ours, &theirs)) {
        *out = *expected;
        return PFC_OK;
    }
    if (!expected->hex[0] || descends(repo, &theirs, &ours)) {
        code = move_ref(repo, ref, expected, &theirs, message, err);
        if (!code)
            *out = *other;
        return code;
    }
    code = join_trees(repo, expected, other, &tree, err);
    return code ? code : commit_tree(repo, ref, expected, &tree, parents, 2, message, out, err);
}
