/* Rows into measurements by a plan. */
#include "core/import/csv/csv_plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/parse.h"

#define MAX_PARAM_BYTES 100
#define MAX_LABEL       200 /* bytes of a column's name in which nested brackets are searched */

void pfc_plan_init(pfc_plan *plan)
{
    *plan =
        (pfc_plan){ .backend = SIZE_MAX, .time = SIZE_MAX, .commit = SIZE_MAX, .branch = SIZE_MAX };
}

void pfc_plan_clear(pfc_plan *plan)
{
    for (size_t i = 0; i < plan->parts_len; i++)
        free(plan->parts[i].text);
    for (size_t i = 0; i < plan->metrics_len; i++) {
        free(plan->metrics[i].name);
        free(plan->metrics[i].unit);
    }
    for (size_t i = 0; i < plan->filters_len; i++) {
        for (size_t k = 0; k < plan->filters[i].values_len; k++)
            free(plan->filters[i].values[k]);
        free(plan->filters[i].values);
    }
    free(plan->parts);
    free(plan->metrics);
    free(plan->filters);
    free(plan->params);
    pfc_plan_init(plan);
}

void pfc_plan_part_add(pfc_plan *plan, const char *text, size_t len, size_t column)
{
    plan->parts = pfc_realloc(plan->parts, plan->parts_len + 1, sizeof(*plan->parts));
    plan->parts[plan->parts_len++] = (pfc_plan_part){ pfc_strndup(text, len), column };
}

pfc_plan_metric *pfc_plan_metric_add(pfc_plan *plan, size_t column, pfc_span name)
{
    plan->metrics = pfc_realloc(plan->metrics, plan->metrics_len + 1, sizeof(*plan->metrics));
    plan->metrics[plan->metrics_len] =
        (pfc_plan_metric){ .column = column, .name = pfc_span_dup(name), .scale = 1.0 };
    return &plan->metrics[plan->metrics_len++];
}

pfc_plan_filter *pfc_plan_filter_add(pfc_plan *plan, size_t column)
{
    plan->filters = pfc_realloc(plan->filters, plan->filters_len + 1, sizeof(*plan->filters));
    plan->filters[plan->filters_len] = (pfc_plan_filter){ .column = column };
    return &plan->filters[plan->filters_len++];
}

void pfc_plan_filter_value(pfc_plan_filter *filter, const char *value, size_t len)
{
    filter->values = pfc_realloc(filter->values, filter->values_len + 1, sizeof(char *));
    filter->values[filter->values_len++] = pfc_strndup(value, len);
}

void pfc_plan_param_add(pfc_plan *plan, size_t column)
{
    plan->params = pfc_realloc(plan->params, plan->params_len + 1, sizeof(*plan->params));
    plan->params[plan->params_len++] = column;
}

/* ---- time ---- */

bool pfc_plan_time(pfc_span cell, double *unix_s)
{
    char text[64];
    int y = 0, mo = 0, d = 0, h = 0, mi = 0, s = 0, used = 0, zh = 0, zm = 0;
    char sign[2] = "+";
    struct tm tm = { 0 };
    double number = 0.0;

    cell = pfc_span_trim(cell);
    if (cell.len == 0 || cell.len >= sizeof(text))
        return false;
    memcpy(text, cell.text, cell.len);
    text[cell.len] = '\0';
    if (pfc_parse_rfc3339(text, "time", unix_s, NULL) == PFC_OK)
        return true;
    if (pfc_span_number(cell, &number) == PFC_NUMBER) {
        if (number > 1e11) /* milliseconds: as seconds that would be after the year 5000 */
            number /= 1000.0;
        *unix_s = number;
        return number >= 1e8; /* before 1973: a number below this is not taken for a Unix time */
    }
    if (sscanf(text, "%4d%*1[-./]%2d%*1[-./]%2d%n", &y, &mo, &d, &used) != 3 || y < 1970 ||
        mo < 1 || mo > 12 || d < 1 || d > 31)
        return false;
    if (text[used]) {
        int more = 0;
        if (sscanf(text + used, "%*1[ T]%2d:%2d%n", &h, &mi, &more) != 2)
            return false;
        used += more;
        more = 0;
        if (sscanf(text + used, ":%2d%n", &s, &more) == 1)
            used += more;
        if (text[used] == '.') {
            used++;
            used += (int)strspn(text + used, "0123456789");
        }
        if (sscanf(text + used, " %1[+-]%2d:%2d", sign, &zh, &zm) < 3 &&
            sscanf(text + used, " %1[+-]%2d%2d", sign, &zh, &zm) < 1)
            sign[0] = '+';
    }
    tm = (struct tm){
        .tm_year = y - 1900, .tm_mon = mo - 1, .tm_mday = d, .tm_hour = h, .tm_min = mi, .tm_sec = s
    };
    *unix_s = (double)timegm(&tm) - (sign[0] == '-' ? -1 : 1) * (zh * 3600 + zm * 60);
    return true;
}

