/* The weight of every piece of evidence against a commit, and what becomes of weights: by hand. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/suspects/evidence.h"

#include "tests/check/check.h"

#define PATHS_MAX 8

static const char *const graph_files[] = { "src/gemm.c", "src/pack.c", "README.md" };
static const char *const other_files[] = { "src/norm.c", "src/pack.c" };
static const char *const third_files[] = { "src/far.c" };
static const pfc_suspect_sources graph = { "gemm", graph_files, 3, true };
static const pfc_suspect_sources slice[] = { { "gemm", graph_files, 3, true },
                                             { "norm", other_files, 2, false },
                                             { "far", third_files, 1, false },
                                             { "pack", other_files, 2, true } };
static char *const globs[] = { "src/gemm*" };

typedef struct row {
    const char *what;
    pfc_suspect_case c;
    const char *paths[PATHS_MAX];
    const char *subject;
    double weight;
    bool ruled_out;
} row;

static size_t count(const row *r)
{
    size_t n = 0;

    while (n < PATHS_MAX && r->paths[n])
        n++;
    return n;
}

/* Sum of all evidence; its words are dropped. */
static double weigh(const pfc_suspect_case *c, const pfc_suspect_commit *commit, bool *ruled_out)
{
    pfc_evidences e = { 0 };
    double sum = 0;

    *ruled_out = pfc_evidence_of_commit(c, commit, &e);
    for (size_t i = 0; i < e.len; i++) {
        sum += e.items[i].weight;
        free(e.items[i].text);
    }
    return sum;
}

/* One source touched weighs 0.35 log 2 = 0.2426 by its number; two 0.35 log 3. */
#define ONE (0.35 * M_LN2)

Test(weights, each_kind_of_path_has_its_weight)
{
    static const pfc_suspect_case plain = { .benchmark = "zzz" };
    const row rows[] = {
        { "one source", plain, { "src/a.c" }, NULL, ONE, false },
        { "three sources", plain, { "a.c", "b.h", "c.s" }, NULL, 0.35 * log(4), false },
        { "documentation", plain, { "README.md", "x/y.png" }, NULL, -6, true },
        { "what runs elsewhere", plain, { ".github/x.yml" }, NULL, -6, true },
        { "tests only", plain, { "tests/a.c" }, NULL, -4.5, false },
        { "tests and documentation", plain, { "tests/a.c", "README.md" }, NULL, -6.5, false },
        { "documentation and a source", plain, { "README.md", "a.c" }, NULL, ONE, false },
        { "build rules only", plain, { "CMakeLists.txt" }, NULL, -0.7, false },
        { "build rules and a source", plain, { "CMakeLists.txt", "a.c" }, NULL, ONE, false },
        { "a dependency only", plain, { "go.sum" }, NULL, -0.3, false },
        { "a dependency and a source", plain, { "go.sum", "a.c" }, NULL, ONE, false },
        { "both rules", plain, { "go.sum", "Makefile" }, NULL, -1, false },
        { "the benchmarks themselves", plain, { "bench/x.c" }, NULL, -1, false },
        { "... and a source", plain, { "bench/x.c", "a.c" }, NULL, ONE, false },
        { "neither", plain, { "data/x.bin" }, NULL, -2, false },
        { "neither, and documentation", plain, { "data/x.bin", "README.md" }, NULL, -2, false },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        const pfc_suspect_commit commit = { .paths = rows[i].paths,
                                            .paths_len = count(&rows[i]),
                                            .paths_known = true };
        bool ruled_out;
        const double weight = weigh(&rows[i].c, &commit, &ruled_out);

        cr_assert(eq(int, ruled_out, rows[i].ruled_out), "%s", rows[i].what);
        cr_assert(epsilon_eq(dbl, weight, rows[i].weight, 1e-12), "%s: %g", rows[i].what, weight);
    }
}

