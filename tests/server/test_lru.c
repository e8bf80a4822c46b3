/* Items in memory, bounded: which of them go. */

#include "server/services/lru.h"

#include "tests/check/check.h"

static pfc_lru lru;

static void clear(void)
{
    lru = (pfc_lru){ .most_bytes = 100 };
}

static pfc_lru_item item(int64_t second, size_t bytes)
{
    return (pfc_lru_item){ .key = { 7, second }, .bytes = bytes };
}

Test(lru, the_item_used_longest_ago_goes_first, .init = clear)
{
    pfc_lru_item a = item(1, 40), b = item(2, 40), c = item(3, 40), d = item(4, 90);

    cr_expect(eq(ptr, pfc_lru_put(&lru, &a), NULL));
    cr_expect(eq(ptr, pfc_lru_put(&lru, &b), NULL));
    pfc_lru_use(&lru, &a);
    cr_expect(eq(ptr, pfc_lru_put(&lru, &c), &b));
    cr_expect(eq(ptr, b.chained, NULL));
    cr_expect(eq(ptr, pfc_lru_find(&lru, 7, 2), NULL));
    cr_expect(eq(ptr, pfc_lru_find(&lru, 7, 1), &a));
    cr_expect(eq(ptr, pfc_lru_find(&lru, 8, 1), NULL));
    cr_expect(eq(sz, lru.bytes, 80));
    cr_expect(eq(ptr, pfc_lru_put(&lru, &d), &c)); /* both go */
    cr_expect(eq(ptr, c.chained, &a));
    cr_expect(eq(ptr, a.chained, NULL));
    cr_expect(eq(sz, lru.bytes, 90));
}

Test(lru, an_item_replaces_one_with_its_key, .init = clear)
{
    pfc_lru_item a = item(1, 40), b = item(1, 50), c = item(2, 101);

    cr_expect(eq(ptr, pfc_lru_put(&lru, &a), NULL));
    cr_expect(eq(ptr, pfc_lru_put(&lru, &b), &a));
    cr_expect(eq(ptr, pfc_lru_find(&lru, 7, 1), &b));
    cr_expect(eq(sz, lru.bytes, 50));
    pfc_lru_take(&lru, &b);
    cr_expect(eq(ptr, lru.newest, NULL));
    cr_expect(eq(ptr, lru.oldest, NULL));
    cr_expect(eq(ptr, pfc_lru_put(&lru, &c), &c)); /* larger than the limit */
    cr_expect(eq(sz, lru.bytes, 0));
}

/* Many more than there are buckets: some share one. The first or the second part of the key
 * differs. */
static void expect_told_apart(int64_t first, int64_t second)
{
    static pfc_lru_item many[3 * PFC_LRU_BUCKETS];
    const size_t n = sizeof(many) / sizeof(many[0]);

    lru.most_bytes = n;
    for (size_t i = 0; i < n; i++) {
        many[i] = (pfc_lru_item){ .key = { first * (int64_t)i, second * (int64_t)i }, .bytes = 1 };
        cr_assert(eq(ptr, pfc_lru_put(&lru, &many[i]), NULL));
    }
    for (size_t i = 0; i < n; i += 2)
        pfc_lru_take(&lru, &many[i]);
    for (size_t i = 0; i < n; i++)
        cr_assert(eq(ptr, pfc_lru_find(&lru, first * (int64_t)i, second * (int64_t)i),
                     i % 2 ? &many[i] : NULL));
}

Test(lru, items_that_share_a_bucket_are_told_apart, .init = clear)
{
    expect_told_apart(0, 1);
    clear();
    expect_told_apart(1, 0);
}
