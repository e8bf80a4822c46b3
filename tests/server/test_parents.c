/* Jobs that depend on other jobs, and delayed jobs: neither can be leased before it is due. */
#include <pthread.h>

#include <libpq-fe.h>

#include "core/base/clock.h"
#include "server/services/queue/queue.h"

#include "tests/check/check.h"
#include "tests/server/fixture.h"

static const pfc_lease_request runner = { .runner = "r1", .machine_class = "test-cpu" };

static pfc_code try_enqueue(const fx_ground *g, unsigned n, int priority, const int64_t *parents,
                            size_t len, int64_t *id, pfc_err *err)
{
    const pfc_job_spec spec = { .kind = "measure",
                                .commit = fx_sha(n),
                                .priority = priority,
                                .parents = parents,
                                .parents_len = len };
    pfc_jobs jobs = { 0 };
    bool created = false;
    pfc_code code = pfc_job_enqueue(g->db, "test", g->project, &spec, &created, &jobs, err);

    *id = code ? 0 : jobs.items[0].id;
    pfc_rows_clear(&jobs);
    return code;
}

static int64_t enqueue(const fx_ground *g, unsigned n, int priority, const int64_t *parents,
                       size_t len)
{
    pfc_err err = { 0 };
    int64_t id;

    cr_assert(eq(int, try_enqueue(g, n, priority, parents, len, &id, &err), PFC_OK), "%s", err.msg);
    return id;
}

static int64_t lease(const fx_ground *g, char secret[PFC_LEASE_SIZE])
{
    pfc_jobs jobs = { 0 };
    pfc_err err = { 0 };
    pfc_code code = pfc_job_lease(g->db, &runner, &jobs, secret, &err);
    int64_t id = code ? 0 : jobs.items[0].id;

    cr_assert(code == PFC_OK || code == PFC_ENOTFOUND, "%s", err.msg);
    pfc_rows_clear(&jobs);
    return id;
}

static void complete(const fx_ground *g, int64_t id, const char *secret, const char *status)
{
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_job_complete(g->db, id, secret, status, NULL, NULL, 0, &err), PFC_OK),
              "%s", err.msg);
}

