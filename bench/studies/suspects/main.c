/*
 * How often are the suspects right, without a single re-run?
 *
 * Real histories (order, subjects and touched files of OpenBLAS and ggml), benchmarks with the
 * source folders that their library is built from, and a slow commit: nine times of ten a change of
 * one file is drawn, uniformly among all changes of files that can reach the benchmark (built into
 * its library, not named after another operation), and the commit that made it is slow; one time of
 * ten a commit that changes the build's rules. The series is measured at every k-th commit, k drawn
 * between 2 and 10, with 1 % noise around a step of 4 to 15 %; the range asked about is the gap of
 * the step and both its neighbours. Every commit of the range is then ranked by
 * core/suspects/suspects.h.
 */
#include <argp.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/studies/suspects/history.h"
#include "core/base/rng.h"
#include "core/suspects/suspects.h"

#define NOISE     0.01
#define CONTEXT   40 /* commits measured before and after the range */
#define PER_OP    4
#define BUILD_PER 10 /* one drawn culprit of so many changes the build */

/* Folders as the two build systems put them into one library a backend. */
static const char *const ggml_shared[] = {
    "src/ggml.c", "src/ggml-quants.c", "src/ggml-backend.cpp", "src/ggml-alloc.c",
    "include",    "src/ggml-impl.h",   "src/ggml-common.h",    NULL
};
static const char *const openblas_shared[] = { "interface", "driver",  "kernel/generic",
                                               "common*.h", "param.h", NULL };

/* A benchmark and the files of its library. */
typedef struct bench {
    const char *history, *name, *backend;
    const char *const *shared;
    const char *own;        /* the backend's folder */
    const char *op[PER_OP]; /* how its files may be named; a file named after another
                                       operation and not after this one cannot reach it */
} bench;

/* Operations in the names of files. */
static const char *const operations[] = {
    "gemm",   "gemv",     "symv",    "symm",     "trsm",    "trmm", "trsv",    "trmv",
    "axpy",   "axpby",    "dot",     "scal",     "nrm2",    "asum", "amax",    "amin",
    "swap",   "rot",      "copy",    "omatcopy", "mmq",     "mmv",  "mul_mat", "mul-mat",
    "soft",   "flash",    "fattn",   "norm",     "rope",    "conv", "ssm",     "wkv",
    "cpy",    "get_rows", "getrows", "set_rows", "argsort", "pool", "upscale", "im2col",
    "glu",    "unary",    "sum",     "cumsum",   "top-k",   "topk", "moe",     "pad",
    "concat", "quantize",
};

static const bench benches[] = {
    { "ggml",
      "mul_mat/q4_0",
      "cpu-avx2",
      ggml_shared,
      "src/ggml-cpu",
      { "mmq", "mmv", "mul_mat", "gemm" } },
    { "ggml", "soft_max/f32", "cpu-avx2", ggml_shared, "src/ggml-cpu", { "soft" } },
    { "ggml", "flash_attn/f16", "cuda", ggml_shared, "src/ggml-cuda", { "flash", "fattn" } },
    { "ggml",
      "mul_mat/q8_0",
      "vulkan",
      ggml_shared,
      "src/ggml-vulkan",
      { "mmq", "mmv", "mul_mat", "gemm" } },
    { "ggml",
      "mul_mat/f16",
      "metal",
      ggml_shared,
      "src/ggml-metal",
      { "mmq", "mmv", "mul_mat", "gemm" } },
    { "ggml", "norm/f32", "opencl", ggml_shared, "src/ggml-opencl", { "norm" } },
    { "openblas", "sgemm", "cpu-avx2", openblas_shared, "kernel/x86_64", { "gemm" } },
    { "openblas", "dgemv", "cpu-neon", openblas_shared, "kernel/arm64", { "gemv" } },
    { "openblas", "sdot", "riscv", openblas_shared, "kernel/riscv64", { "dot" } },
    { "openblas", "dgemm", "loongarch64", openblas_shared, "kernel/loongarch64", { "gemm" } },
    { "openblas", "zaxpy", "power", openblas_shared, "kernel/power", { "axpy" } },
};

