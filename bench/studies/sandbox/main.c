/*
 * perfci-bench-sandbox: the cost of a job's sandbox on this machine, now.
 *
 * Each round measures the suite bare and in the sandbox, in an order that is drawn; the result is
 * the median over the rounds of the ratio, so that slow changes of the machine cancel.
 */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/studies/sandbox/cost.h"
#include "core/base/fs.h"
#include "core/base/parse.h"

#define GOAL_REL        0.005 /* of the suite's median */
#define GOAL_NOISE      0.05
#define GOAL_START_MS   30.0
#define MAX_SUITE_BYTES (1u << 20)

enum { STARTS = 256, MINUTES, SEED };

typedef struct options {
    pfc_cost_opts cost;
    bool check;
} options;

static const char doc[] =
    "Measures a suite in the sandbox of a job and without it, in interleaved rounds.\v"
    "Examples:\n"
    "  perfci-bench-sandbox --suite bench/studies/sandbox/small.yaml --rounds 100\n"
    "  perfci-bench-sandbox --rounds 20 --minutes 30\n"
    "\n"
    "Exit status: 0 measured; with --check 1 when a goal is missed (0.5 % with its interval, 5 % "
    "noise,\n30 ms to start); 2 usage, 5 nothing could be measured or isolated.";

static const struct argp_option argp_options[] = {
    { "suite", 's', "FILE", 0, "file or name (default: quick)", 0 },
    { "bench", 'b', "FILE", 0, "perfci-bench (default: the one beside this program)", 0 },
    { "rounds", 'r', "N", 0, "each measures both sides once (default: 40)", 0 },
    { "starts", STARTS, "N", 0, "program starts of each side (default: 300)", 0 },
    { "minutes", MINUTES, "M", 0, "begin no round after so long (default: no limit)", 0 },
    { "seed", SEED, "N", 0, "of the order within the rounds (default: 1)", 0 },
    { "check", 'c', NULL, 0, "say by the exit status whether the goals are met", 0 },
    { 0 },
};

static void whole(struct argp_state *state, const char *arg, int64_t min, int64_t max,
                  const char *name, size_t *out)
{
    pfc_err err = { 0 };
    int64_t value = 0;

    if (pfc_parse_i64(arg, min, max, name, &value, &err))
        argp_error(state, "%s", err.msg);
    *out = (size_t)value;
}

