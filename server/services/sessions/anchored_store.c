/*
 * Ratios to the anchor, stored as sessions are judged: see anchored.h.
 */
#include <math.h>
#include <stdlib.h>

#include "core/base/log.h"
#include "server/repo/sql/anchored.h"
#include "server/services/service.h"
#include "server/services/sessions/anchored.h"
#include "server/services/sessions/report.h"

pfc_code pfc_anchored_store(pfc_tx *tx, const pfc_session_judgement *j, pfc_err *err)
{
    const size_t most = j->series_len * j->builds_len;
    int64_t *series = pfc_calloc(most + 1, sizeof(*series));
    int64_t *commits = pfc_calloc(most + 1, sizeof(*commits));
    double *ratios = pfc_calloc(most + 1, sizeof(*ratios));
    double *errors = pfc_calloc(most + 1, sizeof(*errors));
    size_t n = 0;
    pfc_code code = PFC_OK;

    for (size_t s = 0; j->anchor < j->builds_len && s < j->series_len; s++) {
        const pfc_session_series *one = &j->series[s];

        for (size_t b = 0; !one->exact && b < one->fit.levels_len; b++) {
            const pfc_block_level *level = &one->fit.levels[b];

            if (!level->visits || !(level->ratio > 0) ||
                !(isfinite(level->log_se) || b == j->anchor))
                continue;
            series[n] = one->id;
            commits[n] = j->builds[b].commit_id;
            ratios[n] = log(level->ratio);
            errors[n++] = b == j->anchor ? 0 : level->log_se;
        }
    }
    if (n)
        code = pfc_sql_anchored_put(
            tx,
            &(pfc_sql_anchored_put_args){ .project_id = j->project_id,
                                          .session = j->session,
                                          .anchor_id = j->builds[j->anchor].commit_id,
                                          .series_ids = series,
                                          .commit_ids = commits,
                                          .log_ratios = ratios,
                                          .log_ses = errors,
                                          .len = n },
            err);
    free(errors);
    free(ratios);
    free(commits);
    free(series);
    return code;
}

typedef struct refreshing {
    int64_t project_id;
    const char *session;
} refreshing;

static pfc_code refresh_ratios(pfc_tx *tx, void *into, pfc_err *err)
{
    const refreshing *r = into;
    pfc_session_judgement judgement;
    pfc_code code = pfc_session_judge(tx, r->project_id, r->session, &judgement, err);

    if (!code)
        code = pfc_anchored_store(tx, &judgement, err);
    pfc_session_judgement_clear(&judgement);
    return code;
}

static pfc_code refresh_verdicts(pfc_tx *tx, void *into, pfc_err *err)
{
    const refreshing *r = into;
    pfc_session_report report;
    pfc_code code = pfc_session_report_load(tx, r->project_id, r->session, &report, err);

    if (!code)
        code = pfc_session_verdicts_store(tx, &report, err);
    pfc_session_report_clear(&report);
    return code;
}

/* An error in one session must not prevent the judging of the runs; a lost database does. */
static pfc_code refresh(pfc_db *db, int64_t project_id, const int64_t *runs, size_t len,
                        pfc_db_writing write, pfc_err *err)
{
    pfc_sql_anchored_sessions_rows rows = { 0 };
    pfc_tx *tx = NULL;
    pfc_code code;

    if (len == 0)
        return PFC_OK;
    code = pfc_tx_begin(&tx, db, PFC_TX_AUTO, err);
    if (!code)
        code = pfc_sql_anchored_sessions(
            tx,
            &(pfc_sql_anchored_sessions_args){
                .project_id = project_id, .run_ids = runs, .run_ids_len = len },
            &rows, err);
    pfc_tx_free(tx);
    for (size_t i = 0; !code && i < rows.len; i++) {
        refreshing r = { project_id, rows.items[i].session_id };
        pfc_err why = { 0 };
        pfc_code one = pfc_db_write(db, write, &r, &why);

        if (one == PFC_EUNAVAIL || one == PFC_ETIMEOUT)
            code = pfc_err_set(err, one, "%s", why.msg);
        else if (one)
            pfc_log(PFC_ERROR, "session_not_judged", "session", r.session, "why", why.msg);
    }
    pfc_rows_clear(&rows);
    return code;
}

pfc_code pfc_anchored_refresh(pfc_db *db, int64_t project_id, const int64_t *runs, size_t len,
                              pfc_err *err)
{
    return refresh(db, project_id, runs, len, refresh_ratios, err);
}

pfc_code pfc_session_reports_refresh(pfc_db *db, int64_t project_id, const int64_t *runs,
                                     size_t len, pfc_err *err)
{
    return refresh(db, project_id, runs, len, refresh_verdicts, err);
}
