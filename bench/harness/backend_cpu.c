/* The CPU kernels as backends: one for each instruction set that any operation has. */
#include <stdlib.h>
#include <string.h>

#include "bench/harness/backend.h"
#include "kernels/cpu/kernel.h"

typedef struct instance {
    pfc_kernel_case *problem;
    size_t variant;
} instance;

static pfc_code cpu_open(const pfc_backend *self, const pfc_case *c, uint64_t seed, void **inst,
                         pfc_err *err)
{
    pfc_kernel_arg args[PFC_OP_MAX_PARAMS];
    const pfc_kernel_op *op = NULL;
    pfc_kernel_case *problem = NULL;
    instance *made;
    size_t variant = 0;
    pfc_code code = pfc_kernel_find(c->op->name, c->dtype, &op, err);

    /* The suite is right, this family just has no such kernel: skipped, not refused. */
    if (code == PFC_ENOTFOUND) {
        (void)pfc_err_wrap(err, "%s", self->name);
        if (err)
            err->code = PFC_EUNAVAIL;
        return PFC_EUNAVAIL;
    }
    if (!code)
        code = pfc_kernel_variant_find(op, self->name, &variant, err);
    if (code == PFC_ENOTFOUND)
        return pfc_err_set(err, PFC_EUNAVAIL, "%s has no %s %s", self->name, c->dtype, c->op->name);
    if (code)
        return code;
    for (size_t i = 0; i < c->op->params_len; i++)
        args[i] = (pfc_kernel_arg){ .name = c->op->params[i].name, .value = c->params[i] };
    code = pfc_kernel_case_new(&problem, op, args, c->op->params_len, seed, err);
    if (code)
        return code;
    made = pfc_alloc(sizeof(*made));
    made->problem = problem;
    made->variant = variant;
    *inst = made;
    return PFC_OK;
}

static pfc_code cpu_check(void *inst, pfc_err *err)
{
    instance *in = inst;

    return pfc_kernel_verify(in->problem, in->variant, NULL, err);
}

static void cpu_run(void *inst, uint64_t calls)
{
    const instance *in = inst;

    for (uint64_t i = 0; i < calls; i++)
        pfc_kernel_run(in->problem, in->variant);
}

static void cpu_close(void *inst)
{
    instance *in = inst;

    pfc_kernel_case_free(in->problem);
    free(in);
}

static const pfc_backend_ops cpu_ops = {
    .open = cpu_open, .check = cpu_check, .run = cpu_run, .close = cpu_close
};

void pfc_backends_cpu(pfc_backends *backends)
{
    for (size_t i = 0; i < pfc_kernel_count(); i++) {
        const pfc_kernel_op *op = pfc_kernel_at(i);
        /* Scalar first: narrowest to widest reads best in tables. */
        for (size_t v = pfc_kernel_variants(op); v-- > 0;) {
            const pfc_kernel_variant variant = pfc_kernel_variant_at(op, v);
            if (!pfc_backends_find(backends, variant.backend))
                pfc_backends_add(backends, variant.backend, variant.runnable ? "" : variant.reason,
                                 false, &cpu_ops, NULL);
        }
    }
}
