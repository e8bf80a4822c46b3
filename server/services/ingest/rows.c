/*
 * The measurements of one or many runs as the database takes them: arrays with an element a
 * measurement to ask for their series, rows of a COPY to store them.
 */
#include "server/services/ingest/ingest.h"
#include "server/services/ingest/prepared.h"

size_t pfc_ingest_rows(pfc_ingest *const *runs, size_t len)
{
    size_t rows = 0;

    for (size_t i = 0; i < len; i++)
        rows += runs[i]->ok.len;
    return rows;
}

pfc_code pfc_ingest_series_find(pfc_tx *tx, pfc_ingest *const *runs, size_t len,
                                pfc_sql_series_find_rows *out, pfc_err *err)
{
    const size_t rows = pfc_ingest_rows(runs, len);
    int64_t *projects = pfc_calloc(rows, sizeof(*projects));
    enum { CLASS, BRANCH, BENCHMARK, METRIC, BACKEND, TEXTS };
    const char **texts[TEXTS];
    size_t n = 0;
    pfc_code code;

    for (size_t t = 0; t < TEXTS; t++)
        texts[t] = pfc_calloc(rows, sizeof(*texts[t]));
    for (size_t i = 0; i < len; i++) {
        for (size_t k = 0; k < runs[i]->ok.len; k++, n++) {
            projects[n] = runs[i]->project_id;
            texts[CLASS][n] = runs[i]->run->machine.machine_class;
            texts[BRANCH][n] = runs[i]->branch;
            texts[BENCHMARK][n] = runs[i]->ok.benchmark[k];
            texts[METRIC][n] = runs[i]->ok.metric[k];
            texts[BACKEND][n] = runs[i]->ok.backend[k];
        }
    }
    code = pfc_sql_series_find(tx,
                               &(pfc_sql_series_find_args){ .project_ids = projects,
                                                            .machine_classes = texts[CLASS],
                                                            .branches = texts[BRANCH],
                                                            .benchmarks = texts[BENCHMARK],
                                                            .metrics = texts[METRIC],
                                                            .backends = texts[BACKEND],
                                                            .len = rows },
                               out, err);
    for (size_t t = 0; t < TEXTS; t++)
        free(texts[t]);
    free(projects);
    return code;
}

static void add_measurement(pfc_copy *copy, const pfc_ingest *in, size_t k)
{
    const pfc_measurement *m = in->ok.measured[k];
    /* Blocks and positions as two columns, both NULL without visits. */
    uint32_t *visits = m->visits ? pfc_calloc(2 * m->blocks_len, sizeof(*visits)) : NULL;
    uint32_t *positions = visits ? visits + m->blocks_len : NULL;

    for (size_t i = 0; visits && i < m->blocks_len; i++) {
        visits[i] = m->visits[i].block;
        positions[i] = m->visits[i].position;
    }
    pfc_sql_measurements_copy_add(
        copy, &(pfc_sql_measurements_copy_row){ .project_id = in->project_id,
                                                .series_id = in->ok.series[k],
                                                .run_id = in->run_id,
                                                .commit_id = in->commit_id,
                                                .n = (int32_t)m->samples_len,
                                                .median = in->ok.median[k],
                                                .low = in->ok.low[k],
                                                .high = in->ok.high[k],
                                                .min = in->ok.min[k],
                                                .samples = m->samples,
                                                .samples_len = m->samples_len,
                                                .blocks = m->blocks,
                                                .blocks_len = m->blocks_len,
                                                .extra_json = in->ok.extra[k],
                                                .visit_blocks = visits,
                                                .visit_blocks_len = m->blocks_len,
                                                .visit_positions = positions,
                                                .visit_positions_len = m->blocks_len });
    free(visits);
}

void pfc_ingest_measurements(pfc_copy *out, pfc_ingest *const *runs, size_t len)
{
    pfc_copy rows;

    pfc_copy_begin(&rows);
    for (size_t i = 0; i < len; i++) {
        for (size_t k = 0; k < runs[i]->ok.len; k++)
            add_measurement(&rows, runs[i], k);
    }
    pfc_copy_end(&rows);
    *out = rows;
}
