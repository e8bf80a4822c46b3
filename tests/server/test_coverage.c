/* Coverage: which commits have results. */

#include "server/services/history/coverage.h"

#include "tests/check/check.h"
#include "tests/server/fixture.h"

/* One benchmark at commit n on machines of that class; broken: it ran, and its result was wrong. */
static void at(pfc_db *db, int64_t p, unsigned n, const char *class_name, const char *benchmark,
               bool broken)
{
    pfc_run *run = fx_run(n);

    free(run->machine.machine_class);
    run->machine.machine_class = pfc_strdup(class_name);
    fx_measure(run, benchmark, "time_ns", 100, 0.005, 8, 2, n);
    if (broken) {
        pfc_measurement *m = &run->measurements[0];

        m->status = PFC_STATUS_BROKEN;
        m->reason = pfc_strdup("wrong result");
        m->samples_len = m->blocks_len = 0;
    }
    fx_ingest(db, p, run);
}

static const char *cells_of(const pfc_coverage *c, const char *class_name, const char *benchmark)
{
    for (size_t i = 0; i < c->rows.len; i++)
        if (pfc_streq(c->rows.items[i].benchmark, benchmark) &&
            pfc_streq(c->rows.items[i].machine_class, class_name))
            return c->cells[i];
    return "no such row";
}

static void expect_cells(const pfc_coverage *c, const char *class_name, const char *benchmark,
                         const char *want)
{
    cr_expect(
        eq(str, (char *)(uintptr_t)cells_of(c, class_name, benchmark), (char *)(uintptr_t)want),
        "%s on %s", benchmark, class_name);
}

