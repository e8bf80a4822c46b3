/* Reads of the dashboard: lists, windows, comparisons. */
#include <math.h>

#include "server/services/access/access.h"
#include "server/services/history/compare.h"
#include "server/services/history/history.h"

#include "tests/check/check.h"
#include "tests/server/fixture.h"
#include "tests/support/cluster_hooks.h"

static int64_t one_series(pfc_db *db, int64_t p, const char *benchmark)
{
    const pfc_series_filter filter = { .benchmark = benchmark };
    pfc_series_rows rows = { 0 };
    pfc_err err = { 0 };
    int64_t id;

    cr_assert(eq(int, pfc_series_list(db, p, &filter, (pfc_page){ 0 }, &rows, &err), PFC_OK));
    cr_assert(eq(sz, rows.len, 1));
    id = rows.items[0].id;
    pfc_rows_clear(&rows);
    return id;
}

static void history(pfc_db *db, int64_t p, unsigned commits)
{
    fx_commits(db, p, 1, commits);
    for (unsigned n = 1; n <= commits; n++) {
        pfc_run *run = fx_run(n);

        fx_measure(run, "gemm/a", "time_ns", 100, 0.005, 8, 2, n);
        fx_ingest(db, p, run);
    }
}

Test(reading, a_window_is_in_commit_order_and_can_be_cut)
{
    pfc_db *db = pfc_test_db_open(2, NULL);
    int64_t p = fx_project(db), series;
    pfc_window w = { 0 };
    pfc_err err = { 0 };

    history(db, p, 20);
    series = one_series(db, p, "gemm/a");
    cr_assert(eq(int, pfc_series_window(db, series, &(pfc_window_opts){ 0 }, &w, &err), PFC_OK),
              "%s", err.msg);
    cr_assert(eq(sz, w.points.len, 20));
    cr_assert(not(w.bucketed));
    for (size_t i = 0; i < 20; i++) {
        cr_assert(eq(i64, w.points.items[i].position, (int64_t)i + 1));
        cr_assert(eq(i64, w.points.items[i].n, 8));
        cr_assert(le(dbl, w.points.items[i].low, w.points.items[i].median));
        cr_assert(ge(dbl, w.points.items[i].high, w.points.items[i].median));
    }
    pfc_window_clear(&w);

    pfc_window_opts opts = { .from = fx_sha(5), .to = fx_sha(9) };
    cr_assert(eq(int, pfc_series_window(db, series, &opts, &w, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, w.points.len, 5));
    pfc_window_clear(&w);

    opts = (pfc_window_opts){ .from = "1700000600", .to = "1700000660" }; /* commits 10 and 11 */
    cr_assert(eq(int, pfc_series_window(db, series, &opts, &w, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, w.points.len, 2));
    pfc_window_clear(&w);

    opts = (pfc_window_opts){ .from = "yesterday" };
    cr_assert(eq(int, pfc_series_window(db, series, &opts, &w, &err), PFC_EINVAL));
    cr_assert(eq(str, err.field, "from"));
    opts = (pfc_window_opts){ .from = "abcdef0123" };
    cr_assert(eq(int, pfc_series_window(db, series, &opts, &w, &err), PFC_ENOTFOUND));
    cr_assert(
        eq(int, pfc_series_window(db, 999999, &(pfc_window_opts){ 0 }, &w, &err), PFC_ENOTFOUND));
    pfc_db_close(db);
}

Test(reading, buckets_keep_the_extremes)
{
    pfc_db *db = pfc_test_db_open(2, NULL);
    int64_t p = fx_project(db), series;
    pfc_window_opts opts = { .points = 5 };
    pfc_window all = { 0 }, w = { 0 };
    double low = INFINITY, high = 0, bucket_low = INFINITY, bucket_high = 0;
    int64_t n = 0;
    pfc_err err = { 0 };

    history(db, p, 23);
    series = one_series(db, p, "gemm/a");
    cr_assert(eq(int, pfc_series_window(db, series, &(pfc_window_opts){ 0 }, &all, &err), PFC_OK));
    cr_assert(eq(int, pfc_series_window(db, series, &opts, &w, &err), PFC_OK), "%s", err.msg);
    cr_assert(w.bucketed);
    cr_assert(eq(sz, w.points.len, 5));
    for (size_t i = 0; i < all.points.len; i++) {
        low = fmin(low, all.points.items[i].median);
        high = fmax(high, all.points.items[i].median);
    }
    for (size_t i = 0; i < w.points.len; i++) {
        bucket_low = fmin(bucket_low, w.points.items[i].low);
        bucket_high = fmax(bucket_high, w.points.items[i].high);
        n += w.points.items[i].n;
    }
    cr_assert(eq(dbl, bucket_low, low));
    cr_assert(eq(dbl, bucket_high, high));
    cr_assert(eq(i64, n, 23 * 8));
    cr_assert(eq(i64, w.points.items[4].position, 23));
    pfc_window_clear(&all);
    pfc_window_clear(&w);
    pfc_db_close(db);
}

/* A while later: only what was stored long ago is packed by servers, and told apart from what came
 * since. */
static const char later[] = "UPDATE runs SET received_at = received_at - interval '1 hour'";

static size_t pack(pfc_db *db)
{
    size_t built = 0, all = 0;
    int64_t cursor = 0;
    pfc_err err = { 0 };

    do {
        cr_assert(eq(int, pfc_chunks_step(db, 0, &cursor, &built, &err), PFC_OK), "%s", err.msg);
        all += built;
    } while (cursor);
    return all;
}

static void expect_value(const char *url, const char *sql, const char *want)
{
    char *got = pfc_test_sql_value(url, sql);

    cr_assert(eq(str, got, (char *)(uintptr_t)want), "%s", sql);
    free(got);
}

/* A project whose only series has `copies` measurements at each of 20 commits; 3 runs are marked.
 */
static int64_t long_series(pfc_db *db, const char *url, int64_t p, int copies)
{
    char sql[1024];

    history(db, p, 20);
    fx_detect(db);
    (void)snprintf(sql, sizeof(sql),
                   "INSERT INTO runs (project_id, run_id, header_hash, commit_id, branch, suite,"
                   " suite_hash, machine_id, infra, started_at, finished_at, received_at)"
                   " SELECT project_id, md5(run_id || g), '', commit_id, branch, suite, '',"
                   " machine_id, g = 7 AND id %% 7 = 0, started_at, finished_at, received_at"
                   " FROM runs, generate_series(1, %d) AS g;"
                   "INSERT INTO measurements SELECT r.project_id, m.series_id, r.id, r.commit_id,"
                   " m.stored_at, m.n, m.median + r.id %% 13, m.low, m.high, m.min, m.samples,"
                   " m.blocks FROM runs r JOIN measurements m ON m.commit_id = r.commit_id"
                   " WHERE r.header_hash = '';"
                   "UPDATE series SET points = (SELECT count(*) FROM measurements)",
                   copies - 1);
    pfc_test_sql(url, sql);
    return one_series(db, p, "gemm/a");
}

/* The same window, whatever it was read from. */
static void expect_same(pfc_db *db, const char *url, int64_t series, const pfc_window_opts *opts)
{
    pfc_window packed = { 0 }, plain = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_series_window(db, series, opts, &packed, &err), PFC_OK), "%s", err.msg);
    pfc_test_sql(url, "UPDATE branches SET line_version = line_version + 1000");
    cr_assert(eq(int, pfc_series_window(db, series, opts, &plain, &err), PFC_OK), "%s", err.msg);
    pfc_test_sql(url, "UPDATE branches SET line_version = line_version - 1000");
    cr_assert(packed.bucketed);
    cr_assert(eq(sz, packed.points.len, plain.points.len));
    for (size_t i = 0; i < plain.points.len; i++) {
        const pfc_window_point *a = &packed.points.items[i], *b = &plain.points.items[i];

        cr_assert(eq(i64, a->position, b->position));
        cr_assert(eq(i64, a->run_id, b->run_id));
        cr_assert(eq(str, (char *)a->commit, (char *)b->commit));
        cr_assert(eq(dbl, a->median, b->median));
        cr_assert(eq(dbl, a->low, b->low));
        cr_assert(eq(dbl, a->high, b->high));
        cr_assert(eq(dbl, a->min, b->min));
        cr_assert(eq(i64, a->n, b->n));
        cr_assert(eq(int, a->infra, b->infra));
    }
    pfc_window_clear(&packed);
    pfc_window_clear(&plain);
}

