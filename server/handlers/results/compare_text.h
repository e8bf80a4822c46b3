/* A comparison as text, made from the document of GET /compare, so that the values are the same. */
#ifndef PFC_SERVER_HANDLERS_RESULTS_COMPARE_TEXT_H
#define PFC_SERVER_HANDLERS_RESULTS_COMPARE_TEXT_H

#include "server/handlers/handlers.h"

/**
 * The rows as CSV (RFC 4180: CRLF, quotes doubled), one column a member, with a line of names. A
 * text that a spreadsheet would read as a formula (it begins with = + - @, a tab or a carriage
 * return) gets an apostrophe in front (OWASP, CSV injection); numbers stay as they are in the
 * document. Caller frees.
 */
char *pfc_compare_csv(const json_t *doc);

/** The comparison as Markdown: the text of a pull-request comment, without the marker by which the
 *  bot finds its comment. Caller frees *out. */
pfc_code pfc_compare_markdown(const json_t *doc, char **out, pfc_err *err) PFC_MUSTCHECK;

#endif
