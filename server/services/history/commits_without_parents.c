/*
 * Commits that only a run has named so far: no parents are told, so the time of the first run places them.
 */
#include "server/services/internal.h"

#define FIRST_LOOK 64 /* commits from the end; what clients send at once comes in nearly in order */
#define LOOK_GROWS 16

static pfc_code look_up(pfc_tx *tx, int64_t project_id, const char *branch, const char *sha,
                        int64_t *id, bool *member, pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_res *res = NULL;
    pfc_code code;

    pfc_args_i64(&args, project_id);
    pfc_args_text(&args, sha);
    pfc_args_text(&args, branch);
    code = pfc_tx_query(tx, "commit_id", &args, &res, err);
    *id = 0;
    *member = false;
    if (!code && pfc_res_rows(res)) {
        *id = pfc_res_i64(res, 0, pfc_res_column(res, "id"));
        *member = pfc_res_bool(res, 0, pfc_res_column(res, "member"));
    }
    pfc_res_free(res);
    return code;
}

static pfc_code read_tail(pfc_tx *tx, int64_t project_id, const char *branch, int64_t limit,
                          pfc_res **out, pfc_err *err)
{
    pfc_args args = { 0 };

    pfc_args_i64(&args, project_id);
    pfc_args_text(&args, branch);
    pfc_args_i64(&args, limit);
    return pfc_tx_query(tx, "branch_tail", &args, out, err);
}

static pfc_line_tail *tail_of(const pfc_res *res)
{
    const size_t n = pfc_res_rows(res);
    const int sha = pfc_res_column(res, "sha"), parent = pfc_res_column(res, "parent");
    const int time = pfc_res_column(res, "time"), position = pfc_res_column(res, "position");
    pfc_line_tail *tail = pfc_calloc(n, sizeof(*tail));

    for (size_t i = 0; i < n; i++)
        tail[i] = (pfc_line_tail){ .sha = pfc_res_text(res, i, sha),
                                   .parent = pfc_res_text(res, i, parent),
                                   .time = pfc_res_f64(res, i, time),
                                   .position = pfc_res_i64(res, i, position) };
    return tail;
}

/* The newcomers, and those of the tail that make room for them. */
static pfc_code store_places(pfc_tx *tx, int64_t project_id, const char *branch, const pfc_res *res,
                             const pfc_line_tail *tail, const pfc_line_newcomer *newcomers,
                             size_t len, bool *old, pfc_err *err)
{
    const size_t n = pfc_res_rows(res);
    const int id = pfc_res_column(res, "id"), position = pfc_res_column(res, "position");
    int64_t *ids = pfc_calloc(n + len, sizeof(*ids));
    int64_t *positions = pfc_calloc(n + len, sizeof(*positions));
    size_t changed = 0;
    pfc_code code;

    for (size_t i = 0; i < n; i++) {
        if (tail[i].position == pfc_res_i64(res, i, position))
            continue;
        ids[changed] = pfc_res_i64(res, i, id);
        positions[changed++] = tail[i].position;
    }
    for (size_t i = 0; i < len; i++) {
        ids[changed] = newcomers[i].id;
        positions[changed++] = newcomers[i].position;
    }
    code = pfc_positions_set(tx, project_id, branch, ids, positions, changed, old, err);
    free(positions);
    free(ids);
    return code;
}

/* What is newer than they are is read and moves up; older history is not touched, however long it is. */
static pfc_code insert(pfc_tx *tx, int64_t project_id, const char *branch,
                       pfc_line_newcomer *newcomers, size_t len, pfc_err *err)
{
    bool placed = false, old = false;
    pfc_code code = PFC_OK;

    for (int64_t limit = FIRST_LOOK; !placed && !code; limit *= LOOK_GROWS) {
        pfc_res *res = NULL;

        code = read_tail(tx, project_id, branch, limit, &res, err);
        if (!code) {
            pfc_line_tail *tail = tail_of(res);
            const size_t n = pfc_res_rows(res);

            placed = pfc_line_insert(tail, n, (int64_t)n < limit, newcomers, len);
            if (placed)
                code = store_places(tx, project_id, branch, res, tail, newcomers, len, &old, err);
            free(tail);
        }
        pfc_res_free(res);
    }
    /* The order of what was measured is as it was, so nothing else is judged anew; but what lies in an
     * alert's range is another list now. Of the last minutes that is judged anyway. */
    if (!code && old)
        code = pfc_detect_enqueue(tx, project_id, 0, branch, err);
    return code;
}

/* Makes the commits where they are missing, and members of the branch. fresh: those that became so, sha
 * borrowed from `res`; *alone: none of them has a tie to others. */
static pfc_code join(pfc_tx *tx, int64_t project_id, const char *branch, const char *const *shas,
                     const double *times, size_t len, pfc_res **res, pfc_line_newcomer *fresh,
                     size_t *fresh_len, bool *alone, pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_code code;

    pfc_args_i64(&args, project_id);
    pfc_args_texts(&args, shas, len);
    pfc_args_f64s(&args, times, len);
    code = pfc_tx_query(tx, "commits_named", &args, NULL, err);
    if (code)
        return code;
    pfc_args_i64(&args, project_id);
    pfc_args_text(&args, branch);
    pfc_args_texts(&args, shas, len);
    code = pfc_tx_query(tx, "branch_members_add", &args, res, err);
    *alone = true;
    *fresh_len = code ? 0 : pfc_res_rows(*res);
    for (size_t i = 0; i < *fresh_len; i++) {
        fresh[i] = (pfc_line_newcomer){ .sha = pfc_res_text(*res, i, pfc_res_column(*res, "sha")),
                                        .time = pfc_res_f64(*res, i, pfc_res_column(*res, "time")),
                                        .id = pfc_res_i64(*res, i, pfc_res_column(*res, "id")) };
        *alone &= pfc_res_bool(*res, i, pfc_res_column(*res, "alone"));
    }
    return code;
}

/* Under the lock. */
static pfc_code place(pfc_tx *tx, int64_t project_id, const char *branch, const char *const *shas,
                      const double *times, size_t len, pfc_err *err)
{
    pfc_line_newcomer *fresh = pfc_calloc(len, sizeof(*fresh));
    size_t fresh_len = 0, changed = 0;
    pfc_res *res = NULL;
    bool alone = false;
    pfc_code code =
        join(tx, project_id, branch, shas, times, len, &res, fresh, &fresh_len, &alone, err);

    if (!code && fresh_len && alone)
        code = insert(tx, project_id, branch, fresh, fresh_len, err);
    else if (!code && fresh_len)
        code = pfc_branch_recompute(tx, project_id, branch, &changed, err);
    if (!code && changed > fresh_len)
        code = pfc_detect_enqueue(tx, project_id, 0, branch, err);
    pfc_res_free(res);
    free(fresh);
    return code;
}

pfc_code pfc_commit_ensure(pfc_tx *tx, int64_t project_id, const char *branch, const char *sha,
                           double time, int64_t *id, pfc_err *err)
{
    bool member;
    pfc_code code = look_up(tx, project_id, branch, sha, id, &member, err);

    if (code || member)
        return code;
    code = pfc_history_lock(tx, project_id, branch, err);
    if (!code)
        code = place(tx, project_id, branch, &sha, &time, 1, err);
    return code ? code : look_up(tx, project_id, branch, sha, id, &member, err);
}
