/* Text from outside as Markdown, and the marker that a comment is known by. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/forge/forge.h"

enum { NAME_BYTES = 200 };

/* The forge searches for mentions and references in the rendered text, after escapes and entities
 * were resolved: only a zero-width character after the "@" prevents a notification. A link that
 * begins with "www." needs no scheme (GitHub Flavored Markdown, 6.9). */
void pfc_markdown_text(pfc_buf *out, const char *text)
{
    for (const char *p = text; *p; p++) {
        const unsigned char c = (unsigned char)*p;

        if (c < 0x20 || c == 0x7f)
            pfc_buf_putc(out, ' ');
        else if (c == '<')
            pfc_buf_puts(out, "&lt;");
        else if (c == '>')
            pfc_buf_puts(out, "&gt;");
        else if (c == '&')
            pfc_buf_puts(out, "&amp;");
        else if (c == '@')
            pfc_buf_puts(out, "@&#8203;");
        else if (c == '#')
            pfc_buf_puts(out, "#&#8203;");
        else if (c == '.' && p - text >= 3 && strncasecmp(p - 3, "www", 3) == 0)
            pfc_buf_puts(out, "\\.");
        else if (strchr("\\`*_{}[]()!|~:", c))
            pfc_buf_printf(out, "\\%c", c);
        else
            pfc_buf_putc(out, *p);
    }
}

void pfc_markdown_code(pfc_buf *out, const char *text)
{
    pfc_buf_putc(out, '`');
    for (const char *p = text; *p && p - text < NAME_BYTES; p++) {
        const unsigned char c = (unsigned char)*p;

        /* In a table a bar ends the cell, also inside a code span. */
        if (c < 0x20 || c == 0x7f || c == '`')
            pfc_buf_putc(out, '\'');
        else if (c == '|')
            pfc_buf_puts(out, "\\|");
        else
            pfc_buf_putc(out, *p);
    }
    pfc_buf_putc(out, '`');
}

void pfc_comment_marker(const char *key, char out[PFC_COMMENT_MARKER_MAX])
{
    snprintf(out, PFC_COMMENT_MARKER_MAX, "<!-- perfci:%.63s -->", key);
}

bool pfc_comment_is_ours(const char *body, const char *marker)
{
    return strncmp(body, marker, strlen(marker)) == 0;
}
