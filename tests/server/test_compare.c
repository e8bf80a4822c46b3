/* Two commits or runs side by side: what may stand for them, and what is judged. */
#include <math.h>

#include "server/services/history/compare.h"

#include "tests/check/check.h"
#include "tests/server/fixture.h"

static pfc_comparison compare(pfc_db *db, int64_t p, const char *a, const char *b)
{
    pfc_comparison c = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_compare_commits(db, p, a, b, &c, &err), PFC_OK), "%s, %s: %s", a, b,
              err.msg);
    return c;
}

static void expect_code(pfc_db *db, int64_t p, const char *a, pfc_code want)
{
    pfc_comparison c = { 0 };
    pfc_err err = { 0 };

    cr_expect(eq(int, pfc_compare_commits(db, p, a, fx_sha(1), &c, &err), want), "%s: %s", a,
              err.msg);
    cr_expect(eq(str, err.field, "a"));
    pfc_comparison_clear(&c);
}

static pfc_run *measured(unsigned n, const char *benchmark, double center, size_t blocks)
{
    pfc_run *run = fx_run(n);

    fx_measure(run, benchmark, "time_ns", center, 0.002, 60, blocks, n);
    return run;
}

/* A run's number is short, or nothing else: whole numbers of 7 and more digits are commits first.
 */
Test(compare, names_are_commits_or_runs)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    int64_t p = fx_project(db), first, moved;
    char commit[] = "1234567aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", number[24], other[24];
    pfc_run *run;
    pfc_comparison c;

    fx_commits(db, p, 1, 3);
    first = fx_ingest(db, p, measured(1, "gemm/a", 100, 3));
    pfc_test_sql(url, "SELECT setval(pg_get_serial_sequence('runs', 'id'), 1234566)");
    fx_ingest(db, p, measured(2, "gemm/a", 120, 3)); /* 1234567 */
    run = measured(3, "gemm/a", 150, 3);
    free(run->commit);
    run->commit = pfc_strdup(commit);
    cr_assert(eq(i64, fx_ingest(db, p, run), 1234568));

    (void)snprintf(number, sizeof(number), "%lld", (long long)first);
    c = compare(db, p, number, "1234568");
    cr_expect(eq(str, c.a.end.commit, (char *)(uintptr_t)fx_sha(1)));
    cr_expect(eq(str, c.b.end.commit, commit));
    pfc_comparison_clear(&c);
    c = compare(db, p, number, "1234567"); /* there is such a run, and such a commit */
    cr_expect(eq(str, c.b.end.commit, commit));
    pfc_comparison_clear(&c);
    expect_code(db, p, "0", PFC_EINVAL);
    expect_code(db, p, "000000", PFC_EINVAL);
    expect_code(db, p, "", PFC_EINVAL);
    expect_code(db, p, "12345678901234567890", PFC_ENOTFOUND);
    expect_code(db, p, "999999", PFC_ENOTFOUND);

    /* of a commit the runs of a machine that had moved are left out; one that is named is not */
    run = measured(1, "gemm/a", 200, 3);
    run->infra = true;
    moved = fx_ingest(db, p, run);
    (void)snprintf(other, sizeof(other), "%lld", (long long)moved);
    c = compare(db, p, number, other);
    cr_assert(eq(sz, c.rows_len, 1));
    cr_expect(epsilon_eq(dbl, c.rows[0].result.rel_change, 1.0, 0.01));
    pfc_comparison_clear(&c);
    pfc_db_close(db);
    free(url);
}

static const pfc_compare_row *row_of(const pfc_comparison *c, const char *benchmark,
                                     const char *class_name)
{
    for (size_t i = 0; i < c->rows_len; i++)
        if (pfc_streq(c->rows[i].benchmark, benchmark) &&
            pfc_streq(c->rows[i].machine_class, class_name))
            return &c->rows[i];
    cr_fatal("no row of %s on %s", benchmark, class_name);
    return NULL;
}

static void expect_verdict(const pfc_comparison *c, const char *benchmark, const char *class_name,
                           int verdict, bool regression)
{
    const pfc_compare_row *row = row_of(c, benchmark, class_name);

    cr_expect(eq(int, (int)row->result.verdict, verdict), "%s on %s", benchmark, class_name);
    cr_expect(eq(int, row->regression, regression), "%s on %s", benchmark, class_name);
}

