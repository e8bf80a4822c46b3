/* The key of a pair: which differences make another one, and which do not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/fs.h"
#include "runner/blocks/pair_key.h"

#include "tests/check/check.h"
#include "tests/core/git/fixture.h"

static fixture f;
static pfc_repo *repo;
static pfc_commit_id base, head;
static char first[PFC_SHA256_HEX];
static pfc_commit_measure_opts measure;
static pfc_pair_of pair;

static pfc_commit_id add(const char *path, const char *text, const char *subject)
{
    char *id = fixture_commit(&f, path, text, subject);
    pfc_commit_id out = { { 0 } };

    memcpy(out.hex, id, PFC_COMMIT_HEX);
    free(id);
    return out;
}

static void key(char out[PFC_SHA256_HEX])
{
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_pair_key(repo, &pair, out, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, strlen(out), 64));
}

static void setup(void)
{
    pfc_err err = { 0 };

    fixture_init(&f);
    base = add("k.c", "int k = 1;\n", "base");
    head = add("k.c", "int k = 2;\n", "head");
    cr_assert(eq(int, pfc_repo_open(f.repo, &repo, &err), PFC_OK), "%s", err.msg);
    measure = (pfc_commit_measure_opts){ .measure = "./k",
                                         .metric = "time_ns",
                                         .machine_class = "quiet",
                                         .machine_name = "m1",
                                         .timeout_s = 60 };
    pair = (pfc_pair_of){
        .base = &base, .head = &head, .build = "make", .measure = &measure, .budget_s = 300
    };
    key(first);
}

static void teardown(void)
{
    pfc_repo_close(repo);
    fixture_clear(&f);
}

TestSuite(pair_key, .init = setup, .fini = teardown);

static void expect(bool same, const char *what)
{
    char now[PFC_SHA256_HEX];

    key(now);
    cr_expect(eq(int, strcmp(now, first) == 0, same), "%s: %s key", what,
              same ? "expected the same" : "expected another");
}

Test(pair_key, another_commit_of_the_same_tree_has_the_same_key)
{
    pfc_commit_id again;

    (void)add("k.c", "int k = 1;\n", "undone");
    again = add("k.c", "int k = 2;\n", "done again, in other words");
    cr_assert(ne(str, again.hex, head.hex));
    pair.head = &again;
    expect(true, "reworded head");
    measure.machine_name = "m2";
    expect(true, "another machine of the class");
}

Test(pair_key, another_tree_on_either_side_is_another_pair)
{
    pfc_commit_id other = add("k.c", "int k = 3;\n", "other");

    pair.head = &other;
    expect(false, "head");
    pair.head = &head;
    pair.base = &other;
    expect(false, "base");
    pair.base = &head;
    pair.head = &base;
    expect(false, "sides in the other direction");
}

Test(pair_key, each_setting_that_decides_a_result_is_part_of_it)
{
    static const pfc_direction better[] = { { "time_ns", true } };
    static const char *const backends[] = { "cpu-avx2" };
    const pfc_benchmark_filter filter = { .filter = "gemm" };
    const pfc_benchmark_filter backend = { .backends = backends, .backends_len = 1 };
    const pfc_commit_measure_opts m = measure;
    const pfc_pair_of p = pair;

#define SLIP(change, what)                                                                         \
    change;                                                                                        \
    expect(false, what);                                                                           \
    measure = m;                                                                                   \
    pair = p;

    SLIP(pair.build = "make -j2", "build command")
    SLIP(pair.build = NULL, "no build command")
    SLIP(measure.measure = "./k --fast", "measuring command")
    SLIP(pair.wanted = &filter, "filter")
    SLIP(pair.wanted = &backend, "backend")
    SLIP(measure.metric = "value", "metric")
    SLIP(measure.unit = "s", "unit")
    SLIP(measure.has_direction = true, "direction")
    SLIP(measure.time = true, "times instead of output")
    SLIP((measure.directions = better, measure.directions_len = 1), "direction of a metric")
    SLIP(measure.timeout_s = 90, "timeout")
    SLIP(measure.machine_class = "loud", "machine class")
    SLIP(pair.budget_s = 600, "budget")
    SLIP(pair.margin = 0.05, "margin")
    SLIP(pair.rounds = 3, "rounds")
    SLIP(pair.isolation = "bubblewrap 0.8.0", "isolation")
#undef SLIP
    expect(true, "nothing");
}

/* Two texts that lie side by side the same way in one line are different fields. */
Test(pair_key, a_text_is_no_part_of_the_next_field)
{
    char other[PFC_SHA256_HEX];

    pair.build = "make\nmeasure 3:./k";
    key(other);
    cr_assert(ne(str, other, first));
}

Test(pair_key, a_suite_is_decided_by_its_name_its_file_and_the_content_of_perfci_bench)
{
    char *bench = pfc_fs_join(f.dir, "bench"), *suite = pfc_fs_join(f.dir, "suite.yaml");
    char other[PFC_SHA256_HEX];

    measure.measure = NULL;
    measure.bench = bench;
    measure.suite = suite;
    cr_assert(eq(int, pfc_fs_write_atomic(bench, "one", 3, 0700, NULL), PFC_OK));
    cr_assert(eq(int, pfc_fs_write_atomic(suite, "a: 1\n", 5, 0600, NULL), PFC_OK));
    key(first);
    expect(true, "nothing");
    cr_assert(eq(int, pfc_fs_write_atomic(bench, "two", 3, 0700, NULL), PFC_OK));
    expect(false, "another perfci-bench, with another harness or simulator");
    key(first);
    cr_assert(eq(int, pfc_fs_write_atomic(suite, "a: 2\n", 5, 0600, NULL), PFC_OK));
    expect(false, "another suite of the same name");
    measure.suite = "quick";
    key(other);
    cr_assert(ne(str, other, first));
    free(bench);
    free(suite);
}

/* The compilers are found on PATH; CFLAGS chooses what they make. */
Test(pair_key, another_toolchain_is_another_pair)
{
    char *bin = pfc_fs_join(f.dir, "bin"), *cc = pfc_fs_join(bin, "cc");
    char *path = pfc_format("%s:/usr/bin:/bin", bin);
    char other[PFC_SHA256_HEX];

    setenv("CFLAGS", "-O1", 1);
    expect(false, "CFLAGS");
    unsetenv("CFLAGS");
    cr_assert(eq(int, pfc_fs_mkdirs(bin, 0700, NULL), PFC_OK));
    setenv("PATH", path, 1);
    key(first);
    cr_assert(eq(int, pfc_fs_write_atomic(cc, "#!/bin/sh\n", 10, 0700, NULL), PFC_OK));
    key(other);
    cr_assert(ne(str, other, first));
    free(path);
    free(cc);
    free(bin);
}

Test(pair_key, the_environment_counts_but_for_secrets_and_what_differs_from_start_to_start)
{
    setenv("INVOCATION_ID", "0123", 1);
    setenv("PERFCI_TOKEN", "pfc_x", 1);
    setenv("GITHUB_RUN_ID", "77", 1);
    expect(true, "variables of this start");
    setenv("OMP_NUM_THREADS", "2", 1);
    expect(false, "OMP_NUM_THREADS");
}

Test(pair_key, a_commit_that_is_not_here_has_no_key)
{
    pfc_commit_id missing = { "0123456789012345678901234567890123456789" };
    char out[PFC_SHA256_HEX];
    pfc_err err = { 0 };

    pair.head = &missing;
    cr_assert(eq(int, pfc_pair_key(repo, &pair, out, &err), PFC_ENOTFOUND), "%s", err.msg);
}
