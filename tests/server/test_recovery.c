/* The recovery of a group is announced by the transaction that closes its last alert. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "core/base/clock.h"
#include "server/services/alerts/alerts.h"
#include "server/services/service.h"

#include "tests/check/check.h"
#include "tests/server/plant.h"

/* A fixed alert of group 7, which was announced. */
static int64_t plant_fixed(const char *url, int64_t p, const char *benchmark)
{
    const int64_t id = plant_alert(
        url, p, &(planted){ .benchmark = benchmark, .state = "fixed", .low = 3, .high = 3 });

    plant_sql(url, "UPDATE alerts SET group_id = 7, group_summary = 'g' WHERE id = %lld",
              (long long)id);
    return id;
}

typedef struct closing {
    pfc_db *db;
    int64_t alert_id;
    pfc_code code;
    atomic_bool ended;
} closing;

static const pfc_alert_change verified = { .state = "verified_fixed", .reason = "measured" };

static void *close_alert(void *arg)
{
    closing *c = arg;
    pfc_alerts alerts = { 0 };
    pfc_err err = { 0 };

    c->code = pfc_alert_update(c->db, "ann", c->alert_id, &verified, &alerts, &err);
    pfc_rows_clear(&alerts);
    atomic_store(&c->ended, true);
    return NULL;
}

Test(recovery, is_announced_once_when_two_transactions_close_the_last_two_alerts)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(3, &url);
    const int64_t p = plant_project(db, 9);
    const int64_t first = plant_fixed(url, p, "gemm/a"), second = plant_fixed(url, p, "gemm/b");
    closing other = { .db = db, .alert_id = second };
    pthread_t thread;
    pfc_tx *tx = NULL;
    pfc_err err = { 0 };
    bool waits = false;

    plant_sql(url,
              "INSERT INTO notices (project_id, kind, alert_id, sha, text) VALUES"
              " (%lld, 'regression', %lld, '%s', 'x')",
              (long long)p, (long long)first, fx_sha(3));
    cr_assert(eq(int, pfc_tx_begin(&tx, db, PFC_TX_WRITE, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_alert_apply(tx, "ann", p, first, "fixed", &verified, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(int, pthread_create(&thread, NULL, close_alert, &other), 0));
    /* Until the second one waits for the first, or has ended without waiting. */
    while (!waits && !atomic_load(&other.ended)) {
        waits = plant_number(url, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND"
                                  " NOT granted AND classid = 74202055") > 0;
        pfc_clock_sleep_ns(PFC_NS_PER_MS);
    }
    cr_assert(eq(int, pfc_tx_commit(tx, &err), PFC_OK), "%s", err.msg);
    pfc_tx_free(tx);
    cr_assert(eq(int, pthread_join(thread, NULL), 0));
    cr_expect(eq(int, other.code, PFC_OK));
    cr_expect(
        eq(i64, plant_number(url, "SELECT count(*) FROM notices WHERE kind = 'recovered'"), 1));
    free(url);
    pfc_db_close(db);
}

/* The detector closes the alert without a person, and says what it has measured. */
Test(recovery, of_a_measured_level_verifies_the_fix_with_its_evidence)
{
    fx_ground g = fx_begin(3);
    pfc_alert_events events = { 0 };
    pfc_alerts list = { 0 };
    double before = 0, after = 0, now = 0;
    unsigned points = 0;
    pfc_err err = { 0 };
    const char *reason;

    fx_commits(g.db, g.project, 1, 60);
    for (unsigned n = 1; n <= 60; n++) {
        pfc_run *run = fx_run(n);

        fx_measure(run, "gemm/a", "time_ns", n >= 20 && n < 40 ? 130 : 100, 0.005, 8, 2, n);
        fx_ingest(g.db, g.project, run);
        if (n == 39)
            fx_detect(g.db);
    }
    fx_detect(g.db);
    cr_assert(eq(int,
                 pfc_alerts_list(g.db, &(pfc_alert_filter){ .project_id = g.project },
                                 (pfc_page){ 0 }, &list, &err),
                 PFC_OK));
    cr_assert(eq(sz, list.len, 1));
    cr_expect(eq(str, (char *)list.items[0].state, "verified_fixed"));
    cr_assert(eq(int, pfc_alert_events_list(g.db, list.items[0].id, &events, &err), PFC_OK));
    cr_assert(eq(sz, events.len, 2));
    cr_expect(eq(str, (char *)events.items[1].actor, "detector"));
    reason = events.items[1].reason;
    cr_assert(eq(int,
                 sscanf(reason,
                        "went away: the level is back where it was: %lf, %lf, and %lf since "
                        "000000000000 (%u points)",
                        &before, &after, &now, &points),
                 4),
              "%s", reason);
    cr_expect(epsilon_eq(dbl, before, 100, 1));
    cr_expect(epsilon_eq(dbl, after, 130, 1));
    cr_expect(epsilon_eq(dbl, now, 100, 1));
    cr_expect(eq(uint, points, 21)); /* commits 40 to 60 */
    pfc_rows_clear(&events);
    pfc_rows_clear(&list);
    fx_end(&g);
}
