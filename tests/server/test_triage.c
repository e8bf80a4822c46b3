/* Triage: allowed changes of an alert, their actors, and the alert that a culprit belongs to. */

#include "server/services/alerts/alerts.h"
#include "server/services/bisect/bisect.h"
#include "server/services/detect/known_changes.h"
#include "server/services/notices.h"

#include "tests/check/check.h"
#include "tests/server/plant.h"
#include "tests/support/cluster_hooks.h"

static const char *const states[] = { "untriaged",     "acknowledged",   "investigating",
                                      "fixed",         "backed_out",     "wont_fix",
                                      "noise",         "infrastructure", "duplicate",
                                      "verified_fixed" };

static void set_state(const char *url, int64_t id, const char *state)
{
    plant_sql(url, "UPDATE alerts SET state = '%s' WHERE id = %lld", state, (long long)id);
}

static pfc_code update(pfc_db *db, const char *actor, int64_t id, pfc_alert_change change,
                       pfc_err *err)
{
    pfc_alerts alerts = { 0 };
    pfc_code code;

    *err = (pfc_err){ 0 };
    code = pfc_alert_update(db, actor, id, &change, &alerts, err);
    pfc_rows_clear(&alerts);
    return code;
}

static char *state_of(const char *url, int64_t id)
{
    char *sql = pfc_format("SELECT state FROM alerts WHERE id = %lld", (long long)id), *state;

    state = pfc_test_sql_value(url, sql);
    free(sql);
    return state;
}

#define EXPECT_STATE(url, id, expected, ...)                                                       \
    do {                                                                                           \
        char *state_ = state_of((url), (id));                                                      \
        cr_expect(eq(str, state_, (char *)(uintptr_t)(expected)), __VA_ARGS__);                    \
        free(state_);                                                                              \
    } while (0)

/* A person verifies a fix only; the detector has measured it. Every other step is allowed. */
Test(triage, only_a_fix_is_verified_and_every_other_step_is_allowed)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 3);
    const int64_t id = plant_alert(url, p, &(planted){ .low = 2, .high = 2 });
    pfc_err err = { 0 };

    for (size_t i = 0; i < PFC_ARRAY_LEN(states); i++) {
        const bool fix = pfc_streq(states[i], "fixed") || pfc_streq(states[i], "backed_out") ||
                         pfc_streq(states[i], "verified_fixed");

        cr_expect(pfc_alert_state_known(states[i]));
        set_state(url, id, states[i]);
        cr_expect(eq(int,
                     update(db, "ann", id, (pfc_alert_change){ .state = "verified_fixed" }, &err),
                     fix ? PFC_OK : PFC_ECONFLICT),
                  "%s", states[i]);
        EXPECT_STATE(url, id, fix ? "verified_fixed" : states[i], "%s", states[i]);
        set_state(url, id, "noise");
        cr_expect(eq(int, update(db, "ann", id, (pfc_alert_change){ .state = states[i] }, &err),
                     i + 1 < PFC_ARRAY_LEN(states) ? PFC_OK : PFC_ECONFLICT),
                  "%s", states[i]);
    }
    cr_expect(not(pfc_alert_state_known("open")));
    set_state(url, id, "noise");
    cr_expect(eq(int,
                 update(db, "detector", id, (pfc_alert_change){ .state = "verified_fixed" }, &err),
                 PFC_OK));
    EXPECT_STATE(url, id, "verified_fixed", "detector");
    free(url);
    pfc_db_close(db);
}

