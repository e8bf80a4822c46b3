/*
 * A commit's tree into a folder of its own. Not git_worktree_add, which leaves a branch in the
 * user's repository: the tree is written directly, and neither index nor HEAD is touched.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/fs.h"
#include "core/git/repo_priv.h"

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

pfc_code pfc_repo_checkout(pfc_repo *repo, const pfc_commit_id *id, const char *dir, pfc_err *err)
{
    git_checkout_options opts;
    git_commit *commit = NULL;
    char *target = NULL;
    int rc;
    pfc_code code = pfc_git_commit(repo, id, &commit, err);

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
    rc = git_checkout_tree(repo->git, (const git_object *)commit, &opts);
    if (rc)
        code = pfc_git_fault(repo, rc, err, "check %.12s out into %s", id->hex, dir);

done:
    free(target);
    git_commit_free(commit);
    return code;
}
