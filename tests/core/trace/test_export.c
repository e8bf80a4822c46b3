/* Exports: golden files, hostile names, clocks that wrap, slices and waits without an end. */
#include <stdlib.h>
#include <string.h>

#include "core/base/fs.h"
#include "core/base/rng.h"
#include "core/trace/check/check.h"
#include "core/trace/export/export.h"

#include "tests/check/check.h"
#include "tests/core/trace/trace_case.h"

/* The records exported; caller frees. */
static char *export_of(const pfc_trace_header *header, const pfc_trace_record *records, size_t len,
                       const pfc_trace_export_opts *opts, pfc_trace_export_stats *stats)
{
    size_t size = 0;
    uint8_t *bytes = case_bytes_of(header, records, len, &size);
    char *path = case_path("out");
    char *text = NULL;
    pfc_trace_reader *reader = NULL;
    pfc_err err = { 0 };

    cr_assert(eq(int,
                 pfc_trace_reader_open_bytes(&reader, bytes, size, "x", PFC_TRACE_STRICT, &err),
                 PFC_OK),
              "%s", err.msg);
    cr_assert(eq(int, pfc_trace_export(reader, path, opts, stats, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_fs_read(path, 256 << 20, &text, NULL, &err), PFC_OK), "%s", err.msg);
    pfc_trace_reader_free(reader);
    case_remove(path);
    free(bytes);
    return text;
}

static const pfc_trace_export_opts json = { .format = PFC_TRACE_JSON };

/* The JSON of these records, which has no fault; caller frees. */
static char *sound_json(const pfc_trace_header *header, const pfc_trace_record *records, size_t len,
                        pfc_trace_export_stats *stats)
{
    char *text = export_of(header, records, len, &json, stats);
    pfc_trace_report report = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_trace_check_bytes(text, strlen(text), "x", 10, &report, &err), PFC_OK));
    cr_assert(eq(u64, report.faults, 0), "%s\n%s", report.findings[0].what, text);
    cr_assert(eq(u64, report.records, stats->events));
    pfc_trace_report_clear(&report);
    return text;
}

static void expect_text(const char *text, const char *wanted)
{
    cr_assert(strstr(text, wanted) != NULL, "expected %s in\n%s", wanted, text);
}

/* ---- golden files ---- */

/* With PFC_TRACE_GOLDEN=write in the environment the files are written again. */
static void expect_golden(const char *name, const void *bytes, size_t len)
{
    char *path = pfc_format("%s/trace/%s", PFC_TEST_DATA, name);
    char *golden = NULL;
    size_t golden_len = 0;
    pfc_err err = { 0 };

    if (pfc_streq(getenv("PFC_TRACE_GOLDEN"), "write"))
        cr_assert(eq(int, pfc_fs_write_atomic(path, bytes, len, 0644, &err), PFC_OK));
    cr_assert(eq(int, pfc_fs_read(path, 1 << 20, &golden, &golden_len, &err), PFC_OK), "%s",
              err.msg);
    cr_assert(eq(sz, golden_len, len), "%s", name);
    cr_assert(memcmp(golden, bytes, len) == 0, "%s differs from\n%.*s", name, (int)len,
              (const char *)bytes);
    free(golden);
    free(path);
}

Test(trace_export, golden_files)
{
    const pfc_trace_export_opts kineto = { .format = PFC_TRACE_JSON, .kineto = true };
    const pfc_trace_export_opts csv = { .format = PFC_TRACE_CSV };
    const struct {
        const char *name;
        const pfc_trace_export_opts *opts;
    } files[] = { { "launch.json", &json },
                  { "launch.kineto.json", &kineto },
                  { "launch.csv", &csv } };
    size_t len = 0;
    size_t size = 0;
    const pfc_trace_record *records = case_records(&len);
    uint8_t *bytes = case_bytes_of(case_header(), records, len, &size);

    expect_golden("launch.pct", bytes, size);
    for (size_t i = 0; i < PFC_ARRAY_LEN(files); i++) {
        char *text = export_of(case_header(), records, len, files[i].opts, NULL);

        expect_golden(files[i].name, text, strlen(text));
        free(text);
    }
    free(bytes);
}

