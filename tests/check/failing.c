/* Tests that fail, one by each kind of assertion; test_check.py reads the reports about them. */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/check/check.h"

#define NINETY                                                                                     \
    "012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"
#define LONG NINETY NINETY NINETY NINETY

Test(fails, assert_ends)
{
    cr_assert(eq(int, 1 + 1, 3), "sum of %d", 1);
    cr_log_warn("after an assertion that ended the test");
}

Test(fails, expect_goes_on)
{
    cr_expect(lt(dbl, 2.5, 1.5));
    cr_log_warn("after an expectation");
}

Test(fails, text)
{
    cr_expect(eq(str, LONG "ab", LONG "ac"));
    cr_expect(eq(str, NULL, ""));
}

Test(fails, negated)
{
    cr_expect(not(eq(sz, sizeof(int), sizeof(int))));
}

Test(fails, condition)
{
    cr_expect(not(eq(u64, 7, 8)));
    cr_expect(sizeof(int) == 0);
}

Test(fails, fatal)
{
    cr_fatal("no row of %s", "gemm");
    cr_log_warn("after a fatal one");
}

Test(fails, fail)
{
    cr_fail("the request was never read");
}

/* Each comparison, where it holds and where it does not; one line a wrong answer. */
#define ANSWER(holds, comparison)                                                                  \
    do {                                                                                           \
        if ((comparison) != (holds))                                                               \
            cr_log_warn("wrong answer: %s", #comparison);                                          \
    } while (0)
#define ORDER(type, low, high)                                                                     \
    do {                                                                                           \
        ANSWER(true, eq(type, low, low));                                                          \
        ANSWER(false, eq(type, low, high));                                                        \
        ANSWER(true, ne(type, low, high));                                                         \
        ANSWER(false, ne(type, high, high));                                                       \
        ANSWER(true, lt(type, low, high));                                                         \
        ANSWER(false, lt(type, low, low));                                                         \
        ANSWER(false, lt(type, high, low));                                                        \
        ANSWER(true, le(type, low, low));                                                          \
        ANSWER(false, le(type, high, low));                                                        \
        ANSWER(true, gt(type, high, low));                                                         \
        ANSWER(false, gt(type, low, low));                                                         \
        ANSWER(false, gt(type, low, high));                                                        \
        ANSWER(true, ge(type, low, low));                                                          \
        ANSWER(false, ge(type, low, high));                                                        \
    } while (0)

Test(answers, numbers)
{
    ORDER(int, -2, 1);
    ORDER(uint, 1U, 4000000000U);
    ORDER(long, -5000000000L, 5000000000L);
    ORDER(chr, 'a', 'b');
    ORDER(u16, 1, 65535);
    ORDER(i32, INT32_MIN, INT32_MAX);
    ORDER(u32, 0U, UINT32_MAX);
    ORDER(i64, INT64_MIN, INT64_MAX);
    ORDER(u64, 0U, UINT64_MAX);
    ORDER(sz, (size_t)0, SIZE_MAX);
    ORDER(flt, 1.0F, 1.0000001F);
    ORDER(dbl, 1.0, 1.0 + 0x1p-52);
    ANSWER(false, eq(dbl, 0.0 / 0.0, 0.0 / 0.0));
    ANSWER(true, zero(int, 0));
    ANSWER(false, zero(dbl, 0x1p-1074));
}

Test(answers, near)
{
    ANSWER(true, epsilon_eq(dbl, 1.0, 1.25, 0.25));
    ANSWER(true, epsilon_eq(dbl, 1.25, 1.0, 0.25));
    ANSWER(false, epsilon_eq(dbl, 1.0, 1.5, 0.25));
    ANSWER(false, epsilon_eq(dbl, 1.5, 1.0, 0.25));
    ANSWER(false, epsilon_eq(dbl, 0.0 / 0.0, 1.0, 0.25));
    ANSWER(true, epsilon_eq(flt, 1.0F, 1.25F, 0.25));
    ANSWER(false, epsilon_eq(flt, 1.5F, 1.0F, 0.25));
    ANSWER(true, ieee_ulp_eq(dbl, 1.0, 1.0 + 0x1p-51, 2));
    ANSWER(false, ieee_ulp_eq(dbl, 1.0, 1.0 + 0x1p-51, 1));
    ANSWER(true, ieee_ulp_eq(dbl, -0x1p-1074, 0x1p-1074, 2));
    ANSWER(false, ieee_ulp_eq(dbl, -0x1p-1074, 0x1p-1074, 1));
    ANSWER(false, ieee_ulp_eq(dbl, 1.0, -1.0, 8));
}

Test(answers, texts_and_addresses)
{
    int one, other;

    ANSWER(true, eq(str, LONG, LONG));
    ANSWER(false, eq(str, "a", "b"));
    ANSWER(false, eq(str, "a", NULL));
    ANSWER(true, eq(str, NULL, NULL));
    ANSWER(true, ne(str, "a", "ab"));
    ANSWER(false, ne(str, "a", "a"));
    ANSWER(true, ne(str, NULL, ""));
    ANSWER(true, eq(ptr, &one, &one));
    ANSWER(false, eq(ptr, &one, &other));
    ANSWER(true, ne(ptr, &one, NULL));
    ANSWER(false, ne(ptr, NULL, NULL));
}

/* How the runner ends a test. */

static void begin(void)
{
    cr_log_info("begun");
}

static void end(void)
{
    cr_log_info("torn down");
}

ReportHook(PRE_ALL)(struct criterion_test_set *tests)
{
    (void)tests;
    cr_log_info("before all");
}

ReportHook(POST_ALL)(struct criterion_global_stats *stats)
{
    (void)stats;
    cr_log_info("after all");
}

TestSuite(ends, .init = begin, .fini = end, .timeout = 600);

Test(ends, by_assertion)
{
    cr_assert(eq(int, 1, 2));
}

Test(ends, by_signal)
{
    (void)raise(SIGTERM);
}

Test(ends, without_its_signal, .signal = SIGTERM)
{
}

Test(ends, with_its_signal, .signal = SIGTERM)
{
    (void)raise(SIGTERM);
}

Test(ends, with_a_status)
{
    exit(3);
}

Test(ends, with_its_status, .exit_code = 3)
{
    exit(3);
}

Test(ends, too_late, .timeout = 0.2)
{
    for (;;)
        (void)pause();
}

Test(ends, skipped)
{
    cr_skip_test("no such device");
}

Test(ends, disabled, .disabled = true)
{
    cr_fail("a disabled test ran");
}
