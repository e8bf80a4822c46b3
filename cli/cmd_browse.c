/*
 * perfci series and perfci alerts: what the service knows, as tables.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/api.h"
#include "cli/browse.h"
#include "core/base/parse.h"

enum {
    KEY_PROJECT = 0x100,
    KEY_METRIC,
    KEY_BENCHMARK,
    KEY_BACKEND,
    KEY_HEADLINE,
    KEY_STATE,
    KEY_REASON,
    KEY_SORT,
    KEY_LIMIT,
};

typedef struct browse_opts {
    const char *project, *metric, *benchmark, *backend, *state, *reason, *sort, *url, *data;
    const char *words[3];
    size_t words_len;
    int64_t limit;
    bool headline;
    bool accept; /* the new level, with `set` */
} browse_opts;

static const struct argp_option series_options[] = {
    { "project", KEY_PROJECT, "P", 0, "The project's name", 0 },
    { "metric", KEY_METRIC, "M", 0, "Only this metric", 0 },
    { "benchmark", KEY_BENCHMARK, "B", 0, "Only this benchmark", 0 },
    { "backend", KEY_BACKEND, "B", 0, "Only this backend", 0 },
    { "headline", KEY_HEADLINE, 0, 0, "Only headline metrics", 0 },
    { "limit", KEY_LIMIT, "N", 0, "At most N (default 100)", 0 },
    PFC_SERVICE_OPTIONS(0),
    { 0 },
};

static const struct argp_option alerts_options[] = {
    { "project", KEY_PROJECT, "P", 0, "Only this project", 0 },
    { "state", KEY_STATE, "S", 0, "Only this state; with `set`: the new one", 0 },
    { "reason", KEY_REASON, "TEXT", 0, "Why, for `set`", 0 },
    { "sort", KEY_SORT, "HOW", 0, "new (default), or worth: those most worth looking at first", 0 },
    { "limit", KEY_LIMIT, "N", 0, "At most N (default 100)", 0 },
    PFC_SERVICE_OPTIONS(0),
    { 0 },
};

static const char series_doc[] = "Lists the series of a project, or the points of one."
                                 "\v"
                                 "Examples:\n"
                                 "  perfci series --project kernels --headline\n"
                                 "  perfci series 42\n"
                                 "  perfci series --metric gemm_tflops --json\n";

static const char alerts_doc[] =
    "Lists alerts, shows one, or sets its state."
    "\v"
    "Examples:\n"
    "  perfci alerts --state untriaged\n"
    "  perfci alerts --state open --sort worth --limit 10\n"
    "  perfci alerts 7\n"
    "  perfci alerts set 7 --state acknowledged --reason 'looking at it'\n";

static const struct argp_option accept_options[] = {
    { "reason", KEY_REASON, "TEXT", 0, "Why the new level is the right one", 0 },
    PFC_SERVICE_OPTIONS(0),
    { 0 },
};

static const char accept_doc[] =
    "Accepts the level after an alert's change as the right one: the alert is closed (wont_fix) "
    "and stays so; the next change is looked for from there, with all of the history's noise."
    "\v"
    "Examples:\n"
    "  perfci accept 7 --reason 'the new format costs 3 %, agreed in #81'\n";

static const pfc_arg_field browse_fields[] = {
    { KEY_PROJECT, PFC_ARG_TEXT, offsetof(browse_opts, project), 0, 0 },
    { KEY_METRIC, PFC_ARG_TEXT, offsetof(browse_opts, metric), 0, 0 },
    { KEY_BENCHMARK, PFC_ARG_TEXT, offsetof(browse_opts, benchmark), 0, 0 },
    { KEY_BACKEND, PFC_ARG_TEXT, offsetof(browse_opts, backend), 0, 0 },
    { KEY_HEADLINE, PFC_ARG_FLAG, offsetof(browse_opts, headline), 0, 0 },
    { KEY_STATE, PFC_ARG_TEXT, offsetof(browse_opts, state), 0, 0 },
    { KEY_REASON, PFC_ARG_TEXT, offsetof(browse_opts, reason), 0, 0 },
    PFC_SERVICE_FIELDS(browse_opts, ),
    { 0 },
};

