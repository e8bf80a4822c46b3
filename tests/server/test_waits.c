/* The expected start of a queued job: the rows that count, and the reason when it is unknown. */
#include <math.h>

#include "server/services/queue/queue.h"

#include "tests/check/check.h"
#include "tests/server/fixture.h"

static int64_t enqueue(const fx_ground *g, unsigned n, const char *kind, const char *labels)
{
    const pfc_job_spec spec = { .kind = kind, .commit = fx_sha(n), .labels = fx_labels(labels) };
    pfc_jobs jobs = { 0 };
    pfc_err err = { 0 };
    bool created = false;
    int64_t id;

    cr_assert(
        eq(int, pfc_job_enqueue(g->db, "test", g->project, &spec, &created, &jobs, &err), PFC_OK),
        "%s", err.msg);
    id = jobs.items[0].id;
    pfc_rows_clear(&jobs);
    return id;
}

/* Jobs that ended, each after so many seconds. */
static void ended(const fx_ground *g, const char *kind, unsigned first, unsigned count,
                  double seconds)
{
    char *sql = pfc_format(
        "INSERT INTO jobs (project_id, kind, state, sha, started_at, leased_at, finished_at, "
        "created_at) SELECT %lld, '%s', 'done', md5(i::text), now() - interval '1 hour', "
        "now() - make_interval(secs => %g), now(), now() - interval '2 hours' "
        "FROM generate_series(%u, %u) i",
        (long long)g->project, kind, seconds, first, first + count - 1);

    pfc_test_sql(g->url, sql);
    free(sql);
}

/* A runner asks for work; the id of what it got. */
static int64_t ask(const fx_ground *g, const char *name, const char *machine_class, int64_t project)
{
    const pfc_lease_request request = { .runner = name,
                                        .machine_class = machine_class,
                                        .project_id = project };
    pfc_jobs jobs = { 0 };
    pfc_err err = { 0 };
    char secret[PFC_LEASE_SIZE];
    pfc_code code = pfc_job_lease(g->db, &request, &jobs, secret, &err);
    int64_t id = code ? 0 : jobs.items[0].id;

    cr_assert(code == PFC_OK || code == PFC_ENOTFOUND, "%s", err.msg);
    pfc_rows_clear(&jobs);
    return id;
}

/* The caller frees its reason. */
static pfc_job_wait wait_of(const fx_ground *g, int64_t id)
{
    pfc_jobs jobs = { 0 };
    pfc_job_wait *waits = NULL, wait;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_jobs_get(g->db, id, &jobs, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_job_waits(g->db, &jobs, &waits, &err), PFC_OK), "%s", err.msg);
    wait = waits[0];
    waits[0].reason = NULL;
    pfc_job_waits_free(waits, jobs.len);
    pfc_rows_clear(&jobs);
    return wait;
}

static void assert_wait(const fx_ground *g, int64_t id, double seconds)
{
    const pfc_job_wait wait = wait_of(g, id);

    /* 50 like it give its factor a deviation of 7 %; a few seconds are the test's own. */
    cr_assert(epsilon_eq(dbl, wait.middle_s, seconds, 0.05 * seconds + 1), "%g, wanted %g: %s",
              wait.middle_s, seconds, wait.reason ? wait.reason : "");
    cr_assert(wait.low_s <= wait.middle_s && wait.high_s >= wait.middle_s);
    cr_assert(eq(ptr, wait.reason, NULL), "%s", wait.reason);
}

static void assert_unknown(const fx_ground *g, int64_t id, const char *want)
{
    const pfc_job_wait wait = wait_of(g, id);

    cr_assert(isnan(wait.middle_s) && isnan(wait.low_s) && isnan(wait.high_s));
    cr_assert(ne(ptr, wait.reason, NULL));
    cr_assert(eq(str, wait.reason, (char *)want));
    free(wait.reason);
}