typedef struct tally {
    size_t cases, top1, top3, commits;
    double said; /* sum of the probabilities given to the first */
    double best; /* sum of the probabilities of an ideal ranking's first suspects */
} tally;

static bool under(const char *path, const char *glob)
{
    char copy[128];
    char *const list[] = { copy };

    (void)snprintf(copy, sizeof(copy), "%s", glob);
    return pfc_path_fits(path, list, 1);
}

static bool is_built_from(const bench *b, const char *path)
{
    if (pfc_path_kind_of(path) != PFC_PATH_SOURCE)
        return false;
    for (size_t i = 0; b->shared[i]; i++)
        if (under(path, b->shared[i]))
            return true;
    return under(path, b->own);
}

static bool is_of_another_operation(const bench *b, const char *path)
{
    const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;

    for (size_t k = 0; k < PER_OP && b->op[k]; k++)
        if (strcasestr(name, b->op[k]))
            return false;
    for (size_t k = 0; k < PFC_ARRAY_LEN(operations); k++)
        if (strcasestr(name, operations[k]))
            return true;
    return false;
}

/* Changes of files in this commit that can have made the benchmark slower. */
static size_t chances(const bench *b, const history_commit *c, bool uniform, bool by_build)
{
    size_t n = 0;

    for (size_t i = 0; i < c->paths_len; i++) {
        if (by_build)
            n += n == 0 && pfc_path_kind_of(c->paths[i]) == PFC_PATH_BUILD;
        else
            n += is_built_from(b, c->paths[i]) &&
                 (uniform ? n == 0 : !is_of_another_operation(b, c->paths[i]));
    }
    return n;
}

/* The probability with which each commit is drawn as the culprit; caller frees. */
static double *chances_of_all(const bench *b, const history *h, bool uniform)
{
    double *p = pfc_calloc(h->len, sizeof(*p));

    for (int by_build = 0; by_build < 2; by_build++) {
        size_t all = 0;

        for (size_t i = CONTEXT + 40; i + CONTEXT + 40 < h->len; i++)
            all += chances(b, &h->commits[i], uniform, by_build);
        for (size_t i = CONTEXT + 40; all && i + CONTEXT + 40 < h->len; i++)
            p[i] += (by_build ? 1.0 / BUILD_PER : 1 - 1.0 / BUILD_PER) *
                    (double)chances(b, &h->commits[i], uniform, by_build) / (double)all;
    }
    return p;
}

/* The probability of the likeliest commit of first .. last. No ranking can be right more often,
 * even if it knows the distribution of the culprit and the gap. */
static double best_possible(const double *p, size_t first, size_t last)
{
    double sum = 0, most = 0;

    for (size_t i = first; i <= last; i++) {
        sum += p[i];
        most = fmax(most, p[i]);
    }
    return sum > 0 ? most / sum : 0;
}

/* 0: there is none (the first one never is). */
static size_t draw_culprit(const bench *b, const history *h, bool uniform, pfc_rng *rng)
{
    const bool by_build = pfc_rng_below(rng, BUILD_PER) == 0;
    size_t found = 0, chosen = 0;

    for (size_t i = CONTEXT + 40; i + CONTEXT + 40 < h->len; i++)
        for (size_t k = chances(b, &h->commits[i], uniform, by_build); k > 0; k--)
            if (pfc_rng_below(rng, ++found) == 0)
                chosen = i;
    return chosen;
}

/* Result of the ranking for one case. */
typedef struct ranking {
    size_t place; /* of the culprit, from 0; SIZE_MAX: it is not in the list */
    double said;  /* probability of the first suspect */
    double best;  /* probability with which an ideal ranking names the culprit first */
    size_t range_len;
} ranking;

