/*
 * Two commits or runs side by side: raw samples of each, one verdict a benchmark and metric. A side
 * on which the benchmark was broken has no samples, and makes the row broken.
 */
#include "server/services/history/compare.h"

#include <math.h>

#include "core/stats/comparison_family.h"
#include "core/wire/fingerprint.h"
#include "server/repo/sql/series.h"
#include "server/services/detect/detect.h"
#include "server/services/history/history.h"
#include "server/services/service.h"

#define CLASS_FIELD   "machine_class"
#define BACKEND_FIELD "backend"

/* Three launches a side are the least that a rank test over launches can use. */
#define MIN_BLOCKS 3

static pfc_side_summary summarise(const pfc_compare_entry *e)
{
    pfc_interval in;

    if (!e || e->len == 0)
        return (pfc_side_summary){ .median = (double)NAN, .low = (double)NAN, .high = (double)NAN };
    in = e->blocks_len > 1 && !e->exact
             ? pfc_stats_block_interval(e->samples, e->blocks, e->blocks_len, 0.95, 1)
             : pfc_stats_median_interval(e->samples, e->len, 0.95);
    return (pfc_side_summary){ .median = in.value,
                               .low = in.low,
                               .high = in.high,
                               .n = e->len,
                               .series_id = e->series_id,
                               .reproducibility = pfc_reproducibility(e->exact, e->confirmed) };
}

static double *block_medians(const pfc_compare_entry *e)
{
    double *medians = pfc_calloc(e->blocks_len, sizeof(*medians));
    size_t at = 0;

    for (size_t i = 0; i < e->blocks_len; i++) {
        medians[i] = pfc_stats_median(e->samples + at, e->blocks[i]);
        at += e->blocks[i];
    }
    return medians;
}

static bool usable(const pfc_compare_entry *e)
{
    bool ok = e->len > 0 && e->len <= PFC_STATS_MAX_SAMPLES;

    for (size_t i = 0; i < e->len && ok; i++)
        ok = e->samples[i] > 0;
    return ok;
}

static pfc_code judge(const pfc_compare_entry *a, const pfc_compare_entry *b, pfc_compare_row *row,
                      pfc_err *err)
{
    const pfc_compare_opts opts = { .exact = a->exact && b->exact, .margin = row->margin_rel };
    pfc_code code;

    if (!usable(a) || !usable(b)) {
        /* Relative changes need positive values: such a metric (a count that may be zero) is shown,
         * not judged. */
        row->result = (pfc_compare_result){ .verdict = PFC_VERDICT_INCONCLUSIVE, .p = 1.0 };
        row->untested = true;
        return PFC_OK;
    }
    if (!opts.exact && a->blocks_len >= MIN_BLOCKS && b->blocks_len >= MIN_BLOCKS) {
        /* Samples of one launch are correlated; launches are independent. */
        double *x = block_medians(a), *y = block_medians(b);

        code = pfc_stats_compare(x, a->blocks_len, y, b->blocks_len, &opts, &row->result, err);
        free(x);
        free(y);
        row->compared = PFC_MIN(a->blocks_len, b->blocks_len);
    } else {
        row->compared = PFC_MIN(a->len, b->len);
        code = pfc_stats_compare(a->samples, a->len, b->samples, b->len, &opts, &row->result, err);
    }
    /* A margin that the project has set applies to metrics without noise, too. */
    if (!code && opts.exact && row->margin_set && fabs(row->result.rel_change) <= row->margin_rel)
        row->result.verdict = PFC_VERDICT_SAME;
    return code;
}

static bool is_canary(const pfc_compare_row *row)
{
    return pfc_streq(row->benchmark, PFC_CANARY_BENCHMARK);
}

static void count(pfc_comparison *c, pfc_compare_row *row)
{
    bool worse = (row->result.rel_change < 0) == row->higher_is_better;

    if (row->broken_a || row->broken_b) {
        c->broken++;
        return;
    }
    /* The canary's code is the same on both sides: if its time differs, the machine changed. */
    if (is_canary(row))
        row->result.verdict = PFC_VERDICT_INCONCLUSIVE;
    row->regression = row->result.verdict == PFC_VERDICT_DIFFERENT && worse;
    if (row->regression)
        c->regressions++;
    else if (row->result.verdict == PFC_VERDICT_DIFFERENT)
        c->improvements++;
    else if (row->result.verdict == PFC_VERDICT_SAME)
        c->same++;
    else
        c->inconclusive++;
}

