/*
 * CSV without a documented meaning: Triton's perf_report tables, Otava's histories, and users' own
 * tables. The role of a column follows from its name and from all of its cells.
 *
 * triton  nothing but numbers: the leading whole-numbered columns are the x values, each column
 *         behind them a provider. No unit is in the file unless a name carries it.
 * otava   a column `time` with dates, perhaps `commit` and `branch`, then metrics: a history.
 * csv     text columns (and whole numbers that name no unit) name the benchmark, numbers whose name
 *         carries a unit or a direction are metrics. A column `commit` makes it a history in the
 * order of its rows. With opts.map the mapping alone decides.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/import/csv/csv_plan.h"

#define SNIFF_ROWS 1000

/* Counts over all cells of a column. */
typedef struct column {
    size_t texts;   /* cells that are no number */
    size_t numbers; /* cells that are one */
    bool text;      /* it is no column of numbers */
    bool whole;     /* all numbers are whole */
    bool filled;    /* some cell is a number */
    bool times;     /* all cells are dates */
} column;

typedef struct sniff {
    pfc_csv csv; /* behind the header */
    column *columns;
    size_t rows;
    size_t ragged; /* rows of another length than the header's */
} sniff;

static void sniff_clear(sniff *s)
{
    pfc_csv_clear(&s->csv);
    free(s->columns);
    s->columns = NULL;
}

static bool header_is_names(const pfc_csv *csv)
{
    double value = 0.0;

    for (size_t i = 0; i < csv->names_len; i++) {
        const pfc_span name = csv->names[i];
        /* pandas leaves the index without a name; a number is no name. */
        if (name.len == 0 ? i > 0 : pfc_span_number(name, &value) == PFC_NUMBER)
            return false;
    }
    return csv->names_len >= 2;
}

static void look_at(column *c, pfc_span cell)
{
    double value = 0.0;

    c->times = c->times && pfc_plan_time(cell, &value);
    switch (pfc_span_number(cell, &value)) {
    case PFC_NUMBER:
        c->filled = true;
        c->numbers++;
        c->whole = c->whole && value == floor(value);
        break;
    case PFC_NUMBER_NO_NUMBER:
        c->texts++;
        break;
    case PFC_NUMBER_NONE:
    default:
        break;
    }
}

/* True when the name carries a unit or a direction. */
static bool says_something(pfc_span column_name)
{
    pfc_span name;
    pfc_span unit;
    char named[PFC_IMPORT_UNIT_BYTES];
    char *n;
    char *u;
    bool says;

    pfc_plan_unit(column_name, &name, &unit);
    n = pfc_span_dup(name);
    u = pfc_span_dup(unit);
    says = unit.len > 0 || *pfc_import_unit_of(n, named) || pfc_import_nature(n, u) != 0;
    free(n);
    free(u);
    return says;
}

/* Reads the header and inspects the first rows, then resets the reader to the first row. Returns
 * false if the text is not a table. */
static bool sniff_table(const char *text, size_t len, char delimiter, char quote, sniff *s)
{
    pfc_lines lines;
    pfc_span first = { "", 0 };
    pfc_csv ahead;
    bool more = false;
    bool ok;

    *s = (sniff){ .rows = 0 };
    pfc_lines_init(&lines, text, len);
    while (pfc_lines_next(&lines, &first) && pfc_span_trim(first).len == 0)
        continue;
    pfc_csv_init(&s->csv, first.text, len - (size_t)(first.text - text), lines.number,
                 delimiter ? delimiter : pfc_csv_delimiter(first));
    if (quote)
        s->csv.quote = quote;
    if (first.len == 0 || pfc_csv_header(&s->csv, NULL))
        return false;
    s->columns = pfc_calloc(PFC_MAX(s->csv.names_len, (size_t)1), sizeof(*s->columns));
    for (size_t i = 0; i < s->csv.names_len; i++)
        s->columns[i] = (column){ .whole = true, .times = true };
    /* A second reader over the same rows. It owns its buffers, so that nothing is freed twice. */
    ahead = s->csv;
    ahead.cells = NULL;
    ahead.cells_cap = 0;
    ahead.cells_len = 0;
    ahead.scratch = NULL;
    ahead.scratch_cap = 0;
    while (s->rows < SNIFF_ROWS && (ok = pfc_csv_row(&ahead, &more, NULL) == PFC_OK) && more) {
        s->ragged += ahead.cells_len != s->csv.names_len;
        for (size_t i = 0; i < s->csv.names_len && ahead.cells_len > 1; i++)
            look_at(&s->columns[i], pfc_csv_cell(&ahead, i));
        s->rows++;
    }
    ahead.names = NULL;
    ahead.header = NULL;
    pfc_csv_clear(&ahead);
    /* A word in a column such as "time_ms" is a fault; it is reported with its line when the row is
     * read. */
    for (size_t i = 0; i < s->csv.names_len; i++) {
        column *c = &s->columns[i];
        c->text = says_something(s->csv.names[i]) ? c->texts > c->numbers : c->texts > 0;
    }
    return s->rows > 0;
}

