/*
 * perfci import: shows what other tools' results come to, or stores it.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/output/output.h"
#include "cli/results/results.h"
#include "cli/results/upload.h"
#include "core/base/fs.h"
#include "core/import/import.h"

enum { KEY_BETTER = 1 };

#define MAX_SHOWN_SAMPLES 1000

typedef struct import_opts {
    pfc_import_opts read;
    pfc_upload_opts up;
    const char *map;
    bool dry_run;
} import_opts;

static const char *const ways[] = { "higher", "lower", NULL };

static const pfc_option import_options[] = {
    PFC_OPT_FLAG("dry-run", import_opts, dry_run, "Show what would be stored, store nothing"),
    PFC_OPT_TEXT("format", "F", import_opts, read.format,
                 "Format of the files; auto: by their content", .fallback = "auto"),
    PFC_OPT_TEXT("map", "FILE", import_opts, map,
                 "What the columns of a CSV of your own mean, in YAML"),
    PFC_OPT_TEXT("unit", "U", import_opts, read.unit, "Unit of values that come without one"),
    { .name = "better",
      .argument = "D",
      .kind = PFC_OPTION_WORD,
      .words = ways,
      .at = PFC_NO_MEMBER,
      .key = KEY_BETTER,
      .help = "higher or lower, for values without direction" },
    PFC_OPT_TEXT("benchmark", "B", import_opts, read.benchmark, "Name, where the file has none"),
    PFC_OPT_TEXT("metric", "M", import_opts, read.metric, "Name of a bare number"),
    PFC_OPT_HEADING("Storing:"),
    PFC_UPLOAD_OPTIONS(import_opts),
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
    "commit. docs/reference/formats.md has what is taken from each.\n"
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
        return pfc_upload_parse(key, arg, state, &o->up);
    o->read.has_direction = true;
    o->read.higher_is_better = pfc_streq(arg, "higher");
    return 0;
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
        json_object_set_new(doc, "params", pfc_labels_to_json(&m->params));
    if (m->extra.len)
        json_object_set_new(doc, "extra", pfc_labels_to_json(&m->extra));
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
    const pfc_cli *cli;
    const import_opts *opts;
    json_t *files;
    json_t *measurements;
} shown;

static pfc_code show_results(void *arg, pfc_results *results, pfc_err *err)
{
    shown *all = arg;
    const pfc_cli *cli = all->cli;
    const pfc_import_result *r = &results->read;
    json_t *entry = json_pack("{s:s,s:s,s:o}", "file", results->file, "format", r->format, "notes",
                              notes_json(r));
    const pfc_run *run = results->whole.runs_len ? results->whole.runs[0] : r->runs[0];

    (void)err;
    if (r->has_points)
        json_object_set_new(entry, "points", points_json(r));
    json_object_set_new(entry, "measurements", json_integer((json_int_t)run->measurements_len));
    for (size_t i = 0; i < run->measurements_len; i++)
        json_array_append_new(all->measurements, measurement_json(&run->measurements[i],
                                                                  pfc_import_is_primary(run, i)));
    for (size_t i = 0; i < r->notes_len; i++)
        pfc_cli_note(cli, "%s: %s", results->file, r->notes[i]);
    if (!cli->json) {
        pfc_cli_note(cli, "%s: %zu measurements (%s)", results->file, run->measurements_len,
                     r->format);
        pfc_take_print(cli, run);
    }
    json_array_append_new(all->files, entry);
    return PFC_OK;
}

static pfc_code show(const pfc_cli *cli, const import_opts *o, pfc_err *err)
{
    shown all = { .cli = cli, .opts = o, .files = json_array(), .measurements = json_array() };
    import_opts each = *o;
    pfc_directions directions = o->up.directions;
    pfc_conf conf = { 0 };
    const json_t *first;
    pfc_code code = pfc_conf_find(".", &conf, err);

    pfc_directions_add_conf(&directions, &conf);
    each.read.directions = directions.items;
    each.read.directions_len = directions.len;
    each.read.allow_empty = true;
    each.read.split = true;
    for (size_t i = 0; i < o->up.files_len && !code; i++)
        code = pfc_results_read(cli, &each.read, o->up.files[i], show_results, &all, err);
    first = json_array_get(all.files, 0);
    if (cli->json && first)
        pfc_cli_print_json(json_pack("{s:O,s:I,s:O,s:O}", "format",
                                     json_object_get(first, "format"), "count",
                                     (json_int_t)json_array_size(all.measurements), "measurements",
                                     all.measurements, "files", all.files));
    json_decref(all.files);
    json_decref(all.measurements);
    pfc_conf_clear(&conf);
    return code;
}

static int cmd_import(pfc_cli *cli, int argc, char **argv)
{
    import_opts o = { 0 };
    char *map = NULL;
    size_t len = 0;
    pfc_err err = { 0 };
    pfc_code code = PFC_OK;

    pfc_cli_parse(cli, &pfc_cmd_import, argc, argv, &o);
    if (o.map) {
        code = pfc_fs_read(o.map, PFC_IMPORT_MAX_MAP_BYTES, &map, &len, &err);
        o.read.map = map;
        o.read.map_name = o.map;
    }
    if (!code)
        code = o.dry_run ? show(cli, &o, &err) : pfc_upload_files(cli, &o.up, &o.read, &err);
    free(map);
    return code ? pfc_cli_fail(cli, &err) : PFC_EXIT_OK;
}

const pfc_subcommand pfc_cmd_import = {
    .name = "import",
    .summary = "show or store results of other tools",
    .run = cmd_import,
    .options = import_options,
    .parse = parse_import,
    .args_doc = "FILE...",
    .doc = import_doc,
};