static error_t parse_browse(int key, char *arg, struct argp_state *state)
{
    browse_opts *o = state->input;

    switch (key) {
    case KEY_SORT:
        if (strcmp(arg, "new") != 0 && strcmp(arg, "worth") != 0)
            pfc_cli_usage(state, "--sort: want new or worth, got \"%s\"", arg);
        o->sort = arg;
        return 0;
    case KEY_LIMIT:
        o->limit = pfc_arg_i64(state, arg, 1, 1000, "--limit");
        return 0;
    case ARGP_KEY_ARG:
        if (o->words_len == 2)
            pfc_cli_usage(state, "one argument too many: \"%s\"", arg);
        o->words[o->words_len++] = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- series ---- */

static void print_series(const pfc_cli *cli, const json_t *answer)
{
    static const pfc_col cols[] = { { "ID", true },       { "BENCHMARK", false },
                                    { "METRIC", false },  { "BACKEND", false },
                                    { "MACHINE", false }, { "POINTS", true },
                                    { "LAST", true },     { "UNIT", false },
                                    { "CHANGE", true },   { "STATUS", false } };
    const json_t *list = json_object_get(answer, "series");
    pfc_table *table = pfc_table_new(cli, cols, PFC_ARRAY_LEN(cols));

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        const json_t *change = json_object_get(one, "change");

        pfc_table_row(table);
        pfc_browse_id(table, 0, one, "id");
        pfc_browse_text(table, 1, one, "benchmark");
        pfc_browse_text(table, 2, one, "metric");
        pfc_browse_text(table, 3, one, "backend");
        pfc_browse_text(table, 4, one, "machine_class");
        pfc_browse_id(table, 5, one, "points");
        pfc_browse_value(table, 6, json_object_get(json_object_get(one, "last"), "median"));
        pfc_browse_text(table, 7, one, "unit");
        pfc_browse_percent(table, 8, json_object_get(change, "rel_change"));
        pfc_browse_text(table, 9, change, "status");
    }
    pfc_table_print(table);
}

static const json_t *cell(const json_t *columns, const char *key, size_t i)
{
    return json_array_get(json_object_get(columns, key), i);
}

static void print_points(const pfc_cli *cli, const json_t *answer)
{
    static const pfc_col cols[] = { { "COMMIT", false }, { "MEDIAN", true }, { "LOW", true },
                                    { "HIGH", true },    { "N", true },      { "CHANGE", true },
                                    { "SUBJECT", false } };
    const json_t *columns = json_object_get(answer, "columns");
    const json_t *changes = json_object_get(answer, "changes");
    pfc_table *table = pfc_table_new(cli, cols, PFC_ARRAY_LEN(cols));

    for (size_t i = 0; i < json_array_size(json_object_get(columns, "median")); i++) {
        const char *commit = json_string_value(cell(columns, "commit", i));

        pfc_table_row(table);
        pfc_table_setf(table, 0, "%.12s", commit ? commit : "");
        pfc_browse_value(table, 1, cell(columns, "median", i));
        pfc_browse_value(table, 2, cell(columns, "low", i));
        pfc_browse_value(table, 3, cell(columns, "high", i));
        pfc_table_setf(table, 4, "%lld", (long long)json_integer_value(cell(columns, "n", i)));
        pfc_table_set(table, 6, json_string_value(cell(columns, "subject", i)));
        for (size_t k = 0; k < json_array_size(changes); k++) {
            const json_t *change = json_array_get(changes, k);

            if ((size_t)json_integer_value(json_object_get(change, "index")) == i)
                pfc_browse_percent(table, 5, json_object_get(change, "rel_change"));
        }
    }
    pfc_table_print(table);
}

int pfc_cmd_series(pfc_cli *cli, int argc, char **argv)
{
    const pfc_cmd_args args = { series_options, parse_browse, "[ID]", series_doc, browse_fields };
    browse_opts o = { .limit = 100 };
    char *project = NULL;
    pfc_http *http = NULL;
    pfc_conf conf = { 0 };
    json_t *answer = NULL;
    pfc_buf path;
    int64_t id = 0;
    pfc_err err = { 0 };
    pfc_code code;

    pfc_cli_parse(cli, &args, argc, argv, &o);
    pfc_buf_init(&path, 8192);
    code = pfc_conf_find(".", &conf, &err);
    if (!code)
        code = pfc_api_open(o.url, o.data, &conf, &http, &err);
    if (!code && o.words[0]) {
        code = pfc_parse_i64(o.words[0], 1, INT64_MAX, "the series' number", &id, &err);
        pfc_buf_printf(&path, "/api/v1/series/%lld", (long long)id);
    } else if (!code) {
        code = pfc_api_project(o.project, &conf, ".", &project, &err);
        pfc_buf_printf(&path, "/api/v1/projects/%s/series", project ? project : "");
        pfc_browse_query(&path, "metric", o.metric);
        pfc_browse_query(&path, "benchmark", o.benchmark);
        pfc_browse_query(&path, "backend", o.backend);
        pfc_browse_query(&path, "headline", o.headline ? "1" : NULL);
        pfc_browse_query_i64(&path, "limit", o.limit);
    }
    if (!code)
        code = pfc_http_json(http, "GET", pfc_buf_text(&path), NULL, NULL, &answer, &err);
    if (!code && cli->json)
        pfc_cli_print_json(json_incref(answer));
    else if (!code && o.words[0])
        print_points(cli, answer);
    else if (!code)
        print_series(cli, answer);
    json_decref(answer);
    pfc_buf_clear(&path);
    pfc_http_free(http);
    pfc_conf_clear(&conf);
    free(project);
    return code ? pfc_cli_fail(cli, &err) : PFC_EXIT_OK;
}

/* ---- alerts ---- */

static void print_alerts(const pfc_cli *cli, const json_t *list)
{
    static const pfc_col cols[] = {
        { "ID", true },       { "PROJECT", false }, { "BENCHMARK", false }, { "METRIC", false },
        { "BACKEND", false }, { "CHANGE", true },   { "COMMIT", false },    { "CULPRIT", false },
        { "STATE", false },   { "GROUP", true },    { "TOGETHER", false }
    };
    pfc_table *table = pfc_table_new(cli, cols, PFC_ARRAY_LEN(cols));

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);

        pfc_table_row(table);
        pfc_browse_id(table, 0, one, "id");
        pfc_browse_text(table, 1, one, "project");
        pfc_browse_text(table, 2, one, "benchmark");
        pfc_browse_text(table, 3, one, "metric");
        pfc_browse_text(table, 4, one, "backend");
        pfc_browse_percent(table, 5, json_object_get(one, "rel_change"));
        pfc_browse_id(table, 6, one, "commit");
        pfc_browse_id(table, 7, one, "culprit");
        pfc_browse_text(table, 8, one, "state");
        pfc_browse_id(table, 9, json_object_get(one, "group"), "id");
        pfc_browse_text(table, 10, json_object_get(one, "group"), "summary");
    }
    pfc_table_print(table);
}

