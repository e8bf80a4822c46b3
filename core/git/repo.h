/*
 * A git repository, read by libgit2: history, differences and checkouts of single commits.
 *
 * The user's repository is only ever read. No branch, worktree, index entry or configuration value
 * is written: a checkout goes into a folder of the caller's choosing, straight from the tree of a
 * commit. Fetching is left to the git program, which knows the user's credentials.
 *
 * Refused when opening, each with its own sentence: a folder that lies in no repository, one that
 * belongs to another user (git's safe.directory rule, which holds for root, too), SHA-256 object
 * ids. A bare repository is fine. A shallow one opens, so that its tip can be measured;
 * functions that need the missing history fail with a message that names the command which fetches
 * it.
 *
 * A pfc_repo is used by one thread at a time; several may be open in several threads.
 */
#ifndef PFC_CORE_GIT_REPO_H
#define PFC_CORE_GIT_REPO_H

#include "core/base/err.h"
#include "core/wire/wire.h"

#define PFC_COMMIT_HEX        41     /* bytes of a full commit id with its terminator */
#define PFC_REPO_MAX_COMMITS  100000 /* first-parent commits between two ends */
#define PFC_REPO_MAX_REVISION 1024   /* bytes of a revision as typed */

typedef struct pfc_repo pfc_repo;

/** A full commit id, so that lists of them are plain arrays. */
typedef struct pfc_commit_id {
    char hex[PFC_COMMIT_HEX]; /* 40 lower-case digits and NUL */
} pfc_commit_id;

/**
 * Opens the repository that `dir` lies in, looking upwards as git does.
 *
 * Returns PFC_OK and *out (close it); PFC_ENOTFOUND outside any repository; PFC_EDENIED when it
 * belongs to another user: the sentence names both and the `git config` call that allows it;
 * PFC_EINVAL for SHA-256 repositories; PFC_EIO when it cannot be read.
 */
pfc_code pfc_repo_open(const char *dir, pfc_repo **out, pfc_err *err) PFC_MUSTCHECK;
/** Accepts NULL. */
void pfc_repo_close(pfc_repo *repo);

/** The working tree's folder, the git folder itself when bare; absolute, no slash at its end. */
const char *pfc_repo_root(const pfc_repo *repo);
/** The git folder that all worktrees share (".git"): where `perfci/` state is kept. */
const char *pfc_repo_git_dir(const pfc_repo *repo);
bool pfc_repo_is_bare(const pfc_repo *repo);
bool pfc_repo_is_shallow(const pfc_repo *repo);

/** The branch HEAD is on ("main"), or NULL when HEAD is detached or unborn; caller frees. */
char *pfc_repo_branch(const pfc_repo *repo);

/**
 * The full id of the commit that `revision` names: anything git's rev-parse takes (a branch, a tag,
 * "HEAD~3", a short id). PFC_ENOTFOUND when there is none, PFC_EINVAL when a short id is ambiguous,
 * the text is no revision, or it names something other than a commit.
 */
pfc_code pfc_repo_resolve(pfc_repo *repo, const char *revision, pfc_commit_id *out,
                          pfc_err *err) PFC_MUSTCHECK;

/**
 * Counts the tracked files that differ from HEAD (staged or not; untracked files do not count).
 *
 * changed  out: 0 when clean, and always 0 when bare
 * example  out, may be NULL: one of them, caller frees; NULL when clean
 */
pfc_code pfc_repo_dirty(pfc_repo *repo, size_t *changed, char **example,
                        pfc_err *err) PFC_MUSTCHECK;

/**
 * The first-parent commits from `good` to `bad`, both included, oldest first.
 *
 * good, bad  full ids, as from pfc_repo_resolve; `good` must lie on the first-parent line of `bad`
 * ids, len   out: array of *len >= 1 ids, caller frees
 *
 * PFC_EINVAL when `good` is no ancestor of `bad` (the sentence names their merge base), or one only
 * through a merge's second parent (it names the commit where the line passes it);
 * PFC_ENOTFOUND when history is cut off (shallow); PFC_ETOOBIG over PFC_REPO_MAX_COMMITS.
 */
