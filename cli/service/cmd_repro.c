/*
 * perfci repro: repeats here the measurement behind an alert, a step or a verdict of the service.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/api.h"
#include "cli/commands.h"
#include "cli/measure/measure.h"
#include "cli/output/output.h"
#include "core/base/parse.h"
#include "runner/workspace/workspace.h"

enum { WORDS_MAX = 24 };

typedef struct repro_opts {
    const char *id, *url, *data, *config, *suite, *filter, *backend;
    bool print;
} repro_opts;

static const pfc_option repro_options[] = {
    PFC_OPT_FLAG("print", repro_opts, print, "Print the command and run nothing"),
    PFC_CONFIG_OPTION(repro_opts, config),
    PFC_OPT_TEXT("suite", "F", repro_opts, suite,
                 "Suite file or name, instead of what perfci.yaml names"),
    PFC_OPT_TEXT("filter", "RE", repro_opts, filter, "Benchmarks by name",
                 .fallback = "the alert's"),
    PFC_OPT_TEXT("backend", "B", repro_opts, backend, "Backend", .fallback = "the alert's"),
    PFC_SERVICE_OPTIONS(repro_opts, ),
    { 0 },
};

static const char repro_doc[] =
    "Repeats, in this repository, the measurement behind an alert, a step of a bisection or a "
    "verdict, and prints the same table."
    "\vID is alert:N (or N alone), bisection:N, bisection:N/STEP or verification:N/M of bisection "
    "N. "
    "Two commits are measured interleaved, as `perfci compare` does; a step is one commit, as "
    "`perfci "
    "run --commit` does. The exit status is that command's.\n"
    "\n"
    "Examples:\n"
    "  perfci repro 7\n"
    "  perfci repro bisection:4\n"
    "  perfci repro bisection:4/12\n"
    "  perfci repro verification:4/1 --print\n";

/* The measurement to repeat: two interleaved commits, or one. Texts are owned. */
typedef struct deed {
    char *before, *after; /* before NULL: one commit */
    char *filter, *backend;
} deed;

static error_t parse_repro(int key, char *arg, struct argp_state *state)
{
    repro_opts *o = state->input;

    switch (key) {
    case ARGP_KEY_ARG:
        if (o->id)
            pfc_cli_usage(state, "expected one id, got \"%s\" too", arg);
        o->id = arg;
        return 0;
    case ARGP_KEY_END:
        if (!o->id)
            pfc_cli_usage(state, "expected the id of an alert, bisection, step or verification");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const char *text_of(const json_t *obj, const char *key)
{
    return json_string_value(json_object_get(obj, key));
}

static void deed_clear(deed *d)
{
    free(d->before);
    free(d->after);
    free(d->filter);
    free(d->backend);
}

static void take_series(const json_t *doc, deed *d)
{
    const char *backend = text_of(doc, "backend");

    d->filter = pfc_measure_filter(text_of(doc, "benchmark"));
    d->backend = backend && *backend ? pfc_strdup(backend) : NULL;
}

static pfc_code take_ends(const char *before, const char *after, deed *d, pfc_err *err)
{
    if (!before || !after)
        return pfc_err_set(err, PFC_ENOTFOUND, "it names no two commits to compare");
    d->before = pfc_strdup(before);
    d->after = pfc_strdup(after);
    return PFC_OK;
}

/* A culprit against the commit before it; while there is none, the whole range. A drift's range
 * begins with the last commit at the old level, not after it. */
static pfc_code from_alert(const json_t *alert, deed *d, pfc_err *err)
{
    const char *culprit = text_of(alert, "culprit");
    const char *low = culprit ? culprit : text_of(alert, "commit_low");
    const bool drift = pfc_streq(text_of(alert, "kind"), "drift");
    char *before = low ? pfc_format("%s%s", low, drift ? "" : "^") : NULL;
    pfc_code code = take_ends(before, culprit ? culprit : text_of(alert, "commit_high"), d, err);

    free(before);
    take_series(alert, d);
    return code;
}

static const json_t *numbered(const json_t *list, const char *key, int64_t number)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);

        if (json_integer_value(json_object_get(item, key)) == number)
            return item;
    }
    return NULL;
}

static pfc_code from_bisection(const json_t *b, bool verification, int64_t part, deed *d,
                               pfc_err *err)
{
    const json_t *culprits = json_object_get(b, "culprits");
    const json_t *commits = json_object_get(json_array_get(culprits, 0), "commits");
    const char *culprit =
        json_array_size(commits) == 1 ? json_string_value(json_array_get(commits, 0)) : NULL;
    const json_t *item;
    char *before = NULL;
    pfc_code code;

    take_series(b, d);
    if (verification) {
        item = numbered(json_object_get(b, "verifications"), "id", part);
        if (!item)
            return pfc_err_set(err, PFC_ENOTFOUND, "the bisection has no verification %lld",
                               (long long)part);
        return take_ends(text_of(item, "before"), text_of(item, "commit"), d, err);
    }
    if (part) {
        /* A report's steps have no numbers but their order. */
        item = numbered(json_object_get(b, "steps"), "n", part);
        if (!item)
            item = json_array_get(json_object_get(b, "steps"), (size_t)part - 1);
        if (!item || !text_of(item, "commit"))
            return pfc_err_set(err, PFC_ENOTFOUND, "the bisection has no step %lld",
                               (long long)part);
        d->after = pfc_strdup(text_of(item, "commit"));
        return PFC_OK;
    }
    if (culprit)
        before = pfc_format("%s^", culprit);
    code = take_ends(before ? before : text_of(b, "good"), culprit ? culprit : text_of(b, "bad"), d,
                     err);
    free(before);
    return code;
}

