/*
 * perfci replay: what another configuration of the detector would have alerted in the stored
 * history, against what people have said about alerts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/api.h"
#include "cli/commands.h"
#include "cli/output/output.h"
#include "core/base/fs.h"
#include "core/base/parse.h"
#include "core/wire/detector.h"

typedef struct replay_opts {
    const char *config, *project, *branch, *series, *url, *data;
    bool apply, show;
} replay_opts;

static const pfc_option replay_options[] = {
    PFC_OPT_TEXT("config", "F", replay_opts, config,
                 "The configuration, JSON; - is standard input"),
    PFC_OPT_TEXT("project", "P", replay_opts, project, "The project's name"),
    PFC_OPT_TEXT("branch", "B", replay_opts, branch, "The branch", .fallback = "the project's"),
    PFC_OPT_TEXT("series", "ID", replay_opts, series, "Only this series, and all of its changes"),
    PFC_OPT_FLAG("apply", replay_opts, apply,
                 "Instead of replaying: store it; series are judged by it from now on"),
    PFC_OPT_FLAG("show", replay_opts, show, "Print the stored configuration, as JSON"),
    PFC_SERVICE_OPTIONS(replay_opts, ),
    { 0 },
};

static const char replay_doc[] =
    "Shows what another configuration of the detector would have alerted in the stored history, "
    "with precision, recall and F1 against triage. Nothing is stored or changed without --apply."
    "\vThe configuration: {\"fdr\": 0.05, \"rules\": [{\"benchmark\": \"gemm*\", \"metric\": "
    "\"time_ns\", \"min_change\": 0.02, \"alpha\": 0.01, \"judged\": true}, ...]}. A rule holds "
    "for "
    "the series that fit all of its globs (benchmark, metric, backend, machine_class, branch; an "
    "absent one fits all); a later rule overrides what it says itself.\n"
    "\n"
    "Labels are alerts on which a person has acted: noise and infrastructure count as mistaken, "
    "all else as regressions. What was never an alert has no label, so recall is among what was "
    "found at some time.\n"
    "\n"
    "Examples:\n"
    "  echo '{\"rules\": [{\"min_change\": 0.02}]}' | perfci replay --config -\n"
    "  perfci replay --config detector.json --project kernels --json\n"
    "  perfci replay --config detector.json --series 42\n"
    "  perfci replay --config detector.json --apply\n"
    "  perfci replay --show\n";

static error_t parse_replay(int key, char *arg, struct argp_state *state)
{
    replay_opts *o = state->input;

    (void)arg;
    switch (key) {
    case ARGP_KEY_END:
        if (!o->config == !o->show)
            pfc_cli_usage(state, "expected either --config FILE or --show");
        if (o->apply && (o->series || o->branch))
            pfc_cli_usage(state,
                          "--apply is for the whole project: leave --series and --branch out");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static pfc_code read_config(const char *path, json_t **doc, pfc_detector *out, pfc_err *err)
{
    char *text = NULL;
    size_t len = 0;
    json_t *parsed = NULL;
    pfc_code code = pfc_fs_read(path, PFC_DETECTOR_MAX_BYTES, &text, &len, err);

    if (code)
        return code;
    code = pfc_json_parse(text, len, &parsed, err);
    if (!code)
        code = pfc_detector_from_json(parsed, out, err);
    free(text);
    if (code) {
        json_decref(parsed);
        return pfc_err_wrap(err, "%.200s", pfc_streq(path, "-") ? "standard input" : path);
    }
    *doc = parsed;
    return PFC_OK;
}

static const pfc_table_col columns[] = {
    { "SERIES", true }, { "COMMIT", false }, { "WITHIN", true },  { "CHANGE", true },
    { "P", true },      { "STATUS", false }, { "TRIAGE", false },
};

static const char *text_of(const json_t *obj, const char *key)
{
    const char *text = json_string_value(json_object_get(obj, key));

    return text ? text : "";
}

static void print_changes(const pfc_cli *cli, const json_t *list, int64_t series_id)
{
    pfc_table *table = pfc_table_new(cli, columns, PFC_ARRAY_LEN(columns));

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i), *id = json_object_get(one, "series_id");
        const json_int_t low = json_integer_value(json_object_get(one, "position_low"));
        const json_int_t high = json_integer_value(json_object_get(one, "position_high"));
        const bool worse = strcmp(text_of(one, "direction"), "regression") == 0;
        const double rel = json_number_value(json_object_get(one, "rel_change"));
        const double p = json_number_value(json_object_get(one, "p"));
        char text[32];

        pfc_table_row(table);
        pfc_table_setf(table, 0, "%lld",
                       id ? (long long)json_integer_value(id) : (long long)series_id);
        pfc_table_commit(table, 1, text_of(one, "commit"));
        pfc_table_setf(table, 2, "%lld commit%s", (long long)(high - low + 1),
                       high == low ? "" : "s");
        pfc_show_percent(rel, text);
        pfc_table_number(table, 3, text, rel);
        pfc_table_color(table, 3, worse ? "red" : "green");
        (void)snprintf(text, sizeof(text), "%.2g", p);
        pfc_table_number(table, 4, text, p);
        pfc_table_set(table, 5, text_of(one, "status"));
        pfc_table_set(table, 6, text_of(one, "label"));
    }
    pfc_table_print(table);
}

static void print_share(const json_t *answer, const char *key)
{
    const json_t *value = json_object_get(answer, key);

    if (json_is_number(value))
        pfc_out("  %s %.3f", key, json_number_value(value));
    else
        pfc_out("  %s -", key);
}

static void print_score(const json_t *answer)
{
    const json_t *labels = json_object_get(answer, "labels");

    pfc_out("%lld series, %lld points: %lld changes, %zu alerts",
            (long long)json_integer_value(json_object_get(answer, "series")),
            (long long)json_integer_value(json_object_get(answer, "points")),
            (long long)json_integer_value(json_object_get(answer, "changes")),
            json_array_size(json_object_get(answer, "alerts")));
    pfc_out("\nregressions found %lld of %lld, noise alerted %lld of %lld, without a judgement "
            "%lld\n",
            (long long)json_integer_value(json_object_get(labels, "regressions_found")),
            (long long)json_integer_value(json_object_get(labels, "regressions")),
            (long long)json_integer_value(json_object_get(labels, "noise_found")),
            (long long)json_integer_value(json_object_get(labels, "noise")),
            (long long)json_integer_value(json_object_get(answer, "unlabelled")));
    print_share(answer, "precision");
    print_share(answer, "recall");
    print_share(answer, "f1");
    putchar('\n');
}

/* The settings that the configuration comes to for this one series. */
static pfc_code replay_series(pfc_http *http, const pfc_detector *detector, int64_t id,
                              json_t **answer, pfc_err *err)
{
    char *path = pfc_format("/api/v1/series/%lld?points=1", (long long)id);
    pfc_detector_settings settings;
    json_t *window = NULL;
    pfc_buf query;
    pfc_code code = pfc_http_json(http, "GET", path, NULL, NULL, &window, err);

    free(path);
    if (code)
        return code;
    const json_t *s = json_object_get(window, "series");
    const pfc_series_name name = { .benchmark = text_of(s, "benchmark"),
                                   .metric = text_of(s, "metric"),
                                   .backend = text_of(s, "backend"),
                                   .machine_class = text_of(s, "machine_class"),
                                   .branch = text_of(s, "branch") };
    settings = pfc_detector_for(detector, &name);
    pfc_buf_init(&query, 256);
    pfc_buf_printf(&query, "/api/v1/series/%lld/replay", (long long)id);
    if (settings.min_change > 0)
        pfc_buf_printf(&query, "?min_change=%.12g", settings.min_change);
    if (settings.alpha > 0)
        pfc_buf_printf(&query, "%calpha=%.12g", settings.min_change > 0 ? '&' : '?',
                       settings.alpha);
    code = pfc_http_json(http, "GET", pfc_buf_text(&query), NULL, NULL, answer, err);
    pfc_buf_clear(&query);
    json_decref(window);
    return code;
}

