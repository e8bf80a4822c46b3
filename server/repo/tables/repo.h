/*
 * Rows as structs, and the reads that have no rule of their own.
 *
 * Lists are those of server/repo/statements/statement.h; `next` is the cursor of the following page, 0 at the
 * end. Times are Unix seconds. Members named *_json are JSON text.
 *
 * Functions on `pfc_db` borrow a connection; those on `pfc_tx` are parts of a transaction and are
 * meant for services. A `get` answers a list of exactly one, or PFC_ENOTFOUND.
 * Lists take `limit` (1..1000; 0: 100) and `cursor` (0: from the start).
 */
#ifndef PFC_SERVER_REPO_TABLES_REPO_H
#define PFC_SERVER_REPO_TABLES_REPO_H

#include "server/repo/statements/statement.h"

/* ---- projects ---- */

typedef struct pfc_project {
    int64_t id;
    const char *name;
    const char *branch; /* the default branch */
    const char *repo_url;
    int64_t commits, runs, alerts_open;
    double last_run_at, created_at;
} pfc_project;
PFC_ROWS(pfc_projects, pfc_project);

/** project_id 0: all. Ordered by id. */
pfc_code pfc_projects_list(pfc_db *db, int64_t project_id, pfc_page page, pfc_projects *out,
                           pfc_err *err) PFC_MUSTCHECK;
pfc_code pfc_projects_get(pfc_db *db, const char *name, pfc_projects *out,
                          pfc_err *err) PFC_MUSTCHECK;

/* ---- commits ---- */

typedef struct pfc_commit_row {
    int64_t position; /* along first parents of the branch, from 1; 0: not on that line */
    int64_t id;
    const char *sha;
    const char *parents_json; /* ["sha", ...] */
    const char *paths_json;
    const char *tags_json; /* names of releases */
    const char *author;
    double time;
    const char *subject;
    bool stub; /* known from a run only, until its POST /commits comes */
    int64_t runs, alerts;
    const char *branch;
} pfc_commit_row;
PFC_ROWS(pfc_commit_rows, pfc_commit_row);

/** Commits on the branch's first-parent line, newest first; the cursor is a position.
 *  branch NULL: the project's. */
pfc_code pfc_commits_list(pfc_db *db, int64_t project_id, const char *branch, pfc_page page,
                          pfc_commit_rows *out, pfc_err *err) PFC_MUSTCHECK;
/** By full id or a prefix of 7 or more digits; PFC_EINVAL when the prefix fits several. */
pfc_code pfc_commits_get(pfc_db *db, int64_t project_id, const char *sha, pfc_commit_rows *out,
                         pfc_err *err) PFC_MUSTCHECK;

typedef struct pfc_commit_value {
    int64_t series_id;
    const char *benchmark, *metric, *backend, *machine_class, *unit;
    bool higher_is_better;
    double median, low, high;
    int64_t n;
    double parent_median; /* of the first parent; NAN: not measured */
} pfc_commit_value;
PFC_ROWS(pfc_commit_values, pfc_commit_value);
/** The newest measurement of every series at one commit. */
pfc_code pfc_commit_values_list(pfc_db *db, int64_t project_id, int64_t commit_id,
                                pfc_commit_values *out, pfc_err *err) PFC_MUSTCHECK;

/* ---- series ---- */

typedef struct pfc_series {
    int64_t id;
    int64_t project_id;
    const char *project;
    const char *benchmark, *metric, *backend, *machine_class, *branch, *unit;
    bool higher_is_better, exact, headline;
    int64_t points;
    const char *last_commit; /* NULL: no point yet */
    double last_time, last_median;
    double noise_rel;      /* NAN: not judged yet */
    int64_t watching;      /* newest points that may be a new level, */
    int64_t watching_of;   /* and how many they must become for an alert; 0: none are watched */
    int64_t level_points;  /* of the newest level that stands */
    double detectable_rel; /* smallest step likely to be confirmed by five points; NAN: unknown */
    bool judged;           /* false: the project's configuration leaves it out */
    const char *two_speeds_json; /* names of machines that measure it at two speeds */
    const char *spark_json;      /* up to 200 last medians, oldest first */
    double change_rel;           /* the newest change point; NAN: none */
    bool change_regression, change_confirmed;
    bool change_firm; /* sure enough for an alert */
    const char *change_commit;
    int64_t change_alert_id;                              /* 0: none */
    const char *change_withheld, *change_withheld_detail; /* why it has none, as stored */
    const char *anchor; /* full id, of its newest session; NULL: none */
} pfc_series;
PFC_ROWS(pfc_series_rows, pfc_series);

