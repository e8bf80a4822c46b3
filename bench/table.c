/* Results for people: the table, the list, the coverage, the progress line. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/program.h"
#include "core/base/parse.h"
#include "core/stats/stats.h"

#define BAR_WIDTH 24

static int widest(const pfc_run *run)
{
    size_t width = 9;

    for (size_t i = 0; i < run->measurements_len; i++)
        width = PFC_MAX(width, strlen(run->measurements[i].benchmark));
    return (int)PFC_MIN(width, (size_t)60);
}

/* 95 % interval and noise of one measurement. */
static void print_ok(FILE *out, const pfc_measurement *m)
{
    const pfc_interval iv = pfc_stats_block_interval(m->samples, m->blocks, m->blocks_len, 0.95, 1);
    const double noise = 100.0 * pfc_stats_mad(m->samples, m->samples_len) / fabs(iv.value);
    char interval[64];

    if (m->exact) {
        fprintf(out, "%12.6g %-8s %-23s %5zu %7s\n", iv.value, m->unit, "exact", m->samples_len,
                "0");
        return;
    }
    snprintf(interval, sizeof(interval), "[%.4g, %.4g]", iv.low, iv.high);
    fprintf(out, "%12.4g %-8s %-23s %5zu %7.2f", iv.value, m->unit, interval, m->samples_len,
            noise);
    if (pfc_labels_get(&m->extra, "bound"))
        fprintf(out, " %6s  %s", pfc_labels_get(&m->extra, "percent_of_peak"),
                pfc_labels_get(&m->extra, "bound"));
    fprintf(out, "%s\n", pfc_labels_get(&m->extra, "throttled") ? "  !" : "");
}

static double extra_number(const pfc_measurement *m, const char *name)
{
    const char *text = pfc_labels_get(&m->extra, name);
    double value = 0.0;

    return text && !pfc_parse_double(text, 0.0, 1e9, name, &value, NULL) ? value : 0.0;
}

/* Where the time went: what the harness adds to warm-up and samples, and what comes around them. */
static void print_costs(FILE *out, const pfc_run *run)
{
    const double whole = run->finished_at - run->started_at;
    double measured = 0.0;
    double harness = 0.0;
    double setup = 0.0;

    for (size_t i = 0; i < run->measurements_len; i++) {
        const pfc_measurement *m = &run->measurements[i];
        if (!pfc_labels_get(&m->extra, "harness_seconds"))
            continue;
        measured += extra_number(m, "measured_seconds");
        harness += extra_number(m, "harness_seconds");
        setup += extra_number(m, "setup_seconds");
    }
    if (measured <= 0.0)
        return;
    fprintf(out,
            "Time: %.2f s, of it %.2f s warm-up and samples, %.4f s harness between them (%.2f "
            "%%), %.2f s inputs and checks, %.2f s launches and exact backends.\n",
            whole, measured - harness, harness, 100.0 * harness / measured, setup,
            fmax(whole - measured - setup, 0.0));
}

void pfc_bench_table(FILE *out, const pfc_run *run)
{
    const int width = widest(run);
    size_t skipped = 0;

    fprintf(out, "%-*s %-12s %-16s %12s %-8s %-23s %5s %7s %6s  %s\n", width, "benchmark",
            "backend", "metric", "median", "unit", "95 % interval", "n", "noise %", "% peak",
            "bound");
    for (size_t i = 0; i < run->measurements_len; i++) {
        const pfc_measurement *m = &run->measurements[i];
        /* One row a benchmark: its throughput; time says the same. */
        if (m->status == PFC_STATUS_OK && strcmp(m->metric, "time_ns") == 0)
            continue;
        if (m->status == PFC_STATUS_SKIPPED) {
            skipped++;
            continue;
        }
        fprintf(out, "%-*s %-12s %-16s ", width, m->benchmark, m->backend, m->metric);
        if (m->status == PFC_STATUS_BROKEN)
            fprintf(out, "BROKEN: %s\n", m->reason);
        else
            print_ok(out, m);
    }
    for (size_t i = 0; skipped && i < run->measurements_len; i++) {
        const pfc_measurement *m = &run->measurements[i];
        if (m->status == PFC_STATUS_SKIPPED)
            fprintf(out, "%-*s %-12s skipped: %s\n", width, m->benchmark, m->backend, m->reason);
    }
    for (size_t i = 0; i < run->measurements_len; i++) {
        const char *why = pfc_labels_get(&run->measurements[i].extra, "throttled");
        if (why) {
            fprintf(out, "!: the machine was held back while this was measured (%s).\n", why);
            break;
        }
    }
    print_costs(out, run);
    if (run->infra)
        fprintf(out, "The canary moved: the machine changed speed during this run, so its values "
                     "are kept out of detection.\n");
}

/* The backends of a benchmark that are to be listed. */
static json_t *names_of(const pfc_case *c, const pfc_backends *backends,
                        const pfc_benchmark_matcher *wanted)
{
    json_t *names = json_array();

    for (size_t b = 0; b < backends->len; b++) {
        const char *name = backends->items[b].name;

        if (pfc_case_wants(c, name) && (!wanted || pfc_benchmark_matches(wanted, c->name, name)))
            json_array_append_new(names, json_string(name));
    }
    return names;
}