Test(reading, buckets_are_what_the_database_makes_of_the_points)
{
    char *url = NULL, *want;
    pfc_db *db = pfc_test_db_open(2, &url);
    int64_t series = long_series(db, url, fx_project(db), 31);
    pfc_window w = { 0 };
    pfc_buf got;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_series_window(db, series, &(pfc_window_opts){ .points = 7 }, &w, &err),
                 PFC_OK));
    pfc_buf_init(&got, 65536);
    for (size_t i = 0; i < w.points.len; i++) {
        const pfc_window_point *p = &w.points.items[i];

        pfc_buf_printf(&got, "%lld %.6f %.6f %.6f %.6f %lld %d;", (long long)p->run_id, p->median,
                       p->low, p->high, p->min, (long long)p->n, p->infra);
    }
    want = pfc_test_sql_value(
        url,
        "SELECT string_agg(format('%s %s %s %s %s %s %s;', run, md::numeric(20,6),"
        " lo::numeric(20,6), hi::numeric(20,6), mi::numeric(20,6), n, inf),"
        " '' ORDER BY bucket) FROM (SELECT bucket, (array_agg(id ORDER BY position DESC, id "
        "DESC))[1]"
        " AS run, percentile_cont(0.5) WITHIN GROUP (ORDER BY median) AS md, min(median) AS lo,"
        " max(median) AS hi, min(min) AS mi, sum(n) AS n, bool_or(infra)::int AS inf FROM ("
        " SELECT r.id, b.position, m.median, m.min, m.n, r.infra,"
        " ntile(7) OVER (ORDER BY b.position, r.id) AS bucket FROM measurements m"
        " JOIN runs r ON r.id = m.run_id JOIN branch_commits b ON b.commit_id = m.commit_id) p"
        " GROUP BY bucket) q");
    cr_assert(eq(str, (char *)(uintptr_t)pfc_buf_text(&got), want));
    pfc_buf_clear(&got);
    free(want);
    pfc_window_clear(&w);
    pfc_db_close(db);
    free(url);
}

