/*
 * The judgement of two runs.
 */
#include "core/comparison/comparison.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/parse.h"
#include "core/comparison/document_pairs.h"
#include "core/stats/comparison_family.h"
#include "core/wire/fingerprint.h"
#include "core/wire/run_values.h"

enum { MIN_BLOCKS = 3 };

#define PAIRS_MARGIN 0.005 /* as bench/harness/pairs/judge.c */

const char *pfc_cmp_name(pfc_cmp_verdict verdict)
{
    static const char *const names[] = { "same", "improvement", "inconclusive", "regression",
                                         "broken" };

    return verdict < PFC_CMP_VERDICTS ? names[verdict] : "broken";
}

bool pfc_cmp_is_unmeasured(const pfc_cmp *cmp)
{
    return cmp->len == 0 && !cmp->nothing && pfc_streq(cmp->object_code, "identical");
}

bool pfc_cmp_machines_differ(const pfc_cmp *cmp)
{
    bool differ = false;

    for (size_t i = 0; i < cmp->differs_len; i++)
        differ |= !pfc_streq(cmp->differs[i].field, "backend");
    return differ;
}

bool pfc_cmp_is_undecided(const pfc_cmp *cmp)
{
    return cmp->stored && !cmp->across && pfc_cmp_machines_differ(cmp);
}

pfc_cmp_verdict pfc_cmp_overall(const pfc_cmp *cmp)
{
    if (pfc_cmp_is_unmeasured(cmp))
        return PFC_CMP_SAME;
    if (cmp->count[PFC_CMP_BROKEN])
        return PFC_CMP_BROKEN;
    if (pfc_cmp_is_undecided(cmp))
        return PFC_CMP_INCONCLUSIVE; /* it may be the machine or the compiler */
    if (cmp->count[PFC_CMP_REGRESSION])
        return PFC_CMP_REGRESSION;
    if (cmp->count[PFC_CMP_SAME] + cmp->count[PFC_CMP_IMPROVEMENT] == 0 ||
        cmp->count[PFC_CMP_INCONCLUSIVE])
        return PFC_CMP_INCONCLUSIVE;
    return cmp->count[PFC_CMP_IMPROVEMENT] ? PFC_CMP_IMPROVEMENT : PFC_CMP_SAME;
}

void pfc_cmp_row_clear(pfc_cmp_row *r)
{
    free(r->benchmark);
    free(r->metric);
    free(r->backend);
    free(r->unit);
    free(r->machine_class);
    json_decref(r->differs);
    json_decref(r->stored);
    free(r->reason);
    *r = (pfc_cmp_row){ 0 };
}

void pfc_cmp_clear(pfc_cmp *cmp)
{
    for (size_t i = 0; i < cmp->len; i++)
        pfc_cmp_row_clear(&cmp->rows[i]);
    free(cmp->rows);
    free(cmp->a);
    free(cmp->b);
    free(cmp->nothing);
    json_decref(cmp->repeat);
    json_decref(cmp->explanation);
    json_decref(cmp->functions);
    json_decref(cmp->means);
    json_decref(cmp->between);
    free(cmp->how_a);
    free(cmp->how_b);
    free(cmp->object_code);
    free(cmp->reused.from);
    free(cmp->reused.measured_at);
    free(cmp->failure);
    for (size_t i = 0; i < cmp->differs_len; i++) {
        free(cmp->differs[i].field);
        free(cmp->differs[i].a);
        free(cmp->differs[i].b);
    }
    free(cmp->differs);
    json_decref(cmp->only_a);
    json_decref(cmp->only_b);
    *cmp = (pfc_cmp){ 0 };
}

static bool is_canary(const pfc_cmp_row *row)
{
    return pfc_streq(row->benchmark, PFC_CANARY_BENCHMARK);
}

/* No other job measured what was measured here. */
static const char *class_of(bool exact)
{
    return exact ? "exact" : "single";
}

static pfc_cmp_side side_of(const pfc_measurement *m)
{
    const pfc_interval i = pfc_stats_block_interval(m->samples, m->blocks, m->blocks_len, 0.95, 1);

    return (pfc_cmp_side){ .median = i.value,
                           .low = i.low,
                           .high = i.high,
                           .n = (int64_t)m->samples_len,
                           .reproducibility = m->samples_len ? class_of(m->exact) : NULL };
}

