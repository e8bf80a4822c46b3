/*
 * perfci schedule: when the service measures the new commits of a branch automatically.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/api.h"
#include "cli/commands.h"
#include "cli/output/output.h"
#include "cli/service/browse.h"
#include "core/base/parse.h"

enum { KEY_BACKEND = 1000, KEY_LABEL, MAX_BACKENDS = 8 };

typedef struct schedule_opts {
    const char *cron, *zone, *branch, *suite, *project, *url, *data;
    json_t *backends, *labels; /* NULL: not given */
    double budget_s;
    size_t max_commits, limit;
    bool enable, disable;
    pfc_browse_words words; /* the verb, and the schedule */
} schedule_opts;

static const pfc_option schedule_options[] = {
    PFC_OPT_TEXT("cron", "EXPR", schedule_opts, cron,
                 "Minute, hour, day, month and weekday, as in crontab(5), or @daily"),
    PFC_OPT_TEXT("zone", "TZ", schedule_opts, zone, "IANA time zone of EXPR", .fallback = "UTC"),
    PFC_OPT_TEXT("branch", "B", schedule_opts, branch, "Branch to measure",
                 .fallback = "the project's"),
    PFC_OPT_TEXT("suite", "FILE", schedule_opts, suite, "Suite to measure",
                 .fallback = "as perfci.yaml says"),
    PFC_OPT_OWN(KEY_BACKEND, "backend", "B", "Only this backend; repeatable", .fallback = "all"),
    PFC_OPT_OWN(KEY_LABEL, "label", "KEY=VALUE",
                "Label that the runner must have, such as machine_class=epyc; repeatable"),
    PFC_OPT_COUNT("max-commits", "N", schedule_opts, max_commits, 1, 254,
                  "At most N new commits a night, the newest", .fallback = "60"),
    PFC_OPT_SECONDS("budget", "T", schedule_opts, budget_s, "Measuring time of a night",
                    .fallback = "30m"),
    PFC_OPT_FLAG("disable", schedule_opts, disable, "With add or set: it does not fire"),
    PFC_OPT_FLAG("enable", schedule_opts, enable, "With set: it fires again"),
    PFC_OPT_COUNT("limit", "N", schedule_opts, limit, 1, 1000, "With nights: at most N, the newest",
                  .fallback = "20"),
    PFC_OPT_TEXT("project", "P", schedule_opts, project, "The project's name"),
    PFC_SERVICE_OPTIONS(schedule_opts, ),
    { 0 },
};

static const char schedule_doc[] =
    "Schedules of the service: each measures the new commits of a branch at its times, on the "
    "service's runners."
    "\v"
    "`set` changes a schedule; options that are not given stay as they are. `run` starts a night "
    "now. `nights` lists what became of the last ones. A local time that a change of the clock "
    "skips fires once, at the first instant after the gap; one that occurs twice fires once, at "
    "its first occurrence.\n"
    "\n"
    "Examples:\n"
    "  perfci schedule add nightly --cron '30 2 * * *' --zone Europe/Berlin\n"
    "  perfci schedule add weekly --cron '@weekly' --suite suites/full.yaml --budget 4h\n"
    "  perfci schedule list\n"
    "  perfci schedule set nightly --budget 1h --label machine_class=epyc-9754\n"
    "  perfci schedule run nightly\n"
    "  perfci schedule nights nightly\n"
    "  perfci schedule remove weekly\n";

enum { LIST, ADD, SET, REMOVE, RUN, NIGHTS };

static const char *const verbs[] = { "list", "add", "set", "remove", "run", "nights", NULL };

static void add_label(schedule_opts *o, const char *text, struct argp_state *state)
{
    const char *value = strchr(text, '=');
    char *name;

    if (!value || value == text)
        pfc_cli_usage(state, "--label: expected KEY=VALUE, got \"%s\"", text);
    name = pfc_strndup(text, (size_t)(value - text));
    o->labels = o->labels ? o->labels : json_object();
    json_object_set_new(o->labels, name, json_string(value + 1));
    free(name);
}

static error_t parse_schedule(int key, char *arg, struct argp_state *state)
{
    schedule_opts *o = state->input;

    switch (key) {
    case KEY_BACKEND:
        if (json_array_size(o->backends) == MAX_BACKENDS)
            pfc_cli_usage(state, "--backend: at most %d", MAX_BACKENDS);
        o->backends = o->backends ? o->backends : json_array();
        json_array_append_new(o->backends, json_string(arg));
        return 0;
    case KEY_LABEL:
        add_label(o, arg, state);
        return 0;
    default:
        return pfc_browse_parse_words(
            key, arg, state, &o->words,
            "expected list, or add, set, remove, run or nights with a NAME");
    }
}

