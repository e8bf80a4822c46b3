/*
 * The service layer: the rules of the server, independent of HTTP and of the API's JSON.
 *
 * Plain reads are the lists of the repository layer (server/repo/tables/repo.h); handlers may call
 * them directly. Every function here takes the connection pool, is thread-safe, and is atomic: its
 * changes are stored completely or not at all. `actor` names the author ("token 3 (ci)",
 * "detector"); every change adds a row to `audit`. LISTEN/NOTIFY announces the changes that other
 * processes wait for (pfc_listener in db.h).
 */
#ifndef PFC_SERVER_SERVICES_SERVICES_H
#define PFC_SERVER_SERVICES_SERVICES_H

#include "core/stats/stats.h"
#include "core/suspects/suspects.h"
#include "core/wire/detector.h"
#include "core/wire/wire.h"
#include "server/repo/sql/evidence.h"
#include "server/repo/sql/verifications.h"
#include "server/repo/tables/repo.h"
#include "server/services/queue/queue.h"

/* ---- projects ---- */

/** Creates the project, or returns the existing one (*created false). name: a slug; branch NULL:
 *  main; repo_url may be NULL. PFC_ECONFLICT: it exists with another branch or URL. */
pfc_code pfc_project_create(pfc_db *db, const char *actor, const char *name, const char *branch,
                            const char *repo_url, bool *created, pfc_projects *out,
                            pfc_err *err) PFC_MUSTCHECK;
/** Headline series of the project, on its default branch. */
pfc_code pfc_project_headline(pfc_db *db, int64_t project_id, pfc_series_rows *out,
                              pfc_err *err) PFC_MUSTCHECK;

/* ---- commits ---- */

/** Stores commits of a branch (NULL: the project's), in any order; storing one again is harmless.
 *  Completes commits that only a run had named. *fresh: how many commits were not stored before. */
pfc_code pfc_commits_store(pfc_db *db, const char *actor, int64_t project_id, const char *branch,
                           const pfc_commit *commits, size_t len, size_t *fresh,
                           pfc_err *err) PFC_MUSTCHECK;

/* ---- runs ---- */

typedef struct pfc_ingest_result {
    int64_t run_id;
    char id[33];
    int64_t series;  /* measurements of this document that belong to a series */
    int64_t samples; /* raw samples of this document */
    bool repeated;   /* it was stored before: respond with 200 instead of 201 */
} pfc_ingest_result;

/**
 * Stores a run in one transaction: run, machine, series, measurements, and its detect job.
 * Idempotent by run->id and by `key` (Idempotency-Key, at most 200 bytes, or NULL): the same
 * document again gives the same result. Another document under either is PFC_ECONFLICT, unless it
 * is a further part of a split run (same header, other measurements). project_id is that of
 * run->project (the caller has checked the token against it). PFC_EINVAL: the run has no commit.
 */
pfc_code pfc_run_ingest(pfc_db *db, const char *actor, int64_t project_id, const pfc_run *run,
                        const char *key, pfc_ingest_result *out, pfc_err *err) PFC_MUSTCHECK;
/** The stored document with the measurements of all its parts; caller frees with pfc_run_free. */
pfc_code pfc_run_load(pfc_db *db, int64_t project_id, int64_t run_id, pfc_run **out,
                      pfc_err *err) PFC_MUSTCHECK;

/* ---- group commit: runs of concurrent requests ---- */

typedef struct pfc_cache pfc_cache; /* see below: tokens and projects */

/**
 * Group commit: reader threads parse request bodies; writer threads store all queued runs in one
 * transaction and call done(). The HTTP threads therefore never work for long, and probes and pages
 * get responses while many runs arrive. A ticket is one run that is being ingested. The caller owns
 * it and may free it at any time: a queued run is stored anyway.
 */
typedef struct pfc_writer pfc_writer;
typedef struct pfc_ingest_ticket pfc_ingest_ticket;

