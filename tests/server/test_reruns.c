/*
 * Rerun rules: each trigger, each limit, the other machine, the wait. Time passes by the rows'
 * times being set back: the database's clock decides.
 */
#include <pthread.h>

#include "server/services/queue/queue.h"
#include "server/services/queue/reruns.h"

#include "tests/check/check.h"
#include "tests/server/plant.h"
#include "tests/support/cluster_hooks.h"

static int64_t enqueue(const fx_ground *g, const char *kind, unsigned n)
{
    const pfc_job_spec spec = { .kind = kind, .commit = fx_sha(n), .priority = PFC_JOB_BY_KIND };
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

/* Id of the job that the runner gets; 0: none. */
static int64_t lease(const fx_ground *g, const char *name, char secret[PFC_LEASE_SIZE])
{
    const pfc_lease_request request = { .runner = name, .machine_class = "test-cpu" };
    pfc_jobs jobs = { 0 };
    pfc_err err = { 0 };
    pfc_code code = pfc_job_lease(g->db, &request, &jobs, secret, &err);
    int64_t id = code ? 0 : jobs.items[0].id;

    cr_assert(code == PFC_OK || code == PFC_ENOTFOUND, "%s", err.msg);
    pfc_rows_clear(&jobs);
    return id;
}

static pfc_rerun_rules rules_of(pfc_rerun_rule rule)
{
    return (pfc_rerun_rules){ .items = { rule }, .len = 1 };
}

/* run NULL: the job brings none. Frees it. rules NULL: the runner could not read any. */
static void finish(const fx_ground *g, int64_t job, const char *secret, const char *status,
                   const char *reason, pfc_run *run, const pfc_rerun_rules *rules)
{
    const char *ids[1] = { 0 };
    pfc_job_result result = { .rerun = rules };
    pfc_err err = { 0 };
    char id[33] = "";

    if (run) {
        run->job_id = job;
        (void)snprintf(id, sizeof(id), "%s", run->id);
        (void)fx_ingest(g->db, g->project, run);
        ids[0] = id;
        result.run_ids = ids;
        result.run_ids_len = 1;
    }
    cr_assert(eq(int, pfc_job_finish(g->db, job, secret, status, reason, &result, &err), PFC_OK),
              "%s", err.msg);
}

/* How many reruns that made. */
static size_t decide(const fx_ground *g)
{
    pfc_err err = { 0 };
    size_t made = 0;

    cr_assert(eq(int, pfc_reruns_decide(g->db, &made, &err), PFC_OK), "%s", err.msg);
    return made;
}

/* A measure job of commit n by runner r1 that ends so. */
static int64_t one_job(const fx_ground *g, unsigned n, const char *status, const char *reason,
                       pfc_run *run, const pfc_rerun_rules *rules)
{
    char secret[PFC_LEASE_SIZE];
    int64_t id = enqueue(g, "measure", n);

    cr_assert(eq(i64, lease(g, "r1", secret), id));
    finish(g, id, secret, status, reason, run, rules);
    return id;
}

static pfc_jobs job_of(const fx_ground *g, int64_t id)
{
    pfc_jobs jobs = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_jobs_get(g->db, id, &jobs, &err), PFC_OK), "%s", err.msg);
    return jobs;
}

static void expect_note(const fx_ground *g, int64_t id, const char *part)
{
    pfc_jobs job = job_of(g, id);

    cr_expect(job.items[0].rerun_note && strstr(job.items[0].rerun_note, part), "\"%s\" in \"%s\"",
              part, job.items[0].rerun_note ? job.items[0].rerun_note : "");
    pfc_rows_clear(&job);
}

