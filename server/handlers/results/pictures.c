/* Pictures for other pages: the badge of a project and the picture of a series. */
#include "server/services/pictures/pictures.h"

#include "core/base/parse.h"
#include "server/handlers/handlers.h"

enum { BADGE_BYTES = 8192, PICTURE_BYTES = 256 * 1024, POINTS = 200 };

static const char svg_type[] = "image/svg+xml; charset=utf-8";

static pfc_code reply_svg(pfc_reply *reply, pfc_buf *out, pfc_err *err)
{
    pfc_code code = pfc_buf_check(out, "the picture", err);

    if (!code)
        code = pfc_reply_text(reply, 200, svg_type, pfc_buf_take(out));
    reply->own_style = reply->for_others = !code;
    pfc_buf_clear(out);
    return code;
}

/* GET /api/v1/projects/{p}/badge */
PFC_HANDLER(badge)
{
    const pfc_series_filter any = { 0 };
    const char *label = NULL;
    pfc_standing standing = { 0 };
    pfc_series_rows one = { 0 };
    int64_t project = 0;
    pfc_buf out;
    pfc_code code = pfc_path_project(app, req, &project, err);

    if (!code)
        code = pfc_req_query(req, "label", 4 * PFC_BADGE_MAX_LABEL, &label, err);
    if (!code)
        code = pfc_standing_get(app->db, project, &standing, err);
    if (!code)
        code = pfc_series_list(app->db, project, &any, (pfc_page){ .limit = 1 }, &one, err);
    if (!code) {
        pfc_buf_init(&out, BADGE_BYTES);
        pfc_badge_svg(label ? label : req->params[0].value, &standing, one.len > 0, &out);
        code = reply_svg(reply, &out, err);
    }
    pfc_rows_clear(&one);
    return code;
}

static pfc_code decode_size(const pfc_req *req, pfc_picture_opts *o, int64_t *points, pfc_err *err)
{
    const char *style = NULL;
    int64_t width = 0, height = 0;
    pfc_code code = pfc_req_query(req, "style", 8, &style, err);

    o->spark = pfc_streq(style, "spark");
    width = o->spark ? 120 : 600;
    height = o->spark ? 24 : 200;
    *points = POINTS;
    if (!code)
        code = pfc_req_query_i64(req, "width", PFC_PICTURE_MIN_WIDTH, PFC_PICTURE_MAX_WIDTH, &width,
                                 err);
    if (!code)
        code = pfc_req_query_i64(req, "height", PFC_PICTURE_MIN_HEIGHT, PFC_PICTURE_MAX_HEIGHT,
                                 &height, err);
    if (!code)
        code = pfc_req_query_i64(req, "points", 1, PFC_PICTURE_MAX_POINTS, points, err);
    o->width = (int)width;
    o->height = (int)height;
    return code;
}

/* GET /api/v1/series/{id}/picture */
PFC_HANDLER(series_picture)
{
    pfc_picture_opts size = { 0 };
    pfc_window_opts range = { 0 };
    pfc_window window = { 0 };
    pfc_series_rows series = { 0 };
    int64_t id = 0, points = 0;
    pfc_buf out;
    pfc_code code = pfc_req_param_id(req, "id", &id, err);

    if (!code)
        code = decode_size(req, &size, &points, err);
    if (!code)
        code = pfc_req_query(req, "from", 64, &range.from, err);
    if (!code)
        code = pfc_req_query(req, "to", 64, &range.to, err);
    range.points = (int)points;
    if (!code)
        code = pfc_series_get(app->db, id, &series, err);
    if (!code)
        code = pfc_req_allow_project(req, series.items[0].project_id, "series", err);
    if (!code)
        code = pfc_series_window(app->db, id, &range, &window, err);
    if (!code) {
        pfc_buf_init(&out, PICTURE_BYTES);
        pfc_series_svg(&window, &size, &out);
        code = reply_svg(reply, &out, err);
    }
    pfc_window_clear(&window);
    pfc_rows_clear(&series);
    return code;
}
