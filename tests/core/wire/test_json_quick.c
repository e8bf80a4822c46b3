/* The quick reader beside jansson: the same trees, to the bit, or none. */
#include <stdio.h>
#include <string.h>

#include "core/base/rng.h"
#include "core/wire/wire_priv.h"

#include "tests/check/check.h"

static const pfc_json_limits all = { SIZE_MAX, SIZE_MAX };

static json_t *slow(const char *text)
{
    return json_loads(text, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
}

Test(json_quick, makes_the_trees_that_jansson_makes)
{
    static const char *const texts[] = { "{}",
                                         "[]",
                                         " [ 1 , -2.5 , 0.125 ] ",
                                         "\"text\"",
                                         "-0",
                                         "-0.0",
                                         "0.00000000000001",
                                         "999999999999999",
                                         "[true,false,null]",
                                         "{\"a\":{\"b\":[[1],[2,3]]},\"c\":\"\"}" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(texts); i++) {
        json_t *a = pfc_json_quick(texts[i], strlen(texts[i]), &all), *b = slow(texts[i]);

        cr_assert(ne(ptr, a, NULL), "%s", texts[i]);
        cr_assert(json_equal(a, b), "%s", texts[i]);
        json_decref(a);
        json_decref(b);
    }
}

Test(json_quick, leaves_everything_else_to_jansson)
{
    static const char *const texts[] = {
        "",
        "[1,]",
        "[1 2]",
        "{\"a\":1,\"a\":2}",
        "{a:1}",
        "[01]",
        "[1.]",
        "[.5]",
        "[-]",
        "[+1]",
        "[1e5]",
        "\"\\u0041\"",
        "\"\xc3\xa4\"",
        "\"\x01\"",
        "\"open",
        "1 2",
        "nul",
        "[NaN]",
        "1234567890123456",
        "0.1234567890123456",
        "{\"a\"}",
        "{\"a\":}",
        "[",
        "{\"a\":1",
        "tru",
    };
    char deep[PFC_WIRE_MAX_DEPTH + 2];

    for (size_t i = 0; i < PFC_ARRAY_LEN(texts); i++)
        cr_assert(eq(ptr, pfc_json_quick(texts[i], strlen(texts[i]), &all), NULL), "%s", texts[i]);
    memset(deep, '[', sizeof(deep));
    cr_assert(eq(ptr, pfc_json_quick(deep, sizeof(deep), &all), NULL));
}

Test(json_quick, numbers_are_the_nearest_doubles)
{
    pfc_rng rng;

    pfc_rng_seed(&rng, 7);
    for (int i = 0; i < 200000; i++) {
        char text[64];
        json_t *a, *b;
        double x, y;

        (void)snprintf(text, sizeof(text), "%.*f", (int)(pfc_rng_u64(&rng) % 14),
                       (double)(pfc_rng_u64(&rng) % 1000000) /
                           (double)(1 + pfc_rng_u64(&rng) % 999));
        a = pfc_json_quick(text, strlen(text), &all);
        if (!a)
            continue; /* more digits than it takes */
        b = slow(text);
        x = json_number_value(a);
        y = json_number_value(b);
        cr_assert(eq(int, memcmp(&x, &y, sizeof(x)), 0), "%s", text);
        json_decref(a);
        json_decref(b);
    }
}

/* By the quick reader and, where a text is not of its kind, by the look before jansson: the same.
 */
Test(json_quick, counts_what_a_text_would_become)
{
    static const struct {
        const char *text;
        size_t nested, values;
    } cases[] = {
        { "1", 0, 1 },
        { "[]", 1, 1 },
        { "[ ]", 1, 1 },
        { "[1,2]", 1, 3 },
        { "{\"a\":[[],{}],\"b\":[1,\"[,{\"]}", 5, 7 },
        { "[1e0,[[1e0]],{ },[\n]]", 5, 7 },
        { "[\"\\\"[,\"]", 1, 2 },
    };

    for (size_t i = 0; i < PFC_ARRAY_LEN(cases); i++) {
        for (size_t less = 0; less < 4; less++) {
            const size_t nested = cases[i].nested - (less & 1), values = cases[i].values - less / 2;
            const pfc_json_limits limits = { nested, values };
            const bool fits = less == 0 || (less == 1 && cases[i].nested == 0);
            pfc_err err = { 0 };
            json_t *tree = NULL;
            pfc_code code =
                pfc_json_parse_within(cases[i].text, strlen(cases[i].text), &limits, &tree, &err);

            cr_assert(eq(int, code, fits ? PFC_OK : PFC_ETOOBIG), "%s of %zu, %zu: %s",
                      cases[i].text, nested, values, err.msg);
            cr_assert(eq(int, tree != NULL, fits));
            json_decref(tree);
        }
    }
}