void pfc_import_date(pfc_import *in, const char *text)
{
    double unix_s = 0.0;

    if (text && pfc_plan_time((pfc_span){ text, strlen(text) }, &unix_s))
        in->run->started_at = in->run->finished_at = unix_s;
}

/* ---- columns' names ---- */

/* Returns the position of the bracket that the last byte closes, or 0 if there is none after a
 * name. */
static size_t opening(pfc_span s, char open, char close)
{
    size_t depth = 0;

    for (size_t i = s.len; i-- > 1;) {
        depth += s.text[i] == close;
        if (s.text[i] == open && --depth == 0)
            return i;
    }
    return 0;
}

/* Text in brackets that names a statistic and not a unit. */
static bool is_statistic(pfc_span s)
{
    static const char *const words[] = { "mean", "avg",    "average", "median", "min",
                                         "max",  "stddev", "std",     "total",  "sum" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(words); i++) {
        if (pfc_span_is_nocase(s, words[i]))
            return true;
    }
    return s.len > 1 && (s.text[0] == 'p' || s.text[0] == 'P') && s.text[1] >= '0' &&
           s.text[1] <= '9';
}

void pfc_plan_unit(pfc_span column, pfc_span *name, pfc_span *unit)
{
    const char close = column.len ? column.text[column.len - 1] : '\0';
    const char open = close == ')' ? '(' : close == ']' ? '[' : '\0';
    const size_t at = open ? opening(column, open, close) : 0;
    double scale = 0.0;
    char *whole;

    *name = column;
    *unit = (pfc_span){ "", 0 };
    if (at > 0) {
        const pfc_span inside =
            pfc_span_trim((pfc_span){ column.text + at + 1, column.len - at - 2 });
        pfc_span label = inside;
        if (is_statistic(inside))
            return;
        *name = pfc_span_trim((pfc_span){ column.text, at });
        /* "triton (execution time (ms))": Triton puts the plot's label there. */
        if (inside.len > 0 && inside.len < MAX_LABEL && strchr(")]", inside.text[inside.len - 1]))
            pfc_plan_unit(inside, &label, unit);
        else
            *unit = inside;
        return;
    }
    /* A column whose name is its unit: "GFLOPs", "ms". A single letter is never a unit, because "s"
     * or "B" is more often a name. */
    whole = pfc_span_dup(column);
    if (column.len > 1 && strcmp(pfc_import_unit_base(whole, &scale), whole) != 0)
        *unit = column;
    free(whole);
}

/* ---- rows ---- */

typedef struct state {
    pfc_import *in;
    const pfc_plan *plan;
    const pfc_csv *csv;
    pfc_buf name;
    pfc_buf backend;
    pfc_buf point; /* commit, branch and time of the last row */
    pfc_buf this_point;
} state;

static bool filter_holds(const pfc_plan_filter *f, pfc_span cell)
{
    for (size_t i = 0; i < f->values_len; i++) {
        if (pfc_span_is_nocase(cell, f->values[i]))
            return true;
    }
    return false;
}

/* pandas writes whole numbers with six decimals. */
static pfc_span without_zeros(pfc_span cell)
{
    const size_t dot = pfc_span_find(cell, ".");

    for (size_t i = dot + 1; i < cell.len; i++) {
        if (cell.text[i] != '0')
            return cell;
    }
    return (pfc_span){ cell.text, dot };
}

static const char *benchmark_of(state *s)
{
    const pfc_plan *plan = s->plan;

    pfc_buf_reset(&s->name);
    for (size_t i = 0; i < plan->parts_len; i++) {
        pfc_span cell = pfc_span_trim(pfc_csv_cell(s->csv, plan->parts[i].column));
        if (plan->whole_names)
            cell = without_zeros(cell);
        pfc_buf_puts(&s->name, plan->parts[i].text);
        pfc_buf_append(&s->name, cell.text, cell.len);
    }
    return s->name.len ? pfc_buf_text(&s->name) : plan->nameless;
}

static pfc_code row_point(state *s)
{
    const pfc_plan *plan = s->plan;
    const pfc_span commit = pfc_csv_cell(s->csv, plan->commit);
    const pfc_span branch = pfc_csv_cell(s->csv, plan->branch);
    const pfc_span time = pfc_csv_cell(s->csv, plan->time);
    double unix_s = 0.0;
    char *c;
    char *b;
    pfc_code code;

    if (plan->commit == SIZE_MAX && plan->time == SIZE_MAX)
        return PFC_OK;
    pfc_buf_reset(&s->this_point);
    pfc_buf_append(&s->this_point, commit.text, commit.len);
    pfc_buf_putc(&s->this_point, '\n');
    pfc_buf_append(&s->this_point, branch.text, branch.len);
    pfc_buf_putc(&s->this_point, '\n');
    pfc_buf_append(&s->this_point, time.text, time.len);
    if (s->point.len == s->this_point.len &&
        memcmp(pfc_buf_text(&s->point), pfc_buf_text(&s->this_point), s->point.len) == 0)
        return PFC_OK;
    pfc_buf_reset(&s->point);
    pfc_buf_append(&s->point, pfc_buf_text(&s->this_point), s->this_point.len);
    if (plan->time != SIZE_MAX && time.len > 0 && !pfc_plan_time(time, &unix_s))
        return pfc_err_set(s->in->err, PFC_EINVAL,
                           "line %zu: expected a date or Unix seconds, got '%.*s'", s->csv->line,
                           (int)PFC_MIN(time.len, (size_t)40), time.text);
    c = pfc_span_dup(pfc_span_trim(commit));
    b = pfc_span_dup(pfc_span_trim(branch));
    code = pfc_import_point(s->in, c, b, unix_s);
    free(c);
    free(b);
    return code;
}

