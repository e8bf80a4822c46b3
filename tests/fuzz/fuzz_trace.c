/* Traces: a file in either format is refused, or read, exported and checked; an export has no fault
 * but those that the trace itself has. */
#include <string.h>

#include "core/trace/check/check.h"
#include "core/trace/export/export.h"

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/trace_seal.h"

/* The clocks by their pairs; NULL: the trace cannot be read to its end. */
static pfc_trace_clocks *clocks_of(const uint8_t *data, size_t size)
{
    pfc_trace_reader *reader = NULL;
    pfc_trace_clocks *clocks = NULL;
    pfc_err err = { 0 };

    if (pfc_trace_reader_open_bytes(&reader, data, size, "x", PFC_TRACE_STRICT, &err))
        return NULL;
    if (!pfc_trace_clocks_read(&clocks, reader, &err))
        for (size_t i = 0; i < PFC_TRACE_MAX_CLOCKS; i++)
            for (size_t k = 1; k < clocks->clocks[i].len; k++)
                FUZZ_CHECK(clocks->clocks[i].knots[k].ns > clocks->clocks[i].knots[k - 1].ns);
    pfc_trace_reader_free(reader);
    return clocks;
}

static void export_all(const uint8_t *data, size_t size, pfc_trace_format format,
                       const pfc_trace_clocks *clocks)
{
    const pfc_trace_export_opts opts = { .format = format, .kineto = size % 2, .clocks = clocks };
    pfc_trace_reader *reader = NULL;
    pfc_trace_export_stats stats = { 0 };
    pfc_err err = { 0 };

    if (pfc_trace_reader_open_bytes(&reader, data, size, "x", PFC_TRACE_STRICT, &err))
        return;
    if (pfc_trace_export(reader, "/dev/null", &opts, &stats, &err))
        FUZZ_CHECK(strstr(err.msg, "record ") != NULL);
    else
        FUZZ_CHECK(stats.records == pfc_trace_reader_number(reader));
    pfc_trace_reader_free(reader);
}

static void feed(const uint8_t *data, size_t size)
{
    pfc_trace_report report = { 0 };
    pfc_trace_clocks *clocks;
    pfc_err err = { 0 };

    if (pfc_trace_check_bytes(data, size, "x", 10, &report, &err)) {
        FUZZ_CHECK(err.code == PFC_EINVAL && err.msg[0]);
        return;
    }
    FUZZ_CHECK(report.findings_len <= 10 && report.findings_len <= report.faults);
    FUZZ_CHECK(report.json || report.faults > 0 ||
               size >= 32 * (report.records + 1)); /* the end record */
    pfc_trace_report_clear(&report);
    export_all(data, size, PFC_TRACE_JSON, NULL);
    clocks = clocks_of(data, size);
    export_all(data, size, PFC_TRACE_JSON, clocks);
    export_all(data, size, PFC_TRACE_CSV, clocks);
    pfc_trace_clocks_free(clocks);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    feed_sealed(data, size, feed);
    return 0;
}
