/*
 * Evidence from a commit's paths and subject. Weights are logarithms of probability ratios;
 * suspects.h names their source, and bench/studies/suspects/ measures their effect.
 */
#include "core/suspects/evidence.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOKEN_MAX = 24, TOKENS_MAX = 12, REASON_MAX = 400 };

#define W_IDENTICAL     (-8.0)
#define W_IDENTICAL_BUT (-1.5) /* and it touches a file that is read at run time */
#define W_IDLE          (-6.0) /* only documentation, or files used outside the build */
#define W_TESTS_ONLY    (-4.5)
#define W_IN_GRAPH      0.5
#define W_GRAPH_LOG     0.5 /* x ln of the number of its files that are touched */
#define W_OFF_GRAPH     (-3.0)
#define W_SLICE         1.2 /* x (touched share of moved - of unchanged benchmarks) */
#define W_IN_GLOBS      0.8
#define W_OFF_GLOBS     (-2.0)
#define W_BUILD         (-0.7)
#define W_DEPENDENCY    (-0.3)
#define W_HARNESS       (-1.0)
#define W_OTHER_ONLY    (-2.0) /* data and scripts */
#define W_NAME          1.2
#define W_NAMES         0.6 /* x further tokens of the name */
#define W_OTHER_ISA     (-2.5)
#define W_SIZE          0.35 /* x ln(1 + sources touched) */
#define W_UNKNOWN       (-0.3)
#define W_PAST          0.8 /* x ln of its paths' rate of culprits, relative to the mean */

void pfc_evidence_add(pfc_evidences *e, double weight, const char *fmt, ...)
{
    char text[REASON_MAX];
    va_list args;

    if (e->len == PFC_EVIDENCE_MAX)
        return;
    e->items[e->len] = (pfc_evidence){ .weight = weight };
    if (fmt) {
        va_start(args, fmt);
        (void)vsnprintf(text, sizeof(text), fmt, args);
        va_end(args);
        e->items[e->len].text = pfc_strdup(text);
    }
    e->len++;
}

/* ---- tokens of names ---- */

typedef struct tokens {
    char items[TOKENS_MAX][TOKEN_MAX];
    size_t len;
} tokens;

static bool is_noise(const char *token)
{
    static const char *const common[] = { "cpu", "accel", "bench", "benchmark", "test", "time",
                                          "ns",  "the",   "bm",    "headline",  "src",  "lib",
                                          "for", "and",   "with",  "speed",     "of",   "perf" };
    size_t digits = 0, turns = 0;

    for (size_t i = 0; i < PFC_ARRAY_LEN(common); i++)
        if (strcmp(token, common[i]) == 0)
            return true;
    for (const char *p = token; *p; p++) {
        digits += isdigit((unsigned char)*p) != 0;
        turns += p > token && !isdigit((unsigned char)p[-1]) && isdigit((unsigned char)*p);
    }
    /* "512", "m512n512k512" are shapes. */
    return digits == strlen(token) || turns > 1 || strlen(token) < 2;
}

static void tokenise(const char *text, tokens *out)
{
    char token[TOKEN_MAX];
    size_t len = 0;

    for (const char *p = text ? text : ""; out->len < TOKENS_MAX; p++) {
        if (isalnum((unsigned char)*p)) {
            if (len + 1 < sizeof(token))
                token[len++] = (char)tolower((unsigned char)*p);
            continue;
        }
        token[len] = '\0';
        if (len && !is_noise(token))
            memcpy(out->items[out->len++], token, len + 1);
        len = 0;
        if (!*p)
            break;
    }
}

/* Short tokens must be whole words ("f32"), long ones may be part of a word ("gemm" in "sgemm"). */
static bool path_has_token(const char *path, const char *token)
{
    const size_t len = strlen(token);

    for (const char *p = path; *p; p++) {
        if (strncasecmp(p, token, len) != 0)
            continue;
        if (len >= 4 ||
            ((p == path || !isalnum((unsigned char)p[-1])) && !isalnum((unsigned char)p[len])))
            return true;
    }
    return false;
}

/* ---- instruction sets ---- */

