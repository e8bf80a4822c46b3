/*
 * Rows as structs, and the reads that have no rule of their own.
 *
 * Lists are those of server/repo/statements/statement.h; `next` is the cursor of the following
 * page, 0 at the end. Times are Unix seconds. Members named *_json are JSON text, which
 * handlers show as it is; server/repo/documents has the structs of those that services read.
 *
 * Functions on `pfc_db` borrow a connection; those on `pfc_tx` are parts of a transaction and are
 * meant for services. A `get` answers a list of exactly one, or PFC_ENOTFOUND.
 * Lists take `limit` (1..1000; 0: 100) and `cursor` (0: from the start).
 */
#ifndef PFC_SERVER_REPO_TABLES_REPO_H
#define PFC_SERVER_REPO_TABLES_REPO_H

#include "server/repo/sql/alerts.h"
#include "server/repo/sql/bisections.h"
#include "server/repo/sql/commits.h"
#include "server/repo/sql/core.h"
#include "server/repo/sql/groups.h"
#include "server/repo/sql/jobs.h"
#include "server/repo/sql/projects.h"
#include "server/repo/sql/runners.h"
#include "server/repo/sql/runs.h"
#include "server/repo/sql/series.h"
#include "server/repo/sql/tokens.h"

/* ---- projects ---- */

/** branch: the default branch. */
typedef pfc_sql_projects_list_row pfc_project;
typedef pfc_sql_projects_list_rows pfc_projects;

/** project_id 0: all. Ordered by id. */
pfc_code pfc_projects_list(pfc_db *db, int64_t project_id, pfc_page page, pfc_projects *out,
                           pfc_err *err) PFC_MUSTCHECK;
pfc_code pfc_projects_get(pfc_db *db, const char *name, pfc_projects *out,
                          pfc_err *err) PFC_MUSTCHECK;

/* ---- commits ---- */

/** position: along first parents of the branch, from 1; 0: not on that line. parents: ids, the
 *  first parent first. tags: names of tags. stub: known from a run only, until its POST
 *  /commits comes. */
typedef pfc_sql_commit_row pfc_commit_row;
typedef pfc_sql_commit_rows pfc_commit_rows;

typedef struct pfc_commit_filter {
    const char *branch; /* NULL: the project's */
    const char *words;  /* all of them anywhere in id, subject and author; NULL: any commit */
    bool tagged;        /* only commits with tags */
} pfc_commit_filter;

/** Commits on the branch's first-parent line, newest first; the cursor is the number of a commit.
 */
pfc_code pfc_commits_list(pfc_db *db, int64_t project_id, const pfc_commit_filter *filter,
                          pfc_page page, pfc_commit_rows *out, pfc_err *err) PFC_MUSTCHECK;
/** By full id or a prefix of 7 or more digits; PFC_EINVAL when the prefix fits several. */
pfc_code pfc_commits_get(pfc_db *db, int64_t project_id, const char *sha, pfc_commit_rows *out,
                         pfc_err *err) PFC_MUSTCHECK;

/** parent_median: of the first parent; NAN: not measured. */
typedef pfc_sql_commit_values_row pfc_commit_value;
typedef pfc_sql_commit_values_rows pfc_commit_values;
/** The newest measurement of every series at one commit. */
pfc_code pfc_commit_values_list(pfc_db *db, int64_t project_id, int64_t commit_id,
                                pfc_commit_values *out, pfc_err *err) PFC_MUSTCHECK;

/* ---- series ---- */

/** last_commit NULL: no point yet. noise_rel NAN: not judged yet. watching: number of
 *  newest points that may be a new level, 0: none; watching_of: how many an alert needs.
 * level_points: of the newest level that stands. detectable_rel: smallest step likely to be
 * confirmed by five points; NAN: unknown. judged false: the project's configuration leaves it out.
 * two_speeds_json: names of machines that measure it at two speeds. spark_json: up to 200 last
 * medians, oldest first. change_rel: the newest change point; NAN: none. change_alertable: certain
 * enough for an alert. change_alert_id 0: none. change_withheld, change_withheld_detail_json: why
 * it has none, as stored. anchor: full id, of its newest session; NULL: none. */
typedef pfc_sql_series_list_row pfc_series;
typedef pfc_sql_series_list_rows pfc_series_rows;

