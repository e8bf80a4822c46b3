/* Running a tool: requests of the HTTP API, or a subcommand of this program. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/api.h"
#include "cli/mcp/mcp.h"
#include "cli/service/browse.h"
#include "core/base/process/proc.h"
#include "core/wire/wire.h"

#define TREE_BYTES   (2ull * 1024 * 1024 * 1024) /* memory of a subcommand and its children */
#define OUTPUT_BYTES (16u * 1024 * 1024)         /* what it may print */
enum { MAX_WORDS = 48 };

/* A call while it runs. */
typedef struct running {
    const mcp_settings *settings;
    const mcp_tool *tool;
    json_t *arguments; /* with the project filled in */
    bool used[MCP_MAX_ARGUMENTS];
    bool (*cancelled)(void *arg);
    void *arg;
} running;

/* ---- requests ---- */

static const mcp_argument *argument_at(const running *r, size_t i)
{
    return r->tool->arguments && r->tool->arguments[i].name ? &r->tool->arguments[i] : NULL;
}

/* Sets the member, with a dot for a member of an object. */
static void set_member(json_t *body, const char *path, json_t *value)
{
    const char *dot = strchr(path, '.');
    char *first;

    if (!dot) {
        json_object_set(body, path, value);
        return;
    }
    first = pfc_strndup(path, (size_t)(dot - path));
    if (!json_object_get(body, first))
        json_object_set_new(body, first, json_object());
    set_member(json_object_get(body, first), dot + 1, value);
    free(first);
}

/* Puts the arguments that no path names into the query or the body. */
static void put_rest(running *r, const char *method, pfc_buf *path, json_t **body)
{
    const bool query = strcmp(method, "GET") == 0;
    const mcp_argument *a;

    if (!query)
        *body = r->tool->body ? json_loads(r->tool->body, 0, NULL) : json_object();
    for (size_t i = 0; (a = argument_at(r, i)) != NULL; i++) {
        json_t *value = json_object_get(r->arguments, a->name);
        char *text;

        if (!value || r->used[i])
            continue;
        if (!query) {
            set_member(*body, a->as ? a->as : a->name, value);
            continue;
        }
        text = mcp_argument_text(value);
        pfc_browse_query(path, a->as ? a->as : a->name, text);
        free(text);
    }
}

static pfc_code send_request(running *r, pfc_http *http, const mcp_request *q, bool first,
                             json_t **answer, pfc_err *err)
{
    char *filled = NULL;
    json_t *body = NULL;
    pfc_buf path;
    pfc_code code;

    pfc_buf_init(&path, 32768);
    code = mcp_fill(r->tool, r->arguments, q->path, true, r->used, &filled, err);
    if (!code) {
        pfc_buf_puts(&path, filled);
        if (first)
            put_rest(r, q->method, &path, &body);
        code = pfc_buf_check(&path, "the query", err);
    }
    if (!code)
        code = pfc_http_json(http, q->method, pfc_buf_text(&path), body, NULL, answer, err);
    json_decref(body);
    pfc_buf_clear(&path);
    free(filled);
    return code;
}

static pfc_code call_service(running *r, const pfc_conf *conf, json_t **out, pfc_err *err)
{
    const pfc_http_opts more = { .cancelled = r->cancelled, .cancelled_arg = r->arg };
    const mcp_request *requests = r->tool->requests;
    pfc_http *http = NULL;
    json_t *all = json_object();
    pfc_code code = pfc_api_open_with(r->settings->url, r->settings->data, conf, &more, &http, err);

    for (size_t i = 0; !code && i < PFC_ARRAY_LEN(r->tool->requests) && requests[i].path; i++) {
        json_t *answer = NULL;

        code = send_request(r, http, &requests[i], i == 0, &answer, err);
        if (!code)
            json_object_set_new(all, requests[i].member ? requests[i].member : "", answer);
    }
    if (!code)
        *out = json_incref(requests[0].member ? all : json_object_get(all, ""));
    json_decref(all);
    pfc_http_free(http);
    return code;
}

/* ---- subcommands ---- */

/* The words of a command line, all owned. */
typedef struct words {
    const char *at[MAX_WORDS + 1];
    size_t len;
} words;

