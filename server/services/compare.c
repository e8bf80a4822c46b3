/*
 * Two commits or runs side by side: raw samples of each, one verdict a benchmark and metric.
 */
#include "core/base/parse.h"
#include "server/services/internal.h"

/* Three launches a side are the least that a rank test over launches can use. */
#define MIN_BLOCKS 3

/* One benchmark and metric on one side: samples of all its runs, launch after launch. */
typedef struct entry {
    const char *benchmark, *metric, *backend, *machine_class, *unit;
    bool higher, exact;
    double *samples;
    size_t len;
    uint32_t *blocks;
    size_t blocks_len;
    int64_t machine_id; /* of the newest run */
} entry;

typedef struct side {
    pfc_res *res; /* the texts of the entries lie here */
    entry *entries;
    size_t len;
} side;

/* What a and b name. */
typedef struct target {
    int64_t commit_id, run_id;
} target;

static void side_clear(side *s)
{
    for (size_t i = 0; i < s->len; i++) {
        free(s->entries[i].samples);
        free(s->entries[i].blocks);
    }
    free(s->entries);
    pfc_res_free(s->res);
    *s = (side){ 0 };
}

static pfc_code find_run(pfc_db *db, int64_t project_id, const char *text, target *out,
                         pfc_compare_side *named, pfc_err *err)
{
    pfc_run_rows runs = { 0 };
    pfc_code code = pfc_runs_get(db, project_id, text, &runs, err);

    if (!code) {
        out->run_id = runs.items[0].run_id;
        named->commit = pfc_strdup(runs.items[0].commit);
    }
    pfc_rows_clear(&runs);
    return code;
}

/* 32 digits are a run, fewer than 7 decimal ones a run's number, the rest a commit; a longer decimal
 * number is a commit first, since ids of commits are what people paste. */
static pfc_code find_target(pfc_db *db, int64_t project_id, const char *text, const char *field,
                            target *out, pfc_compare_side *named, pfc_err *err)
{
    bool decimal = *text && text[strspn(text, "0123456789")] == '\0';
    pfc_commit_rows commits = { 0 };
    pfc_code code;

    if ((!pfc_is_hex_id(text) && !decimal) ||
        (strlen(text) < 7 && strspn(text, "0") == strlen(text)))
        return pfc_err_set_field(err, PFC_EINVAL, field,
                                 "%s: want a commit id of 7 or more digits or a run id", field);
    if ((strlen(text) == 32 && pfc_is_hex_id(text)) || strlen(text) < 7)
        return find_run(db, project_id, text, out, named, err);
    code = pfc_commits_get(db, project_id, text, &commits, err);
    if (!code) {
        out->commit_id = commits.items[0].id;
        named->commit = pfc_strdup(commits.items[0].sha);
    } else if (code == PFC_ENOTFOUND && decimal && strlen(text) < 19) {
        code = find_run(db, project_id, text, out, named, err);
    }
    pfc_rows_clear(&commits);
    return code;
}

static const char *text_at(const pfc_res *res, size_t row, const char *column)
{
    return pfc_res_text(res, row, pfc_res_column(res, column));
}

static int compare_entries(const entry *a, const entry *b)
{
    int order = strcmp(a->benchmark, b->benchmark);

    if (!order)
        order = strcmp(a->metric, b->metric);
    if (!order)
        order = strcmp(a->backend, b->backend);
    return order ? order : strcmp(a->machine_class, b->machine_class);
}

static void add_samples(entry *e, const pfc_res *res, size_t row)
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

/* Rows come sorted by name, then by run: the runs of one entry are neighbours. */
static void gather(side *s, pfc_compare_side *named)
{
    size_t rows = pfc_res_rows(s->res), cap = 0;

    s->entries = pfc_calloc(rows, sizeof(*s->entries));
    for (size_t r = 0; r < rows; r++) {
        const char *run = text_at(s->res, r, "run");
        entry e = {
            .benchmark = text_at(s->res, r, "benchmark"),
            .metric = text_at(s->res, r, "metric"),
            .backend = text_at(s->res, r, "backend"),
            .machine_class = text_at(s->res, r, "machine_class"),
            .unit = text_at(s->res, r, "unit"),
            .higher = pfc_res_bool(s->res, r, pfc_res_column(s->res, "higher_is_better")),
            .exact = pfc_res_bool(s->res, r, pfc_res_column(s->res, "exact")),
        };
        bool known = false;

        if (s->len == 0 || compare_entries(&s->entries[s->len - 1], &e) != 0)
            s->entries[s->len++] = e;
        add_samples(&s->entries[s->len - 1], s->res, r);
        s->entries[s->len - 1].machine_id =
            pfc_res_i64(s->res, r, pfc_res_column(s->res, "machine_id"));
        for (size_t i = 0; i < named->runs_len; i++)
            known |= pfc_streq(named->runs[i], run);
        if (!known) {
            named->runs = pfc_grow(named->runs, named->runs_len, &cap, sizeof(char *));
            named->runs[named->runs_len++] = pfc_strdup(run);
        }
    }
}

