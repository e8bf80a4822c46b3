/* The command line of perfci-bench. */
#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "bench/program.h"
#include "core/base/parse.h"
#include "core/trace/run_files.h"

static const char doc[] =
    "Measures the kernels of a suite on this machine and writes the run document.\v"
    "Examples:\n"
    "  perfci-bench                                   the quick suite, as a table\n"
    "  perfci-bench --suite quick --out run.json      the run document, for perfci push\n"
    "  perfci-bench --filter '^gemm/' --backend cpu-avx2\n"
    "  perfci-bench --suite ./mine.yaml --json | jq .measurements\n"
    "  perfci-bench --list; perfci-bench --coverage; perfci-bench --noise; perfci-bench --peers\n"
    "  perfci-bench --exact --filter '^gemm/' --backend cpu-avx2\n"
    "  perfci-bench --counters cycles,l2_rqsts:miss --json; perfci-bench --counters list\n"
    "  perfci-bench --machine; perfci-bench --machine --json\n"
    "  perfci-bench --ceilings; perfci-bench --suite quick --svg roofline.svg\n"
    "  perfci-bench --side-a old/perfci-bench --side-b new/perfci-bench --filter '^gemm/'\n"
    "\n"
    "A suite is a file, or the name of a built-in one (quick, nightly).\n"
    "Exit status: 0 measured, 2 usage, 4 a benchmark is broken (wrong result), 5 infrastructure.";

enum {
    KEY_LIST = 256,
    KEY_COVERAGE,
    KEY_PEERS,
    KEY_NOISE,
    KEY_BLOCK,
    KEY_SERVE,
    KEY_TUNE,
    KEY_UNTUNE,
    KEY_MACHINE,
    KEY_CANARY,
    KEY_BEFORE,
    KEY_CEILINGS,
    KEY_SVG,
    KEY_COUNTERS,
    KEY_EXACT,
    KEY_CALL,
    KEY_WAIT_QUIET,
    KEY_SIDE_A,
    KEY_SIDE_B,
    KEY_MARGIN,
    KEY_SEED,
    KEY_NO_PIN,
    KEY_TRACES,
};

