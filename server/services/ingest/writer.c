/*
 * Group commit. Request threads parse small documents and put them into the ready queue. Large ones
 * go into the unread queue, from which reader threads parse them, so that they do not block a
 * request thread. A few writer threads take all ready runs, store them in one transaction and
 * notify the connections that wait. There is no artificial delay: the queue fills while the last
 * commit's fsync runs, so groups grow with the load.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/parse.h"
#include "server/services/access/access.h"
#include "server/services/access/lease_tokens.h"
#include "server/services/ingest/ingest.h"
#include "server/services/ingest/prepared.h"
#include "server/services/ingest/queue_limit.h"

#define WRITERS_MAX 16
#define READERS_MAX 16
#define READER_NICE 5                  /* parsing gives way to answering */
#define GROUP_BYTES (8u * 1024 * 1024) /* of documents in one transaction */
#define SMALL_BYTES (64u * 1024)       /* of a document that its sender's thread reads */
#define QUEUE_BYTES (64u * 1024 * 1024)

struct pfc_ingest_ticket {
    atomic_int refs; /* who submitted, and the writer while it is queued */
    pfc_ingest in;
    pfc_run *run;
    char *body; /* until it is read; then NULL */
    size_t body_len;
    int64_t only_project;
    pfc_lease_id lease;
    pfc_cache *cache;
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

typedef struct ticket_list {
    pfc_ingest_ticket *first, *last;
} ticket_list;

struct pfc_writer {
    pfc_writer_opts opts;
    pthread_t writers[WRITERS_MAX], readers[READERS_MAX];
    size_t writers_len, readers_len;
    pthread_mutex_t lock;
    pthread_cond_t wake_writer, wake_reader;
    ticket_list unread, ready;     /* guarded by lock */
    size_t reading;                /* taken from unread, not yet ready; guarded by lock */
    size_t waiting, waiting_bytes; /* in all three; guarded by lock */
    pfc_pace pace;                 /* guarded by lock */
    bool stopping;                 /* guarded by lock */
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

void pfc_ingest_ticket_request(const pfc_ingest_request *request, pfc_cache *cache,
                               pfc_ingest_ticket **out)
{
    pfc_ingest_ticket *t = pfc_alloc(sizeof(*t));

    atomic_init(&t->refs, 1);
    atomic_init(&t->state, TICKET_FRESH);
    t->actor = pfc_strdup(request->actor);
    t->key = request->key ? pfc_strdup(request->key) : NULL;
    t->body = pfc_strndup(request->body, request->body_len);
    t->body_len = t->bytes = request->body_len;
    t->only_project = request->only_project;
    t->lease = request->lease;
    t->cache = cache;
    *out = t;
}

/* The project that the run names, when the sender may write to it. */
static pfc_code find_project(pfc_db *db, const pfc_ingest_ticket *t, int64_t *id, pfc_err *err)
{
    const pfc_run *run = t->run;
    pfc_code code;

    if (!run->project)
        return pfc_err_set_field(err, PFC_EINVAL, "project", "a run needs its project");
    if (!run->commit)
        return pfc_err_set_field(err, PFC_EINVAL, "commit", "a run needs its commit");
    if (!pfc_is_slug(run->project))
        return pfc_err_set_field(err, PFC_EINVAL, "project",
                                 "expected a project's name of lower-case letters, digits, dots, "
                                 "dashes and underscores, got \"%.64s\"",
                                 run->project);
    code = pfc_project_find(db, t->cache, run->project, id, err);
    /* Another project is answered as one that does not exist. */
    if (!code && t->only_project != 0 && t->only_project != *id)
        code = PFC_ENOTFOUND;
    if (code == PFC_ENOTFOUND)
        return pfc_err_set_field(err, code, "project", "there is no project \"%.64s\"",
                                 run->project);
    if (!code)
        code =
            pfc_lease_check(db, &t->lease,
                            &(pfc_lease_results){ .project_id = *id,
                                                  .branch = run->branch,
                                                  .commits = (const char *const[]){ run->commit },
                                                  .commits_len = 1,
                                                  .job_id = run->job_id,
                                                  .fence = run->job_fence },
                            err);
    return code;
}

/* Parses the received document and prepares the run for storing. Called once. */
static pfc_code ticket_read(pfc_db *db, pfc_ingest_ticket *t, pfc_err *err)
{
    int64_t project_id = 0;
    pfc_code code;

    if (!t->body)
        return PFC_OK;
    code = pfc_run_from_json(t->body, t->body_len, &t->run, err);
    free(t->body);
    t->body = NULL;
    if (!code)
        code = find_project(db, t, &project_id, err);
    return code ? code : pfc_ingest_prepare(&t->in, t->actor, project_id, t->run, t->key, err);
}

void pfc_ingest_ticket_free(pfc_ingest_ticket *t)
{
    if (!t || atomic_fetch_sub(&t->refs, 1) > 1)
        return;
    pfc_ingest_clear(&t->in);
    pfc_run_free(t->run);
    free(t->body);
    free(t->actor);
    free(t->key);
    free(t);
}

pfc_code pfc_ingest_ticket_take(pfc_db *db, pfc_ingest_ticket *t, pfc_ingest_result *out,
                                pfc_err *err)
{
    int state = atomic_load(&t->state);

    if (state == TICKET_FRESH) {
        pfc_code code = ticket_read(db, t, err);

        return code ? code : pfc_ingest_one(db, &t->in, out, err);
    }
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

/* ---- the two queues ---- */

static void list_push(ticket_list *list, pfc_ingest_ticket *t)
{
    t->next = NULL;
    if (list->last)
        list->last->next = t;
    else
        list->first = t;
    list->last = t;
}

static pfc_ingest_ticket *list_pop(ticket_list *list)
{
    pfc_ingest_ticket *t = list->first;

    list->first = t->next;
    if (!list->first)
        list->last = NULL;
    return t;
}

/* Completes the tickets and notifies the connections that wait for them. */
static void tickets_done(pfc_writer *w, pfc_ingest_ticket **tickets, size_t len)
{
    uint64_t tags[PFC_INGEST_GROUP_MAX];

    for (size_t i = 0; i < len; i++) {
        tags[i] = tickets[i]->tag;
        atomic_store(&tickets[i]->state, TICKET_DONE);
        pfc_ingest_ticket_free(tickets[i]);
    }
    w->opts.done(w->opts.context, tags, len);
}

/* ---- readers ---- */

/* NULL: stop. */
static pfc_ingest_ticket *take_unread(pfc_writer *w)
{
    pfc_ingest_ticket *t = NULL;

    pthread_mutex_lock(&w->lock);
    while (!w->unread.first && !w->stopping)
        pthread_cond_wait(&w->wake_reader, &w->lock);
    if (w->unread.first) {
        t = list_pop(&w->unread);
        w->reading++;
    }
    pthread_mutex_unlock(&w->lock);
    return t;
}

static void give_read(pfc_writer *w, pfc_ingest_ticket *t, bool ready)
{
    pthread_mutex_lock(&w->lock);
    w->reading--;
    if (ready) {
        list_push(&w->ready, t);
        pthread_cond_signal(&w->wake_writer);
    } else {
        w->waiting--;
        w->waiting_bytes -= t->bytes;
    }
    if (w->stopping) /* writers stop only after the last unread ticket */
        pthread_cond_broadcast(&w->wake_writer);
    pthread_mutex_unlock(&w->lock);
    if (!ready)
        tickets_done(w, &t, 1);
}

static void *reader_main(void *arg)
{
    pfc_writer *w = arg;
    pfc_ingest_ticket *t;

    /* On Linux this applies to the calling thread only. */
    (void)setpriority(PRIO_PROCESS, (id_t)gettid(), READER_NICE);
    while ((t = take_unread(w)) != NULL) {
        t->code = ticket_read(w->opts.db, t, &t->err);
        give_read(w, t, t->code == PFC_OK);
    }
    return NULL;
}

/* ---- writers ---- */

/* Waits for tickets and takes a group of them; 0: stop. *left: more tickets are waiting. */
static size_t take_group(pfc_writer *w, pfc_ingest_ticket **group, bool *left)
{
    size_t n = 0, bytes = 0;

    pthread_mutex_lock(&w->lock);
    while (!w->ready.first && !(w->stopping && !w->unread.first && !w->reading))
        pthread_cond_wait(&w->wake_writer, &w->lock);
    while (w->ready.first && n < PFC_INGEST_GROUP_MAX && (n == 0 || bytes < GROUP_BYTES)) {
        pfc_ingest_ticket *t = list_pop(&w->ready);

        w->waiting--;
        w->waiting_bytes -= t->bytes;
        bytes += t->bytes;
        group[n++] = t;
    }
    *left = w->ready.first != NULL;
    pthread_mutex_unlock(&w->lock);
    return n;
}

/* The runs of a group that are stored one by one. */
typedef struct apart {
    pfc_err away; /* if set, storing the others would fail, too */
    bool late;    /* one of them has timed out already */
    bool put_off; /* the client of one of them must send it again */
} apart;

/* If the database is unavailable, the rest of the group fails with the same error. Other errors
 * belong to one run, which may wait for a lock, or be refused repeatedly. The second timeout fails
 * the rest, too: each further one would delay all runs that wait in the queue. */
static void store_alone(pfc_writer *w, pfc_ingest_ticket *t, apart *a)
{
    if (a->away.code) {
        t->code = a->away.code;
        t->err = a->away;
        return;
    }
    t->code = pfc_ingest_one(w->opts.db, &t->in, &t->result, &t->err);
    atomic_fetch_add(&w->alone, 1);
    if (t->code == PFC_ETIMEOUT ? a->late
                                : t->code == PFC_EUNAVAIL && pfc_db_ping(w->opts.db, NULL))
        a->away = t->err;
    a->late |= t->code == PFC_ETIMEOUT;
    a->put_off |= t->code == PFC_ETIMEOUT || t->code == PFC_EUNAVAIL;
}

/* false: the group waited for a lock or the database, so its time must not count for the rate. */
static bool store_group(pfc_writer *w, pfc_ingest_ticket **group, size_t len)
{
    pfc_ingest *runs[PFC_INGEST_GROUP_MAX];
    pfc_group_state states[PFC_INGEST_GROUP_MAX];
    pfc_ingest_result *results = pfc_calloc(len, sizeof(*results));
    pfc_err err = { 0 };
    apart rest = { 0 };
    pfc_code code;

    for (size_t i = 0; i < len; i++)
        runs[i] = &group[i]->in;
    code = pfc_ingest_group(w->opts.db, runs, len, states, results, &err);
    if (code)
        /* One run is the cause: store them one by one. */
        pfc_log(PFC_DEBUG, "group taken apart", "runs", len, "why", (const char *)err.msg);
    else
        atomic_fetch_add(&w->groups, 1);
    for (size_t i = 0; i < len; i++) {
        if (states[i] == PFC_GROUP_STORED) {
            group[i]->result = results[i];
            atomic_fetch_add(&w->grouped, 1);
            continue;
        }
        store_alone(w, group[i], &rest);
    }
    free(results);
    return !rest.put_off;
}

static void *writer_main(void *arg)
{
    pfc_writer *w = arg;
    pfc_ingest_ticket *group[PFC_INGEST_GROUP_MAX];
    bool left = false;
    size_t n;

    while ((n = take_group(w, group, &left)) > 0) {
        const int64_t taken_ns = pfc_clock_ns();

        if (store_group(w, group, n)) {
            pthread_mutex_lock(&w->lock);
            pfc_pace_stored(&w->pace, taken_ns, pfc_clock_ns(), n, left);
            pthread_mutex_unlock(&w->lock);
        }
        tickets_done(w, group, n);
    }
    return NULL;
}

/* Under the lock. */
static pfc_code find_room(const pfc_writer *w, const pfc_ingest_ticket *t, pfc_err *err)
{
    if (w->stopping || w->waiting >= pfc_pace_room(&w->pace) ||
        w->waiting_bytes + t->bytes > QUEUE_BYTES)
        return pfc_err_set(err, PFC_EUNAVAIL, "too many runs wait to be stored: try again later");
    return PFC_OK;
}

/* The request thread parses a small document itself: waking another thread costs as much. */
static pfc_code read_small(pfc_writer *w, pfc_ingest_ticket *t, pfc_err *err)
{
    pfc_code code;

    if (!t->body || t->body_len > SMALL_BYTES)
        return PFC_OK;
    /* Nothing is done for what is refused. */
    pthread_mutex_lock(&w->lock);
    code = find_room(w, t, err);
    pthread_mutex_unlock(&w->lock);
    return code ? code : ticket_read(w->opts.db, t, err);
}

pfc_code pfc_writer_submit(pfc_writer *w, pfc_ingest_ticket *t, uint64_t tag, pfc_err *err)
{
    pfc_code code = read_small(w, t, err);

    if (code)
        return code;
    pthread_mutex_lock(&w->lock);
    code = find_room(w, t, err);
    if (!code) {
        atomic_fetch_add(&t->refs, 1);
        atomic_store(&t->state, TICKET_QUEUED);
        t->tag = tag;
        list_push(t->body ? &w->unread : &w->ready, t);
        w->waiting++;
        w->waiting_bytes += t->bytes;
        pthread_cond_signal(t->body ? &w->wake_reader : &w->wake_writer);
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
    out->room = pfc_pace_room(&w->pace);
    pthread_mutex_unlock(&w->lock);
    out->groups = atomic_load(&w->groups);
    out->grouped = atomic_load(&w->grouped);
    out->alone = atomic_load(&w->alone);
}

static pfc_code start_threads(pfc_writer *w, pthread_t *threads, size_t *len, size_t want,
                              void *(*main)(void *), pfc_err *err)
{
    for (; *len < want; (*len)++) {
        if (pthread_create(&threads[*len], NULL, main, w))
            return pfc_err_set(err, PFC_EUNAVAIL, "writer: cannot start a thread");
    }
    return PFC_OK;
}

pfc_code pfc_writer_start(pfc_writer **out, const pfc_writer_opts *opts, pfc_err *err)
{
    pfc_writer *w = pfc_alloc(sizeof(*w));
    size_t writers = opts->threads ? PFC_MIN(opts->threads, (unsigned)WRITERS_MAX) : 2;
    size_t readers = opts->readers ? PFC_MIN(opts->readers, (unsigned)READERS_MAX) : 2;
    pfc_code code;

    w->opts = *opts;
    pfc_pace_begin(&w->pace, opts->run_ns);
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->wake_writer, NULL);
    pthread_cond_init(&w->wake_reader, NULL);
    code = start_threads(w, w->writers, &w->writers_len, writers, writer_main, err);
    if (!code)
        code = start_threads(w, w->readers, &w->readers_len, readers, reader_main, err);
    if (code)
        pfc_writer_stop(w);
    else
        *out = w;
    return code;
}

void pfc_writer_stop(pfc_writer *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->lock);
    w->stopping = true;
    pthread_cond_broadcast(&w->wake_reader);
    pthread_cond_broadcast(&w->wake_writer);
    pthread_mutex_unlock(&w->lock);
    for (size_t i = 0; i < w->readers_len; i++)
        (void)pthread_join(w->readers[i], NULL);
    for (size_t i = 0; i < w->writers_len; i++)
        (void)pthread_join(w->writers[i], NULL);
    pthread_cond_destroy(&w->wake_reader);
    pthread_cond_destroy(&w->wake_writer);
    pthread_mutex_destroy(&w->lock);
    free(w);
}
