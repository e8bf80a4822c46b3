/*
 * Change-point detection of stored series: settings, judging, trying other settings. service.h has
 * the general rules.
 */
#ifndef PFC_SERVER_SERVICES_DETECT_DETECT_H
#define PFC_SERVER_SERVICES_DETECT_DETECT_H

#include "core/changepoint/online/steady.h"
#include "core/wire/detector.h"
#include "server/repo/tables/repo.h"

/* ---- detector settings of a project ---- */

typedef struct pfc_detector_version {
    int64_t version; /* 0: none was ever stored, the defaults apply */
    char *document;  /* JSON text */
    char *actor;     /* NULL: none */
    double at;
} pfc_detector_version;

/** The current configuration; clear *out. */
pfc_code pfc_detector_get(pfc_db *db, int64_t project_id, pfc_detector_version *out,
                          pfc_err *err) PFC_MUSTCHECK;
/**
 * Stores a new version and queues a detect job for every branch. The same document again makes no
 * version.
 *
 * document  JSON text, checked as by pfc_detector_parse
 * seen      version that the caller read before, 0: none was stored; negative: not said
 * *out      as of pfc_detector_get
 *
 * PFC_ECONFLICT when another version than `seen` is stored.
 */
pfc_code pfc_detector_store(pfc_db *db, const char *actor, int64_t project_id, const char *document,
                            int64_t seen, pfc_detector_version *out, pfc_err *err) PFC_MUSTCHECK;

void pfc_detector_version_clear(pfc_detector_version *version);

/* ---- trying other settings of the detector ---- */

#define PFC_REPLAY_MAX_POINTS 1000000 /* of all series of a branch together */

typedef enum pfc_label {
    PFC_LABEL_NONE,
    PFC_LABEL_REAL,  /* a user confirmed an alert there as a regression */
    PFC_LABEL_NOISE, /* a user dismissed it as noise or as caused by the machine */
} pfc_label;

typedef struct pfc_replayed {
    int64_t series_id;
    int64_t position, position_low, position_high; /* on the branch, as of pfc_window_change */
    char commit[41];
    double before, after, rel_change, rel_low, rel_high, p;
    bool regression, confirmed;
    bool alertable;  /* large enough to open an alert */
    bool alert;      /* would open an alert; false when a single series is replayed */
    pfc_label label; /* of an alert */
} pfc_replayed;

typedef struct pfc_replay {
    pfc_replayed *changes; /* by series, then in order */
    size_t changes_len;
    size_t series, points;
    double noise_rel;     /* of a single series */
    size_t watching;      /* of a single series: newest points that may be a new level */
    double watching_odds; /* ratio change : spike; NAN: no point is watched */
    /* Only for whole branches. Labels come from alerts that a user has triaged. A change that never
     * opened an alert has no label, so recall counts only changes that were once detected. */
    size_t alerts, unlabelled; /* would be opened; those of them without a label */
    size_t labelled_real, labelled_noise, found_real, found_noise;
    double precision, recall, f1; /* NAN: undefined, no labels */
} pfc_replay;

/** The changes of one series under other settings; clear *out. */
pfc_code pfc_series_replay(pfc_db *db, int64_t series_id, const pfc_detector_settings *settings,
                           pfc_replay *out, pfc_err *err) PFC_MUSTCHECK;
/** The changes of all series of a branch, which of them would open alerts, and how these agree with
 *  the triage labels. PFC_ETOOBIG over PFC_REPLAY_MAX_POINTS. */
pfc_code pfc_project_replay(pfc_db *db, int64_t project_id, const char *branch,
                            const pfc_detector *detector, pfc_replay *out,
                            pfc_err *err) PFC_MUSTCHECK;

void pfc_replay_clear(pfc_replay *replay);

/* ---- the server's background jobs ---- */

/** Counts of one batch. */
typedef struct pfc_detected {
    size_t series; /* without those that failed */
    size_t passed; /* of these: by their new points alone */
    size_t points; /* new ones of all series of the batch */
    size_t reused; /* series whose history was in memory (recent.h) */
} pfc_detected;

/** Takes a queued detect job and all others of its project, judges every series of those runs,
 *  stores change points, opens, groups and closes alerts. PFC_ENOTFOUND: none is queued. */
pfc_code pfc_detect_next(pfc_db *db, pfc_detected *out, pfc_err *err) PFC_MUSTCHECK;

/* ---- for the other services, not for handlers ---- */

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
    int64_t to_position;   /* the last with new points */
    int64_t new_points;    /* measurements of the batch, with those that are no points */
    const int64_t *runs;   /* of the batch, sorted */
    size_t runs_len;
} pfc_judged;

#define PFC_SPARK 200 /* newest medians that a series keeps for lists */

/** The detector's options for a series. */
pfc_detect_opts pfc_judged_opts(const pfc_judged *series);
/** The least relative change that the series can show. noise: of one point, relative; level: number
 *  of points of the newest level in force. */
double pfc_judged_detectable(const pfc_judged *series, double noise, size_t points, size_t level);

#define PFC_JUDGE_SERIES 64    /* of one call */
#define PFC_JUDGE_POINTS 16000 /* about so many points are read at once */

