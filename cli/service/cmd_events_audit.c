/*
 * perfci events and perfci audit: machines that moved, faults, and who changed what.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/api.h"
#include "cli/commands.h"
#include "cli/output/output.h"
#include "cli/service/browse.h"
#include "core/base/parse.h"

typedef struct records_opts {
    const char *project, *reason, *url, *data;
    const char *words[2];
    size_t words_len, limit;
    bool open;
} records_opts;

static const pfc_option events_options[] = {
    PFC_OPT_TEXT("project", "P", records_opts, project, "Only this project"),
    PFC_OPT_FLAG("open", records_opts, open, "Only those that have not ended"),
    PFC_OPT_TEXT("reason", "TEXT", records_opts, reason, "Why, for `dismiss` and `restore`"),
    PFC_OPT_COUNT("limit", "N", records_opts, limit, 1, 1000, "At most N, the newest",
                  .fallback = "100"),
    PFC_SERVICE_OPTIONS(records_opts, ),
    { 0 },
};

static const char events_doc[] =
    "Lists infrastructure events, newest first: machines whose canary moved, and steps that most "
    "of a machine's series took together, which no commit explains; scheduled nights that were "
    "missed, silent runners, and series that are no longer measured. Or shows one with its alerts. "
    "`dismiss` says that a step was not the machine's: its alerts are regressions again; or hides "
    "a fault until its cause has ended. `restore` takes that back."
    "\v"
    "Examples:\n"
    "  perfci events --open\n"
    "  perfci events 5\n"
    "  perfci events dismiss 5 --reason 'the same on every machine'\n";

static const pfc_option audit_options[] = {
    PFC_OPT_TEXT("project", "P", records_opts, project, "Only this project"),
    PFC_OPT_COUNT("limit", "N", records_opts, limit, 1, 1000, "At most N, the newest",
                  .fallback = "100"),
    PFC_SERVICE_OPTIONS(records_opts, ),
    { 0 },
};

static const char audit_doc[] =
    "Lists who changed what, newest first: states of alerts, tokens, projects, detector settings."
    "\v"
    "Examples:\n"
    "  perfci audit --project kernels --limit 20\n"
    "  perfci audit --csv\n";

static error_t parse_events(int key, char *arg, struct argp_state *state)
{
    records_opts *o = state->input;

    if (key != ARGP_KEY_ARG)
        return ARGP_ERR_UNKNOWN;
    if (o->words_len == PFC_ARRAY_LEN(o->words))
        pfc_cli_usage(state, "one argument too many: \"%s\"", arg);
    o->words[o->words_len++] = arg;
    return 0;
}

static pfc_code list(const records_opts *o, const pfc_conf *conf, pfc_http *http, const char *what,
                     json_t **answer, pfc_err *err)
{
    pfc_buf path;

    pfc_browse_begin(&path, what, o->project, conf);
    pfc_browse_query(&path, "open", o->open ? "true" : NULL);
    return pfc_browse_get(&path, o->limit, http, answer, err);
}

/* ---- events ---- */

/* The event, changed before where `word` says so; with its alerts as the member "alerts". */
static pfc_code one_event(const records_opts *o, pfc_http *http, json_t **answer, pfc_err *err)
{
    static const char *const verbs[] = { "dismiss", "restore", NULL };
    const char *number = o->words[o->words_len - 1];
    json_t *body = NULL, *alerts = NULL;
    char *path = NULL, *about = NULL;
    int64_t id = 0;
    pfc_code code;

    if (o->words_len == 2 && !pfc_streq(o->words[0], verbs[0]) && !pfc_streq(o->words[0], verbs[1]))
        return pfc_browse_unknown("", o->words[0], verbs, err);
    code = pfc_parse_i64(number, 1, INT64_MAX, "the number of the event", &id, err);
    if (code)
        return pfc_err_hint(err, "\"perfci events\" lists them with their numbers");
    path = pfc_format("/api/v1/environment/%lld", (long long)id);
    about = pfc_format("/api/v1/alerts?limit=1000&event=%lld", (long long)id);
    if (o->words_len == 2) {
        body = json_pack("{s:b}", "dismissed", pfc_streq(o->words[0], verbs[0]));
        if (o->reason)
            json_object_set_new(body, "reason", json_string(o->reason));
    }
    code = pfc_http_json(http, body ? "PATCH" : "GET", path, body, NULL, answer, err);
    if (!code)
        code = pfc_http_json(http, "GET", about, NULL, NULL, &alerts, err);
    if (!code)
        json_object_set(*answer, "alerts", json_object_get(alerts, "alerts"));
    json_decref(alerts);
    json_decref(body);
    free(about);
    free(path);
    return code;
}

