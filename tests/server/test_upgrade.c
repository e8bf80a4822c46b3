/*
 * From every older schema to the newest: nothing is lost, the result is the same as from nothing,
 * nothing that an older server uses is removed, and a migration that is killed leaves the schema as
 * it was.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <libpq-fe.h>

#include "core/base/clock.h"
#include "server/repo/connection/db.h"

#include "schema/schema.h"
#include "tests/check/check.h"
#include "tests/support/support.h"

#define SERVERS 8

/* In a schema of its own, which is no part of what is compared. */
static const char helpers[] =
    "CREATE SCHEMA test;"
    "CREATE VIEW test.tables AS SELECT c.oid, c.relname::text AS name FROM pg_class c"
    " WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition;"
    "CREATE VIEW test.columns AS SELECT t.name || '.' || a.attname AS name, format_type(atttypid,"
    " atttypmod) AS type, attnotnull AND NOT atthasdef AND attidentity = '' AS demanded, t.name AS "
    "tab"
    " FROM test.tables t JOIN pg_attribute a ON attrelid = t.oid AND attnum > 0 AND NOT "
    "attisdropped;"
    "CREATE TABLE test.kept_columns (name text, type text, demanded boolean, tab text);"
    "CREATE TABLE test.kept_rows (tab text, content jsonb);"
    /* columns, keys, indexes, views and functions, in words */
    "CREATE FUNCTION test.catalog() RETURNS text LANGUAGE sql AS $$ SELECT string_agg(line, chr(10)"
    " ORDER BY line) FROM ("
    "  SELECT concat_ws(' ', c.oid::regclass, attnum, attname, format_type(atttypid, atttypmod),"
    "         attnotnull, attidentity, attstorage, pg_get_expr(adbin, adrelid),"
    "         pg_get_expr(relpartbound, c.oid)) AS line"
    "  FROM pg_class c JOIN pg_attribute a ON attrelid = c.oid AND attnum > 0 AND NOT attisdropped"
    "  LEFT JOIN pg_attrdef d ON adrelid = c.oid AND adnum = attnum"
    "  WHERE relnamespace = 'public'::regnamespace"
    "  UNION ALL SELECT concat_ws(' ', conrelid::regclass, conname, pg_get_constraintdef(oid))"
    "  FROM pg_constraint WHERE connamespace = 'public'::regnamespace"
    "  UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'"
    "  UNION ALL SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal"
    "  UNION ALL SELECT viewname || definition FROM pg_views WHERE schemaname = 'public'"
    "  UNION ALL SELECT pg_get_functiondef(oid) FROM pg_proc"
    "  WHERE pronamespace = 'public'::regnamespace) AS l $$;"
    "CREATE FUNCTION test.keep() RETURNS void LANGUAGE plpgsql AS $$ DECLARE t text; BEGIN"
    " DELETE FROM test.kept_rows; FOR t IN SELECT name FROM test.tables LOOP"
    "  EXECUTE format('INSERT INTO test.kept_rows SELECT %L, to_jsonb(x) FROM %I x', t, t);"
    " END LOOP; END $$;"
    /* rows that were deleted or changed; an alert without a group gets one (0063) */
    "CREATE FUNCTION test.lost() RETURNS text LANGUAGE plpgsql AS $$ DECLARE t text; n bigint;"
    " lost text := ''; BEGIN FOR t IN SELECT DISTINCT tab FROM test.kept_rows LOOP"
    "  EXECUTE format('SELECT count(*) FROM test.kept_rows k WHERE tab = %L AND NOT EXISTS (SELECT "
    "1"
    "   FROM %I x WHERE to_jsonb(x) @> (k.content - CASE WHEN tab = ''alerts'' AND"
    "    k.content -> ''group_id'' = ''null'' THEN ''group_id'' ELSE ''-'' END))', t, t) INTO n;"
    "  IF n > 0 THEN lost := lost || t || ' '; END IF; END LOOP; RETURN lost; END $$;"
    /* ids from 1, also after a rollback */
    "CREATE FUNCTION test.restart() RETURNS void LANGUAGE plpgsql AS $$ DECLARE s text; BEGIN"
    " FOR s IN SELECT oid::regclass FROM pg_class WHERE relkind = 'S'"
    "  AND relnamespace = 'public'::regnamespace LOOP"
    "  EXECUTE format('ALTER SEQUENCE %s RESTART', s); END LOOP; END $$;"
    /* the n-th statement waits for the session that has the lock */
    "CREATE SEQUENCE test.seen; CREATE TABLE test.halt (at bigint);"
    "CREATE FUNCTION test.halting() RETURNS event_trigger LANGUAGE plpgsql SET lock_timeout = 0 AS "
    "$$ BEGIN"
    " IF nextval('test.seen') = (SELECT at FROM test.halt) THEN"
    "  PERFORM pg_advisory_xact_lock_shared(42); END IF; END $$;";