static pfc_code set_state(const browse_opts *o, pfc_http *http, const char *path, json_t **answer,
                          pfc_err *err)
{
    json_t *body;
    pfc_code code;

    if (!o->state && !o->accept)
        return pfc_err_set(err, PFC_EINVAL, "want --state, e.g. acknowledged");
    body = o->accept ? json_pack("{s:b}", "accept", 1) : json_pack("{s:s}", "state", o->state);
    if (o->reason)
        json_object_set_new(body, "reason", json_string(o->reason));
    code = pfc_http_json(http, "PATCH", path, body, NULL, answer, err);
    json_decref(body);
    return code;
}

static pfc_code one_alert(const browse_opts *o, pfc_http *http, json_t **answer, pfc_err *err)
{
    const bool set = strcmp(o->words[0], "set") == 0;
    const char *number = set ? o->words[1] : o->words[0];
    int64_t id = 0;
    char *path;
    pfc_code code;

    if (!number)
        return pfc_err_set(err, PFC_EINVAL, "want the alert's number");
    code = pfc_parse_i64(number, 1, INT64_MAX, "the alert's number", &id, err);
    if (code)
        return code;
    path = pfc_format("/api/v1/alerts/%lld", (long long)id);
    code = set ? set_state(o, http, path, answer, err)
               : pfc_http_json(http, "GET", path, NULL, NULL, answer, err);
    free(path);
    return code;
}