static bool is_table(const sniff *s)
{
    return header_is_names(&s->csv) && s->rows > 0 && 2 * s->ragged < s->rows + 1;
}

/* ---- metrics of a column ---- */

static pfc_plan_metric *add_metric(pfc_plan *plan, const sniff *s, size_t i)
{
    pfc_span name;
    pfc_span unit;
    pfc_plan_metric *m;

    pfc_plan_unit(s->csv.names[i], &name, &unit);
    m = pfc_plan_metric_add(plan, i, name);
    if (unit.len) {
        char *text = pfc_span_dup(unit);
        m->unit = pfc_strdup(pfc_import_unit_spelled(text));
        free(text);
    }
    return m;
}

static void note_units(pfc_import *in, const pfc_plan *plan)
{
    char named[PFC_IMPORT_UNIT_BYTES];

    for (size_t i = 0; i < plan->metrics_len; i++) {
        const pfc_plan_metric *m = &plan->metrics[i];
        if (!m->unit && !in->opts.unit && !*pfc_import_unit_of(m->name, named))
            pfc_import_note(in, "column %.80s: the file names no unit", m->name);
    }
}

static pfc_code run_plan(pfc_import *in, pfc_plan *plan, sniff *s)
{
    pfc_code code;

    note_units(in, plan);
    code = pfc_plan_read(in, plan, &s->csv);
    pfc_plan_clear(plan);
    sniff_clear(s);
    return code;
}

/* ---- Triton ---- */

static bool is_diff(pfc_span name)
{
    return pfc_span_is_nocase(name, "diff"); /* of two providers: no measurement */
}

/* Columns 0 .. n-1 are x values. */
static size_t x_columns(const sniff *s)
{
    size_t n = s->csv.names[0].len == 0 ? 1 : 0; /* pandas' index */

    do {
        n++;
    } while (n + 1 < s->csv.names_len && s->columns[n].whole && s->columns[n].filled &&
             !says_something(s->csv.names[n]));
    return n;
}

static bool match_triton_table(const sniff *s)
{
    if (!is_table(s))
        return false;
    for (size_t i = 0; i < s->csv.names_len; i++) {
        if (s->columns[i].texts > 0 || (i == 0 && !s->columns[i].filled))
            return false;
    }
    return !s->columns[0].times;
}

static bool match_triton(const char *text, size_t len)
{
    sniff s;
    const bool is = sniff_table(text, len, '\0', '\0', &s) && match_triton_table(&s);

    sniff_clear(&s);
    return is;
}

static void add_x(pfc_plan *plan, const sniff *s, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        char *text = pfc_format("%s%s=", i > from ? " " : "", s->csv.names[i].text);
        pfc_plan_part_add(plan, text, strlen(text), i);
        pfc_plan_param_add(plan, i);
        free(text);
    }
}

