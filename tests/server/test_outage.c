/* The database goes away and comes back. Stops its cluster, so every test has one of its own. */

#include "core/base/clock.h"
#include "server/services/ingest/ingest.h"
#include "server/workers/workers.h"

#include "tests/check/check.h"
#include "tests/server/fixture.h"

static pfc_cluster *cluster;
static char *url;
static pfc_db *db;

static void begin(void)
{
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_cluster_start(&cluster, &err), PFC_OK), "%s", err.msg);
    url = pfc_cluster_url(cluster, "postgres");
    const pfc_db_opts opts = {
        .url = url, .connections = 3, .statement_ms = 120000, .wait_ms = 120000
    };
    cr_assert(eq(int, pfc_db_open(&db, &opts, &err), PFC_OK));
    cr_assert(eq(int, pfc_db_migrate(db, NULL, &err), PFC_OK), "%s", err.msg);
}

static void end(void)
{
    pfc_db_close(db);
    pfc_cluster_free(cluster);
    free(url);
}

TestSuite(outage, .init = begin, .fini = end);

Test(outage, calls_say_unavailable_while_it_lasts_and_work_again_after)
{
    int64_t p = fx_project(db);
    pfc_run *run = fx_run(1);
    pfc_ingest_result result = { 0 };
    pfc_err err = { 0 };

    fx_measure(run, "gemm/a", "time_ns", 100, 0.01, 6, 1, 1);
    for (int fast = 0; fast < 2; fast++) {
        cr_assert(eq(int, pfc_cluster_halt(cluster, fast, &err), PFC_OK), "%s", err.msg);
        cr_assert(eq(int, pfc_db_ping(db, &err), PFC_EUNAVAIL));
        cr_assert(ne(int, err.msg[0], 0));
        cr_assert(eq(int, pfc_run_ingest(db, "test", p, run, NULL, &result, &err), PFC_EUNAVAIL));
        cr_assert(eq(int, pfc_cluster_resume(cluster, &err), PFC_OK), "%s", err.msg);
        /* every pooled connection is dead now; none of that reaches the caller */
        for (int i = 0; i < 6; i++)
            cr_assert(eq(int, pfc_db_ping(db, &err), PFC_OK), "%s", err.msg);
        cr_assert(eq(int, pfc_run_ingest(db, "test", p, run, NULL, &result, &err), PFC_OK), "%s",
                  err.msg);
        cr_assert(eq(int, result.repeated, fast == 1));
    }
    pfc_run_free(run);
}

Test(outage, a_transaction_cut_in_the_middle_leaves_nothing)
{
    pfc_tx *tx = NULL;
    pfc_args args = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_tx_begin(&tx, db, PFC_TX_WRITE, &err), PFC_OK), "%s", err.msg);
    pfc_args_text(&args, "half");
    pfc_args_text(&args, NULL);
    pfc_args_text(&args, NULL);
    cr_assert(eq(int, pfc_tx_query(tx, "project_insert", &args, NULL, &err), PFC_OK));
    cr_assert(eq(int, pfc_cluster_halt(cluster, false, &err), PFC_OK));
    cr_assert(eq(int, pfc_tx_commit(tx, &err), PFC_EUNAVAIL));
    pfc_tx_free(tx);
    cr_assert(eq(int, pfc_cluster_resume(cluster, &err), PFC_OK), "%s", err.msg);
    char *n = pfc_test_sql_value(url, "SELECT count(*) FROM projects");
    cr_assert(eq(str, n, "0"));
    free(n);
}

/* A failed attempt to connect, of a worker here, answers for all callers for a moment. */
static void await_database(void)
{
    const int64_t until = pfc_clock_ns() + 240 * PFC_NS_PER_S;
    pfc_err err = { 0 };

    while (pfc_db_ping(db, &err) != PFC_OK) {
        cr_assert(lt(i64, pfc_clock_ns(), until), "%s", err.msg);
        pfc_clock_sleep_ns(20 * PFC_NS_PER_MS);
    }
}

