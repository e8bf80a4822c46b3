/* Properties of the newest schema: keys by project, indexes that are used, no full scan of a large
 * table. */

#include "core/base/buf.h"
#include "server/repo/connection/db.h"

#include "schema/schema.h"
#include "tests/check/check.h"
#include "tests/server/fixture.h"
#include "tests/support/support.h"

static void expect(const char *url, const char *what, const char *sql, const char *want)
{
    char *got = pfc_test_sql_value(url, sql);

    cr_assert(eq(str, got ? got : (char *)"", (char *)(uintptr_t)want), "%s", what);
    free(got);
}

Test(plans, every_table_that_grows_with_a_project_has_it_first_in_its_key)
{
    char *url = pfc_test_db_url(false);

    /* machines, runners, their questions, leases and quarantines, tokens, sign-ins, webhooks and
     * audit are of the service */
    expect(url, "tables without",
           "SELECT string_agg(c.relname, ' ' ORDER BY c.relname) FROM pg_class c"
           " WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')"
           " AND NOT c.relispartition AND NOT EXISTS (SELECT 1 FROM pg_index i JOIN pg_attribute a"
           "  ON a.attrelid = c.oid AND a.attnum = i.indkey[0] AND a.attname = 'project_id'"
           "  WHERE i.indrelid = c.oid AND i.indisprimary)",
           "audit browser_sessions lease_questions lease_tokens machines projects quarantines "
           "readiness retention runners schema_migrations tokens webhook_deliveries");
    free(url);
}

