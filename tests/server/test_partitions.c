/* Partitions of a month, a week and a day beside each other: bounds, rows, retention. */
#include <pthread.h>
#include <stdatomic.h>

#include "core/base/clock.h"
#include "server/services/history/history.h"
#include "server/services/ingest/ingest.h"
#include "server/workers/upkeep.h"

#include "tests/check/check.h"
#include "tests/server/fixture.h"

#define RUNS 200

static void expect(const char *url, const char *sql, const char *want)
{
    char *got = pfc_test_sql_value(url, sql);

    cr_assert(eq(str, got, (char *)(uintptr_t)want), "%s", sql);
    free(got);
}

static int64_t create(pfc_db *db, const char *width, int ahead)
{
    int64_t moved = -1;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_partitions_create(db, width, ahead, &moved, &err), PFC_OK), "%s",
              err.msg);
    return moved;
}

static void expect_sound(pfc_db *db)
{
    pfc_res *res = NULL;
    pfc_tx *tx = NULL;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_tx_begin(&tx, db, PFC_TX_AUTO, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_tx_query(tx, "store_checks", NULL, &res, &err), PFC_OK), "%s", err.msg);
    cr_assert(ge(sz, pfc_res_rows(res), 10));
    for (size_t i = 0; i < pfc_res_rows(res); i++)
        cr_assert(eq(i64, pfc_res_i64(res, i, 1), 0), "%s", pfc_res_text(res, i, 0));
    pfc_res_free(res);
    pfc_tx_free(tx);
}

#define DROP_PARTITIONS                                                                            \
    "DO $$ DECLARE t text; BEGIN FOR t IN SELECT name FROM measurements_partitions LOOP "          \
    "EXECUTE 'DROP TABLE ' || t; END LOOP; END $$"
/* Rows whose partition's bounds, as PostgreSQL has them, do not hold their time. */
#define MISPLACED                                                                                  \
    "SELECT count(*) FROM measurements m LEFT JOIN measurements_partitions p ON p.name = "         \
    "m.tableoid::regclass::text AND m.stored_at AT TIME ZONE 'UTC' >= p.since AND m.stored_at AT " \
    "TIME ZONE 'UTC' < p.until WHERE p.name IS NULL"
#define PRESENT "date_trunc('month', now() AT TIME ZONE 'UTC')"

/* Partitions are noted, and must be there unchanged at the end. */
static void note(const char *url)
{
    pfc_test_sql(url, "SET client_min_messages = error; CREATE TABLE IF NOT EXISTS noted (name "
                      "text, id oid, since timestamp, until "
                      "timestamp);"
                      "INSERT INTO noted SELECT name, to_regclass(name), since, until FROM"
                      " measurements_partitions");
}

static void expect_noted(const char *url)
{
    expect(url,
           "SELECT count(*) FROM noted n WHERE NOT EXISTS (SELECT 1 FROM measurements_partitions p"
           " WHERE p.name = n.name AND to_regclass(p.name) = n.id AND p.since = n.since AND p.until"
           " = n.until)",
           "0");
}