static pfc_cmp_verdict verdict_of(const pfc_compare_result *r, bool higher_is_better)
{
    switch (r->verdict) {
    case PFC_VERDICT_SAME:
        return PFC_CMP_SAME;
    case PFC_VERDICT_DIFFERENT:
        return (r->rel_change > 0) == higher_is_better ? PFC_CMP_IMPROVEMENT : PFC_CMP_REGRESSION;
    case PFC_VERDICT_INCONCLUSIVE:
        break;
    }
    return PFC_CMP_INCONCLUSIVE;
}

static double extra_number(const pfc_measurement *m, const char *name)
{
    const char *text = pfc_labels_get(&m->extra, name);
    double v = NAN;

    if (text && pfc_parse_double(text, -1e308, 1e308, name, &v, NULL))
        return NAN;
    return v;
}

/* Values that are missing on each side of an undecided comparison without interleaving. n: values
 * of the smaller side. */
static void estimate(pfc_cmp_row *row, size_t n, size_t least, double margin)
{
    const double more =
        pfc_stats_more_values(row->rel_change, row->rel_low, row->rel_high, n, least, margin);

    if (row->verdict == PFC_CMP_INCONCLUSIVE && !row->more_rounds && isfinite(more))
        row->more_runs = (size_t)more;
}

/* Measured interleaved: the pairs were judged where they were measured, with their order. */
static bool judged_in_pairs(const pfc_measurement *a, const pfc_measurement *b, double margin,
                            pfc_cmp_row *row)
{
    const double pairs = extra_number(b, "pairs");
    const char *verdict = pfc_labels_get(&b->extra, "pair_verdict");
    pfc_compare_result r = { .verdict = PFC_VERDICT_INCONCLUSIVE };

    if (!verdict || a->samples_len == 0 || b->samples_len == 0)
        return false;
    if (strcmp(verdict, "same") == 0)
        r.verdict = PFC_VERDICT_SAME;
    else if (strcmp(verdict, "different") == 0)
        r.verdict = PFC_VERDICT_DIFFERENT;
    r.rel_change = row->rel_change = extra_number(b, "pair_rel_change");
    row->rel_low = extra_number(b, "pair_rel_low");
    row->rel_high = extra_number(b, "pair_rel_high");
    row->p = extra_number(b, "pair_p");
    row->noise_rel = extra_number(b, "pair_noise_rel");
    row->verdict = verdict_of(&r, row->higher_is_better);
    /* Too noisy here to show even a large change: shown, never a reason to fail. */
    if (pfc_streq(pfc_labels_get(&b->extra, "pair_gates"), "false") &&
        (row->verdict == PFC_CMP_REGRESSION || row->verdict == PFC_CMP_IMPROVEMENT))
        row->verdict = PFC_CMP_INCONCLUSIVE;
    /* The test of "same" is by signs and sizes; the interval that is shown must say it, too. */
    if (row->verdict == PFC_CMP_SAME && !(row->rel_low >= -margin && row->rel_high <= margin))
        row->verdict = PFC_CMP_INCONCLUSIVE;
    estimate(row, pairs >= 1 ? (size_t)pairs : 0, PFC_COMPARE_LEAST_PAIRS, margin);
    return true;
}

/* Judges the ratios within interleaved rounds, not the values: slow changes of the machine cancel
 * in a ratio. */
static pfc_code judge_values(const double *va, size_t na, const double *vb, size_t nb,
                             const char *order, bool swapped, const pfc_compare_opts *opts,
                             pfc_compare_result *out, pfc_cmp_row *row, pfc_err *err)
{
    pfc_interleaved_result turns;
    pfc_code code;

    if (!order || opts->exact)
        return pfc_stats_compare(va, na, vb, nb, opts, out, err);
    code =
        pfc_document_pairs_judge_sides(va, na, vb, nb, order, swapped, opts->margin, &turns, err);
    if (!code) {
        *out = turns.cmp;
        row->rounds = turns.rounds;
        row->more_rounds = turns.more;
    }
    return code;
}

