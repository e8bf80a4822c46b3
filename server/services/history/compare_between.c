/* Runs of two commits are made at different times: what the noise between runs leaves of a row. */
#include <math.h>

#include "server/repo/sql/runs.h"
#include "server/services/history/compare.h"

static int by_id(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

pfc_code pfc_compare_histories_load(pfc_tx *tx, int64_t project_id, const pfc_compare_results *s,
                                    pfc_compare_histories *out, pfc_err *err)
{
    pfc_sql_compare_histories_rows rows = { 0 };
    int64_t *ids = pfc_calloc(s->len + 1, sizeof(*ids));
    size_t n = 0;
    pfc_code code;

    for (size_t i = 0; i < s->len; i++) {
        if (s->entries[i].series_id && !s->entries[i].exact && s->entries[i].len)
            ids[n++] = s->entries[i].series_id;
    }
    code = pfc_sql_compare_histories(tx,
                                     &(pfc_sql_compare_histories_args){ .project_id = project_id,
                                                                        .series_ids = ids,
                                                                        .series_ids_len = n },
                                     &rows, err);
    free(ids);
    if (code)
        return code;
    out->ids = pfc_calloc(rows.len + 1, sizeof(*out->ids));
    out->noise = pfc_calloc(rows.len + 1, sizeof(*out->noise));
    for (out->len = 0; out->len < rows.len; out->len++) {
        double *medians = NULL;
        size_t len = 0;

        pfc_array_f64s(rows.items[out->len].medians, &medians, &len);
        out->ids[out->len] = rows.items[out->len].id;
        out->noise[out->len] = pfc_stats_between(medians, len);
        free(medians);
    }
    pfc_rows_clear(&rows);
    return PFC_OK;
}

void pfc_compare_histories_clear(pfc_compare_histories *h)
{
    free(h->ids);
    free(h->noise);
    *h = (pfc_compare_histories){ 0 };
}

static const pfc_between *noise_of(const pfc_compare_histories *h, int64_t series_id)
{
    const int64_t *at = h->len ? bsearch(&series_id, h->ids, h->len, sizeof(*h->ids), by_id) : NULL;

    return at ? &h->noise[at - h->ids] : NULL;
}

void pfc_compare_settle(const pfc_compare_histories *h, const pfc_compare_entry *a,
                        const pfc_compare_entry *b, pfc_compare_row *row)
{
    /* Runs of one session are interleaved: the state of the machine is the same on both sides. */
    const bool together = a->session && pfc_streq(a->session, b->session);
    const pfc_between *noise = noise_of(h, row->series_id);

    if (!row->exact && !row->untested && !together && noise && isfinite(noise->sigma)) {
        pfc_stats_compare_between(&row->result, noise, a->runs, b->runs, 0, row->margin_rel);
        row->between_rel = expm1(noise->sigma);
        row->compared = PFC_MIN(a->runs, b->runs);
    }
    row->moved = !row->exact && (a->moved || b->moved);
    if (row->moved)
        row->result.verdict = PFC_VERDICT_INCONCLUSIVE;
}