/* A month of a busy service in small, and years of finished jobs behind it. */
static const char rows[] =
    "INSERT INTO projects (name) VALUES ('p'); INSERT INTO branches (project_id, name) VALUES (1, "
    "'main');"
    "INSERT INTO commits (project_id, sha, time) SELECT 1, lpad(to_hex(g), 40, '0'), now()"
    " FROM generate_series(1, 20000) g;"
    "INSERT INTO branch_commits SELECT 1, 'main', g, g FROM generate_series(1, 20000) g;"
    "INSERT INTO machines (class, name, fingerprint_hash, fingerprint) VALUES ('c', 'm', 'f', "
    "'{}');"
    "INSERT INTO benchmarks (project_id, name) SELECT 1, 'b' || g FROM generate_series(1, 100) g;"
    "INSERT INTO series (project_id, benchmark_id, metric, backend, machine_class, branch, unit,"
    " higher_is_better, exact, headline) SELECT 1, 1 + g % 100, 'm' || g / 100, 'cpu', 'c', "
    "'main', 'ns',"
    " true, false, false FROM generate_series(0, 399) g;"
    "INSERT INTO jobs (project_id, kind, state, finished_at, run_id, created_at)"
    " SELECT 1, 'detect', 'done', t, g, t FROM generate_series(1, 30000) g,"
    " LATERAL (SELECT now() - (31 - g * 0.001) * interval '1 day' AS t) l;"
    "INSERT INTO jobs (project_id, kind, state, finished_at, created_at, started_at, runner)"
    " SELECT 1, (ARRAY['nightly', 'measure', 'pull_request', 'verify'])[1 + g % 4], 'done', now(), "
    "now(), now(), 'r' FROM generate_series(1, 4000) g;"
    "INSERT INTO runs (project_id, run_id, header_hash, commit_id, branch, suite, suite_hash, "
    "machine_id,"
    " infra, started_at, finished_at) SELECT 1, lpad(to_hex(g), 32, '0'), 'h', 1 + g % 20000, "
    "'main', 's',"
    " 'h', 1, false, now(), now() FROM generate_series(1, 30000) g;"
    "INSERT INTO run_parts (project_id, run_id, body_hash, key, measurements, series, samples)"
    " SELECT 1, g, 'h', 'k' || g, 1, 1, 1 FROM generate_series(1, 30000) g;"
    "INSERT INTO measurements (project_id, series_id, run_id, commit_id, n, median, low, high, min,"
    " samples, blocks) SELECT 1, 1 + g % 400, g, 1 + g % 20000, 1, 1, 1, 1, 1, '{1}', '{1}'"
    " FROM generate_series(1, 60000) g;"
    "INSERT INTO sessions (project_id, id, branch, anchor_id, base_id, machine_class, machine, "
    "started_at,"
    " finished_at, budget_s, spent_s, blocks, body_hash) SELECT 1, lpad(to_hex(g), 32, '0'), "
    "'main', 1 + g % 10,"
    " g, 'c', 'm', now(), now(), 1, 1, 1, 'h' FROM generate_series(1, 1000) g;"
    "INSERT INTO anchored SELECT project_id, series_id, run_id, commit_id, 1 + run_id % 10, 0, 0 "
    "FROM "
    "measurements WHERE run_id <= 30000;"
    "INSERT INTO jobs (project_id, kind, state, dedupe) SELECT 1, 'backfill', 'queued', g::text"
    " FROM generate_series(1, 3000) g;"
    "INSERT INTO jobs (project_id, kind, parents) SELECT 1, 'nightly', ARRAY[g]"
    " FROM generate_series(1, 3000) g;"
    "INSERT INTO jobs (project_id, kind, state, lease_until) SELECT 1, 'nightly', 'leased', now()"
    " FROM generate_series(1, 20) g;"
    "INSERT INTO change_points (project_id, series_id, commit_id, commit_low_id, commit_high_id, "
    "before,"
    " after, rel_change, rel_low, rel_high, p, regression, confirmed, gone_at, kind) SELECT 1, 1 + "
    "g % 400,"
    " g, g, g, 1, 1, 1, 1, 1, 1, true, true, CASE WHEN g % 10 > 0 THEN now() END, CASE WHEN g % "
    "100 > 0 THEN"
    " 'step' ELSE 'drift' END FROM generate_series(1, 5000) g;"
    "INSERT INTO alerts (project_id, change_point_id, series_id, state, group_id)"
    " SELECT 1, g, 1 + g % 400, CASE WHEN g % 100 > 0 THEN 'fixed' ELSE 'untriaged' END,"
    " CASE WHEN g % 1000 > 0 THEN g END FROM generate_series(1, 5000) g;"
    "INSERT INTO pulls (project_id, number, head_sha, due_at)"
    " SELECT 1, g, lpad(to_hex(g), 40, '0'),"
    " CASE WHEN g % 100 = 0 THEN now() END FROM generate_series(1, 5000) g;"
    "INSERT INTO pull_measurements (project_id, number, head_sha, base_sha, asked_by, verdict)"
    " SELECT 1, 1 + g % 5000, lpad(to_hex(g), 40, '0'), repeat('0', 40), 'a',"
    " CASE WHEN g % 100 > 0 THEN 'same' END FROM generate_series(1, 10000) g;"
    "INSERT INTO traces (project_id, run_id, title, digest, size, records, span_ns, units, actor,"
    " bytes) SELECT 1, 1 + g / 4, '', repeat('0', 56) || lpad(to_hex(g), 8, '0'), 1, 1, 1, 1, 'a',"
    " '\\x00' FROM generate_series(1, 20000) g;"
    "INSERT INTO webhook_deliveries (forge, account, delivery, event, kind, state, project_id)"
    " SELECT 'github', 'a', g, 'e', 'pull', CASE WHEN g % 1000 > 0 THEN 'done' ELSE 'new' END,"
    " CASE WHEN g % 100 = 0 THEN 1 ELSE 2 END FROM generate_series(1, 20000) g;"
    "INSERT INTO projects (name) VALUES ('q');"
    "INSERT INTO audit (actor, action, object, project_id) SELECT 'a', 'ingest', 'x',"
    " CASE WHEN g % 100 > 0 THEN 2 ELSE 1 END FROM generate_series(1, 30000) g;";

/* Plans of all statements, with the values of their types below, and what they touch: an index, or
 * a table from end to end. */
