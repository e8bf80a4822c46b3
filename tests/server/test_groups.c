/* Groups of alerts: their figures, triage of several at once, splits and merges that stay. */
#include <math.h>

#include "core/base/buf.h"
#include "server/services/alerts/alerts.h"
#include "server/services/groups/groups.h"

#include "tests/check/check.h"
#include "tests/server/plant.h"
#include "tests/support/cluster_hooks.h"

#define WHY "one cause"

/* Both series measured at commits 1..last, so that a summary can count them. */
static void measure_all(pfc_db *db, int64_t project, unsigned last)
{
    for (unsigned n = 2; n <= last; n++) {
        pfc_run *run = fx_run(n);

        fx_measure(run, "gemm/a", "time_ns", 100, 0.005, 8, 2, 2 * n);
        fx_measure(run, "gemm/b", "time_ns", 100, 0.005, 8, 2, 2 * n + 1);
        fx_ingest(db, project, run);
    }
}

static int64_t group_of(const char *url, int64_t alert)
{
    return plant_number(url, "SELECT group_id FROM alerts WHERE id = %lld", (long long)alert);
}

static void put_group(const char *url, int64_t alert, int64_t group)
{
    plant_sql(url,
              "UPDATE alerts SET group_id = %lld, group_summary = 'gemm series' WHERE id = %lld",
              (long long)group, (long long)alert);
}

/* Ids of the list as text: "70 71". Caller frees. */
static char *list_text(pfc_db *db, const pfc_group_filter *filter, pfc_page page, int64_t *next)
{
    pfc_groups rows = { 0 };
    pfc_alerts leads = { 0 };
    pfc_err err = { 0 };
    pfc_buf out;
    char *text;

    cr_assert(eq(int, pfc_groups_list(db, filter, page, &rows, &leads, &err), PFC_OK), "%s",
              err.msg);
    cr_expect(eq(sz, leads.len, rows.len));
    pfc_buf_init(&out, 1024);
    for (size_t i = 0; i < rows.len; i++)
        pfc_buf_printf(&out, "%s%lld", i ? " " : "", (long long)rows.items[i].id);
    text = pfc_strdup(pfc_buf_text(&out));
    *next = rows.next;
    pfc_buf_clear(&out);
    pfc_rows_clear(&leads);
    pfc_rows_clear(&rows);
    return text;
}

static void expect_list(pfc_db *db, pfc_group_filter filter, pfc_page page, const char *expected,
                        int64_t next, int line)
{
    int64_t got = 0;
    char *text = list_text(db, &filter, page, &got);

    cr_expect(eq(str, text, (char *)(uintptr_t)expected), "line %d", line);
    cr_expect(eq(i64, got, next), "line %d", line);
    free(text);
}

#define EXPECT_LIST(filter, page, expected, next)                                                  \
    expect_list(db, (pfc_group_filter)filter, (pfc_page)page, expected, next, __LINE__)
#define F(...)                                                                                     \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

