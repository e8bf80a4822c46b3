/* Questions for a job that come late, or twice: what a runner has in hand stays its own. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "server/repo/sql/jobs.h"
#include "server/services/ingest/ingest.h"
#include "server/services/queue/queue.h"

#include "tests/check/check.h"
#include "tests/server/fixture.h"
#include "tests/server/plant.h"
#include "tests/support/support.h"

#define SECRET "0123456789abcdef0123456789abcdef"

static int64_t add_job(const char *url, int64_t p)
{
    char *sql = pfc_format("INSERT INTO jobs (project_id, kind, sha) VALUES (%lld, 'measure',"
                           " repeat('0', 40)) RETURNING id",
                           (long long)p);
    char *id = pfc_test_sql_value(url, sql);
    const int64_t number = strtoll(id, NULL, 10);

    free(sql);
    free(id);
    return number;
}

/* Question `asked` under one secret: the job it brings, 0: none, -1: it is late. */
static int64_t ask(pfc_db *db, int64_t asked, char secret[PFC_LEASE_SIZE])
{
    const pfc_lease_request request = {
        .runner = "r1", .machine_class = "test-cpu", .lease = SECRET, .asked = asked
    };
    pfc_jobs jobs = { 0 };
    pfc_err err = { 0 };
    pfc_code code = pfc_job_lease(db, &request, &jobs, secret, &err);
    int64_t id = code == PFC_OK ? jobs.items[0].id : code == PFC_ECONFLICT ? -1 : 0;

    cr_assert(code == PFC_OK || code == PFC_ECONFLICT || code == PFC_ENOTFOUND, "%s", err.msg);
    pfc_rows_clear(&jobs);
    return id;
}

static void assert_jobs(const char *url, const char *want)
{
    char *got = pfc_test_sql_value(
        url, "SELECT string_agg(concat_ws(' ', state, tries, fence), ', ' ORDER BY id) FROM jobs");

    cr_assert(eq(str, got, (char *)(uintptr_t)want));
    free(got);
}

/* The answer to the first question is lost, its copy is still under way; it, and copies of those
 * that were answered, arrive when the runner is at work. */
Test(questions, a_late_question_takes_nothing_and_gives_nothing_back)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    int64_t p = fx_project(db), id = add_job(url, p), next;
    char secret[PFC_LEASE_SIZE], other[PFC_LEASE_SIZE];
    bool cancel = false;
    pfc_err err = { 0 };

    cr_assert(eq(i64, ask(db, 7, secret), id));
    next = add_job(url, p);
    cr_assert(eq(i64, ask(db, 8, secret), id)); /* no job is stuck, as without numbers */
    assert_jobs(url, "leased 2 2, queued 0 0");
    for (int64_t late = 6; late <= 8; late++)
        cr_assert(eq(i64, ask(db, late, other), -1));
    assert_jobs(url, "leased 2 2, queued 0 0");
    cr_assert(eq(int, pfc_job_heartbeat(db, id, secret, NULL, 60, &cancel, &err), PFC_OK));
    cr_assert(eq(int, pfc_job_complete(db, id, secret, "done", NULL, NULL, 0, &err), PFC_OK));
    cr_assert(eq(i64, ask(db, 8, other), -1)); /* its answer would not reach the runner */
    assert_jobs(url, "done 2 2, queued 0 0");
    cr_assert(eq(i64, ask(db, 9, secret), next));
    cr_assert(eq(int, pfc_job_complete(db, next, secret, "done", NULL, NULL, 0, &err), PFC_OK));
    /* while there is none it is asked again and again, until a later question comes */
    cr_assert(eq(i64, ask(db, 10, secret), 0));
    cr_assert(eq(i64, ask(db, 10, secret), 0));
    cr_assert(eq(i64, ask(db, 12, secret), 0));
    (void)add_job(url, p);
    cr_assert(eq(i64, ask(db, 10, other), -1));
    assert_jobs(url, "done 2 2, done 1 1, queued 0 0");
    cr_assert(gt(i64, ask(db, 12, secret), next));
    /* what is remembered of it goes */
    pfc_test_sql(url, "UPDATE lease_questions SET asked_at = now() - interval '47 hours'");
    cr_assert(eq(int, pfc_questions_prune(db, 2, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(i64, ask(db, 12, other), -1));
    pfc_test_sql(url, "UPDATE lease_questions SET asked_at = now() - interval '49 hours'");
    cr_assert(eq(int, pfc_questions_prune(db, 2, &err), PFC_OK), "%s", err.msg);
    cr_assert(gt(i64, ask(db, 1, secret), next));
    free(url);
    pfc_db_close(db);
}

static void *ask_first(void *db)
{
    char secret[PFC_LEASE_SIZE];

    return (void *)(intptr_t)ask(db, 1, secret);
}

/* Question 1 while question 2 is recorded, but not committed: the lease waits for that commit with
 * the job in hand. */
static int64_t ask_overtaken(pfc_db *db, const char *url)
{
    char hash[PFC_SHA256_HEX];
    pthread_t thread;
    pfc_tx *tx = NULL;
    void *found = NULL;
    bool late = false, ended = false;
    pfc_err err = { 0 };

    pfc_sha256_hex(SECRET, strlen(SECRET), hash);
    cr_assert(eq(int, pfc_tx_begin(&tx, db, PFC_TX_WRITE, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(
        int,
        pfc_sql_lease_question(
            tx, &(pfc_sql_lease_question_args){ .lease_hash = hash, .question = 2 }, &late, &err),
        PFC_OK));
    cr_assert(eq(int, pthread_create(&thread, NULL, ask_first, db), 0));
    while (!ended && plant_number(url, "SELECT count(*) FROM pg_locks WHERE NOT granted") == 0)
        ended = pthread_tryjoin_np(thread, &found) == 0; /* without the wait: a fault */
    cr_assert(eq(int, pfc_tx_commit(tx, &err), PFC_OK), "%s", err.msg);
    pfc_tx_free(tx);
    if (!ended)
        (void)pthread_join(thread, &found);
    return (int64_t)(intptr_t)found;
}

/* The later request runs between any two statements of the earlier one, and during its lease. */
Test(questions, a_question_that_is_overtaken_in_its_midst_gives_back_what_it_took)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    int64_t p = fx_project(db), id;
    char secret[PFC_LEASE_SIZE], other[PFC_LEASE_SIZE];
    bool cancel = false;
    pfc_err err = { 0 };

    cr_assert(eq(i64, ask(db, 1, secret), 0));
    id = add_job(url, p);
    cr_assert(eq(i64, ask_overtaken(db, url), -1));
    assert_jobs(url, "queued 0 1");
    pfc_test_sql(url, "CREATE SCHEMA test");
    cr_assert(eq(i64, ask(db, 2, secret), id));
    /* and before it gives back what was held, which is the later one's by now, and takes another */
    (void)add_job(url, p);
    pfc_test_sql(
        url, "CREATE FUNCTION test.outpace() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN UPDATE"
             " lease_questions SET heard_from = heard_from + 1; RETURN NULL; END $$;"
             "CREATE TRIGGER outpace AFTER UPDATE ON lease_questions FOR EACH ROW"
             " WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION test.outpace()");
    cr_assert(eq(i64, ask(db, 5, other), -1));
    assert_jobs(url, "leased 1 2, queued 0 1");
    cr_assert(eq(int, pfc_job_heartbeat(db, id, secret, NULL, 60, &cancel, &err), PFC_OK));
    free(url);
    pfc_db_close(db);
}
