/* The version of a branch's data: every change that alters a plot changes it, nothing else does. */
#include <stdlib.h>

#include "server/services/ingest/ingest.h"
#include "server/services/plot/plot.h"

#include "tests/check/check.h"
#include "tests/server/fixture.h"

static char *version(const fx_ground *g)
{
    char *text = NULL;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_plot_version(g->db, g->project, "main", &text, &err), PFC_OK), "%s",
              err.msg);
    return text;
}

/* Compares with *last, which becomes the version of now. */
static void expect_change(const fx_ground *g, char **last, bool want, const char *after)
{
    char *now = version(g);

    cr_expect(eq(int, strcmp(now, *last) != 0, want), "%s: \"%s\"", after, now);
    free(*last);
    *last = now;
}

static fx_ground ground(void)
{
    fx_ground g = fx_begin(2);

    fx_commits(g.db, g.project, 1, 6);
    for (unsigned n = 1; n <= 4; n++) {
        pfc_run *run = fx_run(n);

        fx_measure(run, "gemm/a", "time_ns", 100, 0.01, 4, 1, n);
        fx_ingest(g.db, g.project, run);
    }
    return g;
}

Test(plot_version, results_series_and_commits_change_it)
{
    fx_ground g = ground();
    char *last = version(&g), *id;
    pfc_run *run = fx_run(5), *part = fx_run(5);

    expect_change(&g, &last, false, "nothing");
    id = pfc_strdup(run->id);
    fx_measure(run, "gemm/a", "time_ns", 100, 0.01, 4, 1, 9);
    fx_ingest(g.db, g.project, run);
    expect_change(&g, &last, true, "a result");

    free(part->id);
    part->id = id;
    fx_measure(part, "gemm/b", "time_ns", 1, 0, 4, 2, 1);
    fx_break(part, "gemm/b", "wrong result");
    fx_ingest(g.db, g.project, part);
    expect_change(&g, &last, true, "a further part of the run, whose only result is broken");

    run = fx_run(6);
    fx_measure(run, "gemm/b", "time_ns", 200, 0.01, 4, 1, 9);
    fx_ingest(g.db, g.project, run);
    expect_change(&g, &last, true, "a series");

    fx_commit(g.db, g.project, 7, 6, 0);
    expect_change(&g, &last, true, "a commit");
    free(last);
    fx_end(&g);
}

/* Its positions move although the number of commits stays: the child is known before the parent. */
Test(plot_version, a_stub_that_is_completed_changes_it)
{
    fx_ground g = ground();
    pfc_run *run = fx_run(9);
    char *last;

    fx_measure(run, "gemm/a", "time_ns", 100, 0.01, 4, 1, 9);
    fx_ingest(g.db, g.project, run); /* commit 9 is not known yet */
    last = version(&g);
    fx_commit(g.db, g.project, 9, 6, 0);
    expect_change(&g, &last, true, "its parent, text and time are known");
    fx_commit(g.db, g.project, 9, 6, 0);
    expect_change(&g, &last, false, "the same once more");
    free(last);
    fx_end(&g);
}

static void run_sql(const fx_ground *g, const char *sql)
{
    free(pfc_test_sql_value(g->url, sql));
}

Test(plot_version, moved_commits_thinned_months_and_what_an_operator_takes_out_change_it)
{
    fx_ground g = ground();
    char *last = version(&g);

    run_sql(
        &g,
        "WITH m AS (UPDATE branch_commits b SET position = CASE position WHEN 5 THEN 6 ELSE 5 END "
        "WHERE position IN (5, 6) RETURNING 1) SELECT count(*)::text FROM m");
    expect_change(&g, &last, true, "two commits changed places");
    run_sql(&g, "WITH m AS (UPDATE branch_commits SET position = position + 1 WHERE position > 99 "
                "RETURNING 1) SELECT count(*)::text FROM m");
    expect_change(&g, &last, false, "no commit moved");
    run_sql(&g, "WITH m AS (DELETE FROM branch_commits WHERE position = 6 RETURNING 1) "
                "SELECT count(*)::text FROM m");
    expect_change(&g, &last, true, "a commit was taken off the branch");
    run_sql(&g, "WITH m AS (INSERT INTO retention (month, kept, rows_before, rows_after) "
                "VALUES ('2020-01-01', 'days', 9, 3) RETURNING 1) SELECT count(*)::text FROM m");
    expect_change(&g, &last, true, "a thinned month");
    run_sql(&g,
            "WITH m AS (UPDATE retention SET kept = 'referred', rows_before = 3, rows_after = 1, "
            "at = clock_timestamp() RETURNING 1) SELECT count(*)::text FROM m");
    expect_change(&g, &last, true, "the month was thinned again");
    run_sql(
        &g,
        "WITH p AS (DELETE FROM run_parts WHERE run_id = (SELECT max(id) FROM runs) RETURNING 1) "
        "SELECT count(*)::text FROM p");
    expect_change(&g, &last, true, "a run was taken out");
    free(last);
    fx_end(&g);
}

