/* Alerts after detection: opening, grouping, closing, accepting, changed machines. */
#include <math.h>

#include "core/changepoint/fdr.h"
#include "server/services/alerts/alerts.h"
#include "server/services/detect/detect.h"

#include "tests/check/check.h"
#include "tests/server/fixture.h"
#include "tests/support/cluster_hooks.h"
#define FORGET " UPDATE series_states SET generation = 0" /* no job says what changed */

#define STEP_AT 25

static void ingest_range(pfc_db *db, int64_t p, unsigned first, unsigned last, double center)
{
    for (unsigned n = first; n <= last; n++) {
        pfc_run *run = fx_run(n);

        fx_measure(run, "gemm/a", "time_ns", center, 0.005, 12, 3, n * 17);
        fx_ingest(db, p, run);
    }
    fx_detect(db);
}

static pfc_alerts alerts_of(pfc_db *db, int64_t p)
{
    const pfc_alert_filter filter = { .project_id = p };
    pfc_alerts alerts = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_alerts_list(db, &filter, (pfc_page){ 0 }, &alerts, &err), PFC_OK), "%s",
              err.msg);
    return alerts;
}

/* The only alert's state. */
static void expect_state(pfc_db *db, int64_t p, const char *state)
{
    pfc_alerts alerts = alerts_of(db, p);

    cr_assert(eq(sz, alerts.len, 1));
    cr_assert(eq(str, (char *)alerts.items[0].state, (char *)state));
    pfc_rows_clear(&alerts);
}

static void expect_reason(pfc_db *db, int64_t alert_id, const char *begins)
{
    pfc_alert_events events = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_alert_events_list(db, alert_id, &events, &err), PFC_OK), "%s", err.msg);
    cr_assert(ge(sz, events.len, 1));
    const char *reason = events.items[events.len - 1].reason;
    cr_assert(eq(int, strncmp(reason, begins, strlen(begins)), 0), "%s", reason);
    pfc_rows_clear(&events);
}

Test(judging, an_alert_closes_itself_when_the_level_returns)
{
    pfc_db *db = pfc_test_db_open(3, NULL);
    int64_t p = fx_project(db);

    fx_commits(db, p, 1, 80);
    ingest_range(db, p, 1, STEP_AT - 1, 100);
    ingest_range(db, p, STEP_AT, 50, 115);
    expect_state(db, p, "untriaged");
    ingest_range(db, p, 51, 80, 100);
    expect_state(db, p, "verified_fixed");
    pfc_alerts alerts = alerts_of(db, p);
    cr_assert(eq(str, (char *)alerts.items[0].undone_commit, (char *)fx_sha(51)));
    expect_reason(db, alerts.items[0].id, "went away");
    pfc_rows_clear(&alerts);
    pfc_db_close(db);
}

/* The points on which the alert rests turn out to belong to a machine that moved. */
Test(judging, an_alert_whose_change_is_seen_no_more_is_noise_and_comes_back_with_it)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(3, &url);
    int64_t p = fx_project(db);

    fx_commits(db, p, 1, 60);
    ingest_range(db, p, 1, STEP_AT - 1, 100);
    ingest_range(db, p, STEP_AT, 50, 115);
    expect_state(db, p, "untriaged");
    pfc_test_sql(url, "UPDATE runs SET infra = true WHERE commit_id IN"
                      " (SELECT commit_id FROM branch_commits WHERE position >= 25);" FORGET);
    ingest_range(db, p, 51, 51, 100);
    expect_state(db, p, "noise");
    pfc_alerts alerts = alerts_of(db, p);
    expect_reason(db, alerts.items[0].id, "went away");
    pfc_rows_clear(&alerts);
    pfc_test_sql(url, "UPDATE runs SET infra = commit_id IN"
                      " (SELECT commit_id FROM branch_commits WHERE position = 51);" FORGET);
    ingest_range(db, p, 52, 52, 115);
    expect_state(db, p, "untriaged");
    free(url);
    pfc_db_close(db);
}

