/* The CPU kernels as backends: which benchmarks they take, at the limits of their parameters, and
 * that a call computes what is checked. */
#include <stdio.h>
#include <string.h>

#include "bench/harness/backends/backend.h"
#include "kernels/cpu/kernel.h"

#include "tests/check/check.h"

static pfc_backends backends;
static pfc_err err;

static void setup(void)
{
    backends = (pfc_backends){ 0 };
    pfc_backends_cpu(&backends);
}

static void teardown(void)
{
    pfc_backends_clear(&backends);
}

TestSuite(backend_cpu, .init = setup, .fini = teardown);

/* A case of that operation; params_len values, the others have their fallback. */
static pfc_case case_of(const char *op, const char *dtype, const int64_t *params, size_t params_len)
{
    pfc_case c = { .op = pfc_op_find(op), .name = "case" };

    (void)snprintf(c.dtype, sizeof(c.dtype), "%s", dtype);
    for (size_t i = 0; i < c.op->params_len; i++)
        c.params[i] = i < params_len ? params[i] : c.op->params[i].fallback;
    return c;
}

static pfc_code can(const char *op, const char *dtype, const int64_t *params, size_t params_len)
{
    const pfc_backend *b = pfc_backends_find(&backends, "cpu-scalar");
    const pfc_case c = case_of(op, dtype, params, params_len);

    err = (pfc_err){ 0 };
    return b->ops->can(b, &c, &err);
}

Test(backend_cpu, each_backend_is_listed_once_from_narrow_to_wide)
{
    cr_assert(ge(sz, backends.len, 1));
    cr_assert(eq(str, backends.items[0].name, "cpu-scalar"));
    cr_assert(eq(str, backends.items[0].missing, ""));
    for (size_t i = 0; i < backends.len; i++) {
        cr_assert(not(backends.items[i].exact));
        for (size_t k = 0; k < i; k++)
            cr_assert(ne(str, backends.items[i].name, backends.items[k].name));
    }
    for (size_t v = 0; v < pfc_kernel_variants(pfc_kernel_at(0)); v++) {
        const pfc_kernel_variant variant = pfc_kernel_variant_at(pfc_kernel_at(0), v);
        const pfc_backend *b = pfc_backends_find(&backends, variant.backend);

        cr_assert(ne(ptr, (void *)b, NULL));
        cr_assert(eq(int, b->missing[0] == '\0', variant.runnable), "%s", b->name);
    }
}

Test(backend_cpu, benchmarks_are_taken_within_the_kernels_limits)
{
    static const struct {
        const char *op, *dtype;
        int64_t params[6];
        bool taken;
    } rows[] = {
        { "gemm", "f32", { 4, 4, 4, 0 }, true },
        { "gemm", "f32", { 4, 4, 4, 64 }, true },
        { "gemm", "bf16", { 4, 4, 4, 0 }, false },
        { "attention", "f32", { 256, 8, 8, 1, 0, 0 }, true },
        { "attention", "f32", { 257, 8, 8, 1, 0, 0 }, false }, /* heads */
        { "attention", "f32", { 2, 8, 256, 0, 0, 0 }, true },
        { "attention", "f32", { 2, 8, 257, 0, 0, 0 }, false }, /* length of a query */
        { "attention", "f32", { 2, 8, 8, 0, 1, 0 }, false },   /* few queries: no such kernel */
        { "attention", "f32", { 2, 8, 8, 0, 0, 1 }, false },   /* shared heads: neither */
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        const pfc_code code =
            can(rows[i].op, rows[i].dtype, rows[i].params, pfc_op_find(rows[i].op)->params_len);

        cr_assert(eq(int, code, rows[i].taken ? PFC_OK : PFC_EUNAVAIL), "row %zu: %s", i, err.msg);
    }
    (void)can("attention", "f32", (const int64_t[]){ 2, 8, 8, 0, 1, 0 }, 6);
    cr_assert(eq(str, err.msg, "cpu-scalar has no attention with q 1"));
}

