/*
 * The roofline, drawn: attainable operations a second over operations a byte, both logarithmic.
 * Sloped lines are bandwidths, flat ones arithmetic; a benchmark is a point below them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/program.h"
#include "core/base/fs.h"

#define X_MIN   0.0625 /* operations a byte */
#define X_MAX   1024.0
#define DECADES 4.0 /* of the y axis below the highest ceiling */
#define COLUMNS 72
#define ROWS    18
#define MAX_SVG (4u << 20)

static const char *const colours[PFC_LEVELS] = { "#1b6ca8", "#2a9d5c", "#b7791f", "#b83232" };

static double roof(const pfc_rates *r, int level, double x)
{
    const double slope = r->read_gbps[level] * x;
    const double flat = r->gops[PFC_COMPUTE_F32];

    return fmin(slope, flat);
}

static double highest(const pfc_ceilings *c)
{
    double top = 1.0;

    for (int i = 0; i < PFC_COMPUTES; i++)
        top = fmax(top, fmax(c->one.gops[i], c->all.gops[i]));
    return 1.2 * top;
}

/* ---- text ---- */

static int row_of(double y, double top)
{
    const double from_top = log10(top / y) / DECADES;

    return from_top < 0.0 || from_top >= 1.0 ? -1 : (int)(from_top * ROWS);
}

void pfc_bench_roofline_text(FILE *out, const pfc_ceilings *c)
{
    const double top = highest(c);
    char grid[ROWS][COLUMNS + 1];

    for (int r = 0; r < ROWS; r++) {
        memset(grid[r], ' ', COLUMNS);
        grid[r][COLUMNS] = '\0';
    }
    for (int col = 0; col < COLUMNS; col++) {
        const double x = X_MIN * pow(X_MAX / X_MIN, (double)col / (COLUMNS - 1));
        for (int level = PFC_LEVELS - 1; level >= 0; level--) {
            const double y = roof(&c->one, level, x);
            const int row = y > 0.0 ? row_of(y, top) : -1;
            if (row >= 0)
                grid[row][col] = y >= c->one.gops[PFC_COMPUTE_F32] ? '=' : "123D"[level];
        }
    }
    fprintf(out, "Roofline of one core, f32. 1, 2, 3, D: bound by reading L1, L2, L3, DRAM; =: by "
                 "arithmetic.\nGFLOP/s\n");
    for (int r = 0; r < ROWS; r++)
        fprintf(out, "%9.3g |%s\n", top / pow(10.0, DECADES * (r + 0.5) / ROWS), grid[r]);
    fprintf(out, "          +");
    for (int col = 0; col < COLUMNS; col++)
        fputc('-', out);
    fprintf(out, "\n           %-*g%*g\n           operations a byte\n", COLUMNS / 2, X_MIN,
            COLUMNS - COLUMNS / 2, X_MAX);
}

/* ---- SVG ---- */

enum { WIDTH = 900, HEIGHT = 560, LEFT = 70, RIGHT = 170, TOP = 30, BOTTOM = 50 };

typedef struct plot {
    pfc_buf *out;
    double top; /* of the y axis */
} plot;

static double px(double x)
{
    return LEFT + (WIDTH - LEFT - RIGHT) * log(x / X_MIN) / log(X_MAX / X_MIN);
}

static double py(const plot *p, double y)
{
    const double share = fmin(fmax(log10(p->top / y) / DECADES, 0.0), 1.0);

    return TOP + (HEIGHT - TOP - BOTTOM) * share;
}

static void text(const plot *p, double x, double y, const char *anchor, const char *words)
{
    pfc_buf_printf(p->out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y,
                   anchor, words);
}

static void axes(const plot *p)
{
    char label[32];

    pfc_buf_printf(p->out,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
                   "font-family=\"sans-serif\" font-size=\"12\" role=\"img\">\n"
                   "<title>Roofline</title>\n"
                   "<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n",
                   WIDTH, HEIGHT, WIDTH, HEIGHT);
    for (double x = X_MIN; x <= X_MAX * 1.001; x *= 4.0) {
        pfc_buf_printf(p->out, "<path d=\"M%.1f %dV%d\" stroke=\"#ddd\"/>\n", px(x), TOP,
                       HEIGHT - BOTTOM);
        snprintf(label, sizeof(label), "%g", x);
        text(p, px(x), HEIGHT - BOTTOM + 18, "middle", label);
    }
    for (int i = 0; i <= (int)DECADES; i++) {
        const double y = p->top / pow(10.0, i);
        pfc_buf_printf(p->out, "<path d=\"M%d %.1fH%d\" stroke=\"#ddd\"/>\n", LEFT, py(p, y),
                       WIDTH - RIGHT);
        snprintf(label, sizeof(label), "%.3g", y);
        text(p, LEFT - 8, py(p, y) + 4, "end", label);
    }
    text(p, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 12, "middle", "operations a byte");
    text(p, LEFT - 8, TOP - 12, "end", "GFLOP/s");
}

