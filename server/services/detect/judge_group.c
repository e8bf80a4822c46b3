/*
 * Judging series that are due, several in one transaction: their rows are locked together, and
 * their histories are read together, or taken from memory.
 */
#include <stdlib.h>
#include <string.h>

#include "server/repo/sql/judging.h"
#include "server/services/detect/judge.h"
#include "server/services/detect/recent.h"

/* Points were taken out since (retention thins old months): the counts no longer fit. */
static bool fits(const pfc_history *h, const pfc_settled *settled)
{
    return settled->points == 0 || (h->len > (size_t)(settled->points - settled->anchor_points) &&
                                    h->meta[0].position == settled->anchor);
}

/* The transaction of a group. */
typedef struct group {
    pfc_tx *tx;
    int64_t project_id;
    pfc_judged_rows *rows;
    pfc_judged_some *out;
} group;

static void keep(const group *g, pfc_recent *kept)
{
    g->out->kept[g->out->kept_len++] = kept;
}

/* Judges with that history, and keeps it for the next point. Takes kept. */
static pfc_code judge_with(const group *g, const pfc_judge_item *item, const pfc_history *h,
                           pfc_recent *kept, pfc_err *err)
{
    pfc_steady_replay first = { 0 };
    pfc_steady_replay *replay = kept ? pfc_recent_replay(kept) : &first;
    pfc_judge_state next;
    pfc_code code = pfc_judge_history(g->tx, g->project_id, item, h, replay, g->rows, &next, err);

    if (code || !next.generation ||
        (size_t)item->settled.anchor_points + h->len >= PFC_POINTS_WITH_SAMPLES) {
        pfc_recent_free(kept);
        pfc_steady_replay_clear(&first);
        return code;
    }
    if (kept)
        pfc_recent_renew(kept, next.generation, next.anchor);
    else
        kept = pfc_recent_new(g->project_id, item->series->id, next.generation, h, next.anchor,
                              item->settled.anchor_points + (int64_t)next.anchor, &first);
    pfc_steady_replay_clear(&first);
    if (kept)
        keep(g, kept);
    return PFC_OK;
}

/* Points after the newest point of a batch belong to runs that wait to be judged. They are not read
 * here: their own batch would then find no new point, and would read the complete history. */
static int64_t last_wanted(const pfc_judge_item *item)
{
    const pfc_judged *s = item->series;

    return item->first || (item->generation && s->from_position > item->position) ? s->to_position
                                                                                  : 0;
}

static pfc_history_wanted wanted_of(const pfc_judge_item *item)
{
    return (pfc_history_wanted){ .series = item->series,
                                 .from = item->settled.anchor,
                                 .to = last_wanted(item),
                                 .from_run = item->from_run,
                                 .before = (size_t)item->settled.anchor_points,
                                 .expected = (size_t)item->points,
                                 .anchored = item->anchored };
}

/* Reads the history of one series. */
static pfc_code judge_read(const group *g, const pfc_judge_item *item, pfc_err *err)
{
    const pfc_history_wanted wanted = wanted_of(item);
    pfc_judge_item whole = *item;
    pfc_histories all = { 0 };
    pfc_code code = pfc_histories_load(g->tx, g->project_id, &wanted, 1, &all, err);

    if (!code && !fits(&all.items[0], &item->settled)) {
        pfc_histories_clear(&all);
        memset(&whole.settled, 0, sizeof(whole.settled));
        code = pfc_history_load(g->tx, g->project_id, item->series, &all, err);
    }
    if (!code)
        code = judge_with(g, &whole, &all.items[0], NULL, err);
    pfc_histories_clear(&all);
    return code;
}

/* Judges with the history in memory and the points that were read. Takes kept. */
static pfc_code judge_kept(const group *g, const pfc_judge_item *item, const pfc_history *points,
                           pfc_recent *kept, pfc_err *err)
{
    pfc_judge_item known = *item;
    pfc_history h;
    bool news = false;
    pfc_code code;

    if (!pfc_recent_add(kept, points, item->series, item->points, &news)) {
        pfc_recent_free(kept);
        return judge_read(g, item, err);
    }
    g->out->reused++;
    if (!news) { /* judged already, with these points */
        keep(g, kept);
        return PFC_OK;
    }
    known.settled = item->stored; /* no new point lies before that */
    pfc_recent_history(kept, &h);
    code = judge_with(g, &known, &h, kept, err);
    pfc_history_clear(&h);
    return code;
}

/* The history in memory, if it is that of the last judgement. */
static pfc_recent *take_kept(const group *g, const pfc_judge_item *item)
{
    const pfc_judged *s = item->series;

    return item->generation && s->runs_len && s->from_position > 0
               ? pfc_recent_take(g->project_id, s->id, item->generation, item->position)
               : NULL;
}

/* So many of the series as make PFC_JUDGE_POINTS points that must be read. kept: as of take_kept.
 */
static size_t take_fitting(const group *g, const pfc_judge_item *items, size_t len,
                           pfc_recent **kept)
{
    int64_t points = 0;
    size_t n = 0;

    while (n < len && (n == 0 || points < PFC_JUDGE_POINTS)) {
        const pfc_judge_item *item = &items[n];

        kept[n] = take_kept(g, item);
        points += item->series->new_points;
        if (!kept[n])
            points += item->points - item->settled.anchor_points;
        n++;
    }
    return n;
}

