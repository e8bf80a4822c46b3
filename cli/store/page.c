/*
 * The page of a store: one chart a series, as SVG, with its change points, and a table of its
 * values. No script and no request; the same history gives the same bytes.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/store/history.h"
#include "core/base/markup.h"

enum { CHART_POINTS = 500, TABLE_ROWS = 100, CHANGES_LISTED = 100, FAULTS_LISTED = 20 };

/* A chart is as wide as a phone's page, and a wide page has several beside each other: so its text
 * has the same size everywhere. */
#define WIDTH  360.0
#define HEIGHT 150.0
#define LEFT   8.0
#define RIGHT  8.0
#define TOP    26.0
#define BOTTOM 20.0

static const char style[] =
    ".charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,21rem),1fr));"
    "gap:1.2rem}article{min-width:0}article h3{font-size:.95rem;margin:0}"
    "article p{margin:.1rem 0;font-size:.85rem}\n"
    "svg{display:block;width:100%;height:auto;background:var(--bar);border-radius:4px;"
    "margin:.3rem 0}svg text{font-size:11px;fill:var(--soft)}"
    "polyline{fill:none;stroke:var(--mark);stroke-width:1.5}circle{fill:var(--mark)}"
    ".change{stroke-dasharray:3 3;stroke-width:1}.change.worse{stroke:var(--worse)}"
    ".change.better{stroke:var(--better)}svg text.worse{fill:var(--worse)}"
    "svg text.better{fill:var(--better)}\n"
    "details{font-size:.85rem}summary{cursor:pointer;color:var(--soft)}";

/* ---- a series ---- */

/* The newest points of a series, and their place in the chart. */
typedef struct chart {
    const pfc_store_history *h;
    const pfc_store_series *s;
    size_t first, len; /* of s->points */
    double low, high;  /* values at the ends of the scale */
} chart;

static const char *commit_of(const chart *c, size_t at)
{
    return c->h->line[c->s->points[at].position].hex;
}

static double x_of(const chart *c, size_t at)
{
    const double width = WIDTH - LEFT - RIGHT;

    return c->len < 2 ? LEFT + width / 2
                      : LEFT + width * (double)(at - c->first) / (double)(c->len - 1);
}

static double y_of(const chart *c, double value)
{
    return TOP + (HEIGHT - TOP - BOTTOM) * (c->high - value) / (c->high - c->low);
}

static void scale(chart *c)
{
    c->low = INFINITY;
    c->high = -INFINITY;
    for (size_t i = c->first; i < c->first + c->len; i++) {
        c->low = fmin(c->low, c->s->points[i].value);
        c->high = fmax(c->high, c->s->points[i].value);
    }
    /* A range of at least 2 %, so that a change of 0.1 % does not look large. */
    if (c->high - c->low < 0.02 * fabs(c->high)) {
        const double middle = (c->high + c->low) / 2;

        c->low = middle - 0.01 * fabs(middle);
        c->high = middle + 0.01 * fabs(middle);
    }
    if (!(c->high > c->low)) {
        c->low -= 1;
        c->high += 1;
    }
}

static void put_lines(const chart *c, pfc_buf *out)
{
    pfc_buf_puts(out, "<polyline points=\"");
    for (size_t i = c->first; i < c->first + c->len; i++)
        pfc_buf_printf(out, "%.1f,%.1f ", x_of(c, i), y_of(c, c->s->points[i].value));
    pfc_buf_puts(out, "\"/>");
    for (size_t i = c->first; i < c->first + c->len && c->len <= 100; i++)
        pfc_buf_printf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2\"/>", x_of(c, i),
                       y_of(c, c->s->points[i].value));
}

/* The sign says what the colour says: a triangle up is worse, whatever the direction of the metric.
 */
static void put_change(const chart *c, const pfc_change *change, pfc_buf *out)
{
    const char *class_ = change->regression ? "worse" : "better";
    const double x = x_of(c, change->index);
    const char *anchor = x > WIDTH * 0.8 ? "end" : x < WIDTH * 0.2 ? "start" : "middle";
    char percent[32];

    pfc_show_percent(change->rel_change, percent);
    pfc_buf_printf(out,
                   "<line class=\"change %s\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.0f\" y2=\"%.0f\"/>"
                   "<text class=\"%s\" x=\"%.1f\" y=\"12\" text-anchor=\"%s\">%s %s%s</text>",
                   class_, x, x, TOP - 8, HEIGHT - BOTTOM, class_, x, anchor,
                   change->regression ? "\xe2\x96\xb2" : "\xe2\x96\xbc", percent,
                   change->confirmed ? "" : "?");
}

