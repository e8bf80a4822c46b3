/* Orders of searches on the runners: their ends, the series they are about, and what is refused. */
#include <string.h>

#include "server/services/alerts/kinds.h"
#include "server/services/bisect/bisect.h"

#include "tests/check/check.h"
#include "tests/server/plant.h"

static pfc_code start(pfc_db *db, int64_t p, const pfc_bisection_order *order, bool dry_run,
                      pfc_bisections *out, pfc_err *err)
{
    pfc_bisection_cost cost = { 0 };

    *err = (pfc_err){ 0 };
    return pfc_bisection_start(db, "ann", p, order, dry_run, &cost, out, err);
}

/* The order is refused at this member with this code and these words. */
static void expect_refused(pfc_db *db, int64_t p, const pfc_bisection_order *order, pfc_code code,
                           const char *field, const char *words)
{
    pfc_bisections none = { 0 };
    pfc_err err;

    cr_expect(eq(int, start(db, p, order, false, &none, &err), code), "%s: %s", words, err.msg);
    cr_expect(eq(str, err.field, (char *)(uintptr_t)field), "%s", words);
    cr_expect(ne(ptr, strstr(err.msg, words), NULL), "expected \"%s\", got \"%s\"", words, err.msg);
}

Test(searches, take_range_metric_and_direction_from_their_alert_and_series)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 12);
    const int64_t id = plant_alert(url, p, &(planted){ .low = 4, .high = 8 });

    for (int higher = 0; higher < 2; higher++) {
        pfc_bisections out = { 0 };
        pfc_err err;

        plant_sql(url, "UPDATE series SET higher_is_better = %s", higher ? "true" : "false");
        cr_assert(eq(int, start(db, p, &(pfc_bisection_order){ .alert_id = id }, false, &out, &err),
                     PFC_OK),
                  "%s", err.msg);
        cr_expect(eq(str, (char *)(uintptr_t)out.items[0].good, (char *)(uintptr_t)fx_sha(3)));
        cr_expect(eq(str, (char *)(uintptr_t)out.items[0].bad, (char *)(uintptr_t)fx_sha(8)));
        cr_expect(eq(str, (char *)(uintptr_t)out.items[0].metric, (char *)"time_ns"));
        cr_expect(eq(str, (char *)(uintptr_t)out.items[0].benchmark, (char *)"gemm/a"));
        cr_expect(eq(str, (char *)(uintptr_t)out.items[0].machine_class, (char *)"test-cpu"));
        cr_expect(eq(i64, out.items[0].alert_id, id));
        cr_expect(eq(i64, out.items[0].commits, 6));
        cr_expect(
            eq(i64,
               plant_number(url, "SELECT higher_is_better::int FROM bisections WHERE id = %lld",
                            (long long)out.items[0].id),
               higher));
        pfc_rows_clear(&out);
    }
    free(url);
    pfc_db_close(db);
}