static const struct argp_option options[] = {
    { "suite", 's', "FILE|NAME", 0, "suite to measure (default: quick)", 0 },
    { "filter", 'f', "RE", 0, "only benchmarks whose name matches this extended expression", 0 },
    { "backend", 'b', "NAME", 0, "only this backend; may be repeated", 0 },
    { "out", 'o', "FILE", 0, "write the run document there (- is standard output)", 0 },
    { "json", 'j', NULL, 0, "print the run document (or list) as JSON, nothing else", 0 },
    { "list", KEY_LIST, NULL, 0, "show the suite's benchmarks and stop", 0 },
    { "coverage", KEY_COVERAGE, NULL, 0, "show operations by type and backend, and the gaps", 0 },
    { "peers", KEY_PEERS, NULL, 0, "compare with OpenBLAS, BLIS and oneDNN where installed", 0 },
    { "noise", KEY_NOISE, NULL, 0,
      "compare this program with itself, show the noise and the smallest change that can be "
      "confirmed",
      0 },
    { "counters", KEY_COUNTERS, "NAMES", 0,
      "events to count a call, by the names of libpfm4 with commas between them; "
      "'list' shows those of this machine",
      0 },
    { "exact", KEY_EXACT, NULL, 0,
      "count the instructions of a call under valgrind instead of timing it: scalar and AVX2, the "
      "same in every run",
      0 },
    { "traces", KEY_TRACES, "DIR", 0,
      "write traces of the first 16 benchmarks of accelerators there, each of a run of its own "
      "(default: $PERFCI_TRACES)",
      0 },
    { "seed", KEY_SEED, "N", 0, "seed of the inputs (default: 1)", 0 },
    { "no-pin", KEY_NO_PIN, NULL, 0, "let the system move the measuring process between CPUs", 0 },
    { "quiet", 'q', NULL, 0, "no progress and no notes on standard error", 0 },
    { "color", 'c', "WHEN", 0, "accepted like in every perfci program; this one prints no colour",
      0 },
    { "side-a", KEY_SIDE_A, "PROGRAM", 0,
      "compare two builds of perfci-bench in turns: A (default: this program)", 0 },
    { "side-b", KEY_SIDE_B, "PROGRAM", 0, "and B (default: this program)", 0 },
    { "margin", KEY_MARGIN, "R", 0,
      "of such a comparison: relative change that does not matter "
      "(default: 0.005)",
      0 },
    { "wait-quiet", KEY_WAIT_QUIET, "T", 0,
      "wait up to T (90s, 5m) until the machine is quiet, else end with status 5", 0 },
    { "tune-host", KEY_TUNE, NULL, 0,
      "set governor, turbo, SMT, address layout for measuring (root); tells each change", 0 },
    { "untune-host", KEY_UNTUNE, NULL, 0, "put back exactly what --tune-host changed (root)", 0 },
    { "machine", KEY_MACHINE, NULL, 0,
      "show all that is known of this machine: fingerprint, CPUs, GPUs, clocks, how quiet it is",
      0 },
    { "canary", KEY_CANARY, NULL, 0,
      "read the canary once, as JSON, before something else is measured", 0 },
    { "before", KEY_BEFORE, "FILE", 0,
      "with --canary: that reading; prints what a run document says of both", 0 },
    { "ceilings", KEY_CEILINGS, NULL, 0,
      "measure what one core and all of them can do at best, and draw the roofline", 0 },
    { "svg", KEY_SVG, "FILE", 0,
      "with --ceilings or a suite: write the roofline there (with the suite's benchmarks); with "
      "--noise: the plot of it",
      0 },
    { "serve", KEY_SERVE, NULL, 0,
      "be one side of such a comparison: a benchmark and turns on standard input", 0 },
    { "block", KEY_BLOCK, NULL, OPTION_HIDDEN, NULL, 0 },
    { "call", KEY_CALL, NULL, OPTION_HIDDEN, NULL, 0 },
    { 0 },
};

/* Options that only choose the mode. The last one on the command line applies. */
static const struct {
    int key;
    pfc_bench_mode mode;
} mode_options[] = {
    { KEY_LIST, PFC_BENCH_LIST },         { KEY_COVERAGE, PFC_BENCH_COVERAGE },
    { KEY_PEERS, PFC_BENCH_PEERS },       { KEY_NOISE, PFC_BENCH_PAIRS },
    { KEY_CALL, PFC_BENCH_CALL },         { KEY_BLOCK, PFC_BENCH_BLOCK },
    { KEY_TUNE, PFC_BENCH_TUNE },         { KEY_UNTUNE, PFC_BENCH_UNTUNE },
    { KEY_CEILINGS, PFC_BENCH_CEILINGS }, { KEY_CANARY, PFC_BENCH_CANARY },
    { KEY_MACHINE, PFC_BENCH_MACHINE },   { KEY_SERVE, PFC_BENCH_SERVE },
    { KEY_SIDE_A, PFC_BENCH_PAIRS },      { KEY_SIDE_B, PFC_BENCH_PAIRS },
};

static bool take_mode(int key, pfc_bench_args *args)
{
    for (size_t i = 0; i < PFC_ARRAY_LEN(mode_options); i++) {
        if (mode_options[i].key == key) {
            args->mode = mode_options[i].mode;
            return true;
        }
    }
    return false;
}

/* Options whose text is kept as it is. */
static bool take_text(int key, const char *arg, pfc_bench_args *args)
{
    const struct {
        int key;
        const char **text;
    } texts[] = { { 's', &args->suite },
                  { 'f', &args->filter },
                  { 'o', &args->out },
                  { KEY_SVG, &args->svg },
                  { KEY_TRACES, &args->traces },
                  { KEY_BEFORE, &args->before },
                  { KEY_SIDE_A, &args->sides[0] },
                  { KEY_SIDE_B, &args->sides[1] } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(texts); i++) {
        if (texts[i].key == key) {
            *texts[i].text = arg;
            return true;
        }
    }
    return false;
}

