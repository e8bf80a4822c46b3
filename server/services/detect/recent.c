/* Kept histories: see recent.h. */
#include "server/services/detect/recent.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct pfc_recent {
    int64_t project_id, series_id, generation;
    pfc_history h; /* its texts are in `texts` */
    size_t cap;
    char **texts;
    size_t texts_len, texts_cap;
    size_t bytes;
    pfc_recent *next; /* the next older one */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pfc_recent *newest;

static const char *keep_text(pfc_recent *k, const char *text)
{
    k->texts = pfc_grow(k->texts, k->texts_len, &k->texts_cap, sizeof(*k->texts));
    k->texts[k->texts_len] = pfc_strdup(text);
    k->bytes += strlen(text) + 1 + sizeof(char *);
    return k->texts[k->texts_len++];
}

static void add_point(pfc_recent *k, const pfc_history *from, size_t i)
{
    pfc_history *h = &k->h;
    const size_t n = h->len, samples = from->points[i].repeats_len;
    size_t cap_points = k->cap, cap_samples = k->cap;

    h->points = pfc_grow(h->points, n, &cap_points, sizeof(*h->points));
    h->samples = pfc_grow(h->samples, n, &cap_samples, sizeof(*h->samples));
    h->meta = pfc_grow(h->meta, n, &k->cap, sizeof(*h->meta));
    h->points[n] = from->points[i];
    h->meta[n] = from->meta[i];
    h->samples[n] = NULL;
    if (from->samples[i] && samples) {
        h->samples[n] = pfc_calloc(samples, sizeof(double));
        memcpy(h->samples[n], from->samples[i], samples * sizeof(double));
    }
    h->points[n].repeats = h->samples[n];
    h->meta[n].sha = keep_text(k, from->meta[i].sha);
    h->meta[n].machine = n && pfc_streq(h->meta[n - 1].machine, from->meta[i].machine)
                             ? h->meta[n - 1].machine
                             : keep_text(k, from->meta[i].machine);
    k->bytes +=
        sizeof(*h->points) + sizeof(*h->samples) + sizeof(*h->meta) + samples * sizeof(double);
    h->len++;
}

pfc_recent *pfc_recent_new(int64_t project_id, int64_t series_id, int64_t generation,
                           const pfc_history *h, size_t from)
{
    pfc_recent *k = pfc_calloc(1, sizeof(*k));

    k->project_id = project_id;
    k->series_id = series_id;
    k->generation = generation;
    for (size_t i = from; i < h->len; i++)
        add_point(k, h, i);
    return k;
}

void pfc_recent_free(pfc_recent *kept)
{
    if (!kept)
        return;
    for (size_t i = 0; i < kept->texts_len; i++)
        free(kept->texts[i]);
    free(kept->texts);
    pfc_history_clear(&kept->h);
    free(kept);
}

/* Ends the list where it exceeds the limit; what follows is returned. */
static pfc_recent *cut(void)
{
    size_t bytes = 0;

    for (pfc_recent **at = &newest; *at; at = &(*at)->next) {
        bytes += (*at)->bytes;
        if (bytes > PFC_RECENT_BYTES) {
            pfc_recent *old = *at;

            *at = NULL;
            return old;
        }
    }
    return NULL;
}

/* Removes the one of the series from the list. */
static pfc_recent *take_out(int64_t project_id, int64_t series_id)
{
    for (pfc_recent **at = &newest; *at; at = &(*at)->next) {
        if ((*at)->series_id == series_id && (*at)->project_id == project_id) {
            pfc_recent *k = *at;

            *at = k->next;
            k->next = NULL;
            return k;
        }
    }
    return NULL;
}

void pfc_recent_put(pfc_recent *kept)
{
    pfc_recent *old, *same;

    (void)pthread_mutex_lock(&lock);
    same = take_out(kept->project_id, kept->series_id);
    kept->next = newest;
    newest = kept;
    old = cut();
    (void)pthread_mutex_unlock(&lock);
    pfc_recent_free(same);
    while (old) {
        pfc_recent *next = old->next;

        pfc_recent_free(old);
        old = next;
    }
}

pfc_recent *pfc_recent_take(int64_t project_id, int64_t series_id, int64_t generation,
                            int64_t position)
{
    pfc_recent *k;

    (void)pthread_mutex_lock(&lock);
    k = take_out(project_id, series_id);
    (void)pthread_mutex_unlock(&lock);
    if (k && k->generation == generation && k->h.len &&
        k->h.meta[k->h.len - 1].position == position)
        return k;
    pfc_recent_free(k);
    return NULL;
}

static bool holds(const pfc_history *h, size_t len, int64_t run_id)
{
    for (size_t i = len; i-- > 0;) {
        if (h->meta[i].run_id == run_id)
            return true;
    }
    return false;
}

bool pfc_recent_add(pfc_recent *kept, const pfc_history *points, const int64_t *runs,
                    size_t runs_len, size_t expected)
{
    const size_t len = kept->h.len;
    const int64_t last = kept->h.meta[len - 1].position;
    size_t of_runs = 0;

    for (size_t i = 0; i < points->len; i++) {
        const pfc_point_meta *m = &points->meta[i];

        if (m->position <= last) {
            if (!holds(&kept->h, len, m->run_id))
                return false;
            continue;
        }
        add_point(kept, points, i);
        of_runs += bsearch(&m->run_id, runs, runs_len, sizeof(*runs), pfc_by_number) != NULL;
    }
    return of_runs == expected;
}

const pfc_history *pfc_recent_history(const pfc_recent *kept)
{
    return &kept->h;
}

void pfc_recent_renew(pfc_recent *kept, int64_t generation, size_t from)
{
    pfc_history *h = &kept->h;

    kept->generation = generation;
    for (size_t i = 0; i < from; i++)
        free(h->samples[i]);
    h->len -= from;
    memmove(h->points, h->points + from, h->len * sizeof(*h->points));
    memmove(h->meta, h->meta + from, h->len * sizeof(*h->meta));
    memmove(h->samples, h->samples + from, h->len * sizeof(*h->samples));
}