typedef struct pfc_writer_opts {
    pfc_db *db;
    unsigned threads; /* 0: 2, which is enough for two cores and leaves one to PostgreSQL */
    unsigned readers; /* threads that parse documents; 0: 2 */
    double run_ns;    /* assumed time to store one run, until it is measured; 0: 0.5 ms */
    /* Called by a writer when the tickets with these tags are done; must not block. */
    void (*done)(void *context, const uint64_t *tags, size_t len);
    void *context;
} pfc_writer_opts;

typedef struct pfc_writer_counts {
    size_t waiting, room; /* queued runs, and their limit at the current storing rate */
    uint64_t groups;      /* group transactions, including those with one run */
    uint64_t grouped;     /* runs stored by them */
    uint64_t alone;       /* runs that needed a transaction of their own */
} pfc_writer_counts;

pfc_code pfc_writer_start(pfc_writer **out, const pfc_writer_opts *opts,
                          pfc_err *err) PFC_MUSTCHECK;
/** Stores the queued runs, ends the threads, frees. Accepts NULL. */
void pfc_writer_stop(pfc_writer *writer);
/** Queues the ticket; `tag` is passed to done(). PFC_EUNAVAIL: the queue is full. Its limit is one
 *  second of work at the measured rate, but at least 256 and at most 4,096 runs, and 64 MiB. */
pfc_code pfc_writer_submit(pfc_writer *writer, pfc_ingest_ticket *ticket, uint64_t tag,
                           pfc_err *err) PFC_MUSTCHECK;
/** Fails a ticket that was not queued with this error. */
void pfc_writer_refuse(pfc_ingest_ticket *ticket, const pfc_err *err);
void pfc_writer_figures(pfc_writer *writer, pfc_writer_counts *out);

/** A run as the request sent it. */
typedef struct pfc_ingest_request {
    const char *actor;
    int64_t only_project; /* of the token that sent it; 0: any */
    const char *body;     /* JSON, schema/json/run.schema.json */
    size_t body_len;
    const char *key; /* Idempotency-Key; NULL: none */
} pfc_ingest_request;

/** Copies the request; a reader thread parses it later. `cache` must outlive the ticket. */
void pfc_ingest_ticket_request(const pfc_ingest_request *request, pfc_cache *cache,
                               pfc_ingest_ticket **out);
/** Checks a run and computes its statistics, without the database. Takes ownership of `run`, also
 *  on failure. bytes: approximate size of the document. Errors as for pfc_run_ingest. */
pfc_code pfc_ingest_ticket_new(const char *actor, int64_t project_id, pfc_run *run, const char *key,
                               size_t bytes, pfc_ingest_ticket **out, pfc_err *err) PFC_MUSTCHECK;
/** Returns the ticket's result. A ticket that was never submitted is stored now, in its own
 *  transaction. PFC_EUNAVAIL: it is still queued and has no result yet. */
pfc_code pfc_ingest_ticket_take(pfc_db *db, pfc_ingest_ticket *ticket, pfc_ingest_result *out,
                                pfc_err *err) PFC_MUSTCHECK;
/** Accepts NULL. */
void pfc_ingest_ticket_free(pfc_ingest_ticket *ticket);

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
} pfc_window_point;
PFC_ROWS(pfc_window_points, pfc_window_point);

typedef struct pfc_window_change {
    int64_t id;
    int64_t position, position_low, position_high;
    const char *commit, *commit_low, *commit_high;
    double before, after, rel_change, rel_low, rel_high, p;
    bool regression, confirmed, firm;
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
    bool bucketed; /* points are buckets: low and high are the extremes in the bucket */
} pfc_window;

typedef struct pfc_window_opts {
    const char *from, *to; /* Unix seconds or commit ids (7 or more digits); NULL: open */
    int points;            /* at most 5000; 0: 2000. A longer series is put into so many buckets */
} pfc_window_opts;