Test(reading, packed_series_read_as_their_measurements_do)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    int64_t p = fx_project(db), series = long_series(db, url, p, 30);
    const pfc_window_opts all = { .points = 11 },
                          part = { .from = fx_sha(4), .to = "1700000960", .points = 5 };
    const char *const valid = "SELECT count(*) FROM series_chunks k JOIN branches b ON b.name = "
                              "'main' AND b.line_version = k.line_version";

    pfc_test_sql(url, later);
    cr_assert(eq(sz, pack(db), 1));
    expect_value(url, "SELECT sum(points) FROM series_chunks", "600");
    cr_assert(eq(sz, pack(db), 0), "nothing new");
    expect_same(db, url, series, &all);
    expect_same(db, url, series, &part);

    /* what came since is read beside the chunk */
    fx_commits(db, p, 1, 22);
    for (unsigned n = 21; n <= 22; n++) {
        pfc_run *run = fx_run(n);

        fx_measure(run, "gemm/a", "time_ns", 90, 0.005, 8, 2, n);
        fx_ingest(db, p, run);
    }
    expect_value(url, valid, "1");
    expect_same(db, url, series, &all);

    /* what comes in between, not in the order of time, moves none of the chunk's commits */
    for (unsigned n = 24; n >= 23; n--) {
        pfc_run *run = fx_run(n);

        fx_measure(run, "gemm/a", "time_ns", 90, 0.005, 8, 2, n);
        fx_ingest(db, p, run);
    }
    cr_assert(eq(i64, fx_position(db, p, 23), 23));
    cr_assert(eq(i64, fx_position(db, p, 24), 24));
    expect_value(url, valid, "1");
    expect_same(db, url, series, &all);

    /* measured commits at other positions: the chunk is not used until it is rebuilt */
    fx_commit(db, p, 0, 0, 0); /* older, and its own chain: it comes first */
    cr_assert(eq(i64, fx_position(db, p, 1), 2));
    expect_value(url, valid, "0");
    expect_same(db, url, series, &all);
    cr_assert(eq(sz, pack(db), 1));
    expect_value(url, "SELECT sum(points) FROM series_chunks", "604");
    expect_value(url, valid, "1");
    expect_same(db, url, series, &all);
    pfc_db_close(db);
    free(url);
}

