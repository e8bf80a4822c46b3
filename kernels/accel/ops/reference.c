/*
 * References in double precision, with error bounds for the chip's roundings.
 *
 * u = 2^-24 for f32 sums, v = 2^-8 for a value rounded once to bf16. A sum of n products in any
 * order is within min(n, 8 sqrt(n) + 2) u sum|terms| of the exact one but for a probability below
 * 1e-13. Source: Higham & Mary, SIAM J. Sci. Comput. 41(5), 2019, theorem 3.1.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/rng.h"
#include "kernels/accel/ops/case.h"

#define U         0x1p-24
#define V         0x1p-8
#define FULL_MACS (1ull << 26) /* up to here every row is compared */
#define EPS       1e-5

typedef struct judge {
    const pfc_accel_case *c;
    double worst; /* error over tolerance */
    uint64_t row;
    uint64_t col;
    double got;
    double want;
    bool rounded; /* sums were stored as bf16 before the bias was added: not fused */
} judge;

static double sum_bound(double n)
{
    return (PFC_MIN(n, 8.0 * sqrt(n)) + 2.0) * U;
}

static double value(const pfc_accel_case *c, size_t arg, uint64_t i)
{
    switch (c->problem.dtype) {
    case PFC_ACCEL_F32:
        return (double)((const float *)c->host[arg])[i];
    case PFC_ACCEL_BF16:
        return (double)pfc_accel_bf16_to_f32(((const uint16_t *)c->host[arg])[i]);
    case PFC_ACCEL_INT8:
        return (double)((const int8_t *)c->host[arg])[i];
    }
    return 0.0;
}

static void compare(judge *j, uint64_t row, uint64_t col, double got, double want, double tolerance)
{
    double error = fabs(got - want);

    if (j->c->problem.dtype == PFC_ACCEL_BF16)
        tolerance += V * fabs(want);
    error = tolerance > 0.0 ? error / tolerance : (error > 0.0 ? HUGE_VAL : 0.0);
    if (!(error <= j->worst)) { /* a NaN is the worst */
        j->worst = isnan(error) ? HUGE_VAL : error;
        j->row = row;
        j->col = col;
        j->got = got;
        j->want = want;
    }
}

static bool rounded_sums(const pfc_accel_case *c)
{
    const pfc_accel_program *p = c->program;

    for (size_t i = 0; i < p->len; i++)
        if (p->cmds[i].op == PFC_ACCEL_OP_BIAS_ROWS)
            return c->problem.dtype == PFC_ACCEL_BF16;
    return false;
}

/* A sum that is off by `error` before the bias and the activation, whose slope is at most 1.2. */
static void fused_element(judge *j, uint64_t row, uint64_t col, double sum, double error)
{
    const pfc_accel_case *c = j->c;
    const uint64_t n = (uint64_t)c->problem.p[1];
    const double x = sum + value(c, 2, col);
    const double again = j->rounded ? V * fabs(sum) : 0; /* of the sum, before the bias */
    const double u = 0.7978845608 * (x + 0.044715 * x * x * x);
    double want = x;

    if (c->problem.p[3] == PFC_ACCEL_ACT_RELU)
        want = PFC_MAX(x, 0.0);
    else if (c->problem.p[3] == PFC_ACCEL_ACT_GELU)
        want = x / (1.0 + exp(-2.0 * u));
    else if (c->problem.p[3] == PFC_ACCEL_ACT_SILU)
        want = x / (1.0 + exp(-x));
    compare(j, row, col, value(c, 3, row * n + col), want,
            1.2 * (error + again) + (fabs(x) + 1.0) * 32 * U + 1e-38);
}