static void expire(const fx_ground *g, size_t want)
{
    pfc_err err = { 0 };
    size_t expired = 0;

    cr_assert(eq(int, pfc_jobs_expire(g->db, &expired, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, expired, want));
}

static void assert_job(const fx_ground *g, int64_t id, const char *state, const char *reason)
{
    pfc_jobs jobs = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_jobs_get(g->db, id, &jobs, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(str, (char *)jobs.items[0].state, (char *)state), "job %lld", (long long)id);
    if (reason)
        cr_assert(eq(str, (char *)jobs.items[0].reason, (char *)reason));
    else
        cr_assert(eq(ptr, (char *)jobs.items[0].reason, NULL), "%s", jobs.items[0].reason);
    pfc_rows_clear(&jobs);
}

Test(parents, are_done_before_their_children_begin)
{
    fx_ground g = fx_begin(2);
    int64_t parents[2], child, grandchild;
    char first[PFC_LEASE_SIZE], second[PFC_LEASE_SIZE], third[PFC_LEASE_SIZE];

    parents[0] = enqueue(&g, 1, 10, NULL, 0);
    parents[1] = enqueue(&g, 2, 5, NULL, 0);
    child = enqueue(&g, 3, 90, parents, 2);
    grandchild = enqueue(&g, 4, 90, &child, 1);
    cr_assert(
        ne(i64, enqueue(&g, 3, 90, NULL, 0), child)); /* one that waits for nothing is another */
    cr_assert(eq(i64, enqueue(&g, 3, 90, parents, 2), child));
    cr_assert(eq(i64, lease(&g, first), parents[0])); /* raised, and the elder */
    cr_assert(eq(i64, lease(&g, second), parents[1]));
    cr_assert(gt(i64, lease(&g, third), grandchild)); /* the one without parents */
    cr_assert(eq(i64, lease(&g, third), 0));
    complete(&g, parents[1], second, "done");
    cr_assert(eq(i64, lease(&g, third), 0));
    complete(&g, parents[0], first, "done");
    cr_assert(eq(i64, lease(&g, third), child));
    cr_assert(eq(i64, lease(&g, first), 0));
    complete(&g, child, third, "done");
    cr_assert(eq(i64, lease(&g, third), grandchild));
    fx_end(&g);
}

Test(parents, that_end_otherwise_cancel_what_waits_for_them)
{
    fx_ground g = fx_begin(2);
    int64_t fails, stopped, dies, kept, children[3], grandchild;
    pfc_jobs jobs = { 0 };
    pfc_err err = { 0 };
    char secret[PFC_LEASE_SIZE];
    char *reason;

    fails = enqueue(&g, 1, 50, NULL, 0);
    cr_assert(eq(i64, lease(&g, secret), fails));
    stopped = enqueue(&g, 2, 0, NULL, 0);
    dies = enqueue(&g, 3, 0, NULL, 0);
    kept = enqueue(&g, 4, 0, NULL, 0);
    children[0] = enqueue(&g, 5, 0, (const int64_t[]){ fails, kept }, 2);
    children[1] = enqueue(&g, 6, 0, &stopped, 1);
    children[2] = enqueue(&g, 7, 0, &dies, 1);
    grandchild = enqueue(&g, 8, 0, &children[0], 1);

    complete(&g, fails, secret, "broken");
    reason = pfc_format("job %lld, for which it waited, failed", (long long)fails);
    assert_job(&g, children[0], "cancelled", reason);
    free(reason);
    reason = pfc_format("job %lld, for which it waited, was cancelled", (long long)children[0]);
    assert_job(&g, grandchild, "cancelled", reason);
    free(reason);
    assert_job(&g, children[1], "queued", NULL);
    cr_assert(eq(int, pfc_job_cancel(g.db, "test", stopped, &jobs, &err), PFC_OK), "%s", err.msg);
    pfc_rows_clear(&jobs);
    reason = pfc_format("job %lld, for which it waited, was cancelled", (long long)stopped);
    assert_job(&g, children[1], "cancelled", reason);
    free(reason);
    /* by whatever way a job ends: the sweep finds what was left */
    pfc_test_sql(
        g.url,
        "UPDATE jobs SET state = 'failed', finished_at = now() WHERE sha = repeat('0', 39) || '3'");
    assert_job(&g, children[2], "queued", NULL);
    cr_assert(eq(i64, lease(&g, secret), kept));
    cr_assert(eq(i64, lease(&g, secret), 0)); /* what failed is over, and not done */
    expire(&g, 0);
    reason = pfc_format("job %lld, for which it waited, failed", (long long)dies);
    assert_job(&g, children[2], "cancelled", reason);
    free(reason);
    assert_job(&g, kept, "leased", NULL);
    fx_end(&g);
}

Test(parents, that_are_none_are_refused)
{
    fx_ground g = fx_begin(2);
    pfc_jobs jobs = { 0 };
    pfc_err err = { 0 };
    int64_t gone = enqueue(&g, 1, 0, NULL, 0), id;
    int64_t many[PFC_JOB_MAX_PARENTS + 1] = { 0 };

    cr_assert(
        eq(int, try_enqueue(&g, 2, 0, (const int64_t[]){ 999999 }, 1, &id, &err), PFC_EINVAL));
    cr_assert(eq(str, err.field, "parents"));
    cr_assert(eq(int, pfc_job_cancel(g.db, "test", gone, &jobs, &err), PFC_OK), "%s", err.msg);
    pfc_rows_clear(&jobs);
    cr_assert(eq(int, try_enqueue(&g, 2, 0, &gone, 1, &id, &err), PFC_ECONFLICT));
    cr_assert(eq(int, try_enqueue(&g, 2, 0, many, PFC_JOB_MAX_PARENTS + 1, &id, &err), PFC_EINVAL));
    /* another project's */
    pfc_test_sql(g.url, "INSERT INTO projects (name, branch) VALUES ('other', 'main')");
    char *sql = pfc_format(
        "UPDATE jobs SET state = 'queued', finished_at = NULL, project_id = (SELECT id FROM "
        "projects WHERE name = 'other') WHERE id = %lld",
        (long long)gone);
    pfc_test_sql(g.url, sql);
    free(sql);
    cr_assert(eq(int, try_enqueue(&g, 2, 0, &gone, 1, &id, &err), PFC_EINVAL));
    fx_end(&g);
}

typedef struct asker {
    const fx_ground *g;
    int64_t parents[2];
} asker;

static void *enqueue_in_thread(void *arg)
{
    const asker *a = arg;
    int64_t id;
    pfc_err err = { 0 };

    return try_enqueue(a->g, 9, 50, a->parents, 2, &id, &err) ? pfc_strdup(err.msg) : NULL;
}

/* Returns when a session waits for a lock. */
static void await_waiter(const fx_ground *g)
{
    const int64_t until = pfc_clock_ns() + 240 * PFC_NS_PER_S;
    char *text;

    for (bool waiting = false; !waiting;) {
        text = pfc_test_sql_value(g->url, "SELECT count(*) FROM pg_locks WHERE NOT granted");
        waiting = strcmp(text, "0") != 0;
        free(text);
        cr_assert(pfc_clock_ns() < until, "no session waits for a lock");
        pfc_clock_sleep_ns(2 * PFC_NS_PER_MS);
    }
}

/* Two that name the same jobs in another order must not wait for each other in a circle. */
Test(parents, are_raised_in_one_order)
{
    fx_ground g = fx_begin(2);
    asker a = { .g = &g };
    char *text, *sql;
    pthread_t thread;
    void *why = NULL;
    pfc_args args = { 0 };
    pfc_tx *tx = NULL;
    pfc_err err = { 0 };

    a.parents[1] = enqueue(&g, 1, 10, NULL, 0);
    a.parents[0] = enqueue(&g, 2, 10, NULL, 0);
    cr_assert(eq(int, pfc_tx_begin(&tx, g.db, PFC_TX_WRITE, &err), PFC_OK), "%s", err.msg);
    pfc_args_i64(&args, g.project);
    pfc_args_i64s(&args, &a.parents[1], 1);
    pfc_args_i64(&args, 20);
    cr_assert(eq(int, pfc_tx_query(tx, "job_parents_raise", &args, NULL, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(int, pthread_create(&thread, NULL, enqueue_in_thread, &a), 0));
    await_waiter(&g);
    /* who waits for the first has not the second */
    sql = pfc_format(
        "SELECT count(*) FROM (SELECT 1 FROM jobs WHERE id = %lld FOR UPDATE SKIP LOCKED) AS q",
        (long long)a.parents[0]);
    text = pfc_test_sql_value(g.url, sql);
    cr_assert(eq(str, text, "1"));
    free(text);
    free(sql);
    cr_assert(eq(int, pfc_tx_commit(tx, &err), PFC_OK), "%s", err.msg);
    pfc_tx_free(tx);
    cr_assert(eq(int, pthread_join(thread, &why), 0));
    cr_assert(eq(ptr, why, NULL), "%s", (char *)why);
    text =
        pfc_test_sql_value(g.url, "SELECT string_agg(priority::text, ' ' ORDER BY id) FROM jobs");
    cr_assert(eq(str, text, "50 50 50"));
    free(text);
    fx_end(&g);
}

static void say(PGconn *pg, const char *sql)
{
    PGresult *res = PQexec(pg, sql);

    cr_assert(eq(int, PQresultStatus(res), PGRES_COMMAND_OK), "%s", PQerrorMessage(pg));
    PQclear(res);
}

static void *lease_in_thread(void *arg)
{
    pfc_jobs jobs = { 0 };
    pfc_err err = { 0 };
    char secret[PFC_LEASE_SIZE];
    pfc_code code = pfc_job_lease(arg, &runner, &jobs, secret, &err);

    pfc_rows_clear(&jobs);
    return code ? pfc_strdup(err.msg) : NULL;
}

/* A lease is asked for before the parent ends, held up, and given when it has ended: that is its
 * start. */
Test(parents, end_before_the_start_of_what_waited_for_them)
{
    fx_ground g = fx_begin(2);
    PGconn *other = PQconnectdb(g.url);
    const pfc_db_opts one = { .url = g.url, .connections = 1, .statement_ms = 240000 };
    pfc_db *db = NULL; /* its connection knows the statement already */
    pfc_jobs jobs = { 0 };
    pfc_err err = { 0 };
    pthread_t thread;
    void *why = NULL;
    char secret[PFC_LEASE_SIZE], *text;
    int64_t parent = enqueue(&g, 1, 0, NULL, 0), child = enqueue(&g, 2, 0, &parent, 1);

    cr_assert(eq(int, PQstatus(other), CONNECTION_OK), "%s", PQerrorMessage(other));
    cr_assert(eq(int, pfc_db_open(&db, &one, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_job_lease(db, &runner, &jobs, secret, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(i64, jobs.items[0].id, parent));
    pfc_rows_clear(&jobs);
    say(other, "BEGIN");
    say(other, "LOCK TABLE jobs IN ACCESS EXCLUSIVE MODE");
    cr_assert(eq(int, pthread_create(&thread, NULL, lease_in_thread, db), 0));
    await_waiter(&g);
    say(other, "UPDATE jobs SET state = 'done', lease_until = NULL, finished_at = clock_timestamp()"
               " WHERE state = 'leased'");
    say(other, "COMMIT");
    cr_assert(eq(int, pthread_join(thread, &why), 0));
    cr_assert(eq(ptr, why, NULL), "%s", (char *)why);
    assert_job(&g, child, "leased", NULL);
    text = pfc_test_sql_value(g.url, "SELECT c.started_at >= p.finished_at FROM jobs c"
                                     " JOIN jobs p ON p.id = c.parents[1]");
    cr_assert(eq(str, text, "t"));
    free(text);
    pfc_db_close(db);
    PQfinish(other);
    fx_end(&g);
}

/* The one lease that there is runs out, and its job waits for that long from then on. */
static void lose_lease(const fx_ground *g, double seconds)
{
    char *before = pfc_test_sql_value(g->url, "SELECT clock_timestamp()"), *sql, *right;

    pfc_test_sql(g->url, "UPDATE jobs SET lease_until = now() - interval '1 second' "
                         "WHERE state = 'leased'");
    expire(g, 1);
    sql = pfc_format("SELECT not_before - make_interval(secs => %g) BETWEEN '%s' AND "
                     "clock_timestamp() FROM jobs WHERE state = 'queued'",
                     seconds, before);
    right = pfc_test_sql_value(g->url, sql);
    cr_assert(eq(str, right, "t"), "%s", sql);
    free(right);
    free(sql);
    free(before);
}

Test(back_off, grows_after_each_lost_lease_and_ends)
{
    fx_ground g = fx_begin(2);
    int64_t id = enqueue(&g, 1, 50, NULL, 0), other;
    char secret[PFC_LEASE_SIZE];

    cr_assert(eq(i64, lease(&g, secret), id));
    lose_lease(&g, 10);
    cr_assert(eq(i64, lease(&g, secret), 0));
    other = enqueue(&g, 2, 0, NULL, 0);
    cr_assert(eq(i64, lease(&g, secret), other)); /* the other job does not wait for it */
    complete(&g, other, secret, "done");
    expire(&g, 0);
    cr_assert(eq(i64, lease(&g, secret), 0)); /* not before */
    pfc_test_sql(g.url, "UPDATE jobs SET not_before = now() WHERE state = 'queued'");
    cr_assert(eq(i64, lease(&g, secret), id));
    lose_lease(&g, 20);
    fx_end(&g);
}

Test(back_off, its_end_is_reported_to_waiting_leases)
{
    fx_ground g = fx_begin(2);
    pfc_listener *listener = NULL;
    pfc_err err = { 0 };
    char event[PFC_EVENT_MAX];
    int64_t id = enqueue(&g, 1, 0, NULL, 0);

    pfc_test_sql(g.url, "UPDATE jobs SET not_before = now() - interval '1 second'");
    cr_assert(eq(int, pfc_listener_open(&listener, g.url, &err), PFC_OK), "%s", err.msg);
    cr_assert(
        eq(int, pfc_listener_next(listener, 0, event, &err), PFC_ETIMEOUT)); /* it listens now */
    expire(&g, 0);
    pfc_code code;
    while ((code = pfc_listener_next(listener, 60000, event, &err)) == PFC_OK &&
           !strstr(event, "\"queued\""))
        ;
    cr_assert(eq(int, code, PFC_OK), "%s", err.msg);
    char *want = pfc_format("\"id\":%lld,", (long long)id);
    cr_assert(ne(ptr, strstr(event, want), NULL), "%s", event);
    free(want);
    expire(&g, 0); /* once */
    cr_assert(eq(int, pfc_listener_next(listener, 0, event, &err), PFC_ETIMEOUT));
    pfc_listener_close(listener);
    fx_end(&g);
}
