/* The ends of a comparison, what lies between, its means; backends and machines as ends. */
#include <math.h>

#include "server/services/history/compare.h"
#include "server/services/history/history.h"

#include "tests/check/check.h"
#include "tests/server/fixture.h"

/* Commits 1 to 9 on main, of which 2, 4 and 6 were measured, 4 on another machine class and with
 * another backend, too; tag v1.2 at 3; branch side: 20 and 21, the children of 5. */
typedef struct ground {
    fx_ground g;
    int64_t run; /* of commit 2 */
} ground;

static pfc_run *measured(unsigned n, const char *backend, double center)
{
    static const char *const names[] = { "gemm/a", "gemm/b", "norm/a" };
    pfc_run *run = fx_run(n);

    for (size_t i = 0; i < PFC_ARRAY_LEN(names); i++) {
        fx_measure(run, names[i], "time_ns", center, 0.002, 60, 10, n + i);
        free(run->measurements[i].backend);
        run->measurements[i].backend = pfc_strdup(backend);
    }
    return run;
}

static void set_class(pfc_run *run, const char *class_name)
{
    free(run->machine.machine_class);
    run->machine.machine_class = pfc_strdup(class_name);
}

static void tag(pfc_db *db, int64_t p, const char *branch, unsigned n, unsigned parent,
                const char *name)
{
    char *parents[1], *tags[1];
    pfc_commit commit = { .id = pfc_strdup(fx_sha(n)),
                          .parents = parents,
                          .parents_len = 1,
                          .author = (char *)"A",
                          .time = 1700000000.0 + 60.0 * n,
                          .subject = (char *)"s",
                          .tags = tags,
                          .tags_len = name ? 1 : 0 };
    size_t fresh = 0;
    pfc_err err = { 0 };

    parents[0] = pfc_strdup(fx_sha(parent));
    tags[0] = (char *)(uintptr_t)name;
    cr_assert(eq(int, pfc_commits_store(db, "test", p, branch, &commit, 1, &fresh, &err), PFC_OK),
              "%s", err.msg);
    free(parents[0]);
    free(commit.id);
}

static ground begin(void)
{
    ground t = { .g = fx_begin(2) };
    pfc_run *run;

    fx_commits(t.g.db, t.g.project, 1, 9);
    tag(t.g.db, t.g.project, NULL, 3, 2, "v1.2");
    tag(t.g.db, t.g.project, NULL, 6, 5, "nightly/6");
    tag(t.g.db, t.g.project, "side", 20, 5, NULL);
    tag(t.g.db, t.g.project, "side", 21, 20, NULL);
    t.run = fx_ingest(t.g.db, t.g.project, measured(2, "cpu-scalar", 100));
    fx_ingest(t.g.db, t.g.project, measured(4, "cpu-scalar", 110));
    fx_ingest(t.g.db, t.g.project, measured(4, "cpu-avx2", 50));
    run = measured(4, "cpu-scalar", 220);
    set_class(run, "slow-cpu");
    fx_ingest(t.g.db, t.g.project, run);
    fx_ingest(t.g.db, t.g.project, measured(6, "cpu-scalar", 121));
    return t;
}

static void expect_end(const ground *t, const char *text, unsigned commit, const char *kind,
                       const char *how)
{
    const pfc_end_ask ask = { .text = text };
    pfc_end end = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_end_find(t->g.db, t->g.project, &ask, "a", &end, &err), PFC_OK), "%s: %s",
              text, err.msg);
    cr_expect(eq(str, end.commit, (char *)(uintptr_t)fx_sha(commit)), "%s", text);
    cr_expect(eq(str, (char *)(uintptr_t)end.kind, (char *)(uintptr_t)kind), "%s", text);
    cr_expect(eq(str, end.how, (char *)(uintptr_t)how), "%s", text);
    pfc_end_clear(&end);
}

static void expect_none(const ground *t, const char *text, pfc_code code, const char *sentence)
{
    const pfc_end_ask ask = { .text = text };
    pfc_end end = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_end_find(t->g.db, t->g.project, &ask, "b", &end, &err), code), "%s",
              text);
    cr_expect(eq(str, err.field, (char *)"b"), "%s", text);
    cr_expect(eq(str, err.msg, (char *)(uintptr_t)sentence));
}

