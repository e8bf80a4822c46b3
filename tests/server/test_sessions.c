/* Sessions and visits, stored and given back. */

#include "server/services/access/project_delete.h"
#include "server/services/ingest/ingest.h"
#include "server/services/ingest/prepared.h"
#include "server/services/sessions/sessions.h"
#include "server/workers/workers.h"

#include "tests/check/check.h"
#include "tests/server/fixture.h"
#include "tests/support/cluster_hooks.h"

#define SESSION "5e5510000000000000000000000000aa"

static void expect(const char *url, const char *sql, const char *want)
{
    char *got = pfc_test_sql_value(url, sql);

    cr_assert(eq(str, got ? got : (char *)"", (char *)(uintptr_t)want), "%s", sql);
    free(got);
}

/* A run of commit n in the session: three launches of gemm/a at these blocks, and one measured
 * outside. */
static pfc_run *visited(unsigned n, uint32_t first_block)
{
    pfc_run *run = fx_run(n);

    run->session_id = pfc_strdup(SESSION);
    run->session_anchor = pfc_strdup(fx_sha(1));
    run->session_base = pfc_strdup(fx_sha(2));
    run->branch = pfc_strdup("main");
    fx_measure(run, "gemm/a", "time_ns", 100, 0.01, 6, 3, n);
    run->measurements[0].visits = pfc_calloc(3, sizeof(pfc_session_position));
    for (uint32_t i = 0; i < 3; i++)
        run->measurements[0].visits[i] = (pfc_session_position){ first_block + i, (n + i) % 8 };
    fx_measure(run, "gemm/b", "time_ns", 100, 0.01, 6, 3, n);
    return run;
}

static void expect_back(pfc_db *db, int64_t project, int64_t id, const pfc_run *run)
{
    char *want = pfc_run_to_text(run), *got;
    pfc_run *back = NULL;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_run_load(db, project, id, &back, &err), PFC_OK), "%s", err.msg);
    got = pfc_run_to_text(back);
    cr_assert(eq(str, got, want));
    free(got);
    free(want);
    pfc_run_free(back);
}

Test(sessions, a_run_is_given_back_with_its_visits_whichever_way_it_was_stored)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    int64_t p = fx_project(db);
    pfc_run *alone = visited(1, 0), *first = visited(2, 7), *second = fx_run(3);
    pfc_ingest in[2] = { 0 }, *both[2] = { &in[0], &in[1] };
    pfc_group_state states[2];
    pfc_ingest_result results[2] = { 0 };
    pfc_err err = { 0 };

    fx_commits(db, p, 1, 3);
    cr_assert(eq(int, pfc_run_ingest(db, "test", p, alone, NULL, &results[0], &err), PFC_OK), "%s",
              err.msg);
    expect_back(db, p, results[0].run_id, alone);

    /* Now all is known that these need: they are stored by inserts and one COPY. One has no
     * session. */
    second->branch = pfc_strdup("main");
    fx_measure(second, "gemm/a", "time_ns", 100, 0.01, 6, 3, 5);
    cr_assert(eq(int, pfc_ingest_prepare(&in[0], "test", p, first, NULL, &err), PFC_OK));
    cr_assert(eq(int, pfc_ingest_prepare(&in[1], "test", p, second, NULL, &err), PFC_OK));
    cr_assert(eq(int, pfc_ingest_group(db, both, 2, states, results, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, (int)states[0], PFC_GROUP_STORED));
    cr_assert(eq(int, (int)states[1], PFC_GROUP_STORED));
    expect_back(db, p, results[0].run_id, first);
    expect_back(db, p, results[1].run_id, second);
    expect(url, "SELECT count(*) FROM measurements WHERE visit_blocks IS NOT NULL", "2");
    expect(url,
           "SELECT visit_blocks::text || visit_positions::text FROM measurements WHERE"
           " visit_blocks[1] = 7",
           "{7,8,9}{2,3,4}");
    pfc_ingest_clear(&in[0]);
    pfc_ingest_clear(&in[1]);
    pfc_run_free(alone);
    pfc_run_free(first);
    pfc_run_free(second);
    pfc_db_close(db);
    free(url);
}

