/*
 * AVX-512F: a register tile of 12 x 32.
 *
 * The bound is the FMA unit: one 512-bit FMA a clock (Zen 4), two on server Intel. A step of k does
 * 24 FMA on 2 loads and 12 broadcasts; 24 accumulators, 2 of B and one broadcast fill 27 of 32
 * registers. Masks make the last columns cost no code of their own. Operands are read in place up
 * to some 800 cubed; larger ones are packed.
 */
#include <immintrin.h>
#include <string.h>

#include "kernels/cpu/gemm_f32/blocked.h"
#include "kernels/cpu/gemm_f32/gemm_f32.h"

#define MR           12
#define NR           32
#define LANES        16
#define L2_FLOATS    327680  /* 1.25 MiB: what server cores have, or more */
#define PLAIN_FLOATS 2400000 /* 9.2 MiB: up to there copying costs more than it saves */
#define PAGE_FLOATS  1024
#define THIN         96  /* rows up to which a product is a pass over B */
#define NEAR         24  /* steps of 12 clocks: what a line takes from L3 */
#define SOON         4   /* steps: what a line takes from L2 */
#define FAR          512 /* floats between rows beyond which the CPU foresees nothing */
#define INLINE       static inline __attribute__((always_inline))
#define MIN(a, b)    ((a) < (b) ? (a) : (b))

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
   the products run, and to L1 NEAR steps before the end: earlier, the slivers would push it out.
   `soon` asks for B in place SOON steps ahead: with few rows of A little hides that a line of it
   comes from L2 (31 x 2049 x 127: 156 GFLOP/s, without 135; with many it only costs). */
INLINE void tile(size_t k, const operands *o, const int mr, const int nv, const int packed,
                 const int masked, const int soon)
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
            for (int v = 0; soon && v < nv; v++)
                _mm_prefetch((const char *)(b + SOON * ldb + LANES * v), _MM_HINT_T0);
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

#define TILE(name, mr, nv, packed, masked, soon)                                                   \
    static void name##_##mr##x##nv(size_t k, const operands *o)                                    \
    {                                                                                              \
        tile(k, o, mr, nv, packed, masked, soon);                                                  \
    }
#define TILES(name, nv, packed, masked, soon)                                                      \
    TILE(name, 1, nv, packed, masked, soon)                                                        \
    TILE(name, 2, nv, packed, masked, soon)                                                        \
    TILE(name, 3, nv, packed, masked, soon)                                                        \
    TILE(name, 4, nv, packed, masked, soon)                                                        \
    TILE(name, 5, nv, packed, masked, soon)                                                        \
    TILE(name, 6, nv, packed, masked, soon)                                                        \
    TILE(name, 7, nv, packed, masked, soon)                                                        \
    TILE(name, 8, nv, packed, masked, soon)                                                        \
    TILE(name, 9, nv, packed, masked, soon)                                                        \
    TILE(name, 10, nv, packed, masked, soon)                                                       \
    TILE(name, 11, nv, packed, masked, soon)                                                       \
    TILE(name, 12, nv, packed, masked, soon)
#define ROW(name, nv)                                                                              \
    {                                                                                              \
        name##_1x##nv, name##_2x##nv, name##_3x##nv, name##_4x##nv, name##_5x##nv, name##_6x##nv,  \
            name##_7x##nv, name##_8x##nv, name##_9x##nv, name##_10x##nv, name##_11x##nv,           \
            name##_12x##nv                                                                         \
    }

TILES(packed, 1, 1, 0, 0)
TILES(packed, 2, 1, 0, 0)
TILES(whole, 1, 0, 0, 0)
TILES(whole, 2, 0, 0, 0)
TILES(part, 1, 0, 1, 0)
TILES(part, 2, 0, 1, 0)
TILES(soon_whole, 1, 0, 0, 1)
TILES(soon_whole, 2, 0, 0, 1)
TILES(soon_part, 1, 0, 1, 1)
TILES(soon_part, 2, 0, 1, 1)

/* [columns > 16][rows - 1]; `whole` where the last vector is full, else `part` */
static const tile_fn packed_tiles[2][MR] = { ROW(packed, 1), ROW(packed, 2) };
static const tile_fn whole_tiles[2][MR] = { ROW(whole, 1), ROW(whole, 2) };
static const tile_fn part_tiles[2][MR] = { ROW(part, 1), ROW(part, 2) };
static const tile_fn soon_whole_tiles[2][MR] = { ROW(soon_whole, 1), ROW(soon_whole, 2) };
static const tile_fn soon_part_tiles[2][MR] = { ROW(soon_part, 1), ROW(soon_part, 2) };

/* Rows of the next tile when `left` are to go: 16 as 8 + 8, not 12 + 4, because a short tile pays
   for its loads with few products. */
static size_t next_rows(size_t left)
{
    const size_t tiles = (left + MR - 1) / MR;

    return (left + tiles - 1) / tiles;
}

