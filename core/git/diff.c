/*
 * Files that differ between two commits.
 */
#include "core/git/repo_priv.h"

static size_t lines_of(git_diff *diff, size_t i)
{
    git_patch *patch = NULL;
    size_t added = 0, removed = 0;

    /* A binary file has no patch, and counts as one line. */
    if (git_patch_from_diff(&patch, diff, i) || !patch ||
        git_patch_line_stats(NULL, &added, &removed, patch))
        added = removed = 0;
    git_patch_free(patch);
    return PFC_MAX(added + removed, (size_t)1);
}

static pfc_code tree_of(pfc_repo *repo, const pfc_commit_id *id, git_tree **out, pfc_err *err)
{
    git_commit *commit = NULL;
    pfc_code code = pfc_git_commit(repo, id, &commit, err);
    int rc = code ? 0 : git_commit_tree(out, commit);

    git_commit_free(commit);
    return rc ? pfc_git_fault(repo, rc, err, "tree of %.12s", id->hex) : code;
}

pfc_code pfc_repo_diff(pfc_repo *repo, const pfc_commit_id *from, const pfc_commit_id *to,
                       bool count_lines, pfc_repo_diff_file *each, void *arg, pfc_err *err)
{
    git_diff_options opts;
    git_tree *old_tree = NULL;
    git_tree *new_tree = NULL;
    git_diff *diff = NULL;
    int rc = 0;
    pfc_code code;

    (void)git_diff_options_init(&opts, GIT_DIFF_OPTIONS_VERSION);
    if (!count_lines)
        opts.flags = GIT_DIFF_SKIP_BINARY_CHECK;
    code = tree_of(repo, from, &old_tree, err);
    if (!code)
        code = tree_of(repo, to, &new_tree, err);
    if (!code)
        rc = git_diff_tree_to_tree(&diff, repo->git, old_tree, new_tree, &opts);
    for (size_t i = 0; !code && !rc && i < git_diff_num_deltas(diff); i++) {
        const git_diff_delta *delta = git_diff_get_delta(diff, i);

        each(arg, delta->new_file.path ? delta->new_file.path : delta->old_file.path,
             count_lines ? lines_of(diff, i) : 0);
    }
    git_diff_free(diff);
    git_tree_free(new_tree);
    git_tree_free(old_tree);
    return rc ? pfc_git_fault(repo, rc, err, "differences of %.12s and %.12s", from->hex, to->hex)
              : code;
}
