/*
 * Explanations of stored runs: of one run, of two, and of an alert. Everything is computed from the
 * stored documents when it is asked for; nothing is stored. Thread-safe.
 */
#ifndef PFC_SERVER_SERVICES_EXPLAIN_EXPLAIN_H
#define PFC_SERVER_SERVICES_EXPLAIN_EXPLAIN_H

#include "core/analysis/explain/explain.h"
#include "server/repo/connection/db.h"
#include "server/repo/sql/explain.h"

/** Which stored runs of one project, by our numbers; before 0: `after` alone. */
typedef struct pfc_explain_stored_ask {
    int64_t project_id, before, after;
    pfc_explain_what what;
} pfc_explain_stored_ask;

/** Errors as of pfc_explain_run and pfc_explain_pair. pfc_explanation_clear ends *out in every
 *  case. */
pfc_code pfc_explain_stored(pfc_db *db, const pfc_explain_rules *rules,
                            const pfc_explain_stored_ask *ask, pfc_explanation *out,
                            pfc_err *err) PFC_MUSTCHECK;

/** The change of an alert: the last measured commit before its range against the first one from the
 *  end of the range on. PFC_ENOTFOUND when a side no longer has a run, and for alerts that have no
 *  two sides (broken benchmarks, drifts), with the reason. */
pfc_code pfc_explain_alert(pfc_db *db, const pfc_explain_rules *rules, int64_t alert_id,
                           pfc_explanation *out, pfc_err *err) PFC_MUSTCHECK;

/** The runs of these two sides: *out has two rows. Errors as above; clear *out in every case. */
pfc_code pfc_explain_alert_sides(pfc_db *db, int64_t alert_id, pfc_sql_explain_alert_runs_rows *out,
                                 pfc_err *err) PFC_MUSTCHECK;

#endif
