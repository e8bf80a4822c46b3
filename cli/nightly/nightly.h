/*
 * One nightly round: which commits are new, measuring them, telling the service, what came of it.
 */
#ifndef PFC_CLI_NIGHTLY_NIGHTLY_H
#define PFC_CLI_NIGHTLY_NIGHTLY_H

#include "cli/api.h"
#include "cli/measure/measure.h"
#include "cli/output/reports.h"

#define PFC_NIGHT_NONE SIZE_MAX

/** The largest change of a commit. */
typedef struct pfc_night_worst {
    char *benchmark, *metric, *backend;
    double rel_change, rel_low, rel_high;
} pfc_night_worst;

/** A commit of the round and its result. */
typedef struct pfc_night_commit {
    pfc_commit_id id;
    char *subject;
    bool measured;
    bool broken;           /* does not build, or gives wrong results */
    bool left_out;         /* more commits than the round takes, or the budget was spent */
    size_t build;          /* in the plan; PFC_NIGHT_NONE: it is not there */
    pfc_commit_id same_as; /* of identical object code; "": of none */
    int64_t run_id;        /* 0: not known */
    char *reason;          /* NULL when measured */
    char *verdict;         /* of the session: "slower", "faster", "same", "undecided", "identical",
                              "broken",         "not_measured"; NULL: there is none */
    double within;         /* of "same"; NAN: not known */
    double needs_s;        /* of "undecided"; NAN: not known */
    pfc_night_worst worst; /* benchmark NULL: none */
} pfc_night_commit;

/** The builds of a round, for blocks. */
typedef struct pfc_night_plan {
    pfc_commit_id
        *builds; /* in the order of history: the anchor unless the base is it, the base, new ones */
    size_t len;  /* below 2: there is nothing to compare with */
    size_t anchor, first;   /* as in pfc_blocks_run_opts */
    bool *known;            /* likewise, of each build */
    pfc_commit_id *anchors; /* further candidates */
    size_t anchors_len;
} pfc_night_plan;

/** Options of a round, from the command line. */
typedef struct pfc_night_opts {
    const char *anchor;  /* revision; NULL: perfci.yaml's, the newest session's, a release */
    size_t max;          /* new commits; 0: PFC_NIGHT_MAX, or PFC_NIGHT_MOST with `all` */
    bool all;            /* every commit without a run */
    const char *project; /* as typed; NULL */
    bool create;
} pfc_night_opts;

#define PFC_NIGHT_MAX  60
#define PFC_NIGHT_MOST 250 /* of one round */

struct pfc_night_store;

typedef struct pfc_night {
    const pfc_cli *cli;
    pfc_take take;
    pfc_http *http;
    char *project;
    const char *branch;
    pfc_night_commit *commits; /* that are reported, oldest first */
    size_t len;
    size_t skipped;         /* of them left out */
    pfc_commit_id *earlier; /* still undecided, and not in this round; oldest first; owned */
    size_t earlier_len, earlier_suspected; /* suspected: of them with a step in their values */
    pfc_night_plan plan;
    double budget_s, margin;
    json_t *sessions; /* the newest of the service, array; NULL: it has none of their kind; owned */
    char session[33]; /* of this round; "": there is none */
    json_t *further;  /* ids of its sessions on further classes of machines; NULL: none; owned */
    json_t *posted;   /* its document; NULL; owned */
    json_t *judged_session; /* as the service judged it; NULL: not known; owned */
    json_t *series;         /* this program's judgement of the session's series, as "series" of the
                               service's answer; array; NULL: none; owned */
    json_t *skipped_benchmarks; /* {commit, benchmark, metric, backend, reason} of those that cannot
                                   be measured here; array; NULL: none; owned */
    bool local;       /* the verdicts are this program's, as the service has no sessions */
    char *note;       /* of the session; NULL */
    json_t *alerts;   /* those that this round brought, "explanation" of the first regressions as
                       GET /alerts/{id}/explanation answers it; array, owned */
    json_t *broken;   /* {commit, benchmark, metric, backend, machine_class, reason, run_id}; array,
                         owned */
    json_t *standing; /* of the project afterwards, as the service says; NULL: not asked; owned */
    struct pfc_night_store *store; /* where the history is; NULL: a service has it. Owned */
    bool push_failed;              /* the store could not be sent to its remote */
    bool ended;                    /* the session ended before its time */
    bool judged;                   /* the service has looked at all of it */
} pfc_night;