Test(partitions, a_new_width_begins_where_the_last_partition_ends)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);

    pfc_test_sql(url, DROP_PARTITIONS);
    (void)create(db, "month", 1);
    note(url);
    (void)create(db, "week", 14);
    note(url);
    (void)create(db, "day", 14 * 7 + 20);
    note(url);
    (void)create(db, "month", 8);
    expect_noted(url);
    expect(url,
           "SELECT count(*) FROM (SELECT until, lead(since) OVER (ORDER BY since) AS next FROM"
           " measurements_partitions) q WHERE next <> until",
           "0");
    expect(url,
           "SELECT min(since) = " PRESENT " AND max(until) = " PRESENT " + interval '9 months' FROM"
           " measurements_partitions",
           "t");
    expect(url,
           "SELECT concat_ws(' ', count(*) FILTER (WHERE w > 7) >= 4, count(*) FILTER (WHERE w = 7)"
           " >= 4, count(*) FILTER (WHERE w = 1) BETWEEN 13 AND 22) FROM (SELECT extract(day FROM"
           " until - since) AS w FROM measurements_partitions) q",
           "t t t");
    expect(url,
           "SELECT count(*) FROM measurements_partitions WHERE until - since = interval '7 days'"
           " AND extract(isodow FROM since) <> 1",
           "0");
    expect(url,
           "SELECT count(DISTINCT n) FROM (SELECT count(*) AS n FROM pg_index i JOIN pg_inherits h"
           " ON h.inhrelid = i.indrelid WHERE h.inhparent = 'measurements'::regclass"
           " GROUP BY i.indrelid) AS q",
           "1");
    cr_assert(eq(i64, create(db, "day", 30), 0), "nothing lies between two partitions");
    expect_noted(url);
    pfc_db_close(db);
    free(url);
}

/* Each first and last microsecond, also where the session has another time zone. */
Test(partitions, rows_at_the_borders_are_in_the_partition_of_their_time)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    int64_t p = fx_project(db);
    pfc_run *run = fx_run(1);

    fx_commits(db, p, 1, 1);
    fx_measure(run, "gemm/a", "time_ns", 100, 0.01, 9, 3, 1);
    fx_ingest(db, p, run);
    pfc_test_sql(url, DROP_PARTITIONS);
    (void)create(db, "month", 0);
    (void)create(db, "week", 8);
    (void)create(db, "day", 8 * 7 + 9);
    pfc_test_sql(
        url,
        "SET timezone = 'Pacific/Chatham';"
        "INSERT INTO measurements (project_id, series_id, run_id, commit_id, stored_at, n,"
        " median, low, high, min, samples, blocks) SELECT 1, 1, 1000 + row_number() OVER (), 1,"
        " t, 1, 1, 1, 1, 1, '{1}', '{1}' FROM measurements_partitions p CROSS JOIN LATERAL"
        " (VALUES (p.since AT TIME ZONE 'UTC'), (p.until AT TIME ZONE 'UTC' - interval '1"
        " microsecond')) AS v (t)");
    expect(url, MISPLACED, "0");
    expect(url, "SET timezone = 'Pacific/Kiritimati'; " MISPLACED, "0");
    expect(url,
           "SELECT count(*) FROM measurements_partitions q WHERE 2 <> (SELECT count(*) FROM"
           " measurements m WHERE m.tableoid = to_regclass(q.name) AND m.run_id > 1000)",
           "0");
    expect(url, "SELECT count(*) FROM measurements_default", "0");
    pfc_db_close(db);
    free(url);
}

/* Rows without a partition are moved into those of the width, and into nothing else. */
Test(partitions, rows_without_a_partition_get_weeks_and_days)
{
    char *url = NULL, *before;
    pfc_db *db = pfc_test_db_open(2, &url);
    int64_t p = fx_project(db);

    fx_commits(db, p, 1, 6);
    pfc_test_sql(url, DROP_PARTITIONS);
    for (unsigned n = 1; n <= 6; n++) {
        pfc_run *run = fx_run(n);

        fx_measure(run, "gemm/a", "time_ns", 100, 0.01, 9, 3, n);
        fx_ingest(db, p, run);
    }
    pfc_test_sql(url, "SELECT measurements_partition('2024-03-01', '2024-04-01');"
                      "UPDATE measurements SET stored_at = (ARRAY['2024-02-29 23:59:59.999999Z',"
                      " '2024-03-01 00:00Z', '2024-12-31 23:59:59.999999Z', '2025-01-01 00:00Z',"
                      " '2025-01-06 00:00Z', now()::text])[run_id]::timestamptz");
    before = pfc_test_sql_value(url, "SELECT string_agg(to_jsonb(m)::text, '' ORDER BY run_id)"
                                     " FROM measurements m");
    cr_assert(eq(i64, create(db, "week", 1), 5));
    expect(url,
           "SELECT string_agg(m.tableoid::regclass::text, ' ' ORDER BY run_id) FROM measurements m"
           " WHERE stored_at < '2026-01-01'",
           "measurements_20240226_20240301 measurements_202403 measurements_20241230_20250106"
           " measurements_20241230_20250106 measurements_20250106_20250113");
    expect(url, MISPLACED, "0");
    expect(url, "SELECT string_agg(to_jsonb(m)::text, '' ORDER BY run_id) FROM measurements m",
           before);
    expect(url, "SELECT count(*) FROM measurements_partitions WHERE since < '2026-01-01'", "4");
    free(before);
    pfc_db_close(db);
    free(url);
}

