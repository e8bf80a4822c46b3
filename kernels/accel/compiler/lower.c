/* From a problem to a checked program. */
#include <stdlib.h>
#include <string.h>

#include "kernels/accel/compiler/emit.h"

static const struct {
    const char *name;
    const char *params[PFC_ACCEL_MAX_PARAMS];
    pfc_code (*lower)(pfc_accel_emit *e, const pfc_accel_problem *problem, pfc_err *err);
} kernels[] = {
    [PFC_ACCEL_GEMM] = { "gemm", { "m", "n", "k" }, pfc_accel_lower_gemm },
    [PFC_ACCEL_ATTENTION] = { "attention", { "h", "s", "d", "causal" }, pfc_accel_lower_attention },
    [PFC_ACCEL_LAYERNORM] = { "layernorm", { "rows", "cols" }, pfc_accel_lower_norm },
    [PFC_ACCEL_RMSNORM] = { "rmsnorm", { "rows", "cols" }, pfc_accel_lower_norm },
    [PFC_ACCEL_SOFTMAX] = { "softmax", { "rows", "cols" }, pfc_accel_lower_norm },
};

const char *pfc_accel_kernel_name(size_t kernel)
{
    return kernel < PFC_ARRAY_LEN(kernels) ? kernels[kernel].name : NULL;
}

pfc_code pfc_accel_kernel_parse(const char *name, pfc_accel_kernel *out, pfc_err *err)
{
    for (size_t i = 0; i < PFC_ARRAY_LEN(kernels); i++) {
        if (strcmp(kernels[i].name, name) == 0) {
            *out = (pfc_accel_kernel)i;
            return PFC_OK;
        }
    }
    return pfc_err_set(err, PFC_ENOTFOUND,
                       "expected gemm, attention, layernorm, rmsnorm or softmax, got \"%.60s\"",
                       name);
}

const char *pfc_accel_param_name(pfc_accel_kernel kernel, size_t i)
{
    return i < PFC_ACCEL_MAX_PARAMS ? kernels[kernel].params[i] : NULL;
}

uint64_t pfc_accel_problem_macs(const pfc_accel_problem *problem)
{
    const uint64_t p0 = (uint64_t)problem->p[0];
    const uint64_t p1 = (uint64_t)problem->p[1];
    const uint64_t p2 = (uint64_t)problem->p[2];

    if (problem->kernel == PFC_ACCEL_GEMM)
        return p0 * p1 * p2;
    if (problem->kernel == PFC_ACCEL_ATTENTION)
        return 2 * p0 * p2 * (problem->p[3] ? p1 * (p1 + 1) / 2 : p1 * p1);
    return 0;
}

static pfc_code check_params(const pfc_accel_problem *problem, pfc_err *err)
{
    for (size_t i = 0; i < PFC_ACCEL_MAX_PARAMS; i++) {
        const char *name = pfc_accel_param_name(problem->kernel, i);
        int64_t max = PFC_ACCEL_MAX_DIM;

        if (!name)
            break;
        if (strcmp(name, "causal") == 0)
            max = 1;
        else if (strcmp(name, "h") == 0 || strcmp(name, "d") == 0)
            max = 1024;
        if (problem->p[i] < 0 || problem->p[i] > max)
            return pfc_err_set_field(err, PFC_EINVAL, name, "%s: %s: expected 0..%lld, got %lld",
                                     kernels[problem->kernel].name, name, (long long)max,
                                     (long long)problem->p[i]);
    }
    if (problem->dtype == PFC_ACCEL_INT8 && problem->kernel != PFC_ACCEL_GEMM)
        return pfc_err_set(err, PFC_EUNAVAIL, "the vector unit has no int8 %s",
                           kernels[problem->kernel].name);
    return PFC_OK;
}

pfc_code pfc_accel_compile(const pfc_accel_problem *problem, const pfc_accel_chip *chip,
                           pfc_accel_mode mode, const pfc_accel_compile_opts *opts,
                           pfc_accel_program **out, pfc_err *err)
{
    pfc_accel_emit e = { .chip = chip, .es = pfc_accel_dtype_bytes(problem->dtype) };
    pfc_accel_program *p;
    pfc_code code = check_params(problem, err);

    if (code)
        return code;
    p = pfc_alloc(sizeof(*p));
    p->dtype = problem->dtype;
    p->mode = mode;
    p->ideal_memory = pfc_accel_mode_ideal_memory(mode) || (opts && opts->ideal_memory);
    p->macs = pfc_accel_problem_macs(problem);
    e.p = p;
    e.out_es = problem->dtype == PFC_ACCEL_BF16 ? 2 : 4;
    code = kernels[problem->kernel].lower(&e, problem, err);
    if (!code && e.overflow)
        code =
            pfc_err_set(err, PFC_ETOOBIG, "expected at most %u commands; this problem needs more",
                        PFC_ACCEL_MAX_COMMANDS);
    if (!code)
        code = pfc_accel_program_check(p, chip, err);
    if (code) {
        pfc_accel_program_free(p);
        return code;
    }
    *out = p;
    return PFC_OK;
}
