/*
 * Comparisons of two samples and of two run documents. Two samples are judged as two run documents
 * with one measurement each, so that both ways give the same verdict.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/library/library.h"

struct perfci_comparisons {
    pfc_cmp cmp;
};

perfci_comparison library_row(const pfc_cmp_row *row)
{
    perfci_comparison out = PERFCI_COMPARISON_INIT;

    out.verdict = (int)row->verdict;
    out.median_a = row->a.n ? row->a.median : (double)NAN;
    out.median_b = row->b.n ? row->b.median : (double)NAN;
    out.rel_change = row->rel_change;
    out.rel_low = row->rel_low;
    out.rel_high = row->rel_high;
    out.p = row->p;
    out.p_adjusted = row->p_adjusted;
    out.noise_rel = row->noise_rel;
    out.n_a = (size_t)row->a.n;
    out.n_b = (size_t)row->b.n;
    out.more = row->more_rounds ? row->more_rounds : row->more_runs;
    out.secondary = row->secondary;
    out.benchmark = row->benchmark ? row->benchmark : "";
    out.metric = row->metric ? row->metric : "";
    out.backend = row->backend ? row->backend : "";
    out.unit = row->unit ? row->unit : "";
    out.reason = row->reason ? row->reason : "";
    return out;
}

static pfc_code options_of(const perfci_compare_options *options, perfci_compare_options *o,
                           pfc_err *err)
{
    const perfci_compare_options none = PERFCI_COMPARE_OPTIONS_INIT;
    pfc_code code = PFC_OK;

    *o = none;
    if (options)
        code = library_take(options, LIBRARY_UNTIL(perfci_compare_options, margin), o, sizeof(*o),
                            "options", err);
    return code ? code : library_number(o->margin, 1e-9, 10, "margin", err);
}

/* ---- two samples ---- */

static pfc_code check_blocks(const perfci_samples *s, const char *side, pfc_err *err)
{
    size_t sum = 0;

    for (size_t i = 0; i < s->blocks_len && s->blocks; i++) {
        if (s->blocks[i] == 0 || s->blocks[i] > PERFCI_MAX_SAMPLES)
            return pfc_err_set_field(err, PFC_EINVAL, "blocks",
                                     "%s: blocks[%zu]: expected 1..%d values, got %u", side, i,
                                     PERFCI_MAX_SAMPLES, s->blocks[i]);
        sum += s->blocks[i];
    }
    if (!s->blocks || sum == s->len)
        return PFC_OK;
    return pfc_err_set_field(err, PFC_EINVAL, "blocks",
                             "%s: blocks: expected a sum of %zu values, got %zu", side, s->len,
                             sum);
}

static pfc_code check_samples(const perfci_samples *s, const char *side, pfc_err *err)
{
    if (!s->values || s->len == 0)
        return pfc_err_set_field(err, PFC_EINVAL, "values", "%s: expected at least one value",
                                 side);
    if (s->len > PERFCI_MAX_SAMPLES || s->blocks_len > PERFCI_MAX_SAMPLES)
        return pfc_err_set_field(err, PFC_ETOOBIG, "len", "%s: expected at most %d values, got %zu",
                                 side, PERFCI_MAX_SAMPLES, PFC_MAX(s->len, s->blocks_len));
    for (size_t i = 0; i < s->len; i++)
        if (!(s->values[i] > 0) || isinf(s->values[i]))
            return pfc_err_set_field(err, PFC_EINVAL, "values",
                                     "%s: values[%zu]: expected a finite number above 0, got %g",
                                     side, i, s->values[i]);
    return check_blocks(s, side, err);
}

static pfc_run *run_of(const perfci_samples *s, const perfci_compare_options *o)
{
    pfc_run *run = pfc_run_new();
    pfc_measurement *m = pfc_run_add(run);

    m->benchmark = pfc_strdup("samples");
    m->metric = pfc_strdup("value");
    m->backend = pfc_strdup("");
    m->unit = pfc_strdup("");
    m->higher_is_better = o->higher_is_better != 0;
    m->exact = o->exact != 0;
    m->samples = pfc_calloc(s->len, sizeof(double));
    memcpy(m->samples, s->values, s->len * sizeof(double));
    m->samples_len = s->len;
    m->blocks_len = s->blocks ? s->blocks_len : 1;
    m->blocks = pfc_calloc(m->blocks_len, sizeof(*m->blocks));
    if (s->blocks)
        memcpy(m->blocks, s->blocks, s->blocks_len * sizeof(*m->blocks));
    else
        m->blocks[0] = (uint32_t)s->len;
    return run;
}

