/* The registry's entries, and the smallest error that the verification of each operation finds. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/op.h"

#include "tests/check/check.h"
#include "tests/kernels/cpu/guarded.h"

#define U 0x1p-24

static const pfc_kernel_op *find(const char *name)
{
    const pfc_kernel_op *op = NULL;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_kernel_find(name, "f32", &op, &err), PFC_OK), "%s", err.msg);
    return op;
}

/* ---- the table ---- */

typedef struct facts {
    const char *name;
    const char *headline;
    pfc_kernel_rate rate;
    struct {
        const char *name;
        int64_t min, max, fallback;
        bool quiet;
    } params[5];
    int64_t values[4]; /* of a case, and what it is: */
    double flops, bytes;
    struct {
        pfc_kernel_role role;
        size_t len;
        float low, high;
    } buffers[6];
} facts;

#define NORM_PARAMS                                                                                \
    {                                                                                              \
        { "rows", 0, 1048576, 512, false },                                                        \
        {                                                                                          \
            "cols", 0, 1048576, 768, false                                                         \
        }                                                                                          \
    }

static const facts table[] = {
    { "gemm",
      "gemm_tflops",
      PFC_KERNEL_TFLOPS,
      { { "m", 0, 1048576, 512, false },
        { "n", 0, 1048576, 512, false },
        { "k", 0, 1048576, 512, false },
        { "pad", 0, 64, 0, true } },
      { 3, 5, 7, 2 },
      2 * 3 * 5 * 7,
      4 * (21 + 35 + 15),
      { { PFC_KERNEL_IN, 3 * 9, -1, 1 },
        { PFC_KERNEL_IN, 7 * 7, -1, 1 },
        { PFC_KERNEL_OUT, 3 * 7, 0, 0 } } },
    { "attention",
      "attention_tflops",
      PFC_KERNEL_TFLOPS,
      { { "h", 0, 256, 8, false },
        { "s", 0, 65536, 512, false },
        { "d", 0, 256, 64, false },
        { "causal", 0, 1, 0, true } },
      { 2, 3, 5, 0 },
      4 * 2 * 9 * 5,
      4 * 4 * 30,
      { { PFC_KERNEL_IN, 30, -3, 3 },
        { PFC_KERNEL_IN, 30, -1, 1 },
        { PFC_KERNEL_IN, 30, -1, 1 },
        { PFC_KERNEL_OUT, 30, 0, 0 } } },
    { "layernorm",
      "norm_gbps",
      PFC_KERNEL_GBPS,
      NORM_PARAMS,
      { 3, 5 },
      8 * 15,
      4 * (2 * 15 + 2 * 5),
      { { PFC_KERNEL_IN, 15, -1, 3 },
        { PFC_KERNEL_IN, 5, 0.5F, 1.5F },
        { PFC_KERNEL_IN, 5, -1, 1 },
        { PFC_KERNEL_OUT, 15, 0, 0 } } },
    { "rmsnorm",
      "norm_gbps",
      PFC_KERNEL_GBPS,
      NORM_PARAMS,
      { 3, 5 },
      4 * 15,
      4 * (2 * 15 + 5),
      { { PFC_KERNEL_IN, 15, -1, 3 },
        { PFC_KERNEL_IN, 5, 0.5F, 1.5F },
        { PFC_KERNEL_OUT, 15, 0, 0 } } },
    { "softmax",
      "norm_gbps",
      PFC_KERNEL_GBPS,
      NORM_PARAMS,
      { 3, 5 },
      5 * 15,
      4 * 2 * 15,
      { { PFC_KERNEL_IN, 15, -10, 10 }, { PFC_KERNEL_OUT, 15, 0, 0 } } },
};