/* Rows for every table, as a server of version `since` could have written them. */
static const struct {
    int since;
    const char *sql;
} rows[] = {
    { 1,
      "INSERT INTO projects (name) VALUES ('p');"
      "INSERT INTO commits (project_id, sha, time, parents) SELECT 1, lpad(to_hex(n), 40, '0'), "
      "now(),"
      " '{}' FROM generate_series(1, 3) n;"
      "INSERT INTO branches VALUES (1, 'main');"
      "INSERT INTO branch_commits SELECT 1, 'main', n, n FROM generate_series(1, 3) n;"
      "INSERT INTO machines (class, name, fingerprint_hash, fingerprint) VALUES ('c', 'm', 'f', "
      "'{}');"
      "INSERT INTO benchmarks (project_id, name) VALUES (1, 'b');"
      "INSERT INTO series (project_id, benchmark_id, metric, backend, machine_class, branch, unit,"
      " higher_is_better, exact, headline) VALUES (1, 1, 'm', 'cpu', 'c', 'main', 'ns', true, "
      "false, true);"
      "INSERT INTO runs (project_id, run_id, header_hash, commit_id, branch, suite, suite_hash,"
      " machine_id, infra, started_at, finished_at) VALUES (1, repeat('a', 32), 'h', 1, 'main', "
      "'s', 'h',"
      " 1, true, now(), now());"
      "INSERT INTO run_parts (project_id, run_id, body_hash, key, measurements, series, samples)"
      " VALUES (1, 1, 'h', 'k', 1, 1, 1);"
      "INSERT INTO measurements (project_id, series_id, run_id, commit_id, stored_at, n, median, "
      "low,"
      " high, min, samples, blocks, extra) SELECT 1, 1, n, n, t, 1, 1.1, 1, 1, 1, '{1.1}', '{1}', "
      "'{}'"
      " FROM (VALUES (1, now()), (2, '2001-02-03'), (3, 'infinity')) AS v (n, t);"
      "INSERT INTO unmeasured VALUES (1, 1, 'b', 'm', 'cpu', 'ns', true, true, true, 'why', '{}');"
      "INSERT INTO change_points (project_id, series_id, commit_id, commit_low_id, commit_high_id,"
      " before, after, rel_change, rel_low, rel_high, p, regression, confirmed)"
      " VALUES (1, 1, 1, 1, 1, 1, 2, 1, 1, 1, 0, true, true), (1, 1, 2, 2, 2, 1, 2, 1, 1, 1, 0, "
      "true, false);"
      "INSERT INTO alerts (project_id, change_point_id, series_id, culprit) VALUES (1, 1, 1, 'x');"
      "INSERT INTO alert_events (project_id, alert_id, actor, state_to) VALUES (1, 1, 'a', "
      "'untriaged');"
      "INSERT INTO jobs (project_id, kind, state, lease_until, dedupe) VALUES"
      " (1, 'detect', 'queued', NULL, 'd'), (1, 'bisect', 'leased', now(), NULL), (1, 'nightly', "
      "'done',"
      " NULL, NULL), (1, 'backfill', 'failed', NULL, NULL), (1, 'verify', 'cancelled', NULL, NULL);"
      "INSERT INTO runners (name, machine_class) VALUES ('r', 'c');"
      "INSERT INTO tokens (hash, scopes) VALUES (repeat('a', 64), 31);"
      "INSERT INTO bisections (project_id, metric, good, bad, verdict, culprits, runs, builds,"
      " commits_measured, seconds, actor) VALUES (1, 'm', 'g', 'b', 'range', '[]', 1, 1, 1, 1, "
      "'a');"
      "INSERT INTO audit (actor, action, object) VALUES ('a', 'b', 'c')" },
    { 2, "INSERT INTO environment_events (project_id, machine_id, first_run_id, last_run_id)"
         " VALUES (1, 1, 1, 1)" },
    { 3, "INSERT INTO benchmark_sources (project_id, benchmark, sha) VALUES (1, '*', repeat('0', "
         "40))" },
    { 4,
      "INSERT INTO bisections (project_id, metric, good, bad, mode, state, culprits, runs, builds,"
      " commits_measured, seconds, actor) VALUES (1, 'm', 'g', 'b', 'remote', 'running', '[]', 0, "
      "0, 0, 0,"
      " 'a');"
      "INSERT INTO bisection_steps (project_id, bisection_id, n, place, state) VALUES (1, 2, 0, 0, "
      "'asked')" },
    { 5, "INSERT INTO retention VALUES ('2001-01-01', 'days', 2, 1)" },
    { 6,
      "INSERT INTO verifications (project_id, bisection_id, before, after, expected_rel, "
      "first_build)"
      " VALUES (1, 1, repeat('1', 40), repeat('2', 40), 0.1, 1);"
      "INSERT INTO verification_pairs (project_id, verification_id, n, build, after_first, job_id)"
      " VALUES (1, 1, 0, 0, true, 1)" },
    { 7, "INSERT INTO detector_configs (project_id, version, document, actor) VALUES (1, 1, '{}', "
         "'a')" },
    { 12,
      "INSERT INTO series_chunks VALUES (1, 1, '-infinity', now(), 0, 1, repeat('a', 44)::bytea)" },
    { 14, "INSERT INTO notices (project_id, kind, alert_id, sha, text)"
          " VALUES (1, 'culprit_confirmed', 1, repeat('0', 40), 't')" },
    { 16, "INSERT INTO jobs (project_id, kind, task, not_before) VALUES (1, 'notify', "
          "'{\"notice\": 1}', now())" },
    { 17,
      "INSERT INTO machine_shifts (project_id, branch, machine_id, machine_before_id, whole_class,"
      " first_run_id, last_run_id, commit_id, commit_low_id, commit_high_id, loss, loss_low, "
      "loss_high,"
      " series, moved, judged, reasons) VALUES (1, 'main', 1, 1, true, 1, 1, 1, 1, 1, 1, 1, 1, 1, "
      "1, 1, '{}')" },
    { 28, "INSERT INTO lease_questions VALUES (repeat('a', 64), 2)" },
    { 31, "INSERT INTO readiness DEFAULT VALUES" },
    { 37,
      "INSERT INTO sessions (project_id, id, branch, anchor_id, base_id, machine_class, machine, "
      "started_at, finished_at, budget_s, spent_s, blocks, body_hash) VALUES (1, repeat('a', 32), "
      "'main', 1, 1, 'c', 'm', now(), now(), 0, 1, 2, 'h');"
      "INSERT INTO session_commits VALUES (1, repeat('a', 32), 0, 2, 'measured', NULL, NULL, 1.5);"
      "UPDATE runs SET session_id = repeat('a', 32), session_anchor = 's', session_base = 's';"
      "UPDATE measurements SET visit_blocks = '{0}', visit_positions = '{1}'" },
    { 39, "INSERT INTO anchored VALUES (1, 1, 1, 1, 2, 0.01, 0.001)" },
    { 43, "INSERT INTO lease_tokens VALUES (repeat('a', 64), 1, 1, 1, 1, 'r')" },
    { 44, "INSERT INTO browser_sessions (hash, token_id, address, expires_at) VALUES"
          " (repeat('b', 64), 1, 'a', now())" },
    { 46, "INSERT INTO quarantines (runner, since, actor) VALUES ('r', now(), 'a');"
          "INSERT INTO quarantined_measurements SELECT * FROM measurements;"
          "INSERT INTO quarantined_unmeasured SELECT * FROM unmeasured;"
          "INSERT INTO quarantined_changes (quarantine_id, project_id, change_point_id, gone)"
          " VALUES (1, 1, 1, false)" },
    { 52, "INSERT INTO forge_links (project_id, forge, repo) VALUES (1, 'github', 'a/b');"
          "INSERT INTO webhook_deliveries (forge, account, delivery, event, kind)"
          " VALUES ('github', 'a', 'd', 'e', 'pull');"
          "INSERT INTO pulls (project_id, number) VALUES (1, 7);"
          "INSERT INTO pull_measurements (project_id, number, head_sha, base_sha, asked_by)"
          " VALUES (1, 7, repeat('1', 40), repeat('2', 40), 'a');"
          "INSERT INTO pull_commands (project_id, number, comment_id, command, author)"
          " VALUES (1, 7, 1, 'why', 'a')" },
    { 54, "INSERT INTO schedules (project_id, name, cron, zone, max_commits, budget_s)"
          " VALUES (1, 's', '@daily', 'UTC', 1, 1);"
          "INSERT INTO nights (project_id, schedule_id, actor, state) VALUES (1, 1, 'a', 'done')" },
    { 55, "INSERT INTO session_functions VALUES (1, repeat('a', 32), 2, 0, 'f', 1, 2)" },
    { 56, "INSERT INTO faults (project_id, kind, key, text)"
          " VALUES (1, 'missed_night', '1', 't')" },
    { 58, "INSERT INTO pull_bisections (project_id, bisection_id, number, comment_id, head_sha)"
          " SELECT 1, id, 7, 1, repeat('1', 40) FROM bisections LIMIT 1" },
    { 59, "INSERT INTO project_owners (project_id) VALUES (1)" },
    { 60, "INSERT INTO series_states VALUES (1, 1, 1, decode('00', 'hex'))" },
    { 62, "INSERT INTO suppressions (project_id, owner, reason, metric, created_by, expires_at)"
          " VALUES (1, 'o', 'r', 'm', 'a', now() + interval '1 day');"
          "INSERT INTO suppressed_alerts (project_id, suppression_id, alert_id) VALUES (1, 1, 1)" },
    { 64, "INSERT INTO group_issues (project_id, group_id, forge, repo, asked_by)"
          " VALUES (1, 1, 'github', 'a/b', 'a')" },
    { 66, "UPDATE measurements SET operations = 1e9, bytes = 1e6;"
          "UPDATE run_parts SET ceilings = '[]'" },
    { 71, "INSERT INTO traces (project_id, run_id, title, digest, size, records, span_ns, units,"
          " actor, bytes) SELECT 1, min(id), '', repeat('a', 64), 1, 1, 1, 1, 'a', '\\x00'"
          " FROM runs" },
};

