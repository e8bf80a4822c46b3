/* Kept histories: see recent.h. */
#include "server/services/detect/recent.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "server/services/lru.h"

#define SHA 40

typedef struct kept_point {
    double t, v;
    int64_t commit_id, position, run_id;
    uint64_t machine_state;
    uint32_t samples_at, samples_len;
    uint32_t machine; /* index into the names */
    char sha[SHA + 1];
} kept_point;

struct pfc_recent {
    pfc_lru_item item; /* first; its key: project and series */
    int64_t generation;
    int64_t before; /* points of the series before the first one */
    int64_t newest_run;
    kept_point *points;
    size_t len, cap;
    double *samples;
    size_t samples_len, samples_cap;
    char **machines;
    size_t machines_len, machines_cap;
    pfc_steady_replay replay;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pfc_lru all = { .most_bytes = PFC_RECENT_BYTES }; /* guarded by lock */

/* ---- one history ---- */

/* Most points of a series are of one machine. */
static uint32_t machine_of(pfc_recent *k, const char *name)
{
    for (size_t i = k->machines_len; i-- > 0;) {
        if (pfc_streq(k->machines[i], name))
            return (uint32_t)i;
    }
    k->machines = pfc_grow(k->machines, k->machines_len, &k->machines_cap, sizeof(*k->machines));
    k->machines[k->machines_len] = pfc_strdup(name);
    return (uint32_t)k->machines_len++;
}

/* False: it does not fit the form in which points are kept. */
static bool add_point(pfc_recent *k, const pfc_history *from, size_t i)
{
    const pfc_point *point = &from->points[i];
    const pfc_point_meta *m = &from->meta[i];
    kept_point *out;

    if (strlen(m->sha) != SHA || memcmp(&m->median, &point->v, sizeof(point->v)) != 0)
        return false;
    k->points = pfc_grow(k->points, k->len, &k->cap, sizeof(*k->points));
    out = &k->points[k->len++];
    *out = (kept_point){ .t = point->t,
                         .v = point->v,
                         .commit_id = m->commit_id,
                         .position = m->position,
                         .run_id = m->run_id,
                         .machine_state = point->machine_state,
                         .samples_at = (uint32_t)k->samples_len,
                         .samples_len = (uint32_t)point->repeats_len,
                         .machine = machine_of(k, m->machine) };
    memcpy(out->sha, m->sha, SHA + 1);
    for (size_t s = 0; s < point->repeats_len; s++) {
        k->samples = pfc_grow(k->samples, k->samples_len, &k->samples_cap, sizeof(*k->samples));
        k->samples[k->samples_len++] = point->repeats[s];
    }
    k->newest_run = PFC_MAX(k->newest_run, m->run_id);
    return true;
}

pfc_recent *pfc_recent_new(int64_t project_id, int64_t series_id, int64_t generation,
                           const pfc_history *h, size_t from, int64_t before,
                           pfc_steady_replay *replay)
{
    pfc_recent *k = pfc_calloc(1, sizeof(*k));
    bool fits = h->len > from;

    k->item.key[0] = project_id;
    k->item.key[1] = series_id;
    k->generation = generation;
    k->before = before;
    for (size_t i = from; fits && i < h->len; i++)
        fits = add_point(k, h, i);
    if (!fits) {
        pfc_recent_free(k);
        return NULL;
    }
    k->replay = *replay;
    memset(replay, 0, sizeof(*replay));
    return k;
}

void pfc_recent_free(pfc_recent *kept)
{
    if (!kept)
        return;
    for (size_t i = 0; i < kept->machines_len; i++)
        free(kept->machines[i]);
    free(kept->machines);
    free(kept->samples);
    free(kept->points);
    pfc_steady_replay_clear(&kept->replay);
    free(kept);
}

int64_t pfc_recent_next_run(const pfc_recent *kept)
{
    return kept->newest_run + 1;
}

static bool is_new(const pfc_judged *series, int64_t run_id)
{
    return bsearch(&run_id, series->runs, series->runs_len, sizeof(run_id), pfc_by_number) != NULL;
}

static bool holds(const pfc_recent *k, size_t len, int64_t run_id)
{
    for (size_t i = len; i-- > 0;) {
        if (k->points[i].run_id == run_id)
            return true;
    }
    return false;
}

/* Counts the points of the batch's runs that an earlier judgement has read already. */
static int64_t held(const pfc_recent *k, const pfc_judged *series)
{
    int64_t n = 0;

    for (size_t i = k->len; i-- > 0 && k->points[i].position >= series->from_position;)
        n += is_new(series, k->points[i].run_id);
    return n;
}

static void shorten(pfc_recent *k, size_t len, int64_t newest_run)
{
    if (len < k->len)
        k->samples_len = k->points[len].samples_at;
    k->len = len;
    k->newest_run = newest_run;
}

bool pfc_recent_add(pfc_recent *kept, const pfc_history *points, const pfc_judged *series,
                    int64_t judged, bool *news)
{
    const size_t len = kept->len;
    const int64_t last = kept->points[len - 1].position, newest_run = kept->newest_run;
    const int64_t before = held(kept, series), expected = series->new_points - before;
    int64_t of_runs = 0, still = 0;

    for (size_t i = 0; i < points->len; i++) {
        const pfc_point_meta *m = &points->meta[i];

        if (m->position <= last) {
            if (!holds(kept, len, m->run_id))
                return false;
            still += m->position >= series->from_position && is_new(series, m->run_id);
            continue;
        }
        if (!add_point(kept, points, i))
            return false;
        of_runs += is_new(series, m->run_id);
    }
    /* A result that is held may no longer be a point: its lease was overtaken, or it is hidden. */
    if (still != before || of_runs != expected ||
        kept->before + (int64_t)kept->len != judged + expected)
        return false;
    *news = expected > 0;
    /* Drop the points that were read now: they may be newer than the stored generation, and a
     * database that is set back to the time of that generation would not have them. */
    if (!*news)
        shorten(kept, len, newest_run);
    return true;
}

void pfc_recent_history(const pfc_recent *kept, pfc_history *out)
{
    *out = (pfc_history){ .len = kept->len,
                          .points = pfc_calloc(kept->len, sizeof(*out->points)),
                          .meta = pfc_calloc(kept->len, sizeof(*out->meta)) };
    for (size_t i = 0; i < kept->len; i++) {
        const kept_point *p = &kept->points[i];

        out->points[i] =
            (pfc_point){ .t = p->t,
                         .v = p->v,
                         .repeats = p->samples_len ? kept->samples + p->samples_at : NULL,
                         .repeats_len = p->samples_len,
                         .machine_state = p->machine_state };
        out->meta[i] = (pfc_point_meta){ .commit_id = p->commit_id,
                                         .position = p->position,
                                         .run_id = p->run_id,
                                         .median = p->v,
                                         .sha = p->sha,
                                         .machine = kept->machines[p->machine] };
    }
}

pfc_steady_replay *pfc_recent_replay(pfc_recent *kept)
{
    return &kept->replay;
}

void pfc_recent_renew(pfc_recent *kept, int64_t generation, size_t from)
{
    const uint32_t samples = from ? kept->points[from].samples_at : 0;

    kept->generation = generation;
    kept->before += (int64_t)from;
    if (from == 0)
        return;
    kept->len -= from;
    kept->samples_len -= samples;
    memmove(kept->points, kept->points + from, kept->len * sizeof(*kept->points));
    for (size_t i = 0; i < kept->len; i++)
        kept->points[i].samples_at -= samples;
    if (kept->samples_len)
        memmove(kept->samples, kept->samples + samples, kept->samples_len * sizeof(*kept->samples));
}

/* ---- all of them ---- */

static size_t bytes_of(const pfc_recent *k)
{
    return sizeof(*k) + k->cap * sizeof(*k->points) + k->samples_cap * sizeof(*k->samples) +
           k->replay.past_cap * sizeof(*k->replay.past);
}

static void free_item(pfc_lru_item *item)
{
    pfc_recent_free((pfc_recent *)item);
}

void pfc_recent_put(pfc_recent *kept)
{
    pfc_lru_item *gone;

    (void)pthread_mutex_lock(&lock);
    kept->item.bytes = bytes_of(kept);
    gone = pfc_lru_put(&all, &kept->item);
    (void)pthread_mutex_unlock(&lock);
    pfc_lru_free(gone, free_item);
}

pfc_recent *pfc_recent_take(int64_t project_id, int64_t series_id, int64_t generation,
                            int64_t position)
{
    pfc_recent *k;

    (void)pthread_mutex_lock(&lock);
    k = (pfc_recent *)pfc_lru_find(&all, project_id, series_id);
    if (k)
        pfc_lru_take(&all, &k->item);
    (void)pthread_mutex_unlock(&lock);
    if (k && k->generation == generation && k->points[k->len - 1].position <= position)
        return k;
    pfc_recent_free(k);
    return NULL;
}
