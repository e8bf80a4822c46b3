/*
 * perfci bisect: finds the commits that made a metric worse.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bisect/answer.h"
#include "cli/bisect/cost.h"
#include "cli/bisect/output/report.h"
#include "cli/bisect/search.h"
#include "cli/commands.h"
#include "cli/measure/measure.h"
#include "core/base/parse.h"

enum {
    KEY_PATHS = 1,
    KEY_HIGHER,
    KEY_LOWER,
    KEY_ALERT,
    KEY_URL,
    KEY_CONFIRM,
    KEY_NO_CONFIRM,
    KEY_PAIRED,
    KEY_NO_PAIRED,
    KEY_AXIS
};

static const char *const axes[] = { "toolchain", "dependency", NULL };

static const pfc_option bisect_options[] = {
    PFC_OPT_HEADING("Range:"),
    PFC_OPT_TEXT("repo", "DIR", bisect_opts, repo, "The repository", .fallback = "here"),
    PFC_OPT_TEXT("good", "REV", bisect_opts, good, "A commit before the regression"),
    PFC_OPT_TEXT("bad", "REV", bisect_opts, bad, "A commit with it"),
    PFC_OPT_TEXT("commits", "FILE", bisect_opts, commits_file,
                 "Ids instead of history: oldest first, the good one first, optionally a tab and "
                 "touched paths"),
    PFC_OPT_OWN(KEY_PATHS, "paths", "GLOB", "The benchmark's files, for the prior; repeatable"),
    PFC_OPT_FLAG("all-parents", bisect_opts, all_parents,
                 "When the culprit is a merge, search the branch that it merged"),
    { .name = "axis",
      .argument = "toolchain|dependency",
      .kind = PFC_OPTION_WORD,
      .words = axes,
      .at = PFC_NO_MEMBER,
      .key = KEY_AXIS,
      .help = "Search compilers, flags or versions with the code fixed" },
    PFC_OPT_TEXT("points", "FILE", bisect_opts, points,
                 "Of --axis: a name a line, oldest first, then tabs and VAR=value"),
    PFC_OPT_TEXT("submodule", "PATH", bisect_opts, submodule,
                 "Of --axis dependency: its commits between what --good and --bad pin"),
    PFC_OPT_TEXT("at", "REV", bisect_opts, at, "Of --axis: the code", .fallback = "HEAD"),
    PFC_OPT_HEADING("Measurement:"),
    PFC_CONFIG_OPTION(bisect_opts, config),
    PFC_OPT_TEXT("metric", "M", bisect_opts, metric, "E.g. gemm_tflops"),
    PFC_OPT_TEXT("benchmark", "B", bisect_opts, benchmark, "One benchmark instead of the headline"),
    PFC_OPT_TEXT("backend", "B", bisect_opts, backend, "E.g. cpu-avx2"),
    PFC_OPT_TEXT("filter", "RE", bisect_opts, filter,
                 "Only benchmarks whose name matches; one must be left"),
    PFC_OPT_TEXT("measure", "CMD", bisect_opts, measure,
                 "Shell command that prints a number or JSON; 125 = cannot be measured"),
    PFC_TIME_OPTION(bisect_opts, time),
    PFC_OPT_TEXT("suite", "F", bisect_opts, suite, "Suite for perfci-bench"),
    PFC_OPT_TEXT("build", "CMD", bisect_opts, build, "Shell command that builds a checkout"),
    PFC_OPT_FLAG("no-checkout", bisect_opts, no_checkout,
                 "Run --measure here, without a checkout; it reads PERFCI_COMMIT"),
    PFC_OPT_TEXT("work", "DIR", bisect_opts, work, "Where checkouts are kept"),
    PFC_OPT_OWN_FLAG(KEY_PAIRED, "paired", "Measure interleaved with the good commit's build",
                     .fallback = "with checkouts where the machine has speed states"),
    PFC_OPT_OWN_FLAG(KEY_NO_PAIRED, "no-paired",
                     "Measure each commit in single runs, on any machine"),
    PFC_OPT_SECONDS("timeout", "T", bisect_opts, timeout_s, "Of one measurement, e.g. 90s or 5m"),
    PFC_OPT_OWN_FLAG(KEY_HIGHER, "higher-is-better",
                     "The metric's direction, when the measurement does not state it"),
    PFC_OPT_OWN_FLAG(KEY_LOWER, "lower-is-better", "Likewise"),
    PFC_OPT_HEADING("Known figures and confidence:"),
    PFC_OPT_NUMBER("confidence", "P", bisect_opts, confidence, 0.5, 0.999999,
                   "Stop at this probability", .fallback = "0.99"),
    PFC_OPT_INTEGER("max-runs", "N", bisect_opts, max_runs, 2, PFC_BISECT_MAX_RUNS,
                    "Give up after N runs"),
    PFC_OPT_NUMBER("noise", "R", bisect_opts, noise, 0, 10, "Relative noise of one run"),
    PFC_OPT_NUMBER("layout-noise", "R", bisect_opts, layout_noise, 0, 10,
                   "Relative noise between builds"),
    PFC_OPT_NUMBER("delta", "R", bisect_opts, delta, -0.999, 1000,
                   "Relative change, signed: 0.05 = the bad commit is 5 % larger"),
    PFC_OPT_NUMBER(
        "margin", "R", bisect_opts, margin, 1e-9, 10, "Largest change to worse that does not count",
        .fallback = "half of --delta, else half of the step that one run shows, at most 0.03"),
    PFC_OPT_FLAG("relink", bisect_opts, relink,
                 "Allow rebuilds with another layout (PERFCI_BUILD > 0)"),
    PFC_OPT_FLAG("first", bisect_opts, first_only,
                 "Stop at the first commit named; do not search for further ones"),
    PFC_OPT_OWN_FLAG(KEY_CONFIRM, "confirm",
                     "Compare the named commit with the commit before it in new interleaved pairs",
                     .fallback = "with checkouts"),
    PFC_OPT_OWN_FLAG(KEY_NO_CONFIRM, "no-confirm", "Name commits without that comparison"),
    PFC_OPT_FLAG("markdown", bisect_opts, markdown, "Print the report as Markdown"),
    PFC_OPT_FLAG("verbose", bisect_opts, verbose,
                 "Without a terminal: a line for each run, not only for each decision; print the "
                 "whole report"),
    PFC_OPT_FLAG("dry-run", bisect_opts, dry_run, "Print the expected cost and measure nothing"),
    PFC_OPT_FLAG("resume", bisect_opts, resume, "Continue where the same command stopped"),
    PFC_OPT_HEADING("The service:"),
    PFC_OPT_FLAG("post", bisect_opts, post, "Post the report"),
    PFC_OPT_FLAG("remote", bisect_opts, remote, "Search on the service's runners, and follow them"),
    PFC_OPT_INTEGER("alert", "N", bisect_opts, alert, 1, INT64_MAX,
                    "With --remote: metric, range and suspects of this alert", .key = KEY_ALERT),
    PFC_OPT_TEXT("url", "U", bisect_opts, url, "The service (implies --post)", .key = KEY_URL),
    PFC_OPT_TEXT("data", "DIR", bisect_opts, data, "Data folder of `perfci up`"),
    PFC_OPT_TEXT("project", "P", bisect_opts, project, "The project's name"),
    { 0 },
};

static const char bisect_doc[] =
    "Finds the commits that made a metric worse, with as few runs as possible."
    "\vMeasurements may be noisy: commits are measured as often as the confidence needs, the ends "
    "first. "
    "Commits that do not build are skipped. Every measurement is saved at once; "
    "--resume continues after Ctrl-C or a crash.\n"
    "\n"
    "Exit status 1 when a culprit was found or narrowed down, 0 when the interval of the ends' "
    "difference "
    "shows no regression beyond --margin, 3 when it is not decided (the report says how many more "
    "runs are "
    "expected; --resume --max-runs N goes on), 4 when an end cannot be measured.\n"
    "\n"
    "Examples:\n"
    "  perfci bisect --metric gemm_tflops --good v1.2 --bad main\n"
    "  perfci bisect --good HEAD~40 --bad HEAD --build 'make -j2' --measure './bench --json'\n"
    "  perfci bisect --remote --metric gemm_tflops --good v1.2 --bad main\n"
    "  perfci bisect --remote --alert 7\n"
    "  perfci bisect --commits ids.txt --no-checkout --measure './measure.sh \"$PERFCI_COMMIT\"'\n";

static bool take_switch(bisect_opts *o, int key)
{
    switch (key) {
    case KEY_HIGHER:
        o->better = 1;
        return true;
    case KEY_LOWER:
        o->better = -1;
        return true;
    case KEY_CONFIRM:
        o->confirm = 1;
        return true;
    case KEY_NO_CONFIRM:
        o->confirm = -1;
        return true;
    case KEY_PAIRED:
        o->paired = 1;
        return true;
    case KEY_NO_PAIRED:
        o->paired = -1;
        return true;
    default:
        return false;
    }
}

static error_t parse_bisect(int key, char *arg, struct argp_state *state)
{
    bisect_opts *o = state->input;

    if (take_switch(o, key))
        return 0;
    switch (key) {
    case KEY_URL:
        o->post = true;
        return 0;
    case KEY_ALERT:
        o->remote = true;
        return 0;
    case KEY_PATHS:
        if (o->globs_len == BISECT_MAX_GLOBS)
            pfc_cli_usage(state, "--paths: at most %d", BISECT_MAX_GLOBS);
        o->globs[o->globs_len++] = arg;
        return 0;
    case KEY_AXIS:
        o->axis = strcmp(arg, "toolchain") == 0 ? BISECT_TOOLCHAIN : BISECT_DEPENDENCY;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

enum { BRANCHES_DEEP = 8 };

static int bisect_range(const pfc_cli *cli, const bisect_opts *opts, int depth, bool *named);

/* When the culprit is a merge, searches the branch that it merged; *named: a culprit on it is
 * reported. */