/** The judged series. Zero before the first call; pfc_judged_some_end follows the end of tx. */
typedef struct pfc_judged_some {
    size_t len, reused;                        /* reused: histories that were in memory */
    struct pfc_recent *kept[PFC_JUDGE_SERIES]; /* histories for the next points */
    size_t kept_len;
} pfc_judged_some;

/** Judges series of one branch in tx, each with its history, and stores what it finds: as of its
 *  newest point that is due. Their rows are locked in the order of ids, and stay so until tx ends.
 *  Of `len` series (at most PFC_JUDGE_SERIES) the first out->len are judged, at least one: as many
 *  as make PFC_JUDGE_POINTS points. */
pfc_code pfc_series_judge(pfc_tx *tx, int64_t project_id, const pfc_judged *const *series,
                          size_t len, pfc_judged_some *out, pfc_err *err) PFC_MUSTCHECK;
void pfc_judged_some_end(pfc_judged_some *some, bool committed);

/* ---- judging by the new points alone (pass.c) ---- */

/** The new points of a batch of runs: of those series whose stored state tells that no new point is
 *  due (core/changepoint/online/steady.h), the summaries and the states are advanced, by a few
 *  statements for all of them. passed[i] is set for these; the others must be judged with their
 *  history. lease_hash: of the batch, prolonged by seconds in the same transactions. */
pfc_code pfc_series_pass(pfc_db *db, int64_t project_id, const char *lease_hash, double seconds,
                         const int64_t *runs, size_t runs_len, const pfc_judged *series,
                         size_t series_len, bool *passed, pfc_err *err) PFC_MUSTCHECK;
/** The state in hexadecimal, the caller's to free. */
char *pfc_steady_text(const pfc_steady *steady);

/* ---- a series as input of the detector (series_points.c) ---- */

/** Raw repeats make the verdict more precise, but reading them for a very long series is too slow:
 *  of a series with more points only the medians are used. */
#define PFC_POINTS_WITH_SAMPLES 50000

typedef struct pfc_point_meta {
    int64_t commit_id, position;
    int64_t run_id;
    double median;             /* as measured; a point's value may be relative to the anchor */
    const char *sha, *machine; /* valid as long as the histories; machine: its name */
} pfc_point_meta;

typedef struct pfc_history {
    pfc_point *points; /* by position, then by time; without runs whose canary moved */
    double *repeats;   /* those of all points, which point here; NULL: the points do not own them */
    pfc_point_meta *meta;
    size_t len;
    bool anchored; /* some values are ratios to an anchor */
} pfc_history;

typedef struct pfc_histories {
    pfc_history *items;
    size_t len;
    pfc_res *hold; /* owns the texts */
} pfc_histories;

typedef struct pfc_history_wanted {
    const pfc_judged *series;
    int64_t from;     /* position of the first point; 0: all */
    int64_t to;       /* position of the last point; 0: all */
    int64_t from_run; /* no point is of a run with a lower number */
    size_t before;    /* points before that one */
    size_t expected;  /* points, about: without effect on the result */
    bool anchored;    /* it may have ratios to an anchor; false: it has none */
} pfc_history_wanted;

/** Reads the points of series of one branch that lie on that branch. Clear *out, also after an
 *  error; items[i] is of wanted[i]. If a point has a ratio to the anchor, its value is that ratio
 *  times the anchor's level: this removes drift of the machine between sessions
 *  (pfc_anchored_history). Of a series that is very long the points have no repeats. */
pfc_code pfc_histories_load(pfc_tx *tx, int64_t project_id, const pfc_history_wanted *wanted,
                            size_t len, pfc_histories *out, pfc_err *err) PFC_MUSTCHECK;
/** The same of one series, from its first point on. */
pfc_code pfc_history_load(pfc_tx *tx, int64_t project_id, const pfc_judged *series,
                          pfc_histories *out, pfc_err *err) PFC_MUSTCHECK;

/** The order of two int64_t, for qsort and bsearch. */
int pfc_by_number(const void *a, const void *b);

void pfc_histories_clear(pfc_histories *all);
void pfc_history_clear(pfc_history *h);
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
 * The result is that of the first *judged points of h, which end with the newest that is due
 * (core/changepoint/online/steady.h); *replay is as of pfc_steady_detect, of the points from the
 * new at->anchor on. With h->anchored every point is due, and *replay is left alone.
 */
pfc_code pfc_history_detect(const pfc_history *h, const pfc_detect_opts *opts, pfc_settled *at,
                            pfc_steady_replay *replay, size_t *judged, pfc_detection *out,
                            pfc_err *err) PFC_MUSTCHECK;

/** Opens, keeps or closes the series' alert about slow drift (drift.c), at most one; tx holds the
 *  lock of the series. known: the series has or had changes. Do not call it for a canary, whose
 *  drift is caused by the machine. */
pfc_code pfc_drift_judge(pfc_tx *tx, int64_t project_id, const pfc_judged *series,
                         const pfc_history *h, const pfc_detection *found, bool known,
                         pfc_err *err) PFC_MUSTCHECK;

/** Location of a change in the history. */
typedef struct pfc_place {
    size_t index, high_index;    /* first point of the new level: likeliest, latest possible */
    int64_t position, low, high; /* of the commit: likeliest, and the confidence set's bounds */
} pfc_place;

/** False: the change lies between runs of the newest commit and cannot be located yet. */
bool pfc_history_place(const pfc_history *h, const pfc_change *c, pfc_place *out);

#endif
