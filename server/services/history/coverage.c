/*
 * What was measured at which commits, and what is missing.
 */
#include "server/services/history/coverage.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "server/repo/rows.h"

static const pfc_col commit_cols[] = {
    PFC_COL(pfc_coverage_commit, position, "position", I64),
    PFC_COL(pfc_coverage_commit, commit, "commit", TEXT),
    PFC_COL(pfc_coverage_commit, subject, "subject", TEXT),
    PFC_COL(pfc_coverage_commit, time, "time", F64),
};
static const pfc_shape commit_shape = PFC_SHAPE(commit_cols, pfc_coverage_commit);

static const pfc_col row_cols[] = {
    PFC_COL(pfc_coverage_row, id, "id", I64),
    PFC_COL(pfc_coverage_row, benchmark, "benchmark", TEXT),
    PFC_COL(pfc_coverage_row, params_json, "params", TEXT),
    PFC_COL(pfc_coverage_row, backend, "backend", TEXT),
    PFC_COL(pfc_coverage_row, machine_class, "machine_class", TEXT),
    PFC_COL(pfc_coverage_row, before, "before", BOOL),
    PFC_COL(pfc_coverage_row, measured_json, "measured", TEXT),
    PFC_COL(pfc_coverage_row, broken_json, "broken", TEXT),
};
static const pfc_shape row_shape = PFC_SHAPE(row_cols, pfc_coverage_row);

static const pfc_col never_cols[] = {
    PFC_COL(pfc_coverage_never, benchmark, "benchmark", TEXT),
    PFC_COL(pfc_coverage_never, backend, "backend", TEXT),
    PFC_COL(pfc_coverage_never, machine_class, "machine_class", TEXT),
};
static const pfc_shape never_shape = PFC_SHAPE(never_cols, pfc_coverage_never);

/* The commit of that position, or its number of commits: none. They are ordered newest first. */
static size_t commit_at(const pfc_coverage_commits *commits, int64_t position)
{
    size_t low = 0, high = commits->len;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (commits->items[mid].position > position)
            low = mid + 1;
        else
            high = mid;
    }
    return low < commits->len && commits->items[low].position == position ? low : commits->len;
}

static void mark(const pfc_coverage *c, const char *positions, char sign, char *cells)
{
    json_t *list = positions ? json_loads(positions, 0, NULL) : NULL;

    for (size_t i = 0; i < json_array_size(list); i++) {
        size_t at = commit_at(&c->commits, json_integer_value(json_array_get(list, i)));

        if (at < c->commits.len)
            cells[at] = sign;
    }
    json_decref(list);
}

/* From the oldest commit on: what has begun and is not there is missing. */
static void fill_cells(pfc_coverage *c, size_t r)
{
    const pfc_coverage_row *row = &c->rows.items[r];
    bool begun = row->before;
    char *cells = pfc_alloc(c->commits.len + 1);

    memset(cells, '.', c->commits.len);
    mark(c, row->broken_json, '!', cells);
    mark(c, row->measured_json, 'x', cells);
    for (size_t i = c->commits.len; i-- > 0;) {
        if (cells[i] != '.')
            begun = true;
        else if (begun)
            cells[i] = '-';
        c->commits.items[i].measured += cells[i] == 'x';
        c->commits.items[i].missing += cells[i] == '-';
        c->missing[r] += cells[i] == '-';
    }
    c->cells[r] = cells;
}

/* ---- what would close most ---- */

static int by_worth(const void *a, const void *b)
{
    const pfc_coverage_fill *x = a, *y = b;

    if (x->missing != y->missing)
        return x->missing < y->missing ? 1 : -1;
    if (x->position != y->position)
        return x->position < y->position ? 1 : -1;
    return strcmp(x->machine_class, y->machine_class);
}

static void find_fills(pfc_coverage *c)
{
    size_t cap = 0, first = 0;

    for (size_t r = 0; r < c->rows.len; r++) {
        const char *class_name = c->rows.items[r].machine_class;
        bool known = false, alive = false;

        for (size_t i = 0; i < r && !known; i++)
            known = pfc_streq(c->rows.items[i].machine_class, class_name);
        if (known)
            continue;
        first = c->fills_len;
        for (size_t i = 0; i < c->commits.len; i++) {
            c->fills = pfc_grow(c->fills, c->fills_len, &cap, sizeof(*c->fills));
            c->fills[c->fills_len++] =
                (pfc_coverage_fill){ .commit = c->commits.items[i].commit,
                                     .machine_class = class_name,
                                     .position = c->commits.items[i].position };
        }
        for (size_t k = r; k < c->rows.len; k++) {
            if (!pfc_streq(c->rows.items[k].machine_class, class_name))
                continue;
            for (size_t i = 0; i < c->commits.len; i++) {
                c->fills[first + i].missing += c->cells[k][i] == '-';
                alive |= c->cells[k][i] == 'x';
            }
        }
        if (!alive)
            c->fills_len = first;
    }
    if (c->fills_len)
        qsort(c->fills, c->fills_len, sizeof(*c->fills), by_worth);
    c->fills_len = PFC_MIN(c->fills_len, PFC_COVERAGE_MAX_LIST);
    while (c->fills_len && c->fills[c->fills_len - 1].missing == 0)
        c->fills_len--;
}