/* The quarantine of a runner hides its results, and its release shows them again. */
Test(plot_version, a_quarantine_changes_it)
{
    fx_ground g = ground();
    char *last = version(&g);

    run_sql(&g, "WITH q AS (INSERT INTO quarantines (runner, since, actor) SELECT min(k.name), "
                "'-infinity', 'a' FROM machines k RETURNING id) SELECT id::text FROM q");
    run_sql(&g, "SELECT count(*)::text FROM quarantines q CROSS JOIN quarantine_hide(q.id)");
    expect_change(&g, &last, true, "results were hidden");
    run_sql(&g,
            "SELECT count(*)::text FROM quarantines q CROSS JOIN quarantine_release(q.id, 'a')");
    expect_change(&g, &last, true, "they are shown again");
    free(last);
    fx_end(&g);
}

/* In a database that was set back to an earlier time, other documents get the same numbers. */
Test(plot_version, another_document_with_the_same_numbers_changes_it)
{
    fx_ground g = ground();
    char *last = version(&g);

    run_sql(&g, "WITH p AS (UPDATE run_parts SET received_at = received_at + interval '1 second' "
                "WHERE run_id = (SELECT max(id) FROM runs) RETURNING 1) "
                "SELECT count(*)::text FROM p");
    expect_change(&g, &last, true, "the newest document came at another time");
    free(last);
    fx_end(&g);
}

/* Its cost does not grow with the history: no commit of the branch is read. */
Test(plot_version, it_reads_no_positions)
{
    fx_ground g = ground();
    char *last = version(&g);

    pfc_test_sql(g.url, "ALTER TABLE branch_commits RENAME TO branch_commits_away");
    expect_change(&g, &last, false, "positions cannot be read");
    pfc_test_sql(g.url, "ALTER TABLE branch_commits_away RENAME TO branch_commits");
    free(last);
    fx_end(&g);
}

/* A judgement reads results and writes none; neither does what follows from it. */
Test(plot_version, judging_an_acceptance_and_a_setting_do_not_change_it)
{
    fx_ground g = ground();
    char *last = version(&g);

    fx_detect(g.db);
    expect_change(&g, &last, false, "the series were judged");
    run_sql(&g, "WITH m AS (UPDATE series SET exact = NOT exact, anchor_points = 1 RETURNING 1) "
                "SELECT count(*)::text FROM m");
    expect_change(&g, &last, false, "a level was accepted");
    free(last);
    fx_end(&g);
}

/* Of another branch's or project's changes the version knows little; it may change, and the plot
 * does not. Of its own data, the version that a plot carries is that of what the plot has read. */
Test(plot_version, a_plot_carries_the_version_of_its_data)
{
    fx_ground g = ground();
    pfc_plot_opts opts = { .branch = "main", .select = "gemm" };
    pfc_plot plot = { 0 };
    pfc_err err = { 0 };
    char *now = version(&g);

    cr_assert(eq(int, pfc_plot_read(g.db, g.project, &opts, &plot, &err), PFC_OK), "%s", err.msg);
    cr_expect(eq(str, plot.version, now));
    cr_expect(eq(sz, plot.read, 4));
    pfc_plot_clear(&plot);
    free(now);
    fx_end(&g);
}
