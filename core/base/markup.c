/*
 * Escaped text and the frame of a page: see markup.h.
 */
#include "core/base/markup.h"

#include <string.h>

#include "core/base/parse.h"

/* Length of the character of UTF-8 at p when it changes the direction of text, is a C1 control, or
 * is U+FFFE or U+FFFF; else 0. */
static size_t hidden_character(const unsigned char *p)
{
    if (p[0] == 0xc2 && p[1] >= 0x80 && p[1] <= 0x9f)
        return 2;
    if (p[0] == 0xd8 && p[1] == 0x9c)
        return 2;
    if (p[0] == 0xe2 && p[1] == 0x80 &&
        (p[2] == 0x8e || p[2] == 0x8f || (p[2] >= 0xa8 && p[2] <= 0xae)))
        return 3;
    if (p[0] == 0xef && p[1] == 0xbf && (p[2] == 0xbe || p[2] == 0xbf))
        return 3;
    return p[0] == 0xe2 && p[1] == 0x81 && p[2] >= 0xa6 && p[2] <= 0xa9 ? 3 : 0;
}

/* Bytes of a well-formed character at p, which is not ASCII; 0: it is none. */
static size_t character_length(const unsigned char *p)
{
    const size_t len = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;

    return strnlen((const char *)p, len) == len && pfc_is_utf8((const char *)p, len) ? len : 0;
}

void pfc_markup_text(pfc_buf *out, const char *text)
{
    for (const unsigned char *p = (const unsigned char *)text; p && *p; p++) {
        const size_t hidden = hidden_character(p);
        const size_t len = *p < 0x80 ? 1 : character_length(p);

        if (hidden || *p < 0x20 || *p == 0x7f || len == 0) {
            pfc_buf_putc(out, *p == '\n' || *p == '\t' ? ' ' : '?');
            p += hidden ? hidden - 1 : 0;
        } else if (*p == '&') {
            pfc_buf_puts(out, "&amp;");
        } else if (*p == '<') {
            pfc_buf_puts(out, "&lt;");
        } else if (*p == '>') {
            pfc_buf_puts(out, "&gt;");
        } else if (*p == '"') {
            pfc_buf_puts(out, "&quot;");
        } else if (*p == '\'') {
            pfc_buf_puts(out, "&#39;");
        } else {
            pfc_buf_append(out, p, len);
            p += len - 1;
        }
    }
}

static const char base_style[] =
    ":root{color-scheme:light dark;--bg:#fff;--fg:#1d2125;--soft:#5d6670;--line:#d5dae0;"
    "--bar:#eef1f4;--mark:#2f6fb5;--worse:#b3261e;--better:#1b7a3d}\n"
    "@media(prefers-color-scheme:dark){:root{--bg:#15181b;--fg:#e4e8ec;--soft:#a3acb5;"
    "--line:#343b42;--bar:#22272c;--mark:#6aa6e8;--worse:#f2877f;--better:#6fcf8f}}\n"
    "body{font:15px/1.5 system-ui,sans-serif;background:var(--bg);color:var(--fg);max-width:72rem;"
    "margin:2rem auto;padding:0 1rem}\n"
    "h1,h2,h3{overflow-wrap:anywhere}h1{font-size:1.4rem}h2{font-size:1.1rem;margin:1.8rem 0 .4rem}"
    "\n"
    "table{border-collapse:collapse;width:100%;margin:.5rem 0}"
    "th,td{text-align:left;padding:.25rem .75rem .25rem 0;border-bottom:1px solid var(--line);"
    "vertical-align:top;overflow-wrap:anywhere}"
    "th{color:var(--soft);font-weight:600;overflow-wrap:normal}.k{white-space:nowrap}"
    ".n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}"
    ".soft{color:var(--soft)}.worse{color:var(--worse)}.better{color:var(--better)}"
    ".wide{overflow-x:auto}a{color:var(--mark)}\n";

void pfc_markup_page_begin(pfc_buf *out, const char *title, const char *style)
{
    pfc_buf_puts(out, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                      "<meta name=\"viewport\" content=\"width=device-width\">"
                      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                      "style-src 'unsafe-inline'\"><title>");
    pfc_markup_text(out, title);
    pfc_buf_printf(out, "</title><style>%s%s</style></head><body>\n<h1>", base_style,
                   style ? style : "");
    pfc_markup_text(out, title);
    pfc_buf_puts(out, "</h1>\n");
}

void pfc_markup_page_end(pfc_buf *out)
{
    pfc_buf_puts(out, "</body></html>\n");
}

void pfc_markup_cell(pfc_buf *out, const char *class_, const char *text)
{
    pfc_buf_puts(out, "<td");
    if (class_)
        pfc_buf_printf(out, " class=\"%s\"", class_);
    pfc_buf_putc(out, '>');
    pfc_markup_text(out, text);
    pfc_buf_puts(out, "</td>");
}
