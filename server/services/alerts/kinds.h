/*
 * Titles and figures of an alert, the same in every output. The functions that make text are pure;
 * thread-safe.
 */
#ifndef PFC_SERVER_SERVICES_ALERTS_KINDS_H
#define PFC_SERVER_SERVICES_ALERTS_KINDS_H

#include "server/repo/documents/boundary.h"
#include "server/repo/tables/repo.h"

/* The rate of a drift. NAN: unknown, because the commits' times do not allow one. */
typedef struct pfc_slope {
    double per_week, per_week_low,
        per_week_high; /* relative; compounded, they give the range's total */
    double per_commit;
} pfc_slope;

bool pfc_alert_is_drift(const pfc_alert *alert);
/** Of a drift: its change spread over the weeks and commits of its range. */
void pfc_drift_slope(const pfc_alert *drift, pfc_slope *out);

/** "toolchain: compiler gcc 12.2.0 -> 13.1.0, flags -O2 -> -O3". The caller frees it. */
char *pfc_boundary_text(const char *kind, const pfc_boundary_fields *fields);

/** One line: "drift: +3.1 % (+2.6 % to +3.5 %) over 69 commits in 9.9 weeks, +0.31 % a week; since
 *  v1.2: +3.0 %", "step: at 0123456789ab", "step: culprit 0123456789ab". The caller frees it. */
char *pfc_alert_title(const pfc_alert *alert);

/** The culprit, else the commit that a search found, else the most likely commit of a step or of
 *  a broken benchmark. NULL: none. A drift has a range of commits instead of one commit, and no
 *  commit caused a change of toolchain or harness. Owned by the alert. */
const char *pfc_alert_suspect(const pfc_alert *alert);
/** Is pfc_alert_suspect the commit that a search found, not confirmed by fresh pairs? */
bool pfc_alert_suspect_was_found(const pfc_alert *alert);

/** Why a drift has no suspects, its range, its slope and what to do next. The caller frees it. */
char *pfc_drift_reason(const pfc_alert *drift);

/** Asks of the branch's alerts that were grouped since whether toolchain or harness explains them;
 *  keeps the answer, and puts a notice about what is new into the outbox.
 *  (detect/toolchain_change.c) */
pfc_code pfc_boundaries_judge(pfc_db *db, int64_t project_id, const char *branch,
                              pfc_err *err) PFC_MUSTCHECK;

#endif
