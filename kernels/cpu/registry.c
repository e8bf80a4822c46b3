/* The table of operations, and the questions that need no problem to be answered. */
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
