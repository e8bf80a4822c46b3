/*
 * The measurements of one or many runs as the database takes them: arrays with an element a
 * measurement to ask for their series, rows of a COPY to store them.
 */
#include "server/services/ingest/ingest.h"

typedef const char *(*text_at)(const pfc_ingest *in, size_t k);
typedef int64_t (*i64_at)(const pfc_ingest *in, size_t k);

static const char *class_at(const pfc_ingest *in, size_t k)
{
    (void)k;
    return in->run->machine.machine_class;
}
static const char *branch_at(const pfc_ingest *in, size_t k)
{
    (void)k;
    return in->branch;
}
static const char *benchmark_at(const pfc_ingest *in, size_t k)
{
    return in->ok.benchmark[k];
}
static const char *metric_at(const pfc_ingest *in, size_t k)
{
    return in->ok.metric[k];
}
static const char *backend_at(const pfc_ingest *in, size_t k)
{
    return in->ok.backend[k];
}
static int64_t project_at(const pfc_ingest *in, size_t k)
{
    (void)k;
    return in->project_id;
}

size_t pfc_ingest_rows(pfc_ingest *const *runs, size_t len)
{
    size_t rows = 0;

    for (size_t i = 0; i < len; i++)
        rows += runs[i]->ok.len;
    return rows;
}

static void put_texts(pfc_args *args, pfc_ingest *const *runs, size_t len, text_at get)
{
    size_t n = 0;
    const char **values = pfc_calloc(pfc_ingest_rows(runs, len), sizeof(*values));

    for (size_t i = 0; i < len; i++) {
        for (size_t k = 0; k < runs[i]->ok.len; k++)
            values[n++] = get(runs[i], k);
    }
    pfc_args_texts(args, values, n);
    free(values);
}

static void put_i64s(pfc_args *args, pfc_ingest *const *runs, size_t len, i64_at get)
{
    size_t n = 0;
    int64_t *values = pfc_calloc(pfc_ingest_rows(runs, len), sizeof(*values));

    for (size_t i = 0; i < len; i++) {
        for (size_t k = 0; k < runs[i]->ok.len; k++)
            values[n++] = get(runs[i], k);
    }
    pfc_args_i64s(args, values, n);
    free(values);
}

void pfc_ingest_series_args(pfc_args *args, pfc_ingest *const *runs, size_t len)
{
    put_i64s(args, runs, len, project_at);
    put_texts(args, runs, len, class_at);
    put_texts(args, runs, len, branch_at);
    put_texts(args, runs, len, benchmark_at);
    put_texts(args, runs, len, metric_at);
    put_texts(args, runs, len, backend_at);
}

/* Blocks and positions as two columns, both NULL without visits. */
static void put_visits(pfc_copy *rows, const pfc_measurement *m)
{
    uint32_t *values;

    if (!m->visits) {
        pfc_copy_null(rows);
        pfc_copy_null(rows);
        return;
    }
    values = pfc_calloc(m->blocks_len, sizeof(*values));
    for (size_t i = 0; i < m->blocks_len; i++)
        values[i] = m->visits[i].block;
    pfc_copy_u32s(rows, values, m->blocks_len);
    for (size_t i = 0; i < m->blocks_len; i++)
        values[i] = m->visits[i].position;
    pfc_copy_u32s(rows, values, m->blocks_len);
    free(values);
}

void pfc_ingest_measurements(pfc_copy *out, pfc_ingest *const *runs, size_t len)
{
    pfc_copy rows;

    pfc_copy_begin(&rows);
    for (size_t i = 0; i < len; i++) {
        const pfc_ingest *in = runs[i];

        for (size_t k = 0; k < in->ok.len; k++) {
            const pfc_measurement *m = in->ok.measured[k];

            pfc_copy_row(&rows, 14);
            pfc_copy_i64(&rows, in->project_id);
            pfc_copy_i64(&rows, in->ok.series[k]);
            pfc_copy_i64(&rows, in->run_id);
            pfc_copy_i64(&rows, in->commit_id);
            pfc_copy_i32(&rows, (int32_t)m->samples_len);
            pfc_copy_f64(&rows, in->ok.median[k]);
            pfc_copy_f64(&rows, in->ok.low[k]);
            pfc_copy_f64(&rows, in->ok.high[k]);
            pfc_copy_f64(&rows, in->ok.min[k]);
            pfc_copy_f64s(&rows, m->samples, m->samples_len);
            pfc_copy_u32s(&rows, m->blocks, m->blocks_len);
            pfc_copy_json(&rows, in->ok.extra[k]);
            put_visits(&rows, m);
        }
    }
    pfc_copy_end(&rows);
    *out = rows;
}