/* Estimates how many more values would decide an inconclusive row. The values are launches where
 * launches are compared, and runs where the noise between runs is known. */
static void estimate(pfc_compare_row *row)
{
    const size_t least = isnan(row->between_rel) ? PFC_COMPARE_LEAST : 1;
    const double more =
        pfc_stats_more_values(row->result.rel_change, row->result.rel_low, row->result.rel_high,
                              row->compared, least, row->margin_rel);

    row->more_runs =
        row->result.verdict == PFC_VERDICT_INCONCLUSIVE && row->compared && isfinite(more)
            ? more
            : (double)NAN;
}

/* Adjusts the verdicts for the number of rows that were tested. Left out: exact metrics, which need
 * no test; the canary's row, which is about the machine; rows without a test. */
static void judge_together(pfc_comparison *c)
{
    pfc_family_row *rows = pfc_calloc(c->rows_len, sizeof(*rows));

    for (size_t i = 0; i < c->rows_len; i++) {
        const pfc_compare_row *row = &c->rows[i];

        rows[i].p = row->exact || row->untested || is_canary(row) ? (double)NAN : row->result.p;
        rows[i].verdict = row->result.verdict;
    }
    pfc_compare_family(rows, c->rows_len);
    for (size_t i = 0; i < c->rows_len; i++) {
        c->rows[i].result.verdict = rows[i].verdict;
        c->rows[i].p_adjusted = rows[i].p_adjusted;
        count(c, &c->rows[i]);
        estimate(&c->rows[i]);
    }
    free(rows);
}

static pfc_code read_machine(const pfc_sql_machine_fingerprints_rows *machines, int64_t id,
                             pfc_labels *out, pfc_err *err)
{
    for (size_t i = 0; i < machines->len; i++) {
        if (machines->items[i].id == id)
            return pfc_labels_parse(machines->items[i].fingerprint_json, out, err);
    }
    return PFC_OK;
}

static void add_difference(pfc_comparison *c, const char *field, const char *a, const char *b)
{
    for (size_t i = 0; i < c->differs_len; i++)
        if (pfc_streq(c->differs[i].field, field) && pfc_streq(c->differs[i].a, a) &&
            pfc_streq(c->differs[i].b, b))
            return;
    c->differs = pfc_grow(c->differs, c->differs_len, &c->differs_cap, sizeof(*c->differs));
    c->differs[c->differs_len++] = (pfc_compare_difference){ .field = pfc_strdup(field),
                                                             .a = pfc_strdup(a),
                                                             .b = pfc_strdup(b) };
}

static void note_difference(pfc_comparison *c, pfc_compare_row *row, const char *field,
                            const char *a, const char *b)
{
    row->differs = pfc_realloc(row->differs, row->differs_len + 1, sizeof(char *));
    row->differs[row->differs_len++] = pfc_strdup(field);
    add_difference(c, field, a, b);
}

/* Notes what is not the same on both sides, in the row and in the comparison: the backend, the
 * labels of the machines, the machine class. */
static pfc_code note_differences(pfc_comparison *c, pfc_compare_row *row,
                                 const pfc_compare_entry *a, const pfc_compare_entry *b,
                                 const pfc_sql_machine_fingerprints_rows *machines, pfc_err *err)
{
    pfc_labels x = { 0 }, y = { 0 };
    char **fields = NULL;
    size_t fields_len = 0;
    pfc_code code;

    if (!pfc_streq(a->backend, b->backend))
        note_difference(c, row, BACKEND_FIELD, a->backend, b->backend);
    if (a->machine_id == b->machine_id)
        return PFC_OK;
    code = read_machine(machines, a->machine_id, &x, err);
    if (!code)
        code = read_machine(machines, b->machine_id, &y, err);
    if (!code)
        pfc_fingerprint_diff(&x, &y, PFC_FINGERPRINT_VALUES, &fields, &fields_len);
    for (size_t i = 0; i < fields_len; i++)
        note_difference(c, row, fields[i], pfc_labels_get(&x, fields[i]),
                        pfc_labels_get(&y, fields[i]));
    pfc_texts_free(fields, fields_len);
    pfc_labels_clear(&x);
    pfc_labels_clear(&y);
    if (!code && !pfc_streq(a->machine_class, b->machine_class))
        note_difference(c, row, CLASS_FIELD, a->machine_class, b->machine_class);
    return code;
}

/* As stored; where both sides are broken for different reasons, both. */
static char *reason_of(const pfc_compare_entry *a, const pfc_compare_entry *b)
{
    const char *x = a ? a->reason : NULL, *y = b ? b->reason : NULL;

    if (x && y && !pfc_streq(x, y))
        return pfc_format("A: %s; B: %s", x, y);
    return x || y ? pfc_strdup(x ? x : y) : NULL;
}