/* Effects 0.3, 0.1 and -0.5: as logarithms 0.26, 0.10 and 0.69. */
Test(groups, have_the_figures_of_all_of_their_alerts)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 9);
    const int64_t a = plant_alert(url, p, &(planted){ .low = 2, .high = 2, .rel = 0.3 });
    const int64_t b = plant_alert(
        url, p,
        &(planted){ .benchmark = "gemm/b", .low = 2, .high = 3, .rel = -0.5, .state = "noise" });
    const int64_t c =
        plant_alert(url, p, &(planted){ .low = 2, .high = 3, .rel = 0.1, .state = "acknowledged" });
    pfc_groups rows = { 0 };
    pfc_alerts leads = { 0 };
    pfc_err err = { 0 };

    put_group(url, a, 70);
    put_group(url, b, 70);
    put_group(url, c, 70);
    /* Halved: evidence of one metric alone counts half, so that the worst is not the lead. */
    plant_sql(url, "UPDATE alerts SET evidence = 'alone' WHERE id = %lld", (long long)b);
    plant_sql(url, "UPDATE alerts SET evidence = 'exact' WHERE id = %lld", (long long)a);
    plant_sql(url, "UPDATE series SET spark = '{1,2,3}'");
    cr_assert(eq(int, pfc_groups_get(db, 70, &rows, &leads, &err), PFC_OK), "%s", err.msg);

    const pfc_group *g = rows.items;

    cr_expect(eq(i64, g->alerts, 3));
    cr_expect(eq(i64, g->series, 2));
    cr_expect(eq(str, (char *)g->state, (char *)"untriaged"));
    cr_expect(eq(str, (char *)g->states_json,
                 (char *)"{ \"acknowledged\" : 1, \"noise\" : 1, \"untriaged\" : 1 }"));
    cr_expect(epsilon_eq(dbl, g->rel_least, 0.1, 1e-12));
    cr_expect(epsilon_eq(dbl, g->rel_most, -0.5, 1e-12));
    cr_expect(epsilon_eq(dbl, g->worth, 2 * log(1.3), 1e-12));
    cr_expect(eq(i64, g->lead_id, a));
    cr_expect(eq(i64, g->worst_id, b));
    cr_expect(eq(str, (char *)g->benchmark, (char *)"gemm/b"));
    cr_expect(eq(str, (char *)g->spark_json, (char *)"[1,2,3]"));
    cr_expect(not(g->back));
    cr_expect(eq(i64, leads.items[0].id, a));
    pfc_rows_clear(&leads);
    pfc_rows_clear(&rows);
    cr_expect(eq(int, pfc_groups_get(db, 71, &rows, &leads, &err), PFC_ENOTFOUND));
    pfc_rows_clear(&leads);
    pfc_rows_clear(&rows);
    free(url);
    pfc_db_close(db);
}

