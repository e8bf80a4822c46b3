/*
 * One or many runs as the database takes them: arrays with an element a run, or a measurement, and
 * rows of a COPY for the results. A run is stored by these functions alone, whether in a
 * transaction of its own (ingest.c) or with others (group.c).
 */
#include <stdlib.h>

#include "server/services/ingest/ingest.h"
#include "server/services/ingest/prepared.h"
#include "server/services/service.h"

/* ---- runs as columns ---- */

typedef const char *(*text_of)(const pfc_ingest *in);
typedef int64_t (*i64_of)(const pfc_ingest *in);

#define COLUMN(type, name, expression)                                                             \
    static type name(const pfc_ingest *in)                                                         \
    {                                                                                              \
        return expression;                                                                         \
    }

COLUMN(const char *, sha_of, in->run->commit)
COLUMN(const char *, class_of, in->run->machine.machine_class)
COLUMN(const char *, host_of, in->run->machine.name ? in->run->machine.name : "")
COLUMN(const char *, fingerprint_of, in->run->machine.fingerprint_hash)
COLUMN(const char *, key_of, in->key)
COLUMN(const char *, asked_branch_of, in->run->branch)
COLUMN(const char *, branch_of, in->branch)
COLUMN(const char *, project_name_of, in->project)
COLUMN(const char *, id_of, in->run->id)
COLUMN(const char *, header_of, in->header)
COLUMN(const char *, body_of, in->body)
COLUMN(const char *, suite_of, in->run->suite ? in->run->suite : "")
COLUMN(const char *, suite_hash_of, in->run->suite_hash ? in->run->suite_hash : "")
COLUMN(const char *, session_of, in->run->session_id)
COLUMN(const char *, session_anchor_of, in->run->session_anchor)
COLUMN(const char *, session_base_of, in->run->session_base)
COLUMN(const char *, actor_of, in->actor)
COLUMN(const char *, ceilings_of, in->ceilings)
COLUMN(int64_t, project_of, in->project_id)
COLUMN(int64_t, commit_of, in->commit_id)
COLUMN(int64_t, machine_of, in->machine_id)
COLUMN(int64_t, job_of, in->run->job_id)
COLUMN(int64_t, fence_of, in->run->job_fence)
COLUMN(int64_t, measurements_of, (int64_t)in->run->measurements_len)
COLUMN(int64_t, series_of, (int64_t)in->ok.len)
COLUMN(int64_t, samples_of, in->ok.samples_total)
COLUMN(int64_t, run_of, in->run_id)

/* The parameters of a statement: a text or a number of each run. */
enum { TEXT_COLUMNS = 17, NUMBER_COLUMNS = 9 };
typedef struct columns {
    const char *texts[TEXT_COLUMNS][PFC_INGEST_GROUP_MAX];
    int64_t numbers[NUMBER_COLUMNS][PFC_INGEST_GROUP_MAX];
    size_t texts_len, numbers_len;
    pfc_ingest *const *runs;
    size_t len;
} columns;

static const char *const *texts(columns *c, text_of get)
{
    const char **values = c->texts[c->texts_len++];

    for (size_t i = 0; i < c->len; i++)
        values[i] = get(c->runs[i]);
    return values;
}

static const int64_t *numbers(columns *c, i64_of get)
{
    int64_t *values = c->numbers[c->numbers_len++];

    for (size_t i = 0; i < c->len; i++)
        values[i] = get(c->runs[i]);
    return values;
}

static columns *columns_new(pfc_ingest *const *runs, size_t len)
{
    columns *c = pfc_alloc(sizeof(*c));

    c->runs = runs;
    c->len = len;
    return c;
}

pfc_code pfc_ingest_resolve(pfc_tx *tx, pfc_ingest *const *runs, size_t len,
                            pfc_sql_group_resolve_rows *out, pfc_err *err)
{
    columns *c = columns_new(runs, len);
    pfc_code code = pfc_sql_group_resolve(
        tx,
        &(pfc_sql_group_resolve_args){ .project_ids = numbers(c, project_of),
                                       .branches = texts(c, asked_branch_of),
                                       .shas = texts(c, sha_of),
                                       .machine_classes = texts(c, class_of),
                                       .machine_names = texts(c, host_of),
                                       .fingerprint_hashes = texts(c, fingerprint_of),
                                       .keys = texts(c, key_of),
                                       .len = len },
        out, err);

    free(c);
    return code;
}

