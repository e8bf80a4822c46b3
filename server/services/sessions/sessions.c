/*
 * Storing and listing sessions: see sessions.h.
 */
#include "server/services/sessions/sessions.h"

#include "core/base/hash.h"
#include "server/repo/documents/session.h"
#include "server/repo/sql/projects.h"
#include "server/repo/sql/sessions.h"
#include "server/services/history/history.h"
#include "server/services/queue/queue.h"
#include "server/services/service.h"

/* ---- storing ---- */

typedef struct storing {
    const char *actor;
    int64_t project_id;
    const pfc_session *session;
    char hash[PFC_SHA256_HEX];
    bool repeated;
    /* Results of an attempt, freed by the next attempt. */
    char *branch;
    int64_t anchor_id, base_id, number;
    int64_t *commit_ids, *same_ids;
} storing;

/* Hashes the parsed content: blanks and the order of members do not count. */
static void hash_session(const pfc_session *session, char out[PFC_SHA256_HEX])
{
    char *text = pfc_session_text(session);

    pfc_sha256_hex(text, strlen(text), out);
    free(text);
}

static void forget(storing *s)
{
    free(s->branch);
    free(s->commit_ids);
    free(s->same_ids);
    s->branch = NULL;
    s->commit_ids = s->same_ids = NULL;
    s->repeated = false;
}

static pfc_code find_stored(pfc_tx *tx, storing *s, bool *found, pfc_err *err)
{
    pfc_sql_session_find_rows rows = { 0 };
    pfc_code code;

    code = pfc_sql_session_find(
        tx, &(pfc_sql_session_find_args){ .project_id = s->project_id, .id = s->session->id },
        &rows, err);
    *found = !code && rows.len > 0;
    if (*found) {
        s->repeated = pfc_streq(rows.items[0].body_hash, s->hash);
        if (!s->repeated)
            code =
                pfc_err_set_field(err, PFC_ECONFLICT, "id",
                                  "id: session %s is stored with another content", s->session->id);
    }
    pfc_rows_clear(&rows);
    return !code && s->repeated ? pfc_tx_replicate(tx, err) : code;
}

static pfc_code find_branch(pfc_tx *tx, storing *s, pfc_err *err)
{
    pfc_sql_project_branch_rows rows = { 0 };
    pfc_code code;

    code = pfc_sql_project_branch(tx, &(pfc_sql_project_branch_args){ .project_id = s->project_id },
                                  &rows, err);
    if (!code && rows.len == 0)
        code = pfc_err_set(err, PFC_ENOTFOUND, "no such project");
    if (!code)
        s->branch = pfc_strdup(s->session->branch ? s->session->branch : rows.items[0].branch);
    pfc_rows_clear(&rows);
    return code;
}

/* Inserts commits without a run, such as those left out, in the order of the session. */
static pfc_code ensure(pfc_tx *tx, const storing *s, const char *sha, size_t place, int64_t *id,
                       pfc_err *err)
{
    return pfc_commit_ensure(tx, s->project_id, s->branch, sha,
                             s->session->started_at + (double)place * 1e-3, id, err);
}

static int64_t id_of(const storing *s, const char *sha)
{
    if (!sha)
        return 0;
    if (strcmp(sha, s->session->base) == 0)
        return s->base_id;
    if (strcmp(sha, s->session->anchor) == 0)
        return s->anchor_id;
    for (size_t i = 0; i < s->session->commits_len; i++) {
        if (strcmp(s->session->commits[i].commit, sha) == 0)
            return s->commit_ids[i];
    }
    return 0;
}

static pfc_code ensure_commits(pfc_tx *tx, storing *s, pfc_err *err)
{
    const pfc_session *in = s->session;
    pfc_code code = ensure(tx, s, in->anchor, 0, &s->anchor_id, err);

    if (!code)
        code = ensure(tx, s, in->base, 1, &s->base_id, err);
    s->commit_ids = pfc_calloc(in->commits_len, sizeof(int64_t));
    s->same_ids = pfc_calloc(in->commits_len, sizeof(int64_t));
    for (size_t i = 0; !code && i < in->commits_len; i++)
        code = ensure(tx, s, in->commits[i].commit, i + 2, &s->commit_ids[i], err);
    for (size_t i = 0; !code && i < in->commits_len; i++) {
        const char *same = in->commits[i].same_as;

        s->same_ids[i] = id_of(s, same);
        /* A build that was judged before, and that only later ones were compared with. */
        if (same && !s->same_ids[i])
            code = ensure(tx, s, same, i + 2, &s->same_ids[i], err);
    }
    return code;
}

