/*
 * AVX-512F: a register tile of 12 x 32.
 *
 * The bound is the FMA unit: one 512-bit FMA a clock (Zen 4), two on server Intel. A step of k does
 * 24 FMA on 2 loads and 12 broadcasts; 24 accumulators, 2 of B and one broadcast fill 27 of 32
 * registers. Masks make the last columns cost no code of their own. Products whose operands fit in
 * L2 are read in place; larger ones are packed.
 */
#include <immintrin.h>
#include <string.h>

#include "kernels/cpu/gemm_f32/blocked.h"
#include "kernels/cpu/gemm_f32/gemm_f32.h"

#define MR        12
#define NR        32
#define LANES     16
#define L2_FLOATS 327680 /* 1.25 MiB: what server cores have, or more */
#define THIN      96     /* rows up to which a product is a pass over B */
#define NEAR      24     /* steps of 12 clocks: what a line takes from L3 */
#define INLINE    static inline __attribute__((always_inline))
#define MIN(a, b) ((a) < (b) ? (a) : (b))

typedef struct operands {
    const float *a;
    size_t lda; /* between rows when A is in place; a packed sliver has MR floats a step of k */
    const float *b;
    size_t ldb; /* between rows of B; NR when packed */
    float alpha;
    float beta;
    float *c;
    size_t ldc;
    __mmask16 mask; /* lanes of the last vector of each row */
} operands;

/* C = acc, alpha acc or alpha acc + beta C: one path each, because a small product ends as often as
   it begins. */
INLINE void finish(__m512 acc[MR][2], const operands *o, const int mr, const int nv)
{
    const __m512 alpha = _mm512_set1_ps(o->alpha);
    const __m512 beta = _mm512_set1_ps(o->beta);
    const __mmask16 mask = o->mask;
    const size_t ldc = o->ldc;
    float *const c = o->c;

    if (o->alpha != 1.0F) {
#pragma GCC unroll 12
        for (int i = 0; i < mr; i++) {
#pragma GCC unroll 2
            for (int v = 0; v < nv; v++)
                acc[i][v] = _mm512_mul_ps(alpha, acc[i][v]);
        }
    }
    if (o->beta != 0.0F) {
#pragma GCC unroll 12
        for (int i = 0; i < mr; i++) {
#pragma GCC unroll 2
            for (int v = 0; v < nv; v++) {
                const float *from = c + (size_t)i * ldc + LANES * v;
                const __m512 old =
                    v == nv - 1 ? _mm512_maskz_loadu_ps(mask, from) : _mm512_loadu_ps(from);

                acc[i][v] = _mm512_fmadd_ps(beta, old, acc[i][v]);
            }
        }
    }
#pragma GCC unroll 12
    for (int i = 0; i < mr; i++) {
#pragma GCC unroll 2
        for (int v = 0; v < nv; v++) {
            float *to = c + (size_t)i * ldc + LANES * v;

            if (v == nv - 1)
                _mm512_mask_storeu_ps(to, mask, acc[i][v]);
            else
                _mm512_storeu_ps(to, acc[i][v]);
        }
    }
}

/* The lines of C that a tile ends with. */
INLINE void fetch_c(const operands *o, const int mr, const int nv, const int near)
{
#pragma GCC unroll 12
    for (int i = 0; i < mr; i++) {
#pragma GCC unroll 2
        for (int v = 0; v < nv; v++) {
            const char *at = (const char *)(o->c + (size_t)i * o->ldc + LANES * v);

            if (near)
                _mm_prefetch(at, _MM_HINT_T0);
            else
                _mm_prefetch(at, _MM_HINT_T1);
        }
    }
}

/* mr x 16 nv of C, the last vector under the mask; mr, nv, packed and masked are constants at every
   call. A packed sliver of B is padded, so only B in place has loads to mask. C comes to L2 while
   the products run, and to L1 NEAR steps before the end: earlier, the slivers would push it out. */
INLINE void tile(size_t k, const operands *o, const int mr, const int nv, const int packed,
                 const int masked)
{
    __m512 acc[MR][2];
    const float *a[MR / 3 + 1];
    const float *b = o->b;
    const size_t lda = o->lda;
    const size_t ldb = packed ? NR : o->ldb;
    const __mmask16 mask = o->mask;
    size_t stop = packed && k > NEAR ? k - NEAR : k;

    /* A pointer for three rows: base, base + lda, base + 2 lda are addresses the CPU has. */
#pragma GCC unroll 4
    for (int i = 0; i < (mr + 2) / 3; i++)
        a[i] = o->a + (packed ? 0 : (size_t)(3 * i) * lda);
#pragma GCC unroll 12
    for (int i = 0; i < mr; i++) {
#pragma GCC unroll 2
        for (int v = 0; v < nv; v++)
            acc[i][v] = _mm512_setzero_ps();
    }
    if (packed)
        fetch_c(o, mr, nv, 0);

    for (size_t p = 0; p < k; stop = k) {
#pragma GCC unroll 4
        for (; p < stop; p++) {
            __m512 row[2];

#pragma GCC unroll 2
            for (int v = 0; v < nv; v++)
                row[v] = masked && v == nv - 1 ? _mm512_maskz_loadu_ps(mask, b + LANES * v)
                                               : _mm512_loadu_ps(b + LANES * v);
#pragma GCC unroll 12
            for (int i = 0; i < mr; i++) {
                __m512 left = _mm512_set1_ps(packed ? a[0][i] : a[i / 3][(size_t)(i % 3) * lda]);

#pragma GCC unroll 2
                for (int v = 0; v < nv; v++)
                    acc[i][v] = _mm512_fmadd_ps(left, row[v], acc[i][v]);
            }
#pragma GCC unroll 4
            for (int i = 0; i < (mr + 2) / 3; i++)
                a[i] += packed ? MR : 1;
            b += ldb;
        }
        if (packed)
            fetch_c(o, mr, nv, 1);
    }
    finish(acc, o, mr, nv);
}

