/*
 * perfci: the command line. This file holds the table of subcommands and nothing they do.
 */
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "core/base/fs.h"
#include "core/base/log.h"

struct command {
    const char *name;
    pfc_cmd_fn run;
    const char *summary;
};

/* In the order in which a person meets them. */
static const struct command commands[] = {
    { "up", pfc_cmd_up, "start the service: private PostgreSQL, server, runner" },
    { "down", pfc_cmd_down, "stop it" },
    { "status", pfc_cmd_status, "show what runs" },
    { "doctor", pfc_cmd_doctor, "what is wrong with this installation, and what mends it" },
    { "config", pfc_cmd_config, "show: each setting and where it comes from" },
    { "run", pfc_cmd_run, "measure the working tree, a commit, or any command" },
    { "compare", pfc_cmd_compare, "verdict of B against A: files, revisions, stored runs" },
    { "check", pfc_cmd_check, "measure HEAD against its merge base: the gate for CI" },
    { "bisect", pfc_cmd_bisect, "find the commits that made a metric worse" },
    { "init", pfc_cmd_init, "write a commented perfci.yaml" },
    { "suite", pfc_cmd_suite, "check suites, make one from a model's configuration" },
    { "push", pfc_cmd_push, "upload results, also of other tools" },
    { "import", pfc_cmd_import, "show or store results of other tools" },
    { "detect", pfc_cmd_detect, "find change points in series, no server needed" },
    { "accel", pfc_cmd_accel, "kernels on the simulated accelerator: exact cycles" },
    { "nightly", pfc_cmd_nightly, "measure what is new, upload, report" },
    { "comment", pfc_cmd_comment, "tell a pull request what a comparison found" },
    { "series", pfc_cmd_series, "list series, show the points of one" },
    { "alerts", pfc_cmd_alerts, "list groups of alerts, show one alert, set its state" },
    { "jobs", pfc_cmd_jobs, "list the queue, show a job, cancel it" },
    { "events", pfc_cmd_events, "machines that moved: list, show, dismiss" },
    { "coverage", pfc_cmd_coverage, "what is measured, what is missing; --fill queues it" },
    { "audit", pfc_cmd_audit, "who changed what" },
    { "why", pfc_cmd_why, "who may have caused an alert, with reasons" },
    { "replay", pfc_cmd_replay, "what other detector settings would have alerted" },
    { "repro", pfc_cmd_repro, "repeat here what an alert, step or verdict stands on" },
    { "accept", pfc_cmd_accept, "accept an alert's new level as the right one" },
    { "project", pfc_cmd_project, "make, list and delete projects" },
    { "token", pfc_cmd_token, "make, list and revoke tokens" },
    { "admin", pfc_cmd_store, "back the database up, restore, check, migrate it" },
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
        fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].summary);
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

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < PFC_ARRAY_LEN(commands); i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

static int unknown_command(const char *name)
{
    const char *names[PFC_ARRAY_LEN(commands) + 1] = { 0 };
    const pfc_cli cli = { .name = "perfci" };
    pfc_err err = { 0 };
    const char *near;

    for (size_t i = 0; i < PFC_ARRAY_LEN(commands); i++)
        names[i] = commands[i].name;
    near = pfc_cli_nearest(name, names);
    (void)pfc_err_set(&err, PFC_EINVAL, "unknown command \"%.40s\"", name);
    if (near)
        (void)pfc_err_hint(&err, "did you mean \"%s\"? \"perfci --help\" lists the commands", near);
    else
        (void)pfc_err_hint(&err, "\"perfci --help\" lists the commands");
    return pfc_cli_fail(&cli, &err);
}

static int run_command(const struct command *command, int argc, char **argv)
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

/* perfci help [COMMAND]: `words` are those behind "help". */
static int help(int len, char **words)
{
    const struct command *command = len > 0 ? find_command(words[0]) : NULL;
    char *argv[] = { NULL, (char[]){ "--help" }, NULL };

    if (command)
        return run_command(command, 2, argv);
    if (len > 0 && words[0][0] != '-')
        return unknown_command(words[0]);
    print_help(stdout);
    return PFC_EXIT_OK;
}

int main(int argc, char **argv)
{
    const struct command *command;

    pfc_fs_open_standard();
    /* Letters are the user's, numbers are everyone's: LC_NUMERIC stays "C". */
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
