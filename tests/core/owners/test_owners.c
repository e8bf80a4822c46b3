/* Owners of paths, by the examples of GitHub's and GitLab's documentation, and of benchmarks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/owners/owners.h"

#include "tests/check/check.h"

static pfc_owners *parse(const char *text, pfc_owners_syntax syntax)
{
    pfc_owners *o = NULL;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_owners_parse(text, syntax, "CODEOWNERS", &o, &err), PFC_OK), "%s",
              err.msg);
    return o;
}

/* want NULL: no rule matches. */
static void expect(const pfc_owners *o, const char *path, const char *want)
{
    char *got = pfc_owners_of_path(o, path);

    cr_expect(want ? got && strcmp(got, want) == 0 : got == NULL, "%s: expected \"%s\", got \"%s\"",
              path, want ? want : "no rule", got ? got : "no rule");
    free(got);
}

static void expect_benchmark(const pfc_owners *o, const char *name, const char *want)
{
    char *got = pfc_owners_of_benchmark(o, name);

    cr_expect(want ? got && strcmp(got, want) == 0 : got == NULL, "%s: expected \"%s\", got \"%s\"",
              name, want ? want : "no rule", got ? got : "no rule");
    free(got);
}

/* The example of https://docs.github.com/repositories, "About code owners". */
Test(owners, follow_githubs_example)
{
    pfc_owners *o = parse("# This is a comment.\n"
                          "*       @global-owner1 @global-owner2\n"
                          "*.js    @js-owner #This is an inline comment.\n"
                          "*.go docs@example.com\n"
                          "*.txt @octo-org/octocats\n"
                          "/build/logs/ @doctocat\n"
                          "docs/* docs@example.com\n"
                          "apps/ @octocat\n"
                          "/docs/ @doctocat\n"
                          "/scripts/ @doctocat @octocat\n"
                          "**/logs @octocat\n"
                          "/apps/ @octocat\n"
                          "/apps/github\n",
                          PFC_OWNERS_GITHUB);

    expect(o, "README.md", "@global-owner1 @global-owner2");
    expect(o, "src/a.js", "@js-owner");
    expect(o, "cmd/main.go", "docs@example.com");
    expect(o, "notes.txt", "@octo-org/octocats");
    expect(o, "build/logs/today", "@octocat"); /* by "**" "/logs", which is later */
    expect(o, "x/build/logs/today", "@octocat");
    expect(o, "docs/getting-started.md", "@doctocat");
    expect(o, "x/apps/a/b.c", "@octocat");
    expect(o, "scripts/run", "@doctocat @octocat");
    expect(o, "deeply/nested/logs/file", "@octocat");
    expect(o, "apps/web/a.c", "@octocat");
    expect(o, "apps/github/a.c", ""); /* no owner, on purpose */
    cr_expect(eq(sz, pfc_owners_rules(o), 12));
    cr_expect(eq(sz, pfc_owners_skipped(o), 0));
    pfc_owners_free(o);
}

Test(owners, of_a_star_in_a_folder_are_not_those_below_it)
{
    pfc_owners *o =
        parse("docs/* @a\nkernels/cpu @b\n*.c @c\nlib/*.h @d\nx/**/y @e\n", PFC_OWNERS_GITHUB);

    expect(o, "docs/a.md", "@a");
    expect(o, "docs/build/a.md", NULL);
    expect(o, "x/docs/a.md", NULL); /* a slash in the middle roots the pattern */
    expect(o, "kernels/cpu/gemm/avx2.h", "@b");
    expect(o, "kernels/cpu2/a.h", NULL);
    expect(o, "kernels/cpu/gemm/avx2.c", "@c"); /* the last match wins */
    expect(o, "lib/a.h", "@d");
    expect(o, "lib/a/b.h", NULL);
    expect(o, "x/y", "@e");
    expect(o, "x/1/2/y", "@e");
    expect(o, "x/1/2/z", NULL);
    pfc_owners_free(o);
}

Test(owners, skip_invalid_lines_of_a_forges_file_as_the_forge_does)
{
    pfc_owners *o = parse("*.c @a\n"
                          "*.c word\n"         /* no owner: GitHub skips the line */
                          "!*.c @b\n"          /* no exclusion at GitHub */
                          "with\\ space/ @s\n" /* an escaped blank */
                          "\\#notes @n\r\n",
                          PFC_OWNERS_GITHUB);

    expect(o, "a.c", "@a");
    expect(o, "with space/x", "@s");
    expect(o, "#notes", "@n");
    cr_expect(eq(sz, pfc_owners_skipped(o), 2));
    pfc_owners_free(o);
}

/* https://docs.gitlab.com/user/project/codeowners/reference: sections, defaults, exclusions. */
Test(owners, follow_gitlabs_sections)
{
    pfc_owners *o = parse("* @default\n"
                          "internal/README.md @inner\n"
                          "[Documentation][2] @docs-team\n"
                          "docs/\n"
                          "README.md @writer\n"
                          "^[Database] @db @dba\n"
                          "model/db/\n"
                          "config/db/database-setup.md @docs-team\n"
                          "[documentation]\n"
                          "/manual/ @manual\n"
                          "[Ruby]\n"
                          "*.rb @ruby\n"
                          "!/config/**/*.rb\n"
                          "[Go]\n"
                          "!/gen/\n"
                          "*.go @go\n",
                          PFC_OWNERS_GITLAB);

    expect(o, "a.c", "@default");
    expect(o, "docs/a.md", "@default @docs-team");
    expect(o, "x/docs/y/a.md", "@default @docs-team"); /* at any depth */
    expect(o, "README.md", "@default @writer");
    expect(o, "x/internal/README.md", "@inner @writer");
    expect(o, "model/db/schema.rb", "@default @db @dba @ruby");
    expect(o, "config/db/database-setup.md", "@default @docs-team");
    expect(o, "manual/a.md", "@default @manual");
    expect(o, "x/manual/a.md", "@default"); /* its slash roots it */
    expect(o, "config/x/y.rb", "@default"); /* excluded from its section alone */
    expect(o, "docs", "@default");          /* a file, not the folder */
    expect(o, "a.go", "@default @go");
    expect(o, "gen/a.go", "@default"); /* a later rule does not include it again */
    pfc_owners_free(o);
}

