/* Earlier results in place of a measurement: a runner asks for one before it builds. */
#include "server/handlers/handlers.h"
#include "server/services/bot/bot.h"
#include "server/services/queue/queue.h"

static json_t *encode(const pfc_pull_earlier_rows *rows)
{
    if (rows->len == 0)
        return json_pack("{s:n, s:n, s:n}", "session", "run", "measured_at");
    return json_pack("{s:s, s:o, s:o}", "session", rows->items[0].session, "run",
                     rows->items[0].run ? json_integer(rows->items[0].run) : json_null(),
                     "measured_at", pfc_encode_time(rows->items[0].measured_at));
}

/* POST /api/v1/jobs/{id}/earlier   {"lease", "key"}: renews the lease, too */
PFC_HANDLER(jobs_earlier)
{
    static const char *const known[] = { "lease", "key", NULL };
    pfc_pull_earlier_rows rows = { 0 };
    pfc_jobs job = { 0 };
    json_t *body = NULL;
    char *lease = NULL, *key = NULL;
    int64_t id = 0;
    bool cancel = false;
    pfc_code code = pfc_decode_object(req, known, &body, err);

    if (!code)
        code = pfc_json_string(body, NULL, "lease", true, 64, &lease, err);
    if (!code)
        code = pfc_json_string(body, NULL, "key", true, 64, &key, err);
    if (!code)
        code = pfc_req_leased_job(app, req, &id, &job, err);
    if (!code)
        code = pfc_job_heartbeat(app->db, id, lease, NULL, pfc_lease_seconds(app), &cancel, err);
    if (!code)
        code = pfc_pull_earlier(app->db, job.items[0].project_id, key, &rows, err);
    if (!code)
        code = pfc_reply_json(reply, 200, encode(&rows), err);
    pfc_rows_clear(&rows);
    pfc_rows_clear(&job);
    free(lease);
    free(key);
    json_decref(body);
    return code;
}