static pfc_code read_triton(pfc_import *in, const char *text, size_t len)
{
    pfc_plan plan;
    sniff s;

    pfc_plan_init(&plan);
    plan.nameless = pfc_import_nameless(in, "triton");
    plan.whole_names = true;
    if (!sniff_table(text, len, '\0', '\0', &s) || !match_triton_table(&s)) {
        sniff_clear(&s);
        return pfc_err_set(in->err, PFC_EINVAL,
                           "expected a table of numbers under a line with the columns' names");
    }
    if (in->opts.benchmark) {
        pfc_plan_part_add(&plan, in->opts.benchmark, strlen(in->opts.benchmark), SIZE_MAX);
        pfc_plan_part_add(&plan, "/", 1, SIZE_MAX);
    }
    add_x(&plan, &s, s.csv.names[0].len == 0, x_columns(&s));
    for (size_t i = x_columns(&s); i < s.csv.names_len; i++) {
        if (!is_diff(s.csv.names[i]))
            add_metric(&plan, &s, i);
    }
    return run_plan(in, &plan, &s);
}

const pfc_import_format pfc_import_triton = {
    .name = "triton", .match_text = match_triton, .read_text = read_triton, .bare = true
};

/* ---- Otava ---- */

/* Columns that say which commit a row was measured at: such a table is a history, too. */
static const char *const commit_names[] = { "commit",     "revision",    "sha",        "commit_id",
                                            "commit_sha", "commit_hash", "git_commit", NULL };

static size_t time_column(const sniff *s)
{
    static const char *const names[] = { "time",      "timestamp",   "date",        "datetime",
                                         "commit_ts", "commit_time", "commit_date", NULL };
    const size_t i = pfc_csv_column(&s->csv, names);

    return i != SIZE_MAX && s->columns[i].times ? i : SIZE_MAX;
}

static bool match_otava(const char *text, size_t len)
{
    sniff s;
    const bool is =
        sniff_table(text, len, '\0', '\0', &s) && is_table(&s) && time_column(&s) != SIZE_MAX;

    sniff_clear(&s);
    return is;
}

static pfc_code read_otava(pfc_import *in, const char *text, size_t len)
{
    static const char *const names[] = { "test", "test_name", "benchmark", "name", NULL };
    pfc_plan plan;
    sniff s;
    size_t name;

    pfc_plan_init(&plan);
    plan.nameless = pfc_import_nameless(in, "history");
    if (!sniff_table(text, len, '\0', '\0', &s) || !is_table(&s) || time_column(&s) == SIZE_MAX) {
        sniff_clear(&s);
        return pfc_err_set(in->err, PFC_EINVAL,
                           "expected a table with a column 'time' of dates or Unix seconds");
    }
    plan.time = time_column(&s);
    plan.commit = pfc_csv_column(&s.csv, commit_names);
    if (plan.commit == SIZE_MAX)
        plan.commit = pfc_csv_column1(&s.csv, "version");
    plan.branch = pfc_csv_column1(&s.csv, "branch");
    name = pfc_csv_column(&s.csv, names);
    if (name != SIZE_MAX && s.columns[name].text)
        pfc_plan_part_add(&plan, "", 0, name);
    for (size_t i = 0; i < s.csv.names_len; i++) {
        pfc_plan_metric *m;
        if (i == plan.time || i == plan.commit || i == plan.branch || i == name ||
            s.columns[i].text || !s.columns[i].filled || s.csv.names[i].len == 0)
            continue;
        m = add_metric(&plan, &s, i);
        /* Otava's default is "higher". A table that only resembles one of Otava's must name its
         * direction. */
        if (in->opts.format && strcmp(in->opts.format, "otava") == 0 && !in->opts.has_direction &&
            !pfc_import_nature(m->name, m->unit)) {
            m->has_direction = true;
            m->higher_is_better = true;
        }
    }
    return run_plan(in, &plan, &s);
}

const pfc_import_format pfc_import_otava = {
    .name = "otava", .match_text = match_otava, .read_text = read_otava, .bare = true
};

/* ---- one's own ---- */

/* A number that is a result: by its name, or because the caller said its direction. */
static bool is_metric(const pfc_import *in, const sniff *s, size_t i)
{
    const column *c = &s->columns[i];

    if (!c->filled || c->text || s->csv.names[i].len == 0)
        return false;
    for (size_t k = 0; k < in->opts.directions_len; k++) {
        if (pfc_span_is(s->csv.names[i], in->opts.directions[k].name))
            return true;
    }
    return says_something(s->csv.names[i]);
}