Test(verify, every_operation_is_what_the_manual_says)
{
    cr_assert(eq(sz, pfc_kernel_count(), PFC_ARRAY_LEN(table)));
    for (size_t i = 0; i < PFC_ARRAY_LEN(table); i++) {
        const facts *f = &table[i];
        const pfc_kernel_op *op = pfc_kernel_at(i);
        const pfc_kernel_param *params = NULL;
        pfc_kernel_plan plan = { 0 };
        const size_t len = pfc_kernel_params(op, &params);

        cr_assert(eq(str, (char *)pfc_kernel_name(op), (char *)f->name));
        cr_assert(eq(str, (char *)pfc_kernel_dtype(op), "f32"));
        cr_assert(eq(str, (char *)pfc_kernel_headline(op), (char *)f->headline));
        cr_assert(eq(int, (int)pfc_kernel_rate_of(op), (int)f->rate));
        for (size_t p = 0; p < len; p++) {
            cr_assert(eq(str, (char *)params[p].name, (char *)f->params[p].name));
            cr_assert(eq(i64, params[p].min, f->params[p].min), "%s", params[p].name);
            cr_assert(eq(i64, params[p].max, f->params[p].max), "%s", params[p].name);
            cr_assert(eq(i64, params[p].fallback, f->params[p].fallback), "%s", params[p].name);
            cr_assert(eq(int, params[p].quiet, f->params[p].quiet), "%s", params[p].name);
        }
        cr_assert(f->params[len].name == NULL);
        op->plan(f->values, &plan);
        cr_assert(eq(dbl, plan.flops, f->flops), "%s", f->name);
        cr_assert(eq(dbl, plan.bytes, f->bytes), "%s", f->name);
        for (size_t b = 0; b < plan.buffers_len; b++) {
            if (plan.buffers[b].role == PFC_KERNEL_WORK)
                continue;
            cr_assert(eq(int, (int)plan.buffers[b].role, (int)f->buffers[b].role));
            cr_assert(eq(sz, plan.buffers[b].len, f->buffers[b].len), "%s buffer %zu", f->name, b);
            cr_assert(eq(flt, plan.buffers[b].low, f->buffers[b].low), "%s buffer %zu", f->name, b);
            cr_assert(eq(flt, plan.buffers[b].high, f->buffers[b].high), "%s buffer %zu", f->name,
                      b);
        }
    }
}

/* A query sees 1, 2 and 3 keys: 6 of the 9 pairs. */
Test(verify, causal_attention_counts_the_pairs_that_are_seen)
{
    const int64_t values[] = { 2, 3, 5, 1 };
    pfc_kernel_plan plan = { 0 };

    find("attention")->plan(values, &plan);
    cr_assert(eq(dbl, plan.flops, 4 * 2 * 6 * 5));
}

Test(verify, variants_are_the_widest_first)
{
    static const char *const names[] = {
#if defined(__x86_64__)
        "cpu-avx512",
        "cpu-avx2",
#endif
        "cpu-scalar"
    };

    for (size_t i = 0; i < pfc_kernel_count(); i++) {
        cr_assert(eq(sz, pfc_kernel_variants(pfc_kernel_at(i)), PFC_ARRAY_LEN(names)));
        for (size_t v = 0; v < PFC_ARRAY_LEN(names); v++)
            cr_assert(eq(str, (char *)pfc_kernel_variant_at(pfc_kernel_at(i), v).backend,
                         (char *)names[v]));
    }
}

/* ---- comparing ---- */

Test(verify, the_tolerance_of_a_sum_is_the_smaller_of_both_bounds)
{
    cr_assert(eq(dbl, pfc_kernel_sum_tolerance(0), 2 * U));
    cr_assert(eq(dbl, pfc_kernel_sum_tolerance(1), 3 * U));
    cr_assert(eq(dbl, pfc_kernel_sum_tolerance(63), 65 * U));
    cr_assert(eq(dbl, pfc_kernel_sum_tolerance(64), 66 * U)); /* 64 = 8 sqrt(64) */
    cr_assert(eq(dbl, pfc_kernel_sum_tolerance(100), 82 * U));
    cr_assert(eq(dbl, pfc_kernel_sum_tolerance(10000), 802 * U));
}

