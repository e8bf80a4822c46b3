/* From a problem to a checked program: the passes one after the other. */
#include <stdlib.h>
#include <string.h>

#include "kernels/accel/compiler/ir.h"

typedef struct lowering {
    pfc_code (*choose)(pfc_accel_ir *ir, const pfc_accel_problem *problem, pfc_accel_plan *out,
                       bool *empty, pfc_err *err);
    void (*tile)(pfc_accel_ir *ir, const pfc_accel_problem *problem, const pfc_accel_plan *plan);
} lowering;

static const lowering gemm = { pfc_accel_choose_gemm, pfc_accel_tile_gemm };
static const lowering attention = { pfc_accel_choose_attention, pfc_accel_tile_attention };
static const lowering norm = { pfc_accel_choose_norm, pfc_accel_tile_norm };

static const struct {
    const char *name;
    const char *params[PFC_ACCEL_MAX_PARAMS];
    const lowering *how;
} kernels[] = {
    [PFC_ACCEL_GEMM] = { "gemm", { "m", "n", "k" }, &gemm },
    [PFC_ACCEL_ATTENTION] = { "attention", { "h", "s", "d", "causal", "q", "kv" }, &attention },
    [PFC_ACCEL_LAYERNORM] = { "layernorm", { "rows", "cols" }, &norm },
    [PFC_ACCEL_RMSNORM] = { "rmsnorm", { "rows", "cols" }, &norm },
    [PFC_ACCEL_SOFTMAX] = { "softmax", { "rows", "cols" }, &norm },
    [PFC_ACCEL_GEMM_BIAS_ACT] = { "gemm_bias_act", { "m", "n", "k", "act" }, &gemm },
    [PFC_ACCEL_RESIDUAL_RMSNORM] = { "residual_rmsnorm", { "rows", "cols" }, &norm },
};

/* Largest values of parameters that are no plain dimension, and which may be left out. */
static const struct {
    const char *name;
    int64_t max;
    bool optional;
} limits[] = {
    { "causal", 1, true },
    { "act", PFC_ACCEL_ACT_SILU, true },
    { "q", PFC_ACCEL_MAX_DIM, true },
    { "kv", 1024, true },
    { "h", 1024, false },
    { "d", 1024, false },
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
                       "expected gemm, attention, layernorm, rmsnorm, softmax, gemm_bias_act or "
                       "residual_rmsnorm, got \"%.60s\"",
                       name);
}

const char *pfc_accel_param_name(pfc_accel_kernel kernel, size_t i)
{
    return i < PFC_ACCEL_MAX_PARAMS ? kernels[kernel].params[i] : NULL;
}

bool pfc_accel_param_optional(pfc_accel_kernel kernel, size_t i)
{
    const char *name = pfc_accel_param_name(kernel, i);

    for (size_t l = 0; l < PFC_ARRAY_LEN(limits) && name; l++)
        if (strcmp(limits[l].name, name) == 0)
            return limits[l].optional;
    return false;
}

pfc_code pfc_accel_pass_parse(const char *name, pfc_accel_pass *out, pfc_err *err)
{
    for (size_t i = 0; pfc_accel_pass_name(i); i++) {
        if (strcmp(pfc_accel_pass_name(i), name) == 0) {
            *out = (pfc_accel_pass)i;
            return PFC_OK;
        }
    }
    return pfc_err_set(err, PFC_ENOTFOUND,
                       "expected choose, tile, place, schedule, semaphores or check, got \"%.60s\"",
                       name);
}

uint64_t pfc_accel_problem_macs(const pfc_accel_problem *problem)
{
    const uint64_t p0 = (uint64_t)problem->p[0];
    const uint64_t p1 = (uint64_t)problem->p[1];
    const uint64_t p2 = (uint64_t)problem->p[2];

    if (problem->kernel == PFC_ACCEL_GEMM || problem->kernel == PFC_ACCEL_GEMM_BIAS_ACT)
        return p0 * p1 * p2;
    if (problem->kernel == PFC_ACCEL_ATTENTION) {
        const uint64_t q = problem->p[4] ? (uint64_t)problem->p[4] : p1;
        const uint64_t masked = problem->p[3] && q ? q * (q - 1) / 2 : 0;

        return 2 * p0 * p2 * (q * p1 - masked);
    }
    return 0;
}