/* A form that was opened before another user's change would revert that change. */
Test(triage, a_change_of_a_state_that_is_no_longer_the_seen_one_is_refused)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 3);
    const int64_t id = plant_alert(url, p, &(planted){ .low = 2, .high = 2 });
    const pfc_alert_change late = { .state = "noise", .seen = "untriaged", .note = "late" };
    pfc_err err = { 0 };

    cr_expect(
        eq(int,
           update(db, "ann", id, (pfc_alert_change){ .state = "fixed", .seen = "untriaged" }, &err),
           PFC_OK));
    cr_expect(eq(int, update(db, "bob", id, late, &err), PFC_ECONFLICT));
    cr_expect(eq(str, err.field, (char *)"seen"));
    cr_expect(eq(str, err.msg,
                 (char *)"seen: the alert is now fixed, expected untriaged; read it again"));
    EXPECT_STATE(url, id, "fixed");
    cr_expect(eq(i64, plant_number(url, "SELECT count(*) FROM alerts WHERE note = 'late'"), 0));
    cr_expect(eq(
        int, update(db, "bob", id, (pfc_alert_change){ .state = "noise", .seen = "fixed" }, &err),
        PFC_OK));
    EXPECT_STATE(url, id, "noise");
    free(url);
    pfc_db_close(db);
}

Test(triage, a_level_is_accepted_with_wont_fix_only_and_the_log_says_so)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 3);
    const int64_t id = plant_alert(url, p, &(planted){ .low = 2, .high = 2 });
    const int64_t other = plant_alert(url, p, &(planted){ .low = 3, .high = 3 });
    pfc_err err = { 0 };

#define ACCEPTED "SELECT count(*) FROM alerts WHERE accepted_at IS NOT NULL"
#define ACTIONS(what)                                                                              \
    plant_number(url, "SELECT count(*) FROM audit WHERE action = '%s' AND object = 'alert %lld'",  \
                 what, (long long)id)
    for (size_t i = 0; i <= PFC_ARRAY_LEN(states); i++) {
        const char *state = i < PFC_ARRAY_LEN(states) ? states[i] : NULL;

        if (pfc_streq(state, "wont_fix"))
            continue;
        cr_expect(eq(
            int, update(db, "ann", id, (pfc_alert_change){ .state = state, .accept = true }, &err),
            PFC_EINVAL));
        cr_expect(eq(str, err.field, (char *)"accept"));
    }
    cr_expect(eq(int, update(db, "ann", id, (pfc_alert_change){ .state = "wont_fix" }, &err), 0));
    cr_expect(eq(i64, plant_number(url, ACCEPTED), 0));
    cr_expect(eq(i64, ACTIONS("triage"), 1));
    cr_expect(eq(
        int, update(db, "ann", id, (pfc_alert_change){ .state = "wont_fix", .accept = true }, &err),
        0));
    cr_expect(eq(i64, plant_number(url, ACCEPTED), 1));
    cr_expect(eq(i64, plant_number(url, ACCEPTED " AND id = %lld", (long long)other), 0));
    cr_expect(eq(i64, ACTIONS("accept"), 1));
    cr_expect(eq(i64, ACTIONS("triage"), 1));
    free(url);
    pfc_db_close(db);
}

/* A refused acceptance leaves the state, too. */
Test(triage, a_broken_benchmark_has_no_level_to_accept)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 3);
    const int64_t id = plant_alert(url, p, &(planted){ .low = 2, .high = 2, .kind = "broken" });
    pfc_err err = { 0 };

    cr_expect(eq(
        int, update(db, "ann", id, (pfc_alert_change){ .state = "wont_fix", .accept = true }, &err),
        PFC_ECONFLICT));
    cr_expect(eq(str, err.field, (char *)"accept"));
    cr_expect(strstr(err.msg, "which has no level") != NULL, "%s", err.msg);
    EXPECT_STATE(url, id, "untriaged");
    cr_expect(eq(i64, plant_number(url, ACCEPTED), 0));
    cr_expect(eq(int, update(db, "ann", id, (pfc_alert_change){ .state = "wont_fix" }, &err), 0));
    free(url);
    pfc_db_close(db);
}