static bool take_flag(int key, pfc_bench_args *args)
{
    const struct {
        int key;
        bool *flag, value;
    } flags[] = { { 'j', &args->json, true },
                  { 'q', &args->quiet, true },
                  { KEY_NOISE, &args->noise, true },
                  { KEY_EXACT, &args->exact, true },
                  { KEY_NO_PIN, &args->pin, false } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(flags); i++) {
        if (flags[i].key == key) {
            *flags[i].flag = flags[i].value;
            return true;
        }
    }
    return false;
}

static pfc_code take_counters(const char *arg, pfc_bench_args *args, pfc_err *err)
{
    args->counters = arg;
    if (strcmp(arg, "list") == 0) {
        args->mode = PFC_BENCH_COUNTERS;
        return PFC_OK;
    }
    return pfc_counter_parse(arg, &(pfc_counter_set){ .len = 0 }, err)
               ? pfc_err_wrap(err, "--counters")
               : PFC_OK;
}

static pfc_code take_backend(const char *arg, pfc_bench_args *args, pfc_err *err)
{
    if (args->backends_len == PFC_BENCH_MAX_BACKENDS)
        return pfc_err_set(err, PFC_EINVAL, "--backend: expected at most %d, got %d",
                           PFC_BENCH_MAX_BACKENDS, PFC_BENCH_MAX_BACKENDS + 1);
    args->backends[args->backends_len++] = arg;
    return PFC_OK;
}

static pfc_code check_color(const char *arg, pfc_err *err)
{
    if (strcmp(arg, "always") == 0 || strcmp(arg, "never") == 0 || strcmp(arg, "auto") == 0)
        return PFC_OK;
    return pfc_err_set(err, PFC_EINVAL, "--color: expected always, never or auto, got '%s'", arg);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    pfc_bench_args *args = state->input;
    pfc_err err = { 0 };
    pfc_code code = PFC_OK;
    /* An option can be in several of the tables: --noise chooses a mode and sets a flag. */
    const bool is_mode = take_mode(key, args);
    const bool is_text = take_text(key, arg, args);
    const bool is_flag = take_flag(key, args);

    if (is_mode || is_text || is_flag)
        return 0;
    switch (key) {
    case 'b':
        code = take_backend(arg, args, &err);
        break;
    case 'c':
        code = check_color(arg, &err);
        break;
    case KEY_COUNTERS:
        code = take_counters(arg, args, &err);
        break;
    case KEY_WAIT_QUIET:
        code = pfc_parse_duration_s(arg, "--wait-quiet", &args->wait_quiet_s, &err);
        break;
    case KEY_MARGIN:
        code = pfc_parse_double(arg, 1e-6, 10.0, "--margin", &args->margin, &err);
        break;
    case KEY_SEED:
        code = pfc_parse_i64(arg, 1, INT64_MAX, "--seed", &args->seed, &err);
        break;
    case ARGP_KEY_ARG:
        code = pfc_err_set(&err, PFC_EINVAL,
                           "expected no arguments, got '%s' (a suite is given with --suite)", arg);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    if (code)
        argp_error(state, "%s", err.msg);
    return 0;
}

void pfc_bench_args_parse(int argc, char **argv, pfc_bench_args *out)
{
    static const struct argp argp = { options, parse_option, NULL, doc, NULL, NULL, NULL };

    *out = (pfc_bench_args){ .suite = "quick", .seed = 1, .pin = true, .wait_quiet_s = -1.0 };
    argp_program_version = "perfci-bench " PFC_VERSION;
    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, out);
    if (!out->traces)
        out->traces = getenv(PFC_RUN_TRACES_VARIABLE);
    if (out->traces && !out->traces[0])
        out->traces = NULL;
}
