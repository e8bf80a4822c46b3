/*
 * Declarations shared by the files of the agent. Private to this folder.
 */
#ifndef PFC_RUNNER_AGENT_AGENT_PRIV_H
#define PFC_RUNNER_AGENT_AGENT_PRIV_H

#include "core/base/hash.h"
#include "core/base/rng.h"
#include "runner/agent/agent.h"
#include "runner/build/products.h"
#include "runner/job/job.h"
#include "runner/sandbox/cgroup.h"
#include "runner/sandbox/sandbox.h"
#include "runner/spool/spool.h"
#include "runner/workspace/workspace.h"

#define PFC_AGENT_ONCE_TRIES                                                                       \
    5 /* with --once: tries to lease a job when the server does not answer */

typedef struct pfc_agent {
    const pfc_agent_opts *opts;
    pfc_agent_report *report;
    pfc_http *http;
    pfc_spool *spool;
    pfc_sandbox *sandbox;          /* NULL: jobs are not isolated */
    char open_reason[PFC_ERR_MAX]; /* why they are not */
    pfc_cgroups *cgroups;          /* NULL: this machine offers no control group */
    char isolation[200];           /* what isolates jobs, for the service */
    pfc_machine machine;           /* name and class */
    pfc_rng rng;
    int lock_fd;
    unsigned failures;                 /* in a row, for the back-off */
    char sources_hash[PFC_SHA256_HEX]; /* of the list of sources that was sent last */
    char owners_hash[PFC_SHA256_HEX];  /* of the CODEOWNERS file that was stored last */
    pfc_question question;             /* its lease is "": complete the job on disk first */
    pfc_leased_job given;              /* of opts->job */
} pfc_agent;

/* ---- agent.c ---- */

/** Works on a leased job and completes it. */
void pfc_agent_do_job(pfc_agent *a, const pfc_leased_job *job);

/* ---- given_job.c ---- */

/** Reads opts->job into a->given. */
pfc_code pfc_agent_read_given(pfc_agent *a, pfc_err *err) PFC_MUSTCHECK;
/** Begins a->given and works on it. PFC_OK also when its lease was lost. */
pfc_code pfc_agent_given_job(pfc_agent *a, pfc_err *err) PFC_MUSTCHECK;

/* ---- upload_loop.c ---- */

bool pfc_agent_stopped(const pfc_agent *a);
bool pfc_agent_http_cancelled(void *agent);
/** Backs off after a failure: twice as long each time, with jitter, so that many runners do not
 * retry at the same moment. Sends heartbeats for the lease (may be NULL). True: stop. */
bool pfc_agent_pause(pfc_agent *a, pfc_lease *lease, double at_least_s);
/** Uploads until the spool is empty or the state of `id` is final (a run's or a session's; NULL:
 * none). Returns after `tries` failures (0: when stopped or the lease is lost). The rest stays on
 * disk. */
pfc_code pfc_agent_drain(pfc_agent *a, pfc_lease *lease, const char *id, unsigned tries,
                         pfc_spool_report *report, pfc_err *err);
void pfc_agent_verdict(pfc_job_verdict *v, const char *status, const char *reason);
/** Writes the leased job to disk. A failure is logged only: it means that the job is measured again
 * after a kill. */
void pfc_agent_keep(pfc_agent *a, const pfc_leased_job *job, const pfc_job_verdict *v);
/** Spools a run with its traces and uploads it. `whole`: this run completes the job. */
void pfc_agent_store(pfc_agent *a, pfc_lease *lease, const pfc_outcome *measured, bool whole,
                     pfc_job_verdict *v);
/** As above for a session, which ends the job with `status`. */
void pfc_agent_store_session(pfc_agent *a, pfc_lease *lease, const pfc_session_set *set,
                             const char *status, const char *reason, pfc_job_verdict *v);

/* ---- measure_job.c ---- */

pfc_commit_measure_opts pfc_agent_measure_opts(const pfc_agent *a, const pfc_conf *conf,
                                               pfc_lease *lease);
/** True when the task asks for everything that perfci.yaml measures. */
bool pfc_agent_whole_suite(const pfc_task *task);
/** Sets what the runner says of a run: project, branch, job, and whether the job was isolated. A
 * document that a job wrote decides none of them. */
void pfc_agent_label(const pfc_agent *a, const pfc_leased_job *job, pfc_run *run);
/** Sends the list of files that the benchmarks are built from, for the suspects of an alert, unless
 * it was the last list sent. A failure is logged only: no result depends on it. */
void pfc_agent_send_sources(pfc_agent *a, const pfc_leased_job *job, const pfc_commit_id *id,
                            const pfc_conf *conf, const pfc_built *built);
/** Sends the CODEOWNERS file of the commit, unless it was the last one stored. A failure is logged
 * only. */
void pfc_agent_send_owners(pfc_agent *a, const pfc_leased_job *job, pfc_repo *repo,
                           const pfc_commit_id *id);
/** Measures the leased job: one commit, or a pair of commits in the requested order. Both are built
 * before either is measured, so that no build runs between the two. */
pfc_code pfc_agent_measure(pfc_agent *a, pfc_workspace *ws, const pfc_conf *conf,
                           const pfc_commit_id *id, pfc_lease *lease, pfc_job_verdict *v,
                           pfc_err *err) PFC_MUSTCHECK;

/* ---- session_job.c ---- */

/** Measures the task's builds in blocks. When the runner is stopped, the complete blocks are
 * spooled as a session and the job is not completed. When the lease is lost or cancelled, no result
 * is kept. */
pfc_code pfc_agent_session(pfc_agent *a, pfc_workspace *ws, const pfc_conf *conf, pfc_lease *lease,
                           pfc_job_verdict *v, pfc_err *err) PFC_MUSTCHECK;

#endif
