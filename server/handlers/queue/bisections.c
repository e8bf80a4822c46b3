/* Bisections: the list, one, and the reports that local searches send. */
#include <math.h>
#include <stdlib.h>

#include "core/base/parse.h"
#include "core/bisect/confirm.h"
#include "server/handlers/handlers.h"
#include "server/services/bisect/bisect.h"

#define MAX_CULPRITS 100
#define MAX_RANGE    5000
#define MAX_STEPS    10000
#define MAX_COUNT    1000000000

static json_t *encode_listed(const void *row, const void *req)
{
    return pfc_encode_bisection(req, row);
}

/* GET /api/v1/bisections */
PFC_HANDLER(bisections_list)
{
    pfc_bisections rows = { 0 };
    const char *words = NULL;
    int64_t project_id = 0;
    pfc_page page;
    pfc_code code;

    code = pfc_query_project_page(app, req, &project_id, &page, err);
    if (!code)
        code = pfc_req_query(req, "q", PFC_WIRE_MAX_NAME, &words, err);
    if (!code)
        code = pfc_bisections_list(app->db, project_id, words, page, &rows, err);
    if (!code)
        code = pfc_reply_rows(reply, "bisections", PFC_ROW_VIEW(&rows), encode_listed, req,
                              rows.next, err);
    pfc_rows_clear(&rows);
    return code;
}

/* GET /api/v1/bisections/{id} */
PFC_HANDLER(bisections_get)
{
    pfc_bisections row = { 0 };
    pfc_bisection_detail detail = { 0 };
    const pfc_bisection *b;
    int64_t id = 0;
    json_t *json;
    pfc_code code;

    code = pfc_req_param_id(req, "id", &id, err);
    if (!code)
        code = pfc_bisections_get(app->db, id, &row, err);
    if (!code)
        code = pfc_req_allow_project(req, row.items[0].project_id, "bisection", err);
    if (!code && strcmp(row.items[0].mode, "remote") == 0)
        code = pfc_bisection_detail_get(app->db, row.items[0].project_id, id, &detail, err);
    if (!code) {
        b = &row.items[0];
        json = pfc_encode_bisection(req, b);
        if (detail.line.len)
            pfc_encode_bisection_detail(id, &detail, json);
        code = pfc_reply_json(reply, 200, json, err);
    }
    pfc_bisection_detail_clear(&detail);
    pfc_rows_clear(&row);
    return code;
}

static json_t *encode_replayed(const pfc_bisection_replayed *s, size_t places)
{
    json_t *posterior = s->posterior ? json_array() : json_null();

    for (size_t i = 0; s->posterior && i < places; i++)
        json_array_append_new(posterior, pfc_reply_number(round(s->posterior[i] * 1e6) / 1e6));
    return json_pack("{s:I, s:s, s:I, s:s, s:o, s:o}", "n", (json_int_t)s->n, "commit", s->commit,
                     "place", (json_int_t)s->place, "state", s->state, "value",
                     pfc_reply_number(s->value), "posterior", posterior);
}

static json_t *encode_replay(int64_t id, const pfc_bisection_replay *r, const char *reason)
{
    json_t *places = json_array(), *steps = json_array();

    for (size_t i = 0; i < r->places; i++)
        json_array_append_new(places, json_string(r->line.items[i * r->commits_per_place]));
    for (size_t i = 0; i < r->steps_len; i++)
        json_array_append_new(steps, encode_replayed(&r->steps[i], r->places));
    return json_pack("{s:I, s:o, s:I, s:o, s:o}", "bisection_id", (json_int_t)id, "reason",
                     pfc_reply_string(reason), "commits_per_place",
                     (json_int_t)r->commits_per_place, "places", places, "steps", steps);
}

/* GET /api/v1/bisections/{id}/replay */
PFC_HANDLER(bisections_replay)
{
    pfc_bisections row = { 0 };
    pfc_bisection_replay replay = { 0 };
    const char *reason = NULL;
    int64_t id = 0;
    pfc_code code;

    code = pfc_req_param_id(req, "id", &id, err);
    if (!code)
        code = pfc_bisections_get(app->db, id, &row, err);
    if (!code)
        code = pfc_req_allow_project(req, row.items[0].project_id, "bisection", err);
    if (!code && strcmp(row.items[0].mode, "remote") == 0)
        code = pfc_bisection_replay_get(app->db, row.items[0].project_id, id, &replay, err);
    else if (!code)
        reason = "the report of a local search has no options and no commits in order, from which "
                 "a posterior could be computed";
    if (!code)
        code = pfc_reply_json(reply, 200, encode_replay(id, &replay, reason), err);
    pfc_bisection_replay_clear(&replay);
    pfc_rows_clear(&row);
    return code;
}