Test(outage, workers_outlive_it)
{
    const pfc_workers_opts opts = { .db = db, .url = url, .idle_ms = 100 };
    int64_t p = fx_project(db), until;
    pfc_workers *workers = NULL;
    pfc_run *run = fx_run(1);
    pfc_err err = { 0 };
    bool done = false;

    cr_assert(eq(int, pfc_workers_start(&workers, &opts, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_cluster_halt(cluster, true, &err), PFC_OK));
    cr_assert(eq(int, pfc_cluster_resume(cluster, &err), PFC_OK), "%s", err.msg);
    await_database();
    fx_measure(run, "gemm/a", "time_ns", 100, 0.01, 6, 1, 1);
    fx_ingest(db, p, run);
    until = pfc_clock_ns() + 240 * PFC_NS_PER_S;
    while (!done && pfc_clock_ns() < until) {
        char *open = pfc_test_sql_value(url, "SELECT count(*) FROM jobs WHERE state <> 'done'");

        done = strcmp(open, "0") == 0;
        free(open);
        if (!done)
            pfc_clock_sleep_ns(20 * PFC_NS_PER_MS);
    }
    cr_assert(done);
    /* and stop while it is away */
    cr_assert(eq(int, pfc_cluster_halt(cluster, true, &err), PFC_OK));
    pfc_workers_stop(workers);
}

static char *newest_backend(void)
{
    return pfc_test_sql_value(url,
                              "SELECT pid FROM pg_stat_activity WHERE application_name = 'perfci'"
                              " ORDER BY backend_start DESC LIMIT 1");
}

/* The plan that was too slow may be one made for tables that were empty: the next try must not have
 * it. */
Test(outage, a_statement_that_ran_out_of_time_is_planned_again)
{
    const struct {
        const char *state;
        pfc_code code;
        bool kept;
    } cases[] = { { "22012", PFC_EINVAL, true }, { "57014", PFC_ETIMEOUT, false } };
    const pfc_db_opts opts = {
        .url = url, .connections = 1, .statement_ms = 120000, .wait_ms = 120000
    };
    pfc_db *one = NULL;
    pfc_err err = { 0 };

    pfc_db_close(db);
    db = NULL;
    cr_assert(eq(int, pfc_db_open(&one, &opts, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_db_ping(one, &err), PFC_OK), "%s", err.msg);
    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        char *sql =
            pfc_format("CREATE OR REPLACE FUNCTION fails() RETURNS trigger LANGUAGE plpgsql AS $$"
                       " BEGIN RAISE EXCEPTION USING ERRCODE = '%s'; END $$;"
                       " CREATE OR REPLACE TRIGGER fails BEFORE INSERT ON projects"
                       " EXECUTE FUNCTION fails()",
                       cases[i].state);
        char *before = newest_backend(), *after;
        pfc_tx *tx = NULL;
        pfc_args args = { 0 };

        pfc_test_sql(url, sql);
        cr_assert(eq(int, pfc_tx_begin(&tx, one, PFC_TX_WRITE, &err), PFC_OK), "%s", err.msg);
        pfc_args_text(&args, "late");
        pfc_args_text(&args, NULL);
        pfc_args_text(&args, NULL);
        cr_assert(eq(int, pfc_tx_query(tx, "project_insert", &args, NULL, &err), cases[i].code),
                  "%s", err.msg);
        pfc_tx_free(tx);
        cr_assert(eq(int, pfc_db_ping(one, &err), PFC_OK), "%s", err.msg);
        after = newest_backend();
        cr_assert(eq(int, strcmp(before, after) == 0, cases[i].kept), "%s: %s, then %s",
                  cases[i].state, before, after);
        free(sql);
        free(before);
        free(after);
    }
    pfc_db_close(one);
}