typedef void (*tile_fn)(size_t k, const operands *o);

#define TILE(name, mr, nv, packed, masked)                                                         \
    static void name##_##mr##x##nv(size_t k, const operands *o)                                    \
    {                                                                                              \
        tile(k, o, mr, nv, packed, masked);                                                        \
    }
#define TILES(name, nv, packed, masked)                                                            \
    TILE(name, 1, nv, packed, masked)                                                              \
    TILE(name, 2, nv, packed, masked)                                                              \
    TILE(name, 3, nv, packed, masked)                                                              \
    TILE(name, 4, nv, packed, masked)                                                              \
    TILE(name, 5, nv, packed, masked)                                                              \
    TILE(name, 6, nv, packed, masked)                                                              \
    TILE(name, 7, nv, packed, masked)                                                              \
    TILE(name, 8, nv, packed, masked)                                                              \
    TILE(name, 9, nv, packed, masked)                                                              \
    TILE(name, 10, nv, packed, masked)                                                             \
    TILE(name, 11, nv, packed, masked)                                                             \
    TILE(name, 12, nv, packed, masked)
#define ROW(name, nv)                                                                              \
    {                                                                                              \
        name##_1x##nv, name##_2x##nv, name##_3x##nv, name##_4x##nv, name##_5x##nv, name##_6x##nv,  \
            name##_7x##nv, name##_8x##nv, name##_9x##nv, name##_10x##nv, name##_11x##nv,           \
            name##_12x##nv                                                                         \
    }

TILES(packed, 1, 1, 0)
TILES(packed, 2, 1, 0)
TILES(whole, 1, 0, 0)
TILES(whole, 2, 0, 0)
TILES(part, 1, 0, 1)
TILES(part, 2, 0, 1)

/* [columns > 16][rows - 1]; `whole` where the last vector is full, else `part` */
static const tile_fn packed_tiles[2][MR] = { ROW(packed, 1), ROW(packed, 2) };
static const tile_fn whole_tiles[2][MR] = { ROW(whole, 1), ROW(whole, 2) };
static const tile_fn part_tiles[2][MR] = { ROW(part, 1), ROW(part, 2) };

/* Rows of the next tile when `left` are to go: 16 as 8 + 8, not 12 + 4, because a short tile pays
   for its loads with few products. */
static size_t next_rows(size_t left)
{
    const size_t tiles = (left + MR - 1) / MR;

    return (left + tiles - 1) / tiles;
}

/* Packing pays where operands come from beyond L2 again and again; in L2 they are read in place at
   the full rate (64 x 64 x 2048: 176 of 178 GFLOP/s, packed 108). */
static bool is_small(size_t m, size_t n, size_t k)
{
    return m <= THIN || n <= NR || m * k + k * n + m * n <= L2_FLOATS;
}

/* Sets the mask for `cols` (1..NR) columns; returns whether they take two vectors. */
static size_t set_columns(operands *o, size_t cols)
{
    size_t wide = cols > LANES;

    o->mask = (__mmask16)(0xffffu >> (LANES - (wide ? cols - LANES : cols)));
    return wide;
}

/* Rows of B at a time in a thin product: a few long streams instead of k short ones. More rows of A
   pay for more of them, since C is read and written once for each; but 64 rows that are over two pages
   apart are more pages than the CPU keeps at hand. */
static size_t thin_step(size_t m, size_t ldb)
{
    if (m <= 3)
        return 8;
    if (m <= MR)
        return 16;
    return ldb <= 2048 ? 64 : 32;
}

