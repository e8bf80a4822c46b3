/*
 * perfci import: shows what other tools' results come to, or stores it.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/upload.h"
#include "core/base/fs.h"
#include "core/import/import.h"

enum {
    KEY_FORMAT = 0x100,
    KEY_DRY_RUN,
    KEY_MAP,
    KEY_UNIT,
    KEY_BETTER,
    KEY_BENCHMARK,
    KEY_METRIC,
};

#define MAX_SHOWN_SAMPLES 1000

typedef struct import_opts {
    pfc_import_opts read;
    pfc_upload_opts up;
    const char *map;
    bool dry_run;
} import_opts;

static const struct argp_option import_options[] = {
    { "dry-run", KEY_DRY_RUN, 0, 0, "Show what would be stored, store nothing", 0 },
    { "format", KEY_FORMAT, "F", 0, "Format of the files (default auto: by content)", 0 },
    { "map", KEY_MAP, "FILE", 0, "What the columns of a CSV of your own mean, in YAML", 0 },
    { "unit", KEY_UNIT, "U", 0, "Unit of values that come without one", 0 },
    { "better", KEY_BETTER, "D", 0, "higher or lower, for values without direction", 0 },
    { "benchmark", KEY_BENCHMARK, "B", 0, "Name, where the file has none", 0 },
    { "metric", KEY_METRIC, "M", 0, "Name of a bare number", 0 },
    PFC_UPLOAD_OPTIONS(1),
    { 0 },
};

static const pfc_arg_field import_fields[] = {
    { KEY_DRY_RUN, PFC_ARG_FLAG, offsetof(import_opts, dry_run), 0, 0 },
    { KEY_FORMAT, PFC_ARG_TEXT, offsetof(import_opts, read.format), 0, 0 },
    { KEY_MAP, PFC_ARG_TEXT, offsetof(import_opts, map), 0, 0 },
    { KEY_UNIT, PFC_ARG_TEXT, offsetof(import_opts, read.unit), 0, 0 },
    { KEY_BENCHMARK, PFC_ARG_TEXT, offsetof(import_opts, read.benchmark), 0, 0 },
    { KEY_METRIC, PFC_ARG_TEXT, offsetof(import_opts, read.metric), 0, 0 },
    PFC_UPLOAD_FIELDS(import_opts),
    { 0 },
};

static const char import_doc[] =
    "Reads results of other tools and stores them; with --dry-run shows them."
    "\vFILE may be - for standard input. What a file is follows from its content: Google "
    "Benchmark, "
    "pytest-benchmark, NVBench, Triton, ncu, rocprofv3, nccl-tests, CUTLASS, BMF, "
    "github-action-benchmark, hyperfine, Criterion.rs, asv, Conbench, Otava, Go, Catch2, JMH, LNT, "
    "numbers, perfci's own documents, or a CSV of your own, by --map if its columns do not speak "
    "for themselves. A history (Otava, github-action-benchmark's data.js) is stored a run a "
    "commit. docs/importing.md has what is taken from each.\n"
    "\n"
    "Examples:\n"
    "  perfci import --dry-run --json bench.json\n"
    "  perfci import --commit v1.2 --project kernels nvbench.json\n"
    "  perfci import --dry-run --map columns.yaml results.csv\n"
    "  perfci import --unit TFLOPS --better higher matmul.csv\n";

static error_t parse_import(int key, char *arg, struct argp_state *state)
{
    import_opts *o = state->input;

    if (key != KEY_BETTER)
        return pfc_upload_parse(key, state, &o->up);
    if (!pfc_streq(arg, "higher") && !pfc_streq(arg, "lower"))
        pfc_cli_usage(state, "--better: want higher or lower, got \"%s\"", arg);
    o->read.has_direction = true;
    o->read.higher_is_better = pfc_streq(arg, "higher");
    return 0;
}

/* ---- files ---- */

static pfc_code read_stdin(char **out, size_t *len, pfc_err *err)
{
    pfc_buf buf;
    char chunk[65536];
    ssize_t n;
    pfc_code code;

    pfc_buf_init(&buf, PFC_IMPORT_MAX_BYTES);
    while ((n = read(STDIN_FILENO, chunk, sizeof(chunk))) > 0)
        pfc_buf_append(&buf, chunk, (size_t)n);
    code = n < 0 ? pfc_err_set(err, PFC_EIO, "cannot read") : pfc_buf_check(&buf, "input", err);
    *len = buf.len;
    *out = pfc_buf_take(&buf);
    return code;
}

