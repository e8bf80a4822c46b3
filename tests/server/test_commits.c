/* History as it is stored: any order, any number of times. */

#include "core/base/rng.h"
#include "server/services/access/access.h"
#include "server/services/history/history.h"
#include "server/services/ingest/ingest.h"

#include "tests/check/check.h"
#include "tests/server/fixture.h"
#include "tests/support/cluster_hooks.h"

static const pfc_commit_filter all;
static const pfc_commit_filter tagged = { .tagged = true };
static const pfc_commit_filter unroll = { .words = "unroll ANN" };

/* Posts a stored commit once more, with tags. */
static void give_tags(pfc_db *db, int64_t p, unsigned n, const char *first, const char *second)
{
    char *tags[] = { (char *)(uintptr_t)first, (char *)(uintptr_t)second };
    pfc_commit commit = { .id = pfc_strdup(fx_sha(n)),
                          .author = (char *)"A",
                          .time = 1.7e9,
                          .subject = (char *)"s",
                          .tags = tags,
                          .tags_len = second ? 2 : 1 };
    size_t fresh = 0;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_commits_store(db, "test", p, NULL, &commit, 1, &fresh, &err), PFC_OK),
              "%s", err.msg);
    cr_expect(eq(sz, fresh, 0));
    free(commit.id);
}

Test(commits, a_line_posted_in_order_counts_from_one)
{
    pfc_db *db = pfc_test_db_open(2, NULL);
    int64_t p = fx_project(db);

    fx_commits(db, p, 1, 10);
    fx_commits(db, p, 11, 15); /* appended at the tip */
    for (unsigned n = 1; n <= 15; n++)
        cr_assert(eq(i64, fx_position(db, p, n), n));
    pfc_db_close(db);
}

Test(commits, any_order_of_arrival_gives_the_same_positions)
{
    pfc_rng rng;

    pfc_rng_seed(&rng, 3);
    for (int round = 0; round < 6; round++) {
        pfc_db *db = pfc_test_db_open(2, NULL);
        int64_t p = fx_project(db);
        size_t order[12];

        for (size_t i = 0; i < 12; i++)
            order[i] = i + 1;
        pfc_rng_shuffle(&rng, order, 12);
        for (size_t i = 0; i < 12; i++) {
            unsigned n = (unsigned)order[i];

            /* 9 merges 7 (a side branch from 5); the line is 1..6, 8, 9, 10, 11, 12 */
            if (n == 8)
                fx_commit(db, p, 8, 6, 0);
            else if (n == 7)
                fx_commit(db, p, 7, 5, 0);
            else if (n == 9)
                fx_commit(db, p, 9, 8, 7);
            else
                fx_commit(db, p, n, n - 1, 0);
        }
        for (unsigned n = 1; n <= 12; n++)
            cr_assert(eq(i64, fx_position(db, p, n),
                         n < 7    ? n
                         : n == 7 ? 0
                                  : n - 1),
                      "round %d, commit %u", round, n);
        pfc_db_close(db);
    }
}

Test(commits, repeating_a_post_changes_nothing)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    int64_t p = fx_project(db);

    fx_commits(db, p, 1, 5);
    char *before = pfc_test_sql_value(url, "SELECT md5(string_agg(c::text || b::text, ',' ORDER BY"
                                           " c.sha)) FROM commits c JOIN branch_commits b ON"
                                           " b.commit_id = c.id");
    fx_commits(db, p, 1, 5);
    char *after = pfc_test_sql_value(url, "SELECT md5(string_agg(c::text || b::text, ',' ORDER BY"
                                          " c.sha)) FROM commits c JOIN branch_commits b ON"
                                          " b.commit_id = c.id");
    cr_assert(eq(str, before, after));
    free(before);
    free(after);
    free(url);
    pfc_db_close(db);
}