/* POST of the configuration (NULL: GET) to the project's `what`. */
static pfc_code ask_project(pfc_http *http, const replay_opts *o, const pfc_conf *conf,
                            const char *what, const json_t *doc, json_t **answer, pfc_err *err)
{
    char *project = NULL, *branch = o->branch ? pfc_http_escape(o->branch) : NULL, *path = NULL;
    pfc_code code = pfc_api_project(o->project, conf, NULL, &project, err);

    if (!code) {
        path = pfc_format("/api/v1/projects/%s/%s%s%s", project, what, branch ? "?branch=" : "",
                          branch ? branch : "");
        code = pfc_http_json(http, doc ? "POST" : "GET", path, doc, NULL, answer, err);
    }
    free(path);
    free(branch);
    free(project);
    return code;
}

/* The stored configuration: the document alone, so that it can be edited and given back. */
static void print_version(const pfc_cli *cli, const json_t *answer, bool applied)
{
    const long long version = (long long)json_integer_value(json_object_get(answer, "version"));
    char *text;

    if (applied) {
        pfc_out("stored as version %lld; the history is judged again\n", version);
        return;
    }
    text = json_dumps(json_object_get(answer, "detector"), JSON_INDENT(2) | JSON_SORT_KEYS);
    pfc_out_json(text ? text : "{}");
    free(text);
    if (version)
        pfc_cli_note(cli, "version %lld by %s, %s", version, text_of(answer, "actor"),
                     text_of(answer, "at"));
    else
        pfc_cli_note(cli, "nothing is stored: the detector's own settings hold");
}

