/* Series: the list with sparklines, and one series in columns. */
#include "server/handlers/handlers.h"
#include "server/repo/tables/broken.h"
#include "server/services/history/history.h"

#define MAX_SPARK  200
#define MAX_POINTS 5000

/* choices: NULL ends them. */
static pfc_code expect_choice(const char *name, const char *value, const char *const *choices,
                              const char *listed, pfc_err *err)
{
    for (; value && *choices; choices++) {
        if (pfc_streq(value, *choices))
            return PFC_OK;
    }
    return value
               ? pfc_err_set(err, PFC_EINVAL, "%s: expected %s, got \"%.40s\"", name, listed, value)
               : PFC_OK;
}

static pfc_code decode_filter(const pfc_req *req, pfc_series_filter *f, pfc_err *err)
{
    const struct {
        const char *name;
        const char **out;
    } texts[] = {
        { "metric", &f->metric },   { "benchmark", &f->benchmark },
        { "backend", &f->backend }, { "machine_class", &f->machine_class },
        { "branch", &f->branch },   { "q", &f->words },
        { "change", &f->change },   { "sort", &f->sort },
    };
    static const char *const sorts[] = { "name", "change", "noise", "fresh", NULL };
    static const char *const changes[] = { "regression", "improvement", "steady", NULL };
    int64_t spark = 0;
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < PFC_ARRAY_LEN(texts) && !code; i++)
        code = pfc_req_query(req, texts[i].name, PFC_WIRE_MAX_NAME, texts[i].out, err);
    if (!code)
        code = pfc_req_query_bool(req, "headline", &f->headline, err);
    if (!code)
        code = pfc_req_query_i64(req, "spark", 0, MAX_SPARK, &spark, err);
    f->spark = (int)spark;
    if (!code)
        code = expect_choice("sort", f->sort, sorts, "name, change, noise or fresh", err);
    if (!code)
        code =
            expect_choice("change", f->change, changes, "regression, improvement or steady", err);
    return code;
}

static json_t *encode_listed(const void *row, const void *spark)
{
    return pfc_encode_series(row, *(const int *)spark);
}

/* GET /api/v1/projects/{p}/series */
PFC_HANDLER(series_list)
{
    int64_t project = 0;
    pfc_series_rows rows = { 0 };
    pfc_series_filter filter = { 0 };
    pfc_page page;
    pfc_code code;

    code = pfc_decode_page(req, &page, err);
    if (!code)
        code = decode_filter(req, &filter, err);
    if (!code)
        code = pfc_path_project(app, req, &project, err);
    if (!code)
        code = pfc_series_list(app->db, project, &filter, page, &rows, err);
    if (!code)
        code = pfc_reply_rows(reply, "series", PFC_ROW_VIEW(&rows), encode_listed, &filter.spark,
                              rows.next, err);
    pfc_rows_clear(&rows);
    return code;
}

/* One array for each member: charts take columns, and columns compress best. */
static json_t *encode_columns(const pfc_window_points *points)
{
    static const char *const names[] = {
        "commit", "time",    "subject", "author",    "position",   "median",
        "low",    "high",    "min",     "n",         "run_id",     "fingerprint",
        "infra",  "session", "ratio",   "ratio_low", "ratio_high", "reproducibility"
    };
    json_t *columns[PFC_ARRAY_LEN(names)];
    json_t *json = json_object();

    for (size_t c = 0; c < PFC_ARRAY_LEN(names); c++)
        columns[c] = json_array();
    for (size_t i = 0; i < points->len; i++) {
        const pfc_window_point *p = &points->items[i];
        json_t *values[PFC_ARRAY_LEN(names)] = {
            pfc_reply_string(p->commit),     pfc_encode_time(p->time),
            pfc_reply_string(p->subject),    pfc_reply_string(p->author),
            json_integer(p->position),       pfc_reply_number(p->median),
            pfc_reply_number(p->low),        pfc_reply_number(p->high),
            pfc_reply_number(p->min),        json_integer(p->n),
            json_integer(p->run_id),         pfc_reply_string(p->fingerprint),
            json_boolean(p->infra),          pfc_reply_string(p->session),
            pfc_reply_number(p->ratio),      pfc_reply_number(p->ratio_low),
            pfc_reply_number(p->ratio_high), pfc_reply_string(p->reproducibility),
        };

        for (size_t c = 0; c < PFC_ARRAY_LEN(names); c++)
            json_array_append_new(columns[c], values[c]);
    }
    for (size_t c = 0; c < PFC_ARRAY_LEN(names); c++)
        json_object_set_new(json, names[c], columns[c]);
    return json;
}