static const char collect[] =
    "CREATE SCHEMA test; CREATE TABLE test.used (statement text, kind text, name text);"
    "CREATE FUNCTION test.example(t regtype) RETURNS text LANGUAGE sql AS $$ SELECT CASE"
    " WHEN t = 'text'::regtype THEN quote_literal('10') WHEN t = 'jsonb'::regtype THEN "
    "quote_literal('{}')"
    " WHEN t = 'bytea'::regtype THEN quote_literal('') WHEN t = 'boolean'::regtype THEN 'true'"
    " WHEN t = 'timestamptz'::regtype THEN 'now()' WHEN t = 'date'::regtype THEN 'current_date'"
    " WHEN t::text LIKE '%[]' THEN quote_literal('{1}') ELSE '1' END $$;"
    "CREATE FUNCTION test.collect() RETURNS void LANGUAGE plpgsql AS $$ DECLARE s record; plan "
    "jsonb;"
    " BEGIN FOR s IN SELECT name, (SELECT string_agg(test.example(t), ', ' ORDER BY n) FROM"
    "  unnest(parameter_types) WITH ORDINALITY AS u (t, n)) AS args FROM pg_prepared_statements "
    "LOOP"
    "  EXECUTE format('EXPLAIN (FORMAT JSON) EXECUTE %I %s', s.name, '(' || s.args || ')') INTO "
    "plan;"
    "  INSERT INTO test.used SELECT s.name, 'index', jsonb_path_query(plan, '$.**.\"Index Name\"') "
    "#>> '{}';"
    "  INSERT INTO test.used SELECT s.name, 'whole', jsonb_path_query(plan,"
    "   '$.** ? (@.\"Node Type\" == \"Seq Scan\").\"Relation Name\"') #>> '{}';"
    " END LOOP; END $$;";

static char *prepare_all(void)
{
    pfc_buf out;

    pfc_buf_init(&out, 4 * 1024 * 1024);
    for (size_t i = 0; i < pfc_statements_len; i++) {
        if (!pfc_statements[i].copy)
            pfc_buf_printf(&out, "PREPARE %s AS %s;", pfc_statements[i].name,
                           pfc_statements[i].sql);
    }
    return pfc_buf_take(&out);
}

/* A page of the list of series. */
#define SERIES(word, change, sort, cursor)                                                         \
    "series_order (1, NULL, NULL, NULL, NULL, NULL, " #word ", NULL, NULL, NULL, false, " #change  \
    ", " #sort ", " #cursor ", 0, 2)"