typedef struct pfc_series_filter {
    const char *metric, *benchmark, *backend, *machine_class, *branch; /* exact; NULL: any */
    const char *words;  /* words anywhere in "benchmark metric backend"; NULL: any */
    const char *change; /* of the newest change: "regression", "improvement", "steady"; NULL: any */
    const char
        *sort;     /* "name", "change", "noise" or "fresh", headline metrics first; NULL: by id */
    bool headline; /* only headline metrics */
    int spark;     /* last N medians, at most 200; 0: none */
} pfc_series_filter;

#define PFC_SERIES_MAX_FRESH 200000

/** Ordered by id, or as `sort` says: by name (numbers by value), by the size of the newest change,
 *  by noise in steps of 2.5 %, by the time of the last commit. A cursor is valid with the same
 *  filter only. Points, last, spark and change are as of the last detection. PFC_EINVAL: "fresh"
 *  of more than PFC_SERIES_MAX_FRESH series. */
pfc_code pfc_series_list(pfc_db *db, int64_t project_id, const pfc_series_filter *filter,
                         pfc_page page, pfc_series_rows *out, pfc_err *err) PFC_MUSTCHECK;
pfc_code pfc_series_get(pfc_db *db, int64_t series_id, pfc_series_rows *out,
                        pfc_err *err) PFC_MUSTCHECK;

/* ---- runs ---- */

/** run_id: ours. id: the measurer's: 32 hexadecimal digits. extra: measured under a lease that
 *  another one of the same job has overtaken. */
typedef pfc_sql_run_row pfc_run_row;
typedef pfc_sql_run_rows pfc_run_rows;

/** Newest first; commit NULL: any (full id, or a prefix of 7 or more digits). */
pfc_code pfc_runs_list(pfc_db *db, int64_t project_id, const char *commit, pfc_page page,
                       pfc_run_rows *out, pfc_err *err) PFC_MUSTCHECK;
/** By our number or by 32 hexadecimal digits; project_id 0: any project. */
pfc_code pfc_runs_get(pfc_db *db, int64_t project_id, const char *id, pfc_run_rows *out,
                      pfc_err *err) PFC_MUSTCHECK;

/* ---- alerts ---- */

/** culprit NULL: none named. group_id: alerts that may have one cause; 0: not grouped yet.
 *  group_series, group_measured: series in the group, of those measured there. group_summary:
 *  "4 of 9 gemm series: k <= 64; +6.0 %". accepted: a person accepted the new level. undone_commit:
 * after which the level was back; NULL: it is not. kind: step, drift, broken, toolchain, harness.
 * reason: of a broken benchmark; NULL: the kind has none. boundary_json: of kind toolchain,
 * harness: [{"name", "before", "now"}]. Of a drift alone: how long its range is, and the change
 * since the last release, steps taken out. drift_weeks: between the times of the range's ends; NAN:
 * no drift. reference_tag NULL: no release with enough points around it. evidence: exact,
 * corroborated, alone, single. two_speeds_json: of its series: names of machines. blocks_json: of
 * the session that decided it; NULL: none did. worth: its relevance, defined in migration 0015.
 * event_id: of the machine that moved, where that explains it; 0: none. found_commit: the only
 * commit that the newest finished search of the alert (found_by) named, unless fresh pairs refuted
 * it or there is a culprit; NULL: none. suspect_subject, suspect_author: of the culprit, else of
 * found_commit, else of `commit`; NULL: not known. */
typedef pfc_sql_alerts_list_row pfc_alert;
typedef pfc_sql_alerts_list_rows pfc_alerts;

typedef struct pfc_alert_filter {
    int64_t project_id, series_id; /* 0: any */
    const char *state;             /* NULL: any; "open": every state that is not closed */
    int64_t event_id, group_id;    /* 0: any */
    const char *owner;             /* one of the names; "none": alerts without; NULL: any */
    pfc_maybe suppressed;          /* unknown: with "open", those that no rule hides; else any */
    const char *words; /* all of them occur in names of the series or in the group's summary; NULL:
                          any; only of pfc_alerts_list */
} pfc_alert_filter;

/** Newest first. */
pfc_code pfc_alerts_list(pfc_db *db, const pfc_alert_filter *filter, pfc_page page, pfc_alerts *out,
                         pfc_err *err) PFC_MUSTCHECK;
/** The `limit` (1..500) most relevant ones, those first. */
pfc_code pfc_alerts_by_worth(pfc_db *db, const pfc_alert_filter *filter, int limit, pfc_alerts *out,
                             pfc_err *err) PFC_MUSTCHECK;