/* The verb's number. */
static pfc_code check_words(const schedule_opts *o, int *verb, pfc_err *err)
{
    const char *word = o->words.items[0];

    *verb = LIST;
    while (verbs[*verb] && strcmp(verbs[*verb], word) != 0)
        (*verb)++;
    if (!verbs[*verb])
        return pfc_browse_unknown("", word, verbs, err);
    if ((*verb == LIST) != (o->words.len == 1))
        return pfc_err_set(
            err, PFC_EINVAL,
            *verb == LIST ? "%s: expected no name" : "%s: expected the schedule's name", word);
    if (o->words.len == 2 && !pfc_is_slug(o->words.items[1]))
        return pfc_err_set(err, PFC_EINVAL,
                           "expected a name of lower-case letters, digits, '.', '_', '-', got "
                           "\"%.80s\"",
                           o->words.items[1]);
    if (*verb == ADD && !o->cron) {
        (void)pfc_err_set(err, PFC_EINVAL, "add: expected --cron");
        return pfc_err_hint(err, "each night at half past two: --cron '30 2 * * *'");
    }
    if (o->enable && o->disable)
        return pfc_err_set(err, PFC_EINVAL, "expected --enable or --disable, not both");
    if (*verb != ADD && *verb != SET &&
        (o->cron || o->zone || o->branch || o->suite || o->backends || o->labels || o->budget_s ||
         o->max_commits || o->enable || o->disable))
        return pfc_err_set(err, PFC_EINVAL, "%s: expected no settings, which add and set take",
                           word);
    return PFC_OK;
}

/* ---- requests ---- */

/* The settings that were given. */
static json_t *body_of(const schedule_opts *o, const char *name)
{
    json_t *body = json_pack("{s:s*, s:s*, s:s*, s:s*, s:s*, s:O*, s:O*}", "name", name, "cron",
                             o->cron, "zone", o->zone, "branch", o->branch, "suite", o->suite,
                             "backends", o->backends, "labels", o->labels);

    if (o->max_commits)
        json_object_set_new(body, "max_commits", json_integer((json_int_t)o->max_commits));
    if (o->budget_s > 0)
        json_object_set_new(body, "budget_s", json_real(o->budget_s));
    if (o->enable || o->disable)
        json_object_set_new(body, "enabled", json_boolean(o->enable));
    return body;
}

static pfc_code ask(const schedule_opts *o, int verb, const char *project, pfc_http *http,
                    json_t **answer, pfc_err *err)
{
    static const char *const methods[] = { "GET", "POST", "PATCH", "DELETE", "POST", "GET" };
    const char *name = o->words.items[1];
    json_t *body = NULL;
    pfc_buf path;
    pfc_code code;

    pfc_buf_init(&path, 8192);
    pfc_buf_printf(&path, "/api/v1/projects/%s/schedules", project);
    if (verb != LIST && verb != ADD)
        pfc_buf_printf(&path, "/%s", name);
    if (verb == RUN)
        pfc_buf_puts(&path, "/run");
    if (verb == NIGHTS) {
        pfc_buf_puts(&path, "/nights");
        pfc_browse_query_i64(&path, "limit", (int64_t)o->limit);
    }
    if (verb == ADD || verb == SET)
        body = body_of(o, verb == ADD ? name : NULL);
    code = pfc_http_json(http, methods[verb], pfc_buf_text(&path), body, NULL, answer, err);
    json_decref(body);
    pfc_buf_clear(&path);
    return code;
}

/* ---- output ---- */

static void print_schedules(const pfc_cli *cli, const json_t *list)
{
    static const pfc_table_col cols[] = {
        { "SCHEDULE", false }, { "CRON", false },       { "ZONE", false },
        { "BRANCH", false },   { "NEXT (UTC)", false }, { "LAST (UTC)", false },
        { "NIGHT", true },     { "STATE", false },      { "NOTE", false },
    };
    pfc_table *table = pfc_table_new(cli, cols, PFC_ARRAY_LEN(cols));

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i), *night = json_object_get(one, "night");
        const bool trouble = json_is_string(json_object_get(one, "trouble"));

        pfc_table_row(table);
        pfc_browse_text(table, 0, one, "name");
        pfc_browse_text(table, 1, one, "cron");
        pfc_browse_text(table, 2, one, "zone");
        pfc_browse_text(table, 3, one, "branch");
        if (json_is_true(json_object_get(one, "enabled")))
            pfc_browse_when(table, 4, json_object_get(one, "next_at"));
        else
            pfc_table_set(table, 4, "disabled");
        pfc_browse_when(table, 5, json_object_get(one, "last_at"));
        pfc_browse_id(table, 6, night, "id");
        pfc_browse_text(table, 7, night, "state");
        pfc_browse_text(table, 8, trouble ? one : night, trouble ? "trouble" : "reason");
    }
    pfc_table_print(table);
}