Test(plans, every_index_is_used_and_no_large_table_is_read_whole)
{
    /* With values of their own: 1 is a bad example of an age, of a place in the log, and of the
     * newest run that a batch judges. */
    static const struct {
        const char *call, *index, *settings;
    } asked[] = { { "jobs_prune (30, 5000)", "jobs_by_age", "" },
                  { "audit_list (1, NULL, 100)", "audit_of_project", "" },
                  { "history_last_run (1, 'main', 29990, 20000)", "runs_pkey", "" },
                  { "queue_look (20000, NULL, NULL, NULL, 0)", "jobs_of_runners", "" },
                  { SERIES(NULL, NULL, 'name', 7), "series_keys_by_name", "" },
                  { SERIES(NULL, NULL, 'change', 7), "series_keys_by_change", "" },
                  { SERIES(NULL, NULL, 'noise', 7), "series_keys_by_noise", "" },
                  { SERIES(NULL, 'improvement', 'name', NULL), "series_keys_changed", "" },
                  { SERIES('%zqx%', NULL, 'name', NULL), "series_keys_words",
                    "SET enable_seqscan = off; SET enable_indexscan = off;"
                    " SET enable_indexonlyscan = off;" } };
    char *url = pfc_test_db_url(false), *all = prepare_all(), *sql;

    pfc_test_sql(url, rows);
    pfc_test_sql(url, "VACUUM ANALYZE");
    pfc_test_sql(url, collect);
    sql = pfc_format("%s SET plan_cache_mode = force_custom_plan; SELECT test.collect();", all);
    pfc_test_sql(url, sql);
    free(sql);
    /* The check of everything, and what an administrator asks before results are hidden. */
    expect(url, "a large table is read whole",
           "SELECT string_agg(DISTINCT statement || ':' || name, ' ') FROM test.used WHERE kind = "
           "'whole'"
           " AND name IN ('commits', 'branch_commits', 'runs', 'run_parts', 'jobs', 'audit', "
           "'alerts', "
           "'measurements_'"
           " || to_char(now() AT TIME ZONE 'UTC', 'YYYYMM')) AND statement NOT IN ('store_checks', "
           "'jobs_prune', 'quarantine_preview', 'history_last_run')",
           "");
    for (size_t i = 0; i < PFC_ARRAY_LEN(asked); i++) {
        sql = pfc_format(
            "%s SET plan_cache_mode = force_custom_plan; %s EXPLAIN (FORMAT JSON) EXECUTE %s", all,
            asked[i].settings, asked[i].call);
        char *plan = pfc_test_sql_value(url, sql);
        cr_assert(ne(ptr, strstr(plan, asked[i].index), NULL), "%s: %s", asked[i].call, plan);
        free(plan);
        free(sql);
    }
    /* One plan for all values: those of judging, and others that a transaction may have. */
    sql = pfc_format("%s SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off;"
                     " TRUNCATE test.used; SELECT test.collect()",
                     all);
    pfc_test_sql(url, sql);
    free(sql);
    expect(
        url, "a large table is read whole by a plan for all values",
        "SELECT string_agg(DISTINCT statement || ':' || name, ' ') FROM test.used WHERE kind ="
        " 'whole' AND name IN ('commits', 'branch_commits', 'runs', 'run_parts', 'jobs', 'alerts',"
        " 'measurements_' || to_char(now() AT TIME ZONE 'UTC', 'YYYYMM'))"
        " AND statement NOT IN ('store_checks', 'quarantine_preview')",
        "");
    /* An index for which no statement has a use, however small the other tables, only costs. */
    sql = pfc_format("%s SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off;"
                     " SELECT test.collect(); SET plan_cache_mode = force_custom_plan;"
                     " SELECT test.collect(); DROP INDEX jobs_of_runners;"
                     /* which serves in place of jobs_took where no kind is rare */
                     " SELECT test.collect()",
                     all);
    pfc_test_sql(url, sql);
    free(sql);
    expect(
        url, "an index that nothing uses",
        "SELECT string_agg(x.relname, ' ') FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid"
        " JOIN pg_class c ON c.oid = i.indrelid WHERE c.relnamespace = 'public'::regnamespace"
        " AND NOT i.indisunique AND NOT c.relispartition AND c.relkind = 'r'"
        " AND x.relname NOT IN (SELECT name FROM test.used WHERE kind = 'index'"
        " UNION ALL SELECT unnest(ARRAY['jobs_by_age', 'audit_of_project', 'series_keys_by_change',"
        " 'series_keys_by_noise', 'series_keys_changed', 'series_keys_words']))",
        "");
    free(all);
    free(url);
}

static const char *statement(const char *name)
{
    for (size_t i = 0; i < pfc_statements_len; i++)
        if (strcmp(pfc_statements[i].name, name) == 0)
            return pfc_statements[i].sql;
    cr_fail("no statement %s", name);
    return NULL;
}

/* Planning a lease takes ten times what it executes, and 1,000 waiting runners lease all the time.
 * PostgreSQL keeps a plan from the sixth execution on if it expects the same cost as with the
 * values. */
