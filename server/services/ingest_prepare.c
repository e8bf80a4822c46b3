/*
 * Making a run ready for storing: what can be done, and refused, before a connection is taken.
 */
#include "server/services/ingest.h"

static void columns_clear(pfc_ingest_columns *c)
{
    for (size_t i = 0; i < c->len; i++) {
        free(c->params[i]);
        free(c->samples[i]);
        free(c->blocks[i]);
        free(c->extra[i]);
    }
    void *arrays[] = { c->benchmark, c->metric, c->backend, c->unit,  c->params, c->samples,
                       c->blocks,    c->extra,  c->higher,  c->exact, c->series, c->n,
                       c->median,    c->low,    c->high,    c->min };
    for (size_t i = 0; i < PFC_ARRAY_LEN(arrays); i++)
        free(arrays[i]);
}

static void columns_init(pfc_ingest_columns *c, size_t cap)
{
    memset(c, 0, sizeof(*c));
    c->benchmark = pfc_calloc(cap, sizeof(char *));
    c->metric = pfc_calloc(cap, sizeof(char *));
    c->backend = pfc_calloc(cap, sizeof(char *));
    c->unit = pfc_calloc(cap, sizeof(char *));
    c->params = pfc_calloc(cap, sizeof(char *));
    c->samples = pfc_calloc(cap, sizeof(char *));
    c->blocks = pfc_calloc(cap, sizeof(char *));
    c->extra = pfc_calloc(cap, sizeof(char *));
    c->higher = pfc_calloc(cap, sizeof(bool));
    c->exact = pfc_calloc(cap, sizeof(bool));
    c->series = pfc_calloc(cap, sizeof(int64_t));
    c->n = pfc_calloc(cap, sizeof(int64_t));
    c->median = pfc_calloc(cap, sizeof(double));
    c->low = pfc_calloc(cap, sizeof(double));
    c->high = pfc_calloc(cap, sizeof(double));
    c->min = pfc_calloc(cap, sizeof(double));
}

char *pfc_ingest_pairs(const pfc_pairs *pairs)
{
    json_t *object = pfc_pairs_to_json(pairs);
    char *text = json_dumps(object, JSON_COMPACT);

    json_decref(object);
    return text;
}

static char *doubles_text(const double *x, size_t n)
{
    pfc_args args = { 0 };

    pfc_args_f64s(&args, x, n);
    return args.owned[0];
}

static char *blocks_text(const uint32_t *blocks, size_t n)
{
    pfc_args args = { 0 };
    int64_t *wide = pfc_calloc(n, sizeof(*wide));

    for (size_t i = 0; i < n; i++)
        wide[i] = blocks[i];
    pfc_args_i64s(&args, wide, n);
    free(wide);
    return args.owned[0];
}

static pfc_interval interval_of(const pfc_measurement *m)
{
    if (m->blocks_len > 1 && !m->exact)
        return pfc_stats_block_interval(m->samples, m->blocks, m->blocks_len, 0.95, 1);
    return pfc_stats_median_interval(m->samples, m->samples_len, 0.95);
}

static void columns_add(pfc_ingest_columns *c, const pfc_measurement *m)
{
    pfc_interval interval = interval_of(m);
    size_t i = c->len++;

    c->benchmark[i] = m->benchmark;
    c->metric[i] = m->metric;
    c->backend[i] = m->backend;
    c->unit[i] = m->unit;
    c->params[i] = pfc_ingest_pairs(&m->params);
    c->extra[i] = pfc_ingest_pairs(&m->extra);
    c->samples[i] = doubles_text(m->samples, m->samples_len);
    c->blocks[i] = blocks_text(m->blocks, m->blocks_len);
    c->higher[i] = m->higher_is_better;
    c->exact[i] = m->exact;
    c->n[i] = (int64_t)m->samples_len;
    c->median[i] = interval.value;
    c->low[i] = interval.low;
    c->high[i] = interval.high;
    c->min[i] = m->samples[0];
    for (size_t s = 1; s < m->samples_len; s++)
        c->min[i] = PFC_MIN(c->min[i], m->samples[s]);
    c->samples_total += (int64_t)m->samples_len;
}