/** PFC_ENOTFOUND: no such series or commit; PFC_EINVAL: from/to cannot be parsed. */
pfc_code pfc_series_window(pfc_db *db, int64_t series_id, const pfc_window_opts *opts,
                           pfc_window *out, pfc_err *err) PFC_MUSTCHECK;
void pfc_window_clear(pfc_window *window);

/* ---- detector settings of a project ---- */

typedef struct pfc_detector_version {
    int64_t version; /* 0: none was ever stored, the defaults apply */
    json_t *document;
    char *actor; /* NULL: none */
    double at;
} pfc_detector_version;

/** The current configuration; clear *out. */
pfc_code pfc_detector_get(pfc_db *db, int64_t project_id, pfc_detector_version *out,
                          pfc_err *err) PFC_MUSTCHECK;
/** Stores a new version (checked as by pfc_detector_from_json) and queues a detect job for every
 *  branch. The same document again makes no version. *out as of pfc_detector_get. */
pfc_code pfc_detector_store(pfc_db *db, const char *actor, int64_t project_id,
                            const json_t *document, pfc_detector_version *out,
                            pfc_err *err) PFC_MUSTCHECK;
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
    bool firm;       /* large enough to open an alert */
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

/* ---- comparing ---- */

typedef struct pfc_side_summary {
    double median, low, high;
    size_t n;
} pfc_side_summary;

typedef struct pfc_compare_row {
    int64_t series_id; /* of the candidate's newest run */
    char *benchmark, *metric, *backend, *machine_class, *unit;
    bool higher_is_better, exact;
    pfc_side_summary a, b;
    pfc_compare_result result; /* DIFFERENT: see `regression` for the direction; corrected for
                                  all rows (core/stats/comparison_family.h) */
    double p_adjusted;         /* NAN: no test was made */
    double margin_rel;         /* the project's for this series, else the comparison's */
    double more_runs; /* per side, likely to decide it; NAN: decided, or no number of runs does */
    size_t compared;  /* values of the smaller side that were compared: launches, else samples */
    bool margin_set;  /* margin_rel is from the project's detector settings */
    bool untested;    /* values that cannot be compared as ratios */
    bool regression;
    bool broken_a, broken_b; /* no samples on that side, see `reason`; `result` is then unset */
    char *reason;            /* NULL: not broken */
    char **differs;          /* names of fingerprint entries that differ; "machine_class" */
    size_t differs_len;
} pfc_compare_row;

/* A fingerprint's entry, or the machine class, that is not the same on both sides. */
typedef struct pfc_compare_difference {
    char *field, *a, *b; /* a, b: NULL: not recorded there */
} pfc_compare_difference;

typedef struct pfc_compare_side {
    char *commit;
    char **runs; /* their ids, 32 hexadecimal digits */
    size_t runs_len;
} pfc_compare_side;

typedef struct pfc_comparison {
    pfc_compare_side a, b;
    double margin_rel;
    pfc_compare_row *rows; /* by benchmark, metric, backend */
    size_t rows_len;
    char **only_a, **only_b; /* "benchmark metric backend" measured on one side only */
    size_t only_a_len, only_b_len;
    size_t regressions, improvements, same, inconclusive, broken;
    pfc_compare_difference *differs; /* of all rows, and of rows split only by machine class */
    size_t differs_len, differs_cap;
} pfc_comparison;

/** a, b: commits (7 or more digits) or run ids (numbers or 32 hexadecimal digits). Uses all raw
 *  samples of a commit's runs, or block medians where processes were repeated. backend NULL: all.
 *  across: where no pair has the same machine class, compares results of different classes. */
pfc_code pfc_compare(pfc_db *db, int64_t project_id, const char *a, const char *b,
                     const char *backend, bool across, pfc_comparison *out,
                     pfc_err *err) PFC_MUSTCHECK;
void pfc_comparison_clear(pfc_comparison *c);

/* ---- alerts ---- */

