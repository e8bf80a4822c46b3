/* Buffers, errors and memory. */
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"

#include "tests/check/check.h"

Test(buf, appends_and_terminates)
{
    pfc_buf buf;

    pfc_buf_init(&buf, 100);
    cr_assert(eq(str, (char *)pfc_buf_text(&buf), ""));
    pfc_buf_puts(&buf, "a=");
    pfc_buf_printf(&buf, "%d,%s", 42, "x");
    pfc_buf_putc(&buf, '!');
    cr_assert(eq(str, (char *)pfc_buf_text(&buf), "a=42,x!"));
    cr_assert(eq(sz, buf.len, 7));
    pfc_buf_clear(&buf);
}

Test(buf, the_first_append_over_the_limit_is_remembered_and_adds_nothing)
{
    pfc_buf buf;
    pfc_err err = { 0 };

    pfc_buf_init(&buf, 4);
    pfc_buf_puts(&buf, "1234");
    cr_assert(eq(int, pfc_buf_check(&buf, "list", &err), PFC_OK));
    pfc_buf_puts(&buf, "5");
    pfc_buf_puts(&buf, "");
    cr_assert(eq(str, (char *)pfc_buf_text(&buf), "1234"));
    cr_assert(eq(int, pfc_buf_check(&buf, "list", &err), PFC_ETOOBIG));
    cr_assert(eq(str, err.msg, "list: expected at most 4 bytes, it is larger"));
    pfc_buf_clear(&buf);
}

Test(buf, take_hands_over_the_text_and_empties_the_buffer)
{
    pfc_buf buf;
    char *text;

    pfc_buf_init(&buf, 10);
    text = pfc_buf_take(&buf);
    cr_assert(eq(str, text, ""));
    free(text);
    pfc_buf_puts(&buf, "abc");
    text = pfc_buf_take(&buf);
    cr_assert(eq(str, text, "abc"));
    cr_assert(eq(sz, buf.len, 0));
    free(text);
}

Test(buf, a_huge_append_does_not_overflow_the_sum)
{
    pfc_buf buf;

    pfc_buf_init(&buf, SIZE_MAX);
    pfc_buf_puts(&buf, "x");
    pfc_buf_append(&buf, "", SIZE_MAX);
    cr_assert(buf.overflow);
    pfc_buf_clear(&buf);
}

Test(err, wrap_puts_the_context_first_and_keeps_the_code)
{
    pfc_err err = { 0 };

    pfc_err_set_field(&err, PFC_ENOTFOUND, "a.b", "no %s", "thing");
    cr_assert(eq(int, pfc_err_wrap(&err, "load %d", 7), PFC_ENOTFOUND));
    cr_assert(eq(str, err.msg, "load 7: no thing"));
    cr_assert(eq(str, err.field, "a.b"));
}

Test(err, long_texts_are_cut_not_overrun)
{
    pfc_err err = { 0 };
    char text[2000];

    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    pfc_err_set_field(&err, PFC_EIO, text, "%s", text);
    cr_assert(eq(sz, strlen(err.msg), PFC_ERR_MAX - 1));
    cr_assert(eq(sz, strlen(err.field), PFC_ERR_FIELD_MAX - 1));
    pfc_err_wrap(&err, "%s", text);
    cr_assert(eq(sz, strlen(err.msg), PFC_ERR_MAX - 1));
    cr_assert(eq(int, pfc_err_set(NULL, PFC_EIO, "connection refused"), PFC_EIO));
}

Test(err, exit_statuses_are_those_of_the_contract)
{
    cr_assert(eq(int, pfc_code_exit(PFC_OK), 0));
    cr_assert(eq(int, pfc_code_exit(PFC_EINVAL), 2));
    cr_assert(eq(int, pfc_code_exit(PFC_EBROKEN), 4));
    cr_assert(eq(int, pfc_code_exit(PFC_EUNAVAIL), 5));
    cr_assert(eq(str, (char *)pfc_code_name(PFC_ETOOBIG), "ETOOBIG"));
}

Test(memory, grow_zeroes_the_new_part)
{
    size_t cap = 0;
    int *items = NULL;

    for (int i = 0; i < 100; i++) {
        items = pfc_grow(items, (size_t)i, &cap, sizeof *items);
        cr_assert(eq(int, items[i], 0));
        items[i] = i;
    }
    cr_assert(eq(int, items[99], 99));
    free(items);
}

Test(memory, streq_knows_null)
{
    cr_assert(pfc_streq(NULL, NULL));
    cr_assert_not(pfc_streq(NULL, ""));
    cr_assert(pfc_streq("a", "a"));
    cr_assert_not(pfc_streq("a", "b"));
}