static error_t take(int key, char *arg, struct argp_state *state)
{
    options *o = state->input;
    size_t value = 0;

    switch (key) {
    case 's':
        o->cost.suite = arg;
        return 0;
    case 'b':
        o->cost.bench = arg;
        return 0;
    case 'r':
        whole(state, arg, 2, PFC_COST_MAX_ROUNDS, "--rounds", &o->cost.rounds);
        return 0;
    case STARTS:
        whole(state, arg, 10, PFC_COST_MAX_STARTS, "--starts", &o->cost.starts);
        return 0;
    case MINUTES:
        whole(state, arg, 1, 1440, "--minutes", &value);
        o->cost.max_s = 60.0 * (double)value;
        return 0;
    case SEED:
        whole(state, arg, 0, INT64_MAX, "--seed", &value);
        o->cost.seed = value;
        return 0;
    case 'c':
        o->check = true;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "unexpected argument \"%s\"", arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void print_change(const char *name, const pfc_interval *i, const double noise[2])
{
    printf("| %s | %+.3f %% | %+.3f to %+.3f %% | %.2f %% | %.2f %% |\n", name, 100 * i->value,
           100 * i->low, 100 * i->high, 100 * noise[0], 100 * noise[1]);
}

static void print_start(const char *name, const pfc_interval *i)
{
    printf("| %s | %.2f ms | %.2f to %.2f ms |\n", name, i->value, i->low, i->high);
}

static void print(const pfc_cost *cost, const pfc_cost_opts *opts)
{
    printf("%zu rounds; %s; %s\n\n", cost->rounds, pfc_sandbox_description(opts->sandbox),
           opts->cgroups ? pfc_cgroups_description(opts->cgroups) : "no control group");
    printf("| benchmark | sandboxed against bare | 95 %% interval | noise, bare | noise, sandboxed "
           "|\n|---|---:|---|---:|---:|\n");
    for (size_t i = 0; i < cost->rows_len; i++)
        print_change(cost->rows[i].name, &cost->rows[i].rel, cost->rows[i].noise);
    print_change("**suite**", &cost->rel, cost->noise);
    printf("\n| start and end of /bin/true | median | 95 %% interval |\n|---|---:|---|\n");
    print_start("bare", &cost->start_ms[0]);
    print_start("sandboxed", &cost->start_ms[1]);
    print_start("difference", &cost->start_extra_ms);
}

static bool goals_met(const pfc_cost *cost)
{
    return cost->rel.low > -GOAL_REL && cost->rel.high < GOAL_REL && cost->noise[0] < GOAL_NOISE &&
           cost->noise[1] < GOAL_NOISE && cost->start_ms[1].value < GOAL_START_MS;
}

/* A suite's file must be where the sandboxed side sees it: in the folder to measure in. */
static pfc_code bring_suite(options *o, const char *dir, char **copy, pfc_err *err)
{
    char *text = NULL;
    size_t len = 0;
    pfc_code code;

    *copy = NULL;
    if (!pfc_fs_exists(o->cost.suite))
        return PFC_OK;
    code = pfc_fs_read(o->cost.suite, MAX_SUITE_BYTES, &text, &len, err);
    if (!code) {
        *copy = pfc_fs_join(dir, "suite.yaml");
        code = pfc_fs_write_atomic(*copy, text, len, 0644, err);
        o->cost.suite = *copy;
    }
    free(text);
    return code;
}

/* In `work`, which holds the sandbox's own files, is a folder to measure in. */
static pfc_code run(options *o, const char *work, pfc_cost *cost, pfc_err *err)
{
    char *dir = pfc_fs_join(work, "tree"), *suite = NULL;
    pfc_sandbox *sandbox = NULL;
    pfc_cgroups *cgroups = NULL;
    pfc_err none = { 0 };
    pfc_code code = pfc_fs_mkdirs(dir, 0755, err);

    if (!code)
        code = bring_suite(o, dir, &suite, err);
    if (!code)
        code = pfc_sandbox_open(&(pfc_sandbox_opts){ .dir = work }, &sandbox, err);
    if (!code && pfc_cgroups_open(NULL, &cgroups, &none))
        fprintf(stderr, "no control group: %s\n", none.msg);
    o->cost.dir = dir;
    o->cost.sandbox = sandbox;
    o->cost.cgroups = cgroups;
    if (!code)
        code = pfc_cost_measure(&o->cost, cost, err);
    if (!code)
        print(cost, &o->cost);
    pfc_cgroups_close(cgroups);
    pfc_sandbox_close(sandbox);
    free(suite);
    free(dir);
    return code;
}

int main(int argc, char **argv)
{
    static const struct argp argp = { argp_options, take, NULL, doc, NULL, NULL, NULL };
    options o = { .cost = { .suite = "quick", .rounds = 40, .starts = 300, .seed = 1 } };
    pfc_cost *cost = pfc_calloc(1, sizeof(*cost));
    char *work = NULL;
    pfc_err err = { 0 };
    bool met = true;
    pfc_code code;

    argp_parse(&argp, argc, argv, 0, NULL, &o);
    code = pfc_fs_temp_dir("perfci-sandbox", &work, &err);
    if (!code)
        code = run(&o, work, cost, &err);
    if (code)
        fprintf(stderr, "perfci-bench-sandbox: %s\n", err.msg);
    else
        met = !o.check || goals_met(cost);
    if (work && pfc_fs_remove_tree(work, &err))
        fprintf(stderr, "%s\n", err.msg);
    pfc_cost_clear(cost);
    free(cost);
    free(work);
    return code ? 5 : met ? 0 : 1;
}