Test(verify, the_worst_comparison_is_kept)
{
    pfc_kernel_check c = { 0 };

    pfc_kernel_compare(&c, 1, 2, 5.0, 5.0, 0.0); /* equal: fine, whatever is allowed */
    cr_assert(eq(sz, c.checked, 1));
    cr_assert(eq(dbl, c.worst_ratio, 0.0));
    cr_assert(eq(sz, c.row, 1));
    pfc_kernel_compare(&c, 3, 4, 1.5, 1.0, 2.0);
    cr_assert(eq(dbl, c.worst_ratio, 0.25));
    cr_assert(eq(dbl, c.worst_error, 0.5));
    cr_assert(eq(dbl, c.tolerance, 2.0));
    cr_assert(eq(dbl, c.got, 1.5));
    cr_assert(eq(dbl, c.want, 1.0));
    cr_assert(eq(sz, c.row, 3));
    cr_assert(eq(sz, c.col, 4));
    pfc_kernel_compare(&c, 5, 6, 0.5, 1.0, 2.0); /* no worse: the first stays */
    cr_assert(eq(sz, c.row, 3));
    pfc_kernel_compare(&c, 7, 8, 0.0, 2.0, 2.0); /* downwards counts as upwards */
    cr_assert(eq(dbl, c.worst_ratio, 1.0));
    pfc_kernel_compare(&c, 9, 9, 1.0, 2.0, 0.0);
    cr_assert(eq(dbl, c.worst_ratio, INFINITY));
    cr_assert(eq(sz, c.checked, 5));
    c = (pfc_kernel_check){ 0 };
    pfc_kernel_compare(&c, 1, 1, NAN, 1.0, 1.0);
    cr_assert(eq(dbl, c.worst_ratio, INFINITY));
}

/* ---- errors that are found ---- */

typedef struct problem {
    const pfc_kernel_op *op;
    int64_t values[4];
    pfc_kernel_plan plan;
    float *buf[PFC_KERNEL_MAX_BUFFERS];
    float *out;
    size_t out_len;
} problem;

static size_t widest(const pfc_kernel_op *op)
{
    size_t v = 0;

    while (!pfc_kernel_variant_at(op, v).runnable)
        v++;
    return v;
}

/* Filled within its ranges and computed by the fastest variant. */
static void solve(problem *p, const char *name, const int64_t values[4])
{
    *p = (problem){ .op = find(name) };
    memcpy(p->values, values, sizeof p->values);
    p->op->plan(p->values, &p->plan);
    for (size_t b = 0; b < p->plan.buffers_len; b++) {
        const pfc_kernel_buffer *buffer = &p->plan.buffers[b];

        p->buf[b] = aligned_alloc(64, (buffer->len * sizeof(float) + 127) / 64 * 64);
        if (buffer->role == PFC_KERNEL_IN) {
            float *from = guarded_values(buffer->len, b + 1);

            for (size_t i = 0; i < buffer->len; i++)
                p->buf[b][i] = buffer->low + (from[i] + 1.0F) / 2.0F * (buffer->high - buffer->low);
            free(from);
        }
        if (buffer->role == PFC_KERNEL_OUT) {
            p->out = p->buf[b];
            p->out_len = buffer->len;
        }
    }
    p->op->impls[widest(p->op)].run(p->values, p->buf);
}

static void clear(problem *p)
{
    for (size_t b = 0; b < p->plan.buffers_len; b++)
        free(p->buf[b]);
}

static pfc_kernel_check judge(const problem *p)
{
    pfc_kernel_check check = { 0 };

    p->op->verify(p->values, p->buf, &check);
    return check;
}

/* An error of `passed` in one element, relative to 1 or its size, is taken for rounding, one of
   `found` is not. Sums of 64 terms of some tenths: 66 u of them are some 1e-4. */
Test(verify, errors_of_a_few_roundings_are_found_in_every_element)
{
    static const struct {
        const char *name;
        int64_t values[4];
        double passed, found;
    } rows[] = {
        { "gemm", { 5, 7, 64, 3 }, 2e-6, 2e-4 },      { "attention", { 2, 9, 16, 0 }, 1e-7, 1e-3 },
        { "attention", { 2, 9, 16, 1 }, 1e-7, 1e-3 }, { "layernorm", { 4, 64 }, 5e-8, 4e-5 },
        { "rmsnorm", { 4, 64 }, 5e-7, 5e-6 }, /* 33 u + 6 u = 2.3e-6 */
        { "softmax", { 4, 64 }, 5e-7, 7e-6 }, /* 66 u + 26 u at most = 5.5e-6 */
    };

    for (size_t r = 0; r < PFC_ARRAY_LEN(rows); r++) {
        const bool relative = r >= 4;
        problem p;
        size_t found = 0;

        solve(&p, rows[r].name, rows[r].values);
        cr_assert(le(dbl, judge(&p).worst_ratio, 1.0), "%s", rows[r].name);
        for (size_t i = 0; i < p.out_len; i++) {
            const float before = p.out[i];
            const double size = relative ? fabs((double)before) : 1.0;
            const double sign = i % 2 ? 1.0 : -1.0;

            p.out[i] = (float)((double)before + sign * rows[r].passed * size);
            cr_assert(le(dbl, judge(&p).worst_ratio, 1.0), "%s element %zu", rows[r].name, i);
            p.out[i] = (float)((double)before + sign * rows[r].found * size);
            found += judge(&p).worst_ratio > 1.0;
            p.out[i] = before;
        }
        /* gaps between the rows of a product may not be written */
        cr_assert(eq(sz, found, r == 0 ? 5 * 7 : p.out_len), "%s: %zu of %zu", rows[r].name, found,
                  p.out_len);
        clear(&p);
    }
}

