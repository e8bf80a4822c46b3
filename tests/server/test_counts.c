/* Totals come from the table of tallies, without counting rows. */
#include <libpq-fe.h>

#include "server/services/ingest/ingest.h"

#include "tests/check/check.h"
#include "tests/server/fixture.h"

static void expect_counts(pfc_db *db, int64_t project, int64_t commits, int64_t runs,
                          int64_t measurements, int64_t series)
{
    pfc_projects projects = { 0 };
    pfc_machine_rows machines = { 0 };
    pfc_figures figures = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_figures_get(db, project, &figures, &err), PFC_OK), "%s", err.msg);
    cr_expect(eq(i64, figures.runs, runs));
    cr_expect(eq(i64, figures.measurements, measurements));
    cr_expect(eq(i64, figures.series, series));
    if (project) {
        cr_assert(eq(int, pfc_projects_list(db, project, (pfc_page){ .limit = 1 }, &projects, &err),
                     PFC_OK));
        cr_expect(eq(i64, projects.items[0].commits, commits));
        cr_expect(eq(i64, projects.items[0].runs, runs));
    }
    /* There is one, and a project without runs has not seen it. */
    cr_assert(
        eq(int, pfc_machines_list(db, project, (pfc_page){ .limit = 9 }, &machines, &err), PFC_OK));
    cr_assert(eq(sz, machines.len, runs ? 1 : 0));
    if (runs)
        cr_expect(eq(i64, machines.items[0].runs, runs));
    pfc_rows_clear(&projects);
    pfc_rows_clear(&machines);
}

static void fold(pfc_db *db)
{
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_tallies_fold(db, &err), PFC_OK), "%s", err.msg);
}

static void say(PGconn *pg, const char *sql)
{
    PGresult *res = PQexec(pg, sql);

    cr_assert(eq(int, PQresultStatus(res), PGRES_COMMAND_OK), "%s", PQerrorMessage(pg));
    PQclear(res);
}

Test(counts, follow_what_is_stored_taken_back_and_taken_out)
{
    char *url = NULL, *rest;
    pfc_db *db = pfc_test_db_open(3, &url);
    int64_t p = fx_project(db);
    PGconn *other = PQconnectdb(url);

    cr_assert(eq(int, PQstatus(other), CONNECTION_OK));
    expect_counts(db, p, 0, 0, 0, 0);
    fx_commits(db, p, 1, 3);
    for (unsigned n = 1; n <= 3; n++) {
        pfc_run *run = fx_run(n);

        fx_measure(run, "gemm/a", "time_ns", 100, 0.005, 8, 2, n);
        fx_ingest(db, p, run);
    }
    fx_commits(db, p, 1, 5); /* three of them again */
    expect_counts(db, p, 5, 3, 3, 1);
    fold(db);
    expect_counts(db, p, 5, 3, 3, 1);

    /* An open transaction is neither counted nor waited for, and continues after its row is folded.
     */
#define MORE                                                                                       \
    "INSERT INTO commits (project_id, sha, time) SELECT id, lpad('%s', 40, '0'), now() FROM "      \
    "projects;"
    pfc_test_sql(url, "INSERT INTO projects (name) VALUES ('q')");
    char *one = pfc_format(MORE, "a1"), *two = pfc_format(MORE, "a2"),
         *three = pfc_format(MORE, "a3");
    say(other, one);
    expect_counts(db, p, 6, 3, 3, 1);
    say(other, "BEGIN");
    say(other, two);
    expect_counts(db, p, 6, 3, 3, 1);
    fold(db);
    expect_counts(db, p, 6, 3, 3, 1);
    say(other, "COMMIT");
    expect_counts(db, p, 7, 3, 3, 1);
    fold(db);
    rest = pfc_test_sql_value(url, "SELECT count(*) FROM tallies WHERE process <> 0");
    cr_expect(eq(str, rest, "0"));
    free(rest);
    say(other, "BEGIN");
    say(other, three);
    say(other, "ROLLBACK");
    expect_counts(db, p, 7, 3, 3, 1);
    say(other, three);
    expect_counts(db, p, 8, 3, 3, 1);

    /* another project's are its own, and a machine's are those of all */
    expect_counts(db, p + 1, 3, 0, 0, 0);
    say(other,
        "INSERT INTO runs (project_id, run_id, header_hash, commit_id, branch, suite, suite_hash,"
        " machine_id, infra, started_at, finished_at) SELECT q.id, md5('q'), '', c.id, 'main', '', "
        "'',"
        " r.machine_id, false, now(), now() FROM projects q, commits c, runs r"
        " WHERE q.name = 'q' AND c.project_id = q.id LIMIT 1");
    expect_counts(db, p + 1, 3, 1, 0, 0);
    expect_counts(db, p, 8, 3, 3, 1);
    expect_counts(db, 0, 0, 4, 3, 1);

    /* rows that are deleted by hand */
    say(other, "DELETE FROM jobs");
    say(other, "DELETE FROM run_parts WHERE run_id = (SELECT min(id) FROM runs)");
    say(other, "DELETE FROM runs WHERE id = (SELECT min(id) FROM runs)");
    expect_counts(db, p, 8, 2, 2, 1);
    expect_counts(db, 0, 0, 3, 2, 1);
    rest = pfc_test_sql_value(url, "SELECT count(*) FROM tallies WHERE n < 0 AND process = 0");
    cr_expect(eq(str, rest, "0"));
    free(rest);
    free(one);
    free(two);
    free(three);
    free(url);
    PQfinish(other);
    pfc_db_close(db);
}

