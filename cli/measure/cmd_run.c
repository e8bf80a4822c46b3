/*
 * perfci run: measures the working tree, a commit, or any command.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/api.h"
#include "cli/commands.h"
#include "cli/measure/measure.h"
#include "cli/output/output.h"
#include "core/base/fs.h"
#include "core/base/parse.h"

enum { KEY_BACKEND = 1, KEY_SIZE };

#define MAX_SIZES 16

typedef struct run_opts {
    pfc_take_opts take;
    const char *commit, *out, *project, *url, *data;
    char *command; /* of `-- CMD`, quoted for the shell */
    const char *build;
    const char *sizes[MAX_SIZES]; /* files whose sizes are metrics */
    size_t sizes_len;
    bool push, create;
    bool git_bisect;
} run_opts;

static const pfc_option run_options[] = {
    PFC_CONFIG_OPTION(run_opts, take.config),
    PFC_DIRECTION_OPTION,
    PFC_TIME_OPTION(run_opts, take.time),
    PFC_OPT_TEXT("suite", "F", run_opts, take.suite, "Suite file or name",
                 .fallback = "perfci.yaml's"),
    PFC_OPT_TEXT("filter", "RE", run_opts, take.filter, "Only benchmarks whose name matches"),
    PFC_OPT_OWN(KEY_BACKEND, "backend", "B", "Only this backend; repeatable"),
    PFC_OPT_TEXT("commit", "C", run_opts, commit, "Measure this commit in a checkout of its own"),
    PFC_OPT_COUNT("repeats", "N", run_opts, take.repeats, 1, PFC_TAKE_MAX_REPEATS, "Times to run",
                  .fallback = "1 a suite, 5 a command"),
    PFC_OPT_TEXT("build", "CMD", run_opts, build,
                 "Of -- CMD: built by this first; its time is a metric"),
    PFC_OPT_OWN(KEY_SIZE, "size", "FILE", "The size of this file is a metric, too; repeatable"),
    PFC_OPT_TEXT("out", "FILE", run_opts, out, "Also write the run document"),
    PFC_OPT_SECONDS("timeout", "T", run_opts, take.timeout_s, "Of one measurement, e.g. 90s or 5m"),
    PFC_OPT_DURATION("wait-quiet", "T", run_opts, take.wait_quiet,
                     "Of a suite: wait so long for a quiet machine, then end with 5"),
    PFC_OPT_TEXT("work", "DIR", run_opts, take.work, "Where checkouts are kept"),
    PFC_OPT_FLAG("push", run_opts, push, "Upload the result"),
    PFC_OPT_FLAG("create", run_opts, create, "With --push: make the project when there is none"),
    PFC_OPT_TEXT("project", "P", run_opts, project, "The project's name, for --push"),
    PFC_OPT_TEXT("url", "U", run_opts, url, "The service, for --push"),
    PFC_OPT_TEXT("data", "DIR", run_opts, data, "Data folder of `perfci up`, for --push"),
    PFC_OPT_FLAG("git-bisect", run_opts, git_bisect,
                 "Exit status for `git bisect run`: 0, or 125 when broken"),
    { 0 },
};

static const char run_doc[] =
    "Measures the working tree and prints a table."
    "\vWith -- CMD any command is measured: what it prints is read as a number, {\"value\": x}, "
    "Google Benchmark JSON, or any other format of `perfci import`. Beside that stand its wall and "
    "CPU time and its largest resident set, and where asked for its build's time and the sizes of "
    "files: secondary metrics, which `perfci compare` shows but which never fail a check. A "
    "command that prints no result, or nan, is broken; with --time its output is not read, and its "
    "wall time, CPU time and peak memory are the result. A command that takes more memory than "
    "PERFCI_MEMORY_LIMIT (such as 8G; default: three quarters of the machine) is ended. "
    "--json prints the run document.\n"
    "\n"
    "Exit status 4 when a build fails, or a result is wrong or missing.\n"
    "\n"
    "Examples:\n"
    "  perfci run --suite quick --filter gemm\n"
    "  perfci run --commit v1.2 --json > v1.2.json\n"
    "  perfci run --repeats 10 -- ./bench --benchmark_format=json\n"
    "  perfci run --build 'make -j' --size ./bench -- ./bench\n"
    "  perfci run --time -- ./convert input.png\n";

