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

/* Adds changes that were settled to those that the looks of the replay may no longer reach. */
static void keep(pfc_steady_replay *replay, const pfc_confirmed_changes *settled)
{
    for (size_t k = 0; k < settled->len; k++) {
        replay->past =
            pfc_grow(replay->past, replay->past_len, &replay->past_cap, sizeof *replay->past);
        replay->past[replay->past_len++] = settled->changes[k];
    }
}

pfc_code pfc_stats_detect(const pfc_point *points, size_t n, const pfc_detect_opts *opts,
                          pfc_detection *out, pfc_err *err)
{
    pfc_online online;
    pfc_segment_space space = { 0 };
    pfc_steady_replay past = { 0 };
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
    pfc_detection_join(out, past.past, past.past_len);
    pfc_steady_replay_clear(&past);
    pfc_segment_space_clear(&space);
    return PFC_OK;
}

void pfc_steady_replay_clear(pfc_steady_replay *replay)
{
    free(replay->past);
    memset(replay, 0, sizeof *replay);
}

/* Takes the points that it has not taken yet. False: none of them is due. *due: the state at the
 * newest that is. */
static bool take_rest(pfc_steady_replay *replay, const pfc_point *points, size_t n,
                      pfc_segment_space *space, pfc_online *due, size_t *judged)
{
    bool any = false;
    for (size_t i = replay->steady.online.seen; i < n; i++) {
        pfc_confirmed_changes settled;
        if (!pfc_steady_append(&replay->steady, points, space, &settled))
            continue;
        keep(replay, &settled);
        *due = replay->steady.online;
        *judged = i + 1;
        any = true;
    }
    return any;
}

static bool can_continue(const pfc_steady_replay *replay, size_t n, uint64_t base,
                         const pfc_detect_opts *opts)
{
    return replay->steady.online.seen > 0 && replay->steady.online.seen < n &&
           replay->steady.base == base && opts && pfc_steady_fits(&replay->steady, opts);
}

pfc_code pfc_steady_detect(const pfc_point *points, size_t n, uint64_t base,
                           const pfc_detect_opts *opts, pfc_steady_replay *replay, size_t *judged,
                           pfc_detection *out, pfc_err *err)
{
    pfc_online due = { 0 };
    pfc_segment_space space = { 0 };
    bool known = false;
    pfc_code code = check(points, n, err);
    if (code)
        return code;
    *judged = 0;
    if (can_continue(replay, n, base, opts))
        known = take_rest(replay, points, n, &space, &due, judged);
    if (!known) {
        pfc_steady_replay_clear(replay);
        code = pfc_steady_init(&replay->steady, base, opts, err);
        if (code)
            return code;
        due = replay->steady.online;
        (void)take_rest(replay, points, n, &space, &due, judged);
    }
    pfc_online_answer(&due, points, &space, out);
    pfc_detection_join(out, replay->past, replay->past_len);
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
