/*
 * perfci series: what the service knows of a project, as tables.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/api.h"
#include "cli/commands.h"
#include "cli/output/output.h"
#include "cli/service/browse.h"
#include "core/base/parse.h"

typedef struct series_opts {
    const char *project, *metric, *benchmark, *backend, *url, *data;
    const char *id;
    size_t limit;
    bool headline;
} series_opts;

static const pfc_option series_options[] = {
    PFC_OPT_TEXT("project", "P", series_opts, project, "The project's name"),
    PFC_OPT_TEXT("metric", "M", series_opts, metric, "Only this metric"),
    PFC_OPT_TEXT("benchmark", "B", series_opts, benchmark, "Only this benchmark"),
    PFC_OPT_TEXT("backend", "B", series_opts, backend, "Only this backend"),
    PFC_OPT_FLAG("headline", series_opts, headline, "Only headline metrics"),
    PFC_OPT_COUNT("limit", "N", series_opts, limit, 1, 1000, "At most N", .fallback = "100"),
    PFC_SERVICE_OPTIONS(series_opts, ),
    { 0 },
};

static const char series_doc[] = "Lists the series of a project, or the points of one."
                                 "\v"
                                 "Examples:\n"
                                 "  perfci series --project kernels --headline\n"
                                 "  perfci series 42\n"
                                 "  perfci series --metric gemm_tflops --json | perfci detect\n"
                                 "  perfci series 42 --json | perfci detect --explain\n";

static error_t parse_series(int key, char *arg, struct argp_state *state)
{
    series_opts *o = state->input;

    if (key != ARGP_KEY_ARG)
        return ARGP_ERR_UNKNOWN;
    if (o->id)
        pfc_cli_usage(state, "one argument too many: \"%s\"", arg);
    o->id = arg;
    return 0;
}

/* A share without a sign. */
static void put_share(pfc_table *table, size_t col, const json_t *value)
{
    char raw[32];

    if (!json_is_number(value))
        return;
    pfc_table_setf(table, col, "%.3g %%", 100 * json_number_value(value));
    (void)snprintf(raw, sizeof(raw), "%.17g", json_number_value(value));
    pfc_table_raw(table, col, raw);
}

/* Noise, minimum detectable change, points that 1 % takes, watched points; four cells from `col`
 * on. */
static void put_next_points(pfc_table *table, size_t col, const json_t *one)
{
    const json_t *noise = json_object_get(one, "noise_rel");
    const json_t *shows = json_object_get(one, "detectable_rel");
    const json_t *points = json_object_get(one, "points_for_1pct");
    const int64_t watching = json_integer_value(json_object_get(one, "watching"));

    if (json_is_true(json_object_get(one, "exact")))
        pfc_table_set(table, col, "exact");
    else
        put_share(table, col, noise);
    put_share(table, col + 1, shows);
    if (json_is_integer(points))
        pfc_table_setf(table, col + 2, "%lld%s", (long long)json_integer_value(points),
                       json_is_string(json_object_get(one, "reason")) ? "+" : "");
    if (watching)
        pfc_table_setf(table, col + 3, "%lld of %lld", (long long)watching,
                       (long long)json_integer_value(json_object_get(one, "watching_of")));
}

static void print_series(const pfc_cli *cli, const json_t *answer)
{
    static const pfc_table_col cols[] = {
        { "ID", true },       { "BENCHMARK", false }, { "METRIC", false }, { "BACKEND", false },
        { "MACHINE", false }, { "POINTS", true },     { "LAST", true },    { "UNIT", false },
        { "CHANGE", true },   { "STATUS", false },    { "NOISE", true },   { "SHOWS", true },
        { "1 %", true },      { "WATCHING", false }
    };
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
        put_next_points(table, 10, one);
    }
    pfc_table_print(table);
}

