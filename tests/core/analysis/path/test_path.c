/* Critical paths of hand-made runs: the numbers are sums that can be checked by hand. */
#include <stdlib.h>
#include <string.h>

#include "tests/check/check.h"
#include "tests/core/analysis/path/path_case.h"

#define R(ticks, type, unit, a, b)                                                                 \
    {                                                                                              \
        (ticks), PFC_TRACE_##type, CASE_##unit, 0, (a), (b)                                        \
    }
#define LINE1 (1ull << 32) /* line 1 of the schedule */

/*
 * A load (setup 10, rate 40, then 30 of memory and 20 of latency), a tile (preload 20, stream 60,
 * depth 15) that waits for it, a store (setup 10, rate 20, latency 20) that waits for the tile:
 * 100 + 95 + 50 ticks, one after the other.
 */
static const pfc_trace_record chain[] = {
    R(0, KERNEL_BEGIN, QUEUE, 1, 1),
    R(0, LINE, QUEUE, 1, 2),
    R(0, PHASE, QUEUE, 1, 3),
    R(0, PHASE, QUEUE, 2, 4),
    R(0, SEM_WAIT, TENSOR, 7, 1),
    R(0, SEM_WAIT, DMA1, 8, 1),
    R(0, COMMAND, DMA0, 0, 1 | LINE1),
    R(0, DMA_ISSUE, DMA0, 0, 4096),
    R(100, COST_DMA_SETUP, DMA0, 0, 10),
    R(100, COST_DMA_RATE, DMA0, 0, 40),
    R(100, COST_MEMORY_LATENCY, DMA0, 0, 20),
    R(100, DMA_DONE, DMA0, 0, 4096),
    R(100, SEM_SIGNAL, DMA0, 7, 1),
    R(100, COMMAND, TENSOR, 1, 2),
    R(100, TILE_BEGIN, TENSOR, 1, 0),
    R(100, COST_STREAM, TENSOR, 1, 60),
    R(100, COST_PRELOAD, TENSOR, 1, 20),
    R(100, COST_DEPTH, TENSOR, 1, 15),
    R(180, TILE_END, TENSOR, 1, 0),
    R(195, SEM_SIGNAL, TENSOR, 8, 1),
    R(195, COMMAND, DMA1, 2, 0),
    R(195, DMA_ISSUE, DMA1, 2, 4096),
    R(245, COST_DMA_SETUP, DMA1, 2, 10),
    R(245, COST_DMA_RATE, DMA1, 2, 20),
    R(245, COST_MEMORY_LATENCY, DMA1, 2, 20),
    R(245, DMA_DONE, DMA1, 2, 4096),
    R(245, SEM_SIGNAL, DMA1, 9, 1),
    R(245, KERNEL_END, QUEUE, 1, 0),
};

static pfc_path *path_of(const pfc_trace_record *records, size_t len)
{
    pfc_path *path = pfc_calloc(1, sizeof(*path));
    pfc_err err = { 0 };
    uint64_t sum = 0;

    cr_assert(eq(int, path_case(records, len, path, &err), PFC_OK), "%s", err.msg);
    for (pfc_resource r = 0; r < PFC_RESOURCES_LEN; r++)
        sum += path_case_blocking(path, r);
    cr_assert(eq(u64, sum, path->total));
    cr_assert(eq(u64, path->segments[0].begin, 0));
    for (size_t i = 1; i < path->segments_len; i++)
        cr_assert(eq(u64, path->segments[i].begin, path->segments[i - 1].end));
    cr_assert(eq(u64, path->segments[path->segments_len - 1].end, path->total));
    return path;
}

static void expect_ticks(const pfc_path *path, pfc_resource r, uint64_t blocking,
                         uint64_t recoverable)
{
    cr_assert(eq(u64, path_case_blocking(path, r), blocking), "blocking of %s",
              pfc_resource_name(r));
    cr_assert(eq(u64, path->recoverable[r], recoverable), "recoverable of %s",
              pfc_resource_name(r));
}

Test(path, ticks_of_a_chain_go_to_the_resources_of_its_costs)
{
    pfc_path *path = path_of(chain, PFC_ARRAY_LEN(chain));

    cr_assert(eq(u64, path->total, 245));
    cr_assert(eq(u64, path->model, 245));
    expect_ticks(path, PFC_RESOURCE_DMA, 10 + 40 + 10 + 20, 80);
    expect_ticks(path, PFC_RESOURCE_MEMORY, 30, 30);
    expect_ticks(path, PFC_RESOURCE_LATENCY, 20 + 15 + 20, 55);
    expect_ticks(path, PFC_RESOURCE_WEIGHTS, 20, 20);
    expect_ticks(path, PFC_RESOURCE_COMPUTE, 60, 60);
    expect_ticks(path, PFC_RESOURCE_VECTOR, 0, 0);
    cr_assert(eq(sz, path->phases_len, 3));
    cr_assert(eq(str, path->phases[0], "load_a"));
    cr_assert(eq(u64, path->blocking[0][PFC_RESOURCE_MEMORY], 30));
    cr_assert(eq(str, path->phases[2], "command")); /* without a phase */
    cr_assert(eq(sz, path->lines_len, 1));
    cr_assert(eq(str, path->lines[0], "load a[i]"));
    free(path);
}

