/*
 * Storing many runs in one transaction, by the functions of rows.c. The commit's fsync is what
 * storing costs, so runs that wait at the same time share one, and each statement carries all of
 * them as arrays.
 *
 * Only the common case goes this way: project, commit, machine and series are known and the run is
 * new. A run that needs more, or is there already, is left to pfc_ingest_one, which knows every
 * case; so a refused run does not affect the others.
 */
#include "server/repo/sql/ingest.h"
#include "server/services/ingest/ingest.h"
#include "server/services/ingest/prepared.h"

#define SERIES_NAME_MAX 8192 /* names are bounded far below */

/* A group under way. `in` holds those that are still part of it. */
typedef struct group {
    pfc_tx *tx;
    pfc_ingest *const *all;
    size_t all_len;
    pfc_ingest *in[PFC_INGEST_GROUP_MAX];
    size_t at[PFC_INGEST_GROUP_MAX]; /* place of in[i] in all */
    size_t len;
} group;

/* Keeps the runs whose `keep` is true, in order. */
static void sift(group *g, const bool *keep)
{
    size_t n = 0;

    for (size_t i = 0; i < g->len; i++) {
        if (keep[i]) {
            g->in[n] = g->in[i];
            g->at[n++] = g->at[i];
        }
    }
    g->len = n;
}

/* ---- who is part of it ---- */

static bool same_text(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

/* Two documents of one run, or with one key, must see each other: the second is stored alone. */
static void gather(group *g, pfc_ingest *const *runs, size_t len)
{
    g->all = runs;
    g->all_len = len;
    for (size_t i = 0; i < len; i++) {
        bool alone = runs[i]->run->infra; /* opens or prolongs an event */

        for (size_t k = 0; k < g->len && !alone; k++)
            alone = g->in[k]->project_id == runs[i]->project_id &&
                    (same_text(g->in[k]->run->id, runs[i]->run->id) ||
                     same_text(g->in[k]->key, runs[i]->key));
        if (alone)
            continue;
        runs[i]->run_id = 0;
        g->at[g->len] = i;
        g->in[g->len++] = runs[i];
    }
}

/* Takes one row of group_resolve; false when the run needs more than inserts. */
static bool take_resolved(pfc_ingest *in, const pfc_sql_group_resolve_rows *rows, size_t row)
{
    free(in->project);
    free(in->branch);
    in->project = pfc_strdup(rows->items[row].project);
    in->branch = pfc_strdup(rows->items[row].branch);
    in->commit_id = rows->items[row].commit_id;
    in->machine_id = rows->items[row].machine_id;
    return in->commit_id && in->machine_id && !rows->items[row].key_used && !rows->items[row].moved;
}

static pfc_code resolve(group *g, pfc_err *err)
{
    bool keep[PFC_INGEST_GROUP_MAX] = { false };
    pfc_sql_group_resolve_rows rows = { 0 };
    pfc_code code = pfc_ingest_resolve(g->tx, g->in, g->len, &rows, err);

    for (size_t row = 0; !code && row < rows.len; row++) {
        size_t i = (size_t)rows.items[row].ordinal - 1;

        keep[i] = take_resolved(g->in[i], &rows, row);
    }
    if (!code)
        sift(g, keep);
    pfc_rows_clear(&rows);
    return code;
}

/* All that a series is known by, and what a run must agree with: a series never changes either, so
 * one that was found under this name may be stored to without asking again. */
static void put_name(pfc_buf *name, const pfc_ingest *in, size_t k)
{
    const pfc_ingest_columns *c = &in->ok;
    const char *const texts[] = { in->run->machine.machine_class,
                                  in->branch,
                                  c->benchmark[k],
                                  c->metric[k],
                                  c->backend[k],
                                  c->unit[k] };

    pfc_buf_reset(name);
    pfc_buf_append(name, &in->project_id, sizeof(in->project_id));
    pfc_buf_append(name, &c->higher[k], sizeof(c->higher[k]));
    for (size_t i = 0; i < PFC_ARRAY_LEN(texts); i++)
        pfc_buf_append(name, texts[i], strlen(texts[i]) + 1);
}

/* Are all of its series remembered? */
static bool recall_series(pfc_memo *memo, pfc_buf *name, pfc_ingest *in)
{
    for (size_t k = 0; k < in->ok.len; k++) {
        put_name(name, in, k);
        in->ok.series[k] = pfc_memo_find(memo, name->data, name->len);
        if (!in->ok.series[k])
            return false;
    }
    return true;
}

/* Takes the answer for one run; false when a series does not exist yet or is of another unit. */
static bool take_series(pfc_memo *memo, pfc_buf *name, pfc_ingest *in,
                        const pfc_sql_series_find_rows *rows, size_t row)
{
    pfc_ingest_columns *c = &in->ok;
    bool known = true;

    for (size_t k = 0; k < c->len; k++, row++) {
        c->series[k] = rows->items[row].id;
        if (!c->series[k] || !same_text(rows->items[row].unit, c->unit[k]) ||
            rows->items[row].higher_is_better != c->higher[k]) {
            known = false;
            continue;
        }
        put_name(name, in, k);
        pfc_memo_keep(memo, name->data, name->len, c->series[k]);
    }
    return known;
}

/* pfc_ingest_one creates missing series, and refuses measurements in another unit. */
static pfc_code find_series(group *g, pfc_err *err)
{
    pfc_memo *memo = pfc_tx_memo(g->tx);
    pfc_ingest *ask[PFC_INGEST_GROUP_MAX];
    size_t asked = 0, row = 0;
    bool keep[PFC_INGEST_GROUP_MAX];
    pfc_sql_series_find_rows rows = { 0 };
    pfc_buf name;
    pfc_code code = PFC_OK;

    pfc_buf_init(&name, SERIES_NAME_MAX);
    for (size_t i = 0; i < g->len; i++) {
        keep[i] = recall_series(memo, &name, g->in[i]);
        if (!keep[i])
            ask[asked++] = g->in[i];
    }
    if (asked)
        code = pfc_ingest_series_find(g->tx, ask, asked, &rows, err);
    if (!code && asked && rows.len != pfc_ingest_rows(ask, asked))
        code = pfc_err_set(err, PFC_EBUG, "series: asked for %zu, found %zu",
                           pfc_ingest_rows(ask, asked), rows.len);
    for (size_t i = 0; !code && i < g->len; i++) {
        if (keep[i])
            continue;
        keep[i] = take_series(memo, &name, g->in[i], &rows, row);
        row += g->in[i]->ok.len;
    }
    if (!code)
        sift(g, keep);
    pfc_buf_clear(&name);
    pfc_rows_clear(&rows);
    return code;
}

/* pfc_ingest_one refuses a run whose exact results differ from an earlier run's. */
static pfc_code check_exact(group *g, pfc_err *err)
{
    pfc_exact_conflict conflicts[PFC_INGEST_GROUP_MAX] = { 0 };
    bool keep[PFC_INGEST_GROUP_MAX];
    pfc_code code = pfc_ingest_exact_lock(g->tx, g->in, g->len, err);

    if (!code)
        code = pfc_ingest_exact_conflicts(g->tx, g->in, g->len, conflicts, err);
    for (size_t i = 0; i < g->len; i++)
        keep[i] = !conflicts[i].found;
    if (!code)
        sift(g, keep);
    return code;
}

/* ---- rows ---- */

/* Stores all but the results; runs that were there before leave the group. */
static pfc_code store_runs(group *g, pfc_err *err)
{
    bool keep[PFC_INGEST_GROUP_MAX];
    pfc_code code = pfc_ingest_store(g->tx, g->in, g->len, true, keep, err);

    if (!code)
        sift(g, keep);
    return code;
}

static pfc_code insert_unmeasured(group *g, pfc_err *err)
{
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < g->len && !code; i++) {
        g->in[i]->tx = g->tx;
        code = pfc_ingest_unmeasured(g->in[i], err);
        g->in[i]->tx = NULL;
    }
    return code;
}

