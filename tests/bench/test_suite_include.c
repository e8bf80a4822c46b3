/* Suites in several files: what is included, from where, and how far that goes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench/suite/suite.h"
#include "core/base/fs.h"

#include "tests/check/check.h"

static char *dir;

static void setup(void)
{
    cr_assert(eq(int, pfc_fs_temp_dir("suites", &dir, NULL), PFC_OK));
}

static void teardown(void)
{
    cr_assert(eq(int, pfc_fs_remove_tree(dir, NULL), PFC_OK));
    free(dir);
}

static void put(const char *name, const char *text)
{
    char *path = pfc_fs_join(dir, name);
    char *slash = strrchr(path, '/');

    *slash = '\0';
    cr_assert(eq(int, pfc_fs_mkdirs(path, 0700, NULL), PFC_OK));
    *slash = '/';
    cr_assert(eq(int, pfc_fs_write_atomic(path, text, strlen(text), 0600, NULL), PFC_OK));
    free(path);
}

static pfc_suite *load(const char *name)
{
    char *path = pfc_fs_join(dir, name);
    pfc_suite *suite = NULL;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_suite_load(path, &suite, &err), PFC_OK), "%s", err.msg);
    free(path);
    return suite;
}

static void refuse(const char *name, const char *want)
{
    char *path = pfc_fs_join(dir, name);
    pfc_suite *suite = NULL;
    pfc_err err = { 0 };

    cr_assert(ne(int, pfc_suite_load(path, &suite, &err), PFC_OK));
    cr_assert(ne(ptr, strstr(err.msg, want), NULL), "'%s' lacks '%s'", err.msg, want);
    free(path);
}

TestSuite(suite_include, .init = setup, .fini = teardown);

#define ONE(op, shape) "benchmarks: [{op: " op ", shapes: [" shape "]}]\n"

Test(suite_include, files_lie_relative_to_the_including_one_and_globs_are_sorted)
{
    pfc_suite *s;

    put("main.yaml", "suite: main\nbackends: [cpu-scalar]\nsettings: {processes: 3}\n"
                     "include: [parts/*.yaml]\n" ONE("gemm", "{m: 9, n: 9, k: 9}"));
    put("parts/b.yaml", ONE("softmax", "{rows: 1, cols: 2}"));
    put("parts/a.yaml",
        "include: deeper/c.yaml\nsettings: {processes: 7}\n" ONE("softmax", "{rows: 1, cols: 1}"));
    put("parts/deeper/c.yaml", "backends: [cpu-avx2]\n" ONE("softmax", "{rows: 1, cols: 3}"));
    s = load("main.yaml");
    cr_assert(eq(str, s->name, "main"));
    cr_assert(eq(sz, s->cases_len, 4));
    cr_assert(eq(str, s->cases[0].name, "softmax/f32/rows1cols3"));
    cr_assert(eq(str, s->cases[0].backends[0], "cpu-avx2")); /* its own */
    cr_assert(eq(i64, s->cases[0].settings.processes, 7));   /* of the file that includes it */
    cr_assert(eq(str, s->cases[1].name, "softmax/f32/rows1cols1"));
    cr_assert(eq(str, s->cases[1].backends[0], "cpu-scalar"));
    cr_assert(eq(str, s->cases[2].name, "softmax/f32/rows1cols2"));
    cr_assert(eq(i64, s->cases[2].settings.processes, 3));
    cr_assert(eq(str, s->cases[3].name, "gemm/f32/m9n9k9"));
    cr_assert(ne(ptr, strstr(s->cases[1].where, "/parts/a.yaml:3"), NULL), "%s", s->cases[1].where);
    pfc_suite_free(s);
}

Test(suite_include, an_entry_picks_benchmarks_and_says_where_to_measure)
{
    pfc_suite *s;

    put("main.yaml", "suite: main\n"
                     "include:\n"
                     "  - {suite: quick, benchmarks: [\"gemm/*/m1??n*\", \"softmax/*\"],"
                     " backends: [cpu-scalar]}\n");
    s = load("main.yaml");
    cr_assert(gt(sz, s->cases_len, 1));
    for (size_t i = 0; i < s->cases_len; i++) {
        cr_assert(strncmp(s->cases[i].name, "gemm/f32/m1", 11) == 0 ||
                  strncmp(s->cases[i].name, "softmax/", 8) == 0);
        cr_assert(eq(sz, s->cases[i].backends_len, 1));
        cr_assert(eq(str, s->cases[i].backends[0], "cpu-scalar"));
    }
    pfc_suite_free(s);
    put("main.yaml", "suite: main\ninclude: [{suite: quick, benchmarks: [\"conv/*\"]}]\n");
    refuse("main.yaml", "main.yaml:2: include: no benchmark of it matches 'conv/*'");
}

