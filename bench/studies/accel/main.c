/*
 * perfci-bench-accel --data DIR | --tiles N | --attainable
 *
 * The last two: studies.h. The first:
 * Compares the simulated accelerator with what SCALE-Sim computed, over every DIR/scalesim-*.json
 * ({"rows": [{"M", "N", "K", "rows", "cols", "dataflow", "cycles_scalesim", "util_pct",
 * "scalesim_cpu_s"?, ...}]}, or {"columns": [...], "rows": [[...]]}): the share of equal cycles and
 * the worst difference, then how fast the simulator itself is. Without data: "not available",
 * exit 5.
 */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "bench/studies/accel/studies.h"
#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/parse.h"

#define FILE_MAX_BYTES (64u << 20)
#define ROUNDS         3 /* the fastest of these is the speed */

typedef struct tally {
    size_t rows;
    size_t skipped; /* rows that were never run there, only computed by the same formula */
    size_t equal;
    double worst_rel;
    size_t util_rows; /* rows that say a utilization precisely */
    double util_worst_rel;
    uint64_t cycles;
    double ours_s;
    double theirs_s; /* CPU seconds, of the rows that say them */
    double ours_of_theirs_s;
} tally;

typedef struct row {
    int64_t m, n, k, rows, cols, cycles;
    const char *flow;
    bool never_run;
    double util_pct;
    double theirs_s;
} row;

static json_t *field(json_t *item, json_t *columns, const char *name)
{
    size_t i;
    json_t *column;

    if (json_is_object(item))
        return json_object_get(item, name);
    json_array_foreach(columns, i, column) if (json_is_string(column) &&
                                               strcmp(json_string_value(column), name) ==
                                                   0) return json_array_get(item, i);
    return NULL;
}

static int64_t whole(json_t *item, json_t *columns, const char *name, const char *other)
{
    json_t *v = field(item, columns, name);

    if (!v && other)
        v = field(item, columns, other);
    return json_is_integer(v) ? json_integer_value(v) : -1;
}

static bool read_row(json_t *item, json_t *columns, row *out)
{
    const char *how;

    memset(out, 0, sizeof(*out));
    out->m = whole(item, columns, "M", NULL);
    out->n = whole(item, columns, "N", NULL);
    out->k = whole(item, columns, "K", NULL);
    out->rows = whole(item, columns, "rows", "array_rows");
    out->cols = whole(item, columns, "cols", "array_cols");
    out->cycles = whole(item, columns, "cycles_scalesim", "cycles");
    out->flow = json_string_value(field(item, columns, "dataflow"));
    how = json_string_value(field(item, columns, "how"));
    out->never_run = how && strstr(how, "not run");
    /* tables without that member round it; runs with bounded bandwidth count stalls in it */
    if (how && !strstr(how, "USER"))
        out->util_pct = json_number_value(field(item, columns, "util_pct"));
    out->theirs_s = json_number_value(field(item, columns, "scalesim_cpu_s"));
    return out->m >= 0 && out->n >= 0 && out->k >= 0 && out->rows > 0 && out->cols > 0 &&
           out->cycles > 0 && out->flow && strlen(out->flow) == 2;
}

static pfc_code simulate(const row *r, pfc_accel_result *out, pfc_err *err)
{
    const pfc_accel_problem problem = { .kernel = PFC_ACCEL_GEMM,
                                        .dtype = PFC_ACCEL_INT8,
                                        .p = { r->m, r->n, r->k } };
    const pfc_accel_case_opts opts = { .timing_only = true };
    pfc_accel_case *c = NULL;
    pfc_accel_chip chip;
    pfc_accel_mode mode;
    char name[16];
    pfc_code code;

    snprintf(name, sizeof(name), "scalesim-%.2s", r->flow);
    code = pfc_accel_mode_parse(name, &mode, err);
    if (!code)
        code = pfc_accel_chip_load(pfc_accel_chip_name(0), &chip, err);
    if (!code)
        code = pfc_accel_chip_set_array(&chip, r->rows, r->cols, err);
    if (!code)
        code = pfc_accel_case_new(&c, &problem, &chip, mode, &opts, err);
    if (!code)
        code = pfc_accel_case_run(c, out, err);
    pfc_accel_case_free(c);
    return code;
}

