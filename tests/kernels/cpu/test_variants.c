/* Every variant of every operation against the double-precision reference, at the sizes that bite. */
#include <math.h>
#include <stdio.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "kernels/cpu/kernel.h"

/* Verifies one problem with every variant this machine can run; says which it cannot. */
static void check_all(const char *name, const pfc_kernel_arg *args, size_t len)
{
    const pfc_kernel_op *op = NULL;
    pfc_kernel_case *problem = NULL;
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_kernel_find(name, "f32", &op, &err), PFC_OK), "%s", err.msg);
    cr_assert(eq(int, pfc_kernel_case_new(&problem, op, args, len, 42, &err), PFC_OK), "%s",
              err.msg);
    for (size_t i = 0; i < pfc_kernel_variants(op); i++) {
        pfc_kernel_variant variant = pfc_kernel_variant_at(op, i);
        pfc_kernel_check check = { 0 };

        if (!variant.runnable) {
            cr_log_info("%s skips %s: %s", name, variant.backend, variant.reason);
            continue;
        }
        cr_assert(eq(int, pfc_kernel_verify(problem, i, &check, &err), PFC_OK), "%s", err.msg);
        cr_assert(not(isnan(check.worst_ratio)));
    }
    pfc_kernel_case_free(problem);
}

static void check_gemm(int64_t m, int64_t n, int64_t k, int64_t pad)
{
    const pfc_kernel_arg args[] = { { "m", m }, { "n", n }, { "k", k }, { "pad", pad } };

    check_all("gemm", args, 4);
}

/* 6 x 16 and its halves are the tile; 3 and 4 rows part the thin path from the others. */
Test(gemm, every_small_size_and_offset_is_right)
{
    static const int64_t rows[] = { 0, 1, 2, 3, 4, 5, 6, 7, 12, 13 };
    static const int64_t cols[] = { 0, 1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 49 };
    static const int64_t depths[] = { 0, 1, 2, 7, 8, 9, 17 };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++)
        for (size_t j = 0; j < PFC_ARRAY_LEN(cols); j++)
            for (size_t p = 0; p < PFC_ARRAY_LEN(depths); p++)
                check_gemm(rows[i], cols[j], depths[p], (int64_t)((i + j + p) % 4));
}

/* Past every block limit: several blocks of rows, of depth and of columns, none of them whole. */
Test(gemm, sizes_larger_than_a_block_are_right)
{
    check_gemm(97, 131, 101, 0);
    check_gemm(100, 96, 100, 3);
    check_gemm(4, 210, 300, 1);
    check_gemm(25, 401, 519, 0);
    check_gemm(389, 70, 261, 5);
    check_gemm(771, 33, 40, 0);
    check_gemm(390, 4130, 9, 1);
    check_gemm(1, 1000, 1030, 0);
    check_gemm(3, 77, 1025, 2);
    check_gemm(1000, 10, 700, 0);
}