/* ---- POST ---- */

/* The body of a report; strings and `pairs` are owned. */
typedef struct report_body {
    char *project, *metric, *benchmark, *backend, *good, *bad, *verdict;
    char *culprits, *steps, *stopped; /* JSON text */
    char *culprit;                    /* the one commit */
    char *before;                     /* it was compared with in fresh pairs */
    double *pairs;                    /* before, after, ... */
    size_t pairs_len;
    double rel_change;
    int64_t runs, builds, commits_measured, alert_id;
    double seconds;
} report_body;

static void report_clear(report_body *r)
{
    free(r->project);
    free(r->metric);
    free(r->benchmark);
    free(r->backend);
    free(r->good);
    free(r->bad);
    free(r->verdict);
    free(r->culprits);
    free(r->steps);
    free(r->stopped);
    free(r->culprit);
    free(r->before);
    free(r->pairs);
}

static pfc_code check_commits(const json_t *entry, const pfc_json_at *at, pfc_err *err)
{
    const pfc_json_at commits_at = { .up = at, .key = "commits" };
    json_t *commits = NULL;
    pfc_code code = pfc_json_array(entry, at, "commits", true, MAX_RANGE, &commits, err);

    if (!code && json_array_size(commits) == 0)
        code = pfc_json_fault(&commits_at, NULL, err, "expected at least one commit");
    for (size_t i = 0; !code && i < json_array_size(commits); i++) {
        const pfc_json_at item = { .up = &commits_at, .index = i };
        size_t len = json_string_length(json_array_get(commits, i));

        if (len == 0 || len > PFC_WIRE_MAX_NAME)
            code = pfc_json_fault(&item, NULL, err, "expected a commit id");
    }
    return code;
}

static pfc_code decode_culprits(const json_t *body, report_body *r, pfc_err *err)
{
    static const char *const known[] = { "commits",  "probability",  "rel_change", "rel_low",
                                         "rel_high", "unmeasurable", NULL };
    bool unmeasurable = false;
    const pfc_json_at here = { .key = "culprits" };
    json_t *list = NULL;
    pfc_code code = pfc_json_array(body, NULL, "culprits", true, MAX_CULPRITS, &list, err);

    for (size_t i = 0; !code && i < json_array_size(list); i++) {
        const json_t *entry = json_array_get(list, i);
        const pfc_json_at at = { .up = &here, .index = i };
        double x = 0;

        if (!json_is_object(entry))
            return pfc_json_fault(&at, NULL, err, "expected an object");
        code = pfc_json_known(entry, &at, known, err);
        if (!code)
            code = check_commits(entry, &at, err);
        if (!code)
            code = pfc_json_double(entry, &at, "probability", false, 0, 1, &x, err);
        for (size_t k = 2; k < 5 && !code; k++)
            code = pfc_json_double(entry, &at, known[k], false, -1e12, 1e12, &x, err);
        if (!code)
            code = pfc_json_bool(entry, &at, "unmeasurable", false, &unmeasurable, err);
    }
    if (code)
        return code;
    /* One entry with one commit is a culprit; more are a range or several. */
    if (json_array_size(list) == 1) {
        const json_t *commits = json_object_get(json_array_get(list, 0), "commits");
        const char *id = json_string_value(json_array_get(commits, 0));

        if (json_array_size(commits) == 1 && pfc_is_commit_id(id))
            r->culprit = pfc_strdup(id);
        r->rel_change = json_number_value(json_object_get(json_array_get(list, 0), "rel_change"));
    }
    r->culprits = json_dumps(list, JSON_COMPACT);
    return PFC_OK;
}

/* {"before", "pairs": [[before, after], ...]}: raw values, because the server runs the test itself.
 */
