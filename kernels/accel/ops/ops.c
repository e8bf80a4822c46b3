/* Cases: input, launch, digest. */
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/rng.h"
#include "kernels/accel/analytic/ceiling.h"
#include "kernels/accel/ops/case.h"

static size_t output_of(const pfc_accel_program *p)
{
    return p->args_len - 1;
}

static void fill(void *data, uint64_t bytes, pfc_accel_dtype dtype, pfc_rng *rng)
{
    const uint64_t n = bytes / pfc_accel_dtype_bytes(dtype);

    for (uint64_t i = 0; i < n; i++) {
        /* 24 bits: exact in a float, so every compiler fills the same */
        const float v = (float)((int64_t)(pfc_rng_u64(rng) >> 40) - (1 << 23)) / 8388608.0f;

        if (dtype == PFC_ACCEL_F32)
            ((float *)data)[i] = v;
        else if (dtype == PFC_ACCEL_BF16)
            ((uint16_t *)data)[i] = pfc_accel_f32_to_bf16(v);
        else
            ((int8_t *)data)[i] = (int8_t)(v * 128.0f);
    }
}

static bool too_big(const pfc_accel_program *p)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < p->args_len; i++)
        bytes += p->arg_bytes[i];
    return p->macs > PFC_ACCEL_MAX_AUTO_MACS || bytes > 4 * PFC_ACCEL_MAX_AUTO_ELEMS;
}

static pfc_code prepare(pfc_accel_case *c, uint64_t seed, pfc_err *err)
{
    pfc_rng rng;
    pfc_code code = PFC_OK;

    pfc_rng_seed(&rng, seed);
    for (size_t i = 0; i < c->program->args_len && !code; i++) {
        const uint64_t bytes = c->program->arg_bytes[i];

        if (bytes == 0)
            continue;
        code = pfc_accel_malloc(c->dev, bytes, &c->args[i], err);
        if (code || !c->functional)
            continue;
        c->host[i] = pfc_alloc(bytes);
        if (i == output_of(c->program))
            continue;
        fill(c->host[i], bytes, c->problem.dtype, &rng);
        code = pfc_accel_copy_in(c->dev, 0, c->args[i], c->host[i], bytes, err);
    }
    return code;
}

/* a + b * c, or the most there is. */
static uint64_t saturated(uint64_t a, uint64_t b, uint64_t c)
{
    if (__builtin_mul_overflow(b, c, &b) || __builtin_add_overflow(a, b, &a))
        return UINT64_MAX;
    return a;
}

/* A program from outside may do any work beside the useful. */
static bool works_too_long(const pfc_accel_program *p)
{
    uint64_t work = 0;

    for (size_t i = 0; i < p->len && work <= PFC_ACCEL_MAX_AUTO_MACS; i++) {
        const pfc_accel_cmd *cmd = &p->cmds[i];

        if (cmd->unit != PFC_ACCEL_UNIT_DMA)
            work = saturated(work, (uint64_t)cmd->m * PFC_MAX(cmd->n, 1u) * PFC_MAX(cmd->k, 1u),
                             PFC_MAX(cmd->batch, 1u));
    }
    return work > PFC_ACCEL_MAX_AUTO_MACS ||
           p->sram_used + p->acc_used > PFC_ACCEL_MAX_AUTO_CHIP_BYTES;
}

/* The sizes that the compiler gives the reference's arguments, whatever the tiles. */
static pfc_code same_arguments(const pfc_accel_program *program, const pfc_accel_problem *reference,
                               const pfc_accel_chip *chip, pfc_err *err)
{
    const pfc_accel_compile_opts opts = { .ideal_memory = true };
    pfc_accel_program *p = NULL;
    pfc_code code = pfc_accel_compile(reference, chip, PFC_ACCEL_PIPELINED_WS, &opts, &p, err);

    if (code)
        return pfc_err_wrap(err, "reference");
    if (p->args_len != program->args_len)
        code =
            pfc_err_set(err, PFC_EINVAL, "reference %s: expected %zu arguments, got %zu",
                        pfc_accel_kernel_name(reference->kernel), p->args_len, program->args_len);
    for (size_t i = 0; i < p->args_len && !code; i++)
        if (p->arg_bytes[i] != program->arg_bytes[i])
            code = pfc_err_set(
                err, PFC_EINVAL, "reference %s: expected %llu bytes for argument %zu, got %llu",
                pfc_accel_kernel_name(reference->kernel), (unsigned long long)p->arg_bytes[i], i,
                (unsigned long long)program->arg_bytes[i]);
    pfc_accel_program_free(p);
    return code;
}