typedef struct pfc_alert_change {
    const char *state;   /* NULL: unchanged */
    const char *reason;  /* for the history */
    const char *note;    /* NULL: unchanged; "": remove it */
    const char *culprit; /* commit id of 40 digits; NULL: unchanged; "": remove it */
    bool accept;         /* accept the new level as baseline; requires state wont_fix */
} pfc_alert_change;

/** True for the states of the API. */
bool pfc_alert_state_known(const char *state);
/** PFC_EINVAL: unknown state or culprit; PFC_ECONFLICT: the state machine has no such transition
 *  (verified_fixed must follow fixed or backed_out). *out: the updated alert. */
pfc_code pfc_alert_update(pfc_db *db, const char *actor, int64_t id, const pfc_alert_change *change,
                          pfc_alerts *out, pfc_err *err) PFC_MUSTCHECK;

/** Another series of the alert's benchmark, and its change where the alert's series changed.
 *  rel_change NAN: none; moved: worse, better, still (measured on both sides), unknown. */
typedef pfc_sql_alert_evidence_row pfc_witness;
typedef pfc_sql_alert_evidence_rows pfc_witnesses;

/** Lists the series that moved first. Clear *out with pfc_rows_clear. */
pfc_code pfc_alert_witnesses(pfc_db *db, int64_t project_id, int64_t alert_id, pfc_witnesses *out,
                             pfc_err *err) PFC_MUSTCHECK;

/* ---- suspects ---- */

#define PFC_RANKING_MAX_BOUNDARIES 16

typedef struct pfc_alert_ranking {
    pfc_alerts alert; /* one */
    pfc_alert_commits commits;
    pfc_suspects
        suspects; /* indices into commits and boundaries; empty when the range is unknown */
    pfc_suspect_boundary boundaries[PFC_RANKING_MAX_BOUNDARIES]; /* texts owned */
    char *boundary_fields[PFC_RANKING_MAX_BOUNDARIES];           /* as in alerts.boundary */
    size_t boundaries_len;
    size_t series;  /* series of the alert's group that locate the change */
    size_t sources; /* files that the benchmark is known to be built from */
} pfc_alert_ranking;

/** Computes from the stored data a probability for every commit of the alert's range, every change
 *  of toolchain, harness or machine in it, and "none of these". PFC_ENOTFOUND: no such alert. */
pfc_code pfc_alert_rank(pfc_db *db, int64_t alert_id, pfc_alert_ranking *out,
                        pfc_err *err) PFC_MUSTCHECK;
void pfc_alert_ranking_clear(pfc_alert_ranking *ranking);

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

/* ---- bisections ---- */

typedef struct pfc_bisection_report {
    const char *metric, *benchmark, *backend, *good, *bad,
        *verdict;                           /* benchmark, backend: or NULL */
    const char *culprits_json, *steps_json; /* arrays, checked by the caller; steps may be NULL */
    const char *stopped_json; /* JSON object: commits left open by the budget; or NULL */
    const char *culprit;      /* the one commit found, 40 digits; NULL: none, or several */
    int64_t runs, builds, commits_measured;
    double seconds;
    int64_t alert_id;   /* 0: the open alert of that metric whose range holds the culprit, if any */
    const char *before; /* commit that new runs compared the culprit with, or NULL */
    const double *pairs; /* of that comparison: before, after, ... each above 0; 2 x pairs_len */
    size_t pairs_len;
    double rel_change; /* as the bisection reported it; 0: unknown */
} pfc_bisection_report;
/** Sets the alert's culprit if the pairs, tested here, show the change; else only records it.
 *  PFC_EINVAL: the culprit is not in the range of alert_id. */
pfc_code pfc_bisection_store(pfc_db *db, const char *actor, int64_t project_id,
                             const pfc_bisection_report *report, pfc_bisections *out,
                             pfc_err *err) PFC_MUSTCHECK;

