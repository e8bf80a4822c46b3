/*
 * Lists of the service's rows: see browse.h.
 */
#include "cli/service/browse.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/api.h"
#include "cli/output/output.h"
#include "core/http/client.h"

int pfc_browse_run(const pfc_cli *cli, const pfc_browse_frame *frame)
{
    pfc_http *http = NULL;
    pfc_conf conf = { 0 };
    json_t *answer = NULL;
    pfc_err err = { 0 };
    pfc_code code = pfc_conf_find(".", &conf, &err);

    if (!code)
        code = pfc_api_open(frame->url, frame->data, &conf, &http, &err);
    if (!code)
        code = frame->ask(frame->opts, &conf, http, &answer, &err);
    if (!code && cli->json)
        pfc_cli_print_json(json_incref(answer));
    else if (!code)
        frame->show(cli, frame->opts, answer);
    json_decref(answer);
    pfc_http_free(http);
    pfc_conf_clear(&conf);
    return code ? pfc_cli_fail(cli, &err) : PFC_EXIT_OK;
}

void pfc_browse_begin(pfc_buf *path, const char *list, const char *project, const pfc_conf *conf)
{
    pfc_buf_init(path, 8192);
    pfc_buf_puts(path, list);
    pfc_browse_query(path, "project",
                     pfc_conf_pick(project, "PERFCI_PROJECT", conf->project, NULL));
}

pfc_code pfc_browse_get(pfc_buf *path, size_t limit, pfc_http *http, json_t **answer, pfc_err *err)
{
    pfc_code code;

    pfc_browse_query_i64(path, "limit", (int64_t)limit);
    code = pfc_http_json(http, "GET", pfc_buf_text(path), NULL, NULL, answer, err);
    pfc_buf_clear(path);
    return code;
}

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

static bool read_time(const json_t *time, time_t *out)
{
    const char *text = json_string_value(time);
    struct tm tm = { 0 };

    if (!text || !strptime(text, "%Y-%m-%dT%H:%M:%S", &tm))
        return false;
    *out = timegm(&tm);
    return true;
}

void pfc_browse_show_when(const json_t *when, char out[40])
{
    time_t at = 0;
    struct tm tm;

    out[0] = '\0';
    if (read_time(when, &at) && gmtime_r(&at, &tm))
        (void)strftime(out, 40, "%Y-%m-%d %H:%M", &tm);
}

bool pfc_browse_seconds_ago(const json_t *when, double *out)
{
    time_t at = 0;

    if (!read_time(when, &at))
        return false;
    *out = fmax(0, difftime(time(NULL), at));
    return true;
}

void pfc_browse_show_age(const json_t *when, char out[40])
{
    double s = 0;

    out[0] = '\0';
    if (!pfc_browse_seconds_ago(when, &s))
        return;
    if (s < 60)
        (void)snprintf(out, 40, "%.0f s", s);
    else if (s < 3600)
        (void)snprintf(out, 40, "%.0f min", floor(s / 60));
    else if (s < 48 * 3600)
        (void)snprintf(out, 40, "%.0f h", floor(s / 3600));
    else
        (void)snprintf(out, 40, "%.0f d", floor(s / 86400));
}

void pfc_browse_age(pfc_table *table, size_t col, const json_t *when)
{
    char text[40];

    pfc_browse_show_age(when, text);
    pfc_table_set(table, col, text);
    pfc_table_raw(table, col, json_string_value(when));
}

void pfc_browse_when(pfc_table *table, size_t col, const json_t *when)
{
    char text[40];

    pfc_browse_show_when(when, text);
    pfc_table_set(table, col, text);
    pfc_table_raw(table, col, json_string_value(when));
}

void pfc_browse_show_effect(const json_t *obj, char out[64])
{
    const json_t *low = json_object_get(obj, "rel_low"), *high = json_object_get(obj, "rel_high");
    const json_t *change = json_object_get(obj, "rel_change");
    char text[32];

    out[0] = '\0';
    if (strcmp(pfc_browse_string(obj, "kind"), "broken") == 0)
        (void)snprintf(out, 64, "broken");
    if (!json_is_number(change))
        return;
    pfc_show_percent(json_number_value(change), text);
    if (json_is_number(low) && json_is_number(high))
        (void)snprintf(out, 64, "%s (%.1f .. %.1f)", text, 100 * json_number_value(low),
                       100 * json_number_value(high));
    else
        (void)snprintf(out, 64, "%s", text);
}