static pfc_code load_side(pfc_tx *tx, int64_t project_id, const target *t, const char *backend,
                          side *s, pfc_compare_side *named, pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_code code;

    pfc_args_i64(&args, project_id);
    pfc_args_id(&args, t->commit_id);
    pfc_args_id(&args, t->run_id);
    pfc_args_text(&args, backend);
    code = pfc_tx_query(tx, "compare_side", &args, &s->res, err);
    if (!code && pfc_res_rows(s->res) == 0)
        code = pfc_tx_behind(tx, err);
    if (!code)
        gather(s, named);
    return code;
}

static pfc_side_summary summarise(const entry *e)
{
    pfc_interval in = e->blocks_len > 1 && !e->exact
                          ? pfc_stats_block_interval(e->samples, e->blocks, e->blocks_len, 0.95, 1)
                          : pfc_stats_median_interval(e->samples, e->len, 0.95);

    return (pfc_side_summary){ .median = in.value, .low = in.low, .high = in.high, .n = e->len };
}

static double *block_medians(const entry *e)
{
    double *medians = pfc_calloc(e->blocks_len, sizeof(*medians));
    size_t at = 0;

    for (size_t i = 0; i < e->blocks_len; i++) {
        medians[i] = pfc_stats_median(e->samples + at, e->blocks[i]);
        at += e->blocks[i];
    }
    return medians;
}

static bool usable(const entry *e)
{
    bool ok = e->len > 0 && e->len <= PFC_STATS_MAX_SAMPLES;

    for (size_t i = 0; i < e->len && ok; i++)
        ok = e->samples[i] > 0;
    return ok;
}

static pfc_code judge(const entry *a, const entry *b, pfc_compare_row *row, pfc_err *err)
{
    const pfc_compare_opts opts = { .exact = a->exact && b->exact };
    pfc_code code;

    if (!usable(a) || !usable(b)) {
        /* Relative changes need positive values: such a metric (a count that may be zero) is shown,
         * not judged. */
        row->result = (pfc_compare_result){ .verdict = PFC_VERDICT_INCONCLUSIVE, .p = 1.0 };
        return PFC_OK;
    }
    if (!opts.exact && a->blocks_len >= MIN_BLOCKS && b->blocks_len >= MIN_BLOCKS) {
        /* Samples of one launch share its luck; launches are what is independent. */
        double *x = block_medians(a), *y = block_medians(b);

        code = pfc_stats_compare(x, a->blocks_len, y, b->blocks_len, &opts, &row->result, err);
        free(x);
        free(y);
    } else {
        code = pfc_stats_compare(a->samples, a->len, b->samples, b->len, &opts, &row->result, err);
    }
    return code;
}