/* Points of a window: -1 when it is refused. */
static int points_of(pfc_db *db, int64_t series, const char *from, const char *to, int points,
                     pfc_err *err)
{
    const pfc_window_opts opts = { .from = from, .to = to, .points = points };
    pfc_window w = { 0 };
    int n;

    if (pfc_series_window(db, series, &opts, &w, err))
        return -1;
    n = (int)w.points.len;
    pfc_window_clear(&w);
    return n;
}

Test(reading, a_window_has_the_ends_and_the_size_that_were_asked_for)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    int64_t series = long_series(db, url, fx_project(db), 101); /* 20 commits, 101 points each */
    const char *one = fx_sha(7), *next = fx_sha(8);
    pfc_err err = { 0 };

    cr_expect(eq(int, points_of(db, series, one, one, 0, &err), 101), "%s", err.msg);
    cr_expect(eq(int, points_of(db, series, next, one, 0, &err), -1));
    cr_expect(eq(str, err.field, "to"));
    cr_expect(eq(int, points_of(db, series, "1700000420", "1700000420", 0, &err), 101));
    cr_expect(eq(int, points_of(db, series, "1700000421", "1700000420", 0, &err), -1));
    cr_expect(eq(str, err.field, "to"));
    /* 11 digits are still a time, 12 a commit that is not there, and more after the point no number
     */
    cr_expect(eq(int, points_of(db, series, "17000000000", NULL, 0, &err), 0), "%s", err.msg);
    cr_expect(eq(int, points_of(db, series, "170000000000", NULL, 0, &err), -1));
    cr_expect(eq(int, err.code, PFC_ENOTFOUND));
    cr_expect(eq(int, points_of(db, series, "1700000420.00000000", NULL, 0, &err), -1));
    cr_expect(eq(int, err.code, PFC_EINVAL));
    /* 2,000 unless another number is asked for; as many as that are the points themselves */
    cr_expect(eq(int, points_of(db, series, NULL, NULL, 0, &err), 2000));
    cr_expect(eq(int, points_of(db, series, NULL, NULL, 5000, &err), 2020));
    cr_expect(eq(int, points_of(db, series, NULL, NULL, 1, &err), 1));
    cr_expect(eq(int, points_of(db, series, NULL, NULL, 5001, &err), -1));
    cr_expect(eq(str, err.field, "points"));
    cr_expect(eq(int, points_of(db, series, NULL, NULL, -1, &err), -1));
    pfc_db_close(db);
    free(url);
}