static pfc_code judge(const pfc_measurement *a, const pfc_measurement *b, double margin,
                      pfc_cmp_row *row, pfc_err *err)
{
    bool swapped = false;
    const char *order = pfc_document_pairs_order(a, b, &swapped);
    const bool by_block = order || (a->blocks_len >= MIN_BLOCKS && b->blocks_len >= MIN_BLOCKS);
    const pfc_compare_opts opts = { .margin = margin, .exact = a->exact && b->exact };
    pfc_compare_result result = { 0 };
    size_t na = 0;
    size_t nb = 0;
    double *va = pfc_measurement_values(a, by_block, &na);
    double *vb = pfc_measurement_values(b, by_block, &nb);
    pfc_code code;

    row->a = side_of(a);
    row->b = side_of(b);
    row->reproducibility = row->a.n && row->b.n ? class_of(row->exact) : NULL;
    if (judged_in_pairs(a, b, margin > 0 ? margin : PAIRS_MARGIN, row)) {
        free(va);
        free(vb);
        return PFC_OK;
    }
    code = judge_values(va, na, vb, nb, order, swapped, &opts, &result, row, err);
    free(va);
    free(vb);
    if (code)
        return pfc_err_wrap(err, "%.100s", row->benchmark);
    row->rel_change = result.rel_change;
    row->rel_low = result.rel_low;
    row->rel_high = result.rel_high;
    row->p = result.p;
    row->noise_rel = result.noise_rel;
    row->verdict = verdict_of(&result, row->higher_is_better);
    if (!order)
        estimate(row, PFC_MIN(na, nb), PFC_COMPARE_LEAST, margin > 0 ? margin : PFC_COMPARE_MARGIN);
    return PFC_OK;
}

pfc_cmp_row *pfc_cmp_add_row(pfc_cmp *cmp)
{
    cmp->rows = pfc_grow(cmp->rows, cmp->len, &cmp->cap, sizeof(cmp->rows[0]));
    cmp->rows[cmp->len] = (pfc_cmp_row){
        .rel_change = NAN,
        .rel_low = NAN,
        .rel_high = NAN,
        .p = NAN,
        .p_adjusted = NAN,
        .noise_rel = NAN,
    };
    return &cmp->rows[cmp->len++];
}

static pfc_code add_pair(pfc_cmp *cmp, const pfc_measurement *a, const pfc_measurement *b,
                         double margin, pfc_err *err)
{
    const pfc_measurement *bad = b->status == PFC_STATUS_BROKEN   ? b
                                 : a->status == PFC_STATUS_BROKEN ? a
                                                                  : NULL;
    pfc_cmp_row *row;

    if (pfc_document_pairs_same_canary(a, b))
        return PFC_OK;
    if (a->status == PFC_STATUS_SKIPPED || b->status == PFC_STATUS_SKIPPED)
        return PFC_OK; /* the canary is not available on this machine */
    row = pfc_cmp_add_row(cmp);
    row->benchmark = pfc_strdup(b->benchmark);
    row->metric = pfc_strdup(b->metric);
    row->backend = pfc_strdup(b->backend);
    row->unit = pfc_strdup(b->unit);
    row->higher_is_better = b->higher_is_better;
    row->exact = a->exact && b->exact;
    row->secondary = pfc_streq(pfc_labels_get(&b->extra, PFC_ROLE), PFC_ROLE_SECONDARY);
    if (bad) {
        row->verdict = PFC_CMP_BROKEN;
        row->broken_a = a->status == PFC_STATUS_BROKEN;
        row->broken_b = b->status == PFC_STATUS_BROKEN;
        row->reason = pfc_strdup(bad->reason);
        return PFC_OK;
    }
    return judge(a, b, margin, row, err);
}

static bool is_change(const pfc_cmp_row *row)
{
    return row->verdict == PFC_CMP_REGRESSION || row->verdict == PFC_CMP_IMPROVEMENT;
}

/* The service's rule (stats/comparison_family.h). The canary and exact metrics are no members of
 * the family. */