typedef struct merging {
    const pfc_compare_results *a, *b;
    const pfc_sql_machine_fingerprints_rows *machines;
    const pfc_detector *detector;
    const pfc_compare_histories *histories;
    bool across;
    bool backends;     /* the sides have one backend each, and not the same */
    bool code_unknown; /* of a row's object code */
    pfc_comparison *c;
    size_t cap_a, cap_b;
} merging;

/* a or b may be NULL when the other one is broken. */
static pfc_code add_row(merging *m, const pfc_compare_entry *a, const pfc_compare_entry *b,
                        pfc_err *err)
{
    pfc_comparison *c = m->c;
    pfc_compare_row *row = &c->rows[c->rows_len];
    /* A broken result may lack the unit or the direction: prefer the measured side. */
    const pfc_compare_entry *like = a && (!a->reason || !b) ? a : b;
    const pfc_series_name name = { like->benchmark, like->metric, like->backend,
                                   like->machine_class, like->branch ? like->branch : "" };
    const double margin = pfc_detector_for(m->detector, &name).min_change;
    pfc_code code = PFC_OK;

    *row = (pfc_compare_row){
        .series_id = b && b->series_id ? b->series_id
                     : a               ? a->series_id
                                       : 0,
        .margin_set = margin > 0,
        .margin_rel = margin > 0 ? margin : c->margin_rel,
        .benchmark = pfc_strdup(like->benchmark),
        .metric = pfc_strdup(like->metric),
        .backend = pfc_strdup(b ? b->backend : a->backend),
        .machine_class = pfc_strdup(a ? a->machine_class : b->machine_class),
        .unit = pfc_strdup(like->unit),
        .higher_is_better = like->higher,
        .exact = (!a || a->exact) && (!b || b->exact),
        .a = summarise(a),
        .b = summarise(b),
        .broken_a = a && a->reason,
        .broken_b = b && b->reason,
        .reason = reason_of(a, b),
        .between_rel = (double)NAN,
    };
    c->rows_len++;
    if (row->a.n && row->b.n)
        row->reproducibility = pfc_reproducibility(row->exact, (a->exact || a->confirmed) &&
                                                                   (b->exact || b->confirmed));
    row->backend_a = a && !pfc_streq(a->backend, row->backend) ? pfc_strdup(a->backend) : NULL;
    row->a.backend = !a ? NULL : row->backend_a ? row->backend_a : row->backend;
    row->b.backend = b ? row->backend : NULL;
    if (row->broken_a || row->broken_b)
        row->result = (pfc_compare_result){ .verdict = PFC_VERDICT_INCONCLUSIVE,
                                            .p = (double)NAN,
                                            .rel_change = (double)NAN,
                                            .rel_low = (double)NAN,
                                            .rel_high = (double)NAN,
                                            .noise_rel = (double)NAN,
                                            .detectable_rel = (double)NAN };
    else
        code = judge(a, b, row, err);
    if (code)
        return code;
    if (!row->broken_a && !row->broken_b)
        pfc_compare_settle(m->histories, a, b, row);
    /* Two backends are two programs: that their code differs says nothing. */
    if (row->a.n && row->b.n && !m->backends)
        c->object_code = pfc_compare_object(a, b, c->object_code, &m->code_unknown);
    return a && b ? note_differences(c, row, a, b, m->machines, err) : PFC_OK;
}

/* Measured on one side only: a name in a list. Broken on one side only: a row with its reason. */
static pfc_code add_single(merging *m, const pfc_compare_entry *a, const pfc_compare_entry *b,
                           pfc_err *err)
{
    pfc_comparison *c = m->c;
    const pfc_compare_entry *e = a ? a : b;
    char *name;

    if (e->reason)
        return add_row(m, a, b, err);
    name = pfc_format("%s %s %s", e->benchmark, e->metric, e->backend);
    if (a) {
        c->only_a = pfc_grow(c->only_a, c->only_a_len, &m->cap_a, sizeof(char *));
        c->only_a[c->only_a_len++] = name;
    } else {
        c->only_b = pfc_grow(c->only_b, c->only_b_len, &m->cap_b, sizeof(char *));
        c->only_b[c->only_b_len++] = name;
    }
    return PFC_OK;
}