Test(weights, names_graphs_globs_and_slices_have_their_weights)
{
    const pfc_suspect_case named = { .benchmark = "bench_sgemm_pack", .backend = "avx2" };
    const pfc_suspect_case known = { .benchmark = "zzz", .sources = &graph, .sources_len = 1 };
    const pfc_suspect_case globbed = { .benchmark = "zzz", .globs = globs, .globs_len = 1 };
    const pfc_suspect_case sliced = { .benchmark = "zzz", .sources = slice, .sources_len = 4 };
    const pfc_suspect_case x86 = { .benchmark = "zzz", .backend = "avx2" };
    const row rows[] = {
        { "one token of the name", named, { "src/sgemm.c" }, NULL, ONE + 1.2, false },
        { "two tokens",
          named,
          { "src/sgemm.c", "src/pack.c" },
          NULL,
          0.35 * log(3) + 1.2 + 0.6,
          false },
        { "three tokens", named, { "src/sgemm_pack_avx2.c" }, NULL, ONE + 1.2 + 1.2, false },
        { "a short token inside a word", named, { "src/xavx2.c" }, NULL, ONE + 1.2, false },
        { "a name that is no source", named, { "data/sgemm.bin" }, NULL, -2, false },
        { "in the graph", known, { "src/gemm.c" }, NULL, ONE + 0.5, false },
        { "two in the graph",
          known,
          { "src/gemm.c", "src/pack.c" },
          NULL,
          0.35 * log(3) + 0.5 + 0.5 * M_LN2,
          false },
        { "not in the graph", known, { "src/b.c" }, NULL, ONE - 3, false },
        { "not in the graph, but rules", known, { "Makefile" }, NULL, -0.7, false },
        { "documentation in the graph", known, { "README.md" }, NULL, 0.5, false },
        { "under a glob", globbed, { "src/gemm.c" }, NULL, ONE + 0.8, false },
        { "data under a glob", globbed, { "src/gemm.bin" }, NULL, 0.8, false },
        { "under no glob", globbed, { "src/x.c" }, NULL, ONE - 2, false },
        { "under no glob, but rules", globbed, { "go.sum" }, NULL, -0.3, false },
        /* pack: both that moved, one of two that stood still. gemm: one of two, none. */
        { "in all that moved, half of the still",
          sliced,
          { "src/pack.c" },
          NULL,
          ONE + 0.5 + 1.2 * (1 - 0.5),
          false },
        { "in half of what moved, nothing still",
          sliced,
          { "src/gemm.c" },
          NULL,
          ONE + 0.5 + 1.2 * 0.5,
          false },
        { "in all", sliced, { "src/pack.c", "src/far.c" }, NULL, 0.35 * log(3) + 0.5 + 0, false },
        { "in the still only", sliced, { "src/far.c" }, NULL, ONE - 3, false },
        { "its own instruction set", x86, { "k/avx2.c" }, NULL, ONE + 1.2, false },
        { "another one", x86, { "k/neon.c" }, NULL, ONE - 2.5, false },
        { "another one and a plain source",
          x86,
          { "k/neon.c", "k/a.c" },
          NULL,
          0.35 * log(3),
          false },
        { "another word", x86, { "k/warm.c" }, NULL, ONE, false },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        const pfc_suspect_commit commit = { .paths = rows[i].paths,
                                            .paths_len = count(&rows[i]),
                                            .paths_known = true };
        bool ruled_out;
        const double weight = weigh(&rows[i].c, &commit, &ruled_out);

        cr_assert(epsilon_eq(dbl, weight, rows[i].weight, 1e-12), "%s: %g, expected %g",
                  rows[i].what, weight, rows[i].weight);
        cr_assert(eq(int, ruled_out, rows[i].ruled_out), "%s", rows[i].what);
    }
}

Test(weights, subjects_speak_of_words_speed_or_shape)
{
    static const struct {
        const char *subject;
        double weight;
    } rows[] = { { NULL, 0 },
                 { "add a test", 0 },
                 { "Fix a TYPO", -1 },
                 { "comment the optimised loop", -1 }, /* words come first */
                 { "faster path", 0.6 },
                 { "refactor, then prefetch", 0.6 },
                 { "Refactor", 0.4 },
                 { "switch to another way", 0.4 },
                 { "revert it", 0.4 } };
    static const char *const paths[] = { "a.c" };
    const pfc_suspect_case c = { .benchmark = "zzz" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        const pfc_suspect_commit commit = {
            .subject = rows[i].subject, .paths = paths, .paths_len = 1, .paths_known = true
        };
        bool ruled_out;

        cr_assert(epsilon_eq(dbl, weigh(&c, &commit, &ruled_out), ONE + rows[i].weight, 1e-12),
                  "%s", rows[i].subject);
    }
}