Test(commits, a_commit_known_from_a_run_only_is_completed_later)
{
    pfc_db *db = pfc_test_db_open(2, NULL);
    int64_t p = fx_project(db);
    pfc_run *run = fx_run(3);
    pfc_commit_rows rows = { 0 };
    pfc_err err = { 0 };

    fx_measure(run, "gemm", "time_ns", 100, 0.01, 6, 1, 1);
    fx_ingest(db, p, run);
    cr_assert(eq(int, pfc_commits_get(db, p, fx_sha(3), &rows, &err), PFC_OK), "%s", err.msg);
    cr_assert(rows.items[0].stub);
    pfc_rows_clear(&rows);

    fx_commits(db, p, 1, 5);
    cr_assert(eq(int, pfc_commits_get(db, p, fx_sha(3), &rows, &err), PFC_OK), "%s", err.msg);
    cr_assert(not(rows.items[0].stub));
    cr_assert(eq(i64, rows.items[0].position, 3));
    cr_assert(eq(i64, rows.items[0].runs, 1));
    cr_assert(eq(str, (char *)rows.items[0].subject, "change 3 \"quoted\\\" {brace}"));
    cr_assert(eq(str, (char *)rows.items[0].paths.text, "{\"src/file, 3.c\"}"));
    pfc_rows_clear(&rows);
    pfc_db_close(db);
}

/* Are the stored positions those of the graph as a whole? */
static void expect_graph(pfc_db *db, int64_t project, unsigned step)
{
    pfc_args args = { 0 };
    pfc_res *res = NULL;
    pfc_tx *tx = NULL;
    pfc_err err = { 0 };
    pfc_line_commit line[64];
    size_t n;

    cr_assert(eq(int, pfc_tx_begin(&tx, db, PFC_TX_READ, &err), PFC_OK), "%s", err.msg);
    pfc_args_i64(&args, project);
    pfc_args_text(&args, "main");
    pfc_args_i64(&args, 0);
    pfc_args_i64(&args, PFC_ARRAY_LEN(line) + 1);
    cr_assert(eq(int, pfc_tx_query(tx, "branch_members", &args, &res, &err), PFC_OK), "%s",
              err.msg);
    n = pfc_res_rows(res);
    cr_assert(le(sz, n, PFC_ARRAY_LEN(line)));
    for (size_t i = 0; i < n; i++)
        line[i] = (pfc_line_commit){ .sha = pfc_res_text(res, i, 1),
                                     .parents = pfc_res_text(res, i, 2),
                                     .time = pfc_res_f64(res, i, 3) };
    pfc_line_positions(line, n); /* sorts the line */
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < n; k++)
            if (pfc_streq(pfc_res_text(res, k, 1), line[i].sha))
                cr_assert(eq(i64, pfc_res_i64(res, k, 4), line[i].position),
                          "step %u, commit %s of %zu", step, line[i].sha, n);
    pfc_res_free(res);
    pfc_tx_free(tx);
}

/* Its time: that of another commit, or a minute after all, or between any two. */
static void run_somewhen(pfc_db *db, int64_t p, unsigned n, unsigned *newest, pfc_rng *rng)
{
    pfc_run *run = fx_run(n);
    const unsigned ahead = (unsigned)pfc_rng_below(rng, 5);

    if (ahead == 1 || ahead == 2)
        run->started_at += 60.0 * ((double)(*newest + ahead - 1) - n);
    else if (ahead)
        run->started_at += 60.0 * ((double)pfc_rng_below(rng, *newest + 1) - n) + 30 * (ahead - 3);
    run->started_at -= 10;
    run->finished_at = run->started_at + 1;
    *newest += ahead == 2;
    fx_measure(run, "gemm", "time_ns", 100, 0.01, 6, 1, 1);
    fx_ingest(db, p, run);
}

/* Older and newer than all that is known, at the same time as the newest, parents of what is known.
 */
Test(commits, those_that_runs_bring_lie_where_the_graph_has_them)
{
    pfc_rng rng;

    pfc_rng_seed(&rng, 11);
    for (int round = 0; round < 4; round++) {
        pfc_db *db = pfc_test_db_open(2, NULL);
        int64_t p = fx_project(db);
        unsigned newest = 0;

        for (unsigned step = 0; step < 40; step++) {
            const unsigned n = 2 + (unsigned)pfc_rng_below(&rng, 40);

            /* one in four has its clock, or its parent, wrong */
            if (pfc_rng_below(&rng, 3) > 0)
                run_somewhen(db, p, n, &newest, &rng);
            else
                fx_commit(db, p, n, pfc_rng_below(&rng, 4) ? n - 1 : newest,
                          pfc_rng_below(&rng, 4) ? 0 : 1);
            newest = PFC_MAX(newest, n);
            expect_graph(db, p, step);
        }
        pfc_db_close(db);
    }
}