/* *done: the first so many are judged. */
static pfc_code judge_some(group *g, const pfc_judge_item *items, size_t most, size_t *done,
                           pfc_err *err)
{
    pfc_recent **kept = pfc_calloc(most, sizeof(*kept));
    const size_t len = take_fitting(g, items, most, kept);
    pfc_history_wanted *wanted = pfc_calloc(len, sizeof(*wanted));
    pfc_histories all = { 0 };
    pfc_code code;

    *done = len;
    for (size_t i = 0; i < len; i++) {
        wanted[i] = wanted_of(&items[i]);
        if (kept[i]) {
            wanted[i].from = items[i].stored.anchor;
            wanted[i].from_run = PFC_MIN(pfc_recent_next_run(kept[i]), items[i].series->runs[0]);
        }
    }
    code = pfc_histories_load(g->tx, g->project_id, wanted, len, &all, err);
    for (size_t i = 0; i < len; i++) {
        if (code)
            pfc_recent_free(kept[i]);
        else if (kept[i])
            code = judge_kept(g, &items[i], &all.items[i], kept[i], err);
        else if (fits(&all.items[i], &items[i].settled))
            code = judge_with(g, &items[i], &all.items[i], NULL, err);
        else
            code = judge_read(g, &items[i], err);
    }
    if (!code)
        code = pfc_judged_rows_store(g->tx, g->project_id, g->rows, err);
    pfc_histories_clear(&all);
    free(kept);
    free(wanted);
    return code;
}

static int64_t lowest_run(const pfc_judged *series)
{
    return series->runs_len ? series->runs[0] : 0;
}

/* Two servers may judge one series; the later one must see the changes of the earlier one. */
static pfc_code lock_series(pfc_tx *tx, int64_t project_id, pfc_judge_item *items,
                            const int64_t *ids, size_t len, pfc_err *err)
{
    pfc_sql_judged_lock_rows rows = { 0 };
    pfc_code code = pfc_sql_judged_lock(tx,
                                        &(pfc_sql_judged_lock_args){ .project_id = project_id,
                                                                     .series_ids = ids,
                                                                     .series_ids_len = len },
                                        &rows, err);

    for (size_t k = 0; k < rows.len; k++) {
        const pfc_sql_judged_lock_row *row = &rows.items[k];
        size_t i = 0;

        while (ids[i] != row->id)
            i++;
        items[i].points = row->points;
        if (row->settled_points == 0)
            continue;
        items[i].stored = (pfc_settled){ .points = row->settled_points,
                                         .position = row->settled_position,
                                         .anchor_points = row->anchor_points,
                                         .anchor = row->anchor_position };
        if (items[i].series->from_position <= row->settled_position)
            continue;
        items[i].settled = items[i].stored;
        /* A new point may be of an earlier run, which was stored late. */
        items[i].from_run = PFC_MIN(row->anchor_run, lowest_run(items[i].series));
    }
    pfc_rows_clear(&rows);
    return code;
}

/* After the locks: what the series have besides their rows. */
static pfc_code read_notable(pfc_tx *tx, int64_t project_id, pfc_judge_item *items,
                             const int64_t *ids, size_t len, pfc_err *err)
{
    pfc_sql_history_notable_rows rows = { 0 };
    pfc_code code = pfc_sql_history_notable(
        tx,
        &(pfc_sql_history_notable_args){
            .project_id = project_id, .series_ids = ids, .series_ids_len = len },
        &rows, err);

    for (size_t k = 0; k < rows.len; k++) {
        size_t i = 0;

        while (ids[i] != rows.items[k].id)
            i++;
        items[i].first = !rows.items[k].judged;
        items[i].anchored = rows.items[k].anchored;
        items[i].changed = rows.items[k].changed;
        items[i].generation = rows.items[k].generation;
        items[i].position = rows.items[k].position;
    }
    pfc_rows_clear(&rows);
    return code;
}

pfc_code pfc_series_judge(pfc_tx *tx, int64_t project_id, const pfc_judged *const *series,
                          size_t len, pfc_judged_some *out, pfc_err *err)
{
    pfc_judge_item *items = pfc_calloc(len, sizeof(*items));
    int64_t *ids = pfc_calloc(len, sizeof(*ids));
    size_t n = 0;
    pfc_code code;

    for (size_t i = 0; i < len; i++) {
        items[i].series = series[i];
        ids[i] = series[i]->id;
    }
    code = lock_series(tx, project_id, items, ids, len, err);
    if (!code)
        code = read_notable(tx, project_id, items, ids, len, err);
    if (!code) {
        group g = { tx, project_id, pfc_judged_rows_new(len), out };

        code = judge_some(&g, items, len, &n, err);
        pfc_judged_rows_free(g.rows);
    }
    if (!code)
        out->len = n;
    free(ids);
    free(items);
    return code;
}

void pfc_judged_some_end(pfc_judged_some *some, bool committed)
{
    for (size_t i = 0; i < some->kept_len; i++) {
        if (committed)
            pfc_recent_put(some->kept[i]);
        else
            pfc_recent_free(some->kept[i]);
    }
    memset(some, 0, sizeof(*some));
}