Test(weights, equal_object_code_rules_out_but_not_what_is_read_at_run_time)
{
    static const char *const paths[] = { "a.c" };
    const pfc_suspect_case c = { .benchmark = "zzz" };
    pfc_suspect_commit commit = { .paths = paths, .paths_len = 1, .paths_known = true };
    bool ruled_out;

    commit.identical = true;
    cr_assert(epsilon_eq(dbl, weigh(&c, &commit, &ruled_out), ONE - 8, 1e-12));
    cr_assert(ruled_out);
    commit.runtime = "model.bin";
    cr_assert(epsilon_eq(dbl, weigh(&c, &commit, &ruled_out), ONE - 1.5, 1e-12));
    cr_assert(not(ruled_out));
    commit.identical = false;
    cr_assert(epsilon_eq(dbl, weigh(&c, &commit, &ruled_out), ONE, 1e-12));
    /* The touched paths are unknown: not recorded, or an empty list. */
    commit.paths_known = false;
    cr_assert(epsilon_eq(dbl, weigh(&c, &commit, &ruled_out), -0.3, 1e-12));
    cr_assert(not(ruled_out));
    commit.paths_known = true;
    commit.paths_len = 0;
    cr_assert(epsilon_eq(dbl, weigh(&c, &commit, &ruled_out), -0.3, 1e-12));
    commit.identical = true;
    commit.runtime = NULL;
    cr_assert(epsilon_eq(dbl, weigh(&c, &commit, &ruled_out), -8.3, 1e-12));
    cr_assert(ruled_out);
}

/* The base rate is (guilty + 0.5) / (seen + 10) over all; a path's own has two observations of
 * it. 0.8 times the logarithm of their ratio, which is kept in -1..2; of several paths the
 * guiltiest counts. */
Test(weights, earlier_culprits_weigh_by_their_rate)
{
    static const char *const paths[] = { "a.c", "b.c" };
    static const double cases[][4] = {
        { 3, 10, 0, 20 }, { 0, 30, 0, 5 }, { 9, 9, 0, 800 }, { 0, 300, 9, 9 }, { 1, 12, 2, 12 }
    };
    const pfc_suspect_commit one = { .paths = paths, .paths_len = 1, .paths_known = true };
    const pfc_suspect_commit both = { .paths = paths, .paths_len = 2, .paths_known = true };

    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        const double *v = cases[i];
        const pfc_suspect_past past[] = { { "a.c", v[0], v[1] }, { "b.c", v[2], v[3] } };
        const pfc_suspect_case c = { .benchmark = "zzz", .past = past, .past_len = 2 };
        const double base = (v[0] + v[2] + 0.5) / (v[1] + v[3] + 10);
        const double a = log((v[0] + 2 * base) / (v[1] + 2) / base);
        const double b = log((v[2] + 2 * base) / (v[3] + 2) / base);
        bool ruled_out;

        cr_assert(
            epsilon_eq(dbl, weigh(&c, &one, &ruled_out), ONE + 0.8 * fmin(fmax(a, -1), 2), 1e-9));
        cr_assert(epsilon_eq(dbl, weigh(&c, &both, &ruled_out),
                             0.35 * log(3) + 0.8 * fmin(fmax(fmax(a, b), -1), 2), 1e-9));
    }
}

Test(weights, no_more_evidence_is_kept_than_there_is_room_for)
{
    pfc_evidences e = { 0 };

    for (int i = 0; i < 2 * PFC_EVIDENCE_MAX; i++)
        pfc_evidence_add(&e, i, NULL);
    cr_assert(eq(sz, e.len, PFC_EVIDENCE_MAX));
    cr_assert(eq(dbl, e.items[PFC_EVIDENCE_MAX - 1].weight, PFC_EVIDENCE_MAX - 1));
}

/* ---- into probabilities ---- */

static double probability(const pfc_suspects *s, pfc_suspect_kind kind, size_t index)
{
    for (size_t i = 0; i < s->len; i++)
        if (s->items[i].kind == kind && s->items[i].index == index)
            return s->items[i].probability;
    cr_assert(false);
    return 0;
}

