/* Which changes a replay counts as alerts, and which triage labels it compares them with. */
#include <math.h>

#include "server/services/alerts/alerts.h"
#include "server/services/detect/detect.h"

#include "tests/check/check.h"
#include "tests/server/fixture.h"

#define COMMITS 50
#define STEP_AT 25

/* The step's way in each series: the first two are regressions, the others none. */
static const struct {
    const char *benchmark;
    double after;
    bool higher_is_better;
} works[] = {
    { "slower", 115, false }, { "falling", 85, true },  { "faster", 85, false },
    { "rising", 115, true },  { "canary", 115, false },
};

static void measure_all(pfc_db *db, int64_t p)
{
    fx_commits(db, p, 1, COMMITS);
    for (unsigned n = 1; n <= COMMITS; n++) {
        pfc_run *run = fx_run(n);

        for (size_t i = 0; i < PFC_ARRAY_LEN(works); i++) {
            fx_measure(run, works[i].benchmark, "value", n < STEP_AT ? 100 : works[i].after, 0.005,
                       12, 3, n * 17 + (unsigned)i);
            run->measurements[i].higher_is_better = works[i].higher_is_better;
        }
        fx_ingest(db, p, run);
    }
    fx_detect(db);
}

static pfc_replay replay(pfc_db *db, int64_t p)
{
    const pfc_detector detector = { 0 };
    pfc_replay out = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_project_replay(db, p, "main", &detector, &out, &err), PFC_OK), "%s",
              err.msg);
    return out;
}

static void say(pfc_db *db, int64_t p, const char *benchmark, const char *state)
{
    const pfc_alert_change change = { .state = state };
    const pfc_alert_filter filter = { .project_id = p };
    pfc_alerts alerts = { 0 }, after = { 0 };
    bool said = false;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_alerts_list(db, &filter, (pfc_page){ 0 }, &alerts, &err), PFC_OK));
    for (size_t i = 0; i < alerts.len && !said; i++) {
        if (!pfc_streq(alerts.items[i].benchmark, benchmark))
            continue;
        cr_assert(
            eq(int, pfc_alert_update(db, "ann", alerts.items[i].id, &change, &after, &err), PFC_OK),
            "%s", err.msg);
        said = true;
    }
    cr_assert(said, "no alert of %s", benchmark);
    pfc_rows_clear(&after);
    pfc_rows_clear(&alerts);
}

