/*
 * perfci detect: change points of series from stdin or files, no server needed. Each series is
 * judged and answered as soon as it is read, so any number of them passes through.
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
#include "cli/detect_show.h"
#include "cli/series_read.h"
#include "core/base/buf.h"

enum { KEY_MIN_CHANGE = 0x100, KEY_ALPHA, KEY_HIGHER, KEY_EXPLAIN, KEY_PLOT };

typedef struct detect {
    const pfc_cli *cli;
    char **files; /* of argv */
    size_t files_len;
    double min_rel, alpha;
    bool higher_is_better, explain, plot;

    const char *name; /* of the input being read, for messages */
    bool flush;       /* somebody may be waiting for each line */
    pfc_buf line;
    pfc_table *table; /* NULL until the first change */
    size_t series;
    size_t bad;
    size_t changes;
    bool regression; /* a confirmed one */
    bool failed;     /* an input could not be read */
} detect;

static const struct argp_option options[] = {
    { "min-change", KEY_MIN_CHANGE, "R", 0,
      "Smallest relative change that counts (default 0.005, or the noise of a point)", 0 },
    { "alpha", KEY_ALPHA, "A", 0,
      "Changes believed by mistake per series without any (default 0.01)", 0 },
    { "explain", KEY_EXPLAIN, 0, 0,
      "Draw each series, and say of every candidate why it was kept or dropped", 0 },
    { "plot", KEY_PLOT, 0, 0, "Draw each series", 0 },
    { "higher-is-better", KEY_HIGHER, 0, 0, "For series that do not say, CSV among them", 0 },
    { 0 },
};

static const char detect_doc[] =
    "Finds change points in series of measurements."
    "\vInput: JSON lines, a JSON array or a JSON document of {\"id\", \"unit\", "
    "\"higher_is_better\", \"points\": [{\"t\", \"v\", \"repeats\"?}]}, or CSV whose header begins "
    "with \"time\". Without FILE, or with -, standard input.\n"
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
    "  perfci detect --explain history.csv\n";

