/* Many series on one chart, and the names and values that expressions select by. */
#include "server/services/plot/plot.h"

#include <math.h>
#include <string.h>

#include "core/base/parse.h"
#include "core/select/select.h"
#include "server/handlers/handlers.h"
#include "server/services/history/ends.h"

/* Below, building an answer costs little more than reading the version of its data. */
#define KEEP_FROM_POINTS 20000

/* ---- lines ---- */

/* Where an answer in arrays has its columns. */
typedef struct arrays {
    unsigned char *bytes; /* owned */
    size_t len, cap, columns;
} arrays;

/* 32-bit little-endian floats. */
static void put_floats(unsigned char *out, const float *values, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        uint32_t bits;

        memcpy(&bits, &values[i], sizeof(bits));
        for (size_t k = 0; k < 4; k++)
            out[4 * i + k] = (unsigned char)(bits >> (8 * k));
    }
}

/* Appends the values as an array. Returns its number in the answer, from 0. */
static json_t *append_floats(arrays *out, const float *values, size_t len)
{
    const size_t bytes = len * sizeof(*values);

    while (out->cap - out->len < bytes)
        out->bytes = pfc_grow(out->bytes, out->cap, &out->cap, 1);
    put_floats(out->bytes + out->len, values, len);
    out->len += bytes;
    return json_integer((json_int_t)out->columns++);
}

/* Without `out`: base64 of the values as 32-bit little-endian floats, which takes a fifth of the
 * time of decimal numbers and less than half of the bytes. With `out`: append_floats. */
static json_t *encode_floats(arrays *out, const float *values, size_t len)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const size_t bytes = len * sizeof(*values);
    unsigned char *raw;
    char *text;
    size_t at = 0;
    json_t *json;

    if (out)
        return append_floats(out, values, len);
    raw = pfc_calloc(bytes + 3, 1);
    text = pfc_calloc((bytes + 2) / 3 * 4 + 1, 1);
    put_floats(raw, values, len);
    for (size_t i = 0; i < bytes; i += 3) {
        const uint32_t three =
            (uint32_t)raw[i] << 16 | (uint32_t)raw[i + 1] << 8 | (uint32_t)raw[i + 2];

        for (size_t k = 0; k < 4; k++)
            text[at++] = i + k > bytes ? '=' : digits[three >> (18 - 6 * k) & 63];
    }
    json = json_stringn_nocheck(text, at);
    free(text);
    free(raw);
    return json;
}

/* Null where each column has one value: the median is the lowest and the highest. */
static json_t *encode_edge(arrays *out, const float *edge, const float *median, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (edge[i] < median[i] || edge[i] > median[i])
            return encode_floats(out, edge, len);
    return json_null();
}

static json_t *encode_samples(const pfc_plot_line *l)
{
    json_t *list = json_array();

    for (size_t i = 0; i < l->samples_len; i++) {
        json_t *one = json_array();

        json_array_append_new(one, json_integer((json_int_t)l->samples[i].column));
        for (size_t k = 0; k < l->samples[i].len; k++)
            json_array_append_new(one, pfc_reply_number(l->samples[i].values[k]));
        json_array_append_new(list, one);
    }
    return list;
}

static json_t *encode_line(arrays *out, const pfc_plot_line *l, size_t columns)
{
    const pfc_plot_series *s = l->series;
    const bool one = l->params_json != NULL;
    /* one after the other: their order is that of the arrays */
    json_t *median = encode_floats(out, l->median, columns);
    json_t *low = encode_edge(out, l->low, l->median, columns);
    json_t *high = encode_edge(out, l->high, l->median, columns);

    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, "
        "s:o}",
        "series_id", pfc_encode_id(one ? s->id : 0), "key", pfc_reply_string(l->key), "benchmark",
        pfc_reply_string(one ? s->benchmark : NULL), "params", pfc_encode_json_text(l->params_json),
        "metric", pfc_reply_string(s->metric), "backend", pfc_reply_string(one ? s->backend : NULL),
        "machine_class", pfc_reply_string(s->machine_class), "unit", pfc_reply_string(s->unit),
        "direction", pfc_encode_direction(s->higher_is_better), "members", (json_int_t)l->members,
        "points", (json_int_t)l->points, "partial", (json_int_t)l->partial, "moved",
        (json_int_t)l->moved, "base", pfc_reply_number(l->base), "median", median, "low", low,
        "high", high, "samples", encode_samples(l));
}

static json_t *encode_columns(const pfc_sql_plot_commits_rows *rows)
{
    json_t *commit = json_array(), *position = json_array(), *time = json_array(),
           *subject = json_array();

    for (size_t i = 0; i < rows->len; i++) {
        json_array_append_new(commit, pfc_reply_string(rows->items[i].commit));
        json_array_append_new(position, json_integer(rows->items[i].position));
        json_array_append_new(time, pfc_encode_time(rows->items[i].time));
        json_array_append_new(subject, pfc_reply_string(rows->items[i].subject));
    }
    return json_pack("{s:o, s:o, s:o, s:o}", "commit", commit, "position", position, "time", time,
                     "subject", subject);
}

