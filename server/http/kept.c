/* Kept answers: a small table under one lock, and bodies that their readers share by counting. */
#include "server/http/kept.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "server/http/internal.h"

/* The bodies of one answer; never changed once they are in the table. */
typedef struct bodies {
    atomic_size_t users; /* the table and the replies that are being sent */
    char *plain, *gzip;  /* owned; gzip NULL: it would be no shorter */
    char tag[HTTPD_TAG_LEN];
    size_t plain_len, gzip_len;
    const char *content_type; /* static */
} bodies;

typedef struct answer {
    char *key, *version; /* owned; key NULL: the slot is free */
    bodies *bodies;
    uint64_t used; /* turn of the last use */
} answer;

struct pfc_kept {
    pthread_mutex_t lock;
    answer answers[PFC_KEPT_MAX_ANSWERS]; /* guarded by lock, like the rest */
    size_t bytes;
    uint64_t turn, found, built;
    size_t most_bytes;
};

pfc_kept *pfc_kept_new(size_t most_bytes)
{
    pfc_kept *kept = pfc_calloc(1, sizeof(*kept));

    pthread_mutex_init(&kept->lock, NULL);
    kept->most_bytes = most_bytes;
    return kept;
}

static void leave(void *lender)
{
    bodies *b = lender;

    if (atomic_fetch_sub(&b->users, 1) > 1)
        return;
    free(b->plain);
    free(b->gzip);
    free(b);
}

static size_t size_of(const bodies *b)
{
    return b->plain_len + b->gzip_len;
}

static void drop(pfc_kept *kept, answer *a)
{
    if (!a->key)
        return;
    kept->bytes -= size_of(a->bodies);
    leave(a->bodies);
    free(a->key);
    free(a->version);
    *a = (answer){ 0 };
}

void pfc_kept_free(pfc_kept *kept)
{
    if (!kept)
        return;
    for (size_t i = 0; i < PFC_KEPT_MAX_ANSWERS; i++)
        drop(kept, &kept->answers[i]);
    pthread_mutex_destroy(&kept->lock);
    free(kept);
}

static answer *find(pfc_kept *kept, const char *key)
{
    for (size_t i = 0; i < PFC_KEPT_MAX_ANSWERS; i++)
        if (kept->answers[i].key && strcmp(kept->answers[i].key, key) == 0)
            return &kept->answers[i];
    return NULL;
}

bool pfc_kept_has(pfc_kept *kept, const char *key)
{
    bool has;

    if (!kept)
        return false;
    pthread_mutex_lock(&kept->lock);
    has = find(kept, key) != NULL;
    pthread_mutex_unlock(&kept->lock);
    return has;
}

/* The reply reads the bodies until it is cleared or sent. */
static void lend(bodies *b, pfc_reply *reply)
{
    atomic_fetch_add(&b->users, 1);
    httpd_reply_clear(reply);
    reply->status = 200;
    reply->content_type = b->content_type;
    reply->body = b->plain;
    reply->body_len = b->plain_len;
    reply->gzip_body = b->gzip;
    reply->gzip_len = b->gzip_len;
    reply->borrowed = true;
    reply->tag = b->tag;
    reply->lender = b;
    reply->leave = leave;
}

bool pfc_kept_find(pfc_kept *kept, const char *key, const char *version, pfc_reply *reply)
{
    answer *a;
    bool found;

    if (!kept)
        return false;
    pthread_mutex_lock(&kept->lock);
    a = find(kept, key);
    found = a && strcmp(a->version, version) == 0;
    if (found) {
        a->used = ++kept->turn;
        kept->found++;
        lend(a->bodies, reply);
    }
    pthread_mutex_unlock(&kept->lock);
    return found;
}

/* The slot for the key: its own, a free one, or that of the answer that was used longest ago. */
static answer *slot_for(pfc_kept *kept, const char *key)
{
    answer *best = find(kept, key);

    if (best)
        return best;
    best = &kept->answers[0];
    for (size_t i = 0; i < PFC_KEPT_MAX_ANSWERS; i++) {
        if (!kept->answers[i].key)
            return &kept->answers[i];
        if (kept->answers[i].used < best->used)
            best = &kept->answers[i];
    }
    return best;
}

static void drop_oldest(pfc_kept *kept)
{
    answer *oldest = NULL;

    for (size_t i = 0; i < PFC_KEPT_MAX_ANSWERS; i++) {
        answer *a = &kept->answers[i];

        if (a->key && (!oldest || a->used < oldest->used))
            oldest = a;
    }
    if (oldest)
        drop(kept, oldest);
}

void pfc_kept_put(pfc_kept *kept, const char *key, const char *version, pfc_reply *reply)
{
    answer *a;
    bodies *b;

    if (!kept || reply->status != 200 || reply->borrowed || reply->encoding ||
        strlen(key) > PFC_KEPT_MAX_KEY || reply->body_len > kept->most_bytes / 4)
        return;
    b = pfc_calloc(1, sizeof(*b));
    atomic_init(&b->users, 1);
    b->content_type = reply->content_type;
    b->plain = reply->body;
    b->plain_len = reply->body_len;
    httpd_tag_of(reply, b->tag);
    if (httpd_compressible(reply))
        b->gzip = httpd_gzip(b->plain, b->plain_len, &b->gzip_len);
    reply->body = NULL;
    lend(b, reply);
    pthread_mutex_lock(&kept->lock);
    a = slot_for(kept, key);
    drop(kept, a);
    while (kept->bytes > 0 && kept->bytes + size_of(b) > kept->most_bytes)
        drop_oldest(kept);
    *a = (answer){
        .key = pfc_strdup(key), .version = pfc_strdup(version), .bodies = b, .used = ++kept->turn
    };
    kept->bytes += size_of(b);
    kept->built++;
    pthread_mutex_unlock(&kept->lock);
}

void pfc_kept_count(pfc_kept *kept, pfc_kept_figures *out)
{
    *out = (pfc_kept_figures){ 0 };
    if (!kept)
        return;
    pthread_mutex_lock(&kept->lock);
    for (size_t i = 0; i < PFC_KEPT_MAX_ANSWERS; i++)
        out->answers += kept->answers[i].key != NULL;
    out->bytes = kept->bytes;
    out->found = kept->found;
    out->built = kept->built;
    pthread_mutex_unlock(&kept->lock);
}