/* NULL leaves what is there, and nothing removes it. */
Test(triage, a_culprit_is_a_full_id_or_nothing_and_a_drift_has_none)
{
    static const char *const wrong[] = { "0123456789abcdef0123456789abcdef0123456",
                                         "0123456789abcdef0123456789abcdef012345678",
                                         "0123456789ABCDEF0123456789ABCDEF01234567",
                                         "0123456789abcdef0123456789abcdef0123456g", "main" };
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 3);
    const int64_t id = plant_alert(url, p, &(planted){ .low = 2, .high = 2 });
    const int64_t drift = plant_alert(url, p, &(planted){ .low = 2, .high = 3, .kind = "drift" });
    pfc_err err = { 0 };

#define SAME(id_, culprit_, note_)                                                                 \
    plant_number(url,                                                                              \
                 "SELECT count(*) FROM alerts WHERE id = %lld AND culprit IS NOT DISTINCT FROM %s" \
                 " AND note = '%s'",                                                               \
                 (long long)(id_), culprit_, note_)
    for (size_t i = 0; i < PFC_ARRAY_LEN(wrong); i++) {
        cr_expect(eq(int, update(db, "ann", id, (pfc_alert_change){ .culprit = wrong[i] }, &err),
                     PFC_EINVAL),
                  "%s", wrong[i]);
        cr_expect(eq(str, err.field, (char *)"culprit"));
    }
    cr_expect(eq(
        int, update(db, "ann", id, (pfc_alert_change){ .culprit = fx_sha(2), .note = "see" }, &err),
        0));
    cr_expect(eq(int, update(db, "ann", id, (pfc_alert_change){ .state = "noise" }, &err), 0));
    cr_expect(eq(i64, SAME(id, "'0000000000000000000000000000000000000002'", "see"), 1));
    cr_expect(eq(int, update(db, "ann", id, (pfc_alert_change){ .culprit = "" }, &err), 0));
    cr_expect(eq(i64, SAME(id, "NULL", "see"), 1));
    cr_expect(eq(int, update(db, "ann", id, (pfc_alert_change){ .note = "" }, &err), 0));
    cr_expect(eq(i64, SAME(id, "NULL", ""), 1));

    cr_expect(eq(int, update(db, "ann", drift, (pfc_alert_change){ .culprit = fx_sha(2) }, &err),
                 PFC_ECONFLICT));
    cr_expect(eq(int, update(db, "ann", drift, (pfc_alert_change){ .culprit = "" }, &err), 0));
    cr_expect(eq(int, update(db, "ann", drift, (pfc_alert_change){ .state = "noise" }, &err), 0));
    free(url);
    pfc_db_close(db);
}

/* ---- what the detector does with an alert ---- */

typedef struct following {
    int64_t project, id;
    const pfc_known *known; /* NULL: alone by `from` and `own` */
    const char *from;
    bool own, confirmed, undone;
} following;

static pfc_code follow(pfc_tx *tx, void *into, pfc_err *err)
{
    const following *f = into;

    if (f->known)
        return pfc_known_follow(tx, f->project, f->known, f->confirmed,
                                f->undone ? "measured" : NULL, err);
    return pfc_alert_follow(tx, f->project, f->id, f->from, f->own,
                            &(pfc_alert_change){ .state = "noise", .reason = "gone" }, err);
}

static void say(const char *url, int64_t project, int64_t id, const char *state, const char *actor)
{
    set_state(url, id, state);
    plant_sql(url,
              "INSERT INTO alert_events (project_id, alert_id, actor, state_to)"
              " VALUES (%lld, %lld, '%s', '%s')",
              (long long)project, (long long)id, actor, state);
}

