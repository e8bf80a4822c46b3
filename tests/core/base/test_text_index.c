/* Texts found in a list. */

#include "core/base/text_index.h"

#include "tests/check/check.h"

Test(text_index, finds_each_text_of_a_list_and_no_other)
{
    static const char *const list[] = { "m", "", "zz", "a", "mm", "a" };
    static const struct {
        const char *text;
        int place; /* -1: not there */
    } rows[] = { { "m", 0 },    { "", 1 },   { "zz", 2 }, { "a", 3 },   { "mm", 4 },
                 { "mmm", -1 }, { "z", -1 }, { "l", -1 }, { "zzz", -1 } };

    for (size_t len = 0; len <= PFC_ARRAY_LEN(list); len++) {
        pfc_text_index index;

        pfc_text_index_make(&index, list, len);
        for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++) {
            const bool there = rows[i].place >= 0 && rows[i].place < (int)len;
            size_t place = 99;

            cr_expect(eq(int, pfc_text_index_find(&index, rows[i].text, &place), there),
                      "\"%s\" of %zu", rows[i].text, len);
            cr_expect(eq(int, pfc_text_index_find(&index, rows[i].text, NULL), there));
            cr_expect(eq(sz, place, there ? (size_t)rows[i].place : 99));
        }
        pfc_text_index_clear(&index);
    }
}