#define PFC_BISECTION_MAX_COMMITS 10000
#define PFC_BISECTION_PARALLEL    4 /* concurrent jobs, if there are as many runners */

typedef struct pfc_bisection_options {
    double confidence, noise_rel, layout_noise_rel, delta_rel; /* 0: as core/bisect/bisect.h */
    /* Tolerated change to worse; 0: half of the alert's change, of delta_rel, or as
     * core/bisect/finding.h. */
    double margin_rel;
    bool relink;
    int64_t max_runs;   /* 0: the planner's */
    int priority;       /* of the jobs, 0..100 */
    int parallel;       /* jobs at a time, at most as many as there are runners; 0: 4 */
    const char *source; /* of the jobs: folder or URL; NULL: the project's */
    const char *config; /* of the jobs: perfci.yaml instead of the repository's; NULL */
} pfc_bisection_options;

/** A bisection to start. With alert_id, every other member may be NULL: the alert provides it. */
typedef struct pfc_bisection_order {
    const char *metric, *benchmark, *backend, *machine_class; /* NULL: the headline, any, any */
    const char *branch;                                       /* NULL: the project's */
    const char *good, *bad;                                   /* ids of 7 to 40 digits */
    char *const *globs; /* the benchmark's files, for the prior */
    size_t globs_len;
    int64_t alert_id; /* 0: none; its suspects are the prior */
    pfc_bisection_options options;
} pfc_bisection_order;

/** Expected cost of a bisection, estimated from stored data. */
typedef struct pfc_bisection_cost {
    size_t commits, stored_runs; /* of the range; used as evidence instead of new runs */
    double expected_runs, expected_builds;
    double run_seconds;  /* of a recent similar job, with its build; NAN: none yet */
    double wait_seconds; /* until one of its jobs, queued now, starts; NAN: unknown */
    double seconds;      /* expected total with the current runners; NAN: unknown */
    int64_t runners, jobs_waiting;
} pfc_bisection_cost;

/**
 * Starts a bisection on the runners: stores its range, its prior, and the stored runs that count as
 * evidence. pfc_bisections_advance continues it. dry_run: only fills *cost. PFC_EINVAL names the
 * invalid member, for example commits that are unknown, not on the branch's line, or swapped.
 */
pfc_code pfc_bisection_start(pfc_db *db, const char *actor, int64_t project_id,
                             const pfc_bisection_order *order, bool dry_run,
                             pfc_bisection_cost *cost, pfc_bisections *out,
                             pfc_err *err) PFC_MUSTCHECK;
/** Queues no further jobs and cancels the queued ones; a leased job ends at its runner's next
 *  heartbeat. Measurements stay stored. PFC_ECONFLICT: the bisection has already ended. */
pfc_code pfc_bisection_cancel(pfc_db *db, const char *actor, int64_t id, pfc_bisections *out,
                              pfc_err *err) PFC_MUSTCHECK;
/** Advances one running bisection that has new results or no open job: reads the results, then
 *  queues jobs or ends it. One transaction. PFC_ENOTFOUND: none is due. */
pfc_code pfc_bisections_advance(pfc_db *db, pfc_err *err) PFC_MUSTCHECK;

/** state: asked, measured, broken, failed, timed_out; value NAN unless measured; job_id, run_id 0:
 *  none; run: its id of 32 digits, NULL: none; seconds: of its job, NAN: none. */
typedef pfc_sql_bisection_steps_row pfc_bisection_step;
typedef pfc_sql_bisection_steps_rows pfc_bisection_steps;

/** Comparison, in new runs, of a bisection's culprit with the commit before it; the alert's culprit
 *  is set only if this confirms the change. before, after: commits; state: running, confirmed,
 *  refuted, open, cancelled; rel_change, rel_low, rel_high, p NAN: no pair yet; p stays valid under
 *  repeated testing. */
typedef pfc_sql_verifications_of_row pfc_verification;
typedef pfc_sql_verifications_of_rows pfc_verifications;