/* The tile waited from 0 to 100, the store's engine from 0 to 195. */
Test(path, waits_name_the_command_that_ended_them)
{
    pfc_path *path = path_of(chain, PFC_ARRAY_LEN(chain));

    cr_assert(eq(sz, path->waits_len, 2));
    cr_assert(eq(u64, path->waits[0].ticks, 195));
    cr_assert(eq(u32, path->waits[0].command, 2));
    cr_assert(eq(u32, path->waits[0].ended_by, 1));
    cr_assert(eq(u64, path->waits[1].ticks, 100));
    cr_assert(eq(u32, path->waits[1].ended_by, 0));
    free(path);
}

/* Two units at once, 100 and 80 ticks; a third command waits for both: without the longer one the
 * shorter one remains, so 20 of its 100 ticks are recoverable, and the shorter one is hidden. */
Test(path, what_is_recoverable_is_bounded_by_what_runs_beside_it)
{
    static const pfc_trace_record records[] = {
        R(0, COMMAND, TENSOR, 0, 0),      R(0, TILE_BEGIN, TENSOR, 0, 0),
        R(0, COMMAND, VECTOR, 1, 0),      R(0, TILE_BEGIN, VECTOR, 1, 0),
        R(80, TILE_END, TENSOR, 0, 0),    R(80, SEM_SIGNAL, TENSOR, 1, 1),
        R(100, TILE_END, VECTOR, 1, 0),   R(100, SEM_SIGNAL, VECTOR, 2, 1),
        R(100, SEM_WAIT, VECTOR, 1, 1),   R(100, COMMAND, VECTOR, 2, 0),
        R(100, TILE_BEGIN, VECTOR, 2, 0), R(110, TILE_END, VECTOR, 2, 0),
        R(110, SEM_SIGNAL, VECTOR, 3, 1),
    };
    pfc_path *path = path_of(records, PFC_ARRAY_LEN(records));

    cr_assert(eq(u64, path->total, 110));
    expect_ticks(path, PFC_RESOURCE_VECTOR, 110, 30); /* 110 - 80 */
    expect_ticks(path, PFC_RESOURCE_COMPUTE, 0, 0);
    cr_assert(eq(u64, path->hidden[PFC_RESOURCE_COMPUTE], 80));
    cr_assert(eq(u64, path->hidden[PFC_RESOURCE_VECTOR], 0));
    free(path);
}

/*
 * Two engines share one channel: each moves four pieces, at 10 ticks a piece, of 100 ticks of
 * service. The channel works for 800 ticks without a pause, so faster engines save nothing, and
 * without memory the engines' 40 ticks remain: 760 of 800 are recoverable.
 */
Test(path, transfers_share_the_channels_of_memory)
{
    static const pfc_trace_record records[] = {
        R(0, COMMAND, DMA0, 0, 0),
        R(0, DMA_ISSUE, DMA0, 0, 16384),
        R(0, COMMAND, DMA1, 1, 0),
        R(0, DMA_ISSUE, DMA1, 1, 16384),
        R(700, COST_DMA_RATE, DMA0, 0, 40),
        R(700, COST_MEMORY_SERVICE, DMA0, 0, 400),
        R(700, CHANNELS, DMA0, 0, 1),
        R(700, DMA_DONE, DMA0, 0, 16384),
        R(700, SEM_SIGNAL, DMA0, 1, 1),
        R(800, COST_DMA_RATE, DMA1, 1, 40),
        R(800, COST_MEMORY_SERVICE, DMA1, 1, 400),
        R(800, CHANNELS, DMA1, 1, 1),
        R(800, DMA_DONE, DMA1, 1, 16384),
        R(800, SEM_SIGNAL, DMA1, 2, 1),
    };
    pfc_path *path = path_of(records, PFC_ARRAY_LEN(records));

    cr_assert(eq(u64, path->model, 800));
    expect_ticks(path, PFC_RESOURCE_DMA, 40, 0);
    expect_ticks(path, PFC_RESOURCE_MEMORY, 760, 760);
    free(path);
}

/* Weights of 30 ticks load behind 50 ticks of stream, 2 folds of each: without the stream the
 * weights come to light, so 2 * (50 - 30) are recoverable and not 100. */
