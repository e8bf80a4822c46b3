/*
 * Pull requests: which one is looked at next, and what is measured of it.
 */
#include <math.h>
#include <string.h>

#include "core/base/log.h"
#include "core/base/parse.h"
#include "server/services/bot/bot.h"
#include "server/services/history/history.h"
#include "server/services/queue/queue.h"

#define CANDIDATES 16 /* due pull requests that are tried until one can be locked */

pfc_code pfc_pulls_list(pfc_db *db, int64_t project_id, pfc_maybe open, pfc_page page,
                        pfc_pull_rows *out, pfc_err *err)
{
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);

    if (!code)
        code = pfc_sql_pulls_list(tx,
                                  &(pfc_sql_pulls_list_args){ .project_id = project_id,
                                                              .open = open,
                                                              .cursor = page.cursor,
                                                              .limit = pfc_page_fetch(page) },
                                  out, err);
    pfc_tx_free(tx);
    if (!code)
        pfc_rows_cut(out, page, number);
    return code;
}

/* ---- the next one ---- */

static pfc_code lock_one(pfc_tx *tx, const pfc_sql_pulls_due_rows *due, pfc_pull_key *out,
                         bool *locked, pfc_err *err)
{
    pfc_code code = PFC_OK;

    for (size_t i = 0; !code && !*locked && i < due->len; i++) {
        const pfc_sql_pulls_due_row *row = &due->items[i];

        code = pfc_sql_pull_lock(
            tx, &(pfc_sql_pull_lock_args){ .project_id = row->project_id, .number = row->number },
            locked, err);
        *out = (pfc_pull_key){ .project_id = row->project_id, .number = row->number };
    }
    return code;
}

pfc_code pfc_pull_take(pfc_db *db, pfc_tx **lock, pfc_pull_key *out, double *due_s, pfc_err *err)
{
    pfc_sql_pulls_due_rows due = { 0 };
    double wait_s = (double)NAN;
    bool locked = false;
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    *due_s = HUGE_VAL;
    if (!code)
        code = pfc_sql_pulls_due(tx, &(pfc_sql_pulls_due_args){ .limit = CANDIDATES }, &due, err);
    if (!code)
        code = lock_one(tx, &due, out, &locked, err);
    if (!code && !locked)
        code = pfc_sql_pulls_wait(tx, &wait_s, err);
    if (!code && !locked) {
        *due_s = isfinite(wait_s) ? fmax(wait_s, 0.5) : HUGE_VAL;
        code = pfc_err_set(err, PFC_ENOTFOUND, "no pull request is due");
    }
    pfc_rows_clear(&due);
    if (code)
        pfc_tx_free(tx);
    else
        *lock = tx;
    return code;
}

/* ---- measuring ---- */

typedef struct measuring {
    const pfc_pull *pull;
    const char *branch, *filter, *actor;
    bool fresh;
    int64_t job_id, id;
} measuring;

/* Base and head in the order of history, before any run names them: a boundary is judged between a
 * build and the one before it. */
static pfc_code place_commits(pfc_tx *tx, void *into, pfc_err *err)
{
    const measuring *m = into;
    const char *const shas[] = { m->pull->merge_base, m->pull->head_sha };

    return pfc_commits_append(tx, m->pull->project_id, m->branch, shas, PFC_ARRAY_LEN(shas), err);
}

static pfc_code find_earlier(pfc_tx *tx, void *into, pfc_err *err)
{
    measuring *m = into;
    pfc_code code;

    m->id = 0;
    code = pfc_sql_pull_measurement_again(
        tx,
        &(pfc_sql_pull_measurement_again_args){ .project_id = m->pull->project_id,
                                                .number = m->pull->number,
                                                .head_sha = m->pull->head_sha,
                                                .base_sha = m->pull->merge_base },
        &m->id, err);
    if (!code && !m->id)
        code = pfc_sql_pull_measurement_other(
            tx,
            &(pfc_sql_pull_measurement_other_args){ .project_id = m->pull->project_id,
                                                    .number = m->pull->number,
                                                    .head_sha = m->pull->head_sha,
                                                    .base_sha = m->pull->merge_base,
                                                    .asked_by = m->actor },
            &m->id, err);
    return code;
}

static pfc_code record(pfc_tx *tx, void *into, pfc_err *err)
{
    measuring *m = into;

    return pfc_sql_pull_measurement_insert(
        tx,
        &(pfc_sql_pull_measurement_insert_args){ .project_id = m->pull->project_id,
                                                 .number = m->pull->number,
                                                 .head_sha = m->pull->head_sha,
                                                 .base_sha = m->pull->merge_base,
                                                 .filter = m->filter,
                                                 .asked_by = m->actor,
                                                 .job_id = m->job_id },
        &m->id, err);
}