/* Criterion.rs keeps a benchmark's name in a file beside its samples; NULL: there is none. */
static char *name_beside(const char *file)
{
    const char *slash = strrchr(file, '/');
    char *dir = slash ? pfc_strndup(file, (size_t)(slash - file)) : pfc_strdup(".");
    char *path = pfc_fs_join(dir, "benchmark.json");
    json_t *doc = NULL;
    char *text = NULL;
    size_t len = 0;
    char *name = NULL;

    if (pfc_fs_exists(path) && !pfc_fs_read(path, PFC_IMPORT_MAX_MAP_BYTES, &text, &len, NULL) &&
        !pfc_json_parse(text, len, &doc, NULL))
        name = pfc_strdup(json_string_value(json_object_get(doc, "full_id")));
    json_decref(doc);
    free(text);
    free(path);
    free(dir);
    return name;
}

static pfc_code read_file(const import_opts *o, const char *file, pfc_import_result *out,
                          pfc_err *err)
{
    pfc_import_opts opts = o->read;
    char *name = opts.benchmark ? NULL : name_beside(file);
    char *text = NULL;
    size_t len = 0;
    pfc_code code = pfc_streq(file, "-")
                        ? read_stdin(&text, &len, err)
                        : pfc_fs_read(file, PFC_IMPORT_MAX_BYTES, &text, &len, err);

    if (name)
        opts.benchmark = name;
    if (!code) {
        code = pfc_import_read(&opts, text, len, out, err);
        if (code)
            pfc_err_wrap(err, "%.200s", file);
    }
    free(name);
    free(text);
    return code;
}

/* ---- showing ---- */

static json_t *samples_json(const pfc_measurement *m)
{
    json_t *list = json_array();

    for (size_t i = 0; i < m->samples_len && i < MAX_SHOWN_SAMPLES; i++)
        json_array_append_new(list, json_real(m->samples[i]));
    return list;
}

static json_t *measurement_json(const pfc_measurement *m, bool primary)
{
    const double median = pfc_measurement_median(m);
    json_t *doc =
        json_pack("{s:s,s:s,s:s,s:s,s:s,s:b,s:b,s:I}", "benchmark", m->benchmark, "metric",
                  m->metric, "backend", m->backend, "unit", m->unit, "direction",
                  m->higher_is_better ? "higher" : "lower", "higher_is_better", m->higher_is_better,
                  "primary", primary, "n", (json_int_t)m->samples_len);

    if (m->status == PFC_STATUS_OK) {
        json_object_set_new(doc, "status", json_string("ok"));
        json_object_set_new(doc, "value", isfinite(median) ? json_real(median) : json_null());
    } else {
        json_object_set_new(doc, "status",
                            json_string(m->status == PFC_STATUS_BROKEN ? "broken" : "skipped"));
        json_object_set_new(doc, "value", json_null());
        json_object_set_new(doc, "reason", json_string(m->reason ? m->reason : ""));
    }
    json_object_set_new(doc, "samples", samples_json(m));
    if (m->params.len)
        json_object_set_new(doc, "params", pfc_pairs_to_json(&m->params));
    if (m->extra.len)
        json_object_set_new(doc, "extra", pfc_pairs_to_json(&m->extra));
    return doc;
}

static json_t *notes_json(const pfc_import_result *r)
{
    json_t *list = json_array();

    for (size_t i = 0; i < r->notes_len; i++)
        json_array_append_new(list, json_string(r->notes[i]));
    return list;
}

/* A history's commits, with what is known of each. */
static json_t *points_json(const pfc_import_result *history)
{
    json_t *list = json_array();

    for (size_t i = 0; i < history->runs_len; i++) {
        const pfc_run *run = history->runs[i];
        json_t *point = json_pack("{s:I}", "measurements", (json_int_t)run->measurements_len);
        if (run->commit)
            json_object_set_new(point, "commit", json_string(run->commit));
        if (run->branch)
            json_object_set_new(point, "branch", json_string(run->branch));
        if (run->started_at > 0)
            json_object_set_new(point, "time", json_real(run->started_at));
        json_array_append_new(list, point);
    }
    return list;
}

