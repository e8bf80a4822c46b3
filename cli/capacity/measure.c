/*
 * Takes the constants of `perfci capacity` on this machine, as bench/studies/service/sizes.py does:
 * a private service stores and judges runs whose shapes differ in one thing each.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/api.h"
#include "cli/capacity/capacity.h"
#include "cli/local/pg_programs.h"
#include "cli/local/stack.h"
#include "core/base/clock.h"
#include "core/base/fs.h"
#include "core/base/process/proc.h"
#include "core/base/rng.h"

#define PROJECT      "capacity"
#define JUDGED_RUNS  PFC_CAPACITY_CHANGED /* of a stage, one by one */
#define CHANGE       1.05                 /* of the level */
#define COMMITS_POST 1000
#define POLL_NS      (20 * PFC_NS_PER_MS)
#define MAX_CHILDREN 4096

/* The sizes of the tables of runs, of the jobs, and of the measurements and their indexes. */
#define SIZE_OF(names)                                                                             \
    "(SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c WHERE "       \
    "c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND c.relname IN (" names "))"
#define PARTS(size)                                                                                \
    "(SELECT coalesce(sum(" size "(c.relid)), 0)::bigint FROM "                                    \
    "pg_partition_tree('measurements') AS c WHERE c.isleaf)"
#define SIZES                                                                                      \
    "SELECT " SIZE_OF("'runs', 'run_parts', 'commits', 'audit', 'branch_commits'") ", " SIZE_OF(   \
        "'jobs'") ", " PARTS("pg_table_size") ", " PARTS("pg_indexes_size") ", "                   \
                                                                            "pg_wal_lsn_diff(pg_"  \
                                                                            "current_wal_insert_"  \
                                                                            "lsn(), "              \
                                                                            "'0/0')::bigint"

typedef struct sizes {
    double runs, jobs, table, index, log;
} sizes;

typedef struct measuring {
    const pfc_cli *cli;
    char *folder, *program; /* of the service; this program */
    pfc_stack stack;
    pfc_http *http;
    char *database;
    pfc_rng rng;
    int64_t until_ns;
    int stage, stages;
    size_t commits, runs; /* made so far, of the current project */
} measuring;

/* ---- the private service ---- */

static pfc_code call_self(const char *const *argv, double timeout_s, bool stoppable, pfc_err *err)
{
    const pfc_proc_opts opts = { .argv = argv,
                                 .timeout_s = timeout_s,
                                 .cancelled = stoppable ? pfc_cli_interrupted : NULL };
    pfc_proc_result res;
    pfc_code code = pfc_proc_run(&opts, &res, err);

    if (code)
        return code;
    if (res.exit_status != 0) {
        code = pfc_err_set(err, PFC_EUNAVAIL, "--measure: %.400s", pfc_buf_text(&res.err));
        err->msg[strcspn(err->msg, "\n")] = '\0';
    }
    pfc_proc_result_clear(&res);
    return code;
}

static pfc_code start_service(measuring *m, pfc_err *err)
{
    char *bin = NULL;
    pfc_code code = pfc_fs_program_dir(&bin, err);

    if (!code) {
        m->program = pfc_fs_join(bin, "perfci");
        code = pfc_fs_temp_dir("capacity", &m->folder, err);
    }
    free(bin);
    if (!code) {
        const char *const argv[] = { m->program, "up",      "--detach",    "--port",  "0",
                                     "--data",   m->folder, "--no-runner", "--quiet", NULL };

        code = call_self(argv, 180, true, err);
    }
    if (!code)
        code = pfc_stack_open(&m->stack, m->folder, false, err);
    if (!code) {
        m->database = pfc_cluster_url(&m->stack);
        code = pfc_api_open(m->stack.url, m->folder, NULL, &m->http, err);
    }
    /* Images of full pages follow checkpoints, not runs: they are no part of the constants. */
    if (!code)
        code = pfc_pg_rows(m->database, "ALTER SYSTEM SET full_page_writes = off", NULL, err);
    if (!code)
        code = pfc_pg_rows(m->database, "SELECT pg_reload_conf()", NULL, err);
    return code;
}

