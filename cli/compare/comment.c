/* Markdown of a comparison. */
#include "cli/compare/comment.h"

#include <math.h>
#include <string.h>

#include "cli/output/output.h"

enum { TABLE_ROWS = 20, FOLDED_ROWS = 300 };

/* ---- the comment ---- */

/* Does the head of the comment count and list the row? A secondary metric decides nothing. */
static bool is_change(const pfc_cmp_row *r)
{
    return !r->secondary && (r->verdict == PFC_CMP_REGRESSION || r->verdict == PFC_CMP_BROKEN);
}

static void put_verdict(pfc_buf *out, const pfc_cmp *cmp)
{
    const size_t *n = cmp->count;
    double worst = 0;

    for (size_t i = 0; i < cmp->len; i++)
        if (is_change(&cmp->rows[i]) && cmp->rows[i].verdict == PFC_CMP_REGRESSION &&
            isfinite(cmp->rows[i].rel_change))
            worst = PFC_MAX(worst, fabs(cmp->rows[i].rel_change));
    if (n[PFC_CMP_BROKEN])
        pfc_buf_printf(out, "### \xE2\x9B\x94 %zu benchmark%s broken", n[PFC_CMP_BROKEN],
                       n[PFC_CMP_BROKEN] == 1 ? " is" : "s are");
    else if (cmp->stored && cmp->differs_len && !cmp->across)
        pfc_buf_puts(out,
                     "### \xE2\x9A\xAA Not decided: measured with different machines or compilers");
    else if (n[PFC_CMP_REGRESSION])
        pfc_buf_printf(out, "### \xF0\x9F\x94\xB4 %zu regression%s, the largest %.1f %%",
                       n[PFC_CMP_REGRESSION], n[PFC_CMP_REGRESSION] == 1 ? "" : "s", worst * 100);
    else if (cmp->len == 0)
        pfc_buf_puts(out, "### \xE2\x9A\xAA Nothing was compared");
    else if (n[PFC_CMP_INCONCLUSIVE])
        pfc_buf_printf(out, "### \xE2\x9A\xAA No regression shown; %zu of %zu not decided",
                       n[PFC_CMP_INCONCLUSIVE], cmp->len);
    else if (n[PFC_CMP_IMPROVEMENT])
        pfc_buf_printf(out, "### \xF0\x9F\x9F\xA2 %zu improvement%s, no regression",
                       n[PFC_CMP_IMPROVEMENT], n[PFC_CMP_IMPROVEMENT] == 1 ? "" : "s");
    else
        pfc_buf_printf(out, "### \xF0\x9F\x9F\xA2 No change in %zu benchmark%s", cmp->len,
                       cmp->len == 1 ? "" : "s");
    pfc_buf_puts(out, "\n\n");
}

/* No table: why there is none. */
static void put_nothing(pfc_buf *out, const pfc_cmp *cmp)
{
    pfc_buf_puts(out, cmp->failure ? "### \xE2\x9B\x94 No comparison\n\n"
                                   : "### \xE2\x9A\xAA Nothing was compared\n\n");
    pfc_markdown_text(out, cmp->failure ? cmp->failure : cmp->nothing);
    pfc_buf_putc(out, '\n');
}

static void put_row(pfc_buf *out, const pfc_cmp_row *r)
{
    char a[32];
    char b[32];
    char change[32];
    char low[32];
    char high[32];

    pfc_buf_puts(out, "| ");
    pfc_markdown_code(out, r->benchmark);
    pfc_buf_puts(out, " | ");
    pfc_markdown_code(out, r->metric);
    pfc_buf_puts(out, " | ");
    pfc_markdown_text(out, r->backend);
    if (r->verdict == PFC_CMP_BROKEN) {
        pfc_buf_puts(out, " | | | | ");
        pfc_markdown_text(out, r->reason ? r->reason : "");
        pfc_buf_puts(out, " | **broken** |\n");
        return;
    }
    pfc_show_value(r->a.median, a);
    pfc_show_value(r->b.median, b);
    pfc_show_percent(r->rel_change, change);
    pfc_show_percent(r->rel_low, low);
    pfc_show_percent(r->rel_high, high);
    pfc_buf_printf(out, " | %s | %s ", a, b);
    pfc_markdown_text(out, r->unit);
    pfc_buf_printf(out, " | **%s** | %s to %s | %s", change, low, high, pfc_cmp_name(r->verdict));
    if (r->verdict == PFC_CMP_INCONCLUSIVE && r->more_rounds)
        pfc_buf_printf(out, ", about %zu more rounds expected", r->more_rounds);
    else if (r->verdict == PFC_CMP_INCONCLUSIVE && r->more_runs)
        pfc_buf_printf(out, ", about %zu more runs a side expected", r->more_runs);
    pfc_buf_puts(out, " |\n");
}

