/*
 * perfci alerts and perfci accept: the groups of alerts as a table, one alert with all that is
 * stored about it, triage, and the issue of a group at the forge.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/api.h"
#include "cli/commands.h"
#include "cli/output/output.h"
#include "cli/service/alert_show.h"
#include "cli/service/browse.h"
#include "core/base/parse.h"

typedef struct alerts_opts {
    const char *project, *state, *owner, *reason, *sort, *url, *data;
    const char *words[2];
    size_t words_len, limit;
    bool all, each;
    bool accept; /* the new level, with `set` */
} alerts_opts;

static const char *const sorts[] = { "new", "worth", NULL };

static const pfc_option alerts_options[] = {
    PFC_OPT_TEXT("project", "P", alerts_opts, project, "Only this project"),
    PFC_OPT_TEXT("state", "S", alerts_opts, state,
                 "Only this state (default open: untriaged, acknowledged, investigating); with "
                 "`set`: the new one"),
    PFC_OPT_TEXT("owner", "NAME", alerts_opts, owner,
                 "Only those of this owner; none: those without one"),
    PFC_OPT_FLAG("all", alerts_opts, all, "Every state"),
    PFC_OPT_FLAG("each", alerts_opts, each, "One row for each alert instead of one for each group"),
    PFC_OPT_TEXT("reason", "TEXT", alerts_opts, reason, "Why, for `set`"),
    PFC_OPT_WORD("sort", "HOW", sorts, alerts_opts, sort,
                 "new: the newest first; worth: the most important first", .fallback = "new"),
    PFC_OPT_COUNT("limit", "N", alerts_opts, limit, 1, 1000, "At most N", .fallback = "100"),
    PFC_SERVICE_OPTIONS(alerts_opts, ),
    { 0 },
};

static const char alerts_doc[] =
    "Lists the open alerts, one row for each group: alerts that probably have one cause. Or shows "
    "one alert, or sets its state, or has an issue made about its group at the project's forge."
    "\v"
    "N is the number of an alert, as the first column has it. A group is named by the number of "
    "its alert that is most worth looking at; that number is what `perfci why`, `repro`, `bisect` "
    "and `accept` take, too. The service makes one issue for a group, edits it when the group "
    "changes, and closes it when no alert of the group is open; a repeated `issue` shows its "
    "number.\n"
    "\n"
    "Examples:\n"
    "  perfci alerts\n"
    "  perfci alerts --all --sort worth --limit 10\n"
    "  perfci alerts --owner @gemm-team\n"
    "  perfci alerts 7\n"
    "  perfci alerts set 7 --state acknowledged --reason 'looking at it'\n"
    "  perfci alerts issue 7\n";

static const pfc_option accept_options[] = {
    PFC_OPT_TEXT("reason", "TEXT", alerts_opts, reason, "Why the new level is the right one"),
    PFC_SERVICE_OPTIONS(alerts_opts, ),
    { 0 },
};

static const char accept_doc[] =
    "Accepts the level after an alert's change as the right one: the alert is closed (wont_fix) "
    "and stays so; the next change is looked for from there, with all of the history's noise."
    "\v"
    "Examples:\n"
    "  perfci accept 7 --reason 'the new format costs 3 %, agreed in #81'\n";