Test(waits, jobs_before_it_runners_and_what_runs_already)
{
    fx_ground g = fx_begin(2);
    int64_t ids[4];

    ended(&g, "measure", 1, 60, 600);
    ended(&g, "nightly", 100, 60, 6000);
    for (unsigned n = 0; n < 4; n++)
        ids[n] = enqueue(&g, n + 1, "measure", NULL);
    cr_assert(eq(i64, ask(&g, "r1", "test-cpu", 0), ids[0]));
    pfc_test_sql(
        g.url, "UPDATE jobs SET leased_at = now() - interval '200 seconds' WHERE state = 'leased'");
    assert_wait(&g, ids[1], 400);
    assert_wait(&g, ids[2], 1000);
    /* an idle one halves the work, and what it may take begins at once */
    pfc_test_sql(g.url, "INSERT INTO runners (name, machine_class) VALUES ('r2', 'test-cpu')");
    assert_wait(&g, ids[1], 0);
    assert_wait(&g, ids[2], 400);
    assert_wait(&g, ids[3], 600);
    /* what is not queued waits for nothing */
    const pfc_job_wait running = wait_of(&g, ids[0]);
    cr_assert(isnan(running.middle_s) && !running.reason);
    /* runners without a recent request do not count, unless they have a job */
    pfc_test_sql(g.url, "UPDATE runners SET last_seen_at = now() - interval '10 minutes'");
    assert_wait(&g, ids[1], 400);
    fx_end(&g);
}

Test(waits, only_runners_that_may_take_it_count)
{
    fx_ground g = fx_begin(2);
    int64_t zen, accel, any, elsewhere;
    const char *backends[] = { "accel:x" };
    const pfc_lease_request r3 = { .runner = "r3",
                                   .machine_class = "zen4",
                                   .backends = backends,
                                   .backends_len = 1,
                                   .labels = fx_labels("{\"rack\":\"7\"}") };
    pfc_jobs jobs = { 0 };
    pfc_err err = { 0 };
    char secret[PFC_LEASE_SIZE];

    cr_assert(eq(int, pfc_job_lease(g.db, &r3, &jobs, secret, &err), PFC_ENOTFOUND));
    cr_assert(eq(i64, ask(&g, "r1", "test-cpu", 0), 0));
    ended(&g, "measure", 1, 60, 100);
    zen = enqueue(&g, 1, "measure", "{\"machine_class\":\"zen4\",\"rack\":\"7\"}");
    accel = enqueue(&g, 2, "measure", "{\"backend\":\"accel:x\"}");
    any = enqueue(&g, 3, "measure", NULL);
    elsewhere = enqueue(&g, 4, "measure", "{\"rack\":\"8\"}");
    assert_wait(&g, zen, 0);
    assert_wait(&g, accel, 100);
    assert_wait(&g, any, 0);
    assert_unknown(&g, elsewhere, "no runner with rack=8 has ever asked for work");
    pfc_test_sql(g.url,
                 "UPDATE runners SET last_seen_at = now() - interval '3 hours' WHERE name = 'r3'");
    pfc_test_sql(g.url, "INSERT INTO runners (name, machine_class, backends, last_seen_at) VALUES "
                        "('r0', 'zen4', '{accel:x}', now() - interval '4 hours')");
    assert_unknown(
        &g, accel,
        "no runner with backend=accel:x is there: the last one, r3, was last seen 3 hours ago");
    static const char *const ago[][2] = { { "7100 seconds", "118 minutes" },
                                          { "7300 seconds", "2 hours" },
                                          { "172000 seconds", "48 hours" },
                                          { "173000 seconds", "2 days" } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(ago); i++) {
        char *sql = pfc_format("UPDATE runners SET last_seen_at = now() - interval '%s' WHERE name"
                               " = 'r3'; DELETE FROM runners WHERE name = 'r0'",
                               ago[i][0]);
        char *words = pfc_format("no runner with backend=accel:x is there: the last one, r3, was "
                                 "last seen %s ago",
                                 ago[i][1]);

        pfc_test_sql(g.url, sql);
        assert_unknown(&g, accel, words);
        free(sql);
        free(words);
    }
    /* whose token is of another project takes nothing of this one */
    pfc_test_sql(g.url,
                 "UPDATE runners SET last_seen_at = now(), project_id = 4711 WHERE name = 'r3'");
    assert_unknown(&g, accel, "no runner with backend=accel:x has ever asked for work");
    fx_end(&g);
}