Test(owners, know_a_gitlab_file_by_its_place_or_its_sections)
{
    cr_expect(eq(int, pfc_owners_guess(".gitlab/CODEOWNERS", "* @a\n"), PFC_OWNERS_GITLAB));
    cr_expect(eq(int, pfc_owners_guess("CODEOWNERS", "* @a\n^[Docs] @b\n"), PFC_OWNERS_GITLAB));
    cr_expect(eq(int, pfc_owners_guess("CODEOWNERS", "* @a\n[Docs][x]\n"), PFC_OWNERS_GITHUB));
    cr_expect(eq(int, pfc_owners_guess(NULL, "* @a\n"), PFC_OWNERS_GITHUB));
}

Test(owners, of_benchmarks_come_from_the_projects_own_rules)
{
    pfc_owners *o = parse("benchmark:* perf-team\n"
                          "kernel:gemm @gemm gemm@example.org\n"
                          "benchmark:gemm/bf16/* @bf16\n"
                          "kernel:norm\n"
                          "/kernels/ @kernels\n",
                          PFC_OWNERS_RULES);

    expect_benchmark(o, "copy/f32", "perf-team");
    expect_benchmark(o, "gemm/f32/m512", "@gemm gemm@example.org");
    expect_benchmark(o, "gemm2/f32", "perf-team");
    expect_benchmark(o, "gemm/bf16/m8/n8", "@bf16");
    expect_benchmark(o, "norm/f32", "");
    expect(o, "kernels/a.c", "@kernels");
    expect(o, "gemm/bf16/x", NULL); /* a rule of benchmarks is none of paths */
    pfc_owners_free(o);
}

Test(owners, of_several_paths_are_those_of_most_of_them)
{
    pfc_owners *rules = parse("/core/ @core\n", PFC_OWNERS_RULES);
    pfc_owners *file = parse("* @all\n/kernels/ @k\n/docs/\n", PFC_OWNERS_GITHUB);
    const char *const paths[] = { "docs/a",      "core/x.c", "kernels/a.c",
                                  "kernels/b.c", "docs/b",   "docs/c" };
    char *got = pfc_owners_of_paths(rules, file, paths, 6);

    cr_expect(eq(str, got, (char *)"@k"));
    free(got);
    got = pfc_owners_of_paths(rules, file, paths, 3); /* equally many: the first path's */
    cr_expect(eq(str, got, (char *)"@core"));
    free(got);
    cr_expect(pfc_owners_of_paths(rules, file, paths, 1) == NULL);
    cr_expect(pfc_owners_of_paths(NULL, NULL, paths, 6) == NULL);
    pfc_owners_free(rules);
    pfc_owners_free(file);
}

static void refuse(const char *text, pfc_owners_syntax syntax, const char *want)
{
    pfc_owners *o = NULL;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_owners_parse(text, syntax, "rules", &o, &err), PFC_EINVAL));
    cr_expect(strstr(err.msg, want) != NULL, "expected \"%s\", got \"%s\"", want, err.msg);
}

Test(owners, are_bounded)
{
    char *text = calloc(1, PFC_OWNERS_MAX_TEXT + 2);
    pfc_owners *o = NULL;
    size_t at = 0;

    memset(text, '#', PFC_OWNERS_MAX_TEXT);
    pfc_owners_free(parse(text, PFC_OWNERS_GITHUB));
    text[PFC_OWNERS_MAX_TEXT] = '#';
    refuse(text, PFC_OWNERS_GITHUB, "rules: expected at most 262144 bytes, got 262145");
    for (size_t i = 0; i < PFC_OWNERS_MAX_RULES; i++)
        at += (size_t)sprintf(text + at, "/a%zu @x\n", i);
    text[at] = '\0';
    o = parse(text, PFC_OWNERS_GITHUB);
    cr_expect(eq(sz, pfc_owners_rules(o), PFC_OWNERS_MAX_RULES));
    pfc_owners_free(o);
    (void)sprintf(text + at, "/b @x\n");
    refuse(text, PFC_OWNERS_GITHUB, "rules: expected at most 5000 rules");
    free(text);
    refuse("# one\n!x @a\n", PFC_OWNERS_RULES, "rules:2: '!' excludes nothing here");
    refuse("/*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a @a\n", PFC_OWNERS_RULES,
           "rules:1: expected a pattern with at most 16 stars, got 17");
    refuse("benchmark:*****************x @a\n", PFC_OWNERS_RULES, "at most 16 stars, got 17");
    refuse("/a \x01x\n", PFC_OWNERS_RULES, "rules:1: \"?x\" is no owner");
}

/* 16 names are kept, each once. */
Test(owners, name_at_most_sixteen_each_once)
{
    pfc_owners *o = parse("* @a @a @1 @2 @3 @4 @5 @6 @7 @8 @9 @10 @11 @12 @13 @14 @15 @16\n",
                          PFC_OWNERS_GITHUB);

    expect(o, "x", "@a @1 @2 @3 @4 @5 @6 @7 @8 @9 @10 @11 @12 @13 @14 @15");
    pfc_owners_free(o);
}