static int compare_names(const void *a, const void *b)
{
    const pfc_measurement *x = *(const pfc_measurement *const *)a;
    const pfc_measurement *y = *(const pfc_measurement *const *)b;
    int order = strcmp(x->benchmark, y->benchmark);

    if (!order)
        order = strcmp(x->metric, y->metric);
    return order ? order : strcmp(x->backend, y->backend);
}

static pfc_code check_run(const pfc_run *run, const char *key, pfc_err *err)
{
    const pfc_measurement **sorted;
    pfc_code code = PFC_OK;

    if (!pfc_is_sha(run->commit))
        return pfc_err_set_field(err, PFC_EINVAL, "commit",
                                 "commit: want a full id of 40 hexadecimal digits");
    if (!run->id || strlen(run->id) != 32)
        return pfc_err_set_field(err, PFC_EINVAL, "id", "id: want 32 hexadecimal digits");
    if (key && (!*key || strlen(key) > PFC_INGEST_MAX_KEY))
        return pfc_err_set(err, PFC_EINVAL, "Idempotency-Key: want 1 to %d bytes",
                           PFC_INGEST_MAX_KEY);
    sorted = pfc_calloc(run->measurements_len, sizeof(*sorted));
    for (size_t i = 0; i < run->measurements_len; i++)
        sorted[i] = &run->measurements[i];
    if (run->measurements_len)
        qsort(sorted, run->measurements_len, sizeof(*sorted), compare_names);
    for (size_t i = 1; i < run->measurements_len && !code; i++) {
        if (compare_names(&sorted[i - 1], &sorted[i]) == 0)
            code = pfc_err_set_field(err, PFC_EINVAL, "measurements",
                                     "measurements: %s %s %s is there twice", sorted[i]->benchmark,
                                     sorted[i]->metric, sorted[i]->backend);
    }
    free(sorted);
    return code;
}

/* All that the parts of one run must have in common. */
static void hash_header(const pfc_run *run, char out[PFC_SHA256_HEX])
{
    char *text = pfc_format("%s\n%s\n%s\n%s\n%.17g\n%.17g\n%lld\n%d\n%s\n%s\n%s", run->commit,
                            run->branch ? run->branch : "", run->suite ? run->suite : "",
                            run->suite_hash ? run->suite_hash : "", run->started_at,
                            run->finished_at, (long long)run->job_id, run->infra, run->machine.name,
                            run->machine.machine_class, run->machine.fingerprint_hash);

    pfc_sha256_hex(text, strlen(text), out);
    free(text);
}

static void hash_body(const pfc_run *run, char out[PFC_SHA256_HEX])
{
    char *text = pfc_run_to_text(run); /* canonical: blanks and key order do not count */

    pfc_sha256_hex(text, strlen(text), out);
    free(text);
}

pfc_code pfc_ingest_prepare(pfc_ingest *in, const char *actor, int64_t project_id,
                            const pfc_run *run, const char *key, pfc_err *err)
{
    pfc_code code = check_run(run, key, err);

    *in = (pfc_ingest){ .actor = actor, .key = key, .run = run, .project_id = project_id };
    if (code)
        return code;
    columns_init(&in->ok, run->measurements_len);
    for (size_t i = 0; i < run->measurements_len; i++) {
        if (run->measurements[i].status == PFC_STATUS_OK)
            columns_add(&in->ok, &run->measurements[i]);
    }
    hash_header(run, in->header);
    hash_body(run, in->body);
    return PFC_OK;
}

void pfc_ingest_clear(pfc_ingest *in)
{
    columns_clear(&in->ok);
    free(in->project);
    free(in->branch);
    memset(in, 0, sizeof(*in));
}
