/* The simulated accelerator as a backend for each built-in chip: exact cycles and bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/backends/backend.h"
#include "core/analysis/path/path.h"
#include "core/base/buf.h"
#include "kernels/accel/ops/ops.h"
#include "kernels/accel/text/text.h"

#define TRACE_EVERY 1000 /* cycles between two samples of the units' states, as perfci accel run */

static pfc_code problem_of(const pfc_backend *self, const pfc_case *c, pfc_accel_problem *out,
                           pfc_err *err)
{
    pfc_code code = pfc_accel_kernel_parse(c->op->name, &out->kernel, err);

    if (!code)
        code = pfc_accel_dtype_parse(c->dtype, &out->dtype, err);
    /* The suite is valid, but this family has no such kernel: the benchmark is skipped, not
     * refused. */
    if (code || (out->dtype == PFC_ACCEL_INT8 && out->kernel != PFC_ACCEL_GEMM))
        return pfc_err_set(err, PFC_EUNAVAIL, "%s has no %s %s", self->name, c->dtype, c->op->name);
    for (size_t i = 0; i < c->op->params_len; i++) {
        const char *name = c->op->params[i].name;
        size_t at = 0;

        while (pfc_accel_param_name(out->kernel, at) &&
               strcmp(pfc_accel_param_name(out->kernel, at), name) != 0)
            at++;
        if (pfc_accel_param_name(out->kernel, at))
            out->p[at] = c->params[i];
        else if (c->params[i] == c->op->params[i].fallback)
            continue;
        if (!pfc_accel_param_name(out->kernel, at) || c->params[i] > PFC_ACCEL_MAX_DIM)
            return pfc_err_set(err, PFC_EUNAVAIL, "%s has no %s with %s %lld", self->name,
                               c->op->name, name, (long long)c->params[i]);
    }
    return PFC_OK;
}

static pfc_code accel_can(const pfc_backend *self, const pfc_case *c, pfc_err *err)
{
    pfc_accel_problem problem = { 0 };

    return problem_of(self, c, &problem, err);
}

/* The kernel in text. Its result is compared with the suite's shape, so a reference that the file
 * names must be the same. */
static pfc_code open_program(const pfc_case *c, const pfc_accel_problem *problem,
                             const pfc_accel_chip *chip, const pfc_accel_case_opts *opts,
                             pfc_accel_case **out, pfc_err *err)
{
    pfc_accel_program *program;
    pfc_accel_text *text = NULL;
    pfc_code code = pfc_accel_text_load(c->program, &text, err);

    if (!code && text->program->dtype != problem->dtype)
        code = pfc_err_set(err, PFC_EINVAL, "%s: dtype: expected %s as in the suite, got %s",
                           c->program, c->dtype, pfc_accel_dtype_name(text->program->dtype));
    if (!code && text->has_reference &&
        (text->reference.kernel != problem->kernel ||
         memcmp(text->reference.p, problem->p, sizeof(problem->p)) != 0))
        code = pfc_err_set(err, PFC_EINVAL, "%s: reference: expected that of the suite, %s",
                           c->program, c->name);
    if (!code)
        code = pfc_accel_text_check(text, chip, err);
    if (!code) {
        program = text->program;
        text->program = NULL;
        program->macs = pfc_accel_problem_macs(problem);
        code = pfc_accel_case_new_program(out, program, problem, chip, opts, err);
        if (code)
            code = pfc_err_wrap(err, "%s", c->program);
    }
    pfc_accel_text_free(text);
    return code;
}

static pfc_code open_scheduled(const pfc_case *c, const pfc_accel_problem *problem,
                               const pfc_accel_chip *chip, pfc_accel_case_opts *opts,
                               pfc_accel_case **out, pfc_err *err)
{
    pfc_accel_gemm_tiles tiles;
    pfc_accel_schedule schedule;
    pfc_code code = pfc_accel_schedule_load(c->schedule, &schedule, err);

    if (code)
        return code;
    tiles = pfc_accel_schedule_tiles(&schedule, problem);
    opts->gemm_tiles = &tiles;
    code = pfc_accel_case_new(out, problem, chip, chip->mode, opts, err);
    return code ? pfc_err_wrap(err, "%s", c->schedule) : PFC_OK;
}

