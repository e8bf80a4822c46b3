/* The queue: one holder a job, nothing lost, nothing twice. */
#include <pthread.h>

#include "server/services/queue/queue.h"

#include "tests/check/check.h"
#include "tests/server/fixture.h"
#include "tests/support/cluster_hooks.h"

static int64_t enqueue(pfc_db *db, int64_t p, unsigned n, int priority, const char *labels)
{
    const pfc_job_spec spec = {
        .kind = "measure", .commit = fx_sha(n), .priority = priority, .labels = fx_labels(labels)
    };
    pfc_jobs jobs = { 0 };
    pfc_err err = { 0 };
    bool created = false;
    int64_t id;

    cr_assert(eq(int, pfc_job_enqueue(db, "test", p, &spec, &created, &jobs, &err), PFC_OK), "%s",
              err.msg);
    id = jobs.items[0].id;
    pfc_rows_clear(&jobs);
    return id;
}

static const pfc_lease_request runner = { .runner = "r1", .machine_class = "test-cpu" };

/* Id of the leased job, 0: none. */
static int64_t lease(pfc_db *db, const pfc_lease_request *request, char secret[PFC_LEASE_SIZE])
{
    pfc_jobs jobs = { 0 };
    pfc_err err = { 0 };
    pfc_code code = pfc_job_lease(db, request, &jobs, secret, &err);
    int64_t id = code ? 0 : jobs.items[0].id;

    cr_assert(code == PFC_OK || code == PFC_ENOTFOUND, "%s", err.msg);
    pfc_rows_clear(&jobs);
    return id;
}

static char *state_of(pfc_db *db, int64_t id)
{
    pfc_jobs jobs = { 0 };
    pfc_err err = { 0 };
    char *state;

    cr_assert(eq(int, pfc_jobs_get(db, id, &jobs, &err), PFC_OK), "%s", err.msg);
    state = pfc_strdup(jobs.items[0].state);
    pfc_rows_clear(&jobs);
    return state;
}

#define ASSERT_STATE(db, id, want)                                                                 \
    do {                                                                                           \
        char *state_ = state_of((db), (id));                                                       \
        cr_assert(eq(str, state_, (want)));                                                        \
        free(state_);                                                                              \
    } while (0)

Test(jobs, an_open_job_is_not_queued_twice)
{
    pfc_db *db = pfc_test_db_open(2, NULL);
    int64_t p = fx_project(db);
    int64_t first = enqueue(db, p, 1, 0, NULL);
    char secret[PFC_LEASE_SIZE];
    pfc_err err = { 0 };

    cr_assert(eq(i64, enqueue(db, p, 1, 0, NULL), first));
    cr_assert(ne(i64, enqueue(db, p, 2, 0, NULL), first));
    cr_assert(eq(i64, lease(db, &runner, secret), first));
    cr_assert(eq(i64, enqueue(db, p, 1, 0, NULL), first)); /* leased is open too */
    cr_assert(eq(int, pfc_job_complete(db, first, secret, "done", NULL, NULL, 0, &err), PFC_OK));
    cr_assert(ne(i64, enqueue(db, p, 1, 0, NULL), first));
    pfc_db_close(db);
}

/* Asked for in the wrong order, without a priority: a pull request does not wait for a backfill. */
Test(jobs, without_a_priority_a_kind_has_its_own)
{
    static const char *const asked[] = { "backfill", "measure", "nightly", "bisect",
                                         "pull_request" };
    pfc_db *db = pfc_test_db_open(2, NULL);
    const int64_t p = fx_project(db);
    char secret[PFC_LEASE_SIZE];
    pfc_err err = { 0 };

    fx_commits(db, p, 1, 6);
    for (unsigned i = 0; i < PFC_ARRAY_LEN(asked); i++) {
        const pfc_job_spec spec = { .kind = asked[i],
                                    .commit = fx_sha(i + 1),
                                    .priority = PFC_JOB_BY_KIND };
        pfc_jobs jobs = { 0 };
        bool created = false;

        cr_assert(eq(int, pfc_job_enqueue(db, "test", p, &spec, &created, &jobs, &err), PFC_OK),
                  "%s", err.msg);
        cr_assert(eq(int, (int)jobs.items[0].priority, pfc_job_priority(asked[i])));
        pfc_rows_clear(&jobs);
    }
    /* A priority that is given counts, also where the kind's is another. */
    enqueue(db, p, 6, 70, NULL);
    for (unsigned i = 0; i < 6; i++) {
        static const char *const taken[] = { "pull_request", "measure", "bisect",
                                             "nightly",      "measure", "backfill" };
        pfc_jobs jobs = { 0 };

        cr_assert(eq(int, pfc_job_lease(db, &runner, &jobs, secret, &err), PFC_OK), "%s", err.msg);
        cr_assert(eq(str, (char *)jobs.items[0].kind, (char *)taken[i]));
        cr_assert(eq(int,
                     pfc_job_complete(db, jobs.items[0].id, secret, "failed", "", NULL, 0, &err),
                     PFC_OK),
                  "%s", err.msg);
        pfc_rows_clear(&jobs);
    }
    pfc_db_close(db);
}

