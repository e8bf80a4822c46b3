/* Automatic changes of an alert: narrowing its range, closing it, and its evidence. */

#include "server/services/alerts/alerts.h"
#include "server/services/detect/detect.h"
#include "server/services/queue/queue.h"

#include "tests/check/check.h"
#include "tests/server/plant.h"

/* ---- narrowing ---- */

/* The commit that is asked for, 0: none; the job is taken back. */
static unsigned asked(pfc_db *db, const char *url, double delay_s, int64_t budget,
                      int64_t narrowest)
{
    const pfc_backfill_opts opts = { delay_s, budget, narrowest };
    pfc_err err = { 0 };
    int64_t job = 0;
    unsigned commit = 0;
    const pfc_code code = pfc_backfill_next(db, &opts, &job, &err);

    cr_assert(code == PFC_OK || code == PFC_ENOTFOUND, "%s", err.msg);
    if (code == PFC_OK) {
        commit = (unsigned)plant_number(url,
                                        "SELECT ('x' || right(sha, 8))::bit(32)::int FROM jobs"
                                        " WHERE id = %lld",
                                        (long long)job);
        plant_sql(url, "DELETE FROM jobs WHERE id = %lld", (long long)job);
    }
    return commit;
}

Test(ranges, the_middle_of_one_that_is_old_wide_and_open_is_measured)
{
    static const char *const states[] = { "untriaged",     "acknowledged",   "investigating",
                                          "fixed",         "backed_out",     "wont_fix",
                                          "noise",         "infrastructure", "duplicate",
                                          "verified_fixed" };
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 20), q = plant_other(db, "q", 20);
    const int64_t id = plant_alert(url, p, &(planted){ .low = 4, .high = 8 });

    /* Where the code comes from is not known. */
    plant_sql(url, "UPDATE alerts SET created_at = now() - interval '61 minutes'");
    cr_expect(eq(int, (int)asked(db, url, 3600, 1, 5), 0));
    plant_sql(url, "UPDATE projects SET repo_url = '/srv/p.git'");
    cr_expect(eq(int, (int)asked(db, url, 3600, 1, 5), 5)); /* of 4..7, as near as 6 */
    cr_expect(eq(int, (int)asked(db, url, 3600, 1, 6), 0));
    plant_sql(url, "UPDATE alerts SET created_at = now() - interval '59 minutes'");
    cr_expect(eq(int, (int)asked(db, url, 3600, 1, 5), 0));
    /* A budget is a project's, of a day. */
    plant_sql(url,
              "INSERT INTO jobs (project_id, kind, sha, branch, state, finished_at, created_at)"
              " VALUES (%lld, 'backfill', '%s', 'main', 'done', now(), now()), (%lld, 'backfill',"
              " '%s', 'main', 'done', now(), now())",
              (long long)p, fx_sha(19), (long long)q, fx_sha(19));
    cr_expect(eq(int, (int)asked(db, url, 0, 1, 5), 0));
    cr_expect(eq(int, (int)asked(db, url, 0, 2, 5), 5));
    /* Another project's job at the commit is not this one's. */
    plant_sql(url, "UPDATE jobs SET sha = '%s' WHERE project_id = %lld AND kind = 'backfill'",
              fx_sha(5), (long long)q);
    cr_expect(eq(int, (int)asked(db, url, 0, 2, 5), 5));
    plant_sql(url, "UPDATE jobs SET sha = '%s' WHERE project_id = %lld AND kind = 'backfill'",
              fx_sha(5), (long long)p);
    cr_expect(eq(int, (int)asked(db, url, 0, 2, 5), 6));
    for (size_t i = 0; i < PFC_ARRAY_LEN(states); i++) {
        plant_sql(url, "UPDATE alerts SET state = '%s'", states[i]);
        cr_expect(eq(int, (int)asked(db, url, 0, 2, 5), i < 3 ? 6 : 0), "%s", states[i]);
    }
    plant_sql(url, "UPDATE alerts SET state = 'untriaged', culprit = '%s'", fx_sha(6));
    cr_expect(eq(int, (int)asked(db, url, 0, 2, 5), 0));
    plant_sql(url, "UPDATE alerts SET culprit = NULL");
    plant_sql(url, "UPDATE change_points SET kind = 'drift'");
    cr_expect(eq(int, (int)asked(db, url, 0, 2, 5), 0));
    plant_sql(url, "UPDATE change_points SET kind = 'step'");
    /* The oldest alert first. */
    cr_assert(gt(i64, plant_alert(url, p, &(planted){ .low = 10, .high = 18 }), id));
    cr_expect(eq(int, (int)asked(db, url, 0, 2, 5), 6));
    plant_sql(url, "UPDATE alerts SET state = 'noise' WHERE id = %lld", (long long)id);
    cr_expect(eq(int, (int)asked(db, url, 0, 2, 9), 13));
    cr_expect(eq(int, (int)asked(db, url, 0, 2, 10), 0));
    free(url);
    pfc_db_close(db);
}