/* ---- one connection ---- */

static PGconn *open_one(const char *url)
{
    PGconn *pg = PQconnectdb(url);

    cr_assert(eq(int, PQstatus(pg), CONNECTION_OK), "%s", PQerrorMessage(pg));
    return pg;
}

/* First column of the last result; caller frees. */
static char *ask(PGconn *pg, const char *sql)
{
    PGresult *res = PQexec(pg, sql);
    ExecStatusType status = PQresultStatus(res);
    char *value;

    cr_assert(eq(int, status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK, 1), "%s: %.300s",
              PQresultErrorMessage(res), sql);
    value = pfc_strdup(PQntuples(res) && !PQgetisnull(res, 0, 0) ? PQgetvalue(res, 0, 0) : "");
    PQclear(res);
    return value;
}

static void say(PGconn *pg, const char *sql)
{
    free(ask(pg, sql));
}

static void expect(PGconn *pg, const char *what, int version, const char *sql, const char *want)
{
    char *got = ask(pg, sql);

    cr_assert(eq(str, got, (char *)(uintptr_t)want), "version %d: %s", version, what);
    free(got);
}

static void apply(PGconn *pg, int version)
{
    const pfc_migration *m = &pfc_migrations[version - 1];
    char *sql = pfc_format("INSERT INTO schema_migrations VALUES (%d, '%s')", version, m->name);

    say(pg, m->sql);
    say(pg, sql);
    free(sql);
}

