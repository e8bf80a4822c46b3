/* The comparison of two commits or runs. */
#include "server/services/history/compare.h"

#include <math.h>
#include <string.h>

#include "core/comparison/comparison.h"
#include "server/handlers/handlers.h"
#include "server/handlers/results/compare_text.h"

static json_t *encode_side(const pfc_side_summary *s)
{
    return json_pack("{s:o, s:o, s:o, s:I, s:o, s:o, s:o}", "median", pfc_reply_number(s->median),
                     "low", pfc_reply_number(s->low), "high", pfc_reply_number(s->high), "n",
                     (json_int_t)s->n, "reproducibility", pfc_reply_string(s->reproducibility),
                     "series_id", pfc_encode_id(s->series_id), "backend",
                     pfc_reply_string(s->backend));
}

const char *pfc_compare_word(const pfc_compare_row *r)
{
    if (r->broken_a || r->broken_b)
        return "broken";
    switch (r->result.verdict) {
    case PFC_VERDICT_SAME:
        return "same";
    case PFC_VERDICT_DIFFERENT:
        return r->regression ? "regression" : "improvement";
    case PFC_VERDICT_INCONCLUSIVE:
        break;
    }
    return "inconclusive";
}

/* The sides that have no samples because the benchmark is broken there. */
static json_t *encode_broken(const pfc_compare_row *r)
{
    json_t *sides = json_array();

    if (r->broken_a)
        json_array_append_new(sides, json_string("a"));
    if (r->broken_b)
        json_array_append_new(sides, json_string("b"));
    return sides;
}

static json_t *encode_differences(const pfc_comparison *c)
{
    json_t *list = json_array();

    for (size_t i = 0; i < c->differs_len; i++) {
        const pfc_compare_difference *d = &c->differs[i];

        json_array_append_new(list,
                              json_pack("{s:o, s:o, s:o}", "field", pfc_reply_string(d->field), "a",
                                        pfc_reply_string(d->a), "b", pfc_reply_string(d->b)));
    }
    return list;
}

static json_t *encode_row(const pfc_compare_row *r)
{
    json_t *json =
        json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:o}", "series_id",
                  pfc_encode_id(r->series_id), "benchmark", pfc_reply_string(r->benchmark),
                  "metric", pfc_reply_string(r->metric), "backend", pfc_reply_string(r->backend),
                  "machine_class", pfc_reply_string(r->machine_class), "unit",
                  pfc_reply_string(r->unit), "direction", pfc_encode_direction(r->higher_is_better),
                  "exact", r->exact, "a", encode_side(&r->a), "b", encode_side(&r->b));

    json_object_set_new(json, "rel_change", pfc_reply_number(r->result.rel_change));
    json_object_set_new(json, "rel_low", pfc_reply_number(r->result.rel_low));
    json_object_set_new(json, "rel_high", pfc_reply_number(r->result.rel_high));
    json_object_set_new(json, "p", pfc_reply_number(r->result.p));
    json_object_set_new(json, "p_adjusted", pfc_reply_number(r->p_adjusted));
    json_object_set_new(json, "margin_rel", pfc_reply_number(r->margin_rel));
    json_object_set_new(json, "verdict", json_string(pfc_compare_word(r)));
    json_object_set_new(json, "noise_rel", pfc_reply_number(r->result.noise_rel));
    json_object_set_new(json, "detectable_rel", pfc_reply_number(r->result.detectable_rel));
    json_object_set_new(json, "between_rel", pfc_reply_number(r->between_rel));
    json_object_set_new(json, "machine_moved", json_boolean(r->moved));
    json_object_set_new(json, "more_runs",
                        isfinite(r->more_runs) && r->more_runs > 0
                            ? json_integer((json_int_t)r->more_runs)
                            : json_null());
    json_object_set_new(json, "reproducibility", pfc_reply_string(r->reproducibility));
    json_object_set_new(json, "broken", encode_broken(r));
    json_object_set_new(json, "reason", pfc_reply_string(r->reason));
    json_object_set_new(json, "fingerprint_differs", pfc_encode_texts(r->differs, r->differs_len));
    return json;
}

json_t *pfc_encode_summary(const pfc_comparison *c)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I}", "regression", (json_int_t)c->regressions,
                     "improvement", (json_int_t)c->improvements, "same", (json_int_t)c->same,
                     "inconclusive", (json_int_t)c->inconclusive, "broken", (json_int_t)c->broken);
}

static json_t *encode_target(const pfc_compare_side *side)
{
    return json_pack("{s:o, s:s, s:o, s:o, s:I}", "commit", pfc_reply_string(side->end.commit),
                     "kind", side->end.kind, "how", pfc_reply_string(side->end.how), "runs",
                     pfc_encode_texts(side->runs, side->runs_len), "hidden",
                     (json_int_t)side->hidden);
}

static json_t *encode_between(const pfc_ends_between *between)
{
    return json_pack("{s:o, s:o, s:b, s:o}", "branch", pfc_reply_string(between->branch), "commits",
                     between->commits < 0 ? json_null() : json_integer(between->commits),
                     "backwards", between->backwards, "sentence",
                     pfc_reply_string(between->sentence));
}

