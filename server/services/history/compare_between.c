/* Runs of two commits are made at different times: what the noise between runs leaves of a row. */
#include <math.h>

#include "server/repo/sql/runs.h"
#include "server/services/history/compare.h"

static int by_id(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static size_t add_series(const pfc_compare_results *s, int64_t *ids, size_t n)
{
    for (size_t i = 0; i < s->len; i++) {
        if (s->entries[i].series_id && !s->entries[i].exact && s->entries[i].len)
            ids[n++] = s->entries[i].series_id;
    }
    return n;
}

pfc_code pfc_compare_histories_load(pfc_tx *tx, int64_t project_id, const pfc_compare_results *a,
                                    const pfc_compare_results *b, pfc_compare_histories *out,
                                    pfc_err *err)
{
    pfc_sql_compare_histories_rows rows = { 0 };
    int64_t *ids = pfc_calloc(a->len + b->len + 1, sizeof(*ids));
    const size_t n = add_series(b, ids, add_series(a, ids, 0));
    pfc_code code;

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

/* Of two series that are not the same, backend against backend or machine class against machine
 * class, the noise of the noisier one: neither has less. */
static const pfc_between *noise_between(const pfc_compare_histories *h, const pfc_compare_entry *a,
                                        const pfc_compare_entry *b)
{
    const pfc_between *x = noise_of(h, a->series_id), *y = noise_of(h, b->series_id);
    const bool known_x = x && isfinite(x->sigma), known_y = y && isfinite(y->sigma);

    if (pfc_streq(a->backend, b->backend) && pfc_streq(a->machine_class, b->machine_class))
        return y ? y : x;
    return !known_y || (known_x && x->sigma > y->sigma) ? x : y;
}

void pfc_compare_settle(const pfc_compare_histories *h, const pfc_compare_entry *a,
                        const pfc_compare_entry *b, pfc_compare_row *row)
{
    /* Runs of one session are interleaved: the state of the machine is the same on both sides. */
    const bool together = a->session && pfc_streq(a->session, b->session);
    const pfc_between *noise = noise_between(h, a, b);

    if (!row->exact && !row->untested && !together && noise && isfinite(noise->sigma)) {
        pfc_stats_compare_between(&row->result, noise, a->runs, b->runs, 0, row->margin_rel);
        row->between_rel = expm1(noise->sigma);
        row->compared = PFC_MIN(a->runs, b->runs);
    }
    row->moved = !row->exact && (a->moved || b->moved);
    if (row->moved)
        row->result.verdict = PFC_VERDICT_INCONCLUSIVE;
}
