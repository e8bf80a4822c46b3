/* Jobs that measure several builds in blocks: what is accepted, which runner gets it, how long it
 * is expected to take. */
#include <math.h>

#include "server/services/queue/queue.h"

#include "tests/check/check.h"
#include "tests/server/fixture.h"

static const char *commits[PFC_JOB_MAX_COMMITS + 1];
static const char *anchors[PFC_JOB_MAX_ANCHORS + 1];
static char ids[600][41];

static const char *id_of(unsigned n)
{
    (void)snprintf(ids[n], sizeof(ids[n]), "%s", fx_sha(n));
    return ids[n];
}

/* Commits 10, 11, ... on base 2, anchor 1. */
static pfc_job_blocks blocks_of(unsigned len)
{
    for (unsigned i = 0; i < len; i++)
        commits[i] = id_of(10 + i);
    anchors[0] = id_of(1);
    return (pfc_job_blocks){ .commits = commits,
                             .commits_len = len,
                             .base = id_of(2),
                             .anchors = anchors,
                             .anchors_len = 1,
                             .budget_s = 1800 };
}

static pfc_code enqueue(pfc_db *db, int64_t p, const char *kind, const char *commit,
                        const pfc_job_blocks *blocks, int64_t *id, bool *created, pfc_err *err)
{
    const pfc_job_spec spec = {
        .kind = kind, .commit = commit, .priority = PFC_JOB_BY_KIND, .blocks = blocks
    };
    pfc_jobs jobs = { 0 };
    pfc_code code = pfc_job_enqueue(db, "test", p, &spec, created, &jobs, err);

    if (!code)
        *id = jobs.items[0].id;
    pfc_rows_clear(&jobs);
    return code;
}

static int64_t must_enqueue(pfc_db *db, int64_t p, const pfc_job_blocks *blocks)
{
    bool created = false;
    pfc_err err = { 0 };
    int64_t id = 0;

    cr_assert(eq(int,
                 enqueue(db, p, "nightly", blocks->commits[blocks->commits_len - 1], blocks, &id,
                         &created, &err),
                 PFC_OK),
              "%s", err.msg);
    return id;
}

static pfc_code refusal(pfc_db *db, int64_t p, const pfc_job_blocks *blocks, pfc_err *err)
{
    bool created = false;
    int64_t id = 0;

    *err = (pfc_err){ 0 };
    return enqueue(db, p, "nightly",
                   blocks->commits_len ? commits[blocks->commits_len - 1] : ids[10], blocks, &id,
                   &created, err);
}

#define ASSERT_REFUSED(blocks, name, words)                                                        \
    do {                                                                                           \
        cr_assert(eq(int, refusal(db, p, &(blocks), &err), PFC_EINVAL));                           \
        cr_assert(eq(str, err.field, (name)), "%s", err.msg);                                      \
        cr_assert(eq(str, err.msg, (words)));                                                      \
    } while (0)

