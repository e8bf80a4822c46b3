/* Alerts about broken benchmarks: since when, one for all metrics, grouped, closed by themselves.
 */
#include <math.h>
#include <string.h>

#include "server/services/access/access.h"
#include "server/services/alerts/alerts.h"

#include "tests/check/check.h"
#include "tests/server/fixture.h"

/* Commit n: gemm/a and gemm/b in two metrics each, those named in `broken` (letters) without a
 * result. */
static void store(pfc_db *db, int64_t p, unsigned n, const char *broken, double later)
{
    pfc_run *run = fx_run(n);

    run->started_at += later;
    for (const char *name = "ab"; *name; name++) {
        char benchmark[] = { 'g', 'e', 'm', 'm', '/', *name, '\0' };

        fx_measure(run, benchmark, "time_ns", 100, 0.005, 12, 3, n);
        fx_measure(run, benchmark, "cycles", 500, 0.005, 12, 3, n);
        if (strchr(broken, *name))
            fx_break(run, benchmark, n % 2 ? "wrong result: element 3" : "segmentation fault");
    }
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

/* The only alert: its state, since when, and the first commit that may be it. */
static void expect_one(pfc_db *db, int64_t p, const char *state, unsigned since, unsigned low)
{
    pfc_alerts alerts = alerts_of(db, p);
    const pfc_alert *a = alerts.items;

    cr_assert(eq(sz, alerts.len, 1));
    cr_expect(eq(str, (char *)a->kind, "broken"));
    cr_expect(eq(str, (char *)a->benchmark, "gemm/a"));
    cr_expect(eq(str, (char *)a->state, (char *)state));
    cr_expect(eq(str, (char *)a->commit, (char *)fx_sha(since)));
    cr_expect(eq(str, (char *)a->commit_low, (char *)fx_sha(low)));
    cr_expect(eq(str, (char *)a->commit_high, (char *)fx_sha(since)));
    cr_expect(isnan(a->rel_change) && isnan(a->before) && isnan(a->after));
    pfc_rows_clear(&alerts);
}

static void expect_none(pfc_db *db, int64_t p)
{
    pfc_alerts alerts = alerts_of(db, p);

    cr_assert(eq(sz, alerts.len, 0));
    pfc_rows_clear(&alerts);
}

Test(broken, one_alert_says_since_when_and_closes_when_a_later_commit_measures)
{
    pfc_db *db = pfc_test_db_open(3, NULL);
    int64_t p = fx_project(db);
    pfc_alerts alerts;

    fx_commits(db, p, 1, 9);
    store(db, p, 1, "", 0);
    fx_detect(db);
    expect_none(db, p);
    store(db, p, 4, "a", 0);
    fx_detect(db);
    expect_one(db, p, "untriaged", 4, 2);
    alerts = alerts_of(db, p);
    cr_expect(eq(str, (char *)alerts.items[0].reason, "segmentation fault"));
    cr_expect(
        eq(str, (char *)alerts.items[0].group_summary, "1 benchmark broken since 0000000000"));
    pfc_rows_clear(&alerts);
    /* still broken, for another reason: the same alert, which says the newest */
    store(db, p, 5, "a", 0);
    fx_detect(db);
    expect_one(db, p, "untriaged", 4, 2);
    alerts = alerts_of(db, p);
    cr_expect(eq(str, (char *)alerts.items[0].reason, "wrong result: element 3"));
    pfc_rows_clear(&alerts);
    store(db, p, 7, "", 0);
    fx_detect(db);
    expect_one(db, p, "verified_fixed", 4, 2);
    alerts = alerts_of(db, p);
    cr_expect(eq(str, (char *)alerts.items[0].undone_commit, (char *)fx_sha(7)));
    pfc_rows_clear(&alerts);
    /* and once more: another alert */
    store(db, p, 9, "a", 0);
    fx_detect(db);
    alerts = alerts_of(db, p);
    cr_assert(eq(sz, alerts.len, 2));
    cr_expect(eq(str, (char *)alerts.items[0].commit, (char *)fx_sha(9)));
    cr_expect(eq(str, (char *)alerts.items[0].state, "untriaged"));
    cr_expect(eq(str, (char *)alerts.items[1].state, "verified_fixed"));
    pfc_rows_clear(&alerts);
    pfc_db_close(db);
}

/* The end is the same whatever came first. */
Test(broken, history_decides_and_not_the_order_of_arrival)
{
    static const unsigned orders[][4] = {
        { 2, 4, 5, 6 }, { 6, 5, 4, 2 }, { 5, 2, 6, 4 }, { 4, 6, 2, 5 }
    };
    pfc_db *db = pfc_test_db_open(3, NULL);
    pfc_err err = { 0 };

    for (size_t i = 0; i < PFC_ARRAY_LEN(orders); i++) {
        char name[] = { 'q', (char)('0' + i), '\0' };
        bool created = false;
        pfc_projects made = { 0 };
        int64_t p;

        cr_assert(eq(int, pfc_project_create(db, "test", name, NULL, NULL, &created, &made, &err),
                     PFC_OK));
        p = made.items[0].id;
        pfc_rows_clear(&made);
        fx_commits(db, p, 1, 8);
        for (size_t k = 0; k < 4; k++) {
            store(db, p, orders[i][k], orders[i][k] > 2 ? "a" : "", 0);
            fx_detect(db);
        }
        expect_one(db, p, "untriaged", 4, 3);
        /* one between is measured after all: it begins later */
        store(db, p, 5, "", 100);
        fx_detect(db);
        expect_one(db, p, "untriaged", 6, 6);
        store(db, p, 6, "", 100); /* the same commit, measured again */
        fx_detect(db);
        expect_one(db, p, "verified_fixed", 6, 6);
        store(db, p, 6, "a", 200); /* and broken again */
        fx_detect(db);
        expect_one(db, p, "untriaged", 6, 6);
    }
    pfc_db_close(db);
}

Test(broken, what_breaks_together_is_a_group_and_a_persons_word_stands)
{
    pfc_db *db = pfc_test_db_open(3, NULL);
    int64_t p = fx_project(db);
    pfc_alerts alerts;
    pfc_alerts after = { 0 };
    pfc_err err = { 0 };
    const pfc_alert_change noise = { .state = "noise", .reason = "known" };

    fx_commits(db, p, 1, 6);
    store(db, p, 3, "b", 0); /* gemm/b was never measured: nothing broke */
    fx_detect(db);
    expect_none(db, p);
    store(db, p, 2, "", 0);
    store(db, p, 4, "ab", 0);
    fx_detect(db);
    alerts = alerts_of(db, p);
    cr_assert(eq(sz, alerts.len, 2));
    cr_expect(ne(i64, alerts.items[0].group_id, alerts.items[1].group_id), "since 3 and since 4");
    pfc_rows_clear(&alerts);
    store(db, p, 3, "", 100);
    fx_detect(db);
    alerts = alerts_of(db, p);
    cr_assert(eq(sz, alerts.len, 2));
    cr_expect(eq(i64, alerts.items[0].group_id, alerts.items[1].group_id));
    cr_expect(eq(i64, alerts.items[0].group_series, 2));
    cr_expect(
        eq(str, (char *)alerts.items[0].group_summary, "2 benchmarks broken since 0000000000"));
    cr_assert(
        eq(int, pfc_alert_update(db, "test", alerts.items[0].id, &noise, &after, &err), PFC_OK));
    pfc_rows_clear(&after);
    pfc_rows_clear(&alerts);
    store(db, p, 5, "ab", 0);
    store(db, p, 6, "", 0);
    fx_detect(db);
    alerts = alerts_of(db, p);
    cr_assert(eq(sz, alerts.len, 2));
    cr_expect(eq(str, (char *)alerts.items[0].state, "noise"));
    cr_expect(eq(str, (char *)alerts.items[1].state, "verified_fixed"));
    pfc_rows_clear(&alerts);
    pfc_db_close(db);
}