static const struct {
    const char *token;
    char family;
} isas[] = {
    { "avx512", 'x' },    { "avx2", 'x' },        { "avx", 'x' },      { "sse", 'x' },
    { "x86", 'x' },       { "x64", 'x' },         { "haswell", 'x' },  { "skylakex", 'x' },
    { "amx", 'x' },       { "fma3", 'x' },        { "zen", 'x' },      { "neon", 'a' },
    { "aarch64", 'a' },   { "arm64", 'a' },       { "arm", 'a' },      { "armv7", 'a' },
    { "sve", 'a' },       { "sme", 'a' },         { "neoverse", 'a' }, { "power", 'p' },
    { "power8", 'p' },    { "power9", 'p' },      { "power10", 'p' },  { "ppc64", 'p' },
    { "vsx", 'p' },       { "altivec", 'p' },     { "zarch", 's' },    { "s390x", 's' },
    { "loongarch", 'l' }, { "loongarch64", 'l' }, { "lasx", 'l' },     { "lsx", 'l' },
    { "mips", 'm' },      { "mips64", 'm' },      { "msa", 'm' },      { "riscv", 'r' },
    { "riscv64", 'r' },   { "rvv", 'r' },         { "wasm", 'w' },     { "wasmsimd", 'w' },
    { "cuda", 'g' },      { "hip", 'g' },         { "rocm", 'g' },     { "metal", 'g' },
    { "vulkan", 'g' },    { "sycl", 'g' },        { "opencl", 'g' },   { "ocl", 'g' },
    { "hexagon", 'h' },   { "cann", 'c' },        { "musa", 'g' },     { "webgpu", 'g' },
};

/* Whole words only: "arm" is in "warm". */
static bool has_word(const char *text, const char *word)
{
    const size_t len = strlen(word);

    for (const char *p = text; (p = strcasestr(p, word)) != NULL; p++)
        if ((p == text || !isalnum((unsigned char)p[-1])) &&
            (!isalnum((unsigned char)p[len]) || isdigit((unsigned char)p[len])))
            return true;
    return false;
}

static char family_of(const char *text)
{
    for (size_t i = 0; text && i < PFC_ARRAY_LEN(isas); i++)
        if (has_word(text, isas[i].token))
            return isas[i].family;
    return 0;
}

/* ---- one pass over the paths ---- */

typedef struct look {
    size_t count[PFC_PATH_OTHER + 1];
    size_t in_graph, in_globs, foreign; /* paths; foreign: sources of another family */
    const char *graph_path, *globs_path, *build_path, *dependency_path, *foreign_path;
    bool hit[TOKENS_MAX];
    double past; /* ln of the largest ratio */
    const char *past_path;
} look;

static bool lists(const pfc_suspect_sources *s, const char *path)
{
    for (size_t i = 0; i < s->len; i++)
        if (strcmp(s->files[i], path) == 0)
            return true;
    return false;
}

static void look_at_past(const pfc_suspect_case *c, const char *path, double base, look *l)
{
    for (size_t i = 0; i < c->past_len; i++) {
        const pfc_suspect_past *p = &c->past[i];
        double ratio;

        if (strcmp(p->path, path) != 0)
            continue;
        /* Two pseudo-observations at the base rate: a single culprit does not dominate the record
         * of a file. */
        ratio = log((p->guilty + 2 * base) / (p->seen + 2) / base);
        if (!l->past_path || ratio > l->past) {
            l->past = ratio;
            l->past_path = path;
        }
    }
}

static double base_rate(const pfc_suspect_case *c)
{
    double guilty = 0.5, seen = 10;

    for (size_t i = 0; i < c->past_len; i++) {
        guilty += c->past[i].guilty;
        seen += c->past[i].seen;
    }
    return guilty / seen;
}

static void look_at(const pfc_suspect_case *c, const pfc_suspect_commit *commit, const tokens *name,
                    look *l)
{
    const char family = family_of(c->backend);
    const double base = base_rate(c);

    for (size_t i = 0; i < commit->paths_len; i++) {
        const char *path = commit->paths[i];
        const pfc_path_kind kind = pfc_path_kind_of(path);
        const char own = kind == PFC_PATH_SOURCE ? family_of(path) : 0;

        l->count[kind]++;
        if (kind == PFC_PATH_BUILD)
            l->build_path = path;
        if (kind == PFC_PATH_DEPENDENCY)
            l->dependency_path = path;
        if (family && own && own != family) {
            l->foreign++;
            l->foreign_path = path;
        }
        if (c->sources_len && lists(&c->sources[0], path)) {
            l->in_graph++;
            l->graph_path = path;
        }
        if (c->globs_len && pfc_path_fits(path, c->globs, c->globs_len)) {
            l->in_globs++;
            l->globs_path = path;
        }
        if (kind == PFC_PATH_SOURCE)
            for (size_t k = 0; k < name->len; k++)
                l->hit[k] = l->hit[k] || path_has_token(path, name->items[k]);
        look_at_past(c, path, base, l);
    }
}

