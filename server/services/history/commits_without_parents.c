/*
 * Commits that are known only from runs: their parents are unknown, so the time of the first run
 * decides their position. Commits of a pull request: the caller states their order.
 */
#include "core/base/clock.h"
#include "server/repo/sql/commits.h"
#include "server/services/history/history.h"
#include "server/services/queue/queue.h"

#define FIRST_LOOK 64 /* commits from the end; clients send new runs nearly in order */
#define LOOK_GROWS 16
#define LAST_LOOK  (1 << 18) /* to move more takes longer than a statement may */

static pfc_code look_up(pfc_tx *tx, int64_t project_id, const char *branch, const char *sha,
                        int64_t *id, bool *member, pfc_err *err)
{
    pfc_sql_commit_id_rows rows = { 0 };
    pfc_code code;

    code = pfc_sql_commit_id(
        tx, &(pfc_sql_commit_id_args){ .project_id = project_id, .sha = sha, .branch = branch },
        &rows, err);
    *id = 0;
    *member = false;
    if (!code && rows.len) {
        *id = rows.items[0].id;
        *member = rows.items[0].member;
    }
    pfc_rows_clear(&rows);
    return code;
}

static pfc_code read_tail(pfc_tx *tx, int64_t project_id, const char *branch, int64_t limit,
                          pfc_sql_branch_tail_rows *out, pfc_err *err)
{
    return pfc_sql_branch_tail(
        tx,
        &(pfc_sql_branch_tail_args){ .project_id = project_id, .branch = branch, .limit = limit },
        out, err);
}

static pfc_line_tail *tail_of(const pfc_sql_branch_tail_rows *rows)
{
    const size_t n = rows->len;
    pfc_line_tail *tail = pfc_calloc(n, sizeof(*tail));

    for (size_t i = 0; i < n; i++)
        tail[i] = (pfc_line_tail){ .sha = rows->items[i].sha,
                                   .parent = rows->items[i].parent,
                                   .time = rows->items[i].time,
                                   .position = rows->items[i].position };
    return tail;
}

/* Stores the positions of the new commits, and of the commits that were moved for them. */
static pfc_code store_places(pfc_tx *tx, int64_t project_id, const char *branch,
                             const pfc_sql_branch_tail_rows *rows, const pfc_line_tail *tail,
                             const pfc_line_added *added, size_t len, bool *old, pfc_err *err)
{
    const size_t n = rows->len;
    int64_t *ids = pfc_calloc(n + len, sizeof(*ids));
    int64_t *positions = pfc_calloc(n + len, sizeof(*positions));
    size_t changed = 0;
    pfc_code code;

    for (size_t i = 0; i < n; i++) {
        if (tail[i].position == rows->items[i].position)
            continue;
        ids[changed] = rows->items[i].id;
        positions[changed++] = tail[i].position;
    }
    for (size_t i = 0; i < len; i++) {
        ids[changed] = added[i].id;
        positions[changed++] = added[i].position;
    }
    code = pfc_positions_set(tx, project_id, branch, ids, positions, changed, old, err);
    free(positions);
    free(ids);
    return code;
}

/* Reads and moves only the commits that are newer than the new ones, so that the cost does not grow
 * with the length of the history. */
static pfc_code insert(pfc_tx *tx, int64_t project_id, const char *branch, pfc_line_added *added,
                       size_t len, pfc_err *err)
{
    bool placed = false, old = false;
    pfc_code code = PFC_OK;

    for (int64_t limit = FIRST_LOOK; !placed && !code; limit *= LOOK_GROWS) {
        pfc_sql_branch_tail_rows rows = { 0 };

        code = read_tail(tx, project_id, branch, limit, &rows, err);
        if (!code) {
            pfc_line_tail *tail = tail_of(&rows);
            const size_t n = rows.len;

            placed = pfc_line_insert(tail, n, (int64_t)n < limit, added, len);
            if (placed)
                code = store_places(tx, project_id, branch, &rows, tail, added, len, &old, err);
            else if (limit >= LAST_LOOK)
                code = pfc_err_set_field(
                    err, PFC_ECONFLICT, "commit",
                    "commit %.12s: it has no known parents and is older than the newest of %lld or "
                    "more commits of branch %.100s, all of which would move: post it with its "
                    "parents first",
                    added[len - 1].sha, (long long)n, branch);
            free(tail);
        }
        pfc_rows_clear(&rows);
    }
    /* The order of the measured commits is unchanged, so no verdict changes. But the list of
     * commits in an alert's range may have changed. Ranges of the last minutes are judged again in
     * any case. */
    if (!code && old)
        code = pfc_detect_enqueue(tx, project_id, 0, branch, err);
    return code;
}