Test(sessions, another_session_or_other_visits_are_another_document)
{
    pfc_db *db = pfc_test_db_open(2, NULL);
    int64_t p = fx_project(db);
    pfc_run *run = visited(1, 0);
    pfc_ingest_result result = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_run_ingest(db, "test", p, run, NULL, &result, &err), PFC_OK));
    cr_assert(eq(int, pfc_run_ingest(db, "test", p, run, NULL, &result, &err), PFC_OK));
    cr_assert(result.repeated);
    run->measurements[0].visits[2].position ^= 1;
    cr_assert(eq(int, pfc_run_ingest(db, "test", p, run, NULL, &result, &err), PFC_ECONFLICT));
    run->measurements[0].visits[2].position ^= 1;
    run->session_anchor[39] ^= 3;
    cr_assert(eq(int, pfc_run_ingest(db, "test", p, run, NULL, &result, &err), PFC_ECONFLICT));
    pfc_run_free(run);
    pfc_db_close(db);
}

static const char document[] =
    "{\"id\":\"" SESSION "\",\"anchor\":\"0000000000000000000000000000000000000001\","
    "\"base\":\"0000000000000000000000000000000000000002\",\"machine_class\":\"test-cpu\","
    "\"machine\":\"host-1\",\"started_at\":\"2026-11-22T01:00:00Z\","
    "\"finished_at\":\"2026-11-22T01:20:00Z\",\"budget_s\":1800,\"spent_s\":1200.5,\"blocks\":12,"
    "\"commits\":["
    "{\"commit\":\"0000000000000000000000000000000000000003\",\"status\":\"measured\","
    "\"needs_s\":60},"
    "{\"commit\":\"0000000000000000000000000000000000000004\",\"status\":\"identical\","
    "\"same_as\":\"0000000000000000000000000000000000000003\"},"
    "{\"commit\":\"0000000000000000000000000000000000000005\",\"status\":\"broken\","
    "\"reason\":\"make: exit status 2\"},"
    "{\"commit\":\"0000000000000000000000000000000000000006\",\"status\":\"not_measured\","
    "\"reason\":\"the budget is spent\"}]%s}";

static pfc_code store(pfc_db *db, int64_t project, const char *more, bool *repeated, pfc_err *err)
{
    char *text = pfc_format(document, more);
    pfc_session *session = NULL;
    pfc_code code = pfc_session_from_json(text, strlen(text), &session, err);

    cr_assert(eq(int, code, PFC_OK), "%s", err->msg);
    code = pfc_session_store(db, "test", project, session, repeated, err);
    pfc_session_free(session);
    free(text);
    return code;
}

Test(sessions, the_same_session_again_changes_nothing_and_another_one_is_a_conflict)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    int64_t p = fx_project(db);
    pfc_session_rows rows = { 0 };
    pfc_session_commit_rows commits = { 0 };
    bool repeated = true;
    pfc_err err = { 0 };

    fx_commits(db, p, 1, 5); /* the sixth is known by the session only */
    fx_ingest(db, p, visited(3, 0));
    fx_detect(db);
    cr_assert(eq(int, store(db, p, "", &repeated, &err), PFC_OK), "%s", err.msg);
    cr_assert(not(repeated));
    expect(url, "SELECT count(*) FROM jobs WHERE kind = 'detect' AND state = 'queued'", "1");
    cr_assert(eq(int, store(db, p, " , \"note\" : null ", &repeated, &err), PFC_OK), "%s", err.msg);
    cr_assert(repeated);
    expect(url, "SELECT count(*) FROM jobs WHERE kind = 'detect' AND state = 'queued'", "1");
    cr_assert(eq(int, store(db, p, ",\"note\":\"x\"", &repeated, &err), PFC_ECONFLICT));
    cr_assert(eq(str, err.msg, "id: session " SESSION " is stored with another content"));
    cr_assert(eq(int, store(db, p + 1, "", &repeated, &err), PFC_ENOTFOUND));

    cr_assert(eq(int, pfc_sessions_list(db, p, (pfc_page){ 0 }, &rows, &commits, &err), PFC_OK),
              "%s", err.msg);
    cr_assert(eq(sz, rows.len, 1));
    cr_assert(eq(str, (char *)(uintptr_t)rows.items[0].branch, "main"));
    cr_assert(eq(str, (char *)(uintptr_t)rows.items[0].base, (char *)(uintptr_t)fx_sha(2)));
    cr_assert(eq(dbl, rows.items[0].spent_s, 1200.5));
    cr_assert_null(rows.items[0].note);
    cr_assert(eq(sz, commits.len, 4));
    cr_assert(eq(dbl, commits.items[0].needs_s, 60));
    cr_assert(eq(str, (char *)(uintptr_t)commits.items[1].same_as, (char *)(uintptr_t)fx_sha(3)));
    cr_assert(eq(str, (char *)(uintptr_t)commits.items[2].reason, "make: exit status 2"));
    cr_assert(eq(str, (char *)(uintptr_t)commits.items[3].commit, (char *)(uintptr_t)fx_sha(6)));
    pfc_rows_clear(&rows);
    pfc_rows_clear(&commits);
    pfc_db_close(db);
    free(url);
}

