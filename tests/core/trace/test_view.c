/* A trace as a view: lines of slices, waits, states and points, counters, and windows of them. */
#include <stdlib.h>
#include <string.h>

#include "core/trace/view/view.h"

#include "tests/check/check.h"
#include "tests/core/trace/trace_case.h"

static pfc_err err;

static pfc_code read_view(const pfc_trace_record *records, size_t len, pfc_trace_view **out)
{
    size_t size = 0;
    uint8_t *bytes = case_bytes_of(case_header(), records, len, &size);
    const pfc_code code = pfc_trace_view_read(out, bytes, size, "x", &err);

    free(bytes); /* the view does not need them */
    return code;
}

static pfc_trace_view *view_of(const pfc_trace_record *records, size_t len)
{
    pfc_trace_view *view = NULL;

    cr_assert(eq(int, read_view(records, len, &view), PFC_OK), "%s", err.msg);
    return view;
}

static const pfc_trace_view_line *line_of(const pfc_trace_view *view, uint16_t unit,
                                          pfc_trace_view_kind kind, unsigned number)
{
    for (size_t i = 0; i < view->lines_len; i++) {
        const pfc_trace_view_line *line = &view->lines[i];

        if (view->header->units[line->unit].id == unit && line->kind == kind &&
            line->number == number)
            return line;
    }
    return NULL;
}

static void expect_slice(const pfc_trace_view *view, const pfc_trace_view_slice *s, int64_t begin,
                         int64_t end, const char *name)
{
    size_t len;
    const char *got = pfc_trace_view_name(view, s, &len);

    cr_assert(eq(i64, s->begin_ns + view->begin_ns, begin));
    cr_assert(eq(i64, s->end_ns + view->begin_ns, end));
    cr_assert(strlen(name) == len && memcmp(got, name, len) == 0, "expected %s, got %.*s", name,
              (int)len, got);
}

Test(trace_view, a_launch_has_its_slices_waits_states_points_and_counters)
{
    size_t len;
    const pfc_trace_record *records = case_records(&len);
    pfc_trace_view *view = view_of(records, len);
    const pfc_trace_view_line *line;
    const pfc_trace_view_call *call;

    cr_assert(eq(u64, view->records, len));
    cr_assert(eq(i64, view->begin_ns, 100));
    cr_assert(eq(i64, view->span_ns, 3100));
    line = line_of(view, CASE_HOST, PFC_TRACE_VIEW_SLICES, 0);
    cr_assert(ne(ptr, (void *)(uintptr_t)line, NULL));
    expect_slice(view, &line->slices[0], 1000, 1200, view->header->names[0]);
    /* Transfers overlap: a lane each. */
    line = line_of(view, CASE_DMA, PFC_TRACE_VIEW_SLICES, 0);
    expect_slice(view, &line->slices[0], 1355, 1450, "dma");
    line = line_of(view, CASE_DMA, PFC_TRACE_VIEW_SLICES, 1);
    expect_slice(view, &line->slices[0], 1360, 1475, "dma");
    line = line_of(view, CASE_TENSOR, PFC_TRACE_VIEW_WAITS, 0);
    expect_slice(view, &line->slices[0], 1360, 1450, "sem_wait");
    line = line_of(view, CASE_TENSOR, PFC_TRACE_VIEW_STATES, 0);
    cr_assert(eq(sz, line->len, 2));
    expect_slice(view, &line->slices[0], 1360, 1450, "wait_semaphore");
    expect_slice(view, &line->slices[1], 1450, 3200, "busy");
    cr_assert(line->slices[1].unfinished);
    line = line_of(view, CASE_QUEUE, PFC_TRACE_VIEW_POINTS, 0);
    cr_assert(eq(u64, view->units[line->unit].dropped, 2));
    cr_assert(eq(i64, line->slices[0].begin_ns, line->slices[0].end_ns));
    call = pfc_trace_view_call_of(view, 7);
    cr_assert(ne(ptr, (void *)(uintptr_t)call, NULL));
    expect_slice(view, &view->lines[call->line].slices[call->slice], 1000, 1200,
                 view->header->names[0]);
    cr_assert(eq(ptr, (void *)(uintptr_t)pfc_trace_view_call_of(view, 8), NULL));
    pfc_trace_view_free(view);
}

