/*
 * perfci runner: the runners of a service, and what an administrator does with them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/api.h"
#include "cli/commands.h"
#include "cli/output/output.h"
#include "cli/service/browse.h"
#include "core/base/parse.h"

typedef struct runner_opts {
    const char *since, *reason, *project, *url, *data;
    pfc_browse_words words; /* the verb, and the runner */
    bool dry_run, undo;
} runner_opts;

static const pfc_option runner_options[] = {
    PFC_OPT_TEXT("quarantine", "SINCE", runner_opts, since,
                 "With revoke: hide its results since this time, RFC 3339, e.g. "
                 "2027-01-01T00:00:00Z"),
    PFC_OPT_TEXT("reason", "TEXT", runner_opts, reason, "With revoke: for the audit log"),
    PFC_OPT_FLAG("dry-run", runner_opts, dry_run, "With revoke: only count what it would do"),
    PFC_OPT_FLAG("undo", runner_opts, undo, "With revoke: take the revocation back, as release"),
    PFC_OPT_TEXT("project", "P", runner_opts, project,
                 "Project of the runner, where several have one of that name"),
    PFC_SERVICE_OPTIONS(runner_opts, ),
    { 0 },
};

static const char runner_doc[] =
    "Lists the runners of the service, and drains, revokes and releases them."
    "\v"
    "`drain` keeps a runner from taking a new job; it ends the one it has. `undrain` takes that "
    "back. `revoke` ends the tokens that the runner used and its lease. With --quarantine, its "
    "results since then are hidden from every series and detection is repeated without them. "
    "`release` takes both back: the results count again, and the runner may lease with a new "
    "token.\n"
    "\n"
    "Examples:\n"
    "  perfci runner list\n"
    "  perfci runner drain rack-7\n"
    "  perfci runner undrain rack-7\n"
    "  perfci runner revoke rack-7 --quarantine 2027-01-01T00:00:00Z --dry-run\n"
    "  perfci runner revoke rack-7 --quarantine 2027-01-01T00:00:00Z --reason \"broken fan\"\n"
    "  perfci runner release rack-7\n";

static const char *const verbs[] = { "list", "drain", "undrain", "revoke", "release", NULL };

static error_t parse_runner(int key, char *arg, struct argp_state *state)
{
    runner_opts *o = state->input;

    return pfc_browse_parse_words(
        key, arg, state, &o->words,
        "expected list, or drain, undrain, revoke or release with a NAME");
}

static pfc_code check_words(const runner_opts *o, pfc_err *err)
{
    const char *const *known = verbs;
    const bool revokes = strcmp(o->words.items[0], "revoke") == 0;
    double since = 0;

    while (*known && strcmp(*known, o->words.items[0]) != 0)
        known++;
    if (!*known)
        return pfc_browse_unknown("", o->words.items[0], verbs, err);
    if ((known == verbs) != (o->words.len == 1))
        return pfc_err_set(err, PFC_EINVAL,
                           known == verbs ? "%s: expected no name"
                                          : "%s: expected the runner's name",
                           o->words.items[0]);
    if (!revokes && (o->since || o->reason || o->dry_run || o->undo))
        return pfc_err_set(err, PFC_EINVAL,
                           "--quarantine, --reason, --dry-run and --undo are for revoke");
    if (o->undo && (o->since || o->dry_run))
        return pfc_err_set(err, PFC_EINVAL, "--undo: expected no --quarantine and no --dry-run");
    return o->since ? pfc_parse_rfc3339(o->since, "--quarantine", &since, err) : PFC_OK;
}

/* ---- list ---- */

static void set_age(pfc_table *table, size_t col, const json_t *seconds)
{
    char text[32];

    if (!json_is_number(seconds))
        return;
    pfc_show_seconds(json_number_value(seconds), text);
    pfc_table_set(table, col, text);
}