typedef struct storing {
    pfc_db *db;
    int64_t project;
    atomic_bool stop;
    atomic_uint stored;
    char *why;
} storing;

static void *store_runs(void *context)
{
    storing *s = context;
    pfc_err err = { 0 };

    while (!atomic_load(&s->stop) && !s->why) {
        pfc_ingest_result result;
        const unsigned n = atomic_load(&s->stored) % 5 + 1;
        pfc_run *run = fx_run(n);

        fx_measure(run, "gemm/a", "time_ns", 100, 0.01, 9, 3, n);
        if (pfc_run_ingest(s->db, "t", s->project, run, NULL, &result, &err))
            s->why = pfc_strdup(err.msg);
        else
            atomic_fetch_add(&s->stored, 1);
        pfc_run_free(run);
    }
    return NULL;
}

/* The present time has no partition at first, so that rows are moved while others come. */
Test(partitions, a_change_of_the_width_while_runs_are_stored_loses_nothing)
{
    static const char *const widths[] = { "day", "week", "month" };
    char *url = NULL, *stored;
    pfc_db *db = pfc_test_db_open(4, &url);
    storing s = { .db = db, .project = fx_project(db) };
    pthread_t thread;

    fx_commits(db, s.project, 1, 5);
    pfc_test_sql(url, DROP_PARTITIONS);
    cr_assert(eq(int, pthread_create(&thread, NULL, store_runs, &s), 0));
    for (size_t i = 0; i < 12; i++) {
        const unsigned before = atomic_load(&s.stored);

        while (!s.why && atomic_load(&s.stored) < before + 10)
            pfc_clock_sleep_ns(PFC_NS_PER_MS);
        if (i % 3 == 0) /* the present one goes back to the default partition */
            pfc_test_sql(url,
                         "BEGIN; LOCK TABLE measurements; CREATE TABLE held AS SELECT * FROM"
                         " measurements;" DROP_PARTITIONS "; TRUNCATE measurements; INSERT INTO"
                         " measurements SELECT * FROM held; DROP TABLE held; COMMIT");
        (void)create(db, widths[i % 3], 3);
    }
    atomic_store(&s.stop, true);
    cr_assert(eq(int, pthread_join(thread, NULL), 0));
    cr_assert(eq(ptr, s.why, NULL), "%s", s.why);
    stored = pfc_format("%u", atomic_load(&s.stored));
    expect(url, "SELECT count(*) FROM measurements", stored);
    expect(url, "SELECT count(*) FROM runs", stored);
    expect(url, "SELECT count(*) FROM measurements_default", "0");
    expect(url, MISPLACED, "0");
    expect_sound(db);
    free(stored);
    pfc_db_close(db);
    free(url);
}

static void *create_in_thread(void *context)
{
    static const char *const widths[] = { "month", "week", "day" };
    static atomic_uint n;
    int64_t moved;
    pfc_err err = { 0 };

    return pfc_partitions_create(context, widths[atomic_fetch_add(&n, 1) % 3], 10, &moved, &err)
               ? pfc_strdup(err.msg)
               : NULL;
}

