/*
 * Functions that the services share with each other; not for handlers.
 */
#ifndef PFC_SERVER_SERVICES_INTERNAL_H
#define PFC_SERVER_SERVICES_INTERNAL_H

#include "core/base/parse.h"
#include "core/changepoint/changepoint.h"
#include "core/wire/fingerprint.h"
#include "server/repo/sql/jobs.h"
#include "server/services/services.h"

/** Adds a row to the audit log: "ingest" of "run 7". detail may be NULL. */
pfc_code pfc_audit_add(pfc_tx *tx, const char *actor, const char *action, int64_t project_id,
                       const char *object, const char *detail, pfc_err *err) PFC_MUSTCHECK;
/** Sends the event to all listeners when tx commits; takes ownership of `event`. */
pfc_code pfc_event_send(pfc_tx *tx, json_t *event, pfc_err *err) PFC_MUSTCHECK;
/** Adds the stored fingerprint of a machine to *out; adds nothing if there is none. */
pfc_code pfc_machine_fingerprint(pfc_tx *tx, int64_t machine_id, pfc_labels *out,
                                 pfc_err *err) PFC_MUSTCHECK;

/** Looks up a cached token. *generation is always set, for pfc_cache_keep_token. */
bool pfc_cache_token(pfc_cache *cache, const char *hash, pfc_principal *out, uint64_t *generation);
/** Caches a token. valid_s: seconds until it expires, negative: never. Does nothing if the cache
 *  was cleared since `generation`: the token may have been revoked after it was read. */
void pfc_cache_keep_token(pfc_cache *cache, const char *hash, const pfc_principal *who,
                          double valid_s, uint64_t generation);

/* ---- positions along a branch ----
 * history/branch_positions.c is pure; commits.c and history/commits_without_parents.c store. */

typedef struct pfc_line_commit {
    const char *sha;
    const char *parents; /* ids separated by one space, first parent first; "" at a root */
    double time;
    int64_t position; /* out: from 1; 0: not on the first-parent line */
} pfc_line_commit;

/**
 * Computes the positions of a branch's commits, independently of their order of arrival. The line
 * is the first-parent chain of the newest head. Chains that do not meet it (missing commits, or
 * commits that only a run named) are put before it, older ones first; commits of merged branches
 * get 0. Sorts `commits` by id. n is bounded by memory only; O(n log n).
 */
void pfc_line_positions(pfc_line_commit *commits, size_t n);

/** A commit near the end of a line. */
typedef struct pfc_line_tail {
    const char *sha, *parent; /* parent: the first; NULL: none, or unknown */
    double time;
    int64_t position; /* in: one less than that of the element before; out: the new position */
} pfc_line_tail;
/** A new commit without known parents that is not a parent of another commit. */
typedef struct pfc_line_added {
    const char *sha;
    double time;
    int64_t id, position; /* out: position */
} pfc_line_added;

/**
 * Inserts new commits at the positions that pfc_line_positions would give them, but reads only the
 * end of the line. tail: newest first, from the line's last commit; whole: it includes the first
 * commit of the line. Sorts the new commits, newest first. Returns false if one belongs before the
 * tail: the positions are then undefined.
 */
bool pfc_line_insert(pfc_line_tail *tail, size_t tail_len, bool whole, pfc_line_added *added,
                     size_t added_len);

/** Takes the lock that protects a project's positions, and creates the branch if it is missing.
 *  Call it before any write to `commits`. PFC_ENOTFOUND: no such project. */
pfc_code pfc_history_lock(pfc_tx *tx, int64_t project_id, const char *branch,
                          pfc_err *err) PFC_MUSTCHECK;
/** Writes positions of commits of the branch (0: off the line); the caller holds the lock. *old:
 *  one of them has packed measurements, so chunks of the branch's series are no longer valid. */
pfc_code pfc_positions_set(pfc_tx *tx, int64_t project_id, const char *branch, const int64_t *ids,
                           const int64_t *positions, size_t n, bool *old,
                           pfc_err *err) PFC_MUSTCHECK;
/** Recomputes all positions of the branch from the commit graph; the caller holds the lock. For
 *  commits that cannot be inserted near the end. *changed: how many positions changed. */
pfc_code pfc_branch_recompute(pfc_tx *tx, int64_t project_id, const char *branch, size_t *changed,
                              pfc_err *err) PFC_MUSTCHECK;

/** Returns the commit's id; creates a stub if it is unknown, and adds it to the branch. */
pfc_code pfc_commit_ensure(pfc_tx *tx, int64_t project_id, const char *branch, const char *sha,
                           double time, int64_t *id, pfc_err *err) PFC_MUSTCHECK;

/* ---- points of a long series (history/packed_points.c) ---- */