static void count(pfc_comparison *c, pfc_compare_row *row)
{
    bool worse = (row->result.rel_change < 0) == row->higher_is_better;

    /* The canary's code is the same on both sides: when it differs, the machine did. */
    if (pfc_streq(row->benchmark, PFC_CANARY_BENCHMARK))
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

static pfc_code read_machine(const pfc_res *machines, int64_t id, pfc_pairs *out, pfc_err *err)
{
    for (size_t i = 0; i < pfc_res_rows(machines); i++) {
        if (pfc_res_i64(machines, i, 0) == id)
            return pfc_pairs_parse(pfc_res_text(machines, i, 1), out, err);
    }
    return PFC_OK;
}

static pfc_code add_row(pfc_comparison *c, const entry *a, const entry *b, const pfc_res *machines,
                        pfc_err *err)
{
    pfc_compare_row *row = &c->rows[c->rows_len];
    pfc_code code;

    *row = (pfc_compare_row){
        .benchmark = pfc_strdup(a->benchmark),
        .metric = pfc_strdup(a->metric),
        .backend = pfc_strdup(a->backend),
        .machine_class = pfc_strdup(a->machine_class),
        .unit = pfc_strdup(a->unit),
        .higher_is_better = a->higher,
        .exact = a->exact && b->exact,
        .a = summarise(a),
        .b = summarise(b),
    };
    c->rows_len++;
    code = judge(a, b, row, err);
    if (code)
        return code;
    count(c, row);
    if (a->machine_id != b->machine_id) {
        pfc_pairs x = { 0 }, y = { 0 };

        code = read_machine(machines, a->machine_id, &x, err);
        if (!code)
            code = read_machine(machines, b->machine_id, &y, err);
        if (!code)
            pfc_fingerprint_diff(&x, &y, PFC_FINGERPRINT_VALUES, &row->differs, &row->differs_len);
        pfc_pairs_clear(&x);
        pfc_pairs_clear(&y);
    }
    return code;
}

static void add_only(char ***list, size_t *len, size_t *cap, const entry *e)
{
    *list = pfc_grow(*list, *len, cap, sizeof(char *));
    (*list)[(*len)++] = pfc_format("%s %s %s", e->benchmark, e->metric, e->backend);
}

static pfc_code merge(const side *a, const side *b, const pfc_res *machines, pfc_comparison *c,
                      pfc_err *err)
{
    size_t i = 0, j = 0, cap_a = 0, cap_b = 0;
    pfc_code code = PFC_OK;

    c->rows = pfc_calloc(PFC_MIN(a->len, b->len), sizeof(*c->rows));
    while (!code && (i < a->len || j < b->len)) {
        int order = i == a->len   ? 1
                    : j == b->len ? -1
                                  : compare_entries(&a->entries[i], &b->entries[j]);

        if (order < 0)
            add_only(&c->only_a, &c->only_a_len, &cap_a, &a->entries[i++]);
        else if (order > 0)
            add_only(&c->only_b, &c->only_b_len, &cap_b, &b->entries[j++]);
        else
            code = add_row(c, &a->entries[i++], &b->entries[j++], machines, err);
    }
    return code;
}

static pfc_code load_machines(pfc_tx *tx, const side *a, const side *b, pfc_res **out, pfc_err *err)
{
    int64_t *ids = pfc_calloc(a->len + b->len, sizeof(*ids));
    size_t n = 0;
    pfc_args args = { 0 };

    for (size_t i = 0; i < a->len; i++)
        ids[n++] = a->entries[i].machine_id;
    for (size_t i = 0; i < b->len; i++)
        ids[n++] = b->entries[i].machine_id;
    pfc_args_i64s(&args, ids, n);
    free(ids);
    return pfc_tx_query(tx, "machine_fingerprints", &args, out, err);
}

/* What one snapshot gives. */
typedef struct reading {
    int64_t project_id;
    const char *backend;
    target at, bt;
    side as, bs;
    pfc_res *machines;
    pfc_comparison *c;
} reading;

static void reading_clear(reading *r)
{
    side_clear(&r->as);
    side_clear(&r->bs);
    pfc_res_free(r->machines);
    r->machines = NULL;
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
    code = load_side(tx, r->project_id, &r->at, r->backend, &r->as, &r->c->a, err);
    if (!code)
        code = load_side(tx, r->project_id, &r->bt, r->backend, &r->bs, &r->c->b, err);
    if (!code)
        code = load_machines(tx, &r->as, &r->bs, &r->machines, err);
    return code;
}

/* Which of the two it was is told, too. */
static pfc_code find_side(pfc_db *db, int64_t project_id, const char *text, const char *field,
                          target *out, pfc_compare_side *named, pfc_err *err)
{
    pfc_err why = { 0 };
    pfc_code code = find_target(db, project_id, text, field, out, named, &why);

    if (code == PFC_ENOTFOUND || code == PFC_EINVAL)
        return pfc_err_set_field(err, code, field, "%s%s%s", why.field[0] ? "" : field,
                                 why.field[0] ? "" : ": ", why.msg);
    if (code && err)
        *err = why;
    return code;
}

pfc_code pfc_compare(pfc_db *db, int64_t project_id, const char *a, const char *b,
                     const char *backend, pfc_comparison *out, pfc_err *err)
{
    pfc_comparison c = { .margin_rel = 0.01 }; /* pfc_compare_opts' default */
    reading r = { .project_id = project_id, .backend = backend, .c = &c };
    pfc_code code;

    code = find_side(db, project_id, a, "a", &r.at, &c.a, err);
    if (!code)
        code = find_side(db, project_id, b, "b", &r.bt, &c.b, err);
    if (!code)
        code = pfc_db_read(db, read_sides, &r, err);
    /* the statistics need no connection */
    if (!code)
        code = merge(&r.as, &r.bs, r.machines, &c, err);
    reading_clear(&r);
    if (code)
        pfc_comparison_clear(&c);
    else
        *out = c;
    return code;
}

void pfc_comparison_clear(pfc_comparison *c)
{
    for (size_t i = 0; i < c->rows_len; i++) {
        pfc_compare_row *row = &c->rows[i];

        free(row->benchmark);
        free(row->metric);
        free(row->backend);
        free(row->machine_class);
        free(row->unit);
        pfc_texts_free(row->differs, row->differs_len);
    }
    free(c->rows);
    pfc_texts_free(c->only_a, c->only_a_len);
    pfc_texts_free(c->only_b, c->only_b_len);
    runs_clear(&c->a);
    runs_clear(&c->b);
    free(c->a.commit);
    free(c->b.commit);
    memset(c, 0, sizeof(*c));
}