Test(trace_view, counters_hold_what_their_records_say)
{
    size_t len;
    const pfc_trace_record *records = case_records(&len);
    pfc_trace_view *view = view_of(records, len);
    bool throttle = false;
    bool frequency = false;

    for (size_t i = 0; i < view->series_len; i++) {
        const pfc_trace_view_series *s = &view->series[i];

        if (strstr(s->name, "throttle")) {
            throttle = true;
            cr_assert(epsilon_eq(dbl, s->values[0].value, 0.75, 1e-12));
        }
        if (pfc_streq(s->measure, "Hz")) {
            frequency = true;
            cr_assert(epsilon_eq(dbl, s->values[0].value, 1.5e9, 1));
        }
    }
    cr_assert(throttle && frequency);
    pfc_trace_view_free(view);
}

/* Tiles of 10 ns, 20 ns apart; the device has two ticks a ns. */
static pfc_trace_view *tiles(size_t count)
{
    pfc_trace_record *records = pfc_calloc(2 * count, sizeof(*records));
    pfc_trace_view *view;

    for (size_t i = 0; i < count; i++) {
        const uint32_t corr = (uint32_t)i + 1;

        records[2 * i] =
            (pfc_trace_record){ 40 * i, PFC_TRACE_TILE_BEGIN, CASE_TENSOR, corr, 0, 0 };
        records[2 * i + 1] =
            (pfc_trace_record){ 40 * i + 20, PFC_TRACE_TILE_END, CASE_TENSOR, corr, 0, 0 };
    }
    view = view_of(records, 2 * count);
    free(records);
    return view;
}

Test(trace_view, a_window_has_slices_or_cells_with_their_busy_share)
{
    pfc_trace_view *view = tiles(100);
    pfc_trace_view_window w = { 0 };
    uint32_t begins = 0;
    double busy = 0;

    cr_assert(eq(i64, view->span_ns, 1990));
    pfc_trace_view_window_of(view, 0, INT64_MAX, 100, &w);
    cr_assert(eq(i64, w.to_ns, 1990));
    cr_assert(eq(ptr, w.parts[0].cells, NULL));
    cr_assert(eq(sz, w.parts[0].shown, 100));
    pfc_trace_view_window_clear(view, &w);

    pfc_trace_view_window_of(view, 0, INT64_MAX, 99, &w);
    cr_assert(ne(ptr, w.parts[0].cells, NULL), "one more slice than cells");
    for (size_t i = 0; i < w.parts[0].cells_len; i++) {
        begins += w.parts[0].cells[i].count;
        busy += w.parts[0].cells[i].busy;
    }
    cr_assert(eq(u32, begins, 100));
    cr_assert(epsilon_eq(dbl, busy * 1990 / 99, 1000, 1e-6)); /* the time that tiles cover */
    pfc_trace_view_window_clear(view, &w);

    /* From the middle of a tile to the begin of one: both have a part in it. */
    pfc_trace_view_window_of(view, 205, 240, 10, &w);
    cr_assert(eq(sz, w.parts[0].shown, 3));
    cr_assert(eq(sz, w.parts[0].first, 10));
    pfc_trace_view_window_clear(view, &w);
    pfc_trace_view_window_of(view, 5000, 9000, 10, &w);
    cr_assert(lt(i64, w.from_ns, w.to_ns));
    pfc_trace_view_window_clear(view, &w);
    pfc_trace_view_free(view);
}

Test(trace_view, names_are_found_in_order_of_time_and_counted)
{
    pfc_trace_view *view = tiles(50);
    pfc_trace_view_match *found = NULL;
    size_t len = 0;
    size_t all = 0;

    pfc_trace_view_find(view, "TIL", 7, &found, &len, &all);
    cr_assert(eq(sz, len, 7));
    cr_assert(eq(sz, all, 50));
    for (size_t i = 0; i < len; i++)
        cr_assert(
            eq(i64, view->lines[found[i].line].slices[found[i].slice].begin_ns, 20 * (int64_t)i));
    free(found);
    pfc_trace_view_find(view, "tile_", 7, &found, &len, &all);
    cr_assert(eq(sz, all, 0), "the slice has the name tile, not that of its record");
    free(found);
    pfc_trace_view_free(view);
}

