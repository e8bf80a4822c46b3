/*
 * Tags of a repository. The server has no repository: clients send the tags together with the
 * commits, so that it can compare with "nightly-7" and show "since v1.2".
 */
#ifndef PFC_CORE_GIT_TAGS_H
#define PFC_CORE_GIT_TAGS_H

#include "core/git/repo.h"

typedef struct pfc_tag {
    char *name; /* "v1.2.0" */
    bool release;
    pfc_commit_id commit;
} pfc_tag;

/** The repository's tags that point to a commit, annotated or not, in the order of commit ids,
 *  releases of a commit before its other tags. Names that the server refuses are left out. *out is
 *  freed by pfc_tags_free; NULL when there is none. */
pfc_code pfc_repo_tags(pfc_repo *repo, pfc_tag **out, size_t *len, pfc_err *err) PFC_MUSTCHECK;
void pfc_tags_free(pfc_tag *tags, size_t len);
/** Sets commit->tags, which must be empty, to the tags that point to it: the first
 *  PFC_WIRE_MAX_TAGS of them. */
void pfc_tags_name(const pfc_tag *tags, size_t len, pfc_commit *commit);

#endif
