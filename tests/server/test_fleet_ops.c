/*
 * Operating runners: draining, revoking, hiding a runner's results and taking that back. Two
 * databases are compared: one that hid results, and one that never had them.
 */

#include "server/services/access/access.h"
#include "server/services/ingest/ingest.h"
#include "server/services/queue/fleet.h"
#include "server/services/queue/queue.h"

#include "tests/check/check.h"
#include "tests/server/plant.h"

#define COMMITS 60
#define BAD     30 /* from here on runner r2 measures too */
#define REAL    45 /* the commit that is slower on every runner */

static fx_ground begin(void)
{
    fx_ground g = fx_begin(3);

    fx_commits(g.db, g.project, 1, COMMITS);
    return g;
}

static int64_t enqueue(const fx_ground *g, unsigned n)
{
    const pfc_job_spec spec = { .kind = "measure", .commit = fx_sha(n) };
    pfc_jobs jobs = { 0 };
    pfc_err err = { 0 };
    bool created = false;
    int64_t id;

    cr_assert(
        eq(int, pfc_job_enqueue(g->db, "test", g->project, &spec, &created, &jobs, &err), PFC_OK),
        "%s", err.msg);
    id = jobs.items[0].id;
    pfc_rows_clear(&jobs);
    return id;
}

static int64_t lease_with(const fx_ground *g, const char *name, int64_t token,
                          char secret[PFC_LEASE_SIZE])
{
    const pfc_lease_request request = { .runner = name,
                                        .machine_class = "test-cpu",
                                        .token_id = token };
    pfc_jobs jobs = { 0 };
    pfc_err err = { 0 };
    pfc_code code = pfc_job_lease(g->db, &request, &jobs, secret, &err);
    int64_t id = code ? 0 : jobs.items[0].id;

    cr_assert(code == PFC_OK || code == PFC_ENOTFOUND, "%s", err.msg);
    pfc_rows_clear(&jobs);
    return id;
}

static int64_t lease(const fx_ground *g, const char *name, char secret[PFC_LEASE_SIZE])
{
    return lease_with(g, name, 0, secret);
}

/* The runner measures commit n: a job from the queue, its run, and the end of the job. */
static void measure(const fx_ground *g, const char *runner, unsigned n, double a, bool broken)
{
    char secret[PFC_LEASE_SIZE], id[33];
    const char *ids[] = { id };
    pfc_run *run = fx_run(n);
    pfc_err err = { 0 };
    int64_t job = enqueue(g, n);

    cr_assert(eq(i64, lease(g, runner, secret), job));
    fx_measure(run, "gemm/a", "time_ns", a, 0.005, 12, 3, n * 31 + (unsigned char)runner[1]);
    fx_measure(run, "gemm/b", "time_ns", 50, 0.005, 12, 3, n * 37 + (unsigned char)runner[1]);
    if (broken)
        fx_break(run, "gemm/b", "wrong result");
    (void)snprintf(id, sizeof(id), "%s", run->id);
    run->job_id = job;
    run->job_fence = 1;
    /* The newest result of a commit counts: which one that is must not depend on chance. */
    run->started_at += runner[1] - '1';
    (void)fx_ingest(g->db, g->project, run);
    cr_assert(eq(int, pfc_job_complete(g->db, job, secret, "done", NULL, ids, 1, &err), PFC_OK),
              "%s", err.msg);
}

/* Runner r1 measures every commit, r2 the later ones twice as noisily wrong, if it is there. */
static fx_ground history(bool r2)
{
    fx_ground g = begin();

    for (unsigned n = 1; n <= COMMITS; n++) {
        measure(&g, "r1", n, n >= REAL ? 110 : 100, false);
        if (r2 && n >= BAD)
            measure(&g, "r2", n, n >= REAL ? 100 : 125, n >= 50);
        if (n % 10 == 0)
            fx_detect(g.db);
    }
    return g;
}

