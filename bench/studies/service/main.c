/*
 * perfci-bench-service [--rounds N] [--runs N] [--seconds N] [--minutes N] [--overload] [--json]
 *                      [--strict]
 *
 * How many runs a second the service takes, beside what PostgreSQL itself takes: in each round
 * pgbench with 32 clients stores the same rows (a run, its part, 8 measurements of 12 samples, its
 * job, its audit row) in one statement and one commit a run; then 64 and 256 clients post the same
 * run over HTTP; with --overload 6,000 do, more than the server lets wait: what it cannot take it
 * must refuse by 503 or 429, and by nothing else. The ratio is within the round, so a busy machine
 * weighs on both. At the end the stored runs are counted: each acknowledged one must be there, and
 * no other.
 */
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "bench/studies/service/service.h"
#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/parse.h"
#include "core/http/client.h"

#define COMMITS    64
#define ROUNDS_MAX 100
#define PG_CLIENTS 32
#define QUIET_S    8

static const unsigned crowds[] = { 64, 256, 6000 };
/* Goals of --strict, by crowd: median ratio at least, /healthz at p99 at most. */
static const double least_ratio[] = { 1.6, 1.9, 0 };
static const double most_health_ms[] = { 5, 5, HUGE_VAL };

/* ---- what is stored ---- */

static json_t *measurement(int n)
{
    char name[64];
    json_t *blocks = json_array();

    (void)snprintf(name, sizeof(name), "gemm/f32/m%dn64k64", 64 * (n + 1));
    for (int b = 0; b < 3; b++) {
        json_t *samples = json_array();

        for (int s = 0; s < 4; s++)
            json_array_append_new(samples, json_real(1000.0 + 17.25 * n + 0.5 * b + 0.125 * s));
        json_array_append_new(blocks, samples);
    }
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:o}", "benchmark", name, "metric", "time_ns",
                     "backend", "cpu-avx2", "unit", "ns", "direction", "lower", "samples", blocks);
}

static char *document(const char *id)
{
    json_t *list = json_array(), *run;
    char commit[41], *text;

    for (int i = 0; i < BENCH_MEASUREMENTS; i++)
        json_array_append_new(list, measurement(i));
    (void)snprintf(commit, sizeof(commit), "%040x", COMMITS);
    run = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:{s:s, s:s, s:{s:s, s:s}}, s:o}",
                    "schema", "perfci.run/1", "id", id, "project", "bench", "commit", commit,
                    "suite", "quick", "suite_hash",
                    "abababababababababababababababababababababababababababababababab",
                    "started_at", "2026-01-02T00:00:00Z", "finished_at", "2026-01-02T00:01:00Z",
                    "machine", "name", "host", "class", "bench-cpu", "fingerprint", "cpu", "bench",
                    "compiler", "cc 1", "measurements", list);
    text = json_dumps(run, JSON_COMPACT);
    json_decref(run);
    return text;
}

static json_t *history(void)
{
    json_t *commits = json_array();

    for (int i = 1; i <= COMMITS; i++) {
        char id[41], parent[41];
        json_t *parents = json_array();

        (void)snprintf(id, sizeof(id), "%040x", i);
        (void)snprintf(parent, sizeof(parent), "%040x", i - 1);
        if (i > 1)
            json_array_append_new(parents, json_string(parent));
        json_array_append_new(commits, json_pack("{s:s, s:o, s:s, s:s, s:s}", "id", id, "parents",
                                                 parents, "author", "Bench", "time",
                                                 "2026-01-01T00:00:00Z", "subject", "change"));
    }
    return json_pack("{s:o}", "commits", commits);
}

