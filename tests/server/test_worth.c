/* Alerts in the order of their worth. */

#include "server/services/service.h"

#include "tests/check/check.h"
#include "tests/server/fixture.h"

#define STEP_AT 25

/* A change that another metric corroborates ranks before one that is alone; a short list has the
 * highest ranks. */
static void expect_worth_order(pfc_db *db, int64_t p)
{
    const pfc_alert_filter filter = { .project_id = p, .state = "open" };
    pfc_alerts all = { 0 }, top = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_alerts_by_worth(db, &filter, 100, &all, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_alerts_by_worth(db, &filter, 1, &top, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, all.len, 3));
    cr_assert(eq(str, (char *)all.items[2].benchmark, "norm/a"));
    for (size_t i = 1; i < all.len; i++)
        cr_assert(ge(dbl, all.items[i - 1].worth, all.items[i].worth));
    cr_assert(gt(dbl, all.items[2].worth, 0.1)); /* log 1.15, a little less */
    cr_assert(gt(dbl, all.items[1].worth, 1.3 * all.items[2].worth));
    cr_assert(eq(sz, top.len, 1));
    cr_assert(eq(i64, top.items[0].id, all.items[0].id));
    pfc_rows_clear(&top);
    pfc_rows_clear(&all);
}

/* The three have one cause: the list of groups has one row, the worthiest, with the commit's
 * subject and author. */
static void expect_one_group(pfc_db *db, int64_t p)
{
    pfc_alert_filter filter = { .project_id = p, .state = "open" };
    pfc_alerts all = { 0 }, groups = { 0 }, members = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_alerts_by_worth(db, &filter, 100, &all, &err), PFC_OK), "%s", err.msg);
    for (int worth = 0; worth < 2; worth++) {
        const pfc_page page = { .limit = 100 };

        cr_assert(eq(int, pfc_alert_leaders(db, &filter, worth, page, &groups, &err), PFC_OK), "%s",
                  err.msg);
        cr_assert(eq(sz, groups.len, 1));
        cr_assert(eq(i64, groups.items[0].id, all.items[0].id));
        cr_assert(eq(i64, groups.items[0].group_series, 3));
        cr_assert(ne(ptr, (void *)groups.items[0].suspect_subject, NULL));
        cr_assert(ne(ptr, (void *)groups.items[0].suspect_author, NULL));
        filter.group_id = groups.items[0].group_id;
        pfc_rows_clear(&groups);
    }
    cr_assert(eq(int, pfc_alerts_list(db, &filter, (pfc_page){ 0 }, &members, &err), PFC_OK));
    cr_assert(eq(sz, members.len, 3));
    filter.group_id++;
    pfc_rows_clear(&members);
    cr_assert(eq(int, pfc_alerts_list(db, &filter, (pfc_page){ 0 }, &members, &err), PFC_OK));
    cr_assert(eq(sz, members.len, 0));
    pfc_rows_clear(&members);
    pfc_rows_clear(&all);
}

/* Time and cycles of one benchmark change together; of another one only the time, by as much. */
Test(worth, what_is_borne_out_comes_first)
{
    pfc_db *db = pfc_test_db_open(3, NULL);
    int64_t p = fx_project(db);

    fx_commits(db, p, 1, 50);
    for (unsigned n = 1; n <= 50; n++) {
        pfc_run *run = fx_run(n);

        fx_measure(run, "gemm/a", "time_ns", n < STEP_AT ? 100 : 115, 0.005, 12, 3, n * 17);
        fx_measure(run, "gemm/a", "cycles", n < STEP_AT ? 300 : 345, 0.005, 12, 3, n * 23);
        fx_measure(run, "norm/a", "time_ns", n < STEP_AT ? 100 : 115, 0.005, 12, 3, n * 19);
        fx_ingest(db, p, run);
    }
    fx_detect(db);
    expect_worth_order(db, p);
    expect_one_group(db, p);
    pfc_db_close(db);
}
