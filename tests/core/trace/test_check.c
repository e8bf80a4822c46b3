/* Checks: a sound trace has no fault; every kind of fault is found, alone, with its record. */
#include <stdlib.h>
#include <string.h>

#include "core/base/fs.h"
#include "core/trace/check/check.h"
#include "core/trace/export/export.h"

#include "tests/check/check.h"
#include "tests/core/trace/trace_case.h"

#define MAX 64

static pfc_trace_report check_bytes(const void *bytes, size_t len)
{
    pfc_trace_report report = { 0 };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_trace_check_bytes(bytes, len, "x", 100, &report, &err), PFC_OK), "%s",
              err.msg);
    return report;
}

/* Expects exactly these faults of one kind, the first one with this record. */
static void expect(const pfc_trace_report *r, const char *what, pfc_trace_check_kind kind,
                   uint64_t faults, uint64_t record)
{
    cr_assert(eq(u64, r->by_kind[kind], faults), "%s: %s: %s", what, pfc_trace_check_name(kind),
              r->findings_len ? r->findings[0].what : "no fault");
    for (size_t i = 0; i < r->findings_len; i++)
        cr_assert(eq(int, r->findings[i].kind, kind), "%s: also %s: %s", what,
                  pfc_trace_check_name(r->findings[i].kind), r->findings[i].what);
    if (faults > 0)
        cr_assert(eq(u64, r->findings[0].record, record), "%s: %s", what, r->findings[0].what);
}

/* ---- the binary format ---- */

/* The records of the case, to be changed; number_of() finds one by its type. */
static pfc_trace_record records[MAX];
static size_t len;

static void take_case(void)
{
    const pfc_trace_record *whole = case_whole_records(&len);

    memcpy(records, whole, len * sizeof(*records));
}

static size_t at(uint16_t type)
{
    size_t i = 0;

    while (i < len && records[i].type != type)
        i++;
    cr_assert(lt(sz, i, len), "no record of type %u", type);
    return i;
}

static uint64_t number_of(uint16_t type)
{
    return at(type) + 1;
}

static void drop(uint16_t type)
{
    const size_t i = at(type);

    memmove(&records[i], &records[i + 1], (len - i - 1) * sizeof(*records));
    len--;
}

static void insert(uint64_t number, pfc_trace_record record)
{
    const size_t i = (size_t)number - 1;

    memmove(&records[i + 1], &records[i], (len - i) * sizeof(*records));
    records[i] = record;
    len++;
}

static void check_case(const char *what, pfc_trace_check_kind kind, uint64_t faults,
                       uint64_t record)
{
    size_t size = 0;
    uint8_t *bytes = case_bytes_of(case_header(), records, len, &size);
    pfc_trace_report report = check_bytes(bytes, size);

    expect(&report, what, kind, faults, record);
    pfc_trace_report_clear(&report);
    free(bytes);
    take_case();
}

Test(trace_check, sound_trace_has_no_fault)
{
    take_case();
    check_case("whole", PFC_TRACE_CHECK_FILE, 0, 0);
}

Test(trace_check, records_that_contradict_the_header)
{
    take_case();
    records[at(PFC_TRACE_ALLOC)].type = 500;
    check_case("type", PFC_TRACE_CHECK_TYPE, 1, 2);
    records[at(PFC_TRACE_ALLOC)].unit = 500;
    check_case("unit", PFC_TRACE_CHECK_UNIT, 1, 2);
    records[at(PFC_TRACE_ALLOC)].unit = CASE_POWER;
    check_case("side", PFC_TRACE_CHECK_SIDE, 1, 2);
    records[at(PFC_TRACE_FAULT)].ticks = UINT64_C(1) << 36;
    check_case("ticks", PFC_TRACE_CHECK_TICKS, 1, number_of(PFC_TRACE_FAULT));
    records[at(PFC_TRACE_COUNTER_SAMPLE)].a = 2;
    check_case("counter", PFC_TRACE_CHECK_COUNTER, 1, number_of(PFC_TRACE_COUNTER_SAMPLE));
    records[at(PFC_TRACE_MARKER)].a = 4;
    check_case("name", PFC_TRACE_CHECK_FIELD, 1, number_of(PFC_TRACE_MARKER));
    records[at(PFC_TRACE_UNIT_STATE)].a = PFC_TRACE_STATES_LEN;
    check_case("state", PFC_TRACE_CHECK_FIELD, 1, number_of(PFC_TRACE_UNIT_STATE));
    records[at(PFC_TRACE_FREQ_CHANGE)].a = 2;
    check_case("clock", PFC_TRACE_CHECK_FIELD, 1, number_of(PFC_TRACE_FREQ_CHANGE));
    records[at(PFC_TRACE_DOORBELL)].a = 500;
    check_case("queue", PFC_TRACE_CHECK_FIELD, 1, number_of(PFC_TRACE_DOORBELL));
}