/* ---- closing ---- */

Test(ranges, a_benchmark_that_measures_again_closes_its_alert_unless_a_person_ended_it)
{
    static const char *const states[] = { "untriaged", "acknowledged",   "investigating",
                                          "fixed",     "backed_out",     "wont_fix",
                                          "noise",     "infrastructure", "duplicate" };
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = fx_project(db);
    pfc_err err = { 0 };

    fx_commits(db, p, 1, 5);
    for (unsigned n = 1; n <= 5; n += 2) {
        pfc_run *run = fx_run(n);

        for (size_t i = 0; i < PFC_ARRAY_LEN(states); i++) {
            fx_measure(run, states[i], "time_ns", 100, 0.005, 8, 2, n * 9 + i);
            if (n == 3)
                fx_break(run, states[i], "no result");
        }
        fx_ingest(db, p, run);
        fx_detect(db);
        for (size_t i = 0; n == 3 && i < PFC_ARRAY_LEN(states); i++) {
            const int64_t id = plant_number(
                url,
                "SELECT a.id FROM alerts a JOIN series s ON s.id = a.series_id JOIN benchmarks"
                " b ON b.id = s.benchmark_id WHERE b.name = '%s'",
                states[i]);
            pfc_alerts alerts = { 0 };

            cr_assert(eq(int,
                         pfc_alert_update(db, "ann", id, &(pfc_alert_change){ .state = states[i] },
                                          &alerts, &err),
                         PFC_OK),
                      "%s", err.msg);
            pfc_rows_clear(&alerts);
        }
    }
    for (size_t i = 0; i < PFC_ARRAY_LEN(states); i++)
        cr_expect(eq(i64,
                     plant_number(url,
                                  "SELECT count(*) FROM alerts a JOIN series s ON s.id ="
                                  " a.series_id JOIN benchmarks b ON b.id = s.benchmark_id"
                                  " WHERE b.name = '%s' AND a.state = '%s'",
                                  states[i], i < 5 ? "verified_fixed" : states[i]),
                     1),
                  "%s", states[i]);
    free(url);
    pfc_db_close(db);
}

/* ---- what bears an alert out ---- */

typedef struct asking {
    int64_t project, alert;
} asking;

static pfc_code set_evidence(pfc_tx *tx, void *into, pfc_err *err)
{
    const asking *a = into;

    return pfc_evidence_set(tx, a->project, &a->alert, 1, err);
}

/* The evidence of the alert of time_ns at 4..6, with the other metric's change (low 0: none) and
 * what it is. */
static void expect_evidence(pfc_db *db, const char *url, asking a, unsigned low, unsigned high,
                            bool exact, bool worse, const char *evidence)
{
    char *text, *sql;
    pfc_err err = { 0 };

    plant_sql(url, "UPDATE series SET exact = %s WHERE metric = 'cycles'",
              exact ? "true" : "false");
    plant_sql(url, "DELETE FROM alerts WHERE id <> %lld", (long long)a.alert);
    plant_sql(url, "DELETE FROM change_points x WHERE NOT EXISTS (SELECT 1 FROM alerts WHERE"
                   " change_point_id = x.id)");
    if (low)
        plant_alert(url, a.project,
                    &(planted){ .metric = "cycles", .low = low, .high = high, .rel = -0.2 });
    plant_sql(url, "UPDATE change_points SET regression = %s WHERE rel_change < 0",
              worse ? "true" : "false");
    cr_assert(eq(int, pfc_db_write(db, set_evidence, &a, &err), PFC_OK), "%s", err.msg);
    sql = pfc_format("SELECT evidence FROM alerts WHERE id = %lld", (long long)a.alert);
    text = pfc_test_sql_value(url, sql);
    cr_expect(eq(str, text, (char *)(uintptr_t)evidence), "%u to %u, %s, %s", low, high,
              exact ? "exact" : "noisy", worse ? "worse" : "better");
    free(text);
    free(sql);
}

