/*
 * perfci groups: groups of alerts as the dashboard lists them, one with its alerts, and triage of
 * several at once: state, assignee, accepted level, split and merge.
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

enum { WORDS_MAX = 101, TEXT_BYTES = 16384 }; /* a verb, and as many groups as one change takes */

typedef struct groups_opts {
    const char *project, *state, *owner, *assignee, *kernel, *backend, *machine, *match, *direction;
    const char *sort, *reason, *url, *data;
    const char *words[WORDS_MAX];
    size_t words_len, limit;
    bool all, accept;
} groups_opts;

static const char *const directions[] = { "regression", "recovery", "improvement", NULL };
static const char *const sorts[] = { "worth", "newest", NULL };

static const pfc_option groups_options[] = {
    PFC_OPT_TEXT("project", "P", groups_opts, project, "Only this project"),
    PFC_OPT_TEXT("state", "S", groups_opts, state,
                 "Only this state (default open: untriaged, acknowledged, investigating); with "
                 "`set`: the new one"),
    PFC_OPT_FLAG("all", groups_opts, all, "Every state"),
    PFC_OPT_WORD("direction", "WAY", directions, groups_opts, direction,
                 "regression, recovery (the level is back) or improvement",
                 .fallback = "regression"),
    PFC_OPT_TEXT("kernel", "K", groups_opts, kernel, "Only this benchmark, or its first parts"),
    PFC_OPT_TEXT("backend", "B", groups_opts, backend, "Only this backend"),
    PFC_OPT_TEXT("machine", "M", groups_opts, machine, "Only this class of machines"),
    PFC_OPT_TEXT("match", "TEXT", groups_opts, match,
                 "Only those with all of these words in the names of a series or in the summary"),
    PFC_OPT_TEXT("owner", "NAME", groups_opts, owner,
                 "Only those of this owner; none: those without one"),
    PFC_OPT_TEXT("assignee", "NAME", groups_opts, assignee,
                 "Only those of this assignee; with `set`: the new one, empty for none"),
    PFC_OPT_WORD("sort", "HOW", sorts, groups_opts, sort,
                 "worth: the most important first; newest: the newest first", .fallback = "worth"),
    PFC_OPT_TEXT("reason", "TEXT", groups_opts, reason, "Why, for `set`, `split` and `merge`"),
    PFC_OPT_FLAG("accept", groups_opts, accept,
                 "With `set`: the new level is the right one (wont_fix)"),
    PFC_OPT_COUNT("limit", "N", groups_opts, limit, 1, 1000, "At most N", .fallback = "100"),
    PFC_SERVICE_OPTIONS(groups_opts, ),
    { 0 },
};

static const char groups_doc[] =
    "Lists groups of alerts: alerts of several series with one cause. Or shows one group with its "
    "alerts and its history, or changes groups."
    "\v"
    "N is the number of a group, as the first column has it. `set` changes all open alerts of the "
    "groups, or all of their alerts when none is open; all groups change or none. `split` moves "
    "alerts into a group of their own, `merge` moves the alerts of the other groups into the first "
    "one.\n"
    "\n"
    "Examples:\n"
    "  perfci groups\n"
    "  perfci groups --kernel gemm --backend cpu-avx2 --match 'bf16' --sort newest\n"
    "  perfci groups --direction improvement\n"
    "  perfci groups 12\n"
    "  perfci groups set 12 13 --state acknowledged --reason 'the LDS change'\n"
    "  perfci groups set 12 --assignee mara\n"
    "  perfci groups set 12 --accept --reason 'the new format costs 3 %, agreed in #81'\n"
    "  perfci groups split 12 203 204\n"
    "  perfci groups merge 12 23\n";

enum { LIST, SHOW, SET, SPLIT, MERGE };

static const char *const verbs[] = { "set", "split", "merge", NULL };

