/* Many series on one chart: what is chosen, where gaps and broken results are, groups, bounds. */
#include <math.h>

#include "server/services/plot/plot.h"

#include "tests/check/check.h"
#include "tests/server/fixture.h"

/* A benchmark of a run with these parameters; no sample deviates from the value. */
static void measure(pfc_run *run, const char *benchmark, const char *dtype, const char *k,
                    double value)
{
    pfc_measurement *m;

    fx_measure(run, benchmark, "time_ns", value, 0, 4, 2, 1);
    m = &run->measurements[run->measurements_len - 1];
    pfc_labels_set(&m->params, "dtype", dtype);
    pfc_labels_set(&m->params, "k", k);
}

/* Commits 1 to 6. gemm/a at all but 3, where it is broken; gemm/b from 2 to 5; norm at 6. */
static int64_t ground(pfc_db *db)
{
    const int64_t p = fx_project(db);

    fx_commits(db, p, 1, 6);
    for (unsigned n = 1; n <= 6; n++) {
        pfc_run *run = fx_run(n);

        measure(run, "gemm/a", "bf16", "512", 100.0 * n);
        if (n == 3)
            fx_break(run, "gemm/a", "wrong result");
        if (n >= 2 && n <= 5)
            measure(run, "gemm/b", "f16", "4096", 400.0 * n);
        if (n == 6)
            measure(run, "norm", "bf16", "none", 7);
        fx_ingest(db, p, run);
    }
    return p;
}

static void read(pfc_db *db, int64_t p, pfc_plot_opts opts, pfc_plot *out)
{
    pfc_err err = { 0 };

    opts.branch = "main";
    cr_assert(eq(int, pfc_plot_read(db, p, &opts, out, &err), PFC_OK), "%s", err.msg);
}

static void expect_values(const pfc_plot *plot, size_t line, const double *want)
{
    for (size_t c = 0; c < plot->columns.len; c++) {
        const double got = (double)plot->lines[line].median[c];

        if (isnan(want[c]))
            cr_expect(isnan(got), "line %zu, column %zu: %g", line, c, got);
        else
            cr_expect(epsilon_eq(dbl, got, want[c], 1e-3), "line %zu, column %zu", line, c);
    }
}

#define NONE ((double)NAN)

Test(plot, a_gap_stays_a_gap_and_a_broken_result_is_a_mark)
{
    pfc_db *db = pfc_test_db_open(2, NULL);
    const int64_t p = ground(db);
    pfc_plot plot = { 0 };

    read(db, p, (pfc_plot_opts){ .select = "gemm" }, &plot);
    cr_assert(eq(sz, plot.matched, 2));
    cr_assert(eq(sz, plot.len, 2));
    cr_assert(eq(sz, plot.columns.len, 6));
    cr_expect(eq(str, (char *)(uintptr_t)plot.columns.items[5].commit, (char *)fx_sha(6)));
    expect_values(&plot, 0, (const double[]){ 100, 200, NONE, 400, 500, 600 });
    expect_values(&plot, 1, (const double[]){ NONE, 800, 1200, 1600, 2000, NONE });
    cr_expect(eq(sz, plot.lines[0].points, 5));
    cr_assert(eq(sz, plot.marks_len, 1));
    cr_expect(eq(sz, plot.marks[0].line, 0));
    cr_expect(eq(sz, plot.marks[0].column, 2));
    cr_expect(eq(str, (char *)(uintptr_t)plot.marks[0].reason, "wrong result"));
    cr_expect(isnan(plot.lines[0].base));
    pfc_plot_clear(&plot);

    /* fewer columns: their extremes are kept */
    read(db, p, (pfc_plot_opts){ .select = "k<4096", .columns = 2 }, &plot);
    cr_assert(eq(sz, plot.len, 1));
    cr_assert(eq(sz, plot.columns.len, 2));
    cr_expect(eq(sz, plot.places, 6));
    expect_values(&plot, 0, (const double[]){ 150, 500 });
    cr_expect(epsilon_eq(flt, plot.lines[0].low[1], 400.0F, 0.01F));
    cr_expect(epsilon_eq(flt, plot.lines[0].high[1], 600.0F, 0.01F));
    pfc_plot_clear(&plot);
    pfc_db_close(db);
}

/* Packed as servers do once there are many points. Then a further document of an old run, a run at
 * a new commit, and one that came before the chunks ended. */
