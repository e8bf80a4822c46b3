/* The writer: a buffer of records, checked and encoded a buffer at a time. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/trace/export/json.h"

/* The whole writer, of which pfc_trace_writer is the public part. */
typedef struct writer {
    pfc_trace_writer front; /* first: the public part */
    pfc_trace_record records[PFC_TRACE_BUFFER_RECORDS];
    uint8_t bytes[PFC_TRACE_BUFFER_RECORDS * PFC_TRACE_RECORD_BYTES];
    pfc_trace_index *index;
    pfc_trace_sink *sink;               /* NULL: a consumer takes the records */
    const pfc_trace_consumer *consumer; /* NULL: the records go to the sink */
    pfc_trace_json *json;               /* NULL: the binary format */
    uint64_t count;                     /* records flushed */
    uint64_t digest;                    /* of these */
    pfc_err err;                        /* of the first refused record */
} writer;

/* The writer copies the header by reading the bytes that it wrote. This checks that a reader
 * accepts them. */
static pfc_code write_header(writer *w, const pfc_trace_header *header, bool json, pfc_err *err)
{
    const pfc_trace_export_opts opts = { .format = PFC_TRACE_JSON };
    pfc_buf bytes;
    pfc_code code;

    pfc_buf_init(&bytes, PFC_TRACE_HEADER_BYTES);
    code = pfc_trace_header_encode(header, &bytes, err);
    if (!code)
        code = pfc_trace_index_decode(&w->index, (const uint8_t *)bytes.data, bytes.len, err);
    if (!code && w->consumer)
        code = w->consumer->begin(w->consumer->arg, &w->index->header, err);
    else if (!code && json)
        w->json = pfc_trace_json_new(w->sink, w->index, &opts);
    else if (!code)
        pfc_trace_sink_write(w->sink, bytes.data, bytes.len);
    pfc_buf_clear(&bytes);
    return code;
}

static bool ends_in_json(const char *path)
{
    const size_t len = strlen(path);

    return len >= 5 && strcmp(path + len - 5, ".json") == 0;
}

/* To a file, or to a consumer; the other one is NULL. */
static pfc_code open_writer(pfc_trace_writer **out, const char *path, const pfc_trace_consumer *to,
                            const pfc_trace_header *header, pfc_err *err)
{
    writer *w = pfc_alloc(sizeof(*w));
    pfc_code code = pfc_trace_header_check(header, err);

    w->front.next = w->records;
    w->front.end = w->records + PFC_TRACE_BUFFER_RECORDS;
    w->digest = PFC_TRACE_DIGEST_START;
    w->consumer = to;
    if (!code && path)
        code = pfc_trace_sink_open(&w->sink, path, err);
    if (!code)
        code = write_header(w, header, path && ends_in_json(path), err);
    if (code)
        pfc_trace_writer_drop(&w->front);
    else
        *out = &w->front;
    return code;
}

pfc_code pfc_trace_writer_open(pfc_trace_writer **out, const char *path,
                               const pfc_trace_header *header, pfc_err *err)
{
    return open_writer(out, path, NULL, header, err);
}

pfc_code pfc_trace_writer_open_consumer(pfc_trace_writer **out, const pfc_trace_consumer *to,
                                        const pfc_trace_header *header, pfc_err *err)
{
    return open_writer(out, NULL, to, header, err);
}

/* Adds a record to w->bytes at *len, or to the JSON. */
static void put(writer *w, const pfc_trace_record *record, size_t *len)
{
    char why[128];

    if (pfc_trace_record_fault(w->index, record, why))
        (void)pfc_err_set(&w->err, PFC_EINVAL, "trace record %llu: %s",
                          (unsigned long long)w->count + 1, why);
    else if (w->json && pfc_trace_json_put(w->json, record, &w->err))
        (void)pfc_err_wrap(&w->err, "trace record %llu", (unsigned long long)w->count + 1);
    if (w->err.code)
        return;
    w->count++;
    if (w->json || w->consumer)
        return;
    pfc_trace_record_encode(record, w->bytes + *len);
    w->digest = pfc_trace_record_digest(w->digest, record);
    *len += PFC_TRACE_RECORD_BYTES;
}

static bool failed(const writer *w)
{
    return w->err.code != PFC_OK || (w->sink && pfc_trace_sink_failed(w->sink));
}

void pfc_trace_writer_flush(pfc_trace_writer *front)
{
    writer *w = (writer *)front;
    size_t len = 0;

    for (const pfc_trace_record *r = w->records; r < w->front.next && !failed(w); r++)
        put(w, r, &len);
    if (!w->consumer)
        pfc_trace_sink_write(w->sink, w->bytes, len);
    else if (!failed(w))
        (void)w->consumer->records(w->consumer->arg, w->records,
                                   (size_t)(w->front.next - w->records), &w->err);
    w->front.next = w->records;
}

bool pfc_trace_writer_failed(const pfc_trace_writer *front)
{
    return failed((const writer *)front);
}

static void write_end_record(writer *w)
{
    const pfc_trace_record end = {
        .ticks = w->digest, .type = PFC_TRACE_TYPE_END, .a = w->count, .b = PFC_TRACE_END_MARK
    };

    pfc_trace_record_encode(&end, w->bytes);
    pfc_trace_sink_write(w->sink, w->bytes, PFC_TRACE_RECORD_BYTES);
}

pfc_code pfc_trace_writer_close(pfc_trace_writer *front, pfc_err *err)
{
    writer *w = (writer *)front;
    pfc_code code = PFC_OK;

    if (!w)
        return PFC_OK;
    pfc_trace_writer_flush(front);
    if (w->err.code) {
        code = pfc_err_set(err, w->err.code, "%s", w->err.msg);
    } else if (w->sink) {
        if (w->json)
            pfc_trace_json_end(w->json);
        else
            write_end_record(w);
        code = pfc_trace_sink_close(w->sink, err);
        w->sink = NULL;
    }
    pfc_trace_writer_drop(front);
    return code;
}

void pfc_trace_writer_drop(pfc_trace_writer *front)
{
    writer *w = (writer *)front;

    if (!w)
        return;
    pfc_trace_sink_drop(w->sink);
    pfc_trace_json_free(w->json);
    pfc_trace_index_free(w->index);
    free(w);
}
