/* Lists: pages at their limits, filters, and projects that do not see each other. */

#include "server/repo/tables/repo.h"
#include "server/services/service.h"

#include "tests/check/check.h"
#include "tests/server/plant.h"

/* One more is read than is shown: it says that there is a next page. */
Test(lists, hold_a_hundred_rows_or_as_many_as_are_asked_for_up_to_a_thousand)
{
    static const int rows[][2] = { { 0, 101 },     { -1, 101 },    { 1, 2 },        { 999, 1000 },
                                   { 1000, 1001 }, { 1001, 1001 }, { 100000, 1001 } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++)
        cr_expect(eq(int, pfc_page_fetch((pfc_page){ .limit = rows[i][0] }), rows[i][1]), "%d",
                  rows[i][0]);
}

/* Ids of the list, newest first, as text of offsets from `base`: "3 1". Caller frees. */
static char *ids_of(const pfc_alerts *list, int64_t base)
{
    pfc_buf out;
    char *text;

    pfc_buf_init(&out, 1024);
    for (size_t i = 0; i < list->len; i++)
        pfc_buf_printf(&out, "%s%lld", i ? " " : "", (long long)(list->items[i].id - base));
    text = pfc_strdup(pfc_buf_text(&out));
    pfc_buf_clear(&out);
    return text;
}

static void expect_list(pfc_db *db, const pfc_alert_filter *filter, pfc_page page, int64_t base,
                        const char *expected, int64_t next)
{
    pfc_alerts list = { 0 };
    pfc_err err = { 0 };
    char *text;

    cr_assert(eq(int, pfc_alerts_list(db, filter, page, &list, &err), PFC_OK), "%s", err.msg);
    text = ids_of(&list, base);
    cr_expect(eq(str, text, (char *)(uintptr_t)expected));
    cr_expect(eq(i64, list.next ? list.next - base : 0, next));
    free(text);
    pfc_rows_clear(&list);
}

static void expect_leaders(pfc_db *db, const pfc_alert_filter *filter, bool worth, pfc_page page,
                           int64_t base, const char *expected)
{
    pfc_alerts list = { 0 };
    pfc_err err = { 0 };
    char *text;

    cr_assert(eq(int, pfc_alert_leaders(db, filter, worth, page, &list, &err), PFC_OK), "%s",
              err.msg);
    text = ids_of(&list, base);
    cr_expect(eq(str, text, (char *)(uintptr_t)expected));
    free(text);
    pfc_rows_clear(&list);
}

Test(lists, of_alerts_have_the_newest_first_in_pages_by_project_series_state_event_and_group)
{
    static const char *const states[] = { "untriaged",     "acknowledged",   "investigating",
                                          "fixed",         "backed_out",     "wont_fix",
                                          "noise",         "infrastructure", "duplicate",
                                          "verified_fixed" };
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 3), q = plant_other(db, "q", 3);
    int64_t base = 0, other, series;

    for (size_t i = 0; i < PFC_ARRAY_LEN(states); i++) {
        const planted a = { .benchmark = i == 4 ? "gemm/b" : NULL,
                            .low = 2,
                            .high = 2,
                            .state = states[i],
                            .rel = i == 1 ? 0.5 : 0.1 };
        const int64_t id = plant_alert(url, p, &a);

        base = i ? base : id - 1;
        cr_assert(eq(i64, id, base + (int64_t)i + 1));
    }
    other = plant_alert(url, q, &(planted){ .low = 2, .high = 2 });
    series = plant_number(url, "SELECT series_id FROM alerts WHERE id = %lld", (long long)base + 5);
    plant_sql(url, "UPDATE alerts SET group_id = 70 WHERE id IN (%lld, %lld)", (long long)base + 1,
              (long long)base + 2);

    const pfc_alert_filter of_p = { .project_id = p };
    const pfc_alert_filter all = { 0 };

    expect_list(db, &of_p, (pfc_page){ 0 }, base, "10 9 8 7 6 5 4 3 2 1", 0);
    expect_list(db, &all, (pfc_page){ .limit = 2 }, base, "11 10", 10);
    expect_list(db, &of_p, (pfc_page){ .limit = 4 }, base, "10 9 8 7", 7);
    expect_list(db, &of_p, (pfc_page){ .limit = 4, .cursor = base + 7 }, base, "6 5 4 3", 3);
    expect_list(db, &of_p, (pfc_page){ .limit = 2, .cursor = base + 3 }, base, "2 1", 0);
    expect_list(db, &(pfc_alert_filter){ .project_id = q }, (pfc_page){ 0 }, base, "11", 0);
    expect_list(db, &(pfc_alert_filter){ .project_id = p, .state = "open" }, (pfc_page){ 0 }, base,
                "3 2 1", 0);
    for (size_t i = 0; i < PFC_ARRAY_LEN(states); i++) {
        char *expected = pfc_format("%zu", i + 1);

        expect_list(db, &(pfc_alert_filter){ .project_id = p, .state = states[i] }, (pfc_page){ 0 },
                    base, expected, 0);
        free(expected);
    }
    expect_list(db, &(pfc_alert_filter){ .project_id = p, .series_id = series }, (pfc_page){ 0 },
                base, "5", 0);
    expect_list(db, &(pfc_alert_filter){ .project_id = q, .series_id = series }, (pfc_page){ 0 },
                base, "", 0);
    expect_list(db, &(pfc_alert_filter){ .group_id = 70 }, (pfc_page){ 0 }, base, "2 1", 0);
    expect_list(db, &(pfc_alert_filter){ .project_id = p, .words = "GEMM/B time" }, (pfc_page){ 0 },
                base, "5", 0);
    expect_list(db, &(pfc_alert_filter){ .project_id = p, .words = "gemm/b absent" },
                (pfc_page){ 0 }, base, "", 0);

    /* Of the group its worthiest; one by one those without a group. */
    cr_assert(eq(i64, other, base + 11));
    const pfc_alert_filter open = { .project_id = p, .state = "open" };

    expect_leaders(db, &open, false, (pfc_page){ 0 }, base, "3 2");
    expect_leaders(db, &open, true, (pfc_page){ .limit = 9 }, base, "2 3");
    expect_leaders(db, &open, false, (pfc_page){ .limit = 1 }, base, "3");
    expect_leaders(db, &open, false, (pfc_page){ .limit = 1, .cursor = base + 3 }, base, "2");
    expect_leaders(db, &open, true, (pfc_page){ .limit = 1 }, base, "2");
    expect_leaders(db, &(pfc_alert_filter){ .project_id = q }, true, (pfc_page){ .limit = 9 }, base,
                   "11");
    expect_leaders(db, &(pfc_alert_filter){ .project_id = p, .series_id = series }, true,
                   (pfc_page){ .limit = 9 }, base, "5");
    free(url);
    pfc_db_close(db);
}