typedef struct pfc_series_filter {
    const char *metric, *benchmark, *backend, *machine_class, *branch; /* exact; NULL: any */
    const char *words; /* words anywhere in "benchmark metric backend"; NULL: any */
    bool headline;     /* only headline metrics */
    int spark;         /* last N medians, at most 200; 0: none */
} pfc_series_filter;

/** Ordered by id. Points, last, spark and change are as of the last detection. */
pfc_code pfc_series_list(pfc_db *db, int64_t project_id, const pfc_series_filter *filter,
                         pfc_page page, pfc_series_rows *out, pfc_err *err) PFC_MUSTCHECK;
pfc_code pfc_series_get(pfc_db *db, int64_t series_id, pfc_series_rows *out,
                        pfc_err *err) PFC_MUSTCHECK;

/* ---- runs ---- */

typedef struct pfc_run_row {
    int64_t run_id; /* ours */
    const char *id; /* the measurer's: 32 hexadecimal digits */
    int64_t project_id;
    const char *project;
    const char *commit, *branch, *suite, *machine_class;
    double started_at, finished_at;
    int64_t measurements;
    bool infra;
    bool extra; /* measured under a lease that another one of the same job has overtaken */
} pfc_run_row;
PFC_ROWS(pfc_run_rows, pfc_run_row);

/** Newest first; commit NULL: any (full id, or a prefix of 7 or more digits). */
pfc_code pfc_runs_list(pfc_db *db, int64_t project_id, const char *commit, pfc_page page,
                       pfc_run_rows *out, pfc_err *err) PFC_MUSTCHECK;
/** By our number or by 32 hexadecimal digits; project_id 0: any project. */
pfc_code pfc_runs_get(pfc_db *db, int64_t project_id, const char *id, pfc_run_rows *out,
                      pfc_err *err) PFC_MUSTCHECK;

/* ---- alerts ---- */

typedef struct pfc_alert {
    int64_t id;
    int64_t project_id, series_id;
    const char *project, *benchmark, *metric, *backend, *machine_class, *unit, *branch;
    const char *state;
    bool higher_is_better, regression;
    double before, after, rel_change, rel_low, rel_high, p;
    const char *commit, *commit_low, *commit_high;
    const char *culprit; /* NULL: none named */
    double created_at, updated_at;
    const char *note;
    int64_t group_id;                     /* alerts that may have one cause; 0: not grouped yet */
    int64_t group_series, group_measured; /* series in the group, of those measured there */
    const char *group_summary;            /* "4 of 9 gemm series: k <= 64; +6.0 %" */
    bool accepted;                        /* somebody said that the new level is the right one */
    const char *undone_commit;            /* after which the level was back; NULL: it is not */
    const char *kind;                     /* step, drift, broken, toolchain, harness */
    const char *reason;                   /* of a broken benchmark; NULL: the kind has none */
    const char *boundary_json; /* of kind toolchain, harness: [{"name", "before", "now"}] */
    /* Of a drift alone: how long its range is, and the change since the last release, steps taken out. */
    int64_t drift_commits;
    double drift_weeks;        /* between the times of the range's ends; NAN: no drift */
    const char *reference_tag; /* NULL: no release with enough points around it */
    const char *reference_commit;
    double reference_rel, reference_low, reference_high;
    const char *evidence;        /* exact, corroborated, alone, single */
    const char *two_speeds_json; /* of its series: names of machines */
    const char *blocks_json;     /* of the session that decided it; NULL: none did */
    double worth;                /* of looking at it; migration 0015 says what it is */
    int64_t event_id;            /* of the machine that moved, where that explains it; 0: none */
    const char *suspect_subject,
        *suspect_author; /* of the culprit, else of `commit`; NULL: not known */
} pfc_alert;
PFC_ROWS(pfc_alerts, pfc_alert);

typedef struct pfc_alert_filter {
    int64_t project_id, series_id; /* 0: any */
    const char *state;             /* NULL: any; "open": every state that still wants somebody */
    int64_t event_id, group_id;    /* 0: any */
} pfc_alert_filter;

/** Newest first. */
pfc_code pfc_alerts_list(pfc_db *db, const pfc_alert_filter *filter, pfc_page page, pfc_alerts *out,
                         pfc_err *err) PFC_MUSTCHECK;
/** The `limit` (1..500) that are most worth looking at, those first. */
pfc_code pfc_alerts_by_worth(pfc_db *db, const pfc_alert_filter *filter, int limit, pfc_alerts *out,
                             pfc_err *err) PFC_MUSTCHECK;
/** Of every group the alert that is most worth looking at, one that is not grouped for itself: newest first, or
 *  by worth, which has one page. */
pfc_code pfc_alert_leaders(pfc_db *db, const pfc_alert_filter *filter, bool by_worth, pfc_page page,
                           pfc_alerts *out, pfc_err *err) PFC_MUSTCHECK;
