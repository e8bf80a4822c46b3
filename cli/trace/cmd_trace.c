/*
 * perfci trace: `export` writes a trace as JSON or CSV, `check` lists its faults, `schema` prints
 * the types of records. `store` and `fetch` (store.c) reach the service.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/output/output.h"
#include "cli/trace/trace.h"
#include "core/base/parse.h"
#include "core/trace/check/check.h"
#include "core/trace/export/export.h"

static const char export_doc[] =
    "Writes a trace as Chrome JSON, which Perfetto (ui.perfetto.dev) opens, or as CSV."
    "\vFILE is a trace in the binary format; - is standard input. The result replaces the file of "
    "--out when it is complete. A device's clock is brought onto the host's time by its pairs of "
    "clock readings. With fewer than two of them, or when FILE can be read only once (a pipe), it "
    "has its nominal rate, moved by its first pair.\n"
    "\n"
    "Exit status: 0 done, 2 wrong usage, 5 the trace cannot be read (not a trace, cut off, "
    "damaged) or the result cannot be written.\n"
    "\n"
    "Examples:\n"
    "  perfci trace export gemm.pct --out gemm.json\n"
    "  perfci trace export gemm.pct --format csv\n"
    "  perfci trace export gemm.pct --compat kineto --out gemm.json\n";

static const char check_doc[] =
    "Checks a trace, in the binary format or as exported JSON, and lists its faults."
    "\vChecked are: the count of records, units and their metadata, the time of each unit, "
    "nesting and pairs of slices, waits for semaphores, correlation ids and flows, counters. "
    "`perfci trace schema` lists the kinds of faults.\n"
    "\n"
    "Exit status: 0 no fault, 1 faults, 2 wrong usage, 5 the file cannot be read or is no trace.\n"
    "\n"
    "Examples:\n"
    "  perfci trace check gemm.pct\n"
    "  perfci trace check gemm.json --json\n";

static const char schema_doc[] =
    "Prints every type of record of the trace format, kinds and states of units, and the faults "
    "that `perfci trace check` knows."
    "\vNumbers never change their meaning: newer versions add rows.\n"
    "\n"
    "Examples:\n"
    "  perfci trace schema\n"
    "  perfci trace schema --json\n";

static const char trace_usage[] = "Usage: perfci trace export FILE [OPTION...]\n"
                                  "       perfci trace check FILE [OPTION...]\n"
                                  "       perfci trace schema [--json]\n"
                                  "       perfci trace store FILE --run ID [OPTION...]\n"
                                  "       perfci trace fetch ID --out FILE [OPTION...]\n\n";
static const char trace_doc[] = "Traces of a device and its host: records of a run.\n"
                                "\v\n"
                                "Examples:\n"
                                "  perfci trace export gemm.pct --out gemm.json\n"
                                "  perfci trace check gemm.pct\n"
                                "  perfci trace schema\n"
                                "  perfci trace store gemm.pct --run 12\n";

/* ---- export ---- */

typedef struct export_command {
    char *file; /* of argv */
    char *out;
    char *format, *compat;
} export_command;

static const char *const format_words[] = { "json", "csv", NULL };
static const char *const compat_words[] = { "kineto", NULL };

static const pfc_option export_options[] = {
    PFC_OPT_TEXT("out", "FILE", export_command, out, "Write to this file",
                 .fallback = "standard output"),
    PFC_OPT_WORD("format", "F", format_words, export_command, format,
                 "json (Perfetto, Chrome) or csv (a row a record)", .fallback = "json"),
    PFC_OPT_WORD("compat", "TOOL", compat_words, export_command, compat,
                 "kineto: categories and arguments of PyTorch's profiler, for HTA"),
    { 0 },
};

error_t pfc_trace_take_file(int key, char *arg, struct argp_state *state, char **file)
{
    if (key == ARGP_KEY_ARG) {
        if (*file)
            pfc_cli_usage(state, "expected one file, got \"%s\" and \"%s\"", *file, arg);
        *file = arg;
        return 0;
    }
    if (key == ARGP_KEY_END && !*file)
        pfc_cli_usage(state, "missing argument: the trace's FILE");
    return ARGP_ERR_UNKNOWN;
}

