/* Encoding that several handlers share. */
#include <math.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/changepoint/power.h"
#include "server/handlers/handlers.h"

json_t *pfc_encode_time(double unix_s)
{
    char text[32];

    if (!isfinite(unix_s) || unix_s == 0)
        return json_null();
    pfc_clock_rfc3339(unix_s, text);
    return json_string(text);
}

json_t *pfc_encode_json_text(const char *text)
{
    json_t *json = text ? json_loads(text, JSON_DECODE_ANY, NULL) : NULL;

    return json ? json : json_null();
}

json_t *pfc_encode_array(pfc_array_text array)
{
    pfc_texts texts = { 0 };
    json_t *json;

    pfc_array_texts(array, &texts);
    json = pfc_encode_texts(texts.items, texts.len);
    pfc_texts_clear(&texts);
    return json;
}

json_t *pfc_encode_id(int64_t id)
{
    return id ? json_integer(id) : json_null();
}

json_t *pfc_encode_actor(const pfc_req *req, const char *actor)
{
    const char *name = actor && strncmp(actor, "token ", 6) == 0 ? strstr(actor, " (") : NULL;

    if (req->auth.token_id == 0 && name)
        return json_stringn(actor, (size_t)(name - actor));
    return pfc_reply_string(actor);
}

json_t *pfc_encode_texts(char *const *texts, size_t len)
{
    json_t *array = json_array();

    for (size_t i = 0; i < len; i++)
        json_array_append_new(array, pfc_reply_string(texts[i]));
    return array;
}

json_t *pfc_encode_direction(bool higher_is_better)
{
    return json_string(higher_is_better ? "higher" : "lower");
}

json_t *pfc_encode_change(bool regression)
{
    return json_string(regression ? "regression" : "improvement");
}

json_t *pfc_encode_list(const char *name, json_t *items, int64_t next)
{
    return json_pack("{s:o, s:o}", name, items, "next_cursor", pfc_encode_id(next));
}

/* The last `spark` of the stored medians. */
static json_t *encode_spark(const char *text, int spark)
{
    json_t *all = pfc_encode_json_text(text);
    json_t *tail = json_array();
    size_t len = json_array_size(all);

    for (size_t i = len > (size_t)spark ? len - (size_t)spark : 0; i < len; i++)
        json_array_append(tail, json_array_get(all, i));
    json_decref(all);
    return tail;
}

/* The number of points that detect a change of 1 %, or the reason why that is not known. */
static void encode_points_for_1pct(json_t *json, const pfc_series *s)
{
    const double noise = s->exact && s->points > 0 ? 0 : s->noise_rel;
    const size_t n = pfc_points_for(noise, (size_t)s->points, (size_t)s->level_points, 0.01);
    char *reason = NULL;

    if (n == 0 && s->points < PFC_NOISE_POINTS)
        reason = pfc_format("the noise is not known yet: %lld of %d points", (long long)s->points,
                            PFC_NOISE_POINTS);
    else if (n == 0)
        reason = pfc_strdup("the noise is not known yet: the series was not judged since");
    else if (n == PFC_POINTS_MOST)
        reason = pfc_format("%d points or more: the level before has only %lld", PFC_POINTS_MOST,
                            (long long)s->level_points);
    json_object_set_new(json, "points_for_1pct", pfc_encode_id((int64_t)n));
    json_object_set_new(json, "reason", pfc_reply_string(reason));
    free(reason);
}

json_t *pfc_encode_why_no_alert(const pfc_withheld *change)
{
    const char *code = NULL;
    char *sentence = pfc_withheld_sentence(change, &code);
    json_t *json = code ? json_pack("{s:s, s:s}", "code", code, "sentence", sentence) : json_null();

    free(sentence);
    return json;
}

static const pfc_field series_fields[] = {
    PFC_FIELD(pfc_series, id),
    PFC_FIELDS_SERIES(pfc_series),
    PFC_FIELD(pfc_series, branch),
    PFC_FIELD(pfc_series, unit),
    PFC_FIELD_AS(pfc_series, "direction", higher_is_better, DIRECTION),
    PFC_FIELD(pfc_series, exact),
    PFC_FIELD(pfc_series, headline),
    PFC_FIELD(pfc_series, points),
};