Test(path, hidden_weights_bound_the_gain_of_a_faster_array)
{
    static const pfc_trace_record records[] = {
        R(0, COMMAND, TENSOR, 0, 0),       R(0, TILE_BEGIN, TENSOR, 0, 0),
        R(0, COST_STREAM, TENSOR, 0, 100), R(0, COST_WEIGHTS_HIDDEN, TENSOR, 0, 60),
        R(0, FOLDS, TENSOR, 0, 2),         R(100, TILE_END, TENSOR, 0, 0),
        R(100, SEM_SIGNAL, TENSOR, 1, 1),
    };
    pfc_path *path = path_of(records, PFC_ARRAY_LEN(records));

    expect_ticks(path, PFC_RESOURCE_COMPUTE, 100, 40);
    expect_ticks(path, PFC_RESOURCE_WEIGHTS, 0, 0);
    free(path);
}

/* A command that begins later than its unit and its waits allow was held up from outside. */
Test(path, time_without_a_cause_in_the_trace_is_the_hosts)
{
    static const pfc_trace_record records[] = {
        R(1000, KERNEL_BEGIN, QUEUE, 1, 1), R(1007, COMMAND, VECTOR, 0, 0),
        R(1007, TILE_BEGIN, VECTOR, 0, 0),  R(1010, TILE_END, VECTOR, 0, 0),
        R(1010, SEM_SIGNAL, VECTOR, 1, 1),  R(1012, KERNEL_END, QUEUE, 1, 0),
    };
    pfc_path *path = path_of(records, PFC_ARRAY_LEN(records));

    cr_assert(eq(u64, path->total, 12));
    cr_assert(eq(u64, path_case_blocking(path, PFC_RESOURCE_HOST), 9));
    cr_assert(eq(u64, path_case_blocking(path, PFC_RESOURCE_VECTOR), 3));
    free(path);
}

/* A thousand commands on two units by turns: the strip has room for 512 segments. */
Test(path, a_long_path_is_joined_into_a_strip)
{
    enum { N = 1000 };
    pfc_trace_record *records = pfc_calloc(5 * N, sizeof(*records));
    size_t len = 0;
    pfc_path *path;

    for (uint64_t i = 0; i < N; i++) {
        const uint16_t unit = i % 2 ? CASE_TENSOR : CASE_VECTOR;

        if (i > 0)
            records[len++] = (pfc_trace_record){ 10 * i, PFC_TRACE_SEM_WAIT, unit, 0, i, 1 };
        records[len++] = (pfc_trace_record){ 10 * i, PFC_TRACE_COMMAND, unit, 0, i, 0 };
        records[len++] = (pfc_trace_record){ 10 * i, PFC_TRACE_TILE_BEGIN, unit, 0, i, 0 };
        records[len++] = (pfc_trace_record){ 10 * i + 10, PFC_TRACE_TILE_END, unit, 0, i, 0 };
        records[len++] = (pfc_trace_record){ 10 * i + 10, PFC_TRACE_SEM_SIGNAL, unit, 0, i + 1, 1 };
    }
    path = path_of(records, len);
    cr_assert(eq(u64, path->total, 10 * N));
    cr_assert(le(sz, path->segments_len, PFC_PATH_MAX_SEGMENTS));
    cr_assert(gt(sz, path->segments_len, 100));
    expect_ticks(path, PFC_RESOURCE_VECTOR, 5 * N, 5 * N);
    cr_assert(eq(sz, path->waits_len, PFC_PATH_MAX_WAITS));
    free(records);
    free(path);
}