typedef struct pfc_packed_point {
    int64_t position, run_id;
    double time, median, min; /* time: of the commit, Unix seconds */
    int64_t n;
} pfc_packed_point;
typedef struct pfc_packed_points {
    pfc_packed_point *items; /* by position, then by run */
    size_t len;
    /* Range of storing times that covers all of them, in PostgreSQL's text format. */
    char stored_from[40], stored_until[40];
} pfc_packed_points;

/** Limits of the points to read; 0 and NAN: no limit. */
typedef struct pfc_window_bounds {
    int64_t position_from, position_to;
    double time_from, time_to;
} pfc_window_bounds;

/** Reads all points of the window, from chunks where they exist. Free items. */
pfc_code pfc_packed_load(pfc_tx *tx, int64_t project_id, int64_t series_id, const char *branch,
                         const pfc_window_bounds *bounds, pfc_packed_points *out,
                         pfc_err *err) PFC_MUSTCHECK;

typedef struct pfc_bucket {
    /* low, high: the extremes of the medians, so that spikes stay visible */
    double median, low, high, min;
    int64_t n;
    size_t last; /* the newest point, which represents the bucket */
} pfc_bucket;
/** Groups points into `count` buckets of equal size; the first ones have one point more if the
 *  number of points is not divisible. 1 <= count <= points->len. Pure. */
void pfc_packed_buckets(const pfc_packed_points *points, pfc_bucket *out, size_t count);

/* Prefixes of a failed job's reason that distinguish the kinds of failure. */
#define PFC_JOB_BROKEN    "broken: "
#define PFC_JOB_TIMED_OUT "timed out: "

/** One row of the queue; texts may be NULL, labels and task are JSON. */
typedef struct pfc_job_row {
    const char *kind, *commit, *branch, *suite, *source, *labels, *dedupe, *task, *avoid_runner;
    const int64_t *parents; /* jobs of the project that must be done before this one */
    size_t parents_len;
    int64_t run_id;
    int priority;
} pfc_job_row;
/** Inserts a job and sends its event. *id 0: an open job has the same dedupe. */
pfc_code pfc_job_put(pfc_tx *tx, int64_t project_id, const pfc_job_row *row, int64_t *id,
                     pfc_err *err) PFC_MUSTCHECK;
/** Sends an event with the job's current state when tx commits. */
pfc_code pfc_job_announce(pfc_tx *tx, int64_t id, pfc_err *err) PFC_MUSTCHECK;
/** Calls pfc_job_announce for each of the jobs. */
pfc_code pfc_jobs_announce(pfc_tx *tx, const pfc_sql_job_id_rows *jobs, pfc_err *err) PFC_MUSTCHECK;
/** Cancels the jobs that wait for this job (0: for any job) if it ended without being done. */
pfc_code pfc_jobs_cancel_children(pfc_tx *tx, int64_t id, pfc_err *err) PFC_MUSTCHECK;
/** Normalizes labels, a JSON object of strings (NULL: none), so that equal ones compare equal as
 *  text; the caller frees *out. PFC_EINVAL: the text is not such an object. */
pfc_code pfc_labels_canonical(const char *text, char **out, pfc_err *err) PFC_MUSTCHECK;
/** Checks the blocks of a job; PFC_OK: they are valid, or there are none. */
pfc_code pfc_job_blocks_check(const pfc_job_spec *spec, pfc_err *err) PFC_MUSTCHECK;
/** The blocks as JSON for the job's task; caller decrefs. */
json_t *pfc_job_blocks_task(const pfc_job_blocks *blocks);
/** Adds the label that runners of such jobs must have to *labels, which is replaced. */
pfc_code pfc_job_blocks_labels(char **labels, pfc_err *err) PFC_MUSTCHECK;
/** Expected wait and duration of a job if it were queued now. */
typedef struct pfc_job_prospect {
    double wait_s; /* until it starts, the middle of the estimate of pfc_job_waits; NAN: unknown */
    double run_s;  /* mean of the most similar jobs; NAN: none has ended */
    /* Queued jobs that go before it: of those its runners can take, or of all if it has none. */
    int64_t before;
} pfc_job_prospect;
/** Estimates for a job with the kind, labels and priority of `row`. Does not write. (wait.c) */
pfc_code pfc_job_foresee(pfc_tx *tx, int64_t project_id, const pfc_job_row *row,
                         pfc_job_prospect *out, pfc_err *err) PFC_MUSTCHECK;
/** Finds the open alert that a culprit belongs to: the report's alert, else the alert of its metric
 *  whose range contains the culprit; 0: none. */
pfc_code pfc_alert_of_culprit(pfc_tx *tx, int64_t project_id, const pfc_bisection_report *report,
                              int64_t *alert_id, pfc_err *err) PFC_MUSTCHECK;
