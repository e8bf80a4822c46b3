/*
 * perfci why: who may have caused an alert, and what speaks for and against each.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/api.h"
#include "cli/commands.h"
#include "cli/output/output.h"
#include "cli/service/alert_show.h"
#include "core/base/parse.h"

enum { SHOWN = 10 };

typedef struct why_opts {
    const char *alert, *url, *data;
    bool all;
} why_opts;

static const pfc_option why_options[] = {
    PFC_OPT_FLAG("all", why_opts, all, "Every suspect, not only the ten most probable"),
    PFC_SERVICE_OPTIONS(why_opts, ),
    { 0 },
};

static const char why_doc[] =
    "Lists who may have caused an alert: every commit of its range, measured or not, changes of "
    "toolchain, harness and machine, and \"none of these\", each with a probability and reasons. A "
    "slow drift has no single culprit: its range, its slope and the change since the last release "
    "are printed instead."
    "\vNothing is measured for it: the service weighs where the series changes, what each commit "
    "touched against what the benchmark is built from, identical object code, and what earlier "
    "regressions came from.\n"
    "\n"
    "Examples:\n"
    "  perfci why 7\n"
    "  perfci why 7 --all --json\n";

static error_t parse_why(int key, char *arg, struct argp_state *state)
{
    why_opts *o = state->input;

    switch (key) {
    case ARGP_KEY_ARG:
        if (o->alert)
            pfc_cli_usage(state, "one argument too many: \"%s\"", arg);
        o->alert = arg;
        return 0;
    case ARGP_KEY_NO_ARGS:
        pfc_cli_usage(state, "expected an alert's number");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const char *text_of(const json_t *obj, const char *key)
{
    const char *text = json_string_value(json_object_get(obj, key));

    return text ? text : "";
}

/* The weightiest reason beside the suspect, the further ones below it. */
static void print_suspect(pfc_table *table, const json_t *s, const char *culprit)
{
    const json_t *reasons = json_object_get(s, "reasons");
    const char *kind = text_of(s, "kind"), *commit = text_of(s, "commit");
    const double probability = json_number_value(json_object_get(s, "probability"));
    char text[32];
    const bool named = *commit && culprit && strcmp(commit, culprit) == 0;

    for (size_t i = 0; i < PFC_MAX(json_array_size(reasons), (size_t)1); i++) {
        pfc_table_row(table);
        if (i == 0) {
            (void)snprintf(text, sizeof(text), "%.1f %%", 100 * probability);
            pfc_table_number(table, 0, text, probability);
            if (*commit)
                pfc_table_commit(table, 1, commit);
            else
                pfc_table_set(table, 1, kind);
            if (named)
                pfc_table_color(table, 1, "red");
            pfc_table_setf(table, 2, "%s%s", named ? "culprit: " : "",
                           *commit ? text_of(s, "subject") : text_of(s, "field"));
        }
        pfc_table_set(table, 3, json_string_value(json_array_get(reasons, i)));
    }
}

static void print_why(const pfc_cli *cli, const why_opts *o, const json_t *answer)
{
    static const pfc_table_col cols[] = {
        { "PROBABILITY", true }, { "SUSPECT", false }, { "SUBJECT", false }, { "REASONS", false }
    };
    const json_t *list = json_object_get(answer, "suspects");
    const size_t len = json_array_size(list);
    const size_t shown = o->all ? len : PFC_MIN(len, (size_t)SHOWN);
    pfc_table *table = pfc_table_new(cli, cols, PFC_ARRAY_LEN(cols));

    if (!cli->csv && (strcmp(text_of(answer, "kind"), "toolchain") == 0 ||
                      strcmp(text_of(answer, "kind"), "harness") == 0))
        pfc_out("alert %lld: %s, no commit\n",
                (long long)json_integer_value(json_object_get(answer, "alert_id")),
                text_of(answer, "title"));
    for (size_t i = 0; i < shown; i++)
        print_suspect(table, json_array_get(list, i), text_of(answer, "culprit"));
    pfc_table_print(table);
    if (shown < len)
        pfc_cli_note(cli, "and %zu less probable ones: --all", len - shown);
    if (json_integer_value(json_object_get(answer, "sources")) == 0)
        pfc_cli_note(cli,
                     "the benchmark's sources are unknown: a runner reports them if the build "
                     "leaves compile_commands.json or depfiles");
}

/* An alert without suspects: a drift, or one whose range is not known. */
static void print_reason(int64_t id, const json_t *answer)
{
    const char *reason = text_of(answer, "reason");

    pfc_out("alert %lld: %s\n", (long long)id,
            *reason ? reason : "the alert's range of commits is not known");
}

static int cmd_why(pfc_cli *cli, int argc, char **argv)
{
    why_opts o = { 0 };
    pfc_http *http = NULL;
    pfc_conf conf = { 0 };
    json_t *answer = NULL;
    char *path = NULL;
    int64_t id = 0;
    pfc_err err = { 0 };
    pfc_code code;

    pfc_cli_parse(cli, &pfc_cmd_why, argc, argv, &o);
    code = pfc_parse_i64(o.alert, 1, INT64_MAX, "the alert's number", &id, &err);
    if (!code)
        code = pfc_conf_find(".", &conf, &err);
    if (!code)
        code = pfc_api_open(o.url, o.data, &conf, &http, &err);
    if (!code) {
        path = pfc_format("/api/v1/alerts/%lld/suspects", (long long)id);
        code = pfc_http_json(http, "GET", path, NULL, NULL, &answer, &err);
    }
    if (!code && cli->json)
        pfc_cli_print_json(json_incref(answer));
    else if (!code && json_array_size(json_object_get(answer, "suspects")) == 0)
        print_reason(id, answer);
    else if (!code)
        print_why(cli, &o, answer);
    if (!code && !cli->json && !cli->csv)
        pfc_alert_show_effects(cli, answer);
    json_decref(answer);
    pfc_http_free(http);
    pfc_conf_clear(&conf);
    free(path);
    return code ? pfc_cli_fail(cli, &err) : PFC_EXIT_OK;
}

const pfc_subcommand pfc_cmd_why = {
    .name = "why",
    .summary = "who may have caused an alert, with reasons",
    .run = cmd_why,
    .options = why_options,
    .parse = parse_why,
    .args_doc = "ALERT",
    .doc = why_doc,
};