Test(groups, are_listed_by_worth_or_the_newest_first_in_pages_by_every_filter)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 9), q = plant_other(db, "q", 9);
    const double sizes[] = { 0.2, 0.4, 0.1, 0.3 };
    int64_t ids[4], other;

    for (size_t i = 0; i < 4; i++) {
        ids[i] = plant_alert(url, p,
                             &(planted){ .benchmark = i == 3 ? "gemm/b" : NULL,
                                         .low = 2,
                                         .high = 2,
                                         .rel = sizes[i],
                                         .state = i == 2 ? "noise" : NULL });
        put_group(url, ids[i], 70 + (int64_t)i);
    }
    other = plant_alert(url, q, &(planted){ .low = 2, .high = 2, .rel = 0.9 });
    put_group(url, other, 80);

    EXPECT_LIST(F(.project_id = p), F(0), "73 72 71 70", 0);
    EXPECT_LIST(F(.project_id = p, .by_worth = true), F(0), "71 73 70 72", 0);
    EXPECT_LIST(F(.by_worth = true), F(.limit = 2), "80 71", 71);
    EXPECT_LIST(F(.by_worth = true), F(.limit = 2, .cursor = 71), "73 70", 70);
    EXPECT_LIST(F(.by_worth = true), F(.limit = 2, .cursor = 70), "72", 0);
    EXPECT_LIST(F(.project_id = p), F(.limit = 3), "73 72 71", 71);
    EXPECT_LIST(F(.project_id = p), F(.limit = 3, .cursor = 71), "70", 0);
    /* The order of a page does not depend on whether its last group still satisfies the filter. */
    EXPECT_LIST(F(.project_id = p, .state = "open", .by_worth = true), F(.cursor = 72), "", 0);
    EXPECT_LIST(F(.project_id = p, .state = "noise"), F(.cursor = 73), "72", 0);
    EXPECT_LIST(F(.project_id = p, .state = "open"), F(0), "73 71 70", 0);
    EXPECT_LIST(F(.project_id = p, .kernel = "gemm"), F(0), "73 72 71 70", 0);
    EXPECT_LIST(F(.project_id = p, .kernel = "gemm/b"), F(0), "73", 0);
    EXPECT_LIST(F(.project_id = p, .kernel = "gem"), F(0), "", 0);
    EXPECT_LIST(F(.project_id = p, .backend = "cpu-scalar"), F(0), "73 72 71 70", 0);
    EXPECT_LIST(F(.project_id = p, .backend = "cpu"), F(0), "", 0);
    EXPECT_LIST(F(.project_id = p, .machine_class = "none"), F(0), "", 0);
    EXPECT_LIST(F(.project_id = p, .words = "TIME gemm/B"), F(0), "73", 0);
    EXPECT_LIST(F(.project_id = p, .words = "series gemm/b"), F(0), "73", 0);
    EXPECT_LIST(F(.project_id = p, .words = "gemm/b gemm/a"), F(0), "", 0);
    /* The suspect: at the place of the change, found by a search, or named as the culprit. */
    plant_sql(url,
              "UPDATE commits SET subject = 'tiles of ' || sha, author = 'Ines' WHERE project_id ="
              " %lld AND sha IN ('%s', '%s')",
              (long long)p, fx_sha(3), fx_sha(4));
    EXPECT_LIST(F(.project_id = p, .words = "ines tiles"), F(0), "", 0);
    plant_sql(url, "UPDATE alerts SET culprit = '%s' WHERE id = %lld", fx_sha(3),
              (long long)ids[1]);
    plant_sql(
        url,
        "INSERT INTO bisections (project_id, metric, good, bad, verdict, culprits, alert_id,"
        " state, runs, builds, commits_measured, seconds, actor) VALUES (%lld, 'time_ns', 'x',"
        " 'y', 'found', '[{\"commits\": [\"%s\"]}]', %lld, 'done', 1, 1, 1, 1, 'ann')",
        (long long)p, fx_sha(4), (long long)ids[3]);
    EXPECT_LIST(F(.project_id = p, .words = "ines TILES"), F(0), "73 71", 0);
    EXPECT_LIST(F(.project_id = p, .words = fx_sha(4)), F(0), "73", 0);
    EXPECT_LIST(F(.project_id = p, .words = fx_sha(2)), F(0), "73 72 71 70", 0);
    plant_sql(url, "UPDATE alerts SET assignee = 'ann' WHERE id = %lld", (long long)ids[1]);
    EXPECT_LIST(F(.project_id = p, .assignee = "ann"), F(0), "71", 0);
    EXPECT_LIST(F(.project_id = p, .assignee = ""), F(0), "73 72 70", 0);
    plant_sql(url, "UPDATE alerts SET owner = '@ada @bob' WHERE id = %lld", (long long)ids[1]);
    EXPECT_LIST(F(.project_id = p, .owner = "@bob"), F(0), "71", 0);
    EXPECT_LIST(F(.project_id = p, .owner = "@b"), F(0), "", 0);
    EXPECT_LIST(F(.project_id = p, .owner = "none"), F(0), "73 72 70", 0);
    /* A level that is back at every alert is a recovery. */
    plant_sql(url,
              "UPDATE change_points x SET undone_commit_id = commit_id FROM alerts a WHERE"
              " a.change_point_id = x.id AND a.id = %lld",
              (long long)ids[0]);
    EXPECT_LIST(F(.project_id = p, .back = { true, true }), F(0), "70", 0);
    EXPECT_LIST(F(.project_id = p, .back = { true, false }), F(0), "73 72 71", 0);
    put_group(url, ids[0], 71);
    EXPECT_LIST(F(.project_id = p, .back = { true, true }), F(0), "", 0);
    free(url);
    pfc_db_close(db);
}

