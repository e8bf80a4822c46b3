/* Suppression rules: what they fit, what they hide, and what comes back when they end. */
#include <math.h>
#include <string.h>

#include "server/services/alerts/alerts.h"
#include "server/services/history/project_summary.h"
#include "server/services/notices.h"
#include "server/services/suppressions/suppressions.h"

#include "tests/check/check.h"
#include "tests/server/plant.h"

static char *url;
static pfc_db *db;
static int64_t project;

static void setup(void)
{
    db = pfc_test_db_open(3, &url);
    project = plant_project(db, 9);
}

static void teardown(void)
{
    free(url);
    pfc_db_close(db);
}

TestSuite(suppressions, .init = setup, .fini = teardown);

static pfc_suppression_spec spec_of(pfc_suppression_matcher matcher)
{
    if (matcher.max_change == 0)
        matcher.max_change = (double)NAN;
    return (pfc_suppression_spec){
        .matcher = matcher, .owner = "kernels", .reason = "known", .days = 7
    };
}

static int64_t add(pfc_suppression_matcher matcher)
{
    const pfc_suppression_spec spec = spec_of(matcher);
    int64_t id = 0;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_suppression_add(db, "ann", project, &spec, &id, &err), PFC_OK), "%s",
              err.msg);
    return id;
}

static void end(int64_t rule)
{
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_suppression_end(db, "ann", project, rule, &err), PFC_OK), "%s", err.msg);
}

static pfc_suppressions_settled settle(void)
{
    pfc_suppressions_settled settled = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_suppressions_settle(db, &settled, &err), PFC_OK), "%s", err.msg);
    return settled;
}

static int64_t count(const char *from)
{
    return plant_number(url, "SELECT count(*) FROM %s", from);
}

/* Alerts of the project that a list with this filter has. */
static size_t listed(const char *state, pfc_maybe suppressed)
{
    const pfc_alert_filter filter = { .project_id = project,
                                      .state = state,
                                      .suppressed = suppressed };
    pfc_alerts each = { 0 }, best = { 0 }, leaders = { 0 };
    size_t len;

    cr_assert(eq(int, pfc_alerts_list(db, &filter, (pfc_page){ 0 }, &each, NULL), PFC_OK));
    cr_assert(eq(int, pfc_alerts_by_worth(db, &filter, 100, &best, NULL), PFC_OK));
    cr_assert(
        eq(int, pfc_alert_leaders(db, &filter, false, (pfc_page){ 0 }, &leaders, NULL), PFC_OK));
    len = each.len;
    cr_expect(eq(sz, best.len, len));
    cr_expect(eq(sz, leaders.len, len)); /* no alert here has a group */
    pfc_rows_clear(&each);
    pfc_rows_clear(&best);
    pfc_rows_clear(&leaders);
    return len;
}

static const pfc_maybe unknown = { .known = false };
static const pfc_maybe yes = { .known = true, .value = true };
static const pfc_maybe no = { .known = true, .value = false };

static pfc_suppression rule_of(int64_t id)
{
    pfc_suppressions rows = { 0 };
    pfc_suppression rule;

    cr_assert(eq(int, pfc_suppression_get(db, project, id, &rows, NULL), PFC_OK));
    rule = rows.items[0]; /* its numbers: the texts end here */
    pfc_rows_clear(&rows);
    return rule;
}

static void announce(int64_t alert)
{
    plant_sql(url,
              "INSERT INTO notices (project_id, kind, alert_id, sha, text) VALUES (%lld,"
              " 'regression', %lld, '%s', 'x')",
              (long long)project, (long long)alert, fx_sha(3));
}

static size_t dispatched(int days)
{
    const pfc_notice_route route = {
        .receiver = "chat", .project = "", .kinds = ",regression,", .benchmarks = ""
    };
    size_t notices = 0;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_notices_dispatch(db, &route, 1, days, &notices, &err), PFC_OK), "%s",
              err.msg);
    return notices;
}

static size_t in_outbox(void)
{
    pfc_notices rows = { 0 };
    size_t open;

    cr_assert(eq(int, pfc_notices_list(db, project, (pfc_page){ 0 }, &rows, NULL), PFC_OK));
    open = rows.len;
    pfc_rows_clear(&rows);
    return open;
}

static size_t in_feed(void)
{
    pfc_notices rows = { 0 };
    size_t recent;

    cr_assert(eq(int, pfc_notices_recent(db, project, 100, &rows, NULL), PFC_OK));
    recent = rows.len;
    pfc_rows_clear(&rows);
    return recent;
}

