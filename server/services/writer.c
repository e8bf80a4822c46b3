/*
 * Group commit: requests put their runs in a queue; a few writers take all that waits, store it in
 * one transaction and tell who waited. Nothing is delayed on purpose: the queue fills while the last
 * commit's fsync runs, so groups grow with the load.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "core/base/log.h"
#include "server/services/ingest.h"

#define WRITERS_MAX 16
#define GROUP_BYTES (8u * 1024 * 1024) /* of documents in one transaction */
#define QUEUE_LEN   4096
#define QUEUE_BYTES (64u * 1024 * 1024)

struct pfc_ingest_ticket {
    atomic_int refs; /* who submitted, and the writer while it is queued */
    pfc_ingest in;
    pfc_run *run;
    char *actor, *key;
    size_t bytes;
    uint64_t tag;
    pfc_ingest_ticket *next; /* guarded by the writer's lock */
    /* Written by the writer before `state` becomes DONE. */
    pfc_ingest_result result;
    pfc_err err;
    pfc_code code;
    atomic_int state;
};

enum { TICKET_FRESH, TICKET_QUEUED, TICKET_DONE };

struct pfc_writer {
    pfc_writer_opts opts;
    pthread_t threads[WRITERS_MAX];
    size_t threads_len;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pfc_ingest_ticket *first, *last; /* guarded by lock */
    size_t waiting, waiting_bytes;   /* guarded by lock */
    bool stopping;                   /* guarded by lock */
    atomic_uint_fast64_t groups, grouped, alone;
};

/* ---- tickets ---- */

pfc_code pfc_ingest_ticket_new(const char *actor, int64_t project_id, pfc_run *run, const char *key,
                               size_t bytes, pfc_ingest_ticket **out, pfc_err *err)
{
    pfc_ingest_ticket *t = pfc_alloc(sizeof(*t));
    pfc_code code;

    atomic_init(&t->refs, 1);
    atomic_init(&t->state, TICKET_FRESH);
    t->run = run;
    t->actor = pfc_strdup(actor);
    t->key = key ? pfc_strdup(key) : NULL;
    t->bytes = bytes;
    code = pfc_ingest_prepare(&t->in, t->actor, project_id, run, t->key, err);
    if (code) {
        pfc_ingest_ticket_free(t);
        return code;
    }
    *out = t;
    return PFC_OK;
}

void pfc_ingest_ticket_free(pfc_ingest_ticket *t)
{
    if (!t || atomic_fetch_sub(&t->refs, 1) > 1)
        return;
    pfc_ingest_clear(&t->in);
    pfc_run_free(t->run);
    free(t->actor);
    free(t->key);
    free(t);
}

pfc_code pfc_ingest_ticket_take(pfc_db *db, pfc_ingest_ticket *t, pfc_ingest_result *out,
                                pfc_err *err)
{
    int state = atomic_load(&t->state);

    if (state == TICKET_FRESH)
        return pfc_ingest_one(db, &t->in, out, err);
    if (state == TICKET_QUEUED)
        return pfc_err_set(err, PFC_EUNAVAIL,
                           "storing takes too long; whether it will be stored is not known yet: "
                           "send the same document again");
    if (t->code) {
        if (err)
            *err = t->err;
        return t->code;
    }
    *out = t->result;
    return PFC_OK;
}

/* ---- writers ---- */

/* Waits for work and takes a group of it; 0: stop. */
static size_t take_group(pfc_writer *w, pfc_ingest_ticket **group)
{
    size_t n = 0, bytes = 0;

    pthread_mutex_lock(&w->lock);
    while (!w->first && !w->stopping)
        pthread_cond_wait(&w->wake, &w->lock);
    while (w->first && n < PFC_INGEST_GROUP_MAX && (n == 0 || bytes < GROUP_BYTES)) {
        pfc_ingest_ticket *t = w->first;

        w->first = t->next;
        if (!w->first)
            w->last = NULL;
        w->waiting--;
        w->waiting_bytes -= t->bytes;
        bytes += t->bytes;
        group[n++] = t;
    }
    pthread_mutex_unlock(&w->lock);
    return n;
}

/* By itself; when the database is away the rest of the group need not ask again. */
static void store_alone(pfc_writer *w, pfc_ingest_ticket *t, const pfc_err *away)
{
    if (away->code) {
        t->code = away->code;
        t->err = *away;
        return;
    }
    t->code = pfc_ingest_one(w->opts.db, &t->in, &t->result, &t->err);
    atomic_fetch_add(&w->alone, 1);
}

