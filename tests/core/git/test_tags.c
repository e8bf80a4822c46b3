/* Which tags a commit is sent with: no repository is needed. */
#include <string.h>

#include "core/git/tags.h"

#include "tests/check/check.h"

enum { TAGS = 21 };

/* Commits 0..: 0 has one tag, 1 has 17, 2 none, 3 has three. */
Test(tags, a_commit_has_its_own_tags_in_order_and_at_most_16)
{
    static const size_t counts[] = { 1, 17, 0, 3 };
    pfc_tag tags[TAGS] = { 0 };
    char names[TAGS][48];
    size_t n = 0;

    for (size_t c = 0; c < PFC_ARRAY_LEN(counts); c++) {
        for (size_t i = 0; i < counts[c]; i++, n++) {
            (void)snprintf(tags[n].commit.hex, sizeof(tags[n].commit.hex), "%040zx", 2 * c);
            (void)snprintf(names[n], sizeof(names[n]), "v%zu.%zu", c, i);
            tags[n].name = names[n];
        }
    }
    cr_assert(eq(sz, n, TAGS));
    for (size_t id = 0; id <= 7; id++) { /* odd ones are between the commits that have tags */
        const size_t want = id % 2 ? 0 : counts[id / 2];
        char hex[41], first[48];
        pfc_commit commit = { .id = hex };

        (void)snprintf(hex, sizeof(hex), "%040zx", id);
        (void)snprintf(first, sizeof(first), "v%zu.0", id / 2);
        pfc_tags_name(tags, n, &commit);
        cr_expect(eq(sz, commit.tags_len, want < 16 ? want : 16), "%zu", id);
        if (want)
            cr_expect(eq(str, commit.tags[0], first));
        commit.id = NULL;
        pfc_commit_clear(&commit);
    }
}