static void set_seen(pfc_table *table, size_t col, const json_t *runner)
{
    double ago = 0;
    char text[32];

    if (!pfc_browse_seconds_ago(json_object_get(runner, "last_seen_at"), &ago))
        return;
    pfc_show_seconds(ago, text);
    pfc_table_setf(table, col, "%s ago", text);
}

static void set_spool(pfc_table *table, size_t col, const json_t *runner)
{
    const json_t *spool = json_object_get(runner, "spool");

    if (!json_is_object(spool))
        return;
    pfc_browse_id(table, col, spool, "documents");
    set_age(table, col + 1, json_object_get(spool, "oldest_s"));
    pfc_table_setf(table, col + 2, "%.1f GiB",
                   json_number_value(json_object_get(spool, "disk_free_bytes")) / 1024 / 1024 /
                       1024);
}

/* An alarm first: it needs a person. */
static void set_note(pfc_table *table, size_t col, const json_t *runner)
{
    const char *alarm = json_string_value(json_object_get(runner, "alarm"));
    const json_t *quarantine = json_object_get(runner, "quarantine");
    pfc_buf text;

    pfc_buf_init(&text, 8192);
    if (alarm)
        pfc_buf_printf(&text, "ALARM %s", alarm);
    if (json_is_object(quarantine))
        pfc_buf_printf(&text, "%s%lld runs hidden since %s", text.len ? "; " : "",
                       (long long)json_integer_value(json_object_get(quarantine, "runs")),
                       json_string_value(json_object_get(quarantine, "since")));
    if (text.len)
        pfc_table_set(table, col, pfc_buf_text(&text));
    if (alarm)
        pfc_table_color(table, col, "red");
    pfc_buf_clear(&text);
}

static void print_runners(const pfc_cli *cli, const json_t *list)
{
    static const pfc_table_col cols[] = {
        { "RUNNER", false },  { "PROJECT", false }, { "STATE", false },  { "JOB", true },
        { "SEEN", false },    { "CLASS", false },   { "LABELS", false }, { "RESULTS", true },
        { "WAITING", true },  { "OLDEST", false },  { "FREE", false },   { "VERSION", false },
        { "SANDBOX", false }, { "NOTE", false },
    };
    pfc_table *table = pfc_table_new(cli, cols, PFC_ARRAY_LEN(cols));

    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *one = json_array_get(list, i), *value;
        const char *name, *project = json_string_value(json_object_get(one, "project"));
        pfc_buf labels;

        pfc_buf_init(&labels, 8192);
        json_object_foreach(json_object_get(one, "labels"), name, value) pfc_buf_printf(
            &labels, "%s%s=%s", labels.len ? "," : "", name, json_string_value(value));
        pfc_table_row(table);
        pfc_browse_text(table, 0, one, "name");
        pfc_table_set(table, 1, project ? project : "all");
        pfc_browse_text(table, 2, one, "state");
        pfc_browse_id(table, 3, one, "job_id");
        set_seen(table, 4, one);
        pfc_browse_text(table, 5, one, "machine_class");
        pfc_table_set(table, 6, labels.len ? pfc_buf_text(&labels) : NULL);
        pfc_browse_id(table, 7, one, "results");
        set_spool(table, 8, one);
        pfc_browse_text(table, 11, one, "version");
        pfc_browse_text(table, 12, one, "sandbox");
        set_note(table, 13, one);
        pfc_buf_clear(&labels);
    }
    pfc_table_print(table);
}

/* ---- operations ---- */

static json_int_t count_of(const json_t *obj, const char *key)
{
    return json_integer_value(json_object_get(obj, key));
}

