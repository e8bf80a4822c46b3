/*
 * Text that perfci posts to a forge (GitHub, GitLab, Gitea): escapes untrusted text for Markdown,
 * and keeps one comment per pull request, which is edited instead of repeated. Thread-safe, except
 * for the HTTP client that is passed in.
 */
#ifndef PFC_CORE_FORGE_FORGE_H
#define PFC_CORE_FORGE_FORGE_H

#include "core/http/client.h"

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

typedef struct pfc_comment_place {
    const char *repo;     /* "owner/name" */
    const char *commit;   /* its id, or NULL: */
    int64_t pull_request; /* its number */
} pfc_comment_place;

/**
 * Creates the comment there, or edits the one with the same marker.
 *
 * github   a client of the API ("https://api.github.com") with its token
 * body     begins with the marker of `key`
 * url      out, may be NULL: where it is, NULL when GitHub did not say; caller frees
 * created  out: false when it was edited
 *
 * PFC_EDENIED: the token; PFC_ENOTFOUND: no such place, or not for this token; PFC_EUNAVAIL and
 * PFC_ETIMEOUT: the same call may succeed later; PFC_EIO: anything else.
 */
pfc_code pfc_comment_put(pfc_http *github, const pfc_comment_place *at, const char *key,
                         const char *body, char **url, bool *created, pfc_err *err) PFC_MUSTCHECK;

#endif