static void gemm_row(judge *j, uint64_t i)
{
    const pfc_accel_case *c = j->c;
    const uint64_t n = (uint64_t)c->problem.p[1];
    const uint64_t k = (uint64_t)c->problem.p[2];
    double *sum = pfc_calloc(n + 1, sizeof(*sum));
    double *size = pfc_calloc(n + 1, sizeof(*size));

    for (uint64_t p = 0; p < k; p++) {
        const double a = value(c, 0, i * k + p);

        for (uint64_t q = 0; q < n; q++) {
            const double term = a * value(c, 1, p * n + q);

            sum[q] += term;
            size[q] += fabs(term);
        }
    }
    for (uint64_t q = 0; q < n; q++) {
        const uint64_t at = i * n + q;

        if (c->problem.dtype == PFC_ACCEL_INT8)
            compare(j, i, q, (double)((const int32_t *)c->host[2])[at], sum[q], 0.0);
        else if (c->problem.kernel == PFC_ACCEL_GEMM_BIAS_ACT)
            fused_element(j, i, q, sum[q], sum_bound((double)k) * size[q]);
        else
            compare(j, i, q, value(c, 2, at), sum[q], sum_bound((double)k) * size[q] + 1e-38);
    }
    free(sum);
    free(size);
}

static uint64_t queries_of(const pfc_accel_problem *p)
{
    return (uint64_t)(p->p[4] ? p->p[4] : p->p[1]);
}

/* Scores are off by their own sums; exp turns that absolute error into a relative one. */
static void attention_row(judge *j, uint64_t row)
{
    const pfc_accel_case *c = j->c;
    const uint64_t s = (uint64_t)c->problem.p[1];
    const uint64_t d = (uint64_t)c->problem.p[2];
    const uint64_t queries = queries_of(&c->problem);
    const uint64_t share = c->problem.p[5] ? (uint64_t)(c->problem.p[0] / c->problem.p[5]) : 1;
    const uint64_t base = row / queries / share * s; /* of the head's keys */
    const uint64_t valid = c->problem.p[3] ? s - queries + row % queries + 1 : s;
    const double scale = 1.0 / sqrt((double)d);
    double *w = pfc_calloc(valid, sizeof(*w));
    double top = -HUGE_VAL;
    double score_error = 0.0;
    double total = 0.0;

    for (uint64_t t = 0; t < valid; t++) {
        double size = 0.0;

        for (uint64_t x = 0; x < d; x++) {
            const double term = value(c, 0, row * d + x) * value(c, 1, (base + t) * d + x);

            w[t] += term * scale;
            size += fabs(term) * scale;
        }
        top = PFC_MAX(top, w[t]);
        score_error = PFC_MAX(score_error, size * (sum_bound((double)d) + 4 * U));
    }
    for (uint64_t t = 0; t < valid; t++) {
        w[t] = exp(w[t] - top);
        total += w[t];
    }
    for (uint64_t x = 0; x < d; x++) {
        double sum = 0.0;
        double size = 0.0;
        double bound = 4 * score_error + 2 * sum_bound((double)valid) + 32 * U;

        for (uint64_t t = 0; t < valid; t++) {
            const double term = w[t] / total * value(c, 2, (base + t) * d + x);

            sum += term;
            size += fabs(term);
        }
        if (c->problem.dtype == PFC_ACCEL_BF16)
            bound += 2 * V; /* weights are rounded, above and below the line */
        compare(j, row, x, value(c, 3, row * d + x), sum, bound * size);
    }
    free(w);
}

static void softmax_row(judge *j, uint64_t row)
{
    const pfc_accel_case *c = j->c;
    const uint64_t n = (uint64_t)c->problem.p[1];
    double top = -HUGE_VAL;
    double sum = 0.0;

    for (uint64_t i = 0; i < n; i++)
        top = PFC_MAX(top, value(c, 0, row * n + i));
    for (uint64_t i = 0; i < n; i++)
        sum += exp(value(c, 0, row * n + i) - top);
    for (uint64_t i = 0; i < n; i++) {
        const double want = exp(value(c, 0, row * n + i) - top) / sum;

        compare(j, row, i, value(c, 1, row * n + i), want,
                want * (sum_bound((double)n) + 32 * U) + 1e-38);
    }
}