static pfc_code rank(const bench *b, const history *h, const double *drawn, size_t culprit,
                     pfc_rng *rng, ranking *out, pfc_err *err)
{
    const size_t every = 2 + (size_t)pfc_rng_below(rng, 9);
    const double step = 0.04 + 0.11 * pfc_rng_double(rng);
    const size_t phase = (size_t)pfc_rng_below(rng, every);
    pfc_suspect_point *points = pfc_calloc(2 * CONTEXT + 3 * every + 2, sizeof(*points));
    const char **files = pfc_calloc(h->files_len, sizeof(*files));
    pfc_suspect_commit *commits;
    pfc_suspect_sources sources = { .benchmark = b->name, .files = files, .moved = true };
    pfc_suspect_case c = { .benchmark = b->name,
                           .backend = b->backend,
                           .metric = "time_ns",
                           .sources = &sources,
                           .sources_len = 1 };
    pfc_suspects s = { 0 };
    size_t n = 0, first, last, before;
    double *places;
    pfc_code code;

    /* Measured: every k-th position; the gap (before, before + k] holds the culprit. */
    before = culprit - 1 - (culprit - 1 + every - phase) % every;
    first = before + 1 - every;
    last = before + 2 * every;
    for (size_t p = first - 1 - (CONTEXT / every) * every; p <= last + CONTEXT; p += every)
        points[n++] = (pfc_suspect_point){ .position = (int64_t)p,
                                           .value = (p >= culprit ? 1 + step : 1) *
                                                    exp(NOISE * pfc_rng_normal(rng)) };
    c.len = last - first + 1;
    places = pfc_calloc(c.len, sizeof(*places));
    pfc_suspects_place(points, n, 1, 1 + step, NOISE, (int64_t)first, c.len, places);
    commits = pfc_calloc(c.len, sizeof(*commits));
    for (size_t i = 0; i < c.len; i++) {
        const history_commit *from = &h->commits[first + i];

        commits[i] = (pfc_suspect_commit){ .subject = from->subject,
                                           .paths = from->paths,
                                           .paths_len = from->paths_len,
                                           .paths_known = from->paths_len > 0,
                                           .place = places[i] };
    }
    for (size_t i = 0; i < h->files_len; i++)
        if (is_built_from(b, h->files[i]))
            files[sources.len++] = h->files[i];
    c.commits = commits;
    code = pfc_suspects_rank(&c, &s, err);
    for (size_t i = 0; !code && i < s.len; i++)
        if (s.items[i].kind == PFC_SUSPECT_IS_COMMIT && first + s.items[i].index == culprit)
            out->place = i;
    if (!code)
        out->said = s.items[0].probability;
    out->best = best_possible(drawn, before + 1, before + every);
    out->range_len = c.len;
    pfc_suspects_clear(&s);
    free(commits);
    free(places);
    free((void *)files);
    free(points);
    return code;
}

typedef struct settings {
    const char *data;
    size_t cases;
    uint64_t seed;
    bool uniform;
    double want_top1, want_top3; /* percent; less is exit 1 */
} settings;

static pfc_code run_bench(const bench *b, const history *h, const settings *s, uint64_t seed,
                          tally *out, pfc_err *err)
{
    double *drawn = chances_of_all(b, h, s->uniform);
    pfc_rng rng;
    pfc_code code = PFC_OK;

    pfc_rng_seed(&rng, seed);
    for (size_t i = 0; i < s->cases && !code; i++) {
        const size_t culprit = draw_culprit(b, h, s->uniform, &rng);
        ranking got = { .place = SIZE_MAX };

        if (!culprit)
            continue;
        code = rank(b, h, drawn, culprit, &rng, &got, err);
        out->cases++;
        out->top1 += got.place == 0;
        out->top3 += got.place < 3;
        out->commits += got.range_len;
        out->said += got.said;
        out->best += got.best;
    }
    free(drawn);
    return code;
}

