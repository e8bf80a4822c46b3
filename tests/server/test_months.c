/* Partitions of measurements: created in advance, and repaired when they were not. */
#include <pthread.h>

#include "server/services/ingest/ingest.h"

#include "tests/check/check.h"
#include "tests/server/fixture.h"

#define SERVERS 4

static void expect(const char *url, const char *sql, const char *want)
{
    char *got = pfc_test_sql_value(url, sql);

    cr_assert(eq(str, got, (char *)(uintptr_t)want), "%s", sql);
    free(got);
}

static int64_t create(pfc_db *db, int ahead)
{
    int64_t moved = -1;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_partitions_create(db, "month", ahead, &moved, &err), PFC_OK), "%s",
              err.msg);
    return moved;
}

#define DROP_MONTHS                                                                                \
    "DO $$ DECLARE t text; BEGIN FOR t IN SELECT inhrelid::regclass::text FROM pg_inherits WHERE " \
    "inhparent = 'measurements'::regclass AND inhrelid <> 'measurements_default'::regclass LOOP "  \
    "EXECUTE 'DROP TABLE ' || t; END LOOP; END $$"
#define MISPLACED                                                                                  \
    "SELECT count(*) FROM measurements WHERE tableoid <> coalesce(to_regclass('measurements_' || " \
    "to_char(stored_at AT TIME ZONE 'UTC', 'YYYYMM')), 0)"

Test(months, rows_without_a_partition_are_moved_into_their_months)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    int64_t p = fx_project(db);

    fx_commits(db, p, 1, 6);
    pfc_test_sql(url, DROP_MONTHS);
    for (unsigned n = 1; n <= 6; n++) {
        pfc_run *run = fx_run(n);

        fx_measure(run, "gemm/a", "time_ns", 100, 0.01, 9, 3, n);
        fx_ingest(db, p, run);
    }
    /* a leap day, both sides of a year's end in UTC, and this month, which has no partition either
     */
    pfc_test_sql(url,
                 "UPDATE measurements SET stored_at = (ARRAY['2024-02-29 23:59:59.999999Z',"
                 " '2024-12-31 23:59:59.999999Z', '2025-01-01 00:00Z', now()::text, now()::text,"
                 " now()::text])[run_id]::timestamptz");
    char *before =
        pfc_test_sql_value(url, "SELECT string_agg(to_jsonb(m)::text, '' ORDER BY run_id)"
                                " FROM measurements m");
    expect(url, "SELECT count(*) FROM measurements_default", "6");
    cr_assert(eq(i64, create(db, 2), 6));
    expect(url, "SELECT count(*) FROM measurements_default", "0");
    expect(url, MISPLACED, "0");
    expect(url, "SELECT string_agg(to_jsonb(m)::text, '' ORDER BY run_id) FROM measurements m",
           before);
    expect(url,
           "SELECT count(*) FROM generate_series(0, 2) AS g WHERE to_regclass('measurements_' ||"
           " to_char(date_trunc('month', now(), 'UTC') + make_interval(months => g), 'YYYYMM'))"
           " IS NULL",
           "0");
    cr_assert(eq(i64, create(db, 2), 0), "done once");
    /* they have the key's and the other indexes, and what comes now lies in its month */
    expect(url,
           "SELECT count(DISTINCT n) FROM (SELECT count(*) AS n FROM pg_index i JOIN pg_inherits h"
           " ON h.inhrelid = i.indrelid WHERE h.inhparent = 'measurements'::regclass"
           " GROUP BY i.indrelid) AS q",
           "1");
    pfc_run *run = fx_run(6);
    fx_measure(run, "gemm/a", "time_ns", 100, 0.01, 9, 3, 7);
    fx_ingest(db, p, run);
    expect(url, "SELECT count(*) FROM measurements_default", "0");
    free(before);
    pfc_db_close(db);
    free(url);
}

Test(months, begin_and_end_in_utc_wherever_the_database_is)
{
    char *url = pfc_test_db_url(false);

    pfc_test_sql(url,
                 "SET timezone = 'Pacific/Kiritimati'; SELECT measurements_month('2023-12-01');"
                 " SELECT measurements_month('2024-02-01')");
    expect(
        url,
        "SET timezone = 'UTC'; SELECT string_agg(pg_get_expr(relpartbound, oid), ' ' ORDER BY"
        " relname) FROM pg_class WHERE relname IN ('measurements_202312', 'measurements_202402')",
        "FOR VALUES FROM ('2023-12-01 00:00:00+00') TO ('2024-01-01 00:00:00+00')"
        " FOR VALUES FROM ('2024-02-01 00:00:00+00') TO ('2024-03-01 00:00:00+00')");
    expect(url, "SELECT measurements_month('2024-02-01') IS NULL", "t");
    free(url);
}

static void *create_in_thread(void *db)
{
    int64_t moved;
    pfc_err err = { 0 };

    return pfc_partitions_create(db, "month", 24, &moved, &err) ? pfc_strdup(err.msg) : NULL;
}

Test(months, several_servers_make_them_at_once)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(SERVERS, &url);
    pthread_t threads[SERVERS];

    for (size_t i = 0; i < SERVERS; i++)
        cr_assert(eq(int, pthread_create(&threads[i], NULL, create_in_thread, db), 0));
    for (size_t i = 0; i < SERVERS; i++) {
        void *why;

        cr_assert(eq(int, pthread_join(threads[i], &why), 0));
        cr_assert(eq(ptr, why, NULL), "%s", (char *)why);
    }
    expect(url,
           "SELECT count(*) FROM pg_inherits WHERE inhparent = 'measurements'::regclass AND"
           " inhrelid <> 'measurements_default'::regclass",
           "25");
    pfc_db_close(db);
    free(url);
}

Test(months, a_reader_delays_them_and_nothing_is_half_done)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    int64_t moved;
    pfc_tx *tx = NULL;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_tx_begin(&tx, db, PFC_TX_SNAPSHOT, &err), PFC_OK));
    cr_assert(eq(int, pfc_tx_query(tx, "store_checks", NULL, NULL, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_partitions_create(db, "month", 3, &moved, &err), PFC_EUNAVAIL), "%s",
              err.msg);
    expect(url, "SELECT count(*) FROM pg_inherits WHERE inhparent = 'measurements'::regclass", "4");
    pfc_tx_free(tx);
    (void)create(db, 3);
    expect(url, "SELECT count(*) FROM pg_inherits WHERE inhparent = 'measurements'::regclass", "5");
    pfc_db_close(db);
    free(url);
}
