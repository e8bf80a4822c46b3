/*
 * perfci: the command line. This file holds the table of subcommands and nothing they do.
 */
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/output/output.h"
#include "core/base/fs.h"
#include "core/base/log.h"

/* The commands are in the order in which a new user needs them. */
static const pfc_subcommand *const commands[] = {
    &pfc_cmd_up,       &pfc_cmd_down,    &pfc_cmd_status,  &pfc_cmd_doctor,   &pfc_cmd_config,
    &pfc_cmd_run,      &pfc_cmd_compare, &pfc_cmd_check,   &pfc_cmd_bisect,   &pfc_cmd_init,
    &pfc_cmd_suite,    &pfc_cmd_push,    &pfc_cmd_import,  &pfc_cmd_detect,   &pfc_cmd_accel,
    &pfc_cmd_trace,    &pfc_cmd_nightly, &pfc_cmd_comment, &pfc_cmd_series,   &pfc_cmd_alerts,
    &pfc_cmd_groups,   &pfc_cmd_jobs,    &pfc_cmd_events,  &pfc_cmd_coverage, &pfc_cmd_roofline,
    &pfc_cmd_audit,    &pfc_cmd_notices, &pfc_cmd_why,     &pfc_cmd_explain,  &pfc_cmd_report,
    &pfc_cmd_replay,   &pfc_cmd_repro,   &pfc_cmd_accept,  &pfc_cmd_suppress, &pfc_cmd_project,
    &pfc_cmd_schedule, &pfc_cmd_token,   &pfc_cmd_runner,  &pfc_cmd_triage,   &pfc_cmd_admin,
    &pfc_cmd_capacity, &pfc_cmd_mcp,
};

static void print_help(FILE *to)
{
    fputs("Usage: perfci COMMAND [OPTION...] [ARGUMENT...]\n"
          "\n"
          "Performance regressions of ML kernels: measured, detected, attributed.\n"
          "\n"
          "Commands:\n",
          to);
    for (size_t i = 0; i < PFC_ARRAY_LEN(commands); i++)
        fprintf(to, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    fputs("\n"
          "Every command takes --help (with examples), --json, --quiet and --color=WHEN.\n"
          "Exit status: 0 no regression or done, 1 regression, 2 usage, 3 inconclusive,\n"
          "4 benchmark broken, 5 infrastructure.\n"
          "\n"
          "Examples:\n"
          "  perfci up --detach\n"
          "  perfci run --suite quick\n"
          "  perfci compare main HEAD\n"
          "  perfci bisect --metric gemm_tflops --good v1.2 --bad main\n",
          to);
}

/* Every command with its options, for programs. */
static int describe(void)
{
    json_t *list = json_array();

    for (size_t i = 0; i < PFC_ARRAY_LEN(commands); i++)
        json_array_append_new(list, pfc_subcommand_json(commands[i]));
    pfc_cli_print_json(json_pack("{s:o,s:o}", "commands", list, "options", pfc_cli_options_json()));
    return PFC_EXIT_OK;
}

static const pfc_subcommand *find_command(const char *name)
{
    for (size_t i = 0; i < PFC_ARRAY_LEN(commands); i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static int unknown_command(const char *name)
{
    const char *names[PFC_ARRAY_LEN(commands) + 1] = { 0 };
    const pfc_cli cli = { .name = "perfci" };
    pfc_err err = { 0 };
    const char *near;

    for (size_t i = 0; i < PFC_ARRAY_LEN(commands); i++)
        names[i] = commands[i]->name;
    near = pfc_cli_nearest(name, names);
    (void)pfc_err_set(&err, PFC_EINVAL, "unknown command \"%.40s\"", name);
    if (near)
        (void)pfc_err_hint(&err, "did you mean \"%s\"? \"perfci --help\" lists the commands", near);
    else
        (void)pfc_err_hint(&err, "\"perfci --help\" lists the commands");
    return pfc_cli_fail(&cli, &err);
}

static int run_command(const pfc_subcommand *command, int argc, char **argv)
{
    char *name = pfc_format("perfci %s", command->name);
    pfc_cli cli = { .name = name };
    pfc_err err = { 0 };
    int status;

    argv[0] = name; /* how argp names the program in its messages */
    argp_program_version = "perfci " PFC_VERSION;
    status = command->run(&cli, argc, argv);
    /* A full disk or a closed pipe must not look like success. */
    if (fflush(stdout) != 0 || ferror(stdout)) {
        (void)pfc_err_set(&err, PFC_EIO, "cannot write to standard output");
        (void)pfc_err_hint(&err,
                           "check that the disk has room and the reader of the pipe still runs");
        status = pfc_cli_fail(&cli, &err);
    }
    free(name);
    return status;
}

/* perfci help [COMMAND | --json]: `words` are those behind "help". */
static int help(int len, char **words)
{
    const pfc_subcommand *command = len > 0 ? find_command(words[0]) : NULL;
    char *argv[] = { NULL, (char[]){ "--help" }, NULL };

    if (command)
        return run_command(command, 2, argv);
    if (len > 0 && words[0][0] != '-')
        return unknown_command(words[0]);
    if (len > 0 && strcmp(words[0], "--json") == 0)
        return describe();
    print_help(stdout);
    return PFC_EXIT_OK;
}

int main(int argc, char **argv)
{
    const pfc_subcommand *command;

    pfc_fs_open_standard();
    /* The locale applies to text only. LC_NUMERIC stays "C", because programs read the numbers. */
    if (!setlocale(LC_CTYPE, "") || strcmp(setlocale(LC_CTYPE, NULL), "C") == 0)
        setlocale(LC_CTYPE, "C.UTF-8");
    signal(SIGPIPE, SIG_IGN);
    pfc_log_set_program("perfci");
    pfc_log_set_level(PFC_WARN);

    if (argc < 2) {
        print_help(stderr);
        return PFC_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0 ||
        strcmp(argv[1], "-h") == 0) {
        return help(argc - 2, argv + 2);
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        puts("perfci " PFC_VERSION);
        return PFC_EXIT_OK;
    }
    command = find_command(argv[1]);
    if (!command)
        return unknown_command(argv[1]);
    return run_command(command, argc - 1, argv + 1);
}