/* The bound itself: sum |a||b| (64 + 2) u, both ways. */
Test(verify, a_products_tolerance_is_the_one_of_its_header)
{
    static const int64_t values[4] = { 3, 4, 64, 1 };
    problem p;

    solve(&p, "gemm", values);
    for (size_t i = 0; i < 3; i++) {
        for (size_t j = 0; j < 4; j++) {
            float *at = &p.out[i * 5 + j];
            const float before = *at;
            double sum = 0.0;
            double size = 0.0;

            for (size_t k = 0; k < 64; k++) {
                const double term = (double)p.buf[0][i * 65 + k] * (double)p.buf[1][k * 5 + j];

                sum += term;
                size += fabs(term);
            }
            for (int sign = -1; sign <= 1; sign += 2) {
                *at = (float)(sum + sign * size * 66 * U * 0.98);
                cr_assert(le(dbl, judge(&p).worst_ratio, 1.0), "%zu %zu", i, j);
                *at = (float)(sum + sign * size * 66 * U * 1.02);
                cr_assert(gt(dbl, judge(&p).worst_ratio, 1.0), "%zu %zu", i, j);
            }
            *at = before;
        }
    }
    cr_assert(eq(sz, judge(&p).checked, 12));
    clear(&p);
}

/* 2^27 products are checked one by one: of 40 rows of 2^22 these are 32. The sums of all rows are
   looked at as well, so an error in a row that is left out is found, too. */
Test(verify, large_products_are_checked_by_rows_and_by_sums)
{
    static const int64_t values[4] = { 40, 2048, 2048, 0 };
    problem p;
    pfc_kernel_check check;
    float before;

    solve(&p, "gemm", values);
    check = judge(&p);
    cr_assert(le(dbl, check.worst_ratio, 1.0));
    cr_assert(eq(sz, check.checked, 32 * 2048 + 40));
    before = p.out[2047];
    p.out[2047] += 1.0F; /* the first row is among the 32 */
    check = judge(&p);
    cr_assert(gt(dbl, check.worst_ratio, 1.0));
    p.out[2047] = before;
    for (size_t row = 0; row < 40; row++) {
        before = p.out[row * 2048 + 17];
        /* tolerances of a sum over 2048 columns are some 0.2 */
        if (row % 13 == 5) {
            p.out[row * 2048 + 17] += 2.0F;
            check = judge(&p);
            cr_assert(gt(dbl, check.worst_ratio, 1.0), "row %zu", row);
            cr_assert(eq(sz, check.row, row));
            p.out[row * 2048 + 17] = before;
        }
    }
    clear(&p);
}

/* Of 2048 queries 1024 are recomputed; the others must be means of values in [-1, 1). */
Test(verify, long_attention_is_checked_by_rows_and_by_range)
{
    static const int64_t values[4] = { 2, 1024, 64, 0 };
    problem p;
    pfc_kernel_check check;

    solve(&p, "attention", values);
    check = judge(&p);
    cr_assert(le(dbl, check.worst_ratio, 1.0));
    cr_assert(eq(sz, check.checked, 1024 * 64 + 2048 * 64));
    p.out[2048 * 64 - 1] = NAN;
    cr_assert(eq(dbl, judge(&p).worst_ratio, INFINITY));
    p.out[2048 * 64 - 1] = 1.01F;
    cr_assert(gt(dbl, judge(&p).worst_ratio, 1.0));
    clear(&p);
}
