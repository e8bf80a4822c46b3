/* Tokens: created, listed without their secrets, rotated, revoked. */
#include <stdlib.h>

#include "core/base/parse.h"
#include "server/handlers/handlers.h"
#include "server/services/access/access.h"

json_t *pfc_encode_scopes(int64_t scopes)
{
    json_t *list = json_array();

    for (size_t i = 0; i < PFC_ARRAY_LEN(pfc_scope_names); i++) {
        if (scopes & (1 << i))
            json_array_append_new(list, json_string(pfc_scope_names[i]));
    }
    return list;
}

static const pfc_field token_fields[] = {
    PFC_FIELD(pfc_token, id),
    PFC_FIELD(pfc_token, name),
    PFC_FIELD(pfc_token, project),
    PFC_FIELD_AS(pfc_token, "created_at", created_at, TIME),
    PFC_FIELD_AS(pfc_token, "expires_at", expires_at, TIME),
    PFC_FIELD_AS(pfc_token, "revoked_at", revoked_at, TIME),
    PFC_FIELD_AS(pfc_token, "last_used_at", last_used_at, TIME),
};

static json_t *encode_token(const void *row, const void *context)
{
    const pfc_token *t = row;
    json_t *json = pfc_encode_fields(PFC_FIELDS(token_fields), t);

    (void)context;
    json_object_set_new(json, "scopes", pfc_encode_scopes(t->scopes));
    return json;
}

/* GET /api/v1/tokens */
PFC_HANDLER(tokens_list)
{
    pfc_tokens rows = { 0 };
    pfc_page page;
    pfc_code code;

    code = pfc_decode_unbound(req, err);
    if (!code)
        code = pfc_decode_page(req, &page, err);
    if (!code)
        code = pfc_tokens_list(app->db, page, &rows, err);
    if (!code)
        code = pfc_reply_rows(reply, "tokens", PFC_ROW_VIEW(&rows), encode_token, NULL, rows.next,
                              err);
    pfc_rows_clear(&rows);
    return code;
}

static pfc_code decode_scopes(const json_t *body, int64_t *scopes, pfc_err *err)
{
    const pfc_texts_limits limits = { 16, 16 };
    pfc_texts words = { 0 };
    pfc_code code = pfc_decode_texts(body, "scopes", true, &limits, &words, err);

    if (!code && words.len == 0)
        code = pfc_json_fault(NULL, "scopes", err, "expected at least one scope");
    for (size_t i = 0; i < words.len && !code; i++) {
        int bit = pfc_scope_parse(words.items[i]);

        if (bit == 0)
            code = pfc_json_fault(NULL, "scopes", err,
                                  "expected read, ingest, runner, triage or admin, got \"%.16s\"",
                                  words.items[i]);
        *scopes |= bit;
    }
    pfc_texts_clear(&words);
    return code;
}

/* The only answer that has a token's secret. */
static pfc_code reply_secret(pfc_reply *reply, const pfc_token *t, const char *secret, pfc_err *err)
{
    reply->cache = "no-store";
    return pfc_reply_json(reply, 201,
                          json_pack("{s:I, s:o, s:s, s:o, s:o, s:o}", "id", (json_int_t)t->id,
                                    "name", pfc_reply_string(t->name), "token", secret, "scopes",
                                    pfc_encode_scopes(t->scopes), "project",
                                    pfc_reply_string(t->project), "expires_at",
                                    pfc_encode_time(t->expires_at)),
                          err);
}

/* POST /api/v1/tokens   {"name"?, "scopes", "project"?, "expires_at"?} */
PFC_HANDLER(tokens_post)
{
    static const char *const known[] = { "name", "scopes", "project", "expires_at", NULL };
    json_t *body = NULL;
    char *name = NULL, *project = NULL, *expires = NULL;
    char secret[PFC_TOKEN_TEXT] = "";
    int64_t scopes = 0, id = 0, project_id = 0;
    double expires_at = 0;
    pfc_code code;

    code = pfc_decode_object(req, known, &body, err);
    if (!code)
        code = pfc_json_name(body, NULL, "name", false, 63, &name, err);
    if (!code)
        code = decode_scopes(body, &scopes, err);
    if (!code)
        code = pfc_json_string(body, NULL, "project", false, 64, &project, err);
    if (!code)
        code = pfc_json_string(body, NULL, "expires_at", false, 40, &expires, err);
    if (!code && expires && pfc_parse_rfc3339(expires, "expires_at", &expires_at, err))
        code = pfc_json_fault(NULL, "expires_at", err, "expected an RFC 3339 time, got \"%.40s\"",
                              expires);
    if (!code && project)
        code = pfc_decode_project(app, req, project, "project", &project_id, err);
    else if (!code) /* the administrator of one project must not create a token for all */
        code = pfc_decode_unbound(req, err);
    if (!code)
        code = pfc_token_create(app->db, req->auth.actor, name ? name : "", scopes, project_id,
                                expires_at, &id, secret, err);
    if (!code) {
        const pfc_token made = { .id = id,
                                 .name = name ? name : "",
                                 .scopes = scopes,
                                 .project = project,
                                 .expires_at = expires_at };

        code = reply_secret(reply, &made, secret, err);
    }
    free(name);
    free(project);
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
    if (!code)
        code = reply_secret(reply, &made.items[0], secret, err);
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