static bool match_csv(const char *text, size_t len)
{
    sniff s;
    bool is = false;

    if (sniff_table(text, len, '\0', '\0', &s) && is_table(&s)) {
        for (size_t i = 0; i < s.csv.names_len; i++)
            is = is || (s.columns[i].filled && !s.columns[i].text);
    }
    sniff_clear(&s);
    return is;
}

static void plan_own(pfc_import *in, pfc_plan *plan, const sniff *s)
{
    size_t metrics = 0;

    plan->commit = pfc_csv_column(&s->csv, commit_names);
    plan->branch = plan->commit == SIZE_MAX ? SIZE_MAX : pfc_csv_column1(&s->csv, "branch");
    for (size_t i = 0; i < s->csv.names_len; i++)
        metrics += i != plan->commit && is_metric(in, s, i);
    for (size_t i = 0; i < s->csv.names_len; i++) {
        const column *c = &s->columns[i];
        if (i == plan->commit || i == plan->branch)
            continue;
        const bool number = c->filled && !c->text;
        /* Where no name says what is a result, what is not whole is one; else the last number. */
        const bool taken =
            is_metric(in, s, i) || (metrics == 0 && number && s->csv.names[i].len > 0 &&
                                    (!c->whole || i + 1 == s->csv.names_len));
        if (taken) {
            add_metric(plan, s, i);
        } else if (s->csv.names[i].len > 0 && (c->text || c->filled)) {
            char *text =
                c->text ? pfc_strdup(plan->parts_len ? "/" : "")
                        : pfc_format("%s%s=", plan->parts_len ? " " : "", s->csv.names[i].text);
            if (number && !c->whole)
                pfc_import_note(in,
                                "column %.80s is taken as a parameter of the benchmark; if it is a "
                                "result, state which direction is better with --direction "
                                "NAME=higher or lower",
                                s->csv.names[i].text);
            pfc_plan_part_add(plan, text, strlen(text), i);
            pfc_plan_param_add(plan, i);
            free(text);
        }
    }
}

static pfc_code read_mapped(pfc_import *in, const char *text, size_t len)
{
    pfc_map *map = NULL;
    pfc_plan plan;
    sniff s = { .rows = 0 };
    pfc_code code;

    pfc_plan_init(&plan);
    plan.nameless = pfc_import_nameless(in, "csv");
    code = pfc_map_load(in->opts.map, in->opts.map_name ? in->opts.map_name : "map", &map, in->err);
    if (!code && !sniff_table(text, len, pfc_map_delimiter(map), pfc_map_quote(map), &s))
        code =
            pfc_err_set(in->err, PFC_EINVAL, "expected rows under a line with the columns' names");
    if (!code)
        code = pfc_map_plan(map, &s.csv, &plan, in->err);
    if (!code)
        code = pfc_plan_read(in, &plan, &s.csv);
    pfc_plan_clear(&plan);
    sniff_clear(&s);
    pfc_map_free(map);
    return code;
}

static pfc_code read_csv(pfc_import *in, const char *text, size_t len)
{
    pfc_plan plan;
    sniff s;

    if (in->opts.map)
        return read_mapped(in, text, len);
    pfc_plan_init(&plan);
    plan.nameless = pfc_import_nameless(in, "csv");
    if (!sniff_table(text, len, '\0', '\0', &s) || !is_table(&s)) {
        sniff_clear(&s);
        return pfc_err_set(in->err, PFC_EINVAL,
                           "expected rows under a line with the columns' names");
    }
    plan_own(in, &plan, &s);
    if (plan.metrics_len == 0) {
        pfc_plan_clear(&plan);
        sniff_clear(&s);
        return pfc_err_set(in->err, PFC_EINVAL,
                           "the table has no column of numbers; name the columns with --map");
    }
    return run_plan(in, &plan, &s);
}

const pfc_import_format pfc_import_csv = {
    .name = "csv", .match_text = match_csv, .read_text = read_csv, .bare = true
};
