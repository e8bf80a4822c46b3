/* Parameters of statements: single values as text, arrays in PostgreSQL's binary form. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "server/repo/connection/db.h"

#include "tests/check/check.h"

static pfc_args args;

static void clear(void)
{
    pfc_args_clear(&args);
    cr_assert(eq(int, args.len, 0));
}

TestSuite(args, .fini = clear);

/* Dimensions, nulls, type, length, first index: five big-endian numbers; then the elements. */
static void check_array(const char *hex)
{
    const unsigned char *got = (const unsigned char *)args.values[args.len - 1];
    const size_t len = (size_t)args.lengths[args.len - 1];
    pfc_buf text;

    pfc_buf_init(&text, 4096);
    for (size_t i = 0; i < len; i++)
        pfc_buf_printf(&text, "%s%02x", i && i % 4 == 0 ? " " : "", got[i]);
    cr_assert(eq(str, (char *)pfc_buf_text(&text), (char *)hex));
    cr_assert(eq(int, args.binary[args.len - 1], 1));
    pfc_buf_clear(&text);
}

static void check_text(int at, const char *text)
{
    if (!text)
        cr_assert(eq(ptr, (void *)args.values[at], NULL));
    else
        cr_assert(eq(str, (char *)args.values[at], (char *)text), "%d", at);
    cr_assert(eq(int, args.binary[at], 0));
}

Test(args, single_values_are_text_or_null)
{
    static const char *const texts[] = { "a",  NULL, "owned", "-9223372036854775808",
                                         "7",  NULL, "-1",    "0.10000000000000001",
                                         NULL, NULL, NULL,    "t",
                                         "f" };

    pfc_args_text(&args, "a");
    pfc_args_text(&args, NULL);
    pfc_args_own(&args, pfc_strdup("owned"));
    pfc_args_i64(&args, INT64_MIN);
    pfc_args_id(&args, 7);
    pfc_args_id(&args, 0);
    pfc_args_id(&args, -1);
    pfc_args_f64(&args, 0.1);
    pfc_args_f64(&args, NAN);
    pfc_args_f64(&args, INFINITY);
    pfc_args_f64(&args, -INFINITY);
    pfc_args_bool(&args, true);
    pfc_args_bool(&args, false);
    cr_assert(eq(int, args.len, (int)PFC_ARRAY_LEN(texts)));
    for (int i = 0; i < args.len; i++)
        check_text(i, texts[i]);
}

Test(args, an_empty_array_has_no_dimension)
{
    pfc_args_texts(&args, NULL, 0);
    check_array("00000000 00000000 00000019");
    pfc_args_i64s(&args, NULL, 0);
    check_array("00000000 00000000 00000014");
    pfc_args_u32s(&args, NULL, 0);
    check_array("00000000 00000000 00000017");
    pfc_args_f64s(&args, NULL, 0);
    check_array("00000000 00000000 000002bd");
    pfc_args_bools(&args, NULL, 0);
    check_array("00000000 00000000 00000010");
}

Test(args, arrays_hold_their_elements_with_their_lengths)
{
    pfc_args_texts(&args, (const char *const[]){ "ab", "", "cdef" }, 3);
    check_array("00000001 00000000 00000019 00000003 00000001 00000002 61620000 00000000 "
                "00046364 6566");
    pfc_args_texts(&args, (const char *const[]){ NULL, "x" }, 2);
    check_array("00000001 00000001 00000019 00000002 00000001 ffffffff 00000001 78");
    pfc_args_texts(&args, (const char *const[]){ "x", NULL }, 2);
    check_array("00000001 00000001 00000019 00000002 00000001 00000001 78ffffff ff");
    pfc_args_i64s(&args, (const int64_t[]){ 1, -2 }, 2);
    check_array("00000001 00000000 00000014 00000002 00000001 00000008 00000000 00000001 00000008 "
                "ffffffff fffffffe");
    pfc_args_u32s(&args, (const uint32_t[]){ 5, UINT32_MAX }, 2); /* as many as an int holds */
    check_array("00000001 00000000 00000017 00000002 00000001 00000004 00000005 00000004 7fffffff");
    pfc_args_f64s(&args, (const double[]){ 1.0, -2.5 }, 2);
    check_array("00000001 00000000 000002bd 00000002 00000001 00000008 3ff00000 00000000 00000008 "
                "c0040000 00000000");
    pfc_args_f64s(&args, (const double[]){ NAN, 1.0 }, 2);
    check_array("00000001 00000001 000002bd 00000002 00000001 ffffffff 00000008 3ff00000 00000000");
    pfc_args_bools(&args, (const bool[]){ true, false }, 2);
    check_array("00000001 00000000 00000010 00000002 00000001 00000001 01000000 0100");
}

Test(args, an_array_as_text_is_quoted)
{
    char *text = pfc_array_literal((const char *const[]){ "a", "", "b\"c", "d\\e", "{f,g}" }, 5);

    cr_assert(eq(str, text, "{\"a\",\"\",\"b\\\"c\",\"d\\\\e\",\"{f,g}\"}"));
    free(text);
    text = pfc_array_literal(NULL, 0);
    cr_assert(eq(str, text, "{}"));
    free(text);
}
