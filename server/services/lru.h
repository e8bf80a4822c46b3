/*
 * Items in memory by two numbers, bounded in bytes: those that were put or used longest ago go
 * first. An item is the first member of the caller's struct. Not thread-safe: the caller holds a
 * lock.
 */
#ifndef PFC_SERVER_SERVICES_LRU_H
#define PFC_SERVER_SERVICES_LRU_H

#include <stddef.h>
#include <stdint.h>

#define PFC_LRU_BUCKETS 8192 /* a power of two */

typedef struct pfc_lru_item {
    int64_t key[2];
    size_t bytes;                 /* of the whole struct and what it owns */
    struct pfc_lru_item *chained; /* the next one in its bucket, or of those that must go */
    struct pfc_lru_item *newer, *older;
} pfc_lru_item;

/** Zero but for most_bytes: empty. */
typedef struct pfc_lru {
    size_t most_bytes, bytes;
    pfc_lru_item *buckets[PFC_LRU_BUCKETS];
    pfc_lru_item *newest, *oldest;
} pfc_lru;

/** NULL: there is none. */
pfc_lru_item *pfc_lru_find(const pfc_lru *lru, int64_t first, int64_t second);
/** Puts an item with its key and bytes in. Returns the evicted items, linked by
 *  `chained`: an older item of the same key, then the least recently used ones until the rest fits;
 *  this may include the new item. The caller frees them. */
pfc_lru_item *pfc_lru_put(pfc_lru *lru, pfc_lru_item *item);
/** Frees the items that pfc_lru_put returned. Needs no lock. */
void pfc_lru_free(pfc_lru_item *evicted, void (*free_item)(pfc_lru_item *item));
/** Takes an item out. */
void pfc_lru_take(pfc_lru *lru, pfc_lru_item *item);
/** Marks the item as used now. */
void pfc_lru_use(pfc_lru *lru, pfc_lru_item *item);

#endif