Test(trace_check, time_that_goes_backward)
{
    take_case();
    records[at(PFC_TRACE_MARKER)].ticks = 2900;
    check_case("backward", PFC_TRACE_CHECK_BACKWARD, 1, number_of(PFC_TRACE_MARKER));
    /* Overlapping units may write in another order. */
    records[at(PFC_TRACE_COUNTER_SAMPLE)].ticks = 2500;
    check_case("overlapping", PFC_TRACE_CHECK_BACKWARD, 0, 0);
    /* The device's clock has 36 bits: from 2^36 - 1 to 5 is a step forward. */
    records[at(PFC_TRACE_THROTTLE)].ticks = (UINT64_C(1) << 36) - 1;
    records[at(PFC_TRACE_FREQ_CHANGE)].ticks = 3;
    records[at(PFC_TRACE_FAULT)].ticks = 5;
    check_case("wrap", PFC_TRACE_CHECK_BACKWARD, 0, 0);
}

Test(trace_check, slices_without_their_other_end)
{
    take_case();
    drop(PFC_TRACE_TILE_BEGIN);
    check_case("end", PFC_TRACE_CHECK_END_WITHOUT_BEGIN, 1, number_of(PFC_TRACE_TILE_END));
    drop(PFC_TRACE_TILE_END);
    check_case("begin", PFC_TRACE_CHECK_BEGIN_WITHOUT_END, 1, number_of(PFC_TRACE_TILE_BEGIN));
    drop(PFC_TRACE_DMA_DONE);
    check_case("transfer", PFC_TRACE_CHECK_BEGIN_WITHOUT_END, 1, number_of(PFC_TRACE_DMA_ISSUE));
    records[at(PFC_TRACE_DMA_ISSUE)].ticks = 2740;
    check_case("order", PFC_TRACE_CHECK_END_BEFORE_BEGIN, 1, number_of(PFC_TRACE_DMA_DONE));
    records[at(PFC_TRACE_DMA_ISSUE) + 1].a = 1;
    records[at(PFC_TRACE_DMA_DONE) + 4].a = 1;
    check_case("twice", PFC_TRACE_CHECK_TWICE, 1, number_of(PFC_TRACE_DMA_ISSUE) + 1);
}

Test(trace_check, slices_that_cross)
{
    const pfc_trace_record begin = { 2790, PFC_TRACE_KERNEL_BEGIN, CASE_TENSOR, 7, 2, 0 };
    const pfc_trace_record end = { 2810, PFC_TRACE_KERNEL_END, CASE_TENSOR, 7, 2, 0 };
    uint64_t tile_end;

    take_case();
    tile_end = number_of(PFC_TRACE_TILE_END);
    insert(tile_end + 1, end);
    insert(tile_end, begin);
    check_case("nested wrongly", PFC_TRACE_CHECK_NESTING, 1, tile_end + 1);
    records[at(PFC_TRACE_FETCH)].b = 101; /* the kernel begins 100 ticks after it */
    check_case("within a fetch", PFC_TRACE_CHECK_NESTING, 1, number_of(PFC_TRACE_KERNEL_BEGIN));
    records[at(PFC_TRACE_FETCH)].b = 100;
    check_case("beside a fetch", PFC_TRACE_CHECK_NESTING, 0, 0);
    records[at(PFC_TRACE_FETCH)].b = UINT64_C(1) << 40;
    check_case("an absurd duration", PFC_TRACE_CHECK_END_BEFORE_BEGIN, 1,
               number_of(PFC_TRACE_FETCH));
}

Test(trace_check, end_within_a_complete_slice)
{
    take_case();
    records[0] = (pfc_trace_record){ 2390, PFC_TRACE_KERNEL_BEGIN, CASE_QUEUE, 0, 2, 1 };
    records[1] = (pfc_trace_record){ 2400, PFC_TRACE_FETCH, CASE_QUEUE, 0, 1, 40 };
    records[2] = (pfc_trace_record){ 2420, PFC_TRACE_KERNEL_END, CASE_QUEUE, 0, 2, 0 };
    len = 3;
    check_case("end", PFC_TRACE_CHECK_NESTING, 1, 3);
}