/* One series in sentences: what it can show, and what is watched. */
static void print_next_points(const json_t *one)
{
    const json_t *noise = json_object_get(one, "noise_rel");
    const json_t *shows = json_object_get(one, "detectable_rel");
    const int64_t points = json_integer_value(json_object_get(one, "points_for_1pct"));
    const int64_t watching = json_integer_value(json_object_get(one, "watching"));
    const char *reason = json_string_value(json_object_get(one, "reason"));
    const bool exact = json_is_true(json_object_get(one, "exact"));

    if (exact)
        pfc_out("noise: exact, one repeat decides\n");
    else if (json_is_number(noise))
        pfc_out("noise: %.3g %% a point\n", 100 * json_number_value(noise));
    else
        pfc_out("noise: not known\n");
    if (json_is_number(shows) && !exact)
        pfc_out("minimum detectable change: %.3g %% within 5 points\n",
                100 * json_number_value(shows));
    if (points)
        pfc_out("points for 1 %%: %lld%s\n", (long long)points, reason ? " or more" : "");
    if (reason)
        pfc_out("reason: %s\n", reason);
    if (watching)
        pfc_out("watching %lld of %lld points\n", (long long)watching,
                (long long)json_integer_value(json_object_get(one, "watching_of")));
}

static const json_t *cell(const json_t *columns, const char *key, size_t i)
{
    return json_array_get(json_object_get(columns, key), i);
}

/* Rows of the commits without a result that lie before a position, the oldest of them at the list's
 * end. */
static void print_broken(pfc_table *table, const json_t *broken, size_t *left, json_int_t before,
                         size_t change)
{
    while (*left) {
        const json_t *one = json_array_get(broken, *left - 1);
        const char *reason = pfc_browse_string(one, "reason");

        if (json_integer_value(json_object_get(one, "position")) >= before)
            return;
        (*left)--;
        pfc_table_row(table);
        pfc_table_commit(table, 0, pfc_browse_string(one, "commit"));
        pfc_table_set(table, change, "broken");
        pfc_table_color(table, change, "red");
        pfc_table_setf(table, change + 2, "%.200s%s%.700s", pfc_browse_string(one, "subject"),
                       *pfc_browse_string(one, "subject") ? ": " : "", reason);
    }
}

/* Was any of it measured against the anchor? */
static bool has_ratios(const json_t *columns)
{
    const json_t *ratios = json_object_get(columns, "ratio");

    for (size_t i = 0; i < json_array_size(ratios); i++) {
        if (json_is_number(json_array_get(ratios, i)))
            return true;
    }
    return false;
}

static void put_ratio(pfc_table *table, size_t col, double ratio)
{
    char text[32];

    (void)snprintf(text, sizeof(text), "%.4f", ratio);
    pfc_table_number(table, col, text, ratio);
}

static void print_points(const pfc_cli *cli, const json_t *answer)
{
    static const pfc_table_col with[] = { { "COMMIT", false }, { "MEDIAN", true },
                                          { "LOW", true },     { "HIGH", true },
                                          { "RATIO", true },   { "N", true },
                                          { "CHANGE", true },  { "REPRODUCED", false },
                                          { "SUBJECT", false } };
    static const pfc_table_col without[] = { { "COMMIT", false },     { "MEDIAN", true },
                                             { "LOW", true },         { "HIGH", true },
                                             { "N", true },           { "CHANGE", true },
                                             { "REPRODUCED", false }, { "SUBJECT", false } };
    const json_t *columns = json_object_get(answer, "columns");
    const bool ratios = has_ratios(columns);
    const size_t count = 4 + ratios, change_at = count + 1; /* columns from here on move by one */
    const json_t *changes = json_object_get(answer, "changes");
    const json_t *broken = json_object_get(answer, "broken");
    size_t left = json_array_size(broken);
    pfc_table *table = ratios ? pfc_table_new(cli, with, PFC_ARRAY_LEN(with))
                              : pfc_table_new(cli, without, PFC_ARRAY_LEN(without));

    for (size_t i = 0; i < json_array_size(json_object_get(columns, "median")); i++) {
        const char *commit = json_string_value(cell(columns, "commit", i));

        print_broken(table, broken, &left, json_integer_value(cell(columns, "position", i)),
                     change_at);
        pfc_table_row(table);
        pfc_table_commit(table, 0, commit ? commit : "");
        pfc_browse_value(table, 1, cell(columns, "median", i));
        pfc_browse_value(table, 2, cell(columns, "low", i));
        pfc_browse_value(table, 3, cell(columns, "high", i));
        if (json_is_number(cell(columns, "ratio", i)))
            put_ratio(table, 4, json_number_value(cell(columns, "ratio", i)));
        pfc_table_setf(table, count, "%lld", (long long)json_integer_value(cell(columns, "n", i)));
        pfc_table_set(table, change_at + 1, json_string_value(cell(columns, "reproducibility", i)));
        pfc_table_set(table, change_at + 2, json_string_value(cell(columns, "subject", i)));
        for (size_t k = 0; k < json_array_size(changes); k++) {
            const json_t *change = json_array_get(changes, k);

            if ((size_t)json_integer_value(json_object_get(change, "index")) == i)
                pfc_browse_percent(table, change_at, json_object_get(change, "rel_change"));
        }
    }
    print_broken(table, broken, &left, INT64_MAX, change_at);
    pfc_table_print(table);
}

