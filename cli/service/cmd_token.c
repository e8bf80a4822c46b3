/*
 * perfci token and perfci project: administration of the service.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/api.h"
#include "cli/commands.h"
#include "cli/output/output.h"
#include "cli/service/browse.h"
#include "core/base/parse.h"

enum { KEY_SCOPE = 1 };

enum { MAX_SCOPES = 8 };

typedef struct admin_opts {
    const char *scopes[MAX_SCOPES];
    size_t scopes_len;
    const char *project, *name, *expires, *overlap, *url, *data;
    pfc_browse_words words; /* the verb, and the token or session */
} admin_opts;

static const pfc_option token_options[] = {
    PFC_OPT_OWN(KEY_SCOPE, "scope", "S", "read, ingest, runner, triage or admin; repeatable"),
    PFC_OPT_TEXT("project", "P", admin_opts, project, "Good for this project alone",
                 .fallback = "all"),
    PFC_OPT_TEXT("name", "NAME", admin_opts, name, "What it is for"),
    PFC_OPT_TEXT("expires", "TIME", admin_opts, expires, "RFC 3339, e.g. 2027-01-01T00:00:00Z"),
    PFC_OPT_DURATION("overlap", "T", admin_opts, overlap, "How long a rotated secret stays good",
                     .fallback = "1d"),
    PFC_SERVICE_OPTIONS(admin_opts, ),
    { 0 },
};

static const char token_doc[] =
    "Makes, lists, rotates and revokes tokens of the service."
    "\vA token is shown once, when it is made; with --quiet it is printed alone.\n"
    "To rotate is to make another with the same name, scopes, project and length\n"
    "of life; the old one ends after --overlap. A browser that signs in with a\n"
    "token gets a session of its own: `sessions` lists them, `sign-out` ends one,\n"
    "`revoke` ends all of a token.\n"
    "\n"
    "Examples:\n"
    "  perfci token create --scope ingest --project kernels --name ci\n"
    "  perfci token create --scope read --quiet > read.token\n"
    "  perfci token list\n"
    "  perfci token rotate 3 --overlap 2h --quiet > ci.token\n"
    "  perfci token revoke 3\n"
    "  perfci token sessions\n"
    "  perfci token sign-out 12\n";

static error_t parse_admin(int key, char *arg, struct argp_state *state)
{
    admin_opts *o = state->input;

    switch (key) {
    case KEY_SCOPE:
        if (o->scopes_len == MAX_SCOPES)
            pfc_cli_usage(state, "--scope: at most %d", MAX_SCOPES);
        o->scopes[o->scopes_len++] = arg;
        return 0;
    default:
        return pfc_browse_parse_words(
            key, arg, state, &o->words,
            "expected create, list, rotate, revoke, sessions or sign-out");
    }
}

static const char *text_of(const json_t *obj, const char *key)
{
    const char *text = json_string_value(json_object_get(obj, key));

    return text ? text : "";
}

/* ["read", "ingest"] as "read ingest". */
static void set_words(pfc_table *table, size_t col, const json_t *list)
{
    pfc_buf buf;

    pfc_buf_init(&buf, 1024);
    for (size_t i = 0; i < json_array_size(list); i++)
        pfc_buf_printf(&buf, "%s%s", i ? " " : "", json_string_value(json_array_get(list, i)));
    pfc_table_set(table, col, pfc_buf_text(&buf));
    pfc_buf_clear(&buf);
}

/* ---- token ---- */

static void show_secret(const pfc_cli *cli, json_t *answer)
{
    if (cli->json) {
        pfc_cli_print_json(json_incref(answer));
        return;
    }
    pfc_out("%s\n", text_of(answer, "token"));
    pfc_cli_note(cli, "token %lld; it is shown this once",
                 (long long)json_integer_value(json_object_get(answer, "id")));
}

