/*
 * perfci-bench-pairs: how often the comparison by pairs is right, on this machine, now.
 *
 * A/A: one build against itself; every "different" is a false alarm. A/B: side B does a stated
 * share of work more than it is given credit for (real work, not a changed number); every
 * comparison that does not end in "different, slower" is a miss. Real processes, real clocks.
 */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bench/studies/interleaving/study.h"
#include "core/base/fs.h"
#include "core/base/parse.h"

typedef struct options {
    pfc_study_opts study;
    int64_t simulate;
    double percent;
    const char *raw;
} options;

enum { LAUNCH_PAIRS = 256, TURNS, WARM, SIMULATE, RAW, MAX_SECONDS };

static const char doc[] =
    "Counts false alarms and misses of comparisons by pairs on this machine.\v"
    "Examples:\n"
    "  perfci-bench-pairs --aa 200 --ab 0 --busy 2           false alarms on a busy machine\n"
    "  perfci-bench-pairs --aa 200 --ab 0 --margin 0.02 --inject 0.5   and coverage of intervals\n"
    "  perfci-bench-pairs --aa 0 --ab 100 --inject 0.5 --max-pairs 200\n"
    "  perfci-bench-pairs --kernel dram --aa 0 --ab 100 --inject 2 --max-pairs 500 --minutes 10\n"
    "  perfci-bench-pairs --simulate 2000                    coverage and drift on modelled "
    "builds\n"
    "\n"
    "Exit status: 0 counted, 1 false alarms or intervals are off by more than chance explains,\n"
    "2 usage, 5 nothing could be measured.";

static const struct argp_option argp_options[] = {
    { "aa", 'a', "N", 0, "comparisons of a build with itself, of each kernel (default: 20)", 0 },
    { "ab", 'b', "N", 0, "comparisons with work injected into B (default: 20)", 0 },
    { "inject", 'i', "PCT", 0,
      "the injected share in per cent (default: 1); of --aa, what is added to its launches", 0 },
    { "kernel", 'k', "NAME", 0,
      "l1, l2, l3 or dram; can be given more than once (default: l1 and l2)", 0 },
    { "backend", 'B', "NAME", 0, "cpu-avx2 (default), cpu-scalar, cpu-avx512, ...", 0 },
    { "max-pairs", 'p', "N", 0, "limit for one comparison (default: 100)", 0 },
    { "max-seconds", MAX_SECONDS, "S", 0, "limit for one comparison (default: 60)", 0 },
    { "margin", 'm', "PCT", 0, "change that does not matter (default: half of --inject)", 0 },
    { "busy", 'y', "N", 0, "keep N processes busy meanwhile (default: 0)", 0 },
    { "minutes", 'M', "M", 0, "stop after so long with what there is (default: no limit)", 0 },
    { "simulate", SIMULATE, "N", 0, "N comparisons of modelled builds a row, nothing measured", 0 },
    { "raw", RAW, "FILE", 0, "all samples, a line of JSON for each comparison", 0 },
    { "json", 'j', NULL, 0, "a line of JSON for each count", 0 },
    { "quiet", 'q', NULL, 0, "no progress", 0 },
    { "launch-pairs", LAUNCH_PAIRS, "N", 0, "pairs of a launch (default: the comparison's)", 1 },
    { "turns", TURNS, "N", 0, "turns of a side in a pair (default: the comparison's)", 1 },
    { "warm", WARM, "N", 0, "warm-up of a turn in samples (default: the comparison's)", 1 },
    { 0 },
};

static void check(struct argp_state *state, pfc_code code, const pfc_err *err)
{
    if (code)
        argp_error(state, "%s", err->msg);
}

static void whole(struct argp_state *state, const char *arg, int64_t min, int64_t max,
                  const char *name, int64_t *out)
{
    pfc_err err = { 0 };

    check(state, pfc_parse_i64(arg, min, max, name, out, &err), &err);
}

static void real(struct argp_state *state, const char *arg, double min, double max,
                 const char *name, double *out)
{
    pfc_err err = { 0 };

    check(state, pfc_parse_double(arg, min, max, name, out, &err), &err);
}

