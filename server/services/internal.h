/*
 * What the services share among themselves.
 */
#ifndef PFC_SERVER_SERVICES_INTERNAL_H
#define PFC_SERVER_SERVICES_INTERNAL_H

#include "core/base/parse.h"
#include "core/changepoint/changepoint.h"
#include "core/wire/fingerprint.h"
#include "server/repo/sql/jobs.h"
#include "server/services/services.h"

/** Leaves a row in the audit log: "ingest" of "run 7". detail may be NULL. */
pfc_code pfc_note(pfc_tx *tx, const char *actor, const char *action, int64_t project_id,
                  const char *object, const char *detail, pfc_err *err) PFC_MUSTCHECK;
/** Tells listeners when tx commits; takes `event`. */
pfc_code pfc_tell(pfc_tx *tx, json_t *event, pfc_err *err) PFC_MUSTCHECK;
/** What is known of a machine, added to *out; nothing where nothing is. */
pfc_code pfc_machine_fingerprint(pfc_tx *tx, int64_t machine_id, pfc_labels *out,
                                 pfc_err *err) PFC_MUSTCHECK;

/** A remembered token; *generation is for pfc_cache_keep_token, whatever comes back. */
bool pfc_cache_token(pfc_cache *cache, const char *hash, pfc_principal *out, uint64_t *generation);
/** valid_s: until it expires, negative: never. Nothing is kept when something changed meanwhile. */
void pfc_cache_keep_token(pfc_cache *cache, const char *hash, const pfc_principal *who,
                          double valid_s, uint64_t generation);

/* ---- positions along a branch (history/branch_positions.c: pure; commits.c and history/commits_without_parents.c: stored) ---- */

typedef struct pfc_line_commit {
    const char *sha;
    const char *parents; /* ids separated by one space, first parent first; "" at a root */
    double time;
    int64_t position; /* out: from 1; 0: not on the first-parent line */
} pfc_line_commit;

/**
 * Positions of a branch's commits, whatever order they arrived in. The line is the first-parent
 * chain of the newest head. Chains that do not meet it (a gap in what is known, commits known from
 * runs only) are put before it, the older ones first; commits of merged branches get 0.
 * Sorts `commits` by id. n is bounded by memory only; O(n log n).
 */
void pfc_line_positions(pfc_line_commit *commits, size_t n);

/** A commit of the end of a line. */
typedef struct pfc_line_tail {
    const char *sha, *parent; /* parent: the first; NULL: it has none, or none was told */
    double time;
    int64_t position; /* in: one less than that of the one before; out: what it becomes */
} pfc_line_tail;
/** A commit without a tie to any other: no parents are told, and nobody's parent is it. */
typedef struct pfc_line_newcomer {
    const char *sha;
    double time;
    int64_t id, position; /* out: position */
} pfc_line_newcomer;

/**
 * Puts newcomers where pfc_line_positions would have them, from the end of the line alone. tail: newest
 * first, from the line's last commit on; whole: it goes back to the first one. Sorts `newcomers`, newest
 * first. True: all found their place. False: it lies further back; nothing but the order of `newcomers` is
 * worth anything then.
 */
bool pfc_line_insert(pfc_line_tail *tail, size_t tail_len, bool whole, pfc_line_newcomer *newcomers,
                     size_t newcomers_len);

/** Takes the lock under which a project's positions are written, and makes the branch. Before anything
 *  is written to commits. PFC_ENOTFOUND: no such project. */
pfc_code pfc_history_lock(pfc_tx *tx, int64_t project_id, const char *branch,
                          pfc_err *err) PFC_MUSTCHECK;
/** Writes positions of commits of the branch (0: off the line), under the lock. *old: one of them had
 *  been measured for a while, so chunks of the branch's series do not hold any longer. */
pfc_code pfc_positions_set(pfc_tx *tx, int64_t project_id, const char *branch, const int64_t *ids,
                           const int64_t *positions, size_t n, bool *old,
                           pfc_err *err) PFC_MUSTCHECK;
/** From the graph, whole, under the lock: for what is not simply put in at the end. *changed: how many
 *  positions did. */
pfc_code pfc_branch_recompute(pfc_tx *tx, int64_t project_id, const char *branch, size_t *changed,
                              pfc_err *err) PFC_MUSTCHECK;

/** The commit's id, made as a stub when unknown, and made a member of the branch. */
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
    char stored_from[40],
        stored_until[40]; /* when they were stored, and not far beyond, as PostgreSQL says it */
} pfc_packed_points;

