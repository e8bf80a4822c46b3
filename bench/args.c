/* The command line of perfci-bench. */
#include <argp.h>
#include <string.h>

#include "bench/program.h"
#include "core/base/parse.h"

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

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    pfc_bench_args *args = state->input;
    pfc_err err = { 0 };

    switch (key) {
    case 's':
        args->suite = arg;
        break;
    case 'f':
        args->filter = arg;
        break;
    case 'b':
        if (args->backends_len == PFC_BENCH_MAX_BACKENDS)
            argp_error(state, "--backend: at most %d", PFC_BENCH_MAX_BACKENDS);
        else
            args->backends[args->backends_len++] = arg;
        break;
    case 'o':
        args->out = arg;
        break;
    case 'j':
        args->json = true;
        break;
    case 'q':
        args->quiet = true;
        break;
    case 'c':
        if (strcmp(arg, "always") != 0 && strcmp(arg, "never") != 0 && strcmp(arg, "auto") != 0)
            argp_error(state, "--color: expected always, never or auto, got '%s'", arg);
        break;
    case KEY_LIST:
        args->mode = PFC_BENCH_LIST;
        break;
    case KEY_COVERAGE:
        args->mode = PFC_BENCH_COVERAGE;
        break;
    case KEY_PEERS:
        args->mode = PFC_BENCH_PEERS;
        break;
    case KEY_NOISE:
        args->noise = true;
        args->mode = PFC_BENCH_PAIRS;
        break;
    case KEY_EXACT:
        args->exact = true;
        break;
    case KEY_CALL:
        args->mode = PFC_BENCH_CALL;
        break;
    case KEY_BLOCK:
        args->mode = PFC_BENCH_BLOCK;
        break;
    case KEY_TUNE:
        args->mode = PFC_BENCH_TUNE;
        break;
    case KEY_UNTUNE:
        args->mode = PFC_BENCH_UNTUNE;
        break;
    case KEY_CEILINGS:
        args->mode = PFC_BENCH_CEILINGS;
        break;
    case KEY_SVG:
        args->svg = arg;
        break;
    case KEY_COUNTERS:
        if (strcmp(arg, "list") == 0)
            args->mode = PFC_BENCH_COUNTERS;
        else if (pfc_counter_parse(arg, &(pfc_counter_set){ .len = 0 }, &err))
            argp_error(state, "--counters: %s", err.msg);
        args->counters = arg;
        break;
    case KEY_CANARY:
        args->mode = PFC_BENCH_CANARY;
        break;
    case KEY_BEFORE:
        args->before = arg;
        break;
    case KEY_MACHINE:
        args->mode = PFC_BENCH_MACHINE;
        break;
    case KEY_WAIT_QUIET:
        if (pfc_parse_duration_s(arg, "--wait-quiet", &args->wait_quiet_s, &err))
            argp_error(state, "%s", err.msg);
        break;
    case KEY_SERVE:
        args->mode = PFC_BENCH_SERVE;
        break;
    case KEY_SIDE_A:
    case KEY_SIDE_B:
        args->sides[key == KEY_SIDE_B] = arg;
        args->mode = PFC_BENCH_PAIRS;
        break;
    case KEY_MARGIN:
        if (pfc_parse_double(arg, 1e-6, 10.0, "--margin", &args->margin, &err))
            argp_error(state, "%s", err.msg);
        break;
    case KEY_SEED:
        if (pfc_parse_i64(arg, 1, INT64_MAX, "--seed", &args->seed, &err))
            argp_error(state, "%s", err.msg);
        break;
    case KEY_NO_PIN:
        args->pin = false;
        break;
    case ARGP_KEY_ARG:
        argp_error(state, "expected no arguments, got '%s' (a suite is given with --suite)", arg);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

void pfc_bench_args_parse(int argc, char **argv, pfc_bench_args *out)
{
    static const struct argp argp = { options, parse_option, NULL, doc, NULL, NULL, NULL };

    *out = (pfc_bench_args){ .suite = "quick", .seed = 1, .pin = true, .wait_quiet_s = -1.0 };
    argp_program_version = "perfci-bench " PFC_VERSION;
    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, out);
}
