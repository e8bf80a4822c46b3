/*
 * A stored run as the document that it was.
 */
#include "server/services/internal.h"

static char *text_of(const pfc_res *res, size_t row, const char *column)
{
    return pfc_strdup(pfc_res_text(res, row, pfc_res_column(res, column)));
}

static pfc_code read_header(const pfc_res *res, pfc_run *run, pfc_err *err)
{
    pfc_code code;

    run->id = text_of(res, 0, "run_id");
    run->project = text_of(res, 0, "project");
    run->commit = text_of(res, 0, "sha");
    run->branch = text_of(res, 0, "branch");
    run->suite = text_of(res, 0, "suite");
    run->suite_hash = text_of(res, 0, "suite_hash");
    run->started_at = pfc_res_f64(res, 0, pfc_res_column(res, "started_at"));
    run->finished_at = pfc_res_f64(res, 0, pfc_res_column(res, "finished_at"));
    run->job_id = pfc_res_i64(res, 0, pfc_res_column(res, "job_id"));
    run->job_fence = pfc_res_i64(res, 0, pfc_res_column(res, "job_fence"));
    run->session_id = text_of(res, 0, "session_id");
    run->session_anchor = text_of(res, 0, "session_anchor");
    run->session_base = text_of(res, 0, "session_base");
    run->infra = pfc_res_bool(res, 0, pfc_res_column(res, "infra"));
    run->machine.name = text_of(res, 0, "machine");
    run->machine.machine_class = text_of(res, 0, "class");
    code = pfc_pairs_parse(pfc_res_text(res, 0, pfc_res_column(res, "fingerprint")),
                           &run->machine.fingerprint, err);
    if (!code)
        pfc_machine_hash(&run->machine);
    return code;
}

static pfc_code read_visits(const pfc_res *res, size_t row, pfc_measurement *m, pfc_err *err)
{
    uint32_t *blocks = NULL, *positions = NULL;
    size_t len = 0, positions_len = 0;
    pfc_code code = PFC_OK;

    if (!pfc_res_text(res, row, pfc_res_column(res, "visit_blocks")))
        return PFC_OK;
    pfc_res_u32s(res, row, pfc_res_column(res, "visit_blocks"), &blocks, &len);
    pfc_res_u32s(res, row, pfc_res_column(res, "visit_positions"), &positions, &positions_len);
    if (len != m->blocks_len || positions_len != len)
        code = pfc_err_set(err, PFC_EBUG, "%s %s: %zu launches, %zu blocks, %zu positions",
                           m->benchmark, m->metric, m->blocks_len, len, positions_len);
    if (!code)
        m->visits = pfc_calloc(len, sizeof(*m->visits));
    for (size_t i = 0; !code && i < len; i++)
        m->visits[i] = (pfc_visit_at){ blocks[i], positions[i] };
    free(blocks);
    free(positions);
    return code;
}

static pfc_code read_measurement(const pfc_res *res, size_t row, pfc_measurement *m, pfc_err *err)
{
    pfc_code code;

    m->benchmark = text_of(res, row, "benchmark");
    m->metric = text_of(res, row, "metric");
    m->backend = text_of(res, row, "backend");
    m->unit = text_of(res, row, "unit");
    m->higher_is_better = pfc_res_bool(res, row, pfc_res_column(res, "higher_is_better"));
    m->exact = pfc_res_bool(res, row, pfc_res_column(res, "exact"));
    m->status = (pfc_status)pfc_res_i64(res, row, pfc_res_column(res, "status"));
    m->reason = text_of(res, row, "reason");
    pfc_res_f64s(res, row, pfc_res_column(res, "samples"), &m->samples, &m->samples_len);
    pfc_res_u32s(res, row, pfc_res_column(res, "blocks"), &m->blocks, &m->blocks_len);
    code = read_visits(res, row, m, err);
    if (!code)
        code =
            pfc_pairs_parse(pfc_res_text(res, row, pfc_res_column(res, "params")), &m->params, err);
    if (!code)
        code =
            pfc_pairs_parse(pfc_res_text(res, row, pfc_res_column(res, "extra")), &m->extra, err);
    return code;
}

pfc_code pfc_run_load(pfc_db *db, int64_t project_id, int64_t run_id, pfc_run **out, pfc_err *err)
{
    pfc_run *run = pfc_run_new();
    pfc_args args = { 0 };
    pfc_res *res = NULL;
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_SNAPSHOT, err);

    if (code)
        goto done;
    pfc_args_i64(&args, project_id);
    pfc_args_i64(&args, run_id);
    code = pfc_tx_query(tx, "run_document", &args, &res, err);
    if (!code && pfc_res_rows(res) == 0)
        code = pfc_err_set(err, PFC_ENOTFOUND, "no such run");
    if (!code)
        code = read_header(res, run, err);
    if (code)
        goto done;
    pfc_res_free(res);
    res = NULL;
    pfc_args_i64(&args, project_id);
    pfc_args_i64(&args, run_id);
    code = pfc_tx_query(tx, "run_measurements", &args, &res, err);
    for (size_t i = 0; !code && i < pfc_res_rows(res); i++)
        code = read_measurement(res, i, pfc_run_add(run), err);

done:
    pfc_res_free(res);
    pfc_tx_free(tx);
    if (code)
        pfc_run_free(run);
    else
        *out = run;
    return code;
}
