/* Runners and machines. */
#include "core/wire/fingerprint.h"
#include "server/handlers/handlers.h"

/* GET /api/v1/runners */
PFC_HANDLER(runners_list)
{
    pfc_runners rows = { 0 };
    json_t *items;
    pfc_code code;

    code = pfc_runners_list(app->db, req->auth.project_id, &rows, err);
    if (code)
        return code;
    items = json_array();
    for (size_t i = 0; i < rows.len; i++) {
        const pfc_runner *r = &rows.items[i];

        json_array_append_new(
            items, json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "name", pfc_reply_string(r->name),
                             "machine_class", pfc_reply_string(r->machine_class), "last_seen_at",
                             pfc_encode_time(r->last_seen_at), "job_id", pfc_encode_id(r->job_id),
                             "labels", pfc_encode_json_text(r->labels_json ? r->labels_json : "{}"),
                             "backends",
                             pfc_encode_json_text(r->backends_json ? r->backends_json : "[]")));
    }
    code = pfc_reply_json(reply, 200, json_pack("{s:o}", "runners", items), err);
    pfc_rows_clear(&rows);
    return code;
}

/* What of the machine changed since the fingerprint before, with what it was; null: there was none. */
static pfc_code encode_changes(const pfc_machine_row *m, json_t **out, pfc_err *err)
{
    pfc_labels before = { 0 }, now = { 0 };
    char **names = NULL;
    size_t len = 0;
    pfc_code code = PFC_OK;

    *out = m->before_json ? json_array() : json_null();
    if (m->before_json)
        code = pfc_labels_parse(m->before_json, &before, err);
    if (!code && m->before_json)
        code = pfc_labels_parse(m->fingerprint_json, &now, err);
    if (!code && m->before_json)
        pfc_fingerprint_diff(&before, &now, PFC_FINGERPRINT_MACHINE, &names, &len);
    for (size_t i = 0; i < len; i++)
        json_array_append_new(*out,
                              json_pack("{s:s, s:o, s:o}", "name", names[i], "before",
                                        pfc_reply_string(pfc_labels_get(&before, names[i])), "now",
                                        pfc_reply_string(pfc_labels_get(&now, names[i]))));
    pfc_decode_texts_free(names, len);
    pfc_labels_clear(&before);
    pfc_labels_clear(&now);
    return code;
}

/* GET /api/v1/machines */
PFC_HANDLER(machines_list)
{
    pfc_machine_rows rows = { 0 };
    pfc_page page;
    json_t *items;
    pfc_code code;

    code = pfc_decode_page(req, &page, err);
    if (!code)
        code = pfc_machines_list(app->db, req->auth.project_id, page, &rows, err);
    if (code)
        return code;
    items = json_array();
    for (size_t i = 0; i < rows.len && !code; i++) {
        const pfc_machine_row *m = &rows.items[i];
        json_t *changed = NULL;

        code = encode_changes(m, &changed, err);
        json_array_append_new(
            items, json_pack("{s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I}", "id",
                             (json_int_t)m->id, "machine_class", pfc_reply_string(m->machine_class),
                             "name", pfc_reply_string(m->name), "fingerprint_hash",
                             pfc_reply_string(m->fingerprint_hash), "fingerprint",
                             pfc_encode_json_text(m->fingerprint_json ? m->fingerprint_json : "{}"),
                             "changed", changed, "first_seen_at", pfc_encode_time(m->first_seen_at),
                             "last_seen_at", pfc_encode_time(m->last_seen_at), "runs",
                             (json_int_t)m->runs));
    }
    if (code)
        json_decref(items);
    else
        code = pfc_reply_json(reply, 200, pfc_encode_list("machines", items, rows.next), err);
    pfc_rows_clear(&rows);
    return code;
}
