/*
 * Levels in units of an anchor.
 *
 * A session gives each build's ratio to the session's anchor (core/blocks/blocks.h); the state
 * of the machine that night cancels out. Sessions with one anchor can be compared directly. A new
 * anchor is joined to an old one by the sessions that hold both: log(old / new) is the mean of
 * theirs, weighted by 1 / se^2; where they disagree by more than their errors say, the error is
 * widened to what their spread says (as Birge, Phys. Rev. 40, 1932). A point's ratio to the current
 * anchor goes along the joints whose errors together are smallest, and carries these errors.
 *
 * The current anchor of a series is that of its newest session. A point has no ratio when it was
 * measured outside of a session, when its session's anchor has no value in the series, or when no
 * joints lead to the current anchor. Exact series have none: a ratio would round what is exact.
 */
#ifndef PFC_SERVER_SERVICES_SESSIONS_ANCHORED_H
#define PFC_SERVER_SERVICES_SESSIONS_ANCHORED_H

#include "server/services/detect/detect.h"
#include "server/services/history/history.h"
#include "server/services/sessions/judge.h"

/* ---- joints (pure) ---- */

/** The ratio of two anchors that one session measured. */
typedef struct pfc_joint {
    int64_t anchor, other; /* commits; not the same */
    double log_ratio;      /* log(level of other / level of anchor) */
    double log_se;         /* >= 0 */
} pfc_joint;

/** An anchor against the current one. */
typedef struct pfc_joined {
    int64_t anchor;
    double log_ratio; /* log(level of anchor / level of the current one) */
    double log_se;
} pfc_joined;

#define PFC_JOINTS_MAX 10000 /* the newest ones of a series */

/** Every anchor that joints lead to, the current one first with 0. The caller frees *out. */
void pfc_joints_resolve(const pfc_joint *joints, size_t n, int64_t current, pfc_joined **out,
                        size_t *len);

/* ---- a series ---- */

typedef struct pfc_anchored_run {
    int64_t run_id;
    double log_ratio, log_se; /* to the current anchor */
    bool own;                 /* of its session's anchor: it has no error of its own */
} pfc_anchored_run;

typedef struct pfc_anchored {
    char anchor[41]; /* commit id of the current anchor; "": the series has none */
    double
        level; /* median of its absolute medians, the series' unit; NAN: none is kept any longer */
    pfc_anchored_run *runs; /* by run_id; owned */
    size_t len;
} pfc_anchored;

/** Of the runs of these numbers that have a ratio. Clear *out in every case. */
pfc_code pfc_anchored_load(pfc_tx *tx, int64_t project_id, int64_t series_id, int64_t run_from,
                           int64_t run_to, pfc_anchored *out, pfc_err *err) PFC_MUSTCHECK;
/** NULL: it has none. */
const pfc_anchored_run *pfc_anchored_find(const pfc_anchored *anchored, int64_t run_id);
void pfc_anchored_clear(pfc_anchored *anchored);

/** The history of a series with ratios, in the unit of the series: the value of a run that has one
 *  becomes ratio x level of the current anchor, so that runs from before the project had anchors,
 *  which keep theirs, lie on the same scale. Repeats are left out of all points then, for those of
 *  a session hold what the machine did. Of an anchor the newest run alone stays: its ratio is 1
 *  each night, without noise, and would hide the noise of the others. Histories without anchors are
 *  left alone. */
pfc_code pfc_anchored_history(pfc_tx *tx, int64_t project_id, const pfc_judged *series,
                              pfc_history *h, pfc_err *err) PFC_MUSTCHECK;

/** Half the width of a ratio's 95 % interval, in log. */
#define PFC_ANCHORED_Z 1.959964

/** Sets ratio, ratio_low and ratio_high of a window's points. points: behind the window's buckets,
 *  where it is bucketed; a bucket has the median of its ratios, and the extremes of their ends. */
pfc_code pfc_anchored_window(pfc_tx *tx, const pfc_series *series, const int64_t *run_ids,
                             const size_t *ends, pfc_window_points *points,
                             pfc_err *err) PFC_MUSTCHECK;

/** Stores the ratios of a judged session; those that are stored are replaced. */
pfc_code pfc_anchored_store(pfc_tx *tx, const pfc_session_judgement *judgement,
                            pfc_err *err) PFC_MUSTCHECK;
/** Judges the stored sessions of these runs and stores their ratios: before the runs' series are
 *  judged. A session that cannot be judged is logged, not a failure. */
pfc_code pfc_anchored_refresh(pfc_db *db, int64_t project_id, const int64_t *runs, size_t len,
                              pfc_err *err) PFC_MUSTCHECK;

#endif
