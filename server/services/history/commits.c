/*
 * Stores commits as they arrive, and their positions along the branches.
 */
#include "server/repo/sql/commits.h"

#include "server/repo/sql/projects.h"
#include "server/services/history/history.h"
#include "server/services/queue/queue.h"
#include "server/services/service.h"

/* Where the whole order of a branch is computed again: commits read or moved by one statement,
 * which takes a second or two, and at most in all, which takes 0.7 GB of memory. */
#define STEP 50000
#define MOST 2000000

static pfc_code lock_project(pfc_tx *tx, int64_t project_id, pfc_err *err)
{
    int64_t id = 0;
    pfc_code code = pfc_sql_history_lock(
        tx, &(pfc_sql_history_lock_args){ .project_id = project_id }, &id, err);

    if (!code && !id)
        code = pfc_err_set(err, PFC_ENOTFOUND, "no such project");
    return code;
}

pfc_code pfc_history_lock(pfc_tx *tx, int64_t project_id, const char *branch, pfc_err *err)
{
    pfc_code code = lock_project(tx, project_id, err);

    if (!code)
        code = pfc_sql_branch_ensure(
            tx, &(pfc_sql_branch_ensure_args){ .project_id = project_id, .name = branch }, err);
    return code;
}

/* added: ids of the new members, room for len; *added_len counts them. */
static pfc_code add_members(pfc_tx *tx, int64_t project_id, const char *branch,
                            const char *const *shas, size_t len, int64_t *added, size_t *added_len,
                            pfc_err *err)
{
    pfc_sql_branch_members_add_rows rows = { 0 };
    pfc_code code;

    code = pfc_sql_branch_members_add(
        tx,
        &(pfc_sql_branch_members_add_args){
            .project_id = project_id, .branch = branch, .shas = shas, .shas_len = len },
        &rows, err);
    *added_len = code ? 0 : PFC_MIN(rows.len, len);
    for (size_t i = 0; i < *added_len; i++)
        added[i] = rows.items[i].id;
    pfc_rows_clear(&rows);
    return code;
}

pfc_code pfc_positions_set(pfc_tx *tx, int64_t project_id, const char *branch, const int64_t *ids,
                           const int64_t *positions, size_t n, bool *old, pfc_err *err)
{
    pfc_code code = PFC_OK;

    *old = false;
    for (size_t k = 0; !code && k < n; k += STEP) {
        size_t changed = 0;

        code = pfc_sql_branch_positions_set(
            tx,
            &(pfc_sql_branch_positions_set_args){ .project_id = project_id,
                                                  .branch = branch,
                                                  .commit_ids = ids + k,
                                                  .positions = positions + k,
                                                  .len = PFC_MIN(n - k, (size_t)STEP),
                                                  .seconds = PFC_CHUNKS_QUIET_S / 2 },
            &changed, err);
        *old |= !code && changed > 0;
    }
    return code;
}

pfc_line_commit *pfc_line_of(const pfc_sql_branch_member_rows *rows)
{
    pfc_line_commit *line = pfc_calloc(rows->len, sizeof(*line));

    for (size_t i = 0; i < rows->len; i++)
        line[i] = (pfc_line_commit){ .sha = rows->items[i].sha,
                                     .parents = rows->items[i].parents,
                                     .time = rows->items[i].time };
    return line;
}

pfc_code pfc_line_store(pfc_tx *tx, int64_t project_id, const char *branch,
                        const pfc_sql_branch_member_rows *rows, const pfc_line_commit *line,
                        size_t *changed, pfc_err *err)
{
    const size_t n = rows->len;
    int64_t *ids = pfc_calloc(n, sizeof(*ids));
    int64_t *positions = pfc_calloc(n, sizeof(*positions));
    bool old;
    pfc_code code = PFC_OK;

    *changed = 0;
    for (size_t i = 0; i < n; i++) {
        if (!pfc_streq(line[i].sha, rows->items[i].sha)) {
            code = pfc_err_set(err, PFC_EBUG, "history: commits are not in the order of ids");
            goto done;
        }
        if (line[i].position != rows->items[i].position) {
            ids[*changed] = rows->items[i].id;
            positions[(*changed)++] = line[i].position;
        }
    }
    code = pfc_positions_set(tx, project_id, branch, ids, positions, *changed, &old, err);

done:
    free(positions);
    free(ids);
    return code;
}

