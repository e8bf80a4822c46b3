#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "bench/studies/accel/studies.h"
#include "core/base/fs.h"

#define FILE_MAX_BYTES (64u << 20)

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
    double least_ratio; /* their CPU seconds over ours, of the slowest row */
    char least[64];
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
    pfc_accel_result result;
    double took = 1e9; /* CPU seconds of the fastest run: neighbours only make it slower */
    double rel;

    for (int i = 0; i < STUDY_ROUNDS; i++) {
        const double start = study_cpu_s();
        pfc_code code = simulate(r, &result, err);

        if (code)
            return code;
        took = fmin(took, study_cpu_s() - start);
    }
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
        if (t->least_ratio == 0 || r->theirs_s / took < t->least_ratio) {
            t->least_ratio = r->theirs_s / took;
            snprintf(t->least, sizeof(t->least), "%.2s %lldx%lldx%lld on %lldx%lld", r->flow,
                     (long long)r->m, (long long)r->n, (long long)r->k, (long long)r->rows,
                     (long long)r->cols);
        }
    }
    return PFC_OK;
}

/* A file's document; the caller releases it. */
static pfc_code read_json(const char *path, json_t **out, pfc_err *err)
{
    char *text = NULL;
    size_t len = 0;
    json_error_t why;
    pfc_code code = pfc_fs_read(path, FILE_MAX_BYTES, &text, &len, err);

    if (!code) {
        *out = json_loadb(text, len, 0, &why);
        if (!*out)
            code = pfc_err_set(err, PFC_EINVAL, "%s:%d: %s", path, why.line, why.text);
    }
    free(text);
    return code;
}

static pfc_code one_file(const char *path, const char *name, pfc_err *err)
{
    tally t = { 0 };
    json_t *root = NULL;
    json_t *columns;
    size_t i;
    json_t *item;
    pfc_code code = read_json(path, &root, err);

    if (code)
        return code;
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
        printf("%-36s %.4f CPU seconds here, %.1f there: %.0f times as fast; slowest: %.0f times "
               "(%s)\n",
               "", t.ours_of_theirs_s, t.theirs_s, t.theirs_s / t.ours_of_theirs_s, t.least_ratio,
               t.least);

done:
    json_decref(root);
    return code;
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

/* SCALE-Sim's cycles at 128x128, in the dataflow with the shorter fold: the shorter one of A's rows
 * and B's columns passes. (In 498 of the 1,198 rows that is also the smaller of both cycles.) */
static pfc_code tpu_table(json_t *rows, size_t column, tally *t, pfc_err *err)
{
    size_t i;
    json_t *item;

    json_array_foreach(rows, i, item)
    {
        row r = { .m = json_integer_value(json_array_get(item, 0)),
                  .n = json_integer_value(json_array_get(item, 1)),
                  .k = json_integer_value(json_array_get(item, 2)),
                  .rows = 128,
                  .cols = 128,
                  .cycles = json_integer_value(json_array_get(item, column)) };
        pfc_code code;

        if (r.m <= 0 || r.n <= 0 || r.k <= 0 || r.cycles <= 0)
            return pfc_err_set(err, PFC_EINVAL, "TPU table: row %zu is not a GEMM", i);
        r.flow = r.m <= r.n ? "ws" : "is";
        code = one_row(&r, t, err);
        if (code)
            return code;
    }
    return PFC_OK;
}

static size_t column_of(json_t *columns, const char *name)
{
    size_t i;
    json_t *item;

    json_array_foreach(columns, i, item)
    {
        if (json_is_string(item) && strcmp(json_string_value(item), name) == 0)
            return i;
    }
    return 0;
}

/* The table has no licence, so it is read from its own place and no row of it is in the tree. */
static pfc_code tpu_file(const char *dir, pfc_err *err)
{
    static const char name[] = "real-hw-tpu-matmul.json";
    char *path = pfc_fs_join(dir, name);
    json_t *root = NULL;
    tally t = { 0 };
    const char *key;
    json_t *rows;
    size_t column;
    pfc_code code = PFC_OK;

    if (!pfc_fs_exists(path)) {
        printf("%-36s not available: no such file in %s\n", name, dir);
        free(path);
        return PFC_OK;
    }
    code = read_json(path, &root, err);
    column = column_of(json_object_get(root, "columns"), "scalesim_cycles_128x128");
    if (!code && !column)
        code = pfc_err_set(err, PFC_EINVAL, "%s: expected a column scalesim_cycles_128x128", path);
    json_object_foreach(json_object_get(root, "tables"), key, rows)
    {
        code = code ? code : tpu_table(rows, column, &t, err);
    }
    if (!code)
        printf("%-36s rows %6zu  equal %6zu (%.4f)  worst difference %.3g (ws or is)\n", name,
               t.rows, t.equal, t.rows ? (double)t.equal / (double)t.rows : 0.0, t.worst_rel);
    json_decref(root);
    free(path);
    return code;
}

pfc_code study_tables(const char *dir, pfc_err *err)
{
    size_t found = 0;
    pfc_code code;

    if (!dir)
        return pfc_err_set(err, PFC_EUNAVAIL, "tables: not available without --data DIR");
    code = all_files(dir, &found, err);
    if (!code && !found)
        code = pfc_err_set(err, PFC_EUNAVAIL, "not available: no scalesim-*.json in %s", dir);
    return code ? code : tpu_file(dir, err);
}
