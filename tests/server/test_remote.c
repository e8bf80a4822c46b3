/* Bisections on the runners: fake runners measure what a table says, and the right commit is named. */
#include <math.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "core/base/rng.h"
#include "server/services/services.h"

#include "tests/server/fixture.h"

#define COMMITS 64
#define CULPRIT 41
#define NOISE   0.01
#define STEP    1.06

/* One fake fleet: what it was asked, and how it answers. */
typedef struct fleet {
    pfc_db *db;
    int64_t project;
    unsigned broken; /* a commit that does not build; 0: none */
    bool busy;       /* no runner of that name is known */
    size_t jobs;
    unsigned seeds;
} fleet;

static unsigned commit_number(const char *sha)
{
    return (unsigned)strtoul(sha + 32, NULL, 16);
}

static pfc_jobs lease_by(const fleet *f, const char *runner, char secret[33])
{
    const pfc_lease_request request = { .runner = runner, .machine_class = "test-cpu" };
    pfc_jobs jobs = { 0 };
    pfc_err err = { 0 };
    pfc_code code = pfc_job_lease(f->db, &request, &jobs, secret, &err);

    cr_assert(code == PFC_OK || code == PFC_ENOTFOUND, "%s", err.msg);
    return jobs;
}

/* Measures the leased job and hands it back, as an agent does. */
static void do_job(fleet *f, const pfc_job *job, const char *secret)
{
    const unsigned n = commit_number(job->commit);
    const bool broken = n == f->broken;
    pfc_run *run = fx_run(n);
    const char *ids[] = { NULL };
    char id[33];
    pfc_err err = { 0 };

    f->jobs++;
    if (broken) {
        pfc_run_free(run);
    } else {
        (void)snprintf(id, sizeof(id), "%s", run->id);
        ids[0] = id;
        run->job_id = job->id;
        fx_measure(run, "gemm/a", "time_ns", n >= CULPRIT ? 100 * STEP : 100, 0, 1, 1, 1);
        pfc_rng rng;
        pfc_rng_seed(&rng, 77 + f->seeds++);
        run->measurements[0].samples[0] *= exp(NOISE * pfc_rng_normal(&rng));
        fx_ingest(f->db, f->project, run);
    }
    cr_assert(eq(int,
                 pfc_job_complete(f->db, job->id, secret, broken ? "broken" : "done",
                                  broken ? "cc1: error" : NULL, ids, broken ? 0 : 1, &err),
                 PFC_OK),
              "%s", err.msg);
}

/* All turns that are due; each one a server of its own as far as the rows can tell. */
static void advance(pfc_db *db)
{
    pfc_err err = { 0 };
    pfc_code code;

    do {
        code = pfc_bisections_advance(db, &err);
    } while (code == PFC_OK);
    cr_assert(eq(int, code, PFC_ENOTFOUND), "%s", err.msg);
}

/* Every runner takes a job, then all hand in; until nobody gets one. *most: jobs held at once. */
static void work(fleet *f, size_t runners, size_t *most)
{
    static const char *const names[] = { "r1", "r2", "r3", "r4" };

    *most = 0;
    for (;;) {
        pfc_jobs held[4] = { 0 };
        char secrets[4][33];
        size_t n = 0;

        advance(f->db);
        for (size_t i = 0; i < runners; i++) {
            held[i] = lease_by(f, names[i], secrets[i]);
            n += held[i].len;
        }
        *most = PFC_MAX(*most, n);
        for (size_t i = 0; i < runners; i++) {
            if (held[i].len)
                do_job(f, &held[i].items[0], secrets[i]);
            pfc_rows_clear(&held[i]);
        }
        if (n == 0)
            return;
    }
}

static int64_t start(const fleet *f, const pfc_bisection_order *order)
{
    pfc_bisection_cost cost = { 0 };
    pfc_bisections rows = { 0 };
    pfc_err err = { 0 };
    int64_t id;

    cr_assert(eq(int,
                 pfc_bisection_start(f->db, "test", f->project, order, false, &cost, &rows, &err),
                 PFC_OK),
              "%s", err.msg);
    cr_assert(eq(str, (char *)rows.items[0].state, "running"));
    cr_assert(gt(dbl, cost.expected_runs, 0));
    id = rows.items[0].id;
    pfc_rows_clear(&rows);
    return id;
}

static pfc_bisections bisection(const fleet *f, int64_t id)
{
    pfc_bisections rows = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_bisections_get(f->db, id, &rows, &err), PFC_OK), "%s", err.msg);
    return rows;
}

