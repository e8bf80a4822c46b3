/*
 * Files of a branch that no working tree has: read and written by libgit2 as objects.
 *
 * The only functions that write to a user's repository. They write blobs, trees, commits and one
 * reference; index, HEAD and working tree are not touched. The reference is moved by
 * compare-and-swap, so that of two writers one gets PFC_ECONFLICT and reads again.
 */
#ifndef PFC_CORE_GIT_BRANCH_FILES_H
#define PFC_CORE_GIT_BRANCH_FILES_H

#include "core/git/repo.h"

#define PFC_BRANCH_MAX_NAME 200 /* bytes of a branch's name */

/** "refs/heads/NAME". PFC_EINVAL: git allows no such name, or it is too long. Caller frees. */
pfc_code pfc_branch_ref(const char *name, char **out, pfc_err *err) PFC_MUSTCHECK;
/** The commit of a reference. PFC_ENOTFOUND: there is none. */
pfc_code pfc_branch_tip(pfc_repo *repo, const char *ref, pfc_commit_id *out,
                        pfc_err *err) PFC_MUSTCHECK;
/** Is the branch checked out, here or in a worktree? */
bool pfc_branch_in_use(pfc_repo *repo, const char *ref);

/** A file. bytes: NUL-terminated, valid during the call. */
typedef pfc_code pfc_branch_file(void *arg, const char *path, const char *bytes, size_t len,
                                 pfc_err *err);

/** Called for a file that is larger than the limit, instead of its content. */
typedef void pfc_branch_oversized(void *arg, const char *path, size_t len);

typedef struct pfc_branch_limits {
    size_t files, file_bytes, all_bytes;
} pfc_branch_limits;

/** Reads every regular file of a commit, in the order of git's tree. Links and submodules are left
 * out. The first error of `each` ends it. PFC_ETOOBIG: more files or bytes than the limits. */
pfc_code pfc_branch_each(pfc_repo *repo, const pfc_commit_id *tip, const pfc_branch_limits *limits,
                         pfc_branch_file *each, pfc_branch_oversized *oversized, void *arg,
                         pfc_err *err) PFC_MUSTCHECK;

typedef struct pfc_branch_write {
    const char *path; /* relative, no empty part, no "." or ".." */
    const void *bytes;
    size_t len;
} pfc_branch_write;

/** Adds files to a branch, or replaces them, by one commit, and moves `ref` from `expected` to it.
 *
 * expected  the commit that the files are added to; hex "": the branch does not exist yet, and the
 *           commit has no parent
 * out       the new commit; `expected` again when no file differs
 *
 * PFC_ECONFLICT: `ref` has moved meanwhile, and nothing changed.
 */
pfc_code pfc_branch_add(pfc_repo *repo, const char *ref, const pfc_commit_id *expected,
                        const pfc_branch_write *files, size_t len, const char *message,
                        pfc_commit_id *out, pfc_err *err) PFC_MUSTCHECK;

/** Brings the files of `other` into a branch: nothing when it has them, by moving `ref` when it is
 * behind, else by a commit with both as parents. It has the files of both; where both have one
 * under the same path, that of `other` stays.
 *
 * expected  as above; PFC_ECONFLICT likewise
 */
pfc_code pfc_branch_join(pfc_repo *repo, const char *ref, const pfc_commit_id *expected,
                         const pfc_commit_id *other, const char *message, pfc_commit_id *out,
                         pfc_err *err) PFC_MUSTCHECK;

#endif