/* Weights of two commits of unknown paths, -0.3 and a place each, and of two boundaries: exp of
 * their sums, "none" at least 3 % of all and exp(-4.5); 2 % of the mass evenly over the commits. */
Test(weights, probabilities_are_the_weights_and_their_floors)
{
    static const struct {
        const char *what;
        double place[2], boundary[2];
        size_t moved, still;
        bool same_code;
        double weight[4]; /* commits, boundaries */
    } rows[] = {
        { "places", { 0, -2 }, { -1, -3 }, 0, 0, false, { -0.3, -2.3, 4, 1 } },
        { "exact metrics moved", { 0, -2 }, { -1, -3 }, 1, 1, false, { -0.3, -2.3, 1, -2 } },
        { "exact metrics stand still", { 0, -2 }, { -1, -3 }, 0, 2, false, { -1.5, -3.5, 4, 1 } },
        { "the same code", { 0, -2 }, { -1, -3 }, 0, 0, true, { -0.3, -2.3, -8, 1 } },
        { "nothing is likely", { -9, -9 }, { -20, -20 }, 0, 0, false, { -9.3, -9.3, -15, -16 } },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        const pfc_suspect_commit commits[] = { { .place = rows[i].place[0] },
                                               { .place = rows[i].place[1] } };
        const pfc_suspect_boundary boundaries[] = {
            { "compiler", "a", "b", rows[i].boundary[0], rows[i].same_code },
            { "governor", "a", "b", rows[i].boundary[1], rows[i].same_code }
        };
        const pfc_suspect_case c = { .benchmark = "zzz",
                                     .commits = commits,
                                     .len = 2,
                                     .boundaries = boundaries,
                                     .boundaries_len = 2,
                                     .exact_moved = rows[i].moved,
                                     .exact_still = rows[i].still };
        double all = 0, none;
        pfc_suspects s;

        cr_assert(eq(int, pfc_suspects_rank(&c, &s, NULL), PFC_OK));
        for (size_t k = 0; k < 4; k++)
            all += exp(rows[i].weight[k]);
        none = fmax(exp(-4.5), all * 0.03 / 0.97);
        all += none;
        for (size_t k = 0; k < 2; k++) {
            cr_assert(epsilon_eq(dbl, probability(&s, PFC_SUSPECT_IS_COMMIT, k),
                                 0.98 * exp(rows[i].weight[k]) / all + 0.01, 1e-12),
                      "%s", rows[i].what);
            cr_assert(epsilon_eq(
                          dbl,
                          probability(&s, k ? PFC_SUSPECT_IS_MACHINE : PFC_SUSPECT_IS_TOOLCHAIN, k),
                          0.98 * exp(rows[i].weight[2 + k]) / all, 1e-12),
                      "%s", rows[i].what);
        }
        cr_assert(
            epsilon_eq(dbl, probability(&s, PFC_SUSPECT_IS_NOTHING, 0), 0.98 * none / all, 1e-12));
        pfc_suspects_clear(&s);
    }
}

/* A harness is not excused by exact metrics: these come through it. */
Test(weights, a_change_of_the_harness_moves_exact_metrics_too)
{
    const pfc_suspect_commit commits[] = { { .place = 0 } };
    const pfc_suspect_boundary boundary = { "harness", NULL, "2", 0, true };
    const pfc_suspect_case c = { .benchmark = "zzz",
                                 .commits = commits,
                                 .len = 1,
                                 .boundaries = &boundary,
                                 .boundaries_len = 1,
                                 .exact_moved = 1 };
    pfc_suspects s;

    cr_assert(eq(int, pfc_suspects_rank(&c, &s, NULL), PFC_OK));
    cr_assert(epsilon_eq(dbl,
                         log((probability(&s, PFC_SUSPECT_IS_COMMIT, 0) - 0.02) /
                             probability(&s, PFC_SUSPECT_IS_HARNESS, 0)),
                         -0.3 - 5, 1e-9));
    pfc_suspects_clear(&s);
}

/* In words: above -1 "where", up to -4 "elsewhere", between nothing; of a single commit nothing
 * is said. */
