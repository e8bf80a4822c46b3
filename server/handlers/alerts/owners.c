/* Owners of the benchmarks and files of a project: the rules, and the repository's CODEOWNERS. */
#include "server/services/owners/owners.h"

#include <stdlib.h>
#include <string.h>

#include "server/handlers/handlers.h"
#include "server/services/access/lease_tokens.h"

json_t *pfc_encode_owner(const pfc_req *req, const char *owner)
{
    pfc_buf out;
    json_t *json;

    if (!owner || req->auth.token_id)
        return pfc_reply_string(owner);
    pfc_buf_init(&out, strlen(owner) + 1);
    for (const char *at = owner; *at;) {
        const size_t len = strcspn(at, " ");

        if (*at == '@' || !memchr(at, '@', len))
            pfc_buf_printf(&out, "%s%.*s", out.len ? " " : "", (int)len, at);
        at += len + (at[len] == ' ');
    }
    json = pfc_reply_string(out.len ? pfc_buf_text(&out) : NULL);
    pfc_buf_clear(&out);
    return json;
}

/* Addresses of persons are in both texts, so only a caller with a token reads them. */
static json_t *encode(const pfc_req *req, const pfc_owner_rules_list *rows)
{
    const pfc_owner_rules *o = rows->len && req->auth.token_id ? &rows->items[0] : NULL;
    json_t *file = o && o->path ? json_pack("{s:s, s:o, s:s}", "path", o->path, "commit",
                                            pfc_reply_string(o->sha), "text", o->codeowners)
                                : json_null();

    return json_pack("{s:s, s:o, s:o}", "rules", o ? o->rules : "", "codeowners", file,
                     "updated_at", o ? pfc_encode_time(o->updated_at) : json_null());
}

static pfc_code answer(pfc_app *app, const pfc_req *req, int64_t project, pfc_reply *reply,
                       pfc_err *err)
{
    pfc_owner_rules_list rows = { 0 };
    pfc_code code = pfc_owner_rules_get(app->db, project, &rows, err);

    if (!code)
        code = pfc_reply_json(reply, 200, encode(req, &rows), err);
    pfc_rows_clear(&rows);
    return code;
}

/* GET /api/v1/projects/{p}/owners */
PFC_HANDLER(owners_get)
{
    int64_t project = 0;
    pfc_code code = pfc_path_project(app, req, &project, err);

    return code ? code : answer(app, req, project, reply, err);
}

/* POST /api/v1/projects/{p}/owners   {"rules"} */
PFC_HANDLER(owners_post)
{
    static const char *const known[] = { "rules", NULL };
    int64_t project = 0;
    json_t *body = NULL;
    char *rules = NULL;
    pfc_code code = pfc_path_project(app, req, &project, err);

    if (!code)
        code = pfc_decode_object(req, known, &body, err);
    if (!code)
        code = pfc_json_string(body, NULL, "rules", true, PFC_OWNERS_MAX_TEXT, &rules, err);
    if (!code)
        code = pfc_owner_rules_set(app->db, req->auth.actor, project, rules, err);
    if (!code)
        code = answer(app, req, project, reply, err);
    free(rules);
    json_decref(body);
    return code;
}

/* POST /api/v1/projects/{p}/codeowners   {"commit", "path"?, "text"?} */
PFC_HANDLER(codeowners_post)
{
    static const char *const known[] = { "commit", "path", "text", NULL };
    pfc_codeowners_stored stored = { 0 };
    char *commit = NULL, *path = NULL, *text = NULL;
    json_t *body = NULL;
    int64_t project = 0;
    pfc_code code = pfc_path_project(app, req, &project, err);

    if (!code)
        code = pfc_decode_object(req, known, &body, err);
    if (!code)
        code = pfc_json_string(body, NULL, "commit", true, 64, &commit, err);
    if (!code)
        code = pfc_json_string(body, NULL, "path", false, PFC_WIRE_MAX_NAME, &path, err);
    if (!code)
        code = pfc_json_string(body, NULL, "text", path != NULL, PFC_OWNERS_MAX_TEXT, &text, err);
    if (!code)
        code = pfc_lease_check(app->db, &req->auth.lease,
                               &(pfc_lease_results){ .project_id = project,
                                                     .any_branch = true,
                                                     .commits = (const char *const *)&commit,
                                                     .commits_len = 1 },
                               err);
    if (!code)
        code = pfc_codeowners_store(
            app->db, req->auth.actor, project,
            &(pfc_codeowners_file){ .commit = commit, .path = path, .text = text }, &stored, err);
    if (!code)
        code = pfc_reply_json(reply, 200,
                              json_pack("{s:b, s:o, s:I, s:I}", "stored", stored.reason == NULL,
                                        "reason", pfc_reply_string(stored.reason), "rules",
                                        (json_int_t)stored.rules, "skipped",
                                        (json_int_t)stored.skipped),
                              err);
    free(commit);
    free(path);
    free(text);
    json_decref(body);
    return code;
}
