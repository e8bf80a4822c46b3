/*
 * A local bisection, in parts: the commits it is about, what it has spent so far (kept on disk, so
 * that a crash or Ctrl-C costs one measurement at most), and the way one commit is measured. Which
 * commit comes next is decided by core/bisect/bisect.h.
 */
#ifndef PFC_CLI_BISECT_SEARCH_H
#define PFC_CLI_BISECT_SEARCH_H

#include "cli/cli.h"
#include "core/base/conf.h"
#include "core/base/hash.h"
#include "core/bisect/bisect.h"
#include "core/bisect/confirm.h"
#include "core/bisect/finding.h"
#include "core/bisect/pairing.h"
#include "core/bisect/remaining.h"
#include "core/git/project_file.h"
#include "runner/measure/canary.h"
#include "runner/workspace/workspace.h"

#define PFC_HUNT_MAX_ID      64
#define PFC_HUNT_REPORT_ROWS 3 /* commits in the table of a report of at most 15 lines */
#define PFC_HUNT_MAX_FILE    (256u * 1024 * 1024)
#define PFC_HUNT_MAX_GLOBS   256
#define PFC_HUNT_TOUCH_SHARE 0.8 /* prior mass of the commits that touch the benchmark's files */

/* ---- commits.c: the range ---- */

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
/** Appends one that touches nothing. */
void pfc_hunt_commits_add(pfc_hunt_commits *commits, const char *id);
bool pfc_hunt_is_id(const char *text);
/** Keeps what lies from good to bad (NULL: the list's own ends); PFC_EINVAL without two, with
 *  twins, or with the ends swapped. `file` for errors. */
pfc_code pfc_hunt_commits_ends(pfc_hunt_commits *commits, const char *file, const char *good,
                               const char *bad, pfc_err *err) PFC_MUSTCHECK;
void pfc_hunt_commits_clear(pfc_hunt_commits *commits);
/** Does one of the globs match? "kernels" and "kernels/" match all below; '*' crosses slashes. */
bool pfc_hunt_touches(const char *path, char *const *globs, size_t globs_len);
/** Weight of each commit for the planner, or NULL when nothing tells them apart; caller frees.
 *  The touching ones share PFC_HUNT_TOUCH_SHARE, the rest is spread evenly over all: a prior that
 *  is wrong then costs some runs and never the answer. */
double *pfc_hunt_prior(const pfc_hunt_commits *commits);

/* ---- state.c: what was spent ---- */

typedef struct pfc_hunt_step {
    size_t commit; /* index */
    unsigned build;
    pfc_outcome_kind kind;
    double value;          /* when measured */
    bool higher_is_better; /* as the measurement said */
    bool undirected;       /* it said no direction */
    bool exact;
    bool built;
    bool confirm; /* of a confirmation: not for the plan */
    /* In pairs: see pairs.c. */
    unsigned unit;  /* from 1; 0: a run by itself */
    bool reference; /* of the build that the unit's other runs are compared with */
    bool link;      /* the unit is a confirmation's pair: the reference is the commit before */
    double build_s, measure_s;
} pfc_hunt_step;