/* The owners of a group are those of all its alerts, each once. */
Test(groups, have_the_owners_of_all_of_their_alerts)
{
    static const char *const owners[] = { "'@b @a'", "'@c @b'", "NULL" };
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 9);
    pfc_groups rows = { 0 };
    pfc_alerts leads = { 0 };
    pfc_err err = { 0 };

    for (size_t i = 0; i < PFC_ARRAY_LEN(owners); i++) {
        const int64_t id = plant_alert(url, p, &(planted){ .low = 2, .high = 2 });

        put_group(url, id, 70);
        plant_sql(url, "UPDATE alerts SET owner = %s WHERE id = %lld", owners[i], (long long)id);
    }
    put_group(url, plant_alert(url, p, &(planted){ .low = 3, .high = 3 }), 71);
    cr_assert(eq(int, pfc_groups_get(db, 70, &rows, &leads, &err), PFC_OK), "%s", err.msg);
    cr_expect(eq(str, (char *)(uintptr_t)rows.items[0].owners, (char *)"@a @b @c"));
    pfc_rows_clear(&leads);
    pfc_rows_clear(&rows);
    cr_assert(eq(int, pfc_groups_get(db, 71, &rows, &leads, &err), PFC_OK), "%s", err.msg);
    cr_expect(rows.items[0].owners == NULL);
    pfc_rows_clear(&leads);
    pfc_rows_clear(&rows);
    free(url);
    pfc_db_close(db);
}

/* A rule hides the alert with the largest effect: the group is as its visible alerts are. */
Test(groups, are_open_by_their_visible_alerts)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 9);
    const int64_t hidden = plant_alert(url, p, &(planted){ .low = 2, .high = 2, .rel = 0.9 });
    const int64_t seen = plant_alert(
        url, p,
        &(planted){
            .benchmark = "gemm/b", .low = 2, .high = 2, .rel = 0.1, .state = "acknowledged" });
    const int64_t other = plant_alert(url, p, &(planted){ .low = 3, .high = 3, .rel = 0.3 });
    pfc_groups rows = { 0 };
    pfc_alerts leads = { 0 };
    pfc_err err = { 0 };

    put_group(url, hidden, 70);
    put_group(url, seen, 70);
    put_group(url, other, 71);
    EXPECT_LIST(F(.state = "open", .by_worth = true), F(0), "70 71", 0);
    plant_sql(url, "UPDATE alerts SET suppressed_by = 1 WHERE id = %lld", (long long)hidden);
    EXPECT_LIST(F(.state = "open", .by_worth = true), F(0), "71 70", 0);
    EXPECT_LIST(F(.state = "open", .by_worth = true), F(.limit = 1), "71", 71);
    EXPECT_LIST(F(.state = "open", .by_worth = true), F(.cursor = 71), "70", 0);
    EXPECT_LIST(F(.state = "open", .by_worth = true), F(.cursor = 70), "", 0);
    cr_assert(eq(int, pfc_groups_get(db, 70, &rows, &leads, &err), PFC_OK), "%s", err.msg);
    cr_expect(eq(i64, rows.items[0].alerts, 2));
    cr_expect(eq(i64, rows.items[0].suppressed, 1));
    cr_expect(eq(str, (char *)rows.items[0].state, (char *)"acknowledged"));
    cr_expect(eq(i64, rows.items[0].lead_id, seen));
    pfc_rows_clear(&leads);
    pfc_rows_clear(&rows);
    /* Every alert of it is hidden: it is not open, and described by what is hidden. */
    plant_sql(url, "UPDATE alerts SET suppressed_by = 1 WHERE id = %lld", (long long)seen);
    EXPECT_LIST(F(.state = "open"), F(0), "71", 0);
    EXPECT_LIST(F(.state = "untriaged"), F(0), "71 70", 0);
    cr_assert(eq(int, pfc_groups_get(db, 70, &rows, &leads, &err), PFC_OK), "%s", err.msg);
    cr_expect(eq(str, (char *)rows.items[0].state, (char *)"untriaged"));
    cr_expect(eq(i64, rows.items[0].lead_id, hidden));
    pfc_rows_clear(&leads);
    pfc_rows_clear(&rows);
    free(url);
    pfc_db_close(db);
}