Test(lists, of_jobs_have_the_newest_first_and_what_the_server_does_only_when_asked_for)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 3), q = plant_other(db, "q", 3);
    pfc_jobs jobs = { 0 };
    pfc_err err = { 0 };
    int64_t base;

    plant_sql(url,
              "INSERT INTO jobs (project_id, kind, sha, state, finished_at)"
              " VALUES (%lld, 'measure', '%s', 'queued', NULL), (%lld, 'nightly', '%s', 'queued',"
              " NULL), (%lld, 'measure', '%s', 'done', now()), (%lld, 'measure', '%s', 'queued',"
              " NULL)",
              (long long)p, fx_sha(1), (long long)p, fx_sha(2), (long long)p, fx_sha(3),
              (long long)q, fx_sha(1));
    base = plant_number(url, "SELECT max(id) - 4 FROM jobs");
    const struct {
        pfc_job_filter filter;
        pfc_page page;
        int64_t ids[4], next; /* of base; 0: no more */
    } rows[] = {
        { { 0 }, { 0 }, { 4, 3, 2, 1 }, 0 },
        { { .project_id = p }, { 0 }, { 3, 2, 1 }, 0 },
        { { .project_id = p }, { .limit = 2 }, { 3, 2 }, 2 },
        { { .project_id = p }, { .limit = 2, .cursor = base + 2 }, { 1 }, 0 },
        { { .project_id = p, .state = "queued" }, { 0 }, { 2, 1 }, 0 },
        { { .project_id = p, .kind = "measure" }, { 0 }, { 3, 1 }, 0 },
        { { .project_id = q, .kind = "nightly" }, { 0 }, { 0 }, 0 },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        cr_assert(eq(int, pfc_jobs_list(db, &rows[i].filter, rows[i].page, &jobs, &err), PFC_OK));
        for (size_t k = 0; k < 4; k++)
            cr_expect(eq(i64, k < jobs.len ? jobs.items[k].id - base : 0, rows[i].ids[k]),
                      "row %zu job %zu", i, k);
        cr_expect(eq(i64, jobs.next ? jobs.next - base : 0, rows[i].next), "%zu", i);
        pfc_rows_clear(&jobs);
    }
    cr_assert(eq(
        int, pfc_jobs_list(db, &(pfc_job_filter){ .kind = "detect" }, (pfc_page){ 0 }, &jobs, &err),
        PFC_OK));
    cr_expect(eq(sz, jobs.len, 2));
    pfc_rows_clear(&jobs);
    free(url);
    pfc_db_close(db);
}

Test(lists, of_what_was_done_are_a_projects_own_newest_first)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = fx_project(db);
    pfc_audit_rows rows = { 0 };
    pfc_err err = { 0 };

    plant_sql(url, "DELETE FROM audit");
    plant_sql(
        url,
        "INSERT INTO audit (actor, action, project_id, object, detail) VALUES"
        " ('a', 'one', %lld, '', ''), ('a', 'two', NULL, '', ''), ('a', 'three', %lld, '', '')",
        (long long)p, (long long)p);
    cr_assert(eq(int, pfc_audit_list(db, p, (pfc_page){ .limit = 1 }, &rows, &err), PFC_OK));
    cr_assert(eq(sz, rows.len, 1));
    cr_expect(eq(str, (char *)(uintptr_t)rows.items[0].action, (char *)"three"));
    const pfc_page next = { .limit = 1, .cursor = rows.next };

    pfc_rows_clear(&rows);
    cr_assert(eq(int, pfc_audit_list(db, p, next, &rows, &err), PFC_OK));
    cr_assert(eq(sz, rows.len, 1));
    cr_expect(eq(str, (char *)(uintptr_t)rows.items[0].action, (char *)"one"));
    cr_expect(eq(i64, rows.next, 0));
    pfc_rows_clear(&rows);
    cr_assert(eq(int, pfc_audit_list(db, 0, (pfc_page){ 0 }, &rows, &err), PFC_OK));
    cr_expect(eq(sz, rows.len, 3));
    pfc_rows_clear(&rows);
    free(url);
    pfc_db_close(db);
}
