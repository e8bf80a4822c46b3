/*
 * perfci bisect: finds the commits that made a metric worse.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bisect/answer.h"
#include "cli/bisect/cost.h"
#include "cli/bisect/report.h"
#include "cli/bisect/search.h"
#include "cli/measure/measure.h"
#include "core/base/parse.h"

enum {
    KEY_REPO = 0x100,
    KEY_GOOD,
    KEY_BAD,
    KEY_METRIC,
    KEY_BENCHMARK,
    KEY_BACKEND,
    KEY_FILTER,
    KEY_CONFIDENCE,
    KEY_MAX_RUNS,
    KEY_NOISE,
    KEY_LAYOUT,
    KEY_DELTA,
    KEY_MARGIN,
    KEY_RELINK,
    KEY_PATHS,
    KEY_DRY_RUN,
    KEY_RESUME,
    KEY_MEASURE,
    KEY_SUITE,
    KEY_BUILD,
    KEY_COMMITS,
    KEY_NO_CHECKOUT,
    KEY_WORK,
    KEY_TIMEOUT,
    KEY_HIGHER,
    KEY_LOWER,
    KEY_POST,
    KEY_REMOTE,
    KEY_ALERT,
    KEY_URL,
    KEY_DATA,
    KEY_PROJECT,
    KEY_FIRST,
    KEY_CONFIRM,
    KEY_NO_CONFIRM,
    KEY_PAIRED,
    KEY_NO_PAIRED,
    KEY_MARKDOWN,
    KEY_VERBOSE,
    KEY_AXIS,
    KEY_POINTS,
    KEY_SUBMODULE,
    KEY_AT,
    KEY_ALL_PARENTS,
};

static const struct argp_option bisect_options[] = {
    { 0, 0, 0, 0, "Range:", 1 },
    { "repo", KEY_REPO, "DIR", 0, "The repository (default: here)", 1 },
    { "good", KEY_GOOD, "REV", 0, "A commit before the regression", 1 },
    { "bad", KEY_BAD, "REV", 0, "A commit with it", 1 },
    { "commits", KEY_COMMITS, "FILE", 0,
      "Ids instead of history: oldest first, the good one first, optionally a tab and touched "
      "paths",
      1 },
    { "paths", KEY_PATHS, "GLOB", 0, "The benchmark's files, for the prior; repeatable", 1 },
    { "all-parents", KEY_ALL_PARENTS, 0, 0,
      "When the culprit is a merge, search the branch that it merged", 1 },
    { "axis", KEY_AXIS, "toolchain|dependency", 0,
      "Search compilers, flags or versions with the code fixed", 1 },
    { "points", KEY_POINTS, "FILE", 0,
      "Of --axis: a name a line, oldest first, then tabs and VAR=value", 1 },
    { "submodule", KEY_SUBMODULE, "PATH", 0,
      "Of --axis dependency: its commits between what --good and --bad pin", 1 },
    { "at", KEY_AT, "REV", 0, "Of --axis: the code (default HEAD)", 1 },
    { 0, 0, 0, 0, "Measurement:", 2 },
    PFC_CONFIG_OPTION(2),
    { "metric", KEY_METRIC, "M", 0, "E.g. gemm_tflops", 2 },
    { "benchmark", KEY_BENCHMARK, "B", 0, "One benchmark instead of the headline", 2 },
    { "backend", KEY_BACKEND, "B", 0, "E.g. cpu-avx2", 2 },
    { "filter", KEY_FILTER, "RE", 0, "Only benchmarks whose name matches; one must be left", 2 },
    { "measure", KEY_MEASURE, "CMD", 0,
      "Shell command that prints a number or JSON; 125 = cannot be measured", 2 },
    PFC_TIME_OPTION(2),
    { "suite", KEY_SUITE, "F", 0, "Suite for perfci-bench", 2 },
    { "build", KEY_BUILD, "CMD", 0, "Shell command that builds a checkout", 2 },
    { "no-checkout", KEY_NO_CHECKOUT, 0, 0,
      "Run --measure here, without a checkout; it reads PERFCI_COMMIT", 2 },
    { "work", KEY_WORK, "DIR", 0, "Where checkouts are kept", 2 },
    { "paired", KEY_PAIRED, 0, 0,
      "Measure interleaved with the good commit's build (default with checkouts where the machine "
      "has speed states)",
      2 },
    { "no-paired", KEY_NO_PAIRED, 0, 0, "Measure each commit in single runs, on any machine", 2 },
    { "timeout", KEY_TIMEOUT, "T", 0, "Of one measurement, e.g. 90s or 5m", 2 },
    { "higher-is-better", KEY_HIGHER, 0, 0,
      "The metric's direction, when the measurement does not state it", 2 },
    { "lower-is-better", KEY_LOWER, 0, 0, "Likewise", 2 },
    { 0, 0, 0, 0, "Known figures and confidence:", 3 },
    { "confidence", KEY_CONFIDENCE, "P", 0, "Stop at this probability (default 0.99)", 3 },
    { "max-runs", KEY_MAX_RUNS, "N", 0, "Give up after N runs", 3 },
    { "noise", KEY_NOISE, "R", 0, "Relative noise of one run", 3 },
    { "layout-noise", KEY_LAYOUT, "R", 0, "Relative noise between builds", 3 },
    { "delta", KEY_DELTA, "R", 0, "Relative change, signed: 0.05 = the bad commit is 5 % larger",
      3 },
    { "margin", KEY_MARGIN, "R", 0,
      "Largest change to worse that does not count (default: half of --delta, else half of the "
      "step that one run shows, at most 0.03)",
      3 },
    { "relink", KEY_RELINK, 0, 0, "Allow rebuilds with another layout (PERFCI_BUILD > 0)", 3 },
    { "first", KEY_FIRST, 0, 0, "Stop at the first commit named; do not search for further ones",
      3 },
    { "confirm", KEY_CONFIRM, 0, 0,
      "Compare the named commit with the commit before it in new interleaved pairs (default with "
      "checkouts)",
      3 },
    { "no-confirm", KEY_NO_CONFIRM, 0, 0, "Name commits without that comparison", 3 },
    { "markdown", KEY_MARKDOWN, 0, 0, "Print the report as Markdown", 3 },
    { "verbose", KEY_VERBOSE, 0, 0,
      "Without a terminal: a line for each run, not only for each decision; print the whole report",
      3 },
    { "dry-run", KEY_DRY_RUN, 0, 0, "Print the expected cost and measure nothing", 3 },
    { "resume", KEY_RESUME, 0, 0, "Continue where the same command stopped", 3 },
    { 0, 0, 0, 0, "The service:", 4 },
    { "post", KEY_POST, 0, 0, "Post the report", 4 },
    { "remote", KEY_REMOTE, 0, 0, "Search on the service's runners, and follow them", 4 },
    { "alert", KEY_ALERT, "N", 0, "With --remote: metric, range and suspects of this alert", 4 },
    { "url", KEY_URL, "U", 0, "The service (implies --post)", 4 },
    { "data", KEY_DATA, "DIR", 0, "Data folder of `perfci up`", 4 },
    { "project", KEY_PROJECT, "P", 0, "The project's name", 4 },
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

/* The field of a flag whose value is a text. */
static const char **text_field(bisect_opts *o, int key)
{
    switch (key) {
    case KEY_REPO:
        return &o->repo;
    case KEY_GOOD:
        return &o->good;
    case KEY_BAD:
        return &o->bad;
    case KEY_METRIC:
        return &o->metric;
    case KEY_BENCHMARK:
        return &o->benchmark;
    case KEY_BACKEND:
        return &o->backend;
    case KEY_FILTER:
        return &o->filter;
    case PFC_KEY_CONFIG:
        return &o->config;
    case KEY_MEASURE:
        return &o->measure;
    case KEY_SUITE:
        return &o->suite;
    case KEY_BUILD:
        return &o->build;
    case KEY_COMMITS:
        return &o->commits_file;
    case KEY_WORK:
        return &o->work;
    case KEY_URL:
        return &o->url;
    case KEY_DATA:
        return &o->data;
    case KEY_PROJECT:
        return &o->project;
    case KEY_POINTS:
        return &o->points;
    case KEY_SUBMODULE:
        return &o->submodule;
    case KEY_AT:
        return &o->at;
    default:
        return NULL;
    }
}