static void print_row(const char *what, const tally *t)
{
    const double n = (double)PFC_MAX(t->cases, (size_t)1);

    printf("%-34s %6zu %8.1f %8.1f %8.1f %12.1f %8.1f\n", what, t->cases, (double)t->commits / n,
           100 * (double)t->top1 / n, 100 * (double)t->top3 / n, 100 * t->said / n,
           100 * t->best / n);
}

static const struct argp_option options[] = {
    { "data", 'd', "DIR", 0, "Folder of the histories (tests/data/suspects)", 0 },
    { "cases", 'n', "N", 0, "Cases a benchmark (default 100)", 0 },
    { "seed", 's', "N", 0, "Of the draws (default 1)", 0 },
    { "uniform", 'u', 0, 0, "Draw any commit that touches the library, however little of it", 0 },
    { "want-top1", '1', "P", 0, "Exit 1 when fewer percent are named first", 0 },
    { "want-top3", '3', "P", 0, "Likewise among the first three", 0 },
    { 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    settings *s = state->input;

    switch (key) {
    case 'd':
        s->data = arg;
        return 0;
    case 'n':
        s->cases = (size_t)strtoul(arg, NULL, 10);
        if (s->cases < 1 || s->cases > 100000)
            argp_error(state, "--cases: expected 1 to 100000, got \"%s\"", arg);
        return 0;
    case 's':
        s->seed = strtoull(arg, NULL, 10);
        return 0;
    case 'u':
        s->uniform = true;
        return 0;
    case '1':
        s->want_top1 = strtod(arg, NULL);
        return 0;
    case '3':
        s->want_top3 = strtod(arg, NULL);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static bool falls_short(const settings *s, const tally *t)
{
    const double n = (double)PFC_MAX(t->cases, (size_t)1);

    return 100 * (double)t->top1 / n < s->want_top1 || 100 * (double)t->top3 / n < s->want_top3;
}

int main(int argc, char **argv)
{
    static const char *const names[] = { "ggml", "openblas" };
    static const struct argp args = { options, parse, NULL, "How often the suspects are right.",
                                      NULL,    NULL,  NULL };
    settings s = { .data = "tests/data/suspects", .cases = 100, .seed = 1 };
    history histories[PFC_ARRAY_LEN(names)] = { { 0 } };
    tally all = { 0 };
    pfc_err err = { 0 };
    pfc_code code = PFC_OK;

    argp_parse(&args, argc, argv, 0, NULL, &s);
    for (size_t i = 0; i < PFC_ARRAY_LEN(names) && !code; i++) {
        char *path = pfc_format("%s/%s.tsv", s.data, names[i]);

        code = history_read(path, &histories[i], &err);
        free(path);
    }
    if (!code)
        printf("%-34s %6s %8s %8s %8s %12s %8s\n", "benchmark", "cases", "commits", "top 1 %",
               "top 3 %", "said, first", "limit %");
    for (size_t i = 0; i < PFC_ARRAY_LEN(benches) && !code; i++) {
        const bench *b = &benches[i];
        char *what = pfc_format("%s %s %s", b->history, b->name, b->backend);
        tally t = { 0 };

        code = run_bench(b, &histories[strcmp(b->history, "ggml") != 0], &s, s.seed + i, &t, &err);
        print_row(what, &t);
        all.cases += t.cases;
        all.top1 += t.top1;
        all.top3 += t.top3;
        all.commits += t.commits;
        all.said += t.said;
        all.best += t.best;
        free(what);
    }
    if (!code)
        print_row("all", &all);
    for (size_t i = 0; i < PFC_ARRAY_LEN(names); i++)
        history_clear(&histories[i]);
    if (code == PFC_ENOTFOUND) {
        puts("not available");
        return 5;
    }
    if (code)
        fprintf(stderr, "perfci-suspects-bench: %s\n", err.msg);
    return code ? 2 : falls_short(&s, &all);
}