/* The same rows in one statement and one round trip: the strongest raw form of one commit a run. */
static char *raw_script(void)
{
    static const char rest[] =
        ", p AS (INSERT INTO run_parts (project_id, run_id, body_hash, measurements, series, "
        "samples)"
        " SELECT project_id, id, md5(run_id) || md5(run_id), 8, 8, 96 FROM r)"
        ", j AS (INSERT INTO jobs (project_id, kind, run_id) SELECT project_id, 'detect', id FROM "
        "r)"
        ", a AS (INSERT INTO audit (actor, action, project_id, object, detail)"
        " SELECT 'token 1 (bootstrap)', 'ingest', project_id, 'run ' || id, run_id FROM r)"
        " SELECT 1;\n";
    pfc_buf sql;

    pfc_buf_init(&sql, 65536);
    pfc_buf_puts(
        &sql, "WITH o AS (SELECT project_id, header_hash, commit_id, machine_id, suite_hash FROM"
              " runs WHERE project_id = 1 AND run_id = '00000000000000000000000000000001')"
              ", r AS (INSERT INTO runs (project_id, run_id, header_hash, commit_id, branch, suite,"
              " suite_hash, machine_id, infra, started_at, finished_at) SELECT project_id,"
              " md5(random()::text || clock_timestamp()::text || pg_backend_pid()), header_hash,"
              " commit_id, 'main', 'quick', suite_hash, machine_id, false, now(), now() FROM o"
              " RETURNING project_id, id, run_id, commit_id)"
              ", m AS (INSERT INTO measurements (project_id, series_id, run_id, commit_id,"
              " stored_at, n, median, low, high, min, samples, blocks) SELECT r.project_id,"
              " u.series, r.id, r.commit_id, now(), 12, u.x, u.x, u.x, u.x, u.samples,"
              " '{4,4,4}' FROM r, (VALUES ");
    for (int i = 0; i < BENCH_MEASUREMENTS; i++)
        pfc_buf_printf(&sql,
                       "%s(%d, %g::float8, '{1000,1000.125,1000.25,1000.375,1000.5,1000.625,"
                       "1000.75,1000.875,1001,1001.125,1001.25,1001.375}'::float8[])",
                       i ? "," : "", i + 1, 1000.0 + 17.25 * i);
    pfc_buf_printf(&sql, ") AS u (series, x, samples))%s", rest);
    return pfc_buf_take(&sql);
}

/* ---- the service ---- */

static pfc_code prepare(pfc_http *http, pfc_err *err)
{
    char *first = document("00000000000000000000000000000001");
    json_t *project = json_pack("{s:s}", "name", "bench"), *commits = history();
    json_t *run = json_loads(first, 0, NULL);
    pfc_code code = pfc_http_json(http, "POST", "/api/v1/projects", project, NULL, NULL, err);

    if (!code)
        code =
            pfc_http_json(http, "POST", "/api/v1/projects/bench/commits", commits, NULL, NULL, err);
    if (!code)
        code = pfc_http_json(http, "POST", "/api/v1/runs", run, NULL, NULL, err);
    json_decref(run);
    json_decref(commits);
    json_decref(project);
    free(first);
    return code;
}

/* Runs and measurements in the database, by the service's own word. */
static pfc_code stored(pfc_http *http, int64_t *runs, int64_t *measurements, pfc_err *err)
{
    json_t *answer = NULL;
    pfc_code code = pfc_http_json(http, "GET", "/api/v1/stats", NULL, NULL, &answer, err);

    if (!code) {
        *runs = json_integer_value(json_object_get(answer, "runs"));
        *measurements = json_integer_value(json_object_get(answer, "measurements"));
    }
    json_decref(answer);
    return code;
}

typedef struct settings {
    int64_t rounds, seconds;
    int64_t runs;    /* no further round once so many were acknowledged; 0: all rounds */
    int64_t minutes; /* nor after so many; 0: whatever it takes */
    bool json, overload, strict;
} settings;

static size_t crowds_of(const settings *s)
{
    return PFC_ARRAY_LEN(crowds) - !s->overload;
}

typedef struct totals {
    double ratio[PFC_ARRAY_LEN(crowds)][ROUNDS_MAX];
    double after;                            /* of the last crowd */
    double health_ms[PFC_ARRAY_LEN(crowds)]; /* /healthz at p99, the longest of the rounds */
    uint64_t accepted;
    size_t rounds; /* made */
    bool lost;
} totals;

/* Processor time of one run, microseconds. */
static bench_cpu cpu_of(const bench_place *place, const bench_cpu *before, double runs)
{
    const bench_cpu now = bench_place_cpu(place);

    return (bench_cpu){ .postgres = runs > 0 ? (now.postgres - before->postgres) / runs * 1e6 : 0,
                        .server = runs > 0 ? (now.server - before->server) / runs * 1e6 : 0 };
}