static int by_sha(const void *a, const void *b)
{
    return strcmp(((const pfc_sql_branch_member_row *)a)->sha,
                  ((const pfc_sql_branch_member_row *)b)->sha);
}

/* All commits of the branch, sorted by id, whose texts are in `pages`: room for MOST / STEP + 1. */
static pfc_code read_members(pfc_tx *tx, int64_t project_id, const char *branch,
                             pfc_sql_branch_member_rows *all, pfc_res **pages, size_t *pages_len,
                             pfc_err *err)
{
    size_t got = STEP;
    int64_t cursor = 0;
    pfc_code code = PFC_OK;

    while (!code && got == STEP) {
        pfc_sql_branch_member_rows page = { 0 };

        if (all->len >= MOST)
            return pfc_err_set(
                err, PFC_ECONFLICT,
                "branch %.100s: these commits change the order of more than %d commits that are "
                "stored: post each commit after its parents, or post the history to a new project",
                branch, MOST);
        code = pfc_sql_branch_members(
            tx,
            &(pfc_sql_branch_members_args){
                .project_id = project_id, .branch = branch, .cursor = cursor, .limit = STEP },
            &page, err);
        got = code ? 0 : page.len;
        if (got == 0)
            break;
        cursor = page.items[got - 1].id;
        all->items = pfc_realloc(all->items, all->len + got, sizeof(*all->items));
        memcpy(all->items + all->len, page.items, got * sizeof(*all->items));
        all->len += got;
        pfc_rows_keep_texts(&page, &pages[(*pages_len)++]);
    }
    if (!code && all->len)
        qsort(all->items, all->len, sizeof(*all->items), by_sha);
    return code;
}

pfc_code pfc_branch_recompute(pfc_tx *tx, int64_t project_id, const char *branch, size_t *changed,
                              pfc_err *err)
{
    pfc_sql_branch_member_rows rows = { 0 };
    pfc_res *pages[MOST / STEP + 1];
    size_t pages_len = 0;
    pfc_code code = read_members(tx, project_id, branch, &rows, pages, &pages_len, err);

    if (!code) {
        pfc_line_commit *line = pfc_line_of(&rows);

        pfc_line_positions(line, rows.len);
        code = pfc_line_store(tx, project_id, branch, &rows, line, changed, err);
        free(line);
    }
    pfc_rows_clear(&rows);
    while (pages_len > 0)
        pfc_res_free(pages[--pages_len]);
    return code;
}

/* New commits that directly follow the tip change no other position; *done: this is the case. */
static pfc_code append(pfc_tx *tx, int64_t project_id, const char *branch,
                       const pfc_commit *commits, const char *const *shas, size_t len, bool *done,
                       pfc_err *err)
{
    size_t appended = 0;
    pfc_sql_branch_tail_rows rows = { 0 };
    const pfc_commit *last;
    const char *before;
    double time;
    pfc_code code;

    *done = false;
    code = pfc_sql_branch_tail(
        tx, &(pfc_sql_branch_tail_args){ .project_id = project_id, .branch = branch, .limit = 1 },
        &rows, err);
    if (code || rows.len == 0)
        goto done;
    before = rows.items[0].sha;
    time = rows.items[0].time;
    last = &commits[len - 1];
    if (last->time < time || (last->time == time && strcmp(last->id, before) < 0))
        goto done; /* another head may be the newest then */
    for (size_t i = 0; i < len; i++) {
        /* A merge can remove commits from the line: that needs the graph. */
        if (commits[i].parents_len != 1 || !pfc_streq(commits[i].parents[0], before))
            goto done;
        before = commits[i].id;
    }
    code = pfc_sql_branch_append(
        tx,
        &(pfc_sql_branch_append_args){ .project_id = project_id,
                                       .branch = branch,
                                       .shas = shas,
                                       .shas_len = len,
                                       .position_before = rows.items[0].position },
        &appended, err);
    *done = !code && appended == len;

done:
    pfc_rows_clear(&rows);
    return code;
}