static void fill(PGconn *pg, int version)
{
    say(pg, "SELECT test.restart()");
    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        if (rows[i].since <= version)
            say(pg, rows[i].sql);
    }
}

static PGconn *open_empty(char **url)
{
    PGconn *pg;

    *url = pfc_test_db_url(true);
    pg = open_one(*url);
    say(pg, "SET client_min_messages = error; SET timezone = 'UTC'");
    say(pg, helpers);
    return pg;
}

Test(upgrade, from_every_version_keeps_every_row_and_ends_in_the_same_schema)
{
    const int newest = pfc_schema_newest();
    char *url, *whole;
    PGconn *pg = open_empty(&url);

    say(pg, "BEGIN");
    for (int v = 1; v <= newest; v++)
        apply(pg, v);
    whole = ask(pg, "SELECT test.catalog()");
    say(pg, "ROLLBACK");
    cr_assert(gt(sz, strlen(whole), 20000));

    say(pg, "BEGIN");
    for (int v = 1; v <= newest; v++) {
        char *now;

        apply(pg, v);
        say(pg, "SAVEPOINT here");
        fill(pg, v);
        say(pg, "SELECT test.keep()");
        expect(pg, "every table has rows here", v,
               "SELECT coalesce(string_agg(name, ' '), '') FROM test.tables WHERE name NOT IN"
               " (SELECT tab FROM test.kept_rows)",
               "");
        for (int next = v + 1; next <= newest; next++)
            apply(pg, next);
        expect(pg, "no row is lost", v, "SELECT test.lost()", "");
        if (v < 63)
            expect(pg, "every alert is in a group", v,
                   "SELECT count(*) FROM alerts WHERE group_id IS NULL", "0");
        now = ask(pg, "SELECT test.catalog()");
        cr_assert(eq(str, now, whole), "from version %d", v);
        free(now);
        say(pg, "ROLLBACK TO here");
    }
    say(pg, "ROLLBACK");
    free(whole);
    PQfinish(pg);
    free(url);
}