static void tell_revoked(const json_t *answer, bool dry_run)
{
    const json_t *tokens = json_object_get(answer, "tokens");
    const json_t *hidden = json_object_get(answer, "hidden");
    const char *would = dry_run ? "would be " : "";

    for (size_t i = 0; i < json_array_size(tokens); i++) {
        const json_t *token = json_array_get(tokens, i);
        const char *others = json_string_value(json_object_get(token, "other_runners"));

        (void)printf("token %lld (%s) %srevoked%s%s\n", (long long)count_of(token, "id"),
                     json_string_value(json_object_get(token, "name")), would,
                     others ? ", which is used by " : "", others ? others : "");
    }
    (void)printf("%lld jobs %sreturned to the queue\n",
                 (long long)count_of(answer, "jobs_returned"), would);
    (void)printf("%lld runs %shidden: %lld results of %lld series at %lld commits\n",
                 (long long)count_of(hidden, "runs"), would, (long long)count_of(hidden, "results"),
                 (long long)count_of(hidden, "series"), (long long)count_of(hidden, "commits"));
}

static void tell(const pfc_cli *cli, const runner_opts *o, const char *verb, const json_t *answer)
{
    if (strcmp(verb, "revoke") == 0) {
        tell_revoked(answer, o->dry_run);
    } else if (strcmp(verb, "release") == 0) {
        (void)printf("%s released: %lld runs count again\n", o->words.items[1],
                     (long long)count_of(answer, "runs"));
        pfc_cli_note(cli, "its old tokens stay ended: give it a new one (perfci token create)");
    } else {
        (void)printf("%s: %s%s\n", o->words.items[1],
                     json_is_true(json_object_get(answer, "drained")) ? "drained" : "takes jobs",
                     json_is_true(json_object_get(answer, "changed")) ? "" : ", as before");
    }
}

static pfc_code operate(const runner_opts *o, const char *verb, pfc_http *http, json_t **answer,
                        pfc_err *err)
{
    char *path = pfc_format("/api/v1/runners/%s", verb);
    json_t *body =
        json_pack("{s:s, s:s*, s:s*, s:s*}", "runner", o->words.items[1], "project", o->project,
                  "quarantine_since", o->since, "reason", o->undo ? NULL : o->reason);
    pfc_code code;

    if (o->dry_run)
        json_object_set_new(body, "dry_run", json_true());
    code = pfc_http_json(http, "POST", path, body, NULL, answer, err);
    json_decref(body);
    free(path);
    return code;
}

static int cmd_runner(pfc_cli *cli, int argc, char **argv)
{
    runner_opts o = { 0 };
    const char *verb;
    pfc_http *http = NULL;
    pfc_conf conf = { 0 };
    json_t *answer = NULL;
    const json_t *list;
    pfc_err err = { 0 };
    pfc_code code;
    bool lists;

    pfc_cli_parse(cli, &pfc_cmd_runner, argc, argv, &o);
    verb = o.undo ? "release" : o.words.items[0];
    lists = strcmp(verb, verbs[0]) == 0;
    code = check_words(&o, &err);
    if (!code)
        code = pfc_conf_find(".", &conf, &err);
    if (!code)
        code = pfc_api_open(o.url, o.data, &conf, &http, &err);
    if (!code)
        code = lists ? pfc_http_json(http, "GET", "/api/v1/runners", NULL, NULL, &answer, &err)
                     : operate(&o, verb, http, &answer, &err);
    list = json_object_get(answer, "runners");
    if (!code && cli->json)
        pfc_cli_print_json(json_incref(answer));
    else if (!code && lists && (json_array_size(list) || cli->csv))
        print_runners(cli, list);
    else if (!code && lists)
        pfc_cli_note(cli, "no runners");
    else if (!code)
        tell(cli, &o, verb, answer);
    json_decref(answer);
    pfc_http_free(http);
    pfc_conf_clear(&conf);
    return code ? pfc_cli_fail(cli, &err) : PFC_EXIT_OK;
}

const pfc_subcommand pfc_cmd_runner = {
    .name = "runner",
    .summary = "list the runners, drain, revoke and release them",
    .run = cmd_runner,
    .options = runner_options,
    .parse = parse_runner,
    .args_doc = "list\ndrain NAME\nundrain NAME\nrevoke NAME\nrelease NAME",
    .doc = runner_doc,
};
