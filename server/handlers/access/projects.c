/* Projects: created, listed, shown with their headline series, deleted. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/config/conf.h"
#include "core/base/parse.h"
#include "server/handlers/handlers.h"
#include "server/services/access/access.h"
#include "server/services/access/project_delete.h"
#include "server/services/history/project_summary.h"

#define DELETE_BUDGET_S 5.0 /* of one call; the client calls again for the rest */

static const pfc_field project_fields[] = {
    PFC_FIELD(pfc_project, name),
    PFC_FIELD(pfc_project, branch),
    PFC_FIELD(pfc_project, repo_url),
    PFC_FIELD_AS(pfc_project, "rerun", rerun_json, ARRAY),
    PFC_FIELD(pfc_project, commits),
    PFC_FIELD(pfc_project, runs),
    PFC_FIELD(pfc_project, alerts_open),
    PFC_FIELD(pfc_project, groups_open),
    PFC_FIELD_AS(pfc_project, "last_run_at", last_run_at, TIME),
    PFC_FIELD_AS(pfc_project, "created_at", created_at, TIME),
};

static const pfc_field headline_fields[] = {
    PFC_FIELD(pfc_series, metric),
    PFC_FIELD(pfc_series, backend),
    PFC_FIELD(pfc_series, machine_class),
    PFC_FIELD(pfc_series, unit),
    PFC_FIELD_AS(pfc_series, "direction", higher_is_better, DIRECTION),
    PFC_FIELD_NAMED(pfc_series, "series_id", id),
};

static json_t *encode_standing(const pfc_standing *s)
{
    char *sentence = pfc_standing_sentence(s);
    json_t *json = json_pack(
        "{s:s, s:s, s:{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}, s:s, s:I, s:I,"
        " s:{s:I, s:I, s:I, s:I, s:I}}",
        "level", pfc_standing_level(s), "sentence", sentence, "alerts", "open", (json_int_t)s->open,
        "groups", (json_int_t)s->groups, "new_groups", (json_int_t)s->fresh, "regression",
        (json_int_t)s->regressions, "broken", (json_int_t)s->broken, "drift", (json_int_t)s->drifts,
        "toolchain", (json_int_t)s->toolchain, "harness", (json_int_t)s->harness, "suppressed",
        (json_int_t)s->suppressed, "new_since", s->since_night ? "night" : "day", "broken_builds",
        (json_int_t)s->broken_builds, "silent_runners", (json_int_t)s->silent, "headline", "series",
        (json_int_t)s->headline, "regressed", (json_int_t)s->regressed, "watching",
        (json_int_t)s->watching, "improved", (json_int_t)s->improved, "unchanged",
        (json_int_t)(s->headline - s->regressed - s->watching - s->improved));

    free(sentence);
    return json;
}

/* GET /api/v1/projects */
PFC_HANDLER(projects_list)
{
    pfc_projects rows = { 0 };
    pfc_page page;
    pfc_code code;

    code = pfc_decode_page(req, &page, err);
    if (!code)
        code = pfc_projects_list(app->db, req->auth.project_id, page, &rows, err);
    if (!code)
        code = pfc_reply_table(reply, "projects", PFC_ROW_VIEW(&rows), PFC_FIELDS(project_fields),
                               rows.next, err);
    pfc_rows_clear(&rows);
    return code;
}

/* True when the URL has a password, or any user part in an http URL, which can be a token. The user
 * of an ssh URL is no secret. */
static bool holds_secret(const char *url)
{
    const char *at = strstr(url, "://");
    const size_t len = at ? strcspn(at + 3, "/?#") : 0;

    if (!at || !memchr(at + 3, '@', len))
        return false;
    return strncasecmp(url, "http", 4) == 0 || pfc_conf_url_has_password(url);
}

static pfc_code check_repo_url(const char *url, pfc_err *err)
{
    if (!url || !holds_secret(url))
        return PFC_OK;
    return pfc_json_fault(
        NULL, "repo_url", err,
        "expected a URL without a password or token: every reader of the project sees it");
}