static pfc_code insert_session(pfc_tx *tx, storing *s, pfc_err *err)
{
    const pfc_session *in = s->session;

    return pfc_sql_session_insert(
        tx,
        &(pfc_sql_session_insert_args){ .project_id = s->project_id,
                                        .id = in->id,
                                        .branch = s->branch,
                                        .anchor_commit_id = s->anchor_id,
                                        .base_commit_id = s->base_id,
                                        .machine_class = in->machine_class,
                                        .machine = in->machine,
                                        .started_at = in->started_at,
                                        .finished_at = in->finished_at,
                                        .budget_s = in->budget_s,
                                        .spent_s = in->spent_s,
                                        .blocks = in->blocks,
                                        .note = in->note,
                                        .body_hash = s->hash,
                                        .pair_key = in->pair_key },
        &s->number, err);
}

static pfc_code insert_commits(pfc_tx *tx, const storing *s, pfc_err *err)
{
    const pfc_session *in = s->session;
    const size_t n = in->commits_len;
    const char **status = pfc_calloc(n, sizeof(char *)), **reason = pfc_calloc(n, sizeof(char *));
    double *needs = pfc_calloc(n, sizeof(double));
    pfc_code code;

    for (size_t i = 0; i < n; i++) {
        status[i] = pfc_session_status_word(in->commits[i].status);
        reason[i] = in->commits[i].reason;
        needs[i] = in->commits[i].needs_s;
    }
    code = pfc_sql_session_commits_insert(
        tx,
        &(pfc_sql_session_commits_insert_args){ .project_id = s->project_id,
                                                .session = in->id,
                                                .commit_ids = s->commit_ids,
                                                .statuses = status,
                                                .reasons = reason,
                                                .same_as_ids = s->same_ids,
                                                .needs_s = needs,
                                                .len = n },
        err);
    free(needs);
    free(reason);
    free(status);
    return code;
}

static pfc_code insert_functions(pfc_tx *tx, const storing *s, pfc_err *err)
{
    const pfc_session *in = s->session;
    size_t n = 0, most = 0;
    int64_t *ids, *places, *before, *after;
    const char **names;
    pfc_code code = PFC_OK;

    for (size_t i = 0; i < in->commits_len; i++)
        most += in->commits[i].functions_len;
    ids = pfc_calloc(most, sizeof(*ids));
    places = pfc_calloc(most, sizeof(*places));
    before = pfc_calloc(most, sizeof(*before));
    after = pfc_calloc(most, sizeof(*after));
    names = pfc_calloc(most, sizeof(*names));
    for (size_t i = 0; i < in->commits_len; i++)
        for (size_t k = 0; k < in->commits[i].functions_len; k++, n++) {
            ids[n] = s->commit_ids[i];
            places[n] = (int64_t)k;
            names[n] = in->commits[i].functions[k].name;
            before[n] = in->commits[i].functions[k].before;
            after[n] = in->commits[i].functions[k].after;
        }
    if (n)
        code = pfc_sql_session_functions_insert(
            tx,
            &(pfc_sql_session_functions_insert_args){ .project_id = s->project_id,
                                                      .session = in->id,
                                                      .commit_ids = ids,
                                                      .places = places,
                                                      .names = names,
                                                      .before = before,
                                                      .after = after,
                                                      .len = n },
            err);
    free(ids);
    free(places);
    free(before);
    free(after);
    free(names);
    return code;
}

/* Its runs were judged on arrival, before all of them were stored. */
static pfc_code judge_again(pfc_tx *tx, const storing *s, pfc_err *err)
{
    pfc_sql_session_runs_rows rows = { 0 };
    pfc_code code;

    code = pfc_sql_session_runs(
        tx, &(pfc_sql_session_runs_args){ .project_id = s->project_id, .session = s->session->id },
        &rows, err);
    for (size_t i = 0; !code && i < rows.len; i++)
        code = pfc_detect_enqueue(tx, s->project_id, rows.items[i].id, NULL, err);
    pfc_rows_clear(&rows);
    return code;
}