/* Opens the device and fills the input; what there is of the case is freed when `code` says so. */
static pfc_code finish_case(pfc_accel_case *c, pfc_code code, const pfc_accel_chip *chip,
                            const pfc_accel_case_opts *opts, pfc_accel_case **out, pfc_err *err)
{
    c->seed = opts ? opts->seed : 0;
    if (!code)
        pfc_accel_program_digest(c->program, c->stream_digest);
    if (!code)
        code = pfc_accel_open(&c->dev, chip, err);
    if (!code) {
        c->functional = !(opts && opts->timing_only) && !too_big(c->program);
        code = prepare(c, c->seed, err);
    }
    if (code) {
        pfc_accel_case_free(c);
        return code;
    }
    *out = c;
    return PFC_OK;
}

pfc_code pfc_accel_case_new(pfc_accel_case **out, const pfc_accel_problem *problem,
                            const pfc_accel_chip *chip, pfc_accel_mode mode,
                            const pfc_accel_case_opts *opts, pfc_err *err)
{
    const pfc_accel_compile_opts compile = { .ideal_memory = opts && opts->ideal_memory,
                                             .gemm_tiles = opts ? opts->gemm_tiles : NULL };
    pfc_accel_case *c = pfc_alloc(sizeof(*c));
    pfc_code code;

    c->problem = *problem;
    c->has_problem = c->tiled = true;
    code = pfc_accel_compile(problem, chip, mode, &compile, &c->program, err);
    return finish_case(c, code, chip, opts, out, err);
}

pfc_code pfc_accel_case_new_program(pfc_accel_case **out, pfc_accel_program *program,
                                    const pfc_accel_problem *reference, const pfc_accel_chip *chip,
                                    const pfc_accel_case_opts *opts, pfc_err *err)
{
    pfc_accel_case_opts own = opts ? *opts : (pfc_accel_case_opts){ 0 };
    pfc_accel_case *c = pfc_alloc(sizeof(*c));
    pfc_code code = PFC_OK;

    c->program = program;
    c->problem.dtype = program->dtype;
    c->has_problem = reference != NULL;
    if (program->args_len == 0)
        code = pfc_err_set(err, PFC_EINVAL, "program: expected an argument for the result");
    if (!code && reference) {
        c->problem = *reference;
        code = same_arguments(program, reference, chip, err);
    }
    if (!code && works_too_long(program)) {
        own.timing_only = true;
        opts = &own;
    }
    return finish_case(c, code, chip, opts, out, err);
}

void pfc_accel_case_free(pfc_accel_case *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < PFC_ACCEL_MAX_ARGS; i++)
        free(c->host[i]);
    pfc_accel_program_free(c->program);
    pfc_accel_device_free(c->dev);
    free(c);
}

static void digest(const pfc_accel_case *c, pfc_accel_result *r)
{
    const size_t o = output_of(c->program);
    char hex[PFC_SHA256_HEX];
    /* the digest of the result, then the counters, little end first on every host */
    uint8_t text[PFC_SHA256_HEX + PFC_ACCEL_COUNTERS_LEN * 8] = { 0 };
    uint8_t *p = text + PFC_SHA256_HEX;

    if (r->functional && c->program->arg_bytes[o]) {
        pfc_sha256_hex(c->host[o], c->program->arg_bytes[o], hex);
        memcpy(text, hex, sizeof(hex));
    }
    for (size_t i = 0; i < PFC_ACCEL_COUNTERS_LEN; i++)
        for (size_t b = 0; b < 8; b++)
            *p++ = (uint8_t)(r->counters.v[i] >> (8 * b));
    pfc_sha256_hex(text, sizeof(text), r->digest);
}

static double utilization(const pfc_accel_case *c, const pfc_accel_result *r)
{
    const pfc_accel_chip *chip = pfc_accel_device_chip(c->dev);
    const uint64_t *v = r->counters.v;

    if (r->cycles == 0)
        return 0.0;
    if (c->program->macs == 0)
        return (double)v[PFC_ACCEL_VECTOR_OPS] / ((double)r->cycles * (double)chip->vector_lanes);
    return (double)c->program->macs /
           ((double)r->cycles * (double)(chip->array_rows * chip->array_cols));
}