/* ---- evidence ---- */

static void of_graph(const pfc_suspect_case *c, const look *l, bool has_rules, pfc_evidences *e)
{
    if (!c->sources_len)
        return;
    if (l->in_graph)
        pfc_evidence_add(e, W_IN_GRAPH + W_GRAPH_LOG * log((double)l->in_graph),
                         l->in_graph == 1 ? "touches %s, which %s is built from"
                                          : "touches %s and others that %s is built from",
                         l->graph_path, c->benchmark);
    else if (!has_rules)
        pfc_evidence_add(e, W_OFF_GRAPH, "touches nothing that %s is built from", c->benchmark);
}

static void of_globs(const pfc_suspect_case *c, const look *l, bool has_rules, pfc_evidences *e)
{
    if (!c->globs_len)
        return;
    if (l->in_globs)
        pfc_evidence_add(e, W_IN_GLOBS, "touches %s, one of the paths that perfci.yaml names",
                         l->globs_path);
    else if (!has_rules)
        pfc_evidence_add(e, W_OFF_GLOBS, "touches none of the paths that perfci.yaml names");
}

static bool touches(const pfc_suspect_commit *commit, const pfc_suspect_sources *s)
{
    for (size_t i = 0; i < commit->paths_len; i++)
        if (lists(s, commit->paths[i]))
            return true;
    return false;
}

/* A commit explains a slice when the benchmarks that moved use it and the unchanged ones do not. */
static void of_slice(const pfc_suspect_case *c, const pfc_suspect_commit *commit, pfc_evidences *e)
{
    size_t moved = 0, still = 0, in_moved = 0, in_still = 0;
    double weight;

    for (size_t i = 0; i < c->sources_len; i++) {
        const bool in = touches(commit, &c->sources[i]);

        moved += c->sources[i].moved;
        still += !c->sources[i].moved;
        in_moved += in && c->sources[i].moved;
        in_still += in && !c->sources[i].moved;
    }
    if (!moved || !still || !in_moved)
        return;
    weight = W_SLICE * ((double)in_moved / (double)moved - (double)in_still / (double)still);
    if (in_still < still)
        pfc_evidence_add(
            e, weight,
            "is in %zu of the %zu benchmarks that moved and in %zu of the %zu that stood "
            "still",
            in_moved, moved, in_still, still);
    else
        pfc_evidence_add(e, weight, NULL);
}

static void of_name(const look *l, const tokens *name, pfc_evidences *e)
{
    const char *first = NULL;
    size_t hits = 0;

    for (size_t k = 0; k < name->len; k++) {
        hits += l->hit[k];
        if (l->hit[k] && !first)
            first = name->items[k];
    }
    if (hits)
        pfc_evidence_add(e, W_NAME + W_NAMES * (double)(hits - 1),
                         "touches sources named like the benchmark (\"%s\")", first);
}

static bool says(const char *subject, const char *const *words, size_t len)
{
    for (size_t i = 0; subject && i < len; i++)
        if (strcasestr(subject, words[i]))
            return true;
    return false;
}

static void of_subject(const char *subject, pfc_evidences *e)
{
    static const char *const about_speed[] = { "optimi", "perf",   "speed",   "faster", "vector",
                                               "simd",   "unroll", "inline",  "fuse",   "cache",
                                               "kernel", "tile",   "prefetch" };
    static const char *const about_shape[] = { "refactor",  "rewrite", "rework", "replace",
                                               "switch to", "unify",   "revert", "simplif" };
    static const char *const about_words[] = { "typo",      "comment",  "doc",    "readme",
                                               "spelling",  "warning",  "format", "license",
                                               "copyright", "changelog" };

    if (says(subject, about_words, PFC_ARRAY_LEN(about_words)))
        pfc_evidence_add(e, -1.0, "its subject names documentation or formatting, not code");
    else if (says(subject, about_speed, PFC_ARRAY_LEN(about_speed)))
        pfc_evidence_add(e, 0.6, "its subject mentions performance");
    else if (says(subject, about_shape, PFC_ARRAY_LEN(about_shape)))
        pfc_evidence_add(e, 0.4, "its subject mentions a rewrite");
}