static pfc_code change(pfc_db *db, pfc_group_change c, size_t *alerts, pfc_err *err)
{
    *err = (pfc_err){ 0 };
    *alerts = 0;
    return pfc_groups_update(db, "ann", &c, alerts, err);
}

#define IN_STATE(state_) plant_number(url, "SELECT count(*) FROM alerts WHERE state = '%s'", state_)
#define AUDITED(action_, group_)                                                                   \
    plant_number(url, "SELECT count(*) FROM audit WHERE action = '%s' AND object = 'group %d'",    \
                 action_, group_)

Test(groups, are_triaged_together_and_only_what_is_open_changes)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 9);
    const char *states[] = { "untriaged", "acknowledged", "verified_fixed", "untriaged", "noise" };
    const pfc_group_seen both[] = { { 70, "untriaged" }, { 71, "untriaged" } };
    const pfc_group_seen closed[] = { { 72, "noise" } };
    size_t alerts = 0;
    pfc_err err = { 0 };

    for (size_t i = 0; i < 5; i++)
        put_group(url, plant_alert(url, p, &(planted){ .low = 2, .high = 2, .state = states[i] }),
                  i < 3 ? 70 : 68 + (int64_t)i);
    cr_assert(eq(int,
                 change(db,
                        (pfc_group_change){
                            .groups = both, .len = 2, .state = "investigating", .reason = WHY },
                        &alerts, &err),
                 PFC_OK),
              "%s", err.msg);
    cr_expect(eq(sz, alerts, 3));
    cr_expect(eq(i64, IN_STATE("investigating"), 3));
    cr_expect(eq(i64, IN_STATE("verified_fixed"), 1));
    cr_expect(eq(i64, IN_STATE("noise"), 1));
    cr_expect(eq(i64, AUDITED("triage", 70), 1));
    cr_expect(eq(i64, AUDITED("triage", 71), 1));
    cr_expect(eq(
        i64, plant_number(url, "SELECT count(*) FROM alert_events WHERE reason = '" WHY "'"), 3));
    /* None is open: all of it is opened again. */
    cr_expect(eq(int,
                 change(db, (pfc_group_change){ .groups = closed, .len = 1, .state = "untriaged" },
                        &alerts, &err),
                 PFC_OK));
    cr_expect(eq(i64, IN_STATE("untriaged"), 1));
    /* The levels are accepted with wont_fix alone. */
    cr_expect(eq(int,
                 change(db,
                        (pfc_group_change){ .groups = &(pfc_group_seen){ 70, "investigating" },
                                            .len = 1,
                                            .state = "wont_fix",
                                            .accept = true },
                        &alerts, &err),
                 PFC_OK));
    cr_expect(
        eq(i64, plant_number(url, "SELECT count(*) FROM alerts WHERE accepted_at IS NOT NULL"), 2));
    cr_expect(eq(i64, AUDITED("accept", 70), 1));
    free(url);
    pfc_db_close(db);
}

Test(groups, all_change_or_none_and_never_against_what_was_seen)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 9);
    const pfc_group_seen late[] = { { 70, "untriaged" }, { 71, "untriaged" } };
    const pfc_group_seen twice[] = { { 70, NULL }, { 70, NULL } };
    const pfc_group_seen none[] = { { 70, NULL }, { 99, NULL } };
    pfc_group_seen *many = pfc_calloc(PFC_GROUPS_MAX + 1, sizeof(*many));
    char *name = pfc_calloc(1, PFC_ASSIGNEE_MAX + 2);
    size_t alerts = 0;
    pfc_err err = { 0 };

    put_group(url, plant_alert(url, p, &(planted){ .low = 2, .high = 2 }), 70);
    put_group(url, plant_alert(url, p, &(planted){ .low = 2, .high = 2, .state = "fixed" }), 71);