/** Finds what is new and chooses what the round measures: night->commits and night->plan. */
pfc_code pfc_night_find(pfc_night *night, const pfc_night_opts *opts, pfc_err *err) PFC_MUSTCHECK;
/** The newest commits of a list that are worth their time: `keep[i]` is set for `max` of them: the
 * newest always, of the others one of each stretch of history, that with the most changed lines of
 * source. */
void pfc_night_choose(pfc_repo *repo, const pfc_commit_id *ids, size_t len, size_t max, bool *keep);

/** Measures the plan here, in blocks, and sends runs and session. */
pfc_code pfc_night_measure_blocks(pfc_night *night, pfc_err *err) PFC_MUSTCHECK;
/** The verdicts of the service for night->session, or of this program where the service has no
 * sessions. */
pfc_code pfc_night_take_verdicts(pfc_night *night, pfc_err *err) PFC_MUSTCHECK;
/** The verdicts of this program alone, of the runs of a result. */
pfc_code pfc_night_judge(pfc_night *night, const pfc_blocks_result *result,
                         pfc_err *err) PFC_MUSTCHECK;
void pfc_night_clear(pfc_night *night);

/* ---- without a service (store_round.c) ---- */

/** Opens the store of the round and reads its history; n->take is open. remote: to which the branch
 * is pushed; NULL: none. Close in every case. */
pfc_code pfc_night_store_open(pfc_night *night, const char *spec, const char *remote,
                              pfc_err *err) PFC_MUSTCHECK;
void pfc_night_store_close(pfc_night *night);
/** Adds the session and the regressions that are new, sets alerts and standing, and publishes. */
pfc_code pfc_night_store_finish(pfc_night *night, pfc_err *err) PFC_MUSTCHECK;

#define PFC_NIGHT_MAX_CLASSES 8 /* of machines, each with a session of its own */

/** How the service's runners measure a round. */
typedef struct pfc_night_jobs {
    const char *source; /* what runners read; NULL: the project's --repo-url, else --repo */
    int64_t until_ns;   /* on the clock of pfc_clock_ns: then the wait ends */
    const char *const *machine_classes; /* a job for each; none: one, on any runner */
    size_t machine_classes_len;
} pfc_night_jobs;

/** Queues the jobs and waits for them; what came of each commit is in night->commits. */
pfc_code pfc_night_measure_by_jobs(pfc_night *night, const pfc_night_jobs *jobs,
                                   pfc_err *err) PFC_MUSTCHECK;
/** Whether an alert is a regression. A benchmark that broke has lost its values: it is reported
 * with its reason and is no regression. (report.c) */
bool pfc_night_is_regression(const json_t *alert);
/** Notes the benchmarks that a run skipped. (findings.c) */
void pfc_night_note_skipped(pfc_night *night, const pfc_run *run);
/** Everything that the round found out, for report files; clear it. `findings` is empty before.
 * (findings.c) */
void pfc_night_findings(const pfc_night *night, pfc_findings *findings);
/** The commit of the round with this id; NULL: it is none of its. */
const pfc_night_commit *pfc_night_commit_of(const pfc_night *night, const char *id);
/** The verdict of a commit in words, with its number; without a verdict its status. */
void pfc_night_put_word(const pfc_night_commit *commit, pfc_buf *out);
/** "3 new commits measured, 1 regression". */
void pfc_night_put_verdict(const pfc_night *night, pfc_buf *out);
/** How many undecided commits the round had no room for, in a sentence each; nothing without. */
void pfc_night_put_earlier(const pfc_night *night, pfc_buf *out);
/** The report as Markdown. */
void pfc_night_markdown(const pfc_night *night, pfc_buf *out);
/** Prints as table and sentences, Markdown or JSON. */
void pfc_night_print(const pfc_night *night, bool markdown);
/** 1 a regression or a slower commit, 4 the newest commit or a benchmark of any is broken, 5 the
 * service has not judged yet, 0. */
int pfc_night_exit(const pfc_night *night);

#endif