/* The newest job is that rerun of job `of`. */
static int64_t expect_rerun(const fx_ground *g, int64_t of, const char *rule, int64_t number,
                            int64_t times)
{
    int64_t id = plant_number(g->url, "SELECT max(id) FROM jobs WHERE kind <> 'detect'");
    pfc_jobs job = job_of(g, id), first = job_of(g, of);

    cr_assert(eq(str, (char *)job.items[0].rerun_rule, (char *)rule));
    cr_expect(eq(i64, job.items[0].rerun_of, of));
    cr_expect(eq(i64, job.items[0].rerun_number, number));
    cr_expect(eq(i64, job.items[0].rerun_times, times));
    cr_expect(eq(str, (char *)job.items[0].kind, (char *)first.items[0].kind));
    cr_expect(eq(str, (char *)job.items[0].commit, (char *)first.items[0].commit));
    cr_expect(eq(str, (char *)job.items[0].state, "queued"));
    pfc_rows_clear(&job);
    pfc_rows_clear(&first);
    return id;
}

static pfc_run *moved_run(unsigned n)
{
    pfc_run *run = fx_run(n);

    fx_measure(run, "gemm/a", "time_ns", 100, 0.005, 12, 3, n);
    run->infra = true;
    return run;
}

static pfc_run *sound_run(unsigned n, double center, double noise, uint64_t seed)
{
    pfc_run *run = fx_run(n);

    fx_measure(run, "gemm/a", "time_ns", center, noise, 12, 3, seed);
    return run;
}

Test(reruns, a_moved_canary_is_measured_again_at_most_n_times)
{
    fx_ground g = fx_begin(3);
    const pfc_rerun_rules rules = rules_of((pfc_rerun_rule){ PFC_RERUN_CANARY, 2, 0, false });
    char secret[PFC_LEASE_SIZE];
    int64_t first, again;

    fx_commits(g.db, g.project, 1, 3);
    first = one_job(&g, 1, "done", NULL, moved_run(1), &rules);
    for (int n = 1; n <= 2; n++) {
        cr_assert(eq(sz, decide(&g), 1));
        cr_assert(eq(sz, decide(&g), 0)); /* not twice for one job */
        again = expect_rerun(&g, first, "canary", n, 2);
        cr_assert(eq(i64, lease(&g, "r1", secret), again));
        finish(&g, again, secret, "done", NULL, moved_run(1), &rules);
    }
    cr_assert(eq(sz, decide(&g), 0));
    expect_note(&g, first, "rule canary: job");
    expect_note(&g, again, "no further rerun, 2 of 2 were made");
    /* A sound canary fires nothing. */
    (void)one_job(&g, 2, "done", NULL, sound_run(2, 100, 0.005, 9), &rules);
    cr_assert(eq(sz, decide(&g), 0));
    fx_end(&g);
}

Test(reruns, a_failed_job_fires_infra_and_a_broken_or_late_one_fires_broken)
{
    fx_ground g = fx_begin(3);
    const pfc_rerun_rules both = {
        .items = { { PFC_RERUN_INFRA, 1, 0, false }, { PFC_RERUN_BROKEN, 3, 0, false } }, .len = 2
    };
    int64_t id;

    fx_commits(g.db, g.project, 1, 9);
    id = one_job(&g, 1, "failed", "the source cannot be reached", NULL, &both);
    cr_assert(eq(sz, decide(&g), 1));
    (void)expect_rerun(&g, id, "infra", 1, 1);
    plant_sql(g.url, "UPDATE jobs SET state = 'cancelled' WHERE state = 'queued'");
    id = one_job(&g, 2, "broken", "it does not build", NULL, &both);
    cr_assert(eq(sz, decide(&g), 1));
    (void)expect_rerun(&g, id, "broken", 1, 3);
    plant_sql(g.url, "UPDATE jobs SET state = 'cancelled' WHERE state = 'queued'");
    id = one_job(&g, 3, "timed_out", "over 600 s", NULL, &both);
    cr_assert(eq(sz, decide(&g), 1));
    (void)expect_rerun(&g, id, "broken", 1, 3);
    fx_end(&g);
}