static pfc_code one_row(const row *r, tally *t, pfc_err *err)
{
    const int64_t start = pfc_clock_ns();
    pfc_accel_result result;
    pfc_code code = simulate(r, &result, err);
    const double took = (double)(pfc_clock_ns() - start) * 1e-9;
    double rel;

    if (code)
        return code;
    rel = fabs((double)result.cycles - (double)r->cycles) / (double)r->cycles;
    t->rows++;
    t->equal += result.cycles == (uint64_t)r->cycles;
    t->worst_rel = fmax(t->worst_rel, rel);
    if (r->util_pct > 0) {
        t->util_rows++;
        t->util_worst_rel =
            fmax(t->util_worst_rel, fabs(result.utilization * 100 / r->util_pct - 1));
    }
    t->cycles += result.cycles;
    t->ours_s += took;
    if (r->theirs_s > 0) {
        t->theirs_s += r->theirs_s;
        t->ours_of_theirs_s += took;
    }
    return PFC_OK;
}

static pfc_code one_file(const char *path, const char *name, pfc_err *err)
{
    tally t = { 0 };
    char *text = NULL;
    size_t len = 0;
    json_error_t why;
    json_t *root = NULL;
    json_t *columns;
    size_t i;
    json_t *item;
    pfc_code code = pfc_fs_read(path, FILE_MAX_BYTES, &text, &len, err);

    if (code)
        goto done;
    root = json_loadb(text, len, 0, &why);
    if (!root) {
        code = pfc_err_set(err, PFC_EINVAL, "%s:%d: %s", path, why.line, why.text);
        goto done;
    }
    columns = json_object_get(root, "columns");
    json_array_foreach(json_object_get(root, "rows"), i, item)
    {
        row r;

        if (!read_row(item, columns, &r)) {
            code = pfc_err_set(err, PFC_EINVAL, "%s: row %zu is not a GEMM", path, i);
            goto done;
        }
        if (r.never_run) {
            t.skipped++;
            continue;
        }
        code = one_row(&r, &t, err);
        if (code)
            goto done;
    }
    printf("%-36s rows %6zu  equal %6zu (%.4f)  worst difference %.3g\n", name, t.rows, t.equal,
           t.rows ? (double)t.equal / (double)t.rows : 0.0, t.worst_rel);
    if (t.skipped)
        printf("%-36s left out: %zu rows that were computed by formula, not run\n", "", t.skipped);
    if (t.util_rows)
        printf("%-36s utilization: %zu rows, worst relative difference %.3g\n", "", t.util_rows,
               t.util_worst_rel);
    if (t.theirs_s > 0)
        printf("%-36s %.4f s here, %.1f CPU seconds there: %.0f times as fast\n", "",
               t.ours_of_theirs_s, t.theirs_s, t.theirs_s / t.ours_of_theirs_s);

done:
    json_decref(root);
    free(text);
    return code;
}

/* Simulated cycles and multiply-adds a second: timing alone, and with results. */
static pfc_code speed(const char *chip_name, pfc_accel_dtype dtype, int64_t size, bool timing_only,
                      pfc_err *err)
{
    const pfc_accel_problem problem = { .kernel = PFC_ACCEL_GEMM,
                                        .dtype = dtype,
                                        .p = { size, size, size } };
    const pfc_accel_case_opts opts = { .timing_only = timing_only };
    pfc_accel_case *c = NULL;
    pfc_accel_result r = { 0 };
    pfc_accel_chip chip;
    int64_t best = INT64_MAX;
    pfc_code code = pfc_accel_chip_load(chip_name, &chip, err);

    if (!code)
        code = pfc_accel_case_new(&c, &problem, &chip, chip.mode, &opts, err);
    for (int i = 0; i < ROUNDS && !code; i++) {
        const int64_t start = pfc_clock_ns();

        code = pfc_accel_case_run(c, &r, err);
        best = PFC_MIN(best, PFC_MAX(pfc_clock_ns() - start, 1));
    }
    if (!code)
        printf("gemm %5s %5lld^3 on %-11s %-12s %9.3f ms  %9llu cycles  %.3g cycles/s  "
               "%.2f GMAC/s  utilization %.3f\n",
               pfc_accel_dtype_name(dtype), (long long)size, chip_name,
               timing_only ? "timing only" : "with results", (double)best * 1e-6,
               (unsigned long long)r.cycles, (double)r.cycles / ((double)best * 1e-9),
               (double)size * (double)size * (double)size / (double)best, r.utilization);
    pfc_accel_case_free(c);
    return code;
}