static error_t parse_groups(int key, char *arg, struct argp_state *state)
{
    groups_opts *o = state->input;

    switch (key) {
    case ARGP_KEY_ARG:
        if (o->words_len == PFC_ARRAY_LEN(o->words))
            pfc_cli_usage(state, "at most %d numbers", WORDS_MAX - 1);
        o->words[o->words_len++] = arg;
        return 0;
    case ARGP_KEY_END:
        if (o->all && o->state)
            pfc_cli_usage(state, "--all and --state exclude each other");
        if (strcmp(o->direction, "improvement") == 0 &&
            (o->all || o->state || o->owner || o->assignee))
            pfc_cli_usage(state, "an improvement has no state, owner or assignee");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- what is asked ---- */

static int verb_of(const groups_opts *o)
{
    if (!o->words_len)
        return LIST;
    for (int i = 0; verbs[i]; i++)
        if (strcmp(o->words[0], verbs[i]) == 0)
            return SET + i;
    return SHOW;
}

/* The numbers behind the verb. */
static pfc_code read_ids(const groups_opts *o, int verb, int64_t *ids, size_t *len, pfc_err *err)
{
    const size_t first = verb >= SET, least = verb == SPLIT || verb == MERGE ? 2 : 1;
    pfc_code code = PFC_OK;

    for (size_t i = first; i < o->words_len && !code; i++)
        code = pfc_parse_i64(o->words[i], 1, INT64_MAX,
                             verb == SPLIT && i > 1 ? "the number of the alert"
                                                    : "the number of the group",
                             &ids[(*len)++], err);
    if (code && verb == SHOW)
        return pfc_browse_unknown("", o->words[0], verbs, err);
    if (!code && *len < least)
        code = pfc_err_set(err, PFC_EINVAL,
                           verb == SET     ? "set: expected the number of a group"
                           : verb == SPLIT ? "split: expected the number of a "
                                             "group, and of the alerts to move"
                                           : "merge: expected the numbers of two "
                                             "groups or more");
    if (!code && verb == SHOW && *len > 1)
        code = pfc_err_set(err, PFC_EINVAL, "expected the number of one group");
    return code ? pfc_err_hint(err, "\"perfci groups\" lists them with their numbers") : PFC_OK;
}

static pfc_code list_groups(const groups_opts *o, const pfc_conf *conf, pfc_http *http,
                            json_t **answer, pfc_err *err)
{
    const bool better = strcmp(o->direction, "improvement") == 0;
    const bool open = strcmp(o->direction, "regression") == 0;
    pfc_buf path;

    pfc_browse_begin(&path, "/api/v1/groups", o->project, conf);
    pfc_browse_query(&path, "direction", o->direction);
    /* An improvement has no state and no owner; a recovery is seldom open. */
    if (!better) {
        pfc_browse_query(&path, "state", o->state ? o->state : o->all || !open ? NULL : "open");
        pfc_browse_query(&path, "owner", o->owner);
        pfc_browse_query(&path, "assignee", o->assignee);
        pfc_browse_query(&path, "sort", o->sort);
    }
    pfc_browse_query(&path, "kernel", o->kernel);
    pfc_browse_query(&path, "backend", o->backend);
    pfc_browse_query(&path, "machine", o->machine);
    pfc_browse_query(&path, "q", o->match);
    return pfc_browse_get(&path, o->limit, http, answer, err);
}

static json_t *numbers(const int64_t *ids, size_t len)
{
    json_t *list = json_array();

    for (size_t i = 0; i < len; i++)
        json_array_append_new(list, json_integer((json_int_t)ids[i]));
    return list;
}

static pfc_code change(const groups_opts *o, int verb, const int64_t *ids, size_t len,
                       pfc_http *http, json_t **answer, pfc_err *err)
{
    json_t *body = json_object();
    char *path = verb == SET ? pfc_strdup("/api/v1/groups")
                             : pfc_format("/api/v1/groups/%lld/%s", (long long)ids[0], o->words[0]);
    pfc_code code;

    if (verb == SET) {
        json_t *groups = json_array();

        for (size_t i = 0; i < len; i++)
            json_array_append_new(groups, json_pack("{s:I}", "id", (json_int_t)ids[i]));
        json_object_set_new(body, "groups", groups);
        if (o->state)
            json_object_set_new(body, "state", json_string(o->state));
        if (o->assignee)
            json_object_set_new(body, "assignee", json_string(o->assignee));
        if (o->accept)
            json_object_set_new(body, "accept", json_true());
    } else {
        json_object_set_new(body, verb == SPLIT ? "alerts" : "groups", numbers(ids + 1, len - 1));
    }
    if (o->reason)
        json_object_set_new(body, "reason", json_string(o->reason));
    code = pfc_http_json(http, verb == SET ? "PATCH" : "POST", path, body, NULL, answer, err);
    free(path);
    json_decref(body);
    return code;
}

static pfc_code ask(void *opts, const pfc_conf *conf, pfc_http *http, json_t **answer, pfc_err *err)
{
    const groups_opts *o = opts;
    const int verb = verb_of(o);
    int64_t ids[WORDS_MAX];
    size_t len = 0;
    char *path;
    pfc_code code;

    if (verb == LIST)
        return list_groups(o, conf, http, answer, err);
    code = read_ids(o, verb, ids, &len, err);
    if (!code && verb == SET && !o->state && !o->assignee && !o->accept)
        code = pfc_err_set(err, PFC_EINVAL, "set: expected --state, --assignee or --accept");
    if (!code && verb != SHOW)
        return change(o, verb, ids, len, http, answer, err);
    if (code)
        return code;
    path = pfc_format("/api/v1/groups/%lld", (long long)ids[0]);
    code = pfc_http_json(http, "GET", path, NULL, NULL, answer, err);
    free(path);
    return code;
}

/* ---- output ---- */

/* "+6.0 % to +7.8 %"; one figure where both are equal. */
static void show_effects(const json_t *group, char out[80])
{
    static const char *const keys[] = { "rel_least", "rel_most" };
    char text[2][32];

    out[0] = '\0';
    for (size_t i = 0; i < PFC_ARRAY_LEN(keys); i++) {
        const json_t *v = json_object_get(group, keys[i]);

        if (!json_is_number(v))
            return;
        pfc_show_percent(json_number_value(v), text[i]);
    }
    if (strcmp(text[0], text[1]) == 0)
        (void)snprintf(out, 80, "%s", text[0]);
    else
        (void)snprintf(out, 80, "%s to %s", text[0], text[1]);
}

static long long number_of(const json_t *obj, const char *key)
{
    return json_integer_value(json_object_get(obj, key));
}

/* "gemm/bf16/m64 time_ns on cpu-avx2" */
static void show_series(const json_t *s, char *out, size_t cap)
{
    const char *backend = pfc_browse_string(s, "backend");

    (void)snprintf(out, cap, "%s %s%s%s", pfc_browse_string(s, "benchmark"),
                   pfc_browse_string(s, "metric"), *backend ? " on " : "", backend);
}

static void print_groups(const pfc_cli *cli, const json_t *list)
{
    static const pfc_table_col cols[] = {
        { "GROUP", true },    { "EFFECT", true },   { "SERIES", true }, { "WHAT", false },
        { "SUSPECT", false }, { "STATE", false },   { "FOR", false },   { "HIDDEN", true },
        { "AGE", true },      { "PROJECT", false },
    };
    pfc_table *table = pfc_table_new(cli, cols, PFC_ARRAY_LEN(cols));
    char text[TEXT_BYTES];

    pfc_table_below(table, 3);
    pfc_table_below(table, 4);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *g = json_array_get(list, i), *lead = json_object_get(g, "lead");
        const char *assignee = pfc_browse_string(g, "assignee");

        pfc_table_row(table);
        pfc_browse_id(table, 0, g, "id");
        show_effects(g, text);
        pfc_table_set(table, 1, text);
        pfc_table_setf(table, 2, "%lld of %lld", number_of(g, "series"), number_of(g, "measured"));
        pfc_browse_text(table, 3, g, "summary");
        pfc_alert_show_suspect(lead, text, sizeof(text));
        pfc_table_set(table, 4, *text ? text : pfc_browse_string(lead, "title"));
        pfc_browse_text(table, 5, g, "state");
        pfc_table_set(table, 6, *assignee ? assignee : pfc_browse_string(g, "owner"));
        if (number_of(g, "suppressed"))
            pfc_browse_id(table, 7, g, "suppressed");
        pfc_browse_age(table, 8, json_object_get(g, "opened_first"));
        pfc_browse_text(table, 9, g, "project");
    }
    pfc_table_print(table);
}

static void print_improvements(const pfc_cli *cli, const json_t *list)
{
    static const pfc_table_col cols[] = {
        { "COMMIT", false },  { "EFFECT", true },  { "SERIES", true }, { "WHAT", false },
        { "SUBJECT", false }, { "AUTHOR", false }, { "AGE", true },    { "PROJECT", false },
    };
    pfc_table *table = pfc_table_new(cli, cols, PFC_ARRAY_LEN(cols));
    char text[80];

    pfc_table_below(table, 3);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);

        pfc_table_row(table);
        pfc_table_commit(table, 0, pfc_browse_string(one, "commit"));
        show_effects(one, text);
        pfc_table_set(table, 1, text);
        pfc_browse_id(table, 2, one, "series");
        pfc_browse_text(table, 3, one, "summary");
        pfc_browse_text(table, 4, one, "subject");
        pfc_browse_text(table, 5, one, "author");
        pfc_browse_age(table, 6, json_object_get(one, "opened_first"));
        pfc_browse_text(table, 7, one, "project");
    }
    pfc_table_print(table);
}