typedef struct shown {
    json_t *files;
    json_t *measurements;
} shown;

static pfc_code show_file(const pfc_cli *cli, const import_opts *o, const char *file, shown *all,
                          pfc_err *err)
{
    import_opts each = *o;
    pfc_import_result r = { 0 };
    pfc_import_result history = { 0 };
    json_t *entry;
    pfc_code code;

    each.read.allow_empty = true;
    code = read_file(&each, file, &r, err);
    if (code)
        return code;
    entry = json_pack("{s:s,s:s,s:I,s:o}", "file", file, "format", r.format, "measurements",
                      (json_int_t)r.runs[0]->measurements_len, "notes", notes_json(&r));
    each.read.split = true;
    if (r.has_points && (code = read_file(&each, file, &history, err)) == PFC_OK)
        json_object_set_new(entry, "points", points_json(&history));
    for (size_t i = 0; i < r.runs[0]->measurements_len; i++)
        json_array_append_new(
            all->measurements,
            measurement_json(&r.runs[0]->measurements[i], pfc_import_is_primary(r.runs[0], i)));
    for (size_t i = 0; i < r.notes_len; i++)
        pfc_cli_note(cli, "%s: %s", file, r.notes[i]);
    if (!cli->json) {
        pfc_cli_note(cli, "%s: %zu measurements (%s)", file, r.runs[0]->measurements_len, r.format);
        pfc_take_print(cli, r.runs[0]);
    }
    json_array_append_new(all->files, entry);
    pfc_import_result_clear(&r);
    pfc_import_result_clear(&history);
    return code;
}

static pfc_code show(const pfc_cli *cli, const import_opts *o, pfc_err *err)
{
    shown all = { .files = json_array(), .measurements = json_array() };
    const json_t *first;
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < o->up.files_len && !code; i++)
        code = show_file(cli, o, o->up.files[i], &all, err);
    first = json_array_get(all.files, 0);
    if (cli->json && first)
        pfc_cli_print_json(json_pack("{s:O,s:I,s:O,s:O}", "format",
                                     json_object_get(first, "format"), "count",
                                     (json_int_t)json_array_size(all.measurements), "measurements",
                                     all.measurements, "files", all.files));
    json_decref(all.files);
    json_decref(all.measurements);
    return code;
}

/* ---- storing ---- */

static pfc_code store_file(const pfc_cli *cli, const import_opts *o, pfc_upload *to,
                           const char *file, json_t *list, pfc_err *err)
{
    import_opts each = *o;
    pfc_import_result r = { 0 };
    pfc_code code;

    each.read.split = true;
    code = read_file(&each, file, &r, err);
    for (size_t i = 0; i < r.notes_len; i++)
        pfc_cli_note(cli, "%s: %s", file, r.notes[i]);
    for (size_t i = 0; i < r.runs_len && !code; i++)
        code = pfc_upload_run(to, file, r.runs[i], list, err);
    pfc_import_result_clear(&r);
    return code;
}

static pfc_code store(const pfc_cli *cli, const import_opts *o, pfc_err *err)
{
    pfc_upload to;
    json_t *list = json_array();
    pfc_code code = pfc_upload_open(&to, &o->up, err);

    for (size_t i = 0; i < o->up.files_len && !code; i++)
        code = store_file(cli, o, &to, o->up.files[i], list, err);
    pfc_upload_print(cli, list);
    pfc_upload_close(&to);
    return code;
}

int pfc_cmd_import(pfc_cli *cli, int argc, char **argv)
{
    const pfc_cmd_args args = { import_options, parse_import, "FILE...", import_doc,
                                import_fields };
    import_opts o = { 0 };
    char *map = NULL;
    size_t len = 0;
    pfc_err err = { 0 };
    pfc_code code = PFC_OK;

    pfc_cli_parse(cli, &args, argc, argv, &o);
    if (o.map) {
        code = pfc_fs_read(o.map, PFC_IMPORT_MAX_MAP_BYTES, &map, &len, &err);
        o.read.map = map;
        o.read.map_name = o.map;
    }
    if (!code)
        code = o.dry_run ? show(cli, &o, &err) : store(cli, &o, &err);
    free(map);
    return code ? pfc_cli_fail(cli, &err) : PFC_EXIT_OK;
}
