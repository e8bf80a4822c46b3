/* Measures LZ4: fast and high compression, decompression, and its checksum. */
#include "lz4.h"

#include "bench.h"
#include "lz4hc.h"
#include "xxhash.h"

enum { SIZE = 64 * 1024, PACKED = 80 * 1024 };

static unsigned char data[SIZE], packed[PACKED], back[SIZE];
static int packed_len;
static volatile unsigned sink;

static void fast(void)
{
    packed_len = LZ4_compress_default((const char *)data, (char *)packed, SIZE, PACKED);
    if (packed_len <= 0)
        abort();
}

static void high(void)
{
    packed_len = LZ4_compress_HC((const char *)data, (char *)packed, SIZE, PACKED, 4);
    if (packed_len <= 0)
        abort();
}

static void unpack(void)
{
    if (LZ4_decompress_safe((const char *)packed, (char *)back, packed_len, SIZE) != SIZE)
        abort();
}

static void checksum(void)
{
    sink = XXH32(data, SIZE, 1);
}

int main(void)
{
    static const bench_case cases[] = { { "fast_us", fast, 4 },
                                        { "high_us", high, 1 },
                                        { "decompress_us", unpack, 20 },
                                        { "xxh32_us", checksum, 60 } };

    bench_text(data, SIZE);
    return bench_main(cases, 4);
}