Test(plot, points_that_came_after_the_chunks_are_found_by_their_runs)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = ground(db);
    pfc_run *run = fx_run(6);
    char *id = pfc_strdup(run->id);
    pfc_plot plot = { 0 };

    measure(run, "norm", "bf16", "none", 8);
    fx_ingest(db, p, run);
    /* an hour ago, so that the first run after the chunks is not the first of all */
    pfc_test_sql(url, "UPDATE measurements SET stored_at = stored_at - interval '1 hour';"
                      "UPDATE run_parts SET received_at = received_at - interval '1 hour'");
    pfc_test_sql(url, "INSERT INTO series_chunks (project_id, series_id, from_at, until_at,"
                      " line_version, points, packed) SELECT project_id, series_id, '-infinity',"
                      " now(), 0, count(*), string_agg(packed, '' ORDER BY position, run_id)"
                      " FROM series_points WHERE branch = 'main' GROUP BY 1, 2");
    read(db, p, (pfc_plot_opts){ .select = "gemm" }, &plot);
    expect_values(&plot, 1, (const double[]){ NONE, 800, 1200, 1600, 2000, NONE });
    pfc_plot_clear(&plot);

    fx_commits(db, p, 1, 7);
    run = fx_run(7);
    measure(run, "gemm/a", "bf16", "512", 700);
    fx_ingest(db, p, run);
    run = fx_run(6);
    free(run->id);
    run->id = id;
    measure(run, "gemm/b", "f16", "4096", 2400);
    fx_ingest(db, p, run);
    read(db, p, (pfc_plot_opts){ .select = "gemm" }, &plot);
    expect_values(&plot, 0, (const double[]){ 100, 200, NONE, 400, 500, 600, 700 });
    expect_values(&plot, 1, (const double[]){ NONE, 800, 1200, 1600, 2000, 2400, NONE });
    pfc_plot_clear(&plot);

    /* so many documents that their runs are not looked up */
    pfc_test_sql(
        url,
        "INSERT INTO run_parts (project_id, run_id, body_hash, measurements, series,"
        " samples) SELECT 1, max(r.id), 'h' || g, 0, 0, 0 FROM runs r, generate_series(1, 2001) g"
        " GROUP BY g");
    read(db, p, (pfc_plot_opts){ .select = "gemm" }, &plot);
    expect_values(&plot, 1, (const double[]){ NONE, 800, 1200, 1600, 2000, 2400, NONE });
    pfc_plot_clear(&plot);
    free(url);
    pfc_db_close(db);
}

/* 2 lines over 6 places: as many columns as both lines together may have, and one at least. */
Test(plot, many_lines_have_fewer_columns)
{
    static const struct {
        int columns, cells;
        size_t want;
    } cases[] = { { 0, 0, 6 }, { 0, 12, 6 }, { 0, 11, 5 }, { 0, 6, 3 }, { 2, 6, 2 }, { 0, 1, 1 } };
    pfc_db *db = pfc_test_db_open(2, NULL);
    const int64_t p = ground(db);

    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        pfc_plot plot = { 0 };

        read(db, p,
             (pfc_plot_opts){
                 .select = "kernel=gemm", .columns = cases[i].columns, .cells = cases[i].cells },
             &plot);
        cr_assert(eq(sz, plot.len, 2));
        cr_expect(eq(sz, plot.columns.len, cases[i].want), "case %zu", i);
        pfc_plot_clear(&plot);
    }
    pfc_db_close(db);
}

Test(plot, a_window_is_bounded_and_related_to_a_commit_outside_of_it)
{
    pfc_db *db = pfc_test_db_open(2, NULL);
    const int64_t p = ground(db);
    pfc_plot plot = { 0 };

    read(db, p,
         (pfc_plot_opts){ .select = "dtype=bf16,f16 kernel=gemm",
                          .from = fx_sha(4),
                          .to = fx_sha(5),
                          .relative = fx_sha(3),
                          .samples = true },
         &plot);
    cr_assert(eq(sz, plot.columns.len, 2));
    expect_values(&plot, 0, (const double[]){ 400, 500 });
    cr_expect(epsilon_eq(dbl, plot.lines[0].base, 200, 1e-9)); /* commit 3 is broken: commit 2 */
    cr_expect(epsilon_eq(dbl, plot.lines[1].base, 1200, 1e-9));
    cr_expect(eq(sz, plot.marks_len, 0)); /* it lies before the window */
    cr_assert(plot.samples);
    cr_assert(eq(sz, plot.lines[1].samples_len, 2));
    cr_expect(eq(sz, plot.lines[1].samples[1].column, 1));
    cr_expect(eq(sz, plot.lines[1].samples[1].len, 4));
    cr_expect(epsilon_eq(dbl, plot.lines[1].samples[1].values[3], 2000, 1e-9));
    pfc_plot_clear(&plot);
    read(db, p, (pfc_plot_opts){ .select = "gemm/b", .relative = fx_sha(1) }, &plot);
    cr_expect(isnan(plot.lines[0].base)); /* not measured yet */
    cr_expect(not(plot.samples));
    pfc_plot_clear(&plot);
    pfc_db_close(db);
}

