/*
 * Measures only the selected benchmarks and backends.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runner/workspace/workspace.h"

/* Moves the traces of both outcomes to `next`, those of earlier backends first. */
static void add_traces(pfc_outcome *out, pfc_outcome *next)
{
    pfc_run_trace *both;
    size_t len = out->traces_len;

    if (!len)
        return;
    both = pfc_calloc(PFC_RUN_TRACES_MAX, sizeof(*both));
    memcpy(both, out->traces, len * sizeof(*both));
    for (size_t i = 0; i < next->traces_len; i++) {
        if (len == PFC_RUN_TRACES_MAX)
            break;
        both[len++] = next->traces[i];
        next->traces[i] = (pfc_run_trace){ 0 };
    }
    pfc_run_traces_free(next->traces, next->traces_len);
    free(out->traces);
    out->traces = NULL;
    out->traces_len = 0;
    next->traces = both;
    next->traces_len = len;
}

/* Merges the next backend's outcome into `out`. An outcome without measurements replaces it. */
static void add(pfc_outcome *out, pfc_outcome *next)
{
    if (next->kind == PFC_OUTCOME_MEASURED && out->run) {
        pfc_run_merge(next->run, out->run);
        out->run = NULL;
    }
    if (next->kind == PFC_OUTCOME_MEASURED)
        add_traces(out, next);
    next->built = next->built || out->built;
    next->build_s += out->build_s;
    next->measure_s += out->measure_s;
    pfc_outcome_clear(out);
    *out = *next;
}

static pfc_code by_suite(pfc_workspace *ws, const pfc_commit_measure_opts *opts,
                         const pfc_benchmark_filter *wanted, const pfc_commit_id *id,
                         unsigned build, pfc_outcome *out, pfc_err *err)
{
    const size_t rounds = PFC_MAX(wanted->backends_len, (size_t)1);
    pfc_commit_measure_opts one = *opts;
    pfc_code code = PFC_OK;

    one.filter = wanted->filter;
    for (size_t i = 0; i < rounds; i++) {
        pfc_outcome next = { 0 };

        one.backend = wanted->backends_len ? wanted->backends[i] : NULL;
        code = pfc_workspace_measure(ws, &one, id, build, &next, err);
        if (code)
            break;
        add(out, &next);
        if (out->kind != PFC_OUTCOME_MEASURED)
            break;
    }
    if (code)
        pfc_outcome_clear(out);
    return code;
}

pfc_code pfc_workspace_measure_some(pfc_workspace *ws, const pfc_commit_measure_opts *opts,
                                    const pfc_benchmark_filter *wanted, const pfc_commit_id *id,
                                    unsigned build, pfc_outcome *out, pfc_err *err)
{
    pfc_err none = { 0 };
    pfc_code code;

    *out = (pfc_outcome){ 0 };
    if (!opts->measure)
        return by_suite(ws, opts, wanted, id, build, out, err);
    code = pfc_workspace_measure(ws, opts, id, build, out, err);
    if (code || out->kind != PFC_OUTCOME_MEASURED || !pfc_run_filter(out->run, wanted, &none))
        return code;
    out->kind = PFC_OUTCOME_BROKEN;
    out->refused = true;
    (void)snprintf(out->reason, sizeof(out->reason), "%.399s", none.msg);
    pfc_run_free(out->run);
    out->run = NULL;
    return PFC_OK;
}