static void judge_together(pfc_cmp *cmp)
{
    pfc_family_row *rows = pfc_calloc(cmp->len + 1, sizeof(*rows));

    for (size_t i = 0; i < cmp->len; i++) {
        const pfc_cmp_row *row = &cmp->rows[i];

        rows[i].p = row->exact || is_canary(row) ? (double)NAN : row->p;
        rows[i].verdict = is_change(row) ? PFC_VERDICT_DIFFERENT : PFC_VERDICT_SAME;
    }
    pfc_compare_family(rows, cmp->len);
    for (size_t i = 0; i < cmp->len; i++) {
        cmp->rows[i].p_adjusted = rows[i].p_adjusted;
        if (is_change(&cmp->rows[i]) && rows[i].verdict != PFC_VERDICT_DIFFERENT) {
            cmp->rows[i].verdict = PFC_CMP_INCONCLUSIVE;
            cmp->rows[i].more_rounds = cmp->rows[i].rounds ? 1 : 0;
            cmp->rows[i].more_runs = cmp->rows[i].rounds ? 0 : 1;
        }
    }
    free(rows);
}

static void set_differences(pfc_cmp *cmp, const pfc_labels *a, const pfc_labels *b)
{
    char **names;
    size_t len;

    pfc_fingerprint_diff(a, b, PFC_FINGERPRINT_VALUES, &names, &len);
    cmp->differs = pfc_calloc(len, sizeof(*cmp->differs));
    cmp->differs_len = len;
    for (size_t i = 0; i < len; i++)
        cmp->differs[i] = (pfc_cmp_difference){ .field = names[i],
                                                .a = pfc_strdup(pfc_labels_get(a, names[i])),
                                                .b = pfc_strdup(pfc_labels_get(b, names[i])) };
    free(names);
}

static void add_only(json_t *list, const pfc_measurement *m)
{
    json_array_append_new(list, json_sprintf("%s %s %s", m->benchmark, m->metric, m->backend));
}

void pfc_cmp_count(pfc_cmp *cmp)
{
    for (size_t i = 0; i < cmp->len; i++) {
        pfc_cmp_row *row = &cmp->rows[i];

        if (row->secondary)
            continue;
        if (!is_canary(row)) {
            cmp->count[row->verdict]++;
        } else if (row->verdict == PFC_CMP_REGRESSION || row->verdict == PFC_CMP_IMPROVEMENT) {
            row->verdict = PFC_CMP_INCONCLUSIVE;
            cmp->canary_rel = row->rel_change;
        }
    }
}

/* Whether all pairs have one object code; NULL: it is not known of each of them. */
static const char *compare_objects(const pfc_run *a, const pfc_run *b)
{
    const char *word = NULL;

    for (size_t i = 0; i < b->measurements_len; i++) {
        const pfc_measurement *mb = &b->measurements[i], *ma = pfc_run_find(a, mb);
        const char *x, *y;

        if (!ma || pfc_streq(mb->benchmark, PFC_CANARY_BENCHMARK))
            continue;
        x = pfc_labels_get(&ma->extra, PFC_OBJECT);
        y = pfc_labels_get(&mb->extra, PFC_OBJECT);
        if (!x || !y)
            return NULL;
        if (!word || strcmp(x, y) != 0)
            word = strcmp(x, y) == 0 ? "identical" : "different";
    }
    return word;
}

pfc_code pfc_cmp_runs(const pfc_run *a, const pfc_run *b, const char *name_a, const char *name_b,
                      double margin, pfc_cmp *out, pfc_err *err)
{
    pfc_code code = PFC_OK;

    *out = (pfc_cmp){ .a = pfc_strdup(name_a),
                      .b = pfc_strdup(name_b),
                      .only_a = json_array(),
                      .only_b = json_array() };
    for (size_t i = 0; i < b->measurements_len && !code; i++) {
        const pfc_measurement *mb = &b->measurements[i];
        const pfc_measurement *ma = pfc_run_find(a, mb);

        if (ma)
            code = add_pair(out, ma, mb, margin, err);
        else
            add_only(out->only_b, mb);
    }
    for (size_t i = 0; i < a->measurements_len; i++)
        if (!pfc_run_find(b, &a->measurements[i]))
            add_only(out->only_a, &a->measurements[i]);
    if (code)
        return code;
    judge_together(out);
    out->object_code = pfc_strdup(compare_objects(a, b));
    set_differences(out, &a->machine.fingerprint, &b->machine.fingerprint);
    pfc_cmp_count(out);
    return PFC_OK;
}
