/* A series as a picture: its medians by position, with the changes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/markup.h"
#include "core/base/parse.h"
#include "server/services/pictures/pictures.h"

enum { TOP = 26, BOTTOM = 20, LEFT = 8, RIGHT = 62, SPARK_PAD = 2, TITLE_CHARS = 7 };

/* Where the points are on the picture. */
typedef struct plane {
    double left, right, top, bottom; /* pixels */
    double first, last;              /* positions */
    double low, high;                /* values */
} plane;

static double x_of(const plane *p, double position)
{
    return p->last > p->first
               ? p->left + (position - p->first) / (p->last - p->first) * (p->right - p->left)
               : (p->left + p->right) / 2;
}

static double y_of(const plane *p, double value)
{
    return p->high > p->low
               ? p->bottom - (value - p->low) / (p->high - p->low) * (p->bottom - p->top)
               : (p->top + p->bottom) / 2;
}

static void widen(plane *p, double value)
{
    if (isfinite(value)) {
        p->low = fmin(p->low, value);
        p->high = fmax(p->high, value);
    }
}

/* False: there is no point to show. */
static bool scale(const pfc_window_points *points, const pfc_picture_opts *o, plane *p)
{
    const bool spark = o->spark;
    size_t shown = 0;

    *p = (plane){ .left = spark ? SPARK_PAD : LEFT,
                  .right = o->width - (spark ? SPARK_PAD : RIGHT),
                  .top = spark ? SPARK_PAD : TOP,
                  .bottom = o->height - (spark ? SPARK_PAD : BOTTOM),
                  .low = HUGE_VAL,
                  .high = -HUGE_VAL };
    for (size_t i = 0; i < points->len; i++) {
        const pfc_window_point *at = &points->items[i];

        if (!isfinite(at->median))
            continue;
        if (shown++ == 0)
            p->first = (double)at->position;
        p->last = (double)at->position;
        widen(p, at->median);
        if (!spark) {
            widen(p, at->low);
            widen(p, at->high);
        }
    }
    return shown > 0;
}

/* ---- the line ---- */

/* The usual distance of two points: a longer one is a gap. Buckets are as far apart as the longest
 * of them is. */
static double usual_step(const pfc_window_points *points)
{
    double least = HUGE_VAL;

    for (size_t i = 1; i < points->len; i++) {
        const double step = (double)(points->items[i].position - points->items[i - 1].position);

        if (step > 0)
            least = fmin(least, step);
    }
    return isfinite(least) ? least : 1;
}

static void put_band(pfc_buf *out, const plane *p, const pfc_window_points *points)
{
    for (size_t i = 0; i < points->len; i++) {
        const pfc_window_point *at = &points->items[i];

        if (isfinite(at->low) && isfinite(at->high) && at->low < at->high)
            pfc_buf_printf(out, "M%.1f %.1fV%.1f", x_of(p, (double)at->position), y_of(p, at->low),
                           y_of(p, at->high));
    }
}

/* Points without a neighbour would not be seen as a line: each begins with one of length 0. */
static void put_line(pfc_buf *out, const plane *p, const pfc_window *w)
{
    const double step = w->bucketed ? HUGE_VAL : usual_step(&w->points);
    double before = -HUGE_VAL;

    for (size_t i = 0; i < w->points.len; i++) {
        const pfc_window_point *at = &w->points.items[i];
        const double position = (double)at->position;

        if (!isfinite(at->median))
            continue;
        if (position - before > step || !isfinite(before))
            pfc_buf_printf(out, "M%.1f %.1fh0", x_of(p, position), y_of(p, at->median));
        pfc_buf_printf(out, "L%.1f %.1f", x_of(p, position), y_of(p, at->median));
        before = position;
    }
}

static void put_path(pfc_buf *out, const char *class_)
{
    pfc_buf_printf(out, "<path class=\"%s\" d=\"", class_);
}

