/* Digests of a trace that a fuzzer changed, so that its content is read and not only refused. */
#ifndef PFC_TESTS_FUZZ_TRACE_SEAL_H
#define PFC_TESTS_FUZZ_TRACE_SEAL_H

#include <stdlib.h>
#include <string.h>

#include "core/trace/layout.h"

/* Puts digests and the count right, so that changed content is read and not only refused. */
static inline void seal(uint8_t *data, size_t size)
{
    const size_t header = (size_t)pfc_trace_load(data + 12, 4);
    uint64_t digest = PFC_TRACE_DIGEST_START;
    size_t at = PFC_TRACE_FIXED_BYTES;

    if (header < PFC_TRACE_FIXED_BYTES || header > size || header % 32 != 0 || size % 32 != 0 ||
        size == header)
        return;
    for (; at < header; at += 8)
        digest = pfc_trace_digest(digest, pfc_trace_load(data + at, 8));
    pfc_trace_store(data + 32, digest, 8);
    digest = PFC_TRACE_DIGEST_START;
    for (at = header; at + 32 < size; at += 32) {
        pfc_trace_record record;

        pfc_trace_record_decode(data + at, &record);
        digest = pfc_trace_record_digest(digest, &record);
    }
    pfc_trace_record_encode(&(pfc_trace_record){ digest, PFC_TRACE_TYPE_END, 0, 0,
                                                 (size - header) / 32 - 1, PFC_TRACE_END_MARK },
                            data + at);
}

/* Feeds the input as it is, then with the digests and counts of a whole file, so that what lies
 * behind these checks is reached, too. */
static inline void feed_sealed(const uint8_t *data, size_t size,
                               void (*feed)(const uint8_t *data, size_t size))
{
    uint8_t *sealed;

    feed(data, size);
    if (size < 2 * PFC_TRACE_FIXED_BYTES || memcmp(data, PFC_TRACE_MAGIC, 8) != 0)
        return;
    sealed = malloc(size);
    memcpy(sealed, data, size);
    seal(sealed, size);
    feed(sealed, size);
    free(sealed);
}

#endif
