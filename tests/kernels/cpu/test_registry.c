/* The table of operations: what it lists, what it refuses, and that a verification can fail. */
#include <string.h>

#include "kernels/cpu/op.h"

#include "tests/check/check.h"

static const pfc_kernel_op *gemm(void)
{
    const pfc_kernel_op *op = NULL;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_kernel_find("gemm", "f32", &op, &err), PFC_OK), "%s", err.msg);
    return op;
}

Test(registry, every_operation_is_found_by_its_own_name)
{
    cr_assert(gt(sz, pfc_kernel_count(), 0));
    cr_assert(pfc_kernel_at(pfc_kernel_count()) == NULL);
    for (size_t i = 0; i < pfc_kernel_count(); i++) {
        const pfc_kernel_op *op = pfc_kernel_at(i);
        const pfc_kernel_op *found = NULL;
        pfc_err err = { 0 };

        cr_assert(eq(int, pfc_kernel_find(pfc_kernel_name(op), pfc_kernel_dtype(op), &found, &err),
                     PFC_OK));
        cr_assert(found == op);
    }
}

Test(registry, an_unknown_operation_is_refused_with_the_known_names)
{
    const pfc_kernel_op *op = NULL;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_kernel_find("gemv", "f32", &op, &err), PFC_ENOTFOUND));
    cr_assert(strstr(err.msg, "kernel: no operation gemv/f32, there is ") == err.msg);
    cr_assert(strstr(err.msg, ", gemm/f32") || strstr(err.msg, " gemm/f32"));
    cr_assert(op == NULL);
    cr_assert(eq(int, pfc_kernel_find("gemm", "f17", &op, &err), PFC_ENOTFOUND));
    cr_assert(strstr(err.msg, "kernel: no operation gemm/f17, ") == err.msg);
    cr_assert(eq(int, pfc_kernel_find(NULL, NULL, &op, &err), PFC_ENOTFOUND));
    cr_assert(strstr(err.msg, "kernel: no operation (none)/(none), ") == err.msg);
}

Test(registry, every_operation_ends_with_a_scalar_variant_that_runs_anywhere)
{
    for (size_t i = 0; i < pfc_kernel_count(); i++) {
        const pfc_kernel_op *op = pfc_kernel_at(i);
        pfc_kernel_variant last = pfc_kernel_variant_at(op, pfc_kernel_variants(op) - 1);

        cr_assert(eq(str, last.backend, "cpu-scalar"));
        cr_assert(last.runnable);
        cr_assert(eq(str, last.reason, ""));
    }
}

Test(registry, a_variant_is_found_or_refused_with_the_reason)
{
    const pfc_kernel_op *op = gemm();

    for (size_t i = 0; i < pfc_kernel_variants(op); i++) {
        pfc_kernel_variant variant = pfc_kernel_variant_at(op, i);
        pfc_err err = { 0 };
        size_t found = SIZE_MAX;
        pfc_code code = pfc_kernel_variant_find(op, variant.backend, &found, &err);

        if (variant.runnable) {
            cr_assert(eq(int, code, PFC_OK));
            cr_assert(eq(sz, found, i));
        } else {
            cr_assert(eq(int, code, PFC_EUNAVAIL));
            cr_assert(strlen(variant.reason) > 0 && strstr(err.msg, variant.reason) != NULL);
            cr_assert(eq(sz, found, SIZE_MAX));
        }
    }
}

Test(registry, an_unknown_backend_is_refused_with_the_known_names)
{
    pfc_err err = { 0 };
    size_t found = SIZE_MAX;

    cr_assert(eq(int, pfc_kernel_variant_find(gemm(), "cpu-mmx", &found, &err), PFC_ENOTFOUND));
    cr_assert(strstr(err.msg, "cpu-scalar") != NULL);
    cr_assert(eq(int, pfc_kernel_variant_find(gemm(), NULL, &found, &err), PFC_ENOTFOUND));
    cr_assert(eq(sz, found, SIZE_MAX));
}

static pfc_code make(const pfc_kernel_arg *args, size_t len, pfc_err *err)
{
    pfc_kernel_case *problem = NULL;
    pfc_code code = pfc_kernel_case_new(&problem, gemm(), args, len, 1, err);

    cr_assert(eq(int, code == PFC_OK, problem != NULL));
    pfc_kernel_case_free(problem);
    return code;
}