/* Good until the next sixteen ids are written. */
static pfc_bisection_order whole_line(void)
{
    return (pfc_bisection_order){ .metric = "time_ns",
                                  .benchmark = "gemm/a",
                                  .good = fx_sha(1),
                                  .bad = fx_sha(COMMITS),
                                  .options = { .priority = 60 } };
}

static void assert_found(const fleet *f, int64_t id, unsigned culprit)
{
    pfc_bisections rows = bisection(f, id);

    cr_assert(eq(str, (char *)rows.items[0].state, "done"), "%s", rows.items[0].reason);
    cr_assert(eq(str, (char *)rows.items[0].verdict, "found"), "%s", rows.items[0].reason);
    cr_assert(not(zero(ptr, (void *)strstr(rows.items[0].culprits_json, fx_sha(culprit)))), "%s",
              rows.items[0].culprits_json);
    pfc_rows_clear(&rows);
}

static fleet begin(pfc_db *db)
{
    fleet f = { .db = db, .project = fx_project(db) };

    fx_commits(db, f.project, 1, COMMITS);
    return f;
}

Test(remote, three_runners_at_once_find_the_commit_past_one_that_does_not_build)
{
    pfc_db *db = pfc_test_db_open(3, NULL);
    fleet f = begin(db);
    const pfc_bisection_order order = whole_line();
    pfc_bisection_detail detail = { 0 };
    size_t most = 0, asked = 0;
    pfc_err err = { 0 };
    char secret[33];
    int64_t id;

    f.broken = CULPRIT - 3;
    for (int i = 0; i < 3; i++) {
        pfc_jobs none = lease_by(&f, (const char *[]){ "r1", "r2", "r3" }[i], secret);

        cr_assert(eq(sz, none.len, 0));
    }
    id = start(&f, &order);
    work(&f, 3, &most);
    cr_assert(eq(sz, most, 3));
    assert_found(&f, id, CULPRIT);
    cr_assert(eq(int, pfc_bisection_look(db, f.project, id, &detail, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(sz, json_array_size(detail.line), COMMITS));
    cr_assert(gt(dbl, detail.posterior[CULPRIT - 1], 0.98));
    for (size_t i = 0; i < detail.steps.len; i++)
        asked += detail.steps.items[i].job_id != 0;
    cr_assert(eq(sz, asked, f.jobs)); /* nothing was asked twice, nothing forgotten */
    pfc_bisection_detail_clear(&detail);
    pfc_db_close(db);
}

Test(remote, what_is_stored_is_evidence_and_not_measured_again)
{
    pfc_db *db = pfc_test_db_open(3, NULL);
    fleet f = begin(db);
    pfc_bisection_order order = whole_line();
    int64_t id = start(&f, &order);
    size_t most, first;

    work(&f, 1, &most);
    assert_found(&f, id, CULPRIT);
    first = f.jobs;
    order = whole_line();
    id = start(&f, &order);
    work(&f, 1, &most);
    assert_found(&f, id, CULPRIT);
    cr_assert(lt(sz, f.jobs - first, first / 2), "%zu, then %zu", first, f.jobs - first);
    pfc_db_close(db);
}

Test(remote, the_dry_run_states_the_cost_and_starts_nothing)
{
    pfc_db *db = pfc_test_db_open(3, NULL);
    fleet f = begin(db);
    const pfc_bisection_order order = whole_line();
    pfc_bisection_cost cost = { 0 };
    pfc_bisections rows = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_bisection_start(db, "test", f.project, &order, true, &cost, &rows, &err),
                 PFC_OK),
              "%s", err.msg);
    cr_assert(eq(sz, cost.commits, COMMITS));
    cr_assert(gt(dbl, cost.expected_runs, 2));
    cr_assert(eq(int, isnan(cost.seconds) != 0, 1)); /* no job has shown yet how long one takes */
    cr_assert(eq(int, pfc_bisections_list(db, f.project, (pfc_page){ 0 }, &rows, &err), PFC_OK));
    cr_assert(eq(sz, rows.len, 0));
    cr_assert(eq(int, pfc_bisections_advance(db, &err), PFC_ENOTFOUND));
    pfc_rows_clear(&rows);
    pfc_db_close(db);
}