/* Expand, then contract: a server of the version before goes on while the new one is started. */
Test(upgrade, each_step_leaves_what_the_version_before_reads_and_writes)
{
    char *url;
    PGconn *pg = open_empty(&url);

    for (int v = 1; v <= pfc_schema_newest(); v++) {
        say(pg, "DELETE FROM test.kept_columns; INSERT INTO test.kept_columns SELECT * FROM "
                "test.columns");
        apply(pg, v);
        expect(
            pg, "a column went or became another", v,
            "SELECT coalesce(string_agg(k.name, ' '), '') FROM test.kept_columns k WHERE NOT EXISTS"
            " (SELECT 1 FROM test.columns c WHERE c.name = k.name AND c.type = k.type)",
            "");
        expect(
            pg, "a column is demanded that the version before does not write", v,
            "SELECT coalesce(string_agg(c.name, ' '), '') FROM test.columns c WHERE c.demanded AND"
            " c.tab IN (SELECT tab FROM test.kept_columns) AND NOT EXISTS (SELECT 1 FROM"
            " test.kept_columns k WHERE k.name = c.name AND k.demanded)",
            "");
    }
    PQfinish(pg);
    free(url);
}

/* ---- killed in the middle ---- */

static void migrate_in_child(const char *url)
{
    pfc_err err = { 0 };
    pfc_db *db = NULL;

    if (pfc_db_open(&db, &(pfc_db_opts){ .url = url, .connections = 1 }, &err) ||
        pfc_db_migrate(db, NULL, &err))
        _exit(err.code == PFC_EUNAVAIL ? 7 : 8);
    _exit(0);
}

static void await(PGconn *pg, const char *sql, const char *want)
{
    const int64_t end = pfc_clock_ns() + 240 * PFC_NS_PER_S;

    while (true) {
        char *got = ask(pg, sql);
        bool there = strcmp(got, want) == 0;

        free(got);
        if (there)
            return;
        cr_assert(lt(i64, pfc_clock_ns(), end), "never: %s", sql);
        usleep(2000);
    }
}

/* The migration to `version` is cut at its n-th change: by kill -9 of who migrates, or of its
 * backend. */
static void cut(PGconn *pg, const char *url, int version, long at, bool client)
{
#define WAITS "FROM pg_locks WHERE locktype = 'advisory' AND objid = 42 AND NOT granted"
    char *before = ask(pg, "SELECT test.catalog()"), *sql, *after;
    int status = 0;
    pid_t child;

    sql = pfc_format("SELECT setval('test.seen', 1, false); DELETE FROM test.halt;"
                     " INSERT INTO test.halt VALUES (%ld); SELECT pg_advisory_lock(42)",
                     at);
    say(pg, sql);
    free(sql);
    child = fork();
    cr_assert(ge(int, child, 0));
    if (child == 0)
        migrate_in_child(url);
    await(pg, "SELECT count(*) " WAITS, "1");
    if (client)
        (void)kill(child, SIGKILL);
    else
        say(pg, "SELECT pg_terminate_backend(pid) " WAITS);
    say(pg, "SELECT pg_advisory_unlock(42)");
    cr_assert(eq(int, waitpid(child, &status, 0), child));
    if (client)
        cr_assert(eq(int, (int)WIFSIGNALED(status), 1));
    else
        cr_assert(eq(int, WEXITSTATUS(status), 7), "version %d: a lost connection is said",
                  version);
    await(pg,
          "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <>"
          " pg_backend_pid() AND backend_type = 'client backend'",
          "0");
    after = ask(pg, "SELECT test.catalog()");
    cr_assert(eq(str, after, before), "version %d, cut at change %ld", version, at);
    free(before);
    free(after);
}