/* The first entry from `at` on, before `end`, of a class that the other side does not have. */
static size_t next_alone(const pfc_compare_results *s, size_t at, size_t end,
                         const pfc_compare_results *other, size_t from, size_t to)
{
    for (; at < end; at++) {
        bool met = false;

        for (size_t k = from; k < to && !met; k++)
            met = pfc_streq(s->entries[at].machine_class, other->entries[k].machine_class);
        if (!met)
            break;
    }
    return at;
}

/* a's entries from i to i_end and b's from j to j_end have one name: those of one machine class are
 * compared. Entries left on both sides were measured on different machine classes: they are
 * compared if the request allows it, and reported in any case. */
static pfc_code merge_name(merging *m, size_t i, size_t i_end, size_t j, size_t j_end, pfc_err *err)
{
    const pfc_compare_entry *a = m->a->entries, *b = m->b->entries;
    size_t x, y;
    pfc_code code = PFC_OK;

    for (size_t k = i; k < i_end && !code; k++)
        for (size_t l = j; l < j_end && !code; l++)
            if (pfc_streq(a[k].machine_class, b[l].machine_class))
                code = add_row(m, &a[k], &b[l], err);
    x = next_alone(m->a, i, i_end, m->b, j, j_end);
    y = next_alone(m->b, j, j_end, m->a, i, i_end);
    while (!code && (x < i_end || y < j_end)) {
        const pfc_compare_entry *left = x < i_end ? &a[x] : NULL, *right = y < j_end ? &b[y] : NULL;

        if (left && right)
            add_difference(m->c, CLASS_FIELD, left->machine_class, right->machine_class);
        if (left && right && m->across) {
            code = add_row(m, left, right, err);
        } else {
            if (left)
                code = add_single(m, left, NULL, err);
            if (!code && right)
                code = add_single(m, NULL, right, err);
        }
        x = next_alone(m->a, x + 1, i_end, m->b, j, j_end);
        y = next_alone(m->b, y + 1, j_end, m->a, i, i_end);
    }
    return code;
}

static size_t name_end(const pfc_compare_results *s, size_t at)
{
    size_t end = at + 1;

    while (end < s->len && pfc_compare_names(&s->entries[at], &s->entries[end]) == 0)
        end++;
    return end;
}

/* Of two backends the results of one benchmark and metric are a pair. */
static int pair_order(const merging *m, const pfc_compare_entry *a, const pfc_compare_entry *b)
{
    int order = strcmp(a->benchmark, b->benchmark);

    if (!m->backends)
        return pfc_compare_names(a, b);
    return order ? order : strcmp(a->metric, b->metric);
}

static pfc_code merge(merging *m, pfc_err *err)
{
    const pfc_compare_results *a = m->a, *b = m->b;
    size_t i = 0, j = 0;
    pfc_code code = PFC_OK;

    m->c->rows = pfc_calloc(a->len + b->len, sizeof(*m->c->rows));
    while (!code && (i < a->len || j < b->len)) {
        int order = i == a->len   ? 1
                    : j == b->len ? -1
                                  : pair_order(m, &a->entries[i], &b->entries[j]);

        if (order < 0) {
            code = add_single(m, &a->entries[i++], NULL, err);
        } else if (order > 0) {
            code = add_single(m, NULL, &b->entries[j++], err);
        } else {
            const size_t i_end = name_end(a, i), j_end = name_end(b, j);

            code = merge_name(m, i, i_end, j, j_end, err);
            i = i_end;
            j = j_end;
        }
    }
    if (!code)
        judge_together(m->c);
    return code;
}

static pfc_code load_machines(pfc_tx *tx, const pfc_compare_results *a,
                              const pfc_compare_results *b, pfc_sql_machine_fingerprints_rows *out,
                              pfc_err *err)
{
    int64_t *ids = pfc_calloc(a->len + b->len, sizeof(*ids));
    size_t n = 0;
    pfc_code code;

    for (size_t i = 0; i < a->len; i++)
        ids[n++] = a->entries[i].machine_id;
    for (size_t i = 0; i < b->len; i++)
        ids[n++] = b->entries[i].machine_id;
    code = pfc_sql_machine_fingerprints(
        tx, &(pfc_sql_machine_fingerprints_args){ .machine_ids = ids, .machine_ids_len = n }, out,
        err);
    free(ids);
    return code;
}

/* The input and the results of one read transaction. */
typedef struct reading {
    int64_t project_id;
    const pfc_compare_ask *ask;
    pfc_compare_results as, bs;
    pfc_detector detector;
    pfc_sql_machine_fingerprints_rows machines;
    pfc_compare_histories histories;
    pfc_comparison *c;
} reading;

