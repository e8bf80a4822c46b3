/*
 * Problems: one arena with every buffer of a case, guarded, filled from a seed; and their
 * verification.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/base/buf.h"
#include "core/base/rng.h"
#include "kernels/cpu/op.h"

#define GUARD_BYTES     128u
#define GUARD_BYTE      0xa5
#define PAGE_BYTES      4096u
#define HUGE_PAGE_BYTES ((size_t)2 << 20)
#define HUGE_PAGE_FROM  ((size_t)64 * 1024)
/* Buffers at the same offset in their pages fight for the same cache sets and trip the
   store-to-load check on the low 12 address bits, so each starts five lines later in its page than
   the one before. */
#define STAGGER_BYTES   320u

struct pfc_kernel_case {
    const pfc_kernel_op *op;
    int64_t values[PFC_KERNEL_MAX_PARAMS];
    float *buf[PFC_KERNEL_MAX_BUFFERS]; /* inside arena */
    pfc_kernel_plan plan;
    uint64_t seed;
    char label[PFC_KERNEL_LABEL_MAX];
    unsigned char *arena; /* owned */
};

static pfc_code take_args(pfc_kernel_case *problem, const pfc_kernel_arg *args, size_t len,
                          pfc_err *err)
{
    const pfc_kernel_op *op = problem->op;
    bool given[PFC_KERNEL_MAX_PARAMS] = { false };

    for (size_t p = 0; p < op->params_len; p++)
        problem->values[p] = op->params[p].fallback;

    for (size_t i = 0; i < len; i++) {
        const pfc_kernel_param *param = NULL;
        size_t p = 0;

        while (p < op->params_len && !pfc_streq(op->params[p].name, args[i].name))
            p++;
        if (p == op->params_len)
            return pfc_err_set_field(err, PFC_EINVAL, args[i].name ? args[i].name : "",
                                     "kernel %s/%s: no parameter %.40s", op->name, op->dtype,
                                     args[i].name ? args[i].name : "(none)");
        param = &op->params[p];
        if (given[p])
            return pfc_err_set_field(err, PFC_EINVAL, param->name,
                                     "kernel %s/%s: parameter %s is given twice", op->name,
                                     op->dtype, param->name);
        if (args[i].value < param->min || args[i].value > param->max)
            return pfc_err_set_field(err, PFC_EINVAL, param->name,
                                     "kernel %s/%s: %s: expected %lld..%lld, got %lld", op->name,
                                     op->dtype, param->name, (long long)param->min,
                                     (long long)param->max, (long long)args[i].value);
        given[p] = true;
        problem->values[p] = args[i].value;
    }
    return PFC_OK;
}

static void make_label(pfc_kernel_case *problem)
{
    const pfc_kernel_op *op = problem->op;
    pfc_buf text;

    pfc_buf_init(&text, sizeof problem->label - 1);
    pfc_buf_printf(&text, "%s/%s/", op->name, op->dtype);
    for (size_t p = 0; p < op->params_len; p++) {
        if (op->params[p].quiet && problem->values[p] == op->params[p].fallback)
            continue;
        pfc_buf_printf(&text, "%s%lld", op->params[p].name, (long long)problem->values[p]);
    }
    snprintf(problem->label, sizeof problem->label, "%s", pfc_buf_text(&text));
    pfc_buf_clear(&text);
}