static void assert_refused(fleet *f, pfc_bisection_order order, const char *field, const char *says)
{
    pfc_bisection_cost cost = { 0 };
    pfc_bisections rows = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int,
                 pfc_bisection_start(f->db, "test", f->project, &order, false, &cost, &rows, &err),
                 PFC_EINVAL));
    cr_assert(eq(str, err.field, (char *)field), "%s", err.msg);
    cr_assert(not(zero(ptr, (void *)strstr(err.msg, says))), "%s", err.msg);
}

Test(remote, wrong_orders_are_refused_with_what_to_do)
{
    pfc_db *db = pfc_test_db_open(3, NULL);
    fleet f = begin(db);
    pfc_bisection_order order = whole_line();

    order.good = fx_sha(60);
    order.bad = fx_sha(3);
    assert_refused(&f, order, "good", "swap them");
    order.good = order.bad;
    assert_refused(&f, order, "bad", "the same commit");
    order = whole_line();
    order.good = fx_sha(999);
    assert_refused(&f, order, "good", "knows no commit");
    order.good = "12345";
    assert_refused(&f, order, "good", "7 to 40 digits");
    order.good = "0000000";
    assert_refused(&f, order, "bad", "the same commit");
    order = whole_line();
    order.metric = NULL;
    assert_refused(&f, order, "metric", "want a metric, or an alert");
    order.alert_id = 4711;
    assert_refused(&f, order, "alert_id", "no alert 4711");
    pfc_db_close(db);
}

Test(remote, an_end_that_does_not_build_is_said_and_ends_it)
{
    pfc_db *db = pfc_test_db_open(3, NULL);
    fleet f = begin(db);
    const pfc_bisection_order order = whole_line();
    pfc_bisections rows;
    size_t most;
    int64_t id = start(&f, &order);

    f.broken = COMMITS;
    work(&f, 1, &most);
    rows = bisection(&f, id);
    cr_assert(eq(str, (char *)rows.items[0].verdict, "inconclusive"));
    cr_assert(not(zero(ptr, (void *)strstr(rows.items[0].reason, "the bad end"))), "%s",
              rows.items[0].reason);
    cr_assert(not(zero(ptr, (void *)strstr(rows.items[0].reason, "cc1: error"))), "%s",
              rows.items[0].reason);
    pfc_rows_clear(&rows);
    pfc_db_close(db);
}

Test(remote, cancelling_ends_its_jobs_and_keeps_what_was_measured)
{
    pfc_db *db = pfc_test_db_open(3, NULL);
    fleet f = begin(db);
    const pfc_bisection_order order = whole_line();
    pfc_bisection_detail detail = { 0 };
    pfc_bisections rows = { 0 };
    pfc_jobs jobs = { 0 };
    pfc_err err = { 0 };
    char secret[33];
    int64_t id = start(&f, &order);

    advance(db);
    jobs = lease_by(&f, "r1", secret);
    do_job(&f, &jobs.items[0], secret);
    pfc_rows_clear(&jobs);
    advance(db);
    cr_assert(eq(int, pfc_bisection_cancel(db, "test", id, &rows, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(str, (char *)rows.items[0].state, "cancelled"));
    pfc_rows_clear(&rows);
    jobs = lease_by(&f, "r1", secret);
    cr_assert(eq(sz, jobs.len, 0));
    cr_assert(eq(int, pfc_bisections_advance(db, &err), PFC_ENOTFOUND));
    cr_assert(eq(int, pfc_bisection_cancel(db, "test", id, &rows, &err), PFC_ECONFLICT));
    cr_assert(eq(int, pfc_bisection_look(db, f.project, id, &detail, &err), PFC_OK));
    cr_assert(eq(str, (char *)detail.steps.items[0].state, "measured"));
    pfc_bisection_detail_clear(&detail);
    pfc_db_close(db);
}

Test(remote, runs_of_a_search_open_no_alert)
{
    pfc_db *db = pfc_test_db_open(3, NULL);
    fleet f = begin(db);
    const pfc_bisection_order order = whole_line();
    const pfc_alert_filter filter = { .project_id = f.project };
    pfc_alerts alerts = { 0 };
    size_t most;
    pfc_err err = { 0 };

    start(&f, &order);
    work(&f, 1, &most);
    fx_detect(db);
    cr_assert(eq(int, pfc_alerts_list(db, &filter, (pfc_page){ 0 }, &alerts, &err), PFC_OK));
    cr_assert(eq(sz, alerts.len, 0));
    pfc_rows_clear(&alerts);
    pfc_db_close(db);
}