pfc_code pfc_alerts_get(pfc_db *db, int64_t id, pfc_alerts *out, pfc_err *err) PFC_MUSTCHECK;

typedef struct pfc_alert_event {
    int64_t id;
    double at;
    const char *actor, *from, *to, *reason;
} pfc_alert_event;
PFC_ROWS(pfc_alert_events, pfc_alert_event);
/** Oldest first. */
pfc_code pfc_alert_events_list(pfc_db *db, int64_t alert_id, pfc_alert_events *out,
                               pfc_err *err) PFC_MUSTCHECK;

typedef struct pfc_alert_commit {
    int64_t position;
    const char *sha, *author, *subject, *paths_json;
    double time;
    bool measured; /* in the alert's series */
} pfc_alert_commit;
PFC_ROWS(pfc_alert_commits, pfc_alert_commit);
/** Commits from commit_low to commit_high on the series' branch, oldest first, at most 1000. */
pfc_code pfc_alert_commits_list(pfc_db *db, int64_t alert_id, pfc_alert_commits *out,
                                pfc_err *err) PFC_MUSTCHECK;

/* ---- environment ---- */

/* A machine that moved. Kind "canary": from the first run whose canary moved to the next sound one; what
 * was measured is kept out of detection. Kind "step": most of what it measures became slower at one
 * place, and no commit's fault; what it explains are alerts (server/services/alerts/machine_shift.h). */
typedef struct pfc_environment_event {
    int64_t id;
    int64_t project_id;
    const char *project, *kind, *machine_class, *machine; /* machine NULL: all of the class */
    int64_t runs;                                         /* of a canary's event; else 0 */
    int64_t first_run_id,
        last_run_id; /* a step: the first at the new level, the newest at the old */
    const char *first_commit, *last_commit;
    double opened_at, closed_at; /* closed_at NAN: it lasts */
    /* The rest is of steps alone. */
    const char *branch;
    double loss, loss_low, loss_high; /* relative: 0.06 is 6 % slower; median, middle half */
    int64_t series;                   /* regressions that it explains */
    int64_t moved, judged;            /* series of the machine that moved, of those measured */
    const char *reasons_json;         /* texts */
    const char *cause;                /* "kernel: 6.1 -> 6.5"; "": nothing known */
    const char *dismissed_by;         /* a person who said that it is no machine's; NULL: nobody */
    const char *dismissed_reason;
} pfc_environment_event;
PFC_ROWS(pfc_environment_events, pfc_environment_event);
/** project_id 0: all. Newest first. */
pfc_code pfc_environment_list(pfc_db *db, int64_t project_id, bool open_only, pfc_page page,
                              pfc_environment_events *out, pfc_err *err) PFC_MUSTCHECK;
pfc_code pfc_environment_get(pfc_db *db, int64_t id, pfc_environment_events *out,
                             pfc_err *err) PFC_MUSTCHECK;

/* ---- jobs ---- */

typedef struct pfc_job {
    int64_t id;
    int64_t project_id;
    const char *project;
    const char *kind, *state;
    const char *commit, *branch, *suite;
    const char *source;          /* the job's, else the project's repo_url */
    const char *build, *measure; /* the project's commands; NULL: the repository's perfci.yaml */
    const char *labels_json;
    const char *task_json; /* of bisections and verifications: layout, pair, what to measure */
    int64_t priority, tries;
    int64_t fence; /* number of the newest lease; 0: there was none */
    const char *runner;
    int64_t position; /* 1 = next; 0: not queued */
    const char *reason, *progress;
    const char *run_ids_json;
    const char *session;      /* id of what a job with blocks brought; NULL: none */
    const char *parents_json; /* ids of the jobs that must be done first */
    double created_at, started_at, finished_at;
    bool cancel_requested;
    int64_t run_id; /* of detect jobs */
} pfc_job;
PFC_ROWS(pfc_jobs, pfc_job);

typedef struct pfc_job_filter {
    int64_t project_id;       /* 0: any */
    const char *state, *kind; /* NULL: any; kind NULL leaves the server's own (detect) out */
} pfc_job_filter;

/** Newest first. */
pfc_code pfc_jobs_list(pfc_db *db, const pfc_job_filter *filter, pfc_page page, pfc_jobs *out,
                       pfc_err *err) PFC_MUSTCHECK;
pfc_code pfc_jobs_get(pfc_db *db, int64_t id, pfc_jobs *out, pfc_err *err) PFC_MUSTCHECK;

/* ---- runners, machines ---- */

typedef struct pfc_runner {
    const char *name, *machine_class, *labels_json, *backends_json;
    double last_seen_at;
    int64_t job_id; /* 0: idle */
} pfc_runner;
PFC_ROWS(pfc_runners, pfc_runner);
/** project_id: those that work for it, and for all; the jobs of others are not told. 0: all. */
pfc_code pfc_runners_list(pfc_db *db, int64_t project_id, pfc_runners *out,
                          pfc_err *err) PFC_MUSTCHECK;