Test(coverage, a_sign_a_commit_says_measured_broken_missing_or_not_there_yet)
{
    pfc_db *db = pfc_test_db_open(2, NULL);
    int64_t p = fx_project(db);
    pfc_coverage_filter filter = { .branch = "main" };
    pfc_coverage c = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_coverage_read(db, p, &filter, &c, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, c.commits.len + c.rows.len + c.fills_len + c.never.len, 0), "nothing yet");
    pfc_coverage_clear(&c);
    fx_commits(db, p, 1, 6);
    fx_commit(db, p, 9, 3, 0);  /* a side branch */
    fx_commit(db, p, 10, 6, 9); /* comes in here */
    for (unsigned n = 1; n <= 4; n += n < 2 ? 1 : 2)
        at(db, p, n, "new", "gemm/a", false);
    at(db, p, 4, "new", "gemm/a", false); /* twice is once */
    at(db, p, 9, "new", "gemm/a", false); /* off the line */
    at(db, p, 5, "new", "gemm/a", true);
    at(db, p, 4, "new", "gemm/a", true); /* once more, and broken: it is measured all the same */
    at(db, p, 4, "new", "gemm/b", false);
    at(db, p, 2, "old", "gemm/a", false);
    at(db, p, 2, "old", "norm/n", false);

    cr_assert(eq(int, pfc_coverage_read(db, p, &filter, &c, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, c.commits.len, 7));
    cr_assert(eq(str, (char *)(uintptr_t)c.commits.items[0].commit, (char *)fx_sha(10)));
    cr_assert(eq(sz, c.rows.len, 4));
    expect_cells(&c, "new", "gemm/a", "--!x-xx");
    expect_cells(&c, "new", "gemm/b", "---x...");
    expect_cells(&c, "old", "gemm/a", "-----x.");
    expect_cells(&c, "old", "norm/n", "-----x.");
    cr_assert(eq(sz, c.commits.items[3].measured, 2)); /* commit 4 */
    cr_assert(eq(sz, c.commits.items[3].missing, 2));
    cr_assert(eq(sz, c.commits.items[0].missing, 4));
    cr_assert(eq(sz, c.missing[0], 3));

    /* what closes most first, of them the newest */
    static const struct {
        unsigned commit;
        const char *class_name;
        size_t missing;
    } fills[] = { { 10, "new", 2 }, { 10, "old", 2 }, { 6, "new", 2 },
                  { 6, "old", 2 },  { 5, "old", 2 },  { 4, "old", 2 },
                  { 3, "old", 2 },  { 5, "new", 1 },  { 3, "new", 1 } };
    cr_assert(eq(sz, c.fills_len, PFC_ARRAY_LEN(fills)));
    for (size_t i = 0; i < c.fills_len; i++) {
        cr_expect(eq(str, (char *)(uintptr_t)c.fills[i].commit, (char *)fx_sha(fills[i].commit)));
        cr_expect(eq(str, (char *)(uintptr_t)c.fills[i].machine_class,
                     (char *)(uintptr_t)fills[i].class_name));
        cr_expect(eq(sz, c.fills[i].missing, fills[i].missing));
    }
    cr_assert(eq(sz, c.never.len, 1));
    cr_assert(eq(str, (char *)(uintptr_t)c.never.items[0].benchmark, "gemm/b"));
    cr_assert(eq(str, (char *)(uintptr_t)c.never.items[0].machine_class, "old"));
    pfc_coverage_clear(&c);

    /* what lies before the newest commits is known all the same */
    filter.commits = 3;
    cr_assert(eq(int, pfc_coverage_read(db, p, &filter, &c, &err), PFC_OK), "%s", err.msg);
    expect_cells(&c, "new", "gemm/a", "--!");
    expect_cells(&c, "new", "gemm/b", "---");
    cr_assert(eq(sz, c.fills_len, 0), "neither class has measured any of these");
    pfc_coverage_clear(&c);
    filter =
        (pfc_coverage_filter){ .branch = "main", .machine_class = "old", .benchmark = "norm/n" };
    cr_assert(eq(int, pfc_coverage_read(db, p, &filter, &c, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, c.rows.len, 1));
    expect_cells(&c, "old", "norm/n", "-----x.");
    pfc_coverage_clear(&c);
    pfc_db_close(db);
}

/* One benchmark at commit n on a backend, of a run on that branch. */
static void on(pfc_db *db, int64_t p, unsigned n, const char *branch, const char *class_name,
               const char *backend, const char *benchmark, bool broken)
{
    pfc_run *run = fx_run(n);
    pfc_measurement *m;

    free(run->machine.machine_class);
    run->machine.machine_class = pfc_strdup(class_name);
    run->branch = branch ? pfc_strdup(branch) : NULL;
    fx_measure(run, benchmark, "time_ns", 100, 0.005, 8, 2, n);
    m = &run->measurements[0];
    free(m->backend);
    m->backend = pfc_strdup(backend);
    if (broken) {
        m->status = PFC_STATUS_BROKEN;
        m->reason = pfc_strdup("wrong result");
        m->samples_len = m->blocks_len = 0;
    }
    fx_ingest(db, p, run);
}

static void expect_sizes(pfc_db *db, int64_t p, pfc_coverage_filter filter, size_t rows,
                         size_t never)
{
    pfc_coverage c = { 0 };
    pfc_err err = { 0 };

    filter.branch = "main";
    cr_assert(eq(int, pfc_coverage_read(db, p, &filter, &c, &err), PFC_OK), "%s", err.msg);
    cr_expect(eq(sz, c.rows.len, rows));
    cr_expect(eq(sz, c.never.len, never));
    pfc_coverage_clear(&c);
}

Test(coverage, the_requested_rows_are_returned_up_to_the_limit)
{
    const pfc_coverage_filter usual = { .branch = "main" },
                              all = { .branch = "main", .commits = 130 };
    pfc_db *db = pfc_test_db_open(2, NULL);
    int64_t p = fx_project(db);
    pfc_coverage c = { 0 };
    pfc_err err = { 0 };

    fx_commits(db, p, 1, 130);
    for (unsigned n = 1; n <= 130; n += 129)
        on(db, p, n, NULL, "new", "scalar", "gemm/a", false);
    on(db, p, 130, NULL, "old", "vector", "gemm/a", false);
    on(db, p, 130, NULL, "old", "vector", "gemm/b", false);
    on(db, p, 129, "side", "new", "scalar", "gemm/a", true);  /* another branch's: nothing here */
    on(db, p, 130, "side", "new", "scalar", "gemm/c", false); /* nor is this */

    /* gemm/b has not been on the machines of gemm/a's other class */
    expect_sizes(db, p, usual, 3, 1);
    expect_sizes(db, p, (pfc_coverage_filter){ .backend = "vector" }, 2, 0);
    expect_sizes(db, p, (pfc_coverage_filter){ .backend = "scalar" }, 1, 1);
    expect_sizes(db, p, (pfc_coverage_filter){ .machine_class = "old" }, 2, 0);
    expect_sizes(db, p, (pfc_coverage_filter){ .machine_class = "new" }, 1, 1);
    expect_sizes(db, p, (pfc_coverage_filter){ .benchmark = "gemm/a" }, 2, 0);
    expect_sizes(db, p, (pfc_coverage_filter){ .benchmark = "gemm/b" }, 1, 1);

    cr_assert(eq(int, pfc_coverage_read(db, p, &usual, &c, &err), PFC_OK), "%s", err.msg);
    cr_expect(eq(sz, c.commits.len, 50), "unless more are asked for");
    cr_expect(eq(int, cells_of(&c, "new", "gemm/a")[1], '-'), "it broke on another branch");
    pfc_coverage_clear(&c);
    cr_assert(eq(int, pfc_coverage_read(db, p, &all, &c, &err), PFC_OK), "%s", err.msg);
    cr_expect(eq(sz, c.commits.len, 130));
    cr_expect(eq(sz, c.missing[0], 128));
    cr_expect(eq(sz, c.fills_len, PFC_COVERAGE_MAX_LIST));
    pfc_coverage_clear(&c);
    pfc_db_close(db);
}