Test(weights, a_place_is_spoken_of_where_it_is_near_or_far)
{
    static const double places[] = { 0, -0.999, -1, -3.999, -4, -9 };

    for (size_t i = 0; i < PFC_ARRAY_LEN(places); i++) {
        for (size_t len = 1; len <= 2; len++) {
            const pfc_suspect_commit commits[] = { { .place = places[i] }, { .place = -2 } };
            const pfc_suspect_case c = { .benchmark = "zzz", .commits = commits, .len = len };
            pfc_suspects s;
            size_t at = 0;

            cr_assert(eq(int, pfc_suspects_rank(&c, &s, NULL), PFC_OK));
            while (s.items[at].kind != PFC_SUSPECT_IS_COMMIT || s.items[at].index != 0)
                at++;
            bool here = false, elsewhere = false;

            for (size_t k = 0; k < s.items[at].reasons_len; k++) {
                here |= strncmp(s.items[at].reasons[k], "lies where", 10) == 0;
                elsewhere |= strstr(s.items[at].reasons[k], "elsewhere") != NULL;
            }
            cr_assert(eq(int, here, places[i] > -1 && len == 2), "%g", places[i]);
            cr_assert(eq(int, elsewhere, places[i] <= -4), "%g", places[i]);
            pfc_suspects_clear(&s);
        }
    }
}

Test(weights, one_to_ten_thousand_commits_are_ranked)
{
    pfc_suspect_commit *commits = pfc_calloc(PFC_SUSPECT_MAX_COMMITS + 1, sizeof *commits);
    pfc_suspect_case c = { .benchmark = "zzz", .commits = commits };
    pfc_err err = { 0 };
    pfc_suspects s;

    cr_assert(eq(int, pfc_suspects_rank(&c, &s, &err), PFC_EINVAL));
    c.len = PFC_SUSPECT_MAX_COMMITS + 1;
    cr_assert(eq(int, pfc_suspects_rank(&c, &s, &err), PFC_EINVAL));
    c.len = PFC_SUSPECT_MAX_COMMITS;
    cr_assert(eq(int, pfc_suspects_rank(&c, &s, &err), PFC_OK));
    cr_assert(eq(sz, s.len, PFC_SUSPECT_MAX_COMMITS + 1));
    /* Equal commits are in the order of history, behind "none" or before it as the sums say. */
    cr_assert(s.items[1].kind == PFC_SUSPECT_IS_COMMIT && s.items[2].index == s.items[1].index + 1);
    pfc_suspects_clear(&s);
    free(commits);
}

/* Noise of at least a hundredth of the step; t of four degrees: -2.5 log(1 + z^2 / 4). */
Test(weights, places_are_likelihoods_of_students_t)
{
    static const double noises[] = { 0.02, 0, 0.0005 };

    for (size_t k = 0; k < 3; k++) {
        const double step = log(1.1);
        const double scale = fmax(noises[k], 0.01 * step) + 1e-12;
        const pfc_suspect_point points[] = { { 3, 101 }, { 5, 104 }, { 5, 109 } };
        double out[4], want[4] = { 0 };

        pfc_suspects_place(points, 3, 100, 110, noises[k], 3, 4, out);
        /* Places 3..6: so many points are before them. */
        static const size_t before[] = { 0, 1, 1, 3 };

        for (size_t i = 0; i < 4; i++) {
            for (size_t j = 0; j < before[i]; j++) {
                const double x = log(points[j].value);

                want[i] += -2.5 * log1p(pow((x - log(100)) / scale, 2) / 4) +
                           2.5 * log1p(pow((x - log(110)) / scale, 2) / 4);
            }
        }
        const double best = fmax(fmax(want[0], want[1]), fmax(want[2], want[3]));

        for (size_t i = 0; i < 4; i++)
            cr_assert(epsilon_eq(dbl, out[i], want[i] - best, 1e-6), "%zu", i);
    }
    pfc_suspects_place(NULL, 0, 100, 110, 0.01, 3, 0, NULL);
}

/* ---- paths ---- */