/** Sets the alert's culprit (NULL: none), adds the reason to its history and a notice to the
 *  outbox. PFC_ENOTFOUND: no such alert. */
pfc_code pfc_alert_set_culprit(pfc_tx *tx, const char *actor, int64_t project_id, int64_t alert_id,
                               const char *culprit, const char *reason, pfc_err *err) PFC_MUSTCHECK;
/** As pfc_alert_rank. places false: ignores the points of the series, for a caller that already
 *  counts them as evidence. */
pfc_code pfc_alert_rank_by(pfc_db *db, int64_t alert_id, bool places, pfc_alert_ranking *out,
                           pfc_err *err) PFC_MUSTCHECK;

/** After a database error: returns to the queue any job leased under that hash, without counting
 *  the try, also when only the response to the lease statement was lost. Sends events to runners,
 *  not to the server's own worker threads, which pause after an error. If the database is
 *  unreachable, the lease expires instead. */
void pfc_lease_undo(pfc_db *db, const char *lease_hash);

/** Queues a detect job for a run, or for a whole branch (run 0) whose commit order has changed. */
pfc_code pfc_detect_enqueue(pfc_tx *tx, int64_t project_id, int64_t run_id, const char *branch,
                            pfc_err *err) PFC_MUSTCHECK;

/** Loads the current detector configuration, or the defaults if none is stored. Clear *out. */
pfc_code pfc_detector_load(pfc_tx *tx, int64_t project_id, pfc_detector *out,
                           pfc_err *err) PFC_MUSTCHECK;

/** One series for detection. */
typedef struct pfc_judged {
    int64_t id;
    const char *branch;
    bool higher_is_better, exact, canary;
    pfc_detector_settings settings;
    int64_t from_position; /* the first with new points; 0: the whole series */
} pfc_judged;
/** Judges one series in tx and stores what it finds. */
pfc_code pfc_series_judge(pfc_tx *tx, int64_t project_id, const pfc_judged *series,
                          pfc_err *err) PFC_MUSTCHECK;

/* ---- a series as input of the detector (history.c) ---- */

typedef struct pfc_point_meta {
    int64_t commit_id, position;
    int64_t run_id;
    double median;             /* as measured; a point's value may be relative to the anchor */
    const char *sha, *machine; /* valid as long as the history; machine: its name */
} pfc_point_meta;

typedef struct pfc_history {
    pfc_point *points; /* by position, then by time; without runs whose canary moved */
    double **samples;  /* owned; points[i].repeats points to these */
    pfc_point_meta *meta;
    size_t len;
    pfc_res *hold; /* owns the texts */
} pfc_history;

/** Reads the points of a series that lie on its branch, from a position on (0: all). Clear *out,
 *  also after an error. If a point has a ratio to the anchor, its value is that ratio times the
 *  anchor's level: this removes drift of the machine between sessions (pfc_anchored_history). */
pfc_code pfc_history_load(pfc_tx *tx, int64_t project_id, const pfc_judged *series, int64_t from,
                          pfc_history *out, pfc_err *err) PFC_MUSTCHECK;
void pfc_history_clear(pfc_history *h);

/* ---- incremental detection on a long history (settle.c: pure) ---- */

/** The part of a series whose changes are final. All zero: none is. */
typedef struct pfc_settled {
    int64_t points;        /* changes among the first so many points are final */
    int64_t position;      /* of the newest point that this decision used */
    int64_t anchor_points; /* index of the point of the series at which detection starts */
    int64_t anchor;        /* position of that point */
} pfc_settled;

/**
 * Detects changes in a series whose first part, described by *at, is final. h begins at at->anchor,
 * or at the first point if no part is final; *at advances when enough points have been added. The
 * result depends only on the order of the points in history, not on their order of arrival: it
 * equals detection over the whole series. If a point was added at or before at->position since,
 * start again with a zero *at. Series under 1,024 points are always judged as a whole.
 * out->changes: changes at or after the first point that was not final, indices into h; noise and
 * watching are of the newest segment. Clear *out.
 */
pfc_code pfc_history_detect(const pfc_history *h, const pfc_detect_opts *opts, pfc_settled *at,
                            pfc_detection *out, pfc_err *err) PFC_MUSTCHECK;

/** Opens, keeps or closes the series' alert about slow drift (drift.c), at most one; tx holds the
 *  lock of the series. Do not call it for a canary, whose drift is caused by the machine. */
pfc_code pfc_drift_judge(pfc_tx *tx, int64_t project_id, const pfc_judged *series,
                         const pfc_history *h, const pfc_detection *found,
                         pfc_err *err) PFC_MUSTCHECK;