static void add_word(words *w, char *word)
{
    if (w->len == MAX_WORDS)
        pfc_die("perfci mcp: a tool has more than %d words", MAX_WORDS);
    w->at[w->len++] = word;
}

static void clear_words(words *w)
{
    for (size_t i = 0; i < w->len; i++)
        free((char *)(uintptr_t)w->at[i]);
}

static void add_option(words *w, const mcp_argument *a, const json_t *value)
{
    char *text = mcp_argument_text(value);
    char *word;

    if (json_is_true(value) && a->kind == MCP_TRUTH)
        word = pfc_format("--%s", a->name);
    else if (a->kind == MCP_TRUTH)
        word = NULL;
    else
        word = pfc_format("--%s=%s", a->name, text);
    for (char *c = word; c && *c && *c != '='; c++)
        if (*c == '_')
            *c = '-';
    if (word)
        add_word(w, word);
    free(text);
}

/* Words with a placeholder come after "--", so that no value is read as an option. */
static pfc_code add_words(running *r, words *w, bool filled, pfc_err *err)
{
    pfc_code code = PFC_OK;

    for (const char *const *word = r->tool->command; *word && !code; word++) {
        char *text = NULL;

        if ((strchr(*word, '{') != NULL) != filled)
            continue;
        code = mcp_fill(r->tool, r->arguments, *word, false, r->used, &text, err);
        if (!code)
            add_word(w, text);
    }
    return code;
}

static pfc_code make_command(running *r, words *w, pfc_err *err)
{
    const mcp_settings *s = r->settings;
    const mcp_argument *a;
    words values = { .len = 0 };
    pfc_code code;

    add_word(w, pfc_strdup("/proc/self/exe"));
    code = add_words(r, w, false, err);
    if (!code)
        code = add_words(r, &values, true, err);
    add_word(w, pfc_strdup("--json"));
    if (r->tool->of_service && s->url)
        add_word(w, pfc_format("--url=%s", s->url));
    if (r->tool->of_service && s->data)
        add_word(w, pfc_format("--data=%s", s->data));
    for (size_t i = 0; (a = argument_at(r, i)) != NULL; i++)
        if (!r->used[i] && a->kind != MCP_NUMBERS && json_object_get(r->arguments, a->name) &&
            !r->tool->input)
            add_option(w, a, json_object_get(r->arguments, a->name));
    if (values.len > 0)
        add_word(w, pfc_strdup("--"));
    for (size_t i = 0; i < values.len; i++)
        add_word(w, (char *)(uintptr_t)values.at[i]);
    return code;
}

/* "perfci detect: sentence\nhint: next step" as an error. */
static pfc_code failed(const running *r, const pfc_proc_result *res, pfc_err *err)
{
    const char *text = pfc_buf_text(&res->err), *hint = strstr(text, "hint: ");
    char how[96];
    size_t len;

    pfc_proc_describe(res, how, sizeof(how));
    if (res->was_cancelled)
        return pfc_err_set(err, PFC_ECONFLICT, "cancelled");
    if (res->timed_out || res->over_memory) {
        (void)pfc_err_set(err, PFC_ETOOBIG, "%s", how);
        return pfc_err_hint(err, "ask for a smaller problem: a tool has %.0f s and 2 GiB",
                            r->tool->timeout_s);
    }
    if (res->exit_status < 0)
        return pfc_err_set(err, PFC_EBUG, "the command ended with %s", how);
    /* The message names the tool instead of the subcommand, which the assistant cannot call. */
    if (strncmp(text, "perfci ", 7) == 0 && strstr(text, ": "))
        text = strstr(text, ": ") + 2;
    len = strcspn(text, "\n");
    (void)pfc_err_set(err, res->exit_status == PFC_EXIT_USAGE ? PFC_EINVAL : PFC_EUNAVAIL, "%.*s",
                      (int)PFC_MIN(len, (size_t)400), len ? text : how);
    if (hint && !strstr(hint, "--help"))
        (void)pfc_err_hint(err, "%.*s", (int)strcspn(hint + 6, "\n"), hint + 6);
    return err->code;
}

