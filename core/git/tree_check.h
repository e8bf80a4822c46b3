/*
 * Limits of a commit's tree before it is written to disk. The author of a commit may be a
 * stranger, and a tree of a few hundred bytes can name 10^6 files, because it may repeat the same
 * subtree.
 */
#ifndef PFC_CORE_GIT_TREE_CHECK_H
#define PFC_CORE_GIT_TREE_CHECK_H

#include "core/git/repo.h"

#define PFC_TREE_MAX_FILES ((size_t)500000) /* files and links */
#define PFC_TREE_MAX_DEPTH 64               /* folders below one another */
#define PFC_TREE_MAX_PATH  1024             /* bytes of a path */
#define PFC_TREE_MAX_FILE  ((uint64_t)1 << 30)
#define PFC_TREE_MAX_BYTES ((uint64_t)16 << 30) /* of all files */

/** Symbolic links of a tree that lead out of it; owned. */
typedef struct pfc_tree_links {
    char **paths;
    size_t len, cap;
} pfc_tree_links;

void pfc_tree_links_clear(pfc_tree_links *links);

/**
 * Checks the commit's tree. PFC_ETOOBIG: over a limit above. PFC_EINVAL: a name that git or another
 * file system takes for ".git", "." or "..", or one with control characters, which would reach
 * terminals. The message names the first such path, printable.
 *
 * links  out: links that lead out of the tree, or whose target cannot be followed without leaving
 *        out what another link does; clear it in every case
 */
pfc_code pfc_repo_check_tree(pfc_repo *repo, const pfc_commit_id *id, pfc_tree_links *links,
                             pfc_err *err) PFC_MUSTCHECK;

#endif
