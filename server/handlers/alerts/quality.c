/* Quality: how triage judged the alerts of a project, and how long each step took. */
#include "server/services/quality/quality.h"

#include "server/handlers/handlers.h"

static json_t *encode_step(int64_t n, double median, double p90)
{
    return json_pack("{s:I, s:o, s:o}", "n", (json_int_t)n, "median_s", pfc_reply_number(median),
                     "p90_s", pfc_reply_number(p90));
}

/* name NULL: of all alerts. */
static json_t *encode_row(const pfc_quality_row *r, const char *name, const char *value)
{
    const int64_t decided = r->confirmed + r->false_alarms;
    json_t *json =
        json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o}", "alerts",
                  (json_int_t)r->alerts, "confirmed", (json_int_t)r->confirmed, "false_alarms",
                  (json_int_t)r->false_alarms, "untriaged", (json_int_t)r->untriaged, "withdrawn",
                  (json_int_t)r->withdrawn, "recovered", (json_int_t)r->recovered, "precision",
                  decided ? json_real((double)r->confirmed / (double)decided) : json_null(),
                  "triage", encode_step(r->triage_n, r->triage_median, r->triage_p90), "culprit",
                  encode_step(r->culprit_n, r->culprit_median, r->culprit_p90), "fix",
                  encode_step(r->fix_n, r->fix_median, r->fix_p90));

    if (name)
        json_object_set_new(json, name, pfc_reply_string(value));
    return json;
}

static json_t *encode_quality(const pfc_quality *q, int months)
{
    const pfc_quality_row *row = q->rows.items;
    json_t *by_month = json_array(), *by_kernel = json_array();

    for (size_t i = 1; i <= q->months; i++)
        json_array_append_new(by_month, encode_row(&row[i], "month", row[i].month));
    for (size_t i = q->months + 1; i <= q->months + q->kernels; i++)
        json_array_append_new(by_kernel, encode_row(&row[i], "kernel", row[i].kernel));
    return json_pack("{s:i, s:o, s:o, s:o, s:b, s:b}", "months", months, "total",
                     encode_row(&row[0], NULL, NULL), "by_month", by_month, "by_kernel", by_kernel,
                     "more_kernels", q->more_kernels, "truncated", q->truncated);
}

/* GET /api/v1/projects/{p}/quality */
PFC_HANDLER(quality)
{
    int64_t months = PFC_QUALITY_MONTHS, project = 0;
    pfc_quality quality = { 0 };
    pfc_code code;

    code = pfc_req_query_i64(req, "months", 1, PFC_QUALITY_MAX_MONTHS, &months, err);
    if (!code)
        code = pfc_path_project(app, req, &project, err);
    if (!code)
        code =
            pfc_quality_read(app->db, project, (int)months, PFC_QUALITY_MAX_ALERTS, &quality, err);
    if (!code)
        code = pfc_reply_json(reply, 200, encode_quality(&quality, (int)months), err);
    pfc_quality_clear(&quality);
    return code;
}
