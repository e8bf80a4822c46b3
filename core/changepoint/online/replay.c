/* A whole series: its replay, then one look at its end, or at its newest point that is due. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/changepoint/online/steady.h"

static pfc_code check(const pfc_point *points, size_t n, pfc_err *err)
{
    if (n > PFC_SERIES_MAX_POINTS)
        return pfc_err_set(err, PFC_ETOOBIG, "series: expected at most %d points, got %zu",
                           PFC_SERIES_MAX_POINTS, n);
    if (n > 0 && !points)
        return pfc_err_set(err, PFC_EINVAL, "series: expected %zu points, got none", n);
    return PFC_OK;
}

/* The changes that a replay has confirmed, with those that its looks no longer reach. */
typedef struct past_changes {
    pfc_change *items;
    size_t len, cap;
} past_changes;

static void keep(past_changes *past, const pfc_confirmed_changes *settled)
{
    for (size_t k = 0; k < settled->len; k++) {
        past->items = pfc_grow(past->items, past->len, &past->cap, sizeof *past->items);
        past->items[past->len++] = settled->changes[k];
    }
}

pfc_code pfc_stats_detect(const pfc_point *points, size_t n, const pfc_detect_opts *opts,
                          pfc_detection *out, pfc_err *err)
{
    pfc_online online;
    pfc_segment_space space = { 0 };
    past_changes past = { 0 };
    pfc_code code = check(points, n, err);
    if (!code)
        code = pfc_online_init(&online, opts, err);
    if (code)
        return code;
    for (size_t i = 0; i < n; i++) {
        pfc_confirmed_changes settled;
        if (pfc_online_append(&online, points, &space, &settled))
            keep(&past, &settled);
    }
    pfc_online_answer(&online, points, &space, out);
    pfc_detection_join(out, past.items, past.len);
    free(past.items);
    pfc_segment_space_clear(&space);
    return PFC_OK;
}

pfc_code pfc_steady_detect(const pfc_point *points, size_t n, uint64_t base,
                           const pfc_detect_opts *opts, pfc_steady *steady, size_t *judged,
                           pfc_detection *out, pfc_err *err)
{
    pfc_online due = { 0 };
    pfc_segment_space space = { 0 };
    past_changes past = { 0 };
    pfc_code code = check(points, n, err);
    if (!code)
        code = pfc_steady_init(steady, base, opts, err);
    if (code)
        return code;
    *judged = 0;
    due = steady->online;
    for (size_t i = 0; i < n; i++) {
        pfc_confirmed_changes settled;
        if (!pfc_steady_append(steady, points, &space, &settled))
            continue;
        keep(&past, &settled);
        due = steady->online;
        *judged = i + 1;
    }
    pfc_online_answer(&due, points, &space, out);
    pfc_detection_join(out, past.items, past.len);
    free(past.items);
    pfc_segment_space_clear(&space);
    return PFC_OK;
}

static int by_index(const void *a, const void *b)
{
    const pfc_change *x = a;
    const pfc_change *y = b;
    return (x->index > y->index) - (x->index < y->index);
}

void pfc_detection_join(pfc_detection *d, const pfc_change *past, size_t len)
{
    pfc_change *all = pfc_calloc(d->changes_len + len + 1, sizeof *all);
    size_t n = 0;
    for (size_t k = 0; k < d->changes_len; k++) {
        bool settled = false;
        for (size_t i = 0; i < len && !d->changes[k].confirmed; i++)
            settled = settled || past[i].index == d->changes[k].index;
        if (!settled)
            all[n++] = d->changes[k];
    }
    size_t reached = n;
    for (size_t i = 0; i < len; i++) {
        bool known = false;
        for (size_t k = 0; k < reached && !known; k++)
            known = all[k].index == past[i].index;
        if (!known)
            all[n++] = past[i];
    }
    qsort(all, n, sizeof *all, by_index);
    free(d->changes);
    d->changes = all;
    d->changes_len = n;
}

void pfc_detection_clear(pfc_detection *d)
{
    if (!d)
        return;
    free(d->changes);
    memset(d, 0, sizeof *d);
}