/* Commit 3 was judged before: it is measured since later ones are compared with it, and is none of
 * the session's. */
Test(sessions, a_commit_may_be_identical_to_one_that_was_judged_before)
{
    static const char text[] =
        "{\"id\":\"" SESSION "\",\"anchor\":\"0000000000000000000000000000000000000001\","
        "\"base\":\"0000000000000000000000000000000000000002\",\"machine_class\":\"test-cpu\","
        "\"started_at\":\"2026-11-22T01:00:00Z\",\"finished_at\":\"2026-11-22T01:20:00Z\","
        "\"spent_s\":1,\"blocks\":2,\"commits\":["
        "{\"commit\":\"0000000000000000000000000000000000000004\",\"status\":\"identical\","
        "\"same_as\":\"0000000000000000000000000000000000000003\"}]}";
    pfc_db *db = pfc_test_db_open(2, NULL);
    int64_t p = fx_project(db);
    pfc_session *session = NULL;
    pfc_session_rows rows = { 0 };
    pfc_session_commit_rows commits = { 0 };
    bool repeated = true;
    pfc_err err = { 0 };

    fx_commits(db, p, 1, 5);
    cr_assert(eq(int, pfc_session_from_json(text, sizeof text - 1, &session, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(int, pfc_session_store(db, "test", p, session, &repeated, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(int, pfc_sessions_list(db, p, (pfc_page){ 0 }, &rows, &commits, &err), PFC_OK));
    cr_assert(eq(sz, commits.len, 1));
    cr_assert(eq(str, (char *)(uintptr_t)commits.items[0].same_as, (char *)(uintptr_t)fx_sha(3)));
    pfc_rows_clear(&rows);
    pfc_rows_clear(&commits);
    pfc_session_free(session);
    pfc_db_close(db);
}

/* Runs of both sides name the hash of their code. */
static pfc_run *hashed(unsigned n, uint32_t first_block, const char *hash)
{
    pfc_run *run = visited(n, first_block);

    for (size_t i = 0; i < run->measurements_len && hash; i++)
        pfc_labels_set(&run->measurements[i].extra, PFC_OBJECT, hash);
    return run;
}

static void expect_code(pfc_db *db, int64_t p, unsigned b, size_t functions, const char *expected)
{
    pfc_session_function_rows rows = { 0 };
    const char *object_code = NULL;
    pfc_tx *tx = NULL;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_tx_begin(&tx, db, PFC_TX_SNAPSHOT, &err), PFC_OK));
    cr_assert(eq(int,
                 pfc_session_code(tx, p, SESSION, fx_sha(2), fx_sha(b), &rows, &object_code, &err),
                 PFC_OK),
              "%s", err.msg);
    pfc_tx_free(tx);
    cr_assert(eq(sz, rows.len, functions));
    for (size_t i = 0; i < rows.len; i++) {
        cr_assert(eq(str, (char *)(uintptr_t)rows.items[i].name, i ? "scale" : "dot"));
        cr_assert(eq(i64, rows.items[i].before, i ? 7 : 100));
        cr_assert(eq(i64, rows.items[i].after, i ? 0 : 300));
    }
    cr_assert(pfc_streq(object_code, expected), "commit %u: %s", b,
              object_code ? object_code : "not known");
    pfc_rows_clear(&rows);
}

Test(sessions, keep_the_functions_that_changed_and_compare_the_object_code)
{
    char *text = pfc_format(
        "{\"id\":\"" SESSION "\",\"anchor\":\"%s\",\"base\":\"%s\",\"branch\":\"main\","
        "\"machine_class\":\"c\",\"started_at\":\"2026-11-22T10:00:00Z\",\"finished_at\":"
        "\"2026-11-22T11:00:00Z\",\"spent_s\":9,\"blocks\":4,\"commits\":[{\"commit\":\"%s\","
        "\"status\":\"measured\",\"functions\":[{\"name\":\"dot\",\"before\":100,\"after\":300},"
        "{\"name\":\"scale\",\"before\":7,\"after\":0}]},{\"commit\":\"%s\",\"status\":"
        "\"measured\"},{\"commit\":\"%s\",\"status\":\"measured\"}]}",
        fx_sha(1), fx_sha(2), fx_sha(3), fx_sha(4), fx_sha(5));
    pfc_db *db = pfc_test_db_open(2, NULL);
    int64_t p = fx_project(db);
    pfc_session *session = NULL;
    bool repeated = true;
    pfc_err err = { 0 };

    fx_commits(db, p, 1, 6);
    fx_ingest(db, p, hashed(2, 0, "aa"));
    fx_ingest(db, p, hashed(3, 3, "bb"));
    fx_ingest(db, p, hashed(4, 6, "aa"));
    fx_ingest(db, p, hashed(5, 9, NULL));
    cr_assert(eq(int, pfc_session_from_json(text, strlen(text), &session, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(int, pfc_session_store(db, "test", p, session, &repeated, &err), PFC_OK), "%s",
              err.msg);
    expect_code(db, p, 3, 2, "different");
    expect_code(db, p, 4, 0, "identical");
    expect_code(db, p, 5, 0, NULL); /* its run names no hash */
    expect_code(db, p, 6, 0, NULL); /* not measured */
    pfc_session_free(session);
    free(text);
    pfc_db_close(db);
}

Test(sessions, go_with_their_project)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    int64_t p = fx_project(db);
    pfc_project_gone gone = { 0 };
    bool repeated;
    pfc_err err = { 0 };

    fx_ingest(db, p, visited(3, 0));
    cr_assert(eq(int, store(db, p, "", &repeated, &err), PFC_OK), "%s", err.msg);
    pfc_test_sql(url, "INSERT INTO session_functions SELECT project_id, session_id, commit_id, 0, "
                      "'f', 1, 2 FROM session_commits");
    fx_detect(db);
    cr_assert(eq(int, pfc_project_delete(db, "test", "p", 60, &gone, &err), PFC_OK), "%s", err.msg);
    cr_assert(gone.done);
    expect(url, "SELECT (SELECT count(*) FROM sessions) + (SELECT count(*) FROM session_commits)",
           "0");
    pfc_db_close(db);
    free(url);
}

/* Two commits of one old day: the newer one stands for it, with its visits. */
Test(sessions, visits_outlive_the_thinning_of_their_month)
{
    static const pfc_retention keep = { .raw_months = 12 };
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(3, &url);
    int64_t p = fx_project(db);
    pfc_retained done = { 0 };
    pfc_err err = { 0 };

    fx_commits(db, p, 1, 2);
    fx_ingest(db, p, visited(1, 0));
    fx_ingest(db, p, visited(2, 3));
    fx_detect(db);
    pfc_test_sql(url, "UPDATE commits SET time = '2020-01-02 10:00Z';"
                      "SELECT measurements_month('2020-01-01');"
                      "UPDATE measurements SET stored_at = '2020-01-15'");
    cr_assert(eq(int, pfc_retention_step(db, &keep, &done, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(i64, done.rows_before, 4));
    cr_assert(eq(i64, done.rows_after, 2));
    expect(url,
           "SELECT visit_blocks::text || visit_positions::text FROM measurements WHERE"
           " visit_blocks IS NOT NULL",
           "{3,4,5}{2,3,4}");
    pfc_db_close(db);
    free(url);
}
