/*
 * The minimum detectable change of each benchmark on this machine: a table, and bars on a
 * logarithmic axis.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/pairs/pairs.h"
#include "bench/program.h"
#include "core/base/fs.h"

#define BAR_MIN   0.0005 /* relative change at the left end of the axis */
#define BAR_MAX   0.5
#define BAR_WIDTH 42
#define ROW_PX    18
#define LEFT_PX   330
#define WIDE_PX   420
#define MAX_SVG   (4u << 20)

static double extra(const pfc_measurement *m, const char *name)
{
    const char *text = pfc_labels_get(&m->extra, name);

    return text ? strtod(text, NULL) : (double)NAN;
}

/* One row a benchmark that was measured in turns: its time. */
static bool has_noise(const pfc_measurement *m)
{
    return m->status == PFC_STATUS_OK && strcmp(m->metric, "time_ns") == 0 &&
           pfc_labels_get(&m->extra, "pair_gates") != NULL;
}

/* True when the two builds were measured in turns, but with too few launches to know the noise. */
static bool lacks_noise(const pfc_measurement *m)
{
    return m->status == PFC_STATUS_OK && strcmp(m->metric, "time_ns") == 0 &&
           pfc_labels_get(&m->extra, "pair_launches") != NULL && !has_noise(m);
}

static bool gates(const pfc_measurement *m)
{
    return pfc_streq(pfc_labels_get(&m->extra, "pair_gates"), "true");
}

static bool alarmed(const pfc_measurement *m)
{
    return pfc_streq(pfc_labels_get(&m->extra, "pair_verdict"), "different");
}

/* 0..1 along the axis. */
static double place(double rel)
{
    const double at = log(rel / BAR_MIN) / log(BAR_MAX / BAR_MIN);

    return fmin(fmax(at, 0.0), 1.0);
}

static void print_json(FILE *out, const pfc_measurement *m)
{
    json_t *line = json_pack(
        "{s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:b, s:f, s:f, s:f, s:f, s:b}",
        "benchmark", m->benchmark, "backend", m->backend, "sample_noise_rel",
        extra(m, "pair_sample_noise_rel"), "autocorrelation", extra(m, "pair_autocorrelation"),
        "unpaired_noise_rel", extra(m, "pair_unpaired_noise_rel"), "noise_rel",
        extra(m, "pair_noise_rel"), "ratio_autocorrelation", extra(m, "pair_ratio_autocorrelation"),
        "aa_rel", extra(m, "pair_rel_change"), "aa_low", extra(m, "pair_rel_low"), "aa_high",
        extra(m, "pair_rel_high"), "aa_different", (int)alarmed(m), "detectable_rel",
        extra(m, "pair_detectable_rel"), "pairs_1pct", extra(m, "pairs_1pct"), "pairs_half_pct",
        extra(m, "pairs_half_pct"), "pairs", extra(m, "pairs"), "gates", (int)gates(m));
    char *text = json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(9));

    fprintf(out, "%s\n", text ? text : "{}");
    free(text);
    json_decref(line);
}

static void say_unknown(FILE *out, const pfc_measurement *m, bool json)
{
    char reason[100];

    (void)snprintf(reason, sizeof(reason), "%.0f launches ended in time, expected at least %d",
                   extra(m, "pair_launches"), PFC_NOISE_LAUNCHES);
    fprintf(stderr, "perfci-bench: the noise of %s on %s is not known: %s\n", m->benchmark,
            m->backend, reason);
    if (json) {
        json_t *line = json_pack("{s:s, s:s, s:s}", "benchmark", m->benchmark, "backend",
                                 m->backend, "not_known", reason);
        char *text = json_dumps(line, JSON_COMPACT);

        fprintf(out, "%s\n", text ? text : "{}");
        free(text);
        json_decref(line);
    }
}

static void print_row(FILE *out, int width, const pfc_measurement *m)
{
    fprintf(out, "%-*s %-12s %8.2f %8.2f %10.2f %8.2f %8.2f  %+6.2f%s %7.2f %7.0f %7.0f  %s\n",
            width, m->benchmark, m->backend, 100.0 * extra(m, "pair_sample_noise_rel"),
            extra(m, "pair_autocorrelation"), 100.0 * extra(m, "pair_unpaired_noise_rel"),
            100.0 * extra(m, "pair_noise_rel"), extra(m, "pair_ratio_autocorrelation"),
            100.0 * extra(m, "pair_rel_change"), alarmed(m) ? "!" : " ",
            100.0 * extra(m, "pair_detectable_rel"), extra(m, "pairs_1pct"),
            extra(m, "pairs_half_pct"), gates(m) ? "yes" : "report only");
}

static void print_bar(FILE *out, int width, const pfc_measurement *m)
{
    static const double marks[] = { 0.005, 0.01, PFC_NOISE_GATE_REL };
    const double rel = extra(m, "pair_detectable_rel");
    char bar[BAR_WIDTH + 1];

    memset(bar, ' ', BAR_WIDTH);
    bar[BAR_WIDTH] = '\0';
    for (size_t i = 0; i < PFC_ARRAY_LEN(marks); i++)
        bar[(int)(place(marks[i]) * (BAR_WIDTH - 1))] = '|';
    memset(bar, gates(m) ? '=' : '.', (size_t)(1 + place(rel) * (BAR_WIDTH - 1)));
    fprintf(out, "%-*s %-12s %s %.2f %%\n", width, m->benchmark, m->backend, bar, 100.0 * rel);
}

