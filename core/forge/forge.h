/*
 * Text that perfci posts to a forge (GitHub, GitLab, Gitea): escapes untrusted text for Markdown,
 * and marks the one comment of a pull request, which is edited instead of repeated. Thread-safe.
 */
#ifndef PFC_CORE_FORGE_FORGE_H
#define PFC_CORE_FORGE_FORGE_H

#include <jansson.h>

#include "core/base/buf.h"

/* GitHub refuses bodies over 65536 characters. */
#define PFC_COMMENT_MAX_BYTES  60000
/* Hidden in the comment, so that the next one edits it instead of adding another. */
#define PFC_COMMENT_MARKER_MAX 128

/** Appends `text` to `out` as one line of a Markdown table cell or sentence. Markup, links,
 * mentions and HTML in it are escaped. */
void pfc_markdown_text(pfc_buf *out, const char *text);
/** Appends `text` to `out` as a code span; back-ticks in it are replaced. */
void pfc_markdown_code(pfc_buf *out, const char *text);

/** Appends the folded section that says why a benchmark changed: contributions, causes, limiter and
 * guidance, as GET /explain and `perfci explain --json` answer them. Nothing where the document has
 * no contributions, or NULL. All text is escaped; at most 12,000 bytes. */
void pfc_comment_explanation(const json_t *explanation, pfc_buf *out);

/** "<!-- perfci:KEY -->"; key: a slug. */
void pfc_comment_marker(const char *key, char out[PFC_COMMENT_MARKER_MAX]);
/** Does the comment's body begin with this marker? Quoting it elsewhere is no claim on it. */
bool pfc_comment_is_ours(const char *body, const char *marker);

#endif