/** The most relevant alert of every group, and every alert without a group: newest first, or by
 *  relevance, which has one page. */
pfc_code pfc_alert_leaders(pfc_db *db, const pfc_alert_filter *filter, bool by_worth, pfc_page page,
                           pfc_alerts *out, pfc_err *err) PFC_MUSTCHECK;
pfc_code pfc_alerts_get(pfc_db *db, int64_t id, pfc_alerts *out, pfc_err *err) PFC_MUSTCHECK;

typedef pfc_sql_alert_events_row pfc_alert_event;
typedef pfc_sql_alert_events_rows pfc_alert_events;
/** Oldest first. */
pfc_code pfc_alert_events_list(pfc_db *db, int64_t alert_id, pfc_alert_events *out,
                               pfc_err *err) PFC_MUSTCHECK;

/** measured: in the alert's series. */
typedef pfc_sql_alert_commits_row pfc_alert_commit;
typedef pfc_sql_alert_commits_rows pfc_alert_commits;
/** Commits from commit_low to commit_high on the series' branch, oldest first, at most 1000. */
pfc_code pfc_alert_commits_list(pfc_db *db, int64_t alert_id, pfc_alert_commits *out,
                                pfc_err *err) PFC_MUSTCHECK;

/* ---- environment ---- */

/* A machine that moved. Kind "canary": from the first run whose canary moved to the next sound one;
 * what was measured is kept out of detection. Kind "step": most of what it measures became slower
 * at one place, and no commit's fault; what it explains are alerts
 * (server/services/alerts/machine_shift.h). */
/** machine NULL: all of the class. runs: of a canary's
 *  event; else 0. first_run_id, last_run_id: a step: the first at the new level, the newest at
 *  the old. closed_at NAN: it lasts. The rest is of steps alone. loss,
 *  loss_low, loss_high: relative: 0.06 is 6 % slower; median, middle half. series: regressions
 *  that it explains. moved, judged: series of the machine that moved, of those measured.
 *  reasons_json: texts. cause: "kernel: 6.1 -> 6.5"; "": nothing known. dismissed_by: the person
 *  who dismissed it, else NULL. */
typedef pfc_sql_environment_list_row pfc_environment_event;
typedef pfc_sql_environment_list_rows pfc_environment_events;
/** project_id 0: all. Newest first. */
pfc_code pfc_environment_list(pfc_db *db, int64_t project_id, bool open_only, pfc_page page,
                              pfc_environment_events *out, pfc_err *err) PFC_MUSTCHECK;
pfc_code pfc_environment_get(pfc_db *db, int64_t id, pfc_environment_events *out,
                             pfc_err *err) PFC_MUSTCHECK;

/* ---- jobs ---- */

/** source: the job's, else the project's repo_url. build, measure: the project's commands;
 *  NULL: the repository's perfci.yaml. task_json: of bisections and verifications: layout,
 *  pair, what to measure. fence: number of the newest lease; 0: there was none. position: 1 =
 *  next; 0: not queued. session: id of what a job with blocks brought; NULL: none.
 *  parents_json: ids of the jobs that must be done first. run_id: of detect jobs. */
typedef pfc_sql_jobs_list_row pfc_job;
typedef pfc_sql_jobs_list_rows pfc_jobs;

#define PFC_JOB_PLACES 1000 /* queued jobs that have a position; those behind have none */

typedef struct pfc_job_filter {
    int64_t project_id;       /* 0: any */
    const char *state, *kind; /* NULL: any; kind NULL leaves the server's own (detect) out */
} pfc_job_filter;

/** Newest first. */
pfc_code pfc_jobs_list(pfc_db *db, const pfc_job_filter *filter, pfc_page page, pfc_jobs *out,
                       pfc_err *err) PFC_MUSTCHECK;
pfc_code pfc_jobs_get(pfc_db *db, int64_t id, pfc_jobs *out, pfc_err *err) PFC_MUSTCHECK;

/* ---- runners, machines ---- */

/** job_id 0: idle. */
typedef pfc_sql_runners_list_row pfc_runner;
typedef pfc_sql_runners_list_rows pfc_runners;
/** project_id: those that work for it, and for all; without the jobs of other projects. 0: all. */
pfc_code pfc_runners_list(pfc_db *db, int64_t project_id, pfc_runners *out,
                          pfc_err *err) PFC_MUSTCHECK;

