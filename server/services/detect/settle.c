/*
 * Judges a long history in pieces. Every STRIDE points a stretch is settled: its changes are stored
 * as detected with LAG points after it, and detection starts after them from then on. So the cost
 * of a new point does not depend on the length of the series, and a settled change stays.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/changepoint/changepoint.h"
#include "server/services/detect/detect.h"

#define STRIDE 256
#define LAG    768 /* a change with so many points after it is certain */
#define KEEP   256 /* points before the unsettled ones, for estimating the noise */

typedef struct stretch {
    const pfc_history *h;
    const pfc_detect_opts *opts;
    size_t cap;
    pfc_detection *out;
} stretch;

/* Appends the changes, of points from `start` on, that lie in [from, to); *last is the newest. */
static void take_changes(stretch *s, const pfc_detection *found, size_t start, size_t from,
                         size_t to, size_t *last)
{
    for (size_t i = 0; i < found->changes_len; i++) {
        pfc_change c = found->changes[i];

        c.index += start;
        c.index_low += start;
        c.index_high += start;
        if (c.index < from || c.index >= to)
            continue;
        s->out->changes = pfc_grow(s->out->changes, s->out->changes_len, &s->cap, sizeof(c));
        s->out->changes[s->out->changes_len++] = c;
        *last = c.index;
    }
    s->out->noise_rel = found->noise_rel;
    s->out->watching = found->watching;
}

/* Of h's points [start, end). */
static pfc_code detect_part(stretch *s, size_t start, size_t end, size_t from, size_t to,
                            size_t *last, pfc_err *err)
{
    pfc_detection found = { .noise_rel = (double)NAN };
    pfc_code code = pfc_stats_detect(s->h->points + start, end - start, s->opts, &found, err);

    if (!code)
        take_changes(s, &found, start, from, to, last);
    pfc_detection_clear(&found);
    return code;
}

/* Of h's points from `start` on, as of the newest that is due. */
static pfc_code detect_steady(stretch *s, size_t base, size_t start, size_t from,
                              pfc_steady_replay *replay, size_t *judged, pfc_err *err)
{
    pfc_detection found = { .noise_rel = (double)NAN };
    size_t last = start;
    pfc_code code = pfc_steady_detect(s->h->points + start, s->h->len - start, base + start,
                                      s->opts, replay, judged, &found, err);

    *judged += start;
    if (!code)
        take_changes(s, &found, start, from, s->h->len, &last);
    pfc_detection_clear(&found);
    return code;
}

/* The first point of the commit that point i belongs to: a stretch never begins within one. */
static size_t first_of_commit(const pfc_history *h, size_t i)
{
    while (i > 0 && h->meta[i - 1].position == h->meta[i].position)
        i--;
    return i;
}

pfc_code pfc_history_detect(const pfc_history *h, const pfc_detect_opts *opts, pfc_settled *at,
                            pfc_steady_replay *replay, size_t *judged, pfc_detection *out,
                            pfc_err *err)
{
    const size_t base = (size_t)at->anchor_points;
    size_t start = 0, settled = (size_t)at->points - base;
    stretch s = { .h = h, .opts = opts, .out = out };
    pfc_code code = PFC_OK;

    memset(out, 0, sizeof(*out));
    out->noise_rel = (double)NAN;
    *judged = h->len;
    while (!code && h->len >= settled + STRIDE + LAG) {
        const size_t next = settled + STRIDE;
        size_t last = start;

        pfc_steady_replay_clear(replay); /* it began with another point */
        code = detect_part(&s, start, next + LAG, settled, next, &last, err);
        start = first_of_commit(h, PFC_MAX(last, PFC_MAX(start, next > KEEP ? next - KEEP : 0)));
        *at = (pfc_settled){ .points = (int64_t)(base + next),
                             .position = h->meta[next + LAG - 1].position,
                             .anchor_points = (int64_t)(base + start),
                             .anchor = h->meta[start].position };
        settled = next;
    }
    if (!code && h->len && !h->anchored)
        code = detect_steady(&s, base, start, settled, replay, judged, err);
    else if (!code && h->len)
        code = detect_part(&s, start, h->len, settled, h->len, &start, err);
    if (code)
        pfc_detection_clear(out);
    return code;
}