/* POST /api/v1/projects   {"name", "branch"?, "repo_url"?} */
PFC_HANDLER(projects_post)
{
    static const char *const known[] = { "name", "branch", "repo_url", NULL };
    json_t *body = NULL;
    char *name = NULL, *branch = NULL, *url = NULL;
    pfc_projects row = { 0 };
    bool created = false;
    pfc_code code;

    code = pfc_decode_unbound(req, err);
    if (!code)
        code = pfc_decode_object(req, known, &body, err);
    if (code)
        goto done;
    code = pfc_json_string(body, NULL, "name", true, 63, &name, err);
    if (!code)
        code = pfc_json_name(body, NULL, "branch", false, PFC_WIRE_MAX_NAME, &branch, err);
    if (!code)
        code = pfc_json_string(body, NULL, "repo_url", false, PFC_WIRE_MAX_TEXT, &url, err);
    if (code)
        goto done;
    code = check_repo_url(url, err);
    if (code)
        goto done;
    if (!pfc_is_slug(name)) {
        code = pfc_json_fault(NULL, "name", err,
                              "expected lower-case letters, digits, dots, dashes and underscores");
        goto done;
    }
    code = pfc_project_create(app->db, req->auth.actor, name, branch, url, &created, &row, err);
    if (!code)
        code = pfc_reply_json(reply, created ? 201 : 200,
                              pfc_encode_fields(PFC_FIELDS(project_fields), row.items), err);

done:
    pfc_rows_clear(&row);
    free(name);
    free(branch);
    free(url);
    json_decref(body);
    return code;
}

/* PATCH /api/v1/projects/{p}   {"repo_url": text or null} */
PFC_HANDLER(projects_patch)
{
    static const char *const known[] = { "repo_url", NULL };
    json_t *body = NULL;
    char *url = NULL;
    pfc_projects row = { 0 };
    int64_t id = 0;
    pfc_code code = pfc_path_project(app, req, &id, err);

    if (!code)
        code = pfc_decode_object(req, known, &body, err);
    if (!code && !json_object_get(body, "repo_url"))
        code = pfc_json_fault(NULL, "repo_url", err, "expected a URL, or null for none");
    if (!code && !json_is_null(json_object_get(body, "repo_url")))
        code = pfc_json_string(body, NULL, "repo_url", true, PFC_WIRE_MAX_TEXT, &url, err);
    if (!code)
        code = check_repo_url(url, err);
    if (!code)
        code = pfc_project_set_repository(app->db, req->auth.actor, pfc_req_param(req, "p"), url,
                                          &row, err);
    if (!code)
        code = pfc_reply_json(reply, 200, pfc_encode_fields(PFC_FIELDS(project_fields), row.items),
                              err);
    pfc_rows_clear(&row);
    free(url);
    json_decref(body);
    return code;
}

/* DELETE /api/v1/projects/{p} */
PFC_HANDLER(projects_delete)
{
    pfc_project_gone gone = { 0 };
    pfc_code code = pfc_decode_unbound(req, err);

    if (!code)
        code = pfc_project_delete(app->db, req->auth.actor, pfc_req_param(req, "p"),
                                  DELETE_BUDGET_S, &gone, err);
    if (app->cache)
        pfc_cache_forget(app->cache);
    if (!code)
        code = pfc_reply_json(reply, 200,
                              json_pack("{s:I, s:b, s:o}", "rows", (json_int_t)gone.rows, "done",
                                        gone.done, "rest",
                                        gone.done ? json_null() : json_string(gone.name)),
                              err);
    return code;
}

/* GET /api/v1/projects/{p} */
PFC_HANDLER(projects_get)
{
    pfc_projects row = { 0 };
    pfc_series_rows headline = { 0 };
    pfc_standing standing = { 0 };
    json_t *json;
    int64_t id = 0;
    pfc_code code = pfc_path_project(app, req, &id, err);

    if (!code)
        code = pfc_projects_get(app->db, pfc_req_param(req, "p"), &row, err);
    if (!code)
        code = pfc_project_headline(app->db, id, &headline, err);
    if (!code)
        code = pfc_standing_get(app->db, id, &standing, err);
    if (code)
        goto done;
    json = pfc_encode_fields(PFC_FIELDS(project_fields), row.items);
    json_object_set_new(json, "headline",
                        pfc_encode_table(PFC_ROW_VIEW(&headline), PFC_FIELDS(headline_fields)));
    json_object_set_new(json, "standing", encode_standing(&standing));
    code = pfc_reply_json(reply, 200, json, err);

done:
    pfc_rows_clear(&headline);
    pfc_rows_clear(&row);
    return code;
}