static void fact(const char *name, const char *text)
{
    if (*text)
        pfc_out("%-10s %s\n", name, text);
}

static void print_group(const pfc_cli *cli, const json_t *g)
{
    const json_t *lead = json_object_get(g, "lead");
    const json_t *history = json_object_get(g, "history");
    char text[TEXT_BYTES];

    pfc_out("group %lld: %s\n", number_of(g, "id"), pfc_browse_string(g, "summary"));
    show_effects(g, text);
    fact("effect", text);
    (void)snprintf(text, sizeof(text), "%lld of %lld measured there", number_of(g, "series"),
                   number_of(g, "measured"));
    fact("series", text);
    show_series(json_object_get(g, "worst"), text, sizeof(text));
    fact("worst", text);
    pfc_alert_show_suspect(lead, text, sizeof(text));
    fact(*pfc_browse_string(lead, "culprit") ? "culprit" : "suspect", text);
    fact("state", pfc_browse_string(g, "state"));
    fact("assignee", pfc_browse_string(g, "assignee"));
    fact("owner", pfc_browse_string(g, "owner"));
    if (number_of(g, "suppressed")) {
        (void)snprintf(text, sizeof(text), "%lld of %lld alerts, by suppression rules",
                       number_of(g, "suppressed"), number_of(g, "alerts"));
        fact("hidden", text);
    }
    pfc_out("\nAlerts:\n");
    pfc_alert_show_members(cli, json_object_get(g, "members"));
    if (json_array_size(history)) {
        pfc_out("\nHistory:\n");
        pfc_alert_show_history(cli, history);
    }
}

