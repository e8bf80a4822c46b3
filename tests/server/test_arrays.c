/* Arrays in rows, as PostgreSQL prints them. */
#include <stdlib.h>

#include "server/repo/statements/statement.h"

#include "tests/check/check.h"

/* The elements, each in brackets. */
static char *texts_of(const char *text)
{
    char *out = pfc_strdup("");
    pfc_texts texts = { 0 };

    pfc_array_texts((pfc_array_text){ text }, &texts);
    for (size_t i = 0; i < texts.len; i++) {
        char *longer = pfc_format("%s[%s]", out, texts.items[i]);

        free(out);
        out = longer;
    }
    pfc_texts_clear(&texts);
    cr_assert(eq(ptr, texts.items, NULL));
    return out;
}

/* Forms of array_out (PostgreSQL 15): quotes where a text is empty, is NULL or has one of the
 * characters that structure the array, and a backslash before quotes and backslashes. */
Test(arrays, texts_are_read_as_they_were_stored)
{
    static const char *const rows[][2] = {
        { NULL, "" },
        { "{}", "" },
        { "{a}", "[a]" },
        { "{src/a.c,src/b.c}", "[src/a.c][src/b.c]" },
        { "{\"a b\",c}", "[a b][c]" },
        { "{\"a,b\",\"{c}\"}", "[a,b][{c}]" },
        { "{\"say \\\"x\\\"\",\"back\\\\slash\"}", "[say \"x\"][back\\slash]" },
        { "{\"\",b}", "[][b]" },
        { "{a,NULL,b}", "[a][b]" },
        { "{\"NULL\"}", "[NULL]" },
        { "{NULLS,\"null\"}", "[NULLS][null]" },
        { "{\"ends with \\\\\",b}", "[ends with \\][b]" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        char *got = texts_of(rows[i][0]);

        cr_expect(eq(str, got, (char *)rows[i][1]), "%s", rows[i][0] ? rows[i][0] : "NULL");
        free(got);
    }
}

/* A text that a broken connection cut ends the reading, without a byte behind it. */
Test(arrays, a_text_without_its_end_is_read_up_to_its_end)
{
    static const char *const rows[][2] = {
        { "{", "[]" }, { "{a", "[a]" }, { "{a,", "[a][]" }, { "{\"a", "[a]" }, { "{\"a\\", "[a\\]" }
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
        char *own = pfc_strdup(rows[i][0]), *got = texts_of(own);

        cr_expect(eq(str, got, (char *)rows[i][1]), "%s", rows[i][0]);
        free(got);
        free(own);
    }
}

Test(arrays, whole_numbers_keep_their_64_bits_and_null_is_zero)
{
    int64_t *values = NULL;
    size_t len = 0;

    pfc_array_i64s((pfc_array_text){ "{-9223372036854775808,0,NULL,9223372036854775807}" }, &values,
                   &len);
    cr_assert(eq(sz, len, 4));
    cr_expect(eq(i64, values[0], INT64_MIN));
    cr_expect(eq(i64, values[1], 0));
    cr_expect(eq(i64, values[2], 0));
    cr_expect(eq(i64, values[3], INT64_MAX));
    free(values);
    pfc_array_i64s((pfc_array_text){ NULL }, &values, &len);
    cr_expect(eq(sz, len, 0));
    cr_expect(eq(ptr, values, NULL));
}
