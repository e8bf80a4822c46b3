/* Health, version, metrics, figures, events, and the description of the API. */
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/parse.h"
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

#define SHARED_NS PFC_NS_PER_S /* an answer of the database serves all who ask within it */

bool pfc_turn_take(pfc_figures_gate *turn)
{
    const int64_t now_ns = pfc_clock_ns();

    if (turn->asking || (turn->at_ns && now_ns - turn->at_ns < SHARED_NS))
        return false;
    turn->asking = true;
    turn->asked_ns = now_ns;
    return true;
}

void pfc_turn_done(pfc_figures_gate *turn)
{
    turn->asking = false;
    turn->at_ns = pfc_clock_ns();
}

int64_t pfc_turn_waits_ns(const pfc_figures_gate *turn)
{
    return turn->asking ? PFC_MAX(pfc_clock_ns() - turn->asked_ns, 1) : 0;
}

/* Asks the database for its schema's version and for a write, at most once a second. A request that comes while another
 * one asks gets the last answer, or 503 when there has been none for a second: a database that hangs holds one thread,
 * not all of them. */
static pfc_code look_at_database(pfc_app *app, int *version, pfc_err *err)
{
    pfc_seen_schema *seen = &app->seen_schema;
    pfc_err why = { 0 };
    int64_t waits_ns;
    int found = 0;

    pthread_mutex_lock(&seen->turn.lock);
    if (pfc_turn_take(&seen->turn)) {
        pthread_mutex_unlock(&seen->turn.lock);
        why.code = pfc_db_probe(app->db, &found, &why);
        pthread_mutex_lock(&seen->turn.lock);
        seen->version = found;
        seen->err = why;
        pfc_turn_done(&seen->turn);
    } else {
        waits_ns = pfc_turn_waits_ns(&seen->turn);
        if (waits_ns && (!seen->turn.at_ns || waits_ns >= SHARED_NS)) {
            (void)pfc_err_set(&why, PFC_EUNAVAIL, "the database has not answered for %.1f s",
                              (double)waits_ns * 1e-9);
        } else {
            why = seen->err;
            found = seen->version;
        }
    }
    pthread_mutex_unlock(&seen->turn.lock);
    *version = found;
    if (why.code)
        *err = why;
    return why.code;
}

/* A schema that is one ahead is what a newer server beside this one needs, and does for this one, too:
 * migrations only add until every server has them. */
static pfc_code readiness(pfc_app *app, const pfc_req *req, pfc_err *err)
{
    double silent_s;
    int version = 0;
    pfc_code code;

    if (req->stopping)
        return pfc_err_set(err, PFC_EUNAVAIL, "the server is stopping");
    if (!atomic_load(&app->ready))
        return pfc_err_set(err, PFC_EUNAVAIL, "the schema is not in place yet");
    silent_s = pfc_pulse_silent_s(&app->pulse);
    if (silent_s > PFC_PULSE_SILENT_S)
        return pfc_err_set(err, PFC_EUNAVAIL,
                           "a worker has not come round for %.0f s: restart the server", silent_s);
    code = look_at_database(app, &version, err);
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
        code = pfc_err_set(err, PFC_EDENIED, "the token's project is gone");
    if (!code)
        code = pfc_reply_events(reply, bound.items[0].name);
    pfc_rows_clear(&bound);
    return code;
}

/* It stays the same while the program runs, and takes milliseconds to make: strangers may ask for it. */
static const char *describe(pfc_app *app)
{
    char *known = atomic_load(&app->description), *text, *fresh;
    json_t *json;

    if (known)
        return known;
    json = pfc_openapi(pfc_routes, pfc_routes_len);
    text = json_dumps(json, JSON_COMPACT);
    if (!text)
        pfc_die("openapi: the description cannot be encoded");
    fresh = pfc_format("%s\n", text);
    free(text);
    json_decref(json);
    if (atomic_compare_exchange_strong(&app->description, &known, fresh))
        return fresh;
    free(fresh); /* another request was first */
    return known;
}

/* GET /api/v1/openapi.json */
PFC_HANDLER(openapi)
{
    const char *text = describe(app);

    (void)req;
    (void)err;
    return pfc_reply_borrowed(reply, 200, "application/json", text);
}
