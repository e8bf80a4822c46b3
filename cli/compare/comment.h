/*
 * The pull request's comment: Markdown from a comparison.
 */
#ifndef PFC_CLI_COMPARE_COMMENT_H
#define PFC_CLI_COMPARE_COMMENT_H

#include "cli/compare/compare.h"
#include "core/forge/forge.h"

/**
 * The comment's text: marker, verdict in one sentence, what changed as a table, everything else
 * folded. Rows are left out (and counted) rather than the limit passed.
 *
 * link  where the comparison can be seen, or NULL
 */
void pfc_comment_markdown(const pfc_cmp *cmp, const char *key, const char *link, pfc_buf *out);

#endif