Test(replay, only_regressions_are_alerts_and_only_people_label_them)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(3, &url);
    int64_t p = fx_project(db);
    const pfc_detector detector = { 0 };
    size_t rises = 0;
    pfc_replay r;
    pfc_err err = { 0 };

    measure_all(db, p);
    /* the detector's own word is no label */
    pfc_test_sql(
        url, "UPDATE alerts SET state = 'infrastructure'; INSERT INTO alert_events (project_id,"
             " alert_id, actor, state_from, state_to, reason) SELECT project_id, id, 'detector',"
             " 'untriaged', 'infrastructure', '' FROM alerts");
    r = replay(db, p);
    cr_expect(eq(sz, r.series, 4), "all but the canary");
    cr_expect(eq(sz, r.points, 4 * COMMITS));
    cr_expect(eq(sz, r.changes_len, 4));
    cr_expect(eq(sz, r.alerts, 2));
    for (size_t i = 0; i < r.changes_len; i++)
        rises += r.changes[i].alert && r.changes[i].rel_change > 0;
    cr_expect(eq(sz, rises, 1), "one that rose, and one that fell and should not have");
    cr_expect(eq(sz, r.unlabelled, 2));
    cr_expect(eq(sz, r.labelled_real + r.labelled_noise, 0));
    pfc_replay_clear(&r);

    /* a label is of its own series, and of no other at the same commit */
    pfc_test_sql(url, "UPDATE alerts SET state = 'untriaged'");
    say(db, p, "slower", "acknowledged");
    r = replay(db, p);
    cr_expect(eq(sz, r.labelled_real, 1));
    cr_expect(eq(sz, r.labelled_noise, 0));
    cr_expect(eq(sz, r.found_real, 1));
    cr_expect(eq(sz, r.unlabelled, 1), "the other is nobody's word yet");
    pfc_replay_clear(&r);

    /* and of the range that it names, its ends among it */
    for (int end = 0; end < 4; end++) {
        char sql[512];
        /* the replay's own range: from STEP_AT to STEP_AT */
        const int low = end < 2 ? STEP_AT + end : STEP_AT - 3,
                  high = end < 2 ? STEP_AT + 3 : STEP_AT - end + 2;

        (void)snprintf(
            sql, sizeof(sql),
            "UPDATE change_points x SET commit_low_id = l.commit_id, commit_high_id = h.commit_id"
            " FROM branch_commits l, branch_commits h WHERE l.position = %d AND h.position = %d",
            low, high);
        pfc_test_sql(url, sql);
        r = replay(db, p);
        cr_expect(eq(sz, r.labelled_real, 1));
        cr_expect(eq(sz, r.found_real, (size_t)(low <= STEP_AT && high >= STEP_AT)), "%d to %d",
                  low, high);
        pfc_replay_clear(&r);
    }

    /* more than it reads */
    pfc_test_sql(url, "UPDATE series s SET points = 1000001 - 3 * 50 FROM benchmarks b"
                      " WHERE b.id = s.benchmark_id AND b.name = 'slower'");
    cr_expect(eq(int, pfc_project_replay(db, p, "main", &detector, &r, &err), PFC_ETOOBIG));
    pfc_test_sql(url, "UPDATE series SET points = points - 1 WHERE points > 1000");
    r = replay(db, p);
    cr_expect(eq(sz, r.series, 4));
    pfc_replay_clear(&r);
    pfc_db_close(db);
    free(url);
}

/* Two people edit the same version: the second one is refused, and what the first one stored
 * stays. */
Test(replay, settings_that_were_not_seen_are_not_overwritten)
{
    static const struct {
        int64_t seen;
        const char *text;
        pfc_code want;
        int64_t version;
    } rows[] = {
        { 1, "{\"rules\": [], \"fdr\": 0.01}", PFC_ECONFLICT, 0 }, /* none is stored yet */
        { 0, "{\"rules\": [], \"fdr\": 0.01}", PFC_OK, 1 },
        { 0, "{\"rules\": [], \"fdr\": 0.02}", PFC_ECONFLICT, 1 },
        { 2, "{\"rules\": [], \"fdr\": 0.02}", PFC_ECONFLICT, 1 },
        { 0, "{\"rules\": [], \"fdr\": 0.01}", PFC_OK, 1 }, /* sent again: nothing changes */
        { 1, "{\"rules\": [], \"fdr\": 0.02}", PFC_OK, 2 },
        { -1, "{\"rules\": [], \"fdr\": 0.03}", PFC_OK, 3 },
    };
    pfc_db *db = pfc_test_db_open(3, NULL);
    const int64_t p = fx_project(db);

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        pfc_detector_version version = { 0 };
        pfc_err err = { 0 };

        cr_assert(eq(int,
                     pfc_detector_store(db, "ann", p, rows[i].text, rows[i].seen, &version, &err),
                     rows[i].want),
                  "row %zu: %s", i, err.msg);
        if (rows[i].want)
            cr_assert(ne(ptr, strstr(err.msg, i ? "1, the version" : "0, the version"), NULL), "%s",
                      err.msg);
        pfc_detector_version_clear(&version);
        cr_assert(eq(int, pfc_detector_get(db, p, &version, &err), PFC_OK), "%s", err.msg);
        cr_assert(eq(i64, version.version, rows[i].version), "row %zu", i);
        pfc_detector_version_clear(&version);
    }
    pfc_db_close(db);
}