/* Commits 1 to `len` in one line, a minute each, by SQL. */
static void long_line(pfc_db *db, const char *url, int64_t p, unsigned len)
{
    char *sql;

    fx_commits(db, p, 1, 1);
    sql = pfc_format(
        "INSERT INTO commits (project_id, sha, parents, time) SELECT project_id,"
        " lpad(to_hex(n), 40, '0'), ARRAY[lpad(to_hex(n - 1), 40, '0')], time + (n - 1) *"
        " interval '1 minute' FROM commits, generate_series(2, %u) n WHERE project_id = %lld;"
        " INSERT INTO branch_commits (project_id, branch, commit_id, position) SELECT project_id,"
        " 'main', id, row_number() OVER (ORDER BY time) FROM commits WHERE project_id = %lld"
        " ON CONFLICT DO NOTHING; SELECT pg_stat_force_next_flush()", /* before the reset */
        len, (long long)p, (long long)p);
    pfc_test_sql(url, sql);
    pfc_test_sql(url, "ANALYZE commits, branch_commits");
    free(sql);
}

/* A merge, and a commit that a run has named, at the end of 20,000: their line is not read. */
Test(commits, new_ones_at_the_end_cost_by_what_is_new)
{
    static const char reads[] = "SELECT pg_stat_force_next_flush(); SELECT sum(idx_tup_fetch +"
                                " seq_tup_read) FROM pg_stat_user_tables"
                                " WHERE relname IN ('commits', 'branch_commits')";
    char *url = NULL, *read;
    pfc_db *db = pfc_test_db_open(1, &url);
    int64_t p = fx_project(db);
    pfc_run *run = fx_run(20003);

    long_line(db, url, p, 20000);
    fx_commit(db, p, 20001, 20000, 0); /* the counters of this session are flushed before */
    pfc_test_sql(url, "SELECT pg_stat_reset()");
    fx_commit(db, p, 20002, 20001, 77777);
    fx_measure(run, "gemm", "time_ns", 100, 0.01, 6, 1, 1);
    fx_ingest(db, p, run);
    fx_commit(db, p, 20003, 20002, 0);
    for (unsigned n = 20000; n <= 20003; n++)
        cr_assert(eq(i64, fx_position(db, p, n), n));
    pfc_db_close(db);
    read = pfc_test_sql_value(url, reads);
    cr_assert(lt(i64, strtoll(read, NULL, 10), 16000), "%s rows read", read);
    free(read);
    free(url);
}

/* Its chain, of unknown parents, would begin the line: the statement would time out. */
Test(commits, an_unknown_old_one_of_a_very_long_line_is_refused_with_the_reason)
{
    const unsigned len = (1 << 18) + 1;
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(1, &url);
    int64_t p = fx_project(db);
    pfc_run *old = fx_run(len + 2), *known = fx_run(1000), *fresh = fx_run(len + 1);
    pfc_ingest_result out;
    pfc_err err = { 0 };

    long_line(db, url, p, len);
    old->started_at = known->started_at;
    old->finished_at = known->finished_at;
    fx_measure(old, "gemm", "time_ns", 100, 0.01, 6, 1, 1);
    fx_measure(known, "gemm", "time_ns", 100, 0.01, 6, 1, 1);
    fx_measure(fresh, "gemm", "time_ns", 100, 0.01, 6, 1, 1);
    cr_assert(eq(int, pfc_run_ingest(db, "test", p, old, NULL, &out, &err), PFC_ECONFLICT));
    cr_assert(eq(str, err.field, "commit"));
    cr_assert(ne(ptr, strstr(err.msg, "is older than the newest of 262144 or more commits"), NULL),
              "%s", err.msg);
    fx_ingest(db, p, known);
    fx_ingest(db, p, fresh);
    cr_assert(eq(i64, fx_position(db, p, len + 1), len + 1));
    pfc_run_free(old);
    pfc_db_close(db);
    free(url);
}

Test(commits, lists_page_from_the_newest_and_end)
{
    pfc_db *db = pfc_test_db_open(2, NULL);
    int64_t p = fx_project(db);
    pfc_page page = { .limit = 4 };
    pfc_err err = { 0 };
    int64_t expected = 10;
    int pages = 0;

    fx_commits(db, p, 1, 10);
    do {
        pfc_commit_rows rows = { 0 };

        cr_assert(eq(int, pfc_commits_list(db, p, &all, page, &rows, &err), PFC_OK), "%s", err.msg);
        for (size_t i = 0; i < rows.len; i++)
            cr_assert(eq(i64, rows.items[i].position, expected--));
        page.cursor = rows.next;
        pages++;
        pfc_rows_clear(&rows);
    } while (page.cursor);
    cr_assert(eq(i64, expected, 0));
    cr_assert(eq(int, pages, 3));
    pfc_db_close(db);
}