/* fx_commits: commit n has the time 22:13:20 UTC of 2023-11-14 and n minutes. */
Test(ends, commits_tags_branches_and_dates_are_found)
{
    ground t = begin();
    char run[24];

    (void)snprintf(run, sizeof(run), "%lld", (long long)t.run);
    expect_end(&t, fx_sha(3), 3, "commit", "commit 000000000000");
    expect_end(&t, "v1.2", 3, "tag", "tag v1.2 at 000000000000");
    expect_end(&t, "refs/tags/v1.2", 3, "tag", "tag v1.2 at 000000000000");
    expect_end(&t, "nightly/6", 6, "tag", "tag nightly/6 at 000000000000"); /* no release */
    expect_end(&t, "main", 6, "branch",
               "branch main at 000000000000, its newest commit with results");
    expect_end(&t, "refs/heads/main", 6, "branch",
               "branch main at 000000000000, its newest commit with results");
    expect_end(&t, "2023-11-14", 6, "date",
               "date 2023-11-14 at 000000000000, the newest commit of branch main with results up "
               "to 2023-11-14T23:59:59Z");
    /* commit 5 has exactly that time, and was not measured; 4 was */
    expect_end(&t, "2023-11-14T22:18:20Z", 4, "date",
               "date 2023-11-14T22:18:20Z at 000000000000, the newest commit of branch main with "
               "results up to 2023-11-14T22:18:20Z");
    expect_end(&t, "2023-11-15T00:17:20+02:00", 4, "date",
               "date 2023-11-15T00:17:20+02:00 at 000000000000, the newest commit of branch main "
               "with results up to 2023-11-15T00:17:20+02:00");
    fx_end(&t.g);
}

Test(ends, a_tilde_goes_back_along_the_line_or_first_parents)
{
    ground t = begin();
    char text[64];

    expect_end(&t, "main~2", 4, "branch", "main~2 at 000000000000, 2 commits before 000000000000");
    expect_end(&t, "main~", 5, "branch", "main~1 at 000000000000, 1 commit before 000000000000");
    expect_end(&t, "v1.2~1", 2, "tag", "v1.2~1 at 000000000000, 1 commit before 000000000000");
    expect_end(&t, "2023-11-14~5", 1, "date",
               "2023-11-14~5 at 000000000000, 5 commits before 000000000000");
    /* 20 and 21 are on the line of another branch, which begins there: 5 is reached by no line */
    (void)snprintf(text, sizeof(text), "%s~1", fx_sha(21));
    expect_end(&t, text, 20, "commit",
               "0000000000000000000000000000000000000015~1 at 000000000000, 1 commit before "
               "000000000000");
    expect_none(&t, "v1.2~3", PFC_ENOTFOUND,
                "b: fewer than 3 commits are known before 000000000000");
    expect_none(&t, "main~x", PFC_EINVAL,
                "b: the number after ~: expected a whole number, got \"x\"");
    fx_end(&t.g);
}

Test(ends, what_names_nothing_is_said_in_one_sentence)
{
    ground t = begin();
    static const char expected[] =
        "b: expected a commit id of 7 or more digits, a run id, a tag, a branch or a date, with "
        "~N behind it for N commits before";

    expect_none(&t, "v9.9", PFC_ENOTFOUND,
                "b: \"v9.9\" is no commit, run, tag or branch of this project");
    expect_none(&t, "refs/heads/v1.2", PFC_ENOTFOUND,
                "b: \"refs/heads/v1.2\" is no commit, run, tag or branch of this project");
    expect_none(&t, "side", PFC_ENOTFOUND, "b: no commit of branch side has results");
    expect_none(&t, "2023-11-13", PFC_ENOTFOUND,
                "b: no commit of branch main has results up to 2023-11-13T23:59:59Z");
    expect_none(&t, "", PFC_EINVAL, expected);
    expect_none(&t, "~1", PFC_EINVAL, expected);
    expect_none(&t, "a\nb", PFC_EINVAL, expected);
    expect_none(&t, "main^{tree}", PFC_EINVAL, expected);
    fx_end(&t.g);
}

static pfc_comparison compare(const ground *t, const pfc_compare_ask *ask)
{
    pfc_comparison c = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_compare(t->g.db, t->g.project, ask, &c, &err), PFC_OK), "%s", err.msg);
    return c;
}

static void expect_between(const ground *t, const char *a, const char *b, int64_t commits,
                           bool backwards, const char *sentence)
{
    pfc_comparison c = compare(t, &(pfc_compare_ask){ .a = { .text = a }, .b = { .text = b } });

    cr_expect(eq(i64, c.between.commits, commits));
    cr_expect(eq(int, c.between.backwards, backwards));
    cr_expect(eq(str, c.between.sentence, (char *)(uintptr_t)sentence));
    pfc_comparison_clear(&c);
}

