/* Suspects: kinds of paths, places in a series, and the ranking. */
#include <math.h>
#include <string.h>

#include "core/suspects/suspects.h"

#include "tests/check/check.h"

static const char *const gemm_paths[] = { "kernels/gemm_f32/avx2.c", "docs/notes.md" };
static const char *const norm_paths[] = { "kernels/norm_f32/avx2.c" };
static const char *const neon_paths[] = { "kernels/gemm_f32/neon.c" };
static const char *const doc_paths[] = { "README.md", "docs/tour.md" };
static const char *const test_paths[] = { "tests/test_gemm.c" };
static const char *const lock_paths[] = { "requirements.txt" };
static const char *const graph[] = { "kernels/gemm_f32/avx2.c", "core/base/buf.c" };

static const pfc_suspect_commit gemm = { "gemm: unroll", gemm_paths, 2, true, false, NULL, 0 };
static const pfc_suspect_commit norm = {
    "norm: shorter loop", norm_paths, 1, true, false, NULL, 0
};
static const pfc_suspect_commit docs = { "say more", doc_paths, 2, true, false, NULL, 0 };
static const pfc_suspect_commit tests = { "more cases", test_paths, 1, true, false, NULL, 0 };

static pfc_suspects rank(const pfc_suspect_case *c)
{
    pfc_suspects s = { 0 };
    pfc_err err = { 0 };
    double sum = 0;

    cr_assert(eq(int, pfc_suspects_rank(c, &s, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, s.len, c->len + c->boundaries_len + 1));
    for (size_t i = 0; i < s.len; i++) {
        sum += s.items[i].probability;
        cr_assert(s.items[i].probability > 0);
        cr_assert(i == 0 || s.items[i].probability <= s.items[i - 1].probability);
    }
    cr_assert(epsilon_eq(dbl, sum, 1.0, 1e-9));
    return s;
}

static const pfc_suspect *of_commit(const pfc_suspects *s, size_t index)
{
    for (size_t i = 0; i < s->len; i++)
        if (s->items[i].kind == PFC_SUSPECT_IS_COMMIT && s->items[i].index == index)
            return &s->items[i];
    cr_assert(false, "commit %zu is missing", index);
    return NULL;
}

static bool says(const pfc_suspect *s, const char *words)
{
    for (size_t i = 0; i < s->reasons_len; i++)
        if (strstr(s->reasons[i], words))
            return true;
    return false;
}

Test(suspects, paths_are_known_by_their_names)
{
    static const struct {
        const char *path;
        pfc_path_kind kind;
    } cases[] = {
        { "src/gemm.c", PFC_PATH_SOURCE },
        { "src/latest.h", PFC_PATH_SOURCE },
        { "tests/gemm.c", PFC_PATH_TEST },
        { "src/gemm_test.cc", PFC_PATH_TEST },
        { "src/contest.c", PFC_PATH_SOURCE },
        { "docs/tune.c", PFC_PATH_DOC },
        { "README", PFC_PATH_DOC },
        { "CMakeLists.txt", PFC_PATH_BUILD },
        { "cmake/flags.cmake", PFC_PATH_BUILD },
        { "third_party/fft/fft.c", PFC_PATH_DEPENDENCY },
        { ".gitmodules", PFC_PATH_DEPENDENCY },
        { ".github/workflows/ci.yml", PFC_PATH_CI },
        { "bench/main.c", PFC_PATH_HARNESS },
        { "data/table.bin", PFC_PATH_OTHER },
        { "", PFC_PATH_OTHER },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++)
        cr_assert(eq(int, (int)pfc_path_kind_of(cases[i].path), (int)cases[i].kind), "%s",
                  cases[i].path);
}

/* Ten points, the level rises at position 106; only every second commit is measured. */
Test(suspects, the_place_is_the_gap_in_which_the_level_changes)
{
    pfc_suspect_point points[10];
    double place[20];

    for (int i = 0; i < 10; i++)
        points[i] = (pfc_suspect_point){ 100 + 2 * i, i < 3 ? 100.0 : 110.0 };
    pfc_suspects_place(points, 10, 100, 110, 0.01, 100, 20, place);
    cr_assert(eq(dbl, place[5], 0));
    cr_assert(eq(dbl, place[6], 0)); /* 105 and 106 lie in one gap */
    cr_assert(lt(dbl, place[4], -5));
    cr_assert(lt(dbl, place[7], -5));
}

/* A point on the wrong side of the step costs what Student's t with 4 degrees of freedom says of
 * it: R 4.2.2, dt(log(1.1) / 0.02, 4, log = TRUE) - dt(0, 4, log = TRUE). */
Test(suspects, a_place_weighs_what_students_t_says)
{
    const pfc_suspect_point points[] = { { 10, 100.0 }, { 20, 110.0 } };
    double place[15];

    pfc_suspects_place(points, 2, 100, 110, 0.02, 9, 15, place);
    for (int k = 0; k < 15; k++) {
        const int position = 9 + k;
        const double want = position > 10 && position <= 20 ? 0.0 : -4.7468662724295;
        cr_assert(epsilon_eq(dbl, place[k], want, 1e-6), "%d: %.12f", position, place[k]);
    }
}

Test(suspects, what_the_benchmark_is_built_from_decides_between_neighbours)
{
    const pfc_suspect_commit commits[] = { docs, norm, gemm, tests };
    const pfc_suspect_sources sources = { "gemm/f32/m64", graph, 2, true };
    const pfc_suspect_case c = { .benchmark = "gemm/f32/m64n64k64",
                                 .backend = "cpu-avx2",
                                 .commits = commits,
                                 .len = 4,
                                 .sources = &sources,
                                 .sources_len = 1 };
    pfc_suspects s = rank(&c);

    cr_assert(eq(sz, s.items[0].index, 2));
    cr_assert(gt(dbl, s.items[0].probability, 0.8));
    cr_assert(says(&s.items[0], "kernels/gemm_f32/avx2.c"));
    cr_assert(of_commit(&s, 0)->ruled_out);
    cr_assert(says(of_commit(&s, 0), "documentation"));
    cr_assert(says(of_commit(&s, 1), "touches nothing that gemm"));
    /* Ruled out is not impossible: the floor of 2 % is spread over all four. */
    cr_assert(ge(dbl, of_commit(&s, 0)->probability, 0.005));
    pfc_suspects_clear(&s);
}

Test(suspects, names_tell_more_than_nothing_where_no_graph_is_known)
{
    const pfc_suspect_commit neon = { "gemm: NEON", neon_paths, 1, true, false, NULL, 0 };
    const pfc_suspect_commit commits[] = { norm, neon, gemm };
    const pfc_suspect_case c = {
        .benchmark = "gemm/f32/m64n64k64", .backend = "cpu-avx2", .commits = commits, .len = 3
    };
    pfc_suspects s = rank(&c);

    cr_assert(eq(sz, s.items[0].index, 2));
    cr_assert(says(of_commit(&s, 1), "another instruction set"));
    pfc_suspects_clear(&s);
}

Test(suspects, identical_object_code_rules_a_commit_out)
{
    pfc_suspect_commit same = gemm;
    pfc_suspects s;

    same.identical = true;
    const pfc_suspect_commit commits[] = { same, norm };
    const pfc_suspect_case c = {
        .benchmark = "gemm/f32/m64n64k64", .backend = "cpu-avx2", .commits = commits, .len = 2
    };
    s = rank(&c);
    cr_assert(of_commit(&s, 0)->ruled_out);
    cr_assert(says(of_commit(&s, 0), "object code"));
    cr_assert(lt(dbl, of_commit(&s, 0)->probability, 0.05));
    pfc_suspects_clear(&s);
}

/* Whatever its name looks like: a file is read at run time when the project says so. */
Test(suspects, identical_code_does_not_clear_a_commit_that_touches_a_named_file)
{
    static const char *const faq[] = { "FAQ" };
    const pfc_suspect_commit cleared = {
        .subject = "words", .paths = faq, .paths_len = 1, .paths_known = true, .identical = true
    };
    pfc_suspect_commit named = cleared;
    pfc_suspects s;

    named.runtime = faq[0];
    const pfc_suspect_commit commits[] = { cleared, named };
    const pfc_suspect_case c = { .benchmark = "gemm", .backend = "", .commits = commits, .len = 2 };
    s = rank(&c);
    cr_assert(of_commit(&s, 0)->ruled_out);
    cr_assert(not(of_commit(&s, 1)->ruled_out));
    cr_assert(says(of_commit(&s, 1), "touches FAQ, which is read while the program runs"));
    pfc_suspects_clear(&s);
}

Test(suspects, when_all_are_ruled_out_none_of_these_leads)
{
    const pfc_suspect_commit commits[] = { docs, docs };
    const pfc_suspect_case c = { .benchmark = "gemm", .backend = "", .commits = commits, .len = 2 };
    pfc_suspects s = rank(&c);

    cr_assert(eq(int, (int)s.items[0].kind, (int)PFC_SUSPECT_IS_NOTHING));
    pfc_suspects_clear(&s);
}

/* M7: the compiler changed where the series does, so no commit is the first to be blamed. */
Test(suspects, a_change_of_toolchain_at_the_place_comes_before_the_commits)
{
    const pfc_suspect_commit commits[] = { docs, gemm, norm };
    const pfc_suspect_boundary boundary = { "compiler", "gcc 12.2", "gcc 13.1", 0, false };
    pfc_suspect_case c = { .benchmark = "gemm/f32/m64n64k64",
                           .backend = "cpu-avx2",
                           .commits = commits,
                           .len = 3,
                           .boundaries = &boundary,
                           .boundaries_len = 1 };
    pfc_suspects s = rank(&c);

    cr_assert(eq(int, (int)s.items[0].kind, (int)PFC_SUSPECT_IS_TOOLCHAIN));
    cr_assert(says(&s.items[0], "gcc 13.1"));
    pfc_suspects_clear(&s);
    /* Cycles of the simulated accelerator moved as well: no host compiler does that. */
    c.exact_moved = 1;
    s = rank(&c);
    cr_assert(eq(int, (int)s.items[0].kind, (int)PFC_SUSPECT_IS_COMMIT));
    cr_assert(eq(sz, s.items[0].index, 1));
    pfc_suspects_clear(&s);
}

Test(suspects, fields_of_the_fingerprint_are_sorted_by_who_changes_them)
{
    cr_assert(eq(int, (int)pfc_suspect_kind_of_field("compiler"), (int)PFC_SUSPECT_IS_TOOLCHAIN));
    cr_assert(eq(int, (int)pfc_suspect_kind_of_field("harness"), (int)PFC_SUSPECT_IS_HARNESS));
    cr_assert(eq(int, (int)pfc_suspect_kind_of_field("microcode"), (int)PFC_SUSPECT_IS_MACHINE));
}

Test(suspects, a_dependency_bump_is_a_suspect_and_says_so)
{
    const pfc_suspect_commit bump = { "bump fft", lock_paths, 1, true, false, NULL, 0 };
    const pfc_suspect_commit commits[] = { norm, bump, docs };
    const pfc_suspect_sources sources = { "gemm/f32/m64", graph, 2, true };
    const pfc_suspect_case c = { .benchmark = "gemm/f32/m64n64k64",
                                 .backend = "cpu-avx2",
                                 .commits = commits,
                                 .len = 3,
                                 .sources = &sources,
                                 .sources_len = 1 };
    pfc_suspects s = rank(&c);

    cr_assert(eq(sz, s.items[0].index, 1));
    cr_assert(says(&s.items[0], "dependency"));
    pfc_suspects_clear(&s);
}

Test(suspects, earlier_culprits_make_their_files_suspect)
{
    const pfc_suspect_past past[] = { { "kernels/norm_f32/avx2.c", 4, 6 },
                                      { "kernels/gemm_f32/avx2.c", 0, 40 } };
    const pfc_suspect_commit commits[] = { gemm, norm };
    pfc_suspect_case c = { .benchmark = "attention", .backend = "", .commits = commits, .len = 2 };
    pfc_suspects s = rank(&c);
    const double before = of_commit(&s, 1)->probability;

    pfc_suspects_clear(&s);
    c.past = past;
    c.past_len = 2;
    s = rank(&c);
    cr_assert(gt(dbl, of_commit(&s, 1)->probability, before));
    cr_assert(says(of_commit(&s, 1), "earlier regressions"));
    pfc_suspects_clear(&s);
}

Test(suspects, without_commits_it_says_so)
{
    const pfc_suspect_case c = { .benchmark = "gemm", .backend = "" };
    pfc_suspects s = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_suspects_rank(&c, &s, &err), PFC_EINVAL));
    cr_assert(ne(ptr, strstr(err.msg, "commits"), NULL));
}
