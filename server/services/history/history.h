/*
 * Results along the commits of a branch: commits and their positions, windows of a series, packed
 * points, source files. compare.h compares two commits. service.h has the general rules.
 */
#ifndef PFC_SERVER_SERVICES_HISTORY_HISTORY_H
#define PFC_SERVER_SERVICES_HISTORY_HISTORY_H

#include "core/wire/wire.h"
#include "server/repo/tables/repo.h"

/* ---- commits ---- */

/** Stores commits of a branch (NULL: the project's), in any order; storing one again is harmless.
 *  Completes commits that only a run had named. *fresh: how many commits were not stored before. */
pfc_code pfc_commits_store(pfc_db *db, const char *actor, int64_t project_id, const char *branch,
                           const pfc_commit *commits, size_t len, size_t *fresh,
                           pfc_err *err) PFC_MUSTCHECK;

/* ---- one series ---- */

typedef struct pfc_window_point {
    int64_t position;
    const char *commit, *subject, *author;
    double time; /* of the commit */
    double median, low, high, min;
    int64_t n;
    int64_t run_id;
    int64_t machine_id;
    const char *fingerprint; /* hash */
    bool infra;
    const char *session; /* the run's; NULL: none */
    /* Ratio to the series' current anchor, 95 % interval (anchored.h); NAN: none. */
    double ratio, ratio_low, ratio_high;
    /* "exact", "confirmed" or "single"; NULL: a bucket of several results of a series that is not
     * exact. */
    const char *reproducibility;
} pfc_window_point;

PFC_ROWS(pfc_window_points, pfc_window_point);

typedef struct pfc_window_change {
    int64_t id;
    int64_t position, position_low, position_high;
    const char *commit, *commit_low, *commit_high;
    double before, after, rel_change, rel_low, rel_high, p;
    bool regression, confirmed, alertable;
    int64_t alert_id;                       /* 0: none */
    const char *withheld, *withheld_detail; /* why there is no alert, as stored (withheld.h) */
    const char *blocks;                     /* JSON: a session's verdict on it; NULL: none */
    int64_t index, index_low, index_high;   /* into points */
} pfc_window_change;

PFC_ROWS(pfc_window_changes, pfc_window_change);

typedef struct pfc_window_boundary {
    size_t index;  /* first point with the new fingerprint */
    char **fields; /* names that differ; owned */
    size_t fields_len;
} pfc_window_boundary;

typedef struct pfc_window {
    pfc_series_rows series;     /* one */
    pfc_window_points points;   /* by position, then by run */
    pfc_window_changes changes; /* those whose commit lies in the window */
    pfc_window_boundary *boundaries;
    size_t boundaries_len;
    int64_t hidden; /* results of the series that a quarantine hides; they are no points */
    bool bucketed;  /* points are buckets: low and high are the extremes in the bucket */
} pfc_window;

typedef struct pfc_window_opts {
    const char *from, *to; /* Unix seconds or commit ids (7 or more digits); NULL: open */
    int points;            /* at most 5000; 0: 2000. A longer series is put into so many buckets */
} pfc_window_opts;

/** PFC_ENOTFOUND: no such series or commit; PFC_EINVAL: from/to cannot be parsed. */
pfc_code pfc_series_window(pfc_db *db, int64_t series_id, const pfc_window_opts *opts,
                           pfc_window *out, pfc_err *err) PFC_MUSTCHECK;
void pfc_window_clear(pfc_window *window);

#define PFC_SOURCES_MAX_FILES 20000
#define PFC_SOURCES_MAX_GLOBS 256

typedef struct pfc_sources {
    const char *benchmark; /* "*": every benchmark without a list of its own */
    const char *commit;    /* 40 digits: the commit that was built */
    const char *const *files, *const *globs;
    const char *const *runtime; /* globs of files that the programs read at run time */
    size_t files_len, globs_len, runtime_len;
} pfc_sources;

/** Replaces the stored source files of a benchmark; an empty list keeps the old one. */
pfc_code pfc_sources_store(pfc_db *db, const char *actor, int64_t project_id,
                           const pfc_sources *sources, pfc_err *err) PFC_MUSTCHECK;

/** Packs points of long series into chunks (migration 0012), page by page; `cursor` starts at 0 and
 *  is 0 again after the last series. Skips points stored in the last `quiet_s` seconds, which is
 *  twice the longest transaction. Several servers may call it concurrently. */
#define PFC_CHUNKS_QUIET_S 600.0

