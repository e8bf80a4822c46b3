#include "bench/studies/sandbox/cost.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/process/proc.h"
#include "core/base/rng.h"
#include "runner/workspace/workspace.h"

#define LEVEL      0.95
#define START_S    30.0
#define SUITE_S    600.0
#define START_WARM 5 /* pairs of starts that are not counted */

enum { BARE, INSIDE };

/* ---- the suite ---- */

static pfc_cost_row *row_of(pfc_cost *cost, const pfc_cost_opts *opts, const pfc_measurement *m)
{
    char *name = pfc_format("%s %s", m->benchmark, m->backend ? m->backend : "");
    pfc_cost_row *row = NULL;

    for (size_t i = 0; i < cost->rows_len && !row; i++)
        if (strcmp(cost->rows[i].name, name) == 0)
            row = &cost->rows[i];
    if (row || cost->rows_len == PFC_COST_MAX_BENCHMARKS) {
        free(name);
        return row;
    }
    row = &cost->rows[cost->rows_len++];
    row->name = name;
    row->bare = pfc_calloc(opts->rounds, sizeof(double));
    row->inside = pfc_calloc(opts->rounds, sizeof(double));
    return row;
}

static pfc_code measure(const pfc_cost_opts *opts, int side, size_t round, pfc_cost *cost,
                        pfc_err *err)
{
    const pfc_commit_measure_opts how = { .suite = opts->suite,
                                          .bench = opts->bench,
                                          .timeout_s = SUITE_S,
                                          .sandbox = side == INSIDE ? opts->sandbox : NULL,
                                          .cgroups = side == INSIDE ? opts->cgroups : NULL };
    pfc_outcome out = { 0 };
    pfc_code code = pfc_measure(&how, opts->dir, NULL, 0, &out, err);

    if (!code && out.kind != PFC_OUTCOME_MEASURED)
        code = pfc_err_set(err, PFC_EUNAVAIL, "%s: %s", pfc_outcome_name(out.kind), out.reason);
    for (size_t i = 0; !code && i < out.run->measurements_len; i++) {
        const pfc_measurement *m = &out.run->measurements[i];
        pfc_cost_row *row;

        if (m->status != PFC_STATUS_OK || m->exact || strcmp(m->metric, "time_ns") != 0 ||
            strcmp(m->benchmark, PFC_CANARY_BENCHMARK) == 0)
            continue;
        row = row_of(cost, opts, m);
        if (row)
            (side == INSIDE ? row->inside : row->bare)[round] = pfc_measurement_median(m);
    }
    pfc_outcome_clear(&out);
    return code;
}

static double noise(const double *x, size_t n)
{
    return pfc_stats_mad(x, n) / pfc_stats_median(x, n);
}

/* The interval's ends and middle as relative changes. */
static pfc_interval relative(const double *log_ratios, size_t n)
{
    pfc_interval i = pfc_stats_median_interval(log_ratios, n, LEVEL);

    i.value = expm1(i.value);
    i.low = expm1(i.low);
    i.high = expm1(i.high);
    return i;
}

static void judge(pfc_cost *cost)
{
    const size_t n = cost->rounds;
    double *whole = pfc_calloc(n, sizeof(double)), *one = pfc_calloc(n, sizeof(double));
    double noises[2][PFC_COST_MAX_BENCHMARKS];

    for (size_t i = 0; i < cost->rows_len; i++) {
        pfc_cost_row *row = &cost->rows[i];

        for (size_t r = 0; r < n; r++) {
            one[r] = log(row->inside[r] / row->bare[r]);
            whole[r] += one[r] / (double)cost->rows_len;
        }
        row->rel = relative(one, n);
        noises[BARE][i] = row->noise[BARE] = noise(row->bare, n);
        noises[INSIDE][i] = row->noise[INSIDE] = noise(row->inside, n);
    }
    cost->rel = relative(whole, n);
    for (int side = BARE; side <= INSIDE; side++)
        cost->noise[side] = pfc_stats_median(noises[side], cost->rows_len);
    free(whole);
    free(one);
}

/* ---- starting a program ---- */