#define REFUSED(code_, field_, ...)                                                                \
    do {                                                                                           \
        cr_expect(eq(int, change(db, (pfc_group_change){ __VA_ARGS__ }, &alerts, &err), code_));   \
        cr_expect(eq(str, err.field, (char *)(field_)));                                           \
        cr_expect(eq(i64, IN_STATE("untriaged"), 1));                                              \
        cr_expect(eq(i64,                                                                          \
                     plant_number(url, "SELECT count(*) FROM audit WHERE object LIKE"              \
                                       " 'group%%'"),                                              \
                     0));                                                                          \
    } while (0)
    REFUSED(PFC_ECONFLICT, "seen", .groups = late, .len = 2, .state = "noise");
    cr_expect(
        eq(str, err.msg, (char *)"seen: group 71 is now fixed, expected untriaged; read it again"));
    REFUSED(PFC_EINVAL, "groups", .groups = twice, .len = 2, .state = "noise");
    REFUSED(PFC_EINVAL, "groups", .groups = twice, .len = 0, .state = "noise");
    REFUSED(PFC_EINVAL, "groups", .groups = many, .len = PFC_GROUPS_MAX + 1, .state = "noise");
    REFUSED(PFC_ENOTFOUND, "", .groups = none, .len = 2, .state = "noise");
    REFUSED(PFC_EINVAL, "state", .groups = late, .len = 1, .state = "open");
    REFUSED(PFC_EINVAL, "state", .groups = late, .len = 1);
    REFUSED(PFC_EINVAL, "accept", .groups = late, .len = 1, .state = "noise", .accept = true);
    REFUSED(PFC_ECONFLICT, "state", .groups = late, .len = 1, .state = "verified_fixed");
    memset(name, 'n', PFC_ASSIGNEE_MAX + 1);
    REFUSED(PFC_EINVAL, "assignee", .groups = late, .len = 1, .assignee = name);
    name[PFC_ASSIGNEE_MAX] = '\0';
    cr_expect(eq(
        int,
        change(db, (pfc_group_change){ .groups = late, .len = 1, .assignee = name }, &alerts, &err),
        PFC_OK));
    cr_expect(eq(i64, IN_STATE("untriaged"), 1));
    cr_expect(eq(i64, AUDITED("assign", 70), 1));
    cr_expect(
        eq(i64, plant_number(url, "SELECT count(*) FROM alerts WHERE assignee = '%s'", name), 1));
    cr_expect(eq(
        int,
        change(db, (pfc_group_change){ .groups = late, .len = 1, .assignee = "" }, &alerts, &err),
        PFC_OK));
    cr_expect(eq(i64, plant_number(url, "SELECT count(*) FROM alerts WHERE assignee <> ''"), 0));
    free(name);
    free(many);
    free(url);
    pfc_db_close(db);
}

static void open_all(pfc_db *db, int64_t project)
{
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_alerts_open(db, project, "main", 0, &err), PFC_OK), "%s", err.msg);
}

