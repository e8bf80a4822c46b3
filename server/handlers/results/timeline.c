/* A part of the time of a trace, in columns. */
#include <math.h>
#include <stdlib.h>

#include "server/handlers/results/traces.h"

#define CELLS_DEFAULT 500
#define CALLS_MAX     5000 /* of an answer */
#define FOUND_MAX     200  /* likewise */
#define FIND_MAX      127  /* bytes of a name */

/* ---- names: each once in the answer ---- */

typedef struct names {
    const pfc_trace_view *view;
    uint32_t *at; /* by the name's number: position + 1; owned */
    json_t *list;
} names;

static json_t *name_of(names *n, const pfc_trace_view_slice *slice)
{
    uint32_t *at = &n->at[slice->name];

    if (*at == 0) {
        size_t len;
        const char *name = pfc_trace_view_name(n->view, slice, &len);

        json_array_append_new(n->list, json_stringn(name, len));
        *at = (uint32_t)json_array_size(n->list);
    }
    return json_integer((json_int_t)*at - 1);
}

/* ---- slices in columns ---- */

typedef struct columns {
    json_t *line; /* NULL: all are of one line */
    json_t *begin, *end, *name, *corr, *unfinished;
} columns;

static columns columns_new(bool lines)
{
    return (columns){ .line = lines ? json_array() : NULL,
                      .begin = json_array(),
                      .end = json_array(),
                      .name = json_array(),
                      .corr = json_array(),
                      .unfinished = json_array() };
}

static void columns_add(columns *c, names *n, size_t line, const pfc_trace_view_slice *s)
{
    if (c->line)
        json_array_append_new(c->line, json_integer((json_int_t)line));
    if (s->unfinished)
        json_array_append_new(c->unfinished, json_integer((json_int_t)json_array_size(c->begin)));
    json_array_append_new(c->begin, json_integer(s->begin_ns));
    json_array_append_new(c->end, json_integer(s->end_ns));
    json_array_append_new(c->name, name_of(n, s));
    json_array_append_new(c->corr, json_integer((json_int_t)s->corr));
}

static json_t *columns_take(columns *c)
{
    json_t *json = json_pack("{s:o, s:o, s:o, s:o, s:o}", "begin", c->begin, "end", c->end, "name",
                             c->name, "correlation", c->corr, "unfinished", c->unfinished);

    if (c->line)
        json_object_set_new(json, "line", c->line);
    return json;
}

/* ---- calls of the host that the slices refer to ---- */

typedef struct corrs {
    uint32_t *items;
    size_t len, cap;
} corrs;