/* A job that was queued before the server was killed is found again by its content. */
static pfc_code enqueue(pfc_db *db, measuring *m, pfc_err *err)
{
    const char *const commits[] = { m->pull->head_sha };
    const pfc_job_blocks blocks = { .commits = commits,
                                    .commits_len = 1,
                                    .base = m->pull->merge_base,
                                    .budget_s = m->pull->budget_s,
                                    .reuse =
                                        m->fresh ? PFC_JOB_REUSE_NEVER : PFC_JOB_REUSE_ALLOWED };
    pfc_labels labels = { 0 };
    pfc_job_spec spec = { .kind = "pull_request",
                          .commit = m->pull->head_sha,
                          .branch = m->branch,
                          .settings_branch = m->pull->base_branch,
                          .priority = PFC_JOB_BY_KIND,
                          .filter = m->filter,
                          .blocks = &blocks };
    pfc_jobs job = { 0 };
    bool created = false;
    pfc_code code;

    if (m->pull->machine_class)
        pfc_labels_set(&labels, "machine_class", m->pull->machine_class);
    spec.labels = &labels;
    code = pfc_job_enqueue(db, m->actor, m->pull->project_id, &spec, &created, &job, err);
    if (!code)
        m->job_id = job.items[0].id;
    pfc_rows_clear(&job);
    pfc_labels_clear(&labels);
    return code;
}

pfc_code pfc_pull_measure(pfc_db *db, const char *actor, const pfc_pull *pull, const char *filter,
                          bool fresh, pfc_err *err)
{
    char *branch = pfc_format("pull/%lld/%.12s", (long long)pull->number, pull->merge_base);
    measuring m = {
        .pull = pull, .branch = branch, .filter = filter, .actor = actor, .fresh = fresh
    };
    pfc_code code = PFC_OK;

    if (!fresh && !filter)
        code = pfc_db_write(db, find_earlier, &m, err);
    if (!code && !m.id)
        code = pfc_db_write(db, place_commits, &m, err);
    if (!code && !m.id)
        code = enqueue(db, &m, err);
    if (!code && !m.id)
        code = pfc_db_write(db, record, &m, err);
    free(branch);
    return code;
}

pfc_code pfc_pull_earlier(pfc_db *db, int64_t project_id, const char *key,
                          pfc_pull_earlier_rows *out, pfc_err *err)
{
    pfc_tx *tx = NULL;
    pfc_code code;

    if (strlen(key) != 64 || !pfc_is_hex_id(key))
        return pfc_err_set_field(err, PFC_EINVAL, "key",
                                 "key: expected 64 hexadecimal digits, got \"%.64s\"", key);
    /* A result that was stored a moment ago counts: the primary is asked. */
    code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);
    if (!code)
        code = pfc_sql_pull_measurement_of_pair(
            tx,
            &(pfc_sql_pull_measurement_of_pair_args){
                .project_id = project_id, .pair_key = key, .max_days = PFC_PULL_REUSE_DAYS },
            out, err);
    pfc_tx_free(tx);
    return code;
}

pfc_code pfc_pull_supersede(pfc_db *db, const pfc_pull_key *key, const char *head, pfc_err *err)
{
    pfc_sql_pull_supersede_rows open = { 0 };
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);

    if (!code)
        code = pfc_sql_pull_supersede(tx,
                                      &(pfc_sql_pull_supersede_args){ .project_id = key->project_id,
                                                                      .number = key->number,
                                                                      .head_sha = head },
                                      &open, err);
    pfc_tx_free(tx);
    for (size_t i = 0; !code && i < open.len; i++) {
        pfc_jobs job = { 0 };
        pfc_err why = { 0 };

        /* It may have ended by now. */
        if (pfc_job_cancel(db, "bot", open.items[i].job_id, &job, &why) != PFC_OK)
            pfc_log(PFC_INFO, "superseded_job_not_cancelled", "job", open.items[i].job_id, "reason",
                    (const char *)why.msg);
        pfc_rows_clear(&job);
    }
    pfc_rows_clear(&open);
    return code ? code : pfc_pull_bisections_supersede(db, key, head, err);
}

/* ---- words of maintainers ---- */

pfc_code pfc_pull_accept(pfc_db *db, const char *actor, const pfc_pull_key *key,
                         const pfc_pull_measurement *m, const char *reason, pfc_err *err)
{
    char *what = pfc_format("pull request %lld at %.12s", (long long)key->number, m->head_sha);
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    if (!code)
        code = pfc_sql_pull_measurement_accept(
            tx,
            &(pfc_sql_pull_measurement_accept_args){
                .project_id = key->project_id, .id = m->id, .actor = actor, .reason = reason },
            err);
    if (!code)
        code = pfc_audit_add(tx, actor, "accept", key->project_id, what, reason, err);
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_tx_free(tx);
    free(what);
    return code;
}

pfc_code pfc_pull_allow(pfc_db *db, const char *actor, const pfc_pull_key *key, const char *head,
                        pfc_err *err)
{
    char *what = pfc_format("pull request %lld at %.12s", (long long)key->number, head);
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    if (!code)
        code = pfc_sql_pull_allow(
            tx,
            &(pfc_sql_pull_allow_args){
                .project_id = key->project_id, .number = key->number, .sha = head, .actor = actor },
            err);
    if (!code)
        code = pfc_audit_add(tx, actor, "allow", key->project_id, what, NULL, err);
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_tx_free(tx);
    free(what);
    return code;
}
