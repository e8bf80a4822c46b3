/*
 * Prepares a run for storing: all work and checks that need no database connection.
 */
#include "core/base/buf.h"
#include "core/base/parse.h"
#include "core/stats/stats.h"
#include "server/services/ingest/ingest.h"
#include "server/services/ingest/prepared.h"

static void columns_clear(pfc_ingest_columns *c)
{
    for (size_t i = 0; i < c->len; i++) {
        free(c->params[i]);
        free(c->extra[i]);
    }
    void *arrays[] = { c->benchmark, c->metric,   c->backend, c->unit,  c->params,
                       c->extra,     c->measured, c->higher,  c->exact, c->series,
                       c->median,    c->low,      c->high,    c->min };
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
    c->extra = pfc_calloc(cap, sizeof(char *));
    c->measured = pfc_calloc(cap, sizeof(*c->measured));
    c->higher = pfc_calloc(cap, sizeof(bool));
    c->exact = pfc_calloc(cap, sizeof(bool));
    c->series = pfc_calloc(cap, sizeof(int64_t));
    c->median = pfc_calloc(cap, sizeof(double));
    c->low = pfc_calloc(cap, sizeof(double));
    c->high = pfc_calloc(cap, sizeof(double));
    c->min = pfc_calloc(cap, sizeof(double));
}

/* The interval that charts draw around a point. Most variation is between launches of the process,
 * so with several launches it is the interval of their medians, from order statistics: for fewer
 * than six launches that is their range. No verdict depends on it: comparing and judging read the
 * raw samples. A bootstrap of the blocks, as reports use, took 30 times as long as the rest of
 * storing a run. */
static pfc_interval interval_of(const pfc_measurement *m)
{
    pfc_interval all, launches;
    double *medians;
    size_t at = 0;

    all = pfc_stats_median_interval(m->samples, m->samples_len, 0.95);
    if (m->blocks_len < 2 || m->exact)
        return all;
    medians = pfc_calloc(m->blocks_len, sizeof(*medians));
    for (size_t b = 0; b < m->blocks_len; at += m->blocks[b++])
        medians[b] = pfc_stats_median(m->samples + at, m->blocks[b]);
    launches = pfc_stats_median_interval(medians, m->blocks_len, 0.95);
    free(medians);
    return (pfc_interval){ .value = all.value,
                           .low = PFC_MIN(launches.low, all.value),
                           .high = PFC_MAX(launches.high, all.value) };
}

static void columns_add(pfc_ingest_columns *c, const pfc_measurement *m)
{
    pfc_interval interval = interval_of(m);
    size_t i = c->len++;

    c->benchmark[i] = m->benchmark;
    c->metric[i] = m->metric;
    c->backend[i] = m->backend;
    c->unit[i] = m->unit;
    c->params[i] = pfc_labels_text(&m->params);
    c->extra[i] = pfc_labels_text(&m->extra);
    c->measured[i] = m;
    c->higher[i] = m->higher_is_better;
    c->exact[i] = m->exact;
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
                                 "commit: expected a full id of 40 hexadecimal digits");
    if (!run->id || strlen(run->id) != 32)
        return pfc_err_set_field(err, PFC_EINVAL, "id", "id: expected 32 hexadecimal digits");
    if (key && (!*key || strlen(key) > PFC_INGEST_MAX_KEY))
        return pfc_err_set(err, PFC_EINVAL, "Idempotency-Key: expected 1 to %d bytes",
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
    char fence[32] = ""; /* documents without it must keep their hash */
    char session[120] = "";
    char *text;

    if (run->job_fence)
        (void)snprintf(fence, sizeof(fence), "\n%lld", (long long)run->job_fence);
    if (run->session_id)
        (void)snprintf(session, sizeof(session), "\n%s\n%s\n%s", run->session_id,
                       run->session_anchor, run->session_base);
    text = pfc_format("%s\n%s\n%s\n%s\n%.17g\n%.17g\n%lld\n%d\n%s\n%s\n%s%s%s%s", run->commit,
                      run->branch ? run->branch : "", run->suite ? run->suite : "",
                      run->suite_hash ? run->suite_hash : "", run->started_at, run->finished_at,
                      (long long)run->job_id, run->infra, run->machine.name,
                      run->machine.machine_class, run->machine.fingerprint_hash, fence, session,
                      run->unsandboxed ? "\nunsandboxed" : "");

    pfc_sha256_hex(text, strlen(text), out);
    free(text);
}

#define HASHED_MAX (64u * 1024 * 1024) /* four times the largest document */

/* With its length, so that different lists of texts have different hashes. */
static void put_text(pfc_buf *buf, const char *text)
{
    size_t len = text ? strlen(text) + 1 : 0;

    pfc_buf_append(buf, &len, sizeof(len));
    pfc_buf_append(buf, text ? text : "", len);
}

static void put_pairs(pfc_buf *buf, const pfc_labels *pairs)
{
    char *text = pfc_labels_text(pairs);

    put_text(buf, text);
    free(text);
}

static void put_measurement(pfc_buf *buf, const pfc_measurement *m)
{
    const int64_t facts[] = { m->higher_is_better, m->exact, (int64_t)m->status,
                              (int64_t)m->samples_len, (int64_t)m->blocks_len };

    put_text(buf, m->benchmark);
    put_text(buf, m->metric);
    put_text(buf, m->backend);
    put_text(buf, m->unit);
    put_text(buf, m->reason);
    put_pairs(buf, &m->params);
    put_pairs(buf, &m->extra);
    pfc_buf_append(buf, facts, sizeof(facts));
    if (m->samples_len)
        pfc_buf_append(buf, m->samples, m->samples_len * sizeof(*m->samples));
    if (m->blocks_len)
        pfc_buf_append(buf, m->blocks, m->blocks_len * sizeof(*m->blocks));
    if (m->visits)
        pfc_buf_append(buf, m->visits, m->blocks_len * sizeof(*m->visits));
    /* Documents without them must keep their hash. */
    if (m->operations > 0 || m->bytes > 0) {
        const double work[] = { m->operations, m->bytes };

        pfc_buf_append(buf, work, sizeof(work));
    }
}

/* Hashes the content of the document: blanks and the order of keys do not count. The values' own
 * bytes rather than their text, because printing a double costs more than storing it. */
static void hash_body(const pfc_run *run, const char *header, const char *ceilings,
                      char out[PFC_SHA256_HEX])
{
    pfc_buf buf;

    pfc_buf_init(&buf, HASHED_MAX);
    put_text(&buf, header);
    put_text(&buf, run->id);
    put_text(&buf, run->project);
    for (size_t i = 0; i < run->measurements_len; i++)
        put_measurement(&buf, &run->measurements[i]);
    if (ceilings)
        put_text(&buf, ceilings);
    if (buf.overflow)
        pfc_die("ingest: a document over %u bytes came this far", HASHED_MAX);
    pfc_sha256_hex(buf.data, buf.len, out);
    pfc_buf_clear(&buf);
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
    in->ceilings = pfc_run_ceilings_text(run);
    hash_header(run, in->header);
    hash_body(run, in->header, in->ceilings, in->body);
    return PFC_OK;
}

void pfc_ingest_clear(pfc_ingest *in)
{
    columns_clear(&in->ok);
    free(in->project);
    free(in->branch);
    free(in->ceilings);
    memset(in, 0, sizeof(*in));
}
