/*
 * Lists of the service's rows: see browse.h.
 */
#include "cli/browse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/http/client.h"

void pfc_browse_query(pfc_buf *path, const char *key, const char *value)
{
    char *escaped;

    if (!value)
        return;
    escaped = pfc_http_escape(value);
    pfc_buf_printf(path, "%c%s=%s", strchr(pfc_buf_text(path), '?') ? '&' : '?', key, escaped);
    free(escaped);
}

static void set_raw(pfc_table *table, size_t col, const json_t *value)
{
    char *raw = json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));

    pfc_table_raw(table, col, raw);
    free(raw);
}

void pfc_browse_text(pfc_table *table, size_t col, const json_t *obj, const char *key)
{
    pfc_table_set(table, col, json_string_value(json_object_get(obj, key)));
}

void pfc_browse_id(pfc_table *table, size_t col, const json_t *obj, const char *key)
{
    const json_t *id = json_object_get(obj, key);

    if (json_is_string(id)) {
        pfc_table_setf(table, col, "%.12s", json_string_value(id));
        pfc_table_raw(table, col, json_string_value(id));
    } else if (json_is_integer(id))
        pfc_table_setf(table, col, "%lld", (long long)json_integer_value(id));
}

void pfc_browse_value(pfc_table *table, size_t col, const json_t *value)
{
    char text[32];

    if (!json_is_number(value))
        return;
    pfc_show_value(json_number_value(value), text);
    pfc_table_set(table, col, text);
    set_raw(table, col, value);
}

void pfc_browse_percent(pfc_table *table, size_t col, const json_t *value)
{
    char text[32];

    if (!json_is_number(value))
        return;
    pfc_show_percent(json_number_value(value), text);
    pfc_table_set(table, col, text);
    set_raw(table, col, value);
}

void pfc_browse_query_i64(pfc_buf *path, const char *key, int64_t value)
{
    char text[24];

    (void)snprintf(text, sizeof(text), "%lld", (long long)value);
    pfc_browse_query(path, key, text);
}

pfc_code pfc_browse_unknown(const char *what, const char *word, const char *const *known,
                            pfc_err *err)
{
    const char *near = pfc_cli_nearest(word, known);
    char all[160] = "";

    for (size_t i = 0; known[i]; i++)
        (void)snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", i ? ", " : "",
                       known[i]);
    return pfc_err_set(err, PFC_EINVAL, "%swant %s, got \"%.40s\"%s%s%s", what, all, word,
                       near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
}