static int by_number(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a;
    const uint32_t y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static void corrs_add(corrs *c, uint32_t corr)
{
    if (corr == 0 || (c->len > 0 && c->items[c->len - 1] == corr))
        return;
    c->items = pfc_grow(c->items, c->len, &c->cap, sizeof(*c->items));
    c->items[c->len++] = corr;
}

static json_t *encode_calls(const pfc_trace_view *v, names *n, corrs *c)
{
    columns out = columns_new(true);
    size_t added = 0;

    if (c->len > 0)
        qsort(c->items, c->len, sizeof(*c->items), by_number);
    for (size_t i = 0; i < c->len && added < CALLS_MAX; i++) {
        const pfc_trace_view_call *call;

        if (i > 0 && c->items[i] == c->items[i - 1])
            continue;
        call = pfc_trace_view_call_of(v, c->items[i]);
        if (!call)
            continue;
        columns_add(&out, n, call->line, &v->lines[call->line].slices[call->slice]);
        added++;
    }
    return columns_take(&out);
}

/* ---- lines ---- */

static const char *const kinds[] = { "slices", "waits", "states", "points" };

static json_t *encode_slices(const pfc_trace_view *v, const pfc_trace_view_window *w, size_t line,
                             names *n, corrs *c)
{
    const pfc_trace_view_line *l = &v->lines[line];
    columns out = columns_new(false);

    for (size_t i = w->parts[line].first; i < w->parts[line].end; i++) {
        if (!pfc_trace_view_shows(w, &l->slices[i]))
            continue;
        columns_add(&out, n, line, &l->slices[i]);
        corrs_add(c, l->slices[i].corr);
    }
    return columns_take(&out);
}

static json_t *encode_cells(const pfc_trace_view_part *part)
{
    json_t *at = json_array(), *count = json_array(), *busy = json_array();

    for (size_t i = 0; i < part->cells_len; i++) {
        json_array_append_new(at, json_integer((json_int_t)part->cells[i].at));
        json_array_append_new(count, json_integer((json_int_t)part->cells[i].count));
        json_array_append_new(busy, json_integer(llround(part->cells[i].busy * 1000)));
    }
    return json_pack("{s:o, s:o, s:o}", "at", at, "count", count, "busy", busy);
}

static json_t *encode_lines(const pfc_trace_view *v, const pfc_trace_view_window *w, names *n,
                            corrs *c)
{
    json_t *list = json_array();

    for (size_t i = 0; i < v->lines_len; i++) {
        const pfc_trace_view_line *l = &v->lines[i];
        const pfc_trace_view_part *part = &w->parts[i];

        json_array_append_new(
            list, json_pack("{s:I, s:s, s:i, s:I, s:I, s:o, s:o}", "unit", (json_int_t)l->unit,
                            "kind", kinds[l->kind], "number", (int)l->number, "total",
                            (json_int_t)l->len, "shown", (json_int_t)part->shown, "slices",
                            part->cells ? json_null() : encode_slices(v, w, i, n, c), "cells",
                            part->cells ? encode_cells(part) : json_null()));
    }
    return list;
}

/* ---- counters ---- */

static json_t *encode_values(const pfc_trace_view_series *s, const pfc_trace_view_levels *l)
{
    json_t *ns = json_array(), *value = json_array();

    for (size_t i = l->first; i < l->end; i++) {
        json_array_append_new(ns, json_integer(s->values[i].ns));
        json_array_append_new(value, pfc_reply_number(s->values[i].value));
    }
    return json_pack("{s:o, s:o}", "ns", ns, "value", value);
}

static json_t *encode_ranges(const pfc_trace_view_levels *l)
{
    json_t *at = json_array(), *low = json_array(), *high = json_array();

    for (size_t i = 0; i < l->ranges_len; i++) {
        json_array_append_new(at, json_integer((json_int_t)l->ranges[i].at));
        json_array_append_new(low, pfc_reply_number(l->ranges[i].low));
        json_array_append_new(high, pfc_reply_number(l->ranges[i].high));
    }
    return json_pack("{s:o, s:o, s:o}", "at", at, "low", low, "high", high);
}

static json_t *encode_counters(const pfc_trace_view *v, const pfc_trace_view_window *w)
{
    json_t *list = json_array();

    for (size_t i = 0; i < v->series_len; i++) {
        const pfc_trace_view_series *s = &v->series[i];
        const pfc_trace_view_levels *l = &w->levels[i];

        json_array_append_new(
            list,
            json_pack("{s:I, s:s, s:s, s:o, s:o, s:o}", "unit", (json_int_t)s->unit, "name",
                      s->name, "measure", s->measure, "before",
                      l->first > 0 ? pfc_reply_number(s->values[l->first - 1].value) : json_null(),
                      "values", l->ranges ? json_null() : encode_values(s, l), "ranges",
                      l->ranges ? encode_ranges(l) : json_null()));
    }
    return list;
}

/* ---- the answer ---- */

typedef struct question {
    int64_t from_ns, to_ns, cells;
    const char *find; /* NULL: nothing */
} question;

static json_t *encode_found(const pfc_trace_view *v, const char *text, names *n)
{
    pfc_trace_view_match *found = NULL;
    columns out;
    size_t len = 0;
    size_t all = 0;
    json_t *json;

    if (!text || !text[0])
        return json_null();
    pfc_trace_view_find(v, text, FOUND_MAX, &found, &len, &all);
    out = columns_new(true);
    for (size_t i = 0; i < len; i++)
        columns_add(&out, n, found[i].line, &v->lines[found[i].line].slices[found[i].slice]);
    json = columns_take(&out);
    json_object_set_new(json, "all", json_integer((json_int_t)all));
    free(found);
    return json;
}

static json_t *encode_timeline(const pfc_trace_view *v, const question *q)
{
    names n = { v, pfc_calloc(PFC_TRACE_VIEW_NAMES, sizeof(*n.at)), json_array() };
    pfc_trace_view_window w = { 0 };
    corrs c = { 0 };
    json_t *lines;
    json_t *calls;
    json_t *json;

    pfc_trace_view_window_of(v, q->from_ns, q->to_ns, (size_t)q->cells, &w);
    lines = encode_lines(v, &w, &n, &c);
    calls = encode_calls(v, &n, &c);
    json = json_pack("{s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o}", "span_ns", (json_int_t)v->span_ns,
                     "from", (json_int_t)w.from_ns, "to", (json_int_t)w.to_ns, "cells",
                     (json_int_t)w.cells, "lines", lines, "calls", calls, "counters",
                     encode_counters(v, &w), "found", encode_found(v, q->find, &n));
    json_object_set_new(json, "names", n.list);
    pfc_trace_view_window_clear(v, &w);
    free(n.at);
    free(c.items);
    return json;
}

static pfc_code decode_question(const pfc_req *req, question *q, pfc_err *err)
{
    pfc_code code = pfc_req_query_i64(req, "from", 0, INT64_MAX, &q->from_ns, err);

    if (!code)
        code = pfc_req_query_i64(req, "to", 1, INT64_MAX, &q->to_ns, err);
    if (!code)
        code = pfc_req_query_i64(req, "cells", 1, PFC_TRACE_VIEW_CELLS, &q->cells, err);
    if (!code)
        code = pfc_req_query(req, "find", FIND_MAX, &q->find, err);
    if (!code && q->to_ns <= q->from_ns)
        code = pfc_err_set_field(err, PFC_EINVAL, "to",
                                 "to: expected a time after from, which is %lld ns, got %lld ns",
                                 (long long)q->from_ns, (long long)q->to_ns);
    return code;
}

/* GET /api/v1/traces/{id}/timeline */
PFC_HANDLER(traces_timeline)
{
    question q = { .to_ns = INT64_MAX, .cells = CELLS_DEFAULT };
    pfc_trace_rows row = { 0 };
    pfc_trace_held held = { 0 };
    pfc_code code = decode_question(req, &q, err);

    if (!code)
        code = pfc_path_trace(app, req, &row, err);
    if (!code)
        code = pfc_trace_hold(app->db, app->traces, row.items[0].id, &held, err);
    if (!code)
        code = pfc_reply_json(reply, 200, encode_timeline(held.view, &q), err);
    pfc_trace_drop(&held);
    pfc_rows_clear(&row);
    return code;
}
