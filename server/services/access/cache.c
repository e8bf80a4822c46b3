/*
 * Cache of rows that nearly every request needs and that seldom change: tokens, and projects by
 * name.
 *
 * An entry is used only while the server receives database events, so that a revocation on any
 * server removes it at once. The time to live limits its age in case an event is lost. The
 * generation counter prevents that a row read before a change is cached after it.
 */
#include <pthread.h>
#include <stdio.h>

#include "core/base/clock.h"
#include "core/base/hash.h"
#include "server/repo/sql/projects.h"
#include "server/services/access/access.h"

#define SLOTS 1024 /* a power of two; a new entry replaces the old one in its slot */

typedef struct token_slot {
    char hash[PFC_SHA256_HEX];
    pfc_principal who;
    int64_t until_ns;
} token_slot;

typedef struct project_slot {
    char name[64];
    int64_t id;
    int64_t until_ns;
} project_slot;

struct pfc_cache {
    pthread_mutex_t lock;
    token_slot *tokens;     /* guarded by lock */
    project_slot *projects; /* guarded by lock */
    uint64_t generation;    /* guarded by lock */
    bool trusted;           /* guarded by lock: events are being received */
    int64_t ttl_ns;
};

pfc_cache *pfc_cache_new(double ttl_s)
{
    pfc_cache *cache = pfc_alloc(sizeof(*cache));

    pthread_mutex_init(&cache->lock, NULL);
    cache->tokens = pfc_calloc(SLOTS, sizeof(*cache->tokens));
    cache->projects = pfc_calloc(SLOTS, sizeof(*cache->projects));
    cache->ttl_ns = (int64_t)(ttl_s * 1e9);
    return cache;
}

void pfc_cache_free(pfc_cache *cache)
{
    if (!cache)
        return;
    pthread_mutex_destroy(&cache->lock);
    free(cache->tokens);
    free(cache->projects);
    free(cache);
}

void pfc_cache_trust(pfc_cache *cache, bool heard)
{
    pthread_mutex_lock(&cache->lock);
    cache->trusted = heard;
    cache->generation++;
    memset(cache->tokens, 0, SLOTS * sizeof(*cache->tokens));
    memset(cache->projects, 0, SLOTS * sizeof(*cache->projects));
    pthread_mutex_unlock(&cache->lock);
}

void pfc_cache_forget(pfc_cache *cache)
{
    pthread_mutex_lock(&cache->lock);
    cache->generation++;
    memset(cache->tokens, 0, SLOTS * sizeof(*cache->tokens));
    memset(cache->projects, 0, SLOTS * sizeof(*cache->projects));
    pthread_mutex_unlock(&cache->lock);
}

static size_t slot_of(const char *text)
{
    uint64_t h = 14695981039346656037u; /* FNV-1a */

    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 1099511628211u;
    return (size_t)(h ^ (h >> 32)) & (SLOTS - 1);
}

bool pfc_cache_token(pfc_cache *cache, const char *hash, pfc_principal *out, uint64_t *generation)
{
    const token_slot *slot = &cache->tokens[slot_of(hash)];
    bool found;

    pthread_mutex_lock(&cache->lock);
    *generation = cache->generation;
    found = cache->trusted && slot->until_ns > pfc_clock_ns() && pfc_secret_equal(slot->hash, hash);
    if (found)
        *out = slot->who;
    pthread_mutex_unlock(&cache->lock);
    return found;
}

void pfc_cache_keep_token(pfc_cache *cache, const char *hash, const pfc_principal *who,
                          double valid_s, uint64_t generation)
{
    token_slot *slot = &cache->tokens[slot_of(hash)];
    int64_t life_ns = cache->ttl_ns;

    if (valid_s >= 0 && valid_s < (double)life_ns * 1e-9)
        life_ns = (int64_t)(valid_s * 1e9);
    pthread_mutex_lock(&cache->lock);
    if (cache->trusted && cache->generation == generation) {
        memcpy(slot->hash, hash, sizeof(slot->hash));
        slot->who = *who;
        slot->until_ns = pfc_clock_ns() + life_ns;
    }
    pthread_mutex_unlock(&cache->lock);
}

static bool cached_project(pfc_cache *cache, const char *name, int64_t *id, uint64_t *generation)
{
    const project_slot *slot = &cache->projects[slot_of(name)];
    bool found;

    pthread_mutex_lock(&cache->lock);
    *generation = cache->generation;
    found = cache->trusted && slot->until_ns > pfc_clock_ns() && strcmp(slot->name, name) == 0;
    if (found)
        *id = slot->id;
    pthread_mutex_unlock(&cache->lock);
    return found;
}

static void keep_project(pfc_cache *cache, const char *name, int64_t id, uint64_t generation)
{
    project_slot *slot = &cache->projects[slot_of(name)];

    pthread_mutex_lock(&cache->lock);
    if (cache->trusted && cache->generation == generation) {
        (void)snprintf(slot->name, sizeof(slot->name), "%s", name);
        slot->id = id;
        slot->until_ns = pfc_clock_ns() + cache->ttl_ns;
    }
    pthread_mutex_unlock(&cache->lock);
}

pfc_code pfc_project_find(pfc_db *db, pfc_cache *cache, const char *name, int64_t *id, pfc_err *err)
{
    uint64_t generation = 0;
    pfc_tx *tx = NULL;
    int64_t found = 0;
    pfc_code code;

    if (strlen(name) >= sizeof(((project_slot *)0)->name))
        return pfc_err_set(err, PFC_ENOTFOUND, "there is no project \"%.64s\"", name);
    if (cache && cached_project(cache, name, id, &generation))
        return PFC_OK;
    code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);
    if (!code)
        code = pfc_sql_project_id(tx, &(pfc_sql_project_id_args){ .name = name }, &found, err);
    pfc_tx_free(tx);
    if (!code && !found)
        code = pfc_err_set(err, PFC_ENOTFOUND, "there is no project \"%.64s\"", name);
    if (code)
        return code;
    if (cache)
        keep_project(cache, name, found, generation);
    *id = found;
    return PFC_OK;
}