static const char table_head[] = "| benchmark | metric | backend | before | after | change | "
                                 "interval | verdict |\n"
                                 "| --- | --- | --- | ---: | ---: | ---: | --- | --- |\n";

/* A table of the rows that `wanted` says; at most max, the others are counted. */
static void put_table(pfc_buf *out, const pfc_cmp *cmp, bool changes, size_t max)
{
    size_t shown = 0;
    size_t left_out = 0;

    for (size_t i = 0; i < cmp->len; i++) {
        if (is_change(&cmp->rows[i]) != changes)
            continue;
        /* A row takes a kilobyte at most, and the end of the comment must fit, too. */
        if (shown == max || out->len > PFC_COMMENT_MAX_BYTES - 6000) {
            left_out++;
            continue;
        }
        if (shown++ == 0)
            pfc_buf_puts(out, table_head);
        put_row(out, &cmp->rows[i]);
    }
    if (left_out)
        pfc_buf_printf(out, "\n%zu more not shown.\n", left_out);
    if (shown)
        pfc_buf_putc(out, '\n');
}

static void put_differences(pfc_buf *out, const pfc_cmp *cmp)
{
    for (size_t i = 0; i < cmp->differs_len; i++) {
        const pfc_cmp_difference *d = &cmp->differs[i];

        pfc_buf_puts(out, i ? "; " : "");
        pfc_markdown_text(out, d->field);
        pfc_buf_puts(out, ": ");
        pfc_markdown_text(out, d->a ? d->a : "not recorded");
        pfc_buf_puts(out, " to ");
        pfc_markdown_text(out, d->b ? d->b : "not recorded");
    }
}

static void put_repeat(pfc_buf *out, const pfc_cmp *cmp)
{
    pfc_buf line;
    bool whole;

    pfc_buf_init(&line, 8192);
    if (pfc_cmp_repeat_line(cmp, &line, &whole))
        pfc_buf_printf(out, ". Reproduce%s: `%s`",
                       whole ? "" : ", with the job's own commands added", pfc_buf_text(&line));
    pfc_buf_clear(&line);
}

void pfc_comment_markdown(const pfc_cmp *cmp, const char *key, const char *link, pfc_buf *out)
{
    const size_t changed = cmp->count[PFC_CMP_REGRESSION] + cmp->count[PFC_CMP_BROKEN];
    char marker[PFC_COMMENT_MARKER_MAX];

    pfc_comment_marker(key, marker);
    pfc_buf_printf(out, "%s\n", marker);
    if (cmp->failure || cmp->nothing) {
        put_nothing(out, cmp);
        return;
    }
    put_verdict(out, cmp);
    put_table(out, cmp, true, TABLE_ROWS);
    if (cmp->differs_len) {
        pfc_buf_puts(out, "The machines differ (");
        put_differences(out, cmp);
        pfc_buf_puts(out, "): read the numbers with care.\n\n");
    }
    pfc_comment_explanation(cmp->explanation, out);
    if (cmp->len > changed) {
        pfc_buf_printf(out,
                       "<details><summary>%zu other%s: %zu improved, %zu unchanged, %zu not "
                       "decided</summary>\n\n",
                       cmp->len - changed, cmp->len - changed == 1 ? "" : "s",
                       cmp->count[PFC_CMP_IMPROVEMENT], cmp->count[PFC_CMP_SAME],
                       cmp->count[PFC_CMP_INCONCLUSIVE]);
        put_table(out, cmp, false, FOLDED_ROWS);
        pfc_buf_puts(out, "</details>\n\n");
    }
    pfc_buf_puts(out, "Compared ");
    pfc_markdown_code(out, cmp->b);
    pfc_buf_puts(out, " with ");
    pfc_markdown_code(out, cmp->a);
    put_repeat(out, cmp);
    if (link)
        pfc_buf_printf(out, " · <%s>", link);
    pfc_buf_putc(out, '\n');
}