/* Commits inserted at either end while the pages are read neither repeat a commit nor leave one
 * out. */
Test(commits, pages_go_on_where_they_were_while_commits_come_in)
{
    pfc_db *db = pfc_test_db_open(2, NULL);
    int64_t p = fx_project(db);
    pfc_page page = { .limit = 3 };
    pfc_err err = { 0 };
    unsigned expected = 10;

    fx_commits(db, p, 3, 10);
    do {
        pfc_commit_rows rows = { 0 };

        cr_assert(eq(int, pfc_commits_list(db, p, &all, page, &rows, &err), PFC_OK), "%s", err.msg);
        for (size_t i = 0; i < rows.len; i++)
            cr_assert(eq(str, (char *)(uintptr_t)rows.items[i].sha, (char *)fx_sha(expected--)));
        page.cursor = rows.next;
        pfc_rows_clear(&rows);
        if (expected == 7) {
            fx_commits(db, p, 1, 2); /* every position is another now */
            fx_commits(db, p, 11, 12);
            cr_assert(eq(i64, fx_position(db, p, 3), 3));
        }
    } while (page.cursor);
    cr_assert(eq(int, (int)expected, 0));
    pfc_db_close(db);
}

Test(commits, short_ids_must_be_unique_and_hexadecimal)
{
    pfc_db *db = pfc_test_db_open(2, NULL);
    int64_t p = fx_project(db);
    pfc_commit_rows rows = { 0 };
    pfc_err err = { 0 };

    fx_commits(db, p, 1, 3);
    cr_assert(eq(int, pfc_commits_get(db, p, "0000000", &rows, &err), PFC_EINVAL)); /* fits all */
    cr_assert(eq(int, pfc_commits_get(db, p, "1234567", &rows, &err), PFC_ENOTFOUND));
    cr_assert(eq(int, pfc_commits_get(db, p, "%%%%%%%", &rows, &err), PFC_EINVAL));
    pfc_db_close(db);
}

Test(commits, a_project_is_created_once)
{
    pfc_db *db = pfc_test_db_open(2, NULL);
    pfc_projects rows = { 0 };
    pfc_err err = { 0 };
    bool created = false;
    int64_t p = fx_project(db);

    cr_assert(
        eq(int, pfc_project_create(db, "test", "p", NULL, NULL, &created, &rows, &err), PFC_OK));
    cr_assert(not(created));
    cr_assert(eq(i64, rows.items[0].id, p));
    pfc_rows_clear(&rows);
    cr_assert(eq(int, pfc_project_create(db, "test", "p", "other", NULL, &created, &rows, &err),
                 PFC_ECONFLICT));
    cr_assert(eq(int, pfc_project_create(db, "test", "Bad Name", NULL, NULL, &created, &rows, &err),
                 PFC_EINVAL));
    pfc_db_close(db);
}

Test(commits, come_in_while_the_alerts_of_their_branch_are_grouped)
{
    pfc_db *db = pfc_test_db_open(2, NULL);
    int64_t p = fx_project(db);
    pfc_args args = { 0 };
    pfc_tx *tx = NULL;
    pfc_err err = { 0 };

    fx_commits(db, p, 1, 3);
    cr_assert(eq(int, pfc_tx_begin(&tx, db, PFC_TX_WRITE, &err), PFC_OK), "%s", err.msg);
    pfc_args_i64(&args, p);
    pfc_args_text(&args, "main");
    cr_assert(eq(int, pfc_tx_query(tx, "branch_lock", &args, NULL, &err), PFC_OK), "%s", err.msg);
    fx_commits(db, p, 4, 5);
    pfc_tx_free(tx);
    cr_assert(eq(i64, fx_position(db, p, 5), 5));
    pfc_db_close(db);
}