static bool take_switch(bisect_opts *o, int key)
{
    switch (key) {
    case KEY_RELINK:
        o->relink = true;
        return true;
    case KEY_DRY_RUN:
        o->dry_run = true;
        return true;
    case KEY_RESUME:
        o->resume = true;
        return true;
    case KEY_NO_CHECKOUT:
        o->no_checkout = true;
        return true;
    case KEY_HIGHER:
        o->better = 1;
        return true;
    case KEY_LOWER:
        o->better = -1;
        return true;
    case PFC_KEY_TIME:
        o->time = true;
        return true;
    case KEY_POST:
        o->post = true;
        return true;
    case KEY_REMOTE:
        o->remote = true;
        return true;
    case KEY_FIRST:
        o->first_only = true;
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
    case KEY_MARKDOWN:
        o->markdown = true;
        return true;
    case KEY_VERBOSE:
        o->verbose = true;
        return true;
    case KEY_ALL_PARENTS:
        o->all_parents = true;
        return true;
    default:
        return false;
    }
}

static error_t parse_bisect(int key, char *arg, struct argp_state *state)
{
    bisect_opts *o = state->input;
    const char **text = text_field(o, key);
    pfc_err err = { 0 };

    if (text) {
        *text = arg;
        o->post = o->post || key == KEY_URL;
        return 0;
    }
    if (take_switch(o, key))
        return 0;
    switch (key) {
    case KEY_CONFIDENCE:
        o->confidence = pfc_arg_double(state, arg, 0.5, 0.999999, "--confidence");
        return 0;
    case KEY_MAX_RUNS:
        o->max_runs = pfc_arg_i64(state, arg, 2, PFC_BISECT_MAX_RUNS, "--max-runs");
        return 0;
    case KEY_NOISE:
        o->noise = pfc_arg_double(state, arg, 0, 10, "--noise");
        return 0;
    case KEY_LAYOUT:
        o->layout_noise = pfc_arg_double(state, arg, 0, 10, "--layout-noise");
        return 0;
    case KEY_DELTA:
        o->delta = pfc_arg_double(state, arg, -0.999, 1000, "--delta");
        return 0;
    case KEY_MARGIN:
        o->margin = pfc_arg_double(state, arg, 1e-9, 10, "--margin");
        return 0;
    case KEY_ALERT:
        o->alert = pfc_arg_i64(state, arg, 1, INT64_MAX, "--alert");
        o->remote = true;
        return 0;
    case KEY_TIMEOUT:
        if (pfc_parse_duration_s(arg, "--timeout", &o->timeout_s, &err))
            pfc_cli_usage(state, "%s", err.msg);
        return 0;
    case KEY_PATHS:
        if (o->globs_len == BISECT_MAX_GLOBS)
            pfc_cli_usage(state, "--paths: at most %d", BISECT_MAX_GLOBS);
        o->globs[o->globs_len++] = arg;
        return 0;
    case KEY_AXIS:
        o->axis = strcmp(arg, "toolchain") == 0    ? BISECT_TOOLCHAIN
                  : strcmp(arg, "dependency") == 0 ? BISECT_DEPENDENCY
                                                   : BISECT_COMMITS;
        if (o->axis == BISECT_COMMITS)
            pfc_cli_usage(state, "--axis: expected toolchain or dependency, got \"%s\"", arg);
        return 0;
    case ARGP_KEY_ARG:
        pfc_cli_usage(state, "there is no argument to give, got \"%s\"", arg);
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

int pfc_cmd_bisect(pfc_cli *cli, int argc, char **argv)
{
    const pfc_cmd_args args = { bisect_options, parse_bisect, NULL, bisect_doc, NULL };
    bisect_opts *opts = pfc_alloc(sizeof(*opts));
    bool named;
    int status;

    opts->argc = argc;
    opts->argv = argv;
    pfc_cli_parse(cli, &args, argc, argv, opts);
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