Test(ends, commits_between_both_are_counted)
{
    ground t = begin();

    expect_between(&t, "main~4", "main", 3, false,
                   "3 commits lie between A and B on branch main: a difference can come from each "
                   "of them, or from B.");
    expect_between(&t, "main", "main~2", 1, true,
                   "1 commit lies between A and B on branch main; B is older than A: a difference "
                   "can come from each of them, or from A.");
    expect_between(&t, "main~1", "main", 0, false,
                   "No commit lies between A and B on branch main.");
    expect_between(&t, "main", "main", 0, false, "A and B are the same commit.");
    expect_between(&t, "main", fx_sha(21), -1, false,
                   "A and B are not on one line of history: a difference can come from any commit "
                   "that only one of them contains.");
    fx_end(&t.g);
}

/* At one commit: 110 ns with one backend, 50 ns with the other. */
Test(ends, one_backend_is_compared_with_another)
{
    ground t = begin();
    pfc_comparison c = compare(
        &t, &(pfc_compare_ask){
                .a = { .text = fx_sha(4), .backend = "cpu-scalar", .machine_class = "test-cpu" },
                .b = { .text = fx_sha(4), .backend = "cpu-avx2", .machine_class = "test-cpu" } });

    cr_assert(eq(sz, c.rows_len, 3));
    cr_expect(eq(sz, c.improvements, 3));
    cr_expect(eq(sz, c.only_a_len + c.only_b_len, 0));
    cr_expect(eq(str, c.rows[0].backend, (char *)"cpu-avx2"));
    cr_expect(eq(str, (char *)(uintptr_t)c.rows[0].a.backend, (char *)"cpu-scalar"));
    cr_assert(eq(sz, c.differs_len, 1));
    cr_expect(eq(str, c.differs[0].field, (char *)"backend"));
    cr_expect(eq(str, c.differs[0].a, (char *)"cpu-scalar"));
    cr_expect(eq(str, c.differs[0].b, (char *)"cpu-avx2"));
    cr_expect(ne(i64, c.rows[0].a.series_id, c.rows[0].b.series_id));
    cr_expect(eq(ptr, (void *)(uintptr_t)c.object_code, NULL));
    pfc_comparison_clear(&c);
    fx_end(&t.g);
}

/* The newest commit of a branch is one with results of that machine class. */
Test(ends, one_machine_class_is_compared_with_another)
{
    ground t = begin();
    pfc_comparison c =
        compare(&t, &(pfc_compare_ask){ .a = { .text = "main", .machine_class = "test-cpu" },
                                        .b = { .text = "main", .machine_class = "slow-cpu" } });

    cr_expect(eq(str, c.a.end.commit, (char *)(uintptr_t)fx_sha(6)));
    cr_expect(eq(str, c.b.end.commit, (char *)(uintptr_t)fx_sha(4)));
    cr_expect(eq(str, c.b.end.how,
                 (char *)"branch main at 000000000000, its newest commit with results on machine "
                         "class slow-cpu"));
    cr_expect(c.across);
    cr_assert(eq(sz, c.rows_len, 3));
    cr_expect(eq(sz, c.regressions, 3));
    cr_assert(eq(sz, c.differs_len, 1));
    cr_expect(eq(str, c.differs[0].field, (char *)"machine_class"));
    pfc_comparison_clear(&c);
    fx_end(&t.g);
}

/* 100 to 110 ns is +10 % in each of two gemm rows, and in one of norm. A broken row is left out. */
Test(ends, geometric_means_are_of_a_kernel_and_a_backend)
{
    ground t = begin();
    pfc_run *run = measured(7, "cpu-scalar", 110);
    pfc_comparison c;

    fx_break(run, "gemm/b", "wrong result");
    fx_measure(run, "headline", "gemm", 50, 0.002, 60, 10, 3);
    fx_ingest(t.g.db, t.g.project, run);
    c = compare(&t, &(pfc_compare_ask){ .a = { .text = fx_sha(2) }, .b = { .text = fx_sha(6) } });
    cr_assert(eq(sz, c.means_len, 2));
    cr_expect(eq(str, c.means[0].kernel, (char *)"gemm"));
    cr_expect(eq(sz, c.means[0].n, 2));
    cr_expect(eq(sz, c.means[0].regressions, 2));
    cr_expect(epsilon_eq(dbl, c.means[0].rel_change, 0.21, 0.003));
    cr_expect(eq(str, c.means[1].kernel, (char *)"norm"));
    cr_expect(eq(sz, c.means[1].n, 1));
    pfc_comparison_clear(&c);
    c = compare(&t, &(pfc_compare_ask){ .a = { .text = fx_sha(2) }, .b = { .text = fx_sha(7) } });
    cr_assert(eq(sz, c.means_len, 2));
    cr_expect(eq(sz, c.means[0].n, 1));
    cr_expect(eq(sz, c.means[0].left_out, 1));
    cr_expect(epsilon_eq(dbl, c.means[0].rel_change, 0.10, 0.003));
    pfc_comparison_clear(&c);
    fx_end(&t.g);
}