static pfc_code decode_confirmation(const json_t *body, report_body *r, pfc_err *err)
{
    static const char *const known[] = { "before", "pairs", NULL };
    const pfc_json_at here = { .key = "confirmation" };
    json_t *doc = NULL, *list = NULL;
    pfc_code code = pfc_json_object(body, NULL, "confirmation", false, &doc, err);

    if (code || !doc)
        return code;
    code = pfc_json_known(doc, &here, known, err);
    if (!code)
        code = pfc_json_string(doc, &here, "before", true, 64, &r->before, err);
    if (!code && !pfc_is_commit_id(r->before))
        code = pfc_json_fault(&here, "before", err, "expected a full id of 40 hexadecimal digits");
    if (!code)
        code = pfc_json_array(doc, &here, "pairs", true, PFC_CONFIRM_MAX_PAIRS, &list, err);
    if (code)
        return code;
    r->pairs = pfc_calloc(2 * json_array_size(list) + 1, sizeof(*r->pairs));
    for (size_t i = 0; i < json_array_size(list); i++) {
        const pfc_json_at pairs = { .up = &here, .key = "pairs" };
        const pfc_json_at at = { .up = &pairs, .index = i };
        const json_t *pair = json_array_get(list, i);

        for (size_t k = 0; k < 2; k++) {
            const double x = json_number_value(json_array_get(pair, k));

            if (json_array_size(pair) != 2 || !isfinite(x) || x <= 0)
                return pfc_json_fault(&at, NULL, err, "expected two numbers above 0");
            r->pairs[2 * i + k] = x;
        }
    }
    r->pairs_len = json_array_size(list);
    return PFC_OK;
}

static pfc_code decode_steps(const json_t *body, report_body *r, pfc_err *err)
{
    static const char *const known[] = { "commit", "value", "build", "confirm", NULL };
    const pfc_json_at here = { .key = "steps" };
    json_t *list = NULL;
    pfc_code code = pfc_json_array(body, NULL, "steps", false, MAX_STEPS, &list, err);

    for (size_t i = 0; !code && i < json_array_size(list); i++) {
        const json_t *entry = json_array_get(list, i);
        const pfc_json_at at = { .up = &here, .index = i };
        char *commit = NULL;
        double value = 0;
        int64_t build = 0;
        bool confirm = false;

        if (!json_is_object(entry))
            return pfc_json_fault(&at, NULL, err, "expected an object");
        code = pfc_json_known(entry, &at, known, err);
        if (!code)
            code = pfc_json_bool(entry, &at, "confirm", false, &confirm, err);
        if (!code)
            code = pfc_json_string(entry, &at, "commit", true, PFC_WIRE_MAX_NAME, &commit, err);
        if (!code)
            code = pfc_json_double(entry, &at, "value", false, -1e300, 1e300, &value, err);
        if (!code)
            code = pfc_json_i64(entry, &at, "build", false, 0, MAX_COUNT, &build, err);
        free(commit);
    }
    if (!code && list)
        r->steps = json_dumps(list, JSON_COMPACT);
    return code;
}

/* The interval of the difference between good and bad, against the margin; unknown members are
 * null. */
static pfc_code decode_difference(const json_t *body, report_body *r, pfc_err *err)
{
    static const char *const known[] = { "rel_change", "rel_low",   "rel_high", "margin",
                                         "within",     "more_runs", NULL };
    static const char *const numbers[] = { "rel_change", "rel_low", "rel_high", "margin",
                                           "more_runs" };
    const pfc_json_at here = { .key = "difference" };
    json_t *d = NULL, *doc, *stopped;
    bool within = false;
    pfc_code code = pfc_json_object(body, NULL, "difference", false, &d, err);

    if (code || !d)
        return code;
    doc = json_object();
    code = pfc_json_known(d, &here, known, err);
    if (!code)
        code = pfc_json_bool(d, &here, "within", true, &within, err);
    json_object_set_new(doc, "within", json_boolean(within));
    for (size_t i = 0; i < PFC_ARRAY_LEN(numbers) && !code; i++) {
        const json_t *given = json_object_get(d, numbers[i]);
        double value = 0;

        if (given && !json_is_null(given))
            code = pfc_json_double(d, &here, numbers[i], true, -1, 1e9, &value, err);
        json_object_set_new(doc, numbers[i],
                            given && !json_is_null(given) ? json_real(value) : json_null());
    }
    stopped = r->stopped ? pfc_encode_json_text(r->stopped) : json_object();
    json_object_set_new(stopped, "difference", doc);
    free(r->stopped);
    r->stopped = json_dumps(stopped, JSON_COMPACT);
    json_decref(stopped);
    return code;
}