static pfc_code check_attention(const pfc_accel_problem *problem, pfc_err *err)
{
    if (problem->p[1] && problem->p[4] > problem->p[1])
        return pfc_err_set_field(err, PFC_EINVAL, "q",
                                 "attention: q: expected at most s, which is %lld, got %lld",
                                 (long long)problem->p[1], (long long)problem->p[4]);
    if (problem->p[5] && problem->p[0] % problem->p[5] != 0)
        return pfc_err_set_field(err, PFC_EINVAL, "kv",
                                 "attention: kv: expected a divisor of h, which is %lld, got %lld",
                                 (long long)problem->p[0], (long long)problem->p[5]);
    return PFC_OK;
}

static pfc_code check_params(const pfc_accel_problem *problem, pfc_err *err)
{
    for (size_t i = 0; i < PFC_ACCEL_MAX_PARAMS; i++) {
        const char *name = pfc_accel_param_name(problem->kernel, i);
        int64_t max = PFC_ACCEL_MAX_DIM;

        if (!name)
            break;
        for (size_t l = 0; l < PFC_ARRAY_LEN(limits); l++)
            if (strcmp(limits[l].name, name) == 0)
                max = limits[l].max;
        if (problem->p[i] < 0 || problem->p[i] > max)
            return pfc_err_set_field(err, PFC_EINVAL, name, "%s: %s: expected 0..%lld, got %lld",
                                     kernels[problem->kernel].name, name, (long long)max,
                                     (long long)problem->p[i]);
    }
    if (problem->dtype == PFC_ACCEL_INT8 && problem->kernel != PFC_ACCEL_GEMM)
        return pfc_err_set(err, PFC_EUNAVAIL, "the vector unit has no int8 %s",
                           kernels[problem->kernel].name);
    return problem->kernel == PFC_ACCEL_ATTENTION ? check_attention(problem, err) : PFC_OK;
}

static void dump(const pfc_accel_ir *ir, const pfc_accel_compile_opts *opts, pfc_accel_pass pass)
{
    if (opts && opts->dump && opts->dump_after == pass)
        pfc_accel_ir_print(ir, pass, opts->dump);
}

static pfc_code run_passes(pfc_accel_ir *ir, const pfc_accel_problem *problem,
                           const pfc_accel_compile_opts *opts, pfc_err *err)
{
    const lowering *how = kernels[problem->kernel].how;
    pfc_accel_plan plan = { 0 };
    bool empty = false;
    pfc_code code;

    if (opts && opts->gemm_tiles)
        plan.gemm = *opts->gemm_tiles; /* taken as it is */
    code = how->choose(ir, problem, &plan, &empty, err);
    if (code)
        return code;
    dump(ir, opts, PFC_ACCEL_PASS_CHOOSE);
    if (!empty)
        how->tile(ir, problem, &plan);
    dump(ir, opts, PFC_ACCEL_PASS_TILE);
    pfc_accel_pass_place(ir);
    dump(ir, opts, PFC_ACCEL_PASS_PLACE);
    pfc_accel_pass_schedule(ir);
    dump(ir, opts, PFC_ACCEL_PASS_SCHEDULE);
    if (ir->overflow)
        return pfc_err_set(err, PFC_ETOOBIG,
                           "expected at most %u commands; this problem needs more",
                           PFC_ACCEL_MAX_COMMANDS);
    code = pfc_accel_pass_semaphores(ir, err);
    if (code)
        return code;
    dump(ir, opts, PFC_ACCEL_PASS_SEMAPHORES);
    code = pfc_accel_program_check(ir->p, ir->chip, err);
    if (!code)
        code = pfc_accel_program_races(ir->p, ir->chip, err);
    dump(ir, opts, PFC_ACCEL_PASS_CHECK);
    return code;
}

pfc_code pfc_accel_compile(const pfc_accel_problem *problem, const pfc_accel_chip *chip,
                           pfc_accel_mode mode, const pfc_accel_compile_opts *opts,
                           pfc_accel_program **out, pfc_err *err)
{
    pfc_accel_ir ir;
    pfc_code code = check_params(problem, err);

    if (code)
        return code;
    pfc_accel_ir_init(&ir, chip, problem->dtype, mode);
    ir.p->ideal_memory = pfc_accel_mode_ideal_memory(mode) || (opts && opts->ideal_memory);
    ir.p->macs = pfc_accel_problem_macs(problem);
    code = run_passes(&ir, problem, opts, err);
    pfc_accel_ir_free(&ir);
    if (code) {
        pfc_accel_program_free(ir.p);
        return code;
    }
    *out = ir.p;
    return PFC_OK;
}