/** What of a series to read; 0 and NAN: open. */
typedef struct pfc_window_bounds {
    int64_t position_from, position_to;
    double time_from, time_to;
} pfc_window_bounds;

/** All points of the window, from chunks where there are. Free items. */
pfc_code pfc_packed_load(pfc_tx *tx, int64_t project_id, int64_t series_id, const char *branch,
                         const pfc_window_bounds *bounds, pfc_packed_points *out,
                         pfc_err *err) PFC_MUSTCHECK;

typedef struct pfc_bucket {
    double median, low, high,
        min; /* low, high: the extremes of the medians, so that no spike is lost */
    int64_t n;
    size_t last; /* the newest point, which stands for the bucket */
} pfc_bucket;
/** `count` buckets of as many points each, the first ones of one more where it does not come out
 *  even. 1 <= count <= points->len. Pure. */
void pfc_packed_buckets(const pfc_packed_points *points, pfc_bucket *out, size_t count);

/* How the reason of a failed job begins, when more is known than that it failed. */
#define PFC_JOB_BROKEN    "broken: "
#define PFC_JOB_TIMED_OUT "timed out: "

/** One row of the queue; texts may be NULL, labels and task are JSON. */
typedef struct pfc_job_row {
    const char *kind, *commit, *branch, *suite, *source, *labels, *dedupe, *task, *avoid_runner;
    const int64_t *parents; /* jobs of the project that must be done first */
    size_t parents_len;
    int64_t run_id;
    int priority;
} pfc_job_row;
/** Inserts and announces it; *id 0: one with the same dedupe is open. */
pfc_code pfc_job_put(pfc_tx *tx, int64_t project_id, const pfc_job_row *row, int64_t *id,
                     pfc_err *err) PFC_MUSTCHECK;
/** Announces the job as it is now, when tx commits. */
pfc_code pfc_job_tell(pfc_tx *tx, int64_t id, pfc_err *err) PFC_MUSTCHECK;
/** Announces each of the jobs as pfc_job_tell does. */
pfc_code pfc_jobs_tell(pfc_tx *tx, const pfc_sql_job_id_rows *jobs, pfc_err *err) PFC_MUSTCHECK;
/** What waits for the job (0: for any) is cancelled when that ended without being done. */
pfc_code pfc_jobs_cancel_children(pfc_tx *tx, int64_t id, pfc_err *err) PFC_MUSTCHECK;
/** Labels, an object of texts (NULL: none), written one way so that equal ones compare equal; *out is
 *  owned. PFC_EINVAL: it is something else. */
pfc_code pfc_labels_canonical(const char *text, char **out, pfc_err *err) PFC_MUSTCHECK;
/** What a job with blocks must hold; PFC_OK also without. */
pfc_code pfc_job_blocks_check(const pfc_job_spec *spec, pfc_err *err) PFC_MUSTCHECK;
/** As its task names it; caller decrefs. */
json_t *pfc_job_blocks_task(const pfc_job_blocks *blocks);
/** Adds what its runner must be able to do to *labels, which is replaced. */
pfc_code pfc_job_blocks_labels(char **labels, pfc_err *err) PFC_MUSTCHECK;
/** What it would meet if it were queued now. */
typedef struct pfc_job_prospect {
    double wait_s; /* until it begins, the middle of the estimate of pfc_job_waits; NAN: unknown */
    double run_s;  /* mean of the jobs that are most like it; NAN: none has ended */
    int64_t
        before; /* jobs that wait and go first to a runner that may take it, or to any where none may */
} pfc_job_prospect;
/** Of `row` its kind, labels and priority count. Changes nothing. (wait.c) */
pfc_code pfc_job_foresee(pfc_tx *tx, int64_t project_id, const pfc_job_row *row,
                         pfc_job_prospect *out, pfc_err *err) PFC_MUSTCHECK;
/** The open alert that a culprit belongs to: the report's, else the one of its metric whose range
 *  holds it; 0: none. */
pfc_code pfc_alert_of_culprit(pfc_tx *tx, int64_t project_id, const pfc_bisection_report *report,
                              int64_t *alert_id, pfc_err *err) PFC_MUSTCHECK;
/** Puts the culprit (NULL: none) on the alert, with the reason in its history and a
 *  notice in the outbox. PFC_ENOTFOUND: no such alert. */
pfc_code pfc_alert_set_culprit(pfc_tx *tx, const char *actor, int64_t project_id, int64_t alert_id,
                         const char *culprit, const char *reason, pfc_err *err) PFC_MUSTCHECK;
