/* Migrations and named statements, on real PostgreSQL. */
#include <malloc.h>

#include "core/base/fs.h"
#include "core/base/process/pgbin.h"
#include "server/repo/connection/db.h"

#include "schema/schema.h"
#include "tests/check/check.h"
#include "tests/support/cluster_hooks.h"
#include "tests/support/prepared.h"

static pfc_db *open_pool(const char *url, unsigned connections)
{
    const pfc_db_opts opts = { .url = url, .connections = connections, .statement_ms = 120000 };
    pfc_err err = { 0 };
    pfc_db *db = NULL;

    cr_assert(eq(int, pfc_db_open(&db, &opts, &err), PFC_OK), "%s", err.msg);
    return db;
}

Test(schema, migrations_apply_to_an_empty_database_and_again_change_nothing)
{
    char *url = pfc_test_db_url(true);
    pfc_db *db = open_pool(url, 1);
    pfc_err err = { 0 };
    int version = -1;

    cr_assert(eq(int, pfc_db_version(db, &version, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, version, 0));
    cr_assert(eq(int, pfc_db_migrate(db, &version, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, version, pfc_schema_newest()));
    cr_assert(eq(int, pfc_db_migrate(db, &version, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, version, pfc_schema_newest()));

    char *rows = pfc_test_sql_value(url, "SELECT count(*) FROM schema_migrations");
    char *want = pfc_format("%zu", pfc_migrations_len);
    cr_assert(eq(str, rows, want));
    free(rows);
    free(want);
    pfc_db_close(db);
    free(url);
}

Test(schema, a_prepared_cluster_is_taken_for_its_schema_and_its_version_of_postgresql_alone)
{
    const char *tests = getenv("PERFCI_TEST_DIR");
    char *folder = NULL, *copy, *stamp, *log;
    pfc_pg pg = { 0 };
    pfc_err err = { 0 };

    cr_assert(ne(ptr, (void *)tests, NULL), "run this through ctest");
    cr_assert(eq(int, pfc_pg_find(0, &pg, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_fs_temp_dir("pfc-prepared", &folder, &err), PFC_OK), "%s", err.msg);
    copy = pfc_fs_join(folder, "data");
    cr_expect(not(pfc_prepared_copy(pg.major + 1, copy)));
    cr_expect(not(pfc_fs_exists(copy)));
    (void)setenv("PERFCI_TEST_CLUSTER", "own", 1);
    cr_expect(not(pfc_prepared_copy(pg.major, copy)));
    (void)unsetenv("PERFCI_TEST_CLUSTER");
    cr_assert(pfc_prepared_copy(pg.major, copy));
    log = pfc_fs_join(copy, "PG_VERSION");
    cr_expect(pfc_fs_exists(log));
    /* A folder that another schema left: newer than any program, so that it is not made again. */
    (void)setenv("PERFCI_TEST_DIR", folder, 1);
    stamp = pfc_format("%s/prepared", folder);
    cr_assert(eq(int, pfc_prepared_keep(copy, stamp, &err), PFC_OK), "%s", err.msg);
    free(log);
    log = pfc_fs_join(folder, "again");
    cr_expect(pfc_prepared_copy(pg.major, log));
    free(stamp);
    stamp = pfc_format("%s/prepared/schema", folder);
    cr_assert(eq(int, pfc_fs_write_atomic(stamp, "another", 7, 0644, &err), PFC_OK), "%s", err.msg);
    cr_expect(eq(int, pfc_fs_remove_tree(log, NULL), PFC_OK));
    cr_expect(not(pfc_prepared_copy(pg.major, log)));
    cr_expect(eq(int, pfc_fs_remove_tree(folder, NULL), PFC_OK));
    free(log);
    free(stamp);
    free(copy);
    free(folder);
}

Test(schema, a_newer_database_is_refused_with_a_sentence)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(1, &url);
    pfc_err err = { 0 };

    pfc_test_sql(url, "INSERT INTO schema_migrations VALUES (9999, 'from_the_future')");
    cr_assert(eq(int, pfc_db_migrate(db, NULL, &err), PFC_ECONFLICT));
    cr_assert(ne(ptr, strstr(err.msg, "9999"), NULL), "%s", err.msg);
    pfc_db_close(db);
    free(url);
}

Test(schema, every_named_statement_fits_the_schema)
{
    pfc_db *db = pfc_test_db_open(1, NULL);
    pfc_tx *tx = NULL;
    pfc_err err = { 0 };
    size_t n = 0;

    cr_assert(eq(int, pfc_tx_begin(&tx, db, PFC_TX_AUTO, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_tx_prepare_all(tx, &n, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, n, pfc_statements_len));
    cr_assert(gt(sz, n, 50));
    pfc_tx_free(tx);
    pfc_db_close(db);
}

Test(schema, statements_are_sorted_for_the_search)
{
    for (size_t i = 1; i < pfc_statements_len; i++)
        cr_assert(lt(int, strcmp(pfc_statements[i - 1].name, pfc_statements[i].name), 0));
}

Test(schema, an_unknown_statement_is_our_fault)
{
    pfc_db *db = pfc_test_db_open(1, NULL);
    pfc_tx *tx = NULL;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_tx_begin(&tx, db, PFC_TX_WRITE, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_tx_query(tx, "no_such_statement", NULL, NULL, &err), PFC_EBUG));
    pfc_tx_free(tx);
    pfc_db_close(db);
}

Test(schema, a_value_that_the_database_refuses_is_the_callers_fault)
{
    pfc_db *db = pfc_test_db_open(1, NULL);
    pfc_tx *tx = NULL;
    pfc_args args = { 0 };
    pfc_res *res = NULL;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_tx_begin(&tx, db, PFC_TX_WRITE, &err), PFC_OK), "%s", err.msg);
    pfc_args_text(&args, "not a slug");
    pfc_args_text(&args, "main");
    pfc_args_text(&args, NULL);
    cr_assert(eq(int, pfc_tx_query(tx, "project_insert", &args, &res, &err), PFC_EINVAL));
    pfc_tx_free(tx);
    pfc_db_close(db);
}

/* The plan of a statement as JSON; a small table is no reason to read all of it here. */
static char *plan_of(const char *url, const char *name, const char *arguments)
{
    const char *text = NULL;

    for (size_t i = 0; i < pfc_statements_len; i++)
        if (strcmp(pfc_statements[i].name, name) == 0)
            text = pfc_statements[i].sql;
    cr_assert(ne(ptr, (void *)(uintptr_t)text, NULL), "%s", name);
    char *sql = pfc_format("SET enable_seqscan = off; SET plan_cache_mode = force_custom_plan;"
                           " PREPARE q AS %s; EXPLAIN (FORMAT JSON) EXECUTE q (%s)",
                           text, arguments);
    char *plan = pfc_test_sql_value(url, sql);
    free(sql);
    return plan;
}

Test(schema, pages_are_read_through_their_indexes)
{
    static const struct {
        const char *name, *arguments, *index;
    } pages[] = {
        { "window_chunks", "1, 1, 'main'", "series_chunks_pkey" },
        { "window_rest", "1, 1, 'main', now()", "run_parts_by_time" },
        { "window_runs", "1, '{1,2}'", "runs_" },
        { "compare_side", "1, 1, NULL, NULL, NULL",
          "measurements_default_project_id_commit_id_run_id_idx" },
        { "run_measurements", "1, 1", "measurements_default_project_id_commit_id_run_id_idx" },
        { "compare_side", "1, 1, NULL, NULL, NULL", "runs_by_commit" },
        { "runs_get", "NULL, 1, NULL", "runs_pkey" },
        { "runs_get", "NULL, NULL, 'a'", "runs_project_id_run_id_key" },
        { "alerts_list", "NULL, NULL, NULL, NULL, NULL, 100, NULL, NULL, NULL, NULL, NULL, NULL",
          "alerts_by_id" },
    };
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(1, &url);

    /* Empty, every index is as good as any other. */
    pfc_test_sql(
        url,
        "INSERT INTO projects (name) VALUES ('p');"
        "INSERT INTO machines (class, name, fingerprint_hash, fingerprint) VALUES ('c', 'm', 'f', "
        "'{}');"
        "INSERT INTO commits (project_id, sha, time) SELECT 1, lpad(to_hex(g), 40, '0'), now()"
        " FROM generate_series(1, 20) AS g;"
        "INSERT INTO runs (project_id, run_id, header_hash, commit_id, branch, suite, suite_hash,"
        " machine_id, infra, started_at, finished_at)"
        " SELECT 1, md5(g::text), '', 1 + g % 20, 'main', '', '', 1, false, now(), now()"
        " FROM generate_series(1, 2000) AS g;"
        "INSERT INTO benchmarks (project_id, name) SELECT 1, 'b' || g FROM generate_series(1, 50) "
        "g;"
        "INSERT INTO series (project_id, benchmark_id, metric, backend, machine_class, branch,"
        " unit, higher_is_better, exact, headline)"
        " SELECT 1, id, 'm', 'cpu', 'c', 'main', 'ns', false, false, false FROM benchmarks;"
        "INSERT INTO measurements (project_id, series_id, run_id, commit_id, stored_at, n, median,"
        " low, high, min, samples, blocks)"
        " SELECT 1, 1 + g % 50, g / 50, g / 50, '2000-01-01', 1, 1, 1, 1, 1, '{1}', '{1}'"
        " FROM generate_series(1, 20000) AS g; ANALYZE");
    for (size_t i = 0; i < PFC_ARRAY_LEN(pages); i++) {
        char *plan = plan_of(url, pages[i].name, pages[i].arguments);

        cr_assert(ne(ptr, strstr(plan, pages[i].index), NULL), "%s: no %s in %s", pages[i].name,
                  pages[i].index, plan);
        free(plan);
    }
    pfc_db_close(db);
    free(url);
}

static pfc_code make_project(pfc_db *db, const char *name, pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    pfc_args_text(&args, name);
    pfc_args_text(&args, "main");
    pfc_args_text(&args, NULL);
    if (!code)
        code = pfc_tx_query(tx, "project_insert", &args, NULL, err);
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_tx_free(tx);
    return code;
}

/* As that of a primary that was demoted: the next connection may lead to one that takes writes. */
Test(schema, a_connection_that_takes_no_writes_is_given_up)
{
#define READ_ONLY(word)                                                                            \
    "BEGIN; SET TRANSACTION READ WRITE; DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET "        \
    "default_transaction_read_only = " word "', current_database()); END $$; COMMIT"
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(1, &url);
    pfc_err err = { 0 };

    pfc_test_sql(url, READ_ONLY("on"));
    cr_assert(eq(int, make_project(db, "a", &err), PFC_EUNAVAIL));
    pfc_test_sql(url, READ_ONLY("off"));
    cr_assert(eq(int, make_project(db, "a", &err), PFC_OK), "%s", err.msg);
    pfc_db_close(db);
    free(url);
}

Test(schema, a_connection_that_is_lost_before_the_first_statement_is_said_to_be)
{
    pfc_db *db = pfc_test_db_open(1, NULL);
    pfc_args args = { 0 };
    pfc_tx *tx = NULL;
    pfc_err err = { 0 };

    cr_assert(eq(int, make_project(db, "a", &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_tx_begin(&tx, db, PFC_TX_WRITE, &err), PFC_OK), "%s", err.msg);
    pfc_db_abort(db);
    pfc_args_i64(&args, 1);
    cr_assert(eq(int, pfc_tx_query(tx, "history_lock", &args, NULL, &err), PFC_EUNAVAIL));
    cr_assert(ne(ptr, strstr(err.msg, "connection"), NULL), "%s", err.msg);
    pfc_tx_free(tx);
    pfc_db_close(db);
}

/* libpq keeps for good what a large message once needed. */
Test(schema, a_large_document_leaves_no_large_buffer_on_its_connection)
{
    enum { SAMPLES = 1 << 20 };
    pfc_db *db = pfc_test_db_open(1, NULL);
    double *samples = pfc_calloc(SAMPLES, sizeof(*samples));
    struct mallinfo2 before, after;
    pfc_tx *tx = NULL;
    pfc_copy rows;
    pfc_err err = { 0 };

    cr_assert(eq(int, make_project(db, "a", &err), PFC_OK), "%s", err.msg);
    before = mallinfo2();
    cr_assert(eq(int, pfc_tx_begin(&tx, db, PFC_TX_WRITE, &err), PFC_OK), "%s", err.msg);
    pfc_copy_begin(&rows);
    pfc_copy_row(&rows, 16);
    for (int i = 0; i < 4; i++)
        pfc_copy_i64(&rows, 1);
    pfc_copy_i32(&rows, SAMPLES);
    for (int i = 0; i < 4; i++)
        pfc_copy_f64(&rows, 0);
    pfc_copy_f64s(&rows, samples, SAMPLES);
    pfc_copy_u32s(&rows, &(uint32_t){ SAMPLES }, 1);
    pfc_copy_json(&rows, "{}");
    for (int i = 0; i < 4; i++)
        pfc_copy_null(&rows);
    pfc_copy_end(&rows);
    cr_assert(eq(int, pfc_tx_copy(tx, "measurements_copy", &rows, &err), PFC_OK), "%s", err.msg);
    pfc_tx_free(tx); /* rolled back */
    after = mallinfo2();
    cr_assert(lt(sz, after.uordblks + after.hblkhd, before.uordblks + before.hblkhd + SAMPLES * 4),
              "12 MiB went over it");
    free(samples);
    pfc_db_close(db);
}