Test(plans, the_plan_of_a_lease_is_kept)
{
    static const char *const arguments[] = {
        "'r', 'c', '{\"a\": \"1\", \"b\": \"2\"}', '{}', NULL, 'h', 60, 1, NULL, NULL",
        "'r', 'c', '{\"a\": \"1\", \"b\": \"2\"}', '{cpu,gpu}', 1, 'h', 60, NULL, NULL, NULL"
    };
    char *url = pfc_test_db_url(false);

    pfc_test_sql(url, rows);
    pfc_test_sql(url, "INSERT INTO jobs (project_id, kind, sha, labels) SELECT 1, 'measure',"
                      " repeat('0', 40), jsonb_build_object('ticket', g)"
                      " FROM generate_series(1, 5000) g");
    pfc_test_sql(url, "VACUUM ANALYZE");
    for (size_t i = 0; i < PFC_ARRAY_LEN(arguments); i++) {
        pfc_buf sql;

        pfc_buf_init(&sql, 1 << 20);
        pfc_buf_printf(&sql, "PREPARE lease AS %s;", statement("job_lease"));
        for (int n = 0; n < 20; n++)
            pfc_buf_printf(&sql, " EXECUTE lease (%s);", arguments[i]);
        pfc_buf_puts(&sql, " SELECT generic_plans || ' of ' || generic_plans + custom_plans"
                           " FROM pg_prepared_statements");
        expect(url, arguments[i], pfc_buf_text(&sql), "15 of 20");
        pfc_buf_clear(&sql);
    }
    free(url);
}

/* Without statistics, as on the first day of a database, runs and jobs are looked up for each
 * result: a join by the commit alone costs the square of the runs of a commit. */
Test(plans, the_evidence_of_a_commit_is_looked_up_by_key)
{
    char *url = NULL, *plan;
    pfc_db *db = pfc_test_db_open(1, &url); /* its tables were never analysed */

    plan = pfc_test_sql_value(url, "EXPLAIN (FORMAT JSON) SELECT * FROM result_evidence"
                                   " WHERE project_id = 1 AND commit_id = 1");
    cr_assert(ne(ptr, strstr(plan, "(id = m.run_id)"), NULL), "%s", plan);
    cr_assert(eq(ptr, strstr(plan, "Join Filter"), NULL), "%s", plan);
    free(plan);
    free(url);
    pfc_db_close(db);
}

/* The blocks that a statement reads. */
static int blocks_of(const char *url, const char *name, const char *arguments)
{
    char *sql = pfc_format("PREPARE asked AS %s; EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON)"
                           " EXECUTE asked (%s)",
                           statement(name), arguments);
    char *plan = pfc_test_sql_value(url, sql);
    const char *blocks = strstr(plan, "\"Shared Hit Blocks\": "); /* the first: all of it */
    int n;

    cr_assert(ne(ptr, blocks, NULL), "%s: %s", name, plan);
    n = atoi(strchr(blocks, ':') + 1);
    free(plan);
    free(sql);
    return n;
}

/* The cost of a commit must not grow with the commits before it: in a database without statistics,
 * as in its first minute, in which a project sends its history, and on a branch that is newer than
 * the statistics. */