/** As pfc_alert_rank; places false: by the commits alone, without the series, whose points are
 *  evidence of their own elsewhere. */
pfc_code pfc_alert_rank_by(pfc_db *db, int64_t alert_id, bool places, pfc_alert_ranking *out,
                           pfc_err *err) PFC_MUSTCHECK;

/** Gives back at once, its try not counted, what may have been leased under that hash, after a fault of the
 *  database: also when only the answer to the leasing was lost. Tells runners, not the server's own
 *  workers: they pause after a fault. As far as the database can be reached; else the lease runs out. */
void pfc_lease_undo(pfc_db *db, const char *lease_hash);

/** Queues the judging of a run, or of a whole branch (run 0) whose order has changed. */
pfc_code pfc_detect_enqueue(pfc_tx *tx, int64_t project_id, int64_t run_id, const char *branch,
                            pfc_err *err) PFC_MUSTCHECK;

/** The configuration that holds, for judging; the defaults when none was stored. Clear *out. */
pfc_code pfc_detector_load(pfc_tx *tx, int64_t project_id, pfc_detector *out,
                           pfc_err *err) PFC_MUSTCHECK;

/** One series for detection. */
typedef struct pfc_judged {
    int64_t id;
    const char *branch;
    bool higher_is_better, exact, canary;
    pfc_detector_settings settings;
    int64_t from_position; /* the first at which something is new; 0: all of it */
} pfc_judged;
/** Judges one series in tx and stores what it finds. */
pfc_code pfc_series_judge(pfc_tx *tx, int64_t project_id, const pfc_judged *series,
                          pfc_err *err) PFC_MUSTCHECK;

/* ---- a series as the detector sees it (history.c) ---- */

typedef struct pfc_point_meta {
    int64_t commit_id, position;
    int64_t run_id;
    double median; /* as it was measured; a point's value may be in units of the anchor */
    const char *sha, *machine; /* live as long as the history; machine: its name */
} pfc_point_meta;

typedef struct pfc_history {
    pfc_point *points; /* in the branch's order, then by time; runs whose canary moved left out */
    double **samples;  /* owned; behind points[i].repeats */
    pfc_point_meta *meta;
    size_t len;
    pfc_res *hold; /* behind the texts */
} pfc_history;

/** Reads the points of a series that lie on its branch, from a position on (0: all); clear *out,
 *  also after a fault. The value of a point that has a ratio to the anchor is that ratio times the anchor's
 *  level, so that nights are joined without what the machine did (pfc_anchored_history). */
pfc_code pfc_history_load(pfc_tx *tx, int64_t project_id, const pfc_judged *series, int64_t from,
                          pfc_history *out, pfc_err *err) PFC_MUSTCHECK;
void pfc_history_clear(pfc_history *h);

/* ---- judging a long history piece by piece (settle.c: pure) ---- */

/** How far a series is judged for good. All zero: nothing is. */
typedef struct pfc_firm {
    int64_t points;        /* the first so many points: changes among them stay as they are */
    int64_t position;      /* of the newest point that was looked at for that */
    int64_t anchor_points; /* detection starts at this point of the series, */
    int64_t anchor;        /* whose position this is */
} pfc_firm;

/**
 * Changes of a series of which the first *at is settled already. h begins at at->anchor, or at the
 * beginning when nothing is settled; *at moves on where enough points have come. What is settled
 * depends on the points in their order in history alone: the answer is that of judging the whole
 * series from its beginning, whatever came when, as long as no point lies at or before
 * at->position that was not there when it was settled (begin anew then). Series under 1,024 points
 * are judged whole. out->changes: those at or after the first point not settled before, indices
 * into h; noise and watching are of the newest stretch. Clear *out.
 */
pfc_code pfc_history_detect(const pfc_history *h, const pfc_detect_opts *opts, pfc_firm *at,
                            pfc_detection *out, pfc_err *err) PFC_MUSTCHECK;

/** Opens, keeps or closes the series' one alert about slow drift (drift.c); tx holds the series. The
 *  canary's drift is the machine's: do not ask for it. */
pfc_code pfc_drift_judge(pfc_tx *tx, int64_t project_id, const pfc_judged *series,
                         const pfc_history *h, const pfc_detection *found,
                         pfc_err *err) PFC_MUSTCHECK;