Test(jobs, priority_first_then_age)
{
    pfc_db *db = pfc_test_db_open(2, NULL);
    int64_t p = fx_project(db);
    int64_t a = enqueue(db, p, 1, 0, NULL), b = enqueue(db, p, 2, 50, NULL);
    int64_t c = enqueue(db, p, 3, 50, NULL);
    pfc_jobs jobs = { 0 };
    pfc_err err = { 0 };
    char secret[PFC_LEASE_SIZE];

    cr_assert(eq(int, pfc_jobs_get(db, a, &jobs, &err), PFC_OK));
    cr_assert(eq(i64, jobs.items[0].position, 3));
    pfc_rows_clear(&jobs);
    cr_assert(eq(i64, lease(db, &runner, secret), b));
    cr_assert(eq(i64, lease(db, &runner, secret), c));
    cr_assert(eq(i64, lease(db, &runner, secret), a));
    cr_assert(eq(i64, lease(db, &runner, secret), 0));
    pfc_db_close(db);
}

/* 1,000 jobs have a position, so that reading one job, or a page, does not count 10^5. */
Test(jobs, a_job_far_back_in_the_queue_has_no_position)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    int64_t p = fx_project(db), id;
    const pfc_job_filter any = { .project_id = p };
    char *sql = pfc_format("INSERT INTO jobs (project_id, kind, sha, priority) SELECT %lld,"
                           " 'measure', repeat('0', 40), 50 + n %% 2 FROM generate_series(1, %d) n",
                           (long long)p, PFC_JOB_PLACES - 1);
    pfc_jobs jobs = { 0 };
    pfc_err err = { 0 };

    pfc_test_sql(url, sql);
    for (int behind = 0; behind < 2; behind++) {
        const int64_t position = behind ? 0 : PFC_JOB_PLACES;

        id = enqueue(db, p, behind + 1, 0, NULL);
        cr_assert(eq(int, pfc_jobs_get(db, id, &jobs, &err), PFC_OK), "%s", err.msg);
        cr_assert(eq(i64, jobs.items[0].position, position));
        pfc_rows_clear(&jobs);
        cr_assert(eq(int, pfc_jobs_list(db, &any, (pfc_page){ 0 }, &jobs, &err), PFC_OK));
        cr_assert(eq(i64, jobs.items[0].id, id));
        cr_assert(eq(i64, jobs.items[0].position, position));
        pfc_rows_clear(&jobs);
    }
    free(sql);
    free(url);
    pfc_db_close(db);
}

