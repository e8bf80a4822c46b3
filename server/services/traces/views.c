/* Views of traces that were read last: see traces.h. */
#include <pthread.h>
#include <stdlib.h>

#include "server/services/traces/traces.h"

typedef struct slot {
    int64_t id; /* 0: empty */
    pfc_trace_view *view;
    unsigned holders;
    uint64_t used; /* number of the newest use */
} slot;

struct pfc_trace_views {
    pthread_mutex_t lock;            /* not held during a read */
    slot slots[PFC_TRACE_VIEWS_LEN]; /* guarded by lock, like the rest */
    uint64_t uses;
};

pfc_trace_views *pfc_trace_views_new(void)
{
    pfc_trace_views *views = pfc_alloc(sizeof(*views));

    pthread_mutex_init(&views->lock, NULL);
    return views;
}

void pfc_trace_views_free(pfc_trace_views *views)
{
    if (!views)
        return;
    for (size_t i = 0; i < PFC_TRACE_VIEWS_LEN; i++)
        pfc_trace_view_free(views->slots[i].view);
    pthread_mutex_destroy(&views->lock);
    free(views);
}

/* ---- with the lock held ---- */

static bool find(pfc_trace_views *views, int64_t id, pfc_trace_held *out)
{
    for (size_t i = 0; i < PFC_TRACE_VIEWS_LEN; i++) {
        slot *s = &views->slots[i];

        if (s->id != id)
            continue;
        s->holders++;
        s->used = ++views->uses;
        *out = (pfc_trace_held){ s->view, views, i };
        return true;
    }
    return false;
}

static void empty(slot *s)
{
    pfc_trace_view_free(s->view);
    *s = (slot){ 0 };
}

/* The unheld slot that was used longest ago; an empty one first. NULL: all are held. */
static slot *oldest(pfc_trace_views *views)
{
    slot *found = NULL;

    for (size_t i = 0; i < PFC_TRACE_VIEWS_LEN; i++) {
        slot *s = &views->slots[i];

        if (s->holders == 0 && (!found || s->used < found->used))
            found = s;
    }
    return found;
}

static slot *oldest_full(pfc_trace_views *views)
{
    slot *found = NULL;

    for (size_t i = 0; i < PFC_TRACE_VIEWS_LEN; i++) {
        slot *s = &views->slots[i];

        if (s->view && s->holders == 0 && (!found || s->used < found->used))
            found = s;
    }
    return found;
}

static size_t bytes_of(const pfc_trace_views *views)
{
    size_t sum = 0;

    for (size_t i = 0; i < PFC_TRACE_VIEWS_LEN; i++)
        sum += views->slots[i].view ? views->slots[i].view->bytes : 0;
    return sum;
}

/* Keeps a view that was read meanwhile; without room it stays the holder's own. */
static void keep(pfc_trace_views *views, int64_t id, pfc_trace_held *held)
{
    slot *s;

    while (bytes_of(views) + held->view->bytes > PFC_TRACE_VIEWS_BYTES &&
           (s = oldest_full(views)) != NULL)
        empty(s);
    if (bytes_of(views) > 0 && bytes_of(views) + held->view->bytes > PFC_TRACE_VIEWS_BYTES)
        return;
    s = oldest(views);
    if (!s)
        return;
    empty(s);
    *s = (slot){ .id = id, .view = held->view, .holders = 1, .used = ++views->uses };
    held->of = views;
    held->slot = (size_t)(s - views->slots);
}

/* ---- calls ---- */

pfc_code pfc_trace_hold(pfc_db *db, pfc_trace_views *views, int64_t id, pfc_trace_held *out,
                        pfc_err *err)
{
    pfc_trace_held own = { 0 };
    char *bytes = NULL;
    size_t len = 0;
    bool found = false;
    pfc_code code;

    if (views) {
        pthread_mutex_lock(&views->lock);
        found = find(views, id, out);
        pthread_mutex_unlock(&views->lock);
    }
    if (found)
        return PFC_OK;
    code = pfc_trace_file(db, id, &bytes, &len, err);
    if (!code)
        code = pfc_trace_view_read(&own.view, bytes, len, "trace", err);
    free(bytes);
    if (code)
        return code;
    if (views) {
        pthread_mutex_lock(&views->lock);
        found = find(views, id, out);
        if (!found)
            keep(views, id, &own);
        pthread_mutex_unlock(&views->lock);
    }
    if (found)
        pfc_trace_view_free(own.view);
    else
        *out = own;
    return PFC_OK;
}

void pfc_trace_drop(pfc_trace_held *held)
{
    if (held->of) {
        pthread_mutex_lock(&held->of->lock);
        held->of->slots[held->slot].holders--;
        pthread_mutex_unlock(&held->of->lock);
    } else {
        pfc_trace_view_free(held->view);
    }
    *held = (pfc_trace_held){ 0 };
}
