/* The content of a part of the time, in a bounded number of items: see view.h. */
#include <stdlib.h>

#include "core/trace/view/view.h"

/* Cells of equal length, at least one ns each. */
typedef struct grid {
    int64_t from_ns, to_ns;
    double cell_ns;
    size_t cells;
} grid;

static size_t cell_of(const grid *g, int64_t ns)
{
    const double at = (double)(ns - g->from_ns) / g->cell_ns;

    return at <= 0 ? 0 : PFC_MIN((size_t)at, g->cells - 1);
}

/* ---- lines ---- */

/* Gives each cell its part of a stretch, which lies in the window. */
static void cover(const grid *g, double *busy, int64_t begin, int64_t end)
{
    const size_t last = cell_of(g, end);

    for (size_t c = cell_of(g, begin); c <= last; c++) {
        const double left = (double)g->from_ns + (double)c * g->cell_ns;
        const double low = PFC_MAX((double)begin, left);
        const double high = PFC_MIN((double)end, left + g->cell_ns);

        if (high > low)
            busy[c] += (high - low) / g->cell_ns;
    }
}

static void fill_cells(const pfc_trace_view_line *line, const pfc_trace_view_window *w,
                       const grid *g, pfc_trace_view_part *part)
{
    double *busy = pfc_calloc(g->cells, sizeof(*busy));
    uint32_t *count = pfc_calloc(g->cells, sizeof(*count));
    int64_t covered = w->from_ns;

    for (size_t i = part->first; i < part->end; i++) {
        const pfc_trace_view_slice *s = &line->slices[i];
        const int64_t begin = PFC_MAX(s->begin_ns, covered);
        const int64_t end = PFC_MIN(s->end_ns, w->to_ns);

        if (!pfc_trace_view_shows(w, s))
            continue;
        if (end > begin) {
            cover(g, busy, begin, end);
            covered = end;
        }
        if (s->begin_ns >= w->from_ns)
            count[cell_of(g, s->begin_ns)]++;
    }
    part->cells = pfc_calloc(g->cells, sizeof(*part->cells));
    for (size_t c = 0; c < g->cells; c++)
        if (busy[c] > 0 || count[c] > 0)
            part->cells[part->cells_len++] =
                (pfc_trace_view_cell){ (uint32_t)c, count[c], PFC_MIN(busy[c], 1) };
    free(busy);
    free(count);
}

static void fill_part(const pfc_trace_view_line *line, const pfc_trace_view_window *w,
                      const grid *g, pfc_trace_view_part *part)
{
    size_t first = line->len;
    size_t end = 0;

    for (size_t i = 0; i < line->len && line->slices[i].begin_ns <= w->to_ns; i++) {
        if (!pfc_trace_view_shows(w, &line->slices[i]))
            continue;
        first = PFC_MIN(first, i);
        end = i + 1;
        part->shown++;
    }
    part->first = PFC_MIN(first, end);
    part->end = end;
    if (part->shown > g->cells)
        fill_cells(line, w, g, part);
}

/* ---- counters ---- */

static void fill_ranges(const pfc_trace_view_series *s, const grid *g, pfc_trace_view_levels *out)
{
    pfc_trace_view_range *now = NULL;

    out->ranges = pfc_calloc(g->cells, sizeof(*out->ranges));
    for (size_t i = out->first; i < out->end; i++) {
        const uint32_t at = (uint32_t)cell_of(g, s->values[i].ns);
        const double value = s->values[i].value;
        /* The value before holds at the begin of the cell. */
        const double held = i > 0 ? s->values[i - 1].value : value;

        if (!now || now->at != at) {
            now = &out->ranges[out->ranges_len++];
            *now = (pfc_trace_view_range){ at, held, held };
        }
        now->low = PFC_MIN(now->low, value);
        now->high = PFC_MAX(now->high, value);
    }
}

static void fill_levels(const pfc_trace_view_series *s, const pfc_trace_view_window *w,
                        const grid *g, pfc_trace_view_levels *out)
{
    size_t i = 0;

    while (i < s->len && s->values[i].ns < w->from_ns)
        i++;
    out->first = i;
    while (i < s->len && s->values[i].ns <= w->to_ns)
        i++;
    out->end = i;
    if (out->end - out->first > g->cells)
        fill_ranges(s, g, out);
}

/* ---- the window ---- */

static int64_t clip(int64_t ns, int64_t low, int64_t high)
{
    return PFC_MIN(PFC_MAX(ns, low), high);
}

void pfc_trace_view_window_of(const pfc_trace_view *view, int64_t from_ns, int64_t to_ns,
                              size_t cells, pfc_trace_view_window *out)
{
    const size_t rows = view->lines_len + view->series_len;
    grid g;

    out->from_ns = clip(from_ns, 0, PFC_MAX(view->span_ns - 1, 0));
    out->to_ns = clip(to_ns, PFC_MIN(out->from_ns + 1, view->span_ns), view->span_ns);
    out->cells = rows > 0 ? PFC_MIN(cells, PFC_MAX(PFC_TRACE_VIEW_ITEMS / rows, 1u)) : cells;
    out->cells = PFC_MAX(out->cells, 1u);
    g = (grid){ .from_ns = out->from_ns, .to_ns = out->to_ns, .cells = out->cells };
    g.cell_ns = PFC_MAX((double)(out->to_ns - out->from_ns), 1) / (double)g.cells;
    out->parts = pfc_calloc(view->lines_len, sizeof(*out->parts));
    out->levels = pfc_calloc(view->series_len, sizeof(*out->levels));
    for (size_t i = 0; i < view->lines_len; i++)
        fill_part(&view->lines[i], out, &g, &out->parts[i]);
    for (size_t i = 0; i < view->series_len; i++)
        fill_levels(&view->series[i], out, &g, &out->levels[i]);
}

void pfc_trace_view_window_clear(const pfc_trace_view *view, pfc_trace_view_window *w)
{
    for (size_t i = 0; w->parts && i < view->lines_len; i++)
        free(w->parts[i].cells);
    for (size_t i = 0; w->levels && i < view->series_len; i++)
        free(w->levels[i].ranges);
    free(w->parts);
    free(w->levels);
    w->parts = NULL;
    w->levels = NULL;
}
