/*
 * The pull request's comment: Markdown from a comparison, and the one comment that carries it.
 */
#ifndef PFC_CLI_COMMENT_H
#define PFC_CLI_COMMENT_H

#include "cli/cmp.h"
#include "core/http/client.h"

/* GitHub refuses bodies over 65536 characters. */
#define PFC_COMMENT_MAX_BYTES  60000
/* Hidden in the comment, so that the next one edits it instead of adding another. */
#define PFC_COMMENT_MARKER_MAX 128

/** `text` as one line of a Markdown table cell or sentence: nothing in it is markup, links, mentions
 *  or HTML any more. Appended to out. */
void pfc_markdown_text(pfc_buf *out, const char *text);
/** `text` as a code span; back-ticks in it are replaced. Appended to out. */
void pfc_markdown_code(pfc_buf *out, const char *text);

/** "<!-- perfci:KEY -->"; key: a slug. */
void pfc_comment_marker(const char *key, char out[PFC_COMMENT_MARKER_MAX]);

/**
 * The comment's text: marker, verdict in one sentence, what changed as a table, everything else
 * folded. Rows are left out (and counted) rather than the limit passed.
 *
 * link  where the comparison can be seen, or NULL
 */
void pfc_comment_markdown(const pfc_cmp *cmp, const char *key, const char *link, pfc_buf *out);

/** Does the comment's body begin with this marker? Quoting it elsewhere is no claim on it. */
bool pfc_comment_is_ours(const char *body, const char *marker);

/**
 * Creates the comment of the pull request, or edits the one with the same marker.
 *
 * github   a client of the API ("https://api.github.com") with its token
 * repo     "owner/name"
 * url      out: where it is, NULL when GitHub did not say; caller frees
 * created  out: false when it was edited
 */
pfc_code pfc_comment_put(pfc_http *github, const char *repo, int64_t number, const char *key,
                         const char *body, char **url, bool *created, pfc_err *err) PFC_MUSTCHECK;

#endif
