/*
 * New commits at the end of a branch: positions from the last commits of the line alone.
 */
#include "server/repo/sql/commits.h"
#include "server/services/history/history.h"

#define FIRST_LOOK 1024 /* commits from the end, beside as many as are new */
#define LOOK_GROWS 16
#define LAST_LOOK  (1 << 18) /* beyond it the whole graph is read */

static int by_id(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static bool is_among(const int64_t *sorted, size_t len, int64_t id)
{
    return len && bsearch(&id, sorted, len, sizeof(id), by_id);
}

/* *has: one of these commits, which were not read, is on the branch. */
static pfc_code check_outside(pfc_tx *tx, int64_t project_id, const char *branch,
                              const char *const *outside, size_t len, bool *has, pfc_err *err)
{
    char **shas = pfc_calloc(len + 1, sizeof(*shas));
    pfc_code code = PFC_OK;

    *has = false;
    for (size_t i = 0; i < len; i++)
        shas[i] = pfc_format("%.40s", outside[i]);
    if (len)
        code = pfc_sql_branch_has(tx,
                                  &(pfc_sql_branch_has_args){ .project_id = project_id,
                                                              .branch = branch,
                                                              .shas = (const char *const *)shas,
                                                              .shas_len = len },
                                  has, err);
    for (size_t i = 0; i < len; i++)
        free(shas[i]);
    free(shas);
    return code;
}

/* How many commits of the line are not among `rows`, which have `limit` of it; -1: positions have
 * gaps, or a new commit is among those that were not read. */
static int64_t count_before(const pfc_sql_branch_member_rows *rows, int64_t limit)
{
    int64_t top = 0, read = 0, before;

    for (size_t i = 0; i < rows->len; i++)
        top = PFC_MAX(top, rows->items[i].position);
    before = PFC_MAX(top - limit, 0);
    for (size_t i = 0; i < rows->len; i++) {
        if (rows->items[i].position > 0 && rows->items[i].position <= before)
            return -1;
        read += rows->items[i].position > 0;
    }
    return read == top - before ? before : -1;
}

/* *done: these rows were enough, and the positions are stored. fresh: sorted. */
static pfc_code place_rows(pfc_tx *tx, int64_t project_id, const char *branch,
                           const pfc_sql_branch_member_rows *rows, const int64_t *fresh,
                           size_t fresh_len, int64_t before, size_t *changed, bool *done,
                           pfc_err *err)
{
    const size_t n = rows->len;
    pfc_line_commit *line = pfc_line_of(rows);
    int64_t *was = pfc_calloc(n, sizeof(*was));
    const char **outside = pfc_calloc(pfc_line_parents(line, n) + 1, sizeof(*outside));
    size_t outside_len = 0;
    bool has = false;
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < n; i++)
        was[i] = is_among(fresh, fresh_len, rows->items[i].id) ? 0 : rows->items[i].position;
    *done = pfc_line_end(line, n, was, before, outside, &outside_len);
    if (*done)
        code = check_outside(tx, project_id, branch, outside, outside_len, &has, err);
    *done = *done && !code && !has;
    if (*done)
        code = pfc_line_store(tx, project_id, branch, rows, line, changed, err);
    free(outside);
    free(was);
    free(line);
    return code;
}

/* *known: a commit that was stored before has one of them among its parents. fresh: sorted. */
static pfc_code have_children(pfc_tx *tx, int64_t project_id, const char *branch,
                              const int64_t *fresh, size_t fresh_len, bool *known, pfc_err *err)
{
    pfc_sql_branch_children_rows rows = { 0 };
    pfc_code code =
        pfc_sql_branch_children(tx,
                                &(pfc_sql_branch_children_args){ .project_id = project_id,
                                                                 .branch = branch,
                                                                 .commit_ids = fresh,
                                                                 .commit_ids_len = fresh_len },
                                &rows, err);

    *known = false;
    for (size_t i = 0; !code && i < rows.len; i++)
        *known |= !is_among(fresh, fresh_len, rows.items[i].id);
    pfc_rows_clear(&rows);
    return code;
}

pfc_code pfc_branch_extend(pfc_tx *tx, int64_t project_id, const char *branch, const int64_t *fresh,
                           size_t fresh_len, size_t *changed, pfc_err *err)
{
    int64_t *sorted = pfc_calloc(fresh_len, sizeof(*sorted));
    bool known = false, done = false;
    int64_t before = 1;
    pfc_code code;

    memcpy(sorted, fresh, fresh_len * sizeof(*sorted));
    qsort(sorted, fresh_len, sizeof(*sorted), by_id);
    code = have_children(tx, project_id, branch, sorted, fresh_len, &known, err);
    for (int64_t limit = FIRST_LOOK + (int64_t)fresh_len;
         !code && !known && !done && before != 0 && limit <= LAST_LOOK; limit *= LOOK_GROWS) {
        pfc_sql_branch_member_rows rows = { 0 };

        code = pfc_sql_branch_end(tx,
                                  &(pfc_sql_branch_end_args){ .project_id = project_id,
                                                              .branch = branch,
                                                              .commit_ids = fresh,
                                                              .commit_ids_len = fresh_len,
                                                              .limit = limit },
                                  &rows, err);
        before = count_before(&rows, limit);
        if (!code && before >= 0)
            code = place_rows(tx, project_id, branch, &rows, sorted, fresh_len, before, changed,
                              &done, err);
        pfc_rows_clear(&rows);
    }
    free(sorted);
    return code || done ? code : pfc_branch_recompute(tx, project_id, branch, changed, err);
}