static void stop_service(measuring *m)
{
    pfc_err unused = { 0 };

    pfc_http_free(m->http);
    free(m->database);
    pfc_stack_close(&m->stack);
    if (m->folder) {
        const char *const argv[] = { m->program, "down", "--data", m->folder, "--delete", NULL };

        if (call_self(argv, 180, false, &unused) != PFC_OK)
            pfc_cli_warn(m->cli,
                         "the private service was not removed: run \"perfci down --data %s "
                         "--delete\"",
                         m->folder);
        else if (pfc_fs_remove_tree(m->folder, &unused) != PFC_OK && access(m->folder, F_OK) == 0)
            pfc_cli_warn(m->cli, "%s was not removed", m->folder);
    }
    free(m->folder);
    free(m->program);
}

static pfc_code in_time(const measuring *m, pfc_err *err)
{
    if (pfc_cli_interrupted(NULL))
        return pfc_err_set(err, PFC_ECONFLICT, "--measure: interrupted");
    if (pfc_clock_ns() > m->until_ns)
        return pfc_err_set(err, PFC_ETIMEOUT,
                           "--measure: not finished within %.0f s, in stage %d of %d: try again "
                           "when the machine has less to do",
                           PFC_CAPACITY_MEASURE_S, m->stage, m->stages);
    return PFC_OK;
}

/* ---- what it used ---- */

/* The parent and the clock ticks of a process, exited children that it has waited for included. */
static bool read_stat(pid_t pid, pid_t *parent, double *ticks)
{
    char path[64], line[1024];
    const char *fields = NULL;
    int from_state = 0;
    unsigned long long user = 0, system = 0;
    long long child_user = 0, child_system = 0;
    FILE *file;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    file = fopen(path, "r");
    if (!file)
        return false;
    if (fgets(line, sizeof(line), file))
        fields = strrchr(line, ')');
    (void)fclose(file);
    if (!fields ||
        sscanf(fields, ") %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %lld %lld",
               &from_state, &user, &system, &child_user, &child_system) != 5)
        return false;
    *parent = from_state;
    *ticks = (double)user + (double)system + (double)child_user + (double)child_system;
    return true;
}

/* Milliseconds of the server, and of PostgreSQL with all of its processes. */
static pfc_code processor_ms(const measuring *m, double *out, pfc_err *err)
{
    char path[96], *list = NULL;
    size_t len = 0;
    pid_t parent;
    double ticks = 0, sum = 0;
    pfc_code code;

    if (!read_stat(m->stack.server.pid, &parent, &sum) ||
        !read_stat(m->stack.postgres.pid, &parent, &ticks))
        return pfc_err_set(err, PFC_EUNAVAIL, "--measure: the private service has ended");
    sum += ticks;
    (void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)m->stack.postgres.pid,
                   (int)m->stack.postgres.pid);
    code = pfc_fs_read(path, 65536, &list, &len, err);
    for (char *at = list, *end = NULL; !code; at = end) {
        const long pid = strtol(at, &end, 10);

        if (end == at)
            break;
        if (read_stat((pid_t)pid, &parent, &ticks) && parent == m->stack.postgres.pid)
            sum += ticks;
    }
    free(list);
    *out = sum * 1e3 / (double)sysconf(_SC_CLK_TCK);
    return code;
}

static pfc_code read_sizes(const measuring *m, sizes *out, pfc_err *err)
{
    char *rows = NULL;
    pfc_code code = pfc_pg_rows(m->database, SIZES, &rows, err);

    if (!code && sscanf(rows, "%lf %lf %lf %lf %lf", &out->runs, &out->jobs, &out->table,
                        &out->index, &out->log) != 5)
        code = pfc_err_set(err, PFC_EBUG, "--measure: psql answered \"%.80s\"", rows);
    free(rows);
    return code;
}

/* ---- runs ---- */

static pfc_code post(measuring *m, const char *path, json_t *body, pfc_err *err)
{
    pfc_code code = in_time(m, err);

    if (!code)
        code = pfc_http_json(m->http, "POST", path, body, NULL, NULL, err);
    json_decref(body);
    return code;
}

static json_t *commit_of(size_t i)
{
    char id[48], parent[48];

    (void)snprintf(id, sizeof(id), "%040zx", i + 1);
    (void)snprintf(parent, sizeof(parent), "%040zx", i);
    return json_pack("{s:s, s:o, s:s, s:s, s:s}", "id", id, "parents",
                     i ? json_pack("[s]", parent) : json_array(), "author", "capacity", "time",
                     "2026-01-01T00:00:00Z", "subject", "a commit");
}

