/*
 * Cache of results of pfc_blocks_judge by the digest of the input: see fits.h. The function is
 * pure, so that a cached result needs no invalidation.
 */
#include "server/services/sessions/fits.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/hash.h"

typedef struct kept_fit {
    char digest[PFC_SHA256_HEX]; /* of visits and options */
    pfc_blocks_fit fit;
    uint64_t used; /* number of the use; 0: the slot is free */
} kept_fit;

static struct {
    pthread_mutex_t lock;
    kept_fit slots[PFC_FITS_MAX];
    size_t bytes;
    uint64_t uses, hits;
} kept = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Member by member: padding has no defined value. */
static void digest_of(const pfc_visit *visits, size_t n, const pfc_blocks_opts *o,
                      char out[PFC_SHA256_HEX])
{
    const uint64_t sizes[] = { n, o->builds, o->anchor, o->first, o->apart, o->exact, !!o->gap };
    const double levels[] = { o->margin, o->alpha };
    pfc_buf key;

    pfc_buf_init(&key, SIZE_MAX);
    pfc_buf_append(&key, sizes, sizeof(sizes));
    pfc_buf_append(&key, levels, sizeof(levels));
    for (size_t i = 0; o->gap && i < o->builds; i++)
        pfc_buf_append(&key, o->gap[i] ? "1" : "0", 1);
    for (size_t i = 0; i < n; i++) {
        const uint32_t place[] = { visits[i].build, visits[i].block, visits[i].position };

        pfc_buf_append(&key, place, sizeof(place));
        pfc_buf_append(&key, &visits[i].value, sizeof(visits[i].value));
    }
    pfc_sha256_hex(key.data, key.len, out);
    pfc_buf_clear(&key);
}

static size_t bytes_of(const pfc_blocks_fit *fit)
{
    return fit->levels_len * sizeof(*fit->levels) + fit->boundaries_len * sizeof(*fit->boundaries);
}

static void *copy_of(const void *items, size_t len, size_t item_bytes)
{
    void *copy = pfc_calloc(len + 1, item_bytes);

    if (len)
        memcpy(copy, items, len * item_bytes);
    return copy;
}

static pfc_blocks_fit fit_copy(const pfc_blocks_fit *fit)
{
    pfc_blocks_fit copy = *fit;

    copy.levels = copy_of(fit->levels, fit->levels_len, sizeof(*fit->levels));
    copy.boundaries = copy_of(fit->boundaries, fit->boundaries_len, sizeof(*fit->boundaries));
    return copy;
}

/* ---- under the lock ---- */

static bool find(const char *digest, pfc_blocks_fit *out)
{
    for (size_t i = 0; i < PFC_FITS_MAX; i++) {
        kept_fit *slot = &kept.slots[i];

        if (!slot->used || strcmp(slot->digest, digest) != 0)
            continue;
        slot->used = ++kept.uses;
        kept.hits++;
        *out = fit_copy(&slot->fit);
        return true;
    }
    return false;
}

static void forget(kept_fit *slot)
{
    kept.bytes -= bytes_of(&slot->fit);
    pfc_blocks_fit_clear(&slot->fit);
    slot->used = 0;
}

/* The free slot, else the one whose last use is longest ago. */
static kept_fit *oldest(bool used_only)
{
    kept_fit *best = NULL;

    for (size_t i = 0; i < PFC_FITS_MAX; i++) {
        kept_fit *slot = &kept.slots[i];

        if (used_only && !slot->used)
            continue;
        if (!best || slot->used < best->used)
            best = slot;
    }
    return best;
}

static void keep(const char *digest, const pfc_blocks_fit *fit)
{
    const size_t bytes = bytes_of(fit);
    kept_fit *slot;

    if (bytes > PFC_FITS_BYTES)
        return;
    while (kept.bytes + bytes > PFC_FITS_BYTES)
        forget(oldest(true));
    slot = oldest(false);
    if (slot->used)
        forget(slot);
    memcpy(slot->digest, digest, PFC_SHA256_HEX);
    slot->fit = fit_copy(fit);
    slot->used = ++kept.uses;
    kept.bytes += bytes;
}

/* ---- */

pfc_code pfc_session_fit(const pfc_visit *visits, size_t n, const pfc_blocks_opts *opts,
                         pfc_blocks_fit *out, pfc_err *err)
{
    char digest[PFC_SHA256_HEX];
    pfc_code code;
    bool found;

    digest_of(visits, n, opts, digest);
    pthread_mutex_lock(&kept.lock);
    found = find(digest, out);
    pthread_mutex_unlock(&kept.lock);
    if (found)
        return PFC_OK;
    code = pfc_blocks_judge(visits, n, opts, out, err);
    if (code)
        return code;
    pthread_mutex_lock(&kept.lock);
    keep(digest, out); /* another thread may have stored the same result: both expire */
    pthread_mutex_unlock(&kept.lock);
    return PFC_OK;
}

uint64_t pfc_session_fit_hits(void)
{
    uint64_t hits;

    pthread_mutex_lock(&kept.lock);
    hits = kept.hits;
    pthread_mutex_unlock(&kept.lock);
    return hits;
}