/* Inserts missing commits, and makes all of them members of the branch. fresh: the new members, sha
 * borrowed from `rows`; *alone: none of them has a stored parent or child. */
static pfc_code join(pfc_tx *tx, int64_t project_id, const char *branch, const char *const *shas,
                     const double *times, size_t len, pfc_sql_branch_members_add_rows *rows,
                     pfc_line_added *fresh, size_t *fresh_len, bool *alone, pfc_err *err)
{
    pfc_code code;

    code = pfc_sql_commits_named(
        tx,
        &(pfc_sql_commits_named_args){
            .project_id = project_id, .shas = shas, .times = times, .len = len },
        err);
    if (code)
        return code;
    code = pfc_sql_branch_members_add(
        tx,
        &(pfc_sql_branch_members_add_args){
            .project_id = project_id, .branch = branch, .shas = shas, .shas_len = len },
        rows, err);
    *alone = true;
    *fresh_len = code ? 0 : rows->len;
    for (size_t i = 0; i < *fresh_len; i++) {
        const pfc_sql_branch_members_add_row *row = &rows->items[i];

        fresh[i] = (pfc_line_added){ .sha = row->sha, .time = row->time, .id = row->id };
        *alone &= row->alone;
    }
    return code;
}

/* Under the lock. */
static pfc_code place(pfc_tx *tx, int64_t project_id, const char *branch, const char *const *shas,
                      const double *times, size_t len, pfc_err *err)
{
    pfc_line_added *fresh = pfc_calloc(len, sizeof(*fresh));
    size_t fresh_len = 0, changed = 0;
    pfc_sql_branch_members_add_rows rows = { 0 };
    bool alone = false;
    pfc_code code =
        join(tx, project_id, branch, shas, times, len, &rows, fresh, &fresh_len, &alone, err);

    if (!code && fresh_len && alone)
        code = insert(tx, project_id, branch, fresh, fresh_len, err);
    else if (!code && fresh_len)
        code = pfc_branch_recompute(tx, project_id, branch, &changed, err);
    if (!code && changed > fresh_len)
        code = pfc_detect_enqueue(tx, project_id, 0, branch, err);
    pfc_rows_clear(&rows);
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

/* Appends the new members to the branch, in the order of `shas`. */
static pfc_code append_members(pfc_tx *tx, int64_t project_id, const char *branch,
                               const char *const *shas, size_t len,
                               const pfc_sql_branch_members_add_rows *added, pfc_err *err)
{
    pfc_sql_branch_tail_rows tail = { 0 };
    int64_t *ids = pfc_calloc(len, sizeof(*ids));
    int64_t *positions = pfc_calloc(len, sizeof(*positions));
    int64_t last = 0;
    size_t fresh = 0;
    bool old = false;
    pfc_code code = read_tail(tx, project_id, branch, 1, &tail, err);

    if (!code && tail.len)
        last = tail.items[0].position;
    for (size_t i = 0; !code && i < len; i++) {
        for (size_t k = 0; k < added->len; k++) {
            if (!pfc_streq(added->items[k].sha, shas[i]))
                continue;
            ids[fresh] = added->items[k].id;
            positions[fresh++] = ++last;
            break;
        }
    }
    if (!code)
        code = pfc_positions_set(tx, project_id, branch, ids, positions, fresh, &old, err);
    pfc_rows_clear(&tail);
    free(positions);
    free(ids);
    return code;
}

pfc_code pfc_commits_append(pfc_tx *tx, int64_t project_id, const char *branch,
                            const char *const *shas, size_t len, pfc_err *err)
{
    const double now_s = pfc_clock_unix_s();
    double *times = pfc_calloc(len, sizeof(*times));
    pfc_sql_branch_members_add_rows added = { 0 };
    pfc_code code = pfc_history_lock(tx, project_id, branch, err);

    for (size_t i = 0; i < len; i++)
        times[i] = now_s + 1e-3 * (double)i;
    if (!code)
        code = pfc_sql_commits_named(
            tx,
            &(pfc_sql_commits_named_args){
                .project_id = project_id, .shas = shas, .times = times, .len = len },
            err);
    if (!code)
        code = pfc_sql_branch_members_add(
            tx,
            &(pfc_sql_branch_members_add_args){
                .project_id = project_id, .branch = branch, .shas = shas, .shas_len = len },
            &added, err);
    if (!code)
        code = append_members(tx, project_id, branch, shas, len, &added, err);
    pfc_rows_clear(&added);
    free(times);
    return code;
}