Test(trace_export, writer_and_export_give_the_same_json)
{
    size_t len = 0;
    const pfc_trace_record *records = case_records(&len);
    char *path = case_path("a.json");
    char *written = NULL;
    char *exported;
    pfc_trace_export_stats stats;
    pfc_err err = { 0 };

    cr_assert(eq(int, case_write(path, case_header(), records, len, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_fs_read(path, 1 << 20, &written, NULL, &err), PFC_OK));
    exported = sound_json(case_header(), records, len, &stats);
    cr_assert(eq(str, written, exported));
    case_remove(path);
    free(written);
    free(exported);
}

/* ---- names ---- */

Test(trace_export, hostile_names_are_escaped)
{
    static const char hostile[] = "\"}],\\ \n\t\x01\x7f \xc3\xa9</script>";
    const pfc_trace_clock clocks[] = { { hostile, 1000000000, 64 } };
    const pfc_trace_unit units[] = { { hostile, 1, PFC_TRACE_KIND_HOST, 0, 0, false },
                                     { hostile, 2, PFC_TRACE_KIND_DMA, 0, 3, true } };
    const pfc_trace_counter counters[] = { { hostile, hostile } };
    const char *const names[] = { hostile };
    const pfc_trace_meta meta[] = { { hostile, hostile }, { "chip", hostile } };
    const pfc_trace_header header = { clocks, units, counters, names, meta, 1, 2, 1, 1, 2 };
    const pfc_trace_record records[] = { { 1, PFC_TRACE_MARKER, 1, 0, 1, 0 },
                                         { 2, PFC_TRACE_API_ENTER, 1, 0, 1, 0 },
                                         { 3, PFC_TRACE_API_EXIT, 1, 0, 1, 0 },
                                         { 4, PFC_TRACE_COUNTER_SAMPLE, 2, 0, 0, 9 },
                                         { 5, PFC_TRACE_FREQ_CHANGE, 2, 0, 0, 9 } };
    const pfc_trace_export_opts csv = { .format = PFC_TRACE_CSV };
    pfc_trace_export_stats stats;
    char *text = sound_json(&header, records, PFC_ARRAY_LEN(records), &stats);

    expect_text(text, "\"name\":\"\\\"}],\\\\ \\u000a\\u0009\\u0001\\u007f \xc3\xa9</script>\"");
    cr_assert(strchr(text, '\x01') == NULL);
    free(text);
    text = export_of(&header, records, PFC_ARRAY_LEN(records), &csv, NULL);
    expect_text(text, ",marker,1,\"\"\"}],\\ \n\t");
    free(text);
}

/* The longest names and values, every character of which JSON writes with six. */
Test(trace_export, longest_names_fit)
{
    char name[PFC_TRACE_NAME_BYTES + 1];
    char value[PFC_TRACE_VALUE_BYTES + 1];
    const char *const names[] = { name };
    const pfc_trace_clock clocks[] = { { name, 1000000000, 64 } };
    const pfc_trace_unit units[] = { { name, 1, PFC_TRACE_KIND_DMA, 0, 0, true },
                                     { name, 2, PFC_TRACE_KIND_HOST, 0, 0, false } };
    const pfc_trace_counter counters[] = { { name, name } };
    const pfc_trace_meta meta[] = { { name, value }, { "chip", value }, { "host_command", value } };
    const pfc_trace_header header = { clocks, units, counters, names, meta, 1, 2, 1, 1, 3 };
    const pfc_trace_record records[] = { { 1, PFC_TRACE_KERNEL_BEGIN, 1, 0, 1, UINT64_MAX },
                                         { 2, PFC_TRACE_KERNEL_END, 1, 0, 1, 0 },
                                         { 3, PFC_TRACE_COUNTER_SAMPLE, 1, 0, 0, UINT64_MAX },
                                         { 4, PFC_TRACE_SUBMIT, 2, 0, 1, 0 } };
    pfc_trace_export_stats stats;
    char *text;

    memset(name, '\x02', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    memset(value, '\x02', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    text = sound_json(&header, records, PFC_ARRAY_LEN(records), &stats);
    expect_text(text, "\"launch\":\"18446744073709551615\"");
    free(text);
}

/* ---- time ---- */

Test(trace_export, narrow_clock_counts_on_over_its_wrap)
{
    const pfc_trace_clock clocks[] = { { "c", 1000000000, 8 } };
    const pfc_trace_unit units[] = { { "t", 1, PFC_TRACE_KIND_TENSOR, 0, 0, false } };
    const pfc_trace_header header = {
        .clocks = clocks, .units = units, .clocks_len = 1, .units_len = 1
    };
    const pfc_trace_record records[] = { { 200, PFC_TRACE_TILE_BEGIN, 1, 0, 0, 0 },
                                         { 250, PFC_TRACE_TILE_END, 1, 0, 0, 0 },
                                         { 4, PFC_TRACE_TILE_BEGIN, 1, 0, 1, 0 },
                                         { 100, PFC_TRACE_TILE_END, 1, 0, 1, 0 } };
    pfc_trace_export_stats stats;
    char *text = sound_json(&header, records, PFC_ARRAY_LEN(records), &stats);

    expect_text(text, "\"ts\":0.200,\"pid\":100,\"tid\":1000,\"dur\":0.050");
    expect_text(text, "\"ts\":0.260,\"pid\":100,\"tid\":1000,\"dur\":0.096"); /* 256 + 4 */
    free(text);
}

Test(trace_export, time_that_does_not_fit_names_its_record)
{
    const pfc_trace_clock clocks[] = { { "c", 1, 64 } };
    const pfc_trace_unit units[] = { { "t", 1, PFC_TRACE_KIND_TENSOR, 0, 0, false } };
    const pfc_trace_header header = {
        .clocks = clocks, .units = units, .clocks_len = 1, .units_len = 1
    };
    const pfc_trace_record records[] = { { 1, PFC_TRACE_MARKER, 1, 0, 0, 0 },
                                         { 10000000000, PFC_TRACE_MARKER, 1, 0, 0, 0 } };
    size_t size = 0;
    uint8_t *bytes = case_bytes_of(&header, records, 2, &size);
    pfc_trace_reader *reader = NULL;
    pfc_err err = { 0 };

    cr_assert(eq(int,
                 pfc_trace_reader_open_bytes(&reader, bytes, size, "x", PFC_TRACE_STRICT, &err),
                 PFC_OK));
    cr_assert(eq(int, pfc_trace_export(reader, "/dev/null", &json, NULL, &err), PFC_EINVAL));
    cr_assert(strstr(err.msg, "record 2 at byte ") != NULL, "%s", err.msg);
    pfc_trace_reader_free(reader);
    free(bytes);
}

/* ---- what has no end, no begin, or comes before its cause ---- */

Test(trace_export, open_slices_end_with_the_trace)
{
    const pfc_trace_record records[] = {
        { 100, PFC_TRACE_KERNEL_BEGIN, CASE_QUEUE, 0, 2, 1 },
        { 200, PFC_TRACE_SEM_WAIT, CASE_TENSOR, 0, 5, 1 },
        { 300, PFC_TRACE_TILE_BEGIN, CASE_TENSOR, 0, 1, 0 },
        { 500, PFC_TRACE_IRQ, CASE_QUEUE, 0, 0, 0 },
    };
    pfc_trace_export_stats stats;
    char *text = sound_json(case_header(), records, PFC_ARRAY_LEN(records), &stats);

    expect_text(text, "\"name\":\"gemm\",\"cat\":\"kernel\",\"ts\":0.050,\"pid\":100,\"tid\":1,"
                      "\"dur\":0.200,\"args\":{\"correlation\":0,\"launch\":1,\"unfinished\":true");
    expect_text(text, "\"ph\":\"e\",\"name\":\"tensor 0: sem_wait\",\"cat\":\"sync\",\"ts\":0.250");
    free(text);
}

Test(trace_export, end_without_begin_is_an_instant)
{
    const pfc_trace_record records[] = {
        { 100, PFC_TRACE_KERNEL_BEGIN, CASE_TENSOR, 0, 2, 1 },
        { 110, PFC_TRACE_TILE_BEGIN, CASE_TENSOR, 0, 1, 0 },
        { 120, PFC_TRACE_KERNEL_END, CASE_TENSOR, 0, 2, 0 },
        { 130, PFC_TRACE_TILE_END, CASE_TENSOR, 0, 1, 0 },
    };
    pfc_trace_export_stats stats;
    char *text = sound_json(case_header(), records, PFC_ARRAY_LEN(records), &stats);

    cr_assert(eq(u64, stats.unmatched, 2)); /* the tile that the kernel's end cut, and its end */
    expect_text(text, "\"ph\":\"i\",\"name\":\"tile_end\"");
    expect_text(text, "\"unmatched\":true");
    free(text);
}

/* The device's clock is not tied to the host's: a flow would go backward. */
Test(trace_export, flow_that_goes_backward_is_left_out)
{
    const pfc_trace_record records[] = {
        { 5000, PFC_TRACE_API_ENTER, CASE_HOST, 7, 1, 0 },
        { 5100, PFC_TRACE_SUBMIT, CASE_HOST, 7, CASE_QUEUE, 1 },
        { 5200, PFC_TRACE_API_EXIT, CASE_HOST, 7, 1, 0 },
        { 10, PFC_TRACE_KERNEL_BEGIN, CASE_QUEUE, 7, 2, 1 },
        { 20, PFC_TRACE_KERNEL_END, CASE_QUEUE, 7, 2, 0 },
    };
    pfc_trace_export_stats stats;
    char *text = sound_json(case_header(), records, PFC_ARRAY_LEN(records), &stats);

    cr_assert(eq(u64, stats.reversed, 1));
    cr_assert(strstr(text, "\"ph\":\"s\"") == NULL);
    free(text);
}

/* More launches than flows are remembered: each is drawn or left out, none is left open. */
Test(trace_export, many_flows_are_all_paired)
{
    enum { LAUNCHES = 70000 };
    pfc_trace_record *records = calloc(4 * LAUNCHES + 2, sizeof(*records));
    pfc_trace_export_stats stats;
    size_t len = 0;
    char *text;

    for (uint32_t i = 1; i <= LAUNCHES; i++) {
        records[len++] = (pfc_trace_record){ 10 * i, PFC_TRACE_API_ENTER, CASE_HOST, i, 1, 0 };
        records[len++] =
            (pfc_trace_record){ 10 * i, PFC_TRACE_SUBMIT, CASE_HOST, i, CASE_QUEUE, i };
        records[len++] = (pfc_trace_record){ 20 * i, PFC_TRACE_FETCH, CASE_QUEUE, i, i, 5 };
        records[len++] = (pfc_trace_record){ 10 * i + 9, PFC_TRACE_API_EXIT, CASE_HOST, i, 1, 0 };
    }
    text = export_of(case_header(), records, len, &json, &stats);
    {
        pfc_trace_report report = { 0 };
        pfc_err err = { 0 };

        cr_assert(
            eq(int, pfc_trace_check_bytes(text, strlen(text), "x", 10, &report, &err), PFC_OK));
        cr_assert(eq(u64, report.faults, 0), "%s", report.findings[0].what);
        pfc_trace_report_clear(&report);
    }
    cr_assert(eq(u64, stats.reversed, 0));
    free(text);
    free(records);
}

/* Whatever the records say, in whatever order: the document is whole, names all tracks, pairs its
 * flows and ends its counters. Slices may cross, as they do in the trace. */
Test(trace_export, random_traces_give_whole_documents)
{
    static const pfc_trace_check_kind never[] = {
        PFC_TRACE_CHECK_FILE,       PFC_TRACE_CHECK_SYNTAX,   PFC_TRACE_CHECK_TYPE,
        PFC_TRACE_CHECK_UNIT,       PFC_TRACE_CHECK_ZERO,     PFC_TRACE_CHECK_FLOW_BEGIN,
        PFC_TRACE_CHECK_FLOW_ORDER, PFC_TRACE_CHECK_FLOW_END, PFC_TRACE_CHECK_LIMIT
    };
    enum { COUNT = 400, TRACES = 60 };
    pfc_trace_record records[COUNT];
    size_t some = 0;
    const pfc_trace_record *templates = case_records(&some);
    pfc_trace_report report = { 0 };
    pfc_rng rng;
    pfc_err err = { 0 };

    pfc_rng_seed(&rng, 18);
    for (int trace = 0; trace < TRACES; trace++) {
        char *text;

        for (size_t i = 0; i < COUNT; i++) {
            records[i] = templates[pfc_rng_below(&rng, some)];
            records[i].ticks = 40 * i + pfc_rng_below(&rng, trace % 3 ? 30 : 3000);
            records[i].corr = (uint32_t)pfc_rng_below(&rng, 4);
        }
        text = export_of(case_header(), records, COUNT, &json, NULL);
        cr_assert(
            eq(int, pfc_trace_check_bytes(text, strlen(text), "x", 1000, &report, &err), PFC_OK));
        for (size_t k = 0; k < PFC_ARRAY_LEN(never); k++)
            cr_assert(eq(u64, report.by_kind[never[k]], 0), "trace %d: %s", trace,
                      pfc_trace_check_name(never[k]));
        pfc_trace_report_clear(&report);
        free(text);
    }
}

/* Of two semaphores, a signal ends the waits for its own. */
/* The unit's own track, then lanes; the second transfer's place is free for the fourth. */
Test(trace_export, slices_that_overlap_are_on_lanes)
{
    static const pfc_trace_record records[] = {
        { 100, PFC_TRACE_DMA_ISSUE, CASE_DMA, 0, 1, 64 },
        { 200, PFC_TRACE_DMA_ISSUE, CASE_DMA, 0, 2, 64 },
        { 300, PFC_TRACE_DMA_ISSUE, CASE_DMA, 0, 3, 64 },
        { 400, PFC_TRACE_DMA_DONE, CASE_DMA, 0, 2, 64 },
        { 400, PFC_TRACE_DMA_ISSUE, CASE_DMA, 0, 4, 64 },
        { 500, PFC_TRACE_DMA_DONE, CASE_DMA, 0, 1, 64 },
        { 600, PFC_TRACE_DMA_DONE, CASE_DMA, 0, 4, 64 },
        { 700, PFC_TRACE_DMA_DONE, CASE_DMA, 0, 3, 64 },
    };
    pfc_trace_export_stats stats;
    char *text = sound_json(case_header(), records, PFC_ARRAY_LEN(records), &stats);
    static const char slice[] =
        "{\"ph\":\"X\",\"name\":\"dma\",\"cat\":\"dma\",\"ts\":0.%s,\"pid\":100,"
        "\"tid\":%s,\"dur\":0.%s,\"args\":{\"correlation\":0,"
        "\"descriptor\":%d,";
    /* Ticks are half nanoseconds. */
    static const char *const wanted[][3] = { { "050", "3000", "200" },
                                             { "100", "13000", "100" },
                                             { "150", "23000", "200" },
                                             { "200", "13000", "100" } };

    for (int i = 0; i < 4; i++) {
        char *one = pfc_format(slice, wanted[i][0], wanted[i][1], wanted[i][2], i + 1);

        expect_text(text, one);
        free(one);
    }
    expect_text(text, "\"tid\":23000,\"args\":{\"name\":\"dma 0 (3)\"}");
    cr_assert(eq(ptr, strstr(text, "dma 0 (4)"), NULL));
    cr_assert(eq(ptr, strstr(text, "dma 0 (1)"), NULL));
    free(text);
}

/* More at once than there are lanes: the rest are async events, and all of them are paired. */
Test(trace_export, more_slices_than_lanes_are_async_events)
{
    pfc_trace_record records[80];
    pfc_trace_export_stats stats;
    char *text;

    for (size_t i = 0; i < 80; i++)
        records[i] = (pfc_trace_record){ .ticks = i,
                                         .type = i < 40 ? PFC_TRACE_DMA_ISSUE : PFC_TRACE_DMA_DONE,
                                         .unit = CASE_DMA,
                                         .a = i % 40,
                                         .b = 64 };
    text = sound_json(case_header(), records, 80, &stats);
    cr_assert(eq(u64, stats.unmatched, 0));
    expect_text(text, "dma 0 (16)");
    cr_assert(eq(ptr, strstr(text, "dma 0 (17)"), NULL));
    expect_text(text, "{\"ph\":\"b\",\"name\":\"dma 0: dma\"");
    free(text);
}

/* A transfer before the kernel is a point of the flow from the call to the kernel. */
Test(trace_export, a_flow_passes_the_transfers_before_the_kernel)
{
    static const pfc_trace_record records[] = {
        { 0, PFC_TRACE_CLOCK_PAIR, CASE_QUEUE, 0, 0, 0 },
        { 100, PFC_TRACE_API_ENTER, CASE_HOST, 7, 1, 0 },
        { 110, PFC_TRACE_SUBMIT, CASE_HOST, 7, CASE_QUEUE, 1 },
        { 120, PFC_TRACE_API_EXIT, CASE_HOST, 7, 1, 0 },
        { 400, PFC_TRACE_DMA_ISSUE, CASE_DMA, 7, 1, 64 },
        { 600, PFC_TRACE_DMA_DONE, CASE_DMA, 7, 1, 64 },
        { 700, PFC_TRACE_KERNEL_BEGIN, CASE_QUEUE, 7, 2, 1 },
        { 900, PFC_TRACE_KERNEL_END, CASE_QUEUE, 7, 2, 0 },
    };
    pfc_trace_export_stats stats;
    char *text = sound_json(case_header(), records, PFC_ARRAY_LEN(records), &stats);

    expect_text(text, "{\"ph\":\"t\",\"name\":\"flow\",\"cat\":\"flow\",\"ts\":0.200,\"pid\":100,"
                      "\"tid\":3000,\"id\":7,");
    free(text);
}

Test(trace_export, signal_ends_the_waits_for_its_semaphore)
{
    const pfc_trace_record records[] = {
        { 100, PFC_TRACE_SEM_WAIT, CASE_TENSOR, 0, 5, 2 },
        { 200, PFC_TRACE_SEM_SIGNAL, CASE_DMA, 0, 6, 2 },
        { 300, PFC_TRACE_SEM_SIGNAL, CASE_DMA, 0, 5, 1 },
        { 400, PFC_TRACE_SEM_SIGNAL, CASE_DMA, 0, 5, 2 },
        { 500, PFC_TRACE_SEM_WAIT, CASE_TENSOR, 0, 5, 1 },
        { 600, PFC_TRACE_IRQ, CASE_QUEUE, 0, 0, 0 },
    };
    pfc_trace_export_stats stats;
    char *text = sound_json(case_header(), records, PFC_ARRAY_LEN(records), &stats);

    expect_text(text, "\"ph\":\"b\",\"name\":\"tensor 0: sem_wait\",\"cat\":\"sync\",\"ts\":0.050");
    expect_text(text, "\"ph\":\"e\",\"name\":\"tensor 0: sem_wait\",\"cat\":\"sync\",\"ts\":0.200");
    /* The second wait ends where it begins. */
    expect_text(text, "\"ph\":\"e\",\"name\":\"tensor 0: sem_wait\",\"cat\":\"sync\",\"ts\":0.250");
    free(text);
}

/* A step back over tick 0 of a clock of 8 bits: -2/3 s, rounded down to ns. */
Test(trace_export, step_back_before_the_first_tick_is_negative)
{
    const pfc_trace_clock clocks[] = { { "c", 3, 8 } };
    const pfc_trace_unit units[] = { { "d", 1, PFC_TRACE_KIND_DMA, 0, 0, true } };
    const pfc_trace_header header = {
        .clocks = clocks, .units = units, .clocks_len = 1, .units_len = 1
    };
    const pfc_trace_record records[] = { { 5, PFC_TRACE_MARKER, 1, 0, 0, 0 },
                                         { 254, PFC_TRACE_MARKER, 1, 0, 0, 0 } };
    pfc_trace_export_stats stats;
    char *text = sound_json(&header, records, PFC_ARRAY_LEN(records), &stats);

    expect_text(text, "\"ts\":1666666.666");
    expect_text(text, "\"ts\":-666666.667");
    free(text);
}

/* Without a call around it there is no slice that the flow could begin in. */
Test(trace_export, submission_outside_of_a_call_begins_no_flow)
{
    const pfc_trace_record records[] = {
        { 100, PFC_TRACE_SUBMIT, CASE_HOST, 7, CASE_QUEUE, 1 },
        { 1000, PFC_TRACE_KERNEL_BEGIN, CASE_QUEUE, 7, 2, 1 },
        { 2000, PFC_TRACE_KERNEL_END, CASE_QUEUE, 7, 2, 0 },
    };
    pfc_trace_export_stats stats;
    char *text = sound_json(case_header(), records, PFC_ARRAY_LEN(records), &stats);

    cr_assert(strstr(text, "\"cat\":\"flow\"") == NULL, "%s", text);
    free(text);
}