/* The results of detection as text, by names: series, live changes, alerts that are open. */
static char *standing(const fx_ground *g)
{
    return pfc_test_sql_value(
        g->url,
        "WITH named AS (SELECT s.*, concat_ws(' ', b.name, s.metric, s.backend, s.machine_class,"
        " s.branch) AS label FROM series s JOIN benchmarks b ON b.id = s.benchmark_id)"
        "SELECT string_agg(line, chr(10) ORDER BY line) FROM ("
        " SELECT concat_ws('|', 'series', s.label, s.points, c.sha, s.last_median, s.spark::text,"
        "  s.noise_rel, s.watching, s.detectable_rel, s.level_points, s.watching_of, s.in_blocks,"
        "  s.two_speeds::text) AS line FROM named s LEFT JOIN commits c ON c.id = s.last_commit_id"
        " UNION ALL"
        " SELECT concat_ws('|', 'change', s.label, x.kind, c.sha, l.sha, h.sha, x.before, x.after,"
        "  x.rel_change, x.rel_low, x.rel_high, x.p, x.regression, x.confirmed, x.firm, u.sha,"
        "  x.withheld, x.withheld_detail::text, x.reason) FROM change_points x"
        "  JOIN named s ON s.id = x.series_id JOIN commits c ON c.id = x.commit_id"
        "  JOIN commits l ON l.id = x.commit_low_id JOIN commits h ON h.id = x.commit_high_id"
        "  LEFT JOIN commits u ON u.id = x.undone_commit_id WHERE x.gone_at IS NULL"
        "  AND (x.kind <> 'broken' OR x.undone_commit_id IS NULL)"
        " UNION ALL"
        " SELECT concat_ws('|', 'alert', s.label, a.state, x.kind, c.sha, a.group_series,"
        "  a.group_measured, a.group_summary) FROM alerts a"
        "  JOIN change_points x ON x.id = a.change_point_id JOIN named s ON s.id = x.series_id"
        "  JOIN commits c ON c.id = x.commit_id"
        "  WHERE a.state IN ('untriaged', 'acknowledged', 'investigating')) AS lines");
}

static pfc_revoked revoke(const fx_ground *g, const char *runner, double since, bool dry_run)
{
    const pfc_revocation how = { .since = since, .dry_run = dry_run, .reason = "bad fan" };
    pfc_revoked out;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_runner_revoke(g->db, "admin", 0, runner, &how, &out, &err), PFC_OK), "%s",
              err.msg);
    return out;
}

static int64_t release(const fx_ground *g, const char *runner)
{
    pfc_err err = { 0 };
    int64_t runs = 0;

    cr_assert(eq(int, pfc_runner_release(g->db, "admin", 0, runner, &runs, &err), PFC_OK), "%s",
              err.msg);
    return runs;
}

static void check_store(const fx_ground *g)
{
    char *wrong = pfc_test_sql_value(
        g->url, "SELECT count(*) FROM measurements m WHERE NOT EXISTS (SELECT 1 FROM runs r WHERE"
                " r.id = m.run_id AND r.quarantine_id IS NULL)");

    cr_expect(eq(str, wrong, "0"));
    free(wrong);
}

Test(fleet_ops, hidden_results_leave_detection_as_if_they_had_never_come_and_undo_restores_it)
{
    fx_ground with = history(true), without = history(false);
    char *before = standing(&with), *never = standing(&without), *after;
    const int64_t bad = COMMITS - BAD + 1;
    pfc_revoked out;

    cr_assert(ne(str, before, never)); /* or hiding them would show nothing */
    out = revoke(&with, "r2", 1, true);
    cr_expect(eq(i64, out.runs, bad));
    cr_expect(eq(i64, out.series, 2));
    cr_expect(eq(i64, out.commits, bad));
    cr_expect(eq(i64, out.quarantine, 0));
    pfc_revoked_clear(&out);
    after = standing(&with);
    cr_assert(eq(str, after, before)); /* a dry run changes nothing */
    free(after);

    out = revoke(&with, "r2", 1, false);
    cr_expect(eq(i64, out.runs, bad));
    pfc_revoked_clear(&out);
    fx_detect(with.db);
    check_store(&with);
    after = standing(&with);
    cr_assert(eq(str, after, never));
    free(after);

    cr_assert(eq(i64, release(&with, "r2"), bad));
    fx_detect(with.db);
    check_store(&with);
    after = standing(&with);
    cr_assert(eq(str, after, before));
    free(after);
    cr_expect(eq(i64,
                 plant_number(with.url, "SELECT count(*) FROM audit WHERE object = 'runner r2' AND"
                                        " action IN ('revoke', 'quarantine', 'release')"),
                 3));
    cr_expect(eq(i64,
                 plant_number(with.url, "SELECT (SELECT count(*) FROM quarantined_measurements)"
                                        " + (SELECT count(*) FROM quarantined_unmeasured)"
                                        " + (SELECT count(*) FROM quarantined_changes)"),
                 0));
    free(before);
    free(never);
    fx_end(&with);
    fx_end(&without);
}