#define PFC_CANARY_VALUES 60 /* of each fingerprint of a machine */
typedef pfc_sql_machine_canary_rows pfc_machine_canaries;
/** The canary's newest values on each machine, by class, machine and series, newest first. */
pfc_code pfc_machine_canaries_list(pfc_db *db, int64_t project_id, pfc_machine_canaries *out,
                                   pfc_err *err) PFC_MUSTCHECK;

/** before_json: the fingerprint that it had before; NULL: the first. */
typedef pfc_sql_machines_list_row pfc_machine_row;
typedef pfc_sql_machines_list_rows pfc_machine_rows;
/** Ordered by id; of one project: those that it has runs of, which are counted. 0: all. */
pfc_code pfc_machines_list(pfc_db *db, int64_t project_id, pfc_page page, pfc_machine_rows *out,
                           pfc_err *err) PFC_MUSTCHECK;

/* ---- bisections ---- */

/** mode: "report": sent here when it was done; "remote": done by the runners. state: running,
 *  done, cancelled. reason, branch, machine_class: of a remote one. verdict NULL: none yet.
 *  steps_json NULL: in rows of their own. stopped_json: why it is not
 *  decided, else NULL. counts_json, failure_json: of a remote one's steps;
 *  failure_json NULL: none.
 *  commits: searched; 0: a report does not say. expected_runs: to go; NAN: a report. */
typedef pfc_sql_bisections_list_row pfc_bisection;
typedef pfc_sql_bisections_list_rows pfc_bisections;
/** project_id 0: any. words: all of them occur in names, commits or verdict; NULL: any. Newest
 *  first. */
pfc_code pfc_bisections_list(pfc_db *db, int64_t project_id, const char *words, pfc_page page,
                             pfc_bisections *out, pfc_err *err) PFC_MUSTCHECK;
pfc_code pfc_bisections_get(pfc_db *db, int64_t id, pfc_bisections *out,
                            pfc_err *err) PFC_MUSTCHECK;

/* ---- tokens ---- */

/** scopes: PFC_SCOPE_*. project_id 0: all. project NULL: all. hash: SHA-256 of the secret;
 *  never shown. */
typedef pfc_sql_token_row pfc_token;
typedef pfc_sql_token_rows pfc_tokens;
/** Ordered by id. */
pfc_code pfc_tokens_list(pfc_db *db, pfc_page page, pfc_tokens *out, pfc_err *err) PFC_MUSTCHECK;
/** Also one that was revoked or has expired. */
pfc_code pfc_tokens_get(pfc_db *db, int64_t id, pfc_tokens *out, pfc_err *err) PFC_MUSTCHECK;
/** Stores another secret's hash under a new number, as token `id` is, which ends overlap_s from
 * now; *out is the new one, empty when the old one has ended. */
pfc_code pfc_tokens_rotate(pfc_tx *tx, int64_t id, const char *hash, double overlap_s,
                           pfc_tokens *out, pfc_err *err) PFC_MUSTCHECK;

/* ---- audit ---- */

/** project NULL: the action concerns the service. */
typedef pfc_sql_audit_list_row pfc_audit_row;
typedef pfc_sql_audit_list_rows pfc_audit_rows;
/** project_id 0: everything. Newest first. */
pfc_code pfc_audit_list(pfc_db *db, int64_t project_id, pfc_page page, pfc_audit_rows *out,
                        pfc_err *err) PFC_MUSTCHECK;

/* ---- figures ---- */

/** notices_dead: failed deliveries of open notices. runners: seen within five minutes, of any
 *  project. detection_lag_s: age of the oldest run that is not judged; 0: all are. */
typedef pfc_sql_figures_row pfc_figures;
/** state: queued or leased. oldest_s: age of the oldest of them. */
typedef pfc_sql_job_counts_row pfc_job_count;
typedef pfc_sql_job_counts_rows pfc_job_counts;
/** Of all projects: a row for each kind and state that has any. */
pfc_code pfc_job_counts_get(pfc_db *db, pfc_job_counts *out, pfc_err *err) PFC_MUSTCHECK;
/** project_id 0: all. */
pfc_code pfc_figures_get(pfc_db *db, int64_t project_id, pfc_figures *out,
                         pfc_err *err) PFC_MUSTCHECK;

#endif
