/*
 * Jobs as the server hands them out, and the lease that comes with one. Private to this folder.
 */
#ifndef PFC_RUNNER_JOB_H
#define PFC_RUNNER_JOB_H

#include "core/base/conf.h"
#include "core/git/repo.h"
#include "core/http/client.h"

/** What a search or a verification wants of a job beyond its commit. All zero: an ordinary one. */
typedef struct pfc_task {
    char *metric, *benchmark, *backend; /* all that is wanted; NULL: everything */
    int64_t layout;                     /* PERFCI_BUILD: n-th rebuild with another layout */
    int64_t launches;                   /* of a measuring command; 0: the usual number */
    char
        *pair; /* a second commit, measured in the same lease with a build of its own; NULL: none */
    bool pair_first;
} pfc_task;

typedef struct pfc_job {
    int64_t id;
    char *lease; /* secret */
    double lease_s;
    char *project;
    char *commit;                  /* as given; resolved in the source */
    char *branch;                  /* NULL: the project's default */
    char *source;                  /* folder or URL */
    char *build, *measure, *suite; /* NULL: from perfci.yaml */
    pfc_task task;
} pfc_job;

/** Reads the answer to a lease: {"job": {...}}. Members it does not know are left alone, so that an
 *  older runner works with a newer server. */
pfc_code pfc_job_from_json(const json_t *doc, pfc_job *out, pfc_err *err) PFC_MUSTCHECK;
void pfc_job_clear(pfc_job *job);

/** Fills *conf from perfci.yaml on the job's branch (else HEAD) of the repository, then puts what
 *  the job itself says over it. Never from the measured commit: whoever may propose a commit must
 *  not choose the command. */
pfc_code pfc_job_settings(const pfc_job *job, pfc_repo *repo, pfc_conf *conf,
                          pfc_err *err) PFC_MUSTCHECK;

/** A lease while it is held; the callback for pfc_proc's `cancelled` is pfc_lease_cancelled. */
typedef struct pfc_lease {
    pfc_http *http;
    const pfc_job *job;
    int stop_fd;          /* readable: stop */
    const char *progress; /* what is going on, for the server */
    int64_t next_beat_ns;
    bool lost;    /* out: the server gave it away, or cancelled the job */
    bool stopped; /* out: stop_fd said so */
} pfc_lease;

/** Beats when it is time; true when the work shall stop. */
bool pfc_lease_cancelled(void *lease);

/** True when fd is readable; waits at most `wait_s`. */
bool pfc_stop_wait(int fd, double wait_s);

/** status: "done", "failed", "broken", "timed_out". */
pfc_code pfc_job_complete(pfc_http *http, const pfc_job *job, const char *status,
                          const char *reason, const char *const *run_ids, size_t run_ids_len,
                          pfc_err *err) PFC_MUSTCHECK;

#endif
