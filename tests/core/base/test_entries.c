/* Files of named entries: quotes, joined lines, comments and limits. */
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/config/entries.h"

#include "tests/check/check.h"

static const char *const words[] = { "a", "bb", NULL };
static const pfc_entry_rules rules = { .what = "thing", .words = words, .max = 3 };
static pfc_buf seen;
static pfc_err err;

/* "NUMBER NAME a bb;" of each entry. */
static pfc_code note(void *arg, pfc_entry *e, pfc_err *error)
{
    const char *a = pfc_entry_get(e, "a");
    char *bb = pfc_entry_take(e, "bb");

    (void)arg;
    (void)error;
    pfc_buf_printf(&seen, "%zu %s %s %s;", e->number, e->name, a ? a : "-", bb ? bb : "-");
    free(bb);
    cr_expect(eq(ptr, (void *)pfc_entry_get(e, "bb"), NULL)); /* it was taken */
    cr_expect(eq(ptr, (void *)pfc_entry_get(e, "c"), NULL));
    return PFC_OK;
}

static const char *read_text(const char *text)
{
    pfc_buf_clear(&seen);
    pfc_buf_init(&seen, 1 << 16);
    err = (pfc_err){ 0 };
    return pfc_entries_read(text, "f", &rules, note, NULL, &err) ? err.msg : pfc_buf_text(&seen);
}

Test(entries, texts_and_what_is_read_from_them)
{
    static const struct {
        const char *text, *read;
    } rows[] = {
        { "", "" },
        { "\n # x\n\t\n", "" },
        { "n", "1 n - -;" },
        { "n a=1 bb=2\nm bb=3\r\n", "1 n 1 2;2 m - 3;" },
        { "n a=\"two words\" bb=x", "1 n two words x;" },
        { "n a=\"two words\"bb=x", "1 n two words x;" },
        { "n a=\"x=y # z\"", "1 n x=y # z -;" },
        { "n a=\"open", "1 n \"open -;" },
        { "n a=x\"y\"z", "1 n x\"y\"z -;" },
        { "n a=x=y", "1 n x=y -;" },
        { "n \\\n a=1 \\\n\nm a=2", "1 n 1 -;4 m 2 -;" },
        { "n a=1 \\", "f:1: expected NAME WORD=VALUE..., got \"\\\"" },
        { "n a=\"\"", "f:1: expected NAME WORD=VALUE..., got \"a=\"" },
        { "n a=1 a=2", "f:1: expected a once, got it twice" },
        { "n c=1", "f:1: unknown word \"c\"; known: a, bb" },
        { "n\n\nn", "f:3: another thing has this name" },
        { "x-1\ny_2\nz.3\n", "1 x-1 - -;2 y_2 - -;3 z.3 - -;" },
        { "x\ny\nz\nw", "f:4: expected at most 3 things" },
        { "N", "f:1: a line begins with the thing's name: [a-z0-9][a-z0-9._-]*" },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++)
        cr_expect(eq(str, (char *)read_text(rows[i].text), (char *)rows[i].read), "%zu", i);
    pfc_buf_clear(&seen);
}

Test(entries, a_line_has_at_most_8192_bytes)
{
    char text[PFC_ENTRY_MAX_BYTES + 2];

    memset(text, 'x', sizeof(text));
    memcpy(text, "n a=", 4);
    text[PFC_ENTRY_MAX_BYTES] = '\0';
    cr_expect(eq(int, strncmp(read_text(text), "1 n xx", 6), 0));
    text[PFC_ENTRY_MAX_BYTES] = 'x';
    text[PFC_ENTRY_MAX_BYTES + 1] = '\0';
    cr_expect(eq(str, (char *)read_text(text), "f:1: the line is over 8192 bytes"));
    pfc_buf_clear(&seen);
}