static pfc_code ask(pfc_http *http, const replay_opts *o, const pfc_conf *conf, int64_t series,
                    const pfc_detector *detector, const json_t *doc, json_t **answer, pfc_err *err)
{
    if (o->show || o->apply)
        return ask_project(http, o, conf, "detector", doc, answer, err);
    return series ? replay_series(http, detector, series, answer, err)
                  : ask_project(http, o, conf, "replay", doc, answer, err);
}

static int cmd_replay(pfc_cli *cli, int argc, char **argv)
{
    replay_opts o = { 0 };
    pfc_detector detector = { 0 };
    pfc_http *http = NULL;
    pfc_conf conf = { 0 };
    json_t *doc = NULL, *answer = NULL;
    int64_t series = 0;
    pfc_err err = { 0 };
    pfc_code code;

    pfc_cli_parse(cli, &pfc_cmd_replay, argc, argv, &o);
    code = o.config ? read_config(o.config, &doc, &detector, &err) : PFC_OK;
    if (!code && o.series)
        code = pfc_parse_i64(o.series, 1, INT64_MAX, "--series", &series, &err);
    if (!code)
        code = pfc_conf_find(".", &conf, &err);
    if (!code)
        code = pfc_api_open(o.url, o.data, &conf, &http, &err);
    if (!code)
        code = ask(http, &o, &conf, series, &detector, doc, &answer, &err);
    if (!code && cli->json) {
        pfc_cli_print_json(json_incref(answer));
    } else if (!code && (o.show || o.apply)) {
        print_version(cli, answer, o.apply);
    } else if (!code) {
        print_changes(cli, json_object_get(answer, series ? "changes" : "alerts"), series);
        if (!series && !cli->csv) /* rows and nothing else */
            print_score(answer);
    }
    json_decref(answer);
    json_decref(doc);
    pfc_detector_clear(&detector);
    pfc_http_free(http);
    pfc_conf_clear(&conf);
    return code ? pfc_cli_fail(cli, &err) : PFC_EXIT_OK;
}

const pfc_subcommand pfc_cmd_replay = {
    .name = "replay",
    .summary = "what other detector settings would have alerted",
    .run = cmd_replay,
    .options = replay_options,
    .parse = parse_replay,
    .doc = replay_doc,
};