void pfc_bench_noise(FILE *out, const pfc_run *b, bool json)
{
    int width = 9;

    for (size_t i = 0; i < b->measurements_len; i++) {
        if (has_noise(&b->measurements[i]))
            width = PFC_MAX(width, (int)PFC_MIN(strlen(b->measurements[i].benchmark), (size_t)60));
    }
    if (!json)
        fprintf(out, "%-*s %-12s %8s %8s %10s %8s %8s  %6s  %7s %7s %7s  %s\n", width, "benchmark",
                "backend", "sample %", "autocorr", "unpaired %", "paired %", "autocorr", "A/A %",
                "shows %", "for 1 %", "for .5", "gates");
    for (size_t i = 0; i < b->measurements_len; i++) {
        const pfc_measurement *m = &b->measurements[i];

        if (m->status == PFC_STATUS_BROKEN)
            fprintf(stderr, "perfci-bench: %s on %s is broken: %s\n", m->benchmark, m->backend,
                    m->reason);
        if (lacks_noise(m))
            say_unknown(out, m, json);
        else if (has_noise(m) && json)
            print_json(out, m);
        else if (has_noise(m))
            print_row(out, width, m);
    }
    if (json)
        return;
    fprintf(out,
            "\nsample, autocorr: samples around their launch's median, neighbours' correlation; "
            "unpaired: launches of one side; paired: their ratios,\nneighbours' correlation; "
            "shows: smallest change that %d pairs confirm with power 0.9; for: pairs to confirm "
            "1 %% and 0.5 %%.\n\n%-*s %-12s smallest change; | marks 0.5, 1 and 5 %%\n",
            PFC_PAIRS_DEFAULT, width, "", "");
    for (size_t i = 0; i < b->measurements_len; i++) {
        if (has_noise(&b->measurements[i]))
            print_bar(out, width, &b->measurements[i]);
    }
}

/* ---- the same as an image ---- */

/* Names come from suites: letters, digits and a few signs; anything else could end the attribute.
 */
static void put_name(pfc_buf *out, const char *name)
{
    for (; *name; name++) {
        if (strchr("<>&\"'", *name))
            pfc_buf_printf(out, "&#%d;", (unsigned char)*name);
        else
            pfc_buf_append(out, name, 1);
    }
}

static void svg_row(pfc_buf *out, const pfc_measurement *m, int y)
{
    const double rel = extra(m, "pair_detectable_rel");

    pfc_buf_printf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">", LEFT_PX - 6, y + 12);
    put_name(out, m->benchmark);
    pfc_buf_puts(out, " ");
    put_name(out, m->backend);
    pfc_buf_printf(out,
                   "</text>\n<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n"
                   "<text x=\"%.1f\" y=\"%d\">%.2f %%%s</text>\n",
                   LEFT_PX, y + 2, fmax(place(rel) * WIDE_PX, 1.0), ROW_PX - 5,
                   gates(m) ? "#1b6ca8" : "#b7b7b7", LEFT_PX + place(rel) * WIDE_PX + 4.0, y + 12,
                   100.0 * rel, gates(m) ? "" : ", report only");
}

pfc_code pfc_bench_noise_svg(const char *path, const pfc_run *b, pfc_err *err)
{
    static const double marks[] = { 0.001, 0.005, 0.01, 0.05, 0.1 };
    pfc_buf out;
    int rows = 0;
    int y = 30;
    pfc_code code;

    for (size_t i = 0; i < b->measurements_len; i++)
        rows += has_noise(&b->measurements[i]);
    pfc_buf_init(&out, MAX_SVG);
    pfc_buf_printf(&out,
                   "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
                   "font-family=\"sans-serif\" font-size=\"11\">\n"
                   "<title>Smallest change that %d pairs confirm</title>\n",
                   LEFT_PX + WIDE_PX + 120, 40 + rows * ROW_PX, PFC_PAIRS_DEFAULT);
    for (size_t i = 0; i < PFC_ARRAY_LEN(marks); i++) {
        const double x = LEFT_PX + place(marks[i]) * WIDE_PX;
        pfc_buf_printf(&out,
                       "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"20\" y2=\"%d\" stroke=\"#ccc\"/>\n"
                       "<text x=\"%.1f\" y=\"14\" text-anchor=\"middle\">%g %%</text>\n",
                       x, x, 30 + rows * ROW_PX, x, 100.0 * marks[i]);
    }
    for (size_t i = 0; i < b->measurements_len; i++) {
        if (!has_noise(&b->measurements[i]))
            continue;
        svg_row(&out, &b->measurements[i], y);
        y += ROW_PX;
    }
    pfc_buf_puts(&out, "</svg>\n");
    code = out.overflow ? pfc_err_set(err, PFC_ETOOBIG, "the plot of %d rows is too large", rows)
                        : pfc_fs_write_atomic(path, pfc_buf_text(&out), out.len, 0644, err);
    pfc_buf_clear(&out);
    return code;
}