/* A negative value never comes from a suite, but is no parameter of a kernel either. */
Test(backend_cpu, a_parameter_below_the_kernels_least_is_refused)
{
    cr_assert(eq(int, can("softmax", "f32", (const int64_t[]){ -1, 8 }, 2), PFC_EUNAVAIL));
    cr_assert(eq(int, can("softmax", "f32", (const int64_t[]){ 0, 8 }, 2), PFC_OK));
}

Test(backend_cpu, what_is_opened_is_right_runs_and_is_closed)
{
    const pfc_case c = case_of("gemm", "f32", (const int64_t[]){ 5, 6, 7 }, 3);
    const pfc_backend *b = pfc_backends_find(&backends, "cpu-scalar");
    void *inst = NULL;

    cr_assert(eq(int, b->ops->open(b, &c, 3, &inst, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, b->ops->check(inst, &err), PFC_OK), "%s", err.msg);
    b->ops->run(inst, 2);
    cr_assert(eq(int, b->ops->check(inst, &err), PFC_OK), "%s", err.msg);
    b->ops->close(inst);
}

Test(backend_cpu, what_the_kernels_cannot_hold_is_skipped_and_not_an_error_of_the_suite)
{
    const pfc_case huge = case_of("gemm", "f32", (const int64_t[]){ 1 << 20, 1 << 20, 1 }, 3);
    const pfc_case none = case_of("gemm", "int8", (const int64_t[]){ 4, 4, 4 }, 3);
    const pfc_backend *b = pfc_backends_find(&backends, "cpu-scalar");
    void *inst = NULL;

    cr_assert(eq(int, b->ops->can(b, &huge, &err), PFC_OK));
    cr_assert(eq(int, b->ops->open(b, &huge, 1, &inst, &err), PFC_EUNAVAIL));
    cr_assert(eq(int, err.code, PFC_EUNAVAIL));
    cr_assert(eq(int, b->ops->open(b, &huge, 1, &inst, NULL), PFC_EUNAVAIL));
    cr_assert(eq(int, b->ops->open(b, &none, 1, &inst, &err), PFC_EUNAVAIL));
    cr_assert(eq(ptr, inst, NULL));
}

/* ---- the simulated accelerator, by the same interface ---- */

static pfc_code accel_can(const char *op, const char *dtype, const int64_t *params, size_t len)
{
    const pfc_case c = case_of(op, dtype, params, len);
    pfc_backends accel = { 0 };
    pfc_code code;

    err = (pfc_err){ 0 };
    pfc_backends_accel(&accel);
    cr_assert(gt(sz, accel.len, 0));
    cr_assert(accel.items[0].exact);
    code = accel.items[0].ops->can(&accel.items[0], &c, &err);
    pfc_backends_clear(&accel);
    return code;
}

Test(backend_cpu, the_accelerator_takes_what_its_operations_have_parameters_for)
{
    static const struct {
        const char *op, *dtype;
        int64_t params[6];
        bool taken;
    } rows[] = {
        { "gemm", "f32", { 4, 4, 4, 0 }, true },
        { "gemm", "int8", { 4, 4, 4, 0 }, true },
        { "gemm", "f32", { 4, 4, 4, 1 }, false }, /* no room between rows */
        { "attention", "bf16", { 2, 8, 8, 1, 0, 0 }, true },
        { "softmax", "f32", { 65536, 65536 }, true },
        { "softmax", "f32", { 4, 1 << 20 }, false },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        const pfc_code code = accel_can(rows[i].op, rows[i].dtype, rows[i].params,
                                        pfc_op_find(rows[i].op)->params_len);

        cr_expect(eq(int, code, rows[i].taken ? PFC_OK : PFC_EUNAVAIL), "row %zu: %s", i, err.msg);
    }
}