/* The other runner is awaited; where there is none, the time for which the first is avoided. */
Test(waits, a_runner_to_avoid_counts_only_where_no_other_fits)
{
    fx_ground g = fx_begin(2);
    pfc_job_wait wait;
    int64_t id;

    ended(&g, "measure", 1, 60, 600);
    cr_assert(eq(i64, ask(&g, "r1", "test-cpu", 0), 0));
    id = enqueue(&g, 1, "measure", NULL);
    cr_assert(eq(i64, ask(&g, "r2", "test-cpu", 0), id));
    pfc_test_sql(
        g.url, "UPDATE jobs SET leased_at = now() - interval '200 seconds' WHERE state = 'leased'");
    id = enqueue(&g, 2, "measure", NULL);
    assert_wait(&g, id, 0); /* r1 is idle */
    pfc_test_sql(g.url, "UPDATE jobs SET avoid_runner = 'r1', avoid_until = now() + interval "
                        "'1 hour' WHERE state = 'queued'");
    assert_wait(&g, id, 400);
    pfc_test_sql(g.url, "UPDATE jobs SET state = 'done', lease_until = NULL, finished_at = now() "
                        "WHERE runner = 'r2';"
                        "UPDATE runners SET drained_at = now() WHERE name = 'r2'");
    wait = wait_of(&g, id);
    cr_expect(epsilon_eq(dbl, wait.middle_s, 3600, 60), "%g", wait.middle_s);
    cr_expect(eq(int, strncmp(wait.reason, "it may be taken in 3", 20), 0), "%s", wait.reason);
    free(wait.reason);
    fx_end(&g);
}

Test(waits, a_runner_bound_to_a_project_is_known_as_that)
{
    fx_ground g = fx_begin(2);
    int64_t id;

    cr_assert(eq(i64, ask(&g, "r1", "test-cpu", g.project + 1), 0));
    id = enqueue(&g, 1, "measure", NULL);
    assert_unknown(&g, id, "no runner has ever asked for work");
    cr_assert(eq(i64, ask(&g, "r1", "test-cpu", g.project + 1), 0));
    cr_assert(eq(i64, ask(&g, "r2", "test-cpu", g.project), id));
    fx_end(&g);
}

Test(waits, without_finished_jobs_the_wait_is_unknown)
{
    fx_ground g = fx_begin(2);
    int64_t first, second;

    cr_assert(eq(i64, ask(&g, "r1", "test-cpu", 0), 0));
    first = enqueue(&g, 1, "measure", NULL);
    second = enqueue(&g, 2, "measure", NULL);
    assert_wait(&g, first, 0);
    assert_unknown(&g, second,
                   "how long the jobs before it take is not known: none like them has ended");
    /* others of the project are better than nothing; three of its kind are better than those */
    ended(&g, "nightly", 1, 50, 900);
    assert_wait(&g, second, 900);
    ended(&g, "measure", 100, 50, 50);
    assert_wait(&g, second, 50);
    /* nor do those of its kind count, however new, that measured another suite, or somewhere else
     */
    ended(&g, "measure", 200, 50, 500);
    pfc_test_sql(g.url,
                 "UPDATE jobs SET suite = 'whole' WHERE sha IN (SELECT md5(i::text) FROM "
                 "generate_series(200, 224) i);"
                 "UPDATE jobs SET labels = '{\"rack\":\"9\"}' WHERE sha IN (SELECT md5(i::text) "
                 "FROM generate_series(225, 249) i)");
    assert_wait(&g, second, 50);
    fx_end(&g);
}