Test(partitions, several_servers_with_several_widths)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(3, &url);
    pthread_t threads[3];

    pfc_test_sql(url, DROP_PARTITIONS);
    for (size_t i = 0; i < PFC_ARRAY_LEN(threads); i++)
        cr_assert(eq(int, pthread_create(&threads[i], NULL, create_in_thread, db), 0));
    for (size_t i = 0; i < PFC_ARRAY_LEN(threads); i++) {
        void *why;

        cr_assert(eq(int, pthread_join(threads[i], &why), 0));
        cr_assert(eq(ptr, why, NULL), "%s", (char *)why);
    }
    (void)create(db, "month", 10);
    expect(url,
           "SELECT count(*) FROM (SELECT until, lead(since) OVER (ORDER BY since) AS next FROM"
           " measurements_partitions) q WHERE next <> until",
           "0");
    expect(url,
           "SELECT max(until) = " PRESENT " + interval '11 months' FROM measurements_partitions",
           "t");
    pfc_db_close(db);
    free(url);
}

Test(partitions, absurd_bounds_are_refused)
{
    static const char *const bounds[] = {
        "'2024-01-02', '2024-01-02'", "'2024-01-02', '2024-01-01'", "'2024-01-01', '2024-02-02'",
        "NULL, '2024-01-01'",         "'2024-01-01', NULL",         "'2024-01-01', 'infinity'",
        "'-infinity', '2024-01-01'",
    };
    char *url = pfc_test_db_url(false);

    for (size_t i = 0; i < PFC_ARRAY_LEN(bounds); i++) {
        char *sql = pfc_format("DO $$ BEGIN PERFORM measurements_partition(%s); RAISE 'made';"
                               " EXCEPTION WHEN others THEN IF SQLERRM NOT LIKE '%%expected 1 to 31"
                               " days, got%%' THEN RAISE; END IF; END $$",
                               bounds[i]);

        pfc_test_sql(url, sql);
        free(sql);
    }
    free(url);
}

/* ---- retention ---- */

/* A month, weeks and days long ago, two rows a day. Everything stays from KEPT on, nothing before
 * GONE; a week reaches over each of the two. */
#define KEPT      "(" PRESENT " - interval '2 months')"
#define GONE      "(" PRESENT " - interval '3 months')"
#define OLD_MONTH "(" PRESENT " - interval '5 months')"

static int64_t old_project(pfc_db *db, const char *url)
{
    int64_t p = fx_project(db);

    fx_commits(db, p, 1, RUNS);
    for (unsigned n = 1; n <= RUNS; n++) {
        pfc_run *run = fx_run(n);

        fx_measure(run, "gemm/b", "time_ns", 100, 0.005, 6, 3, n);
        fx_ingest(db, p, run);
    }
    fx_detect(db);
    pfc_test_sql(
        url,
        "CREATE FUNCTION weeks(low timestamp, many int) RETURNS bigint LANGUAGE sql AS"
        " 'SELECT sum(measurements_partition((low + interval ''7 days'' * g)::date, (low + interval"
        " ''7 days'' * (g + 1))::date)) FROM generate_series(0, many - 1) g';"
        "CREATE FUNCTION days(low timestamp, high timestamp) RETURNS bigint LANGUAGE sql AS"
        " 'SELECT sum(measurements_partition(d::date, d::date + 1)) FROM generate_series(low, high"
        " - interval ''1 day'', interval ''1 day'') d';"
        "SELECT measurements_month(" OLD_MONTH "::date);"
        "SELECT measurements_partition((" GONE " - interval '1 month')::date, (" GONE
        " - interval '25 days')::date);"
        "SELECT weeks(" GONE " - interval '25 days', 4);"
        "SELECT days(" GONE " + interval '3 days', " KEPT " - interval '11 days');"
        "SELECT weeks(" KEPT " - interval '11 days', 2);"
        "SELECT days(" KEPT " + interval '3 days', " KEPT " + interval '6 days');"
        "UPDATE measurements SET stored_at = (" GONE " - interval '35 days' + interval '12 hours' *"
        " run_id) AT TIME ZONE 'UTC', operations = run_id;"
        "UPDATE runs SET received_at = (" GONE
        " - interval '35 days' + interval '12 hours' * id) AT"
        " TIME ZONE 'UTC';"
        "UPDATE commits c SET time = m.stored_at FROM measurements m WHERE m.commit_id = c.id;"
        "CREATE TABLE before AS SELECT m.*, q.until, q.name FROM measurements m LEFT JOIN"
        " measurements_partitions q ON to_regclass(q.name) = m.tableoid");
    (void)create(db, "day", 1); /* what came later has none, and gets days */
    return p;
}