/* Open alerts are those without a final state; the newest change is the last along the branch, in
 * any order of detection. */
Test(counts, open_alerts_and_the_newest_change_are_those_that_they_are_called)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    int64_t p = fx_project(db);
    pfc_run *run = fx_run(1);
    pfc_projects projects = { 0 };
    pfc_series_rows series = { 0 };
    pfc_figures figures = { 0 };
    pfc_err err = { 0 };

    fx_commits(db, p, 1, 9);
    fx_measure(run, "gemm/a", "time_ns", 100, 0.005, 8, 2, 1);
    fx_ingest(db, p, run);
    pfc_test_sql(
        url,
        "WITH x AS (INSERT INTO change_points (project_id, series_id, commit_id, commit_low_id,"
        " commit_high_id, before, after, rel_change, rel_low, rel_high, p, regression, confirmed)"
        " SELECT s.project_id, s.id, c.id, c.id, c.id, 1, 2, 1, 1, 1, 0, true, true"
        " FROM (VALUES (4), (8), (2), (6), (3)) AS v (n) CROSS JOIN series s"
        " JOIN commits c ON c.sha = lpad(v.n::text, 40, '0') RETURNING project_id, id, series_id)"
        " INSERT INTO alerts (project_id, change_point_id, series_id, state)"
        " SELECT project_id, id, series_id, (ARRAY['untriaged', 'acknowledged', 'investigating',"
        " 'fixed', 'noise'])[row_number() OVER (ORDER BY id)] FROM x");
    cr_assert(eq(int, pfc_figures_get(db, p, &figures, &err), PFC_OK), "%s", err.msg);
    cr_expect(eq(i64, figures.alerts_open, 3));
    cr_assert(eq(int, pfc_projects_list(db, p, (pfc_page){ .limit = 1 }, &projects, &err), PFC_OK));
    cr_expect(eq(i64, projects.items[0].alerts_open, 3));
    cr_expect(eq(i64, projects.items[0].groups_open, 3)); /* each one alone */
    pfc_rows_clear(&projects);
    pfc_test_sql(url, "UPDATE alerts SET group_id = 7 WHERE state <> 'investigating'");
    cr_assert(eq(int, pfc_projects_list(db, p, (pfc_page){ .limit = 1 }, &projects, &err), PFC_OK));
    cr_expect(eq(i64, projects.items[0].groups_open, 2));
    cr_assert(eq(int,
                 pfc_series_list(db, p, &(pfc_series_filter){ 0 }, (pfc_page){ 0 }, &series, &err),
                 PFC_OK));
    cr_assert(eq(sz, series.len, 1));
    cr_expect(eq(str, (char *)(uintptr_t)series.items[0].change_commit, (char *)fx_sha(8)));
    pfc_rows_clear(&series);
    pfc_rows_clear(&projects);
    free(url);
    pfc_db_close(db);
}

/* The times of runs, not of their upload; of the project that is asked for. */
Test(counts, a_machine_names_when_it_measured_for_a_project)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    int64_t p = fx_project(db), other;
    pfc_machine_rows machines = { 0 };
    pfc_err err = { 0 };

    fx_commits(db, p, 1, 3);
    for (unsigned n = 1; n <= 3; n++) {
        pfc_run *run = fx_run(n);

        run->started_at = 1e9 + (n == 2 ? 500 : 100 * n); /* sent out of order */
        fx_measure(run, "gemm/a", "time_ns", 100, 0.005, 8, 2, n);
        fx_ingest(db, p, run);
    }
    cr_assert(eq(int, pfc_machines_list(db, p, (pfc_page){ .limit = 9 }, &machines, &err), PFC_OK));
    cr_assert(eq(sz, machines.len, 1));
    cr_expect(eq(dbl, machines.items[0].first_measured_at, 1e9 + 100));
    cr_expect(eq(dbl, machines.items[0].last_measured_at, 1e9 + 500));
    cr_expect(gt(dbl, machines.items[0].last_seen_at, 1.7e9));
    pfc_rows_clear(&machines);
    pfc_test_sql(url, "INSERT INTO projects (name) VALUES ('q')");
    other = p + 1;
    cr_assert(
        eq(int, pfc_machines_list(db, other, (pfc_page){ .limit = 9 }, &machines, &err), PFC_OK));
    cr_expect(eq(sz, machines.len, 0));
    pfc_rows_clear(&machines);
    free(url);
    pfc_db_close(db);
}

