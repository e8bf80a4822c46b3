/* Real processes and real clocks: comparisons whose right answer is known. */
#include "bench/studies/interleaving/study.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/machine/machine.h"
#include "core/base/clock.h"

/* A kernel, and how work is injected: `grow` names the parameter of which B has more (rows are
 * independent, so a hundredth more of them is a hundredth more work); NULL: more calls, for kernels
 * so small that a sample is hundreds of them. */
typedef struct kernel {
    pfc_study_kernel shown;
    const char *op, *params; /* as a suite has them */
    const char *grow;
    double warmup_s;
    size_t copies, turns; /* 0: as comparisons are */
} kernel;

static const kernel kernels[] = {
    { { "l1", "3 KiB: L1" }, "gemm", "m: 16, n: 16, k: 16", NULL, 0.01, 0, 0 },
    { { "l2", "400 KiB: L2" }, "rmsnorm", "rows: 200, cols: 256", "rows", 0.01, 0, 0 },
    { { "l3", "32 MiB: L3" }, "rmsnorm", "rows: 1000, cols: 4096", "rows", 0.05, 0, 0 },
    /* problems that calls go round: each finds its operands in memory. Calls of 0.3 ms, since a
     * neighbour's burst lasts as long, and arenas of whole huge pages: in small pages, launches of
     * the larger side came at one of two levels, 4 % apart */
    { { "dram", "100 MiB a side, taking turns: DRAM" },
      "rmsnorm",
      "rows: 100, cols: 4096",
      "rows",
      0.05,
      32,
      100 },
};

const pfc_study_kernel *pfc_study_kernels(size_t *len)
{
    static pfc_study_kernel shown[PFC_ARRAY_LEN(kernels)];

    for (size_t i = 0; i < PFC_ARRAY_LEN(kernels); i++)
        shown[i] = kernels[i].shown;
    *len = PFC_ARRAY_LEN(kernels);
    return shown;
}

static const kernel *find(const char *name)
{
    for (size_t i = 0; i < PFC_ARRAY_LEN(kernels); i++) {
        if (strcmp(kernels[i].shown.name, name) == 0)
            return &kernels[i];
    }
    return NULL;
}

static pfc_code suite_of(const kernel *k, pfc_suite **out, pfc_err *err)
{
    char *text = pfc_format("suite: pairs\nsettings: {warmup_seconds: %g}\nbackends: [cpu-scalar]\n"
                            "benchmarks:\n  - {op: %s, shapes: [{%s}]}\n",
                            k->warmup_s, k->op, k->params);
    const pfc_code code = pfc_suite_parse(text, strlen(text), "pairs", out, err);

    free(text);
    return code;
}

/* B's problem: `rel` more of one parameter, exactly. */
static pfc_code grow(const pfc_case *c, const char *name, double rel, pfc_case *out, pfc_err *err)
{
    *out = *c;
    for (size_t i = 0; i < c->op->params_len; i++) {
        double more;
        if (strcmp(c->op->params[i].name, name) != 0)
            continue;
        more = (double)c->params[i] * rel;
        if (fabs(more - round(more)) > 1e-9)
            return pfc_err_set(err, PFC_EINVAL,
                               "--inject: %g %% of the %lld %s of this kernel is no whole number",
                               100.0 * rel, (long long)c->params[i], name);
        out->params[i] += (int64_t)llround(more);
    }
    return PFC_OK;
}

static pfc_code compare(const pfc_study_opts *o, const kernel *k, const pfc_case *c, double left_s,
                        pfc_tally *t, pfc_err *err)
{
    pfc_serve_child children[2];
    const pfc_side a = pfc_side_of_program(&children[0], o->program);
    const pfc_side b = pfc_side_of_program(&children[1], o->program);
    const double margin = o->margin > 0.0 ? o->margin : 0.5 * o->inject_rel;
    pfc_paired_opts opts = { .seed = t->done + t->failed + 1,
                             .launch_pairs = (size_t)o->launch_pairs,
                             .turns = o->turns ? (size_t)o->turns : k->turns,
                             .copies = k->copies,
                             .warm_samples = (size_t)o->warm,
                             .margin = margin,
                             .max_pairs = (size_t)o->max_pairs,
                             .max_seconds = fmin(o->max_seconds, left_s),
                             .cpu = pfc_machine_pin_cpu() };
    pfc_case larger;
    pfc_pair_result p = { 0 };
    pfc_code code = PFC_OK;

    if (t->inject_rel > 0.0 && k->grow) {
        code = grow(c, k->grow, t->inject_rel, &larger, err);
        opts.case_b = &larger;
    } else {
        opts.extra_rel = t->inject_rel;
    }
    if (!code)
        code = pfc_paired_run(&a, &b, c, o->backend, &opts, &p, err);
    if (!code && p.status != PFC_STATUS_OK)
        fprintf(stderr, "perfci-bench-pairs: %s\n", p.reason);
    if (!code && o->raw && p.status == PFC_STATUS_OK) {
        fprintf(o->raw,
                "{\"benchmark\":\"%s\",\"injected_rel\":%g,\"verdict\":%d,\"pairs\":%zu,"
                "\"launch_log_ratios\":[",
                t->benchmark, t->inject_rel, (int)p.verdict, p.pairs);
        for (size_t i = 0; i < p.launches; i++)
            fprintf(o->raw, "%s%.6g", i ? "," : "", p.log_ratio[i]);
        fprintf(o->raw, "],\"a_ns\":[");
        for (size_t i = 0; i < p.samples_len; i++)
            fprintf(o->raw, "%s%.6g", i ? "," : "", p.a[i]);
        fprintf(o->raw, "],\"b_ns\":[");
        for (size_t i = 0; i < p.samples_len; i++)
            fprintf(o->raw, "%s%.6g", i ? "," : "", p.b[i]);
        fprintf(o->raw, "]}\n");
        fflush(o->raw);
    }
    /* One that the end of the study cut short says nothing about the rule. */
    if (!code && (p.seconds < left_s || p.verdict != PFC_VERDICT_INCONCLUSIVE))
        pfc_tally_add(t, &p);
    /* One that ended early as "same" has too few launches to be judged again. */
    if (!code && p.status == PFC_STATUS_OK && t->inject_rel <= 0.0 &&
        p.verdict == PFC_VERDICT_INCONCLUSIVE && p.pairs >= (size_t)o->max_pairs)
        pfc_tally_shift(t, &p, o->inject_rel, p.launches);
    pfc_paired_clear(&p);
    return code;
}