Test(path, stored_numbers_pass_the_check_of_a_profile)
{
    pfc_path *path = path_of(chain, PFC_ARRAY_LEN(chain));
    pfc_profile_part parts[32];
    pfc_profile profile;
    pfc_err err = { 0 };
    double sum = 0;
    size_t len;

    pfc_profile_init(&profile, "test");
    cr_assert(eq(int, pfc_profile_set(&profile, "cycles", 245, &err), PFC_OK));
    cr_assert(eq(int, pfc_path_store(path, &profile, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_profile_check(&profile, &err), PFC_OK), "%s", err.msg);
    len = pfc_profile_parts(&profile, parts, PFC_ARRAY_LEN(parts));
    for (size_t i = 0; i < len; i++)
        sum += parts[i].ticks;
    cr_assert(epsilon_eq(dbl, sum, 245, 1e-9));
    cr_assert(epsilon_eq(dbl, pfc_profile_or(&profile, "path.load_a.memory", -1), 30, 1e-9));
    cr_assert(epsilon_eq(dbl, pfc_profile_or(&profile, "recoverable_dma_cycles", -1), 80, 1e-9));
    pfc_profile_clear(&profile);
    free(path);
}

/* ---- traces that contradict themselves ---- */

/* The chain with one record replaced, or (type 0) left out. */
static void expect_refused(size_t at, pfc_trace_record instead, const char *why)
{
    pfc_trace_record records[PFC_ARRAY_LEN(chain)];
    pfc_path *path = pfc_calloc(1, sizeof(*path));
    size_t len = 0;
    pfc_err err = { 0 };

    for (size_t i = 0; i < PFC_ARRAY_LEN(chain); i++)
        if (i != at)
            records[len++] = chain[i];
        else if (instead.type)
            records[len++] = instead;
    cr_assert(eq(int, path_case(records, len, path, &err), PFC_EINVAL), "%s", why);
    cr_assert(ne(ptr, strstr(err.msg, why), NULL), "expected \"%s\", got \"%s\"", why, err.msg);
    free(path);
}

Test(path, a_trace_that_contradicts_itself_is_refused)
{
    static const pfc_trace_record none;

    expect_refused(6, none, "not under way");    /* a begin without its command */
    expect_refused(7, none, "before its begin"); /* an end without its begin */
    expect_refused(11, none, "without a complete command");
    expect_refused(12, none, "before a signal ended its wait");
    expect_refused(18, none, "without a complete command");
    expect_refused(26, (pfc_trace_record)R(245, SEM_SIGNAL, DMA1, 8, 1), "does not raise");
    expect_refused(9, (pfc_trace_record)R(100, COST_DMA_RATE, DMA0, 0, 140), "longer than");
    expect_refused(15, (pfc_trace_record)R(100, COST_STREAM, TENSOR, 1, 81), "longer than");
    expect_refused(15, (pfc_trace_record)R(100, COST_DMA_RATE, TENSOR, 1, 1), "wrong kind");
    expect_refused(15, (pfc_trace_record)R(100, COST_STREAM, TENSOR, 5, 1), "not under way");
    expect_refused(15, (pfc_trace_record)R(100, COST_STREAM, TENSOR, 1, UINT64_MAX), "2^48");
    expect_refused(13, (pfc_trace_record)R(90, COMMAND, TENSOR, 1, 2), "backward");
    expect_refused(14, (pfc_trace_record)R(99, TILE_BEGIN, TENSOR, 1, 0), "backward");
    expect_refused(13, (pfc_trace_record)R(100, DROP, TENSOR, 4, 0), "lost");
    expect_refused(12, (pfc_trace_record)R(100, SEM_SIGNAL, DMA0, 1ull << 40, 1), "semaphore");
    expect_refused(7, (pfc_trace_record)R(0, DMA_ISSUE, DMA0, 0, UINT64_MAX), "2^48 bytes");
    expect_refused(11, (pfc_trace_record)R(100, DMA_ISSUE, DMA0, 0, 1), "comes twice");
}

/* Each record left out or given twice, and neighbours in the wrong order: refused, or a path whose
 * parts sum to its total. */
Test(path, lost_doubled_and_reordered_records_never_break_the_sum)
{
    enum { LEN = PFC_ARRAY_LEN(chain) };
    pfc_trace_record records[LEN + 1];
    pfc_path *path = pfc_calloc(1, sizeof(*path));

    for (size_t kind = 0; kind < 3; kind++)
        for (size_t at = 0; at < LEN; at++) {
            pfc_err err = { 0 };
            size_t len = 0;
            uint64_t sum = 0;

            for (size_t i = 0; i < LEN; i++) {
                if (kind == 0 && i == at)
                    continue;
                records[len++] = chain[i];
                if (kind == 1 && i == at)
                    records[len++] = chain[i];
            }
            if (kind == 2 && at + 1 < LEN) {
                records[at] = chain[at + 1];
                records[at + 1] = chain[at];
            }
            if (path_case(records, len, path, &err)) {
                cr_assert(eq(int, err.code, PFC_EINVAL));
                continue;
            }
            for (pfc_resource r = 0; r < PFC_RESOURCES_LEN; r++)
                sum += path_case_blocking(path, r);
            cr_assert(eq(u64, sum, path->total), "kind %zu, record %zu", kind, at);
            for (pfc_resource r = 0; r < PFC_RESOURCES_LEN; r++)
                cr_assert(le(u64, path->recoverable[r], path->total));
            memset(path, 0, sizeof(*path));
        }
    free(path);
}

Test(path, a_trace_without_commands_is_refused)
{
    static const pfc_trace_record records[] = { R(0, KERNEL_BEGIN, QUEUE, 1, 1),
                                                R(9, KERNEL_END, QUEUE, 1, 0) };
    pfc_path *path = pfc_calloc(1, sizeof(*path));
    pfc_err err = { 0 };

    cr_assert(eq(int, path_case(records, PFC_ARRAY_LEN(records), path, &err), PFC_EINVAL));
    cr_assert(ne(ptr, strstr(err.msg, "1.1"), NULL), "%s", err.msg);
    free(path);
}