/* "alert:7", "7", "bisection:4", "bisection:4/12", "verification:4/1". */
static pfc_code read_id(const char *text, char kind[16], int64_t *id, int64_t *part, pfc_err *err)
{
    const char *colon = strchr(text, ':'), *slash = strchr(text, '/');
    const size_t kind_len = colon ? (size_t)(colon - text) : 0;
    const char *from = colon ? colon + 1 : text;
    char *number = pfc_strndup(from, slash ? (size_t)(slash - from) : strlen(from));
    pfc_code code = PFC_OK;

    *part = 0;
    (void)snprintf(kind, 16, "%.*s", (int)PFC_MIN(kind_len, (size_t)15), text);
    if (!colon)
        (void)snprintf(kind, 16, "alert");
    if (strcmp(kind, "alert") != 0 && strcmp(kind, "bisection") != 0 &&
        strcmp(kind, "verification") != 0)
        code =
            pfc_err_set(err, PFC_EINVAL,
                        "expected alert:N, bisection:N, bisection:N/STEP or verification:N/M, got "
                        "\"%.60s\"",
                        text);
    if (!code)
        code = pfc_parse_i64(number, 1, INT64_MAX, "the number", id, err);
    if (!code && slash)
        code = pfc_parse_i64(slash + 1, 1, INT64_MAX, "the part's number", part, err);
    if (!code && strcmp(kind, "verification") == 0 && !*part)
        code = pfc_err_set(err, PFC_EINVAL, "expected verification:BISECTION/NUMBER, got \"%.60s\"",
                           text);
    if (!code && strcmp(kind, "alert") == 0 && *part)
        code = pfc_err_set(err, PFC_EINVAL, "an alert has no parts, got \"%.60s\"", text);
    free(number);
    return code;
}

static pfc_code ask(const repro_opts *o, deed *d, pfc_err *err)
{
    char kind[16];
    char *path = NULL;
    pfc_http *http = NULL;
    pfc_conf conf = { 0 };
    json_t *answer = NULL;
    int64_t id = 0, part = 0;
    bool alert;
    pfc_code code = read_id(o->id, kind, &id, &part, err);

    if (code)
        return code;
    alert = strcmp(kind, "alert") == 0;
    code = pfc_conf_find(".", &conf, err);
    if (!code)
        code = pfc_api_open(o->url, o->data, &conf, &http, err);
    if (!code) {
        path = pfc_format("/api/v1/%s/%lld", alert ? "alerts" : "bisections", (long long)id);
        code = pfc_http_json(http, "GET", path, NULL, NULL, &answer, err);
    }
    if (!code && alert)
        code = from_alert(answer, d, err);
    else if (!code)
        code = from_bisection(answer, strcmp(kind, "verification") == 0, part, d, err);
    json_decref(answer);
    pfc_http_free(http);
    pfc_conf_clear(&conf);
    free(path);
    return code;
}

static size_t words_of(const pfc_cli *cli, const repro_opts *o, const deed *d, const char **argv)
{
    const char *const flags[][2] = { { "--config", o->config },
                                     { "--suite", o->suite },
                                     { "--filter", o->filter ? o->filter : d->filter },
                                     { "--backend", o->backend ? o->backend : d->backend } };
    size_t n = 0;

    argv[n++] = d->before ? "perfci compare" : "perfci run";
    argv[n++] = d->before ? d->before : "--commit";
    argv[n++] = d->after;
    for (size_t i = 0; i < PFC_ARRAY_LEN(flags); i++) {
        if (!flags[i][1])
            continue;
        argv[n++] = flags[i][0];
        argv[n++] = flags[i][1];
    }
    if (cli->json)
        argv[n++] = "--json";
    argv[n] = NULL;
    return n;
}

/* As it would be typed. */
static char *command_text(const char *const *argv, size_t n)
{
    pfc_buf buf;

    pfc_buf_init(&buf, 65536);
    pfc_buf_puts(&buf, argv[0]);
    for (size_t i = 1; i < n; i++) {
        pfc_buf_putc(&buf, ' ');
        pfc_shell_word(&buf, argv[i]);
    }
    return pfc_buf_take(&buf);
}

static int cmd_repro(pfc_cli *cli, int argc, char **argv)
{
    const char *words[WORDS_MAX];
    repro_opts o = { 0 };
    deed d = { 0 };
    char *text;
    size_t n;
    int status;
    pfc_err err = { 0 };

    pfc_cli_parse(cli, &pfc_cmd_repro, argc, argv, &o);
    if (ask(&o, &d, &err)) {
        deed_clear(&d);
        return pfc_cli_fail(cli, &err);
    }
    n = words_of(cli, &o, &d, words);
    text = command_text(words, n);
    if (o.print) {
        if (cli->json)
            pfc_cli_print_json(json_pack("{s:s}", "command", text));
        else
            pfc_out("%s\n", text);
        status = PFC_EXIT_OK;
    } else {
        pfc_cli_note(cli, "%s", text);
        /* argp only reorders the words; it writes into none of them. */
        status = d.before ? pfc_cmd_compare.run(cli, (int)n, (char **)(uintptr_t)words)
                          : pfc_cmd_run.run(cli, (int)n, (char **)(uintptr_t)words);
    }
    free(text);
    deed_clear(&d);
    return status;
}

const pfc_subcommand pfc_cmd_repro = {
    .name = "repro",
    .summary = "repeat here the measurement behind an alert or verdict",
    .run = cmd_repro,
    .options = repro_options,
    .parse = parse_repro,
    .args_doc = "ID",
    .doc = repro_doc,
};