/* Of each change its alert, or why it has none. */
static void print_alerts(const json_t *changes)
{
    for (size_t i = 0; i < json_array_size(changes); i++) {
        const json_t *c = json_array_get(changes, i), *why = json_object_get(c, "why_no_alert");
        const json_int_t alert = json_integer_value(json_object_get(c, "alert_id"));

        pfc_out("change %.12s  %+.1f %%  ", pfc_browse_string(c, "commit"),
                100 * json_number_value(json_object_get(c, "rel_change")));
        if (alert)
            pfc_out("alert %lld\n", (long long)alert);
        else
            pfc_out("%.500s\n", pfc_browse_string(why, "sentence"));
    }
}

static void print_one(const pfc_cli *cli, const json_t *answer)
{
    print_points(cli, answer);
    if (cli->csv)
        return; /* rows and nothing else */
    if (has_ratios(json_object_get(answer, "columns")))
        pfc_out("ratio: level in units of the anchor %.12s\n",
                pfc_browse_string(json_object_get(answer, "series"), "anchor"));
    pfc_browse_hidden("results of this series", json_object_get(answer, "hidden"));
    print_alerts(json_object_get(answer, "changes"));
    print_next_points(json_object_get(answer, "series"));
}

static int cmd_series(pfc_cli *cli, int argc, char **argv)
{
    series_opts o = { .limit = 100 };
    char *project = NULL;
    pfc_http *http = NULL;
    pfc_conf conf = { 0 };
    json_t *answer = NULL;
    pfc_buf path;
    int64_t id = 0;
    pfc_err err = { 0 };
    pfc_code code;

    pfc_cli_parse(cli, &pfc_cmd_series, argc, argv, &o);
    pfc_buf_init(&path, 8192);
    code = pfc_conf_find(".", &conf, &err);
    if (!code)
        code = pfc_api_open(o.url, o.data, &conf, &http, &err);
    if (!code && o.id) {
        code = pfc_parse_i64(o.id, 1, INT64_MAX, "the series' number", &id, &err);
        pfc_buf_printf(&path, "/api/v1/series/%lld", (long long)id);
    } else if (!code) {
        code = pfc_api_project(o.project, &conf, ".", &project, &err);
        pfc_buf_printf(&path, "/api/v1/projects/%s/series", project ? project : "");
        pfc_browse_query(&path, "metric", o.metric);
        pfc_browse_query(&path, "benchmark", o.benchmark);
        pfc_browse_query(&path, "backend", o.backend);
        pfc_browse_query(&path, "headline", o.headline ? "1" : NULL);
        pfc_browse_query_i64(&path, "limit", (int64_t)o.limit);
        pfc_browse_query(&path, "spark", cli->json ? "200" : NULL); /* which detect reads */
    }
    if (!code)
        code = pfc_http_json(http, "GET", pfc_buf_text(&path), NULL, NULL, &answer, &err);
    if (!code && cli->json)
        pfc_cli_print_json(json_incref(answer));
    else if (!code && o.id)
        print_one(cli, answer);
    else if (!code)
        print_series(cli, answer);
    json_decref(answer);
    pfc_buf_clear(&path);
    pfc_http_free(http);
    pfc_conf_clear(&conf);
    free(project);
    return code ? pfc_cli_fail(cli, &err) : PFC_EXIT_OK;
}

const pfc_subcommand pfc_cmd_series = {
    .name = "series",
    .summary = "list series, show the points of one",
    .run = cmd_series,
    .options = series_options,
    .parse = parse_series,
    .args_doc = "[ID]",
    .doc = series_doc,
};
