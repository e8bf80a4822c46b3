/*
 * GEMM at the edge of its buffers: every variant, with each operand in turn against an inaccessible
 * page, over sizes with all remainders of the tiles (6 x 16 and 12 x 32) and of the steps of k.
 *
 * The gaps between rows hold NaN, the last row has none behind it, and columns behind n in C must
 * stay as they were. Bound: guarded_sum_bound(k) * sum |alpha a b| + 3 u |result|, u = 2^-24.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/gemm_f32/gemm_f32.h"

#include "tests/check/check.h"
#include "tests/kernels/cpu/emulated/emulated.h"
#include "tests/kernels/cpu/guarded.h"

#define TOGETHER 600000 /* products from which all buffers are guarded at once */

typedef void (*gemm_fn)(size_t m, size_t n, size_t k, float alpha, const float *a, size_t lda,
                        const float *b, size_t ldb, float beta, float *c, size_t ldc, float *work);

static const struct {
    const char *name;
    pfc_cpu_level needs;
    gemm_fn run;
} variants[] = {
#define PFC_VARIANT(op, isa, needs) { #isa, needs, pfc_##op##_##isa },
#include "kernels/cpu/gemm_f32/variants.def"

#undef PFC_VARIANT
#if defined(__x86_64__)
    { "avx512 emulated", PFC_CPU_ANY, pfc_gemm_f32_emulated },
#endif
};

typedef struct product {
    size_t m, n, k;
    size_t lda, ldb, ldc;
    float alpha, beta;
    gemm_fn run;
    float *a, *b, *c; /* owned; c is what is there before */
    double *want;
    double *bound;
} product;

static size_t span(size_t rows, size_t cols, size_t ld)
{
    return rows == 0 || cols == 0 ? 0 : (rows - 1) * ld + cols;
}

static void spoil_gaps(float *values, size_t rows, size_t cols, size_t ld)
{
    for (size_t i = 0; cols > 0 && i + 1 < rows; i++)
        for (size_t j = cols; j < ld; j++)
            values[i * ld + j] = NAN;
}

static void reference(product *p)
{
    p->want = pfc_calloc(p->m * p->n + 1, sizeof(double));
    p->bound = pfc_calloc(p->m * p->n + 1, sizeof(double));
    for (size_t i = 0; i < p->m; i++) {
        for (size_t j = 0; j < p->n; j++) {
            double sum = 0.0;
            double size = 0.0;

            for (size_t q = 0; q < p->k; q++) {
                const double term = (double)p->alpha * p->a[i * p->lda + q] * p->b[q * p->ldb + j];

                sum += term;
                size += fabs(term);
            }
            if (p->beta != 0.0F) {
                const double old = (double)p->beta * p->c[i * p->ldc + j];

                sum += old;
                size += fabs(old);
            }
            p->want[i * p->n + j] = sum;
            p->bound[i * p->n + j] = guarded_sum_bound(p->k) * size + 3.0 * 0x1p-24 * fabs(sum);
        }
    }
}

static void run_product(void *context, float *const *at)
{
    const product *p = context;

    p->run(p->m, p->n, p->k, p->alpha, at[0], p->lda, at[1], p->ldb, p->beta, at[2], p->ldc, at[3]);
}

static void check_product(void *context, float *const *at, const char *where)
{
    const product *p = context;
    const float *c = at[2];

    for (size_t i = 0; i < p->m; i++) {
        for (size_t j = 0; j < p->n; j++) {
            const double error = fabs((double)c[i * p->ldc + j] - p->want[i * p->n + j]);

            if (!(error <= p->bound[i * p->n + j]))
                cr_assert(false, "%s: row %zu column %zu: %g, expected %g", where, i, j,
                          (double)c[i * p->ldc + j], p->want[i * p->n + j]);
        }
        if (p->n > 0 && i + 1 < p->m && p->ldc > p->n)
            cr_assert(memcmp(c + i * p->ldc + p->n, p->c + i * p->ldc + p->n,
                             (p->ldc - p->n) * sizeof *c) == 0,
                      "%s: wrote between rows %zu and %zu", where, i, i + 1);
    }
}

/* Factors change from one size to the next; `turn` picks them. */
static void check_layout(size_t m, size_t n, size_t k, size_t lda, size_t ldb, size_t ldc,
                         size_t turn)
{
    static const float factors[][2] = { { 1.0F, 0.0F }, { 1.0F, 1.0F }, { -0.75F, 0.5F } };
    product p = { .m = m,
                  .n = n,
                  .k = k,
                  .lda = lda,
                  .ldb = ldb,
                  .ldc = ldc,
                  .alpha = factors[turn % 3][0],
                  .beta = factors[turn % 3][1] };
    const size_t a_len = span(m, k, p.lda);
    const size_t b_len = span(k, n, p.ldb);
    const size_t c_len = span(m, n, p.ldc);
    char what[128];

    p.a = guarded_values(a_len, 1 + turn);
    p.b = guarded_values(b_len, 2 + turn);
    p.c = guarded_values(c_len, 3 + turn);
    spoil_gaps(p.a, m, k, p.lda);
    spoil_gaps(p.b, k, n, p.ldb);
    /* With beta 0 what was there must not matter. */
    for (size_t i = 0; p.beta == 0.0F && i < c_len; i++)
        p.c[i] = NAN;
    reference(&p);
    for (size_t v = 0; v < PFC_ARRAY_LEN(variants); v++) {
        guarded_call call = { .what = what,
                              .buffers = { { "A", GUARDED_IN, a_len, p.a },
                                           { "B", GUARDED_IN, b_len, p.b },
                                           { "C", GUARDED_OUT, c_len, p.c },
                                           { "the workspace", GUARDED_WORK,
                                             pfc_gemm_f32_work_len(m, n, k), NULL } },
                              .buffers_len = 4,
                              .together = m * n * k > TOGETHER,
                              .run = run_product,
                              .check = check_product,
                              .context = &p };

        if (!pfc_cpu_can(variants[v].needs, NULL))
            continue;
        p.run = variants[v].run;
        snprintf(what, sizeof what, "gemm %s m %zu n %zu k %zu ld %zu %zu %zu alpha %g beta %g",
                 variants[v].name, m, n, k, p.lda, p.ldb, p.ldc, (double)p.alpha, (double)p.beta);
        guarded_run(&call);
    }
    free(p.a);
    free(p.b);
    free(p.c);
    free(p.want);
    free(p.bound);
}