Test(registry, bad_arguments_are_refused_and_named)
{
    const pfc_kernel_arg unknown[] = { { "q", 3 } };
    const pfc_kernel_arg nameless[] = { { NULL, 3 } };
    const pfc_kernel_arg twice[] = { { "m", 3 }, { "m", 3 } };
    const pfc_kernel_arg negative[] = { { "n", -1 } };
    const pfc_kernel_arg huge[] = { { "k", INT64_MAX } };
    pfc_err err = { 0 };

    cr_assert(eq(int, make(unknown, 1, &err), PFC_EINVAL));
    cr_assert(eq(str, err.field, "q"));
    cr_assert(eq(int, make(nameless, 1, &err), PFC_EINVAL));
    cr_assert(eq(int, make(twice, 2, &err), PFC_EINVAL));
    cr_assert(strstr(err.msg, "twice") != NULL);
    cr_assert(eq(int, make(negative, 1, &err), PFC_EINVAL));
    cr_assert(eq(str, err.field, "n"));
    cr_assert(eq(int, make(huge, 1, &err), PFC_EINVAL));
    cr_assert(eq(str, err.field, "k"));
}

Test(registry, every_parameter_of_every_operation_is_held_to_its_range)
{
    for (size_t i = 0; i < pfc_kernel_count(); i++) {
        const pfc_kernel_param *params = NULL;
        size_t len = pfc_kernel_params(pfc_kernel_at(i), &params);

        cr_assert(len > 0 && len <= PFC_KERNEL_MAX_PARAMS);
        for (size_t p = 0; p < len; p++) {
            const pfc_kernel_arg above = { params[p].name, params[p].max + 1 };
            const pfc_kernel_arg below = { params[p].name, params[p].min - 1 };
            pfc_kernel_case *problem = NULL;
            pfc_err err = { 0 };

            cr_assert(params[p].min <= params[p].fallback && params[p].fallback <= params[p].max);
            cr_assert(eq(int, pfc_kernel_case_new(&problem, pfc_kernel_at(i), &above, 1, 1, &err),
                         PFC_EINVAL));
            cr_assert(eq(int, pfc_kernel_case_new(&problem, pfc_kernel_at(i), &below, 1, 1, &err),
                         PFC_EINVAL));
            cr_assert(problem == NULL);
        }
    }
}

/* Every dimension at its maximum: 2^40 floats are 4 TiB, far over the limit of 2 GiB. */
Test(registry, all_parameters_at_their_maximum_are_too_big_for_every_operation)
{
    for (size_t i = 0; i < pfc_kernel_count(); i++) {
        pfc_kernel_arg args[PFC_KERNEL_MAX_PARAMS];
        const pfc_kernel_param *params = NULL;
        size_t len = pfc_kernel_params(pfc_kernel_at(i), &params);
        pfc_kernel_case *problem = NULL;
        pfc_err err = { 0 };

        for (size_t p = 0; p < len; p++)
            args[p] = (pfc_kernel_arg){ params[p].name, params[p].max };
        cr_assert(eq(int, pfc_kernel_case_new(&problem, pfc_kernel_at(i), args, len, 1, &err),
                     PFC_ETOOBIG));
        cr_assert(problem == NULL);
    }
}

Test(registry, a_plan_remembers_a_size_that_overflows)
{
    pfc_kernel_plan plan = { 0 };

    pfc_kernel_plan_add(&plan, PFC_KERNEL_IN, SIZE_MAX / 2, 2, 0.0F, 1.0F);
    cr_assert(not(plan.overflow));
    pfc_kernel_plan_add(&plan, PFC_KERNEL_IN, SIZE_MAX / 2, 3, 0.0F, 1.0F);
    cr_assert(plan.overflow);
}

Test(registry, a_label_has_the_parameters_in_order_and_hides_quiet_ones)
{
    const pfc_kernel_arg args[] = { { "k", 5 }, { "m", 7 }, { "n", 11 }, { "pad", 3 } };
    pfc_kernel_case *problem = NULL;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_kernel_case_new(&problem, gemm(), args, 3, 1, &err), PFC_OK));
    cr_assert(eq(str, pfc_kernel_label(problem), "gemm/f32/m7n11k5"));
    /* 2 * 7 * 11 * 5 operations; 35 + 55 + 77 floats of four bytes. */
    cr_assert(epsilon_eq(dbl, pfc_kernel_flops(problem), 770.0, 0.0));
    cr_assert(epsilon_eq(dbl, pfc_kernel_bytes(problem), 668.0, 0.0));
    cr_assert(eq(i64, pfc_kernel_value(problem, "n"), 11));
    pfc_kernel_case_free(problem);

    cr_assert(eq(int, pfc_kernel_case_new(&problem, gemm(), args, 4, 1, &err), PFC_OK));
    cr_assert(eq(str, pfc_kernel_label(problem), "gemm/f32/m7n11k5pad3"));
    pfc_kernel_case_free(problem);
}