static error_t parse_export(int key, char *arg, struct argp_state *state)
{
    export_command *cmd = state->input;

    if (key == ARGP_KEY_END && cmd->compat && pfc_streq(cmd->format, "csv"))
        pfc_cli_usage(state, "--compat applies to --format json, got csv");
    return pfc_trace_take_file(key, arg, state, &cmd->file);
}

/* A trace that cannot be read is no wrong usage, whatever is wrong with it. */
static int fail_unreadable(const pfc_cli *cli, pfc_err *err)
{
    if (!err->hint[0])
        (void)pfc_err_hint(err, "\"perfci trace check FILE\" lists what is wrong with a trace");
    (void)pfc_cli_fail(cli, err);
    return PFC_EXIT_INFRA;
}

static int trace_export(pfc_cli *cli, int argc, char **argv);

static const pfc_subcommand part_export = { .name = "export",
                                            .summary = "a trace as JSON for Perfetto, or as CSV",
                                            .run = trace_export,
                                            .options = export_options,
                                            .parse = parse_export,
                                            .args_doc = "FILE",
                                            .doc = export_doc };

static void note_export(const pfc_cli *cli, const pfc_trace_export_stats *stats)
{
    pfc_cli_note(cli, "%llu records, %llu %s", (unsigned long long)stats->records,
                 (unsigned long long)stats->events,
                 stats->events == stats->records ? "rows" : "events");
    if (stats->unmatched)
        pfc_cli_warn(cli,
                     "%llu slices without a begin or an end: \"perfci trace check\" lists them",
                     (unsigned long long)stats->unmatched);
    if (stats->reversed)
        pfc_cli_warn(cli,
                     "%llu points of flows were left out: they are before the host's call, since "
                     "the clocks are not synchronised",
                     (unsigned long long)stats->reversed);
}

static int trace_export(pfc_cli *cli, int argc, char **argv)
{
    export_command cmd = { 0 };
    pfc_trace_export_opts opts = { 0 };
    pfc_trace_export_stats stats;
    pfc_err err = { 0 };

    pfc_cli_parse(cli, &part_export, argc, argv, &cmd);
    opts.format = pfc_streq(cmd.format, "csv") ? PFC_TRACE_CSV : PFC_TRACE_JSON;
    opts.kineto = pfc_streq(cmd.compat, "kineto");
    if (pfc_trace_export_file(cmd.file, cmd.out ? cmd.out : "-", &opts, &stats, &err))
        return fail_unreadable(cli, &err);
    note_export(cli, &stats);
    return PFC_EXIT_OK;
}

/* ---- check ---- */

typedef struct check_command {
    char *file; /* of argv */
    size_t limit;
} check_command;

static const pfc_option check_options[] = {
    PFC_OPT_COUNT("limit", "N", check_command, limit, 1, PFC_TRACE_MAX_FINDINGS,
                  "Describe at most N faults; all are counted", .fallback = "100"),
    { 0 },
};

static error_t parse_check(int key, char *arg, struct argp_state *state)
{
    return pfc_trace_take_file(key, arg, state, &((check_command *)state->input)->file);
}

static json_t *finding_json(const pfc_trace_finding *f)
{
    char what[sizeof(f->what)];
    json_t *out;

    snprintf(what, sizeof(what), "%s", f->what);
    pfc_text_plain(what, false);
    out = json_pack("{s:s, s:s}", "kind", pfc_trace_check_name(f->kind), "what", what);
    if (f->record) {
        json_object_set_new(out, "record", json_integer((json_int_t)f->record));
        json_object_set_new(out, "offset", json_integer((json_int_t)f->offset));
    }
    return out;
}

static void print_report_json(const check_command *cmd, const pfc_trace_report *r)
{
    json_t *list = json_array();
    json_t *kinds = json_object();

    for (size_t i = 0; i < r->findings_len; i++)
        json_array_append_new(list, finding_json(&r->findings[i]));
    for (unsigned k = 0; k < PFC_TRACE_CHECKS_LEN; k++)
        if (r->by_kind[k])
            json_object_set_new(kinds, pfc_trace_check_name((pfc_trace_check_kind)k),
                                json_integer((json_int_t)r->by_kind[k]));
    pfc_cli_print_json(json_pack("{s:s, s:s, s:I, s:I, s:I, s:o, s:o}", "file", cmd->file, "format",
                                 r->json ? "json" : "binary", "records", (json_int_t)r->records,
                                 "dropped", (json_int_t)r->dropped, "faults", (json_int_t)r->faults,
                                 "by_kind", kinds, "findings", list));
}

