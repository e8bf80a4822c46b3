/*
 * Jobs as the server hands them out, and the lease that comes with one. Private to this folder.
 */
#ifndef PFC_RUNNER_JOB_JOB_H
#define PFC_RUNNER_JOB_JOB_H

#include "core/base/conf.h"
#include "core/git/repo.h"
#include "core/http/client.h"
#include "runner/spool/spool.h"

#define PFC_TASK_MAX_BACKENDS 8
#define PFC_TASK_MAX_COMMITS  254 /* with base and anchor PFC_BLOCKS_MAX_BUILDS */
#define PFC_TASK_MAX_ANCHORS  16

/** Builds that are measured together in blocks, as one session; texts are owned. */
typedef struct pfc_task_blocks {
    char **commits; /* new ones, in the order of history */
    size_t commits_len;
    char *
        *known; /* of commits: judged before, measured because later ones are compared with them */
    size_t known_len;
    char *base;     /* the last judged one */
    char **anchors; /* candidates; the first that builds counts; none: the base */
    size_t anchors_len;
    double budget_s; /* of measuring */
    double margin;   /* 0: the planner's default */
    int64_t rounds;  /* > 0: so many, whatever is decided */
} pfc_task_blocks;

/** What a search or a verification wants of a job beyond its commit. All zero: an ordinary one. */
typedef struct pfc_task {
    char *metric, *benchmark, *backend;    /* all that is wanted; NULL: everything */
    char *filter;                          /* as --filter; NULL: everything */
    char *backends[PFC_TASK_MAX_BACKENDS]; /* as --backend; none: everything */
    size_t backends_len;
    char *config;     /* perfci.yaml that counts instead of the repository's; NULL: none */
    int64_t layout;   /* PERFCI_BUILD: n-th rebuild with another layout */
    int64_t launches; /* how often the measuring command is started; 0: the runner's default, 5 */
    char
        *pair; /* a second commit, measured in the same lease with a build of its own; NULL: none */
    bool pair_first;
    pfc_task_blocks *blocks; /* NULL: the commit alone */
} pfc_task;

typedef struct pfc_leased_job {
    int64_t id;
    char *lease;   /* secret, with the lease's number in it */
    int64_t fence; /* the number, for its runs; 0: an older server does not say */
    double lease_s;
    char *project;
    char *commit;                  /* as given; resolved in the source */
    char *branch;                  /* NULL: the project's default */
    char *source;                  /* folder or URL */
    char *build, *measure, *suite; /* NULL: from perfci.yaml */
    pfc_task task;
} pfc_leased_job;

/** "task" of a job, when there is one; clear *task in every case. */
pfc_code pfc_task_from_json(const json_t *obj, const pfc_json_at *up, pfc_task *task,
                            pfc_err *err) PFC_MUSTCHECK;
void pfc_task_clear(pfc_task *task);

/** Reads the answer to a lease: {"job": {...}}. Members it does not know are left alone, so that an
 *  older runner works with a newer server. */
pfc_code pfc_job_from_json(const json_t *doc, pfc_leased_job *out, pfc_err *err) PFC_MUSTCHECK;
void pfc_job_clear(pfc_leased_job *job);

/** Fills *conf from the perfci.yaml that was sent with the job, else from that on the job's branch
 *  (else HEAD) of the repository, then puts what the job itself says over it. Never from the measured
 *  commit: whoever may propose a commit must not choose the command. PFC_EINVAL: there is no
 *  benchmark. */
pfc_code pfc_job_settings(const pfc_leased_job *job, pfc_repo *repo, pfc_conf *conf,
                          pfc_err *err) PFC_MUSTCHECK;

/** A lease while it is held; the callback for pfc_proc's `cancelled` is pfc_lease_cancelled. */
typedef struct pfc_lease {
    pfc_http *http;
    const pfc_leased_job *job;
    int stop_fd;          /* readable: stop */
    const char *progress; /* what is going on, for the server */
    int64_t next_beat_ns;
    bool lost;      /* out: the server gave it away */
    bool cancelled; /* out: somebody wants the job stopped; it is ours until it is given back */
    bool stopped;   /* out: stop_fd said so */
} pfc_lease;

/** Beats when it is time; true when the work shall stop. */
bool pfc_lease_cancelled(void *lease);

/** True when fd is readable; waits at most `wait_s`. */
bool pfc_stop_wait(int fd, double wait_s);

/** What a job came to, for the server. */
typedef struct pfc_job_verdict {
    const char *status; /* "done", "failed", "broken", "timed_out"; static. NULL: nothing is said */
    char reason[PFC_ERR_MAX];
    char (*run_ids)[33]; /* a verification brings two, a session one of each build; owned */
    size_t runs, cap;
    char session[33]; /* its documents are in the spool under this id; "": each run under its own */
} pfc_job_verdict;

void pfc_job_verdict_add_run(pfc_job_verdict *verdict, const char *id);
void pfc_job_verdict_clear(pfc_job_verdict *verdict);

/** What a job is asked for with. The number grows with each question, so that a copy of an earlier one,
 *  late on its way, is known for that and takes nothing back. */
typedef struct pfc_question {
    char lease[33];  /* the name of the lease that it shall bring; "": none yet */
    int64_t asked;   /* number of the last question under it */
    bool unnumbered; /* the server is too old for numbers */
} pfc_question;

/**
 * Asks for a job that this machine can do, for up to wait_s at the server.
 *
 * *leased false and PFC_OK: there is none now. PFC_ECONFLICT: the server has heard of a later question
 * under that name; it wants another name.
 */
pfc_code pfc_job_ask(pfc_http *http, const pfc_machine *machine, double wait_s, pfc_question *q,
                     pfc_leased_job *out, bool *leased, pfc_err *err) PFC_MUSTCHECK;

/** verdict->status must not be NULL. PFC_ECONFLICT, PFC_ENOTFOUND: it is no longer ours. */
pfc_code pfc_job_complete(pfc_http *http, const pfc_leased_job *job, const pfc_job_verdict *verdict,
                          pfc_err *err) PFC_MUSTCHECK;

/** May the server be told the same later? Else it was told, or it is no longer ours. */
bool pfc_job_unsettled(pfc_code code);

/** Gives it back undone, for the next one who asks. With a client of its own, which no stop ends, and
 *  few seconds of patience: for a runner on its way out. */
pfc_code pfc_job_give_back(const char *url, const char *token, const pfc_leased_job *job,
                           pfc_err *err) PFC_MUSTCHECK;

/**
 * The job in hand, on disk: what a process that was killed leaves for its successor in the same work
 * folder (whose lock says that the first one is gone). A lease has its name before it is asked for, so
 * that a lost answer loses nothing: asking under the same name again gives back what was leased under
 * it. With its verdict a job is ended by the successor, and what was measured is not measured again.
 */
pfc_code pfc_lease_new(const char *dir, pfc_question *q, pfc_err *err) PFC_MUSTCHECK;
/** "done" may be kept once the runs are in the spool. */
pfc_code pfc_job_keep(const char *dir, const pfc_leased_job *job, const pfc_job_verdict *verdict,
                      pfc_err *err) PFC_MUSTCHECK;
/**
 * Tells the verdict that is kept, if one is, and fills in what to ask with. "done" becomes "failed"
 * when a run of it was rejected or is put off; none of its runs may wait otherwise.
 *
 * An error is pfc_job_unsettled: the verdict is still kept.
 */
pfc_code pfc_job_settle(pfc_http *http, const char *dir, const pfc_spool *spool, pfc_question *q,
                        pfc_err *err) PFC_MUSTCHECK;

#endif
