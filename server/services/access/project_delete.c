/*
 * Deletion of a project; see project_delete.h.
 */
#include "server/services/access/project_delete.h"

#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "server/repo/sql/projects.h"
#include "server/services/service.h"

enum { ROWS_A_STEP = 2000, WAIT_MS = 50 };

/* *own: one of the server's own jobs of the project is running; it ends soon. */
static pfc_code lock(pfc_tx *tx, const char *name, int64_t *id, bool *own, pfc_err *err)
{
    pfc_sql_project_lock_rows rows = { 0 };
    int64_t leased = 0;
    pfc_code code;

    code = pfc_sql_project_lock(tx, &(pfc_sql_project_lock_args){ .name = name }, &rows, err);
    if (!code && rows.len == 0)
        code = pfc_err_set(err, PFC_ENOTFOUND, "no project \"%.63s\"", name);
    if (!code) {
        *id = rows.items[0].id;
        leased = rows.items[0].leased;
        *own = leased == 0 && rows.items[0].own > 0;
    }
    if (!code && leased)
        code = pfc_err_set(err, PFC_ECONFLICT,
                           "project \"%.63s\" has %lld running job%s: wait for them or cancel them",
                           name, (long long)leased, leased == 1 ? "" : "s");
    else if (!code && *own)
        code = pfc_err_set(err, PFC_EUNAVAIL, "project \"%.63s\" is being judged: try again", name);
    pfc_rows_clear(&rows);
    return code;
}

/* The name of a project during deletion; `name` already is that name if a call was interrupted. */
static void retired_name(int64_t id, const char *name, char out[64])
{
    char start[40];

    (void)snprintf(start, sizeof(start), "deleted-%lld-", (long long)id);
    if (strncmp(name, start, strlen(start)) == 0)
        (void)snprintf(out, 64, "%s", name);
    else
        (void)snprintf(out, 64, "%s%.20s", start, name);
}

static pfc_code retire(pfc_db *db, const char *actor, const char *name, int64_t *id, bool *own,
                       pfc_project_gone *gone, pfc_err *err)
{
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    if (!code)
        code = lock(tx, name, id, own, err);
    if (!code)
        retired_name(*id, name, gone->name);
    if (!code && strcmp(name, gone->name) != 0) {
        code = pfc_sql_project_retire(
            tx, &(pfc_sql_project_retire_args){ .project_id = *id, .name = gone->name }, err);
        if (!code)
            code = pfc_audit_add(tx, actor, "delete", *id, name, NULL, err);
    }
    if (!code)
        code = pfc_sql_project_cancel_jobs(
            tx, &(pfc_sql_project_cancel_jobs_args){ .project_id = *id }, err);
    /* The event makes every server clear its cache of tokens and project names. */
    if (!code)
        code = pfc_event_send(tx, "token", 0, err);
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_tx_free(tx);
    return code;
}

static pfc_code clear_some(pfc_db *db, int64_t id, int64_t *removed, pfc_err *err)
{
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_WRITE, err);

    if (code)
        return code;
    code = pfc_sql_project_clear(
        tx, &(pfc_sql_project_clear_args){ .project_id = id, .limit = ROWS_A_STEP }, removed, err);
    if (!code)
        code = pfc_tx_commit(tx, err);
    pfc_tx_free(tx);
    return code;
}

pfc_code pfc_project_delete(pfc_db *db, const char *actor, const char *name, double budget_s,
                            pfc_project_gone *gone, pfc_err *err)
{
    const int64_t until_ns = pfc_clock_ns() + (int64_t)(budget_s * (double)PFC_NS_PER_S);
    int64_t id = 0, removed = 1;
    bool own;
    pfc_code code;

    *gone = (pfc_project_gone){ .rows = 0 };
    do {
        own = false;
        code = retire(db, actor, name, &id, &own, gone, err);
        if (code && own)
            pfc_clock_sleep_ns(WAIT_MS * PFC_NS_PER_MS);
    } while (code && own && pfc_clock_ns() < until_ns);
    while (!code && removed && (gone->rows == 0 || pfc_clock_ns() < until_ns)) {
        code = clear_some(db, id, &removed, err);
        gone->rows += code ? 0 : removed;
    }
    gone->done = !code && removed == 0;
    return code;
}
