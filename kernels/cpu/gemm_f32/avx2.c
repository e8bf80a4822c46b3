/*
 * AVX2 and FMA: a register tile of 6 x 16.
 *
 * The bound is the two FMA ports: 32 flop a clock. A step of k does 12 FMA (6 clocks) on 2 loads of
 * B and 6 broadcasts of A (4 clocks at two loads a clock), so the loads hide. 12 accumulators of 8
 * floats cover the FMA latency of 4 clocks times two ports with a half to spare, and with 2 of B
 * and one broadcast fill 15 of the 16 registers.
 */
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#include "kernels/cpu/gemm_f32/blocked.h"
#include "kernels/cpu/gemm_f32/gemm_f32.h"

#define MR         6
#define NR         16
#define LANES      8
#define THIN       3  /* rows of A up to which B is read once and in place */
#define THIN_ROWS  8  /* rows of B that such a product reads side by side */
#define FLAT       16 /* rows of A up to which B is copied piece by piece and not as a panel */
#define FLAT_K     64 /* rows of B in a piece: 64 x 96 floats are 24 of the 32 KiB of L1 */
#define FLAT_N     96
#define SMALL      ((size_t)96 * 96 * 96) /* products up to which B stays in L1 and L2 unpacked */
#define GROUP      12                     /* slivers of B packed side by side */
#define PACK_AHEAD 4                      /* rows of B prefetched ahead while packing */
#define INLINE     static inline __attribute__((always_inline))
#define MIN(a, b)  ((a) < (b) ? (a) : (b))

/* 8 - r places in: r lanes set. */
static const int32_t mask_source[16] = { -1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0 };

INLINE __m256i lanes_mask(size_t lanes)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)(mask_source + (LANES - lanes)));
}

typedef struct operands {
    const float *a;
    size_t lda; /* between rows when A is in place; a packed sliver has MR floats a step of k */
    const float *b;
    size_t ldb; /* between rows of B; NR when packed */
    float alpha;
    float beta;
    float *c;
    size_t ldc;
    __m256i mask; /* lanes of the last vector of each row, when masked */
} operands;

/*
 * mr x 8 nv of C. All but k and the operands are constants at every call, so that the loops unroll
 * into registers. ahead: floats to prefetch ahead in each row of B, 0 for none.
 */
INLINE void tile(size_t k, const operands *o, const int mr, const int nv, const int packed,
                 const int masked, const size_t ahead)
{
    __m256 acc[MR][4];
    const float *a = o->a;
    const float *b = o->b;
    const size_t lda = o->lda;
    const size_t ldb = o->ldb;
    const __m256i mask = o->mask;

#pragma GCC unroll 6
    for (int i = 0; i < mr; i++) {
#pragma GCC unroll 4
        for (int v = 0; v < nv; v++)
            acc[i][v] = _mm256_setzero_ps();
        /* The tile of C is needed k steps from now: long enough to come from anywhere. */
        _mm_prefetch((const char *)(o->c + (size_t)i * o->ldc), _MM_HINT_T0);
        _mm_prefetch((const char *)(o->c + (size_t)i * o->ldc + 8 * nv - 1), _MM_HINT_T0);
    }

#pragma GCC unroll 4
    for (size_t p = 0; p < k; p++) {
        __m256 row[4];

#pragma GCC unroll 4
        for (int v = 0; v < nv; v++)
            row[v] = masked && v == nv - 1 ? _mm256_maskload_ps(b + 8 * v, mask)
                                           : _mm256_loadu_ps(b + 8 * v);
        if (ahead) {
            _mm_prefetch((const char *)(b + ahead), _MM_HINT_T0);
            _mm_prefetch((const char *)(b + ahead + NR), _MM_HINT_T0);
        }
        if (packed)
            _mm_prefetch((const char *)(a + 16 * MR), _MM_HINT_T0);
#pragma GCC unroll 6
        for (int i = 0; i < mr; i++) {
            __m256 left = _mm256_broadcast_ss(packed ? a + i : a + (size_t)i * lda);

#pragma GCC unroll 4
            for (int v = 0; v < nv; v++)
                acc[i][v] = _mm256_fmadd_ps(left, row[v], acc[i][v]);
        }
        a += packed ? MR : 1;
        b += ldb;
    }

#pragma GCC unroll 6
    for (int i = 0; i < mr; i++) {
        float *c = o->c + (size_t)i * o->ldc;

#pragma GCC unroll 4
        for (int v = 0; v < nv; v++, c += 8) {
            const int last = masked && v == nv - 1;
            __m256 value = packed ? acc[i][v] : _mm256_mul_ps(_mm256_set1_ps(o->alpha), acc[i][v]);

            if (o->beta != 0.0F) {
                __m256 old = last ? _mm256_maskload_ps(c, mask) : _mm256_loadu_ps(c);

                value = _mm256_fmadd_ps(_mm256_set1_ps(o->beta), old, value);
            }
            if (last)
                _mm256_maskstore_ps(c, mask, value);
            else
                _mm256_storeu_ps(c, value);
        }
    }
}

