/* Pictures of an explanation as SVG: the delta as a waterfall, critical paths as strips, shares of
 * the peaks as bars. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/analysis/report/blocks.h"
#include "core/base/markup.h"

#define WIDTH 900.0
#define LABEL 190.0 /* of the names at the left */
#define WIDE  400.0 /* of the titles of metrics */
#define RIGHT 110.0 /* of the values at the right */
#define ROW   24.0

#define MAX_BARS 14 /* of a waterfall; the rest is one bar */

static void begin(pfc_buf *out, double height, const char *title)
{
    pfc_buf_printf(out,
                   "<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"%s\">"
                   "<title>%s</title>",
                   WIDTH, height, title, title);
}

static void label(pfc_buf *out, double x, double y, const char *anchor, const char *text)
{
    pfc_buf_printf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    pfc_markup_text(out, text);
    pfc_buf_puts(out, "</text>");
}

static void bar(pfc_buf *out, double x, double y, double width, const char *color)
{
    pfc_buf_printf(out,
                   "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.0f\" "
                   "fill=\"var(--%s)\"/>",
                   x, y, PFC_MAX(width, 1.0), ROW - 8, color);
}

/* ---- waterfall ---- */

typedef struct waterfall {
    pfc_buf *out;
    double low, scale; /* ticks at the left edge; pixels for each tick */
    double y;
} waterfall;

/* `sign`: a difference is shown with its sign, a total without. */
static void step(waterfall *w, const char *name, const char *color, double from, double to,
                 double value, bool sign)
{
    char amount[32];
    char text[40];
    const double left = PFC_MIN(from, to);

    pfc_report_number(value, amount);
    snprintf(text, sizeof(text), "%s%s", sign && value > 0 ? "+" : "", amount);
    label(w->out, LABEL - 8, w->y + 13, "end", name);
    bar(w->out, LABEL + (left - w->low) * w->scale, w->y, fabs(to - from) * w->scale, color);
    label(w->out, WIDTH - RIGHT + 8, w->y + 13, "start", text);
    w->y += ROW;
}

/* The lowest and highest level that the steps reach, so that a small delta of a large total is
 * seen. */
static void range_of(const pfc_delta *d, size_t shown, double *low, double *high)
{
    double level = d->before;

    *low = PFC_MIN(d->before, d->after);
    *high = PFC_MAX(d->before, d->after);
    for (size_t i = 0; i < shown; i++) {
        level += d->contributions[i].value;
        *low = PFC_MIN(*low, level);
        *high = PFC_MAX(*high, level);
    }
    *low = PFC_MAX(0, *low - 0.25 * (*high - *low));
}

void pfc_picture_waterfall(const pfc_explanation *e, pfc_buf *out)
{
    const pfc_delta *d = e->delta;
    waterfall w = { .out = out, .y = 4 };
    double high;
    double level;
    size_t shown;

    if (!d || d->contributions_len == 0)
        return;
    shown = PFC_MIN(d->contributions_len, (size_t)MAX_BARS);
    range_of(d, shown, &w.low, &high);
    w.scale = (WIDTH - LABEL - RIGHT) / PFC_MAX(high - w.low, 1e-9);
    begin(out, ROW * (double)(shown + 2 + (shown < d->contributions_len)) + 8,
          "The difference by phase and resource");
    step(&w, "before", "none", w.low, d->before, d->before, false);
    level = d->before;
    for (size_t i = 0; i < shown; i++) {
        const pfc_delta_contribution *c = &d->contributions[i];
        char name[100];

        snprintf(name, sizeof(name), "%s, %s", c->phase, pfc_resource_name(c->resource));
        step(&w, name, pfc_resource_name(c->resource), level, level + c->value, c->value, true);
        level += c->value;
    }
    if (shown < d->contributions_len)
        step(&w, "all others", "none", level, d->after, d->after - level, true);
    step(&w, "after", "none", w.low, d->after, d->after, false);
    pfc_buf_puts(out, "</svg>");
}

