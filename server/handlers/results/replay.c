/* Replays: what other settings of the detector would have found. */
#include "core/base/parse.h"
#include "server/handlers/handlers.h"
#include "server/services/detect/detect.h"

static pfc_code query_double(const pfc_req *req, const char *name, double min, double max,
                             double *out, pfc_err *err)
{
    const char *text = NULL;
    pfc_code code = pfc_req_query(req, name, 32, &text, err);

    if (!code && text) {
        code = pfc_parse_double(text, min, max, name, out, err);
        if (code)
            code = pfc_err_set_field(err, code, name, "query: %s: expected a number from %g to %g",
                                     name, min, max);
    }
    return code;
}

static json_t *encode_replayed(const pfc_replayed *c)
{
    return json_pack("{s:I, s:I, s:I, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s}", "position",
                     (json_int_t)c->position, "position_low", (json_int_t)c->position_low,
                     "position_high", (json_int_t)c->position_high, "commit", c->commit, "before",
                     pfc_reply_number(c->before), "after", pfc_reply_number(c->after), "rel_change",
                     pfc_reply_number(c->rel_change), "rel_low", pfc_reply_number(c->rel_low),
                     "rel_high", pfc_reply_number(c->rel_high), "p", pfc_reply_number(c->p),
                     "direction", pfc_encode_change(c->regression), "status",
                     c->confirmed ? "confirmed" : "provisional");
}

/* GET /api/v1/series/{id}/replay */
PFC_HANDLER(series_replay)
{
    pfc_detector_settings settings = { .judged = true };
    pfc_series_rows series = { 0 };
    pfc_replay replay = { 0 };
    int64_t id = 0;
    json_t *changes;
    pfc_code code;

    code = pfc_req_param_id(req, "id", &id, err);
    if (!code)
        code = query_double(req, "min_change", PFC_DETECTOR_MIN_CHANGE_LEAST,
                            PFC_DETECTOR_MIN_CHANGE_MOST, &settings.min_change, err);
    if (!code)
        code = query_double(req, "alpha", PFC_DETECTOR_ALPHA_LEAST, PFC_DETECTOR_ALPHA_MOST,
                            &settings.alpha, err);
    if (!code)
        code = pfc_series_get(app->db, id, &series, err);
    if (!code)
        code = pfc_req_allow_project(req, series.items[0].project_id, "series", err);
    if (!code)
        code = pfc_series_replay(app->db, id, &settings, &replay, err);
    if (code)
        goto done;
    changes = json_array();
    for (size_t i = 0; i < replay.changes_len; i++)
        json_array_append_new(changes, encode_replayed(&replay.changes[i]));
    code = pfc_reply_json(reply, 200,
                          json_pack("{s:I, s:I, s:o, s:I, s:o, s:o}", "series_id", (json_int_t)id,
                                    "points", (json_int_t)replay.points, "noise_rel",
                                    pfc_reply_number(replay.noise_rel), "watching",
                                    (json_int_t)replay.watching, "watching_odds",
                                    pfc_reply_number(replay.watching_odds), "changes", changes),
                          err);

done:
    pfc_replay_clear(&replay);
    pfc_rows_clear(&series);
    return code;
}

static json_t *encode_project_replay(const char *branch, const pfc_replay *r)
{
    static const char *const labels[] = {
        [PFC_LABEL_NONE] = NULL, [PFC_LABEL_REAL] = "regression", [PFC_LABEL_NOISE] = "noise"
    };
    json_t *alerts = json_array();

    for (size_t i = 0; i < r->changes_len; i++) {
        const pfc_replayed *c = &r->changes[i];
        json_t *one;

        if (!c->alert)
            continue;
        one = encode_replayed(c);
        json_object_set_new(one, "series_id", json_integer((json_int_t)c->series_id));
        json_object_set_new(one, "label", pfc_reply_string(labels[c->label]));
        json_array_append_new(alerts, one);
    }
    return json_pack("{s:o, s:I, s:I, s:I, s:o, s:I, s:{s:I, s:I, s:I, s:I}, s:o, s:o, s:o}",
                     "branch", pfc_reply_string(branch), "series", (json_int_t)r->series, "points",
                     (json_int_t)r->points, "changes", (json_int_t)r->changes_len, "alerts", alerts,
                     "unlabelled", (json_int_t)r->unlabelled, "labels", "regressions",
                     (json_int_t)r->labelled_real, "noise", (json_int_t)r->labelled_noise,
                     "regressions_found", (json_int_t)r->found_real, "noise_found",
                     (json_int_t)r->found_noise, "precision", pfc_reply_number(r->precision),
                     "recall", pfc_reply_number(r->recall), "f1", pfc_reply_number(r->f1));
}