/* The state of a search that its budget stopped: all members are required, or none is given. */
static pfc_code decode_stopped(const json_t *body, report_body *r, pfc_err *err)
{
    static const char *const known[] = { "commit", "probability", NULL };
    const pfc_json_at here = { .key = "likeliest" };
    char *stopped = NULL, *commit = NULL;
    json_t *likeliest = NULL, *doc;
    int64_t budget = 0, candidates = 0;
    double probability = 0, none = 0, more = 0;
    pfc_code code = pfc_json_string(body, NULL, "stopped", false, PFC_WIRE_MAX_NAME, &stopped, err);

    if (!code && stopped && strcmp(stopped, "budget") != 0 && strcmp(stopped, "interrupted") != 0)
        code = pfc_json_fault(NULL, "stopped", err,
                              "expected \"budget\" or \"interrupted\", got \"%.32s\"", stopped);
    if (code || !stopped || strcmp(stopped, "budget") != 0)
        goto done;
    code = pfc_json_i64(body, NULL, "budget_runs", true, 1, MAX_COUNT, &budget, err);
    if (!code)
        code = pfc_json_i64(body, NULL, "candidates", true, 0, MAX_COUNT, &candidates, err);
    if (!code)
        code = pfc_json_double(body, NULL, "probability_none", true, 0, 1, &none, err);
    /* Null: no number of further runs is likely to decide it. */
    if (!code && !json_is_null(json_object_get(body, "expected_more_runs")))
        code = pfc_json_double(body, NULL, "expected_more_runs", true, 0, MAX_COUNT, &more, err);
    else
        more = (double)NAN;
    if (!code)
        code = pfc_json_object(body, NULL, "likeliest", true, &likeliest, err);
    if (!code)
        code = pfc_json_known(likeliest, &here, known, err);
    if (!code)
        code = pfc_json_string(likeliest, &here, "commit", true, PFC_WIRE_MAX_NAME, &commit, err);
    if (!code)
        code = pfc_json_double(likeliest, &here, "probability", true, 0, 1, &probability, err);
    if (!code) {
        doc =
            json_pack("{s:s, s:I, s:I, s:{s:s, s:f}, s:f, s:o}", "stopped", stopped, "budget_runs",
                      (json_int_t)budget, "candidates", (json_int_t)candidates, "likeliest",
                      "commit", commit, "probability", probability, "probability_none", none,
                      "expected_more_runs", isfinite(more) ? json_real(more) : json_null());
        r->stopped = json_dumps(doc, JSON_COMPACT);
        json_decref(doc);
    }

done:
    free(stopped);
    free(commit);
    return code;
}

static pfc_code decode_texts(const json_t *body, report_body *r, pfc_err *err)
{
    const struct {
        const char *key;
        bool required;
        char **out;
    } texts[] = {
        { "project", true, &r->project },
        { "metric", true, &r->metric },
        { "benchmark", false, &r->benchmark },
        { "backend", false, &r->backend },
        { "good", true, &r->good },
        { "bad", true, &r->bad },
        { "verdict", true, &r->verdict },
    };
    static const char *const verdicts[] = { "found", "range", "no-regression", "inconclusive" };
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < PFC_ARRAY_LEN(texts) && !code; i++)
        code = pfc_json_name(body, NULL, texts[i].key, texts[i].required, PFC_WIRE_MAX_NAME,
                             texts[i].out, err);
    if (code)
        return code;
    for (size_t i = 0; i < PFC_ARRAY_LEN(verdicts); i++) {
        if (strcmp(r->verdict, verdicts[i]) == 0)
            return PFC_OK;
    }
    return pfc_json_fault(NULL, "verdict", err,
                          "expected found, range, no-regression or inconclusive, got \"%.32s\"",
                          r->verdict);
}

static pfc_code decode_numbers(const json_t *body, report_body *r, pfc_err *err)
{
    pfc_code code = pfc_json_i64(body, NULL, "runs", true, 0, MAX_COUNT, &r->runs, err);

    if (!code)
        code = pfc_json_i64(body, NULL, "builds", true, 0, MAX_COUNT, &r->builds, err);
    if (!code)
        code = pfc_json_i64(body, NULL, "commits_measured", true, 0, MAX_COUNT,
                            &r->commits_measured, err);
    if (!code)
        code = pfc_json_double(body, NULL, "seconds", true, 0, 1e9, &r->seconds, err);
    if (!code)
        code = pfc_json_i64(body, NULL, "alert_id", false, 1, INT64_MAX, &r->alert_id, err);
    return code;
}