static pfc_code judge(const perfci_samples *a, const perfci_samples *b,
                      const perfci_compare_options *o, perfci_comparison *out, pfc_err *err)
{
    pfc_run *run_a = run_of(a, o);
    pfc_run *run_b = run_of(b, o);
    pfc_cmp cmp = { 0 };
    pfc_code code = pfc_cmp_runs(run_a, run_b, "a", "b", o->margin, &cmp, err);

    if (!code) {
        *out = library_row(&cmp.rows[0]);
        out->benchmark = out->metric = out->backend = out->unit = out->reason = "";
    }
    pfc_cmp_clear(&cmp);
    pfc_run_free(run_a);
    pfc_run_free(run_b);
    return code;
}

int perfci_compare(const perfci_samples *a, const perfci_samples *b,
                   const perfci_compare_options *options, perfci_comparison *out)
{
    pfc_err *err = library_err();
    perfci_samples sides[2] = { PERFCI_SAMPLES_INIT, PERFCI_SAMPLES_INIT };
    perfci_comparison full = PERFCI_COMPARISON_INIT;
    perfci_compare_options o;
    pfc_code code = options_of(options, &o, err);

    if (!code)
        code = library_take(a, LIBRARY_UNTIL(perfci_samples, blocks_len), &sides[0],
                            sizeof(sides[0]), "a", err);
    if (!code)
        code = library_take(b, LIBRARY_UNTIL(perfci_samples, blocks_len), &sides[1],
                            sizeof(sides[1]), "b", err);
    if (!code)
        code = check_samples(&sides[0], "a", err);
    if (!code)
        code = check_samples(&sides[1], "b", err);
    if (!code)
        code = judge(&sides[0], &sides[1], &o, &full, err);
    if (!code)
        code = library_give(out, LIBRARY_UNTIL(perfci_comparison, reason), &full, sizeof(full),
                            "out", err);
    return library_code(code);
}

/* ---- two run documents ---- */

int perfci_run_compare(const perfci_run *a, const perfci_run *b,
                       const perfci_compare_options *options, perfci_comparisons **out)
{
    pfc_err *err = library_err();
    perfci_comparisons *made;
    perfci_compare_options o;
    pfc_code code = library_need(a, "a", err);

    if (!code)
        code = library_need(b, "b", err);
    if (!code)
        code = library_need(out, "out", err);
    if (!code)
        code = options_of(options, &o, err);
    if (code)
        return library_code(code);
    made = pfc_alloc(sizeof(*made));
    code = pfc_cmp_runs(a->run, b->run, "a", "b", o.margin, &made->cmp, err);
    if (code)
        perfci_comparisons_free(made);
    else
        *out = made;
    return library_code(code);
}

size_t perfci_comparisons_len(const perfci_comparisons *comparisons)
{
    return comparisons->cmp.len;
}

int perfci_comparisons_row(const perfci_comparisons *comparisons, size_t i, perfci_comparison *out)
{
    pfc_err *err = library_err();
    perfci_comparison full;
    pfc_code code = library_within(i, comparisons->cmp.len, "i", err);

    if (code)
        return library_code(code);
    full = library_row(&comparisons->cmp.rows[i]);
    return library_code(library_give(out, LIBRARY_UNTIL(perfci_comparison, reason), &full,
                                     sizeof(full), "out", err));
}

int perfci_comparisons_verdict(const perfci_comparisons *comparisons)
{
    return (int)pfc_cmp_overall(&comparisons->cmp);
}

void perfci_comparisons_free(perfci_comparisons *comparisons)
{
    if (!comparisons)
        return;
    pfc_cmp_clear(&comparisons->cmp);
    free(comparisons);
}
