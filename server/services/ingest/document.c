/*
 * Returns a stored run as the original document.
 */
#include "server/repo/sql/runs.h"
#include "server/services/ingest/ingest.h"

static pfc_code read_header(const pfc_sql_run_document_row *row, pfc_run *run, pfc_err *err)
{
    pfc_code code;

    run->id = pfc_strdup(row->run_id);
    run->project = pfc_strdup(row->project);
    run->commit = pfc_strdup(row->sha);
    run->branch = pfc_strdup(row->branch);
    run->suite = pfc_strdup(row->suite);
    run->suite_hash = pfc_strdup(row->suite_hash);
    run->started_at = row->started_at;
    run->finished_at = row->finished_at;
    run->job_id = row->job_id;
    run->job_fence = row->job_fence;
    run->session_id = pfc_strdup(row->session_id);
    run->session_anchor = pfc_strdup(row->session_anchor);
    run->session_base = pfc_strdup(row->session_base);
    run->infra = row->infra;
    run->unsandboxed = row->unsandboxed;
    run->machine.name = pfc_strdup(row->machine);
    run->machine.machine_class = pfc_strdup(row->class);
    code = pfc_labels_parse(row->fingerprint_json, &run->machine.fingerprint, err);
    if (!code)
        pfc_machine_hash(&run->machine);
    if (!code && row->ceilings_json)
        code = pfc_run_ceilings_parse(row->ceilings_json, run, err);
    return code;
}

static pfc_code read_visits(const pfc_sql_run_measurements_row *row, pfc_measurement *m,
                            pfc_err *err)
{
    uint32_t *blocks = NULL, *positions = NULL;
    size_t len = 0, positions_len = 0;
    pfc_code code = PFC_OK;

    if (!row->visit_blocks.text)
        return PFC_OK;
    pfc_array_u32s(row->visit_blocks, &blocks, &len);
    pfc_array_u32s(row->visit_positions, &positions, &positions_len);
    if (len != m->blocks_len || positions_len != len)
        code = pfc_err_set(err, PFC_EBUG, "%s %s: %zu launches, %zu blocks, %zu positions",
                           m->benchmark, m->metric, m->blocks_len, len, positions_len);
    if (!code)
        m->visits = pfc_calloc(len, sizeof(*m->visits));
    for (size_t i = 0; !code && i < len; i++)
        m->visits[i] = (pfc_session_position){ blocks[i], positions[i] };
    free(blocks);
    free(positions);
    return code;
}

static pfc_code read_measurement(const pfc_sql_run_measurements_row *row, pfc_measurement *m,
                                 pfc_err *err)
{
    pfc_code code;

    m->benchmark = pfc_strdup(row->benchmark);
    m->metric = pfc_strdup(row->metric);
    m->backend = pfc_strdup(row->backend);
    m->unit = pfc_strdup(row->unit);
    m->higher_is_better = row->higher_is_better;
    m->exact = row->exact;
    m->status = (pfc_status)row->status;
    m->reason = pfc_strdup(row->reason);
    m->operations = row->operations;
    m->bytes = row->bytes;
    pfc_array_f64s(row->samples, &m->samples, &m->samples_len);
    pfc_array_u32s(row->blocks, &m->blocks, &m->blocks_len);
    code = read_visits(row, m, err);
    if (!code)
        code = pfc_labels_parse(row->params_json, &m->params, err);
    if (!code)
        code = pfc_labels_parse(row->extra_json, &m->extra, err);
    return code;
}

static pfc_code read_run(pfc_tx *tx, int64_t project_id, int64_t run_id, pfc_run *run, pfc_err *err)
{
    pfc_sql_run_document_rows header = { 0 };
    pfc_sql_run_measurements_rows rows = { 0 };
    pfc_code code = pfc_sql_run_document(
        tx, &(pfc_sql_run_document_args){ .project_id = project_id, .run_id = run_id }, &header,
        err);

    if (!code && header.len == 0)
        code = pfc_err_set(err, PFC_ENOTFOUND, "no such run");
    if (!code)
        code = read_header(header.items, run, err);
    if (!code)
        code = pfc_sql_run_measurements(
            tx, &(pfc_sql_run_measurements_args){ .project_id = project_id, .run_id = run_id },
            &rows, err);
    for (size_t i = 0; !code && i < rows.len; i++)
        code = read_measurement(&rows.items[i], pfc_run_add(run), err);
    pfc_rows_clear(&rows);
    pfc_rows_clear(&header);
    return code;
}

pfc_code pfc_run_load(pfc_db *db, int64_t project_id, int64_t run_id, pfc_run **out, pfc_err *err)
{
    pfc_run *run = pfc_run_new();
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_SNAPSHOT, err);

    if (!code)
        code = read_run(tx, project_id, run_id, run, err);
    pfc_tx_free(tx);
    if (code)
        pfc_run_free(run);
    else
        *out = run;
    return code;
}