/* The alert must be of a project that the caller may touch. */
static pfc_code check_alert(pfc_app *app, int64_t project_id, int64_t alert_id, pfc_err *err)
{
    pfc_alerts alert = { 0 };
    pfc_code code;

    if (alert_id == 0)
        return PFC_OK;
    code = pfc_alerts_get(app->db, alert_id, &alert, err);
    if (code == PFC_ENOTFOUND || (!code && alert.items[0].project_id != project_id))
        code = pfc_json_fault(NULL, "alert_id", err, "the project has no alert %lld",
                              (long long)alert_id);
    pfc_rows_clear(&alert);
    return code;
}

/* A body with `mode` starts a search on the runners; a body without it reports a finished one. */
static bool is_order(const pfc_req *req)
{
    json_t *body = NULL;
    pfc_err err = { 0 };
    const bool order =
        pfc_decode_body(req, &body, &err) == PFC_OK && json_object_get(body, "mode") != NULL;

    json_decref(body);
    return order;
}

static pfc_code decode_report(const pfc_req *req, report_body *r, pfc_err *err)
{
    static const char *const known[] = { "project",
                                         "metric",
                                         "benchmark",
                                         "backend",
                                         "good",
                                         "bad",
                                         "verdict",
                                         "culprits",
                                         "runs",
                                         "builds",
                                         "commits_measured",
                                         "seconds",
                                         "steps",
                                         "alert_id",
                                         "confirmation",
                                         "stopped",
                                         "budget_runs",
                                         "candidates",
                                         "likeliest",
                                         "probability_none",
                                         "expected_more_runs",
                                         "difference",
                                         NULL };
    static pfc_code (*const parts[])(const json_t *body, report_body *r, pfc_err *err) = {
        decode_texts, decode_numbers, decode_culprits,   decode_confirmation,
        decode_steps, decode_stopped, decode_difference,
    };
    json_t *body = NULL;
    pfc_code code = pfc_decode_object(req, known, &body, err);

    for (size_t i = 0; i < PFC_ARRAY_LEN(parts) && !code; i++)
        code = parts[i](body, r, err);
    json_decref(body);
    return code;
}

static pfc_code store_report(pfc_app *app, const pfc_req *req, int64_t project,
                             const report_body *r, pfc_bisections *row, pfc_err *err)
{
    const pfc_bisection_report report = {
        .metric = r->metric,
        .benchmark = r->benchmark,
        .backend = r->backend,
        .good = r->good,
        .bad = r->bad,
        .verdict = r->verdict,
        .culprits_json = r->culprits,
        .steps_json = r->steps,
        .stopped_json = r->stopped,
        .culprit = strcmp(r->verdict, "found") == 0 ? r->culprit : NULL,
        .runs = r->runs,
        .builds = r->builds,
        .commits_measured = r->commits_measured,
        .seconds = r->seconds,
        .alert_id = r->alert_id,
        .before = r->before,
        .pairs = r->pairs,
        .pairs_len = r->pairs_len,
        .rel_change = r->rel_change > -1 ? r->rel_change : 0,
    };

    return pfc_bisection_store(app->db, req->auth.actor, project, &report, row, err);
}

/* POST /api/v1/bisections */
PFC_HANDLER(bisections_post)
{
    report_body r = { 0 };
    int64_t project = 0;
    pfc_bisections row = { 0 };
    pfc_code code;

    if (is_order(req))
        return pfc_bisection_order_post(app, req, reply, err);
    code = decode_report(req, &r, err);
    if (!code)
        code = pfc_decode_project(app, req, r.project, "project", &project, err);
    if (!code)
        code = check_alert(app, project, r.alert_id, err);
    if (!code)
        code = store_report(app, req, project, &r, &row, err);
    if (!code)
        code = pfc_reply_json(reply, 201, pfc_encode_bisection(req, &row.items[0]), err);
    pfc_rows_clear(&row);
    report_clear(&r);
    return code;
}
