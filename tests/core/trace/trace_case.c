/* See trace_case.h. */
#include "tests/core/trace/trace_case.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/fs.h"
#include "core/trace/layout.h"

const pfc_trace_header *case_header(void)
{
    static const pfc_trace_clock clocks[] = { { "host", 1000000000, 64 },
                                              { "device", 2000000000, 36 } };
    static const pfc_trace_unit units[] = {
        { "main thread", CASE_HOST, PFC_TRACE_KIND_HOST, 0, 0, false },
        { "queue 0", CASE_QUEUE, PFC_TRACE_KIND_QUEUE, 1, 0, false },
        { "tensor 0", CASE_TENSOR, PFC_TRACE_KIND_TENSOR, 1, 0, false },
        { "dma 0", CASE_DMA, PFC_TRACE_KIND_DMA, 1, 0, true },
        { "power", CASE_POWER, PFC_TRACE_KIND_POWER, 1, 0, false },
    };
    static const pfc_trace_counter counters[] = { { "hbm_read", "bytes" }, { "temperature", "K" } };
    static const char *const names[] = { "launch", "gemm", "phase 1" };
    static const pfc_trace_meta meta[] = { { "chip", "edge8" },
                                           { "kernel", "gemm 64x64x64" },
                                           { "host_command", "perfci accel run \"gemm\"" } };
    static const pfc_trace_header header = {
        .clocks = clocks,
        .units = units,
        .counters = counters,
        .names = names,
        .meta = meta,
        .clocks_len = PFC_ARRAY_LEN(clocks),
        .units_len = PFC_ARRAY_LEN(units),
        .counters_len = PFC_ARRAY_LEN(counters),
        .names_len = PFC_ARRAY_LEN(names),
        .meta_len = PFC_ARRAY_LEN(meta),
    };

    return &header;
}

const pfc_trace_record *case_records(size_t *len)
{
    /* ticks, type, unit, corr, a, b; device ticks are half nanoseconds. */
    static const pfc_trace_record records[] = {
        { 0, PFC_TRACE_CLOCK_PAIR, CASE_QUEUE, 0, 90, 110 },
        { 900, PFC_TRACE_ALLOC, CASE_HOST, 0, 4096, 65536 },
        { 1000, PFC_TRACE_API_ENTER, CASE_HOST, 7, 1, 0 },
        { 1100, PFC_TRACE_SUBMIT, CASE_HOST, 7, CASE_QUEUE, 1 },
        { 1150, PFC_TRACE_DOORBELL, CASE_HOST, 7, CASE_QUEUE, 1 },
        { 1200, PFC_TRACE_API_EXIT, CASE_HOST, 7, 1, 0 },
        { 2400, PFC_TRACE_FETCH, CASE_QUEUE, 7, 1, 40 },
        { 2500, PFC_TRACE_KERNEL_BEGIN, CASE_QUEUE, 7, 2, 1 },
        { 2510, PFC_TRACE_DMA_ISSUE, CASE_DMA, 7, 1, 4096 },
        { 2520, PFC_TRACE_DMA_ISSUE, CASE_DMA, 7, 2, 4096 },
        { 2520, PFC_TRACE_SEM_WAIT, CASE_TENSOR, 7, 3, 1 },
        { 2520, PFC_TRACE_UNIT_STATE, CASE_TENSOR, 0, PFC_TRACE_STATE_WAIT_SEMAPHORE, 0 },
        { 2600, PFC_TRACE_COUNTER_SAMPLE, CASE_DMA, 0, 0, 4096 },
        { 2700, PFC_TRACE_DMA_DONE, CASE_DMA, 7, 1, 4096 },
        { 2700, PFC_TRACE_SEM_SIGNAL, CASE_DMA, 7, 3, 1 },
        { 2701, PFC_TRACE_UNIT_STATE, CASE_TENSOR, 0, PFC_TRACE_STATE_BUSY, 0 },
        { 2701, PFC_TRACE_TILE_BEGIN, CASE_TENSOR, 7, 0, 0 },
        { 2750, PFC_TRACE_DMA_DONE, CASE_DMA, 7, 2, 4096 },
        { 2800, PFC_TRACE_TILE_END, CASE_TENSOR, 7, 0, 262144 },
        { 2800, PFC_TRACE_THROTTLE, CASE_POWER, 0, 3, 4 },
        { 2810, PFC_TRACE_FREQ_CHANGE, CASE_POWER, 0, 1, 1500000000 },
        { 2820, PFC_TRACE_FAULT, CASE_POWER, 0, 0, 5 },
        { 2830, PFC_TRACE_KERNEL_END, CASE_QUEUE, 7, 2, 0 },
        { 2840, PFC_TRACE_IRQ, CASE_QUEUE, 7, 0, 1 },
        { 2850, PFC_TRACE_DROP, CASE_QUEUE, 0, 2, 0 },
        { 3000, PFC_TRACE_IRQ_HANDLED, CASE_HOST, 7, 0, 1 },
        { 3100, PFC_TRACE_MARKER, CASE_HOST, 0, 3, 0 },
        { 3200, PFC_TRACE_FREE, CASE_HOST, 0, 4096, 65536 },
    };

    *len = PFC_ARRAY_LEN(records);
    return records;
}

const pfc_trace_record *case_whole_records(size_t *len)
{
    static pfc_trace_record whole[64];
    size_t all = 0;
    const pfc_trace_record *records = case_records(&all);

    *len = 0;
    for (size_t i = 0; i < all; i++)
        if (records[i].type != PFC_TRACE_DROP)
            whole[(*len)++] = records[i];
    return whole;
}

uint8_t *case_bytes_of(const pfc_trace_header *header, const pfc_trace_record *records, size_t len,
                       size_t *out_len)
{
    pfc_trace_record end = { .ticks = PFC_TRACE_DIGEST_START,
                             .type = PFC_TRACE_TYPE_END,
                             .a = len,
                             .b = PFC_TRACE_END_MARK };
    uint8_t bytes[PFC_TRACE_RECORD_BYTES];
    pfc_buf out;

    pfc_buf_init(&out, 64 << 20);
    if (pfc_trace_header_encode(header, &out, NULL))
        pfc_die("the header cannot be encoded");
    for (size_t i = 0; i < len; i++) {
        pfc_trace_record_encode(&records[i], bytes);
        pfc_buf_append(&out, bytes, sizeof(bytes));
        end.ticks = pfc_trace_record_digest(end.ticks, &records[i]);
    }
    pfc_trace_record_encode(&end, bytes);
    pfc_buf_append(&out, bytes, sizeof(bytes));
    *out_len = out.len;
    return (uint8_t *)pfc_buf_take(&out);
}

char *case_path(const char *name)
{
    char *dir = NULL;
    char *path;

    if (pfc_fs_temp_dir("pfc-trace", &dir, NULL))
        pfc_die("no temporary folder");
    path = pfc_fs_join(dir, name);
    free(dir);
    return path;
}

pfc_code case_write(const char *path, const pfc_trace_header *header,
                    const pfc_trace_record *records, size_t len, pfc_err *err)
{
    pfc_trace_writer *w = NULL;
    const pfc_code code = pfc_trace_writer_open(&w, path, header, err);

    if (code)
        return code;
    for (size_t i = 0; i < len; i++)
        pfc_trace_put(w, &records[i]);
    return pfc_trace_writer_close(w, err);
}

void case_remove(char *path)
{
    *strrchr(path, '/') = '\0';
    if (pfc_fs_remove_tree(path, NULL))
        pfc_die("cannot remove %s", path);
    free(path);
}
