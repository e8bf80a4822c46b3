/* Clocks by pairs of readings: which pairs are knots, and times between, before and after them. */
#include <stdlib.h>
#include <string.h>

#include "core/base/fs.h"
#include "core/trace/export/export.h"

#include "tests/check/check.h"
#include "tests/core/trace/trace_case.h"

static pfc_err err;

/* The clocks of these records; *path has them as a file, or NULL. */
static pfc_trace_clocks *clocks_of(const pfc_trace_record *records, size_t len)
{
    size_t size = 0;
    uint8_t *bytes = case_bytes_of(case_header(), records, len, &size);
    pfc_trace_reader *reader = NULL;
    pfc_trace_clocks *clocks = NULL;

    cr_assert(eq(int,
                 pfc_trace_reader_open_bytes(&reader, bytes, size, "x", PFC_TRACE_STRICT, &err),
                 PFC_OK),
              "%s", err.msg);
    cr_assert(eq(int, pfc_trace_clocks_read(&clocks, reader, &err), PFC_OK), "%s", err.msg);
    pfc_trace_reader_free(reader);
    free(bytes);
    return clocks;
}

static int64_t ns_at(const pfc_trace_clock_knots *clock, int64_t ticks)
{
    int64_t ns = 0;

    cr_assert(pfc_trace_clocks_ns(clock, ticks, &ns));
    return ns;
}

/* A tick is nominally half a nanosecond. Between the pairs 2000 ticks took 1010 ns, then 990 ns:
 * before and after them, the mean of both. */
Test(trace_clocks, time_is_linear_between_pairs)
{
    static const pfc_trace_record records[] = {
        { 1000, PFC_TRACE_CLOCK_PAIR, CASE_POWER, 0, 5000 - 40, 5000 + 40 },
        { 3000, PFC_TRACE_CLOCK_PAIR, CASE_POWER, 0, 6010 - 50, 6010 + 50 },
        { 5000, PFC_TRACE_CLOCK_PAIR, CASE_POWER, 0, 7000 - 40, 7000 + 40 },
    };
    pfc_trace_clocks *clocks = clocks_of(records, PFC_ARRAY_LEN(records));
    const pfc_trace_clock_knots *device = &clocks->clocks[1];

    cr_assert(eq(sz, clocks->clocks[0].len, 0)); /* the host's own */
    cr_assert(eq(sz, device->len, 3));
    cr_assert(eq(sz, device->left_out, 0));
    cr_assert(eq(i64, device->bound_ns, 50));
    cr_assert(eq(i64, ns_at(device, 1000), 5000));
    cr_assert(eq(i64, ns_at(device, 2000), 5505));
    cr_assert(eq(i64, ns_at(device, 2001), 5505)); /* 5505.505, rounded down */
    cr_assert(eq(i64, ns_at(device, 3000), 6010));
    cr_assert(eq(i64, ns_at(device, 4000), 6505));
    cr_assert(eq(i64, ns_at(device, 5000), 7000));
    cr_assert(eq(i64, ns_at(device, 7000), 8000));
    cr_assert(eq(i64, ns_at(device, 0), 4500));
    cr_assert(eq(i64, ns_at(device, -1), 4499)); /* 4499.5, rounded down as all others */
    pfc_trace_clocks_free(clocks);
}

/* The host was held up within the second pair, the third is older by its own clock, the fourth by
 * the host's: none of them is a knot. */
Test(trace_clocks, wide_and_backward_pairs_are_left_out)
{
    static const pfc_trace_record records[] = {
        { 1000, PFC_TRACE_CLOCK_PAIR, CASE_POWER, 0, 4960, 5040 },
        { 2000, PFC_TRACE_CLOCK_PAIR, CASE_POWER, 0, 5460, 5460 + 162 },
        { 900, PFC_TRACE_CLOCK_PAIR, CASE_POWER, 0, 5960, 6040 },
        { 2500, PFC_TRACE_CLOCK_PAIR, CASE_POWER, 0, 4950, 5030 },
        { 3000, PFC_TRACE_CLOCK_PAIR, CASE_POWER, 0, 5920, 6080 },
    };
    pfc_trace_clocks *clocks = clocks_of(records, PFC_ARRAY_LEN(records));
    const pfc_trace_clock_knots *device = &clocks->clocks[1];

    cr_assert(eq(sz, device->len, 2));
    cr_assert(eq(sz, device->left_out, 3));
    cr_assert(eq(i64, device->bound_ns, 80));
    cr_assert(eq(i64, ns_at(device, 2000), 5500));
    pfc_trace_clocks_free(clocks);
}

/* The clock has 36 bits and starts again at 0 between the pairs. */
Test(trace_clocks, readings_count_on_over_a_wrap)
{
    const uint64_t top = UINT64_C(1) << 36;
    const pfc_trace_record records[] = {
        { top - 2000, PFC_TRACE_CLOCK_PAIR, CASE_POWER, 0, 960, 1040 },
        { 2000, PFC_TRACE_CLOCK_PAIR, CASE_POWER, 0, 2960, 3040 },
    };
    pfc_trace_clocks *clocks = clocks_of(records, PFC_ARRAY_LEN(records));

    cr_assert(eq(sz, clocks->clocks[1].len, 2));
    cr_assert(eq(i64, ns_at(&clocks->clocks[1], (int64_t)top), 2000));
    pfc_trace_clocks_free(clocks);
}