static void norm_row(judge *j, uint64_t row)
{
    const pfc_accel_case *c = j->c;
    const uint64_t n = (uint64_t)c->problem.p[1];
    const bool layer = c->problem.kernel == PFC_ACCEL_LAYERNORM;
    double mean = 0.0;
    double size = 0.0;
    double square = 0.0;
    double inv;

    for (uint64_t i = 0; i < n; i++) {
        mean += value(c, 0, row * n + i) / (double)n;
        size += fabs(value(c, 0, row * n + i)) / (double)n;
    }
    if (!layer)
        mean = size = 0.0;
    for (uint64_t i = 0; i < n; i++) {
        const double x = value(c, 0, row * n + i) - mean;

        square += x * x / (double)n;
    }
    inv = 1.0 / sqrt(square + EPS);
    for (uint64_t i = 0; i < n; i++) {
        const double x = value(c, 0, row * n + i);
        const double gamma = value(c, 1, i);
        const double beta = layer ? value(c, 1, n + i) : 0.0;
        const double scaled = (x - mean) * inv * gamma;
        /* the mean's error moves x, and, through the variance, its scale */
        const double shift = sum_bound((double)n) * size + 2 * U * (fabs(x) + fabs(mean));
        const double rel = sum_bound((double)n) + 16 * U + 2 * shift * inv * shift * inv;

        compare(j, row, i, value(c, 2, row * n + i), scaled + beta,
                fabs(scaled) * rel + shift * inv * fabs(gamma) + 4 * U * fabs(beta) + 1e-38);
    }
}

/* The sums are rounded once; the norm is of what was stored. */
static void residual_row(judge *j, uint64_t row)
{
    const pfc_accel_case *c = j->c;
    const uint64_t n = (uint64_t)c->problem.p[1];
    const uint64_t half = (uint64_t)c->problem.p[0] * n;
    double square = 0.0;
    double inv;

    for (uint64_t i = 0; i < n; i++) {
        const double x = value(c, 0, row * n + i);
        const double residual = value(c, 1, row * n + i);
        const double sum = value(c, 3, row * n + i);

        compare(j, row, i, sum, x + residual, 2 * U * (fabs(x) + fabs(residual)) + 1e-38);
        square += sum * sum / (double)n;
    }
    inv = 1.0 / sqrt(square + EPS);
    for (uint64_t i = 0; i < n; i++) {
        const double want = value(c, 3, row * n + i) * inv * value(c, 2, i);

        compare(j, row, i, value(c, 3, half + row * n + i), want,
                fabs(want) * (sum_bound((double)n) + 16 * U) + 1e-38);
    }
}

static uint64_t rows_of(const pfc_accel_problem *p)
{
    const uint64_t p0 = (uint64_t)p->p[0];

    if (p->kernel == PFC_ACCEL_ATTENTION)
        return p->p[2] && p->p[1] ? p0 * queries_of(p) : 0;
    return p->p[1] ? p0 : 0;
}

pfc_code pfc_accel_case_check(const pfc_accel_case *c, pfc_err *err)
{
    static void (*const judges[])(judge *, uint64_t) = {
        [PFC_ACCEL_GEMM] = gemm_row,
        [PFC_ACCEL_ATTENTION] = attention_row,
        [PFC_ACCEL_LAYERNORM] = norm_row,
        [PFC_ACCEL_RMSNORM] = norm_row,
        [PFC_ACCEL_SOFTMAX] = softmax_row,
        [PFC_ACCEL_GEMM_BIAS_ACT] = gemm_row,
        [PFC_ACCEL_RESIDUAL_RMSNORM] = residual_row,
    };
    judge j = { .c = c, .rounded = rounded_sums(c) };
    const uint64_t rows = rows_of(&c->problem);
    uint64_t want = rows;
    pfc_rng rng;

    if (!c->has_problem)
        return pfc_err_set(err, PFC_EUNAVAIL, "the program names no reference to check against");
    if (!c->functional)
        return pfc_err_set(err, PFC_ECONFLICT, "timing only: there is no result to check");
    pfc_rng_seed(&rng, c->seed + 1);
    if (rows && c->program->macs > FULL_MACS)
        want = PFC_MAX(FULL_MACS / (c->program->macs / rows), 4);
    for (uint64_t i = 0; i < want; i++)
        judges[c->problem.kernel](&j, want == rows ? i : pfc_rng_below(&rng, rows));
    if (j.worst <= 1.0)
        return PFC_OK;
    return pfc_err_set(
        err, PFC_EBROKEN,
        "%s: wrong at row %llu, column %llu: got %.9g, expected %.9g (%.3g times the "
        "tolerance)",
        pfc_accel_kernel_name(c->problem.kernel), (unsigned long long)j.row,
        (unsigned long long)j.col, j.got, j.want, j.worst);
}