/* Three lost leases: no runner reports rules, so the project's apply. */
Test(reruns, a_job_that_lost_its_leases_fires_infra_by_the_rules_of_the_project)
{
    fx_ground g = fx_begin(3);
    const pfc_rerun_rules rules = rules_of((pfc_rerun_rule){ PFC_RERUN_INFRA, 1, 0, false });
    char secret[PFC_LEASE_SIZE];
    pfc_err err = { 0 };
    size_t expired = 0;
    int64_t id;

    fx_commits(g.db, g.project, 1, 9);
    (void)one_job(&g, 1, "done", NULL, sound_run(1, 100, 0.005, 1), &rules);
    id = enqueue(&g, "measure", 2);
    for (int n = 0; n < PFC_JOB_MAX_TRIES; n++) {
        plant_sql(g.url, "UPDATE jobs SET not_before = NULL WHERE id = %lld", (long long)id);
        cr_assert(eq(i64, lease(&g, "r1", secret), id));
        plant_sql(g.url, "UPDATE jobs SET lease_until = now() - interval '1 s' WHERE id = %lld",
                  (long long)id);
        cr_assert(eq(int, pfc_jobs_expire(g.db, &expired, &err), PFC_OK));
    }
    cr_assert(eq(sz, decide(&g), 1));
    (void)expect_rerun(&g, id, "infra", 1, 1);
    fx_end(&g);
}

Test(reruns, the_project_keeps_the_rules_of_its_default_branch_only)
{
    fx_ground g = fx_begin(3);
    const pfc_rerun_rules main_rules = rules_of((pfc_rerun_rule){ PFC_RERUN_BROKEN, 1, 60, true });
    const pfc_rerun_rules other = rules_of((pfc_rerun_rule){ PFC_RERUN_INFRA, 5, 0, false });
    const pfc_job_spec branch = { .kind = "measure", .commit = fx_sha(2), .branch = "release" };
    const pfc_job_spec own = { .kind = "measure",
                               .commit = fx_sha(3),
                               .config = "measure: true\n" };
    const pfc_job_spec *specs[] = { &branch, &own };

    fx_commits(g.db, g.project, 1, 9);
    (void)one_job(&g, 1, "done", NULL, NULL, &main_rules);
    for (size_t i = 0; i < PFC_ARRAY_LEN(specs); i++) {
        pfc_jobs jobs = { 0 };
        pfc_err err = { 0 };
        bool created = false;
        char secret[PFC_LEASE_SIZE];

        cr_assert(eq(int, pfc_job_enqueue(g.db, "test", g.project, specs[i], &created, &jobs, &err),
                     PFC_OK));
        pfc_rows_clear(&jobs);
        finish(&g, lease(&g, "r1", secret), secret, "failed", "down", NULL, &other);
        cr_assert(eq(sz, decide(&g), 1)); /* by its own rules */
        plant_sql(g.url, "UPDATE jobs SET state = 'cancelled' WHERE state = 'queued'");
    }
    cr_expect(eq(i64,
                 plant_number(g.url, "SELECT count(*) FROM projects WHERE rerun_rules = "
                                     "'[{\"on\": \"broken\", \"times\": 1, \"after_s\": 60, "
                                     "\"machine\": \"other\"}]'"),
                 1));
    cr_expect(
        eq(i64, plant_number(g.url, "SELECT count(*) FROM audit WHERE action = 'rerun_rules'"), 1));
    fx_end(&g);
}

/* 3 launches with 3 % noise do not decide a difference of 1 %; 24 launches with 0.05 % do. */
Test(reruns, an_undecided_comparison_with_the_parent_fires_inconclusive)
{
    fx_ground g = fx_begin(3);
    const pfc_rerun_rules rules = rules_of((pfc_rerun_rule){ PFC_RERUN_INCONCLUSIVE, 1, 0, false });
    int64_t id;

    fx_commits(g.db, g.project, 1, 9);
    (void)one_job(&g, 1, "done", NULL, sound_run(1, 100, 0.03, 1), &rules);
    cr_assert(eq(sz, decide(&g), 0)); /* its parent was not measured: nothing to decide */
    id = one_job(&g, 2, "done", NULL, sound_run(2, 101, 0.03, 2), &rules);
    cr_assert(eq(sz, decide(&g), 1));
    (void)expect_rerun(&g, id, "inconclusive", 1, 1);
    plant_sql(g.url, "UPDATE jobs SET state = 'cancelled' WHERE state = 'queued'");
    for (unsigned n = 5; n <= 6; n++) {
        pfc_run *run = fx_run(n);

        fx_measure(run, "gemm/a", "time_ns", 100, 0.0005, 96, 24, n);
        (void)one_job(&g, n, "done", NULL, run, &rules);
    }
    cr_assert(eq(sz, decide(&g), 0));
    fx_end(&g);
}