Test(ranges, another_metric_bears_an_alert_out_when_it_became_worse_at_the_same_commits)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = fx_project(db);
    asking a = { .project = p };

    fx_commits(db, p, 1, 9);
    for (unsigned n = 1; n <= 9; n += 8) {
        pfc_run *run = fx_run(n);

        fx_measure(run, "gemm/a", "time_ns", 100, 0.005, 8, 2, n);
        fx_measure(run, "gemm/a", "cycles", 500, 0.005, 8, 2, n);
        fx_ingest(db, p, run);
    }
    a.alert = plant_alert(url, p, &(planted){ .low = 4, .high = 6 });
    expect_evidence(db, url, a, 5, 5, true, true, "exact");
    expect_evidence(db, url, a, 5, 5, true, false, "single");
    expect_evidence(db, url, a, 5, 5, false, true, "corroborated");
    expect_evidence(db, url, a, 5, 5, false, false, "single");
    expect_evidence(db, url, a, 0, 0, false, false, "alone");
    /* Its range meets the alert's, at either end. */
    expect_evidence(db, url, a, 2, 4, false, true, "corroborated");
    expect_evidence(db, url, a, 2, 3, false, true, "alone");
    expect_evidence(db, url, a, 6, 8, false, true, "corroborated");
    expect_evidence(db, url, a, 7, 8, false, true, "alone");
    /* Measured on one side only: nothing is known. */
    plant_sql(url, "DELETE FROM measurements m USING branch_commits b WHERE b.commit_id ="
                   " m.commit_id AND b.position = 9");
    expect_evidence(db, url, a, 0, 0, false, false, "single");
    plant_sql(url, "UPDATE series SET exact = true WHERE metric = 'time_ns'");
    expect_evidence(db, url, a, 0, 0, false, false, "exact");
    free(url);
    pfc_db_close(db);
}

/* ---- what people's words come to ---- */

Test(ranges, every_state_that_a_person_set_is_a_label_of_what_it_says)
{
    static const struct {
        const char *state;
        size_t real, noise;
    } rows[] = {
        { "untriaged", 0, 0 }, { "acknowledged", 1, 0 },   { "investigating", 1, 0 },
        { "fixed", 1, 0 },     { "backed_out", 1, 0 },     { "wont_fix", 1, 0 },
        { "noise", 0, 1 },     { "infrastructure", 0, 1 }, { "duplicate", 1, 0 },
    };
    const pfc_detector detector = { 0 };
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 9), q = plant_other(db, "q", 9);
    const int64_t id = plant_alert(url, p, &(planted){ .low = 4, .high = 6 });
    pfc_alerts alerts = { 0 };
    pfc_replay r = { 0 };
    pfc_err err = { 0 };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        cr_assert(eq(int,
                     pfc_alert_update(db, "ann", id, &(pfc_alert_change){ .state = rows[i].state },
                                      &alerts, &err),
                     PFC_OK));
        pfc_rows_clear(&alerts);
        for (int other = 0; other < 2; other++) {
            cr_assert(
                eq(int, pfc_project_replay(db, other ? q : p, "main", &detector, &r, &err), PFC_OK),
                "%s", err.msg);
            cr_expect(eq(sz, r.labelled_real, other ? 0 : rows[i].real), "%s", rows[i].state);
            cr_expect(eq(sz, r.labelled_noise, other ? 0 : rows[i].noise), "%s", rows[i].state);
            pfc_replay_clear(&r);
        }
    }
    free(url);
    pfc_db_close(db);
}
