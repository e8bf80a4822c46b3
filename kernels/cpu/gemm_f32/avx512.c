/*
 * AVX-512F: a register tile of 12 x 32.
 *
 * The bound is the FMA unit: one 512-bit FMA a clock (Zen 4), two on server Intel. A step of k does
 * 24 FMA on 2 loads and 12 broadcasts, which fold into the FMA as memory operands; 24 accumulators, 2
 * of B and one broadcast fill 27 of 32 registers. Masks make the last columns cost no code of their
 * own.
 */
#include <immintrin.h>
#include <string.h>

#include "kernels/cpu/gemm_f32/blocked.h"
#include "kernels/cpu/gemm_f32/gemm_f32.h"

#define MR        12
#define NR        32
#define LANES     16
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

/* mr x 16 nv of C, the last vector under the mask; mr, nv and packed are constants at every call. */
INLINE void tile(size_t k, const operands *o, const int mr, const int nv, const int packed)
{
    __m512 acc[MR][2];
    const float *a = o->a;
    const float *b = o->b;
    const size_t lda = o->lda;
    const __mmask16 mask = o->mask;

#pragma GCC unroll 12
    for (int i = 0; i < mr; i++) {
#pragma GCC unroll 2
        for (int v = 0; v < nv; v++)
            acc[i][v] = _mm512_setzero_ps();
        _mm_prefetch((const char *)(o->c + (size_t)i * o->ldc), _MM_HINT_T0);
    }

#pragma GCC unroll 2
    for (size_t p = 0; p < k; p++) {
        __m512 row[2];

#pragma GCC unroll 2
        for (int v = 0; v < nv; v++)
            row[v] = v == nv - 1 ? _mm512_maskz_loadu_ps(mask, b + LANES * v)
                                 : _mm512_loadu_ps(b + LANES * v);
#pragma GCC unroll 12
        for (int i = 0; i < mr; i++) {
            __m512 left = _mm512_set1_ps(packed ? a[i] : a[(size_t)i * lda]);

#pragma GCC unroll 2
            for (int v = 0; v < nv; v++)
                acc[i][v] = _mm512_fmadd_ps(left, row[v], acc[i][v]);
        }
        a += packed ? MR : 1;
        b += o->ldb;
    }

#pragma GCC unroll 12
    for (int i = 0; i < mr; i++) {
        float *c = o->c + (size_t)i * o->ldc;

#pragma GCC unroll 2
        for (int v = 0; v < nv; v++, c += LANES) {
            const __mmask16 lanes = v == nv - 1 ? mask : (__mmask16)0xffff;
            __m512 value = _mm512_mul_ps(_mm512_set1_ps(o->alpha), acc[i][v]);

            if (o->beta != 0.0F)
                value = _mm512_fmadd_ps(_mm512_set1_ps(o->beta), _mm512_maskz_loadu_ps(lanes, c),
                                        value);
            _mm512_mask_storeu_ps(c, lanes, value);
        }
    }
}

typedef void (*tile_fn)(size_t k, const operands *o);

#define TILE(name, mr, nv, packed)                                                                 \
    static void name##_##mr##x##nv(size_t k, const operands *o)                                    \
    {                                                                                              \
        tile(k, o, mr, nv, packed);                                                                \
    }
#define TILES(name, nv, packed)                                                                    \
    TILE(name, 1, nv, packed)                                                                      \
    TILE(name, 2, nv, packed)                                                                      \
    TILE(name, 3, nv, packed)                                                                      \
    TILE(name, 4, nv, packed)                                                                      \
    TILE(name, 5, nv, packed)                                                                      \
    TILE(name, 6, nv, packed)                                                                      \
    TILE(name, 7, nv, packed)                                                                      \
    TILE(name, 8, nv, packed)                                                                      \
    TILE(name, 9, nv, packed)                                                                      \
    TILE(name, 10, nv, packed)                                                                     \
    TILE(name, 11, nv, packed)                                                                     \
    TILE(name, 12, nv, packed)
#define ROW(name, nv)                                                                              \
    {                                                                                              \
        name##_1x##nv, name##_2x##nv, name##_3x##nv, name##_4x##nv, name##_5x##nv, name##_6x##nv,  \
            name##_7x##nv, name##_8x##nv, name##_9x##nv, name##_10x##nv, name##_11x##nv,           \
            name##_12x##nv                                                                         \
    }

TILES(packed, 1, 1)
TILES(packed, 2, 1)
TILES(place, 1, 0)
TILES(place, 2, 0)

/* [columns > 16][rows - 1] */
static const tile_fn packed_tiles[2][MR] = { ROW(packed, 1), ROW(packed, 2) };
static const tile_fn place_tiles[2][MR] = { ROW(place, 1), ROW(place, 2) };

static bool is_small(size_t m, size_t n, size_t k)
{
    return m <= 3 || n <= NR || m * n * k <= (size_t)96 * 96 * 96;
}

/* Sets the mask for `cols` (1..NR) columns; returns whether they take two vectors. */
static size_t set_columns(operands *o, size_t cols)
{
    size_t wide = cols > LANES;

    o->mask = (__mmask16)(0xffffu >> (LANES - (wide ? cols - LANES : cols)));
    return wide;
}

static void direct(size_t m, size_t n, size_t k, float alpha, const float *a, size_t lda,
                   const float *b, size_t ldb, float beta, float *c, size_t ldc)
{
    operands o = { .lda = lda, .ldb = ldb, .alpha = alpha, .beta = beta, .ldc = ldc };
    /* A thin product is a pass over B: a few long streams instead of k short ones. */
    size_t step = m <= 3 && n > NR ? 8 : k;

    for (size_t p = 0; p < k; p += step) {
        for (size_t j = 0; j < n; j += NR) {
            size_t wide = set_columns(&o, MIN(NR, n - j));

            o.b = b + p * ldb + j;
            for (size_t i = 0; i < m; i += MR) {
                o.a = a + i * lda + p;
                o.c = c + i * ldc + j;
                place_tiles[wide][MIN(MR, m - i) - 1](MIN(step, k - p), &o);
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

static void block(size_t m, size_t n, size_t k, const float *a, const float *b, float beta,
                  float *c, size_t ldc)
{
    operands o = { .ldb = NR, .alpha = 1.0F, .beta = beta, .ldc = ldc };

    for (size_t j = 0; j < n; j += NR) {
        size_t wide = set_columns(&o, MIN(NR, n - j));

        o.b = b + j * k;
        for (size_t i = 0; i < m; i += MR) {
            o.a = a + i * k;
            o.c = c + i * ldc + j;
            packed_tiles[wide][MIN(MR, m - i) - 1](k, &o);
        }
    }
}

/* 384 x 320 floats of A are 480 KiB of an L2 of 1 MiB or more; a sliver of B is 40 KiB, so its end
   comes from L2, which one 64-byte line in 24 FMA does not notice. */
static const pfc_gemm_f32_tile avx512_tile = {
    .mr = MR,
    .nr = NR,
    .mc = 384,
    .kc = 320,
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
    pfc_gemm_f32_blocked(&avx512_tile, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, work);
}