/* Where it stands: by what the comparisons of each count took so far. */
static void tell(const pfc_study_opts *o, const pfc_tally *tallies, size_t len, int64_t started)
{
    const double elapsed = (double)(pfc_clock_ns() - started) * 1e-9;
    double left = 0.0;
    size_t done = 0;
    size_t wanted = 0;

    for (size_t i = 0; i < len; i++) {
        const pfc_tally *t = &tallies[i];
        const size_t made = t->done + t->failed;

        done += made;
        wanted += t->wanted;
        if (made)
            left += t->seconds / (double)made * (double)(t->wanted - made);
    }
    if (o->minutes > 0.0)
        left = fmin(left, fmax(60.0 * o->minutes - elapsed, 0.0));
    fprintf(stderr, "%s%zu of %zu comparisons, %.0f s, about %.0f s left%s",
            isatty(STDERR_FILENO) ? "\r" : "perfci-bench-pairs: ", done, wanted, elapsed, left,
            isatty(STDERR_FILENO) ? "\033[K" : "\n");
}

/* Counts in turns, so that an end before time leaves something of each. */
static pfc_code run_all(const pfc_study_opts *o, pfc_suite *const *suites, pfc_tally *tallies,
                        size_t len, pfc_err *err)
{
    const int64_t started = pfc_clock_ns();
    int64_t last_shown = 0;
    bool more = true;

    while (more) {
        more = false;
        for (size_t i = 0; i < len; i++) {
            pfc_tally *t = &tallies[i];
            const double elapsed = (double)(pfc_clock_ns() - started) * 1e-9;
            const double left = o->minutes > 0.0 ? 60.0 * o->minutes - elapsed : 1e9;
            pfc_code code;

            if (t->done + t->failed >= t->wanted)
                continue;
            if (left <= 0.0)
                return PFC_OK;
            code = compare(o, find(t->kernel), &suites[i]->cases[0], left, t, err);
            if (code)
                return code;
            more = true;
            if (!o->quiet &&
                (isatty(STDERR_FILENO) || pfc_clock_ns() - last_shown > 10 * PFC_NS_PER_S)) {
                last_shown = pfc_clock_ns();
                tell(o, tallies, len, started);
            }
        }
    }
    return PFC_OK;
}

static pfc_code prepare(const char *kernel_name, double rel, int64_t n, pfc_suite **suite,
                        pfc_tally *t, pfc_err *err)
{
    const kernel *k = find(kernel_name);
    pfc_code code = suite_of(k, suite, err);

    if (code)
        return code;
    *t = (pfc_tally){ .kernel = k->shown.name,
                      .benchmark = pfc_strdup((*suite)->cases[0].name),
                      .inject_rel = rel,
                      .wanted = (size_t)n,
                      .pairs = pfc_calloc((size_t)n, sizeof(double)),
                      .noise = pfc_calloc((size_t)n, sizeof(double)),
                      .change = pfc_calloc((size_t)n, sizeof(double)) };
    return PFC_OK;
}

pfc_code pfc_study_run(const pfc_study_opts *o, FILE *out, bool *kept, pfc_err *err)
{
    pfc_suite *suites[2 * PFC_STUDY_MAX_KERNELS] = { NULL };
    pfc_tally tallies[2 * PFC_STUDY_MAX_KERNELS] = { 0 };
    pfc_busy busy = { .len = 0 };
    size_t len = 0;
    size_t done = 0;
    pfc_code code = PFC_OK;

    for (size_t k = 0; k < o->kernels_len && !code; k++) {
        if (!code && o->aa) {
            code = prepare(o->kernels[k], 0.0, o->aa, &suites[len], &tallies[len], err);
            len++;
        }
        if (!code && o->ab) {
            code = prepare(o->kernels[k], o->inject_rel, o->ab, &suites[len], &tallies[len], err);
            len++;
        }
    }
    if (!code)
        code = pfc_busy_start(&busy, (size_t)o->busy, err);
    if (!code)
        code = run_all(o, suites, tallies, len, err);
    pfc_busy_stop(&busy);
    if (!o->quiet && isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K");
    if (!code && !o->json)
        pfc_tally_head(out);
    for (size_t i = 0; i < len; i++) {
        if (!code && o->json)
            pfc_tally_json(out, &tallies[i]);
        else if (!code)
            pfc_tally_row(out, &tallies[i]);
        done += tallies[i].done;
    }
    *kept = code || pfc_study_verdict(o, tallies, len, out);
    for (size_t i = 0; i < len; i++) {
        pfc_tally_clear(&tallies[i]);
        pfc_suite_free(suites[i]);
    }
    if (!code && len && !done)
        code = pfc_err_set(err, PFC_EUNAVAIL, "nothing could be measured on %s", o->backend);
    return code;
}
