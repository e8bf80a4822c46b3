/*
 * The case files of tests/data/import-cases: every measurement with its unit, direction and
 * samples, every note and every sentence of a fault. The inputs lie before and behind unreadable
 * pages.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/check/check.h"
#include "tests/core/import/cases.h"
#include "tests/support/guarded_text.h"

static void check(const import_case *c, const char *text)
{
    char *got = case_read(c, text, c->len);

    cr_expect(strcmp(got, c->want) == 0, "%s:\n--- expected\n%s--- got\n%s", c->name, c->want, got);
    free(got);
}

static void check_file(const char *file)
{
    import_cases cases = cases_load(file);

    for (size_t i = 0; i < cases.len; i++) {
        const import_case *c = &cases.of[i];
        guard g = guard_open(c->len);
        char *heap = malloc(c->len ? c->len : 1); /* of exactly this size, for the sanitizers */

        memcpy(heap, c->text, c->len);
        check(c, heap);
        check(c, guard_end(&g, c->text, c->len));
        check(c, guard_start(&g, c->text, c->len));
        free(heap);
        guard_close(&g);
    }
    cases_free(&cases);
}

/* Whatever is left of a text is read or refused, and nothing behind its end is looked at. */
static void cut_file(const char *file)
{
    import_cases cases = cases_load(file);

    for (size_t i = 0; i < cases.len; i++) {
        const import_case *c = &cases.of[i];
        guard g = guard_open(c->len);

        /* Of the longest few every third byte is enough. */
        for (size_t len = 0; len<c->len; len += c->len> 1200 ? 3 : 1)
            free(case_read(c, guard_end(&g, c->text, len), len));
        guard_close(&g);
    }
    cases_free(&cases);
}

#define CASES(name)                                                                                \
    Test(cases, every_case_of_##name##_gives_exactly_what_it_says)                                 \
    {                                                                                              \
        check_file(#name ".txt");                                                                  \
    }                                                                                              \
    Test(cuts, every_case_of_##name##_may_end_at_every_byte)                                       \
    {                                                                                              \
        cut_file(#name ".txt");                                                                    \
    }

CASES(google_benchmark)
CASES(python)
CASES(rust)
CASES(jvm_go)
CASES(cpp)
CASES(gpu)
CASES(profilers)
CASES(own)
CASES(csv)
CASES(tables)
CASES(import)
