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
#include "cli/output/output.h"
#include "cli/output/usage.h"
#include "core/base/parse.h"

/* argp keys of the first row of both tables. */
enum { GLOBAL_KEYS = 0x10000, OWN_KEYS = 0x20000 };
enum { GLOBAL_GROUP = -3 }; /* behind the command's own options, before --help */

static const char *const color_words[] = { "auto", "always", "never", NULL };

/* Where pfc_cli_parse stores the values. */
struct parse_inputs {
    pfc_cli *cli;
    const char *color; /* --color */
    const pfc_subcommand *command;
    void *cmd;
};

static const pfc_option global_options[] = {
    PFC_OPT_HEADING("Everywhere:"),
    PFC_OPT_FLAG("json", pfc_cli, json, "Print JSON, and nothing else, on stdout"),
    PFC_OPT_FLAG("csv", pfc_cli, csv, "Print tables as comma-separated values"),
    PFC_OPT_FLAG("quiet", pfc_cli, quiet, "Print no notes and no progress", .letter = 'q'),
    { .name = "color",
      .argument = "WHEN",
      .kind = PFC_OPTION_WORD,
      .words = color_words,
      .at = PFC_NO_MEMBER,
      .key = 1,
      .help = "auto, always or never; NO_COLOR counts as never" },
    { 0 },
};

/* argp adds these to every table. */
static const pfc_option argp_options[] = {
    PFC_OPT_HEADING("Everywhere:"),
    PFC_OPT_OWN_FLAG('?', "help", "Print the options and examples", .letter = '?'),
    PFC_OPT_OWN_FLAG(1, "usage", "Print a short usage message"),
    PFC_OPT_OWN_FLAG('V', "version", "Print the program's version", .letter = 'V'),
    { 0 },
};

json_t *pfc_cli_options_json(void)
{
    json_t *out = pfc_options_json(global_options), *more = pfc_options_json(argp_options);

    json_array_extend(out, more);
    json_decref(more);
    return out;
}

static error_t parse_global(int key, char *arg, struct argp_state *state)
{
    struct parse_inputs *in = state->input;
    const pfc_option *row = pfc_options_find(global_options, GLOBAL_KEYS, key);
    pfc_err err = { 0 };

    if (!row)
        return ARGP_ERR_UNKNOWN;
    if (pfc_options_store(row, arg, in->cli, &err))
        pfc_cli_usage(state, "%s", err.msg);
    if (row->key)
        in->color = arg;
    return 0;
}

static error_t parse_cmd(int key, char *arg, struct argp_state *state)
{
    struct parse_inputs *in = state->input;
    const pfc_option *row = pfc_options_find(in->command->options, OWN_KEYS, key);
    pfc_err err = { 0 };
    error_t result;

    if (row && pfc_options_store(row, arg, in->cmd, &err))
        pfc_cli_usage(state, "%s", err.msg);
    if (row && !row->key)
        return 0;
    if (key == ARGP_KEY_ARG && !in->command->args_doc)
        pfc_cli_usage(state, "expected no argument, got \"%s\"", arg);
    if (!in->command->parse)
        return ARGP_ERR_UNKNOWN;
    state->input = in->cmd;
    result = in->command->parse(row ? row->key : key, arg, state);
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

void pfc_cli_parse(pfc_cli *cli, const pfc_subcommand *command, int argc, char **argv, void *input)
{
    struct argp_option *options = pfc_options_argp(command->options, OWN_KEYS, 0);
    struct argp_option *everywhere = pfc_options_argp(global_options, GLOBAL_KEYS, GLOBAL_GROUP);
    const struct argp cmd = { .options = options, .parser = parse_cmd };
    const struct argp global = { .options = everywhere, .parser = parse_global };
    const struct argp_child children[] = { { &cmd, 0, NULL, 0 }, { &global, 0, NULL, 0 }, { 0 } };
    const struct argp frame = {
        .parser = parse_frame,
        .args_doc = command->args_doc,
        .doc = command->doc,
        .children = children,
    };
    struct parse_inputs in = { .cli = cli, .color = "auto", .command = command, .cmd = input };
    const char *no_color = getenv("NO_COLOR");

    argp_err_exit_status = PFC_EXIT_USAGE;
    pfc_usage_check(cli, options, everywhere, argc, argv);
    argp_parse(&frame, argc, argv, 0, NULL, &in);
    pfc_options_free(options);
    pfc_options_free(everywhere);

    if (cli->json && cli->csv)
        pfc_usage_fail(cli->name, "--json and --csv exclude each other");
    if (pfc_streq(in.color, "auto"))
        cli->color = isatty(STDOUT_FILENO) && !(no_color && *no_color) && !cli->json && !cli->csv;
    else
        cli->color = pfc_streq(in.color, "always");
    cli->progress = isatty(STDERR_FILENO) && !cli->quiet && !cli->json;
}

const char *pfc_cli_hint(pfc_code code)
{
    switch (code) {
    case PFC_OK:
    case PFC_EINVAL:
    case PFC_ENOTFOUND:
    case PFC_ECONFLICT:
        break;
    case PFC_EDENIED:
        return "check the permissions of the file, or the scope of the token";
    case PFC_ETOOBIG:
        return "split the input, or ask for less at once";
    case PFC_EBROKEN:
        return "run the same command by hand to see why it fails";
    case PFC_EUNAVAIL:
        return "\"perfci doctor\" shows what is missing; \"perfci up --detach\" starts a service "
               "here";
    case PFC_ETIMEOUT:
        return "try again with a longer time limit, or look at the load with \"perfci doctor\"";
    case PFC_EIO:
        return "check that the path exists and is writable, and that the disk has room";
    case PFC_EBUG:
        return "this is a defect of perfci: report it with the command that you typed";
    }
    return NULL;
}

/* The next step after an error that names none of its own. */
static void default_hint(const pfc_cli *cli, pfc_code code, char *out, size_t cap)
{
    const char *hint = pfc_cli_hint(code);

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
