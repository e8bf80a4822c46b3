/*
 * The phases of a run and what they wait for, as SVG: loads at the left, work in the middle, stores
 * at the right. A line from left to right is a result that the other phase needs; a dashed line
 * back is a buffer that has to be free again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/analysis/report/blocks.h"
#include "core/base/markup.h"

#define WIDTH      900.0
#define BOX        200.0
#define HEIGHT     40.0
#define STEP       64.0 /* from row to row */
#define COLUMNS    3
#define MAX_PHASES 24

typedef struct phase {
    char name[48];
    size_t column, row;
    double ticks; /* of the critical path */
    double most;  /* of one resource */
    pfc_resource resource;
} phase;

typedef struct graph {
    phase phases[MAX_PHASES];
    size_t len, rows;
    size_t in_column[COLUMNS];
} graph;

static size_t column_of(const char *name)
{
    if (strncmp(name, "load", 4) == 0)
        return 0;
    return strncmp(name, "store", 5) == 0 ? COLUMNS - 1 : 1;
}

/* SIZE_MAX: there is no room. */
static size_t phase_of(graph *g, const char *name)
{
    phase *p;

    for (size_t i = 0; i < g->len; i++)
        if (strcmp(g->phases[i].name, name) == 0)
            return i;
    if (g->len == MAX_PHASES)
        return SIZE_MAX;
    p = &g->phases[g->len];
    *p = (phase){ .column = column_of(name), .resource = PFC_RESOURCE_NONE };
    snprintf(p->name, sizeof(p->name), "%s", name);
    p->row = g->in_column[p->column]++;
    g->rows = PFC_MAX(g->rows, p->row + 1);
    return g->len++;
}

static void add_ticks(graph *g, const pfc_profile *p)
{
    pfc_profile_part *parts = pfc_calloc(PFC_PROFILE_MAX_PARTS, sizeof(*parts));
    const size_t len = pfc_profile_parts(p, parts, PFC_PROFILE_MAX_PARTS);

    for (size_t i = 0; i < len; i++) {
        const size_t at = phase_of(g, parts[i].phase);

        if (at == SIZE_MAX)
            continue;
        g->phases[at].ticks += parts[i].ticks;
        if (parts[i].ticks > g->phases[at].most) {
            g->phases[at].most = parts[i].ticks;
            g->phases[at].resource = parts[i].resource;
        }
    }
    free(parts);
}

static double left_of(const phase *p)
{
    return 4 + (double)p->column * (WIDTH - BOX - 8) / (COLUMNS - 1);
}

static double top_of(const phase *p)
{
    return 8 + (double)p->row * STEP;
}

static void box(const phase *p, pfc_buf *out)
{
    char ticks[32];

    pfc_report_number(p->ticks, ticks);
    pfc_buf_printf(out,
                   "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.0f\" height=\"%.0f\" rx=\"4\" "
                   "fill=\"var(--bar)\" stroke=\"var(--%s)\" stroke-width=\"2\"/>",
                   left_of(p), top_of(p), BOX, HEIGHT, pfc_resource_name(p->resource));
    pfc_buf_printf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">", left_of(p) + BOX / 2,
                   top_of(p) + 16);
    pfc_markup_text(out, p->name);
    pfc_buf_printf(out, "</text><text class=\"soft\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">",
                   left_of(p) + BOX / 2, top_of(p) + 32);
    if (p->ticks > 0)
        pfc_buf_printf(out, "%s ticks, %s", ticks, pfc_resource_name(p->resource));
    else
        pfc_buf_puts(out, "off the critical path");
    pfc_buf_puts(out, "</text>");
}

/* Lines end in an arrow. Forward from the right side to the left one, back below the boxes, within
 * a column at the side. */
static void edge(const phase *from, const phase *to, double waits, double most, pfc_buf *out)
{
    const double width = 1 + 3 * waits / most;
    const double y0 = top_of(from) + HEIGHT / 2;
    const double y1 = top_of(to) + HEIGHT / 2;

    if (from->column < to->column) {
        const double x0 = left_of(from) + BOX;
        const double x1 = left_of(to) - 2;
        const double bend = (x1 - x0) / 2;

        pfc_buf_printf(out,
                       "<path d=\"M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f\" fill=\"none\" "
                       "stroke=\"var(--soft)\" stroke-width=\"%.1f\" marker-end=\"url(#to)\"/>",
                       x0, y0 - 6, x0 + bend, y0 - 6, x1 - bend, y1 - 6, x1, y1 - 6, width);
    } else if (from->column > to->column) {
        const double x0 = left_of(from);
        const double x1 = left_of(to) + BOX + 2;
        const double bend = (x0 - x1) / 2;

        pfc_buf_printf(out,
                       "<path d=\"M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f\" fill=\"none\" "
                       "stroke=\"var(--soft)\" stroke-width=\"%.1f\" stroke-dasharray=\"5 4\" "
                       "marker-end=\"url(#to)\"/>",
                       x0, y0 + 8, x0 - bend, y0 + 14, x1 + bend, y1 + 14, x1, y1 + 8, width);
    } else if (from != to) {
        const double x = left_of(from) + BOX * (from->row < to->row ? 0.4 : 0.6);
        const bool down = from->row < to->row;

        pfc_buf_printf(out,
                       "<path d=\"M%.1f %.1fL%.1f %.1f\" fill=\"none\" stroke=\"var(--soft)\" "
                       "stroke-width=\"%.1f\" marker-end=\"url(#to)\"/>",
                       x, top_of(from) + (down ? HEIGHT : 0), x,
                       top_of(to) + (down ? -2 : HEIGHT + 2), width);
    }
}

void pfc_picture_phases(const pfc_explanation *e, pfc_buf *out)
{
    pfc_profile_edge *edges = pfc_calloc(PFC_PROFILE_MAX_EDGES, sizeof(*edges));
    const size_t len = pfc_profile_edges(&e->after.profile, edges, PFC_PROFILE_MAX_EDGES);
    graph *g = pfc_calloc(1, sizeof(*g));
    double most = 1;

    add_ticks(g, &e->after.profile);
    for (size_t i = 0; i < len; i++) {
        most = PFC_MAX(most, edges[i].waits);
        (void)phase_of(g, edges[i].from);
        (void)phase_of(g, edges[i].to);
    }
    if (len > 0) {
        pfc_buf_printf(out,
                       "<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"Phases and what "
                       "they wait for\"><title>Phases and what they wait for</title><defs>"
                       "<marker id=\"to\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" "
                       "markerWidth=\"9\" markerHeight=\"9\" markerUnits=\"userSpaceOnUse\" "
                       "orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"var(--soft)\"/></marker>"
                       "</defs>",
                       WIDTH, (double)g->rows * STEP + 8);
        for (size_t i = 0; i < len; i++) {
            const size_t a = phase_of(g, edges[i].from);
            const size_t b = phase_of(g, edges[i].to);

            if (a != SIZE_MAX && b != SIZE_MAX)
                edge(&g->phases[a], &g->phases[b], edges[i].waits, most, out);
        }
        for (size_t i = 0; i < g->len; i++)
            box(&g->phases[i], out);
        pfc_buf_puts(out, "</svg>");
    }
    free(g);
    free(edges);
}
