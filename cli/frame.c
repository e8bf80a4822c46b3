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
#include "cli/output/usage.h"
#include "core/base/parse.h"

enum { KEY_JSON = 0x7001, KEY_CSV, KEY_COLOR };

static const struct argp_option global_options[] = {
    { 0, 0, 0, 0, "Everywhere:", -2 },
    { "json", KEY_JSON, 0, 0, "Print JSON, and nothing else, on stdout", -2 },
    { "csv", KEY_CSV, 0, 0, "Print tables as comma-separated values", -2 },
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
    case KEY_CSV:
        in->cli->csv = true;
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
            pfc_cli_usage(state, "--color: expected auto, always or never, got \"%s\"", arg);
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
        pfc_cli_usage(state, "%s", err.msg);
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
    pfc_usage_check(cli, args->options, global_options, argc, argv);
    argp_parse(&frame, argc, argv, 0, NULL, &in);

    if (cli->json && cli->csv)
        pfc_usage_fail(cli->name, "--json and --csv exclude each other");
    if (in.color == COLOR_AUTO)
        cli->color = isatty(STDOUT_FILENO) && !(no_color && *no_color) && !cli->json && !cli->csv;
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
        pfc_cli_usage(state, "%s", err.msg);
    return v;
}

double pfc_arg_double(struct argp_state *state, const char *text, double min, double max,
                      const char *flag)
{
    pfc_err err = { 0 };
    double v = 0;

    if (pfc_parse_double(text, min, max, flag, &v, &err))
        pfc_cli_usage(state, "%s", err.msg);
    return v;
}

/* The next step after an error that names none of its own. */
static void default_hint(const pfc_cli *cli, pfc_code code, char *out, size_t cap)
{
    const char *hint = NULL;

    switch (code) {
    case PFC_OK:
    case PFC_EINVAL:
    case PFC_ENOTFOUND:
    case PFC_ECONFLICT:
        break;
    case PFC_EDENIED:
        hint = "check the permissions of the file, or the scope of the token";
        break;
    case PFC_ETOOBIG:
        hint = "split the input, or ask for less at once";
        break;
    case PFC_EBROKEN:
        hint = "run the same command by hand to see why it fails";
        break;
    case PFC_EUNAVAIL:
        hint =
            "\"perfci doctor\" shows what is missing; \"perfci up --detach\" starts a service here";
        break;
    case PFC_ETIMEOUT:
        hint = "try again with a longer time limit, or look at the load with \"perfci doctor\"";
        break;
    case PFC_EIO:
        hint = "check that the path exists and is writable, and that the disk has room";
        break;
    case PFC_EBUG:
        hint = "this is a defect of perfci: report it with the command that you typed";
        break;
    }
    if (hint)
        (void)snprintf(out, cap, "%s", hint);
    else
        (void)snprintf(out, cap, "\"%s --help\" shows the options and examples", cli->name);
}

int pfc_cli_fail(const pfc_cli *cli, const pfc_err *err)
{
    char hint[PFC_ERR_HINT_MAX];
    char *line = pfc_format("%s: %s", cli->name, err->msg[0] ? err->msg : pfc_code_name(err->code));

    default_hint(cli, err->code, hint, sizeof(hint));
    pfc_cli_progress(cli, "%s", "");
    fflush(stdout);
    pfc_out_line(stderr, line);
    fputs("hint: ", stderr);
    pfc_out_line(stderr, err->hint[0] ? err->hint : hint);
    free(line);
    return pfc_code_exit(err->code);
}

void pfc_cli_note(const pfc_cli *cli, const char *fmt, ...)
{
    va_list ap;

    if (cli->quiet)
        return;
    pfc_cli_progress(cli, "%s", "");
    va_start(ap, fmt);
    pfc_out_to(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
}

void pfc_cli_warn(const pfc_cli *cli, const char *fmt, ...)
{
    va_list ap;

    pfc_cli_progress(cli, "%s", "");
    fprintf(stderr, "%s: ", cli->name);
    va_start(ap, fmt);
    pfc_out_to(stderr, fmt, ap);
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
    pfc_text_plain(line, false);
    /* Back to the first column, wipe, write: one call, so that it does not flicker. */
    fprintf(stderr, "\r\033[K%s", line);
    fflush(stderr);
}

void pfc_shell_word(pfc_buf *out, const char *word)
{
    const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./,:@%+";

    if (word[0] && word[strspn(word, plain)] == '\0') {
        pfc_buf_puts(out, word);
        return;
    }
    pfc_buf_putc(out, '\'');
    for (const char *p = word; *p; p++)
        if (*p == '\'')
            pfc_buf_puts(out, "'\\''");
        else
            pfc_buf_putc(out, *p);
    pfc_buf_putc(out, '\'');
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