/* An alert of gemm/a {dtype: bf16, m: 64}, time_ns +10 %, on the fixture's class and backend. */
Test(suppressions, a_rule_hides_what_all_of_its_matcher_fits)
{
    const int64_t alert = plant_alert(url, project, &(planted){ .low = 3, .high = 3, .rel = 0.1 });
    const struct {
        pfc_suppression_matcher matcher;
        const char *params, *change; /* change: of the stored change point */
        bool hidden;
    } rows[] = {
        { { .benchmark = "gemm/a" }, NULL, NULL, true },
        { { .benchmark = "gemm/*" }, NULL, NULL, true },
        { { .benchmark = "*a" }, NULL, NULL, true },
        { { .benchmark = "gemm/?" }, NULL, NULL, true },
        { { .benchmark = "*" }, NULL, NULL, true },
        { { .benchmark = "gemm" }, NULL, NULL, false }, /* the whole name */
        { { .benchmark = "gemm/??" }, NULL, NULL, false },
        { { .benchmark = "gemm_a" }, NULL, NULL, false }, /* LIKE's own characters are plain */
        { { .benchmark = "gemm%" }, NULL, NULL, false },
        { { .benchmark = "gemm\\/a" }, NULL, NULL, false },
        { { .benchmark = "GEMM/A" }, NULL, NULL, false },
        { { .metric = "time_*" }, NULL, NULL, true },
        { { .metric = "cycles" }, NULL, NULL, false },
        { { .benchmark = "gemm/a", .metric = "cycles" }, NULL, NULL, false },
        { { .backend = "cpu-*" }, NULL, NULL, true },
        { { .backend = "accel:*" }, NULL, NULL, false },
        { { .machine_class = "*" }, NULL, NULL, true },
        { { .machine_class = "" }, NULL, NULL, false },
        { { .direction = "up" }, NULL, NULL, true },
        { { .direction = "down" }, NULL, NULL, false },
        { { .direction = "down" }, NULL, "rel_change = -0.1", true },
        { { .direction = "up" }, NULL, "rel_change = -0.1", false },
        { { .max_change = 0.1001 }, NULL, NULL, true },
        { { .max_change = 0.1 }, NULL, NULL, false }, /* below, not at */
        { { .max_change = 0.1001 }, NULL, "rel_change = -0.1", true },
        { { .max_change = 0.1 }, NULL, "rel_change = -0.2", false },
        { { .max_change = 10 }, NULL, "kind = 'broken'", false }, /* broken has no size */
        { { .direction = "up" }, NULL, "kind = 'broken'", false },
        { { .benchmark = "gemm/a" }, NULL, "kind = 'broken'", true },
        { { .max_change = (double)NAN }, "{\"dtype\":\"bf16\"}", NULL, true },
        { { .max_change = (double)NAN }, "{\"dtype\":\"bf*\",\"m\":\"64\"}", NULL, true },
        { { .max_change = (double)NAN }, "{\"dtype\":\"f32\"}", NULL, false },
        { { .max_change = (double)NAN }, "{\"dtype\":\"bf16\",\"k\":\"*\"}", NULL, false },
    };

    plant_sql(url, "UPDATE benchmarks SET params = '{\"dtype\":\"bf16\",\"m\":\"64\"}'"
                   " WHERE name = 'gemm/a'");
    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        pfc_suppression_matcher m = rows[i].matcher;
        pfc_suppression_counts counts = { 0 };
        pfc_suppressed_alerts shown = { 0 };
        int64_t rule;

        if (m.machine_class && !*m.machine_class)
            m.machine_class = "no such class";
        if (rows[i].params)
            m.params = fx_labels(rows[i].params);
        if (rows[i].change)
            plant_sql(url, "UPDATE change_points SET %s", rows[i].change);
        m.max_change = m.max_change == 0 ? (double)NAN : m.max_change;
        cr_assert(eq(int, pfc_suppression_try(db, project, &m, &counts, &shown, NULL), PFC_OK));
        cr_expect(eq(i64, counts.open, rows[i].hidden), "row %zu", i);
        cr_expect(eq(sz, shown.len, rows[i].hidden), "row %zu", i);
        pfc_rows_clear(&shown);
        rule = add(m);
        cr_expect(eq(i64, count("alerts WHERE suppressed_by IS NOT NULL"), rows[i].hidden),
                  "row %zu", i);
        end(rule);
        cr_expect(eq(i64, count("alerts WHERE suppressed_by IS NOT NULL"), 0), "row %zu", i);
        plant_sql(url, "UPDATE change_points SET kind = 'step', rel_change = 0.1");
    }
    cr_expect(gt(i64, alert, 0));
}

