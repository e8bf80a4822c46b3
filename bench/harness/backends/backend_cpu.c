/* The CPU kernels as backends: one for each instruction set that any operation has. */
#include <stdlib.h>
#include <string.h>

#include "bench/harness/backends/backend.h"
#include "kernels/cpu/kernel.h"

typedef struct instance {
    pfc_kernel_case *problem;
    size_t variant;
} instance;

/* A benchmark as the kernels see it. */
typedef struct found {
    const pfc_kernel_op *op;
    size_t variant;
    pfc_kernel_arg args[PFC_OP_MAX_PARAMS];
    size_t args_len;
} found;

static const pfc_kernel_param *kernel_param(const pfc_kernel_op *op, const char *name)
{
    const pfc_kernel_param *params = NULL;
    const size_t len = pfc_kernel_params(op, &params);

    for (size_t i = 0; i < len; i++) {
        if (strcmp(params[i].name, name) == 0)
            return &params[i];
    }
    return NULL;
}

/* Parameters that the kernel does not know are accepted only with their default value. */
static pfc_code take_params(const pfc_backend *self, const pfc_case *c, found *f, pfc_err *err)
{
    for (size_t i = 0; i < c->op->params_len; i++) {
        const pfc_op_param *p = &c->op->params[i];
        const pfc_kernel_param *known = kernel_param(f->op, p->name);

        if (!known && c->params[i] == p->fallback)
            continue;
        if (!known || c->params[i] < known->min || c->params[i] > known->max)
            return pfc_err_set(err, PFC_EUNAVAIL, "%s has no %s with %s %lld", self->name,
                               c->op->name, p->name, (long long)c->params[i]);
        f->args[f->args_len++] = (pfc_kernel_arg){ .name = p->name, .value = c->params[i] };
    }
    return PFC_OK;
}

/* The suite is valid, but this family has no such kernel: the benchmark is skipped, not refused. */
static pfc_code find_kernel(const pfc_backend *self, const pfc_case *c, found *f, pfc_err *err)
{
    *f = (found){ .op = NULL };
    if (c->program || c->schedule)
        return pfc_err_set(err, PFC_EUNAVAIL, "%s runs no %s of the simulated accelerator",
                           self->name, c->program ? "program" : "schedule");
    if (pfc_kernel_find(c->op->name, c->dtype, &f->op, NULL) ||
        pfc_kernel_variant_find(f->op, self->name, &f->variant, NULL) == PFC_ENOTFOUND)
        return pfc_err_set(err, PFC_EUNAVAIL, "%s has no %s %s", self->name, c->dtype, c->op->name);
    return take_params(self, c, f, err);
}

static pfc_code cpu_can(const pfc_backend *self, const pfc_case *c, pfc_err *err)
{
    found f;

    return find_kernel(self, c, &f, err);
}

static pfc_code cpu_open(const pfc_backend *self, const pfc_case *c, uint64_t seed, void **inst,
                         pfc_err *err)
{
    pfc_kernel_case *problem = NULL;
    instance *made;
    found f;
    pfc_code code = find_kernel(self, c, &f, err);

    if (!code)
        code = pfc_kernel_variant_find(f.op, self->name, &f.variant, err);
    if (!code)
        code = pfc_kernel_case_new(&problem, f.op, f.args, f.args_len, seed, err);
    if (code == PFC_ETOOBIG) { /* over the kernels' limit: it cannot be measured there */
        if (err)
            err->code = PFC_EUNAVAIL;
        return PFC_EUNAVAIL;
    }
    if (code)
        return code;
    made = pfc_alloc(sizeof(*made));
    made->problem = problem;
    made->variant = f.variant;
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
    .can = cpu_can, .open = cpu_open, .check = cpu_check, .run = cpu_run, .close = cpu_close
};

void pfc_backends_cpu(pfc_backends *backends)
{
    for (size_t i = 0; i < pfc_kernel_count(); i++) {
        const pfc_kernel_op *op = pfc_kernel_at(i);
        /* The order is from the narrowest instruction set to the widest, as tables show it. */
        for (size_t v = pfc_kernel_variants(op); v-- > 0;) {
            const pfc_kernel_variant variant = pfc_kernel_variant_at(op, v);
            if (!pfc_backends_find(backends, variant.backend))
                pfc_backends_add(backends, variant.backend, variant.runnable ? "" : variant.reason,
                                 false, &cpu_ops, NULL);
        }
    }
}