Test(reruns, a_change_that_is_not_firm_fires_suspected_until_it_is_or_n_is_reached)
{
    fx_ground g = fx_begin(3);
    const pfc_rerun_rules rules = rules_of((pfc_rerun_rule){ PFC_RERUN_SUSPECTED, 2, 0, false });
    char secret[PFC_LEASE_SIZE];
    int64_t id = 0, made = 0;

    fx_commits(g.db, g.project, 1, 60);
    for (unsigned n = 1; n <= 34; n++) {
        const double center = n >= 32 ? 108 : 100;

        id = one_job(&g, n, "done", NULL, sound_run(n, center, 0.005, n * 31), &rules);
        (void)decide(&g);
        fx_detect(g.db);
        made = plant_number(g.url, "SELECT count(*) FROM jobs WHERE rerun_rule = 'suspected'");
        if (made)
            break;
    }
    cr_assert(eq(i64, made, 1), "no change was suspected");
    cr_expect(eq(i64,
                 plant_number(g.url,
                              "SELECT count(*) FROM jobs WHERE rerun_rule = 'suspected' AND"
                              " sha = '%s' AND rerun_number = 1 AND rerun_times = 2",
                              fx_sha(32)),
                 1));
    /* One at a time, and no more than two, whatever they bring. */
    for (int n = 0; n < 4; n++) {
        id = lease(&g, "r1", secret);
        if (!id)
            break;
        finish(&g, id, secret, "done", NULL, sound_run(32, 108, 0.005, 7000 + (unsigned)n), &rules);
        (void)decide(&g);
        fx_detect(g.db);
        made = plant_number(g.url, "SELECT count(*) FROM jobs WHERE rerun_rule = 'suspected'");
        cr_assert(le(i64, made, 2));
    }
    cr_assert(eq(i64, lease(&g, "r1", secret), 0));
    fx_end(&g);
}

Test(reruns, the_wait_is_kept_by_the_database_clock)
{
    fx_ground g = fx_begin(3);
    const pfc_rerun_rules rules = rules_of((pfc_rerun_rule){ PFC_RERUN_INFRA, 1, 600, false });
    char secret[PFC_LEASE_SIZE];
    pfc_err err = { 0 };
    size_t expired = 0;
    int64_t id;

    fx_commits(g.db, g.project, 1, 3);
    id = one_job(&g, 1, "failed", "down", NULL, &rules);
    cr_assert(eq(sz, decide(&g), 1));
    id = expect_rerun(&g, id, "infra", 1, 1);
    cr_expect(eq(i64,
                 plant_number(g.url,
                              "SELECT count(*) FROM jobs WHERE id = %lld AND not_before"
                              " BETWEEN now() + interval '590 s' AND now() + interval '610 s'",
                              (long long)id),
                 1));
    cr_assert(eq(i64, lease(&g, "r1", secret), 0));
    plant_sql(g.url, "UPDATE jobs SET not_before = not_before - interval '611 s' WHERE id = %lld",
              (long long)id);
    cr_assert(eq(int, pfc_jobs_expire(g.db, &expired, &err), PFC_OK));
    cr_assert(eq(i64, lease(&g, "r1", secret), id));
    fx_end(&g);
}

