/* Runs stored in groups: whole, once, and none taken down by its neighbour. */
#include <pthread.h>

#include "core/base/clock.h"
#include "server/services/ingest/ingest.h"
#include "server/services/ingest/queue_limit.h"

#include "tests/check/check.h"
#include "tests/server/fixture.h"
#include "tests/support/cluster_hooks.h"

/* Waits for tickets: counts the stored ones. */
typedef struct waiter {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    size_t done;
} waiter;

static void on_done(void *context, const uint64_t *tags, size_t len)
{
    waiter *w = context;

    (void)tags;
    pthread_mutex_lock(&w->lock);
    w->done += len;
    pthread_cond_broadcast(&w->wake);
    pthread_mutex_unlock(&w->lock);
}

static void wait_for(waiter *w, size_t count)
{
    pthread_mutex_lock(&w->lock);
    while (w->done < count)
        pthread_cond_wait(&w->wake, &w->lock);
    pthread_mutex_unlock(&w->lock);
}

static waiter counter = { .lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER };
static char *url;
static pfc_db *db;
static pfc_writer *writer;
static int64_t project;

static void begin(void)
{
    const pfc_writer_opts opts = { .threads = 1, .done = on_done, .context = &counter };
    pfc_writer_opts with_db = opts;
    pfc_err err = { 0 };

    db = pfc_test_db_open(4, &url);
    project = fx_project(db);
    fx_commits(db, project, 1, 5);
    with_db.db = db;
    cr_assert(eq(int, pfc_writer_start(&writer, &with_db, &err), PFC_OK), "%s", err.msg);
}

static void end(void)
{
    pfc_writer_stop(writer);
    pfc_db_close(db);
    free(url);
}

TestSuite(writer, .init = begin, .fini = end);

static pfc_run *one_benchmark(unsigned commit, unsigned seed)
{
    pfc_run *run = fx_run(commit);

    fx_measure(run, "gemm/a", "time_ns", 100, 0.01, 12, 3, seed);
    return run;
}

static pfc_ingest_ticket *ticket_of(pfc_run *run, const char *key)
{
    pfc_ingest_ticket *ticket = NULL;
    pfc_err err = { 0 };

    cr_assert(
        eq(int, pfc_ingest_ticket_new("test", project, run, key, 1000, &ticket, &err), PFC_OK),
        "%s", err.msg);
    return ticket;
}

static void submit(pfc_ingest_ticket *ticket)
{
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_writer_submit(writer, ticket, 1, &err), PFC_OK), "%s", err.msg);
}

static pfc_code take(pfc_ingest_ticket *ticket, pfc_ingest_result *out, pfc_err *err)
{
    return pfc_ingest_ticket_take(db, ticket, out, err);
}

static long number(const char *sql)
{
    char *text = pfc_test_sql_value(url, sql);
    long value = text ? strtol(text, NULL, 10) : -1;

    free(text);
    return value;
}

/* Keeps the writer's only thread busy inside one run until the lock is given back, so that all that
 * is submitted meanwhile becomes one group. */
typedef struct barrier {
    pfc_tx *tx;
    pfc_ingest_ticket *held;
} barrier;

static void hold(barrier *b)
{
    pfc_args args = { 0 };
    pfc_err err = { 0 };
    int64_t until;

    cr_assert(eq(int, pfc_tx_begin(&b->tx, db, PFC_TX_WRITE, &err), PFC_OK), "%s", err.msg);
    pfc_args_i64(&args, project);
    cr_assert(eq(int, pfc_tx_query(b->tx, "history_lock", &args, NULL, &err), PFC_OK), "%s",
              err.msg);
    /* A run of an unknown commit needs that lock. */
    b->held = ticket_of(one_benchmark(900, 1), NULL);
    submit(b->held);
    until = pfc_clock_ns() + 240 * PFC_NS_PER_S;
    while (number("SELECT count(*) FROM pg_locks WHERE NOT granted") == 0) {
        cr_assert(pfc_clock_ns() < until, "the writer never came to the lock");
        pfc_clock_sleep_ns(5 * PFC_NS_PER_MS);
    }
}

