/* Kept answers: given for the same question and version only, bounded, read until they are sent. */
#include <stdlib.h>
#include <string.h>

#include "server/http/internal.h"
#include "server/http/kept.h"

#include "tests/check/check.h"

/* A JSON body of so many bytes, all of them `fill`. */
static pfc_reply made(char fill, size_t len)
{
    pfc_reply reply = { 0 };
    char *text = pfc_calloc(len + 1, 1);

    memset(text, fill, len);
    (void)pfc_reply_text(&reply, 200, "application/json", text);
    return reply;
}

static void put(pfc_kept *kept, const char *key, const char *version, char fill, size_t len)
{
    pfc_reply reply = made(fill, len);

    pfc_kept_put(kept, key, version, &reply);
    cr_assert(eq(sz, reply.body_len, len));
    cr_assert(eq(chr, reply.body[len - 1], fill));
    httpd_reply_clear(&reply);
}

/* The first byte of the kept answer; 0: none. */
static char found(pfc_kept *kept, const char *key, const char *version)
{
    pfc_reply reply = { 0 };
    const char first = pfc_kept_find(kept, key, version, &reply) ? reply.body[0] : '\0';

    httpd_reply_clear(&reply);
    return first;
}

Test(kept, an_answer_is_given_for_its_question_and_version_only)
{
    pfc_kept *kept = pfc_kept_new(1 << 20);
    pfc_kept_figures figures;

    cr_expect(not(pfc_kept_has(kept, "a")));
    put(kept, "a", "1", 'x', 1000);
    cr_expect(pfc_kept_has(kept, "a"));
    cr_expect(eq(chr, found(kept, "a", "1"), 'x'));
    cr_expect(eq(chr, found(kept, "a", "2"), '\0'), "another version");
    cr_expect(eq(chr, found(kept, "b", "1"), '\0'), "another question");
    put(kept, "a", "2", 'y', 1000);
    cr_expect(eq(chr, found(kept, "a", "2"), 'y'));
    cr_expect(eq(chr, found(kept, "a", "1"), '\0'), "it was replaced");
    pfc_kept_count(kept, &figures);
    cr_expect(eq(sz, figures.answers, 1));
    cr_expect(eq(u64, figures.found, 2));
    cr_expect(eq(u64, figures.built, 2));
    pfc_kept_free(kept);
}

Test(kept, the_answer_used_longest_ago_is_dropped_at_the_limit)
{
    pfc_kept *kept = pfc_kept_new(10000);
    pfc_kept_figures figures;

    put(kept, "a", "1", 'a', 2400);
    put(kept, "b", "1", 'b', 2400);
    put(kept, "c", "1", 'c', 2400);
    cr_expect(eq(chr, found(kept, "a", "1"), 'a'));
    put(kept, "d", "1", 'd', 2400);
    put(kept, "e", "1", 'e', 2400);
    cr_expect(eq(chr, found(kept, "b", "1"), '\0'));
    cr_expect(eq(chr, found(kept, "a", "1"), 'a'), "it was used again");
    cr_expect(eq(chr, found(kept, "e", "1"), 'e'));
    put(kept, "large", "1", 'l', 2501);
    cr_expect(not(pfc_kept_has(kept, "large")), "over a quarter of the limit");
    pfc_kept_count(kept, &figures);
    cr_expect(le(sz, figures.bytes, 10000));
    for (int i = 0; i < 2 * PFC_KEPT_MAX_ANSWERS; i++) {
        char key[16];

        (void)snprintf(key, sizeof(key), "n%d", i);
        put(kept, key, "1", 'n', 10);
    }
    pfc_kept_count(kept, &figures);
    cr_expect(eq(sz, figures.answers, PFC_KEPT_MAX_ANSWERS));
    cr_expect(not(pfc_kept_has(kept, "n0")));
    pfc_kept_free(kept);
}

Test(kept, a_reply_is_read_after_its_answer_was_dropped)
{
    pfc_kept *kept = pfc_kept_new(1 << 20);
    pfc_reply reply = { 0 };

    put(kept, "a", "1", 'x', 5000);
    cr_assert(pfc_kept_find(kept, "a", "1", &reply));
    cr_expect(ne(ptr, (void *)(uintptr_t)reply.gzip_body, NULL));
    cr_expect(lt(sz, reply.gzip_len, 200));
    pfc_kept_free(kept);
    cr_expect(eq(chr, reply.body[4999], 'x'));
    httpd_reply_clear(&reply);
}

Test(kept, errors_and_no_table_keep_nothing)
{
    pfc_kept *kept = pfc_kept_new(1 << 20);
    pfc_reply reply = made('e', 100);

    reply.status = 404;
    pfc_kept_put(kept, "a", "1", &reply);
    cr_expect(not(pfc_kept_has(kept, "a")));
    reply.status = 200;
    pfc_kept_put(NULL, "a", "1", &reply);
    cr_expect(eq(chr, reply.body[0], 'e'));
    cr_expect(not(pfc_kept_has(NULL, "a")));
    cr_expect(not(pfc_kept_find(NULL, "a", "1", &reply)));
    httpd_reply_clear(&reply);
    pfc_kept_free(kept);
}
