/* See path_case.h. */
#include "tests/core/analysis/path/path_case.h"

const pfc_trace_header *path_case_header(void)
{
    static const pfc_trace_clock clocks[] = { { "core", 1000000000, 64 } };
    static const pfc_trace_unit units[] = {
        { "kernels", CASE_QUEUE, PFC_TRACE_KIND_QUEUE, 0, 0, false },
        { "tensor", CASE_TENSOR, PFC_TRACE_KIND_TENSOR, 0, 0, false },
        { "vector", CASE_VECTOR, PFC_TRACE_KIND_VECTOR, 0, 0, false },
        { "dma 0", CASE_DMA0, PFC_TRACE_KIND_DMA, 0, 0, true },
        { "dma 1", CASE_DMA1, PFC_TRACE_KIND_DMA, 0, 0, true },
        { "dma 2", CASE_DMA2, PFC_TRACE_KIND_DMA, 0, 0, true },
    };
    static const char *const names[] = { "kernel", "load a[i]", "load_a", "matmul_sum" };
    static const pfc_trace_meta meta[] = { { "chip_hbm_channels", "1" },
                                           { "dma_piece_bytes", "4096" },
                                           { "chip_dma_window", "64" } };
    static const pfc_trace_header header = {
        .clocks = clocks,
        .units = units,
        .names = names,
        .meta = meta,
        .clocks_len = PFC_ARRAY_LEN(clocks),
        .units_len = PFC_ARRAY_LEN(units),
        .names_len = PFC_ARRAY_LEN(names),
        .meta_len = PFC_ARRAY_LEN(meta),
    };

    return &header;
}

pfc_code path_case(const pfc_trace_record *records, size_t len, pfc_path *out, pfc_err *err)
{
    pfc_path_builder *b = pfc_path_builder_new();
    pfc_trace_writer *w = NULL;
    pfc_code code =
        pfc_trace_writer_open_consumer(&w, pfc_path_builder_consumer(b), path_case_header(), err);

    for (size_t i = 0; i < len && !code; i++)
        pfc_trace_put(w, &records[i]);
    if (!code)
        code = pfc_trace_writer_close(w, err);
    if (!code)
        code = pfc_path_builder_finish(b, out, err);
    pfc_path_builder_free(b);
    return code;
}

uint64_t path_case_blocking(const pfc_path *path, pfc_resource r)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < path->phases_len; i++)
        sum += path->blocking[i][r];
    return sum;
}
