/* Faults of the installation: opened once, announced once, ended with their cause. */
#include <pthread.h>
#include <string.h>

#include "server/services/alerts/environment.h"
#include "server/services/notices.h"
#include "server/services/queue/faults.h"

#include "tests/check/check.h"
#include "tests/server/fixture.h"
#include "tests/server/plant.h"

static fx_ground g;
static const pfc_fault_limits limits = { .missed_s = 3600, .silent_s = 600, .stalled_nights = 2 };

static void setup(void)
{
    g = fx_begin(4);
}

static void teardown(void)
{
    fx_end(&g);
}

TestSuite(faults, .init = setup, .fini = teardown);

typedef pfc_code (*look_fn)(pfc_db *db, const pfc_fault_limits *limits, pfc_fault_counts *counts,
                            pfc_err *err);

/* A look opens so many faults and ends so many. */
static void expect_change(look_fn look, size_t opened, size_t ended)
{
    pfc_fault_counts counts = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, look(g.db, &limits, &counts, &err), PFC_OK), "%s", err.msg);
    cr_expect(eq(sz, counts.opened, opened));
    cr_expect(eq(sz, counts.ended, ended));
}

static void expect_look(size_t opened, size_t ended)
{
    expect_change(pfc_faults_look, opened, ended);
}

static int64_t count(const char *from)
{
    return plant_number(g.url, "SELECT count(*) FROM %s", from);
}

/* The newest event of the list, with this kind and a part of its sentence. */
static void expect_event(const char *kind, const char *part, bool open)
{
    pfc_environment_events rows = { 0 };

    cr_assert(eq(
        int, pfc_environment_list(g.db, g.project, false, (pfc_page){ .limit = 10 }, &rows, NULL),
        PFC_OK));
    cr_assert(gt(sz, rows.len, 0));
    cr_expect(eq(str, (char *)rows.items[0].kind, (char *)kind));
    cr_expect(strstr(rows.items[0].cause, part) != NULL, "%s", rows.items[0].cause);
    cr_expect(eq(int, !(rows.items[0].closed_at > 0), open));
    pfc_rows_clear(&rows);
    cr_assert(
        eq(int, pfc_environment_list(g.db, g.project, true, (pfc_page){ .limit = 10 }, &rows, NULL),
           PFC_OK));
    cr_expect(eq(sz, rows.len, open));
    pfc_rows_clear(&rows);
}

/* ---- missed nights ---- */

static void plant_schedule(void)
{
    pfc_test_sql(g.url,
                 "INSERT INTO schedules (project_id, name, cron, zone, max_commits, budget_s,"
                 " next_at) SELECT id, 'nightly', '@daily', 'UTC', 1, 1, now() + interval"
                 " '1 day' FROM projects");
}

static void plant_night(const char *state, int due_s_ago)
{
    plant_sql(g.url,
              "INSERT INTO nights (project_id, schedule_id, actor, state, reason, due_at)"
              " SELECT project_id, id, 'schedule', '%s', 'why not', now() - make_interval(secs =>"
              " %d) FROM schedules",
              state, due_s_ago);
}

Test(faults, a_missed_night_is_announced_once_and_ends_with_a_finished_one)
{
    plant_schedule();
    expect_look(0, 0);
    plant_night("failed", 3000);
    expect_look(0, 0); /* within the tolerance */
    plant_night("skipped", 0);
    pfc_test_sql(g.url, "UPDATE nights SET due_at = due_at - interval '700 seconds'");
    expect_look(1, 0);
    expect_event("missed_night", "schedule nightly: the night due at ", true);
    expect_event("missed_night", "UTC has not finished: why not", true);
    expect_look(0, 0);
    cr_expect(eq(i64, count("notices WHERE kind = 'infrastructure' AND alert_id IS NULL"), 1));
    plant_night("running", 0);
    expect_look(0, 0);
    plant_night("nothing", 0);
    expect_look(0, 1);
    expect_event("missed_night", "schedule nightly", false);
    expect_look(0, 0);
    cr_expect(
        eq(i64, count("notices WHERE kind = 'recovered' AND text LIKE 'ended: schedule %'"), 1));
    /* The fault opens again, with a notice of its own. */
    plant_night("failed", 3601);
    expect_look(1, 0);
    cr_expect(eq(i64, count("notices"), 3));
    pfc_test_sql(g.url, "UPDATE schedules SET enabled = false");
    expect_look(0, 1);
}

