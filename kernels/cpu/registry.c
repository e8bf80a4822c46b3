/* The table of operations, and the questions that need no problem to be answered. */
#include <math.h>
#include <stdio.h>

#include "core/base/buf.h"
#include "kernels/cpu/op.h"

#define NAMES_MAX_BYTES 256 /* a list of names inside an error sentence */

static const pfc_kernel_op *const ops[] = {
    &pfc_kernel_op_gemm_f32,    &pfc_kernel_op_attention_f32, &pfc_kernel_op_layernorm_f32,
    &pfc_kernel_op_rmsnorm_f32, &pfc_kernel_op_softmax_f32,
};

size_t pfc_kernel_count(void)
{
    return PFC_ARRAY_LEN(ops);
}

const pfc_kernel_op *pfc_kernel_at(size_t i)
{
    return i < PFC_ARRAY_LEN(ops) ? ops[i] : NULL;
}

pfc_code pfc_kernel_find(const char *name, const char *dtype, const pfc_kernel_op **out,
                         pfc_err *err)
{
    pfc_buf names;

    for (size_t i = 0; i < PFC_ARRAY_LEN(ops); i++) {
        if (pfc_streq(ops[i]->name, name) && pfc_streq(ops[i]->dtype, dtype)) {
            *out = ops[i];
            return PFC_OK;
        }
    }

    pfc_buf_init(&names, NAMES_MAX_BYTES);
    for (size_t i = 0; i < PFC_ARRAY_LEN(ops); i++)
        pfc_buf_printf(&names, "%s%s/%s", i ? ", " : "", ops[i]->name, ops[i]->dtype);
    pfc_err_set(err, PFC_ENOTFOUND, "kernel: no operation %.40s/%.20s, there is %s",
                name ? name : "(none)", dtype ? dtype : "(none)", pfc_buf_text(&names));
    pfc_buf_clear(&names);
    return PFC_ENOTFOUND;
}

const char *pfc_kernel_name(const pfc_kernel_op *op)
{
    return op->name;
}

const char *pfc_kernel_dtype(const pfc_kernel_op *op)
{
    return op->dtype;
}

const char *pfc_kernel_headline(const pfc_kernel_op *op)
{
    return op->headline;
}

pfc_kernel_rate pfc_kernel_rate_of(const pfc_kernel_op *op)
{
    return op->rate;
}

size_t pfc_kernel_params(const pfc_kernel_op *op, const pfc_kernel_param **out)
{
    *out = op->params;
    return op->params_len;
}

size_t pfc_kernel_variants(const pfc_kernel_op *op)
{
    return op->impls_len;
}

pfc_kernel_variant pfc_kernel_variant_at(const pfc_kernel_op *op, size_t i)
{
    pfc_kernel_variant variant = { .backend = op->impls[i].backend };

    variant.runnable = pfc_cpu_can(op->impls[i].needs, &variant.reason);
    return variant;
}

pfc_code pfc_kernel_variant_find(const pfc_kernel_op *op, const char *backend, size_t *out,
                                 pfc_err *err)
{
    pfc_buf names;

    for (size_t i = 0; i < op->impls_len; i++) {
        pfc_kernel_variant variant = pfc_kernel_variant_at(op, i);

        if (!pfc_streq(variant.backend, backend))
            continue;
        if (!variant.runnable)
            return pfc_err_set(err, PFC_EUNAVAIL, "kernel %s/%s: %s cannot run here: %s", op->name,
                               op->dtype, backend, variant.reason);
        *out = i;
        return PFC_OK;
    }

    pfc_buf_init(&names, NAMES_MAX_BYTES);
    for (size_t i = 0; i < op->impls_len; i++)
        pfc_buf_printf(&names, "%s%s", i ? ", " : "", op->impls[i].backend);
    pfc_err_set(err, PFC_ENOTFOUND, "kernel %s/%s: no backend %.40s, there is %s", op->name,
                op->dtype, backend ? backend : "(none)", pfc_buf_text(&names));
    pfc_buf_clear(&names);
    return PFC_ENOTFOUND;
}

void pfc_kernel_plan_add(pfc_kernel_plan *plan, pfc_kernel_role role, size_t rows, size_t cols,
                         float low, float high)
{
    pfc_kernel_buffer *buffer = NULL;

    if (plan->buffers_len == PFC_KERNEL_MAX_BUFFERS)
        pfc_die("kernel: an operation requires more than %d buffers", PFC_KERNEL_MAX_BUFFERS);
    buffer = &plan->buffers[plan->buffers_len++];
    *buffer = (pfc_kernel_buffer){ .role = role, .low = low, .high = high };
    if (__builtin_mul_overflow(rows, cols, &buffer->len))
        plan->overflow = true;
}

void pfc_kernel_compare(pfc_kernel_check *check, size_t row, size_t col, double got, double want,
                        double tolerance)
{
    double error = fabs(got - want);
    double ratio = 0.0;

    check->checked++;
    if (isnan(error))
        ratio = INFINITY;
    else if (error > 0.0)
        ratio = error / tolerance; /* infinite when none is allowed */
    if (check->checked > 1 && !(ratio > check->worst_ratio))
        return;
    check->worst_ratio = ratio;
    check->worst_error = error;
    check->tolerance = tolerance;
    check->got = got;
    check->want = want;
    check->row = row;
    check->col = col;
}

double pfc_kernel_sum_tolerance(size_t terms)
{
    double n = (double)terms;

    return (fmin(n, 8.0 * sqrt(n)) + 2.0) * 0x1p-24;
}
