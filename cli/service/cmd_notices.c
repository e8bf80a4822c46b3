/*
 * perfci notices: the outbox of the service, its dead letters, and what to do with them.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/api.h"
#include "cli/commands.h"
#include "cli/output/output.h"
#include "cli/service/browse.h"
#include "core/base/parse.h"

typedef struct notices_opts {
    const char *project, *url, *data;
    const char *words[2];
    size_t words_len, limit;
} notices_opts;

static const pfc_option notices_options[] = {
    PFC_OPT_TEXT("project", "P", notices_opts, project, "Only this project"),
    PFC_OPT_COUNT("limit", "N", notices_opts, limit, 1, 1000, "At most N, the oldest",
                  .fallback = "100"),
    PFC_SERVICE_OPTIONS(notices_opts, ),
    { 0 },
};

static const char notices_doc[] =
    "Lists the notices that are not delivered to all of their receivers, oldest first, with the "
    "state of each delivery and the reason of those that were given up. Or sends the deliveries of "
    "a notice that were given up again, or closes a notice without sending it."
    "\v"
    "Examples:\n"
    "  perfci notices\n"
    "  perfci notices send 12\n"
    "  perfci notices close 12\n";

static error_t parse_notices(int key, char *arg, struct argp_state *state)
{
    notices_opts *o = state->input;

    if (key != ARGP_KEY_ARG)
        return ARGP_ERR_UNKNOWN;
    if (o->words_len == PFC_ARRAY_LEN(o->words))
        pfc_cli_usage(state, "one argument too many: \"%s\"", arg);
    o->words[o->words_len++] = arg;
    return 0;
}

/* "chat waiting, ci dead after 10 tries: the receiver answered 500". */
static void set_deliveries(pfc_table *table, size_t col, const json_t *notice)
{
    const json_t *list = json_object_get(notice, "deliveries");
    pfc_buf text;

    pfc_buf_init(&text, 65536);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        const char *reason = json_string_value(json_object_get(one, "reason"));
        const char *state = pfc_browse_string(one, "state");
        const long long tries = json_integer_value(json_object_get(one, "tries"));

        pfc_buf_printf(&text, "%s%s %s", i ? ", " : "", pfc_browse_string(one, "receiver"), state);
        if (strcmp(state, "dead") == 0)
            pfc_buf_printf(&text, " after %lld %s", tries, tries == 1 ? "try" : "tries");
        if (reason && strcmp(state, "sent") != 0)
            pfc_buf_printf(&text, ": %s", reason);
    }
    pfc_table_set(table, col, text.len ? pfc_buf_text(&text) : NULL);
    pfc_buf_clear(&text);
}

static void print_notices(const pfc_cli *cli, const json_t *list)
{
    static const pfc_table_col cols[] = { { "ID", true },      { "PROJECT", false },
                                          { "KIND", false },   { "ALERT", true },
                                          { "COMMIT", false }, { "AGE", true },
                                          { "TEXT", false },   { "DELIVERIES", false } };
    pfc_table *table = pfc_table_new(cli, cols, PFC_ARRAY_LEN(cols));

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);

        pfc_table_row(table);
        pfc_browse_id(table, 0, one, "id");
        pfc_browse_text(table, 1, one, "project");
        pfc_browse_text(table, 2, one, "kind");
        pfc_browse_id(table, 3, one, "alert_id");
        pfc_browse_id(table, 4, one, "commit");
        pfc_browse_age(table, 5, json_object_get(one, "created_at"));
        pfc_browse_text(table, 6, one, "text");
        set_deliveries(table, 7, one);
    }
    pfc_table_print(table);
}

static pfc_code change_notice(const notices_opts *o, pfc_http *http, json_t **answer, pfc_err *err)
{
    static const char *const known[] = { "send", "close", NULL };
    const bool send = strcmp(o->words[0], known[0]) == 0;
    int64_t id = 0;
    char *path;
    pfc_code code;

    if (!send && strcmp(o->words[0], known[1]) != 0)
        return pfc_browse_unknown("", o->words[0], known, err);
    if (o->words_len < 2)
        return pfc_err_set(err, PFC_EINVAL, "%s: expected the notice's number", o->words[0]);
    code = pfc_parse_i64(o->words[1], 1, INT64_MAX, "the notice's number", &id, err);
    if (code)
        return code;
    path = pfc_format("/api/v1/notices/%lld%s", (long long)id, send ? "/send" : "");
    code = pfc_http_json(http, send ? "POST" : "DELETE", path, NULL, NULL, answer, err);
    free(path);
    if (!code && !*answer)
        *answer = json_pack("{s:I}", "closed", (json_int_t)id);
    return code;
}

static void say_changed(const pfc_cli *cli, const json_t *answer)
{
    const json_t *count = json_object_get(answer, "deliveries");

    if (!count)
        pfc_cli_note(cli, "closed");
    else if (!json_integer_value(count))
        pfc_cli_note(cli, "no delivery of this notice was given up");
    else
        pfc_cli_note(cli, "%lld %s queued again", (long long)json_integer_value(count),
                     json_integer_value(count) == 1 ? "delivery" : "deliveries");
}

static pfc_code ask(void *opts, const pfc_conf *conf, pfc_http *http, json_t **answer, pfc_err *err)
{
    const notices_opts *o = opts;
    pfc_buf path;

    if (o->words_len)
        return change_notice(o, http, answer, err);
    pfc_browse_begin(&path, "/api/v1/notices", o->project, conf);
    return pfc_browse_get(&path, o->limit, http, answer, err);
}

static void show(const pfc_cli *cli, void *opts, const json_t *answer)
{
    const notices_opts *o = opts;
    const json_t *list = json_object_get(answer, "notices");

    if (o->words_len)
        say_changed(cli, answer);
    else if (cli->csv || json_array_size(list))
        print_notices(cli, list);
    else
        pfc_cli_note(cli, "every notice is delivered");
}

static int cmd_notices(pfc_cli *cli, int argc, char **argv)
{
    notices_opts o = { .limit = 100 };

    pfc_cli_parse(cli, &pfc_cmd_notices, argc, argv, &o);
    return pfc_browse_run(cli, &(pfc_browse_frame){ o.url, o.data, &o, ask, show });
}

const pfc_subcommand pfc_cmd_notices = {
    .name = "notices",
    .summary = "list the notices that wait, send dead letters again",
    .run = cmd_notices,
    .options = notices_options,
    .parse = parse_notices,
    .args_doc = "[send ID | close ID]",
    .doc = notices_doc,
};