Test(reading, a_new_fingerprint_is_a_boundary_that_names_what_changed)
{
    pfc_db *db = pfc_test_db_open(2, NULL);
    int64_t p = fx_project(db);
    pfc_window w = { 0 };
    pfc_err err = { 0 };

    for (unsigned n = 1; n <= 6; n++) {
        pfc_run *run = fx_run(n);

        if (n > 3) {
            pfc_labels_set(&run->machine.fingerprint, "compiler", "gcc 13");
            pfc_labels_set(&run->machine.fingerprint, "turbo", "off");
            pfc_machine_hash(&run->machine);
        }
        fx_measure(run, "gemm/a", "time_ns", 100, 0.005, 8, 2, n);
        fx_ingest(db, p, run);
    }
    cr_assert(
        eq(int,
           pfc_series_window(db, one_series(db, p, "gemm/a"), &(pfc_window_opts){ 0 }, &w, &err),
           PFC_OK),
        "%s", err.msg);
    cr_assert(eq(sz, w.boundaries_len, 1));
    cr_assert(eq(sz, w.boundaries[0].index, 3));
    cr_assert(eq(sz, w.boundaries[0].fields_len, 2));
    cr_assert(eq(str, w.boundaries[0].fields[0], "compiler"));
    cr_assert(eq(str, w.boundaries[0].fields[1], "turbo"));
    pfc_window_clear(&w);
    pfc_db_close(db);
}

