/*
 * perfci detect: change points of series from stdin or files, no server needed. Each series is
 * judged and answered as soon as it is read, so any number of them passes through. Results of other
 * tools are points of one history, which is judged when all of them are read.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/detect/results_series.h"
#include "cli/detect/series_read.h"
#include "cli/detect/show.h"
#include "cli/output/output.h"
#include "cli/results/direction.h"
#include "core/base/buf.h"
#include "core/base/fs.h"
#include "core/changepoint/changepoint.h"

enum { HEAD_BYTES = 256 * 1024 };

typedef struct detect {
    const pfc_cli *cli;
    char **files; /* of argv */
    size_t files_len;
    double min_rel, alpha;
    bool higher_is_better, explain, plot;
    pfc_directions directions;
    pfc_points *points; /* of results; NULL: none were read */

    const char *name; /* of the input being read, for messages */
    /* a reader of the pipe waits for each line, so it must not stay in the buffer */
    bool flush;
    pfc_buf line;
    pfc_table *table; /* NULL until the first change */
    bool commits;     /* it has a column of them */
    size_t series;
    size_t bad;
    size_t changes;
    bool regression; /* a confirmed one */
    bool failed;     /* an input could not be read */
} detect;

static const pfc_option options[] = {
    PFC_OPT_NUMBER("min-change", "R", detect, min_rel, 1e-9, 1e6,
                   "Smallest relative change that counts",
                   .fallback = "0.005, or the noise of a point"),
    PFC_OPT_NUMBER("alpha", "A", detect, alpha, 1e-9, 0.5,
                   "Expected false changes per series without a change", .fallback = "0.01"),
    PFC_OPT_FLAG("explain", detect, explain,
                 "Draw each series, and say of every candidate why it was kept or dropped"),
    PFC_OPT_FLAG("plot", detect, plot, "Draw each series"),
    PFC_OPT_FLAG("higher-is-better", detect, higher_is_better,
                 "For series that do not say, CSV among them"),
    PFC_DIRECTION_OPTION,
    { 0 },
};

static const char detect_doc[] =
    "Finds change points in series of measurements."
    "\vInput: JSON lines, a JSON array or a JSON document of {\"id\", \"unit\", "
    "\"higher_is_better\", \"points\": [{\"t\", \"v\", \"repeats\"?}]}, or CSV whose header begins "
    "with \"time\"; a column \"commit\" names the commits. Without FILE, or with -, standard "
    "input.\n"
    "Whatever `perfci import` reads is read, too, also a folder: each file is a point, or a "
    "history "
    "is several. All of them together are one history, in the order of their commits' or their own "
    "times, else in the order given.\n"
    "Points are judged in the order of their times, equal times in the order given; where one has "
    "no time, all "
    "are in the order given. With --json every index is a position in the points as given.\n"
    "\n"
    "Exit status 1 when a change is a confirmed regression, 2 when a line could not be used (the "
    "others are answered all the same).\n"
    "\n"
    "Examples:\n"
    "  perfci detect history.csv\n"
    "  perfci detect --json < series.jsonl > changes.jsonl\n"
    "  perfci detect --min-change 0.02 series/*.json\n"
    "  perfci detect --explain history.csv\n"
    "  perfci detect nightly-*/google-benchmark.json\n"
    "  perfci detect asv-results/\n";