Test(upgrade, a_kill_during_any_step_leaves_the_old_schema)
{
    char *url;
    PGconn *pg = open_empty(&url);

    say(pg, "CREATE EVENT TRIGGER halting ON ddl_command_end EXECUTE FUNCTION test.halting()");
    for (int v = 1; v <= pfc_schema_newest(); v++) {
        char *n;
        long changes;

        say(pg, "BEGIN; SELECT setval('test.seen', 1, false); DELETE FROM test.halt");
        apply(pg, v);
        n = ask(pg, "SELECT last_value FROM test.seen");
        changes = strtol(n, NULL, 10);
        free(n);
        say(pg, "ROLLBACK");
        cr_assert(ge(i64, changes, 1), "version %d", v);
        cut(pg, url, v, 1 + (v * 7) % changes, v % 2 == 0);
        say(pg, "BEGIN; DELETE FROM test.halt");
        apply(pg, v);
        say(pg, "COMMIT");
    }
    PQfinish(pg);
    free(url);
}

/* A long reader, such as a backup, must not make all others queue behind a migration for as long.
 */
Test(upgrade, does_not_wait_long_for_a_table_that_is_being_read)
{
    char *url;
    PGconn *pg = open_empty(&url);
    pfc_db *db = NULL;
    pfc_err err = { 0 };
    int version = 0;

    for (int v = 1; v <= 18; v++)
        apply(pg, v);
    cr_assert(
        eq(int, pfc_db_open(&db, &(pfc_db_opts){ .url = url, .connections = 1 }, &err), PFC_OK));
    say(pg, "BEGIN");
    free(ask(pg, "SELECT count(*) FROM runs"));
    cr_assert(eq(int, pfc_db_migrate(db, NULL, &err), PFC_EUNAVAIL)); /* 19 changes that table */
    cr_assert(ne(ptr, strstr(err.msg, "lock timeout"), NULL), "%s", err.msg);
    expect(pg, "nothing is half done", 18, "SELECT max(version) FROM schema_migrations", "18");
    say(pg, "COMMIT");
    cr_assert(eq(int, pfc_db_migrate(db, &version, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, version, pfc_schema_newest()));
    pfc_db_close(db);
    PQfinish(pg);
    free(url);
}

/* ---- several at once ---- */

static void *migrate_in_thread(void *url)
{
    pfc_err err = { 0 };
    pfc_db *db = NULL;
    int version = 0;
    char *why = NULL;

    if (pfc_db_open(&db, &(pfc_db_opts){ .url = url, .connections = 1, .statement_ms = 120000 },
                    &err) ||
        pfc_db_version(db, &version, &err) || pfc_db_migrate(db, &version, &err))
        why = pfc_strdup(err.msg);
    else if (version != pfc_schema_newest())
        why = pfc_format("version %d", version);
    pfc_db_close(db);
    return why;
}

static void migrate_at_once(char *url)
{
    pthread_t threads[SERVERS];

    for (size_t i = 0; i < SERVERS; i++)
        cr_assert(eq(int, pthread_create(&threads[i], NULL, migrate_in_thread, url), 0));
    for (size_t i = 0; i < SERVERS; i++) {
        void *why;

        cr_assert(eq(int, pthread_join(threads[i], &why), 0));
        cr_assert(eq(ptr, why, NULL), "%s", (char *)why);
    }
}

Test(upgrade, eight_servers_start_at_once_on_an_empty_and_on_an_old_database)
{
    char *url, *versions = pfc_format("%d %d", pfc_schema_newest(), pfc_schema_newest());
    PGconn *pg = open_empty(&url);

    migrate_at_once(url);
    expect(pg, "one row a version", 0,
           "SELECT max(version) || ' ' || count(*) FROM schema_migrations", versions);
    PQfinish(pg);
    free(url);

    pg = open_empty(&url);
    apply(pg, 1);
    fill(pg, 1);
    say(pg, "SELECT test.keep()");
    migrate_at_once(url);
    expect(pg, "one row a version", 1,
           "SELECT max(version) || ' ' || count(*) FROM schema_migrations", versions);
    expect(pg, "no row is lost", 1, "SELECT test.lost()", "");
    PQfinish(pg);
    free(url);
    free(versions);
}