static void print_events(const pfc_cli *cli, const json_t *events)
{
    static const pfc_browse_col cols[] = {
        { "EVENT", "id", PFC_BROWSE_ID },
        { "KIND", "kind", PFC_BROWSE_TEXT },
        { "CLASS", "machine_class", PFC_BROWSE_TEXT },
        { "MACHINE", "machine", PFC_BROWSE_TEXT },
        { "LOSS", "loss", PFC_BROWSE_PERCENT },
        { "MOVED", "moved", PFC_BROWSE_ID },
        { "JUDGED", "judged", PFC_BROWSE_ID },
        { "RUNS", "runs", PFC_BROWSE_ID },
        { "OPENED (UTC)", "opened_at", PFC_BROWSE_WHEN },
        { "CLOSED (UTC)", "closed_at", PFC_BROWSE_WHEN },
        { "DISMISSED BY", "dismissed_by", PFC_BROWSE_TEXT },
        { "PROJECT", "project", PFC_BROWSE_TEXT },
        { "CAUSE", "cause", PFC_BROWSE_TEXT },
    };

    pfc_browse_list(cli, cols, PFC_ARRAY_LEN(cols), true, events);
}

static void print_event(const pfc_cli *cli, const json_t *e)
{
    static const pfc_browse_col cols[] = {
        { "ALERT", "id", PFC_BROWSE_ID },        { "BENCHMARK", "benchmark", PFC_BROWSE_TEXT },
        { "METRIC", "metric", PFC_BROWSE_TEXT }, { "EFFECT", NULL, PFC_BROWSE_EFFECT },
        { "STATE", "state", PFC_BROWSE_TEXT },
    };
    const json_t *reasons = json_object_get(e, "reasons");
    const json_t *alerts = json_object_get(e, "alerts");
    json_t *row = json_pack("[O]", e);

    print_events(cli, row);
    json_decref(row);
    if (cli->csv)
        return;
    for (size_t i = 0; i < json_array_size(reasons); i++)
        pfc_out("reason: %s\n", json_string_value(json_array_get(reasons, i)));
    if (*pfc_browse_string(e, "dismissed_by"))
        pfc_out("dismissed by %s: %s\n", pfc_browse_string(e, "dismissed_by"),
                pfc_browse_string(e, "dismissed_reason"));
    if (json_array_size(alerts)) {
        pfc_out("\nAlerts that it explains:\n");
        pfc_browse_list(cli, cols, PFC_ARRAY_LEN(cols), false, alerts);
    }
}

static pfc_code ask_events(void *opts, const pfc_conf *conf, pfc_http *http, json_t **answer,
                           pfc_err *err)
{
    const records_opts *o = opts;

    return o->words_len ? one_event(o, http, answer, err)
                        : list(o, conf, http, "/api/v1/environment", answer, err);
}

static void show_events(const pfc_cli *cli, void *opts, const json_t *answer)
{
    const records_opts *o = opts;
    const json_t *events = json_object_get(answer, "events");

    if (o->words_len)
        print_event(cli, answer);
    else if (json_array_size(events) || cli->csv)
        print_events(cli, events);
    else
        pfc_cli_note(cli, "no infrastructure events");
}

static int cmd_events(pfc_cli *cli, int argc, char **argv)
{
    records_opts o = { .limit = 100 };

    pfc_cli_parse(cli, &pfc_cmd_events, argc, argv, &o);
    return pfc_browse_run(cli, &(pfc_browse_frame){ o.url, o.data, &o, ask_events, show_events });
}

/* ---- audit ---- */

static pfc_code ask_audit(void *opts, const pfc_conf *conf, pfc_http *http, json_t **answer,
                          pfc_err *err)
{
    return list(opts, conf, http, "/api/v1/audit", answer, err);
}

static void show_audit(const pfc_cli *cli, void *opts, const json_t *answer)
{
    static const pfc_browse_col cols[] = {
        { "TIME (UTC)", "at", PFC_BROWSE_WHEN }, { "ACTOR", "actor", PFC_BROWSE_TEXT },
        { "ACTION", "action", PFC_BROWSE_TEXT }, { "PROJECT", "project", PFC_BROWSE_TEXT },
        { "OBJECT", "object", PFC_BROWSE_TEXT }, { "DETAIL", "detail", PFC_BROWSE_TEXT },
    };
    const json_t *rows = json_object_get(answer, "audit");

    (void)opts;
    if (json_array_size(rows) || cli->csv)
        pfc_browse_list(cli, cols, PFC_ARRAY_LEN(cols), true, rows);
    else
        pfc_cli_note(cli, "nothing was changed by anyone yet");
}

static int cmd_audit(pfc_cli *cli, int argc, char **argv)
{
    records_opts o = { .limit = 100 };

    pfc_cli_parse(cli, &pfc_cmd_audit, argc, argv, &o);
    return pfc_browse_run(cli, &(pfc_browse_frame){ o.url, o.data, &o, ask_audit, show_audit });
}

const pfc_subcommand pfc_cmd_events = {
    .name = "events",
    .summary = "machines that moved: list, show, dismiss",
    .run = cmd_events,
    .options = events_options,
    .parse = parse_events,
    .args_doc = "[N | dismiss N | restore N]",
    .doc = events_doc,
};

const pfc_subcommand pfc_cmd_audit = {
    .name = "audit",
    .summary = "who changed what",
    .run = cmd_audit,
    .options = audit_options,
    .doc = audit_doc,
};