/* Where each buffer goes in the arena; false when they are too many bytes. */
static bool lay_out(const pfc_kernel_plan *plan, size_t offsets[PFC_KERNEL_MAX_BUFFERS],
                    size_t *total)
{
    size_t at = 0;

    if (plan->overflow)
        return false;
    for (size_t i = 0; i < plan->buffers_len; i++) {
        size_t bytes = 0;

        at = (at + GUARD_BYTES + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
        at += GUARD_BYTES + i * STAGGER_BYTES;
        at = (at + 63) / 64 * 64;
        offsets[i] = at;
        if (__builtin_mul_overflow(plan->buffers[i].len, sizeof(float), &bytes) ||
            __builtin_add_overflow(at, bytes, &at) || at > PFC_KERNEL_MAX_BYTES - PAGE_BYTES)
            return false;
    }
    *total = at + GUARD_BYTES;
    return true;
}

static pfc_code allocate(pfc_kernel_case *problem, pfc_err *err)
{
    size_t offsets[PFC_KERNEL_MAX_BUFFERS] = { 0 };
    size_t align = PAGE_BYTES;
    size_t total = 0;

    if (!lay_out(&problem->plan, offsets, &total))
        return pfc_err_set(err, PFC_ETOOBIG, "kernel %s: its buffers are over %zu bytes",
                           problem->label, PFC_KERNEL_MAX_BYTES);

    /* Huge pages keep page walks out of large problems, where they cost 10 to 40 %. Problems that
     * fit in the L2 get one, too: otherwise the physical pages, and with them the conflict misses,
     * vary between processes. */
    if (total >= HUGE_PAGE_FROM)
        align = HUGE_PAGE_BYTES;
    total = (total + align - 1) / align * align;
    problem->arena = aligned_alloc(align, total);
    if (!problem->arena)
        return pfc_err_set(err, PFC_EUNAVAIL, "kernel %s: the system has no %zu bytes",
                           problem->label, total);
    if (align == HUGE_PAGE_BYTES)
        (void)madvise(problem->arena, total, MADV_HUGEPAGE); /* a hint; small pages work too */

    memset(problem->arena, GUARD_BYTE, total);
    for (size_t i = 0; i < problem->plan.buffers_len; i++)
        problem->buf[i] = (float *)(void *)(problem->arena + offsets[i]);
    return PFC_OK;
}

static float input_value(pfc_rng *rng, const pfc_kernel_buffer *buffer)
{
    /* 24 bits: the sum below is rounded once, to a value every machine agrees on. */
    double unit = (double)(pfc_rng_u64(rng) >> 40) * 0x1p-24;

    return (float)((double)buffer->low + unit * ((double)buffer->high - (double)buffer->low));
}

static void fill(pfc_kernel_case *problem)
{
    for (size_t i = 0; i < problem->plan.buffers_len; i++) {
        const pfc_kernel_buffer *buffer = &problem->plan.buffers[i];
        pfc_rng rng;

        if (buffer->role != PFC_KERNEL_IN) {
            memset(problem->buf[i], 0, buffer->len * sizeof(float));
            continue;
        }
        pfc_rng_seed(&rng, problem->seed + i);
        for (size_t j = 0; j < buffer->len; j++)
            problem->buf[i][j] = input_value(&rng, buffer);
    }
}

pfc_code pfc_kernel_case_new(pfc_kernel_case **out, const pfc_kernel_op *op,
                             const pfc_kernel_arg *args, size_t len, uint64_t seed, pfc_err *err)
{
    pfc_kernel_case *problem = pfc_alloc(sizeof *problem);
    pfc_code code;

    problem->op = op;
    problem->seed = seed;
    code = take_args(problem, args, len, err);
    if (code)
        goto done;
    make_label(problem);
    op->plan(problem->values, &problem->plan);
    code = allocate(problem, err);
    if (code)
        goto done;
    fill(problem);
    *out = problem;
    problem = NULL;

done:
    pfc_kernel_case_free(problem);
    return code;
}

void pfc_kernel_case_free(pfc_kernel_case *problem)
{
    if (!problem)
        return;
    free(problem->arena);
    free(problem);
}

const char *pfc_kernel_label(const pfc_kernel_case *problem)
{
    return problem->label;
}

int64_t pfc_kernel_value(const pfc_kernel_case *problem, const char *name)
{
    for (size_t p = 0; p < problem->op->params_len; p++) {
        if (pfc_streq(problem->op->params[p].name, name))
            return problem->values[p];
    }
    pfc_die("kernel %s: asked for a parameter %.40s it has not", problem->label,
            name ? name : "(none)");
}

double pfc_kernel_flops(const pfc_kernel_case *problem)
{
    return problem->plan.flops;
}

double pfc_kernel_bytes(const pfc_kernel_case *problem)
{
    return problem->plan.bytes;
}

void pfc_kernel_run(const pfc_kernel_case *problem, size_t variant)
{
    problem->op->impls[variant].run(problem->values, problem->buf);
}

static void spoil_output(pfc_kernel_case *problem)
{
    for (size_t i = 0; i < problem->plan.buffers_len; i++) {
        if (problem->plan.buffers[i].role != PFC_KERNEL_OUT)
            continue;
        for (size_t j = 0; j < problem->plan.buffers[i].len; j++)
            problem->buf[i][j] = NAN;
    }
}

static bool guards_hold(const pfc_kernel_case *problem, size_t buffer)
{
    const unsigned char *start = (const unsigned char *)problem->buf[buffer];
    const unsigned char *end = start + problem->plan.buffers[buffer].len * sizeof(float);

    for (size_t j = 0; j < GUARD_BYTES; j++) {
        if (start[j - GUARD_BYTES] != GUARD_BYTE || end[j] != GUARD_BYTE)
            return false;
    }
    return true;
}

static bool input_unchanged(const pfc_kernel_case *problem, size_t buffer)
{
    const pfc_kernel_buffer *plan = &problem->plan.buffers[buffer];
    pfc_rng rng;

    if (plan->role != PFC_KERNEL_IN)
        return true;
    pfc_rng_seed(&rng, problem->seed + buffer);
    for (size_t j = 0; j < plan->len; j++) {
        float want = input_value(&rng, plan);

        if (memcmp(&problem->buf[buffer][j], &want, sizeof want) != 0)
            return false;
    }
    return true;
}

pfc_code pfc_kernel_verify(pfc_kernel_case *problem, size_t variant, pfc_kernel_check *check,
                           pfc_err *err)
{
    const pfc_kernel_impl *impl = &problem->op->impls[variant];
    pfc_kernel_check seen = { 0 };
    const char *reason = NULL;

    if (!pfc_cpu_can(impl->needs, &reason))
        return pfc_err_set(err, PFC_EUNAVAIL, "kernel %s: %s cannot run here: %s", problem->label,
                           impl->backend, reason);

    spoil_output(problem);
    pfc_kernel_run(problem, variant);
    for (size_t i = 0; i < problem->plan.buffers_len; i++) {
        if (!guards_hold(problem, i))
            return pfc_err_set(err, PFC_EBROKEN, "kernel %s: %s wrote outside buffer %zu",
                               problem->label, impl->backend, i);
        if (!input_unchanged(problem, i))
            return pfc_err_set(err, PFC_EBROKEN, "kernel %s: %s changed its input, buffer %zu",
                               problem->label, impl->backend, i);
    }

    problem->op->verify(problem->values, problem->buf, &seen);
    if (check)
        *check = seen;
    if (seen.worst_ratio > 1.0)
        return pfc_err_set(err, PFC_EBROKEN,
                           "kernel %s: %s is wrong at row %zu, column %zu: got %.9g, expected %.9g "
                           "within %.2g",
                           problem->label, impl->backend, seen.row, seen.col, seen.got, seen.want,
                           seen.tolerance);
    return PFC_OK;
}