static pfc_code start(const pfc_cost_opts *opts, int side, double *ms, pfc_err *err)
{
    const char *const argv[] = { "/bin/true", NULL };
    const pfc_sandbox_command command = { .argv = argv, .cwd = "/tmp" };
    pfc_proc_opts how = { .argv = argv, .timeout_s = START_S };
    pfc_sandbox_start wrapped = { .keep_fd = -1 };
    const int64_t begun = pfc_clock_ns();
    pfc_cgroup group = { 0 };
    pfc_proc_result res = { 0 };
    pfc_code code = PFC_OK;

    if (side == INSIDE && opts->cgroups)
        code = pfc_cgroup_begin(opts->cgroups, 0, PFC_SANDBOX_MAX_THREADS, &group, err);
    if (!code && side == INSIDE)
        code = pfc_sandbox_wrap(opts->sandbox, &command, &wrapped, err);
    if (!code && side == INSIDE) {
        how.argv = (const char *const *)wrapped.argv;
        how.inherit_fd = wrapped.keep_fd;
        how.join_fd = group.path ? group.procs_fd : 0;
    }
    if (!code)
        code = pfc_proc_run(&how, &res, err);
    pfc_cgroup_end(&group, NULL);
    *ms = (double)(pfc_clock_ns() - begun) / (double)PFC_NS_PER_MS;
    if (!code && res.exit_status != 0)
        code = pfc_err_set(err, PFC_EUNAVAIL, "/bin/true ended with status %d: %s", res.exit_status,
                           pfc_buf_text(&res.err));
    pfc_proc_result_clear(&res);
    pfc_sandbox_start_clear(&wrapped);
    return code;
}

static pfc_code time_starts(const pfc_cost_opts *opts, pfc_rng *rng, pfc_cost *cost, pfc_err *err)
{
    double *ms[2] = { pfc_calloc(opts->starts, sizeof(double)),
                      pfc_calloc(opts->starts, sizeof(double)) };
    double *extra = pfc_calloc(opts->starts, sizeof(double));
    pfc_code code = PFC_OK;

    for (size_t i = 0; !code && i < opts->starts + START_WARM; i++) {
        const size_t at = i < START_WARM ? 0 : i - START_WARM; /* the first is written over */
        const int first = (int)pfc_rng_below(rng, 2);

        code = start(opts, first, &ms[first][at], err);
        if (!code)
            code = start(opts, !first, &ms[!first][at], err);
        extra[at] = ms[INSIDE][at] - ms[BARE][at];
    }
    for (int side = BARE; !code && side <= INSIDE; side++)
        cost->start_ms[side] = pfc_stats_median_interval(ms[side], opts->starts, LEVEL);
    if (!code)
        cost->start_extra_ms = pfc_stats_median_interval(extra, opts->starts, LEVEL);
    free(ms[BARE]);
    free(ms[INSIDE]);
    free(extra);
    return code;
}

pfc_code pfc_cost_measure(const pfc_cost_opts *opts, pfc_cost *out, pfc_err *err)
{
    const int64_t begun = pfc_clock_ns();
    pfc_code code;
    pfc_rng rng;

    *out = (pfc_cost){ 0 };
    pfc_rng_seed(&rng, opts->seed);
    code = time_starts(opts, &rng, out, err);
    for (size_t r = 0; !code && r < opts->rounds; r++) {
        const int first = (int)pfc_rng_below(&rng, 2);

        if (r > 1 && opts->max_s > 0 &&
            (double)(pfc_clock_ns() - begun) > opts->max_s * (double)PFC_NS_PER_S)
            break;
        code = measure(opts, first, r, out, err);
        if (!code)
            code = measure(opts, !first, r, out, err);
        out->rounds += !code;
    }
    if (!code && out->rows_len == 0)
        code = pfc_err_set(err, PFC_EUNAVAIL, "suite %s: no benchmark gave a time", opts->suite);
    if (!code)
        judge(out);
    return code;
}

void pfc_cost_clear(pfc_cost *cost)
{
    for (size_t i = 0; i < cost->rows_len; i++) {
        free(cost->rows[i].name);
        free(cost->rows[i].bare);
        free(cost->rows[i].inside);
    }
    *cost = (pfc_cost){ 0 };
}
