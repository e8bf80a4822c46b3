/* The results of one side: raw samples of all its runs, and the benchmarks that were broken in the
 * newest. */
#include <string.h>

#include "server/repo/sql/runs.h"
#include "server/services/history/compare.h"

void pfc_compare_results_clear(pfc_compare_results *s)
{
    for (size_t i = 0; i < s->len; i++) {
        free(s->entries[i].samples);
        free(s->entries[i].blocks);
    }
    free(s->entries);
    pfc_res_free(s->measured);
    pfc_res_free(s->broken);
    *s = (pfc_compare_results){ 0 };
}

int pfc_compare_names(const pfc_compare_entry *a, const pfc_compare_entry *b)
{
    int order = strcmp(a->benchmark, b->benchmark);

    if (!order)
        order = strcmp(a->metric, b->metric);
    return order ? order : strcmp(a->backend, b->backend);
}

static int compare_entries(const pfc_compare_entry *a, const pfc_compare_entry *b)
{
    const int order = pfc_compare_names(a, b);

    return order ? order : strcmp(a->machine_class, b->machine_class);
}

static void add_samples(pfc_compare_entry *e, const pfc_sql_compare_side_row *row)
{
    double *samples = NULL;
    uint32_t *blocks = NULL;
    size_t len = 0, blocks_len = 0;

    pfc_array_f64s(row->samples, &samples, &len);
    pfc_array_u32s(row->blocks, &blocks, &blocks_len);
    e->samples = pfc_realloc(e->samples, e->len + len, sizeof(double));
    memcpy(e->samples + e->len, samples, len * sizeof(double));
    e->len += len;
    e->blocks = pfc_realloc(e->blocks, e->blocks_len + blocks_len, sizeof(uint32_t));
    memcpy(e->blocks + e->blocks_len, blocks, blocks_len * sizeof(uint32_t));
    e->blocks_len += blocks_len;
    free(samples);
    free(blocks);
}

static pfc_compare_entry entry_of(const pfc_sql_compare_side_row *row)
{
    return (pfc_compare_entry){
        .benchmark = row->benchmark,
        .metric = row->metric,
        .backend = row->backend,
        .machine_class = row->machine_class,
        .unit = row->unit,
        .branch = row->branch,
        .series_id = row->series_id,
        .higher = row->higher_is_better,
        .exact = row->exact,
        .confirmed = row->confirmed,
        .moved = row->infra,
        .session = row->session,
        .machine_id = row->machine_id,
        .started_at = row->started_at,
        .object = row->object,
    };
}

static pfc_compare_entry broken_entry_of(const pfc_sql_compare_broken_row *row)
{
    return (pfc_compare_entry){
        .benchmark = row->benchmark,
        .metric = row->metric,
        .backend = row->backend,
        .machine_class = row->machine_class,
        .unit = row->unit,
        .higher = row->higher_is_better,
        .exact = row->exact,
        .machine_id = row->machine_id,
        .started_at = row->started_at,
        .reason = row->reason,
    };
}

static void name_run(pfc_compare_side *named, size_t *cap, const char *run)
{
    for (size_t i = 0; i < named->runs_len; i++)
        if (pfc_streq(named->runs[i], run))
            return;
    named->runs = pfc_grow(named->runs, named->runs_len, cap, sizeof(char *));
    named->runs[named->runs_len++] = pfc_strdup(run);
}

/* Rows come sorted by name, then by run: the runs of one entry are neighbours. */
static void gather(pfc_compare_results *s, const pfc_sql_compare_side_rows *rows,
                   pfc_compare_side *named, size_t *cap)
{
    s->entries = pfc_calloc(rows->len, sizeof(*s->entries));
    for (size_t r = 0; r < rows->len; r++) {
        const pfc_compare_entry e = entry_of(&rows->items[r]);
        pfc_compare_entry *at = s->len ? &s->entries[s->len - 1] : NULL;

        if (!at || compare_entries(at, &e) != 0) {
            at = &s->entries[s->len++];
            *at = e;
        }
        at->branch = e.branch;
        at->series_id = e.series_id;
        at->confirmed &= e.confirmed;
        at->moved &= e.moved;
        at->session = pfc_streq(at->session, e.session) ? at->session : NULL;
        at->runs++;
        if (!pfc_streq(at->object, e.object))
            at->object = NULL;
        add_samples(at, &rows->items[r]);
        if (e.started_at >= at->started_at) {
            at->started_at = e.started_at;
            at->machine_id = e.machine_id;
        }
        name_run(named, cap, rows->items[r].run);
    }
}

/* The newest result counts: a benchmark that was measured again after it had been broken is not
 * broken, and one that broke after it had been measured is. Both lists are sorted by name. */
static void gather_broken(pfc_compare_results *s, const pfc_sql_compare_broken_rows *rows,
                          pfc_compare_side *named, size_t *cap)
{
    pfc_compare_entry *all = pfc_calloc(s->len + rows->len, sizeof(*all));
    size_t len = 0, i = 0;

    for (size_t r = 0; r < rows->len; r++) {
        const pfc_compare_entry e = broken_entry_of(&rows->items[r]);
        int order = 1;

        name_run(named, cap, rows->items[r].run);
        while (i < s->len && (order = compare_entries(&s->entries[i], &e)) < 0)
            all[len++] = s->entries[i++];
        if (i < s->len && order == 0) {
            if (s->entries[i].started_at > e.started_at)
                continue;
            free(s->entries[i].samples);
            free(s->entries[i++].blocks);
        }
        all[len++] = e;
    }
    while (i < s->len)
        all[len++] = s->entries[i++];
    free(s->entries);
    s->entries = all;
    s->len = len;
}

pfc_code pfc_compare_load(pfc_tx *tx, int64_t project_id, const pfc_end_ask *ask,
                          pfc_compare_results *s, pfc_compare_side *named, pfc_err *err)
{
    /* A run is read as itself, without the rules for the runs of a commit. */
    const int64_t run_id = named->end.run_id, commit_id = run_id ? 0 : named->end.commit_id;
    pfc_sql_compare_side_rows measured = { 0 };
    pfc_sql_compare_broken_rows broken = { 0 };
    size_t cap = 0;
    pfc_code code =
        pfc_sql_compare_side(tx,
                             &(pfc_sql_compare_side_args){ .project_id = project_id,
                                                           .commit_id = commit_id,
                                                           .run_id = run_id,
                                                           .backend = ask->backend,
                                                           .machine_class = ask->machine_class },
                             &measured, err);

    if (!code)
        code = pfc_sql_compare_broken(
            tx,
            &(pfc_sql_compare_broken_args){ .project_id = project_id,
                                            .commit_id = commit_id,
                                            .run_id = run_id,
                                            .backend = ask->backend,
                                            .machine_class = ask->machine_class },
            &broken, err);
    if (!code)
        code = pfc_sql_hidden_of_target(
            tx,
            &(pfc_sql_hidden_of_target_args){ .project_id = project_id,
                                              .commit_id = commit_id,
                                              .run_id = run_id,
                                              .backend = ask->backend,
                                              .machine_class = ask->machine_class },
            &named->hidden, err);
    if (!code && measured.len + broken.len == 0)
        code = pfc_tx_behind(tx, err);
    if (!code) {
        gather(s, &measured, named, &cap);
        gather_broken(s, &broken, named, &cap);
    }
    pfc_rows_keep_texts(&measured, &s->measured);
    pfc_rows_keep_texts(&broken, &s->broken);
    return code;
}