static void let_go(barrier *b)
{
    pfc_ingest_result result = { 0 };
    pfc_err err = { 0 };

    pfc_tx_free(b->tx);
    wait_for(&counter, 1);
    cr_assert(eq(int, take(b->held, &result, &err), PFC_OK), "%s", err.msg);
    pfc_ingest_ticket_free(b->held);
}

/* The series and the machine exist, so that a group is possible. */
static void store_first(void)
{
    fx_ingest(db, project, one_benchmark(1, 7));
    /* However slow the test is: a machine not seen for a minute is touched, one run at a time. */
    pfc_test_sql(url, "UPDATE machines SET last_seen_at = now() + interval '1 day'");
}

Test(writer, those_who_wait_share_one_transaction)
{
    enum { N = 40 };
    pfc_ingest_ticket *tickets[N];
    pfc_writer_counts counts = { 0 };
    pfc_ingest_result result = { 0 };
    barrier b = { 0 };
    pfc_err err = { 0 };

    store_first();
    pfc_test_sql(url, "INSERT INTO jobs (id, project_id, kind) OVERRIDING SYSTEM VALUE "
                      "SELECT 71, id, 'measure' FROM projects");
    hold(&b);
    for (unsigned i = 0; i < N; i++) {
        pfc_run *run = one_benchmark(1 + i % 5, i + 10);

        run->job_id = (const int64_t[]){ 71, 4711, 0, 0 }[i % 4];
        tickets[i] = ticket_of(run, NULL);
        submit(tickets[i]);
    }
    let_go(&b);
    wait_for(&counter, N + 1);
    for (unsigned i = 0; i < N; i++) {
        cr_assert(eq(int, take(tickets[i], &result, &err), PFC_OK), "%s", err.msg);
        cr_assert(not(result.repeated));
        cr_assert(gt(i64, result.run_id, 0));
        cr_assert(eq(i64, result.samples, 12));
        pfc_ingest_ticket_free(tickets[i]);
    }
    pfc_writer_figures(writer, &counts);
    cr_assert(eq(u64, counts.grouped, N));
    cr_assert(eq(u64, counts.alone, 1));
    cr_assert(eq(long, number("SELECT count(*) FROM runs"), N + 2));
    cr_assert(eq(long, number("SELECT count(*) FROM run_parts"), N + 2));
    cr_assert(eq(long, number("SELECT count(*) FROM measurements"), N + 2));
    cr_assert(eq(long, number("SELECT count(*) FROM audit WHERE action = 'ingest'"), N + 2));
    /* a job that there is none of is left out */
    cr_assert(eq(long, number("SELECT count(*) FROM runs WHERE job_id = 71"), N / 4));
    cr_assert(eq(long, number("SELECT count(*) FROM runs WHERE job_id IS NOT NULL"), N / 4));
    /* every run is queued for judging, like one that was stored alone */
    cr_assert(eq(long,
                 number("SELECT count(DISTINCT run_id) FROM jobs WHERE kind = 'detect'"
                        " AND run_id IS NOT NULL"),
                 N + 2));
    /* one transaction: one time stamp */
    cr_assert(eq(long,
                 number("SELECT max(n) FROM (SELECT count(*) AS n FROM runs GROUP BY"
                        " received_at) AS g"),
                 N));
}

/* Of the two runs of commit 2: rows of a table that differ in more than these columns. */
static void expect_equal_rows(const char *table, const char *rows, const char *but)
{
    char *sql = pfc_format("SELECT count(*) * 100 + count(DISTINCT to_jsonb(t) - "
                           "ARRAY['id', 'run_id', %s]) FROM %s t WHERE %s",
                           but, table, rows);

    cr_expect(eq(long, number(sql), 201), "%s", table);
    free(sql);
}