Test(reading, a_comparison_tells_slower_same_and_one_sided)
{
    pfc_db *db = pfc_test_db_open(2, NULL);
    int64_t p = fx_project(db);
    pfc_comparison c = { 0 };
    pfc_err err = { 0 };

    fx_commits(db, p, 1, 2);
    for (unsigned n = 1; n <= 2; n++) {
        pfc_run *run = fx_run(n);

        fx_measure(run, "gemm/slower", "time_ns", n == 1 ? 100 : 120, 0.003, 60, 10, n);
        fx_measure(run, "gemm/same", "time_ns", 100, 0.001, 60, 10, 10 + n);
        fx_measure(run, n == 1 ? "gemm/old" : "gemm/new", "time_ns", 100, 0.003, 60, 10, 20 + n);
        fx_ingest(db, p, run);
    }
    cr_assert(eq(int, pfc_compare_commits(db, p, fx_sha(1), fx_sha(2), &c, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(sz, c.rows_len, 2));
    cr_assert(eq(str, c.rows[0].benchmark, "gemm/same"));
    cr_assert(eq(int, c.rows[0].result.verdict, PFC_VERDICT_SAME));
    cr_assert(eq(str, c.rows[1].benchmark, "gemm/slower"));
    cr_assert(eq(int, c.rows[1].result.verdict, PFC_VERDICT_DIFFERENT));
    cr_assert(c.rows[1].regression);
    cr_assert(epsilon_eq(dbl, c.rows[1].result.rel_change, 0.2, 0.01));
    cr_assert(eq(sz, c.regressions, 1));
    cr_assert(eq(sz, c.only_a_len, 1));
    cr_assert(eq(str, c.only_a[0], "gemm/old time_ns cpu-scalar"));
    cr_assert(eq(sz, c.only_b_len, 1));
    cr_assert(eq(sz, c.a.runs_len, 1));
    cr_assert(eq(str, c.b.end.commit, (char *)fx_sha(2)));

    /* runs by their ids answer the same */
    pfc_comparison by_run = { 0 };
    cr_assert(eq(int, pfc_compare_commits(db, p, c.a.runs[0], c.b.runs[0], &by_run, &err), PFC_OK),
              "%s", err.msg);
    cr_assert(eq(sz, by_run.regressions, 1));
    pfc_comparison_clear(&by_run);
    pfc_comparison_clear(&c);
    cr_assert(eq(int, pfc_compare_commits(db, p, "abcdef0", fx_sha(2), &c, &err), PFC_ENOTFOUND));
    cr_assert(eq(int, pfc_compare_commits(db, p, "HEAD", fx_sha(2), &c, &err), PFC_ENOTFOUND));
    pfc_db_close(db);
}

static void run_on(pfc_db *db, int64_t p, unsigned n, double value, const char *compiler,
                   bool infra)
{
    pfc_run *run = fx_run(n);

    pfc_labels_set(&run->machine.fingerprint, "compiler", compiler);
    pfc_machine_hash(&run->machine);
    run->infra = infra;
    fx_measure(run, "gemm/a", "time_ns", value, 0.001, 12, 3, n);
    fx_ingest(db, p, run);
}

/* All runs of a commit count, those of a machine that had moved only when there are no others; the
 * machine is that of the newest. */
Test(reading, a_commit_is_all_of_its_runs_but_those_of_a_machine_that_had_moved)
{
    pfc_db *db = pfc_test_db_open(2, NULL);
    int64_t p = fx_project(db);
    pfc_comparison c = { 0 };
    pfc_err err = { 0 };

    fx_commits(db, p, 1, 3);
    run_on(db, p, 1, 100, "cc 1", false);
    run_on(db, p, 1, 100, "cc 2", false);
    run_on(db, p, 2, 100, "cc 1", false);
    run_on(db, p, 2, 200, "cc 1", true);
    run_on(db, p, 3, 200, "cc 2", true);
    cr_assert(eq(int, pfc_compare_commits(db, p, fx_sha(1), fx_sha(2), &c, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(sz, c.rows_len, 1));
    cr_expect(eq(i64, (int64_t)c.rows[0].a.n, 24));
    cr_expect(eq(i64, (int64_t)c.rows[0].b.n, 12));
    cr_expect(eq(sz, c.a.runs_len, 2));
    cr_expect(eq(sz, c.b.runs_len, 1));
    cr_expect(epsilon_eq(dbl, c.rows[0].result.rel_change, 0.0, 0.01));
    cr_assert(eq(sz, c.rows[0].differs_len, 1));
    cr_expect(eq(str, c.rows[0].differs[0], "compiler"));
    pfc_comparison_clear(&c);
    cr_assert(eq(int, pfc_compare_commits(db, p, fx_sha(2), fx_sha(3), &c, &err), PFC_OK));
    cr_assert(eq(sz, c.rows_len, 1));
    cr_expect(epsilon_eq(dbl, c.rows[0].result.rel_change, 1.0, 0.01));
    pfc_comparison_clear(&c);
    pfc_db_close(db);
}

Test(reading, series_are_found_by_words_and_filters)
{
    pfc_db *db = pfc_test_db_open(2, NULL);
    int64_t p = fx_project(db);
    pfc_run *run = fx_run(1);
    pfc_series_rows rows = { 0 };
    pfc_err err = { 0 };

    fx_measure(run, "gemm/f32/m512", "time_ns", 100, 0.01, 6, 1, 1);
    fx_measure(run, "norm/f32/n64", "time_ns", 100, 0.01, 6, 1, 2);
    fx_measure(run, "headline", "gemm_time", 100, 0.01, 6, 1, 3);
    fx_ingest(db, p, run);
    fx_detect(db);

    pfc_series_filter filter = { .words = "M512 scalar" };
    cr_assert(eq(int, pfc_series_list(db, p, &filter, (pfc_page){ 0 }, &rows, &err), PFC_OK));
    cr_assert(eq(sz, rows.len, 1));
    cr_assert(eq(str, (char *)rows.items[0].benchmark, "gemm/f32/m512"));
    cr_assert(eq(i64, rows.items[0].points, 1));
    cr_assert(eq(str, (char *)rows.items[0].last_commit, (char *)fx_sha(1)));
    pfc_rows_clear(&rows);
    cr_assert(eq(int, pfc_project_headline(db, p, &rows, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, rows.len, 1));
    cr_assert(eq(str, (char *)rows.items[0].metric, "gemm_time"));
    pfc_rows_clear(&rows);
    filter = (pfc_series_filter){ .metric = "x' OR '1'='1" };
    cr_assert(eq(int, pfc_series_list(db, p, &filter, (pfc_page){ 0 }, &rows, &err), PFC_OK));
    cr_assert(eq(sz, rows.len, 0));
    pfc_rows_clear(&rows);
    pfc_db_close(db);
}

Test(reading, values_at_a_commit_stand_beside_its_parents)
{
    pfc_db *db = pfc_test_db_open(2, NULL);
    int64_t p = fx_project(db);
    pfc_commit_rows commits = { 0 };
    pfc_commit_values values = { 0 };
    pfc_figures figures = { 0 };
    pfc_err err = { 0 };

    history(db, p, 2);
    cr_assert(eq(int, pfc_commits_get(db, p, fx_sha(2), &commits, &err), PFC_OK));
    cr_assert(eq(int, pfc_commit_values_list(db, p, commits.items[0].id, &values, &err), PFC_OK));
    cr_assert(eq(sz, values.len, 1));
    cr_assert(epsilon_eq(dbl, values.items[0].parent_median, 100, 5));
    pfc_rows_clear(&values);
    pfc_rows_clear(&commits);
    cr_assert(eq(int, pfc_figures_get(db, p, &figures, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(i64, figures.runs, 2));
    cr_assert(eq(i64, figures.measurements, 2));
    cr_assert(eq(i64, figures.series, 1));
    pfc_db_close(db);
}

Test(reading, a_merge_stands_beside_its_first_parent)
{
    pfc_db *db = pfc_test_db_open(2, NULL);
    int64_t p = fx_project(db);
    pfc_commit_rows commits = { 0 };
    pfc_commit_values values = { 0 };
    pfc_err err = { 0 };

    fx_commits(db, p, 1, 2);
    fx_commit(db, p, 3, 1, 0);
    fx_commit(db, p, 4, 2, 3);
    for (unsigned n = 2; n <= 4; n++)
        run_on(db, p, n, 100.0 * n, "cc", false);
    cr_assert(eq(int, pfc_commits_get(db, p, fx_sha(4), &commits, &err), PFC_OK));
    cr_assert(eq(int, pfc_commit_values_list(db, p, commits.items[0].id, &values, &err), PFC_OK));
    cr_assert(eq(sz, values.len, 1));
    cr_expect(epsilon_eq(dbl, values.items[0].median, 400, 5));
    cr_expect(epsilon_eq(dbl, values.items[0].parent_median, 200, 5));
    pfc_rows_clear(&values);
    pfc_rows_clear(&commits);
    pfc_db_close(db);
}

/* Chunks hold positions; older commits that come in later move all of them. */
Test(reading, chunks_of_a_line_that_moved_are_not_read)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    int64_t p = fx_project(db), series;
    pfc_window_opts opts;
    pfc_window w = { 0 };
    pfc_err err = { 0 };

    fx_commits(db, p, 3, 12);
    for (unsigned n = 3; n <= 12; n++)
        run_on(db, p, n, 100, "cc", false);
    series = one_series(db, p, "gemm/a");
    pfc_test_sql(url, "UPDATE series SET points = 1000"); /* as if it were worth packing */
    pfc_test_sql(url, later);
    cr_assert(eq(sz, pack(db), 1));
    fx_commits(db, p, 1, 2);
    cr_assert(eq(i64, fx_position(db, p, 3), 3));
    opts = (pfc_window_opts){ .from = fx_sha(5), .to = fx_sha(9), .points = 2 };
    cr_assert(eq(int, pfc_series_window(db, series, &opts, &w, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, w.points.len, 2));
    cr_expect(eq(i64, w.points.items[0].n + w.points.items[1].n, 5 * 12));
    cr_expect(eq(str, (char *)(uintptr_t)w.points.items[1].commit, (char *)fx_sha(9)));
    cr_expect(eq(i64, w.points.items[1].position, 9));
    pfc_window_clear(&w);
    free(url);
    pfc_db_close(db);
}