static void add_kernel(struct argp_state *state, pfc_study_opts *o, const char *name)
{
    size_t len = 0;
    const pfc_study_kernel *known = pfc_study_kernels(&len);

    for (size_t i = 0; i < len; i++) {
        if (strcmp(known[i].name, name) == 0 && o->kernels_len < PFC_STUDY_MAX_KERNELS) {
            o->kernels[o->kernels_len++] = known[i].name;
            return;
        }
    }
    argp_error(state, "--kernel: expected l1, l2, l3 or dram, at most %d times, got '%.40s'",
               PFC_STUDY_MAX_KERNELS, name);
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    options *o = state->input;
    pfc_study_opts *s = &o->study;

    switch (key) {
    case 'a':
        whole(state, arg, 0, 100000, "--aa", &s->aa);
        return 0;
    case 'b':
        whole(state, arg, 0, 100000, "--ab", &s->ab);
        return 0;
    case 'i':
        real(state, arg, 0.1, 100.0, "--inject", &o->percent);
        s->inject_rel = 0.01 * o->percent;
        return 0;
    case 'k':
        add_kernel(state, s, arg);
        return 0;
    case 'B':
        s->backend = arg;
        return 0;
    case 'p':
        whole(state, arg, 20, 100000, "--max-pairs", &s->max_pairs);
        return 0;
    case MAX_SECONDS:
        real(state, arg, 1.0, 36000.0, "--max-seconds", &s->max_seconds);
        return 0;
    case 'm':
        real(state, arg, 1e-4, 100.0, "--margin", &s->margin);
        s->margin *= 0.01;
        return 0;
    case 'y':
        whole(state, arg, 0, 64, "--busy", &s->busy);
        return 0;
    case 'M':
        real(state, arg, 0.01, 10000.0, "--minutes", &s->minutes);
        return 0;
    case SIMULATE:
        whole(state, arg, 1, 1000000, "--simulate", &o->simulate);
        return 0;
    case RAW:
        o->raw = arg;
        return 0;
    case 'j':
        s->json = true;
        return 0;
    case 'q':
        s->quiet = true;
        return 0;
    case LAUNCH_PAIRS:
        whole(state, arg, 1, 1000, "--launch-pairs", &s->launch_pairs);
        return 0;
    case TURNS:
        whole(state, arg, 2, 1000, "--turns", &s->turns);
        return 0;
    case WARM:
        whole(state, arg, 1, 1000, "--warm", &s->warm);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static pfc_code measure(const options *o, bool *kept, pfc_err *err)
{
    pfc_study_opts study = o->study;
    char *dir = NULL;
    char *program = NULL;
    pfc_code code = pfc_fs_program_dir(&dir, err);

    if (code)
        return code;
    program = pfc_fs_join(dir, "perfci-bench");
    study.program = program;
    if (!study.kernels_len) {
        study.kernels[study.kernels_len++] = "l1";
        study.kernels[study.kernels_len++] = "l2";
    }
    if (o->raw) {
        study.raw = fopen(o->raw, "we");
        if (!study.raw)
            code = pfc_err_set(err, PFC_EINVAL, "--raw: %.300s: %s", o->raw, strerror(errno));
    }
    if (!code)
        code = pfc_study_run(&study, stdout, kept, err);
    if (study.raw && fclose(study.raw) != 0 && !code)
        code = pfc_err_set(err, PFC_EIO, "%.300s: %s", o->raw, strerror(errno));
    free(program);
    free(dir);
    return code;
}

int main(int argc, char **argv)
{
    static const struct argp argp = { argp_options, parse_option, NULL, doc, NULL, NULL, NULL };
    options o = { .study = { .aa = 20,
                             .ab = 20,
                             .inject_rel = 0.01,
                             .max_pairs = 100,
                             .max_seconds = 60,
                             .backend = "cpu-avx2" } };
    pfc_err err = { 0 };
    bool kept = true;
    pfc_code code;

    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, &o);
    code = o.simulate ? pfc_study_simulate((size_t)o.simulate, o.study.json, stdout, &kept, &err)
                      : measure(&o, &kept, &err);
    if (code)
        fprintf(stderr, "perfci-bench-pairs: %s\n", err.msg);
    return code ? pfc_code_exit(code) : kept ? 0 : 1;
}
