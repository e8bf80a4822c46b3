/*
 * Findings as a page.
 */
#include <stdlib.h>

#include "core/base/markup.h"
#include "core/findings/findings.h"

static void put_paragraph(pfc_buf *out, const char *text)
{
    if (!text || !*text)
        return;
    pfc_buf_puts(out, "<p>");
    pfc_markup_text(out, text);
    pfc_buf_puts(out, "</p>\n");
}

static const char *class_of(pfc_finding_kind kind)
{
    if (kind == PFC_FINDING_REGRESSION || kind == PFC_FINDING_BROKEN)
        return "worse";
    return kind == PFC_FINDING_IMPROVEMENT ? "better" : NULL;
}

static void put_row(const pfc_findings_item *item, pfc_buf *out)
{
    char *sentence = pfc_finding_sentence(item);
    char *commit = pfc_format("%.12s", item->commit ? item->commit : "");

    pfc_buf_puts(out, "<tr>");
    pfc_markup_cell(out, class_of(item->kind), pfc_finding_word(item->kind));
    pfc_markup_cell(out, NULL, item->benchmark ? item->benchmark : "(the whole commit)");
    pfc_markup_cell(out, NULL, item->metric);
    pfc_markup_cell(out, NULL, item->backend);
    pfc_markup_cell(out, NULL, sentence);
    pfc_markup_cell(out, NULL, commit);
    pfc_markup_cell(out, "soft", item->subject);
    pfc_buf_puts(out, "</tr>\n");
    free(commit);
    free(sentence);
}

static void put_table(const pfc_findings *f, pfc_buf *out)
{
    pfc_buf_puts(out, "<div class=\"wide\"><table><thead><tr><th scope=\"col\">Verdict</th>"
                      "<th scope=\"col\">Benchmark</th><th scope=\"col\">Metric</th>"
                      "<th scope=\"col\">Backend</th><th scope=\"col\">Change</th>"
                      "<th scope=\"col\">Commit</th><th scope=\"col\">Subject</th></tr></thead>"
                      "<tbody>\n");
    /* Findings that need attention are first. */
    for (int kind = 0; kind < PFC_FINDING_KINDS; kind++)
        for (size_t i = 0; i < f->len; i++)
            if ((int)f->items[i].kind == kind)
                put_row(&f->items[i], out);
    pfc_buf_puts(out, "</tbody></table></div>\n");
}

pfc_code pfc_findings_html(const pfc_findings *f, pfc_buf *out, pfc_err *err)
{
    pfc_markup_page_begin(out, f->title, NULL);
    put_paragraph(out, f->verdict);
    put_paragraph(out, f->notes);
    if (f->left_out)
        pfc_buf_printf(out, "<p>%zu further findings are left out.</p>\n", f->left_out);
    if (f->len)
        put_table(f, out);
    pfc_markup_page_end(out);
    return pfc_buf_check(out, "the page", err);
}
