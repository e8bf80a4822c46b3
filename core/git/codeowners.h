/* The CODEOWNERS file of a commit, as the service takes it. */
#ifndef PFC_CORE_GIT_CODEOWNERS_H
#define PFC_CORE_GIT_CODEOWNERS_H

#include <jansson.h>

#include "core/git/repo.h"

/** {"commit", "path", "text"} of the first of pfc_owners_places that the commit has; without path
 *  and text when it has none. The text has no carriage returns and no control characters but
 *  newline and tab. NULL: the file cannot be sent (*err: PFC_ETOOBIG over PFC_OWNERS_MAX_TEXT
 *  bytes, PFC_EINVAL when it is not UTF-8) or read. The caller decrefs. */
json_t *pfc_codeowners_document(pfc_repo *repo, const pfc_commit_id *id, pfc_err *err);

#endif
