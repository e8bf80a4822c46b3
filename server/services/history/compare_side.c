/* The results of one side: raw samples of all its runs, and what was broken in the newest. */
#include <string.h>

#include "server/services/history/compare.h"

void pfc_compare_results_clear(pfc_compare_results *s)
{
    for (size_t i = 0; i < s->len; i++) {
        free(s->entries[i].samples);
        free(s->entries[i].blocks);
    }
    free(s->entries);
    pfc_res_free(s->res);
    pfc_res_free(s->broken);
    *s = (pfc_compare_results){ 0 };
}

static const char *text_at(const pfc_res *res, size_t row, const char *column)
{
    return pfc_res_text(res, row, pfc_res_column(res, column));
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

static void add_samples(pfc_compare_entry *e, const pfc_res *res, size_t row)
{
    double *samples = NULL;
    uint32_t *blocks = NULL;
    size_t len = 0, blocks_len = 0;

    pfc_res_f64s(res, row, pfc_res_column(res, "samples"), &samples, &len);
    pfc_res_u32s(res, row, pfc_res_column(res, "blocks"), &blocks, &blocks_len);
    e->samples = pfc_realloc(e->samples, e->len + len, sizeof(double));
    memcpy(e->samples + e->len, samples, len * sizeof(double));
    e->len += len;
    e->blocks = pfc_realloc(e->blocks, e->blocks_len + blocks_len, sizeof(uint32_t));
    memcpy(e->blocks + e->blocks_len, blocks, blocks_len * sizeof(uint32_t));
    e->blocks_len += blocks_len;
    free(samples);
    free(blocks);
}

static pfc_compare_entry entry_at(const pfc_res *res, size_t row)
{
    return (pfc_compare_entry){
        .benchmark = text_at(res, row, "benchmark"),
        .metric = text_at(res, row, "metric"),
        .backend = text_at(res, row, "backend"),
        .machine_class = text_at(res, row, "machine_class"),
        .unit = text_at(res, row, "unit"),
        .higher = pfc_res_bool(res, row, pfc_res_column(res, "higher_is_better")),
        .exact = pfc_res_bool(res, row, pfc_res_column(res, "exact")),
        .machine_id = pfc_res_i64(res, row, pfc_res_column(res, "machine_id")),
        .started_at = pfc_res_f64(res, row, pfc_res_column(res, "started_at")),
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
static void gather(pfc_compare_results *s, pfc_compare_side *named, size_t *cap)
{
    const size_t rows = pfc_res_rows(s->res);

    s->entries = pfc_calloc(rows, sizeof(*s->entries));
    for (size_t r = 0; r < rows; r++) {
        const pfc_compare_entry e = entry_at(s->res, r);
        pfc_compare_entry *at = s->len ? &s->entries[s->len - 1] : NULL;

        if (!at || compare_entries(at, &e) != 0) {
            at = &s->entries[s->len++];
            *at = e;
        }
        at->branch = text_at(s->res, r, "branch");
        at->series_id = pfc_res_i64(s->res, r, pfc_res_column(s->res, "series_id"));
        add_samples(at, s->res, r);
        if (e.started_at >= at->started_at) {
            at->started_at = e.started_at;
            at->machine_id = e.machine_id;
        }
        name_run(named, cap, text_at(s->res, r, "run"));
    }
}

/* The newest result counts: a benchmark that was measured again after it had been broken is not
 * broken, and one that broke after it had been measured is. Both lists are sorted by name. */
static void gather_broken(pfc_compare_results *s, pfc_compare_side *named, size_t *cap)
{
    const size_t rows = pfc_res_rows(s->broken);
    pfc_compare_entry *all = pfc_calloc(s->len + rows, sizeof(*all));
    size_t len = 0, i = 0;

    for (size_t r = 0; r < rows; r++) {
        pfc_compare_entry e = entry_at(s->broken, r);
        int order = 1;

        e.reason = text_at(s->broken, r, "reason");
        name_run(named, cap, text_at(s->broken, r, "run"));
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

static void target_args(pfc_args *args, int64_t project_id, const pfc_compare_target *t,
                        const char *backend)
{
    pfc_args_i64(args, project_id);
    pfc_args_id(args, t->commit_id);
    pfc_args_id(args, t->run_id);
    pfc_args_text(args, backend);
}

pfc_code pfc_compare_load(pfc_tx *tx, int64_t project_id, const pfc_compare_target *t,
                          const char *backend, pfc_compare_results *s, pfc_compare_side *named,
                          pfc_err *err)
{
    pfc_args args = { 0 };
    size_t cap = 0;
    pfc_code code;

    target_args(&args, project_id, t, backend);
    code = pfc_tx_query(tx, "compare_side", &args, &s->res, err);
    if (!code) {
        target_args(&args, project_id, t, backend);
        code = pfc_tx_query(tx, "compare_broken", &args, &s->broken, err);
    }
    if (!code && pfc_res_rows(s->res) + pfc_res_rows(s->broken) == 0)
        code = pfc_tx_behind(tx, err);
    if (!code) {
        gather(s, named, &cap);
        gather_broken(s, named, &cap);
    }
    return code;
}