/* ---- reading ---- */

/* What one snapshot gives. */
typedef struct reading {
    int64_t project_id;
    const pfc_coverage_filter *filter;
    int commits;
    pfc_coverage *c;
} reading;

static pfc_code read_rows(pfc_tx *tx, const reading *r, pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_rows rows = { 0 };
    pfc_code code;

    pfc_args_i64(&args, r->project_id);
    pfc_args_text(&args, r->filter->branch);
    pfc_args_i64(&args, r->commits);
    pfc_args_text(&args, r->filter->benchmark);
    pfc_args_text(&args, r->filter->backend);
    pfc_args_text(&args, r->filter->machine_class);
    pfc_args_i64(&args, PFC_COVERAGE_MAX_ROWS + 1);
    code = pfc_rows_query(tx, "coverage_rows", &args, &row_shape, NULL, &rows, err);
    if (code)
        return code;
    PFC_ROWS_INTO(&r->c->rows, rows);
    if (r->c->rows.len > PFC_COVERAGE_MAX_ROWS)
        return pfc_err_set(
            err, PFC_ETOOBIG,
            "coverage: over %d benchmarks, backends and machine classes; ask for one "
            "benchmark, backend or machine_class",
            PFC_COVERAGE_MAX_ROWS);
    return PFC_OK;
}

static pfc_code read_never(pfc_tx *tx, const reading *r, pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_rows rows = { 0 };
    pfc_code code;

    pfc_args_i64(&args, r->project_id);
    pfc_args_text(&args, r->filter->branch);
    pfc_args_text(&args, r->filter->benchmark);
    pfc_args_text(&args, r->filter->backend);
    pfc_args_text(&args, r->filter->machine_class);
    pfc_args_i64(&args, PFC_COVERAGE_MAX_LIST);
    code = pfc_rows_query(tx, "coverage_never", &args, &never_shape, NULL, &rows, err);
    if (!code)
        PFC_ROWS_INTO(&r->c->never, rows);
    return code;
}

static pfc_code read_coverage(pfc_tx *tx, void *into, pfc_err *err)
{
    const reading *r = into;
    pfc_args args = { 0 };
    pfc_rows rows = { 0 };
    pfc_code code;

    pfc_coverage_clear(r->c);
    pfc_args_i64(&args, r->project_id);
    pfc_args_text(&args, r->filter->branch);
    pfc_args_i64(&args, r->commits);
    code = pfc_rows_query(tx, "coverage_commits", &args, &commit_shape, NULL, &rows, err);
    if (!code) {
        PFC_ROWS_INTO(&r->c->commits, rows);
        code = read_rows(tx, r, err);
    }
    return code ? code : read_never(tx, r, err);
}

pfc_code pfc_coverage_read(pfc_db *db, int64_t project_id, const pfc_coverage_filter *filter,
                           pfc_coverage *out, pfc_err *err)
{
    pfc_coverage c = { 0 };
    reading r = { .project_id = project_id,
                  .filter = filter,
                  .commits = filter->commits ? filter->commits : PFC_COVERAGE_COMMITS,
                  .c = &c };
    pfc_code code = pfc_db_read(db, read_coverage, &r, err);

    if (code) {
        pfc_coverage_clear(&c);
        return code;
    }
    c.cells = pfc_calloc(c.rows.len, sizeof(*c.cells));
    c.missing = pfc_calloc(c.rows.len, sizeof(*c.missing));
    for (size_t i = 0; i < c.rows.len; i++)
        fill_cells(&c, i);
    find_fills(&c);
    *out = c;
    return PFC_OK;
}

void pfc_coverage_clear(pfc_coverage *c)
{
    for (size_t i = 0; c->cells && i < c->rows.len; i++)
        free(c->cells[i]);
    free(c->cells);
    free(c->missing);
    free(c->fills);
    pfc_rows_clear(&c->commits);
    pfc_rows_clear(&c->rows);
    pfc_rows_clear(&c->never);
    memset(c, 0, sizeof(*c));
}
