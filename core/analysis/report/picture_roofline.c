/*
 * The roofline: attainable work over work per byte, both logarithmic, with the runs as points
 * (Williams, Waterman, Patterson: Roofline, CACM 2009). Work is multiply-adds a cycle on an
 * accelerator and floating-point operations a nanosecond on a CPU.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/analysis/report/blocks.h"
#include "core/base/base.h"

#define WIDTH  900.0
#define HEIGHT 300.0
#define LEFT   70.0
#define BOTTOM 40.0
#define TOP    16.0
#define RIGHT  20.0

/* A run in the picture: its point, and the two ceilings of its machine. */
typedef struct point {
    double intensity, work;       /* operations a byte, operations a tick */
    double peak_work, peak_bytes; /* a tick */
} point;

static bool accelerator_point(const pfc_profile *p, point *out)
{
    const double cycles = pfc_profile_or(p, "cycles", 0);
    const double bytes =
        pfc_profile_or(p, "hbm_read_bytes", 0) + pfc_profile_or(p, "hbm_write_bytes", 0);
    const double macs = pfc_profile_or(p, "macs_useful", 0) + pfc_profile_or(p, "vector_macs", 0);
    const double clock = pfc_profile_or(p, "chip_clock_mhz", 0);

    *out = (point){
        .intensity = bytes > 0 ? macs / bytes : 0,
        .work = cycles > 0 ? macs / cycles : 0,
        .peak_work =
            pfc_profile_or(p, "chip_array_rows", 0) * pfc_profile_or(p, "chip_array_cols", 0),
        .peak_bytes = clock > 0 ? pfc_profile_or(p, "chip_hbm_mbps", 0) / clock : 0,
    };
    return out->intensity > 0 && out->work > 0 && out->peak_work > 0 && out->peak_bytes > 0;
}

static bool cpu_point(const pfc_profile *p, point *out)
{
    const double intensity = pfc_profile_or(p, "ops_per_byte", 0);
    const double tflops = PFC_MAX(pfc_profile_or(p, "metric_gemm_tflops", 0),
                                  pfc_profile_or(p, "metric_attention_tflops", 0));

    *out = (point){
        .intensity = intensity,
        .work = tflops * 1000, /* operations a nanosecond */
        .peak_work = pfc_profile_or(p, "ceiling_fma_f32_gflops", 0),
        .peak_bytes = pfc_profile_or(p, "ceiling_dram_read_gbps", 0),
    };
    return intensity > 0 && tflops > 0 && out->peak_work > 0 && out->peak_bytes > 0;
}

static bool point_of(const pfc_profile *p, point *out)
{
    return accelerator_point(p, out) || cpu_point(p, out);
}

typedef struct axes {
    double x0, x1, y0, y1; /* logarithms of the ends */
} axes;

static double x_at(const axes *a, double intensity)
{
    return LEFT + (log10(intensity) - a->x0) / (a->x1 - a->x0) * (WIDTH - LEFT - RIGHT);
}

static double y_at(const axes *a, double work)
{
    return HEIGHT - BOTTOM - (log10(work) - a->y0) / (a->y1 - a->y0) * (HEIGHT - BOTTOM - TOP);
}

static axes axes_of(const point *p, const point *q)
{
    const double ridge = p->peak_work / p->peak_bytes;
    const double low_x = PFC_MIN(PFC_MIN(p->intensity, q->intensity), ridge / 10);
    const double high_x = PFC_MAX(PFC_MAX(p->intensity, q->intensity), ridge * 10);
    const double low_y = PFC_MIN(PFC_MIN(p->work, q->work), low_x * p->peak_bytes);

    return (axes){ floor(log10(low_x)), ceil(log10(high_x)), floor(log10(low_y)),
                   log10(PFC_MAX(p->peak_work, q->peak_work)) + 0.15 };
}

static void decades(const axes *a, pfc_buf *out)
{
    for (double x = a->x0; x <= a->x1 + 1e-9; x += 1)
        pfc_buf_printf(
            out,
            "<line class=\"line\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>"
            "<text class=\"soft\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%g</text>",
            x_at(a, pow(10, x)), x_at(a, pow(10, x)), TOP, HEIGHT - BOTTOM, x_at(a, pow(10, x)),
            HEIGHT - BOTTOM + 16, pow(10, x));
    for (double y = a->y0; y <= a->y1 + 1e-9; y += 1)
        pfc_buf_printf(out,
                       "<line class=\"line\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>"
                       "<text class=\"soft\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%g</text>",
                       LEFT, WIDTH - RIGHT, y_at(a, pow(10, y)), y_at(a, pow(10, y)), LEFT - 6,
                       y_at(a, pow(10, y)) + 4, pow(10, y));
}

static void dot(const axes *a, const point *p, const char *color, const char *name, pfc_buf *out)
{
    pfc_buf_printf(out,
                   "<circle class=\"dot\" cx=\"%.1f\" cy=\"%.1f\" r=\"6\" fill=\"var(--%s)\"/>"
                   "<text x=\"%.1f\" y=\"%.1f\">%s</text>",
                   x_at(a, p->intensity), y_at(a, p->work), color, x_at(a, p->intensity) + 9,
                   y_at(a, p->work) + (strcmp(name, "before") == 0 ? -6 : 14), name);
}

void pfc_picture_roofline(const pfc_explanation *e, pfc_buf *out)
{
    point before;
    point after;
    axes a;
    double ridge;
    const bool pair = e->pair && point_of(&e->before.profile, &before);

    if (!point_of(&e->after.profile, &after))
        return;
    a = axes_of(&after, pair ? &before : &after);
    ridge = after.peak_work / after.peak_bytes;
    pfc_buf_printf(out,
                   "<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"Roofline\">"
                   "<title>Roofline: operations a tick over operations a byte</title>",
                   WIDTH, HEIGHT);
    decades(&a, out);
    pfc_buf_printf(out,
                   "<polyline points=\"%.1f,%.1f %.1f,%.1f %.1f,%.1f\" fill=\"none\" "
                   "stroke=\"var(--fg)\" stroke-width=\"2\"/>",
                   x_at(&a, pow(10, a.x0)), y_at(&a, pow(10, a.x0) * after.peak_bytes),
                   x_at(&a, ridge), y_at(&a, after.peak_work), WIDTH - RIGHT,
                   y_at(&a, after.peak_work));
    if (pair)
        dot(&a, &before, "latency", "before", out);
    dot(&a, &after, "memory", pair ? "after" : "this run", out);
    pfc_buf_printf(out,
                   "<text class=\"soft\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">operations a "
                   "byte of device memory</text></svg>",
                   WIDTH - RIGHT, HEIGHT - 6);
}