/* Twice hidden and given back: a change that went away twice by detection would not return. */
Test(fleet_ops, hiding_again_and_again_wears_nothing_out)
{
    fx_ground g = history(true);
    char *before = standing(&g);

    for (int n = 0; n < 3; n++) {
        pfc_revoked out = revoke(&g, "r2", 1, false);
        char *after;

        pfc_revoked_clear(&out);
        fx_detect(g.db);
        (void)release(&g, "r2");
        fx_detect(g.db);
        after = standing(&g);
        cr_assert(eq(str, after, before), "round %d", n);
        free(after);
    }
    free(before);
    fx_end(&g);
}

/* A person's triage is no detection's: it stays. */
Test(fleet_ops, what_a_person_decided_about_an_alert_survives)
{
    fx_ground g = history(true);
    pfc_revoked out;
    int64_t alerts;

    plant_sql(g.url, "INSERT INTO alert_events (project_id, alert_id, actor, state_from, state_to)"
                     " SELECT project_id, id, 'token 1', state, 'acknowledged' FROM alerts;"
                     " UPDATE alerts SET state = 'acknowledged'");
    alerts = plant_number(g.url, "SELECT count(*) FROM alerts");
    cr_assert(gt(i64, alerts, 0));
    out = revoke(&g, "r2", 1, false);
    pfc_revoked_clear(&out);
    fx_detect(g.db);
    (void)release(&g, "r2");
    fx_detect(g.db);
    cr_assert(eq(i64,
                 plant_number(g.url, "SELECT count(*) FROM alerts WHERE state = 'acknowledged'"),
                 alerts));
    fx_end(&g);
}

Test(fleet_ops, only_results_since_then_are_hidden)
{
    fx_ground g = begin();
    pfc_revoked out;

    for (unsigned n = 1; n <= 4; n++)
        measure(&g, "r1", n, 100, false);
    /* The time when they came counts. The fixture's runs began in 2023. */
    plant_sql(g.url,
              "UPDATE runs SET received_at = started_at WHERE commit_id IN"
              " (SELECT id FROM commits WHERE sha IN ('%s', '%s'))",
              fx_sha(1), fx_sha(2));
    out = revoke(&g, "r1", 1700000000.0 + 3600 * 24 * 365, false);
    cr_expect(eq(i64, out.runs, 2));
    pfc_revoked_clear(&out);
    cr_expect(
        eq(i64, plant_number(g.url, "SELECT count(*) FROM runs WHERE quarantine_id IS NULL"), 2));
    /* Further back: the same quarantine reaches further. */
    out = revoke(&g, "r1", 1, false);
    cr_expect(eq(i64, out.runs, 2));
    pfc_revoked_clear(&out);
    cr_expect(eq(i64, plant_number(g.url, "SELECT count(*) FROM quarantines WHERE runs = 4"), 1));
    fx_end(&g);
}

