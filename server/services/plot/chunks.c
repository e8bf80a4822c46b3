/* Points of chunks in memory: see plot_priv.h. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "server/services/lru.h"
#include "server/services/plot/plot_priv.h"

typedef struct point {
    uint32_t position, run; /* run: above first_run */
    double time, median;
} point;

struct pfc_plot_chunk {
    pfc_lru_item item;  /* first; its key: series and version */
    atomic_size_t uses; /* by readers, and one while it is in memory for others */
    int64_t first_run;
    size_t len;
    point *points;          /* owned; NULL: `wide` has them */
    pfc_packed_points wide; /* a number of a point does not fit: not kept */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pfc_lru all = { .most_bytes = PFC_PLOT_CHUNK_BYTES }; /* guarded by lock, as the next */
static uint64_t found, unpacked;

void pfc_plot_chunk_release(pfc_plot_chunk *chunk)
{
    if (!chunk || atomic_fetch_sub(&chunk->uses, 1) > 1)
        return;
    free(chunk->points);
    free(chunk->wide.items);
    free(chunk);
}

pfc_plot_chunk *pfc_plot_chunk_find(int64_t series_id, int64_t version)
{
    pfc_plot_chunk *chunk;

    (void)pthread_mutex_lock(&lock);
    chunk = (pfc_plot_chunk *)pfc_lru_find(&all, series_id, version);
    if (chunk) {
        pfc_lru_use(&all, &chunk->item);
        (void)atomic_fetch_add(&chunk->uses, 1);
        found++;
    }
    (void)pthread_mutex_unlock(&lock);
    return chunk;
}

static void release_item(pfc_lru_item *item)
{
    pfc_plot_chunk_release((pfc_plot_chunk *)item);
}

static void keep(pfc_plot_chunk *chunk)
{
    pfc_lru_item *gone;

    chunk->item.bytes = sizeof(*chunk) + chunk->len * sizeof(*chunk->points);
    (void)atomic_fetch_add(&chunk->uses, 1);
    (void)pthread_mutex_lock(&lock);
    gone = pfc_lru_put(&all, &chunk->item);
    (void)pthread_mutex_unlock(&lock);
    pfc_lru_free(gone, release_item);
}

/* False: a number is out of the range of `point`. */
static bool narrow(pfc_plot_chunk *chunk)
{
    const pfc_packed_points *wide = &chunk->wide;
    int64_t first = INT64_MAX;

    for (size_t i = 0; i < wide->len; i++)
        first = PFC_MIN(first, wide->items[i].run_id);
    for (size_t i = 0; i < wide->len; i++) {
        const pfc_packed_point *p = &wide->items[i];

        if (p->position < 0 || p->position > UINT32_MAX || p->run_id - first > UINT32_MAX)
            return false;
    }
    chunk->first_run = first;
    chunk->points = pfc_calloc(wide->len, sizeof(*chunk->points));
    for (size_t i = 0; i < wide->len; i++) {
        const pfc_packed_point *p = &wide->items[i];

        chunk->points[i] = (point){ .position = (uint32_t)p->position,
                                    .run = (uint32_t)(p->run_id - first),
                                    .time = p->time,
                                    .median = p->median };
    }
    return true;
}

pfc_code pfc_plot_chunk_unpack(int64_t series_id, int64_t version, pfc_bytes packed,
                               pfc_plot_chunk **out, pfc_err *err)
{
    const pfc_window_bounds everything = { .time_from = (double)NAN, .time_to = (double)NAN };
    pfc_plot_chunk *chunk = pfc_calloc(1, sizeof(*chunk));
    pfc_code code;

    atomic_init(&chunk->uses, 1);
    code = pfc_packed_append(packed, &everything, &chunk->wide, err);
    if (code) {
        pfc_plot_chunk_release(chunk);
        return code;
    }
    chunk->item.key[0] = series_id;
    chunk->item.key[1] = version;
    chunk->len = chunk->wide.len;
    if (narrow(chunk)) {
        free(chunk->wide.items);
        chunk->wide = (pfc_packed_points){ 0 };
        keep(chunk);
    }
    (void)pthread_mutex_lock(&lock);
    unpacked++;
    (void)pthread_mutex_unlock(&lock);
    *out = chunk;
    return PFC_OK;
}

void pfc_plot_chunk_append(const pfc_plot_chunk *chunk, pfc_packed_points *out)
{
    out->items = pfc_realloc(out->items, out->len + chunk->len, sizeof(*out->items));
    for (size_t i = 0; i < chunk->len; i++) {
        const point *p = chunk->points ? &chunk->points[i] : NULL;

        out->items[out->len++] = p ? (pfc_packed_point){ .position = p->position,
                                                         .run_id = chunk->first_run + p->run,
                                                         .time = p->time,
                                                         .median = p->median }
                                   : chunk->wide.items[i];
    }
}

void pfc_plot_chunk_count(pfc_plot_chunk_figures *out)
{
    (void)pthread_mutex_lock(&lock);
    *out = (pfc_plot_chunk_figures){ .bytes = all.bytes, .found = found, .unpacked = unpacked };
    (void)pthread_mutex_unlock(&lock);
}
