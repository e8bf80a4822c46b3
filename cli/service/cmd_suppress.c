/*
 * perfci suppress: rules of the service that hide open alerts for a time, and what each has hidden.
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

enum { KEY_PARAM = 1000 };

typedef struct suppress_opts {
    const char *owner, *reason, *benchmark, *backend, *machine, *metric, *direction;
    const char *project, *url, *data;
    json_t *params; /* NULL: not given */
    double below;   /* 0: not given */
    size_t days, limit;
    bool all;
    pfc_browse_words words; /* the verb, and the rule */
} suppress_opts;

static const char *const directions[] = { "up", "down", NULL };

static const pfc_option suppress_options[] = {
    PFC_OPT_TEXT("owner", "WHO", suppress_opts, owner, "With add: who answers for the rule"),
    PFC_OPT_TEXT("reason", "TEXT", suppress_opts, reason, "With add: why the alerts are hidden"),
    PFC_OPT_COUNT("days", "N", suppress_opts, days, 1, 90, "With add: the rule ends after N days"),
    PFC_OPT_TEXT("benchmark", "GLOB", suppress_opts, benchmark, "Hide alerts of these benchmarks"),
    PFC_OPT_OWN(KEY_PARAM, "param", "KEY=GLOB",
                "Hide alerts of benchmarks with this parameter, such as dtype=bf16; repeatable"),
    PFC_OPT_TEXT("backend", "GLOB", suppress_opts, backend, "Hide alerts of these backends"),
    PFC_OPT_TEXT("machine", "GLOB", suppress_opts, machine,
                 "Hide alerts of these classes of machines"),
    PFC_OPT_TEXT("metric", "GLOB", suppress_opts, metric, "Hide alerts of these metrics"),
    PFC_OPT_WORD("direction", "WAY", directions, suppress_opts, direction,
                 "Hide only values that went up, or down", .fallback = "both"),
    PFC_OPT_NUMBER("below", "R", suppress_opts, below, 1e-6, 10,
                   "Hide only relative changes below R, such as 0.03", .fallback = "any size"),
    PFC_OPT_FLAG("all", suppress_opts, all, "With list: also rules that have ended"),
    PFC_OPT_COUNT("limit", "N", suppress_opts, limit, 1, 1000,
                  "With list and show: at most N, the newest", .fallback = "100"),
    PFC_OPT_TEXT("project", "P", suppress_opts, project, "The project's name"),
    PFC_SERVICE_OPTIONS(suppress_opts, ),
    { 0 },
};

static const char suppress_doc[] =
    "Suppression rules: each hides the open alerts that it fits until it expires, after at most 90 "
    "days."
    "\v"
    "A hidden alert is judged and grouped as before; it is not listed as open, and its notices are "
    "withheld. When the rule ends, or the change grows beyond --below, the alert is listed again "
    "and its notices are sent. `preview` shows what a rule would hide, `show` what a rule has "
    "hidden. A GLOB takes '*' and '?' and matches the whole name.\n"
    "\n"
    "Examples:\n"
    "  perfci suppress preview --benchmark 'gemm/*' --below 0.03\n"
    "  perfci suppress add --owner kernels --reason 'allocator lands on Friday' --days 7 "
    "--benchmark 'gemm/*' --param dtype=bf16 --below 0.03\n"
    "  perfci suppress list\n"
    "  perfci suppress show 3\n"
    "  perfci suppress end 3\n";

enum { LIST, ADD, SHOW, END, PREVIEW };

static const char *const verbs[] = { "list", "add", "show", "end", "preview", NULL };

static void add_param(suppress_opts *o, const char *text, struct argp_state *state)
{
    const char *value = strchr(text, '=');
    char *name;

    if (!value || value == text || !value[1])
        pfc_cli_usage(state, "--param: expected KEY=GLOB, got \"%s\"", text);
    name = pfc_strndup(text, (size_t)(value - text));
    o->params = o->params ? o->params : json_object();
    json_object_set_new(o->params, name, json_string(value + 1));
    free(name);
}

static error_t parse_suppress(int key, char *arg, struct argp_state *state)
{
    suppress_opts *o = state->input;

    if (key != KEY_PARAM)
        return pfc_browse_parse_words(key, arg, state, &o->words,
                                      "expected list, add or preview, or show or end with the "
                                      "number of a rule");
    add_param(o, arg, state);
    return 0;
}

static bool has_matcher(const suppress_opts *o)
{
    return o->benchmark || o->backend || o->machine || o->metric || o->direction || o->params ||
           o->below > 0;
}

/* The options that add needs beside the matcher, and that the other verbs do not take. */
static pfc_code check_add(const suppress_opts *o, int verb, pfc_err *err)
{
    if (verb == ADD && !(o->owner && o->reason && o->days)) {
        (void)pfc_err_set(err, PFC_EINVAL, "add: expected --owner, --reason and --days");
        return pfc_err_hint(err, "a rule has an owner, says why, and ends after at most 90 days");
    }
    if (verb != ADD && (o->owner || o->reason || o->days))
        return pfc_err_set(err, PFC_EINVAL,
                           "%s: expected no --owner, --reason or --days, which add takes",
                           verbs[verb]);
    return PFC_OK;
}