size_t pfc_bench_list(FILE *out, const pfc_suite *suite, const pfc_backends *backends,
                      const pfc_benchmark_matcher *wanted, bool json)
{
    size_t listed = 0;

    for (size_t i = 0; i < suite->cases_len; i++) {
        const pfc_case *c = &suite->cases[i];
        json_t *names = names_of(c, backends, wanted);

        if (wanted && json_array_size(names) == 0) {
            json_decref(names);
            continue;
        }
        listed++;
        if (json) {
            json_t *line = json_pack("{s:s, s:s, s:s, s:s, s:b, s:O}", "benchmark", c->name, "op",
                                     c->op->name, "dtype", c->dtype, "metric", c->op->metric,
                                     "headline", (int)c->headline, "backends", names);
            char *text = json_dumps(line, JSON_COMPACT);
            fprintf(out, "%s\n", text);
            free(text);
            json_decref(line);
        } else {
            fprintf(out, "%-40s %-18s", c->name, c->op->metric);
            for (size_t b = 0; b < json_array_size(names); b++) {
                const char *name = json_string_value(json_array_get(names, b));
                const pfc_backend *backend = pfc_backends_find(backends, name);
                fprintf(out, " %s%s", name, backend && backend->missing[0] ? " (not here)" : "");
            }
            fprintf(out, "\n");
        }
        json_decref(names);
    }
    return listed;
}

static size_t count_cases(const pfc_suite *suite, const pfc_op *op, const char *dtype,
                          const char *backend)
{
    size_t n = 0;

    for (size_t i = 0; i < suite->cases_len; i++) {
        const pfc_case *c = &suite->cases[i];
        n += c->op == op && strcmp(c->dtype, dtype) == 0 && pfc_case_wants(c, backend);
    }
    return n;
}

/* Is there a kernel at all, on whatever machine? Asked with a small shape. */
static bool has_kernel(const pfc_backend *backend, const pfc_op *op, const char *dtype)
{
    pfc_case c = { .op = op };

    if (!backend->ops->can)
        return true;
    snprintf(c.dtype, sizeof(c.dtype), "%s", dtype);
    for (size_t i = 0; i < op->params_len; i++) {
        const pfc_op_param *p = &op->params[i];
        c.params[i] =
            p->fallback >= 0 ? p->fallback : PFC_MIN(PFC_MAX((int64_t)16, p->min), p->max);
    }
    return backend->ops->can(backend, &c, NULL) == PFC_OK;
}

/* A count, a gap that the suite could fill, or the lack of a kernel, which it could not. */
static void coverage_cell(FILE *out, const pfc_op *op, const char *dtype,
                          const pfc_backend *backend, size_t n, bool json)
{
    const bool kernel = has_kernel(backend, op, dtype);

    if (json)
        fprintf(out,
                "{\"op\":\"%s\",\"dtype\":\"%s\",\"backend\":\"%s\",\"benchmarks\":%zu,"
                "\"kernel\":%s,\"gap\":%s}\n",
                op->name, dtype, backend->name, n, kernel ? "true" : "false", n ? "false" : "true");
    else if (n && kernel)
        fprintf(out, " %14zu", n);
    else
        fprintf(out, " %14s", kernel ? "gap" : "no kernel");
}

/* Shapes that a backend's kernel could be measured with, and the suite does not. */
static void coverage_shapes(FILE *out, const pfc_suite *suite, const pfc_backends *backends,
                            bool json)
{
    for (size_t i = 0; i < suite->cases_len; i++) {
        const pfc_case *c = &suite->cases[i];
        size_t gaps = 0;

        for (size_t b = 0; b < backends->len; b++) {
            const pfc_backend *backend = &backends->items[b];
            if (pfc_case_wants(c, backend->name) ||
                (backend->ops->can && backend->ops->can(backend, c, NULL)))
                continue;
            if (json)
                fprintf(out, "{\"benchmark\":\"%s\",\"backend\":\"%s\",\"gap\":true}\n", c->name,
                        backend->name);
            else
                fprintf(out, "%s%s %s", gaps ? "," : c->name, gaps ? "" : ": not on",
                        backend->name);
            gaps++;
        }
        if (gaps && !json)
            fprintf(out, "\n");
    }
}

void pfc_bench_coverage(FILE *out, const pfc_suite *suite, const pfc_backends *backends, bool json)
{
    static const char *const dtypes[] = { "f32", "bf16", "int8" };
    size_t ops_len = 0;
    const pfc_op *ops = pfc_op_list(&ops_len);

    if (!json) {
        fprintf(out, "%-22s", "benchmarks of");
        for (size_t b = 0; b < backends->len; b++)
            fprintf(out, " %14s", backends->items[b].name);
        fprintf(out, "\n");
    }
    for (size_t o = 0; o < ops_len; o++) {
        for (size_t d = 0; d < PFC_ARRAY_LEN(dtypes); d++) {
            if (!json)
                fprintf(out, "%-16s %-5s", ops[o].name, dtypes[d]);
            for (size_t b = 0; b < backends->len; b++)
                coverage_cell(out, &ops[o], dtypes[d], &backends->items[b],
                              count_cases(suite, &ops[o], dtypes[d], backends->items[b].name),
                              json);
            if (!json)
                fprintf(out, "\n");
        }
    }
    coverage_shapes(out, suite, backends, json);
}

void pfc_bench_progress(void *arg, const pfc_progress *at)
{
    char bar[BAR_WIDTH + 1];
    const size_t filled = at->total ? at->done * BAR_WIDTH / at->total : 0;

    (void)arg;
    memset(bar, '.', BAR_WIDTH);
    memset(bar, '#', filled);
    bar[BAR_WIDTH] = '\0';
    fprintf(stderr, "\r\033[K[%s] %zu/%zu  %.0f s, at most %.0f s left  %s %s", bar, at->done,
            at->total, at->elapsed_s, fmax(at->estimate_s - at->elapsed_s, 0.0), at->benchmark,
            at->backend);
    if (at->done == at->total)
        fprintf(stderr, "\r\033[K");
    fflush(stderr);
}