Test(writer, a_run_leaves_the_same_rows_alone_and_in_a_group)
{
#define OF_COMMIT_2                                                                                \
    "IN (SELECT r.id FROM runs r JOIN commits c ON c.id = r.commit_id AND "                        \
    "right(c.sha, 1) = '2')"
    pfc_run *alone = one_benchmark(2, 9);
    pfc_ingest_ticket *ticket = ticket_of(one_benchmark(2, 9), NULL);
    pfc_writer_counts counts = { 0 };
    pfc_ingest_result result = { 0 }, grouped = { 0 };
    barrier b = { 0 };
    pfc_err err = { 0 };

    store_first();
    cr_assert(eq(int, pfc_run_ingest(db, "test", project, alone, NULL, &result, &err), PFC_OK),
              "%s", err.msg);
    hold(&b);
    submit(ticket);
    let_go(&b);
    wait_for(&counter, 2);
    cr_assert(eq(int, take(ticket, &grouped, &err), PFC_OK), "%s", err.msg);
    pfc_writer_figures(writer, &counts);
    cr_assert(eq(u64, counts.grouped, 1));
    cr_expect(eq(i64, grouped.series, result.series));
    cr_expect(eq(i64, grouped.samples, result.samples));
    expect_equal_rows("runs", "t.id " OF_COMMIT_2,
                      "'header_hash', 'received_at', 'started_at', 'finished_at'");
    expect_equal_rows("run_parts", "t.run_id " OF_COMMIT_2, "'body_hash', 'received_at'");
    expect_equal_rows("measurements", "t.run_id " OF_COMMIT_2, "'stored_at'");
    expect_equal_rows("jobs", "t.kind = 'detect' AND t.run_id " OF_COMMIT_2, "'created_at'");
    expect_equal_rows(
        "audit",
        "t.action = 'ingest' AND t.object IN (SELECT 'run ' || x.id FROM runs x WHERE "
        "x.id " OF_COMMIT_2 ")",
        "'at', 'object', 'detail'");
    pfc_ingest_ticket_free(ticket);
    pfc_run_free(alone);
}