static pfc_code token_create(const pfc_cli *cli, const admin_opts *o, pfc_http *http, pfc_err *err)
{
    json_t *scopes = json_array();
    json_t *body = json_pack("{s:o}", "scopes", scopes);
    json_t *answer = NULL;
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < o->scopes_len; i++)
        json_array_append_new(scopes, json_string(o->scopes[i]));
    if (o->project)
        json_object_set_new(body, "project", json_string(o->project));
    if (o->name)
        json_object_set_new(body, "name", json_string(o->name));
    if (o->expires)
        json_object_set_new(body, "expires_at", json_string(o->expires));
    if (o->scopes_len == 0)
        code =
            pfc_err_set(err, PFC_EINVAL, "expected --scope read, ingest, runner, triage or admin");
    if (!code)
        code = pfc_http_json(http, "POST", "/api/v1/tokens", body, NULL, &answer, err);
    if (!code)
        show_secret(cli, answer);
    json_decref(answer);
    json_decref(body);
    return code;
}

/* `list`: the word that shows the numbers of `what`. */
static pfc_code parse_number(const char *id, const char *what, const char *list, int64_t *out,
                             pfc_err *err)
{
    if (!id)
        return pfc_err_set(err, PFC_EINVAL, "expected %s, as `perfci token %s` shows", what, list);
    return pfc_parse_i64(id, 1, INT64_MAX, what, out, err);
}

static pfc_code token_number(const char *id, int64_t *out, pfc_err *err)
{
    return parse_number(id, "the token's number", "list", out, err);
}

static pfc_code token_rotate(const pfc_cli *cli, const admin_opts *o, pfc_http *http, pfc_err *err)
{
    double overlap_s = 86400;
    json_t *body = NULL, *answer = NULL;
    char *path = NULL;
    int64_t number = 0;
    pfc_code code = token_number(o->words.items[1], &number, err);

    if (!code && o->overlap)
        code = pfc_parse_duration_s(o->overlap, "--overlap", &overlap_s, err);
    if (code)
        return code;
    path = pfc_format("/api/v1/tokens/%lld/rotate", (long long)number);
    body = json_pack("{s:I}", "overlap_s", (json_int_t)overlap_s);
    code = pfc_http_json(http, "POST", path, body, NULL, &answer, err);
    if (!code)
        show_secret(cli, answer);
    json_decref(answer);
    json_decref(body);
    free(path);
    return code;
}

static pfc_code token_list(const pfc_cli *cli, pfc_http *http, pfc_err *err)
{
    static const pfc_table_col cols[] = { { "ID", true },       { "NAME", false },
                                          { "SCOPES", false },  { "PROJECT", false },
                                          { "CREATED", false }, { "EXPIRES", false } };
    json_t *answer = NULL;
    const json_t *list;
    pfc_table *table;
    pfc_code code = pfc_http_json(http, "GET", "/api/v1/tokens", NULL, NULL, &answer, err);

    if (code)
        return code;
    if (cli->json) {
        pfc_cli_print_json(answer);
        return PFC_OK;
    }
    list = json_object_get(answer, "tokens");
    table = pfc_table_new(cli, cols, PFC_ARRAY_LEN(cols));
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);

        pfc_table_row(table);
        pfc_table_setf(table, 0, "%lld", (long long)json_integer_value(json_object_get(one, "id")));
        pfc_table_set(table, 1, text_of(one, "name"));
        set_words(table, 2, json_object_get(one, "scopes"));
        pfc_table_set(table, 3, text_of(one, "project"));
        pfc_table_set(table, 4, text_of(one, "created_at"));
        pfc_table_set(table, 5, text_of(one, "expires_at"));
    }
    pfc_table_print(table);
    json_decref(answer);
    return PFC_OK;
}

