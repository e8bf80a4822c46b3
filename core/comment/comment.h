/*
 * The comment of a pull request, and the answer to "why": Markdown from a comparison, for the
 * command line and the service.
 * Pure functions; thread-safe.
 */
#ifndef PFC_CORE_COMMENT_COMMENT_H
#define PFC_CORE_COMMENT_COMMENT_H

#include "core/comparison/comparison.h"
#include "core/forge/forge.h"

typedef struct pfc_comment_opts {
    const char *key;        /* a slug: of the marker that the comment is found by */
    const char *link;       /* page of the whole comparison, http(s); NULL: none */
    const char *commit_url; /* a commit's page is this with its id behind; NULL: none */
    const char *series_url; /* a series' page is this with its number behind; NULL: none */
    const char *note;       /* more sentences below the verdict, escaped here; NULL: none */
    bool accepted;          /* the verdict was accepted: it is no reason to fail */
} pfc_comment_opts;

/**
 * Appends the whole comment: marker, verdict in one sentence, both commits, the changes as a table
 * with interval, noise, number of samples and corroboration, one line for each slice of the suite,
 * everything else folded, and the command that makes the comparison again.
 *
 * All text of the comparison is escaped. The comment has under PFC_COMMENT_MAX_BYTES: rows are left
 * out, and counted, rather than the limit passed. `out` is empty and holds as many.
 */
void pfc_comment_markdown(const pfc_cmp *cmp, const pfc_comment_opts *opts, pfc_buf *out);

typedef struct pfc_comment_result {
    pfc_cmp_verdict verdict; /* inconclusive: also when nothing was measured */
    char *title;             /* as of pfc_comment_verdict; the caller frees it */
} pfc_comment_result;

/**
 * The same from the text of a document: of `perfci compare --json`, of `check --json` (which may
 * hold {"error"} alone), or of GET /compare. At most 16 MiB. *result, may be NULL: for a check.
 * PFC_EINVAL names the member that is wrong.
 */
pfc_code pfc_comment_from_text(const char *document, size_t len, const pfc_comment_opts *opts,
                               pfc_buf *out, pfc_comment_result *result,
                               pfc_err *err) PFC_MUSTCHECK;
/** The verdict alone, one line without markup: the title of a check. Caller frees. */
char *pfc_comment_verdict(const pfc_cmp *cmp);

/** Appends the evidence behind the verdict, without a marker: both commits, and for each row that
 * is not unchanged (the first eight) its interval, test, noise, and what other metrics say; the
 * object code, and functions whose number of instructions changed. Escaped likewise. */
void pfc_comment_why(const pfc_cmp *cmp, const pfc_comment_opts *opts, pfc_buf *out);

/** Appends the command that makes the comparison again, as it is typed; false: it holds characters
 * that no line can show. Commands that were given by --measure and --build are part of it, quoted.
 * *whole false: without flags that are not known here. */
bool pfc_cmp_repeat_line(const pfc_cmp *cmp, pfc_buf *out, bool *whole);

/** An http(s) URL that can be put between '<' and '>'. */
bool pfc_comment_is_link(const char *text);

#endif