Test(writer, a_refused_run_does_not_take_its_neighbours_with_it)
{
    pfc_run *bad = fx_run(2), *fresh = fx_run(3), *other_way = one_benchmark(4, 2);
    pfc_ingest_ticket *good, *wrong, *turned, *new_series;
    pfc_ingest_result result = { 0 };
    barrier b = { 0 };
    pfc_err err = { 0 };

    store_first();
    fx_measure(bad, "gemm/a", "time_ns", 100, 0.01, 12, 3, 5);
    free(bad->measurements[0].unit);
    bad->measurements[0].unit = pfc_strdup("s"); /* the series has ns */
    fx_measure(fresh, "gemm/new", "time_ns", 100, 0.01, 12, 3, 5);
    other_way->measurements[0].higher_is_better = true;
    hold(&b);
    wrong = ticket_of(bad, NULL);
    turned = ticket_of(other_way, NULL);
    good = ticket_of(one_benchmark(2, 3), NULL);
    new_series = ticket_of(fresh, NULL);
    submit(wrong);
    submit(turned);
    submit(good);
    submit(new_series);
    let_go(&b);
    wait_for(&counter, 5);
    cr_assert(eq(int, take(wrong, &result, &err), PFC_EINVAL));
    cr_assert(ne(ptr, strstr(err.msg, "unit"), NULL), "%s", err.msg);
    cr_assert(eq(int, take(turned, &result, &err), PFC_EINVAL));
    cr_assert(eq(str, err.field, "measurements[0].direction"));
    cr_assert(eq(int, take(good, &result, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, take(new_series, &result, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(long, number("SELECT count(*) FROM runs"), 4));
    pfc_ingest_ticket_free(wrong);
    pfc_ingest_ticket_free(turned);
    pfc_ingest_ticket_free(good);
    pfc_ingest_ticket_free(new_series);
}

Test(writer, a_statement_that_fails_takes_the_group_apart_and_nothing_is_lost)
{
    enum { N = 12 };
    pfc_ingest_ticket *tickets[N];
    pfc_ingest_result result = { 0 };
    barrier b = { 0 };
    pfc_err err = { 0 };

    store_first();
    /* The database refuses one of them, by a rule that the program does not know. */
    pfc_test_sql(url, "ALTER TABLE run_parts ADD CHECK (key IS DISTINCT FROM 'refused')");
    hold(&b);
    for (unsigned i = 0; i < N; i++) {
        tickets[i] = ticket_of(one_benchmark(1 + i % 5, i + 10), i == 5 ? "refused" : NULL);
        submit(tickets[i]);
    }
    let_go(&b);
    wait_for(&counter, N + 1);
    for (unsigned i = 0; i < N; i++) {
        cr_assert(eq(int, take(tickets[i], &result, &err), i == 5 ? PFC_EINVAL : PFC_OK), "%u: %s",
                  i, err.msg);
        pfc_ingest_ticket_free(tickets[i]);
    }
    cr_assert(eq(long, number("SELECT count(*) FROM runs"), N - 1 + 2));
    cr_assert(eq(long, number("SELECT count(*) FROM measurements"), N - 1 + 2));
}

Test(writer, a_group_whose_jobs_cannot_be_made_is_not_stored)
{
    enum { N = 6 };
    pfc_ingest_ticket *tickets[N];
    pfc_ingest_result result = { 0 };
    barrier b = { 0 };
    pfc_err err = { 0 };

    store_first();
    hold(&b);
    for (unsigned i = 0; i < N; i++) {
        tickets[i] = ticket_of(one_benchmark(1 + i % 5, i + 10), NULL);
        submit(tickets[i]);
    }
    pfc_test_sql(
        url, "CREATE FUNCTION no_more() RETURNS trigger"
             " LANGUAGE plpgsql AS $$ BEGIN IF NEW.kind = 'detect' AND (SELECT count(*) FROM"
             " jobs WHERE kind = 'detect') >= 2 THEN RAISE EXCEPTION USING ERRCODE = '23514';"
             " END IF; RETURN NEW; END $$; CREATE TRIGGER no_more BEFORE INSERT ON jobs FOR EACH"
             " ROW EXECUTE FUNCTION no_more()");
    let_go(&b);
    wait_for(&counter, N + 1);
    for (unsigned i = 0; i < N; i++) {
        cr_assert(eq(int, take(tickets[i], &result, &err), PFC_EINVAL), "%u", i);
        pfc_ingest_ticket_free(tickets[i]);
    }
    cr_assert(eq(long, number("SELECT count(*) FROM runs"), 2));
    cr_assert(eq(long, number("SELECT count(*) FROM run_parts"), 2));
    cr_assert(eq(long, number("SELECT count(*) FROM measurements"), 2));
}

Test(writer, twins_in_one_group_are_stored_once)
{
    pfc_run *run = one_benchmark(2, 9), *twin = one_benchmark(2, 9), *other = one_benchmark(3, 9);
    pfc_ingest_ticket *tickets[3];
    pfc_ingest_result a = { 0 }, again = { 0 };
    barrier b = { 0 };
    pfc_err err = { 0 };

    store_first();
    free(twin->id);
    twin->id = pfc_strdup(run->id);
    hold(&b);
    tickets[0] = ticket_of(run, "key");
    tickets[1] = ticket_of(twin, "key");
    tickets[2] = ticket_of(other, "key"); /* another document under the same key */
    for (int i = 0; i < 3; i++)
        submit(tickets[i]);
    let_go(&b);
    wait_for(&counter, 4);
    cr_assert(eq(int, take(tickets[0], &a, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, take(tickets[1], &again, &err), PFC_OK), "%s", err.msg);
    cr_assert(not(a.repeated));
    cr_assert(again.repeated);
    cr_assert(eq(i64, a.run_id, again.run_id));
    cr_assert(eq(int, take(tickets[2], &again, &err), PFC_ECONFLICT));
    cr_assert(eq(long, number("SELECT count(*) FROM runs"), 3));
    for (int i = 0; i < 3; i++)
        pfc_ingest_ticket_free(tickets[i]);
}

Test(writer, a_ticket_that_was_never_queued_is_stored_by_itself)
{
    pfc_ingest_ticket *ticket = ticket_of(one_benchmark(1, 2), NULL);
    pfc_ingest_result result = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, take(ticket, &result, &err), PFC_OK), "%s", err.msg);
    cr_assert(not(result.repeated));
    pfc_ingest_ticket_free(ticket);
    cr_assert(eq(long, number("SELECT count(*) FROM runs"), 1));
}

Test(writer, stopping_stores_what_waits)
{
    enum { N = 20 };
    pfc_ingest_ticket *tickets[N];
    pfc_ingest_result result = { 0 };
    pfc_err err = { 0 };

    store_first();
    for (unsigned i = 0; i < N; i++) {
        tickets[i] = ticket_of(one_benchmark(1 + i % 5, i + 10), NULL);
        submit(tickets[i]);
    }
    pfc_writer_stop(writer);
    writer = NULL;
    for (unsigned i = 0; i < N; i++) {
        cr_assert(eq(int, take(tickets[i], &result, &err), PFC_OK), "%s", err.msg);
        pfc_ingest_ticket_free(tickets[i]);
    }
    cr_assert(eq(long, number("SELECT count(*) FROM runs"), N + 1));
}

/* ---- how many may wait ---- */

Test(writer, one_more_than_there_is_room_for_is_refused_and_the_rest_is_stored)
{
    enum { N = PFC_PACE_ROOM_MIN };
    const pfc_writer_opts slow = {
        .db = db, .threads = 1, .run_ns = 1e9, .done = on_done, .context = &counter
    };
    pfc_ingest_ticket *tickets[N], *late;
    pfc_writer_counts counts = { 0 };
    pfc_ingest_result result = { 0 };
    barrier b = { 0 };
    pfc_err err = { 0 };

    pfc_writer_stop(writer);
    cr_assert(eq(int, pfc_writer_start(&writer, &slow, &err), PFC_OK), "%s", err.msg);
    store_first();
    hold(&b);
    for (unsigned i = 0; i < N; i++) {
        tickets[i] = ticket_of(one_benchmark(1 + i % 5, i + 10), NULL);
        submit(tickets[i]);
    }
    late = ticket_of(one_benchmark(1, 9), NULL);
    cr_assert(eq(int, pfc_writer_submit(writer, late, 1, &err), PFC_EUNAVAIL));
    cr_assert(ne(ptr, strstr(err.msg, "try again later"), NULL), "%s", err.msg);
    pfc_writer_figures(writer, &counts);
    cr_assert(eq(sz, counts.waiting, N));
    cr_assert(eq(sz, counts.room, N));
    let_go(&b);
    wait_for(&counter, N + 1);
    for (unsigned i = 0; i < N; i++) {
        cr_assert(eq(int, take(tickets[i], &result, &err), PFC_OK), "%s", err.msg);
        pfc_ingest_ticket_free(tickets[i]);
    }
    /* there is room again */
    submit(late);
    wait_for(&counter, N + 2);
    cr_assert(eq(int, take(late, &result, &err), PFC_OK), "%s", err.msg);
    pfc_ingest_ticket_free(late);
    cr_assert(eq(long, number("SELECT count(*) FROM runs"), N + 3));
}

/* 53400 is nothing that passes, and nothing that the others meet. */
Test(writer, one_that_the_database_cannot_store_now_does_not_stop_those_behind_it)
{
    enum { N = 12 };
    pfc_ingest_ticket *tickets[N];
    pfc_ingest_result result = { 0 };
    barrier b = { 0 };
    pfc_err err = { 0 };

    store_first();
    pfc_test_sql(url,
                 "CREATE FUNCTION not_now() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
                 " IF NEW.key = 'late' THEN RAISE EXCEPTION USING ERRCODE = '53400'; END IF;"
                 " RETURN NEW; END $$; CREATE TRIGGER not_now BEFORE INSERT ON run_parts FOR EACH"
                 " ROW EXECUTE FUNCTION not_now()");
    hold(&b);
    for (unsigned i = 0; i < N; i++) {
        tickets[i] = ticket_of(one_benchmark(1 + i % 5, i + 10), i == 2 ? "late" : NULL);
        submit(tickets[i]);
    }
    let_go(&b);
    wait_for(&counter, N + 1);
    for (unsigned i = 0; i < N; i++) {
        cr_assert(eq(int, take(tickets[i], &result, &err), i == 2 ? PFC_EUNAVAIL : PFC_OK),
                  "%u: %s", i, err.msg);
        pfc_ingest_ticket_free(tickets[i]);
    }
    cr_assert(eq(long, number("SELECT count(*) FROM runs"), N - 1 + 2));
}

/* A transaction that the database aborts after a deadlock is stored by the next try, alone or with
 * others. */
Test(writer, a_circle_of_waiting_is_not_the_senders_concern)
{
    pfc_run *run = one_benchmark(2, 3);
    pfc_ingest_result result = { 0 };
    pfc_err err = { 0 };

    store_first();
    pfc_test_sql(url,
                 "CREATE SEQUENCE tries; CREATE FUNCTION circle() RETURNS trigger LANGUAGE plpgsql"
                 " AS $$ BEGIN IF nextval('tries') < 3 THEN RAISE EXCEPTION USING ERRCODE ="
                 " '40P01'; END IF; RETURN NULL; END $$; CREATE TRIGGER circle AFTER INSERT ON"
                 " run_parts FOR EACH ROW EXECUTE FUNCTION circle()");
    cr_assert(eq(int, pfc_run_ingest(db, "test", project, run, NULL, &result, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(not(result.repeated));
    pfc_run_free(run);
    cr_assert(eq(long, number("SELECT last_value FROM tries"), 3));
    cr_assert(eq(long, number("SELECT count(*) FROM runs"), 2));
    cr_assert(eq(long, number("SELECT count(*) FROM measurements"), 2));
}

static pfc_run *with_exact(unsigned commit, double value)
{
    pfc_run *run = one_benchmark(commit, (unsigned)value);

    fx_exact(run, "gemm/a", "cycles", value);
    return run;
}

/* Against what is stored, and against a neighbour in the group: the later one alone is refused. */
Test(writer, an_exact_metric_with_another_value_is_refused_and_its_neighbours_are_stored)
{
    pfc_ingest_ticket *tickets[5];
    const pfc_code want[] = { PFC_OK, PFC_ECONFLICT, PFC_OK, PFC_ECONFLICT, PFC_OK };
    pfc_ingest_result result = { 0 };
    barrier b = { 0 };
    pfc_err err = { 0 };

    fx_ingest(db, project, with_exact(1, 500));
    pfc_test_sql(url, "UPDATE machines SET last_seen_at = now() + interval '1 day'");
    hold(&b);
    tickets[0] = ticket_of(with_exact(1, 500), NULL);
    tickets[1] = ticket_of(with_exact(1, 501), NULL);
    tickets[2] = ticket_of(with_exact(2, 700), NULL);
    tickets[3] = ticket_of(with_exact(2, 701), NULL);
    tickets[4] = ticket_of(with_exact(2, 700), NULL);
    for (size_t i = 0; i < PFC_ARRAY_LEN(tickets); i++)
        submit(tickets[i]);
    let_go(&b);
    wait_for(&counter, 6);
    for (size_t i = 0; i < PFC_ARRAY_LEN(tickets); i++) {
        cr_expect(eq(int, take(tickets[i], &result, &err), want[i]), "%zu: %s", i, err.msg);
        if (want[i])
            cr_expect(ne(ptr, strstr(err.msg, i == 1 ? "got 501" : "expected 700"), NULL), "%s",
                      err.msg);
        pfc_ingest_ticket_free(tickets[i]);
    }
    cr_expect(
        eq(long, number("SELECT count(*) FROM runs"), 5)); /* and the one that held the writer */
}