static pfc_code accel_open(const pfc_backend *self, const pfc_case *c, uint64_t seed, void **inst,
                           pfc_err *err)
{
    pfc_accel_case_opts opts = { .seed = seed };
    pfc_accel_problem problem = { 0 };
    pfc_accel_chip chip;
    pfc_accel_case *made = NULL;
    pfc_code code = problem_of(self, c, &problem, err);

    if (!code)
        code = pfc_accel_chip_load(self->arg, &chip, err);
    if (!code && c->program)
        code = open_program(c, &problem, &chip, &opts, &made, err);
    else if (!code && c->schedule)
        code = open_scheduled(c, &problem, &chip, &opts, &made, err);
    else if (!code)
        code = pfc_accel_case_new(&made, &problem, &chip, chip.mode, &opts, err);
    if (code == PFC_ETOOBIG) {
        /* No place on this chip. A built-in kernel cannot be measured there. One in text, or tiles
         * from a file, are the repository's, and wrong for the chips that its suite names. */
        code = c->program || c->schedule ? PFC_EBROKEN : PFC_EUNAVAIL;
        if (err)
            err->code = code;
        return code;
    }
    if (code)
        return code;
    *inst = made;
    return PFC_OK;
}

static pfc_code accel_check(void *inst, pfc_err *err)
{
    pfc_accel_result result;
    pfc_code code = pfc_accel_case_run(inst, &result, err);

    /* Too large to compute here: cycles all the same, with no result that could be wrong. */
    if (!code && result.functional)
        code = pfc_accel_case_check(inst, err);
    return code;
}

static void add(pfc_exact *out, const char *name, double value)
{
    const size_t at = out->counters_len;

    if (at == PFC_EXACT_MAX_COUNTERS)
        pfc_die("%s: no room for another counter", name);
    snprintf(out->counters[at].name, sizeof(out->counters[at].name), "%s", name);
    out->counters[at].value = value;
    out->counters_len++;
}

static void add_fact(pfc_exact *out, const char *name, const char *text)
{
    snprintf(out->facts[out->facts_len].name, sizeof(out->facts[0].name), "%s", name);
    snprintf(out->facts[out->facts_len].text, sizeof(out->facts[0].text), "%s", text);
    out->facts_len++;
}

/* Records what explains the cycles later, when the program is no longer available: limiters,
 * counters and commands. */
static void add_facts(pfc_exact *out, const pfc_accel_case *c, const pfc_accel_result *r,
                      const pfc_accel_whatif *whatif)
{
    const pfc_accel_program *p = pfc_accel_case_program(c);

    add_fact(out, "limiter", pfc_accel_resource_name(whatif->limiter));
    add_fact(out, "chip_hash", pfc_accel_case_chip(c)->hash);
    add_fact(out, "stream_digest", r->stream_digest);
    add_fact(out, "choice", p->choice);
    add_fact(out, "simulator", PFC_ACCEL_VERSION);
}

/* All constants of the chip, so that the run can be explained when the chip's file has changed. */
static void add_constants(pfc_exact *out, const pfc_accel_chip *chip)
{
    const char *key;
    uint64_t value;
    char name[72];

    for (size_t i = 0; (key = pfc_accel_chip_constant(chip, i, &value)); i++) {
        snprintf(name, sizeof(name), "chip_%s", key);
        add(out, name, (double)value);
    }
}

/* The tiles of a GEMM, so that advice for this run needs no other source. */
static void add_tiles(pfc_exact *out, const pfc_accel_program *p)
{
    pfc_accel_gemm_tiles tiles;
    const char *name;
    uint64_t value;

    if (!pfc_accel_choice_tiles(p->choice, &tiles))
        return;
    for (size_t i = 0; (name = pfc_accel_tile_number(&tiles, i, &value)); i++)
        add(out, name, (double)value);
}

static pfc_code add_path(pfc_exact *out, const pfc_path *path, pfc_err *err)
{
    pfc_profile profile;
    pfc_code code;

    pfc_profile_init(&profile, "critical path");
    code = pfc_path_store(path, &profile, err);
    for (size_t i = 0; i < profile.numbers_len && !code; i++)
        add(out, profile.numbers[i].name, profile.numbers[i].value);
    pfc_profile_clear(&profile);
    return code;
}