/* A new detection groups by the places of the changes, which says nothing about split alerts. */
Test(groups, that_were_split_or_merged_stay_so_when_alerts_are_grouped_again)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 9);
    const int64_t a = plant_alert(url, p, &(planted){ .low = 3, .high = 3 });
    const int64_t b = plant_alert(url, p, &(planted){ .benchmark = "gemm/b", .low = 3, .high = 3 });
    const int64_t far = plant_alert(url, p, &(planted){ .low = 8, .high = 8 });
    int64_t made = 0, old;
    char *refusal;
    pfc_err err = { 0 };

    measure_all(db, p, 9);
    open_all(db, p);
    old = group_of(url, a);
    cr_assert(eq(i64, group_of(url, b), old));
    cr_assert(ne(i64, group_of(url, far), old));

    cr_expect(eq(int, pfc_group_split(db, "ann", old, (int64_t[]){ a, b }, 2, WHY, &made, &err),
                 PFC_EINVAL));
    refusal = pfc_format("alerts: at least one alert must stay in group %lld", (long long)old);
    cr_expect(eq(str, err.msg, refusal));
    free(refusal);
    cr_expect(eq(int, pfc_group_split(db, "ann", old, &far, 1, WHY, &made, &err), PFC_EINVAL));
    cr_assert(eq(int, pfc_group_split(db, "ann", old, &b, 1, WHY, &made, &err), PFC_OK), "%s",
              err.msg);
    for (int round = 0; round < 2; round++) {
        cr_expect(eq(i64, group_of(url, a), old));
        cr_expect(eq(i64, group_of(url, b), made));
        cr_expect(eq(
            i64,
            plant_number(url, "SELECT min(group_series) FROM alerts WHERE id = %lld", (long long)a),
            1));
        plant_sql(url, "UPDATE alerts SET regroup = true");
        open_all(db, p);
    }
    cr_expect(eq(i64, AUDITED("split", (int)old), 1));

    cr_expect(eq(int, pfc_groups_merge(db, "ann", old, &old, 1, WHY, &err), PFC_EINVAL));
    made = group_of(url, far);
    cr_assert(eq(int, pfc_groups_merge(db, "ann", old, &made, 1, WHY, &err), PFC_OK), "%s",
              err.msg);
    for (int round = 0; round < 2; round++) {
        cr_expect(eq(i64, group_of(url, far), old));
        cr_expect(eq(i64, group_of(url, a), old));
        cr_expect(ne(i64, group_of(url, b), old));
        /* One end of the merged group is enough to ask for the whole of it. */
        plant_sql(url, "UPDATE alerts SET regroup = id = %lld", (long long)far);
        open_all(db, p);
    }
    cr_expect(eq(i64, AUDITED("merge", (int)made), 1));
    cr_expect(eq(i64,
                 plant_number(url, "SELECT count(*) FROM alert_events WHERE reason LIKE"
                                   " 'moved from group %%: " WHY "'"),
                 2));
    free(url);
    pfc_db_close(db);
}

/* A change that is found later belongs to the merged or split group that is alone at its place. */
Test(groups, that_a_person_made_take_a_new_change_of_their_place)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 9);
    const int64_t a = plant_alert(url, p, &(planted){ .low = 3, .high = 3 });
    const int64_t far = plant_alert(url, p, &(planted){ .low = 8, .high = 8 });
    int64_t into, from, late;
    pfc_err err = { 0 };

    measure_all(db, p, 9);
    open_all(db, p);
    into = group_of(url, a);
    from = group_of(url, far);
    cr_assert(eq(int, pfc_groups_merge(db, "ann", into, &from, 1, NULL, &err), PFC_OK), "%s",
              err.msg);
    plant_sql(url, "UPDATE alerts SET assignee = 'ann'");
    late = plant_alert(url, p, &(planted){ .benchmark = "gemm/b", .low = 8, .high = 8 });
    late = plant_number(url, "SELECT change_point_id FROM alerts WHERE id = %lld", (long long)late);
    plant_sql(url, "DELETE FROM alerts WHERE change_point_id = %lld", (long long)late);
    /* Certain enough for an alert: an interval far from nothing, in a series with points. */
    plant_sql(url,
              "UPDATE series SET points = 9; UPDATE change_points SET rel_low = 0.099,"
              " rel_high = 0.101, p = 1e-30 WHERE id = %lld",
              (long long)late);
    open_all(db, p);
    late = plant_number(url, "SELECT id FROM alerts WHERE change_point_id = %lld", (long long)late);
    cr_expect(eq(i64, group_of(url, late), into));
    cr_expect(eq(i64, plant_number(url, "SELECT count(*) FROM alerts WHERE assignee = 'ann'"), 3));
    free(url);
    pfc_db_close(db);
}