/* A line of the table. */
typedef struct table_row {
    int64_t round;
    const char *what;
    double runs;                   /* a second */
    double ratio;                  /* to PostgreSQL alone */
    const bench_load_result *load; /* NULL: PostgreSQL alone, then `pg` */
    const bench_pg_result *pg;
    const bench_cpu *cpu;
    uint64_t rss; /* bytes of the server */
} table_row;

static void print_row(const settings *s, const table_row *row_of)
{
    const bench_load_result *r = row_of->load;
    const bench_pg_result *pg = row_of->pg;
    const bench_cpu *cpu = row_of->cpu;
    const double runs = row_of->runs, ratio = row_of->ratio;

    if (s->json) {
        json_t *row = json_pack("{s:I, s:s, s:f, s:f, s:f, s:f, s:f}", "round",
                                (json_int_t)row_of->round, "what", row_of->what, "runs_per_s", runs,
                                "measurements_per_s", runs * BENCH_MEASUREMENTS, "ratio", ratio,
                                "p99_ms", r ? r->p99_ms : pg->p99_ms, "postgres_us", cpu->postgres);
        char *text;

        if (r) {
            json_object_set_new(row, "accepted", json_integer((json_int_t)r->accepted));
            json_object_set_new(row, "health_p99_ms", json_real(r->health_p99_ms));
            json_object_set_new(row, "server_us", json_real(cpu->server));
            json_object_set_new(row, "rss_mib", json_real((double)row_of->rss / 1048576.0));
        }
        text = json_dumps(row, JSON_COMPACT);
        puts(text);
        (void)fflush(stdout);
        free(text);
        json_decref(row);
        return;
    }
    if (r)
        printf("%5lld  %-22s %10.0f %12.0f %7.2f %8.1f %8.1f %6.0f %9.0f %9.1f %7.1f\n",
               (long long)row_of->round, row_of->what, runs, runs * BENCH_MEASUREMENTS, ratio,
               r->p50_ms, r->p99_ms, cpu->postgres, cpu->server, r->health_p99_ms,
               (double)row_of->rss / 1048576.0);
    else
        printf("%5lld  %-22s %10.0f %12.0f %7.2f %8.1f %8.1f %6.0f\n", (long long)row_of->round,
               row_of->what, runs, runs * BENCH_MEASUREMENTS, ratio, pg->mean_ms, pg->p99_ms,
               cpu->postgres);
    (void)fflush(stdout);
}

/* One crowd of clients; what was acknowledged must be what is stored. */
typedef struct crowd_at {
    int64_t round;
    size_t which; /* index into `crowds` */
    double raw;   /* transactions a second of PostgreSQL alone */
} crowd_at;

static pfc_code measure_crowd(const settings *s, const bench_place *place, pfc_http *http,
                              const crowd_at *at, totals *t, pfc_err *err)
{
    static const char mark[] = "\"id\":\"";
    char *body = document("00000000000000000000000000000000"), what[64];
    const bench_load_opts opts = { .url = place->url,
                                   .token = place->token,
                                   .body = body,
                                   .id_at = (size_t)(strstr(body, mark) - body) + sizeof(mark) - 1,
                                   .clients = crowds[at->which],
                                   .seconds = (double)s->seconds,
                                   .seed = (uint64_t)(at->round * 10) + at->which + 1 };
    bench_load_result r = { 0 };
    int64_t before = 0, after = 0, unused = 0;
    bench_cpu cpu;
    pfc_code code = stored(http, &before, &unused, err);

    cpu = bench_place_cpu(place);
    if (!code)
        code = bench_load(&opts, &r, err);
    cpu = cpu_of(place, &cpu, (double)r.accepted);
    if (!code)
        code = stored(http, &after, &unused, err);
    free(body);
    if (code)
        return code;
    t->after = (double)r.accepted / r.seconds / at->raw;
    if (at->round <= ROUNDS_MAX)
        t->ratio[at->which][at->round - 1] = t->after;
    t->health_ms[at->which] = PFC_MAX(t->health_ms[at->which], r.health_p99_ms);
    t->accepted += r.accepted;
    (void)snprintf(what, sizeof(what), "HTTP, %u clients", crowds[at->which]);
    print_row(s, &(table_row){ .round = at->round,
                               .what = what,
                               .runs = (double)r.accepted / r.seconds,
                               .ratio = t->after,
                               .load = &r,
                               .cpu = &cpu,
                               .rss = bench_place_rss(place) });
    if (s->overload && at->which == PFC_ARRAY_LEN(crowds) - 1)
        fprintf(
            stderr,
            "overload: p99 of the acknowledged %.0f ms, server %.0f MiB resident, %.0f requests "
            "a second offered, %.0f taken\n",
            r.accepted_p99_ms, (double)bench_place_rss(place) / 1048576.0,
            (double)(r.accepted + r.refused + r.wrong) / r.seconds, (double)r.accepted / r.seconds);
    if (r.wrong || r.refused)
        fprintf(stderr, "answers: %llu refused, %llu wrong\n", (unsigned long long)r.refused,
                (unsigned long long)r.wrong);
    if (after - before != (int64_t)r.accepted || r.wrong) {
        fprintf(stderr, "acknowledged %llu, stored %lld\n", (unsigned long long)r.accepted,
                (long long)(after - before));
        t->lost = true;
    }
    return PFC_OK;
}