static json_t *encode_plot(arrays *out, const pfc_plot *p, const char *branch)
{
    json_t *lines = json_array(), *broken = json_array();

    for (size_t i = 0; i < p->len; i++)
        json_array_append_new(lines, encode_line(out, &p->lines[i], p->columns.len));
    for (size_t i = 0; i < p->marks_len; i++) {
        const pfc_plot_mark *m = &p->marks[i];

        json_array_append_new(
            broken, json_pack("{s:I, s:I, s:I, s:I, s:o}", "line", (json_int_t)m->line, "column",
                              (json_int_t)m->column, "position", (json_int_t)m->position, "run_id",
                              (json_int_t)m->run_id, "reason", pfc_reply_string(m->reason)));
    }
    return json_pack("{s:o, s:I, s:I, s:I, s:o, s:b, s:o, s:o, s:o}", "branch",
                     pfc_reply_string(branch), "matched", (json_int_t)p->matched, "left_out",
                     (json_int_t)p->left_out, "places", (json_int_t)p->places, "unknown",
                     pfc_encode_texts(p->unknown.items, p->unknown.len), "samples", p->samples,
                     "columns", encode_columns(&p->columns), "lines", lines, "broken", broken);
}

/* The length of the JSON as a 32-bit little-endian number, the JSON, filled up with blanks to a
 * multiple of 4 bytes, then the arrays: a browser uses them in place, and 200 lines take neither
 * the time of base64 nor that of gzip, which saves a third of base64 and nothing of floats. */
static pfc_code encode_arrays(const pfc_plot *p, const char *branch, pfc_reply *reply, pfc_err *err)
{
    arrays out = { 0 };
    json_t *json = encode_plot(&out, p, branch);
    char *head = json ? json_dumps(json, JSON_COMPACT) : NULL;
    size_t len = head ? strlen(head) : 0, whole = (len + 3) / 4 * 4;
    char *body = NULL;

    json_decref(json);
    if (head) {
        body = pfc_calloc(4 + whole + out.len, 1);
        for (size_t k = 0; k < 4; k++)
            body[k] = (char)(unsigned char)(whole >> (8 * k));
        memset(body + 4, ' ', whole);
        memcpy(body + 4, head, len);
        if (out.len)
            memcpy(body + 4 + whole, out.bytes, out.len);
    }
    free(out.bytes);
    free(head);
    if (!body)
        return pfc_err_set(err, PFC_EBUG, "plot: a value could not be encoded as JSON");
    return pfc_reply_bytes(reply, 200, PFC_ARRAYS_TYPE, body, 4 + whole + out.len);
}

static pfc_code decode_format(const pfc_req *req, bool *in_arrays, pfc_err *err)
{
    const char *format = NULL;
    pfc_code code = pfc_req_query(req, "format", 16, &format, err);

    if (!code && format && strcmp(format, "json") != 0 && strcmp(format, "arrays") != 0)
        code = pfc_err_set_field(err, PFC_EINVAL, "format",
                                 "format: expected json or arrays, got \"%s\"", format);
    *in_arrays = format && strcmp(format, "arrays") == 0;
    return code;
}

static pfc_code decode_opts(const pfc_req *req, pfc_plot_opts *o, pfc_err *err)
{
    const struct {
        const char *name;
        size_t most;
        const char **out;
    } texts[] = {
        { "select", PFC_SELECT_MAX_BYTES, &o->select },
        { "from", 64, &o->from },
        { "to", 64, &o->to },
        { "relative", PFC_END_MAX_TEXT, &o->relative },
        { "group", PFC_WIRE_MAX_NAME, &o->group },
    };
    int64_t columns = 0, cells = 0;
    pfc_code code = pfc_req_query_i64(req, "points", 1, PFC_PLOT_MAX_COLUMNS, &columns, err);

    if (!code)
        code = pfc_req_query_i64(req, "cells", 1, PFC_PLOT_MAX_CELLS, &cells, err);
    for (size_t i = 0; i < PFC_ARRAY_LEN(texts) && !code; i++)
        code = pfc_req_query(req, texts[i].name, texts[i].most, texts[i].out, err);
    if (!code)
        code = pfc_req_query_bool(req, "samples", &o->samples, err);
    o->columns = (int)columns;
    o->cells = (int)cells;
    return code;
}

/* A tag, branch or date becomes its commit before the answer is kept, because it may be another one
 * later. */
