/*
 * The difference of two flame graphs as SVG: a box is a call stack, as wide as its share of the
 * samples after; its colour tells how its share changed. Stacks grow downwards.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/analysis/report/blocks.h"
#include "core/base/markup.h"

#define WIDTH     900.0
#define ROW       18.0
#define MAX_DEPTH 40  /* rows */
#define LEAST     1.0 /* pixels: narrower boxes are left out */
#define CHARACTER 6.6 /* pixels, of the font of labels */
#define FULL      0.1 /* change of the share that has the full colour */

typedef struct drawing {
    const pfc_flame *f;
    pfc_buf *out;
} drawing;

/* The wider one of both shares, so that what vanished is seen, too. */
static double width_of(const pfc_flame *f, size_t node)
{
    return PFC_MAX(pfc_flame_share(f, node, false), pfc_flame_share(f, node, true));
}

/* Rows below and with the node; those past MAX_DEPTH are not drawn. */
static size_t depth_of(const pfc_flame *f, size_t node, size_t depth)
{
    size_t most = depth;

    for (size_t at = f->nodes[node].first_child; at && depth < MAX_DEPTH; at = f->nodes[at].next) {
        if (width_of(f, at) * WIDTH >= LEAST) {
            /* Not within PFC_MAX, which evaluates it twice: 2^MAX_DEPTH calls for a deep stack. */
            const size_t below = depth_of(f, at, depth + 1);

            most = PFC_MAX(most, below);
        }
    }
    return most;
}

static void draw(const drawing *d, size_t node, double x, double width, size_t depth)
{
    const pfc_flame_node *n = &d->f->nodes[node];
    const double before = pfc_flame_share(d->f, node, false);
    const double after = pfc_flame_share(d->f, node, true);
    const double change = PFC_MAX(-1.0, PFC_MIN(1.0, (after - before) / FULL));
    double all = 0;
    double at = x;
    size_t shown;

    pfc_buf_printf(d->out,
                   "<g><title>%.1f %% before, %.1f %% after</title><rect x=\"%.1f\" y=\"%.1f\" "
                   "width=\"%.1f\" height=\"%.0f\" fill=\"var(--%s)\" fill-opacity=\"%.2f\" "
                   "stroke=\"var(--bg)\"/>",
                   100 * before, 100 * after, x, 4 + ROW * (double)depth, width, ROW - 1,
                   change > 0.02    ? "worse"
                   : change < -0.02 ? "better"
                                    : "none",
                   0.25 + 0.45 * fabs(change));
    shown = width > 4 * CHARACTER ? (size_t)(width / CHARACTER) - 1 : 0;
    if (shown > 0) {
        char *name = pfc_strndup(n->name, strnlen(n->name, shown));

        pfc_buf_printf(d->out, "<text x=\"%.1f\" y=\"%.1f\">", x + 3, 17 + ROW * (double)depth);
        pfc_markup_text(d->out, name);
        pfc_buf_puts(d->out, "</text>");
        free(name);
    }
    pfc_buf_puts(d->out, "</g>");
    if (depth + 1 >= MAX_DEPTH)
        return;
    for (size_t c = n->first_child; c; c = d->f->nodes[c].next)
        all += width_of(d->f, c);
    all = PFC_MAX(all, width_of(d->f, node));
    for (size_t c = n->first_child; c && all > 0; c = d->f->nodes[c].next) {
        const double part = width * width_of(d->f, c) / all;

        if (part >= LEAST)
            draw(d, c, at, part, depth + 1);
        at += part;
    }
}

void pfc_picture_flame(const pfc_explanation *e, pfc_buf *out)
{
    const drawing d = { e->flame, out };

    if (!e->flame || e->flame->len == 0)
        return;
    pfc_buf_printf(out,
                   "<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"Flame graph of the "
                   "difference\"><title>Flame graph of the difference</title>",
                   WIDTH, ROW * (double)(depth_of(e->flame, 0, 0) + 1) + 8);
    draw(&d, 0, 0, WIDTH, 0);
    pfc_buf_puts(out, "</svg>");
}