/* The crowd of 64 once more: is the full rate back at once, when it is over? */
static pfc_code measure_after(const settings *s, const bench_place *place, pfc_http *http,
                              int64_t round, double raw, totals *t, pfc_err *err)
{
    settings five = *s;
    const double before = t->ratio[0][round - 1];
    pfc_code code;

    five.seconds = PFC_MIN(s->seconds, 5);
    code = measure_crowd(&five, place, http, &(crowd_at){ .round = round + ROUNDS_MAX, .raw = raw },
                         t, err);
    if (code)
        return code;
    fprintf(stderr, "overload: in the %lld s after it, %.2f of the rate before\n",
            (long long)five.seconds, t->after / before);
    pfc_clock_sleep_ns(QUIET_S * PFC_NS_PER_S);
    fprintf(stderr, "overload: %.0f MiB resident once nothing happened for %d s\n",
            (double)bench_place_rss(place) / 1048576.0, QUIET_S);
    return PFC_OK;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static pfc_code measure(const settings *s, const bench_place *place, totals *t, pfc_err *err)
{
    const pfc_http_opts opts = { .url = place->url, .token = place->token };
    const int64_t until_ns = s->minutes ? pfc_clock_ns() + s->minutes * 60 * PFC_NS_PER_S : 0;
    bench_pg_result raw = { 0 };
    pfc_http *http = NULL;
    char *script = raw_script();
    pfc_code code = pfc_http_new(&opts, &http, err);

    if (!code)
        code = prepare(http, err);
    /* Not counted: of empty tables PostgreSQL makes a plan that halves pgbench's rate. */
    if (!code)
        code = bench_pgbench(place, script, PG_CLIENTS, 1, &raw, err);
    if (!code && !s->json)
        printf("round  what                       runs/s measurem./s   ratio   p50 ms   p99 ms"
               "  pg us server us  health99 rss MiB\n");
    for (int64_t round = 1; round <= s->rounds && !code; round++) {
        if ((s->runs && t->accepted >= (uint64_t)s->runs) ||
            (until_ns && pfc_clock_ns() > until_ns))
            break;
        t->rounds = (size_t)round;
        if (round == 1 || !s->runs) { /* who counts runs does not compare rounds */
            bench_cpu cpu = bench_place_cpu(place);

            code = bench_pgbench(place, script, PG_CLIENTS, (unsigned)s->seconds, &raw, err);
            cpu = cpu_of(place, &cpu, raw.tps * (double)s->seconds);
            if (!code)
                print_row(s, &(table_row){ .round = round,
                                           .what = "pgbench, 32 clients",
                                           .runs = raw.tps,
                                           .ratio = 1,
                                           .pg = &raw,
                                           .cpu = &cpu });
        }
        for (size_t i = 0; i < crowds_of(s) && !code; i++)
            code = measure_crowd(s, place, http, &(crowd_at){ round, i, raw.tps }, t, err);
        if (!code && s->overload)
            code = measure_after(s, place, http, round, raw.tps, t, err);
    }
    pfc_http_free(http);
    free(script);
    return code;
}

static pfc_code read_settings(int argc, char **argv, settings *s, bool *help, pfc_err *err)
{
    static const struct option options[] = {
        { "rounds", required_argument, NULL, 'r' },
        { "runs", required_argument, NULL, 'n' },
        { "seconds", required_argument, NULL, 's' },
        { "minutes", required_argument, NULL, 'm' },
        { "overload", no_argument, NULL, 'o' },
        { "json", no_argument, NULL, 'j' },
        { "strict", no_argument, NULL, 'g' },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    pfc_code code = PFC_OK;
    int option;

    *s = (settings){ .rounds = 3, .seconds = 10 };
    while (!code && (option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == 'r')
            code = pfc_parse_i64(optarg, 1, ROUNDS_MAX, "--rounds", &s->rounds, err);
        else if (option == 'n')
            code = pfc_parse_i64(optarg, 1, INT64_MAX, "--runs", &s->runs, err);
        else if (option == 's')
            code = pfc_parse_i64(optarg, 1, 600, "--seconds", &s->seconds, err);
        else if (option == 'm')
            code = pfc_parse_i64(optarg, 1, 100000, "--minutes", &s->minutes, err);
        else if (option == 'o')
            s->overload = true;
        else if (option == 'j')
            s->json = true;
        else if (option == 'g')
            s->strict = true;
        else if (option == 'h')
            *help = true;
        else
            code = pfc_err_set(err, PFC_EINVAL, "usage: see --help");
    }
    return code;
}

/* Names each goal that the rounds missed; their ratios are sorted. */
static bool missed_goals(const settings *s, const totals *t)
{
    bool missed = false;

    for (size_t i = 0; i < crowds_of(s); i++) {
        const double ratio = t->ratio[i][t->rounds / 2];

        if (ratio < least_ratio[i]) {
            fprintf(stderr, "%u clients: expected a median ratio of at least %g, got %.2f\n",
                    crowds[i], least_ratio[i], ratio);
            missed = true;
        }
        if (t->health_ms[i] > most_health_ms[i]) {
            fprintf(stderr, "%u clients: expected /healthz within %g ms at p99, got %.1f ms\n",
                    crowds[i], most_health_ms[i], t->health_ms[i]);
            missed = true;
        }
    }
    return missed;
}

int main(int argc, char **argv)
{
    static totals t;
    settings s;
    bench_place place = { 0 };
    bool help = false;
    pfc_err err = { 0 };
    pfc_code code = read_settings(argc, argv, &s, &help, &err);

    if (help) {
        puts(
            "usage: perfci-bench-service [--rounds N] [--runs N] [--seconds N] [--minutes N] "
            "[--overload] [--json] [--strict]\n"
            "Starts a private PostgreSQL (fsync on) and a server, and compares what the service\n"
            "takes in with what pgbench stores of the same rows. N: 3 rounds of 10 seconds; no\n"
            "further round once --runs were acknowledged or --minutes are over; with --runs\n"
            "pgbench has its turn in the first round alone.\n"
            "--overload adds 6,000 clients: what is too much must be refused by 503 or 429.\n"
            "--strict: the median ratio must be 1.6 with 64 clients and 1.9 with 256, /healthz at\n"
            "most 5 ms at p99.\n"
            "Exit status: 0 done, 1 a run was lost or doubled, or --strict and a goal is missed,\n"
            "2 usage, 5 something is missing.");
        return 0;
    }
    if (code) {
        fprintf(stderr, "perfci-bench-service: %s\n", err.msg);
        return 2;
    }
    code = bench_place_start(&place, &err);
    if (!code)
        code = measure(&s, &place, &t, &err);
    bench_place_end(&place);
    if (code) {
        fprintf(stderr, "perfci-bench-service: %s\n", err.msg);
        return 5;
    }
    for (size_t i = 0; i < crowds_of(&s); i++) {
        qsort(t.ratio[i], t.rounds, sizeof(double), compare_doubles);
        if (!s.json)
            printf("median ratio, %u clients: %.2f\n", crowds[i], t.ratio[i][t.rounds / 2]);
    }
    if (!s.json)
        printf("%llu runs acknowledged, %s\n", (unsigned long long)t.accepted,
               t.lost ? "not all of them stored once" : "each stored once");
    return t.lost || (missed_goals(&s, &t) && s.strict) ? 1 : 0;
}