static void of_rules(const look *l, pfc_evidences *e)
{
    const size_t sources = l->count[PFC_PATH_SOURCE];

    if (l->count[PFC_PATH_DEPENDENCY])
        pfc_evidence_add(e, sources ? 0 : W_DEPENDENCY, "changes a dependency (%s)",
                         l->dependency_path);
    if (l->count[PFC_PATH_BUILD])
        pfc_evidence_add(e, sources ? 0 : W_BUILD, "changes how it is built (%s)", l->build_path);
    if (l->count[PFC_PATH_HARNESS] && !sources && !l->in_graph)
        pfc_evidence_add(e, W_HARNESS, "changes the benchmarks themselves");
}

/* True when no file that it touches can affect the benchmark. */
static bool is_idle(const look *l, pfc_evidences *e)
{
    const size_t idle = l->count[PFC_PATH_DOC] + l->count[PFC_PATH_CI];
    const size_t busy = l->count[PFC_PATH_SOURCE] + l->count[PFC_PATH_BUILD] +
                        l->count[PFC_PATH_DEPENDENCY] + l->count[PFC_PATH_HARNESS] +
                        l->count[PFC_PATH_OTHER];

    if (l->in_graph || l->in_globs || busy)
        return false;
    if (l->count[PFC_PATH_TEST]) {
        pfc_evidence_add(e, W_TESTS_ONLY, "touches tests only");
        return false;
    }
    if (idle)
        pfc_evidence_add(e, W_IDLE, "touches documentation and the like only");
    return idle > 0;
}

/* Equal code rules out, unless the commit touches what the project names as read at run time.
 * Nothing is guessed from names: FAQ and a template of a header were taken for such files, and no
 * program reads them. */
static bool of_identity(const pfc_suspect_commit *commit, pfc_evidences *e)
{
    if (!commit->identical)
        return false;
    if (commit->runtime)
        pfc_evidence_add(e, W_IDENTICAL_BUT,
                         "its object code is that of the commit before, but it touches %s, which "
                         "is read while the program runs",
                         commit->runtime);
    else
        pfc_evidence_add(e, W_IDENTICAL, "its object code is that of the commit before");
    return !commit->runtime;
}

bool pfc_evidence_of_commit(const pfc_suspect_case *c, const pfc_suspect_commit *commit,
                            pfc_evidences *e)
{
    tokens name = { .len = 0 };
    look l = { .count = { 0 } };
    const bool identical = of_identity(commit, e);
    bool rules, idle;

    if (!commit->paths_known || commit->paths_len == 0) {
        pfc_evidence_add(e, W_UNKNOWN, "its changed files are unknown");
        return identical;
    }
    tokenise(c->benchmark, &name);
    tokenise(c->backend, &name);
    look_at(c, commit, &name, &l);
    idle = is_idle(&l, e);
    if (idle || l.count[PFC_PATH_TEST] == commit->paths_len)
        return idle || identical;
    rules = l.count[PFC_PATH_BUILD] + l.count[PFC_PATH_DEPENDENCY] > 0;
    of_graph(c, &l, rules, e);
    of_globs(c, &l, rules, e);
    of_slice(c, commit, e);
    of_name(&l, &name, e);
    of_rules(&l, e);
    if (l.foreign && l.foreign == l.count[PFC_PATH_SOURCE])
        pfc_evidence_add(e, W_OTHER_ISA, "touches sources of another instruction set only (%s)",
                         l.foreign_path);
    if (l.count[PFC_PATH_SOURCE])
        pfc_evidence_add(e, W_SIZE * log1p((double)l.count[PFC_PATH_SOURCE]), NULL);
    else if (!rules && !l.count[PFC_PATH_HARNESS] && !l.in_graph && !l.in_globs)
        pfc_evidence_add(e, W_OTHER_ONLY, "touches no source");
    of_subject(commit->subject, e);
    if (l.past_path)
        pfc_evidence_add(e, W_PAST * fmin(fmax(l.past, -1), 2),
                         l.past > 0 ? "earlier regressions came from %s" : NULL, l.past_path);
    return identical;
}
