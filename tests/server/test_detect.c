/* From runs to alerts. */
#include <pthread.h>

#include "core/base/clock.h"
#include "core/base/rng.h"
#include "server/repo/sql/jobs.h"
#include "server/services/alerts/alerts.h"
#include "server/services/bisect/bisect.h"
#include "server/services/detect/detect.h"
#include "server/services/history/history.h"
#include "server/services/notices.h"
#include "server/workers/workers.h"

#include "tests/check/check.h"
#include "tests/server/fixture.h"
#include "tests/support/cluster_hooks.h"

#define COMMITS 40
#define STEP_AT 25

static void ingest_commit(pfc_db *db, int64_t p, unsigned n, double center)
{
    pfc_run *run = fx_run(n);

    fx_measure(run, "gemm/a", "time_ns", center, 0.005, 12, 3, n * 17);
    fx_ingest(db, p, run);
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

Test(detect, a_planted_step_opens_one_alert_at_its_commit_however_often_it_is_judged)
{
    pfc_db *db = pfc_test_db_open(3, NULL);
    int64_t p = fx_project(db);
    pfc_alert_events events = { 0 };
    pfc_alert_commits range = { 0 };
    pfc_series_rows series = { 0 };
    pfc_err err = { 0 };

    fx_commits(db, p, 1, COMMITS);
    for (unsigned n = 1; n <= COMMITS; n++) {
        ingest_commit(db, p, n, n < STEP_AT ? 100 : 115);
        if (n > STEP_AT)
            fx_detect(db); /* as the points come in, one by one */
    }
    pfc_alerts alerts = alerts_of(db, p);
    cr_assert(eq(sz, alerts.len, 1));
    const pfc_alert *alert = &alerts.items[0];
    cr_assert(eq(str, (char *)alert->commit, (char *)fx_sha(STEP_AT)));
    cr_assert(eq(str, (char *)alert->state, "untriaged"));
    cr_assert(alert->regression);
    cr_assert(epsilon_eq(dbl, alert->rel_change, 0.15, 0.01));

    cr_assert(eq(int, pfc_alert_events_list(db, alert->id, &events, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, events.len, 1));
    cr_assert(eq(str, (char *)events.items[0].actor, "detector"));
    cr_assert(eq(int, pfc_alert_commits_list(db, alert->id, &range, &err), PFC_OK), "%s", err.msg);
    cr_assert(ge(sz, range.len, 1));
    cr_assert(range.items[0].measured);

    cr_assert(eq(int, pfc_series_get(db, alert->series_id, &series, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(i64, series.items[0].points, COMMITS));
    cr_assert(series.items[0].change_regression);
    cr_assert(series.items[0].change_confirmed);
    cr_assert(series.items[0].change_alertable);
    cr_assert(eq(str, (char *)series.items[0].change_commit, (char *)fx_sha(STEP_AT)));
    cr_assert(eq(str, (char *)series.items[0].last_commit, (char *)fx_sha(COMMITS)));
    cr_assert(gt(dbl, series.items[0].noise_rel, 0));

    pfc_window w = { 0 };
    cr_assert(eq(int, pfc_series_window(db, alert->series_id, &(pfc_window_opts){ 0 }, &w, &err),
                 PFC_OK));
    cr_assert(eq(sz, w.changes.len, 1));
    cr_assert(eq(i64, w.changes.items[0].index, STEP_AT - 1));
    cr_assert(eq(i64, w.changes.items[0].alert_id, alert->id));
    cr_assert(w.changes.items[0].alertable); /* there is an alert on it */
    pfc_window_clear(&w);
    pfc_rows_clear(&series);
    pfc_rows_clear(&range);
    pfc_rows_clear(&events);
    pfc_rows_clear(&alerts);
    pfc_db_close(db);
}

Test(detect, noise_alone_opens_none)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(3, &url);
    int64_t p = fx_project(db);

    fx_commits(db, p, 1, COMMITS);
    for (unsigned n = 1; n <= COMMITS; n++) {
        ingest_commit(db, p, n, 100);
        if (n % 5 == 0)
            fx_detect(db);
    }
    fx_detect(db);
    pfc_alerts alerts = alerts_of(db, p);
    cr_assert(eq(sz, alerts.len, 0));
    pfc_rows_clear(&alerts);
    char *open = pfc_test_sql_value(url, "SELECT count(*) FROM jobs WHERE state <> 'done'");
    cr_assert(eq(str, open, "0"));
    free(open);
    free(url);
    pfc_db_close(db);
}

Test(detect, order_of_arrival_does_not_matter)
{
    pfc_db *db = pfc_test_db_open(3, NULL);
    int64_t p = fx_project(db);
    size_t order[COMMITS];
    pfc_rng rng;

    pfc_rng_seed(&rng, 5);
    for (size_t i = 0; i < COMMITS; i++)
        order[i] = i + 1;
    pfc_rng_shuffle(&rng, order, COMMITS);
    /* runs first, history after them, both in a wild order */
    for (size_t i = 0; i < COMMITS; i++)
        ingest_commit(db, p, (unsigned)order[i], order[i] < STEP_AT ? 100 : 115);
    fx_detect(db);
    pfc_rng_shuffle(&rng, order, COMMITS);
    for (size_t i = 0; i < COMMITS; i++)
        fx_commit(db, p, (unsigned)order[i], (unsigned)order[i] - 1, 0);
    fx_detect(db);
    for (unsigned n = 1; n <= COMMITS; n++)
        cr_assert(eq(i64, fx_position(db, p, n), n));
    pfc_alerts alerts = alerts_of(db, p);
    cr_assert(eq(sz, alerts.len, 1));
    cr_assert(eq(str, (char *)alerts.items[0].commit, (char *)fx_sha(STEP_AT)));
    pfc_rows_clear(&alerts);
    pfc_db_close(db);
}

Test(detect, runs_whose_canary_moved_are_left_out)
{
    pfc_db *db = pfc_test_db_open(3, NULL);
    int64_t p = fx_project(db);

    fx_commits(db, p, 1, COMMITS);
    for (unsigned n = 1; n <= COMMITS; n++) {
        pfc_run *run = fx_run(n);

        run->infra = n >= STEP_AT;
        fx_measure(run, "gemm/a", "time_ns", n < STEP_AT ? 100 : 130, 0.005, 12, 3, n * 17);
        fx_ingest(db, p, run);
    }
    fx_detect(db);
    pfc_alerts alerts = alerts_of(db, p);
    cr_assert(eq(sz, alerts.len, 0));
    pfc_rows_clear(&alerts);
    pfc_db_close(db);
}

static int64_t one_alert(pfc_db *db, int64_t p)
{
    pfc_alerts alerts;
    int64_t id;

    fx_commits(db, p, 1, COMMITS);
    for (unsigned n = 1; n <= COMMITS; n++)
        ingest_commit(db, p, n, n < STEP_AT ? 100 : 115);
    fx_detect(db);
    alerts = alerts_of(db, p);
    cr_assert(eq(sz, alerts.len, 1));
    id = alerts.items[0].id;
    pfc_rows_clear(&alerts);
    return id;
}

Test(detect, triage_keeps_a_history_with_actor_and_reason)
{
    pfc_db *db = pfc_test_db_open(3, NULL);
    int64_t p = fx_project(db), id = one_alert(db, p);
    pfc_alert_change change = { .state = "verified_fixed" };
    pfc_alert_events events = { 0 };
    pfc_alerts alerts = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_alert_update(db, "ann", id, &change, &alerts, &err), PFC_ECONFLICT));
    change = (pfc_alert_change){
        .state = "fixed", .reason = "reverted", .note = "see #7", .culprit = fx_sha(STEP_AT)
    };
    cr_assert(eq(int, pfc_alert_update(db, "ann", id, &change, &alerts, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(str, (char *)alerts.items[0].state, "fixed"));
    cr_assert(eq(str, (char *)alerts.items[0].note, "see #7"));
    cr_assert(eq(str, (char *)alerts.items[0].culprit, (char *)fx_sha(STEP_AT)));
    pfc_rows_clear(&alerts);
    change = (pfc_alert_change){ .state = "verified_fixed", .reason = "measured" };
    cr_assert(eq(int, pfc_alert_update(db, "bob", id, &change, &alerts, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(str, (char *)alerts.items[0].note, "see #7"));
    pfc_rows_clear(&alerts);
    cr_assert(eq(int, pfc_alert_events_list(db, id, &events, &err), PFC_OK));
    cr_assert(eq(sz, events.len, 3));
    cr_assert(eq(str, (char *)events.items[1].actor, "ann"));
    cr_assert(eq(str, (char *)events.items[1].state_from, "untriaged"));
    cr_assert(eq(str, (char *)events.items[1].state_to, "fixed"));
    cr_assert(eq(str, (char *)events.items[1].reason, "reverted"));
    pfc_rows_clear(&events);
    change = (pfc_alert_change){ .state = "gone" };
    cr_assert(eq(int, pfc_alert_update(db, "ann", id, &change, &alerts, &err), PFC_EINVAL));
    cr_assert(eq(int, pfc_alert_update(db, "ann", 999999, &change, &alerts, &err), PFC_ENOTFOUND));
    pfc_db_close(db);
}

/* Stores the report of a local bisection; returns the alert's culprit (caller frees) or NULL. */
static char *culprit_after(pfc_db *db, int64_t p, int64_t id, pfc_bisection_report report)
{
    pfc_bisections bisections = { 0 };
    pfc_alerts alerts = { 0 };
    pfc_err err = { 0 };
    char *culprit;

    report.metric = "time_ns";
    report.benchmark = "gemm/a";
    report.good = fx_sha(1);
    report.bad = fx_sha(COMMITS);
    report.verdict = "found";
    report.culprits_json = "[]";
    report.culprit = fx_sha(STEP_AT);
    report.rel_change = 0.15;
    cr_assert(eq(int, pfc_bisection_store(db, "ann", p, &report, &bisections, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(i64, bisections.items[0].alert_id, id));
    pfc_rows_clear(&bisections);
    cr_assert(eq(int, pfc_alerts_get(db, id, &alerts, &err), PFC_OK));
    culprit = pfc_strdup(alerts.items[0].culprit);
    cr_assert(eq(str, (char *)alerts.items[0].state, "untriaged"));
    pfc_rows_clear(&alerts);
    return culprit;
}

static void fill_pairs(double pairs[24], double step)
{
    for (size_t i = 0; i < 12; i++) {
        pairs[2 * i] = 100 + 0.1 * (double)(i % 5);
        pairs[2 * i + 1] = 100 * (1 + step) + 0.1 * (double)(i % 3);
    }
}

Test(detect, a_report_puts_its_culprit_on_the_alert_when_its_fresh_pairs_show_it)
{
    pfc_db *db = pfc_test_db_open(3, NULL);
    int64_t p = fx_project(db), id = one_alert(db, p);
    double worse[24], equal[24];
    char *before = pfc_strdup(fx_sha(STEP_AT - 1)), *other = pfc_strdup(fx_sha(STEP_AT - 3));
    pfc_alert_events events = { 0 };
    pfc_bisections none = { 0 };
    pfc_notices notices = { 0 };
    char *culprit;
    pfc_err err = { 0 };
    const pfc_bisection_report elsewhere = { .metric = "time_ns",
                                             .benchmark = "gemm/a",
                                             .good = before,
                                             .bad = before,
                                             .verdict = "found",
                                             .culprits_json = "[]",
                                             .culprit = other,
                                             .alert_id = id };

    fill_pairs(worse, 0.15);
    fill_pairs(equal, 0);
    const pfc_bisection_report unproved[] = {
        { .alert_id = 0 },
        { .before = before, .pairs = equal, .pairs_len = 12 },
        { .before = before, .pairs = worse, .pairs_len = 1 },
        { .before = other, .pairs = worse, .pairs_len = 12 },
    };
    for (size_t i = 0; i < PFC_ARRAY_LEN(unproved); i++)
        cr_assert(eq(ptr, culprit_after(db, p, id, unproved[i]), NULL), "%zu", i);
    cr_assert(eq(int, pfc_alert_events_list(db, id, &events, &err), PFC_OK));
    cr_assert(ne(ptr, strstr(events.items[1].reason, "unconfirmed: it has no new pairs"), NULL));
    cr_assert(ne(ptr, strstr(events.items[2].reason, "do not show the change"), NULL));
    cr_assert(ne(ptr, strstr(events.items[3].reason, "do not decide"), NULL));
    cr_assert(ne(ptr, strstr(events.items[4].reason, "not of the commit before it"), NULL));
    pfc_rows_clear(&events);
    culprit = culprit_after(
        db, p, id, (pfc_bisection_report){ .before = before, .pairs = worse, .pairs_len = 12 });
    cr_assert(eq(str, culprit, (char *)fx_sha(STEP_AT)));
    /* The outbox has it once, until it is marked as sent. */
    free(culprit_after(
        db, p, id, (pfc_bisection_report){ .before = before, .pairs = worse, .pairs_len = 12 }));
    cr_assert(eq(int, pfc_notices_list(db, p, (pfc_page){ 0 }, &notices, &err), PFC_OK));
    cr_assert(eq(sz, notices.len, 2));
    cr_assert(eq(str, notices.items[0].kind, (char *)"regression"));
    cr_assert(eq(str, notices.items[1].kind, (char *)"culprit_confirmed"));
    cr_assert(eq(str, notices.items[1].commit, (char *)fx_sha(STEP_AT)));
    cr_assert(eq(i64, notices.items[1].alert_id, id));
    for (int again = 0; again < 2; again++)
        cr_assert(eq(int, pfc_notice_done(db, "bot", notices.items[1].id, &err), PFC_OK));
    pfc_rows_clear(&notices);
    cr_assert(eq(int, pfc_notices_list(db, p, (pfc_page){ 0 }, &notices, &err), PFC_OK));
    cr_assert(eq(sz, notices.len, 1)); /* the announcement stays */
    pfc_rows_clear(&notices);
    /* The alert that is named must be one whose range holds it. */
    cr_assert(eq(int, pfc_bisection_store(db, "ann", p, &elsewhere, &none, &err), PFC_EINVAL));
    cr_assert(ne(ptr, strstr(err.msg, "does not hold"), NULL), "%s", err.msg);
    free(culprit);
    free(before);
    free(other);
    pfc_db_close(db);
}

/* A connection cut in the middle of a batch, once: by a trigger where its lease is prolonged. */
Test(detect, a_lost_connection_gives_the_batch_back_at_once)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    int64_t p = fx_project(db);
    pfc_detected judged = { 0 };
    pfc_err err = { 0 };
    char *state;

    fx_commits(db, p, 1, 3);
    ingest_commit(db, p, 1, 100);
    ingest_commit(db, p, 2, 100);
    pfc_test_sql(url,
                 "CREATE FUNCTION cut() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
                 "PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END $$;"
                 "CREATE TRIGGER cut BEFORE UPDATE ON jobs FOR EACH ROW "
                 "WHEN (OLD.state = 'leased' AND NEW.state = 'leased') EXECUTE FUNCTION cut()");
    cr_assert(eq(int, pfc_detect_next(db, &judged, &err), PFC_EUNAVAIL), "%s", err.msg);
    state = pfc_test_sql_value(url, "SELECT string_agg(state || ' ' || tries, ', ' ORDER BY id) "
                                    "FROM jobs WHERE kind = 'detect'");
    cr_assert(eq(str, state, "queued 0, queued 0"));
    free(state);

    pfc_test_sql(url, "DROP TRIGGER cut ON jobs");
    fx_detect(db);
    state =
        pfc_test_sql_value(url, "SELECT string_agg(state, ', ') FROM jobs WHERE kind = 'detect'");
    cr_assert(eq(str, state, "done, done"));
    free(state);
    free(url);
    pfc_db_close(db);
}

Test(detect, workers_judge_what_comes_in_and_stop_cleanly)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(4, &url);
    const pfc_workers_opts opts = { .db = db, .url = url, .detectors = 2, .idle_ms = 200 };
    int64_t p = fx_project(db), until = pfc_clock_ns() + 240 * PFC_NS_PER_S;
    pfc_workers *workers = NULL;
    pfc_err err = { 0 };
    bool done = false;

    cr_assert(eq(int, pfc_workers_start(&workers, &opts, &err), PFC_OK), "%s", err.msg);
    fx_commits(db, p, 1, COMMITS);
    for (unsigned n = 1; n <= COMMITS; n++)
        ingest_commit(db, p, n, n < STEP_AT ? 100 : 115);
    while (!done && pfc_clock_ns() < until) {
        char *open = pfc_test_sql_value(url, "SELECT count(*) FROM jobs WHERE state <> 'done'");

        done = strcmp(open, "0") == 0;
        free(open);
        if (!done)
            pfc_clock_sleep_ns(20 * PFC_NS_PER_MS);
    }
    cr_assert(done);
    pfc_workers_stop(workers);
    pfc_alerts alerts = alerts_of(db, p);
    cr_assert(eq(sz, alerts.len, 1));
    pfc_rows_clear(&alerts);
    free(url);
    pfc_db_close(db);
}

static void *detect_in_thread(void *db)
{
    pfc_detected judged = { 0 };
    pfc_err err = { 0 };

    return pfc_detect_next(db, &judged, &err) ? pfc_strdup(err.msg) : NULL;
}

/* The detector has read the alert as untriaged, and is about to close it. */
Test(detect, what_a_person_says_meanwhile_stands)
{
    const pfc_alert_change word = { .state = "wont_fix", .reason = "as wanted" };
    const int64_t until = pfc_clock_ns() + 240 * PFC_NS_PER_S;
    char *url = NULL, *waits, *last;
    pfc_db *db = pfc_test_db_open(4, &url);
    int64_t p = fx_project(db), id;
    pthread_t thread;
    void *why = NULL;
    pfc_args args = { 0 };
    pfc_tx *tx = NULL;
    pfc_err err = { 0 };

    fx_commits(db, p, 1, 2 * COMMITS);
    for (unsigned n = 1; n <= COMMITS; n++)
        ingest_commit(db, p, n, n < STEP_AT ? 100 : 115);
    fx_detect(db);
    pfc_alerts alerts = alerts_of(db, p);
    cr_assert(eq(sz, alerts.len, 1));
    id = alerts.items[0].id;
    pfc_rows_clear(&alerts);
    for (unsigned n = COMMITS + 1; n <= 2 * COMMITS; n++)
        ingest_commit(db, p, n, 100); /* it went away */

    cr_assert(eq(int, pfc_tx_begin(&tx, db, PFC_TX_WRITE, &err), PFC_OK), "%s", err.msg);
    pfc_args_i64(&args, id);
    cr_assert(eq(int, pfc_tx_query(tx, "alert_lock", &args, NULL, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_alert_apply(tx, "jo", p, id, "untriaged", &word, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(int, pthread_create(&thread, NULL, detect_in_thread, db), 0));
    for (bool waiting = false; !waiting;) {
        waits = pfc_test_sql_value(url, "SELECT count(*) FROM pg_locks WHERE NOT granted");
        waiting = strcmp(waits, "0") != 0;
        free(waits);
        cr_assert(pfc_clock_ns() < until, "the detector never came to the alert");
        pfc_clock_sleep_ns(2 * PFC_NS_PER_MS);
    }
    cr_assert(eq(int, pfc_tx_commit(tx, &err), PFC_OK), "%s", err.msg);
    pfc_tx_free(tx);
    cr_assert(eq(int, pthread_join(thread, &why), 0));
    cr_assert(eq(ptr, why, NULL), "%s", (char *)why);
    last = pfc_test_sql_value(
        url,
        "SELECT a.state || ' ' || string_agg(e.actor || ' ' || e.state_to, ' ' ORDER BY"
        " e.id) FROM alerts a JOIN alert_events e ON e.alert_id = a.id GROUP BY a.id, a.state");
    cr_assert(eq(str, last, "wont_fix detector untriaged jo wont_fix"));
    free(last);
    pfc_db_close(db);
    free(url);
}

/* As others that write the same alerts may make the database do. */
Test(detect, a_circle_of_waiting_costs_a_series_another_try_and_no_more)
{
    char *url = NULL, *left;
    pfc_db *db = pfc_test_db_open(2, &url);
    int64_t p = fx_project(db);
    pfc_detected judged = { 0 };
    pfc_err err = { 0 };

    fx_commits(db, p, 1, 3);
    for (unsigned n = 1; n <= 3; n++)
        ingest_commit(db, p, n, 100);
    pfc_test_sql(url,
                 "CREATE SEQUENCE tries; CREATE FUNCTION circle() RETURNS trigger LANGUAGE plpgsql"
                 " AS $$ BEGIN IF nextval('tries') < 3 THEN RAISE EXCEPTION USING ERRCODE ="
                 " '40P01'; END IF; RETURN NULL; END $$; CREATE TRIGGER circle AFTER UPDATE ON"
                 " series FOR EACH ROW EXECUTE FUNCTION circle()");
    cr_assert(eq(int, pfc_detect_next(db, &judged, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, judged.series, 1));
    left = pfc_test_sql_value(
        url, "SELECT min(tries) || ' ' || max(tries) || ' ' || min(state) FROM jobs");
    cr_assert(eq(str, left, "1 1 done"));
    free(left);
    pfc_db_close(db);
    free(url);
}

/* ---- the runs that a worker takes ---- */

static void store_of_suite(pfc_db *db, int64_t p, unsigned n, const char *suite)
{
    pfc_run *run = fx_run(n);

    free(run->suite);
    run->suite = pfc_strdup(suite);
    fx_measure(run, "gemm/a", "time_ns", 100, 0.005, 3, 3, n);
    fx_ingest(db, p, run);
}

/* Takes at most two jobs; their suites, one letter each, sorted. The caller's to free. */
static char *take_two(fx_ground *g, const char *lease)
{
    char text[200];
    pfc_sql_detect_take_rows jobs = { 0 };
    pfc_err err = { 0 };
    pfc_tx *tx = NULL;

    cr_assert(eq(int, pfc_tx_begin(&tx, g->db, PFC_TX_WRITE, &err), PFC_OK), "%s", err.msg);
    cr_assert(
        eq(int,
           pfc_sql_detect_take(
               tx, &(pfc_sql_detect_take_args){ .lease_hash = lease, .seconds = 60, .limit = 2 },
               &jobs, &err),
           PFC_OK),
        "%s", err.msg);
    cr_assert(eq(int, pfc_tx_commit(tx, &err), PFC_OK), "%s", err.msg);
    pfc_tx_free(tx);
    pfc_rows_clear(&jobs);
    (void)snprintf(text, sizeof(text),
                   "SELECT string_agg(r.suite, '' ORDER BY r.suite) FROM jobs j JOIN runs r ON "
                   "r.id = j.run_id WHERE j.lease_hash = '%s'",
                   lease);
    return pfc_test_sql_value(g->url, text);
}

static void check_taken(fx_ground *g, const char *lease, const char *suites)
{
    char *taken = take_two(g, lease);

    cr_assert(eq(str, taken, (char *)suites));
    free(taken);
}

Test(detect, a_worker_takes_the_kinds_of_runs_that_no_other_one_has_begun)
{
    fx_ground g = fx_begin(3);

    fx_commits(g.db, g.project, 1, 7);
    for (unsigned n = 1; n <= 4; n++)
        store_of_suite(g.db, g.project, n, n % 2 ? "a" : "b");
    check_taken(&g, "first", "aa");
    check_taken(&g, "second", "bb");
    store_of_suite(g.db, g.project, 5, "b");
    store_of_suite(g.db, g.project, 6, "a");
    store_of_suite(g.db, g.project, 7, "c");
    check_taken(&g, "third", "c");
    /* Others have begun the rest: two workers are better than none. */
    check_taken(&g, "fourth", "ab");
    fx_end(&g);
}