static pfc_code call_command(running *r, json_t **out, pfc_err *err)
{
    words w = { .len = 0 };
    char *input = r->tool->input ? r->tool->input(r->arguments) : NULL;
    pfc_proc_result res = { 0 };
    json_t *answer = NULL;
    pfc_code code = make_command(r, &w, err);
    const pfc_proc_opts opts = { .argv = w.at,
                                 .input = input,
                                 .input_len = input ? strlen(input) : 0,
                                 .max_output_bytes = OUTPUT_BYTES,
                                 .timeout_s = r->tool->timeout_s,
                                 .tree_limit_bytes = TREE_BYTES,
                                 .cancelled = r->cancelled,
                                 .cancelled_arg = r->arg };

    if (!code)
        code = pfc_proc_run(&opts, &res, err);
    /* A status other than 0 is often part of the answer: 1 is a regression. */
    if (!code && (res.exit_status < 0 || res.truncated ||
                  pfc_json_parse(pfc_buf_text(&res.out), res.out.len, &answer, NULL)))
        code = failed(r, &res, err);
    if (!code)
        *out = json_pack("{s:i, s:o}", "exit_status", res.exit_status, "answer", answer);
    pfc_proc_result_clear(&res);
    clear_words(&w);
    free(input);
    return code;
}

/* ---- both ---- */

/* The next step after an error that names none of its own. */
static const char *next_step(pfc_code code)
{
    return code == PFC_EINVAL ? "the tool's inputSchema states its arguments and their limits"
                              : pfc_cli_hint(code);
}

/* Fills in the project of the settings where the path needs one. */
static void fill_project(running *r, const pfc_conf *conf)
{
    const mcp_argument *a;
    const char *name = pfc_conf_pick(r->settings->project, "PERFCI_PROJECT", conf->project, NULL);

    for (size_t i = 0; name && (a = argument_at(r, i)) != NULL; i++)
        if (a->kind == MCP_PROJECT && !json_object_get(r->arguments, a->name))
            json_object_set_new(r->arguments, a->name, json_string(name));
}

static pfc_code check_size(const mcp_settings *s, const json_t *output, pfc_err *err)
{
    const size_t size = json_dumpb(output, NULL, 0, JSON_COMPACT);

    if (size <= s->max_kib * 1024)
        return PFC_OK;
    (void)pfc_err_set(err, PFC_ETOOBIG, "the answer has %zu KiB, and the limit is %zu KiB",
                      size / 1024 + 1, s->max_kib);
    return pfc_err_hint(err, "ask for less: a smaller limit or points, or a filter such as backend "
                             "or series; --max-answer of \"perfci mcp\" raises the limit");
}

static json_t *encode(const mcp_tool *tool, json_t *answer)
{
    json_t *data = tool->command ? json_object_get(answer, "answer") : answer;
    json_t *output = mcp_output(tool, data);

    if (tool->command)
        json_object_set(output, "exit_status", json_object_get(answer, "exit_status"));
    return output;
}

pfc_code mcp_call(const mcp_settings *settings, const mcp_tool *tool, const json_t *arguments,
                  bool (*cancelled)(void *arg), void *arg, json_t **out, pfc_err *err)
{
    running r = { .settings = settings, .tool = tool, .cancelled = cancelled, .arg = arg };
    json_t *answer = NULL, *output = NULL;
    pfc_conf conf = { 0 };
    pfc_code code = pfc_conf_find(".", &conf, err);

    r.arguments = arguments ? json_copy((json_t *)(uintptr_t)arguments) : json_object();
    if (!code)
        fill_project(&r, &conf);
    if (!code && tool->command)
        code = call_command(&r, &answer, err);
    else if (!code)
        code = call_service(&r, &conf, &answer, err);
    if (!code) {
        output = encode(tool, answer);
        code = check_size(settings, output, err);
    }
    if (code)
        json_decref(output);
    else
        *out = output;
    if (code && !err->hint[0] && next_step(code))
        (void)pfc_err_hint(err, "%s", next_step(code));
    json_decref(answer);
    json_decref(r.arguments);
    pfc_conf_clear(&conf);
    return code;
}