static void expect_refused(pfc_suppression_spec spec, const char *field)
{
    int64_t id = 0;
    pfc_err err = { 0 };

    cr_expect(eq(int, pfc_suppression_add(db, "ann", project, &spec, &id, &err), PFC_EINVAL));
    cr_expect(eq(str, err.field, (char *)(uintptr_t)field), "%s", err.msg);
}

Test(suppressions, a_rule_without_owner_reason_end_or_matcher_is_refused)
{
    const pfc_suppression_spec good = spec_of((pfc_suppression_matcher){ .benchmark = "*" });
    pfc_suppression_spec s = good;

    s.owner = "";
    expect_refused(s, "owner");
    s = good;
    s.reason = "";
    expect_refused(s, "reason");
    s = good;
    s.days = 0;
    expect_refused(s, "days");
    s.days = PFC_SUPPRESSION_MAX_DAYS + 1;
    expect_refused(s, "days");
    expect_refused(spec_of((pfc_suppression_matcher){ 0 }), "benchmark");
    expect_refused(spec_of((pfc_suppression_matcher){ .benchmark = "" }), "benchmark");
    expect_refused(spec_of((pfc_suppression_matcher){ .metric = "*********" }), "metric");
    expect_refused(spec_of((pfc_suppression_matcher){ .direction = "sideways" }), "direction");
    expect_refused(spec_of((pfc_suppression_matcher){ .max_change = -0.1 }), "max_change");
    expect_refused(spec_of((pfc_suppression_matcher){ .max_change = 10.1 }), "max_change");
    cr_expect(eq(i64, count("suppressions"), 0));
    s = good;
    s.days = PFC_SUPPRESSION_MAX_DAYS;
    cr_expect(eq(int, pfc_suppression_add(db, "ann", project, &s, &s.days, NULL), PFC_OK));
    (void)add((pfc_suppression_matcher){ .metric = "********", .max_change = 10 });
}

Test(suppressions, a_project_has_a_bounded_number_of_active_rules)
{
    pfc_suppression_spec s = spec_of((pfc_suppression_matcher){ .benchmark = "x" });
    int64_t rule = add(s.matcher), id = 0;
    pfc_err err = { 0 };

    plant_sql(url,
              "INSERT INTO suppressions (project_id, owner, reason, benchmark, created_by,"
              " expires_at) SELECT %lld, 'a', 'b', 'c', 'd', now() + interval '1 day'"
              " FROM generate_series(2, %d)",
              (long long)project, PFC_SUPPRESSIONS_MAX);
    cr_expect(eq(int, pfc_suppression_add(db, "ann", project, &s, &id, &err), PFC_ECONFLICT));
    end(rule);
    cr_expect(eq(int, pfc_suppression_add(db, "ann", project, &s, &id, &err), PFC_OK));
}

Test(suppressions, a_hidden_alert_is_kept_marked_and_listed_apart)
{
    const int64_t a = plant_alert(url, project, &(planted){ .low = 3, .high = 3 });
    const int64_t b =
        plant_alert(url, project, &(planted){ .benchmark = "gemm/b", .low = 4, .high = 4 });
    pfc_suppressed_alerts hidden = { 0 };
    pfc_alerts one = { 0 };
    pfc_standing standing = { 0 };
    int64_t rule;

    cr_expect(eq(sz, listed("open", unknown), 2));
    rule = add((pfc_suppression_matcher){ .benchmark = "gemm/a" });
    cr_expect(eq(sz, listed("open", unknown), 1));
    cr_expect(eq(sz, listed("open", yes), 1));
    cr_expect(eq(sz, listed("open", no), 1));
    cr_expect(eq(sz, listed(NULL, unknown), 2)); /* without a state it is listed, and marked */
    cr_expect(eq(sz, listed("untriaged", unknown), 2));
    cr_expect(eq(sz, listed(NULL, no), 1));
    cr_assert(eq(int, pfc_alerts_get(db, a, &one, NULL), PFC_OK));
    cr_expect(eq(i64, one.items[0].suppression_id, rule));
    cr_expect(eq(str, (char *)one.items[0].suppression_reason, "known"));
    cr_expect(gt(dbl, one.items[0].suppression_until, one.items[0].created_at));
    pfc_rows_clear(&one);
    cr_assert(eq(int, pfc_alerts_get(db, b, &one, NULL), PFC_OK));
    cr_expect(eq(i64, one.items[0].suppression_id, 0));
    pfc_rows_clear(&one);
    cr_assert(eq(int, pfc_standing_get(db, project, &standing, NULL), PFC_OK));
    cr_expect(eq(i64, standing.open, 1));
    cr_expect(eq(i64, standing.suppressed, 1));
    cr_expect(eq(i64, rule_of(rule).hidden, 1));
    cr_assert(
        eq(int, pfc_suppressed_page(db, project, rule, (pfc_page){ 0 }, &hidden, NULL), PFC_OK));
    cr_assert(eq(sz, hidden.len, 1));
    cr_expect(eq(i64, hidden.items[0].id, a));
    cr_expect(eq(int, isfinite(hidden.items[0].released_at), 0));
    pfc_rows_clear(&hidden);
    cr_expect(eq(i64, settle().hidden, 0)); /* nothing is left to do */
    end(rule);
    end(rule); /* repeated: the same */
    cr_expect(eq(sz, listed("open", unknown), 2));
    cr_expect(eq(i64, rule_of(rule).hidden, 0));
    cr_expect(eq(i64, rule_of(rule).hidden_total, 1));
    cr_expect(eq(i64, count("audit WHERE action IN ('suppress', 'unsuppress')"), 2));
    cr_expect(eq(i64, count("suppressed_alerts WHERE released_at IS NOT NULL"), 1));
}