/* The verb's number. */
static pfc_code check_words(const suppress_opts *o, int *verb, pfc_err *err)
{
    const char *word = o->words.items[0];
    int64_t id = 0;
    bool named;

    *verb = LIST;
    while (verbs[*verb] && strcmp(verbs[*verb], word) != 0)
        (*verb)++;
    if (!verbs[*verb])
        return pfc_browse_unknown("", word, verbs, err);
    named = *verb == SHOW || *verb == END;
    if (named != (o->words.len == 2))
        return pfc_err_set(err, PFC_EINVAL,
                           named ? "%s: expected the number of a rule" : "%s: expected no number",
                           word);
    if (named && pfc_parse_i64(o->words.items[1], 1, INT64_MAX, "rule", &id, NULL) != PFC_OK)
        return pfc_err_set(err, PFC_EINVAL, "%s: expected the number of a rule, got \"%.40s\"",
                           word, o->words.items[1]);
    if ((*verb == ADD || *verb == PREVIEW) && !has_matcher(o)) {
        (void)pfc_err_set(err, PFC_EINVAL,
                          "%s: expected at least one of --benchmark, --param, --backend, "
                          "--machine, --metric, --direction and --below",
                          word);
        return pfc_err_hint(err, "a rule that fits every alert hides them all");
    }
    if (*verb != ADD && *verb != PREVIEW && has_matcher(o))
        return pfc_err_set(err, PFC_EINVAL, "%s: expected no matcher, which add and preview take",
                           word);
    return check_add(o, *verb, err);
}

/* ---- requests ---- */

static json_t *body_of(const suppress_opts *o)
{
    json_t *body =
        json_pack("{s:s*, s:s*, s:s*, s:O*, s:s*, s:s*, s:s*, s:s*}", "owner", o->owner, "reason",
                  o->reason, "benchmark", o->benchmark, "params", o->params, "backend", o->backend,
                  "machine_class", o->machine, "metric", o->metric, "direction", o->direction);

    if (o->days)
        json_object_set_new(body, "days", json_integer((json_int_t)o->days));
    if (o->below > 0)
        json_object_set_new(body, "max_change", json_real(o->below));
    return body;
}

static pfc_code ask(const suppress_opts *o, int verb, const char *project, pfc_http *http,
                    json_t **answer, pfc_err *err)
{
    static const char *const methods[] = { "GET", "POST", "GET", "DELETE", "POST" };
    json_t *body = verb == ADD || verb == PREVIEW ? body_of(o) : NULL;
    pfc_buf path;
    pfc_code code;

    pfc_buf_init(&path, 8192);
    pfc_buf_printf(&path, "/api/v1/projects/%s/suppressions", project);
    if (verb == PREVIEW)
        pfc_buf_puts(&path, "/preview");
    if (verb == SHOW || verb == END)
        pfc_buf_printf(&path, "/%s", o->words.items[1]);
    if (verb == LIST || verb == SHOW)
        pfc_browse_query_i64(&path, "limit", (int64_t)o->limit);
    if (verb == LIST && o->all)
        pfc_browse_query(&path, "ended", "true");
    code = pfc_http_json(http, methods[verb], pfc_buf_text(&path), body, NULL, answer, err);
    json_decref(body);
    pfc_buf_clear(&path);
    return code;
}

/* ---- output ---- */

/* "benchmark gemm*, dtype=bf16, below 3 %" */
static void describe(const json_t *rule, pfc_buf *out)
{
    static const char *const names[][2] = {
        { "benchmark", "benchmark " },   { "backend", "backend " },
        { "machine_class", "machine " }, { "metric", "metric " },
        { "direction", "value goes " },
    };
    const double below = json_number_value(json_object_get(rule, "max_change"));
    const char *sep = "", *key;
    json_t *value;

    for (size_t i = 0; i < PFC_ARRAY_LEN(names); i++) {
        const char *text = pfc_browse_string(rule, names[i][0]);

        if (!*text)
            continue;
        pfc_buf_printf(out, "%s%s%s", sep, names[i][1], text);
        sep = ", ";
    }
    json_object_foreach(json_object_get(rule, "params"), key, value)
    {
        pfc_buf_printf(out, "%s%s=%s", sep, key, json_string_value(value));
        sep = ", ";
    }
    if (below > 0)
        pfc_buf_printf(out, "%sbelow %.3g %%", sep, 100 * below);
}