static void direct(size_t m, size_t n, size_t k, float alpha, const float *a, size_t lda,
                   const float *b, size_t ldb, float beta, float *c, size_t ldc)
{
    operands o = { .lda = lda, .ldb = ldb, .alpha = alpha, .beta = beta, .ldc = ldc };
    const size_t step =
        n > NR && (m <= 3 || (m <= THIN && k * n > L2_FLOATS)) ? thin_step(m, ldb) : k;

    for (size_t p = 0; p < k; p += step) {
        for (size_t j = 0; j < n; j += NR) {
            const size_t cols = MIN(NR, n - j);
            const size_t wide = set_columns(&o, cols);
            const tile_fn *tiles = cols % LANES ? part_tiles[wide] : whole_tiles[wide];

            o.b = b + p * ldb + j;
            for (size_t i = 0; i < m;) {
                const size_t rows = next_rows(m - i);

                o.a = a + i * lda + p;
                o.c = c + i * ldc + j;
                tiles[rows - 1](MIN(step, k - p), &o);
                i += rows;
            }
        }
        o.beta = 1.0F;
    }
}

static void pack_a(size_t m, size_t k, float alpha, const float *a, size_t lda, float *out)
{
    const __m128 factor = _mm_set1_ps(alpha);

    for (size_t i = 0; i < m; i += MR, out += MR * k) {
        const float *rows = a + i * lda;
        size_t have = MIN(MR, m - i);
        size_t p = 0;

        for (; have == MR && p + 4 <= k; p += 4) {
            for (size_t r = 0; r < MR; r += 4) {
                __m128 r0 = _mm_mul_ps(factor, _mm_loadu_ps(rows + r * lda + p));
                __m128 r1 = _mm_mul_ps(factor, _mm_loadu_ps(rows + (r + 1) * lda + p));
                __m128 r2 = _mm_mul_ps(factor, _mm_loadu_ps(rows + (r + 2) * lda + p));
                __m128 r3 = _mm_mul_ps(factor, _mm_loadu_ps(rows + (r + 3) * lda + p));

                _MM_TRANSPOSE4_PS(r0, r1, r2, r3);
                _mm_storeu_ps(out + p * MR + r, r0);
                _mm_storeu_ps(out + (p + 1) * MR + r, r1);
                _mm_storeu_ps(out + (p + 2) * MR + r, r2);
                _mm_storeu_ps(out + (p + 3) * MR + r, r3);
            }
        }
        for (; p < k; p++) {
            for (size_t r = 0; r < MR; r++)
                out[p * MR + r] = r < have ? alpha * rows[r * lda + p] : 0.0F;
        }
    }
}

static void pack_b(size_t k, size_t n, const float *b, size_t ldb, float *out)
{
    /* Row by row of B, so that it is read as a stream. */
    for (size_t p = 0; p < k; p++) {
        const float *row = b + p * ldb;
        size_t j = 0;

        for (; j + NR <= n; j += NR)
            memcpy(out + j * k + p * NR, row + j, NR * sizeof *out);
        if (j < n) {
            memset(out + j * k + p * NR, 0, NR * sizeof *out);
            memcpy(out + j * k + p * NR, row + j, (n - j) * sizeof *out);
        }
    }
}

/* The part of the next sliver of B that tile `at` of `tiles` asks for, so that the first rows of A do
   not wait for L3 when the panel is larger than L2. */
INLINE void fetch_ahead(const float *sliver, size_t len, size_t at, size_t tiles)
{
    const size_t step = (len / tiles + LANES) / LANES * LANES;
    const size_t end = MIN(len, (at + 1) * step);

    for (size_t i = at * step; i < end; i += LANES)
        _mm_prefetch((const char *)(sliver + i), _MM_HINT_T1);
}

static void block(size_t m, size_t n, size_t k, const float *a, const float *b, float beta,
                  float *c, size_t ldc)
{
    operands o = { .ldb = NR, .alpha = 1.0F, .beta = beta, .ldc = ldc };
    const size_t tiles = (m + MR - 1) / MR;

    for (size_t j = 0; j < n; j += NR) {
        size_t wide = set_columns(&o, MIN(NR, n - j));

        o.b = b + j * k;
        for (size_t i = 0; i < m; i += MR) {
            if (j + NR < n)
                fetch_ahead(o.b + NR * k, NR * k, i / MR, tiles);
            o.a = a + i * k;
            o.c = c + i * ldc + j;
            packed_tiles[wide][MIN(MR, m - i) - 1](k, &o);
        }
    }
}

/* 384 x 384 floats of A are 576 KiB of L2. A sliver of B is 48 KiB, all of L1, so it comes from L2:
   176 bytes a step of 12 clocks, a third of what L2 gives; shorter slivers would read and write C
   more often, which costs more. */
const pfc_gemm_f32_tile pfc_gemm_f32_tile_avx512 = {
    .mr = MR,
    .nr = NR,
    .mc = 384,
    .kc = 384,
    .nc = 4096,
    .thin_nc = 192,
    .is_small = is_small,
    .direct = direct,
    .pack_a = pack_a,
    .pack_b = pack_b,
    .block = block,
};

void pfc_gemm_f32_avx512(size_t m, size_t n, size_t k, float alpha, const float *a, size_t lda,
                         const float *b, size_t ldb, float beta, float *c, size_t ldc, float *work)
{
    pfc_gemm_f32_blocked(&pfc_gemm_f32_tile_avx512, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc,
                         work);
}