static char *joined_parents(const pfc_commit *commit)
{
    pfc_buf buf;

    pfc_buf_init(&buf, 65536);
    for (size_t i = 0; i < commit->parents_len; i++)
        pfc_buf_printf(&buf, i ? " %s" : "%s", commit->parents[i]);
    return pfc_buf_take(&buf);
}

/* Inserts, completes stubs. completed: ids of those, caller frees. */
static pfc_code upsert(pfc_tx *tx, int64_t project_id, const pfc_commit *commits,
                       const char *const *shas, size_t len, size_t *fresh, int64_t **completed,
                       size_t *completed_len, pfc_err *err)
{
    const char **parents = pfc_calloc(len, sizeof(char *));
    const char **authors = pfc_calloc(len, sizeof(char *));
    const char **subjects = pfc_calloc(len, sizeof(char *));
    const char **paths = pfc_calloc(len, sizeof(char *));
    double *times = pfc_calloc(len, sizeof(double));
    pfc_sql_commits_upsert_rows rows = { 0 };
    pfc_code code;

    for (size_t i = 0; i < len; i++) {
        parents[i] = joined_parents(&commits[i]);
        authors[i] = commits[i].author ? commits[i].author : "";
        subjects[i] = commits[i].subject ? commits[i].subject : "";
        paths[i] = pfc_array_literal((const char *const *)commits[i].paths, commits[i].paths_len);
        times[i] = commits[i].time;
    }
    code = pfc_sql_commits_upsert(tx,
                                  &(pfc_sql_commits_upsert_args){ .project_id = project_id,
                                                                  .shas = shas,
                                                                  .parents = parents,
                                                                  .authors = authors,
                                                                  .times = times,
                                                                  .subjects = subjects,
                                                                  .paths = paths,
                                                                  .len = len },
                                  &rows, err);
    if (!code) {
        *fresh = 0;
        *completed_len = 0;
        *completed = pfc_calloc(rows.len, sizeof(int64_t));
        for (size_t i = 0; i < rows.len; i++) {
            if (rows.items[i].fresh)
                (*fresh)++;
            else
                (*completed)[(*completed_len)++] = rows.items[i].id;
        }
    }
    pfc_rows_clear(&rows);
    for (size_t i = 0; i < len; i++) {
        free((char *)(uintptr_t)parents[i]);
        free((char *)(uintptr_t)paths[i]);
    }
    free(times);
    free(paths);
    free(subjects);
    free(authors);
    free(parents);
    return code;
}

/* A completed stub has parents now, which may change the order of every branch that contains it. */
static pfc_code recompute_branches(pfc_tx *tx, int64_t project_id, const int64_t *commits,
                                   size_t len, const char *but, pfc_err *err)
{
    pfc_sql_branches_of_rows rows = { 0 };
    pfc_code code;

    code = pfc_sql_branch_times_set(tx,
                                    &(pfc_sql_branch_times_set_args){ .project_id = project_id,
                                                                      .commit_ids = commits,
                                                                      .commit_ids_len = len },
                                    err);
    if (code)
        return code;
    code = pfc_sql_branches_of(tx,
                               &(pfc_sql_branches_of_args){ .project_id = project_id,
                                                            .commit_ids = commits,
                                                            .commit_ids_len = len },
                               &rows, err);
    for (size_t i = 0; !code && i < rows.len; i++) {
        const char *branch = rows.items[i].branch;
        size_t changed;

        if (pfc_streq(branch, but))
            continue;
        code = pfc_branch_extend(tx, project_id, branch, commits, len, &changed, err);
        if (!code)
            code = pfc_detect_enqueue(tx, project_id, 0, branch, err);
    }
    pfc_rows_clear(&rows);
    return code;
}