Test(jobs, labels_pick_the_runner)
{
    pfc_db *db = pfc_test_db_open(2, NULL);
    int64_t p = fx_project(db);
    int64_t gpu = enqueue(db, p, 1, 0, "{\"backend\":\"accel:x\"}");
    int64_t zen = enqueue(db, p, 2, 0, "{\"machine_class\":\"zen4\",\"rack\":\"7\"}");
    const char *backends[] = { "cpu-scalar", "accel:x" };
    pfc_lease_request accel = {
        .runner = "r2", .machine_class = "test-cpu", .backends = backends, .backends_len = 2
    };
    pfc_lease_request other_rack = { .runner = "r3",
                                     .machine_class = "zen4",
                                     .labels = fx_labels("{\"rack\":\"8\"}") };
    pfc_lease_request right_rack = { .runner = "r4",
                                     .machine_class = "zen4",
                                     .labels = fx_labels("{\"rack\":\"7\",\"more\":\"yes\"}") };
    char secret[PFC_LEASE_SIZE];

    cr_assert(eq(i64, lease(db, &runner, secret), 0));
    cr_assert(eq(i64, lease(db, &other_rack, secret), 0));
    cr_assert(eq(i64, lease(db, &right_rack, secret), zen));
    cr_assert(eq(i64, lease(db, &accel, secret), gpu));

    pfc_runners runners = { 0 };
    pfc_err err = { 0 };
    cr_assert(eq(int, pfc_runners_list(db, 0, &runners, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, runners.len, 4));
    cr_assert(eq(str, (char *)runners.items[1].name, "r2"));
    cr_assert(eq(i64, runners.items[1].job_id, gpu));
    cr_assert(eq(i64, runners.items[0].job_id, 0));
    pfc_rows_clear(&runners);
    pfc_db_close(db);
}

Test(jobs, an_expired_lease_goes_back_and_its_late_result_is_refused)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    int64_t p = fx_project(db), id = enqueue(db, p, 1, 0, NULL);
    char old[PFC_LEASE_SIZE], fresh[PFC_LEASE_SIZE];
    bool cancel = true;
    size_t expired = 0;
    pfc_err err = { 0 };

    cr_assert(eq(i64, lease(db, &runner, old), id));
    cr_assert(eq(int, pfc_jobs_expire(db, &expired, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, expired, 0));
    pfc_test_sql(url, "UPDATE jobs SET lease_until = now() - interval '1 second'");
    cr_assert(eq(int, pfc_jobs_expire(db, &expired, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, expired, 1));
    ASSERT_STATE(db, id, "queued");
    cr_assert(eq(i64, lease(db, &runner, fresh), 0));
    pfc_test_sql(url, "UPDATE jobs SET not_before = now()"); /* its back-off is over */
    cr_assert(eq(i64, lease(db, &runner, fresh), id));

    cr_assert(eq(int, pfc_job_heartbeat(db, id, old, NULL, 0, &cancel, &err), PFC_ECONFLICT));
    cr_assert(eq(int, pfc_job_complete(db, id, old, "done", NULL, NULL, 0, &err), PFC_ECONFLICT));
    ASSERT_STATE(db, id, "leased");
    cr_assert(eq(int, pfc_job_heartbeat(db, id, fresh, "building", 3600, &cancel, &err), PFC_OK));
    cr_assert(not(cancel));
    char *longer =
        pfc_test_sql_value(url, "SELECT lease_until > now() + interval '30 minutes' FROM jobs");
    cr_assert(eq(str, longer, "t"));
    free(longer);
    const char *runs[] = { "0123456789abcdef0123456789abcdef" };
    cr_assert(eq(int, pfc_job_complete(db, id, fresh, "done", NULL, runs, 1, &err), PFC_OK));
    /* its answer was lost: the same again is no error, another holder's is */
    cr_assert(eq(int, pfc_job_complete(db, id, fresh, "done", NULL, runs, 1, &err), PFC_OK));
    cr_assert(eq(int, pfc_job_complete(db, id, old, "done", NULL, runs, 1, &err), PFC_ECONFLICT));
    /* nor does its own holder make something else of what has ended */
    cr_assert(eq(int, pfc_job_complete(db, id, fresh, "failed", NULL, NULL, 0, &err), PFC_OK));
    ASSERT_STATE(db, id, "done");
    cr_assert(
        eq(int, pfc_job_complete(db, 999999, old, "done", NULL, NULL, 0, &err), PFC_ENOTFOUND));
    free(url);
    pfc_db_close(db);
}

Test(jobs, a_job_given_back_waits_again_at_once)
{
    pfc_db *db = pfc_test_db_open(2, NULL);
    int64_t p = fx_project(db), id = enqueue(db, p, 1, 0, NULL);
    char first[PFC_LEASE_SIZE], second[PFC_LEASE_SIZE];
    pfc_jobs jobs = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(i64, lease(db, &runner, first), id));
    cr_assert(eq(int, pfc_job_release(db, id, "another's", &err), PFC_ECONFLICT));
    ASSERT_STATE(db, id, "leased");
    cr_assert(eq(int, pfc_job_release(db, id, first, &err), PFC_OK), "%s", err.msg);
    ASSERT_STATE(db, id, "queued");
    cr_assert(eq(int, pfc_job_release(db, id, first, &err), PFC_ECONFLICT));
    cr_assert(eq(i64, lease(db, &runner, second), id));
    cr_assert(eq(int, pfc_job_complete(db, id, first, "done", NULL, NULL, 0, &err), PFC_ECONFLICT));
    /* a job that is being cancelled does not block the queue */
    cr_assert(eq(int, pfc_job_cancel(db, "test", id, &jobs, &err), PFC_OK), "%s", err.msg);
    pfc_rows_clear(&jobs);
    cr_assert(eq(int, pfc_job_release(db, id, second, &err), PFC_OK), "%s", err.msg);
    ASSERT_STATE(db, id, "cancelled");
    cr_assert(eq(int, pfc_job_release(db, 999999, second, &err), PFC_ENOTFOUND));
    pfc_db_close(db);
}

Test(jobs, asking_again_under_the_same_lease_gives_back_what_it_brought)
{
    pfc_db *db = pfc_test_db_open(2, NULL);
    int64_t p = fx_project(db), id = enqueue(db, p, 1, 0, NULL), next;
    const pfc_lease_request again = { .runner = "r1",
                                      .machine_class = "test-cpu",
                                      .lease = "0123456789abcdef0123456789abcdef" };
    pfc_lease_request wrong = again;
    char secret[PFC_LEASE_SIZE], other[PFC_LEASE_SIZE];
    pfc_jobs jobs = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(i64, lease(db, &again, secret), id)); /* the answer is lost */
    cr_assert(eq(str, secret, "0123456789abcdef0123456789abcdef-1"));
    next = enqueue(db, p, 2, 0, NULL);
    cr_assert(eq(i64, lease(db, &again, secret), id));
    cr_assert(eq(str, secret, "0123456789abcdef0123456789abcdef-2"));
    /* whom the first is not given back by asks under another name, though it is called the same */
    cr_assert(eq(i64, lease(db, &runner, other), next));
    ASSERT_STATE(db, id, "leased");
    cr_assert(eq(int, pfc_job_complete(db, id, secret, "done", NULL, NULL, 0, &err), PFC_OK));
    cr_assert(eq(i64, lease(db, &again, secret), 0)); /* what is done stays done */
    ASSERT_STATE(db, id, "done");
    wrong.lease = "0123";
    cr_assert(eq(int, pfc_job_lease(db, &wrong, &jobs, secret, &err), PFC_EINVAL));
    cr_assert(eq(str, err.field, "lease"));
    pfc_db_close(db);
}