/** As pfc_bisections_advance, for one verification. */
pfc_code pfc_verifications_advance(pfc_db *db, pfc_err *err) PFC_MUSTCHECK;

/** The content of a running bisection's page, in addition to its row. */
typedef struct pfc_bisection_detail {
    pfc_bisection_steps steps; /* in order */
    pfc_verifications verifications;
    json_t *line;      /* ids, the good commit first */
    double *posterior; /* for each commit of the line; NULL: not yet */
    char *options;     /* JSON */
    pfc_bisection_cost cost;
} pfc_bisection_detail;

pfc_code pfc_bisection_detail_get(pfc_db *db, int64_t project_id, int64_t id,
                                  pfc_bisection_detail *out, pfc_err *err) PFC_MUSTCHECK;
void pfc_bisection_detail_clear(pfc_bisection_detail *detail);

/* ---- backfill ---- */

typedef struct pfc_backfill_opts {
    double delay_s;    /* minimum age of an alert: the next nightly run may narrow it at no cost */
    int64_t budget;    /* jobs per project and day */
    int64_t narrowest; /* ranges with fewer commits are skipped */
} pfc_backfill_opts;

/** Queues a job for the middle commit of the oldest wide range. The range's next job is queued once
 *  this one is done. PFC_ENOTFOUND: there is no such range, or the budget is spent. */
pfc_code pfc_backfill_next(pfc_db *db, const pfc_backfill_opts *opts, int64_t *job_id,
                           pfc_err *err) PFC_MUSTCHECK;

/* ---- tokens ---- */

enum {
    PFC_SCOPE_READ = 1,
    PFC_SCOPE_INGEST = 2,
    PFC_SCOPE_RUNNER = 4,
    PFC_SCOPE_TRIAGE = 8,
    PFC_SCOPE_ADMIN = 16,
    PFC_SCOPE_ALL = 31,
};

#define PFC_TOKEN_TEXT 69 /* "pfc_", 64 hexadecimal digits, terminator */

/** Bit of a scope name such as "read"; 0: unknown. pfc_scope_names is in the order of the bits. */
int pfc_scope_parse(const char *name);
extern const char *const pfc_scope_names[5];

typedef struct pfc_principal {
    int64_t token_id;
    int64_t scopes;     /* admin implies every other */
    int64_t project_id; /* 0: all */
    char actor[96];     /* "token 3 (ci)" */
    int64_t until_ns;   /* expiry as a time of pfc_clock_ns; 0: never */
} pfc_principal;

/** expires_at: Unix seconds, 0: never. project_id 0: all. The secret is returned only here. */
pfc_code pfc_token_create(pfc_db *db, const char *actor, const char *name, int64_t scopes,
                          int64_t project_id, double expires_at, int64_t *id,
                          char secret[PFC_TOKEN_TEXT], pfc_err *err) PFC_MUSTCHECK;
/** Ensures that `secret` (from DIR/admin.token) is a valid admin token with the name `name`. */
pfc_code pfc_token_ensure(pfc_db *db, const char *name, const char *secret,
                          pfc_err *err) PFC_MUSTCHECK;
/**
 * Cache of recently used tokens and project names. An entry lives for at most ttl_s, and only while
 * the server receives database events: the listener thread calls pfc_cache_trust(false) when its
 * connection is lost, (true) when it is back, and pfc_cache_forget at an event of type "token",
 * which every revocation sends. Thread-safe.
 */
pfc_cache *pfc_cache_new(double ttl_s);
void pfc_cache_free(pfc_cache *cache); /* accepts NULL */
void pfc_cache_trust(pfc_cache *cache, bool heard);
void pfc_cache_forget(pfc_cache *cache);
/** As pfc_token_verify, but reads the cache (NULL: none) first. */
pfc_code pfc_token_verify_cached(pfc_db *db, pfc_cache *cache, const char *secret,
                                 pfc_principal *out, pfc_err *err) PFC_MUSTCHECK;