Test(weights, every_name_of_a_path_says_its_kind)
{
    static const struct {
        const char *path;
        pfc_path_kind kind;
    } rows[] = {
        { "a/b/x.c", PFC_PATH_SOURCE },
        { "X.CPP", PFC_PATH_SOURCE },
        { "x.py", PFC_PATH_SOURCE },
        { "x.cmake", PFC_PATH_BUILD },
        { "Makefile.am", PFC_PATH_BUILD },
        { "x/meson.build", PFC_PATH_BUILD },
        { "configure.ac", PFC_PATH_BUILD },
        { "aconfigure.ac", PFC_PATH_OTHER },
        { "CMakeLists.txt", PFC_PATH_BUILD },
        { "notes.txt", PFC_PATH_DOC },
        { "requirements-dev.txt", PFC_PATH_DEPENDENCY },
        { "third_party/x/x.c", PFC_PATH_DEPENDENCY },
        { "Vendor/x.c", PFC_PATH_DEPENDENCY },
        { "x/vendor", PFC_PATH_OTHER },
        { "vendors/x.c", PFC_PATH_SOURCE },
        { "tests/x.c", PFC_PATH_TEST },
        { "contests/x.c", PFC_PATH_SOURCE },
        { "test_x.c", PFC_PATH_TEST },
        { "test-x.c", PFC_PATH_TEST },
        { "testx.c", PFC_PATH_SOURCE },
        { "x_test.c", PFC_PATH_TEST },
        { "x-test.cc", PFC_PATH_TEST },
        { "_test.c", PFC_PATH_TEST },
        { "x_test_y.c", PFC_PATH_SOURCE },
        { "x.test.ts", PFC_PATH_TEST },
        { "x.tests.ts", PFC_PATH_OTHER },
        { "latest.c", PFC_PATH_SOURCE },
        { "bench/x.c", PFC_PATH_HARNESS },
        { "bench/CMakeLists.txt", PFC_PATH_BUILD },
        { "docs/x.c", PFC_PATH_DOC },
        { "docs/test_x.c", PFC_PATH_TEST },
        { ".github/workflows/x.yml", PFC_PATH_CI },
        { "LICENSE", PFC_PATH_DOC },
        { "LICENSES/x", PFC_PATH_OTHER },
        { "x", PFC_PATH_OTHER },
        { "", PFC_PATH_OTHER },
        { "Dockerfile.x", PFC_PATH_CI },
        { "a.b/x", PFC_PATH_OTHER },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++)
        cr_assert(eq(int, (int)pfc_path_kind_of(rows[i].path), (int)rows[i].kind), "%s",
                  rows[i].path);
}

Test(weights, a_glob_fits_what_lies_below_it)
{
    static const struct {
        char *glob;
        const char *path;
        bool fits;
    } rows[] = {
        { "kernels", "kernels/a/b.c", true },
        { "kernels/", "kernels/a/b.c", true },
        { "kernels//", "kernels/a.c", true },
        { "kernels", "kernels2/a.c", false },
        { "kernels", "kernels", true },
        { "kernels/*.c", "kernels/a/b.c", true },
        { "*.c", "a/b.h", false },
        { "/", "a", false },
        { "", "a", false },
        { "a/b", "a", false },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++)
        cr_assert(eq(int, pfc_path_fits(rows[i].path, &rows[i].glob, 1), rows[i].fits), "%s, %s",
                  rows[i].glob, rows[i].path);
    cr_assert(not(pfc_path_fits("a", NULL, 0)));
}

Test(weights, kinds_have_names_and_fields_have_kinds)
{
    static const char *const names[] = { "commit", "toolchain", "harness", "machine", "none" };
    static const struct {
        const char *field;
        pfc_suspect_kind kind;
    } rows[] = { { "compiler_version", PFC_SUSPECT_IS_TOOLCHAIN },
                 { "libc", PFC_SUSPECT_IS_TOOLCHAIN },
                 { "driver", PFC_SUSPECT_IS_TOOLCHAIN },
                 { "suite", PFC_SUSPECT_IS_HARNESS },
                 { "perfci", PFC_SUSPECT_IS_HARNESS },
                 { "kernel", PFC_SUSPECT_IS_MACHINE },
                 { "", PFC_SUSPECT_IS_MACHINE },
                 { "my_compiler", PFC_SUSPECT_IS_MACHINE } };

    for (int k = 0; k < 5; k++)
        cr_assert(eq(str, (char *)pfc_suspect_kind_name((pfc_suspect_kind)k), (char *)names[k]));
    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++)
        cr_assert(eq(int, (int)pfc_suspect_kind_of_field(rows[i].field), (int)rows[i].kind), "%s",
                  rows[i].field);
}