/* Runs the case with a trace that goes to the analysis directly. A run whose trace is longer than
 * the analysis takes is a run all the same: it has no path then, and says why. */
static pfc_code run_traced(pfc_accel_case *c, pfc_accel_result *result, pfc_exact *out,
                           pfc_err *err)
{
    pfc_path_builder *builder = pfc_path_builder_new();
    const pfc_accel_trace_opts trace = { .consumer = pfc_path_builder_consumer(builder),
                                         .kernel = "kernel" };
    pfc_path *path = pfc_calloc(1, sizeof(*path));
    pfc_err why = { 0 };
    pfc_code code = pfc_accel_case_run_detail(c, result, NULL, &trace, &why);

    if (!code)
        code = pfc_path_builder_finish(builder, path, &why);
    if (!code)
        code = add_path(out, path, &why);
    if (code) {
        add_fact(out, "path_missing", why.msg);
        code = pfc_accel_case_run(c, result, err);
    }
    free(path);
    pfc_path_builder_free(builder);
    return code;
}

static pfc_code accel_exact(void *inst, pfc_exact *out, pfc_err *err)
{
    pfc_accel_whatif whatif = { 0 };
    pfc_accel_result result;
    pfc_code code;

    out->counters_len = out->facts_len = 0;
    code = run_traced(inst, &result, out, err);
    if (!code)
        code = pfc_accel_case_whatif(inst, &whatif, err);
    if (code)
        return code;
    add_facts(out, inst, &result, &whatif);
    out->cycles = result.cycles;
    out->time_ns = result.time_ns;
    add(out, "dram_bytes",
        (double)(result.counters.v[PFC_ACCEL_HBM_READ] + result.counters.v[PFC_ACCEL_HBM_WRITE]));
    add(out, "utilization", result.utilization);
    add(out, "ceiling_cycles", (double)result.ceiling_cycles);
    for (pfc_accel_resource i = 0; i < PFC_ACCEL_RESOURCES_LEN; i++) {
        char name[72];

        snprintf(name, sizeof(name), "whatif_%s_cycles", pfc_accel_resource_name(i));
        add(out, name, (double)whatif.cycles[i]);
    }
    for (pfc_accel_counter i = 0; i < PFC_ACCEL_COUNTERS_LEN; i++)
        add(out, pfc_accel_counter_name(i), (double)result.counters.v[i]);
    add_constants(out, pfc_accel_case_chip(inst));
    add_tiles(out, pfc_accel_case_program(inst));
    return PFC_OK;
}

/* Runs the case again for the trace: the records of the counted run go to the analysis. */
static pfc_code accel_trace(void *inst, const char *name, const char *path, pfc_err *err)
{
    const pfc_accel_trace_opts trace = {
        .path = path, .kernel = name, .every = TRACE_EVERY, .correlation = 1
    };
    pfc_accel_result result;

    return pfc_accel_case_run_detail(inst, &result, NULL, &trace, err);
}

static void accel_close(void *inst)
{
    pfc_accel_case_free(inst);
}

static const pfc_backend_ops accel_ops = { .can = accel_can,
                                           .open = accel_open,
                                           .check = accel_check,
                                           .exact = accel_exact,
                                           .trace = accel_trace,
                                           .close = accel_close };

/* A chip whose file changed is another machine, as a CPU with new microcode is. */
static void hash_chips(char out[PFC_SHA256_HEX])
{
    pfc_buf all;

    pfc_buf_init(&all, 1u << 20);
    for (size_t i = 0; pfc_accel_chip_name(i); i++)
        pfc_buf_printf(&all, "%s\n%s\n", pfc_accel_chip_name(i), pfc_accel_chip_text(i));
    pfc_sha256_hex(pfc_buf_text(&all), all.len, out);
    pfc_buf_clear(&all);
}

void pfc_backends_accel(pfc_backends *backends)
{
    backends->simulator = PFC_ACCEL_VERSION;
    backends->hash_chips = hash_chips;
    for (size_t i = 0; pfc_accel_chip_name(i); i++) {
        char name[64];

        snprintf(name, sizeof(name), "accel:%s", pfc_accel_chip_name(i));
        pfc_backends_add(backends, name, "", true, &accel_ops, pfc_accel_chip_name(i));
    }
}