/* Every hour, and none finishes: the oldest of them counts. */
Test(faults, nights_that_fail_often_are_missed_too)
{
    plant_schedule();
    plant_night("done", 9000);
    for (int s = 3500; s > 0; s -= 500)
        plant_night("failed", s);
    expect_look(0, 0);
    pfc_test_sql(g.url, "UPDATE nights SET due_at = due_at - interval '200 seconds'");
    expect_look(1, 0);
}

Test(faults, a_night_that_a_person_started_is_not_due)
{
    plant_schedule();
    plant_night("failed", 9000);
    pfc_test_sql(g.url, "UPDATE nights SET due_at = NULL");
    expect_look(0, 0);
}

Test(faults, a_schedule_without_a_next_time_is_reported)
{
    plant_schedule();
    pfc_test_sql(g.url, "UPDATE schedules SET next_at = NULL, trouble = 'no zone data'");
    expect_look(1, 0);
    expect_event("missed_night", "schedule nightly has no next time: no zone data", true);
}

static void *look_once(void *db)
{
    pfc_fault_counts counts = { 0 };

    (void)!pfc_faults_look(db, &limits, &counts, NULL);
    return (void *)(uintptr_t)counts.opened;
}

Test(faults, two_servers_announce_one_fault_once)
{
    pthread_t threads[4];
    pfc_db *pools[4];
    size_t opened = 0;

    plant_schedule();
    plant_night("failed", 4000);
    for (int i = 0; i < 4; i++)
        cr_assert(eq(int, pfc_db_open(&pools[i], &(pfc_db_opts){ .url = g.url }, NULL), PFC_OK));
    for (int i = 0; i < 4; i++)
        cr_assert(eq(int, pthread_create(&threads[i], NULL, look_once, pools[i]), 0));
    for (int i = 0; i < 4; i++) {
        void *result = NULL;

        (void)pthread_join(threads[i], &result);
        opened += (size_t)(uintptr_t)result;
        pfc_db_close(pools[i]);
    }
    cr_expect(eq(sz, opened, 1));
    cr_expect(eq(i64, count("notices"), 1));
}

/* ---- silent runners ---- */

static void plant_runner(int seen_s_ago)
{
    plant_sql(g.url,
              "INSERT INTO runners (name, machine_class, project_id, last_seen_at) SELECT 'rack-7',"
              " 'epyc', id, now() - make_interval(secs => %d) FROM projects",
              seen_s_ago);
}

Test(faults, a_silent_runner_is_announced_once_and_ends_with_its_next_request)
{
    plant_runner(500);
    expect_look(0, 0);
    pfc_test_sql(g.url, "UPDATE runners SET last_seen_at = now() - interval '700 seconds'");
    expect_look(1, 0);
    expect_event("silent_runner", "runner rack-7 (epyc) is silent: its last request was at ", true);
    pfc_test_sql(g.url, "UPDATE runners SET last_seen_at = now() - interval '40 days'");
    expect_look(0, 0);
    pfc_test_sql(g.url, "UPDATE runners SET last_seen_at = now()");
    expect_look(0, 1);
    cr_expect(eq(i64, count("notices"), 2));
}

Test(faults, a_runner_that_is_drained_revoked_busy_or_long_gone_is_no_news)
{
    plant_runner(700);
    /* It took at most one job and ended: --once. */
    pfc_test_sql(g.url, "UPDATE runners SET labels = '{\"once\": \"yes\"}'");
    expect_look(0, 0);
    pfc_test_sql(g.url, "UPDATE runners SET labels = '{}', drained_at = now()");
    expect_look(0, 0);
    pfc_test_sql(g.url, "UPDATE runners SET drained_at = NULL, revoked_at = now()");
    expect_look(0, 0);
    pfc_test_sql(g.url, "UPDATE runners SET revoked_at = NULL; INSERT INTO jobs (project_id, kind,"
                        " state, runner, lease_until) SELECT id, 'measure', 'leased', 'rack-7',"
                        " now() + interval '1 minute' FROM projects");
    expect_look(0, 0);
    /* It has just handed the job back. */
    pfc_test_sql(g.url, "UPDATE jobs SET state = 'done', lease_until = NULL, finished_at = now()");
    expect_look(0, 0);
    pfc_test_sql(g.url, "UPDATE jobs SET finished_at = now() - interval '1 day'");
    pfc_test_sql(g.url, "UPDATE runners SET last_seen_at = now() - interval '15 days'");
    expect_look(0, 0);
    pfc_test_sql(g.url, "UPDATE runners SET last_seen_at = now() - interval '13 days'");
    expect_look(1, 0);
}

