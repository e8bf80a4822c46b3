/* The three written forms of a report: text, Markdown, HTML. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/analysis/report/blocks.h"
#include "core/base/markup.h"
#include "core/forge/forge.h"

/* Length in columns of a terminal: bytes that begin a character of UTF-8. */
static size_t width_of(const char *text)
{
    size_t n = 0;

    for (; text && *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

static void pad(pfc_buf *out, size_t n)
{
    while (n-- > 0)
        pfc_buf_putc(out, ' ');
}

/* ---- text ---- */

#define TEXT_COLUMN 52 /* a longer cell continues in the next line */

/* Bytes of the next line of a cell: at most TEXT_COLUMN columns, broken at a blank where there is
 * one. */
static size_t line_bytes(const char *text)
{
    size_t columns = 0;
    size_t blank = 0;
    size_t i = 0;

    for (; text[i]; i++) {
        columns += ((unsigned char)text[i] & 0xc0) != 0x80;
        if (columns > TEXT_COLUMN)
            return blank ? blank : i;
        if (text[i] == ' ')
            blank = i + 1;
    }
    return i;
}

static size_t widest_line(const char *text)
{
    size_t most = 0;

    while (text && *text) {
        const size_t bytes = line_bytes(text);
        char *line = pfc_strndup(text, bytes);

        most = PFC_MAX(most, width_of(line));
        free(line);
        text += bytes;
    }
    return most;
}

/* Prints the next line of the cell and moves *text behind it. */
static void text_cell(pfc_buf *out, const char **text, size_t width, bool right, bool last)
{
    const size_t bytes = *text ? line_bytes(*text) : 0;
    char *line = pfc_strndup(*text ? *text : "", bytes);
    const size_t len = width_of(line);
    const size_t room = width > len ? width - len : 0;

    if (right)
        pad(out, room);
    pfc_buf_puts(out, line);
    if (!right && !last)
        pad(out, room);
    if (!last)
        pad(out, 2);
    free(line);
    if (*text)
        *text += bytes;
}

static bool any_left(const char *const *texts, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (texts[i] && *texts[i])
            return true;
    return false;
}

static void text_row(const pfc_report_part *b, const char **texts, const size_t *widths,
                     pfc_buf *out)
{
    do {
        pad(out, 2);
        for (size_t c = 0; c < b->cols; c++)
            text_cell(out, &texts[c], widths[c], b->right[c], c + 1 == b->cols);
        pfc_buf_putc(out, '\n');
    } while (any_left(texts, b->cols));
}

static void text_table(const pfc_report_part *b, pfc_buf *out)
{
    size_t widths[PFC_REPORT_MAX_COLS];
    const char *texts[PFC_REPORT_MAX_COLS];

    for (size_t c = 0; c < b->cols; c++) {
        texts[c] = b->titles[c];
        widths[c] = width_of(b->titles[c]);
        for (size_t r = 0; r < b->rows; r++)
            widths[c] = PFC_MAX(widths[c], widest_line(b->cells[r * b->cols + c].text));
    }
    text_row(b, texts, widths, out);
    for (size_t r = 0; r < b->rows; r++) {
        for (size_t c = 0; c < b->cols; c++)
            texts[c] = b->cells[r * b->cols + c].text;
        text_row(b, texts, widths, out);
    }
}

void pfc_report_text(const pfc_report *r, pfc_buf *out)
{
    pfc_buf_printf(out, "%s\n", r->title);
    for (size_t i = 0; i < r->len; i++) {
        const pfc_report_part *b = &r->blocks[i];

        switch (b->kind) {
        case PFC_REPORT_HEADING:
            pfc_buf_printf(out, "\n%s\n", b->text);
            break;
        case PFC_REPORT_PARAGRAPH:
        case PFC_REPORT_CODE:
            pfc_buf_printf(out, "  %s\n", b->text);
            break;
        case PFC_REPORT_TABLE:
            text_table(b, out);
            break;
        case PFC_REPORT_PICTURE:
            break;
        }
    }
}

/* ---- Markdown ---- */

static void markdown_cell(const pfc_report_cell *cell, pfc_buf *out)
{
    pfc_buf_puts(out, " ");
    if (cell->link)
        pfc_buf_putc(out, '[');
    pfc_markdown_text(out, cell->text ? cell->text : "");
    if (cell->link)
        pfc_buf_printf(out, "](%s)", cell->link);
    pfc_buf_puts(out, " |");
}

static void markdown_table(const pfc_report_part *b, pfc_buf *out)
{
    pfc_buf_puts(out, "\n|");
    for (size_t c = 0; c < b->cols; c++) {
        pfc_buf_putc(out, ' ');
        pfc_markdown_text(out, b->titles[c]);
        pfc_buf_puts(out, " |");
    }
    pfc_buf_puts(out, "\n|");
    for (size_t c = 0; c < b->cols; c++)
        pfc_buf_puts(out, b->right[c] ? " ---: |" : " --- |");
    pfc_buf_putc(out, '\n');
    for (size_t r = 0; r < b->rows; r++) {
        pfc_buf_putc(out, '|');
        for (size_t c = 0; c < b->cols; c++)
            markdown_cell(&b->cells[r * b->cols + c], out);
        pfc_buf_putc(out, '\n');
    }
}

void pfc_report_markdown(const pfc_report *r, pfc_buf *out)
{
    pfc_buf_puts(out, "## ");
    pfc_markdown_text(out, r->title);
    pfc_buf_putc(out, '\n');
    for (size_t i = 0; i < r->len; i++) {
        const pfc_report_part *b = &r->blocks[i];

        switch (b->kind) {
        case PFC_REPORT_HEADING:
            pfc_buf_puts(out, "\n### ");
            pfc_markdown_text(out, b->text);
            pfc_buf_putc(out, '\n');
            break;
        case PFC_REPORT_PARAGRAPH:
            pfc_buf_putc(out, '\n');
            pfc_markdown_text(out, b->text);
            pfc_buf_putc(out, '\n');
            break;
        case PFC_REPORT_CODE:
            pfc_buf_putc(out, '\n');
            pfc_markdown_code(out, b->text);
            pfc_buf_putc(out, '\n');
            break;
        case PFC_REPORT_TABLE:
            markdown_table(b, out);
            break;
        case PFC_REPORT_PICTURE:
            break;
        }
    }
}

/* ---- HTML ---- */

static void html_element(pfc_buf *out, const char *element, const char *text)
{
    pfc_buf_printf(out, "<%s>", element);
    pfc_markup_text(out, text);
    pfc_buf_printf(out, "</%s>\n", element);
}

#define NUMBER_COLUMNS 26 /* a longer text in a column of numbers is none and may be broken */

static void html_table(const pfc_report_part *b, pfc_buf *out)
{
    pfc_buf_puts(out, "<table><thead><tr>");
    for (size_t c = 0; c < b->cols; c++) {
        pfc_buf_printf(out, "<th scope=\"col\"%s>", b->right[c] ? " class=\"n\"" : "");
        pfc_markup_text(out, b->titles[c]);
        pfc_buf_puts(out, "</th>");
    }
    pfc_buf_puts(out, "</tr></thead><tbody>\n");
    for (size_t r = 0; r < b->rows; r++) {
        pfc_buf_puts(out, "<tr>");
        for (size_t c = 0; c < b->cols; c++) {
            const pfc_report_cell *cell = &b->cells[r * b->cols + c];

            if (!b->right[c])
                pfc_buf_puts(out, "<td>");
            else if (width_of(cell->text) > NUMBER_COLUMNS)
                pfc_buf_puts(out, "<td class=\"n long\">");
            else
                pfc_buf_puts(out, "<td class=\"n\">");
            if (cell->link) {
                pfc_buf_puts(out, "<a href=\"");
                pfc_markup_text(out, cell->link);
                pfc_buf_puts(out, "\">");
            }
            pfc_markup_text(out, cell->text);
            pfc_buf_puts(out, cell->link ? "</a></td>" : "</td>");
        }
        pfc_buf_puts(out, "</tr>\n");
    }
    pfc_buf_puts(out, "</tbody></table>\n");
}

/* Colours of the resources: one hue each, told apart in both themes; every picture has the table of
 * its values below it. */
static const char style[] =
    ":root{color-scheme:light dark;--bg:#fff;--fg:#1d2125;--soft:#5d6670;--line:#d5dae0;"
    "--bar:#eef1f4;--compute:#2f6fb5;--weights:#6f5bb8;--vector:#b0508f;--memory:#c2601c;"
    "--dma:#8a7a12;--scratchpad:#2d8561;--latency:#7c8790;--pcie:#bb3f45;--host:#16838f;"
    "--none:#9aa3ab;--worse:#b3261e;--better:#1b7a3d}\n"
    "@media(prefers-color-scheme:dark){:root{--bg:#15181b;--fg:#e4e8ec;--soft:#a3acb5;"
    "--line:#343b42;--bar:#22272c;--compute:#6aa6e8;--weights:#a494ea;--vector:#dd86bf;"
    "--memory:#ee9355;--dma:#c9b84a;--scratchpad:#5fc096;--latency:#a9b3bb;--pcie:#ec7a7f;"
    "--host:#4fb9c5;--none:#7d868e;--worse:#f2877f;--better:#6fcf8f}}\n"
    "body{font:15px/1.5 system-ui,sans-serif;background:var(--bg);color:var(--fg);max-width:62rem;"
    "margin:2rem auto;padding:0 1rem}\n"
    "h1{font-size:1.4rem;overflow-wrap:anywhere}h2{font-size:1.1rem;margin:1.8rem 0 .4rem}\n"
    "table{border-collapse:collapse;width:100%;margin:.5rem 0}"
    "th,td{text-align:left;padding:.25rem .75rem .25rem 0;border-bottom:1px solid var(--line);"
    "vertical-align:top;overflow-wrap:anywhere}"
    "th{color:var(--soft);font-weight:600}th,td:first-child{overflow-wrap:normal}"
    ".n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}"
    ".long{white-space:normal;text-align:left}\n"
    "code{display:block;background:var(--bar);padding:.4rem .6rem;overflow-x:auto;margin:.3rem 0;"
    "white-space:pre}\n"
    "svg{display:block;width:100%;height:auto;margin:.6rem 0}svg "
    "text{fill:var(--fg);font-size:12px}"
    "svg .in{fill:var(--bg)}svg .soft{fill:var(--soft)}svg .line{stroke:var(--line);fill:none}"
    "svg .dot{stroke:var(--bg);stroke-width:1.5}a{color:var(--compute)}\n";

static void html_block(const pfc_report_part *b, pfc_buf *out)
{
    switch (b->kind) {
    case PFC_REPORT_HEADING:
        html_element(out, "h2", b->text);
        break;
    case PFC_REPORT_PARAGRAPH:
        html_element(out, "p", b->text);
        break;
    case PFC_REPORT_CODE:
        html_element(out, "code", b->text);
        break;
    case PFC_REPORT_TABLE:
        html_table(b, out);
        break;
    case PFC_REPORT_PICTURE: /* made here, escaped where it was made */
        pfc_buf_puts(out, b->text);
        pfc_buf_putc(out, '\n');
        break;
    }
}

void pfc_report_html(const pfc_report *r, pfc_buf *out)
{
    pfc_buf_puts(out, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                      "<meta name=\"viewport\" content=\"width=device-width\">"
                      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                      "style-src 'unsafe-inline'\">");
    html_element(out, "title", r->title);
    pfc_buf_printf(out, "<style>%s</style></head><body>\n", style);
    html_element(out, "h1", r->title);
    for (size_t i = 0; i < r->len; i++)
        html_block(&r->blocks[i], out);
    pfc_buf_puts(out, "</body></html>\n");
}