static pfc_code speeds(pfc_err *err)
{
    static const struct {
        const char *chip;
        pfc_accel_dtype dtype;
        int64_t size;
        bool timing_only;
    } rows[] = {
        { "pfc-edge", PFC_ACCEL_BF16, 64, true },
        { "pfc-edge", PFC_ACCEL_BF16, 1024, true },
        { "pfc-server", PFC_ACCEL_BF16, 4096, true },
        { "pfc-server", PFC_ACCEL_BF16, 512, false },
        { "pfc-server", PFC_ACCEL_F32, 1024, false },
        { "pfc-server", PFC_ACCEL_INT8, 1024, false },
        { "pfc-server2", PFC_ACCEL_BF16, 4096, true },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        pfc_code code = speed(rows[i].chip, rows[i].dtype, rows[i].size, rows[i].timing_only, err);

        if (code)
            return code;
    }
    return PFC_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Files DIR/scalesim-*.json in the order of their names. */
static pfc_code all_files(const char *dir, size_t *found, pfc_err *err)
{
    DIR *d = opendir(dir);
    char **names = NULL;
    size_t len = 0;
    size_t cap = 0;
    struct dirent *entry;
    pfc_code code = PFC_OK;

    while (d && (entry = readdir(d)) != NULL) {
        const char *dot = strrchr(entry->d_name, '.');

        if (strncmp(entry->d_name, "scalesim-", 9) != 0 || !dot || strcmp(dot, ".json") != 0)
            continue;
        names = pfc_grow(names, len, &cap, sizeof(*names));
        names[len++] = pfc_strdup(entry->d_name);
    }
    if (d)
        closedir(d);
    if (len)
        qsort(names, len, sizeof(*names), by_name);
    for (size_t i = 0; i < len; i++) {
        char *path = pfc_fs_join(dir, names[i]);

        if (!code)
            code = one_file(path, names[i], err);
        free(path);
        free(names[i]);
    }
    free(names);
    *found = len;
    return code;
}

static const char usage[] = "Usage: perfci-bench-accel --data DIR | --tiles N | --attainable\n";

/* Any of the other studies. */
static int study(int argc, char **argv)
{
    pfc_err err = { 0 };
    int64_t count = 0;
    pfc_code code;

    if (argc == 2 && strcmp(argv[1], "--attainable") == 0) {
        code = study_attainable(&err);
    } else if (argc == 3 && strcmp(argv[1], "--tiles") == 0) {
        code = pfc_parse_i64(argv[2], 1, 100000, "--tiles", &count, &err);
        if (!code)
            code = study_tiles((size_t)count, &err);
    } else {
        fputs(usage, stderr);
        return 2;
    }
    if (!code)
        return 0;
    fprintf(stderr, "perfci-bench-accel: %s\n", err.msg);
    return pfc_code_exit(code);
}

int main(int argc, char **argv)
{
    pfc_err err = { 0 };
    size_t found = 0;
    pfc_code code;

    if (argc >= 2 && strcmp(argv[1], "--data") != 0)
        return study(argc, argv);
    if (argc != 3) {
        fputs(usage, stderr);
        return 2;
    }
    code = all_files(argv[2], &found, &err);
    if (!code && found == 0) {
        printf("not available: no scalesim-*.json in %s\n", argv[2]);
        return 5;
    }
    if (!code)
        code = speeds(&err);
    if (code) {
        fprintf(stderr, "perfci-bench-accel: %s\n", err.msg);
        return pfc_code_exit(code);
    }
    return 0;
}
