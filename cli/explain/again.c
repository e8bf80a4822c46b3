/* Command streams and traces of recorded runs, made again. */
#include "cli/explain/again.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/base.h"
#include "core/base/buf.h"
#include "core/base/fs.h"
#include "core/wire/run_values.h"
#include "kernels/accel/ops/ops.h"

/* A run that is made again. */
typedef struct again {
    pfc_accel_problem problem;
    pfc_accel_chip chip;
    bool tiled;
    pfc_accel_gemm_tiles tiles;
} again;

/* "gemm" of "gemm/bf16/m64n64k64". */
static pfc_code problem_of(const pfc_profile *p, const char *benchmark, pfc_accel_problem *out,
                           pfc_err *err)
{
    char *kernel = pfc_strndup(benchmark, strcspn(benchmark, "/"));
    const char *dtype = pfc_profile_fact_of(p, "param_dtype");
    double value;
    pfc_code code = pfc_accel_kernel_parse(kernel, &out->kernel, err);

    free(kernel);
    if (!code && !dtype)
        code = pfc_err_set(err, PFC_ENOTFOUND, "the run did not record its parameters");
    if (!code)
        code = pfc_accel_dtype_parse(dtype, &out->dtype, err);
    for (size_t i = 0; !code && pfc_accel_param_name(out->kernel, i); i++) {
        const char *key = pfc_accel_param_name(out->kernel, i);
        char name[64];

        snprintf(name, sizeof(name), "param_%s", key);
        if (!pfc_profile_number_of(p, name, &value)) {
            if (!pfc_accel_param_optional(out->kernel, i))
                code =
                    pfc_err_set(err, PFC_ENOTFOUND, "the run did not record its parameter %s", key);
            continue;
        }
        if (!(value >= 0 && value <= PFC_ACCEL_MAX_DIM))
            return pfc_err_set(err, PFC_EINVAL, "%s: expected 0 to %d, got %g", name,
                               PFC_ACCEL_MAX_DIM, value);
        out->p[i] = (int64_t)value;
    }
    return code;
}

/* The built-in chip of that name when its hash is the recorded one; else one of the recorded
 * constants. */
static pfc_code chip_of(const pfc_profile *p, const char *name, pfc_accel_chip *out, pfc_err *err)
{
    const char *hash = pfc_profile_fact_of(p, "chip_hash");
    pfc_err ignored = { 0 };
    uint64_t value;
    const char *key;
    double recorded;
    pfc_buf text;
    pfc_code code;

    for (size_t i = 0; pfc_accel_chip_name(i); i++)
        if (strcmp(pfc_accel_chip_name(i), name) == 0 &&
            !pfc_accel_chip_load(name, out, &ignored) && hash && strcmp(out->hash, hash) == 0)
            return PFC_OK;
    if (pfc_accel_chip_load(pfc_accel_chip_name(0), out, err)) /* for the names of constants */
        return PFC_EBUG;
    pfc_buf_init(&text, PFC_ACCEL_CHIP_MAX_BYTES);
    pfc_buf_puts(&text, "name = recorded\nabout = constants that a run recorded\n"
                        "mode = pipelined-ws\n");
    for (size_t i = 0; (key = pfc_accel_chip_constant(out, i, &value)); i++) {
        char full[96];

        snprintf(full, sizeof(full), "chip_%s", key);
        if (pfc_profile_number_of(p, full, &recorded))
            pfc_buf_printf(&text, "%s = %.0f\n", key, recorded);
    }
    code = pfc_accel_chip_parse(pfc_buf_text(&text), text.len, "the recorded constants", out, err);
    pfc_buf_clear(&text);
    return code;
}

static pfc_code again_of(const pfc_explain_side *s, const pfc_explanation *e, again *out,
                         pfc_err *err)
{
    const char *choice = pfc_profile_fact_of(&s->profile, "choice");
    double launches;
    pfc_code code;

    memset(out, 0, sizeof(*out));
    if (strncmp(e->backend, "accel:", 6) != 0)
        return pfc_err_set(err, PFC_EUNAVAIL, "%.60s is no simulated accelerator", e->backend);
    if (pfc_profile_number_of(&s->profile, "launches", &launches))
        return pfc_err_set(err, PFC_EUNAVAIL,
                           "the run is a region, whose copies and waits are not recorded");
    code = problem_of(&s->profile, e->benchmark, &out->problem, err);
    if (!code)
        code = chip_of(&s->profile, e->backend + 6, &out->chip, err);
    out->tiled = !code && choice && pfc_accel_choice_tiles(choice, &out->tiles);
    return code;
}

/* The recorded stream has to come again, or another one would be shown in its place. */
static pfc_code check_digest(const pfc_profile *p, const pfc_accel_program *program, pfc_err *err)
{
    const char *recorded = pfc_profile_fact_of(p, "stream_digest");
    char digest[PFC_ACCEL_DIGEST_SIZE];

    pfc_accel_program_digest(program, digest);
    if (!recorded)
        return pfc_err_set(err, PFC_EUNAVAIL, "the run did not record its command stream");
    if (strcmp(recorded, digest) != 0)
        return pfc_err_set(err, PFC_EUNAVAIL,
                           "this build of perfci compiles another command stream for the same "
                           "problem, chip and tiles than the run had");
    return PFC_OK;
}

