/*
 * Assertions of the tests, with the names and arguments of <criterion/new/assert.h>.
 *
 * Criterion's own macros become so much text that a compiler needs seconds for a file of tests, and
 * its gt() holds for equal values, too (2.4.1). Here a comparison is one call, which keeps both
 * values as text for the message of the assertion around it.
 *
 *   cr_assert(eq(int, got, 3));                     ends the test when it does not hold
 *   cr_expect(lt(dbl, ratio, 2.0), "round %d", k);  counts as failed and goes on
 *
 * Comparisons: eq ne lt le gt ge (TYPE, actual, expected), epsilon_eq(TYPE, actual, expected,
 * epsilon), ieee_ulp_eq(dbl, actual, expected, ulps), zero(TYPE, actual), not(condition). TYPE: int
 * uint long chr u16 i32 u32 i64 u64 sz, flt dbl, str (NULL equals only NULL; eq and ne), ptr (eq
 * and ne). Both sides are evaluated once, in any order.
 *
 * Any thread may assert; an assertion that ends the test does so in the thread of the test alone,
 * as Criterion says.
 */
#ifndef PFC_TESTS_CHECK_CHECK_H
#define PFC_TESTS_CHECK_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <criterion/criterion.h>

/** Forgets the values of the last comparison of this thread. */
void pfc_check_begin(void);
/** Report a failed assertion: its condition, the values of the last comparison, and the caller's
 * text. */
__attribute__((noreturn, format(printf, 4, 5))) void pfc_check_abort(const char *file,
                                                                     unsigned line,
                                                                     const char *condition,
                                                                     const char *format, ...);
__attribute__((format(printf, 4, 5))) void pfc_check_failed(const char *file, unsigned line,
                                                            const char *condition,
                                                            const char *format, ...);

#define PFC_CHECK_NUMBER(name, type)                                                               \
    bool pfc_check_eq_##name(type got, type expected);                                             \
    bool pfc_check_ne_##name(type got, type expected);                                             \
    bool pfc_check_lt_##name(type got, type expected);                                             \
    bool pfc_check_le_##name(type got, type expected);                                             \
    bool pfc_check_gt_##name(type got, type expected);                                             \
    bool pfc_check_ge_##name(type got, type expected);

#define PFC_CHECK_NUMBERS(one)                                                                     \
    one(int, int) one(uint, unsigned) one(long, long) one(chr, char) one(u16, uint16_t)            \
        one(i32, int32_t) one(u32, uint32_t) one(i64, int64_t) one(u64, uint64_t) one(sz, size_t)  \
            one(flt, float) one(dbl, double)

PFC_CHECK_NUMBERS(PFC_CHECK_NUMBER)
#undef PFC_CHECK_NUMBER

bool pfc_check_eq_str(const char *got, const char *expected);
bool pfc_check_ne_str(const char *got, const char *expected);
bool pfc_check_eq_ptr(const void *got, const void *expected);
bool pfc_check_ne_ptr(const void *got, const void *expected);
bool pfc_check_epsilon_eq_flt(float got, float expected, double epsilon);
bool pfc_check_epsilon_eq_dbl(double got, double expected, double epsilon);
/** Both finite, and at most `ulps` numbers of the type lie from one to the other. */
bool pfc_check_ieee_ulp_eq_dbl(double got, double expected, uint64_t ulps);

#define eq(type, got, expected)                  pfc_check_eq_##type(got, expected)
#define ne(type, got, expected)                  pfc_check_ne_##type(got, expected)
#define lt(type, got, expected)                  pfc_check_lt_##type(got, expected)
#define le(type, got, expected)                  pfc_check_le_##type(got, expected)
#define gt(type, got, expected)                  pfc_check_gt_##type(got, expected)
#define ge(type, got, expected)                  pfc_check_ge_##type(got, expected)
#define epsilon_eq(type, got, expected, epsilon) pfc_check_epsilon_eq_##type(got, expected, epsilon)
#define ieee_ulp_eq(type, got, expected, ulps)   pfc_check_ieee_ulp_eq_##type(got, expected, ulps)
#define zero(type, got)                          pfc_check_eq_##type(got, 0)
#define not(condition) (!(condition))

#undef cr_assert
#undef cr_expect
#undef cr_fatal
#undef cr_fail
#define cr_assert(condition, ...)                                                                  \
    do {                                                                                           \
        pfc_check_begin();                                                                         \
        if (!(condition))                                                                          \
            pfc_check_abort(__FILE__, __LINE__, #condition, "" __VA_ARGS__);                       \
    } while (0)
#define cr_expect(condition, ...)                                                                  \
    do {                                                                                           \
        pfc_check_begin();                                                                         \
        if (!(condition))                                                                          \
            pfc_check_failed(__FILE__, __LINE__, #condition, "" __VA_ARGS__);                      \
    } while (0)
#define cr_fatal(...) pfc_check_abort(__FILE__, __LINE__, NULL, __VA_ARGS__)
#define cr_fail(...)  pfc_check_failed(__FILE__, __LINE__, NULL, __VA_ARGS__)

#endif