Test(triage, the_detector_changes_nothing_that_was_said_since_it_looked)
{
    static const struct {
        const char *state, *actor, *from, *after;
        bool own;
    } rows[] = {
        { "untriaged", "detector", "untriaged", "noise", true },
        { "untriaged", "ann", "untriaged", "untriaged", true },
        { "untriaged", "ann", "untriaged", "noise", false },
        { "acknowledged", "detector", "untriaged", "acknowledged", false },
    };
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 3);
    const int64_t id = plant_alert(url, p, &(planted){ .low = 2, .high = 2 });
    pfc_err err = { 0 };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        following f = { .project = p, .id = id, .from = rows[i].from, .own = rows[i].own };

        say(url, p, id, rows[i].actor[0] == 'd' ? "fixed" : "noise", "ann");
        say(url, p, id, rows[i].state, rows[i].actor);
        cr_assert(eq(int, pfc_db_write(db, follow, &f, &err), PFC_OK), "%s", err.msg);
        EXPECT_STATE(url, id, rows[i].after, "%zu", i);
    }
    free(url);
    pfc_db_close(db);
}

/* The level came back: a person's word other than these stands. */
static const char *when_undone(const char *state, bool own)
{
    static const char *const closable[] = { "untriaged", "acknowledged", "investigating", "fixed",
                                            "backed_out" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(closable); i++) {
        if (pfc_streq(closable[i], state))
            return "verified_fixed";
    }
    return own && pfc_streq(state, "infrastructure") ? "verified_fixed" : state;
}

Test(triage, an_alert_follows_its_change_unless_a_user_set_its_state)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 3);
    const int64_t id = plant_alert(url, p, &(planted){ .low = 2, .high = 2 });
    pfc_err err = { 0 };

    for (size_t i = 0; i < 2 * PFC_ARRAY_LEN(states); i++) {
        const char *state = states[i / 2], *actor = i % 2 ? "ann" : "detector";
        const bool own = i % 2 == 0;
        const pfc_known known = { .alert_id = id, .alert_state = state, .last_actor = actor };
        following f = { .project = p, .known = &known, .undone = true };

        say(url, p, id, state, actor);
        cr_assert(eq(int, pfc_db_write(db, follow, &f, &err), PFC_OK), "%s", err.msg);
        EXPECT_STATE(url, id, when_undone(state, own), "%s by %s, undone", state, actor);
        say(url, p, id, state, actor);
        f.undone = false;
        f.confirmed = true;
        cr_assert(eq(int, pfc_db_write(db, follow, &f, &err), PFC_OK), "%s", err.msg);
        EXPECT_STATE(url, id, own && pfc_streq(state, "verified_fixed") ? "untriaged" : state,
                     "%s by %s, there", state, actor);
    }
    free(url);
    pfc_db_close(db);
}

Test(triage, a_change_that_is_there_again_opens_the_detectors_noise_alone)
{
    static const struct {
        bool own, gone, confirmed, may_return, again;
    } rows[] = {
        { true, true, true, true, true },   { false, true, true, true, false },
        { true, false, true, true, true },  { true, true, false, true, false },
        { true, true, true, false, false },
    };
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 3);
    const int64_t id = plant_alert(url, p, &(planted){ .low = 2, .high = 2 });
    pfc_err err = { 0 };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        const char *actor = rows[i].own ? "detector" : "ann";
        const pfc_known known = { .alert_id = id,
                                  .alert_state = "noise",
                                  .last_actor = actor,
                                  .gone = rows[i].gone,
                                  .may_return = rows[i].may_return };
        following f = { .project = p, .known = &known, .confirmed = rows[i].confirmed };

        say(url, p, id, "noise", actor);
        cr_assert(eq(int, pfc_db_write(db, follow, &f, &err), PFC_OK), "%s", err.msg);
        EXPECT_STATE(url, id, rows[i].again ? "untriaged" : "noise", "%zu", i);
    }
    free(url);
    pfc_db_close(db);
}

/* ---- whose culprit ---- */