/* A runner of the service is a matter of the projects whose jobs it did. */
Test(faults, a_runner_of_all_projects_concerns_those_that_it_worked_for)
{
    plant_runner(700);
    pfc_test_sql(g.url, "UPDATE runners SET project_id = NULL");
    expect_look(0, 0);
    pfc_test_sql(g.url,
                 "INSERT INTO projects (name) VALUES ('q'), ('r'); INSERT INTO jobs"
                 " (project_id, kind, state, runner, finished_at) SELECT id, 'measure',"
                 " 'done', 'rack-7', now() - interval '1 hour' FROM projects WHERE name <> 'r'");
    expect_look(2, 0);
    cr_expect(eq(i64, plant_number(g.url, "SELECT count(DISTINCT project_id) FROM faults"), 2));
}

/* ---- stalled series ---- */

/* Runs of that day, as one of so many days ago; benchmarks by their letters. */
static void measure(int days_ago, const char *letters)
{
    static unsigned n;
    pfc_run *run = fx_run(1 + n++ % 9);
    char name[] = "gemm/?";
    int64_t id;

    for (const char *c = letters; *c; c++) {
        name[5] = *c;
        fx_exact(run, name, "cycles", 100);
    }
    id = fx_ingest(g.db, g.project, run);
    plant_sql(g.url,
              "UPDATE runs SET started_at = now() - make_interval(days => %d), received_at = now()"
              " - make_interval(days => %d) WHERE id = %lld",
              days_ago, days_ago, (long long)id);
}

static void expect_series(size_t opened, size_t ended)
{
    expect_change(pfc_faults_look_at_series, opened, ended);
}

Test(faults, series_that_are_no_longer_measured_are_announced_until_they_are)
{
    fx_commits(g.db, g.project, 1, 9);
    measure(9, "abc");
    measure(8, "abc");
    measure(7, "a");
    expect_series(0, 0); /* one night is not enough */
    measure(6, "a");
    expect_series(1, 0);
    expect_event("stalled_series", "2 series of suite ", true);
    expect_event("stalled_series", "are no longer measured: gemm/b cycles, gemm/c cycles", true);
    expect_series(0, 0);
    /* More nights: they are still missing, although the window has moved on. */
    for (int day = 5; day > 1; day--)
        measure(day, "a");
    expect_series(0, 0);
    cr_expect(eq(i64, count("notices"), 1));
    measure(0, "ab");
    pfc_test_sql(g.url, "UPDATE faults SET opened_at = now() - interval '1 hour'");
    expect_series(0, 0);
    expect_event("stalled_series", "1 series of suite ", true);
    measure(0, "c");
    expect_series(0, 1);
    cr_expect(eq(i64, count("notices WHERE kind = 'recovered'"), 1));
}

Test(faults, a_suite_that_stopped_and_a_series_that_came_and_went_are_not_stalled)
{
    fx_commits(g.db, g.project, 1, 9);
    measure(9, "ab");
    measure(8, "a"); /* not each night */
    measure(7, "a");
    measure(6, "a");
    expect_series(0, 0);
    /* No other series is measured: the suite has changed as a whole. */
    measure(5, "a");
    measure(4, "c");
    measure(3, "c");
    expect_series(0, 0);
}

/* Sets the newest commit of each series, as judging does. */
static void set_newest_commits(void)
{
    pfc_test_sql(g.url,
                 "UPDATE series s SET last_commit_id = (SELECT m.commit_id FROM measurements m"
                 " WHERE m.project_id = s.project_id AND m.series_id = s.id"
                 " ORDER BY m.run_id DESC LIMIT 1)");
}

Test(faults, measurements_are_read_where_the_newest_commit_of_a_series_is_of_earlier_days)
{
    fx_commits(g.db, g.project, 1, 9);
    measure(9, "abc");
    measure(8, "abc");
    measure(7, "a");
    measure(6, "a");
    /* All series claim the newest commit. */
    pfc_test_sql(g.url, "UPDATE series SET last_commit_id = (SELECT commit_id FROM runs"
                        " ORDER BY id DESC LIMIT 1)");
    expect_series(0, 0);
    set_newest_commits();
    expect_series(1, 0);
    expect_event("stalled_series", "2 series of suite ", true);
    expect_series(0, 0);
}

/* ---- a person's word ---- */