static pfc_code list_alerts(const browse_opts *o, const pfc_conf *conf, pfc_http *http,
                            json_t **answer, pfc_err *err)
{
    pfc_buf path;
    pfc_code code;

    pfc_buf_init(&path, 8192);
    pfc_buf_puts(&path, "/api/v1/alerts");
    pfc_browse_query(&path, "project",
                     pfc_conf_pick(o->project, "PERFCI_PROJECT", conf->project, NULL));
    pfc_browse_query(&path, "state", o->state);
    pfc_browse_query(&path, "sort", o->sort);
    pfc_browse_query_i64(&path, "limit", o->limit);
    code = pfc_http_json(http, "GET", pfc_buf_text(&path), NULL, NULL, answer, err);
    pfc_buf_clear(&path);
    return code;
}

static int answer_alerts(pfc_cli *cli, const browse_opts *o)
{
    pfc_http *http = NULL;
    pfc_conf conf = { 0 };
    json_t *answer = NULL;
    json_t *list = NULL;
    pfc_err err = { 0 };
    pfc_code code;

    code = pfc_conf_find(".", &conf, &err);
    if (!code)
        code = pfc_api_open(o->url, o->data, &conf, &http, &err);
    if (!code)
        code = o->words[0] ? one_alert(o, http, &answer, &err)
                           : list_alerts(o, &conf, http, &answer, &err);
    if (!code && cli->json) {
        pfc_cli_print_json(json_incref(answer));
    } else if (!code) {
        list =
            o->words[0] ? json_pack("[O]", answer) : json_incref(json_object_get(answer, "alerts"));
        if (json_array_size(list) || cli->csv)
            print_alerts(cli, list);
        else
            pfc_cli_note(cli, "no alerts");
    }
    json_decref(list);
    json_decref(answer);
    pfc_http_free(http);
    pfc_conf_clear(&conf);
    return code ? pfc_cli_fail(cli, &err) : PFC_EXIT_OK;
}

int pfc_cmd_alerts(pfc_cli *cli, int argc, char **argv)
{
    const pfc_cmd_args args = { alerts_options, parse_browse, "[ID | set ID]", alerts_doc,
                                browse_fields };
    browse_opts o = { .limit = 100 };

    pfc_cli_parse(cli, &args, argc, argv, &o);
    return answer_alerts(cli, &o);
}

int pfc_cmd_accept(pfc_cli *cli, int argc, char **argv)
{
    const pfc_cmd_args args = { accept_options, parse_browse, "ID", accept_doc, browse_fields };
    browse_opts o = { .limit = 100, .accept = true };

    pfc_cli_parse(cli, &args, argc, argv, &o);
    if (o.words_len != 1) {
        pfc_err err = { 0 };

        (void)pfc_err_set(&err, PFC_EINVAL, "expected one alert number, got %zu", o.words_len);
        return pfc_cli_fail(cli, &err);
    }
    o.words[1] = o.words[0];
    o.words[0] = "set";
    return answer_alerts(cli, &o);
}