/* The copies that this problem needs, also when its input is there from an earlier run. */
static void count_copies(const pfc_accel_case *c, pfc_accel_counters *counters)
{
    uint64_t *v = counters->v;

    for (size_t i = 0; i < c->program->args_len; i++) {
        const uint64_t bytes = c->program->arg_bytes[i];

        v[i == output_of(c->program) ? PFC_ACCEL_PCIE_UP : PFC_ACCEL_PCIE_DOWN] += bytes;
        v[PFC_ACCEL_PCIE_BUSY] += pfc_accel_pcie_cycles(pfc_accel_device_chip(c->dev), bytes);
    }
}

pfc_code pfc_accel_case_run_detail(pfc_accel_case *c, pfc_accel_result *out,
                                   pfc_accel_detail *detail, const pfc_accel_trace_opts *trace,
                                   pfc_err *err)
{
    pfc_accel_trace_opts traced = trace ? *trace : (pfc_accel_trace_opts){ 0 };
    const pfc_accel_launch_opts opts = { .timing_only = !c->functional,
                                         .detail = detail,
                                         .trace = trace ? &traced : NULL };
    const size_t o = output_of(c->program);
    pfc_accel_result r = { .functional = c->functional };
    pfc_code code;

    traced.digest = c->stream_digest;
    code = pfc_accel_launch(c->dev, 0, c->program, c->args, c->program->args_len, &opts,
                            &r.counters, err);
    if (!code && c->functional && c->program->arg_bytes[o])
        code = pfc_accel_copy_out(c->dev, 0, c->host[o], c->args[o], c->program->arg_bytes[o], err);
    if (!code)
        code = pfc_accel_synchronise(c->dev, 0, NULL, err);
    if (code)
        return code;
    if (c->functional)
        count_copies(c, &r.counters);
    r.cycles = r.counters.v[PFC_ACCEL_CYCLES];
    r.ticks = r.cycles + r.counters.v[PFC_ACCEL_PCIE_BUSY] +
              pfc_accel_ns_to_cycles(pfc_accel_device_chip(c->dev),
                                     pfc_accel_device_chip(c->dev)->launch_ns);
    memcpy(r.choice, c->program->choice, sizeof(r.choice));
    r.time_ns = (double)r.cycles * 1000.0 / (double)pfc_accel_device_chip(c->dev)->clock_mhz;
    r.utilization = utilization(c, &r);
    if (c->has_problem)
        r.ceiling_cycles =
            pfc_accel_ceiling_of(&c->problem, pfc_accel_device_chip(c->dev), c->program->mode,
                                 c->tiled ? PFC_ACCEL_TILINGS : PFC_ACCEL_PROGRAMS)
                .cycles;
    memcpy(r.stream_digest, c->stream_digest, sizeof(r.stream_digest));
    digest(c, &r);
    *out = r;
    return PFC_OK;
}

pfc_code pfc_accel_case_run(pfc_accel_case *c, pfc_accel_result *out, pfc_err *err)
{
    return pfc_accel_case_run_detail(c, out, NULL, NULL, err);
}

pfc_code pfc_accel_case_whatif(pfc_accel_case *c, pfc_accel_whatif *out, pfc_err *err)
{
    return pfc_accel_launch_whatif(c->dev, c->program, c->args, c->program->args_len, out, err);
}

pfc_code pfc_accel_case_region(const pfc_accel_case *c, const pfc_accel_region_opts *opts,
                               pfc_accel_region *out, pfc_err *err)
{
    return pfc_accel_region_run(pfc_accel_device_chip(c->dev), c->program, opts, out, err);
}

const void *pfc_accel_case_arg(const pfc_accel_case *c, size_t i, uint64_t *bytes)
{
    *bytes = i < c->program->args_len ? c->program->arg_bytes[i] : 0;
    return i < c->program->args_len ? c->host[i] : NULL;
}

const pfc_accel_program *pfc_accel_case_program(const pfc_accel_case *c)
{
    return c->program;
}

const pfc_accel_chip *pfc_accel_case_chip(const pfc_accel_case *c)
{
    return pfc_accel_device_chip(c->dev);
}