/* Always in quotes: an assignment or a reserved word of the shell is a program's name here. */
static void quote(pfc_buf *out, const char *arg)
{
    pfc_buf_puts(out, out->len ? " '" : "'");
    for (const char *p = arg; *p; p++)
        if (*p == '\'')
            pfc_buf_puts(out, "'\\''");
        else
            pfc_buf_putc(out, *p);
    pfc_buf_putc(out, '\'');
}

/* The words after `--` as one shell command that runs exactly them. */
static char *command_of(struct argp_state *state)
{
    pfc_buf buf;

    pfc_buf_init(&buf, PFC_WORKSPACE_MAX_COMMAND);
    for (int i = state->next; i < state->argc; i++)
        quote(&buf, state->argv[i]);
    if (buf.overflow)
        pfc_cli_usage(state, "the command is longer than %d bytes", PFC_WORKSPACE_MAX_COMMAND);
    return pfc_buf_take(&buf);
}

static error_t parse_run(int key, char *arg, struct argp_state *state)
{
    run_opts *o = state->input;

    switch (key) {
    case KEY_BACKEND:
        pfc_take_add_backend(&o->take, arg, state);
        return 0;
    case PFC_KEY_DIRECTION:
        pfc_directions_add(&o->take.directions, arg, state);
        return 0;
    case KEY_SIZE:
        if (o->sizes_len == MAX_SIZES)
            pfc_cli_usage(state, "--size: at most %d", MAX_SIZES);
        o->sizes[o->sizes_len++] = arg;
        return 0;
    case ARGP_KEY_ARGS:
        /* The words after `--`; before it only flags are allowed. */
        if (!pfc_streq(state->argv[state->next - 1], "--"))
            pfc_cli_usage(state, "a command to measure goes after --, got \"%s\"",
                          state->argv[state->next]);
        o->command = command_of(state);
        return 0;
    case ARGP_KEY_END:
        if (o->command && o->take.wait_quiet)
            pfc_cli_usage(state, "--wait-quiet is for suites, there is no waiting before -- CMD");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static pfc_code ensure(const run_opts *o, const pfc_take *t, pfc_http *http, const char *project,
                       pfc_err *err)
{
    const pfc_ensure want = { .project = project,
                              .branch = t->conf.branch,
                              .conf = &t->conf,
                              .create = o->create,
                              .has_flag = true };
    bool made = false;
    pfc_code code = pfc_api_ensure_project(http, &want, &made, err);

    if (made)
        pfc_cli_note(t->cli, "project %s is new", project);
    return code;
}

static pfc_code push(const run_opts *o, const pfc_take *t, pfc_run *run, pfc_err *err)
{
    char *branch = t->repo ? pfc_repo_branch(t->repo) : NULL;
    char *project = NULL;
    pfc_http *http = NULL;
    int64_t run_id = 0;
    pfc_commit_id id = { "" };
    pfc_code code = PFC_OK;

    if (!run->commit)
        code = pfc_err_set(err, PFC_EINVAL,
                           "the measured tree is not a commit (tracked files differ from HEAD, or "
                           "there is no repository), so it is not pushed");
    if (!code)
        code = pfc_api_open(o->url, o->data, &t->conf, &http, err);
    if (!code)
        code = pfc_api_project(o->project, &t->conf, t->root, &project, err);
    if (!code)
        code = ensure(o, t, http, project, err);
    if (!code) {
        memcpy(id.hex, run->commit, PFC_COMMIT_HEX - 1);
        code = pfc_api_post_history(http, project, branch, t->repo, &id, err);
    }
    if (!code) {
        free(run->project);
        run->project = pfc_strdup(project);
        code = pfc_api_post_run(http, run, &run_id, NULL, err);
    }
    if (!code && !o->take.filter)
        pfc_api_post_sources(http, project, id.hex, &t->conf, &t->built);
    if (!code)
        pfc_cli_note(t->cli, "stored as run %lld of %s", (long long)run_id, project);
    pfc_http_free(http);
    free(project);
    free(branch);
    return code;
}

static pfc_code add_sizes(const run_opts *o, pfc_run *run, pfc_err *err)
{
    for (size_t i = 0; i < o->sizes_len; i++) {
        const char *slash = strrchr(o->sizes[i], '/');
        struct stat st;

        if (stat(o->sizes[i], &st) != 0 || !S_ISREG(st.st_mode))
            return pfc_err_set(err, PFC_ENOTFOUND, "--size %.300s: there is no such file",
                               o->sizes[i]);
        pfc_run_add_value(run, slash && slash[1] ? slash + 1 : o->sizes[i], "size_bytes", "bytes",
                          (double)st.st_size, true);
    }
    return PFC_OK;
}

static pfc_code take(const run_opts *o, pfc_take *t, pfc_run **run, pfc_err *err)
{
    pfc_commit_id id;
    pfc_code code;

    if (!o->commit) {
        code = pfc_take_tree(t, run, err);
    } else {
        code = pfc_repo_resolve(t->repo, o->commit, &id, err);
        if (!code)
            code = pfc_take_commit(t, &id, run, err);
    }
    if (!code && o->build && t->build_s > 0)
        pfc_run_add_value(*run, "headline", "build_time_ns", "ns", t->build_s * 1e9, true);
    return code ? code : add_sizes(o, *run, err);
}

static int cmd_run(pfc_cli *cli, int argc, char **argv)
{
    run_opts o = { 0 };
    pfc_take_range range = { 0 };
    pfc_take t = { 0 };
    pfc_run *run = NULL;
    char *text = NULL;
    pfc_err err = { 0 };
    int status = PFC_EXIT_OK;

    pfc_cli_parse(cli, &pfc_cmd_run, argc, argv, &o);
    pfc_cli_catch_signals();
    o.take.measure = o.command;
    /* A command is measured where the user stands and nothing is built for it. */
    if (o.command)
        o.take.build = o.build ? o.build : "";
    else if (o.build)
        o.take.build = o.build;
    o.take.resources = o.command != NULL;
    range.to = o.commit;
    if (pfc_take_open(&t, cli, &o.take, NULL, o.commit != NULL, &range, &err) ||
        take(&o, &t, &run, &err)) {
        status = pfc_cli_fail(cli, &err);
        goto done;
    }
    if (pfc_take_broken(run))
        status = PFC_EXIT_BROKEN;
    text = pfc_run_to_text(run);
    if (o.out && pfc_fs_write_atomic(o.out, text, strlen(text), 0644, &err))
        status = pfc_cli_fail(cli, &err);
    if (cli->json)
        pfc_out_json(text);
    else
        pfc_take_print(cli, run);
    if (o.push && push(&o, &t, run, &err))
        status = pfc_cli_fail(cli, &err);

done:
    if (o.git_bisect && status != PFC_EXIT_OK)
        status = PFC_MEASURE_CANNOT;
    free(text);
    pfc_run_free(run);
    pfc_take_close(&t);
    free(o.command);
    return status;
}

const pfc_subcommand pfc_cmd_run = {
    .name = "run",
    .summary = "measure the working tree, a commit, or any command",
    .run = cmd_run,
    .options = run_options,
    .parse = parse_run,
    .args_doc = "[-- CMD...]",
    .doc = run_doc,
};