static pfc_code compile(const pfc_explain_side *s, const pfc_explanation *e,
                        pfc_accel_program **out, pfc_err *err)
{
    again a;
    pfc_code code = again_of(s, e, &a, err);
    const pfc_accel_compile_opts opts = { .gemm_tiles = a.tiled ? &a.tiles : NULL };

    if (!code)
        code = pfc_accel_compile(&a.problem, &a.chip, PFC_ACCEL_PIPELINED_WS, &opts, out, err);
    return code ? code : check_digest(&s->profile, *out, err);
}

/* ---- the first command that differs ---- */

static void digest_of(const pfc_accel_cmd *cmd, char out[PFC_ACCEL_DIGEST_SIZE])
{
    pfc_accel_cmd copy = *cmd;
    const pfc_accel_program one = { .cmds = &copy, .len = 1 };

    pfc_accel_program_digest(&one, out);
}

/* All that the digest covers: every field but the line. Bytes that differ may be padding. */
static bool same(const pfc_accel_cmd *a, const pfc_accel_cmd *b)
{
    char x[PFC_ACCEL_DIGEST_SIZE];
    char y[PFC_ACCEL_DIGEST_SIZE];

    if (memcmp(a, b, sizeof(*a)) == 0)
        return true;
    digest_of(a, x);
    digest_of(b, y);
    return strcmp(x, y) == 0;
}

static void describe(const pfc_accel_program *p, uint64_t at, pfc_stream_command *out)
{
    const pfc_accel_cmd *c = at < p->len ? &p->cmds[at] : NULL;

    out->commands = p->len;
    if (!c)
        return;
    if (c->line > 0 && c->line <= p->lines_len)
        snprintf(out->line, sizeof(out->line), "%s", p->lines[c->line - 1]);
    if (c->unit == PFC_ACCEL_UNIT_DMA)
        snprintf(out->text, sizeof(out->text),
                 "%s of %u x %u elements, argument %u from byte %llu, engine %u, waits %u",
                 pfc_accel_op_name(c->op), c->m, c->n, c->arg, (unsigned long long)c->offset,
                 c->queue, c->waits_len);
    else
        snprintf(out->text, sizeof(out->text), "%s of m %u, n %u, k %u, waits %u",
                 pfc_accel_op_name(c->op), c->m, c->n, c->k, c->waits_len);
}

static void compare(const pfc_accel_program *a, const pfc_accel_program *b,
                    pfc_stream_difference *out)
{
    while (out->at < a->len && out->at < b->len && same(&a->cmds[out->at], &b->cmds[out->at]))
        out->at++;
    out->equal = out->at == a->len && out->at == b->len;
    describe(a, out->at, &out->before);
    describe(b, out->at, &out->after);
}

void explain_add_stream(pfc_explanation *e)
{
    pfc_stream_difference *s = pfc_calloc(1, sizeof(*s));
    pfc_accel_program *before = NULL;
    pfc_accel_program *after = NULL;
    pfc_err err = { 0 };
    pfc_code code = compile(&e->before, e, &before, &err);

    if (!code)
        code = compile(&e->after, e, &after, &err);
    if (code)
        snprintf(s->unavailable, sizeof(s->unavailable), "%.290s", err.msg);
    else
        compare(before, after, s);
    pfc_accel_program_free(before);
    pfc_accel_program_free(after);
    free(e->stream);
    e->stream = s;
}

/* ---- traces ---- */

static pfc_code trace(const pfc_explain_side *s, const pfc_explanation *e, const char *file,
                      pfc_err *err)
{
    const pfc_accel_trace_opts opts = { .path = file, .kernel = e->benchmark, .every = 1000 };
    pfc_accel_case_opts how = { .timing_only = true };
    pfc_accel_case *c = NULL;
    pfc_accel_result result;
    double cycles;
    again a;
    pfc_code code = again_of(s, e, &a, err);

    how.gemm_tiles = a.tiled ? &a.tiles : NULL;
    if (!code)
        code = pfc_accel_case_new(&c, &a.problem, &a.chip, PFC_ACCEL_PIPELINED_WS, &how, err);
    if (!code)
        code = check_digest(&s->profile, pfc_accel_case_program(c), err);
    if (!code)
        code = pfc_accel_case_run_detail(c, &result, NULL, &opts, err);
    if (!code && pfc_profile_total(&s->profile, &cycles) && cycles != (double)result.cycles)
        code = pfc_err_set(err, PFC_EUNAVAIL,
                           "this build of perfci simulates %llu cycles, the run had %.0f",
                           (unsigned long long)result.cycles, cycles);
    pfc_accel_case_free(c);
    return code;
}

static void add_trace(pfc_explanation *e, pfc_explain_side *s, const char *dir)
{
    char *file = pfc_format("%s/%s.json", dir, s->run);
    pfc_err err = { 0 };

    if (!pfc_run_is_id(s->run)) { /* a document from outside: its id is no file's name */
        snprintf(s->trace.unavailable, sizeof(s->trace.unavailable),
                 "the run's id is no number and no 32 hexadecimal digits");
        free(file);
        return;
    }

    if (trace(s, e, file, &err)) {
        snprintf(s->trace.unavailable, sizeof(s->trace.unavailable), "%.290s", err.msg);
        remove(file);
        free(file);
        return;
    }
    free(s->trace.file);
    s->trace.file = file;
}

pfc_code explain_add_traces(pfc_explanation *e, const char *dir, pfc_err *err)
{
    pfc_code code = pfc_fs_mkdirs(dir, 0755, err);

    if (code)
        return code;
    if (e->pair)
        add_trace(e, &e->before, dir);
    add_trace(e, &e->after, dir);
    return PFC_OK;
}
