/* Projects. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/config/conf.h"
#include "core/base/parse.h"
#include "server/handlers/handlers.h"
#include "server/services/access/project_delete.h"
#include "server/services/history/project_summary.h"

#define DELETE_BUDGET_S 5.0 /* of one call; the client calls again for the rest */

static json_t *encode_project(const pfc_project *p)
{
    return json_pack("{s:o, s:o, s:o, s:I, s:I, s:I, s:o, s:o}", "name", pfc_reply_string(p->name),
                     "branch", pfc_reply_string(p->branch), "repo_url",
                     pfc_reply_string(p->repo_url), "commits", (json_int_t)p->commits, "runs",
                     (json_int_t)p->runs, "alerts_open", (json_int_t)p->alerts_open, "last_run_at",
                     pfc_encode_time(p->last_run_at), "created_at", pfc_encode_time(p->created_at));
}

static json_t *encode_standing(const pfc_standing *s)
{
    char *sentence = pfc_standing_sentence(s);
    json_t *json =
        json_pack("{s:s, s:s, s:{s:I, s:I, s:I, s:I, s:I, s:I}, s:{s:I, s:I, s:I, s:I, s:I}}",
                  "level", pfc_standing_level(s), "sentence", sentence, "alerts", "open",
                  (json_int_t)s->open, "regression", (json_int_t)s->regressions, "broken",
                  (json_int_t)s->broken, "drift", (json_int_t)s->drifts, "toolchain",
                  (json_int_t)s->toolchain, "harness", (json_int_t)s->harness, "headline", "series",
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
    json_t *items;
    pfc_code code;

    code = pfc_decode_page(req, &page, err);
    if (!code)
        code = pfc_projects_list(app->db, req->auth.project_id, page, &rows, err);
    if (code)
        return code;
    items = json_array();
    for (size_t i = 0; i < rows.len; i++)
        json_array_append_new(items, encode_project(&rows.items[i]));
    code = pfc_reply_json(reply, 200, pfc_encode_list("projects", items, rows.next), err);
    pfc_rows_clear(&rows);
    return code;
}

/* A password, or what stands before the @ of an http address: a token. An ssh user is none. */
static bool holds_secret(const char *url)
{
    const char *at = strstr(url, "://");
    const size_t len = at ? strcspn(at + 3, "/?#") : 0;

    if (!at || !memchr(at + 3, '@', len))
        return false;
    return strncasecmp(url, "http", 4) == 0 || pfc_conf_url_has_password(url);
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
        code = pfc_json_string(body, NULL, "branch", false, PFC_WIRE_MAX_NAME, &branch, err);
    if (!code)
        code = pfc_json_string(body, NULL, "repo_url", false, PFC_WIRE_MAX_TEXT, &url, err);
    if (code)
        goto done;
    if (url && holds_secret(url)) {
        code =
            pfc_json_fault(NULL, "repo_url", err,
                           "everybody who reads here sees it: expected no password or token in it");
        goto done;
    }
    if (!pfc_is_slug(name)) {
        code = pfc_json_fault(NULL, "name", err,
                              "expected lower-case letters, digits, dots, dashes and underscores");
        goto done;
    }
    code = pfc_project_create(app->db, req->auth.actor, name, branch, url, &created, &row, err);
    if (!code)
        code = pfc_reply_json(reply, created ? 201 : 200, encode_project(&row.items[0]), err);

done:
    pfc_rows_clear(&row);
    free(name);
    free(branch);
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
    json_t *json, *list;
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
    json = encode_project(&row.items[0]);
    list = json_array();
    for (size_t i = 0; i < headline.len; i++) {
        const pfc_series *s = &headline.items[i];

        json_array_append_new(
            list, json_pack("{s:o, s:o, s:o, s:o, s:o, s:I}", "metric", pfc_reply_string(s->metric),
                            "backend", pfc_reply_string(s->backend), "machine_class",
                            pfc_reply_string(s->machine_class), "unit", pfc_reply_string(s->unit),
                            "direction", pfc_encode_direction(s->higher_is_better), "series_id",
                            (json_int_t)s->id));
    }
    json_object_set_new(json, "headline", list);
    json_object_set_new(json, "standing", encode_standing(&standing));
    code = pfc_reply_json(reply, 200, json, err);

done:
    pfc_rows_clear(&headline);
    pfc_rows_clear(&row);
    return code;
}
