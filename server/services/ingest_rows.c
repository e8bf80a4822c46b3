/*
 * The measurements of one or many runs as parameters of a statement: an array a column, an element
 * a measurement.
 */
#include "server/services/ingest.h"

typedef const char *(*text_at)(const pfc_ingest *in, size_t k);
typedef int64_t (*i64_at)(const pfc_ingest *in, size_t k);
typedef double (*f64_at)(const pfc_ingest *in, size_t k);

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
static const char *extra_at(const pfc_ingest *in, size_t k)
{
    return in->ok.extra[k];
}
static int64_t project_at(const pfc_ingest *in, size_t k)
{
    (void)k;
    return in->project_id;
}
static int64_t run_at(const pfc_ingest *in, size_t k)
{
    (void)k;
    return in->run_id;
}
static int64_t commit_at(const pfc_ingest *in, size_t k)
{
    (void)k;
    return in->commit_id;
}
static int64_t series_at(const pfc_ingest *in, size_t k)
{
    return in->ok.series[k];
}
static int64_t samples_at(const pfc_ingest *in, size_t k)
{
    return (int64_t)in->ok.measured[k]->samples_len;
}
static int64_t blocks_at(const pfc_ingest *in, size_t k)
{
    return (int64_t)in->ok.measured[k]->blocks_len;
}
static double median_at(const pfc_ingest *in, size_t k)
{
    return in->ok.median[k];
}
static double low_at(const pfc_ingest *in, size_t k)
{
    return in->ok.low[k];
}
static double high_at(const pfc_ingest *in, size_t k)
{
    return in->ok.high[k];
}
static double min_at(const pfc_ingest *in, size_t k)
{
    return in->ok.min[k];
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

/* Where each row's share begins in an array of all; returns how long that is. */
static size_t put_places(pfc_args *args, pfc_ingest *const *runs, size_t len, i64_at share)
{
    size_t n = 0;
    int64_t next = 0;
    int64_t *values = pfc_calloc(pfc_ingest_rows(runs, len), sizeof(*values));

    for (size_t i = 0; i < len; i++) {
        for (size_t k = 0; k < runs[i]->ok.len; k++) {
            values[n++] = next;
            next += share(runs[i], k);
        }
    }
    pfc_args_i64s(args, values, n);
    free(values);
    return (size_t)next;
}

static void put_f64s(pfc_args *args, pfc_ingest *const *runs, size_t len, f64_at get)
{
    size_t n = 0;
    double *values = pfc_calloc(pfc_ingest_rows(runs, len), sizeof(*values));

    for (size_t i = 0; i < len; i++) {
        for (size_t k = 0; k < runs[i]->ok.len; k++)
            values[n++] = get(runs[i], k);
    }
    pfc_args_f64s(args, values, n);
    free(values);
}

/* An array of arrays of different lengths does not exist in SQL: one array of all, cut by places. */
static void put_samples(pfc_args *args, pfc_ingest *const *runs, size_t len, size_t total)
{
    double *all = pfc_calloc(total, sizeof(*all));
    size_t n = 0;

    for (size_t i = 0; i < len; i++) {
        for (size_t k = 0; k < runs[i]->ok.len; k++) {
            const pfc_measurement *m = runs[i]->ok.measured[k];

            memcpy(all + n, m->samples, m->samples_len * sizeof(*all));
            n += m->samples_len;
        }
    }
    pfc_args_f64s(args, all, n);
    free(all);
}

static void put_blocks(pfc_args *args, pfc_ingest *const *runs, size_t len, size_t total)
{
    uint32_t *all = pfc_calloc(total, sizeof(*all));
    size_t n = 0;

    for (size_t i = 0; i < len; i++) {
        for (size_t k = 0; k < runs[i]->ok.len; k++) {
            const pfc_measurement *m = runs[i]->ok.measured[k];

            memcpy(all + n, m->blocks, m->blocks_len * sizeof(*all));
            n += m->blocks_len;
        }
    }
    pfc_args_u32s(args, all, n);
    free(all);
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

void pfc_ingest_measurement_args(pfc_args *args, pfc_ingest *const *runs, size_t len)
{
    size_t samples, blocks;

    put_i64s(args, runs, len, project_at);
    put_i64s(args, runs, len, run_at);
    put_i64s(args, runs, len, commit_at);
    put_i64s(args, runs, len, series_at);
    put_i64s(args, runs, len, samples_at);
    samples = put_places(args, runs, len, samples_at);
    put_i64s(args, runs, len, blocks_at);
    blocks = put_places(args, runs, len, blocks_at);
    put_f64s(args, runs, len, median_at);
    put_f64s(args, runs, len, low_at);
    put_f64s(args, runs, len, high_at);
    put_f64s(args, runs, len, min_at);
    put_texts(args, runs, len, extra_at);
    put_samples(args, runs, len, samples);
    put_blocks(args, runs, len, blocks);
}
