/* Machines and their fingerprints. */
#include "core/wire/fingerprint.h"
#include "server/handlers/handlers.h"

/* The differences between the machine's previous fingerprint and this one; null when it has no
 * previous one. */
static pfc_code encode_changes(const pfc_machine_row *m, json_t **out, pfc_err *err)
{
    pfc_labels before = { 0 }, now = { 0 };
    pfc_texts names = { 0 };
    pfc_code code = PFC_OK;

    *out = m->before_json ? json_array() : json_null();
    if (m->before_json)
        code = pfc_labels_parse(m->before_json, &before, err);
    if (!code && m->before_json)
        code = pfc_labels_parse(m->fingerprint_json, &now, err);
    if (!code && m->before_json)
        pfc_fingerprint_diff(&before, &now, PFC_FINGERPRINT_MACHINE, &names.items, &names.len);
    for (size_t i = 0; i < names.len; i++)
        json_array_append_new(
            *out, json_pack("{s:s, s:o, s:o}", "name", names.items[i], "before",
                            pfc_reply_string(pfc_labels_get(&before, names.items[i])), "now",
                            pfc_reply_string(pfc_labels_get(&now, names.items[i]))));
    pfc_texts_clear(&names);
    pfc_labels_clear(&before);
    pfc_labels_clear(&now);
    return code;
}

static const pfc_field machine_fields[] = {
    PFC_FIELD(pfc_machine_row, id),
    PFC_FIELD_NAMED(pfc_machine_row, "machine_class", class),
    PFC_FIELD(pfc_machine_row, name),
    PFC_FIELD(pfc_machine_row, fingerprint_hash),
    PFC_FIELD_AS(pfc_machine_row, "fingerprint", fingerprint_json, OBJECT),
    PFC_FIELD_AS(pfc_machine_row, "first_seen_at", first_seen_at, TIME),
    PFC_FIELD_AS(pfc_machine_row, "last_seen_at", last_seen_at, TIME),
    PFC_FIELD_AS(pfc_machine_row, "first_measured_at", first_measured_at, TIME),
    PFC_FIELD_AS(pfc_machine_row, "last_measured_at", last_measured_at, TIME),
    PFC_FIELD(pfc_machine_row, runs),
};

/* GET /api/v1/machines */
PFC_HANDLER(machines_list)
{
    pfc_machine_rows rows = { 0 };
    pfc_page page;
    int64_t project_id = 0;
    json_t *items;
    pfc_code code;

    code = pfc_query_project_page(app, req, &project_id, &page, err);
    if (!code)
        code = pfc_machines_list(app->db, project_id, page, &rows, err);
    if (code)
        return code;
    items = json_array();
    for (size_t i = 0; i < rows.len && !code; i++) {
        json_t *machine = pfc_encode_fields(PFC_FIELDS(machine_fields), &rows.items[i]);
        json_t *changed = NULL;

        code = encode_changes(&rows.items[i], &changed, err);
        json_object_set_new(machine, "changed", changed);
        json_array_append_new(items, machine);
    }
    if (code)
        json_decref(items);
    else
        code = pfc_reply_json(reply, 200, pfc_encode_list("machines", items, rows.next), err);
    pfc_rows_clear(&rows);
    return code;
}

/* ---- canaries ---- */

static bool same_canary(const pfc_sql_machine_canary_row *a, const pfc_sql_machine_canary_row *b)
{
    return a->series_id == b->series_id && pfc_streq(a->machine, b->machine);
}

/* Rows `from` to `to`, of one series on one machine. A machine with several fingerprints has its
 * rows in the order of time all the same. */
static json_t *encode_canary(const pfc_machine_canaries *rows, size_t from, size_t to)
{
    const pfc_sql_machine_canary_row *first = &rows->items[from];
    json_t *time = json_array(), *median = json_array(), *infra = json_array();

    for (size_t i = from; i < to && i - from < PFC_CANARY_VALUES; i++) {
        json_array_append_new(time, pfc_encode_time(rows->items[i].time));
        json_array_append_new(median, json_real(rows->items[i].median));
        json_array_append_new(infra, json_boolean(rows->items[i].infra));
    }
    return json_pack("{s:I, s:s, s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:o}", "series_id",
                     (json_int_t)first->series_id, "machine_class", first->machine_class, "machine",
                     first->machine, "metric", first->metric, "backend", first->backend, "branch",
                     first->branch, "unit", first->unit, "time", time, "median", median, "infra",
                     infra);
}

/* GET /api/v1/projects/{p}/canaries */
PFC_HANDLER(canaries_list)
{
    pfc_machine_canaries rows = { 0 };
    int64_t project_id = 0;
    json_t *items;
    pfc_code code = pfc_path_project(app, req, &project_id, err);

    if (!code)
        code = pfc_machine_canaries_list(app->db, project_id, &rows, err);
    if (code)
        return code;
    items = json_array();
    for (size_t from = 0, to; from < rows.len; from = to) {
        for (to = from + 1; to < rows.len && same_canary(&rows.items[from], &rows.items[to]);)
            to++;
        json_array_append_new(items, encode_canary(&rows, from, to));
    }
    code = pfc_reply_json(reply, 200, json_pack("{s:o}", "canaries", items), err);
    pfc_rows_clear(&rows);
    return code;
}
