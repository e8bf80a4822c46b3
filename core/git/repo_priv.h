/*
 * Declarations shared by the files of core/git. Private to this folder.
 */
#ifndef PFC_CORE_GIT_REPO_PRIV_H
#define PFC_CORE_GIT_REPO_PRIV_H

#include <git2.h>

#include "core/git/repo.h"

struct pfc_repo {
    git_repository *git;
    char *root;    /* without a slash at its end */
    char *git_dir; /* likewise */
    bool shallow;
};

/**
 * A sentence of ours with libgit2's own reason behind it. When an object is missing from a shallow
 * clone the reason is that, and the way out is named.
 */
pfc_code pfc_git_fault(const pfc_repo *repo, int rc, pfc_err *err, const char *fmt, ...)
    PFC_PRINTF(4, 5);

/** Looks a commit up by its full id; *out is freed by git_commit_free. */
pfc_code pfc_git_commit(pfc_repo *repo, const pfc_commit_id *id, git_commit **out,
                        pfc_err *err) PFC_MUSTCHECK;

/** PFC_EDENIED with both names when git's safe.directory rule forbids this user to read it. */
pfc_code pfc_git_check_owner(git_repository *git, pfc_err *err) PFC_MUSTCHECK;

void pfc_git_id(const git_oid *oid, pfc_commit_id *out);

#endif