static pfc_code find_relative(pfc_db *db, int64_t project, pfc_plot_opts *o, pfc_end *end,
                              pfc_err *err)
{
    pfc_code code = PFC_OK;

    if (!o->relative || pfc_is_hex_id(o->relative))
        return PFC_OK;
    code = pfc_end_find(db, project, &(pfc_end_ask){ .text = o->relative }, "relative", end, err);
    o->relative = end->commit;
    return code;
}

/* The question, on which an answer depends beside the data: each part with its length, so that no
 * two questions have one key. */
static char *key_of(int64_t project, const pfc_plot_opts *o, bool in_arrays)
{
    const char *const texts[] = { o->branch, o->select, o->from, o->to, o->relative, o->group };
    pfc_buf key;

    pfc_buf_init(&key, PFC_KEPT_MAX_KEY);
    pfc_buf_printf(&key, "plot %lld %d %d %d %d", (long long)project, o->columns, o->cells,
                   o->samples, in_arrays);
    for (size_t i = 0; i < PFC_ARRAY_LEN(texts); i++)
        pfc_buf_printf(&key, " %zu:%s", texts[i] ? strlen(texts[i]) + 1 : 0,
                       texts[i] ? texts[i] : "");
    return pfc_buf_take(&key);
}

/* True: the reply is the kept answer, and the data has not changed since it was built. */
static pfc_code find_kept(pfc_app *app, int64_t project, const pfc_plot_opts *o, const char *key,
                          pfc_reply *reply, bool *found, pfc_err *err)
{
    char *version = NULL;
    pfc_code code;

    *found = false;
    if (!pfc_kept_has(app->kept, key))
        return PFC_OK;
    code = pfc_plot_version(app->db, project, o->branch, &version, err);
    if (!code)
        *found = pfc_kept_find(app->kept, key, version, reply);
    free(version);
    return code;
}

static pfc_code build(pfc_app *app, int64_t project, const pfc_plot_opts *opts, bool in_arrays,
                      const char *key, pfc_reply *reply, pfc_err *err)
{
    pfc_plot plot = { 0 };
    pfc_code code = pfc_plot_read(app->db, project, opts, &plot, err);

    if (!code && in_arrays)
        code = encode_arrays(&plot, opts->branch, reply, err);
    else if (!code)
        code = pfc_reply_json(reply, 200, encode_plot(NULL, &plot, opts->branch), err);
    if (!code && plot.read >= KEEP_FROM_POINTS)
        pfc_kept_put(app->kept, key, plot.version, reply);
    pfc_plot_clear(&plot);
    return code;
}

/* GET /api/v1/projects/{p}/plot */
PFC_HANDLER(plot)
{
    pfc_plot_opts opts = { 0 };
    pfc_projects row = { 0 };
    pfc_end relative = { 0 };
    char *key = NULL;
    bool found = false, in_arrays = false;
    int64_t project = 0;
    pfc_code code = decode_opts(req, &opts, err);

    if (!code)
        code = decode_format(req, &in_arrays, err);
    if (!code)
        code = pfc_decode_branch(app, req, &project, &opts.branch, &row, err);
    if (!code)
        code = find_relative(app->db, project, &opts, &relative, err);
    if (!code) {
        key = key_of(project, &opts, in_arrays);
        code = find_kept(app, project, &opts, key, reply, &found, err);
    }
    if (!code && !found)
        code = build(app, project, &opts, in_arrays, key, reply, err);
    free(key);
    pfc_end_clear(&relative);
    pfc_rows_clear(&row);
    return code;
}

/* ---- names ---- */

static json_t *encode_name(const pfc_plot_name *n)
{
    json_t *values = json_array();

    for (size_t i = 0; i < n->len; i++)
        json_array_append_new(values,
                              json_pack("{s:o, s:I}", "value", pfc_reply_string(n->values[i].text),
                                        "series", (json_int_t)n->values[i].series));
    return json_pack("{s:o, s:b, s:I, s:I, s:o}", "name", pfc_reply_string(n->name), "numeric",
                     n->numeric, "series", (json_int_t)n->series, "left_out",
                     (json_int_t)n->left_out, "values", values);
}

/* GET /api/v1/projects/{p}/plot/names */
PFC_HANDLER(plot_names)
{
    pfc_projects row = { 0 };
    pfc_plot_names names = { 0 };
    const char *branch = NULL;
    int64_t project = 0;
    json_t *list;
    pfc_code code = pfc_decode_branch(app, req, &project, &branch, &row, err);

    if (!code)
        code = pfc_plot_names_read(app->db, project, branch, &names, err);
    if (!code) {
        list = json_array();
        for (size_t i = 0; i < names.len; i++)
            json_array_append_new(list, encode_name(&names.items[i]));
        code = pfc_reply_json(reply, 200,
                              json_pack("{s:o, s:I, s:o}", "branch", pfc_reply_string(branch),
                                        "series", (json_int_t)names.series, "names", list),
                              err);
    }
    pfc_plot_names_clear(&names);
    pfc_rows_clear(&row);
    return code;
}