static pfc_code post_commits(measuring *m, size_t count, pfc_err *err)
{
    pfc_code code = PFC_OK;

    for (size_t end = m->commits + count; !code && m->commits < end;) {
        json_t *list = json_array();
        char *path = pfc_format("/api/v1/projects/" PROJECT "-%d/commits", m->stage);

        for (size_t n = 0; n < COMMITS_POST && m->commits < end; n++)
            json_array_append_new(list, commit_of(m->commits++));
        code = post(m, path, json_pack("{s:s, s:o}", "branch", "main", "commits", list), err);
        free(path);
    }
    return code;
}

/* All series at a level of their own, with 0.5 % of noise; that of the first `changed` has changed.
 */
static json_t *measurements_of(measuring *m, size_t series, size_t changed, size_t samples)
{
    json_t *list = json_array();

    for (size_t s = 0; s < series; s++) {
        const double level = (double)(1000 * (s + 1)) * (s < changed ? CHANGE : 1);
        json_t *block = json_array();
        char name[32];

        (void)snprintf(name, sizeof(name), "k/%zu", s);
        for (size_t i = 0; i < samples; i++)
            json_array_append_new(block, json_real(level * (1 + 0.005 * pfc_rng_normal(&m->rng))));
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s, s:s, s:[o]}", "benchmark", name,
                                              "metric", "time_ns", "backend", "cpu", "unit", "ns",
                                              "direction", "lower", "samples", block));
    }
    return list;
}

static pfc_code post_run(measuring *m, size_t series, size_t changed, size_t samples, pfc_err *err)
{
    char id[48], commit[48], project[32], hash[65];

    (void)snprintf(id, sizeof(id), "%08x%024zx", (unsigned)m->stage, m->runs);
    (void)snprintf(commit, sizeof(commit), "%040zx", ++m->runs);
    (void)snprintf(project, sizeof(project), PROJECT "-%d", m->stage);
    memset(hash, 'a', 64);
    hash[64] = '\0';
    return post(
        m, "/api/v1/runs",
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:{s:s, s:s, s:{s:s}}, s:o}",
                  "schema", "perfci.run/1", "id", id, "project", project, "commit", commit,
                  "branch", "main", "suite", "capacity", "suite_hash", hash, "started_at",
                  "2026-01-01T00:00:00Z", "finished_at", "2026-01-01T00:01:00Z", "machine", "name",
                  "capacity", "class", "capacity", "fingerprint", "cpu", "any", "measurements",
                  measurements_of(m, series, changed, samples)),
        err);
}

static pfc_code wait_judged(measuring *m, pfc_err *err)
{
    pfc_code code = PFC_OK;

    for (bool waits = true; !code && waits;) {
        json_t *stats = NULL;

        code = in_time(m, err);
        if (!code)
            code = pfc_http_json(m->http, "GET", "/api/v1/stats", NULL, NULL, &stats, err);
        waits = json_number_value(json_object_get(stats, "detection_lag_s")) > 0;
        json_decref(stats);
        if (!code && waits)
            pfc_clock_sleep_ns(POLL_NS);
    }
    return code;
}

static pfc_code post_runs(measuring *m, size_t count, const pfc_capacity_stage *s, bool one_by_one,
                          pfc_err *err)
{
    pfc_code code = PFC_OK;

    for (size_t i = 0; !code && i < count; i++) {
        pfc_cli_progress(m->cli, "stage %d of %d: run %zu of %zu", m->stage, m->stages, i + 1,
                         count);
        code = post_run(m, (size_t)s->series, one_by_one ? (size_t)s->changing : 0,
                        (size_t)s->samples, err);
        if (!code && one_by_one)
            code = wait_judged(m, err);
    }
    return code;
}