static size_t thin_all(pfc_db *db, int raw_months, int day_months, bool check)
{
    const pfc_retention keep = { .raw_months = raw_months, .day_months = day_months };
    pfc_retained done = { .since = "x" };
    pfc_err err = { 0 };
    size_t steps = 0;

    while (done.since[0]) {
        cr_assert(eq(int, pfc_retention_step(db, &keep, &done, &err), PFC_OK), "%s", err.msg);
        cr_assert(lt(sz, steps, 200));
        if (check)
            expect_sound(db);
        steps += done.since[0] != '\0';
    }
    return steps;
}

Test(partitions, retention_removes_exactly_what_is_old)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(3, &url);
    pfc_err err = { 0 };

    (void)old_project(db, url);
    pfc_test_sql(url, "UPDATE series SET points = 1000"); /* as if it were worth packing */
    for (int64_t cursor = 0, more = 1; more; more = cursor) {
        size_t built;

        cr_assert(eq(int, pfc_chunks_step(db, 0, &cursor, &built, &err), PFC_OK), "%s", err.msg);
    }
    expect(url, "SELECT sum(points) FROM series_chunks", "200");
    expect_sound(db);
    expect(url,
           "SELECT count(*) FROM measurements_partitions WHERE (since < " KEPT " AND until > " KEPT
           ") OR (since < " GONE " AND until > " GONE ")",
           "2");
    cr_assert(gt(sz, thin_all(db, 2, 3, true), 5));
    /* of what lies before the kept months with its whole partition, one a day or none */
    expect(url,
           "SELECT count(*) FROM before b WHERE coalesce(b.until, now()) > " KEPT
           " AND NOT EXISTS (SELECT 1 FROM"
           " measurements m WHERE to_jsonb(b) @> to_jsonb(m))",
           "0");
    expect(url,
           "SELECT (SELECT count(*) FROM measurements m JOIN before b USING (run_id) WHERE b.until"
           " <= " GONE ") || ' ' || (SELECT count(*) > 30 FROM before WHERE until <= " GONE ")",
           "0 true");
    expect(
        url,
        "SELECT count(*) FROM (SELECT b.name, (c.time AT TIME ZONE 'UTC')::date, count(m.run_id)"
        " AS n, max(b.run_id) = max(m.run_id) AS newest, bool_and(m.operations = m.run_id) AS"
        " whole FROM before b JOIN commits c ON c.id = b.commit_id LEFT JOIN measurements m USING"
        " (run_id) WHERE b.until <= " KEPT " AND b.until > " GONE " GROUP BY 1, 2) q WHERE n <> 1"
        " OR NOT newest OR NOT whole",
        "0");
    expect(url,
           "SELECT (SELECT count(*) FROM retention) = (SELECT count(*) FROM"
           " measurements_partitions WHERE until <= " KEPT ")",
           "t");
    expect(
        url,
        "SELECT count(*) FROM retention r LEFT JOIN measurements_partitions q ON q.since ="
        " r.month AND q.until = r.until WHERE q.name IS NULL OR (r.kept = 'referred') <> (q.until"
        " <= " GONE ")",
        "0");
    expect(url, "SELECT sum(points) = (SELECT count(*) FROM measurements) FROM series_chunks", "t");
    cr_assert(eq(sz, thin_all(db, 2, 3, true), 0), "done once");
    pfc_db_close(db);
    free(url);
}