/* The alert that a report without one is given to; 0: none. */
static int64_t alert_of(pfc_db *db, int64_t project, const char *metric, const char *benchmark,
                        const char *backend, unsigned culprit)
{
    const pfc_bisection_report report = { .metric = metric,
                                          .benchmark = benchmark,
                                          .backend = backend,
                                          .good = fx_sha(1),
                                          .bad = fx_sha(9),
                                          .verdict = "found",
                                          .culprits_json = "[]",
                                          .culprit = culprit ? fx_sha(culprit) : NULL };
    pfc_bisections bisections = { 0 };
    pfc_err err = { 0 };
    int64_t id;

    cr_assert(eq(int, pfc_bisection_store(db, "ann", project, &report, &bisections, &err), PFC_OK),
              "%s", err.msg);
    id = bisections.items[0].alert_id;
    pfc_rows_clear(&bisections);
    return id;
}

Test(triage, a_culprit_belongs_to_the_open_alert_whose_range_holds_it)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 12), q = plant_other(db, "q", 12);
    const int64_t id = plant_alert(url, p, &(planted){ .low = 4, .high = 6 });
    const int64_t far = plant_alert(url, p, &(planted){ .low = 10, .high = 10 });

    cr_expect(eq(i64, alert_of(db, p, "time_ns", "gemm/a", NULL, 3), 0));
    cr_expect(eq(i64, alert_of(db, p, "time_ns", "gemm/a", NULL, 4), id));
    cr_expect(eq(i64, alert_of(db, p, "time_ns", "gemm/a", "cpu-scalar", 6), id));
    cr_expect(eq(i64, alert_of(db, p, "time_ns", "gemm/a", NULL, 7), 0));
    cr_expect(eq(i64, alert_of(db, p, "time_ns", "gemm/a", NULL, 10), far));
    cr_expect(eq(i64, alert_of(db, p, "time_ns", "gemm/a", NULL, 0), 0));
    cr_expect(eq(i64, alert_of(db, p, "cycles", "gemm/a", NULL, 5), 0));
    cr_expect(eq(i64, alert_of(db, p, "time_ns", "gemm/b", NULL, 5), 0));
    cr_expect(eq(i64, alert_of(db, p, "time_ns", "gemm/a", "cpu-avx2", 5), 0));
    cr_expect(eq(i64, alert_of(db, q, "time_ns", "gemm/a", NULL, 5), 0));
    /* Without a benchmark: of a headline. */
    cr_expect(eq(i64, alert_of(db, p, "time_ns", NULL, NULL, 5), 0));
    pfc_test_sql(url, "UPDATE series SET headline = true");
    cr_expect(eq(i64, alert_of(db, p, "time_ns", NULL, NULL, 5), id));
    for (size_t i = 0; i < PFC_ARRAY_LEN(states); i++) {
        set_state(url, id, states[i]);
        cr_expect(eq(i64, alert_of(db, p, "time_ns", "gemm/a", NULL, 5), i < 3 ? id : 0), "%s",
                  states[i]);
    }
    free(url);
    pfc_db_close(db);
}

Test(triage, of_several_alerts_the_largest_step_has_the_culprit)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 9);
    const int64_t small = plant_alert(url, p, &(planted){ .low = 4, .high = 6, .rel = 0.1 });
    const int64_t fall = plant_alert(url, p, &(planted){ .low = 4, .high = 6, .rel = -0.3 });
    const int64_t equal = plant_alert(url, p, &(planted){ .low = 4, .high = 6, .rel = 0.3 });

    cr_assert(equal > fall && fall > small);
    plant_alert(url, p, &(planted){ .low = 4, .high = 6, .rel = 0.9, .kind = "drift" });
    plant_alert(url, p, &(planted){ .low = 4, .high = 6, .rel = 0.9, .kind = "broken" });
    cr_expect(eq(i64, alert_of(db, p, "time_ns", "gemm/a", NULL, 5), fall));
    set_state(url, fall, "fixed");
    cr_expect(eq(i64, alert_of(db, p, "time_ns", "gemm/a", NULL, 5), equal));
    set_state(url, equal, "fixed");
    cr_expect(eq(i64, alert_of(db, p, "time_ns", "gemm/a", NULL, 5), small));
    free(url);
    pfc_db_close(db);
}