Test(faults, a_dismissed_fault_is_hidden_until_its_cause_has_ended)
{
    int64_t id;
    pfc_err err = { 0 };

    plant_schedule();
    plant_night("failed", 4000);
    expect_look(1, 0);
    id = plant_number(g.url, "SELECT id FROM faults");
    cr_assert(eq(int, pfc_fault_dismiss(g.db, "ann", id, true, "known", &err), PFC_OK), "%s",
              err.msg);
    expect_event("missed_night", "schedule nightly", false);
    expect_look(0, 0);
    cr_assert(eq(int, pfc_fault_dismiss(g.db, "ann", id, false, NULL, &err), PFC_OK));
    expect_event("missed_night", "schedule nightly", true);
    cr_assert(eq(int, pfc_fault_dismiss(g.db, "ann", id, true, NULL, &err), PFC_OK));
    cr_assert(eq(int, pfc_fault_dismiss(g.db, "ann", id, true, NULL, &err), PFC_OK));
    cr_expect(eq(i64, count("audit WHERE actor = 'ann'"), 3));
    plant_night("done", 0);
    expect_look(0, 1);
    cr_expect(eq(i64, count("notices"), 1)); /* the end of a dismissed one is no news */
    cr_expect(eq(int, pfc_fault_dismiss(g.db, "ann", id, false, NULL, &err), PFC_ECONFLICT));
    cr_expect(eq(int, pfc_fault_dismiss(g.db, "ann", id + 9, true, NULL, &err), PFC_ENOTFOUND));
}

Test(faults, limits_of_zero_look_for_nothing)
{
    const pfc_fault_limits none = { 0 };
    pfc_fault_counts counts = { 0 };

    plant_schedule();
    plant_night("failed", 9000);
    plant_runner(700);
    cr_assert(eq(int, pfc_faults_look(g.db, &none, &counts, NULL), PFC_OK));
    cr_assert(eq(int, pfc_faults_look_at_series(g.db, &none, &counts, NULL), PFC_OK));
    cr_expect(eq(i64, count("faults"), 0));
}

Test(faults, old_ones_are_removed)
{
    plant_schedule();
    plant_night("failed", 4000);
    expect_look(1, 0);
    pfc_test_sql(g.url, "UPDATE faults SET opened_at = now() - interval '500 days'");
    cr_assert(eq(int, pfc_faults_prune(g.db, 400, NULL), PFC_OK));
    cr_expect(eq(i64, count("faults"), 1)); /* open */
    pfc_test_sql(g.url, "UPDATE faults SET ended_at = now() - interval '401 days'");
    cr_assert(eq(int, pfc_faults_prune(g.db, 400, NULL), PFC_OK));
    cr_expect(eq(i64, count("faults"), 0));
}

/* ---- notices ---- */

Test(faults, the_outbox_and_the_feed_list_a_fault_without_an_alert)
{
    const pfc_notice_route route = { .receiver = "chat",
                                     .project = "",
                                     .kinds = ",infrastructure,recovered,",
                                     .benchmarks = "^gemm/" };
    pfc_notices rows = { 0 };
    pfc_delivery delivery;
    size_t sent = 0;
    int64_t fault;

    plant_schedule();
    plant_night("failed", 4000);
    expect_look(1, 0);
    fault = plant_number(g.url, "SELECT id FROM faults");
    cr_assert(
        eq(int, pfc_notices_list(g.db, g.project, (pfc_page){ .limit = 10 }, &rows, NULL), PFC_OK));
    cr_assert(eq(sz, rows.len, 1));
    cr_expect(eq(i64, rows.items[0].fault_id, fault));
    cr_expect(eq(i64, rows.items[0].alert_id, 0));
    cr_expect(rows.items[0].commit == NULL);
    pfc_rows_clear(&rows);
    cr_assert(eq(int, pfc_notices_recent(g.db, g.project, 10, &rows, NULL), PFC_OK));
    cr_expect(eq(i64, rows.items[0].fault_id, fault));
    pfc_rows_clear(&rows);
    cr_assert(eq(int, pfc_notices_dispatch(g.db, &route, 1, 7, &sent, NULL), PFC_OK));
    cr_expect(eq(sz, sent, 1));
    cr_assert(eq(int, pfc_delivery_take(g.db, 60, &delivery, NULL), PFC_OK));
    cr_assert(eq(int, pfc_notice_content(g.db, &delivery, &rows, NULL), PFC_OK));
    cr_assert(eq(sz, rows.len, 1));
    cr_expect(eq(i64, rows.items[0].fault_id, fault));
    pfc_rows_clear(&rows);
}
