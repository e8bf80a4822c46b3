/* Plots whose points are in memory: every change of what is stored is seen. */
#include <stdlib.h>

#include "server/services/plot/plot.h"
#include "server/services/plot/plot_priv.h"

#include "tests/check/check.h"
#include "tests/server/fixture.h"

/* Packs all points of all series, as servers do once there are many. */
static const char PACK[] =
    "INSERT INTO series_chunks (project_id, series_id, from_at, until_at, line_version, points,"
    " packed) SELECT p.project_id, series_id, '-infinity', now(), v.line_version, count(*),"
    " string_agg(packed, '' ORDER BY position, run_id) FROM series_points p JOIN branches v ON"
    " v.project_id = p.project_id AND v.name = p.branch GROUP BY 1, 2, v.line_version";

static void store(fx_ground *g, unsigned n, double a, double b)
{
    pfc_run *run = fx_run(n);

    fx_measure(run, "gemm/a", "time_ns", a, 0, 4, 2, 1);
    fx_measure(run, "gemm/b", "time_ns", b, 0, 4, 2, 1);
    fx_ingest(g->db, g->project, run);
}

/* 3 commits, packed. gemm/a: 100, 200, 300; gemm/b: ten times that. */
static fx_ground ground(void)
{
    fx_ground g = fx_begin(2);

    fx_commits(g.db, g.project, 1, 4);
    for (unsigned n = 1; n <= 3; n++)
        store(&g, n, 100 * n, 1000 * n);
    pfc_test_sql(g.url, PACK);
    return g;
}

/* Expects the values of a line, oldest first; 0 ends them. */
static void expect(const fx_ground *g, const char *select, size_t line, const double *want)
{
    const pfc_plot_opts opts = { .branch = "main", .select = select };
    pfc_plot plot = { 0 };
    pfc_err err = { 0 };
    size_t n = 0;

    cr_assert(eq(int, pfc_plot_read(g->db, g->project, &opts, &plot, &err), PFC_OK), "%s", err.msg);
    for (; want[n] > 0; n++) {
        cr_assert(lt(sz, n, plot.columns.len));
        cr_expect(epsilon_eq(dbl, (double)plot.lines[line].median[n], want[n], 1e-3), "%s, %zu: %g",
                  select, n, (double)plot.lines[line].median[n]);
    }
    cr_expect(eq(sz, plot.columns.len, n));
    pfc_plot_clear(&plot);
}

/* How many chunks were unpacked since the last call. */
static uint64_t unpacked(void)
{
    static uint64_t last;
    pfc_plot_chunk_figures now;
    uint64_t more;

    pfc_plot_chunk_count(&now);
    more = now.unpacked - last;
    last = now.unpacked;
    return more;
}

Test(plot_chunks, other_questions_read_no_chunk_again)
{
    fx_ground g = ground();

    expect(&g, "gemm", 0, (const double[]){ 100, 200, 300, 0 });
    cr_expect(eq(u64, unpacked(), 2));
    expect(&g, "gemm", 1, (const double[]){ 1000, 2000, 3000, 0 });
    expect(&g, "gemm/b", 0, (const double[]){ 1000, 2000, 3000, 0 });
    cr_expect(eq(u64, unpacked(), 0));
    store(&g, 4, 400, 4000);
    expect(&g, "gemm/b", 0, (const double[]){ 1000, 2000, 3000, 4000, 0 });
    cr_expect(eq(u64, unpacked(), 0));
    fx_end(&g);
}

/* Another result of an old commit: the line has the median of both. */
Test(plot_chunks, a_later_result_of_an_old_commit_is_seen)
{
    fx_ground g = ground();
    pfc_run *again = fx_run(2);

    expect(&g, "gemm/a", 0, (const double[]){ 100, 200, 300, 0 });
    fx_measure(again, "gemm/a", "time_ns", 220, 0, 4, 2, 1);
    fx_ingest(g.db, g.project, again);
    expect(&g, "gemm/a", 0, (const double[]){ 100, 210, 300, 0 }); /* the median of both */
    fx_end(&g);
}

/* Thinning (chunks_thinned), another server, and a database that was set back change the row so;
 * its times and its number of points may all be the same as before. */
Test(plot_chunks, a_chunk_with_another_content_is_read_again)
{
    fx_ground g = ground();

    expect(&g, "gemm/a", 0, (const double[]){ 100, 200, 300, 0 });
    (void)unpacked();
    pfc_test_sql(g.url, "UPDATE measurements SET median = median * 2");
    pfc_test_sql(g.url, "UPDATE series_chunks c SET packed = (SELECT string_agg(p.packed, ''"
                        " ORDER BY p.position, p.run_id) FROM series_points p"
                        " WHERE p.series_id = c.series_id)");
    expect(&g, "gemm/a", 0, (const double[]){ 200, 400, 600, 0 });
    cr_expect(eq(u64, unpacked(), 1)); /* of gemm/a; gemm/b was not asked for */

    pfc_test_sql(g.url, "UPDATE measurements SET median = median * 2");
    pfc_test_sql(g.url, "DELETE FROM series_chunks");
    expect(&g, "gemm/a", 0, (const double[]){ 400, 800, 1200, 0 });
    pfc_test_sql(g.url, PACK);
    pfc_test_sql(g.url, "UPDATE measurements SET median = 1");
    expect(&g, "gemm/a", 0, (const double[]){ 400, 800, 1200, 0 }); /* 1200: of the new chunk */
    fx_end(&g);
}

/* Runs that retention or a quarantine takes out of the measurements, and out of the chunks. */
Test(plot_chunks, deleted_results_go)
{
    fx_ground g = ground();

    expect(&g, "gemm/a", 0, (const double[]){ 100, 200, 300, 0 });
    pfc_test_sql(g.url, "DELETE FROM measurements WHERE run_id = (SELECT min(id) FROM runs)");
    pfc_test_sql(g.url, "DELETE FROM series_chunks");
    expect(&g, "gemm/a", 0, (const double[]){ 200, 300, 0 });
    pfc_test_sql(g.url, PACK);
    expect(&g, "gemm/a", 0, (const double[]){ 200, 300, 0 });
    fx_end(&g);
}

/* Stale chunks have another line_version than the branch: they are not used, in memory or not. */
Test(plot_chunks, commits_that_moved_make_chunks_stale)
{
    fx_ground g = ground();

    expect(&g, "gemm/a", 0, (const double[]){ 100, 200, 300, 0 });
    pfc_test_sql(g.url, "UPDATE branch_commits SET position = 10 - position");
    pfc_test_sql(g.url, "UPDATE branches SET line_version = line_version + 1");
    expect(&g, "gemm/a", 0, (const double[]){ 300, 200, 100, 0 });
    fx_end(&g);
}

/* A point with a number that does not fit 32 bits: it is shown, and not kept. */
Test(plot_chunks, runs_far_apart_are_shown)
{
    fx_ground g = ground();
    pfc_plot_chunk_figures figures;

    pfc_test_sql(g.url, "UPDATE series_chunks SET packed = overlay(packed placing"
                        " int8send(5000000000) from 9 for 8)");
    expect(&g, "gemm/a", 0, (const double[]){ 100, 200, 300, 0 });
    pfc_plot_chunk_count(&figures);
    cr_expect(eq(sz, figures.bytes, 0));
    expect(&g, "gemm/a", 0, (const double[]){ 100, 200, 300, 0 });
    fx_end(&g);
}