static void print_report(const pfc_cli *cli, const check_command *cmd, const pfc_trace_report *r)
{
    static const pfc_table_col columns[] = {
        { "RECORD", true }, { "BYTE", true }, { "FAULT", false }, { "WHAT", false }
    };
    pfc_table *table = r->findings_len ? pfc_table_new(cli, columns, PFC_ARRAY_LEN(columns)) : NULL;

    for (size_t i = 0; i < r->findings_len; i++) {
        const pfc_trace_finding *f = &r->findings[i];

        pfc_table_row(table);
        if (f->record) {
            pfc_table_setf(table, 0, "%llu", (unsigned long long)f->record);
            pfc_table_setf(table, 1, "%llu", (unsigned long long)f->offset);
        }
        pfc_table_set(table, 2, pfc_trace_check_name(f->kind));
        pfc_table_set(table, 3, f->what);
    }
    if (table)
        pfc_table_print(table);
    if (r->faults > r->findings_len)
        pfc_cli_note(cli, "%llu more faults (--limit)",
                     (unsigned long long)(r->faults - r->findings_len));
    pfc_cli_note(cli, "%s: %llu %s, %llu lost, %llu faults", cmd->file,
                 (unsigned long long)r->records, r->json ? "events" : "records",
                 (unsigned long long)r->dropped, (unsigned long long)r->faults);
}

static int trace_check(pfc_cli *cli, int argc, char **argv);

static const pfc_subcommand part_check = { .name = "check",
                                           .summary = "the faults of a trace",
                                           .run = trace_check,
                                           .options = check_options,
                                           .parse = parse_check,
                                           .args_doc = "FILE",
                                           .doc = check_doc };

static int trace_check(pfc_cli *cli, int argc, char **argv)
{
    check_command cmd = { .limit = 100 };
    pfc_trace_report report = { 0 };
    pfc_err err = { 0 };
    int status;

    pfc_cli_parse(cli, &part_check, argc, argv, &cmd);
    if (pfc_trace_check(cmd.file, cmd.limit, &report, &err)) {
        (void)pfc_err_hint(&err, "expected a binary trace or the JSON of \"perfci trace export\"");
        return fail_unreadable(cli, &err);
    }
    if (cli->json)
        print_report_json(&cmd, &report);
    else
        print_report(cli, &cmd, &report);
    status = report.faults ? PFC_EXIT_REGRESSION : PFC_EXIT_OK;
    pfc_trace_report_clear(&report);
    return status;
}

/* ---- schema ---- */

static json_t *field_json(const char *name, const char *unit, pfc_trace_field kind)
{
    return kind == PFC_TRACE_UNUSED ? json_null()
                                    : json_pack("{s:s, s:s, s:s}", "name", name, "unit", unit,
                                                "kind", pfc_trace_field_name(kind));
}

static json_t *row_json(const pfc_trace_row *row)
{
    return json_pack("{s:i, s:s, s:s, s:s, s:s, s:o?, s:o, s:o, s:s}", "number", row->number,
                     "name", row->name, "phase", pfc_trace_phase_name(row->phase), "side",
                     pfc_trace_side_name(row->side), "category", row->category, "partner",
                     row->partner ? json_string(pfc_trace_row_of(row->partner)->name) : json_null(),
                     "a", field_json(row->a_name, row->a_unit, row->a_kind), "b",
                     field_json(row->b_name, row->b_unit, row->b_kind), "meaning", row->meaning);
}

static json_t *words_json(const pfc_trace_word *(*word_of)(uint64_t number))
{
    json_t *out = json_array();

    for (uint64_t n = 0; word_of(n); n++)
        json_array_append_new(out,
                              json_pack("{s:i, s:s, s:s}", "number", word_of(n)->number, "name",
                                        word_of(n)->name, "meaning", word_of(n)->meaning));
    return out;
}

static json_t *checks_json(void)
{
    json_t *out = json_array();

    for (unsigned k = 0; k < PFC_TRACE_CHECKS_LEN; k++)
        json_array_append_new(
            out, json_pack("{s:s, s:s}", "name", pfc_trace_check_name((pfc_trace_check_kind)k),
                           "meaning", pfc_trace_check_meaning((pfc_trace_check_kind)k)));
    return out;
}