Test(trace_check, waits_and_correlation_ids)
{
    take_case();
    records[at(PFC_TRACE_SEM_SIGNAL)].b = 0;
    check_case("wait", PFC_TRACE_CHECK_WAIT, 1, number_of(PFC_TRACE_SEM_WAIT));
    /* Signalled before: the wait ends at once. */
    insert(2, (pfc_trace_record){ 10, PFC_TRACE_SEM_SIGNAL, CASE_QUEUE, 0, 3, 1 });
    records[at(PFC_TRACE_SEM_SIGNAL) + 14].a = 4;
    check_case("early signal", PFC_TRACE_CHECK_WAIT, 0, 0);
    for (uint64_t id = 70000; id <= UINT64_C(1) << 20; id += (UINT64_C(1) << 20) - 70000) {
        records[at(PFC_TRACE_SEM_WAIT)].a = id;
        insert(2, (pfc_trace_record){ 10, PFC_TRACE_SEM_SIGNAL, CASE_QUEUE, 0, id, 1 });
        check_case("large number", PFC_TRACE_CHECK_WAIT, 0, 0);
    }
    records[at(PFC_TRACE_SEM_WAIT)].a = 70000;
    check_case("large number without a signal", PFC_TRACE_CHECK_WAIT, 1,
               number_of(PFC_TRACE_SEM_WAIT));
    records[at(PFC_TRACE_TILE_BEGIN)].corr = 8;
    records[at(PFC_TRACE_TILE_END)].corr = 8;
    check_case("orphan", PFC_TRACE_CHECK_FLOW_BEGIN, 1, number_of(PFC_TRACE_TILE_BEGIN));
    insert(number_of(PFC_TRACE_SUBMIT),
           (pfc_trace_record){ 1100, PFC_TRACE_SUBMIT, CASE_HOST, 9, CASE_QUEUE, 2 });
    check_case("idle command", PFC_TRACE_CHECK_FLOW_END, 1, number_of(PFC_TRACE_SUBMIT));
}

Test(trace_check, lost_records_excuse_pairs)
{
    take_case();
    records[at(PFC_TRACE_TILE_BEGIN)] =
        (pfc_trace_record){ 2701, PFC_TRACE_DROP, CASE_TENSOR, 0, 1, 0 };
    check_case("drop", PFC_TRACE_CHECK_END_WITHOUT_BEGIN, 0, 0);
}

Test(trace_check, more_open_slices_than_the_limit)
{
    enum { COUNT = 4097 };
    pfc_trace_record *many = calloc(COUNT, sizeof(*many));
    size_t size = 0;
    uint8_t *bytes;
    pfc_trace_report report;

    for (size_t i = 0; i < COUNT; i++)
        many[i] = (pfc_trace_record){ i, PFC_TRACE_TILE_BEGIN, CASE_TENSOR, 0, i, 0 };
    bytes = case_bytes_of(case_header(), many, COUNT, &size);
    report = check_bytes(bytes, size);
    cr_assert(eq(u64, report.by_kind[PFC_TRACE_CHECK_LIMIT], 1));
    cr_assert(eq(u64, report.findings[0].record, COUNT));
    pfc_trace_report_clear(&report);
    free(bytes);
    free(many);
}

Test(trace_check, damaged_file_is_a_fault_and_no_failure)
{
    size_t size = 0;
    uint8_t *bytes;
    pfc_trace_report report;

    take_case();
    bytes = case_bytes_of(case_header(), records, len, &size);
    report = check_bytes(bytes, size - 40);
    expect(&report, "cut", PFC_TRACE_CHECK_FILE, 1, len);
    cr_assert(eq(u64, report.records, len - 1));
    pfc_trace_report_clear(&report);
    bytes[size - 16]++; /* the count */
    report = check_bytes(bytes, size);
    expect(&report, "count", PFC_TRACE_CHECK_FILE, 1, len + 1);
    pfc_trace_report_clear(&report);
    free(bytes);
}

Test(trace_check, neither_format_is_refused)
{
    const char *const inputs[] = { "", "x", "PFCTRACE", "[1]", "  \n" };
    pfc_trace_report report = { 0 };
    pfc_err err = { 0 };

    for (size_t i = 0; i < PFC_ARRAY_LEN(inputs); i++)
        cr_assert(eq(int,
                     pfc_trace_check_bytes(inputs[i], strlen(inputs[i]), "x", 1, &report, &err),
                     PFC_EINVAL),
                  "%zu", i);
    cr_assert(eq(int, pfc_trace_check("/none", 1, &report, &err), PFC_ENOTFOUND));
    cr_assert(eq(int, pfc_trace_check("/", 1, &report, &err), PFC_EIO));
}