static pfc_code store_group(group *g, pfc_err *err)
{
    pfc_copy rows;
    pfc_code code = resolve(g, err);

    if (!code && g->len)
        code = find_series(g, err);
    if (!code && g->len)
        code = check_exact(g, err);
    if (!code && g->len)
        code = store_runs(g, err);
    if (!code && g->len)
        code = insert_unmeasured(g, err);
    if (code || !g->len)
        return code;
    pfc_ingest_measurements(&rows, g->in, g->len);
    return pfc_sql_measurements_copy_commit(g->tx, &rows, err);
}

pfc_code pfc_ingest_group(pfc_db *db, pfc_ingest *const *runs, size_t len, pfc_group_state *states,
                          pfc_ingest_result *results, pfc_err *err)
{
    group *g = pfc_alloc(sizeof(*g));
    pfc_code code;

    for (size_t i = 0; i < len; i++)
        states[i] = PFC_GROUP_ALONE;
    gather(g, runs, len);
    code = pfc_tx_begin(&g->tx, db, PFC_TX_WRITE, err);
    if (!code)
        code = store_group(g, err);
    pfc_tx_free(g->tx);
    for (size_t i = 0; !code && i < g->len; i++) {
        pfc_ingest_result *out = &results[g->at[i]];

        states[g->at[i]] = PFC_GROUP_STORED;
        *out = (pfc_ingest_result){ .run_id = g->in[i]->run_id,
                                    .series = (int64_t)g->in[i]->ok.len,
                                    .samples = g->in[i]->ok.samples_total };
        (void)snprintf(out->id, sizeof(out->id), "%s", g->in[i]->run->id);
    }
    free(g);
    return code;
}
