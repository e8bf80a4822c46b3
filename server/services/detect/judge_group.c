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

/* Judges with that history, and keeps it if the next point needs it. */
static pfc_code judge_with(pfc_tx *tx, int64_t project_id, const pfc_judge_item *item,
                           const pfc_history *h, pfc_recent *kept, pfc_judged_some *out,
                           pfc_err *err)
{
    pfc_judge_state next;
    pfc_code code = pfc_judge_history(tx, project_id, item, h, &next, err);

    if (code || !next.due ||
        (size_t)item->settled.anchor_points + h->len >= PFC_POINTS_WITH_SAMPLES) {
        pfc_recent_free(kept);
        return code;
    }
    if (kept)
        pfc_recent_renew(kept, next.generation, next.anchor);
    else
        kept = pfc_recent_new(project_id, item->series->id, next.generation, h, next.anchor);
    out->kept[out->kept_len++] = kept;
    return PFC_OK;
}

static pfc_history_wanted wanted_of(const pfc_judge_item *item)
{
    return (pfc_history_wanted){ .series = item->series,
                                 .from = item->settled.anchor,
                                 .from_run = item->from_run,
                                 .before = (size_t)item->settled.anchor_points,
                                 .expected = (size_t)item->points,
                                 .anchored = item->anchored };
}

/* Reads the history of one series. */
static pfc_code judge_read(pfc_tx *tx, int64_t project_id, const pfc_judge_item *item,
                           pfc_judged_some *out, pfc_err *err)
{
    const pfc_history_wanted wanted = wanted_of(item);
    pfc_judge_item whole = *item;
    pfc_histories all = { 0 };
    pfc_code code = pfc_histories_load(tx, project_id, &wanted, 1, &all, err);

    if (!code && !fits(&all.items[0], &item->settled)) {
        pfc_histories_clear(&all);
        memset(&whole.settled, 0, sizeof(whole.settled));
        code = pfc_history_load(tx, project_id, item->series, &all, err);
    }
    if (!code)
        code = judge_with(tx, project_id, &whole, &all.items[0], NULL, out, err);
    pfc_histories_clear(&all);
    return code;
}

/* h: the points that were read; all, or with `kept` the new ones. Takes kept. */
static pfc_code judge_one(pfc_tx *tx, int64_t project_id, const pfc_judge_item *item,
                          const pfc_history *h, pfc_recent *kept, pfc_judged_some *out,
                          pfc_err *err)
{
    const pfc_judged *s = item->series;

    if (kept && pfc_recent_add(kept, h, s->runs, s->runs_len, (size_t)s->new_points)) {
        h = pfc_recent_history(kept);
        out->reused++;
    } else if (kept || !fits(h, &item->settled)) {
        pfc_recent_free(kept);
        return judge_read(tx, project_id, item, out, err);
    }
    return judge_with(tx, project_id, item, h, kept, out, err);
}

static pfc_code judge_some(pfc_tx *tx, int64_t project_id, const pfc_judge_item *items, size_t len,
                           pfc_judged_some *out, pfc_err *err)
{
    pfc_history_wanted *wanted = pfc_calloc(len, sizeof(*wanted));
    pfc_recent **kept = pfc_calloc(len, sizeof(*kept));
    pfc_histories all = { 0 };
    pfc_code code;

    for (size_t i = 0; i < len; i++) {
        const pfc_judged *s = items[i].series;

        wanted[i] = wanted_of(&items[i]);
        if (items[i].generation && s->runs_len && s->from_position > items[i].position)
            kept[i] = pfc_recent_take(project_id, s->id, items[i].generation, items[i].position);
        if (kept[i])
            wanted[i].from_run = s->runs[0];
    }
    code = pfc_histories_load(tx, project_id, wanted, len, &all, err);
    for (size_t i = 0; i < len; i++) {
        if (!code)
            code = judge_one(tx, project_id, &items[i], &all.items[i], kept[i], out, err);
        else
            pfc_recent_free(kept[i]);
    }
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
        if (row->settled_points == 0 || items[i].series->from_position <= row->settled_position)
            continue;
        items[i].settled = (pfc_settled){ .points = row->settled_points,
                                          .position = row->settled_position,
                                          .anchor_points = row->anchor_points,
                                          .anchor = row->anchor_position };
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
        items[i].anchored = rows.items[k].anchored;
        items[i].changed = rows.items[k].changed;
        items[i].generation = rows.items[k].generation;
        items[i].position = rows.items[k].position;
    }
    pfc_rows_clear(&rows);
    return code;
}

/* So many of the series as make PFC_JUDGE_POINTS points. */
static size_t fitting(const pfc_judge_item *items, size_t len)
{
    int64_t points = 0;
    size_t n = 0;

    while (n < len && (n == 0 || points < PFC_JUDGE_POINTS)) {
        points += items[n].points - items[n].settled.anchor_points + items[n].series->new_points;
        n++;
    }
    return n;
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
        n = fitting(items, len);
        code = judge_some(tx, project_id, items, n, out, err);
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