static void put_svg(const chart *c, pfc_buf *out)
{
    char low[32], high[32];

    pfc_show_value(c->low, low);
    pfc_show_value(c->high, high);
    pfc_buf_printf(out, "<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"", WIDTH, HEIGHT);
    pfc_markup_text(out, c->s->benchmark);
    pfc_buf_printf(out, ": %zu values, %s to %s ", c->len, low, high);
    pfc_markup_text(out, c->s->unit);
    pfc_buf_puts(out, "\">");
    put_lines(c, out);
    for (size_t i = 0; i < c->s->found.changes_len; i++)
        if (c->s->found.changes[i].index >= c->first)
            put_change(c, &c->s->found.changes[i], out);
    pfc_buf_printf(out,
                   "<text x=\"%.0f\" y=\"%.0f\">%.8s</text>"
                   "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"middle\">%s to %s</text>"
                   "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">%.8s</text></svg>\n",
                   LEFT, HEIGHT - 6, commit_of(c, c->first), WIDTH / 2, HEIGHT - 6, low, high,
                   WIDTH - RIGHT, HEIGHT - 6, commit_of(c, c->first + c->len - 1));
}

static const pfc_change *change_at(const pfc_store_series *s, size_t at)
{
    for (size_t i = 0; i < s->found.changes_len; i++)
        if (s->found.changes[i].index == at)
            return &s->found.changes[i];
    return NULL;
}

/* "▲ worse +8.1 %" */
static void put_change_cell(const pfc_change *change, pfc_buf *out)
{
    char percent[32];
    char *text;

    pfc_show_percent(change->rel_change, percent);
    text = pfc_format("%s %s%s", change->regression ? "worse" : "better", percent,
                      change->confirmed ? "" : " (provisional)");
    pfc_markup_cell(out, change->regression ? "k worse" : "k better", text);
    free(text);
}

static void put_table(const chart *c, pfc_buf *out)
{
    const size_t end = c->s->len;
    const size_t from = end > TABLE_ROWS ? end - TABLE_ROWS : 0;

    pfc_buf_printf(out,
                   "<details><summary>%s%zu values</summary><table><thead><tr>"
                   "<th scope=\"col\">Commit</th><th scope=\"col\" class=\"n\">",
                   from ? "The newest " : "", end - from);
    pfc_markup_text(out, *c->s->unit ? c->s->unit : "Value");
    pfc_buf_puts(out, "</th><th scope=\"col\" class=\"n\">Runs</th><th scope=\"col\">Change</th>"
                      "</tr></thead><tbody>\n");
    for (size_t i = end; i-- > from;) {
        const pfc_change *change = change_at(c->s, i);
        char value[32];

        pfc_show_value(c->s->points[i].value, value);
        pfc_buf_printf(
            out, "<tr><td class=\"k\">%.12s</td><td class=\"n\">%s</td><td class=\"n\">%zu</td>",
            commit_of(c, i), value, c->s->points[i].runs);
        if (change)
            put_change_cell(change, out);
        else
            pfc_buf_puts(out, "<td></td>");
        pfc_buf_puts(out, "</tr>\n");
    }
    pfc_buf_puts(out, "</tbody></table></details>\n");
}

static void put_name(const pfc_store_series *s, pfc_buf *out)
{
    pfc_markup_text(out, s->metric);
    if (*s->backend) {
        pfc_buf_puts(out, " \xc2\xb7 ");
        pfc_markup_text(out, s->backend);
    }
    pfc_buf_puts(out, " \xc2\xb7 ");
    pfc_markup_text(out, s->machine_class);
}

static void put_series(const pfc_store_history *h, size_t at, pfc_buf *out)
{
    const pfc_store_series *s = &h->series[at];
    chart c = { .h = h, .s = s, .len = PFC_MIN(s->len, (size_t)CHART_POINTS) };
    char value[32];

    c.first = s->len - c.len;
    scale(&c);
    pfc_show_value(s->points[s->len - 1].value, value);
    pfc_buf_printf(out, "<article id=\"s%zu\"><h3>", at);
    pfc_markup_text(out, s->benchmark);
    pfc_buf_puts(out, "</h3><p class=\"soft\">");
    put_name(s, out);
    pfc_buf_printf(out, "</p><p>%s ", value);
    pfc_markup_text(out, s->unit);
    pfc_buf_printf(out, " <span class=\"soft\">(%s is better)</span></p>\n",
                   s->higher_is_better ? "higher" : "lower");
    put_svg(&c, out);
    put_table(&c, out);
    pfc_buf_puts(out, "</article>\n");
}

/* ---- the page ---- */

static bool has_article(const pfc_store_history *h, size_t at)
{
    return at < PFC_STORE_PAGE_SERIES && h->series[at].len > 0;
}

static size_t changes_of(const pfc_store_history *h)
{
    size_t n = 0;

    for (size_t i = 0; i < h->series_len; i++)
        n += h->series[i].found.changes_len;
    return n;
}

/* One row a change, the newest series' first. */
static void put_changes(const pfc_store_history *h, pfc_buf *out)
{
    size_t rows = 0;

    if (!changes_of(h))
        return;
    pfc_buf_puts(
        out, "<h2>Changes</h2><p class=\"soft\">A regression of a series with noise goes on "
             "record when a night measures it in blocks.</p><div class=\"wide\"><table><thead><tr>"
             "<th scope=\"col\">Benchmark</th><th scope=\"col\">Series</th>"
             "<th scope=\"col\">Commit</th><th scope=\"col\">Change</th></tr></thead>"
             "<tbody>\n");
    for (size_t i = 0; i < h->series_len; i++) {
        const pfc_store_series *s = &h->series[i];

        for (size_t k = s->found.changes_len; k-- > 0 && rows < CHANGES_LISTED; rows++) {
            const pfc_change *change = &s->found.changes[k];

            pfc_buf_puts(out, "<tr><td>");
            if (has_article(h, i))
                pfc_buf_printf(out, "<a href=\"#s%zu\">", i);
            pfc_markup_text(out, s->benchmark);
            pfc_buf_printf(out, "%s</td><td>", has_article(h, i) ? "</a>" : "");
            put_name(s, out);
            pfc_buf_printf(out, "</td><td class=\"k\">%.12s</td>",
                           h->line[s->points[change->index].position].hex);
            put_change_cell(change, out);
            pfc_buf_puts(out, "</tr>\n");
        }
    }
    pfc_buf_puts(out, "</tbody></table></div>\n");
    if (changes_of(h) > CHANGES_LISTED)
        pfc_buf_printf(out, "<p class=\"soft\">%zu further changes are in the charts.</p>\n",
                       changes_of(h) - CHANGES_LISTED);
}

/* "noise: REASON (BY, TIME)"; "open" without a decision. */
static void put_decision(const json_t *alert, pfc_buf *out)
{
    const json_t *t = json_object_get(alert, "triage");
    const char *by = json_string_value(json_object_get(t, "by"));
    const char *at = json_string_value(json_object_get(t, "at"));

    if (!t) {
        pfc_buf_puts(out, "<td class=\"k worse\">open</td>");
        return;
    }
    pfc_buf_printf(out, "<td>%s: ", json_string_value(json_object_get(t, "state")));
    pfc_markup_text(out, json_string_value(json_object_get(t, "reason")));
    pfc_buf_puts(out, " <span class=\"soft\">(");
    pfc_markup_text(out, by ? by : "");
    pfc_buf_puts(out, by && *by ? ", " : "");
    pfc_markup_text(out, at ? at : "");
    pfc_buf_puts(out, ")</span></td>");
}

/* The newest first, with the numbers that perfci triage takes. */
static void put_record(const pfc_store_history *h, pfc_buf *out)
{
    const size_t n = json_array_size(h->alerts);

    if (!n)
        return;
    pfc_buf_puts(out, "<h2>Regressions on record</h2><div class=\"wide\"><table><thead><tr>"
                      "<th scope=\"col\" class=\"n\">Number</th><th scope=\"col\">Benchmark</th>"
                      "<th scope=\"col\">Metric</th><th scope=\"col\">Commit</th>"
                      "<th scope=\"col\" class=\"n\">Change</th><th scope=\"col\">State</th></tr>"
                      "</thead><tbody>\n");
    for (size_t i = n; i-- > 0 && n - i <= CHANGES_LISTED;) {
        const json_t *a = json_array_get(h->alerts, i);
        const json_t *rel = json_object_get(a, "rel_change");
        char percent[32] = "";

        if (json_is_number(rel))
            pfc_show_percent(json_number_value(rel), percent);
        pfc_buf_printf(out, "<tr><td class=\"n\">%lld</td>",
                       (long long)json_integer_value(json_object_get(a, "id")));
        pfc_markup_cell(out, "", json_string_value(json_object_get(a, "benchmark")));
        pfc_markup_cell(out, "", json_string_value(json_object_get(a, "metric")));
        pfc_buf_printf(out, "<td class=\"k\">%.12s</td><td class=\"n\">%s</td>",
                       json_string_value(json_object_get(a, "commit")), percent);
        put_decision(a, out);
        pfc_buf_puts(out, "</tr>\n");
    }
    pfc_buf_puts(out, "</tbody></table></div>\n");
    if (n > CHANGES_LISTED)
        pfc_buf_printf(out, "<p class=\"soft\">%zu older ones are not listed.</p>\n",
                       n - CHANGES_LISTED);
}

static void put_faults(const pfc_store_history *h, pfc_buf *out)
{
    const size_t n = json_array_size(h->faults);

    if (!n)
        return;
    pfc_buf_printf(out,
                   "<h2>Files that cannot be read</h2><p>%zu of the store, which count for "
                   "nothing here:</p><ul>\n",
                   n);
    for (size_t i = 0; i < n && i < FAULTS_LISTED; i++) {
        const json_t *one = json_array_get(h->faults, i);

        pfc_buf_puts(out, "<li>");
        pfc_markup_text(out, json_string_value(json_object_get(one, "path")));
        pfc_buf_puts(out, ": ");
        pfc_markup_text(out, json_string_value(json_object_get(one, "reason")));
        pfc_buf_puts(out, "</li>\n");
    }
    pfc_buf_puts(out, "</ul>\n");
}

static void put_summary(const pfc_store_history *h, pfc_buf *out)
{
    json_t *standing = pfc_store_standing(h);

    pfc_buf_puts(out, "<p>");
    pfc_markup_text(out, json_string_value(json_object_get(standing, "sentence")));
    pfc_buf_printf(out, " %zu run%s, %zu series.", h->runs_len, h->runs_len == 1 ? "" : "s",
                   h->series_len);
    if (h->elsewhere)
        pfc_buf_printf(out, " %zu run%s of commits that are not on the branch %s no part in it.",
                       h->elsewhere, h->elsewhere == 1 ? "" : "s",
                       h->elsewhere == 1 ? "has" : "have");
    pfc_buf_puts(out, "</p>\n");
    json_decref(standing);
}

pfc_code pfc_store_page(const pfc_store_history *h, const char *project, pfc_buf *out, pfc_err *err)
{
    char *title = pfc_format("%s: performance history", project);

    pfc_markup_page_begin(out, title, style);
    put_summary(h, out);
    put_record(h, out);
    put_changes(h, out);
    put_faults(h, out);
    pfc_buf_puts(out, "<h2>Charts</h2>\n<p class=\"soft\">A triangle marks a change: \xe2\x96\xb2 "
                      "worse, \xe2\x96\xbc better; a question mark is provisional. Below each "
                      "chart are the ends of its scale. Values of commits "
                      "that were measured in blocks are on one scale across nights.</p>\n"
                      "<div class=\"charts\">\n");
    for (size_t i = 0; i < h->series_len; i++)
        if (has_article(h, i))
            put_series(h, i, out);
    pfc_buf_puts(out, "</div>\n");
    if (h->series_len > PFC_STORE_PAGE_SERIES)
        pfc_buf_printf(out, "<p>%zu further series have no chart.</p>\n",
                       h->series_len - PFC_STORE_PAGE_SERIES);
    pfc_markup_page_end(out);
    free(title);
    return pfc_buf_check(out, "the page", err);
}