/** Where a change lies, in terms of history. */
typedef struct pfc_place {
    size_t index, high_index;    /* points: first of the new level, last possible first one */
    int64_t position, low, high; /* of the commits: likeliest, and the ends of what may be it */
} pfc_place;
/** False when the change lies between the runs of the newest commit: nothing to say yet. */
bool pfc_history_place(const pfc_history *h, const pfc_change *c, pfc_place *out);

/* ---- regressions with one cause (cluster.c: pure) ---- */

typedef struct pfc_clustered {
    int64_t position, low, high; /* commits: likeliest, and the ends of what may be it */
    double p;                    /* of a step that clear anywhere in its series */
    bool alerted;                /* has an alert, and keeps it */
    size_t cluster;              /* out */
    bool keep;                   /* out of pfc_cluster_judge: worth an alert */
} pfc_clustered;

/** Numbers the clusters from 0; returns how many. `items` come sharpest first (high - low): these
 *  make the clusters, and a change whose place is uncertain goes to the nearest one that it may
 *  belong to. All of a cluster have commits in common. */
size_t pfc_clusters_make(pfc_clustered *const *items, size_t n);
/** Where cluster k most likely is: the place of its sharpest member. */
int64_t pfc_cluster_position(pfc_clustered *const *items, size_t n, size_t k);
/** The clusters' numbers in the order of their places: a commit's level depends on what stands at
 *  earlier ones (core/changepoint/fdr.h). The caller frees it. */
size_t *pfc_clusters_in_order(pfc_clustered *const *items, size_t n, size_t clusters);
/** Benjamini-Hochberg at `level` in cluster k, over the `measured` series that were looked at there:
 *  those that did not change count with p = 1. */
void pfc_cluster_judge(pfc_clustered *const *items, size_t n, size_t k, size_t measured,
                       double level);
/** Whether any of cluster k is worth an alert. */
bool pfc_cluster_kept(pfc_clustered *const *items, size_t n, size_t k);

/** Says of alerts what else moved with them, in alerts.evidence. */
pfc_code pfc_evidence_set(pfc_tx *tx, int64_t project_id, const int64_t *alerts, size_t len,
                          pfc_err *err) PFC_MUSTCHECK;

/* ---- opening and grouping (alerts/group.c) ---- */

#define PFC_WENT_AWAY "went away: the level is back where it was"

/** Opens the alerts of a branch's firm regressions, as far as they stand among all series measured
 *  at the same commits and among the branch's commits (rate `fdr`, 0: PFC_ALERT_FDR), and groups those
 *  that one commit may have caused. In a transaction of its own; repeating it changes nothing. */
pfc_code pfc_alerts_open(pfc_db *db, int64_t project_id, const char *branch, double fdr,
                         pfc_err *err) PFC_MUSTCHECK;

/** Opens, keeps or closes the alerts about broken benchmarks: of what these runs have results of, and of all
 *  of these branches, whose order has changed. (broken.c) */
pfc_code pfc_broken_judge(pfc_db *db, int64_t project_id, const int64_t *runs, size_t runs_len,
                          const char *const *branches, size_t branches_len,
                          pfc_err *err) PFC_MUSTCHECK;

/** Whoever writes several alerts of a branch, or of its machines' events, holds the branch first: else what one
 *  reads is undone by another's writing, and both wait for each other. */
pfc_code pfc_branch_lock(pfc_tx *tx, int64_t project_id, const char *branch,
                         pfc_err *err) PFC_MUSTCHECK;

/** Notes whether the canary of a new run moved: opens, prolongs or ends the machine's event. */
pfc_code pfc_environment_note(pfc_tx *tx, int64_t project_id, int64_t machine_id, int64_t run_id,
                              bool infra, pfc_err *err) PFC_MUSTCHECK;

/** The detector's change of an alert that was in state `from` when it was read. Somebody may have said
 *  something since: nothing is done when its state is another one, or, with `own`, when the last word on it is
 *  no more the detector's. Has the alert until the transaction ends. */
pfc_code pfc_alert_follow(pfc_tx *tx, int64_t project_id, int64_t alert_id, const char *from,
                          bool own, const pfc_alert_change *change, pfc_err *err) PFC_MUSTCHECK;

/** Sets state, note, culprit of an alert with its history; tx holds the alert. The detector may set
 *  verified_fixed from any state: it has measured it. */
pfc_code pfc_alert_apply(pfc_tx *tx, const char *actor, int64_t project_id, int64_t alert_id,
                         const char *from, const pfc_alert_change *change,
                         pfc_err *err) PFC_MUSTCHECK;

void pfc_texts_free(char **texts, size_t len);

#endif