/* Half a nanosecond a tick, and from pair 50000 on a thousandth more. */
static int64_t bent(size_t i)
{
    return (int64_t)(1000 * i + (i > 50000 ? i - 50000 : 0));
}

/* More pairs than are kept: every second one is left out, twice, so that pairs from all of the time
 * stay, also the one at the bend. */
Test(trace_clocks, many_pairs_are_thinned)
{
    const size_t len = 150000;
    pfc_trace_record *records = pfc_calloc(len, sizeof(*records));
    pfc_trace_clocks *clocks;

    for (size_t i = 0; i < len; i++) {
        const uint64_t ns = (uint64_t)bent(i);

        records[i] = (pfc_trace_record){ .ticks = 2000 * i,
                                         .type = PFC_TRACE_CLOCK_PAIR,
                                         .unit = CASE_POWER,
                                         .a = ns + 5000,
                                         .b = ns + 5080 };
    }
    clocks = clocks_of(records, len);
    cr_assert(gt(sz, clocks->clocks[1].len, 30000));
    cr_assert(le(sz, clocks->clocks[1].len, 65536));
    for (size_t i = 0; i < len; i += 997)
        cr_assert(
            le(i64, llabs(ns_at(&clocks->clocks[1], (int64_t)(2000 * i)) - bent(i) - 5040), 1));
    pfc_trace_clocks_free(clocks);
    free(records);
}

/* The same file exported by its path, which reads it twice, and by a reader, which reads it
 * once. */
Test(trace_clocks, a_file_is_exported_by_all_pairs_a_stream_by_the_first)
{
    static const pfc_trace_record records[] = {
        { 0, PFC_TRACE_CLOCK_PAIR, CASE_POWER, 0, 960, 1040 },
        { 1000, PFC_TRACE_MARKER, CASE_POWER, 0, 3, 0 },
        { 4000, PFC_TRACE_CLOCK_PAIR, CASE_POWER, 0, 4960, 5040 },
    };
    const pfc_trace_export_opts csv = { .format = PFC_TRACE_CSV };
    const pfc_trace_export_opts json = { .format = PFC_TRACE_JSON };
    char *from = case_path("in.pct"), *to = case_path("out.csv");
    pfc_trace_reader *reader = NULL;
    char *text = NULL;

    cr_assert(
        eq(int, case_write(from, case_header(), records, PFC_ARRAY_LEN(records), &err), PFC_OK));
    cr_assert(eq(int, pfc_trace_export_file(from, to, &csv, NULL, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_fs_read(to, 1 << 20, &text, NULL, &err), PFC_OK));
    cr_assert(ne(ptr, strstr(text, "2,1000,2000,marker,"), NULL), "%s", text);
    free(text);
    cr_assert(eq(int, pfc_trace_reader_open(&reader, from, PFC_TRACE_STRICT, &err), PFC_OK));
    cr_assert(eq(int, pfc_trace_export(reader, to, &csv, NULL, &err), PFC_OK));
    pfc_trace_reader_free(reader);
    cr_assert(eq(int, pfc_fs_read(to, 1 << 20, &text, NULL, &err), PFC_OK));
    cr_assert(ne(ptr, strstr(text, "2,1000,1500,marker,"), NULL), "%s", text);
    free(text);
    cr_assert(eq(int, pfc_trace_export_file(from, to, &json, NULL, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_fs_read(to, 1 << 20, &text, NULL, &err), PFC_OK));
    cr_assert(ne(ptr,
                 strstr(text, "\"offset_ns\":1000,\"method\":\"clock_pairs\",\"knots\":2,"
                              "\"bound_ns\":40}"),
                 NULL),
              "%s", text);
    free(text);
    case_remove(to);
    case_remove(from);
}

Test(trace_clocks, what_cannot_be_read_is_an_error)
{
    const pfc_trace_export_opts csv = { .format = PFC_TRACE_CSV };
    pfc_trace_clocks *clocks = NULL;
    pfc_trace_reader *reader = NULL;
    static const pfc_trace_record records[] = { { 5, PFC_TRACE_MARKER, CASE_POWER, 0, 3, 0 } };
    size_t size = 0;
    uint8_t *bytes = case_bytes_of(case_header(), records, 1, &size);

    cr_assert(
        eq(int, pfc_trace_export_file("/nonexistent.pct", "-", &csv, NULL, &err), PFC_ENOTFOUND));
    cr_assert(
        eq(int, pfc_trace_reader_open_bytes(&reader, bytes, size - 32, "x", PFC_TRACE_STRICT, &err),
           PFC_OK));
    cr_assert(eq(int, pfc_trace_clocks_read(&clocks, reader, &err), PFC_EINVAL));
    cr_assert(eq(ptr, clocks, NULL));
    pfc_trace_reader_free(reader);
    free(bytes);
    pfc_trace_clocks_free(NULL);
}