Test(plans, new_commits_are_placed_by_what_is_new)
{
    static const char *const asked[][2] = {
        { "branch_members_add", "1, 'main', shas()" },
        { "branch_append", "1, 'main', shas(), 19800" },
        { "branch_children", "1, 'main', ids()" },
        { "branch_has", "1, 'main', shas()" },
    };
    static const char *const of_new_branch[][2] = {
        { "branch_members_add", "1, 'release', shas()" },
        { "branch_children", "1, 'release', ids()" },
        { "branch_end", "1, 'release', ids(), 2" },
        { "branch_positions_set", "1, 'release', ids(), ids(), 0" },
    };
    const int most = 200 * 40; /* a commit needs 13 to 23 */
    char *url = pfc_test_db_url(false);

    pfc_test_sql(
        url, "INSERT INTO projects (name) VALUES ('p');"
             " INSERT INTO branches (project_id, name) VALUES (1, 'main'), (1, 'release');"
             " INSERT INTO commits (project_id, sha, parents, time) SELECT 1,"
             " lpad(to_hex(g), 40, '0'), ARRAY[lpad(to_hex(g - 1), 40, '0')], now()"
             " FROM generate_series(1, 20000) g;"
             " INSERT INTO branch_commits SELECT 1, 'main', id, id FROM commits WHERE id <= 19800;"
             " CREATE FUNCTION shas() RETURNS text[] LANGUAGE sql AS"
             " 'SELECT array_agg(sha ORDER BY id) FROM commits WHERE id > 19800';"
             " CREATE FUNCTION ids() RETURNS bigint[] LANGUAGE sql AS"
             " 'SELECT array_agg(id) FROM commits WHERE id > 19800'");
    for (size_t i = 0; i < PFC_ARRAY_LEN(asked); i++)
        cr_expect(lt(i32, blocks_of(url, asked[i][0], asked[i][1]), most), "%s", asked[i][0]);
    expect(url, "placed", "SELECT count(*) FROM branch_commits WHERE position = commit_id",
           "20000");

    pfc_test_sql(url, "VACUUM ANALYZE");
    pfc_test_sql(url, "INSERT INTO branch_commits SELECT 1, 'release', id FROM commits"
                      " WHERE id BETWEEN 10000 AND 19800");
    for (size_t i = 0; i < PFC_ARRAY_LEN(of_new_branch); i++)
        cr_expect(lt(i32, blocks_of(url, of_new_branch[i][0], of_new_branch[i][1]), most),
                  "%s of a new branch", of_new_branch[i][0]);
    expect(url, "placed on the new branch",
           "SELECT count(*) FROM branch_commits WHERE branch = 'release' AND position = commit_id",
           "200");
    free(url);
}

/* A project that is newer than the statistics: the planner expects one row of it in each table, and
 * takes any index that begins with the project. */
static void expect_placed_by_key(bool unprepared)
{
    char *url = pfc_test_db_url(false), *read;
    const pfc_db_opts opts = {
        .url = url, .connections = 1, .statement_ms = 120000, .unprepared = unprepared
    };
    pfc_err err = { 0 };
    pfc_db *db = NULL;
    bool left;

    pfc_test_sql(url, "INSERT INTO projects (name) VALUES ('old');"
                      " INSERT INTO branches (project_id, name) VALUES (1, 'main');"
                      " INSERT INTO commits (project_id, sha, parents, time) SELECT 1,"
                      " lpad(to_hex(g), 40, '0'), ARRAY[lpad(to_hex(g - 1), 40, '0')], now()"
                      " FROM generate_series(1, 20000) g;"
                      " INSERT INTO branch_commits SELECT 1, 'main', id, id FROM commits");
    pfc_test_sql(url, "VACUUM ANALYZE");
    pfc_test_sql(url, "INSERT INTO projects (name) VALUES ('new')");
    cr_assert(eq(int, pfc_db_open(&db, &opts, &err), PFC_OK), "%s", err.msg);
    for (unsigned n = 1; n <= 3000; n += 1000)
        fx_commits(db, 2, n, n + 999);
    pfc_db_close(db);
    do { /* what a connection has counted is known when it has ended */
        char *others = pfc_test_sql_value(url, "SELECT count(*) FROM pg_stat_activity WHERE datname"
                                               " = current_database() AND pid <> pg_backend_pid()");

        left = strcmp(others, "0") != 0;
        free(others);
    } while (left);
    expect(url, "placed",
           "SELECT count(*) FROM branch_commits WHERE project_id = 2 AND position IS NOT NULL",
           "3000");
    read = pfc_test_sql_value(url, "SELECT sum(idx_tup_read) FROM pg_stat_user_indexes"
                                   " WHERE relname IN ('commits', 'branch_commits')");
    cr_expect(lt(i32, atoi(read), 3000 * 40), "unprepared: %d", unprepared);
    free(read);
    free(url);
}

Test(plans, a_project_newer_than_the_statistics_is_placed_by_its_keys)
{
    expect_placed_by_key(false);
    expect_placed_by_key(true);
}