typedef void (*tile_fn)(size_t k, const operands *o);

#define TILE(name, mr, nv, packed, masked, ahead)                                                  \
    static void name##_##mr##x##nv(size_t k, const operands *o)                                    \
    {                                                                                              \
        tile(k, o, mr, nv, packed, masked, ahead);                                                 \
    }
#define TILES(name, nv, packed, masked, ahead)                                                     \
    TILE(name, 1, nv, packed, masked, ahead)                                                       \
    TILE(name, 2, nv, packed, masked, ahead)                                                       \
    TILE(name, 3, nv, packed, masked, ahead)                                                       \
    TILE(name, 4, nv, packed, masked, ahead)                                                       \
    TILE(name, 5, nv, packed, masked, ahead)                                                       \
    TILE(name, 6, nv, packed, masked, ahead)
#define ROW(name, nv)                                                                              \
    {                                                                                              \
        name##_1x##nv, name##_2x##nv, name##_3x##nv, name##_4x##nv, name##_5x##nv, name##_6x##nv   \
    }

TILES(packed_full, 2, 1, 0, 0)
TILES(packed_tail, 1, 1, 1, 0)
TILES(packed_tail, 2, 1, 1, 0)
TILES(place_full, 2, 0, 0, 0)
TILES(place_tail, 1, 0, 1, 0)
TILES(place_tail, 2, 0, 1, 0)
TILE(thin, 1, 4, 0, 0, 128)
TILE(thin, 2, 4, 0, 0, 128)
TILE(thin, 3, 4, 0, 0, 128)

/* [rows - 1] */
static const tile_fn packed_full[MR] = ROW(packed_full, 2);
static const tile_fn place_full[MR] = ROW(place_full, 2);
static const tile_fn thin[3] = { thin_1x4, thin_2x4, thin_3x4 };
/* [columns > 8][rows - 1] */
static const tile_fn packed_tail[2][MR] = { ROW(packed_tail, 1), ROW(packed_tail, 2) };
static const tile_fn place_tail[2][MR] = { ROW(place_tail, 1), ROW(place_tail, 2) };

static bool is_small(size_t m, size_t n, size_t k, size_t lda, size_t ldb)
{
    (void)lda;
    (void)ldb;
    return m <= FLAT || n <= NR || m * n * k <= SMALL;
}

/* One row of up to GROUP slivers: the row is read as a stream, each sliver written as one. */
INLINE void pack_row(const float *from, size_t slivers, size_t stride, float *out)
{
    for (size_t s = 0; s < slivers; s++, from += NR, out += stride) {
        _mm256_storeu_ps(out, _mm256_loadu_ps(from));
        _mm256_storeu_ps(out + LANES, _mm256_loadu_ps(from + LANES));
    }
}

static void pack_b(size_t k, size_t n, const float *b, size_t ldb, float *out)
{
    size_t whole = n / NR;
    size_t rest = n % NR;

    /* Rows of B are often a page or more apart. Sliver by sliver each line read would cost a TLB
       entry; a few slivers at a time share it, and their write streams still fit the first TLB. */
    for (size_t s = 0; s < whole; s += GROUP) {
        size_t slivers = MIN(GROUP, whole - s);

        for (size_t p = 0; p < k; p++) {
            const float *from = b + p * ldb + s * NR;

            for (size_t line = 0; line < slivers; line++)
                _mm_prefetch((const char *)(from + PACK_AHEAD * ldb + line * NR), _MM_HINT_T0);
            pack_row(from, slivers, NR * k, out + s * NR * k + p * NR);
        }
    }
    for (size_t p = 0; rest > 0 && p < k; p++) {
        float *to = out + (whole * k + p) * NR;

        memset(to, 0, NR * sizeof *to);
        memcpy(to, b + p * ldb + whole * NR, rest * sizeof *to);
    }
}

