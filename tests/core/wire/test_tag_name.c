/* Which names of tags are releases. */
#include <stdlib.h>
#include <string.h>

#include "core/wire/wire.h"

#include "tests/check/check.h"

Test(tag_name, every_word_of_a_preview_makes_it_none_in_any_case_and_place)
{
    static const char *const words[] = { "rc",         "alpha", "beta",    "pre",      "preview",
                                         "prerelease", "dev",   "nightly", "snapshot", "test" };
    static const char *const forms[] = { "v1.2-%s", "v1.2-%s1", "v1.2%s3", "%s-1.2", "v1.2.%s.4" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(words); i++) {
        for (size_t k = 0; k < PFC_ARRAY_LEN(forms); k++) {
            const size_t at = strcspn(forms[k], "%");
            char *name = pfc_format("%.*s%s%s", (int)at, forms[k], words[i], forms[k] + at + 2);
            char *longer = pfc_format("%.*s%sx%s", (int)at, forms[k], words[i], forms[k] + at + 2);

            cr_expect(not(pfc_tag_is_release(name)), "%s", name);
            for (char *p = name; *p; p++)
                *p = (char)(*p >= 'a' && *p <= 'z' && *p != 'v' ? *p - 'a' + 'A' : *p);
            cr_expect(not(pfc_tag_is_release(name)), "%s", name);
            cr_expect(pfc_tag_is_release(longer), "%s", longer);
            free(longer);
            free(name);
        }
    }
}

Test(tag_name, a_version_has_a_dot_or_a_prefix_of_one)
{
    static const struct {
        const char *name;
        bool release;
    } rows[] = { { "v2", true },          { "V2", true },       { "r2", true },
                 { "R2", false },         { "w2", false },      { "vv2", false },
                 { "2", true },           { "lib2", false },    { "lib2.1", true },
                 { "lib-2", false },      { "release2", true }, { "RELEASE-2", true },
                 { "releas2", false },    { "v", false },       { "v.", false },
                 { "1.2+a-b_c.d", true }, { "1.2 ", false },    { "1.2~1", false },
                 { "a b1.2", false },     { "a/b/v2", true },   { "v2/latest", false },
                 { "1a2b", true },        { "lib1a2", false },  { "lib1.2a", true } };

    for (size_t i = 0; i < PFC_ARRAY_LEN(rows); i++)
        cr_expect(eq(int, pfc_tag_is_release(rows[i].name), rows[i].release), "%s", rows[i].name);
}

Test(tag_name, releases_are_distinguished_from_other_tags)
{
    static const char *const yes[] = { "v1.2",   "1.9.4",          "v2",          "r128",
                                       "V3.0.1", "release-2024.1", "lib/v3.0",    "liblz4-1.10.0",
                                       "2024",   "Release_7",      "v1.2.3+deb1", "v1.2-final.1" };
    static const char *const no[] = { "",           "latest",   "build17",     "v1.2-rc1",
                                      "v2.0beta3",  "1.0alpha", "nightly-7.1", "v1.3.dev4",
                                      "v1.2:extra", "x1.0\n",   "tag 1.2",     "pre/build9" };

    for (size_t i = 0; i < PFC_ARRAY_LEN(yes); i++)
        cr_assert(pfc_tag_is_release(yes[i]), "%s", yes[i]);
    for (size_t i = 0; i < PFC_ARRAY_LEN(no); i++)
        cr_assert(not(pfc_tag_is_release(no[i])), "%s", no[i]);
}
