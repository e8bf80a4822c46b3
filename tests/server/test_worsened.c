/* Notices of announced groups whose worst effect grows, each once, and of none that improves. */

#include "server/services/alerts/alerts.h"
#include "server/services/service.h"

#include "tests/check/check.h"
#include "tests/server/plant.h"

/* An alert of group 7 at commit n, with that change. */
static int64_t plant_member(const char *url, int64_t p, const char *benchmark, unsigned n,
                            double rel)
{
    const int64_t id =
        plant_alert(url, p, &(planted){ .benchmark = benchmark, .low = n, .high = n, .rel = rel });

    plant_sql(url, "UPDATE alerts SET group_id = 7, group_summary = 'g' WHERE id = %lld",
              (long long)id);
    return id;
}

static void announce(const char *url, int64_t p, int64_t alert, unsigned n, double worst)
{
    plant_sql(url,
              "INSERT INTO notices (project_id, kind, alert_id, sha, text, worst) VALUES"
              " (%lld, 'regression', %lld, '%s', 'x', %g)",
              (long long)p, (long long)alert, fx_sha(n), worst);
}

static void set_change(const char *url, int64_t alert, double rel, double low, double high)
{
    plant_sql(url,
              "UPDATE change_points SET rel_change = %g, rel_low = %g, rel_high = %g WHERE id ="
              " (SELECT change_point_id FROM alerts WHERE id = %lld)",
              rel, low, high, (long long)alert);
}

/* The number of notices of worsening after the alerts of the branch are settled again. */
static int64_t settle(pfc_db *db, const char *url, int64_t p)
{
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_alerts_open(db, p, "main", 0, &err), PFC_OK), "%s", err.msg);
    return plant_number(url, "SELECT count(*) FROM notices WHERE kind = 'worsened'");
}

/* Announced with a cost of 20 %: it worsens from 25 % on, when 20 % is outside its interval. */
Test(worsened, by_a_step_beyond_the_uncertainty_and_in_the_worse_direction_only)
{
    static const struct {
        double worst, rel, low, high;
        int64_t notices;
    } rows[] = {
        { 0.2, 0.2, 0.19, 0.21, 0 },
        { 0.2, 0.249, 0.24, 0.26, 0 },
        { 0.2, 0.2501, 0.24, 0.26, 1 },
        { 0.2, 0.26, 0.2, 0.32, 0 },
        { 0.2, 0.26, 0.201, 0.32, 1 },
        { 0.2, 0.1, 0.09, 0.11, 0 },
        { 0.2, 0.9, -0.1, 1.9, 0 },
        { 1.0, 1.24, 1.2, 1.3, 0 },
        { 1.0, 1.26, 1.2, 1.3, 1 },    /* a quarter of a large effect */
        { 0.04, 0.08, 0.07, 0.09, 0 }, /* five points of a small one */
        { 0.04, 0.091, 0.08, 0.1, 1 },
        /* Throughput: -20 % costs 25 %, -16.7 % costs 20 %. */
        { -0.1667, -0.2, -0.21, -0.19, 0 },
        { -0.1667, -0.2001, -0.21, -0.19, 1 },
        { -0.1667, -0.25, -0.4, -0.1, 0 },
        { -0.1667, -0.1, -0.11, -0.09, 0 },
        { -0.1667, -1.0, -1.0, -0.9, 1 },
    };
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 9);
    const int64_t alert = plant_member(url, p, "gemm/a", 3, 0.2);

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        plant_sql(url, "DELETE FROM notices");
        announce(url, p, alert, 3, rows[i].worst);
        set_change(url, alert, rows[i].rel, rows[i].low, rows[i].high);
        cr_expect(eq(i64, settle(db, url, p), rows[i].notices), "row %zu", i);
    }
    free(url);
    pfc_db_close(db);
}

Test(worsened, each_step_is_announced_once_by_the_worst_alert_of_the_group)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 9);
    const int64_t first = plant_member(url, p, "gemm/a", 3, 0.1);
    const int64_t second = plant_member(url, p, "gemm/b", 4, 0.12);

    cr_expect(eq(i64, settle(db, url, p), 0)); /* not announced yet */
    announce(url, p, first, 3, 0.12);
    cr_expect(eq(i64, settle(db, url, p), 0));
    set_change(url, second, 0.3, 0.29, 0.31);
    set_change(url, first, 0.25, 0.24, 0.26);
    for (int again = 0; again < 3; again++)
        cr_expect(eq(i64, settle(db, url, p), 1));
    cr_expect(eq(i64,
                 plant_number(url,
                              "SELECT count(*) FROM notices WHERE kind = 'worsened' AND alert_id ="
                              " %lld AND sha = '%s' AND text ="
                              " 'worsened from +12.0 %% to +30.0 %%: g'",
                              (long long)second, fx_sha(4)),
                 1));
    /* The other alert grows to the effect that was announced: no news. */
    set_change(url, first, 0.31, 0.305, 0.32);
    cr_expect(eq(i64, settle(db, url, p), 1));
    /* It falls, and grows again to what was announced. */
    set_change(url, second, 0.05, 0.04, 0.06);
    set_change(url, first, 0.05, 0.04, 0.06);
    cr_expect(eq(i64, settle(db, url, p), 1));
    set_change(url, second, 0.3, 0.29, 0.31);
    cr_expect(eq(i64, settle(db, url, p), 1));
    set_change(url, second, 0.4, 0.39, 0.41);
    cr_expect(eq(i64, settle(db, url, p), 2));
    free(url);
    pfc_db_close(db);
}

/* A group that is closed, of a machine, gone, undone, or an improvement, does not worsen. */
Test(worsened, only_live_regressions_of_open_alerts_count)
{
    static const struct {
        const char *change, *alert;
        int64_t notices;
    } rows[] = {
        { "gone_at = NULL", "state = 'acknowledged'", 1 },
        { "gone_at = NULL", "state = 'investigating'", 1 },
        { "gone_at = NULL", "state = 'fixed'", 0 },
        { "gone_at = NULL", "state = 'wont_fix'", 0 },
        { "gone_at = NULL", "state = 'noise'", 0 },
        { "gone_at = NULL", "state = 'infrastructure'", 0 },
        { "gone_at = NULL", "state = 'verified_fixed'", 0 },
        { "gone_at = now()", "state = 'untriaged'", 0 },
        { "regression = false", "state = 'untriaged'", 0 },
        { "firm = false", "state = 'untriaged'", 0 },
        { "undone_commit_id = commit_id", "state = 'untriaged'", 0 },
        { "gone_at = NULL", "group_id = NULL", 0 },
    };
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 9);

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        int64_t alert;

        plant_sql(url, "DELETE FROM notices; DELETE FROM alerts; DELETE FROM change_points");
        alert = plant_member(url, p, "gemm/a", 3, 0.5);
        announce(url, p, alert, 3, 0.1);
        plant_sql(url, "UPDATE change_points SET %s; UPDATE alerts SET %s", rows[i].change,
                  rows[i].alert);
        cr_expect(eq(i64, settle(db, url, p), rows[i].notices), "row %zu", i);
    }
    free(url);
    pfc_db_close(db);
}
