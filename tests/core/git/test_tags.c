/* Which tags are releases, and which of them a commit is sent with: no repository is needed. */
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "core/git/tags.h"

Test(tags, every_word_of_a_preview_makes_it_none_in_any_case_and_place)
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

Test(tags, a_version_has_a_dot_or_a_prefix_of_one)
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

enum { RELEASES = 21 };

/* Commits 0..: 0 has one release, 1 has 17, 2 none, 3 has three. */
Test(tags, a_commit_has_its_own_releases_in_order_and_at_most_16)
{
    static const size_t counts[] = { 1, 17, 0, 3 };
    pfc_release releases[RELEASES] = { 0 };
    char names[RELEASES][48];
    size_t n = 0;

    for (size_t c = 0; c < PFC_ARRAY_LEN(counts); c++) {
        for (size_t i = 0; i < counts[c]; i++, n++) {
            (void)snprintf(releases[n].commit.hex, sizeof(releases[n].commit.hex), "%040zx", 2 * c);
            (void)snprintf(names[n], sizeof(names[n]), "v%zu.%zu", c, i);
            releases[n].name = names[n];
        }
    }
    cr_assert(eq(sz, n, RELEASES));
    for (size_t id = 0; id <= 7; id++) { /* odd ones stand between those that are there */
        const size_t want = id % 2 ? 0 : counts[id / 2];
        char hex[41], first[48];
        pfc_commit commit = { .id = hex };

        (void)snprintf(hex, sizeof(hex), "%040zx", id);
        (void)snprintf(first, sizeof(first), "v%zu.0", id / 2);
        pfc_releases_name(releases, n, &commit);
        cr_expect(eq(sz, commit.tags_len, want < 16 ? want : 16), "%zu", id);
        if (want)
            cr_expect(eq(str, commit.tags[0], first));
        commit.id = NULL;
        pfc_commit_clear(&commit);
    }
}
