/*
 * A cache of facts that a connection has read and that cannot change: names and their ids. Direct
 * mapped: a new entry replaces the one in its slot, so that the size is bounded.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "server/repo/connection/db_internal.h"

#define SLOTS  4096 /* a power of two */
#define LIFE_S 60   /* should a pooler have put another database behind the connection */

typedef struct slot {
    char *key;
    size_t len;
    int64_t value;
} slot;

struct pfc_memo {
    slot slots[SLOTS];
    int64_t until_ns;
};

static slot *slot_of(pfc_memo *memo, const char *key, size_t len)
{
    uint64_t h = 14695981039346656037u; /* FNV-1a */

    for (size_t i = 0; i < len; i++)
        h = (h ^ (unsigned char)key[i]) * 1099511628211u;
    return &memo->slots[(h ^ (h >> 32)) & (SLOTS - 1)];
}

static void forget(pfc_memo *memo)
{
    for (size_t i = 0; i < SLOTS; i++)
        free(memo->slots[i].key);
    memset(memo, 0, sizeof(*memo));
}

pfc_memo *pfc_tx_memo(pfc_tx *tx)
{
    const int64_t now_ns = pfc_clock_ns();

    if (!tx->conn->memo)
        tx->conn->memo = pfc_alloc(sizeof(*tx->conn->memo));
    if (tx->conn->memo->until_ns <= now_ns) {
        forget(tx->conn->memo);
        tx->conn->memo->until_ns = now_ns + LIFE_S * PFC_NS_PER_S;
    }
    return tx->conn->memo;
}

void pfc_memo_free(pfc_memo *memo)
{
    if (!memo)
        return;
    forget(memo);
    free(memo);
}

int64_t pfc_memo_find(pfc_memo *memo, const char *key, size_t len)
{
    const slot *s = slot_of(memo, key, len);

    return s->key && s->len == len && memcmp(s->key, key, len) == 0 ? s->value : 0;
}

void pfc_memo_keep(pfc_memo *memo, const char *key, size_t len, int64_t value)
{
    slot *s = slot_of(memo, key, len);

    free(s->key);
    *s = (slot){ .key = pfc_alloc(len), .len = len, .value = value };
    memcpy(s->key, key, len);
}