Test(suite_include, groups_of_included_files_are_known_and_unique)
{
    pfc_suite *s;

    put("main.yaml", "suite: main\nbackends: [cpu-scalar]\ninclude: [groups.yaml]\n"
                     "benchmarks: [{op: softmax, group: g}]\n");
    put("groups.yaml", "groups:\n  g: [{rows: 2, cols: 3}]\n");
    s = load("main.yaml");
    cr_assert(eq(sz, s->cases_len, 1));
    pfc_suite_free(s);
    put("main.yaml", "suite: main\nbackends: [cpu-scalar]\ninclude: [groups.yaml]\n"
                     "groups:\n  g: [{rows: 1, cols: 1}]\nbenchmarks: [{op: softmax, group: g}]\n");
    refuse("main.yaml", "groups.yaml:2: groups: 'g' is there already, at ");
    put("groups.yaml", "groups:\n  h: [{rows: 2}]\n");
    put("main.yaml", "suite: main\nbackends: [cpu-scalar]\ninclude: [groups.yaml]\n"
                     "benchmarks: [{op: softmax, group: h}]\n");
    refuse("main.yaml", "groups.yaml:2: softmax: shape lacks 'cols'");
}

Test(suite_include, circles_doubles_and_depth_are_refused)
{
    char name[32];
    char text[64];

    put("self.yaml", "suite: s\ninclude: [self.yaml]\n");
    refuse("self.yaml", "self.yaml:2: include: ");
    refuse("self.yaml", "it includes itself");
    put("a.yaml", "suite: a\ninclude: [b.yaml]\n");
    put("b.yaml", "include: [a.yaml]\n");
    refuse("a.yaml", "b.yaml:1: include: ");
    refuse("a.yaml", "is included already");
    put("twice.yaml", "suite: t\nbackends: [cpu-scalar]\ninclude: [one.yaml, one.yaml]\n");
    put("one.yaml", ONE("softmax", "{rows: 1, cols: 1}"));
    refuse("twice.yaml", "twice.yaml:3: include: ");
    for (int i = 0; i < 12; i++) {
        snprintf(name, sizeof(name), "d%d.yaml", i);
        snprintf(text, sizeof(text), "suite: d\ninclude: [d%d.yaml]\n", i + 1);
        put(name, text);
    }
    refuse("d0.yaml", "d8.yaml:2: include: deeper than 8 levels");
}

Test(suite_include, a_missing_file_is_reported_with_file_and_line)
{
    put("main.yaml", "suite: m\ninclude:\n  - none.yaml\n");
    refuse("main.yaml", "main.yaml:3: include: ");
    put("main.yaml", "suite: m\ninclude: [\"none-*.yaml\"]\n");
    refuse("main.yaml", "no file matches ");
    put("only.yaml", "suite: m\ninclude: [\"only*.yaml\"]\n");
    refuse("only.yaml", "no other file matches ");
    put("main.yaml", "suite: m\ninclude: [/etc/hostname]\n");
    refuse("main.yaml", "expected a path relative to this file");
    put("main.yaml", "suite: m\ninclude: [.]\n");
    refuse("main.yaml", "main.yaml:2: include: ");
    put("main.yaml", "suite: m\ninclude: [{benchmarks: [\"*\"]}]\n");
    refuse("main.yaml", "include: lacks 'suite'");
    put("main.yaml", "suite: m\ninclude: [part.yaml]\n");
    put("part.yaml", "settings: {max_total_seconds: 5}\n");
    refuse("main.yaml", "part.yaml:1: settings: max_total_seconds limits a whole run");
}

/* A text that came from nowhere must not read files. */
Test(suite_include, a_text_without_a_file_includes_built_in_suites_only)
{
    const char *good = "suite: t\ninclude: [quick]\n";
    const char *bad = "suite: t\ninclude: [Makefile]\n";
    pfc_suite *suite = NULL;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_suite_parse(good, strlen(good), "s.yaml", &suite, &err), PFC_OK), "%s",
              err.msg);
    pfc_suite_free(suite);
    cr_assert(eq(int, pfc_suite_parse(bad, strlen(bad), "s.yaml", &suite, &err), PFC_EINVAL));
    cr_assert(ne(ptr, strstr(err.msg, "there is no file around"), NULL), "%s", err.msg);
}

Test(suite_include, the_hash_follows_every_file)
{
    pfc_suite *s;
    char before[PFC_SHA256_HEX];

    put("main.yaml", "suite: main\nbackends: [cpu-scalar]\ninclude: [one.yaml]\n");
    put("one.yaml", ONE("softmax", "{rows: 1, cols: 1}"));
    s = load("main.yaml");
    memcpy(before, s->hash, sizeof(before));
    pfc_suite_free(s);
    s = load("main.yaml");
    cr_assert(eq(str, s->hash, before));
    pfc_suite_free(s);
    put("one.yaml", ONE("softmax", "{rows: 1, cols: 2}"));
    s = load("main.yaml");
    cr_assert(ne(str, s->hash, before));
    pfc_suite_free(s);
}
