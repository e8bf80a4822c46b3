/*
 * HTML and XML from text of others, and the frame of a page that needs nothing else: no script, no
 * request, one style for both themes. Thread-safe.
 */
#ifndef PFC_CORE_BASE_MARKUP_H
#define PFC_CORE_BASE_MARKUP_H

#include "core/base/buf.h"

/** Appends `text` (NULL: nothing) as content of an element or of a quoted attribute, for HTML and
 * for XML 1.0. '&', '<', '>' and both quotes are escaped. A line feed and a tab become a space.
 * Other control characters, characters that change the direction of text, bytes that are no UTF-8
 * and the two noncharacters that XML forbids become "?". */
void pfc_markup_text(pfc_buf *out, const char *text);

/** Appends everything up to the first heading of a page, and the heading. `style`: further rules,
 * trusted; NULL: none. The base rules define the colours --bg, --fg, --soft, --line, --bar, --mark,
 * --worse and --better for both themes. */
void pfc_markup_page_begin(pfc_buf *out, const char *title, const char *style);
void pfc_markup_page_end(pfc_buf *out);

/** Appends a cell of a table: "<td class="CLASS">text</td>". class_: trusted; NULL: none. */
void pfc_markup_cell(pfc_buf *out, const char *class_, const char *text);

#endif