typedef struct pfc_machine_row {
    int64_t id;
    const char *machine_class, *name, *fingerprint_hash, *fingerprint_json;
    const char *before_json; /* the fingerprint that it had before; NULL: the first */
    double first_seen_at, last_seen_at;
    int64_t runs;
} pfc_machine_row;
PFC_ROWS(pfc_machine_rows, pfc_machine_row);
/** Ordered by id; of one project: those that it has runs of, which are counted. 0: all. */
pfc_code pfc_machines_list(pfc_db *db, int64_t project_id, pfc_page page, pfc_machine_rows *out,
                           pfc_err *err) PFC_MUSTCHECK;

/* ---- bisections ---- */

typedef struct pfc_bisection {
    int64_t id;
    int64_t project_id;
    const char *mode;  /* "report": sent here when it was done; "remote": done by the runners */
    const char *state; /* running, done, cancelled */
    const char *reason, *branch, *machine_class; /* of a remote one */
    const char *project, *metric, *benchmark, *backend, *good, *bad;
    const char *verdict;                    /* NULL: none yet */
    const char *culprits_json, *steps_json; /* steps NULL: in rows of their own */
    const char *stopped_json;               /* why it is not decided; NULL */
    const char *counts_json, *failure_json; /* of a remote one's steps; failure NULL: none */
    int64_t commits;                        /* searched; 0: a report does not say */
    double expected_runs;                   /* to go; NAN: a report */
    double finished_at;
    int64_t runs, builds, commits_measured;
    double seconds;
    int64_t alert_id;
    double created_at;
    const char *actor;
} pfc_bisection;
PFC_ROWS(pfc_bisections, pfc_bisection);
/** project_id 0: any. Newest first. */
pfc_code pfc_bisections_list(pfc_db *db, int64_t project_id, pfc_page page, pfc_bisections *out,
                             pfc_err *err) PFC_MUSTCHECK;
pfc_code pfc_bisections_get(pfc_db *db, int64_t id, pfc_bisections *out,
                            pfc_err *err) PFC_MUSTCHECK;

/* ---- tokens ---- */

typedef struct pfc_token {
    int64_t id;
    const char *name;
    int64_t scopes;      /* PFC_SCOPE_* */
    int64_t project_id;  /* 0: all */
    const char *project; /* NULL: all */
    double created_at, expires_at, revoked_at, last_used_at;
    const char *hash; /* SHA-256 of the secret; never shown */
} pfc_token;
PFC_ROWS(pfc_tokens, pfc_token);
/** Ordered by id. */
pfc_code pfc_tokens_list(pfc_db *db, pfc_page page, pfc_tokens *out, pfc_err *err) PFC_MUSTCHECK;
/** Stores another secret's hash under a new number, as token `id` is, which ends overlap_s from now; *out
 *  is the new one, empty when the old one has ended. */
pfc_code pfc_tokens_rotate(pfc_tx *tx, int64_t id, const char *hash, double overlap_s,
                           pfc_tokens *out, pfc_err *err) PFC_MUSTCHECK;

/* ---- audit ---- */

typedef struct pfc_audit_row {
    int64_t id;
    double at;
    const char *actor, *action, *project, *object, *detail; /* project: NULL, of the service */
} pfc_audit_row;
PFC_ROWS(pfc_audit_rows, pfc_audit_row);
/** project_id 0: everything. Newest first. */
pfc_code pfc_audit_list(pfc_db *db, int64_t project_id, pfc_page page, pfc_audit_rows *out,
                        pfc_err *err) PFC_MUSTCHECK;

/* ---- figures ---- */

typedef struct pfc_figures {
    int64_t runs, measurements, series, alerts_open, jobs_queued, jobs_leased;
    int64_t notices_open, notices_dead; /* dead: deliveries of them that were given up */
    int64_t runners;                    /* heard of within five minutes, of any project */
    double detection_lag_s;             /* age of the oldest run not judged yet; 0: none waits */
} pfc_figures;
typedef struct pfc_job_count {
    const char *kind, *state; /* queued or leased */
    int64_t jobs;
    double oldest_s; /* age of the oldest of them */
} pfc_job_count;
PFC_ROWS(pfc_job_counts, pfc_job_count);
/** Of all projects: a row for each kind and state that has any. */
pfc_code pfc_job_counts_get(pfc_db *db, pfc_job_counts *out, pfc_err *err) PFC_MUSTCHECK;
/** project_id 0: all. */
pfc_code pfc_figures_get(pfc_db *db, int64_t project_id, pfc_figures *out,
                         pfc_err *err) PFC_MUSTCHECK;

#endif