/* Fills up to s->earlier points of each series, then stores and judges runs one by one. */
static pfc_code take(measuring *m, pfc_capacity_stage *s, pfc_err *err)
{
    const size_t more = (size_t)s->earlier - m->runs;
    const double points = (double)(more + JUDGED_RUNS) * s->series;
    sizes before = { 0 }, filled = { 0 }, after = { 0 };
    double since = 0, until = 0;
    pfc_code code = post_commits(m, more + JUDGED_RUNS, err);

    if (!code)
        code = read_sizes(m, &before, err);
    if (!code)
        code = post_runs(m, more, s, false, err);
    if (!code)
        code = wait_judged(m, err);
    if (!code)
        code = pfc_pg_rows(m->database, "VACUUM ANALYZE", NULL, err);
    if (!code)
        code = read_sizes(m, &filled, err);
    if (!code)
        code = processor_ms(m, &since, err);
    if (!code)
        code = post_runs(m, JUDGED_RUNS, s, true, err);
    if (!code)
        code = processor_ms(m, &until, err);
    if (!code)
        code = read_sizes(m, &after, err);
    if (code)
        return code;
    s->ms = (until - since) / JUDGED_RUNS;
    s->log_bytes = (after.log - filled.log) / JUDGED_RUNS;
    s->table_bytes = (after.table - before.table) / points;
    s->index_bytes = (after.index - before.index) / points;
    return PFC_OK;
}

/* A project of its own. */
static pfc_code begin(measuring *m, pfc_err *err)
{
    char *name;
    pfc_code code;

    m->stage++;
    pfc_cli_note(m->cli, "measuring: stage %d of %d", m->stage, m->stages);
    m->commits = m->runs = 0;
    name = pfc_format(PROJECT "-%d", m->stage);
    code = post(m, "/api/v1/projects", json_pack("{s:s}", "name", name), err);
    free(name);
    return code;
}

static pfc_code take_all(measuring *m, pfc_capacity_figures *f, pfc_err *err)
{
    sizes before = { 0 }, after = { 0 };
    size_t runs = 0;
    pfc_code code = read_sizes(m, &before, err);

    if (!code)
        code = begin(m, err);
    if (!code)
        code = take(m, &f->few, err);
    runs += m->runs;
    if (!code)
        code = begin(m, err);
    if (!code)
        code = take(m, &f->sampled, err);
    runs += m->runs;
    if (!code)
        code = begin(m, err);
    if (!code)
        code = take(m, &f->many, err);
    if (!code)
        code = take(m, &f->aged, err);
    runs += m->runs;
    if (!code)
        code = begin(m, err);
    if (!code)
        code = take(m, &f->changed, err);
    runs += m->runs;
    if (!code)
        code = read_sizes(m, &after, err);
    if (code)
        return code;
    f->run_bytes = (after.runs - before.runs) / (double)runs;
    f->job_bytes = (after.jobs - before.jobs) / (double)runs;
    return PFC_OK;
}

pfc_code pfc_capacity_measure(const pfc_cli *cli, pfc_capacity_figures *out, pfc_err *err)
{
    measuring m = { .cli = cli,
                    .until_ns = pfc_clock_ns() + (int64_t)(PFC_CAPACITY_MEASURE_S * PFC_NS_PER_S),
                    .stages = 4,
                    .stack = { .lock_fd = -1 } };
    pfc_code code;

    *out = (pfc_capacity_figures){
        .few = { .series = 10, .samples = 3, .earlier = PFC_CAPACITY_EARLIER },
        .many = { .series = 100, .samples = 3, .earlier = PFC_CAPACITY_EARLIER },
        .sampled = { .series = 100, .samples = 50, .earlier = PFC_CAPACITY_EARLIER },
        .aged = { .series = 100, .samples = 3, .earlier = 1000 },
        /* A tenth: more at once is an event of the machine. */
        .changed = { .series = 100, .samples = 3, .earlier = PFC_CAPACITY_EARLIER, .changing = 10 },
    };
    pfc_rng_seed(&m.rng, 1);
    pfc_cli_catch_signals();
    pfc_cli_progress(cli, "starting a private service");
    code = start_service(&m, err);
    if (!code)
        code = take_all(&m, out, err);
    if (code && pfc_cli_interrupted(NULL)) /* whatever it ended, such as a program or a request */
        code = pfc_err_set(err, PFC_ECONFLICT, "--measure: interrupted");
    pfc_cli_progress(cli, "removing the private service");
    stop_service(&m);
    pfc_cli_progress(cli, "%s", "");
    return code;
}
