/* Schedules: stored, fired once, never overlapping, and the jobs that their nights queue. */
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "core/base/clock.h"
#include "server/services/bot/bot.h"
#include "server/services/queue/queue.h"
#include "server/services/queue/schedules.h"

#include "tests/check/check.h"
#include "tests/server/fixture.h"
#include "tests/server/plant.h"
#include "tests/support/cluster_hooks.h"

#define SOURCE "/srv/p.git"

static fx_ground g;

static void setup(void)
{
    g = fx_begin(4);
    pfc_test_sql(g.url, "UPDATE projects SET repo_url = '" SOURCE "'");
}

static void teardown(void)
{
    fx_end(&g);
}

TestSuite(schedules, .init = setup, .fini = teardown);

static const pfc_schedule_spec nightly = {
    .name = "nightly", .cron = "30 2 * * *", .zone = "Europe/Berlin", .enabled = true
};

static void add(const pfc_schedule_spec *spec)
{
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_schedule_add(g.db, "tester", g.project, spec, &err), PFC_OK), "%s",
              err.msg);
}

/* The schedule is due since so many seconds. */
static void make_due(int since_s)
{
    plant_sql(g.url, "UPDATE schedules SET next_at = now() - make_interval(secs => %d)", since_s);
}

/* Fires one schedule; *out has what became of it. */
static void fire(pfc_fired *out)
{
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_schedules_fire(g.db, NULL, out, &err), PFC_OK), "%s", err.msg);
}

static void expect_none_due(void)
{
    pfc_fired fired;

    cr_expect(eq(int, pfc_schedules_fire(g.db, NULL, &fired, NULL), PFC_ENOTFOUND));
}

static void measure(unsigned n)
{
    pfc_run *run = fx_run(n);

    fx_exact(run, "gemm/a", "cycles", 100);
    fx_ingest(g.db, g.project, run);
}

static int64_t count(const char *from)
{
    return plant_number(g.url, "SELECT count(*) FROM %s", from);
}

static void expect_text(const char *text, const char *expected)
{
    cr_expect(eq(str, (char *)(text ? text : "(null)"), (char *)expected));
}

/* ---- stored ---- */