static void print_nights(const pfc_cli *cli, const json_t *list)
{
    static const pfc_browse_col cols[] = {
        { "NIGHT", "id", PFC_BROWSE_ID },
        { "DUE (UTC)", "due_at", PFC_BROWSE_WHEN },
        { "STATE", "state", PFC_BROWSE_TEXT },
        { "JOB", "job_id", PFC_BROWSE_ID },
        { "COMMITS", "commits", PFC_BROWSE_ID },
        { "LEFT OUT", "left_out", PFC_BROWSE_ID },
        { "HEAD", "head", PFC_BROWSE_ID },
        { "BASE", "base", PFC_BROWSE_ID },
        { "FINISHED (UTC)", "finished_at", PFC_BROWSE_WHEN },
        { "REASON", "reason", PFC_BROWSE_TEXT },
    };

    pfc_browse_list(cli, cols, PFC_ARRAY_LEN(cols), true, list);
}

static void say_schedule(const json_t *s)
{
    char next[40];

    pfc_browse_show_when(json_object_get(s, "next_at"), next);
    if (json_is_true(json_object_get(s, "enabled")))
        pfc_out("schedule %s: branch %s, %s in %s, next at %s UTC\n", pfc_browse_string(s, "name"),
                pfc_browse_string(s, "branch"), pfc_browse_string(s, "cron"),
                pfc_browse_string(s, "zone"), next);
    else
        pfc_out("schedule %s: disabled\n", pfc_browse_string(s, "name"));
}

static void say_night(const json_t *n)
{
    const char *reason = pfc_browse_string(n, "reason");
    const long long id = json_integer_value(json_object_get(n, "id"));
    const long long job = json_integer_value(json_object_get(n, "job_id"));

    if (job)
        pfc_out("night %lld: job %lld measures %lld commits\n", id, job,
                (long long)json_integer_value(json_object_get(n, "commits")));
    else
        pfc_out("night %lld: %s%s%s\n", id, pfc_browse_string(n, "state"), *reason ? ": " : "",
                reason);
}

static void print_answer(const pfc_cli *cli, int verb, const schedule_opts *o, const json_t *answer)
{
    const json_t *list = json_object_get(answer, verb == LIST ? "schedules" : "nights");

    if (verb == LIST && (json_array_size(list) || cli->csv))
        print_schedules(cli, list);
    else if (verb == LIST)
        pfc_cli_note(cli, "no schedules");
    else if (verb == NIGHTS && (json_array_size(list) || cli->csv))
        print_nights(cli, list);
    else if (verb == NIGHTS)
        pfc_cli_note(cli, "no nights");
    else if (verb == RUN)
        say_night(answer);
    else if (verb == REMOVE)
        pfc_out("schedule %s removed\n", o->words.items[1]);
    else
        say_schedule(answer);
}

static int cmd_schedule(pfc_cli *cli, int argc, char **argv)
{
    schedule_opts o = { .limit = 20 };
    pfc_http *http = NULL;
    pfc_conf conf = { 0 };
    json_t *answer = NULL;
    char *project = NULL;
    pfc_err err = { 0 };
    pfc_code code;
    int verb = LIST;

    pfc_cli_parse(cli, &pfc_cmd_schedule, argc, argv, &o);
    code = check_words(&o, &verb, &err);
    if (!code)
        code = pfc_api_begin(o.url, o.data, o.project, &conf, &project, &http, &err);
    if (!code)
        code = ask(&o, verb, project, http, &answer, &err);
    if (!code && cli->json)
        pfc_cli_print_json(answer ? json_incref(answer)
                                  : json_pack("{s:s}", "removed", o.words.items[1]));
    else if (!code)
        print_answer(cli, verb, &o, answer);
    json_decref(answer);
    json_decref(o.labels);
    json_decref(o.backends);
    free(project);
    pfc_http_free(http);
    pfc_conf_clear(&conf);
    return code ? pfc_cli_fail(cli, &err) : PFC_EXIT_OK;
}

const pfc_subcommand pfc_cmd_schedule = {
    .name = "schedule",
    .summary = "have the service measure new commits at fixed times",
    .run = cmd_schedule,
    .options = schedule_options,
    .parse = parse_schedule,
    .args_doc = "list\nadd NAME\nset NAME\nremove NAME\nrun NAME\nnights NAME",
    .doc = schedule_doc,
};