/* Sorting and filters are decided over all series, a page at a time. */
Test(counts, series_are_sorted_over_all_pages)
{
    static const char *const names[] = { "gemm/m1024", "gemm/m64", "gemm/m128", "attention/s64" };
    static const struct {
        const char *sort, *change, *words, *expected[5];
    } rows[] = {
        { "name", NULL, NULL, { "attention/s64", "gemm/m64", "gemm/m128", "gemm/m1024" } },
        { "change", NULL, NULL, { "gemm/m128", "gemm/m1024", "attention/s64", "gemm/m64" } },
        { "noise", NULL, NULL, { "gemm/m64", "attention/s64", "gemm/m128", "gemm/m1024" } },
        { "fresh", NULL, "gemm", { "gemm/m64", "gemm/m128", "gemm/m1024" } },
        { NULL, "regression", NULL, { "gemm/m1024" } },
        { NULL, "improvement", NULL, { "gemm/m128" } },
        { "name", "steady", NULL, { "attention/s64", "gemm/m64" } },
        { "name", "steady", "gemm", { "gemm/m64" } },
        { NULL, NULL, "M1 TIME", { "gemm/m1024", "gemm/m128" } },
        { "name", NULL, "cpu  gemm m1", { "gemm/m128", "gemm/m1024" } },
        { "name", NULL, "a e g m 1 28", { "gemm/m128" } },
        { "name", NULL, "time gemm m1 cpu 1024 zz", { NULL } },
        { "change", NULL, "4", { "gemm/m1024", "attention/s64", "gemm/m64" } },
        { "noise", NULL, "gemm%m", { NULL } },
        { "name", NULL, "m_4", { NULL } },
    };
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    int64_t p = fx_project(db);
    pfc_err err = { 0 };

    fx_commits(db, p, 1, 40);
    for (unsigned n = 1; n <= 40; n++) {
        pfc_run *run = fx_run(n);

        for (size_t k = 0; k < 4; k++)
            if (n < 40 || k != 0)
                fx_measure(run, names[k], "time_ns",
                           n < 20 || k == 1 || k == 3 ? 100
                           : k == 0                   ? 110
                                                      : 80,
                           0.005, 12, 3, n * 4 + k);
        fx_ingest(db, p, run);
    }
    fx_detect(db);
    pfc_test_sql(url, "UPDATE series s SET noise_rel = CASE b.name WHEN 'gemm/m64' THEN 0.4 WHEN"
                      " 'attention/s64' THEN 0.3 WHEN 'gemm/m128' THEN 0.2 END FROM benchmarks b"
                      " WHERE b.id = s.benchmark_id;"
                      "UPDATE series_keys k SET noise = series_noise_key(s.noise_rel)"
                      " FROM series s WHERE s.id = k.series_id");
    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        const pfc_series_filter filter = { .sort = rows[i].sort,
                                           .change = rows[i].change,
                                           .words = rows[i].words };
        pfc_page page = { .limit = 1 };

        for (size_t k = 0; rows[i].expected[k]; k++) {
            pfc_series_rows found = { 0 };

            cr_assert(eq(int, pfc_series_list(db, p, &filter, page, &found, &err), PFC_OK), "%s",
                      err.msg);
            cr_assert(eq(sz, found.len, 1), "%zu %zu", i, k);
            cr_expect(eq(str, (char *)(uintptr_t)found.items[0].benchmark,
                         (char *)(uintptr_t)rows[i].expected[k]),
                      "%zu %zu", i, k);
            cr_expect(eq(int, found.next != 0, rows[i].expected[k + 1] != NULL), "%zu %zu", i, k);
            page.cursor = found.next;
            pfc_rows_clear(&found);
        }
        page = (pfc_page){ .limit = 10 };
        pfc_series_rows all = { 0 };
        size_t expected = 0;
        cr_assert(eq(int, pfc_series_list(db, p, &filter, page, &all, &err), PFC_OK));
        while (rows[i].expected[expected])
            expected++;
        cr_assert(eq(sz, all.len, expected), "%zu", i);
        for (size_t k = 0; rows[i].expected[k]; k++)
            cr_expect(eq(str, (char *)(uintptr_t)all.items[k].benchmark,
                         (char *)(uintptr_t)rows[i].expected[k]));
        pfc_rows_clear(&all);
    }
    free(url);
    pfc_db_close(db);
}
