/*
 * Steps at which the toolchain or the harness changed: if that is the most probable suspect, the
 * alert gets that kind, and no commit is blamed.
 */
#include <math.h>
#include <stdlib.h>

#include "core/base/log.h"
#include "server/repo/sql/alerts.h"
#include "server/repo/sql/boundaries.h"
#include "server/repo/sql/notices.h"
#include "server/services/alerts/kinds.h"
#include "server/services/bisect/bisect.h"

#define LEAST     0.5 /* probability from which the boundary, and not a commit, is the cause */
#define ASK_LIMIT 200 /* groups per pass: the next batch handles the rest */

/* The boundary that is more probable than all others together; NULL: none. */
static const pfc_suspect *cause_of(const pfc_alert_ranking *r)
{
    const pfc_suspect *first = r->suspects.len ? &r->suspects.items[0] : NULL;

    if (!first || first->probability < LEAST ||
        (first->kind != PFC_SUSPECT_IS_TOOLCHAIN && first->kind != PFC_SUSPECT_IS_HARNESS))
        return NULL;
    return first;
}

/* One group on one class of machines. */
typedef struct asked {
    int64_t project_id, alert_id, group_id;
    const char *machine_class, *commit;
    const char *kind;                  /* NULL: a commit's */
    const pfc_boundary_fields *fields; /* NULL: likewise */
} asked;

static pfc_code put_notice(pfc_tx *tx, const asked *a, size_t alerts, pfc_err *err)
{
    char *text = pfc_boundary_text(a->kind, a->fields);
    char *said = pfc_format("%s; %zu series, no commit's", text, alerts);
    pfc_code code;

    code = pfc_sql_notice_put(tx,
                              &(pfc_sql_notice_put_args){ .project_id = a->project_id,
                                                          .kind = a->kind,
                                                          .alert_id = a->alert_id,
                                                          .sha = a->commit,
                                                          .text = said },
                              err);
    free(said);
    free(text);
    return code;
}

static pfc_code put_answer(pfc_tx *tx, void *into, pfc_err *err)
{
    const asked *a = into;
    pfc_sql_boundary_set_rows rows = { 0 };
    char *fields = a->fields ? pfc_boundary_fields_text(a->fields) : NULL;
    size_t news = 0;
    pfc_code code;

    code = pfc_sql_boundary_set(tx,
                                &(pfc_sql_boundary_set_args){ .project_id = a->project_id,
                                                              .alert_id = a->alert_id,
                                                              .group_id = a->group_id,
                                                              .machine_class = a->machine_class,
                                                              .kind = a->kind,
                                                              .fields_json = fields },
                                &rows, err);
    for (size_t i = 0; !code && i < rows.len; i++) {
        if (!rows.items[i].news)
            continue;
        news++;
        code = pfc_sql_alert_notify(
            tx, &(pfc_sql_alert_notify_args){ .alert_id = rows.items[i].id }, err);
    }
    if (!code && news && a->kind && a->commit)
        code = put_notice(tx, a, rows.len, err);
    pfc_rows_clear(&rows);
    free(fields);
    return code;
}

static pfc_code ask(pfc_db *db, asked *a, pfc_err *err)
{
    pfc_alert_ranking ranking = { 0 };
    const pfc_suspect *cause;
    pfc_code code = pfc_alert_rank(db, a->alert_id, &ranking, err);

    cause = code ? NULL : cause_of(&ranking);
    if (cause) {
        a->kind = pfc_suspect_kind_name(cause->kind);
        a->fields = &ranking.boundary_fields[cause->index];
    }
    if (!code)
        code = pfc_db_write(db, put_answer, a, err);
    a->kind = NULL;
    a->fields = NULL;
    pfc_alert_ranking_clear(&ranking);
    return code;
}

pfc_code pfc_boundaries_judge(pfc_db *db, int64_t project_id, const char *branch, pfc_err *err)
{
    pfc_sql_boundaries_due_rows due = { 0 };
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);

    if (!code)
        code = pfc_sql_boundaries_due(tx,
                                      &(pfc_sql_boundaries_due_args){ .project_id = project_id,
                                                                      .branch = branch,
                                                                      .limit = ASK_LIMIT },
                                      &due, err);
    pfc_tx_free(tx);
    for (size_t i = 0; !code && i < due.len; i++) {
        asked a = { .project_id = project_id,
                    .alert_id = due.items[i].alert_id,
                    .group_id = due.items[i].group_id,
                    .machine_class = due.items[i].machine_class,
                    .commit = due.items[i].commit };

        code = ask(db, &a, err);
    }
    pfc_rows_clear(&due);
    return code ? pfc_err_wrap(err, "asking what changed on %.80s", branch) : PFC_OK;
}