static void store_group(pfc_writer *w, pfc_ingest_ticket **group, size_t len)
{
    pfc_ingest *runs[PFC_INGEST_GROUP_MAX];
    pfc_group_state states[PFC_INGEST_GROUP_MAX];
    pfc_ingest_result *results = pfc_calloc(len, sizeof(*results));
    pfc_err err = { 0 }, away = { 0 };
    pfc_code code;

    for (size_t i = 0; i < len; i++)
        runs[i] = &group[i]->in;
    code = pfc_ingest_group(w->opts.db, runs, len, states, results, &err);
    if (code)
        /* One of them is the cause: one by one they come apart. */
        pfc_log(PFC_DEBUG, "group taken apart", "runs", len, "why", (const char *)err.msg);
    else
        atomic_fetch_add(&w->groups, 1);
    for (size_t i = 0; i < len; i++) {
        if (states[i] == PFC_GROUP_STORED) {
            group[i]->result = results[i];
            atomic_fetch_add(&w->grouped, 1);
            continue;
        }
        store_alone(w, group[i], &away);
        if (group[i]->code == PFC_EUNAVAIL || group[i]->code == PFC_ETIMEOUT)
            away = group[i]->err;
    }
    free(results);
}

static void *writer_main(void *arg)
{
    pfc_writer *w = arg;
    pfc_ingest_ticket *group[PFC_INGEST_GROUP_MAX];
    uint64_t tags[PFC_INGEST_GROUP_MAX];
    size_t n;

    while ((n = take_group(w, group)) > 0) {
        store_group(w, group, n);
        for (size_t i = 0; i < n; i++) {
            tags[i] = group[i]->tag;
            atomic_store(&group[i]->state, TICKET_DONE);
            pfc_ingest_ticket_free(group[i]);
        }
        w->opts.done(w->opts.context, tags, n);
    }
    return NULL;
}

pfc_code pfc_writer_submit(pfc_writer *w, pfc_ingest_ticket *t, uint64_t tag, pfc_err *err)
{
    pfc_code code = PFC_OK;

    pthread_mutex_lock(&w->lock);
    if (w->stopping || w->waiting >= QUEUE_LEN || w->waiting_bytes + t->bytes > QUEUE_BYTES) {
        code = pfc_err_set(err, PFC_EUNAVAIL, "too many runs wait to be stored: try again later");
    } else {
        atomic_fetch_add(&t->refs, 1);
        atomic_store(&t->state, TICKET_QUEUED);
        t->tag = tag;
        t->next = NULL;
        if (w->last)
            w->last->next = t;
        else
            w->first = t;
        w->last = t;
        w->waiting++;
        w->waiting_bytes += t->bytes;
        pthread_cond_signal(&w->wake);
    }
    pthread_mutex_unlock(&w->lock);
    return code;
}

void pfc_writer_refuse(pfc_ingest_ticket *t, const pfc_err *err)
{
    t->code = err->code;
    t->err = *err;
    atomic_store(&t->state, TICKET_DONE);
}

void pfc_writer_figures(pfc_writer *w, pfc_writer_counts *out)
{
    pthread_mutex_lock(&w->lock);
    out->waiting = w->waiting;
    pthread_mutex_unlock(&w->lock);
    out->groups = atomic_load(&w->groups);
    out->grouped = atomic_load(&w->grouped);
    out->alone = atomic_load(&w->alone);
}

pfc_code pfc_writer_start(pfc_writer **out, const pfc_writer_opts *opts, pfc_err *err)
{
    pfc_writer *w = pfc_alloc(sizeof(*w));
    size_t threads = opts->threads ? PFC_MIN(opts->threads, (unsigned)WRITERS_MAX) : 2;

    w->opts = *opts;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->wake, NULL);
    for (size_t i = 0; i < threads; i++) {
        if (pthread_create(&w->threads[i], NULL, writer_main, w)) {
            pfc_writer_stop(w);
            return pfc_err_set(err, PFC_EUNAVAIL, "writer: cannot start a thread");
        }
        w->threads_len++;
    }
    *out = w;
    return PFC_OK;
}

void pfc_writer_stop(pfc_writer *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    w->stopping = true;
    pthread_cond_broadcast(&w->wake);
    pthread_mutex_unlock(&w->lock);
    for (size_t i = 0; i < w->threads_len; i++)
        (void)pthread_join(w->threads[i], NULL);
    pthread_cond_destroy(&w->wake);
    pthread_mutex_destroy(&w->lock);
    free(w);
}