pfc_code pfc_chunks_step(pfc_db *db, double quiet_s, int64_t *cursor, size_t *built,
                         pfc_err *err) PFC_MUSTCHECK;

/* ---- for the other services, not for handlers ---- */

/** The class of a result: "exact" when its metric has no noise, "confirmed" when another job
 *  measured the commit again on the same machine class and the intervals overlap, else "single". Of
 *  several results, pass whether all are exact and whether all are confirmed. Pure. */
const char *pfc_reproducibility(bool exact, bool confirmed);

/** Sets the class of each point of the window. The points of a commit are neighbours. */
pfc_code pfc_window_reproduced(pfc_tx *tx, const pfc_series *series, pfc_window *w,
                               pfc_err *err) PFC_MUSTCHECK;

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

/**
 * As pfc_line_positions, but reads only the end of the line and what is new: the cost does not grow
 * with the history.
 *
 * commits   sorted by id: all commits of the line behind the first `before`, and the new ones
 * was       of each commit its old position; 0: it is new, or its parents have become known
 * before    so many commits of the line are not read; 0: the whole line is
 * outside   out: parents that are not among `commits` and decide the order, 40 digits each; the
 *           result stands only if none of them is on the branch. Room for pfc_line_parents,
 *           borrowed from `commits`
 *
 * Before the call, no other commit of the branch may have a new one among its parents. Returns
 * false when more of the line must be read: the positions are undefined then.
 */
bool pfc_line_end(pfc_line_commit *commits, size_t n, const int64_t *was, int64_t before,
                  const char **outside, size_t *outside_len);
/** How many parents they have together. */
size_t pfc_line_parents(const pfc_line_commit *commits, size_t n);

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

/** As pfc_branch_recompute when these commits are new on the branch, or their parents have become
 *  known: reads the end of the line only where that is enough. (branch_end.c) */
pfc_code pfc_branch_extend(pfc_tx *tx, int64_t project_id, const char *branch, const int64_t *fresh,
                           size_t fresh_len, size_t *changed, pfc_err *err) PFC_MUSTCHECK;

/** The commits of `rows`, without positions; texts are borrowed. Caller frees. */
pfc_line_commit *pfc_line_of(const pfc_sql_branch_member_rows *rows);
/** Writes the positions of `line` that differ from those of `rows`, both sorted by id. */
pfc_code pfc_line_store(pfc_tx *tx, int64_t project_id, const char *branch,
                        const pfc_sql_branch_member_rows *rows, const pfc_line_commit *line,
                        size_t *changed, pfc_err *err) PFC_MUSTCHECK;

/** Returns the commit's id; creates a stub if it is unknown, and adds it to the branch. */
pfc_code pfc_commit_ensure(pfc_tx *tx, int64_t project_id, const char *branch, const char *sha,
                           double time, int64_t *id, pfc_err *err) PFC_MUSTCHECK;

/** Adds commits to the end of the branch in this order, whatever their times and parents; stubs
 *  where they are unknown. A commit that is on the branch already keeps its position. For branches
 *  of pull requests, whose commits the service does not know from their history. */
pfc_code pfc_commits_append(pfc_tx *tx, int64_t project_id, const char *branch,
                            const char *const *shas, size_t len, pfc_err *err) PFC_MUSTCHECK;

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

/** Reads the ends of a window: Unix seconds or ids of commits on the branch (7 or more digits);
 *  NULL: open. PFC_EINVAL with the field "from" or "to"; PFC_ENOTFOUND: no such commit. */
pfc_code pfc_window_bounds_read(pfc_tx *tx, int64_t project_id, const char *branch,
                                const char *from, const char *to, pfc_window_bounds *out,
                                pfc_err *err) PFC_MUSTCHECK;
/** The position of a commit on the branch; `field` names it in errors. Codes as above. */
pfc_code pfc_window_position(pfc_tx *tx, int64_t project_id, const char *branch, const char *commit,
                             const char *field, int64_t *position, pfc_err *err) PFC_MUSTCHECK;

/** True within the bounds. Pure. */
bool pfc_packed_inside(const pfc_packed_point *point, const pfc_window_bounds *bounds);
/** Appends the points of a chunk (point_pack, migration 0012) that lie within the bounds. */
pfc_code pfc_packed_append(pfc_bytes packed, const pfc_window_bounds *bounds,
                           pfc_packed_points *out, pfc_err *err) PFC_MUSTCHECK;
/** Orders points by position, then by run. */
void pfc_packed_sort(pfc_packed_points *points);

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

#endif
