/* Health, version, figures of the service, and the event stream. */
#include "core/base/clock.h"
#include "server/handlers/handlers.h"

/* GET /version */
PFC_HANDLER(version)
{
    (void)req;
    return pfc_reply_json(reply, 200,
                          json_pack("{s:s, s:i}", "version", PFC_VERSION, "schema_version",
                                    atomic_load(&app->schema_version)),
                          err);
}

/* GET /healthz: the process answers, whatever the database does. */
PFC_HANDLER(healthz)
{
    (void)app;
    (void)req;
    return pfc_reply_json(reply, 200, json_pack("{s:s}", "status", "ok"), err);
}

/* Reads the schema's version and tests a write, at most once a second. A request that arrives while
 * another one reads gets the last result, or 503 when the read takes longer than a second: a
 * database that hangs blocks one thread, not all of them. */
static pfc_code probe_database(pfc_app *app, int *version, pfc_err *err)
{
    pfc_seen_schema *seen = &app->seen_schema;
    pfc_err why = { 0 };
    int64_t pending_ns;
    int found = 0;

    pthread_mutex_lock(&seen->gate.lock);
    if (pfc_refresh_begin(&seen->gate)) {
        pthread_mutex_unlock(&seen->gate.lock);
        why.code = pfc_db_probe(app->db, &found, &why);
        pthread_mutex_lock(&seen->gate.lock);
        seen->version = found;
        seen->err = why;
        pfc_refresh_end(&seen->gate);
    } else {
        pending_ns = pfc_refresh_pending_ns(&seen->gate);
        if (pending_ns && (!seen->gate.end_ns || pending_ns >= PFC_REFRESH_NS)) {
            (void)pfc_err_set(&why, PFC_EUNAVAIL, "the database has not answered for %.1f s",
                              (double)pending_ns * 1e-9);
        } else {
            why = seen->err;
            found = seen->version;
        }
    }
    pthread_mutex_unlock(&seen->gate.lock);
    *version = found;
    if (why.code)
        *err = why;
    return why.code;
}

/* A schema that is one version ahead belongs to a newer server on the same database. This server
 * works with it, because migrations only add until every server has them. */
static pfc_code readiness(pfc_app *app, const pfc_req *req, pfc_err *err)
{
    double silent_s;
    int version = 0;
    pfc_code code;

    if (req->stopping)
        return pfc_err_set(err, PFC_EUNAVAIL, "the server is stopping");
    if (!atomic_load(&app->ready))
        return pfc_err_set(err, PFC_EUNAVAIL, "the schema is not in place yet");
    silent_s = pfc_thread_health_silent_s(&app->thread_health);
    if (silent_s > PFC_THREAD_HEALTH_SILENT_S)
        return pfc_err_set(err, PFC_EUNAVAIL,
                           "a worker thread has not responded for %.0f s: restart the server",
                           silent_s);
    code = probe_database(app, &version, err);
    if (code)
        return code;
    if (version < pfc_schema_newest())
        return pfc_err_set(err, PFC_EUNAVAIL,
                           "the database's schema is version %d and this server needs %d: restart "
                           "the server, which brings it up to date",
                           version, pfc_schema_newest());
    if (version > pfc_schema_newest() + 1)
        return pfc_err_set(err, PFC_EUNAVAIL,
                           "the database's schema is version %d and this server knows %d and the "
                           "next: update the server",
                           version, pfc_schema_newest());
    return PFC_OK;
}

/* GET /readyz */
PFC_HANDLER(readyz)
{
    pfc_code code = readiness(app, req, err);

    if (code)
        return pfc_err_wrap(err, "not ready");
    return pfc_reply_json(reply, 200, json_pack("{s:s}", "status", "ok"), err);
}

/* GET /api/v1/stats */
PFC_HANDLER(stats)
{
    pfc_figures f = { 0 };
    int64_t project_id = 0;
    pfc_code code;

    code = pfc_query_project(app, req, &project_id, err);
    if (!code)
        code = pfc_figures_get(app->db, project_id, &f, err);
    if (code)
        return code;
    return pfc_reply_json(
        reply, 200,
        json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "runs", (json_int_t)f.runs, "measurements",
                  (json_int_t)f.measurements, "series", (json_int_t)f.series, "alerts_open",
                  (json_int_t)f.alerts_open, "jobs_queued", (json_int_t)f.jobs_queued,
                  "jobs_leased", (json_int_t)f.jobs_leased, "detection_lag_s",
                  pfc_reply_number(f.detection_lag_s)),
        err);
}

/* GET /api/v1/events: of the project that the token is bound to, or of all. */
PFC_HANDLER(events)
{
    pfc_projects bound = { 0 };
    pfc_code code = PFC_OK;

    if (req->auth.project_id == 0)
        return pfc_reply_events(reply, "");
    code = pfc_projects_list(app->db, req->auth.project_id, (pfc_page){ .limit = 1 }, &bound, err);
    if (!code && bound.len == 0)
        code = pfc_err_set(err, PFC_EDENIED, "the token's project was deleted");
    if (!code)
        code = pfc_reply_events(reply, bound.items[0].name);
    pfc_rows_clear(&bound);
    return code;
}
