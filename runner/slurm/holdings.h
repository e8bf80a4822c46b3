/*
 * The jobs that the dispatcher holds, each in a folder of its own: slurm/N/job.json has the name of
 * the lease (runner/job/job.h), written before it is requested; slurm/N/held.json the leased job,
 * written before it is submitted. A dispatcher that is started again continues with both.
 */
#ifndef PFC_RUNNER_SLURM_HOLDINGS_H
#define PFC_RUNNER_SLURM_HOLDINGS_H

#include "runner/job/job.h"
#include "runner/slurm/cluster.h"

typedef struct pfc_holding {
    char *dir;
    pfc_question question; /* of the next request, while no job is held */
    bool held;
    pfc_leased_job job;
    char *document;                        /* the service's answer, for the node */
    char *secret;                          /* of the lease, without the number of a start */
    char *features, *gres, *machine_class; /* of the nodes that it was leased for */
    char name[64];                         /* of its batch job */
    uint64_t listing; /* number of the first list that must show the batch job; 0: not submitted */
    int64_t batch;    /* the last id that was seen; 0: none yet */
    bool cancelled;   /* a user cancelled it; its batch job was cancelled */
    int64_t over_ns;  /* when the lease ended: completed or lost; 0: it is held */
    int64_t next_beat_ns;
} pfc_holding;

typedef struct pfc_holdings {
    char *dir;
    pfc_holding **items;
    size_t len, cap;
} pfc_holdings;

/** Reads what an earlier dispatcher held in `dir`. A file that cannot be read is logged and
 *  left out: its lease expires. */
pfc_code pfc_holdings_open(const char *dir, pfc_holdings *out, pfc_err *err) PFC_MUSTCHECK;
void pfc_holdings_close(pfc_holdings *all);
/** One without a job, with a lease's name on disk. */
pfc_code pfc_holdings_spare(pfc_holdings *all, pfc_http *http, pfc_holding **out,
                            pfc_err *err) PFC_MUSTCHECK;
/** Keeps the job on disk, which h->job has, with its document and the kind of its nodes. Takes
 *  `document`. */
pfc_code pfc_holding_keep(pfc_holding *h, char *document, const pfc_slurm_kind *kind,
                          pfc_err *err) PFC_MUSTCHECK;
/** Forgets the job, also on disk; its folder serves for another one. */
void pfc_holding_drop(pfc_holding *h);
size_t pfc_holdings_held(const pfc_holdings *all);
/** Jobs that were leased for such nodes and have not ended. */
size_t pfc_holdings_of_kind(const pfc_holdings *all, const pfc_slurm_kind *kind);

#endif
