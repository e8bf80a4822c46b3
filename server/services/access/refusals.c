/*
 * Refused writes in the audit log.
 */
#include "server/services/access/refusals.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "server/services/service.h"

#define NS(seconds) ((int64_t)((seconds)*1e9))

typedef struct entry {
    char actor[96]; /* "": the entry is free */
    char what[96];
    char address[PFC_ADDRESS_TEXT]; /* of the newest */
    int64_t project_id;
    int status;
    uint64_t count;     /* not written yet */
    int64_t written_ns; /* 0: never */
} entry;

struct pfc_refusals {
    pfc_db *db;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    entry entries[PFC_REFUSALS_KEYS + 1]; /* guarded by lock; the last one: all other keys */
    bool stop;                            /* guarded by lock */
};

/* Without a token the address tells clients apart; with one it may change. */
static bool is_same(const entry *e, const entry *key, bool anonymous)
{
    return e->status == key->status && e->project_id == key->project_id &&
           strcmp(e->actor, key->actor) == 0 && strcmp(e->what, key->what) == 0 &&
           (!anonymous || strcmp(e->address, key->address) == 0);
}

/* Written, and so long ago that its key may be written again. */
static bool is_free(const entry *e, int64_t now_ns)
{
    return !e->actor[0] || (e->count == 0 && now_ns - e->written_ns >= NS(PFC_REFUSALS_KEY_S));
}

/* Under the lock. */
static entry *find(pfc_refusals *r, const entry *key, bool anonymous, int64_t now_ns)
{
    entry *place = NULL;

    for (size_t i = 0; i < PFC_REFUSALS_KEYS; i++) {
        entry *e = &r->entries[i];

        if (e->actor[0] && is_same(e, key, anonymous))
            return e;
        if (!place && is_free(e, now_ns))
            place = e;
    }
    if (place) {
        *place = *key;
        return place;
    }
    place = &r->entries[PFC_REFUSALS_KEYS];
    if (!place->actor[0]) {
        *place = *key;
        (void)snprintf(place->actor, sizeof(place->actor), "several clients");
        (void)snprintf(place->what, sizeof(place->what), "several routes");
        place->project_id = 0;
    }
    return place;
}

void pfc_refusals_add(pfc_refusals *r, const pfc_refusal *refusal)
{
    entry key = { .project_id = refusal->project_id, .status = refusal->status };
    entry *e;

    if (!r)
        return;
    (void)snprintf(key.actor, sizeof(key.actor), "%s",
                   refusal->actor ? refusal->actor : "anonymous");
    (void)snprintf(key.what, sizeof(key.what), "%s", refusal->what);
    (void)snprintf(key.address, sizeof(key.address), "%s", refusal->address);
    pthread_mutex_lock(&r->lock);
    e = find(r, &key, !refusal->actor, pfc_clock_ns());
    e->count++;
    memcpy(e->address, key.address, sizeof(e->address));
    e->status = key.status;
    pthread_cond_signal(&r->wake);
    pthread_mutex_unlock(&r->lock);
}

/* The entry to write next; *next_ns: when one may be due if there is none now. Under the lock. */
static entry *due(pfc_refusals *r, int64_t now_ns, int64_t *next_ns)
{
    for (size_t i = 0; i < PFC_ARRAY_LEN(r->entries); i++) {
        entry *e = &r->entries[i];
        const int64_t at_ns = e->written_ns ? e->written_ns + NS(PFC_REFUSALS_KEY_S) : 0;

        if (e->count == 0)
            continue;
        if (r->stop || at_ns <= now_ns)
            return e;
        *next_ns = PFC_MIN(*next_ns, at_ns);
    }
    return NULL;
}

static pfc_code write_row(pfc_refusals *r, const entry *e, pfc_err *err)
{
    char *detail = e->count == 1 ? pfc_format("%d, from %s", e->status, e->address)
                                 : pfc_format("%d, %llu times, last from %s", e->status,
                                              (unsigned long long)e->count, e->address);
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, r->db, PFC_TX_WRITE, err);

    if (!code)
        code = pfc_audit_add(tx, e->actor, "refused", e->project_id, e->what, detail, err);
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_tx_free(tx);
    free(detail);
    return code;
}

static void wait_until(pfc_refusals *r, int64_t until_ns)
{
    const struct timespec until = { .tv_sec = (time_t)(until_ns / PFC_NS_PER_S),
                                    .tv_nsec = (long)(until_ns % PFC_NS_PER_S) };

    (void)pthread_cond_timedwait(&r->wake, &r->lock, &until);
}

/* A token bucket of rows. */
static void *refusals_main(void *arg)
{
    pfc_refusals *r = arg;
    double rows = PFC_REFUSALS_BURST;
    int64_t filled_ns = pfc_clock_ns();

    pthread_mutex_lock(&r->lock);
    for (;;) {
        const int64_t now_ns = pfc_clock_ns();
        int64_t next_ns = now_ns + NS(3600);
        entry *e = due(r, now_ns, &next_ns);
        pfc_err err = { 0 };
        entry copy;

        rows += (double)(now_ns - filled_ns) * 1e-9 / PFC_REFUSALS_ROW_S;
        rows = PFC_MIN(rows, (double)PFC_REFUSALS_BURST);
        filled_ns = now_ns;
        if (!e && r->stop)
            break;
        if (!e || (rows < 1 && !r->stop)) {
            wait_until(r, e ? now_ns + NS((1 - rows) * PFC_REFUSALS_ROW_S) : next_ns);
            continue;
        }
        copy = *e;
        e->count = 0;
        e->written_ns = now_ns;
        rows -= 1;
        pthread_mutex_unlock(&r->lock);
        if (write_row(r, &copy, &err))
            pfc_log(PFC_WARN, "refusal_not_audited", "reason", (const char *)err.msg, "actor",
                    (const char *)copy.actor, "object", (const char *)copy.what, "status",
                    copy.status, "count", copy.count);
        pthread_mutex_lock(&r->lock);
    }
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

pfc_code pfc_refusals_start(pfc_refusals **out, pfc_db *db, pfc_err *err)
{
    pfc_refusals *r = pfc_alloc(sizeof(*r));
    pthread_condattr_t attr;

    r->db = db;
    pthread_mutex_init(&r->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&r->wake, &attr);
    pthread_condattr_destroy(&attr);
    if (pthread_create(&r->thread, NULL, refusals_main, r) != 0) {
        pthread_cond_destroy(&r->wake);
        pthread_mutex_destroy(&r->lock);
        free(r);
        return pfc_err_set(err, PFC_EIO, "refusals: no thread");
    }
    *out = r;
    return PFC_OK;
}

void pfc_refusals_stop(pfc_refusals *r)
{
    if (!r)
        return;
    pthread_mutex_lock(&r->lock);
    r->stop = true;
    pthread_cond_signal(&r->wake);
    pthread_mutex_unlock(&r->lock);
    pthread_join(r->thread, NULL);
    pthread_cond_destroy(&r->wake);
    pthread_mutex_destroy(&r->lock);
    free(r);
}
