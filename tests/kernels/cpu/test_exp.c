/* The vector exponential against libm's double one, and softmax where exponentials are awkward. */
#include <math.h>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/softmax_f32/softmax_f32.h"

#include "tests/check/check.h"

typedef void (*exp_fn)(size_t len, const float *x, float *y);
typedef void (*softmax_fn)(size_t rows, size_t cols, const float *x, float *y);

static const struct {
    const char *name;
    pfc_cpu_level needs;
    exp_fn exp;
    softmax_fn softmax;
} variants[] = {
#define PFC_VARIANT(op, isa, needs) { #isa, needs, pfc_##op##_exp_##isa, pfc_##op##_##isa },
#include "kernels/cpu/softmax_f32/variants.def"

#undef PFC_VARIANT
};

static bool can(size_t v)
{
    const char *reason = NULL;

    if (pfc_cpu_can(variants[v].needs, &reason))
        return true;
    cr_log_info("%s skipped: %s", variants[v].name, reason);
    return false;
}

/* Errors in units of the last place of the exact value, over 1.4 million arguments. */
Test(exp, is_within_two_units_in_the_last_place)
{
    enum { CHUNK = 1024 };
    float x[CHUNK];
    float y[CHUNK];

    for (size_t v = 0; v < PFC_ARRAY_LEN(variants); v++) {
        double worst = 0.0;

        for (int c = 0; can(v) && c < 1400; c++) {
            for (int i = 0; i < CHUNK; i++)
                x[i] = -87.32F + (float)(c * CHUNK + i) * 1.22e-4F;
            variants[v].exp(CHUNK, x, y);
            for (int i = 0; i < CHUNK; i++) {
                double want = exp((double)x[i]);
                int exponent = 0;

                (void)frexp(want, &exponent);
                worst = fmax(worst, fabs((double)y[i] - want) / ldexp(1.0, exponent - 24));
            }
        }
        cr_assert(le(dbl, worst, 2.0), "%s", variants[v].name);
    }
}

Test(exp, knows_zero_one_and_not_a_number)
{
    const float x[] = { 0.0F, -0.0F, -INFINITY, -1e30F, -104.0F, NAN };
    float y[6];

    for (size_t v = 0; v < PFC_ARRAY_LEN(variants); v++) {
        if (!can(v))
            continue;
        variants[v].exp(6, x, y);
        cr_assert(epsilon_eq(dbl, y[0], 1.0, 0.0));
        cr_assert(epsilon_eq(dbl, y[1], 1.0, 0.0));
        for (int i = 2; i < 5; i++)
            cr_assert(epsilon_eq(dbl, y[i], 0.0, 0.0));
        cr_assert(isnan(y[5]));
    }
}

/* e^1000 would overflow; equal values share evenly; what is masked by -inf gets nothing. */
Test(softmax, large_values_and_masks_are_harmless)
{
    const float x[] = { 1000.0F, 1000.0F, -INFINITY, 1000.0F, 1000.0F };
    float y[5];

    for (size_t v = 0; v < PFC_ARRAY_LEN(variants); v++) {
        if (!can(v))
            continue;
        variants[v].softmax(1, 5, x, y);
        for (int i = 0; i < 5; i++)
            cr_assert(epsilon_eq(dbl, y[i], i == 2 ? 0.0 : 0.25, 1e-7));
    }
}