Test(plot, groups_average_where_every_member_was_measured)
{
    pfc_db *db = pfc_test_db_open(2, NULL);
    const int64_t p = ground(db);
    pfc_plot plot = { 0 };

    read(db, p, (pfc_plot_opts){ .select = "gemm", .group = "kernel", .relative = fx_sha(2) },
         &plot);
    cr_assert(eq(sz, plot.len, 1));
    cr_expect(eq(str, plot.lines[0].key, "gemm"));
    cr_expect(eq(sz, plot.lines[0].members, 2));
    cr_expect(eq(sz, plot.lines[0].points, 3));
    cr_expect(eq(sz, plot.lines[0].partial, 3)); /* commits 1, 3 and 6 */
    cr_assert(eq(sz, plot.columns.len, 4));      /* 2, 3 for its mark, 4 and 5 */
    expect_values(&plot, 0, (const double[]){ 400, NONE, 800, 1000 });
    cr_expect(epsilon_eq(dbl, plot.lines[0].base, 400, 1e-6));
    pfc_plot_clear(&plot);

    read(db, p, (pfc_plot_opts){ .group = "dtype" }, &plot);
    cr_assert(eq(sz, plot.len, 2));
    cr_expect(eq(str, plot.lines[0].key, "bf16"));
    cr_expect(eq(sz, plot.lines[0].points, 1)); /* gemm/a and norm, both at commit 6 */
    cr_expect(eq(str, plot.lines[1].key, "f16"));
    pfc_plot_clear(&plot);

    read(db, p, (pfc_plot_opts){ .select = "absent=1", .group = "also_absent" }, &plot);
    cr_expect(eq(sz, plot.len, 0));
    cr_assert(eq(sz, plot.unknown.len, 2));
    cr_expect(eq(str, plot.unknown.items[0], "absent"));
    cr_expect(eq(str, plot.unknown.items[1], "also_absent"));
    pfc_plot_clear(&plot);
    pfc_db_close(db);
}

/* Two classes of machines that measure alternate commits: a mean of both would have no value. */
Test(plot, groups_are_of_one_class_of_machines)
{
    pfc_db *db = pfc_test_db_open(2, NULL);
    const int64_t p = fx_project(db);
    pfc_plot plot = { 0 };

    fx_commits(db, p, 1, 4);
    for (unsigned n = 1; n <= 4; n++) {
        pfc_run *run = fx_run(n);

        free(run->machine.machine_class);
        run->machine.machine_class = pfc_strdup(n % 2 ? "rack" : "desk");
        measure(run, "gemm/a", "bf16", "1", n % 2 ? 100 : 900);
        measure(run, "gemm/b", "bf16", "1", n % 2 ? 400 : 900);
        fx_ingest(db, p, run);
    }
    read(db, p, (pfc_plot_opts){ .group = "dtype" }, &plot);
    cr_assert(eq(sz, plot.len, 2));
    cr_expect(eq(str, (char *)(uintptr_t)plot.lines[0].series->machine_class, "rack"));
    cr_expect(eq(sz, plot.lines[0].partial + plot.lines[1].partial, 0));
    expect_values(&plot, 0, (const double[]){ 200, NONE, 200, NONE });
    expect_values(&plot, 1, (const double[]){ NONE, 900, NONE, 900 });
    pfc_plot_clear(&plot);
    pfc_db_close(db);
}

Test(plot, results_of_a_machine_that_had_moved_are_no_values)
{
    pfc_db *db = pfc_test_db_open(2, NULL);
    const int64_t p = fx_project(db);
    pfc_plot plot = { 0 };

    fx_commits(db, p, 1, 2);
    for (unsigned n = 1; n <= 2; n++) {
        pfc_run *run = fx_run(n);

        measure(run, "gemm/a", "bf16", "512", 100);
        run->infra = n == 2;
        fx_ingest(db, p, run);
    }
    read(db, p, (pfc_plot_opts){ 0 }, &plot);
    cr_assert(eq(sz, plot.len, 1));
    cr_expect(eq(sz, plot.lines[0].points, 1));
    cr_expect(eq(sz, plot.lines[0].moved, 1));
    cr_expect(eq(sz, plot.columns.len, 1));
    pfc_plot_clear(&plot);
    pfc_db_close(db);
}