/* A runner that was killed asks again under the secret that it had, gets the same job, and what it
 * sent of the try before comes only now. */
Test(jobs, what_is_late_of_a_try_is_not_taken_for_the_next_under_the_same_secret)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    int64_t p = fx_project(db), id = enqueue(db, p, 1, 0, NULL);
    const pfc_lease_request again = { .runner = "r1",
                                      .machine_class = "test-cpu",
                                      .lease = "0123456789abcdef0123456789abcdef" };
    char first[PFC_LEASE_SIZE], second[PFC_LEASE_SIZE], *until, *other;
    const char *runs[] = { "0123456789abcdef0123456789abcdef" };
    bool cancel = false;
    pfc_err err = { 0 };

    cr_assert(eq(i64, lease(db, &again, first), id));
    cr_assert(eq(i64, lease(db, &again, second), id));
    pfc_test_sql(url, "UPDATE jobs SET lease_until = now() + interval '5 seconds'");
    cr_assert(eq(int, pfc_job_heartbeat(db, id, first, "old", 60, &cancel, &err), PFC_ECONFLICT));
    cr_assert(eq(int, pfc_job_complete(db, id, first, "done", NULL, runs, 1, &err), PFC_ECONFLICT));
    cr_assert(
        eq(int, pfc_job_complete(db, id, first, "failed", "x", NULL, 0, &err), PFC_ECONFLICT));
    cr_assert(eq(int, pfc_job_release(db, id, first, &err), PFC_ECONFLICT));
    ASSERT_STATE(db, id, "leased");
    until = pfc_test_sql_value(url, "SELECT progress IS NULL AND lease_until < now() + interval '6 "
                                    "seconds' FROM jobs");
    cr_assert(eq(str, until, "t"));
    free(until);
    /* what is no number is no lease */
    for (size_t i = 0; i < 3; i++) {
        char *odd = pfc_format("%s%s", again.lease, (const char *[]){ "-", "-0", "-2x" }[i]);

        cr_assert(eq(int, pfc_job_heartbeat(db, id, odd, NULL, 60, &cancel, &err), PFC_ECONFLICT));
        free(odd);
    }
    /* nor does the number do without the secret */
    other = pfc_format("%032x%s", 0xbad, strchr(second, '-'));
    cr_assert(eq(int, pfc_job_heartbeat(db, id, other, NULL, 60, &cancel, &err), PFC_ECONFLICT));
    cr_assert(eq(int, pfc_job_complete(db, id, other, "done", NULL, NULL, 0, &err), PFC_ECONFLICT));
    cr_assert(eq(int, pfc_job_release(db, id, other, &err), PFC_ECONFLICT));
    ASSERT_STATE(db, id, "leased");
    free(other);
    cr_assert(eq(int, pfc_job_heartbeat(db, id, second, "new", 60, &cancel, &err), PFC_OK));
    /* who knows of no numbers shows the secret alone */
    cr_assert(eq(int, pfc_job_heartbeat(db, id, again.lease, NULL, 60, &cancel, &err), PFC_OK));
    cr_assert(eq(int, pfc_job_complete(db, id, second, "done", NULL, NULL, 0, &err), PFC_OK));
    cr_assert(eq(int, pfc_job_complete(db, id, second, "done", NULL, NULL, 0, &err), PFC_OK));
    cr_assert(eq(int, pfc_job_complete(db, id, first, "done", NULL, runs, 1, &err), PFC_ECONFLICT));
    cr_assert(eq(int, pfc_job_release(db, id, first, &err), PFC_ECONFLICT));
    ASSERT_STATE(db, id, "done");
    free(url);
    pfc_db_close(db);
}