/* An operation of two numbers that does whatever its parameter says. */
enum { HONEST, WRONG, OUTSIDE, BEFORE, INPUT, NOTHING, BEHAVIOURS };

static void odd_plan(const int64_t *values, pfc_kernel_plan *plan)
{
    (void)values;
    pfc_kernel_plan_add(plan, PFC_KERNEL_IN, 1, 2, 1.0F, 2.0F);
    pfc_kernel_plan_add(plan, PFC_KERNEL_OUT, 1, 2, 0.0F, 0.0F);
    plan->flops = 2.0;
    plan->bytes = 16.0;
}

static void odd_run(const int64_t *values, float *const *buf)
{
    volatile float *out = buf[1];

    if (values[0] == NOTHING)
        return;
    out[0] = 2.0F * buf[0][0];
    out[1] = values[0] == WRONG ? 0.0F : 2.0F * buf[0][1];
    if (values[0] == OUTSIDE)
        out[2] = 1.0F;
    if (values[0] == BEFORE)
        out[-1] = 1.0F;
    if (values[0] == INPUT)
        buf[0][1] = 0.0F;
}

static void odd_verify(const int64_t *values, float *const *buf, pfc_kernel_check *check)
{
    (void)values;
    for (size_t j = 0; j < 2; j++)
        pfc_kernel_compare(check, 0, j, buf[1][j], 2.0 * buf[0][j], 0.0);
}

Test(registry, verification_catches_each_way_of_being_wrong)
{
    static const pfc_kernel_param param = { "how", "what it does", 0, BEHAVIOURS - 1, 0, false };
    static const pfc_kernel_impl impl = { "cpu-scalar", PFC_CPU_ANY, odd_run };
    static const char *const said[BEHAVIOURS] = {
        [HONEST] = "",
        [WRONG] = "row 0, column 1",
        [OUTSIDE] = "outside buffer 1",
        [BEFORE] = "outside buffer 1",
        [INPUT] = "changed its input",
        [NOTHING] = "got nan",
    };
    const pfc_kernel_op odd = { .name = "odd",
                                .dtype = "f32",
                                .headline = "none",
                                .params = &param,
                                .params_len = 1,
                                .impls = &impl,
                                .impls_len = 1,
                                .plan = odd_plan,
                                .verify = odd_verify };

    for (int how = 0; how < BEHAVIOURS; how++) {
        const pfc_kernel_arg arg = { "how", how };
        pfc_kernel_case *problem = NULL;
        pfc_kernel_check check = { 0 };
        pfc_err err = { 0 };

        cr_assert(eq(int, pfc_kernel_case_new(&problem, &odd, &arg, 1, 1, &err), PFC_OK));
        cr_assert(eq(int, pfc_kernel_verify(problem, 0, &check, &err),
                     how == HONEST ? PFC_OK : PFC_EBROKEN));
        cr_assert(strstr(err.msg, said[how]) != NULL, "%s", err.msg);
        pfc_kernel_case_free(problem);
    }
}

Test(registry, the_same_seed_gives_the_same_input_and_another_gives_another)
{
    const pfc_kernel_arg args[] = { { "m", 3 }, { "n", 3 }, { "k", 3 } };
    pfc_kernel_check checks[3] = { { 0 } };
    const uint64_t seeds[3] = { 7, 7, 8 };

    for (size_t i = 0; i < 3; i++) {
        pfc_kernel_case *problem = NULL;
        pfc_err err = { 0 };

        cr_assert(eq(int, pfc_kernel_case_new(&problem, gemm(), args, 3, seeds[i], &err), PFC_OK));
        cr_assert(eq(int,
                     pfc_kernel_verify(problem, pfc_kernel_variants(gemm()) - 1, &checks[i], &err),
                     PFC_OK),
                  "%s", err.msg);
        pfc_kernel_case_free(problem);
    }
    cr_assert(epsilon_eq(dbl, checks[0].want, checks[1].want, 0.0));
    cr_assert(checks[0].want != checks[2].want);
}
