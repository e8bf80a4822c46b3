/*
 * Parts of perfci-bench-service: the place (a private PostgreSQL with fsync on, and a server on it)
 * and the load (many connections that post runs as fast as they are answered).
 */
#ifndef PFC_BENCH_STUDIES_SERVICE_SERVICE_H
#define PFC_BENCH_STUDIES_SERVICE_SERVICE_H

#include <sys/types.h>

#include "core/base/err.h"
#include "core/base/process/pgbin.h"

#define BENCH_MEASUREMENTS 8 /* of one run */

/** A cluster and a server of our own, in a new folder under /tmp. */
typedef struct bench_place {
    char dir[64];
    pfc_pg pg;
    char *database; /* conninfo */
    char *url;      /* of the server */
    char *token;
    pid_t postgres, server;
} bench_place;

/** Starts both; end it in every case. PFC_ENOTFOUND when PostgreSQL's programs are not there. */
pfc_code bench_place_start(bench_place *place, pfc_err *err) PFC_MUSTCHECK;
void bench_place_end(bench_place *place);
/** Resident memory of the server in bytes, 0 when unknown. */
uint64_t bench_place_rss(const bench_place *place);

/** CPU time since the start in seconds: measures the cost of a run on a busy machine, too. */
typedef struct bench_cpu {
    double postgres, server;
} bench_cpu;

/** PostgreSQL with its processes, those that have ended included, and the server; 0 when unknown.
 */
bench_cpu bench_place_cpu(const bench_place *place);

typedef struct bench_pg_result {
    double tps, mean_ms, p99_ms;
} bench_pg_result;

/** pgbench with `script` for `seconds`; p99 from its own log of every tenth transaction. */
pfc_code bench_pgbench(const bench_place *place, const char *script, unsigned clients,
                       unsigned seconds, bench_pg_result *out, pfc_err *err) PFC_MUSTCHECK;

/** The value below which the share q of len > 0 values lies; sorts them. */
float bench_quantile(float *values, size_t len, double q);

typedef struct bench_load_opts {
    const char *url, *token;
    const char *body; /* a run document; the 32 digits of its id lie at id_at */
    size_t id_at;
    unsigned clients;
    double seconds;
    uint64_t seed; /* of the ids: no two loads of one database may share it */
} bench_load_opts;

typedef struct bench_load_result {
    uint64_t accepted; /* 201 */
    uint64_t refused;  /* 503 and 429 */
    uint64_t wrong;    /* any other answer */
    double seconds;    /* until the last answer */
    double p50_ms, p99_ms;
    double accepted_p99_ms; /* of those that were acknowledged */
    double health_p99_ms;   /* of GET /healthz, asked beside the load about 20 times a second */
} bench_load_result;

/** Posts on `clients` connections; each posts again when it was answered. One thread, epoll. */
pfc_code bench_load(const bench_load_opts *opts, bench_load_result *out,
                    pfc_err *err) PFC_MUSTCHECK;

#endif
