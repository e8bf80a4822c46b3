/* A series drawn in characters: enough to see what the table is talking about. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/detect/show.h"
#include "cli/output/output.h"
#include "core/changepoint/changepoint.h"

#define ROWS    10
#define COLUMNS 72
#define MARGIN  10 /* of the values' labels */

typedef struct canvas {
    char cell[ROWS][COLUMNS + 1];
    char marks[COLUMNS + 1];
    double low, high;
    size_t columns, points;
} canvas;

static size_t column_of(const canvas *c, size_t point)
{
    return c->points <= c->columns ? point : point * c->columns / c->points;
}

static size_t row_of(const canvas *c, double v)
{
    const double share = c->high > c->low ? (v - c->low) / (c->high - c->low) : 0.5;

    return (size_t)lround((1 - fmin(1, fmax(0, share))) * (ROWS - 1));
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The middle 98 % and every level, so that one spike does not flatten the rest. */
static bool scale(canvas *c, const pfc_series_in *s, const pfc_detection *found)
{
    double *v = pfc_calloc(s->len, sizeof(*v));
    size_t n = 0;

    for (size_t i = 0; i < s->len; i++) {
        if (isfinite(s->points[i].v))
            v[n++] = s->points[i].v;
    }
    if (n) {
        qsort(v, n, sizeof(*v), by_value);
        c->low = v[n / 100];
        c->high = v[n - 1 - n / 100];
    }
    for (size_t k = 0; k < found->changes_len; k++) {
        c->low = fmin(c->low, fmin(found->changes[k].before, found->changes[k].after));
        c->high = fmax(c->high, fmax(found->changes[k].before, found->changes[k].after));
    }
    free(v);
    return n > 0;
}

static void draw_level(canvas *c, size_t from, size_t to, double level)
{
    const size_t row = row_of(c, level);

    for (size_t x = column_of(c, from); x < c->columns && x <= column_of(c, to - 1); x++)
        c->cell[row][x] = '-';
}

static void draw(canvas *c, const pfc_series_in *s, const pfc_detection *found)
{
    for (size_t k = 0; k < found->changes_len; k++) {
        const pfc_change *now = &found->changes[k];
        const size_t end = k + 1 < found->changes_len ? found->changes[k + 1].index : s->len;

        if (k == 0 && now->index > 0)
            draw_level(c, 0, now->index, now->before);
        draw_level(c, now->index, end, now->after);
        c->marks[column_of(c, now->index)] = now->confirmed ? '^' : '?';
    }
    for (size_t i = 0; i < s->len; i++) {
        if (isfinite(s->points[i].v))
            c->cell[row_of(c, s->points[i].v)][column_of(c, i)] = '*';
    }
}

void pfc_detect_plot(const pfc_cli *cli, const pfc_series_in *s, const pfc_detection *found)
{
    canvas c = { .points = s->len, .columns = PFC_MIN(s->len, (size_t)COLUMNS) };

    memset(c.cell, ' ', sizeof(c.cell));
    memset(c.marks, ' ', sizeof(c.marks));
    if (!scale(&c, s, found))
        return;
    draw(&c, s, found);
    for (size_t row = 0; row < ROWS; row++) {
        char label[32] = "";

        if (row == 0 || row == ROWS - 1)
            pfc_show_value(row ? c.low : c.high, label);
        printf("%*s |%.*s\n", MARGIN, label, (int)c.columns, c.cell[row]);
    }
    if (found->changes_len)
        printf("%*s  %s%.*s%s\n", MARGIN, "", cli->color ? "\033[1m" : "", (int)c.columns, c.marks,
               cli->color ? "\033[0m" : "");
    printf("%*s  0%*zu\n", MARGIN, "", (int)PFC_MAX(c.columns, (size_t)2) - 1, s->len - 1);
}