static void put_changes(pfc_buf *out, const plane *p, const pfc_window_changes *changes)
{
    for (size_t i = 0; i < changes->len; i++) {
        const pfc_window_change *c = &changes->items[i];
        char percent[32];

        if ((double)c->position < p->first || (double)c->position > p->last)
            continue;
        pfc_show_percent(c->rel_change, percent);
        pfc_buf_printf(out,
                       "<path class=\"%s\" d=\"M%.1f %.1fV%.1f\"><title>%s at %.12s</title>"
                       "</path>",
                       c->regression ? "worse" : "better", x_of(p, (double)c->position), p->top,
                       p->bottom, percent, c->commit ? c->commit : "?");
    }
}

/* ---- the words ---- */

static void put_text(pfc_buf *out, double x, double y, const char *anchor, const char *text)
{
    pfc_buf_printf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    pfc_markup_text(out, text);
    pfc_buf_puts(out, "</text>");
}

static char *title_of(const pfc_series *s)
{
    return pfc_format("%s %s%s%s, %s, %s", s->benchmark, s->metric, s->backend[0] ? " on " : "",
                      s->backend, s->machine_class, s->branch);
}

/* Cut to the width, by an average width of a character. */
static void put_title(pfc_buf *out, const char *title, int width)
{
    const size_t room = (size_t)((width - 2 * LEFT) / TITLE_CHARS);
    char *shown = pfc_strndup(title, pfc_utf8_cut(title, room));

    put_text(out, LEFT, 16, "start", shown);
    free(shown);
}

static void put_date(pfc_buf *out, double x, double y, const char *anchor, double unix_s)
{
    char text[32];

    pfc_clock_rfc3339(unix_s, text);
    text[10] = '\0';
    put_text(out, x, y, anchor, text);
}

static void put_words(pfc_buf *out, const plane *p, const pfc_window *w, const pfc_picture_opts *o)
{
    const pfc_window_points *points = &w->points;
    char value[32];

    pfc_show_value(p->high, value);
    put_text(out, p->right + 4, p->top + 4, "start", value);
    if (p->high > p->low) {
        pfc_show_value(p->low, value);
        put_text(out, p->right + 4, p->bottom + 4, "start", value);
    }
    put_text(out, p->right + 4, (p->top + p->bottom) / 2 + 4, "start", w->series.items[0].unit);
    put_date(out, p->left, o->height - 6, "start", points->items[0].time);
    if (points->len > 1)
        put_date(out, p->right, o->height - 6, "end", points->items[points->len - 1].time);
}

static const char style[] =
    "<style>path{fill:none;stroke-linecap:round}.line{stroke:#1a56b0;stroke-width:1.5}"
    ".band{stroke:#1a56b0;stroke-opacity:.25}.worse{stroke:#b3261e}.better{stroke:#1e7a3c}"
    "text{font:11px Verdana,DejaVu Sans,sans-serif;fill:#3c4043;font-variant-ligatures:none}"
    "@media(prefers-color-scheme:dark){.line,.band{stroke:#8ab4f8}.worse{stroke:#f28b82}"
    ".better{stroke:#81c995}text{fill:#e8eaed}}</style>";

void pfc_series_svg(const pfc_window *w, const pfc_picture_opts *o, pfc_buf *out)
{
    char *title = title_of(w->series.items);
    plane p;

    pfc_buf_printf(out,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                   "viewBox=\"0 0 %d %d\" role=\"img\"><title>",
                   o->width, o->height, o->width, o->height);
    pfc_markup_text(out, title);
    pfc_buf_puts(out, "</title>");
    pfc_buf_puts(out, style);
    if (!scale(&w->points, o, &p)) {
        put_text(out, o->width / 2.0, o->height / 2.0 + 4, "middle", "no results");
    } else {
        if (!o->spark) {
            put_path(out, "band");
            put_band(out, &p, &w->points);
            pfc_buf_puts(out, "\"/>");
        }
        put_changes(out, &p, &w->changes);
        put_path(out, "line");
        put_line(out, &p, w);
        pfc_buf_puts(out, "\"/>");
        if (!o->spark)
            put_words(out, &p, w, o);
    }
    if (!o->spark)
        put_title(out, title, o->width);
    pfc_buf_puts(out, "</svg>\n");
    free(title);
}