Test(fleet_ops, results_that_come_later_are_hidden_too)
{
    fx_ground g = begin();
    pfc_err err = { 0 };
    pfc_revoked out;
    size_t branches = 0;
    pfc_run *run;
    int64_t id;

    measure(&g, "r1", 1, 100, false);
    id = plant_number(g.url, "SELECT max(id) FROM jobs WHERE kind = 'measure'");
    out = revoke(&g, "r1", 1, false);
    pfc_revoked_clear(&out);
    run = fx_run(1); /* from its spool, under another token */
    fx_measure(run, "gemm/a", "time_ns", 300, 0.005, 12, 3, 5);
    run->job_id = id;
    run->job_fence = 1;
    (void)fx_ingest(g.db, g.project, run);
    cr_assert(eq(int, pfc_quarantines_sweep(g.db, &branches, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, branches, 1));
    check_store(&g);
    cr_assert(eq(int, pfc_quarantines_sweep(g.db, &branches, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, branches, 0));
    fx_end(&g);
}

/* A hidden run keeps its row: its document is not stored a second time. */
Test(fleet_ops, a_hidden_document_sent_again_is_known)
{
    fx_ground g = begin();
    pfc_ingest_result first = { 0 }, again = { 0 };
    pfc_run *run = fx_run(1);
    pfc_err err = { 0 };
    pfc_revoked out;

    measure(&g, "r1", 2, 100, false);
    fx_measure(run, "gemm/a", "time_ns", 100, 0.005, 12, 3, 5);
    free(run->machine.name);
    run->machine.name = pfc_strdup("r1"); /* no job brought it: the machine's name counts */
    pfc_machine_hash(&run->machine);
    cr_assert(eq(int, pfc_run_ingest(g.db, "test", g.project, run, NULL, &first, &err), PFC_OK));
    out = revoke(&g, "r1", 1, false);
    cr_expect(eq(i64, out.runs, 2));
    pfc_revoked_clear(&out);
    cr_assert(eq(int, pfc_run_ingest(g.db, "test", g.project, run, NULL, &again, &err), PFC_OK));
    cr_expect(again.repeated);
    cr_expect(eq(i64, plant_number(g.url, "SELECT count(*) FROM measurements"), 0));
    pfc_run_free(run);
    fx_end(&g);
}

Test(fleet_ops, a_drained_runner_ends_its_job_and_gets_no_other)
{
    fx_ground g = begin();
    char secret[PFC_LEASE_SIZE], other[PFC_LEASE_SIZE];
    pfc_err err = { 0 };
    bool changed = false, cancel = false;
    int64_t first = enqueue(&g, 1), second = enqueue(&g, 2);

    cr_assert(eq(i64, lease(&g, "r1", secret), first));
    cr_assert(eq(int, pfc_runner_drain(g.db, "admin", 0, "r1", true, &changed, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(changed);
    cr_assert(eq(int, pfc_runner_drain(g.db, "admin", 0, "r1", true, &changed, &err), PFC_OK));
    cr_assert(not(changed));
    cr_assert(eq(int, pfc_job_heartbeat(g.db, first, secret, NULL, 60, &cancel, &err), PFC_OK),
              "%s", err.msg);
    cr_assert(not(cancel));
    cr_assert(eq(int, pfc_job_complete(g.db, first, secret, "done", NULL, NULL, 0, &err), PFC_OK));
    cr_assert(eq(i64, lease(&g, "r1", other), 0));
    cr_assert(eq(int, pfc_runner_drain(g.db, "admin", 0, "r1", false, &changed, &err), PFC_OK));
    cr_assert(changed);
    cr_assert(eq(i64, lease(&g, "r1", other), second));
    cr_assert(
        eq(int, pfc_runner_drain(g.db, "admin", 0, "r9", true, &changed, &err), PFC_ENOTFOUND));
    fx_end(&g);
}

Test(fleet_ops, revoking_ends_tokens_and_leases_and_a_release_lets_it_return)
{
    fx_ground g = begin();
    char secret[PFC_LEASE_SIZE], other[PFC_LEASE_SIZE], token[PFC_TOKEN_TEXT];
    pfc_err err = { 0 };
    pfc_revoked out;
    int64_t own = 0, shared = 0, job = enqueue(&g, 1), runs = 0;

    cr_assert(eq(int,
                 pfc_token_create(g.db, "test", "own", PFC_SCOPE_RUNNER, 0, 0, &own, token, &err),
                 PFC_OK));
    cr_assert(eq(
        int, pfc_token_create(g.db, "test", "shared", PFC_SCOPE_RUNNER, 0, 0, &shared, token, &err),
        PFC_OK));
    cr_assert(eq(i64, lease_with(&g, "r1", own, secret), job));
    cr_assert(eq(i64, lease_with(&g, "r1", shared, other), 0));
    cr_assert(eq(i64, lease_with(&g, "r2", shared, other), 0));
    out = revoke(&g, "r1", 0, false);
    cr_assert(eq(sz, out.tokens.len, 2));
    cr_expect(out.tokens.items[0].others == NULL);
    cr_expect(eq(str, (char *)out.tokens.items[1].others, "r2"));
    cr_expect(eq(i64, out.leases, 1));
    pfc_revoked_clear(&out);
    cr_expect(
        eq(i64, plant_number(g.url, "SELECT count(*) FROM tokens WHERE revoked_at IS NULL"), 0));
    cr_expect(
        eq(int, pfc_job_complete(g.db, job, secret, "done", NULL, NULL, 0, &err), PFC_ECONFLICT));
    cr_expect(eq(i64, lease(&g, "r1", other), 0));
    cr_expect(eq(i64, lease(&g, "r2", other), job));
    cr_assert(eq(int, pfc_runner_release(g.db, "admin", 0, "r1", &runs, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(int, pfc_runner_release(g.db, "admin", 0, "r1", &runs, &err), PFC_ECONFLICT));
    job = enqueue(&g, 2);
    cr_expect(eq(i64, lease(&g, "r1", other), job));
    fx_end(&g);
}

static char *alarm_of(const fx_ground *g)
{
    return pfc_test_sql_value(g->url, "SELECT coalesce(runner_alarm(r), '') FROM runners r");
}

Test(fleet_ops, a_report_raises_an_alarm_before_each_limit)
{
    static const struct {
        pfc_runner_status status;
        const char *alarm;
    } cases[] = {
        { { "1", "none", 0, 10000, 0, 2048ll << 20, 0, 50ll << 30 }, "" },
        { { "1", "none", 4999, 10000, 0, 2048ll << 20, 10, 50ll << 30 }, "" },
        { { "1", "none", 5000, 10000, 0, 2048ll << 20, 10, 50ll << 30 }, "5000 of at most 10000" },
        { { "1", "none", 1, 10000, 1024ll << 20, 2048ll << 20, 1, 50ll << 30 }, "1024 of at most" },
        { { "1", "none", 2, 10000, 9, 2048ll << 20, 1, 1023ll << 20 }, "1023 MiB are free" },
        { { "1", "none", 3, 10000, 9, 2048ll << 20, 3590, 50ll << 30 }, "" },
        { { "1", "none", 4, 10000, 9, 2048ll << 20, 7200, 50ll << 30 }, "has waited for 120 min" },
    };
    fx_ground g = begin();
    char secret[PFC_LEASE_SIZE];
    pfc_err err = { 0 };

    cr_assert(eq(i64, lease(&g, "r1", secret), 0));
    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        char *alarm;

        cr_assert(eq(int, pfc_runner_report(g.db, 0, "r1", &cases[i].status, &err), PFC_OK), "%s",
                  err.msg);
        alarm = alarm_of(&g);
        cr_expect(cases[i].alarm[0] ? strstr(alarm, cases[i].alarm) != NULL : !alarm[0],
                  "case %zu: \"%s\"", i, alarm);
        free(alarm);
    }
    /* The runner is silent since: what waits there waits on. */
    cr_assert(eq(int, pfc_runner_report(g.db, 0, "r1", &cases[5].status, &err), PFC_OK));
    plant_sql(g.url, "UPDATE runners SET status_at = status_at - interval '30 s'");
    {
        char *alarm = alarm_of(&g);

        cr_expect(strstr(alarm, "has waited for 60 min") != NULL, "%s", alarm);
        free(alarm);
    }
    fx_end(&g);
}

/* A later migration of measurements must change the hidden ones, too. */
Test(fleet_ops, hidden_tables_have_the_columns_of_their_originals)
{
    fx_ground g = begin();
    static const char *const tables[] = { "measurements", "unmeasured" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(tables); i++)
        cr_expect(eq(i64,
                     plant_number(g.url,
                                  "SELECT count(*) FROM (SELECT attnum, attname, atttypid FROM"
                                  " pg_attribute WHERE attrelid = '%s'::regclass AND attnum > 0"
                                  " EXCEPT SELECT attnum, attname, atttypid FROM pg_attribute WHERE"
                                  " attrelid = 'quarantined_%s'::regclass) AS t",
                                  tables[i], tables[i]),
                     0),
                  "%s", tables[i]);
    fx_end(&g);
}
