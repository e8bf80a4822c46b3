/*
 * Sign-ins of browsers: the caller's token becomes a session, whose id is in a cookie that scripts
 * cannot read and other sites cannot send. The session can be listed and ended separately from the
 * token.
 */
#include "server/handlers/handlers.h"
#include "server/services/access/browser_sessions.h"

pfc_code pfc_app_check_session(pfc_app *app, const char *session, pfc_principal *out, pfc_err *err)
{
    return pfc_browser_session_verify(app->db, app->cache, session, out, err);
}

/* POST /api/v1/session */
PFC_HANDLER(session_post)
{
    char secret[PFC_TOKEN_TEXT] = "";
    pfc_code code;

    /* A stolen session must not outlive its end by a second one. */
    if (req->auth.session_id)
        return pfc_err_set(err, PFC_EDENIED,
                           "a session cannot start another: send the token in Authorization");
    code = pfc_browser_session_begin(app->db, &req->auth, req->address, secret, err);
    if (code)
        return code;
    code = pfc_reply_empty(reply);
    pfc_reply_session(reply, secret);
    return code;
}

/* GET /api/v1/session: what the caller's token may do. */
PFC_HANDLER(session_get)
{
    pfc_tokens rows = { 0 };
    const pfc_token *t;
    pfc_code code = pfc_tokens_get(app->db, req->auth.token_id, &rows, err);

    if (!code) {
        t = rows.items;
        code = pfc_reply_json(reply, 200,
                              json_pack("{s:I, s:o, s:o, s:o, s:o}", "token_id",
                                        (json_int_t)t->id, "name", pfc_reply_string(t->name),
                                        "scopes", pfc_encode_scopes(t->scopes), "project",
                                        pfc_reply_string(t->project), "expires_at",
                                        pfc_encode_time(t->expires_at)),
                              err);
    }
    pfc_rows_clear(&rows);
    return code;
}

/* DELETE /api/v1/session: also without a session, or with one that ended. */
PFC_HANDLER(session_delete)
{
    pfc_code code = PFC_OK;

    if (req->session && *req->session && !req->own_page)
        return pfc_err_set(err, PFC_EDENIED,
                           "only a page of this service signs out: expected Sec-Fetch-Site: "
                           "same-origin, or an Origin that is this host");
    if (req->session && *req->session) {
        code = pfc_browser_session_sign_out(app->db, req->session, err);
        if (!code && app->cache)
            pfc_cache_forget(app->cache);
        if (code == PFC_ENOTFOUND)
            code = PFC_OK;
    }
    if (code)
        return code;
    code = pfc_reply_empty(reply);
    pfc_reply_session(reply, "");
    return code;
}

/* The token whose sessions the caller manages; 0: every token. */
static int64_t own_token(const pfc_req *req)
{
    const bool everyones = (req->auth.scopes & PFC_SCOPE_ADMIN) && !req->auth.project_id;

    return everyones ? 0 : req->auth.token_id;
}

static const pfc_field session_fields[] = {
    PFC_FIELD(pfc_browser_session, id),
    PFC_FIELD(pfc_browser_session, token_id),
    PFC_FIELD(pfc_browser_session, token_name),
    PFC_FIELD(pfc_browser_session, address),
    PFC_FIELD_AS(pfc_browser_session, "created_at", created_at, TIME),
    PFC_FIELD_AS(pfc_browser_session, "expires_at", expires_at, TIME),
    PFC_FIELD_AS(pfc_browser_session, "last_used_at", last_used_at, TIME),
};

static json_t *encode_session(const void *row, const void *context)
{
    const pfc_browser_session *s = row;
    const pfc_req *req = context;
    json_t *json = pfc_encode_fields(PFC_FIELDS(session_fields), s);

    json_object_set_new(json, "current", json_boolean(s->id == req->auth.session_id));
    return json;
}

/* GET /api/v1/browser-sessions */
PFC_HANDLER(browser_sessions_list)
{
    pfc_browser_sessions rows = { 0 };
    pfc_page page;
    pfc_code code = pfc_decode_page(req, &page, err);

    if (!code)
        code = pfc_browser_sessions_list(app->db, own_token(req), page, &rows, err);
    if (!code)
        code = pfc_reply_rows(reply, "browser_sessions", PFC_ROW_VIEW(&rows), encode_session, req,
                              rows.next, err);
    pfc_rows_clear(&rows);
    return code;
}

/* DELETE /api/v1/browser-sessions/{id} */
PFC_HANDLER(browser_sessions_delete)
{
    int64_t id = 0;
    pfc_code code = pfc_req_param_id(req, "id", &id, err);

    if (!code)
        code = pfc_browser_session_end(app->db, req->auth.actor, id, own_token(req), err);
    if (!code && app->cache)
        pfc_cache_forget(app->cache);
    return code ? code : pfc_reply_empty(reply);
}