/* Commit n on machines of that class. */
static void store(pfc_db *db, int64_t p, unsigned n, const char *class_name, double slower)
{
    const bool second = n == 2;
    pfc_run *run = measured(n, "gemm/a", second ? 100 * slower : 100, 10);
    const char *const rising[] = { "up", "down" };

    free(run->machine.machine_class);
    run->machine.machine_class = pfc_strdup(class_name);
    /* launches that share their luck are few on one side: then samples are what there is */
    fx_measure(run, "few", "time_ns", second ? 120 : 100, 0.002, 60, second ? 2 : 10, n);
    fx_measure(run, "canary", "time_ns", second ? 120 : 100, 0.002, 60, 10, n);
    fx_measure(run, "zeros", "count", 0, 0, 60, 10, n);
    for (size_t i = 0; i < PFC_ARRAY_LEN(rising); i++) {
        fx_measure(run, rising[i], "tflops", !second ? 100 : i ? 80 : 120, 0.002, 60, 10, n);
        run->measurements[run->measurements_len - 1].higher_is_better = true;
    }
    fx_ingest(db, p, run);
}

Test(compare, verdicts_are_of_a_class_a_direction_and_what_can_be_judged)
{
    pfc_db *db = pfc_test_db_open(2, NULL);
    int64_t p = fx_project(db);
    pfc_comparison c;

    fx_commits(db, p, 1, 2);
    for (unsigned n = 1; n <= 2; n++) {
        store(db, p, n, "one", 1.2);
        store(db, p, n, "two", 0.8);
    }
    c = compare(db, p, fx_sha(1), fx_sha(2));
    cr_assert(eq(sz, c.rows_len, 12));
    expect_verdict(&c, "gemm/a", "one", PFC_VERDICT_DIFFERENT, true);
    expect_verdict(&c, "gemm/a", "two", PFC_VERDICT_DIFFERENT, false);
    cr_expect(eq(sz, row_of(&c, "gemm/a", "one")->a.n, 60));
    expect_verdict(&c, "few", "one", PFC_VERDICT_DIFFERENT, true);
    expect_verdict(&c, "canary", "one", PFC_VERDICT_INCONCLUSIVE, false);
    expect_verdict(&c, "zeros", "one", PFC_VERDICT_INCONCLUSIVE, false);
    cr_expect(eq(dbl, row_of(&c, "zeros", "one")->result.p, 1.0));
    cr_expect(eq(dbl, row_of(&c, "zeros", "one")->b.median, 0.0));
    expect_verdict(&c, "up", "one", PFC_VERDICT_DIFFERENT, false);
    expect_verdict(&c, "down", "one", PFC_VERDICT_DIFFERENT, true);
    cr_expect(eq(sz, c.regressions, 5));
    cr_expect(eq(sz, c.improvements, 3));
    cr_expect(eq(sz, c.inconclusive, 4));
    cr_expect(eq(sz, c.same, 0));
    pfc_comparison_clear(&c);
    /* and the same again is the same */
    c = compare(db, p, fx_sha(1), fx_sha(1));
    expect_verdict(&c, "canary", "two", PFC_VERDICT_INCONCLUSIVE, false);
    cr_expect(eq(sz, c.same + c.inconclusive, 12));
    cr_expect(eq(sz, c.regressions + c.improvements, 0));
    pfc_comparison_clear(&c);
    pfc_db_close(db);
}

/* Commit n: gemm/a measured, or broken for a reason. */
static pfc_run *result(unsigned n, const char *reason)
{
    pfc_run *run = measured(n, "gemm/a", 100, 10);

    fx_measure(run, "gemm/b", "time_ns", 100, 0.002, 60, 10, n);
    if (reason)
        fx_break(run, "gemm/a", reason);
    return run;
}

static void expect_broken(pfc_db *db, int64_t p, const char *a, const char *b, bool in_a, bool in_b,
                          const char *reason)
{
    pfc_comparison c = compare(db, p, a, b);
    const pfc_compare_row *row = row_of(&c, "gemm/a", "test-cpu");

    cr_expect(eq(sz, c.broken, in_a || in_b));
    cr_expect(eq(int, row->broken_a, in_a));
    cr_expect(eq(int, row->broken_b, in_b));
    cr_expect(row->reason ? pfc_streq(row->reason, reason) : !reason, "%s", row->reason);
    cr_expect(eq(sz, row->a.n, in_a ? 0 : 60));
    cr_expect(eq(sz, row->b.n, in_b ? 0 : 60));
    cr_expect(eq(sz, c.broken + c.same + c.inconclusive + c.regressions + c.improvements, 2));
    pfc_comparison_clear(&c);
}

