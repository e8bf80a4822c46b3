/* The reader of lines: bounded, whatever arrives. */
#include <stdlib.h>
#include <string.h>

#include "cli/mcp/mcp.h"

void mcp_lines_init(mcp_lines *lines, size_t max_bytes)
{
    *lines = (mcp_lines){ .max_bytes = max_bytes };
}

void mcp_lines_clear(mcp_lines *lines)
{
    free(lines->data);
    *lines = (mcp_lines){ .max_bytes = lines->max_bytes };
}

void mcp_lines_add(mcp_lines *lines, const char *bytes, size_t len)
{
    if (lines->from > 0) {
        memmove(lines->data, lines->data + lines->from, lines->len - lines->from);
        lines->len -= lines->from;
        lines->from = 0;
    }
    if (lines->len + len > lines->cap) {
        lines->cap = PFC_MAX(2 * lines->cap, lines->len + len);
        lines->data = pfc_realloc(lines->data, lines->cap, 1);
    }
    if (len > 0)
        memcpy(lines->data + lines->len, bytes, len);
    lines->len += len;
}

static bool blank(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (text[i] != ' ' && text[i] != '\t' && text[i] != '\r')
            return false;
    return true;
}

/* The rest of a line that is too long is dropped; true when it is over. */
static bool skip(mcp_lines *lines)
{
    const char *at = lines->data + lines->from;
    const char *end = memchr(at, '\n', lines->len - lines->from);

    lines->from = end ? lines->from + (size_t)(end - at) + 1 : lines->len;
    lines->skipping = end == NULL;
    return !lines->skipping;
}

mcp_line mcp_lines_next(mcp_lines *lines, const char **text, size_t *len)
{
    while (lines->from < lines->len && (!lines->skipping || skip(lines))) {
        const char *at = lines->data + lines->from;
        const size_t rest = lines->len - lines->from;
        const char *end = rest ? memchr(at, '\n', rest) : NULL;
        const size_t size = end ? (size_t)(end - at) : rest;

        if (size > lines->max_bytes) {
            (void)skip(lines);
            return MCP_LINE_TOO_LONG;
        }
        if (!end)
            break;
        lines->from += size + 1;
        if (blank(at, size))
            continue;
        *text = at;
        *len = size;
        return MCP_LINE_WHOLE;
    }
    return MCP_LINE_NONE;
}