/* POST /api/v1/projects/{p}/replay   body: a detector configuration */
PFC_HANDLER(project_replay)
{
    pfc_detector detector = { 0 };
    pfc_projects row = { 0 };
    int64_t project = 0;
    pfc_replay replay = { 0 };
    const char *branch = NULL;
    json_t *doc = NULL;
    bool mine = false;
    pfc_code code;

    code = pfc_req_query(req, "branch", PFC_WIRE_MAX_NAME, &branch, err);
    if (!code)
        code = pfc_path_project(app, req, &project, err);
    if (!code)
        code = pfc_decode_body(req, &doc, err);
    if (!code)
        code = pfc_detector_from_json(doc, &detector, err);
    /* It keeps a processor and a connection busy for seconds. */
    if (!code) {
        mine = !atomic_exchange(&app->replaying, true);
        code = mine ? PFC_OK
                    : pfc_err_set(err, PFC_EUNAVAIL, "another replay is at work: try again soon");
    }
    if (!code && !branch) {
        code = pfc_projects_get(app->db, pfc_req_param(req, "p"), &row, err);
        branch = code ? NULL : row.items[0].branch;
    }
    if (!code)
        code = pfc_project_replay(app->db, project, branch, &detector, &replay, err);
    if (mine)
        atomic_store(&app->replaying, false);
    if (!code)
        code = pfc_reply_json(reply, 200, encode_project_replay(branch, &replay), err);
    pfc_replay_clear(&replay);
    pfc_rows_clear(&row);
    pfc_detector_clear(&detector);
    json_decref(doc);
    return code;
}

static json_t *encode_version(const pfc_req *req, const pfc_detector_version *v)
{
    return json_pack("{s:I, s:o, s:o, s:o}", "version", (json_int_t)v->version, "detector",
                     pfc_encode_json_text(v->document), "actor", pfc_encode_actor(req, v->actor),
                     "at", pfc_encode_time(v->at));
}

/* GET /api/v1/projects/{p}/detector */
PFC_HANDLER(detector_get)
{
    pfc_detector_version version = { 0 };
    int64_t project = 0;
    pfc_code code = pfc_path_project(app, req, &project, err);

    if (!code)
        code = pfc_detector_get(app->db, project, &version, err);
    if (!code)
        code = pfc_reply_json(reply, 200, encode_version(req, &version), err);
    pfc_detector_version_clear(&version);
    return code;
}

/* POST /api/v1/projects/{p}/detector   body: a detector configuration */
PFC_HANDLER(detector_post)
{
    pfc_detector_version version = { 0 };
    int64_t project = 0, seen = -1;
    json_t *doc = NULL;
    char *text = NULL;
    pfc_code code = pfc_path_project(app, req, &project, err);

    if (!code)
        code = pfc_req_query_i64(req, "seen", 0, INT64_MAX, &seen, err);
    if (!code && req->body_len > PFC_DETECTOR_MAX_BYTES)
        code = pfc_err_set(err, PFC_EINVAL, "detector: expected at most %d bytes",
                           PFC_DETECTOR_MAX_BYTES);
    if (!code)
        code = pfc_decode_body(req, &doc, err);
    if (!code)
        text = json_dumps(doc, JSON_COMPACT | JSON_ENCODE_ANY);
    if (!code && !text)
        code = pfc_err_set(err, PFC_EBUG, "a detector configuration cannot be encoded");
    if (!code)
        code = pfc_detector_store(app->db, req->auth.actor, project, text, seen, &version, err);
    if (!code)
        code = pfc_reply_json(reply, 200, encode_version(req, &version), err);
    pfc_detector_version_clear(&version);
    free(text);
    json_decref(doc);
    return code;
}
