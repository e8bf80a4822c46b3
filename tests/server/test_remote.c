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
    bool healed;     /* from now on nobody sees the step any more */
    size_t jobs, pairs;
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

/* A run of commit n with its level, a fresh wobble, and the job's number; its id into `id`. */
static void store_run(fleet *f, unsigned n, int64_t job, char id[33])
{
    const double level = n >= CULPRIT && !f->healed ? 100 * STEP : 100;
    pfc_run *run = fx_run(n);
    pfc_rng rng;

    (void)snprintf(id, 33, "%s", run->id);
    run->job_id = job;
    fx_measure(run, "gemm/a", "time_ns", level, 0, 1, 1, 1);
    pfc_rng_seed(&rng, 77 + f->seeds++);
    run->measurements[0].samples[0] *= exp(NOISE * pfc_rng_normal(&rng));
    fx_ingest(f->db, f->project, run);
}

/* Measures the leased job and hands it back, as an agent does. */
static void do_job(fleet *f, const pfc_job *job, const char *secret)
{
    const bool broken = commit_number(job->commit) == f->broken;
    json_t *task = json_loads(job->task_json, 0, NULL);
    const char *pair = json_string_value(json_object_get(task, "pair"));
    char ids[2][33];
    const char *const list[] = { ids[0], ids[1] };
    pfc_err err = { 0 };

    f->jobs++;
    f->pairs += pair != NULL;
    if (!broken)
        store_run(f, commit_number(job->commit), job->id, ids[0]);
    if (!broken && pair)
        store_run(f, commit_number(pair), job->id, ids[1]);
    cr_assert(eq(int,
                 pfc_job_complete(f->db, job->id, secret, broken ? "broken" : "done",
                                  broken ? "cc1: error" : NULL, list,
                                  broken ? 0
                                  : pair ? 2
                                         : 1,
                                  &err),
                 PFC_OK),
              "%s", err.msg);
    json_decref(task);
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
    do {
        code = pfc_verifications_advance(db, &err);
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
    cr_assert(eq(sz, asked, f.jobs - f.pairs)); /* nothing was asked twice, nothing forgotten */
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
    first = f.jobs - f.pairs;
    order = whole_line();
    id = start(&f, &order);
    work(&f, 1, &most);
    assert_found(&f, id, CULPRIT);
    cr_assert(lt(sz, f.jobs - f.pairs - first, first / 2), "%zu, then %zu", first,
              f.jobs - f.pairs - first);
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

/* ---- verification ---- */

static int64_t alert_of_the_step(fleet *f)
{
    const pfc_alert_filter filter = { .project_id = f->project };
    pfc_alerts alerts = { 0 };
    pfc_err err = { 0 };
    int64_t id;

    for (unsigned n = 1; n <= COMMITS; n += 3) {
        pfc_run *run = fx_run(n);

        fx_measure(run, "gemm/a", "time_ns", n >= CULPRIT ? 100 * STEP : 100, NOISE / 2, 9, 3, n);
        fx_ingest(f->db, f->project, run);
    }
    fx_detect(f->db);
    cr_assert(eq(int, pfc_alerts_list(f->db, &filter, (pfc_page){ 0 }, &alerts, &err), PFC_OK));
    cr_assert(eq(sz, alerts.len, 1));
    id = alerts.items[0].id;
    pfc_rows_clear(&alerts);
    return id;
}

static char *culprit_of(const fleet *f, int64_t alert)
{
    pfc_alerts alerts = { 0 };
    pfc_err err = { 0 };
    char *culprit;

    cr_assert(eq(int, pfc_alerts_get(f->db, alert, &alerts, &err), PFC_OK));
    culprit = pfc_strdup(alerts.items[0].culprit ? alerts.items[0].culprit : "none");
    pfc_rows_clear(&alerts);
    return culprit;
}

/* Searches from the alert, with two runners; heals before the first pair when told to. */
static pfc_bisection_detail search_and_verify(fleet *f, int64_t alert, bool heal)
{
    const pfc_bisection_order order = { .alert_id = alert, .options = { .priority = 60 } };
    pfc_bisection_detail detail = { 0 };
    pfc_err err = { 0 };
    char *culprit;
    char secret[33];
    int64_t id;

    id = start(f, &order);
    for (;;) {
        pfc_bisections rows;
        pfc_jobs held;
        bool done;

        advance(f->db);
        rows = bisection(f, id);
        done = strcmp(rows.items[0].state, "done") == 0;
        pfc_rows_clear(&rows);
        if (done)
            break;
        held = lease_by(f, "r1", secret);
        cr_assert(eq(sz, held.len, 1));
        do_job(f, &held.items[0], secret);
        pfc_rows_clear(&held);
    }
    assert_found(f, id, CULPRIT);
    culprit = culprit_of(f, alert);
    cr_assert(eq(str, culprit, "none")); /* named, not blamed */
    free(culprit);
    f->healed = heal;
    for (size_t idle = 0; idle < 2;) {
        static const char *const names[] = { "r1", "r2" };

        idle = 0;
        for (size_t i = 0; i < 2; i++) {
            pfc_jobs held;

            advance(f->db);
            held = lease_by(f, names[i], secret);
            idle += held.len == 0;
            if (held.len)
                do_job(f, &held.items[0], secret);
            pfc_rows_clear(&held);
        }
    }
    cr_assert(eq(int, pfc_bisection_look(f->db, f->project, id, &detail, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(sz, detail.verifications.len, 1));
    return detail;
}

Test(verify, a_commit_is_blamed_once_fresh_pairs_agree)
{
    pfc_db *db = pfc_test_db_open(3, NULL);
    fleet f = begin(db);
    int64_t alert = alert_of_the_step(&f);
    pfc_bisection_detail detail = search_and_verify(&f, alert, false);
    const pfc_verification *v = &detail.verifications.items[0];
    char *culprit = culprit_of(&f, alert);

    cr_assert(eq(str, (char *)v->state, "confirmed"), "%s", v->reason);
    cr_assert(eq(str, culprit, (char *)fx_sha(CULPRIT)));
    cr_assert(eq(str, (char *)v->before, (char *)fx_sha(CULPRIT - 1)));
    cr_assert(epsilon_eq(dbl, v->rel_change, STEP - 1, 0.02));
    cr_assert(lt(dbl, v->p, 0.01));
    cr_assert(eq(i64, v->pairs, (int64_t)f.pairs));
    free(culprit);
    pfc_bisection_detail_clear(&detail);
    pfc_db_close(db);
}

Test(verify, nobody_is_blamed_for_what_fresh_pairs_do_not_show)
{
    pfc_db *db = pfc_test_db_open(3, NULL);
    fleet f = begin(db);
    int64_t alert = alert_of_the_step(&f);
    pfc_bisection_detail detail = search_and_verify(&f, alert, true);
    char *culprit = culprit_of(&f, alert);

    /* "refuted", or "open" when the pairs allowed do not tell */
    cr_assert(ne(str, (char *)detail.verifications.items[0].state, "confirmed"));
    cr_assert(eq(str, culprit, "none"));
    free(culprit);
    pfc_bisection_detail_clear(&detail);
    pfc_db_close(db);
}

Test(verify, another_runner_confirms_when_there_is_one)
{
    pfc_db *db = pfc_test_db_open(3, NULL);
    fleet f = begin(db);
    int64_t alert = alert_of_the_step(&f);
    pfc_bisection_detail detail;
    pfc_jobs none;
    char secret[33];

    none = lease_by(&f, "r2", secret); /* so that it is known */
    cr_assert(eq(sz, none.len, 0));
    detail = search_and_verify(&f, alert, false);
    cr_assert(eq(str, (char *)detail.verifications.items[0].state, "confirmed"));
    cr_assert(eq(str, (char *)detail.verifications.items[0].runners, "r2"));
    pfc_bisection_detail_clear(&detail);
    pfc_db_close(db);
}

/* ---- backfill ---- */

/* An alert whose range has `gap` - 1 unmeasured commits: measured at every gap-th one only. */
static void alert_with_a_wide_range(fleet *f, unsigned gap)
{
    for (unsigned n = 1; n <= COMMITS; n++) {
        pfc_run *run;

        /* The culprit lies in the middle of a hole in an otherwise measured line. */
        if (n > CULPRIT - gap / 2 && n < CULPRIT + gap / 2)
            continue;
        run = fx_run(n);
        fx_measure(run, "gemm/a", "time_ns", n >= CULPRIT ? 100 * STEP : 100, NOISE / 4, 9, 3, n);
        fx_ingest(f->db, f->project, run);
    }
    fx_detect(f->db);
}

Test(backfill, a_wide_range_shrinks_by_its_middle_within_the_budget)
{
    char *url = NULL;
    pfc_db *db = pfc_test_db_open(3, &url);
    fleet f = begin(db);
    const pfc_backfill_opts opts = { .delay_s = 60, .budget = 2, .narrowest = 3 };
    pfc_jobs held;
    pfc_err err = { 0 };
    int64_t job = 0;
    char secret[33];

    alert_with_a_wide_range(&f, 16);
    pfc_test_sql(url, "UPDATE projects SET repo_url = '/srv/p.git'");
    /* It must ripen first. */
    cr_assert(eq(int, pfc_backfill_next(db, &opts, &job, &err), PFC_ENOTFOUND), "%s", err.msg);
    pfc_test_sql(url, "UPDATE alerts SET created_at = now() - interval '1 hour'");
    cr_assert(eq(int, pfc_backfill_next(db, &opts, &job, &err), PFC_OK), "%s", err.msg);
    /* One at a time: where the next middle lies is not known before this one is measured. */
    cr_assert(eq(int, pfc_backfill_next(db, &opts, &job, &err), PFC_ENOTFOUND));
    held = lease_by(&f, "r1", secret);
    cr_assert(eq(sz, held.len, 1));
    cr_assert(eq(str, (char *)held.items[0].kind, "backfill"));
    cr_assert(ge(int, (int)commit_number(held.items[0].commit), CULPRIT - 3));
    cr_assert(le(int, (int)commit_number(held.items[0].commit), CULPRIT + 3));
    do_job(&f, &held.items[0], secret);
    pfc_rows_clear(&held);
    fx_detect(db);
    cr_assert(eq(int, pfc_backfill_next(db, &opts, &job, &err), PFC_OK), "%s", err.msg);
    held = lease_by(&f, "r1", secret);
    do_job(&f, &held.items[0], secret);
    pfc_rows_clear(&held);
    fx_detect(db);
    cr_assert(eq(int, pfc_backfill_next(db, &opts, &job, &err), PFC_ENOTFOUND)); /* spent */
    free(url);
    pfc_db_close(db);
}