static json_t *encode_last(const pfc_series *s)
{
    if (!s->last_commit)
        return json_null();
    return json_pack("{s:o, s:o, s:o}", "commit", pfc_reply_string(s->last_commit), "time",
                     pfc_encode_time(s->last_time), "median", pfc_reply_number(s->last_median));
}

static json_t *encode_newest_change(const pfc_series *s)
{
    const pfc_withheld why = { s->change_alert_id, s->change_regression, s->change_alertable,
                               s->change_withheld, s->change_withheld_detail_json };

    if (!isfinite(s->change_rel))
        return json_null();
    return json_pack("{s:f, s:o, s:s, s:b, s:o, s:o, s:o}", "rel_change", s->change_rel,
                     "direction", pfc_encode_change(s->change_regression), "status",
                     s->change_confirmed ? "confirmed" : "provisional", "alertable",
                     s->change_alertable, "commit", pfc_reply_string(s->change_commit), "alert_id",
                     pfc_encode_id(s->change_alert_id), "why_no_alert",
                     pfc_encode_why_no_alert(&why));
}

json_t *pfc_encode_series(const pfc_series *s, int spark)
{
    json_t *json = pfc_encode_fields(PFC_FIELDS(series_fields), s);

    json_object_set_new(json, "last", encode_last(s));
    json_object_set_new(json, "change", encode_newest_change(s));
    json_object_set_new(json, "noise_rel", pfc_reply_number(s->noise_rel));
    json_object_set_new(json, "watching", json_integer((json_int_t)s->watching));
    json_object_set_new(json, "watching_of", json_integer((json_int_t)s->watching_of));
    json_object_set_new(json, "detectable_rel", pfc_reply_number(s->detectable_rel));
    encode_points_for_1pct(json, s);
    json_object_set_new(json, "judged", json_boolean(s->judged));
    json_object_set_new(json, "anchor", pfc_reply_string(s->anchor));
    json_object_set_new(json, "two_speeds", pfc_encode_json_text(s->two_speeds_json));
    if (spark > 0)
        json_object_set_new(json, "spark", encode_spark(s->spark_json, spark));
    return json;
}

static const pfc_field run_fields[] = {
    PFC_FIELD(pfc_run_row, run_id),
    PFC_FIELD(pfc_run_row, id),
    PFC_FIELD(pfc_run_row, commit),
    PFC_FIELD(pfc_run_row, suite),
    PFC_FIELD(pfc_run_row, machine_class),
    PFC_FIELD_AS(pfc_run_row, "started_at", started_at, TIME),
    PFC_FIELD_AS(pfc_run_row, "finished_at", finished_at, TIME),
    PFC_FIELD(pfc_run_row, measurements),
    PFC_FIELD(pfc_run_row, infra),
    PFC_FIELD(pfc_run_row, unsandboxed),
    PFC_FIELD(pfc_run_row, extra),
    PFC_FIELD(pfc_run_row, quarantined),
    PFC_FIELD(pfc_run_row, reproducibility),
};

const pfc_fields pfc_run_fields = { run_fields, PFC_ARRAY_LEN(run_fields) };

pfc_code pfc_reply_rows(pfc_reply *reply, const char *name, pfc_row_view rows,
                        pfc_row_encoder encode, const void *context, int64_t next, pfc_err *err)
{
    json_t *items = pfc_encode_rows(rows, encode, context);

    return pfc_reply_json(reply, 200, pfc_encode_list(name, items, next), err);
}

pfc_code pfc_reply_table(pfc_reply *reply, const char *name, pfc_row_view rows, pfc_fields fields,
                         int64_t next, pfc_err *err)
{
    json_t *items = pfc_encode_table(rows, fields);

    return pfc_reply_json(reply, 200, pfc_encode_list(name, items, next), err);
}