pfc_code pfc_repo_path(pfc_repo *repo, const pfc_commit_id *good, const pfc_commit_id *bad,
                       pfc_commit_id **ids, size_t *len, pfc_err *err) PFC_MUSTCHECK;

/**
 * The last `max` first-parent commits up to `tip`, oldest first; fewer at the root or at the edge
 * of a shallow clone. 1 <= max <= PFC_REPO_MAX_COMMITS; caller frees *ids.
 */
pfc_code pfc_repo_history(pfc_repo *repo, const pfc_commit_id *tip, size_t max, pfc_commit_id **ids,
                          size_t *len, pfc_err *err) PFC_MUSTCHECK;

/** The best common ancestor; PFC_ENOTFOUND when there is none (or it was cut off: shallow). */
pfc_code pfc_repo_merge_base(pfc_repo *repo, const pfc_commit_id *a, const pfc_commit_id *b,
                             pfc_commit_id *out, pfc_err *err) PFC_MUSTCHECK;

/**
 * The metadata of a commit that is sent to the server: id, parents, author's name, committer's
 * time, first line, touched paths against the first parent (all paths for a root commit; sorted; at
 * most PFC_WIRE_MAX_PATHS; none when the parent was cut off). Text that is not UTF-8, or control
 * characters, become '?'. Clear *out with pfc_commit_clear.
 */
pfc_code pfc_repo_commit(pfc_repo *repo, const pfc_commit_id *id, pfc_commit *out,
                         pfc_err *err) PFC_MUSTCHECK;

/** Called for each file that differs. lines: added and removed together, at least 1; 0: not
 * counted. */
typedef void pfc_repo_diff_file(void *arg, const char *path, size_t lines);

/** The files that differ between the trees of two commits, by path; a renamed file differs under
 * both names. PFC_ENOTFOUND when one of the commits is not here. */
pfc_code pfc_repo_diff(pfc_repo *repo, const pfc_commit_id *from, const pfc_commit_id *to,
                       bool count_lines, pfc_repo_diff_file *each, void *arg,
                       pfc_err *err) PFC_MUSTCHECK;

/** The id of the commit's tree: two commits with one tree build the same. */
pfc_code pfc_repo_tree(pfc_repo *repo, const pfc_commit_id *id, pfc_commit_id *tree,
                       pfc_err *err) PFC_MUSTCHECK;

/**
 * A file as it was at a commit, e.g. perfci.yaml of the base branch. `path` is relative to the root
 * of the repository. NUL-terminated, caller frees. PFC_ENOTFOUND, PFC_ETOOBIG over max_bytes.
 */
pfc_code pfc_repo_file(pfc_repo *repo, const pfc_commit_id *id, const char *path, size_t max_bytes,
                       char **out, size_t *len, pfc_err *err) PFC_MUSTCHECK;

/**
 * The submodules of a commit, whose content a checkout does not contain: *len paths, at most 100,
 * caller frees each and the array (NULL when there are none).
 */
pfc_code pfc_repo_submodules(pfc_repo *repo, const pfc_commit_id *id, char ***paths, size_t *len,
                             pfc_err *err) PFC_MUSTCHECK;

/** The commit of the submodule at `path` that a commit pins. PFC_EINVAL when that is no submodule.
 */
pfc_code pfc_repo_submodule_at(pfc_repo *repo, const pfc_commit_id *id, const char *path,
                               pfc_commit_id *out, pfc_err *err) PFC_MUSTCHECK;

/**
 * Writes the tree of a commit into `dir`, which must be absent or empty (it is made, 0755).
 *
 * Files come byte for byte as committed: no filters, so no line-end conversion and no LFS download.
 * The folder is no repository: `git describe` in a build finds whatever lies above it. Submodules
 * stay empty, hooks do not run, and links that lead out of the tree are left out, with a warning.
 * PFC_ETOOBIG and PFC_EINVAL: nothing was written, see tree_check.h. PFC_ECONFLICT when `dir` is
 * not empty, PFC_EIO when writing fails (what was written stays).
 */
pfc_code pfc_repo_checkout(pfc_repo *repo, const pfc_commit_id *id, const char *dir,
                           pfc_err *err) PFC_MUSTCHECK;

#endif