typedef struct pfc_hunt_state {
    char *path;               /* of the file */
    char key[PFC_SHA256_HEX]; /* of everything that decides what a measurement means */
    double seconds;           /* spent by earlier calls and this one, up to the last save */
    int refuted;              /* answers that a confirmation has refuted */
    bool paired;              /* the plan hears of units of pairs, no more of single runs */
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

/* ---- search.c: what it starts from ---- */

typedef enum pfc_hunt_axis {
    PFC_AXIS_COMMITS,
    PFC_AXIS_TOOLCHAIN,
    PFC_AXIS_DEPENDENCY
} pfc_hunt_axis;

typedef struct pfc_hunt_opts {
    const char *repo, *good, *bad; /* repo: folder; good and bad: revisions or ids */
    const char *config; /* the perfci.yaml that counts; NULL: see core/git/project_file.h */
    const char *metric, *benchmark, *backend, *filter;
    const char *measure, *suite, *build, *relink_command; /* NULL: perfci.yaml's */
    const char *commits_file;
    const char *work;                 /* checkouts; NULL: below the user's cache folder */
    const char *url, *data, *project; /* of the service, for --post */
    char *globs[PFC_HUNT_MAX_GLOBS];
    size_t globs_len;
    double confidence, noise, layout_noise, delta, margin, timeout_s; /* 0: not given */
    int64_t max_runs;
    int better;  /* +1 higher, -1 lower, 0 not given */
    int paired;  /* +1 yes, -1 no, 0: where checkouts are ours and the machine has states */
    int confirm; /* +1 yes, -1 no, 0: where commits are checked out and built by us */
    bool time;   /* of a measuring command: its wall time and memory instead of its output */
    bool relink, first_only, no_checkout, resume, dry_run, post, markdown, all_parents;
    bool verbose;  /* a line for each run, and the whole report */
    bool remote;   /* the service's runners search */
    int64_t alert; /* with remote: its metric, range and suspects; 0: none */
    /* Another axis than history, with the code fixed: see axis.c. */
    pfc_hunt_axis axis;
    const char *points, *submodule, *at;
    int argc; /* of the call, to say how to repeat it */
    char **argv;
} pfc_hunt_opts;

/** What a unit of pairs told the plan. */
typedef struct pfc_hunt_told {
    size_t commit;
    double ratio; /* to the good end's build */
} pfc_hunt_told;

/** What came of confirming one culprit. */
typedef struct pfc_hunt_confirmed {
    pfc_culprit culprit;
    pfc_confirm_result result;
    char reason[200]; /* why it stays open, else "" */
} pfc_hunt_confirmed;

typedef struct pfc_hunt {
    const pfc_cli *cli;
    const pfc_hunt_opts *opts;
    pfc_conf conf;             /* one way to measure for all commits */
    pfc_project_source source; /* where it came from */
    pfc_repo *repo;            /* NULL with --no-checkout and no repository */
    pfc_workspace *ws;         /* opened at the first measurement */
    char *work;                /* its folder */
    char *suite_file; /* beside the perfci.yaml that counts, or the bad end's, copied out; NULL */
    char *temp;       /* folder of it */
    pfc_commit_measure_opts measure;
    pfc_workspace_opts ws_opts;
    pfc_hunt_commits commits;
    pfc_hunt_state state;
    char **points; /* of an axis: shell text before build and measure, by commit; NULL */
    pfc_bisect_plan *plan;
    pfc_hunt_confirmed *confirmed; /* of this answer's culprits, in the report's order */
    size_t confirmed_len;
    pfc_pairing pairing; /* the unit under way, and what earlier ones were like */
    pfc_hunt_told *told; /* of the commits' units, in order */
    size_t told_len, told_cap;
    pfc_hunt_step subject; /* the first run of the unit under way */
    pfc_hunt_step link; /* half of a confirmation's pair that became the search's; unit 0: none */
    bool higher_is_better;
    bool interrupted;
    int64_t started_ns;
    double seconds_before;  /* of earlier calls */
    pfc_canary_look canary; /* around a search by a command */
    char phase[160];        /* what the runs are for, in words; told with the next one */
    bool phase_told;
    double to_go;     /* runs, estimated at to_go_ns, when to_go_at runs were done */
    int64_t to_go_ns; /* 0: no estimate yet */
    size_t to_go_at;
    bool log_open;          /* a decision's runs are being collected for the log */
    size_t log_from;        /* its first step */
    pfc_hunt_step log_step; /* its newest step of the commit that it measures */
    double kept_measure_s,
        kept_build_s; /* of a dry run: medians of what was kept; 0: nothing was */
} pfc_hunt;

/** Finds the commits, the settings and the kept state; makes the plan. Close it in every case. */
pfc_code pfc_hunt_open(pfc_hunt *hunt, const pfc_cli *cli, const pfc_hunt_opts *opts,
                       pfc_err *err) PFC_MUSTCHECK;
void pfc_hunt_close(pfc_hunt *hunt);
bool pfc_hunt_is_end(const pfc_hunt *hunt, size_t commit);
/** A plan that knows all steps kept so far. */
pfc_code pfc_hunt_replan(pfc_hunt *hunt, pfc_err *err) PFC_MUSTCHECK;
/** True when the metric's direction, as the runs so far tell it, is not the plan's. */
bool pfc_hunt_turned(const pfc_hunt *hunt);
pfc_code pfc_hunt_tell(pfc_hunt *hunt, const pfc_hunt_step *step, pfc_err *err) PFC_MUSTCHECK;
/** The first step that gave a value, NULL: none. */
const pfc_hunt_step *pfc_hunt_first(const pfc_hunt *hunt);
/** A build's cost in runs; 0 while unknown. */
double pfc_hunt_build_cost(const pfc_hunt *hunt);

/* ---- loop.c: the loop ---- */

/** Measures until the plan stops and what it names is confirmed, or a signal comes
 *  (hunt->interrupted). PFC_EBROKEN when an end cannot be measured. */
pfc_code pfc_hunt_run(pfc_hunt *hunt, pfc_err *err) PFC_MUSTCHECK;
/** One measurement of step's commit and build, kept on disk with what it gave; *taken false when a
 *  signal cut it short. `reason` has PFC_WORKSPACE_REASON_BYTES. */
pfc_code pfc_hunt_take(pfc_hunt *hunt, pfc_hunt_step *step, char *reason, bool *taken,
                       pfc_err *err) PFC_MUSTCHECK;

/* ---- pairs.c: a commit interleaved with the good commit's build ---- */

/** Single runs are made, and pairs would be taken if the machine asked for them. */
bool pfc_hunt_pairs_may(const pfc_hunt *hunt);
/** Goes over to pairs when single runs show a machine with states, and says so. */
pfc_code pfc_hunt_pairs_turn(pfc_hunt *hunt, bool *turned, pfc_err *err) PFC_MUSTCHECK;
/** Single runs have come to an end that is not to be trusted: goes over to pairs after a confirmation
 *  that shows nobody, and before a "no" where any run was far from its equals. */
pfc_code pfc_hunt_pairs_doubt(pfc_hunt *hunt, bool *turned, pfc_err *err) PFC_MUSTCHECK;
/** The next run of the unit under way, or the first one of the unit that the plan's question asks for. */
void pfc_hunt_pairs_ask(const pfc_hunt *hunt, const pfc_bisect_step *next, pfc_hunt_step *step);
/** Is a unit under way? */
bool pfc_hunt_pairs_open(const pfc_hunt *hunt);
/** A measured run; what completes a unit is told to the plan. */
pfc_code pfc_hunt_pairs_tell(pfc_hunt *hunt, const pfc_hunt_step *step, pfc_err *err) PFC_MUSTCHECK;
/** Forgets all units: they are about to be told again. */
void pfc_hunt_pairs_reset(pfc_hunt *hunt);
/** The runs of a confirmation become units of the search. */
void pfc_hunt_pairs_take_over(pfc_hunt *hunt);
/** Units of a commit as pairs of 1 and its ratio; caller frees both. */
size_t pfc_hunt_pairs_of(const pfc_hunt *hunt, size_t commit, double **ones, double **ratios);
/** Runs that a question of the plan costs, on average; 1 without pairs. */
double pfc_hunt_pairs_cost(const pfc_hunt *hunt);

/* ---- confirm.c: nobody is blamed before a fresh comparison ---- */

bool pfc_hunt_confirms(const pfc_hunt *hunt);
/** Compares the commit before each named one with it: replays what was kept, measures the rest.
 *  *again: a comparison refuted an answer, its runs were given to the plan, go on searching. */
pfc_code pfc_hunt_confirm(pfc_hunt *hunt, bool *again, pfc_err *err) PFC_MUSTCHECK;

/* ---- axis.c: compilers, flags, dependencies instead of commits ---- */

/** Fills commits and points. */
pfc_code pfc_hunt_axis_read(pfc_hunt *hunt, pfc_err *err) PFC_MUSTCHECK;

/* ---- cost.c: what it will take ---- */

/** Median seconds of a measurement and of a build so far; 0 when unknown. */
void pfc_hunt_costs(const pfc_hunt *hunt, double *measure_s, double *build_s);
/** Prints what is expected, measures nothing; the exit status. */
int pfc_hunt_dry_run(const pfc_hunt *hunt);

/** Mean runs of the fresh comparison that follows the search; of the report's first culprit, if any. */
double pfc_hunt_confirm_cost(const pfc_hunt *hunt, const pfc_bisect_report *report);

/* ---- stop_reason.c: stopped before it was decided ---- */

typedef struct pfc_hunt_stop {
    bool budget; /* the runs allowed are used and the search, or its confirmation, wants more */
    size_t budget_runs;
    pfc_bisect_remaining left;
    double more_runs;    /* expected, the confirmation included */
    pfc_finding finding; /* the ends' difference against the margin */
    bool
        open_none; /* not decided, and what is missing is the evidence that there is no regression */
} pfc_hunt_stop;

/** `report` as judged. `budget` is false when it is decided, or not decided for another reason. */
void pfc_hunt_stop_get(const pfc_hunt *hunt, const pfc_bisect_report *report, pfc_hunt_stop *out);
/** One sentence; only for `budget`. */
void pfc_hunt_stop_say(const pfc_hunt *hunt, const pfc_hunt_stop *stop, pfc_buf *out);
/** "the ends differ by …", and what would decide it; without a full stop. */
void pfc_hunt_none_say(const pfc_hunt_stop *stop, pfc_buf *out);
/** Sets "difference" and "stopped" ("budget", "interrupted", null) and for a budget what is left. */
void pfc_hunt_stop_json(const pfc_hunt *hunt, const pfc_hunt_stop *stop, json_t *doc);

/* ---- view.c: the view on a terminal ---- */

/** Purpose of the runs from now on: the view's first line, and a line of the log before the next run. */
void pfc_hunt_phase(pfc_hunt *hunt, const char *fmt, ...) PFC_PRINTF(2, 3);
/** On a terminal: redraws phase, posterior, suspects, runs done and expected, time left. */
void pfc_hunt_view(pfc_hunt *hunt, const pfc_bisect_step *next, bool confirm);
/** Clears the view. */
void pfc_hunt_view_wipe(const pfc_hunt *hunt);
/** Appends "[18/45]": runs done and expected. */
void pfc_hunt_count_say(pfc_hunt *hunt, bool confirm, pfc_buf *out);
/** Appends the most probable commits with their probabilities. */
void pfc_hunt_suspects_say(const pfc_hunt *hunt, pfc_buf *out);
/** Runs that the search is expected to need from now on, at least 1; estimated anew every 3 s. */
double pfc_hunt_runs_to_go(pfc_hunt *hunt);

/* ---- decision_log.c: the log elsewhere ---- */

/** Before a run: prints the line of the decision under way unless the run belongs to it. */
void pfc_hunt_log_begin(pfc_hunt *hunt, const pfc_hunt_step *step);
/** Notes a run; prints a line when a decision of the planner is complete, when a commit cannot be measured, and with
 *  --verbose for each run. */
void pfc_hunt_log(pfc_hunt *hunt, const pfc_hunt_step *step, const char *reason);
/** Prints the line of the decision under way, if any: before a new phase and at the end. */
void pfc_hunt_log_flush(pfc_hunt *hunt);

/* ---- evidence.c: what was measured, in sentences ---- */

/** The runs of one commit. */
typedef struct pfc_hunt_side {
    size_t commit, runs, builds, layouts; /* layouts: builds that were laid out anew */
    double median, noise_rel;             /* NAN without runs; noise: 1.4826 MAD / median */
} pfc_hunt_side;

void pfc_hunt_side_of(const pfc_hunt *hunt, size_t commit, pfc_hunt_side *out);
/** Bad against good over all runs of the ends; false with fewer than 3 a side. */
bool pfc_hunt_ends_compared(const pfc_hunt *hunt, pfc_compare_result *out);
json_t *pfc_hunt_evidence_json(const pfc_hunt *hunt, const pfc_bisect_report *report);
/** Sentences by their titles, as text or as Markdown. */
void pfc_hunt_evidence_print(const pfc_hunt *hunt, const pfc_bisect_report *report,
                             const pfc_hunt_stop *stop, bool markdown);
/** First line of the commit's message, "" when there is no repository; caller frees. */
char *pfc_hunt_subject(const pfc_hunt *hunt, size_t commit);

/* ---- report.c: the answer ---- */

/** --remote (remote.c): orders, follows, tells; returns the exit status. */
int pfc_remote_bisect(const pfc_cli *cli, const pfc_hunt_opts *opts);

/** Is the i-th culprit of the report one to blame? (True where nothing is to be confirmed.) */
bool pfc_hunt_stands(const pfc_hunt *hunt, size_t culprit);
/** Runs of the search and of confirmations. */
size_t pfc_hunt_runs(const pfc_hunt *hunt, const pfc_bisect_report *report);
/** Does the answer so far name somebody to blame? */
bool pfc_hunt_names(const pfc_hunt *hunt);
/** When what is named is one merge: the ends of the branch that it brought (merge base and tip). */
bool pfc_hunt_branch(const pfc_hunt *hunt, pfc_commit_id *base, pfc_commit_id *tip);
/** Prints table, Markdown or JSON, posts when asked to; returns the exit status. */
int pfc_hunt_report(pfc_hunt *hunt);

#endif
