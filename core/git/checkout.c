/*
 * A commit's tree into a folder of its own. Not git_worktree_add, which leaves a branch in the
 * user's repository: the tree is written directly, and neither index nor HEAD is touched.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/base/log.h"
#include "core/git/repo_priv.h"
#include "core/git/tree_check.h"

static pfc_code want_empty(const char *dir, pfc_err *err)
{
    DIR *open_dir = opendir(dir);
    const struct dirent *entry;
    pfc_code code = PFC_OK;

    if (!open_dir)
        return pfc_err_set(err, PFC_EIO, "open %s: %s", dir, strerror(errno));
    while (code == PFC_OK && (entry = readdir(open_dir)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            code = pfc_err_set(err, PFC_ECONFLICT,
                               "checkout: expected an empty folder, but %s holds %s", dir,
                               entry->d_name);
    }
    (void)closedir(open_dir);
    return code;
}

/* Links that lead out of the tree are not part of a checkout: the path of each, as it was checked,
 * has no other link in it. */
static pfc_code remove_links(const pfc_tree_links *links, const pfc_commit_id *id, const char *dir,
                             pfc_err *err)
{
    for (size_t i = 0; i < links->len; i++) {
        char *path = pfc_fs_join(dir, links->paths[i]);
        const bool gone = unlink(path) == 0 || errno == ENOENT;

        if (!gone)
            (void)pfc_err_set(err, PFC_EIO, "remove the link %s: %s", path, strerror(errno));
        free(path);
        if (!gone)
            return PFC_EIO;
    }
    if (links->len)
        pfc_log(PFC_WARN, "links_left_out", "commit", id->hex, "first", links->paths[0], "count",
                links->len, "reason", "they lead out of the checkout");
    return PFC_OK;
}

/* libgit2 makes the empty folder of a submodule only in a repository with a working tree. For a
 * bare one: a second handle, whose working tree is `target` in memory alone. NULL: not needed, or
 * it cannot be opened, then a commit with submodules fails. */
static git_repository *with_working_tree(const pfc_repo *repo, const char *target)
{
    git_repository *own = NULL;

    if (!pfc_repo_is_bare(repo) || git_repository_open(&own, git_repository_path(repo->git)))
        return NULL;
    if (git_repository_set_workdir(own, target, 0) == 0)
        return own;
    git_repository_free(own);
    return NULL;
}

static int checkout_by(git_repository *git, const pfc_commit_id *id,
                       const git_checkout_options *opts)
{
    git_object *commit = NULL;
    git_oid oid;
    int rc = git_oid_fromstr(&oid, id->hex);

    if (!rc)
        rc = git_object_lookup(&commit, git, &oid, GIT_OBJECT_COMMIT);
    if (!rc)
        rc = git_checkout_tree(git, commit, opts);
    git_object_free(commit);
    return rc;
}

pfc_code pfc_repo_checkout(pfc_repo *repo, const pfc_commit_id *id, const char *dir, pfc_err *err)
{
    git_checkout_options opts;
    git_commit *commit = NULL;
    pfc_tree_links links = { 0 };
    git_repository *own = NULL;
    char *target = NULL;
    int rc;
    pfc_code code = pfc_git_commit(repo, id, &commit, err);

    if (code == PFC_OK)
        code = pfc_repo_check_tree(repo, id, &links, err);
    if (code == PFC_OK)
        code = pfc_fs_mkdirs(dir, 0755, err);
    if (code == PFC_OK)
        code = want_empty(dir, err);
    if (code)
        goto done;
    target = realpath(dir, NULL);
    if (!target) {
        code = pfc_err_set(err, PFC_EIO, "checkout into %s: %s", dir, strerror(errno));
        goto done;
    }
    (void)git_checkout_options_init(&opts, GIT_CHECKOUT_OPTIONS_VERSION);
    opts.checkout_strategy = GIT_CHECKOUT_FORCE | GIT_CHECKOUT_DONT_UPDATE_INDEX |
                             GIT_CHECKOUT_DONT_WRITE_INDEX | GIT_CHECKOUT_NO_REFRESH;
    opts.disable_filters = 1;
    opts.target_directory = target;
    own = with_working_tree(repo, target);
    if (own) /* an object belongs to the repository that it was read through */
        rc = checkout_by(own, id, &opts);
    else
        rc = git_checkout_tree(repo->git, (const git_object *)commit, &opts);
    if (rc)
        code = pfc_git_fault(repo, rc, err, "check %.12s out into %s", id->hex, dir);
    else
        code = remove_links(&links, id, target, err);

done:
    pfc_tree_links_clear(&links);
    free(target);
    git_commit_free(commit);
    git_repository_free(own);
    return code;
}
