/*
 * Rate limits: a token bucket for each client address and for each bearer token.
 *
 * A bucket holds at most `burst` requests and fills at `rate` a second. The number of buckets is
 * fixed: a new key replaces the bucket that has been full longest among the few slots of its hash.
 * An attacker with many addresses therefore cannot make the server grow, and cannot evict a bucket
 * that is limiting a client.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/rng.h"
#include "server/http/internal.h"

#define SETS 1024 /* a power of two */
#define WAYS 8

typedef struct bucket {
    uint64_t key; /* 0: free */
    double level; /* requests that may come at once */
    int64_t at_ns;
} bucket;

struct httpd_limits {
    pthread_mutex_t lock;
    bucket buckets[SETS][WAYS]; /* guarded by lock */
    uint64_t seed; /* random, so that a client cannot choose a key with another client's slots */
};

/* The limit of one key: the size of a burst, then requests per second. */
typedef struct httpd_rate {
    double per_s, burst;
} httpd_rate;

httpd_limits *httpd_limits_new(void)
{
    httpd_limits *limits = pfc_alloc(sizeof(*limits));

    pthread_mutex_init(&limits->lock, NULL);
    pfc_random_bytes((unsigned char *)&limits->seed, sizeof(limits->seed));
    return limits;
}

void httpd_limits_free(httpd_limits *limits)
{
    if (!limits)
        return;
    pthread_mutex_destroy(&limits->lock);
    free(limits);
}

static uint64_t hash_key(uint64_t seed, char kind, const void *bytes, size_t len)
{
    const unsigned char *at = bytes;
    uint64_t h = seed ^ (14695981039346656037u + (unsigned char)kind);

    for (size_t i = 0; i < len; i++) {
        h = (h ^ at[i]) * 1099511628211u;
        h ^= h >> 29;
    }
    h *= 0x9e3779b97f4a7c15u;
    h ^= h >> 32;
    return h ? h : 1;
}

static double level_now(const bucket *b, const httpd_rate *rate, int64_t now_ns)
{
    double level = b->level + (double)(now_ns - b->at_ns) * 1e-9 * rate->per_s;

    return PFC_MIN(level, rate->burst);
}

static bucket *find_bucket(bucket *set, uint64_t key, const httpd_rate *rate, int64_t now_ns)
{
    bucket *best = &set[0];
    double best_level = -1;

    for (int way = 0; way < WAYS; way++) {
        bucket *b = &set[way];
        double level = b->key ? level_now(b, rate, now_ns) : rate->burst + 1;

        if (b->key == key)
            return b;
        if (level > best_level) {
            best = b;
            best_level = level;
        }
    }
    *best = (bucket){ .key = key, .level = rate->burst, .at_ns = now_ns };
    return best;
}

double httpd_limits_take(httpd_limits *limits, double per_s, char kind, const void *bytes,
                         size_t len, int64_t now_ns)
{
    /* Two seconds' worth at once: a page asks for a dozen things together. */
    const httpd_rate rate = { per_s, 2 * per_s + 1 };
    double wait_s = 0;
    uint64_t key;
    bucket *b;

    if (!(per_s > 0))
        return 0;
    key = hash_key(limits->seed, kind, bytes, len);
    pthread_mutex_lock(&limits->lock);
    b = find_bucket(limits->buckets[(key >> 20) & (SETS - 1)], key, &rate, now_ns);
    b->level = level_now(b, &rate, now_ns);
    b->at_ns = now_ns;
    if (b->level >= 1)
        b->level -= 1;
    else
        wait_s = (1 - b->level) / per_s;
    pthread_mutex_unlock(&limits->lock);
    return wait_s;
}