static void print_rules(const pfc_cli *cli, const json_t *list)
{
    static const pfc_table_col cols[] = {
        { "RULE", true },           { "OWNER", false },       { "HIDES", false },
        { "HIDDEN", true },         { "EVER", true },         { "NOTICES", true },
        { "EXPIRES (UTC)", false }, { "ENDED (UTC)", false }, { "REASON", false },
    };
    pfc_table *table = pfc_table_new(cli, cols, PFC_ARRAY_LEN(cols));

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        pfc_buf what;

        pfc_buf_init(&what, 65536);
        describe(one, &what);
        pfc_table_row(table);
        pfc_browse_id(table, 0, one, "id");
        pfc_browse_text(table, 1, one, "owner");
        pfc_table_set(table, 2, pfc_buf_text(&what));
        pfc_browse_id(table, 3, one, "hidden");
        pfc_browse_id(table, 4, one, "hidden_total");
        pfc_browse_id(table, 5, one, "notices");
        pfc_browse_when(table, 6, json_object_get(one, "expires_at"));
        pfc_browse_when(table, 7, json_object_get(one, "ended_at"));
        pfc_browse_text(table, 8, one, "reason");
        pfc_buf_clear(&what);
    }
    pfc_table_print(table);
}

static void print_alerts(const pfc_cli *cli, const json_t *list)
{
    static const pfc_browse_col cols[] = {
        { "ALERT", "id", PFC_BROWSE_ID },
        { "BENCHMARK", "benchmark", PFC_BROWSE_TEXT },
        { "METRIC", "metric", PFC_BROWSE_TEXT },
        { "BACKEND", "backend", PFC_BROWSE_TEXT },
        { "CHANGE", "", PFC_BROWSE_EFFECT },
        { "STATE", "state", PFC_BROWSE_TEXT },
        { "HIDDEN (UTC)", "hidden_at", PFC_BROWSE_WHEN },
        { "SHOWN (UTC)", "released_at", PFC_BROWSE_WHEN },
        { "NOTICES", "notices", PFC_BROWSE_ID },
    };

    pfc_browse_list(cli, cols, PFC_ARRAY_LEN(cols), false, list);
}

static long long number_of(const json_t *obj, const char *key)
{
    return json_integer_value(json_object_get(obj, key));
}

static void say_rule(const json_t *rule)
{
    char until[40];
    pfc_buf what;

    pfc_buf_init(&what, 65536);
    describe(rule, &what);
    pfc_browse_show_when(json_object_get(rule, "expires_at"), until);
    pfc_out("rule %lld of %s: %s\n", number_of(rule, "id"), pfc_browse_string(rule, "owner"),
            pfc_buf_text(&what));
    pfc_out("reason: %s\n", pfc_browse_string(rule, "reason"));
    if (json_is_string(json_object_get(rule, "ended_at")))
        pfc_out("ended; it hid %lld alerts and withheld %lld notices\n",
                number_of(rule, "hidden_total"), number_of(rule, "notices"));
    else
        pfc_out("expires at %s UTC; hides %lld alerts now, %lld ever, and withheld %lld notices\n",
                until, number_of(rule, "hidden"), number_of(rule, "hidden_total"),
                number_of(rule, "notices"));
    pfc_buf_clear(&what);
}

static void print_answer(const pfc_cli *cli, int verb, const json_t *answer)
{
    const json_t *rules = json_object_get(answer, "suppressions");
    const json_t *alerts = json_object_get(answer, "alerts");

    if (verb == LIST && (json_array_size(rules) || cli->csv))
        print_rules(cli, rules);
    else if (verb == LIST)
        pfc_cli_note(cli, "no suppression rules");
    else if (verb == PREVIEW)
        pfc_out("such a rule fits %lld series; it would hide %lld open alerts, %lld of them not "
                "hidden yet, and concerns %lld alerts of 90 days\n",
                number_of(answer, "series"), number_of(answer, "open"),
                number_of(answer, "visible"), number_of(answer, "past"));
    else
        say_rule(answer);
    if ((verb == PREVIEW || verb == SHOW) && json_array_size(alerts))
        print_alerts(cli, alerts);
}

static int cmd_suppress(pfc_cli *cli, int argc, char **argv)
{
    suppress_opts o = { .limit = 100 };
    pfc_http *http = NULL;
    pfc_conf conf = { 0 };
    json_t *answer = NULL;
    char *project = NULL;
    pfc_err err = { 0 };
    pfc_code code;
    int verb = LIST;

    pfc_cli_parse(cli, &pfc_cmd_suppress, argc, argv, &o);
    code = check_words(&o, &verb, &err);
    if (!code)
        code = pfc_api_begin(o.url, o.data, o.project, &conf, &project, &http, &err);
    if (!code)
        code = ask(&o, verb, project, http, &answer, &err);
    if (!code && cli->json)
        pfc_cli_print_json(json_incref(answer));
    else if (!code)
        print_answer(cli, verb, answer);
    json_decref(answer);
    json_decref(o.params);
    free(project);
    pfc_http_free(http);
    pfc_conf_clear(&conf);
    return code ? pfc_cli_fail(cli, &err) : PFC_EXIT_OK;
}

const pfc_subcommand pfc_cmd_suppress = {
    .name = "suppress",
    .summary = "hide open alerts for a time by rules, and see what is hidden",
    .run = cmd_suppress,
    .options = suppress_options,
    .parse = parse_suppress,
    .args_doc = "list\nadd\nshow N\nend N\npreview",
    .doc = suppress_doc,
};
