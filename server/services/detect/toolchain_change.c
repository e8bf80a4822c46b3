/*
 * Steps at which the toolchain or the harness changed: where that is the most probable of all suspects, the
 * alert is of that kind, and no commit is blamed.
 */
#include <math.h>

#include "core/base/log.h"
#include "server/services/alerts/kinds.h"
#include "server/services/internal.h"

#define LEAST     0.5 /* probability from which the boundary, and not a commit, is the cause */
#define ASK_LIMIT 200 /* groups a pass: the rest is asked with the next batch */

/* The boundary that is more probable than all the rest together; NULL: there is none. */
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
    const char *kind, *fields; /* NULL: a commit's */
} asked;

static pfc_code put_notice(pfc_tx *tx, const asked *a, size_t alerts, pfc_err *err)
{
    char *text = pfc_boundary_text(a->kind, a->fields);
    char *said = pfc_format("%s; %zu series, no commit's", text, alerts);
    pfc_args args = { 0 };
    pfc_code code;

    pfc_args_i64(&args, a->project_id);
    pfc_args_text(&args, a->kind);
    pfc_args_i64(&args, a->alert_id);
    pfc_args_text(&args, a->commit);
    pfc_args_text(&args, said);
    code = pfc_tx_query(tx, "notice_put", &args, NULL, err);
    free(said);
    free(text);
    return code;
}

static pfc_code put_answer(pfc_tx *tx, void *into, pfc_err *err)
{
    const asked *a = into;
    pfc_args args = { 0 };
    pfc_res *res = NULL;
    size_t news = 0;
    pfc_code code;

    pfc_args_i64(&args, a->project_id);
    pfc_args_i64(&args, a->alert_id);
    pfc_args_i64(&args, a->group_id);
    pfc_args_text(&args, a->machine_class);
    pfc_args_text(&args, a->kind);
    pfc_args_text(&args, a->fields);
    code = pfc_tx_query(tx, "boundary_set", &args, &res, err);
    for (size_t i = 0; !code && i < pfc_res_rows(res); i++) {
        if (!pfc_res_bool(res, i, 1))
            continue;
        news++;
        pfc_args_i64(&args, pfc_res_i64(res, i, 0));
        code = pfc_tx_query(tx, "alert_notify", &args, NULL, err);
    }
    if (!code && news && a->kind && a->commit)
        code = put_notice(tx, a, pfc_res_rows(res), err);
    pfc_res_free(res);
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
        a->fields = ranking.boundary_fields[cause->index];
    }
    if (!code)
        code = pfc_db_write(db, put_answer, a, err);
    a->kind = a->fields = NULL;
    pfc_alert_ranking_clear(&ranking);
    return code;
}

pfc_code pfc_boundaries_judge(pfc_db *db, int64_t project_id, const char *branch, pfc_err *err)
{
    pfc_args args = { 0 };
    pfc_res *due = NULL;
    pfc_tx *tx = NULL;
    pfc_code code = pfc_tx_begin(&tx, db, PFC_TX_SNAPSHOT, err);

    if (!code) {
        pfc_args_i64(&args, project_id);
        pfc_args_text(&args, branch);
        pfc_args_i64(&args, ASK_LIMIT);
        code = pfc_tx_query(tx, "boundaries_due", &args, &due, err);
    }
    pfc_tx_free(tx);
    for (size_t i = 0; !code && i < pfc_res_rows(due); i++) {
        asked a = { .project_id = project_id,
                    .alert_id = pfc_res_i64(due, i, 0),
                    .group_id = pfc_res_i64(due, i, 1),
                    .machine_class = pfc_res_text(due, i, 2),
                    .commit = pfc_res_text(due, i, 3) };

        code = ask(db, &a, err);
    }
    pfc_res_free(due);
    return code ? pfc_err_wrap(err, "asking what changed on %.80s", branch) : PFC_OK;
}