/* Accepting keeps the history, and with it the noise that the next step is measured by. */
Test(judging, an_accepted_level_stays_accepted_and_the_next_step_is_found)
{
    const pfc_alert_change wrong = { .accept = true, .state = "fixed" };
    const pfc_alert_change accept = { .accept = true, .state = "wont_fix", .reason = "wanted" };
    pfc_db *db = pfc_test_db_open(3, NULL);
    int64_t p = fx_project(db), id, series_id;
    pfc_series_rows series = { 0 };
    pfc_alerts alerts;
    pfc_err err = { 0 };

    fx_commits(db, p, 1, 80);
    ingest_range(db, p, 1, STEP_AT - 1, 100);
    ingest_range(db, p, STEP_AT, 50, 115);
    alerts = alerts_of(db, p);
    cr_assert(eq(sz, alerts.len, 1));
    id = alerts.items[0].id;
    series_id = alerts.items[0].series_id;
    pfc_rows_clear(&alerts);
    cr_assert(eq(int, pfc_alert_update(db, "ann", id, &wrong, &alerts, &err), PFC_EINVAL));
    cr_assert(eq(int, pfc_alert_update(db, "ann", id, &accept, &alerts, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(alerts.items[0].accepted);
    pfc_rows_clear(&alerts);

    ingest_range(db, p, 51, 53, 115 * 1.03);
    cr_assert(eq(int, pfc_series_get(db, series_id, &series, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(str, (char *)series.items[0].change_commit, (char *)fx_sha(51)));
    cr_assert(epsilon_eq(dbl, series.items[0].change_rel, 0.03, 0.01));
    pfc_rows_clear(&series);
    ingest_range(db, p, 54, 80, 115 * 1.03);
    alerts = alerts_of(db, p); /* newest first */
    cr_assert(eq(sz, alerts.len, 2));
    cr_assert(eq(str, (char *)alerts.items[0].state, "untriaged"));
    cr_assert(eq(str, (char *)alerts.items[1].state, "wont_fix"));
    pfc_rows_clear(&alerts);
    pfc_db_close(db);
}

/* 0.3 % a week over ten weeks, a point a day: one alert, which its acceptance ends. */
Test(judging, slow_drift_opens_one_alert_and_starts_again_once_accepted)
{
    const pfc_alert_change accept = { .accept = true, .state = "wont_fix", .reason = "agreed" };
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(3, &url);
    int64_t p = fx_project(db);
    pfc_alerts alerts, after = { 0 };
    pfc_err err = { 0 };

    fx_commits(db, p, 1, 90);
    pfc_test_sql(url, "UPDATE commits SET time = time + (SELECT position FROM branch_commits b"
                      " WHERE b.commit_id = commits.id) * interval '1 day'");
    for (unsigned n = 1; n <= 70; n++) {
        pfc_run *run = fx_run(n);

        fx_measure(run, "gemm/a", "time_ns", 100 * pow(1.003, n / 7.0), 0.02, 12, 3, n * 17);
        fx_measure(run, "norm/a", "time_ns", 100, 0.02, 12, 3, n * 19);
        fx_ingest(db, p, run);
        if (n % 10 == 0)
            fx_detect(db);
    }
    alerts = alerts_of(db, p);
    cr_assert(eq(sz, alerts.len, 1));
    cr_assert(eq(str, (char *)alerts.items[0].kind, "drift"));
    cr_assert(eq(str, (char *)alerts.items[0].benchmark, "gemm/a"));
    cr_assert(epsilon_eq(dbl, alerts.items[0].rel_change, 0.03, 0.006));
    expect_reason(db, alerts.items[0].id, "slow drift");
    cr_assert(
        eq(int, pfc_alert_update(db, "ann", alerts.items[0].id, &accept, &after, &err), PFC_OK),
        "%s", err.msg);
    pfc_rows_clear(&after);
    pfc_rows_clear(&alerts);
    for (unsigned n = 71; n <= 90; n++) {
        pfc_run *run = fx_run(n);

        fx_measure(run, "gemm/a", "time_ns", 103, 0.02, 12, 3, n * 17);
        fx_ingest(db, p, run);
    }
    fx_detect(db);
    expect_state(db, p, "wont_fix");
    free(url);
    pfc_db_close(db);
}

/* One benchmark: its time and its cycles step together, its size stands still; another has one
 * metric. */
Test(judging, an_alert_says_what_else_of_its_benchmark_moved)
{
    pfc_db *db = pfc_test_db_open(3, NULL);
    int64_t p = fx_project(db);
    pfc_witnesses witnesses = { 0 };
    pfc_alerts alerts;
    pfc_err err = { 0 };

    fx_commits(db, p, 1, 50);
    for (unsigned n = 1; n <= 50; n++) {
        pfc_run *run = fx_run(n);

        fx_measure(run, "gemm/a", "time_ns", n < STEP_AT ? 100 : 115, 0.005, 12, 3, n * 17);
        fx_measure(run, "gemm/a", "cycles", n < STEP_AT ? 300 : 345, 0.005, 12, 3, n * 23);
        fx_measure(run, "gemm/a", "bytes", 70, 0.005, 12, 3, n * 29);
        fx_measure(run, "norm/a", "time_ns", n < STEP_AT ? 100 : 115, 0.005, 12, 3, n * 19);
        fx_ingest(db, p, run);
    }
    fx_detect(db);
    alerts = alerts_of(db, p);
    cr_assert(eq(sz, alerts.len, 3));
    for (size_t i = 0; i < alerts.len; i++) {
        const pfc_alert *a = &alerts.items[i];
        const bool gemm = pfc_streq(a->benchmark, "gemm/a");

        cr_assert(eq(str, (char *)a->evidence, gemm ? "corroborated" : "single"));
        cr_assert(eq(int, pfc_alert_witnesses(db, p, a->id, &witnesses, &err), PFC_OK), "%s",
                  err.msg);
        cr_assert(eq(sz, witnesses.len, gemm ? 2 : 0));
        if (gemm) {
            cr_assert(eq(str, (char *)witnesses.items[0].moved, "worse"));
            cr_assert(epsilon_eq(dbl, witnesses.items[0].rel_change, 0.15, 0.01));
            cr_assert(eq(str, (char *)witnesses.items[1].moved, "still"));
            cr_assert(eq(str, (char *)witnesses.items[1].metric, "bytes"));
        }
        pfc_rows_clear(&witnesses);
    }
    pfc_rows_clear(&alerts);
    pfc_db_close(db);
}

/* Six series: three step at one commit, one of the others much earlier. */
Test(judging, alerts_with_one_cause_share_a_group_that_says_what_they_have_in_common)
{
    static const char *const names[] = { "gemm/a", "gemm/b", "gemm/c",
                                         "norm/a", "norm/b", "attention/a" };
    pfc_db *db = pfc_test_db_open(3, NULL);
    int64_t p = fx_project(db), together = 0, alone = 0;

    fx_commits(db, p, 1, 50);
    for (unsigned n = 1; n <= 50; n++) {
        pfc_run *run = fx_run(n);

        for (size_t k = 0; k < PFC_ARRAY_LEN(names); k++) {
            double step = (k < 3 && n >= STEP_AT) || (k == 5 && n >= 12) ? 1.1 : 1.0;

            fx_measure(run, names[k], "time_ns", 100 * step, 0.005, 12, 3, n * 17 + k * 1000);
        }
        fx_ingest(db, p, run);
        if (n % 10 == 0)
            fx_detect(db);
    }
    pfc_alerts alerts = alerts_of(db, p);
    cr_assert(eq(sz, alerts.len, 4));
    for (size_t i = 0; i < alerts.len; i++) {
        const pfc_alert *a = &alerts.items[i];
        bool gemm = strncmp(a->benchmark, "gemm/", 5) == 0;
        int64_t *id = gemm ? &together : &alone;

        cr_assert(gt(i64, a->group_id, 0));
        if (*id)
            cr_assert(eq(i64, a->group_id, *id));
        *id = a->group_id;
        cr_assert(eq(i64, a->group_measured, 6));
        cr_assert(eq(i64, a->group_series, gemm ? 3 : 1));
        const char *want = gemm ? "all 3 gemm series; +" : "1 of 1 attention series; +";
        cr_assert(eq(int, strncmp(a->group_summary, want, strlen(want)), 0), "%s",
                  a->group_summary);
    }
    cr_assert(ne(i64, together, alone));
    pfc_rows_clear(&alerts);
    pfc_db_close(db);
}

static size_t reopened(pfc_db *db, const char *url, int64_t p, const char *stored)
{
    char *sql = pfc_format("DELETE FROM alert_events; DELETE FROM alerts;"
                           " UPDATE change_points SET %s",
                           stored);
    pfc_err err = { 0 };
    size_t len;

    pfc_test_sql(url, sql);
    free(sql);
    cr_assert(eq(int, pfc_alerts_open(db, p, "main", 0, &err), PFC_OK), "%s", err.msg);
    pfc_alerts alerts = alerts_of(db, p);
    len = alerts.len;
    pfc_rows_clear(&alerts);
    return len;
}

/* As SQL: a change whose claim anywhere in a series of 40 points is `share` of what is asked for at
 * STEP_AT, when it is the first one found, in one of 20 series. */
static char *change_near_the_level(double share)
{
    const pfc_fdr_stream none = { 0 };
    const double wanted = share * pfc_fdr_level(&none, STEP_AT) / 20;
    double half = 0.1;
    pfc_change c = { .p = PFC_P_MIN, .rel_change = 0.15 };

    do {
        half *= 0.99;
        c.rel_low = 0.15 - half;
        c.rel_high = 0.15 + half;
    } while (pfc_fdr_anywhere(&c, 40, false) > wanted);
    return pfc_format("p = %.17g, rel_change = 0.15, rel_low = %.17g, rel_high = %.17g", c.p,
                      c.rel_low, c.rel_high);
}

Test(judging, false_discoveries_are_held_down_over_the_series_of_a_commit)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(3, &url);
    int64_t p = fx_project(db);

    fx_commits(db, p, 1, 40);
    for (unsigned n = 1; n <= 40; n++) {
        pfc_run *run = fx_run(n);

        for (unsigned k = 0; k < 20; k++) {
            char name[16];

            (void)snprintf(name, sizeof(name), "gemm/%u", k);
            fx_measure(run, name, "time_ns", k == 0 && n >= STEP_AT ? 115 : 100, 0.005, 6, 2,
                       n * 17 + k * 1000);
        }
        fx_ingest(db, p, run);
    }
    fx_detect(db);
    expect_state(db, p, "untriaged");
    char *above = change_near_the_level(1.5), *below = change_near_the_level(0.99);

    cr_assert(eq(sz, reopened(db, url, p, above), 0));
    cr_assert(eq(sz, reopened(db, url, p, below), 1));
    free(below);
    free(above);
    free(url);
    pfc_db_close(db);
}

Test(judging, a_machine_that_moved_is_one_event_until_it_stands_still)
{
    pfc_db *db = pfc_test_db_open(3, NULL);
    int64_t p = fx_project(db);
    pfc_environment_events events = { 0 };
    pfc_err err = { 0 };

    fx_commits(db, p, 1, 9);
    for (unsigned n = 1; n <= 9; n++) {
        pfc_run *run = fx_run(n);
        bool moved = n >= 4 && n <= 7;

        run->infra = moved;
        fx_measure(run, "gemm/a", "time_ns", moved ? 130 : 100, 0.005, 6, 2, n);
        fx_ingest(db, p, run);
        cr_assert(
            eq(int, pfc_environment_list(db, p, true, (pfc_page){ 0 }, &events, &err), PFC_OK),
            "%s", err.msg);
        cr_assert(eq(sz, events.len, moved ? 1 : 0));
        pfc_rows_clear(&events);
    }
    cr_assert(eq(int, pfc_environment_list(db, p, false, (pfc_page){ 0 }, &events, &err), PFC_OK));
    cr_assert(eq(sz, events.len, 1));
    cr_assert(eq(i64, events.items[0].runs, 4));
    cr_assert(eq(str, (char *)events.items[0].first_commit, (char *)fx_sha(4)));
    cr_assert(eq(str, (char *)events.items[0].last_commit, (char *)fx_sha(7)));
    cr_assert(not(isnan(events.items[0].closed_at)));
    pfc_rows_clear(&events);
    pfc_db_close(db);
}

/* Two series step by 15 % at one commit; one alert is a person's regression, the other noise. */
Test(judging, a_replay_says_what_other_settings_would_have_alerted)
{
    const pfc_alert_change real = { .state = "acknowledged" }, noise = { .state = "noise" };
    pfc_detector_rule rule = { .min_change = 0.2, .alpha = (double)NAN, .judged = -1 };
    pfc_detector detector = { 0 };
    pfc_detector_settings settings = { .judged = true };
    pfc_db *db = pfc_test_db_open(3, NULL);
    int64_t p = fx_project(db), series_id;
    pfc_alerts alerts, after = { 0 };
    pfc_replay replay = { 0 };
    pfc_err err = { 0 };

    fx_commits(db, p, 1, 50);
    for (unsigned n = 1; n <= 50; n++) {
        pfc_run *run = fx_run(n);

        fx_measure(run, "gemm/a", "time_ns", n < STEP_AT ? 100 : 115, 0.005, 12, 3, n * 17);
        fx_measure(run, "norm/a", "time_ns", n < STEP_AT ? 100 : 115, 0.005, 12, 3, n * 19);
        fx_ingest(db, p, run);
    }
    fx_detect(db);
    alerts = alerts_of(db, p);
    cr_assert(eq(sz, alerts.len, 2));
    series_id = alerts.items[0].series_id;
    const char *noisy = pfc_streq(alerts.items[1].benchmark, "gemm/a") ? "gemm/*" : "norm/*";
    cr_assert(eq(int, pfc_alert_update(db, "ann", alerts.items[0].id, &real, &after, &err), PFC_OK),
              "%s", err.msg);
    pfc_rows_clear(&after);
    cr_assert(
        eq(int, pfc_alert_update(db, "ann", alerts.items[1].id, &noise, &after, &err), PFC_OK),
        "%s", err.msg);
    pfc_rows_clear(&after);
    pfc_rows_clear(&alerts);

    /* The settings as they are: both again, so half of what is labelled is noise. */
    cr_assert(eq(int, pfc_project_replay(db, p, "main", &detector, &replay, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(sz, replay.series, 2));
    cr_assert(eq(sz, replay.points, 100));
    cr_assert(eq(sz, replay.alerts, 2));
    cr_assert(eq(sz, replay.unlabelled, 0));
    cr_assert(epsilon_eq(dbl, replay.precision, 0.5, 1e-12));
    cr_assert(epsilon_eq(dbl, replay.recall, 1, 1e-12));
    cr_assert(epsilon_eq(dbl, replay.f1, 2.0 / 3, 1e-12));
    cr_assert(eq(str, replay.changes[0].commit, (char *)fx_sha(STEP_AT)));
    pfc_replay_clear(&replay);

    /* Without the series of the noise: only the regression is left. */
    rule.judged = 0;
    rule.min_change = (double)NAN;
    rule.benchmark = (char *)noisy;
    detector.rules = &rule;
    detector.rules_len = 1;
    cr_assert(eq(int, pfc_project_replay(db, p, "main", &detector, &replay, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(sz, replay.alerts, 1));
    cr_assert(eq(sz, replay.found_real, 1));
    cr_assert(epsilon_eq(dbl, replay.f1, 1, 1e-12));
    pfc_replay_clear(&replay);

    /* With a floor above the step nothing is found, and nothing can be said of precision. */
    rule = (pfc_detector_rule){ .min_change = 0.2, .alpha = (double)NAN, .judged = -1 };
    cr_assert(eq(int, pfc_project_replay(db, p, "main", &detector, &replay, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(sz, replay.alerts, 0));
    cr_assert(isnan(replay.precision));
    cr_assert(epsilon_eq(dbl, replay.recall, 0, 1e-12));
    pfc_replay_clear(&replay);

    /* One series, for the sliders: with the floor and without. */
    cr_assert(eq(int, pfc_series_replay(db, series_id, &settings, &replay, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(sz, replay.changes_len, 1));
    cr_assert(eq(i64, replay.changes[0].position, STEP_AT));
    pfc_replay_clear(&replay);
    settings.min_change = 0.2;
    cr_assert(eq(int, pfc_series_replay(db, series_id, &settings, &replay, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(sz, replay.changes_len, 0));
    pfc_replay_clear(&replay);
    cr_assert(eq(int, pfc_series_replay(db, 999999, &settings, &replay, &err), PFC_ENOTFOUND));
    pfc_db_close(db);
}

static pfc_detector_version store_detector(pfc_db *db, int64_t p, const char *text, pfc_code want)
{
    pfc_detector_version version = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_detector_store(db, "ann", p, text, -1, &version, &err), want), "%s",
              err.msg);
    return version;
}

Test(judging, a_projects_settings_hold_from_when_they_are_stored)
{
    pfc_db *db = pfc_test_db_open(3, NULL);
    int64_t p = fx_project(db);
    pfc_detector_version version;
    pfc_audit_rows audit = { 0 };
    pfc_alerts alerts;
    pfc_err err = { 0 };

    fx_commits(db, p, 1, 60);
    version = store_detector(
        db, p, "{\"rules\": [{\"benchmark\": \"gemm/*\", \"min_change\": 0.2}]}", PFC_OK);
    cr_assert(eq(i64, version.version, 1));
    cr_assert(eq(str, version.actor, "ann"));
    pfc_detector_version_clear(&version);
    version = store_detector(
        db, p, "{\"rules\": [{\"benchmark\": \"gemm/*\", \"min_change\": 0.2}]}", PFC_OK);
    cr_assert(eq(i64, version.version, 1)); /* the same again is no new version */
    pfc_detector_version_clear(&version);
    (void)store_detector(db, p, "{\"rules\": [{\"min_change\": -1}]}", PFC_EINVAL);

    ingest_range(db, p, 1, STEP_AT - 1, 100);
    ingest_range(db, p, STEP_AT, 50, 115);
    alerts = alerts_of(db, p);
    cr_assert(eq(sz, alerts.len, 0)); /* 15 % is under the floor */
    pfc_rows_clear(&alerts);

    version = store_detector(db, p, "{\"rules\": []}", PFC_OK);
    cr_assert(eq(i64, version.version, 2));
    pfc_detector_version_clear(&version);
    fx_detect(db); /* all of the history, though no run came */
    expect_state(db, p, "untriaged");

    version =
        store_detector(db, p, "{\"rules\": [{\"metric\": \"time_*\", \"judged\": false}]}", PFC_OK);
    pfc_detector_version_clear(&version);
    fx_detect(db);
    expect_state(db, p, "noise"); /* it was untriaged */
    cr_assert(eq(int, pfc_audit_list(db, p, (pfc_page){ 0 }, &audit, &err), PFC_OK), "%s", err.msg);
    size_t configured = 0;
    for (size_t i = 0; i < audit.len; i++)
        configured += pfc_streq(audit.items[i].action, "configure");
    cr_assert(eq(sz, configured, 3));
    pfc_rows_clear(&audit);
    pfc_db_close(db);
}

/* Noise of half a per cent, by place alone, so that every order of arrival measures the same. */
#define FILL                                                                                       \
    "WITH one AS (SELECT * FROM runs LIMIT 1), made AS ("                                          \
    " INSERT INTO runs (project_id, run_id, header_hash, commit_id, branch, suite, suite_hash,"    \
    "                   machine_id, infra, started_at, finished_at)"                               \
    " SELECT o.project_id, md5(b.position::text), 'h', b.commit_id, o.branch, o.suite,"            \
    "        o.suite_hash, o.machine_id, false, now(), now()"                                      \
    " FROM one o JOIN branch_commits b ON b.project_id = o.project_id"                             \
    " WHERE b.position BETWEEN %d AND %d RETURNING project_id, id, commit_id)"                     \
    " INSERT INTO measurements (project_id, series_id, run_id, commit_id, stored_at, n, median,"   \
    "                           low, high, min, samples, blocks)"                                  \
    " SELECT m.project_id, s.id, m.id, m.commit_id, now(), 1, v, v, v, v, ARRAY[v], ARRAY[1]"      \
    " FROM made m JOIN series s ON s.project_id = m.project_id"                                    \
    " JOIN branch_commits b ON b.project_id = m.project_id AND b.commit_id = m.commit_id,"         \
    " LATERAL (SELECT (CASE WHEN b.position < 400 THEN 100 WHEN b.position < 1250 THEN 106"        \
    "                  ELSE 99 END) * (1 + 0.005 * sin(b.position * 12.9898) * 1.2"                \
    "                  * cos(b.position * 78.233))::float8 AS v) x"

static void fill(const char *url, int first, int last)
{
    char sql[4096];

    (void)snprintf(sql, sizeof(sql), FILL, first, last);
    pfc_test_sql(url, sql);
    pfc_test_sql(url, "INSERT INTO jobs (project_id, kind, run_id)"
                      " SELECT project_id, 'detect', id FROM runs r WHERE NOT EXISTS ("
                      " SELECT 1 FROM jobs j WHERE j.run_id = r.id)");
}

/* "settled/anchor: position:regression:gone ..." of the one series. */
static char *state_of_series(const char *url)
{
    return pfc_test_sql_value(
        url, "SELECT s.points || ' ' || s.settled_points || ' ' || s.settled_position || ' ' ||"
             " s.anchor_points || ' ' || s.anchor_position || ': ' ||"
             " coalesce((SELECT string_agg(b.position || ':' || x.regression || ':' ||"
             " round(x.rel_change::numeric, 6), ' ' ORDER BY b.position) FROM change_points x"
             " JOIN branch_commits b ON b.commit_id = x.commit_id AND b.branch = 'main'"
             " WHERE x.gone_at IS NULL), '') FROM series s");
}

/* Settled history is not judged again, its alerts live on, a backfill before it starts again. */
Test(judging, long_series_are_judged_from_their_settled_place_and_backfill_replays)
{
    char *url = NULL, *grown, *backfilled;
    pfc_db *db = pfc_test_db_open(3, &url);
    int64_t p = fx_project(db);
    pfc_alerts alerts;

    fx_commits(db, p, 1, 1500);
    ingest_range(db, p, 1, 1, 100);
    fill(url, 2, 1100);
    fx_detect(db);
    expect_state(db, p, "untriaged"); /* the step at 400 */
    fill(url, 1101, 1480);
    fx_detect(db);
    expect_state(db, p, "verified_fixed"); /* ... came back at 1250, long after it was settled */
    alerts = alerts_of(db, p);
    cr_assert(eq(str, (char *)alerts.items[0].undone_commit, (char *)fx_sha(1250)));
    pfc_rows_clear(&alerts);
    fill(url, 1481, 1500);
    fx_detect(db);
    grown = state_of_series(url);
    cr_assert(ne(ptr, strstr(grown, "1500 512 "), NULL), "%s", grown);

    /* The same points, but those from 300 to 399 come last. */
    pfc_test_sql(url, "DELETE FROM measurements WHERE commit_id IN (SELECT commit_id FROM"
                      " branch_commits WHERE position BETWEEN 300 AND 399)");
    pfc_test_sql(url, "DELETE FROM run_parts WHERE run_id IN (SELECT r.id FROM runs r JOIN"
                      " branch_commits b ON b.commit_id = r.commit_id"
                      " WHERE b.position BETWEEN 300 AND 399)");
    pfc_test_sql(url, "DELETE FROM runs WHERE commit_id IN (SELECT commit_id FROM branch_commits"
                      " WHERE position BETWEEN 300 AND 399)");
    pfc_test_sql(url, "UPDATE series SET settled_points = 0, settled_position = 0,"
                      " anchor_points = 0, anchor_position = 0");
    pfc_test_sql(url, "INSERT INTO jobs (project_id, kind, branch)"
                      " SELECT id, 'detect', 'main' FROM projects");
    fx_detect(db);
    fill(url, 300, 399);
    fx_detect(db);
    backfilled = state_of_series(url);
    cr_assert(eq(str, backfilled, grown));
    free(backfilled);
    free(grown);
    free(url);
    pfc_db_close(db);
}