Test(searches, are_refused_where_no_commit_of_the_line_can_be_the_answer)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 12), q = plant_other(db, "q", 12);
    const int64_t other = plant_alert(url, q, &(planted){ .low = 4, .high = 8 });
    const int64_t drift = plant_alert(url, p, &(planted){ .low = 4, .high = 8, .kind = "drift" });
    const int64_t broken = plant_alert(url, p, &(planted){ .low = 4, .high = 8, .kind = "broken" });
    const int64_t first = plant_alert(url, p, &(planted){ .low = 1, .high = 8 });
    pfc_bisection_order order = {
        .metric = "time_ns", .benchmark = "gemm/a", .good = fx_sha(2), .bad = fx_sha(9)
    };
    pfc_bisections none = { 0 };
    pfc_err err;

    expect_refused(db, p, &(pfc_bisection_order){ .alert_id = other }, PFC_EINVAL, "alert_id",
                   "has no alert");
    expect_refused(db, p, &(pfc_bisection_order){ .alert_id = drift }, PFC_ECONFLICT, "alert_id",
                   "no single culprit");
    expect_refused(db, p, &(pfc_bisection_order){ .alert_id = broken }, PFC_EINVAL, "alert_id",
                   "is broken at");
    expect_refused(db, p, &(pfc_bisection_order){ .alert_id = first }, PFC_EINVAL, "alert_id",
                   "name a good one");
    cr_expect(eq(i64, plant_number(url, "SELECT count(*) FROM bisections"), 0));
    /* Two series fit, and none of them is a headline's. */
    order.benchmark = NULL;
    expect_refused(db, p, &order, PFC_EINVAL, "benchmark", "name one");
    plant_sql(url, "UPDATE series s SET headline = true FROM benchmarks b WHERE b.id ="
                   " s.benchmark_id AND b.name = 'gemm/b'");
    cr_expect(eq(int, start(db, p, &order, true, &none, &err), PFC_OK), "%s", err.msg);
    order.benchmark = "gemm/a";
    /* As many commits as there may be, and one more: the last one lies that far from the good
     * one. */
    plant_sql(url, "UPDATE branch_commits SET position = NULL WHERE position > 9");
    plant_sql(url,
              "UPDATE branch_commits SET position = 10001 WHERE position = 9 AND project_id ="
              " %lld",
              (long long)p);
    cr_expect(eq(int, start(db, p, &order, true, &none, &err), PFC_OK), "%s", err.msg);
    plant_sql(url, "UPDATE branch_commits SET position = 10002 WHERE position = 10001");
    expect_refused(db, p, &order, PFC_EINVAL, "good", "expected at most 10000");
    plant_sql(url, "UPDATE branch_commits SET position = NULL WHERE position = 10002");
    expect_refused(db, p, &order, PFC_EINVAL, "bad", "not on the first-parent line");
    /* Ends are the project's own. */
    order.bad = fx_sha(7);
    cr_expect(eq(int, start(db, p, &order, true, &none, &err), PFC_OK), "%s", err.msg);
    fx_commits(db, p, 13, 13);
    order.bad = fx_sha(13);
    expect_refused(db, q, &order, PFC_EINVAL, "bad", "knows no commit");
    free(url);
    pfc_db_close(db);
}

/* One that has ended, whichever way, is not cancelled again; another one's jobs go on. */
Test(searches, that_run_are_cancelled_once_with_their_own_jobs)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 12);
    const pfc_bisection_order order = {
        .metric = "time_ns", .benchmark = "gemm/a", .good = fx_sha(2), .bad = fx_sha(9)
    };
    int64_t ids[2];
    pfc_bisections out = { 0 };
    pfc_err err;

    plant_sql(url, "UPDATE projects SET repo_url = '/srv/p.git'");
    for (size_t i = 0; i < 2; i++) {
        cr_assert(eq(int, start(db, p, &order, false, &out, &err), PFC_OK), "%s", err.msg);
        ids[i] = out.items[0].id;
        pfc_rows_clear(&out);
        cr_assert(eq(int, pfc_bisections_advance(db, &err), PFC_OK), "%s", err.msg);
    }
#define JOBS(of, state)                                                                            \
    plant_number(url,                                                                              \
                 "SELECT count(*) FROM bisection_steps s JOIN jobs j ON j.id = s.job_id WHERE"     \
                 " s.bisection_id = %lld AND j.state = '" state "'",                               \
                 (long long)(of))
    const int64_t asked = JOBS(ids[1], "queued");

    cr_assert(asked > 0 && JOBS(ids[0], "queued") > 0);
    cr_expect(eq(int, pfc_bisection_cancel(db, "ann", ids[0], &out, &err), PFC_OK), "%s", err.msg);
    cr_expect(eq(str, (char *)(uintptr_t)out.items[0].state, (char *)"cancelled"));
    pfc_rows_clear(&out);
    cr_expect(eq(i64, JOBS(ids[0], "queued"), 0));
    cr_expect(eq(i64, JOBS(ids[1], "queued"), asked));
    cr_expect(eq(int, pfc_bisection_cancel(db, "ann", ids[0], &out, &err), PFC_ECONFLICT));
    cr_expect(eq(int, pfc_bisection_cancel(db, "ann", 999999, &out, &err), PFC_ENOTFOUND));
    plant_sql(url, "UPDATE bisections SET state = 'done', verdict = 'found' WHERE id = %lld",
              (long long)ids[1]);
    cr_expect(eq(int, pfc_bisection_cancel(db, "ann", ids[1], &out, &err), PFC_ECONFLICT));
    cr_expect(eq(i64, JOBS(ids[1], "queued"), asked));
    free(url);
    pfc_db_close(db);
}

/* The suspect is the commit that the newest finished search of the alert named, while it is one
 * commit that no fresh pairs refuted. */
