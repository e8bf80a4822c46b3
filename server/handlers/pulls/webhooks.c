/*
 * Webhooks of forges: verified on the raw body, stored, answered at once. The work is done by the
 * bot's thread.
 */
#include <string.h>
#include <time.h>

#include "core/base/parse.h"
#include "server/handlers/handlers.h"
#include "server/services/bot/bot.h"

/* The delivery id is a key of the database and shown to people. */
#define DELIVERY_MAX 200
#define NAME_MAX_    200

static const char *first(const pfc_req *req, const char *a, const char *b)
{
    const char *value = pfc_req_header(req, a);

    return value ? value : pfc_req_header(req, b);
}

static pfc_webhook_headers headers_of(const pfc_req *req, pfc_forge_kind kind)
{
    pfc_webhook_headers h = { .content_type = pfc_req_header(req, "Content-Type") };

    if (kind == PFC_FORGE_GITHUB) {
        h.event = pfc_req_header(req, "X-GitHub-Event");
        h.delivery = pfc_req_header(req, "X-GitHub-Delivery");
        h.signature = pfc_req_header(req, "X-Hub-Signature-256");
    } else if (kind == PFC_FORGE_GITLAB) {
        h.event = pfc_req_header(req, "X-Gitlab-Event");
        h.delivery = first(req, "webhook-id", "X-Gitlab-Event-UUID");
        h.signature = pfc_req_header(req, "webhook-signature");
        h.timestamp = pfc_req_header(req, "webhook-timestamp");
        h.token = pfc_req_header(req, "X-Gitlab-Token");
    } else {
        h.event = first(req, "X-Forgejo-Event", "X-Gitea-Event");
        h.delivery = first(req, "X-Forgejo-Delivery", "X-Gitea-Delivery");
        h.signature = first(req, "X-Forgejo-Signature", "X-Gitea-Signature");
    }
    return h;
}

static pfc_code check_names(const pfc_webhook_headers *h, pfc_err *err)
{
    if (!h->event || !h->event[0] || strlen(h->event) > NAME_MAX_ ||
        !pfc_is_utf8(h->event, strlen(h->event)))
        return pfc_err_set(err, PFC_EINVAL, "expected a header that names the event");
    if (strlen(h->delivery) > DELIVERY_MAX || !pfc_is_utf8(h->delivery, strlen(h->delivery)))
        return pfc_err_set(err, PFC_EINVAL, "expected a delivery id of at most %d bytes",
                           DELIVERY_MAX);
    return PFC_OK;
}

/* Between the signature and the row: the account's name is the setup's. */
static pfc_code take_in(pfc_app *app, const pfc_req *req, pfc_forge_kind kind,
                        const pfc_webhook_headers *headers, const pfc_bot_setup *setup,
                        bool *repeated, pfc_reply *reply, pfc_err *err)
{
    static const pfc_forge_accounts none = { 0 };
    const pfc_forge_account *account = NULL;
    pfc_webhook webhook = { 0 };
    pfc_code code =
        pfc_forge_account_verify(setup ? &setup->accounts : &none, kind, headers, req->body,
                                 req->body_len, (int64_t)time(NULL), &account, err);

    if (code == PFC_EDENIED)
        reply->status = 401;
    if (!code)
        code = check_names(headers, err);
    if (!code)
        code = pfc_webhook_parse(kind, headers->event, req->body, req->body_len, &webhook, err);
    if (!code)
        code = pfc_webhook_store(app->db, kind, account->name, headers, &webhook, repeated, err);
    pfc_webhook_clear(&webhook);
    return code;
}

static pfc_code receive(pfc_app *app, const pfc_req *req, pfc_forge_kind kind, pfc_reply *reply,
                        pfc_err *err)
{
    const pfc_webhook_headers headers = headers_of(req, kind);
    pfc_bot_setup *setup = app->setups ? pfc_bot_setups_hold(app->setups) : NULL;
    bool repeated = false;
    pfc_code code = take_in(app, req, kind, &headers, setup, &repeated, reply, err);

    pfc_bot_setup_release(setup);
    return code ? code : pfc_reply_json(reply, 202, json_pack("{s:b}", "repeated", repeated), err);
}

/* POST /api/v1/webhooks/github */
PFC_HANDLER(webhooks_github)
{
    return receive(app, req, PFC_FORGE_GITHUB, reply, err);
}

/* POST /api/v1/webhooks/gitlab */
PFC_HANDLER(webhooks_gitlab)
{
    return receive(app, req, PFC_FORGE_GITLAB, reply, err);
}

/* POST /api/v1/webhooks/gitea */
PFC_HANDLER(webhooks_gitea)
{
    return receive(app, req, PFC_FORGE_GITEA, reply, err);
}

static const pfc_field delivery_fields[] = {
    PFC_FIELD(pfc_webhook_row, id),
    PFC_FIELD(pfc_webhook_row, project),
    PFC_FIELD(pfc_webhook_row, forge),
    PFC_FIELD(pfc_webhook_row, delivery),
    PFC_FIELD(pfc_webhook_row, event),
    PFC_FIELD(pfc_webhook_row, kind),
    PFC_FIELD(pfc_webhook_row, repo),
    PFC_FIELD(pfc_webhook_row, sender),
    PFC_FIELD_AS(pfc_webhook_row, "pull", number, ID),
    PFC_FIELD(pfc_webhook_row, state),
    PFC_FIELD(pfc_webhook_row, note),
    PFC_FIELD_AS(pfc_webhook_row, "received_at", received_at, TIME),
    PFC_FIELD_AS(pfc_webhook_row, "done_at", done_at, TIME),
};

/* GET /api/v1/webhooks/deliveries */
PFC_HANDLER(webhooks_list)
{
    pfc_webhook_rows rows = { 0 };
    int64_t project_id = 0;
    pfc_page page;
    pfc_code code = pfc_query_project_page(app, req, &project_id, &page, err);

    if (!code)
        code = pfc_webhooks_list(app->db, project_id, page, &rows, err);
    if (!code)
        code = pfc_reply_table(reply, "deliveries", PFC_ROW_VIEW(&rows),
                               PFC_FIELDS(delivery_fields), rows.next, err);
    pfc_rows_clear(&rows);
    return code;
}