static error_t parse_alerts(int key, char *arg, struct argp_state *state)
{
    alerts_opts *o = state->input;

    switch (key) {
    case ARGP_KEY_ARG:
        if (o->words_len == PFC_ARRAY_LEN(o->words))
            pfc_cli_usage(state, "one argument too many: \"%s\"", arg);
        o->words[o->words_len++] = arg;
        return 0;
    case ARGP_KEY_END:
        if (o->all && o->state)
            pfc_cli_usage(state, "--all and --state exclude each other");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static pfc_code check_state(const char *state, bool set, pfc_err *err)
{
    static const char *const known[] = { "open",          "untriaged",      "acknowledged",
                                         "investigating", "fixed",          "backed_out",
                                         "wont_fix",      "noise",          "infrastructure",
                                         "duplicate",     "verified_fixed", NULL };

    for (size_t i = set ? 1 : 0; state && known[i]; i++)
        if (strcmp(known[i], state) == 0)
            return PFC_OK;
    return state ? pfc_browse_unknown("--state: ", state, known + (set ? 1 : 0), err) : PFC_OK;
}

static pfc_code set_state(const alerts_opts *o, pfc_http *http, const char *path, json_t **answer,
                          pfc_err *err)
{
    json_t *body;
    pfc_code code;

    if (!o->state && !o->accept)
        return pfc_err_set(err, PFC_EINVAL, "missing --state, e.g. --state acknowledged");
    body = o->accept ? json_pack("{s:b}", "accept", 1) : json_pack("{s:s}", "state", o->state);
    if (o->reason)
        json_object_set_new(body, "reason", json_string(o->reason));
    code = pfc_http_json(http, "PATCH", path, body, NULL, answer, err);
    json_decref(body);
    return code;
}

/* *answer: the alert, which is replaced by its group. */
static pfc_code file_issue(pfc_http *http, json_t **answer, pfc_err *err)
{
    const int64_t group = json_integer_value(json_object_get(*answer, "group_id"));
    char *path = pfc_format("/api/v1/groups/%lld/issue", (long long)group);
    pfc_code code;

    json_decref(*answer);
    *answer = NULL;
    code = pfc_http_json(http, "POST", path, NULL, NULL, answer, err);
    free(path);
    return code;
}

static bool is_verb(const alerts_opts *o, const char *verb)
{
    return o->words_len && strcmp(o->words[0], verb) == 0;
}

static pfc_code one_alert(const alerts_opts *o, pfc_http *http, json_t **answer, pfc_err *err)
{
    const bool set = is_verb(o, "set"), issue = is_verb(o, "issue");
    const char *number = set || issue ? o->words[1] : o->words[0];
    int64_t id = 0;
    char *path;
    pfc_code code;

    if (!number)
        return pfc_err_set(err, PFC_EINVAL, "missing the number of the alert");
    code = pfc_parse_i64(number, 1, INT64_MAX, "the number of the alert", &id, err);
    if (code)
        return pfc_err_hint(err, "\"perfci alerts\" lists them with their numbers");
    path = pfc_format("/api/v1/alerts/%lld", (long long)id);
    code = set ? set_state(o, http, path, answer, err)
               : pfc_http_json(http, "GET", path, NULL, NULL, answer, err);
    if (code == PFC_ENOTFOUND) {
        code = pfc_err_set(err, PFC_ENOTFOUND, "no alert %lld", (long long)id);
        (void)pfc_err_hint(err, "\"perfci alerts --all\" lists those of %.160s",
                           pfc_http_url(http));
    }
    if (!code && issue)
        code = file_issue(http, answer, err);
    free(path);
    return code;
}

static pfc_code list_alerts(const alerts_opts *o, const pfc_conf *conf, pfc_http *http,
                            json_t **answer, pfc_err *err)
{
    pfc_buf path;
    pfc_code code;

    pfc_buf_init(&path, 8192);
    pfc_buf_puts(&path, "/api/v1/alerts");
    pfc_browse_query(&path, "project",
                     pfc_conf_pick(o->project, "PERFCI_PROJECT", conf->project, NULL));
    pfc_browse_query(&path, "state", o->all ? NULL : o->state ? o->state : "open");
    pfc_browse_query(&path, "owner", o->owner);
    pfc_browse_query(&path, "grouped", o->each ? NULL : "true");
    pfc_browse_query(&path, "sort", o->sort);
    pfc_browse_query_i64(&path, "limit", (int64_t)o->limit);
    code = pfc_http_json(http, "GET", pfc_buf_text(&path), NULL, NULL, answer, err);
    pfc_buf_clear(&path);
    return code;
}

static void print(const pfc_cli *cli, const alerts_opts *o, const json_t *answer)
{
    const json_t *list = json_object_get(answer, "alerts");

    if (cli->json)
        pfc_cli_print_json(json_incref((json_t *)(uintptr_t)answer));
    else if (is_verb(o, "issue"))
        pfc_group_issue_show(cli, answer);
    else if (o->words_len)
        pfc_alert_show(cli, answer);
    else if (json_array_size(list) || cli->csv)
        pfc_alert_list(cli, list);
    else
        pfc_cli_note(cli,
                     o->all || o->state ? "no alerts" : "no open alerts; --all lists closed ones");
    if (!o->words_len && !json_is_null(json_object_get(answer, "next_cursor")))
        pfc_cli_note(cli, "more than %zu: --limit shows more of them", o->limit);
}

static int answer_alerts(pfc_cli *cli, const alerts_opts *o)
{
    const bool set = is_verb(o, "set");
    pfc_http *http = NULL;
    pfc_conf conf = { 0 };
    json_t *answer = NULL;
    pfc_err err = { 0 };
    pfc_code code = check_state(o->state, set, &err);

    if (!code)
        code = pfc_conf_find(".", &conf, &err);
    if (!code)
        code = pfc_api_open(o->url, o->data, &conf, &http, &err);
    if (!code)
        code = o->words[0] ? one_alert(o, http, &answer, &err)
                           : list_alerts(o, &conf, http, &answer, &err);
    if (!code)
        print(cli, o, answer);
    json_decref(answer);
    pfc_http_free(http);
    pfc_conf_clear(&conf);
    return code ? pfc_cli_fail(cli, &err) : PFC_EXIT_OK;
}

static int cmd_alerts(pfc_cli *cli, int argc, char **argv)
{
    alerts_opts o = { .limit = 100 };

    pfc_cli_parse(cli, &pfc_cmd_alerts, argc, argv, &o);
    return answer_alerts(cli, &o);
}

static int cmd_accept(pfc_cli *cli, int argc, char **argv)
{
    alerts_opts o = { .limit = 100, .accept = true };
    pfc_err err = { 0 };

    pfc_cli_parse(cli, &pfc_cmd_accept, argc, argv, &o);
    if (o.words_len != 1) {
        (void)pfc_err_set(&err, PFC_EINVAL, "expected the number of one alert");
        (void)pfc_err_hint(&err, "\"perfci alerts\" lists them with their numbers");
        return pfc_cli_fail(cli, &err);
    }
    o.words[1] = o.words[0];
    o.words[0] = "set";
    o.words_len = 2;
    return answer_alerts(cli, &o);
}

const pfc_subcommand pfc_cmd_alerts = {
    .name = "alerts",
    .summary = "list groups of alerts, show one alert, set its state",
    .run = cmd_alerts,
    .options = alerts_options,
    .parse = parse_alerts,
    .args_doc = "[N | set N]",
    .doc = alerts_doc,
};

const pfc_subcommand pfc_cmd_accept = {
    .name = "accept",
    .summary = "accept an alert's new level as the right one",
    .run = cmd_accept,
    .options = accept_options,
    .parse = parse_alerts,
    .args_doc = "N",
    .doc = accept_doc,
};