Test(searches, that_found_one_commit_make_it_the_suspect_of_their_alert)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 12);
    const int64_t id = plant_alert(url, p, &(planted){ .low = 4, .high = 8 });
    const int64_t other =
        plant_alert(url, p, &(planted){ .benchmark = "gemm/b", .low = 4, .high = 8 });
    const struct {
        const char *state, *culprits, *verified;
        unsigned found; /* 0: none, so that the place of the step, commit 8, is the suspect */
    } rows[] = {
        { "running", "[]", NULL, 0 },
        { "done", "[]", NULL, 0 },
        { "done", "[{\"commits\": [\"FOUND\"]}]", NULL, 5 },
        { "cancelled", "[{\"commits\": [\"FOUND\"]}]", NULL, 0 },
        { "done", "[{\"commits\": [\"FOUND\", \"x\"]}]", NULL, 0 },
        { "done", "[{\"commits\": [\"FOUND\"]}, {\"commits\": [\"x\"]}]", NULL, 0 },
        { "done", "[{\"commits\": [\"FOUND\"]}]", "running", 5 },
        { "done", "[{\"commits\": [\"FOUND\"]}]", "open", 5 },
        { "done", "[{\"commits\": [\"FOUND\"]}]", "refuted", 0 },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        pfc_alerts alerts = { 0 };
        pfc_err err = { 0 };

        plant_sql(url, "DELETE FROM verifications");
        plant_sql(url, "DELETE FROM bisections");
        plant_sql(
            url,
            "INSERT INTO bisections (project_id, alert_id, metric, good, bad, mode, state, verdict,"
            " culprits, runs, builds, commits_measured, seconds, actor) VALUES (%lld, %lld,"
            " 'm', 'g', 'b', 'remote', '%s', 'found', replace('%s', 'FOUND', '%s')::jsonb, 0, 0, "
            "0, 0, 'a')",
            (long long)p, (long long)id, rows[i].state, rows[i].culprits, fx_sha(5));
        if (rows[i].verified)
            plant_sql(
                url,
                "INSERT INTO verifications (project_id, bisection_id, before, after,"
                " expected_rel, first_build, state) SELECT project_id, id, '%s', '%s', 0.1, 0,"
                " '%s' FROM bisections",
                fx_sha(4), fx_sha(5), rows[i].verified);
        for (int of_other = 0; of_other < 2; of_other++) {
            const unsigned found = of_other ? 0 : rows[i].found;

            cr_assert(eq(int, pfc_alerts_get(db, of_other ? other : id, &alerts, &err), PFC_OK),
                      "%s", err.msg);
            cr_expect(pfc_streq(pfc_alert_suspect(alerts.items), fx_sha(found ? found : 8)),
                      "row %zu: %s", i, pfc_alert_suspect(alerts.items));
            cr_expect(eq(int, pfc_alert_suspect_was_found(alerts.items), found != 0), "row %zu", i);
            cr_expect(eq(int, alerts.items[0].found_by > 0, found != 0), "row %zu", i);
            pfc_rows_clear(&alerts);
        }
    }
    /* A culprit stands before every search, and the subject is that of the commit that is named. */
    plant_sql(url, "DELETE FROM verifications");
    for (int confirmed = 0; confirmed < 2; confirmed++) {
        pfc_alerts alerts = { 0 };
        pfc_err err = { 0 };
        char *subject;

        plant_sql(url, "UPDATE alerts SET culprit = %s WHERE id = %lld",
                  confirmed ? "(SELECT sha FROM commits ORDER BY sha LIMIT 1)" : "NULL",
                  (long long)id);
        cr_assert(eq(int, pfc_alerts_get(db, id, &alerts, &err), PFC_OK), "%s", err.msg);
        subject = pfc_format("SELECT subject FROM commits WHERE sha = '%s' AND project_id = %lld",
                             pfc_alert_suspect(alerts.items), (long long)p);
        char *want = pfc_test_sql_value(url, subject);

        cr_expect(eq(int, pfc_alert_suspect_was_found(alerts.items), !confirmed));
        cr_expect(eq(str, (char *)(uintptr_t)alerts.items[0].suspect_subject, want));
        pfc_rows_clear(&alerts);
        free(want);
        free(subject);
    }
    free(url);
    pfc_db_close(db);
}
