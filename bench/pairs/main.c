/*
 * perfci-bench-pairs: how often the comparison by pairs is right, on this machine, now.
 *
 * A/A: one build against itself; every "different" is a false alarm. A/B: side B does a stated share
 * of calls more than it is given credit for (real work, not a changed number); every comparison that
 * does not end in "different, slower" is a miss. Real processes, real clocks.
 */
#include <argp.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/pairs.h"
#include "bench/machine/machine.h"
#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/parse.h"

/* Small enough that a hundred calls, the least that make one per cent a whole call, are a sample. */
static const char suite_text[] = "suite: pairs\n"
                                 "settings: {warmup_seconds: 0.01}\n"
                                 "backends: [cpu-scalar, cpu-avx2]\n"
                                 "benchmarks:\n"
                                 "  - {op: gemm, shapes: [{m: 16, n: 16, k: 16}]}          # L1\n"
                                 "  - {op: rmsnorm, shapes: [{rows: 16, cols: 1024}]}      # L2\n";

typedef struct options {
    int64_t aa, ab;
    double rel;
    int64_t max_pairs, quads, samples, warm;
    double margin;
    const char *backend;
    bool json;
} options;

static const char doc[] =
    "Counts false alarms and misses of comparisons by pairs on this machine.\v"
    "Examples:\n"
    "  perfci-bench-pairs                                    200 A/A, 100 with 1 % injected\n"
    "  perfci-bench-pairs --aa 0 --rel 0.005 --max-pairs 200 --margin 0.0025\n"
    "\n"
    "Exit status: 0 counted, 2 usage, 5 nothing could be measured.";

static const struct argp_option argp_options[] = {
    { "aa", 'a', "N", 0, "comparisons of a build with itself (default: 200)", 0 },
    { "ab", 'b', "N", 0, "comparisons with work injected into B (default: 100)", 0 },
    { "rel", 'r', "R", 0, "the injected share (default: 0.01)", 0 },
    { "max-pairs", 'p', "N", 0, "limit for one comparison (default: 100)", 0 },
    { "margin", 'm', "R", 0, "relative change that does not matter (default: half of --rel)", 0 },
    { "quads", 'q', "N", 0, "ABBA rounds of a launch (default: the comparison's)", 0 },
    { "samples", 's', "N", 0, "samples of a turn (default: the comparison's)", 0 },
    { "warm", 'w', "N", 0, "warm-up of a turn in samples (default: the comparison's)", 0 },
    { "backend", 'B', "NAME", 0, "cpu-avx2 (default) or cpu-scalar", 0 },
    { "json", 'j', NULL, 0, "a line of JSON for each count", 0 },
    { 0 },
};

