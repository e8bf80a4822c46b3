/* Rows as JSON, from tables of their members. */
#include "server/handlers/fields.h"

#include "server/handlers/handlers.h"

static json_t *encode_field(const pfc_field *f, const void *row)
{
    const void *at = (const char *)row + f->offset;

    switch (f->kind) {
    case PFC_FIELD_TEXT:
        return pfc_reply_string(*(const char *const *)at);
    case PFC_FIELD_NUMBER:
        return pfc_reply_number(*(const double *)at);
    case PFC_FIELD_TIME:
        return pfc_encode_time(*(const double *)at);
    case PFC_FIELD_INT:
        return json_integer(*(const int *)at);
    case PFC_FIELD_INT64:
        return json_integer(*(const int64_t *)at);
    case PFC_FIELD_SIZE:
        return json_integer((json_int_t) * (const size_t *)at);
    case PFC_FIELD_ID:
        return pfc_encode_id(*(const int64_t *)at);
    case PFC_FIELD_BOOL:
        return json_boolean(*(const bool *)at);
    case PFC_FIELD_DIRECTION:
        return pfc_encode_direction(*(const bool *)at);
    case PFC_FIELD_CHANGE:
        return pfc_encode_change(*(const bool *)at);
    case PFC_FIELD_STATUS:
        return json_string(*(const bool *)at ? "confirmed" : "provisional");
    case PFC_FIELD_JSON:
        return pfc_encode_json_text(*(const char *const *)at);
    case PFC_FIELD_TEXTS:
        return pfc_encode_array(*(const pfc_array_text *)at);
    case PFC_FIELD_ARRAY:
        return *(const char *const *)at ? pfc_encode_json_text(*(const char *const *)at)
                                        : json_array();
    case PFC_FIELD_OBJECT:
        return *(const char *const *)at ? pfc_encode_json_text(*(const char *const *)at)
                                        : json_object();
    }
    pfc_die("fields: %s has the unknown kind %d", f->name, (int)f->kind);
}

json_t *pfc_encode_fields(pfc_fields fields, const void *row)
{
    json_t *json = json_object();

    for (size_t i = 0; i < fields.len; i++)
        json_object_set_new(json, fields.items[i].name, encode_field(&fields.items[i], row));
    return json;
}

json_t *pfc_encode_rows(pfc_row_view rows, pfc_row_encoder encode, const void *context)
{
    json_t *list = json_array();

    for (size_t i = 0; i < rows.len; i++)
        json_array_append_new(list, encode((const char *)rows.items + i * rows.size, context));
    return list;
}

static json_t *encode_table_row(const void *row, const void *fields)
{
    return pfc_encode_fields(*(const pfc_fields *)fields, row);
}

json_t *pfc_encode_table(pfc_row_view rows, pfc_fields fields)
{
    return pfc_encode_rows(rows, encode_table_row, &fields);
}