static const pfc_field change_fields[] = {
    PFC_FIELD(pfc_window_change, index),
    PFC_FIELD(pfc_window_change, index_low),
    PFC_FIELD(pfc_window_change, index_high),
    PFC_FIELD(pfc_window_change, commit),
    PFC_FIELD(pfc_window_change, commit_low),
    PFC_FIELD(pfc_window_change, commit_high),
    PFC_FIELD(pfc_window_change, before),
    PFC_FIELD(pfc_window_change, after),
    PFC_FIELDS_REL_CHANGE(pfc_window_change),
    PFC_FIELD(pfc_window_change, p),
    PFC_FIELD_AS(pfc_window_change, "direction", regression, CHANGE),
    PFC_FIELD_AS(pfc_window_change, "status", confirmed, STATUS),
    PFC_FIELD(pfc_window_change, alertable),
    PFC_FIELD_AS(pfc_window_change, "alert_id", alert_id, ID),
};

static json_t *encode_change(const void *row, const void *context)
{
    const pfc_window_change *c = row;
    const pfc_withheld why = { c->alert_id, c->regression, c->alertable, c->withheld,
                               c->withheld_detail };
    json_t *json = pfc_encode_fields(PFC_FIELDS(change_fields), c);

    (void)context;
    json_object_set_new(json, "why_no_alert", pfc_encode_why_no_alert(&why));
    json_object_set_new(json, "blocks", pfc_encode_json_text(c->blocks));
    return json;
}

static const pfc_field broken_fields[] = {
    PFC_FIELD(pfc_broken_result, commit),  PFC_FIELD(pfc_broken_result, position),
    PFC_FIELD(pfc_broken_result, subject), PFC_FIELD_AS(pfc_broken_result, "time", time, TIME),
    PFC_FIELD(pfc_broken_result, reason),  PFC_FIELD(pfc_broken_result, run_id),
};

/* The broken results among the points of the window. */
static pfc_code read_broken(pfc_db *db, const pfc_window *w, const pfc_window_opts *opts,
                            pfc_broken_results *out, pfc_err *err)
{
    const pfc_window_points *p = &w->points;
    const int64_t from = opts->from && p->len ? p->items[0].position : 0;
    const int64_t to = opts->to && p->len ? p->items[p->len - 1].position : 0;

    return pfc_broken_of_series(db, w->series.items[0].id, from, to, out, err);
}

static json_t *encode_window(const pfc_window *w, const pfc_broken_results *broken)
{
    json_t *series = pfc_encode_series(&w->series.items[0], 0);
    json_t *changes = pfc_encode_rows(PFC_ROW_VIEW(&w->changes), encode_change, NULL);
    json_t *boundaries = json_array();

    json_object_set_new(series, "project", pfc_reply_string(w->series.items[0].project));
    for (size_t i = 0; i < w->boundaries_len; i++) {
        const pfc_window_boundary *b = &w->boundaries[i];

        json_array_append_new(boundaries,
                              json_pack("{s:I, s:o}", "index", (json_int_t)b->index, "fields",
                                        pfc_encode_texts(b->fields, b->fields_len)));
    }
    return json_pack("{s:o, s:o, s:o, s:o, s:b, s:I, s:o}", "series", series, "columns",
                     encode_columns(&w->points), "changes", changes, "boundaries", boundaries,
                     "bucketed", w->bucketed, "hidden", (json_int_t)w->hidden, "broken",
                     pfc_encode_table(PFC_ROW_VIEW(broken), PFC_FIELDS(broken_fields)));
}

/* GET /api/v1/series/{id} */
PFC_HANDLER(series_get)
{
    pfc_window window = { 0 };
    pfc_series_rows series = { 0 };
    pfc_broken_results broken = { 0 };
    pfc_window_opts opts = { 0 };
    int64_t id = 0, points = 0;
    pfc_code code;

    code = pfc_req_param_id(req, "id", &id, err);
    if (!code)
        code = pfc_req_query(req, "from", 64, &opts.from, err);
    if (!code)
        code = pfc_req_query(req, "to", 64, &opts.to, err);
    if (!code)
        code = pfc_req_query_i64(req, "points", 1, MAX_POINTS, &points, err);
    if (code)
        return code;
    opts.points = (int)points;
    code = pfc_series_get(app->db, id, &series, err);
    if (!code)
        code = pfc_req_allow_project(req, series.items[0].project_id, "series", err);
    if (!code)
        code = pfc_series_window(app->db, id, &opts, &window, err);
    if (!code)
        code = read_broken(app->db, &window, &opts, &broken, err);
    if (!code)
        code = pfc_reply_json(reply, 200, encode_window(&window, &broken), err);
    pfc_rows_clear(&broken);
    pfc_window_clear(&window);
    pfc_rows_clear(&series);
    return code;
}