/* ---- JSON ---- */

static char *json_of_case(void)
{
    char *path = case_path("a.json");
    char *text = NULL;
    pfc_err err = { 0 };

    take_case();
    cr_assert(eq(int, case_write(path, case_header(), records, len, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_fs_read(path, 1 << 20, &text, NULL, &err), PFC_OK), "%s", err.msg);
    case_remove(path);
    return text;
}

/* The text with the first `from` replaced; caller frees. */
static char *replace(const char *text, const char *from, const char *to)
{
    const char *found = strstr(text, from);

    cr_assert(found != NULL, "%s", from);
    return pfc_format("%.*s%s%s", (int)(found - text), text, to, found + strlen(from));
}

/* from, to, kind, faults */
static const struct {
    const char *from, *to;
    pfc_trace_check_kind kind;
    uint64_t faults;
} slips[] = {
    { "\"traceEvents\"", "\"traceEvents\"", PFC_TRACE_CHECK_SYNTAX, 0 },
    { "\"displayTimeUnit\":", "\"displayTimeUnit\"", PFC_TRACE_CHECK_SYNTAX, 1 },
    { "\"dur\":0.050,", "", PFC_TRACE_CHECK_SYNTAX, 1 },
    { "\"ts\":0.900", "\"ts\":0.9001", PFC_TRACE_CHECK_SYNTAX, 2 }, /* and no ts */
    { "\"dur\":0.050", "\"dur\":-0.050", PFC_TRACE_CHECK_END_BEFORE_BEGIN, 1 },
    { "\"ph\":\"i\",\"name\":\"alloc\"", "\"ph\":\"Q\",\"name\":\"alloc\"", PFC_TRACE_CHECK_TYPE,
      1 },
    { "\"thread_name\",\"ts\":0,\"pid\":100,\"tid\":1000", "\"thread_nam\",\"pid\":100,\"tid\":1",
      PFC_TRACE_CHECK_UNIT, 1 },
    { "\"process_name\",\"ts\":0,\"pid\":1000", "\"process_nam\",\"ts\":0,\"pid\":1000",
      PFC_TRACE_CHECK_UNIT, 1 },
    /* The fetch, from 1.300 for 0.020, reaches into the kernel's slice. */
    { "\"dur\":0.020", "\"dur\":0.060", PFC_TRACE_CHECK_NESTING, 1 },
    { "\"ph\":\"b\",\"name\":\"tensor 0: sem_wait\"",
      "\"ph\":\"i\",\"name\":\"tensor 0: sem_wait\"", PFC_TRACE_CHECK_END_WITHOUT_BEGIN, 1 },
    { "\"ph\":\"e\",\"name\":\"tensor 0: sem_wait\"",
      "\"ph\":\"i\",\"name\":\"tensor 0: sem_wait\"", PFC_TRACE_CHECK_BEGIN_WITHOUT_END, 1 },
    { "\"ph\":\"e\",\"name\":\"tensor 0: sem_wait\",\"cat\":\"sync\",\"ts\":1.450",
      "\"ph\":\"e\",\"name\":\"tensor 0: sem_wait\",\"cat\":\"sync\",\"ts\":1.350",
      PFC_TRACE_CHECK_END_BEFORE_BEGIN, 1 },
    { "\"ph\":\"t\",\"name\":\"flow\"", "\"ph\":\"s\",\"name\":\"flow\"", PFC_TRACE_CHECK_TWICE,
      1 },
    { "\"ph\":\"f\",\"name\":\"flow\"", "\"ph\":\"t\",\"name\":\"flow\"", PFC_TRACE_CHECK_FLOW_END,
      1 },
    { "\"ph\":\"s\",\"name\":\"flow\"", "\"ph\":\"i\",\"name\":\"flow\"",
      PFC_TRACE_CHECK_FLOW_BEGIN, 2 },
    { "\"cat\":\"flow\",\"ts\":1.100", "\"cat\":\"flow\",\"ts\":0.900", PFC_TRACE_CHECK_FLOW_SLICE,
      1 },
    { "\"cat\":\"flow\",\"ts\":1.300", "\"cat\":\"flow\",\"ts\":1.360", PFC_TRACE_CHECK_FLOW_ORDER,
      1 },
    { "\"args\":{\"bytes\":0}", "\"args\":{\"bytes\":1}", PFC_TRACE_CHECK_ZERO, 1 },
    { "\"events\":", "\"events\":1", PFC_TRACE_CHECK_FILE, 1 },
    { "\n\"perfci\"", "\n\"other\"", PFC_TRACE_CHECK_FILE, 1 },
    { "\"traceEvents\"", "\"events\"", PFC_TRACE_CHECK_FILE, 2 },
};

Test(trace_check, every_slip_in_json_is_found)
{
    char *text = json_of_case();

    for (size_t i = 0; i < PFC_ARRAY_LEN(slips); i++) {
        char *wrong = replace(text, slips[i].from, slips[i].to);
        pfc_trace_report report = check_bytes(wrong, strlen(wrong));

        cr_assert(report.json);
        expect(&report, slips[i].to, slips[i].kind, slips[i].faults,
               report.findings_len ? report.findings[0].record : 0);
        pfc_trace_report_clear(&report);
        free(wrong);
    }
    free(text);
}

/* A document with these events on a named track. */
static pfc_trace_report check_events(const char *events, unsigned count)
{
    char *text = pfc_format(
        "{\"traceEvents\":[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":"
        "\"p\"}},{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":1,\"args\":{\"name\":"
        "\"t\"}}%s],\"perfci\":{\"events\":%u}}",
        events, count + 2);
    const pfc_trace_report report = check_bytes(text, strlen(text));

    free(text);
    return report;
}

#define SLICE(ts, dur)                                                                             \
    ",{\"ph\":\"X\",\"name\":\"s\",\"pid\":1,\"tid\":1,\"ts\":" #ts ",\"dur\":" #dur "}"

/* Slices in any order of writing, as other programs write them. */
Test(trace_check, slices_of_json_in_another_order)
{
    static const struct {
        const char *events;
        unsigned count;
        uint64_t faults;
    } cases[] = {
        { SLICE(5, 10) SLICE(6, 2) SLICE(15, 1), 3, 0 },
        { SLICE(6, 2) SLICE(9, 1) SLICE(5, 10), 3, 0 },
        { SLICE(5, 10) SLICE(3, 5), 2, 1 },
        { SLICE(3, 5) SLICE(5, 10), 2, 1 },
        { SLICE(3, 2) SLICE(5, 10), 2, 0 },
        { SLICE(5, 0) SLICE(5, 10), 2, 0 },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        pfc_trace_report report = check_events(cases[i].events, cases[i].count);

        expect(&report, cases[i].events, PFC_TRACE_CHECK_NESTING, cases[i].faults,
               cases[i].count + 2);
        pfc_trace_report_clear(&report);
    }
}

Test(trace_check, json_that_no_reader_takes)
{
    static const char *const bad[] = {
        "{\"a\":1,}",  "{\"a\":[1,]}",    "{\"a\" 1}",  "{\"a\":01}",     "{\"a\":1.}",
        "{\"a\":tru}", "{a:1}",           "{\"a\":1}}", "{\"a\":1]",      "{\"a\":-}",
        "{\"a\":1e}",  "{\"a\":\"\\q\"}", "{\"a\" :}",  "{\"a\":\"\n\"}", "{\"a\":\"\xff\"}",
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(bad); i++) {
        pfc_trace_report report = check_bytes(bad[i], strlen(bad[i]));

        expect(&report, bad[i], PFC_TRACE_CHECK_SYNTAX, 1, 0);
        pfc_trace_report_clear(&report);
    }
}

/* 64 containers within each other are read, 65 are refused. */
Test(trace_check, json_is_nested_64_deep_at_most)
{
    for (size_t depth = 64; depth <= 65; depth++) {
        char text[256] = "{\"a\":";
        pfc_trace_report report;

        for (size_t i = 1; i < depth; i++)
            strcat(text, "[");
        for (size_t i = 1; i < depth; i++)
            strcat(text, "]");
        strcat(text, "}");
        report = check_bytes(text, strlen(text));
        cr_assert(eq(u64, report.by_kind[PFC_TRACE_CHECK_SYNTAX], depth - 64));
        if (depth > 64)
            cr_assert(strstr(report.findings[0].what, "nested too deeply") != NULL, "%s",
                      report.findings[0].what);
        pfc_trace_report_clear(&report);
    }
}

Test(trace_check, every_prefix_of_json_is_a_fault)
{
    char *text = json_of_case();
    const size_t whole = strlen(text) - 1; /* the newline at the end may be missing */

    for (size_t cut = 1; cut < whole; cut++) {
        pfc_trace_report report = check_bytes(text, cut);

        cr_assert(gt(u64, report.by_kind[PFC_TRACE_CHECK_SYNTAX], 0), "%zu", cut);
        pfc_trace_report_clear(&report);
    }
    free(text);
}