/* Broken is an answer about both sides, whichever of them it is. */
Test(compare, a_benchmark_that_is_broken_on_one_side_is_a_broken_row)
{
    pfc_db *db = pfc_test_db_open(2, NULL);
    int64_t p = fx_project(db);
    char one[41], two[41], three[41];
    pfc_run *run;
    pfc_comparison c;

    (void)snprintf(one, sizeof(one), "%s", fx_sha(1));
    (void)snprintf(two, sizeof(two), "%s", fx_sha(2));
    (void)snprintf(three, sizeof(three), "%s", fx_sha(3));
    fx_commits(db, p, 1, 4);
    fx_ingest(db, p, result(1, NULL));
    fx_ingest(db, p, result(2, "wrong result: expected 1, got 2"));
    fx_ingest(db, p, result(3, "segmentation fault"));
    expect_broken(db, p, one, two, false, true, "wrong result: expected 1, got 2");
    expect_broken(db, p, two, one, true, false, "wrong result: expected 1, got 2");
    expect_broken(db, p, two, three, true, true,
                  "A: wrong result: expected 1, got 2; B: segmentation fault");
    expect_broken(db, p, two, two, true, true, "wrong result: expected 1, got 2");
    expect_broken(db, p, one, one, false, false, NULL);
    /* one that the other side does not have is a row, too */
    fx_ingest(db, p, measured(4, "gemm/b", 100, 10));
    c = compare(db, p, two, fx_sha(4));
    cr_expect(eq(sz, c.broken, 1));
    cr_expect(eq(int, row_of(&c, "gemm/a", "test-cpu")->broken_a, true));
    pfc_comparison_clear(&c);
    /* measured again later, it is not broken; and the other way round it is */
    run = result(2, NULL);
    run->started_at += 100;
    fx_ingest(db, p, run);
    expect_broken(db, p, one, two, false, false, NULL);
    run = result(1, "out of memory");
    run->started_at += 100;
    fx_ingest(db, p, run);
    expect_broken(db, p, one, two, true, false, "out of memory");
    pfc_db_close(db);
}

static int64_t store_as(pfc_db *db, int64_t p, unsigned n, const char *class_name,
                        const char *compiler)
{
    pfc_run *run = measured(n, "gemm/a", 100, 10);

    free(run->machine.machine_class);
    run->machine.machine_class = pfc_strdup(class_name);
    pfc_labels_set(&run->machine.fingerprint, "compiler", compiler);
    pfc_machine_hash(&run->machine);
    return fx_ingest(db, p, run);
}

/* Machine differences of a row are listed by the comparison with both values. */
Test(compare, other_compilers_and_machines_are_said_with_their_values)
{
    pfc_db *db = pfc_test_db_open(2, NULL);
    int64_t p = fx_project(db);
    char one[41];
    pfc_err err = { 0 };
    pfc_comparison c;

    (void)snprintf(one, sizeof(one), "%s", fx_sha(1));
    fx_commits(db, p, 1, 3);
    store_as(db, p, 1, "one", "gcc 12");
    store_as(db, p, 2, "one", "gcc 13");
    store_as(db, p, 3, "two", "gcc 12");
    c = compare(db, p, one, fx_sha(2));
    cr_assert(eq(sz, c.differs_len, 1));
    cr_expect(eq(str, c.differs[0].field, "compiler"));
    cr_expect(eq(str, c.differs[0].a, "gcc 12"));
    cr_expect(eq(str, c.differs[0].b, "gcc 13"));
    cr_expect(eq(sz, c.rows[0].differs_len, 1));
    cr_expect(eq(str, c.rows[0].differs[0], "compiler"));
    pfc_comparison_clear(&c);
    /* another class: no row, unless it is asked for */
    c = compare(db, p, one, fx_sha(3));
    cr_expect(eq(sz, c.rows_len, 0));
    cr_expect(eq(sz, c.only_a_len, 1));
    cr_assert(eq(sz, c.differs_len, 1));
    cr_expect(eq(str, c.differs[0].field, "machine_class"));
    cr_expect(eq(str, c.differs[0].a, "one"));
    cr_expect(eq(str, c.differs[0].b, "two"));
    pfc_comparison_clear(&c);
    cr_assert(eq(int,
                 pfc_compare(db, p,
                             &(pfc_compare_ask){
                                 .a = { .text = one }, .b = { .text = fx_sha(3) }, .across = true },
                             &c, &err),
                 PFC_OK),
              "%s", err.msg);
    cr_assert(eq(sz, c.rows_len, 1));
    cr_expect(eq(sz, c.only_a_len + c.only_b_len, 0));
    cr_expect(eq(sz, c.rows[0].differs_len, 1));
    cr_expect(eq(str, c.rows[0].differs[0], "machine_class"));
    pfc_comparison_clear(&c);
    c = compare(db, p, one, one);
    cr_expect(eq(sz, c.differs_len, 0));
    pfc_comparison_clear(&c);
    pfc_db_close(db);
}