/* All rows of C against n columns of B, rows of B o->ldb apart, groups of NR columns `stride`
 * apart. */
static void direct_columns(size_t m, size_t n, size_t k, operands *o, const float *a,
                           const float *b, size_t stride, float *c)
{
    /* Eight rows are two tiles of four, not six and two: a tile of two has too few accumulators to
       cover the FMA latency. */
    const size_t tiles_high = (m + MR - 1) / MR;
    const size_t rows = (m + tiles_high - 1) / tiles_high;

    for (size_t j = 0; j < n; j += NR, b += stride) {
        size_t cols = MIN(NR, n - j);
        const tile_fn *tiles = place_full;

        if (cols < NR) {
            tiles = place_tail[cols > LANES];
            o->mask = lanes_mask(cols > LANES ? cols - LANES : cols);
        }
        o->b = b;
        for (size_t i = 0; i < m; i += rows) {
            o->a = a + i * o->lda;
            o->c = c + i * o->ldc + j;
            tiles[MIN(rows, m - i) - 1](k, o);
        }
    }
}

/* Up to THIN rows: a pass over B, a few rows of it at a time, which makes few and long streams for
   the hardware's prefetchers; C, which is small, is what comes back again and again. */
static void direct_thin(size_t m, size_t n, size_t k, operands *o, const float *a, const float *b,
                        float *c)
{
    for (size_t p = 0; p < k; p += THIN_ROWS) {
        size_t steps = MIN(THIN_ROWS, k - p);
        const float *from = b + p * o->ldb;
        size_t j = 0;

        for (; j + 4 * LANES <= n; j += 4 * LANES) {
            o->a = a + p;
            o->b = from + j;
            o->c = c + j;
            thin[m - 1](steps, o);
        }
        direct_columns(m, n - j, steps, o, a + p, from + j, NR, c + j);
        o->beta = 1.0F;
    }
}

/* Up to FLAT rows: B is used two or three times, too little to pay for packing a panel, but in
   place its rows fight for the same cache sets when they are a power of two apart. So a piece that
   fits L1 is copied and used at once. */
static void direct_flat(size_t m, size_t n, size_t k, operands *o, const float *a, const float *b,
                        float *c)
{
    float piece[FLAT_K * FLAT_N] __attribute__((aligned(64)));
    const size_t ldb = o->ldb;

    o->ldb = NR;
    for (size_t p = 0; p < k; p += FLAT_K) {
        size_t steps = MIN(FLAT_K, k - p);

        for (size_t j = 0; j < n; j += FLAT_N) {
            size_t cols = MIN(FLAT_N, n - j);

            pack_b(steps, cols, b + p * ldb + j, ldb, piece);
            direct_columns(m, cols, steps, o, a + p, piece, NR * steps, c + j);
        }
        o->beta = 1.0F;
    }
}

static void direct(size_t m, size_t n, size_t k, float alpha, const float *a, size_t lda,
                   const float *b, size_t ldb, float beta, float *c, size_t ldc)
{
    operands o = { .lda = lda, .ldb = ldb, .alpha = alpha, .beta = beta, .ldc = ldc };
    bool in_place = n <= NR || m * n * k <= SMALL;

    if (m <= THIN)
        direct_thin(m, n, k, &o, a, b, c);
    else if (m <= FLAT && !in_place)
        direct_flat(m, n, k, &o, a, b, c);
    else
        direct_columns(m, n, k, &o, a, b, NR, c);
}