/* One bandwidth up to the arithmetic of `kind`; dashed for all cores. */
static void slope(const plot *p, const pfc_rates *r, int level, bool dashed)
{
    const double flat = r->gops[PFC_COMPUTE_F32];
    const double gbps = r->read_gbps[level];
    double from = X_MIN;
    double to;

    if (gbps <= 0.0 || flat <= 0.0)
        return;
    to = fmin(flat / gbps, X_MAX);
    from = fmax(from, p->top / pow(10.0, DECADES) / gbps);
    if (to <= from)
        return;
    pfc_buf_printf(
        p->out,
        "<path d=\"M%.1f %.1fL%.1f %.1f\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\"%s>"
        "<title>%s read, %.1f GB/s, %s</title></path>\n",
        px(from), py(p, gbps * from), px(to), py(p, gbps * to), colours[level],
        dashed ? " stroke-dasharray=\"6 4\"" : "", pfc_level_name(level), gbps,
        dashed ? "all cores" : "one core");
}

static void flat(const plot *p, const pfc_ceilings *c, const pfc_rates *r, int kind, bool dashed)
{
    char label[96];

    if (r->gops[kind] <= 0.0)
        return;
    pfc_buf_printf(p->out, "<path d=\"M%.1f %.1fH%d\" stroke=\"#333\"%s/>\n",
                   px(fmin(X_MAX, fmax(X_MIN, r->gops[kind] / r->read_gbps[PFC_LEVEL_L1]))),
                   py(p, r->gops[kind]), WIDTH - RIGHT, dashed ? " stroke-dasharray=\"6 4\"" : "");
    snprintf(label, sizeof(label), "%s %s, %s: %.0f", pfc_compute_name(kind),
             dashed ? "all" : "one", c->isa[kind], r->gops[kind]);
    pfc_buf_printf(p->out, "<text x=\"%d\" y=\"%.1f\" font-size=\"10\">%s</text>\n",
                   WIDTH - RIGHT + 6, py(p, r->gops[kind]) + 4, label);
}

/* A name is of our own making, and still none that could close the element is put in. */
static void put_escaped(pfc_buf *out, const char *name)
{
    for (; *name; name++) {
        if (strchr("<>&\"'", *name))
            pfc_buf_printf(out, "&#%d;", *name);
        else
            pfc_buf_putc(out, *name);
    }
}

static void points(const plot *p, const pfc_suite *suite, const pfc_run *run)
{
    for (size_t i = 0; i < run->measurements_len; i++) {
        const pfc_measurement *m = &run->measurements[i];
        const pfc_case *k = pfc_suite_find(suite, m->benchmark);
        double x;
        double y;

        if (!k || m->exact || m->status != PFC_STATUS_OK || strcmp(m->metric, "time_ns") != 0 ||
            pfc_case_gops(k) <= 0.0)
            continue;
        x = 1e9 * pfc_case_gops(k) / pfc_case_bytes(k);
        y = 1e9 * pfc_case_gops(k) / pfc_measurement_median(m);
        pfc_buf_printf(p->out,
                       "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"#6a4c93\" "
                       "fill-opacity=\"0.7\"><title>",
                       px(fmin(fmax(x, X_MIN), X_MAX)), py(p, y));
        put_escaped(p->out, m->benchmark);
        pfc_buf_puts(p->out, " on ");
        put_escaped(p->out, m->backend);
        pfc_buf_printf(p->out, ": %.1f GFLOP/s at %.2f operations a byte</title></circle>\n", y, x);
    }
}

pfc_code pfc_bench_roofline_svg(const char *path, const pfc_ceilings *c, const pfc_suite *suite,
                                const pfc_run *run, pfc_err *err)
{
    pfc_buf out;
    const plot p = { .out = &out, .top = highest(c) };
    pfc_code code;

    pfc_buf_init(&out, MAX_SVG);
    axes(&p);
    for (int level = 0; level < PFC_LEVELS; level++) {
        slope(&p, &c->one, level, false);
        slope(&p, &c->all, level, true);
    }
    for (int kind = 0; kind < PFC_COMPUTES; kind++) {
        flat(&p, c, &c->one, kind, false);
        if (c->threads > 1)
            flat(&p, c, &c->all, kind, true);
    }
    for (int level = 0; level < PFC_LEVELS; level++) {
        pfc_buf_printf(&out, "<text x=\"%d\" y=\"%d\" fill=\"%s\">%s %.0f GB/s</text>\n", LEFT + 12,
                       TOP + 16 + 16 * level, colours[level], pfc_level_name(level),
                       c->one.read_gbps[level]);
    }
    if (suite && run)
        points(&p, suite, run);
    pfc_buf_puts(&out, "</svg>\n");
    code = pfc_buf_check(&out, "roofline", err);
    if (!code)
        code = pfc_fs_write_atomic(path, pfc_buf_text(&out), out.len, 0644, err);
    pfc_buf_clear(&out);
    return code;
}
