/* The evidence behind a verdict. */
#include <math.h>
#include <stdlib.h>

#include "core/base/parse.h"
#include "core/comment/comment_priv.h"

enum { WHY_ROWS = 8 };

static void put_percent(pfc_buf *out, double rel)
{
    char text[32];

    pfc_show_percent(rel, text);
    pfc_buf_puts(out, text);
}

/* How the row was decided. */
static void put_test(pfc_buf *out, const pfc_cmp_row *r)
{
    const json_t *margin = json_object_get(r->stored, "margin_rel");

    if (r->exact) {
        pfc_buf_puts(out, "; an exact value, so one run decides");
        return;
    }
    pfc_buf_puts(out, ", 95 % interval ");
    put_percent(out, r->rel_low);
    pfc_buf_puts(out, " to ");
    put_percent(out, r->rel_high);
    if (r->rounds)
        pfc_buf_printf(out, "; %zu rounds of both builds", r->rounds);
    else
        pfc_buf_printf(out, "; %lld+%lld values", (long long)r->a.n, (long long)r->b.n);
    if (isfinite(r->noise_rel))
        pfc_buf_printf(out, ", noise %.2g %%", 100 * r->noise_rel);
    if (isfinite(r->p_adjusted))
        pfc_buf_printf(out, ", p = %.2g among all rows", r->p_adjusted);
    if (json_is_number(margin))
        pfc_buf_printf(out, "; a change below %.2g %% does not count",
                       100 * json_number_value(margin));
}

static void put_row(pfc_buf *out, const pfc_cmp *cmp, const pfc_cmp_row *r)
{
    pfc_buf said;

    pfc_buf_puts(out, "- ");
    pfc_markdown_code(out, r->benchmark);
    pfc_buf_putc(out, ' ');
    pfc_markdown_code(out, r->metric);
    pfc_buf_puts(out, ": ");
    if (r->verdict == PFC_CMP_BROKEN) {
        pfc_buf_puts(out, "broken\n");
        return;
    }
    put_percent(out, r->rel_change);
    put_test(out, r);
    pfc_buf_init(&said, 4096);
    if (comment_evidence(cmp, r, &said) && !said.overflow)
        pfc_buf_printf(out, "; beside it %s", pfc_buf_text(&said));
    pfc_buf_clear(&said);
    pfc_buf_putc(out, '\n');
}

void pfc_comment_why(const pfc_cmp *cmp, const pfc_comment_opts *opts, pfc_buf *out)
{
    const pfc_cmp_row **rows = comment_order(cmp);
    const char *reason = cmp->failure ? cmp->failure : cmp->nothing;
    char *title = pfc_comment_verdict(cmp);
    size_t changed = 0;

    pfc_buf_printf(out, "%s%s.\n\n", title, opts->accepted ? " (accepted)" : "");
    comment_sides(cmp, opts, out);
    if (reason) {
        pfc_markdown_text(out, reason);
        pfc_buf_puts(out, "\n\n");
    }
    while (changed < cmp->len && !rows[changed]->secondary &&
           rows[changed]->verdict != PFC_CMP_SAME)
        changed++;
    for (size_t i = 0; i < PFC_MIN(changed, (size_t)WHY_ROWS); i++)
        put_row(out, cmp, rows[i]);
    if (changed > WHY_ROWS)
        pfc_buf_printf(out, "- and %zu more\n", changed - WHY_ROWS);
    if (changed)
        pfc_buf_putc(out, '\n');
    comment_object_code(cmp, out);
    comment_functions(cmp, out);
    free(title);
    free(rows);
}