static void expect_fault(pfc_db *db, int64_t p, pfc_plot_opts opts, pfc_code code,
                         const char *field)
{
    pfc_plot plot = { 0 };
    pfc_err err = { 0 };

    opts.branch = "main";
    cr_expect(eq(int, pfc_plot_read(db, p, &opts, &plot, &err), code), "%s", err.msg);
    cr_expect(eq(str, err.field, (char *)(uintptr_t)field));
    pfc_plot_clear(&plot);
}

Test(plot, faults_name_the_field)
{
    pfc_db *db = pfc_test_db_open(2, NULL);
    const int64_t p = ground(db);

    expect_fault(db, p, (pfc_plot_opts){ .select = "k>=x" }, PFC_EINVAL, "select");
    expect_fault(db, p, (pfc_plot_opts){ .columns = PFC_PLOT_MAX_COLUMNS + 1 }, PFC_EINVAL,
                 "points");
    expect_fault(db, p, (pfc_plot_opts){ .cells = PFC_PLOT_MAX_CELLS + 1 }, PFC_EINVAL, "cells");
    expect_fault(db, p, (pfc_plot_opts){ .from = fx_sha(5), .to = fx_sha(4) }, PFC_EINVAL, "to");
    expect_fault(db, p, (pfc_plot_opts){ .relative = fx_sha(99) }, PFC_ENOTFOUND, "relative");
    pfc_db_close(db);
}

/* 201 series: the first 200 are drawn; as one group all of them are averaged. */
Test(plot, at_most_200_lines_are_answered)
{
    pfc_db *db = pfc_test_db_open(2, NULL);
    const int64_t p = fx_project(db);
    pfc_run *run = fx_run(1);
    pfc_plot plot = { 0 };

    fx_commits(db, p, 1, 1);
    for (size_t i = 0; i <= PFC_PLOT_MAX_LINES; i++) {
        char *name = pfc_format("gemm/%zu", i);

        measure(run, name, "bf16", "1", 100);
        free(name);
    }
    fx_ingest(db, p, run);
    read(db, p, (pfc_plot_opts){ 0 }, &plot);
    cr_expect(eq(sz, plot.len, PFC_PLOT_MAX_LINES));
    cr_expect(eq(sz, plot.matched, PFC_PLOT_MAX_LINES + 1));
    cr_expect(eq(sz, plot.left_out, 1));
    pfc_plot_clear(&plot);
    read(db, p, (pfc_plot_opts){ .group = "dtype" }, &plot);
    cr_assert(eq(sz, plot.len, 1));
    cr_expect(eq(sz, plot.lines[0].members, PFC_PLOT_MAX_LINES + 1));
    cr_expect(eq(sz, plot.left_out, 0));
    pfc_plot_clear(&plot);
    pfc_db_close(db);
}

static const pfc_plot_name *named(const pfc_plot_names *names, const char *name)
{
    for (size_t i = 0; i < names->len; i++)
        if (pfc_streq(names->items[i].name, name))
            return &names->items[i];
    cr_fatal("no name %s", name);
    return NULL;
}

Test(plot, names_come_with_their_values_numbers_by_size)
{
    pfc_db *db = pfc_test_db_open(2, NULL);
    const int64_t p = ground(db);
    pfc_plot_names names;
    const pfc_plot_name *k;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_plot_names_read(db, p, "main", &names, &err), PFC_OK), "%s", err.msg);
    cr_expect(eq(sz, names.series, 3));
    k = named(&names, "k");
    cr_assert(eq(sz, k->len, 3));
    cr_expect(eq(str, k->values[0].text, "512"));
    cr_expect(eq(str, k->values[1].text, "4096"));
    cr_expect(eq(str, k->values[2].text, "none"));
    cr_expect(not(k->numeric));
    cr_expect(named(&names, "m")->numeric);
    cr_expect(eq(sz, named(&names, "dtype")->values[0].series, 2));
    cr_expect(eq(sz, named(&names, "kernel")->len, 2));
    pfc_plot_names_clear(&names);
    pfc_db_close(db);
}
