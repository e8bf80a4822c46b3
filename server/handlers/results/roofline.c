/* The roofline of a branch. */
#include "server/services/plot/roofline.h"

#include <math.h>

#include "core/select/select.h"
#include "server/handlers/handlers.h"
#include "server/services/history/ends.h"

/* The commits that both are read at; without text: none. */
typedef struct roofline_ends {
    const char *text[2];
    pfc_end found[2];
} roofline_ends;

static const char *const end_names[] = { "a", "b" };

static json_t *encode_place(size_t place)
{
    return place == SIZE_MAX ? json_null() : json_integer((json_int_t)place);
}

static json_t *encode_point(const pfc_roofline_point *p)
{
    const bool limited = isfinite(p->limit);

    if (p->run_id == 0)
        return json_null();
    return json_pack("{s:o, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "commit",
                     pfc_reply_string(p->commit), "position", (json_int_t)p->position, "run_id",
                     (json_int_t)p->run_id, "value", pfc_reply_number(p->value), "operations",
                     pfc_reply_number(p->operations), "bytes", pfc_reply_number(p->bytes),
                     "intensity", pfc_reply_number(p->intensity), "rate", pfc_reply_number(p->rate),
                     "limit", pfc_reply_number(p->limit), "fraction",
                     pfc_reply_number(limited ? p->rate / p->limit : (double)NAN), "compute",
                     encode_place(p->compute), "memory", encode_place(p->memory), "limited_by",
                     pfc_reply_string(!limited       ? NULL
                                      : p->by_memory ? "memory"
                                                     : "compute"));
}

static json_t *encode_row(const pfc_roofline_row *row)
{
    const pfc_plot_series *s = row->series;

    return json_pack("{s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:o}", "series_id",
                     (json_int_t)s->id, "benchmark", pfc_reply_string(s->benchmark), "params",
                     pfc_encode_json_text(s->params_json), "metric", pfc_reply_string(s->metric),
                     "backend", pfc_reply_string(s->backend), "machine_class",
                     pfc_reply_string(s->machine_class), "unit", pfc_reply_string(s->unit), "exact",
                     s->exact, "a", encode_point(&row->a), "b", encode_point(&row->b));
}

static json_t *encode_ceiling(const pfc_roofline_ceiling *c)
{
    const pfc_run_ceiling *own = c->ceiling;

    return json_pack(
        "{s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:o, s:I}", "machine_class",
        pfc_reply_string(c->machine_class), "name", pfc_reply_string(own->name), "kind",
        own->memory ? "memory" : "compute", "unit", pfc_reply_string(own->unit), "value",
        pfc_reply_number(own->value), "dtype", pfc_reply_string(own->dtype), "level",
        pfc_reply_string(own->level), "capacity_bytes",
        pfc_reply_number(own->capacity_bytes > 0 ? own->capacity_bytes : (double)NAN), "backend",
        pfc_reply_string(own->backend), "source", own->chip_file ? "chip file" : "measured", "at",
        pfc_encode_time(c->at), "run_id", (json_int_t)c->run_id);
}

static json_t *encode_unknown(const pfc_roofline_unknown *u)
{
    static const char *const reasons[] = { "no time", "no result", "no operations and bytes",
                                           "no operations", "no bytes" };

    return json_pack("{s:I, s:o, s:o, s:o, s:s}", "series_id", (json_int_t)u->series->id,
                     "benchmark", pfc_reply_string(u->series->benchmark), "backend",
                     pfc_reply_string(u->series->backend), "machine_class",
                     pfc_reply_string(u->series->machine_class), "reason", reasons[u->reason]);
}

static json_t *encode_roofline(const pfc_roofline *r, const pfc_roofline_opts *opts,
                               const roofline_ends *ends)
{
    json_t *rows = json_array(), *ceilings = json_array(), *unknown = json_array();

    for (size_t i = 0; i < r->len; i++)
        json_array_append_new(rows, encode_row(&r->rows[i]));
    for (size_t i = 0; i < r->ceilings_len; i++)
        json_array_append_new(ceilings, encode_ceiling(&r->ceilings[i]));
    for (size_t i = 0; i < r->missing_len; i++)
        json_array_append_new(unknown, encode_unknown(&r->missing[i]));
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:s, s:I, s:o, s:o, s:o, s:o, s:I}", "branch",
                     pfc_reply_string(opts->branch), "a", pfc_reply_string(opts->a), "b",
                     pfc_reply_string(opts->b), "a_how", pfc_reply_string(ends->found[0].how),
                     "b_how", pfc_reply_string(ends->found[1].how), "statistic", "median",
                     "matched", (json_int_t)r->matched, "unknown_fields",
                     pfc_encode_texts(r->unknown.items, r->unknown.len), "benchmarks", rows,
                     "ceilings", ceilings, "unknown", unknown, "left_out", (json_int_t)r->left_out);
}

static pfc_code decode_opts(const pfc_req *req, pfc_roofline_opts *o, roofline_ends *ends,
                            pfc_err *err)
{
    const struct {
        const char *name;
        size_t most;
        const char **out;
    } texts[] = {
        { "select", PFC_SELECT_MAX_BYTES, &o->select },
        { "a", PFC_END_MAX_TEXT, &ends->text[0] },
        { "b", PFC_END_MAX_TEXT, &ends->text[1] },
        { "machine_class", PFC_WIRE_MAX_NAME, &o->machine_class },
        { "backend", PFC_WIRE_MAX_NAME, &o->backend },
    };
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < PFC_ARRAY_LEN(texts) && !code; i++)
        code = pfc_req_query(req, texts[i].name, texts[i].most, texts[i].out, err);
    return code;
}

static pfc_code find_ends(pfc_db *db, int64_t project, roofline_ends *ends, pfc_roofline_opts *o,
                          pfc_err *err)
{
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < 2 && !code; i++)
        if (ends->text[i])
            code = pfc_end_find(db, project, &(pfc_end_ask){ .text = ends->text[i] }, end_names[i],
                                &ends->found[i], err);
    o->a = ends->found[0].commit;
    o->b = ends->found[1].commit;
    return code;
}

/* GET /api/v1/projects/{p}/roofline */
PFC_HANDLER(roofline)
{
    pfc_roofline_opts opts = { 0 };
    roofline_ends ends = { 0 };
    pfc_projects row = { 0 };
    pfc_roofline roofline = { 0 };
    int64_t project = 0;
    pfc_code code = decode_opts(req, &opts, &ends, err);

    if (!code)
        code = pfc_decode_branch(app, req, &project, &opts.branch, &row, err);
    if (!code)
        code = find_ends(app->db, project, &ends, &opts, err);
    if (!code)
        code = pfc_roofline_read(app->db, project, &opts, &roofline, err);
    if (!code)
        code = pfc_reply_json(reply, 200, encode_roofline(&roofline, &opts, &ends), err);
    pfc_roofline_clear(&roofline);
    for (size_t i = 0; i < 2; i++)
        pfc_end_clear(&ends.found[i]);
    pfc_rows_clear(&row);
    return code;
}