/* Stores a run of the job; its number. */
static int64_t brings(pfc_db *db, int64_t p, int64_t job, int64_t fence, uint64_t seed)
{
    pfc_run *run = fx_run(1);

    run->job_id = job;
    run->job_fence = fence;
    fx_measure(run, "gemm/a", "time_ns", 100, 0.01, 9, 3, seed);
    return fx_ingest(db, p, run);
}

static void assert_points(pfc_db *db, const char *url, const char *want)
{
    char *got;

    fx_detect(db);
    got = pfc_test_sql_value(url, "SELECT points FROM series");
    cr_assert(eq(str, got, (char *)(uintptr_t)want));
    free(got);
}

/* Kept, marked, and no point of its series: whether it came before its lease was lost or long
 * after. */
Test(jobs, what_an_overtaken_lease_brings_is_extra)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(3, &url);
    int64_t p = fx_project(db), id, early, late;
    char lost[PFC_LEASE_SIZE], held[PFC_LEASE_SIZE];
    pfc_run_rows runs = { 0 };
    size_t expired = 0;
    pfc_err err = { 0 };

    fx_commits(db, p, 1, 1);
    id = enqueue(db, p, 1, 0, NULL);
    cr_assert(eq(i64, lease(db, &runner, lost), id));
    early = brings(db, p, id, 1, 1);
    assert_points(db, url, "1");
    /* expired, but no other runner has leased it: its results are kept */
    pfc_test_sql(
        url, "UPDATE jobs SET lease_until = now() - interval '1 second' WHERE kind = 'measure'");
    cr_assert(eq(int, pfc_jobs_expire(db, &expired, &err), PFC_OK), "%s", err.msg);
    assert_points(db, url, "1");
    pfc_test_sql(url, "UPDATE jobs SET not_before = now() WHERE kind = 'measure'");
    cr_assert(eq(i64, lease(db, &runner, held), id));
    assert_points(db, url, "0"); /* without another run */
    late = brings(db, p, id, 1, 2);
    assert_points(db, url, "0");
    (void)brings(db, p, id, 2, 3);
    assert_points(db, url, "1");
    (void)brings(db, p, 0, 1, 4); /* of no job: its number means nothing */
    assert_points(db, url, "2");
    cr_assert(eq(int, pfc_job_complete(db, id, held, "done", NULL, NULL, 0, &err), PFC_OK));
    cr_assert(eq(int, pfc_runs_list(db, p, NULL, (pfc_page){ 0 }, &runs, &err), PFC_OK));
    cr_assert(eq(sz, runs.len, 4));
    for (size_t i = 0; i < runs.len; i++) {
        const int64_t run = runs.items[i].run_id;

        cr_assert(eq(int, runs.items[i].extra, run == early || run == late), "run %lld",
                  (long long)run);
    }
    pfc_rows_clear(&runs);
    free(url);
    pfc_db_close(db);
}

