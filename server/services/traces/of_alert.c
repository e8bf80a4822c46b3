/*
 * Traces of both sides of an alert's change: those that are stored, and the measurements that store
 * them.
 */
#include <stdlib.h>
#include <string.h>

#include "core/wire/benchmark_filter.h"
#include "server/services/explain/explain.h"
#include "server/services/queue/queue.h"
#include "server/services/traces/traces.h"

/* Of a run on one side. Headline metrics are made of several benchmarks. */
typedef struct wanted {
    int64_t project_id, run_id;
    const char *benchmark, *backend;
} wanted;

static bool is_headline(const wanted *w)
{
    return strcmp(w->benchmark, "headline") == 0;
}

static pfc_code load_side(pfc_tx *tx, const wanted *w, pfc_alert_trace_side *out, pfc_err *err)
{
    pfc_code code =
        pfc_sql_trace_side(tx,
                           &(pfc_sql_trace_side_args){ .project_id = w->project_id,
                                                       .run_id = w->run_id },
                           &out->at, err);

    if (!code && out->at.len != 1)
        code = pfc_err_set(err, PFC_ENOTFOUND, "the run on one side was deleted");
    return code ? code
                : pfc_sql_traces_of_commit(
                      tx,
                      &(pfc_sql_traces_of_commit_args){ .project_id = w->project_id,
                                                        .run_id = w->run_id,
                                                        .benchmark =
                                                            is_headline(w) ? NULL : w->benchmark,
                                                        .limit = PFC_ALERT_TRACES_MAX },
                      &out->traces, err);
}

/* Queues the measurement of a side by the settings of the job that measured it before. */
static pfc_code ask_side(pfc_tx *tx, const char *actor, const wanted *w,
                         const pfc_sql_trace_side_row *at, pfc_err *err)
{
    char *filter = is_headline(w) ? NULL : pfc_benchmark_only(w->benchmark);
    pfc_labels labels = { 0 };
    pfc_job_spec spec = { .kind = "measure",
                          .commit = at->commit,
                          .branch = at->branch,
                          .suite = at->suite,
                          .source = at->source,
                          .settings_branch = at->settings_branch,
                          .labels = &labels,
                          .priority = PFC_JOB_BY_KIND,
                          .config = at->config,
                          .filter = filter,
                          .backends = &w->backend,
                          .backends_len = w->backend && w->backend[0],
                          .traces = true };
    bool created = false;
    int64_t id = 0;
    pfc_code code = at->labels_json ? pfc_labels_parse(at->labels_json, &labels, err) : PFC_OK;

    if (!code)
        code = pfc_job_enqueue_in(tx, actor, w->project_id, &spec, &created, &id, err);
    pfc_labels_clear(&labels);
    free(filter);
    return code;
}

static bool has_open_job(const pfc_sql_trace_side_row *at)
{
    return at->asked_state &&
           (strcmp(at->asked_state, "queued") == 0 || strcmp(at->asked_state, "leased") == 0);
}

/* actor NULL: nothing is queued. */
static pfc_code each_side(pfc_tx *tx, const char *actor,
                          const pfc_sql_explain_alert_runs_rows *rows, pfc_alert_traces *out,
                          pfc_err *err)
{
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < PFC_ARRAY_LEN(out->sides) && !code; i++) {
        const pfc_sql_explain_alert_runs_row *row = &rows->items[i];
        const wanted w = { row->project_id, row->run_id, row->benchmark, row->backend };
        pfc_alert_trace_side *side = &out->sides[i];

        out->project_id = w.project_id;
        code = load_side(tx, &w, side, err);
        if (code || !actor || side->traces.len > 0 || has_open_job(&side->at.items[0]))
            continue;
        code = ask_side(tx, actor, &w, &side->at.items[0], err);
        pfc_rows_clear(&side->at);
        pfc_rows_clear(&side->traces);
        if (!code)
            code = load_side(tx, &w, side, err);
    }
    return code;
}

static pfc_code load(pfc_db *db, const char *actor, int64_t alert_id, pfc_alert_traces *out,
                     pfc_err *err)
{
    pfc_sql_explain_alert_runs_rows rows = { 0 };
    pfc_tx *tx = NULL;
    pfc_code code = pfc_explain_alert_sides(db, alert_id, &rows, err);

    *out = (pfc_alert_traces){ 0 };
    if (!code)
        code = pfc_tx_begin(&tx, db, actor ? PFC_TX_WRITE : PFC_TX_SNAPSHOT, err);
    if (!code)
        code = each_side(tx, actor, &rows, out, err);
    if (!code && actor)
        code = pfc_tx_commit(tx, err);
    pfc_tx_free(tx);
    pfc_rows_clear(&rows);
    return code;
}

pfc_code pfc_alert_traces_load(pfc_db *db, int64_t alert_id, pfc_alert_traces *out, pfc_err *err)
{
    return load(db, NULL, alert_id, out, err);
}

pfc_code pfc_alert_traces_ask(pfc_db *db, const char *actor, int64_t alert_id,
                              pfc_alert_traces *out, pfc_err *err)
{
    return load(db, actor, alert_id, out, err);
}

void pfc_alert_traces_clear(pfc_alert_traces *traces)
{
    for (size_t i = 0; i < PFC_ARRAY_LEN(traces->sides); i++) {
        pfc_rows_clear(&traces->sides[i].at);
        pfc_rows_clear(&traces->sides[i].traces);
    }
}
