/*
 * What the parts of the agent share. Private to them.
 */
#ifndef PFC_RUNNER_AGENT_AGENT_PRIV_H
#define PFC_RUNNER_AGENT_AGENT_PRIV_H

#include "core/base/hash.h"
#include "core/base/rng.h"
#include "runner/agent/agent.h"
#include "runner/build/products.h"
#include "runner/job/job.h"
#include "runner/spool/spool.h"
#include "runner/workspace/workspace.h"

#define PFC_AGENT_ONCE_TRIES 5 /* with --once: questions to a server that does not answer */

typedef struct pfc_agent {
    const pfc_agent_opts *opts;
    pfc_agent_report *report;
    pfc_http *http;
    pfc_spool *spool;
    pfc_machine machine; /* name and class */
    pfc_rng rng;
    int lock_fd;
    unsigned failures;         /* in a row, for the back-off */
    char told[PFC_SHA256_HEX]; /* hash of the list of sources that was sent last */
    pfc_question question;     /* its lease is "": what is kept must be settled first */
} pfc_agent;

/* ---- agent_upload.c ---- */

bool pfc_agent_stopped(const pfc_agent *a);
bool pfc_agent_http_cancelled(void *agent);
/** Waits after a failure: twice as long each time, with jitter, so that a hundred runners do not come back at
 *  one instant; keeps the lease (may be NULL) meanwhile. True: stop. */
bool pfc_agent_pause(pfc_agent *a, pfc_lease *lease, double at_least_s);
/** Uploads until the spool is empty or `id` (a run's or a session's; NULL: none) is no concern any more, for
 *  at most `tries` failures (0: until stopped or the lease is lost). What remains stays on disk. */
pfc_code pfc_agent_drain(pfc_agent *a, pfc_lease *lease, const char *id, unsigned tries,
                         pfc_spool_report *report, pfc_err *err);
void pfc_agent_verdict(pfc_job_verdict *v, const char *status, const char *reason);
/** The job in hand, on disk. Without it, a killed runner's job is measured again; no reason not to measure. */
void pfc_agent_keep(pfc_agent *a, const pfc_leased_job *job, const pfc_job_verdict *v);
/** Spools and uploads. `whole`: with this run the job is done. */
void pfc_agent_store(pfc_agent *a, pfc_lease *lease, const pfc_run *run, bool whole,
                     pfc_job_verdict *v);
/** Likewise a session, with which the job ends as `status`. */
void pfc_agent_store_session(pfc_agent *a, pfc_lease *lease, const pfc_session_set *set,
                             const char *status, const char *reason, pfc_job_verdict *v);

/* ---- agent_measure.c ---- */

pfc_commit_measure_opts pfc_agent_measure_opts(const pfc_agent *a, const pfc_conf *conf,
                                               pfc_lease *lease);
/** Whether all that perfci.yaml measures is wanted. */
bool pfc_agent_whole_suite(const pfc_task *task);
void pfc_agent_label(const pfc_leased_job *job, pfc_run *run);
/** What the benchmarks are built from, for the suspects of an alert. That it cannot be told changes no result;
 *  what was said last is not said again. */
void pfc_agent_tell_sources(pfc_agent *a, const pfc_leased_job *job, const pfc_commit_id *id,
                            const pfc_conf *conf, const pfc_built *built);
/** Measures what was leased: one commit, or a pair of them in the order that was asked for, both built before
 *  either is measured, so that nothing lies between the two. */
pfc_code pfc_agent_measure(pfc_agent *a, pfc_workspace *ws, const pfc_conf *conf,
                           const pfc_commit_id *id, pfc_lease *lease, pfc_job_verdict *v,
                           pfc_err *err) PFC_MUSTCHECK;

/* ---- agent_session.c ---- */

/** Measures the task's builds in blocks. Stopped inside a block, what whole blocks brought is spooled as a
 *  session of its own, and the job is left undone. Of a lost or cancelled lease nothing is kept. */
pfc_code pfc_agent_session(pfc_agent *a, pfc_workspace *ws, const pfc_conf *conf, pfc_lease *lease,
                           pfc_job_verdict *v, pfc_err *err) PFC_MUSTCHECK;

#endif