/* A server of before these widths asks for months and thins months, beside a new one. */
Test(partitions, an_older_server_makes_and_thins_months_beside_them)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(3, &url);

    (void)old_project(db, url);
    expect(url, "SELECT measurements_month(" GONE "::date) IS NULL", "t"); /* it has weeks */
    expect(url, "SELECT measurements_month(('2020-05-17')) = 0", "t");
    expect(url, "SELECT to_regclass('measurements_202005') IS NOT NULL", "t");
    expect(url,
           "SELECT rows_before = (SELECT count(*) FROM before WHERE until = " GONE
           " - interval '1 month') AND rows_before > 3 AND rows_after BETWEEN 1 AND rows_before - 1"
           " FROM retention_apply(" OLD_MONTH "::date, true)",
           "t");
    expect(url, "SELECT count(*) FROM retention WHERE until IS NOT NULL", "1");
    pfc_test_sql(url, "UPDATE retention SET until = NULL"); /* as one of before has written it */
    expect_sound(db);
    cr_assert(gt(sz, thin_all(db, 2, 0, false), 5));
    expect_sound(db);
    pfc_db_close(db);
    free(url);
}

/* ---- the width of the load ---- */

Test(partitions, auto_chooses_the_widest_whose_indexes_fit_in_half_of_the_memory)
{
    static const struct {
        double days; /* since the first run, by the days in which a week would be too wide */
        const char *width;
    } loads[] = { { 0.5, "day" }, { 2, "week" }, { 6, "month" } };
    pfc_partition_width now = { 0 };
    char *url = NULL;
    pfc_db *db;
    pfc_err err = { 0 };
    pfc_run *run = fx_run(1);
    int64_t p;

    db = pfc_test_db_open(1, &url);
    cr_assert(eq(int, pfc_partition_width_choose(db, &now, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(str, (char *)(uintptr_t)now.width, "month"), "an empty database");
    cr_assert(not(now.short_of_locks));
    p = fx_project(db);
    fx_commits(db, p, 1, 1);
    fx_measure(run, "gemm/a", "time_ns", 100, 0.01, 9, 3, 1);
    fx_ingest(db, p, run);
    pfc_db_close(db);
    pfc_test_sql(url,
                 "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET effective_cache_size = 1024',"
                 " current_database()); END $$;" DROP_PARTITIONS
                 "; SELECT measurements_partition((d - 14)::date, d) FROM (SELECT current_date +"
                 " 1 - 14 * g AS d FROM generate_series(0, 2) g) q;"
                 "INSERT INTO measurements (project_id, series_id, run_id, commit_id, stored_at, n,"
                 " median, low, high, min, samples, blocks) SELECT 1, 1, n, 1, now(), 1, 1, 1, 1,"
                 " 1, '{1}', '{1}' FROM generate_series(1000, 41000) n");
    cr_assert(
        eq(int, pfc_db_open(&db, &(pfc_db_opts){ .url = url, .connections = 1 }, &err), PFC_OK),
        "%s", err.msg);
    for (size_t i = 0; i < PFC_ARRAY_LEN(loads); i++) {
        char *sql = pfc_format(
            "UPDATE runs SET received_at = now() - make_interval(secs => 86400 * %f * 14 *"
            " (SELECT sum(pg_indexes_size(to_regclass(name))) FROM measurements_partitions) /"
            " pg_size_bytes(current_setting('shared_buffers')))",
            loads[i].days);

        pfc_test_sql(url, sql);
        free(sql);
        cr_assert(eq(int, pfc_partition_width_choose(db, &now, &err), PFC_OK), "%s", err.msg);
        cr_assert(eq(str, (char *)(uintptr_t)now.width, (char *)(uintptr_t)loads[i].width),
                  "%.0f bytes a day, %.0f of memory", now.index_bytes_a_day, now.memory_bytes);
    }
    pfc_db_close(db);
    free(url);
}