Test(suppressions, notices_are_withheld_counted_and_sent_when_the_rule_ends)
{
    const int64_t before = plant_alert(url, project, &(planted){ .low = 3, .high = 3 });
    int64_t rule;

    announce(before);
    rule = add((pfc_suppression_matcher){ .benchmark = "gemm/a" });
    cr_expect(eq(sz, dispatched(7), 0));
    cr_expect(eq(sz, in_outbox(), 0));
    cr_expect(eq(sz, in_feed(), 0));
    plant_sql(url,
              "INSERT INTO notices (project_id, kind, alert_id, sha, text) VALUES (%lld,"
              " 'culprit_confirmed', %lld, '%s', 'y')",
              (long long)project, (long long)before, fx_sha(3));
    cr_expect(eq(sz, in_outbox(), 0)); /* one that is stored while the alert is hidden, too */
    cr_expect(eq(i64, rule_of(rule).notices, 2));
    /* Older than what is delivered: its release counts. */
    plant_sql(url, "UPDATE notices SET created_at = now() - interval '30 days'");
    end(rule);
    cr_expect(eq(sz, in_outbox(), 2));
    cr_expect(eq(sz, in_feed(), 2));
    cr_expect(eq(sz, dispatched(7), 1)); /* the receiver takes regressions only */
    cr_expect(eq(i64, rule_of(rule).notices, 2));
}

Test(suppressions, a_delivery_that_nobody_has_taken_is_withdrawn_and_one_under_way_is_not)
{
    const int64_t a = plant_alert(url, project, &(planted){ .low = 3, .high = 3 });
    const int64_t b =
        plant_alert(url, project, &(planted){ .benchmark = "gemm/b", .low = 3, .high = 3 });
    int64_t rule;

    announce(a);
    announce(b);
    cr_assert(eq(sz, dispatched(7), 2));
    plant_sql(url, "UPDATE jobs SET state = 'leased', lease_until = now(), lease_hash = 'h', "
                   "runner = 'server' WHERE"
                   " kind = 'notify' AND (task ->> 'notice')::bigint = (SELECT max(id) FROM"
                   " notices)");
    rule = add((pfc_suppression_matcher){ .benchmark = "gemm/*" });
    cr_expect(eq(i64, count("jobs WHERE kind = 'notify'"), 1));
    cr_expect(eq(i64, count("notices WHERE withheld"), 1));
    cr_expect(eq(i64, count("alerts WHERE suppressed_by IS NOT NULL"), 2));
    end(rule);
    cr_expect(eq(sz, dispatched(7), 1));
    cr_expect(eq(i64, count("jobs WHERE kind = 'notify'"), 2));
}

Test(suppressions, an_alert_that_was_closed_while_hidden_stays_quiet)
{
    const int64_t a = plant_alert(url, project, &(planted){ .low = 3, .high = 3 });
    int64_t rule;

    announce(a);
    rule = add((pfc_suppression_matcher){ .benchmark = "gemm/a" });
    plant_sql(url, "UPDATE alerts SET state = 'fixed'");
    cr_expect(eq(i64, settle().shown, 1));
    end(rule);
    cr_expect(eq(sz, in_outbox(), 0));
    cr_expect(eq(sz, dispatched(7), 0));
    cr_expect(eq(i64, count("notices WHERE done_by = 'suppression 1' AND done_at IS NOT NULL"), 1));
}