static pfc_code try_to_store(pfc_tx *tx, void *into, pfc_err *err)
{
    storing *s = into;
    char *what;
    bool found;
    pfc_code code;

    forget(s);
    code = find_branch(tx, s, err);
    if (!code)
        code = find_stored(tx, s, &found, err);
    if (code || found)
        return code;
    code = ensure_commits(tx, s, err);
    if (!code)
        code = insert_session(tx, s, err);
    if (code)
        return code;
    if (!s->number) /* another request was faster: its session is committed by now */
        return find_stored(tx, s, &found, err);
    code = insert_commits(tx, s, err);
    if (!code)
        code = insert_functions(tx, s, err);
    if (!code)
        code = judge_again(tx, s, err);
    what = pfc_format("session %s", s->session->id);
    if (!code)
        code = pfc_audit_add(tx, s->actor, "ingest", s->project_id, what, NULL, err);
    free(what);
    return code;
}

pfc_code pfc_session_store(pfc_db *db, const char *actor, int64_t project_id,
                           const pfc_session *session, bool *repeated, pfc_err *err)
{
    storing s = { .actor = actor, .project_id = project_id, .session = session };
    pfc_code code;

    hash_session(session, s.hash);
    code = pfc_db_write(db, try_to_store, &s, err);
    if (!code)
        *repeated = s.repeated;
    forget(&s);
    return code;
}

/* ---- reading ---- */

static pfc_code load_commits(pfc_tx *tx, int64_t project_id, const pfc_session_rows *sessions,
                             pfc_session_commit_rows *out, pfc_err *err)
{
    const char **ids = pfc_calloc(sessions->len, sizeof(*ids));
    pfc_code code;

    for (size_t i = 0; i < sessions->len; i++)
        ids[i] = sessions->items[i].id;
    code = pfc_sql_session_commits(tx,
                                   &(pfc_sql_session_commits_args){ .project_id = project_id,
                                                                    .sessions = ids,
                                                                    .sessions_len = sessions->len },
                                   out, err);
    free(ids);
    return code;
}

static pfc_code load(pfc_tx *tx, int64_t project_id, const char *id, const pfc_page *page,
                     pfc_session_rows *out, pfc_session_commit_rows *commits, pfc_err *err)
{
    pfc_code code = pfc_sql_sessions_list(
        tx,
        &(pfc_sql_sessions_list_args){ .project_id = project_id,
                                       .id = id,
                                       .cursor = page ? page->cursor : 0,
                                       .limit = page ? pfc_page_fetch(*page) : 1 },
        out, err);

    if (code)
        return code;
    if (page)
        pfc_rows_cut(out, *page, number);
    return load_commits(tx, project_id, out, commits, err);
}

pfc_code pfc_sessions_list(pfc_db *db, int64_t project_id, pfc_page page, pfc_session_rows *out,
                           pfc_session_commit_rows *commits, pfc_err *err)
{
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_SNAPSHOT, err);

    if (!code)
        code = load(tx, project_id, NULL, &page, out, commits, err);
    pfc_tx_free(tx);
    return code;
}

pfc_code pfc_session_load(pfc_tx *tx, int64_t project_id, const char *id, pfc_session_rows *out,
                          pfc_session_commit_rows *commits, pfc_err *err)
{
    pfc_code code = load(tx, project_id, id, NULL, out, commits, err);

    if (!code && out->len == 0)
        code = pfc_err_set(err, PFC_ENOTFOUND, "no such session");
    return code;
}

pfc_code pfc_session_code(pfc_tx *tx, int64_t project_id, const char *session, const char *a,
                          const char *b, pfc_session_function_rows *functions,
                          const char **object_code, pfc_err *err)
{
    static const char *const words[] = { "identical", "different" };
    pfc_sql_session_object_code_rows rows = { 0 };
    pfc_code code =
        pfc_sql_session_functions(tx,
                                  &(pfc_sql_session_functions_args){
                                      .project_id = project_id, .session = session, .commit = b },
                                  functions, err);

    if (!code)
        code = pfc_sql_session_object_code(
            tx,
            &(pfc_sql_session_object_code_args){
                .project_id = project_id, .session = session, .a = a, .b = b },
            &rows, err);
    *object_code = NULL;
    for (size_t i = 0; !code && rows.len && i < PFC_ARRAY_LEN(words); i++)
        if (pfc_streq(rows.items[0].object_code, words[i]))
            *object_code = words[i];
    pfc_rows_clear(&rows);
    return code;
}
