/*
 * The judgement of two runs.
 */
#include "cli/cmp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/parse.h"
#include "core/wire/fingerprint.h"

#define FDR_LEVEL 0.05

enum { MIN_BLOCKS = 3 };

const char *pfc_cmp_name(pfc_cmp_verdict verdict)
{
    static const char *const names[] = { "same", "improvement", "inconclusive", "regression",
                                         "broken" };

    return verdict < PFC_CMP_VERDICTS ? names[verdict] : "broken";
}

int pfc_cmp_exit(const pfc_cmp *cmp)
{
    if (cmp->count[PFC_CMP_BROKEN])
        return PFC_EXIT_BROKEN;
    if (cmp->count[PFC_CMP_REGRESSION])
        return PFC_EXIT_REGRESSION;
    if (cmp->count[PFC_CMP_SAME] + cmp->count[PFC_CMP_IMPROVEMENT] == 0)
        return PFC_EXIT_INCONCLUSIVE; /* nothing to compare */
    return cmp->count[PFC_CMP_INCONCLUSIVE] ? PFC_EXIT_INCONCLUSIVE : PFC_EXIT_OK;
}

void pfc_cmp_row_clear(pfc_cmp_row *r)
{
    free(r->benchmark);
    free(r->metric);
    free(r->backend);
    free(r->unit);
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
    free(cmp->fingerprint);
    *cmp = (pfc_cmp){ 0 };
}

static bool is_canary(const pfc_cmp_row *row)
{
    return pfc_streq(row->benchmark, PFC_CANARY_BENCHMARK);
}

static const pfc_measurement *find(const pfc_run *run, const pfc_measurement *like)
{
    for (size_t i = 0; i < run->measurements_len; i++) {
        const pfc_measurement *m = &run->measurements[i];

        if (pfc_streq(m->benchmark, like->benchmark) && pfc_streq(m->metric, like->metric) &&
            pfc_streq(m->backend, like->backend))
            return m;
    }
    return NULL;
}

/* What is compared of a measurement: medians of its blocks, or its samples. Caller frees. */
static double *values_of(const pfc_measurement *m, bool by_block, size_t *n)
{
    double *out = pfc_calloc(m->samples_len + 1, sizeof(double));
    size_t at = 0;

    *n = 0;
    if (!by_block) {
        memcpy(out, m->samples, m->samples_len * sizeof(double));
        *n = m->samples_len;
        return out;
    }
    for (size_t i = 0; i < m->blocks_len; i++) {
        if (m->blocks[i])
            out[(*n)++] = pfc_stats_median(m->samples + at, m->blocks[i]);
        at += m->blocks[i];
    }
    return out;
}

static pfc_cmp_side side_of(const pfc_measurement *m)
{
    const pfc_interval i = pfc_stats_block_interval(m->samples, m->blocks, m->blocks_len, 0.95, 1);

    return (pfc_cmp_side){ i.value, i.low, i.high, (int64_t)m->samples_len };
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
    const char *text = pfc_pairs_get(&m->extra, name);
    double v = NAN;

    if (text && pfc_parse_double(text, -1e308, 1e308, name, &v, NULL))
        return NAN;
    return v;
}

/* Measured in turns: the pairs have been judged where they were made, with what their order says. */
static bool judged_in_pairs(const pfc_measurement *a, const pfc_measurement *b, pfc_cmp_row *row)
{
    const char *verdict = pfc_pairs_get(&b->extra, "pair_verdict");
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
    if (pfc_streq(pfc_pairs_get(&b->extra, "pair_gates"), "false") &&
        (row->verdict == PFC_CMP_REGRESSION || row->verdict == PFC_CMP_IMPROVEMENT))
        row->verdict = PFC_CMP_INCONCLUSIVE;
    return true;
}

static pfc_code judge(const pfc_measurement *a, const pfc_measurement *b, double margin,
                      pfc_cmp_row *row, pfc_err *err)
{
    const bool by_block = a->blocks_len >= MIN_BLOCKS && b->blocks_len >= MIN_BLOCKS;
    const pfc_compare_opts opts = { .margin = margin, .exact = a->exact && b->exact };
    pfc_compare_result result = { 0 };
    size_t na = 0;
    size_t nb = 0;
    double *va = values_of(a, by_block, &na);
    double *vb = values_of(b, by_block, &nb);
    pfc_code code;

    row->a = side_of(a);
    row->b = side_of(b);
    if (judged_in_pairs(a, b, row)) {
        free(va);
        free(vb);
        return PFC_OK;
    }
    code = pfc_stats_compare(va, na, vb, nb, &opts, &result, err);
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
    return PFC_OK;
}