static void check(struct argp_state *state, pfc_code code, const pfc_err *err)
{
    if (code)
        argp_error(state, "%s", err->msg);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    options *o = state->input;
    pfc_err err = { 0 };

    switch (key) {
    case 'a':
        check(state, pfc_parse_i64(arg, 0, 100000, "--aa", &o->aa, &err), &err);
        return 0;
    case 'b':
        check(state, pfc_parse_i64(arg, 0, 100000, "--ab", &o->ab, &err), &err);
        return 0;
    case 'r':
        check(state, pfc_parse_double(arg, 0.001, 1.0, "--rel", &o->rel, &err), &err);
        return 0;
    case 'p':
        check(state, pfc_parse_i64(arg, 32, 100000, "--max-pairs", &o->max_pairs, &err), &err);
        return 0;
    case 'm':
        check(state, pfc_parse_double(arg, 1e-6, 1.0, "--margin", &o->margin, &err), &err);
        return 0;
    case 'q':
        check(state, pfc_parse_i64(arg, 1, 1000, "--quads", &o->quads, &err), &err);
        return 0;
    case 's':
        check(state, pfc_parse_i64(arg, 1, PFC_TURN_MAX_SAMPLES, "--samples", &o->samples, &err),
              &err);
        return 0;
    case 'w':
        check(state, pfc_parse_i64(arg, 1, 1000, "--warm", &o->warm, &err), &err);
        return 0;
    case 'B':
        o->backend = arg;
        return 0;
    case 'j':
        o->json = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

typedef struct count {
    size_t different, slower, same, open, failed;
    double pairs, seconds; /* sums */
    double *noise;
} count;

static void add(count *n, size_t i, const pfc_paired *p)
{
    n->noise[i] = p->noise_rel;
    n->pairs += (double)p->pairs;
    n->seconds += p->seconds;
    if (p->status != PFC_STATUS_OK) {
        n->failed++;
        fprintf(stderr, "perfci-bench-pairs: %s\n", p->reason);
    } else if (p->verdict == PFC_VERDICT_DIFFERENT) {
        n->different++;
        n->slower += p->rel_change > 0.0;
    } else if (p->verdict == PFC_VERDICT_SAME) {
        n->same++;
    } else {
        n->open++;
    }
}

static void show(const options *o, const pfc_case *c, double rel, size_t total, const count *n)
{
    const double mean_pairs = n->pairs / (double)total;
    const double noise = pfc_stats_median(n->noise, total);

    if (o->json)
        printf("{\"benchmark\":\"%s\",\"injected_rel\":%g,\"comparisons\":%zu,\"different\":%zu,"
               "\"slower\":%zu,\"same\":%zu,\"inconclusive\":%zu,\"failed\":%zu,"
               "\"mean_pairs\":%.1f,\"noise_rel\":%.5f,\"seconds\":%.1f}\n",
               c->name, rel, total, n->different, n->slower, n->same, n->open, n->failed,
               mean_pairs, noise, n->seconds);
    else
        printf("%-28s %8.2f %6zu %10zu %7zu %5zu %13zu %7.1f %8.2f %8.1f\n", c->name, 100.0 * rel,
               total, n->different, n->slower, n->same, n->open, mean_pairs, 100.0 * noise,
               n->seconds);
    fflush(stdout);
}

static pfc_code series(const options *o, const pfc_case *c, const char *program, double rel,
                       size_t total, pfc_err *err)
{
    pfc_serve_child children[2];
    const pfc_side a = pfc_side_of_program(&children[0], program);
    const pfc_side b = pfc_side_of_program(&children[1], program);
    count n = { .noise = pfc_calloc(total + 1, sizeof(double)) };
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < total && !code; i++) {
        /* two confirmations, two pairs a quad */
        const pfc_paired_opts opts = { .seed = i + 1,
                                       .extra_rel = rel,
                                       .launch_pairs = (size_t)o->quads,
                                       .turns = (size_t)o->samples,
                                       .warm_samples = (size_t)o->warm,
                                       .margin = o->margin > 0.0 ? o->margin : 0.5 * o->rel,
                                       .max_pairs = (size_t)o->max_pairs,
                                       .cpu = pfc_machine_pin_cpu() };
        pfc_paired p;

        code = pfc_paired_run(&a, &b, c, o->backend, &opts, &p, err);
        if (!code)
            add(&n, i, &p);
        pfc_paired_clear(&p);
    }
    if (!code && total)
        show(o, c, rel, total, &n);
    if (!code && n.failed == total && total)
        code =
            pfc_err_set(err, PFC_EUNAVAIL, "%s on %s could not be measured", c->name, o->backend);
    free(n.noise);
    return code;
}

int main(int argc, char **argv)
{
    static const struct argp argp = { argp_options, parse_option, NULL, doc, NULL, NULL, NULL };
    options o = { .aa = 200, .ab = 100, .rel = 0.01, .max_pairs = 100, .backend = "cpu-avx2" };
    pfc_suite *suite = NULL;
    char *dir = NULL;
    char *program = NULL;
    pfc_err err = { 0 };
    pfc_code code;

    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, &o);
    code = pfc_suite_parse(suite_text, strlen(suite_text), "pairs", &suite, &err);
    if (!code)
        code = pfc_fs_program_dir(&dir, &err);
    program = dir ? pfc_fs_join(dir, "perfci-bench") : NULL;
    if (!code && !o.json)
        printf("%-28s %8s %6s %10s %7s %5s %13s %7s %8s %8s\n", "benchmark", "injected", "runs",
               "different", "slower", "same", "inconclusive", "pairs", "noise %", "seconds");
    for (size_t i = 0; !code && i < suite->cases_len; i++) {
        code = series(&o, &suite->cases[i], program, 0.0, (size_t)o.aa, &err);
        if (!code)
            code = series(&o, &suite->cases[i], program, o.rel, (size_t)o.ab, &err);
    }
    if (code)
        fprintf(stderr, "perfci-bench-pairs: %s\n", err.msg);
    pfc_suite_free(suite);
    free(program);
    free(dir);
    return code ? pfc_code_exit(code) : 0;
}