static int bisect_branch(bisect_session *session, int depth, bool *named)
{
    bisect_opts inner = *session->opts;
    pfc_commit_id base;
    pfc_commit_id tip;

    if (!inner.all_parents || depth >= BRANCHES_DEEP || !bisect_merged_branch(session, &base, &tip))
        return PFC_EXIT_OK;
    pfc_cli_note(session->cli,
                 "the culprit is a merge; searching the branch that it merged, %.12s to %.12s",
                 base.hex, tip.hex);
    bisect_builds_release(&session->builds);
    inner.good = base.hex;
    inner.bad = tip.hex;
    return bisect_range(session->cli, &inner, depth + 1, named);
}

/* One search. The report of a branch replaces that of its merge if it names a culprit; when no
 * commit of the branch alone shows the step, the merge itself is the answer. */
static int bisect_range(const pfc_cli *cli, const bisect_opts *opts, int depth, bool *named)
{
    bisect_session session;
    pfc_err err = { 0 };
    int status = PFC_EXIT_OK;

    *named = false;
    if (bisect_session_open(&session, cli, opts, &err)) {
        status = pfc_cli_fail(cli, &err);
    } else if (opts->dry_run) {
        status = bisect_dry_run(&session);
    } else if (bisect_search(&session, &err)) {
        status = pfc_cli_fail(cli, &err);
    } else {
        status = bisect_branch(&session, depth, named);
        if (!*named && (depth == 0 || bisect_names_culprit(&session))) {
            *named = depth > 0;
            status = bisect_report(&session);
        }
    }
    bisect_session_close(&session);
    return status;
}

