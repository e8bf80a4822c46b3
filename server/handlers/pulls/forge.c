/* Which repository of a forge a project watches, and the rules for its pull requests. */
#include "server/handlers/handlers.h"
#include "server/services/bot/bot.h"

static const pfc_field link_fields[] = {
    PFC_FIELD(pfc_forge_link, forge),
    PFC_FIELD(pfc_forge_link, repo),
    PFC_FIELD(pfc_forge_link, policy),
    PFC_FIELD(pfc_forge_link, budget_s),
    PFC_FIELD(pfc_forge_link, patience_s),
    PFC_FIELD(pfc_forge_link, machine_class),
    PFC_FIELD_AS(pfc_forge_link, "created_at", created_at, TIME),
};

static pfc_code answer(pfc_app *app, int64_t project, pfc_reply *reply, pfc_err *err)
{
    pfc_forge_links rows = { 0 };
    pfc_code code = pfc_forge_link_get(app->db, project, &rows, err);

    if (!code)
        code = pfc_reply_json(reply, 200, pfc_encode_fields(PFC_FIELDS(link_fields), rows.items),
                              err);
    pfc_rows_clear(&rows);
    return code;
}

/* GET /api/v1/projects/{p}/forge */
PFC_HANDLER(forge_get)
{
    int64_t project = 0;
    pfc_code code = pfc_path_project(app, req, &project, err);

    return code ? code : answer(app, project, reply, err);
}

/* POST /api/v1/projects/{p}/forge   {"forge", "repo", "policy"?, "budget_s"?, "patience_s"?,
 * "machine_class"?} */
PFC_HANDLER(forge_post)
{
    static const char *const known[] = { "forge",      "repo",          "policy", "budget_s",
                                         "patience_s", "machine_class", NULL };
    pfc_forge_link_spec spec = { 0 };
    char *forge = NULL, *repo = NULL, *policy = NULL, *machine_class = NULL;
    json_t *body = NULL;
    int64_t project = 0;
    pfc_code code = pfc_path_project(app, req, &project, err);

    if (!code)
        code = pfc_decode_object(req, known, &body, err);
    if (!code)
        code = pfc_json_string(body, NULL, "forge", true, 16, &forge, err);
    if (!code)
        code = pfc_json_string(body, NULL, "repo", true, PFC_FORGE_MAX_REPO, &repo, err);
    if (!code)
        code = pfc_json_string(body, NULL, "policy", false, 32, &policy, err);
    if (!code)
        code = pfc_json_name(body, NULL, "machine_class", false, PFC_WIRE_MAX_NAME, &machine_class,
                             err);
    if (!code)
        code = pfc_json_double(body, NULL, "budget_s", false, 1, PFC_JOB_MAX_BUDGET_S,
                               &spec.budget_s, err);
    if (!code)
        code = pfc_json_double(body, NULL, "patience_s", false, 60, PFC_PULL_MAX_PATIENCE_S,
                               &spec.patience_s, err);
    spec.forge = forge;
    spec.repo = repo;
    spec.policy = policy;
    spec.machine_class = machine_class;
    if (!code)
        code = pfc_forge_link_set(app->db, req->auth.actor, project, &spec, err);
    if (!code)
        code = answer(app, project, reply, err);
    json_decref(body);
    free(machine_class);
    free(policy);
    free(repo);
    free(forge);
    return code;
}

/* DELETE /api/v1/projects/{p}/forge */
PFC_HANDLER(forge_delete)
{
    int64_t project = 0;
    pfc_code code = pfc_path_project(app, req, &project, err);

    if (!code)
        code = pfc_forge_link_remove(app->db, req->auth.actor, project, err);
    return code ? code : pfc_reply_empty(reply);
}