Test(waits, a_retry_does_not_count_the_tries_before_it)
{
    fx_ground g = fx_begin(2);
    int64_t id, next;

    ended(&g, "measure", 1, 60, 300); /* each was queued and first tried an hour before */
    id = enqueue(&g, 1, "measure", NULL);
    next = enqueue(&g, 2, "measure", NULL);
    cr_assert(eq(i64, ask(&g, "r1", "test-cpu", 0), id));
    pfc_test_sql(
        g.url,
        "UPDATE jobs SET started_at = now() - interval '1 hour', tries = 2 WHERE state = 'leased'");
    assert_wait(&g, next, 300);
    fx_end(&g);
}

/* The highest priority first, whatever its age; delayed jobs and jobs with an unfinished parent
 * cannot be leased. */
Test(waits, are_in_the_order_in_which_jobs_are_taken)
{
    fx_ground g = fx_begin(2);
    int64_t held, plain, urgent, child;
    pfc_job_wait wait;
    char *sql, *want;

    ended(&g, "measure", 1, 60, 1000);
    pfc_test_sql(g.url, "INSERT INTO runners (name, machine_class) VALUES ('r1', 'test-cpu')");
    held = enqueue(&g, 1, "measure", NULL);
    plain = enqueue(&g, 2, "measure", NULL);
    urgent = enqueue(&g, 3, "measure", NULL);
    sql = pfc_format("UPDATE jobs SET priority = 90 WHERE id = %lld", (long long)urgent);
    pfc_test_sql(g.url, sql);
    free(sql);
    assert_wait(&g, urgent, 0);
    assert_wait(&g, held, 1000);
    assert_wait(&g, plain, 2000);
    sql = pfc_format("UPDATE jobs SET not_before = now() + interval '1 hour' WHERE id = %lld",
                     (long long)held);
    pfc_test_sql(g.url, sql);
    free(sql);
    assert_wait(&g, plain, 1000);
    wait = wait_of(&g, held);
    cr_assert(wait.middle_s > 3000 && wait.middle_s <= 3600, "%g", wait.middle_s);
    cr_assert(eq(int, strncmp(wait.reason, "it may be taken in 3", 20), 0), "%s", wait.reason);
    free(wait.reason);
    /* the reason names the parent whose end is unknown */
    sql =
        pfc_format("UPDATE jobs SET labels = '{\"rack\":\"9\"}' WHERE id = %lld", (long long)held);
    pfc_test_sql(g.url, sql);
    free(sql);
    child = enqueue(&g, 4, "measure", NULL);
    sql = pfc_format("UPDATE jobs SET parents = ARRAY[%lld::bigint] WHERE id = %lld",
                     (long long)held, (long long)child);
    pfc_test_sql(g.url, sql);
    free(sql);
    want = pfc_format("it waits for job %lld, whose end is not known", (long long)held);
    assert_unknown(&g, child, want);
    free(want);
    fx_end(&g);
}

Test(waits, an_avoided_runner_takes_the_job_if_there_is_no_other)
{
    fx_ground g = fx_begin(2);
    int64_t id;
    pfc_job_wait wait;

    ended(&g, "measure", 1, 60, 300);
    id = enqueue(&g, 1, "measure", NULL);
    cr_assert(eq(i64, ask(&g, "r2", "other", g.project + 1), 0));
    pfc_test_sql(g.url, "INSERT INTO runners (name, machine_class) VALUES ('r1', 'test-cpu');"
                        "UPDATE jobs SET avoid_runner = 'r1' WHERE state = 'queued'");
    wait = wait_of(&g, id);
    cr_assert(wait.middle_s > 500 && wait.middle_s <= 600);
    free(wait.reason);
    cr_assert(eq(i64, ask(&g, "r1", "test-cpu", 0), 0)); /* for ten minutes */
    pfc_test_sql(g.url, "INSERT INTO runners (name, machine_class) VALUES ('r3', 'test-cpu')");
    assert_wait(&g, id, 0);
    pfc_test_sql(
        g.url, "UPDATE jobs SET created_at = now() - interval '11 minutes' WHERE state = 'queued'");
    cr_assert(eq(i64, ask(&g, "r1", "test-cpu", 0), id));
    fx_end(&g);
}
