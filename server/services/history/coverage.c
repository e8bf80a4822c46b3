/*
 * Lists which benchmarks were measured at which commits, and which results are missing.
 */
#include "server/services/history/coverage.h"

#include <stdlib.h>
#include <string.h>

#include "server/repo/sql/coverage.h"

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

static void mark(const pfc_coverage *c, pfc_array_text positions, char sign, char *cells)
{
    int64_t *list = NULL;
    size_t len = 0;

    pfc_array_i64s(positions, &list, &len);
    for (size_t i = 0; i < len; i++) {
        size_t at = commit_at(&c->commits, list[i]);

        if (at < c->commits.len)
            cells[at] = sign;
    }
    free(list);
}

/* From the oldest commit on: a value is missing if an older commit has one. */
static void fill_cells(pfc_coverage *c, size_t r)
{
    const pfc_coverage_row *row = &c->rows.items[r];
    bool begun = row->before;
    char *cells = pfc_alloc(c->commits.len + 1);

    memset(cells, '.', c->commits.len);
    mark(c, row->broken, '!', cells);
    mark(c, row->measured, 'x', cells);
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

/* The input and the result of one read transaction. */
typedef struct reading {
    int64_t project_id;
    const pfc_coverage_filter *filter;
    int commits;
    pfc_coverage *c;
} reading;

static pfc_code read_rows(pfc_tx *tx, const reading *r, pfc_err *err)
{
    pfc_sql_coverage_rows_rows found = { 0 };
    pfc_coverage_rows *rows = &r->c->rows;
    pfc_code code = pfc_sql_coverage_rows(tx,
                                          &(pfc_sql_coverage_rows_args){
                                              .project_id = r->project_id,
                                              .branch = r->filter->branch,
                                              .commits = r->commits,
                                              .benchmark = r->filter->benchmark,
                                              .backend = r->filter->backend,
                                              .machine_class = r->filter->machine_class,
                                              .limit = PFC_COVERAGE_MAX_ROWS + 1,
                                          },
                                          &found, err);

    if (code)
        return code;
    rows->items = pfc_calloc(found.len, sizeof(*rows->items));
    for (size_t i = 0; i < found.len; i++) {
        const pfc_sql_coverage_rows_row *row = &found.items[i];

        rows->items[rows->len++] = (pfc_coverage_row){ .id = row->id,
                                                       .benchmark = row->benchmark,
                                                       .params_json = row->params_json,
                                                       .backend = row->backend,
                                                       .machine_class = row->machine_class,
                                                       .before = row->before,
                                                       .measured = row->measured,
                                                       .broken = row->broken };
    }
    pfc_rows_keep_texts(&found, &rows->hold);
    if (rows->len > PFC_COVERAGE_MAX_ROWS)
        return pfc_err_set(
            err, PFC_ETOOBIG,
            "coverage: over %d benchmarks, backends and machine classes; ask for one "
            "benchmark, backend or machine_class",
            PFC_COVERAGE_MAX_ROWS);
    return PFC_OK;
}

static pfc_code read_never(pfc_tx *tx, const reading *r, pfc_err *err)
{
    pfc_sql_coverage_never_rows found = { 0 };
    pfc_coverage_nevers *never = &r->c->never;
    pfc_code code = pfc_sql_coverage_never(tx,
                                           &(pfc_sql_coverage_never_args){
                                               .project_id = r->project_id,
                                               .branch = r->filter->branch,
                                               .benchmark = r->filter->benchmark,
                                               .backend = r->filter->backend,
                                               .machine_class = r->filter->machine_class,
                                               .limit = PFC_COVERAGE_MAX_LIST,
                                           },
                                           &found, err);

    if (code)
        return code;
    never->items = pfc_calloc(found.len, sizeof(*never->items));
    for (size_t i = 0; i < found.len; i++)
        never->items[never->len++] =
            (pfc_coverage_never){ .benchmark = found.items[i].benchmark,
                                  .backend = found.items[i].backend,
                                  .machine_class = found.items[i].machine_class };
    pfc_rows_keep_texts(&found, &never->hold);
    return PFC_OK;
}

static pfc_code read_commits(pfc_tx *tx, const reading *r, pfc_err *err)
{
    pfc_sql_coverage_commits_rows found = { 0 };
    pfc_coverage_commits *commits = &r->c->commits;
    pfc_code code = pfc_sql_coverage_commits(
        tx,
        &(pfc_sql_coverage_commits_args){
            .project_id = r->project_id, .branch = r->filter->branch, .limit = r->commits },
        &found, err);

    if (code)
        return code;
    commits->items = pfc_calloc(found.len, sizeof(*commits->items));
    for (size_t i = 0; i < found.len; i++)
        commits->items[commits->len++] = (pfc_coverage_commit){ .position = found.items[i].position,
                                                                .commit = found.items[i].commit,
                                                                .subject = found.items[i].subject,
                                                                .time = found.items[i].time };
    pfc_rows_keep_texts(&found, &commits->hold);
    return PFC_OK;
}

static pfc_code read_coverage(pfc_tx *tx, void *into, pfc_err *err)
{
    const reading *r = into;
    pfc_code code;

    pfc_coverage_clear(r->c);
    code = read_commits(tx, r, err);
    if (!code)
        code = read_rows(tx, r, err);
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
