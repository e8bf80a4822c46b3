/*
 * A local bisection, in parts: the commits it is about, what it has spent so far (kept on disk, so
 * that a crash or Ctrl-C costs one measurement at most), and the way one commit is measured. Which
 * commit comes next is decided by core/analysis/bisect.h.
 */
#ifndef PFC_CLI_HUNT_H
#define PFC_CLI_HUNT_H

#include "cli/cli.h"
#include "core/analysis/bisect.h"
#include "core/base/conf.h"
#include "core/base/hash.h"
#include "runner/workspace.h"

#define PFC_HUNT_MAX_ID      64
#define PFC_HUNT_MAX_FILE    (256u * 1024 * 1024)
#define PFC_HUNT_MAX_GLOBS   256
#define PFC_HUNT_TOUCH_SHARE 0.8 /* prior mass of the commits that touch the benchmark's files */

/* ---- hunt_commits.c: the range ---- */

typedef struct pfc_hunt_commit {
    char *id;
    bool touches; /* a path that one of the globs matches */
} pfc_hunt_commit;

/** Oldest first, the good one first, the bad one last. */
typedef struct pfc_hunt_commits {
    pfc_hunt_commit *items;
    size_t len;
    size_t cap;
} pfc_hunt_commits;

/** A file of ids, one a line, oldest first; optionally a tab and the touched paths with commas
 *  between. good and bad narrow it down to a part, NULL: its first and last line. */
pfc_code pfc_hunt_commits_file(const char *path, const char *good, const char *bad,
                               char *const *globs, size_t globs_len, pfc_hunt_commits *out,
                               pfc_err *err) PFC_MUSTCHECK;
/** First-parent history from good to bad. */
pfc_code pfc_hunt_commits_repo(pfc_repo *repo, const char *good, const char *bad,
                               char *const *globs, size_t globs_len, pfc_hunt_commits *out,
                               pfc_err *err) PFC_MUSTCHECK;
void pfc_hunt_commits_clear(pfc_hunt_commits *commits);
/** Does one of the globs match? "kernels" and "kernels/" match all below; '*' crosses slashes. */
bool pfc_hunt_touches(const char *path, char *const *globs, size_t globs_len);
/** Weight of each commit for the planner, or NULL when nothing tells them apart; caller frees.
 *  The touching ones share PFC_HUNT_TOUCH_SHARE, the rest is spread evenly over all: a prior that
 *  is wrong then costs some runs and never the answer. */
double *pfc_hunt_prior(const pfc_hunt_commits *commits);

/* ---- hunt_state.c: what was spent ---- */

typedef struct pfc_hunt_step {
    size_t commit; /* index */
    unsigned build;
    pfc_outcome_kind kind;
    double value;          /* when measured */
    bool higher_is_better; /* as the measurement said */
    bool exact;
    bool built;
    double build_s, measure_s;
} pfc_hunt_step;

typedef struct pfc_hunt_state {
    char *path;               /* of the file */
    char key[PFC_SHA256_HEX]; /* of everything that decides what a measurement means */
    double seconds;           /* spent by earlier calls and this one, up to the last save */
    pfc_hunt_step *steps;
    size_t len;
    size_t cap;
} pfc_hunt_state;

/** Reads the file when it is there and has this key; *found says so. PFC_EINVAL when it is damaged. */
pfc_code pfc_hunt_state_load(pfc_hunt_state *state, size_t commits, bool *found,
                             pfc_err *err) PFC_MUSTCHECK;
/** Replaces the file atomically (and makes its folder). */
pfc_code pfc_hunt_state_save(const pfc_hunt_state *state, pfc_err *err) PFC_MUSTCHECK;
void pfc_hunt_state_add(pfc_hunt_state *state, const pfc_hunt_step *step);
void pfc_hunt_state_clear(pfc_hunt_state *state);

/* ---- hunt.c: the loop ---- */

typedef struct pfc_hunt_opts {
    const char *repo, *good, *bad; /* repo: folder; good and bad: revisions or ids */
    const char *metric, *benchmark, *backend;
    const char *measure, *suite, *build, *relink_command; /* NULL: perfci.yaml's */
    const char *commits_file;
    const char *work;                 /* checkouts; NULL: below the user's cache folder */
    const char *url, *data, *project; /* of the service, for --post */
    char *globs[PFC_HUNT_MAX_GLOBS];
    size_t globs_len;
    double confidence, noise, layout_noise, delta, timeout_s; /* 0: not given */
    int64_t max_runs;
    int better; /* +1 higher, -1 lower, 0 not given */
    bool relink, no_checkout, resume, dry_run, post;
    bool remote;   /* the service's runners search */
    int64_t alert; /* with remote: its metric, range and suspects; 0: none */
} pfc_hunt_opts;

typedef struct pfc_hunt {
    const pfc_cli *cli;
    const pfc_hunt_opts *opts;
    pfc_conf conf;     /* perfci.yaml of the bad end */
    pfc_repo *repo;    /* NULL with --no-checkout and no repository */
    pfc_workspace *ws; /* opened at the first measurement */
    char *work;        /* its folder */
    char *suite_file;  /* the bad end's suite, copied out; NULL */
    char *temp;        /* folder of it */
    pfc_measure_opts measure;
    pfc_workspace_opts ws_opts;
    pfc_hunt_commits commits;
    pfc_hunt_state state;
    pfc_bisect_plan *plan;
    bool higher_is_better;
    bool interrupted;
    int64_t started_ns;
    double seconds_before; /* of earlier calls */
    double kept_measure_s,
        kept_build_s; /* of a dry run: medians of what was kept; 0: nothing was */
} pfc_hunt;

/** Finds the commits, the settings and the kept state; makes the plan. Close it in every case. */
pfc_code pfc_hunt_open(pfc_hunt *hunt, const pfc_cli *cli, const pfc_hunt_opts *opts,
                       pfc_err *err) PFC_MUSTCHECK;
/** Measures until the plan stops or a signal comes (hunt->interrupted). PFC_EBROKEN when an end
 *  cannot be measured. */
pfc_code pfc_hunt_run(pfc_hunt *hunt, pfc_err *err) PFC_MUSTCHECK;
void pfc_hunt_close(pfc_hunt *hunt);
/** Median seconds of a measurement and of a build so far; 0 when unknown. */
void pfc_hunt_costs(const pfc_hunt *hunt, double *measure_s, double *build_s);

/* ---- hunt_report.c: the answer ---- */

/** --remote (remote.c): orders, follows, tells; returns the exit status. */
int pfc_remote_bisect(const pfc_cli *cli, const pfc_hunt_opts *opts);

/** Prints table or JSON, posts when asked to; returns the exit status. */
int pfc_hunt_report(pfc_hunt *hunt);

#endif
