/* How fast: whole series, and a point at a time, on made series of several lengths and kinds. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/studies/changepoint/bench.h"
#include "core/changepoint/online/online.h"

#define ROUNDS 3      /* the fastest of these counts */
#define POINTS 200000 /* of each kind, in all */

/* One percent of noise; a step of three sigma, up and down in turns, every so many points. */
static void make(pfc_point *points, size_t n, size_t every, pfc_rng *rng)
{
    for (size_t i = 0; i < n; i++) {
        double level = every && i / every % 2 ? 103.0 : 100.0;
        points[i] =
            (pfc_point){ .t = 3600.0 * (double)i, .v = level * exp(0.01 * pfc_rng_normal(rng)) };
    }
}

static size_t whole(const pfc_point *points, size_t n)
{
    pfc_detection found;
    if (pfc_stats_detect(points, n, NULL, &found, NULL))
        return 0;
    size_t changes = found.changes_len;
    pfc_detection_clear(&found);
    return changes;
}

static void append_all(const pfc_point *points, size_t n, pfc_segment_space *space)
{
    pfc_online online;
    if (pfc_online_init(&online, NULL, NULL))
        return;
    while (online.seen < n)
        (void)pfc_online_append(&online, points, space, NULL);
}

static void measure(size_t n, size_t every, pfc_rng *rng)
{
    size_t series = PFC_MAX((size_t)1, POINTS / n);
    pfc_point *points = pfc_calloc(n * series, sizeof *points);
    pfc_segment_space space = { 0 };
    double best_whole = INFINITY;
    double best_append = INFINITY;
    size_t found = 0;
    for (size_t i = 0; i < series; i++)
        make(points + i * n, n, every, rng);
    for (int round = 0; round < ROUNDS; round++) {
        found = 0;
        int64_t from = pfc_bench_cpu_ns();
        for (size_t i = 0; i < series; i++)
            found += whole(points + i * n, n);
        best_whole = fmin(best_whole, (double)(pfc_bench_cpu_ns() - from));
        from = pfc_bench_cpu_ns();
        for (size_t i = 0; i < series; i++)
            append_all(points + i * n, n, &space);
        best_append = fmin(best_append, (double)(pfc_bench_cpu_ns() - from));
    }
    double all = (double)(n * series);
    printf("%8zu %10zu %10.2f %14.2f %13.3f\n", n, every, (double)found / (double)series,
           all / best_whole * 1e3, best_append / all * 1e-3);
    pfc_segment_space_clear(&space);
    free(points);
}

void pfc_bench_speed(uint64_t seed)
{
    static const size_t lengths[] = { 100, 1000, 10000, 100000 };
    static const size_t steps[] = { 0, 2000, 500, 100 };
    pfc_rng rng;
    pfc_rng_seed(&rng, seed);
    printf("%8s %10s %10s %14s %13s\n", "points", "step every", "found", "M points/s",
           "us an append");
    for (size_t k = 0; k < PFC_ARRAY_LEN(steps); k++) {
        for (size_t i = 0; i < PFC_ARRAY_LEN(lengths); i++) {
            if (steps[k] < lengths[i])
                measure(lengths[i], steps[k], &rng);
        }
    }
    printf("CPU time of one core; an append includes the looks that it causes; state %zu bytes\n",
           sizeof(pfc_online));
}
