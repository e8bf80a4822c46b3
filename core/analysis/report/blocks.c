#include "core/analysis/report/blocks.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"

pfc_report *pfc_report_new(const char *title, const char *link_base)
{
    pfc_report *r = pfc_calloc(1, sizeof(*r));

    r->title = pfc_strdup(title);
    r->link_base = pfc_strdup(link_base);
    return r;
}

static void clear_block(pfc_report_part *b)
{
    free(b->text);
    for (size_t i = 0; i < b->cols; i++)
        free(b->titles[i]);
    for (size_t i = 0; i < b->rows * b->cols; i++) {
        free(b->cells[i].text);
        free(b->cells[i].link);
    }
    free(b->cells);
}

void pfc_report_free(pfc_report *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->len; i++)
        clear_block(&r->blocks[i]);
    free(r->blocks);
    free(r->title);
    free(r->link_base);
    free(r);
}

pfc_report_part *pfc_report_add_part(pfc_report *r, pfc_report_part_kind kind, const char *fmt, ...)
{
    va_list args;
    pfc_report_part *b;

    r->blocks = pfc_grow(r->blocks, r->len, &r->cap, sizeof(*r->blocks));
    b = &r->blocks[r->len++];
    *b = (pfc_report_part){ .kind = kind };
    va_start(args, fmt);
    b->text = pfc_vformat(fmt, args);
    va_end(args);
    return b;
}

void pfc_report_note(pfc_report *r, const char *fmt, ...)
{
    va_list args;
    char *text;

    va_start(args, fmt);
    text = pfc_vformat(fmt, args);
    va_end(args);
    pfc_report_add_part(r, PFC_REPORT_PARAGRAPH, "%s", text);
    free(text);
}

void pfc_report_column(pfc_report_part *b, const char *title, bool right)
{
    b->titles[b->cols] = pfc_strdup(title);
    b->right[b->cols] = right;
    b->cols++;
}

void pfc_report_row(pfc_report_part *b)
{
    for (size_t i = 0; i < b->cols; i++) {
        const size_t at = b->rows * b->cols + i;

        b->cells = pfc_grow(b->cells, at, &b->cells_cap, sizeof(*b->cells));
        b->cells[at] = (pfc_report_cell){ NULL, NULL };
    }
    b->rows++;
}

static pfc_report_cell *newest(const pfc_report_part *b, size_t col)
{
    return &b->cells[(b->rows - 1) * b->cols + col];
}

void pfc_report_cell_set(pfc_report_part *b, size_t col, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    free(newest(b, col)->text);
    newest(b, col)->text = pfc_vformat(fmt, args);
    va_end(args);
}

void pfc_report_cell_link(const pfc_report *r, pfc_report_part *b, size_t col, const char *kind,
                          const char *id)
{
    if (!r->link_base || !id)
        return;
    free(newest(b, col)->link);
    newest(b, col)->link = pfc_format("%s/%s/%s", r->link_base, kind, id);
}

void pfc_report_cell_href(pfc_report_part *b, size_t col, const char *href)
{
    free(newest(b, col)->link);
    newest(b, col)->link = pfc_strdup(href);
}

void pfc_report_number(double v, char out[32])
{
    if (isnan(v))
        snprintf(out, 32, "?");
    else if (fabs(v) >= 1000)
        snprintf(out, 32, "%.0f", v);
    else
        snprintf(out, 32, "%.4g", v);
}

void pfc_report_percent(double rel, char out[32])
{
    if (isnan(rel))
        snprintf(out, 32, "?");
    else
        snprintf(out, 32, "%+.1f %%", 100 * rel);
}
