/* Fidelity L2: the ticked array, the closed forms, the engine and three loops agree. */
#include <stdlib.h>
#include <string.h>

#include "kernels/accel/reference/compare.h"

#include "tests/check/check.h"

#define CASES 300

static const pfc_accel_mode modes[] = { PFC_ACCEL_SCALESIM_WS, PFC_ACCEL_SCALESIM_OS,
                                        PFC_ACCEL_SCALESIM_IS, PFC_ACCEL_PIPELINED_WS };

Test(ticked, every_cell_agrees_with_the_closed_forms_and_the_engine)
{
    uint64_t ticks = 0;
    pfc_rng rng;

    pfc_rng_seed(&rng, 1);
    for (size_t i = 0; i < CASES; i++) {
        pfc_accel_compare p;

        pfc_accel_compare_draw(&p, &rng, 100);
        for (size_t k = 0; k < PFC_ARRAY_LEN(modes); k++) {
            pfc_err err = { 0 };

            cr_assert(eq(int, pfc_accel_compare_run(&p, modes[k], &ticks, &err), PFC_OK),
                      "case %zu: %s", i, err.msg);
        }
        pfc_accel_compare_free(&p);
    }
    cr_assert(gt(u64, ticks, (uint64_t)CASES * PFC_ARRAY_LEN(modes)));
}

static pfc_accel_ticked run(pfc_accel_mode mode, uint32_t rows, uint32_t cols, uint32_t m,
                            uint32_t n, uint32_t k, const int8_t *a, const int8_t *b, int32_t *c)
{
    pfc_accel_ticked t = {
        .mode = mode, .rows = rows, .cols = cols, .m = m, .n = n, .k = k, .a = a, .b = b, .c = c
    };
    pfc_err err = { 0 };

    cr_assert(eq(int, pfc_accel_ticked_run(&t, &err), PFC_OK), "%s", err.msg);
    return t;
}

/* [1 2; 3 4] [5 6; 7 8] on 2x2 cells, by hand. Weights take ticks 0 and 1, the rows enter in 2 and
 * 3, one cell lower a tick later, one to the right another: the last product is in tick 5. */
Test(ticked, two_by_two_by_hand)
{
    static const int8_t a[] = { 1, 2, 3, 4 };
    static const int8_t b[] = { 5, 6, 7, 8 };
    static const int32_t want[] = { 19, 22, 43, 50 };

    for (size_t i = 0; i < PFC_ARRAY_LEN(modes); i++) {
        int32_t c[4] = { -1, -1, -1, -1 };
        const pfc_accel_ticked t = run(modes[i], 2, 2, 2, 2, 2, a, b, c);

        cr_assert(eq(u64, t.last, modes[i] == PFC_ACCEL_SCALESIM_OS ? 3 : 5));
        cr_assert(eq(u64, t.products, 8));
        for (size_t e = 0; e < 4; e++)
            cr_assert(eq(i32, c[e], want[e]));
    }
}

/* Two folds along k, one row, on a 3x1 array. Weights of the second arrive while the first row
 * passes: it enters in tick 3, the next in tick 6, and its sum leaves below three rows in tick 8.
 * Without the second weight: two folds of 3 + 3 ticks. */
Test(ticked, weights_of_the_next_fold_are_hidden)
{
    static const int8_t a[] = { 1, 1, 1, 1, 1, -128 };
    static const int8_t b[] = { 1, 2, 3, 4, 5, -128 };
    int32_t c = 0;

    cr_assert(eq(u64, run(PFC_ACCEL_PIPELINED_WS, 3, 1, 1, 1, 6, a, b, &c).last, 8));
    cr_assert(eq(i32, c, 15 + 16384));
    cr_assert(eq(u64, run(PFC_ACCEL_SCALESIM_WS, 3, 1, 1, 1, 6, a, b, &c).last, 11));
    cr_assert(eq(i32, c, 15 + 16384));
}

/* Every product is 2^14, and there are more than 2^17 of them. */
Test(ticked, sums_wrap_as_in_the_engine)
{
    enum { K = 140000 };

    pfc_accel_compare p = { .rows = 32, .cols = 1, .load_rows = 1, .m = 1, .n = 1, .k = K };
    uint64_t ticks = 0;

    p.a = pfc_alloc(K);
    p.b = pfc_alloc(K);
    memset(p.a, -128, K);
    memset(p.b, -128, K);
    for (size_t i = 0; i < PFC_ARRAY_LEN(modes); i++) {
        pfc_err err = { 0 };

        cr_assert(eq(int, pfc_accel_compare_run(&p, modes[i], &ticks, &err), PFC_OK), "%s",
                  err.msg);
    }
    pfc_accel_compare_free(&p);
}

Test(ticked, empty_problems_and_arrays_that_it_has_not)
{
    int32_t c[2] = { 7, 7 };
    pfc_accel_ticked t = run(PFC_ACCEL_SCALESIM_WS, 4, 4, 1, 2, 0, NULL, NULL, c);
    pfc_err err = { 0 };

    cr_assert(eq(u64, t.last, 0));
    cr_assert(eq(i32, c[0] | c[1], 0));
    t.rows = PFC_ACCEL_TICKED_MAX + 1;
    cr_assert(eq(int, pfc_accel_ticked_run(&t, &err), PFC_EINVAL));
    t.rows = 4;
    t.cols = 0;
    cr_assert(eq(int, pfc_accel_ticked_run(&t, &err), PFC_EINVAL));
    t.cols = 4;
    t.mode = PFC_ACCEL_ONNXIM_WS;
    cr_assert(eq(int, pfc_accel_ticked_run(&t, &err), PFC_EINVAL));
}

/* ONNXim's rule: its ticked core and the closed form within 0.5 %; they are equal. */
Test(ticked, onnxim_rule_agrees_with_its_ticked_core)
{
    pfc_rng rng;

    pfc_rng_seed(&rng, 3);
    for (size_t i = 0; i < 1000; i++) {
        const uint64_t rows = 1 + pfc_rng_below(&rng, 128);
        const uint64_t cols = 1 + pfc_rng_below(&rng, 128);
        const uint64_t m = 1 + pfc_rng_below(&rng, 1u << pfc_rng_below(&rng, 9));
        const uint64_t n = 1 + pfc_rng_below(&rng, 500);
        const uint64_t k = 1 + pfc_rng_below(&rng, 500);
        const uint64_t folds = ((n + cols - 1) / cols) * ((k + rows - 1) / rows);

        cr_assert(eq(u64, pfc_accel_tensor_cycles(PFC_ACCEL_ONNXIM_WS, rows, cols, m, n, k),
                     pfc_accel_ticked_issue(rows, cols, folds, m)),
                  "%llux%llu: %llu %llu %llu", (unsigned long long)rows, (unsigned long long)cols,
                  (unsigned long long)m, (unsigned long long)n, (unsigned long long)k);
    }
    cr_assert(eq(u64, pfc_accel_ticked_issue(8, 8, 0, 5), 0));
}