/* A search covers the whole history, not the newest page. */
Test(commits, words_are_searched_in_all_commits_a_page_at_a_time)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    int64_t p = fx_project(db);
    pfc_page page = { .limit = 2 };
    pfc_commit_rows rows = { 0 };
    pfc_err err = { 0 };

    fx_commits(db, p, 1, 30);
    pfc_test_sql(url, "UPDATE commits SET subject = 'Unroll the loop', author = 'Ann <a@b>'"
                      " WHERE right(sha, 2) IN ('01', '02', '03')");
    cr_assert(eq(int, pfc_commits_list(db, p, &unroll, page, &rows, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, rows.len, 2));
    cr_expect(eq(i64, rows.items[0].position, 3));
    cr_assert(ne(i64, rows.next, 0));
    page.cursor = rows.next;
    pfc_rows_clear(&rows);
    cr_assert(eq(int, pfc_commits_list(db, p, &unroll, page, &rows, &err), PFC_OK));
    cr_assert(eq(sz, rows.len, 1));
    cr_expect(eq(i64, rows.items[0].position, 1));
    cr_expect(eq(i64, rows.next, 0));
    pfc_rows_clear(&rows);
    page.cursor = 0;
    cr_assert(
        eq(int,
           pfc_commits_list(db, p, &(pfc_commit_filter){ .words = fx_sha(30) }, page, &rows, &err),
           PFC_OK));
    cr_assert(eq(sz, rows.len, 1));
    pfc_rows_clear(&rows);
    cr_assert(eq(
        int,
        pfc_commits_list(db, p, &(pfc_commit_filter){ .words = "unroll bob" }, page, &rows, &err),
        PFC_OK));
    cr_assert(eq(sz, rows.len, 0));
    pfc_rows_clear(&rows);
    free(url);
    pfc_db_close(db);
}

/* Their order is computed and stored by more than one statement each. */
Test(commits, those_with_tags_are_listed_alone_and_lose_a_tag_that_moves)
{
    char *url = NULL, *tags;
    pfc_db *db = pfc_test_db_open(2, &url);
    int64_t p = fx_project(db);
    pfc_page page = { .limit = 1 };
    pfc_commit_rows rows = { 0 };
    pfc_err err = { 0 };

    fx_commits(db, p, 1, 30);
    give_tags(db, p, 4, "v1.0", "latest");
    give_tags(db, p, 9, "nightly-9", NULL);
    give_tags(db, p, 20, "latest", NULL); /* moves */
    cr_assert(eq(int, pfc_commits_list(db, p, &tagged, page, &rows, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, rows.len, 1));
    cr_expect(eq(i64, rows.items[0].position, 20));
    page = (pfc_page){ .limit = 5, .cursor = rows.next };
    pfc_rows_clear(&rows);
    cr_assert(eq(int, pfc_commits_list(db, p, &tagged, page, &rows, &err), PFC_OK));
    cr_assert(eq(sz, rows.len, 2));
    cr_expect(eq(i64, rows.items[0].position, 9));
    cr_expect(eq(i64, rows.items[1].position, 4));
    cr_expect(eq(i64, rows.next, 0));
    pfc_rows_clear(&rows);
    tags = pfc_test_sql_value(url, "SELECT string_agg(right(sha, 2) || array_to_string(tags, '+'),"
                                   " ' ' ORDER BY id) FROM commits WHERE tags <> '{}'");
    cr_expect(eq(str, tags, (char *)"04v1.0 09nightly-9 14latest"));
    free(tags);
    free(url);
    pfc_db_close(db);
}

Test(commits, commits_before_a_long_history_move_all_of_it)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    int64_t p = fx_project(db);

    fx_commit(db, p, 5, 4, 0);
    pfc_test_sql(url, "INSERT INTO commits (project_id, sha, parents, time)"
                      " SELECT project_id, repeat('f', 32) || lpad(to_hex(n), 8, '0'),"
                      "  ARRAY[CASE WHEN n = 1 THEN sha ELSE repeat('f', 32) ||"
                      "  lpad(to_hex(n - 1), 8, '0') END], time + n * interval '1 second'"
                      " FROM commits, generate_series(1, 101000) AS n ORDER BY n % 7, n;"
                      "INSERT INTO branch_commits SELECT c.project_id, b.branch, c.id,"
                      "  row_number() OVER (ORDER BY c.time) + 1"
                      " FROM commits c, branch_commits b WHERE c.id <> b.commit_id;"
                      "ANALYZE commits; ANALYZE branch_commits");
    fx_commits(db, p, 1, 4);
    char *wrong = pfc_test_sql_value(
        url, "SELECT count(*) || ' of ' || max(position) FROM (SELECT b.position, row_number()"
             " OVER (ORDER BY c.time) AS due FROM branch_commits b JOIN commits c"
             " ON c.id = b.commit_id) AS x WHERE position IS DISTINCT FROM due"
             " OR position = 101005");
    cr_assert(eq(str, wrong, (char *)"1 of 101005"));
    free(wrong);
    free(url);
    pfc_db_close(db);
}