static pfc_code session_list(const pfc_cli *cli, pfc_http *http, pfc_err *err)
{
    static const pfc_table_col cols[] = { { "ID", true },       { "TOKEN", true },
                                          { "NAME", false },    { "ADDRESS", false },
                                          { "CREATED", false }, { "LAST USED", false },
                                          { "EXPIRES", false } };
    static const char *const texts[] = { "token_name", "address", "created_at", "last_used_at",
                                         "expires_at" };
    json_t *answer = NULL, *one;
    pfc_table *table;
    size_t i;
    pfc_code code =
        pfc_http_json(http, "GET", "/api/v1/browser-sessions?limit=1000", NULL, NULL, &answer, err);

    if (code)
        return code;
    if (cli->json) {
        pfc_cli_print_json(answer);
        return PFC_OK;
    }
    table = pfc_table_new(cli, cols, PFC_ARRAY_LEN(cols));
    json_array_foreach(json_object_get(answer, "browser_sessions"), i, one)
    {
        pfc_table_row(table);
        pfc_table_setf(table, 0, "%lld", (long long)json_integer_value(json_object_get(one, "id")));
        pfc_table_setf(table, 1, "%lld",
                       (long long)json_integer_value(json_object_get(one, "token_id")));
        for (size_t col = 0; col < PFC_ARRAY_LEN(texts); col++)
            pfc_table_set(table, col + 2, text_of(one, texts[col]));
    }
    pfc_table_print(table);
    json_decref(answer);
    return PFC_OK;
}

/* DELETE of the thing with this number; done: the member of --json, such as "revoked". */
static pfc_code delete_number(const pfc_cli *cli, pfc_http *http, const char *folder,
                              int64_t number, const char *done, pfc_err *err)
{
    char *path = pfc_format("/api/v1/%s/%lld", folder, (long long)number);
    pfc_code code = pfc_http_json(http, "DELETE", path, NULL, NULL, NULL, err);

    free(path);
    if (!code && cli->json)
        pfc_cli_print_json(json_pack("{s:I}", done, (json_int_t)number));
    return code;
}

static pfc_code token_revoke(const pfc_cli *cli, const char *id, pfc_http *http, pfc_err *err)
{
    int64_t number = 0;
    pfc_code code = token_number(id, &number, err);

    if (!code)
        code = delete_number(cli, http, "tokens", number, "revoked", err);
    if (!code && !cli->json)
        pfc_cli_note(cli, "token %lld is revoked", (long long)number);
    return code;
}

static pfc_code session_end(const pfc_cli *cli, const char *id, pfc_http *http, pfc_err *err)
{
    int64_t number = 0;
    pfc_code code = parse_number(id, "the session's number", "sessions", &number, err);

    if (!code)
        code = delete_number(cli, http, "browser-sessions", number, "signed_out", err);
    if (!code && !cli->json)
        pfc_cli_note(cli, "session %lld is ended", (long long)number);
    return code;
}

static int cmd_token(pfc_cli *cli, int argc, char **argv)
{
    static const char *const known[] = { "create",   "list",     "rotate", "revoke",
                                         "sessions", "sign-out", NULL };
    admin_opts o = { 0 };
    pfc_http *http = NULL;
    pfc_err err = { 0 };
    pfc_code code;

    pfc_cli_parse(cli, &pfc_cmd_token, argc, argv, &o);
    code = pfc_api_open(o.url, o.data, NULL, &http, &err);
    if (!code && strcmp(o.words.items[0], "create") == 0)
        code = token_create(cli, &o, http, &err);
    else if (!code && strcmp(o.words.items[0], "list") == 0)
        code = token_list(cli, http, &err);
    else if (!code && strcmp(o.words.items[0], "rotate") == 0)
        code = token_rotate(cli, &o, http, &err);
    else if (!code && strcmp(o.words.items[0], "revoke") == 0)
        code = token_revoke(cli, o.words.items[1], http, &err);
    else if (!code && strcmp(o.words.items[0], "sessions") == 0)
        code = session_list(cli, http, &err);
    else if (!code && strcmp(o.words.items[0], "sign-out") == 0)
        code = session_end(cli, o.words.items[1], http, &err);
    else if (!code)
        code = pfc_browse_unknown("", o.words.items[0], known, &err);
    pfc_http_free(http);
    return code ? pfc_cli_fail(cli, &err) : PFC_EXIT_OK;
}

const pfc_subcommand pfc_cmd_token = {
    .name = "token",
    .summary = "make, list and revoke tokens",
    .run = cmd_token,
    .options = token_options,
    .parse = parse_admin,
    .args_doc = "create|list|rotate|revoke|sessions|sign-out [ID]",
    .doc = token_doc,
};
