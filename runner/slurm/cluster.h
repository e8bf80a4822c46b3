/*
 * Calls of Slurm's own programs: sinfo, sbatch, squeue, scancel. Their short
 * formats are asked for by name and are the same in all versions; --json changed its shape between
 * them. Not thread-safe.
 */
#ifndef PFC_RUNNER_SLURM_CLUSTER_H
#define PFC_RUNNER_SLURM_CLUSTER_H

#include <jansson.h>

#include "runner/slurm/slurm.h"

/** Nodes with the same features and devices: one machine class, one set of labels. Texts are owned.
 */
typedef struct pfc_slurm_kind {
    char *features; /* "h100,sm90", sorted as Slurm gives them; "": none */
    char *gres;     /* "gpu:h100:4"; "": none */
    char *machine_class;
    json_t
        *labels; /* FEATURE: "yes", or NAME: VALUE of NAME=VALUE; gres/TYPE: "yes", or its model */
    size_t usable; /* nodes that are neither down nor drained */
} pfc_slurm_kind;

typedef struct pfc_slurm_kinds {
    pfc_slurm_kind *items;
    size_t len, cap;
} pfc_slurm_kinds;

/** Reads lines NODE|STATE|FEATURES|GRES. PFC_EINVAL: a line has another form. *out is replaced on
 *  success only. machine_class as in the options. */
pfc_code pfc_slurm_kinds_parse(const char *text, const char *machine_class, pfc_slurm_kinds *out,
                               pfc_err *err) PFC_MUSTCHECK;
/** The same from sinfo. */
pfc_code pfc_slurm_kinds_read(const pfc_slurm_opts *opts, pfc_slurm_kinds *out,
                              pfc_err *err) PFC_MUSTCHECK;
void pfc_slurm_kinds_clear(pfc_slurm_kinds *kinds);

/** A batch job that has not ended. */
typedef struct pfc_slurm_batch {
    int64_t id;
    bool pending;
    char name[64];
    char node[64];   /* "": none yet */
    char reason[64]; /* why it waits, Slurm's word */
} pfc_slurm_batch;

typedef struct pfc_slurm_batches {
    pfc_slurm_batch *items;
    size_t len, cap;
} pfc_slurm_batches;

/** Reads lines ID|STATE|NAME|NODE|REASON. PFC_EINVAL: a line has another form. */
pfc_code pfc_slurm_batches_parse(const char *text, pfc_slurm_batches *out,
                                 pfc_err *err) PFC_MUSTCHECK;
/** The same from squeue, of this user. */
pfc_code pfc_slurm_batches_read(pfc_slurm_batches *out, pfc_err *err) PFC_MUSTCHECK;
void pfc_slurm_batches_clear(pfc_slurm_batches *batches);
/** NULL: it has ended, or was never submitted. */
const pfc_slurm_batch *pfc_slurm_batch_find(const pfc_slurm_batches *batches, const char *name);

/** Submits the script for one whole node of that kind. PFC_EUNAVAIL: the controller does not
 *  answer; PFC_EINVAL: Slurm refuses the job, with its sentence. */
pfc_code pfc_slurm_submit(const pfc_slurm_opts *opts, const pfc_slurm_kind *kind, const char *name,
                          const char *script, int64_t *id, pfc_err *err) PFC_MUSTCHECK;
/** Cancels it; `pending`: only if it does not run yet. */
pfc_code pfc_slurm_cancel(int64_t id, bool pending, pfc_err *err) PFC_MUSTCHECK;

/** The batch script of a leased job: `document` is the service's answer, one line of JSON. It is in
 *  the script, which Slurm gives to this user alone, so that no shared folder is needed. Caller
 *  frees. */
char *pfc_slurm_script(const pfc_slurm_opts *opts, const pfc_slurm_kind *kind,
                       const char *document);

#endif