Test(groups, of_two_projects_are_not_merged)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 3), q = plant_other(db, "q", 3), other = 71;
    pfc_err err = { 0 };

    put_group(url, plant_alert(url, p, &(planted){ .low = 2, .high = 2 }), 70);
    put_group(url, plant_alert(url, q, &(planted){ .low = 2, .high = 2 }), 71);
    cr_expect(eq(int, pfc_groups_merge(db, "ann", 70, &other, 1, NULL, &err), PFC_EINVAL));
    cr_expect(eq(str, err.field, (char *)"groups"));
    cr_expect(eq(i64, plant_number(url, "SELECT count(*) FROM alerts WHERE group_id = 71"), 1));
    free(url);
    pfc_db_close(db);
}

Test(groups, single_alerts_have_groups_of_their_own)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 9);
    const int64_t drift = plant_alert(url, p, &(planted){ .low = 2, .high = 3, .kind = "drift" });
    int64_t group;

    open_all(db, p);
    group = group_of(url, drift);
    cr_expect(gt(i64, group, 0));
    open_all(db, p);
    cr_expect(eq(i64, group_of(url, drift), group));
    free(url);
    pfc_db_close(db);
}

/* Turns the planted regressions into improvements without alerts. */
Test(groups, improvements_are_listed_by_commit_without_those_that_take_a_regression_back)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 9);
    const pfc_group_filter all = { .project_id = p };
    const pfc_group_filter of_b = { .project_id = p, .kernel = "gemm/b" };
    pfc_improvements list = { 0 };
    pfc_err err = { 0 };

    measure_all(db, p, 9);
    plant_alert(url, p, &(planted){ .low = 4, .high = 4, .rel = -0.1 });
    plant_alert(url, p, &(planted){ .benchmark = "gemm/b", .low = 4, .high = 4, .rel = -0.3 });
    plant_alert(url, p, &(planted){ .low = 7, .high = 7, .rel = -0.2 });
    plant_sql(url, "DELETE FROM alerts; UPDATE change_points SET regression = false");
    cr_assert(eq(int, pfc_improvements_list(db, &all, (pfc_page){ .limit = 1 }, &list, &err), 0));
    cr_assert(eq(sz, list.rows.len, 1));
    cr_expect(eq(str, (char *)list.rows.items[0].commit, (char *)fx_sha(7)));
    const pfc_page second = { .limit = 1, .cursor = list.rows.next };

    cr_expect(gt(i64, list.rows.next, 0));
    pfc_improvements_clear(&list);
    cr_assert(eq(int, pfc_improvements_list(db, &all, second, &list, &err), 0));
    cr_assert(eq(sz, list.rows.len, 1));
    const pfc_improvement *i = list.rows.items;

    cr_expect(eq(i64, i->series, 2));
    cr_expect(epsilon_eq(dbl, i->rel_least, -0.1, 1e-12));
    cr_expect(epsilon_eq(dbl, i->rel_most, -0.3, 1e-12));
    cr_expect(eq(str, (char *)i->benchmark, (char *)"gemm/b"));
    cr_expect(eq(str, list.summaries[0], (char *)"all 2 gemm series; -30.0 % to -10.0 %"));
    pfc_improvements_clear(&list);
    cr_assert(eq(int, pfc_improvements_list(db, &of_b, (pfc_page){ 0 }, &list, &err), 0));
    cr_expect(eq(sz, list.rows.len, 1));
    pfc_improvements_clear(&list);
    /* The regression of commit 2 went back at commit 7. */
    plant_alert(url, p, &(planted){ .low = 2, .high = 2, .rel = 0.25 });
    plant_sql(url,
              "UPDATE change_points x SET undone_commit_id = c.id FROM commits c, alerts a WHERE"
              " a.change_point_id = x.id AND c.sha = '%s' AND c.project_id = x.project_id",
              fx_sha(7));
    cr_assert(eq(int, pfc_improvements_list(db, &all, (pfc_page){ 0 }, &list, &err), 0));
    cr_assert(eq(sz, list.rows.len, 1));
    cr_expect(eq(str, (char *)list.rows.items[0].commit, (char *)fx_sha(4)));
    pfc_improvements_clear(&list);
    free(url);
    pfc_db_close(db);
}