static void add_params(state *s, pfc_measurement *m)
{
    const pfc_plan *plan = s->plan;

    if (!m || m->samples_len != 1)
        return;
    for (size_t i = 0; i < plan->params_len && i < 32; i++) {
        const pfc_span cell = pfc_span_trim(pfc_csv_cell(s->csv, plan->params[i]));
        char *value;
        if (cell.len == 0 || cell.len > MAX_PARAM_BYTES)
            continue;
        value = pfc_span_dup(cell);
        pfc_import_param(m, s->csv->names[plan->params[i]].text, value);
        free(value);
    }
}

static pfc_code read_metric(state *s, const pfc_plan_metric *metric, pfc_import_key *key)
{
    const pfc_span cell = pfc_csv_cell(s->csv, metric->column);
    double value = 0.0;
    pfc_code code;

    key->metric = metric->name;
    key->unit = metric->unit;
    key->has_direction = metric->has_direction;
    key->higher_is_better = metric->higher_is_better;
    switch (pfc_span_number(cell, &value)) {
    case PFC_NUMBER:
        code = pfc_import_sample(s->in, key, value * metric->scale);
        if (!code && s->plan->params_len)
            add_params(s, s->in->last); /* a second look-up would cost as much as the rest */
        return code;
    case PFC_NUMBER_NONE:
        /* An empty cell means that there was nothing to measure, "nan" that the measurement gave no
         * value. */
        if (pfc_span_trim(cell).len == 0)
            return PFC_OK;
        return pfc_import_failed(s->in, key, PFC_STATUS_SKIPPED,
                                 "the value is not a finite number");
    case PFC_NUMBER_NO_NUMBER:
    default:
        return pfc_err_set(s->in->err, PFC_EINVAL,
                           "line %zu, column %.80s: expected a number, got '%.*s'", s->csv->line,
                           s->csv->names[metric->column].text, (int)PFC_MIN(cell.len, (size_t)40),
                           cell.text);
    }
}

static pfc_code read_row(state *s)
{
    const pfc_plan *plan = s->plan;
    pfc_import_key key = { .benchmark = benchmark_of(s) };
    const pfc_span backend = pfc_span_trim(pfc_csv_cell(s->csv, plan->backend));
    bool broken = false;
    pfc_code code;

    for (size_t i = 0; i < plan->filters_len; i++) {
        const pfc_plan_filter *f = &plan->filters[i];
        if (filter_holds(f, pfc_span_trim(pfc_csv_cell(s->csv, f->column))) != f->broken)
            continue;
        if (!f->broken)
            return PFC_OK;
        broken = true;
    }
    if (s->csv->cells_len == 1 && s->csv->names_len > 1)
        return PFC_OK; /* other output after the table */
    code = row_point(s);
    if (backend.len) {
        pfc_buf_reset(&s->backend);
        pfc_buf_append(&s->backend, backend.text, backend.len);
        key.backend = pfc_buf_text(&s->backend);
    }
    for (size_t i = 0; i < plan->metrics_len && !code; i++) {
        if (broken) {
            key.metric = plan->metrics[i].name;
            key.unit = plan->metrics[i].unit;
            key.has_direction = plan->metrics[i].has_direction;
            key.higher_is_better = plan->metrics[i].higher_is_better;
            code = pfc_import_failed(s->in, &key, PFC_STATUS_BROKEN, "its row says that it failed");
        } else {
            code = read_metric(s, &plan->metrics[i], &key);
        }
    }
    return code;
}

pfc_code pfc_plan_read(pfc_import *in, const pfc_plan *plan, pfc_csv *csv)
{
    state s = { .in = in, .plan = plan, .csv = csv };
    bool more = false;
    pfc_code code;

    pfc_buf_init(&s.name, 16 * PFC_WIRE_MAX_TEXT);
    pfc_buf_init(&s.backend, PFC_WIRE_MAX_TEXT);
    pfc_buf_init(&s.point, 4 * PFC_WIRE_MAX_TEXT);
    pfc_buf_init(&s.this_point, 4 * PFC_WIRE_MAX_TEXT);
    while ((code = pfc_csv_row(csv, &more, in->err)) == PFC_OK && more) {
        code = read_row(&s);
        if (code)
            break;
    }
    pfc_buf_clear(&s.name);
    pfc_buf_clear(&s.backend);
    pfc_buf_clear(&s.point);
    pfc_buf_clear(&s.this_point);
    return code;
}
