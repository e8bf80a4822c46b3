/* Items in memory, bounded in bytes: see lru.h. */
#include "server/services/lru.h"

static pfc_lru_item **bucket_of(pfc_lru *lru, int64_t first, int64_t second)
{
    const uint64_t mixed = ((uint64_t)second + 31 * (uint64_t)first) * UINT64_C(0x9e3779b97f4a7c15);

    return &lru->buckets[mixed >> 32 & (PFC_LRU_BUCKETS - 1)];
}

pfc_lru_item *pfc_lru_find(const pfc_lru *lru, int64_t first, int64_t second)
{
    pfc_lru_item *item = *bucket_of((pfc_lru *)(uintptr_t)lru, first, second);

    while (item && (item->key[0] != first || item->key[1] != second))
        item = item->chained;
    return item;
}

static void unlink_age(pfc_lru *lru, pfc_lru_item *item)
{
    *(item->newer ? &item->newer->older : &lru->newest) = item->older;
    *(item->older ? &item->older->newer : &lru->oldest) = item->newer;
    item->newer = item->older = NULL;
}

static void link_newest(pfc_lru *lru, pfc_lru_item *item)
{
    item->older = lru->newest;
    *(lru->newest ? &lru->newest->newer : &lru->oldest) = item;
    lru->newest = item;
}

void pfc_lru_take(pfc_lru *lru, pfc_lru_item *item)
{
    pfc_lru_item **at = bucket_of(lru, item->key[0], item->key[1]);

    while (*at != item)
        at = &(*at)->chained;
    *at = item->chained;
    unlink_age(lru, item);
    item->chained = NULL;
    lru->bytes -= item->bytes;
}

void pfc_lru_use(pfc_lru *lru, pfc_lru_item *item)
{
    unlink_age(lru, item);
    link_newest(lru, item);
}

pfc_lru_item *pfc_lru_put(pfc_lru *lru, pfc_lru_item *item)
{
    pfc_lru_item **bucket = bucket_of(lru, item->key[0], item->key[1]);
    pfc_lru_item *gone = pfc_lru_find(lru, item->key[0], item->key[1]);

    if (gone)
        pfc_lru_take(lru, gone);
    item->chained = *bucket;
    *bucket = item;
    item->newer = NULL;
    link_newest(lru, item);
    lru->bytes += item->bytes;
    while (lru->bytes > lru->most_bytes) {
        pfc_lru_item *old = lru->oldest;

        pfc_lru_take(lru, old);
        old->chained = gone;
        gone = old;
    }
    return gone;
}

void pfc_lru_free(pfc_lru_item *evicted, void (*free_item)(pfc_lru_item *item))
{
    while (evicted) {
        pfc_lru_item *next = evicted->chained;

        free_item(evicted);
        evicted = next;
    }
}