const char *pfc_browse_string(const json_t *obj, const char *key)
{
    const char *text = json_string_value(json_object_get(obj, key));

    return text ? text : "";
}

static void set_cell(pfc_table *table, size_t col, const pfc_browse_col *c, const json_t *row)
{
    const json_t *value = c->key ? json_object_get(row, c->key) : NULL;
    char text[64];

    switch (c->kind) {
    case PFC_BROWSE_TEXT:
        pfc_table_set(table, col, json_string_value(value));
        break;
    case PFC_BROWSE_ID:
        pfc_browse_id(table, col, row, c->key);
        break;
    case PFC_BROWSE_VALUE:
        pfc_browse_value(table, col, value);
        break;
    case PFC_BROWSE_PERCENT:
        pfc_browse_percent(table, col, value);
        break;
    case PFC_BROWSE_EFFECT:
        pfc_browse_show_effect(row, text);
        pfc_table_set(table, col, text);
        break;
    case PFC_BROWSE_YES:
        if (json_is_boolean(value))
            pfc_table_set(table, col, json_is_true(value) ? "yes" : "no");
        break;
    case PFC_BROWSE_WHEN:
        pfc_browse_when(table, col, value);
        break;
    case PFC_BROWSE_AGE:
        pfc_browse_age(table, col, value);
        break;
    }
}

void pfc_browse_list(const pfc_cli *cli, const pfc_browse_col *cols, size_t len, bool wrap,
                     const json_t *list)
{
    pfc_table_col shown[16];
    pfc_table *table;

    for (size_t i = 0; i < len; i++)
        shown[i] = (pfc_table_col){ .title = cols[i].title,
                                    .right = cols[i].kind != PFC_BROWSE_TEXT &&
                                             cols[i].kind != PFC_BROWSE_YES &&
                                             cols[i].kind != PFC_BROWSE_WHEN };
    table = pfc_table_new(cli, shown, len);
    for (size_t r = 0; r < json_array_size(list); r++) {
        pfc_table_row(table);
        for (size_t i = 0; i < len; i++)
            set_cell(table, i, &cols[i], json_array_get(list, r));
    }
    if (wrap)
        pfc_table_wrap(table, len - 1);
    pfc_table_print(table);
}

void pfc_browse_query_i64(pfc_buf *path, const char *key, int64_t value)
{
    char text[24];

    (void)snprintf(text, sizeof(text), "%lld", (long long)value);
    pfc_browse_query(path, key, text);
}

void pfc_browse_hidden(const char *what, const json_t *count)
{
    const json_int_t n = json_integer_value(count);

    if (n > 0)
        pfc_out("hidden: %lld %s are in quarantine and do not count (perfci runner list)\n",
                (long long)n, what);
}

error_t pfc_browse_parse_words(int key, char *arg, struct argp_state *state, pfc_browse_words *out,
                               const char *expected)
{
    switch (key) {
    case ARGP_KEY_ARG:
        if (out->len == PFC_ARRAY_LEN(out->items))
            pfc_cli_usage(state, "one argument too many: \"%s\"", arg);
        out->items[out->len++] = arg;
        return 0;
    case ARGP_KEY_NO_ARGS:
        pfc_cli_usage(state, "%s", expected);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

pfc_code pfc_browse_unknown(const char *what, const char *word, const char *const *known,
                            pfc_err *err)
{
    const char *near = pfc_cli_nearest(word, known);
    char all[160] = "";

    for (size_t i = 0; known[i]; i++)
        (void)snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", i ? ", " : "",
                       known[i]);
    return pfc_err_set(err, PFC_EINVAL, "%sexpected %s, got \"%.40s\"%s%s%s", what, all, word,
                       near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
}