static void show(const pfc_cli *cli, void *opts, const json_t *answer)
{
    const groups_opts *o = opts;
    const int verb = verb_of(o);
    const bool better = verb == LIST && strcmp(o->direction, "improvement") == 0;
    const json_t *list = json_object_get(answer, better ? "improvements" : "groups");

    if (verb == LIST && !json_array_size(list) && !cli->csv)
        pfc_cli_note(cli, better ? "no improvements" : "no such groups; --all lists closed ones");
    else if (better)
        print_improvements(cli, list);
    else if (verb == LIST)
        print_groups(cli, list);
    else if (verb == SET)
        pfc_out("%lld alerts of %zu group%s changed\n", number_of(answer, "alerts"),
                json_array_size(list), json_array_size(list) == 1 ? "" : "s");
    else
        print_group(cli, answer);
    if (verb == LIST && !json_is_null(json_object_get(answer, "next_cursor")))
        pfc_cli_note(cli, "more than %zu: --limit shows more of them", o->limit);
}

static int cmd_groups(pfc_cli *cli, int argc, char **argv)
{
    groups_opts o = { .limit = 100, .direction = "regression", .sort = "worth" };

    pfc_cli_parse(cli, &pfc_cmd_groups, argc, argv, &o);
    return pfc_browse_run(cli, &(pfc_browse_frame){ o.url, o.data, &o, ask, show });
}

const pfc_subcommand pfc_cmd_groups = {
    .name = "groups",
    .summary = "list groups of alerts, show one, triage several",
    .run = cmd_groups,
    .options = groups_options,
    .parse = parse_groups,
    .args_doc = "[N]\nset N...\nsplit N ALERT...\nmerge N N...",
    .doc = groups_doc,
};
