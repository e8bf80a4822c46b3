#include "tests/check/check.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN_BEFORE = 200, SHOWN = 1500, MESSAGE = 8192 };

/* The text of both values in this thread's last comparison that did not hold. */
static _Thread_local char values[4096];

void pfc_check_begin(void)
{
    values[0] = '\0';
}

__attribute__((format(printf, 1, 2))) static bool differs(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(values, sizeof values, format, args);
    va_end(args);
    return false;
}

static void report(const char *file, unsigned line, const char *condition, const char *format,
                   va_list args)
{
    char message[MESSAGE];
    struct criterion_assert_stats stats = { .passed = false, .file = file, .line = line };
    int n = snprintf(message, sizeof message, "%s%s%s%s", condition ? condition : "",
                     values[0] ? "\n" : "", values, condition && format[0] ? "\n" : "");

    if (n >= 0 && (size_t)n < sizeof message)
        vsnprintf(message + n, sizeof message - (size_t)n, format, args);
    stats.message = message;
    criterion_send_assert(&stats);
}

void pfc_check_abort(const char *file, unsigned line, const char *condition, const char *format,
                     ...)
{
    va_list args;

    va_start(args, format);
    report(file, line, condition, format, args);
    va_end(args);
    criterion_abort_test();
}

void pfc_check_failed(const char *file, unsigned line, const char *condition, const char *format,
                      ...)
{
    va_list args;

    va_start(args, format);
    report(file, line, condition, format, args);
    va_end(args);
    criterion_continue_test();
}

#define ORDERED(name, type, as, word, relation, format)                                            \
    bool pfc_check_##word##_##name(type got, type expected)                                        \
    {                                                                                              \
        return got relation expected ||                                                            \
               differs("got " format ", expected " #relation " " format, (as)got, (as)expected);   \
    }
#define NUMBER(name, type, as, format)                                                             \
    ORDERED(name, type, as, eq, ==, format)                                                        \
    ORDERED(name, type, as, ne, !=, format)                                                        \
    ORDERED(name, type, as, lt, <, format)                                                         \
    ORDERED(name, type, as, le, <=, format)                                                        \
    ORDERED(name, type, as, gt, >, format)                                                         \
    ORDERED(name, type, as, ge, >=, format)

NUMBER(int, int, int, "%d")
NUMBER(uint, unsigned, unsigned, "%u")
NUMBER(long, long, long, "%ld")
NUMBER(chr, char, int, "character %d")
NUMBER(u16, uint16_t, unsigned, "%u")
NUMBER(i32, int32_t, int32_t, "%" PRId32)
NUMBER(u32, uint32_t, uint32_t, "%" PRIu32)
NUMBER(i64, int64_t, int64_t, "%" PRId64)
NUMBER(u64, uint64_t, uint64_t, "%" PRIu64)
NUMBER(sz, size_t, size_t, "%zu")
NUMBER(flt, float, double, "%.9g")
NUMBER(dbl, double, double, "%.17g")

/* From a little before the first difference, so that long texts show it. */
static bool texts_differ(const char *got, const char *expected)
{
    size_t at = 0, from;

    if (!got || !expected)
        return differs("got %s%.*s%s, expected %s%.*s%s", got ? "\"" : "", SHOWN,
                       got ? got : "NULL", got ? "\"" : "", expected ? "\"" : "", SHOWN,
                       expected ? expected : "NULL", expected ? "\"" : "");
    while (got[at] && got[at] == expected[at])
        at++;
    from = at > SHOWN_BEFORE ? at - SHOWN_BEFORE : 0;
    return differs("%s\"%.*s\"\nexpected %s\"%.*s\"\nthe first difference is at byte %zu",
                   from ? "got ..." : "got ", SHOWN, got + from, from ? "..." : "", SHOWN,
                   expected + from, at);
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

bool pfc_check_eq_str(const char *got, const char *expected)
{
    return same_text(got, expected) || texts_differ(got, expected);
}

bool pfc_check_ne_str(const char *got, const char *expected)
{
    return !same_text(got, expected) ||
           differs("got \"%.*s\", expected another text", SHOWN, got ? got : "NULL");
}

bool pfc_check_eq_ptr(const void *got, const void *expected)
{
    return got == expected || differs("got %p, expected %p", got, expected);
}

bool pfc_check_ne_ptr(const void *got, const void *expected)
{
    return got != expected || differs("got %p, expected another address", got);
}

bool pfc_check_epsilon_eq_flt(float got, float expected, double epsilon)
{
    return fabs((double)got - (double)expected) <= epsilon ||
           differs("got %.9g, expected %.9g within %g", (double)got, (double)expected, epsilon);
}

bool pfc_check_epsilon_eq_dbl(double got, double expected, double epsilon)
{
    return fabs(got - expected) <= epsilon ||
           differs("got %.17g, expected %.17g within %g", got, expected, epsilon);
}

/* The place of a number among all of its type, in their order. */
static int64_t place(double value)
{
    int64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits < 0 ? INT64_MIN - bits : bits;
}

bool pfc_check_ieee_ulp_eq_dbl(double got, double expected, uint64_t ulps)
{
    int64_t a = place(got), b = place(expected);
    uint64_t apart = a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;

    return (isfinite(got) && isfinite(expected) && apart <= ulps) ||
           differs("got %.17g, expected %.17g within %" PRIu64 " units in the last place", got,
                   expected, ulps);
}
