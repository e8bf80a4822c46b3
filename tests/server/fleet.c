/* The fake fleet. */
#include "tests/server/fleet.h"

#include <math.h>

#include "core/base/rng.h"
#include "server/services/bisect/bisect.h"
#include "server/services/queue/queue.h"

#include "tests/check/check.h"
#include "tests/server/fixture.h"

unsigned fleet_commit_number(const char *sha)
{
    return (unsigned)strtoul(sha + 32, NULL, 16);
}

pfc_jobs fleet_lease(const fleet *f, const char *runner, char secret[PFC_LEASE_SIZE])
{
    const pfc_lease_request request = { .runner = runner, .machine_class = "test-cpu" };
    pfc_jobs jobs = { 0 };
    pfc_err err = { 0 };
    pfc_code code = pfc_job_lease(f->db, &request, &jobs, secret, &err);

    cr_assert(code == PFC_OK || code == PFC_ENOTFOUND, "%s", err.msg);
    return jobs;
}

/* A run of commit n with its level, a fresh wobble, and the job's numbers; its id into `id`. */
static void store_run(fleet *f, unsigned n, const pfc_job *job, char id[33])
{
    const double level = n >= CULPRIT && !f->healed ? 100 * STEP : 100;
    pfc_run *run = fx_run(n);
    pfc_rng rng;

    (void)snprintf(id, 33, "%s", run->id);
    run->job_id = job->id;
    run->job_fence = job->fence;
    fx_measure(run, "gemm/a", "time_ns", level, 0, 1, 1, 1);
    pfc_rng_seed(&rng, 77 + f->seeds++);
    run->measurements[0].samples[0] *= exp(NOISE * pfc_rng_normal(&rng));
    fx_ingest(f->db, f->project, run);
}

void fleet_do_job(fleet *f, const pfc_job *job, const char *secret)
{
    const bool broken = f->none_builds || fleet_commit_number(job->commit) == f->broken;
    json_t *task = json_loads(job->task_json, 0, NULL);
    const char *pair = json_string_value(json_object_get(task, "pair"));
    char ids[2][33];
    const char *const list[] = { ids[0], ids[1] };
    pfc_err err = { 0 };

    f->jobs++;
    f->pairs += pair != NULL;
    if (!broken)
        store_run(f, fleet_commit_number(job->commit), job, ids[0]);
    if (!broken && pair)
        store_run(f, fleet_commit_number(pair), job, ids[1]);
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

void fleet_advance(pfc_db *db)
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

/* Every runner leases a job, then all report results; repeated until the queue is empty. *most:
 * largest number of jobs leased at once. */
void fleet_work(fleet *f, size_t runners, size_t *most)
{
    static const char *const names[] = { "r1", "r2", "r3", "r4" };

    *most = 0;
    for (;;) {
        pfc_jobs held[4] = { 0 };
        char secrets[4][PFC_LEASE_SIZE];
        size_t n = 0;

        fleet_advance(f->db);
        for (size_t i = 0; i < runners; i++) {
            held[i] = fleet_lease(f, names[i], secrets[i]);
            n += held[i].len;
        }
        *most = PFC_MAX(*most, n);
        for (size_t i = 0; i < runners; i++) {
            if (held[i].len)
                fleet_do_job(f, &held[i].items[0], secrets[i]);
            pfc_rows_clear(&held[i]);
        }
        if (n == 0)
            return;
    }
}

int64_t fleet_start(const fleet *f, const pfc_bisection_order *order)
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

pfc_bisections fleet_bisection(const fleet *f, int64_t id)
{
    pfc_bisections rows = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_bisections_get(f->db, id, &rows, &err), PFC_OK), "%s", err.msg);
    return rows;
}

pfc_bisection_order fleet_whole_line(void)
{
    return (pfc_bisection_order){ .metric = "time_ns",
                                  .benchmark = "gemm/a",
                                  .good = fx_sha(1),
                                  .bad = fx_sha(COMMITS),
                                  .options = { .priority = 60 } };
}

void fleet_assert_found(const fleet *f, int64_t id, unsigned culprit)
{
    pfc_bisections rows = fleet_bisection(f, id);

    cr_assert(eq(str, (char *)rows.items[0].state, "done"), "%s", rows.items[0].reason);
    cr_assert(eq(str, (char *)rows.items[0].verdict, "found"), "%s", rows.items[0].reason);
    cr_assert(not(zero(ptr, (void *)strstr(rows.items[0].culprits_json, fx_sha(culprit)))), "%s",
              rows.items[0].culprits_json);
    pfc_rows_clear(&rows);
}

fleet fleet_begin(pfc_db *db)
{
    fleet f = { .db = db, .project = fx_project(db) };

    fx_commits(db, f.project, 1, COMMITS);
    return f;
}