/** Location of a change in the history. */
typedef struct pfc_place {
    size_t index, high_index;    /* first point of the new level: likeliest, latest possible */
    int64_t position, low, high; /* of the commit: likeliest, and the confidence set's bounds */
} pfc_place;
/** False: the change lies between runs of the newest commit and cannot be located yet. */
bool pfc_history_place(const pfc_history *h, const pfc_change *c, pfc_place *out);

/* ---- regressions with one cause (cluster.c: pure) ---- */

typedef struct pfc_clustered {
    int64_t position, low, high; /* of the commit: likeliest, and the confidence set's bounds */
    double p;                    /* of a step of that size anywhere in its series */
    bool alerted;                /* has an alert, which stays */
    size_t cluster;              /* out */
    bool keep;                   /* out of pfc_cluster_judge: significant enough for an alert */
} pfc_clustered;

/** Numbers the clusters from 0; returns how many. `items` are sorted by high - low, smallest first:
 *  precisely located changes create the clusters, and an uncertain one joins the nearest cluster
 *  that it overlaps. The ranges of a cluster's changes all have commits in common. */
size_t pfc_clusters_make(pfc_clustered *const *items, size_t n);
/** Likeliest position of cluster k: that of its most precisely located member. */
int64_t pfc_cluster_position(pfc_clustered *const *items, size_t n, size_t k);
/** The clusters' numbers, ordered by position: a commit's significance level depends on the results
 *  at earlier commits (core/changepoint/fdr.h). The caller frees it. */
size_t *pfc_clusters_in_order(pfc_clustered *const *items, size_t n, size_t clusters);
/** Benjamini-Hochberg at `level` in cluster k, over the `measured` series tested at its position:
 *  series without a change count with p = 1. */
void pfc_cluster_judge(pfc_clustered *const *items, size_t n, size_t k, size_t measured,
                       double level);
/** Whether any member of cluster k has `keep` set. */
bool pfc_cluster_kept(pfc_clustered *const *items, size_t n, size_t k);

/** Stores in alerts.evidence which other series changed together with these alerts. */
pfc_code pfc_evidence_set(pfc_tx *tx, int64_t project_id, const int64_t *alerts, size_t len,
                          pfc_err *err) PFC_MUSTCHECK;

/* ---- opening and grouping (alerts/group.c) ---- */

#define PFC_WENT_AWAY "went away: the level is back where it was"

/** Opens alerts for a branch's regressions that are large enough and stay significant after
 *  correction for all series measured at the same commits and for the branch's commits (false
 *  discovery rate `fdr`, 0: PFC_ALERT_FDR). Groups alerts that one commit may have caused. Runs in
 *  a transaction of its own; idempotent. */
pfc_code pfc_alerts_open(pfc_db *db, int64_t project_id, const char *branch, double fdr,
                         pfc_err *err) PFC_MUSTCHECK;

/** Opens, keeps or closes the alerts about broken benchmarks: those with results in these runs, and
 *  all of these branches, whose commit order has changed. (broken.c) */
pfc_code pfc_broken_judge(pfc_db *db, int64_t project_id, const int64_t *runs, size_t runs_len,
                          const char *const *branches, size_t branches_len,
                          pfc_err *err) PFC_MUSTCHECK;

/** Locks a branch. Take it before writing several alerts of the branch, or events of its machines:
 *  concurrent writers would otherwise decide on stale rows and deadlock. */
pfc_code pfc_branch_lock(pfc_tx *tx, int64_t project_id, const char *branch,
                         pfc_err *err) PFC_MUSTCHECK;

/** Records whether the canary of a new run moved: opens, extends or ends the machine's event. */
pfc_code pfc_environment_note(pfc_tx *tx, int64_t project_id, int64_t machine_id, int64_t run_id,
                              bool infra, pfc_err *err) PFC_MUSTCHECK;

/** Applies the detector's change to an alert that was in state `from` when it was read. Does
 *  nothing if a user has changed its state since, or, with `own`, if the latest history entry is no
 *  longer the detector's. Locks the alert until the transaction ends. */
pfc_code pfc_alert_follow(pfc_tx *tx, int64_t project_id, int64_t alert_id, const char *from,
                          bool own, const pfc_alert_change *change, pfc_err *err) PFC_MUSTCHECK;

/** Sets state, note and culprit of an alert and writes its history; tx holds the alert's lock. The
 *  detector may set verified_fixed from any state, because it has measured the fix. */
pfc_code pfc_alert_apply(pfc_tx *tx, const char *actor, int64_t project_id, int64_t alert_id,
                         const char *from, const pfc_alert_change *change,
                         pfc_err *err) PFC_MUSTCHECK;

void pfc_texts_free(char **texts, size_t len);

#endif