Test(job_blocks, what_is_refused_is_refused_with_a_sentence)
{
    pfc_db *db = pfc_test_db_open(2, NULL);
    const int64_t p = fx_project(db);
    pfc_job_blocks b = blocks_of(0);
    pfc_err err = { 0 };
    bool created = false;
    int64_t id = 0;

    id_of(10);
    ASSERT_REFUSED(b, "blocks.commits", "blocks.commits: expected 1 to 254 commits, got 0");
    b = blocks_of(PFC_JOB_MAX_COMMITS + 1);
    ASSERT_REFUSED(b, "blocks.commits", "blocks.commits: expected 1 to 254 commits, got 255");
    b = blocks_of(3);
    commits[1] = "abc";
    ASSERT_REFUSED(b, "blocks.commits",
                   "blocks.commits: expected commit ids of 40 hexadecimal digits, got \"abc\"");
    commits[1] = commits[0];
    ASSERT_REFUSED(b, "blocks.commits", "blocks.commits: commit 000000000000 is given twice");
    b = blocks_of(3);
    b.base = commits[1];
    ASSERT_REFUSED(b, "blocks.base", "blocks.base: commit 000000000000 is given twice");
    b = blocks_of(3);
    b.base = "";
    ASSERT_REFUSED(b, "blocks.base",
                   "blocks.base: expected commit ids of 40 hexadecimal digits, got \"\"");
    b = blocks_of(3);
    anchors[0] = commits[2];
    ASSERT_REFUSED(b, "blocks.anchors", "blocks.anchors: commit 000000000000 is given twice");
    b = blocks_of(3);
    b.anchors_len = PFC_JOB_MAX_ANCHORS + 1;
    ASSERT_REFUSED(b, "blocks.anchors", "blocks.anchors: expected at most 16 commits, got 17");
    b = blocks_of(3);
    b.budget_s = 0.5;
    ASSERT_REFUSED(b, "blocks.budget_s", "blocks.budget_s: expected 1 to 86400 seconds, got 0.5");
    b.budget_s = 86401;
    ASSERT_REFUSED(b, "blocks.budget_s", "blocks.budget_s: expected 1 to 86400 seconds, got 86401");
    b.budget_s = NAN;
    ASSERT_REFUSED(b, "blocks.budget_s", "blocks.budget_s: expected 1 to 86400 seconds, got nan");
    b = blocks_of(3);
    b.margin = 1.5;
    ASSERT_REFUSED(b, "blocks.margin", "blocks.margin: expected 0 to 1, got 1.5");
    b = blocks_of(3);
    b.rounds = 201;
    ASSERT_REFUSED(b, "blocks.rounds", "blocks.rounds: expected 0 to 200, got 201");
    b = blocks_of(3);
    cr_assert(eq(int, enqueue(db, p, "nightly", ids[11], &b, &id, &created, &err), PFC_EINVAL));
    cr_assert(eq(str, err.msg,
                 "blocks.commits: expected the job's commit 000000000000 as the last one, got "
                 "000000000000"));
    cr_assert(eq(int, enqueue(db, p, "bisect", ids[12], &b, &id, &created, &err), PFC_EINVAL));
    cr_assert(eq(str, err.msg, "blocks: expected kind nightly or pull_request, got bisect"));
    /* Nothing of these was stored; the base may be the anchor. */
    anchors[0] = b.base;
    cr_assert(eq(int, enqueue(db, p, "nightly", ids[12], &b, &id, &created, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(created);
    b = blocks_of(PFC_JOB_MAX_COMMITS);
    must_enqueue(db, p, &b);
    pfc_db_close(db);
}

/* The limits themselves are within. */
Test(job_blocks, what_lies_at_a_limit_is_accepted)
{
    pfc_job_blocks at[9];
    pfc_err err = { 0 };

    for (size_t i = 0; i < PFC_ARRAY_LEN(at); i++)
        at[i] = blocks_of(1);
    for (unsigned i = 0; i < PFC_JOB_MAX_ANCHORS; i++)
        anchors[i] = id_of(400 + i);
    at[0].anchors_len = PFC_JOB_MAX_ANCHORS;
    at[1].anchors_len = 0;
    at[2].budget_s = 1;
    at[3].budget_s = PFC_JOB_MAX_BUDGET_S;
    at[4].margin = 0;
    at[5].margin = 1;
    at[6].rounds = 0;
    at[7].rounds = PFC_JOB_MAX_ROUNDS;
    at[8].known = commits;
    at[8].known_len = 1;
    for (size_t i = 0; i < PFC_ARRAY_LEN(at); i++) {
        const pfc_job_spec spec = { .kind = "nightly", .commit = ids[10], .blocks = &at[i] };

        cr_expect(eq(int, pfc_job_blocks_check(&spec, &err), PFC_OK), "%zu: %s", i, err.msg);
    }
}

Test(job_blocks, another_list_or_budget_is_another_job)
{
    pfc_db *db = pfc_test_db_open(2, NULL);
    const int64_t p = fx_project(db);
    pfc_job_blocks b = blocks_of(3);
    const int64_t first = must_enqueue(db, p, &b);

    cr_assert(eq(i64, must_enqueue(db, p, &b), first));
    b.commits = commits + 1;
    b.commits_len = 2;
    cr_assert(ne(i64, must_enqueue(db, p, &b), first));
    b = blocks_of(3);
    b.budget_s = 60;
    cr_assert(ne(i64, must_enqueue(db, p, &b), first));
    pfc_db_close(db);
}

static int64_t lease(pfc_db *db, const char *labels, pfc_jobs *jobs, char secret[PFC_LEASE_SIZE])
{
    const pfc_lease_request request = { .runner = labels ? "new" : "old",
                                        .machine_class = "test-cpu",
                                        .labels = fx_labels(labels) };
    pfc_err err = { 0 };
    pfc_code code = pfc_job_lease(db, &request, jobs, secret, &err);

    cr_assert(code == PFC_OK || code == PFC_ENOTFOUND, "%s", err.msg);
    return code ? 0 : jobs->items[0].id;
}

#define CAN_BLOCKS "{\"tasks\":\"blocks\"}"

/* A runner that does not measure in blocks would measure the newest commit alone. */
Test(job_blocks, only_a_runner_that_can_gets_it)
{
    pfc_db *db = pfc_test_db_open(2, NULL);
    const int64_t p = fx_project(db);
    pfc_job_blocks b = blocks_of(2);
    const int64_t id = must_enqueue(db, p, &b);
    char secret[PFC_LEASE_SIZE];
    pfc_jobs jobs = { 0 };

    cr_assert(eq(i64, lease(db, NULL, &jobs, secret), 0));
    cr_assert(eq(i64, lease(db, CAN_BLOCKS, &jobs, secret), id));
    cr_assert(ne(ptr, strstr(jobs.items[0].task_json, "\"budget_s\": 1800"), NULL), "%s",
              jobs.items[0].task_json);
    cr_assert(ne(ptr, strstr(jobs.items[0].task_json, ids[11]), NULL));
    cr_assert(eq(str, (char *)jobs.items[0].labels_json, "{\"tasks\": \"blocks\"}"));
    pfc_rows_clear(&jobs);
    pfc_db_close(db);
}

static int64_t run_of(pfc_db *db, int64_t p, unsigned commit, int64_t job, int64_t fence)
{
    pfc_run *run = fx_run(commit);

    run->job_id = job;
    run->job_fence = fence;
    fx_measure(run, "gemm", "time_ns", 100, 0.01, 5, 1, commit);
    return fx_ingest(db, p, run);
}

/* K runs under one lease are all taken; the next lease of the job overtakes each of them. */
Test(job_blocks, the_next_lease_overtakes_every_run_of_the_session)
{
    static const unsigned measured[] = { 1, 2, 10, 11 };
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = fx_project(db);
    pfc_job_blocks b = blocks_of(2);
    const int64_t id = must_enqueue(db, p, &b);
    char secret[PFC_LEASE_SIZE];
    pfc_jobs jobs = { 0 };
    pfc_err err = { 0 };

    fx_commits(db, p, 1, 11);
    cr_assert(eq(i64, lease(db, CAN_BLOCKS, &jobs, secret), id));
    pfc_rows_clear(&jobs);
    for (size_t i = 0; i < PFC_ARRAY_LEN(measured); i++)
        run_of(db, p, measured[i], id, 1);
    fx_detect(db);
    pfc_test_sql(url, "DO $$ BEGIN ASSERT (SELECT points FROM series) = 4; END $$");
    cr_assert(eq(int, pfc_job_release(db, id, secret, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(i64, lease(db, CAN_BLOCKS, &jobs, secret), id));
    pfc_rows_clear(&jobs);
    fx_detect(db);
    pfc_test_sql(url, "DO $$ BEGIN ASSERT (SELECT points FROM series) = 0; "
                      "ASSERT (SELECT count(*) FROM jobs j JOIN runs r ON r.id = j.run_id "
                      "WHERE j.kind = 'detect' AND r.job_fence = 1) = 8; END $$");
    pfc_db_close(db);
    free(url);
}

static double wait_of(pfc_db *db, int64_t id)
{
    pfc_jobs jobs = { 0 };
    pfc_job_wait *waits = NULL;
    pfc_err err = { 0 };
    double middle_s;

    cr_assert(eq(int, pfc_jobs_get(db, id, &jobs, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_job_waits(db, &jobs, &waits, &err), PFC_OK), "%s", err.msg);
    middle_s = waits[0].middle_s;
    cr_assert(eq(dbl, waits[0].low_s, middle_s));
    cr_assert(eq(dbl, waits[0].high_s, middle_s));
    pfc_job_waits_free(waits, jobs.len);
    pfc_rows_clear(&jobs);
    return middle_s;
}

/* The budget is what it takes, whatever others took; what a session took says nothing of other
 * jobs. */
Test(job_blocks, the_expected_time_is_the_budget)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = fx_project(db);
    pfc_job_blocks b = blocks_of(3);
    char secret[PFC_LEASE_SIZE];
    pfc_jobs jobs = { 0 };
    int64_t first, second, third;

    cr_assert(eq(i64, lease(db, CAN_BLOCKS, &jobs, secret), 0));
    first = must_enqueue(db, p, &b);
    b.budget_s = 600;
    second = must_enqueue(db, p, &b);
    b.budget_s = 60;
    third = must_enqueue(db, p, &b);
    cr_assert(eq(dbl, wait_of(db, first), 0));
    cr_assert(eq(dbl, wait_of(db, second), 1800));
    cr_assert(eq(dbl, wait_of(db, third), 2400));
    pfc_test_sql(
        url, "INSERT INTO jobs (project_id, kind, state, sha, started_at, finished_at, task) "
             "SELECT project_id, 'nightly', 'done', md5(i::text), now() - interval '9 h', now(), "
             "'{\"blocks\": {\"budget_s\": 9}}' FROM jobs, generate_series(1, 60) i");
    {
        const pfc_job_spec plain = { .kind = "nightly",
                                     .commit = ids[1],
                                     .priority = PFC_JOB_BY_KIND };
        pfc_job_wait *waits = NULL;
        bool created = false;
        pfc_err err = { 0 };

        cr_assert(eq(int, pfc_job_enqueue(db, "test", p, &plain, &created, &jobs, &err), PFC_OK));
        cr_assert(eq(dbl, wait_of(db, jobs.items[0].id), 2460)); /* after the third */
        pfc_rows_clear(&jobs);
        cr_assert(eq(int,
                     pfc_job_enqueue(db, "test", p,
                                     &(pfc_job_spec){ .kind = "nightly", .commit = ids[2] },
                                     &created, &jobs, &err),
                     PFC_OK));
        cr_assert(eq(int, pfc_job_waits(db, &jobs, &waits, &err), PFC_OK));
        cr_assert(isnan(waits[0].middle_s)); /* none like the plain one has ended */
        pfc_job_waits_free(waits, jobs.len);
        pfc_rows_clear(&jobs);
    }
    pfc_db_close(db);
    free(url);
}

/* Where its rounds are given the budget is only a limit. */
Test(job_blocks, the_time_of_given_rounds_is_not_known)
{
    pfc_db *db = pfc_test_db_open(2, NULL);
    const int64_t p = fx_project(db);
    pfc_job_blocks b = blocks_of(3);
    char secret[PFC_LEASE_SIZE];
    pfc_job_wait *waits = NULL;
    pfc_jobs jobs = { 0 };
    pfc_err err = { 0 };
    int64_t second;

    cr_assert(eq(i64, lease(db, CAN_BLOCKS, &jobs, secret), 0));
    b.rounds = 3;
    b.budget_s = PFC_JOB_MAX_BUDGET_S;
    (void)must_enqueue(db, p, &b);
    b.rounds = 0;
    second = must_enqueue(db, p, &b);
    cr_assert(eq(int, pfc_jobs_get(db, second, &jobs, &err), PFC_OK));
    cr_assert(eq(int, pfc_job_waits(db, &jobs, &waits, &err), PFC_OK), "%s", err.msg);
    cr_assert(isnan(waits[0].middle_s));
    pfc_job_waits_free(waits, jobs.len);
    pfc_rows_clear(&jobs);
    pfc_db_close(db);
}