pfc_code pfc_ingest_store(pfc_tx *tx, pfc_ingest *const *runs, size_t len, bool announce,
                          bool *stored, pfc_err *err)
{
    bool infra[PFC_INGEST_GROUP_MAX], unsandboxed[PFC_INGEST_GROUP_MAX];
    double started[PFC_INGEST_GROUP_MAX], finished[PFC_INGEST_GROUP_MAX];
    columns *c = columns_new(runs, len);
    pfc_sql_runs_store_rows rows = { 0 };
    pfc_code code;

    for (size_t i = 0; i < len; i++) {
        stored[i] = false;
        infra[i] = runs[i]->run->infra;
        unsandboxed[i] = runs[i]->run->unsandboxed;
        started[i] = runs[i]->run->started_at;
        finished[i] = runs[i]->run->finished_at;
    }
    code = pfc_sql_runs_store(
        tx,
        &(pfc_sql_runs_store_args){ .project_ids = numbers(c, project_of),
                                    .run_ids = texts(c, id_of),
                                    .header_hashes = texts(c, header_of),
                                    .commit_ids = numbers(c, commit_of),
                                    .branches = texts(c, branch_of),
                                    .suites = texts(c, suite_of),
                                    .suite_hashes = texts(c, suite_hash_of),
                                    .machine_ids = numbers(c, machine_of),
                                    .job_ids = numbers(c, job_of),
                                    .infra = infra,
                                    .started_at = started,
                                    .finished_at = finished,
                                    .body_hashes = texts(c, body_of),
                                    .keys = texts(c, key_of),
                                    .measurements = numbers(c, measurements_of),
                                    .series = numbers(c, series_of),
                                    .samples = numbers(c, samples_of),
                                    .actors = texts(c, actor_of),
                                    .projects = texts(c, project_name_of),
                                    .shas = texts(c, sha_of),
                                    .job_fences = numbers(c, fence_of),
                                    .sessions = texts(c, session_of),
                                    .session_anchors = texts(c, session_anchor_of),
                                    .session_bases = texts(c, session_base_of),
                                    .unsandboxed = unsandboxed,
                                    .ids = numbers(c, run_of),
                                    .ceilings = texts(c, ceilings_of),
                                    .announce = announce,
                                    .len = len },
        &rows, err);
    for (size_t row = 0; !code && row < rows.len; row++) {
        const size_t i = (size_t)rows.items[row].place - 1;

        runs[i]->run_id = rows.items[row].id;
        stored[i] = true;
    }
    pfc_rows_clear(&rows);
    free(c);
    return code;
}

/* ---- measurements ---- */

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
                                                .visit_positions_len = m->blocks_len,
                                                .operations = m->operations,
                                                .bytes = m->bytes });
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

/* Stores broken and skipped measurements, so that the complete document can be returned later. */
pfc_code pfc_ingest_unmeasured(pfc_ingest *in, pfc_err *err)
{
    const pfc_run *run = in->run;
    size_t cap = run->measurements_len - in->ok.len, n = 0;
    const char **text[5];
    char **params = pfc_calloc(cap, sizeof(char *));
    bool *higher = pfc_calloc(cap, sizeof(bool)), *exact = pfc_calloc(cap, sizeof(bool));
    bool *broken = pfc_calloc(cap, sizeof(bool));
    pfc_code code = PFC_OK;

    for (size_t t = 0; t < PFC_ARRAY_LEN(text); t++)
        text[t] = pfc_calloc(cap, sizeof(char *));
    for (size_t i = 0; i < run->measurements_len; i++) {
        const pfc_measurement *m = &run->measurements[i];

        if (m->status == PFC_STATUS_OK)
            continue;
        text[0][n] = m->benchmark;
        text[1][n] = m->metric;
        text[2][n] = m->backend;
        text[3][n] = m->unit;
        text[4][n] = m->reason ? m->reason : "";
        params[n] = pfc_labels_text(&m->params);
        higher[n] = m->higher_is_better;
        exact[n] = m->exact;
        broken[n++] = m->status == PFC_STATUS_BROKEN;
    }
    if (n)
        code = pfc_sql_unmeasured_insert(
            in->tx,
            &(pfc_sql_unmeasured_insert_args){ .project_id = in->project_id,
                                               .run_id = in->run_id,
                                               .benchmarks = text[0],
                                               .metrics = text[1],
                                               .backends = text[2],
                                               .units = text[3],
                                               .higher_is_better = higher,
                                               .exact = exact,
                                               .broken = broken,
                                               .reasons = text[4],
                                               .params = (const char *const *)params,
                                               .len = n },
            err);
    for (size_t t = 0; t < PFC_ARRAY_LEN(text); t++)
        free(text[t]);
    pfc_texts_free(params, n);
    free(broken);
    free(exact);
    free(higher);
    return code;
}