static void print_schema_json(void)
{
    json_t *records = json_array();
    char version[16];

    snprintf(version, sizeof(version), "%d.%d", PFC_TRACE_MAJOR, PFC_TRACE_MINOR);
    for (unsigned i = 0; pfc_trace_row_at(i); i++)
        json_array_append_new(records, row_json(pfc_trace_row_at(i)));
    pfc_cli_print_json(json_pack("{s:s, s:o, s:o, s:o, s:o}", "version", version, "records",
                                 records, "kinds", words_json(pfc_trace_kind_of), "states",
                                 words_json(pfc_trace_state_of), "faults", checks_json()));
}

static void print_schema(const pfc_cli *cli)
{
    static const pfc_table_col columns[] = { { "TYPE", true },    { "NAME", false },
                                             { "PHASE", false },  { "SIDE", false },
                                             { "A", false },      { "B", false },
                                             { "MEANING", false } };
    pfc_table *table = pfc_table_new(cli, columns, PFC_ARRAY_LEN(columns));

    pfc_table_wrap(table, 6);
    for (unsigned i = 0; pfc_trace_row_at(i); i++) {
        const pfc_trace_row *row = pfc_trace_row_at(i);

        pfc_table_row(table);
        pfc_table_setf(table, 0, "%u", row->number);
        pfc_table_set(table, 1, row->name);
        pfc_table_set(table, 2, pfc_trace_phase_name(row->phase));
        pfc_table_set(table, 3, pfc_trace_side_name(row->side));
        pfc_table_set(table, 4, row->a_name);
        pfc_table_set(table, 5, row->b_name);
        pfc_table_set(table, 6, row->meaning);
    }
    pfc_table_print(table);
    pfc_cli_note(cli, "version %d.%d; --json adds kinds and states of units, and faults",
                 PFC_TRACE_MAJOR, PFC_TRACE_MINOR);
}

static int trace_schema(pfc_cli *cli, int argc, char **argv);

static const pfc_subcommand part_schema = {
    .name = "schema", .summary = "every type of record", .run = trace_schema, .doc = schema_doc
};

static int trace_schema(pfc_cli *cli, int argc, char **argv)
{
    pfc_cli_parse(cli, &part_schema, argc, argv, NULL);
    if (cli->json)
        print_schema_json();
    else
        print_schema(cli);
    return PFC_EXIT_OK;
}

/* ---- the parts ---- */

static const pfc_subcommand *const parts[] = { &part_export,          &part_check,
                                               &part_schema,          &pfc_trace_part_store,
                                               &pfc_trace_part_fetch, NULL };

static int cmd_trace(pfc_cli *cli, int argc, char **argv)
{
    const char *const whole = cli->name;
    pfc_err err = { 0 };

    if (argc >= 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-?") == 0)) {
        pfc_out("%s%.*s%s", trace_usage, (int)strcspn(trace_doc, "\v"), trace_doc,
                strchr(trace_doc, '\v') + 1);
        return PFC_EXIT_OK;
    }
    for (size_t i = 0; argc >= 2 && parts[i]; i++) {
        char *name;
        int status;

        if (strcmp(parts[i]->name, argv[1]) != 0)
            continue;
        name = pfc_format("%s %s", cli->name, argv[1]);
        cli->name = argv[1] = name;
        status = parts[i]->run(cli, argc - 1, argv + 1);
        cli->name = whole; /* a failure to write is reported under it after the command */
        free(name);
        return status;
    }
    if (argc >= 2)
        (void)pfc_err_set(&err, PFC_EINVAL,
                          "expected \"export\", \"check\", \"schema\", \"store\" or \"fetch\", got "
                          "\"%.40s\"",
                          argv[1]);
    else
        (void)pfc_err_set(
            &err, PFC_EINVAL,
            "missing subcommand: \"export\", \"check\", \"schema\", \"store\" or \"fetch\"");
    return pfc_cli_fail(cli, &err);
}

const pfc_subcommand pfc_cmd_trace = {
    .name = "trace",
    .summary = "traces of a device: export, check, store with a run",
    .run = cmd_trace,
    .doc = trace_doc,
    .parts = parts,
};
