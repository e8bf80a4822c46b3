/*
 * The frame around every subcommand: global flags on top of argp, messages, signals.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "core/base/parse.h"

enum { KEY_JSON = 0x7001, KEY_COLOR };

static const struct argp_option global_options[] = {
    { 0, 0, 0, 0, "Everywhere:", -2 },
    { "json", KEY_JSON, 0, 0, "Print JSON, and nothing else, on stdout", -2 },
    { "quiet", 'q', 0, 0, "Print no notes and no progress", -2 },
    { "color", KEY_COLOR, "WHEN", 0, "auto, always or never; NO_COLOR counts as never", -2 },
    { 0 },
};

/* What --color said, until pfc_cli_parse settles it. */
enum color_when { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

struct parse_inputs {
    pfc_cli *cli;
    enum color_when color;
    const pfc_cmd_args *args;
    void *cmd;
};

static error_t parse_global(int key, char *arg, struct argp_state *state)
{
    struct parse_inputs *in = state->input;

    switch (key) {
    case KEY_JSON:
        in->cli->json = true;
        return 0;
    case 'q':
        in->cli->quiet = true;
        return 0;
    case KEY_COLOR:
        if (pfc_streq(arg, "auto"))
            in->color = COLOR_AUTO;
        else if (pfc_streq(arg, "always"))
            in->color = COLOR_ALWAYS;
        else if (pfc_streq(arg, "never"))
            in->color = COLOR_NEVER;
        else
            argp_error(state, "--color: want auto, always or never, got \"%s\"", arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const pfc_arg_field *field_of(const pfc_cmd_args *args, int key)
{
    for (const pfc_arg_field *f = args->fields; f && f->key; f++)
        if (f->key == key)
            return f;
    return NULL;
}

static double seconds_arg(struct argp_state *state, const char *arg, const char *flag)
{
    pfc_err err = { 0 };
    double seconds = 0;

    if (pfc_parse_duration_s(arg, flag, &seconds, &err))
        argp_error(state, "%s", err.msg);
    return seconds;
}

static void fill(const pfc_arg_field *f, const struct argp_option *options, char *arg,
                 struct argp_state *state, void *input)
{
    char flag[64];
    void *member = (char *)input + f->at;

    while (options->key != f->key)
        options++;
    (void)snprintf(flag, sizeof(flag), "--%s", options->name);
    switch (f->kind) {
    case PFC_ARG_DURATION:
        (void)seconds_arg(state, arg, flag);
        *(const char **)member = arg;
        break;
    case PFC_ARG_TEXT:
        *(const char **)member = arg;
        break;
    case PFC_ARG_SECONDS:
        *(double *)member = seconds_arg(state, arg, flag);
        break;
    case PFC_ARG_COUNT:
        *(size_t *)member = (size_t)pfc_arg_i64(state, arg, (int64_t)f->min, (int64_t)f->max, flag);
        break;
    case PFC_ARG_FLAG:
        *(bool *)member = true;
        break;
    }
}

static error_t parse_cmd(int key, char *arg, struct argp_state *state)
{
    struct parse_inputs *in = state->input;
    const pfc_arg_field *f = field_of(in->args, key);
    error_t result;

    if (f) {
        fill(f, in->args->options, arg, state, in->cmd);
        return 0;
    }
    state->input = in->cmd;
    result = in->args->parse ? in->args->parse(key, arg, state) : ARGP_ERR_UNKNOWN;
    state->input = in;
    return result;
}

static error_t parse_frame(int key, char *arg, struct argp_state *state)
{
    (void)arg;
    if (key == ARGP_KEY_INIT) {
        state->child_inputs[0] = state->input;
        state->child_inputs[1] = state->input;
    }
    return ARGP_ERR_UNKNOWN;
}

void pfc_cli_parse(pfc_cli *cli, const pfc_cmd_args *args, int argc, char **argv, void *input)
{
    const struct argp cmd = { .options = args->options, .parser = parse_cmd };
    const struct argp global = { .options = global_options, .parser = parse_global };
    const struct argp_child children[] = { { &cmd, 0, NULL, 0 }, { &global, 0, NULL, 0 }, { 0 } };
    const struct argp frame = {
        .parser = parse_frame,
        .args_doc = args->args_doc,
        .doc = args->doc,
        .children = children,
    };
    struct parse_inputs in = { .cli = cli, .args = args, .cmd = input };
    const char *no_color = getenv("NO_COLOR");

    argp_err_exit_status = PFC_EXIT_USAGE;
    argp_parse(&frame, argc, argv, 0, NULL, &in);

    if (in.color == COLOR_AUTO)
        cli->color = isatty(STDOUT_FILENO) && !(no_color && *no_color) && !cli->json;
    else
        cli->color = in.color == COLOR_ALWAYS;
    cli->progress = isatty(STDERR_FILENO) && !cli->quiet && !cli->json;
}

int64_t pfc_arg_i64(struct argp_state *state, const char *text, int64_t min, int64_t max,
                    const char *flag)
{
    pfc_err err = { 0 };
    int64_t v = 0;

    if (pfc_parse_i64(text, min, max, flag, &v, &err))
        argp_error(state, "%s", err.msg);
    return v;
}

double pfc_arg_double(struct argp_state *state, const char *text, double min, double max,
                      const char *flag)
{
    pfc_err err = { 0 };
    double v = 0;

    if (pfc_parse_double(text, min, max, flag, &v, &err))
        argp_error(state, "%s", err.msg);
    return v;
}

int pfc_cli_fail(const pfc_cli *cli, const pfc_err *err)
{
    pfc_cli_progress(cli, "%s", "");
    fflush(stdout);
    fprintf(stderr, "%s: %s%s\n", cli->name, err->msg[0] ? err->msg : pfc_code_name(err->code),
            strstr(err->msg, " answered 401: ")
                ? "; PERFCI_TOKEN_FILE names the file that holds one"
                : "");
    return pfc_code_exit(err->code);
}

void pfc_cli_note(const pfc_cli *cli, const char *fmt, ...)
{
    va_list ap;

    if (cli->quiet)
        return;
    pfc_cli_progress(cli, "%s", "");
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
}

void pfc_cli_warn(const pfc_cli *cli, const char *fmt, ...)
{
    va_list ap;

    pfc_cli_progress(cli, "%s", "");
    fprintf(stderr, "%s: ", cli->name);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
}

void pfc_cli_progress(const pfc_cli *cli, const char *fmt, ...)
{
    char line[200];
    va_list ap;

    if (!cli->progress)
        return;
    va_start(ap, fmt);
    vsnprintf(line, sizeof(line), fmt, ap);
    va_end(ap);
    /* Back to the first column, wipe, write: one call, so that it does not flicker. */
    fprintf(stderr, "\r\033[K%s", line);
    fflush(stderr);
}

void pfc_cli_print_json(json_t *doc)
{
    json_dumpf(doc, stdout, JSON_COMPACT);
    fputc('\n', stdout);
    fflush(stdout);
    json_decref(doc);
}

/* Edits (insert, delete, change, swap neighbours) between two short words, Damerau's restricted
 * distance over three rows; anything longer than the rows is simply far. */
static size_t edit_distance(const char *a, const char *b)
{
    enum { MAX = 40 };
    size_t rows[3][MAX + 1];
    const size_t na = strlen(a);
    const size_t nb = strlen(b);

    if (na > MAX || nb > MAX)
        return MAX;
    memset(rows, 0, sizeof(rows));
    for (size_t j = 0; j <= nb; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t *row = rows[i % 3];
        const size_t *up = rows[(i - 1) % 3];
        const size_t *up2 = rows[(i + 1) % 3];

        row[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            size_t d = up[j - 1] + (a[i - 1] != b[j - 1]);

            d = PFC_MIN(d, PFC_MIN(up[j] + 1, row[j - 1] + 1));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d = PFC_MIN(d, up2[j - 2] + 1);
            row[j] = d;
        }
    }
    return rows[na % 3][nb];
}

const char *pfc_cli_nearest(const char *typed, const char *const *names)
{
    const char *best = NULL;
    /* A third of the letters may be wrong; more, and the guess would only confuse. */
    size_t best_distance = strlen(typed) / 3 + 2;

    for (size_t i = 0; names[i]; i++) {
        const size_t d = edit_distance(typed, names[i]);

        if (d < best_distance) {
            best_distance = d;
            best = names[i];
        }
    }
    return best;
}

static volatile sig_atomic_t caught;

static void on_signal(int sig)
{
    if (caught)
        _exit(128 + sig);
    caught = sig;
}

void pfc_cli_catch_signals(void)
{
    struct sigaction act = { .sa_handler = on_signal };

    sigemptyset(&act.sa_mask);
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
}

bool pfc_cli_interrupted(void *unused)
{
    (void)unused;
    return caught != 0;
}