Test(jobs, three_tries_and_no_more)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    int64_t p = fx_project(db), id = enqueue(db, p, 1, 0, NULL);
    pfc_jobs jobs = { 0 };
    pfc_err err = { 0 };
    size_t expired = 0;
    char secret[PFC_LEASE_SIZE];

    for (int i = 0; i < PFC_JOB_MAX_TRIES; i++) {
        cr_assert(eq(i64, lease(db, &runner, secret), id));
        if (i == 1) { /* what kills its runner ends, too, though each one gives it back */
            cr_assert(eq(int, pfc_job_release(db, id, secret, &err), PFC_OK), "%s", err.msg);
            continue;
        }
        pfc_test_sql(url, "UPDATE jobs SET lease_until = now() - interval '1 second'");
        cr_assert(eq(int, pfc_jobs_expire(db, &expired, &err), PFC_OK), "%s", err.msg);
        pfc_test_sql(url, "UPDATE jobs SET not_before = now() WHERE state = 'queued'");
    }
    cr_assert(eq(int, pfc_jobs_get(db, id, &jobs, &err), PFC_OK));
    cr_assert(eq(str, (char *)jobs.items[0].state, "failed"));
    cr_assert(eq(str, (char *)jobs.items[0].reason, "the lease ran out 3 times, last with r1"));
    pfc_rows_clear(&jobs);
    cr_assert(eq(i64, lease(db, &runner, secret), 0));
    free(url);
    pfc_db_close(db);
}