Test(reruns, another_machine_measures_again_where_there_is_one)
{
    fx_ground g = fx_begin(3);
    const pfc_rerun_rules rules = rules_of((pfc_rerun_rule){ PFC_RERUN_INFRA, 1, 60, true });
    char secret[PFC_LEASE_SIZE];
    pfc_err err = { 0 };
    size_t expired = 0;
    int64_t id;

    fx_commits(g.db, g.project, 1, 3);
    cr_assert(eq(i64, lease(&g, "r2", secret), 0)); /* it is there */
    id = one_job(&g, 1, "failed", "down", NULL, &rules);
    cr_assert(eq(sz, decide(&g), 1));
    id = expect_rerun(&g, id, "infra", 1, 1);
    plant_sql(g.url, "UPDATE jobs SET not_before = NULL WHERE id = %lld", (long long)id);
    cr_assert(eq(int, pfc_jobs_expire(g.db, &expired, &err), PFC_OK));
    cr_assert(eq(i64, lease(&g, "r1", secret), 0));
    cr_assert(eq(i64, lease(&g, "r2", secret), id));
    fx_end(&g);
}

Test(reruns, without_another_machine_the_same_one_measures_and_the_job_says_why)
{
    fx_ground g = fx_begin(3);
    const pfc_rerun_rules rules = rules_of((pfc_rerun_rule){ PFC_RERUN_INFRA, 1, 0, true });
    char secret[PFC_LEASE_SIZE];
    int64_t id;

    fx_commits(g.db, g.project, 1, 3);
    id = one_job(&g, 1, "failed", "down", NULL, &rules);
    cr_assert(eq(sz, decide(&g), 1));
    id = expect_rerun(&g, id, "infra", 1, 1);
    expect_note(&g, id, "no other machine that fits is connected");
    cr_assert(eq(i64, lease(&g, "r1", secret), id));
    fx_end(&g);
}

/* It was there when the rule fired, and never asked for the job. */
Test(reruns, another_machine_that_does_not_come_is_waited_for_and_then_done_without)
{
    fx_ground g = fx_begin(3);
    const pfc_rerun_rules rules = rules_of((pfc_rerun_rule){ PFC_RERUN_INFRA, 1, 0, true });
    char secret[PFC_LEASE_SIZE];
    int64_t id;

    fx_commits(g.db, g.project, 1, 3);
    cr_assert(eq(i64, lease(&g, "r2", secret), 0));
    id = one_job(&g, 1, "failed", "down", NULL, &rules);
    cr_assert(eq(sz, decide(&g), 1));
    id = expect_rerun(&g, id, "infra", 1, 1);
    plant_sql(g.url, "UPDATE jobs SET avoid_until = avoid_until - interval '590 s' WHERE id = %lld",
              (long long)id);
    cr_assert(eq(i64, lease(&g, "r1", secret), 0));
    plant_sql(g.url, "UPDATE jobs SET avoid_until = avoid_until - interval '11 s' WHERE id = %lld",
              (long long)id);
    cr_assert(eq(i64, lease(&g, "r1", secret), id));
    expect_note(&g, id, "no other machine took it within 10 minutes: r1 measures again");
    fx_end(&g);
}

/* All triggers at five times each would be 25: the chain ends before. */
Test(reruns, a_chain_of_reruns_ends_whatever_its_rules_say)
{
    fx_ground g = fx_begin(3);
    pfc_rerun_rules rules = { .len = PFC_RERUN_TRIGGERS };
    char secret[PFC_LEASE_SIZE];
    int64_t id, reruns = 0;

    for (int i = 0; i < PFC_RERUN_TRIGGERS; i++)
        rules.items[i] = (pfc_rerun_rule){ (pfc_rerun_on)i, PFC_RERUN_MAX_TIMES, 0, false };
    fx_commits(g.db, g.project, 1, 3);
    id = one_job(&g, 1, "failed", "down", NULL, &rules);
    for (int n = 0; n < 40; n++) {
        reruns += (int64_t)decide(&g);
        id = lease(&g, "r1", secret);
        if (!id)
            break;
        if (n % 3 == 2)
            finish(&g, id, secret, "done", NULL, moved_run(1), &rules);
        else
            finish(&g, id, secret, n % 3 ? "broken" : "failed", "down", NULL, &rules);
    }
    cr_assert(eq(i64, id, 0));
    cr_assert(eq(i64, reruns, PFC_RERUN_MAX_CHAIN));
    fx_end(&g);
}