Test(suppressions, a_rule_ends_by_its_time_and_a_change_outgrows_it)
{
    const int64_t a = plant_alert(url, project, &(planted){ .low = 3, .high = 3, .rel = 0.02 });
    int64_t rule;

    announce(a);
    rule = add((pfc_suppression_matcher){ .max_change = 0.03 });
    cr_expect(eq(sz, listed("open", yes), 1));
    plant_sql(url, "UPDATE change_points SET rel_change = 0.03");
    cr_expect(eq(i64, settle().shown, 1));
    cr_expect(eq(sz, in_outbox(), 1));
    plant_sql(url, "UPDATE change_points SET rel_change = 0.0299");
    cr_expect(eq(i64, settle().hidden, 1)); /* and is withheld again: no receiver has it */
    cr_expect(eq(sz, in_outbox(), 0));
    cr_expect(eq(i64, rule_of(rule).hidden_total, 1));
    plant_sql(url, "UPDATE suppressions SET created_at = now() - interval '2 days', expires_at ="
                   " now() - interval '1 second'");
    cr_expect(eq(i64, settle().ended, 1));
    cr_expect(eq(sz, in_outbox(), 1));
    cr_expect(eq(sz, listed("open", unknown), 1));
    cr_expect(eq(i64, settle().ended, 0));
    cr_expect(eq(i64, count("suppressions WHERE ended_at = expires_at AND ended_by IS NULL"), 1));
}

Test(suppressions, another_rule_goes_on_hiding_what_the_oldest_hid)
{
    int64_t first, second;

    (void)plant_alert(url, project, &(planted){ .low = 3, .high = 3 });
    first = add((pfc_suppression_matcher){ .benchmark = "gemm/*" });
    second = add((pfc_suppression_matcher){ .metric = "time_ns" });
    cr_expect(eq(i64, rule_of(first).hidden, 1));
    cr_expect(eq(i64, rule_of(second).hidden_total, 0));
    end(first);
    cr_expect(eq(i64, rule_of(second).hidden, 1));
    cr_expect(eq(sz, listed("open", unknown), 0));
    end(second);
    cr_expect(eq(sz, listed("open", unknown), 1));
}

static void open_alerts(void)
{
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_alerts_open(db, project, "main", 0, &err), PFC_OK), "%s", err.msg);
}

/* Change points without alerts, which one pass opens. */
Test(suppressions, an_alert_is_hidden_when_it_opens_and_its_group_is_announced_by_another)
{
    (void)plant_alert(url, project, &(planted){ .low = 1, .high = 1, .rel = 0.5 });
    (void)plant_alert(url, project,
                      &(planted){ .benchmark = "gemm/b", .low = 1, .high = 1, .rel = 0.4 });
    plant_sql(url, "DELETE FROM alerts; UPDATE series SET points = 9, exact = true");
    (void)add((pfc_suppression_matcher){ .benchmark = "gemm/a" });
    open_alerts();
    cr_assert(eq(i64, count("alerts"), 2));
    cr_expect(eq(i64, count("alerts WHERE suppressed_by IS NOT NULL"), 1));
    cr_expect(eq(i64, count("suppressed_alerts"), 1));
    cr_expect(eq(i64, count("alerts WHERE group_id IS NOT NULL"), 2));
    /* One notice, of the alert that is shown. */
    cr_expect(eq(i64, count("notices"), 1));
    cr_expect(eq(i64,
                 count("notices n JOIN alerts a ON a.id = n.alert_id WHERE NOT n.withheld AND"
                       " a.suppressed_by IS NULL"),
                 1));
    open_alerts();
    cr_expect(eq(i64, count("notices"), 1));
}

Test(suppressions, a_group_that_is_hidden_whole_is_announced_by_the_first_alert_that_is_not)
{
    (void)plant_alert(url, project, &(planted){ .low = 1, .high = 1, .rel = 0.5 });
    plant_sql(url, "DELETE FROM alerts; UPDATE series SET points = 9, exact = true");
    (void)add((pfc_suppression_matcher){ .benchmark = "gemm/a" });
    open_alerts();
    cr_expect(eq(i64, count("notices WHERE withheld"), 1));
    open_alerts();
    cr_expect(eq(i64, count("notices"), 1));
    (void)plant_alert(url, project,
                      &(planted){ .benchmark = "gemm/b", .low = 1, .high = 1, .rel = 0.4 });
    plant_sql(url, "DELETE FROM alerts WHERE suppressed_by IS NULL");
    open_alerts();
    cr_expect(eq(i64, count("notices WHERE withheld"), 1));
    cr_expect(eq(i64, count("notices WHERE NOT withheld"), 1));
}
