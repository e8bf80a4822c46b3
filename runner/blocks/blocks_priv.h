/*
 * What the parts of blocks.c share. Private to this folder.
 */
#ifndef PFC_RUNNER_BLOCKS_BLOCKS_PRIV_H
#define PFC_RUNNER_BLOCKS_BLOCKS_PRIV_H

#include "runner/blocks/blocks.h"

#define PFC_BLOCKS_NONE SIZE_MAX

/** A benchmark's metric on a backend, as visits bring it. */
typedef struct pfc_block_series {
    char *benchmark, *metric, *backend;
    size_t
        number; /* in the design; PFC_BLOCKS_NONE: not yet, or not with the session's own order */
    bool dead;  /* it had a value that no ratio can be made of */
    bool *seen; /* an exact one, of each build: its value is known */
} pfc_block_series;

/** A visit of the block that is being measured. */
typedef struct pfc_block_visit {
    size_t build; /* as the design counts */
    pfc_visit_at at;
    pfc_run *run; /* NULL: the build was left out */
} pfc_block_visit;

typedef struct pfc_blocks_session {
    pfc_workspace *ws;
    const pfc_commit_measure_opts *measure;
    const pfc_blocks_run_opts *opts;
    pfc_blocks_result *out;
    pfc_design *design; /* NULL: a fixed number of rounds, or `decided`, gives the order */
    size_t builds[PFC_BLOCKS_MAX_BUILDS]; /* index into out->commits */
    bool dropped[PFC_BLOCKS_MAX_BUILDS];
    size_t len;
    size_t anchor, first; /* of builds */
    pfc_block_series *series;
    size_t series_len, series_cap;
    int64_t began_ns; /* of measuring */
    bool stop;        /* cancelled, or the machine does not let us measure */
} pfc_blocks_session;

/** Builds all commits: their status, what they were built from, identical ones, the anchor in use. */
pfc_code pfc_blocks_prepare(pfc_blocks_session *s, pfc_err *err) PFC_MUSTCHECK;

/** Tells the design what a visit brought. */
pfc_code pfc_blocks_tell(pfc_blocks_session *s, const pfc_block_visit *visit,
                         pfc_err *err) PFC_MUSTCHECK;
/** Gives every launch of the visit's run its place, and adds the run to its build's. */
void pfc_blocks_keep(pfc_blocks_session *s, pfc_block_visit *visit);
/** What a suite must measure in a block that was asked for: NULL: everything that the session does. Else
 *  an expression; caller frees. *backend: the only one that matters, or NULL; lives as long as the session. */
char *pfc_blocks_narrow(const pfc_blocks_session *s, const char **backend);
void pfc_blocks_series_clear(pfc_blocks_session *s);

/** A line for progress. */
void pfc_blocks_say(const pfc_blocks_session *s, const char *fmt, ...) PFC_PRINTF(2, 3);

#endif