/* Calls within calls: the deepest have no line, and are counted. */
Test(trace_view, deep_slices_are_left_out_and_counted)
{
    enum { DEEP = PFC_TRACE_VIEW_DEPTH + 4 };
    pfc_trace_record records[2 * DEEP];
    pfc_trace_view *view;
    const pfc_trace_view_line *line;

    for (uint32_t i = 0; i < DEEP; i++) {
        records[i] = (pfc_trace_record){ 10 + i, PFC_TRACE_API_ENTER, CASE_HOST, i + 1, 1, 0 };
        records[2 * DEEP - 1 - i] =
            (pfc_trace_record){ 1000 - i, PFC_TRACE_API_EXIT, CASE_HOST, i + 1, 1, 0 };
    }
    view = view_of(records, PFC_ARRAY_LEN(records));
    line = line_of(view, CASE_HOST, PFC_TRACE_VIEW_SLICES, PFC_TRACE_VIEW_DEPTH - 1);
    cr_assert(eq(sz, line->len, 1));
    cr_assert(eq(u64, view->units[line->unit].left_out, 4));
    pfc_trace_view_free(view);
}

Test(trace_view, clocks_say_how_they_were_placed)
{
    static const pfc_trace_record records[] = {
        { 1000, PFC_TRACE_CLOCK_PAIR, CASE_POWER, 0, 5000 - 40, 5000 + 40 },
        { 3000, PFC_TRACE_CLOCK_PAIR, CASE_POWER, 0, 6010 - 50, 6010 + 50 },
    };
    pfc_trace_view *view = view_of(records, PFC_ARRAY_LEN(records));

    cr_assert(view->clocks[0].host);
    cr_assert(eq(str, (char *)(uintptr_t)view->clocks[1].method, "clock_pairs"));
    cr_assert(eq(i64, view->clocks[1].bound_ns, 50));
    cr_assert(eq(i64, view->begin_ns, 5000));
    pfc_trace_view_free(view);
}

Test(trace_view, nothing_is_a_view_and_what_cannot_be_placed_is_none)
{
    static const pfc_trace_record apart[] = {
        { 0, PFC_TRACE_MARKER, CASE_HOST, 0, 0, 0 },
        { INT64_MAX, PFC_TRACE_MARKER, CASE_HOST, 0, 0, 0 },
        { (uint64_t)INT64_MAX + 10, PFC_TRACE_MARKER, CASE_HOST, 0, 0, 0 },
    };
    pfc_trace_view *view = view_of(NULL, 0);
    pfc_trace_view_window w = { 0 };

    cr_assert(eq(i64, view->span_ns, 0));
    pfc_trace_view_window_of(view, 0, 10, 10, &w);
    cr_assert(eq(sz, view->lines_len, 0));
    pfc_trace_view_window_clear(view, &w);
    pfc_trace_view_free(view);
    cr_assert(eq(int, read_view(apart, PFC_ARRAY_LEN(apart), &view), PFC_EINVAL));
    cr_assert(ne(ptr, strstr(err.msg, "63 bits"), NULL), "%s", err.msg);
}

/* Two waits that overlap cover 150 ns of 300 together; names are in order of time across lines. */
Test(trace_view, what_overlaps_counts_once_and_lines_are_searched_together)
{
    static const pfc_trace_record records[] = {
        { 0, PFC_TRACE_SEM_WAIT, CASE_HOST, 0, 1, 1 },
        { 50, PFC_TRACE_SEM_WAIT, CASE_HOST, 0, 2, 1 },
        { 100, PFC_TRACE_SEM_SIGNAL, CASE_HOST, 0, 1, 1 },
        { 150, PFC_TRACE_SEM_SIGNAL, CASE_HOST, 0, 2, 1 },
        { 300, PFC_TRACE_MARKER, CASE_HOST, 0, 0, 0 },
    };
    pfc_trace_view *view = view_of(records, PFC_ARRAY_LEN(records));
    const pfc_trace_view_line *waits = line_of(view, CASE_HOST, PFC_TRACE_VIEW_WAITS, 0);
    pfc_trace_view_window w = { 0 };
    pfc_trace_view_match *found = NULL;
    const pfc_trace_record *whole;
    size_t len = 0;
    size_t all = 0;

    pfc_trace_view_window_of(view, 0, 300, 1, &w);
    cr_assert(epsilon_eq(dbl, w.parts[waits - view->lines].cells[0].busy, 0.5, 1e-9));
    pfc_trace_view_window_clear(view, &w);
    pfc_trace_view_free(view);

    whole = case_records(&len);
    view = view_of(whole, len);
    pfc_trace_view_find(view, "e", 100, &found, &len, &all);
    cr_assert(gt(sz, len, 3));
    for (size_t i = 1; i < len; i++)
        cr_assert(ge(i64, view->lines[found[i].line].slices[found[i].slice].begin_ns,
                     view->lines[found[i - 1].line].slices[found[i - 1].slice].begin_ns));
    free(found);
    pfc_trace_view_free(view);
}
