/* Expired leases, for jobs of runners and for jobs of the server itself. */

#include "server/services/queue/queue.h"

#include "tests/check/check.h"
#include "tests/server/plant.h"

/* A job of that kind whose lease of 60 s has expired at its n-th try; its id. */
static int64_t plant_expired(const char *url, int64_t project, const char *kind, int tries,
                             bool cancelled)
{
    return plant_number(url,
                        "INSERT INTO jobs (project_id, kind, state, tries, runner, lease_hash,"
                        " lease_s, lease_until, cancel_requested) VALUES (%lld, '%s', 'leased', %d,"
                        " 'r1', repeat('a', 64), 60, now() - interval '1 s', %s) RETURNING id",
                        (long long)project, kind, tries, cancelled ? "true" : "false");
}

static bool holds(const char *url, int64_t id, const char *condition)
{
    return plant_number(url,
                        "SELECT count(*) FROM jobs WHERE id = %lld AND lease_until IS NULL"
                        " AND lease_hash IS NULL AND (%s)",
                        (long long)id, condition) == 1;
}

/* A verification is a job of a runner: it waits 60 s / 6 x 2^(tries - 1) = 10 s, then 20 s, and
 * fails at the third. */
Test(expiry, a_job_of_a_runner_waits_longer_after_each_try_and_fails_at_the_last)
{
    static const char *const kinds[] = { "measure", "nightly",  "pull_request",
                                         "bisect",  "backfill", "verify" };
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 2);

    for (size_t i = 0; i < PFC_ARRAY_LEN(kinds); i++) {
        const int64_t first = plant_expired(url, p, kinds[i], 1, false);
        const int64_t second = plant_expired(url, p, kinds[i], 2, false);
        const int64_t last = plant_expired(url, p, kinds[i], PFC_JOB_MAX_TRIES, false);
        const int64_t cancelled = plant_expired(url, p, kinds[i], 1, true);
        size_t expired = 0;
        pfc_err err = { 0 };

        cr_assert(eq(int, pfc_jobs_expire(db, &expired, &err), PFC_OK), "%s", err.msg);
        cr_expect(eq(sz, expired, 4), "%s", kinds[i]);
        cr_expect(holds(url, first,
                        "state = 'queued' AND not_before - clock_timestamp() BETWEEN"
                        " interval '5 s' AND interval '10 s'"),
                  "%s", kinds[i]);
        cr_expect(holds(url, second,
                        "state = 'queued' AND not_before - clock_timestamp() BETWEEN"
                        " interval '15 s' AND interval '20 s'"),
                  "%s", kinds[i]);
        cr_expect(holds(url, last,
                        "state = 'failed' AND finished_at IS NOT NULL AND reason LIKE"
                        " '% 3 times, last with r1'"),
                  "%s", kinds[i]);
        cr_expect(holds(url, cancelled,
                        "state = 'cancelled' AND finished_at IS NOT NULL AND"
                        " not_before IS NULL"),
                  "%s", kinds[i]);
    }
    free(url);
    pfc_db_close(db);
}

/* Another server can take them at once. A notice has the limit of its receiver, not that of the
 * queue. */
Test(expiry, a_job_of_the_server_is_queued_at_once)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 2);
    const int64_t detect = plant_expired(url, p, "detect", 1, false);
    const int64_t failed = plant_expired(url, p, "detect", PFC_JOB_MAX_TRIES, false);
    const int64_t notify = plant_expired(url, p, "notify", PFC_JOB_MAX_TRIES, false);
    size_t expired = 0;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_jobs_expire(db, &expired, &err), PFC_OK), "%s", err.msg);
    cr_expect(eq(sz, expired, 3));
    cr_expect(holds(url, detect, "state = 'queued' AND not_before IS NULL"));
    cr_expect(holds(url, failed, "state = 'failed'"));
    cr_expect(holds(url, notify, "state = 'queued' AND not_before IS NULL AND reason IS NULL"));
    free(url);
    pfc_db_close(db);
}