/* Rows a multiple of a page apart share few sets of the caches, which then hold few of them. */
static bool collides(size_t ld)
{
    return ld % PAGE_FLOATS == 0;
}

/* Packing pays where operands come from beyond L2 often enough to earn back the copies; in L2 they
   are read in place at the full rate (64 x 64 x 2048: 176 of 178 GFLOP/s, packed 108), and up to
   some 800 cubed blocks of them are, too (768 cubed: 165, packed 154). */
static bool is_small(size_t m, size_t n, size_t k, size_t lda, size_t ldb)
{
    const size_t all = m * k + k * n + m * n;

    return m <= THIN || n <= NR || all <= L2_FLOATS ||
           (all <= PLAIN_FLOATS && !collides(lda) && !collides(ldb));
}

/* Sets the mask for `cols` (1..NR) columns; returns whether they take two vectors. */
static size_t set_columns(operands *o, size_t cols)
{
    size_t wide = cols > LANES;

    o->mask = (__mmask16)(0xffffu >> (LANES - (wide ? cols - LANES : cols)));
    return wide;
}

/* Rows of B at a time in a thin product: a few long streams instead of k short ones. More rows of A
   pay for more of them, since C is read and written once for each; but 64 rows that are over two
   pages apart are more pages than the CPU keeps at hand. */
static size_t thin_step(size_t m, size_t ldb)
{
    if (m <= 3)
        return 8;
    if (m <= MR)
        return 16;
    return ldb <= 2048 ? 64 : 32;
}

/* The rows of B that tile `at` of `tiles` asks for on behalf of the next sliver: they are a row of
   B apart, which the CPU does not foresee. */
INLINE void fetch_rows(const float *b, size_t ldb, size_t k, size_t at, size_t tiles)
{
    const size_t step = (k + tiles - 1) / tiles;
    const size_t end = MIN(k, (at + 1) * step);

    for (size_t p = at * step; p < end; p++) {
        _mm_prefetch((const char *)(b + p * ldb), _MM_HINT_T1);
        _mm_prefetch((const char *)(b + p * ldb + LANES), _MM_HINT_T1);
    }
}

/* How B in place comes to the core in time. */
typedef enum fetching {
    FETCH_NOTHING, /* its rows are close, or in L1 */
    FETCH_STEPS,   /* some steps ahead */
    FETCH_SLIVER   /* the next 32 columns while these are used */
} fetching;

/* C = alpha A B + beta C for m rows that stay in L2, sliver after sliver of B. */
INLINE void direct_block(size_t m, size_t n, size_t k, operands *o, fetching fetch)
{
    const float *const a = o->a;
    const float *const b = o->b;
    float *const c = o->c;
    const size_t tiles = (m + MR - 1) / MR;

    for (size_t j = 0; j < n; j += NR) {
        const size_t cols = MIN(NR, n - j);
        const size_t wide = set_columns(o, cols);
        const tile_fn *fns = fetch == FETCH_STEPS
                                 ? (cols % LANES ? soon_part_tiles : soon_whole_tiles)[wide]
                                 : (cols % LANES ? part_tiles : whole_tiles)[wide];

        o->b = b + j;
        for (size_t i = 0, at = 0; i < m; at++) {
            const size_t rows = next_rows(m - i);

            if (fetch == FETCH_SLIVER && j + NR < n)
                fetch_rows(o->b + NR, o->ldb, k, at, tiles);
            o->a = a + i * o->lda;
            o->c = c + i * o->ldc + j;
            fns[rows - 1](k, o);
            i += rows;
        }
    }
}

static void direct(size_t m, size_t n, size_t k, float alpha, const float *a, size_t lda,
                   const float *b, size_t ldb, float beta, float *c, size_t ldc)
{
    operands o = { .lda = lda, .ldb = ldb, .alpha = alpha, .beta = beta, .ldc = ldc };
    fetching fetch = FETCH_NOTHING;
    size_t mc = m;
    size_t kc = k;

    if (m > THIN && n > NR && m * k + k * n + m * n > L2_FLOATS) {
        fetch = FETCH_SLIVER;
        mc = pfc_gemm_f32_even_step(m, pfc_gemm_f32_tile_avx512.mc, MR);
        kc = pfc_gemm_f32_even_step(k, pfc_gemm_f32_tile_avx512.kc, 4);
    } else if (n > NR && (m <= 3 || (m <= THIN && k * n > L2_FLOATS))) {
        kc = thin_step(m, ldb);
    } else if (m <= THIN && ldb > FAR) {
        fetch = FETCH_STEPS;
    }
    for (size_t p = 0; p < k; p += kc) {
        for (size_t i = 0; i < m; i += mc) {
            o.a = a + i * lda + p;
            o.b = b + p * ldb;
            o.c = c + i * ldc;
            direct_block(MIN(mc, m - i), n, MIN(kc, k - p), &o, fetch);
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

/* The part of the next sliver of B that tile `at` of `tiles` asks for, so that the first rows of A
   do not wait for L3 when the panel is larger than L2. */
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
