/* Tokens: made, listed without their secrets, revoked. */
#include <stdlib.h>

#include "core/base/parse.h"
#include "server/handlers/handlers.h"

static json_t *encode_scopes(int64_t scopes)
{
    json_t *list = json_array();

    for (size_t i = 0; i < PFC_ARRAY_LEN(pfc_scope_names); i++) {
        if (scopes & (1 << i))
            json_array_append_new(list, json_string(pfc_scope_names[i]));
    }
    return list;
}

/* GET /api/v1/tokens */
PFC_HANDLER(tokens_list)
{
    pfc_tokens rows = { 0 };
    pfc_page page;
    json_t *items;
    pfc_code code;

    code = pfc_decode_unbound(req, err);
    if (!code)
        code = pfc_decode_page(req, &page, err);
    if (!code)
        code = pfc_tokens_list(app->db, page, &rows, err);
    if (code)
        return code;
    items = json_array();
    for (size_t i = 0; i < rows.len; i++) {
        const pfc_token *t = &rows.items[i];

        json_array_append_new(items, json_pack("{s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "id",
                                               (json_int_t)t->id, "name", pfc_reply_string(t->name),
                                               "scopes", encode_scopes(t->scopes), "project",
                                               pfc_reply_string(t->project), "created_at",
                                               pfc_encode_time(t->created_at), "expires_at",
                                               pfc_encode_time(t->expires_at), "revoked_at",
                                               pfc_encode_time(t->revoked_at), "last_used_at",
                                               pfc_encode_time(t->last_used_at)));
    }
    code = pfc_reply_json(reply, 200, pfc_encode_list("tokens", items, rows.next), err);
    pfc_rows_clear(&rows);
    return code;
}

static pfc_code decode_scopes(const json_t *body, int64_t *scopes, pfc_err *err)
{
    char **words = NULL;
    size_t len = 0;
    pfc_code code = pfc_decode_texts(body, "scopes", true, 16, 16, &words, &len, err);

    if (!code && len == 0)
        code = pfc_json_fault(NULL, "scopes", err, "expected at least one scope");
    for (size_t i = 0; i < len && !code; i++) {
        int bit = pfc_scope_parse(words[i]);

        if (bit == 0)
            code = pfc_json_fault(NULL, "scopes", err,
                                  "expected read, ingest, runner, triage or admin, got \"%.16s\"",
                                  words[i]);
        *scopes |= bit;
    }
    pfc_decode_texts_free(words, len);
    return code;
}

/* POST /api/v1/tokens   {"name"?, "scopes", "project"?, "expires_at"?} */
PFC_HANDLER(tokens_post)
{
    static const char *const known[] = { "name", "scopes", "project", "expires_at", NULL };
    int64_t project = 0;
    json_t *body = NULL;
    char *name = NULL, *project_name = NULL, *expires = NULL;
    char secret[PFC_TOKEN_TEXT] = "";
    int64_t scopes = 0, id = 0, project_id = 0;
    double expires_at = 0;
    pfc_code code;

    code = pfc_decode_object(req, known, &body, err);
    if (!code)
        code = pfc_json_string(body, NULL, "name", false, 63, &name, err);
    if (!code)
        code = decode_scopes(body, &scopes, err);
    if (!code)
        code = pfc_json_string(body, NULL, "project", false, 64, &project_name, err);
    if (!code)
        code = pfc_json_string(body, NULL, "expires_at", false, 40, &expires, err);
    if (!code && expires && pfc_parse_rfc3339(expires, "expires_at", &expires_at, err))
        code = pfc_json_fault(NULL, "expires_at", err, "expected an RFC 3339 time, got \"%.40s\"",
                              expires);
    if (code)
        goto done;
    if (project_name) {
        code = pfc_decode_project(app, req, project_name, "project", &project, err);
        if (!code)
            project_id = project;
    } else {
        /* A token for everything is not for a project's administrator to give. */
        code = pfc_decode_unbound(req, err);
    }
    if (!code)
        code = pfc_token_create(app->db, req->auth.actor, name ? name : "", scopes, project_id,
                                expires_at, &id, secret, err);
    if (!code)
        code = pfc_reply_json(reply, 201,
                              json_pack("{s:I, s:o, s:s, s:o, s:o, s:o}", "id", (json_int_t)id,
                                        "name", pfc_reply_string(name ? name : ""), "token", secret,
                                        "scopes", encode_scopes(scopes), "project",
                                        pfc_reply_string(project_name), "expires_at",
                                        pfc_encode_time(expires_at)),
                              err);
    reply->cache = "no-store";

done:
    free(name);
    free(project_name);
    free(expires);
    json_decref(body);
    return code;
}

#define OVERLAP_MAX_S (90 * 86400)

/* POST /api/v1/tokens/{id}/rotate   {"overlap_s"} */
PFC_HANDLER(tokens_rotate)
{
    static const char *const known[] = { "overlap_s", NULL };
    char secret[PFC_TOKEN_TEXT] = "";
    int64_t id = 0, overlap_s = 0;
    pfc_tokens made = { 0 };
    json_t *body = NULL;
    pfc_code code = pfc_decode_unbound(req, err);

    if (!code)
        code = pfc_req_param_id(req, "id", &id, err);
    if (!code)
        code = pfc_decode_object(req, known, &body, err);
    if (!code)
        code = pfc_json_i64(body, NULL, "overlap_s", true, 0, OVERLAP_MAX_S, &overlap_s, err);
    if (!code)
        code =
            pfc_token_rotate(app->db, req->auth.actor, id, (double)overlap_s, &made, secret, err);
    if (!code && app->cache)
        pfc_cache_forget(app->cache);
    if (!code) {
        const pfc_token *t = &made.items[0];

        code = pfc_reply_json(reply, 201,
                              json_pack("{s:I, s:o, s:s, s:o, s:o, s:o}", "id", (json_int_t)t->id,
                                        "name", pfc_reply_string(t->name), "token", secret,
                                        "scopes", encode_scopes(t->scopes), "project",
                                        pfc_reply_string(t->project), "expires_at",
                                        pfc_encode_time(t->expires_at)),
                              err);
        reply->cache = "no-store";
    }
    pfc_rows_clear(&made);
    json_decref(body);
    return code;
}

/* DELETE /api/v1/tokens/{id} */
PFC_HANDLER(tokens_delete)
{
    int64_t id = 0;
    pfc_code code = pfc_decode_unbound(req, err);

    if (!code)
        code = pfc_req_param_id(req, "id", &id, err);
    if (!code)
        code = pfc_token_revoke(app->db, req->auth.actor, id, err);
    if (!code && app->cache)
        pfc_cache_forget(app->cache);
    if (!code)
        code = pfc_reply_empty(reply);
    return code;
}