/* Six rows, four steps of k: a 4 x 4 transposition and one of pairs. */
INLINE void pack_four(const float *a, size_t lda, __m128 alpha, float *out)
{
    __m128 r0 = _mm_mul_ps(alpha, _mm_loadu_ps(a));
    __m128 r1 = _mm_mul_ps(alpha, _mm_loadu_ps(a + lda));
    __m128 r2 = _mm_mul_ps(alpha, _mm_loadu_ps(a + 2 * lda));
    __m128 r3 = _mm_mul_ps(alpha, _mm_loadu_ps(a + 3 * lda));
    __m128 r4 = _mm_mul_ps(alpha, _mm_loadu_ps(a + 4 * lda));
    __m128 r5 = _mm_mul_ps(alpha, _mm_loadu_ps(a + 5 * lda));
    __m128 low = _mm_unpacklo_ps(r4, r5);
    __m128 high = _mm_unpackhi_ps(r4, r5);

    _MM_TRANSPOSE4_PS(r0, r1, r2, r3);
    _mm_storeu_ps(out, r0);
    _mm_storel_pi((__m64 *)(void *)(out + 4), low);
    _mm_storeu_ps(out + MR, r1);
    _mm_storeh_pi((__m64 *)(void *)(out + MR + 4), low);
    _mm_storeu_ps(out + 2 * MR, r2);
    _mm_storel_pi((__m64 *)(void *)(out + 2 * MR + 4), high);
    _mm_storeu_ps(out + 3 * MR, r3);
    _mm_storeh_pi((__m64 *)(void *)(out + 3 * MR + 4), high);
}

static void pack_a(size_t m, size_t k, float alpha, const float *a, size_t lda, float *out)
{
    const __m128 factor = _mm_set1_ps(alpha);

    for (size_t i = 0; i < m; i += MR, out += MR * k) {
        const float *rows = a + i * lda;
        size_t have = MIN(MR, m - i);
        size_t p = 0;

        if (have == MR) {
            for (; p + 4 <= k; p += 4)
                pack_four(rows + p, lda, factor, out + p * MR);
        }
        for (; p < k; p++) {
            for (size_t r = 0; r < MR; r++)
                out[p * MR + r] = r < have ? alpha * rows[r * lda + p] : 0.0F;
        }
    }
}

static void block(size_t m, size_t n, size_t k, const float *a, const float *b, float beta,
                  float *c, size_t ldc)
{
    operands o = { .ldb = NR, .alpha = 1.0F, .beta = beta, .ldc = ldc };
    const size_t share = k * MR / m + 1; /* a sliver is k lines of NR floats */
    const float *next = NULL;

    for (size_t j = 0; j < n; j += NR) {
        size_t cols = MIN(NR, n - j);
        const tile_fn *tiles = packed_full;

        if (cols < NR) {
            tiles = packed_tail[cols > LANES];
            o.mask = lanes_mask(cols > LANES ? cols - LANES : cols);
        }
        o.b = b + j * k;
        next = o.b + NR * k;
        for (size_t i = 0; i < m; i += MR) {
            /* The next sliver comes from L3 while this one is at work, a share for each tile: left
               to itself it would stall the first tile of each column for some thousand clocks. */
            for (size_t line = 0; line < share; line++, next += NR)
                _mm_prefetch((const char *)next, _MM_HINT_T1);
            o.a = a + i * k;
            o.c = c + i * ldc + j;
            tiles[MIN(MR, m - i) - 1](k, &o);
        }
    }
}

/* A block of 384 x 256 floats is 384 KiB of an L2 of 512; a sliver of B is 16 of the 32 KiB of L1.
   Measured best of (mc, kc) in 96..384 x 256..512 on Zen 3. */
const pfc_gemm_f32_tile pfc_gemm_f32_tile_avx2 = {
    .mr = MR,
    .nr = NR,
    .mc = 384,
    .kc = 256,
    .nc = 4096,
    .thin_nc = 192,
    .is_small = is_small,
    .direct = direct,
    .pack_a = pack_a,
    .pack_b = pack_b,
    .block = block,
};

void pfc_gemm_f32_avx2(size_t m, size_t n, size_t k, float alpha, const float *a, size_t lda,
                       const float *b, size_t ldb, float beta, float *c, size_t ldc, float *work)
{
    pfc_gemm_f32_blocked(&pfc_gemm_f32_tile_avx2, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc,
                         work);
}