static error_t parse(int key, char *arg, struct argp_state *state)
{
    detect *d = state->input;

    switch (key) {
    case PFC_KEY_DIRECTION:
        pfc_directions_add(&d->directions, arg, state);
        return 0;
    case ARGP_KEY_ARGS:
        d->files = state->argv + state->next;
        d->files_len = (size_t)(state->argc - state->next);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void put_string(pfc_buf *out, const char *text)
{
    pfc_buf_putc(out, '"');
    for (const char *p = text; *p; p++) {
        if (*p == '"' || *p == '\\')
            pfc_buf_printf(out, "\\%c", *p);
        else if ((unsigned char)*p < 0x20 || *p == 0x7f)
            pfc_buf_printf(out, "\\u%04x", (unsigned)*p);
        else
            pfc_buf_putc(out, *p);
    }
    pfc_buf_putc(out, '"');
}

/* JSON has no infinity: a relative change from zero is null. */
static void put_number(pfc_buf *out, const char *key, double v)
{
    if (isfinite(v))
        pfc_buf_printf(out, ",\"%s\":%.12g", key, v);
    else
        pfc_buf_printf(out, ",\"%s\":null", key);
}

static void put_reasons(pfc_buf *out, const pfc_reasons *reasons)
{
    pfc_buf_puts(out, ",\"explain\":[");
    for (size_t i = 0; i < reasons->len; i++) {
        const pfc_reason *r = &reasons->items[i];

        pfc_buf_printf(out, "%s{\"index\":%zu,\"kept\":%s,\"reason\":", i ? "," : "", r->index,
                       r->kept ? "true" : "false");
        put_string(out, r->text);
        pfc_buf_putc(out, '}');
    }
    pfc_buf_putc(out, ']');
}

static void put_text(pfc_buf *out, const char *key, const char *text)
{
    if (!text)
        return;
    pfc_buf_printf(out, ",\"%s\":", key);
    put_string(out, text);
}

static const char *commit_at(const pfc_series_in *s, size_t index)
{
    return s->commits && s->commits[index] && s->commits[index][0] ? s->commits[index] : NULL;
}

/* `s` in the order in which the changes' places count. */
static void put_json(detect *d, const pfc_series_in *s, const pfc_detection *found,
                     const pfc_reasons *reasons)
{
    pfc_buf *out = &d->line;

    pfc_buf_reset(out);
    pfc_buf_puts(out, "{\"id\":");
    put_string(out, s->id);
    put_text(out, "benchmark", s->benchmark);
    put_text(out, "metric", s->metric);
    put_text(out, "backend", s->backend);
    pfc_buf_puts(out, ",\"changes\":[");
    for (size_t i = 0; i < found->changes_len; i++) {
        const pfc_change *c = &found->changes[i];

        pfc_buf_printf(out, "%s{\"index\":%zu,\"index_low\":%zu,\"index_high\":%zu", i ? "," : "",
                       c->index, c->index_low, c->index_high);
        put_text(out, "commit", commit_at(s, c->index));
        put_text(out, "commit_low", commit_at(s, c->index_low));
        put_text(out, "commit_high", commit_at(s, c->index_high));
        put_number(out, "before", c->before);
        put_number(out, "after", c->after);
        put_number(out, "rel_change", c->rel_change);
        put_number(out, "rel_low", c->rel_low);
        put_number(out, "rel_high", c->rel_high);
        put_number(out, "p", c->p);
        pfc_buf_printf(out, ",\"direction\":\"%s\",\"status\":\"%s\"}",
                       c->regression ? "regression" : "improvement",
                       c->confirmed ? "confirmed" : "provisional");
    }
    pfc_buf_putc(out, ']');
    if (d->explain)
        put_reasons(out, reasons);
    pfc_buf_puts(out, "}\n");
    pfc_out_json_part(pfc_buf_text(out));
    if (d->flush)
        fflush(stdout);
}

static const pfc_table_col columns[] = {
    { "SERIES", false }, { "AT", true },    { "WITHIN", true },  { "BEFORE", true },
    { "AFTER", true },   { "UNIT", false }, { "CHANGE", true },  { "INTERVAL", true },
    { "P", true },       { "WHAT", false }, { "STATUS", false }, { "COMMIT", false },
};

static void put_rows(detect *d, const pfc_series_in *s, const pfc_detection *found)
{
    for (size_t i = 0; i < found->changes_len; i++) {
        const pfc_change *c = &found->changes[i];
        char text[32];
        char low[32];

        d->commits = d->table ? d->commits : s->commits != NULL;
        if (!d->table)
            d->table = pfc_table_new(d->cli, columns, PFC_ARRAY_LEN(columns) - !s->commits);
        pfc_table_row(d->table);
        pfc_table_set(d->table, 0, s->id);
        pfc_table_setf(d->table, 1, "%zu", c->index);
        pfc_table_setf(d->table, 2, "%zu..%zu", c->index_low, c->index_high);
        pfc_show_value(c->before, text);
        pfc_table_number(d->table, 3, text, c->before);
        pfc_show_value(c->after, text);
        pfc_table_number(d->table, 4, text, c->after);
        pfc_table_set(d->table, 5, s->unit);
        pfc_show_percent(c->rel_change, text);
        pfc_table_number(d->table, 6, text, c->rel_change);
        pfc_show_percent(c->rel_low, low);
        pfc_show_percent(c->rel_high, text);
        pfc_table_interval(d->table, 7, (const char *[]){ low, text },
                           (const double[]){ c->rel_low, c->rel_high });
        (void)snprintf(text, sizeof(text), "%.2g", c->p);
        pfc_table_number(d->table, 8, text, c->p);
        pfc_table_set(d->table, 9, c->regression ? "regression" : "improvement");
        pfc_table_color(d->table, 9, c->regression ? "red" : "green");
        pfc_table_set(d->table, 10, c->confirmed ? "confirmed" : "provisional");
        if (d->commits && commit_at(s, c->index))
            pfc_table_commit(d->table, 11, commit_at(s, c->index));
    }
}

/* Prints the series one after the other in sentences, without a table. */
static void put_words(const detect *d, const pfc_series_in *s, const pfc_detection *found,
                      const pfc_reasons *reasons)
{
    pfc_out("%s", s->id);
    pfc_out(": %zu points, %zu change%s\n", s->len, found->changes_len,
            found->changes_len == 1 ? "" : "s");
    pfc_detect_plot(d->cli, s, found);
    for (size_t i = 0; i < found->changes_len && s->commits; i++) {
        const char *commit = commit_at(s, found->changes[i].index);
        pfc_out("  change at %zu, commit ", found->changes[i].index);
        pfc_out("%s", commit ? commit : "unknown");
        putchar('\n');
    }
    for (size_t i = 0; i < reasons->len; i++) {
        pfc_out("  %zu %s: ", reasons->items[i].index, reasons->items[i].kept ? "kept" : "dropped");
        pfc_out("%s", reasons->items[i].text);
        putchar('\n');
    }
    if (d->explain && reasons->len == 0)
        pfc_out("  no candidate: one level, and no point far off it\n");
    putchar('\n');
}

static void on_bad(void *arg, size_t line, const char *why)
{
    detect *d = arg;

    d->bad++;
    pfc_cli_warn(d->cli, "%s: line %zu: %s", d->name, line, why);
}

/* Places among the points as they were given. */
static void to_places(const size_t *order, pfc_detection *found, pfc_reasons *reasons)
{
    for (size_t i = 0; i < found->changes_len; i++) {
        pfc_change *c = &found->changes[i];

        c->index = order[c->index];
        c->index_low = order[c->index_low];
        c->index_high = order[c->index_high];
    }
    for (size_t i = 0; i < reasons->len; i++)
        reasons->items[i].index = order[reasons->items[i].index];
}

/* `given`: the same series as it was read. */
static void on_sorted(detect *d, const pfc_series_in *s, const pfc_series_in *given,
                      const size_t *order, size_t line)
{
    const pfc_detect_opts opts = { .higher_is_better = s->higher_is_better,
                                   .min_rel = d->min_rel,
                                   .alpha = d->alpha };
    pfc_reasons reasons = { 0 };
    pfc_detection found = { 0 };
    pfc_err err = { 0 };

    if (s->len > 0 && pfc_stats_detect(s->points, s->len, &opts, &found, &err)) {
        on_bad(d, line, err.msg);
        return;
    }
    d->series++;
    d->changes += found.changes_len;
    for (size_t i = 0; i < found.changes_len; i++)
        d->regression |= found.changes[i].regression && found.changes[i].confirmed;
    if (d->explain)
        pfc_detect_explain(s, &opts, &found, &reasons);
    if (order && d->cli->json)
        to_places(order, &found, &reasons);
    if (d->cli->json)
        put_json(d, given, &found, &reasons);
    else if (d->explain || d->plot)
        put_words(d, s, &found, &reasons);
    else
        put_rows(d, s, &found);
    pfc_reasons_clear(&reasons);
    pfc_detection_clear(&found);
}

/* A history goes by time, whatever the order in the document. Equal times keep the document's
 * order; so do all points when one has no time. */
static void on_series(void *arg, const pfc_series_in *s, size_t line)
{
    detect *d = arg;
    size_t *order = pfc_calloc(s->len, sizeof(*order));
    pfc_series_in sorted = *s;

    if (!pfc_stats_series_order(s->points, s->len, order)) {
        on_sorted(d, s, s, NULL, line);
    } else {
        sorted.points = pfc_calloc(s->len, sizeof(*sorted.points));
        sorted.commits = s->commits ? pfc_calloc(s->len, sizeof(char *)) : NULL;
        for (size_t i = 0; i < s->len; i++) {
            sorted.points[i] = s->points[order[i]];
            if (s->commits)
                sorted.commits[i] = s->commits[order[i]];
        }
        on_sorted(d, &sorted, s, order, line);
        free(sorted.commits);
        if (!d->cli->json && !s->metric)
            pfc_cli_note(d->cli,
                         "%s: line %zu: the points are not in order of time: they were sorted, "
                         "and positions refer to the sorted points",
                         d->name, line);
        free(sorted.points);
    }
    free(order);
}

/* "dir/gemm.json" is the series gemm, when it does not name itself. */
static char *stem_of(const char *file)
{
    const char *slash = strrchr(file, '/');
    const char *base = slash ? slash + 1 : file;
    const char *dot = strrchr(base, '.');

    if (!dot || dot == base || strcmp(dot, ".json") != 0)
        return NULL;
    return pfc_strndup(base, (size_t)(dot - base));
}

static void fault(detect *d, const pfc_err *err)
{
    pfc_cli_warn(d->cli, "%s: %s", d->name, err->msg);
    d->failed = true;
}

static pfc_series_sink sink_of(detect *d)
{
    return (pfc_series_sink){ .series = on_series,
                              .bad = on_bad,
                              .arg = d,
                              .higher_is_better = d->higher_is_better,
                              .directions = d->directions.items,
                              .directions_len = d->directions.len };
}

/* ---- results of other tools ---- */

static pfc_import_opts results_opts(const detect *d)
{
    return (pfc_import_opts){ .has_direction = d->higher_is_better,
                              .higher_is_better = d->higher_is_better,
                              .directions = d->directions.items,
                              .directions_len = d->directions.len,
                              .any_direction = true,
                              .split = true };
}

static void add_points(detect *d, const pfc_import_result *r)
{
    for (size_t i = 0; i < r->notes_len; i++)
        pfc_cli_note(d->cli, "%s: %s", d->name, r->notes[i]);
    if (!d->points)
        d->points = pfc_points_new();
    pfc_points_add(d->points, r);
}

static pfc_code on_results(void *arg, pfc_results *results, pfc_err *err)
{
    (void)err;
    add_points(arg, &results->read);
    return PFC_OK;
}

static void read_results(detect *d, const char *path)
{
    const pfc_import_opts opts = results_opts(d);
    pfc_err err = { 0 };

    if (pfc_results_read(d->cli, &opts, path, on_results, d, &err))
        fault(d, &err);
}

static void judge_points(detect *d)
{
    const pfc_series_sink sink = sink_of(d);
    const char *const *names = NULL;
    size_t len;

    if (!d->points)
        return;
    d->name = "results";
    pfc_points_each(d->points, &sink);
    len = pfc_points_undirected(d->points, &names);
    for (size_t i = 0; i < len; i++)
        pfc_cli_note(d->cli,
                     "direction of \"%s\" is not known: lower is assumed to be better; set it "
                     "with --direction \"%s=higher\"",
                     names[i], names[i]);
    pfc_points_free(d->points);
    d->points = NULL;
}

/* ---- one input ---- */

/* Reads until the format can be recognised: at most HEAD_BYTES, and of a stream no further than a
 * first line that shows it. */
static bool read_head(int fd, pfc_buf *head)
{
    char chunk[65536];
    ssize_t n = 1;

    while (head->len < HEAD_BYTES && n > 0 &&
           !(head->len > 0 && pfc_series_begins(pfc_buf_text(head), head->len) &&
             strspn(pfc_buf_text(head), " \t\r\n") < head->len)) {
        n = read(fd, chunk, sizeof(chunk));
        if (n < 0 && errno == EINTR)
            n = 1;
        else if (n > 0)
            pfc_buf_append(head, chunk, (size_t)n);
    }
    return n >= 0;
}

static bool has_value(const pfc_import_result *r)
{
    for (size_t i = 0; i < r->runs_len; i++)
        for (size_t k = 0; k < r->runs[i]->measurements_len; k++)
            if (r->runs[i]->measurements[k].status != PFC_STATUS_SKIPPED)
                return true;
    return false;
}

/* Text that does not begin as series do: results of a tool, else an error of the reader of series.
 */
static void read_other(detect *d, int fd, pfc_buf *text, const char *stem)
{
    const pfc_import_opts opts = results_opts(d);
    const pfc_series_sink sink = sink_of(d);
    pfc_import_result r = { 0 };
    char chunk[65536];
    pfc_err err = { 0 };
    pfc_err again = { 0 };
    ssize_t n;

    while ((n = read(fd, chunk, sizeof(chunk))) > 0 || (n < 0 && errno == EINTR))
        pfc_buf_append(text, chunk, n > 0 ? (size_t)n : 0);
    if (n < 0) {
        pfc_err_set(&err, PFC_EIO, "cannot read: %s", strerror(errno));
        fault(d, &err);
    } else if (pfc_buf_check(text, "the input", &err)) {
        fault(d, &err);
    } else if (pfc_import_read(&opts, pfc_buf_text(text), text->len, &r, &err) == PFC_OK &&
               has_value(&r)) {
        add_points(d, &r);
    } else if (strchr("{[", pfc_buf_text(text)[strspn(pfc_buf_text(text), " \t\r\n")])) {
        if (pfc_series_read_on(-1, text->data, text->len, stem, &sink, &again))
            fault(d, &again);
    } else {
        if (!err.code)
            pfc_err_set(&err, PFC_EINVAL, "expected results, got none with a value");
        fault(d, &err);
    }
    pfc_import_result_clear(&r);
}

static void read_input(detect *d, const char *file)
{
    const bool is_stdin = pfc_streq(file, "-");
    const pfc_series_sink sink = sink_of(d);
    char *stem = is_stdin ? NULL : stem_of(file);
    pfc_err err = { 0 };
    struct stat st;
    pfc_buf head;
    int fd = STDIN_FILENO;

    d->name = is_stdin ? "standard input" : file;
    pfc_buf_init(&head, PFC_IMPORT_MAX_BYTES);
    if (!is_stdin && pfc_fs_is_dir(file)) {
        read_results(d, file);
        goto done;
    }
    if (!is_stdin && (fd = open(file, O_RDONLY | O_CLOEXEC)) < 0) {
        pfc_cli_warn(d->cli, "%s: cannot open: %s", file, strerror(errno));
        d->failed = true;
        goto done;
    }
    d->flush = fstat(fd, &st) || !S_ISREG(st.st_mode);
    if (!read_head(fd, &head)) {
        pfc_err_set(&err, PFC_EIO, "cannot read: %s", strerror(errno));
        fault(d, &err);
    } else if (!pfc_series_begins(pfc_buf_text(&head), head.len)) {
        read_other(d, fd, &head, stem);
    } else if (pfc_series_read_on(fd, head.data, head.len, stem, &sink, &err)) {
        fault(d, &err);
    }
    if (!is_stdin)
        close(fd);

done:
    pfc_buf_clear(&head);
    free(stem);
}

static int cmd_detect(pfc_cli *cli, int argc, char **argv)
{
    detect d = { .cli = cli };

    pfc_cli_parse(cli, &pfc_cmd_detect, argc, argv, &d);
    pfc_buf_init(&d.line, 256u * 1024 * 1024);
    if (d.files_len == 0)
        read_input(&d, "-");
    for (size_t i = 0; i < d.files_len; i++)
        read_input(&d, d.files[i]);
    judge_points(&d);
    pfc_buf_clear(&d.line);

    if (d.table)
        pfc_table_print(d.table);
    if (d.series == 0 && (d.bad || d.failed))
        pfc_out_err("hint: \"perfci detect --help\" shows what it reads\n");
    else if (!cli->json)
        pfc_cli_note(cli, "%zu series, %zu change%s%s", d.series, d.changes,
                     d.changes == 1 ? "" : "s", d.bad ? "; some lines could not be used" : "");
    if (d.bad || d.failed)
        return PFC_EXIT_USAGE;
    return d.regression ? PFC_EXIT_REGRESSION : PFC_EXIT_OK;
}

const pfc_subcommand pfc_cmd_detect = {
    .name = "detect",
    .summary = "find change points in series, no server needed",
    .run = cmd_detect,
    .options = options,
    .parse = parse,
    .args_doc = "[FILE...]",
    .doc = detect_doc,
};
