/* Health, version, metrics, figures, events, and the description of the API. */
#include <string.h>

#include "core/base/log.h"
#include "core/base/parse.h"
#include "server/handlers/handlers.h"

#define METRICS_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

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

static pfc_code readiness(pfc_app *app, const pfc_req *req, pfc_err *err)
{
    if (req->stopping)
        return pfc_err_set(err, PFC_EUNAVAIL, "the server is stopping");
    if (!atomic_load(&app->ready))
        return pfc_err_set(err, PFC_EUNAVAIL, "the schema is not in place yet");
    return pfc_db_ping(app->db, err);
}

/* GET /readyz */
PFC_HANDLER(readyz)
{
    pfc_code code = readiness(app, req, err);

    if (code)
        return pfc_err_wrap(err, "not ready");
    return pfc_reply_json(reply, 200, json_pack("{s:s}", "status", "ok"), err);
}

static void put_gauge(pfc_buf *out, const char *name, const char *help, double value)
{
    pfc_buf_printf(out, "# TYPE %s gauge\n# HELP %s %s\n%s %.9g\n", name, name, help, name, value);
}

static void put_counter(pfc_buf *out, const char *name, const char *help, uint64_t value)
{
    pfc_buf_printf(out, "# TYPE %s counter\n# HELP %s %s\n%s_total %llu\n", name, name, help, name,
                   (unsigned long long)value);
}

/* What this server knows of itself. */
static void put_own(pfc_app *app, pfc_buf *out)
{
    pfc_db_counts pool = { 0 };
    pfc_writer_counts writer = { 0 };

    pfc_db_figures(app->db, &pool);
    put_gauge(out, "perfci_pool_connections", "Database connections of this server.",
              (double)pool.connections);
    put_gauge(out, "perfci_pool_busy", "Those in use.", (double)pool.busy);
    put_counter(out, "perfci_pool_waits", "Requests that waited for a connection.", pool.waits);
    put_counter(out, "perfci_pool_refused", "Requests that waited in vain.", pool.refused);
    put_counter(out, "perfci_log_lines_lost", "Log lines that nobody took.", pfc_log_lost());
    /* It is there once the schema is. */
    if (!atomic_load(&app->ready) || !app->writer)
        return;
    pfc_writer_figures(app->writer, &writer);
    put_gauge(out, "perfci_ingest_waiting", "Runs that wait to be stored.", (double)writer.waiting);
    put_counter(out, "perfci_ingest_groups", "Transactions that stored several runs at once.",
                writer.groups);
    put_counter(out, "perfci_ingest_grouped", "Runs stored in them.", writer.grouped);
    put_counter(out, "perfci_ingest_alone", "Runs that needed a transaction of their own.",
                writer.alone);
}

/* GET /metrics: answers without the database, too, and then says so in perfci_database_up. */
PFC_HANDLER(metrics)
{
    pfc_figures f = { 0 };
    pfc_buf out;
    bool up;
    pfc_code code;

    (void)req;
    pfc_buf_init(&out, 4 * 1024 * 1024);
    pfc_buf_printf(&out,
                   "# TYPE perfci_build info\n# HELP perfci_build Version of the server.\n"
                   "perfci_build_info{version=\"%s\",schema=\"%d\"} 1\n",
                   PFC_VERSION, atomic_load(&app->schema_version));
    pfc_httpd_metrics(app->http, &out);
    put_own(app, &out);
    up = pfc_figures_get(app->db, 0, &f, NULL) == PFC_OK;
    put_gauge(&out, "perfci_database_up", "1 when the database answered just now.", up ? 1 : 0);
    if (up) {
        put_gauge(&out, "perfci_runs", "Runs stored.", (double)f.runs);
        put_gauge(&out, "perfci_measurements", "Measurements stored.", (double)f.measurements);
        put_gauge(&out, "perfci_series", "Series stored.", (double)f.series);
        put_gauge(&out, "perfci_alerts_open", "Alerts that want somebody.", (double)f.alerts_open);
        put_gauge(&out, "perfci_jobs_queued", "Jobs that wait for a runner.",
                  (double)f.jobs_queued);
        put_gauge(&out, "perfci_jobs_leased", "Jobs that a runner has.", (double)f.jobs_leased);
        put_gauge(&out, "perfci_notices_open", "Notices that not everybody has.",
                  (double)f.notices_open);
        put_gauge(&out, "perfci_notices_dead", "Deliveries of them that were given up.",
                  (double)f.notices_dead);
        put_gauge(&out, "perfci_runners", "Runners heard of within five minutes.",
                  (double)f.runners);
        put_gauge(&out, "perfci_detection_lag_seconds", "Age of the oldest run not judged yet.",
                  f.detection_lag_s);
    }
    pfc_buf_puts(&out, "# EOF\n");
    code = pfc_buf_check(&out, "metrics", err);
    if (!code)
        code = pfc_reply_text(reply, 200, METRICS_TYPE, pfc_buf_take(&out));
    pfc_buf_clear(&out);
    reply->cache = "no-store";
    return code;
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
        code = pfc_err_set(err, PFC_EDENIED, "the token's project is gone");
    if (!code)
        code = pfc_reply_events(reply, bound.items[0].name);
    pfc_rows_clear(&bound);
    return code;
}

/* GET /api/v1/openapi.json */
PFC_HANDLER(openapi)
{
    (void)app;
    (void)req;
    return pfc_reply_json(reply, 200, pfc_openapi(pfc_routes, pfc_routes_len), err);
}