static pfc_cmp_row *add_row(pfc_cmp *cmp)
{
    cmp->rows = pfc_grow(cmp->rows, cmp->len, &cmp->cap, sizeof(cmp->rows[0]));
    cmp->rows[cmp->len] = (pfc_cmp_row){
        .rel_change = NAN, .rel_low = NAN, .rel_high = NAN, .p = NAN, .noise_rel = NAN
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

    if (a->status == PFC_STATUS_SKIPPED || b->status == PFC_STATUS_SKIPPED)
        return PFC_OK; /* not available on this machine: nothing to say */
    row = add_row(cmp);
    row->benchmark = pfc_strdup(b->benchmark);
    row->metric = pfc_strdup(b->metric);
    row->backend = pfc_strdup(b->backend);
    row->unit = pfc_strdup(b->unit);
    row->higher_is_better = b->higher_is_better;
    row->secondary = pfc_streq(pfc_pairs_get(&b->extra, PFC_ROLE), PFC_ROLE_SECONDARY);
    if (bad) {
        row->verdict = PFC_CMP_BROKEN;
        row->reason = pfc_strdup(bad->reason);
        return PFC_OK;
    }
    return judge(a, b, margin, row, err);
}

/* Many rows, many chances to be fooled: only what stands over all of them is called a change. */
static void hold_discovery_rate(pfc_cmp *cmp)
{
    double *p = pfc_calloc(cmp->len + 1, sizeof(double));
    bool *keep = pfc_calloc(cmp->len + 1, sizeof(bool));

    for (size_t i = 0; i < cmp->len; i++)
        p[i] = isfinite(cmp->rows[i].p) && !is_canary(&cmp->rows[i]) ? cmp->rows[i].p : 1;
    if (cmp->len > 1)
        pfc_stats_fdr(p, cmp->len, FDR_LEVEL, keep);
    for (size_t i = 0; i < cmp->len && cmp->len > 1; i++) {
        pfc_cmp_row *row = &cmp->rows[i];

        if ((row->verdict == PFC_CMP_REGRESSION || row->verdict == PFC_CMP_IMPROVEMENT) &&
            !keep[i] && !is_canary(row))
            row->verdict = PFC_CMP_INCONCLUSIVE;
    }
    free(keep);
    free(p);
}

/* Names of the fingerprint's entries that differ. */
static char *differing(const pfc_machine *a, const pfc_machine *b)
{
    char **names;
    size_t len;
    pfc_buf buf;
    char *out = NULL;

    pfc_fingerprint_diff(&a->fingerprint, &b->fingerprint, PFC_FINGERPRINT_VALUES, &names, &len);
    pfc_buf_init(&buf, 8192);
    for (size_t i = 0; i < len; i++) {
        pfc_buf_printf(&buf, "%s%s", i ? ", " : "", names[i]);
        free(names[i]);
    }
    free(names);
    if (buf.len)
        out = pfc_buf_take(&buf);
    pfc_buf_clear(&buf);
    return out;
}

/* The canary's code is the same on both sides: when it differs, the machine did. Its row decides
 * nothing, and a change of it is told apart. */
static void count(pfc_cmp *cmp)
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

pfc_code pfc_cmp_runs(const pfc_run *a, const pfc_run *b, const char *name_a, const char *name_b,
                      double margin, pfc_cmp *out, pfc_err *err)
{
    pfc_code code = PFC_OK;

    *out = (pfc_cmp){ .a = pfc_strdup(name_a), .b = pfc_strdup(name_b) };
    for (size_t i = 0; i < b->measurements_len && !code; i++) {
        const pfc_measurement *mb = &b->measurements[i];
        const pfc_measurement *ma = find(a, mb);

        if (ma)
            code = add_pair(out, ma, mb, margin, err);
        else
            out->only_b++;
    }
    for (size_t i = 0; i < a->measurements_len; i++)
        out->only_a += !find(b, &a->measurements[i]);
    if (code)
        return code;
    hold_discovery_rate(out);
    out->fingerprint = differing(&a->machine, &b->machine);
    count(out);
    return PFC_OK;
}

/* ---- JSON ---- */

static json_t *number(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

static json_t *side_json(const pfc_cmp_side *s)
{
    return json_pack("{s:o,s:o,s:o,s:I}", "median", number(s->median), "low", number(s->low),
                     "high", number(s->high), "n", (json_int_t)s->n);
}

static json_t *row_json(const pfc_cmp_row *r)
{
    json_t *doc = json_pack("{s:s,s:s,s:s,s:s,s:s}", "benchmark", r->benchmark, "metric", r->metric,
                            "backend", r->backend, "unit", r->unit, "direction",
                            r->higher_is_better ? "higher" : "lower");

    if (r->verdict != PFC_CMP_BROKEN) {
        json_object_set_new(doc, "a", side_json(&r->a));
        json_object_set_new(doc, "b", side_json(&r->b));
        json_object_set_new(doc, "rel_change", number(r->rel_change));
        json_object_set_new(doc, "rel_low", number(r->rel_low));
        json_object_set_new(doc, "rel_high", number(r->rel_high));
        json_object_set_new(doc, "p", number(r->p));
        json_object_set_new(doc, "noise_rel", number(r->noise_rel));
    } else if (r->reason) {
        json_object_set_new(doc, "reason", json_string(r->reason));
    }
    json_object_set_new(doc, "verdict", json_string(pfc_cmp_name(r->verdict)));
    if (r->secondary)
        json_object_set_new(doc, "secondary", json_true());
    return doc;
}

json_t *pfc_cmp_to_json(const pfc_cmp *cmp)
{
    json_t *rows = json_array();
    json_t *summary = json_object();
    json_t *doc =
        json_pack("{s:{s:s},s:{s:s},s:o,s:I,s:I}", "a", "name", cmp->a, "b", "name", cmp->b, "rows",
                  rows, "only_a", (json_int_t)cmp->only_a, "only_b", (json_int_t)cmp->only_b);

    for (size_t i = 0; i < cmp->len; i++)
        json_array_append_new(rows, row_json(&cmp->rows[i]));
    for (int v = 0; v < PFC_CMP_VERDICTS; v++)
        json_object_set_new(summary, pfc_cmp_name((pfc_cmp_verdict)v),
                            json_integer((json_int_t)cmp->count[v]));
    json_object_set_new(doc, "summary", summary);
    if (cmp->fingerprint)
        json_object_set_new(doc, "fingerprint_differs", json_string(cmp->fingerprint));
    return doc;
}

static pfc_code read_side(const json_t *row, const pfc_json_at *at, const char *key,
                          pfc_cmp_side *out, pfc_err *err)
{
    const pfc_json_at here = { .up = at, .key = key };
    json_t *side = NULL;
    pfc_code code = pfc_json_object(row, at, key, false, &side, err);

    *out = (pfc_cmp_side){ NAN, NAN, NAN, 0 };
    if (code || !side)
        return code;
    code = pfc_json_double(side, &here, "median", false, -1e308, 1e308, &out->median, err);
    if (!code)
        code = pfc_json_double(side, &here, "low", false, -1e308, 1e308, &out->low, err);
    if (!code)
        code = pfc_json_double(side, &here, "high", false, -1e308, 1e308, &out->high, err);
    return code ? code : pfc_json_i64(side, &here, "n", false, 0, INT64_MAX, &out->n, err);
}

static pfc_code read_verdict(const json_t *obj, const pfc_json_at *at, pfc_cmp_verdict *out,
                             pfc_err *err)
{
    char *name = NULL;
    pfc_code code = pfc_json_string(obj, at, "verdict", true, 32, &name, err);

    if (code)
        return code;
    for (*out = PFC_CMP_SAME; *out < PFC_CMP_VERDICTS; ++*out)
        if (strcmp(pfc_cmp_name(*out), name) == 0)
            break;
    if (*out == PFC_CMP_VERDICTS)
        code = pfc_json_fault(at, "verdict", err, "no verdict is called \"%.32s\"", name);
    free(name);
    return code;
}

static pfc_code read_texts(const json_t *obj, const pfc_json_at *at, pfc_cmp_row *row, pfc_err *err)
{
    char *direction = NULL;
    pfc_code code =
        pfc_json_string(obj, at, "benchmark", true, PFC_WIRE_MAX_NAME, &row->benchmark, err);

    if (!code)
        code = pfc_json_string(obj, at, "metric", true, PFC_WIRE_MAX_NAME, &row->metric, err);
    if (!code)
        code = pfc_json_string(obj, at, "backend", false, PFC_WIRE_MAX_NAME, &row->backend, err);
    if (!code)
        code = pfc_json_string(obj, at, "unit", false, PFC_WIRE_MAX_NAME, &row->unit, err);
    if (!code)
        code = pfc_json_string(obj, at, "reason", false, PFC_WIRE_MAX_TEXT, &row->reason, err);
    if (!code)
        code = pfc_json_string(obj, at, "direction", false, 16, &direction, err);
    row->higher_is_better = pfc_streq(direction, "higher");
    if (!row->backend)
        row->backend = pfc_strdup("");
    if (!row->unit)
        row->unit = pfc_strdup("");
    free(direction);
    return code;
}

static pfc_code read_row(const json_t *obj, const pfc_json_at *at, pfc_cmp_row *row, pfc_err *err)
{
    const struct {
        const char *key;
        double *out;
    } numbers[] = { { "rel_change", &row->rel_change },
                    { "rel_low", &row->rel_low },
                    { "rel_high", &row->rel_high },
                    { "p", &row->p },
                    { "noise_rel", &row->noise_rel } };
    pfc_code code = read_texts(obj, at, row, err);

    if (!code)
        code = read_verdict(obj, at, &row->verdict, err);
    if (!code)
        code = read_side(obj, at, "a", &row->a, err);
    if (!code)
        code = read_side(obj, at, "b", &row->b, err);
    for (size_t i = 0; i < PFC_ARRAY_LEN(numbers) && !code; i++)
        code = pfc_json_double(obj, at, numbers[i].key, false, -1e308, 1e308, numbers[i].out, err);
    return code;
}

/* "a": {"name"} as we write it, {"commit"} as the service does. */
static pfc_code read_name(const json_t *doc, const char *key, char **out, pfc_err *err)
{
    const pfc_json_at at = { .key = key };
    json_t *side = NULL;
    pfc_code code = pfc_json_object(doc, NULL, key, true, &side, err);

    if (!code)
        code = pfc_json_string(side, &at, json_object_get(side, "name") ? "name" : "commit", false,
                               PFC_WIRE_MAX_TEXT, out, err);
    if (!code && !*out)
        *out = pfc_strdup(key);
    return code;
}

pfc_code pfc_cmp_from_json(const json_t *doc, pfc_cmp *out, pfc_err *err)
{
    const pfc_json_at root = { .key = "rows" };
    json_t *rows = NULL;
    pfc_code code;

    *out = (pfc_cmp){ 0 };
    code = read_name(doc, "a", &out->a, err);
    if (!code)
        code = read_name(doc, "b", &out->b, err);
    if (!code && json_is_string(json_object_get(doc, "fingerprint_differs")))
        code =
            pfc_json_string(doc, NULL, "fingerprint_differs", false, 8192, &out->fingerprint, err);
    if (!code)
        code = pfc_json_array(doc, NULL, "rows", true, PFC_CMP_MAX_ROWS, &rows, err);
    for (size_t i = 0; !code && i < json_array_size(rows); i++) {
        const pfc_json_at at = { .up = &root, .index = i };

        code = read_row(json_array_get(rows, i), &at, add_row(out), err);
    }
    if (!code)
        count(out);
    return code;
}

/* ---- table ---- */

static void show_side(pfc_table *table, size_t col, const pfc_cmp_side *s)
{
    char text[32];

    pfc_show_value(s->median, text);
    pfc_table_set(table, col, text);
}

static void print_row(pfc_table *table, const pfc_cmp_row *r)
{
    static const char *const colors[] = { NULL, "green", "yellow", "red", "red" };
    char text[32];
    char low[32];

    pfc_table_row(table);
    pfc_table_set(table, 0, r->benchmark);
    pfc_table_set(table, 1, r->metric);
    pfc_table_set(table, 2, r->backend);
    pfc_table_set(table, 9, pfc_cmp_name(r->verdict));
    if (colors[r->verdict])
        pfc_table_color(table, 9, colors[r->verdict]);
    if (r->verdict == PFC_CMP_BROKEN) {
        pfc_table_set(table, 5, r->reason);
        return;
    }
    show_side(table, 3, &r->a);
    show_side(table, 4, &r->b);
    pfc_table_set(table, 5, r->unit);
    pfc_show_percent(r->rel_change, text);
    pfc_table_set(table, 6, text);
    pfc_show_percent(r->rel_low, low);
    pfc_show_percent(r->rel_high, text);
    pfc_table_setf(table, 7, "%s .. %s", low, text);
    pfc_table_setf(table, 8, "%lld+%lld", (long long)r->a.n, (long long)r->b.n);
}

void pfc_cmp_print(const pfc_cli *cli, const pfc_cmp *cmp)
{
    static const pfc_col cols[] = { { "BENCHMARK", false }, { "METRIC", false },
                                    { "BACKEND", false },   { "A", true },
                                    { "B", true },          { "UNIT", false },
                                    { "CHANGE", true },     { "INTERVAL", true },
                                    { "N", true },          { "VERDICT", false } };
    pfc_table *table = pfc_table_new(cli, cols, PFC_ARRAY_LEN(cols));
    char text[32];

    for (size_t i = 0; i < cmp->len; i++)
        print_row(table, &cmp->rows[i]);
    pfc_table_print(table);
    if (cmp->len == 0)
        pfc_cli_warn(cli, "nothing to compare: A and B have no measured benchmark in common");
    if (cmp->canary_rel != 0) {
        pfc_show_percent(cmp->canary_rel, text);
        pfc_cli_warn(cli,
                     "the same fixed work took %s in B: the machine ran at another speed, so that "
                     "timings may say more about it than about the code",
                     text);
    }
    if (cmp->fingerprint)
        pfc_cli_warn(cli,
                     "the machines differ (%s): the numbers may say more about them than "
                     "about the code",
                     cmp->fingerprint);
    if (cmp->only_a || cmp->only_b)
        pfc_cli_note(cli, "not compared: %zu only in A, %zu only in B", cmp->only_a, cmp->only_b);
}