/* Both directions of the first two rows: a shorter time and a higher throughput have no culprit. */
Test(triage, fresh_pairs_accuse_in_the_direction_that_is_worse_for_the_series)
{
    static const struct {
        bool higher_is_better;
        double step;
        bool blamed;
    } rows[] = {
        { false, 0.15, true }, { false, -0.15, false }, { true, -0.15, true }, { true, 0.15, false }
    };
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 9);
    pfc_err err = { 0 };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        const int64_t id = plant_alert(url, p, &(planted){ .low = 4, .high = 6 });
        char *before = pfc_strdup(fx_sha(4));
        pfc_bisections out = { 0 };
        double pairs[24];
        pfc_bisection_report report = { .metric = "time_ns",
                                        .benchmark = "gemm/a",
                                        .good = before,
                                        .bad = fx_sha(9),
                                        .verdict = "found",
                                        .culprits_json = "[]",
                                        .culprit = fx_sha(5),
                                        .before = before,
                                        .pairs = pairs,
                                        .pairs_len = 12,
                                        .alert_id = id,
                                        .rel_change = rows[i].step };

        plant_sql(url, "UPDATE series SET higher_is_better = %s",
                  rows[i].higher_is_better ? "true" : "false");
        for (size_t k = 0; k < 12; k++) {
            pairs[2 * k] = 100 + 0.1 * (double)(k % 5);
            pairs[2 * k + 1] = 100 * (1 + rows[i].step) + 0.1 * (double)(k % 3);
        }
        cr_assert(eq(int, pfc_bisection_store(db, "ann", p, &report, &out, &err), PFC_OK), "%s",
                  err.msg);
        pfc_rows_clear(&out);
        cr_expect(eq(i64,
                     plant_number(url,
                                  "SELECT count(*) FROM alerts WHERE id = %lld AND culprit"
                                  " IS NOT NULL",
                                  (long long)id),
                     rows[i].blamed),
                  "%zu", i);
        free(before);
    }
    free(url);
    pfc_db_close(db);
}

Test(triage, a_report_names_an_alert_of_its_own_project_and_a_commit_of_its_range)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(2, &url);
    const int64_t p = plant_project(db, 9), q = plant_other(db, "q", 9);
    const int64_t id = plant_alert(url, p, &(planted){ .low = 4, .high = 6 });
    pfc_bisections out = { 0 };
    pfc_err err = { 0 };
    pfc_bisection_report report = { .metric = "time_ns",
                                    .good = fx_sha(1),
                                    .bad = fx_sha(9),
                                    .verdict = "found",
                                    .culprits_json = "[]",
                                    .alert_id = id };

    cr_expect(eq(int, pfc_bisection_store(db, "ann", q, &report, &out, &err), PFC_ENOTFOUND));
    cr_expect(eq(str, err.field, (char *)"alert_id"));
    cr_expect(eq(i64, plant_number(url, "SELECT count(*) FROM alert_events"), 0));
    cr_expect(eq(i64, plant_number(url, "SELECT count(*) FROM bisections"), 0));
    for (unsigned culprit = 3; culprit <= 7; culprit++) {
        report.culprit = fx_sha(culprit);
        cr_expect(eq(int, pfc_bisection_store(db, "ann", p, &report, &out, &err),
                     culprit >= 4 && culprit <= 6 ? PFC_OK : PFC_EINVAL),
                  "%u", culprit);
        pfc_rows_clear(&out);
    }
    report.culprit = "0123456";
    cr_expect(eq(int, pfc_bisection_store(db, "ann", p, &report, &out, &err), PFC_EINVAL));
    cr_expect(eq(str, err.field, (char *)"culprits"));
    free(url);
    pfc_db_close(db);
}