/* ---- strips of the critical path ---- */

static void strip(const pfc_explain_side *s, const char *name, double y, double most, pfc_buf *out)
{
    pfc_profile_part *parts = pfc_calloc(PFC_PROFILE_MAX_PARTS, sizeof(*parts));
    const size_t len = pfc_profile_parts(&s->profile, parts, PFC_PROFILE_MAX_PARTS);
    double x = LABEL;
    double total = 0;
    char text[32];

    for (pfc_resource r = 0; r < PFC_RESOURCES_LEN; r++) {
        double ticks = 0;

        for (size_t i = 0; i < len; i++)
            if (parts[i].resource == r)
                ticks += parts[i].ticks;
        if (ticks > 0) {
            const double width = ticks / most * (WIDTH - LABEL - RIGHT);

            bar(out, x, y, width, pfc_resource_name(r));
            if (width > 60)
                pfc_buf_printf(out, "<text class=\"in\" x=\"%.1f\" y=\"%.1f\">%s</text>", x + 4,
                               y + 12, pfc_resource_name(r));
            x += width;
            total += ticks;
        }
    }
    free(parts);
    pfc_report_number(total, text);
    label(out, LABEL - 8, y + 13, "end", name);
    label(out, WIDTH - RIGHT + 8, y + 13, "start", text);
}

void pfc_picture_strip(const pfc_explanation *e, pfc_buf *out)
{
    pfc_profile_part part;
    double before = 0;
    double after = 0;

    if (!pfc_profile_parts(&e->after.profile, &part, 1) ||
        !pfc_profile_total(&e->after.profile, &after))
        return;
    if (e->pair && !pfc_profile_total(&e->before.profile, &before))
        return;
    begin(out, ROW * (e->pair ? 2 : 1) + 8, "The critical path by resource");
    if (e->pair)
        strip(&e->before, "before", 4, PFC_MAX(before, after), out);
    strip(&e->after, e->pair ? "after" : "critical path", e->pair ? 4 + ROW : 4,
          PFC_MAX(before, after), out);
    pfc_buf_puts(out, "</svg>");
}

/* ---- shares of the peaks ---- */

static double share_before(const pfc_explanation *e, const char *name)
{
    for (size_t i = 0; e->pair && i < e->before.metrics_len; i++)
        if (strcmp(e->before.metrics[i].name, name) == 0)
            return e->before.metrics[i].share;
    return (double)NAN;
}

static void tick(pfc_buf *out, double share, double y)
{
    const double x = WIDE + PFC_MIN(share, 1.0) * (WIDTH - WIDE - RIGHT);

    pfc_buf_printf(out,
                   "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"var(--fg)\" "
                   "stroke-width=\"2\"/>",
                   x, x, y - 2, y + ROW - 6);
}

void pfc_picture_shares(const pfc_explanation *e, pfc_buf *out)
{
    size_t rows = 0;
    double y = 4;

    for (size_t i = 0; i < e->after.metrics_len; i++)
        rows += isfinite(e->after.metrics[i].share);
    if (rows == 0)
        return;
    begin(out, ROW * (double)rows + 8, "Shares of the peaks; a line marks the run before");
    for (size_t i = 0; i < e->after.metrics_len; i++) {
        const pfc_metric_value *m = &e->after.metrics[i];
        const double before = share_before(e, m->name);
        char text[40];

        if (!isfinite(m->share))
            continue;
        label(out, WIDE - 8, y + 13, "end", m->title);
        bar(out, WIDE, y, WIDTH - WIDE - RIGHT, "bar");
        bar(out, WIDE, y, PFC_MIN(m->share, 1.0) * (WIDTH - WIDE - RIGHT), "compute");
        if (isfinite(before))
            tick(out, before, y);
        snprintf(text, sizeof(text), "%.1f %%", 100 * m->share);
        label(out, WIDTH - RIGHT + 8, y + 13, "start", text);
        y += ROW;
    }
    pfc_buf_puts(out, "</svg>");
}