static json_t *encode_means(const pfc_comparison *c)
{
    json_t *list = json_array();

    for (size_t i = 0; i < c->means_len; i++) {
        const pfc_compare_mean *m = &c->means[i];

        json_array_append_new(
            list,
            json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:I}", "kernel",
                      pfc_reply_string(m->kernel), "backend", pfc_reply_string(m->backend),
                      "metric", pfc_reply_string(m->metric), "unit", pfc_reply_string(m->unit),
                      "direction", pfc_encode_direction(m->higher_is_better), "rel_change",
                      pfc_reply_number(m->rel_change), "n", (json_int_t)m->n, "left_out",
                      (json_int_t)m->left_out, "regressions", (json_int_t)m->regressions,
                      "improvements", (json_int_t)m->improvements));
    }
    return list;
}

static json_t *encode_functions(const pfc_comparison *c)
{
    json_t *list = json_array();

    for (size_t i = 0; i < c->functions.len; i++) {
        const pfc_sql_functions_between_row *f = &c->functions.items[i];

        json_array_append_new(list, pfc_cmp_function(f->name, f->before, f->after));
    }
    return list;
}

/* series 0: every row. */
static json_t *encode_comparison(const pfc_comparison *c, int64_t series)
{
    json_t *rows = json_array(), *doc;

    for (size_t i = 0; i < c->rows_len; i++) {
        if (!series || c->rows[i].series_id == series)
            json_array_append_new(rows, encode_row(&c->rows[i]));
    }
    doc = json_pack(
        "{s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "a", encode_target(&c->a), "b",
        encode_target(&c->b), "between", encode_between(&c->between), "across", c->across,
        "margin_rel", pfc_reply_number(c->margin_rel), "differs", encode_differences(c), "rows",
        rows, "means", encode_means(c), "only_a", pfc_encode_texts(c->only_a, c->only_a_len),
        "only_b", pfc_encode_texts(c->only_b, c->only_b_len), "summary", pfc_encode_summary(c));
    pfc_cmp_put_code(doc, c->object_code, encode_functions(c));
    return doc;
}

/* Takes doc. format NULL: json. */
static pfc_code answer_as(json_t *doc, const char *format, pfc_reply *reply, pfc_err *err)
{
    char *text = NULL;
    pfc_code code;

    if (!format || strcmp(format, "json") == 0)
        return pfc_reply_json(reply, 200, doc, err);
    if (strcmp(format, "csv") == 0) {
        code = pfc_reply_text(reply, 200, "text/csv; charset=utf-8; header=present",
                              pfc_compare_csv(doc));
    } else {
        code = pfc_compare_markdown(doc, &text, err);
        if (!code)
            code = pfc_reply_text(reply, 200, "text/markdown; charset=utf-8", text);
    }
    json_decref(doc);
    return code;
}

/* "NAME" for both ends, or "NAME_a" and "NAME_b". */
static pfc_code read_pair(const pfc_req *req, const char *const names[3], const char **a,
                          const char **b, pfc_err *err)
{
    const char *both = NULL;
    pfc_code code = pfc_req_query(req, names[0], PFC_WIRE_MAX_NAME, &both, err);

    if (!code)
        code = pfc_req_query(req, names[1], PFC_WIRE_MAX_NAME, a, err);
    if (!code)
        code = pfc_req_query(req, names[2], PFC_WIRE_MAX_NAME, b, err);
    if (!code && (!*a != !*b))
        return pfc_err_set_field(err, PFC_EINVAL, *a ? names[2] : names[1],
                                 "query: expected %s and %s together, or %s for both ends",
                                 names[1], names[2], names[0]);
    if (!code && *a && both)
        return pfc_err_set_field(err, PFC_EINVAL, names[0],
                                 "query: expected either %s for both ends, or %s and %s", names[0],
                                 names[1], names[2]);
    if (!code && both)
        *a = *b = both;
    return code;
}

static pfc_code read_ask(const pfc_req *req, pfc_compare_ask *ask, pfc_err *err)
{
    static const char *const backends[] = { "backend", "backend_a", "backend_b" };
    static const char *const classes[] = { "machine_class", "machine_class_a", "machine_class_b" };
    pfc_code code = pfc_req_query_required(req, "a", PFC_END_MAX_TEXT, &ask->a.text, err);
    if (!code)
        code = pfc_req_query_required(req, "b", PFC_END_MAX_TEXT, &ask->b.text, err);
    if (!code)
        code = read_pair(req, backends, &ask->a.backend, &ask->b.backend, err);
    if (!code)
        code = read_pair(req, classes, &ask->a.machine_class, &ask->b.machine_class, err);
    return code;
}

/* GET /api/v1/compare?project=&a=&b=&backend=&machine_class=&across=&series=&format= */
PFC_HANDLER(compare)
{
    const char *name = NULL, *format = NULL;
    int64_t project = 0, series = 0;
    pfc_compare_ask ask = { 0 };
    pfc_comparison comparison = { 0 };
    pfc_code code;

    code = pfc_req_query_i64(req, "series", 1, INT64_MAX, &series, err);
    if (!code)
        code = pfc_req_query_bool(req, "across", &ask.across, err);
    if (!code)
        code = pfc_req_query_required(req, "project", 64, &name, err);
    if (!code)
        code = read_ask(req, &ask, err);
    if (!code)
        code = pfc_req_query(req, "format", 16, &format, err);
    if (!code)
        code = pfc_decode_project(app, req, name, "project", &project, err);
    if (!code)
        code = pfc_compare(app->db, project, &ask, &comparison, err);
    if (!code)
        code = answer_as(encode_comparison(&comparison, series), format, reply, err);
    pfc_comparison_clear(&comparison);
    return code;
}