Test(schedules, a_schedule_is_stored_changed_and_removed_with_a_record)
{
    pfc_schedules rows = { 0 };
    pfc_schedule_spec spec = nightly;
    pfc_err err = { 0 };

    add(&spec);
    cr_assert(eq(int, pfc_schedule_add(g.db, "tester", g.project, &spec, &err), PFC_ECONFLICT));
    expect_text(err.msg, "schedule \"nightly\" exists already");
    spec.cron = "@weekly";
    spec.zone = NULL;
    spec.branch = "dev";
    spec.max_commits = 7;
    spec.budget_s = 60;
    cr_assert(eq(int, pfc_schedule_change(g.db, "tester", g.project, &spec, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(int, pfc_schedules_all(g.db, g.project, &rows, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, rows.len, 1));
    expect_text(rows.items[0].cron, "@weekly");
    expect_text(rows.items[0].zone, "UTC");
    expect_text(rows.items[0].branch, "dev");
    cr_expect(eq(i64, rows.items[0].max_commits, 7));
    cr_expect(epsilon_eq(dbl, rows.items[0].budget_s, 60, 1e-9));
    /* Sunday, midnight, UTC: 259200 s after a Thursday's midnight. */
    cr_expect(epsilon_eq(dbl, fmod(rows.items[0].next_at, 604800), 259200, 1e-6));
    pfc_rows_clear(&rows);

    spec.enabled = false;
    cr_assert(eq(int, pfc_schedule_change(g.db, "tester", g.project, &spec, &err), PFC_OK));
    cr_expect(eq(i64, count("schedules WHERE next_at IS NULL AND NOT enabled"), 1));
    cr_assert(eq(int, pfc_schedule_remove(g.db, "tester", g.project, "nightly", &err), PFC_OK));
    cr_expect(
        eq(int, pfc_schedule_remove(g.db, "tester", g.project, "nightly", &err), PFC_ENOTFOUND));
    cr_expect(eq(int, pfc_schedule_change(g.db, "tester", g.project, &spec, &err), PFC_ENOTFOUND));
    cr_expect(eq(i64, count("schedules"), 0));
    cr_expect(eq(i64, count("audit WHERE object = 'schedule nightly' AND actor = 'tester'"), 4));
}

static void expect_refused(pfc_schedule_spec spec, const char *field, const char *part)
{
    pfc_err err = { 0 };

    cr_expect(eq(int, pfc_schedule_add(g.db, "tester", g.project, &spec, &err), PFC_EINVAL), "%s",
              part);
    expect_text(err.field, field);
    cr_expect(strstr(err.msg, part) != NULL, "%s", err.msg);
}

Test(schedules, invalid_ones_are_refused_with_their_field)
{
    pfc_schedule_spec s = nightly;

    s.cron = "30 25 * * *";
    expect_refused(s, "cron", "hour: expected 0 to 23");
    s.cron = "0 0 30 2 *";
    expect_refused(s, "cron", "never fires");
    s = nightly;
    s.zone = "Europe/Atlantis";
    expect_refused(s, "zone", "unknown");
    s = nightly;
    s.name = "No Name";
    expect_refused(s, "name", "expected lower-case letters");
    s = nightly;
    s.max_commits = PFC_JOB_MAX_COMMITS + 1;
    expect_refused(s, "max_commits", "expected 1 to 254, got 255");
    s.max_commits = -1;
    expect_refused(s, "max_commits", "expected 1 to 254");
    s = nightly;
    s.budget_s = 0.5;
    expect_refused(s, "budget_s", "expected 1 to 86400");
    s.budget_s = 86401;
    expect_refused(s, "budget_s", "expected 1 to 86400");
    s.budget_s = (double)NAN;
    expect_refused(s, "budget_s", "expected 1 to 86400");
    s = nightly;
    s.max_commits = PFC_JOB_MAX_COMMITS;
    s.budget_s = 86400;
    add(&s);
    cr_expect(eq(i64, count("schedules"), 1));
}

Test(schedules, a_project_has_a_limited_number)
{
    pfc_schedule_spec s = nightly;
    char name[16];
    pfc_err err = { 0 };

    s.name = name;
    for (int i = 0; i < PFC_SCHEDULES_MAX; i++) {
        (void)snprintf(name, sizeof(name), "s%d", i);
        add(&s);
    }
    (void)snprintf(name, sizeof(name), "more");
    cr_expect(eq(int, pfc_schedule_add(g.db, "tester", g.project, &s, &err), PFC_ECONFLICT));
    expect_text(err.msg, "the project has 100 schedules: remove one");
}

/* ---- fired ---- */

Test(schedules, a_due_one_fires_once_and_catches_up_once)
{
    pfc_fired fired;

    fx_commits(g.db, g.project, 1, 3);
    add(&nightly);
    expect_none_due();
    make_due(10 * 86400); /* ten times */
    fire(&fired);
    expect_text(fired.state, "running");
    cr_expect(gt(i64, fired.job_id, 0));
    expect_none_due();
    cr_expect(eq(i64, count("nights"), 1));
    cr_expect(eq(i64,
                 count("schedules WHERE next_at > now() AND next_at < now() + interval '25h'"
                       " AND last_at < now() - interval '9 days'"),
                 1));
    cr_expect(eq(i64, count("nights n JOIN schedules s ON s.last_at = n.due_at"), 1));
}

Test(schedules, a_disabled_one_does_not_fire)
{
    fx_commits(g.db, g.project, 1, 3);
    add(&nightly);
    pfc_test_sql(g.url, "UPDATE schedules SET enabled = false");
    make_due(60);
    expect_none_due();
    cr_expect(eq(i64, count("nights"), 0));
}

static void *fire_all(void *arg)
{
    pfc_fired fired;

    while (pfc_schedules_fire(arg, NULL, &fired, NULL) == PFC_OK)
        ;
    return NULL;
}

/* Pools are as separate as servers. */
Test(schedules, servers_fire_each_due_time_once)
{
    enum { SERVERS = 4, SCHEDULES = 12 };
    pthread_t threads[SERVERS];
    pfc_db *pools[SERVERS];
    pfc_schedule_spec s = nightly;
    char name[16];

    fx_commits(g.db, g.project, 1, 3);
    s.name = name;
    for (int i = 0; i < SCHEDULES; i++) {
        (void)snprintf(name, sizeof(name), "s%d", i);
        add(&s);
    }
    make_due(60);
    for (int i = 0; i < SERVERS; i++)
        cr_assert(eq(int, pfc_db_open(&pools[i], &(pfc_db_opts){ .url = g.url }, NULL), PFC_OK));
    for (int i = 0; i < SERVERS; i++)
        cr_assert(eq(int, pthread_create(&threads[i], NULL, fire_all, pools[i]), 0));
    for (int i = 0; i < SERVERS; i++) {
        (void)pthread_join(threads[i], NULL);
        pfc_db_close(pools[i]);
    }
    fire_all(g.db); /* what was locked when every server looked */
    cr_expect(eq(i64, count("nights"), SCHEDULES));
    cr_expect(
        eq(i64, plant_number(g.url, "SELECT count(DISTINCT schedule_id) FROM nights"), SCHEDULES));
    /* All have the same work: one job. */
    cr_expect(eq(i64, count("jobs WHERE kind = 'nightly'"), 1));
}

Test(schedules, one_that_another_server_works_on_is_passed_over)
{
    pfc_sql_schedule_due_rows rows = { 0 };
    pfc_tx *tx = NULL;
    pfc_fired fired;

    fx_commits(g.db, g.project, 1, 3);
    add(&nightly);
    make_due(60);
    cr_assert(eq(int, pfc_tx_begin(&tx, g.db, PFC_TX_WRITE, NULL), PFC_OK));
    cr_assert(eq(int, pfc_sql_schedules_due(tx, &rows, NULL), PFC_OK));
    cr_assert(eq(sz, rows.len, 1));
    expect_none_due();
    pfc_tx_free(tx);
    pfc_rows_clear(&rows);
    fire(&fired);
}

/* ---- the job ---- */

/* Column of the newest job, as text. */
static void expect_job(const char *column, const char *expected)
{
    char *sql = pfc_format("SELECT count(*) FROM jobs WHERE id = (SELECT max(id) FROM jobs WHERE "
                           "kind = 'nightly') AND (%s)::text = '%s'",
                           column, expected);

    cr_expect(eq(i64, plant_number(g.url, "%s", sql), 1), "%s: expected %s", column, expected);
    free(sql);
}

Test(schedules, a_night_measures_the_new_commits_in_blocks_on_the_newest_measured_one)
{
    static const char *const backends[] = { "cpu-avx2", "cpu-scalar" };
    pfc_schedule_spec s = nightly;
    pfc_fired fired;

    fx_commits(g.db, g.project, 1, 9);
    measure(2);
    measure(4);
    s.max_commits = 3;
    s.budget_s = 120;
    s.suite = "suites/full.yaml";
    s.backends = backends;
    s.backends_len = 2;
    s.labels = fx_labels("{\"rack\": \"7\"}");
    add(&s);
    make_due(1);
    fire(&fired);
    expect_job("kind", "nightly");
    expect_job("sha", fx_sha(9));
    expect_job("branch", "main");
    expect_job("suite", "suites/full.yaml");
    expect_job("source", SOURCE);
    expect_job("priority", "50");
    expect_job("labels ->> 'rack'", "7");
    expect_job("labels ->> 'tasks'", "blocks");
    expect_job("task -> 'backends'", "[\"cpu-avx2\", \"cpu-scalar\"]");
    expect_job("task -> 'blocks' ->> 'base'", fx_sha(4));
    expect_job("task -> 'blocks' -> 'commits' ->> 0", fx_sha(7));
    expect_job("task -> 'blocks' -> 'commits' ->> 2", fx_sha(9));
    expect_job("jsonb_array_length(task -> 'blocks' -> 'commits')", "3");
    expect_job("(task -> 'blocks' ->> 'budget_s')::float8", "120");
    cr_expect(
        eq(i64, count("nights WHERE commits = 3 AND left_out = 2 AND actor = 'schedule'"), 1));
    cr_expect(eq(i64, count("audit WHERE actor = 'schedule' AND action = 'enqueue'"), 1));
}

Test(schedules, the_first_night_measures_the_newest_commit_alone)
{
    pfc_fired fired;

    fx_commits(g.db, g.project, 1, 5);
    add(&nightly);
    make_due(1);
    fire(&fired);
    expect_job("sha", fx_sha(5));
    expect_job("coalesce(task ->> 'blocks', 'none')", "none");
    cr_expect(eq(i64, count("nights WHERE commits = 1 AND left_out = 0 AND base IS NULL"), 1));
}

/* Measured on another class, for a schedule that names one. */
Test(schedules, only_runs_of_the_schedules_class_count)
{
    pfc_schedule_spec s = nightly;
    pfc_fired fired;

    fx_commits(g.db, g.project, 1, 5);
    measure(3);
    s.labels = fx_labels("{\"machine_class\": \"elsewhere\"}");
    add(&s);
    make_due(1);
    fire(&fired);
    cr_expect(eq(i64, count("nights WHERE base IS NULL"), 1));
}

Test(schedules, without_new_commits_or_a_repository_there_is_no_job)
{
    pfc_fired fired;

    add(&nightly);
    make_due(1);
    fire(&fired); /* an empty branch */
    expect_text(fired.state, "nothing");
    fx_commits(g.db, g.project, 1, 2);
    measure(2);
    make_due(1);
    fire(&fired);
    expect_text(fired.state, "nothing");
    expect_text(fired.why, "branch main has no new commit");
    fx_commits(g.db, g.project, 3, 3);
    pfc_test_sql(g.url, "UPDATE projects SET repo_url = NULL");
    make_due(1);
    fire(&fired);
    expect_text(fired.state, "failed");
    cr_expect(strstr(fired.why, "no repository URL") != NULL);
    cr_expect(eq(i64, count("jobs WHERE kind = 'nightly'"), 0));
    cr_expect(eq(i64, count("nights WHERE finished_at IS NOT NULL AND job_id IS NULL"), 3));
}

/* ---- overlap and end ---- */

Test(schedules, a_night_is_skipped_while_the_one_before_runs)
{
    pfc_fired fired, second;

    fx_commits(g.db, g.project, 1, 5);
    measure(3);
    add(&nightly);
    make_due(1);
    fire(&fired);
    make_due(1);
    fire(&second);
    expect_text(second.state, "skipped");
    cr_expect(strstr(second.why, "still runs: job") != NULL, "%s", second.why);
    cr_expect(strstr(second.why, "is queued") != NULL, "%s", second.why);
    /* The night failed: the next one measures the same commits again. */
    plant_sql(g.url, "UPDATE jobs SET state = 'failed', reason = 'no disk' WHERE id = %lld",
              (long long)fired.job_id);
    make_due(1);
    fire(&second);
    expect_text(second.state, "running");
    cr_expect(
        eq(i64, count("nights WHERE state = 'failed' AND reason LIKE 'job % failed: no disk'"), 1));
    cr_expect(eq(i64, count("nights WHERE commits = 2"), 2));
    /* The night is done: the next one measures later commits only. */
    plant_sql(g.url, "UPDATE jobs SET state = 'done' WHERE id = %lld", (long long)second.job_id);
    fx_commits(g.db, g.project, 6, 6);
    make_due(1);
    fire(&second);
    expect_text(second.state, "running");
    expect_job("task -> 'blocks' ->> 'base'", fx_sha(5));
    expect_job("jsonb_array_length(task -> 'blocks' -> 'commits')", "1");
    cr_expect(eq(i64, count("nights WHERE state = 'done' AND finished_at IS NOT NULL"), 1));
    /* Its job is gone. */
    plant_sql(g.url, "DELETE FROM jobs WHERE id = %lld", (long long)second.job_id);
    expect_none_due();
    cr_expect(eq(i64, count("nights WHERE state = 'failed' AND reason LIKE 'job % is gone'"), 1));
}

Test(schedules, a_person_starts_a_night_unless_one_runs)
{
    pfc_scheduled_nights rows = { 0 };
    pfc_schedule_spec s = nightly;
    int64_t night = 0, other = 0;
    pfc_err err = { 0 };

    fx_commits(g.db, g.project, 1, 2);
    s.enabled = false;
    add(&s);
    cr_assert(eq(int, pfc_schedule_run(g.db, "ann", g.project, "nightly", &night, &err), PFC_OK),
              "%s", err.msg);
    cr_expect(
        eq(int, pfc_schedule_run(g.db, "ann", g.project, "nightly", &other, &err), PFC_ECONFLICT));
    cr_expect(strstr(err.msg, "still runs") != NULL, "%s", err.msg);
    cr_expect(
        eq(int, pfc_schedule_run(g.db, "ann", g.project, "other", &other, &err), PFC_ENOTFOUND));
    cr_expect(eq(i64, count("nights"), 1));
    cr_assert(eq(
        int, pfc_nights_list(g.db, g.project, "nightly", 0, (pfc_page){ .limit = 10 }, &rows, &err),
        PFC_OK));
    cr_assert(eq(sz, rows.len, 1));
    cr_expect(eq(i64, rows.items[0].id, night));
    expect_text(rows.items[0].actor, "ann");
    cr_expect(not(isfinite(rows.items[0].due_at)));
    pfc_rows_clear(&rows);
    cr_expect(eq(i64, count("schedules WHERE next_at IS NULL AND last_at IS NULL"), 1));
    cr_expect(eq(i64, count("audit WHERE action = 'run' AND actor = 'ann'"), 1));
}

/* ---- no time zone data ---- */

Test(schedules, without_time_zone_data_the_night_starts_and_the_next_time_is_tried_again)
{
    pfc_fired fired;
    pfc_err err = { 0 };

    fx_commits(g.db, g.project, 1, 2);
    add(&nightly);
    make_due(1);
    cr_assert(eq(int, pfc_schedules_fire(g.db, "/nonexistent", &fired, &err), PFC_OK), "%s",
              err.msg);
    expect_text(fired.state, "running");
    cr_expect(strstr(fired.trouble, "install the package tzdata") != NULL, "%s", fired.trouble);
    cr_expect(eq(i64, count("schedules WHERE next_at IS NULL AND trouble LIKE '%tzdata%'"), 1));
    expect_none_due(); /* not at once */
    pfc_test_sql(g.url, "UPDATE schedules SET planned_at = now() - interval '11 minutes'");
    fire(&fired);
    cr_expect(eq(i64, fired.night, 0));
    cr_expect(eq(i64, count("schedules WHERE next_at > now() AND trouble IS NULL"), 1));
    cr_expect(eq(i64, count("nights"), 1));
}

Test(schedules, old_nights_go_but_the_newest_done_one_stays)
{
    add(&nightly);
    pfc_test_sql(g.url, "INSERT INTO nights (project_id, schedule_id, actor, state, finished_at)"
                        " SELECT project_id, id, 'a', s, now() - interval '500 days'"
                        " FROM schedules, unnest('{done,failed,done,skipped,failed}'::text[]) s");
    cr_assert(eq(int, pfc_nights_prune(g.db, 400, NULL), PFC_OK));
    cr_expect(eq(i64, count("nights"), 2));
    cr_expect(eq(i64, count("nights WHERE id IN (3, 5)"), 2));
}

/* ---- pushes ---- */

static const char *any_project(void *arg, const char *account)
{
    (void)arg;
    (void)account;
    return "";
}

static void push(const char *delivery, const char *branch, unsigned n)
{
    const pfc_webhook_headers headers = { .event = "push", .delivery = delivery };
    pfc_webhook w = { .kind = PFC_WEBHOOK_PUSH,
                      .repo = "me/kernels",
                      .sender = "ann",
                      .branch = (char *)branch,
                      .after = (char *)fx_sha(n) };
    bool repeated = false;
    size_t done = 0;
    pfc_err err = { 0 };

    cr_assert(eq(int,
                 pfc_webhook_store(g.db, PFC_FORGE_GITHUB, "github", &headers, &w, &repeated, &err),
                 PFC_OK),
              "%s", err.msg);
    cr_assert(eq(int, pfc_webhooks_apply(g.db, any_project, NULL, &done, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(sz, done, 1));
}

Test(schedules, a_push_makes_the_new_head_known)
{
    pfc_schedule_spec s = nightly;
    pfc_fired fired;

    fx_commits(g.db, g.project, 1, 3);
    measure(3);
    pfc_test_sql(g.url, "INSERT INTO forge_links (project_id, forge, repo)"
                        " SELECT id, 'github', 'me/kernels' FROM projects");
    add(&nightly);
    push("d1", "feature", 7);
    cr_expect(eq(i64,
                 count("webhook_deliveries WHERE state = 'ignored' AND note LIKE "
                       "'branch feature is neither the project%'"),
                 1));
    push("d2", "main", 9);
    cr_expect(eq(i64, count("webhook_deliveries WHERE state = 'done'"), 1));
    cr_expect(eq(i64, fx_position(g.db, g.project, 9), 4));
    cr_expect(eq(i64, count("commits"), 4));
    make_due(1);
    fire(&fired);
    expect_job("task -> 'blocks' ->> 'base'", fx_sha(3));
    expect_job("task -> 'blocks' -> 'commits' ->> 0", fx_sha(9));
    /* A push to the branch of a schedule counts, too. */
    s.name = "dev";
    s.branch = "feature";
    add(&s);
    push("d3", "feature", 8);
    cr_expect(eq(i64, count("branch_commits WHERE branch = 'feature'"), 1));
}
