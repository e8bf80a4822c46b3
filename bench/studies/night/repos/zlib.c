/* Measures zlib: raw deflate at levels 1 and 6, raw inflate, both checksums. */
#include "zlib.h"

#include "bench.h"

enum { SIZE = 48 * 1024, PACKED = 64 * 1024 };

static unsigned char data[SIZE], packed[PACKED], back[SIZE];
static size_t packed_len;
static volatile unsigned long sink;

static void pack(int level)
{
    z_stream s = { 0 };

    if (deflateInit2(&s, level, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        abort();
    s.next_in = data;
    s.avail_in = SIZE;
    s.next_out = packed;
    s.avail_out = PACKED;
    if (deflate(&s, Z_FINISH) != Z_STREAM_END)
        abort();
    packed_len = s.total_out;
    deflateEnd(&s);
}

static void deflate1(void)
{
    pack(1);
}

static void deflate6(void)
{
    pack(6);
}

static void unpack(void)
{
    z_stream s = { 0 };

    s.next_in = packed;
    s.avail_in = (uInt)packed_len;
    s.next_out = back;
    s.avail_out = SIZE;
    if (inflateInit2(&s, -15) != Z_OK || inflate(&s, Z_FINISH) != Z_STREAM_END)
        abort();
    inflateEnd(&s);
}

static void crc(void)
{
    sink = crc32(0, data, SIZE);
}

static void adler(void)
{
    sink = adler32(1, data, SIZE);
}

int main(void)
{
    static const bench_case cases[] = { { "deflate1_us", deflate1, 1 },
                                        { "deflate6_us", deflate6, 1 },
                                        { "inflate_us", unpack, 3 },
                                        { "crc32_us", crc, 20 },
                                        { "adler32_us", adler, 40 } };

    bench_text(data, SIZE);
    return bench_main(cases, 5);
}