static void reading_clear(reading *r)
{
    pfc_compare_results_clear(&r->as);
    pfc_compare_results_clear(&r->bs);
    pfc_detector_clear(&r->detector);
    r->detector = (pfc_detector){ 0 };
    pfc_rows_clear(&r->machines);
    pfc_compare_histories_clear(&r->histories);
}

static void runs_clear(pfc_compare_side *named)
{
    pfc_texts_free(named->runs, named->runs_len);
    named->runs = NULL;
    named->runs_len = 0;
}

static pfc_code read_sides(pfc_tx *tx, void *into, pfc_err *err)
{
    reading *r = into;
    pfc_code code;

    reading_clear(r);
    runs_clear(&r->c->a);
    runs_clear(&r->c->b);
    pfc_ends_between_clear(&r->c->between);
    code = pfc_compare_load(tx, r->project_id, &r->ask->a, &r->as, &r->c->a, err);
    if (!code)
        code = pfc_compare_load(tx, r->project_id, &r->ask->b, &r->bs, &r->c->b, err);
    if (!code)
        code = pfc_ends_between_load(tx, r->project_id, r->c->a.end.commit_id,
                                     r->c->b.end.commit_id, &r->c->between, err);
    if (!code)
        code = pfc_compare_functions(tx, r->project_id, r->c, err);
    if (!code)
        code = pfc_detector_load(tx, r->project_id, &r->detector, err);
    if (!code)
        code = load_machines(tx, &r->as, &r->bs, &r->machines, err);
    if (!code)
        code = pfc_compare_histories_load(tx, r->project_id, &r->as, &r->bs, &r->histories, err);
    return code;
}

static bool differ(const char *a, const char *b)
{
    return a && b && !pfc_streq(a, b);
}

pfc_code pfc_compare(pfc_db *db, int64_t project_id, const pfc_compare_ask *ask,
                     pfc_comparison *out, pfc_err *err)
{
    pfc_comparison c = { .margin_rel = PFC_COMPARE_MARGIN };
    reading r = { .project_id = project_id, .ask = ask, .c = &c };
    merging m = { .a = &r.as,
                  .b = &r.bs,
                  .across = ask->across || differ(ask->a.machine_class, ask->b.machine_class),
                  .backends = differ(ask->a.backend, ask->b.backend),
                  .c = &c };
    pfc_code code;

    c.across = m.across;
    code = pfc_end_find(db, project_id, &ask->a, "a", &c.a.end, err);
    if (!code)
        code = pfc_end_find(db, project_id, &ask->b, "b", &c.b.end, err);
    if (!code)
        code = pfc_db_read(db, read_sides, &r, err);
    /* the statistics need no connection */
    m.machines = &r.machines;
    m.detector = &r.detector;
    m.histories = &r.histories;
    if (!code)
        code = merge(&m, err);
    if (!code)
        pfc_compare_means(&c);
    reading_clear(&r);
    if (code)
        pfc_comparison_clear(&c);
    else
        *out = c;
    return code;
}

pfc_code pfc_compare_commits(pfc_db *db, int64_t project_id, const char *a, const char *b,
                             pfc_comparison *out, pfc_err *err)
{
    const pfc_compare_ask ask = { .a = { .text = a }, .b = { .text = b } };

    return pfc_compare(db, project_id, &ask, out, err);
}

void pfc_comparison_clear(pfc_comparison *c)
{
    for (size_t i = 0; i < c->rows_len; i++) {
        pfc_compare_row *row = &c->rows[i];

        free(row->benchmark);
        free(row->metric);
        free(row->backend);
        free(row->backend_a);
        free(row->machine_class);
        free(row->unit);
        free(row->reason);
        pfc_texts_free(row->differs, row->differs_len);
    }
    free(c->rows);
    for (size_t i = 0; i < c->differs_len; i++) {
        free(c->differs[i].field);
        free(c->differs[i].a);
        free(c->differs[i].b);
    }
    free(c->differs);
    pfc_rows_clear(&c->functions);
    pfc_texts_free(c->only_a, c->only_a_len);
    pfc_texts_free(c->only_b, c->only_b_len);
    runs_clear(&c->a);
    runs_clear(&c->b);
    pfc_end_clear(&c->a.end);
    pfc_end_clear(&c->b.end);
    pfc_ends_between_clear(&c->between);
    for (size_t i = 0; i < c->means_len; i++)
        free(c->means[i].kernel);
    free(c->means);
    memset(c, 0, sizeof(*c));
}