static pfc_code place(pfc_tx *tx, int64_t project_id, const char *branch, const pfc_commit *commits,
                      const char *const *shas, size_t len, const int64_t *completed,
                      size_t completed_len, pfc_err *err)
{
    int64_t *fresh = pfc_calloc(len + completed_len, sizeof(*fresh));
    size_t added = 0, changed = 0;
    bool appended = false;
    pfc_code code = add_members(tx, project_id, branch, shas, len, fresh, &added, err);

    if (!code && added == len && !completed_len)
        code = append(tx, project_id, branch, commits, shas, len, &appended, err);
    if (code || appended || (!added && !completed_len))
        goto done;
    memcpy(fresh + added, completed, completed_len * sizeof(*fresh));
    code = pfc_branch_extend(tx, project_id, branch, fresh, added + completed_len, &changed, err);
    /* Other commits moved, too: measured points may be among them, so their series are judged
     * again. */
    if (!code && (changed > added || completed_len))
        code = pfc_detect_enqueue(tx, project_id, 0, branch, err);
    if (!code && completed_len)
        code = recompute_branches(tx, project_id, completed, completed_len, branch, err);

done:
    free(fresh);
    return code;
}

/* Tags are stored separately: they are made after their commits, which are then known already. */
static pfc_code put_tags(pfc_tx *tx, int64_t project_id, const pfc_commit *commits, size_t len,
                         pfc_err *err)
{
    const char **shas = pfc_calloc(len, sizeof(char *));
    const char **tags = pfc_calloc(len, sizeof(char *));
    size_t n = 0;
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < len; i++) {
        if (commits[i].tags_len == 0)
            continue;
        shas[n] = commits[i].id;
        tags[n++] = pfc_array_literal((const char *const *)commits[i].tags, commits[i].tags_len);
    }
    if (n)
        code = pfc_sql_commits_tag(
            tx,
            &(pfc_sql_commits_tag_args){
                .project_id = project_id, .shas = shas, .tags = tags, .len = n },
            err);
    for (size_t i = 0; i < n; i++)
        free((char *)(uintptr_t)tags[i]);
    free(tags);
    free(shas);
    return code;
}

static pfc_code default_branch(pfc_tx *tx, int64_t project_id, char **out, pfc_err *err)
{
    pfc_sql_project_branch_rows rows = { 0 };
    pfc_code code;

    code = pfc_sql_project_branch(tx, &(pfc_sql_project_branch_args){ .project_id = project_id },
                                  &rows, err);
    if (!code && rows.len == 0)
        code = pfc_err_set(err, PFC_ENOTFOUND, "no such project");
    if (!code)
        *out = pfc_strdup(rows.items[0].branch);
    pfc_rows_clear(&rows);
    return code;
}

pfc_code pfc_commits_store(pfc_db *db, const char *actor, int64_t project_id, const char *branch,
                           const pfc_commit *commits, size_t len, size_t *fresh, pfc_err *err)
{
    const char **shas = pfc_calloc(len, sizeof(char *));
    int64_t *completed = NULL;
    size_t completed_len = 0;
    char *own_branch = NULL;
    char *what = NULL;
    pfc_tx *tx = NULL;
    pfc_code code;

    *fresh = 0;
    for (size_t i = 0; i < len; i++)
        shas[i] = commits[i].id;
    code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);
    if (!code)
        code = lock_project(tx, project_id, err); /* first, for its kind of plan */
    if (!code && !branch)
        code = default_branch(tx, project_id, &own_branch, err);
    if (code || len == 0)
        goto done;
    branch = branch ? branch : own_branch;
    code = pfc_sql_branch_ensure(
        tx, &(pfc_sql_branch_ensure_args){ .project_id = project_id, .name = branch }, err);
    if (!code)
        code = upsert(tx, project_id, commits, shas, len, fresh, &completed, &completed_len, err);
    if (!code)
        code = put_tags(tx, project_id, commits, len, err);
    if (!code)
        code = place(tx, project_id, branch, commits, shas, len, completed, completed_len, err);
    if (!code && (*fresh || completed_len)) {
        what = pfc_format("%zu commits of %s", len, branch);
        code = pfc_audit_add(tx, actor, "commits", project_id, what, NULL, err);
    }
    if (!code)
        code = pfc_tx_commit(tx, err);

done:
    pfc_tx_free(tx);
    free(what);
    free(own_branch);
    free(completed);
    free(shas);
    return code;
}
