/* Critical paths: a trace is refused, or each tick of its run belongs to exactly one resource. */
#include "core/analysis/path/path.h"

#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/trace_seal.h"

static void check_path(const pfc_path *path)
{
    uint64_t sum = 0;

    for (size_t p = 0; p < path->phases_len; p++)
        for (size_t r = 0; r < PFC_RESOURCES_LEN; r++)
            sum += path->blocking[p][r];
    FUZZ_CHECK(sum == path->total);
    for (size_t r = 0; r < PFC_RESOURCES_LEN; r++)
        FUZZ_CHECK(path->recoverable[r] <= path->total);
    FUZZ_CHECK(path->segments_len <= PFC_PATH_MAX_SEGMENTS);
    for (size_t i = 0; i < path->segments_len; i++)
        FUZZ_CHECK(path->segments[i].begin == (i ? path->segments[i - 1].end : 0) &&
                   path->segments[i].begin < path->segments[i].end &&
                   path->segments[i].phase < path->phases_len);
    FUZZ_CHECK(path->segments_len == 0 ||
               path->segments[path->segments_len - 1].end == path->total);
}

static void feed(const uint8_t *data, size_t size)
{
    pfc_trace_reader *reader = NULL;
    pfc_path *path;
    pfc_err err = { 0 };

    if (pfc_trace_reader_open_bytes(&reader, data, size, "x", PFC_TRACE_STRICT, &err))
        return;
    path = calloc(1, sizeof(*path));
    if (pfc_path_read(reader, path, &err))
        FUZZ_CHECK(err.code == PFC_EINVAL && err.msg[0]);
    else
        check_path(path);
    free(path);
    pfc_trace_reader_free(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    feed_sealed(data, size, feed);
    return 0;
}