/* The same with gaps that change, too. */
static void check_size(size_t m, size_t n, size_t k, size_t turn)
{
    check_layout(m, n, k, k + turn % 4, n + (turn + 1) % 3, n + turn / 2 % 3, turn);
}

TestSuite(gemm_guard, .fini = guarded_close);

Test(gemm_guard, small_products_stay_inside_their_buffers)
{
    static const size_t ms[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 17, 25 };
    static const size_t ns[] = { 1, 7, 8, 9, 15, 16, 17, 23, 24, 25, 31, 32, 33, 65 };
    static const size_t ks[] = { 1, 2, 3, 4, 5, 7, 8, 9, 17 };
    size_t turn = 0;

    guarded_open(16384);
    for (size_t i = 0; i < PFC_ARRAY_LEN(ms); i++)
        for (size_t j = 0; j < PFC_ARRAY_LEN(ns); j++)
            for (size_t q = 0; q < PFC_ARRAY_LEN(ks); q++)
                check_size(ms[i], ns[j], ks[q], turn++);
}

/* Four to sixteen rows over a B too large to be read in place: it is copied in pieces of 64 x 96.
 */
Test(gemm_guard, flat_products_stay_inside_their_buffers)
{
    static const size_t sizes[][3] = { { 4, 96, 2305 },  { 5, 97, 2049 },  { 7, 191, 700 },
                                       { 12, 193, 383 }, { 13, 112, 641 }, { 16, 95, 583 },
                                       { 16, 241, 257 } };

    guarded_open(640 * 1024);
    for (size_t i = 0; i < PFC_ARRAY_LEN(sizes); i++)
        check_size(sizes[i][0], sizes[i][1], sizes[i][2], i);
}

/* Packed products: every remainder of six rows, of sixteen columns and of four steps of k; more
   than one block of 256 steps, of 384 rows, of 192 columns and of 4096. */
Test(gemm_guard, packed_products_stay_inside_their_buffers)
{
    static const size_t sizes[][3] = {
        { 17, 17, 3073 }, { 18, 24, 2050 }, { 19, 25, 1871 }, { 20, 31, 1428 }, { 21, 32, 1317 },
        { 22, 33, 1222 }, { 96, 97, 97 },   { 97, 96, 96 },   { 18, 192, 257 }, { 23, 193, 201 },
        { 25, 400, 101 }, { 384, 17, 137 }, { 385, 18, 133 }, { 391, 40, 65 },  { 390, 33, 259 },
        { 385, 4097, 1 }, { 386, 4111, 2 }, { 17, 4097, 13 },
    };

    guarded_open(2 * 1024 * 1024);
    for (size_t i = 0; i < PFC_ARRAY_LEN(sizes); i++)
        check_size(sizes[i][0], sizes[i][1], sizes[i][2], i);
}

/* No product at all: nothing of A and B is there, C is scaled or left alone. */
Test(gemm_guard, empty_products_touch_only_what_they_scale)
{
    guarded_open(16384);
    for (size_t turn = 0; turn < 12; turn++) {
        check_size(0, 5, 3, turn);
        check_size(5, 0, 3, turn);
        check_size(5, 9, 0, turn);
        check_size(97, 33, 0, turn);
    }
}

/* Where AVX-512 asks for rows of B ahead of time: few rows of A over rows of B that are far apart.
 */
Test(gemm_guard, products_over_far_rows_stay_inside_their_buffers)
{
    static const size_t ns[] = { 1, 15, 16, 17, 31, 32, 33, 48, 64 };

    guarded_open(16384);
    for (size_t m = 1; m <= 12; m++)
        for (size_t j = 0; j < PFC_ARRAY_LEN(ns); j++)
            check_layout(m, ns[j], 5, 5, 520, ns[j], m + j);
}

/* AVX-512 in place, B or all operands beyond L2: steps of 16, 32 and 64 rows of B; blocks of rows.
 */
Test(gemm_guard, large_products_in_place_stay_inside_their_buffers)
{
    static const size_t sizes[][3] = {
        { 4, 33, 9931 },  { 13, 33, 9935 },  { 14, 2053, 163 },
        { 97, 33, 2500 }, { 108, 65, 1901 }, { 390, 35, 770 },
    };

    guarded_open(1024 * 1024);
    for (size_t i = 0; i < PFC_ARRAY_LEN(sizes); i++)
        check_size(sizes[i][0], sizes[i][1], sizes[i][2], i);
}

/* AVX-512 packs where rows are pages apart: every remainder of twelve rows and of 32 columns, more
   than one block of 384 steps and of 384 rows. */
Test(gemm_guard, products_packed_for_their_distance_stay_inside_their_buffers)
{
    guarded_open(1024 * 1024);
    for (size_t m = 97; m <= 108; m++)
        check_layout(m, 3383 + m % 3 * 16 + m % 2, 2 + m % 4, 1024, 3440, 3440, m);
    check_layout(387, 837, 13, 1024, 837, 837, 1);
    check_layout(97, 611, 397, 1024, 611, 612, 2);
}
