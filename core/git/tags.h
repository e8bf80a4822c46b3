/*
 * Release tags of a repository. The server has no repository: clients send the tags together with
 * the commits, so that it can show "since v1.2".
 */
#ifndef PFC_CORE_GIT_TAGS_H
#define PFC_CORE_GIT_TAGS_H

#include "core/git/repo.h"

typedef struct pfc_release {
    char *name; /* "v1.2.0" */
    pfc_commit_id commit;
} pfc_release;

/** Does a tag's name look like a released version ("v1.2", "1.9.4", "release-2024.1", "lib/v3.0")?
 * Not a release candidate, beta or nightly build, and not a word with a number ("build17"). */
bool pfc_tag_is_release(const char *name);

/** The repository's release tags, annotated or not, in the order of commit ids. *out is freed by
 *  pfc_releases_free; NULL when there is none. */
pfc_code pfc_repo_releases(pfc_repo *repo, pfc_release **out, size_t *len,
                           pfc_err *err) PFC_MUSTCHECK;
void pfc_releases_free(pfc_release *releases, size_t len);
/** Sets commit->tags, which must be empty, to the tags that point to it: at most PFC_WIRE_MAX_TAGS.
 */
void pfc_releases_name(const pfc_release *releases, size_t len, pfc_commit *commit);

#endif