/** Id of a project, from the cache (NULL: none) or the database. PFC_ENOTFOUND: no such project. */
pfc_code pfc_project_find(pfc_db *db, pfc_cache *cache, const char *name, int64_t *id,
                          pfc_err *err) PFC_MUSTCHECK;

/** PFC_EDENIED: the secret is malformed, unknown, expired or revoked. */
pfc_code pfc_token_verify(pfc_db *db, const char *secret, pfc_principal *out,
                          pfc_err *err) PFC_MUSTCHECK;
pfc_code pfc_token_revoke(pfc_db *db, const char *actor, int64_t id, pfc_err *err) PFC_MUSTCHECK;
/** Creates a token with the name, scopes, project and lifetime of token `id`, which then expires in
 *  overlap_s. *out (one row, caller clears): the new one. PFC_ENOTFOUND: `id` is unknown, revoked
 *  or expired. */
pfc_code pfc_token_rotate(pfc_db *db, const char *actor, int64_t id, double overlap_s,
                          pfc_tokens *out, char secret[PFC_TOKEN_TEXT], pfc_err *err) PFC_MUSTCHECK;

/* ---- the server's background jobs ---- */

/** Takes a queued detect job and all others of its project, judges every series of those runs,
 *  stores change points, opens, groups and closes alerts. PFC_ENOTFOUND: none is queued. */
pfc_code pfc_detect_next(pfc_db *db, size_t *series_judged, pfc_err *err) PFC_MUSTCHECK;
/** Creates the monthly partitions of measurements for this month and `ahead` more. *moved: rows
 *  stored before their month had a partition. PFC_EUNAVAIL: blocked by readers; retry later. */
pfc_code pfc_partitions_create(pfc_db *db, int ahead, int64_t *moved, pfc_err *err) PFC_MUSTCHECK;

/** Deletes up to `limit` of the server's own jobs (detect, notify) that ended over `days` ago. */
pfc_code pfc_jobs_prune(pfc_db *db, int days, int limit, size_t *pruned,
                        pfc_err *err) PFC_MUSTCHECK;
/** Deletes the stored lease request numbers of runners that are older than `days`. */
pfc_code pfc_questions_prune(pfc_db *db, int days, pfc_err *err) PFC_MUSTCHECK;
/** Merges the rows of the stored counts (migration 0022: a row per database process) into few; the
 *  totals stay. Several servers may call it concurrently, also while runs are stored. */
pfc_code pfc_tallies_fold(pfc_db *db, pfc_err *err) PFC_MUSTCHECK;

/** Packs points of long series into chunks (migration 0012), page by page; `cursor` starts at 0 and
 *  is 0 again after the last series. Skips points stored in the last `quiet_s` seconds, which is
 *  twice the longest transaction. Several servers may call it concurrently. */
#define PFC_CHUNKS_QUIET_S 600.0
pfc_code pfc_chunks_step(pfc_db *db, double quiet_s, int64_t *cursor, size_t *built,
                         pfc_err *err) PFC_MUSTCHECK;

/** Retention of old measurements. Commits that a change, an alert, an accepted level, a bisection
 *  or an environment event refers to are always kept, with 30 commits on either side. */
typedef struct pfc_retention {
    int raw_months; /* whole months kept unthinned; 0: all */
    int day_months; /* months kept; after raw_months one measurement per series and day; 0: all */
} pfc_retention;
typedef struct pfc_retained {
    char month[16]; /* its first day; "": none was due */
    int64_t rows_before, rows_after;
} pfc_retained;
/** Thins the oldest month that is due, in one transaction. PFC_EUNAVAIL: blocked by readers; retry
 *  later. Several servers may call it concurrently. */
pfc_code pfc_retention_step(pfc_db *db, const pfc_retention *keep, pfc_retained *out,
                            pfc_err *err) PFC_MUSTCHECK;

#endif