static error_t parse(int key, char *arg, struct argp_state *state)
{
    detect *d = state->input;

    switch (key) {
    case KEY_MIN_CHANGE:
        d->min_rel = pfc_arg_double(state, arg, 1e-9, 1e6, "--min-change");
        return 0;
    case KEY_ALPHA:
        d->alpha = pfc_arg_double(state, arg, 1e-9, 0.5, "--alpha");
        return 0;
    case KEY_EXPLAIN:
        d->explain = true;
        return 0;
    case KEY_PLOT:
        d->plot = true;
        return 0;
    case KEY_HIGHER:
        d->higher_is_better = true;
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

static void put_json(detect *d, const pfc_series_in *s, const pfc_detection *found,
                     const pfc_reasons *reasons)
{
    pfc_buf *out = &d->line;

    pfc_buf_reset(out);
    pfc_buf_puts(out, "{\"id\":");
    put_string(out, s->id);
    pfc_buf_puts(out, ",\"changes\":[");
    for (size_t i = 0; i < found->changes_len; i++) {
        const pfc_change *c = &found->changes[i];

        pfc_buf_printf(out, "%s{\"index\":%zu,\"index_low\":%zu,\"index_high\":%zu", i ? "," : "",
                       c->index, c->index_low, c->index_high);
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
    fwrite(pfc_buf_text(out), 1, out->len, stdout);
    if (d->flush)
        fflush(stdout);
}

static const pfc_col columns[] = {
    { "SERIES", false }, { "AT", true },    { "WITHIN", true },  { "BEFORE", true },
    { "AFTER", true },   { "UNIT", false }, { "CHANGE", true },  { "INTERVAL", true },
    { "P", true },       { "WHAT", false }, { "STATUS", false },
};

static void put_rows(detect *d, const pfc_series_in *s, const pfc_detection *found)
{
    for (size_t i = 0; i < found->changes_len; i++) {
        const pfc_change *c = &found->changes[i];
        char text[32];
        char low[32];

        if (!d->table)
            d->table = pfc_table_new(d->cli, columns, PFC_ARRAY_LEN(columns));
        pfc_table_row(d->table);
        pfc_table_set(d->table, 0, s->id);
        pfc_table_setf(d->table, 1, "%zu", c->index);
        pfc_table_setf(d->table, 2, "%zu..%zu", c->index_low, c->index_high);
        pfc_show_value(c->before, text);
        pfc_table_set(d->table, 3, text);
        pfc_show_value(c->after, text);
        pfc_table_set(d->table, 4, text);
        pfc_table_set(d->table, 5, s->unit);
        pfc_show_percent(c->rel_change, text);
        pfc_table_set(d->table, 6, text);
        pfc_show_percent(c->rel_low, low);
        pfc_show_percent(c->rel_high, text);
        pfc_table_setf(d->table, 7, "%s .. %s", low, text);
        pfc_table_setf(d->table, 8, "%.2g", c->p);
        pfc_table_set(d->table, 9, c->regression ? "regression" : "improvement");
        pfc_table_color(d->table, 9, c->regression ? "red" : "green");
        pfc_table_set(d->table, 10, c->confirmed ? "confirmed" : "provisional");
    }
}

/* Names come from outside: no control character of theirs reaches a terminal. */
static void print_text(const char *text)
{
    for (const char *p = text; *p; p++)
        putchar((unsigned char)*p < 0x20 || *p == 0x7f ? '?' : *p);
}

/* In words, a series after the other: there is no table then. */
static void put_words(const detect *d, const pfc_series_in *s, const pfc_detection *found,
                      const pfc_reasons *reasons)
{
    print_text(s->id);
    pfc_out(": %zu points, %zu change%s\n", s->len, found->changes_len,
            found->changes_len == 1 ? "" : "s");
    pfc_detect_plot(d->cli, s, found);
    for (size_t i = 0; i < reasons->len; i++) {
        pfc_out("  %zu %s: ", reasons->items[i].index, reasons->items[i].kept ? "kept" : "dropped");
        print_text(reasons->items[i].text);
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

static void on_sorted(detect *d, const pfc_series_in *s, const size_t *order, size_t line)
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
        put_json(d, s, &found, &reasons);
    else if (d->explain || d->plot)
        put_words(d, s, &found, &reasons);
    else
        put_rows(d, s, &found);
    pfc_reasons_clear(&reasons);
    pfc_detection_clear(&found);
}

/* A history goes by time, whatever the order in the document. Equal times keep the document's order; so do
 * all points when one has no time. */
static void on_series(void *arg, const pfc_series_in *s, size_t line)
{
    detect *d = arg;
    size_t *order = pfc_calloc(s->len, sizeof(*order));
    pfc_series_in sorted = *s;

    if (!pfc_stats_series_order(s->points, s->len, order)) {
        on_sorted(d, s, NULL, line);
    } else {
        sorted.points = pfc_calloc(s->len, sizeof(*sorted.points));
        for (size_t i = 0; i < s->len; i++)
            sorted.points[i] = s->points[order[i]];
        on_sorted(d, &sorted, order, line);
        if (!d->cli->json)
            pfc_cli_note(d->cli,
                         "%s: line %zu: the points are not in the order of time; they were put "
                         "into it, and places count in it",
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

static void read_input(detect *d, const char *file)
{
    const bool is_stdin = pfc_streq(file, "-");
    const pfc_series_sink sink = {
        .series = on_series, .bad = on_bad, .arg = d, .higher_is_better = d->higher_is_better
    };
    char *stem = is_stdin ? NULL : stem_of(file);
    pfc_err err = { 0 };
    struct stat st;
    int fd = STDIN_FILENO;

    d->name = is_stdin ? "standard input" : file;
    if (!is_stdin && (fd = open(file, O_RDONLY | O_CLOEXEC)) < 0) {
        pfc_cli_warn(d->cli, "%s: cannot open: %s", file, strerror(errno));
        d->failed = true;
        goto done;
    }
    d->flush = fstat(fd, &st) || !S_ISREG(st.st_mode);
    if (pfc_series_read(fd, stem, &sink, &err)) {
        pfc_cli_warn(d->cli, "%s: %s", d->name, err.msg);
        d->failed = true;
    }
    if (!is_stdin)
        close(fd);

done:
    free(stem);
}

int pfc_cmd_detect(pfc_cli *cli, int argc, char **argv)
{
    const pfc_cmd_args args = { options, parse, "[FILE...]", detect_doc, NULL };
    detect d = { .cli = cli };

    pfc_cli_parse(cli, &args, argc, argv, &d);
    pfc_buf_init(&d.line, 256u * 1024 * 1024);
    if (d.files_len == 0)
        read_input(&d, "-");
    for (size_t i = 0; i < d.files_len; i++)
        read_input(&d, d.files[i]);
    pfc_buf_clear(&d.line);

    if (d.table)
        pfc_table_print(d.table);
    if (!cli->json)
        pfc_cli_note(cli, "%zu series, %zu change%s%s", d.series, d.changes,
                     d.changes == 1 ? "" : "s", d.bad ? "; some lines could not be used" : "");
    if (d.bad || d.failed)
        return PFC_EXIT_USAGE;
    return d.regression ? PFC_EXIT_REGRESSION : PFC_EXIT_OK;
}
