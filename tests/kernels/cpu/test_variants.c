/* Every variant of every operation against the double-precision reference, at the sizes that bite.
 */
#include <math.h>
#include <stdio.h>

#include "kernels/cpu/kernel.h"

#include "tests/check/check.h"

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

/* 6 x 16, 12 x 32 and their halves are the tiles; 3 and 4, 12 and 13 rows part the paths. */
Test(gemm, every_small_size_and_offset_is_right)
{
    static const int64_t rows[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 23 };
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
    check_gemm(4, 700, 401, 1);
    check_gemm(16, 203, 330, 0);
    check_gemm(7, 390, 335, 2);
    check_gemm(25, 401, 519, 0);
    check_gemm(389, 70, 261, 5);
    check_gemm(771, 33, 40, 0);
    check_gemm(390, 4130, 9, 1);
    check_gemm(401, 77, 800, 1);
    check_gemm(17, 300, 1100, 0);
    check_gemm(1, 1000, 1030, 0);
    check_gemm(3, 77, 1025, 2);
    check_gemm(1000, 10, 700, 0);
}

/* 8 lanes, 32 to a step (64 in the sum of squares), and rows past the first cache. */
static void check_rows(const char *name)
{
    static const int64_t cols[] = { 0, 1, 7, 8, 9, 31, 32, 33, 63, 64, 65, 72, 127, 1000, 8193 };

    for (size_t i = 0; i < PFC_ARRAY_LEN(cols); i++) {
        const pfc_kernel_arg none[] = { { "rows", 0 }, { "cols", cols[i] } };
        const pfc_kernel_arg one[] = { { "rows", 1 }, { "cols", cols[i] } };
        const pfc_kernel_arg few[] = { { "rows", 5 }, { "cols", cols[i] } };

        check_all(name, none, 2);
        check_all(name, one, 2);
        check_all(name, few, 2);
    }
}

Test(layernorm, every_length_of_row_is_right)
{
    check_rows("layernorm");
}

Test(rmsnorm, every_length_of_row_is_right)
{
    check_rows("rmsnorm");
}

Test(softmax, every_length_of_row_is_right)
{
    check_rows("softmax");
}

static void check_attention(int64_t heads, int64_t seq, int64_t dim)
{
    for (int64_t causal = 0; causal <= 1; causal++) {
        const pfc_kernel_arg args[] = {
            { "h", heads }, { "s", seq }, { "d", dim }, { "causal", causal }
        };

        check_all("attention", args, 4);
    }
}

Test(attention, every_small_size_is_right_causal_and_not)
{
    static const int64_t lengths[] = { 0, 1, 5, 6, 7, 15, 16, 17, 47, 48, 49 };
    static const int64_t dims[] = { 0, 1, 7, 8, 9, 16, 17, 64 };

    for (size_t i = 0; i < PFC_ARRAY_LEN(lengths); i++)
        for (size_t j = 0; j < PFC_ARRAY_LEN(dims); j++)
            check_attention((int64_t)((i + j) % 3), lengths[i], dims[j]);
}

/* 128 keys are a block, 48 queries are one, and the two do not share a border until 384. */
Test(attention, sequences_longer_than_a_block_are_right_causal_and_not)
{
    check_attention(1, 127, 33);
    check_attention(2, 128, 40);
    check_attention(1, 129, 64);
    check_attention(1, 385, 17);
    check_attention(1, 300, 256);
}