static int cmd_bisect(pfc_cli *cli, int argc, char **argv)
{
    bisect_opts *opts = pfc_alloc(sizeof(*opts));
    bool named;
    int status;

    opts->argc = argc;
    opts->argv = argv;
    pfc_cli_parse(cli, &pfc_cmd_bisect, argc, argv, opts);
    if (opts->remote && (opts->measure || opts->suite || opts->build)) {
        pfc_cli_warn(cli, "--measure, --suite and --build are for a search from here: for the "
                          "service's runners write them into a file and give it by --config FILE");
        free(opts);
        return PFC_EXIT_USAGE;
    }
    if (opts->remote && (opts->first_only || opts->paired)) {
        pfc_cli_warn(cli,
                     opts->first_only
                         ? "--first is for a search from here: the service's searches name "
                           "all steps"
                         : "--paired and --no-paired are for a search from here: the "
                           "service's searches put a reference beside runs where they need it");
        free(opts);
        return PFC_EXIT_USAGE;
    }
    pfc_cli_catch_signals();
    status = opts->remote ? bisect_remote(cli, opts) : bisect_range(cli, opts, 0, &named);
    free(opts);
    return status;
}

const pfc_subcommand pfc_cmd_bisect = {
    .name = "bisect",
    .summary = "find the commits that made a metric worse",
    .run = cmd_bisect,
    .options = bisect_options,
    .parse = parse_bisect,
    .doc = bisect_doc,
};