Test(reruns, searches_and_verifications_repeat_by_their_own_plans)
{
    fx_ground g = fx_begin(3);
    const pfc_rerun_rules rules = rules_of((pfc_rerun_rule){ PFC_RERUN_INFRA, 1, 0, false });
    char secret[PFC_LEASE_SIZE];
    int64_t id;

    fx_commits(g.db, g.project, 1, 3);
    id = enqueue(&g, "bisect", 1);
    cr_assert(eq(i64, lease(&g, "r1", secret), id));
    finish(&g, id, secret, "failed", "down", NULL, &rules);
    cr_assert(eq(sz, decide(&g), 0));
    fx_end(&g);
}

static void *decide_thread(void *arg)
{
    return (void *)(uintptr_t)decide(arg);
}

Test(reruns, servers_that_decide_at_once_make_one_rerun_a_job)
{
    fx_ground g = fx_begin(3);
    const pfc_rerun_rules rules = rules_of((pfc_rerun_rule){ PFC_RERUN_INFRA, 3, 0, false });
    pthread_t threads[3];
    size_t made = 0;

    fx_commits(g.db, g.project, 1, 20);
    for (unsigned n = 1; n <= 20; n++)
        (void)one_job(&g, n, "failed", "down", NULL, &rules);
    for (size_t i = 0; i < PFC_ARRAY_LEN(threads); i++)
        cr_assert(eq(int, pthread_create(&threads[i], NULL, decide_thread, &g), 0));
    for (size_t i = 0; i < PFC_ARRAY_LEN(threads); i++) {
        void *one = NULL;

        (void)pthread_join(threads[i], &one);
        made += (size_t)(uintptr_t)one;
    }
    cr_assert(eq(sz, made, 20));
    cr_assert(
        eq(i64, plant_number(g.url, "SELECT count(*) FROM jobs WHERE rerun_rule = 'infra'"), 20));
    fx_end(&g);
}

static char *class_of(const fx_ground *g, int64_t job)
{
    pfc_jobs row = job_of(g, job);
    char *text = pfc_strdup(row.items[0].reproducibility ? row.items[0].reproducibility : "");

    pfc_rows_clear(&row);
    return text;
}

#define EXPECT_CLASS(g, job, want)                                                                 \
    do {                                                                                           \
        char *class_ = class_of((g), (job));                                                       \
        cr_expect(eq(str, class_, (want)));                                                        \
        free(class_);                                                                              \
    } while (0)

/* The second run of commit 2 is 20 % away, which confirms nothing; nor does a moved canary. */
Test(reruns, a_result_states_how_far_it_was_reproduced)
{
    fx_ground g = fx_begin(3);
    pfc_run *exact = fx_run(3);
    int64_t first, second, third, fourth;

    fx_commits(g.db, g.project, 1, 4);
    first = one_job(&g, 1, "done", NULL, sound_run(1, 100, 0.02, 1), NULL);
    EXPECT_CLASS(&g, first, "single");
    second = one_job(&g, 1, "done", NULL, sound_run(1, 100, 0.02, 2), NULL);
    EXPECT_CLASS(&g, first, "confirmed");
    EXPECT_CLASS(&g, second, "confirmed");
    third = one_job(&g, 2, "done", NULL, sound_run(2, 100, 0.005, 3), NULL);
    (void)one_job(&g, 2, "done", NULL, sound_run(2, 120, 0.005, 4), NULL);
    (void)one_job(&g, 2, "done", NULL, moved_run(2), NULL);
    EXPECT_CLASS(&g, third, "single");
    fx_exact(exact, "gemm/a", "cycles", 1000);
    fourth = one_job(&g, 3, "done", NULL, exact, NULL);
    EXPECT_CLASS(&g, fourth, "exact");
    EXPECT_CLASS(&g, one_job(&g, 4, "failed", "down", NULL, NULL), "");
    fx_end(&g);
}
