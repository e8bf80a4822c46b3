/* Features of the GEMM that the registry does not use: alpha, beta, and operands at unaligned
 * addresses. */
#include <math.h>
#include <stdlib.h>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/gemm_f32/gemm_f32.h"

#include "tests/check/check.h"

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
};

typedef struct sizes {
    size_t m, n, k;
} sizes;

/* One direct, one thin, one packed, one packed in two blocks of depth, one thin and deep. Then,
   where operands are read in place: few rows over far ones of B, blocks of many rows beyond L2,
   and, packed there, too, rows of A that are pages apart. */
static const sizes shapes[] = { { 7, 19, 5 },     { 2, 75, 21 },    { 110, 99, 98 },
                                { 101, 50, 300 }, { 37, 70, 3100 }, { 13, 600, 20 },
                                { 390, 33, 800 }, { 110, 52, 2048 } };

static float *filled(size_t len, unsigned seed)
{
    float *out = malloc((len + 1) * sizeof *out);

    for (size_t i = 0; i <= len; i++) {
        seed = seed * 1664525u + 1013904223u;
        out[i] = (float)(seed >> 8) / 8388608.0F - 1.0F;
    }
    return out;
}

static void check_scaled(gemm_fn run, sizes s, float alpha, float beta)
{
    float *a = filled(s.m * s.k, 1);
    float *b = filled(s.k * s.n, 2);
    float *old = filled(s.m * s.n, 3);
    float *c = filled(s.m * s.n, 3);
    float *work = aligned_alloc(64, (pfc_gemm_f32_work_len(s.m, s.n, s.k) * 4 + 127) / 64 * 64);

    /* + 1: no operand is aligned to more than a float. */
    run(s.m, s.n, s.k, alpha, a + 1, s.k, b + 1, s.n, beta, c + 1, s.n, work);
    for (size_t i = 0; i < s.m; i++) {
        for (size_t j = 0; j < s.n; j++) {
            double want = (double)beta * old[1 + i * s.n + j];

            for (size_t p = 0; p < s.k; p++)
                want += (double)alpha * a[1 + i * s.k + p] * b[1 + p * s.n + j];
            /* k + 3 roundings of 2^-24, each term at most 3 in size. */
            cr_assert(fabs(c[1 + i * s.n + j] - want) <= 3.0 * (s.k + 3) * (s.k + 1) * 0x1p-24,
                      "row %zu column %zu: %g, expected %g", i, j, (double)c[1 + i * s.n + j],
                      want);
        }
    }
    free(a);
    free(b);
    free(old);
    free(c);
    free(work);
}

Test(gemm_f32, alpha_and_beta_scale_as_they_should)
{
    static const float factors[][2] = { { 1.0F, 0.0F }, { 1.0F, 1.0F },  { 2.5F, 0.0F },
                                        { 0.0F, 0.5F }, { -1.0F, 3.0F }, { 0.0F, 0.0F } };

    for (size_t v = 0; v < PFC_ARRAY_LEN(variants); v++) {
        const char *reason = NULL;

        if (!pfc_cpu_can(variants[v].needs, &reason)) {
            cr_log_info("%s skipped: %s", variants[v].name, reason);
            continue;
        }
        for (size_t s = 0; s < PFC_ARRAY_LEN(shapes); s++)
            for (size_t f = 0; f < PFC_ARRAY_LEN(factors); f++)
                check_scaled(variants[v].run, shapes[s], factors[f][0], factors[f][1]);
    }
}

Test(gemm_f32, beta_zero_does_not_read_what_was_there)
{
    for (size_t v = 0; v < PFC_ARRAY_LEN(variants); v++) {
        const float one = 1.0F;
        float c = NAN;
        float work[4096] __attribute__((aligned(64)));

        cr_assert(le(sz, pfc_gemm_f32_work_len(1, 1, 1), PFC_ARRAY_LEN(work)));
        if (!pfc_cpu_can(variants[v].needs, NULL))
            continue;
        variants[v].run(1, 1, 1, 2.0F, &one, 1, &one, 1, 0.0F, &c, 1, work);
        cr_assert(epsilon_eq(dbl, c, 2.0, 0.0));
        c = NAN;
        variants[v].run(1, 1, 0, 2.0F, &one, 1, &one, 1, 0.0F, &c, 1, work);
        cr_assert(epsilon_eq(dbl, c, 0.0, 0.0));
    }
}