Test(jobs, cancelling_stops_a_queued_job_at_once_and_a_leased_one_through_its_runner)
{
    pfc_db *db = pfc_test_db_open(2, NULL);
    int64_t p = fx_project(db);
    int64_t leased = enqueue(db, p, 1, 0, NULL), queued, done;
    pfc_jobs jobs = { 0 };
    pfc_err err = { 0 };
    bool cancel = false;
    char secret[PFC_LEASE_SIZE];

    cr_assert(eq(i64, lease(db, &runner, secret), leased));
    queued = enqueue(db, p, 2, 0, NULL);
    cr_assert(eq(int, pfc_job_cancel(db, "test", queued, &jobs, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(str, (char *)jobs.items[0].state, "cancelled"));
    pfc_rows_clear(&jobs);
    cr_assert(eq(int, pfc_job_cancel(db, "test", leased, &jobs, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(str, (char *)jobs.items[0].state, "leased"));
    pfc_rows_clear(&jobs);
    cr_assert(eq(int, pfc_job_heartbeat(db, leased, secret, NULL, 0, &cancel, &err), PFC_OK));
    cr_assert(cancel);
    cr_assert(
        eq(int, pfc_job_complete(db, leased, secret, "failed", "stopped", NULL, 0, &err), PFC_OK));
    ASSERT_STATE(db, leased, "cancelled");
    cr_assert(eq(int, pfc_job_cancel(db, "test", 999999, &jobs, &err), PFC_ENOTFOUND));
    /* twice is as good as once; what has ended otherwise stays as it ended */
    cr_assert(eq(int, pfc_job_cancel(db, "test", queued, &jobs, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(str, (char *)jobs.items[0].state, "cancelled"));
    pfc_rows_clear(&jobs);
    done = enqueue(db, p, 3, 0, NULL);
    cr_assert(eq(i64, lease(db, &runner, secret), done));
    cr_assert(eq(int, pfc_job_complete(db, done, secret, "done", NULL, NULL, 0, &err), PFC_OK));
    cr_assert(eq(int, pfc_job_cancel(db, "test", done, &jobs, &err), PFC_ECONFLICT));
    cr_assert(eq(int, pfc_jobs_get(db, done, &jobs, &err), PFC_OK));
    cr_assert(not(jobs.items[0].cancel_requested));
    pfc_rows_clear(&jobs);
    ASSERT_STATE(db, done, "done");
    pfc_db_close(db);
}

Test(jobs, a_wrong_order_is_refused)
{
    pfc_db *db = pfc_test_db_open(2, NULL);
    int64_t p = fx_project(db);
    pfc_job_spec spec = { .kind = "detect", .commit = fx_sha(1) };
    pfc_jobs jobs = { 0 };
    pfc_err err = { 0 };
    bool created = false;

    cr_assert(eq(int, pfc_job_enqueue(db, "t", p, &spec, &created, &jobs, &err), PFC_EINVAL));
    cr_assert(eq(str, err.field, "kind"));
    spec = (pfc_job_spec){ .kind = "measure", .commit = "abc" };
    cr_assert(eq(int, pfc_job_enqueue(db, "t", p, &spec, &created, &jobs, &err), PFC_EINVAL));
    cr_assert(eq(str, err.field, "commit"));
    spec = (pfc_job_spec){ .kind = "measure", .commit = fx_sha(1), .priority = 101 };
    cr_assert(eq(int, pfc_job_enqueue(db, "t", p, &spec, &created, &jobs, &err), PFC_EINVAL));
    pfc_db_close(db);
}

enum { JOBS = 60, THREADS = 8 };

typedef struct leaser {
    pfc_db *db;
    int64_t got[JOBS + 1];
    size_t len;
    pfc_code code;
} leaser;

static void *lease_all(void *arg)
{
    leaser *l = arg;

    for (;;) {
        pfc_jobs jobs = { 0 };
        pfc_err err = { 0 };
        char secret[PFC_LEASE_SIZE];

        l->code = pfc_job_lease(l->db, &runner, &jobs, secret, &err);
        if (l->code)
            return NULL;
        l->got[l->len++] = jobs.items[0].id;
        pfc_rows_clear(&jobs);
        l->code = pfc_job_complete(l->db, l->got[l->len - 1], secret, "done", NULL, NULL, 0, &err);
        if (l->code || l->len > JOBS)
            return NULL;
    }
}

Test(jobs, threads_that_lease_at_once_never_share_a_job)
{
    pfc_db *db = pfc_test_db_open(THREADS, NULL);
    int64_t p = fx_project(db), first = 0;
    pthread_t threads[THREADS];
    static leaser leasers[THREADS];
    int times[JOBS] = { 0 };

    for (unsigned n = 1; n <= JOBS; n++) {
        int64_t id = enqueue(db, p, n, 0, NULL);

        first = n == 1 ? id : first;
    }
    for (int i = 0; i < THREADS; i++) {
        leasers[i].db = db;
        cr_assert(eq(int, pthread_create(&threads[i], NULL, lease_all, &leasers[i]), 0));
    }
    for (int i = 0; i < THREADS; i++) {
        cr_assert(eq(int, pthread_join(threads[i], NULL), 0));
        cr_assert(eq(int, leasers[i].code, PFC_ENOTFOUND));
        for (size_t j = 0; j < leasers[i].len; j++) {
            int64_t at = leasers[i].got[j] - first;

            cr_assert(at >= 0 && at < JOBS);
            times[at]++;
        }
    }
    for (int i = 0; i < JOBS; i++)
        cr_assert(eq(int, times[i], 1), "job %d", i);
    pfc_db_close(db);
}

Test(jobs, a_lease_skips_a_row_that_another_one_has_locked)
{
    pfc_db *db = pfc_test_db_open(3, NULL);
    int64_t p = fx_project(db), first = enqueue(db, p, 1, 50, NULL),
            second = enqueue(db, p, 2, 0, NULL);
    pfc_args args = { 0 };
    pfc_tx *tx = NULL;
    pfc_err err = { 0 };
    char secret[PFC_LEASE_SIZE];

    cr_assert(eq(int, pfc_tx_begin(&tx, db, PFC_TX_WRITE, &err), PFC_OK), "%s", err.msg);
    pfc_args_i64(&args, first);
    cr_assert(eq(int, pfc_tx_query(tx, "job_cancel", &args, NULL, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(i64, lease(db, &runner, secret), second)); /* does not wait for it */
    pfc_tx_free(tx);
    cr_assert(eq(i64, lease(db, &runner, secret), first));
    pfc_db_close(db);
}
