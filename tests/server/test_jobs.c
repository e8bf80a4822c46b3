/* The queue: one holder a job, nothing lost, nothing twice. */
#include <pthread.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "tests/server/fixture.h"
#include "tests/support/cluster_hooks.h"

static int64_t enqueue(pfc_db *db, int64_t p, unsigned n, int priority, const char *labels)
{
    const pfc_job_spec spec = {
        .kind = "measure", .commit = fx_sha(n), .priority = priority, .labels_json = labels
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
static int64_t lease(pfc_db *db, const pfc_lease_request *request, char secret[33])
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
    char secret[33];
    pfc_err err = { 0 };

    cr_assert(eq(i64, enqueue(db, p, 1, 0, NULL), first));
    cr_assert(ne(i64, enqueue(db, p, 2, 0, NULL), first));
    cr_assert(eq(i64, lease(db, &runner, secret), first));
    cr_assert(eq(i64, enqueue(db, p, 1, 0, NULL), first)); /* leased is open too */
    cr_assert(eq(int, pfc_job_complete(db, first, secret, "done", NULL, NULL, 0, &err), PFC_OK));
    cr_assert(ne(i64, enqueue(db, p, 1, 0, NULL), first));
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
    char secret[33];

    cr_assert(eq(int, pfc_jobs_get(db, a, &jobs, &err), PFC_OK));
    cr_assert(eq(i64, jobs.items[0].position, 3));
    pfc_rows_clear(&jobs);
    cr_assert(eq(i64, lease(db, &runner, secret), b));
    cr_assert(eq(i64, lease(db, &runner, secret), c));
    cr_assert(eq(i64, lease(db, &runner, secret), a));
    cr_assert(eq(i64, lease(db, &runner, secret), 0));
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
                                     .labels_json = "{\"rack\":\"8\"}" };
    pfc_lease_request right_rack = { .runner = "r4",
                                     .machine_class = "zen4",
                                     .labels_json = "{\"rack\":\"7\",\"more\":\"yes\"}" };
    char secret[33];

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
    char old[33], fresh[33];
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
    char first[33], second[33];
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
    /* what its runner was told to stop is not waited for by anybody */
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
    char secret[33], other[33];
    pfc_jobs jobs = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(i64, lease(db, &again, secret), id)); /* the answer is lost */
    cr_assert(eq(str, secret, (char *)again.lease));
    next = enqueue(db, p, 2, 0, NULL);
    cr_assert(eq(i64, lease(db, &again, secret), id));
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

Test(jobs, three_tries_and_no_more)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    int64_t p = fx_project(db), id = enqueue(db, p, 1, 0, NULL);
    pfc_jobs jobs = { 0 };
    pfc_err err = { 0 };
    size_t expired = 0;
    char secret[33];

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
    char secret[33];

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
    spec = (pfc_job_spec){ .kind = "measure", .commit = fx_sha(1), .labels_json = "[1]" };
    cr_assert(eq(int, pfc_job_enqueue(db, "t", p, &spec, &created, &jobs, &err), PFC_EINVAL));
    cr_assert(eq(str, err.field, "labels"));
    pfc_db_close(db);
}

enum { JOBS = 60, THREADS = 8 };

typedef struct leaser {
    pfc_db *db;
    int64_t got[JOBS];
    size_t len;
    pfc_code code;
} leaser;

static void *lease_all(void *arg)
{
    leaser *l = arg;

    for (;;) {
        pfc_jobs jobs = { 0 };
        pfc_err err = { 0 };
        char secret[33];

        l->code = pfc_job_lease(l->db, &runner, &jobs, secret, &err);
        if (l->code)
            return NULL;
        l->got[l->len++] = jobs.items[0].id;
        pfc_rows_clear(&jobs);
        l->code = pfc_job_complete(l->db, l->got[l->len - 1], secret, "done", NULL, NULL, 0, &err);
        if (l->code || l->len == JOBS)
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

Test(jobs, whoever_leases_goes_past_a_row_that_another_is_at)
{
    pfc_db *db = pfc_test_db_open(3, NULL);
    int64_t p = fx_project(db), first = enqueue(db, p, 1, 50, NULL),
            second = enqueue(db, p, 2, 0, NULL);
    pfc_args args = { 0 };
    pfc_tx *tx = NULL;
    pfc_err err = { 0 };
    char secret[33];

    cr_assert(eq(int, pfc_tx_begin(&tx, db, PFC_TX_WRITE, &err), PFC_OK), "%s", err.msg);
    pfc_args_i64(&args, first);
    cr_assert(eq(int, pfc_tx_query(tx, "job_cancel", &args, NULL, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(i64, lease(db, &runner, secret), second)); /* does not wait for it */
    pfc_tx_free(tx);
    cr_assert(eq(i64, lease(db, &runner, secret), first));
    pfc_db_close(db);
}
