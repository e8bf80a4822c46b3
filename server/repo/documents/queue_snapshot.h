/*
 * The job queue at one moment, as the statement queue_look returns it in one document, so that all
 * of it is of one snapshot.
 */
#ifndef PFC_SERVER_REPO_DOCUMENTS_QUEUE_SNAPSHOT_H
#define PFC_SERVER_REPO_DOCUMENTS_QUEUE_SNAPSHOT_H

#include "core/wire/wire.h"
#include "server/repo/sql/queue.h"

typedef struct pfc_queue_job {
    int64_t id;
    bool leased;
    size_t fit, history; /* indices into `fits` and `histories` */
    double due_s;        /* until it may be leased; 0: now */
    double since_s;      /* leased: since then */
    char *runner;        /* leased: by this one; else "" */
    double avoid_s;      /* for which its runner to avoid is avoided; 0: for none */
    int64_t *parents;    /* ids of the jobs that must be done before */
    size_t parents_len;
} pfc_queue_job;

/** Jobs of one project with the same labels and the same runner to avoid. */
typedef struct pfc_queue_fit {
    pfc_labels labels;
    char *avoid;    /* runner; NULL: none */
    char **runners; /* that may take such a job */
    size_t runners_len;
    char *last;   /* where no runner may: the last seen that could; NULL: none ever could */
    double ago_s; /* since `last` was seen */
} pfc_queue_fit;

/** Durations that tell how long a job takes. */
typedef struct pfc_queue_history {
    double *seconds;
    size_t len;
    bool budget; /* of the job itself, not of jobs that ended */
} pfc_queue_history;

/** All of it is owned. */
typedef struct pfc_queue_snapshot {
    pfc_queue_job *jobs; /* leased ones, then queued ones in the order in which they are taken */
    size_t jobs_len;
    pfc_queue_fit *fits;
    size_t fits_len;
    pfc_queue_history *histories;
    size_t histories_len;
    char **runners; /* that were seen lately or have a job */
    size_t runners_len;
} pfc_queue_snapshot;

/** Clear *out, which is empty on failure. PFC_EBUG: the statement returned another document. */
pfc_code pfc_queue_snapshot_read(pfc_tx *tx, const pfc_sql_queue_look_args *args,
                                 pfc_queue_snapshot *out, pfc_err *err) PFC_MUSTCHECK;
void pfc_queue_snapshot_clear(pfc_queue_snapshot *snapshot);

#endif
